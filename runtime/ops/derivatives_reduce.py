"""Derivatives of reductions and running totals.

In: nothing.  Out: `VJP` and `JVP`, by op name.  What always holds: rules take the function's own
parameters; equal extremes share the cotangent equally; a spread of 0 has slope 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runtime.ops.adjoint import LINEAR, Composite, concrete, safe_quotient, scale, spread


def _masked(ct: Any, where: Any) -> Any:
    return ct if where is True else np.where(where, ct, 0)


def sum_vjp(
    ct: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = 0, where: Any = True,
) -> Any:  # fmt: skip
    """Each element gets the cotangent of the sum it is in."""
    return _masked(spread(ct, a, axis), where)


def _count(a: Any, axis: Any, where: Any) -> Any:
    """How many elements each result is made of, with the reduced axes kept."""
    return np.sum(np.broadcast_to(where, np.shape(a)), axis=axis, keepdims=True)


def mean_vjp(
    ct: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    where: Any = True,
) -> Any:  # fmt: skip
    """As the sum, divided by the number of elements."""
    return _masked(np.divide(spread(ct, a, axis), _count(a, axis, where)), where)


def var_vjp(
    ct: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """Twice the deviation from the mean, divided by the number of elements less `ddof`."""
    ddof = ddof if correction is None else correction
    deviation = a - np.mean(a, axis=axis, keepdims=True, where=where)
    slope = np.divide(2 * np.conjugate(deviation), _count(a, axis, where) - ddof)
    return _masked(scale(spread(ct, a, axis), slope), where)


def std_vjp(ct: Any, y: Any, *operands: Any, **keywords: Any) -> Any:
    """The rule of the variance through its square root."""
    return var_vjp(safe_quotient(ct, 2 * y), y, *operands, **keywords)


def extreme_vjp(
    ct: Any, y: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """The elements that equal the extreme share its cotangent; the others get exactly 0."""
    found = np.equal(a, spread(y, a, axis))
    if where is not True:
        found = np.logical_and(found, where)
    count = np.maximum(np.sum(found, axis=axis, keepdims=True), 1)
    return np.where(found, np.divide(spread(ct, a, axis), count), 0)


def extreme_jvp(
    t: Any, y: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """The mean of the tangents of the elements that equal the extreme."""
    found = np.equal(a, spread(y, a, axis))
    if where is not True:
        found = np.logical_and(found, where)
    keepdims = bool(keepdims)
    count = np.maximum(np.sum(found, axis=axis, keepdims=keepdims), 1)
    return np.divide(np.sum(np.where(found, t, 0), axis=axis, keepdims=keepdims), count)


def _exclusive(a: Any, reverse: bool) -> Any:
    """Products along the last axis of all elements before each one (after it, if reverse)."""
    turned = np.flip(a, -1) if reverse else a
    ones = np.ones((*np.shape(a)[:-1], 1), a.dtype)
    made = np.concatenate([ones, np.cumprod(turned, axis=-1)], axis=-1)[..., :-1]
    return np.flip(made, -1) if reverse else made


def prod_vjp(
    ct: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = 1, where: Any = True,
) -> Any:  # fmt: skip
    """The product of all the other elements: exact where some are 0."""
    shape = np.shape(a)
    used = a if where is True else np.where(where, a, 1)
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    last = tuple(range(-len(axes), 0))
    moved = np.moveaxis(np.reshape(used, shape), tuple(axes), last)
    inner = np.shape(moved)
    kept = len(inner) - len(axes)
    flat = np.reshape(moved, (*inner[:kept], math.prod(inner[kept:])))
    others = np.reshape(_exclusive(flat, False) * _exclusive(flat, True), inner)
    others = np.moveaxis(others, last, tuple(axes))
    return _masked(scale(spread(ct, a, axis), others * initial), where)


def _along_last(a: Any, axis: Any) -> Any:
    """The array with the running axis last; flat for axis None."""
    return np.ravel(a) if axis is None or np.ndim(a) == 0 else np.moveaxis(a, axis, -1)


def _back(made: Any, a: Any, axis: Any) -> Any:
    whole = axis is None or np.ndim(a) == 0
    return np.reshape(made, np.shape(a)) if whole else np.moveaxis(made, -1, axis)


def cumsum_vjp(ct: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The running total from the other end."""
    turned = np.flip(_along_last(ct, axis), -1)
    return _back(np.flip(np.cumsum(turned, axis=-1), -1), a, axis)


def cumprod_vjp(ct: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """A recurrence from the last element to the first, which needs no division: exact where some are 0."""
    moved, cts = _along_last(a, axis), _along_last(ct, axis)
    n = np.shape(moved)[-1]
    if not n:
        return np.zeros(np.shape(a))
    sums = [cts[..., n - 1]]
    for k in range(n - 2, -1, -1):
        sums.append(cts[..., k] + moved[..., k + 1] * sums[-1])
    return _back(np.stack(sums[::-1], axis=-1) * _exclusive(moved, False), a, axis)


def _without_nan(value: float, function: Any) -> Composite:
    def run(a: Any, *args: Any, **kwargs: Any) -> Any:
        return function(np.where(np.isnan(a), value, a), *args, **kwargs)

    return Composite(run)


def _nan_mean(function: Any) -> Composite:
    def run(a: Any, *args: Any, **kwargs: Any) -> Any:
        good = np.logical_not(np.isnan(a))
        return function(np.where(good, a, 0), *args, where=good, **kwargs)

    return Composite(run)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """np.average in terms of sums."""
    keepdims = bool(keepdims)
    if weights is None:
        made, total = np.mean(a, axis=axis, keepdims=keepdims), None
    else:
        if np.shape(weights) != np.shape(a):
            weights = np.reshape(
                weights, tuple(n if i == axis % np.ndim(a) else 1 for i, n in enumerate(np.shape(a)))
            )
            weights = np.broadcast_to(weights, np.shape(a))
        total = np.sum(weights, axis=axis, keepdims=keepdims)
        made = np.divide(np.sum(a * weights, axis=axis, keepdims=keepdims), total)
    if not returned:
        return made
    if total is None:
        total = np.full(np.shape(made), np.size(a) / max(np.size(made), 1))[()]
    return made, np.broadcast_to(total, np.shape(made)) if np.shape(made) else total


def _order_statistic(a: Any, q: float, axis: Any, keepdims: bool, skip_nan: bool) -> Any:
    """The quantile by linear interpolation between neighbours; np.sort puts NaN last, out of the way."""
    shape = np.shape(a)
    axes = tuple(range(len(shape))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    moved = np.moveaxis(a, axes, tuple(range(-len(axes), 0)))
    flat = np.sort(np.reshape(moved, (*np.shape(moved)[: len(shape) - len(axes)], -1)), axis=-1)
    counted = ~np.isnan(concrete(flat)) if skip_nan else np.ones(np.shape(flat), bool)
    last = np.maximum(np.sum(counted, axis=-1, keepdims=True) - 1, 0)
    low = np.floor(q * last).astype(int)
    part = q * last - low
    below = np.take_along_axis(flat, low, -1)
    above = np.take_along_axis(flat, np.minimum(low + 1, last), -1)
    made = (below * (1 - part) + above * part)[..., 0][()]
    if keepdims:
        kept = {x % len(shape) for x in axes}
        made = np.reshape(made, tuple(1 if i in kept else n for i, n in enumerate(shape)))
    return made


def _median(skip_nan: bool) -> Composite:
    """np.median and np.nanmedian as the middle of the sorted elements."""

    def run(
        a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
    ) -> Any:
        return _order_statistic(a, 0.5, axis, bool(keepdims), skip_nan)

    return Composite(run)


def _quantile(unit: float, skip_nan: bool) -> Composite:
    """np.quantile (unit 1), np.percentile (unit 100) and their NaN-skipping twins."""

    def run(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
        method: str = "linear", keepdims: Any = False,
    ) -> Any:  # fmt: skip
        if method != "linear":
            raise NotImplementedError(f"the derivative of quantiles by method {method!r}")
        parts = (np.ravel(concrete(q)) / unit).tolist()
        found = [_order_statistic(a, part, axis, bool(keepdims), skip_nan) for part in parts]
        if np.ndim(q) == 0:
            return found[0]
        return np.reshape(np.stack(found), (*np.shape(q), *np.shape(found[0])))

    return Composite(run)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """np.ptp as a difference of extremes."""
    keepdims = bool(keepdims)
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def _cumulative(function: Any, start: float) -> Composite:
    def run(x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        axis = 0 if axis is None else axis
        made = function(x, axis=axis)
        if not include_initial:
            return made
        first = np.full(tuple(1 if i == axis % np.ndim(x) else n for i, n in enumerate(np.shape(x))), start)
        return np.concatenate([first.astype(made.dtype), made], axis=axis)

    return Composite(run)


VJP: dict[str, dict[Any, Any] | Composite] = {
    "np.sum": {0: sum_vjp, "initial": lambda ct, y, *_, **__: ct},
    "np.mean": {0: mean_vjp},
    "np.var": {0: var_vjp},
    "np.std": {0: std_vjp},
    "np.max": {0: extreme_vjp},
    "np.min": {0: extreme_vjp},
    "np.prod": {0: prod_vjp},
    "np.cumsum": {0: cumsum_vjp},
    "np.cumprod": {0: cumprod_vjp},
    "np.average": Composite(average),
    "np.median": _median(skip_nan=False),
    "np.nanmedian": _median(skip_nan=True),
    "np.quantile": _quantile(1.0, skip_nan=False),
    "np.nanquantile": _quantile(1.0, skip_nan=True),
    "np.percentile": _quantile(100.0, skip_nan=False),
    "np.nanpercentile": _quantile(100.0, skip_nan=True),
    "np.ptp": Composite(ptp),
    "np.nansum": _without_nan(0.0, np.sum),
    "np.nanprod": _without_nan(1.0, np.prod),
    "np.nanmax": _without_nan(-np.inf, np.max),
    "np.nanmin": _without_nan(np.inf, np.min),
    "np.nancumsum": _without_nan(0.0, np.cumsum),
    "np.nancumprod": _without_nan(1.0, np.cumprod),
    "np.nanmean": _nan_mean(np.mean),
    "np.nanvar": _nan_mean(np.var),
    "np.nanstd": _nan_mean(np.std),
    "np.cumulative_sum": _cumulative(np.cumsum, 0.0),
    "np.cumulative_prod": _cumulative(np.cumprod, 1.0),
}
JVP: dict[str, dict[Any, Any]] = {
    "np.sum": {
        0: lambda t, y, a, *args, **kw: np.sum(t, *args, **{k: v for k, v in kw.items() if k != "initial"})
    },
    "np.mean": {0: LINEAR},
    "np.cumsum": {0: LINEAR},
    "np.max": {0: extreme_jvp},
    "np.min": {0: extreme_jvp},
}
