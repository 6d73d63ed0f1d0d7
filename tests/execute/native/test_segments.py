"""Runs of array operators as native code inside plans, around what can't be native."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from runtime.execute.native.partly import NativeLoops
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
RNG = np.random.default_rng(3)


def ranked(x, y):
    a = np.exp(-x * x) + y
    s = np.partition(a, 2)
    b = (s - s.mean()) / s.std()
    middle = np.partition(b, 4)[4]
    return np.where(b > middle, b, -b) * 2, middle


def solved(x, n):
    for _ in range(n):
        x = np.linalg.pinv(np.eye(4) + 0.1 * np.outer(x, x)) @ x
        x = np.tanh(x) * 0.5 + x * x - 0.1 * x
    return x


def told(x):
    y = x * 2 + 1
    print(y.sum())
    z = y * y - x
    return z, y


def failing(x, y):
    a = x * 2 + 1
    s = np.partition(a, 2)
    return s * y - a


def arms(x, flag):
    if flag > 0:
        return np.partition(x, 2) * 2 + x
    return np.cumsum(x) - x * 3


def written(x, y):
    a = x * 2 + y
    x[:] = np.partition(x, 2)
    b = x * 2 + y
    return a - b, x


CASES: tuple[tuple[Any, list[tuple[Any, ...]], int], ...] = (
    (ranked, [(RNG.random(50), RNG.random(50)), (RNG.random(9), RNG.random(9))], 3),
    (solved, [(RNG.random(4), 5)], 1),
    (told, [(RNG.random(5),), (RNG.random(70),)], 2),
    (failing, [(RNG.random(5), RNG.random(5)), (RNG.random(5), RNG.random(4))], 1),
    (arms, [(RNG.random(5), np.int64(1)), (RNG.random(5), np.int64(-1))], 1),
    (written, [(RNG.random(5), RNG.random(5))], 2),
)


@pytest.mark.parametrize("function, calls, least", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_runs(function: Any, calls: list[tuple[Any, ...]], least: int) -> None:
    converted = both(function, calls, lowered=False)
    native = converted.traces[-1].concrete.native
    assert isinstance(native, NativeLoops) and len(native.parts) >= least, converted.traces[
        -1
    ].concrete.not_native


def test_arrays_that_a_loop_fills_are_made_by_it() -> None:
    @ag.vectorize
    def steps(n, x):
        k = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            k += 1
        return k, x * k

    n, x = np.arange(1, 500), RNG.normal(size=499)
    with settings.override(executor="native", compile="now"):
        counts, scaled = steps(n, x)
        (trace,) = steps._compiled.traces
    assert counts.tolist() == [steps.f(int(m), 0.0)[0] for m in n]
    assert scaled.tolist() == (x * counts).tolist()
    assert counts.flags.owndata or counts.base.flags.owndata
    assert "@autograph_PyArray_Empty(" in trace.concrete.native_ir
