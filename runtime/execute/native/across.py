"""Reductions of lines with each other, element by element, along any axes.

In: the name of a reduction, its operand and its axes.  Out: a new array.  What always holds: floats are
added one after the other, in the order in which they lie; where the last axes are reduced as well, what is
added are sums of whole lines.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from runtime.execute.native import element_ops
from runtime.execute.native.accesses import located, put_at
from runtime.execute.native.along import by_lines, count_of, degrees, one_line, squared, stored
from runtime.execute.native.arrays import create, dense, load, minus, store, times
from runtime.execute.native.elementwise import apply, as_lazy, combined, copied, fill, materialized
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Scalar, Unlowered, literal
from runtime.execute.native.lines import TILE, about, begin, counted, duration, line, row_parts, width
from runtime.execute.native.shares import share
from runtime.execute.native.state import State
from runtime.execute.native.ufunc_loops import call_loop, inner_loop
from runtime.execute.native.values import Arr, Lazy, Num, one

LOOPS = {"max": np.maximum, "min": np.minimum, "prod": np.multiply}
COLUMNS = 256  # elements of lines that are added up that one thread takes at least
STEP = {
    "sum": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "any": "logical_or",
    "all": "logical_and",
}


def reduced(state: State, name: str, x: Lazy, axes: tuple[int, ...], keep: bool, freedom: int) -> Arr:
    """The array that is left where these axes, not just the last ones, are reduced."""
    e, kind = state.e, x.kind
    if name in ("var", "std"):
        stored = as_lazy(e, materialized(state, x)) if x.cost or x.parts else x
        mean = as_lazy(e, reduced(state, "mean", stored, axes, True, 0))
        squares = squared(state, apply(state, np.subtract, (stored, mean)))
        total = reduced(state, "sum", squares, axes, keep, 0)
        _divided(
            state, total, degrees(e, product(e, [x.dims[k] for k in axes]), freedom, kind), name == "std"
        )
        return total
    if name == "mean":
        total = reduced(state, "sum", x, axes, keep, 0)
        _divided(state, total, count_of(e, product(e, [x.dims[k] for k in axes]), kind), False)
        return total
    if name not in STEP:
        return _first_across(state, name, x, axes, keep)
    dims = [n if k not in axes else "1" for k, n in enumerate(x.dims) if k not in axes or keep]
    first = len(x.dims)  # the axes from here on make up a line: NumPy drops those of one element
    while first and (first - 1 in axes or x.dims[first - 1] == "1"):
        first -= 1
    rest = tuple(k for k in axes if k < first)
    if len(rest) == len(axes):
        _apart(e, x.dims[axes[-1] + 1 :])
        out = create(state, dims, kind.dtype, False)
        _accumulated(state, name, x, axes, _spread_out(e, out, x.dims, axes))
        return out
    if rest:
        _apart(e, x.dims[rest[-1] + 1 : first])
    if rest and kind.kind == "f" and name in LOOPS:
        return _by_loops(state, name, one_line(state, name, x, first), rest, dims)
    made = by_lines(state, name, one_line(state, name, x, first), 0)
    out = create(state, dims, made.kind.dtype, False)
    _accumulated(state, name, made, rest, _spread_out(e, out, made.dims, rest))
    return out


def product(e: Emitter, dims: Sequence[str]) -> str:
    """The number of elements."""
    return functools.reduce(functools.partial(times, e), dims, "1")


def _apart(e: Emitter, kept: Sequence[str]) -> None:
    """Leave to the plan what lies between axes that are reduced, or behind them, where it is one element:
    NumPy takes these axes for one then."""
    size = product(e, kept)
    if size == "1":
        raise Unlowered("a reduction across lines of one element")
    if not size.isdigit():
        e.bail_if(e.op(f"icmp eq i64 {size}, 1"))


def _some(e: Emitter, sizes: Sequence[str]) -> None:
    """Leave to the plan what has no elements."""
    if not all(n.isdigit() and int(n) > 0 for n in sizes):
        e.bail_if(e.op(f"icmp eq i64 {product(e, sizes)}, 0"))


def _spread_out(e: Emitter, out: Arr, dims: Sequence[str], axes: Sequence[int]) -> Arr:
    """The result with the sizes of what is reduced, each element as often as it is added to."""
    shape = tuple("1" if k in axes else n for k, n in enumerate(dims))
    strides = ("0" if k in axes else s for k, s in enumerate(dense(e, shape, out.dtype.itemsize)))
    return Arr(out.dtype, out.data, shape, tuple(strides))


def _accumulated(state: State, name: str, x: Lazy, axes: Sequence[int], target: Arr) -> None:
    """Combine into the target what lies along these axes; without any, it is just stored."""
    e = state.e
    if not axes:
        fill(state, target, x)
        return
    begin(e)
    watching, e.watch = e.watch, False
    _accumulate(state, name, x, axes, target)
    e.watch = watching
    e.version += 1


def _first_across(state: State, name: str, x: Lazy, axes: Sequence[int], keep: bool) -> Arr:
    """`argmax` and `argmin`: as NumPy does, with the axis moved to the end."""
    axis = axes[0]
    if keep:
        raise Unlowered(f"np.{name} across lines that keeps the axis")
    whole = materialized(state, x if not x.plain else x.leaves[0])
    order = [k for k in range(len(x.dims)) if k != axis] + [axis]
    dims, strides = ([part[k] for k in order] for part in (whole.dims, whole.strides))
    turned = dataclasses.replace(whole, dims=tuple(dims), strides=tuple(strides), handle=None)
    lines = as_lazy(state.e, copied(state, turned))
    return stored(state, by_lines(state, name, lines, 0), dims[:-1], 0)


def _accumulate(state: State, name: str, x: Lazy, axes: Sequence[int], target: Arr) -> None:
    """Loops over all axes in order.  Threads share the first one that is not reduced: one part of it has
    nothing to do with another."""
    e, last = state.e, len(x.dims) - 1
    step = element_ops.lowered(e, STEP[name], x.kind, x.kind, 2)
    assert step is not None
    old, shared = as_lazy(e, target), next(k for k in range(last + 1) if k not in axes)

    def put(first: bool, at: list[str], value: Num) -> None:
        place = ["0" if k in axes else i for k, i in enumerate(at)]
        if not first:
            value = one(x.kind, step(old.element(place), value))
        elif name in ("sum", "prod"):
            value = one(x.kind, step(_neutral(e, name, x.kind), value))
        put_at(e, target, place, value)

    def visit(indices: list[str], first: bool, part: tuple[str, str]) -> None:
        k = len(indices)
        start, stop = part if k == shared else ("0", x.dims[k])
        if k == last:
            line(state, x, indices, stop, functools.partial(put, first), width(x), start=start)
            return
        if first and k in axes:
            visit([*indices, "0"], True, part)
            first, start = False, "1"
        counted(e, start, stop, 1, lambda i: visit([*indices, i], first, part))

    def some(first: str, stop: str) -> None:
        for part in x.parts:
            part.reserve(state)
        visit([], True, (first, stop))

    if name in ("sum", "prod", "any", "all"):
        _some(e, [x.dims[k] for k in axes])
    if shared == last and row_parts(x):  # columns would each need whole lines
        some("0", x.dims[last])
        return
    each = duration(x, target.dtype) * about(x.dims[:-1]) / max(about((x.dims[shared],)), 1)
    columns = TILE if x.parts else COLUMNS
    share(state, "0", x.dims[shared], some, cost=each, grain=columns if shared == last else 1)


def _by_loops(state: State, name: str, x: Lazy, axes: Sequence[int], dims: Sequence[str]) -> Arr:
    """Extremes and products of floats in lines, and of these along axes: NumPy's own loop goes on from line
    to line, since which of two zeros it takes, and what a product is, depends on where they are."""
    e, kind, ufunc = state.e, x.kind, LOOPS[name]
    found = inner_loop(ufunc, [kind] * 3)
    if found is None:
        raise Unlowered(f"np.{name}: its inner loop is not known")
    loop, lines = found, x.leaves[0] if x.plain else materialized(state, x, True)
    out = create(state, dims, kind.dtype, False)
    shape = (*x.dims[:-1], "1")
    target, step, size = _spread_out(e, out, shape, axes), lines.strides[-1], x.dims[-1]

    def visit(indices: list[str], first: bool) -> None:
        k = len(indices)
        if k < len(shape) - 1:
            start = "0"
            if first and k in axes:
                visit([*indices, "0"], True)
                first, start = False, "1"
            counted(e, start, shape[k], 1, lambda i: visit([*indices, i], first))
            return
        at, count = located(e, lines, [*indices, "0"]), size
        cell = located(e, target, [*("0" if k in axes else i for k, i in enumerate(indices)), "0"])
        if first and name == "prod":
            store(e, kind, cell, _neutral(e, name, kind))
        elif first:
            store(e, kind, cell, load(e, kind, at))
            at, count = e.op(f"getelementptr i8, ptr {at}, i64 {step}"), minus(e, size, "1")
        call_loop(state, ufunc, [kind] * 3, loop, [(cell, "0"), (at, step), (cell, "0")], count)

    if name == "prod":
        _some(e, [x.dims[k] for k in axes])
    begin(e)
    visit([], True)
    e.version += 1
    return out


def _neutral(e: Emitter, name: str, kind: Scalar) -> Num:
    """What a sum or product begins with."""
    value = 0 if name == "sum" else 1
    return one(kind, e.splat(kind.llvm, literal(value, kind.llvm)))


def _divided(state: State, a: Arr, count: str, root: bool) -> None:
    """Divide each element in place, and take the square root."""
    e, kind = state.e, a.element
    value = as_lazy(e, a)
    value = combined(
        state,
        [value],
        kind,
        lambda x: e.op(f"fdiv {e.wide(kind.llvm)} {x.text}, {e.splat(kind.llvm, count)}"),
    )
    fill(state, a, apply(state, np.sqrt, (value,)) if root else value)
