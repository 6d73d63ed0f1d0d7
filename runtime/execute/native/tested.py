"""Branches whose result is only asked whether it is true (`while queue and k < n`, `(i and x[i]) or i < n`)
give that, and no list or number of any kind.

In: a graph.  Out: a graph of the same meaning, in which the arms of such branches end with the truth of what
they gave.  What always holds: nobody else reads the result, and nothing is changed before it is asked for.
"""

from __future__ import annotations

import dataclasses

from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE
from runtime.ir.walk import walk_nodes
from runtime.ops.table import OPS
from runtime.types import NumberType, ObjectType, WeakType

_BOOL = WeakType("bool")


def truths(graph: Graph) -> Graph:
    """The graph with the truth of what is only tested."""
    found = any(n.op == "cond" and any(map(_unclear, n.outputs)) for n in walk_nodes(graph))
    return _region(graph, frozenset()) if found else graph


def _unclear(x: Value) -> bool:
    """Whether machine code has no place for a value: an object, or a number of more kinds than two."""
    return isinstance(x.type, ObjectType) or (isinstance(x.type, NumberType) and len(x.type.kinds) > 2)


def _region(graph: Graph, tested: frozenset[Operand]) -> Graph:
    """A region; tested: which of its results are only asked whether they are true."""
    elsewhere: set[Operand] = {x for x in graph.results if x not in tested}
    last: dict[Operand, int] = dict.fromkeys(graph.results, len(graph.nodes))
    for k, node in enumerate(graph.nodes):
        asks = node.op in ("cond", "py.not", "py.truth")
        elsewhere.update(node.inputs[1 if asks else 0 :])
        last.update((x, k) for x in node.inputs if x not in graph.results)
    quiet = [effect_of(node, OPS) == PURE for node in graph.nodes]
    swap: dict[Operand, Operand] = {}
    nodes = []
    for k, node in enumerate(graph.nodes):
        changed = {x for x in node.outputs if not all(quiet[k + 1 : last.get(x, 0)])}
        node = dataclasses.replace(node, inputs=tuple(swap.get(x, x) for x in node.inputs))
        nodes.append(_node(node, elsewhere | changed, swap))
    results = tuple(swap.get(x, x) for x in graph.results)
    return dataclasses.replace(graph, nodes=tuple(nodes), results=results)


def _node(node: Node, elsewhere: set[Operand], swap: dict[Operand, Operand]) -> Node:
    """A node; swap: the truth of what it gave, where only that is asked for."""
    if node.op != "cond":
        regions = [
            _region(r, frozenset(r.results) if _tests(node, k) else frozenset())
            for k, r in enumerate(node.regions)
        ]
        return dataclasses.replace(node, regions=tuple(regions))
    asked = [k for k, x in enumerate(node.outputs) if _unclear(x) and x not in elsewhere]
    outputs = list(node.outputs)
    for k in asked:
        truth = Value(_BOOL, outputs[k].name)
        swap[outputs[k]], outputs[k] = truth, truth
    regions = [_region(_ending(r, asked), frozenset()) for r in node.regions]
    return dataclasses.replace(node, regions=tuple(regions), outputs=tuple(outputs))


def _tests(node: Node, k: int) -> bool:
    """Whether a region is the test of a loop."""
    return (node.op == "while" and k == 0) or (node.op == "for" and k == 1)


def _ending(graph: Graph, asked: list[int]) -> Graph:
    """An arm that ends with the truth of some of its results."""
    if not graph.results:
        return graph
    nodes, results = list(graph.nodes), list(graph.results)
    for k in asked:
        if isinstance(results[k], Const) or results[k].type != _BOOL:
            truth = Value(_BOOL)
            nodes.append(Node("py.truth", (results[k],), (truth,)))
            results[k] = truth
    return dataclasses.replace(graph, nodes=tuple(nodes), results=tuple(results))
