"""Primes by trial division: a while that is left by a break, and remainders."""

from __future__ import annotations

TITLE = "primes by trial division up to 20000"
RTOL, ATOL = 0, 0


def inputs(seed):
    return (20_000,)


def plain(n):
    """How many primes there are below n."""
    count = 0
    for c in range(2, n):
        prime = True
        d = 2
        while d * d <= c:
            if c % d == 0:
                prime = False
                break
            d += 1
        if prime:
            count += 1
    return count


def make_numba():
    import numba

    return numba.njit(plain)
