"""Loops over items of arrays: native code against plain Python, and how it hands calls back."""

from __future__ import annotations

import math
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


def running_total(x):
    for i in range(1, len(x)):
        x[i] += x[i - 1]
    return x


def matrix_product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


def total(x):
    s = 0.0
    for e in x:
        s = s + e
    return s


def past_the_end(x, n):
    for i in range(n):
        x[i] = x[i] + 1
    return x


def quotients(x, y):
    for i in range(len(x)):
        x[i] = x[i] / y[i]
    return x


def rows_reversed(x):
    out = np.empty((len(x), x.shape[1]))
    for i in range(len(x) - 1, -1, -1):
        row = x[i]
        for j in range(len(row)):
            out[len(x) - 1 - i, -1 - j] = row[j]
    return out


def every_third(x, start):
    for i in range(start, len(x), 3):
        x[i::7] = i
    return x[0]


def copies(x, k):
    y = x[1:-1]
    for i in range(len(y)):
        y[i] = y[i] * 2 + x[i]
    return k


def weighted(x, y):
    s = 0
    for k, (a, b) in enumerate(zip(x, y)):
        s += k * a - b
    return s


def until(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            break
        x[i] = -x[i]
    else:
        return -1
    return i


def magnitudes(x):
    best = 0.0
    for e in x:
        best = max(best, math.sqrt(abs(e)) + np.sin(e))
    return best


def test_in_place_and_new_arrays() -> None:
    both(running_total, [(RNG.random(40),), (RNG.random(3),), (np.zeros(0),), (RNG.random(40)[::-2],)])
    both(running_total, [(RNG.integers(0, 99, 40),), (np.full(40, 2**62),)])
    both(matrix_product, [(RNG.random((7, 5)), RNG.random((5, 6))), (RNG.random((0, 5)), RNG.random((5, 6)))])
    both(rows_reversed, [(RNG.random((20, 4)),), (RNG.random((20, 4)).T,), (RNG.random((0, 3)),)])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64", "float32", "float64"])
def test_every_dtype(dtype: str) -> None:
    x = (RNG.random(30) * 5).astype(dtype)
    both(total, [(x,), (x[:0],), (x[::2],)], lowered=dtype != "uint64")
    both(past_the_end, [(x, 30), (x, 12)])


def test_a_sum_that_starts_as_a_python_number_keeps_its_class() -> None:
    both(total, [(RNG.random(30),), (np.zeros(0),), (np.array([np.nan, 1.0]),)])
    x = RNG.random(30)
    both(weighted, [(x, RNG.random(30)), (RNG.random(20), x), (np.zeros(0), np.zeros(1))])


def test_an_index_out_of_range_raises_after_the_same_writes() -> None:
    converted = both(past_the_end, [(np.zeros(20), 20), (np.zeros(20), 21), (np.zeros(20), 25)])
    assert converted.traces[-1].concrete.native.bails >= 1


@pytest.mark.parametrize("how", ["warn", "ignore", "raise"])
def test_floating_point_errors_are_reported_as_numpy_reports_them(how: str) -> None:
    x, y = RNG.random(30), RNG.random(30)
    zero, huge = y.copy(), x.copy()
    zero[11] = 0.0
    huge[3] = 1e308
    small = y * 1e-5
    nothing = np.zeros(30)
    calls: list[Any] = [(x, y), (x, zero), (huge, small), (nothing, nothing), (x * np.inf, y)]
    both(quotients, [*calls, (x * 1e-320, y * 10)], all=how)


def test_arguments_that_share_memory() -> None:
    x = RNG.random(40)
    both(quotients, [(x, x), (x[:30], x[10:]), (x[10:], x[:30]), (x[::2], x[1::2])])


def test_arrays_that_must_not_be_written() -> None:
    x = RNG.random(20)
    x.flags.writeable = False
    both(running_total, [(RNG.random(20),), (x,), (np.broadcast_to(1.0, 20),)])


def test_odd_arrays() -> None:
    swapped = RNG.random(20).astype(">f8")
    unaligned = np.frombuffer(b"x" + RNG.random(20).tobytes(), np.uint8)[1:].view(np.float64)
    both(total, [(RNG.random(20),), (swapped,), (unaligned,)], lowered=False)


def test_views_and_slices() -> None:
    both(every_third, [(RNG.random(40), 2), (RNG.random(40), 0), (RNG.random(40), -3)])
    both(copies, [(RNG.random(30), 1), (RNG.random(30)[::-1], 2)])


def test_early_ends() -> None:
    both(until, [(RNG.random(30), 0.9), (RNG.random(30), 2.0), (RNG.random(30), -1.0)])


def test_functions_of_math_and_numpy() -> None:
    both(magnitudes, [(RNG.random(30) * 99 - 50,), (np.array([np.inf] * 20),), (np.zeros(0),)])


def sorted_loop(x):
    y = x[np.argsort(x)]
    s = 0.0
    for i in range(len(y)):
        s += y[i] * i
    low = {"s": s}
    for i in range(len(y)):
        y[i] -= s
    return y, low["s"]


def test_loops_inside_a_plan() -> None:
    converted = both(sorted_loop, [(RNG.random(30),), (RNG.random(25),)])
    native = converted.traces[-1].concrete.native
    assert isinstance(native, NativeLoops) and native.calls > 0


def test_code_that_gives_up_each_time_is_left_to_the_plan() -> None:
    with settings.override(executor="native", compile="now"):
        converted = ag.function(past_the_end)
        for _ in range(40):
            with pytest.raises(IndexError):
                converted(np.zeros(20), np.int64(21))
        native = converted.traces[-1].concrete.native
        assert native.bails < 20


def test_arguments_stay_alive_just_as_long_as_before() -> None:
    import sys

    with settings.override(executor="native", compile="now"):
        converted = ag.function(running_total)
        x = RNG.random(40)
        converted(x)
        before = sys.getrefcount(x)
        for _ in range(1000):
            converted(x)
        assert sys.getrefcount(x) == before


def spin(x):
    i = 0
    while x[0] == 0:
        i = (i + 1) % 7
        x[1] = i
    return i


def test_a_loop_that_never_ends_can_be_interrupted() -> None:
    from tests.property.oracle import TooLong, time_limit

    with settings.override(executor="native", compile="now"):
        converted = ag.function(spin)
        assert converted(np.ones(2)) == 0
        with pytest.raises(TooLong), time_limit(0.5):
            converted(np.zeros(2))
        assert converted.traces[-1].concrete.native.calls >= 1


def parts_of_rows(x: Any, y: Any) -> Any:
    for row in x:
        y[0] += row[1:][0]
    return y


def test_parts_of_the_rows_that_a_loop_goes_over() -> None:
    both(parts_of_rows, [(np.ones((30, 4)), np.zeros(3)), (np.ones((30, 1)), np.zeros(3))])
