"""Calls that native code hands back: what is said of them, and code that does not hand back every call."""

from __future__ import annotations

import functools
import os.path
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native import executor, sampled, telling
from runtime.execute.native.emit import Emitter
from runtime.execute.native.lower import lower
from runtime.execute.native.sampled import Memory
from runtime.execute.native.values import Static
from runtime.ir.graph import Const, Node, Value
from runtime.types import ArrayType
from tests.execute.native.harness import both

A, B = np.random.default_rng(0).random((2, 4, 4))
HERE = os.path.basename(__file__)


def line(function: Callable[..., Any], below: int) -> str:
    return f"({HERE}:{function.__code__.co_firstlineno + below})"


def called(function: Callable[..., Any], *args: Any, times: int = 12) -> Any:
    """The converted function, called so many times; whatever it raises, plain Python raises."""
    with settings.override(executor="native", compile="now"):
        converted = ag.function(function)
        for _ in range(times):
            try:
                converted(*args)
            except Exception as found:
                with pytest.raises(type(found)):
                    function(*args)
    return converted


# ------------------------------------------------------------------------------------ what is said
def grown(n):
    x = 1
    for _ in range(n):
        x = x * 3
    return x


def refused(x):
    total = 0.0
    for v in x:
        if v > 5:
            raise ValueError("too large")
        total += v
    return total


def halves(x):
    total = 0.0
    for v in x:
        total += 1.0 / float(v)
    return total


def picked(x, places):
    total = 0.0
    for k in range(len(places)):
        total += x[places[k]] * 2
    return total


def roots(x):
    return np.sqrt(x) * 2 + 1


GIVEN_UP = [
    (grown, (80,), "at * ", 3),
    (refused, (np.arange(9.0),), "at a raise statement ", 4),
    (halves, (np.zeros(3),), "at / ", 3),
    (picked, (np.arange(3.0), np.array([0, 99])), "at an item ", 3),
    (picked, (np.arange(3.0), np.array([0] * 30 + [99])), "at an item ", 3),
]


@pytest.mark.parametrize(("f", "args", "what", "below"), GIVEN_UP, ids=[row[0].__name__ for row in GIVEN_UP])
def test_what_is_given_up_says_so_and_where(f, args, what, below):
    converted = called(f, *args)
    concrete = converted.traces[-1].concrete
    said = f"it was given up, as it handed 8 of 8 calls back to the plan, the last one {what}{line(f, below)}"
    assert (concrete.executor, concrete.not_native) == ("numpy", said)
    assert f"runs on NumPy, not as native code: {said}" in str(ag.explain(converted))


def test_warnings_of_numpy_are_a_reason():
    with np.errstate(all="warn"), pytest.warns(RuntimeWarning):
        converted = called(roots, np.full((2, 3), -1.0))
    assert "the last one for what NumPy would warn of (invalid)" in str(ag.explain(converted))


def test_some_calls_that_were_handed_back():
    with settings.override(executor="native", compile="now"):
        converted = ag.function(grown)
        for n in (30, 5, 80, 6, 7, 8):
            assert converted(n) == grown(n)
    told = ag.explain(converted).traces[-1].executor
    assert told == "as native code; it handed 1 of 5 calls back to the plan"


def test_parts_of_a_plan():
    def parts(x, words):
        words["last"] = f"{len(x)}"
        total = 0.0
        for v in x:
            total += 1.0 / float(v)
        return total

    converted = called(parts, np.zeros(3), {})
    told = str(ag.explain(converted))
    assert "runs on NumPy, not as native code: " in told
    assert (
        f"it was given up, as it handed 8 of 8 calls back to the plan, the last one at / {line(parts, 4)}"
        in told
    )


def test_arrays_in_another_order_are_spoken_of():
    def scaled(x):
        return x * 2 + 1

    converted = called(scaled, np.ones((300, 200)).T)
    assert "; the plan does calls with arguments in another form (arrays" in str(ag.explain(converted))


def test_code_that_hardly_ever_takes_a_call_is_given_up():
    """Each call of it looked at its arguments in vain, and Python was never tried in its place."""

    def scaled(x):
        return x * 2 + 1

    turned, straight = np.ones((300, 200)).T, np.ones((200, 300))
    converted = called(scaled, turned, times=executor.MANY_MISSED - 1)
    native = converted.traces[-1].concrete.native
    assert not native.idle
    converted(turned)
    assert native.idle and "code: it was given up: the plan does calls with arguments in" in str(
        ag.explain(converted)
    )
    converted = called(scaled, straight, times=executor.MANY_MISSED)
    for _ in range(2 * executor.MANY_MISSED):
        converted(turned)
    assert not converted.traces[-1].concrete.native.idle


def test_code_for_arrays_in_another_form_is_given_up_too():
    x = np.zeros(40)[::2]
    concrete = called(halves, x, times=30).traces[-1].concrete
    assert concrete.native.handed == 8


def summed(x, n):
    total, low = 0.0, x[0]
    for k in range(n):
        for v in x:
            total += v / (1.0 + k)
            low = min(low, v)
        if total > 1e9:
            total = np.sqrt(total)
    y = np.cumsum(x) + total
    return y * low, (x @ x), y[: n // 2].sum()


def whole(n):
    found = np.zeros(n, np.int64)
    for k in range(n):
        i = k
        while i > 1:
            i = i // 2 if i % 2 == 0 else 3 * i + 1
            found[k] += 1
    return found


@pytest.mark.parametrize("f", [summed, whole, halves, picked])
def test_code_that_says_where_it_leaves_does_the_same(f, monkeypatch):
    monkeypatch.setattr(executor, "lower", functools.partial(lower, emitter=telling.Telling))
    x = np.arange(1.0, 40.0)
    args = {summed: (x, 5), whole: (50,), halves: (x,), picked: (x, np.arange(30))}[f]
    assert not both(f, [args]).traces[-1].concrete.native.bails


# --------------------------------------------------------------------------- what NumPy's functions give
def repeated(run):
    def loop(a, b, n):
        found, first = [], 0.0
        for k in range(n):
            found.append(run(a, b))
            first += found[-1][0, 0] + k
        return found, first

    return loop


ALONE = {
    "kron": lambda a, b: np.kron(a, b),
    "tensordot": lambda a, b: np.tensordot(a, b, 1),
    "resize": lambda a, b: np.resize(a, (3, 3)),
    "roll": lambda a, b: np.roll(a, 1),
    "isin": lambda a, b: np.isin(a, b),
    "cross": lambda a, b: np.cross(a[:, :3], b[:, :3]),
}
OTHER = {
    "einsum": lambda a, b: np.einsum("ij->ji", a),
    "matrix_power": lambda a, b: np.linalg.matrix_power(a, 1),
    "diag": lambda a, b: np.diag(a)[None],
}


def form(x: Any) -> Any:
    return type(x), x.tolist(), x.dtype, x.flags.owndata, x.flags.c_contiguous, x.base is None


@pytest.mark.parametrize("name", ALONE)
def test_arrays_in_others_that_they_alone_hold(name):
    f = repeated(ALONE[name])
    converted = both(f, [(A, B, 30), (B, A, 30), (A, B, 30)])
    native = converted.traces[-1].concrete.native
    assert native.calls == 3 and not native.bails
    found, wanted = converted(A, B, 30), f(A, B, 30)
    assert list(map(form, found[0])) == list(map(form, wanted[0])) and found[1] == wanted[1]


@pytest.mark.parametrize("name", OTHER)
def test_views_and_other_orders_are_never_called_native(name):
    run = OTHER[name]

    def loop(a, b, n):
        total = 0.0
        for k in range(n):
            total += run(a, b)[0, 0] + k
        return total

    concrete = both(loop, [(A, B, 25)] * 3, lowered=False).traces[-1].concrete
    assert concrete.native is None and name in concrete.not_native


def test_memory_that_belongs_to_another_array_is_not_taken_for_new_ones():
    def mixed(a, b, n):
        x, y, kept = a, b, [a]
        for k in range(n):
            x, y = np.roll(y, k), np.roll(x, 1) + 1.0
            z = np.tensordot(a, b, 1)
            kept.append(z * 2.0 - k if k % 2 else x)
        z[0, 0] = 5.0
        return x, y, z, kept

    converted = both(mixed, [(A, B, n) for n in (1, 2, 7, 7)])
    found, wanted = converted(A, B, 7), mixed(A, B, 7)
    pairs = zip([*found[:3], *found[3]], [*wanted[:3], *wanted[3]], strict=True)
    assert all(form(x) == form(y) for x, y in pairs)


@pytest.mark.parametrize("size", [8, 20_000_000_000])
def test_nothing_large_is_made_to_see_what_functions_give(size):
    node = Node("np.eye", (Const(size),), (Value(ArrayType(np.dtype(float), (size, size))),))
    found = sampled.seen(Emitter(False), np.eye, node, [Static(size)], node.outputs[0].type)
    assert found is (Memory.OWN if size == 8 else None)
