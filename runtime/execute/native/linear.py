"""Products of matrices and vectors by the inner loop of NumPy's own matmul, whatever library is below it.

In: arrays.  Out: their product as a new array, or a number.  What always holds: the loop gets the strides
that NumPy would hand to it, so it takes the same way inside and the result is NumPy's bit by bit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from runtime.execute.native.arrays import create, dense, load, plus, times
from runtime.execute.native.calls import numpy_call
from runtime.execute.native.elementwise import as_lazy, is_array, kind_of, materialized
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Scalar, Unlowered
from runtime.execute.native.lines import counted
from runtime.execute.native.scalars import loop_kinds
from runtime.execute.native.state import State
from runtime.execute.native.ufunc_loops import inner_loop
from runtime.execute.native.values import Arr, Num, Val


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


__all__ = ["Num", "dot", "matmul"]
