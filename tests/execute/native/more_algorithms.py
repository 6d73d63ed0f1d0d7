"""More of the programs of `algorithms`, which hold all of both files once this one is imported.

In: nothing.  Out: the same `ALGORITHMS` and `arguments`.  What always holds: as there.
"""

from __future__ import annotations

import math

import numpy as np

from tests.execute.native.algorithms import ALGORITHMS, arguments, takes

__all__ = ["ALGORITHMS", "arguments"]


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
