"""Where the keys of a dict or set are found: a table of places, open addressing.

In: keys as numbers, and the lists that hold the keys so far.  Out: code that finds a key, puts one in, or
takes one out.  What always holds: the table has at least twice as many cells as the lists have keys, and a
power of two; a cell holds the place of its key in the lists and 1, or 0, or -1 where the key was taken out,
which then is in the lists until there are new cells; keys are equal where Python says so.

A cell is chosen by the upper bits of a product (Knuth, The Art of Computer Programming 3, 6.4), so that keys
in steps of a power of two, which its lower bits would put into one cell, lie apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.execute.native import lists
from runtime.execute.native.array_lists import trips
from runtime.execute.native.arrays import memory
from runtime.execute.native.emit import FALSE, TRUE, Emitter
from runtime.execute.native.kinds import PYTHON_BOOL, Unlowered
from runtime.execute.native.shares import Serial
from runtime.execute.native.state import State
from runtime.execute.native.values import Keyed, Listing, Num, extended, one

FIRST = 16  # cells of the smallest table
GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)  # 2**64 over the golden ratio, to the next odd number
Part = tuple[Listing, Num]  # one of the numbers that a key is, and the list that holds those of all keys


def emptied(state: State, x: Keyed) -> None:
    """Have no keys and no cells; the next key makes some, in the memory that is there."""
    e = state.e
    if x.alive is not None:
        before, n = (e.effect(f"load i64, ptr {cell}") for cell in (x.removed, x.count))
        e.line(f"store i64 {e.effect(f'add i64 {before}, {n}')}, ptr {x.removed}")
        e.line(f"store i64 0, ptr {x.count}")
    for column in x.columns:
        lists.clear(state, column)
    e.line(f"store i64 0, ptr {x.index.length}")
    e.version += 1


def find(state: State, x: Keyed, parts: Sequence[Part]) -> str:
    """The place of a key, or -1."""
    e = state.e
    if e.part is not None:
        raise Serial
    if e.gang is not None:
        raise Unlowered("a dict for several elements at once")
    e.flush()
    known = f"found {x.index.length} {[number.text for _, number in parts]} at {e.version}"
    found = e.memo.get(known)
    if found is None:
        found = e.memo[known] = _find(state, x, parts)
    return found


def _find(state: State, x: Keyed, parts: Sequence[Part]) -> str:
    e = state.e
    bits = [_bits(e, number) for _, number in parts]
    hashed, size = _hash(e, bits), e.effect(f"load i64, ptr {x.index.length}")
    probe, head, look, other, out = (e.block(name) for name in ("probe", "cell", "look", "next", "found"))
    place, at = e.phi(out, "i64"), e.phi(head, "i64")
    place.ways.append(("-1", e.here.label))
    e.branch(e.effect(f"icmp eq i64 {size}, 0"), out, probe)
    with e.scope():
        e.start(probe)
        last, cells = e.effect(f"sub i64 {size}, 1"), e.effect(f"load ptr, ptr {x.index.data}")
        at.ways.append((_first(e, hashed, size), probe.label))
        e.jump(head)
        e.start(head)
        cell = e.effect(f"load i64, ptr {_cell(e, cells, at.name)}")
        place.ways.append(("-1", head.label))
        e.branch(e.effect(f"icmp eq i64 {cell}, 0"), out, look)
        e.start(look)
        if x.alive is not None:
            look = e.block("taken")
            e.branch(e.effect(f"icmp slt i64 {cell}, 0"), other, look)
            e.start(look)
        found = e.effect(f"sub nuw nsw i64 {cell}, 1")
        place.ways.append((found, look.label))
        e.branch(_same(e, parts, bits, found), out, other)
        e.start(other)
        at.ways.append((_following(e, at.name, last), other.label))
        e.jump(head)
    e.start(out)
    return place.name


def take_out(state: State, x: Keyed, parts: Sequence[Part], place: str) -> None:
    """Forget a key that is in a place."""
    e, alive = state.e, x.alive
    assert alive is not None
    hashed = _hash(e, [_bits(e, number) for _, number in parts])
    size, cells = e.effect(f"load i64, ptr {x.index.length}"), e.effect(f"load ptr, ptr {x.index.data}")
    _write(e, cells, size, hashed, e.effect(f"add nuw nsw i64 {place}, 1"), "-1")
    lists.put(state, alive, place, one(PYTHON_BOOL, FALSE, False))
    for cell, by in ((x.count, -1), (x.removed, 1)):
        _count(e, cell, by)
    e.version += 1


def _count(e: Emitter, cell: str, by: int) -> None:
    before = e.effect(f"load i64, ptr {cell}")
    e.line(f"store i64 {e.effect(f'add i64 {before}, {by}')}, ptr {cell}")


def put_in(state: State, x: Keyed, parts: Sequence[Part]) -> None:
    """Have a cell for a new key, whose place is going to be the next one in the lists."""
    e = state.e
    hashed = _hash(e, [_bits(e, number) for _, number in parts])
    wanted = e.effect(f"shl i64 {e.effect(f'add nuw nsw i64 {lists.length(e, x.keys).text}, 1')}, 1")
    size = e.effect(f"load i64, ptr {x.index.length}")
    e.flush()
    with e.seldom(e.effect(f"icmp ugt i64 {wanted}, {size}")):
        _again(state, x, [column for column, _ in parts], size)
    n = lists.length(e, x.keys).text
    size, cells = e.effect(f"load i64, ptr {x.index.length}"), e.effect(f"load ptr, ptr {x.index.data}")
    _write(e, cells, size, hashed, "0", e.effect(f"add nuw nsw i64 {n}, 1"))
    if x.alive is not None:
        lists.append(state, x.alive, one(PYTHON_BOOL, TRUE, True))
        _count(e, x.count, 1)
    e.version += 1


def _write(e: Emitter, cells: str, size: str, hashed: str, old: str, new: str) -> None:
    """Write something into the first cell in which something else is."""
    before, head, other, out = e.here, e.block("cell"), e.block("next"), e.block("free")
    last, at = e.effect(f"sub i64 {size}, 1"), e.phi(head, "i64")
    at.ways.append((_first(e, hashed, size), before.label))
    e.jump(head)
    e.start(head)
    cell = _cell(e, cells, at.name)
    e.branch(e.effect(f"icmp eq i64 {e.effect(f'load i64, ptr {cell}')}, {old}"), out, other)
    e.start(other)
    at.ways.append((_following(e, at.name, last), other.label))
    e.jump(head)
    e.start(out)
    e.line(f"store i64 {new}, ptr {cell}")


def settled(state: State, x: Keyed, columns: Sequence[Listing]) -> None:
    """Have only keys in the lists that are there."""
    e = state.e
    if x.alive is None:
        return
    e.flush()  # before the ways part: on one of them others would forget what waits
    gone = e.effect(f"icmp ne i64 {lists.length(e, x.keys).text}, {e.effect(f'load i64, ptr {x.count}')}")
    with e.seldom(gone):
        _again(state, x, columns, e.effect(f"load i64, ptr {x.index.length}"))
    e.version += 1


def _again(state: State, x: Keyed, columns: Sequence[Listing], size: str) -> None:
    """New cells for all keys that there are: twice as many, unless a quarter of them are enough."""
    e = state.e
    e.declare("declare i64 @llvm.umax.i64(i64, i64)")
    e.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    if x.alive is not None:
        _moved_up(state, x, x.alive)
    n = lists.length(e, x.keys).text
    crowded = e.effect(f"icmp uge i64 {e.effect(f'shl i64 {n}, 2')}, {size}")
    more = e.select(crowded, "i64", e.effect(f"shl i64 {size}, 1"), size)
    more = e.effect(f"call i64 @llvm.umax.i64(i64 {more}, i64 {FIRST})")
    lists.with_room(state, x.index, "0", more)
    e.line(f"store i64 {more}, ptr {x.index.length}")
    cells = e.effect(f"load ptr, ptr {x.index.data}")
    count = e.effect(f"shl i64 {more}, 3")
    e.line(f"call void @llvm.memset.p0.i64(ptr {cells}, i8 0, i64 {count}, i1 false)")
    with trips(state, n) as k:
        held = [_bits(e, lists.number_at(state, column, k)) for column in columns]
        _write(e, cells, more, _hash(e, held), "0", e.effect(f"add nuw nsw i64 {k}, 1"))


def _moved_up(state: State, x: Keyed, alive: Listing) -> None:
    """Let those that are there move to the front of the lists, and cut off the rest."""
    e, to = state.e, state.e.slot("i64")
    e.line(f"store i64 0, ptr {to}")
    with trips(state, lists.length(e, x.keys).text) as k:
        there, on = e.block("there"), e.block("on")
        e.branch(lists.number_at(state, alive, k).text, there, on)
        e.start(there)
        with e.scope():
            place = e.effect(f"load i64, ptr {to}")
            for column in x.columns:
                lists.put(state, column, place, lists.item(state, column, k))
            e.flush()
            e.line(f"store i64 {e.effect(f'add i64 {place}, 1')}, ptr {to}")
            e.jump(on)
        e.start(on)
    for column in x.columns:
        lists.cut(state, column, e.effect(f"load i64, ptr {to}"))


# ------------------------------------------------------------------------------------------------ keys
def _bits(e: Emitter, x: Num) -> str:
    """A number in 64 bits, equal ones alike; NaN is equal to none, but found where it is the same object, so
    it is left to the plan."""
    if x.scalar.kind != "f":
        return extended(e, x)
    e.bail_if(e.op(f"fcmp uno double {x.text}, {x.text}"))
    zero = e.op(f"fcmp oeq double {x.text}, 0.0")  # of either sign
    return e.select(zero, "i64", "0", e.op(f"bitcast double {x.text} to i64"))


def _hash(e: Emitter, bits: Sequence[str]) -> str:
    """A number whose upper bits depend on all bits of the key."""
    made = e.op(f"mul i64 {bits[0]}, {GOLDEN}")
    for more in bits[1:]:
        turned = e.op(f"xor i64 {e.op(f'lshr i64 {made}, 29')}, {made}")
        made = e.op(f"mul i64 {e.op(f'add i64 {turned}, {more}')}, {GOLDEN}")
    return made


def _first(e: Emitter, hashed: str, size: str) -> str:
    """The cell to look in first: of a table of 2**k the k upper bits."""
    e.declare("declare i64 @llvm.ctlz.i64(i64, i1)")
    zeros = e.effect(f"call i64 @llvm.ctlz.i64(i64 {size}, i1 true)")
    return e.effect(f"lshr i64 {hashed}, {e.effect(f'add nuw nsw i64 {zeros}, 1')}")


def _following(e: Emitter, at: str, last: str) -> str:
    return e.effect(f"and i64 {e.effect(f'add i64 {at}, 1')}, {last}")


def _cell(e: Emitter, cells: str, at: str) -> str:
    return e.effect(f"getelementptr i64, ptr {cells}, i64 {at}")


def _same(e: Emitter, parts: Sequence[Part], bits: Sequence[str], place: str) -> str:
    """Whether the key in a place is this one."""
    same = TRUE
    for (column, number), wanted in zip(parts, bits, strict=True):
        kind = column.kind
        assert kind is not None
        data = e.effect(f"load ptr, ptr {column.data}")
        at = e.effect(f"getelementptr {memory(kind)}, ptr {data}, i64 {place}")
        held = e.effect(f"load {memory(kind)}, ptr {at}, align 1")
        if kind.kind == "f":
            equal = e.effect(f"fcmp oeq double {held}, {number.text}")
        else:
            whole = held
            if kind.bits < 64:
                how = "sext" if kind.kind == "i" else "zext"
                whole = e.effect(f"{how} {memory(kind)} {held} to i64")
            equal = e.effect(f"icmp eq i64 {whole}, {wanted}")
        same = e.both(same, equal)
    return same
