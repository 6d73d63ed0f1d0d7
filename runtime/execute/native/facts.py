"""What lowering asks of a graph beforehand: whether floating point flags matter, how much is gained.

In: graphs.  Out: answers.  What always holds: a doubt is answered so that the code is right, if slower.
"""

from __future__ import annotations

import collections

import numpy as np

from runtime.execute.native.waiting import IN_PLACE
from runtime.ir.calls import all_nodes, called_graphs
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE
from runtime.ir.walk import all_values, uses, walk_nodes
from runtime.ops.table import OPS
from runtime.passes.facts import OPERATORS, makes_new
from runtime.types import (
    ArrayType,
    NumberType,
    ObjectType,
    TupleType,
    Type,
    WeakType,
    static_or_weak,
)

_TAME = (range, enumerate, zip, slice, reversed)
_ITERATORS = (enumerate, zip, reversed)
_CONVERSIONS = (float, int, bool)
_EXHAUSTING = (list, sum)  # they take all items
_PUTTING = {"py.call": 1, "py.list": 0, "py.tuple": 0, "py.dict": 0, "setitem": 2}  # and from which input on
FEW = 4
VIEWS = (
    "np.transpose", "nd.transpose", "np.swapaxes", "np.moveaxis", "np.reshape", "nd.reshape", "np.squeeze",
    "np.expand_dims", "np.broadcast_to", "np.flip", "np.diagonal", "nd.view",
)  # fmt: skip
ATTRIBUTES = ("T", "real")


def watches(graph: Graph) -> bool:
    """Whether NumPy floats may occur, whose operations can warn, or divisions of whole arrays of integers."""
    if any(_warns(v.type) for v in all_values(graph)):
        return True
    for node in walk_nodes(graph):
        if any(isinstance(x, Const) and _warns(x.type) for x in node.inputs):
            return True
        divides = node.op.startswith("np.") or node.op.lstrip("i") in ("floordiv", "mod", "truediv", "pow")
        if divides and any(isinstance(v.type, ArrayType) and not v.type.scalar for v in node.outputs):
            return True
    return False


def flags(graph: Graph) -> bool:
    """Whether an operation on numbers may flag what NumPy warns of; one on Python's floats never does."""
    if any(_warns(v.type) for v in all_values(graph) if not _is_array(v)):
        return True
    for node in walk_nodes(graph):
        if any(isinstance(x, Const) and _warns(x.type) for x in node.inputs):
            return True
        target = node.inputs[0].type if node.op == "setitem" else None
        if isinstance(target, ArrayType) and target.dtype.kind == "f" and target.dtype.itemsize < 8:
            return True
    return False


def _warns(t: Type) -> bool:
    if isinstance(t, TupleType):
        return any(map(_warns, t.items))
    if isinstance(t, NumberType):
        return any(map(_warns, t.kinds))
    if isinstance(t, ObjectType):
        return t.cls not in _TAME
    if isinstance(t, ArrayType):
        return t.dtype.kind in "fc"
    value = getattr(t, "value", None)
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return not isinstance(t, WeakType) and (kind in ("f", "c") or isinstance(value, type))


def gain(graph: Graph) -> int:
    """About how many times faster native code is than the plan: far where a loop reads or writes numbers,
    else as many times as there are operators on arrays for each that stores its result."""
    loops = [r for n in walk_nodes(graph) if n.op in ("while", "for") for r in n.regions]
    if any(_on_items(n) for r in loops for n in walk_nodes(r)):
        return 64
    arrays = [n for n in walk_nodes(graph) if n.op == "setitem" or any(map(_is_array, n.outputs))]
    stored = [n for n in arrays if n.op == "setitem" or n.op in IN_PLACE]
    views = sum(n.op in ("getitem", "py.getattr", "setitem") for n in arrays)
    return max(1, (len(arrays) - views) // max(1, len(stored)))


def often(graph: Graph) -> frozenset[str]:
    """The functions of NumPy that are called in more than a few places."""
    found = collections.Counter(node.op for node in walk_nodes(graph))
    return frozenset(op.removeprefix("np.") for op, n in found.items() if op.startswith("np.") and n > FEW)


def low_bits(graph: Graph) -> frozenset[Value]:
    """The Python integers of this graph (not of its regions) of which only the lowest 64 bits are ever used,
    so that it does not matter whether they fit: `x << 13` in `(x << 13) & 0xFFFF`, for example."""
    if not any(_masks(node, 0) or _masks(node, 1) for node in graph.nodes):
        return frozenset()
    places, found = uses(graph), set[Value]()
    for node in reversed(graph.nodes):
        if _of_bits(node):
            users = [(n, k) for n, k in places[node.outputs[0]] if n is not None]
            passed = (
                _masks(n, k) or (n.outputs and n.outputs[0] in found and _of_bits(n, k)) for n, k in users
            )
            if len(users) == len(places[node.outputs[0]]) and all(passed):
                found.add(node.outputs[0])
    return frozenset(found)


def _of_bits(node: Node, index: int = 0) -> bool:
    """Whether each bit of a result depends on no higher bits of an operand."""
    if len(node.outputs) != 1 or not all(_is_int(x) for x in (*node.inputs, *node.outputs)):
        return False
    op = IN_PLACE.get(node.op, node.op)
    if op == "lshift":
        return index == 0 and getattr(node.inputs[1], "value", -1) in range(64)
    return op in ("add", "sub", "mul", "xor", "and_", "or_")


def _masks(node: Node, index: int) -> bool:
    """Whether a node cuts its operand down to its lowest bits."""
    op = IN_PLACE.get(node.op, node.op)
    if op not in ("and_", "mod") or len(node.inputs) != 2 or not _is_int(node.inputs[index]):
        return False
    mask = getattr(node.inputs[1 - index], "value", None)
    if type(mask) is not int or not 0 < mask < 1 << 64:
        return False
    return op == "and_" or (index == 0 and mask & (mask - 1) == 0)


def _is_int(x: Operand) -> bool:
    return type(x.value) is int if isinstance(x, Const) else x.type == WeakType("int")


def kept_iterators(graph: Graph) -> frozenset[Value]:
    """The iterators of this graph (not of its regions) of which it matters how many items were taken: more
    goes through them than one loop, once."""
    found = {value: places for value, places in uses(graph).items() if _iterator(value)}
    return frozenset(v for v, places in found.items() if len(places) > 1 or not all(map(_takes, places)))


def keeps_iterators(graph: Graph) -> bool:
    """Whether there are such iterators anywhere."""
    regions = (r for node in all_nodes(graph) for r in node.regions)
    return any(map(kept_iterators, (graph, *called_graphs(graph), *regions)))


def _iterator(x: Value) -> bool:
    return isinstance(x.type, ObjectType) and x.type.cls in _ITERATORS


def _takes(place: tuple[Node | None, int]) -> bool:
    """Whether an iterator is gone through here: by a loop, or by another iterator."""
    node, index = place
    if node is None or not (index == 0 if node.op == "for" else node.op == "py.call"):
        return False
    whole = node.op == "py.call" and getattr(node.inputs[0], "value", None) in _EXHAUSTING
    return node.op == "for" or whole or any(map(_iterator, node.outputs))


def _on_items(node: Node) -> bool:
    if node.op == "setitem":
        return isinstance(node.inputs[0].type, ArrayType) and not _is_array(node.inputs[2])
    return node.op == "getitem" and not any(map(_is_array, node.outputs)) and _is_array(node.inputs[0])


def _is_array(x: Operand) -> bool:
    return isinstance(x.type, ArrayType) and not x.type.scalar


def is_look(node: Node) -> bool:
    """Whether a node gives another look at an array."""
    if len(node.outputs) != 1 or not (node.inputs and _is_array(node.inputs[0])):
        return False
    if not isinstance(node.outputs[0].type, ArrayType):
        return False
    if node.op == "py.getattr":
        return isinstance(node.inputs[1], Const) and node.inputs[1].value in ATTRIBUTES
    return node.op in VIEWS or (node.op == "getitem" and _basic(node.inputs[1]))


def _basic(key: Operand) -> bool:
    """Whether it is a key of slices, ints, None and `...`, known now."""
    if not isinstance(key, Const):
        return False
    parts = key.value if type(key.value) is tuple else (key.value,)
    return all(p is None or p is ... or type(p) in (int, slice) for p in parts)


def look_returned(graph: Graph) -> Node | None:
    """What makes another look at an array that a graph gives, alone or in a tuple: it is NumPy's to do."""
    makers = {out: node for node in graph.nodes for out in node.outputs}
    todo = list(graph.results)
    while todo:
        x = todo.pop()
        maker = makers.get(x) if isinstance(x, Value) else None
        if maker is None:
            continue
        if maker.op == "py.tuple":
            todo += maker.inputs
        elif is_look(maker) and isinstance(x.type, ArrayType) and not x.type.scalar:
            return maker
    return None


DIAGONALS = ("np.diag", "np.diagonal")


def looked_into(graph: Graph) -> frozenset[Value]:
    """The arrays without axes that `np.where` makes of numbers, and that are only computed with: in this
    graph, or in regions that take them from it.  And looks at diagonals that might as well be copies."""
    made = {node.outputs[0] for node in graph.nodes if node.op == "np.where" and _without_axes(node)}
    found = {x for x in made if _computed_with(graph, x)}
    looks = (k for k, node in enumerate(graph.nodes) if node.op in DIAGONALS and len(node.outputs) == 1)
    return frozenset(found.union(graph.nodes[k].outputs[0] for k in looks if _read_at_once(graph, k)))


def _read_at_once(graph: Graph, k: int) -> bool:
    """Whether what node `k` gives is only computed with, before anything is written."""
    (x,) = graph.nodes[k].outputs
    uses = [j for j, node in enumerate(graph.nodes) if x in node.inputs]
    if not uses or x in graph.results:
        return False
    if any(effect_of(node, OPS) != PURE for node in graph.nodes[k + 1 : uses[-1]]):
        return False
    return all(_makes_new(graph.nodes[j]) for j in uses)


def _makes_new(node: Node) -> bool:
    """Whether a node gives a number or a new array."""
    made = node.outputs[0].type if len(node.outputs) == 1 else None
    if node.regions or not isinstance(made, ArrayType):
        return False
    return makes_new(node, OPS) or node.op == "getitem" and made.scalar


def kept(graph: Graph) -> frozenset[Value]:
    """What this graph gives, or puts somewhere else: there is no native code for views there."""
    found = {x for x in graph.results if isinstance(x, Value)}
    for node in graph.nodes:
        first = _PUTTING.get(node.op, len(node.inputs))
        found.update(x for x in node.inputs[first:] if isinstance(x, Value))
    return frozenset(found)


def _without_axes(node: Node) -> bool:
    t = node.outputs[0].type if len(node.outputs) == 1 else None
    return isinstance(t, ArrayType) and t.shape == () and not t.scalar and t.device == "cpu"


def _computed_with(graph: Graph, x: Value) -> bool:
    """Whether a number in the place of an array without axes would give the same everywhere."""
    if x in graph.results:
        return False
    for node in graph.nodes:
        for k, operand in enumerate(node.inputs):
            if operand is x and not (_as_number(node, k) or _in_regions(node, k)):
                return False
    return True


def _as_number(node: Node, k: int) -> bool:
    """Whether a node gives the same for a number as for an array without axes."""
    if node.op == "setitem":
        return k == 2 and isinstance(node.inputs[0].type, ArrayType)
    if node.op == "py.call":
        return k == 1 and len(node.inputs) == 2 and getattr(node.inputs[0], "value", None) in _CONVERSIONS
    op = IN_PLACE.get(node.op, node.op)
    numbers = all(isinstance(static_or_weak(y.type), (ArrayType, WeakType, NumberType)) for y in node.inputs)
    if not numbers or node.keywords or (op != node.op and k == 0):
        return False
    return op in OPERATORS or op in ("np.where", "py.truth", "py.not") or _is_ufunc(op)


def _is_ufunc(op: str) -> bool:
    found = getattr(np, op[3:], None) if op.startswith("np.") else None
    return isinstance(found, np.ufunc) and found.nout == 1 and found.signature is None


def _in_regions(node: Node, k: int) -> bool:
    """Whether a node only hands the value to regions, which compute with it."""
    if node.op == "cond":
        return k > 0 and all(_computed_with(r, r.params[k - 1]) for r in node.regions)
    if node.op == "while":
        return k >= node.attr("carries") and all(_computed_with(r, r.params[k]) for r in node.regions)
    if node.op == "for" and k > node.attr("carries"):
        body, tests = node.regions[0], node.regions[1:]
        return _computed_with(body, body.params[k]) and all(_computed_with(t, t.params[k - 1]) for t in tests)
    return False
