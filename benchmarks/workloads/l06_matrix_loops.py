"""A product of matrices by three loops, the inner one along rows: trips that do not depend on each other."""

from __future__ import annotations

import numpy as np

TITLE = "matrix product by loops, 64x64"
RTOL, ATOL = 0, 0


def inputs(seed):
    r = np.random.default_rng(seed)
    return r.uniform(0, 1, (64, 64)), r.uniform(0, 1, (64, 64))


def plain(a, b):
    """The product, a row of b at a time."""
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p))
    for i in range(n):
        for k in range(m):
            for j in range(p):
                c[i, j] += a[i, k] * b[k, j]
    return c


def make_numba():
    import numba

    return numba.njit(plain)
