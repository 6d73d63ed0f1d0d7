"""Dicts and sets as a whole: several made into one, compared, and their items in order.

In: dicts and sets that native code makes.  Out: new ones, the same with more in them, numbers or lists.  What
always holds: where two keys are equal, that one stays which Python keeps; a set made of other ones goes over
its items in an order of its own, so it is never handed back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from runtime.execute.native import containers, dicts, list_methods, lists
from runtime.execute.native.array_lists import trips
from runtime.execute.native.handlers import in_order
from runtime.execute.native.kinds import PYTHON_BOOL, Scalar, Unlowered
from runtime.execute.native.scalars import binary, truth
from runtime.execute.native.state import State
from runtime.execute.native.values import (
    Entries,
    Keyed,
    Listing,
    Lists,
    Method,
    Mixed,
    Num,
    Table,
    Tup,
    Val,
    one,
)

_COMPARED = ("eq", "ne", "le", "lt", "ge", "gt")
_METHODS = {"union": "or_", "intersection": "and_", "difference": "sub", "symmetric_difference": "xor"}


# ------------------------------------------------------------------------------------------- operators
def operator(state: State, maker: Hashable, op: str, x: Val, y: Val) -> Val:
    """`x op y`."""
    if not isinstance(x, Keyed) or not isinstance(y, Keyed) or (x.values is None) != (y.values is None):
        raise Unlowered("an operator on a dict or set and something else")
    op = op.rstrip("_")
    if x.values is None:
        return _compared(state, op, x, y) if op in _COMPARED else _together(state, maker, op, x, y)
    if op == "or" and x.cls is y.cls is dict:
        found = dicts.copy(state, maker, x)
        dicts.update(state, found, y)
        return found
    if op == "ior":
        dicts.update(state, x, y)
        return x
    raise Unlowered("an operator on dicts")


def method(state: State, maker: Hashable, name: str, x: Keyed, args: Sequence[Val]) -> Val:
    """A method of a set that takes another one."""
    y = args[0] if len(args) == 1 else None
    if not isinstance(y, Keyed) or y.cls is not set:
        raise Unlowered(f"{name} of a set and something else than a set")
    if name in _METHODS:
        return operator(state, maker, _METHODS[name], x, y)
    if name == "isdisjoint":
        return one(PYTHON_BOOL, state.e.op(f"icmp eq i64 {_common(state, x, y)}, 0"))
    if name not in ("issubset", "issuperset"):
        raise Unlowered(f"{name} of a set")
    return operator(state, maker, "le" if name == "issubset" else "ge", x, y)


def _together(state: State, maker: Hashable, op: str, x: Keyed, y: Keyed) -> Keyed:
    """What two sets give: a new one, or for an operator in place the first."""
    if op == "ior":
        dicts.add_all(state, x, y)
        return x
    if op == "isub" and x != y:
        with trips(state, dicts.settled(state, y)) as k:
            dicts.remove(state, x, lists.item(state, y.keys, k), always=False)
        return x
    if op not in ("or", "and", "sub", "xor"):
        raise Unlowered("an operator on sets in place")
    if op == "and" and not _alike(state, x, y):
        raise Unlowered("what is in two sets of numbers of different kinds")
    found = dicts.unordered(state, maker)
    for a, b, there in ((x, y, op == "and"), (y, x, False))[: 2 if op in ("or", "xor") else 1]:
        with trips(state, dicts.settled(state, a)) as k:
            key = lists.item(state, a.keys, k)
            if op == "or":
                dicts.add(state, found, key)
                continue
            e, add, on = state.e, state.e.block("takes"), state.e.block("on")
            e.branch(dicts.contains(state, b, key).text, *((add, on) if there else (on, add)))
            e.start(add)
            with e.scope():
                dicts.add(state, found, key)
                e.flush()
                e.jump(on)
            e.start(on)
            e.version += 1
    return found


def _alike(state: State, x: Keyed, y: Keyed) -> bool:
    """Whether equal keys of two sets are the same to the last bit, and of one kind."""
    kinds = [_kinds(state, z.keys) for z in (x, y)]
    return kinds[0] == kinds[1] and all(kind is not None and kind.kind != "f" for kind in kinds[0])


def _kinds(state: State, x: Lists) -> list[Scalar | None]:
    if isinstance(x, Table):
        return [kind for column in x.columns for kind in _kinds(state, column)]
    return [lists.of_kind(state, x) if isinstance(x, Listing) else None]


def _common(state: State, x: Keyed, y: Keyed) -> str:
    """How many items of a set are in another one."""
    e, cell = state.e, state.e.slot("i64")
    e.line(f"store i64 0, ptr {cell}")
    with trips(state, dicts.settled(state, x)) as k:
        there = dicts.contains(state, y, lists.item(state, x.keys, k)).text
        before = e.effect(f"load i64, ptr {cell}")
        more = e.op(f"zext i1 {there} to i64")
        e.line(f"store i64 {e.effect(f'add i64 {before}, {more}')}, ptr {cell}")
    return e.effect(f"load i64, ptr {cell}")


def _compared(state: State, op: str, x: Keyed, y: Keyed) -> Num:
    """A comparison of two sets."""
    e, common = state.e, _common(state, x, y)
    inside = [e.op(f"icmp eq i64 {common}, {dicts.length(e, z).text}") for z in (x, y)]
    same = e.both(*inside)
    if op in ("eq", "ne"):
        return one(PYTHON_BOOL, same if op == "eq" else e.negated(same))
    found = inside[0] if op in ("le", "lt") else inside[1]
    return one(PYTHON_BOOL, found if op in ("le", "ge") else e.both(found, e.negated(same)))


# ----------------------------------------------------------------------------------------------- order
def ordered(state: State, maker: Hashable, x: Val) -> Val:
    """`sorted(x)`; of the items of a dict no two keys are equal, so nobody asks for the values."""
    if not isinstance(x, Entries) or x.name != "items":
        return in_order(state, maker, containers.listed(state, x, sorted) or x)
    of = x.of
    dicts.settled(state, of)
    keys = in_order(state, (maker, "keys"), of.keys)
    assert of.values is not None and isinstance(keys, Listing)
    new = list_methods.like(state, maker, [Table((of.keys, of.values))])
    with trips(state, lists.length(state.e, keys).text) as k:
        key = lists.item(state, keys, k)
        lists.append(state, new, Tup((key, lists.item(state, of.values, dicts.place(state, of, key)))))
    return new


def extreme(state: State, target: Callable[..., object], x: Val, key: Val) -> Val:
    """`max(x, key=x.get)` or `min` of a dict: the first key of such a value."""
    of = x.of if isinstance(x, Entries) and x.name == "keys" else x
    known = isinstance(key, Method) and key.name == "get" and isinstance(key.of, Keyed) and key.of == of
    if not known or not isinstance(of, Keyed) or not isinstance(of.values, (Listing, Mixed)):
        raise Unlowered("min or max by a key")
    values, count = of.values, dicts.settled(state, of)
    at = _extreme_at(state, target, count, lambda k: lists.item(state, values, k))
    return lists.item(state, of.keys, at)


def _extreme_at(state: State, target: Callable[..., object], n: str, item: Callable[[str], Val]) -> str:
    """The first place of the least or the greatest of so many numbers; there must be one."""
    e, cell = state.e, state.e.slot("i64")
    e.flush()
    e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))
    e.line(f"store i64 0, ptr {cell}")
    with trips(state, n) as k:
        before = e.effect(f"load i64, ptr {cell}")
        found, best = item(k), item(before)
        if not isinstance(found, Num) or not isinstance(best, Num):
            raise Unlowered("min or max of other things than numbers")
        more = truth(e, binary(e, "gt" if target is max else "lt", found, best))
        e.flush()
        e.line(f"store i64 {e.select(more, 'i64', k, before)}, ptr {cell}")
    return e.effect(f"load i64, ptr {cell}")
