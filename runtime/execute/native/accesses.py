"""Elements of arrays at indices, or as many neighbours as there are lanes: read and written.

In: an array and indices, which are in range.  Out: instructions.  What always holds: under a mask, the other
lanes read the last element that counts, and write nothing; no line of the cache is read that holds nothing
that is wanted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from runtime.execute.native.arrays import load, memory, plus, times
from runtime.execute.native.emit import Emitter
from runtime.execute.native.values import Arr, Num, one


class Scattered(Exception):
    """Some instruction works on single elements only."""


def located(e: Emitter, a: Arr, indices: Sequence[str]) -> str:
    """The address of an element."""
    offset = "0"
    for i, stride in zip(indices, a.strides, strict=True):
        offset = plus(e, offset, times(e, i, stride))
    return a.data if offset == "0" else e.op(f"getelementptr i8, ptr {a.data}, i64 {offset}")


def element_at(e: Emitter, a: Arr, indices: Sequence[str]) -> Num:
    """The element of an array at these indices, which are in range, or as many as there are lanes."""
    kind = a.element
    if e.lanes > 1 and kind.kind == "c":
        raise Scattered
    if e.lanes == 1 or e.along not in indices:
        return one(kind, e.splat(kind.llvm, load(e, kind, located(e, a, indices)).text))
    axis = list(indices).index(e.along)
    if a.strides[axis] == str(a.dtype.itemsize):
        value = beside(e, a, indices, axis)
    else:
        value = gathered(e, a, indices, axis)
    return one(kind, e.op(f"icmp ne {e.wide('i8')} {value}, zeroinitializer") if kind.kind == "b" else value)


def beside(e: Emitter, a: Arr, indices: Sequence[str], axis: int) -> str:
    """Neighbours in memory, at one go."""
    held = memory(a.element)
    if e.anchor is not None and not e.mask and axis == len(indices) - 1:
        whole, column, lanes = e.anchor
        if whole == whole_of(a)[0] and lanes == e.lanes:
            return _whole_vectors(e, a, indices, column)
    wide, at = e.wide(held), located(e, a, indices)
    if not e.mask:
        return e.load(f"load {wide}, ptr {at}, align 1")
    other = [*indices[:axis], e.last, *indices[axis + 1 :]]
    last = e.splat(held, e.load(f"load {held}, ptr {located(e, a, other)}, align 1"))
    function = f"llvm.masked.load.{lanes_of(e, held)}.p0"
    e.declare(f"declare {wide} @{function}(ptr, i32, {e.wide('i1')}, {wide})")
    return e.load(f"call {wide} @{function}(ptr {at}, i32 1, {e.wide('i1')} {e.mask}, {wide} {last})")


def whole_of(a: Arr) -> tuple[object, tuple[int, ...]]:
    """What an array is a window of, as something to compare, and where it begins there."""
    base, start = a.window or (a.data, (0,) * len(a.dims))
    return (base, a.strides, a.dtype), start


def _whole_vectors(e: Emitter, a: Arr, indices: Sequence[str], column: int) -> str:
    """Neighbours in memory, out of the vectors that lie in one line of the cache each: to read one that lies
    in two takes twice as long.  Both hold elements that are wanted, so they can be read."""
    whole, start = a.window or (a.data, (0,) * len(a.dims))
    by, wide = (start[-1] - column) % e.lanes, e.wide(memory(a.element))
    at = [plus(e, i, str(s)) for i, s in zip(indices[:-1], start, strict=False)]
    found = []
    for part in range(2 if by else 1):
        moved = start[-1] - by + part * e.lanes
        k = indices[-1] if not moved else e.op(f"add nsw i64 {indices[-1]}, {moved}")
        place = located(e, dataclasses.replace(a, data=whole), [*at, k])
        found.append(e.load(f"load {wide}, ptr {place}, align 1"))
    if not by:
        return found[0]
    lanes = ", ".join(f"i32 {by + k}" for k in range(e.lanes))
    return e.op(f"shufflevector {wide} {found[0]}, {wide} {found[1]}, <{e.lanes} x i32> <{lanes}>")


def gathered(e: Emitter, a: Arr, indices: Sequence[str], axis: int) -> str:
    """Elements that lie apart, one by one."""
    held, value = memory(a.element), "poison"
    wide = e.wide(held)
    at = located(e, a, indices)
    other = [*indices[:axis], e.last, *indices[axis + 1 :]] if e.mask else []
    for lane in range(e.lanes):
        offset = times(e, str(lane), a.strides[axis])
        place = at if offset == "0" else e.op(f"getelementptr i8, ptr {at}, i64 {offset}")
        if e.mask and lane:
            counts = e.op(f"extractelement {e.wide('i1')} {e.mask}, i32 {lane}")
            place = e.op(f"select i1 {counts}, ptr {place}, ptr {located(e, a, other)}")
        found = e.load(f"load {held}, ptr {place}, align 1")
        value = e.op(f"insertelement {wide} {value}, {held} {found}, i32 {lane}")
    return value


def lanes_of(e: Emitter, llvm: str) -> str:
    """The suffix of an intrinsic's name for vectors of this type."""
    return f"v{e.lanes}{ {'double': 'f64', 'float': 'f32'}.get(llvm, llvm) }"


def progression(e: Emitter, k: str, first: str = "0", step: int = 1) -> str:
    """first + k * step for an index, of all lanes; where not all count, the last one stands in the others."""

    def single(k: str) -> str:
        return plus(e, first, times(e, k, str(step)))

    if e.lanes == 1 or k != e.along:
        return e.splat("i64", single(k))
    wide, steps = e.wide("i64"), ", ".join(f"i64 {lane * step}" for lane in range(e.lanes))
    found = e.op(f"add {wide} {e.splat('i64', single(k))}, <{steps}>")
    if e.mask:
        found = e.op(
            f"select {e.wide('i1')} {e.mask}, {wide} {found}, {wide} {e.splat('i64', single(e.last))}"
        )
    return found


def put_at(e: Emitter, a: Arr, indices: Sequence[str], value: Num) -> None:
    """Store an element, or as many as there are lanes."""
    kind, held = a.element, memory(a.element)
    text = value.text
    if kind.kind == "b":
        text = e.op(f"zext {e.wide('i1')} {text} to {e.wide('i8')}")
    at, wide = located(e, a, indices), e.wide(held)
    e.version += 1
    if e.lanes == 1 or a.strides[-1] == str(a.dtype.itemsize):
        if not e.mask:
            e.line(f"store {wide} {text}, ptr {at}, align 1{e.tags[1]}")
            return
        function, mask = f"llvm.masked.store.{lanes_of(e, held)}.p0", e.wide("i1")
        e.declare(f"declare void @{function}({wide}, ptr, i32, {mask})")
        e.line(f"call void @{function}({wide} {text}, ptr {at}, i32 1, {mask} {e.mask}){e.tags[1]}")
        return
    for lane in range(e.lanes):
        single = e.effect(f"extractelement {wide} {text}, i32 {lane}")
        offset = times(e, str(lane), a.strides[-1])
        place = at if offset == "0" else e.op(f"getelementptr i8, ptr {at}, i64 {offset}")
        e.line(f"store {held} {single}, ptr {place}, align 1{e.tags[1]}")
