"""Lists that native code makes: they grow, are read and written, and become arrays or, in the end, Python
lists.

In: what is put in: numbers of one kind, arrays, or tuples of these.  Out: `Listing`, `ArrayList` or `Table`,
and code.  What always holds: a list of numbers is one place in the code, made anew (empty, with the memory it
had) each time control gets there; what can't be one of these is not lowered.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from runtime.execute.native import array_lists, nested_lists
from runtime.execute.native.abi import BYTES_AT
from runtime.execute.native.array_lists import trips
from runtime.execute.native.arrays import checked_index, create, memory, store
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import (
    PYTHON_BOOL,
    PYTHON_FLOAT,
    PYTHON_INT,
    Members,
    Scalar,
    Unlowered,
    payload,
)
from runtime.execute.native.ownership import slot
from runtime.execute.native.ranges import SIZE
from runtime.execute.native.scalars import stored
from runtime.execute.native.shares import Serial
from runtime.execute.native.state import Carried, Either, Held, Inner, Row, State, WrongGuess
from runtime.execute.native.two_kinds import joined as joined_kinds
from runtime.execute.native.values import (
    LISTS,
    Arr,
    ArrayList,
    Listing,
    Lists,
    Mixed,
    Nested,
    Num,
    Shared,
    Shown,
    Table,
    Tup,
    Val,
    one,
    usual,
    widen,
    with_sign,
)
from runtime.types import ArrayType, Type

_HOLDS = {"double": PYTHON_FLOAT, "i64": PYTHON_INT}  # what holds the payloads of numbers of two kinds
FIRST = 16  # numbers that there is room for at first


def shown(state: State, maker: Hashable, items: Sequence[Val]) -> Lists | Shown:
    """A list display."""
    ints = [x for x in items if isinstance(x, Num) and len(x.members) == 1 and x.scalar.kind in "iu"]
    if len(ints) == len(items) and len({x.scalar for x in ints}) > 1:
        return Shown(tuple(ints))
    return made(state, maker, items)


def made(state: State, maker: Hashable, items: Sequence[Val]) -> Lists:
    """A list with these items."""
    if items and maker not in state.forms:
        learn(state, maker, items[0])
    nested_lists.handed_on([x for x in items if isinstance(x, Listing)])
    form = state.forms.get(maker)
    if isinstance(form, Held):
        return array_lists.made(state, maker, items)
    found: Lists
    if isinstance(form, Inner):
        found = nested_lists.made(state, maker)
    elif isinstance(form, Either):
        found = Mixed(form.members, *(nested_lists.made(state, (maker, key)) for key in ("payload", "tag")))
    elif isinstance(form, Carried) and len(form.kinds) == 1:
        found = array_lists.shared(state, maker, form.kinds[0], form.guessed)
    elif isinstance(form, Carried):
        holds = _HOLDS[payload(form.kinds)], PYTHON_BOOL
        parts = zip(("payload", "tag"), holds, strict=True)
        found = Mixed(form.kinds, *(array_lists.shared(state, (maker, key), kind) for key, kind in parts))
    elif isinstance(form, Row):
        found = Table(tuple(made(state, (maker, k), ()) for k in range(form.length)))
    elif isinstance(form, tuple):
        payloads, tags = (made(state, (maker, key), ()) for key in ("payload", "tag"))
        assert isinstance(payloads, (Listing, Shared)) and isinstance(tags, (Listing, Shared))
        for part, kind in ((payloads, _HOLDS[payload(form)]), (tags, PYTHON_BOOL)):
            if isinstance(part, Listing):
                part.kind = kind
        found = Mixed(form, payloads, tags)
    else:
        found = numbers(state, maker)
    for item in items:
        append(state, found, item)
    return found


def learn(state: State, maker: Hashable, x: Val) -> None:
    """What a list will have in it, unless it is numbers: they have their kinds from what is put in."""
    if isinstance(x, Tup):
        if not x.items or any(isinstance(i, Tup) and not i.items for i in x.items):
            raise Unlowered("a list of empty tuples")
        state.forms.setdefault(maker, Row(len(x.items)))
        for k, item in enumerate(x.items):
            learn(state, (maker, k), item)
    elif isinstance(x, Mixed):
        state.forms[maker] = Either(x.members)
    elif isinstance(x, Arr):
        array_lists.learn(state, frozenset((maker,)), x)
    elif isinstance(x, LISTS):
        nested_lists.learn(state, frozenset((maker,)), x)


def numbers(state: State, maker: Hashable) -> Listing:
    """A list for numbers."""
    e = state.e
    if e.part is not None:
        raise Serial
    cells = [e.slot(t) for t in ("i64", "i64", "ptr")]
    for cell, t in zip(cells, ("i64 0", "i64 0", "ptr null"), strict=True):
        e.prologue.append(f"store {t}, ptr {cell}")
    state.owned += 1
    found = Listing(cells[0], cells[1], cells[2], slot(e, state.owned - 1), maker)
    e.line(f"store i64 0, ptr {found.length}")
    return found


def of_kind(state: State, x: Listing | Shared) -> Scalar:
    """The kind of its numbers; a guess as long as none was put in."""
    if x.kind is None:
        known = state.forms.get(x.maker)
        x.kind, x.guessed = known if isinstance(known, Scalar) else PYTHON_INT, True
    return x.kind


def put_kind(state: State, x: Listing | Shared, value: Val) -> Num:
    """The value as one that the list can hold."""
    value = usual(state.e, with_sign(state.e, value)) if isinstance(value, Num) else value
    if isinstance(x, Shared):
        if not isinstance(value, Num) or any(kind.kind == "c" for kind in value.members):
            raise Unlowered("a list of numbers and other things")
        if x.guessed:  # it is not a guess any more
            raise WrongGuess(dict.fromkeys(x.makers, Carried(value.members)))
        if value.members != (x.kind,):
            raise WrongGuess(dict.fromkeys(x.makers, Carried(_two(joined_kinds((x.kind,), value.members)))))
        return value
    unknown = x.kind is None or (x.guessed and x.maker not in state.forms)
    if unknown and isinstance(value, (Arr, Tup, *LISTS)):
        learn(state, x.maker, value)
        raise WrongGuess
    if not isinstance(value, Num) or any(kind.kind == "c" for kind in value.members):
        raise Unlowered("a list of other things than real numbers, arrays and tuples of these")
    if x.kind is None and len(value.members) == 1:
        x.kind = value.scalar
    if (x.kind,) != value.members:
        known = state.forms.get(x.maker)
        if x.kind is None or (x.guessed and known is None):
            state.forms[x.maker] = value.scalar if len(value.members) == 1 else value.members
        else:
            state.forms[x.maker] = _two(joined_kinds((x.kind,), value.members))
        raise WrongGuess
    return value


def _two(members: Members) -> Members:
    """Two kinds of numbers, of which there can be a list."""
    if payload(members) not in _HOLDS:
        raise Unlowered("a list of numbers of these two kinds")
    return members


def append(state: State, x: Lists, value: Val) -> None:
    """Put something at the end."""
    e = state.e
    if isinstance(x, ArrayList):
        return array_lists.append(state, x, value)
    if isinstance(x, Nested):
        _inner_of_two_kinds(state, x, value)
        return nested_lists.put(state, x, value)
    if isinstance(x, Table):
        for column, part in zip(x.columns, _parts(x, value), strict=True):
            append(state, column, part)
        return None
    if isinstance(x, Mixed):
        number, tag = _halves(state, x, value)
        append(state, x.payloads, number)
        return append(state, x.tags, tag)
    number = put_kind(state, x, value)
    e.flush()
    x = array_lists.cells(e, x) if isinstance(x, Shared) else x
    n = e.effect(f"load i64, ptr {x.length}")
    more = e.effect(f"add nuw nsw i64 {n}, 1")
    with_room(state, x, n, more)
    store(e, number.scalar, _place(state, x, n), number)
    e.line(f"store i64 {more}, ptr {x.length}")
    return None


def _inner_of_two_kinds(state: State, x: Nested, value: Val) -> None:
    """A list of numbers of two kinds is put into a list of lists: it is one of such lists."""
    if isinstance(value, Mixed) and not isinstance(value.payloads, Nested):
        raise WrongGuess(dict.fromkeys(x.makers, Either(value.members)))


def _halves(state: State, x: Mixed, value: Val) -> tuple[Val, Val]:
    """The payload and the tag of what goes into a list: a number, or a list of numbers."""
    if not isinstance(x.payloads, Nested):
        return _either(state.e, x, value)
    if isinstance(value, Listing):
        raise WrongGuess({value.maker: Carried(x.members)})
    if isinstance(value, Shared):
        raise WrongGuess(dict.fromkeys(value.makers, Carried(x.members)))
    if not isinstance(value, Mixed) or isinstance(value.payloads, Nested):
        raise Unlowered("a list of lists and other things")
    if isinstance(value.payloads, Listing):  # on the stack
        raise WrongGuess({value.payloads.maker[0]: Carried(value.members)})  # type: ignore[index]
    if value.members != x.members:
        raise Unlowered("a list of lists of different kinds of numbers")
    return value.payloads, value.tags


def _either(e: Emitter, x: Mixed, value: Val) -> tuple[Num, Num]:
    """The payload and the tag of a number that goes into a list."""
    if not isinstance(value, Num):
        raise Unlowered("a list of numbers and other things")
    value = usual(e, value)
    if not set(value.members) <= set(x.members):
        raise Unlowered("a list of numbers of three kinds")
    wide = widen(e, value, x.members)
    return one(_HOLDS[wide.llvm], wide.text), one(PYTHON_BOOL, wide.tag)


def _parts(x: Table, value: Val) -> tuple[Val, ...]:
    """The items of a tuple that goes into a list."""
    if not isinstance(value, Tup) or len(value.items) != len(x.columns):
        raise Unlowered("a list of tuples and other things, or of tuples of different lengths")
    return value.items


def with_room(state: State, x: Listing, held: str, needed: str) -> None:
    """Have room for so many numbers, the first `held` of which stay."""
    e = state.e
    room = e.effect(f"load i64, ptr {x.room}")
    grow, on = e.block("grow"), e.block("on")
    e.branch(e.effect(f"icmp ugt i64 {needed}, {room}"), grow, on)
    e.start(grow)
    with e.scope():
        _grow(state, x, held, needed)
        e.jump(on)
    e.start(on)


def _grow(state: State, x: Listing, n: str, needed: str) -> None:
    """Twice the room, or as much as is needed."""
    e, kind = state.e, of_kind(state, x)
    e.declare("declare i64 @llvm.umax.i64(i64, i64)")
    e.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    more = e.effect(f"call i64 @llvm.umax.i64(i64 {e.effect(f'shl i64 {n}, 1')}, i64 {FIRST})")
    more = e.effect(f"call i64 @llvm.umax.i64(i64 {more}, i64 {needed})")
    array = array_lists.memory_for(e, e.effect(f"mul i64 {more}, {kind.dtype.itemsize}"))
    held = x.place
    e.bail_if(e.effect(f"icmp eq ptr {array}, null"))
    data = e.effect(f"getelementptr i8, ptr {array}, i64 {BYTES_AT}")
    size = e.effect(f"mul i64 {n}, {kind.dtype.itemsize}")
    old, before = e.effect(f"load ptr, ptr {x.data}"), e.effect(f"load ptr, ptr {held}")
    e.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {data}, ptr {old}, i64 {size}, i1 false)")
    e.line(f"call void @Py_DecRef(ptr {before})")
    e.line(f"store ptr {array}, ptr {held}")
    e.line(f"store i64 {more}, ptr {x.room}")
    e.line(f"store ptr {data}, ptr {x.data}")


def length(e: Emitter, x: Lists) -> Num:
    """`len(x)`."""
    if isinstance(x, (ArrayList, Nested)):
        return one(PYTHON_INT, array_lists.length(e, x), span=(0, SIZE))
    if isinstance(x, Table):
        return length(e, x.columns[0])
    if isinstance(x, Mixed):
        return length(e, x.tags)
    if isinstance(x, Shared):
        x = array_lists.cells(e, x)
    return one(PYTHON_INT, e.effect(f"load i64, ptr {x.length}"), span=(0, SIZE))


def view(state: State, x: Listing | Shared) -> Arr:
    """Its numbers as an array in place, until it changes."""
    x = array_lists.cells(state.e, x) if isinstance(x, Shared) else x
    e, kind = state.e, of_kind(state, x)
    n, data = length(e, x).text, e.effect(f"load ptr, ptr {x.data}")
    return Arr(kind.dtype, data, (n,), (str(kind.dtype.itemsize),))


def get_item(state: State, x: Lists, key: Val) -> Val:
    """`x[key]`."""
    return item(state, x, _checked(state, x, key))


def set_item(state: State, x: Lists, key: Val, value: Val) -> None:
    """`x[key] = value`."""
    put(state, x, _checked(state, x, key), value)


def put(state: State, x: Lists, at: str, value: Val) -> None:
    if isinstance(x, ArrayList):
        array_lists.set_item(state, x, at, value)
    elif isinstance(x, Nested):
        _inner_of_two_kinds(state, x, value)
        nested_lists.put(state, x, value, at)
    elif isinstance(x, Table):
        for column, part in zip(x.columns, _parts(x, value), strict=True):
            put(state, column, at, part)
    elif isinstance(x, Mixed):
        for part, given in zip((x.payloads, x.tags), _halves(state, x, value), strict=True):
            put(state, part, at, given)
    else:
        number = put_kind(state, x, value)
        state.e.flush()
        x = array_lists.cells(state.e, x) if isinstance(x, Shared) else x
        store(state.e, number.scalar, _place(state, x, at), number)


def _checked(state: State, x: Lists, key: Val) -> str:
    """An index that is in range."""
    if not isinstance(key, Num):
        raise Unlowered("a slice of a list")
    return checked_index(state.e, key, length(state.e, x).text)


def pop(state: State, x: Lists, key: Val | None = None) -> Val:
    """`x.pop()`, or `x.pop(key)`."""
    e = state.e
    e.flush()
    if key is None:
        n = length(e, x).text
        e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))
        at = e.effect(f"sub i64 {n}, 1")
    else:
        at = _checked(state, x, key)
        e.flush()
    found = item(state, x, at)
    _take_out(state, x, at, key is None)
    return found


def _take_out(state: State, x: Lists, at: str, last: bool) -> None:
    """Take out an item; what comes after it moves up."""
    e = state.e
    for part in _columns(x):
        _take_out(state, part, at, last)
    if isinstance(x, (ArrayList, Nested)):
        array_lists.cut(e, x, at, e.effect(f"add nuw nsw i64 {at}, 1"))
    x = array_lists.cells(e, x) if isinstance(x, Shared) else x
    if not isinstance(x, Listing):
        return
    less = e.effect(f"sub i64 {length(e, x).text}, 1")
    if not last:
        to, after = _place(state, x, at), _place(state, x, e.effect(f"add nuw nsw i64 {at}, 1"))
        size = e.effect(f"mul i64 {e.effect(f'sub i64 {less}, {at}')}, {of_kind(state, x).dtype.itemsize}")
        e.declare("declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)")
        e.line(f"call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {after}, i64 {size}, i1 false)")
        e.version += 1
    e.line(f"store i64 {less}, ptr {x.length}")


def _columns(x: Lists) -> tuple[Lists, ...]:
    """The lists that a list is made of."""
    if isinstance(x, Table):
        return x.columns
    return (x.payloads, x.tags) if isinstance(x, Mixed) else ()


def clear(state: State, x: Lists) -> None:
    """`x.clear()`."""
    cut(state, x, "0")


def cut(state: State, x: Lists, n: str) -> None:
    """Keep the first `n` items, which are there."""
    e = state.e
    for part in _columns(x):
        cut(state, part, n)
    if isinstance(x, (ArrayList, Nested)):
        array_lists.cut(e, x, n, array_lists.length(e, x))
    x = array_lists.cells(e, x) if isinstance(x, Shared) else x
    if isinstance(x, Listing):
        e.line(f"store i64 {n}, ptr {x.length}")


def reverse(state: State, x: Lists) -> None:
    """`x.reverse()`."""
    e = state.e
    for part in _columns(x):
        reverse(state, part)
    if isinstance(x, (ArrayList, Nested)):
        e.declare("declare i32 @PyList_Reverse(ptr)")
        e.effect(f"call i32 @PyList_Reverse(ptr {x.handle})")
    if not isinstance(x, (Listing, Shared)):
        return
    e.flush()
    n = length(e, x).text
    with trips(state, e.effect(f"lshr i64 {n}, 1")) as k:
        other = e.effect(f"sub i64 {e.effect(f'sub i64 {n}, 1')}, {k}")
        first, second = number_at(state, x, k), number_at(state, x, other)
        put(state, x, k, second)
        put(state, x, other, first)


def item(state: State, x: Lists, at: str) -> Val:
    """The item in a place that is in range."""
    if isinstance(x, ArrayList):
        return array_lists.item(state, x, at)
    if isinstance(x, Nested):
        return nested_lists.item(state, x, at)
    if isinstance(x, Table):
        return Tup(tuple(item(state, column, at) for column in x.columns))
    if isinstance(x, Mixed):
        payload, tag = (item(state, part, at) for part in (x.payloads, x.tags))
        if isinstance(payload, Num) and isinstance(tag, Num):
            return Num(x.members, payload.text, tag.text)
        return Mixed(x.members, payload, tag)  # type: ignore[arg-type]
    return number_at(state, x, at)


def number_at(state: State, x: Listing | Shared, at: str) -> Num:
    x = array_lists.cells(state.e, x) if isinstance(x, Shared) else x
    e, kind = state.e, of_kind(state, x)
    value = e.effect(f"load {memory(kind)}, ptr {_place(state, x, at)}, align 1")
    return one(kind, e.op(f"icmp ne i8 {value}, 0") if kind.kind == "b" else value)


def _place(state: State, x: Listing, at: str) -> str:
    e = state.e
    data = e.effect(f"load ptr, ptr {x.data}")
    return e.effect(f"getelementptr {memory(of_kind(state, x))}, ptr {data}, i64 {at}")


def type_of(state: State, x: Lists) -> Type:
    """The type of `np.array(x)`."""
    if isinstance(x, ArrayList):
        form = array_lists.form_of(state, x)
        return ArrayType(form.dtype, (None, *(int(n) if n.isdigit() else None for n in form.dims)))
    if isinstance(x, Nested):
        return ArrayType(nested_lists.form_of(state, x).kind.dtype, (None, None))
    if isinstance(x, (Listing, Shared)):
        return ArrayType(of_kind(state, x).dtype, (None,))
    if isinstance(x, Mixed):
        return type_of(state, x.payloads)
    dtypes = [of_kind(state, column).dtype for column in x.columns if isinstance(column, (Listing, Shared))]
    if len(dtypes) != len(x.columns):
        raise Unlowered("an array of a list of tuples of other things than numbers")
    return ArrayType(np.result_type(*dtypes), (None, len(dtypes)))


def as_array(state: State, x: Lists) -> Arr:
    """`np.array(x)`; that of an empty list has another dtype and is left to the plan."""
    if isinstance(x, ArrayList):
        return array_lists.as_array(state, x)
    if isinstance(x, Nested):
        return nested_lists.as_array(state, x)
    if isinstance(x, Table):
        return _rows(state, x)
    if isinstance(x, Mixed):
        return _of_two_kinds(state, x)
    e = state.e
    x = array_lists.cells(e, x) if isinstance(x, Shared) else x
    kind, source = of_kind(state, x), view(state, x)
    e.bail_if(e.effect(f"icmp eq i64 {source.dims[0]}, 0"))
    new = create(state, source.dims, kind.dtype, False)
    e.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    size = e.effect(f"mul i64 {source.dims[0]}, {kind.dtype.itemsize}")
    e.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {new.data}, ptr {source.data}, i64 {size}, i1 false)")
    e.version += 1
    return new


def _rows(state: State, x: Table) -> Arr:
    """An array whose rows are the tuples of numbers of a list."""
    e = state.e
    columns = [column for column in x.columns if isinstance(column, (Listing, Shared))]
    if len(columns) != len(x.columns):
        raise Unlowered("np.array of a list of tuples of other things than numbers")
    e.flush()
    n = length(e, x).text
    e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))
    dtype = np.result_type(*(of_kind(state, column).dtype for column in columns))
    new = create(state, [n, str(len(columns))], dtype, False)
    with trips(state, n) as k:
        row = e.effect(f"getelementptr i8, ptr {new.data}, i64 {e.effect(f'mul i64 {k}, {new.strides[0]}')}")
        for j, column in enumerate(columns):
            number = stored(e, number_at(state, column, k), new.element)
            store(e, new.element, e.effect(f"getelementptr i8, ptr {row}, i64 {j * dtype.itemsize}"), number)
    return new


def _of_two_kinds(state: State, x: Mixed) -> Arr:
    """An array of numbers of two kinds, of which there is one at least that all others fit into."""
    e = state.e
    dtypes = [kind.dtype for kind in x.members]
    wide = np.result_type(*dtypes)
    if isinstance(x.payloads, Nested):
        if dtypes[0] != dtypes[1]:
            raise Unlowered("np.array of lists of these two kinds of numbers")
        return nested_lists.as_array(state, x.payloads)
    if of_kind(state, x.payloads).dtype != wide:
        raise Unlowered("np.array of a list of these two kinds of numbers")
    if dtypes[0] != dtypes[1]:
        e.flush()
        cell = e.slot("i1")
        e.line(f"store i1 false, ptr {cell}")
        with trips(state, length(e, x).text) as k:
            assert not isinstance(x.tags, Nested)
            tag = number_at(state, x.tags, k).text
            found = tag if dtypes[0] == wide else e.negated(tag)
            before = e.effect(f"load i1, ptr {cell}")
            e.line(f"store i1 {e.effect(f'or i1 {before}, {found}')}, ptr {cell}")
        e.bail_if(e.negated(e.effect(f"load i1, ptr {cell}")))
    return as_array(state, x.payloads)
