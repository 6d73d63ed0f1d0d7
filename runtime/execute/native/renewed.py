"""Writes into arrays that were just made, and that nobody else knows, as ops that make new arrays.

In: a graph.  Out: a graph of the same meaning, in which `a += b` is `a = a + b` and a window of zeros that is
written is its content with edges around; so all of it can be computed at once, when it is read.  A copy that
is read only until something is written is the array itself.  What always holds: up to there such an array was
only looked into by ops that make new ones.
"""

from __future__ import annotations

import dataclasses

from runtime.execute.native.waiting import IN_PLACE, elementwise
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE
from runtime.ir.walk import used_operands
from runtime.ops.table import OPS
from runtime.passes.facts import makes_new
from runtime.types import ArrayType

ZEROS = ("np.zeros", "np.zeros_like")


def renewed(graph: Graph) -> Graph:
    """The graph with such writes replaced."""
    if not any(node.op in IN_PLACE or node.op == "setitem" for node in graph.nodes):
        return graph
    graph = _without_copies(graph)
    now: dict[Value, Value] = {}  # for each value of an array: the one that stands for it
    own: dict[Value, list[Value]] = {}  # of an array that nobody else knows: all of its values
    zeros: set[Value] = set()
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple(now.get(x, x) if isinstance(x, Value) else x for x in node.inputs)
        node = dataclasses.replace(node, inputs=inputs)
        target = node.inputs[0] if node.inputs else None
        made = _made(node, zeros) if isinstance(target, Value) and target in own else None
        if made is not None:
            assert isinstance(target, Value)
            (value,) = made.outputs
            own[value] = [*own.pop(target), target, *node.outputs]
            now.update(dict.fromkeys(own[value], value))
            nodes.append(made)
            continue
        fresh = makes_new(node, OPS) and not node.regions
        for x in node.inputs if not fresh else ():
            if isinstance(x, Value):
                own.pop(x, None)
        if fresh and _array(node.outputs[0]) is not None:
            own[node.outputs[0]] = []
            zeros |= set(node.outputs) if node.op in ZEROS else set()
        nodes.append(node)
    if not now:
        return graph
    results = tuple(now.get(x, x) if isinstance(x, Value) else x for x in graph.results)
    return _needed(dataclasses.replace(graph, nodes=tuple(nodes), results=results))


def _without_copies(graph: Graph) -> Graph:
    """The graph in which a copy that nobody reads after the next write is the array that it is a copy of."""
    swap: dict[Operand, Operand] = {}
    whole: set[Operand] = set(graph.params)  # a copy of a view may have its axes in another order
    for k, node in enumerate(graph.nodes):
        copies = node.op == "nd.copy" and len(node.inputs) == 1 and node.inputs[0] in whole
        if copies and _array(node.inputs[0]) is not None and _read_at_once(graph, k):
            swap[node.outputs[0]] = node.inputs[0]
        elif makes_new(node, OPS):
            whole.update(node.outputs)
    if not swap:
        return graph
    nodes = []
    for node in graph.nodes:
        inputs = tuple(swap.get(x, x) for x in node.inputs)
        if not node.outputs or node.outputs[0] not in swap:
            nodes.append(dataclasses.replace(node, inputs=inputs))
    return dataclasses.replace(graph, nodes=tuple(nodes))


def _read_at_once(graph: Graph, k: int) -> bool:
    """Whether what node `k` makes, and views of it, are read element by element, and by nothing after the
    next write, which may take them as its value."""
    views, written = set(graph.nodes[k].outputs), False
    for node in graph.nodes[k + 1 :]:
        reads = [i for i, x in enumerate(node.inputs) if x in views]
        if node.regions or effect_of(node, OPS) != PURE:
            value = 2 if node.op == "setitem" else 1 if node.op in IN_PLACE else -1
            if reads and (written or reads != [value]):
                return False
            written = True
        elif reads and (written or not _looks(node)):
            return False
        elif reads and node.op == "getitem":
            views.update(node.outputs)
    return views.isdisjoint(x for x in graph.results if isinstance(x, Value))


def _looks(node: Node) -> bool:
    """Whether a node computes a new array element by element, or takes a view: for others it may matter in
    which order the elements lie."""
    return elementwise(node) or (node.op == "getitem" and _array(node.outputs[0]) is not None)


def _needed(graph: Graph) -> Graph:
    """The graph without zeros that nobody reads any more."""
    used = set(used_operands(graph))
    nodes = tuple(n for n in graph.nodes if n.op not in ZEROS or n.outputs[0] in used)
    return dataclasses.replace(graph, nodes=nodes)


def _array(x: Operand) -> ArrayType | None:
    """The type of an array with axes."""
    t = x.type
    return t if isinstance(t, ArrayType) and not t.scalar and t.shape else None


def _made(node: Node, zeros: set[Value]) -> Node | None:
    """What makes the array that is there after a write; None where it has to be written."""
    target = _array(node.inputs[0])
    if target is None or target.dtype.kind == "c":
        return None
    inputs: tuple[Operand, ...]
    if node.op in IN_PLACE:
        op, inputs = IN_PLACE[node.op], node.inputs
    elif node.op == "setitem" and node.inputs[0] in zeros:
        widths = _around(target, node.inputs[1], _array(node.inputs[2]))
        if widths is None:
            return None
        op, inputs = "np.pad", (node.inputs[2], Const(widths))
    else:
        return None
    rule = OPS[op].rule
    if rule is None or not all(isinstance(x.type, ArrayType) or isinstance(x, Const) for x in inputs):
        return None
    if rule(*(x.type for x in inputs)) != target:
        return None
    return Node(op, inputs, (Value(target),), span=node.span)


def _around(target: ArrayType, key: Operand, value: ArrayType | None) -> tuple[tuple[int, int], ...] | None:
    """How much is left around a window that is written, along each axis."""
    if value is None or not isinstance(key, Const) or target.shape is None or value.dtype != target.dtype:
        return None
    cuts = key.value if type(key.value) is tuple else (key.value,)
    if not all(type(cut) is slice for cut in cuts) or len(cuts) > len(target.shape):
        return None
    cuts += (slice(None),) * (len(target.shape) - len(cuts))
    found, sizes = [], []
    for cut, n in zip(cuts, target.shape, strict=True):
        if n is None or any(p is not None and type(p) is not int for p in (cut.start, cut.stop, cut.step)):
            return None
        picked = range(*cut.indices(n)) if cut.step != 0 else range(0)
        if not picked or picked.step != 1:
            return None
        found.append((picked.start, n - picked.stop))
        sizes.append(len(picked))
    return tuple(found) if tuple(sizes) == value.shape else None
