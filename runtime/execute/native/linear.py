"""Products of matrices and vectors by the inner loop of NumPy's own matmul, whatever library is below it.

In: arrays.  Out: their product as a new array, or a number.  What always holds: the loop gets the strides
that NumPy would hand to it, so it takes the same way inside and the result is NumPy's bit by bit.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.execute.native.arrays import create, dense, item_at, load, plus, times
from runtime.execute.native.calls import numpy_call
from runtime.execute.native.elementwise import (
    as_lazy,
    assigned,
    disjoint,
    is_array,
    kind_of,
    materialized,
)
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Scalar, Unlowered
from runtime.execute.native.lines import counted
from runtime.execute.native.scalars import loop_kinds
from runtime.execute.native.state import State
from runtime.execute.native.ufunc_loops import inner_loop
from runtime.execute.native.values import Arr, Num, Val

Link = tuple[Sequence[Val], Callable[[Val, Val], Val]]  # the factors, and what is done with their product
ROOM = 1 << 18  # bytes: what stays in the cache from where it is made to where it is read


def matmul(state: State, args: Sequence[Val]) -> Val:
    """`a @ b`."""
    a, b, kind = operands(state, args)
    if not a.dims or not b.dims:
        raise Unlowered("a matrix product with a number")
    return product(state, a, b, kind)


def dot(state: State, args: Sequence[Val]) -> Val:
    """`np.dot(a, b)` of matrices and vectors whose elements lie as the library wants them."""
    a, b, kind = operands(state, args)
    if not 1 <= len(a.dims) <= 2 or not 1 <= len(b.dims) <= 2 or kind.kind != "f":
        raise Unlowered("np.dot of these")
    item = str(kind.dtype.itemsize)
    for x in (a, b):
        if item not in (x.strides[-1], x.strides[0]):
            raise Unlowered("np.dot of arrays that are not stored side by side")
    return product(state, a, b, kind)


def norm(state: State, args: Sequence[Val]) -> Val:
    """`np.linalg.norm(x)` of floats in C order: the root of the product of all elements with themselves."""
    x = args[0] if len(args) == 1 else None
    if (
        not isinstance(x, Arr)
        or x.element.kind != "f"
        or x.strides != dense(state.e, x.dims, x.dtype.itemsize)
    ):
        raise Unlowered("np.linalg.norm of this")
    count = "1"
    for n in x.dims:
        count = times(state.e, count, n)
    flat = dataclasses.replace(x, dims=(count,), strides=(str(x.dtype.itemsize),), handle=None)
    return numpy_call(state, "sqrt", [dot(state, (flat, flat))], {})


def operands(state: State, args: Sequence[Val]) -> tuple[Arr, Arr, Scalar]:
    """Both arrays with elements of one kind."""
    if len(args) != 2 or not all(map(is_array, args)):
        raise Unlowered("a matrix product of something else than two arrays")
    kinds = loop_kinds(np.matmul, *map(kind_of, args))
    if len(set(kinds)) != 1:
        raise Unlowered("a matrix product of these dtypes")
    kind, made = kinds[0], []
    for x in args:
        if not isinstance(x, Arr) or x.element != kind:
            x = materialized(state, as_lazy(state.e, x, kind))
        made.append(x)
    return made[0], made[1], kind


def joined(
    state: State, links: Sequence[Link], other: Val, place: Arr | None, dtype: np.dtype[Any]
) -> tuple[Arr, int] | None:
    """`compute(other, a @ b)` of stacks of matrices, link by link, one matrix at a time, which stays in the
    cache; and how many links that is.  None where that can't be.  The result goes to `place`, which may be
    `other` itself, or to a new array."""
    e, pairs = state.e, alike(state, links)
    if not pairs:
        return None
    kind, dims = pairs[0][2:]
    outer = dims[:-2]
    if math.prod(map(int, outer)) < 2 or math.prod(map(int, dims[-2:])) * kind.dtype.itemsize > ROOM:
        return None
    whole = isinstance(other, Arr) and other.dims == dims
    if not whole and not (
        isinstance(other, Num) or (isinstance(other, Arr) and fewer(other.dims, dims[-2:]))
    ):
        return None
    if place is not None and not (
        place.dims == dims and all(disjoint(a, place) and disjoint(b, place) for a, b, *_ in pairs)
    ):
        place = None
    room = create(state, dims[-2:], kind.dtype, False)
    target = create(state, dims, dtype, False) if place is None else place

    def one_matrix(indices: list[str]) -> None:
        to = at(state, target, indices)
        given = other
        if other is target:
            given = to
        elif whole:
            assert isinstance(other, Arr)
            given = at(state, other, indices)
        item = str(kind.dtype.itemsize)
        for (a, b, *_), (_, compute) in zip(pairs, links, strict=False):
            places = [matrix(e, a, indices), matrix(e, b, indices), room.data]
            steps = [item, item, item, *a.strides[-2:], *b.strides[-2:], *room.strides]
            call_loop(state, kind, places, ["1", a.dims[-2], a.dims[-1], dims[-1]], steps)
            e.version += 1
            assigned(state, to, compute(given, room))
            given = to

    def loops(indices: list[str]) -> None:
        if len(indices) == len(outer):
            one_matrix(indices)
        else:
            counted(e, "0", outer[len(indices)], 1, lambda i: loops([*indices, i]))

    e.flush()
    loops([])
    e.version += 1
    return target, len(pairs)


def alike(state: State, links: Sequence[Link]) -> list[tuple[Arr, Arr, Scalar, tuple[str, ...]]]:
    """The factors of the links, their kind, and the sizes of the product, for as many as give the same."""
    pairs: list[tuple[Arr, Arr, Scalar, tuple[str, ...]]] = []
    for args, _ in links:
        if not all(isinstance(x, Arr) and x.element.kind != "c" and len(x.dims) >= 2 for x in args):
            break
        if len({kind_of(x) for x in args}) != 1:
            break
        a, b, kind = operands(state, args)
        (m, k), (k2, n) = a.dims[-2:], b.dims[-2:]
        outer = stacked(a.dims[:-2], b.dims[:-2])
        if outer is None or k != k2 or k == "0" or not all(x.isdigit() for x in (*outer, m, k, n)):
            break
        if pairs and (pairs[0][2], pairs[0][3:]) != (kind, ((*outer, m, n),)):
            break
        pairs.append((a, b, kind, (*outer, m, n)))
    return pairs


def at(state: State, x: Arr, indices: Sequence[str]) -> Arr:
    """The matrix at these indices."""
    for i in indices:
        part = item_at(state, x, i)
        assert isinstance(part, Arr)
        x = part
    return x


def matrix(e: Emitter, x: Arr, indices: list[str]) -> str:
    """The address of a matrix in its stack."""
    own = x.dims[:-2]
    at = moved(e, own, x.strides, indices[len(indices) - len(own) :])
    return x.data if at == "0" else e.op(f"getelementptr i8, ptr {x.data}, i64 {at}")


def stacked(a: Sequence[str], b: Sequence[str]) -> tuple[str, ...] | None:
    """The outer sizes of two stacks of matrices, where they are known to fit."""
    rank = max(len(a), len(b))
    out = []
    for x, y in zip(("1",) * (rank - len(a)) + tuple(a), ("1",) * (rank - len(b)) + tuple(b), strict=True):
        if x != y and "1" not in (x, y):
            return None
        out.append(y if x == "1" else x)
    return tuple(out)


def fewer(dims: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether an array of these sizes is broadcast to the others, and no more."""
    last = whole[len(whole) - len(dims) :]
    return 0 < len(dims) <= len(whole) and all(n in ("1", m) for n, m in zip(dims, last, strict=True))


def product(state: State, a: Arr, b: Arr, kind: Scalar) -> Val:
    """The product; sizes that don't fit leave to the plan."""
    e, zero = state.e, "0"
    row, column = len(a.dims) == 1, len(b.dims) == 1
    m, k = ("1", a.dims[0]) if row else a.dims[-2:]
    k2, n = (b.dims[0], "1") if column else b.dims[-2:]
    fits(e, k, k2)
    outer = broadcast(e, a.dims[:-2], b.dims[:-2])
    dims = [*outer, *([] if row else [m]), *([] if column else [n])]
    item = str(kind.dtype.itemsize)
    cell = None if dims else e.slot(kind.llvm)
    out = None if cell else create(state, dims, kind.dtype, False)
    target = cell or (out.data if out else "")
    tail = [] if out is None else list(out.strides[len(outer) :])
    steps = [
        *((zero, a.strides[0]) if row else a.strides[-2:]),
        *((b.strides[0], zero) if column else b.strides[-2:]),
        zero if row else tail[0],
        zero if column else tail[-1],
    ]

    def one_product(indices: list[str]) -> None:
        places = []
        for x, data, rest in ((a, a.data, 2), (b, b.data, 2)):
            own = x.dims[:-rest]
            at = moved(e, own, x.strides, indices[len(outer) - len(own) :])
            places.append(data if at == "0" else e.op(f"getelementptr i8, ptr {data}, i64 {at}"))
        at = moved(e, outer, out.strides if out else (), indices)
        places.append(target if at == "0" else e.op(f"getelementptr i8, ptr {target}, i64 {at}"))
        call_loop(state, kind, places, ["1", m, k, n], [item, item, item, *steps])

    def loops(indices: list[str]) -> None:
        if len(indices) == len(outer):
            one_product(indices)
        else:
            counted(e, "0", outer[len(indices)], 1, lambda i: loops([*indices, i]))

    e.flush()
    loops([])
    e.version += 1
    if cell:
        return load(e, kind, cell)
    assert out is not None
    return out


def fits(e: Emitter, a: str, b: str) -> None:
    """Leave to the plan, which raises, unless two sizes are equal."""
    if a != b:
        if a.isdigit() and b.isdigit():
            raise Unlowered("matrices whose sizes do not fit")
        e.bail_if(e.op(f"icmp ne i64 {a}, {b}"))


def broadcast(e: Emitter, a: Sequence[str], b: Sequence[str]) -> list[str]:
    """The outer sizes of two stacks of matrices."""
    rank = max(len(a), len(b))
    left, right = (["1"] * (rank - len(x)) + list(x) for x in (a, b))
    out = []
    for x, y in zip(left, right, strict=True):
        if "1" not in (x, y):
            fits(e, x, y)
        out.append(y if x == "1" else x)
    return out


def moved(e: Emitter, dims: Sequence[str], strides: Sequence[str], indices: Sequence[str]) -> str:
    """The byte offset of a matrix in its stack; an axis of size 1 stands still."""
    offset = "0"
    for n, stride, i in zip(dims, strides, indices, strict=False):
        if n != "1":
            offset = plus(e, offset, times(e, i, stride))
    return offset


def call_loop(state: State, kind: Scalar, places: list[str], dims: list[str], steps: list[str]) -> None:
    """One call of the loop for one pair of matrices."""
    e = state.e
    found = inner_loop(np.matmul, [kind] * 3)
    if found is None:
        raise Unlowered("a matrix product whose inner loop is not known")
    cells = []
    for llvm, texts in (("ptr", places), ("i64", dims), ("i64", steps)):
        cell = e.slot(f"[{len(texts)} x i64]")
        for k, text in enumerate(texts):
            e.line(f"store {llvm} {text}, ptr {e.op(f'getelementptr i64, ptr {cell}, i64 {k}')}")
        cells.append(cell)
    e.leaving()
    loop, data = state.loop(np.matmul, [kind.dtype] * 3, found)
    e.line(f"call void {loop}(ptr {cells[0]}, ptr {cells[1]}, ptr {cells[2]}, ptr {data})")


__all__ = ["Num", "dot", "joined", "matmul"]
