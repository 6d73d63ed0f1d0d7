"""Lists of numbers of one kind that never leave native code: they grow, are read, and become arrays.

In: the list's numbers.  Out: `Listing`, and code.  What always holds: a list is one place in the code, made
anew (empty, with the memory it had) each time control gets there; numbers of a second kind are not lowered.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.execute.native.abi import HEAD
from runtime.execute.native.arrays import checked_index, create, memory, new_array, store
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import PYTHON_INT, Scalar, Unlowered
from runtime.execute.native.ownership import slot
from runtime.execute.native.ranges import SIZE
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr, Listing, Method, Num, Val, one

FIRST = 16  # numbers that there is room for at first


def made(state: State, items: Sequence[Val]) -> Listing:
    """A list display."""
    e = state.e
    cells = [e.slot(t) for t in ("i64", "i64", "ptr")]
    for cell, t in zip(cells, ("i64 0", "i64 0", "ptr null"), strict=True):
        e.prologue.append(f"store {t}, ptr {cell}")
    state.owned += 1
    found = Listing(cells[0], cells[1], cells[2], state.owned - 1)
    e.line(f"store i64 0, ptr {found.length}")
    for item in items:
        append(state, found, item)
    return found


def of_kind(x: Listing) -> Scalar:
    """The kind of its numbers."""
    if not x.kinds:
        raise Unlowered("a list of which nothing is known")
    return x.kinds[0]


def method(x: Listing, name: str) -> Method:
    """`x.name`."""
    if name not in ("append", "pop"):
        raise Unlowered(f"the attribute {name} of a list")
    return Method(x, name)


def called(state: State, m: Method, args: Sequence[Val]) -> Val | None:
    """A call of a method; None for Python's None."""
    if m.name == "append" and len(args) == 1:
        append(state, m.of, args[0])
        return None
    if m.name == "pop" and not args:
        return pop(state, m.of)
    raise Unlowered(f"{m.name} of a list with these arguments")


def append(state: State, x: Listing, value: Val) -> None:
    """Put a number at the end."""
    e = state.e
    if not isinstance(value, Num) or len(value.members) != 1 or value.scalar.kind == "c":
        raise Unlowered("a list of other things than real numbers")
    if not x.kinds:
        x.kinds.append(value.scalar)
    kind = of_kind(x)
    if kind != value.scalar:
        raise Unlowered("a list of numbers of two kinds")
    e.flush()
    n = e.effect(f"load i64, ptr {x.length}")
    room = e.effect(f"load i64, ptr {x.room}")
    grow, on = e.block("grow"), e.block("on")
    e.branch(e.effect(f"icmp eq i64 {n}, {room}"), grow, on)
    e.start(grow)
    with e.scope():
        _grow(state, x, kind, n)
        e.jump(on)
    e.start(on)
    data = e.effect(f"load ptr, ptr {x.data}")
    at = e.effect(f"getelementptr {memory(kind)}, ptr {data}, i64 {n}")
    store(e, kind, at, value)
    e.line(f"store i64 {e.effect(f'add nuw nsw i64 {n}, 1')}, ptr {x.length}")
    e.version += 1


def _grow(state: State, x: Listing, kind: Scalar, n: str) -> None:
    """Twice the room."""
    e = state.e
    e.declare("declare i64 @llvm.umax.i64(i64, i64)")
    e.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    more = e.effect(f"call i64 @llvm.umax.i64(i64 {e.effect(f'shl i64 {n}, 1')}, i64 {FIRST})")
    array = new_array(state, [more], kind.dtype, False)
    held = slot(e, x.place)
    e.bail_if(e.effect(f"icmp eq ptr {array}, null"))
    data = e.effect(f"load ptr, ptr {e.effect(f'getelementptr i8, ptr {array}, i64 {HEAD}')}")
    size = e.effect(f"mul i64 {n}, {kind.dtype.itemsize}")
    old, before = e.effect(f"load ptr, ptr {x.data}"), e.effect(f"load ptr, ptr {held}")
    e.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {data}, ptr {old}, i64 {size}, i1 false)")
    e.line(f"call void @Py_DecRef(ptr {before})")
    e.line(f"store ptr {array}, ptr {held}")
    e.line(f"store i64 {more}, ptr {x.room}")
    e.line(f"store ptr {data}, ptr {x.data}")


def length(e: Emitter, x: Listing) -> Num:
    """`len(x)`."""
    return one(PYTHON_INT, e.effect(f"load i64, ptr {x.length}"), span=(0, SIZE))


def view(state: State, x: Listing) -> Arr:
    """Its numbers as an array in place, until it changes."""
    e, kind = state.e, of_kind(x)
    n, data = length(e, x).text, e.effect(f"load ptr, ptr {x.data}")
    return Arr(kind.dtype, data, (n,), (str(kind.dtype.itemsize),))


def get_item(state: State, x: Listing, key: Val) -> Num:
    """`x[key]`."""
    if not isinstance(key, Num):
        raise Unlowered("a slice of a list")
    whole = view(state, x)
    return _number(state, x, checked_index(state.e, key, whole.dims[0]), whole.data)


def pop(state: State, x: Listing) -> Num:
    """`x.pop()`."""
    e = state.e
    n = length(e, x).text
    e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))
    last = e.effect(f"sub i64 {n}, 1")
    e.line(f"store i64 {last}, ptr {x.length}")
    return _number(state, x, last, e.effect(f"load ptr, ptr {x.data}"))


def _number(state: State, x: Listing, at: str, data: str) -> Num:
    e, kind = state.e, of_kind(x)
    place = e.effect(f"getelementptr {memory(kind)}, ptr {data}, i64 {at}")
    value = e.effect(f"load {memory(kind)}, ptr {place}, align 1")
    return one(kind, e.op(f"icmp ne i8 {value}, 0") if kind.kind == "b" else value)


def as_array(state: State, x: Listing) -> Arr:
    """`np.array(x)`; that of an empty list has another dtype and is left to the plan."""
    e, kind = state.e, of_kind(x)
    source = view(state, x)
    e.bail_if(e.effect(f"icmp eq i64 {source.dims[0]}, 0"))
    new = create(state, source.dims, kind.dtype, False)
    e.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    size = e.effect(f"mul i64 {source.dims[0]}, {kind.dtype.itemsize}")
    e.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {new.data}, ptr {source.data}, i64 {size}, i1 false)")
    e.version += 1
    return new
