"""Operators on objects of the user's classes do what Python does; so do classes that get more later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.ir.walk import walk_nodes

NOTED: list[Any] = []


class Amount:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __add__(self, other: Any) -> Any:
        return Amount(self.x + other.x) if isinstance(other, Amount) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Amount(self.x + other)

    def __mul__(self, k: Any) -> Any:
        return Amount(self.x * k)

    def __rmul__(self, k: Any) -> Any:
        return Amount(k * self.x)

    def __neg__(self) -> Any:
        return Amount(-self.x)

    def __abs__(self) -> Any:
        return abs(self.x)

    def __lt__(self, other: Any) -> Any:
        return self.x < other.x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and bool(self.x == other.x)

    def __matmul__(self, other: Any) -> Any:
        return self.x * other.x

    def __iadd__(self, other: Any) -> Any:
        self.x += other.x if isinstance(other, Amount) else other
        return self


class First(Amount):
    """Its methods come first where it is on the right."""

    def __radd__(self, other: Any) -> Any:
        return First(100.0)

    def __rmul__(self, other: Any) -> Any:
        return First(200.0)


class Same(Amount):
    pass


class Unsure:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __add__(self, other: Any) -> Any:
        return NotImplemented

    def __mul__(self, other: Any) -> Any:
        if other.x > 3:
            return NotImplemented
        return Unsure(self.x * other.x)

    def __sub__(self, other: Any) -> Any:
        NOTED.append(self.x)
        return self.x - other.x


class Right:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __radd__(self, other: Any) -> Any:
        return Right(self.x + other.x)

    def __gt__(self, other: Any) -> Any:
        return "gt"


class Number(float):
    def __add__(self, other: Any) -> Any:
        return 5.0


def error(f: Callable[[], Any]) -> Any:
    try:
        return f()
    except TypeError as problem:
        return str(problem)


def summed(n: Any) -> Any:
    a, b = Amount(1.0), Amount(0.5)
    for _ in range(int(n)):
        a = a + b * 2.0 + 0.25 * b
    return a.x, a


def unknown_operands(n: Any) -> Any:
    return error(lambda: Amount(1.0) + n), error(lambda: Unsure(1.0) + Unsure(n)), error(lambda: -Unsure(1.0))


def perhaps_unknown(n: Any) -> Any:
    return error(lambda: Unsure(1.0) * Unsure(n))


def numbers_on_the_left(n: Any) -> Any:
    return n + Amount(1.0), 1.0 + Amount(2.0), np.float64(2.0) * Amount(3.0), n * Amount(1)


def classes_of_classes(n: Any) -> Any:
    return Amount(1.0) + First(2.0), Amount(1.0) + Same(2.0), Amount(n) * First(1.0), Number(1.0) + n


def of_one(n: Any) -> Any:
    return -Amount(n), abs(Amount(-1.5)), Amount(1) @ Amount(n)


def compared(n: Any) -> Any:
    one = Amount(1)
    return one < Amount(n), one > Amount(n), one == Amount(n), one != Amount(n), Unsure(1.0) < Right(n)


def in_place(n: Any) -> Any:
    a = b = Amount(1.0)
    for _ in range(int(n)):
        a += Amount(0.5)
        a += 0.25
    return a is b, a.x


def the_other_knows(n: Any) -> Any:
    return Unsure(1.0) + Right(n)


def noting(n: Any) -> Any:
    NOTED.clear()
    s = 0.0
    for i in range(int(n)):
        s += Unsure(i) - Unsure(1.0)
    return s, list(NOTED)


def of_arrays(n: Any) -> Any:
    a = Amount(np.ones(3))
    for _ in range(int(n)):
        a = a * 0.5 + Amount(np.arange(3.0))
    return a


def by_python(n: Any) -> Any:
    return (
        sum([Amount(1.0), Amount(2.0)], Amount(0.0)),
        max(Amount(1), Amount(n)),
        sorted([Amount(3), Amount(n)]),
    )


PROGRAMS = [
    summed,
    unknown_operands,
    perhaps_unknown,
    numbers_on_the_left,
    classes_of_classes,
    of_one,
    compared,
]
PROGRAMS += [in_place, the_other_knows, noting, of_arrays, by_python]


def shown(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return type(x), [shown(y) for y in x]
    if type(x).__module__ == __name__ and hasattr(x, "x"):
        return type(x), shown(x.x)
    return (x.dtype, x.tolist()) if isinstance(x, np.ndarray) else (type(x), repr(x))


@pytest.mark.parametrize("executor", ["numpy", "auto"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_same_methods_are_called(f: Callable[..., Any], executor: str) -> None:
    with settings.override(executor=executor):
        converted = ag.function(f)
        for n in (4, np.int64(2), np.float64(2.5), 4, 20):
            assert shown(converted(n)) == shown(f(n)), n


class Later:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __add__(self, other: Any) -> Any:
        return Later(self.x + other.x)


class Asked(Amount):
    """Not all of its attributes are known; what it does with others comes first all the same."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __radd__(self, other: Any) -> Any:
        return Amount(100.0)


class Counted(Amount, dict):  # type: ignore[type-arg]
    def __radd__(self, other: Any) -> Any:
        return Amount(200.0)


def added(a: Any, b: Any) -> Any:
    return (a + b).x


@pytest.mark.parametrize("other", [Asked, Counted])
def test_subclasses_of_any_kind_are_asked_first(other: Any) -> None:
    converted = ag.function(added)
    for _ in range(4):
        assert converted(Amount(1.0), other(2.0)) == added(Amount(1.0), other(2.0))


def test_methods_that_come_later() -> None:
    def summed(n: Any) -> Any:
        a = b = Later(1.0)
        for _ in range(int(n)):
            a += Later(0.5)
        return a.x, a is b

    with settings.override(executor="native"):
        converted = ag.function(summed)
        assert converted(3) == summed(3) == (2.5, False)
        Later.__iadd__ = lambda self, other: (setattr(self, "x", self.x + 10), self)[1]  # type: ignore[attr-defined]
        try:
            assert converted(3) == summed(3) == (31.0, True)
        finally:
            del Later.__iadd__  # type: ignore[attr-defined]
        assert converted(3) == summed(3)


def test_they_are_traced_into() -> None:
    graph = ag.function(summed).get_concrete_function(np.int64(5)).passes.graph
    (loop,) = (n for n in graph.nodes if n.op == "for")
    assert not any(n.op.startswith("py.") for region in loop.regions for n in walk_nodes(region)), graph


def test_a_property_that_comes_later() -> None:
    """It stands in the place of a field of objects that the function makes."""

    class Point:
        def __init__(self, x: float) -> None:
            self.x = x

    def walked(n: int) -> float:
        point = Point(0.0)
        for i in range(n):
            point = Point(point.x + i)
        return point.x

    for executor in ("native", "numpy"):
        with settings.override(executor=executor):
            f = ag.function(walked)
            assert f(5) == f(5) == walked(5) == 10.0
            Point.x = property(lambda self: 1.5, lambda self, value: None)  # type: ignore[assignment,method-assign]
            assert f(5) == walked(5) == 1.5
            del Point.x
            assert f(5) == walked(5) == 10.0
