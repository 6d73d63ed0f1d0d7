"""Calls without machine code: functions that bind arguments as Python does and go straight to a trace."""

from __future__ import annotations

import dis
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.function.dispatch import Conditions
from runtime.function.polymorphic import PolymorphicFunction, Quick

X = np.arange(3.0)


@pytest.fixture(autouse=True)
def without_machine_code() -> Any:
    with settings.override(executor="numpy"):
        yield


def mixed(x, k=1.0, *, shift=2.0):
    return x * k + shift


def positional(a, b=2, /, c=3):
    return a + b + c


def variadic(x, *more, **named):
    return x + len(more) + len(named)


def told(type, len):
    return type + len


def outcome(f: Any, call: str) -> str:
    """What a call gives or raises, as text."""
    try:
        return repr(eval(f"f{call}", {"f": f, "X": X, "np": np}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


CALLS = {
    mixed: (
        "(X)", "(X, 2.0)", "(X, k=3.0)", "(k=2.0, x=X)", "(X, shift=4.0)", "(x=X, shift=1.0, k=9.0)", "()",
        "(1, 2, 3)", "(X, x=X)", "(X, z=1)", "(k=1.0)", "(np.ones(2))", "(np.float32(1))",
        "(X, 2.0, shift=X)",
    ),
    positional: ("(X)", "(X, 1)", "(X, c=5)", "(X, 1, c=5)", "(a=X)", "(X, b=1)", "(X, 1, 2)"),
    variadic: ("(X)", "(X, 1, 2)", "(X, a=1)", "()"),
    told: ("(X, X)", "(X, len=1)", "(type=1, len=2)"),
}  # fmt: skip


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_every_way_to_write_a_call(function: Any) -> None:
    for calls in ([call] for call in CALLS[function]):
        converted = ag.function(function)
        for call in (*calls, *calls, *calls, CALLS[function][0], *calls):
            assert outcome(converted, call) == outcome(function, call)
    all_at_once = ag.function(function)
    for call in (*CALLS[function], *CALLS[function]):
        assert outcome(all_at_once, call) == outcome(function, call)


def called_quickly(function: Any, *calls: str) -> Any:
    converted = ag.function(function)
    for call in calls * 3:
        outcome(converted, call)
    assert type(converted) is Quick
    return converted


def test_a_call_runs_one_function_and_then_the_plan() -> None:
    """What a call costs, counted: the function that is called tests the trace and calls the plan."""
    converted = called_quickly(mixed, "(X, k=2.0)")
    call = converted._quick
    assert call.__code__.co_varnames[:3] == ("x", "k", "shift") and not call.__code__.co_flags & 0x0C
    names = {step.opname for step in dis.get_instructions(call)}
    assert not names & {"BUILD_TUPLE", "BUILD_MAP", "FOR_ITER", "DICT_MERGE", "CALL_FUNCTION_EX"}
    plan = converted.traces[0].concrete.run_plan.plan
    assert plan in call.__globals__.values()


def test_it_goes_on_being_the_function() -> None:
    converted = called_quickly(mixed, "(X)")
    assert isinstance(converted, PolymorphicFunction) and converted.__name__ == "mixed"
    assert repr(converted) == "<autograph function mixed, 1 traces>"
    found = weakref.ref(converted)
    del converted
    gc.collect()
    assert found() is None
    shared(X), shared(X), shared(X)
    assert pickle.loads(pickle.dumps(shared)) is shared


@ag.function
def shared(x):
    return x + 1


RATE = 1.0


def rated(x):
    return x * RATE


def test_guards_more_traces_and_the_switches() -> None:
    global RATE
    converted = called_quickly(rated, "(X)")
    for RATE in (2.0, 3.0, 4.0):
        assert converted(X).tobytes() == (X * RATE).tobytes()
    RATE = 1.0
    for n in range(1, 6):
        assert converted(np.ones((n, 1, n))).shape == (n, 1, n)
        assert converted(np.ones(n, np.float32)).dtype == np.float32
    seen: list[Any] = []
    ag.run_functions_eagerly(True)
    try:
        quick = called_quickly(lambda x: seen.append(type(x)) or x, "(X)")
        assert len(quick.traces) == 0
    except AssertionError:
        assert seen == [np.ndarray] * 3
    finally:
        ag.run_functions_eagerly(False)
    outer = ag.function(lambda x: converted(x) + 1)
    assert outer(X).tobytes() == (X + 1).tobytes() and "mul" in str(outer.graph)


def test_defaults_that_were_not_used_are_not_guarded() -> None:
    def scaled(x, k=1.0):
        return x * k

    converted = ag.function(scaled)
    given = converted.get_concrete_function(X, 2.0)
    left = converted.get_concrete_function(X)
    texts = [
        [g.text for g in concrete.guards if g.text.startswith("the default")] for concrete in (left, given)
    ]
    assert texts == [[f"the default of {scaled.__qualname__}'s k"], []]
    scaled.__defaults__ = (5.0,)
    assert converted(X, 2.0).tobytes() == (X * 2).tobytes() and converted(X).tobytes() == (X * 5).tobytes()
    assert len(converted.traces) == 3


def _model() -> tuple[type, type]:
    class Base:
        pass

    class Model(Base):
        def __init__(self, weight: float) -> None:
            self.weight = np.full(3, weight)

        def scaled(self, x: Any) -> Any:
            return self.weight * x

    return Model, Base


@pytest.mark.parametrize("name", ["__getattribute__", "__getattr__"])
@pytest.mark.parametrize("on_base", [True, False])
@pytest.mark.parametrize("way", ["set", "another base"])
def test_special_methods_that_come_later_are_seen(name: str, on_base: bool, way: str) -> None:
    """The class and its bases are asked whether they have one, which takes less than looking for it."""
    cls, base = _model()
    model = cls(2.0)
    converted = ag.function(cls.scaled)
    for _ in range(3):
        converted(model, X)
    texts = converted._quick.__globals__
    assert any(value is cls.__mro__ for value in texts.values())
    del model.weight
    if name == "__getattribute__":
        model.weight = np.full(3, 2.0)
    changed = base if on_base else cls

    def special(self: Any, asked: str) -> Any:
        return np.full(3, 7.0) if asked == "weight" else object.__getattribute__(self, asked)

    if way == "set":
        setattr(changed, name, special)
    else:
        other = type("Other", (), {name: special})
        between = type("Between", (other,), {}) if on_base else other
        cls.__bases__ = (between, base)
    assert converted(model, X).tobytes() == cls.scaled(model, X).tobytes() == (7.0 * X).tobytes()


class Net:
    weight, bias = 2.0, 3.0


NET = Net()


def test_what_several_guards_go_through_is_read_once() -> None:
    @ag.function
    def affine(x):
        return x * NET.weight + NET.bias

    assert np.array_equal(affine(X), X * 2.0 + 3.0)
    conditions = Conditions()
    for guard in affine.traces[0].relies_on:
        conditions.guard(guard, ("x",))
    places = [place for *_, (_, _, place) in conditions.reads]
    assert sorted(places) == ["NET", "bias", "weight"]
