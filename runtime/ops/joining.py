"""Rows of functions that join arrays, cut them, add to them and take from them.

In: nothing.  Out: `ROWS`.  What always holds: the arrays to join arrive as a tuple, or as one array
whose first axis is unstacked; sizes along the joined axis add up where they are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.ir.opdef import OpDef
from runtime.ops.rules import (
    KINDS,
    Unknown,
    as_array,
    bare,
    device_of,
    dims,
    flat_dtype,
    given_dtype,
    is_none,
    ndarray,
    normal_axis,
    quietly,
    rank,
    same_size,
    size_of,
    static,
    static_int,
    static_or,
    twin,
)
from runtime.ops.shape import at_least
from runtime.types import WEAK_INT, ArrayType, ObjectType, StaticType, TupleType, Type


def items_of(arrays: Type) -> Sequence[Type]:
    """The items of a tuple; none of others."""
    t = arrays if isinstance(arrays, TupleType) else bare(arrays)
    return t.items if isinstance(t, TupleType) else ()


def parts(arrays: Type) -> list[ArrayType]:
    """The arrays to join."""
    t = bare(arrays)
    if isinstance(t, TupleType):
        return list(map(as_array, items_of(arrays)))
    if isinstance(t, ArrayType) and t.shape and t.shape[0] is not None and 0 < t.shape[0] <= 1000:
        return [ArrayType(t.dtype, t.shape[1:], False, t.device)] * t.shape[0]
    raise Unknown


def joined_dtype(
    arrays: Sequence[ArrayType], dtype: Type | None = None, casting: Type | None = None
) -> np.dtype[Any]:
    """The dtype of the joined array."""
    if not arrays or any(a.dtype.kind not in KINDS for a in arrays):
        raise Unknown
    asked = given_dtype(dtype)
    if asked is None:
        return np.result_type(*(a.dtype for a in arrays))
    samples = [np.ones(1, a.dtype) for a in arrays]
    found: np.dtype[Any] = quietly(
        np.concatenate, samples, dtype=asked, casting=static_or(casting, "same_kind")
    ).dtype
    return found


def total(sizes: Sequence[int | None]) -> int | None:
    """The sum of sizes, None when one is unknown."""
    return None if None in sizes else sum(n for n in sizes if n is not None)


def joined_shape(shapes: Sequence[tuple[int | None, ...]], axis: int) -> tuple[int | None, ...]:
    """The shape of arrays joined along an axis they have."""
    ndim = len(shapes[0])
    if any(len(s) != ndim for s in shapes):
        raise Unknown
    n = normal_axis(axis, ndim)
    out: list[int | None] = []
    for i in range(ndim):
        column = [s[i] for s in shapes]
        if i == n:
            out.append(total(column))
            continue
        size = column[0]
        for m in column[1:]:
            size = same_size(size, m)
        out.append(size)
    return tuple(out)


def rule_concatenate(
    arrays: Type,
    axis: Type | None = None,
    out: Type | None = None,
    *,
    dtype: Type | None = None,
    casting: Type | None = None,
) -> Type:
    """concatenate: along an axis, or flat."""
    given = parts(arrays)
    device = device_of(given)
    if out is not None and not is_none(out):
        if not isinstance(out, ArrayType) or out.scalar:
            raise Unknown
        return out
    found = joined_dtype(given, dtype, casting)
    if axis is not None and is_none(axis):
        if given_dtype(dtype) is None and items_of(arrays):
            found = flat_dtype(items_of(arrays))
        return ndarray(found, (total([size_of(a) for a in given]),), device)
    shapes = [dims(a) for a in given]
    if any(not s for s in shapes):
        raise Unknown
    known = 0 if axis is None else static_int(axis)
    if known is None:
        return ndarray(found, (None,) * len(shapes[0]), device)
    return ndarray(found, joined_shape(shapes, known), device)


def rule_stack(
    arrays: Type,
    axis: Type | None = None,
    out: Type | None = None,
    *,
    dtype: Type | None = None,
    casting: Type | None = None,
) -> Type:
    """stack: along a new axis."""
    given = parts(arrays)
    if not is_none(out):
        raise Unknown
    found = joined_dtype(given, dtype, casting)
    shape = joined_shape([(1, *dims(a)) for a in given], 0)[1:]
    known = 0 if axis is None else static_int(axis)
    if known is None:
        return ndarray(found, (None,) * (len(shape) + 1), device_of(given))
    n = normal_axis(known, len(shape) + 1)
    return ndarray(found, (*shape[:n], len(given), *shape[n:]), device_of(given))


def stacking(ndim: int, axis_of: Callable[[int], int]) -> Any:
    """The rule of vstack, hstack and dstack: axes added first, then joined."""

    def rule(tup: Type, *, dtype: Type | None = None, casting: Type | None = None) -> Type:
        given = parts(tup)
        shapes = [at_least(dims(a), ndim) for a in given]
        shape = joined_shape(shapes, axis_of(len(shapes[0])))
        return ndarray(joined_dtype(given, dtype, casting), shape, device_of(given))

    return rule


def rule_column_stack(tup: Type) -> Type:
    """column_stack: vectors become columns."""
    given = parts(tup)
    shapes = [dims(a) if rank(a) >= 2 else (*dims(a), 1) if rank(a) else (1, 1) for a in given]
    return ndarray(joined_dtype(given), joined_shape(shapes, 1), device_of(given))


def splitting(axis_of: Callable[[int], int] | None = None) -> Any:
    """The rule of split and its like: a list of arrays, sizes along the axis unknown."""

    def rule(ary: Type, indices_or_sections: Type, axis: Type | None = None) -> Type:
        a = as_array(ary)
        shape = dims(a)
        if not shape:
            raise Unknown
        known = static_or(axis, 0) if axis_of is None else axis_of(len(shape))
        n = normal_axis(known, len(shape))
        size: int | None = None
        if isinstance(indices_or_sections, StaticType) and isinstance(indices_or_sections.value, int):
            count, whole = indices_or_sections.value, shape[n]
            size = whole // count if whole is not None and count > 0 and whole % count == 0 else None
        return ObjectType(list, ndarray(a.dtype, (*shape[:n], size, *shape[n + 1 :]), a.device))

    return rule


def rule_append(arr: Type, values: Type, axis: Type | None = None) -> Type:
    """append: flat without an axis."""
    a, b = as_array(arr), as_array(values)
    found = joined_dtype([a, b])
    if is_none(axis):
        return ndarray(found, (total([size_of(a), size_of(b)]),), device_of((arr, values)))
    return rule_concatenate(TupleType((arr, values)), axis)


def rule_insert(arr: Type, obj: Type, values: Type, axis: Type | None = None) -> Type:
    """insert: one size grows by an unknown number, by one for a single index into a vector."""
    a = as_array(arr)
    b = bare(values)
    if isinstance(b, (ObjectType, TupleType)):
        raise Unknown
    device = device_of((arr, obj, values))
    if is_none(axis):
        return ndarray(a.dtype, (None,), device)
    assert axis is not None
    shape = dims(a)
    n = normal_axis(static(axis), len(shape))
    return ndarray(a.dtype, (*shape[:n], None, *shape[n + 1 :]), device)


def rule_delete(arr: Type, obj: Type, axis: Type | None = None) -> Type:
    """delete: one size shrinks, by one for a single index."""
    a = as_array(arr)
    single = bare(obj) == WEAK_INT or (isinstance(obj, ArrayType) and obj.scalar and obj.dtype.kind in "iu")
    device = device_of((arr, obj))

    def smaller(n: int | None) -> int | None:
        return n - 1 if n and single else None

    if is_none(axis):
        return ndarray(a.dtype, (smaller(size_of(a)),), device)
    assert axis is not None
    shape = dims(a)
    n = normal_axis(static(axis), len(shape))
    return ndarray(a.dtype, (*shape[:n], smaller(shape[n]), *shape[n + 1 :]), device)


ROWS: tuple[OpDef, ...] = (
    twin("concatenate", "Arrays joined along an axis they have.", rule_concatenate),
    twin("stack", "Arrays joined along a new axis.", rule_stack),
    twin("vstack", "Arrays joined along the first axis, vectors as rows.", stacking(2, lambda ndim: 0)),
    twin(
        "hstack",
        "Arrays joined along the second axis, vectors end to end.",
        stacking(1, lambda ndim: 0 if ndim == 1 else 1),
    ),
    twin("dstack", "Arrays joined along the third axis.", stacking(3, lambda ndim: 2)),
    twin("column_stack", "Vectors and matrices joined as columns.", rule_column_stack),
    twin("split", "An array cut into equal parts along an axis.", splitting()),
    twin("array_split", "An array cut into nearly equal parts along an axis.", splitting()),
    twin("hsplit", "An array cut along the second axis.", splitting(lambda ndim: 1 if ndim > 1 else 0)),
    twin("vsplit", "An array cut along the first axis.", splitting(lambda ndim: 0)),
    twin("dsplit", "An array cut along the third axis.", splitting(lambda ndim: 2)),
    twin("append", "Values added at the end.", rule_append),
    twin("insert", "Values put before given positions.", rule_insert, cupy=False),
    twin("delete", "Elements at given positions left out.", rule_delete),
)
