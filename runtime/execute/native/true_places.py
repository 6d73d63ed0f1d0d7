"""Where the elements of an array are true: `np.nonzero` and what else asks for that.

In: an array.  Out: the places, as a new array of integers or a tuple of views of one.  What always holds: the
places come in C order, and lie in memory as NumPy puts them: those of one element side by side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from runtime.execute.native import element_ops
from runtime.execute.native.accesses import located
from runtime.execute.native.arrays import create, dense, load, store, turned
from runtime.execute.native.arrays import located as view
from runtime.execute.native.elementwise import as_lazy, combined, copied, function, is_array, materialized
from runtime.execute.native.kinds import INT64, Unlowered, numpy_scalar
from runtime.execute.native.lines import counted
from runtime.execute.native.sifting import places
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr, Cut, Tup, Val, lift, one

Handler = Callable[[State, list[Val], dict[str, Val]], Val]
BOOL = numpy_scalar(np.dtype(np.bool_))


def _mask(state: State, args: list[Val], keywords: dict[str, Val]) -> Arr:
    """Which elements are true, in memory, in C order."""
    if len(args) != 1 or keywords or not is_array(args[0]):
        raise Unlowered("the places of something else than an array")
    e, x = state.e, as_lazy(state.e, args[0])
    if not x.dims or x.kind.kind == "c":
        raise Unlowered("the places of an array without axes, or of complex numbers")
    if x.kind.kind != "b":
        source = x
        x = combined(state, [source], BOOL, lambda v: element_ops.truth(e, v))
    if not x.plain:
        return materialized(state, x, True)
    mask = x.leaves[0]
    in_place = len(mask.dims) == 1 or mask.strides == dense(e, mask.dims, 1)
    return mask if in_place else copied(state, mask)


def _numbered(state: State, mask: Arr, along: bool) -> Arr:
    """The places along each axis: a line for each true element, or (along) for each axis."""
    e, found, rank = state.e, places(state, mask), len(mask.dims)
    count = found.dims[0]
    made = create(state, [str(rank), count] if along else [count, str(rank)], INT64.dtype, False)

    def one_place(k: str) -> None:
        rest = load(e, INT64, located(e, found, [k])).text
        for axis in range(rank - 1, -1, -1):
            at = located(e, made, [str(axis), k] if along else [k, str(axis)])
            store(e, INT64, at, one(INT64, e.op(f"urem i64 {rest}, {mask.dims[axis]}") if axis else rest))
            rest = e.op(f"udiv i64 {rest}, {mask.dims[axis]}") if axis else rest

    e.flush()
    counted(e, "0", count, 1, one_place)
    e.version += 1
    return made


def nonzero(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.nonzero(x)`, or `np.where(x)`."""
    mask = _mask(state, args, keywords)
    if len(mask.dims) == 1:
        return Tup((places(state, mask),))
    made = _numbered(state, mask, False)
    cuts = [Tup((Cut(None, None, None), lift(axis))) for axis in range(len(mask.dims))]
    return Tup(tuple(view(state.e, made, cut) for cut in cuts))


def where(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.where`, of one argument or three."""
    if len(args) == 1:
        return nonzero(state, args, keywords)
    if keywords or not any(map(is_array, args)):
        raise Unlowered("np.where of numbers")
    return function(state, "where", args)


def flat(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.flatnonzero(x)`."""
    return places(state, _mask(state, args, keywords))


def rows(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.argwhere(x)`: what NumPy makes are lines for each axis, turned."""
    return turned(_numbered(state, _mask(state, args, keywords), True), (1, 0))


HANDLERS: dict[str, Handler] = {
    "np.nonzero": nonzero,
    "np.where": where,
    "np.flatnonzero": flat,
    "np.argwhere": rows,
}
