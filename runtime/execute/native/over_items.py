"""Python's `min`, `max`, `any` and `all` of numbers in arrays and what native code makes.

In: the function, and what it is called with.  Out: the number.  What always holds: items are compared in
Python's order, so NaN and equal items come out as there; what an empty one raises is left to the plan.
"""

from __future__ import annotations

from typing import Any

from runtime.execute.native import containers, lists
from runtime.execute.native.array_lists import trips
from runtime.execute.native.arrays import item_at, load, store
from runtime.execute.native.kinds import PYTHON_BOOL, Unlowered
from runtime.execute.native.scalars import binary, truth
from runtime.execute.native.state import State
from runtime.execute.native.two_kinds import choose
from runtime.execute.native.values import LISTS, Arr, Num, Val, one
from runtime.ir.graph import Const, Node

_EXTREMES: dict[Any, str] = {min: "lt", max: "gt"}


def known(node: Node) -> bool:
    """Whether a node is such a call, with what may have items."""
    if node.op != "py.call" or node.attr("starred") or not isinstance(node.inputs[0], Const):
        return False
    single = len(node.inputs) - len(node.keywords) == 2 and node.keywords in ((), ("default",))
    return single and node.inputs[0].value in (min, max, any, all)


def called(state: State, node: Node, args: list[Val]) -> Val:
    """The result of such a call."""
    assert isinstance(node.inputs[0], Const)
    target = node.inputs[0].value
    x = containers.listed(state, args[1], target) or args[1]
    if not (isinstance(x, LISTS) or isinstance(x, Arr) and len(x.dims) == 1):
        raise Unlowered(f"{target.__name__} of this")
    if target in _EXTREMES:
        return _extreme(state, _EXTREMES[target], x, args[2] if node.keywords else None)
    return _asked(state, x, target is any)


def _size(state: State, x: Val) -> str:
    return x.dims[0] if isinstance(x, Arr) else lists.length(state.e, x).text  # type: ignore[arg-type]


def _item(state: State, x: Val, k: str) -> Num:
    found = item_at(state, x, k) if isinstance(x, Arr) else lists.item(state, x, k)  # type: ignore[arg-type]
    if not isinstance(found, Num) or len(found.members) != 1 or found.scalar.kind == "c":
        raise Unlowered("a search among other things than numbers of one kind")
    return found


def _extreme(state: State, op: str, x: Val, default: Val | None) -> Num:
    """The first of the largest or smallest items."""
    e, n = state.e, _size(state, x)
    e.flush()
    cell = e.slot("i64")
    if default is None:
        if not n.isdigit() or n == "0":
            e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))
    elif not isinstance(default, Num) or len(default.members) != 1:
        raise Unlowered("a default of another kind")
    else:
        empty = e.effect(f"icmp eq i64 {n}, 0")
    e.line(f"store i64 0, ptr {cell}")
    kind = None
    with trips(state, n) as k:
        item = _item(state, x, k)
        kind = item.scalar
        best = load(e, kind, cell)
        better = truth(e, binary(e, op, item, best))
        chosen = e.either(e.effect(f"icmp eq i64 {k}, 0"), better)
        store(e, kind, cell, one(kind, e.select(chosen, kind.llvm, item.text, best.text)))
        e.flush()
    assert kind is not None
    best = load(e, kind, cell)
    return best if default is None else choose(e, empty, default, best)


def _asked(state: State, x: Val, wanted: bool) -> Num:
    """Whether any item is true (wanted: False: whether all are)."""
    e = state.e
    e.flush()
    cell = e.slot("i1")
    e.line(f"store i1 {str(not wanted).lower()}, ptr {cell}")
    with trips(state, _size(state, x)) as k:
        found, item = e.effect(f"load i1, ptr {cell}"), truth(e, _item(state, x, k))
        e.line(f"store i1 {e.either(found, item) if wanted else e.both(found, item)}, ptr {cell}")
        e.flush()
    return one(PYTHON_BOOL, e.effect(f"load i1, ptr {cell}"))
