"""`match`: plain matching is Python's own, and traced matching decides what Python decides."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from tests.autograph.beside import beside


@dataclasses.dataclass
class Circle:
    r: Any


@dataclasses.dataclass
class Box:
    w: Any
    h: Any


Pair = collections.namedtuple("Pair", "left right")


def shapes(shape: Any, limit: Any) -> Any:
    match shape:
        case Circle(r=r) if r > limit:
            return limit * limit * 3.0
        case Circle(r):
            return r * r * 3.0
        case Box(w=0, h=_):
            return "flat"
        case Box(w, h=h) as box:
            return w * h, box.w
        case Pair(left, right=(a, *rest)):
            return left, a, rest
        case {"area": a, **others}:
            return a, others
        case {"x": x}:
            return x
        case []:
            return "empty"
        case [x, *rest, y]:
            return x, rest, y
        case (1 | 2 | 3) as few:
            return few, "few"
        case np.float64() | int():
            return "number"
        case str(text):
            return text * 2
        case None | True:
            return "single"
    return "none of these"


def digits(n: Any, v: Any) -> Any:
    total = 0
    for e in v:
        match e:
            case 0 | 1:
                total += 10
            case 2:
                total += 100
                continue
            case k if k > n:
                break
            case _:
                total -= k
        total += 1
    else:
        total *= 1000
    return total


f64, A = np.float64, np.array
CALLS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (shapes, [(Circle(f64(5)), f64(2)), (Circle(f64(1)), f64(2)), (Circle(f64(9)), f64(9))]),
    (shapes, [(Box(0, f64(1)), 1), (Box(f64(2), f64(3)), 1), (Box(f64(0), f64(3)), 1)]),
    (shapes, [(Pair(f64(1), (f64(2), 3, 4)), 0), (Pair(1, []), 0), (Pair(1, [2]), 0)]),
    (shapes, [({"area": f64(7), "b": 2}, 0), ({"x": f64(1)}, 0), ({}, 0)]),
    (shapes, [([], 0), ((), 0), ([1], 0), ([f64(1), 2, 3], 0), ((1, 2), 0)]),
    (shapes, [(1, 0), (3, 0), (4, 0), (np.int64(2), 0), (np.int64(9), 0), (f64(2.5), 0), (f64(2), 0)]),
    (shapes, [("ab", 0), (None, 0), (True, 0), (False, 0), (b"x", 0), ({1, 2}, 0)]),
    (digits, [(4, A([1, 2, 3, 1, 0, 2, 9, 1])), (4, A([1, 2])), (0, A([], dtype=int)), (3, [1, 2, 3, 4])]),
]


@pytest.mark.parametrize(("f", "calls"), CALLS, ids=[f"{f.__name__}-{i}" for i, (f, _) in enumerate(CALLS)])
def test_match_does_what_python_does(f: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    converted, checked = ag.convert(f), ag.function(f, check=True)
    for args in (*calls, *calls):
        assert repr(converted(*args)) == repr(f(*args))
        checked(*args)
    assert not any(record.plain for record in checked.traces)


def test_staged_match_on_a_number_stays_in_the_graph() -> None:
    record = ag.function(digits).get_concrete_function(4, A([1, 2, 3]))
    assert "plain_match" not in record.plan_source


def too_many(x: Any) -> Any:
    match x:
        case Circle(a, b):
            return a, b


def test_errors_are_pythons() -> None:
    with pytest.raises(TypeError) as plain:
        too_many(Circle(1))
    with pytest.raises(TypeError) as converted:
        ag.convert(too_many)(Circle(1))
    assert str(converted.value) == str(plain.value)
    with pytest.raises(TypeError, match="accepts 1 positional sub-pattern"):
        ag.function(too_many)(Circle(1))


# ------------------------------------------------------------------ what is read, in which order, how often
class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x: Any, y: Any) -> None:
        self.at = x, y

    @property
    def x(self) -> Any:
        print("x is read")
        return self.at[0]

    @property
    def y(self) -> Any:
        print("y is read")
        return self.at[1]


class Row(collections.abc.Sequence):
    """Says what is read; its items come in another order when it is gone over."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        print("length")
        return len(self.items)

    def __getitem__(self, at: Any) -> Any:
        print("item", at)
        return self.items[at]

    def __iter__(self) -> Any:
        print("all items")
        return iter(self.items[::-1])


class Table(collections.abc.Mapping):
    def __init__(self, **items: Any) -> None:
        self.items_ = items

    def __len__(self) -> int:
        print("length")
        return len(self.items_)

    def __getitem__(self, key: Any) -> Any:
        print("item", key)
        return self.items_[key]

    def __iter__(self) -> Any:
        return iter(self.items_)


class Names:
    a = "a"


class NoTuple:
    __match_args__ = ["x"]


class NoText:
    __match_args__ = (1,)


def attributes_are_read_once(a: Any) -> Any:
    match Point(a, 2):
        case Point(x=1, y=3):
            return "neither"
        case Point(x, y=2):
            return x
    return None


def attributes_are_read_before_patterns(a: Any) -> Any:
    match Point(a, 2):
        case Point(5, 3):
            return 0
        case Point(3, y):
            return y
    return None


def attribute_raises(a: Any) -> Any:
    class Raising:
        @property
        def gone(self) -> Any:
            print("asked")
            raise AttributeError("gone")

    match Raising():
        case Raising(gone=1):
            return 1
        case Raising():
            return a
    return None


def items_are_gone_over(a: Any) -> Any:
    match Row(a, 2, 4):
        case [_, _]:
            return 0
        case [1, _, _]:
            return 1
        case [x, *rest]:
            return x, rest
    return None


def items_are_picked(a: Any) -> Any:
    match Row(a, 2, 4):
        case [_, *_, 5]:
            return 0
        case [x, _, *_, y]:
            return x, y
    return None


def keys_are_looked_up_first(a: Any) -> Any:
    match Table(a=a, b=2):
        case {"a": 7, "b": _}:
            return 0
        case {"a": _, "b": _, "c": _}:
            return 1
        case {"a": x, **rest}:
            return x, rest
    return None


def one_key_twice(a: Any) -> Any:
    match {"a": a, "b": 2}:
        case {"a": 1, Names.a: 2}:
            return a
    return None


def names_that_nobody_comes_to(a: Any) -> Any:
    match (a, 1):
        case ("other", Names.missing):
            return 0
        case {Names.missing: 1} | [_, _, Names.missing()]:
            return 1
        case (3 | 1, 1) | (Names.missing, 2):
            return 2
    return None


def errors_of_class_patterns(a: Any) -> Any:
    made: list[Any] = []
    for cls, x in ((NoTuple, NoTuple()), (NoText, NoText()), (Names, Names()), (len, a)):
        try:
            match x:
                case cls(1):
                    made.append(x)
        except TypeError as error:
            made.append(str(error))
    try:
        match a:
            case int(_, _) | float(_, _):
                made.append(a)
    except TypeError as error:
        made.append(str(error))
    try:
        match Point(a, 2):
            case Point(_, x=2):
                made.append(a)
    except TypeError as error:
        made.append(str(error))
    return made


@pytest.mark.parametrize(
    "program",
    [
        attributes_are_read_once,
        attributes_are_read_before_patterns,
        attribute_raises,
        items_are_gone_over,
        items_are_picked,
        keys_are_looked_up_first,
        one_key_twice,
        names_that_nobody_comes_to,
        errors_of_class_patterns,
    ],
)
def test_reads_what_python_reads(program: Callable[..., Any]) -> None:
    beside(program)
