"""Sorting, medians and Python's `sorted` in loops: NumPy's and Python's own order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(9)


def windows(x, k):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(x) - k + 1):
        part = x[i : i + k]
        a = np.sort(part)
        total += np.median(part) + a[0] * 2 - a[-1] + np.median(a[::-1], axis=0)
    return total, np.median(x), np.sort(x)


def planes(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(1, 4):
        a = np.sort(x[k:, ::k])
        b = np.sort(x[:, k:], axis=0)
        c = np.sort(x[:k], axis=None)
        total += a[0, -1] + b[-1, 0] * 2 + c[k] + np.median(x[:, :k]) + np.median(x[::-1, k])
    return total, np.sort(x, axis=0), x


def in_order(x, k):  # type: ignore[no-untyped-def]
    total, kept = 0, [x[0]]
    for i in range(len(x) - k + 1):
        a = sorted(x[i : i + k])
        low, high = sorted(x[i : i + 2])
        total += a[0] - high + 2 * low
        kept.append(a[-1])
    return total, sorted(kept), sorted(x), kept


def of_numbers(n, x):  # type: ignore[no-untyped-def]
    a, b, c = [], [], []
    for k in range(n):
        a.append((k * 7919) % 13 - 5)
        b.append(x[k % 5] * k)
        c.append(float(k * k % 7))
    for k in range(3):
        a = sorted(a)
        c = sorted(c)
        a.append(k)
    return a, sorted(b), c, sorted(a)[0] if a else None


def numbers(dtype: str) -> list[Any]:
    """Many equal ones, and for floats zeros of both signs and infinities."""
    x = R.integers(0, 9, 60).astype(dtype)
    found = [x, R.integers(0, 100, 60).astype(dtype)[::-2], x[:9]]
    if dtype[0] == "f":
        found += [
            R.normal(size=70).astype(dtype),
            R.choice([0.0, -0.0, 1.0, -np.inf, np.inf], 60).astype(dtype),
        ]
        found += [R.choice([0.0, -0.0], 40).astype(dtype)]
    return found


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1"])
def test_numbers(dtype: str) -> None:
    for x in numbers(dtype):
        both(windows, [(x, k) for k in (3, 4, 7)], lowered=False)
        both(in_order, [(x, k) for k in (3, 4, 2)], lowered=False)
    both(windows, [(numbers(dtype)[0], k) for k in (3, 4)], lowered=dtype in ("f8", "i8"))
    both(in_order, [(numbers(dtype)[0], k) for k in (3, 4)], lowered=dtype in ("f8", "i8"))


def test_nan() -> None:
    """NaN comes last, and is the median of what has any; Python's `sorted` knows no place for it."""
    x = R.normal(size=40)
    x[[3, 17, 18]] = np.nan
    both(windows, [(x, k) for k in (3, 4, 8)])
    both(windows, [(np.full(9, np.nan), 3), (np.array([np.inf, -np.inf, np.nan] * 3), 4)])
    both(windows, [(x, 2), (np.array([np.inf, -np.inf] * 3), 2)], all="raise")
    both(in_order, [(x, 3), (x, 4)], lowered=False)


def test_axes() -> None:
    for x in (R.normal(size=(9, 12)), R.integers(0, 5, (8, 9)), np.asfortranarray(R.random((7, 8)))):
        for y in (x, x[:, ::-1], x.T, x > 2):
            both(planes, [(y,)], lowered=False)
    both(planes, [(R.normal(size=(9, 12)),)])


def test_lists() -> None:
    both(of_numbers, [(n, R.normal(size=5)) for n in (20, 31, 0, 1)], lowered=False)
    both(of_numbers, [(20, R.normal(size=5))], lowered=False)


def test_nothing() -> None:
    def empty(x, n):  # type: ignore[no-untyped-def]
        total = 0.0
        for k in range(3):
            total += len(np.sort(x[: n * k])) + len(sorted(x[: n * k])) + np.median(x[: n * k + 1])
        return total, np.median(x[:n])

    both(empty, [(R.random(9), n) for n in (2, 3, 0, 1)], lowered=False)


def test_the_other_way_round() -> None:
    def backwards(x, n):  # type: ignore[no-untyped-def]
        total = 0.0
        for i in range(n):
            part = x[i : i + 3]
            total += sorted(part, reverse=True)[0] + sorted(part, key=abs)[1] + sum(part, start=2.0)
        return total

    both(backwards, [(R.normal(size=9), n) for n in (5, 4, 6)], lowered=False)
