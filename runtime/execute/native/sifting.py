"""Items picked by a mask of the array's own sizes, or their places: counted, then moved, in pieces that
threads share.

In: an array and a mask, both in memory.  Out: a new array.  What always holds: nothing branches on the mask,
whose elements are seldom foreseen; a piece writes only where its own items belong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.execute.native.arrays import create, dense, load, plus, times
from runtime.execute.native.emit import Emitter
from runtime.execute.native.lines import counted
from runtime.execute.native.shares import share
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr

PIECES = 16
LONG = 1 << 12  # elements of a mask that is cut
WORD = 64  # elements that are counted at once
PLACE = np.dtype(np.int64)
COUNTED, MOVED = 0.05, 0.6  # nanoseconds for an element


def sifted(state: State, a: Arr, mask: Arr) -> Arr | None:
    """`a[mask]`; None where it must be done otherwise."""
    e = state.e
    if len(a.dims) != len(mask.dims):
        return None
    steps = (a.strides[0], mask.strides[0])
    if len(a.dims) > 1:
        if any(x.strides != dense(e, x.dims, x.dtype.itemsize) for x in (a, mask)):
            return None
        steps = (str(a.dtype.itemsize), "1")
    bits = 8 * a.dtype.itemsize
    return _picked(
        state,
        mask,
        steps[1],
        a.dtype,
        lambda k: e.effect(f"load i{bits}, ptr {_at(e, a, steps[0], k)}, align 1"),
    )


def places(state: State, mask: Arr) -> Arr:
    """The numbers of the true elements of a mask in C order, which lies in one piece or has one axis."""
    e, step = state.e, mask.strides[0] if len(mask.dims) == 1 else "1"
    size = "1"
    for n in mask.dims:
        size = times(e, size, n)
    if not state.depth and not (size.isdigit() and int(size) < LONG):
        return _picked(state, mask, step, PLACE, lambda k: k)
    e.flush()
    e.helpers.setdefault("count_true", _COUNT_TRUE)
    e.helpers.setdefault("places_true", _PLACES_TRUE)
    total = e.effect(f"call i64 @count_true(ptr {mask.data}, i64 {step}, i64 {size})")
    made = create(state, [total], PLACE, False)
    e.line(f"call void @places_true(ptr {mask.data}, i64 {step}, i64 {total}, ptr {made.data})")
    e.version += 1
    return made


_COUNT_TRUE = """define internal i64 @count_true(ptr %p, i64 %step, i64 %n) noinline nounwind {
start:
  br label %head
head:
  %i = phi i64 [ 0, %start ], [ %i1, %one ]
  %at = phi ptr [ %p, %start ], [ %at1, %one ]
  %s = phi i64 [ 0, %start ], [ %s1, %one ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %end
one:
  %x = load i8, ptr %at, align 1
  %true = icmp ne i8 %x, 0
  %by = zext i1 %true to i64
  %s1 = add i64 %s, %by
  %i1 = add i64 %i, 1
  %at1 = getelementptr i8, ptr %at, i64 %step
  br label %head
end:
  ret i64 %s
}"""
# Each number is written in any case, and its place counts where the mask is true: nothing branches on that.
_PLACES_TRUE = """define internal void @places_true(ptr %p, i64 %step, i64 %n, ptr %out) noinline nounwind {
start:
  br label %head
head:
  %i = phi i64 [ 0, %start ], [ %i1, %one ]
  %at = phi ptr [ %p, %start ], [ %at1, %one ]
  %k = phi i64 [ 0, %start ], [ %k1, %one ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %one, label %end
one:
  %place = getelementptr i64, ptr %out, i64 %k
  store i64 %i, ptr %place, align 8
  %x = load i8, ptr %at, align 1
  %true = icmp ne i8 %x, 0
  %by = zext i1 %true to i64
  %k1 = add i64 %k, %by
  %i1 = add i64 %i, 1
  %at1 = getelementptr i8, ptr %at, i64 %step
  br label %head
end:
  ret void
}"""


def _picked(state: State, mask: Arr, step: str, dtype: np.dtype[Any], item: Callable[[str], str]) -> Arr:
    """`item(k)` for the number of each true element.  step: from one element of the mask to the next."""
    e, size = state.e, "1"
    for n in mask.dims:
        size = times(e, size, n)
    e.flush()
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    short = e.op(f"icmp slt i64 {size}, {LONG}")
    share_of = e.op(f"udiv i64 {plus(e, size, str(PIECES * WORD - 1))}, {PIECES * WORD}")
    each = e.select(short, "i64", size, times(e, share_of, str(WORD)))
    cells = e.slot(f"[{PIECES} x i64]")

    def cell(k: str) -> str:
        return e.op(f"getelementptr i64, ptr {cells}, i64 {k}")

    def ends(k: str) -> tuple[str, str]:
        first = e.op(f"call i64 @llvm.smin.i64(i64 {times(e, k, each)}, i64 {size})")
        return first, e.op(f"call i64 @llvm.smin.i64(i64 {plus(e, first, each)}, i64 {size})")

    def count(k: str) -> None:
        e.line(f"store i64 {_count(e, mask, step, *ends(k))}, ptr {cell(k)}")

    _pieces(state, size, COUNTED, count)
    total = "0"
    for k in range(PIECES):  # from now on where each piece ends
        total = plus(e, total, e.effect(f"load i64, ptr {cell(str(k))}"))
        e.line(f"store i64 {total}, ptr {cell(str(k))}")
    made = create(state, [total], dtype, False)

    def move(k: str) -> None:
        first = e.op(f"icmp eq i64 {k}, 0")
        before = e.effect(f"load i64, ptr {cell(e.select(first, 'i64', '0', e.op(f'sub i64 {k}, 1')))}")
        after = e.effect(f"load i64, ptr {cell(k)}")
        _move(e, item, mask, step, made, ends(k), e.select(first, "i64", "0", before), after)

    _pieces(state, size, MOVED, move)
    e.version += 1
    return made


def _pieces(state: State, size: str, cost: float, one: Callable[[str], None]) -> None:
    e = state.e
    work = e.op(f"ashr i64 {times(e, size, str(round(cost * 1024)))}, 10")
    share(state, "0", str(PIECES), lambda first, last: counted(e, first, last, 1, one), work=work)


def _count(e: Emitter, mask: Arr, step: str, first: str, stop: str) -> str:
    """How many elements of a mask are true."""
    cell = e.slot("i64")
    e.line(f"store i64 0, ptr {cell}")

    def add(number: str) -> None:
        now = e.effect(f"load i64, ptr {cell}")
        e.line(f"store i64 {e.effect(f'add i64 {now}, {number}')}, ptr {cell}")

    def word(k: str) -> None:
        e.declare(f"declare i{WORD} @llvm.ctpop.i{WORD}(i{WORD})")
        add(e.effect(f"call i{WORD} @llvm.ctpop.i{WORD}(i{WORD} {_word(e, mask, k)})"))

    def element(k: str) -> None:
        true = load(e, mask.element, _at(e, mask, step, k)).text
        add(e.effect(f"zext i1 {true} to i64"))

    if step == "1":
        first = _words(e, first, stop, word)
    counted(e, first, stop, 1, element)
    return e.effect(f"load i64, ptr {cell}")


def _words(e: Emitter, first: str, stop: str, one: Callable[[str], None]) -> str:
    """`one` for each whole word from one element to another; where what is left begins."""
    whole = e.op(f"and i64 {e.op(f'sub i64 {stop}, {first}')}, {-WORD}")
    after = plus(e, first, whole)
    counted(e, first, after, WORD, one)
    return after


def _word(e: Emitter, mask: Arr, k: str) -> str:
    """So many elements of a mask as the bits of a number."""
    found = e.effect(f"load <{WORD} x i8>, ptr {_at(e, mask, '1', k)}, align 1")
    true = e.effect(f"icmp ne <{WORD} x i8> {found}, zeroinitializer")
    return e.effect(f"bitcast <{WORD} x i1> {true} to i{WORD}")


def _move(
    e: Emitter, item: Callable[[str], str], mask: Arr, step: str, made: Arr, ends: tuple[str, str],
    begin: str, end: str,
) -> None:  # fmt: skip
    """Put what the mask picks between two numbers of elements in places from `begin` to `end`."""
    size, (start, stop) = made.dtype.itemsize, ends
    place = e.slot("i64")
    e.line(f"store i64 {begin}, ptr {place}")

    def copy(i: str, by: str) -> None:
        """An item, after which as many of them count."""
        k = e.effect(f"load i64, ptr {place}")
        e.line(f"store i{8 * size} {item(i)}, ptr {_at(e, made, str(size), k)}, align 1")
        e.line(f"store i64 {e.effect(f'add i64 {k}, {by}')}, ptr {place}")

    def word(first: str) -> None:
        e.declare(f"declare i{WORD} @llvm.cttz.i{WORD}(i{WORD}, i1)")

        def bit(bits: str) -> str:
            number = e.effect(f"call i{WORD} @llvm.cttz.i{WORD}(i{WORD} {bits}, i1 true)")
            copy(plus(e, first, number), "1")
            return e.effect(f"and i{WORD} {bits}, {e.effect(f'sub i{WORD} {bits}, 1')}")

        _while(e, _word(e, mask, first), lambda bits: f"icmp ne i{WORD} {bits}, 0", bit)

    def element(i: str) -> str:
        """It is written in any case, and its place counts where the mask is true."""
        true = load(e, mask.element, _at(e, mask, step, i)).text
        copy(i, e.effect(f"zext i1 {true} to i64"))
        return e.effect(f"add i64 {i}, 1")

    left = _words(e, start, stop, word) if step == "1" else start
    _while(e, left, lambda i: f"icmp slt i64 {e.effect(f'load i64, ptr {place}')}, {end}", element)


def _while(e: Emitter, first: str, test: Callable[[str], str], step: Callable[[str], str]) -> None:
    """A loop over a number, of which each step gives the next one."""
    head, inside, out = e.block("sift"), e.block("move"), e.block("sifted")
    before = e.here
    e.jump(head)
    e.start(head)
    number = e.phi(head, "i64")
    e.branch(e.effect(test(number.name)), inside, out)
    e.start(inside)
    with e.scope():
        following = step(number.name)
        number.ways = [(first, before.label), (following, e.here.label)]
        e.jump(head)
    e.start(out)


def _at(e: Emitter, x: Arr, step: str, k: str) -> str:
    return e.op(f"getelementptr i8, ptr {x.data}, i64 {times(e, k, step)}")
