"""NumPy's functions in terms of others, which native code has instructions for.

In: what the function of NumPy's takes; trace values, or plain ones.  Out: what it gives, bit by bit.  What
always holds: where NumPy would raise or warn by itself, these raise `Left` (so the plan does the call); what
is not said here raises `Left` at once.  Each follows what NumPy does step by step, so that it warns of the
same floating-point errors and takes the same dtypes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from runtime.execute.native.wording import (
    anywhere,
    asked,
    beside,
    cut,
    double,
    dtype_of,
    integer,
    left_if,
    number,
    only_if,
    place,
    rank,
    weak_float,
)
from runtime.functional import cond, for_loop, while_loop

Function = Callable[..., Any]
_FLOATS = "fc"


# --------------------------------------------------------------------------------------- closeness
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """np.isclose; infinities that are subtracted, of which it keeps silent, are left."""
    only_if(type(equal_nan) is bool and number(rtol) and number(atol))
    for tolerance in (rtol, atol):
        left_if(np.logical_not(np.isfinite(tolerance)))
    kind = dtype_of(b)
    if kind is None:
        b = asked(float, b)
    elif kind.kind not in _FLOATS:
        only_if(kind.kind in "biu")
        b = double(b) if number(b) else b.astype(np.result_type(kind, 1.0))
    made = np.less_equal(abs(a - b), atol + rtol * abs(b)) & np.isfinite(b) | (a == b)
    return made | (np.isnan(a) & np.isnan(b)) if equal_nan else made


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """np.allclose."""
    made = isclose(a, b, rtol, atol, equal_nan)
    return asked(bool, np.all(made) if rank(a) or rank(b) else made)


def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> Any:
    """np.array_equal."""
    only_if(equal_nan is False)
    if rank(a1) != rank(a2):
        return False
    if not rank(a1):
        return asked(bool, a1 == a2)
    alike = True
    for n, m in zip(a1.shape, a2.shape, strict=True):
        alike = alike & (n == m)
    return cond(alike, lambda: asked(bool, np.all(a1 == a2)), lambda: False)


# ------------------------------------------------------------------------------------------ reductions
def axes_of(axis: Any, keepdims: Any = False) -> dict[str, Any]:
    """What a reduction is told of axes."""
    only_if((axis is None or type(axis) is int) and type(keepdims) is bool)
    return ({} if axis is None else {"axis": axis}) | ({"keepdims": True} if keepdims else {})


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: Any = False) -> Any:
    """np.ptp."""
    given = axes_of(axis, keepdims)
    return np.subtract(np.max(a, **given), np.min(a, **given))


def average(a: Any, axis: Any = None, weights: Any = None, returned: Any = False) -> Any:
    """np.average; weights as large as the array, or one for each place along the axis."""
    given = axes_of(axis)
    only_if(returned is False and rank(a) > 0)
    if weights is None:
        return np.mean(a, **given)
    kind, other = dtype_of(a), dtype_of(weights)
    assert kind is not None
    only_if(other is not None and kind.kind in "biuf" and other.kind == "f" and rank(weights) > 0)
    result = np.result_type(kind, other, "f8") if kind.kind in "biu" else np.result_type(kind, other)
    only_if(other == result and (kind.kind in "biu" or kind == result))
    if rank(weights) == rank(a):
        for n, m in zip(a.shape, weights.shape, strict=True):
            left_if(n != m)
        spread = weights
    else:
        only_if(rank(weights) == 1 and axis is not None and -rank(a) <= axis < rank(a))
        left_if(weights.shape[0] != a.shape[axis])
        spread = beside(weights, axis % rank(a), rank(a))
    scale = np.sum(spread, **given)
    left_if(anywhere(scale == 0.0))
    return np.sum(np.multiply(a if kind == result else a.astype(result), spread), **given) / scale


def nansum(a: Any, axis: Any = None) -> Any:
    """np.nansum."""
    return np.sum(_without_nan(a, 0), **axes_of(axis))


def nanmean(a: Any, axis: Any = None) -> Any:
    """np.nanmean of arrays of float64, or of integers."""
    kind, given = dtype_of(a), axes_of(axis)
    only_if(rank(a) > 0)
    if kind is not None and kind.kind in "biu":
        return np.mean(a, **given)
    only_if(kind == np.float64)
    count = np.sum(np.logical_not(np.isnan(a)), **given)
    left_if(anywhere(count == 0))
    return np.sum(_without_nan(a, 0), **given) / count


def nanmax(a: Any, axis: Any = None) -> Any:
    """np.nanmax along all axes."""
    return _nan_extreme(np.max, -np.inf, a, axis)


def nanmin(a: Any, axis: Any = None) -> Any:
    """np.nanmin along all axes."""
    return _nan_extreme(np.min, np.inf, a, axis)


def _nan_extreme(function: Function, worst: float, a: Any, axis: Any) -> Any:
    kind = dtype_of(a)
    only_if(kind is not None and rank(a) > 0 and (axis is None or rank(a) == 1 and axis in (0, -1)))
    if kind is not None and kind.kind in "biu":
        return function(a)
    only_if(kind in (np.float64, np.float32))
    left_if(np.all(np.isnan(a)))
    made = function(_without_nan(a, worst))
    left_if(cond(made == 0, lambda: _has_negative_zero(a), lambda: np.False_))
    return made


def _has_negative_zero(a: Any) -> Any:
    """Whether there is one: which of two zeros is found first is not said here."""
    return np.any((a == 0) & (np.copysign(1.0, a) < 0))


def _without_nan(a: Any, value: float) -> Any:
    kind = dtype_of(a)
    only_if(kind is not None and kind.kind in "biuf" and rank(a) > 0)
    return a if kind is None or kind.kind != "f" else np.where(np.isnan(a), value, a)


def trace(a: Any, offset: Any = 0) -> Any:
    """np.trace of a matrix."""
    only_if(rank(a) == 2 and offset == 0 and type(offset) is int)
    places = asked(np.arange, asked(min, a.shape[0], a.shape[1]))
    return np.sum(a[places, places])


def percentile(a: Any, q: Any, axis: Any = None) -> Any:
    """np.percentile, linear, of an array with one axis."""
    only_if(number(q))
    return _quantile(a, np.true_divide(q, 100), axis)


def quantile(a: Any, q: Any, axis: Any = None) -> Any:
    """np.quantile, linear, of an array with one axis."""
    only_if(number(q) and (type(q) is float or dtype_of(q) == np.float64 or weak_float(q)))
    return _quantile(a, double(q), axis)


def _quantile(a: Any, q: Any, axis: Any) -> Any:
    kind = dtype_of(a)
    only_if(kind in (np.float64, np.int64) and rank(a) == 1 and axis in (None, 0, -1))
    n = a.shape[0]
    left_if(n == 0)
    left_if(np.logical_not((q >= 0) & (q <= 1)))
    where = (n - 1) * q
    lower = asked(int, np.floor(where))
    last = where >= n - 1
    low = cond(last, lambda: n - 1, lambda: lower)
    high = cond(last, lambda: n - 1, lambda: lower + 1)
    share = where - cond(last, lambda: np.float64(-1.0), lambda: np.floor(where))
    ordered = np.sort(a)
    first, second = ordered[low], ordered[high]
    if kind == np.float64:
        left_if(np.isnan(ordered[-1]))
        left_if(cond((first == 0) | (second == 0), lambda: _has_negative_zero(a), lambda: np.False_))
    apart = second - first
    left_if(np.logical_not(np.isfinite(apart)))  # NumPy asks on both sides of the middle
    return cond(share >= 0.5, lambda: second - apart * (1 - share), lambda: first + apart * share)


# --------------------------------------------------------------------------------------- differences


def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    """np.diff of an array with one axis with something before or behind it, or taken several times."""
    if prepend is None and append is None:
        only_if(type(n) is int and 1 < n <= 8 and type(axis) is int)
        for _ in range(n):
            a = np.diff(a, axis=axis)
        return a
    only_if(rank(a) == 1 and (prepend is not None or append is not None) and axis in (0, -1))
    parts = [a]
    for x, at in ((prepend, 0), (append, len(parts) + 1)):
        if x is not None:
            only_if(number(x) or rank(x) == 1)
            parts.insert(at, asked(np.array, (x,)) if number(x) else x)
    return np.diff(np.concatenate(tuple(parts)), n)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """np.trapezoid."""
    only_if(rank(y) > 0 and type(axis) is int and -rank(y) <= axis < rank(y))
    at = axis % rank(y)
    if x is None:
        only_if(number(dx))
        apart = dx
    else:
        only_if(rank(x) in (1, rank(y)))
        apart = np.diff(x) if rank(x) == 1 else np.diff(x, axis=at)
        if rank(x) == 1 and rank(y) > 1:
            apart = beside(apart, at, rank(y))
    pairs = cut(y, at, slice(1, None)) + cut(y, at, slice(None, -1))
    return np.sum(apart * pairs / 2.0, axis=at)


def gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """np.gradient, with edges of first order."""
    only_if(edge_order == 1 and rank(f) > 0 and len(spacing) <= 1)
    count, kind = rank(f), dtype_of(f)
    only_if(kind is not None and kind.kind in "iuf" and (axis is None or type(axis) is int))
    axes = range(count) if axis is None else [axis]
    only_if(all(-count <= k < count for k in axes))
    step = spacing[0] if spacing else 1.0
    only_if(number(step) or rank(step) == 1 and len(axes) == 1)
    if kind is not None and kind.kind in "iu":
        f = f.astype(np.float64)
    made = tuple(_gradient(f, step, k % count) for k in axes)
    return made[0] if len(made) == 1 else made


def _gradient(f: Any, step: Any, axis: int) -> Any:
    left_if(f.shape[axis] < 2)
    out = np.empty_like(f)
    ends, middle = (step, step), 2.0 * step if number(step) else None
    before, at, behind = (cut(f, axis, part) for part in (slice(None, -2), slice(1, -1), slice(2, None)))
    if middle is not None:
        inside = (behind - before) / middle
    else:
        left_if(step.shape[0] != f.shape[axis])
        kind = dtype_of(step)
        only_if(kind is not None and kind.kind in "iuf")
        apart = np.diff(step.astype(np.float64) if kind is not None and kind.kind in "iu" else step)
        ends = (apart[0], apart[-1])

        def uneven() -> Any:
            parts = (slice(0, -1), slice(1, None))
            first, second = (beside(apart, 0, rank(f) - axis, part) for part in parts)
            a = -second / (first * (first + second))
            b = (second - first) / (first * second)
            c = first / (second * (first + second))
            return a * before + b * at + c * behind

        even = asked(bool, np.all(apart == apart[0]))
        inside = cond(even, lambda: (behind - before) / (2.0 * apart[0]), uneven)
    cut(out, axis, slice(1, -1))[...] = inside
    out[place(axis, 0)] = (cut(f, axis, 1) - cut(f, axis, 0)) / ends[0]
    out[place(axis, -1)] = (cut(f, axis, -1) - cut(f, axis, -2)) / ends[1]
    return out


# ------------------------------------------------------------------------------------------ products
def inner(a: Any, b: Any) -> Any:
    """np.inner."""
    only_if(rank(a) in (1, 2) and rank(b) in (1, 2))
    return np.dot(a, b if rank(b) == 1 else b.T)


def vdot(a: Any, b: Any) -> Any:
    """np.vdot of real vectors."""
    kinds = dtype_of(a), dtype_of(b)
    only_if(rank(a) == rank(b) == 1 and all(k is not None and k.kind in "iuf" for k in kinds))
    left_if((a.shape[0] == 1) | (b.shape[0] == 1))  # np.dot makes numbers of these
    return np.dot(a, b)


def norm(x: Any, ord: Any = None) -> Any:
    """np.linalg.norm of a line, by the number of the norm."""
    kind = dtype_of(x)
    only_if(rank(x) == 1 and kind is not None and kind.kind in "iuf")
    only_if(type(ord) in (int, float) and ord in (1, 2, np.inf, -np.inf))
    left_if(x.shape[0] == 0)
    x = x if kind is not None and kind.kind == "f" else x.astype(float)
    if ord == 2:
        return np.linalg.norm(x)
    return np.sum(abs(x)) if ord == 1 else np.max(abs(x)) if ord > 0 else np.min(abs(x))


def matrix_power(a: Any, n: Any) -> Any:
    """np.linalg.matrix_power for powers from 2 on."""
    only_if(rank(a) == 2 and type(n) is int and 2 <= n < 1 << 10)
    left_if(a.shape[0] != a.shape[1])
    if n == 3:
        return (a @ a) @ a
    power = result = None
    while n > 0:
        power = a if power is None else power @ power
        n, bit = divmod(n, 2)
        if bit:
            result = power if result is None else result @ power
    return result


def cross(a: Any, b: Any) -> Any:
    """np.cross of vectors of three elements."""
    one, two = dtype_of(a), dtype_of(b)
    only_if(rank(a) > 0 and rank(b) > 0 and one is not None and two is not None and one.kind in "iuf")
    for x in (a, b):
        left_if(x.shape[-1] != 3)
    assert one is not None and two is not None
    kind = np.promote_types(one, two)
    a, b = (x if dtype_of(x) == kind else x.astype(kind) for x in (a, b))
    (a0, a1, a2), (b0, b1, b2) = ([cut(x, rank(x) - 1, k) for k in range(3)] for x in (a, b))
    parts = (a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0)
    made = asked(np.empty, (*(parts[0].shape if rank(parts[0]) else ()), 3), kind)
    for k, part in enumerate(parts):
        made[place(rank(made) - 1, k)] = part
    return made[:]


def polyval(p: Any, x: Any) -> Any:
    """np.polyval, of coefficients in an array."""
    kind, other = dtype_of(p), dtype_of(x)
    only_if(rank(p) == 1 and kind is not None and (number(x) or rank(x) > 0))
    if other is None:
        only_if(weak_float(x) or type(x) is float)
        x, other = double(x), np.dtype(float)
    only_if(kind == other == np.float64)
    left_if(p.shape[0] == 0)
    if number(x):
        return for_loop(p, lambda c, y: y * x + c, (np.float64(0.0),))
    return for_loop(p, lambda c, y: y * x + c, (np.zeros_like(x),))


# --------------------------------------------------------------------------------- filled and moved
def tile(A: Any, reps: Any) -> Any:
    """np.tile of an array with one axis, some times one after the other; of a matrix in both directions."""
    if type(reps) is tuple and len(reps) == 2 and rank(A) in (1, 2):
        only_if(all(type(n) is int and n > 0 for n in reps) and reps != (1, 1))
        above, beside_ = reps
        rows, columns = (1, A.shape[0]) if rank(A) == 1 else A.shape
        made = asked(np.empty, (above, rows, beside_, columns), dtype_of(A))
        made[...] = A if rank(A) == 1 else A[None, :, None, :]
        return made.reshape((above * rows, beside_ * columns))
    only_if(rank(A) == 1 and number(reps) and dtype_of(reps) is None and type(reps) is not bool)
    left_if(reps < 2)
    made = asked(np.empty, (reps, A.shape[0]), dtype_of(A))
    made[...] = A
    return made.reshape(-1)


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """np.repeat of an array with one axis, each as often."""
    only_if(rank(a) == 1 and number(repeats) and axis in (None, 0, -1) and integer(repeats))
    left_if(repeats < 0)
    made = asked(np.empty, a.shape[0] * repeats, dtype_of(a))
    made.reshape((a.shape[0], repeats))[...] = a[:, None]
    return made


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    """np.full_like."""
    only_if(rank(a) > 0 and number(fill_value))
    made = np.empty_like(a) if dtype is None else np.empty_like(a, dtype)
    made[...] = fill_value
    return made


def take(a: Any, indices: Any, axis: Any = None) -> Any:
    """np.take along the first axis."""
    kind = dtype_of(indices)
    only_if(axis in (None, 0) and (rank(a) == 1 or rank(a) > 1 and axis == 0))
    only_if(integer(indices) if number(indices) else kind is not None and kind.kind in "iu")
    only_if(rank(a) == 1 or not number(indices))
    return a[indices]


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """np.insert of one number into an array with one axis."""
    only_if(rank(arr) == 1 and axis in (None, 0, -1) and integer(obj) and number(values))
    n, at = arr.shape[0], asked(int, obj)
    left_if((at < -n) | (at > n))
    at = cond(at < 0, lambda: at + n, lambda: at)
    made = asked(np.empty, n + 1, dtype_of(arr))
    made[:at] = arr[:at]
    made[at] = values
    made[at + 1 :] = arr[at:]
    return made


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """np.delete of one number from an array with one axis."""
    only_if(rank(arr) == 1 and axis in (None, 0, -1) and integer(obj))
    n, at = arr.shape[0], asked(int, obj)
    left_if((at < -n) | (at >= n))
    at = cond(at < 0, lambda: at + n, lambda: at)
    made = asked(np.empty, n - 1, dtype_of(arr))
    made[:at] = arr[:at]
    made[at:] = arr[at + 1 :]
    return made


def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """np.nan_to_num of float64."""
    kind = dtype_of(x)
    only_if(copy is True and (kind == np.float64 or kind is None and (weak_float(x) or type(x) is float)))
    most = np.finfo(np.float64).max
    values = [nan, most if posinf is None else posinf, -most if neginf is None else neginf]
    only_if(all(map(number, values)) and (number(x) or rank(x) > 0))
    values = [double(v) for v in values]
    if not number(x):
        made = np.where(np.isnan(x), values[0], x)
        return np.where(x == np.inf, values[1], np.where(x == -np.inf, values[2], made))
    x = double(x)
    made = cond(np.isnan(x), lambda: values[0], lambda: x)
    ends = cond(x > 0, lambda: values[1], lambda: values[2])
    return cond(np.isinf(x), lambda: ends, lambda: made)


def kron(a: Any, b: Any) -> Any:
    """np.kron of arrays of as many axes, one or two."""
    only_if(rank(a) == rank(b) and rank(a) in (1, 2))
    if rank(a) == 1:
        return (a[:, None] * b[None, :]).reshape(a.shape[0] * b.shape[0])
    sizes = [n * m for n, m in zip(a.shape, b.shape, strict=True)]
    return (a[:, None, :, None] * b[None, :, None, :]).reshape((sizes[0], sizes[1]))


def diag(v: Any, k: Any = 0) -> Any:
    """np.diag: a matrix around a line, or the line that is in a matrix (as a copy)."""
    only_if(type(k) is int and rank(v) in (1, 2))
    if rank(v) == 2:
        only_if(k == 0)
        places = asked(np.arange, asked(min, v.shape[0], v.shape[1]))
        return v[places, places]
    n = v.shape[0] + abs(k)
    made = asked(np.zeros, (n, n), dtype_of(v))
    places = asked(np.arange, v.shape[0])
    made[places + max(-k, 0), places + max(k, 0)] = v
    return made


def unravel_index(indices: Any, shape: Any) -> Any:
    """np.unravel_index of one number, in sizes that are known."""
    only_if(integer(indices) and type(shape) is tuple and all(type(n) is int and n > 0 for n in shape))
    rest, made = asked(int, indices), []
    left_if((rest < 0) | (rest >= math.prod(shape)))
    for n in reversed(shape):
        made.append(asked(np.int64, rest % n))
        rest = rest // n
    return tuple(reversed(made))


def atleast_1d(x: Any) -> Any:
    """np.atleast_1d."""
    return x if rank(x) else asked(np.array, (x,))[:]


def atleast_2d(x: Any) -> Any:
    """np.atleast_2d."""
    return x if rank(x) > 1 else x[None, :] if rank(x) else asked(np.array, ((x,),))[:]


def size(a: Any, axis: Any = None) -> Any:
    """np.size."""
    only_if(axis is None or type(axis) is int and -rank(a) <= axis < rank(a))
    if not rank(a):
        return 1
    return a.size if axis is None else a.shape[axis]


def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    """np.digitize with bins that increase."""
    only_if(rank(bins) == 1 and type(right) is bool and (number(x) or rank(x) > 0))
    left_if(np.logical_not(np.all(bins[1:] >= bins[:-1])))
    return np.searchsorted(bins, x, side="left" if right else "right")


# ----------------------------------------------------------------------------------------- np.interp
_FEW, _NEAR = 4, 8  # of points that are gone through; how far from the guess is looked first


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """np.interp of one number."""
    only_if(number(x) and rank(xp) == rank(fp) == 1)
    only_if(dtype_of(xp) == dtype_of(fp) == np.float64)
    only_if(all(end is None or number(end) for end in (left, right)))
    n = xp.shape[0]
    left_if((n < 2) | (fp.shape[0] != n))
    x = double(x)
    left_if(np.isnan(x))
    low = fp[0] if left is None else double(left)
    high = fp[-1] if right is None else double(right)

    def between() -> Any:
        at = cond(n <= _FEW, lambda: _gone_through(xp, x, n), lambda: _halved(xp, x, n))
        return cond((at == n - 1) | (xp[at] == x), lambda: fp[at], lambda: on_line(at))

    def on_line(at: Any) -> Any:
        slope = (fp[at + 1] - fp[at]) / (xp[at + 1] - xp[at])
        made = slope * (x - xp[at]) + fp[at]
        left_if(np.isnan(made))
        return made

    return cond(x > xp[n - 1], lambda: high, lambda: cond(x < xp[0], lambda: low, between))


def _gone_through(xp: Any, x: Any, n: Any) -> Any:
    """The last point before the first that is larger."""
    found = while_loop(lambda k: cond(k < n, lambda: x >= xp[k], lambda: np.False_), lambda k: k + 1, (1,))
    return found - 1


def _halved(xp: Any, x: Any, n: Any) -> Any:
    """The same by halving, from the guess 1: NumPy's way decides what is found among points out of order."""

    def step(low: Any, high: Any) -> Any:
        middle = low + ((high - low) >> 1)
        return cond(x >= xp[middle], lambda: (middle + 1, high), lambda: (low, middle))

    def halve(low: Any, high: Any) -> Any:
        return while_loop(lambda low, high: low < high, step, (low, high))[0] - 1

    def near() -> Any:
        end = cond((n > _NEAR + 2) & (x < xp[asked(min, 1 + _NEAR, n - 1)]), lambda: 1 + _NEAR, lambda: n)
        return cond(x < xp[2], lambda: 1, lambda: cond(x < xp[3], lambda: 2, lambda: halve(3, end)))

    return cond(x < xp[1], lambda: 0, near)


SPELLINGS: dict[Hashable, Function] = {
    "np.linalg.matrix_power": matrix_power,
    "np.linalg.norm": norm,
    "np.diagonal": diag,
    **{
        f"np.{function.__name__}": function
        for function in (
            isclose, allclose, array_equal, ptp, average, nansum, nanmean, nanmax, nanmin, trace, percentile,
            quantile, diff, trapezoid, gradient, inner, vdot, cross, polyval, tile, repeat, full_like, take,
            insert, delete, diag, unravel_index, nan_to_num, kron, atleast_1d, atleast_2d, size, digitize,
            interp,
        )
    },
}  # fmt: skip
