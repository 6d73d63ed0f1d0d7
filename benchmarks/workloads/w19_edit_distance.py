"""Levenshtein distance of two integer sequences of length 400: a table filled in place by two
nested for loops with an if."""

from __future__ import annotations

import numpy as np

TITLE = "edit_distance 400x400"
RTOL, ATOL = 0, 0
L = 400
GIVE_UP_S = 20
NOTES = {
    "jax:diag": "anti-diagonals, vectorised",
    "tf:diag": "anti-diagonals, vectorised",
    "numpy:rows": "rows, vectorised with minimum.accumulate",
}


def inputs(seed):
    r = np.random.default_rng(seed)
    a = r.integers(0, 20, L)
    b = a.copy()
    pos = r.integers(0, L, 150)
    b[pos] = r.integers(0, 20, 150)
    return a, np.roll(b, 7)


def plain(a, b):
    n = a.shape[0]
    m = b.shape[0]
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best = d[i - 1, j - 1]
            if a[i - 1] != b[j - 1]:
                best = best + 1
            if d[i - 1, j] + 1 < best:
                best = d[i - 1, j] + 1
            if d[i, j - 1] + 1 < best:
                best = d[i, j - 1] + 1
            d[i, j] = best
    return d[n, m]


def make_numpy_rows():
    def f(a, b):
        m = b.shape[0]
        j = np.arange(m + 1)
        prev = j.copy()
        t = np.empty(m + 1, np.int64)
        for i in range(a.shape[0]):
            t[0] = i + 1
            np.minimum(prev[:-1] + (b != a[i]), prev[1:] + 1, out=t[1:])
            t -= j
            np.minimum.accumulate(t, out=prev)
            prev += j
        return prev[m]

    return f


def make_numpy_lists():
    """Pure Python on lists: what one writes who gives up on arrays."""

    def f(a, b):
        a, b = a.tolist(), b.tolist()
        prev = list(range(len(b) + 1))
        for i, p in enumerate(a):
            cur = [i + 1]
            left = i + 1
            for j, q in enumerate(b):
                v = prev[j] + (p != q)
                up = prev[j + 1] + 1
                if up < v:
                    v = up
                if left + 1 < v:
                    v = left + 1
                cur.append(v)
                left = v
            prev = cur
        return np.int64(prev[-1])

    return f


def make_jax():
    import jax.numpy as jnp
    from jax import lax

    def f(a, b):
        d = jnp.zeros((L + 1, L + 1), jnp.int64)
        d = d.at[:, 0].set(jnp.arange(L + 1)).at[0, :].set(jnp.arange(L + 1))

        def row(i, d):
            def cell(j, d):
                sub = d[i - 1, j - 1] + (a[i - 1] != b[j - 1])
                v = jnp.minimum(sub, jnp.minimum(d[i - 1, j], d[i, j - 1]) + 1)
                return d.at[i, j].set(v)

            return lax.fori_loop(1, L + 1, cell, d)

        return lax.fori_loop(1, L + 1, row, d)[L, L]

    return f


def make_jax_scan():
    """Rows by scan, cells by an inner scan that carries the left neighbour."""
    import jax.numpy as jnp
    from jax import lax

    def f(a, b):
        def row(prev, ai):
            p, i = ai

            def cell(left, c):
                q, diag, up = c
                v = jnp.minimum(diag + (p != q), jnp.minimum(up, left) + 1)
                return v, v

            _, cur = lax.scan(cell, i, (b, prev[:-1], prev[1:]))
            return jnp.concatenate([i[None], cur]), None

        last, _ = lax.scan(row, jnp.arange(L + 1), (a, jnp.arange(1, L + 1)))
        return last[-1]

    return f


def make_jax_diag():
    import jax.numpy as jnp
    from jax import lax

    big = 1 << 40

    def f(a, b):
        # cell i of diagonal k is table entry (i, k - i)
        i = jnp.arange(L + 1)
        bpad = jnp.concatenate([jnp.full(L + 1, -1), b[::-1], jnp.full(L + 1, -1)])
        ash = jnp.concatenate([jnp.full(1, -2), a])

        def diag(k, c):
            p2, p1 = c
            bk = lax.dynamic_slice(bpad, (2 * L + 1 - k,), (L + 1,))
            up = jnp.concatenate([jnp.full(1, big), p1[:-1]])
            dg = jnp.concatenate([jnp.full(1, big), p2[:-1]])
            v = jnp.minimum(dg + (ash != bk), jnp.minimum(up, p1) + 1)
            v = jnp.where((i == 0) | (i == k), k, v)
            return p1, jnp.where((i > k) | (k - i > L), big, v)

        d0 = jnp.where(i == 0, 0, big)
        d1 = jnp.where(i <= 1, 1, big)
        return lax.fori_loop(2, 2 * L + 1, diag, (d0, d1))[1][L]

    return f


def make_jax_rows():
    """Rows by scan, the chain along a row by cumulative minimum."""
    import jax.numpy as jnp
    from jax import lax

    def f(a, b):
        j = jnp.arange(L + 1)

        def row(prev, ai):
            p, i = ai
            t = jnp.minimum(prev[:-1] + (b != p), prev[1:] + 1)
            t = jnp.concatenate([i[None], t]) - j
            return lax.cummin(t) + j, None

        last, _ = lax.scan(row, j, (a, jnp.arange(1, L + 1)))
        return last[L]

    return f


def make_tf():
    import tensorflow as tf

    def f(a, b):
        prev = tf.range(L + 1, dtype=tf.int64)
        for i in tf.range(L):
            left = tf.cast(i + 1, tf.int64)
            row = tf.TensorArray(tf.int64, size=L + 1, element_shape=())
            row = row.write(0, left)
            for j in tf.range(L):
                best = prev[j]
                if a[i] != b[j]:
                    best = best + 1
                if prev[j + 1] + 1 < best:
                    best = prev[j + 1] + 1
                if left + 1 < best:
                    best = left + 1
                left = best
                row = row.write(j + 1, best)
            prev = tf.ensure_shape(row.stack(), [L + 1])
        return prev[L]

    return f


def make_tf_diag():
    import tensorflow as tf

    big = 1 << 40

    def f(a, b):
        i = tf.range(L + 1, dtype=tf.int64)
        bpad = tf.concat(
            [
                tf.fill([L + 1], tf.constant(-1, tf.int64)),
                b[::-1],
                tf.fill([L + 1], tf.constant(-1, tf.int64)),
            ],
            0,
        )
        ash = tf.concat([tf.constant([-2], tf.int64), a], 0)
        inf = tf.constant([big], tf.int64)
        p2 = tf.where(i == 0, tf.constant(0, tf.int64), big)
        p1 = tf.where(i <= 1, tf.constant(1, tf.int64), big)
        for k in tf.range(2, 2 * L + 1):
            kk = tf.cast(k, tf.int64)
            bk = tf.slice(bpad, [2 * L + 1 - k], [L + 1])
            up = tf.concat([inf, p1[:-1]], 0)
            dg = tf.concat([inf, p2[:-1]], 0)
            v = tf.minimum(dg + tf.cast(ash != bk, tf.int64), tf.minimum(up, p1) + 1)
            v = tf.where((i == 0) | (i == kk), kk, v)
            p2 = p1
            p1 = tf.where((i > kk) | (kk - i > L), big, v)
        return p1[L]

    return f


def make_torch():
    """Rows, vectorised with cummin; the cell-by-cell loop has no use in eager torch."""
    import torch

    def f(a, b):
        j = torch.arange(L + 1)
        prev = j.clone()
        for i in range(L):
            t = torch.empty(L + 1, dtype=torch.int64)
            t[0] = i + 1
            t[1:] = torch.minimum(prev[:-1] + (b != a[i]), prev[1:] + 1)
            prev = torch.cummin(t - j, 0).values + j
        return prev[L]

    return f


def make_torch_compile():
    import torch

    from benchmarks.peers import ready

    @torch.compile(dynamic=False)
    def row(prev, ai, i1, b, j):
        t = torch.minimum(prev[:-1] + (b != ai), prev[1:] + 1)
        t = torch.cat([i1, t]) - j
        return torch.cummin(t, 0).values + j

    def f(a, b):
        j = torch.arange(L + 1)
        prev = j
        for i in range(L):
            prev = row(prev, a[i], j[i + 1 : i + 2], b, j)
        return prev[L]

    return ready(f)


def make_numba():
    import numba

    return numba.njit(plain)


def make_numba_rows():
    """The expert's: one row, the neighbours in registers."""
    import numba

    @numba.njit
    def f(a, b):
        m = b.size
        prev = np.arange(m + 1)
        for i in range(a.size):
            diag = prev[0]
            left = i + 1
            prev[0] = left
            p = a[i]
            for j in range(m):
                up = prev[j + 1]
                v = min(diag + (p != b[j]), min(up, left) + 1)
                diag = up
                prev[j + 1] = v
                left = v
        return prev[m]

    return f
