"""Reductions of arrays along axes: sums as NumPy adds them up, products, extremes, means, variances.

In: the name of a reduction, its operand and options.  Out: a number, an array, or (for whole lines whose axis
is kept) a lazy array.  What always holds: floats are added in NumPy's own order, pairwise along a line and
one after the other across lines, so results are equal bit for bit; layouts for which NumPy's order is another
one are not lowered.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime.execute.native import across, element_ops
from runtime.execute.native.across import STEP
from runtime.execute.native.along import BOOL, LONG, by_lines, one_line, squared, stored, whole
from runtime.execute.native.arrays import dense, times
from runtime.execute.native.elementwise import apply, as_lazy, cast_to, combined, converted
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import FLOAT64, Scalar, Unlowered, literal, numpy_scalar
from runtime.execute.native.lines import shared
from runtime.execute.native.state import State
from runtime.execute.native.values import EXACT, Arr, Lazy, Num, Static, Tup, Val, one

ULONG, BYTE = numpy_scalar(np.dtype(np.uint64)), numpy_scalar(np.dtype(np.uint8))
FEW = 8  # elements of a line from which on NumPy adds up several of them side by side
EXACT_MEAN = 1 << 21
OPTIONS = {"axis", "keepdims"}
TYPED = {"sum", "prod", "mean", "var", "std"}  # those that are told in which dtype to compute
FREEDOM = dict.fromkeys(("var", "std"), ("ddof", "correction"))


def cast(state: State, args: Sequence[Val], keywords: Mapping[str, Val]) -> Val:
    """`x.astype(dtype)`."""
    if len(args) != 2 or not isinstance(args[1], Static) or any(k != "copy" for k in keywords):
        raise Unlowered("astype with options")
    copy = keywords.get("copy")
    if copy is not None and not (isinstance(copy, Num) and copy.const is True):
        raise Unlowered("astype without a copy")
    return cast_to(state, args[0], np.dtype(args[1].value))


def reduce(state: State, name: str, args: Sequence[Val], keywords: Mapping[str, Val], lazily: bool) -> Val:
    """`np.name(x, axis, ...)`; lazily: it keeps the last axis, which it reduces, and may be computed late."""
    given = dict(keywords)
    if len(args) == 2 and "axis" not in given:
        given["axis"] = args[1]
    elif len(args) != 1:
        raise Unlowered(f"np.{name} with options by position")
    free = [given[option] for option in FREEDOM.get(name, ()) if option in given]
    known = OPTIONS | ({"dtype"} if name in TYPED else set()) | set(FREEDOM.get(name, ()))
    if not set(given) <= known or len(free) > 1:
        raise Unlowered(f"np.{name} with options")
    x = as_lazy(state.e, args[0])
    if name in ("argmax", "argmin") and isinstance(given.get("axis"), Tup):
        raise Unlowered(f"np.{name} along several axes")
    axes = _axes(given.get("axis"), len(x.dims))
    keep, freedom = (
        constant(given.get("keepdims"), False),
        constant(free[0] if free else None, 0),
    )
    if name == "linalg.norm":
        if "axis" not in keywords or len(axes) != 1 or x.kind.kind != "f":
            raise Unlowered("np.linalg.norm that is no sum along an axis")  # NumPy asks BLAS for it
        squares = squared(state, x)
        rest = {k: v for k, v in keywords.items() if k in ("axis", "keepdims")}
        total = reduce(state, "sum", [squares], rest, lazily)
        if len(rest) != len(keywords) or not isinstance(total, (Arr, Lazy)):
            raise Unlowered("np.linalg.norm with options")
        return apply(state, np.sqrt, (total,))
    x = typed(state, name, x, given.get("dtype"), axes)
    _check_layout(state.e, x)
    if not axes or type(keep) is not bool or type(freedom) is not int:
        raise Unlowered(f"np.{name} with these options")
    if name not in ("sum", "prod", "any", "all"):
        _never_empty(state.e, x, axes)
    last = len(x.dims) - 1
    if len(axes) == len(x.dims) and not keep:
        return whole(state, name, one_line(state, name, x, 0), freedom)
    if axes == (last,) and not keep and _short(name, x):
        return _side_by_side(state, name, x)
    if axes == tuple(range(axes[0], last + 1)):
        made = by_lines(state, name, one_line(state, name, x, axes[0]), freedom)
        if lazily:
            return made
        return stored(state, made, x.dims[: axes[0]], len(axes) if keep else 0)
    return across.reduced(state, name, x, axes, keep, freedom)


# ------------------------------------------------------------------------------------------ what is asked
def constant(x: Val | None, default: Any) -> Any:
    if x is None:
        return default
    if isinstance(x, Num):
        return x.const
    return x.value if isinstance(x, Static) else Ellipsis


def _axes(given: Val | None, rank: int) -> tuple[int, ...]:
    """The axes to reduce, in order."""
    if given is None or (isinstance(given, Static) and given.value is None):
        return tuple(range(rank))
    found = [constant(x, None) for x in (given.items if isinstance(given, Tup) else (given,))]
    if any(type(k) is not int or not -rank <= k < rank for k in found):
        raise Unlowered("a reduction along an axis that is not constant")
    axes = sorted(k % rank for k in found)
    if len(set(axes)) != len(axes):
        raise Unlowered("a reduction twice along one axis")
    return tuple(axes)


def _exact_double(state: State, name: str, x: Lazy, axes: Sequence[int]) -> Scalar:
    """The kind in which the mean of integers is computed; NumPy adds them up in another order, which gives
    the same only where all sums are exact."""
    e, size = state.e, "1"
    for axis in axes:
        size = times(e, size, x.dims[axis])
    if x.kind.bits > 32:
        _bounded(state, name, x, size)
    elif not size.isdigit():
        e.bail_if(e.op(f"icmp ugt i64 {size}, {EXACT_MEAN}"))
    elif int(size) > EXACT_MEAN:
        raise Unlowered(f"np.{name} of very many integers")
    return FLOAT64


def _bounded(state: State, name: str, x: Lazy, count: str) -> None:
    """Leave to the plan where the sum of so many integers in 64 bits might be no exact float."""
    e, signed = state.e, x.kind.kind == "i"
    if x.cost or not x.leaves:
        raise Unlowered(f"np.{name} of 64-bit integers that are no array")
    several = e.call("i64", "llvm.umax.i64", ("i64", count), ("i64", "1"))
    most = e.op(f"udiv i64 {EXACT}, {several}")

    def beyond(v: Num) -> str:
        wide, limit = e.wide("i64"), e.splat("i64", most)
        if not signed:
            return e.op(f"icmp ugt {wide} {v.text}, {limit}")
        moved, range_ = (
            e.op(f"add {wide} {v.text}, {limit}"),
            e.op(f"shl {wide} {limit}, {e.splat('i64', '1')}"),
        )
        return e.op(f"icmp ugt {wide} {moved}, {range_}")

    found = reduce(state, "any", [combined(state, [x], BOOL, beyond)], {}, False)
    assert isinstance(found, Num)
    e.bail_if(found.text)


def typed(state: State, name: str, x: Lazy, dtype: Val | None, axes: Sequence[int]) -> Lazy:
    """The operand in the dtype that the reduction computes in."""
    if x.kind.kind == "c":
        raise Unlowered(f"np.{name} of complex numbers")
    kind = x.kind
    if name in ("argmax", "argmin"):
        kind = BYTE if kind.kind == "b" else kind
    elif name in ("sum", "prod") and kind.kind in "biu":
        kind = ULONG if kind.kind == "u" else LONG
    elif name in ("any", "all"):
        e, source = state.e, x
        if kind.kind != "b":
            x = combined(state, [source], BOOL, lambda v: element_ops.truth(e, v))
        kind = BOOL
    elif name in ("mean", "var", "std") and kind.kind != "f":
        kind = _exact_double(state, name, x, axes)
    wanted = constant(dtype, None)
    told = isinstance(wanted, (np.dtype, type, str)) and name not in ("any", "all")
    if wanted is not None and not (told and np.dtype(wanted) == kind.dtype):
        raise Unlowered(f"np.{name} in another dtype")
    return x if x.kind == kind else converted(state.e, x, kind)


def _check_layout(e: Emitter, x: Lazy) -> None:
    """NumPy goes through memory in order of strides: only arrays in C order are known here."""
    rank = len(x.dims)
    for leaf in x.leaves:
        if len(leaf.dims) < rank and not x.plain:
            continue
        if rank == 1 and x.plain and not leaf.strides[0].isdigit():
            raise Unlowered("a reduction of an array that may be reversed")
        if leaf.strides == dense(e, leaf.dims, leaf.dtype.itemsize) or rank == 1:
            continue
        steps = [
            int(s) if s.isdigit() else 0 for s, n in zip(leaf.strides, leaf.dims, strict=True) if n != "1"
        ]
        if 0 in steps or steps != sorted(steps, reverse=True):
            raise Unlowered("a reduction of an array in another order than C's")


def _never_empty(e: Emitter, x: Lazy, axes: Sequence[int]) -> None:
    for axis in axes:
        if x.dims[axis] == "0":
            raise Unlowered("a reduction of no elements")
        if not x.dims[axis].isdigit():
            e.bail_if(e.op(f"icmp eq i64 {x.dims[axis]}, 0"))


# ---------------------------------------------------------------------------------------- short lines
def _short(name: str, x: Lazy) -> bool:
    """Whether lines are so short that several of them are reduced at once, element after element."""
    if len(x.dims) < 2 or x.parts or x.turns or not x.leaves or not x.dims[-1].isdigit():
        return False
    known = name in ("sum", "mean") if x.kind.kind == "f" else name in STEP
    return known and 1 < int(x.dims[-1]) < FEW


def _side_by_side(state: State, name: str, x: Lazy) -> Lazy:
    """Short lines reduced, neighbouring ones in the lanes of a vector."""
    e, kind, count = state.e, x.kind, int(x.dims[-1])
    step = element_ops.lowered(e, STEP["sum" if name == "mean" else name], kind, kind, 2)
    assert step is not None

    def element(indices: Sequence[str]) -> Num:
        found = [x.element([*indices, str(k)]) for k in range(count)]
        total = functools.reduce(lambda a, b: one(kind, step(a, b)), found)
        if kind.kind == "f":  # NumPy begins with a zero: all zeros give one without a sign
            total = one(kind, step(total, one(kind, e.splat(kind.llvm, "0.0"))))
        if name == "mean":
            divisor = e.splat(kind.llvm, literal(count, kind.llvm))
            total = one(kind, e.op(f"fdiv {e.wide(kind.llvm)} {total.text}, {divisor}"))
        return total

    apart = [
        dataclasses.replace(a, dims=(*a.dims, "1"), strides=(*a.strides, str(a.dtype.itemsize)), window=None)
        for a in x.leaves
    ]  # they hold more elements than there are lines
    return Lazy(
        kind, x.dims[:-1], shared(e, kind, element), tuple(apart), cost=count * (x.cost + 1), widest=x.widest
    )
