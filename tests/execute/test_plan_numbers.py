"""Numbers beside arrays in a plan: arrays once it is loaded, where NumPy would make the same ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.execute.direct import ALIKE
from runtime.execute.loader import load
from runtime.execute.plan import PlanSource
from runtime.execute.python_source import plan_source
from runtime.ops.table import OPS
from runtime.types import ArrayType
from tests.execute.build import Region

NUMBERS = (
    0, 1, -1, 7, 127, 128, -129, 255, 256, 1 << 24, (1 << 24) + 1, 1 << 31, 1 << 63, -(1 << 63), 1 << 70,
    True, 0.0, -0.0, 1.0, -2.5, 0.1, 1e-50, 1e-320, 3.5e38, 1e300, float("inf"), float("nan"), 1e22, 2j,
)  # fmt: skip


def plan_of(op: str, dtype: Any, number: Any, right: bool) -> PlanSource:
    """The plan of an op on an array and a number."""
    region = Region(x=ArrayType(np.dtype(dtype), None))
    (x,) = region.params
    return plan_source(region.graph(region.add(op, *((x, number) if right else (number, x)))))


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            y = f(*args)
            found: Any = type(y), getattr(y, "dtype", None), np.shape(y), np.asarray(y).tobytes()
        except Exception as error:
            found = type(error), str(error)
    return found, [(w.category, str(w.message)) for w in seen]


@pytest.mark.parametrize("char", "bhilqBHILQefdF?")
@pytest.mark.parametrize("op", sorted(ALIKE))
def test_the_same_bits_warnings_and_errors(op: str, char: str) -> None:
    dtype = np.dtype(char)
    values = np.array([0, 1, 3, 100, 5]).astype(dtype)
    if dtype.kind == "f":
        values = np.append(values, np.array([np.finfo(dtype).max, np.nan, -0.0, np.inf, 1e-6], dtype))
    plain = OPS[op].run
    for number in NUMBERS:
        for right in (True,) if op.startswith("i") else (True, False):
            run = load(plan_of(op, dtype, number, right))
            for x in (values, values[:0], values[1:2].reshape(())):
                mine, theirs = x.copy(), x.copy()
                found = outcome(run, mine)
                assert found == outcome(plain, *((theirs, number) if right else (number, theirs)))
                assert mine.tobytes() == theirs.tobytes(), f"{op} {number!r}"


@pytest.mark.parametrize(
    ("number", "char", "marked"),
    [
        (1, "f", True), (2.5, "d", True), (-1, "d", True), (3, "b", True), (2.5, "i", True),
        (1e39, "f", False),
        (1e-46, "f", False), (200, "b", False), (-1, "B", False), (True, "d", False),
        (float("inf"), "d", False),
        (1, "e", False), (1, "?", False), (1, "F", False), (1, "q", False),
        (1, ">f8", False), ((1 << 24) + 1, "f", False),
    ],
)  # fmt: skip
def test_which_numbers_are_marked(number: Any, char: str, marked: bool) -> None:
    assert bool(plan_of("mul", char, number, True).numbers) == marked
    assert bool(plan_of("np.multiply", char, number, False).numbers) == marked
    assert not plan_of("pow", char, number, True).numbers


def test_what_is_loaded_is_an_array_and_the_text_a_number() -> None:
    plan = plan_of("add", float, 1, True)
    assert "x + 1.0" in plan.text
    run = load(plan)
    (made,) = [v for v in vars(run)["plan"].__globals__.values() if isinstance(v, np.ndarray)]
    assert made.shape == () and made.dtype == float and not made.flags.writeable
    assert run(np.zeros(3)).tolist() == [1.0, 1.0, 1.0]


def test_one_number_in_several_roles() -> None:
    with ag.settings.override(executor="numpy"):

        @ag.function
        def f(x: Any, k: Any, small: Any) -> Any:
            if k > 1:
                return (x + 1, small + 1, k + 1, [1, x[1]])
            elif k * 1 > 0 and (x > 1).any():
                return (x - 1, small - 1, k - 1, [1, x[1]])
            return (x * 1, small * 1, k * 1, [1, x[1]])

        for k in (2, 1, 0):
            for x in (np.arange(3.0), np.arange(3)):
                found, wanted = f(x, k, x.astype(np.int8)), f.python_function(x, k, x.astype(np.int8))
                assert repr(found) == repr(wanted)
                assert [getattr(v, "dtype", type(v)) for v in found] == [
                    getattr(v, "dtype", type(v)) for v in wanted
                ]
                assert type(found[3][0]) is int


def test_a_number_in_an_elif_stands_where_it_does() -> None:
    """`elif` is `if` with two letters before it."""
    with ag.settings.override(executor="numpy"):

        @ag.function
        def f(x: Any, k: Any) -> Any:
            y = 0.0
            if k > 1:
                y = 1.0
            elif (2 - x)[0] + 3 > 22:
                y = 2.0
            return y

        plan = f.get_concrete_function(np.ones(3), np.int64(3)).plan
        line = next(n for n, text in enumerate(plan.text.splitlines(), 1) if "elif" in text)
        text = plan.text.splitlines()[line - 1]
        assert [text[a:b] for a, b, _ in plan.numbers[line]] == ["2.0"]
        assert f(np.full(3, -30.0), 0) == 2.0
