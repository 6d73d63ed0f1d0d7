"""What range the elements of an array lie in that was just made and is only read and written by number.

In: a graph.  Out: its arrays of that kind, with what they are filled with; and while the graph is lowered,
spans of what is read.  What always holds: every element lies in the span, as it does of a number that a loop
carries (see `ranges`): the first span is a guess, and each write either keeps to it or has the graph lowered
again with a wider one.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from runtime.execute.native import ranges
from runtime.execute.native.list_forms import firsts
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr, Num, Val, span_of
from runtime.ir.effects import effect_of
from runtime.ir.graph import Graph, Node, Operand, Value
from runtime.ir.opdef import PURE
from runtime.ops.table import OPS
from runtime.types import ArrayType, TupleType, Type, WeakType, static_or_weak

_FILLED = {"np.zeros": 0, "np.ones": 1}


def known(graph: Graph) -> dict[Value, ranges.Span]:
    """The arrays of a graph and of its regions of which all elements are known to lie somewhere at first."""
    found: dict[Value, ranges.Span] = {}
    _region(graph, {}, found)
    return found


def _region(graph: Graph, names: dict[Value, Value], found: dict[Value, ranges.Span]) -> None:
    """The arrays that a region makes; those it is handed, by the names they have in it, may drop out."""
    for node in graph.nodes:
        filled = _filled(node)
        if filled is not None:
            found[node.outputs[0]] = ranges.begun((filled, filled))
            names[node.outputs[0]] = node.outputs[0]
        for k, x in enumerate(node.inputs):
            if isinstance(x, Value) and x in names and not _plain(node, k):
                found.pop(names[x], None)
        for region, first in zip(node.regions, firsts(node), strict=True):
            inner = node.inputs[len(node.inputs) - len(region.params) + first :]
            pairs = zip(region.params[first:], inner, strict=True)
            handed = {p: names[x] for p, x in pairs if isinstance(x, Value) and x in names}
            _region(region, handed, found)
            for x in region.results:
                if isinstance(x, Value) and x in handed:
                    found.pop(handed[x], None)


def _filled(node: Node) -> int | None:
    """With which number a node fills a new array of integers of 64 bits; None for other nodes."""
    t = node.outputs[0].type if len(node.outputs) == 1 else None
    if not isinstance(t, ArrayType) or t.scalar or t.dtype != np.int64:
        return None
    if node.op == "np.full" and len(node.inputs) > 1 and "fill_value" not in node.keywords:
        value = getattr(node.inputs[1], "value", None)
        return value if type(value) is int else None
    return _FILLED.get(node.op)


def _plain(node: Node, k: int) -> bool:
    """Whether a node does nothing with its operand `k`, an array, but read or write single elements, read it
    all, or hand it to a region as it is."""
    if node.op in ("cond", "while", "for"):
        first = {"cond": 1, "while": 0, "for": 1}[node.op]
        return k >= first + (node.attr("carries") if node.op != "cond" else 0)
    if node.op in ("getitem", "setitem"):
        value = node.outputs[0].type if node.op == "getitem" else node.inputs[2].type
        return k == 0 and _number(node.inputs[1]) and _whole(value)
    row = OPS.get(node.op)
    silent = not node.regions and row is not None and effect_of(node, OPS) == PURE
    return silent and all(_whole(x.type) for x in node.outputs)


def _number(x: Operand) -> bool:
    """Whether a key is an integer, or a tuple of integers."""
    t = static_or_weak(x.type)
    return all(map(_whole, t.items)) if isinstance(t, TupleType) else _whole(t)


def _whole(t: Type) -> bool:
    """Whether a type is that of a single integer."""
    if isinstance(t, ArrayType):
        return t.scalar and t.dtype.kind in "bi"
    value = getattr(t, "value", None)
    return (isinstance(t, WeakType) and t.kind in ("int", "bool")) or isinstance(value, (int, np.integer))


def made(state: State, value: Value, x: Val) -> Val:
    """An array as it is made."""
    return dataclasses.replace(x, table=value) if value in state.contents and isinstance(x, Arr) else x


def read(state: State, a: Val, x: Val) -> Val:
    """What was read of an array, with its span."""
    span = state.contents.get(a.table) if isinstance(a, Arr) and a.table is not None else None
    if span is None or not isinstance(x, Num) or x.const is not None:
        return x
    return dataclasses.replace(x, span=span)


def wrote(state: State, a: Val, x: Val) -> None:
    """Note that a number is written into an array."""
    if isinstance(a, Arr) and a.table is not None and a.table in state.contents:
        assert isinstance(x, Num)
        state.contents[a.table] = ranges.widened(state.contents[a.table], span_of(x))
