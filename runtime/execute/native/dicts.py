"""Dicts and sets that native code makes, of numbers or tuples of numbers.

In: keys, and what belongs to them: whatever can be in a list (see `lists`).  Out: `Keyed`, and code.  What
always holds: keys and values are two lists in the order in which the keys came, as Python has them; a key
that is not there, and a change while a loop goes over it, are left to the plan, which raises.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence

from runtime.execute.native import hashes, lists, merge
from runtime.execute.native.array_lists import trips
from runtime.execute.native.emit import Block, Emitter, Phi
from runtime.execute.native.hashes import Part
from runtime.execute.native.kinds import PYTHON_BOOL, PYTHON_INT, Scalar, Unlowered
from runtime.execute.native.ranges import SIZE
from runtime.execute.native.shares import Serial
from runtime.execute.native.state import State, WrongGuess
from runtime.execute.native.values import (
    LISTS,
    Entries,
    Keyed,
    Listing,
    Lists,
    Method,
    Mixed,
    Num,
    Static,
    Table,
    Tup,
    Val,
    extended,
    lift,
    one,
    opaque,
    usual,
    with_sign,
)

OF_DICTS = ("get", "setdefault", "pop", "keys", "values", "items", "clear", "copy", "update")
OF_SETS = ("add", "remove", "discard", "clear", "update", "copy")
OF_TWO_SETS = (
    "union", "intersection", "difference", "symmetric_difference", "isdisjoint", "issubset", "issuperset",
)  # fmt: skip
_MISSING = (int, float, list)  # what dicts with defaults call


def made(state: State, maker: Hashable, items: Sequence[Val], cls: type = dict) -> Keyed:
    """A dict display: keys and values in turn."""
    found = _new(state, maker, cls)
    for key, value in zip(items[::2], items[1::2], strict=True):
        set_item(state, found, key, value)
    return found


def made_by(state: State, maker: Hashable, cls: type, args: Sequence[Val]) -> Keyed:
    """A call of a class of dicts, or of `set`."""
    if cls is set and len(args) < 2:
        found = _new(state, maker, cls)
        for items in args:
            add_all(state, found, items)
        return found
    if cls is dict and len(args) == 1:
        return copy(state, maker, args[0], cls)
    if cls in (dict, Counter) and not args:
        return made(state, maker, (), cls)
    of = args[0].value if len(args) == 1 and isinstance(args[0], Static) else None
    if cls is defaultdict and of in _MISSING:
        return dataclasses.replace(_new(state, maker, cls), missing=of)
    raise Unlowered(f"a {cls.__name__} of this")


def _new(state: State, maker: Hashable, cls: type) -> Keyed:
    """An empty one."""
    e = state.e
    if e.part is not None:
        raise Serial
    index = lists.numbers(state, (maker, "cells"))
    index.kind = PYTHON_INT
    values = None if cls is set else lists.made(state, (maker, "values"), ())
    found = Keyed(maker, cls, lists.made(state, (maker, "keys"), ()), values, index)
    if (maker, "alive") not in state.forms:
        return found
    alive, cells = lists.numbers(state, (maker, "alive")), [e.slot("i64"), e.slot("i64")]
    alive.kind = PYTHON_BOOL
    for cell in cells:
        e.line(f"store i64 0, ptr {cell}")
    return dataclasses.replace(found, alive=alive, count=cells[0], removed=cells[1])


# ------------------------------------------------------------------------------------------------ keys
def _parts(state: State, column: Lists, key: Val) -> list[Part]:
    """The numbers that a key is, each with the list that holds those of all keys."""
    if isinstance(column, Table):
        if not isinstance(key, Tup) or len(key.items) != len(column.columns):
            raise Unlowered("a dict or set with keys of several forms")
        return [p for c, k in zip(column.columns, key.items, strict=True) for p in _parts(state, c, k)]
    if isinstance(column, Mixed) and isinstance(column.payloads, Listing):
        number = _number(state.e, key)
        if any(kind.kind == "f" for kind in (*column.members, number.scalar)):
            raise Unlowered("a dict or set with keys of several kinds")
        return [(column.payloads, number)]
    if not isinstance(column, Listing):
        raise Unlowered("a dict or set with keys of several kinds")
    unknown = column.maker not in state.forms
    if isinstance(key, Tup) and unknown:
        lists.learn(state, column.maker, key)
        raise WrongGuess
    number = _number(state.e, key)
    if column.kind is None:
        known = state.forms.get(column.maker)
        column.kind, column.guessed = known if isinstance(known, Scalar) else number.scalar, True
    if (column.kind.kind == "f") != (number.scalar.kind == "f"):
        if not unknown or not column.guessed:
            raise Unlowered("a dict or set with keys of several kinds")
        state.forms[column.maker] = number.scalar
        raise WrongGuess
    return [(column, number)]


def _number(e: Emitter, key: Val) -> Num:
    """A number that can be a key: equal ones of several kinds of integers are one."""
    if not isinstance(key, Num):
        raise Unlowered("a dict or set with other keys than numbers and tuples of numbers")
    number = usual(e, with_sign(e, opaque(e, key)))
    for kind in number.members:
        other = kind.kind == "f" and len(number.members) > 1
        if kind.kind == "c" or other or (kind.kind, kind.bits) in (("u", 64), ("f", 32)):
            raise Unlowered(f"a dict or set with keys of dtype {kind.dtype}, or of several")
    return number if len(number.members) == 1 else one(PYTHON_INT, extended(e, _same_bits(number)))


def _same_bits(x: Num) -> Num:
    """An integer of two kinds as what holds it."""
    widest = max(x.members, key=lambda kind: kind.bits)
    return one(PYTHON_INT if x.llvm == "i64" else widest, x.text)


def _find(state: State, x: Keyed, key: Val) -> str:
    """The place of a key, or -1."""
    return hashes.find(state, x, _parts(state, x.keys, key))


def place(state: State, x: Keyed, key: Val) -> str:
    """The place of a key that is there."""
    return _find(state, x, key)


def contains(state: State, x: Keyed, key: Val) -> Num:
    """`key in x`."""
    return one(PYTHON_BOOL, _there(state.e, _find(state, x, key)))


def _there(e: Emitter, place: str) -> str:
    return e.op(f"icmp sge i64 {place}, 0")


def length(e: Emitter, x: Keyed | Entries | Lists) -> Num:
    """`len(x)`."""
    x = x.of if isinstance(x, Entries) else x
    if not isinstance(x, Keyed) or x.alive is None:
        return lists.length(e, x.keys if isinstance(x, Keyed) else x)
    return one(PYTHON_INT, e.effect(f"load i64, ptr {x.count}"), span=(0, SIZE))


# ----------------------------------------------------------------------------------------------- items
def get_item(state: State, x: Keyed, key: Val) -> Val:
    """`x[key]`."""
    if x.values is None:
        raise Unlowered("an item of a set")
    missing = x.missing
    if x.cls is Counter:
        return _get(state, x, key, lift(0))
    if missing is not None:
        return _set_default(state, x, key, lambda: _called(state, x, missing))
    place = _find(state, x, key)
    state.e.bail_if(state.e.negated(_there(state.e, place)))
    return lists.item(state, x.values, place)


def _called(state: State, x: Keyed, cls: type) -> Val:
    """A new value for a key that is not there."""
    return lists.made(state, (x.maker, "missing"), ()) if cls is list else lift(cls())


def set_item(state: State, x: Keyed, key: Val, value: Val) -> None:
    """`x[key] = value`."""
    values = x.values
    if values is None:
        raise Unlowered("an assignment to an item of a set")
    place = _find(state, x, key)

    def change() -> None:
        lists.put(state, values, place, value)

    _either(state.e, place, change, lambda: _insert(state, x, key, value))


def add(state: State, x: Keyed, key: Val) -> None:
    """`x.add(key)`."""
    _either(state.e, _find(state, x, key), lambda: None, lambda: _insert(state, x, key))


def add_all(state: State, x: Keyed, items: Val) -> None:
    """Put all items of a list, dict or set into a set: for the last two it makes room as it sees fit, so
    its order is not known then."""
    if isinstance(items, Keyed):
        _may_remove(x)
    if isinstance(items, Static) and type(items.value) is frozenset:
        _may_remove(x)
        for item in items.value:
            add(state, x, lift(item))
        return
    if isinstance(items, (Keyed, Entries)):
        of = items.of if isinstance(items, Entries) else items
        settled(state, of)
        items = of.keys if of.cls is set else as_list(items) or items
    if not isinstance(items, LISTS):
        raise Unlowered("a set of something else than the items of a list")
    with trips(state, lists.length(state.e, items).text) as k:
        add(state, x, lists.item(state, items, k))


def unordered(state: State, maker: Hashable) -> Keyed:
    """An empty set whose order is not going to be known."""
    found = _new(state, maker, set)
    _may_remove(found)
    return found


def update(state: State, x: Keyed, other: Val) -> None:
    """`x.update(other)` of dicts."""
    if x.cls is Counter or not isinstance(other, Keyed) or other.values is None:
        raise Unlowered("update of a Counter, or by something else than a dict")
    with trips(state, settled(state, other)) as k:
        set_item(state, x, lists.item(state, other.keys, k), lists.item(state, other.values, k))


def _insert(state: State, x: Keyed, key: Val, value: Val | None = None) -> None:
    """Put a new key in."""
    hashes.put_in(state, x, _parts(state, x.keys, key))
    lists.append(state, x.keys, key)
    if x.values is not None:
        assert value is not None
        lists.append(state, x.values, value)


def remove(state: State, x: Keyed, key: Val, always: bool = True) -> None:
    """`del x[key]`, `x.remove(key)`, or `x.discard(key)`.  always: whether the key must be there."""
    _may_remove(x)
    parts = _parts(state, x.keys, key)
    place = hashes.find(state, x, parts)
    if not always:
        _either(state.e, place, lambda: hashes.take_out(state, x, parts, place), lambda: None)
        return
    state.e.bail_if(state.e.negated(_there(state.e, place)))
    hashes.take_out(state, x, parts, place)


def _may_remove(x: Keyed) -> None:
    """Have it known which keys are still there."""
    if x.alive is None:
        raise WrongGuess({(x.maker, "alive"): PYTHON_BOOL})


def _either(e: Emitter, place: str, there: Callable[[], None], missing: Callable[[], None]) -> None:
    """Code for where a key is there, and for where it is not."""
    blocks, out = (e.block("there"), e.block("missing")), e.block("on")
    e.branch(_there(e, place), *blocks)
    for block, write in zip(blocks, (there, missing), strict=True):
        e.start(block)
        with e.scope():
            write()
            e.flush()
            e.jump(out)
    e.start(out)
    e.version += 1


def _get(state: State, x: Keyed, key: Val, default: Val) -> Val:
    """`x.get(key, default)`, of numbers or tuples of numbers."""
    e, values = state.e, x.values
    fits = isinstance(default, (Num, Tup)) or _is_none(default)
    if values is None or not fits or not _of_numbers(values):
        raise Unlowered("get of a dict of other things than numbers")
    if isinstance(default, Tup) and isinstance(values, Listing) and values.maker not in state.forms:
        if values.kind is None or values.guessed:  # nothing was put in so far
            lists.learn(state, values.maker, default)
            raise WrongGuess
    place = _find(state, x, key)
    there, missing, out = e.block("there"), e.block("missing"), e.block("on")
    e.branch(_there(e, place), there, missing)
    e.start(there)
    with e.scope():
        found = lists.item(state, values, place)
        shape = merge.merged(found, default)
        phis = [e.phi(out, llvm) for llvm in merge.types_of(shape)]
        _hand_on(e, shape, found, phis, out)
    e.start(missing)
    with e.scope():
        _hand_on(e, shape, default, phis, out)
    e.start(out)
    return merge.filled(shape, iter([phi.name for phi in phis]))


def _of_numbers(x: Lists) -> bool:
    """Whether it is a list of numbers, or of tuples of numbers."""
    return all(map(_of_numbers, x.columns)) if isinstance(x, Table) else isinstance(x, (Listing, Mixed))


def _hand_on(e: Emitter, shape: Val, x: Val, phis: Sequence[Phi], out: Block) -> None:
    """Go on at a block with this value."""
    texts = [text for _, text in merge.leaves(e, shape, x)]
    e.flush()
    for phi, text in zip(phis, texts, strict=True):
        e.way(phi, text)
    e.jump(out)


def _is_none(x: Val) -> bool:
    return isinstance(x, Static) and x.value is None


def _set_default(state: State, x: Keyed, key: Val, default: Callable[[], Val]) -> Val:
    """`x.setdefault(key, default())`."""
    assert x.values is not None
    place = _find(state, x, key)
    e, cell = state.e, state.e.slot("i64")

    def insert() -> None:
        _insert(state, x, key, default())
        last = e.effect(f"sub i64 {lists.length(e, x.keys).text}, 1")
        e.line(f"store i64 {last}, ptr {cell}")

    _either(e, place, lambda: e.line(f"store i64 {place}, ptr {cell}"), insert)
    return lists.item(state, x.values, e.effect(f"load i64, ptr {cell}"))


def _pop(state: State, x: Keyed, args: Sequence[Val]) -> Val | None:
    """`x.pop(key)`, or `x.pop(key, default)`."""
    if x.values is None:
        raise Unlowered("pop of a set")
    _may_remove(x)
    found = None
    if len(args) == 1:
        place = _find(state, x, args[0])
        state.e.bail_if(state.e.negated(_there(state.e, place)))
        found = lists.item(state, x.values, place)
    elif _of_numbers(x.values):
        found = _get(state, x, *args)
    elif not _is_none(args[1]):  # what is popped is not used then, as far as can be told
        raise Unlowered("pop of a dict of other things than numbers")
    remove(state, x, args[0], len(args) == 1)
    return found


# --------------------------------------------------------------------------------------------- methods
def method(x: Keyed, name: str) -> Method:
    """`x.name`."""
    if name not in ((*OF_SETS, *OF_TWO_SETS) if x.values is None else OF_DICTS):
        raise Unlowered(f"the attribute {name} of a {x.cls.__name__}")
    return Method(x, name)


def called(state: State, maker: Hashable, m: Method, args: Sequence[Val]) -> Val | None:
    """A call of a method; None for Python's None.  maker: what a new dict is remembered under."""
    x = m.of
    assert isinstance(x, Keyed)
    count = len(args)
    if m.name in ("keys", "values", "items") and not args:
        return Entries(x, m.name)
    if m.name == "get" and count in (1, 2):
        return _get(state, x, args[0], args[1] if count == 2 else Static(None))
    if m.name == "setdefault" and count == 2:
        return _set_default(state, x, args[0], lambda: args[1])
    if m.name == "pop" and count in (1, 2):
        return _pop(state, x, args)
    if m.name == "copy" and not args:
        return copy(state, maker, x)
    if m.name == "add" and count == 1:
        add(state, x, args[0])
    elif m.name in ("remove", "discard") and count == 1:
        remove(state, x, args[0], m.name == "remove")
    elif m.name == "clear" and not args:
        hashes.emptied(state, x)
    elif m.name == "update" and count == 1:
        (add_all if x.values is None else update)(state, x, args[0])
    else:
        raise Unlowered(f"{m.name} of a {x.cls.__name__} with these arguments")
    return None


def copy(state: State, maker: Hashable, x: Val, cls: type | None = None) -> Keyed:
    """A copy of a dict of any kind or a set, of the same kind unless `cls` says of which."""
    if isinstance(x, Keyed) and x.cls is cls is set or isinstance(x, Keyed) and x.cls is set and cls is None:
        found = unordered(state, maker)
        add_all(state, found, x)
        return found
    if not isinstance(x, Keyed) or x.values is None:
        raise Unlowered("a dict of something else than a dict")
    found = dataclasses.replace(_new(state, maker, cls or x.cls), missing=None if cls else x.missing)
    with trips(state, settled(state, x)) as k:
        set_item(state, found, lists.item(state, x.keys, k), lists.item(state, x.values, k))
    return found


# ----------------------------------------------------------------------------------------------- loops
def gone_over(x: Val) -> Keyed | None:
    """The dict that a loop over a value goes through, if it is one.  A set has an order of its own."""
    found = x.of if isinstance(x, Entries) else x
    if not isinstance(found, Keyed):
        return None
    if found.values is None:
        raise Unlowered("a loop over a set")
    return found


def settled(state: State, x: Keyed) -> str:
    """How many keys there are; the lists have no others."""
    columns = _flat(x.keys)
    for column in columns:
        lists.of_kind(state, column)
    hashes.settled(state, x, columns)
    return lists.length(state.e, x.keys).text


def _flat(x: Lists) -> list[Listing]:
    """The lists of numbers that keys are in."""
    if isinstance(x, Table):
        return [part for column in x.columns for part in _flat(column)]
    found = x.payloads if isinstance(x, Mixed) else x
    if not isinstance(found, Listing):
        raise Unlowered("a dict or set with keys of several kinds")
    return [found]


def steps(state: State, x: Keyed) -> Callable[[], str]:
    """What is asked before each trip of a loop over a dict: how many there are.  One that changes meanwhile
    is left to the plan, which raises."""
    e = state.e
    if e.gang is not None:
        raise Unlowered("a dict for several elements at once")
    whole, cells = settled(state, x), [x.removed] if x.alive is not None else []
    before = [e.effect(f"load i64, ptr {cell}") for cell in cells]

    def stop() -> str:
        now = [length(e, x).text, *(e.effect(f"load i64, ptr {cell}") for cell in cells)]
        for old, new in zip((whole, *before), now, strict=True):
            e.bail_if(e.effect(f"icmp ne i64 {new}, {old}"))
        return whole

    return stop


def as_list(x: Val) -> Lists | None:
    """The list that has the items of a dict, or of what its methods give, in it; None where there is none."""
    found = x.of if isinstance(x, Entries) else x
    if not isinstance(found, Keyed) or found.values is None:
        return None
    if not isinstance(x, Entries) or x.name == "keys":
        return found.keys
    return found.values if x.name == "values" else Table((found.keys, found.values))


def listed(state: State, x: Val, target: object) -> Lists | None:
    """The same, which has no others, for what takes all of them; the items of a set only where their order
    does not matter: of several that are equal it has one."""
    of = x.of if isinstance(x, Entries) else x
    if not isinstance(of, Keyed):
        return None
    if of.cls is set:
        fitting: list[object] = [sorted]
        if isinstance(of.keys, (Listing, Mixed)):
            fitting += [min, max, any, all]
        if isinstance(of.keys, Listing) and lists.of_kind(state, of.keys) in (PYTHON_INT, PYTHON_BOOL):
            fitting.append(sum)
        if target not in fitting:
            return None
    settled(state, of)
    return of.keys if of.cls is set else as_list(x)
