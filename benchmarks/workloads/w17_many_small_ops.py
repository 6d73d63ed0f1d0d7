"""500 dependent elementwise operations on arrays of 100: cost per operation."""

from __future__ import annotations

import numpy as np

TITLE = "many_small_ops 500 on f64[100]"
RTOL, ATOL = 1e-9, 1e-12
N, REPS = 100, 100


def inputs(seed):
    r = np.random.default_rng(seed)
    return (r.standard_normal(N), r.standard_normal(N))


def plain(x, y):
    for _ in range(REPS):
        x = x * 0.9
        x = x + y
        x = np.maximum(x, -1.5)
        x = x - 0.1 * 0.5
        x = np.minimum(x, 1.5)
    return x


def make_numpy_out():
    def f(x, y):
        x = x.copy()
        for _ in range(REPS):
            np.multiply(x, 0.9, out=x)
            np.add(x, y, out=x)
            np.maximum(x, -1.5, out=x)
            np.subtract(x, 0.05, out=x)
            np.minimum(x, 1.5, out=x)
        return x

    return f


def _generic(xp):
    def f(x, y):
        for _ in range(REPS):
            x = x * 0.9
            x = x + y
            x = xp.maximum(x, -1.5)
            x = x - 0.05
            x = xp.minimum(x, 1.5)
        return x

    return f


def make_jax():
    import jax.numpy as jnp

    return _generic(jnp)  # the trace unrolls it


def make_jax_fori():
    import jax.numpy as jnp
    from jax import lax

    def f(x, y):
        return lax.fori_loop(0, REPS, lambda _, x: jnp.minimum(jnp.maximum(x * 0.9 + y, -1.5) - 0.05, 1.5), x)

    return f


def make_tf():
    import tensorflow as tf

    return _generic(tf)


def make_tf_loop():
    import tensorflow as tf

    def f(x, y):
        for _ in tf.range(REPS):
            x = x * 0.9
            x = x + y
            x = tf.maximum(x, -1.5)
            x = x - 0.05
            x = tf.minimum(x, 1.5)
        return x

    return f


def make_torch():
    def f(x, y):
        for _ in range(REPS):
            x = x * 0.9
            x = x + y
            x = x.clamp(min=-1.5)
            x = x - 0.05
            x = x.clamp(max=1.5)
        return x

    return f


def make_numba():
    import numba

    @numba.njit(fastmath=True, error_model="numpy")
    def f(x, y):
        out = np.empty_like(x)
        for i in range(x.size):
            v = x[i]
            b = y[i]
            for _ in range(REPS):
                v = v * 0.9 + b
                v = max(v, -1.5) - 0.05
                v = min(v, 1.5)
            out[i] = v
        return out

    return f


def make_numexpr():
    import numexpr as ne

    f64 = np.float64
    sig = [("x", f64), ("y", f64)]
    ex = ne.NumExpr(
        "where(where(x*0.9+y > -1.5, x*0.9+y, -1.5) - 0.05 < 1.5,"
        " where(x*0.9+y > -1.5, x*0.9+y, -1.5) - 0.05, 1.5)",
        sig,
    )

    def f(x, y):
        for _ in range(REPS):
            x = ex(x, y)
        return x

    return f


def make_autograd():
    import autograd.numpy as anp

    return _generic(anp)
