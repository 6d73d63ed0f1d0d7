"""Loops in which a trip reads what the one before wrote or read: as in Python, wherever arrays lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


def low_pass(x, y):  # type: ignore[no-untyped-def]
    for i in range(1, len(y)):
        y[i] = 0.25 * x[i] + 0.75 * y[i - 1]
    return y


def window(x, y):  # type: ignore[no-untyped-def]
    for i in range(1, len(y) - 2):
        y[i + 1] = x[i - 1] + y[i] * x[i] - x[i + 1]
    return y


def sweeps(u, v):  # type: ignore[no-untyped-def]
    n, m = u.shape
    for _ in range(3):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) - v[i, j - 1]
    return u


def rows(u, v):  # type: ignore[no-untyped-def]
    n, m = u.shape
    for k in range(n):
        for i in range(n):
            for j in range(1, m):
                u[i, j] = u[k, j - 1] + u[i, j] + u[i, j - 1] * v[k, j - 1]
    return u


def sometimes(u, v):  # type: ignore[no-untyped-def]
    n, m = u.shape
    for i in range(1, n):
        for j in range(1, m):
            best = u[i - 1, j - 1]
            if v[i, j] > 0:
                u[i, j - 1] = best + v[i, j]
            u[i, j] = u[i, j - 1] + best
            if v[i, j] < -1:
                u[i, j] = u[i - 1, j]
    return u


def table(u, v):  # type: ignore[no-untyped-def]
    d = np.zeros((len(u) + 1, len(v) + 1), dtype=np.int64)
    for i in range(1, len(u) + 1):
        for j in range(1, len(v) + 1):
            d[i, j] = d[i, j - 1] + d[i - 1, j] * 3 - d[i - 1, j - 1] + (u[i - 1] == v[j - 1])
    return d


ONE, TWO = (low_pass, window), (sweeps, rows, sometimes)


@pytest.mark.parametrize("program", [*ONE, *TWO], ids=lambda f: f.__name__)
def test_reads_become_phis(program: Any) -> None:
    args = [np.ones(20 if program in ONE else (30, 25)) for _ in range(2)]
    with settings.override(executor="native", compile="now"):
        text = ag.function(program).get_concrete_function(*args).native_ir
    assert ("\nready" in text) == (program is not sometimes), text


@pytest.mark.parametrize("how", [0, 1, -1, 2, 7, 40])
@pytest.mark.parametrize("program", [*ONE, *TWO], ids=lambda f: f.__name__)
def test_wherever_arrays_lie(program: Any, how: int) -> None:
    calls = []
    for n, m in ((6, 5), (30, 25), (3, 9), (1, 1), (2, 7), (4, 0), (0, 3), (5, 2)):
        whole = np.random.default_rng(n).uniform(-2, 2, 2 * n * m + 100)
        x, y = whole[50 : 50 + n * m], whole[50 + how : 50 + how + n * m]
        calls.append((x, y) if program in ONE else (x.reshape(n, m), y.reshape(n, m)))
        calls.append(calls[-1][::-1])
    both(program, calls, all="ignore")


def test_integers_and_their_limits() -> None:
    calls = [(np.arange(n) % 3, np.arange(m) % 2) for n, m in ((4, 5), (7, 3), (0, 4), (5, 0), (40, 90))]
    both(table, calls)


def test_loops_without_trips_read_nothing() -> None:
    def total(x, first, last):  # type: ignore[no-untyped-def]
        s = 0.0
        for k in range(2):
            for i in range(first, last):
                x[i] = x[i - 1] + k
                s += x[i]
        return s

    x = np.arange(9.0)
    calls = [(x, 1, 9), (x, 3, 3), (x, 2**40, 7), (x, -(2**40), -(2**41)), (x, 5, 12), (x, 0, 3), (x, -4, 2)]
    both(total, calls)
