"""Rows of indexing: reading and writing items, and NumPy's functions that pick elements.

In: nothing.  Out: `ROWS`.  What always holds: an array indexed by as many integers as it has axes gives
a scalar; slices keep an axis, masks and index arrays follow NumPy's rules for where the picked axes
go; a size that depends on values is unknown.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.dataclass import dataclass
from runtime.ir.opdef import WRITE, OpDef
from runtime.ops.rules import (
    INTP,
    Shape,
    Unknown,
    any_value,
    as_array,
    bare,
    broadcast,
    device_of,
    dims,
    exact,
    is_none,
    ndarray,
    normal_axis,
    numeric_array,
    probe_dtype,
    rank,
    result,
    same_size,
    scalar,
    size_of,
    static,
    static_int,
    tuple_of,
    twin,
)
from runtime.ops.ufuncs import operand
from runtime.types import (
    WEAK_BOOL,
    WEAK_INT,
    ArrayType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
    join,
    type_of,
)

# -- basic and advanced indexing -----------------------------------------------------------------


@dataclass(frozen=True)
class Index:
    """One item of a key.

    kind: "int", "slice", "new" (an axis of size 1), "rest" (the ellipsis) or "pick" (an index array).
    takes: how many axes of the array it stands for.
    slice: the slice where known.  shape: of a picked block, before broadcasting.
    """

    kind: str
    takes: int = 0
    slice: slice | None = None
    shape: tuple[int | None, ...] = ()
    mask: tuple[int | None, ...] | None = None


def key_items(key: Type) -> list[Type]:
    """The items of a key: those of a tuple, or the key alone."""
    if isinstance(key, StaticType) and type(key.value) is tuple:
        return [StaticType(v) for v in key.value]
    if isinstance(key, TupleType):
        if key.cls is not tuple:
            raise Unknown
        return list(key.items)
    return [key]


def index_of(item: Type) -> Index:
    """How one item of a key picks."""
    if isinstance(item, StaticType):
        value = item.value
        if value is None:
            return Index("new")
        if value is Ellipsis:
            return Index("rest")
        if isinstance(value, slice):
            return Index("slice", 1, value)
        if isinstance(value, (bool, np.bool_)):
            return Index("pick", 0, shape=(int(value),), mask=())
        if isinstance(value, (int, np.integer)):
            return Index("int", 1)
        item = type_of(value)
    if item == ObjectType(slice):
        return Index("slice", 1)
    if item == WEAK_INT:
        return Index("int", 1)
    if item == WEAK_BOOL:
        return Index("pick", 0, shape=(None,), mask=())
    if isinstance(item, TupleType) and item.items:
        if all(bare(i) == WEAK_INT for i in item.items):
            return Index("pick", 1, shape=(len(item.items),))
        item = as_array(item)
    if not isinstance(item, ArrayType) or item.shape is None:
        raise Unknown
    if item.dtype.kind in "iu":
        return Index("pick", 1, shape=item.shape) if item.shape else Index("int", 1)
    if item.dtype == np.bool_:
        return Index("pick", len(item.shape), shape=(None,), mask=item.shape)
    raise Unknown


def sliced_size(n: int | None, cut: slice | None) -> int | None:
    """The size of an axis after slicing."""
    if cut is None:
        return None
    if n is None:
        whole = cut.start in (None, 0) and cut.stop is None and cut.step in (None, 1, -1)
        if whole and not (cut.start == 0 and cut.step == -1):
            return None
        if cut.start is None and cut.stop == 0 and cut.step in (None, 1):
            return 0
        return None
    return len(range(*cut.indices(n)))


def expanded(items: Sequence[Index], ndim: int) -> list[Index]:
    """The items with the ellipsis (or the missing tail) spelt out as whole slices."""
    rests = sum(i.kind == "rest" for i in items)
    free = ndim - sum(i.takes for i in items)
    if rests > 1 or free < 0:
        raise Unknown
    whole = Index("slice", 1, slice(None))
    out: list[Index] = []
    for i in items:
        # An ellipsis that stands for no axis still separates index arrays, as an empty run would.
        out += [Index("gap"), *[whole] * free] if i.kind == "rest" else [i]
    return out if rests else out + [whole] * free


def array_item(a: ArrayType, key: Type) -> Type:
    """The type of `array[key]`."""
    raw = key_items(key)
    device_of((a, *(i for i in raw if isinstance(i, ArrayType))))
    if a.device != "cpu" and any(
        isinstance(i, ArrayType) and i.device == "cpu" and i.shape != () for i in raw
    ):
        raise Unknown
    items = [index_of(i) for i in raw]
    if a.scalar:
        raise Unknown
    if a.shape is None:
        if all(i.kind == "int" for i in items):
            raise Unknown
        return ndarray(a.dtype, None, a.device)
    full = expanded(items, len(a.shape))
    shape = picked_shape(full, a.shape)
    if shape == () and not any(i.kind == "rest" for i in items):
        return scalar(a.dtype, a.device)
    return ndarray(a.dtype, shape, a.device)


def picked_shape(items: Sequence[Index], shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The shape that remains, picked axes first when slices stand between index arrays."""
    picking = any(i.kind == "pick" for i in items)
    before: list[int | None] = []
    after: list[int | None] = []
    blocks: list[Shape] = []
    runs, inside, axis = 0, False, 0
    for i in items:
        sizes = shape[axis : axis + i.takes]
        axis += i.takes
        if picking and i.kind in ("int", "pick"):
            if i.mask is not None:
                for n, m in zip(i.mask, sizes, strict=True):
                    same_size(n, m)
            blocks.append(i.shape)
            runs += not inside
            inside = True
            continue
        inside = False
        kept = before if not runs else after
        if i.kind == "slice":
            kept.append(sliced_size(sizes[0], i.slice))
        elif i.kind == "new":
            kept.append(1)
    block = broadcast(blocks)
    assert block is not None
    if runs > 1:
        return (*block, *before, *after)
    return (*before, *block, *after)


def tuple_item(container: TupleType, key: Type) -> Type:
    """The type of `tuple[key]`."""
    if isinstance(key, StaticType):
        if isinstance(key.value, slice):
            return TupleType(container.items[key.value])
        return container.items[operator.index(key.value)]
    static_int(key)
    return functools.reduce(join, container.items)


def rule_getitem(container: Type, key: Type) -> Type:
    """`container[key]`."""
    inner = bare(container)
    if isinstance(inner, TupleType):
        return tuple_item(inner, key)
    if isinstance(container, StaticType) and isinstance(container.value, (range, str)):
        static_int(key)
        return WEAK_INT if isinstance(container.value, range) else ObjectType(str)
    if isinstance(inner, ArrayType):
        return array_item(inner, key)
    raise Unknown


# -- functions -----------------------------------------------------------------------------------


def index_shape(t: Type) -> tuple[int | None, ...]:
    """The shape of an operand that holds indices."""
    if bare(t) == WEAK_INT:
        return ()
    if isinstance(t, TupleType) and t.items and all(bare(i) == WEAK_INT for i in t.items):
        return (len(t.items),)
    a = as_array(t)
    if a.dtype.kind not in "iub":
        raise Unknown
    return dims(a)


def rule_take(
    a: Type, indices: Type, axis: Type | None = None, out: Type | None = None, mode: Type | None = None
) -> Type:
    """np.take."""
    array, picked = as_array(a), index_shape(indices)
    if not is_none(out):
        raise Unknown
    device = device_of((a, indices))
    if is_none(axis):
        return result(array.dtype, picked, device)
    assert axis is not None
    known = static_int(axis)
    shape = dims(array) or (1,)
    if known is None:
        return result(array.dtype, (None,) * (len(shape) - 1 + len(picked)), device)
    n = normal_axis(known, len(shape))
    return result(array.dtype, shape[:n] + picked + shape[n + 1 :], device)


def sample_of(t: Type) -> Any:
    """An operand of promotion: a dtype, or a Python number for a weak one."""
    asked, _ = operand(t)
    return asked if isinstance(asked, np.dtype) else asked(1)


def rule_where(condition: Type, x: Type | None = None, y: Type | None = None) -> Type:
    """np.where: an array even when 0-d."""
    if x is None or y is None:
        return rule_nonzero(condition)
    device = device_of((condition, x, y))
    shapes = [() if bare(condition) == WEAK_INT else as_array(condition).shape]
    shapes += [operand(t)[1] for t in (x, y)]
    return ndarray(np.result_type(sample_of(x), sample_of(y)), broadcast(shapes), device)


def rule_nonzero(a: Type) -> Type:
    """np.nonzero: one index array per axis."""
    array = numeric_array(a)
    if rank(array) == 0:
        raise Unknown
    return tuple_of(*[ndarray(INTP, (None,), array.device)] * rank(array))


def rule_flatnonzero(a: Type) -> Type:
    """np.flatnonzero."""
    return ndarray(INTP, (None,), numeric_array(a).device)


def rule_argwhere(a: Type) -> Type:
    """np.argwhere: a row of indices per element that is not zero."""
    array = numeric_array(a)
    return ndarray(INTP, (None, rank(array)), array.device)


def rule_searchsorted(a: Type, v: Type, side: Type | None = None, sorter: Type | None = None) -> Type:
    """np.searchsorted: an index per element of `v`."""
    numeric_array(a)
    shape = () if isinstance(bare(v), WeakType) else numeric_array(v).shape
    return result(INTP, shape, device_of((a, v)))


def rule_digitize(x: Type, bins: Type, right: Type | None = None) -> Type:
    """np.digitize: an index per element of `x`."""
    return rule_searchsorted(bins, x)


def rule_compress(condition: Type, a: Type, axis: Type | None = None, out: Type | None = None) -> Type:
    """np.compress: the size along the axis depends on values."""
    array = as_array(a)
    as_array(condition)
    if not is_none(out):
        raise Unknown
    device = device_of((condition, a))
    if is_none(axis):
        return ndarray(array.dtype, (None,), device)
    assert axis is not None
    known = static_int(axis)
    shape = dims(array)
    if not shape:
        raise Unknown
    if known is None:
        return ndarray(array.dtype, (None,) * len(shape), device)
    n = normal_axis(known, len(shape))
    return ndarray(array.dtype, (*shape[:n], None, *shape[n + 1 :]), device)


def rule_extract(condition: Type, arr: Type) -> Type:
    """np.extract: the elements where the condition holds, flat."""
    as_array(condition)
    return ndarray(as_array(arr).dtype, (None,), device_of((condition, arr)))


def rule_choose(a: Type, choices: Type, out: Type | None = None, mode: Type | None = None) -> Type:
    """np.choose among a tuple of arrays."""
    if not is_none(out) or not isinstance(choices, TupleType):
        raise Unknown
    arrays = [numeric_array(c) for c in choices.items]
    shapes = [index_shape(a), *(c.shape for c in arrays)]
    dtypes = tuple((c.dtype, 1) for c in arrays)
    dtype = probe_dtype(_choose, dtypes, ())
    shape = broadcast(shapes)
    return result(dtype, shape, device_of((a, *choices.items)))


def _choose(*choices: Any) -> Any:
    """np.choose of the first, for its dtype."""
    return np.choose(np.zeros(1, int), choices)


def rule_take_along_axis(arr: Type, indices: Type, axis: Type | None = None) -> Type:
    """np.take_along_axis: the shape of the indices, other axes broadcast against the array."""
    array, picked = as_array(arr), as_array(indices)
    device = device_of((arr, indices))
    if axis is None:
        return ndarray(array.dtype, (None,) * rank(array), device)
    known = None if is_none(axis) else static_int(axis)
    if is_none(axis):
        return ndarray(array.dtype, (size_of(picked),), device)
    if rank(array) != rank(picked):
        raise Unknown
    if known is None:
        return ndarray(array.dtype, (None,) * rank(array), device)
    n = normal_axis(known, rank(array))
    left = [1 if i == n else size for i, size in enumerate(dims(array))]
    return ndarray(array.dtype, broadcast((tuple(left), dims(picked))), device)


def rule_diagonal(
    a: Type, offset: Type | None = None, axis1: Type | None = None, axis2: Type | None = None
) -> Type:
    """np.diagonal: a view, its axis last."""
    array = as_array(a)
    first = 0 if axis1 is None else static(axis1)
    second = 1 if axis2 is None else static(axis2)
    shift = 0 if offset is None else static_int(offset)
    shape = dims(array)
    i, j = normal_axis(first, len(shape)), normal_axis(second, len(shape))
    if i == j:
        raise Unknown
    n, m = shape[i], shape[j]
    size: int | None = None
    if n is not None and m is not None and shift is not None:
        size = max(0, min(n + min(shift, 0), m - max(shift, 0)))
    return ndarray(array.dtype, (*(s for k, s in enumerate(shape) if k not in (i, j)), size), array.device)


ROWS: tuple[OpDef, ...] = (
    OpDef(
        name="getitem",
        doc="`a[key]`: of an array, a tuple or any container.",
        rule=exact(rule_getitem),
        run=operator.getitem,
        source="{0}[{1}]",
    ),
    OpDef(
        name="setitem",
        doc="`a[key] = value`.",
        rule=None,
        run=operator.setitem,
        source="{0}[{1}] = {2}",
        effect=WRITE,
        precedence=0,
    ),
    twin("take", "Elements at indices, along an axis or of the flat array.", rule_take, method="take"),
    twin("where", "Elements of two arrays chosen by a condition; or where it holds.", rule_where),
    twin(
        "nonzero",
        "Indices of the elements that are not zero, an array per axis.",
        rule_nonzero,
        method="nonzero",
    ),
    twin("flatnonzero", "Flat indices of the elements that are not zero.", rule_flatnonzero),
    twin("argwhere", "Indices of the elements that are not zero, a row each.", rule_argwhere),
    twin(
        "searchsorted", "Where elements would go in a sorted array.", rule_searchsorted, method="searchsorted"
    ),
    twin("digitize", "Number of the bin that each element is in.", rule_digitize),
    twin("compress", "Slices along an axis where a condition holds.", rule_compress),
    twin("extract", "Elements where a condition holds, flat.", rule_extract),
    twin("choose", "Elements of several arrays chosen by number.", rule_choose, method="choose"),
    twin("take_along_axis", "Elements at indices that match along the other axes.", rule_take_along_axis),
    twin("diagonal", "The diagonal of two axes.", rule_diagonal, method="diagonal"),
    twin("put", "Write values at flat indices.", None, effect=WRITE),
    twin("put_along_axis", "Write values at indices that match along the other axes.", None, effect=WRITE),
    twin("place", "Write values where a mask holds.", None, effect=WRITE),
    twin("copyto", "Write one array into another.", None, effect=WRITE),
    twin("putmask", "Write values where a mask holds, by position.", None, effect=WRITE),
    twin("fill_diagonal", "Write a value on the diagonal.", None, effect=WRITE),
    twin("select", "Elements of the first array whose condition holds.", any_value),
    twin("piecewise", "Functions applied where conditions hold.", any_value),
)
