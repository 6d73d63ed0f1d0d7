"""What is called with lists: Python's `sum`, and NumPy's functions, which take a list for an array.

In: lists, and for `sum` arrays.  Out: the result.  What always holds: `sum` adds in Python's order, and from
Python 3.12 on as exactly; what an empty list gives is left to the plan.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.execute.native import lists
from runtime.execute.native.array_lists import as_array, form_of, joined_rows, trips
from runtime.execute.native.arrays import copied, create, item_at, store, turned
from runtime.execute.native.elementwise import assigned, is_array, operator
from runtime.execute.native.emit import Emitter
from runtime.execute.native.floats import cast
from runtime.execute.native.kinds import PYTHON_FLOAT, PYTHON_INT, Unlowered
from runtime.execute.native.scalars import binary
from runtime.execute.native.state import State
from runtime.execute.native.values import LISTS, Arr, ArrayList, Lazy, Num, Queue, Val, lift, one
from runtime.lazy import Lazy as LazyModule
from runtime.ops.table import BY_OPTION

if TYPE_CHECKING:
    from runtime.execute.native import queues
else:
    queues = LazyModule("runtime.execute.native.queues")

COMPENSATED = sys.version_info >= (3, 12)  # how `sum` adds floats


def with_arrays(state: State, op: str, args: list[Val], keywords: dict[str, Val]) -> Val | list[Val]:
    """The result of one of NumPy's functions on lists, or its arguments with arrays in place of lists."""
    args = [queues.settled(state, x) if isinstance(x, Queue) else x for x in args]
    if op in _JOINING and isinstance(args[0], ArrayList) and len(args) == 1 and not keywords:
        return _JOINING[op](state, args[0])
    if op in _JOINING or any(isinstance(x, LISTS) for x in keywords.values()):
        raise Unlowered(f"{op} of a list")
    if op in BY_OPTION and len(args) + len(keywords) > 1:
        raise Unlowered(f"{op} of a list, with options")
    return [lists.as_array(state, x) if isinstance(x, LISTS) else x for x in args]


def _rows(state: State, x: ArrayList) -> Arr:
    """`np.vstack`."""
    return as_array(state, x) if _rank(state, x) == 1 else joined_rows(state, x)


def _ends(state: State, x: ArrayList) -> Arr:
    """`np.hstack`."""
    if _rank(state, x) != 1:
        raise Unlowered("np.hstack of arrays with several axes")
    return joined_rows(state, x)


def _columns(state: State, x: ArrayList) -> Arr:
    """`np.column_stack`."""
    if _rank(state, x) != 1:
        raise Unlowered("np.column_stack of arrays with several axes")
    return copied(state, turned(as_array(state, x), (1, 0)))


def _rank(state: State, x: ArrayList) -> int:
    return len(form_of(state, x).dims)


_JOINING: dict[str, Callable[[State, ArrayList], Arr]] = {
    "np.stack": as_array,
    "np.concatenate": joined_rows,
    "np.vstack": _rows,
    "np.hstack": _ends,
    "np.column_stack": _columns,
}


# ------------------------------------------------------------------------------------------------ sum
def total(state: State, x: Val) -> Val:
    """`sum(x)` of a list, or of an array along its first axis."""
    e = state.e
    if isinstance(x, Arr) and x.dims:
        n = x.dims[0]
    elif isinstance(x, LISTS):
        n = lists.length(e, x).text
    else:
        raise Unlowered("sum of this")
    e.flush()
    if not n.isdigit() or n == "0":
        e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))

    def item(k: str) -> Val:
        return item_at(state, x, k) if isinstance(x, Arr) else lists.item(state, x, k)

    first = item("0")
    rest = str(int(n) - 1) if n.isdigit() else e.effect(f"sub i64 {n}, 1")
    if isinstance(first, Arr):
        return _of_arrays(state, first, rest, item)
    if not isinstance(first, Num) or len(first.members) != 1 or first.scalar.kind == "c":
        raise Unlowered("sum of these")
    return _of_numbers(state, first, rest, item)


def _of_arrays(state: State, first: Arr, rest: str, item: Callable[[str], Val]) -> Arr:
    """The sum of arrays, which are of one shape."""
    e = state.e
    begun = operator(state, "add", lift(0), first)
    if not isinstance(begun, Lazy):
        raise Unlowered("sum of these")
    made = create(state, first.dims, begun.kind.dtype, False)
    assigned(state, made, begun)
    with trips(state, rest) as k:
        x = item(e.effect(f"add nuw nsw i64 {k}, 1"))
        assert isinstance(x, Arr)
        for n, m in zip(x.dims, made.dims, strict=True):
            if n != m:
                e.bail_if(e.effect(f"icmp ne i64 {n}, {m}"))
        more = operator(state, "add", made, x)
        assert is_array(more)
        assigned(state, made, more)
        e.flush()
    return made


def _of_numbers(state: State, first: Num, rest: str, item: Callable[[str], Val]) -> Num:
    """The sum of numbers of one kind."""
    e = state.e
    begun = binary(e, "add", one(PYTHON_INT, "0", 0), first)
    kind = begun.scalar
    cell, lost = e.slot("i64"), e.slot("double")
    store(e, kind, cell, begun)
    exactly = COMPENSATED and kind == PYTHON_FLOAT
    if exactly:
        e.line(f"store double 0.0, ptr {lost}")
    with trips(state, rest) as k:
        x = item(e.effect(f"add nuw nsw i64 {k}, 1"))
        assert isinstance(x, Num)
        before = _read(e, kind.llvm, cell)
        if exactly:
            store(e, kind, cell, one(kind, _compensated(e, before, cast(e, x, kind).text, lost)))
        else:
            more = binary(e, "add", one(kind, before), x)
            if more.members != (kind,):
                raise Unlowered("a sum that is of another kind with each number")
            store(e, kind, cell, more)
        e.flush()
    found = _read(e, kind.llvm, cell)
    if not exactly:
        return one(kind, found)
    more_text = _read(e, "double", lost)
    apart = e.effect(f"fsub double {more_text}, {more_text}")
    finite = e.effect(f"fcmp oeq double {apart}, 0.0")
    return one(kind, e.select(finite, "double", e.effect(f"fadd double {found}, {more_text}"), found))


def _read(e: Emitter, llvm: str, cell: str) -> str:
    return e.effect(f"load {llvm}, ptr {cell}")


def _compensated(e: Emitter, a: str, b: str, lost: str) -> str:
    """The sum of two floats; what is lost by rounding is added up in a cell (Neumaier's way)."""
    e.declare("declare double @llvm.fabs.f64(double)")
    made = e.effect(f"fadd double {a}, {b}")
    sizes = [e.effect(f"call double @llvm.fabs.f64(double {x})") for x in (a, b)]
    first = e.effect(f"fcmp oge double {sizes[0]}, {sizes[1]}")
    large, small = e.select(first, "double", a, b), e.select(first, "double", b, a)
    error = e.effect(f"fadd double {e.effect(f'fsub double {large}, {made}')}, {small}")
    before = _read(e, "double", lost)
    e.line(f"store double {e.effect(f'fadd double {before}, {error}')}, ptr {lost}")
    return made
