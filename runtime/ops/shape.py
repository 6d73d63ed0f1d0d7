"""Rows of functions that rearrange, repeat or describe arrays.

In: nothing.  Out: `ROWS`.  What always holds: the dtype stays; a NumPy scalar whose shape does not
change stays a scalar where NumPy hands the call to the scalar's own method, and becomes a 0-d array
elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.ir.opdef import OpDef
from runtime.ops.create import shape_spec
from runtime.ops.rules import (
    Shape,
    Unknown,
    any_value,
    as_array,
    asked_dtype,
    bare,
    broadcast,
    check_order,
    device_of,
    dims,
    is_none,
    ndarray,
    normal_axes,
    normal_axis,
    product,
    rank,
    result,
    shape_of,
    size_of,
    static,
    static_int,
    static_or,
    tuple_of,
    twin,
)
from runtime.types import WEAK_INT, ArrayType, StaticType, TupleType, Type


def kept(source: Type, shape: Shape) -> Type:
    """An array of this shape; still a scalar if the operand is one and the shape is ()."""
    t = bare(source)
    a = as_array(source)
    if isinstance(t, ArrayType) and t.scalar and shape == ():
        return result(a.dtype, (), a.device)
    return ndarray(a.dtype, shape, a.device)


def resolve_minus_one(spec: tuple[int | None, ...], total: int | None) -> tuple[int | None, ...]:
    """The shape asked for, -1 replaced by what is left over."""
    if sum(n == -1 for n in spec) > 1:
        raise Unknown
    rest = product(n for n in spec if n != -1)
    if None not in spec and -1 not in spec and total is not None and rest != total:
        raise Unknown
    if -1 not in spec:
        return spec
    if total is None or rest is None or rest == 0 or None in spec:
        left = None
    elif total % rest:
        raise Unknown
    else:
        left = total // rest
    return tuple(left if n == -1 else n for n in spec)


def rule_reshape(
    a: Type, shape: Type | None = None, order: Type | None = None, *, copy: Type | None = None
) -> Type:
    """reshape: sizes as asked, -1 computed."""
    if shape is None or is_none(shape):
        raise Unknown
    return kept(a, resolve_minus_one(shape_spec(shape), size_of(as_array(a))))


def rule_ravel(a: Type, order: Type | None = None) -> Type:
    """ravel: one axis."""
    check_order(order)
    array = as_array(a)
    return ndarray(array.dtype, (size_of(array),), array.device)


def rule_transpose(a: Type, axes: Type | None = None) -> Type:
    """transpose: axes reversed or permuted."""
    array = as_array(a)
    if is_none(axes):
        return kept(a, None if array.shape is None else array.shape[::-1])
    assert axes is not None
    shape = dims(array)
    known = static(axes)
    order = [normal_axis(i, len(shape)) for i in ((known,) if isinstance(known, int) else known)]
    if sorted(order) != list(range(len(shape))):
        raise Unknown
    return kept(a, tuple(shape[i] for i in order))


def rule_swapaxes(a: Type, axis1: Type, axis2: Type) -> Type:
    """swapaxes."""
    shape = list(dims(as_array(a)))
    first, second = static_int(axis1), static_int(axis2)
    if first is None or second is None:
        return kept(a, (None,) * len(shape))
    i, j = normal_axis(first, len(shape)), normal_axis(second, len(shape))
    shape[i], shape[j] = shape[j], shape[i]
    return kept(a, tuple(shape))


def rule_moveaxis(a: Type, source: Type, destination: Type) -> Type:
    """moveaxis."""
    shape = dims(as_array(a))
    start, end = static(source), static(destination)
    first = [normal_axis(i, len(shape)) for i in (start if isinstance(start, (tuple, list)) else (start,))]
    last = [normal_axis(i, len(shape)) for i in (end if isinstance(end, (tuple, list)) else (end,))]
    if len(first) != len(last) or len(set(first)) != len(first) or len(set(last)) != len(last):
        raise Unknown
    order = [i for i in range(len(shape)) if i not in first]
    for to, i in sorted(zip(last, first, strict=True)):
        order.insert(to, i)
    return kept(a, tuple(shape[i] for i in order))


def rule_rollaxis(a: Type, axis: Type, start: Type | None = None) -> Type:
    """rollaxis."""
    shape = dims(as_array(a))
    i = normal_axis(static(axis), len(shape))
    to = static_or(start, 0)
    to += len(shape) if to < 0 else 0
    if not 0 <= to <= len(shape):
        raise Unknown
    order = [k for k in range(len(shape)) if k != i]
    order.insert(to - 1 if i < to else to, i)
    return kept(a, tuple(shape[k] for k in order))


def rule_expand_dims(a: Type, axis: Type) -> Type:
    """expand_dims: new axes of size 1."""
    array = as_array(a)
    shape = dims(array)
    if static_is_traced(axis):
        return ndarray(array.dtype, (None,) * (len(shape) + 1), array.device)
    asked = static(axis)
    count = len(asked) if isinstance(asked, (tuple, list)) else 1
    new = normal_axes(tuple(asked) if isinstance(asked, list) else asked, len(shape) + count)
    sizes = iter(shape)
    full = tuple(1 if i in new else next(sizes) for i in range(len(shape) + count))
    return ndarray(array.dtype, full, array.device)


def static_is_traced(axis: Type) -> bool:
    """Whether the axis is an integer that is not known yet."""
    return not isinstance(axis, (StaticType, TupleType)) and static_int(axis) is None


def rule_squeeze(a: Type, axis: Type | None = None) -> Type:
    """squeeze: axes of size 1 dropped."""
    array = as_array(a)
    if is_none(axis):
        if array.shape is None or None in array.shape:
            return ndarray(array.dtype, None, array.device)
        return kept(a, tuple(n for n in array.shape if n != 1))
    assert axis is not None
    shape = dims(array)
    if static_is_traced(axis):
        return kept(a, (None,) * (len(shape) - 1))
    gone = normal_axes(static(axis), len(shape))
    if any(shape[i] not in (1, None) for i in gone):
        raise Unknown
    return kept(a, tuple(n for i, n in enumerate(shape) if i not in gone))


def rule_broadcast_to(array: Type, shape: Type, subok: Type | None = None) -> Type:
    """broadcast_to: the shape asked for."""
    source = as_array(array)
    asked = shape_spec(shape)
    if source.shape is not None:
        if len(source.shape) > len(asked):
            raise Unknown
        broadcast((source.shape, asked))
    if any(n is not None and n < 0 for n in asked):
        raise Unknown
    return ndarray(source.dtype, asked, source.device)


def rule_flip(m: Type, axis: Type | None = None) -> Type:
    """flip: by indexing, so that a 0-d array gives a scalar."""
    a = as_array(m)
    if axis is not None and not is_none(axis) and not static_is_traced(axis):
        normal_axes(static(axis), rank(a))
    return result(a.dtype, dims(a), a.device)


def rule_flip_of(minimum: int) -> Any:
    """The rule of fliplr and flipud."""

    def rule(m: Type) -> Type:
        a = as_array(m)
        if rank(a) < minimum:
            raise Unknown
        return ndarray(a.dtype, a.shape, a.device)

    return rule


def rule_rot90(m: Type, k: Type | None = None, axes: Type | None = None) -> Type:
    """rot90: two axes swapped for odd turns."""
    a = as_array(m)
    shape = list(dims(a))
    turns = 1 if k is None else static_int(k)
    plane = static_or(axes, (0, 1))
    i, j = (normal_axis(n, len(shape)) for n in plane)
    if i == j:
        raise Unknown
    if turns is None:
        shape[i], shape[j] = (shape[i], shape[j]) if shape[i] == shape[j] else (None, None)
    elif turns % 2:
        shape[i], shape[j] = shape[j], shape[i]
    return ndarray(a.dtype, tuple(shape), a.device)


def rule_roll(a: Type, shift: Type, axis: Type | None = None) -> Type:
    """roll: nothing changes but the order."""
    array = as_array(a)
    return ndarray(array.dtype, array.shape, device_of((a, shift)))


def rule_repeat(a: Type, repeats: Type, axis: Type | None = None) -> Type:
    """repeat: sizes known for a static count."""
    array = as_array(a)
    times = None
    if bare(repeats) == WEAK_INT or (isinstance(repeats, ArrayType) and repeats.scalar):
        times = static_int(repeats)
    elif not isinstance(bare(repeats), (TupleType, ArrayType)):
        raise Unknown
    if times is not None and times < 0:
        raise Unknown
    device = device_of((a, repeats))

    def scaled(n: int | None) -> int | None:
        return None if n is None or times is None else n * times

    if is_none(axis):
        return ndarray(array.dtype, (scaled(size_of(array)),), device)
    assert axis is not None
    shape = dims(array) or (1,)
    known = static_int(axis)
    if known is None:
        return ndarray(array.dtype, (None,) * len(shape), device)
    n = normal_axis(known, len(shape))
    return ndarray(array.dtype, (*shape[:n], scaled(shape[n]), *shape[n + 1 :]), device)


def rule_tile(A: Type, reps: Type) -> Type:
    """tile: sizes multiplied, the shorter of the two padded with ones in front."""
    a = as_array(A)
    times, shape = shape_spec(reps), dims(a)
    width = max(len(times), len(shape))
    times, shape = (1,) * (width - len(times)) + times, (1,) * (width - len(shape)) + shape
    if any(t is not None and t < 0 for t in times):
        raise Unknown
    sizes = tuple(0 if 0 in (n, t) else product((n, t)) for n, t in zip(shape, times, strict=True))
    return ndarray(a.dtype, sizes, a.device)


def at_least(shape: tuple[int | None, ...], ndim: int) -> tuple[int | None, ...]:
    """The shape with axes added as atleast_1d, atleast_2d and atleast_3d do."""
    if len(shape) >= ndim:
        return shape
    if ndim < 3:
        return (1,) * (ndim - len(shape)) + shape
    return {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]


def rule_at_least(ndim: int) -> Any:
    """The rule of atleast_1d and its like."""

    def rule(*arys: Type) -> Type:
        made = []
        for t in arys:
            a = as_array(t)
            made.append(ndarray(a.dtype, at_least(dims(a), ndim), a.device))
        if len(made) != 1 and isinstance(np.atleast_1d(1, 1), list):  # older NumPy
            raise Unknown
        return made[0] if len(made) == 1 else tuple_of(*made)

    return rule


def rule_shape(a: Type) -> Type:
    """shape: a Python int per axis."""
    shape = shape_of(a)
    if shape is None:
        raise Unknown
    return tuple_of(*[WEAK_INT] * len(shape))


def rule_ndim(a: Type) -> Type:
    """ndim: a Python int."""
    shape_of(a)
    return WEAK_INT


def rule_size(a: Type, axis: Type | None = None) -> Type:
    """size: a Python int."""
    shape = shape_of(a)
    if axis is not None and not is_none(axis):
        if shape is None or not isinstance(static(axis), int):
            raise Unknown
        normal_axis(static(axis), len(shape))
    return WEAK_INT


def rule_broadcast_arrays(*args: Type, subok: Type | None = None) -> Type:
    """broadcast_arrays: a tuple of arrays of one shape."""
    arrays = [as_array(t) for t in args]
    shape = broadcast(a.shape for a in arrays)
    if isinstance(np.broadcast_arrays(1), list):  # older NumPy
        raise Unknown
    return tuple_of(*(ndarray(a.dtype, shape, device_of(args)) for a in arrays))


def rule_broadcast_shapes(*args: Type) -> Type:
    """broadcast_shapes: a Python int per axis."""
    shape = broadcast(shape_spec(t) for t in args)
    assert shape is not None
    return tuple_of(*[WEAK_INT] * len(shape))


def rule_pad(array: Type, pad_width: Type, mode: Type | None = None, **options: Type) -> Type:
    """pad: sizes known for a static width."""
    a = as_array(array)
    shape = dims(a)
    if mode is not None and not isinstance(static(mode), str):
        raise Unknown
    if not isinstance(bare(pad_width), (TupleType, ArrayType)) and bare(pad_width) != WEAK_INT:
        raise Unknown
    if not isinstance(pad_width, StaticType):
        return ndarray(a.dtype, (None,) * len(shape), a.device)
    widths = np.broadcast_to(np.asarray(pad_width.value), (len(shape), 2))
    if widths.dtype.kind not in "iu" or widths.size and widths.min() < 0:
        raise Unknown
    sizes = tuple(
        None if n is None else n + int(w[0]) + int(w[1]) for n, w in zip(shape, widths, strict=True)
    )
    return ndarray(a.dtype, sizes, a.device)


def rule_resize(a: Type, new_shape: Type) -> Type:
    """resize: the shape asked for."""
    array = as_array(a)
    shape = shape_spec(new_shape)
    if any(n is not None and n < 0 for n in shape):
        raise Unknown
    if array.shape is None or shape == ():
        raise Unknown
    return ndarray(array.dtype, shape, array.device)


def rule_part(fn: Any) -> Any:
    """The rule of real and imag."""

    def rule(val: Type) -> Type:
        t = bare(val)
        if not isinstance(t, ArrayType):
            raise Unknown
        dtype = asked_dtype(fn, t, ndim=1)
        return result(dtype, (), t.device) if t.scalar else ndarray(dtype, t.shape, t.device)

    return rule


ROWS: tuple[OpDef, ...] = (
    twin("reshape", "The elements in another shape.", rule_reshape),
    twin("ravel", "The elements in one axis.", rule_ravel, method="ravel", raises=False),
    twin("transpose", "The axes permuted.", rule_transpose),
    twin("swapaxes", "Two axes swapped.", rule_swapaxes, method="swapaxes"),
    twin("moveaxis", "Axes moved elsewhere.", rule_moveaxis),
    twin("rollaxis", "One axis moved back.", rule_rollaxis),
    twin("expand_dims", "New axes of size 1.", rule_expand_dims),
    twin("squeeze", "Axes of size 1 dropped.", rule_squeeze, method="squeeze"),
    twin("broadcast_to", "The elements repeated, without copying, to a shape.", rule_broadcast_to),
    twin("flip", "Order reversed along axes.", rule_flip),
    twin("fliplr", "Order reversed along the second axis.", rule_flip_of(2)),
    twin("flipud", "Order reversed along the first axis.", rule_flip_of(1)),
    twin("rot90", "Quarter turns in the plane of two axes.", rule_rot90),
    twin("roll", "Elements moved round along axes.", rule_roll),
    twin("repeat", "Each element repeated.", rule_repeat, method="repeat"),
    twin("tile", "The whole array repeated.", rule_tile),
    twin("atleast_1d", "At least one axis.", rule_at_least(1)),
    twin("atleast_2d", "At least two axes.", rule_at_least(2)),
    twin("atleast_3d", "At least three axes.", rule_at_least(3)),
    twin("shape", "The sizes of the axes.", rule_shape, raises=False),
    twin("ndim", "The number of axes.", rule_ndim, raises=False),
    twin("size", "The number of elements, in all or along an axis.", rule_size),
    twin("broadcast_arrays", "Arrays repeated, without copying, to a common shape.", rule_broadcast_arrays),
    twin("broadcast_shapes", "The shape that shapes broadcast to.", rule_broadcast_shapes),
    twin("pad", "Elements added round the edges.", rule_pad),
    twin("resize", "The elements repeated as often as a shape needs.", rule_resize),
    twin("real", "The real part.", rule_part(np.real), raises=False),
    twin("imag", "The imaginary part.", rule_part(np.imag), raises=False),
    twin("trim_zeros", "Zeros cut off the ends.", any_value),
)
