"""Folds of long lines, which threads share piece by piece.

In: the name of a fold, a dtype, and where the elements lie, or what computes some of them.  Out: the number.
What always holds: it is the one that `folds` gives, bit for bit: the pieces of a sum of floats are those into
which NumPy halves it, put together in NumPy's order; an extreme that is zero or NaN is looked for again by
one thread; what depends on the order in any other way is not cut.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from runtime.execute.native import firsts, folds
from runtime.execute.native.arrays import memory, plus
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Scalar
from runtime.execute.native.lines import counted
from runtime.execute.native.shares import share
from runtime.execute.native.state import State

LEVELS = 5  # how often a line is halved
PIECES = 1 << LEVELS
LONG = 1 << 16  # elements of a line that is cut
EACH = 0.1  # nanoseconds for an element that lies in memory
Piece = Callable[[str, str], str]  # the fold of elements, from the number of the first, and how many they are


def fold(state: State, name: str, kind: Scalar, at: str, size: str) -> str:
    """The fold of `size` elements at an address."""
    e, item = state.e, kind.dtype.itemsize

    def piece(first: str, count: str) -> str:
        place = e.op(f"getelementptr i8, ptr {at}, i64 {e.op(f'mul i64 {first}, {item}')}")
        return folds.fold(state, name, kind, place, count)

    def whole() -> str:
        return folds.fold(state, name, kind, at, size)

    if name[:3] == "arg":
        return firsts.first(state, name, kind, at, size)
    return _either(state, name, kind, size, piece, whole, EACH)


def by_tiles(
    state: State, name: str, kind: Scalar, size: str, tile: Piece, reserve: Callable[[], None], cost: float
) -> str:
    """The fold of `size` elements that `tile` computes, from one number to another; it tells where they lie.

    reserve: finds room for them.  cost: about how many nanoseconds each takes.
    """
    e = state.e

    def piece(first: str, count: str) -> str:
        if e.part is not None:
            reserve()
        return folds.by_tiles(state, name, kind, plus(e, first, count), tile, first)

    def whole() -> str:
        return folds.by_tiles(state, name, kind, size, tile)

    return _either(state, name, kind, size, piece, whole, cost)


def _either(
    state: State, name: str, kind: Scalar, size: str, piece: Piece, whole: Callable[[], str], cost: float
) -> str:
    """In pieces where the line is long."""
    e = state.e
    ordered = kind.kind == "f" and (name == "prod" or (name == "sum" and folds.buffer()))
    if ordered or e.part is not None or (size.isdigit() and int(size) < LONG):
        return whole()
    if size.isdigit():
        return _cut(state, name, kind, size, piece, whole, cost)
    llvm = "i1" if kind.kind == "b" else kind.llvm
    ways = [e.block("long"), e.block("short")]
    out = e.block("total")
    found = e.phi(out, llvm)
    e.branch(e.effect(f"icmp sge i64 {size}, {LONG}"), *ways)
    cut = functools.partial(_cut, state, name, kind, size, piece, whole, cost)
    computing: tuple[Callable[[], str], ...] = (cut, whole)
    for block, compute in zip(ways, computing, strict=True):
        e.start(block)
        with e.scope():
            value = compute()
            found.ways.append((value, e.here.label))
            e.jump(out)
    e.start(out)
    return found.name


def _cut(
    state: State, name: str, kind: Scalar, size: str, piece: Piece, whole: Callable[[], str], cost: float
) -> str:
    """The fold of a long line."""
    e, held = state.e, memory(kind)
    cells = e.slot(f"[{PIECES} x {held}]")

    def cell(k: str) -> str:
        return e.op(f"getelementptr {held}, ptr {cells}, i64 {k}")

    def one(k: str) -> None:
        value = piece(*_halved(e, k, size))
        if kind.kind == "b":
            value = e.op(f"zext i1 {value} to i8")
        e.line(f"store {held} {value}, ptr {cell(k)}")

    work = e.op(f"mul i64 {size}, {max(1, round(cost * 1024))}")
    share(
        state, "0", str(PIECES), lambda first, last: counted(e, first, last, 1, one),
        work=str(round(int(size) * cost)) if size.isdigit() else e.op(f"ashr i64 {work}, 10"),
    )  # fmt: skip
    parts = [e.effect(f"load {held}, ptr {cell(str(k))}") for k in range(PIECES)]
    if kind.kind == "f" and name == "sum":
        return _added(e, kind.llvm, parts)
    if kind.kind == "f":
        return _checked(state, name, kind, cells, whole)
    return folds.fold(state, name, kind, cells, str(PIECES))


def _halved(e: Emitter, k: str, size: str) -> tuple[str, str]:
    """(first element, number of elements) of piece `k`."""
    first, count = "0", size
    for level in reversed(range(LEVELS)):
        half = e.op(f"and i64 {e.op(f'lshr i64 {count}, 1')}, -8")
        bit = e.op(f"and i64 {e.op(f'lshr i64 {k}, {level}')}, 1")
        second = e.op(f"icmp ne i64 {bit}, 0")
        first = plus(e, first, e.select(second, "i64", half, "0"))
        count = e.select(second, "i64", e.op(f"sub i64 {count}, {half}"), half)
    return first, count


def _added(e: Emitter, llvm: str, parts: Sequence[str]) -> str:
    """The sums of neighbours, and of these, until it is one."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [e.op(f"fadd {llvm} {a}, {b}") for a, b in pairs]
    return parts[0]


def _checked(state: State, name: str, kind: Scalar, cells: str, whole: Callable[[], str]) -> str:
    """The extreme of the pieces, or of all elements, where that is not the same."""
    e = state.e
    again, out = e.block("again"), e.block("best")
    found = folds.fold(state, name, kind, cells, str(PIECES))
    best, before = e.phi(out, kind.llvm), e.here
    e.branch(e.effect(f"fcmp ueq {kind.llvm} {found}, 0.0"), again, out)
    e.start(again)
    with e.scope():
        best.ways = [(found, before.label), (whole(), e.here.label)]
        e.jump(out)
    e.start(out)
    return best.name
