"""A histogram by a loop: floats become indices, and counts grow in place."""

from __future__ import annotations

import numpy as np

TITLE = "histogram by a loop, 100000 numbers"
RTOL, ATOL = 0, 0


def inputs(seed):
    return np.random.default_rng(seed).uniform(0, 1, 100_000), 32


def plain(x, bins):
    """How many numbers lie in each of the bins."""
    counts = np.zeros(bins, dtype=np.int64)
    for i in range(len(x)):
        k = int(x[i] * bins)
        if k >= bins:
            k = bins - 1
        counts[k] += 1
    return counts


def make_numba():
    import numba

    return numba.njit(plain)
