"""Calls that are traced into: recursion that only the data ends is followed a few times, no more."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.execute.native.executor import unavailable
from runtime.ir.builder import Builder


def memoised(n, memo):
    if n not in memo:
        memo[n] = memoised(n - 1, memo) + memoised(n - 2, memo)
    return memo[n]


def closed(n):
    memo = {0: 0, 1: 1}

    def fib(k):
        if k not in memo:
            memo[k] = fib(k - 1) + fib(k - 2)
        return memo[k]

    return fib(n)


def adaptive(f, a, b, depth):
    m = (a + b) / 2
    one = (b - a) * (f(a) + f(b)) / 2
    two = (b - a) * (f(a) + 2 * f(m) + f(b)) / 4
    if abs(one - two) < 1e-4 or depth == 0:
        return two
    return adaptive(f, a, m, depth - 1) + adaptive(f, m, b, depth - 1)


def test_recursion_in_branches_that_depend_on_the_data():
    ours, plain = {0: 0, 1: 1}, {0: 0, 1: 1}
    # each of these may take for ever
    assert ag.function(memoised)(40, ours) == memoised(40, plain) and ours == plain
    assert ag.function(closed)(70) == closed(70)
    args = (lambda x: np.sin(x * x)), np.float64(0.0), np.float64(3.0), 12
    assert ag.function(adaptive)(*args) == adaptive(*args)


def evaluated(text):
    pos = 0

    def peek():
        return text[pos] if pos < len(text) else ""

    def atom():
        nonlocal pos
        if peek() == "(":
            pos += 1
            value = total()
            pos += 1
            return value
        if peek() == "-":
            pos += 1
            return -atom()
        start = pos
        while peek().isdigit():
            pos += 1
        return int(text[start:pos])

    def product():
        nonlocal pos
        value = atom()
        while peek() in ("*", "/") and peek():
            op = peek()
            pos += 1
            value = value * atom() if op == "*" else value / atom()
        return value

    def total():
        nonlocal pos
        value = product()
        while peek() in ("+", "-") and peek():
            op = peek()
            pos += 1
            value = value + product() if op == "+" else value - product()
        return value

    return total()


def filled(board):
    for r in range(len(board)):
        for c in range(len(board)):
            if board[r, c] == 0:
                for v in range(1, 3):
                    if v not in board[r] and v not in board[:, c]:
                        board[r, c] = v
                        if filled(board):
                            return True
                        board[r, c] = 0
                return False
    return True


def filled_inside(board):
    def fill():
        for r in range(len(board)):
            for c in range(len(board)):
                if board[r, c] == 0:
                    for v in range(1, 3):
                        if v not in board[r] and v not in board[:, c]:
                            board[r, c] = v
                            if fill():
                                return True
                            board[r, c] = 0
                    return False
        return True

    return fill()


@pytest.fixture
def few_nodes(monkeypatch):
    """Tracing ends the test when it records more nodes than these functions are worth."""
    count, add = 0, Builder.add

    def counted(*args, **kwargs):
        nonlocal count
        count += 1
        if count > 5000:
            pytest.fail("the functions are traced in one another again and again")
        return add(*args, **kwargs)

    monkeypatch.setattr(Builder, "add", counted)


def test_inner_functions_that_call_each_other_are_followed_once(few_nodes):
    function = ag.function(evaluated)
    assert (function("1+2*3"), function("(1+2)*-3"), function("8/(1-5)")) == (7, -9, -2.0)
    with pytest.raises(ZeroDivisionError):
        function("1/0")  # while tracing; from there on, nobody knows where it stands


@pytest.mark.parametrize("plain", [filled, filled_inside])
def test_recursion_out_of_loops_is_followed_once(few_nodes, plain):
    for board in ([[0, 0], [0, 1]], [[0, 1], [2, 2]]):
        ours, theirs = np.array(board), np.array(board)
        assert ag.function(plain)(ours) is plain(theirs)
        assert np.array_equal(ours, theirs)


def constants_that_warn(x):
    low = np.log(-1.0)
    high = np.float32(1e300)
    zero = "a text at first"
    zero = np.float32(0.0)
    return x + low, x * np.exp(1e4), x * high, zero % (x[0] * 2)


class Holding:
    def __init__(self, value):
        self.value = value


def real_parts(o, n):
    total = 0.0
    for _ in range(n):
        total += float(o.value) + math.exp(o.value)
    return total


def test_real_parts_of_known_complex_numbers_warn_on_each_call():
    function = ag.function(real_parts)
    for _ in range(3):
        with pytest.warns(Warning, match="imaginary part") as caught:
            function(Holding(np.complex64(1 - 1j)), 2)
        assert len(caught) == 4


def test_functions_of_constants_that_warn_are_traced_and_warn_on_each_call():
    function = ag.function(constants_that_warn)
    seen = []
    for f in (constants_that_warn, function, function):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = f(np.arange(3.0))
        seen.append(([str(w.message) for w in caught], repr(results)))
    assert seen[0] == seen[1] == seen[2] and len(seen[0][0]) >= 4
    assert len(function.traces) == 1
    assert "log(-1.0)" in function.plan_source


native = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
NAN = float("nan")
PAIRS = [[1.0, 2.0], [2.0, 1.0], [NAN, 1.0], [1.0, NAN], [0.0, -0.0], [-0.0, 0.0], [3.0, 3.0]]


def in_order(x: Any) -> Any:
    i, j = sorted(x)
    found = sorted(x)
    found.append(i)
    return i, j, found


def all_in_order(x: Any) -> Any:
    return sorted(x), [max(sorted(x))]


def two_in_order(a: Any, b: Any) -> Any:
    p, q = sorted([a, b])
    return p, q, sorted((b, a))


def told(f: Any, *args: Any) -> Any:
    try:
        return repr(f(*args))
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool, complex])
def test_sorting_few_numbers(dtype: Any) -> None:
    two, some = ag.function(in_order), ag.function(all_in_order)
    for pair in PAIRS:
        if dtype in (np.float64, np.float32, complex) or NAN not in pair:
            x = np.array(pair).astype(dtype)
            assert told(two, x) == told(in_order, x)
    for values in ([3, 1, 2], [3, 1, 1], [5, 4, 3, 2, 1, 0, 9], [1], [], list(range(30, 0, -1))):
        x = np.array(values).astype(dtype)
        assert told(some, x) == told(all_in_order, x)


def test_sorting_two_values() -> None:
    values = [1, 2, 2.5, NAN, -0.0, 0.0, True, np.float64(2), np.float64(NAN), np.int64(3), "a", None, 1j]
    two = ag.function(two_in_order)
    for a in values:
        for b in values:
            assert told(two, a, b) == told(two_in_order, a, b)


@native
def test_two_places_in_order_natively() -> None:
    def reversals(x: Any, rng: Any, n: int) -> Any:
        for _ in range(n):
            i, j = sorted(rng.integers(0, len(x), 2))
            x = x.copy()
            x[i:j] = x[i:j][::-1]
        return x

    with ag.settings.override(executor="native", compile="now"):
        f = ag.function(reversals)
        for _ in range(2):
            args = (
                (np.arange(20.0), np.random.default_rng(3), 100),
                (np.arange(20.0), np.random.default_rng(3), 100),
            )
            np.testing.assert_array_equal(f(*args[0]), reversals(*args[1]))
        assert not f.traces[-1].concrete.not_native
