"""As W10, with the framework's own reverse mode (NumPy: the hand-derived one)."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.w10_sgd import ATOL, BATCH, LR, NB, RTOL, STEPS, D, K, inputs, plain  # noqa: F401

TITLE = "sgd autodiff, as W10"
DIRECT = False
TORCH_GRAD = True
UNSUPPORTED = {"numba": "no automatic differentiation"}


def make_jax():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def loss_fn(w, b, xb, yb):
        lp = jax.nn.log_softmax(xb @ w + b, axis=1)
        return -jnp.mean(jnp.take_along_axis(lp, yb[:, None], axis=1))

    def f(x, y, w, b):
        xs = x.reshape(NB, BATCH, D)
        ys = y.reshape(NB, BATCH)

        def step(i, s):
            w, b, _ = s
            loss, (gw, gb) = jax.value_and_grad(loss_fn, (0, 1))(w, b, xs[i % NB], ys[i % NB])
            return w - LR * gw, b - LR * gb, loss

        return lax.fori_loop(0, STEPS, step, (w, b, jnp.float32(0)))

    return f


def make_jax_onehot():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def loss_fn(w, b, xb, yb):
        lp = jax.nn.log_softmax(xb @ w + b, axis=1)
        return -jnp.mean(jnp.sum(lp * jax.nn.one_hot(yb, K, dtype=jnp.float32), axis=1))

    def f(x, y, w, b):
        xs = x.reshape(NB, BATCH, D)
        ys = y.reshape(NB, BATCH)

        def step(i, s):
            w, b, _ = s
            loss, (gw, gb) = jax.value_and_grad(loss_fn, (0, 1))(w, b, xs[i % NB], ys[i % NB])
            return w - LR * gw, b - LR * gb, loss

        return lax.fori_loop(0, STEPS, step, (w, b, jnp.float32(0)))

    return f


def make_tf():
    import tensorflow as tf

    def f(x, y, w, b):
        xs = tf.reshape(x, [NB, BATCH, D])
        ys = tf.reshape(y, [NB, BATCH])
        loss = tf.constant(0.0)
        for i in tf.range(STEPS):
            with tf.GradientTape() as tape:
                tape.watch([w, b])
                z = tf.matmul(xs[i % NB], w) + b
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(ys[i % NB], z))
            gw, gb = tape.gradient(loss, [w, b])
            w = w - LR * gw
            b = b - LR * gb
        return w, b, loss

    return f


def _torch_step(torch):
    def step(xb, yb, w, b):
        loss = torch.nn.functional.cross_entropy(torch.addmm(b, xb, w), yb)
        gw, gb = torch.autograd.grad(loss, (w, b))
        with torch.no_grad():
            w -= 0.1 * gw
            b -= 0.1 * gb
        return loss.detach()

    return step


def _torch_loop(step):
    def f(x, y, w0, b0):
        w = w0.clone().requires_grad_()
        b = b0.clone().requires_grad_()
        loss = None
        for i in range(STEPS):
            j = (i % NB) * BATCH
            loss = step(x[j : j + BATCH], y[j : j + BATCH], w, b)
        return w.detach(), b.detach(), loss

    return f


def make_torch():
    import torch

    return _torch_loop(_torch_step(torch))


def make_torch_compile():
    import torch
    from torch.func import grad_and_value

    from benchmarks.peers import ready

    def loss_fn(w, b, xb, yb):
        return torch.nn.functional.cross_entropy(torch.addmm(b, xb, w), yb)

    @torch.compile(dynamic=False)
    def step(xb, yb, w, b):
        (gw, gb), loss = grad_and_value(loss_fn, argnums=(0, 1))(w, b, xb, yb)
        return w - 0.1 * gw, b - 0.1 * gb, loss

    def f(x, y, w, b):
        loss = None
        with torch.no_grad():
            for i in range(STEPS):
                j = (i % NB) * BATCH
                w, b, loss = step(x[j : j + BATCH], y[j : j + BATCH], w, b)
        return w, b, loss

    return ready(f)


def make_autograd():
    import autograd.numpy as anp
    from autograd import value_and_grad

    rows = np.arange(BATCH)

    def loss_fn(p, xb, yb):
        w, b = p
        z = anp.dot(xb, w) + b
        top = np.max(getattr(z, "_value", z), axis=1, keepdims=True)
        z = z - top
        lse = anp.log(anp.sum(anp.exp(z), axis=1))
        return anp.mean(lse - z[rows, yb])

    vg = value_and_grad(loss_fn)

    def f(x, y, w, b):
        loss = None
        for i in range(STEPS):
            j = (i % NB) * BATCH
            loss, (gw, gb) = vg((w, b), x[j : j + BATCH], y[j : j + BATCH])
            w = w - LR * gw
            b = b - LR * gb
        return w, b, np.float32(loss)

    return f


def make_ours(ag):
    def loss_fn(w, b, xb, yb):
        z = xb @ w + b
        z = z - np.max(z, axis=1, keepdims=True)
        lse = np.log(np.sum(np.exp(z), axis=1))
        return np.mean(lse - z[np.arange(BATCH), yb])

    step = ag.value_and_grad(loss_fn, (0, 1))

    @ag.function
    def f(x, y, w, b):
        loss = np.float32(0.0)
        for i in range(STEPS):
            j = (i % NB) * BATCH
            loss, (gw, gb) = step(w, b, x[j : j + BATCH], y[j : j + BATCH])
            w = w - LR * gw
            b = b - LR * gb
        return w, b, loss

    return f
