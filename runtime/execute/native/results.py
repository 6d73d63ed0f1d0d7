"""What native code hands back: numbers, whole arrays, lists, dicts, sets, tuples of these, and constants.

In: the value that a graph returns.  Out: its template, all of whose holes are stored.  What always holds: an
object that the caller could tell from the one that Python would give is not handed back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from runtime.errors import Span
from runtime.execute.native import lists, merge, nested_lists
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.state import State
from runtime.execute.native.values import (
    Arr,
    ArrayList,
    Backwards,
    Cut,
    Entries,
    Keyed,
    Listing,
    Maybe,
    Mixed,
    Nested,
    Num,
    Rng,
    Shared,
    Static,
    Table,
    Tup,
    Val,
    Zip,
)
from runtime.ir.graph import Graph, Operand

_NAMES: dict[type, str] = {
    Rng: "a range",
    Cut: "a slice",
    Zip: "an iterator",
    Backwards: "an iterator",
    Entries: "what a method of a dict gives",
}


def handed_back(state: State, x: Val, seen: dict[Val, None]) -> Val:
    """The template of a result; seen: the lists in it so far, in order."""
    if isinstance(x, Tup):
        return Tup(tuple(handed_back(state, item, seen) for item in x.items))
    if isinstance(x, (Arr, ArrayList)):
        if x.handle is None:
            raise Unlowered("a view that is returned")
        return dataclasses.replace(x, handle=merge.HOLE)
    if isinstance(x, (Nested, Table, Mixed)):
        _apart(state, x, seen)
    if isinstance(x, (Shared, Nested)):
        seen[x] = None
        kind = nested_lists.form_of(state, x).kind if isinstance(x, Nested) else x.kind
        return dataclasses.replace(x, handle=merge.HOLE, kind=kind)
    if isinstance(x, Keyed):
        return _dict(state, x, seen)
    if isinstance(x, (Listing, Table, Mixed)):
        if x in seen:
            raise Unlowered("a list that is returned twice")  # two would be made of it
        seen[x] = None
        if isinstance(x, Table):
            return Table(tuple(handed_back(state, column, seen) for column in x.columns))  # type: ignore[misc]
        if isinstance(x, Mixed):
            parts = (handed_back(state, part, seen) for part in (x.payloads, x.tags))
            return Mixed(x.members, *parts)  # type: ignore[arg-type]
        lists.of_kind(state, x)
        return dataclasses.replace(x, length=merge.HOLE)
    if isinstance(x, Static) or (isinstance(x, Maybe) and x.none):
        state.symbol(x.value if isinstance(x, Static) else None)
    elif not isinstance(x, Num):
        raise Unlowered(f"{_NAMES.get(type(x), 'a value')} that is returned")
    return merge.opened(x)


def _dict(state: State, x: Keyed, seen: dict[Val, None]) -> Keyed:
    """The template of a dict or set."""
    if x in seen:
        raise Unlowered("a dict or set that is returned twice")  # two would be made of it
    if x.cls not in (dict, set):
        raise Unlowered(f"a {x.cls.__name__} that is returned")
    if x.cls is set and x.alive is not None:  # in which order it goes over them depends on what was there
        raise Unlowered("a set that is returned, made of another one or with less in it than before")
    seen[x] = None
    parts = {"keys": x.keys, "values": x.values, "alive": x.alive}
    made = {k: handed_back(state, part, seen) for k, part in parts.items() if part is not None}
    return dataclasses.replace(x, **made)  # type: ignore[arg-type]


def made_at(graph: Graph, x: Operand) -> Span | None:
    """Where a result was made."""
    return next((node.span for node in graph.nodes if x in node.outputs), None)


def _apart(state: State, x: Nested | Table | Mixed, seen: Iterable[Val]) -> None:
    """See to it that a list is none of those before: two would be made of one."""
    if isinstance(x, Mixed) and any(_of_the_other_rank(x, other) for other in seen):
        raise Unlowered("a list that may be in another one that is returned")
    for other in seen:
        places = [_place(y) for y in (x, other) if type(y) is type(x)]
        if len(places) == 2 and all(places):
            state.e.bail_if(state.e.op(f"icmp eq ptr {', '.join(places)}"))


def _of_the_other_rank(x: Mixed, other: Val) -> bool:
    """Whether one of two is a list of lists of numbers of two kinds, and the other such a list."""
    return isinstance(other, Mixed) and merge.of_two_kinds(x) != merge.of_two_kinds(other)


def _place(x: Val) -> str:
    """Where a list is found that loops or branches may have handed on; empty for others."""
    if isinstance(x, (Table, Mixed)):
        return _place(x.columns[0] if isinstance(x, Table) else x.payloads)
    return x.handle if isinstance(x, (Shared, Nested, ArrayList)) else ""
