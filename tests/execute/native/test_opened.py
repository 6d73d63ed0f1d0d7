"""Loops over objects that are arguments work on what those hold, and nobody can tell."""

from __future__ import annotations

import copy
import dataclasses
import pathlib
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from tests.passes.test_fields import check_program, seen, shown


class Body:
    mass = 2.0

    def __init__(self) -> None:
        self.x, self.v, self.steps = np.zeros(3), np.ones(3), 0
        self.t = 0.0

    def step(self, dt: float) -> None:
        self.v = self.v - self.x * dt / self.mass
        self.x = self.x + self.v * dt
        self.t += dt
        self.steps += 1


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: float = 1.5
    t: float = 0.5


class Slotted:
    __slots__ = ("t", "x")

    def __init__(self) -> None:
        self.x, self.t = 1.5, 0.0


class Asking:
    def __init__(self) -> None:
        self.x, self.t = 1.5, 0.0

    def __getattr__(self, name: str) -> float:
        if name.startswith("__"):
            raise AttributeError(name)
        return 4.0


class Strict(Body):
    @property
    def t(self) -> float:
        return self._t

    @t.setter
    def t(self, value: float) -> None:
        self._t = min(value, 0.5)


def steps(b: Any, n: int) -> Any:
    for _ in range(n):
        b.step(0.1)
    return b.steps


def times(b: Any, n: int) -> Any:
    for i in range(n):
        b.t = b.t + b.x * i
    return b.t


def read_only(b: Any, y: Any, n: int) -> Any:
    for i in range(n):
        y[i % 3] += b.x * i + b.t
    return y


def heavier(b: Any, n: int) -> Any:
    for i in range(n):
        if i > 2:
            b.mass = b.mass * 1.5
        b.t += b.mass
    return b.t


def fails(b: Any, n: int) -> Any:
    for i in range(n):
        b.t = b.t + 1.0
        b.x[i % 3] += 1.0
        b.t = b.t / (3 - i)
    return b.t


def both(a: Any, b: Any, n: int) -> Any:
    for _ in range(n):
        a.t += 1.0
        b.t = b.t * 2.0
    return a.t, b.t


def in_place(b: Any, y: Any, n: int) -> Any:
    for i in range(n):
        b.x[1:] += b.x[:-1] * 0.5
        b.v += y
        y[0] += i
    return b.x, b.v is y


def same_array(b: Any, n: int) -> Any:
    for i in range(n):
        if i == 1:
            b.v = b.x
        b.x += 1.0
    return b.v is b.x


def descent(p: Any, X: Any, y: Any, n: int) -> Any:
    for _ in range(n):
        e = X @ p["w"] + p["b"] - y
        p["w"] = p["w"] - 0.1 * (X.T @ e) / len(y)
        p["b"] = p["b"] - 0.1 * e.mean()
    return p


def pairs(q: Any, n: int) -> Any:
    for i in range(n):
        q[0], q[-1] = q[-1] + i, q[0]
    return q


def missing(p: Any, n: int) -> Any:
    for _ in range(n):
        p["w"] = p["w"] + p["z"]
    return p


def divided(b: Any, n: int) -> Any:
    for i in range(n):
        b.x = b.x / np.float64(i)
        b.t += 1.0
    return b.t


def helped(b: Any, n: int) -> Any:
    for i in range(n):
        b.t = helper(b.t, i)
    return b.t


def helper(t: Any, i: int, by: float = 0.5) -> Any:
    return t + i * by


def outer(s: Any, n: int) -> Any:
    for _ in range(n):
        s.inner.t += s.scale
        s.total = s.total + s.inner.t
    return s.total


def adam(p: Any, g: Any, n: int) -> Any:
    m = {k: np.zeros_like(v) for k, v in p.items()}
    seen = []
    for t in range(1, n + 1):
        for k in p:
            m[k] = 0.9 * m[k] + 0.1 * g[k] * p[k]
            p[k] = p[k] - 0.1 * m[k] / (1 - 0.9**t)
        seen.append(float(p["w"].sum()))
    return seen


def adam_on_two(p: Any, g: Any, n: int) -> Any:
    m = {k: np.zeros_like(v) for k, v in p.items()}
    for t in range(1, n + 1):
        for k in p:
            m[k] = 0.9 * m[k] + 0.1 * (g[k] * p[k])
            p[k] = p[k] - 0.1 * m[k] / (1 - 0.9**t)
    return p


def grown_while_gone_through(p: Any, g: Any, n: int) -> Any:
    for i in range(n):
        for k in p:
            p[k] = p[k] + g[k]
            if i == 2:
                p[k + "'"] = p[k]
    return p


def grows(q: Any, p: Any, n: int) -> Any:
    for i in range(n):
        q.append(p["a"] + i)
        p["a"] = p["a"] * 1.5
    return len(q)


def new_keys(p: Any, n: int) -> Any:
    for i in range(n):
        for k in list(p):
            p[k + "'"] = p[k] + i
    return p


def layers(ws: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        h = x
        for i in range(len(ws)):
            h = np.tanh(h @ ws[i])
            ws[i] = ws[i] * 0.9
        x = h
    return x


def queues(q: Any, n: int) -> Any:
    while q.t < n:
        q.t += q.rng.random()
        if q.steps % 5 == 0:
            q.seen.append(q.t)
        q.body.t = q.body.t + q.t
        q.steps += 1


class Queue:
    def __init__(self) -> None:
        self.t, self.steps, self.body = 0.0, 0, Body()
        self.seen: list[float] = []
        self.rng = np.random.default_rng(3)


class Outer:
    def __init__(self) -> None:
        self.inner, self.scale, self.total = Body(), 0.5, 0.0


I = np.int64  # trips of a number that is not known while tracing
X, Y = np.random.default_rng(0).normal(size=(6, 2)), np.arange(6.0)


def one_dict_for_two(a, b, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for _ in range(n):
        a.t += 1.0
        s += b.t
    return s


def object_and_its_dict(a, d, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for _ in range(n):
        a.t += 1.0
        s += d["t"]
        d["t"] += 2.0
        s += a.t
    return s


def in_itself(d, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for _ in range(n):
        d["t"] += 1.0
        s += d["next"]["t"]
    return s


def shared() -> tuple[Any, ...]:
    a, b = Body(), Body()
    b.__dict__ = a.__dict__
    return a, b, I(60)


def holding_itself(between: int) -> tuple[Any, ...]:
    first: dict[str, Any] = {"t": 0.5}
    last = first
    for _ in range(between):
        last = {"t": 1.5, "next": last}
    first["next"] = last
    return first, I(60)


@pytest.mark.parametrize("executor", ["native", "auto", "numpy"])
@pytest.mark.parametrize(
    ("f", "make"),
    [
        (one_dict_for_two, shared),
        (one_dict_for_two, lambda: (Body(), Body(), I(60))),
        (object_and_its_dict, lambda: ((b := Body()), vars(b), I(60))),
        (in_itself, lambda: holding_itself(0)),
        (in_itself, lambda: holding_itself(1)),
    ],
)
def test_fields_that_are_kept_in_one_place(
    f: Callable[..., Any], make: Callable[[], tuple[Any, ...]], executor: str
) -> None:
    with settings.override(executor=executor):
        converted = ag.function(f)
        for _ in range(3):
            assert converted(*make()) == f(*make())


CASES: tuple[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]], ...] = (
    (steps, lambda: (Body(), I(7))),
    (steps, lambda: (Strict(), I(7))),
    (times, lambda: (Slotted(), I(7))),
    (times, lambda: (Asking(), I(7))),
    (times, lambda: (Body(), I(7))),
    (times, lambda: (Body(), 4)),
    (steps, lambda: (Body(), 3)),
    (times, lambda: (Frozen(), I(7))),
    (read_only, lambda: (Frozen(), np.zeros(3), I(40))),
    (read_only, lambda: (Body(), np.zeros(3), I(40))),
    (heavier, lambda: (Body(), I(7))),
    (heavier, lambda: (Body(), I(2))),
    (fails, lambda: (Body(), I(3))),
    (fails, lambda: (Body(), I(7))),
    (both, lambda: (Body(), Body(), I(5))),
    (both, lambda: (b := Body(), b, I(5))),
    (in_place, lambda: (Body(), np.arange(3.0), I(5))),
    (in_place, lambda: ((b := Body()), b.v, I(5))),
    (in_place, lambda: ((b := Body()), b.x, I(5))),
    (same_array, lambda: (Body(), I(5))),
    (same_array, lambda: (Body(), I(1))),
    (descent, lambda: ({"b": 0.0, "w": np.zeros(2)}, X, Y, I(9))),
    (adam_on_two, lambda: ({"w": np.ones(3), "b": np.ones(2)}, {"w": np.arange(3.0), "b": np.ones(2)}, I(9))),
    (descent, lambda: (OrderedDict(w=np.zeros(2), b=0.0), X, Y, I(9))),
    (descent, lambda: ({"b": 0, "w": np.zeros(2)}, X, Y, I(0))),
    (descent, lambda: ({"b": np.float32(1), "w": np.zeros(2, "f4")}, X, Y, I(3))),
    (pairs, lambda: ([1.5, 2.0], I(6))),
    (pairs, lambda: ([1], I(6))),
    (pairs, lambda: ([1, "a", 2], I(6))),
    (missing, lambda: ({"w": 1.0}, I(4))),
    (missing, lambda: ({"w": 1.0}, I(0))),
    (missing, lambda: ({"w": 1.0, "z": 2**40}, I(4))),
    (divided, lambda: (Body(), I(4))),
    (helped, lambda: (Body(), I(4))),
    (outer, lambda: (Outer(), I(4))),
    (queues, lambda: (Queue(), I(30))),
    (adam, lambda: ({"w": np.ones(3), "b": np.zeros(2)}, {"w": np.arange(3.0), "b": np.ones(2)}, I(30))),
    (adam, lambda: ({"w": np.ones(3), "b": 0.5}, {"w": np.arange(3.0), "b": 2.0}, I(30))),
    (adam, lambda: ({"w": np.ones(3)}, {"w": np.arange(3.0)}, I(0))),
    (adam_on_two, lambda: ({"w": np.ones(3), "b": np.ones(2)}, {"w": np.arange(3.0), "b": np.ones(2)}, I(9))),
    (adam_on_two, lambda: (d := {"w": np.ones(3), "b": np.ones(2)}, d, I(9))),
    (grown_while_gone_through, lambda: ({"w": np.ones(3)}, {"w": np.ones(3)}, I(9))),
    (grown_while_gone_through, lambda: ({"w": np.ones(3)}, {"w": np.ones(3)}, I(2))),
    (grows, lambda: ([1], {"a": 1.0}, I(5))),
    (grows, lambda: ([], {"a": np.ones(2)}, I(5))),
    (grows, lambda: ([], {"a": "text"}, I(5))),
    (new_keys, lambda: ({"a": np.ones(2)}, I(3))),
    (layers, lambda: ([np.eye(3), np.ones((3, 3))], np.arange(3.0), I(20))),
)


def warned(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = seen(f, *args)
    return result, [(w.category, str(w.message), w.lineno) for w in caught]


@pytest.mark.parametrize("k", range(len(CASES)), ids=lambda k: f"{CASES[k][0].__name__}-{k}")
def test_nobody_can_tell(k: int) -> None:
    f, make = CASES[k]
    converted = ag.function(f)
    for _ in range(4):
        args = make()
        assert warned(converted, args) == warned(f, args)


def test_one_function_takes_objects_of_all_kinds_in_turns() -> None:
    converted = ag.function(times)
    for _ in range(3):
        for make in (Body, Slotted, Asking, Strict):
            b = make()
            assert seen(converted, b, I(6)) == seen(times, b, I(6))


def test_fields_may_change_their_types_between_calls() -> None:
    converted = ag.function(times)
    for x in (1.5, 2, np.float32(2), np.arange(3.0), "a", None, 1 + 2j, np.arange(4)[::2], 2**70):
        b = Body()
        b.x = x  # type: ignore[assignment]
        assert seen(converted, b, I(6)) == seen(times, b, I(6))
    del b.t
    assert seen(converted, b, I(6)) == seen(times, b, I(6))
    assert seen(converted, b, I(0)) == seen(times, b, I(0))


def test_methods_helpers_and_classes_may_change_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    stepping, helping = ag.function(steps), ag.function(helped)

    def check() -> None:
        for converted, plain in ((stepping, steps), (helping, helped)):
            assert seen(converted, Body(), I(5)) == seen(plain, Body(), I(5))

    check()
    monkeypatch.setattr(Body, "step", lambda self, dt: setattr(self, "t", self.t - dt))
    check()
    monkeypatch.undo()
    check()
    monkeypatch.setattr("tests.execute.native.test_opened.helper", lambda t, i: t - i)
    check()
    monkeypatch.undo()
    monkeypatch.setattr(helper, "__defaults__", (2.0,))
    check()
    monkeypatch.undo()
    monkeypatch.setattr(Body, "t", property(lambda self: 3.0, lambda self, value: None), raising=False)
    body = Body()
    assert seen(helping, body, I(5)) == seen(helped, body, I(5))


@pytest.mark.parametrize(
    ("f", "make"),
    [
        (steps, lambda: (Body(), I(50))),
        (descent, lambda: ({"b": 0.0, "w": np.zeros(2)}, X, Y, I(9))),
        (
            adam_on_two,
            lambda: ({"w": np.ones(3), "b": np.ones(2)}, {"w": np.arange(3.0), "b": np.ones(2)}, I(9)),
        ),
    ],
)
def test_such_loops_are_native(f: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> None:
    with settings.override(executor="auto", compile="now"):
        converted = ag.function(f)
        for _ in range(3):
            args = make()
            plain = copy.deepcopy(args)
            assert shown(converted(*args)) == shown(f(*plain))
            assert shown(vars(args[0]) if f is steps else args) == shown(
                vars(plain[0]) if f is steps else plain
            )
        concrete = converted.traces[-1].concrete
        assert concrete is not None and concrete.executor == "native", str(ag.explain(converted))
        assert concrete.native is not None and concrete.native.calls == 3 and not concrete.native.bails


def both_ways(o: Any, n: int) -> Any:
    s = 0
    for i in range(n):
        s += i
    if s > 3:
        o.low = s
        o.high = 2
    else:
        o.high = 3
        o.low = s
    return s


def by_trips(d: Any, n: int) -> Any:
    for i in range(n):
        d["low"] = i
    d["high"] = 1.5
    d["low"] = 2.5
    return d


@pytest.mark.parametrize("executor", ["native", "auto", "numpy"])
@pytest.mark.parametrize(("f", "make"), [(both_ways, Body), (by_trips, dict), (by_trips, lambda: {"low": 0})])
def test_new_fields_come_in_the_order_of_the_way_that_was_taken(
    f: Callable[..., Any], make: Callable[[], Any], executor: str
) -> None:
    with settings.override(executor=executor):
        converted = ag.function(f)
        for n in (5, 1, 0, 5, 1, 0):
            assert seen(converted, make(), n) == seen(f, make(), n)


def only_written(o: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        s += i * 0.5
    o.t = s
    o.t = s + 1
    return s


@pytest.mark.parametrize("executor", ["native", "auto", "numpy"])
def test_a_class_that_decides_later_what_writing_does_is_asked_each_time(executor: str) -> None:
    class Own:
        def __init__(self) -> None:
            self.log: list[float] = []

    with settings.override(executor=executor):
        converted = ag.function(only_written)
        for _ in range(3):
            converted(Own(), I(4))
        Own.t = property(lambda self: 0.0, lambda self, value: self.log.append(value))  # type: ignore[attr-defined]
        own = Own()
        assert converted(own, I(4)) == 3.0
        assert own.log == [3.0, 4.0]


def a_keyword(o: Any, n: int) -> Any:
    for i in range(n):
        setattr(o, "class", getattr(o, "class") + i)


def a_ligature(o: Any, n: int) -> Any:
    for i in range(n):
        setattr(o, "\ufb01", getattr(o, "\ufb01") + i)  # an identifier, which Python's parser takes for "fi"


@pytest.mark.parametrize("executor", ["native", "auto", "numpy"])
@pytest.mark.parametrize("function", [a_keyword, a_ligature])
def test_attributes_whose_names_can_not_be_written_with_a_dot(
    function: Callable[..., Any], executor: str
) -> None:
    with settings.override(executor=executor):
        converted = ag.function(function)
        for n in (I(3), I(4), 2, I(0)):
            found, wanted = Body(), Body()
            for body, f in ((found, converted), (wanted, function)):
                vars(body).update({"class": 0.5, "\ufb01": 1.5, "fi": 2.5})
                f(body, n)
            names = ("class", "\ufb01", "fi")
            assert [vars(found)[k] for k in names] == [vars(wanted)[k] for k in names]
        assert "SyntaxError" not in str(ag.explain(converted))


def keys_are_numbers(d: Any, n: int) -> Any:
    total, last = 0, None
    for i in range(n):
        for k in d:
            total += k * i
            last = k
            d[k] = d[k] * 0.5
    return total, last


@pytest.mark.parametrize("executor", ["native", "auto", "numpy"])
def test_equal_keys_of_other_classes_are_other_keys(executor: str) -> None:
    dicts: list[Any] = [{1: 2.0, 2: 3.0}] * 4
    dicts += [{1.0: 2.0, 2.0: 3.0}, {2: 2.0, True: 1.0}, {1: 2.0, 2: 3.0}]
    with settings.override(executor=executor):
        converted = ag.function(keys_are_numbers)
        for d in dicts:
            assert repr(converted(dict(d), 4)) == repr(keys_are_numbers(dict(d), 4))


def a_deleted_name(items: Any, x: Any) -> Any:
    c, total = x[0], 0.0
    for k in range(len(items)):
        for u in x:
            total = total + c * u
        if items[k] is None:
            del c
    return total


def an_attribute(items: Any, x: Any) -> Any:
    total = 0.0
    for o in items:
        for u in x:
            total += o.dt * u
    return total


def a_key(items: Any, x: Any) -> Any:
    total = 0.0
    for o in items:
        for u in x:
            total += o["x"] * u
    return total


THERE = Body()
THERE.dt = 1.5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("function", "there", "lacking"),
    [(a_deleted_name, 1.0, None), (an_attribute, THERE, Body()), (a_key, {"x": 1.5}, {"y": 1.5})],
)
def test_what_is_missing_is_an_error_without_another_before_it(
    function: Callable[..., Any], there: Any, lacking: Any
) -> None:
    with settings.override(executor="native", compile="now"):
        converted = ag.function(function)
        for _ in range(3):
            converted([there] * 20, np.arange(20.0))
            with pytest.raises((AttributeError, KeyError, NameError)) as caught:
                converted([there] * 5 + [lacking] * 5, np.arange(20.0))
            assert caught.value.__context__ is None


@pytest.mark.parametrize("block", range(3))
def test_random_programs_on_objects_that_are_given(block: int, tmp_path: pathlib.Path) -> None:
    for seed in range(block * 8, block * 8 + 8):
        check_program(seed, tmp_path, given=True)
