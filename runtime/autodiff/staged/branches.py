"""A `cond`, forward with what its way back needs handed out, and backward.

In: a `cond` node.  Out: the `cond` recorded, and what records its way back: a `cond` over the same predicate.
What always holds: the arm that was not chosen contributes nothing; the values that an arm's way back uses
are results of the forward `cond`, with something of the same type from the other arm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.autodiff.staged.aliases import in_memory
from runtime.autodiff.staged.kinds import buffer_type, cotangent_type, known_shape
from runtime.autodiff.staged.tidy import needed_nodes, tidied
from runtime.boxes import UnboundMarker
from runtime.dataclass import dataclass
from runtime.ir.builder import Builder
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.trace.regions import close_regions
from runtime.types import UNBOUND, ArrayType, MaybeUnbound, Type, WeakType, join


@dataclass
class Arm:
    """One arm: its forward region, and its way back as a closed graph over cotangents, arrays for those of
    operands, and what it captured.

    kept: the captured values that the arm computes itself; outside: the outer ones in their places."""

    front: Builder
    results: list[Operand]
    diverges: bool
    back: Graph | None = None
    given: list[Any] = dataclasses.field(default_factory=list)
    kept: list[Value] = dataclasses.field(default_factory=list)
    outside: list[Operand | None] = dataclasses.field(default_factory=list)
    finish: Callable[[list[bool]], None] = lambda reached: None


def forward(linear: Any, node: Node) -> Callable[[], None]:
    """Record the `cond`; what records its way back."""
    return _Branch(linear, node).record()


class _Branch:
    def __init__(self, linear: Any, node: Node) -> None:
        self.linear, self.trace, self.node = linear, linear.trace, node
        self.enters = int(node.op == "with")  # whether the region's first parameter is what entering gave
        self.operands = node.inputs[1:]
        self.followed = [isinstance(x, Value) and x in linear.varied for x in self.operands]
        self.in_place = [isinstance(x, Value) and x in linear.buffered for x in self.operands]
        self.live = [k for k, out in enumerate(node.outputs) if out in linear.varied]

    def record(self) -> Callable[[], None]:
        """The forward node; what records the way back."""
        trace, linear, node = self.trace, self.linear, self.node
        frozen = [linear.frozen_for(x) for x in self.operands]
        pred = linear.kept(node.inputs[0])
        self.arms = [self._arm(arm, frozen) for arm in node.regions]
        self.reached = [
            any(a.back is None and a.given and a.given[i] is not None for a in self.arms)
            for i in range(len(self.operands))
        ]
        for arm in self.arms:
            arm.finish(self.reached)
        kinds: list[Type] = []
        finished = [list(arm.results) for arm in self.arms]
        for arm in self.arms:
            for value in arm.kept:
                kinds.append(self._handed_out(value, arm, finished))
        for arm, results in zip(self.arms, finished, strict=True):
            arm.front.keep(0, needed_nodes(arm.front.nodes, results, linear.ours))
        captured, regions = close_regions(
            [a.front for a in self.arms],
            [[] if a.diverges else r for a, r in zip(self.arms, finished, strict=True)],
            ends=[a.diverges for a in self.arms],
        )
        outputs = trace.builder.add(
            node.op,
            [linear.operand(node.inputs[0]), *captured],
            [*[out.type for out in node.outputs], *kinds],
            attrs=dict(node.attrs),
            regions=tuple(regions),
            names=[out.name for out in node.outputs],
            span=node.span,
        )
        count = len(node.outputs)
        linear.env.update(zip(node.outputs, outputs[:count], strict=True))
        extra = [self._copied(v) for v in outputs[count:]]
        return lambda: self._back(pred, extra)

    def _copied(self, value: Value) -> Operand:
        """What is handed out, as it is now, where arrays are written to later."""
        if not (self.linear.classes.writes and isinstance(value.type, ArrayType) and in_memory(value.type)):
            return value
        with self.linear.mine():
            return self.trace.emit("np.copy", [value])  # type: ignore[no-any-return]

    def _arm(self, arm: Graph, frozen: list[Any]) -> Arm:
        """One arm, forward and back."""
        trace, linear = self.trace, self.linear
        params = arm.params[self.enters :]
        buffered = [p for p, b in zip(params, self.in_place, strict=True) if b]
        kept = {p: f for p, f in zip(params, frozen, strict=True) if f is not None}
        with trace.region(arm.name) as front:
            entered = [front.param(p.type, p.name) for p in arm.params[: self.enters]]
            args = [*entered, *[linear.operand(x) for x in self.operands]]
            inner = linear.inside(arm, args, [*[False] * self.enters, *self.followed], buffered, kept)
            made = Arm(front, inner.forward(), arm.diverges)
            if not arm.diverges:
                self._way_back(made, inner, front)
        return made

    def _way_back(self, made: Arm, inner: Any, front: Builder) -> None:
        """Record the way back of an arm in a region inside it."""
        trace, params = self.trace, inner.graph.params[self.enters :]
        with trace.region("back") as back:
            cts: list[Any] = [None] * len(self.node.outputs)
            for k in self.live:
                cts[k] = trace.wrap(back.param(cotangent_type(self.node.outputs[k].type)))
            for p, x, in_place in zip(params, self.operands, self.in_place, strict=True):
                if in_place:
                    inner.add_into(p, trace.wrap(back.param(buffer_type(x.type))))
            inner.backward(cts)
            made.given = [
                inner.reached(p) if f and not b else None
                for p, f, b in zip(params, self.followed, self.in_place, strict=True)
            ]

        def finish(reached: list[bool]) -> None:
            outer, trace.builder = trace.builder, back
            results = []
            for ct, x, is_reached in zip(made.given, self.operands, reached, strict=True):
                if is_reached:
                    results.append(trace.operand(self.linear.zeros(x) if ct is None else ct))
            results = list(map(back.use, results))
            trace.builder = outer
            needed = list(back.captures)
            closed = tidied(back.region(needed, results))
            used = {x for n in closed.nodes for x in n.inputs} | set(closed.results)
            inside = closed.params[len(back.params) :]
            outer_of = {v: k for k, v in front.captures.items()}
            keep = [(v, p) for v, p in zip(needed, inside, strict=True) if p in used]
            made.back = dataclasses.replace(closed, params=(*back.params, *[p for _, p in keep]))
            made.outside = [outer_of.get(v) for v, _ in keep]
            made.kept = [v for v, _ in keep if v not in outer_of]

        made.finish = finish

    def _handed_out(self, value: Value, arm: Arm, finished: list[list[Operand]]) -> Type:
        """Add a value of one arm to the results of both; the type of what comes out."""
        trace = self.trace
        t = value.type
        for other, results in zip(self.arms, finished, strict=True):
            if other is arm:
                results.append(value)
            elif not other.diverges:
                outer, trace.builder = trace.builder, other.front
                with self.linear.mine():
                    results.append(_stand_in(trace, t))
                trace.builder = outer
        alone = all(other is arm or other.diverges for other in self.arms)
        return t if alone or _has_stand_in(t) else join(t, UNBOUND)

    def _back(self, pred: Any, extra: list[Operand]) -> None:
        """Record the way back."""
        trace, linear = self.trace, self.linear
        cts = [linear.ct(self.node.outputs[k]) for k in self.live]
        if all(ct is None for ct in cts) and not any(self.in_place):
            return
        cts = [linear.full_ct(self.node.outputs[k]) for k in self.live]
        buffers = [linear.slot(x).buffer for x, b in zip(self.operands, self.in_place, strict=True) if b]
        if self.enters:
            (arm,) = self.arms
            assert arm.back is not None
            results = linear.again(arm.back, self._arguments(arm, [*cts, *buffers], extra))
            for x, made in zip(self._out(), results, strict=True):
                linear.give(x, trace.wrap(made))
            return
        builders, ends = [], []
        left = list(extra)
        for arm in self.arms:
            mine, left = left[: len(arm.kept)], left[len(arm.kept) :]
            with trace.region(arm.front.name) as builder:
                builders.append(builder)
                if arm.back is None:
                    ends.append([trace.operand(linear.zeros(x)) for x in self._out()])
                    continue
                ends.append(linear.again(arm.back, self._arguments(arm, [*cts, *buffers], mine)))
        captured, regions = close_regions(builders, ends)
        outputs = trace.builder.add(
            "cond",
            [trace.operand(pred), *captured],
            [cotangent_type(x.type) for x in self._out()],
            regions=tuple(map(tidied, regions)),
            span=self.node.span,
        )
        for x, out in zip(self._out(), outputs, strict=True):
            linear.give(x, trace.wrap(out))

    def _arguments(self, arm: Arm, first: list[Any], mine: list[Operand]) -> list[Operand]:
        """What the way back of an arm takes, in the region that is being recorded."""
        kept = iter(mine)
        plain = iter(arm.kept)
        needed = [self._bound(next(kept), next(plain)) if x is None else x for x in arm.outside]
        return [self.trace.operand(x) for x in (*first, *needed)]

    def _bound(self, value: Operand, inside: Value) -> Operand:
        """A value that was handed out by the arm that runs now; inside: what it was there."""
        if not isinstance(value.type, MaybeUnbound) or isinstance(inside.type, MaybeUnbound):
            return value
        t = value.type.type
        made: Value | None = self.trace.emit("py.bound", [value, "a value of the other branch"], type=t)
        assert made is not None
        return made

    def _out(self) -> list[Operand]:
        return [x for x, is_reached in zip(self.operands, self.reached, strict=True) if is_reached]


def _has_stand_in(t: Type) -> bool:
    if isinstance(t, ArrayType):
        return known_shape(t) is not None and t.dtype.kind in "biufc"
    return isinstance(t, WeakType)


def _stand_in(trace: Any, t: Type) -> Operand:
    """Some value of a type, for the arm that doesn't have it, or else the mark of an unbound name."""
    if isinstance(t, WeakType):
        return Const({"bool": False, "int": 0, "float": 0.0, "complex": 0j}[t.kind])
    if not isinstance(t, ArrayType) or not _has_stand_in(t):
        return Const(UnboundMarker("a value of the other branch"))
    if t.scalar:
        return Const(t.dtype.type(0))
    made = trace.protocol.call(np.empty, (known_shape(t), t.dtype), {})
    return trace.operand(made)  # type: ignore[no-any-return]
