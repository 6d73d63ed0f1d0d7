"""Arrays whose elements are those of another array, in other places.

In: the node's arguments.  Out: a lazy array.  What always holds: what it reads is not taken for the same
elements in the same places; only C order is made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from runtime.execute.native.calls import by_name
from runtime.execute.native.elementwise import as_lazy, is_array, materialized
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.lines import Scattered, shared
from runtime.execute.native.makers import Handler
from runtime.execute.native.scalars import index
from runtime.execute.native.state import State, numbers
from runtime.execute.native.turns import Turn, back, known
from runtime.execute.native.values import Arr, Lazy, Num, Static, Val


def elsewhere(a: Arr) -> Arr:
    """A stored array, of which other elements are read than the one at the same place."""
    each = str(a.dtype.itemsize)
    return dataclasses.replace(a, dims=(*a.dims, "1"), strides=(*a.strides, each), window=None)


def _roll(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.roll`."""
    given = by_name(args, keywords, "a", "shift", "axis")
    if not is_array(given["a"]):
        raise Unlowered("np.roll of something else than an array")
    x, e = as_lazy(state.e, given["a"]), state.e
    if any(leaf.turned for leaf in x.leaves):
        raise Unlowered("np.roll of an array with its axes in another order")  # whose layout it takes
    turns = {k: turn for k, turn in _turns(e, x, given["shift"], given.get("axis")).items() if turn[0] != "0"}
    last = len(x.dims) - 1
    if x.turns and last in turns:
        x = as_lazy(e, materialized(state, x))
    source, along = x, turns.pop(last, None)

    def rolled(indices: Sequence[str]) -> Num:
        own = list(indices)
        for axis, turn in turns.items():
            own[axis] = back(e, own[axis], turn)
        return source.element(own) if along is None else _along(e, source, own, along)

    element = shared(e, x.kind, rolled)
    added = (along,) if along is not None else ()
    leaves = tuple(map(elsewhere, x.leaves))
    return dataclasses.replace(
        x, element=element, leaves=leaves, plain=False, held=None, turns=(*x.turns, *added)
    )


def _along(e: Emitter, x: Lazy, indices: Sequence[str], turn: Turn) -> Num:
    """An element, or as many as there are lanes, of a line that is turned."""
    k = indices[-1]
    at = known(e, k, turn)
    if at is None:
        if e.lanes > 1:
            raise Scattered
        return x.element([*indices[:-1], back(e, k, turn)])
    before = e.along, e.last
    if e.along == k:
        e.along, e.last = at, e.last and (known(e, e.last, turn) or "")
    found = x.element([*indices[:-1], at])
    e.along, e.last = before
    return found


def _turns(e: Emitter, x: Lazy, shift: Val, axis: Val | None) -> dict[int, Turn]:
    """By axis, from where on what moved over the end stands no more."""
    rank = len(x.dims)
    if axis is None or (isinstance(axis, Static) and axis.value is None):
        axes = [0]
        if rank != 1:
            raise Unlowered("np.roll of all axes as one")
    else:
        found = [n.const for n in numbers(axis)]
        if any(type(k) is not int or not -rank <= k < rank for k in found):
            raise Unlowered("np.roll along an axis that is not constant")
        axes = [k % rank for k in found]
    shifts = numbers(shift)
    if len(shifts) != len(axes):
        if 1 not in (len(shifts), len(axes)) or not shifts or not axes:
            raise Unlowered("np.roll by other numbers than there are axes")
        axes *= len(shifts) if len(axes) == 1 else 1
        shifts *= len(axes) if len(shifts) == 1 else 1
    if len(set(axes)) != len(axes):
        raise Unlowered("np.roll twice along one axis")
    return {k: (_place(e, by, x.dims[k]), x.dims[k]) for k, by in zip(axes, shifts, strict=True)}


def _place(e: Emitter, shift: Num, size: str) -> str:
    """Where the first element goes."""
    by = index(e, shift)
    if shift.const is not None and size.isdigit():
        return str(int(shift.const) % max(int(size), 1))
    n = (
        str(max(int(size), 1))
        if size.isdigit()
        else e.call("i64", "llvm.smax.i64", ("i64", size), ("i64", "1"))
    )
    rest = e.op(f"srem i64 {by}, {n}")
    return e.select(e.op(f"icmp slt i64 {rest}, 0"), "i64", e.op(f"add i64 {rest}, {n}"), rest)


HANDLERS: dict[str, Handler] = {"np.roll": _roll}
