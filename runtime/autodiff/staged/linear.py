"""`Linear`: a graph run forward into the trace, and backward from cotangents of its results.

In: a closed graph, operands for its parameters, which parameters are followed.  Out: the nodes of the graph,
recorded again, and then the nodes that compute cotangents.  What always holds: backward nodes use values
of the forward ones only by way of the trace's builders, so that what a region captures is what must be
kept for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.autodiff.staged import branches, calls, custom, lists, loops, reads, writes
from runtime.autodiff.staged.activity import ASKING, reached_nodes, varied_values
from runtime.autodiff.staged.aliases import SAME, aliases_of, in_memory
from runtime.autodiff.staged.buffers import buffered_values
from runtime.autodiff.staged.calls import WRITING
from runtime.autodiff.staged.dims import Dims
from runtime.autodiff.staged.kinds import (
    NotStaged,
    array_of,
    cotangent_type,
    elementwise,
    inexact,
    is_list,
)
from runtime.autodiff.staged.rules import dtype_of, fit, is_number, pull, rule_running, zeros
from runtime.autodiff.staged.told import told
from runtime.dataclass import dataclass
from runtime.functional import cond
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE, OpDef
from runtime.ir.walk import clone
from runtime.ops.adjoint import Composite
from runtime.ops.table import OPS
from runtime.ops.words import said
from runtime.trace.core import Trace
from runtime.trace.joins import in_words
from runtime.types import ArrayType, TupleType

_HOLDERS = frozenset({"py.tuple", "py.list", "py.slice"})
_CONTAINERS = frozenset({"py.dict", "py.set"})


class Slot:
    """The cotangent of one value, under construction.

    buffer: an array that is written to in place, for whoever else adds to it; else `ct`, None for nothing."""

    __slots__ = ("buffer", "ct")

    def __init__(self, buffer: Any = None) -> None:
        self.buffer = buffer
        self.ct: Any = None

    def add(self, ct: Any) -> None:
        """Add a contribution of the right type."""
        if self.buffer is not None:
            self.buffer += ct
        else:
            self.ct = ct if self.ct is None else self.ct + ct

    @property
    def value(self) -> Any:
        """What was added up to now."""
        return self.ct if self.buffer is None else self.buffer


@dataclass
class Applied:
    """An op that was applied: what its rules look at, as trace values.  operands: of the graph, by key."""

    row: OpDef
    operands: dict[Any, Operand]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any


class Linear:
    """One graph, forward and backward."""

    def __init__(
        self,
        trace: Trace,
        graph: Graph,
        args: Sequence[Operand],
        followed: Sequence[bool],
        *,
        buffered: Collection[Value] = (),
        owned: Collection[Value] = (),
        frozen: Mapping[Value, Any] | None = None,
        touched: bool = False,
        ours: set[Node] | None = None,
        checkpoint: Any = None,
    ) -> None:
        """followed: which parameters are.  buffered: those whose cotangents are written in place by others,
        too.  owned: those that nobody else has, which may be written to.  frozen: handles of copies of
        parameters that may change before the way back.  touched: whether a graph around this one writes to
        arrays.  ours: collects the nodes that are no part of the graph itself.  checkpoint: after how many
        trips loops keep their carries, if only these (see `chunks`)."""
        self.checkpoint = checkpoint
        self.trace, self.graph = trace, graph
        self.ours: set[Node] = set() if ours is None else ours
        self.frozen = frozen or {}
        self.classes = aliases_of(graph)
        self.touched = touched or self.classes.writes
        self.env: dict[Value, Operand] = dict(zip(graph.params, args, strict=True))
        self.varied = varied_values(graph, [p for p, f in zip(graph.params, followed, strict=True) if f])
        self.slots: dict[Value, Slot] = {}
        self.makers = {out: node for node in graph.nodes for out in node.outputs}
        self.steps: list[tuple[Node, Callable[[], None]]] = []
        self.handles: dict[Value, Any] = {}
        self.copies: dict[Value, Any] = {}
        self.dims = Dims(graph)
        self.buffered = buffered_values(graph, self.varied, buffered, owned)

    # ------------------------------------------------------------------ forward
    def forward(self) -> list[Operand]:
        """Record the nodes; the results."""
        for node in self.graph.nodes:
            try:
                self._forward(node)
            except NotStaged as reason:
                raise reason.at(node.span) from None
        return [self.trace.builder.use(self.operand(x)) for x in self.graph.results]

    def _forward(self, node: Node) -> None:
        active = any(isinstance(x, Value) and x in self.varied for x in node.inputs)
        if not active:
            self.copy(node)
        elif node.op in ("while", "for", "cond") or self._is_errstate(node):
            if self._flows(node):
                way = loops.forward if node.op in ("while", "for") else branches.forward
                self.steps.append((node, way(self, node)))
            else:
                self.copy(node)
        elif node.regions:
            raise NotStaged(said(node.op))
        elif (mark := calls.mark_of(node)) is not None:
            custom.forward(self, node, mark)
        elif lists.concerns(self, node):
            lists.forward(self, node)
        elif node.op == "setitem" or node.op in WRITING or calls.adds_into(node):
            writes.forward(self, node)
        elif not any(out in self.varied for out in node.outputs):
            self._ignored(node)
            self.copy(node)
        else:
            self._plain(node)
        if effect_of(node, OPS) != PURE:  # it may write to what was copied
            self.copies.clear()

    def _is_errstate(self, node: Node) -> bool:
        maker = self.makers.get(node.inputs[0]) if node.op == "with" else None  # type: ignore[arg-type]
        return calls.is_errstate(maker) and not node.regions[0].diverges

    def _flows(self, node: Node) -> bool:
        """Whether followed values come out of a statement, are written in it, or kept by what it does."""
        written = (x in self.buffered for x in node.inputs if isinstance(x, Value))
        if any(out in self.varied for out in node.outputs) or any(written):
            return True
        changes = [isinstance(x, Value) and x in self.varied for x in node.inputs]
        return any(calls.keeps(n) for n in reached_nodes(node, changes))

    def _plain(self, node: Node) -> None:
        """A node that gives a followed value."""
        out = node.outputs[0]
        if (
            node.op in _HOLDERS
            or node.op in _CONTAINERS
            or out in self.buffered
            and out in self.classes.views
        ):
            self.copy(node)  # what it holds is taken apart where it is used; views have views of cotangents
            if out in self.buffered and is_list(out.type):
                self.steps.append((node, lambda: self._unlisted(node)))
        elif node.op in ASKING:
            self.copy(node)
        elif node.op in SAME:
            self.copy(node)
            self.steps.append((node, lambda: self.give(node.inputs[0], self.ct(out))))
        elif node.op == "getitem" and isinstance(node.inputs[0].type, TupleType):
            self.copy(node)
            self.steps.append((node, lambda: self._item(node)))
        elif calls.chooses(node):
            self.copy(node)
            self.steps.append((node, lambda: self._chosen(node)))
        else:
            row, args, kwargs = calls.as_row(node)
            self._check(row, node)
            self._check_operands(row, (*args, *kwargs.values()))
            if isinstance(row.vjp, Composite) and self._told(row, node, args, kwargs):
                return
            applied = self.applied(node, row, args, kwargs)
            self.steps.append((node, lambda: self._pull(node, applied)))

    def _told(self, row: OpDef, node: Node, args: tuple[Operand, ...], kwargs: dict[str, Operand]) -> bool:
        """An op that is told by others: recorded as it is; the way back is that of the others."""
        graph = told(self.trace, row, node, args, kwargs)
        if graph is None:
            return False
        values = list(dict.fromkeys(x for x in (*args, *kwargs.values()) if isinstance(x, Value)))
        with self.mine():
            operands = [self.trace.operand(self.kept(x)) for x in values]
            inner = self.inside(graph, operands, [x in self.varied for x in values], (), {})
            inner.forward()
        self.copy(node)

        def step() -> None:
            ct = self.ct(node.outputs[0])
            if ct is None:
                return
            inner.slots.clear()
            inner.backward([self.whole(ct, node.outputs[0])])
            for x, param in zip(values, graph.params, strict=True):
                if x in self.varied:
                    self.give(x, inner.reached(param))

        self.steps.append((node, step))
        return True

    def applied(
        self, node: Node, row: OpDef, args: tuple[Operand, ...], kwargs: dict[str, Operand]
    ) -> Applied:
        """Record a node; what its rule will look at, as it is now."""
        with self.mine():
            given = tuple(map(self.kept, args))
            named = {} if isinstance(row.run, np.ufunc) else {k: self.kept(x) for k, x in kwargs.items()}
        self.copy(node)
        with self.mine():
            result = self.kept(node.outputs[0]) if node.outputs else None
        return Applied(row, {**dict(enumerate(args)), **kwargs}, given, named, result)

    @contextlib.contextmanager
    def mine(self) -> Iterator[None]:
        """What is recorded meanwhile is no part of the graph: it goes if nobody needs it."""
        builder = self.trace.builder
        start = len(builder.nodes)
        yield
        self.ours.update(builder.nodes[start:])

    def copy(self, node: Node) -> tuple[Value, ...]:
        """Record the node as it is; without marks for derivatives that nobody can ask for."""
        bare = self.trace.marked and not self.trace.following
        mark = calls.mark_of(node) if bare else None
        if mark is not None:
            values = node.inputs[1 : 1 + mark.values]
            one = mark.values == 1
            self.env[node.outputs[0]] = self.operand(values[0]) if one else self._tuple(node, values)
            return node.outputs
        outputs = self.trace.builder.add(
            node.op,
            [self.operand(x) for x in node.inputs],
            [out.type for out in node.outputs],
            keywords=node.keywords,
            attrs=dict(node.attrs),
            regions=tuple(custom.unmarked(clone(r)) if bare else clone(r) for r in node.regions),
            names=[out.name for out in node.outputs],
            span=node.span,
        )
        self.env.update(zip(node.outputs, outputs, strict=True))
        return outputs

    def _tuple(self, node: Node, items: Sequence[Operand]) -> Operand:
        types = [out.type for out in node.outputs]
        return self.trace.builder.add("py.tuple", list(map(self.operand, items)), types, span=node.span)[0]

    def operand(self, x: Operand) -> Operand:
        """What stands for an operand of the graph."""
        return self.env[x] if isinstance(x, Value) else x

    def _ignored(self, node: Node) -> None:
        """A node that takes followed values and gives none: they must have no other way out."""
        if calls.keeps(node):
            raise NotStaged(f"{said(node.op)} may keep or change what it is given")

    def _check(self, row: OpDef, node: Node) -> None:
        if row.vjp is None:
            raise NotStaged(f"{said(row.name)} has no derivative rule")
        if {"out", "where"} & set(node.keywords) and (
            isinstance(row.run, np.ufunc) or "out" in node.keywords
        ):
            raise NotStaged(f"{said(row.name)} with out= or where=")
        given = len(node.positional) - (node.op == "py.call")
        if isinstance(row.run, np.ufunc) and given > row.run.nin:
            raise NotStaged(f"{said(row.name)} that writes into an array")
        if row.effect != PURE or calls.overwrites(node):
            raise NotStaged(f"{said(row.name)} writes in place")

    def _unlisted(self, node: Node) -> None:
        """The way back over a list that was made of its first items."""
        out = node.outputs[0]
        for k, x in enumerate(node.inputs if out in self.slots else ()):
            if isinstance(x, Value) and x in self.varied:
                self.give(x, lists.item(self, self.slot(out).buffer, k, lists.item_cotangent(x.type)))

    def _display(self, x: Operand) -> Node | None:
        """The node that made a sequence which is taken apart where it is used."""
        made = self.makers.get(x) if isinstance(x, Value) and x not in self.buffered else None
        return made if made is not None and made.op in ("py.tuple", "py.list") else None

    def _check_operands(self, row: OpDef, operands: Sequence[Operand]) -> None:
        """Followed operands are arrays, numbers, and sequences of them that were just made."""
        for x in operands:
            made = self._display(x)
            if made is not None:
                self._check_operands(row, made.inputs)
            elif isinstance(x, Value) and x in self.varied and not inexact(x.type):
                maker = self.makers.get(x)
                if maker is None:
                    raise NotStaged(f"{said(row.name)} of {in_words(x.type)}")
                what = calls.shown(maker.inputs[0]) if maker.op == "py.call" else said(maker.op)
                raise NotStaged(f"what {what} gives is {in_words(x.type)}")

    # ------------------------------------------------------------------ values
    def value(self, x: Operand) -> Any:
        """The trace value of an operand of the graph; tuples, lists and slices in parts."""
        if isinstance(x, Const):
            return x.value
        made = self.makers.get(x) if x not in self.buffered else None
        if made is not None and made.op in _HOLDERS:
            parts = [self.value(i) for i in made.inputs]
            return slice(*parts) if made.op == "py.slice" else parts if made.op == "py.list" else tuple(parts)
        return self._handle(x)

    def kept(self, x: Operand) -> Any:
        """As `value`, of what may change before the way back as it is now."""
        if isinstance(x, Const):
            if not in_memory(x.type) or not self.classes.unstable(x):
                return x.value
            return self.trace.record("np.copy", [x])
        made = self.makers.get(x) if x not in self.buffered else None
        if made is not None and made.op in _HOLDERS:
            parts = [self.kept(i) for i in made.inputs]
            return slice(*parts) if made.op == "py.slice" else parts if made.op == "py.list" else tuple(parts)
        if isinstance(x.type, ArrayType) and in_memory(x.type):
            if self.classes.unstable(x):
                if x not in self.copies:
                    self.copies[x] = self.trace.record("np.copy", [self._handle(x)])
                return self.copies[x]
            if x in self.frozen:
                return self.frozen[x]
        return self._handle(x)

    def frozen_for(self, x: Operand) -> Any:
        """The copy of an array that a region takes, if it may change before the way back; else None."""
        if not isinstance(x, Value) or not in_memory(x.type) or not isinstance(x.type, ArrayType):
            return None
        with self.mine():
            return self.kept(x) if self.classes.unstable(x) or x in self.frozen else None

    def _handle(self, x: Value) -> Any:
        if isinstance(x.type, TupleType):
            return self.trace.wrap(self.env[x])
        if x not in self.handles:
            self.handles[x] = self.trace.wrap(self.env[x])
        return self.handles[x]

    # ------------------------------------------------------------------ cotangents
    def slot(self, x: Value) -> Slot:
        """The place where the cotangent of a value is added up."""
        found = self.slots.get(x)
        if found is None:
            found = self.slots[x] = Slot(self._buffer(x) if x in self.buffered else None)
        return found

    def _buffer(self, x: Value) -> Any:
        """The array for the cotangent of a value that is written to: a view as the value is, or zeros."""
        if is_list(x.type):
            return self.trace.record("py.call", [Const(lists.cotangents_of), self._handle(x)], type=x.type)
        node = self.classes.views.get(x)
        if node is None:
            return zeros(self.trace, self._handle(x), x.type)
        base = node.inputs[0]
        assert isinstance(base, Value)
        whole = self.slot(base).buffer
        if node.op in WRITING or node.op in SAME:
            return whole
        if node.op == "py.getattr":
            return getattr(whole, self.value(node.inputs[1]))
        return self.trace.record(
            node.op,
            [whole, *[self.value(i) for i in node.positional[1:]]],
            {k: self.value(i) for k, i in node.keyword_inputs.items()},
        )

    def give(self, x: Operand, ct: Any, aligned: Sequence[bool] = ()) -> None:
        """Add a contribution to the cotangent of an operand."""
        if ct is None or not isinstance(x, Value) or x not in self.varied:
            return
        made = self._display(x)
        t = x.type
        items = t.items if isinstance(t, TupleType) else () if made is None else [i.type for i in made.inputs]
        if items and not isinstance(ct, (tuple, list)):  # it was taken for an array
            ct = fit(self.trace, ct, None, array_of(items, dtype_of(self.trace.type_of(ct))))
        if made is not None:
            for part, each in zip(made.inputs, ct, strict=True):
                self.give(part, each)
        elif isinstance(t, TupleType):
            slot = self.slot(x)
            parts: list[Any] = [None] * len(t.items) if slot.ct is None else list(slot.ct)
            for i, each in enumerate(ct):
                if each is not None:
                    parts[i] = each if parts[i] is None else parts[i] + each
            slot.ct = parts
        elif x in self.buffered and (source := self.classes.widened(x)) is not None:
            own = fit(self.trace, ct, self._handle(x), x.type, aligned, True)
            self.give(source, self.whole(own, x))
        else:
            self.slot(x).add(fit(self.trace, ct, self._handle(x), x.type, aligned, True))

    def ct(self, x: Operand) -> Any:
        """The cotangent of a value up to now, None for nothing."""
        if isinstance(x, Value) and x in self.buffered:
            return self.slot(x).buffer
        slot = self.slots.get(x) if isinstance(x, Value) else None
        return None if slot is None else slot.value

    def reached(self, x: Value) -> Any:
        """The cotangent as an array where the value is one, None for nothing."""
        found = self.ct(x)
        return None if found is None else self.whole(found, x)

    def full_ct(self, x: Value) -> Any:
        """The cotangent, or zeros."""
        found = self.ct(x)
        if found is None:
            return zeros(self.trace, self._handle(x), x.type)
        return self.whole(found, x)

    def whole(self, ct: Any, x: Value) -> Any:
        """The cotangent of a value, as an array where it is one."""
        small = self.small(ct, x) and inexact(x.type)
        return fit(self.trace, ct, self._handle(x), x.type, self.all_axes(x)) if small else ct

    def small(self, ct: Any, x: Operand) -> bool:
        """Whether a cotangent stands for a larger array, which is the same along some axes."""
        if isinstance(ct, (tuple, list)) or not isinstance(x.type, ArrayType) or x.type.scalar:
            return False
        have = self.trace.type_of(ct)
        mine, want = getattr(have, "shape", ()), x.type.shape
        if mine is None or want is None:
            return False
        return len(mine) < len(want) or any(m == 1 != n for m, n in zip(mine, want, strict=True))

    def all_axes(self, x: Operand) -> Sequence[bool]:
        """For each axis, that it is as long as it should be."""
        return (True,) * len(getattr(x.type, "shape", None) or ())

    # ------------------------------------------------------------------ parts
    def inside(
        self,
        graph: Graph,
        args: Sequence[Operand],
        followed: Sequence[bool],
        buffered: Collection[Value],
        frozen: Mapping[Value, Any],
        owned: Collection[Value] = (),
    ) -> Linear:
        """A region of this graph, to be run in the trace's current region."""
        return Linear(
            self.trace,
            graph,
            args,
            followed,
            buffered=buffered,
            owned=owned,
            frozen=frozen,
            touched=self.touched,
            ours=self.ours,
            checkpoint=self.checkpoint,
        )

    def again(self, graph: Graph, args: Sequence[Operand]) -> list[Operand]:
        """Record the nodes of a graph, whose derivative nobody asks for here."""
        inner = Linear(self.trace, graph, args, [False] * len(args))
        return inner.forward()

    def add_into(self, param: Value, buffer: Any) -> None:
        """Write the cotangent of a parameter into an array in place."""
        self.slots[param] = Slot(buffer)

    def zeros(self, x: Operand) -> Any:
        """Zeros for the cotangent of an operand."""
        return zeros(self.trace, self.value(x), x.type)

    # ------------------------------------------------------------------ backward
    def backward(self, cts: Sequence[Any]) -> None:
        """Record the way back from the cotangents of the results (None where there is none)."""
        for result, ct in zip(self.graph.results, cts, strict=True):
            with rule_running(self.trace, None):
                self.give(result, ct)
        for node, step in reversed(self.steps):
            with rule_running(self.trace, node.span):
                step()

    def _chosen(self, node: Node) -> None:
        """Python's `min` or `max`: the first of the operands that are least (greatest) gets all."""
        ct = self.ct(node.outputs[0])
        if ct is None:
            return
        assert isinstance(node.inputs[0], Const)
        least = node.inputs[0].value is min
        operands = node.inputs[1:]
        shares: list[Any] = [ct]
        best = self.value(operands[0])
        nothing = cotangent_type(node.outputs[0].type).dtype.type(0)
        for x in operands[1:]:
            other = self.value(x)
            better = other < best if least else other > best
            kept = shares
            shares = [*[self._if(better, nothing, s) for s in kept], self._if(better, ct, nothing)]
            best = self._if(better, other, best)
        for x, share in zip(operands, shares, strict=True):
            self.give(x, share)

    def _if(self, condition: Any, a: Any, b: Any) -> Any:
        return cond(condition, lambda: a, lambda: b)

    def _item(self, node: Node) -> None:
        whole, index = node.inputs
        ct = self.ct(node.outputs[0])
        if ct is None:
            return
        assert isinstance(index, Const) and isinstance(whole.type, TupleType)
        parts: list[Any] = [None] * len(whole.type.items)
        parts[index.value] = ct
        self.give(whole, parts)

    def _pull(self, node: Node, applied: Applied) -> None:
        """The way back over one op of the table."""
        ct = self.ct(node.outputs[0])
        if ct is None:
            return
        if applied.row.name == "getitem" and reads.back(self, node, applied.args[1], ct):
            return
        if isinstance(node.outputs[0].type, TupleType):
            ct = tuple(self._part(c, y) for c, y in zip(ct, applied.result, strict=True))
        self.go_back(applied, ct, node)

    def go_back(self, applied: Applied, ct: Any, node: Node) -> None:
        """Give the operands their cotangents."""
        every = applied.operands
        wanted = [key for key, x in every.items() if self._followed(x)]
        out = node.outputs[0] if node.outputs else None
        if out is not None and self.small(ct, out) and not self._alike(ct, applied, out, wanted):
            ct = self.whole(ct, out)
        made = pull(self.trace, applied.row, wanted, ct, applied.result, applied.args, applied.kwargs)
        for key, each in zip(wanted, made, strict=True):
            self.give(every[key], each, self._aligned(applied.row, node, every[key]))

    def _followed(self, x: Operand) -> bool:
        if not isinstance(x, Value):
            return False
        made = self._display(x)
        if made is not None:
            return any(map(self._followed, made.inputs))
        return x in self.varied

    def _part(self, ct: Any, y: Any) -> Any:
        t = self.trace.type_of(y)
        if ct is None or not inexact(t):
            return zeros(self.trace, y, t) if inexact(t) else ct
        return fit(self.trace, ct, y, t)  # it may be the same along some axes, and shorter there

    def _alike(self, ct: Any, applied: Applied, out: Value, wanted: Sequence[Any]) -> bool:
        """Whether a small cotangent of the result will do: no operand's is summed, and what rules multiply it
        by is as long as the result, or surely not."""
        if applied.row.name in _SUMS:
            return is_number(self.trace.type_of(ct))
        whole = self.dims.of(out)
        sizes = {key: self.dims.of(x) for key, x in applied.operands.items()}
        if not elementwise(applied.row) or whole is None or None in sizes.values():
            return False
        alike = all(sizes[key] == whole for key in wanted)
        return alike and all(
            n == m or isinstance(n, int)
            for x in sizes.values()
            for n, m in zip(reversed(x or ()), reversed(whole), strict=False)
        )

    def _aligned(self, row: OpDef, node: Node, x: Operand) -> Sequence[bool]:
        """For each axis of an operand, whether its rule gives it the size it has (or 1)."""
        if row.name in _EXACT:
            return self.all_axes(x)
        mine, out = self.dims.of(x), self.dims.of(node.outputs[0]) if node.outputs else None
        if mine is None or out is None or not elementwise(row):
            return ()
        whole = (*[object() for _ in mine], *out)[-len(mine) :] if mine else ()
        return [a == b for a, b in zip(mine, whole, strict=True)]


_SUMS = frozenset({"np.sum", "np.mean"})
_EXACT = frozenset({"getitem", "np.sum", "np.mean", "np.max", "np.min", "np.transpose"})
