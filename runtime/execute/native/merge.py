"""Where ways meet: what a value is that comes from several places, and the phis that hold it.

In: values.  Out: a template, a value of the same form in which what differs is the hole `?`.  What always
holds: filling a template with names made from `leaves` of a value gives that value, possibly widened.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Sequence

from runtime.boxes import UnboundMarker
from runtime.execute.native import ranges
from runtime.execute.native.emit import FALSE, TRUE, Emitter, Phi
from runtime.execute.native.kinds import NARROW, PYTHON_INT, PYTHON_SMALL, Members, Unlowered, payload
from runtime.execute.native.state import Carried, Either, Row, WrongGuess
from runtime.execute.native.two_kinds import both_kinds, is_small, joined
from runtime.execute.native.values import (
    LISTS,
    UNKNOWN,
    Arr,
    ArrayList,
    Keyed,
    Listing,
    Lists,
    Maybe,
    Mixed,
    Nested,
    Num,
    Shared,
    Static,
    Table,
    Tup,
    Val,
    span_of,
    widen,
)

HOLE = "?"
HANDLES = (ArrayList, Nested, Shared)


def opened(x: Val) -> Val:
    """The template of a value that a loop carries: numbers are expected to change."""
    if isinstance(x, Num):
        span = ranges.begun(span_of(x)) if _counts(x) else None
        return Num(x.members, HOLE, HOLE if len(x.members) == 2 else TRUE, span=span)
    if isinstance(x, Tup):
        return Tup(tuple(map(opened, x.items)))
    if isinstance(x, Maybe):
        return Maybe(opened(x.number), HOLE, x.none)
    return x


def hinted(t: Val, x: Val, before: Val) -> Val:
    """The template `t` of a value `x`, or what it became when the loop was written before, if that fits."""
    if isinstance(t, Num) and isinstance(x, Num) and isinstance(before, Num) and before.text == HOLE:
        if t.members == before.members and before.span is not None and before.span != t.span:
            return before if ranges.holds(before.span, span_of(x)) else t
    if (
        isinstance(t, Tup)
        and isinstance(x, Tup)
        and isinstance(before, Tup)
        and len(t.items) == len(before.items)
    ):
        return Tup(tuple(map(hinted, t.items, x.items, before.items)))
    return t


def merged(t: Val, x: Val) -> Val:
    """The template for what `t` describes and for `x`."""
    if isinstance(t, Num) and isinstance(x, Num):
        if t == x:
            return t
        members = both_kinds(t, x)
        span = None
        if len(members) == 1 and members[0].kind == "i":
            join = ranges.widened if t.text == HOLE else ranges.united
            span = join(span_of(t), span_of(x))
        return Num(members, HOLE, HOLE if len(members) == 2 else TRUE, span=span)
    if any(isinstance(v, Maybe) or _missing(v) is not None for v in (t, x)):
        return _maybe(t, x)
    if isinstance(t, Tup) and isinstance(x, Tup) and len(t.items) == len(x.items):
        return Tup(tuple(map(merged, t.items, x.items)))
    if isinstance(t, Arr) and isinstance(x, Arr):
        return _arrays(t, x)
    if isinstance(t, Static) and isinstance(x, Static) and _same(t.value, x.value):
        return t
    if isinstance(t, LISTS) and isinstance(x, LISTS) and t != x:
        return _lists(t, x)
    if t == x:
        return t
    raise Unlowered("a value of different kinds on different ways")


def following(first: Val, t: Val, x: Val) -> Val:
    """The next template of what a loop begins with, had as a template so far, and hands on.

    Small ints that become numbers of another kind (`total = 0`) are first taken to stay as small.
    """
    if isinstance(first, Num) and isinstance(t, Num) and isinstance(x, Num):
        if t.text == HOLE and t.members == (PYTHON_INT,) and x.members[-1] in NARROW and is_small(first):
            return Num((PYTHON_SMALL, x.members[-1]), HOLE, HOLE)
    if isinstance(first, Tup) and isinstance(t, Tup) and isinstance(x, Tup):
        if len(first.items) == len(t.items) == len(x.items):
            return Tup(tuple(map(following, first.items, t.items, x.items)))
    return merged(t, x)


def _counts(x: Num) -> bool:
    """Whether a number may be a counter: an integer of 64 bits."""
    return len(x.members) == 1 and x.scalar.kind == "i" and x.scalar.bits == 64


def _missing(x: Val) -> bool | None:
    """Whether it is None (true) or an unbound name (false), or has or may have no value for that reason."""
    if isinstance(x, Maybe):
        return x.none
    if isinstance(x, Static):
        return True if x.value is None else False if isinstance(x.value, UnboundMarker) else None
    return None


def _nothing(x: Val) -> bool:
    """Whether it is None or an unbound name for sure; other constants, such as texts, are none of these."""
    return isinstance(x, Static) and _missing(x) is not None


def _absent(t: Val) -> list[tuple[str, str]]:
    """What stands in the holes of a value that isn't there.

    It may be computed with before a check that waits is acted on, so that it lies where such numbers do: a
    division by one that is known to be positive is not asked for zero."""
    if isinstance(t, Tup):
        return [leaf for part in t.items for leaf in _absent(part)]
    zeros = [(llvm, "zeroinitializer") for llvm in types_of(t)]
    if not zeros or not isinstance(t, Num) or t.span is None or t.span[0] <= 0 <= t.span[1]:
        return zeros
    return [(zeros[0][0], str(t.span[0] if t.span[0] > 0 else t.span[1])), *zeros[1:]]


def _maybe(t: Val, x: Val) -> Val:
    """The template for a name that may be unbound, or a value that may be None."""
    reasons = {why for v in (t, x) if (why := _missing(v)) is not None}
    if len(reasons) > 1:
        raise Unlowered("a value that may be None where a name may be unbound")
    given = [v.number if isinstance(v, Maybe) else v for v in (t, x) if not _nothing(v)]
    if t == x or not given:
        return t
    found = free(given[0])
    for other in given[1:]:
        found = merged(found, other)
    if reasons == {True} and not isinstance(found, Num):
        raise Unlowered("None and something else than a number on different ways")
    return Maybe(found, HOLE, reasons == {True})


def free(x: Val) -> Val:
    """The template of a value that exists on one way only: what is no constant is a hole."""
    if isinstance(x, Arr):
        dims, strides = (tuple(n if n.isdigit() else HOLE for n in part) for part in (x.dims, x.strides))
        handle = None if x.handle is None else HOLE
        return dataclasses.replace(x, data=HOLE, dims=dims, strides=strides, handle=handle)
    if isinstance(x, Tup):
        return Tup(tuple(map(free, x.items)))
    if isinstance(x, HANDLES):
        return dataclasses.replace(x, handle=HOLE)
    return opened(x)


def _same(a: object, b: object) -> bool:
    return a is b or (type(a) is type(b) is str and a == b)


def _arrays(t: Arr, x: Arr) -> Arr:
    if t.dtype.num != x.dtype.num or len(t.dims) != len(x.dims):
        raise Unlowered("arrays of different dtypes or ranks on different ways")

    def same(a: str, b: str) -> str:
        return a if a == b else HOLE

    handle = None if t.handle is None or x.handle is None else same(t.handle, x.handle)
    return Arr(
        t.dtype,
        same(t.data, x.data),
        tuple(map(same, t.dims, x.dims)),
        tuple(map(same, t.strides, x.strides)),
        handle,
        t.roots | x.roots,
        max(t.depth, x.depth),
        t.site if t.site == x.site else UNKNOWN,
        max(t.age, x.age),
        turned=t.turned or x.turned,
    )


def _lists(t: Lists, x: Lists) -> Val:
    """The template of two lists.  Lists of numbers whose cells are on the stack can't be handed on."""
    if isinstance(t, Table) and isinstance(x, Table) and len(t.columns) == len(x.columns):
        return Table(tuple(map(merged, t.columns, x.columns)))  # type: ignore[arg-type]
    if isinstance(t, Mixed) and isinstance(x, Mixed) and t.members == x.members:
        return Mixed(t.members, merged(t.payloads, x.payloads), merged(t.tags, x.tags))  # type: ignore[arg-type]
    if isinstance(t, HANDLES) and isinstance(x, HANDLES):
        handle, site = t.handle if t.handle == x.handle else HOLE, t.site if t.site == x.site else UNKNOWN
        both = {"makers": t.makers | x.makers, "depth": max(t.depth, x.depth), "handle": handle, "site": site}
        if isinstance(t, ArrayList) and isinstance(x, ArrayList):
            return dataclasses.replace(t, **both)  # type: ignore[arg-type]
        if isinstance(t, Nested) and isinstance(x, Nested):
            return dataclasses.replace(t, **both)  # type: ignore[arg-type]
        if isinstance(t, Shared) and isinstance(x, Shared) and t.kind == x.kind:
            return dataclasses.replace(t, guessed=t.guessed and x.guessed, **both)  # type: ignore[arg-type]
    if all(isinstance(y, (Listing, Shared)) or of_two_kinds(y) for y in (t, x)):
        kinds = [found for found in map(_kinds, (t, x)) if found] or [(PYTHON_INT,)]
        raise WrongGuess(dict.fromkeys(_makers(t) | _makers(x), Carried(joined(kinds[0], kinds[-1]))))
    for y, other in ((t, x), (x, t)):
        if isinstance(y, Listing) and (y.kind is None or _only_guessed(y)):
            raise _as_other(y.maker, other, WrongGuess())
    raise Unlowered("lists of different things on different ways")


def of_two_kinds(x: Lists) -> bool:
    """Whether it is a list of numbers of two kinds."""
    return isinstance(x, Mixed) and not isinstance(x.payloads, Nested)


def of_numbers(x: Lists) -> bool:
    """Whether it is a list of numbers, or of tuples of them."""
    if isinstance(x, Table):
        return all(map(of_numbers, x.columns))
    return isinstance(x, (Listing, Shared)) or of_two_kinds(x)


def _kinds(x: Lists) -> Members:
    """The kinds of numbers that are in a list; none where nothing was put in."""
    if isinstance(x, Mixed):
        return x.members
    assert isinstance(x, (Listing, Shared))
    return () if x.kind is None or _only_guessed(x) else (x.kind,)


def _makers(x: Lists) -> frozenset[Hashable]:
    """Under what a list of numbers is remembered."""
    if isinstance(x, Mixed):
        return frozenset(key[0] for key in _makers(x.payloads))  # type: ignore[index]
    assert isinstance(x, (Listing, Shared))
    return x.makers if isinstance(x, Shared) else frozenset((x.maker,))


def _only_guessed(x: Listing | Shared) -> bool:
    return isinstance(x, Listing) and x.guessed


def _as_other(key: Hashable, x: Lists, wrong: WrongGuess) -> WrongGuess:
    """A list that nothing was put into will hold what another one holds."""
    if isinstance(x, Table):
        wrong.found[key] = Row(len(x.columns))
        for k, column in enumerate(x.columns):
            _as_other((key, k), column, wrong)
    elif isinstance(x, (ArrayList, Nested)):
        wrong.alike[key] = next(iter(x.makers))
    elif isinstance(x, Mixed):
        wrong.found[key] = Carried(x.members) if of_two_kinds(x) else Either(x.members)
    elif x.kind is not None:
        wrong.found[key] = Carried((x.kind,)) if isinstance(x, Shared) else x.kind
    return wrong


def leaves(e: Emitter, t: Val, x: Val) -> list[tuple[str, str]]:
    """(LLVM type, text) of what goes into the template's holes."""
    if isinstance(t, Num) and isinstance(x, Num):
        if t.text != HOLE:
            return []
        wide = widen(e, x, t.members)
        tags = [("i1", wide.tag)] if t.tag == HOLE else []
        return [(payload(t.members), wide.text), *tags]
    if isinstance(t, Maybe) and t.valid == HOLE:
        if _nothing(x):
            return [*_absent(t.number), ("i1", FALSE)]
        given, valid = (x.number, x.valid) if isinstance(x, Maybe) else (x, TRUE)
        return [*leaves(e, t.number, given), ("i1", valid)]
    if isinstance(t, Tup) and isinstance(x, Tup):
        return [leaf for a, b in zip(t.items, x.items, strict=True) for leaf in leaves(e, a, b)]
    if isinstance(t, Arr) and isinstance(x, Arr):
        pairs = [("ptr", t.data, x.data)]
        pairs += [("i64", a, b) for a, b in zip((*t.dims, *t.strides), (*x.dims, *x.strides), strict=True)]
        pairs += [("ptr", t.handle or "", x.handle or "")]
        return [(llvm, b) for llvm, a, b in pairs if a == HOLE]
    if isinstance(t, HANDLES) and isinstance(x, HANDLES):
        return [("ptr", x.handle)] if t.handle == HOLE else []
    if (isinstance(t, Table) and isinstance(x, Table)) or (isinstance(t, Keyed) and isinstance(x, Keyed)):
        return [leaf for a, b in zip(t.columns, x.columns, strict=True) for leaf in leaves(e, a, b)]
    if isinstance(t, Mixed) and isinstance(x, Mixed):
        return [*leaves(e, t.payloads, x.payloads), *leaves(e, t.tags, x.tags)]
    if isinstance(t, Listing) and isinstance(x, Listing) and t.length == HOLE:
        return [
            (llvm, e.effect(f"load {llvm}, ptr {at}")) for llvm, at in (("i64", x.length), ("ptr", x.data))
        ]
    return []


def filled(t: Val, names: Iterator[str]) -> Val:
    """The template with names in its holes."""
    if isinstance(t, Num):
        if t.text != HOLE:
            return t
        text = next(names)
        return Num(t.members, text, next(names) if t.tag == HOLE else TRUE, span=t.span)
    if isinstance(t, Maybe) and t.valid == HOLE:
        return Maybe(filled(t.number, names), next(names), t.none)
    if isinstance(t, Tup):
        return Tup(tuple(filled(i, names) for i in t.items))
    if isinstance(t, Arr):

        def put(text: str) -> str:
            return next(names) if text == HOLE else text

        return dataclasses.replace(
            t,
            data=put(t.data),
            dims=tuple(map(put, t.dims)),
            strides=tuple(map(put, t.strides)),
            handle=None if t.handle is None else put(t.handle),
        )
    if isinstance(t, HANDLES) and t.handle == HOLE:
        return dataclasses.replace(t, handle=next(names))
    if isinstance(t, Table):
        return Table(tuple(filled(column, names) for column in t.columns))  # type: ignore[misc]
    if isinstance(t, Mixed):
        return Mixed(t.members, filled(t.payloads, names), filled(t.tags, names))  # type: ignore[arg-type]
    return t


def all_filled(shapes: Sequence[Val], phis: Sequence[Phi]) -> list[Val]:
    """Templates with phis in their holes."""
    names = iter([p.name for p in phis])
    return [filled(t, names) for t in shapes]


def types_of(t: Val) -> list[str]:
    """The LLVM types of the template's holes."""
    if isinstance(t, Num):
        return [] if t.text != HOLE else [payload(t.members), *(["i1"] if t.tag == HOLE else [])]
    if isinstance(t, Maybe):
        return [*types_of(t.number), "i1"] if t.valid == HOLE else []
    if isinstance(t, Tup):
        return [llvm for i in t.items for llvm in types_of(i)]
    if isinstance(t, Listing):
        return ["i64", "ptr"] if t.length == HOLE else []
    if isinstance(t, HANDLES):
        return ["ptr"] if t.handle == HOLE else []
    if isinstance(t, (Keyed, Table)):
        return [llvm for column in t.columns for llvm in types_of(column)]
    if isinstance(t, Mixed):
        return [*types_of(t.payloads), *types_of(t.tags)]
    if isinstance(t, Arr):
        texts = [("ptr", t.data), *(("i64", d) for d in (*t.dims, *t.strides)), ("ptr", t.handle or "")]
        return [llvm for llvm, text in texts if text == HOLE]
    return []
