"""Reverse mode: a level that links each value to the node that made it, and the walk back over the nodes.

In: results with their cotangents.  Out: the cotangents of inputs.  What always holds: a cotangent that
only this walk holds is added to in place, so reading and writing elements in a loop costs no array each.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.autodiff.levels import (
    Active,
    Level,
    Place,
    bare,
    find_rule,
    fitted,
    has_active,
    here,
    is_inexact,
    no_rule,
    pick,
    unsupported,
    zeros_like,
)
from runtime.autodiff.places import memory_order, part_of, update
from runtime.errors import Span
from runtime.ir.opdef import OpDef
from runtime.ops.adjoint import ZERO, Rule, fit, is_basic

PLAIN = frozenset({float, np.float64, np.float32, np.ndarray, int, complex})  # surely not followed


class Node:
    """One op that was applied.  count: outputs, None for a single one that isn't in a sequence."""

    __slots__ = ("args", "bare", "inputs", "kwargs", "number", "result", "row", "span")
    numbers = itertools.count()

    def __init__(
        self, row: OpDef | None, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: Any
    ) -> None:
        self.number = next(Node.numbers)
        self.span: Span | None = None
        self.row, self.result, self.args, self.kwargs, self.inputs = row, result, args, kwargs, inputs
        # Whether no level follows what the rules look at, so that they can be called directly.
        self.bare = (type(result) in PLAIN and not kwargs and PLAIN.issuperset(map(type, args))) or not (
            has_active(args) or has_active(result) or has_active(kwargs)
        )

    def __lt__(self, other: Node) -> bool:
        return self.number > other.number  # the latest comes out of a heap first


class Reverse(Level):
    """A tape."""

    def input(self, value: Any) -> Active:
        """A value with respect to which derivatives will be asked."""
        return Active(self, value, (Node(None, None, (), {}, ()), 0))

    def record(
        self,
        row: OpDef,
        result: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        found: list[tuple[Place, Active]],
    ) -> Any:
        """The result linked to a new node, as far as it is of a kind that has derivatives."""
        inputs = [(place, x.link) for place, x in found]
        if type(row.run) is np.ufunc:
            kwargs = {}  # casts and the like are no business of the rules
        kept = result
        if row.name in LIGHT:  # their rules look at shapes only, so the arrays needn't be kept
            args = (_ghost(args[0]), *args[1:]) if row.name in LIGHT_FIRST else tuple(map(_ghost, args))
            kept = _ghost(result)
        node = Node(row, kept, args, kwargs, inputs)
        if row.vjp is None:
            node.span = here()
        if isinstance(result, (tuple, list)):
            made: list[Any] = [
                Active(self, x, (node, i)) if is_inexact(x) else x for i, x in enumerate(result)
            ]
            if isinstance(result, tuple):
                return type(result)(*made) if hasattr(result, "_fields") else tuple(made)
            return made
        return Active(self, result, (node, 0)) if is_inexact(result) else result


LIGHT = frozenset(
    {"getitem", "ad.update", "add", "sub", "np.add", "np.subtract", "neg", "np.negative", "np.sum"}
)
LIGHT_FIRST = frozenset({"getitem", "np.sum"})


def _ghost(x: Any) -> Any:
    """A stand-in of the shape and kind of an array."""
    x = bare(x)
    return zeros_like(x) if isinstance(x, np.ndarray) and x.dtype.kind in "fc" else x


class Slot:
    """A cotangent under construction.  owned: nobody else holds the array, so it may be added to in place."""

    __slots__ = ("ct", "owned")

    def __init__(self) -> None:
        self.ct: Any = None
        self.owned = False

    def add(self, ct: Any, owned: bool, add: Callable[[Any, Any], Any]) -> None:
        """Add a contribution."""
        if self.ct is None:
            self.ct, self.owned = ct, owned
        elif self.owned and type(self.ct) is type(ct) is np.ndarray and self.ct.dtype == ct.dtype:
            self.ct += ct
        elif type(self.ct) in PLAIN and type(ct) in PLAIN:
            self.ct = self.ct + ct
            self.owned = type(self.ct) is np.ndarray and self.ct.ndim > 0
        else:
            self.ct, self.owned = add(self.ct, ct), type(bare(ct)) is np.ndarray and np.ndim(bare(ct)) > 0


def backward(
    level: Reverse,
    seeds: Sequence[tuple[Active, Any]],
    inputs: Sequence[Active],
    add: Callable[[Any, Any], Any],
) -> list[Any]:
    """The cotangents of inputs (None where nothing depends on them), given those of some results."""
    slots: dict[tuple[Node, int], Slot] = {}
    heap: list[Node] = []
    queued: set[Node] = set()

    def give(link: tuple[Node, int], ct: Any, owned: bool = False) -> Slot:
        slot = slots.get(link)
        if slot is None:
            slot = slots[link] = Slot()
            if link[0] not in queued:
                queued.add(link[0])
                heapq.heappush(heap, link[0])
        if ct is not None:
            slot.add(ct, owned, add)
        return slot

    for result, ct in seeds:
        give(result.link, ct)
    wanted = {x.link for x in inputs}
    with np.errstate(all="ignore"):
        _walk(level, slots, heap, wanted, give)
    return [slots[x.link].ct if x.link in slots else None for x in inputs]


def _walk(
    level: Reverse,
    slots: dict[tuple[Node, int], Slot],
    heap: list[Node],
    wanted: set[Any],
    give: Callable[..., Slot],
) -> None:
    """Take the nodes from the latest to the earliest."""
    while heap:
        node = heapq.heappop(heap)
        if node.row is None:
            continue
        if isinstance(node.result, (tuple, list)):
            parts = [_taken(slots, (node, i), wanted) for i in range(len(node.result))]
            parts = [
                zeros_like(r) if part is None and is_inexact(r) else part.ct if part else None
                for part, r in zip(parts, node.result, strict=True)
            ]
            _step(level, node, tuple(parts), False, give)
        else:
            slot = _taken(slots, (node, 0), wanted)
            assert slot is not None
            _step(level, node, slot.ct, slot.owned and (node, 0) not in wanted, give)


def _taken(slots: dict[tuple[Node, int], Slot], link: tuple[Node, int], wanted: set[Any]) -> Slot | None:
    """The slot of a result, which isn't needed any more unless it was asked for."""
    return slots.get(link) if link in wanted else slots.pop(link, None)


def _step(level: Reverse, node: Node, ct: Any, owned: bool, give: Callable[..., Slot]) -> None:
    """Hand the cotangent of one node on to its operands."""
    row = node.row
    assert row is not None
    shortcut = SHORTCUTS.get(row.name)
    if shortcut is not None and isinstance(ct, (np.ndarray, np.generic)) and shortcut(node, ct, owned, give):
        return
    done: dict[Any, Any] = {}
    for place, link in node.inputs:
        key = place[0]
        if key not in done:
            rule = find_rule(row.vjp, key)
            if rule is None:
                raise no_rule(row, key, node.span)
            if rule is ZERO:
                done[key] = ZERO
            elif node.bare and type(ct) is not Active and type(ct) is not tuple:
                done[key] = _direct(rule, ct, node)
            else:
                done[key] = level.call(rule, ct, node.result, node.args, node.kwargs)
        operand = pick(node.args[key] if isinstance(key, int) else node.kwargs[key], place[1:])
        if done[key] is ZERO:
            give(link, zeros_like(operand))
            continue
        part = pick(done[key], place[1:])
        give(link, fitted(level, part, operand))


def _direct(rule: Rule, ct: Any, node: Node) -> Any:
    try:
        return rule(ct, node.result, *node.args, **node.kwargs)
    except NotImplementedError as error:
        raise unsupported(error) from error


def _getitem_shortcut(node: Node, ct: Any, owned: bool, give: Callable[..., Slot]) -> bool:
    """Add into the operand's cotangent in place, instead of making zeros around the part that was read."""
    x, key = node.args
    ((place, link),) = node.inputs
    slot = give(link, None)
    if slot.ct is None:
        slot.ct, slot.owned = np.zeros(x.shape, x.dtype), True
    elif not (slot.owned and type(slot.ct) is np.ndarray and slot.ct.dtype == ct.dtype):
        return False
    if is_basic(key):
        slot.ct[key] += ct
    else:
        np.add.at(slot.ct, key, ct)
    return True


def _update_shortcut(node: Node, ct: Any, owned: bool, give: Callable[..., Slot]) -> bool:
    """Clear the part that was written in place, after a copy if others hold the cotangent."""
    place = node.args[2]
    if type(ct) is not np.ndarray or has_active(node.args[1]):
        return False
    links = {where[0]: link for where, link in node.inputs}
    if 1 in links:
        give(links[1], fit(part_of(ct, place), node.args[1]))
    if 0 in links:
        if not owned or memory_order(ct) != place.axes:
            ct = place.buffer(ct)
        give(links[0], update(ct, 0, place.now()), True)
    return True


SHORTCUTS: dict[str, Callable[[Node, Any, bool, Callable[..., Slot]], bool]] = {
    "getitem": _getitem_shortcut,
    "ad.update": _update_shortcut,
}
