"""Deques that native code makes, against Python."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
X = np.random.default_rng(4).integers(-30, 30, 300)


def breadth_first(x, n):  # type: ignore[no-untyped-def]
    grid = x[:100].reshape(10, 10)
    dist = np.full((10, 10), -1)
    dist[n % 10, 0] = 0
    q = deque()
    q.append((n % 10, 0))
    while q:
        i, j = q.popleft()
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if 0 <= a < 10 and 0 <= b < 10 and grid[a, b] < 15 and dist[a, b] < 0:
                dist[a, b] = dist[i, j] + 1
                q.append((a, b))
    return dist


def averaged(x, n):  # type: ignore[no-untyped-def]
    q = deque(maxlen=5)
    out = []
    for v in x[:n]:
        q.append(v * 0.5)
        out.append(sum(q) / len(q))
    return out, list(q)


def by_numpy(x, n):  # type: ignore[no-untyped-def]
    q = deque(maxlen=7)
    out = []
    for v in x[:n]:
        q.append(float(v))
        out.append(np.mean(q) + np.max(q))
    return out


def both_ends(x, n):  # type: ignore[no-untyped-def]
    q = deque()
    total = 0
    for v in x[:n]:
        if v % 3 == 0:
            q.appendleft(int(v))
        else:
            q.append(int(v) * 2)
        if v % 5 == 0 and len(q) > 2:
            total += q.popleft() - q.pop()
        if v % 11 == 0:
            total += q[0] * q[-1]
            q[1 % len(q)] = 7
    for v in q:
        total += v
    return total, list(q), sum(q), sorted(q), len(q), bool(q)


def long_lived(x, n):  # type: ignore[no-untyped-def]
    q = deque([(0, 0.5)])
    total = 0.0
    for i in range(20 * n):
        q.append((i, i * 0.5))
        if i % 3:
            a, b = q.popleft()
            total += a + b
    return total, list(q)


def of_arrays(x, n):  # type: ignore[no-untyped-def]
    q = deque()
    total = 0.0
    for k in range(n):
        q.append(x[k : k + 3] * 0.5)
        if len(q) > 4:
            total += q.popleft().sum()
    return total, list(q)


def round_and_round(x, n):  # type: ignore[no-untyped-def]
    q = deque([k for k in range(n + 1)])
    while len(q) > 1:
        q.append(q.popleft())
        q.popleft()
    return q[0]


def changed_while_read(x, n):  # type: ignore[no-untyped-def]
    q = deque([1, 2, 3])
    total = 0
    for v in q:
        total += v
        if v == n:
            q.append(q.popleft())
    return total, list(q)


def written_while_read(x, n):  # type: ignore[no-untyped-def]
    q = deque([1, 2, 3])
    for v in q:
        q[v - 1] = v * n
    return list(q)


def out_of_items(x, n):  # type: ignore[no-untyped-def]
    q = deque([1, 2])
    for _ in range(n):
        q.popleft()
    return len(q)


def emptied(x, n):  # type: ignore[no-untyped-def]
    q = deque()
    most = 0
    for v in x[:n]:
        q.append(v)
        if v > 20:
            most = max(most, len(q))
            q.clear()
    q.extend([3, 4])
    return most, list(q)


CASES: list[Callable[..., Any]] = [
    breadth_first, averaged, by_numpy, both_ends, long_lived, of_arrays, round_and_round, changed_while_read,
    written_while_read, out_of_items, emptied,
]  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=[f.__name__ for f in CASES])
def test_deques(function: Callable[..., Any]) -> None:
    both(function, [(X, n) for n in (40, 290, 2, 1, 0)])


def given_back(x, n):  # type: ignore[no-untyped-def]
    q = deque()
    for v in x[:n]:
        q.append(v)
    return q


def turned(x, n):  # type: ignore[no-untyped-def]
    q = deque([k for k in range(5)])
    q.rotate(n)
    return list(q)


def one_or_the_other(x, n):  # type: ignore[no-untyped-def]
    q, p = deque([1]), deque([2])
    for k in range(n):
        if x[k] > 0:
            q, p = p, q
        q.append(k)
    return list(q), list(p)


def of_no_length(x, n):  # type: ignore[no-untyped-def]
    q = deque([], -1)
    for k in range(n):
        q.append(k)
    return list(q)


REFUSED: list[Callable[..., Any]] = [given_back, turned, one_or_the_other, of_no_length]


@pytest.mark.parametrize("function", REFUSED, ids=[f.__name__ for f in REFUSED])
def test_what_has_no_native_code_is_left_to_the_plan(function: Callable[..., Any]) -> None:
    both(function, [(X, n) for n in (40, 3, 0)], lowered=False)


def no_hole(x, n):  # type: ignore[no-untyped-def]
    q = deque([1, 2, 3])
    if n:
        q.popleft()
    large = int(x[0]) * 4
    return sum(q), large


def no_hole_to_go_over(x, n):  # type: ignore[no-untyped-def]
    q = deque([1, 2, 3])
    if n:
        q.popleft()
    large, total = int(x[0]) * 4, 0
    for v in q:
        total += v
    return total, large


def nothing_to_extend_by(x, n):  # type: ignore[no-untyped-def]
    items, more = [], []
    for k in range(n):
        more.append(k)
    large = int(x[0]) * 4
    items.extend(more)
    return items, large


def nothing_taken_out(x, n):  # type: ignore[no-untyped-def]
    d = {1: 2, 3: 4, 5: 6}
    if n == 1:
        del d[3]
    large = int(x[0]) * 4
    return sum(d.values()), large


WAYS: list[Callable[..., Any]] = [no_hole, no_hole_to_go_over, nothing_to_extend_by, nothing_taken_out]


@pytest.mark.parametrize("function", WAYS, ids=[f.__name__ for f in WAYS])
def test_a_check_that_waits_is_acted_on_where_the_ways_part(function: Callable[..., Any]) -> None:
    both(function, [(np.full(5, x), n) for x in (1, 1 << 62) for n in (2, 0, 1)])
