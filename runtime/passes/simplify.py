"""Simplification that keeps every bit: what a tuple holds is read from where it came, `x * 1` is `x`,
`np.stack` of numbers `np.array` of them, and what is only handed on is taken from where it was.

In: a graph.  Out: the same with fewer nodes.  What always holds: a rule fires only where dtype, sign of zero,
NaN and (for arrays, which such an operation copies) that the result is another object make no difference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import OpDef
from runtime.passes.aliases import Aliases
from runtime.passes.facts import is_one, is_zero
from runtime.passes.rewrite import accepts, exchanged, users, with_nodes
from runtime.pyops import HandsOn
from runtime.types import ArrayType, TupleType, WeakType


def simplify(graph: Graph, table: Mapping[str, OpDef], aliases: Aliases) -> Graph:
    """The graph after all rules; `aliases` are those of the whole that it is part of."""
    swap: dict[Value, Operand] = {}
    nodes: list[Node] = []
    made: dict[Value, Node] = {}
    for old in graph.nodes:
        node = _displayed(exchanged(old, swap), made)
        for found, value in _same(node, made, aliases):
            one = {found: value}
            if found.type == value.type and all(accepts(n, one, table) for n, _ in users(graph, found)):
                swap[found] = value
        if node.outputs and all(out in swap for out in node.outputs):
            continue
        nodes.append(node)
        made.update((out, node) for out in node.outputs)
    return with_nodes(graph, nodes, swap)


def _displayed(node: Node, made: Mapping[Value, Node]) -> Node:
    """`np.stack` and `np.hstack` of numbers as `np.array` of them, which takes a tenth of the time; several
    values that are handed on as a tuple of them."""
    handed = _handed_on(node)
    if len(handed) > 1:
        return dataclasses.replace(node, op="py.tuple", inputs=handed, attrs=())
    if node.op not in ("np.stack", "np.hstack") or len(node.inputs) != 1 or node.keywords:
        return node
    items = _items(node.inputs[0], made)
    if not items or not all(map(_is_number, items)):
        return node
    scalars = any(isinstance(x.type, ArrayType) for x in items)
    if scalars and any(x.type == WeakType("int") for x in items):
        return node  # where the int is too large for any dtype, a stack makes Python's numbers of the scalars
    return dataclasses.replace(node, op="np.array")


def _is_number(x: Operand) -> bool:
    t = x.type
    if isinstance(t, ArrayType):
        return t.scalar and t.device == "cpu" and t.dtype.kind in "biufc"
    return isinstance(t, WeakType) and t.kind in ("bool", "int", "float", "complex")


def _items(x: Operand, made: Mapping[Value, Node]) -> tuple[Operand, ...] | None:
    """What is in a tuple that the graph makes."""
    source = made.get(x) if isinstance(x, Value) else None
    if source is None or source.op != "py.tuple" or source.attr("starred") or source.keywords:
        return None
    return source.inputs if isinstance(x.type, TupleType) and x.type.cls is tuple else None


def _handed_on(node: Node | None) -> tuple[Operand, ...]:
    """The operands that a node hands on as they are, and nothing else."""
    target = node.inputs[0] if node is not None and node.op == "py.call" else None
    if node is None or not isinstance(target, Const) or not isinstance(target.value, HandsOn):
        return ()
    return node.inputs[1 : 1 + target.value.values]


def _same(node: Node, made: Mapping[Value, Node], aliases: Aliases) -> list[tuple[Value, Operand]]:
    """Outputs of the node and the operands that are the same."""
    handed = _handed_on(node)
    if len(handed) == 1:
        return [(node.outputs[0], handed[0])]
    if len(node.outputs) == 1:
        kept = _unchanged(node, aliases)
        if kept is not None:
            return [(node.outputs[0], kept)]
    items = _items(node.inputs[0], made) if node.op == "getitem" else None
    if items is None:
        return []
    key = node.inputs[1]
    if isinstance(key, Const) and type(key.value) is int and -len(items) <= key.value < len(items):
        return [(node.outputs[0], items[key.value])]
    return []


def _unchanged(node: Node, aliases: Aliases) -> Operand | None:
    """The operand that the node gives back as it is: of `x * 1`, `x / 1`, `x - 0` and their like."""
    if len(node.inputs) != 2 or node.keywords:
        return None
    left, right = node.inputs
    kept: Operand | None = None
    if node.op in ("mul", "np.multiply"):
        kept = left if is_one(right) else right if is_one(left) else None
    elif node.op in ("truediv", "np.divide"):
        kept = left if is_one(right) else None
    elif node.op in ("sub", "np.subtract"):
        kept = left if is_zero(right) else None
    elif node.op == "add" and node.outputs[0].type == WeakType("int"):
        kept = left if is_zero(right) else right if is_zero(left) else None
    if not isinstance(kept, Value) or kept.type != node.outputs[0].type:
        return None  # also where the dtype changes: an int divided by 1 is a float
    t = kept.type
    if isinstance(t, WeakType):
        return kept if node.op[:3] != "np." and t.kind in ("int", "float") else None
    if not isinstance(t, ArrayType) or t.dtype.kind not in "iuf" or not t.dtype.isnative or t.device != "cpu":
        return None
    if t.scalar:
        return kept
    return kept if _unseen_copy(node.outputs[0], kept, aliases) else None


def _unseen_copy(copy: Value, source: Value, aliases: Aliases) -> bool:
    """Whether nobody can tell a copy of an array from it: neither is written to, the copy stays inside."""
    return (
        aliases.private(copy)
        and aliases.constant(copy)
        and aliases.constant(source)
        and _plain_layout(source)
    )


def _plain_layout(source: Value) -> bool:
    """Sizes are known: a copy in another order of memory gives sums in another order, so only vectors do."""
    t = source.type
    return isinstance(t, ArrayType) and t.shape is not None and len(t.shape) == 1 and t.dtype != np.bool_
