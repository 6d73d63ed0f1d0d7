"""`match`: plain matching is Python's own, and traced matching decides what Python decides."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag


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
