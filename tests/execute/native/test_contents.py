"""Arrays that were just made: sums of their elements are not checked where it is known what is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native import contents
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")

MOST = 2**63 - 1


def distance(a, b):  # type: ignore[no-untyped-def]
    n, m = len(a), len(b)
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
    return d


def subsequence(a, b):  # type: ignore[no-untyped-def]
    t = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                t[i, j] = t[i - 1, j - 1] + 1
            else:
                t[i, j] = max(t[i - 1, j], t[i, j - 1])
    return t


def below_zero(a, b):  # type: ignore[no-untyped-def]
    t = np.full(len(a) + 1, 5)
    for i in range(len(a)):
        t[i + 1] = t[i] - 7 if a[i] > 3 else t[i] + 3
        if t[i + 1] < -20:
            t[i + 1] = -t[i + 1]
    return t, t.sum(), t.max()


def of_given(a, b):  # type: ignore[no-untyped-def]
    t = np.zeros(len(a), dtype=np.int64)
    for i in range(len(a)):
        t[i] = a[i]
    for i in range(1, len(a)):
        t[i] = t[i] + t[i - 1] + 1
    return t


def doubled(a, b):  # type: ignore[no-untyped-def]
    t = np.ones(70, dtype=np.int64)
    for i in range(1, 70):
        t[i] = t[i - 1] + t[i - 1]
    return t


def through_a_view(a, b):  # type: ignore[no-untyped-def]
    t = np.zeros((2, len(a)), dtype=np.int64)
    row = t[1]
    for i in range(len(a)):
        row[i] = a[i]
    for i in range(1, len(a)):
        t[1, i] = t[1, i - 1] + 1
    return t


def whole_lines(a, b):  # type: ignore[no-untyped-def]
    t = np.zeros((2, len(a)), dtype=np.int64)
    t[0] = a
    t[1] += b[: len(a)] if len(b) >= len(a) else 1
    for i in range(1, len(a)):
        t[0, i] = t[0, i - 1] + 1
        t[1, i] += 1
    return t


def taking_turns(a, b):  # type: ignore[no-untyped-def]
    old, new = np.zeros(len(a), dtype=np.int64), a.copy()
    for k in range(3):
        for i in range(1, len(a)):
            new[i] = old[i - 1] + 1
        old, new = new, old
    return old, new


def picked(a, b):  # type: ignore[no-untyped-def]
    t = np.zeros(len(a), dtype=np.int64)
    for k in range(2):
        u = t if k else a
        for i in range(len(a)):
            u[i] = u[i] + 1
    return t, a


PROGRAMS = [
    distance, subsequence, below_zero, of_given, doubled, through_a_view, whole_lines, taking_turns, picked,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_in_them(program: Any) -> None:
    r = np.random.default_rng(5)
    calls = [
        (r.integers(0, 6, n), r.integers(0, 6, m)) for n, m in ((9, 9), (1, 1), (7, 12), (12, 3), (40, 40))
    ]
    for value in (MOST, MOST - 1, MOST // 2 + 1, -MOST - 1, -(MOST // 2)):
        for at in (0, 3, 8):
            calls.append((r.integers(0, 6, 9), r.integers(0, 6, 9)))
            calls[-1][0][at] = calls[-1][1][-at] = value
    for errors in ("warn", "ignore"):
        both(program, calls, lowered=False, over=errors)


@pytest.mark.parametrize("program", [distance, subsequence], ids=lambda f: f.__name__)
def test_nothing_is_checked_in_the_loops(program: Any) -> None:
    x = np.arange(9)
    with settings.override(executor="native", compile="now"):
        concrete = ag.function(program).get_concrete_function(x, x)
        assert contents.known(concrete.graph)
        text = concrete.native_ir.partition("@kernel")[2]
    assert "9223372036854775806" not in text and "with.overflow" not in text


@pytest.mark.parametrize("alphabet", [1, 2, 4, 30])
def test_the_lesser_of_a_neighbour_and_another_number(alphabet: int) -> None:
    r = np.random.default_rng(alphabet)
    for n in (1, 2, 3, 5, 6, 17, 60):
        both(distance, [(r.integers(0, alphabet, n), r.integers(0, alphabet, n + 3)) for _ in range(3)])
