"""Items of lists looked for one after the other: `in`, `index`, `count`, `remove`.

In: a list of numbers or of tuples of numbers, and what is looked for.  Out: code, and where it is.  What
always holds: equal numbers of other kinds are found, as in Python; NaN, which is found where it is the same
object, is left to the plan.
"""

from __future__ import annotations

from runtime.execute.native import lists
from runtime.execute.native.array_lists import trips
from runtime.execute.native.emit import FALSE, TRUE, Emitter
from runtime.execute.native.kinds import PYTHON_BOOL, PYTHON_INT, Unlowered
from runtime.execute.native.merge import of_numbers
from runtime.execute.native.ranges import SIZE
from runtime.execute.native.scalars import binary, truth
from runtime.execute.native.shares import Serial
from runtime.execute.native.state import State
from runtime.execute.native.values import Lists, Num, Tup, Val, one


def contains(state: State, x: Lists, item: Val) -> Num:
    """`item in x`."""
    place = _find(state, x, item)
    return one(PYTHON_BOOL, state.e.op(f"icmp ne i64 {place}, -1"))


def index(state: State, x: Lists, item: Val) -> Num:
    """`x.index(item)`; what is not there is left to the plan, which raises."""
    place = _find(state, x, item)
    state.e.bail_if(state.e.op(f"icmp eq i64 {place}, -1"))
    return one(PYTHON_INT, place, span=(0, SIZE))


def remove(state: State, x: Lists, item: Val) -> None:
    """`x.remove(item)`."""
    lists.pop(state, x, index(state, x, item))


def count(state: State, x: Lists, item: Val) -> Num:
    """`x.count(item)`."""
    _prepared(state, x, item)
    e, cell = state.e, state.e.slot("i64")
    e.line(f"store i64 0, ptr {cell}")
    with trips(state, lists.length(e, x).text) as k:
        same = _same(e, lists.item(state, x, k), item)
        e.flush()
        more = e.effect(f"add i64 {e.effect(f'load i64, ptr {cell}')}, {e.effect(f'zext i1 {same} to i64')}")
        e.line(f"store i64 {more}, ptr {cell}")
    return one(PYTHON_INT, e.effect(f"load i64, ptr {cell}"), span=(0, SIZE))


def _find(state: State, x: Lists, item: Val) -> str:
    """The first place where it is, or -1."""
    _prepared(state, x, item)
    e = state.e
    n, before = lists.length(e, x).text, e.here
    head, look, on, out = (e.block(name) for name in ("seek", "look", "next", "sought"))
    k, found = e.phi(head, "i64"), e.phi(out, "i64")
    k.ways.append(("0", before.label))
    e.jump(head)
    e.start(head)
    found.ways.append(("-1", head.label))
    e.branch(e.effect(f"icmp ult i64 {k.name}, {n}"), look, out)
    e.start(look)
    with e.scope():
        same = _same(e, lists.item(state, x, k.name), item)
        e.flush()
        found.ways.append((k.name, e.here.label))
        e.branch(same, out, on)
        e.start(on)
        k.ways.append((e.effect(f"add nuw nsw i64 {k.name}, 1"), on.label))
        e.jump(head)
    e.start(out)
    return found.name


def _prepared(state: State, x: Lists, item: Val) -> None:
    """Act on what waits; refuse what is not searched."""
    e = state.e
    if e.part is not None:
        raise Serial
    if e.gang is not None or not of_numbers(x):
        raise Unlowered("a search in a list of other things than numbers and tuples of numbers")
    e.flush()
    _not_nan(e, item)


def _not_nan(e: Emitter, item: Val) -> None:
    """Leave to the plan where what is looked for is NaN, or has it in it."""
    if isinstance(item, Tup):
        for part in item.items:
            _not_nan(e, part)
        return
    if not isinstance(item, Num) or any(kind.kind == "c" for kind in item.members):
        raise Unlowered("a search for something else than a number or a tuple of numbers")
    if item.const is None and item.llvm in ("double", "float"):
        e.bail_if(e.op(f"fcmp uno {item.llvm} {item.text}, {item.text}"))
    elif item.const is not None and item.const != item.const:
        e.bail_if(TRUE)


def _same(e: Emitter, held: Val, wanted: Val) -> str:
    """Whether two items are equal."""
    if isinstance(held, Num) and isinstance(wanted, Num):
        return truth(e, binary(e, "eq", held, wanted))
    if not isinstance(held, Tup) or not isinstance(wanted, Tup) or len(held.items) != len(wanted.items):
        return FALSE
    same = TRUE
    for x, y in zip(held.items, wanted.items, strict=True):
        same = e.both(same, _same(e, x, y))
    return same
