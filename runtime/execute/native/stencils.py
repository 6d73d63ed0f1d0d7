"""Assignments whose value reads what they write, a few places off: results wait until nobody reads the old.

In: a target, a lazy value and those of its leaves that share memory with the target.  Out: loops, where all
of these are windows of one array.  What always holds: an element is written only after every element that
depends on its old value was computed; what waits lies in memory of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.execute.native.arrays import plus, times
from runtime.execute.native.emit import Emitter
from runtime.execute.native.lines import (
    Room,
    before_whole,
    begin,
    counted,
    element_at,
    line,
    minus,
    put_at,
    untagged,
    vectors,
    width,
)
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr, Lazy, Num

CHUNK = 1024  # elements of a line that wait together, where there is only one line
MOST = 1 << 16  # lines that may wait


def delayed(state: State, target: Arr, value: Lazy, near: Sequence[Arr]) -> bool:
    """Store the value, reading its leaves as they are before; False where this can't be done."""
    shifts = [shift(target, leaf) for leaf in near]
    if not target.dims or value.dims != target.dims or not all(shifts):
        return False
    known = [s for s in shifts if s is not None]
    if len(target.dims) == 1:
        least = min(s[0] for s in known)
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
    by_lines(state, target, value, lag)
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


def by_lines(state: State, target: Arr, value: Lazy, lag: int) -> None:
    """Line by line; `lag` computed lines wait to be written, the first of them beside the next one."""
    e, size = state.e, target.dims[-1]
    lanes, itemsize = width(value, target.dtype), target.dtype.itemsize
    unit = target.strides[-1] == str(itemsize)
    wide, first, misplaced = size, "", ""
    if unit and size.isdigit() and all(int(s) % 64 == 0 for s in target.strides[:-1] if s.isdigit()):
        first = before_whole(e, target.data, lanes, itemsize, size)
    if first:  # lines that wait lie in memory as those of the target do
        wide = str((int(size) + 2 * lanes) // lanes * lanes)
        low = e.op(f"and i64 {e.op(f'ptrtoint ptr {target.data} to i64')}, {lanes * itemsize - 1}")
        misplaced = e.op(f"and i64 {low}, {-itemsize}")
    room = Room(target.element, times(e, str(lag + 1), wide))
    room.reserve(state)
    begin(e)
    watching, e.watch = e.watch, False
    total = "1"
    for n in target.dims[:-1]:
        total = times(e, total, n)

    def waiting(number: str) -> Arr:
        """The line in which line number so and so waits."""
        slot = "0" if not lag else e.op(f"urem i64 {number}, {lag + 1}")
        offset = times(e, times(e, slot, wide), str(target.dtype.itemsize))
        if misplaced:
            offset = plus(e, offset, misplaced)
        at = room.at if offset == "0" else e.op(f"getelementptr i8, ptr {room.at}, i64 {offset}")
        return Arr(target.dtype, at, (size,), (str(target.dtype.itemsize),))

    def write(number: str) -> None:
        row, outer = waiting(number), row_of(e, target, number)

        def body(k: str) -> None:
            untagged(e, lambda: put_at(e, target, [*outer, k], element_at(e, row, [k])))

        vectors(e, "0", size, lanes, body, unit, first if unit else "")

    def compute(number: str, earlier: str = "") -> None:
        row = waiting(number)
        old = waiting(earlier) if earlier else row
        place = row_of(e, target, earlier) if earlier else []

        def put(indices: list[str], x: Num) -> None:
            k = indices[-1:]
            if earlier:
                untagged(e, lambda: put_at(e, target, [*place, *k], element_at(e, old, k)))
            untagged(e, lambda: put_at(e, row, k, x))

        line(state, value, row_of(e, target, number), size, put, lanes, first=first, masked=unit)

    def direct(number: str) -> None:
        outer = row_of(e, target, number)

        def put(indices: list[str], x: Num) -> None:
            untagged(e, lambda: put_at(e, target, indices, x))

        line(state, value, outer, size, put, lanes, first=first, masked=unit)

    if not lag:
        counted(e, "0", total, 1, direct)
    else:
        filled = e.select(e.op(f"icmp slt i64 {total}, {lag}"), "i64", total, str(lag))
        counted(e, "0", filled, 1, compute)
        counted(e, filled, total, 1, lambda number: compute(number, e.op(f"sub i64 {number}, {lag}")))
        counted(e, minus(e, total, filled), total, 1, write)
    e.watch = watching
    e.version += 1


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
