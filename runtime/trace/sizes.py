"""How many items lists from outside have, which of them are one object, and which keys dicts have.

In: handles.  Out: sizes and keys while they are what they were at the call, with the guards that this takes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from runtime.trace import outside
from runtime.trace.carried import plain_lookup
from runtime.trace.core import Trace, is_static
from runtime.trace.record import apart
from runtime.trace.values import Object, Traced
from runtime.types import StaticType


def guarded_keys(trace: Trace, x: Traced) -> Sequence[Any] | None:
    """The keys of a dict from outside, with a guard for them; None where they aren't known."""
    facts = x._facts
    known = trace.heap.sizes.get(facts.identity)
    # a write at a key that it has, in it or in another that may be the same one, leaves the keys as they are
    if known is not None or facts.path is None or not readable(trace, x, facts.example):
        return known
    place = facts.path / ("keys", None)
    if not all(map(is_static, facts.example)) or outside.changes(trace, place):
        return None
    trace.guard(place, StaticType(tuple(facts.example)), f"the keys of {facts.path.text}, in order")
    trace.heap.sizes[facts.identity] = tuple(facts.example)
    return tuple(facts.example)


def known_size(trace: Trace, x: Object) -> int | None:
    """The number of items of a list, where every item is known (with a guard, for one passed in)."""
    who, facts = x._facts.identity, x._facts
    size = trace.heap.sizes.get(who)
    if size is None and readable(trace, x) and type(facts.example) is list:
        size = len(facts.example)
        assert facts.path is not None
        if outside.changes(trace, facts.path / ("len", None)):
            return None
        trace.guard(facts.path / ("len", None), StaticType(size), f"the length of {facts.path.text}")
        trace.heap.sizes[who] = size
    return size


def readable(trace: Trace, x: Traced, among: Collection[Any] = ()) -> bool:
    """Whether the concrete example still tells what the object holds, but for items at the keys `among`."""
    facts = x._facts
    return (
        facts.example is not None
        and trace.heap.trust == 0
        and trace.heap.stale_keys(facts.identity, "item").issubset(among)
        and type(facts.example) in (list, dict)
    )


def told_apart(trace: Trace, x: Object, items: list[Any]) -> list[Any]:
    """The items of a list from outside, told apart where they are different objects, with a guard."""
    held, who, path = x._facts.example, x._facts.identity, x._facts.path
    ours = [y for y in items if isinstance(y, Object) and y._facts.example is not None]
    if type(held) is not list or path is None or not 2 <= len(ours) == len(items) == len(held):
        return items
    same = all(y._facts.example is one for y, one in zip(ours, held, strict=True))
    place = path / ("apart", None)
    if not same or not all(plain_lookup(type(one)) for one in held) or not apart(held):
        return items
    if any(y._facts.identity.group is not who for y in ours) and not outside.changes(trace, place):
        trace.guard(place, StaticType(True), place.text)
        for y in ours:
            y._facts.identity.group = who
    return items
