"""Loops whose trips have nothing to do with each other, so that threads may share them.

In: a `for` that carries nothing but sums, and its operands.  Out: when its trips may be made in any order.
What always holds: an array that is written to is indexed first by the number of the trip, wherever it is
written or read, so that each trip has a part of its own; nothing else that the loop can see shares memory
with it; a doubt is answered by None.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.execute.native import tallies
from runtime.execute.native.arrays import dense, disjoint, plus, same_place, times
from runtime.execute.native.emit import FALSE, Emitter
from runtime.execute.native.values import (
    Arr,
    Backwards,
    Count,
    Listed,
    Maybe,
    Num,
    Rng,
    Static,
    Tup,
    Val,
    Zip,
)
from runtime.execute.native.waiting import IN_PLACE
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand
from runtime.ir.opdef import PURE
from runtime.ops.table import OPS
from runtime.types import ArrayType

INDEX, ITEM = "index", "item"
Tag = tuple[str, int]  # what a value is: of a capture the number, or whose part it is; of an index, which
_WHOLE, _OWN = "whole", "own"


def apart(e: Emitter, node: Node, args: Sequence[Val]) -> str | None:
    """The condition (an i1) under which the trips of a loop may be made side by side; None for never."""
    count = node.attr("carries")
    source, captures = args[0], args[1 + count :]
    if count and not tallies.summing(node):
        return None
    body = _Body(node, source)
    if not all(map(_plain, captures)) or not body.fits() or not (body.written or count):
        return None
    arrays = dict(enumerate(captures))
    targets = [arrays[k] for k in sorted(body.written)]
    others = [a for k, x in arrays.items() if k not in body.written for a in _arrays(x)]
    read = [x for x in _arrays(source) if not (body.from_zero and any(_same(x, t) for t in targets))]
    meet = FALSE
    for k, target in enumerate(targets):
        if not isinstance(target, Arr) or target.strides != dense(e, target.dims, target.dtype.itemsize):
            return None
        for other in (*targets[:k], *others, *read):
            assert isinstance(other, Arr)
            if disjoint(target, other):
                continue
            ends = [_end(e, x) for x in (target, other)]
            if "" in ends or same_place(target, other):
                return None
            starts = [e.op(f"ptrtoint ptr {x.data} to i64") for x in (target, other)]
            over = [e.op(f"icmp ult i64 {starts[j]}, {ends[1 - j]}") for j in (0, 1)]
            meet = e.either(meet, e.both(*over))
    return e.negated(meet)


def _same(a: Arr, b: Val) -> bool:
    return isinstance(b, Arr) and same_place(a, b)


def _end(e: Emitter, a: Arr) -> str:
    """The address after the last element; empty where the array goes backwards, or may."""
    if a.strides == dense(e, a.dims, a.dtype.itemsize):
        size = str(a.dtype.itemsize)
        for n in a.dims:
            size = times(e, size, n)
    elif all(n.isdigit() for n in (*a.dims, *a.strides)):
        steps = zip(a.dims, a.strides, strict=True)
        size = str(sum((int(n) - 1) * int(s) for n, s in steps if int(n)) + a.dtype.itemsize)
    else:
        return ""
    return plus(e, e.op(f"ptrtoint ptr {a.data} to i64"), size)


def _plain(x: Val) -> bool:
    """Whether a trip can only read a value, or it is an array."""
    if isinstance(x, Maybe):
        return _plain(x.number)
    return all(map(_plain, x.items)) if isinstance(x, Tup) else isinstance(x, (Num, Arr, Static, Rng))


def _arrays(x: Val) -> list[Arr]:
    """The arrays that a loop goes over, or that a value of it is or holds."""
    if isinstance(x, (Tup, Zip)):
        return [a for part in (x.items if isinstance(x, Tup) else x.parts) for a in _arrays(part)]
    if isinstance(x, (Listed, Maybe)):
        return _arrays(x.array if isinstance(x, Listed) else x.number)
    if isinstance(x, Backwards):
        return _arrays(x.of)
    return [x] if isinstance(x, Arr) else []


def _counts(source: Val) -> tuple[int, int] | None:
    """Where a range or counter that only goes up begins, and its step; None where that isn't known, or
    below 0."""
    step = 1 if isinstance(source, Count) else source.step_const if isinstance(source, Rng) else None
    start = source.start if isinstance(source, (Count, Rng)) else ""
    return (int(start), step) if step is not None and step > 0 and start.isdigit() else None


class _Body:
    """The nodes of a trip.  written: the captures that it writes to.  from_zero: whether numbers of trips
    are numbers of items.  numbers: those items of the item that count, and which of them count alike.
    indexed: by which of them each capture is indexed."""

    def __init__(self, node: Node, source: Val) -> None:
        self.graph = node.regions[0]
        item, captures = self.graph.params[0], self.graph.params[1 + node.attr("carries") :]
        parts = source.parts if isinstance(source, Zip) else ()
        counts = [_counts(part) for part in parts]
        self.numbers = {k: counts.index(count) for k, count in enumerate(counts) if count is not None}
        self.from_zero = all(counts[k] == (0, 1) for k in self.numbers) and isinstance(source, Zip)
        self.indexed: dict[int, int] = {}
        self.tags: dict[Operand, Tag] = {x: (_WHOLE, k) for k, x in enumerate(captures)}
        self.tags[item] = (ITEM if _counts(source) is None else INDEX, 0)
        self.tuples: dict[Operand, Node] = {}
        self.written: set[int] = set()
        self.elsewhere: set[int] = set()  # captures that are not read by number only

    def fits(self) -> bool:
        """Whether no trip needs anything of another."""
        return self.region(self.graph) and self.written.isdisjoint(self.elsewhere)

    def region(self, graph: Graph) -> bool:
        """The nodes of a region; False for something that is not understood."""
        self.read(graph.results)
        return all(map(self.node, graph.nodes))

    def read(self, operands: Sequence[Operand]) -> None:
        """These are used in a way that is not known."""
        for x in operands:
            how, k = self.tags.get(x, ("", 0))
            if how == _WHOLE:
                self.elsewhere.add(k)

    def own(self, x: Operand, key: Operand) -> int:
        """Of which capture `x[key]` is a part that only this trip has; -1 for none."""
        how, k = self.tags.get(x, ("", 0))
        made = self.tuples.get(key)
        first = made.inputs[0] if made is not None and made.inputs else key
        kind, which = self.tags.get(first, ("", 0))
        if how == _OWN:
            return k
        return k if how == _WHOLE and kind == INDEX and self.indexed.setdefault(k, which) == which else -1

    def node(self, node: Node) -> bool:
        """One node."""
        if node.op == "setitem":
            return self.assignment(node)
        if node.op == "getitem":
            self.item(node)
            return True
        if node.op == "py.tuple":
            self.tuples[node.outputs[0]] = node
            self.read(node.inputs)
            return True
        if node.regions:
            return self.nested(node)
        self.read(node.inputs)
        if node.op in IN_PLACE and _is_array(node.inputs[0]):
            how, k = self.tags.get(node.inputs[0], ("", 0))
            if how == _OWN:
                self.written.add(k)
                self.tags[node.outputs[0]] = (_OWN, k)
            return how == _OWN
        if node.op == "py.call":
            return not any(map(_is_array, node.inputs))
        return node.op in ("raise", *IN_PLACE) or effect_of(node, OPS) == PURE

    def assignment(self, node: Node) -> bool:
        """`array[key] = value`."""
        found = self.own(*node.inputs[:2])
        self.read(node.inputs[1:])
        if found >= 0:
            self.written.add(found)
        return found >= 0

    def item(self, node: Node) -> None:
        """`array[key]`."""
        x, key = node.inputs
        found = self.own(x, key)
        self.read(node.inputs if found < 0 else node.inputs[1:])
        if found >= 0:
            self.tags[node.outputs[0]] = (_OWN, found)
        if self.tags.get(x, ("", 0))[0] == ITEM and isinstance(key, Const):
            if type(key.value) is int and key.value in self.numbers:
                self.tags[node.outputs[0]] = (INDEX, self.numbers[key.value])

    def nested(self, node: Node) -> bool:
        """A loop or a branch."""
        carried = node.attr("carries") if node.op in ("while", "for") else 0
        before = {"while": 0, "for": 1, "cond": 1}.get(node.op)
        if before is None:
            return False
        self.read(node.inputs[: before + carried])
        inner = node.inputs[before + carried :]
        for region in node.regions:
            for x, param in zip(inner, region.params[len(region.params) - len(inner) :], strict=True):
                if x in self.tags:
                    self.tags[param] = self.tags[x]
        return all(map(self.region, node.regions))


def _is_array(x: Operand) -> bool:
    return isinstance(x.type, ArrayType) and not x.type.scalar
