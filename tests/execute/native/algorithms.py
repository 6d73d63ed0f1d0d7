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


@takes(lambda r: (1.0, 3.0, 1e-8))
def adaptive_ode(y, end, tolerance):  # type: ignore[no-untyped-def]
    t, h, steps = 0.0, 0.1, 0
    while t < end:
        if t + h > end:
            h = end - t
        k1 = -y * math.sin(t)
        k2 = -(y + h * k1) * math.sin(t + h)
        error = abs(h * (k2 - k1) / 2)
        if error <= tolerance:
            t += h
            y += h * (k1 + k2) / 2
            steps += 1
        h *= min(2.0, max(0.2, 0.9 * math.sqrt(tolerance / max(error, 1e-300))))
        if steps > 20000:
            raise RuntimeError("too many steps")
    return y, steps


@takes(lambda r: (r.random(300), 7))
def moving_average(x, width):  # type: ignore[no-untyped-def]
    out = np.empty(len(x) - width + 1)
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        if i >= width:
            total -= x[i - width]
        if i >= width - 1:
            out[i - width + 1] = total / width
    return out


@takes(lambda r: (np.sort(r.integers(0, 40, 200)),))
def run_lengths(x):  # type: ignore[no-untyped-def]
    values, lengths = [], []
    previous, n = x[0], 0
    for v in x:
        if v == previous:
            n += 1
        else:
            values.append(previous)
            lengths.append(n)
            previous, n = v, 1
    values.append(previous)
    lengths.append(n)
    return np.array(values), np.array(lengths)


@takes(lambda r: (r.random(300), np.sort(r.random(12)), r.random(300)))
def binning(x, edges, weights):  # type: ignore[no-untyped-def]
    sums = np.zeros(len(edges) + 1)
    for i in range(len(x)):
        low, high = 0, len(edges)
        while low < high:
            middle = (low + high) // 2
            if x[i] < edges[middle]:
                high = middle
            else:
                low = middle + 1
        sums[low] += weights[i]
    return sums


@takes(lambda r: (r.random(100) * 10, np.arange(11.0), r.random(11)))
def interpolation(x, xs, ys):  # type: ignore[no-untyped-def]
    out = np.empty_like(x)
    for i, v in enumerate(x):
        k = np.searchsorted(xs, v)
        if k == 0:
            out[i] = ys[0]
        elif k == len(xs):
            out[i] = ys[-1]
        else:
            t = (v - xs[k - 1]) / (xs[k] - xs[k - 1])
            out[i] = ys[k - 1] * (1 - t) + ys[k] * t
    return out


@takes(
    lambda r: (
        r.random((6, 8, 10)).astype("f"), r.integers(1, 9, 6), r.random((10, 10)).astype("f"),
        r.random((10, 10)).astype("f") / 10, r.random(10).astype("f"),
    )
)  # fmt: skip
def recurrent_network(x, length, w, u, b):  # type: ignore[no-untyped-def]
    h = np.zeros((x.shape[0], u.shape[0]), dtype=np.float32)
    outs = np.zeros((x.shape[1], x.shape[0], u.shape[0]), dtype=np.float32)
    last = np.max(length)
    t = 0
    while t < last:
        new = np.maximum(x[:, t] @ w + h @ u + b, np.float32(0.0))
        live = (t < length).reshape((-1, 1))
        h = np.where(live, new, h)
        outs[t] = np.where(live, new, np.float32(0.0))
        t += 1
    return outs, h


@takes(lambda r: (r.random((50, 6)), r.integers(0, 3, 50), np.zeros((6, 3)), np.zeros(3)))
def softmax_regression(x, y, w, b):  # type: ignore[no-untyped-def]
    rows = np.arange(len(x))
    loss = 0.0
    for _ in range(10):
        z = x @ w + b
        z = z - np.max(z, axis=1, keepdims=True)
        e = np.exp(z)
        p = e / np.sum(e, axis=1, keepdims=True)
        loss = -np.mean(np.log(p[rows, y]))
        p[rows, y] -= 1.0
        g = p / len(x)
        w = w - 0.5 * (x.T @ g)
        b = b - 0.5 * np.sum(g, axis=0)
    return w, b, loss


@takes(lambda r: (np.linspace(-2.0, 0.6, 20), np.linspace(-1.3, 1.3, 20), 50))
def mandelbrot(xs, ys, limit):  # type: ignore[no-untyped-def]
    out = np.zeros((len(ys), len(xs)), dtype=np.int32)
    for i in range(len(ys)):
        for j in range(len(xs)):
            c = complex(xs[j], ys[i])
            z = 0j
            n = 0
            while n < limit and abs(z) <= 2.0:
                z = z * z + c
                n += 1
            out[i, j] = n
    return out


@takes(lambda r: (r.random((15, 15)), r.random(15)))
def power_iteration(a, v):  # type: ignore[no-untyped-def]
    value = 0.0
    for _ in range(50):
        w = a @ v
        new = np.sqrt(np.sum(w * w))
        v = w / new
        if abs(new - value) < 1e-12:
            break
        value = new
    return value, v


@takes(lambda r: (r.random((8, 8)) + 8 * np.eye(8), r.random(8)))
def conjugate_gradient(a, b):  # type: ignore[no-untyped-def]
    a = (a + a.T) / 2
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    old = r @ r
    for _ in range(30):
        ap = a @ p
        alpha = old / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        if np.sqrt(new) < 1e-10:
            break
        p = r + (new / old) * p
        old = new
    return x


@takes(lambda r: (r.random((12, 12)),))
def jacobi(u):  # type: ignore[no-untyped-def]
    for _ in range(50):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        error = np.max(np.abs(new - u))
        u = new
        if error < 1e-6:
            break
    return u


@takes(lambda r: (r.random((30, 4)), r.random(4)))
def nearest(points, q):  # type: ignore[no-untyped-def]
    best, index = math.inf, -1
    for i, p in enumerate(points):
        d = np.sum((p - q) ** 2)
        if d < best:
            best, index = d, i
    return index, best


@takes(lambda r: (r.random(50), 0.3))
def exponential_smoothing(x, alpha):  # type: ignore[no-untyped-def]
    out = [x[0]]
    for v in x[1:]:
        out.append(alpha * v + (1 - alpha) * out[-1])
    return np.array(out)


@takes(lambda r: (17, 40))
def modular_power(base, top):  # type: ignore[no-untyped-def]
    total = 0
    for exponent in range(top):
        result, b, e = 1, base % 1009, exponent
        while e:
            if e & 1:
                result = result * b % 1009
            b = b * b % 1009
            e >>= 1
        total += result
    return total


@takes(lambda r: (1071, 462))
def gcd(a, b):  # type: ignore[no-untyped-def]
    while b:
        a, b = b, a % b
    return a


@takes(lambda r: (12,))
def fibonacci(n):  # type: ignore[no-untyped-def]
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@takes(lambda r: (r.integers(0, 255, (16, 16)).astype(np.uint8),))
def threshold(image):  # type: ignore[no-untyped-def]
    counts = np.zeros(256, dtype=np.int64)
    for row in image:
        for pixel in row:
            counts[pixel] += 1
    total, weighted = image.size, 0.0
    for level in range(256):
        weighted += level * counts[level]
    best, where, below, part = -1.0, 0, 0, 0.0
    for level in range(256):
        below += counts[level]
        if below == 0:
            continue
        above = total - below
        if above == 0:
            break
        part += level * counts[level]
        between = below * above * (part / below - (weighted - part) / above) ** 2
        if between > best:
            best, where = between, level
    return where, (image > where).astype(np.uint8)


@takes(lambda r: (r.random((20, 3)),))
def pairwise_distances(x):  # type: ignore[no-untyped-def]
    n = x.shape[0]
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            d = np.sqrt(((x[i] - x[j]) ** 2).sum())
            out[i, j] = d
            out[j, i] = d
    return out


@takes(lambda r: (r.random(30), r.integers(0, 30, 100)))
def gather_scatter(x, where):  # type: ignore[no-untyped-def]
    y = x.copy()
    for _ in range(20):
        picked = y[where]
        y[where] = picked * 0.5 + 0.1
        positive = y > 0.4
        y[positive] -= 0.3
    return y.sum()
