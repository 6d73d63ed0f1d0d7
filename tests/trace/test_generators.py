"""Generators that are listed at once are loops of the graph, and do what Python's do."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag


def shifted(s: Any) -> Any:
    return "".join(chr(ord(c) + 1) if c.isalpha() else c for c in s)


def positive(x: Any) -> Any:
    return list(v * 2 for v in x if v > 0)


def in_order(x: Any) -> Any:
    return sorted((-v for v in x), key=abs), sorted(v * v for v in x), tuple(v + 1 for v in x)


def paired(x: Any, y: Any) -> Any:
    return ",".join(str(a + b) for a, b in zip(x, y, strict=True))


def late(x: Any) -> Any:
    g = (v for v in x)
    x.append(9)
    return list(g)


def nested(x: Any) -> Any:
    return list(a * b for a in x for b in range(3))


def no_text(x: Any) -> Any:
    return "-".join(v for v in x)


def begun(x: Any) -> Any:
    g = (v for v in x)
    a = next(g)
    return a, list(g)


def divided(x: Any) -> Any:
    return tuple(1 // v for v in x)


def twice(x: Any) -> Any:
    g = (v for v in x)
    return list(g), list(g)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (shifted, ("Hello w",)), (positive, ([1, -2, 3],)), (positive, (np.array([1.0, -1.0]),)),
    (in_order, ([1, -5, 3],)), (paired, ([1, 2], (3, 4))), (paired, ([1, 2], (3,))), (late, ([1, 2],)),
    (nested, ([1, 2],)), (no_text, (["a", 1],)), (begun, ([1, 2, 3],)), (divided, ([1, 0],)),
    (twice, ([1, 2],)), (in_order, (np.arange(3),)),
]  # fmt: skip


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> str:
    given = copy.deepcopy(args)
    try:
        return repr((f(*given), given))
    except Exception as error:
        return repr((error, given))


@pytest.mark.parametrize("case", range(len(CASES)))
def test_generators(case: int) -> None:
    f, args = CASES[case]
    converted = ag.function(f)
    for _ in range(3):
        assert outcome(converted, args) == outcome(f, args)


def test_what_is_listed_at_once_is_no_generator() -> None:
    converted = ag.function(shifted)
    converted("a b")
    assert "plain_generator" not in converted.traces[0].concrete.plan_source
    converted = ag.function(positive)
    converted([1, 2])
    assert "plain_generator" not in converted.traces[0].concrete.plan_source


def inner(n: Any) -> Any:
    def named(v: Any, /) -> Any:
        """Says so."""
        return v * n

    def other(v: Any, k: Any = 3) -> Any:
        return v * k

    return named, list(map(lambda v: v - n, range(3))), other


def test_inner_functions_are_made_by_python() -> None:
    wanted, got = inner(2), ag.function(inner)(2)
    for f, g in ((wanted[0], got[0]), (wanted[2], got[2])):
        for name in ("__name__", "__qualname__", "__doc__", "__module__", "__defaults__", "__kwdefaults__"):
            assert getattr(f, name) == getattr(g, name)
        assert f(5) == g(5)
    assert wanted[1] == got[1]
