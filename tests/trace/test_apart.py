"""Lists of objects that are given: their items are told apart, and nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable


class Body:
    def __init__(self, x: Any, v: Any, m: Any) -> None:
        self.x, self.v, self.m = x, v, m

    def drift(self, dt: float) -> None:
        self.x = self.x + self.v * dt


class Backwards(Body):
    def drift(self, dt: float) -> None:
        self.x = self.x - self.v * dt


def made(n: int, seed: int = 0) -> list[Body]:
    r = np.random.default_rng(seed)
    return [Body(float(r.random()), float(r.random()), 1.0 + k) for k in range(n)]


def one_twice() -> list[Body]:
    a, b, c = made(3)
    return [a, b, a, c, b]


def of_arrays() -> list[Body]:
    return [Body(np.arange(3.0) + k, np.ones(3) * k, 1.0) for k in range(4)]


def pulled(bodies: Any, n: int) -> Any:
    for _ in range(n):
        for a in bodies:
            pull = 0.0
            for b in bodies:
                if b is not a:
                    d = b.x - a.x
                    pull += b.m * d / (d * d + 0.1)
            a.v = a.v + pull * 0.01
        for a in bodies:
            a.drift(0.01)
    return [b.x for b in bodies]


def led(bodies: Any, leader: Any, n: int) -> Any:
    for _ in range(n):
        leader.x += 0.5
        for a in bodies:
            a.drift(0.01)
            if a is leader:
                a.v = a.v * 0.9
    return [b.x for b in bodies], leader.x


def exchanged(bodies: Any, n: int) -> Any:
    for i in range(n):
        bodies[0], bodies[1] = bodies[1], bodies[0]
        for a in bodies:
            a.drift(0.01)
        bodies[0].x += 1
        if i == 3:
            bodies[2] = Body(1.0, 2.0, 3.0)
        if i == 5:
            bodies.append(Body(9.0, 1.0, 1.0))
    return [b.x for b in bodies]


def raised(bodies: Any, n: int) -> Any:
    for i in range(n):
        for a in bodies:
            a.drift(0.05)
            if a.x > 1.2:
                raise ValueError(i)
    return 1


def of_two_lists(some: Any, others: Any, n: int) -> Any:
    for _ in range(n):
        for b in some:
            b.x += 1.0
        for c in others:
            c.x *= 0.5
    return [b.x for b in some], [c.x for c in others]


def with_its_own() -> Any:
    bodies = made(5)
    return bodies, bodies[2]


def overlapping() -> Any:
    some = made(5)
    return some, [some[1], Body(1.0, 1.0, 1.0), some[0]]


def same_list() -> Any:
    some = made(3)
    return some, some


class Settings:
    def __init__(self) -> None:
        self.rate, self.k = 0.1, 3


class Simulation:
    def __init__(self, x: float = 1.0) -> None:
        self.settings, self.state, self.t = Settings(), Body(x, 0.5, 1.0), 0.0

    def run(self, n: int) -> Any:
        for _ in range(n):
            self.state.x = self.state.x + self.settings.rate * self.state.v
            self.t += self.settings.rate
        return self.state.x


def run(s: Any, n: int) -> Any:
    return s.run(n)


def one_state() -> Any:
    one, other = Simulation(), Simulation(2.0)
    other.state = one.state
    return one, other


def both_run(one: Any, other: Any, n: int) -> Any:
    for _ in range(n):
        one.state.x += 1.0
        other.state.x *= 0.5
    return one.state.x, other.state.x


CALLS: list[tuple[Callable[..., Any], list[Callable[[], Any]]]] = [
    (pulled, [lambda: (made(5),), lambda: (made(5, 1),), lambda: (one_twice(),), lambda: (made(5, 2),)]),
    (pulled, [lambda: (one_twice(),), lambda: (made(5),), lambda: ([Backwards(1.0, 2.0, 3.0), *made(4)],)]),
    (pulled, [lambda: (made(4),), lambda: (made(12),), lambda: (made(18),)]),
    (exchanged, [lambda: (made(4),), lambda: (one_twice(),), lambda: (made(4),), lambda: (of_arrays(),)]),
    (raised, [lambda: (made(4),), lambda: (made(4, 3),)]),
    (led, [lambda: (made(5), Body(1.0, 2.0, 3.0)), with_its_own, lambda: (made(5), Body(4.0, 2.0, 3.0))]),
    (led, [with_its_own, lambda: (made(5), Body(1.0, 2.0, 3.0)), with_its_own]),
    (of_two_lists, [lambda: (made(3), made(3)), overlapping, same_list, overlapping]),
    (run, [lambda: (Simulation(),), lambda: (Simulation(2.5),), lambda: (Simulation(),)]),
    (both_run, [lambda: (Simulation(), Simulation()), one_state, lambda: (Simulation(3.0), Simulation())]),
    (both_run, [one_state, lambda: (Simulation(), Simulation()), one_state]),
    (of_two_lists, [same_list, lambda: (made(3), made(3, 1)), same_list]),
]


def seen(f: Callable[..., Any], args: Any, n: int) -> Any:
    def shown(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return [shown(y) for y in x]
        return (type(x), shown(list(vars(x).items()))) if hasattr(x, "__dict__") else repr(x)

    try:
        found = f(*args, n)
    except ValueError as problem:
        found = str(problem)
    return shown(found), shown(args)


@pytest.mark.parametrize("executor", ["numpy", "auto"])
@pytest.mark.parametrize("k", range(len(CALLS)))
def test_nobody_can_tell(k: int, executor: str) -> None:
    f, makers = CALLS[k]
    with settings.override(executor=executor):
        converted = ag.function(f)
        for n in (20, 0, 20, 61):
            for make in makers:
                assert seen(converted, make(), n) == seen(f, make(), n), n


@pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
def test_loops_over_them_are_native() -> None:
    with settings.override(executor="auto"):
        converted = ag.function(pulled)
        for k in range(5):
            converted(made(5, k), 20)
    native = converted.traces[-1].concrete.native
    assert native is not None and native.parts, ag.explain(converted)
