"""A cached call that does next to nothing: NumPy in, NumPy out."""

from __future__ import annotations

import numpy as np

TITLE = "call_overhead (NumPy in/out)"
RTOL, ATOL = 0, 0
NUMPY_IO = True
SKIP = ("tf_xla:concrete",)


def inputs(seed):
    return (np.random.default_rng(seed).standard_normal(4),)


def plain(x):
    return x + 1.0


def make_jax():
    return lambda x: x + 1.0


def make_tf():
    def f(x):
        return x + 1.0

    return f


def make_torch():
    return lambda x: x + 1.0


def make_numba():
    import numba

    @numba.njit
    def f(x):
        return x + 1.0

    return f


def make_numexpr():
    import numexpr as ne

    ex = ne.NumExpr("x + 1.0", [("x", np.float64)])
    return lambda x: ex(x)


def make_numexpr_evaluate():
    import numexpr as ne

    return lambda x: ne.evaluate("x + 1.0")


def make_autograd():
    import autograd.numpy as anp

    return lambda x: anp.add(x, 1.0)


def make_tf_concrete():
    import tensorflow as tf

    from benchmarks.peers import ready

    cf = tf.function(lambda x: x + 1.0).get_concrete_function(tf.TensorSpec((4,), tf.float64))
    return ready(lambda x: cf(tf.constant(x)))
