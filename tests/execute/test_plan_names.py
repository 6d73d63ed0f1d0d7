"""Names of plans: the user's where they can be, legal and unmistakable always."""

from __future__ import annotations

import enum
import math
import types

import numpy as np
import pytest

from runtime.boxes import unbound
from runtime.errors import Span
from runtime.execute.constants import Constants
from runtime.execute.loader import load
from runtime.execute.names import PlanNames
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Const, Value
from tests.execute.build import OBJECT, VECTOR, WEAK_INT, Region, named, same, text


@pytest.mark.parametrize(
    "name", ["np", "while", "None", "len", "größe", "__x", "_", "1a", "a b", "f", "cp", "match"]
)
def test_any_hint_becomes_a_legal_name(name: str) -> None:
    r = Region()
    r.params = (Value(VECTOR, name), Value(VECTOR, name))
    y = r.add("np.add", *r.params, name=name)
    z = r.add("mul", y, y, name=name)
    same(r.graph(z, y, name="f"), np.arange(3.0), np.ones(3))


def test_unicode_names_are_normalized() -> None:
    r = Region()
    r.params = (Value(WEAK_INT, "ﬁ"), Value(WEAK_INT, "fi"))
    graph = r.graph(r.add("sub", *r.params), name="f")
    assert text(graph) == "def f(fi, fi_1):\n    return fi - fi_1\n"
    same(graph, 3, 1)


def test_a_captured_object_and_a_variable_of_the_same_name() -> None:
    def helper(x: int) -> int:
        return x + 1

    r = Region(helper=WEAK_INT)
    y = r.add("py.call", Const(helper, "helper"), r.params[0], name="helper")
    graph = r.graph(r.add("py.call", Const(helper, "helper"), y), name="helper")
    same(graph, 1)
    assert "helper" not in plan_source(graph).constants  # it is the plan's own name


def constant(value: object, name: str = "") -> tuple[str, object]:
    """How the constant is written, and what that evaluates to."""
    constants = Constants(PlanNames("f"))
    written = constants.expression(named(value, name)).text
    return written, eval(written, dict(constants.bound))


def test_literals() -> None:
    for value in (
        1,
        -1,
        0.5,
        -2.5,
        "a'b",
        b"x",
        None,
        True,
        (),
        (1,),
        (1, (2.5, None)),
        slice(1, None, 2),
        2j,
        range(3),
        range(1, 3),
        range(0, 9, 3),
        (slice(None), 0),
    ):
        written, back = constant(value)
        assert written == repr(value) or isinstance(value, (range, slice, tuple, complex))
        assert type(back) is type(value) and back == value
    assert constant(...)[0] == "..."


def test_constants_that_have_no_literal_are_bound() -> None:
    minus_zero = constant(-0.0)
    assert minus_zero[0] == "minus_0_0" and math.copysign(1, minus_zero[1]) == -1
    assert constant(math.inf)[0] == "inf"
    assert constant(np.float32(0.5)) == ("float32_0_5", np.float32(0.5))
    assert constant(np.dtype("int8"))[0] == "dtype_int8"
    assert constant("x" * 100)[0] == "text"
    assert constant(10**100)[1] == 10**100
    assert constant(lambda: 0)[0] == "function"
    assert constant(unbound("y"))[0] == "unbound_y"
    color = enum.Enum("Color", "RED")
    assert constant(color.RED)[1] is color.RED
    assert constant(complex(-0.0, 1.0))[1].real == 0


def test_functions_go_by_their_dotted_names() -> None:
    assert constant(np.linalg.solve) == ("np.linalg.solve", np.linalg.solve)
    assert constant(np.add)[0] == "np.add"
    assert constant(np.float64)[0] == "np.float64"
    assert constant(np)[0] == "np"
    assert constant(len)[0] == "len"
    assert constant(math.sqrt) == ("math.sqrt", math.sqrt)
    assert constant(ValueError)[0] == "ValueError"
    fake = types.FunctionType((lambda: 0).__code__, {}, "len")
    assert constant(fake)[1] is fake


def test_one_name_per_number_and_per_object() -> None:
    r = Region(x=OBJECT)
    (x,) = r.params
    y = r.add("mul", r.add("mul", x, np.float32(2)), np.float32(2))
    plan = plan_source(r.graph(y, name="f"))
    assert plan.text == "def f(x):\n    return x * float32_2_0 * float32_2_0\n"
    assert load(plan)(3) == 12


def test_names_do_not_change_from_run_to_run() -> None:
    r = Region(x=VECTOR)
    y = r.add("mul", r.params[0], 2)
    graph = r.graph(r.add("add", y, y), name="f")
    assert text(graph) == text(graph) == "def f(x):\n    t1 = x * 2.0\n    return t1 + t1\n"


def test_names_come_from_the_line_that_assigns(tmp_path) -> None:
    file = tmp_path / "user.py"
    file.write_text("def f(x):\n    y = x * 2.0 + 1.0\n    return y * y\n")

    def at(line: int) -> Span:
        return Span(str(file), line, 4, "f")

    r = Region(x=VECTOR)
    y = r.add("add", r.add("mul", r.params[0], 2, span=at(2)), 1, span=at(2))
    graph = r.graph(r.add("mul", y, y, span=at(3)), name="f")
    assert text(graph) == "def f(x):\n    y = x * 2.0 + 1.0  # user.py:2\n    return y * y  # user.py:3\n"
