"""Heat equation, 5-point stencil, 256x256, 500 steps, fixed boundary."""

from __future__ import annotations

import numpy as np

TITLE = "heat2d 256x256, 500 steps f64"
RTOL, ATOL = 1e-9, 1e-12
SIZE, STEPS, ALPHA = 256, 500, 0.2


def inputs(seed):
    return (np.random.default_rng(seed).uniform(0, 1, (SIZE, SIZE)),)


def plain(u0):
    u = u0.copy()
    for _ in range(STEPS):
        u[1:-1, 1:-1] += ALPHA * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
    return u


def make_numpy_out():
    """The expert's NumPy: buffers and out=."""

    def f(u0):
        u = u0.copy()
        c, n, s, e, w = (u[1:-1, 1:-1], u[:-2, 1:-1], u[2:, 1:-1], u[1:-1, 2:], u[1:-1, :-2])
        a = np.empty_like(c)
        b = np.empty_like(c)
        for _ in range(STEPS):
            np.add(s, n, out=a)
            np.add(a, e, out=a)
            np.add(a, w, out=a)
            np.multiply(c, 4.0, out=b)
            np.subtract(a, b, out=a)
            np.multiply(a, ALPHA, out=a)
            np.add(c, a, out=c)
        return u

    return f


def make_jax():
    from jax import lax

    def step(_, u):
        return u.at[1:-1, 1:-1].add(
            ALPHA * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        )

    return lambda u: lax.fori_loop(0, STEPS, step, u)


def make_jax_pad():
    import jax.numpy as jnp
    from jax import lax

    def step(_, u):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        return u + ALPHA * jnp.pad(lap, 1)

    return lambda u: lax.fori_loop(0, STEPS, step, u)


def make_tf():
    import tensorflow as tf

    def f(u):
        for _ in tf.range(STEPS):
            lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            u = u + ALPHA * tf.pad(lap, [[1, 1], [1, 1]])
        return u

    return f


def make_torch():
    def f(u0):
        u = u0.clone()
        for _ in range(STEPS):
            u[1:-1, 1:-1] += ALPHA * (
                u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            )
        return u

    return f


def make_torch_compile():
    import torch

    from benchmarks.peers import ready

    @torch.compile(dynamic=False)
    def step(u, v):
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + ALPHA * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )

    def f(u0):
        u, v = u0.clone(), u0.clone()
        for _ in range(STEPS):
            step(u, v)
            u, v = v, u
        return u

    return ready(f)


def make_torch_compile_blocked():
    """Ten steps in one compiled function: fewer calls."""
    import torch

    from benchmarks.peers import ready

    @torch.compile(dynamic=False)
    def step10(u):
        for _ in range(10):
            lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            u = u + torch.nn.functional.pad(ALPHA * lap, (1, 1, 1, 1))
        return u

    def f(u):
        for _ in range(STEPS // 10):
            u = step10(u)
        return u

    return ready(f)


def _numba(parallel):
    import numba

    rng = numba.prange if parallel else range

    def f(u0):
        u = u0.copy()
        v = u0.copy()
        n, m = u.shape
        for _ in range(STEPS):
            for i in rng(1, n - 1):
                for j in range(1, m - 1):
                    v[i, j] = u[i, j] + ALPHA * (
                        u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j]
                    )
            u, v = v, u
        return u

    return numba.njit(fastmath=True, error_model="numpy", parallel=parallel)(f)


def make_numba():
    return _numba(False)


def make_numba_par():
    return _numba(True)


def make_numexpr():
    import numexpr as ne

    f64 = np.float64
    ex = ne.NumExpr(f"c + {ALPHA!r}*(s + n + e + w - 4.0*c)", [(k, f64) for k in ("c", "s", "n", "e", "w")])

    def views(u):
        return (u[1:-1, 1:-1], u[2:, 1:-1], u[:-2, 1:-1], u[1:-1, 2:], u[1:-1, :-2])

    def f(u0):
        u, v = u0.copy(), u0.copy()
        vu, vv = views(u), views(v)
        for _ in range(STEPS):
            ex(*vu, out=vv[0], ex_uses_vml=False)
            u, v, vu, vv = v, u, vv, vu
        return u

    return f
