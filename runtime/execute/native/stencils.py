"""Assignments whose value reads what they write, a few places off: results wait until nobody reads the old.

In: a target, a lazy value and those of its leaves that share memory with the target.  Out: loops, where all
of these are windows of one array.  What always holds: an element is written only after every element that
depends on its old value was computed; what waits lies in memory of its own.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence

from runtime.execute.native import pool_ir, shares
from runtime.execute.native.accesses import Scattered, element_at, put_at, whole_of
from runtime.execute.native.arrays import create, minus, plus, times
from runtime.execute.native.emit import Emitter
from runtime.execute.native.lines import (
    Put,
    Room,
    about,
    begin,
    counted,
    duration,
    line,
    masked_lanes,
    remainder,
    untagged,
    vectors,
    width,
)
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr, Lazy, Num, one

LONG = 64  # elements of a line from which on it is worth beginning where vectors lie well
CHUNK = 1024  # elements of a line that wait together, where there is only one line
MOST = 1 << 16  # lines that may wait
FEWEST = 8  # lines of a thread, for each line that its neighbours' lines reach


def delayed(state: State, target: Arr, value: Lazy, near: Sequence[Arr]) -> bool:
    """Store the value, reading its leaves as they are before; False where this can't be done."""
    shifts = [shift(target, leaf) for leaf in near]
    if not target.dims or value.dims != target.dims or not all(shifts):
        return False
    known = [s for s in shifts if s is not None]
    if len(target.dims) == 1:
        least = min(s[0] for s in known)
        if in_order(state, target, value, least, max(s[0] for s in known)):
            return True
        if least < -CHUNK:
            return False
        by_chunks(state, target, value, 1 if least < 0 else 0)
        return True
    inner = target.dims[1:-1]
    if not all(n.isdigit() for n in inner):
        return False
    moves = [(_rows(inner, s[:-1]), s[-1]) for s in known]
    lag = max(0, *(-rows for rows, _ in moves))
    if any(-rows == lag and back < 0 for rows, back in moves):
        lag += 1  # the line that is written while another one is computed must not be read behind the place
    if lag > MOST:
        return False
    by_lines(state, target, value, lag, max(1, *(abs(rows) for rows, _ in moves)))
    return True


def _rows(inner: Sequence[str], moved: Sequence[int]) -> int:
    """A move along all axes but the last as a number of lines."""
    rows = 0
    for n, by in zip(("1", *inner), moved, strict=True):
        rows = rows * int(n) + by
    return rows


def shift(target: Arr, leaf: Arr) -> tuple[int, ...] | None:
    """By how much the leaf's window is moved against the target's, along each axis."""
    if leaf.strides != target.strides or leaf.dims != target.dims or leaf.dtype != target.dtype:
        return None
    whole, start = target.window or (target.data, (0,) * len(target.dims))
    other, begin = leaf.window or (leaf.data, (0,) * len(leaf.dims))
    if whole != other or len(start) != len(begin):
        return None
    return tuple(b - a for a, b in zip(start, begin, strict=True))


def row_of(e: Emitter, target: Arr, number: str) -> list[str]:
    """The indices of a line (without the last one) by its number."""
    sizes, found = target.dims[:-1], []
    for n in reversed(sizes[1:]):
        found.append(e.op(f"urem i64 {number}, {n}"))
        number = e.op(f"udiv i64 {number}, {n}")
    return [number, *reversed(found)]


class _Lines:
    """The lines of the target, whose new elements wait in lines of memory until they may be written."""

    def __init__(self, state: State, target: Arr, value: Lazy, lag: int) -> None:
        self.state, self.e, self.target, self.value, self.lag = state, state.e, target, value, lag
        e, size, itemsize = state.e, target.dims[-1], target.dtype.itemsize
        self.lanes = width(value, target.dtype)
        self.unit = target.strides[-1] == str(itemsize)
        self.wide, self.first, self.misplaced = size, "", ""
        if self.unit and size.isdigit() and all(int(s) % 64 == 0 for s in target.strides[:-1] if s.isdigit()):
            self.first = before_whole(e, target.data, self.lanes, itemsize, size)
        if self.first:  # lines that wait lie in memory as those of the target do
            self.wide = str((int(size) + 2 * self.lanes) // self.lanes * self.lanes)
            low = e.op(f"and i64 {e.op(f'ptrtoint ptr {target.data} to i64')}, {self.lanes * itemsize - 1}")
            self.misplaced = e.op(f"and i64 {low}, {-itemsize}")
        self.room = Room(target.element, times(e, str(lag + 1), self.wide))

    def waiting(self, at: str, slot: str) -> Arr:
        """A line in memory."""
        e, size, itemsize = self.e, self.target.dims[-1], str(self.target.dtype.itemsize)
        offset = times(e, times(e, slot, self.wide), itemsize)
        if self.misplaced:
            offset = plus(e, offset, self.misplaced)
        place = at if offset == "0" else e.op(f"getelementptr i8, ptr {at}, i64 {offset}")
        return Arr(self.target.dtype, place, (size,), (itemsize,))

    def turn(self, number: str) -> Arr:
        """The line in which line number so and so waits, where `lag` of them do."""
        slot = "0" if not self.lag else self.e.op(f"urem i64 {number}, {self.lag + 1}")
        return self.waiting(self.room.at, slot)

    def write(self, number: str, row: Arr) -> None:
        """A line that waited, into the target."""
        e, outer = self.e, row_of(self.e, self.target, number)

        def body(k: str) -> None:
            untagged(e, lambda: put_at(e, self.target, [*outer, k], element_at(e, row, [k])))

        size, first = self.target.dims[-1], self.first if self.unit else ""
        vectors(e, "0", size, self.lanes, body, self.unit, first)

    def compute(self, number: str, row: Arr, earlier: str = "") -> None:
        """A line, into memory; and one that waited into the target, element by element."""
        e, target = self.e, self.target
        old = self.turn(earlier) if earlier else row
        place = row_of(e, target, earlier) if earlier else []

        def put(indices: list[str], x: Num) -> None:
            k = indices[-1:]
            if earlier:
                untagged(e, lambda: put_at(e, target, [*place, *k], element_at(e, old, k)))
            untagged(e, lambda: put_at(e, row, k, x))

        self.line(number, put)

    def direct(self, number: str) -> None:
        """A line, into the target at once."""

        def put(indices: list[str], x: Num) -> None:
            untagged(self.e, lambda: put_at(self.e, self.target, indices, x))

        self.line(number, put)

    def line(self, number: str, put: Put) -> None:
        """The new elements of a line."""
        outer, size = row_of(self.e, self.target, number), self.target.dims[-1]
        with anchored(self.e, self.target, self.lanes, bool(self.first)):
            line(self.state, self.value, outer, size, put, self.lanes, first=self.first, masked=self.unit)

    def stretch(self, start: str, stop: str) -> None:
        """Lines one after the other; `lag` computed ones wait, the first of them beside the next one."""
        e, lag = self.e, self.lag
        self.room.reserve(self.state)
        if not lag:
            counted(e, start, stop, 1, self.direct)
            return
        most = plus(e, start, str(lag))
        filled = e.select(e.op(f"icmp slt i64 {stop}, {most}"), "i64", stop, most)
        left = minus(e, stop, minus(e, filled, start))
        counted(e, start, filled, 1, lambda n: self.compute(n, self.turn(n)))
        counted(e, filled, stop, 1, lambda n: self.compute(n, self.turn(n), e.op(f"sub i64 {n}, {lag}")))
        counted(e, left, stop, 1, lambda n: self.write(n, self.turn(n)))


def by_lines(state: State, target: Arr, value: Lazy, lag: int, reach: int) -> None:
    """Line by line.  reach: how many lines away what a line reads may lie."""
    e = state.e
    begin(e)
    watching, e.watch = e.watch, False
    lines, total = _Lines(state, target, value, lag), "1"
    for n in target.dims[:-1]:
        total = times(e, total, n)
    work = about((total,)) * duration(value, target.dtype)
    if total.isdigit() and int(total) >= FEWEST * reach and work >= pool_ir.HOT and e.part is None:
        _shared(lines, int(total), reach, round(work))
    else:
        lines.stretch("0", total)
    e.watch = watching
    e.version += 1


def _shared(lines: _Lines, total: int, reach: int, work: int) -> None:
    """Threads share the lines: each has as many as the others, side by side.  The outer ones of these, which
    neighbours read, are computed first, while nothing is written, and written when all others are."""
    e, state, edges = lines.e, lines.state, 2 * reach
    pieces = shares.threads_now(state, total // (FEWEST * reach))
    alone, several, out = e.block("alone"), e.block("several"), e.block("lines")
    e.branch(e.effect(f"icmp slt i64 {pieces}, 2"), alone, several)
    e.start(alone)
    with e.scope():
        lines.stretch("0", str(total))
    e.jump(out)
    e.start(several)
    with e.scope():
        size = times(e, str(edges), lines.wide)
        kept = create(state, [e.op(f"mul i64 {pieces}, {size}")], lines.target.dtype, False).data

        def at_edge(edge: Callable[[str, Arr], None], own: str, n: str) -> None:
            edge(n, lines.waiting(kept, plus(e, n, own)))

        def piece(k: str, edge: Callable[[str, Arr], None], inner: bool) -> None:
            ends = [k, e.op(f"add i64 {k}, 1")]
            start, stop = (e.op(f"udiv i64 {e.op(f'mul i64 {p}, {total}')}, {pieces}") for p in ends)
            after, before = e.op(f"add i64 {start}, {reach}"), e.op(f"sub i64 {stop}, {reach}")
            if inner:
                lines.stretch(after, before)
            slot = e.op(f"mul i64 {k}, {edges}")
            for low, high, base in ((start, after, 0), (before, stop, reach)):
                own = e.op(f"sub i64 {e.op(f'add i64 {slot}, {base}')}, {low}")
                counted(e, low, high, 1, functools.partial(at_edge, edge, own))

        def some(first: str, last: str) -> None:
            counted(e, first, last, 1, lambda k: piece(k, lines.write, True))

        counted(e, "0", pieces, 1, lambda k: piece(k, lines.compute, False))
        shares.share(state, "0", pieces, some, work=str(work))
    e.jump(out)
    e.start(out)


def in_order(state: State, target: Arr, value: Lazy, least: int, most: int) -> bool:
    """One line, whose elements are stored at once, or beside the next ones; False where that can't be done.

    least, most: how far from its own place what an element reads may lie.
    """
    e, unit = state.e, target.strides[0] == str(target.dtype.itemsize)
    begin(e)
    watching, e.watch = e.watch, False
    lanes, done = width(value, target.dtype) if unit else 1, False
    while not done and (least >= 0 or most <= 0 or -least <= lanes):
        mark = e.mark()
        try:
            first = before_whole(e, target.data, lanes, target.dtype.itemsize, target.dims[0])
            with anchored(e, target, lanes, bool(first)):
                read = "ahead" if least >= 0 else "behind" if most <= 0 else "both"
                _ordered(e, target, value, lanes, read, first)
            done = True
        except Scattered:
            e.mask, e.last, e.lanes, e.along = "", "", 1, ""
            e.rollback(mark)
            lanes = 1
    e.watch = watching
    e.version += 1
    return done


def _ordered(e: Emitter, target: Arr, value: Lazy, lanes: int, read: str, first: str) -> None:
    """The loop: forth where elements ahead are read, back where those behind are; where both are, forth, and
    each vector is stored when the next one has been computed."""
    (size,) = target.dims

    def put(k: str, x: Num) -> None:
        untagged(e, lambda: put_at(e, target, [k], x))

    def made(k: str) -> None:
        put(k, value.element([k]))

    if read == "ahead":
        vectors(e, "0", size, lanes, made, first=first)
        return
    many = size if lanes == 1 else _whole(e, minus(e, size, first or "0"), lanes)
    end = plus(e, first, many) if first else many
    rest = minus(e, size, end) if lanes > 1 else "0"

    def back(j: str) -> None:
        e.along = e.op(f"sub nsw i64 {minus(e, end, str(lanes))}, {j}")
        made(e.along)

    if read == "behind":
        if rest != "0":
            remainder(e, end, rest, lanes, made)
        e.lanes = lanes
        counted(e, "0", many, lanes, back)
        e.lanes, e.along = 1, ""
        if first:
            remainder(e, "0", first, lanes, made)
        return
    if size.isdigit() and int(size) >= lanes:
        _one_late(e, value, size, lanes, first, put)
        return
    some, few, out = e.block("vectors"), e.block("few"), e.block("line")
    e.branch(e.effect(f"icmp sge i64 {size}, {lanes}"), some, few)
    e.start(some)
    with e.scope():
        _one_late(e, value, size, lanes, "", put)
    e.jump(out)
    e.start(few)
    with e.scope():
        remainder(e, "0", size, lanes, made)
    e.jump(out)
    e.start(out)


def _one_late(
    e: Emitter, value: Lazy, size: str, lanes: int, first: str, put: Callable[[str, Num], None]
) -> None:
    """Each vector stored when the next one has been computed, the last one when the rest has."""

    def computed(k: str) -> Num:
        e.lanes, e.along = lanes, k
        return value.element([k])

    start = str(lanes)
    if first:  # a vector of 1 to all lanes, then whole ones from where they lie well
        less = e.op(f"and i64 {e.op(f'sub i64 {first}, 1')}, {lanes - 1}")
        start = e.op(f"add i64 {less}, 1")
        with masked_lanes(e, "0", start, lanes) as at:
            some, mask = value.element([at]), e.mask
        held = computed(e.op(f"add i64 {start}, 0"))
        e.mask = mask
        put(at, some)
        e.mask = ""
        start = plus(e, start, str(lanes))
    else:
        held = computed(e.op("add i64 0, 0"))
    span = minus(e, size, start)
    end = size if lanes == 1 else plus(e, start, _whole(e, span, lanes))
    before, head, inside, last = e.here, e.block("each"), e.block("element"), e.block("last")
    e.jump(head)
    e.start(head)
    k, late = e.phi(head, "i64"), e.phi(head, e.wide(value.kind.llvm))
    e.branch(e.effect(f"icmp slt i64 {k.name}, {end}"), inside, last)
    e.start(inside)
    with e.scope():
        made = computed(k.name)
        put(e.op(f"sub nsw i64 {k.name}, {lanes}"), one(value.kind, late.name))
        following = e.effect(f"add nuw nsw i64 {k.name}, {lanes}")
        k.ways = [(start, before.label), (following, e.here.label)]
        late.ways = [(held.text, before.label), (made.text, e.here.label)]
        e.jump(head)
    e.start(last)
    waiting, place = one(value.kind, late.name), minus(e, end, str(lanes))
    if end == size:
        put(place, waiting)
    else:  # also where the rest is nothing: then no lane counts, and the last element is computed again
        with masked_lanes(e, end, minus(e, size, end), lanes) as at:
            made, mask = value.element([at]), e.mask
            e.mask = ""
            put(place, waiting)
            e.mask = mask
            put(at, made)
    e.lanes, e.along = 1, ""


def _whole(e: Emitter, size: str, lanes: int) -> str:
    """How many elements fill whole vectors."""
    return str(int(size) // lanes * lanes) if size.isdigit() else e.op(f"and i64 {size}, {-lanes}")


def often_read(value: Lazy, target: Arr, lanes: int) -> Arr | None:
    """A leaf whose array is read at several columns, where all lines of that begin alike in memory."""
    size = value.dims[-1] if value.dims else "1"
    if not size.isdigit() or int(size) < LONG or value.turns or value.parts:
        return None
    found: dict[object, list[Arr]] = {}
    for leaf in value.leaves:
        alike = all(s.isdigit() and int(s) % 64 == 0 for s in leaf.strides[:-1])
        if leaf.dims == value.dims and leaf.strides[-1] == str(leaf.dtype.itemsize) and alike:
            found.setdefault(whole_of(leaf)[0], []).append(leaf)
    most = max(found.values(), key=len, default=[])
    if len({whole_of(leaf)[1][-1] % lanes for leaf in most}) < 2:
        return None
    return next((leaf for leaf in most if whole_of(leaf)[1] == whole_of(target)[1]), most[0])


@contextlib.contextmanager
def anchored(e: Emitter, target: Arr, lanes: int, aligned: bool) -> Iterator[None]:
    """Loops whose vectors, of so many elements, lie well in the target."""
    whole, start = whole_of(target)
    e.anchor = (whole, start[-1], lanes) if aligned else None
    try:
        yield
    finally:
        e.anchor = None


def before_whole(e: Emitter, at: str, lanes: int, itemsize: int, size: str) -> str:
    """How many elements at an address come before the first place where whole vectors are best stored.

    From there on the line has one more, at least: it is not shorter than two."""
    if lanes == 1 or not size.isdigit() or int(size) < max(LONG, 2 * lanes):
        return ""
    wide = lanes * itemsize
    low = e.op(f"and i64 {e.op(f'ptrtoint ptr {at} to i64')}, {wide - 1}")
    rest = e.op(f"and i64 {e.op(f'sub i64 {wide}, {low}')}, {wide - 1}")
    return e.op(f"lshr i64 {rest}, {itemsize.bit_length() - 1}")


def by_chunks(state: State, target: Arr, value: Lazy, lag: int) -> None:
    """The same within one line, chunk by chunk."""
    e, size = state.e, target.dims[0]
    room = Room(target.element, str(CHUNK * (lag + 1)))
    room.reserve(state)
    begin(e)
    watching, e.watch = e.watch, False
    lanes, itemsize = width(value, target.dtype), target.dtype.itemsize

    def waiting(start: str) -> Arr:
        """Where the chunk that starts here waits, as an array that begins with the line."""
        slot = "0" if not lag else e.op(f"and i64 {start}, {CHUNK}")
        offset = e.op(f"mul nsw i64 {e.op(f'sub nsw i64 {slot}, {start}')}, {itemsize}")
        at = e.op(f"getelementptr i8, ptr {room.at}, i64 {offset}")
        return Arr(target.dtype, at, (size,), (str(itemsize),))

    def end(start: str) -> str:
        after = plus(e, start, str(CHUNK))
        return e.select(e.op(f"icmp slt i64 {after}, {size}"), "i64", after, size)

    def write(start: str) -> None:
        row = waiting(start)

        def body(k: str) -> None:
            untagged(e, lambda: put_at(e, target, [k], element_at(e, row, [k])))

        vectors(e, start, end(start), lanes, body, target.strides[0] == str(itemsize))

    def compute(start: str) -> None:
        row = waiting(start)

        def body(k: str) -> None:
            x = value.element([k])
            untagged(e, lambda: put_at(e, row, [k], x))

        vectors(e, start, end(start), lanes, body)

    def both(start: str) -> None:
        compute(start)
        write(e.op(f"sub i64 {start}, {CHUNK}") if lag else start)

    if lag:
        counted(e, "0", e.select(e.op(f"icmp sgt i64 {size}, 0"), "i64", "1", "0"), CHUNK, compute)
    counted(e, str(CHUNK) if lag else "0", size, CHUNK, both)
    if lag:
        last = e.op(f"and i64 {e.op(f'sub i64 {size}, 1')}, {-CHUNK}")
        counted(e, e.select(e.op(f"icmp sgt i64 {size}, 0"), "i64", last, "0"),
                e.select(e.op(f"icmp sgt i64 {size}, 0"), "i64", size, "0"), CHUNK, write)  # fmt: skip
    e.watch = watching
    e.version += 1
