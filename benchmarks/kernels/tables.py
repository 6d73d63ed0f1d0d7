"""Programs with dicts and sets by computed keys, heaps and deques."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from typing import Any

import numpy as np


def histogram_by_dict(x: Any) -> Any:
    counts = {}
    for v in x:
        counts[v] = counts.get(v, 0) + 1
    most = 0
    for v in counts:
        most = max(most, counts[v])
    return most, len(counts)


def longest_collatz(n: Any) -> Any:
    lengths = {1: 0}
    best, at = 0, 1
    for i in range(2, n):
        k, steps = i, 0
        while k not in lengths:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        lengths[i] = steps + lengths[k]
        if lengths[i] > best:
            best, at = lengths[i], i
    return best, at


def two_sum(x: Any, wanted: Any) -> Any:
    pairs, last = 0, {}
    for i in range(len(x)):
        v = int(x[i])
        if wanted - v in last:
            pairs += i - last[wanted - v]
        last[v] = i
    return pairs


def walk(turns: Any) -> Any:
    seen = {(0, 0)}
    a, b, da, db = 0, 0, 1, 0
    for k in range(len(turns)):
        if turns[k]:
            da, db = -db, da
        a, b = a + da, b + db
        seen.add((a, b))
    return len(seen)


def life(generations: Any) -> Any:
    live = [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2), (10, 10), (10, 11), (10, 12)]
    for _ in range(generations):
        near = {}
        for a, b in live:
            for da in range(-1, 2):
                for db in range(-1, 2):
                    if da != 0 or db != 0:
                        near[(a + da, b + db)] = near.get((a + da, b + db), 0) + 1
        before = set(live)
        live = [p for p, count in near.items() if count == 3 or (count == 2 and p in before)]
    return len(live)


def grouped(x: Any) -> Any:
    groups = defaultdict(list)
    for i in range(len(x)):
        groups[int(x[i]) % 50].append(i)
    total = 0
    for k in groups:
        for i in groups[k]:
            total += i * k
    return total


def sessions(users: Any, window: Any) -> Any:
    active, most = {}, 0
    for t in range(len(users)):
        active[int(users[t])] = t
        if t >= window and int(users[t - window]) in active and active[int(users[t - window])] == t - window:
            del active[int(users[t - window])]
        most = max(most, len(active))
    return most


def dijkstra(w: Any) -> Any:
    n = len(w)
    dist = np.full(n, np.inf)
    dist[0] = 0.0
    due = [(0.0, 0)]
    while due:
        d, u = heapq.heappop(due)
        if d > dist[u]:
            continue
        for v in range(n):
            further = float(d + w[u, v])
            if further < dist[v]:
                dist[v] = further
                heapq.heappush(due, (further, v))
    return dist


def largest(x: Any, k: Any) -> Any:
    kept = []
    for v in x:
        heapq.heappush(kept, float(v))
        if len(kept) > k:
            heapq.heappop(kept)
    return sorted(kept)


def events(count: Any) -> Any:
    t, served, number = 0.0, 0, 1
    due = [(0.0, 0, 0)]
    while due and served < count:
        t, kind, _ = heapq.heappop(due)
        if kind == 0:
            heapq.heappush(due, (t + 1.3, 0, number))
            heapq.heappush(due, (t + 2.1, 1, number + 1))
            number += 2
        else:
            served += 1
    return t


def maze(grid: Any) -> Any:
    n, m = grid.shape
    dist = np.full((n, m), -1)
    dist[0, 0] = 0
    due = deque([(0, 0)])
    while due:
        a, b = due.popleft()
        for da, db in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            i, j = a + da, b + db
            if 0 <= i < n and 0 <= j < m and grid[i, j] == 0 and dist[i, j] < 0:
                dist[i, j] = dist[a, b] + 1
                due.append((i, j))
    return dist


def smoothed(x: Any) -> Any:
    window, total, out = deque(), 0.0, np.empty(len(x))
    for i in range(len(x)):
        window.append(x[i])
        total += x[i]
        if len(window) > 20:
            total -= window.popleft()
        out[i] = total / len(window)
    return out


KERNELS = [
    (histogram_by_dict, lambda rng: (rng.integers(0, 500, 5_000),)),
    (longest_collatz, lambda rng: (5_000,)),
    (two_sum, lambda rng: (rng.integers(0, 2_000, 5_000), 1_999)),
    (walk, lambda rng: (rng.random(5_000) < 0.5,)),
    (life, lambda rng: (40,)),
    (grouped, lambda rng: (rng.integers(0, 1_000, 5_000),)),
    (sessions, lambda rng: (rng.integers(0, 300, 5_000), 100)),
    (dijkstra, lambda rng: (rng.random((60, 60)),)),
    (largest, lambda rng: (rng.random(3_000), 50)),
    (events, lambda rng: (1_000,)),
    (maze, lambda rng: ((rng.random((60, 60)) < 0.25).astype(np.int64),)),
    (smoothed, lambda rng: (rng.random(3_000),)),
]
