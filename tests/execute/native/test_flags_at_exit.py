"""Flags whose value the end of a loop decides: what comes after `while True` is reached by one way only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
X = np.arange(9.0)


def found(x, v):  # type: ignore[no-untyped-def]
    i = 0
    while True:
        if x[i] == v:
            return i
        i += 1


def found_or_passed(x, v):  # type: ignore[no-untyped-def]
    i = 0
    while True:
        if x[i] == v:
            return i
        if x[i] > v:
            break
        i += 1
    return -i


def stopped(x, v):  # type: ignore[no-untyped-def]
    done, k = False, 0
    while not done:
        k += 1
        done = x[k] > v
    return done, k


def went_on(x, v):  # type: ignore[no-untyped-def]
    go, k = True, 0
    while go:
        k += 1
        go = bool(x[k] < v)
    return go, k


def counted_down(x, v):  # type: ignore[no-untyped-def]
    n = 4
    while n:
        n -= 1
    return n, x[n] + v


def with_else(x, v):  # type: ignore[no-untyped-def]
    stop, k = False, 0
    while not stop:
        k += 1
        if x[k] > v:
            stop = True
            continue
        stop = k > 6
    else:
        k += 100
    return k if stop else -k


def in_two_loops(x, v):  # type: ignore[no-untyped-def]
    n = 0
    while True:
        while True:
            n += 1
            if x[n % 9] == v:
                break
            if n > 30:
                return n
        if n % 3 == 0:
            return -n


def halved(x, v):  # type: ignore[no-untyped-def]
    while True:
        x = x * 0.5
        if x.sum() < v:
            return x
        if x.max() > 100:
            raise ValueError("too large")


@pytest.mark.parametrize(
    "function", [found, found_or_passed, stopped, went_on, counted_down, with_else, in_two_loops, halved]
)
def test_what_a_loop_leaves(function: Callable[..., Any]) -> None:
    wanted = {found: (5.0, 0.0), halved: (5.0, 6.5)}.get(function, (5.0, 6.5, 0.0, 3.0, 7.0))
    both(function, [(X, v) for v in wanted])
    both(function, [(X, 1e9), (X * 1e4, 1.0)], lowered=False)  # beyond the end, and too large
