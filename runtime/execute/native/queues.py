"""Deques that native code makes: a list of which the first items may have been taken away.

In: what can be in a list (see `lists`).  Out: `Queue`, and code.  What always holds: what was taken away at
the front is cut off before it is more than half of the list; a deque that changes while a loop goes over it
is left to the plan, which raises.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from runtime.execute.native import lists
from runtime.execute.native.array_lists import trips
from runtime.execute.native.arrays import checked_index
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import PYTHON_INT, Unlowered
from runtime.execute.native.ranges import SIZE
from runtime.execute.native.shares import Serial
from runtime.execute.native.state import State
from runtime.execute.native.values import LISTS, Lists, Method, Num, Queue, Static, Val, one

METHODS = ("append", "appendleft", "popleft", "pop", "extend", "clear")
FEW = 32  # items taken away that stay where they are
GAP = 8  # places made at the front, at least


def made(state: State, maker: Hashable, args: Sequence[Val], keywords: Mapping[str, Val]) -> Queue:
    """`deque(items, maxlen)`."""
    given = dict(zip(("items", "maxlen"), args, strict=False)) | dict(keywords)
    if len(args) > 2 or not given.keys() <= {"items", "maxlen"} or len(given) != len(args) + len(keywords):
        raise Unlowered("a deque of these arguments")
    if state.e.part is not None:
        raise Serial
    most = given.get("maxlen", Static(None))
    limit = most.const if isinstance(most, Num) else None
    if type(limit) is not int and not (isinstance(most, Static) and most.value is None):
        raise Unlowered("a deque whose longest length is not known")
    if type(limit) is int and not 0 <= limit <= SIZE:
        raise Unlowered("a deque whose longest length is no length")  # Python raises
    items = lists.made(state, (maker, "items"), ())
    head, changes = (state.e.slot("i64") for _ in range(2))
    for cell in (head, changes):
        state.e.line(f"store i64 0, ptr {cell}")
    found = Queue(maker, items, head, changes, limit)
    if "items" in given:
        extend(state, found, given["items"])
    return found


def _load(e: Emitter, cell: str) -> str:
    return e.effect(f"load i64, ptr {cell}")


def _changed(state: State, x: Queue) -> None:
    """Let loops over it know."""
    e = state.e
    e.line(f"store i64 {e.effect(f'add i64 {_load(e, x.changes)}, 1')}, ptr {x.changes}")
    e.version += 1


def length(e: Emitter, x: Queue) -> Num:
    """`len(x)`."""
    n = e.effect(f"sub i64 {lists.length(e, x.items).text}, {_load(e, x.head)}")
    return one(PYTHON_INT, n, span=(0, SIZE))


def append(state: State, x: Queue, item: Val) -> None:
    """`x.append(item)`: one that is as long as it may be loses its first item."""
    e = state.e
    lists.append(state, x.items, item)
    if x.most is not None:
        with e.seldom(e.effect(f"icmp ugt i64 {length(e, x).text}, {x.most}")):
            _skip(state, x)
    _changed(state, x)


def append_left(state: State, x: Queue, item: Val) -> None:
    """`x.appendleft(item)`."""
    e = state.e
    if x.most is not None:
        raise Unlowered("appendleft of a deque of limited length")
    with e.seldom(e.effect(f"icmp eq i64 {_load(e, x.head)}, 0")):
        _make_room(state, x, item)
    place = e.effect(f"sub i64 {_load(e, x.head)}, 1")
    lists.put(state, x.items, place, item)
    e.flush()
    e.line(f"store i64 {place}, ptr {x.head}")
    _changed(state, x)


def _make_room(state: State, x: Queue, item: Val) -> None:
    """Move all items by as many places as there are of them."""
    e, items = state.e, x.items
    n = lists.length(e, items).text
    e.declare("declare i64 @llvm.umax.i64(i64, i64)")
    gap = e.effect(f"call i64 @llvm.umax.i64(i64 {n}, i64 {GAP})")
    with trips(state, gap):
        lists.append(state, items, item)
    with trips(state, n) as k:
        at = e.effect(f"sub i64 {e.effect(f'sub i64 {n}, 1')}, {k}")
        lists.put(state, items, e.effect(f"add i64 {at}, {gap}"), lists.item(state, items, at))
    e.line(f"store i64 {gap}, ptr {x.head}")


def pop_left(state: State, x: Queue) -> Val:
    """`x.popleft()`."""
    e = state.e
    e.bail_if(e.effect(f"icmp eq i64 {length(e, x).text}, 0"))
    found = lists.item(state, x.items, _load(e, x.head))
    _skip(state, x)
    _changed(state, x)
    return found


def _skip(state: State, x: Queue) -> None:
    """Take the first item away."""
    e = state.e
    head = e.effect(f"add i64 {_load(e, x.head)}, 1")
    e.line(f"store i64 {head}, ptr {x.head}")
    many = e.effect(f"icmp ugt i64 {head}, {FEW}")
    most = e.effect(f"icmp ugt i64 {e.effect(f'shl i64 {head}, 1')}, {lists.length(e, x.items).text}")
    with e.seldom(e.effect(f"and i1 {many}, {most}")):
        _cut_off(state, x)


def _cut_off(state: State, x: Queue) -> None:
    """Let the list begin with the first item."""
    e = state.e
    head, n = _load(e, x.head), length(e, x).text
    with trips(state, n) as k:
        lists.put(state, x.items, k, lists.item(state, x.items, e.effect(f"add i64 {k}, {head}")))
        e.flush()
    lists.cut(state, x.items, n)
    e.line(f"store i64 0, ptr {x.head}")


def settled(state: State, x: Queue) -> Lists:
    """The list, which has no other items."""
    e = state.e
    e.flush()  # before the ways part: on one of them others would forget what waits
    with e.seldom(e.effect(f"icmp ne i64 {_load(e, x.head)}, 0")):
        _cut_off(state, x)
    e.version += 1
    return x.items


def pop(state: State, x: Queue) -> Val:
    """`x.pop()`."""
    e = state.e
    e.bail_if(e.effect(f"icmp eq i64 {length(e, x).text}, 0"))
    found = lists.pop(state, x.items)
    _changed(state, x)
    return found


def extend(state: State, x: Queue, source: Val) -> None:
    """`x.extend(source)`."""
    if not isinstance(source, LISTS):
        raise Unlowered("a deque that is extended by something else than a list")
    with trips(state, lists.length(state.e, source).text) as k:
        append(state, x, lists.item(state, source, k))


def clear(state: State, x: Queue) -> None:
    """`x.clear()`."""
    lists.clear(state, x.items)
    state.e.line(f"store i64 0, ptr {x.head}")
    _changed(state, x)


# --------------------------------------------------------------------------------------------- items
def _place(state: State, x: Queue, key: Val) -> str:
    if not isinstance(key, Num):
        raise Unlowered("an index of a deque that is no number")
    e = state.e
    at = checked_index(e, key, length(e, x).text)
    return e.effect(f"add i64 {at}, {_load(e, x.head)}")


def get_item(state: State, x: Queue, key: Val) -> Val:
    """`x[key]`."""
    return lists.item(state, x.items, _place(state, x, key))


def set_item(state: State, x: Queue, key: Val, value: Val) -> None:
    """`x[key] = value`."""
    lists.put(state, x.items, _place(state, x, key), value)


def steps(state: State, x: Queue) -> Callable[[], str]:
    """What is asked before each trip of a loop over it: how many items there are."""
    e = state.e
    if e.gang is not None:
        raise Unlowered("a deque for several elements at once")
    settled(state, x)
    whole, before = length(e, x).text, _load(e, x.changes)

    def stop() -> str:
        e.bail_if(e.effect(f"icmp ne i64 {_load(e, x.changes)}, {before}"))
        return whole

    return stop


# ------------------------------------------------------------------------------------------- methods
def method(x: Queue, name: str) -> Method:
    """`x.name`."""
    if name not in METHODS:
        raise Unlowered(f"the attribute {name} of a deque")
    return Method(x, name)


_WITHOUT: dict[str, Callable[[State, Queue], Val | None]] = {"popleft": pop_left, "pop": pop, "clear": clear}
_WITH_ONE: dict[str, Callable[[State, Queue, Val], None]] = {
    "append": append, "appendleft": append_left, "extend": extend,
}  # fmt: skip


def called(state: State, maker: Hashable, m: Method, args: Sequence[Val]) -> Val | None:
    """A call of a method; None for Python's None."""
    x = m.of
    assert isinstance(x, Queue)
    if state.e.part is not None:
        raise Serial
    if state.e.gang is not None:
        raise Unlowered("a deque for several elements at once")
    state.e.flush()
    if m.name in _WITHOUT and not args:
        return _WITHOUT[m.name](state, x)
    if m.name in _WITH_ONE and len(args) == 1:
        return _WITH_ONE[m.name](state, x, args[0])
    raise Unlowered(f"{m.name} of a deque with these arguments")
