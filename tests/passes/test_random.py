"""Every pass, and all of them one after the other, keep what random graphs do.

More graphs: `python -m tests.passes.test_random FIRST STOP`.
"""

from __future__ import annotations

import collections
import sys

import pytest

from runtime.execute.loader import load
from runtime.execute.python_source import plan_source
from runtime.execute.reference import interpret
from runtime.ir.graph import Graph
from runtime.ir.opdef import OpDef
from runtime.ir.text import print_graph
from runtime.ir.verify import verify
from runtime.ops.table import OPS
from runtime.passes.pipeline import PIPELINE, optimise
from tests.passes.samples import busy_graph
from tests.property.graphs import outcome

SEEDS, BLOCK = 400, 50


def whole(graph: Graph, table: dict[str, OpDef]) -> Graph:
    return optimise(graph, table).graph


def check(seed: int, hits: collections.Counter[str]) -> None:
    """Compare each pass with the graph as it was."""
    graph, args = busy_graph(seed)
    wanted = outcome(lambda *values: interpret(graph, values), args)
    for name, run in [*((name, run) for name, run, _ in PIPELINE), ("all", whole)]:
        new = run(graph, OPS)
        if new is graph:
            continue
        hits[name] += 1
        verify(new, OPS)
        found = outcome(lambda *values, new=new: interpret(new, values), args)
        assert found == wanted, f"seed {seed}, {name}\n{print_graph(graph)}\n{print_graph(new)}"
    final = whole(graph, OPS)
    assert optimise(final, OPS).steps == () or len(optimise(graph, OPS).steps) >= len(PIPELINE)
    run, one = load(plan_source(final)), len(final.results) == 1
    found = outcome(lambda *values: (run(*values),) if one else run(*values), args)
    assert found == wanted, f"seed {seed}, plan\n{print_graph(final)}\n{plan_source(final)}"


@pytest.mark.parametrize("start", range(0, SEEDS, BLOCK))
def test_passes_keep_what_graphs_do(start: int) -> None:
    hits: collections.Counter[str] = collections.Counter()
    for seed in range(start, start + BLOCK):
        check(seed, hits)
    objects = ("handed on", "fields")  # which have tests of their own
    assert all(hits[name] for name, _, _ in PIPELINE if name not in objects), hits


if __name__ == "__main__":
    total: collections.Counter[str] = collections.Counter()
    for each in range(int(sys.argv[1]), int(sys.argv[2])):
        check(each, total)
    print(total)
