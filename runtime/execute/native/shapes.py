"""Other shapes of an array: `reshape`, `ravel`, `flatten`.

In: an array and the shape that is asked for.  Out: a view where NumPy gives one, else a new array.  What
always holds: a view has the strides that NumPy gives it; where only the run shows which of the two it is,
what comes out is either of them, and counts as a view.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

from runtime.execute.native.arrays import copy_into, create, dense, times
from runtime.execute.native.emit import FALSE, TRUE, Emitter
from runtime.execute.native.integers import with_overflow
from runtime.execute.native.kinds import INT64, Unlowered
from runtime.execute.native.scalars import index
from runtime.execute.native.state import State, numbers
from runtime.execute.native.values import Arr, Tup, Val, one

Handler = Callable[[State, list[Val], dict[str, Val]], Val]
Axis = tuple[str, str]  # a size and a stride


def viewed(x: Arr, dims: Sequence[str], strides: Sequence[str]) -> Arr:
    """The same memory with these sizes and strides."""
    return Arr(x.dtype, x.data, tuple(dims), tuple(strides), None, x.roots, x.depth, x.site, x.age)


def one_axis(state: State, x: Arr) -> Arr:
    """All elements in C order, for whoever only reads them."""
    if len(x.dims) == 1:
        return x
    total, strides = product(state.e, x.dims), dense(state.e, x.dims, x.dtype.itemsize)
    if x.strides == strides:
        return viewed(x, (total,), (str(x.dtype.itemsize),))
    met, step = chained(state.e, list(zip(x.dims, x.strides, strict=True)))
    return view_or_copy(state, x, (total,), met, (step,))


def side_by_side(state: State, x: Arr) -> Arr:
    """The same, with nothing between them."""
    item = str(x.dtype.itemsize)
    met, _ = chained(state.e, list(zip(x.dims, x.strides, strict=True)), item)
    return view_or_copy(state, x, (product(state.e, x.dims),), met, (item,))


def reshape(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """Another shape; a size -1 is found."""
    x = args[0]
    if keywords or not isinstance(x, Arr):
        raise Unlowered("reshape with options")
    dims = asked(state, x, args[1] if len(args) == 2 else Tup(tuple(args[1:])))
    if x.strides == dense(state.e, x.dims, x.dtype.itemsize):
        return viewed(x, dims, dense(state.e, dims, x.dtype.itemsize))
    return view_or_copy(state, x, dims, *regrouped(state.e, x, dims))


def _reshape(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.reshape(x, shape)`, which takes its sizes as one argument."""
    if len(args) != 2:
        raise Unlowered("reshape with options")
    return reshape(state, args, keywords)


def ravel(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """All elements along one axis: a copy, unless they lie side by side."""
    x = args[0]
    if len(args) != 1 or keywords or not isinstance(x, Arr):
        raise Unlowered("ravel with options")
    return side_by_side(state, x)


def flatten(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """The same, always a copy."""
    x = args[0]
    if len(args) != 1 or keywords or not isinstance(x, Arr):
        raise Unlowered("flatten with options")
    return view_or_copy(state, x, (product(state.e, x.dims),), FALSE, (str(x.dtype.itemsize),))


def product(e: Emitter, dims: Sequence[str]) -> str:
    """The number of elements."""
    total = "1"
    for n in dims:
        total = times(e, total, n)
    return total


def asked(state: State, x: Arr, shape: Val) -> list[str]:
    """The sizes that are asked for; what does not fit leaves to the plan."""
    e, wanted = state.e, numbers(shape)
    total, known, dims, open_axis = product(e, x.dims), "1", list[str](), None
    for k, n in enumerate(wanted):
        text = index(e, n)
        if n.const is None:
            e.bail_if(e.op(f"icmp slt i64 {text}, 0"))
        elif n.const == -1 and open_axis is None:
            open_axis = k
            text = ""
        elif n.const < 0:
            raise Unlowered("a negative size")
        else:
            text = str(int(n.const))
        dims.append(text)
        known = times(e, known, text) if text else known
    _possible(e, [n for n in dims if n], x.dtype.itemsize)
    if open_axis is not None:
        if known.isdigit() and total.isdigit() and int(known):
            dims[open_axis] = str(int(total) // int(known))
        else:
            e.bail_if(e.op(f"icmp eq i64 {known}, 0"))
            dims[open_axis] = e.op(f"sdiv i64 {total}, {known}") if known != "1" else total
        known = times(e, known, dims[open_axis])
    if known != total:
        if known.isdigit() and total.isdigit():
            raise Unlowered("a shape that does not fit")
        e.bail_if(e.op(f"icmp ne i64 {known}, {total}"))
    return dims


def _possible(e: Emitter, dims: Sequence[str], itemsize: int) -> None:
    """Leave to the plan sizes whose product does not fit, whatever number it wraps to; NumPy does not count
    axes without elements."""
    total = str(itemsize * math.prod(max(int(n), 1) for n in dims if n.isdigit()))
    if int(total) >> 63:
        raise Unlowered("a shape that does not fit")
    for n in dims:
        if not n.isdigit():
            some = e.call("i64", "llvm.umax.i64", ("i64", n), ("i64", "1"))
            total, over = with_overflow(e, "s", "mul", one(INT64, some), one(INT64, total))
            e.bail_if(over)


# -------------------------------------------------------------------------------------- view or copy
def equal(e: Emitter, a: str, b: str) -> str:
    """Whether two sizes or strides are equal."""
    if a == b:
        return TRUE
    fixed = all(x.lstrip("-").isdigit() for x in (a, b))
    return FALSE if fixed else e.op(f"icmp eq i64 {a}, {b}")


def chained(e: Emitter, axes: Sequence[Axis], step: str = "") -> tuple[str, str]:
    """Whether axes can be gone through as one, and by which stride; axes of one element don't count.

    step: what the stride has to be, if it is not any."""
    if len(axes) == 1 and not step:
        return TRUE, axes[0][1]
    met, free, want = TRUE, FALSE if step else TRUE, step
    last = step or (axes[-1][1] if axes else "0")
    for n, stride in reversed(axes):
        single, after = equal(e, n, "1"), times(e, stride, n)
        counts = e.both(free, e.negated(single))  # the first that does says what the stride is
        if not step:
            last = e.select(counts, "i64", stride, last)
        met = e.both(met, e.either(e.either(single, free), equal(e, stride, want) if want else TRUE))
        want = e.select(single, "i64", want or after, after)
        free = e.both(free, single)
    return met, last


def regrouped(e: Emitter, x: Arr, dims: Sequence[str]) -> tuple[str, list[str]]:
    """Whether NumPy finds a view with these sizes, and its strides."""
    if tuple(dims) == x.dims:
        return TRUE, list(x.strides)
    if "0" in dims:
        return TRUE, list(dense(e, dims, x.dtype.itemsize))
    old = [axis for axis in zip(x.dims, x.strides, strict=True) if axis[0] != "1"]
    met, strides = TRUE, list[str]()
    for axes, sizes in groups(old, [n for n in dims if n != "1"]):
        fits, step = chained(e, axes)
        met = e.both(met, fits)
        steps = [step]
        for n in sizes[:0:-1]:
            steps.append(times(e, steps[-1], n))
        strides += reversed(steps)
    found, after = list[str](), str(x.dtype.itemsize)
    for n in reversed(dims):  # an axis of one element has the stride that leads over what is behind it
        found.append(after if n == "1" else strides.pop())
        after = times(e, found[-1], n)
    return met, found[::-1]


def groups(old: Sequence[Axis], new: Sequence[str]) -> list[tuple[Sequence[Axis], Sequence[str]]]:
    """Which axes become which: groups that have as many elements before and after."""
    if all(n.isdigit() for n in (*new, *(n for n, _ in old))):
        return _counted(old, new)
    front = 0
    while front < min(len(old), len(new)) and old[front][0] == new[front]:
        front += 1
    back = 0
    while back < min(len(old), len(new)) - front and old[-1 - back][0] == new[-1 - back]:
        back += 1
    inner, sizes = old[front : len(old) - back], new[front : len(new) - back]
    if min(len(inner), len(sizes)) != 1 and (inner or sizes):
        raise Unlowered("a shape whose axes are several others together")
    found: list[tuple[Sequence[Axis], Sequence[str]]] = [([axis], [axis[0]]) for axis in old[:front]]
    found += [(inner, sizes)] if inner else []
    return [*found, *(([axis], [axis[0]]) for axis in old[len(old) - back :])]


def _counted(old: Sequence[Axis], new: Sequence[str]) -> list[tuple[Sequence[Axis], Sequence[str]]]:
    """The same of known sizes, none of which is 1 or 0."""
    found, before, after = list[tuple[Sequence[Axis], Sequence[str]]](), list(old), list(new)
    while before:
        axes, sizes = [before.pop(0)], [after.pop(0)]
        while (had := math.prod(int(n) for n, _ in axes)) != (have := math.prod(map(int, sizes))):
            if had < have:
                axes.append(before.pop(0))
            else:
                sizes.append(after.pop(0))
        found.append((axes, sizes))
    return found


def view_or_copy(state: State, x: Arr, dims: Sequence[str], met: str, strides: Sequence[str]) -> Arr:
    """A view with these sizes and strides where the condition is met, else a new array."""
    e = state.e
    view = dataclasses.replace(viewed(x, dims, strides), turned=x.turned and len(dims) > 1)
    if met == TRUE:
        return view
    made = create(state, dims, x.dtype, False)
    copy = dataclasses.replace(made, dims=x.dims, strides=dense(e, x.dims, x.dtype.itemsize))
    e.flush()
    if met == FALSE:
        copy_into(e, copy, x)
        return made
    copying, out = e.block("copying"), e.block("shaped")
    e.branch(met, out, copying)
    e.start(copying)
    with e.scope():
        copy_into(e, copy, x)
        e.jump(out)
    e.start(out)
    e.version += 1
    data = e.select(met, "ptr", x.data, made.data)
    steps = tuple(e.select(met, "i64", *pair) for pair in zip(strides, made.strides, strict=True))
    # where it came from: nothing else is ever in the memory of the copy
    return dataclasses.replace(view, data=data, strides=steps, depth=max(x.depth, made.depth))


HANDLERS: dict[str, Handler] = {
    "nd.reshape": reshape,
    "np.reshape": _reshape,
    "nd.ravel": ravel,
    "np.ravel": ravel,
    "nd.flatten": flatten,
}
