"""Inner generators, classes and super(): left as written, or looked up, and still exactly Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag

f64, A = np.float64, np.array


def generator_shares_a_variable(v: Any) -> Any:
    n = 0

    def doubling(t: Any) -> Any:
        nonlocal n
        while True:
            n += 1
            yield t
            t = t * 2

    out = []
    for x, _ in zip(doubling(v[0]), range(3)):
        out.append(x + n)
    g = doubling(v[1])
    return out, n, next(g), next(g), n


def class_with_shared_variable(v: Any) -> Any:
    scale = 2.0
    made = []

    class Box:
        """Has a docstring."""

        count = 0

        def __init__(self, x: Any) -> None:
            self.x = x
            Box.count += 1
            made.append(x)

        @property
        def scaled(self) -> Any:
            return self.x * scale

        @scaled.setter
        def scaled(self, value: Any) -> None:
            self.x = value / scale

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Box) and bool(self.x == other.x)

    boxes = [Box(e) for e in v]
    scale = 3.0
    boxes[0].scaled = 30.0
    return [b.scaled for b in boxes], Box.count, made, boxes[0] == boxes[1], Box.__doc__


class Base:
    factor = 2

    def go(self, x: Any) -> Any:
        return x + 1 if x > 0 else x

    @classmethod
    def make(cls) -> Any:
        return cls()


class Sub(Base):
    def go(self, x: Any) -> Any:
        y = super().go(x)
        if y > 3:
            y = y * self.factor
        return y

    @classmethod
    def make(cls) -> Any:
        made = super().make()
        made.factor = 5
        return made


def calls_super(x: Any) -> Any:
    return Sub().go(x), Sub.make().go(x)


def inner_class_with_super(x: Any) -> Any:
    class Inner(Sub):
        def go(self, x: Any) -> Any:
            return super().go(x) - 1

    return Inner().go(x)


def names_in_arms_and_loops(x: Any) -> Any:
    made: list[Any] = []
    if x > 0:

        def shift(a: Any) -> Any:
            return lambda: a + x

        class Box:
            def open(self, key: Any) -> Any:
                return key

            class Lid:
                def shut(self) -> None: ...

        made += [shift, shift(1), Box, Box.open, Box.Lid, Box.Lid.shut]
    for k in range(2):
        try:

            async def wait() -> int:
                return k

            def steps(a: Any) -> Any:
                yield a

            class Stop(Exception):
                pass

            made += [wait, steps, Stop]
            steps()  # type: ignore[call-arg]
        except TypeError as error:
            made.append(str(error))
    return [getattr(thing, "__qualname__", thing) for thing in made]


class Counted:
    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    @property
    def told(self) -> Any:
        return self.steps * 2

    def __call__(self, dt: Any) -> Any:
        self.steps += 1
        return dt


class Weighted:
    def __init__(self, weight: Any = 3.0) -> None:
        super().__init__()
        super().__setattr__("weight", weight)


class Falling(Counted, Weighted):
    def __init__(self, height: Any) -> None:
        super().__init__()
        self.height = height

    @property
    def told(self) -> Any:
        return super().told + self.height

    def __call__(self, dt: Any) -> Any:
        self.height -= self.weight * super().__call__(dt)
        return super().__repr__()[:0]


class Wrong(Weighted):
    def __init__(self) -> None:
        super(Weighted, self).__init__(1)


def built_by_super(x: Any, n: int) -> Any:
    ball = Falling(x)
    for _ in range(n):
        ball(0.5)
    return ball.told, ball.steps, ball.weight


def built_in_a_loop(x: Any, n: int) -> Any:
    total = x
    for _ in range(n):
        ball = Falling(total)
        total = ball.told + ball.weight
    return total


def wrongly_built(x: Any) -> Any:
    try:
        return Wrong()
    except TypeError as error:
        return str(error), x


CALLS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (generator_shares_a_variable, [(A([1.0, 2]),), (A([3, 4]),)]),
    (class_with_shared_variable, [(A([1.0, 2]),), (A([10.0, 10.0]),)]),
    (calls_super, [(f64(5),), (f64(1),), (f64(-5),)]),
    (inner_class_with_super, [(f64(5),), (f64(-1),)]),
    (built_by_super, [(f64(5), 3), (f64(1), 40)]),
    (built_in_a_loop, [(f64(5), 3), (f64(1), 40)]),
    (wrongly_built, [(f64(5),)]),
    (names_in_arms_and_loops, [(f64(5),), (f64(-1),)]),
]


@pytest.mark.parametrize(("f", "calls"), CALLS, ids=[f.__name__ for f, _ in CALLS])
def test_what_stays_as_written_does_what_python_does(
    f: Callable[..., Any], calls: list[tuple[Any, ...]]
) -> None:
    converted, checked = ag.convert(f), ag.function(f, check=True)
    for args in (*calls, *calls):
        assert repr(converted(*args)) == repr(f(*args))
        checked(*args)
    assert not any(record.plain for record in checked.traces)


@pytest.mark.parametrize("f", [lambda x: Sub().go(x), built_in_a_loop], ids=["method", "init"])
def test_super_is_looked_up_while_tracing(f: Callable[..., Any]) -> None:
    args = (f64(5), 3)[: f.__code__.co_argcount]
    converted = ag.function(f)
    assert converted(*args) == f(*args)
    plan = converted.get_concrete_function(*args).plan_source
    assert "super" not in plan and "Falling" not in plan
