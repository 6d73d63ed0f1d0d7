"""Graphs with more for the passes to do than random ones have: nodes that repeat earlier ones.

In: a seed.  Out: a graph and arguments.  What always holds: the graph verifies.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from runtime.ir.graph import Graph, Node, Value
from runtime.ir.walk import map_graphs
from runtime.passes.rewrite import exchanged
from tests.property.graphs import random_graph


def busy_graph(seed: int) -> tuple[Graph, list[Any]]:
    """A random graph in which some nodes are repeated further down, and used there instead."""
    graph, args = random_graph(seed, 12 if seed % 3 else 20)
    dice = random.Random(seed)
    return map_graphs(graph, lambda region: _repeated(region, dice)), args


def _repeated(graph: Graph, dice: random.Random) -> Graph:
    nodes: list[Node] = []
    swap: dict[Value, Value] = {}
    again: list[Node] = []
    last = len(graph.nodes) - 1
    for index, node in enumerate(graph.nodes):
        if again and dice.random() < 0.4 and not (graph.diverges and index == last):
            old = again.pop(dice.randrange(len(again)))
            new = tuple(Value(out.type, out.name) for out in old.outputs)
            nodes.append(dataclasses.replace(exchanged(old, swap), outputs=new))
            swap.update((a, b) for a, b in zip(old.outputs, new, strict=True) if dice.random() < 0.5)
        nodes.append(exchanged(node, {v: w for v, w in swap.items() if dice.random() < 0.7}))
        if not node.regions and node.outputs:
            again.append(node)
    return dataclasses.replace(graph, nodes=tuple(nodes))
