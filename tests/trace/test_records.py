"""Dataclasses and named tuples: what their generated methods do is done by the trace, as Python does it."""

from __future__ import annotations

import collections
import dataclasses
import enum
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings


@dataclass
class Mixed:
    x: float
    k: ClassVar[int] = 3
    n: int = field(init=False, default=7)
    noted: list[int] = field(init=False, default_factory=list)
    z: float = field(default=2.0, kw_only=True)


@dataclass(frozen=True)
class Frozen:
    x: float = 1.0
    n: int = 0

    def moved(self, by: float) -> Frozen:
        return dataclasses.replace(self, x=self.x + by)

    @property
    def energy(self) -> float:
        return 0.5 * self.x * self.x


@dataclass(frozen=True)
class Checked(Frozen):
    y: float = 2.0
    total: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        if self.y > 1e3:
            raise ValueError("y")
        object.__setattr__(self, "total", self.x + self.y)


class Derived(Checked):
    pass


@dataclass
class Scaled:
    x: float
    k: InitVar[float] = 2.0
    d: dict[str, float] = field(default_factory=dict)

    def __post_init__(self, k: float) -> None:
        self.x *= k
        self.d["k"] = k


@dataclass(frozen=True, slots=True)
class Slots:
    x: float
    y: float = 1.0


@dataclass(order=True, frozen=True)
class Ordered:
    a: int
    b: int = 0


class Pair(NamedTuple):
    a: Any
    b: Any

    def step(self) -> Pair:
        return self._replace(a=self.a + self.b)


@dataclass(init=False)
class Other(Mixed):
    more: float = 5.0

    def __post_init__(self) -> None:  # nobody calls it: the `__init__` is that of `Mixed`
        self.x = -1.0


Plain = collections.namedtuple("Plain", "a b")


def mixed(s: Any, n: int) -> Any:
    m = Mixed(1.0, z=3.0)
    for i in range(n):
        m = Mixed(m.x + m.z, z=m.z * 0.5)
        m.noted.append(i)
    return m, vars(m), m.n, m.k


def replaced(s: Any, n: int) -> Any:
    m = Mixed(1.0)
    for _ in range(n):
        m = dataclasses.replace(m, x=m.x + 1)
    return m, vars(m)


def inherited(s: Any, n: int) -> Any:
    m = Other(1.0)
    for _ in range(n):
        m = Other(m.x + m.more)
    return m, vars(m)


def refused(s: Any, n: int) -> Any:
    found = []
    for change in ({"n": 3}, {"nothing": 3}):
        try:
            dataclasses.replace(Mixed(1.0), **change)
        except (TypeError, ValueError) as problem:
            found.append(str(problem))
    return found


def moved(s: Any, n: int) -> Any:
    for _ in range(n):
        s = s.moved(0.5)
    return s, s.energy, type(s).__name__


def made_inside(s: Any, n: int) -> Any:
    f = Frozen(2.0)
    for _ in range(n):
        f = Frozen(f.x * 1.25, f.n + 1)
    return f.x, f.n, f.energy


def checked(s: Any, n: int) -> Any:
    c = Checked(1.0, 0, 2.0)
    for _ in range(n):
        c = Checked(c.x + c.total, c.n, c.y * 2)
    return c


def written(s: Any, n: int) -> Any:
    f = Frozen()
    try:
        for i in range(n):
            f = Frozen(f.x + 1, f.n)
            if i == 3:
                f.x = 5.0  # type: ignore[misc]
    except dataclasses.FrozenInstanceError as problem:
        return str(problem), f.x
    return f


def written_all_the_same(s: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        total += s.x * s.y
        if i % 5 == 0:
            object.__setattr__(s, "y", s.y * 0.5)
    return total, s


def scaled(s: Any, n: int) -> Any:
    c = Scaled(1.0)
    for i in range(n):
        c = Scaled(c.x, 0.5 + i)
    return c


def slots(s: Any, n: int) -> Any:
    c = Slots(1.0)
    for _ in range(n):
        c = dataclasses.replace(c, x=c.x + c.y)
    return c


def ordered(s: Any, n: int) -> Any:
    best = Ordered(0, 0)
    for i in range(n):
        one = Ordered(i * 7 % 11, i)
        if one > best:
            best = one
    return best, hash(best) == hash(Ordered(best.a, best.b))


def pairs(s: Any, n: int) -> Any:
    p, q = Pair(1.0, 0.5), Plain._make([1, 2])
    for _ in range(n):
        p, q = p.step(), Plain(q.b, q.a + q.b)
        q = q._replace(a=q.a % 1000, b=q.b % 1000)
    try:
        q._replace(c=3)
    except (TypeError, ValueError) as problem:
        return p, q, q._asdict(), str(problem)
    return None


PROGRAMS = (mixed, replaced, refused, moved, made_inside, checked, written, written_all_the_same, scaled)
PROGRAMS += (slots, ordered, pairs, inherited)  # type: ignore[assignment]


def seen(f: Callable[..., Any], make: Callable[[], Any], n: int) -> Any:
    def shown(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return type(x), [shown(y) for y in x]
        if isinstance(x, dict):
            return [(k, shown(v)) for k, v in x.items()]
        if type(x).__module__ == __name__ and hasattr(x, "__dict__"):
            return type(x), shown(vars(x))
        return type(x), repr(x)

    s = make()
    try:
        return shown((f(s, n), s))
    except Exception as problem:
        return type(problem), str(problem), shown(s)


@pytest.mark.parametrize("executor", ["numpy", "auto"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_nobody_can_tell(f: Callable[..., Any], executor: str) -> None:
    with settings.override(executor=executor):
        converted = ag.function(f)
        for n in (5, 0, 1, np.int64(7), 30):
            for make in (lambda: Checked(1.0, 0, 3.0), lambda: Derived(2.0, 1, 1)):
                assert seen(converted, make, n) == seen(f, make, n), (n, make)


class Turn(enum.Enum):
    LEFT = "l"
    RIGHT = "r"

    @property
    def other(self) -> Turn:
        members = list(Turn)
        return members[(members.index(self) + 1) % 2]


class Walker:
    def __init__(self) -> None:
        self.turn, self.steps = Turn.LEFT, 0

    def walk(self) -> None:
        self.steps += 1
        self.turn = self.turn.other


def test_a_method_that_is_looked_up_at_run_time_may_have_any_name() -> None:
    def walked(n: int) -> tuple[Turn, int]:
        walker = Walker()
        for _ in range(n):
            walker.walk()
        return walker.turn, walker.steps

    f = ag.function(walked)
    assert f(9) == walked(9)
    told = str(ag.explain(f))
    assert "TensorBoolError" not in told and "__name__" not in told


class Log:
    def __init__(self) -> None:
        self.seen: list[float] = []
        self.scale = 1.0


def _changing_defaults(convert: Callable[[Any], Any]) -> list[Any]:
    """What functions give that make records, while the defaults of these are changed."""

    class Named(NamedTuple):
        x: float
        log: Any = Log()
        held: Any = np.arange(3.0)
        names: Any = [0]
        n: int = 2

    @dataclass
    class Held:
        x: float
        log: Any = Named._field_defaults["log"]
        n: int = field(default=2, kw_only=True)

    def named(x: float) -> Any:
        one = Named(x)
        one.held[0] += 1
        one.names.append(x)
        one.log.seen.append(x)
        two = Named(x, n=4)
        total = one.held.sum() + two.log.scale + one.n
        return (
            total,
            one.held.copy().tolist(),
            list(two.names),
            one.log.seen[:],
            two._replace(x=1.0).held.mean(),
        )

    def held(x: float) -> Any:
        one = Held(x)
        one.log.seen.append(x)
        return one.x * one.log.scale + one.n, list(one.log.seen)

    named, held = convert(named), convert(held)
    found = [f(x) for x in (1.0, 2.0, np.float64(2.0)) for f in (named, held)]
    Named._field_defaults["log"].scale = 5.0
    found += [named(2.0), held(2.0)]
    Named.__new__.__defaults__ = (Log(), np.ones(2), [], 7)
    Held.__init__.__defaults__ = (Log(),)
    Held.__init__.__kwdefaults__["n"] = 9
    found += [named(2.0), held(2.0), named(2.0), held(2.0)]
    make = Named.__new__
    Named.__new__ = lambda cls, x, n=1: make(cls, x + 1, n=n)  # type: ignore[assignment,misc]
    return [*found, named(2.0)]


@pytest.mark.parametrize("executor", ["numpy", "auto", "native"])
def test_defaults_of_fields_are_what_they_are_at_the_call(executor: str) -> None:
    """Those of named tuples were worked with while the trace was made, and both kinds taken for constants."""
    with settings.override(executor=executor):
        assert _changing_defaults(ag.function) == _changing_defaults(lambda f: f)


def _asked_for_defaults(convert: Callable[[Any], Any]) -> list[Any]:
    class Named(NamedTuple):
        x: float
        names: Any = [0]

    def noted(x: float) -> Any:
        Named._field_defaults["names"].append(x)
        one = Named(x)
        getattr(one, "_field_defaults")["names"].append(1)
        same = Named._field_defaults["names"] is one.names, one._field_defaults is Named._field_defaults
        return len(one.names), same, Named._field_defaults

    noted = convert(noted)
    found = [noted(x) for x in (1.0, 2.0, 3.0)]
    return [*found, *[held is Named._field_defaults for _, _, held in found]]


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_the_dict_of_defaults_is_no_constant(executor: str) -> None:
    """It was taken for one, and written to while the trace was made."""
    with settings.override(executor=executor):
        assert _asked_for_defaults(ag.function) == _asked_for_defaults(lambda f: f)


class Registry(type):
    known: ClassVar[list[str]] = []

    def __len__(cls) -> int:
        return len(cls.known)


def test_the_truth_of_a_class_is_what_its_class_says() -> None:
    """It was taken to be true, whatever the metaclass has for it."""

    class Kinds(metaclass=Registry):
        pass

    def chosen(x: float) -> Any:
        return Kinds or x, not Kinds, 1 if Kinds else 2, 3 if float else 4, np and x, chosen and x

    converted = ag.function(chosen)
    for known in ([], ["a"], []):
        Registry.known[:] = known
        for x in (1.0, 2.0):
            with settings.override(executor="numpy"):
                assert converted(x) == chosen(x)
