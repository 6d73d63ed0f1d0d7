"""What a node may do besides computing its outputs: the one place that passes and printers ask.

A Python operator on a value whose class isn't known may run any code (`__add__`, `__bool__`), so its
effect is that of a call, whatever the row says.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping

from runtime.ir.graph import Const, Node
from runtime.ir.opdef import EFFECT, PURE, WRITE, OpDef
from runtime.types import OBJECT, ArrayType, NumberType, ObjectType, StaticType, TupleType, Type, WeakType

_RANK = {PURE: 0, WRITE: 1, EFFECT: 2}
# Ops that only hold references to their operands and run none of their code.
_HOLDERS = frozenset(
    {
        "py.tuple",
        "py.list",
        "py.is",
        "py.slice",
        "py.function",
        "py.bound",
        "py.expect",
        "py.check",
        "py.unpack",
    }
)
# What is always there, and read without running any code.
_FIELDS: dict[type | None, frozenset[str]] = {
    types.FunctionType: frozenset(
        ("__closure__", "__defaults__", "__kwdefaults__", "__code__", "__globals__")
    ),
    types.MethodType: frozenset(("__self__", "__func__")),
    functools.partial: frozenset(("func", "args", "keywords")),
}
_CONSTANT = (tuple, str, bytes, range, slice, type(None), frozenset)
_TAME = (list, dict, tuple, set, str, bytes, range, slice, type(None), frozenset)


def tame(t: Type) -> bool:
    """Whether operators on values of this type run no user code of their own."""
    if type(t) is ArrayType:  # most of them
        return True
    if isinstance(t, ObjectType):
        return t.cls in _TAME
    if isinstance(t, TupleType):
        return all(map(tame, t.items))
    return isinstance(t, (ArrayType, WeakType, NumberType, StaticType))


def quiet_truth(t: Type) -> bool:
    """Whether asking a value of this type for its truth runs no code, never raises, always says the same."""
    if isinstance(t, ArrayType):
        return t.scalar
    if isinstance(t, ObjectType):
        return t.cls in _CONSTANT
    return isinstance(t, (WeakType, NumberType, StaticType, TupleType))


def effect_of(node: Node, table: Mapping[str, OpDef]) -> str:
    """PURE, WRITE or EFFECT, as `OpDef.effect`, but of this node with these operands and regions."""
    if node.regions:
        inner = [effect_of(n, table) for region in node.regions for n in region.nodes]
        if any(region.diverges for region in node.regions) or node.op == "for":
            return EFFECT
        if node.op == "cond" and not tame(node.inputs[0].type):
            return EFFECT
        return max(inner, key=_RANK.__getitem__, default=PURE) if node.op == "cond" else EFFECT
    row = table[node.op]
    if node.op == "py.getattr" and _only_reads(node):
        return PURE
    if row.effect != PURE or node.op in _HOLDERS:
        return row.effect
    if "out" in node.keywords:
        return WRITE
    return PURE if all(tame(x.type) for x in node.inputs) else EFFECT


def _only_reads(node: Node) -> bool:
    """Whether reading an attribute does nothing else."""
    t, name = node.inputs[0].type, node.inputs[1]
    if isinstance(t, ObjectType):
        return isinstance(name, Const) and name.value in _FIELDS.get(t.cls, ())
    return isinstance(t, (ArrayType, WeakType, NumberType))


def removable(node: Node, table: Mapping[str, OpDef]) -> bool:
    """Whether the node may be dropped when nobody needs its outputs: no effect, and it can't raise."""
    if node.regions:
        if node.op == "cond" and not (quiet_truth(t := node.inputs[0].type) or isinstance(t, ObjectType)):
            return False  # an array may have no truth
        return effect_of(node, table) == PURE and all(
            removable(n, table) for r in node.regions for n in r.nodes
        )
    if node.op == "getitem" and isinstance(node.inputs[0].type, TupleType):
        return True  # such reads are made by tracing itself, with an index that is in range
    if node.op == "py.getattr" and isinstance(node.inputs[0].type, ObjectType) and _only_reads(node):
        return True
    vouched = node.op.startswith("py.") or all(
        v.type != OBJECT for v in node.outputs
    )  # by the op's type rule
    return effect_of(node, table) == PURE and vouched and not table[node.op].raises


def plain_exception(cls: type) -> bool:
    """Whether it is a class of exceptions of which making one runs no code of the user's."""
    if not issubclass(cls, BaseException) or type(cls) is not type:
        return False
    new, init = cls.__new__, cls.__init__
    return isinstance(new, types.BuiltinFunctionType) and isinstance(init, types.WrapperDescriptorType)
