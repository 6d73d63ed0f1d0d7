"""Running elementwise work in blocks that stay in the cache, in memory that is used again.

In: a function that does one block with `out=`, and what it needs.  Out: a callable that gives the results, or
None where the plain expressions have to do it.  What always holds: a result has the bits, dtype and layout
that the plain expressions give; nothing of the caller's is written; whatever would warn or raise makes it
give None, before anybody saw anything, so that the plain expressions warn and raise as they do; calls may
overlap (threads, recursion), as each has its scratch memory for itself.

NumPy is at its best on memory that starts at a multiple of 64 bytes, which the arrays that it makes don't.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.mistakes import survived

BLOCK = 16384  # elements
WHOLE = 1 << 20  # bytes of scratch memory up to which all is one block
LEAST_WORK = 750_000  # elements times steps, below which a call of this costs more than it saves
LEAST_WORK_KEPT = 500_000  # the same in a loop, where memory is kept from trip to trip
LEAST_CUT_WORK = 300_000  # the same where each trip brings other arrays, which have to be cut anew
LEAST_WINDOW_WORK = 10_000  # the same for windows, which are slow in plain expressions
SPARE = 2  # sets of scratch memory kept for later calls
_LINE = 64  # bytes of a cache line
Array = np.ndarray[Any, Any]


class Room:
    """What one place in a plan keeps from trip to trip: its memory, and the pieces that it was cut into."""

    __slots__ = (
        "cuts",
        "blocks",
        "ends",
        "form",
        "layouts",
        "operands",
        "other",
        "refused",
        "results",
        "scratch",
        "turn",
    )

    def __init__(self) -> None:
        self.operands: tuple[Any, ...] = ()
        self.refused = False
        self.cuts = 0
        self.other: Room | None = None  # where results take turns
        self.turn = False
        self.layouts: list[Any] = []
        self.blocks: list[tuple[Any, ...]] = []
        self.results: list[Array] = []
        self.ends: list[Array] = []  # the results as lines
        self.form: tuple[Any, ...] = ()  # what the results were made for
        self.scratch: list[Array] = []


def aligned(size: int, dtype: np.dtype[Any]) -> Array:
    """A new array that starts at the beginning of a cache line."""
    count = size * dtype.itemsize
    raw = np.empty(count + _LINE, np.uint8)
    start = -raw.__array_interface__["data"][0] % _LINE
    return raw[start : start + count].view(dtype)


def _next(room: Room) -> Room:
    """One of two rooms, the other the next time."""
    room.turn = not room.turn
    if room.turn:
        return room
    if room.other is None:
        room.other = Room()
    return room.other


def in_blocks(
    *,
    arrays: tuple[int, ...],
    results: tuple[tuple[str, str], ...],
    scratch: tuple[str, ...],
    steps: int,
    store: int | None = None,
) -> Callable[[Callable[..., None]], Blocks]:
    """The decorator of a function `block(*operands, *results, *scratch)`.

    arrays: which operands are arrays.  results: dtype and kind ("new", "kept", "loose", "turn") of each.
    scratch: the dtype of each piece of scratch memory.  steps: how many operations the function does.
    store: the operand that the caller goes on to write the result into.
    """
    return lambda block: Blocks(block, arrays, results, scratch, steps, store)


class Blocks:
    """Does the work of a chain; None where it can't, or where that wouldn't pay."""

    def __init__(
        self,
        block: Callable[..., None],
        arrays: tuple[int, ...],
        results: tuple[tuple[str, str], ...],
        scratch: tuple[str, ...],
        steps: int,
        store: int | None,
    ) -> None:
        self.block, self.arrays, self.steps, self.store = block, arrays, steps, store
        self.results = [(np.dtype(name), kind) for name, kind in results]
        self.scratch = [np.dtype(name) for name in scratch]
        self.turns = any(kind == "turn" for _, kind in results)
        self.gaps = all(kind == "loose" for _, kind in results)
        self.row = sum(dtype.itemsize for dtype in self.scratch) or 1
        self.spare: list[list[Array]] = []
        self.waits = 0  # calls that leave it to the plain expressions, after some that had to
        self.missed = 0

    def __call__(self, *operands: Any, room: Room | None = None) -> Any:
        """The result, or a tuple of the results; None: the plain expressions have to do it."""
        if room is not None and room.refused:
            return None
        if self.waits:
            self.waits -= 1
            return None
        if self.store is not None and not operands[self.store].flags.writeable:
            return None
        state = np.geterr()
        if state["under"] != "ignore":
            return None  # a warning for each block would not be the one of the plain expression
        kept = room is not None
        outer = room
        if room is not None and self.turns:
            room = _next(room)
        if room is None or not self._same(room, operands):
            found = self._cut(operands, room)
            if found is None:
                if outer is not None:
                    outer.refused = True
                return None
            room = found
        strict = {kind: "ignore" if how == "ignore" else "raise" for kind, how in state.items()}
        try:
            with np.errstate(**strict):  # type: ignore[arg-type]
                for block in room.blocks:
                    self.block(*block)
        except Exception as problem:  # the plain expressions warn of it or raise it, at the user's line
            if not isinstance(problem, (ArithmeticError, MemoryError)):
                survived("a chain in blocks failed", problem)
            self.missed = min(self.missed + 1, 10)
            self.waits = 1 << self.missed
            return None
        self.missed = 0
        if not kept and len(self.spare) < SPARE:
            self.spare.append(room.scratch)
        results = room.results
        return results[0] if len(results) == 1 else tuple(results)

    def _same(self, room: Room, operands: tuple[Any, ...]) -> bool:
        """Whether the operands are those of the last trip, so that all pieces still are what they were."""
        known = room.operands
        if len(known) != len(operands):
            return False
        for old, new in zip(known, operands, strict=True):
            if old is not new:
                return False
        return room.layouts == [(operands[k].shape, operands[k].strides) for k in self.arrays]

    def _cut(self, operands: tuple[Any, ...], room: Room | None) -> Room | None:
        """Cut the operands, new results and scratch memory into blocks; None where it can't be."""
        arrays = [operands[k] for k in self.arrays]
        shape, size = arrays[0].shape, arrays[0].size
        work = size * self.steps
        if room is not None:
            room.cuts += 1
            if room.cuts > 1 and work < LEAST_CUT_WORK:
                return None
        if work < LEAST_WINDOW_WORK:
            return None
        dense = True
        for array in arrays:
            if array.shape != shape:
                return None
            dense = dense and array.flags.c_contiguous
        if dense and work < (LEAST_WORK if room is None else LEAST_WORK_KEPT):
            return None
        if dense:
            lines: list[Array] | None = [array.reshape(-1) for array in arrays]
            steps: tuple[int, ...] = ()
        else:
            lines, steps = _windows(arrays) if self.gaps and room is not None else (None, ())
        if lines is None:
            return None
        given = list(operands)
        for k, line in zip(self.arrays, lines, strict=True):
            given[k] = line
        made = Room() if room is None else room
        ends = self._results(made, shape, steps, lines[0].size, room is not None)
        self._blocks(made, given, ends, lines[0].size, room is not None)
        if room is not None:
            made.operands = operands
            made.layouts = [(array.shape, array.strides) for array in arrays]
        return made

    def _results(
        self, room: Room, shape: tuple[int, ...], steps: tuple[int, ...], size: int, kept: bool
    ) -> list[Array]:
        """Make the arrays of the results; as lines of elements."""
        form = (shape, steps)
        if kept and room.form == form:
            return room.ends
        room.form, room.results, room.ends = form, [], []
        for dtype, kind in self.results:
            if not kept or kind == "turn":  # the last one leaves the plan: an array as NumPy makes them
                result = np.empty(shape, dtype)
                end = result.reshape(-1)
            elif steps:
                end = aligned(size, dtype)
                strides = [n * dtype.itemsize for n in steps]
                result = np.ndarray(shape, dtype, end, 0, strides)
            else:
                end = aligned(size, dtype)
                result = end.reshape(shape)
            room.results.append(result)
            room.ends.append(end)
        return room.ends

    def _blocks(self, room: Room, given: list[Any], ends: list[Array], size: int, kept: bool) -> None:
        """The arguments of the function for each block."""
        block = size if size * self.row <= WHOLE else BLOCK
        if not (kept and room.scratch and room.scratch[0].size >= block):
            room.scratch = self._scratch(block, kept)
        scratch = room.scratch
        if block == size:
            room.blocks = [(*given, *ends, *(one[:size] for one in scratch))]
            return
        cut = set(self.arrays)
        room.blocks = []
        for start in range(0, size, block):
            stop = min(start + block, size)
            piece = [x[start:stop] if k in cut else x for k, x in enumerate(given)]
            room.blocks.append(
                (*piece, *(e[start:stop] for e in ends), *(s[: stop - start] for s in scratch))
            )

    def _scratch(self, size: int, kept: bool) -> list[Array]:
        """Scratch memory of at least `size` elements that nobody else uses meanwhile."""
        if not kept:
            with contextlib.suppress(IndexError):
                found = self.spare.pop()
                if not found or found[0].size >= size:
                    return found
        return [aligned(size, dtype) for dtype in self.scratch]


def _windows(arrays: list[Array]) -> tuple[list[Array] | None, tuple[int, ...]]:
    """Windows of one form in larger arrays, each as the line of elements from its first to its last one, what
    lies between its rows included; and how many elements apart neighbours are along each axis."""
    first = arrays[0]
    strides, item = first.strides, first.itemsize
    if first.ndim < 2 or strides[-1] != item or 0 in first.shape or any(n % item for n in strides):
        return None, ()
    steps = tuple(n // item for n in strides)
    if any(steps[k] < steps[k + 1] * first.shape[k + 1] for k in range(first.ndim - 1)):
        return None, ()
    size = 1 + sum((n - 1) * step for n, step in zip(first.shape, steps, strict=True))
    if size > first.size + first.size // 4:
        return None, ()
    lines: list[Array] = []
    for array in arrays:
        base = array.base
        if array.strides != strides or type(base) is not np.ndarray or base.dtype != array.dtype:
            return None, ()
        if not base.flags.c_contiguous:
            return None, ()
        offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        start = offset // item
        if offset % item or start < 0 or start + size > base.size:
            return None, ()
        lines.append(base.reshape(-1)[start : start + size])
    return lines, steps
