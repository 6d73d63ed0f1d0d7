"""Rows of reductions and running totals.

In: nothing.  Out: `ROWS`.  What always holds: reducing all axes gives a scalar (0-d on the GPU); the
dtype is what NumPy gives for an array of one element; an axis that is not known yet removes one axis
and makes the other sizes unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.dataclass import dataclass
from runtime.ir.opdef import OpDef
from runtime.ops.rules import (
    PYTHON_KINDS,
    Rule,
    Shape,
    Unknown,
    any_value,
    as_array,
    asked_dtype,
    asked_type,
    bare,
    bind,
    dims,
    exact,
    given_dtype,
    is_none,
    ndarray,
    normal_axes,
    numeric_array,
    result,
    size_of,
    static,
    static_int,
    static_or,
)
from runtime.types import ArrayType, StaticType, Type, WeakType, type_of


def reduced_shape(shape: Shape, axis: Type | None, keepdims: bool) -> Shape:
    """The shape after reducing over `axis`."""
    if is_none(axis) and not keepdims:
        return ()
    if shape is None:
        raise Unknown
    if is_none(axis):
        return (1,) * len(shape)
    assert axis is not None
    try:
        known = static(axis)
    except Unknown:
        static_int(axis)  # a traced tuple of axes says nothing of the rank
        rest = len(shape) if keepdims else len(shape) - 1
        return (None,) * rest
    if not shape and known in (0, -1):  # NumPy lets a 0-d array pass for a vector here
        return ()
    axes = normal_axes(known, len(shape))
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes)


def check_mask(where: Type | None, shape: Shape) -> None:
    """Whether the `where=` mask surely fits the array; it has no influence on the type then."""
    if where is None or (isinstance(where, StaticType) and where.value is True):
        return
    mask = as_array(where)
    if mask.dtype != np.bool_ or mask.shape is None or shape is None or len(mask.shape) > len(shape):
        raise Unknown
    for n, m in zip(mask.shape, shape[len(shape) - len(mask.shape) :], strict=True):
        if n != 1 and (n is None or n != m):
            raise Unknown


def initial_value(initial: Type | None) -> dict[str, Any]:
    """The `initial=` to probe with."""
    if initial is None:
        return {}
    if isinstance(initial, StaticType):
        return {"initial": initial.value}
    if isinstance(initial, WeakType):
        return {"initial": PYTHON_KINDS[initial.kind](1)}
    raise Unknown


def reduction(fn: Callable[..., Any], order: str) -> Rule:
    """The rule of a reduction whose parameters after the array are `order`."""

    def rule(*operands: Type, **keywords: Type) -> Type:
        given = bind("a " + order, operands, keywords)
        a = numeric_array(given["a"])
        keepdims = bool(static_or(given.get("keepdims"), False))
        out = given.get("out")
        options: dict[str, Any] = initial_value(given.get("initial"))
        if not is_none(given.get("dtype")):
            options["dtype"] = given_dtype(given["dtype"])
        if given.get("ddof") is not None and bare(given["ddof"]) not in (type_of(0), type_of(0.0)):
            raise Unknown
        for name in ("mean", "correction"):
            if name in given:
                raise Unknown
        check_mask(given.get("where"), a.shape)
        shape = reduced_shape(a.shape, given.get("axis"), keepdims)
        if not is_none(out):
            if not isinstance(out, ArrayType) or out.scalar:
                raise Unknown
            return out
        if shape == () and not keepdims and a.device == "cpu":
            if not is_none(given.get("axis")):
                options["axis"] = 0  # NumPy 2.0 counts in a Python int only without an axis
            whole = asked_type(fn, a, (1,), **options)
            if isinstance(whole, (WeakType, ArrayType)):
                return whole
            raise Unknown
        if shape == () and a.device == "cpu":
            return asked_type(fn, a, (), **options, keepdims=True)
        dtype = asked_dtype(fn, a, ndim=1, **options)
        return result(dtype, shape, a.device)

    return exact(rule)


def running(fn: Callable[..., Any], order: str) -> Rule:
    """The rule of running totals: the shape stays, or is flat without an axis."""

    def rule(*operands: Type, **keywords: Type) -> Type:
        given = bind("a " + order, operands, keywords)
        a = numeric_array(given["a"])
        out, axis = given.get("out"), given.get("axis")
        if not is_none(out):
            if not isinstance(out, ArrayType) or out.scalar:
                raise Unknown
            return out
        options = {} if is_none(given.get("dtype")) else {"dtype": given_dtype(given["dtype"])}
        dtype = asked_dtype(fn, a, ndim=1, **options)
        if is_none(axis):
            return ndarray(dtype, (size_of(a),), a.device)
        assert axis is not None
        known = static_int(axis)
        shape = dims(a) or (1,)
        if known is not None:
            normal_axes(known, len(shape))
        return ndarray(dtype, shape, a.device)

    return exact(rule)


def accumulated(fn: Callable[..., Any]) -> Rule:
    """The rule of `ufunc.accumulate`: the shape stays, along the first axis where none is given."""

    def rule(*operands: Type, **keywords: Type) -> Type:
        given = bind("array axis dtype out", operands, keywords)
        a, out = numeric_array(given["array"]), given.get("out")
        if not is_none(out):
            raise Unknown
        axis = 0 if given.get("axis") is None else static_int(given["axis"])
        shape = dims(a)
        if axis is None or not shape:
            raise Unknown
        normal_axes(axis, len(shape))
        options = {} if is_none(given.get("dtype")) else {"dtype": given_dtype(given["dtype"])}
        return ndarray(asked_dtype(fn, a, ndim=1, **options), shape, a.device)

    return exact(rule)


def rule_average(
    a: Type,
    axis: Type | None = None,
    weights: Type | None = None,
    returned: Type | None = None,
    *,
    keepdims: Type | None = None,
) -> Type:
    """np.average: without weights it is the mean."""
    if not is_none(weights) or static_or(returned, False):
        raise Unknown
    keywords = {} if keepdims is None else {"keepdims": keepdims}
    return MEAN(a, *(() if axis is None else (axis,)), **keywords)


SUM = "axis dtype out keepdims initial where"
MAX = "axis out keepdims initial where"
MEAN_ORDER = "axis dtype out keepdims where"
STD = "axis dtype out ddof keepdims where mean correction"
MEAN = reduction(np.mean, MEAN_ORDER)


@dataclass(frozen=True)
class Line:
    """One reduction of the table below."""

    name: str
    doc: str
    order: str
    method: bool = True
    ulp: int = 0
    aliases: tuple[str, ...] = ()
    cupy: bool = True


REDUCTIONS: tuple[Line, ...] = (
    Line("sum", "Sum over axes.", SUM, ulp=4),
    Line("prod", "Product over axes.", SUM, ulp=4),
    Line("max", "Largest element over axes; NaN wins.", MAX, aliases=("amax",)),
    Line("min", "Smallest element over axes; NaN wins.", MAX, aliases=("amin",)),
    Line("mean", "Mean over axes.", MEAN_ORDER, ulp=4),
    Line("std", "Standard deviation over axes.", STD, ulp=8),
    Line("var", "Variance over axes.", STD, ulp=8),
    Line("any", "Whether any element is true.", "axis out keepdims where"),
    Line("all", "Whether every element is true.", "axis out keepdims where"),
    Line("argmax", "Index of the first largest element.", "axis out keepdims"),
    Line("argmin", "Index of the first smallest element.", "axis out keepdims"),
    Line("ptp", "Largest less smallest element.", "axis out keepdims", method=False),
    Line(
        "median",
        "Middle element, or the mean of the two.",
        "axis out overwrite_input keepdims",
        method=False,
        ulp=1,
    ),
    Line("count_nonzero", "Number of elements that are not zero.", "axis keepdims", method=False),
    Line("nansum", "Sum over axes, NaN as zero.", SUM, method=False, ulp=4),
    Line("nanprod", "Product over axes, NaN as one.", SUM, method=False, ulp=4),
    Line("nanmax", "Largest element, NaN left out.", MAX, method=False),
    Line("nanmin", "Smallest element, NaN left out.", MAX, method=False),
    Line("nanmean", "Mean, NaN left out.", MEAN_ORDER, method=False, ulp=4),
    Line("nanstd", "Standard deviation, NaN left out.", STD, method=False, ulp=8),
    Line("nanvar", "Variance, NaN left out.", STD, method=False, ulp=8),
    Line(
        "nanmedian", "Middle element, NaN left out.", "axis out overwrite_input keepdims", method=False, ulp=1
    ),
    Line("nanargmax", "Index of the first largest element, NaN left out.", "axis out keepdims", method=False),
    Line(
        "nanargmin", "Index of the first smallest element, NaN left out.", "axis out keepdims", method=False
    ),
)

RUNNING: tuple[Line, ...] = (
    Line("cumsum", "Running sum along an axis.", "axis dtype out", ulp=4),
    Line("cumprod", "Running product along an axis.", "axis dtype out", ulp=4),
    Line("nancumsum", "Running sum along an axis, NaN as zero.", "axis dtype out", method=False, ulp=4),
    Line("nancumprod", "Running product along an axis, NaN as one.", "axis dtype out", method=False, ulp=4),
)

ACCUMULATED = ("maximum", "minimum", "add", "multiply")

QUANTILES = (
    ("percentile", "Percentile over axes.", True),
    ("quantile", "Quantile over axes.", True),
    ("nanpercentile", "Percentile over axes, NaN left out.", False),
    ("nanquantile", "Quantile over axes, NaN left out.", False),
)


def _row(line: Line, rule: Rule) -> OpDef:
    """The row of one line."""
    fn = getattr(np, line.name)
    captures = tuple(dict.fromkeys((fn, *(getattr(np, alias) for alias in line.aliases))))
    return OpDef(
        name=f"np.{line.name}",
        doc=line.doc,
        rule=rule,
        run=fn,
        path=f"numpy.{line.name}",
        captures=captures,
        method=line.name if line.method else None,
        cupy=f"cupy.{line.name}" if line.cupy else None,
        ulp=line.ulp,
    )


def _accumulated_row(name: str) -> OpDef:
    """The row of a ufunc's `accumulate`, whose derivative is the tape's."""
    fn = getattr(np, name).accumulate
    return OpDef(
        name=f"np.{name}.accumulate",
        doc=f"What `np.{name}` makes of the elements so far, along an axis.",
        rule=accumulated(fn),
        run=fn,
        path=f"numpy.{name}.accumulate",
        captures=(fn,),
        cupy=None,
        ulp=4,
    )


ROWS: tuple[OpDef, ...] = (
    *(_row(line, reduction(getattr(np, line.name), line.order)) for line in REDUCTIONS),
    *(_row(line, running(getattr(np, line.name), line.order)) for line in RUNNING),
    *map(_accumulated_row, ACCUMULATED),
    *(_row(Line(name, doc, "", method=False, ulp=4, cupy=cupy), any_value) for name, doc, cupy in QUANTILES),
    _row(Line("average", "Weighted mean over axes.", "", method=False, ulp=4), exact(rule_average)),
)
