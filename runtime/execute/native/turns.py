"""Lines of which one begins in another place than the rest, and goes on round the end.

In: from which place on a line is read from its beginning (a *turn*), and a loop over the line.  Out: the
loop, stretch by stretch, so that in each the elements lie side by side.  What always holds: where no stretch
is known, the place of a single element is asked for; many at once are then not to be had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runtime.execute.native.arrays import plus
from runtime.execute.native.emit import Emitter

MOST = 8  # stretches of a line that are each written out
Turn = tuple[str, str]  # the place, and the size of the line


def back(e: Emitter, k: str, turn: Turn) -> str:
    """Where the element at place `k` comes from."""
    place, size = turn
    if all(x.isdigit() for x in (k, place, size)):
        return str((int(k) - int(place)) % int(size))
    moved = e.op(f"sub nsw i64 {k}, {place}")
    return e.select(e.op(f"icmp slt i64 {moved}, 0"), "i64", e.op(f"add nsw i64 {moved}, {size}"), moved)


def known(e: Emitter, k: str, turn: Turn) -> str | None:
    """The same for all elements of the stretch that a loop is in; None outside of one."""
    offset = e.turned.get(turn)
    return None if offset is None else plus(e, k, offset)


def stretches(
    e: Emitter, turns: Sequence[Turn], start: str, stop: str, some: Callable[[str, str], None]
) -> None:
    """`some(first, last)` for all of start..stop."""
    if not turns:
        some(start, stop)
        return
    before = e.turned
    if all(x.isdigit() for x in (start, stop, *(x for turn in turns for x in turn))):
        places = sorted({int(p) for p, _ in turns if int(start) < int(p) < int(stop)})
        if len(places) < MOST:
            ends = [int(start), *places, int(stop)]
            for first, last in zip(ends, ends[1:], strict=False):
                e.turned = {(p, n): str(int(n) * (first < int(p)) - int(p)) for p, n in turns}
                some(str(first), str(last))
            e.turned = before
            return
    _one_by_one(e, turns, start, stop, some)
    e.turned = before


def _one_by_one(
    e: Emitter, turns: Sequence[Turn], start: str, stop: str, some: Callable[[str, str], None]
) -> None:
    """A loop over stretches."""
    head, inside, out = e.block("turn"), e.block("stretch"), e.block("turned")
    here = e.here
    e.jump(head)
    e.start(head)
    k = e.phi(head, "i64")
    e.branch(e.effect(f"icmp slt i64 {k.name}, {stop}"), inside, out)
    e.start(inside)
    with e.scope():
        last, e.turned = stop, {}
        for place, size in turns:
            ahead = e.op(f"icmp slt i64 {k.name}, {place}")
            sooner = e.both(ahead, e.op(f"icmp slt i64 {place}, {last}"))
            last = e.select(sooner, "i64", place, last)
            there = e.op(f"select i1 {ahead}, i64 {size}, i64 0")
            e.turned[place, size] = e.op(f"sub nsw i64 {there}, {place}")
        some(k.name, last)
        k.ways = [(start, here.label), (last, e.here.label)]
        e.jump(head)
    e.start(out)
