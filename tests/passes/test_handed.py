"""Objects that loops and branches exchange for new ones: nobody can tell, and in loops they are values."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.ir.graph import Graph
from runtime.ir.walk import walk_nodes

EXECUTORS = ("numpy", "auto")


class Spot:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def step(self, dt: float) -> Spot:
        return Spot(self.x + dt * self.y, self.y - dt * self.x)

    def __add__(self, other: Spot) -> Spot:
        return Spot(self.x + other.x, self.y + other.y)


class Taller(Spot):
    def step(self, dt: float) -> Spot:
        return Taller(self.x + 1, self.y + dt)


@dataclass
class Data:
    x: float
    y: float = 0.5
    n: int = 0
    noted: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.x > 1e5:
            raise ValueError("too far")


class Doubled:
    def __init__(self, x: float) -> None:
        self._x = x

    @property
    def x(self) -> float:
        return self._x * 2


class Loud:
    def __init__(self, x: float) -> None:
        self.x = x

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value + 1)


def stepped(s: Any, n: int) -> Any:
    for _ in range(n):
        s = s.step(0.01)
    return s


def made_inside(s: Any, n: int) -> Any:
    t = Spot(1.0, 0.5)
    for _ in range(n):
        t = t.step(0.01)
    return t.x, t.y


def same_without_trips(s: Any, n: int) -> Any:
    t = s
    for _ in range(n):
        t = Spot(t.x + 1, t.y)
    return t is s, t.x


def two_at_once(s: Any, n: int) -> Any:
    before, now = Spot(0.0, 1.0), Spot(1.0, 1.0)
    for _ in range(n):
        before, now = now, Spot((before.x + now.x) % 1000.0, now.y + 1)
    return before.x, now.x, before.y


def the_first_is_written(s: Any, n: int) -> Any:
    first = now = Spot(1.0, 2.0)
    for _ in range(n):
        now = Spot(now.x + 1, now.y)
        first.x += 0.5
    return first.x, now.x, first is now


def each_is_written(s: Any, n: int) -> Any:
    first = now = Spot(1.0, 2.0)
    for i in range(n):
        now.x += 1.0
        if i % 3 == 0:
            now = Spot(now.x * 0.5, first.x)
    return first.x, first.y, now.x, now.y


def largest(s: Any, n: int) -> Any:
    best = Spot(-1.0, 0)
    for i in range(n):
        one = Spot((i * 7 % 11) * 0.5, i)
        if one.x > best.x:
            best = one
    return best.x, best.y


def kept_all(s: Any, n: int) -> Any:
    found = []
    for _ in range(n):
        s = Spot(s.x + 1, s.y)
        found.append(s)
    return [one.x for one in found], found[-1:] == [s], s


def until(s: Any, n: int) -> Any:
    while s.x < n:
        s = Spot(s.x + 1.5, s.y + 1)
    return s


def broken_off(s: Any, n: int) -> Any:
    for k in range(100):
        s = Spot(s.x + k, s.y)
        if s.x > n:
            break
    return s.x, s.y


def of_branches(s: Any, n: int) -> Any:
    t = s if n > 3 else Spot(3.0, 4.0)
    for _ in range(n):
        t = Spot(t.x + t.y, t.y)
    return t.x, t is s


def written_in_branches(s: Any, n: int) -> Any:
    now = Spot(1.0, 0.0)
    for _ in range(n):
        new = Spot(now.x + 1, now.y)
        if new.x > 5:
            new.x = 0.0
        now = new
    return now.x, now.y


def inner_loops(s: Any, n: int) -> Any:
    now = Spot(1.0, 0.0)
    for _ in range(n):
        new = Spot(now.x, 0.0)
        for _ in range(3):
            new = Spot(new.x + 0.1, new.y + 1)
        now = Spot(new.x * 0.5, now.y + new.y)
    return now.x, now.y


def arrays(s: Any, n: int) -> Any:
    now = Spot(np.zeros(3), np.ones(3))
    for _ in range(n):
        now = Spot(now.x + 0.1 * now.y, now.y * 0.99)
    return now.x, now.y


def in_another(s: Any, n: int) -> Any:
    pair = Spot(Spot(1.0, 0.0), Spot(2.0, 0.0))
    for _ in range(n):
        pair = Spot(pair.y, pair.x)
    return pair.x.x, pair.y.x


def one_twice(s: Any, n: int) -> Any:
    one = Spot(1.0, 2.0)
    pair = Spot(one, one)
    for _ in range(n):
        pair = Spot(pair.x + pair.y, pair.y)
    return pair.x.x, pair.y.x, pair.x is pair.y


def a_field_is_exchanged(s: Any, n: int) -> Any:
    ball = Spot(Spot(0.0, 1.0), Spot(1.0, -0.5))
    for _ in range(n):
        ball.x = ball.x + ball.y
        if ball.x.y < 0:
            ball.y = Spot(ball.y.x, -ball.y.y)
    return ball.x.x, ball.x.y, ball.y.y, ball


def handed_to_another(s: Any, n: int) -> Any:
    s = Spot(s, 1.0)
    last = Spot(Spot(0.0, 0.0), 1.0)
    for _ in range(n):
        last = Spot(s.x, last.y + 1)
        s = Spot(s.x, s.y)
    return last.x.x, last.y


def by_two_names(s: Any, n: int) -> Any:
    p, q = Spot(1.0, 0.5), Spot(2.0, 3.0)
    for _ in range(n):
        p = q = Spot(q.x + 1, p.y)
    return p is q, p, q


def written_after_it_is_kept(s: Any, n: int) -> Any:
    first, kept = Spot(1.0, 2.0), []
    kept.append(first)
    now = first
    for _ in range(n):
        now = Spot(now.x + 1, now.y)
    first.x = 7.0
    return now.x, kept[0].x


class Writing:
    """A property writes to another object."""

    def __init__(self, other: Any) -> None:
        self.other = other

    @property
    def it(self) -> Any:
        exec("self.other.x += 1.0")
        return 1.0


def written_by_a_property(s: Any, n: int) -> Any:
    now, writing, total = s, Writing(s), 0.0
    for i in range(n):
        total += now.x + writing.it
        if i > 2:
            now = Spot(now.x + 1, now.y)
    return now.x, total


def two_carries_of_one(s: Any, n: int) -> Any:
    p = q = Spot(1.0, 0.5)
    for i in range(n):
        p.x += 1.0
        if i % 2:
            p = Spot(q.x, p.y)
        q = q if i < 3 else s
    return p.x, q.x, p is q


def linked(s: Any, n: int) -> Any:
    s, k = Spot(0.0, None), 0
    for _ in range(n):
        s = Spot(s.x + 1, s)
    while s is not None:
        s, k = s.y, k + 1
    return k


def of_data(s: Any, n: int) -> Any:
    d = Data(1.0)
    for _ in range(n):
        d = Data(d.x * 2, d.y + d.x, d.n + 1)
    return d, d.n


def raised(s: Any, n: int) -> Any:
    d = Data(1.0)
    try:
        for _ in range(n):
            d = Data(d.x * 2)
    except ValueError as problem:
        return d.x, str(problem)
    return d


def with_a_property(s: Any, n: int) -> Any:
    d = Doubled(1.0)
    for _ in range(n):
        d = Doubled(d.x * 0.3)
    return d.x


def with_a_loud_class(s: Any, n: int) -> Any:
    d = Loud(1.0)
    for _ in range(n):
        d = Loud(d.x * 0.3)
    return d.x


def more_later(s: Any, n: int) -> Any:
    t = Spot(1.0, 0.0)
    for _ in range(n):
        t = Spot(t.x + 1, t.y)
    t.z = 3  # type: ignore[attr-defined]
    return t, vars(t)


def lists_of_one_name(s: Any, n: int) -> Any:
    first = now = [1.0, 2.0]
    found = 0.0
    for i in range(n):
        now[0] = 5.0 + i
        first[0] = 9.0 + i
        found += now[0]
        now = [0.0, 0.0]
    return found


def holding_itself(s: Any, n: int) -> Any:
    now = Spot(1.0, None)
    for _ in range(n):
        now = Spot(now.x + 1, now.y)
        now.y = Spot(2.0, now)
    return now.x, now.y is None or now.y.y is now


GONE = [
    made_inside,
    two_at_once,
    largest,
    written_in_branches,
    inner_loops,
    arrays,
    in_another,
    until,
    broken_off,
]
ALL = [
    *GONE,
    stepped,
    same_without_trips,
    the_first_is_written,
    each_is_written,
    kept_all,
    of_branches,
    one_twice,
]
ALL += [a_field_is_exchanged, handed_to_another, linked, of_data, raised, with_a_property, with_a_loud_class]
ALL += [more_later, lists_of_one_name, by_two_names, written_after_it_is_kept, written_by_a_property]
ALL += [two_carries_of_one, holding_itself]


def seen(f: Callable[..., Any], make: Callable[[], Any], n: int) -> Any:
    """What a call gives or raises, and leaves of its argument: values, types, which objects are the same."""
    known: dict[int, int] = {}

    def shown(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return type(x), [shown(y) for y in x]
        if isinstance(x, dict):
            return [(k, shown(v)) for k, v in x.items()]
        if type(x).__module__ == __name__:
            if id(x) in known:
                return known[id(x)]
            known[id(x)] = len(known)
            return type(x), shown(vars(x))
        return (x.dtype, repr(x.tolist())) if isinstance(x, np.ndarray) else (type(x), repr(x))

    s = make()
    try:
        return shown((f(s, n), s))
    except Exception as problem:
        return type(problem), str(problem), shown(s)


def reads(graph: Graph) -> int:
    """How many fields of objects are read, and objects made, in loops."""
    inner = [
        n for loop in graph.nodes if loop.op in ("while", "for") for r in loop.regions for n in walk_nodes(r)
    ]
    return sum(
        n.op == "py.setattr" or (n.op == "py.getattr" and "Spot" in str(n.inputs[0].type)) for n in inner
    )


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_nobody_can_tell(f: Callable[..., Any], executor: str) -> None:
    makers = (lambda: Spot(1.0, 0.5), lambda: Spot(2.0, 1), lambda: Taller(1.0, 0.5))
    with settings.override(executor=executor):
        converted = ag.function(f)
        for n in (20, 0, 1, np.int64(7), 20):
            for make in makers:
                assert seen(converted, make, n) == seen(f, make, n), (n, make)


def method_of_its_own() -> Any:
    s = Spot(1.0, 0.5)
    s.step = lambda dt: Spot(9.0, 9.0)  # type: ignore[method-assign]
    return s


def test_methods_of_objects_from_outside() -> None:
    converted = ag.function(stepped)
    for make in (lambda: Spot(1.0, 0.5), method_of_its_own, lambda: Spot(1.0, 0.5)):
        for n in (20, 1, 20):
            found, wanted = converted(make(), n), stepped(make(), n)
            assert (found.x, found.y) == (wanted.x, wanted.y)


@pytest.mark.parametrize("f", GONE, ids=lambda f: f.__name__)
def test_loops_carry_values(f: Callable[..., Any]) -> None:
    concrete = ag.function(f).get_concrete_function(Spot(1.0, 0.5), np.int64(40))
    assert reads(concrete.passes.graph) == 0, concrete.passes.graph


# ------------------------------------------------------------------------------------- random programs
class Writer:
    """Writes functions of `s` and `n` that make, exchange and write to objects."""

    NAMES = ("p", "q", "r")

    def __init__(self, seed: int) -> None:
        self.random, self.lines = random.Random(seed), list[str]()

    def number(self) -> str:
        pick = self.random.choice
        read = f"{pick(self.NAMES)}.{pick('xy')}"
        return pick(
            (read, f"{read} + 1.0", f"{read} * 0.5", f"{read} - {pick(self.NAMES)}.x", "0.25", "n * 1.0")
        )

    def object(self) -> str:
        pick = self.random.choice
        new = f"Spot({self.number()}, {self.number()})"
        return pick((new, new, new, pick(self.NAMES), f"{pick(self.NAMES)}.step(0.5)"))

    def block(self, depth: int, indent: str) -> None:
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.2 and depth:
                self.lines.append(f"{indent}for i in range({self.random.choice(('n', '3', '20'))}):")
                self.block(depth - 1, indent + "    ")
            elif kind < 0.4 and depth:
                self.lines.append(f"{indent}if {self.number()} > {self.number()}:")
                self.block(depth - 1, indent + "    ")
                if self.random.random() < 0.5:
                    self.lines.append(f"{indent}else:")
                    self.block(depth - 1, indent + "    ")
            elif kind < 0.55:
                self.lines.append(f"{indent}{self.random.choice(self.NAMES)}.x = {self.number()}")
            elif kind < 0.6:
                self.lines.append(f"{indent}kept.append({self.random.choice(self.NAMES)})")
            else:
                self.lines.append(f"{indent}{self.random.choice(self.NAMES)} = {self.object()}")

    def function(self) -> Callable[..., Any]:
        start = self.random.choice(("s", "Spot(2.0, 3.0)"))
        self.lines = ["def f(s, n):", f"    kept, p, q, r = [], Spot(1.0, 0.5), {start}, Spot(0.0, 0.0)"]
        self.block(3, "    ")
        self.lines.append("    for i in range(n):")
        self.block(2, "        ")
        ends = ("p, q, r, kept", "p.x, q.y, r.x", "q, p.x", "p is q, q is r, q is s, kept", "p.x + q.x, r")
        self.lines.append(f"    return {self.random.choice(ends)}")
        space: dict[str, Any] = {"Spot": Spot, "__name__": __name__}
        text = "\n".join(self.lines)
        path = f"<random objects {hash(text)}>"
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
        exec(compile(text, path, "exec"), space)
        made: Callable[..., Any] = space["f"]
        return made


@pytest.mark.parametrize("seed", [*range(40), 339, 716])
def test_random_programs(seed: int) -> None:
    writer = Writer(seed)
    f = writer.function()
    converted = ag.function(f)
    for n in (2, 0, 20, np.int64(3), 2):
        with np.errstate(all="ignore"):
            assert seen(converted, lambda: Spot(1.0, 0.5), n) == seen(f, lambda: Spot(1.0, 0.5), n), (
                n,
                "\n".join(writer.lines),
            )
