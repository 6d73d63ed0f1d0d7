"""Dropping what nobody needs from a stretch of nodes that a transformation made.

In: nodes in order, and the operands that are needed after them.  Out: the nodes that stay.  What always
holds: nodes of the user's program that may raise or have an effect stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from runtime.ir.effects import effect_of, removable
from runtime.ir.graph import Graph, Node, Operand, Value
from runtime.ir.opdef import PURE
from runtime.ops.table import OPS


def needed_nodes(
    nodes: Sequence[Node], results: Collection[Operand], ours: Collection[Node] | None = None
) -> list[Node]:
    """The nodes without those that are not needed.  ours: those that may go although they could raise
    (None: all)."""
    live = {x for x in results if isinstance(x, Value)}
    kept: list[Node] = []
    for node in reversed(nodes):
        if not any(out in live for out in node.outputs) and _may_go(node, ours):
            continue
        kept.append(node)
        live.update(x for x in node.inputs if isinstance(x, Value))
    return kept[::-1]


def tidied(graph: Graph) -> Graph:
    """A region of ours without what is not needed."""
    return dataclasses.replace(graph, nodes=tuple(needed_nodes(graph.nodes, graph.results)))


def _may_go(node: Node, ours: Collection[Node] | None) -> bool:
    if ours is not None and node not in ours:
        return removable(node, OPS)
    if node.op in ("py.tuple", "py.list", "py.slice"):
        return True
    if node.op == "py.call":
        return bool(node.attr("pure", False))
    return effect_of(node, OPS) == PURE
