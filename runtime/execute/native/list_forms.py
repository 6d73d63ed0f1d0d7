"""What is put into the lists that a graph makes, as far as the types of the graph say it.

In: a graph.  Out: for each list, by the value that it is, what it is going to hold.  What always holds: it is
a guess, which lowering makes better where a list turns out to hold something else; without it a list that is
read before anything is put in would be taken for one of ints.
"""

from __future__ import annotations

from collections.abc import Hashable

from runtime.execute.native.kinds import WEAK, numpy_scalar, supported
from runtime.execute.native.state import Form, Held, Row
from runtime.ir.graph import Graph, Node, Operand, Value
from runtime.types import ArrayType, TupleType, Type, WeakType

_PUTTING = ("append",)


def expected(graph: Graph) -> dict[Hashable, Form]:
    """What is put into which lists."""
    found: dict[Hashable, Form] = {}
    _region(graph, {}, found)
    return found


def _region(graph: Graph, names: dict[Operand, Value], found: dict[Hashable, Form]) -> None:
    """The nodes of a region; names: of its values, which list they are, or whose method."""
    for node in graph.nodes:
        if node.op == "py.list" and node.outputs:
            names[node.outputs[0]] = node.outputs[0]
        elif node.op == "py.getattr" and getattr(node.inputs[1], "value", None) in _PUTTING:
            if node.inputs[0] in names:
                names[node.outputs[0]] = names[node.inputs[0]]
        elif node.op == "py.call" and len(node.inputs) == 2 and node.inputs[0] in names:
            _note(names[node.inputs[0]], node.inputs[1].type, found)
        elif node.op == "setitem" and node.inputs[0] in names:
            _note(names[node.inputs[0]], node.inputs[2].type, found)
        for region, first in zip(node.regions, firsts(node), strict=True):
            inner = node.inputs[len(node.inputs) - len(region.params) + first :]
            pairs = zip(region.params[first:], inner, strict=True)
            _region(region, {p: names[x] for p, x in pairs if x in names}, found)


def firsts(node: Node) -> list[int]:
    """Of each region, the first parameter that it is handed as it is."""
    if node.op == "cond":
        return [0, 0]
    if node.op in ("while", "for"):
        count = node.attr("carries")
        return [count + (node.op == "for" and k == 0) for k in range(len(node.regions))]
    return [len(r.params) for r in node.regions]


def _note(key: Hashable, t: Type, found: dict[Hashable, Form]) -> None:
    """Something of this type is put into a list."""
    if key in found:
        return
    if isinstance(t, TupleType) and t.items:
        found[key] = Row(len(t.items))
        for k, item in enumerate(t.items):
            _note((key, k), item, found)
    elif isinstance(t, ArrayType) and not t.scalar and t.shape and supported(t.dtype):
        dims = tuple("" if n is None else str(n) for n in t.shape)
        found[key] = Held(t.dtype, dims, True, frozenset())
    elif isinstance(t, WeakType) and t.kind in WEAK and t.kind != "complex":
        found[key] = WEAK[t.kind]
    elif isinstance(t, ArrayType) and t.scalar and supported(t.dtype) and t.dtype.kind != "c":
        found[key] = numpy_scalar(t.dtype)
