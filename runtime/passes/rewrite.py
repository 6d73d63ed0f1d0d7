"""What passes share: graphs with some operands exchanged, uses counted, constants compared.

In: graphs.  Out: new graphs; the old ones are frozen.  What always holds: a node keeps its span.
"""

from __future__ import annotations

import collections
import dataclasses
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime.ir.graph import Graph, Node, Operand, Value
from runtime.ir.opdef import OpDef

# Graphs are frozen, so what was found of one stays so while it lives.
_USERS: weakref.WeakKeyDictionary[Graph, dict[Value, list[tuple[Node, int]]]] = weakref.WeakKeyDictionary()
_BY_VALUE = (bool, int, float, complex, str, bytes, type(None))


def put(operand: Operand, swap: Mapping[Value, Operand]) -> Operand:
    """The operand, or what stands in its place."""
    while isinstance(operand, Value) and operand in swap:
        operand = swap[operand]
    return operand


def exchanged(node: Node, swap: Mapping[Value, Operand]) -> Node:
    """The node with operands exchanged; the node itself where none is."""
    if not swap:
        return node
    inputs = tuple(put(x, swap) for x in node.inputs)
    if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        return node
    return dataclasses.replace(node, inputs=inputs)


def with_nodes(graph: Graph, nodes: Sequence[Node], swap: Mapping[Value, Operand] | None = None) -> Graph:
    """The graph with other nodes, and its results exchanged; the graph itself where all is as it was."""
    results = tuple(put(x, swap or {}) for x in graph.results)
    same = len(nodes) == len(graph.nodes) and all(a is b for a, b in zip(nodes, graph.nodes, strict=True))
    if same and all(a is b for a, b in zip(results, graph.results, strict=True)):
        return graph
    return dataclasses.replace(graph, nodes=tuple(nodes), results=results)


def users(graph: Graph, value: Value) -> Sequence[tuple[Node, int]]:
    """The nodes of the graph that read the value, and as which input."""
    table = _USERS.get(graph)
    if table is None:
        table = collections.defaultdict(list)
        for node in graph.nodes:
            for k, operand in enumerate(node.inputs):
                if isinstance(operand, Value):
                    table[operand].append((node, k))
        _USERS[graph] = table
    return table.get(value, ())


def constant_key(value: Any) -> object:
    """Equal for constants that a program can't tell apart."""
    if type(value) is int:
        return int, value  # its digits may be too many to print
    if type(value) in _BY_VALUE:
        return type(value), repr(value)
    if type(value) is tuple:
        return tuple, tuple(map(constant_key, value))
    if type(value) is slice:
        return slice, constant_key((value.start, value.stop, value.step))
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return type(value), value.dtype.str, value.tobytes()
    return id(value)


def accepts(node: Node, swap: Mapping[Value, Operand], table: Mapping[str, OpDef]) -> bool:
    """Whether the op's rule gives the node's type for the exchanged operands too."""
    row = table.get(node.op)
    if node.regions or row is None or row.rule is None or node.op.startswith("py."):
        return True
    new = exchanged(node, swap)
    if new is node:
        return True
    keywords = {name: x.type for name, x in new.keyword_inputs.items()}
    claimed = row.rule(*(x.type for x in new.positional), **keywords)
    return len(node.outputs) == 1 and bool(claimed == node.outputs[0].type)
