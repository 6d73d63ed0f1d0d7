"""Convolution, NHWC [1,200,200,100] with 100 filters 3x3, float32, no padding."""

from __future__ import annotations

import numpy as np

TITLE = "conv NHWC 1x200x200x100, 100 3x3 f32"
RTOL, ATOL = 1e-3, 2e-3
S, C, F, KK = 200, 100, 100, 3
OUT = S - KK + 1


def inputs(seed):
    r = np.random.default_rng(seed)
    return (
        r.standard_normal((1, S, S, C), dtype=np.float32),
        r.standard_normal((KK, KK, C, F), dtype=np.float32) * np.float32(0.05),
    )


def plain(x, w):
    out = np.zeros((1, OUT, OUT, F), dtype=np.float32)
    for i in range(KK):
        for j in range(KK):
            out = out + x[:, i : i + OUT, j : j + OUT, :] @ w[i, j]
    return out


def make_numpy_im2col():
    """The expert's NumPy: the windows of a few rows copied out, one matrix product each."""

    def f(x, w):
        wm = w.reshape(KK * KK * C, F)
        s = x.strides
        win = np.lib.stride_tricks.as_strided(x, (OUT, OUT, KK, KK * C), (s[1], s[2], s[1], s[3]))
        out = np.empty((OUT * OUT, F), np.float32)
        rows = 9
        for i in range(0, OUT, rows):
            n = min(rows, OUT - i)
            np.matmul(win[i : i + n].reshape(n * OUT, KK * KK * C), wm, out=out[i * OUT : (i + n) * OUT])
        return out.reshape(1, OUT, OUT, F)

    return f


def make_jax():
    from jax import lax

    def f(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    return f


def make_tf():
    import tensorflow as tf

    return lambda x, w: tf.nn.conv2d(x, w, 1, "VALID")


def make_torch():
    import torch

    def f(x, w):
        y = torch.nn.functional.conv2d(
            x.permute(0, 3, 1, 2),  # a channels_last view
            w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last),
        )
        return y.permute(0, 2, 3, 1)

    return f


def _numba(parallel):
    import numba

    rng = numba.prange if parallel else range

    def f(x, w):
        wm = w.reshape(KK * KK * C, F)
        out = np.empty((1, OUT, OUT, F), np.float32)
        rows = 9
        for blk in rng((OUT + rows - 1) // rows):
            i0 = blk * rows
            n = min(rows, OUT - i0)
            buf = np.empty((n * OUT, KK * KK * C), np.float32)
            for i in range(n):
                for j in range(OUT):
                    for k in range(KK):
                        p = x[0, i0 + i + k].ravel()
                        buf[i * OUT + j, k * KK * C : (k + 1) * KK * C] = p[j * C : (j + KK) * C]
            out[0, i0 : i0 + n] = np.dot(buf, wm).reshape(n, OUT, F)
        return out

    return numba.njit(fastmath=True, error_model="numpy", parallel=parallel)(f)


def make_numba():
    return _numba(False)


def make_numba_par():
    return _numba(True)
