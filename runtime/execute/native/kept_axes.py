"""Reductions whose axis is taken away and put back (`x.max(axis=1)[:, None]`) keep it from the start.

In: a graph.  Out: a graph of the same meaning, in which such pairs of nodes are one reduction with keepdims,
so that whole chains over rows can be computed row by row.  What always holds: nobody else reads the
reduction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from runtime.execute.native.waiting import reduction
from runtime.ir.graph import Const, Graph, Node, Value
from runtime.ir.walk import used_operands
from runtime.types import ArrayType

_ALL = slice(None)


def keep_axes(graph: Graph) -> Graph:
    """The graph with reductions along the last axis kept where it is put back at once."""
    makers = {node.outputs[0]: node for node in graph.nodes if reduction(node) and len(node.outputs) == 1}
    if not makers:
        return graph
    reads: dict[object, int] = {}
    for x in used_operands(graph):
        reads[x] = reads.get(x, 0) + 1
    instead: dict[int, Node | None] = {}
    for node in graph.nodes:
        source = node.inputs[0] if node.inputs else None
        maker = makers.get(source) if isinstance(source, Value) else None
        if maker is None or reads[source] != 1 or not _puts_back(node):
            continue
        made = _keeping(maker, node)
        if made is not None:
            instead[id(maker)], instead[id(node)] = made, None
    if not instead:
        return graph
    nodes = [instead.get(id(node), node) for node in graph.nodes]
    return dataclasses.replace(graph, nodes=tuple(n for n in nodes if n is not None))


def _puts_back(node: Node) -> bool:
    """Whether a node only adds an axis behind the others."""
    t = node.inputs[0].type
    if not isinstance(t, ArrayType) or t.shape is None or t.scalar or len(node.outputs) != 1:
        return False
    rest = [x.value if isinstance(x, Const) else None for x in node.inputs[1:]]
    if node.keywords or len(rest) != len(node.inputs) - 1:
        return False
    if node.op == "getitem":
        return _same(rest[0], (*[_ALL] * len(t.shape), None)) or _same(rest[0], (Ellipsis, None))
    sizes = rest[0] if len(rest) == 1 and isinstance(rest[0], tuple) else tuple(rest)
    if not all(type(n) is int for n in sizes):
        return False  # True and 1.0 are equal to 1, but no sizes
    if node.op == "nd.reshape" and len(t.shape) == 1:
        return sizes == (-1, 1)
    return node.op == "np.expand_dims" and sizes in ((len(t.shape),), (-1,))


def _same(key: object, wanted: Sequence[object]) -> bool:
    return isinstance(key, tuple) and len(key) == len(wanted) and all(
        a == b if isinstance(b, slice) else a is b for a, b in zip(key, wanted, strict=True)
    )  # fmt: skip


def _keeping(maker: Node, node: Node) -> Node | None:
    """The reduction with its axis kept; None where it is not along the last axis alone."""
    t = maker.inputs[0].type
    count = len(maker.inputs) - len(maker.keywords)
    given = dict(zip(maker.keywords, maker.inputs[count:], strict=True))
    axis = given.get("axis", maker.inputs[1] if count == 2 else None)
    if not isinstance(t, ArrayType) or t.shape is None or "keepdims" in given or not isinstance(axis, Const):
        return None
    if type(axis.value) is not int or axis.value not in (-1, len(t.shape) - 1) or len(t.shape) < 2:
        return None
    return dataclasses.replace(
        maker,
        inputs=(*maker.inputs, Const(True)),
        keywords=(*maker.keywords, "keepdims"),
        outputs=node.outputs,
    )
