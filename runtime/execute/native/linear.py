"""Products of matrices and vectors by the inner loop of NumPy's own matmul, whatever library is below it.

In: arrays.  Out: their product as a new array, or a number.  What always holds: the loop gets the strides
that NumPy would hand to it, so it takes the same way inside and the result is NumPy's bit by bit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.execute.native import products
from runtime.execute.native.arrays import create, dense, disjoint, item_at, load, plus, times
from runtime.execute.native.calls import numpy_call
from runtime.execute.native.elementwise import (
    as_lazy,
    assigned,
    is_array,
    kind_of,
    materialized,
)
from runtime.execute.native.emit import TRUE, Emitter
from runtime.execute.native.kinds import Scalar, Unlowered
from runtime.execute.native.lines import counted
from runtime.execute.native.panels import either
from runtime.execute.native.scalars import loop_kinds
from runtime.execute.native.shapes import side_by_side
from runtime.execute.native.shares import own_memory, share, threads_now
from runtime.execute.native.state import State
from runtime.execute.native.ufunc_loops import inner_loop
from runtime.execute.native.values import Arr, Lazy, Num, Val

# the factors, what is done with their product, and by which operator, with the product on the right or not
Link = tuple[Sequence[Val], Callable[[Val, Val], Val], str, bool]
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
    # products of single numbers: where matmul multiplies them itself, np.dot asks the library, which adds no
    # zero to one product (it may be -0.0), and flags infinite ones among several
    inner = a.dims[-1]
    if inner == "1":
        raise Unlowered("np.dot of a column and a row, or of two numbers")
    if not inner.isdigit():
        state.e.bail_if(state.e.op(f"icmp eq i64 {inner}, 1"))
    return product(state, a, b, kind)


def norm(state: State, args: Sequence[Val]) -> Val:
    """`np.linalg.norm(x)` of floats: the root of the product of all elements with themselves."""
    x = args[0] if len(args) == 1 else None
    if isinstance(x, Lazy):
        x = materialized(state, x)
    if not isinstance(x, Arr) or x.element.kind != "f" or x.turned:  # it goes through them as they lie
        raise Unlowered("np.linalg.norm of this")
    descending(state.e, x)
    flat = side_by_side(state, x)
    return numpy_call(state, "sqrt", [product(state, flat, flat, flat.element)], {})


def descending(e: Emitter, x: Arr) -> None:
    """Leave to the plan an array whose axes lie in another order than C's."""
    steps = [s for s, n in zip(x.strides, x.dims, strict=True) if n != "1"]
    for far, near in zip(steps, steps[1:], strict=False):
        if not (far in e.strides and near in e.strides):
            a, b = (e.call("i64", "llvm.abs.i64", ("i64", s), ("i1", "false")) for s in (far, near))
            e.bail_if(e.op(f"icmp slt i64 {a}, {b}"))


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
            x = materialized(state, as_lazy(state.e, x, kind), True)
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
    if math.prod(map(int, dims[-2:])) * kind.dtype.itemsize > ROOM:
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
    owns = [onto(state, pair, link, dtype) for pair, link in zip(pairs, links, strict=False)]
    if math.prod(map(int, outer)) < 2 and (place is None or other is not place or owns[0] is None):
        return None
    target = create(state, dims, dtype, False) if place is None else place

    def one_link(
        places: list[str],
        sizes: list[str],
        steps: list[str],
        compute: Callable[[Val, Val], Val],
        given: Val,
        to: Arr,
        room: Arr,
        ours: bool = True,
    ) -> None:
        e.unusual, before = e.unusual or not ours, e.unusual
        call_loop(state, kind, [*places, room.data], sizes, steps, ours)
        e.version += 1
        assigned(state, to, compute(given, room))
        e.unusual = before

    def one_matrix(room: Arr, indices: list[str]) -> None:
        to = at(state, target, indices)
        given = other
        if other is target:
            given = to
        elif whole:
            assert isinstance(other, Arr)
            given = at(state, other, indices)
        for (a, b, *_), (_, compute, *_), own in zip(pairs, links, owns, strict=False):
            places = [matrix(e, a, indices), matrix(e, b, indices)]
            steps = strides_of(kind, a, b, room)
            sizes = ["1", a.dims[-2], a.dims[-1], dims[-1]]
            by_room = functools.partial(one_link, places, sizes, steps, compute, given, to, room)
            if own is None or given is not to:
                by_room()
            else:
                at_once = functools.partial(call_own, state, kind, own, [*places, to.data])
                either(e, as_tried(state, own), at_once, functools.partial(by_room, ours=False))
            e.version += 1
            given = to

    def some(first: str, last: str) -> None:
        size = str(math.prod(map(int, dims[-2:])))
        found = own_memory(
            state, size, kind.dtype.itemsize, lambda size: create(state, [size], kind.dtype, False).data
        )
        room = Arr(kind.dtype, found, dims[-2:], dense(e, dims[-2:], kind.dtype.itemsize))
        over(e, outer, first, last, functools.partial(one_matrix, room))

    e.flush()
    apart = [by_itself(state, pair) if own is None else own for pair, own in zip(pairs, owns, strict=True)]
    if other is not target:
        apart.append(by_itself(state, pairs[0]))
    stacked_over(state, outer, some, apart)
    e.version += 1
    return target, len(pairs)


def by_itself(state: State, pair: Pair) -> products.Found | None:
    """Code of our own for the product alone."""
    a, b, kind, dims = pair
    result = Arr(kind.dtype, "", dims[-2:], dense(state.e, dims[-2:], kind.dtype.itemsize))
    return our_code(state.e, kind, ["1", a.dims[-2], a.dims[-1], dims[-1]], strides_of(kind, a, b, result))[0]


def stacked_over(
    state: State,
    outer: Sequence[str],
    some: Callable[[str, str], None],
    owns: Sequence[products.Found | None],
) -> None:
    """`some(first, last)` of all matrices of a stack; threads share them if all products are by our code,
    as libraries have threads of their own."""
    count = functools.reduce(functools.partial(times, state.e), outer, "1")
    found = [own for own in owns if own is not None]
    if count == "1" or len(found) < len(owns):
        some("0", count)
        return
    tried = TRUE
    for own in {x.large: x for x in found}.values():
        tried = state.e.both(tried, as_tried(state, own))
    share(state, "0", count, some, cost=sum(own.work for own in found), only=tried)


def over(
    e: Emitter, outer: Sequence[str], first: str, last: str, one: Callable[[list[str]], None]
) -> None:  # fmt: skip
    """`one(indices)` for matrices of a stack, from one number to another."""
    axes = [k for k, n in enumerate(outer) if n != "1"]

    def matrix(number: str) -> None:
        indices = ["0"] * len(outer)
        for k in axes[:0:-1]:
            indices[k] = e.op(f"urem i64 {number}, {outer[k]}")
            number = e.op(f"udiv i64 {number}, {outer[k]}")
        if axes:
            indices[axes[0]] = number
        one(indices)

    if (first, last) == ("0", "1"):
        matrix("0")
    else:
        counted(e, first, last, 1, matrix)


Pair = tuple[Arr, Arr, Scalar, tuple[str, ...]]


def onto(state: State, pair: Pair, link: Link, dtype: np.dtype[Any]) -> products.Found | None:
    """Code of our own that adds the product to what is there, or takes it off."""
    a, b, kind, dims = pair
    *_, op, left = link
    instruction = "fadd" if op == "add" else "fsub" if op == "sub" and left else ""
    if not instruction or dtype != kind.dtype:
        return None
    result = Arr(dtype, "", dims[-2:], dense(state.e, dims[-2:], dtype.itemsize))
    sizes = ["1", a.dims[-2], a.dims[-1], dims[-1]]
    return our_code(state.e, kind, sizes, strides_of(kind, a, b, result), instruction)[0]


def strides_of(kind: Scalar, a: Arr, b: Arr, c: Arr) -> list[str]:
    """The steps that NumPy's loop is given for one pair of matrices."""
    item = str(kind.dtype.itemsize)
    return [item, item, item, *a.strides[-2:], *b.strides[-2:], *c.strides[-2:]]


def alike(state: State, links: Sequence[Link]) -> list[Pair]:
    """The factors of the links, their kind, and the sizes of the product, for as many as give the same."""
    pairs: list[Pair] = []
    for args, *_ in links:
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

    e.flush()
    own, usual = our_code(e, kind, ["1", m, k, n], [item, item, item, *steps])
    stacked_over(
        state, outer, lambda first, last: over(e, outer, first, last, one_product), [None if usual else own]
    )
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


def call_loop(
    state: State, kind: Scalar, places: list[str], dims: list[str], steps: list[str], ours: bool = True
) -> None:
    """One call of the loop for one pair of matrices, or of code of our own that does the same.

    ours: whether it may be our own; not where the library has other threads than that was tried with."""
    e = state.e
    loop = inner_loop(np.matmul, [kind] * 3)
    if loop is None:
        raise Unlowered("a matrix product whose inner loop is not known")
    own, usual = our_code(e, kind, dims, steps) if ours else (None, {})
    if own is None:
        by_library(state, kind, places, dims, steps, loop)
        return
    fits = TRUE
    for text, n in usual.items():
        fits = e.both(fits, e.effect(f"icmp eq i64 {text}, {n}"))
    either(
        e,
        e.both(fits, as_tried(state, own)),
        lambda: call_own(state, kind, own, places),
        lambda: by_library(state, kind, places, dims, steps, loop),
    )


def our_code(
    e: Emitter, kind: Scalar, dims: list[str], steps: list[str], onto: str = ""
) -> tuple[products.Found | None, dict[str, int]]:
    """The function for these sizes and strides, if there is one, and what sizes it is for."""
    usual = {x: e.likely[x] for x in dims if x in e.likely and not onto}
    texts = [str(usual.get(x, x)) for x in dims[1:]]
    if not all(x.lstrip("-").isdigit() for x in (*texts, *steps)):
        return None, usual
    m, k, n = map(int, texts)
    a, b, c = ((int(steps[i]), int(steps[i + 1])) for i in (3, 5, 7))
    return products.find(kind, (m, k, n), a, b, c, onto=onto), usual


def as_tried(state: State, own: products.Found) -> str:
    """Whether the library has as many threads as it had when the function was compared with it, and the
    function is as fast."""
    e = state.e
    asked = e.effect(f"call i32 {state.address('blas_threads', products.threads_address())}()")
    same = e.effect(f"icmp eq i32 {asked}, {own.threads}")
    if not own.large:
        return same
    return e.both(same, e.op(f"icmp sge i64 {threads_now(state, own.threads)}, {own.threads}"))


def call_own(state: State, kind: Scalar, own: products.Found, places: list[str]) -> None:
    """A call of our own code, which threads share."""
    e = state.e
    lengths = stored_words(e, "i64", [*map(str, own.lengths), "0"])
    factors = places[1::-1] if own.turned else places[:2]
    arguments = ", ".join(f"ptr {x}" for x in (*factors, places[2], lengths))
    state.objects[f"autograph_memory_{own.name}"] = own.memory  # is kept as long as the code

    def some(first: str, last: str) -> None:
        place = state.address(own.name, own.address)
        e.line(f"call void {place}({arguments}, {kind.llvm} {own.zero}, i64 {first}, i64 {last})")

    share(state, "0", str(own.units), some, work=str(own.work))
    if own.by_rows:
        state.spread.add(places[2])


def by_library(
    state: State, kind: Scalar, places: list[str], dims: list[str], steps: list[str], found: tuple[int, int]
) -> None:
    """One call of NumPy's loop."""
    e = state.e
    cells = [stored_words(e, *given) for given in (("ptr", places), ("i64", dims), ("i64", steps))]
    e.leaving()
    loop, data = state.loop(np.matmul, [kind.dtype] * 3, found)
    e.line(f"call void {loop}(ptr {cells[0]}, ptr {cells[1]}, ptr {cells[2]}, ptr {data})")


def stored_words(e: Emitter, llvm: str, texts: list[str]) -> str:
    """Words on the stack, one after the other."""
    cell = e.slot(f"[{len(texts)} x i64]")
    for k, text in enumerate(texts):
        e.line(f"store {llvm} {text}, ptr {e.op(f'getelementptr i64, ptr {cell}, i64 {k}')}")
    return cell


__all__ = ["Num", "dot", "joined", "matmul"]
