"""Arrays whose elements are those of another array, in other places: rolled, with edges around, or only those
of a triangle; and the differences of neighbours.

In: the node's arguments.  Out: a lazy array.  What always holds: what it reads is not taken for the same
elements in the same places; only C order is made; a place that is read is one of the array.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from runtime.dataclass import dataclass
from runtime.execute.native.accesses import Scattered, progression
from runtime.execute.native.arrays import located, plus
from runtime.execute.native.calls import by_name
from runtime.execute.native.elementwise import apply, as_lazy, is_array, materialized
from runtime.execute.native.emit import TRUE, Emitter
from runtime.execute.native.kinds import PYTHON_INT, Unlowered, literal
from runtime.execute.native.lines import shared
from runtime.execute.native.makers import Handler, within_reach
from runtime.execute.native.reductions import constant
from runtime.execute.native.scalars import index, stored
from runtime.execute.native.state import State, numbers
from runtime.execute.native.turns import known, rolled
from runtime.execute.native.values import Arr, Cut, Lazy, Num, Static, Tup, Turn, Val, lift, one

NARROW = 3  # elements at an edge that are each mirrored by themselves
MODES = ("constant", "edge", "wrap", "reflect", "symmetric")


@dataclass(frozen=True)
class Way:
    """How an axis is gone along: its size, from where on which element is read, and whether there is one.

    turn: the same of stretches, where it is the last axis."""

    size: str
    source: Callable[[str], str]
    inside: Callable[[str], str]
    turn: Turn


def elsewhere(a: Arr) -> Arr:
    """A stored array, of which other elements are read than the one at the same place."""
    each = str(a.dtype.itemsize)
    return dataclasses.replace(a, dims=(*a.dims, "1"), strides=(*a.strides, each), window=None)


def _source(state: State, x: Val, last: bool) -> Lazy:
    """The array whose elements are moved; last: along the last axis, too."""
    if not is_array(x):
        raise Unlowered("elements of something else than an array moved")
    found = as_lazy(state.e, x)
    if any(leaf.turned for leaf in found.leaves):
        raise Unlowered("an array with its axes in another order")  # the result would have it, too
    # without any array in it, nothing would say that its elements are not all alike: lines must stay apart
    stored = found.parts or not found.leaves or (last and found.turns)
    return as_lazy(state.e, materialized(state, found)) if stored else found


def moved(e: Emitter, x: Lazy, ways: Mapping[int, Way], other: Num | None = None) -> Lazy:
    """The lazy array that is read along these axes in these ways.  other: what stands where nothing is."""
    dims = tuple(ways[k].size if k in ways else n for k, n in enumerate(x.dims))
    last = len(dims) - 1
    along = ways.get(last)

    def element(indices: Sequence[str]) -> Num:
        own, there = list(indices), TRUE
        for axis, way in ways.items():
            if axis != last:
                there = e.both(there, way.inside(own[axis]))
                own[axis] = way.source(own[axis])
        found = x.element(own) if along is None else _along(e, x, own, along, other)
        if there == TRUE or other is None:
            return found
        wide, rest = e.wide(x.kind.llvm), e.splat(x.kind.llvm, other.text)
        return one(x.kind, e.op(f"select i1 {there}, {wide} {found.text}, {wide} {rest}"))

    turns = (*x.turns, along.turn) if along is not None else x.turns
    leaves = tuple(map(elsewhere, x.leaves))
    return dataclasses.replace(
        x, dims=dims, element=shared(e, x.kind, element), leaves=leaves, plain=False, held=None, turns=turns,
        cost=x.cost + 1,
    )  # fmt: skip


def _along(e: Emitter, x: Lazy, indices: list[str], way: Way, other: Num | None) -> Num:
    """An element, or as many as there are lanes, of a line that is made of stretches of another one."""
    k = indices[-1]
    at = known(e, k, way.turn)
    if at == "":
        assert other is not None
        return one(x.kind, e.splat(x.kind.llvm, other.text))
    if at is None:
        if e.lanes > 1:
            raise Scattered
        found, there = x.element([*indices[:-1], way.source(k)]), way.inside(k)
        if there == TRUE or other is None:
            return found
        return one(x.kind, e.select(there, x.kind.llvm, found.text, other.text))
    before = e.along, e.last
    if e.along == k and not e.turned[way.turn].startswith("="):
        e.along, e.last = at, e.last and (known(e, e.last, way.turn) or "")
    found = x.element([*indices[:-1], at])
    e.along, e.last = before
    return found


# -------------------------------------------------------------------------------------------- np.roll
def _roll(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.roll`."""
    given = by_name(args, keywords, "a", "shift", "axis")
    e = state.e
    rank = len(given["a"].dims) if isinstance(given["a"], (Arr, Lazy)) else 0
    shifts = _shifts(rank, given["shift"], given.get("axis"))
    x = _source(state, given["a"], rank - 1 in shifts)
    places = {k: _place(e, by, x.dims[k]) for k, by in shifts.items()}
    return moved(e, x, {k: _round(e, p, x.dims[k]) for k, p in places.items() if p != "0"})


def _shifts(rank: int, shift: Val, axis: Val | None) -> dict[int, Num]:
    """By axis, how far elements move."""
    if axis is None or (isinstance(axis, Static) and axis.value is None):
        axes = [0]
        if rank != 1:
            raise Unlowered("np.roll of all axes as one")
    else:
        found = [n.const for n in numbers(axis)]
        if any(type(k) is not int or not -rank <= k < rank for k in found):
            raise Unlowered("np.roll along an axis that is not constant")
        axes = [k % rank for k in found]
    shifts = numbers(shift)
    if len(shifts) != len(axes):
        if 1 not in (len(shifts), len(axes)) or not shifts or not axes:
            raise Unlowered("np.roll by other numbers than there are axes")
        axes *= len(shifts) if len(axes) == 1 else 1
        shifts *= len(axes) if len(shifts) == 1 else 1
    if len(set(axes)) != len(axes):
        raise Unlowered("np.roll twice along one axis")
    return dict(zip(axes, shifts, strict=True))


def _place(e: Emitter, shift: Num, size: str) -> str:
    """Where the first element goes."""
    by = index(e, shift)
    if shift.const is not None and size.isdigit():
        return str(int(shift.const) % max(int(size), 1))
    if size.isdigit():
        n = str(max(int(size), 1))
    else:
        n = e.call("i64", "llvm.smax.i64", ("i64", size), ("i64", "1"))
    rest = e.op(f"srem i64 {by}, {n}")
    return e.select(e.op(f"icmp slt i64 {rest}, 0"), "i64", e.op(f"add i64 {rest}, {n}"), rest)


def _round(e: Emitter, place: str, size: str) -> Way:
    """Along an axis whose first element goes to a place."""

    def source(k: str) -> str:
        if all(map(str.isdigit, (k, place, size))):
            return str((int(k) - int(place)) % int(size))
        at = e.op(f"sub nsw i64 {k}, {place}")
        return e.select(e.op(f"icmp slt i64 {at}, 0"), "i64", e.op(f"add nsw i64 {at}, {size}"), at)

    return Way(size, source, lambda _: TRUE, rolled(e, place, size))


# --------------------------------------------------------------------------------------------- np.pad
def _pad(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.pad`."""
    given = by_name(args, keywords, "array", "pad_width", "mode", "constant_values")
    mode = given.get("mode", Static("constant"))
    if not isinstance(mode, Static) or mode.value not in MODES:
        raise Unlowered("np.pad in this mode")
    e = state.e
    rank = len(given["array"].dims) if isinstance(given["array"], (Arr, Lazy)) else 0
    widths = {k: w for k, w in enumerate(_widths(given["pad_width"], rank)) if w != (0, 0)}
    x = _source(state, given["array"], rank - 1 in widths)
    other = None
    if mode.value == "constant":
        asked = given.get("constant_values", lift(0))
        if not isinstance(asked, Num) or len(asked.members) != 1 or x.kind.kind == "c":
            raise Unlowered("np.pad with these numbers")
        if asked.scalar.kind != x.kind.kind and asked.const not in range(100):
            raise Unlowered("np.pad with a number of another kind")
        other = stored(e, asked, x.kind)
    elif "constant_values" in given:
        raise Unlowered("np.pad with a number that is not used")
    made = moved(e, x, {k: _padded(e, mode.value, x.dims[k], *w) for k, w in widths.items()}, other)
    known_now = all(x.dims[k].isdigit() for k in widths)
    return made if known_now else materialized(state, made)


def _widths(given: Val, rank: int) -> list[tuple[int, int]]:
    """How many elements come before and after, by axis."""

    def plain(x: Val) -> object:
        return tuple(map(plain, x.items)) if isinstance(x, Tup) else x.const if isinstance(x, Num) else None

    try:
        found = np.broadcast_to(np.asarray(plain(given)), (rank, 2))
    except ValueError:
        raise Unlowered("np.pad by these widths") from None
    if found.dtype.kind != "i" or not rank or found.min() < 0:
        raise Unlowered("np.pad by these widths")
    return [(int(a), int(b)) for a, b in found]


def _padded(e: Emitter, mode: str, n: str, before: int, after: int) -> Way:
    """Along an axis of n elements with some more at both ends."""
    far = {"wrap": 0, "symmetric": 0, "reflect": 1, "edge": 1 - max(before, after), "constant": 0}[mode]
    least = max(before, after) + far if mode != "constant" else 1
    if not n.isdigit():
        e.bail_if(e.op(f"icmp slt i64 {n}, {least}"))
    elif int(n) < least:
        raise Unlowered("np.pad of an array that is smaller than its edges")
    if mode in ("reflect", "symmetric") and max(before, after) > NARROW:
        raise Unlowered("np.pad that mirrors wide edges")
    last, size = _more(e, n, -1), _more(e, n, before + after)

    def source(k: str) -> str:
        at = str(int(k) - before) if k.isdigit() else e.op(f"sub nsw i64 {k}, {before}")
        low, high = e.op(f"icmp slt i64 {at}, 0"), e.op(f"icmp sgt i64 {at}, {last}")
        if mode in ("constant", "edge"):
            ends = "0", last
        elif mode == "wrap":
            ends = e.op(f"add nsw i64 {at}, {n}"), e.op(f"sub nsw i64 {at}, {n}")
        else:
            back, round_ = (0, plus(e, last, last)) if mode == "reflect" else (-1, plus(e, last, n))
            ends = e.op(f"sub nsw i64 {back}, {at}"), e.op(f"sub nsw i64 {round_}, {at}")
        return e.select(low, "i64", ends[0], e.select(high, "i64", ends[1], at))

    def inside(k: str) -> str:
        if mode != "constant":
            return TRUE
        at = str(int(k) - before) if k.isdigit() else e.op(f"sub nsw i64 {k}, {before}")
        return e.op(f"icmp ult i64 {at}, {n}")

    ends: tuple[str, ...] = (str(before), _more(e, n, before))
    here = str(-before)
    if mode == "constant":
        return Way(size, source, inside, Turn(ends, ("", here, "")))
    if mode == "edge":
        return Way(size, source, inside, Turn(ends, ("=0", here, f"={last}")))
    if mode == "wrap":
        behind = str(-before - int(n)) if n.isdigit() else e.op(f"sub nsw i64 {here}, {n}")
        return Way(size, source, inside, Turn(ends, (_more(e, n, -before), here, behind)))
    away = 0 if mode == "symmetric" else 1
    left = [f"={k - 1 + away}" for k in range(before, 0, -1)]
    right = [f"={_more(e, n, -1 - k - away)}" for k in range(after)]
    ends = (*map(str, range(1, before + 1)), *(_more(e, n, before + k) for k in range(after)))
    return Way(size, source, inside, Turn(ends, (*left, here, *right)))


def _more(e: Emitter, n: str, k: int) -> str:
    """A size and some more, or less."""
    return str(int(n) + k) if n.isdigit() else n if not k else e.op(f"add nsw i64 {n}, {k}")


# ---------------------------------------------------------------------------------- triangles, differences
def _triangle(how: str) -> Handler:
    """`np.tril` (how: sle) or `np.triu` (how: sge): zero where a column is not so against its row."""

    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        given = by_name(args, keywords, "m", "k")
        e, x, k = state.e, _source(state, given["m"], False), given.get("k", lift(0))
        if len(x.dims) < 2 or x.kind.kind == "c" or not isinstance(k, Num):
            raise Unlowered("a triangle of this")
        by, zero = within_reach(e, k), literal(False if x.kind.kind == "b" else 0, x.kind.llvm)

        def element(indices: Sequence[str]) -> Num:
            places = progression(e, indices[-1]), e.splat("i64", plus(e, indices[-2], by))
            inside = e.op(f"icmp {how} {e.wide('i64')} {places[0]}, {places[1]}")
            wide, rest = e.wide(x.kind.llvm), e.splat(x.kind.llvm, zero)
            found = x.element(indices).text
            return one(x.kind, e.op(f"select {e.wide('i1')} {inside}, {wide} {found}, {wide} {rest}"))

        leaves = tuple(map(elsewhere, x.leaves))
        return dataclasses.replace(
            x, element=shared(e, x.kind, element), leaves=leaves, plain=False, held=None, cost=x.cost + 2
        )

    return handler


def _diff(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.diff` of neighbours, once."""
    given = by_name(args, keywords, "a", "n", "axis")
    times, axis = (constant(given.get(name), usual) for name, usual in (("n", 1), ("axis", -1)))
    if not is_array(given["a"]) or type(times) is not int or times != 1 or type(axis) is not int:
        raise Unlowered("np.diff of this")
    x = materialized(state, given["a"])
    if not -len(x.dims) <= axis < len(x.dims):
        raise Unlowered("np.diff along an axis that is not there")
    before = [Cut(None, None, None)] * (axis % len(x.dims))
    ends = Cut(one(PYTHON_INT, "1", 1), None, None), Cut(None, one(PYTHON_INT, "-1", -1), None)
    later, earlier = (located(state.e, x, Tup((*before, end))) for end in ends)
    return apply(state, np.not_equal if x.element.kind == "b" else np.subtract, (later, earlier))


HANDLERS: dict[str, Handler] = {
    "np.roll": _roll,
    "np.pad": _pad,
    "np.tril": _triangle("sle"),
    "np.triu": _triangle("sge"),
    "np.diff": _diff,
}
