"""Lists of numbers that grow: native code against Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
X = np.random.default_rng(2).integers(0, 9, 300)


def evens(x, n):  # type: ignore[no-untyped-def]
    found = []
    for v in x[:n]:
        if v % 2 == 0:
            found.append(v)
    return np.array(found), len(found)


def indices(x, n):  # type: ignore[no-untyped-def]
    found = []
    for k in range(n):
        if x[k] > 4:
            found.append(k)
    total = 0
    for k in range(len(found)):
        total += found[k] + found[-1 - k]
    return total


def stack(x, n):  # type: ignore[no-untyped-def]
    held = [0.0]
    best = 0.0
    for k in range(n):
        if x[k] > 3:
            held.append(float(x[k]))
        elif len(held) > 0:
            best = max(best, held.pop())
        else:
            best = -1.0
    return best, len(held), np.array(held)


def rows(x, n):  # type: ignore[no-untyped-def]
    longest = 0
    for k in range(n):
        row = []
        for j in range(k):
            if x[j] == x[k]:
                row.append(j)
        longest = max(longest, len(row))
    return longest


def empty_pop(x, n):  # type: ignore[no-untyped-def]
    held = [1]
    for k in range(n):
        held.pop()
    return len(held)


def out_of_range(x, n):  # type: ignore[no-untyped-def]
    held = [1, 2]
    for k in range(n):
        x[0] += held[k]
    return x[0]


def two_kinds(x, n):  # type: ignore[no-untyped-def]
    held = [1]
    for k in range(n):
        held.append(0.5)
    return np.array(held)


def given_back(x, n):  # type: ignore[no-untyped-def]
    held = []
    for k in range(n):
        held.append(k)
    return held


CASES: list[tuple[Callable[..., Any], bool]] = [
    (evens, True), (indices, True), (stack, True), (rows, True), (empty_pop, True), (out_of_range, True),
    (two_kinds, False), (given_back, False),
]  # fmt: skip


@pytest.mark.parametrize(("function", "lowered"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_lists(function: Callable[..., Any], lowered: bool) -> None:
    both(function, [(X, n) for n in (0, 1, 2, 40, 300)], lowered=lowered)
