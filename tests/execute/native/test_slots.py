"""Objects whose fields are slots are values in loops, and are opened where they are given, as others are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag


@dataclasses.dataclass(slots=True)
class Data:
    x: float
    y: float = 1.0

    def step(self, dt: float) -> Data:
        return Data(self.x + dt * self.y, self.y - dt * self.x)

    def move(self, dt: float) -> None:
        self.x += self.y * dt


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: float
    y: float = 1.0

    def step(self, dt: float) -> Frozen:
        return dataclasses.replace(self, x=self.x + dt * self.y)


class Plain:
    __slots__ = ("x", "y")

    def __init__(self, x: float, y: float = 2.0) -> None:
        self.x, self.y = x, y

    def move(self, dt: float) -> None:
        self.x += self.y * dt


class More(Plain):
    __slots__ = ("z",)

    def __init__(self, x: float) -> None:
        super().__init__(x)
        self.z = 0.0

    def move(self, dt: float) -> None:
        self.z += self.x
        self.x += dt


class WithDict(Plain):
    def __init__(self, x: float) -> None:
        super().__init__(x)
        self.w = 0.0

    def move(self, dt: float) -> None:
        self.w += self.x
        self.x += dt


class Unset:
    __slots__ = ("a", "b")

    def __init__(self, a: float) -> None:
        self.a = a


def stepped(s: Any, n: int) -> Any:
    for _ in range(n):
        s = s.step(0.01)
    return s


def moved(s: Any, n: int) -> Any:
    for _ in range(n):
        s.move(0.01)
    return s.x


def made(s: Any, n: int) -> Any:
    p, d = Plain(1.0), Data(2.0)
    for _ in range(n):
        p.move(0.01)
        d = d.step(0.5)
    return p, d.x


def never_set(s: Any, n: int) -> Any:
    u = Unset(1.0)
    for _ in range(n):
        u.a += 1
    try:
        return u.b  # type: ignore[attr-defined]
    except AttributeError as problem:
        return str(problem), u.a


def set_later(s: Any, n: int) -> Any:
    u = Unset(1.0)
    for i in range(n):
        if i > 2:
            u.b = i  # type: ignore[attr-defined]
        u.a += 1.0
    return u


def set_here(s: Any, n: int) -> Any:
    for i in range(n):
        s.b = s.a + i
    return s


def all_moved(s: Any, n: int) -> Any:
    for _ in range(n):
        for p in s:
            p.move(0.1)
    return [p.x for p in s]


CALLS: list[tuple[Callable[..., Any], Callable[[], Any]]] = [
    (stepped, lambda: Data(1.0, 2.0)),
    (stepped, lambda: Frozen(1.0)),
    (moved, lambda: Data(1.0)),
    (moved, lambda: Plain(1.0)),
    (moved, lambda: More(1.0)),
    (moved, lambda: WithDict(1.0)),
    (made, lambda: None),
    (never_set, lambda: None),
    (set_later, lambda: None),
    (set_here, lambda: Unset(1.0)),
    (all_moved, lambda: [Plain(1.0), Plain(2.0), More(1.0)]),
]


def seen(f: Callable[..., Any], s: Any, n: int) -> Any:
    def shown(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return [shown(y) for y in x]
        if type(x).__module__ != __name__:
            return type(x), repr(x)
        names = [name for c in type(x).__mro__ for name in getattr(c, "__slots__", ())]
        return (
            type(x),
            [(name, shown(getattr(x, name, "unset"))) for name in names],
            getattr(x, "__dict__", 0),
        )

    return shown((f(s, n), s))


@pytest.mark.parametrize("k", range(len(CALLS)))
def test_nobody_can_tell(k: int) -> None:
    f, make = CALLS[k]
    converted = ag.function(f)
    for n in (20, 0, 1, np.int64(7), 20):
        assert seen(converted, make(), n) == seen(f, make(), n), n


def test_a_slot_that_became_a_property() -> None:
    class Changed:
        __slots__ = ("_x", "x")

        def __init__(self) -> None:
            self.x, self._x = 1.0, 5.0

    def f(s: Any, n: int) -> Any:
        for _ in range(n):
            s.x += 1.0
        return s.x

    converted = ag.function(f)
    assert [converted(Changed(), 20) for _ in range(3)] == [21.0] * 3
    s, t = Changed(), Changed()
    Changed.x = property(lambda self: self._x, lambda self, x: setattr(self, "_x", x * 2))  # type: ignore
    assert converted(s, 5) == f(t, 5)
    assert s._x == t._x
