"""Loops over arrays line by line: several elements at once, tiles and rows in memory of their own.

In: lazy arrays and what to do with their elements.  Out: loops.  What always holds: a line's last elements,
which fill no vector, are worked on under a mask, in whose other lanes the last element stands again, so no
flag is raised that an element would not raise; parts of a lazy array are prepared before elements that need
them; memory of a part is never memory of an array.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.execute.native.accesses import Scattered, element_at, located, put_at
from runtime.execute.native.arrays import create, memory, minus, plus, times
from runtime.execute.native.emit import Block, Emitter
from runtime.execute.native.host import vector_bytes
from runtime.execute.native.kinds import Scalar, Unlowered
from runtime.execute.native.orders import agreed
from runtime.execute.native.shares import own_memory, share
from runtime.execute.native.state import State
from runtime.execute.native.turns import stretches
from runtime.execute.native.ufunc_loops import call_loop
from runtime.execute.native.values import Arr, Lazy, Num, Part, one
from runtime.execute.native.vector_math import Element, abreast, settled

TILE = 512  # elements that a ufunc's own loop works on at once
ON_STACK = 1 << 14  # bytes of a row that may lie on the stack
STACK = 1 << 18  # and of all rows and tiles together
INSTRUCTION, BYTE = 0.3, 0.015  # nanoseconds of a vector's instruction, and for what is read or written
GUESS = 64  # elements along an axis whose size is not known
Put = Callable[[list[str], Num], None]


# ------------------------------------------------------------------------------------------- elements
def shared(e: Emitter, kind: Scalar, compute: Element) -> Element:
    """The same function of the indices, whose instructions are written once per place."""
    name = e.name()

    def element(indices: Sequence[str]) -> Num:
        key = f"{name} {' '.join(indices)} {e.lanes} {e.mask} {e.version}"
        if key not in e.memo:
            found = compute(indices)
            e.memo[f"{name} {' '.join(indices)} {e.lanes} {e.mask} {e.version}"] = found.text
            return found
        return one(kind, e.memo[key])

    return element


def spread(p: Lazy, rank: int) -> Element:
    """The element function for indices of the broadcast array."""

    def element(indices: Sequence[str]) -> Num:
        own = indices[rank - len(p.dims) :]
        return p.element(["0" if n == "1" else i for n, i in zip(p.dims, own, strict=True)])

    return element


# ---------------------------------------------------------------------------------------------- loops
def begin(e: Emitter) -> None:
    """Act on the checks that were put off, before loops."""
    e.flush()
    if not e.reachable():
        raise Unlowered("something that always leaves to the plan")


def counted(e: Emitter, start: str, stop: str, step: int, body: Callable[[str], None]) -> None:
    """A loop whose index goes from start to stop."""
    head, inside, out = e.block("each"), e.block("element"), e.block("done")
    before = e.here
    e.jump(head)
    e.start(head)
    k = e.phi(head, "i64")
    e.branch(e.effect(f"icmp slt i64 {k.name}, {stop}"), inside, out)
    e.start(inside)
    with e.scope():
        body(k.name)
        following = e.effect(f"add nuw nsw i64 {k.name}, {step}")
        k.ways = [(start, before.label), (following, e.here.label)]
        last = e.here
        e.jump(head)
        if e.unusual:
            _trip_by_trip(e, last)
    e.start(out)


def _trip_by_trip(e: Emitter, last: Block) -> None:
    """Keep LLVM from doing several trips of the loop that ends so in a row: that takes long to compile."""
    number = 10 + len(e.metadata)
    last.lines[-1] += f", !llvm.loop !{number}"
    e.metadata += [
        f"!{number} = distinct !{{!{number}, !{number + 1}}}",
        f'!{number + 1} = !{{!"llvm.loop.unroll.disable"}}',
    ]


def vectors(
    e: Emitter, start: str, stop: str, lanes: int, body: Callable[[str], None], masked: bool = True,
    first: str = "", even: bool = False,
) -> None:  # fmt: skip
    """A loop over elements, `lanes` at once, and the rest under a mask, or one by one.

    first: how many come before the first whole vector, so that vectors lie well in memory.  even: there is no
    rest.
    """
    if lanes > 1:
        mark = e.mark()
        try:
            if first:
                first = at_most(e, first, minus(e, stop, start))
                remainder(e, start, first, lanes, body)
            _vectors(e, plus(e, start, first) if first else start, stop, lanes, body, masked, even)
            return
        except Scattered:
            e.mask, e.last, e.lanes, e.along = "", "", 1, ""
            e.rollback(mark)
    counted(e, start, stop, 1, body)


def at_most(e: Emitter, x: str, limit: str) -> str:
    """The lesser of two numbers of elements."""
    return x if limit.isdigit() else e.call("i64", "llvm.smin.i64", ("i64", x), ("i64", limit))


def _several(e: Emitter, body: Callable[[str], None]) -> Callable[[str], None]:
    def along(k: str) -> None:
        e.along = k
        body(k)

    return along


def _vectors(
    e: Emitter, start: str, stop: str, lanes: int, body: Callable[[str], None], masked: bool, even: bool
) -> None:
    span = minus(e, stop, start)
    many = str(int(span) // lanes * lanes) if span.isdigit() else e.op(f"and i64 {span}, {-lanes}")
    middle = stop if even else plus(e, start, many)
    e.lanes = lanes
    if many != "0":
        counted(e, start, middle, lanes, _several(e, body))
    e.lanes, e.along = 1, ""
    if middle == stop:
        return
    if masked:
        remainder(e, middle, minus(e, stop, middle), lanes, body)
    else:
        counted(e, middle, stop, 1, body)


def remainder(e: Emitter, start: str, count: str, lanes: int, body: Callable[[str], None]) -> None:
    """Fewer elements than there are lanes."""
    some, out = e.block("some"), e.block("none")
    before = dict(e.memo)
    fixed = count.isdigit()
    if fixed:  # kept from LLVM, which would put anything into lanes that it knows do not count
        count = e.op(f'call i64 asm "", "=r,0"(i64 {count})')
    else:
        e.branch(e.effect(f"icmp sgt i64 {count}, 0"), some, out)
        e.start(some)
    with masked_lanes(e, start, count, lanes) as k:
        body(k)
    if not fixed:
        e.jump(out)
        e.start(out)
        e.memo = before


@contextlib.contextmanager
def masked_lanes(e: Emitter, start: str, count: str, lanes: int) -> Iterator[str]:
    """Code on the first `count` lanes; gives the index of the first one."""
    e.last = e.op(f"add i64 {start}, {e.op(f'sub i64 {count}, 1')}")
    e.lanes = lanes
    order = "<" + ", ".join(f"i64 {k}" for k in range(lanes)) + ">"
    e.mask = e.op(f"icmp ult {e.wide('i64')} {order}, {e.splat('i64', count)}")
    e.along = e.op(f"add i64 {start}, 0")
    yield e.along
    e.mask, e.last, e.lanes, e.along = "", "", 1, ""


def in_stretches(
    e: Emitter, value: Lazy, start: str, stop: str, body: Callable[[str], None], lanes: int = 0,
    masked: bool = True, first: str = "", even: bool = False,
) -> None:  # fmt: skip
    """Such a loop over a line of this array."""
    first, even = ("", False) if value.turns else (first, even)
    args = lanes or width(value), body, masked, first, even
    stretches(e, value.turns, start, stop, lambda start, stop: vectors(e, start, stop, *args))


def line(
    state: State, value: Lazy, outer: Sequence[str], size: str, put: Put, lanes: int,
    *, start: str = "0", ready: bool = False, masked: bool = True, first: str = "", even: bool = False,
    to: Arr | None = None,
) -> None:  # fmt: skip
    """Give each element of a line (or as many as there are lanes) to `put`.

    to: where they go, side by side, so that a ufunc's own loop can write them there itself.

    outer: the indices of all axes but the last.  start: the first element.  ready: whether the parts for rows
    are prepared.  first: how many elements come before the first whole vector.  even: there is no rest.
    """
    e, rank = state.e, len(outer) + 1
    element = settled(e, value.kind, spread(value, rank))
    if lanes > 1:
        lanes *= abreast(value, size)
        even = even and size.isdigit() and int(size) % lanes == 0
    if not ready:
        for part in value.parts:
            if part.row:
                part.prepare(state, outer, "0", size)

    def body(k: str) -> None:
        indices = [*outer, k]
        put(indices, element(indices))

    tiles = [part for part in value.parts if not part.row]
    if not tiles:
        in_stretches(e, value, start, size, body, lanes, masked, first if masked else "", even)
        return
    last = value.held if to is not None and value.held in tiles else None

    def some(start: str, stop: str, even: bool) -> None:
        for part in tiles:
            if to is not None and part is last and isinstance(part, Looped):
                part.compute(state, outer, start, stop, located(e, to, [*outer, start]))
                return
            part.prepare(state, outer, start, stop)
        in_stretches(e, value, start, stop, body, lanes, masked, even=even)

    def tile(start: str) -> None:
        end = e.op(f"add i64 {start}, {TILE}")
        some(start, e.select(e.op(f"icmp slt i64 {end}, {size}"), "i64", end, size), even)

    alone = isinstance(last, Looped) and len(tiles) == 1 and last.of_arrays()
    if alone or (start == "0" and size.isdigit() and int(size) <= TILE):
        some(start, size, False)
    else:
        counted(e, start, size, TILE, tile)


def width(value: Lazy, *others: np.dtype[Any]) -> int:
    """How many elements are worked on at once."""
    sizes = [value.widest, value.kind.dtype.itemsize, *(d.itemsize for d in others)]
    sizes += [a.dtype.itemsize for a in value.leaves]
    return vector_bytes() // max([*sizes, *(p.itemsize for p in value.parts)])


def duration(value: Lazy, *others: np.dtype[Any]) -> float:
    """About how many nanoseconds a line takes."""
    places = {a.window[0] if a.window else a.data: a.dtype.itemsize for a in value.leaves}
    moved = sum(d.itemsize for d in others) + sum(places.values())
    total = about(value.dims[-1:]) * (value.cost * INSTRUCTION / width(value, *others) + moved * BYTE)
    for part in value.parts:
        source = getattr(part, "source", value)
        total += about(source.dims[-1:]) * (source.cost + 4) * INSTRUCTION / width(source)
    return total


def about(dims: Sequence[str]) -> float:
    """About how many elements there are."""
    return math.prod(int(n) if n.isdigit() else GUESS for n in dims)


# ---------------------------------------------------------------------------------------------- parts
def merged_parts(values: Sequence[Lazy]) -> tuple[Part, ...]:
    """The parts of several lazy arrays, each once, what is needed first in front."""
    found: dict[int, Part] = {}
    for value in values:
        for part in value.parts:
            found.setdefault(id(part), part)
    return tuple(found.values())


def row_parts(value: Lazy) -> tuple[Part, ...]:
    """Those parts that are prepared for whole lines."""
    return tuple(part for part in value.parts if part.row)


class Room:
    """Memory for elements, on the stack where they are few."""

    def __init__(self, kind: Scalar, size: str) -> None:
        self.kind, self.size, self.at = kind, size, ""
        self.home: list[str] = []  # the prologue of the function that it is in

    def reserve(self, state: State) -> None:
        """Find it, before any loop."""
        e, bytes_each = state.e, self.kind.dtype.itemsize
        if self.home is e.prologue:
            return
        if e.part is not None:
            e.part.after.append(functools.partial(self.__dict__.update, home=self.home, at=self.at))
        self.home = e.prologue
        total = int(self.size) * bytes_each if self.size.isdigit() else STACK + 1
        if total <= ON_STACK and e.stacked + total <= STACK:
            e.stacked += total
            self.at = e.name()
            e.prologue.append(
                f"{self.at} = alloca [{max(int(self.size), 1)} x {memory(self.kind)}], align 64"
            )
        else:
            dtype = self.kind.dtype
            self.at = own_memory(
                state, self.size, bytes_each, lambda size: create(state, [size], dtype, False).data
            )

    def array(self, e: Emitter, start: str = "0") -> Arr:
        """It as an array whose element number `start` lies first."""
        each = self.kind.dtype.itemsize
        at = self.at
        if start != "0":
            back = e.op(f"mul nsw i64 {start}, {-each}")
            at = e.op(f"getelementptr i8, ptr {at}, i64 {back}")
        return Arr(self.kind.dtype, at, (self.size,), (str(each),))


def untagged(e: Emitter, read: Callable[[], Any]) -> Any:
    """Reading or writing of memory that arrays don't lie in, about whose aliasing nothing is said."""
    before, e.tags = e.tags, ("", "")
    found = read()
    e.tags = before
    return found


class Kept:
    """A line of a lazy array in memory, for several uses."""

    row = True

    def __init__(self, source: Lazy) -> None:
        self.source, self.itemsize = source, source.kind.dtype.itemsize
        self.room = Room(source.kind, source.dims[-1])

    def reserve(self, state: State) -> None:
        """Find room for it, before any loop."""
        for part in self.source.parts:
            part.reserve(state)
        self.room.reserve(state)

    def prepare(self, state: State, outer: Sequence[str], start: str, stop: str) -> None:
        """Compute the line."""
        e, row = state.e, self.room.array(state.e)
        size, own = self.source.dims[-1], inner_indices(self.source, outer)

        def put(indices: list[str], x: Num) -> None:
            untagged(e, lambda: put_at(e, row, indices[-1:], x))

        def some(first: str, last: str) -> None:
            for part in self.source.parts:
                if not part.row:
                    part.reserve(state)
            line(state, self.source, own, last, put, width(self.source), start=first, ready=True)

        each = duration(self.source) / max(about((size,)), 1)
        share(state, "0", size, some, cost=each, grain=TILE)

    def place(self, e: Emitter, start: str) -> str:
        """The address of the elements from an index on."""
        return located(e, self.room.array(e), [start])

    def element(self, e: Emitter, indices: Sequence[str]) -> Num:
        """An element that was kept."""
        found: Num = untagged(e, lambda: element_at(e, self.room.array(e), indices[-1:]))
        return found


def computed(e: Emitter, source: Lazy, outer: Sequence[str], start: str, stop: str, to: Arr) -> None:
    """Compute the elements of a line from start to stop, into memory that is no array's."""
    element = settled(e, source.kind, source.element)

    def body(k: str) -> None:
        value = element([*outer, k])
        untagged(e, lambda: put_at(e, to, [k], value))

    in_stretches(e, source, start, stop, body, width(source) * abreast(source, ""))


def inner_indices(value: Lazy, outer: Sequence[str]) -> list[str]:
    """The indices of all axes but the last of a lazy array, out of those of the array it is broadcast to."""
    count = len(value.dims) - 1
    own = list(outer[len(outer) - count :]) if 0 < count < len(outer) else list(outer[:count])
    own += ["0"] * (count - len(own))  # its last axes are taken as one line
    return ["0" if n == "1" else i for n, i in zip(value.dims, own, strict=False)]


class KeptTile:
    """A tile of a lazy array in memory, for several uses."""

    row = False

    def __init__(self, source: Lazy) -> None:
        self.source, self.itemsize = source, source.kind.dtype.itemsize
        total = math.prod(int(n) if n.isdigit() else TILE for n in source.dims)  # all may be one line
        self.room = Room(source.kind, str(min(total, TILE)))
        self.made: Arr | None = None

    def reserve(self, state: State) -> None:
        """Find room for it, before any loop."""
        self.room.reserve(state)

    def prepare(self, state: State, outer: Sequence[str], start: str, stop: str) -> None:
        """Compute the tile."""
        e, made = state.e, self.room.array(state.e, start)
        own = inner_indices(self.source, outer)

        computed(e, self.source, own, start, stop, made)
        self.made = made

    def place(self, e: Emitter, start: str) -> str:
        """The address of the tile."""
        return self.room.at

    def element(self, e: Emitter, indices: Sequence[str]) -> Num:
        """An element of the tile."""
        made = self.made
        assert made is not None
        found: Num = untagged(e, lambda: element_at(e, made, indices[-1:]))
        return found


def kept(state: State, source: Lazy, whole: bool) -> Lazy:
    """The same array, whose elements are computed once for all uses in a line (whole), or in a tile of it."""
    e, part = state.e, Kept(source) if whole else KeptTile(source)
    element = shared(e, source.kind, lambda indices: part.element(e, indices))
    parts = (*(row_parts(source) if whole else source.parts), part)
    return Lazy(
        source.kind, source.dims, element, source.leaves, parts=parts, cost=1, held=part, turned=source.turned
    )


def in_memory(x: Lazy) -> bool:
    """Whether the elements of a line are where a ufunc's own loop can read them."""
    if not x.dims or x.dims[-1] == "1":
        return False
    return x.plain or isinstance(x.held, (Kept, KeptTile, Looped))


class Looped:
    """What a ufunc's own inner loop makes of a tile."""

    def __init__(
        self, ufunc: np.ufunc, kinds: Sequence[Scalar], found: tuple[int, int], operands: Sequence[Lazy],
        dims: Sequence[str],
    ) -> None:  # fmt: skip
        self.ufunc, self.kinds, self.found, self.operands = ufunc, kinds, found, operands
        self.dims = tuple(dims)
        self.row = self.dims[-1] == "1"
        total = math.prod(int(n) if n.isdigit() else TILE for n in self.dims)  # all may be taken as one line
        self.rooms = [Room(kind, str(min(total, TILE))) for kind in kinds]
        self.itemsize = max(kind.dtype.itemsize for kind in kinds)
        self.made: Arr | None = None

    def reserve(self, state: State) -> None:
        """Find room for it, before any loop."""
        for k, room in enumerate(self.rooms):
            if k >= len(self.operands) or not in_memory(self.operands[k]):
                room.reserve(state)

    def prepare(self, state: State, outer: Sequence[str], start: str, stop: str) -> None:
        """Compute the tile."""
        result = self.rooms[-1]
        self.compute(state, outer, start, stop, result.at)
        self.made = result.array(state.e, "0" if self.row else start)

    def of_arrays(self) -> bool:
        """Whether it reads nothing but arrays as they lie in memory, and numbers: it needs no tiles."""
        return all(x.plain or not x.dims or x.dims[-1] == "1" for x in self.operands)

    def compute(self, state: State, outer: Sequence[str], start: str, stop: str, to: str) -> None:
        """Compute the tile, which goes to an address."""
        e = state.e
        if self.row:
            start, stop = "0", "1"
        places: list[tuple[str, str]] = []
        for k, x in enumerate(self.operands):
            same = [place for other, place in zip(self.operands, places, strict=False) if other is x]
            places.append(same[0] if same else self.operand(state, k, outer, start, stop))
        places.append((to, str(self.rooms[-1].kind.dtype.itemsize)))
        places = [(at, self.step(e, step)) for at, step in places]
        call_loop(state, self.ufunc, self.kinds, self.found, places, minus(e, stop, start))

    def step(self, e: Emitter, step: str) -> str:
        """From one element to the next, as NumPy tells its loop: 0 for one element where the operands
        have different numbers of axes.  Products of complex numbers are rounded by that."""
        if self.kinds[-1].kind != "c" or len({len(x.dims) for x in self.operands if x.dims}) < 2:
            return step
        total = functools.reduce(functools.partial(times, e), self.dims)
        if total.isdigit():
            return "0" if total == "1" else step
        return e.op(f"select i1 {e.op(f'icmp eq i64 {total}, 1')}, i64 0, i64 {step}")

    def operand(self, state: State, k: int, outer: Sequence[str], start: str, stop: str) -> tuple[str, str]:
        """(address, step) of an operand's elements."""
        e, x, room = state.e, self.operands[k], self.rooms[k]
        own = inner_indices(x, outer)
        if x.plain and x.dims and x.dims[-1] != "1":
            leaf = x.leaves[0]
            return located(e, leaf, [*own, start]), leaf.strides[-1]
        if in_memory(x):
            assert isinstance(x.held, (Kept, KeptTile, Looped))
            return x.held.place(e, start), str(x.kind.dtype.itemsize)
        row = room.array(e, start)
        if not x.dims or x.dims[-1] == "1":
            value = x.element([*own, "0"] if x.dims else [])
            untagged(e, lambda: put_at(e, room.array(e), ["0"], value))
            # of an array with one element, too, NumPy gives the size: a step of 0 says that it is a number
            return room.at, str(room.kind.dtype.itemsize) if self.row and x.dims else "0"

        computed(e, x, own, start, stop, row)
        return room.at, str(room.kind.dtype.itemsize)

    def place(self, e: Emitter, start: str) -> str:
        """The address of the tile that was made last."""
        return self.rooms[-1].at

    def element(self, e: Emitter, indices: Sequence[str]) -> Num:
        """An element of the tile that was made last."""
        made = self.made
        assert made is not None
        found: Num = untagged(e, lambda: element_at(e, made, indices[-1:]))
        return found


def looped(
    state: State, ufunc: np.ufunc, kinds: Sequence[Scalar], found: tuple[int, int],
    operands: Sequence[Lazy], dims: Sequence[str],
) -> Lazy:  # fmt: skip
    """A lazy array that a ufunc's own inner loop computes tile by tile."""
    e, part = state.e, Looped(ufunc, kinds, found, operands, dims)
    element = shared(e, kinds[-1], lambda indices: part.element(e, indices))
    leaves = tuple(leaf for x in operands for leaf in x.leaves)
    parts = (*merged_parts(operands), part)
    turned = agreed(operands, dims)
    return Lazy(kinds[-1], tuple(dims), element, leaves, parts=parts, cost=20, held=part, turned=turned)
