"""Ordinary numerical Python, of the kinds that people write loops for, with arguments to call it with.

In: nothing.  Out: `ALGORITHMS`, functions by name, and `arguments(name)`.  What always holds: a function
is plain Python and NumPy, and takes milliseconds at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

ALGORITHMS: dict[str, Callable[..., Any]] = {}
MAKERS: dict[str, Callable[[np.random.Generator], tuple[Any, ...]]] = {}


def takes(make: Callable[[np.random.Generator], tuple[Any, ...]]) -> Callable[..., Any]:
    """Register a function, with what makes its arguments."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        ALGORITHMS[function.__name__] = function
        MAKERS[function.__name__] = make
        return function

    return register


def arguments(name: str) -> tuple[Any, ...]:
    """Fresh arguments for a function."""
    return MAKERS[name](np.random.default_rng(len(name)))


@takes(lambda r: (r.integers(-1, 2, 500),))
def random_walk(steps):  # type: ignore[no-untyped-def]
    position, highest, returns = 0, 0, 0
    for s in steps:
        position += s
        if position > highest:
            highest = position
        if position == 0:
            returns += 1
    return position, highest, returns


@takes(lambda r: (r.random((12, 3)), r.random((12, 3)), r.random(12), 5))
def n_body(pos, vel, mass, steps):  # type: ignore[no-untyped-def]
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            for j in range(n):
                if i != j:
                    dx = pos[j, 0] - pos[i, 0]
                    dy = pos[j, 1] - pos[i, 1]
                    dz = pos[j, 2] - pos[i, 2]
                    r2 = dx * dx + dy * dy + dz * dz + 0.01
                    f = mass[j] / (r2 * np.sqrt(r2))
                    vel[i, 0] += f * dx * 0.01
                    vel[i, 1] += f * dy * 0.01
                    vel[i, 2] += f * dz * 0.01
        for i in range(n):
            pos[i] += 0.01 * vel[i]
    return pos


@takes(lambda r: (r.random((60, 2)), 4, 5))
def k_means(points, k, rounds):  # type: ignore[no-untyped-def]
    centres = points[:k].copy()
    labels = np.zeros(len(points), dtype=np.int64)
    for _ in range(rounds):
        for i in range(len(points)):
            best, nearest = -1, 1e300
            for c in range(k):
                d = 0.0
                for axis in range(points.shape[1]):
                    d += (points[i, axis] - centres[c, axis]) ** 2
                if d < nearest:
                    nearest, best = d, c
            labels[i] = best
        sums = np.zeros((k, points.shape[1]))
        counts = np.zeros(k)
        for i in range(len(points)):
            sums[labels[i]] += points[i]
            counts[labels[i]] += 1
        for c in range(k):
            if counts[c] > 0:
                centres[c] = sums[c] / counts[c]
    return centres, labels


@takes(lambda r: (r.random((15, 12)), r.random((12, 10))))
def matrix_product(a, b):  # type: ignore[no-untyped-def]
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total
    return out


@takes(lambda r: (r.normal(size=600), 20, -3.0, 3.0))
def histogram(x, bins, low, high):  # type: ignore[no-untyped-def]
    counts = np.zeros(bins, dtype=np.int64)
    width = (high - low) / bins
    for value in x:
        if low <= value < high:
            counts[int((value - low) / width)] += 1
    return counts


@takes(lambda r: (r.integers(0, 100, 500),))
def prefix_sums(x):  # type: ignore[no-untyped-def]
    out = np.empty(len(x) + 1, dtype=x.dtype)
    out[0] = 0
    for i in range(len(x)):
        out[i + 1] = out[i] + x[i]
    return out


@takes(lambda r: (r.random(200), r.random(9)))
def convolution(x, w):  # type: ignore[no-untyped-def]
    out = np.zeros(len(x) - len(w) + 1)
    for i in range(len(out)):
        for j in range(len(w)):
            out[i] += x[i + j] * w[len(w) - 1 - j]
    return out


@takes(lambda r: ((r.random((20, 20)) < 0.3).astype(np.int8), 3))
def life_by_cells(board, steps):  # type: ignore[no-untyped-def]
    rows, columns = board.shape
    for _ in range(steps):
        new = np.zeros_like(board)
        for i in range(rows):
            for j in range(columns):
                n = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di or dj:
                            n += board[(i + di) % rows, (j + dj) % columns]
                if n == 3 or (n == 2 and board[i, j]):
                    new[i, j] = 1
        board = new
    return board


@takes(lambda r: ((r.random((40, 40)) < 0.3).astype(np.int64), 6))
def life_by_slices(board, steps):  # type: ignore[no-untyped-def]
    for _ in range(steps):
        n = np.zeros(board.shape, dtype=np.int64)
        n[1:-1, 1:-1] = (
            board[:-2, :-2] + board[:-2, 1:-1] + board[:-2, 2:] + board[1:-1, :-2]
            + board[1:-1, 2:] + board[2:, :-2] + board[2:, 1:-1] + board[2:, 2:]
        )  # fmt: skip
        board = ((n == 3) | ((board == 1) & (n == 2))).astype(np.int64)
    return board


@takes(lambda r: (r.integers(0, 4, 40), r.integers(0, 4, 35)))
def levenshtein(a, b):  # type: ignore[no-untyped-def]
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[-1, -1]


@takes(lambda r: (r.integers(1, 30, 15), r.integers(1, 30, 15), 100))
def knapsack(weights, values, capacity):  # type: ignore[no-untyped-def]
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[capacity]


@takes(lambda r: (r.random((12, 12)) + 12 * np.eye(12),))
def lu(a):  # type: ignore[no-untyped-def]
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a


@takes(lambda r: ((lambda m: m @ m.T + np.eye(10))(r.random((10, 10))),))
def cholesky(a):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    out = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            if i == j:
                if total <= 0:
                    raise ValueError("not positive definite")
                out[i, i] = math.sqrt(total)
            else:
                out[i, j] = total / out[j, j]
    return out


@takes(lambda r: (r.random((20, 20)) + 20 * np.eye(20), r.random(20), 1e-10))
def gauss_seidel(a, b, tolerance):  # type: ignore[no-untyped-def]
    x = np.zeros_like(b)
    for sweep in range(100):
        change = 0.0
        for i in range(len(b)):
            total = b[i]
            for j in range(len(b)):
                if j != i:
                    total -= a[i, j] * x[j]
            new = total / a[i, i]
            change = max(change, abs(new - x[i]))
            x[i] = new
        if change < tolerance:
            return x, sweep
    return x, -1


@takes(lambda r: (np.array([2.0, 0.7]),))
def newton_system(x):  # type: ignore[no-untyped-def]
    for _ in range(20):
        f = np.array([x[0] ** 2 + x[1] ** 2 - 4.0, x[0] * x[1] - 1.0])
        j = np.array([[2 * x[0], 2 * x[1]], [x[1], x[0]]])
        det = j[0, 0] * j[1, 1] - j[0, 1] * j[1, 0]
        step = np.array([f[0] * j[1, 1] - f[1] * j[0, 1], f[1] * j[0, 0] - f[0] * j[1, 0]]) / det
        x = x - step
        if np.abs(step).max() < 1e-12:
            break
    return x


@takes(lambda r: (np.array([1.0, 1.0, 1.0]), 0.01, 200))
def lorenz_rk4(y, h, steps):  # type: ignore[no-untyped-def]
    def slope(v):  # type: ignore[no-untyped-def]
        return np.array([10.0 * (v[1] - v[0]), v[0] * (28.0 - v[2]) - v[1], v[0] * v[1] - 8.0 / 3.0 * v[2]])

    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y


@takes(lambda r: (0.0, 2.0, 1e-12))
def bisect(low, high, tolerance):  # type: ignore[no-untyped-def]
    while high - low > tolerance:
        middle = (low + high) / 2
        if middle**3 - middle - 2 > 0:
            high = middle
        else:
            low = middle
    return low


@takes(lambda r: (3000,))
def sieve(n):  # type: ignore[no-untyped-def]
    prime = np.ones(n + 1, dtype=np.bool_)
    prime[0] = prime[1] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            for j in range(i * i, n + 1, i):
                prime[j] = False
        i += 1
    return prime


@takes(lambda r: (r.random(40),))
def bubble_sort(x):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        swapped = False
        for j in range(len(x) - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break
    return x


@takes(lambda r: (r.integers(0, 1000, 60),))
def insertion_sort(x):  # type: ignore[no-untyped-def]
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key


@takes(lambda r: (r.random(120),))
def quick_sort(x):  # type: ignore[no-untyped-def]
    stack = np.zeros((64, 2), dtype=np.int64)
    stack[0] = 0, len(x) - 1
    depth = 1
    while depth > 0:
        depth -= 1
        low, high = stack[depth]
        while low < high:
            pivot = x[(low + high) // 2]
            i, j = low, high
            while i <= j:
                while x[i] < pivot:
                    i += 1
                while x[j] > pivot:
                    j -= 1
                if i <= j:
                    x[i], x[j] = x[j], x[i]
                    i += 1
                    j -= 1
            if j - low < high - i:
                stack[depth] = i, high
                high = j
            else:
                stack[depth] = low, j
                low = i
            depth += 1
    return x


@takes(lambda r: (80, r.integers(0, 80, (60, 2))))
def union_find(n, edges):  # type: ignore[no-untyped-def]
    parent = np.arange(n)
    groups = n
    for a, b in edges:
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
            groups -= 1
    return groups


@takes(lambda r: (np.where(r.random((16, 16)) < 0.3, r.random((16, 16)), np.inf),))
def floyd_warshall(d):  # type: ignore[no-untyped-def]
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if through < d[i, j]:
                    d[i, j] = through
    return d


@takes(lambda r: (r.random(12), r.random(50)))
def horner(coefficients, x):  # type: ignore[no-untyped-def]
    out = np.zeros_like(x)
    for c in coefficients:
        out = out * x + c
    return out


@takes(lambda r: (r.random(64) + 1j * r.random(64),))
def fft(x):  # type: ignore[no-untyped-def]
    n = len(x)
    out = x.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            out[i], out[j] = out[j], out[i]
    size = 2
    while size <= n:
        w = complex(math.cos(2 * math.pi / size), -math.sin(2 * math.pi / size))
        for start in range(0, n, size):
            factor = 1 + 0j
            for k in range(size // 2):
                even = out[start + k]
                odd = out[start + k + size // 2] * factor
                out[start + k] = even + odd
                out[start + k + size // 2] = even - odd
                factor = factor * w
        size *= 2
    return out


@takes(lambda r: (r.integers(0, 3, 400),))
def state_machine(symbols):  # type: ignore[no-untyped-def]
    state, accepted, longest, run = 0, 0, 0, 0
    for s in symbols:
        if state == 0:
            state = 1 if s == 1 else 0
        elif state == 1:
            state = 2 if s == 2 else (1 if s == 1 else 0)
        else:
            accepted += 1
            state = 0
        run = run + 1 if state else 0
        longest = max(longest, run)
    return accepted, longest


@takes(lambda r: (r.random(60), np.eye(2)))
def kalman(measured, covariance):  # type: ignore[no-untyped-def]
    f = np.array([[1.0, 1.0], [0.0, 1.0]])
    h = np.array([[1.0, 0.0]])
    q = 0.01 * np.eye(2)
    x = np.zeros(2)
    out = np.zeros(len(measured))
    for i in range(len(measured)):
        x = f @ x
        covariance = f @ covariance @ f.T + q
        s = (h @ covariance @ h.T)[0, 0] + 0.5
        gain = (covariance @ h.T)[:, 0] / s
        x = x + gain * (measured[i] - (h @ x)[0])
        covariance = covariance - np.outer(gain, h @ covariance)
        out[i] = x[0]
    return out
