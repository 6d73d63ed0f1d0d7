"""Nested while on scalars: total stopping time summed over n = 1..20000."""

from __future__ import annotations

import numpy as np

TITLE = "collatz_scalar n<=20000"
RTOL, ATOL = 0, 0
LIMIT = 20000
GIVE_UP_S = 10
NOTES = {
    "jax:vmap": "vectorised over n, masked",
    "tf:vec": "vectorised over n, masked",
    "numpy:vec": "vectorised over n, compacting",
}


def inputs(seed):
    return (LIMIT,)


def plain(limit):
    total = 0
    n = 1
    while n <= limit:
        m = n
        while m != 1:
            if m % 2 == 0:
                m = m // 2
            else:
                m = 3 * m + 1
            total += 1
        n += 1
    return total


def make_numpy_vec():
    def f(limit):
        m = np.arange(2, limit + 1, dtype=np.int64)
        total = 0
        while m.size:
            total += m.size
            m = np.where(m & 1, 3 * m + 1, m >> 1)
            m = m[m != 1]
        return total

    return f


def make_jax():
    import jax.numpy as jnp
    from jax import lax

    def f(limit):
        def steps(n):
            def body(c):
                m, k = c
                return jnp.where(m & 1, 3 * m + 1, m >> 1), k + 1

            return lax.while_loop(lambda c: c[0] != 1, body, (n, jnp.int64(0)))[1]

        def outer(c):
            n, total = c
            return n + 1, total + steps(n)

        return lax.while_loop(lambda c: c[0] <= limit, outer, (jnp.int64(1), jnp.int64(0)))[1]

    return f


def make_jax_vmap():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def f(limit):
        def steps(n):
            def body(c):
                m, k = c
                return jnp.where(m & 1, 3 * m + 1, m >> 1), k + 1

            return lax.while_loop(lambda c: c[0] != 1, body, (n, jnp.int64(0)))[1]

        return jnp.sum(jax.vmap(steps)(jnp.arange(1, LIMIT + 1, dtype=jnp.int64)))

    return f


def make_tf():
    import tensorflow as tf

    def f(limit):
        total = tf.constant(0, tf.int64)
        n = tf.constant(1, tf.int64)
        while n <= limit:
            m = n
            while m != 1:
                if m % 2 == 0:
                    m = m // 2
                else:
                    m = 3 * m + 1
                total += 1
            n += 1
        return total

    return f


def make_tf_vec():
    import tensorflow as tf

    def f(limit):
        m = tf.range(1, limit + 1, dtype=tf.int64)
        total = tf.constant(0, tf.int64)
        alive = m != 1
        while tf.reduce_any(alive):
            total += tf.reduce_sum(tf.cast(alive, tf.int64))
            step = tf.where(
                tf.bitwise.bitwise_and(m, tf.constant(1, tf.int64)) == 1,
                3 * m + 1,
                tf.bitwise.right_shift(m, tf.constant(1, tf.int64)),
            )
            m = tf.where(alive, step, m)
            alive = m != 1
        return total

    return f


def make_torch_vec():
    import torch

    def f(limit):
        m = torch.arange(2, limit + 1, dtype=torch.int64)
        total = 0
        while m.numel():
            total += m.numel()
            m = torch.where((m & 1).bool(), 3 * m + 1, m >> 1)
            m = m[m != 1]
        return torch.tensor(total)

    return f


def make_torch_compile_vec():
    import torch

    from benchmarks.peers import ready

    @torch.compile(dynamic=False)
    def step(m):
        alive = m != 1
        s = torch.where((m & 1).bool(), 3 * m + 1, m >> 1)
        return torch.where(alive, s, m), alive.sum()

    def f(limit):
        m = torch.arange(1, limit + 1, dtype=torch.int64)
        total = 0
        while True:
            m, n = step(m)
            n = n.item()
            if n == 0:
                return torch.tensor(total)
            total += n

    return ready(f)


def make_torch_compile_while():
    """The whole program in one graph, with the prototype while_loop operator."""
    import torch
    from torch._higher_order_ops.while_loop import while_loop

    def f(limit):
        m = torch.arange(1, LIMIT + 1, dtype=torch.int64)

        def cond(m, total):
            return (m != 1).any()

        def body(m, total):
            alive = m != 1
            s = torch.where((m & 1).bool(), 3 * m + 1, m >> 1)
            return torch.where(alive, s, m), total + alive.sum()

        return while_loop(cond, body, (m, torch.zeros((), dtype=torch.int64)))[1]

    return f


def make_numba():
    import numba

    @numba.njit
    def f(limit):
        total = 0
        for n in range(1, limit + 1):
            m = n
            while m != 1:
                if m & 1:
                    m = 3 * m + 1
                else:
                    m >>= 1
                total += 1
        return total

    return f


def make_numba_par():
    import numba

    @numba.njit(parallel=True)
    def f(limit):
        total = 0
        for n in numba.prange(1, limit + 1):
            m = n
            k = 0
            while m != 1:
                if m & 1:
                    m = 3 * m + 1
                else:
                    m >>= 1
                k += 1
            total += k
        return total

    return f
