"""Rows of ndarray methods that have no function with the same arguments.

In: nothing.  Out: `ROWS`, named `nd.<method>`; they print as method calls.  What always holds: a method
that changes the array in place has the effect WRITE, and no result if it returns None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.ir.opdef import WRITE, OpDef
from runtime.ops import shape
from runtime.ops.rules import (
    KINDS,
    NUMERIC_KINDS,
    Rule,
    Unknown,
    any_value,
    bare,
    bind,
    check_order,
    exact,
    given_dtype,
    is_none,
    ndarray,
    result,
    size_of,
    static,
    static_or,
)
from runtime.types import WEAK_OF, ArrayType, ObjectType, TupleType, Type

PYTHON_OF = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def array_of(t: Type) -> ArrayType:
    """The receiver: an array or a NumPy scalar."""
    found = bare(t)
    if not isinstance(found, ArrayType):
        raise Unknown
    return found


def same_kind(a: ArrayType, dtype: Any) -> Type:
    """The array with another dtype; a scalar stays one."""
    return result(dtype, (), a.device) if a.scalar else ndarray(dtype, a.shape, a.device)


def rule_astype(
    x: Type,
    dtype: Type,
    order: Type | None = None,
    casting: Type | None = None,
    subok: Type | None = None,
    copy: Type | None = None,
) -> Type:
    """astype."""
    a, asked = array_of(x), given_dtype(dtype)
    if asked is None:
        asked = np.dtype(float)
    if asked.kind not in KINDS or a.dtype.kind not in KINDS:
        raise Unknown
    if casting is not None and not np.can_cast(a.dtype, asked, static(casting)):
        raise Unknown
    return same_kind(a, asked)


def rule_copy(x: Type, order: Type | None = None) -> Type:
    """copy."""
    check_order(order)
    a = array_of(x)
    return same_kind(a, a.dtype)


def rule_view(*operands: Type, **keywords: Type) -> Type:
    """view: the same dtype, or one of the same size."""
    given = bind("x dtype", operands, keywords)
    a = array_of(given["x"])
    asked = given_dtype(given.get("dtype")) if "dtype" in given else a.dtype
    if (
        asked is None
        or isinstance(static_or(given.get("dtype"), 0), type)
        and issubclass(static(given["dtype"]), np.ndarray)
    ):
        raise Unknown
    if asked.kind not in NUMERIC_KINDS or asked.itemsize != a.dtype.itemsize:
        raise Unknown
    return same_kind(a, asked)


def rule_conj(x: Type) -> Type:
    """conj, conjugate: a 0-d array of real numbers is returned as it is."""
    a = array_of(x)
    if a.dtype.kind not in NUMERIC_KINDS:
        raise Unknown
    if a.dtype.kind == "c":
        return result(a.dtype, a.shape, a.device)
    return same_kind(a, a.dtype)


def rule_flatten(x: Type, order: Type | None = None) -> Type:
    """flatten: one axis."""
    check_order(order)
    a = array_of(x)
    return ndarray(a.dtype, (size_of(a),), a.device)


def rule_item(x: Type, *args: Type) -> Type:
    """item: a Python number."""
    a = array_of(x)
    if a.dtype.kind not in PYTHON_OF or a.dtype.char in "gG":
        raise Unknown
    return WEAK_OF[PYTHON_OF[a.dtype.kind]]


def rule_tolist(x: Type) -> Type:
    """tolist: a list, or a Python number of a 0-d array."""
    a = array_of(x)
    if a.shape is None:
        raise Unknown
    if a.shape == ():
        return rule_item(x)
    inner = rule_item(x) if len(a.shape) == 1 else ObjectType(list)
    return ObjectType(list, inner)


def rule_tobytes(x: Type, order: Type | None = None) -> Type:
    """tobytes."""
    array_of(x)
    return ObjectType(bytes)


def rule_reshape(x: Type, *sizes: Type, order: Type | None = None, copy: Type | None = None) -> Type:
    """reshape: the sizes as one operand or several."""
    array_of(x)
    single = len(sizes) == 1 and isinstance(bare(sizes[0]), TupleType)
    return shape.rule_reshape(x, sizes[0] if single else TupleType(sizes))


def rule_transpose(x: Type, *axes: Type) -> Type:
    """transpose: the axes as one operand or several."""
    array_of(x)
    if not axes or (len(axes) == 1 and is_none(axes[0])):
        return shape.rule_transpose(x)
    single = len(axes) == 1 and isinstance(bare(axes[0]), TupleType)
    return shape.rule_transpose(x, axes[0] if single else TupleType(axes))


def rule_compress(x: Type, condition: Type, axis: Type | None = None) -> Type:
    """compress: sizes depend on the condition."""
    a = array_of(x)
    if a.scalar or a.shape is None or not isinstance(bare(condition), (ArrayType, TupleType)):
        raise Unknown
    if is_none(axis):
        return ndarray(a.dtype, (None,), a.device)
    return ndarray(a.dtype, (None,) * max(1, len(a.shape)), a.device)


def caller(name: str) -> Callable[..., Any]:
    """A function that calls the method `name` of its first operand."""

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    call.__name__ = name
    return call


# Methods of NumPy arrays that CuPy arrays lack.
NOT_IN_CUPY = frozenset({"getfield", "setfield", "setflags", "resize", "to_device"})


def _row(name: str, doc: str, rule: Rule | None, **facts: Any) -> OpDef:
    """The row of one method."""
    return OpDef(
        name=f"nd.{name}",
        doc=doc,
        rule=None if rule is None else exact(rule),
        run=caller(name),
        method=name,
        cupy=None if name in NOT_IN_CUPY else "",
        **facts,
    )


ROWS: tuple[OpDef, ...] = (
    _row("astype", "The elements in another dtype.", rule_astype),
    _row("copy", "A copy of the array.", rule_copy, raises=False),
    _row("view", "The same memory, seen as another dtype.", rule_view),
    _row("conj", "The complex conjugate.", rule_conj, raises=False),
    _row("conjugate", "The complex conjugate.", rule_conj, raises=False),
    _row("flatten", "A copy in one axis.", rule_flatten, raises=False),
    _row("item", "One element as a Python number.", rule_item),
    _row("tolist", "The elements as nested lists of Python numbers.", rule_tolist),
    _row("tobytes", "The memory as bytes.", rule_tobytes),
    _row("reshape", "The elements in another shape.", rule_reshape),
    _row("transpose", "The axes permuted.", rule_transpose),
    _row("compress", "Slices along an axis where a condition holds.", rule_compress),
    _row("byteswap", "The bytes of each element reversed.", any_value, effect=WRITE),
    _row("getfield", "A part of each element.", any_value),
    _row("to_device", "The array itself, on the device it is on.", any_value),
    _row("dumps", "The array pickled.", any_value),
    _row("fill", "Every element set to a value.", None, effect=WRITE),
    _row("sort", "Elements sorted in place.", None, effect=WRITE),
    _row("partition", "Elements partitioned in place.", None, effect=WRITE),
    _row("put", "Elements at flat indices set.", None, effect=WRITE),
    _row("resize", "Shape and size changed in place.", None, effect=WRITE),
    _row("setfield", "A part of each element set.", None, effect=WRITE),
    _row("setflags", "Flags of the array set.", None, effect=WRITE),
)
