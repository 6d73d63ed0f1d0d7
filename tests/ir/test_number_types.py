"""Numbers of several kinds: how they arise, what they describe, and that they print and parse back."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.ir.text import parse_graph, print_graph
from runtime.ir.verify import includes, verify
from runtime.ir.walk import same_graph
from runtime.ops.table import OPS
from runtime.types import (
    MAX_KINDS,
    OBJECT,
    WEAK_BOOL,
    WEAK_FLOAT,
    WEAK_INT,
    ArrayType,
    MaybeUnbound,
    NumberType,
    StaticType,
    Type,
    describes,
    join,
)

DOUBLE, LONG, TRUTH = (ArrayType(np.dtype(name), (), True) for name in ("float64", "int64", "bool"))
EITHER = NumberType((WEAK_FLOAT, DOUBLE))


def test_join_of_numbers_of_different_kinds() -> None:
    assert join(WEAK_FLOAT, DOUBLE) == join(DOUBLE, StaticType(0.0)) == join(EITHER, DOUBLE) == EITHER
    assert join(WEAK_BOOL, TRUTH) == NumberType((WEAK_BOOL, TRUTH))
    assert join(EITHER, MaybeUnbound(DOUBLE)) == MaybeUnbound(EITHER)
    assert join(EITHER, ArrayType(np.dtype(float), (3,))) == OBJECT
    found: Type = WEAK_INT
    for code in "fdlb":
        found = join(found, ArrayType(np.dtype(code), (), True))
    assert found == OBJECT and MAX_KINDS == 4


@pytest.mark.parametrize(
    ("value", "holds"), [(1.0, True), (np.float64(1), True), (1, False), (np.float32(1), False)]
)
def test_what_it_describes(value: object, holds: bool) -> None:
    assert describes(EITHER, value) is holds


def test_inclusion() -> None:
    assert includes(EITHER, DOUBLE) and includes(EITHER, StaticType(1.0)) and includes(OBJECT, EITHER)
    assert not includes(DOUBLE, EITHER) and not includes(EITHER, NumberType((WEAK_FLOAT, LONG)))


def test_operators_go_kind_by_kind() -> None:
    rule = OPS["add"].rule
    assert rule is not None
    assert rule(EITHER, DOUBLE) == DOUBLE
    assert rule(EITHER, WEAK_INT) == EITHER
    assert rule(NumberType((WEAK_INT, LONG)), WEAK_FLOAT) == EITHER


def test_it_prints_and_parses_back() -> None:
    text = """graph f(x: float|float64, y: unbound|float|float64):
    t1: float|float64 = add(x, 1)
    t2: (float|float64, int) = py.tuple(t1, 2)
    return t2
"""
    graph = parse_graph(text)
    verify(graph, OPS)
    assert graph.params[0].type == EITHER and graph.params[1].type == MaybeUnbound(EITHER)
    assert same_graph(parse_graph(print_graph(graph)), graph)
