"""Running sums, products, largest and smallest elements along an axis.

In: the node's arguments.  Out: a new array.  What always holds: each element is the one before it along the
axis, plus (or times) what is added, in that order, as `np.add.accumulate` has it.  Of the larger or smaller
of two it does not matter which are taken together first, so these are found a vector at a time.
"""

from __future__ import annotations

import numpy as np

from runtime.execute.native import element_ops
from runtime.execute.native.accesses import put_at
from runtime.execute.native.along import as_line
from runtime.execute.native.arrays import create
from runtime.execute.native.calls import by_name
from runtime.execute.native.elementwise import as_lazy, is_array
from runtime.execute.native.emit import Emitter
from runtime.execute.native.folds import neutral
from runtime.execute.native.kinds import Scalar, Unlowered, literal
from runtime.execute.native.lines import about, begin, counted, duration, line, width
from runtime.execute.native.makers import Handler
from runtime.execute.native.reductions import constant, typed
from runtime.execute.native.shares import share
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr, Lazy, Num, Val, one

EXTREMES = (np.maximum, np.minimum)
ADDED = 0.7  # nanoseconds for one number after the other


def running(name: str, step: np.ufunc, title: str, first: str = "a", usual: int | None = None) -> Handler:
    """The handler of a function that folds what came before by `step`, in the dtype of the reduction `name`.

    title: what it is called.  first: its first parameter.  usual: the axis where none is given.
    """

    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        given = by_name(args, keywords, first, "axis", "dtype")
        if not is_array(given[first]):
            raise Unlowered(f"{title} of something else than an array")
        x = typed(state, name, as_lazy(state.e, given[first]), given.get("dtype"), ())
        if any(leaf.turned for leaf in x.leaves):
            raise Unlowered(f"{title} of an array with its axes in another order")  # whose layout it takes
        axis = constant(given.get("axis"), usual)
        if axis is None and usual is not None and len(x.dims) != 1:
            raise Unlowered(f"{title} along all axes as one")  # which ufuncs refuse
        if not x.dims:
            raise Unlowered(f"{title} of an array without axes")
        if axis is None:
            x, axis = as_line(state, x, 0), 0
        if type(axis) is not int or not -len(x.dims) <= axis < len(x.dims):
            raise Unlowered(f"{title} along an axis that is not constant")
        return _along(state, step, x, axis % len(x.dims))

    return handler


def _along(state: State, step: np.ufunc, x: Lazy, axis: int) -> Arr:
    e, last = state.e, len(x.dims) - 1
    lowered = element_ops.lowered(e, step.__name__, x.kind, x.kind, 2)
    assert lowered is not None
    add = lowered
    out = create(state, x.dims, x.kind.dtype, False)
    begin(e)
    watching, e.watch = e.watch, False  # what is stored is computed: no flag is lost
    cell = ""

    def run(indices: list[str], first: bool) -> None:
        """The axes after those of `indices`; first: it is the first place along the axis."""
        k = len(indices)
        if k < last and k != axis:
            counted(e, "0", x.dims[k], 1, lambda i: run([*indices, i], first))
        elif k < last:
            _some(e, x.dims[k])
            run([*indices, "0"], True)
            counted(e, "1", x.dims[k], 1, lambda i: run([*indices, i], False))
        elif axis == last:
            along_line(indices)
        else:
            across(indices, first)

    def along_line(outer: list[str]) -> None:
        e.line(f"store {x.kind.llvm} {_neutral(step, x.kind)}, ptr {cell}")

        def put(at: list[str], value: Num) -> None:
            put_at(e, out, at, one(x.kind, _so_far(e, step, add, cell, value)))

        line(state, x, outer, x.dims[-1], put, width(x) if step in EXTREMES else 1)

    def across(outer: list[str], first: bool) -> None:
        def put(at: list[str], value: Num) -> None:
            if not first:
                above = [*at[:axis], e.op(f"sub i64 {at[axis]}, 1"), *at[axis + 1 :]]
                value = one(x.kind, add(as_lazy(e, out).element(above), value))
            put_at(e, out, at, value)

        line(state, x, outer, x.dims[-1], put, width(x))

    def some(first: str, stop: str) -> None:
        nonlocal cell
        for part in x.parts:
            part.reserve(state)
        cell = e.slot(x.kind.llvm)
        if axis == last > 0:
            counted(e, first, stop, 1, lambda i: run([i], True))
        else:
            run([], True)

    if axis == last > 0:
        each = duration(x, x.kind.dtype) + ADDED * about(x.dims[-1:])
        share(state, "0", x.dims[0], some, cost=about(x.dims[1:-1]) * each)
    else:
        some("", "")
    e.watch = watching
    e.version += 1
    return out


def _some(e: Emitter, size: str) -> None:
    """Leave to the plan where an axis has no places."""
    if size == "0":
        raise Unlowered("a running sum of no elements")
    if not size.isdigit():
        e.bail_if(e.op(f"icmp eq i64 {size}, 0"))


def _so_far(e: Emitter, step: np.ufunc, fold: element_ops.Lowered, cell: str, x: Num) -> str:
    """An element, or those of a vector, folded with what came before, which a cell holds."""
    kind = x.scalar
    before = one(kind, e.splat(kind.llvm, e.effect(f"load {kind.llvm}, ptr {cell}")))
    total = last = fold(before, _within(e, step, fold, x))
    if e.lanes > 1:  # of lanes that do not count, too: the last element stands there again
        last = e.op(f"extractelement {e.wide(kind.llvm)} {total}, i32 {e.lanes - 1}")
    e.line(f"store {kind.llvm} {last}, ptr {cell}")
    return total


def _within(e: Emitter, step: np.ufunc, fold: element_ops.Lowered, x: Num) -> Num:
    """What came before each lane in its vector, and the lane itself, folded."""
    kind, shift = x.scalar, 1
    wide, nothing = e.wide(kind.llvm), e.splat(kind.llvm, _neutral(step, kind))
    while shift < e.lanes:
        lanes = ", ".join(f"i32 {e.lanes + k if k < shift else k - shift}" for k in range(e.lanes))
        moved = e.op(f"shufflevector {wide} {x.text}, {wide} {nothing}, <{e.lanes} x i32> <{lanes}>")
        x = one(kind, fold(one(kind, moved), x))
        shift *= 2
    return x


def _neutral(step: np.ufunc, kind: Scalar) -> str:
    """What leaves the first element as it is: -0.0, since 0.0 + -0.0 is 0.0; of equal ones the later."""
    if step in EXTREMES:
        if kind.kind == "f":
            return literal(-np.inf if step is np.maximum else np.inf, kind.llvm)
        return str(neutral("max" if step is np.maximum else "min", kind))
    if step is np.multiply:
        return "1.0" if kind.kind == "f" else "1"
    return "-0.0" if kind.kind == "f" else "0"


HANDLERS: dict[str, Handler] = {
    "np.cumsum": running("sum", np.add, "np.cumsum"),
    "np.cumprod": running("prod", np.multiply, "np.cumprod"),
    **{
        f"np.{step.__name__}.accumulate": running(
            name, step, f"np.{step.__name__}.accumulate", first="array", usual=0
        )
        for name, step in (("sum", np.add), ("prod", np.multiply), ("max", np.maximum), ("min", np.minimum))
    },
}
