"""Lines whose elements come from several places of another line: stretch by stretch they lie side by side.

In: where the stretches of a line end and what each is read from (a *turn*), and a loop over the line.  Out:
the loop, one stretch after the other.  What always holds: where no stretch is known, the place of a single
element is asked for; many at once are then not to be had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runtime.execute.native.arrays import minus, plus
from runtime.execute.native.emit import Emitter
from runtime.execute.native.values import Turn

MOST = 8  # stretches of a line that are each written out
Some = Callable[[str, str], None]


def rolled(e: Emitter, place: str, size: str) -> Turn:
    """A line that begins at a place of another one, and goes on round its end."""
    back = str(-int(place)) if place.isdigit() else e.op(f"sub i64 0, {place}")
    return Turn((place,), (minus(e, size, place), back))


def known(e: Emitter, k: str, turn: Turn) -> str | None:
    """Where the elements from place `k` on come from, in the stretch that a loop is in; None outside of one,
    "" where they come from nowhere."""
    source = e.turned.get(turn)
    if source is None or source == "":
        return source
    return source[1:] if source[0] == "=" else plus(e, k, source)


def stretches(e: Emitter, turns: Sequence[Turn], start: str, stop: str, some: Some) -> None:
    """`some(first, last)` for all of start..stop."""
    before = e.turned
    ends = {end for turn in turns for end in turn.ends}
    if not turns:
        some(start, stop)
    elif all(map(str.isdigit, ends)) and len(ends) < MOST:
        _each(e, turns, sorted(ends, key=int), start, stop, some)
    elif len(turns) == 1 and len(ends) < MOST:
        _each(e, turns, turns[0].ends, start, stop, some)
    elif all(len(turn.ends) == 1 for turn in turns):
        _one_by_one(e, turns, start, stop, some)
    else:
        some(start, stop)
    e.turned = before


def _each(
    e: Emitter, turns: Sequence[Turn], ends: Sequence[str], start: str, stop: str, some: Some
) -> None:  # fmt: skip
    """All stretches, each in code of its own."""
    first = start
    for k in range(len(ends) + 1):
        last = _within(e, first, ends[k], stop) if k < len(ends) else stop
        passed = set(ends[:k])
        e.turned = {t: t.sources[sum(end in passed for end in t.ends)] for t in turns}
        if not (first.isdigit() and last.isdigit() and int(first) >= int(last)):
            some(first, last)
        first = last


def _within(e: Emitter, low: str, x: str, high: str) -> str:
    """x, but no less than `low` and no more than `high`, which is no less than that."""
    if all(map(str.isdigit, (low, x, high))):
        return str(min(max(int(low), int(x)), int(high)))
    x = x if low == "0" else e.call("i64", "llvm.smax.i64", ("i64", low), ("i64", x))
    return e.call("i64", "llvm.smin.i64", ("i64", x), ("i64", high))


def _one_by_one(e: Emitter, turns: Sequence[Turn], start: str, stop: str, some: Some) -> None:
    """A loop over stretches, whose ends are known when it runs."""
    head, inside, out = e.block("turn"), e.block("stretch"), e.block("turned")
    here = e.here
    e.jump(head)
    e.start(head)
    k = e.phi(head, "i64")
    e.branch(e.effect(f"icmp slt i64 {k.name}, {stop}"), inside, out)
    e.start(inside)
    with e.scope():
        last, e.turned = stop, {}
        for turn in turns:
            (end,), (ahead, behind) = turn.ends, turn.sources
            not_yet = e.op(f"icmp slt i64 {k.name}, {end}")
            sooner = e.both(not_yet, e.op(f"icmp slt i64 {end}, {last}"))
            last = e.select(sooner, "i64", end, last)
            e.turned[turn] = e.op(f"select i1 {not_yet}, i64 {ahead}, i64 {behind}")
        some(k.name, last)
        k.ways = [(start, here.label), (last, e.here.label)]
        e.jump(head)
    e.start(out)
