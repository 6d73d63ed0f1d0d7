"""`heapq` on lists that native code makes, against Python: which item comes when, and where the rest lies."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
X = np.random.default_rng(3).integers(-30, 30, 300)


def in_order(x, n):  # type: ignore[no-untyped-def]
    h = []
    for v in x[:n]:
        heapq.heappush(h, int(v))
    out = []
    while h:
        out.append(heapq.heappop(h))
    return out


def largest(x, n):  # type: ignore[no-untyped-def]
    h = []
    for v in x[:n]:
        heapq.heappush(h, v)
        if len(h) > 10:
            heapq.heappop(h)
    return h


def of_pairs(x, n):  # type: ignore[no-untyped-def]
    h = []
    for i, v in enumerate(x[:n]):
        heapq.heappush(h, (float(v), i))
    total = 0.0
    while h:
        d, i = heapq.heappop(h)
        total = total * 0.5 + d * i
    return total


def ties(x, n):  # type: ignore[no-untyped-def]
    h = []
    for i, v in enumerate(x[:n]):
        heapq.heappush(h, (int(v) % 3, (i % 2, -0.0 if i % 4 else 0.0), i))
    out = []
    while len(h) > 5:
        out.append(heapq.heappop(h))
        if out[-1][2] % 7 == 3:
            heapq.heappush(h, (1, (1, 0.0), 5))
    return out, h


def floats(x, n):  # type: ignore[no-untyped-def]
    h = []
    for v in x[:n]:
        heapq.heappush(h, float(v) - 25.0 if v % 2 else -0.0 * v)
    return h


def nan(x, n):  # type: ignore[no-untyped-def]
    h = []
    for v in x[:n]:
        big = float(v) * 1e308
        heapq.heappush(h, big * 10.0 - big * 10.0 if v % 5 == 0 else big)
    return [v == v for v in h]


def made_one(x, n):  # type: ignore[no-untyped-def]
    h = [int(v) for v in x[:n]]
    heapq.heapify(h)
    out = []
    for k in range(n // 2):
        out.append(heapq.heapreplace(h, k * 3 - 20))
    return h, out


def unsigned(x, n):  # type: ignore[no-untyped-def]
    h = []
    for v in x[:n].astype(np.uint64):
        heapq.heappush(h, v)
    return h


def small(x, n):  # type: ignore[no-untyped-def]
    h = []
    for v in x[:n].astype(np.int8):
        heapq.heappush(h, v)
    return h


def shortest(x, n):  # type: ignore[no-untyped-def]
    w = np.abs(x[:100].reshape(10, 10)) + 0.5
    dist = np.full(10, np.inf)
    dist[n % 10] = 0.0
    h = [(0.0, n % 10)]
    while h:
        d, u = heapq.heappop(h)
        if d > dist[u]:
            continue
        for v in range(10):
            further = d + w[u, v]
            if further < dist[v]:
                dist[v] = further
                heapq.heappush(h, (further, v))
    return dist


def events(x, n):  # type: ignore[no-untyped-def]
    t = 0.0
    due = [(0.0, 0, 0)]
    served, number = 0, 1
    while due and served < n:
        t, kind, _ = heapq.heappop(due)
        if kind == 0:
            heapq.heappush(due, (t + 1.3, 0, number))
            heapq.heappush(due, (t + 2.1, 1, number + 1))
            number += 2
        else:
            served += 1
    return t, served, len(due)


def out_of_items(x, n):  # type: ignore[no-untyped-def]
    h = [3]
    for _ in range(n):
        heapq.heappop(h)
    return len(h)


def bools_and_ints(x, n):  # type: ignore[no-untyped-def]
    h, pairs = [], []
    for i in range(n):
        heapq.heappush(h, i % 3 - 1)
        heapq.heappush(h, bool(x[i] > 0))
        heapq.heappush(pairs, (i % 3 - 1 if i % 2 else x[i] > 0, i))
    return [heapq.heappop(h) for _ in range(n)], h, pairs


CASES: list[Callable[..., Any]] = [
    in_order, largest, of_pairs, ties, floats, nan, made_one, unsigned, small, shortest, events, out_of_items,
    bools_and_ints,
]  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=[f.__name__ for f in CASES])
def test_heaps(function: Callable[..., Any]) -> None:
    both(function, [(X, n) for n in (40, 290, 7, 1, 0)])


def of_texts(x, n):  # type: ignore[no-untyped-def]
    h = []
    for v in x[:n]:
        heapq.heappush(h, str(v))
    return h


def of_ints_and_floats(x, n):  # type: ignore[no-untyped-def]
    h = []
    for v in x[:n]:
        heapq.heappush(h, int(v) if v % 2 else v / 2)
    return h


class Wrong:
    """Its comparison has an effect."""

    seen: list[int] = []

    def __init__(self, v: int) -> None:
        self.v = v

    def __lt__(self, other: Any) -> bool:
        self.seen.append(1)
        return bool(self.v < other.v)


def of_objects(x, n):  # type: ignore[no-untyped-def]
    h = []
    for v in x[:n]:
        heapq.heappush(h, Wrong(int(v)))
    return [w.v for w in h], len(Wrong.seen) > 0


def put_in_by_another(x, n):  # type: ignore[no-untyped-def]
    h = [1.5]
    other = [h]
    for v in x[:n]:
        other[0].append(float(v))
    heapq.heapify(h)
    return h


def floats_and_shorter_ones(x, n):  # type: ignore[no-untyped-def]
    h = []
    for v in x[:n]:
        heapq.heappush(h, np.float32(v * 0.1))
        heapq.heappush(h, float(v) * 0.1)
    return h


REFUSED: list[Callable[..., Any]] = [
    of_texts, of_ints_and_floats, of_objects, put_in_by_another, floats_and_shorter_ones,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=[f.__name__ for f in REFUSED])
def test_what_has_no_native_code_is_left_to_the_plan(function: Callable[..., Any]) -> None:
    both(function, [(X, n) for n in (40, 3, 0)], lowered=False)
