"""What a `for` goes over: how many trips, and the item of each.

In: ranges, arrays, lists, and several side by side.  Out: `Trips`.  What always holds: an item is asked for
only where it is in range.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from runtime.dataclass import dataclass
from runtime.execute.native import containers, lists
from runtime.execute.native.arrays import item_at
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import PYTHON_COMPLEX, PYTHON_INT, Unlowered
from runtime.execute.native.ranges import SIZE
from runtime.execute.native.scalars import binary, to_python
from runtime.execute.native.state import State
from runtime.execute.native.values import (
    LISTS,
    Arr,
    Backwards,
    Count,
    Listed,
    Num,
    Rng,
    Static,
    Tup,
    Val,
    Zip,
    one,
)


@dataclass
class Trips:
    """How a loop counts: from `first` up to `stop`, and what it hands to the body.

    moves: whether `stop` is to be asked before each trip, since a list may grow or shrink meanwhile.
    """

    first: str
    stop: Callable[[], str]
    signed: bool
    item: Callable[[State, Num], Val]
    moves: bool = False


def length(state: State, source: Val) -> Trips:
    """How to go over a value."""
    e = state.e
    if isinstance(source, Rng) and source.step_const == 1:
        stop = source.stop

        def next_one(state: State, k: Num) -> Val:
            state.e.most[k.text] = stop, -1
            return one(PYTHON_INT, k.text, span=source.span)

        return Trips(source.start, lambda: stop, True, next_one)

    if (found := containers.gone_over(state, source)) is not None:
        stop_at, items = found
        return Trips("0", stop_at, False, lambda state, k: lists.item(state, items, k.text), True)

    def asked() -> str:
        return count(e, source)

    moves = _moves(source)
    fixed = "" if moves else count(e, source)

    def at(state: State, k: Num) -> Val:
        if not moves:
            state.e.most[k.text] = fixed, -1
        return item(state, source, k)

    return Trips("0", asked if moves else lambda: fixed, False, at, moves)


def _moves(source: Val) -> bool:
    """Whether how many items there are may change."""
    return isinstance(source, LISTS) or (isinstance(source, Zip) and any(map(_moves, source.parts)))


def count(e: Emitter, source: Val) -> str:
    """How many items there are."""
    if isinstance(source, Backwards):
        return source.count
    if isinstance(source, Rng):
        return range_count(e, source)
    if isinstance(source, Arr) and source.dims:
        return source.dims[0]
    if isinstance(source, Listed):
        return count(e, source.array)
    if isinstance(source, LISTS):
        return lists.length(e, source).text
    if isinstance(source, Zip):
        sizes = [count(e, p) for p in source.parts if not isinstance(p, Count)]
        least = sizes[0]
        for n in sizes[1:]:
            least = e.select(e.op(f"icmp ult i64 {n}, {least}"), "i64", n, least)
        return least
    raise Unlowered(_refusal(source))


def _refusal(source: Val) -> str:
    """Why a loop goes over no such thing."""
    text = isinstance(source, Static) and isinstance(source.value, (str, bytes))
    return f"a loop over {'a text' if text else 'something else than ranges, arrays and lists made here'}"


def python_number(e: Emitter, x: Num) -> Num:
    """The Python number that an element of an array is as a list has it."""
    kind = x.scalar.kind
    if kind == "c":  # held alike
        return dataclasses.replace(x, members=(PYTHON_COMPLEX,))
    if kind not in "bif":
        raise Unlowered(f"elements of dtype {x.scalar.dtype} as Python numbers")
    return to_python(e, x, {"b": bool, "i": int, "f": float}[kind])


def range_count(e: Emitter, r: Rng) -> str:
    """The length of a range, as an unsigned number."""

    def one_way(low: str, high: str, step: str) -> str:
        some = e.op(f"icmp slt i64 {low}, {high}")
        span = e.op(f"sub i64 {e.op(f'sub i64 {high}, {low}')}, 1")
        whole = span if step == "1" else e.op(f"udiv i64 {span}, {step}")
        return e.select(some, "i64", e.op(f"add i64 {whole}, 1"), "0")

    if r.step_const is not None:
        size = str(abs(r.step_const))
        return one_way(r.start, r.stop, size) if r.step_const > 0 else one_way(r.stop, r.start, size)
    up = e.op(f"icmp sgt i64 {r.step}, 0")
    forward = one_way(r.start, r.stop, e.select(up, "i64", r.step, "1"))
    down = e.op(f"sub i64 0, {r.step}")
    backward = one_way(r.stop, r.start, e.select(up, "i64", "1", down))
    return e.select(up, "i64", forward, backward)


def item(state: State, source: Val, k: Num) -> Val:
    """The item number `k`, which is in range."""
    e = state.e
    if isinstance(source, Rng):
        offset = e.op(f"mul i64 {k.text}, {source.step}")
        text = e.op(f"add i64 {source.start}, {offset}")
        if source.step_const is not None:
            e.most[text] = (source.stop, -1) if source.step_const > 0 else (source.start, 0)
        return one(PYTHON_INT, text, span=source.span)
    if isinstance(source, Arr):
        return item_at(state, source, k.text)
    if isinstance(source, Listed):
        found = item_at(state, source.array, k.text)
        assert isinstance(found, Num)
        return python_number(e, found)
    if isinstance(source, LISTS):
        return lists.item(state, source, k.text)
    if isinstance(source, Backwards):
        at = e.op(f"sub i64 {e.op(f'sub i64 {source.count}, 1')}, {k.text}")
        if not isinstance(source.of, Arr):  # it may have become shorter
            e.bail_if(e.effect(f"icmp uge i64 {at}, {lists.length(e, source.of).text}"))
        return item(state, source.of, one(PYTHON_INT, at, span=(0, SIZE)))
    if isinstance(source, Count):
        start = int(source.start) if source.start.isdigit() else None
        return binary(e, "add", one(PYTHON_INT, source.start, start), k)
    if isinstance(source, Zip):
        return Tup(tuple(item(state, p, k) for p in source.parts))
    raise Unlowered(_refusal(source))
