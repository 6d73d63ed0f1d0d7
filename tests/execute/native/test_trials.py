"""Loops in place that read, in every trip, what one of the trips writes: that trip is tried first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


def paths(d):  # type: ignore[no-untyped-def]
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def least(d):  # type: ignore[no-untyped-def]
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


def reached(d):  # type: ignore[no-untyped-def]
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n - 1):
                if d[k, j] > 0:
                    d[i, j + 1] = d[i, k] * d[k, j]
    return d


def eliminated(d):  # type: ignore[no-untyped-def]
    n = len(d)
    for k in range(n):
        for i in range(n):
            if i != k and d[k, k] != 0:
                for j in range(n):
                    d[i, j] -= d[i, k] / 4 * d[k, j]
    return d


def scaled(d):  # type: ignore[no-untyped-def]
    """Two places that all trips read, and what trips write is read ahead of it."""
    n = len(d)
    for i in range(n):
        for j in range(n - 2):
            d[i, j] = d[i, j + 1] * d[i, 3] + d[i, n // 2]
    return d


def summed(d):  # type: ignore[no-untyped-def]
    """What the trip writes depends on those before it."""
    n = len(d)
    total = 0
    for i in range(n):
        for j in range(n):
            total += 3
            d[i, j] = d[i, 2] + total
    return d, total


PROGRAMS = [paths, least, reached, eliminated, scaled, summed]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_trip_that_writes_what_all_read(program: Any, dtype: str) -> None:
    if dtype[0] == "i" and program in (eliminated, scaled, reached):
        dtype = "f8"
    r, calls = np.random.default_rng(3), list[Any]()
    for n in (20, 19, 9, 8, 3, 33):
        for low in (0, 0, -1, -9):
            d = r.integers(low, 9, (n, n))
            calls.append((d.astype(dtype),))
            calls.append((np.where(np.eye(n, dtype=bool), 0, d).astype(dtype),))
            if dtype[0] == "f":
                calls.append(
                    (np.where(r.uniform(size=(n, n)) < 0.1, [np.nan, -0.0, np.inf][n % 3], d).astype(dtype),)
                )
    with np.errstate(all="ignore"):
        both(program, calls, lowered=False)


def test_what_the_tried_trip_flags() -> None:
    d = np.random.default_rng(4).uniform(0, 1, (20, 20))
    calls = [(d,)]
    for at, odd in ((5, np.inf), (9, -np.inf), (19, np.nan), (0, 1e308)):
        for where in ((at, at), (at, 3), (3, at)):
            calls.append((d.copy(),))
            calls[-1][0][where] = odd
    for program in (paths, least, eliminated):
        for errors in ("warn", "raise"):
            both(program, calls, lowered=False, all=errors)


@pytest.mark.parametrize("program", [paths, least], ids=lambda f: f.__name__)
def test_it_is_tried(program: Any) -> None:
    with settings.override(executor="native", compile="now"):
        concrete = ag.function(program).get_concrete_function(np.zeros((20, 20)))
    assert "\ntried" in concrete.native_ir
