"""Walking and copying graphs."""

from __future__ import annotations

import dataclasses

import numpy as np

from runtime.ir.graph import Const, Graph, Value
from runtime.ir.text import parse_graph, print_graph
from runtime.ir.verify import verify
from runtime.ir.walk import (
    all_values,
    clone,
    inline,
    map_graphs,
    map_regions,
    same_constant,
    same_graph,
    uses,
    walk_graphs,
    walk_nodes,
)
from runtime.ops.table import OPS
from tests.ir.samples import COLLATZ, collatz


def test_walking_meets_everything_once_outer_first() -> None:
    graph = collatz()
    names = [each.name for each in walk_graphs(graph)]
    assert names == ["collatz", "loop_test", "loop_body", "if_true", "if_false"]
    assert [node.op for node in walk_nodes(graph)] == (
        ["while", "ne", "mod", "eq", "cond", "floordiv", "mul", "add", "add"]
    )
    assert len(list(all_values(graph))) == 1 + 2 + 2 + 1 + 2 + 3 + 1 + 1 + 1 + 1 + 2


def test_uses_name_node_and_index_and_results_count() -> None:
    graph = parse_graph("graph f(x: int, y: int):\n    t: int = add(x, x)\n    return t, x")
    found = uses(graph)
    node, (x, y) = graph.nodes[0], graph.params
    assert found[x] == [(node, 0), (node, 1), (None, 1)]
    assert found[y] == []
    assert found[node.outputs[0]] == [(None, 0)]


def test_a_clone_is_equal_and_shares_no_value() -> None:
    graph = collatz()
    copy = clone(graph)
    assert same_graph(copy, graph, names=True)
    assert not set(all_values(copy)) & set(all_values(graph))


def test_a_substituted_parameter_is_gone() -> None:
    graph = collatz()
    copy = clone(graph, {graph.params[0]: Const(np.int64(27))})
    assert copy.params == ()
    assert copy.nodes[0].inputs[0].value == 27
    verify(copy, OPS)


def test_inlining_puts_operands_for_parameters() -> None:
    graph = parse_graph("graph f(x: int, y: int):\n    t: int = add(x, y)\n    return t, x")
    one = Value(graph.params[0].type)
    nodes, results = inline(graph, (one, Const(2)))
    assert nodes[0].inputs[0] is one and nodes[0].inputs[1].value == 2
    assert results == (nodes[0].outputs[0], one)
    assert nodes[0].outputs[0] is not graph.nodes[0].outputs[0]


def test_mapping_without_change_gives_the_same_objects() -> None:
    graph = collatz()
    assert map_graphs(graph, lambda each: each) is graph
    assert map_regions(graph.nodes[0], lambda each: each) is graph.nodes[0]


def test_mapping_is_done_from_the_inside_out() -> None:
    seen: list[str] = []

    def change(graph: Graph) -> Graph:
        seen.append(graph.name)
        return dataclasses.replace(graph, name=graph.name.upper())

    changed = map_graphs(collatz(), change)
    assert seen == ["loop_test", "if_true", "if_false", "loop_body", "collatz"]
    assert [each.name for each in walk_graphs(changed)][-1] == "IF_FALSE"


def test_what_makes_graphs_differ() -> None:
    graph = collatz()
    for old, new in [
        ("floordiv(n, 2)", "floordiv(n, 3)"),
        ("floordiv(n, 2)", "floordiv(n, 2.0)"),
        ("mul(3, n)", "mul(n, 3)"),
        ("steps: int, ", "steps: object, "),
        ("carries=2", "carries=True"),
        ("# collatz.py:10:8", ""),
        ("if_true", "yes"),
        ("return steps", "return n"),
        ("return n_1, steps_1", "return n_1, steps"),
    ]:
        text = COLLATZ.replace(old, new)
        if text != COLLATZ:
            assert not same_graph(graph, parse_graph(text)), (old, new)
    renamed = parse_graph(COLLATZ.replace("steps_1", "other"))
    assert same_graph(graph, renamed) and not same_graph(graph, renamed, names=True)
    assert print_graph(renamed) != print_graph(graph)


def test_constants_that_point_to_objects_are_the_same_only_if_identical() -> None:
    assert not same_constant([1], [1])
    assert not same_constant(0.0, -0.0) and not same_constant(1, True) and not same_constant(1, 1.0)
    assert same_constant(float("nan"), float("nan"))
    assert not same_constant((0.0,), (-0.0,)) and not same_constant(([],), ([],))
