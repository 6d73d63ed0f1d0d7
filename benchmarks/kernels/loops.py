"""Loops that read and write single elements of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def axpy(a: Any, x: Any, y: Any) -> Any:
    for i in range(len(x)):
        y[i] += a * x[i]
    return y


def thresholded(x: Any, low: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > low:
            out[i] = 2.0 * x[i]
    return out


def gauss_seidel(u: Any, f: Any, sweeps: Any) -> Any:
    n, m = u.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return u


def red_black(u: Any, sweeps: Any) -> Any:
    n, m = u.shape
    for sweep in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1 + (i + sweep) % 2, m - 1, 2):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def box_blur(image: Any) -> Any:
    n, m = image.shape
    out = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            total = 0.0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    total += image[i + a, j + b]
            out[i, j] = total / 9.0
    return out


def convolve_loops(x: Any, w: Any) -> Any:
    out = np.zeros(len(x) - len(w) + 1)
    for i in range(len(out)):
        total = 0.0
        for j in range(len(w)):
            total += x[i + j] * w[j]
        out[i] = total
    return out


def median_of_three(x: Any) -> Any:
    out = x.copy()
    for i in range(1, len(x) - 1):
        a, b, c = x[i - 1], x[i], x[i + 1]
        if a > b:
            a, b = b, a
        if b > c:
            b = c
        if a > b:
            b = a
        out[i] = b
    return out


def floyd_warshall(d: Any) -> Any:
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if through < d[i, j]:
                    d[i, j] = through
    return d


def knapsack(weights: Any, values: Any, capacity: Any) -> Any:
    best = np.zeros(capacity + 1, np.int64)
    for k in range(len(weights)):
        for c in range(capacity, weights[k] - 1, -1):
            with_it = best[c - weights[k]] + values[k]
            if with_it > best[c]:
                best[c] = with_it
    return best[capacity]


def common_subsequence(a: Any, b: Any) -> Any:
    n, m = len(a), len(b)
    t = np.zeros((n + 1, m + 1), np.int64)
    for i in range(n):
        for j in range(m):
            if a[i] == b[j]:
                t[i + 1, j + 1] = t[i, j] + 1
            else:
                t[i + 1, j + 1] = max(t[i, j + 1], t[i + 1, j])
    return t[n, m]


def edit_distance_rows(a: Any, b: Any) -> Any:
    before = np.arange(len(b) + 1)
    row = np.zeros(len(b) + 1, np.int64)
    for i in range(len(a)):
        row[0] = i + 1
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            row[j + 1] = min(row[j] + 1, before[j + 1] + 1, before[j] + cost)
        before, row = row, before
    return before[len(b)]


def time_warping(a: Any, b: Any) -> Any:
    n, m = len(a), len(b)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            step = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = abs(a[i - 1] - b[j - 1]) + step
    return cost[n, m]


def insertion_sort(x: Any) -> Any:
    for i in range(1, len(x)):
        v = x[i]
        j = i - 1
        while j >= 0 and x[j] > v:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = v
    return x


def heap_sort(x: Any) -> Any:
    n = len(x)
    start, end = n // 2, n
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            x[end], x[0] = x[0], x[end]
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and x[child] < x[child + 1]:
                child += 1
            if x[root] >= x[child]:
                break
            x[root], x[child] = x[child], x[root]
            root = child
    return x


def binary_searches(table: Any, keys: Any) -> Any:
    out = np.empty(len(keys), np.int64)
    for k in range(len(keys)):
        low, high = 0, len(table)
        while low < high:
            middle = (low + high) // 2
            if table[middle] < keys[k]:
                low = middle + 1
            else:
                high = middle
        out[k] = low
    return out


def union_find(pairs: Any, n: Any) -> Any:
    parent = np.arange(n)
    groups = n
    for k in range(len(pairs)):
        a, b = pairs[k, 0], pairs[k, 1]
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


def life_loops(board: Any, steps: Any) -> Any:
    n, m = board.shape
    for _ in range(steps):
        after = np.zeros((n, m), np.int64)
        for i in range(n):
            for j in range(m):
                near = 0
                for a in range(-1, 2):
                    for b in range(-1, 2):
                        if a != 0 or b != 0:
                            near += board[(i + a) % n, (j + b) % m]
                if near == 3 or (near == 2 and board[i, j] == 1):
                    after[i, j] = 1
        board = after
    return board


def lu_in_place(a: Any) -> Any:
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def tridiagonal(a: Any, b: Any, c: Any, d: Any) -> Any:
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    x = np.zeros(n)
    x[n - 1] = d[n - 1] / b[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x


def bodies(pos: Any, vel: Any, mass: Any, steps: Any) -> Any:
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            ax, ay, az = 0.0, 0.0, 0.0
            for j in range(n):
                if i != j:
                    dx = pos[j, 0] - pos[i, 0]
                    dy = pos[j, 1] - pos[i, 1]
                    dz = pos[j, 2] - pos[i, 2]
                    d2 = dx * dx + dy * dy + dz * dz + 0.01
                    s = mass[j] / (d2 * math.sqrt(d2))
                    ax, ay, az = ax + dx * s, ay + dy * s, az + dz * s
            vel[i, 0] += 0.01 * ax
            vel[i, 1] += 0.01 * ay
            vel[i, 2] += 0.01 * az
        for i in range(n):
            for k in range(3):
                pos[i, k] += 0.01 * vel[i, k]
    return pos


def kmeans_loops(points: Any, centres: Any, rounds: Any) -> Any:
    n, k = len(points), len(centres)
    label = np.zeros(n, np.int64)
    for _ in range(rounds):
        sums = np.zeros((k, 2))
        counts = np.zeros(k)
        for i in range(n):
            best = 1e300
            for c in range(k):
                dx, dy = points[i, 0] - centres[c, 0], points[i, 1] - centres[c, 1]
                d = dx * dx + dy * dy
                if d < best:
                    best = d
                    label[i] = c
            sums[label[i], 0] += points[i, 0]
            sums[label[i], 1] += points[i, 1]
            counts[label[i]] += 1.0
        for c in range(k):
            if counts[c] > 0:
                centres[c, 0] = sums[c, 0] / counts[c]
                centres[c, 1] = sums[c, 1] / counts[c]
    return centres, label


def grey_bytes(image: Any) -> Any:
    n, m, _ = image.shape
    out = np.zeros((n, m), np.uint8)
    for i in range(n):
        for j in range(m):
            out[i, j] = np.uint8(0.299 * image[i, j, 0] + 0.587 * image[i, j, 1] + 0.114 * image[i, j, 2])
    return out


def mandelbrot_loops(n: Any, limit: Any) -> Any:
    out = np.zeros((n, n), np.int32)
    for i in range(n):
        for j in range(n):
            c = complex(-2.0 + 3.0 * j / n, -1.5 + 3.0 * i / n)
            z = 0j
            k = 0
            while k < limit and z.real * z.real + z.imag * z.imag < 4.0:
                z = z * z + c
                k += 1
            out[i, j] = k
    return out


def coin_ways(coins: Any, total: Any) -> Any:
    ways = np.zeros(total + 1, np.int64)
    ways[0] = 1
    for k in range(len(coins)):
        for t in range(coins[k], total + 1):
            ways[t] += ways[t - coins[k]]
    return ways[total]


def viterbi(start: Any, move: Any, emit: Any, seen: Any) -> Any:
    n, steps = len(start), len(seen)
    score = np.zeros((steps, n))
    back = np.zeros((steps, n), np.int64)
    for s in range(n):
        score[0, s] = start[s] + emit[s, seen[0]]
    for t in range(1, steps):
        for s in range(n):
            best, arg = -1e300, 0
            for r in range(n):
                v = score[t - 1, r] + move[r, s]
                if v > best:
                    best, arg = v, r
            score[t, s] = best + emit[s, seen[t]]
            back[t, s] = arg
    path = np.zeros(steps, np.int64)
    path[steps - 1] = np.argmax(score[steps - 1])
    for t in range(steps - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path


def running_extremes(x: Any) -> Any:
    high = np.empty(len(x))
    draw = np.empty(len(x))
    top = x[0]
    for i in range(len(x)):
        if x[i] > top:
            top = x[i]
        high[i] = top
        draw[i] = x[i] / top - 1.0
    return high, draw


def sparse_product(values: Any, columns: Any, starts: Any, x: Any) -> Any:
    n = len(starts) - 1
    y = np.zeros(n)
    for i in range(n):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
    return y


def low_pass(x: Any, a: Any) -> Any:
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = a * x[i] + (1.0 - a) * y[i - 1]
    return y


def words_hash(data: Any) -> Any:
    h = np.uint32(2166136261)
    for i in range(len(data)):
        h = (h ^ np.uint32(data[i])) * np.uint32(16777619)
    return h


def shortest_paths(d: Any) -> Any:
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def linear_sieve(n: Any) -> Any:
    least, primes = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    count = 0
    for i in range(2, n + 1):
        if least[i] == 0:
            least[i] = i
            primes[count] = i
            count += 1
        k = 0
        while k < count and primes[k] <= least[i] and i * primes[k] <= n:
            least[i * primes[k]] = primes[k]
            k += 1
    return count


def fewest_coins(coins: Any, n: Any) -> Any:
    fewest = np.zeros(n + 1, np.int64)
    for i in range(1, n + 1):
        best = 1_000_000
        for k in range(len(coins)):
            if coins[k] <= i and fewest[i - coins[k]] + 1 < best:
                best = fewest[i - coins[k]] + 1
        fewest[i] = best
    return fewest[n]


def pattern_matches(text: Any, word: Any) -> Any:
    back, k, found = np.zeros(len(word), np.int64), 0, 0
    for i in range(1, len(word)):
        while k > 0 and word[i] != word[k]:
            k = back[k - 1]
        if word[i] == word[k]:
            k += 1
        back[i] = k
    k = 0
    for i in range(len(text)):
        while k > 0 and text[i] != word[k]:
            k = back[k - 1]
        if text[i] == word[k]:
            k += 1
        if k == len(word):
            found += 1
            k = back[k - 1]
    return found


def positive_total(x: Any) -> Any:
    total = 0
    for i in range(len(x)):
        if x[i] > 0:
            total += x[i]
    return total


def _sparse(rng: Any) -> tuple[Any, ...]:
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 12, 2000))])
    count = starts[-1]
    return rng.random(count), rng.integers(0, 2000, count), starts, rng.random(2000)


KERNELS = [
    (axpy, lambda rng: (0.5, rng.random(100_000), rng.random(100_000))),
    (thresholded, lambda rng: (rng.random(100_000), 0.5)),
    (gauss_seidel, lambda rng: (rng.random((60, 60)), rng.random((60, 60)), 20)),
    (red_black, lambda rng: (rng.random((60, 60)), 20)),
    (box_blur, lambda rng: (rng.random((120, 120)),)),
    (convolve_loops, lambda rng: (rng.random(5_000), rng.random(15))),
    (median_of_three, lambda rng: (rng.random(50_000),)),
    (floyd_warshall, lambda rng: (rng.random((50, 50)),)),
    (knapsack, lambda rng: (rng.integers(1, 40, 60), rng.integers(1, 99, 60), 1000)),
    (common_subsequence, lambda rng: (rng.integers(0, 4, 250), rng.integers(0, 4, 250))),
    (edit_distance_rows, lambda rng: (rng.integers(0, 4, 250), rng.integers(0, 4, 250))),
    (time_warping, lambda rng: (rng.random(200), rng.random(200))),
    (insertion_sort, lambda rng: (rng.random(400),)),
    (heap_sort, lambda rng: (rng.random(3_000),)),
    (binary_searches, lambda rng: (np.sort(rng.random(10_000)), rng.random(3_000))),
    (union_find, lambda rng: (rng.integers(0, 5_000, (5_000, 2)), 5_000)),
    (life_loops, lambda rng: (rng.integers(0, 2, (40, 40)), 5)),
    (lu_in_place, lambda rng: (rng.random((60, 60)) + 60 * np.eye(60),)),
    (
        tridiagonal,
        lambda rng: (rng.random(20_000), rng.random(20_000) + 4, rng.random(20_000), rng.random(20_000)),
    ),
    (bodies, lambda rng: (rng.random((30, 3)), np.zeros((30, 3)), rng.random(30), 10)),
    (kmeans_loops, lambda rng: (rng.random((2_000, 2)), rng.random((8, 2)), 3)),
    (grey_bytes, lambda rng: (rng.random((100, 100, 3)) * 255,)),
    (mandelbrot_loops, lambda rng: (60, 100)),
    (coin_ways, lambda rng: (np.array([1, 2, 5, 10, 20, 50, 100, 200]), 5_000)),
    (viterbi, lambda rng: (rng.random(8), rng.random((8, 8)), rng.random((8, 5)), rng.integers(0, 5, 500))),
    (running_extremes, lambda rng: (100 + np.cumsum(rng.standard_normal(50_000) * 0.1),)),
    (sparse_product, _sparse),
    (low_pass, lambda rng: (rng.random(50_000), 0.1)),
    (shortest_paths, lambda rng: (rng.random((50, 50)),)),
    (linear_sieve, lambda rng: (30_000,)),
    (fewest_coins, lambda rng: (np.array([1, 5, 10, 25, 50]), 5_000)),
    (pattern_matches, lambda rng: (rng.integers(0, 2, 20_000), rng.integers(0, 2, 9))),
    (positive_total, lambda rng: (rng.standard_normal(20_000),)),
    (words_hash, lambda rng: (rng.integers(0, 256, 20_000).astype(np.uint8),)),
]
