"""The verifier: every law, broken on purpose."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from runtime.boxes import UnboundMarker
from runtime.errors import GraphError, Span
from runtime.ir.graph import Graph, Node, Value
from runtime.ir.text import parse_graph
from runtime.ir.verify import includes, verify
from runtime.ops.table import OPS
from runtime.types import (
    OBJECT,
    UNBOUND,
    WEAK_INT,
    ArrayType,
    MaybeUnbound,
    ObjectType,
    StaticType,
    TupleType,
    Type,
)
from tests.ir.samples import COLLATZ, collatz

F8 = np.dtype("f8")

# what to replace in the sample, by what, part of the message
BROKEN = [
    ("mod(n, 2)", "modulo(n, 2)", "no op is named 'modulo'"),
    ("t1: int64 = mod(n, 2)", "t1: int = mod(n, 2)", "is typed int, the op's rule gives int64"),
    ("t1: int64 = mod(n, 2)", "t1: int64, t9: int = mod(n, 2)", "mod has one result, the node has 2 outputs"),
    ("carries=2", "carries=3", "must say how many of its inputs are carries, not 3"),
    ("carries=2", "carries=True", "must say how many of its inputs are carries, not True"),
    ("carries=2", "carries=1", "while has 1 carries but 2 outputs"),
    ("(n, 0) ", "(n, 0.5) ", "typed int, it gets =0.5"),
    ("(n, 0) ", "(n, 0, 1) ", "takes 2 operands, it gets 3"),
    ("            return t1\n", "            return t1, n\n", "yields 2 results, expected 1"),
    ("return n_1, steps_1", "return n_1", "yields 1 results, expected 2"),
    ("return n_1, steps_1", "return n_1, n", "yields a int64, expected int"),
    (
        "n_1: int64, steps: int =",
        "n_1: float64, steps: int =",
        "carries int64 in test, but its output is typed",
    ),
    ("true if_true(n: int64):", "true if_true(n: float64):", "is typed float64, it gets int64"),
    (
        "                    return t2",
        "                    diverges",
        "says diverges=True but can reach its end",
    ),
]


@pytest.mark.parametrize(("old", "new", "part"), BROKEN, ids=[f"{b[1].strip()}" for b in BROKEN])
def test_broken_laws_are_found(old: str, new: str, part: str) -> None:
    text = COLLATZ.replace(old, new, 1)
    assert text != COLLATZ
    with pytest.raises(GraphError) as caught:
        verify(parse_graph(text), OPS)
    assert part in str(caught.value)


def test_a_sound_graph_passes() -> None:
    verify(collatz(), OPS)


def test_the_message_shows_node_excerpt_and_the_users_line() -> None:
    graph = parse_graph(COLLATZ.replace("t1: int64 = mod(n, 2)", "t1: int = mod(n, 2)"))
    with pytest.raises(GraphError) as caught:
        verify(graph, OPS)
    message = str(caught.value)
    assert "  node: t1: int = mod(n, 2)" in message
    assert "  >         " in message and "t1: int = mod(n, 2)\n" in message.split("  >", 1)[1]
    assert message.count("\n  | ") == 9
    assert "/src/collatz.py:6 in collatz" in message
    assert caught.value.span == Span("/src/collatz.py", 6, 11, "collatz")


def test_values_must_be_defined_once_and_before_use() -> None:
    x, y = Value(WEAK_INT, "x"), Value(WEAK_INT, "y")
    cases = [
        (Graph("f", (x, x), (), ()), "the value 'x' is defined twice"),
        (Graph("f", (x,), (Node("neg", (x,), (x,)),), ()), "the value 'x' is defined twice"),
        (
            Graph("f", (x,), (Node("add", (x, y), (Value(WEAK_INT),)),), ()),
            "'y' (int) is an operand but is not",
        ),
        (Graph("f", (x,), (), (y,)), "'y' (int) is a result of the graph but is not"),
        (
            Graph("f", (x,), (Node("add", (x,), (Value(WEAK_INT),), ("a", "b")),), ()),
            "names 2 keywords for 1",
        ),
    ]
    for graph, part in cases:
        with pytest.raises(GraphError) as caught:
            verify(graph, OPS)
        assert part in str(caught.value)


def test_a_region_is_closed() -> None:
    graph = collatz()
    loop = graph.nodes[0]
    test = dataclasses.replace(loop.regions[0], results=(graph.params[0],))
    broken = dataclasses.replace(loop, regions=(test, loop.regions[1]))
    with pytest.raises(GraphError, match="a region is closed"):
        verify(dataclasses.replace(graph, nodes=(broken,)), OPS)


REGIONS = [
    ("cond(x)\n        true():\n            return\n", "cond has 1 regions"),
    (
        "add(1, 1)\n        true():\n            return\n",
        "add has regions, but only cond, while, for, try, with may",
    ),
    ("for{carries=0, tested=True}(x)\n        body(i: object):\n            return\n", "if, and only if"),
    ("for{carries=0}(x)\n        body():\n            return\n", "needs a parameter for the item"),
    (
        "cond(x, a=1)\n        true():\n            return\n        false():\n            return\n",
        "no keywords",
    ),
    (
        "cond()\n        true():\n            return\n        false():\n            return\n",
        "needs an operand",
    ),
    ("raise(x)\n", "raise never returns, yet the graph 'f' goes on after it"),
]


@pytest.mark.parametrize(("text", "part"), REGIONS, ids=[r[1] for r in REGIONS])
def test_regions_fit_their_nodes(text: str, part: str) -> None:
    with pytest.raises(GraphError) as caught:
        verify(parse_graph(f"graph f(x: object):\n    {text}    return\n"), OPS)
    assert part in str(caught.value)


def test_a_graph_may_end_in_a_node_all_of_whose_ways_diverge() -> None:
    arm = "            raise(@builtins:ValueError)\n            diverges\n"
    text = f"graph f(x: object):\n    cond(x)\n        true():\n{arm}        false():\n{arm}    "
    verify(parse_graph(text + "diverges\n"), OPS)
    with pytest.raises(GraphError, match="goes on after it"):
        verify(parse_graph(text + "return\n"), OPS)


def test_tracing_may_know_more_than_a_rule_that_gives_object() -> None:
    text = "graph f(x: object):\n    t: {} = add(x, 1)\n    return t"
    verify(parse_graph(text.format("int64")), OPS)
    verify(parse_graph("graph f(x: object):\n    t: int = py.getattr(x, 'a')\n    return t"), OPS)


A2, AX, AR = ArrayType(F8, (2,)), ArrayType(F8, (None,)), ArrayType(F8)

INCLUDED: list[tuple[Type, Type]] = [
    (AX, A2),
    (AR, AX),
    (OBJECT, A2),
    (OBJECT, TupleType((WEAK_INT,))),
    (ObjectType(tuple), TupleType((WEAK_INT,))),
    (ObjectType(int), WEAK_INT),
    (ObjectType(np.ndarray), A2),
    (ObjectType(np.float64), ArrayType(F8, (), scalar=True)),
    (TupleType((OBJECT, AX)), TupleType((WEAK_INT, A2))),
    (MaybeUnbound(WEAK_INT), WEAK_INT),
    (MaybeUnbound(WEAK_INT), UNBOUND),
    (MaybeUnbound(OBJECT), MaybeUnbound(WEAK_INT)),
    (MaybeUnbound(WEAK_INT), StaticType(UnboundMarker("x"))),
    (WEAK_INT, StaticType(3)),
]


@pytest.mark.parametrize(("wide", "narrow"), INCLUDED, ids=str)
def test_a_wider_type_includes_a_narrower_one_and_not_the_other_way(wide: Type, narrow: Type) -> None:
    assert includes(wide, narrow) and includes(wide, wide) and includes(narrow, narrow)
    assert not includes(narrow, wide)


def test_types_apart_include_neither() -> None:
    for one, other in [
        (A2, ArrayType(F8, (3,))),
        (A2, ArrayType(np.dtype("f4"), (2,))),
        (WEAK_INT, StaticType(True)),
        (OBJECT, UNBOUND),
        (OBJECT, MaybeUnbound(WEAK_INT)),
        (ObjectType(list), ObjectType(dict)),
        (TupleType((WEAK_INT,)), TupleType((WEAK_INT, WEAK_INT))),
    ]:
        assert not includes(one, other)
