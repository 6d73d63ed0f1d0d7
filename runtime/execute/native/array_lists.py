"""Lists of arrays that native code makes: real Python lists that hold real arrays.

In: arrays of one dtype and number of axes.  Out: `ArrayList`, and code.  What always holds: the list holds
its items, and the place that reads one holds it as well, so what is one array in Python is one here; the
memory of an array that was put into a list is never taken for another one while anybody has it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Sequence

from runtime.execute.native.abi import BYTES_AT, DATA_AT, HEAD, SIZES_AT, STRIDES_AT
from runtime.execute.native.arrays import copy_into, create, dense, times
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Scalar, Unlowered
from runtime.execute.native.ownership import slot
from runtime.execute.native.shares import Serial
from runtime.execute.native.state import Held, State, WrongGuess
from runtime.execute.native.values import UNKNOWN, Arr, ArrayList, Listing, Nested, Shared, Val

COUNT_AT, ITEMS_AT = HEAD, HEAD + 8  # in a Python list


def made(state: State, maker: Hashable, items: Sequence[Val]) -> ArrayList:
    """A new list with these items."""
    found = ArrayList(new_list(state), frozenset((maker,)), state.depth, state.owned)
    for x in items:
        append(state, found, x)
    return found


def new_list(state: State) -> str:
    """A new Python list."""
    e = state.e
    if e.part is not None:
        raise Serial
    e.flush()
    place = _slot(state)
    new = e.effect("call ptr @PyList_New(i64 0)")
    _keep(state, place, new)
    e.bail_if(e.effect(f"icmp eq ptr {new}, null"))
    return new


def _slot(state: State) -> str:
    """A place for a reference."""
    state.owned += 1
    return slot(state.e, state.owned - 1)


def _keep(state: State, place: str, new: str) -> None:
    """Hand a reference over to a place, which gives up the one that it had."""
    e = state.e
    old = e.effect(f"load ptr, ptr {place}") if state.depth else None
    e.line(f"store ptr {new}, ptr {place}")
    if old is not None:
        e.line(f"call void @Py_DecRef(ptr {old})")


def shared(state: State, maker: Hashable, kind: Scalar, guessed: bool = False) -> Shared:
    """A new list of numbers that can be handed on: the one that the last trip made, if nobody has it."""
    e = state.e
    if e.part is not None:
        raise Serial
    e.flush()
    place = _slot(state)
    new, out = e.block("new"), e.block("made")
    phi = e.phi(out, "ptr")
    if state.depth:
        old, some, again = e.effect(f"load ptr, ptr {place}"), e.block("some"), e.block("again")
        e.branch(e.effect(f"icmp ne ptr {old}, null"), some, new)
        e.start(some)
        e.branch(e.effect(f"icmp eq i32 {e.effect(f'load i32, ptr {old}')}, 1"), again, new)
        e.start(again)
        phi.ways.append((old, e.here.label))
        e.jump(out)
    else:
        e.jump(new)
    e.start(new)
    with e.scope():
        made = e.effect("call ptr @PyList_New(i64 2)")
        _keep(state, place, made)
        e.bail_if(e.effect(f"icmp eq ptr {made}, null"))
        array = memory_for(e, "32")
        e.effect(f"call i32 @PyList_SetItem(ptr {made}, i64 0, ptr {array})")
        e.line("call void @Py_IncRef(ptr @autograph_True)")
        e.effect(f"call i32 @PyList_SetItem(ptr {made}, i64 1, ptr @autograph_True)")
        e.bail_if(e.effect(f"icmp eq ptr {array}, null"))
        for k in range(4):
            cell = e.effect(f"getelementptr i8, ptr {array}, i64 {BYTES_AT + 8 * k}")
            e.line(f"store i64 0, ptr {cell}")
        phi.ways.append((made, e.here.label))
        e.jump(out)
    e.start(out)
    found = Shared(phi.name, kind, frozenset((maker,)), state.depth, state.owned, guessed)
    e.line(f"store i64 0, ptr {cells(e, found).length}")
    return found


def memory_for(e: Emitter, size: str) -> str:
    """A `bytes` object that nobody else will see, as memory; null where there is none."""
    e.declare("declare ptr @PyBytes_FromStringAndSize(ptr, i64)")
    return e.effect(f"call ptr @PyBytes_FromStringAndSize(ptr null, i64 {size})")


def cells(e: Emitter, x: Shared) -> Listing:
    """A list of numbers that is handed on, as it can be worked on until something else happens.

    After its cells is one for the list that is made of it in the end.
    """
    items = _field(e, x.handle, ITEMS_AT, "ptr")
    array = e.effect(f"load ptr, ptr {items}")
    first = e.effect(f"getelementptr i8, ptr {array}, i64 {BYTES_AT}")
    room, data = (e.effect(f"getelementptr i8, ptr {first}, i64 {k}") for k in (8, 16))
    return Listing(first, room, data, e.effect(f"getelementptr ptr, ptr {items}, i64 1"), None, x.kind)


# ---------------------------------------------------------------------------------------------- forms
def learn(state: State, keys: frozenset[Hashable], x: Arr) -> None:
    """A list that these places make has such an array in it."""
    form = _form(state, x)
    for key in keys:
        known = state.forms.get(key)
        if known is not None and not isinstance(known, Held):
            raise Unlowered("a list of arrays and other things")
        joined = form if known is None else _joined(known, form)
        if joined != known:
            state.forms[key] = joined
            if key in state.asked:
                raise WrongGuess


def _form(state: State, x: Arr) -> Held:
    e = state.e
    order = x.strides == dense(e, x.dims, x.dtype.itemsize)
    dims = tuple(n if n.isdigit() or n.startswith("%p") else "" for n in x.dims)
    return Held(x.dtype, dims, order, x.roots)


def _joined(a: Held, b: Held) -> Held:
    if a.dtype.num != b.dtype.num or len(a.dims) != len(b.dims):
        raise Unlowered("a list of arrays of different dtypes or ranks")
    dims = tuple(n if n == m else "" for n, m in zip(a.dims, b.dims, strict=True))
    return Held(a.dtype, dims, a.in_order and b.in_order, a.roots | b.roots)


def form_of(state: State, x: ArrayList) -> Held:
    """What its items have in common."""
    found: Held | None = None
    for key in x.makers:
        form = state.forms.get(key)
        state.asked.add(key)
        if isinstance(form, Held):
            found = form if found is None else _joined(found, form)
    if found is None:
        raise Unlowered("a list that nothing is put into")
    return found


# ---------------------------------------------------------------------------------------------- items
def _held(state: State, x: ArrayList, value: Val) -> Arr:
    """The array, which is going to be in the list."""
    if state.e.part is not None:
        raise Serial
    if not isinstance(value, Arr):
        raise Unlowered("a list of arrays and other things")
    if value.handle is None or not value.dims:
        raise Unlowered("a list of views")
    learn(state, x.makers, value)
    if value.site not in (None, UNKNOWN):
        state.held.add(value.site)
    state.e.flush()
    return value


def append(state: State, x: ArrayList, value: Val) -> None:
    """Put an array at the end."""
    array = _held(state, x, value)
    assert array.handle is not None
    put(state, x, array.handle)


def set_item(state: State, x: ArrayList, at: str, value: Val) -> None:
    """Put an array in the place of another one."""
    array = _held(state, x, value)
    assert array.handle is not None
    put(state, x, array.handle, at)


def put(state: State, x: ArrayList | Nested, handle: str, at: str | None = None) -> None:
    """Put an object at the end, or in the place of another one."""
    e = state.e
    if at is None:
        e.declare("declare i32 @PyList_Append(ptr, ptr)")
        failed = e.effect(f"call i32 @PyList_Append(ptr {x.handle}, ptr {handle})")
        e.bail_if(e.effect(f"icmp ne i32 {failed}, 0"))
    else:
        e.line(f"call void @Py_IncRef(ptr {handle})")
        e.effect(f"call i32 @PyList_SetItem(ptr {x.handle}, i64 {at}, ptr {handle})")


def taken(state: State, x: Nested, at: str) -> str:
    """The object in a place that is in range; it is held here, too."""
    e = state.e
    if e.part is not None:
        raise Serial
    e.flush()
    place = _slot(state)
    found = _object(e, x, at)
    e.line(f"call void @Py_IncRef(ptr {found})")
    _keep(state, place, found)
    return found


def length(e: Emitter, x: ArrayList | Nested) -> str:
    """How many items it has."""
    return _field(e, x.handle, COUNT_AT, "i64")


def item(state: State, x: ArrayList, at: str) -> Arr:
    """The item in a place that is in range."""
    e = state.e
    if e.part is not None:
        raise Serial
    e.flush()
    place = _slot(state)
    found = _array(state, _object(e, x, at), form_of(state, x))
    e.line(f"call void @Py_IncRef(ptr {found.handle})")
    assert found.handle is not None
    _keep(state, place, found.handle)
    return found


def cut(e: Emitter, x: ArrayList | Nested, start: str, stop: str) -> None:
    """Take items out."""
    e.declare("declare i32 @PyList_SetSlice(ptr, i64, i64, ptr)")
    failed = e.effect(f"call i32 @PyList_SetSlice(ptr {x.handle}, i64 {start}, i64 {stop}, ptr null)")
    e.bail_if(e.effect(f"icmp ne i32 {failed}, 0"))


def _object(e: Emitter, x: ArrayList | Nested, at: str) -> str:
    items = _field(e, x.handle, ITEMS_AT, "ptr")
    return e.effect(f"load ptr, ptr {e.effect(f'getelementptr ptr, ptr {items}, i64 {at}')}")


def _field(e: Emitter, base: str, offset: int, llvm: str) -> str:
    return e.effect(f"load {llvm}, ptr {e.effect(f'getelementptr i8, ptr {base}, i64 {offset}')}")


def _array(state: State, obj: str, form: Held) -> Arr:
    """An array object of this form."""
    e = state.e

    def each(offset: int, known: Sequence[str]) -> list[str]:
        cells = _field(e, obj, offset, "ptr") if "" in known else ""
        return [
            n or e.effect(f"load i64, ptr {e.effect(f'getelementptr i64, ptr {cells}, i64 {axis}')}")
            for axis, n in enumerate(known)
        ]

    dims = each(SIZES_AT, form.dims)
    strides = dense(e, dims, form.dtype.itemsize) if form.in_order else each(STRIDES_AT, [""] * len(dims))
    return Arr(
        form.dtype, _field(e, obj, DATA_AT, "ptr"), tuple(dims), tuple(strides), obj, form.roots,
        state.depth, UNKNOWN, state.owned, turned=not form.in_order and len(dims) > 1,
    )  # fmt: skip


# --------------------------------------------------------------------------------------------- arrays
@contextlib.contextmanager
def trips(state: State, n: str) -> Iterator[str]:
    """A loop that counts from 0 up to n: the number of the trip."""
    e = state.e
    e.flush()  # checks that the first trip acts on would be forgotten where there is none
    state.depth += 1
    head, body, out, before = e.block("each"), e.block("item"), e.block("over"), e.here
    e.jump(head)
    e.start(head)
    k = e.phi(head, "i64")
    k.ways.append(("0", before.label))
    e.branch(e.effect(f"icmp ult i64 {k.name}, {n}"), body, out)
    e.start(body)
    with e.scope():
        yield k.name
        k.ways.append((e.effect(f"add nuw nsw i64 {k.name}, 1"), e.here.label))
        e.jump(head)
    e.start(out)
    e.version += 1
    state.depth -= 1


def as_array(state: State, x: ArrayList) -> Arr:
    """`np.array(x)`; that of an empty list, or of arrays of different sizes, is left to the plan."""
    e, form = state.e, form_of(state, x)
    e.flush()
    n = length(e, x)
    e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))
    first = _array(state, _object(e, x, "0"), form)
    new = create(state, [n, *first.dims], form.dtype, False)
    with trips(state, n) as k:
        given = _array(state, _object(e, x, k), form)
        for wanted, found in zip(first.dims, given.dims, strict=True):
            if wanted != found:
                e.bail_if(e.effect(f"icmp ne i64 {wanted}, {found}"))
        at = e.effect(f"getelementptr i8, ptr {new.data}, i64 {times(e, k, new.strides[0])}")
        to = Arr(form.dtype, at, given.dims, new.strides[1:])
        copy_all(e, to, given, form.in_order)
    return new


def joined_rows(state: State, x: ArrayList) -> Arr:
    """`np.concatenate(x)`; the same of an empty list, or of arrays that do not fit, is left to the plan."""
    e, form = state.e, form_of(state, x)
    if not form.in_order:
        raise Unlowered("np.concatenate of a list of arrays that may not be in C order")
    e.flush()
    n = length(e, x)
    e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))
    first = _array(state, _object(e, x, "0"), form)
    cell = e.slot("i64")
    e.line(f"store i64 0, ptr {cell}")
    with trips(state, n) as k:
        given = _array(state, _object(e, x, k), form)
        for wanted, found in zip(first.dims[1:], given.dims[1:], strict=True):
            if wanted != found:
                e.bail_if(e.effect(f"icmp ne i64 {wanted}, {found}"))
        before = e.effect(f"load i64, ptr {cell}")
        e.line(f"store i64 {e.effect(f'add i64 {before}, {given.dims[0]}')}, ptr {cell}")
    total = e.effect(f"load i64, ptr {cell}")
    new = create(state, [total, *first.dims[1:]], form.dtype, False)
    e.line(f"store i64 0, ptr {cell}")
    with trips(state, n) as k:
        given = _array(state, _object(e, x, k), form)
        at = e.effect(f"load i64, ptr {cell}")
        place = e.effect(f"getelementptr i8, ptr {new.data}, i64 {times(e, at, new.strides[0])}")
        copy_all(e, Arr(form.dtype, place, given.dims, new.strides), given, True)
        e.line(f"store i64 {e.effect(f'add i64 {at}, {given.dims[0]}')}, ptr {cell}")
    return new


def copy_all(e: Emitter, to: Arr, source: Arr, whole: bool) -> None:
    """All elements of an array; whole: both lie in C order."""
    if not whole:
        copy_into(e, to, source)
        return
    size = str(to.dtype.itemsize)
    for n in to.dims:
        size = times(e, size, n)
    e.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    e.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to.data}, ptr {source.data}, i64 {size}, i1 false)")
