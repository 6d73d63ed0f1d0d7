"""The Cholesky factor by hand: nested loops with a branch and a square root."""

from __future__ import annotations

import numpy as np

TITLE = "Cholesky by hand, 60x60"
RTOL, ATOL = 1e-12, 0


def inputs(seed):
    a = np.random.default_rng(seed).uniform(0, 1, (60, 60))
    return (a @ a.T + 60 * np.eye(60),)


def plain(a):
    """The lower triangular factor, by hand."""
    n = a.shape[0]
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for k in range(j):
                s += low[i, k] * low[j, k]
            if i == j:
                low[i, j] = np.sqrt(a[i, i] - s)
            else:
                low[i, j] = (a[i, j] - s) / low[j, j]
    return low


def make_numba():
    import numba

    return numba.njit(plain)
