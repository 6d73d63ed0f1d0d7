"""Loops, forward with what the way back needs kept, and backward.

In: a `while` or `for` node.  Out: the loop recorded so that each trip keeps the values that its way back
uses, in arrays with one entry per trip (in lists where their shapes aren't known), and what records the loop
over the trips from the last to the first.  What always holds: the number of trips is known before the
backward loop runs; the kept values are copies, so later writes don't change them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.autodiff.staged.activity import is_varied, loop_activity
from runtime.autodiff.staged.aliases import SURE_VIEWS, aliases_of, basic_key
from runtime.autodiff.staged.calls import pure
from runtime.autodiff.staged.chunks import by_number, chunked
from runtime.autodiff.staged.counting import count_trips
from runtime.autodiff.staged.kinds import FLOAT, NotStaged, buffer_type, cotangent_type, is_list, known_shape
from runtime.autodiff.staged.lists import add_item
from runtime.autodiff.staged.rules import add_at, dtype_of, is_number, zeros
from runtime.autodiff.staged.tidy import needed_nodes, tidied
from runtime.config import settings
from runtime.dataclass import dataclass
from runtime.ir.builder import Builder
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.trace.core import Trace
from runtime.trace.joins import in_words
from runtime.trace.regions import close_regions
from runtime.types import (
    WEAK_FLOAT,
    WEAK_INT,
    WEAK_OF,
    ArrayType,
    NumberType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
)

_ARITHMETIC = frozenset("add sub mul neg mod floordiv eq ne lt le gt ge py.not".split())
_DOUBLE = NumberType((WEAK_FLOAT, FLOAT))


@dataclass
class Kept:
    """A value of the forward body that the backward body uses: store, the array or list of its values.

    again: gives the value of a trip by its number, where that is all it takes."""

    inner: Value
    store: Any = None
    in_list: bool = False
    again: Callable[[Any], Any] | None = None


@dataclass
class Plan:
    """A loop that was run forward.

    back: the backward body as a closed graph over its own parameters and what it captured.
    outside: for each captured value that no trip changes, the outer one."""

    node: Node
    trips: Any
    back: Graph
    carried: list[int]  # numbers of the followed carries
    arrays: list[Operand]  # followed captured arrays (and the iterable), with cotangents written in place
    numbers: list[Operand]  # followed captured numbers
    kept: list[Kept]
    outside: list[Operand]


def forward(linear: Any, node: Node) -> Callable[[], None]:
    """Record the loop; what records the way back."""
    body = node.regions[1] if node.op == "while" else node.regions[0]
    if body.diverges:
        raise NotStaged("a loop whose body always raises")
    if node.op == "for" and is_list(node.inputs[0].type) and _changes_its_list(linear, node, body):
        raise NotStaged("a loop over a list that changes meanwhile")
    loop = _Loop(linear, node, body)
    every = node.attr("checkpoint", linear.checkpoint)
    if every and loop.countable and not node.attr("tested", False) and by_number(node):
        trips = loop.trips()
        outer = chunked(linear, node, body, trips, every)
        if outer is None:
            made = loop.record(trips)
        else:
            made = _Loop(linear, outer, outer.regions[0], again=True).record()
    else:
        made = loop.record()
    return lambda: Backward(linear, made).record()


def _changes_its_list(linear: Any, node: Node, body: Graph) -> bool:
    """Whether trips write to the list that the loop goes over, whose length is the number of trips."""
    source = node.inputs[0]
    written = zip(node.inputs[1:], aliases_of(body).written_params[1:], strict=True)
    return any(w and isinstance(x, Value) and linear.classes.same(x, source) for x, w in written)


def holds_integers(x: Operand, makers: Mapping[Operand, Node]) -> bool:
    """Whether a value is one of Python's integers, or a table of them that a loop inside has kept."""
    if x.type == WEAK_INT:
        return True
    node = makers.get(x)
    if node is None or not isinstance(x, Value):
        return False
    if node.op == "np.empty":
        return len(node.inputs) == 2 and isinstance(node.inputs[1], Const) and node.inputs[1].value is object
    if node.op == "np.copy":
        return holds_integers(node.inputs[0], makers)
    inside = [(r.results[node.outputs.index(x)], r) for r in node.regions if node.op == "cond" and r.results]
    return any(holds_integers(y, {out: n for n in r.nodes for out in n.outputs}) for y, r in inside)


class _Loop:
    """The forward loop under construction.

    again: whether the way back of a trip does the trip again, so that only what comes into it is kept."""

    def __init__(self, linear: Any, node: Node, body: Graph, again: bool = False) -> None:
        self.again = again
        self.linear, self.trace, self.node, self.body = linear, linear.trace, node, body
        self.count: int = node.attr("carries")
        self.is_for = node.op == "for"
        first = 1 if self.is_for else 0
        self.first = first
        self.followed = loop_activity(node, [is_varied(x, linear.varied) for x in node.inputs])
        inner = aliases_of(body)
        self.countable = not inner.writes and all(map(pure, body.nodes))
        self.untouched = self.countable and not linear.touched

    def record(self, trips: Any = None) -> Plan:
        """The loop, recorded.  trips: their number, where it was found out before."""
        trace, node, linear = self.trace, self.node, self.linear
        if trips is None and (self.is_for or settings.compiles()):
            trips = self.trips()  # a plan would count in the same time in which it does the loop: lists
        places = range(self.first + self.count, len(node.inputs))
        frozen = {i: linear.frozen_for(node.inputs[i]) for i in places}
        in_place = [self.body.params[i] for i in places if self._in_place(i)]
        with trace.region("body") as front:
            number = self.number = front.param(WEAK_INT, "trip")
            own = self.own = [front.param(p.type, p.name) for p in self.body.params[: self.first]]
            carry = [front.param(p.type, p.name) for p in self._carry_params()]
            captures = [linear.operand(x) for x in node.inputs[self.first + self.count :]]
            kept_ones = {self.body.params[i]: f for i, f in frozen.items() if f is not None}
            given = [*own, *carry, *captures]
            later = [*own, *carry, *self._as_they_are(captures, frozen)] if self.again else given
            owned = [self._carry_params()[k] for k in linear.classes.owned.get(node, ())]
            inner = linear.inside(self.body, later, self.followed, in_place, kept_ones, owned)
            results = linear.again(self.body, given) if self.again else inner.forward()
            with trace.region("back") as back:
                if self.again:
                    inner.forward()
                finished, arrays, numbers, carried = self._backward_body(inner, back)
        # what the backward body captured is what it needs of the trip
        needed = list(back.captures)
        closed = tidied(back.region(needed, finished))
        used = {x for n in closed.nodes for x in n.inputs} | set(closed.results)
        inside = closed.params[len(back.params) :]
        outer_of = {v: k for k, v in front.captures.items()}
        kept, outside = [], []
        self.makers = {out: n for n in front.nodes for out in n.outputs}
        self.outer_of = outer_of
        for value, param in zip(needed, inside, strict=True):
            if value in outer_of:
                outside.append(outer_of[value])
            else:
                kept.append(self._keep(value, trips, param in used))
                outside.append(Const(None))
        self._store(front, kept, number)
        outputs = self._close(front, own, carry, number, results)
        linear.env.update(zip(node.outputs, outputs[1:], strict=True))
        return Plan(
            node, self._made_trips(trips, outputs[0]), closed, carried, arrays, numbers, kept, outside
        )

    def _as_they_are(self, captures: list[Operand], frozen: dict[int, Any]) -> list[Operand]:
        """What trips that are done again take from outside: copies of what may change before."""
        pairs = zip(captures, frozen.values(), strict=True)
        return [x if copied is None else self.trace.operand(copied) for x, copied in pairs]

    def _in_place(self, i: int) -> bool:
        """Whether a captured value is an array, whose cotangent the trips add up in place."""
        t = self.node.inputs[i].type
        return self.followed[i] and (isinstance(t, ArrayType) and not t.scalar or is_list(t))

    def _carry_params(self) -> tuple[Value, ...]:
        return self.body.params[self.first : self.first + self.count]

    def trips(self) -> Any:
        """How many trips there will be, at most."""
        if not self.is_for:
            return count_trips(self.linear, self.node) if self.countable else None
        source = self.node.inputs[0]
        if isinstance(source, Const):
            return len(source.value)
        if isinstance(source.type, ArrayType) and source.type.shape and source.type.shape[0] is not None:
            return source.type.shape[0]
        t = source.type
        if not isinstance(t, ArrayType) and not (isinstance(t, ObjectType) and t.cls in (list, tuple, range)):
            raise NotStaged(f"a loop over {in_words(t)}")
        made = self.trace.emit("py.call", [Const(len), self.linear.operand(source)], type=WEAK_INT)
        return self.trace.wrap(made)

    def _made_trips(self, trips: Any, counted: Value) -> Any:
        if trips is None or (self.is_for and self.node.attr("tested")):
            return self.trace.wrap(counted)
        return trips

    def _backward_body(self, inner: Any, back: Builder) -> tuple[list[Operand], Any, Any, list[int]]:
        """Record the way back through one trip; its results, and what it writes to or adds up."""
        trace, node = self.trace, self.node
        params = self.body.params
        carried = [k for k in range(self.count) if self.followed[self.first + k]]
        cts: list[Any] = [None] * self.count
        for k in carried:
            cts[k] = trace.wrap(back.param(cotangent_type(node.outputs[k].type)))
        arrays, numbers, sums = [], [], []
        places = [*range(self.first), *range(self.first + self.count, len(params))]
        for i in places:
            x = node.inputs[i]
            listed = is_list(x.type)
            if not self.followed[i] or (i < self.first and not isinstance(x.type, ArrayType) and not listed):
                if i < self.first and self.followed[i]:
                    raise NotStaged(f"a loop over {in_words(x.type)}")
                continue
            t = buffer_type(x.type)
            if i < self.first or listed or not _is_scalar(t):
                buffer = trace.wrap(back.param(t))
                arrays.append(x)
                if i >= self.first:
                    inner.add_into(params[i], buffer)
                else:
                    item_buffer = buffer
            else:
                sums.append((params[i], trace.wrap(back.param(t))))
                numbers.append(x)
        inner.backward(cts)
        if self.first and self.followed[0]:
            self._item_back(inner, params[0], item_buffer)
        after = [inner.full_ct(self._carry_params()[k]) for k in carried]
        for param, total in sums:
            ct = inner.reached(param)
            after.append(total if ct is None else total + ct)
        return [trace.operand(x) for x in after], arrays, numbers, carried

    def _item_back(self, inner: Any, item: Value, buffer: Any) -> None:
        """Each item is read once by this loop: its cotangent is stored at its place, or added there if the
        array is read elsewhere."""
        ct = inner.reached(item)
        if ct is not None and is_list(self.node.inputs[0].type):
            add_item(inner, buffer, self.trace.wrap(self.number), ct, item.type)
        elif ct is not None:
            alone = self.node.inputs[0] not in self.linear.buffered
            add_at(self.trace, buffer, self.trace.wrap(self.number), ct, fresh=alone)

    def _keep(self, value: Value, trips: Any, used: bool) -> Kept:
        """A place for the values of all trips."""
        trace = self.trace
        if not used:
            return Kept(value)
        again = self._recomputed(value)
        if again is not None:
            return Kept(value, again=again)
        t, shape = value.type, known_shape(value.type)
        numeric = isinstance(t, (ArrayType, WeakType)) or t == _DOUBLE
        if (
            trips is not None
            and numeric
            and shape is not None
            and (not isinstance(t, ArrayType) or t.dtype.kind in "biufc")
        ):
            return Kept(value, self._table((trips, *shape), value), False)
        made = trace.emit("py.list", [])
        return Kept(value, trace.wrap(made), True)

    def _table(self, shape: Sequence[Any], value: Value) -> Any:
        """An array for the values of all trips.  Python's integers may be larger than any integer of NumPy's:
        they are kept as they are, though in native code, where none is larger, the array is one of int64."""
        dtype = dtype_of(value.type)
        if not holds_integers(value, self.makers):
            return self.trace.protocol.call(np.empty, (tuple(shape), dtype), {})
        claim = ArrayType(dtype, tuple(n if type(n) is int else None for n in shape))
        return self.trace.record("np.empty", [tuple(shape), object], type=claim)

    def _recomputed(self, value: Value) -> Callable[[Any], Any] | None:
        """How a value follows from the number of the trip and what no trip changes, if it does cheaply."""
        trace = self.trace
        if value in self.outer_of:
            return lambda number: self.outer_of[value]
        node = self.makers.get(value)
        if node is None or not self._cheap(node):
            return self._of_number(value)
        parts: list[Any] = [x if isinstance(x, Const) else self._recomputed(x) for x in node.inputs]
        if any(part is None for part in parts):
            return None

        def again(number: Any) -> Any:
            given = [p if isinstance(p, Const) else trace.operand(p(number)) for p in parts]
            types = [out.type for out in node.outputs]
            return trace.builder.add(
                node.op, given, types, keywords=node.keywords, attrs=dict(node.attrs), span=node.span
            )[0]

        return again

    def _cheap(self, node: Node) -> bool:
        """Whether doing the node again costs less than keeping what it gave, and gives the same."""
        if node.regions or len(node.outputs) != 1 or not self.untouched:
            return False
        if node.op in SURE_VIEWS or node.op in ("py.slice", "py.tuple"):
            return True
        if node.op == "getitem":
            array, key = node.inputs
            return isinstance(array, Const) or isinstance(array.type, TupleType) or basic_key(key.type)
        if node.op == "py.getattr":
            return isinstance(node.inputs[1], Const) and node.inputs[1].value in (
                "T",
                "mT",
                "shape",
                "real",
                "imag",
            )
        return node.op in _ARITHMETIC and is_number(node.outputs[0].type)

    def _of_number(self, value: Value) -> Callable[[Any], Any] | None:
        """How the value follows from the number of the trip, if it does: it itself, items of ranges."""
        if value is self.number:
            return lambda number: number
        if not self.own or value is not self.own[0]:
            return None
        source = self.node.inputs[0]
        if isinstance(source, Const) and isinstance(source.value, range):
            start, step = source.value.start, source.value.step
            return lambda number: number * step + start if (start, step) != (0, 1) else number
        return None

    def _store(self, front: Builder, kept: list[Kept], number: Value) -> None:
        trace = self.trace
        outer, trace.builder = trace.builder, front
        for one in kept:
            if one.store is None:
                continue
            if one.in_list:
                value: Any = one.inner
                if isinstance(value.type, ArrayType) and not value.type.scalar and not self.untouched:
                    value = trace.emit("np.copy", [value])
                add = trace.emit("py.getattr", [trace.operand(one.store), "append"])
                trace.emit("py.call", [add, value], type=StaticType(None))
            else:
                trace.emit("setitem", [one.store, number, one.inner])
        trace.builder = outer

    def _close(
        self,
        front: Builder,
        own: list[Value],
        carry: list[Value],
        number: Value,
        results: list[Operand],
    ) -> tuple[Value, ...]:
        """The loop node; its outputs, the number of trips made first."""
        trace, node, linear = self.trace, self.node, self.linear
        outer, trace.builder = trace.builder, front
        following = trace.builder.add("add", [number, Const(1)], [WEAK_INT], span=node.span)[0]
        trace.builder = outer
        front.keep(0, needed_nodes(front.nodes, [following, *results], linear.ours))
        front.params = [*own, number, *carry]
        builders, finished = [front], [[following, *results]]
        if len(node.regions) > 1:
            test = node.regions[0] if not self.is_for else node.regions[1]
            with trace.region("test") as asked:
                asked.param(WEAK_INT, "trip")
                given = [asked.param(p.type, p.name) for p in self._carry_params()]
                outside = [linear.operand(x) for x in node.inputs[self.first + self.count :]]
                answer = linear.again(test, [*given, *outside])
            builders, finished = [front, asked], [finished[0], answer]
            if not self.is_for:
                builders, finished = builders[::-1], finished[::-1]
        captured, regions = close_regions(builders, finished)
        attrs: dict[str, Any] = {"carries": self.count + 1}
        if self.is_for:
            attrs["tested"] = node.attr("tested")
        start = [linear.operand(x) for x in node.inputs[: self.first + self.count]]
        outputs: tuple[Value, ...] = trace.builder.add(
            node.op,
            [*start[: self.first], Const(0), *start[self.first :], *captured],
            [WEAK_INT, *[v.type for v in node.outputs]],
            attrs=attrs,
            regions=tuple(regions),
            names=["trips", *[v.name for v in node.outputs]],
            span=node.span,
        )
        return outputs


class Backward:
    """The loop over the trips from the last to the first."""

    def __init__(self, linear: Any, plan: Plan) -> None:
        self.linear, self.trace, self.plan = linear, linear.trace, plan

    def record(self) -> None:
        """Record it, and hand on what it gives."""
        linear, trace, plan = self.linear, self.trace, self.plan
        node = plan.node
        first = 1 if node.op == "for" else 0
        written = any(isinstance(x, Value) and x in linear.buffered for x in plan.arrays)
        if not written and all(linear.ct(node.outputs[k]) is None for k in plan.carried):
            return
        buffers = [self._buffer(x) for x in plan.arrays]
        start = [linear.full_ct(node.outputs[k]) for k in plan.carried]
        start += [cotangent_type(x.type).dtype.type(0) for x in plan.numbers]
        kinds: list[Type] = [cotangent_type(node.outputs[k].type) for k in plan.carried]
        kinds += [cotangent_type(x.type) for x in plan.numbers]
        with trace.region("body") as body:
            number = trace.wrap(body.param(WEAK_INT, "trip"))
            cts = [body.param(t) for t in kinds]
            args: list[Operand] = [*cts[: len(plan.carried)]]
            numbers = iter(cts[len(plan.carried) :])
            own = plan.back.params[len(plan.carried) : len(plan.back.params) - len(plan.outside)]
            arrays = iter(buffers)
            for param in own:
                args.append(next(numbers) if _is_scalar(param.type) else trace.operand(next(arrays)))
            args += [self._load(x, number) for x in self._captured()]
            results = linear.again(plan.back, args)
        captured, regions = close_regions([body], [results])
        trips = trace.protocol.call(range, (plan.trips - 1, -1, -1), {})
        outputs = trace.builder.add(
            "for",
            [trace.operand(trips), *[trace.operand(x) for x in start], *captured],
            kinds,
            attrs={"carries": len(kinds), "tested": False},
            regions=tuple(regions),
            span=node.span,
        )
        given = list(map(trace.wrap, outputs))
        for k in plan.carried:
            linear.give(node.inputs[first + k], given.pop(0))
        for x in plan.numbers:
            linear.give(x, given.pop(0))
        for x, buffer in zip(plan.arrays, buffers, strict=True):
            slot = linear.slot(x)
            if slot.buffer is not buffer:
                slot.add(buffer)

    def _buffer(self, x: Any) -> Any:
        slot = self.linear.slot(x)
        if slot.buffer is not None:
            return slot.buffer
        return zeros(self.trace, self.linear.value(x), x.type)

    def _captured(self) -> list[Any]:
        kept = iter(self.plan.kept)
        return [next(kept) if isinstance(x, Const) else x for x in self.plan.outside]

    def _load(self, x: Any, number: Any) -> Operand:
        if not isinstance(x, Kept):
            return x  # type: ignore[no-any-return]
        trace: Trace = self.trace
        if x.again is None and x.store is None:
            return Const(None)
        if x.again is not None:
            return trace.operand(x.again(number))
        if x.in_list:
            return _call(trace, operator.getitem, [x.store, number], x.inner.type)
        loaded = x.store[number]
        kind = x.inner.type
        if isinstance(kind, WeakType):
            return _call(trace, WEAK_CLASS[kind], [loaded], kind)
        return trace.operand(loaded)


WEAK_CLASS = {weak: cls for cls, weak in WEAK_OF.items()}


def _call(trace: Trace, function: Any, args: list[Any], claim: Type) -> Value:
    made = trace.emit("py.call", [Const(function), *args], type=claim, attrs={"pure": True})
    assert made is not None
    return made


def _is_scalar(t: Type) -> bool:
    return isinstance(t, ArrayType) and t.scalar
