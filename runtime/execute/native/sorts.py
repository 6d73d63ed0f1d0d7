"""Sorted copies and medians, by the functions that NumPy has for C; Python's `sorted` of numbers.

In: arrays, and for `sorted` lists.  Out: a new array, a number or a list.  What always holds: what is sorted
is a copy that nobody else knows; NumPy reports no flags that its sorting raises, and lets other threads run.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
from collections.abc import Callable, Hashable

import numpy as np

from runtime.execute.native import abi, list_methods, lists, reductions
from runtime.execute.native.along import BOOL
from runtime.execute.native.array_lists import trips
from runtime.execute.native.arrays import copied, create, item_at, load, store, times
from runtime.execute.native.calls import by_name, new_like
from runtime.execute.native.elementwise import as_lazy, combined
from runtime.execute.native.kinds import INT64, Unlowered
from runtime.execute.native.reductions import constant
from runtime.execute.native.shapes import flatten
from runtime.execute.native.shares import Serial, wait
from runtime.execute.native.state import State
from runtime.execute.native.ufunc_loops import forget, put_away
from runtime.execute.native.values import Arr, Listing, Lists, Num, Shared, Val, one

Handler = Callable[[State, list[Val], dict[str, Val]], Val]
PLACES = {"Sort": 129, "Partition": 296}  # in NumPy's table
QUICK, STABLE = 0, 2  # NumPy's numbers for ways to sort


@functools.cache
def _addresses() -> dict[str, int]:
    """Where the functions are; empty if they are not what they should be."""
    table = abi.functions()
    x = np.array([2.0, 0.5, 3.0, 1.0])
    i, o = ctypes.c_int, ctypes.py_object
    sort = ctypes.PYFUNCTYPE(i, o, i, i)(table[PLACES["Sort"]])
    part = ctypes.PYFUNCTYPE(i, o, o, i, i)(table[PLACES["Partition"]])
    a, b = x.copy(), x.copy()
    works = sort(a, 0, STABLE) == 0 and part(b, np.array([1, 3]), 0, QUICK) == 0
    works = works and a.tolist() == [0.5, 1.0, 2.0, 3.0] and b[1] == 1.0 and b[3] == 3.0
    return {name: table[place] for name, place in PLACES.items()} if works else {}


def _call(state: State, name: str, *arguments: str) -> None:
    """Call one of them; where it fails, the plan does, too."""
    e = state.e
    if e.part is not None:
        raise Serial
    if name not in _addresses():
        raise Unlowered(f"PyArray_{name}, which is not where it was")
    function = state.address(f"PyArray_{name}", _addresses()[name])
    e.flush()
    put_away(e)
    failed = e.effect(f"call i32 {function}({', '.join(arguments)})")
    forget(e)
    e.bail_if(e.effect(f"icmp ne i32 {failed}, 0"))
    wait(state)
    state.released = True
    e.version += 1


def _ordered(state: State, made: Arr, axis: int, how: int = QUICK) -> Arr:
    """The array, which was just made, sorted in its place."""
    if made.element.kind not in "biuf":
        raise Unlowered(f"sorting of {made.dtype}")
    _call(state, "Sort", f"ptr {made.handle}", f"i32 {axis}", f"i32 {how}")
    return made


def _sort(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.sort(x, axis)`."""
    given = by_name(args, keywords, "a", "axis")
    x, axis = given["a"], constant(given.get("axis"), -1)
    if not isinstance(x, Arr) or not x.dims:
        raise Unlowered("np.sort of something else than an array")
    if axis is None:
        return _ordered(state, _flat(state, x), 0)
    if type(axis) is not int or not -len(x.dims) <= axis < len(x.dims):
        raise Unlowered("np.sort along an axis that is not constant")
    new_like(x)
    return _ordered(state, copied(state, x), axis % len(x.dims))


def _flat(state: State, x: Arr) -> Arr:
    """A copy with one axis."""
    made = flatten(state, [x], {})
    assert isinstance(made, Arr)
    return made


def _median(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.median(x)` of all elements: the mean of the one or two in the middle; NaN if there is any."""
    given, e = by_name(args, keywords, "a", "axis"), state.e
    x, axis = given["a"], constant(given.get("axis"), None)
    if not isinstance(x, Arr) or x.element.kind not in "biuf" or not x.dims:
        raise Unlowered("np.median of this")
    if axis is not None and (len(x.dims) > 1 or axis not in (0, -1) or type(axis) is not int):
        raise Unlowered("np.median along an axis")
    made = _flat(state, x)
    n, item = made.dims[0], made.dtype.itemsize
    if n == "0":
        raise Unlowered("np.median of no elements")
    if not n.isdigit():
        e.bail_if(e.op(f"icmp eq i64 {n}, 0"))
    last = e.op(f"sub i64 {n}, 1")
    low, high = e.op(f"lshr i64 {last}, 1"), e.op(f"lshr i64 {n}, 1")
    picked = create(state, ["3"], INT64.dtype, False)
    for k, text in enumerate((low, high, last)):
        store(e, INT64, e.op(f"getelementptr i64, ptr {picked.data}, i64 {k}"), one(INT64, text))
    _call(state, "Partition", f"ptr {made.handle}", f"ptr {picked.handle}", "i32 0", f"i32 {QUICK}")

    def at(place: str) -> str:
        return e.op(f"getelementptr i8, ptr {made.data}, i64 {times(e, place, str(item))}")

    count = e.op(f"add i64 {e.op(f'sub i64 {high}, {low}')}, 1")
    if n.isdigit():
        count = "1" if int(n) % 2 else "2"
    middle = dataclasses.replace(made, data=at(low), dims=(count,), handle=None)
    mean = reductions.reduce(state, "mean", [middle], {}, False)
    assert isinstance(mean, Num)
    kind = made.element
    if kind.kind != "f":
        return mean
    greatest = load(e, kind, at(last)).text
    odd = e.op(f"fcmp uno {kind.llvm} {greatest}, {greatest}")
    return one(kind, e.select(odd, kind.llvm, greatest, mean.text))


def in_order(state: State, maker: Hashable, x: Val) -> Lists:
    """`sorted(x)` of an array or a list of numbers; Python's order of NaN is left to the plan."""
    e = state.e
    source = lists.view(state, x) if isinstance(x, (Listing, Shared)) else x
    if not isinstance(source, Arr) or len(source.dims) != 1 or source.element.kind not in "iuf":
        raise Unlowered("sorted of this")
    kind = lists.of_kind(state, x) if isinstance(x, (Listing, Shared)) else source.element
    if kind.kind == "f":
        nan = combined(state, [as_lazy(e, source)], BOOL, lambda v: _is_nan(state, v))
        found = reductions.reduce(state, "any", [nan], {}, False)
        assert isinstance(found, Num)
        e.bail_if(found.text)
    made = _ordered(state, copied(state, source), 0, STABLE)
    new = list_methods.joined(state, maker, [])
    with trips(state, made.dims[0]) as k:
        item = item_at(state, made, k)
        assert isinstance(item, Num)
        lists.append(state, new, one(kind, item.text))
    return new


def _is_nan(state: State, x: Num) -> str:
    return state.e.op(f"fcmp uno {state.e.wide(x.llvm)} {x.text}, {x.text}")


HANDLERS: dict[str, Handler] = {"np.sort": _sort, "np.median": _median}
