"""Random graphs: they verify, print and parse back, and every executor agrees with the reference."""

from __future__ import annotations

import collections

import numpy as np
import pytest

from runtime.execute.loader import load
from runtime.execute.python_source import plan_source
from runtime.execute.reference import interpret
from runtime.ir.graph import Graph
from runtime.ir.text import parse_graph, print_graph
from runtime.ir.verify import verify
from runtime.ir.walk import clone, same_graph, walk_nodes
from runtime.ops.table import OPS
from tests.property.graphs import outcome, random_graph, record

SEEDS = range(300)
BLOCK = 50


def blocks() -> list[range]:
    return [SEEDS[start : start + BLOCK] for start in range(0, len(SEEDS), BLOCK)]


def reference(graph: Graph, args: list[object]) -> object:
    """What the reference does; a broken type claim fails the test."""
    found = outcome(lambda *values: interpret(graph, values), args)
    assert not (found[0][0] == "error" and found[0][1].__name__ == "GraphError"), found[0][2]
    return found


@pytest.mark.parametrize("seeds", blocks(), ids=str)
def test_random_graphs_verify_and_print_and_parse_back(seeds: range) -> None:
    for seed in seeds:
        graph, _ = random_graph(seed)
        assert same_graph(graph, random_graph(seed)[0], names=True)
        verify(graph, OPS)
        objects: list[object] = []
        text = print_graph(graph, objects)
        back = parse_graph(text, objects)
        assert same_graph(back, graph), text
        again: list[object] = []
        assert print_graph(back, again) == text
        assert all(map(lambda a, b: a is b, objects, again))
        assert same_graph(clone(graph), graph)


@pytest.mark.parametrize("seeds", blocks(), ids=str)
def test_the_reference_is_deterministic_and_types_hold(seeds: range) -> None:
    for seed in seeds:
        graph, args = random_graph(seed)
        first = reference(graph, args)
        assert reference(graph, args) == first, print_graph(graph)
        assert reference(clone(graph), args) == first


@pytest.mark.parametrize("seeds", blocks(), ids=str)
def test_plans_do_what_the_reference_does(seeds: range) -> None:
    for seed in seeds:
        graph, args = random_graph(seed)
        plan = plan_source(graph)
        run = load(plan)
        one = len(graph.results) == 1
        found = outcome(lambda *values, run=run, one=one: (run(*values),) if one else run(*values), args)
        assert found == reference(graph, args), f"seed {seed}\n{print_graph(graph)}\n{plan.text}"


def test_random_graphs_are_varied() -> None:
    """The generator reaches every region op, effects, and both ways to end."""
    ops: collections.Counter[str] = collections.Counter()
    ends: collections.Counter[str] = collections.Counter()
    for seed in SEEDS[:150]:
        graph, args = random_graph(seed)
        ops.update(node.op for node in walk_nodes(graph))
        found = outcome(lambda *values, graph=graph: interpret(graph, values), args)
        ends[found[0][0]] += 1
    wanted = "cond while for try with raise setitem iadd py.call py.list np.sum getitem".split()
    for op in wanted:
        assert ops[op] >= 5, ops
    assert ends["error"] >= 5 and ends["value"] > ends["error"], ends


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("t1: float64[...] = sub(x, y)\n    return t1", "t1: float64[...] = sub(y, x)\n    return t1"),
        ("t1: float64[...] = iadd(x, y)\n    return y", "t1: float64[...] = add(x, y)\n    return y"),
        ("t1: object = py.call(RECORD, x)\n    return 0.0", "return 0.0"),
        ("return 0.0", "return -0.0"),
        ("return 1", "return True"),
    ],
)
def test_the_comparison_tells_programs_apart(one: str, other: str) -> None:
    found = []
    for body in (one, other):
        text = f"graph f(x: float64[...], y: float64[...]):\n    {body}".replace("RECORD", "@obj0")
        graph = parse_graph(text, [record])
        found.append(reference(graph, [np.arange(2.0), np.ones(2)]))
    assert found[0] != found[1]
