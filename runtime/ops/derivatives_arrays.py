"""Derivatives of ops that move, join, choose and sort elements.

In: nothing.  Out: `VJP` and `JVP`, by op name.  What always holds: an op that only moves elements is
asked where it moves them, by running it on element numbers, so no rule repeats how it does that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.ops.adjoint import LINEAR, ZERO, Composite, concrete, kind_of, scatter

Function = Callable[..., Any]


# -- ops that move elements ------------------------------------------------------------------------


def numbered(tree: Any, start: int = 1) -> tuple[Any, int]:
    """Element numbers in the place of every array and number of a nested sequence, and the next number."""
    if isinstance(tree, (list, tuple)):
        made = []
        for item in tree:
            inner, start = numbered(item, start)
            made.append(inner)
        return type(tree)(made) if type(tree) in (list, tuple) else tuple(made), start
    shape = np.shape(tree)
    size = int(np.prod(shape, dtype=np.int64))
    return np.arange(start, start + size).reshape(shape), start + size


def _parts(flat: Any, tree: Any, start: int = 0) -> tuple[Any, int]:
    """A flat cotangent cut into the shapes of a nested sequence, and where it was left off."""
    if isinstance(tree, (list, tuple)):
        made = []
        for item in tree:
            inner, start = _parts(flat, item, start)
            made.append(inner)
        return made, start
    shape = np.shape(tree)
    size = int(np.prod(shape, dtype=np.int64))
    return np.reshape(flat[start : start + size], shape), start + size


def moves(run: Function) -> Function:
    """The rule of an op that moves the elements of its first operand and puts zeros in between."""

    def rule(ct: Any, y: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("dtype", None)
        numbers, end = numbered(x)
        places = run(numbers, *args, **kwargs)
        several = isinstance(places, (list, tuple))
        total: Any = 0
        for part, at in zip(ct if several else (ct,), places if several else (places,), strict=True):
            total = total + scatter(np.reshape(part, (-1,)), np.ravel(at), (end,))
        return _parts(total[1:], x)[0]

    return rule


def _sequence(x: Any) -> bool:
    return isinstance(x, (list, tuple))


def _along(axis: int, part: Any) -> tuple[Any, ...]:
    return (slice(None),) * axis + (part,)


def _concatenated(ct: Any, y: Any, arrays: Any, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
    """The parts of a cotangent that stand where the arrays do."""
    if not _sequence(arrays):
        return moves(np.concatenate)(ct, y, arrays, axis)
    if axis is None:
        return _parts(np.reshape(ct, (-1,)), arrays)[0]
    made, start = [], 0
    for x in arrays:
        size = np.shape(x)[axis]
        made.append(ct[_along(axis % np.ndim(y), slice(start, start + size))])
        start = start + size
    return made


def _stacked(ct: Any, y: Any, arrays: Any, axis: int = 0, *args: Any, **kwargs: Any) -> Any:
    """The parts of a cotangent that stand where the arrays do, along an axis of their own."""
    if not _sequence(arrays):
        return moves(np.stack)(ct, y, arrays, axis)
    return [ct[_along(axis % np.ndim(y), k)] for k in range(len(arrays))]


def _rows_of(ct: Any, y: Any, arrays: Any, *args: Any, **kwargs: Any) -> Any:
    """As `_concatenated` for np.vstack, to which a vector is a row."""
    if not _sequence(arrays) or any(map(_sequence, arrays)):
        return moves(np.vstack)(ct, y, arrays)
    made, start = [], 0
    for x in arrays:
        flat = np.ndim(x) < 2
        size = 1 if flat else np.shape(x)[0]
        part = ct[start] if flat else ct[start : start + size]
        made.append(np.reshape(part, np.shape(x)) if np.ndim(x) == 0 else part)
        start = start + size
    return made


def _columns_of(ct: Any, y: Any, arrays: Any, *args: Any, **kwargs: Any) -> Any:
    """As `_concatenated` for np.hstack, to which a number is a vector."""
    if not _sequence(arrays) or any(map(_sequence, arrays)):
        return moves(np.hstack)(ct, y, arrays)
    axis, made, start = int(np.ndim(y) > 1), [], 0
    for x in arrays:
        number = np.ndim(x) == 0
        size = 1 if number else np.shape(x)[axis]
        made.append(ct[start] if number else ct[_along(axis, slice(start, start + size))])
        start = start + size
    return made


def _array_of(ct: Any, y: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The parts of a cotangent that stand where the items of nested sequences do."""
    if not _sequence(x):
        return np.reshape(ct, np.shape(x))
    for _ in range(np.ndim(y) - _depth(x)):  # ndmin
        ct = ct[0]
    return _items_of(ct, x)


def _depth(x: Any) -> int:
    if not _sequence(x):
        return int(np.ndim(x))
    return 1 + (_depth(x[0]) if len(x) else 0)


def _items_of(ct: Any, x: Any) -> Any:
    return [_items_of(ct[k], item) for k, item in enumerate(x)] if _sequence(x) else ct


JOINS: dict[str, Function] = {
    "np.concatenate": _concatenated,
    "np.stack": _stacked,
    "np.vstack": _rows_of,
    "np.hstack": _columns_of,
    **dict.fromkeys(
        ("np.array", "np.asarray", "np.asanyarray", "np.ascontiguousarray", "np.asfortranarray"), _array_of
    ),
}


def _pad(x: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    if mode in ("constant", "empty"):
        return np.pad(x, pad_width)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise NotImplementedError(f"the derivative of np.pad with mode={mode!r}")
    return np.pad(x, pad_width, mode, **kwargs)  # type: ignore[call-overload]


def _array(x: Any, *args: Any, **kwargs: Any) -> Any:
    ndmin = kwargs.get("ndmin", 0)
    return np.array(x, ndmin=ndmin)


def _view(ct: Any, x: Any, *args: Any) -> Any:
    kind = args[0] if args else np.ndarray
    if isinstance(kind, type) and issubclass(kind, np.ndarray):
        return ct
    if np.dtype(kind) != kind_of(x):
        raise NotImplementedError("the derivative of a view as another dtype")
    return ct


MOVES: dict[str, Function] = {
    **{
        f"np.{f.__name__}": f
        for f in (
            np.repeat, np.tile, np.resize, np.rot90, np.roll, np.diag, np.diagonal, np.diagflat, np.tril,
            np.triu, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.take, np.take_along_axis,
            np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block,
            np.delete, np.rollaxis,
        )
    },
    **{f"np.{n}": getattr(np, n) for n in ("unstack", "matrix_transpose") if hasattr(np, n)},
    "np.pad": _pad,
    **{f"np.{n}": _array for n in ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")},
    "np.linalg.matrix_transpose": lambda x: np.swapaxes(x, -1, -2),
    "np.linalg.diagonal": lambda x, offset=0: np.diagonal(x, offset, -2, -1),
    "nd.compress": lambda x, condition, axis=None: np.compress(condition, x, axis=axis),
    "np.fft.fftshift": np.fft.fftshift,
    "np.fft.ifftshift": np.fft.ifftshift,
}  # fmt: skip


# -- shapes ------------------------------------------------------------------------------------------


def _reshaped(ct: Any, y: Any, x: Any, *args: Any, order: str = "C", **kwargs: Any) -> Any:
    """Back to the shape of the operand; `order` says in which order elements were read."""
    if order not in ("C", "F"):
        raise NotImplementedError(f"the derivative of a reshape with order={order!r}")
    return np.reshape(ct, np.shape(x), order=order)  # type: ignore[call-overload]


def _raveled(ct: Any, y: Any, x: Any, order: str = "C") -> Any:
    return _reshaped(ct, y, x, order=order)


def _inverse(axes: Any) -> Any:
    return None if axes is None else tuple(int(i) for i in np.argsort([a % len(axes) for a in axes]))


def _method_axes(axes: tuple[Any, ...]) -> Any:
    if not axes:
        return None
    return axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes


def _same(ct: Any, y: Any, *operands: Any, **keywords: Any) -> Any:
    return ct


def _rolled(ct: Any, y: Any, x: Any, shift: Any, axis: Any = None) -> Any:
    back = tuple(-s for s in shift) if isinstance(shift, tuple) else -shift
    return np.roll(ct, back, axis)


SHAPES: dict[str, Function] = {
    **{f"np.{n}": _reshaped for n in ("expand_dims", "squeeze", "atleast_1d", "atleast_2d", "atleast_3d")},
    "np.reshape": lambda ct, y, x, shape=None, order="C", **_: _reshaped(ct, y, x, order=order),
    "nd.reshape": _reshaped,
    "np.ravel": _raveled,
    "nd.flatten": _raveled,
    "np.broadcast_to": _same,
    "np.transpose": lambda ct, y, x, axes=None: np.transpose(ct, _inverse(axes)),
    "nd.transpose": lambda ct, y, x, *axes: np.transpose(ct, _inverse(_method_axes(axes))),
    "np.swapaxes": lambda ct, y, x, a, b: np.swapaxes(ct, a, b),
    "np.moveaxis": lambda ct, y, x, source, destination: np.moveaxis(ct, destination, source),
    "np.flip": lambda ct, y, x, axis=None: np.flip(ct, axis),
    "np.fliplr": lambda ct, y, x: np.fliplr(ct),
    "np.flipud": lambda ct, y, x: np.flipud(ct),
    "np.roll": _rolled,
    "np.copy": _same,
    "nd.copy": _same,
    "nd.astype": _same,
    "np.astype": _same,
    "nd.view": lambda ct, y, x, *args: _view(ct, x, *args),
    "nd.item": lambda ct, y, x, *at: (
        scatter(ct, at[0] if at and isinstance(at[0], tuple) else at, np.shape(x))
        if len(at) != 1 or isinstance(at[0], tuple)
        else np.reshape(scatter(ct, at[0], (np.size(x),)), np.shape(x))
    ),
    "np.real": lambda ct, y, x: ct,
    "np.imag": lambda ct, y, x: ct * -1j,
}


# -- items and choices -------------------------------------------------------------------------------


def _choice(k: int) -> Function:
    def rule(ct: Any, y: Any, condition: Any, *sides: Any) -> Any:
        return np.where(condition, ct, 0) if k == 1 else np.where(condition, 0, ct)

    return rule


def _limits(x: Any, low: Any, high: Any, keywords: dict[str, Any]) -> tuple[Any, Any]:
    low = keywords.get("min", keywords.get("a_min", low))
    return low, keywords.get("max", keywords.get("a_max", high))


def _clipped(
    ct: Any, y: Any, x: Any, low: Any = None, high: Any = None, out: Any = None, **keywords: Any
) -> Any:
    low, high = _limits(x, low, high, keywords)
    inside: Any = True
    if low is not None:
        inside = np.greater_equal(x, low)
    if high is not None:
        inside = np.logical_and(inside, np.less_equal(x, high))
    return np.where(inside, ct, 0)


def _clip_low(
    ct: Any, y: Any, x: Any, low: Any = None, high: Any = None, out: Any = None, **keywords: Any
) -> Any:
    low, high = _limits(x, low, high, keywords)
    below = np.less(x, low) if high is None else np.logical_and(np.less(x, low), np.less_equal(low, high))
    return np.where(below, ct, 0)


def _clip_high(
    ct: Any, y: Any, x: Any, low: Any = None, high: Any = None, out: Any = None, **keywords: Any
) -> Any:
    low, high = _limits(x, low, high, keywords)
    above = np.greater(x, high) if low is None else np.greater(np.maximum(x, low), high)
    return np.where(above, ct, 0)


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """np.sort as reading in the order of a stable argsort."""
    if axis is None:
        a, axis = np.ravel(a), -1
    return np.take_along_axis(a, np.argsort(a, axis=axis, kind="stable"), axis=axis)


def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    """np.partition as reading in the order of argpartition."""
    if axis is None:
        a, axis = np.ravel(a), -1
    return np.take_along_axis(a, np.argpartition(a, kth, axis=axis), axis=axis)


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """np.unique as reading the first of each group of equals."""
    if axis is not None:
        raise NotImplementedError("the derivative of np.unique along an axis")
    _, first, inverse, counts = np.unique(concrete(ar), True, True, True, **options)
    parts = [np.ravel(ar)[first]]
    for wanted, part in ((return_index, first), (return_inverse, inverse), (return_counts, counts)):
        parts += [part] if wanted else []
    return parts[0] if len(parts) == 1 else tuple(parts)


def unique_values(x: Any) -> Any:
    """np.unique_values, which sorts for some dtypes only, as reading the first of each group of equals."""
    flat = np.ravel(concrete(x))
    first = [int(np.argmax(flat == value)) for value in np.unique_values(flat)]
    return np.ravel(x)[first]


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """np.diff as differences of slices."""
    ends = []
    for end in (prepend, append):
        if end is not None and type(end).__name__ != "_NoValueType":
            shape = tuple(1 if i == axis % np.ndim(a) else m for i, m in enumerate(np.shape(a)))
            ends.append(np.broadcast_to(end, shape) if np.ndim(end) == 0 else end)
        else:
            ends.append(None)
    parts = [part for part in (ends[0], a, ends[1]) if part is not None]
    moved = np.moveaxis(np.concatenate(parts, axis=axis) if len(parts) > 1 else a, axis, -1)
    for _ in range(n):
        moved = moved[..., 1:] - moved[..., :-1]
    return np.moveaxis(moved, -1, axis)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """np.append as a concatenation."""
    if axis is None:
        return np.concatenate([np.ravel(arr), np.ravel(values)])
    return np.concatenate([arr, values], axis=axis)


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """np.compress as reading at the places that hold."""
    return np.take(a, np.flatnonzero(condition), axis=axis)


def extract(condition: Any, arr: Any) -> Any:
    """np.extract as reading at the places that hold."""
    return np.take(np.ravel(arr), np.flatnonzero(condition))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """np.select as nested choices."""
    made = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        made = np.where(condition, choice, made)
    return made


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """np.piecewise as writes of each function's values where its condition holds."""
    conditions = np.asarray(condlist, bool)
    conditions = conditions[None] if conditions.ndim == np.ndim(x) else conditions
    if len(funclist) == len(conditions) + 1:
        conditions = np.concatenate([conditions, ~np.any(conditions, axis=0)[None]])
    made = np.array(concrete(x)) * 0 + 0 * x
    for condition, function in zip(conditions, funclist, strict=True):
        if callable(function):
            if np.any(condition):
                made[condition] = function(x[condition], *args, **kw)
        else:
            made[condition] = function
    return made


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """np.choose as nested choices."""
    n = len(choices)
    numbers = np.mod(a, n) if mode == "wrap" else np.clip(a, 0, n - 1)
    made = choices[0]
    for k in range(1, n):
        made = np.where(np.equal(numbers, k), choices[k], made)
    return np.broadcast_to(made, np.broadcast_shapes(np.shape(a), np.shape(made)))


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """np.insert as one reading from the array and the values joined."""
    arr = np.ravel(arr) if axis is None else arr
    along = 0 if axis is None else axis % np.ndim(arr)
    numbers = np.arange(1, np.size(arr) + 1).reshape(np.shape(arr))
    marks = -np.arange(1, np.size(values) + 1).reshape(np.shape(values))
    places = np.insert(numbers, obj, marks, axis=along)
    everything = np.concatenate([np.ravel(arr), np.ravel(values)])
    return everything[np.where(places > 0, places - 1, np.size(arr) - places - 1)]


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """np.interp as the line between the neighbours of each point."""
    if period is not None:
        raise NotImplementedError("the derivative of np.interp with a period")
    if np.shape(xp)[0] == 1:
        middle = np.broadcast_to(fp[0], np.shape(x))
    else:
        low = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, np.shape(xp)[0] - 2)
        x0, f0 = np.take(xp, low), np.take(fp, low)
        middle = f0 + (x - x0) * ((np.take(fp, low + 1) - f0) / (np.take(xp, low + 1) - x0))
    inside = np.where(np.greater(x, xp[-1]), fp[-1] if right is None else right, middle)
    return np.where(np.less(x, xp[0]), fp[0] if left is None else left, inside)[()]


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """np.ediff1d as differences of slices, with ends joined."""
    flat = np.ravel(ary)
    parts = [part for part in (to_begin, flat[1:] - flat[:-1], to_end) if part is not None]
    return np.concatenate([np.ravel(part) for part in parts]) if len(parts) > 1 else parts[0]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """np.trapezoid as a sum."""
    moved = np.moveaxis(y, axis, -1)
    if x is not None:
        widths = np.diff(x) if np.ndim(x) == 1 else np.moveaxis(np.diff(x, axis=axis), axis, -1)
    else:
        widths = dx
    return np.sum(widths * (moved[..., 1:] + moved[..., :-1]) / 2.0, axis=-1)


def gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """np.gradient with equal spacing as differences of slices."""
    if edge_order != 1 or any(np.ndim(s) for s in spacing):
        raise NotImplementedError("the derivative of np.gradient with coordinates or edge_order=2")
    axes = tuple(range(np.ndim(f))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    steps = spacing if len(spacing) == len(axes) else (spacing or (1.0,)) * len(axes)
    made = []
    for along, step in zip(axes, steps, strict=True):
        m = np.moveaxis(f, along, -1)
        inner = (m[..., 2:] - m[..., :-2]) / (2.0 * step)
        first, last = (m[..., 1:2] - m[..., :1]) / step, (m[..., -1:] - m[..., -2:-1]) / step
        made.append(np.moveaxis(np.concatenate([first, inner, last], axis=-1), -1, along))
    return made[0] if len(made) == 1 else tuple(made)


def polyval(p: Any, x: Any) -> Any:
    """np.polyval by Horner's rule."""
    made = np.zeros(np.shape(x))[()]
    for k in range(np.shape(p)[0]):
        made = made * x + p[k]
    return made


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """np.vander as stacked products."""
    n = np.shape(x)[0] if N is None else N
    powers = [np.ones(np.shape(x), x.dtype)]
    for _ in range(n - 1):
        powers.append(powers[-1] * x)
    return np.stack(powers[:n] if increasing else powers[:n][::-1], axis=-1)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * np.pi) -> Any:
    """np.unwrap as the operand plus the jumps, which are constant."""
    now = concrete(p)
    return p + (np.unwrap(now, discont, axis, period=period) - now)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """np.meshgrid as reshapes and broadcasts."""
    n = len(xi)
    shaped = [np.reshape(x, (1,) * i + (-1,) + (1,) * (n - 1 - i)) for i, x in enumerate(xi)]
    if indexing == "xy" and n > 1:
        shaped = [np.swapaxes(x, 0, 1) for x in shaped]
    return tuple(shaped if sparse else broadcast_arrays(*shaped))


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """np.broadcast_arrays, one by one."""
    shape = np.broadcast_shapes(*map(np.shape, args))
    return tuple(np.broadcast_to(x, shape) for x in args)


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, **_: Any,
) -> Any:  # fmt: skip
    """np.linspace as a line from start to stop."""
    parts = num - 1 if endpoint else num
    weights = np.arange(num) / max(parts, 1)
    shape = np.broadcast_shapes(np.shape(start), np.shape(stop))
    weights = np.reshape(weights, (num, *(1,) * len(shape)))
    made = np.moveaxis(start + (stop - start) * weights, 0, axis)
    if dtype is not None:
        made = made.astype(dtype)
    return (made, (stop - start) / max(parts, 1)) if retstep else made


def _angle(ct: Any, y: Any, z: Any, deg: bool = False) -> Any:
    """Of a complex number: its change at a right angle to it, over its length."""
    if not np.iscomplexobj(z):
        return np.zeros(np.shape(z))
    square = np.square(np.real(z)) + np.square(np.imag(z))
    slope = np.where(np.equal(square, 0), 0, -1j * np.conjugate(z) / np.where(np.equal(square, 0), 1, square))
    return ct * slope * (180 / np.pi if deg else 1)


VJP: dict[str, dict[Any, Any] | Composite] = {
    **{name: {0: moves(run)} for name, run in MOVES.items()},
    **{name: {0: rule} for name, rule in JOINS.items()},
    **{name: {0: rule} for name, rule in SHAPES.items()},
    "getitem": {0: lambda ct, y, x, key: scatter(ct, key, np.shape(x))},
    "np.where": {1: _choice(1), 2: _choice(2)},
    "np.clip": {0: _clipped, 1: _clip_low, 2: _clip_high, "min": _clip_low, "max": _clip_high,
                "a_min": _clip_low, "a_max": _clip_high},
    "np.nan_to_num": {0: lambda ct, y, x, *_, **__: np.where(np.isfinite(x), ct, 0)},
    "np.full": {1: _same, "fill_value": _same},
    "np.full_like": {0: ZERO, 1: _same, "fill_value": _same},
    "np.angle": {0: _angle},
    "np.real_if_close": {0: _same},
    "np.sort": Composite(sort),
    "np.partition": Composite(partition),
    "np.unique": Composite(unique),
    "np.unique_values": Composite(unique_values),
    "np.diff": Composite(diff),
    "np.append": Composite(append),
    "np.compress": Composite(compress),
    "np.extract": Composite(extract),
    "np.select": Composite(select),
    "np.piecewise": Composite(piecewise),
    "np.choose": Composite(choose),
    "np.insert": Composite(insert),
    "np.interp": Composite(interp),
    "np.ediff1d": Composite(ediff1d),
    "np.trapezoid": Composite(trapezoid),
    "np.gradient": Composite(gradient),
    "np.polyval": Composite(polyval),
    "np.vander": Composite(vander),
    "np.unwrap": Composite(unwrap),
    "np.meshgrid": Composite(meshgrid),
    "np.broadcast_arrays": Composite(broadcast_arrays),
    "np.linspace": Composite(linspace),
}  # fmt: skip
JVP: dict[str, dict[Any, Any]] = {
    **{name: {0: LINEAR} for name in {*MOVES, *SHAPES} - {"np.pad"}},
    "np.where": {1: _choice(1), 2: _choice(2)},
    "getitem": {0: LINEAR},
    "np.clip": VJP["np.clip"],  # type: ignore[dict-item]
    "np.nan_to_num": VJP["np.nan_to_num"],  # type: ignore[dict-item]
}
