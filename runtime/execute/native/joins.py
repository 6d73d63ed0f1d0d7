"""Arrays joined end to end or side by side: `np.concatenate` and its like.

In: arrays, of which some may lack the axis along which they are joined.  Out: a new array.  What always
holds: what NumPy would lay in another order of axes than C's is not lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from runtime.execute.native.arrays import create, plus, times
from runtime.execute.native.calls import by_name
from runtime.execute.native.elementwise import as_lazy, assigned, is_array, kind_of, new_in_order
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.makers import same_sizes
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr, Lazy, Num, Tup, Val

Handler = Callable[[State, list[Val], dict[str, Val]], Val]


def _items(x: Val) -> list[Arr | Lazy]:
    """What is to be joined."""
    found = [i for i in x.items if isinstance(i, (Arr, Lazy)) and i.dims] if isinstance(x, Tup) else []
    if not found or not isinstance(x, Tup) or len(found) != len(x.items) or not all(map(is_array, found)):
        raise Unlowered("arrays and other things that are joined")
    return found


def _axis(given: Val | None, rank: int) -> int:
    """An axis, counted from the front; the first where none is given."""
    axis = 0 if given is None else given.const if isinstance(given, Num) else None
    if type(axis) is not int or not -rank <= axis < rank:
        raise Unlowered("arrays that are joined along an axis that is not constant")
    return axis % rank


def joined(state: State, items: Sequence[Arr | Lazy], axis: int, rank: int) -> Arr:
    """The items in an array of so many axes; an item that has one less is one line along the axis."""
    e = state.e

    def others(dims: Sequence[str]) -> tuple[str, ...]:
        return (*dims[:axis], *dims[axis + 1 :]) if len(dims) == rank else tuple(dims)

    total = "0"
    for x in items:
        if len(x.dims) not in (rank, rank - 1):
            raise Unlowered("arrays of different ranks that are joined")
        new_in_order(as_lazy(e, x))
        same_sizes(state, others(items[0].dims), others(x.dims))
        total = plus(e, total, x.dims[axis] if len(x.dims) == rank else "1")
    rest = others(items[0].dims)
    made = create(
        state, (*rest[:axis], total, *rest[axis:]), np.result_type(*(kind_of(x).dtype for x in items)), False
    )
    at, step = "0", made.strides[axis]
    for x in items:
        offset, whole = times(e, at, step), len(x.dims) == rank
        data = made.data if offset == "0" else e.op(f"getelementptr i8, ptr {made.data}, i64 {offset}")
        strides = made.strides if whole else others(made.strides)
        part = Arr(made.dtype, data, x.dims, strides, None, frozenset(), made.depth, made.site, made.age)
        assigned(state, part, x)
        at = plus(e, at, x.dims[axis] if whole else "1")
    return made


def _concatenate(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    given = by_name(args, keywords, "arrays", "axis")
    items = _items(given["arrays"])
    rank = len(items[0].dims)
    if any(len(x.dims) != rank for x in items):
        raise Unlowered("arrays of different ranks that are joined")
    return joined(state, items, _axis(given.get("axis"), rank), rank)


def _stack(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    given = by_name(args, keywords, "arrays", "axis")
    items = _items(given["arrays"])
    rank = len(items[0].dims) + 1
    if any(len(x.dims) != rank - 1 for x in items):
        raise Unlowered("arrays of different ranks that are stacked")
    return joined(state, items, _axis(given.get("axis"), rank), rank)


def _rows(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.vstack`: an array of one axis is a row."""
    return _of_lines(state, _items(by_name(args, keywords, "tup")["tup"]), 0)


def _ends(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.hstack`: along the second axis, or the only one."""
    items = _items(by_name(args, keywords, "tup")["tup"])
    rank = len(items[0].dims)
    if any(len(x.dims) != rank for x in items):
        raise Unlowered("arrays of different ranks that are joined")
    return joined(state, items, min(1, rank - 1), rank)


def _columns(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.column_stack`: an array of one axis is a column."""
    return _of_lines(state, _items(by_name(args, keywords, "tup")["tup"]), 1)


def _of_lines(state: State, items: Sequence[Arr | Lazy], axis: int) -> Arr:
    """The items along an axis of a matrix, of which those with one axis are lines; no others lack an axis."""
    ranks = {max(2, len(x.dims)) for x in items}
    if len(ranks) > 1:
        raise Unlowered("arrays of different ranks that are joined")
    return joined(state, items, axis, ranks.pop())


HANDLERS: dict[str, Handler] = {
    "np.concatenate": _concatenate,
    "np.stack": _stack,
    "np.vstack": _rows,
    "np.hstack": _ends,
    "np.column_stack": _columns,
}
