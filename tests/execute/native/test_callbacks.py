"""Native loops that call NumPy's functions: against plain Python, and what they may hold on to."""

from __future__ import annotations

import gc
import math
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.callbacks import HEAVY, MOVES
from runtime.execute.native.executor import unavailable
from runtime.ops.table import OPS
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(4)
X, A = R.random(9) * 10, R.random((3, 3))


def sorted_again(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = np.sort(x)[::-1] * 0.5 + 1
    return x


def joined(x, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for k in range(n):
        y = np.hstack([x[1:], x[:1] * k, x])
        s += y.sum() + np.linspace(0, k + 1.0, 5)[2] + np.median(y)
        x = np.roll(x, 1)
    return s, x


def solved(a, n):  # type: ignore[no-untyped-def]
    out = np.zeros(n)
    for k in range(n):
        b = a + np.eye(3) * (k + 1)
        out[k] = np.linalg.det(b) + np.linalg.solve(b, a[:, 0])[1] + np.vstack((a, b))[4, 1]
    return out


def singular(a, n):  # type: ignore[no-untyped-def]
    out = np.zeros(n)
    for k in range(n):
        a[0, 0] += 1
        out[k] = np.linalg.inv(a * (k - 2))[0, 0]
    return out


def picked(x, n):  # type: ignore[no-untyped-def]
    total = 0
    for k in range(n):
        i = np.argsort(-x)
        u = np.unique(x.astype(np.int64) % (k + 1))
        total += i[0] + len(u) + u[-1] + np.count_nonzero(x > k) + np.diff(i)[0]
        x[k % len(x)] += 5
    return total, x


def rolled_by(x, n):  # type: ignore[no-untyped-def]
    y = x
    kept = x
    for k in range(n):
        y = np.roll(y, -k)
        if k == 3:
            kept = y
        y[0] += 1
    return y, kept


def warns(x, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for k in range(n):
        s += np.interp(k, x, x * 1e308)
        s += np.trapezoid(x * 1e308, dx=100.0 + k)
    return s


def too_large(x, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for k in range(n):
        s += np.take(x, k)
    return s


def kinds(x, n):  # type: ignore[no-untyped-def]
    count = 0
    for k in range(n):
        count += np.take(x > 4, k % 3, mode="wrap") + np.searchsorted(x, [float(k), 3])[0]
        flags = np.isin(np.array([k, 2, 3]), (2, k))
        count += flags.sum()
    return count, np.float64(count) / 2


def in_transposed_order(a, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        a = np.sort(a.T, axis=0)
    return a


def both_ways(x, n):  # type: ignore[no-untyped-def]
    y = x
    for k in range(n):
        y = np.sort(y) if k % 2 else np.roll(y, 2)
    return y


def numbers_of_two_kinds(x, n):  # type: ignore[no-untyped-def]
    s = 0.5
    for _ in range(n):
        s = s * 0.5 + np.searchsorted(x, s)
    return s


CASES: list[tuple[Callable[..., Any], Any, bool]] = [
    (sorted_again, X, True), (joined, X, True), (solved, A, True), (singular, A, True), (picked, X, True),
    (rolled_by, X, True), (warns, X, True), (too_large, X, True), (kinds, X, False),
    (in_transposed_order, A, False), (numbers_of_two_kinds, X, False), (both_ways, X, True),
]  # fmt: skip


@pytest.mark.parametrize(("function", "first", "lowered"), CASES, ids=[f.__name__ for f, *_ in CASES])
def test_calls(function: Callable[..., Any], first: Any, lowered: bool) -> None:
    both(function, [(first, n) for n in (0, 1, 2, 5, 30)], lowered=lowered)
    both(function, [(first[::-1], n) for n in (0, 3)], lowered=False)


def medians(x, n):  # type: ignore[no-untyped-def]
    return sum(np.median(x[:k]) for k in range(n))


def turned(x, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for k in range(n):
        s += np.cross(x[:2], x[k : k + 2]) * k
    return s


@pytest.mark.parametrize("function", (medians, turned))
def test_what_warns_by_itself_warns_once(function: Callable[..., Any]) -> None:
    """The plan does the call after native code gave it up: warnings would come again."""
    both(function, [(X, 3), (X, 2)], lowered=False)


def test_names_are_ops() -> None:
    assert {name for name in MOVES | HEAVY if name not in OPS} == set()
    assert not MOVES & HEAVY


def test_nothing_is_held() -> None:
    for function in (joined, solved, picked, rolled_by):
        f = ag.function(function)
        x = A if function is solved else X.copy()
        with settings.override(executor="native", compile="now"):
            for n in (20, 30, 40):
                f(x, n)
        concrete = f.traces[-1].concrete
        assert concrete is not None and concrete.executor == "native"
        for _ in range(3):  # each time the collector leaves out more tuples that hold nothing of its concern
            gc.collect()
        before, references = len(gc.get_objects()), sys.getrefcount(x)
        for n in range(50):
            f(x, n)
        gc.collect()
        assert abs(len(gc.get_objects()) - before) < 20
        assert sys.getrefcount(x) == references


def endless(x):  # type: ignore[no-untyped-def]
    k = 0
    while k >= 0:
        x = np.sort(x)
        k = (k + 1) % 1000
    return x


def test_control_c_ends_a_loop_of_calls() -> None:
    with settings.override(executor="native", compile="now"):
        f = ag.function(endless)
        assert f.get_concrete_function(X).executor == "native"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs of shells
    timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f(X)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def calling(x: Any, rng: Any, n: int) -> Any:
    for k in range(n):
        x[0] += np.partition(x, k % 7)[1] * 0.0 + 1.0
    return x


def drawing(x: Any, rng: Any, n: int) -> Any:
    for _ in range(n):
        x[0] += rng.choice(x) * 0.0 + 1.0
    return x


@pytest.mark.parametrize("function", [calling, drawing])
def test_what_a_signal_handler_raises_is_no_error_of_what_is_called(function: Callable[..., Any]) -> None:
    def stop(*_: object) -> None:
        raise TimeoutError("stopped")

    x, rng = np.arange(8.0), np.random.default_rng(0)
    with settings.override(executor="native", compile="now"):
        f = ag.function(function)
        for n in (5, 6, 7):
            f(x, rng, n)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(TimeoutError, match="stopped"):
            f(x, rng, 20_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert 18.0 < x[0] < 20_000_000.0
    native = f.traces[-1].concrete.native
    assert native.calls and not native.bails


def of_one(functions: Any, xs: Any) -> Any:
    found = []
    for x in xs:
        for f in functions:
            found.append(f(x))
    return found


def of_two(functions: Any, xs: Any, y: Any) -> Any:
    found = []
    for x in xs:
        for f in functions:
            found.append(f(x, y))
    return found


def close(xs: Any, y: Any) -> int:
    count = 0
    for x in xs:
        if math.isclose(x, y, rel_tol=0.5, abs_tol=y):
            count += 1
    return count


MATH = [f for name, f in vars(math).items() if callable(f) and not name.startswith("_")]
NUMBERS = [
    [1.5, 2.0, -0.5, 3.0],
    [1, 2, 0, 5],
    np.array([1.5, 2.0, -0.5]),
    *(np.array([1, 2, 3], dtype) for dtype in (np.int64, np.int8, np.uint64, np.float32, bool)),
]


def of(f: Callable[..., Any], *args: Any) -> Any:
    try:
        found = f(*args)
    except Exception as error:
        return type(error), str(error)
    return repr(found), list(map(type, found)) if isinstance(found, list) else type(found)


@pytest.mark.parametrize("f", MATH, ids=lambda f: f.__name__)
def test_functions_of_math(f: Callable[..., Any]) -> None:
    with settings.override(executor="native", compile="now"):
        one, two = ag.function(of_one), ag.function(of_two)
        for xs in NUMBERS:
            assert of(one, (f,), xs) == of(of_one, (f,), xs)
            for y in (2, 1.5, np.float32(2), np.int64(3)):
                assert of(two, (f,), xs, y) == of(of_two, (f,), xs, y)


def test_functions_of_math_without_instructions_are_called() -> None:
    with settings.override(executor="native", compile="now"):
        two, near = ag.function(of_two), ag.function(close)
        for y in (0.5, 2.5, 3.5):
            assert of(two, (math.hypot, math.fmod), X, y) == of(of_two, (math.hypot, math.fmod), X, y)
            assert of(near, X, y) == of(close, X, y)
        assert not two.traces[-1].concrete.not_native and not near.traces[-1].concrete.not_native


def looked_up(x, table):
    total, places = 0.0, np.arange(len(table)) * 0.5
    for k in range(len(x)):
        total += np.interp(x[k], places, table) + np.interp(x[k:], places, table)[0]
    return total


def test_interpolation_asks_for_no_flags() -> None:
    table = np.array([0.0, 1.0, 4.0, -np.inf, 2.0, np.nan, 1e308])
    calls = [(R.random(9) * 4, np.cos(table[:3])), (R.random(9) * 4, table), (table, table)]
    both(looked_up, calls)
    both(looked_up, calls, all="raise")


def damped(a, n):
    total = 0.0
    for k in range(n):
        total += (a + 0.1 * k * np.diag(np.diag(a)))[0, 0]
    return total


def test_views_that_functions_give_are_left_to_the_plan() -> None:
    """What `np.diag` gives of a matrix lies in the matrix: calls of such a loop were handed back."""
    converted = both(damped, [(A, 5), (A, 6), (A, 7)], lowered=False)
    concrete = converted.traces[-1].concrete
    assert "np.diag" in concrete.not_native and not concrete.native.bails
