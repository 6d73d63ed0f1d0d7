"""All shortest paths (Floyd and Warshall): three nested loops, in place."""

from __future__ import annotations

import numpy as np

TITLE = "shortest paths, in place"
RTOL, ATOL = 0, 0
WRITES = True


def inputs(seed):
    return (np.random.default_rng(seed).uniform(0, 1, (60, 60)),)


def plain(d):
    """Floyd and Warshall, in place."""
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def make_numba():
    import numba

    return numba.njit(plain)
