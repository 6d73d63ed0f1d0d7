"""Other looks at an array: flipped, with axes moved, added or left out.

In: the node's arguments.  Out: a view of the same memory.  What always holds: which axes there are is known
while the code is written.
"""

from __future__ import annotations

import dataclasses

from runtime.execute.native.arrays import dense, get_item, turned
from runtime.execute.native.calls import by_name
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.makers import Handler
from runtime.execute.native.shapes import viewed
from runtime.execute.native.state import State, numbers
from runtime.execute.native.values import Arr, Cut, Num, Static, Tup, Val, lift

BACKWARDS = Cut(None, None, lift(-1))  # type: ignore[arg-type]
WHOLE = Cut(None, None, None)


def _array(args: list[Val], keywords: dict[str, Val], *names: str) -> tuple[Arr, dict[str, Val]]:
    """The array, and the other arguments by name."""
    if not args or not isinstance(args[0], Arr):
        raise Unlowered("a view with these arguments")
    return args[0], by_name(args[1:], keywords, *names)


def _axes(given: Val | None, rank: int, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Axes, each counted from the front and named once."""
    if (given is None or (isinstance(given, Static) and given.value is None)) and default is not None:
        return default
    found = [n.const for n in numbers(given)] if isinstance(given, (Num, Tup)) else [None]
    axes = tuple(n % rank for n in found if type(n) is int and -rank <= n < rank)
    if len(axes) != len(found) or len(set(axes)) != len(axes):
        raise Unlowered("a view along axes that are not constant")
    return axes


def _flip(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    x, given = _array(args, keywords, "axis")
    return _flipped(state, x, _axes(given.get("axis"), len(x.dims), tuple(range(len(x.dims)))))


def _flipped(state: State, x: Arr, axes: tuple[int, ...]) -> Val:
    if not x.dims:
        raise Unlowered("a flip of an array without axes")
    return get_item(state, x, Tup(tuple(BACKWARDS if k in axes else WHOLE for k in range(len(x.dims)))))


def _flip_one(axis: int) -> Handler:
    """`np.flipud` (axis 0) or `np.fliplr` (axis 1)."""

    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        x, _ = _array(args, keywords)
        if len(x.dims) <= axis:
            raise Unlowered("a flip along an axis that is not there")
        return _flipped(state, x, (axis,))

    return handler


def _swap(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    x, given = _array(args, keywords, "axis1", "axis2")
    order = list(range(len(x.dims)))
    (a,), (b,) = (_axes(given.get(name), len(x.dims)) for name in ("axis1", "axis2"))
    order[a], order[b] = b, a
    return turned(x, order)


def _move(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    x, given = _array(args, keywords, "source", "destination")
    source, target = (_axes(given.get(name), len(x.dims)) for name in ("source", "destination"))
    if len(source) != len(target):
        raise Unlowered("axes that do not go with each other")
    order = [k for k in range(len(x.dims)) if k not in source]
    for to, axis in sorted(zip(target, source, strict=True)):
        order.insert(to, axis)
    return turned(x, order)


def _expand(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    x, given = _array(args, keywords, "axis")
    count = len(numbers(given["axis"])) if isinstance(given.get("axis"), (Num, Tup)) else 0
    axes = _axes(given.get("axis"), len(x.dims) + count)
    dims, strides = list(x.dims), list(x.strides)
    for axis in sorted(axes):
        dims.insert(axis, "1")
        strides.insert(axis, "0")
    each = x.dtype.itemsize
    if x.strides == dense(state.e, x.dims, each):
        return viewed(x, dims, dense(state.e, dims, each))
    return dataclasses.replace(viewed(x, dims, strides), turned=x.turned)


def _squeeze(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    x, given = _array(args, keywords, "axis")
    if not all(n.isdigit() for n in x.dims):
        raise Unlowered("np.squeeze of an array of unknown sizes")
    single = tuple(k for k, n in enumerate(x.dims) if n == "1")
    axes = _axes(given.get("axis"), len(x.dims), single)
    if not set(axes) <= set(single) or len(axes) == len(x.dims):
        raise Unlowered("np.squeeze along these axes")
    return turned(x, [k for k in range(len(x.dims)) if k not in axes])


HANDLERS: dict[str, Handler] = {
    "np.flip": _flip,
    "np.flipud": _flip_one(0),
    "np.fliplr": _flip_one(1),
    "np.swapaxes": _swap,
    "np.moveaxis": _move,
    "np.expand_dims": _expand,
    "np.squeeze": _squeeze,
}
