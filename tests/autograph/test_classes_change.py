"""Classes and enumerations that change after a trace, or in it: each call sees them as they are."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import pytest

import autograph as ag


def made() -> type:
    """A class that a test may change."""

    class Box:
        def __init__(self, value: int) -> None:
            self.value = value

    return Box


def use(cls: Any, x: int) -> list[Any]:
    box = cls(x)
    box.more = x + 1
    return [box.value, box.more, "true" if box else "false", getattr(box, "missing", "none")]


def _new(cls: Any, *args: Any) -> Any:
    box = object.__new__(cls)
    box.missing = "made"
    return box


CHANGES: dict[str, Callable[..., Any]] = {
    "__setattr__": lambda box, name, value: object.__setattr__(box, name, value * 2),
    "__getattr__": lambda box, name: "made up",
    "__bool__": lambda box: False,
    "__len__": lambda box: 0,
    "__new__": _new,
    "__getattribute__": lambda box, name: 7,
    "__init__": lambda box, value: setattr(box, "value", -value),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_special_method_is_added_and_taken_away(name: str) -> None:
    plain, cls = made(), made()
    before = {cls: vars(cls).get(name) for cls in (plain, cls)}
    converted = ag.function(lambda x: use(cls, x))
    assert converted(1) == use(plain, 1)
    for one in (plain, cls):
        setattr(one, name, CHANGES[name])
    assert converted(1) == use(plain, 1)
    assert converted(2) == use(plain, 2)
    for one in (plain, cls):
        if before[one] is not None:
            setattr(one, name, before[one])
        elif name != "__new__":  # Python itself doesn't get back to how it was
            delattr(one, name)
    assert converted(1) == use(plain, 1)


def colours() -> Any:
    """An enumeration that a test may change."""

    class Colour(enum.Enum):
        RED = 1
        BLUE = 2
        LISTED = [3]

        def mark(self, x: Any) -> Any:
            self.seen = x
            return self.seen

        def total(self) -> Any:
            return self.value

    return Colour


def test_members_get_attributes_at_run_time() -> None:
    colour = colours()
    marked = ag.function(lambda member, x: (member.mark(x), getattr(member, "other", 0), member.total()))
    assert marked(colour.RED, 5) == (5, 0, 1)
    assert colour.RED.seen == 5
    assert marked(colour.RED, 6) == (6, 0, 1)
    colour.RED.other = 9
    assert marked(colour.RED, 7) == (7, 9, 1)
    assert marked(colour.BLUE, 5) == (5, 0, 2)


def test_members_that_hold_lists_are_no_constants() -> None:
    colour = colours()

    @ag.function
    def add(member: Any, x: int) -> int:
        member.value.append(x)
        return len(member.total())

    assert [add(colour.LISTED, x) for x in (1, 1, 2)] == [2, 3, 4]
    assert colour.LISTED.value == [3, 1, 1, 2]
