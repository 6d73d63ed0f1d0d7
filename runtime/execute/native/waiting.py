"""Which arrays need not be stored, because whatever reads them can compute their elements when it needs them.

In: a graph.  Out: for each value that may wait, whether several loops over a line read it.  What always
holds: between a value that waits and its last reader nothing writes memory; a value that more than one place
would have to compute is stored, unless it takes next to nothing to compute.
"""

from __future__ import annotations

import numpy as np

from runtime.execute.native.scalars import UFUNCS
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE
from runtime.ir.walk import used_operands
from runtime.ops.table import OPS
from runtime.types import ArrayType

IN_PLACE = {f"i{op.rstrip('_')}": op for op in UFUNCS}
UNARY = ("neg", "pos", "invert", "abs")
REDUCTIONS = (
    "sum",
    "mean",
    "max",
    "min",
    "prod",
    "any",
    "all",
    "var",
    "std",
    "argmax",
    "argmin",
    "linalg.norm",
)
MOVES = ("np.roll", "np.pad", "np.tril", "np.triu")  # what reads the elements of an array in other places
DIFFERENCES = ("np.diff",)  # what reads each element in two places
FILLS = ("np.zeros", "np.ones", "np.zeros_like", "np.ones_like", "np.full", "nd.copy")
PRODUCTS = ("matmul", "np.matmul", "np.dot", "nd.dot")
CHEAP = 2  # instructions that may be carried out again in another place
_DEAR = 10  # what a function that is no arithmetic counts for
_ARITHMETIC = ("add", "sub", "mul", "neg", "pos", "abs", "and_", "or_", "xor", "invert", *(
    "lt", "le", "gt", "ge", "eq", "ne"))  # fmt: skip


def elementwise(node: Node) -> bool:
    """Whether a node computes an array element by element."""
    if node.op in UFUNCS or node.op in UNARY or node.op == "nd.astype":
        return True
    if not node.op.startswith("np."):
        return False
    ufunc = getattr(np, node.op[3:], None)
    if node.op in ("np.where", "np.clip", "np.round"):
        return not node.keywords
    plain = isinstance(ufunc, np.ufunc) and ufunc.nout == 1 and ufunc.signature is None
    return plain and not node.keywords


def reduction(node: Node) -> bool:
    """Whether a node reduces an array, its first argument by position, along axes."""
    named = node.op.startswith("np.") and node.op[3:] in REDUCTIONS
    return named and len(node.inputs) > len(node.keywords)


def along_lines(node: Node) -> bool:
    """Whether it reduces each line (along the last axis) to one element, and keeps the axis."""
    if not reduction(node) or not isinstance(node.inputs[0].type, ArrayType):
        return False
    shape = node.inputs[0].type.shape
    given = dict(zip(node.keywords, node.inputs[len(node.inputs) - len(node.keywords) :], strict=True))
    axis, keep = given.get("axis"), given.get("keepdims")
    if len(node.inputs) - len(node.keywords) == 2:
        axis = node.inputs[1]
    if shape is None or len(shape) < 2 or not isinstance(keep, Const) or keep.value is not True:
        return False
    return isinstance(axis, Const) and type(axis.value) is int and axis.value in (-1, len(shape) - 1)


def may_wait(graph: Graph) -> dict[Value, str]:
    """The values that need not be stored, and what of them is better kept for several loops: "line", "tile"
    (where nothing else than elements is made of it), or nothing."""
    counted: dict[Operand, int] = {}
    for x in used_operands(graph):
        counted[x] = counted.get(x, 0) + 1
    moving = {v for node in graph.nodes if node.op in MOVES for v in node.outputs}
    products = {v for node in graph.nodes if node.op in PRODUCTS for v in node.outputs}
    readers: dict[Value, list[int]] = {}
    for k, node in enumerate(graph.nodes):
        for x in dict.fromkeys(node.inputs):
            if isinstance(x, Value):
                readers.setdefault(x, []).append(k)
    loud = [len(graph.nodes)]  # for each node, which one with an effect comes next, that node included
    for k in range(len(graph.nodes) - 1, -1, -1):
        loud.append(loud[-1] if effect_of(graph.nodes[k], OPS) == PURE else k)
    loud.reverse()
    costs = _costs(graph)
    found: dict[Value, str] = {}
    lines: dict[Value, bool] = {}  # of a value that waits: whether a line of it is reduced
    places: dict[Value, frozenset[int]] = {}  # of a value that waits: the nodes that compute it
    loops: dict[Value, frozenset[object]] = {}  # and the loops over a line that read it
    for k in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[k]
        if not _can_wait(node):
            continue
        (value,) = node.outputs
        uses = readers.get(value, [])
        if not uses or counted[value] != sum(graph.nodes[u].inputs.count(value) for u in uses):
            continue  # nobody reads it, or a region or the result does
        if node.op in FILLS and any(not products.isdisjoint(graph.nodes[u].inputs) for u in uses):
            continue  # a product is added to it in place
        where: set[int] = set()
        reading: set[object] = set()
        lines[value] = False
        for u in uses:
            other = graph.nodes[u]
            alone = len(uses) == 1 or value in moving  # else its elements would be computed again and again
            if not _reads(other, value) and not (alone and other.op in MOVES and other.inputs[0] is value):
                where = set()
                break
            out = other.outputs[0] if other.outputs else None
            lines[value] |= reduction(other) or (out is not None and lines.get(out, False))
            if out in found:
                assert out is not None
                where |= places[out]
                reading |= {u} if found[out] or along_lines(other) else loops[out]
            else:
                where.add(u)
                reading.add(u)
        if not where or loud[k + 1] < max(where):
            continue
        if len(where) > 1 and costs[value] > CHEAP:
            continue
        several = len(reading) > 1 and len(where) == 1
        found[value] = "" if not several else "line" if lines[value] else "tile"
        places[value], loops[value] = frozenset(where), frozenset(reading)
    return found


def _can_wait(node: Node) -> bool:
    """Whether what a node makes can be computed element by element, or line by line, when it is read."""
    one = len(node.outputs) == 1
    return one and (elementwise(node) or along_lines(node) or node.op in (*MOVES, *DIFFERENCES, *FILLS))


def _reads(node: Node, value: Value) -> bool:
    """Whether a node can take the value's elements one by one, each once."""
    if elementwise(node):
        return True
    if reduction(node):
        return node.inputs[0] is value and node.inputs.count(value) == 1
    if node.op == "setitem":
        return node.inputs[2] is value and node.inputs.count(value) == 1
    return node.op in IN_PLACE and node.inputs[1] is value and node.inputs[0] is not value


def _costs(graph: Graph) -> dict[Value, int]:
    """About how many instructions an element takes, if nothing is stored on the way."""
    costs: dict[Value, int] = {}
    for node in graph.nodes:
        if _can_wait(node):
            own = 0 if node.op in FILLS else 1 if node.op in (*_ARITHMETIC, *MOVES, *DIFFERENCES) else _DEAR
            costs[node.outputs[0]] = own + sum(costs.get(x, 0) for x in node.inputs if isinstance(x, Value))
    return costs
