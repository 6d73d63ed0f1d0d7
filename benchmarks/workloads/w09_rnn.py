"""Dynamic RNN: basic tanh cell, batch 32, 64 steps, 256 units, float32, one length per
sequence; past its length a sequence keeps its state and gives zeros."""

from __future__ import annotations

import numpy as np

TITLE = "dynamic RNN b32 t64 u256 f32"
RTOL, ATOL = 2e-3, 2e-4
B, T, U = 32, 64, 256
NOTES = {
    "torch:nnrnn": "the library's own nn.RNN on a packed sequence",
    "jax:hoist": "input projection taken out of the loop",
}


def inputs(seed):
    r = np.random.default_rng(seed)
    f = np.float32
    length = r.integers(T // 4, T + 1, B)
    length[r.integers(B)] = T
    return (
        r.standard_normal((B, T, U), dtype=f),
        length.astype(np.int64),
        (r.standard_normal((U, U)) * 0.4 / np.sqrt(U)).astype(f),
        (r.standard_normal((U, U)) * 0.9 / np.sqrt(U)).astype(f),
        (r.standard_normal(U) * 0.1).astype(f),
    )


def plain(x, length, w, u, b):
    xt = np.ascontiguousarray(np.transpose(x, (1, 0, 2)))
    h = np.zeros((B, U), dtype=np.float32)
    outs = np.zeros((T, B, U), dtype=np.float32)
    last = np.max(length)
    t = 0
    while t < last:
        new = np.tanh(xt[t] @ w + h @ u + b)
        live = (t < length).reshape((-1, 1))
        h = np.where(live, new, h)
        outs[t] = np.where(live, new, np.float32(0.0))
        t += 1
    return np.transpose(outs, (1, 0, 2)), h


def make_numpy_hoist():
    def f(x, length, w, u, b):
        xp = (np.ascontiguousarray(np.transpose(x, (1, 0, 2))).reshape(T * B, U) @ w + b).reshape(T, B, U)
        h = np.zeros((B, U), np.float32)
        outs = np.zeros((T, B, U), np.float32)
        for t in range(int(length.max())):
            new = h @ u
            new += xp[t]
            np.tanh(new, out=new)
            live = (t < length)[:, None]
            np.copyto(h, new, where=live)
            np.multiply(new, live, out=outs[t])
        return outs.transpose(1, 0, 2), h

    return f


def make_jax():
    import jax.numpy as jnp
    from jax import lax

    def f(x, length, w, u, b):
        def step(h, xt_t):
            xt, t = xt_t
            new = jnp.tanh(xt @ w + h @ u + b)
            live = (t < length)[:, None]
            return jnp.where(live, new, h), jnp.where(live, new, 0)

        h, outs = lax.scan(step, jnp.zeros((B, U), jnp.float32), (jnp.swapaxes(x, 0, 1), jnp.arange(T)))
        return jnp.swapaxes(outs, 0, 1), h

    return f


def make_jax_hoist():
    import jax.numpy as jnp
    from jax import lax

    def f(x, length, w, u, b):
        xp = jnp.swapaxes(x, 0, 1) @ w + b

        def step(h, xt_t):
            xt, t = xt_t
            new = jnp.tanh(xt + h @ u)
            live = (t < length)[:, None]
            return jnp.where(live, new, h), jnp.where(live, new, 0)

        h, outs = lax.scan(step, jnp.zeros((B, U), jnp.float32), (xp, jnp.arange(T)))
        return jnp.swapaxes(outs, 0, 1), h

    return f


def make_tf():
    import tensorflow as tf

    def f(x, length, w, u, b):
        xt = tf.transpose(x, [1, 0, 2])
        h = tf.zeros((B, U))
        outs = tf.TensorArray(tf.float32, size=T, element_shape=(B, U))
        for t in tf.range(T):
            new = tf.tanh(tf.matmul(xt[t], w) + tf.matmul(h, u) + b)
            live = (tf.cast(t, tf.int64) < length)[:, None]
            h = tf.where(live, new, h)
            outs = outs.write(t, tf.where(live, new, 0.0))
        return tf.transpose(outs.stack(), [1, 0, 2]), h

    return f


def make_tf_hoist():
    import tensorflow as tf

    def f(x, length, w, u, b):
        xt = tf.transpose(x, [1, 0, 2])
        xp = tf.reshape(tf.matmul(tf.reshape(xt, [T * B, U]), w) + b, [T, B, U])
        h = tf.zeros((B, U))
        outs = tf.TensorArray(tf.float32, size=T, element_shape=(B, U))
        for t in tf.range(T):
            new = tf.tanh(xp[t] + tf.matmul(h, u))
            live = (tf.cast(t, tf.int64) < length)[:, None]
            h = tf.where(live, new, h)
            outs = outs.write(t, tf.where(live, new, 0.0))
        return tf.transpose(outs.stack(), [1, 0, 2]), h

    return f


def _torch_loop(torch, step):
    def f(x, length, w, u, b):
        xt = x.transpose(0, 1).contiguous()
        live = (torch.arange(T)[:, None] < length[None, :])[:, :, None]
        h = x.new_zeros((B, U))
        outs = []
        for t in range(T):
            h, o = step(xt[t], h, live[t], w, u, b)
            outs.append(o)
        return torch.stack(outs, 1), h

    return f


def _torch_step(torch):
    def step(xt, h, live, w, u, b):
        new = torch.tanh(torch.addmm(torch.addmm(b, xt, w), h, u))
        return torch.where(live, new, h), torch.where(live, new, 0.0)

    return step


def make_torch():
    import torch

    return _torch_loop(torch, _torch_step(torch))


def make_torch_compile():
    import torch

    from benchmarks.peers import ready

    return ready(_torch_loop(torch, torch.compile(_torch_step(torch), dynamic=False)))


def make_torch_compile_unrolled():
    import torch

    return _torch_loop(torch, _torch_step(torch))


def make_torch_nnrnn():
    import torch
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    rnn = torch.nn.RNN(U, U, batch_first=True)

    def f(x, length, w, u, b):
        rnn.weight_ih_l0.copy_(w.T)
        rnn.weight_hh_l0.copy_(u.T)
        rnn.bias_ih_l0.copy_(b)
        rnn.bias_hh_l0.zero_()
        packed = pack_padded_sequence(x, length, batch_first=True, enforce_sorted=False)
        o, h = rnn(packed)
        return pad_packed_sequence(o, batch_first=True, total_length=T)[0], h[0]

    return f


def make_numba():
    import numba

    @numba.njit(fastmath=True, error_model="numpy")
    def f(x, length, w, u, b):
        nb, nt, nu = x.shape
        h = np.zeros((nb, nu), np.float32)
        outs = np.zeros((nb, nt, nu), np.float32)
        p = np.empty((nb, nu), np.float32)
        q = np.empty((nb, nu), np.float32)
        xt = np.empty((nb, nu), np.float32)
        for t in range(length.max()):
            xt[:] = x[:, t]
            np.dot(xt, w, p)
            np.dot(h, u, q)
            for i in range(nb):
                if t < length[i]:
                    for j in range(nu):
                        v = np.tanh(p[i, j] + q[i, j] + b[j])
                        h[i, j] = v
                        outs[i, t, j] = v
        return outs, h

    return f


def make_numba_hoist():
    import numba

    @numba.njit(fastmath=True, error_model="numpy")
    def f(x, length, w, u, b):
        nb, nt, nu = x.shape
        h = np.zeros((nb, nu), np.float32)
        outs = np.zeros((nb, nt, nu), np.float32)
        p = np.dot(x.reshape(nb * nt, nu), w).reshape(nb, nt, nu)
        q = np.empty((nb, nu), np.float32)
        for t in range(length.max()):
            np.dot(h, u, q)
            for i in range(nb):
                if t < length[i]:
                    for j in range(nu):
                        v = np.tanh(p[i, t, j] + q[i, j] + b[j])
                        h[i, j] = v
                        outs[i, t, j] = v
        return outs, h

    return f
