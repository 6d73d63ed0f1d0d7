"""Rows of sorting, sets, and of the functions that are elementwise without being ufuncs.

In: nothing.  Out: `ROWS`.  What always holds: sizes that depend on values (unique, bincount) are
unknown; dtypes are NumPy's own, asked with arrays of one element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.ir.opdef import OpDef
from runtime.ops.indexing import sample_of
from runtime.ops.rules import (
    BOOL,
    INTP,
    NUMERIC_KINDS,
    Unknown,
    any_value,
    as_array,
    asked_dtype,
    bare,
    broadcast,
    device_of,
    dims,
    flat_dtype,
    is_none,
    known_array,
    ndarray,
    normal_axis,
    numeric_array,
    quietly,
    rank,
    result,
    size_of,
    static_int,
    static_or,
    tuple_of,
    twin,
)
from runtime.ops.ufuncs import operand
from runtime.types import WEAK_BOOL, WEAK_INT, ArrayType, StaticType, TupleType, Type, WeakType

FLOAT = np.dtype(float)


def along(indices: bool, zero_rank: bool) -> Any:
    """The rule of functions that order elements along an axis.

    indices: the result holds indices.  zero_rank: a 0-d operand counts as a vector of one.
    """

    def order(a: Type, axis: Type | None) -> Type:
        array = known_array(a)
        dtype = INTP if indices else array.dtype
        if axis is not None and is_none(axis):
            return ndarray(dtype, (size_of(array),), array.device)
        shape = array.shape
        if shape == ():
            if not zero_rank:
                raise Unknown
            shape = (1,)
        known = -1 if axis is None else static_int(axis)
        if known is not None and shape is not None:
            normal_axis(known, len(shape))
        if shape is None and zero_rank:
            raise Unknown
        return ndarray(dtype, shape, array.device)

    return order


def sorting(indices: bool) -> Any:
    """The rule of sort and argsort."""
    order_of = along(indices, indices)

    def rule(
        a: Type,
        axis: Type | None = None,
        kind: Type | None = None,
        order: Type | None = None,
        *,
        stable: Type | None = None,
    ) -> Type:
        if not is_none(order):
            raise Unknown
        found: Type = order_of(a, axis)
        return found

    return rule


def partitioning(indices: bool) -> Any:
    """The rule of partition and argpartition."""
    order_of = along(indices, indices)

    def rule(
        a: Type, kth: Type, axis: Type | None = None, kind: Type | None = None, order: Type | None = None
    ) -> Type:
        if not is_none(order):
            raise Unknown
        found: Type = order_of(a, axis)
        return found

    return rule


def rule_lexsort(keys: Type, axis: Type | None = None) -> Type:
    """lexsort: indices in the shape of one key."""
    if isinstance(keys, TupleType):
        shapes = [dims(numeric_array(k)) for k in keys.items]
        if not shapes or any(len(s) != len(shapes[0]) for s in shapes):
            raise Unknown
        shape = shapes[0]
    else:
        shape = dims(numeric_array(keys))[1:]
    return result(INTP, shape, device_of([keys]))


def rule_unique(
    ar: Type,
    return_index: Type | None = None,
    return_inverse: Type | None = None,
    return_counts: Type | None = None,
    axis: Type | None = None,
    *,
    equal_nan: Type | None = None,
    sorted: Type | None = None,
) -> Type:
    """unique: the different elements, flat."""
    a = known_array(ar)
    if not is_none(axis) or static_or(return_inverse, False):
        raise Unknown
    flat, index = ndarray(a.dtype, (None,), a.device), ndarray(INTP, (None,), a.device)
    extra = [index for flag in (return_index, return_counts) if static_or(flag, False)]
    return tuple_of(flat, *extra) if extra else flat


def rule_set_of_two(ar1: Type, ar2: Type) -> Type:
    """intersect1d and its like: flat, the size unknown."""
    a, b = known_array(ar1), known_array(ar2)
    return ndarray(np.result_type(a.dtype, b.dtype), (None,), device_of((ar1, ar2)))


def rule_union1d(ar1: Type, ar2: Type) -> Type:
    """union1d: both are laid end to end first."""
    rule_set_of_two(ar1, ar2)
    return ndarray(flat_dtype((ar1, ar2)), (None,), device_of((ar1, ar2)))


def rule_isin(element: Type, test_elements: Type) -> Type:
    """isin: an array of bool, 0-d too."""
    known_array(test_elements)
    return ndarray(BOOL, known_array(element).shape, device_of((element, test_elements)))


def rule_bincount(x: Type, weights: Type | None = None, minlength: Type | None = None) -> Type:
    """bincount: as long as the largest element needs."""
    a = as_array(x)
    if a.dtype.kind not in "iub":
        raise Unknown
    return ndarray(INTP if is_none(weights) else FLOAT, (None,), a.device)


def rule_histogram(a: Type, bins: Type | None = None) -> Type:
    """histogram: counts and edges, for a number of bins."""
    array = known_array(a)
    count = 10 if bins is None else static_int(bins)
    if array.device != "cpu":  # CuPy has its own dtype of edges
        raise Unknown
    _, edges = asked_dtype(np.histogram, array, ndim=1)
    size = None if count is None else count + 1
    return tuple_of(ndarray(INTP, (count,), array.device), ndarray(edges, (size,), array.device))


def rule_diff(a: Type, n: Type | None = None, axis: Type | None = None) -> Type:
    """diff: one element less per order; of order 0 what was given, a tuple for one."""
    array = known_array(a)
    order = 1 if n is None else static_int(n)
    shape = dims(array)
    known = -1 if axis is None else static_int(axis)
    if not shape or (order is not None and order < 1):
        raise Unknown
    dtype = asked_dtype(np.diff, array, ndim=1)
    if dtype != array.dtype:
        raise Unknown
    if known is None:
        return ndarray(dtype, (None,) * len(shape), array.device)
    i = normal_axis(known, len(shape))
    size = shape[i]
    less = None if size is None or order is None else max(0, size - order)
    return ndarray(dtype, (*shape[:i], less, *shape[i + 1 :]), array.device)


# -- elementwise ---------------------------------------------------------------------------------


def rule_clip(
    a: Type,
    a_min: Type | None = None,
    a_max: Type | None = None,
    out: Type | None = None,
    *,
    min: Type | None = None,
    max: Type | None = None,
) -> Type:
    """clip: a scalar where all operands are 0-d."""
    if bare(a) == WEAK_INT and not isinstance(a, StaticType):
        raise Unknown
    if out is not None and not is_none(out):
        if not isinstance(out, ArrayType) or out.scalar:
            raise Unknown
        return out
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise Unknown
    low, high = a_min if min is None else min, a_max if max is None else max
    source = known_array(a)
    bounds = [None if t is None or is_none(t) else t for t in (low, high)]
    given = [t for t in bounds if t is not None]
    samples = [None if t is None else one_of(sample_of(t)) for t in bounds]
    dtype = quietly(np.clip, np.ones(1, source.dtype), *samples).dtype
    shapes = [source.shape, *(operand(t)[1] for t in given)]
    return result(dtype, broadcast(shapes), device_of((a, *given)))


def one_of(sample: Any) -> Any:
    """An array of one element for a dtype; a Python number as it is."""
    return np.ones(1, sample) if isinstance(sample, np.dtype) else sample


def elementwise(fn: Callable[..., Any], order: str = "", python: bool = True) -> Any:
    """The rule of a function that maps each element of its first operand; `order`: further parameters."""

    def rule(a: Type, *operands: Type, **keywords: Type) -> Type:
        names = order.split()
        if len(operands) > len(names) or not set(keywords) <= set(names):
            raise Unknown
        if not python and not isinstance(bare(a), ArrayType):
            raise Unknown
        array = known_array(a)
        if not python and array.dtype.kind not in "biufc":
            raise Unknown
        return result(asked_dtype(fn, array, ndim=1), array.shape, array.device)

    return rule


def rule_round(a: Type, decimals: Type | None = None, out: Type | None = None) -> Type:
    """round: the dtype stays, but for bool."""
    if out is not None and not is_none(out):
        if not isinstance(out, ArrayType) or out.scalar:
            raise Unknown
        return out
    array = known_array(a)
    if decimals is not None:
        static_int(decimals)
    if array.dtype == BOOL and decimals is not None:
        raise Unknown
    return result(asked_dtype(np.round, array, ndim=1), array.shape, array.device)


def rule_isclose(
    a: Type, b: Type, rtol: Type | None = None, atol: Type | None = None, equal_nan: Type | None = None
) -> Type:
    """isclose: a bool per element."""
    if any(t is not None and not isinstance(bare(t), WeakType) for t in (rtol, atol)):
        raise Unknown
    kinds = [operand(t) for t in (a, b)]
    if any(isinstance(k, np.dtype) and k.kind not in NUMERIC_KINDS for k, _ in kinds):
        raise Unknown
    shapes = [s for _, s in kinds]
    return result(BOOL, broadcast(shapes), device_of((a, b)))


def whether(*types: Type, **keywords: Type) -> Type:
    """allclose, array_equal, array_equiv: a Python bool."""
    if device_of(types) != "cpu":
        raise Unknown
    for t in types:
        asked, _ = operand(t)
        if isinstance(asked, np.dtype) and asked.kind not in NUMERIC_KINDS:
            raise Unknown
    return WEAK_BOOL


def rule_interp(
    x: Type,
    xp: Type,
    fp: Type,
    left: Type | None = None,
    right: Type | None = None,
    period: Type | None = None,
) -> Type:
    """interp: double precision in the shape of `x`."""
    values = numeric_array(fp)
    _, shape = operand(x)
    return result(np.complex128 if values.dtype.kind == "c" else FLOAT, shape, device_of((x, xp, fp)))


def rule_convolve(a: Type, v: Type, mode: Type | None = None) -> Type:
    """convolve: the size follows from the mode."""
    return sliding(np.convolve, a, v, static_or(mode, "full"))


def rule_correlate(a: Type, v: Type, mode: Type | None = None) -> Type:
    """correlate: the size follows from the mode."""
    return sliding(np.correlate, a, v, static_or(mode, "valid"))


def sliding(fn: Callable[..., Any], a: Type, v: Type, mode: Any) -> Type:
    """The product of two vectors, one slid along the other."""
    left, right = known_array(a), known_array(v)
    n, m = size_of(left), size_of(right)
    if rank(left) > 1 or rank(right) > 1 or not isinstance(mode, str):
        raise Unknown
    size: int | None = None
    if n is not None and m is not None:
        size = {"full": n + m - 1, "same": max(n, m), "valid": max(n, m) - min(n, m) + 1}.get(mode)
    return ndarray(asked_dtype(fn, left, right, ndim=1), (size,), device_of((a, v)))


def rule_polyval(p: Type, x: Type) -> Type:
    """polyval: Horner's scheme, elementwise."""
    coefficients, at = numeric_array(p), numeric_array(x)
    (n,) = dims(coefficients)
    if not n:
        raise Unknown
    dtype = asked_dtype(np.polyval, coefficients, at, ndim=1)
    return result(dtype, at.shape, device_of((p, x)))


def rule_trapezoid(y: Type, x: Type | None = None, dx: Type | None = None, axis: Type | None = None) -> Type:
    """trapezoid: one axis summed up."""
    array = numeric_array(y)
    if not is_none(x) or (dx is not None and bare(dx) not in (WEAK_INT, WeakType("float"))):
        raise Unknown
    shape = dims(array)
    i = normal_axis(static_or(axis, -1), len(shape))
    dtype = np.dtype(quietly(np.trapezoid, np.ones(2, array.dtype)).dtype)
    return result(dtype, shape[:i] + shape[i + 1 :], array.device)


TRAPEZOID = (twin("trapezoid", "Area under a curve by trapezia.", rule_trapezoid, ulp=8),)

ROWS: tuple[OpDef, ...] = (
    twin("sort", "A sorted copy.", sorting(False)),
    twin("argsort", "Indices that would sort.", sorting(True), method="argsort"),
    twin("lexsort", "Indices that sort by several keys, the last first.", rule_lexsort),
    twin("partition", "A copy with the k-th element in its place.", partitioning(False)),
    twin("argpartition", "Indices that would partition.", partitioning(True), method="argpartition"),
    twin("unique", "The different elements, sorted.", rule_unique),
    twin("union1d", "Elements of either, sorted.", rule_union1d),
    twin("intersect1d", "Elements of both, sorted.", rule_set_of_two),
    twin("setdiff1d", "Elements of the first only.", any_value),
    twin("setxor1d", "Elements of just one, sorted.", rule_set_of_two),
    twin("isin", "Whether each element is among others.", rule_isin),
    twin("bincount", "How often each small integer occurs.", rule_bincount),
    twin("histogram", "Counts per bin, and the edges of the bins.", rule_histogram),
    twin("diff", "Differences of neighbours.", rule_diff),
    twin("ediff1d", "Differences of neighbours, flat.", any_value),
    twin("gradient", "Slopes by central differences.", any_value),
    twin("clip", "Elements limited to a range.", rule_clip, method="clip"),
    twin("round", "Rounded to decimals, ties to even.", rule_round, method="round"),
    twin("around", "Rounded to decimals, ties to even.", rule_round),
    twin("isclose", "Whether nearly equal, elementwise.", rule_isclose),
    twin("allclose", "Whether all are nearly equal.", whether),
    twin("array_equal", "Whether shapes and elements are equal.", whether),
    twin("array_equiv", "Whether equal after broadcasting.", whether),
    twin("nan_to_num", "NaN and infinities replaced.", elementwise(np.nan_to_num, "copy nan posinf neginf")),
    twin("angle", "Angle of a complex number.", elementwise(np.angle, "deg"), ulp=4),
    twin("sinc", "sin(pi x) / (pi x).", elementwise(np.sinc), ulp=4),
    twin("iscomplex", "Whether the imaginary part is not zero.", elementwise(np.iscomplex)),
    twin("isreal", "Whether the imaginary part is zero.", elementwise(np.isreal, python=False)),
    twin("real_if_close", "Real if all imaginary parts are tiny.", any_value),
    twin("fix", "Integer part.", elementwise(np.fix)),
    twin("interp", "Straight lines between given points.", rule_interp, ulp=4),
    twin("convolve", "Discrete convolution of vectors.", rule_convolve, ulp=4),
    twin("correlate", "Cross-correlation of vectors.", rule_correlate, ulp=4),
    twin("polyval", "Value of a polynomial.", rule_polyval, ulp=4),
    twin("polyfit", "Polynomial of least squares.", any_value, ulp=64),
    twin("roots", "Roots of a polynomial.", any_value, ulp=64),
    twin("unwrap", "Jumps of an angle taken out.", any_value),
    *(TRAPEZOID if hasattr(np, "trapezoid") else ()),
)
