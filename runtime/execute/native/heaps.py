"""`heapq` on lists of numbers, or of tuples of numbers, as its functions in C do it.

In: a list.  Out: code, and the item taken out.  What always holds: the same items are compared as there, so
that those which are equal end up in the same places; NaN in a tuple, which equals itself where it is one
object, is left to the plan.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Sequence

from runtime.execute.native import lists
from runtime.execute.native.array_lists import trips
from runtime.execute.native.emit import FALSE, TRUE, Emitter
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.merge import of_numbers
from runtime.execute.native.shares import Serial
from runtime.execute.native.state import State
from runtime.execute.native.values import (
    LISTS,
    Lists,
    Num,
    Static,
    Tup,
    Val,
    extended,
    usual,
    with_sign,
)


def push(state: State, x: Lists, item: Val) -> Val:
    """`heappush(x, item)`."""
    lists.append(state, x, item)
    last = state.e.effect(f"sub i64 {lists.length(state.e, x).text}, 1")
    _rise(state, x, last, lists.item(state, x, last))
    return Static(None)


def pop(state: State, x: Lists) -> Val:
    """`heappop(x)`."""
    e, n = state.e, lists.length(state.e, x).text
    e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))
    less = e.effect(f"sub i64 {n}, 1")
    found, last = lists.item(state, x, "0"), lists.item(state, x, less)
    lists.cut(state, x, less)
    _sink(state, x, "0", less, last)
    return found


def replace(state: State, x: Lists, item: Val) -> Val:
    """`heapreplace(x, item)`."""
    e, n = state.e, lists.length(state.e, x).text
    e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))
    found = lists.item(state, x, "0")
    lists.put(state, x, "0", item)
    _sink(state, x, "0", n, lists.item(state, x, "0"))
    return found


def order(state: State, x: Lists) -> Val:
    """`heapify(x)`."""
    e, n = state.e, lists.length(state.e, x).text
    half = e.effect(f"lshr i64 {n}, 1")
    with trips(state, half) as k:
        at = e.effect(f"sub i64 {e.effect(f'sub i64 {half}, 1')}, {k}")
        _sink(state, x, at, n, lists.item(state, x, at))
    return Static(None)


def _rise(state: State, x: Lists, at: str, item: Val, top: str = "0") -> None:
    """Move an item from a place towards the top, past those that are larger."""
    e = state.e
    before, head, look, up, out = e.here, *(e.block(name) for name in ("rise", "look", "up", "risen"))
    place, last = e.phi(head, "i64"), e.phi(out, "i64")
    place.ways.append((at, before.label))
    e.jump(head)
    e.start(head)
    last.ways.append((place.name, e.here.label))
    e.branch(e.effect(f"icmp ugt i64 {place.name}, {top}"), look, out)
    e.start(look)
    with e.scope():
        parent = e.effect(f"lshr i64 {e.effect(f'sub i64 {place.name}, 1')}, 1")
        other = lists.item(state, x, parent)
        less = _less(e, item, other)
        last.ways.append((place.name, e.here.label))
        e.branch(less, up, out)
        e.start(up)
        lists.put(state, x, place.name, other)
        place.ways.append((parent, e.here.label))
        e.jump(head)
    e.start(out)
    e.version += 1
    lists.put(state, x, last.name, item)


def _sink(state: State, x: Lists, at: str, end: str, item: Val) -> None:
    """Move the smaller of two children up until there are none, then the item up from there."""
    e, half = state.e, state.e.effect(f"lshr i64 {end}, 1")
    before, head, down, out = e.here, *(e.block(name) for name in ("sink", "down", "sunk"))
    place = e.phi(head, "i64")
    place.ways.append((at, before.label))
    e.jump(head)
    e.start(head)
    e.branch(e.effect(f"icmp ult i64 {place.name}, {half}"), down, out)
    e.start(down)
    with e.scope():
        first = e.effect(f"add i64 {e.effect(f'shl i64 {place.name}, 1')}, 1")
        second = e.effect(f"add i64 {first}, 1")
        there = e.effect(f"icmp ult i64 {second}, {end}")
        right = e.select(there, "i64", second, first)
        one, other = lists.item(state, x, first), lists.item(state, x, right)
        child = e.select(_less(e, one, other), "i64", first, right)
        lists.put(state, x, place.name, lists.item(state, x, child))
        place.ways.append((child, e.here.label))
        e.jump(head)
    e.start(out)
    e.version += 1
    _rise(state, x, place.name, item, at)


def _less(e: Emitter, a: Val, b: Val) -> str:
    """`a < b` of items."""
    if not isinstance(a, Tup) or not isinstance(b, Tup):
        return _compared(e, a, b)[0]
    less, same = FALSE, TRUE
    for x, y in zip(a.items, b.items, strict=True):
        if isinstance(x, Num) and isinstance(y, Num):
            smaller, equal = _compared(e, x, y)
            for number in (x, y):
                if number.members[0].kind == "f":
                    e.bail_if(e.op(f"fcmp uno {number.llvm} {number.text}, {number.text}"))
        else:
            smaller, equal = _less(e, x, y), e.negated(e.either(_less(e, x, y), _less(e, y, x)))
        less = e.either(less, e.both(same, smaller))
        same = e.both(same, equal)
    return less


def _compared(e: Emitter, a: Val, b: Val) -> tuple[str, str]:
    """Whether a number is less than another one of the same kinds, and whether they are equal."""
    assert isinstance(a, Num) and isinstance(b, Num)
    if all(kind.kind == "f" for kind in a.members):
        if any(kind.weak for kind in a.members) and any(kind.bits < 64 for kind in a.members):
            raise Unlowered("a heap of floats and of shorter ones")  # to which NumPy rounds them
        return tuple(e.op(f"fcmp {op} {a.llvm} {a.text}, {b.text}") for op in ("olt", "oeq"))  # type: ignore[return-value]
    if len(a.members) > 1:
        if any(kind.kind not in "bi" for kind in a.members):
            raise Unlowered("a heap of numbers of these two kinds")
        texts = [usual(e, x).text for x in (a, b)]
    else:
        texts = [extended(e, with_sign(e, x)) for x in (a, b)]
        e.flush()
    sign = "u" if any(kind.kind == "u" and kind.bits == 64 for kind in a.members) else "s"
    return e.op(f"icmp {sign}lt i64 {texts[0]}, {texts[1]}"), e.op(f"icmp eq i64 {texts[0]}, {texts[1]}")


_FUNCTIONS: dict[object, Callable[..., Val]] = {
    heapq.heappush: push,
    heapq.heappop: pop,
    heapq.heapreplace: replace,
    heapq.heapify: order,
}


def function(target: object, args: Sequence[Val]) -> Callable[[State], Val] | None:
    """What does a call of one of these functions; None for other ones."""
    found = next((run for f, run in _FUNCTIONS.items() if f is target), None)
    if found is None or not args or not isinstance(args[0], LISTS):
        return None
    if len(args) != (2 if found in (push, replace) else 1) or not of_numbers(args[0]):
        raise Unlowered("a heap of other things than numbers and tuples of numbers")
    return functools.partial(_call, found, args)


def _call(run: Callable[..., Val], args: Sequence[Val], state: State) -> Val:
    if state.e.part is not None:
        raise Serial
    if state.e.gang is not None:
        raise Unlowered("a heap for several elements at once")
    state.e.flush()
    return run(state, *args)
