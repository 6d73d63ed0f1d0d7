"""Arrays joined end to end or side by side: `np.concatenate` and its like.

In: arrays, numbers and tuples of numbers, of which some may lack the axis along which they are joined.  Out:
a new array.  What always holds: what NumPy would lay in another order of axes than C's is not lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from runtime.execute.native import lists
from runtime.execute.native.arrays import create, plus, times
from runtime.execute.native.calls import by_name
from runtime.execute.native.elementwise import as_lazy, assigned, is_array, new_in_order
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.makers import dtype_of, same_sizes, shape_of, spelled
from runtime.execute.native.state import State
from runtime.execute.native.values import LISTS, Arr, Lazy, Num, Tup, Val

Handler = Callable[[State, list[Val], dict[str, Val]], Val]
Item = Arr | Lazy | Num | Tup


def _items(state: State, x: Val, least: int = 0) -> list[Item]:
    """What is to be joined; numbers get an axis where all must have one."""
    found = []
    for i in x.items if isinstance(x, Tup) else ():
        item = lists.as_array(state, i) if isinstance(i, LISTS) else i
        if isinstance(item, Num) and least:
            item = Tup((item,))
        if not isinstance(item, (Num, Tup)) and not (isinstance(item, (Arr, Lazy)) and is_array(item)):
            raise Unlowered("arrays and other things that are joined")
        if len(shape_of(item)) < least or (isinstance(item, (Arr, Lazy)) and not item.dims):
            raise Unlowered("arrays without axes that are joined")
        found.append(item)
    if not found:
        raise Unlowered("a sequence of unknown length that is joined")
    return found


def _axis(given: Val | None, rank: int) -> int:
    """An axis, counted from the front; the first where none is given."""
    axis = 0 if given is None else given.const if isinstance(given, Num) else None
    if type(axis) is not int or not -rank <= axis < rank:
        raise Unlowered("arrays that are joined along an axis that is not constant")
    return axis % rank


def joined(state: State, items: Sequence[Item], axis: int, rank: int) -> Arr:
    """The items in an array of so many axes; an item that has one less is one line along the axis."""
    e = state.e

    def others(dims: Sequence[str]) -> tuple[str, ...]:
        return (*dims[:axis], *dims[axis + 1 :]) if len(dims) == rank else tuple(dims)

    total, rest = "0", others(shape_of(items[0]))
    for x in items:
        dims = shape_of(x)
        if len(dims) not in (rank, rank - 1):
            raise Unlowered("arrays of different ranks that are joined")
        if isinstance(x, (Arr, Lazy)):
            new_in_order(as_lazy(e, x))
        same_sizes(state, rest, others(dims))
        total = plus(e, total, dims[axis] if len(dims) == rank else "1")
    made = create(state, (*rest[:axis], total, *rest[axis:]), np.result_type(*map(dtype_of, items)), False)
    at, step = "0", made.strides[axis]
    for x in items:
        dims = shape_of(x)
        offset, whole = times(e, at, step), len(dims) == rank
        data = made.data if offset == "0" else e.op(f"getelementptr i8, ptr {made.data}, i64 {offset}")
        strides = made.strides if whole else others(made.strides)
        part = Arr(made.dtype, data, dims, strides, None, frozenset(), made.depth, made.site, made.age)
        if isinstance(x, (Arr, Lazy)):
            assigned(state, part, x)
        else:
            spelled(state, part, x)
        at = plus(e, at, dims[axis] if whole else "1")
    return made


def _concatenate(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    given, items = by_name(args[1:], keywords, "axis"), _items(state, args[0])
    rank = len(shape_of(items[0]))
    if any(len(shape_of(x)) != rank for x in items):
        raise Unlowered("arrays of different ranks that are joined")
    return joined(state, items, _axis(given.get("axis"), rank), rank)


def _stack(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    given = by_name(args, keywords, "arrays", "axis")
    items = _items(state, given["arrays"])
    rank = len(shape_of(items[0])) + 1
    if any(len(shape_of(x)) != rank - 1 for x in items):
        raise Unlowered("arrays of different ranks that are stacked")
    return joined(state, items, _axis(given.get("axis"), rank), rank)


def _rows(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.vstack`: an array of one axis is a row."""
    return _of_lines(state, _items(state, by_name(args, keywords, "tup")["tup"], 1), 0)


def _ends(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.hstack`: along the second axis, or the only one."""
    items = _items(state, by_name(args, keywords, "tup")["tup"], 1)
    rank = len(shape_of(items[0]))
    if any(len(shape_of(x)) != rank for x in items):
        raise Unlowered("arrays of different ranks that are joined")
    return joined(state, items, min(1, rank - 1), rank)


def _columns(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.column_stack`: an array of one axis is a column."""
    return _of_lines(state, _items(state, by_name(args, keywords, "tup")["tup"], 1), 1)


def _of_lines(state: State, items: Sequence[Item], axis: int) -> Arr:
    """The items along an axis of a matrix, of which those with one axis are lines; no others lack an axis."""
    ranks = {max(2, len(shape_of(x))) for x in items}
    if len(ranks) > 1:
        raise Unlowered("arrays of different ranks that are joined")
    return joined(state, items, axis, ranks.pop())


def _append(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.append` of numbers and of arrays of one axis."""
    given = by_name(args, keywords, "arr", "values")
    items = _items(state, Tup((given["arr"], given["values"])), 1)
    if any(len(shape_of(x)) != 1 for x in items):
        raise Unlowered("np.append to more than one axis")
    return joined(state, items, 0, 1)


HANDLERS: dict[str, Handler] = {
    "np.append": _append,
    "np.concatenate": _concatenate,
    "np.stack": _stack,
    "np.vstack": _rows,
    "np.hstack": _ends,
    "np.column_stack": _columns,
}
