"""Classes of data against those that `dataclasses` makes: the same class body, the same questions."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from runtime.dataclass import dataclass

NAN = float("nan")


def made(decorator: Any, **options: Any) -> tuple[type, type]:
    """Two classes, the second inherits from the first."""

    class Point:
        x: Any
        y: Any = 2
        seen: list[Any] = dataclasses.field(default_factory=list, compare=False)
        label: str = dataclasses.field(default="p", repr=False)

    point = decorator(**options)(Point)

    class Named(point):  # type: ignore[misc]
        name: Any = dataclasses.field(default=None, kw_only=True)
        made: Any = dataclasses.field(default_factory=dict, init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "tail", self.name)

    return point, decorator(**options)(Named)


def outcome(ask: Callable[[], Any]) -> Any:
    """What a question gives: a value as text, or the error."""
    try:
        return repr(ask())
    except Exception as error:
        return type(error), str(error)


def asked(decorator: Any, **options: Any) -> list[Any]:
    """The answers to many questions."""
    point, named = made(decorator, **options)
    a, b, c = point(1), point(1, 2, [3]), named(1, name="n")
    questions: list[Callable[[], Any]] = [
        lambda: point(),
        lambda: point(1, 2, 3, 4, 5),
        lambda: named(1, 2, 3, 4, "n"),
        lambda: (a, b, c, c.tail, c.made),
        lambda: (a == b, a == point(2), a == 1, a == named(1), c == named(1, name="n")),
        lambda: hash(a) == hash(b),
        lambda: {a: 1}[b],
        lambda: dataclasses.replace(a, x=5),
        lambda: dataclasses.replace(c, name=5),
        lambda: dataclasses.replace(c, made=5),
        lambda: [f.name for f in dataclasses.fields(named)],
        lambda: setattr(a, "x", 3),
        lambda: (setattr(copy.copy(a), "x", 3), setattr(copy.copy(a), "other", 3)),
        lambda: delattr(copy.copy(a), "x"),
        lambda: (setattr(type("Sub", (point,), {})(1), "other", 3), point.y, point(1).seen is a.seen),
        lambda: copy.deepcopy(c),
        lambda: point.__match_args__,
        lambda: named.__match_args__,
    ]
    return [outcome(ask) for ask in questions]


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("eq", [False, True])
def test_instances_do_what_those_of_dataclasses_do(eq: bool, frozen: bool) -> None:
    assert asked(dataclass, eq=eq, frozen=frozen) == asked(dataclasses.dataclass, eq=eq, frozen=frozen)


def test_keywords_only() -> None:
    found = [made(one, kw_only=True, frozen=True)[0] for one in (dataclass, dataclasses.dataclass)]
    for arguments, named in (((1,), {}), ((), {"x": 1}), ((), {"y": 1}), ((), {"x": 1, "y": 3, "z": 1})):
        first, second = (outcome(lambda point=point: point(*arguments, **named)) for point in found)
        assert first == second


@dataclass(frozen=True)
class Own:
    """A class with comparison, hash and text of its own."""

    x: int
    circle: list[Any] = dataclasses.field(default_factory=list, compare=False)

    def __hash__(self) -> int:
        return 7


@dataclass
class Nothing:
    """A class without fields."""


def test_what_the_class_has_stays() -> None:
    one = Own(1)
    one.circle.append(one)
    assert hash(one) == 7 and repr(one) == "Own(x=1, circle=[...])"
    assert pickle.loads(pickle.dumps(Own(3))) == Own(3)
    assert Nothing() == Nothing() and Own(NAN) == Own(NAN)  # type: ignore[arg-type]  # as before Python 3.13
    assert repr(Nothing()) == "Nothing()"


def test_fields_keep_their_annotations() -> None:
    class Told:
        """What stands in annotations says what is a field."""

        here: list[int]
        count: ClassVar[int] = 3
        there: str = "a"

    class Plain:
        one: list[int]
        two: str = "a"

    for cls, names in ((Told, ["here", "there"]), (Plain, ["one", "two"])):
        before = dict(cls.__annotations__)
        made = dataclass(cls)
        assert [(f.name, f.type) for f in dataclasses.fields(made)] == [(n, before[n]) for n in names]  # type: ignore[arg-type]
        assert made.__annotations__ == before


def test_init_is_made_when_it_is_needed():
    @dataclass(frozen=True)
    class Base:
        """A class."""

        x: int
        y: int = 2

    class Other(Base):
        """One with an `__init__` of its own."""

        def __init__(self, z):
            super().__init__(z, y=5)

    first = Base.__init__
    assert str(inspect.signature(Other)) == "(z)"
    assert str(inspect.signature(Base)).startswith("(x, y=2)")
    assert Base.__init__ is not first
    assert (Other(1).x, Other(1).y, Base(3)) == (1, 5, Base(3, 2))
    with pytest.raises(TypeError, match=r"Base.__init__\(\) missing 1 required positional argument: 'x'"):
        Base()
