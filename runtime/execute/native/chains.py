"""Products of matrices that an operator takes at once: pairs of nodes that are done matrix by matrix.

In: a graph.  Out: such pairs, one after the other.  What always holds: a product is read by its operator
alone, and what a pair gives by the next pair alone; between them there are only views of other arrays.
"""

from __future__ import annotations

from collections.abc import Mapping

from runtime.execute.native import elementwise
from runtime.execute.native.state import State
from runtime.execute.native.values import Val
from runtime.ir.graph import Graph, Node, Value
from runtime.types import ArrayType

PRODUCTS = ("matmul", "np.matmul")
OPERATORS = ("add", "sub", "mul")
Pair = tuple[tuple[Node, ...], Node, Node]


def pairs(graph: Graph, k: int, last: Mapping[Value, int]) -> list[Pair]:
    """The pairs that begin with node `k`: views before the product, the product, and the operator.

    last: for each value, the number of the last node that reads it.
    """
    found: list[Pair] = []
    while True:
        views: list[Node] = []
        while found and k < len(graph.nodes) and _view(graph.nodes[k]):
            views.append(graph.nodes[k])
            k += 1
        pair = _pair(graph, k, last)
        if pair is None:
            return found
        if found:
            before = found[-1][2].outputs[0]
            reads = [x for n in (*views, pair[0]) for x in n.inputs]
            goes_on = last.get(before) == k + 1 and before in pair[1].inputs and before not in reads
            if not goes_on or before.type != pair[1].outputs[0].type:
                return found
        found.append((tuple(views), *pair))
        k += 2


def _pair(graph: Graph, k: int, last: Mapping[Value, int]) -> tuple[Node, Node] | None:
    if k + 1 >= len(graph.nodes):
        return None
    node, after = graph.nodes[k : k + 2]
    if node.op not in PRODUCTS or node.keywords or after.op not in OPERATORS or after.keywords:
        return None
    (value,), (result,) = node.outputs, after.outputs
    if last.get(value) != k + 1 or after.inputs.count(value) != 1 or not isinstance(result.type, ArrayType):
        return None
    return (node, after) if value.type == result.type else None


def _view(node: Node) -> bool:
    return node.op == "getitem" and isinstance(node.outputs[0].type, ArrayType)


def computed(state: State, op: str, left: bool, given: Val, found: Val) -> Val:
    """`given op found`, or the other way round."""
    return elementwise.operator(state, op, *((given, found) if left else (found, given)))
