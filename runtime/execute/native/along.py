"""Reductions along lines: each line of an array, or all of it, to one number.

In: the name of a reduction and its operand.  Out: a lazy array whose last axis is kept, or a number.  What
always holds: floats are added pairwise along a line, as NumPy does it; a line that several axes make up lies
in one piece, or is computed.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np

from runtime.execute.native import folds, totals
from runtime.execute.native.accesses import located
from runtime.execute.native.arrays import create, dense, times
from runtime.execute.native.elementwise import apply, as_lazy, combined, fill, materialized, worth_keeping
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Scalar, Unlowered, literal, numpy_scalar
from runtime.execute.native.lines import (
    TILE,
    Kept,
    Room,
    about,
    begin,
    computed,
    duration,
    inner_indices,
    row_parts,
    spread,
)
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr, Lazy, Num, one

BOOL, LONG = numpy_scalar(np.dtype(np.bool_)), numpy_scalar(np.dtype(np.int64))
SHORT = 2048  # elements of a line that is kept in memory as a whole to be added up
EXACT_SINGLE = 1 << 24
Finish = Callable[[str], str]


def squared(state: State, x: Lazy) -> Lazy:
    """Each float times itself."""
    e, t = state.e, x.kind.llvm
    return combined(state, [x], x.kind, lambda v: e.op(f"fmul {e.wide(t)} {v.text}, {v.text}"))


def one_line(state: State, name: str, x: Lazy, first: int) -> Lazy:
    """The same as `as_line`, where that is how NumPy takes the axes: what does not lie in one piece it copies
    some at a time, and adds up those."""
    e, axes = state.e, [n for n in x.dims[first:] if n != "1"]
    if x.plain and x.kind.kind == "f" and name not in ("max", "min") and len(axes) > 1 and not folds.buffer():
        leaf = x.leaves[0]
        if leaf.strides[first:] != dense(e, leaf.dims[first:], leaf.dtype.itemsize):
            size = "1"
            for n in axes:
                size = times(e, size, n)
            if not size.isdigit():
                e.bail_if(e.op(f"icmp ugt i64 {size}, {folds.BUFFER}"))
            elif int(size) > folds.BUFFER:
                raise Unlowered(f"np.{name} of many elements that do not lie in one piece")
    return as_line(state, x, first)


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


def folded(state: State, name: str, x: Lazy, finish: Finish = lambda value: value) -> tuple[Lazy, Reduced]:
    """Lines reduced to one element each."""
    e, part = state.e, Reduced(name, x, finish)
    kind = BOOL if name in ("any", "all") else LONG if name in ("argmax", "argmin") else x.kind
    made = Lazy(
        kind, (*x.dims[:-1], "1"), lambda _: one(kind, e.splat(kind.llvm, part.value)), x.leaves,
        parts=(*row_parts(x), part), cost=0,
    )  # fmt: skip
    return made, part


def count_of(e: Emitter, n: str, kind: Scalar) -> str:
    """A number of elements as a float."""
    if n.isdigit():
        return literal(int(n), kind.llvm)
    if kind.bits == 32:
        e.bail_if(e.op(f"icmp ugt i64 {n}, {EXACT_SINGLE}"))
    return e.op(f"sitofp i64 {n} to {kind.llvm}")


def by_lines(state: State, name: str, x: Lazy, freedom: int) -> Lazy:
    """Each line reduced; the axis is kept."""
    e, kind = state.e, x.kind
    if name in ("var", "std"):
        x = worth_keeping(state, x)
        moved = apply(state, np.subtract, (x, by_lines(state, "mean", x, 0)))
        squares = squared(state, moved)
        count = degrees(e, x.dims[-1], freedom, kind)
        made, _ = folded(state, "sum", squares, lambda s: e.effect(f"fdiv {kind.llvm} {s}, {count}"))
        return apply(state, np.sqrt, (made,)) if name == "std" else made
    if name == "mean":
        count = count_of(e, x.dims[-1], kind)
        return folded(state, "sum", x, lambda s: e.effect(f"fdiv {kind.llvm} {s}, {count}"))[0]
    return folded(state, name, x)[0]


def degrees(e: Emitter, n: str, freedom: int, kind: Scalar) -> str:
    """The divisor of a variance; one that is not positive leaves to the plan, which warns."""
    if n.isdigit():
        if int(n) <= freedom:
            raise Unlowered("a variance of too few elements")
        return literal(int(n) - freedom, kind.llvm)
    e.bail_if(e.op(f"icmp sle i64 {n}, {freedom}"))
    return count_of(e, e.op(f"sub i64 {n}, {freedom}"), kind)


def whole(state: State, name: str, x: Lazy, freedom: int) -> Num:
    """All of it reduced to a number."""
    e = state.e
    made = by_lines(state, name, x, freedom)
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


def stored(state: State, x: Lazy, outer: Sequence[str], kept_axes: int) -> Arr:
    """Reduced lines as an array."""
    dims = (*outer, *["1"] * kept_axes)
    made = create(state, dims, x.kind.dtype, False)
    each = str(x.kind.dtype.itemsize)
    strides = dense(state.e, outer, x.kind.dtype.itemsize)
    fill(state, Arr(made.dtype, made.data, (*outer, "1"), (*strides, each)), x)
    return made
