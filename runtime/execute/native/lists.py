"""Lists of numbers of one kind that native code makes: they grow, are read and written, and become arrays or,
in the end, Python lists.

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
from runtime.execute.native.scalars import index
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr, Listing, Method, Num, Shown, Val, one
from runtime.ir.graph import Node

FIRST = 16  # numbers that there is room for at first
MOST = 1 << 40  # numbers that no list has


class WrongGuess(Exception):
    """A list holds another kind of numbers than was thought when it was read; `State.kinds` has it now."""


def shown(state: State, maker: Node, items: Sequence[Val]) -> Listing | Shown:
    """A list display."""
    ints = [x for x in items if isinstance(x, Num) and len(x.members) == 1 and x.scalar.kind in "iu"]
    if len(ints) == len(items) and len({x.scalar for x in ints}) > 1:
        return Shown(tuple(ints))
    return made(state, maker, items)


def made(state: State, maker: Node, items: Sequence[Val]) -> Listing:
    """A list with these numbers in it."""
    e = state.e
    cells = [e.slot(t) for t in ("i64", "i64", "ptr")]
    for cell, t in zip(cells, ("i64 0", "i64 0", "ptr null"), strict=True):
        e.prologue.append(f"store {t}, ptr {cell}")
    state.owned += 1
    found = Listing(cells[0], cells[1], cells[2], state.owned - 1, maker)
    e.line(f"store i64 0, ptr {found.length}")
    for item in items:
        append(state, found, item)
    return found


def of_kind(state: State, x: Listing) -> Scalar:
    """The kind of its numbers; a guess as long as none was put in."""
    if x.kind is None:
        x.kind, x.guessed = state.kinds.get(x.maker, PYTHON_INT), True
    return x.kind


def put_kind(state: State, x: Listing, value: Val) -> Num:
    """The value as one that the list can hold."""
    if not isinstance(value, Num) or len(value.members) != 1 or value.scalar.kind == "c":
        raise Unlowered("a list of other things than real numbers")
    if x.kind is None:
        x.kind = value.scalar
    if x.kind != value.scalar:
        if not x.guessed or x.maker in state.kinds:
            raise Unlowered("a list of numbers of two kinds")
        state.kinds[x.maker] = value.scalar
        raise WrongGuess
    return value


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
    number = put_kind(state, x, value)
    e.flush()
    n = e.effect(f"load i64, ptr {x.length}")
    more = e.effect(f"add nuw nsw i64 {n}, 1")
    _with_room(state, x, n, more)
    store(e, number.scalar, _place(state, x, n), number)
    e.line(f"store i64 {more}, ptr {x.length}")


def _with_room(state: State, x: Listing, held: str, needed: str) -> None:
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


def repeated(state: State, maker: Node, x: Listing, times: Num) -> Listing:
    """`x * times`: each number is that which stands as many places before as there are numbers in `x`."""
    e, new = state.e, made(state, maker, ())
    new.kind, new.guessed = of_kind(state, x), x.guessed
    e.flush()
    e.declare("declare i64 @llvm.smax.i64(i64, i64)")
    count, n = length(e, x).text, index(e, times)
    n = e.effect(f"call i64 @llvm.smax.i64(i64 {n}, i64 0)")
    e.bail_if(e.effect(f"icmp uge i64 {n}, {MOST}"))
    e.bail_if(e.effect(f"icmp uge i64 {count}, {1 << 20}"))
    total = e.effect(f"mul i64 {n}, {count}")
    _with_room(state, new, "0", total)
    e.line(f"store i64 {total}, ptr {new.length}")
    before, head, body, out = e.here, e.block("fill"), e.block("copy"), e.block("filled")
    source, target = (e.effect(f"load ptr, ptr {y.data}") for y in (x, new))
    e.jump(head)
    e.start(head)
    k = e.phi(head, "i64")
    k.ways.append(("0", before.label))
    e.branch(e.effect(f"icmp ult i64 {k.name}, {total}"), body, out)
    e.start(body)
    t = memory(of_kind(state, x))
    first = e.effect(f"icmp ult i64 {k.name}, {count}")
    at = e.effect(f"getelementptr {t}, ptr {target}, i64 {e.effect(f'sub i64 {k.name}, {count}')}")
    begin = e.effect(f"getelementptr {t}, ptr {source}, i64 {k.name}")
    value = e.effect(f"load {t}, ptr {e.effect(f'select i1 {first}, ptr {begin}, ptr {at}')}, align 1")
    e.line(f"store {t} {value}, ptr {e.effect(f'getelementptr {t}, ptr {target}, i64 {k.name}')}, align 1")
    k.ways.append((e.effect(f"add nuw nsw i64 {k.name}, 1"), e.here.label))
    e.jump(head)
    e.start(out)
    e.version += 1
    return new


def length(e: Emitter, x: Listing) -> Num:
    """`len(x)`."""
    return one(PYTHON_INT, e.effect(f"load i64, ptr {x.length}"), span=(0, SIZE))


def view(state: State, x: Listing) -> Arr:
    """Its numbers as an array in place, until it changes."""
    e, kind = state.e, of_kind(state, x)
    n, data = length(e, x).text, e.effect(f"load ptr, ptr {x.data}")
    return Arr(kind.dtype, data, (n,), (str(kind.dtype.itemsize),))


def get_item(state: State, x: Listing, key: Val) -> Num:
    """`x[key]`."""
    return item(state, x, _checked(state, x, key))


def set_item(state: State, x: Listing, key: Val, value: Val) -> None:
    """`x[key] = value`."""
    at, number = _checked(state, x, key), put_kind(state, x, value)
    store(state.e, number.scalar, _place(state, x, at), number)


def _checked(state: State, x: Listing, key: Val) -> str:
    """An index that is in range."""
    if not isinstance(key, Num):
        raise Unlowered("a slice of a list")
    return checked_index(state.e, key, length(state.e, x).text)


def pop(state: State, x: Listing) -> Num:
    """`x.pop()`."""
    e = state.e
    n = length(e, x).text
    e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))
    last = e.effect(f"sub i64 {n}, 1")
    e.line(f"store i64 {last}, ptr {x.length}")
    return item(state, x, last)


def item(state: State, x: Listing, at: str) -> Num:
    """The number in a place that is in range."""
    e, kind = state.e, of_kind(state, x)
    value = e.effect(f"load {memory(kind)}, ptr {_place(state, x, at)}, align 1")
    return one(kind, e.op(f"icmp ne i8 {value}, 0") if kind.kind == "b" else value)


def _place(state: State, x: Listing, at: str) -> str:
    e = state.e
    data = e.effect(f"load ptr, ptr {x.data}")
    return e.effect(f"getelementptr {memory(of_kind(state, x))}, ptr {data}, i64 {at}")


def as_array(state: State, x: Listing) -> Arr:
    """`np.array(x)`; that of an empty list has another dtype and is left to the plan."""
    e, kind = state.e, of_kind(state, x)
    source = view(state, x)
    e.bail_if(e.effect(f"icmp eq i64 {source.dims[0]}, 0"))
    new = create(state, source.dims, kind.dtype, False)
    e.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    size = e.effect(f"mul i64 {source.dims[0]}, {kind.dtype.itemsize}")
    e.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {new.data}, ptr {source.data}, i64 {size}, i1 false)")
    e.version += 1
    return new
