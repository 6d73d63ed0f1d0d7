"""The workloads: plain functions as one writes them with NumPy, and inputs for them.

In: nothing.  Out: `WORKLOADS`.  What always holds: a workload's function is plain Python and NumPy; what it
writes to its arguments, it writes to copies that are made anew for each call where `writes` says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = Any


@dataclasses.dataclass(frozen=True)
class Workload:
    """name; function; inputs(quick) makes the arguments; numba: whether it can be given to njit as it is."""

    name: str
    title: str
    function: Callable[..., Any]
    inputs: Callable[[bool], tuple[Any, ...]]
    writes: bool = False
    numba: bool = True


def add_one(x: Arrays) -> Any:
    """A call that does next to nothing."""
    return x + 1.0


def collatz(limit: Any) -> Any:
    """Total stopping time of 1..limit."""
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


def cube_root(a: Any) -> Any:
    """Newton's iteration on one number."""
    x = a
    dx = a
    while abs(dx) > 1e-10:
        dx = (x * x * x - a) / (3.0 * x * x)
        x = x - dx
    return x


def heat(u0: Arrays, steps: int) -> Any:
    """The heat equation on a square with fixed edges, in place."""
    u = u0.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
    return u


def heat_loops(u0: Arrays, steps: int) -> Any:
    """The heat equation with two buffers, element by element."""
    u = u0.copy()
    v = u0.copy()
    n, m = u.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + 0.2 * (
                    u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j]
                )
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = v[i, j]
    return u


def edit_distance(a: Arrays, b: Arrays) -> Any:
    """How many edits turn one sequence into the other: a table filled in place."""
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


def mandelbrot(width: Any, height: Any, limit: Any) -> Any:
    """Escape times, one pixel after the other."""
    out = np.zeros((height, width), np.int64)
    for i in range(height):
        for j in range(width):
            x = 0.0
            y = 0.0
            a = -2.0 + 3.0 * j / width
            b = -1.5 + 3.0 * i / height
            k = 0
            while x * x + y * y <= 4.0 and k < limit:
                x, y = x * x - y * y + a, 2.0 * x * y + b
                k += 1
            out[i, j] = k
    return out


def shortest_paths(d: Arrays) -> Any:
    """Floyd and Warshall, in place."""
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def sieve(n: Any) -> Any:
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


def cholesky(a: Arrays) -> Any:
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


def _random(*shape: int) -> Arrays:
    return np.random.default_rng(7).uniform(0, 1, shape)


def _sequences(quick: bool) -> tuple[Any, ...]:
    rng = np.random.default_rng(7)
    size = 100 if quick else 400
    a = rng.integers(0, 20, size)
    return a, np.roll(np.where(rng.random(size) < 0.3, 0, a), 7)


def _positive(n: int) -> Arrays:
    a = _random(n, n)
    return a @ a.T + n * np.eye(n)


WORKLOADS: tuple[Workload, ...] = (
    Workload("W01", "x + 1 on 4 float64", add_one, lambda q: (_random(4),)),
    Workload("W02", "Collatz, nested while on numbers", collatz, lambda q: (np.int64(2000 if q else 20000),)),
    Workload("W03", "Newton cube root of one number", cube_root, lambda q: (np.float64(27.5),)),
    Workload("W06", "Mandelbrot, one pixel after the other", mandelbrot,
             lambda q: (np.int64(60 if q else 200),) * 2 + (np.int64(100),)),
    Workload("W07", "heat equation with slices, in place", heat,
             lambda q: (_random(64, 64) if q else _random(256, 256), np.int64(50 if q else 500))),
    Workload("W07L", "heat equation, element by element", heat_loops,
             lambda q: (_random(24, 24) if q else _random(64, 64), np.int64(10))),
    Workload("W19", "edit distance, nested for, in place", edit_distance, _sequences),
    Workload("L01", "shortest paths, in place", shortest_paths,
             lambda q: (_random(20, 20) if q else _random(60, 60),),
             writes=True),
    Workload("L02", "sieve of Eratosthenes", sieve, lambda q: (np.int64(20000 if q else 200000),)),
    Workload("L03", "Cholesky by hand", cholesky, lambda q: (_positive(20 if q else 60),)),
)  # fmt: skip
