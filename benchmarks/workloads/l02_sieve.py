"""The sieve of Eratosthenes: a while with a step of its own, writing flags."""

from __future__ import annotations

import numpy as np

TITLE = "sieve of Eratosthenes up to 200000"
RTOL, ATOL = 0, 0


def inputs(seed):
    return (200_000,)


def plain(n):
    """How many primes there are up to n."""
    prime = np.ones(n + 1, dtype=np.bool_)
    found = 0
    for i in range(2, n + 1):
        if prime[i]:
            found += 1
            j = i * i
            while j <= n:
                prime[j] = False
                j += i
    return found


def make_numba():
    import numba

    return numba.njit(plain)
