"""What passes may rely on of one node: that it is silent, that its result is new, that a use sees contents.

In: a node and the op table.  Out: verdicts.  What always holds: where it isn't sure, the answer is no.
A node is *silent* when it has no effect, can't raise and can't warn on any operands of its types, so nobody
can tell whether, when, or how often it runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from runtime.ir.effects import effect_of, removable
from runtime.ir.graph import Const, Node, Operand
from runtime.ir.opdef import PURE, OpDef
from runtime.types import (
    ArrayType,
    MaybeUnbound,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
    static_or_weak,
)

ARITHMETIC = frozenset(
    {"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift"}
)
BITS = frozenset({"and_", "or_", "xor", "invert"})
COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
SIGNS = frozenset({"neg", "pos", "abs"})
OPERATORS = ARITHMETIC | BITS | COMPARISONS | SIGNS
IN_PLACE = frozenset(
    f"i{name}" for name in "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor".split()
)
# Besides operators and ufuncs: functions whose result never shares memory with an operand.
NEW = frozenset(
    f"np.{name}"
    for name in (
        "sum prod max min mean std var any all argmax argmin ptp cumsum cumprod count_nonzero zeros ones "
        "empty full eye identity arange linspace zeros_like ones_like empty_like full_like copy tril triu "
        "roll repeat tile take where concatenate stack vstack hstack sort argsort clip "
        "outer dot inner tensordot isclose maximum.accumulate minimum.accumulate add.accumulate "
        "multiply.accumulate"
    ).split()
) | {"nd.copy", "nd.flatten"}
_FLOAT_FREE = frozenset({"getitem", "py.getattr", "py.not", "py.truth", "py.bound", "py.unpack", "np.where"})
_QUIET_UFUNCS = frozenset(
    f"np.{name}"
    for name in (
        "isnan isinf isfinite signbit logical_and logical_or logical_not logical_xor bitwise_and bitwise_or "
        "bitwise_xor invert equal not_equal less less_equal greater greater_equal"
    ).split()
)
SMALL_FLOATS = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.complex64))
HALF = 65504  # the largest float16
_COUNTING = ARITHMETIC | SIGNS
_SHAPES = frozenset({"np.transpose", "np.swapaxes", "np.reshape", "np.ravel", "np.expand_dims", "np.squeeze"})
ARRAY_FACTS = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "T"})
_IMMUTABLE = (str, bytes, range, slice, type(None), frozenset, int, float, complex, bool, type, np.dtype)


def mutable(t: Type) -> bool:
    """Whether a value of the type is, or holds, something that can change."""
    if isinstance(t, ArrayType):
        return not t.scalar
    if isinstance(t, TupleType):
        return any(map(mutable, t.items))
    if isinstance(t, MaybeUnbound):
        return mutable(t.type)
    if isinstance(t, ObjectType):
        return t.cls not in _IMMUTABLE
    if isinstance(t, StaticType):
        return mutable(static_or_weak(t)) and not isinstance(t.value, (*_IMMUTABLE, np.generic, np.ufunc))
    return False


def makes_new(node: Node, table: Mapping[str, OpDef]) -> bool:
    """Whether the node's one result is a new array (or a scalar) that nobody else has."""
    if len(node.outputs) != 1 or not isinstance(node.outputs[0].type, ArrayType) or "out" in node.keywords:
        return False
    if node.op in _SOMETIMES:
        return _SOMETIMES[node.op](node)
    if node.op in OPERATORS or node.op in NEW:
        return True
    row = table.get(node.op)
    return row is not None and isinstance(row.run, np.ufunc)


def _rounds_floats(node: Node) -> bool:
    """Whether what is rounded has something to round: NumPy may hand back an array of integers as it is."""
    t = node.inputs[0].type
    return isinstance(t, ArrayType) and t.dtype.kind in "fc"


def _subtracts(node: Node) -> bool:
    """Whether differences are taken at all: with n=0, the array itself comes back."""
    given = dict(zip(node.keywords, node.inputs[len(node.inputs) - len(node.keywords) :], strict=True))
    count = node.inputs[1] if len(node.inputs) - len(node.keywords) > 1 else given.get("n", Const(1))
    return isinstance(count, Const) and type(count.value) is int and count.value > 0


_SOMETIMES = {"np.round": _rounds_floats, "np.around": _rounds_floats, "np.diff": _subtracts}


def sees_contents_only(node: Node, k: int, table: Mapping[str, OpDef]) -> bool:
    """Whether input `k`, an array, is only looked into (or written into): its identity doesn't matter."""
    if makes_new(node, table):
        return True
    return (node.op in ("getitem", "setitem") and isinstance(node.inputs[0].type, ArrayType)) and (
        k == 0 or isinstance(node.inputs[k].type, ArrayType)
    )


def never_warns(node: Node) -> bool:
    """Whether the node's arithmetic can't give a floating point or overflow warning."""
    if _may_be_large(node):
        return False
    if node.op in _FLOAT_FREE or node.op in _QUIET_UFUNCS or node.op in COMPARISONS or node.op in BITS:
        return True
    if node.op in _SHAPES or node.op.startswith("py."):
        return True
    if node.op not in _COUNTING:
        return False
    types = [static_or_weak(x.type) for x in node.inputs]
    if all(isinstance(t, WeakType) for t in types):
        return True
    whole = all(
        isinstance(t, WeakType) or (isinstance(t, ArrayType) and t.dtype.kind in "bui") for t in types
    )
    arrays = any(isinstance(t, ArrayType) and not t.scalar for t in types)
    return whole and arrays and node.op in ("add", "sub", "mul", "neg", "pos", "abs")


def _may_be_large(node: Node) -> bool:
    """Whether a Python number may be too large for the small floats that it is taken as beside: a comparison
    warns of that, too."""
    if node.op.startswith("py.") or node.op == "getitem":
        return False
    types = [static_or_weak(x.type) for x in node.inputs]
    small = any(isinstance(t, ArrayType) and t.dtype in SMALL_FLOATS for t in types)
    return small and any(
        isinstance(t, WeakType)
        and t.kind != "bool"
        and not (isinstance(x, Const) and (abs(x.value) <= HALF or x.value in (math.inf, -math.inf)))
        for t, x in zip(types, node.inputs, strict=True)
    )


def silent(node: Node, table: Mapping[str, OpDef]) -> bool:
    """Whether nobody can tell if the node runs: no effect, no error, no warning."""
    if node.regions:
        return node.op == "cond" and removable(node, table)
    if effect_of(node, table) != PURE or "out" in node.keywords:
        return False
    if removable(node, table):
        return node.op.startswith("py.") or node.op == "getitem" or never_warns(node) or _moves(node)
    if not all(_known(value.type) for value in node.outputs):
        return False
    if node.op == "getitem":
        return _index_fits(node)
    if node.op == "py.getattr":
        name = node.inputs[1]
        array = isinstance(node.inputs[0].type, ArrayType) and not node.inputs[0].type.scalar
        return array and isinstance(name, Const) and name.value in ARRAY_FACTS
    if node.op == "py.not":
        return _has_truth(node.inputs[0].type)
    if node.op in OPERATORS:
        return _numbers(node)
    return False


def _moves(node: Node) -> bool:
    """Whether the op only moves elements."""
    return node.op in (
        "np.copy",
        "nd.copy",
        "nd.flatten",
        "np.ravel",
        "np.real",
        "np.imag",
        "np.shape",
        "np.ndim",
    )


def _known(t: Type) -> bool:
    """Whether a type says enough to rule out errors: sizes are known, so operands fit each other."""
    if isinstance(t, ArrayType):
        return t.shape is not None
    return isinstance(t, (WeakType, TupleType)) or (isinstance(t, ObjectType) and t.cls in _IMMUTABLE)


def _has_truth(t: Type) -> bool:
    return isinstance(t, WeakType) or (isinstance(t, ArrayType) and t.scalar)


def _numbers(node: Node) -> bool:
    """Whether an operator on numbers can neither raise nor warn."""
    types = [static_or_weak(x.type) for x in node.inputs]
    if all(isinstance(t, WeakType) for t in types):
        kinds = {t.kind for t in types if isinstance(t, WeakType)}
        if "complex" in kinds and node.op not in ("add", "sub", "neg", "pos", "eq", "ne"):
            return False
        if node.op in COMPARISONS or node.op in SIGNS or node.op in BITS:
            if node.op == "invert":  # Python warns of ~True
                return kinds == {"int"}
            return node.op not in BITS or kinds <= {"bool", "int"}
        # An int may be too large to become a float; one that is known is not.
        mixed = len(kinds - {"bool"}) > 1 and any(
            isinstance(t, WeakType) and t.kind == "int" and not _small(x)
            for t, x in zip(types, node.inputs, strict=True)
        )
        return node.op in ("add", "sub", "mul") and not mixed
    if not all(isinstance(t, (ArrayType, WeakType)) for t in types) or not never_warns(node):
        return False
    if any(isinstance(t, ArrayType) and (t.dtype.kind not in "biuf" or t.device != "cpu") for t in types):
        return False
    for t, x in zip(types, node.inputs, strict=True):
        if isinstance(t, WeakType) and not (t.kind in ("bool", "float") or _small(x)):
            return False
    sizes = [t.shape for t in types if isinstance(t, ArrayType)]
    return all(s is not None and None not in s for s in sizes)


def _small(x: Operand) -> bool:
    """Whether the operand is a known int that fits every integer dtype."""
    return isinstance(x, Const) and type(x.value) in (int, bool) and 0 <= x.value < 128


def _index_fits(node: Node) -> bool:
    """Whether `a[key]` can't fail: slices and constant ints within an array of known rank."""
    base, key = node.inputs
    if not isinstance(base.type, ArrayType) or base.type.shape is None or base.type.scalar:
        return False
    if not isinstance(key, Const):
        return False
    keys = key.value if type(key.value) is tuple else (key.value,)
    if len(keys) > len(base.type.shape):
        return False
    for one, size in zip(keys, base.type.shape, strict=False):
        if type(one) is int:
            if size is None or not -size <= one < size:
                return False
        elif type(one) is not slice or not all(
            part is None or type(part) is int for part in (one.start, one.stop, one.step)
        ):
            return False
        elif one.step == 0:
            return False
    return True


def gives_view(node: Node) -> bool:
    """Whether the node makes a new view of its first operand and reads no elements."""
    array = isinstance(node.inputs[0].type, ArrayType) if node.inputs else False
    made = node.outputs[0].type if len(node.outputs) == 1 else None
    if not array or not isinstance(made, ArrayType) or made.scalar:
        return False
    if node.op == "getitem":
        return _index_fits(node)
    return node.op == "py.getattr" and isinstance(node.inputs[1], Const) and node.inputs[1].value == "T"


def is_one(x: Operand) -> bool:
    """Whether the operand is the Python number 1 (not True)."""
    return isinstance(x, Const) and type(x.value) in (int, float) and x.value == 1


def is_zero(x: Operand) -> bool:
    """Whether the operand is the Python number 0, not -0.0 and not False."""
    return (
        isinstance(x, Const)
        and type(x.value) in (int, float)
        and x.value == 0
        and math.copysign(1, x.value) > 0
    )
