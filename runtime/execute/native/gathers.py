"""Items picked by arrays of indices or by a mask: read into a new array, or written in place.

In: an array, a key with arrays in it, and what is written.  Out: the new array.  What always holds: every
index is checked; where NumPy would refuse, the code leaves to the plan; of several writes to one item the
last one counts, as for NumPy.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np

from runtime.execute.native import element_ops
from runtime.execute.native.accesses import located
from runtime.execute.native.arrays import (
    checked_index,
    create,
    disjoint,
    fill,
    key_parts,
    load,
    overlap,
    plus,
    sliced,
    store,
    times,
    turned,
)
from runtime.execute.native.elementwise import (
    assigned,
    common_dims,
    copied,
    is_array,
    kind_of,
    materialized,
    where,
)
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Scalar, Unlowered
from runtime.execute.native.lines import about, counted
from runtime.execute.native.scalars import stored
from runtime.execute.native.shares import share
from runtime.execute.native.sifting import sifted
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr, Cut, Lazy, Num, Static, Val, one

PICKED = 1.0  # nanoseconds for an element
# the same, whether computed in int64 and cut off after or in fewer bits; and in float64 and rounded or not
_MODULAR = ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor")
_ROUNDED = _MODULAR[:5]
Visit = Callable[[Arr, Arr], None]
Indexed = tuple[Val, str, str]  # an index or an array of them, the size of its axis and the stride


def by_arrays(key: Val) -> bool:
    """Whether a key picks by arrays."""
    return any(is_array(p) for p in key_parts(key))


class _Pick:
    """What a key with arrays of integers picks.

    indexed: the axes that are picked from.  shape: the sizes of the arrays of indices.  before, after: sizes
    and strides of the axes that are taken as they are, or sliced.  offset: where the slices begin.
    """

    def __init__(self, state: State, a: Arr, key: Val) -> None:
        self.state, self.array = state, a
        self.indexed: list[Indexed] = []
        self.shape: tuple[str, ...] = ()
        self.before: list[tuple[str, str]] = []
        self.after: list[tuple[str, str]] = []
        self.offset = "0"
        e, parts, places = state.e, key_parts(key), list[int]()
        if len(parts) > len(a.dims) or any(isinstance(p, Static) for p in parts):
            raise Unlowered("a key of arrays and other things than slices and numbers")
        for axis, (size, stride) in enumerate(zip(a.dims, a.strides, strict=True)):
            part = parts[axis] if axis < len(parts) else Cut(None, None, None)
            if isinstance(part, Cut):
                moved, count, step = sliced(e, part, size, stride)
                self.offset = plus(e, self.offset, moved)
                (self.after if places else self.before).append((count, step))
                continue
            if is_array(part):
                part = materialized(state, part)
            elif not isinstance(part, Num):
                raise Unlowered("a key of arrays and other things than slices and numbers")
            self.indexed.append((part, size, stride))
            places.append(axis)
        if places[-1] - places[0] != len(places) - 1:
            raise Unlowered("a key with slices between arrays")
        self.together(e)

    def together(self, e: Emitter) -> None:
        """All arrays of indices are read with the sizes that they have together."""
        arrays = [part for part, _, _ in self.indexed if isinstance(part, Arr)]
        if any(a.element.kind not in "iu" or not a.dims for a in arrays):
            raise Unlowered("a key of arrays of this dtype")
        self.shape = common_dims(e, arrays)
        self.indexed = [
            (_stretched(part, self.shape) if isinstance(part, Arr) else part, size, stride)
            for part, size, stride in self.indexed
        ]

    @property
    def dims(self) -> tuple[str, ...]:
        """The sizes of what is picked."""
        return (*(n for n, _ in self.before), *self.shape, *(n for n, _ in self.after))

    def result(self) -> Arr:
        """A new array for what is picked; the axes of the indices come first in memory, as NumPy has it."""
        before, inner = len(self.before), len(self.shape)
        if any(isinstance(x, Arr) and x.turned for x in (self.array, *(p for p, _, _ in self.indexed))):
            raise Unlowered("items picked by or from arrays in another order than C's")
        if not before:
            return create(self.state, self.dims, self.array.dtype, False)
        first = range(before, before + inner)
        order = (*first, *(k for k in range(len(self.dims)) if k not in first))
        made = create(self.state, [self.dims[k] for k in order], self.array.dtype, False)
        return turned(made, [order.index(k) for k in range(len(order))])

    def each(self, other: Arr, visit: Visit, shared: bool = False) -> None:
        """Visit what each group of indices picks, with the matching part of an array of the result.

        shared: whether threads may do that side by side.
        """
        e, a, depth = self.state.e, self.array, len(self.before)
        kept = [*self.before, *self.after]
        number = {  # checked even where the arrays beside it are empty
            k: times(e, checked_index(e, part, size), stride)
            for k, (part, size, stride) in enumerate(self.indexed)
            if isinstance(part, Num)
        }
        own = [*other.strides[:depth], *other.strides[depth + len(self.shape) :]]

        def loops(indices: list[str], first: str, last: str) -> None:
            if len(indices) < len(self.shape):
                sizes = self.shape[len(indices) + 1 :]
                following = ("0", sizes[0] if sizes else "1")
                counted(e, first, last, 1, lambda k: loops([*indices, k], *following))
                return
            at = self.offset
            for k, (part, size, stride) in enumerate(self.indexed):
                if isinstance(part, Arr):
                    index = load(e, part.element, located(e, part, indices))
                    at = plus(e, at, times(e, checked_index(e, index, size), stride))
                else:
                    at = plus(e, at, number[k])
            e.flush()
            there = "0"
            for i, stride in zip(indices, other.strides[depth:], strict=False):
                there = plus(e, there, times(e, i, stride))
            dims = tuple(n for n, _ in kept)
            picked = _part(e, a, at, dims, [s for _, s in kept])
            visit(picked, _part(e, other, there, dims, own))

        e.flush()
        if shared:
            each = PICKED * about(self.shape[1:]) * about([n for n, _ in kept])
            share(self.state, "0", self.shape[0], functools.partial(loops, []), cost=each)
        else:
            loops([], "0", self.shape[0])


def _stretched(a: Arr, shape: tuple[str, ...]) -> Arr:
    """The array seen with these sizes: along an axis that it has not, or of size 1, it stands still."""
    missing = len(shape) - len(a.dims)
    own = ("0" if n == "1" else stride for n, stride in zip(a.dims, a.strides, strict=True))
    strides = (*("0" for _ in range(missing)), *own)
    return dataclasses.replace(a, dims=shape, strides=strides)


def _part(e: Emitter, a: Arr, offset: str, dims: Sequence[str], strides: Sequence[str]) -> Arr:
    data = a.data if offset == "0" else e.op(f"getelementptr i8, ptr {a.data}, i64 {offset}")
    return Arr(a.dtype, data, tuple(dims), tuple(strides), None, a.roots, a.depth, a.site, a.age)


def get(state: State, a: Arr, key: Val) -> Val:
    """`a[key]`."""
    if _is_mask(key):
        return _masked(state, a, key)
    pick = _Pick(state, a, key)
    made = pick.result()

    def visit(source: Arr, target: Arr) -> None:
        _move(state, target, source)

    pick.each(made, visit, True)
    state.e.version += 1
    return made


def put(state: State, a: Arr, key: Val, value: Val) -> None:
    """`a[key] = value`."""
    state.written |= a.roots
    if _is_mask(key):
        _put_masked(state, a, key, value)
        return
    pick = _Pick(state, a, key)
    pick.indexed = [(_apart(state, part, a), size, stride) for part, size, stride in pick.indexed]
    if isinstance(value, Num):
        number = stored(state.e, value, a.element)
        # as many as the result has, without any memory: the loops only need its sizes
        sizes = Arr(a.dtype, a.data, pick.dims, ("0",) * len(pick.dims))
        pick.each(sizes, lambda t, _: fill(state, t, number))
    else:
        pick.each(_given(state, a, pick.dims, value), lambda t, x: _move(state, t, x))
    state.e.version += 1


def at(state: State, ufunc: np.ufunc, args: Sequence[Val]) -> Val:
    """`ufunc.at(a, key, value)`: each item that is picked is changed, as often as it is picked."""
    e = state.e
    a, key, value = args if len(args) == 3 else (None, None, None)
    if not isinstance(a, Arr) or key is None or value is None or not by_arrays(key) or _is_mask(key):
        raise Unlowered(f"np.{ufunc.__name__}.at with these arguments")
    kind = a.element
    step = element_ops.lowered(e, ufunc.__name__, kind, kind, 2) if ufunc.nin == 2 else None
    fits = is_array(value) and kind_of(value) == kind
    if step is None or not (fits or (isinstance(value, Num) and _as_it_is(ufunc.__name__, kind, value))):
        raise Unlowered(f"np.{ufunc.__name__}.at on numbers of these kinds")
    change = step
    state.written |= a.roots
    pick = _Pick(state, a, key)
    if pick.before or pick.after:
        raise Unlowered(f"np.{ufunc.__name__}.at on whole lines")
    pick.indexed = [(_apart(state, part, a), size, stride) for part, size, stride in pick.indexed]
    given = Arr(a.dtype, a.data, pick.dims, ("0",) * len(pick.dims))
    number = stored(e, value, kind) if isinstance(value, Num) else None
    if number is None:
        given = _given(state, a, pick.dims, value)

    loud = ufunc in (np.maximum, np.minimum) and kind.kind == "f" and e.reports  # NumPy warns of NaN

    def visit(target: Arr, source: Arr) -> None:
        held, other = load(e, kind, target.data), number or load(e, kind, source.data)
        if loud:
            e.bail_if(e.op(f"fcmp uno {kind.llvm} {held.text}, {other.text}"))
        store(e, kind, target.data, one(kind, change(held, other)))

    pick.each(given, visit)
    e.version += 1
    return Static(None)


def _as_it_is(name: str, kind: Scalar, value: Num) -> bool:
    """Whether `ufunc.at` on items of a kind gives what the ufunc gives on them and a Python number.

    NumPy takes the number as an array of its own dtype, computes in the common one, and casts the results.
    """
    if len(value.members) != 1 or not value.scalar.weak:
        return False
    common = np.result_type(kind.dtype, value.scalar.dtype)
    if common == kind.dtype:
        return True
    if kind.kind in "iu" and common == np.int64:
        return name in _MODULAR
    if kind.dtype != np.float32 or common != np.float64 or name not in _ROUNDED:
        return False
    return isinstance(value.const, (int, float)) and float(np.float32(value.const)) == value.const


def _apart(state: State, part: Val, a: Arr) -> Val:
    """Part of a key, in memory that a write to `a` leaves alone."""
    if isinstance(part, Num) or (isinstance(part, Arr) and disjoint(part, a)):
        return part
    return copied(state, part)


def _given(state: State, a: Arr, dims: Sequence[str], value: Val) -> Arr:
    """What is written, in the array's dtype, with the result's sizes, apart from the array."""
    if not isinstance(value, (Arr, Lazy)):
        raise Unlowered("an assignment of this to items picked by arrays")
    fits = isinstance(value, Arr) and value.dims == tuple(dims) and value.element == a.element
    if fits and isinstance(value, Arr) and disjoint(value, a):
        return value
    made = create(state, dims, a.dtype, False)
    assigned(state, made, value)
    return made


def _move(state: State, target: Arr, source: Arr) -> None:
    """Copy one group; the two lie apart."""
    e = state.e
    if target.dims:
        assigned(state, target, source)
    else:
        store(e, target.element, target.data, load(e, source.element, source.data))
        e.version += 1


# ---------------------------------------------------------------------------------------------- masks
def _is_mask(key: Val) -> bool:
    return isinstance(key, (Arr, Lazy)) and _kind(key).kind == "b"


def _kind(x: Arr | Lazy) -> Scalar:
    return x.element if isinstance(x, Arr) else x.kind


def _mask(state: State, a: Arr, key: Val) -> Arr:
    """The mask in memory; its sizes are those of the first axes."""
    mask = materialized(state, key, True)
    if not mask.dims or len(mask.dims) > len(a.dims):
        raise Unlowered("a mask of this rank")
    for n, m in zip(mask.dims, a.dims, strict=False):
        if n != m:
            if n.isdigit() and m.isdigit():
                raise Unlowered("a mask of other sizes")
            state.e.bail_if(state.e.op(f"icmp ne i64 {n}, {m}"))
    return mask


def _where_true(state: State, mask: Arr, visit: Callable[[list[str]], None]) -> None:
    """Visit the places where the mask is true, in order."""
    e = state.e

    def loops(indices: list[str]) -> None:
        if len(indices) < len(mask.dims):
            counted(e, "0", mask.dims[len(indices)], 1, lambda k: loops([*indices, k]))
            return
        yes, on = e.block("taken"), e.block("on")
        e.branch(load(e, mask.element, located(e, mask, indices)).text, yes, on)
        e.start(yes)
        with e.scope():
            visit(indices)
            e.jump(on)
        e.start(on)

    e.flush()
    loops([])


def _count(state: State, mask: Arr) -> str:
    """How many places are true."""
    e = state.e
    cell = e.slot("i64")
    e.line(f"store i64 0, ptr {cell}")

    def loops(indices: list[str]) -> None:
        if len(indices) < len(mask.dims):
            counted(e, "0", mask.dims[len(indices)], 1, lambda k: loops([*indices, k]))
            return
        true = load(e, mask.element, located(e, mask, indices)).text
        _advance(e, cell, e.op(f"zext i1 {true} to i64"))

    e.flush()
    loops([])
    return e.effect(f"load i64, ptr {cell}")


def _advance(e: Emitter, cell: str, by: str) -> str:
    """Add to a counter; what it was."""
    now = e.effect(f"load i64, ptr {cell}")
    e.line(f"store i64 {e.effect(f'add i64 {now}, {by}')}, ptr {cell}")
    return now


def _masked(state: State, a: Arr, key: Val) -> Arr:
    """`a[mask]`."""
    e, mask = state.e, _mask(state, a, key)
    rest = len(mask.dims)
    found = sifted(state, a, mask)
    if found is not None:
        return found
    if a.turned and rest < len(a.dims):
        raise Unlowered("items picked from arrays in another order than C's")
    made = create(state, [_count(state, mask), *a.dims[rest:]], a.dtype, False)
    cell = e.slot("i64")
    e.line(f"store i64 0, ptr {cell}")

    def visit(indices: list[str]) -> None:
        source = _at(e, a, indices)
        _move(state, _at(e, made, [_advance(e, cell, "1")]), source)

    _where_true(state, mask, visit)
    e.version += 1
    return made


def _at(e: Emitter, a: Arr, indices: Sequence[str]) -> Arr:
    """The part of an array at indices of its first axes."""
    offset = "0"
    for i, stride in zip(indices, a.strides, strict=False):
        offset = plus(e, offset, times(e, i, stride))
    return _part(e, a, offset, a.dims[len(indices) :], a.strides[len(indices) :])


def _put_masked(state: State, a: Arr, key: Val, value: Val) -> None:
    """`a[mask] = value`."""
    e = state.e
    if isinstance(value, Num):
        number = stored(e, value, a.element)
        if isinstance(key, (Arr, Lazy)) and key.dims == a.dims:
            picked = where(state, key, one(a.element, number.text, number.const), a)
            assigned(state, a, picked)
            return
        mask = _mask(state, a, _apart(state, key, a))
        _where_true(state, mask, lambda indices: fill(state, _at(e, a, indices), number))
        e.version += 1
        return
    mask = _mask(state, a, _apart(state, key, a))
    if isinstance(value, Arr) and len(mask.dims) == len(a.dims) and not disjoint(value, a):
        e.bail_if(overlap(e, value, a))  # NumPy writes over what it has still to read, run by run
    given = _given(state, a, [_count(state, mask), *a.dims[len(mask.dims) :]], value)
    cell = e.slot("i64")
    e.line(f"store i64 0, ptr {cell}")
    _where_true(state, mask, lambda at: _move(state, _at(e, a, at), _at(e, given, [_advance(e, cell, "1")])))
    e.version += 1
