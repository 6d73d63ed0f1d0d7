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


def raising(x: Any) -> Any:
    return x.sum() * 2, list(1 // 0 for _ in x[2:]), sum(1 // 0 for _ in x[1:])


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (shifted, ("Hello w",)), (positive, ([1, -2, 3],)), (positive, (np.array([1.0, -1.0]),)),
    (in_order, ([1, -5, 3],)), (paired, ([1, 2], (3, 4))), (paired, ([1, 2], (3,))), (late, ([1, 2],)),
    (nested, ([1, 2],)), (no_text, (["a", 1],)), (begun, ([1, 2, 3],)), (divided, ([1, 0],)),
    (twice, ([1, 2],)), (in_order, (np.arange(3),)),
    (raising, (np.zeros(3),)), (raising, (np.zeros(2),)), (raising, (np.zeros(1),)),
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


def test_only_generators_that_raise_while_traced_are_left_to_python() -> None:
    converted = ag.function(raising)
    assert converted(np.zeros(1)) == (0.0, [], 0)
    assert converted.traces[0].plain is None
    with pytest.raises(ag.Untraceable, match="division"):
        ag.function(raising, strict=True)(np.zeros(1))


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


def written_beside_a_list(x: Any, y: Any, held: Any) -> Any:
    for b, _ in zip(x, held):
        x[1:] = b
    return x


def written_beside_a_display(x: Any, y: Any, held: Any) -> Any:
    out = []
    for a, b in zip([x[0], x[1]], x):
        x[1] = 6.0
        out.append((a, b))
    return out, x


def written_before_it_is_gone_through(x: Any, y: Any, held: Any) -> Any:
    pairs = zip(x, [x, y, held])
    x[0] = 50.0
    return [a for a, _ in pairs]


def rows_written(x: Any, y: Any, held: Any) -> Any:
    out = []
    for b, row in zip(held, y):
        y[1:] = b
        out.append(row.sum())
    return out, y


def a_list_written(x: Any, y: Any, held: Any) -> Any:
    out = []
    for k, v in enumerate(held):
        held[-1] = k
        out.append(v)
    return out, held


@pytest.mark.parametrize("executor", ("numpy", "auto"))
@pytest.mark.parametrize(
    "function",
    (
        written_beside_a_list,
        written_beside_a_display,
        written_before_it_is_gone_through,
        rows_written,
        a_list_written,
    ),
)
def test_items_are_read_when_it_is_their_turn(function: Callable[..., Any], executor: str) -> None:
    """What a loop writes to the arrays and lists that it goes through is seen by the trips after."""
    for size in (3, 2, 20):
        args = np.arange(float(size)) + 1, np.ones((size, 2)), [1.5] * size
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        with ag.settings.override(executor=executor, compile="now"):
            found = ag.function(function)(*mine)
        wanted = function(*theirs)
        assert repr((found, mine)) == repr((wanted, theirs))
