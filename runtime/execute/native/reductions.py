"""Reductions of arrays along axes: sums as NumPy adds them up, products, extremes, means, variances.

In: the name of a reduction, its operand and options.  Out: a number, an array, or (for whole lines whose axis
is kept) a lazy array.  What always holds: floats are added in NumPy's own order, pairwise along a line and
one after the other across lines, so results are equal bit for bit; layouts for which NumPy's order is another
one are not lowered.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.execute.native import element_ops, totals
from runtime.execute.native.accesses import located, put_at
from runtime.execute.native.arrays import create, dense, times
from runtime.execute.native.elementwise import (
    apply,
    as_lazy,
    cast_to,
    combined,
    converted,
    copied,
    fill,
    materialized,
    worth_keeping,
)
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import FLOAT64, Scalar, Unlowered, literal, numpy_scalar
from runtime.execute.native.lines import (
    TILE,
    Kept,
    Room,
    about,
    begin,
    computed,
    counted,
    duration,
    inner_indices,
    line,
    row_parts,
    shared,
    spread,
    width,
)
from runtime.execute.native.shares import share
from runtime.execute.native.state import State
from runtime.execute.native.values import EXACT, Arr, Lazy, Num, Static, Tup, Val, one

BOOL, LONG, ULONG, BYTE = (numpy_scalar(np.dtype(t)) for t in (np.bool_, np.int64, np.uint64, np.uint8))
FEW = 8  # elements of a line from which on NumPy adds up several of them side by side
SHORT = 2048  # elements of a line that is kept in memory as a whole to be added up
COLUMNS = 256  # elements of lines that are added up that one thread takes at least
EXACT_SINGLE = 1 << 24
EXACT_MEAN = 1 << 21
OPTIONS = {"axis", "keepdims", "dtype", "ddof", "correction"}
STEP = {
    "sum": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "any": "logical_or",
    "all": "logical_and",
}
Finish = Callable[[str], str]


def cast(state: State, args: Sequence[Val], keywords: Mapping[str, Val]) -> Val:
    """`x.astype(dtype)`."""
    if len(args) != 2 or not isinstance(args[1], Static) or any(k != "copy" for k in keywords):
        raise Unlowered("astype with options")
    copy = keywords.get("copy")
    if copy is not None and not (isinstance(copy, Num) and copy.const is True):
        raise Unlowered("astype without a copy")
    return cast_to(state, args[0], np.dtype(args[1].value))


def reduce(state: State, name: str, args: Sequence[Val], keywords: Mapping[str, Val], lazily: bool) -> Val:
    """`np.name(x, axis, ...)`; lazily: it keeps the last axis, which it reduces, and may be computed late."""
    given = dict(keywords)
    if len(args) == 2 and "axis" not in given:
        given["axis"] = args[1]
    elif len(args) != 1:
        raise Unlowered(f"np.{name} with options by position")
    if not set(given) <= OPTIONS or (name in ("argmax", "argmin") and "dtype" in given):
        raise Unlowered(f"np.{name} with options")
    x = as_lazy(state.e, args[0])
    axes = _axes(given.get("axis"), len(x.dims))
    keep, freedom = (
        constant(given.get("keepdims"), False),
        constant(given.get("ddof", given.get("correction")), 0),
    )
    if name == "linalg.norm":
        if "axis" not in keywords or len(axes) != 1 or x.kind.kind != "f":
            raise Unlowered("np.linalg.norm that is no sum along an axis")  # NumPy asks BLAS for it
        x = worth_keeping(state, x)
        squares = apply(state, np.multiply, (x, x))
        rest = {k: v for k, v in keywords.items() if k in ("axis", "keepdims")}
        total = reduce(state, "sum", [squares], rest, lazily)
        if len(rest) != len(keywords) or not isinstance(total, (Arr, Lazy)):
            raise Unlowered("np.linalg.norm with options")
        return apply(state, np.sqrt, (total,))
    x = typed(state, name, x, given.get("dtype"), axes)
    _check_layout(state.e, x)
    if not axes or type(keep) is not bool or type(freedom) is not int:
        raise Unlowered(f"np.{name} with these options")
    if name not in ("sum", "prod", "any", "all"):
        _never_empty(state.e, x, axes)
    last = len(x.dims) - 1
    if len(axes) == len(x.dims) and not keep:
        return _total(state, name, as_line(state, x, 0), freedom)
    if axes == (last,) and not keep and _short(name, x):
        return _side_by_side(state, name, x)
    if axes == tuple(range(axes[0], last + 1)):
        made = _by_lines(state, name, as_line(state, x, axes[0]), freedom)
        if lazily:
            return made
        return _stored(state, made, x.dims[: axes[0]], len(axes) if keep else 0)
    if len(axes) == 1:
        return _across(state, name, x, axes[0], keep, freedom)
    raise Unlowered(f"np.{name} along these axes")


# ------------------------------------------------------------------------------------------ what is asked
def constant(x: Val | None, default: Any) -> Any:
    if x is None:
        return default
    if isinstance(x, Num):
        return x.const
    return x.value if isinstance(x, Static) else Ellipsis


def _axes(given: Val | None, rank: int) -> tuple[int, ...]:
    """The axes to reduce, in order."""
    if given is None or (isinstance(given, Static) and given.value is None):
        return tuple(range(rank))
    found = [constant(x, None) for x in (given.items if isinstance(given, Tup) else (given,))]
    if any(type(k) is not int or not -rank <= k < rank for k in found):
        raise Unlowered("a reduction along an axis that is not constant")
    axes = sorted(k % rank for k in found)
    if len(set(axes)) != len(axes):
        raise Unlowered("a reduction twice along one axis")
    return tuple(axes)


def _exact_double(state: State, name: str, x: Lazy, axes: Sequence[int]) -> Scalar:
    """The kind in which the mean of integers is computed; NumPy adds them up in another order, which gives
    the same only where all sums are exact."""
    e, size = state.e, "1"
    for axis in axes:
        size = times(e, size, x.dims[axis])
    if x.kind.bits > 32:
        _bounded(state, name, x, size)
    elif not size.isdigit():
        e.bail_if(e.op(f"icmp ugt i64 {size}, {EXACT_MEAN}"))
    elif int(size) > EXACT_MEAN:
        raise Unlowered(f"np.{name} of very many integers")
    return FLOAT64


def _bounded(state: State, name: str, x: Lazy, count: str) -> None:
    """Leave to the plan where the sum of so many integers in 64 bits might be no exact float."""
    e, signed = state.e, x.kind.kind == "i"
    if x.cost or not x.leaves:
        raise Unlowered(f"np.{name} of 64-bit integers that are no array")
    several = e.call("i64", "llvm.umax.i64", ("i64", count), ("i64", "1"))
    most = e.op(f"udiv i64 {EXACT}, {several}")

    def beyond(v: Num) -> str:
        wide, limit = e.wide("i64"), e.splat("i64", most)
        if not signed:
            return e.op(f"icmp ugt {wide} {v.text}, {limit}")
        moved, range_ = (
            e.op(f"add {wide} {v.text}, {limit}"),
            e.op(f"shl {wide} {limit}, {e.splat('i64', '1')}"),
        )
        return e.op(f"icmp ugt {wide} {moved}, {range_}")

    found = reduce(state, "any", [combined(state, [x], BOOL, beyond)], {}, False)
    assert isinstance(found, Num)
    e.bail_if(found.text)


def typed(state: State, name: str, x: Lazy, dtype: Val | None, axes: Sequence[int]) -> Lazy:
    """The operand in the dtype that the reduction computes in."""
    if x.kind.kind == "c":
        raise Unlowered(f"np.{name} of complex numbers")
    kind = x.kind
    if name in ("argmax", "argmin"):
        kind = BYTE if kind.kind == "b" else kind
    elif name in ("sum", "prod") and kind.kind in "biu":
        kind = ULONG if kind.kind == "u" else LONG
    elif name in ("any", "all"):
        e, source = state.e, x
        if kind.kind != "b":
            x = combined(state, [source], BOOL, lambda v: element_ops.truth(e, v))
        kind = BOOL
    elif name in ("mean", "var", "std") and kind.kind != "f":
        kind = _exact_double(state, name, x, axes)
    wanted = constant(dtype, None)
    if wanted is not None and (name in ("any", "all") or np.dtype(wanted) != kind.dtype):
        raise Unlowered(f"np.{name} in another dtype")
    return x if x.kind == kind else converted(state.e, x, kind)


def _check_layout(e: Emitter, x: Lazy) -> None:
    """NumPy goes through memory in order of strides: only arrays in C order are known here."""
    rank = len(x.dims)
    for leaf in x.leaves:
        if len(leaf.dims) < rank and not x.plain:
            continue
        if rank == 1 and x.plain and not leaf.strides[0].isdigit():
            raise Unlowered("a reduction of an array that may be reversed")
        if leaf.strides == dense(e, leaf.dims, leaf.dtype.itemsize) or rank == 1:
            continue
        steps = [
            int(s) if s.isdigit() else 0 for s, n in zip(leaf.strides, leaf.dims, strict=True) if n != "1"
        ]
        if 0 in steps or steps != sorted(steps, reverse=True):
            raise Unlowered("a reduction of an array in another order than C's")


def _never_empty(e: Emitter, x: Lazy, axes: Sequence[int]) -> None:
    for axis in axes:
        if x.dims[axis] == "0":
            raise Unlowered("a reduction of no elements")
        if not x.dims[axis].isdigit():
            e.bail_if(e.op(f"icmp eq i64 {x.dims[axis]}, 0"))


def as_line(state: State, x: Lazy, first: int) -> Lazy:
    """The array with all axes from `first` on taken as one."""
    e, rank = state.e, len(x.dims)
    if first == rank - 1:
        return x
    whole = all(
        a.dims == x.dims and a.strides == dense(e, a.dims, a.dtype.itemsize) for a in x.leaves if a.dims
    )
    if not whole or any(part.row for part in x.parts) or x.dims[-1] == "1":
        x = as_lazy(e, materialized(state, dataclasses.replace(x, plain=False)))
    size, source = "1", x
    for n in x.dims[first:]:
        size = times(e, size, n)
    if x.plain:
        leaf = x.leaves[0]
        strides = (*leaf.strides[:first], str(leaf.dtype.itemsize))
        return as_lazy(e, Arr(leaf.dtype, leaf.data, (*leaf.dims[:first], size), strides, None, leaf.roots,
                              leaf.depth, leaf.site, leaf.age))  # fmt: skip
    zeros = ["0"] * (rank - 1 - first)

    def element(indices: Sequence[str]) -> Num:
        return source.element([*indices[:first], *zeros, *indices[first:]])

    return dataclasses.replace(x, dims=(*x.dims[:first], size), element=element, held=None)


# ---------------------------------------------------------------------------------------- short lines
def _short(name: str, x: Lazy) -> bool:
    """Whether lines are so short that several of them are reduced at once, element after element."""
    if len(x.dims) < 2 or x.parts or x.turns or not x.leaves or not x.dims[-1].isdigit():
        return False
    known = name in ("sum", "mean") if x.kind.kind == "f" else name in STEP
    return known and 1 < int(x.dims[-1]) < FEW


def _side_by_side(state: State, name: str, x: Lazy) -> Lazy:
    """Short lines reduced, neighbouring ones in the lanes of a vector."""
    e, kind, count = state.e, x.kind, int(x.dims[-1])
    step = element_ops.lowered(e, STEP["sum" if name == "mean" else name], kind, kind, 2)
    assert step is not None

    def element(indices: Sequence[str]) -> Num:
        found = [x.element([*indices, str(k)]) for k in range(count)]
        total = functools.reduce(lambda a, b: one(kind, step(a, b)), found)
        if kind.kind == "f":  # NumPy begins with a zero: all zeros give one without a sign
            total = one(kind, step(total, one(kind, e.splat(kind.llvm, "0.0"))))
        if name == "mean":
            divisor = e.splat(kind.llvm, literal(count, kind.llvm))
            total = one(kind, e.op(f"fdiv {e.wide(kind.llvm)} {total.text}, {divisor}"))
        return total

    apart = [
        dataclasses.replace(a, dims=(*a.dims, "1"), strides=(*a.strides, str(a.dtype.itemsize)), window=None)
        for a in x.leaves
    ]  # they hold more elements than there are lines
    return Lazy(
        kind, x.dims[:-1], shared(e, kind, element), tuple(apart), cost=count * (x.cost + 1), widest=x.widest
    )


# -------------------------------------------------------------------------------------------- lines
class Reduced:
    """What a line is reduced to."""

    row = True

    def __init__(self, name: str, source: Lazy, finish: Finish) -> None:
        self.name, self.source, self.finish = name, source, finish
        self.itemsize = source.kind.dtype.itemsize
        last = source.parts[-1] if source.parts else None
        unit = source.plain and source.leaves[0].strides[-1] == str(self.itemsize)
        self.row_of: Kept | None = None
        self.tile: Room | None = None
        self.own = False
        long = not source.dims[-1].isdigit() or int(source.dims[-1]) > SHORT
        if last is source.held and isinstance(last, Kept):
            self.row_of = last
        elif not unit and long and name[:3] != "arg" and (source.kind.kind != "f" or name == "sum"):
            self.tile = Room(source.kind, str(TILE))
        elif not unit:
            self.row_of, self.own = Kept(source), True
        self.value = ""

    def reserve(self, state: State) -> None:
        """Find room for the line, before any loop."""
        if self.own and self.row_of is not None:
            self.row_of.reserve(state)
        if self.tile is not None:
            self.tile.reserve(state)
            for part in self.source.parts:
                part.reserve(state)

    def prepare(self, state: State, outer: Sequence[str], start: str, stop: str) -> None:
        """Reduce the line."""
        e = state.e
        if self.tile is not None:
            tile = functools.partial(self.tiled, state, outer)
            size = self.source.dims[-1]
            each = duration(self.source) / max(about((size,)), 1)
            found = totals.by_tiles(state, self.name, self.source.kind, size, tile, self.again(state), each)
            self.value = self.finish(found)
            return
        if self.row_of is None:
            at = located(e, self.source.leaves[0], [*inner_indices(self.source, outer), "0"])
        else:
            if self.own:
                self.row_of.prepare(state, outer, start, stop)
            at = self.row_of.room.at
        self.value = self.finish(totals.fold(state, self.name, self.source.kind, at, self.source.dims[-1]))

    def again(self, state: State) -> Callable[[], None]:
        """What finds room for tiles for another thread as well; lines that are kept stay where they are."""

        def reserve() -> None:
            assert self.tile is not None
            self.tile.reserve(state)
            for part in self.source.parts:
                if not part.row:
                    part.reserve(state)

        return reserve

    def tiled(self, state: State, outer: Sequence[str], start: str, stop: str) -> str:
        """The address of the line's elements from start to stop, which are computed."""
        e, source, room = state.e, self.source, self.tile
        assert room is not None
        own, row = inner_indices(source, outer), room.array(e, start)
        for part in source.parts:
            if not part.row:
                part.prepare(state, own, start, stop)

        computed(e, source, own, start, stop, row)
        return room.at


def _folded(state: State, name: str, x: Lazy, finish: Finish = lambda value: value) -> tuple[Lazy, Reduced]:
    """Lines reduced to one element each."""
    e, part = state.e, Reduced(name, x, finish)
    kind = BOOL if name in ("any", "all") else LONG if name in ("argmax", "argmin") else x.kind
    made = Lazy(
        kind, (*x.dims[:-1], "1"), lambda _: one(kind, e.splat(kind.llvm, part.value)), x.leaves,
        parts=(*row_parts(x), part), cost=0,
    )  # fmt: skip
    return made, part


def _count(e: Emitter, n: str, kind: Scalar) -> str:
    """A number of elements as a float."""
    if n.isdigit():
        return literal(int(n), kind.llvm)
    if kind.bits == 32:
        e.bail_if(e.op(f"icmp ugt i64 {n}, {EXACT_SINGLE}"))
    return e.op(f"sitofp i64 {n} to {kind.llvm}")


def _by_lines(state: State, name: str, x: Lazy, freedom: int) -> Lazy:
    """Each line reduced; the axis is kept."""
    e, kind = state.e, x.kind
    if name in ("var", "std"):
        x = worth_keeping(state, x)
        moved = apply(state, np.subtract, (x, _by_lines(state, "mean", x, 0)))
        squares = combined(
            state, [moved], kind, lambda v: e.op(f"fmul {e.wide(kind.llvm)} {v.text}, {v.text}")
        )
        count = _degrees(e, x.dims[-1], freedom, kind)
        made, _ = _folded(state, "sum", squares, lambda s: e.effect(f"fdiv {kind.llvm} {s}, {count}"))
        return apply(state, np.sqrt, (made,)) if name == "std" else made
    if name == "mean":
        count = _count(e, x.dims[-1], kind)
        return _folded(state, "sum", x, lambda s: e.effect(f"fdiv {kind.llvm} {s}, {count}"))[0]
    return _folded(state, name, x)[0]


def _degrees(e: Emitter, n: str, freedom: int, kind: Scalar) -> str:
    """The divisor of a variance; one that is not positive leaves to the plan, which warns."""
    if n.isdigit():
        if int(n) <= freedom:
            raise Unlowered("a variance of too few elements")
        return literal(int(n) - freedom, kind.llvm)
    e.bail_if(e.op(f"icmp sle i64 {n}, {freedom}"))
    return _count(e, e.op(f"sub i64 {n}, {freedom}"), kind)


def _total(state: State, name: str, x: Lazy, freedom: int) -> Num:
    """All of it reduced to a number."""
    e = state.e
    made = _by_lines(state, name, x, freedom)
    for part in made.parts:
        part.reserve(state)
    begin(e)
    watching, e.watch = e.watch, False
    for part in made.parts:
        part.prepare(state, [], "0", x.dims[-1])
    e.watch = watching
    found = spread(made, 1)(["0"])
    return one(
        found.scalar, found.text if found.llvm not in ("double", "float") else e.keep(found.llvm, found.text)
    )


def _stored(state: State, x: Lazy, outer: Sequence[str], kept_axes: int) -> Arr:
    """Reduced lines as an array."""
    dims = (*outer, *["1"] * kept_axes)
    made = create(state, dims, x.kind.dtype, False)
    each = str(x.kind.dtype.itemsize)
    strides = dense(state.e, outer, x.kind.dtype.itemsize)
    fill(state, Arr(made.dtype, made.data, (*outer, "1"), (*strides, each)), x)
    return made


# ------------------------------------------------------------------------------------------- across
def _across(state: State, name: str, x: Lazy, axis: int, keep: bool, freedom: int) -> Arr:
    """Lines reduced with each other, element by element."""
    e, kind = state.e, x.kind
    if name in ("var", "std"):
        stored = as_lazy(e, materialized(state, x)) if x.cost or x.parts else x
        mean = as_lazy(e, _across(state, "mean", stored, axis, True, 0))
        moved = apply(state, np.subtract, (stored, mean))
        squares = combined(
            state, [moved], kind, lambda v: e.op(f"fmul {e.wide(kind.llvm)} {v.text}, {v.text}")
        )
        total = _across(state, "sum", squares, axis, keep, 0)
        count = _degrees(e, x.dims[axis], freedom, kind)
        _divided(state, total, count, name == "std")
        return total
    if name == "mean":
        total = _across(state, "sum", x, axis, keep, 0)
        _divided(state, total, _count(e, x.dims[axis], kind), False)
        return total
    if name not in STEP:
        return _first_across(state, name, x, axis, keep)
    inner = "1"
    for n in x.dims[axis + 1 :]:
        inner = times(e, inner, n)
    if inner == "1":
        raise Unlowered("a reduction across lines of one element")
    if not inner.isdigit():
        e.bail_if(e.op(f"icmp eq i64 {inner}, 1"))
    out = create(state, (*x.dims[:axis], *(["1"] if keep else []), *x.dims[axis + 1 :]), kind.dtype, False)
    target = out
    if not keep:
        strides = (*out.strides[:axis], "0", *out.strides[axis:])
        target = Arr(out.dtype, out.data, (*x.dims[:axis], "1", *x.dims[axis + 1 :]), strides)
    begin(e)
    watching, e.watch = e.watch, False
    _accumulate(state, name, x, axis, target)
    e.watch = watching
    e.version += 1
    return out


def _first_across(state: State, name: str, x: Lazy, axis: int, keep: bool) -> Arr:
    """`argmax` and `argmin`: as NumPy does, with the axis moved to the end."""
    if keep:
        raise Unlowered(f"np.{name} across lines that keeps the axis")
    whole = materialized(state, x if not x.plain else x.leaves[0])
    order = [k for k in range(len(x.dims)) if k != axis] + [axis]
    dims, strides = ([part[k] for k in order] for part in (whole.dims, whole.strides))
    turned = dataclasses.replace(whole, dims=tuple(dims), strides=tuple(strides), handle=None)
    lines = as_lazy(state.e, copied(state, turned))
    return _stored(state, _by_lines(state, name, lines, 0), dims[:-1], 0)


def _accumulate(state: State, name: str, x: Lazy, axis: int, target: Arr) -> None:
    """Loops: axes before, then the axis itself, then the lines.  Threads share the first axis, or where that
    is the one that is reduced, the second: one part has nothing to do with another."""
    e, size, last = state.e, x.dims[axis], len(x.dims) - 1
    step = element_ops.lowered(e, STEP[name], x.kind, x.kind, 2)
    assert step is not None
    old, shared = as_lazy(e, target), 0 if axis else 1

    def put(first: bool, at: list[str], value: Num) -> None:
        place = [*at[:axis], "0", *at[axis + 1 :]]
        if not first:
            value = one(x.kind, step(old.element(place), value))
        elif name in ("sum", "prod"):
            value = one(x.kind, step(_neutral(e, name, x.kind), value))
        put_at(e, target, place, value)

    def inner(indices: list[str], first: bool, part: tuple[str, str]) -> None:
        start, stop = part if len(indices) == shared else ("0", x.dims[len(indices)])
        if len(indices) == last:
            line(state, x, indices, stop, functools.partial(put, first), width(x), start=start)
        else:
            counted(e, start, stop, 1, lambda k: inner([*indices, k], first, part))

    def outer(indices: list[str], part: tuple[str, str]) -> None:
        if len(indices) < axis:
            start, stop = ("0", x.dims[len(indices)]) if indices else part
            counted(e, start, stop, 1, lambda k: outer([*indices, k], part))
        else:
            inner([*indices, "0"], True, part)
            counted(e, "1", size, 1, lambda k: inner([*indices, k], False, part))

    def some(first: str, stop: str) -> None:
        for part in x.parts:
            part.reserve(state)
        outer([], (first, stop))

    if name in ("sum", "prod", "any", "all") and not (size.isdigit() and int(size) > 0):
        e.bail_if(e.op(f"icmp eq i64 {size}, 0"))
    if shared == last and row_parts(x):  # columns would each need whole lines
        some("0", x.dims[last])
        return
    each = duration(x, target.dtype) * about(x.dims[:-1]) / max(about((x.dims[shared],)), 1)
    columns = TILE if x.parts else COLUMNS
    share(state, "0", x.dims[shared], some, cost=each, grain=columns if shared == last else 1)


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
