"""Lists made of other lists, and the methods of lists.

In: lists.  Out: new lists, and what methods give.  What always holds: a new list has room of its own; its
items are those of the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from runtime.execute.native import array_lists, lists, nested_lists
from runtime.execute.native.array_lists import trips
from runtime.execute.native.arrays import item_at, memory
from runtime.execute.native.arrays import sliced as cut
from runtime.execute.native.kinds import PYTHON_INT, Unlowered
from runtime.execute.native.lists import append, item, length, made, of_kind, with_room
from runtime.execute.native.scalars import index
from runtime.execute.native.shares import Serial
from runtime.execute.native.state import Row, State
from runtime.execute.native.values import (
    LISTS,
    Arr,
    ArrayList,
    Cut,
    Listing,
    Lists,
    Method,
    Nested,
    Num,
    Rng,
    Shared,
    Table,
    Tup,
    Val,
    one,
)
from runtime.lazy import Lazy

if TYPE_CHECKING:
    from runtime.execute.native import searches
else:
    searches = Lazy("runtime.execute.native.searches")

METHODS = ("append", "pop", "copy", "extend", "insert", "remove", "index", "count", "reverse", "clear")
MOST = 1 << 40  # numbers that no list has


def method(x: Lists, name: str) -> Method:
    """`x.name`."""
    if name not in METHODS:
        raise Unlowered(f"the attribute {name} of a list")
    return Method(x, name)


def called(state: State, maker: Hashable, m: Method, args: Sequence[Val]) -> Val | None:
    """A call of a method; None for Python's None.  maker: what a new list is remembered under."""
    x = m.of
    assert isinstance(x, LISTS)
    if m.name == "append" and len(args) == 1:
        append(state, x, args[0])
        return None
    if m.name == "pop" and len(args) <= 1:
        return lists.pop(state, x, *args)
    if m.name in ("reverse", "clear") and not args:
        (lists.reverse if m.name == "reverse" else lists.clear)(state, x)
        return None
    if m.name == "insert" and len(args) == 2:
        insert(state, x, args[0], args[1])
        return None
    if m.name in ("index", "count") and len(args) == 1:
        return (searches.index if m.name == "index" else searches.count)(state, x, args[0])
    if m.name == "remove" and len(args) == 1:
        searches.remove(state, x, args[0])
        return None
    if m.name == "copy" and not args:
        return joined(state, maker, [x])
    if m.name == "extend" and len(args) == 1:
        extend(state, x, args[0])
        return None
    raise Unlowered(f"{m.name} of a list with these arguments")


def insert(state: State, x: Lists, key: Val, item_in: Val) -> None:
    """`x.insert(key, item)`: what is behind it moves up."""
    if not isinstance(key, Num):
        raise Unlowered("insert of a list at no number")
    e = state.e
    at, n = index(e, key), length(e, x).text
    e.flush()
    for name in ("smin", "smax"):
        e.declare(f"declare i64 @llvm.{name}.i64(i64, i64)")
    back = e.select(e.op(f"icmp slt i64 {at}, 0"), "i64", e.effect(f"add i64 {at}, {n}"), at)
    place = e.effect(f"call i64 @llvm.smax.i64(i64 {back}, i64 0)")
    place = e.effect(f"call i64 @llvm.smin.i64(i64 {place}, i64 {n})")
    append(state, x, item_in)
    with trips(state, e.effect(f"sub i64 {n}, {place}")) as k:
        to = e.effect(f"sub i64 {n}, {k}")
        lists.put(state, x, to, item(state, x, e.effect(f"sub i64 {to}, 1")))
        e.flush()
    lists.put(state, x, place, item_in)


def extend(state: State, x: Lists, source: Val) -> None:
    """`x.extend(source)` of a list."""
    if isinstance(source, Arr) and len(source.dims) == 1:
        state.e.flush()
        with trips(state, source.dims[0]) as k:
            append(state, x, item_at(state, source, k))
        return
    if not isinstance(source, LISTS):
        raise Unlowered("a list that is extended by something else than a list or array of numbers")
    n = length(state.e, source).text
    with trips(state, n) as k:
        append(state, x, item(state, source, k))


def in_place(state: State, op: str, x: Lists, other: Val) -> Lists:
    """`x += other`: the list itself, with the items of the other one at its end."""
    if op != "iadd":
        raise Unlowered("a list that is repeated in its place")
    if state.e.part is not None:
        raise Serial
    extend(state, x, other)
    return x


def unpacked(state: State, x: Lists, count: Val) -> Tup:
    """The items of a list that has so many of them; else the plan says so."""
    if not isinstance(count, Num) or type(count.const) is not int:
        raise Unlowered("a list that is taken apart")
    e = state.e
    e.flush()
    e.bail_if(e.effect(f"icmp ne i64 {length(e, x).text}, {count.const}"))
    return Tup(tuple(item(state, x, str(k)) for k in range(count.const)))


def joined(state: State, maker: Hashable, sources: Sequence[Val]) -> Lists:
    """A new list of what is in other ones."""
    new = like(state, maker, sources)
    for source in sources:
        extend(state, new, source)
    return new


def sliced(state: State, maker: Hashable, x: Lists, part: Cut) -> Lists:
    """`x[start:stop:step]`."""
    e = state.e
    e.flush()
    start, count, step = cut(e, part, length(e, x).text, "1")
    new = like(state, maker, [x])
    with trips(state, count) as k:
        at = e.effect(f"add i64 {start}, {e.effect(f'mul i64 {k}, {step}')}")
        append(state, new, item(state, x, at))
    return new


def backwards(state: State, maker: Hashable, x: Lists, count: str) -> Lists:
    """`list(reversed(x))`, where it had so many items when `reversed` was called."""
    e, new = state.e, like(state, maker, [x])
    e.flush()
    e.bail_if(e.effect(f"icmp ugt i64 {count}, {length(e, x).text}"))
    with trips(state, count) as k:
        at = e.effect(f"sub i64 {e.effect(f'sub i64 {count}, 1')}, {k}")
        append(state, new, item(state, x, at))
    return new


def of_range(state: State, maker: Hashable, x: Rng, count: str) -> Lists:
    """`list(x)` of a range."""
    e, new = state.e, made(state, maker, ())
    e.flush()
    e.bail_if(e.effect(f"icmp uge i64 {count}, {MOST}"))
    with trips(state, count) as k:
        item = e.effect(f"add i64 {x.start}, {e.effect(f'mul i64 {k}, {x.step}')}")
        append(state, new, one(PYTHON_INT, item, span=x.span))
    return new


def like(state: State, maker: Hashable, sources: Sequence[Val]) -> Lists:
    """A new list for what others have in them."""
    for x in sources:
        if isinstance(x, LISTS):
            _learn_from(state, maker, x)
    return made(state, maker, ())


def _learn_from(state: State, maker: Hashable, x: Lists) -> None:
    """A list will have in it what is in another one."""
    if isinstance(x, Table):
        state.forms.setdefault(maker, Row(len(x.columns)))
        for k, column in enumerate(x.columns):
            _learn_from(state, (maker, k), column)
    elif isinstance(x, Nested):
        state.forms.setdefault(maker, nested_lists.form_of(state, x))
    elif isinstance(x, ArrayList):
        state.forms.setdefault(maker, array_lists.form_of(state, x))


def repeated(state: State, maker: Hashable, x: Lists, times: Num) -> Lists:
    """`x * times`: each number is that which stands as many places before as there are numbers in `x`."""
    e, new = state.e, like(state, maker, [x])
    x, found = (array_lists.cells(e, y) if isinstance(y, Shared) else y for y in (x, new))
    if isinstance(x, Listing) and isinstance(found, Listing) and new is not found:
        if of_kind(state, x) == of_kind(state, found):
            _repeat(state, found, x, times)
            return new
    if not isinstance(x, Listing) or not isinstance(new, Listing):
        return _again(state, new, x, times)
    new.kind, new.guessed = of_kind(state, x), x.guessed
    _repeat(state, new, x, times)
    return new


def _repeat(state: State, new: Listing, x: Listing, times: Num) -> None:
    """Put the numbers of `x` into a list so many times."""
    e = state.e
    e.flush()
    e.declare("declare i64 @llvm.smax.i64(i64, i64)")
    count, n = length(e, x).text, index(e, times)
    n = e.effect(f"call i64 @llvm.smax.i64(i64 {n}, i64 0)")
    e.bail_if(e.effect(f"icmp uge i64 {n}, {MOST}"))
    e.bail_if(e.effect(f"icmp uge i64 {count}, {1 << 20}"))
    total = e.effect(f"mul i64 {n}, {count}")
    with_room(state, new, "0", total)
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


def _again(state: State, new: Lists, x: Lists, times: Num) -> Lists:
    """A new list, with all that is in `x` put into it so many times."""
    e = state.e
    e.flush()
    n = index(e, times)
    e.bail_if(e.effect(f"icmp sge i64 {n}, {MOST}"))
    e.declare("declare i64 @llvm.smax.i64(i64, i64)")
    with trips(state, e.effect(f"call i64 @llvm.smax.i64(i64 {n}, i64 0)")):
        extend(state, new, x)
    return new
