"""In-graph training loop: softmax regression 784x10, batch 200, 200 steps, float32,
gradients derived by hand."""

from __future__ import annotations

import numpy as np

TITLE = "sgd softmax 784x10 b200, 200 steps f32"
RTOL, ATOL = 2e-3, 2e-5
D, K, BATCH, STEPS, NB = 784, 10, 200, 200, 10
LR = np.float32(0.1)


def inputs(seed):
    r = np.random.default_rng(seed)
    x = r.uniform(0, 1, (NB * BATCH, D)).astype(np.float32) * (r.uniform(size=(NB * BATCH, D)) < 0.2)
    x = x.astype(np.float32)
    y = np.argmax(x @ r.standard_normal((D, K)), axis=1).astype(np.int64)
    return (x, y, (0.01 * r.standard_normal((D, K))).astype(np.float32), np.zeros(K, np.float32))


def plain(x, y, w, b):
    rows = np.arange(BATCH)
    scale = np.float32(1.0 / BATCH)
    loss = np.float32(0.0)
    for i in range(STEPS):
        j = (i % NB) * BATCH
        xb = x[j : j + BATCH]
        yb = y[j : j + BATCH]
        z = xb @ w + b
        z = z - np.max(z, axis=1, keepdims=True)
        e = np.exp(z)
        p = e / np.sum(e, axis=1, keepdims=True)
        loss = -np.mean(np.log(p[rows, yb]))
        p[rows, yb] -= np.float32(1.0)
        g = p * scale
        w = w - LR * (xb.T @ g)
        b = b - LR * np.sum(g, axis=0)
    return w, b, loss


def make_jax():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def f(x, y, w, b):
        xs = x.reshape(NB, BATCH, D)
        ys = y.reshape(NB, BATCH)

        def step(i, s):
            w, b, _ = s
            xb, yb = xs[i % NB], ys[i % NB]
            lp = jax.nn.log_softmax(xb @ w + b, axis=1)
            onehot = jax.nn.one_hot(yb, K, dtype=jnp.float32)
            loss = -jnp.mean(jnp.sum(lp * onehot, axis=1))
            g = (jnp.exp(lp) - onehot) / BATCH
            return w - LR * (xb.T @ g), b - LR * g.sum(0), loss

        return lax.fori_loop(0, STEPS, step, (w, b, jnp.float32(0)))

    return f


def make_tf():
    import tensorflow as tf

    def f(x, y, w, b):
        xs = tf.reshape(x, [NB, BATCH, D])
        ys = tf.reshape(y, [NB, BATCH])
        loss = tf.constant(0.0)
        for i in tf.range(STEPS):
            xb, yb = xs[i % NB], ys[i % NB]
            lp = tf.nn.log_softmax(tf.matmul(xb, w) + b)
            onehot = tf.one_hot(yb, K)
            loss = -tf.reduce_mean(tf.reduce_sum(lp * onehot, axis=1))
            g = (tf.exp(lp) - onehot) / BATCH
            w = w - LR * tf.matmul(xb, g, transpose_a=True)
            b = b - LR * tf.reduce_sum(g, axis=0)
        return w, b, loss

    return f


def _torch_step(torch):
    def step(xb, yb, w, b):
        lp = torch.log_softmax(torch.addmm(b, xb, w), 1)
        onehot = torch.nn.functional.one_hot(yb, K).to(torch.float32)
        loss = -(lp * onehot).sum(1).mean()
        g = (torch.exp(lp) - onehot) / BATCH
        return w - 0.1 * (xb.t() @ g), b - 0.1 * g.sum(0), loss

    return step


def _torch_loop(step):
    def f(x, y, w, b):
        loss = None
        for i in range(STEPS):
            j = (i % NB) * BATCH
            w, b, loss = step(x[j : j + BATCH], y[j : j + BATCH], w, b)
        return w, b, loss

    return f


def make_torch():
    import torch

    return _torch_loop(_torch_step(torch))


def make_torch_compile():
    import torch

    from benchmarks.peers import ready

    return ready(_torch_loop(torch.compile(_torch_step(torch), dynamic=False)))


def make_numba():
    import numba

    @numba.njit(fastmath=True, error_model="numpy")
    def f(x, y, w, b):
        w = w.copy()
        b = b.copy()
        z = np.empty((BATCH, K), np.float32)
        gw = np.empty((D, K), np.float32)
        loss = np.float32(0)
        scale = np.float32(1.0 / BATCH)
        for i in range(STEPS):
            j = (i % NB) * BATCH
            xb = x[j : j + BATCH]
            np.dot(xb, w, z)
            loss = np.float32(0)
            for r in range(BATCH):
                top = np.float32(-1e30)
                for k in range(K):
                    z[r, k] += b[k]
                    top = max(top, z[r, k])
                s = np.float32(0)
                zy = z[r, y[j + r]]
                for k in range(K):
                    e = np.exp(z[r, k] - top)
                    z[r, k] = e
                    s += e
                loss += np.log(s) + top - zy
                inv = scale / s
                for k in range(K):
                    z[r, k] *= inv
                z[r, y[j + r]] -= scale
            np.dot(xb.T, z, gw)
            for d in range(D):
                for k in range(K):
                    w[d, k] -= LR * gw[d, k]
            for r in range(BATCH):
                for k in range(K):
                    b[k] -= LR * z[r, k]
            loss *= scale
        return w, b, loss

    return f
