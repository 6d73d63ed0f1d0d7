"""Cube root of one number by Newton's iteration: a scalar while, timed per call."""

from __future__ import annotations

import numpy as np

TITLE = "newton_scalar (per call)"
RTOL, ATOL = 1e-12, 0
NUMPY_IO = True


def inputs(seed):
    return (27.5,)


def plain(a):
    x = a
    dx = a
    while abs(dx) > 1e-10:
        dx = (x * x * x - a) / (3.0 * x * x)
        x = x - dx
    return x


def make_numpy_npscalar():
    return lambda a: plain(np.float64(a))


def make_jax():
    import jax.numpy as jnp
    from jax import lax

    def f(a):
        def body(c):
            x, dx = c
            dx = (x * x * x - a) / (3.0 * x * x)
            return x - dx, dx

        a = jnp.float64(a)
        return lax.while_loop(lambda c: jnp.abs(c[1]) > 1e-10, body, (a, a))[0]

    return f


def make_tf():
    import tensorflow as tf

    def f(a):
        x = a
        dx = a
        while tf.abs(dx) > 1e-10:
            dx = (x * x * x - a) / (3.0 * x * x)
            x = x - dx
        return x

    return f


def make_torch():
    def f(a):
        x = a
        dx = a
        while abs(dx) > 1e-10:
            dx = (x * x * x - a) / (3.0 * x * x)
            x = x - dx
        return x

    return f


def make_torch_compile():
    import torch

    from benchmarks.peers import ready

    @torch.compile(dynamic=False)
    def step(x, a):
        dx = (x * x * x - a) / (3.0 * x * x)
        return x - dx, dx

    def f(a):
        x = a
        dx = a
        while abs(dx) > 1e-10:
            x, dx = step(x, a)
        return x

    return ready(f)


def make_torch_compile_while():
    from torch._higher_order_ops.while_loop import while_loop

    def f(a):
        def cond(x, dx):
            return dx.abs() > 1e-10

        def body(x, dx):
            d = (x * x * x - a) / (3.0 * x * x)
            return x - d, d

        return while_loop(cond, body, (a.clone(), a.clone()))[0]

    return f


def make_numba():
    import numba

    return numba.njit(error_model="numpy")(plain)
