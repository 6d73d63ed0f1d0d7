"""A graph traced again, when more is known of its parameters than when it was traced.

In: a closed graph, and a narrower type for each of its parameters.  Out: the graph that tracing would have
recorded had it known: rules, joins, fixed points of loops and constants are those of tracing.  What always
holds: for arguments of these types the new graph does what the old one does.  Untraceable is raised for what
has no second reading: what depends on the world outside of the graph, or reaches into it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from runtime.errors import Span, Untraceable
from runtime.functional import cond, with_
from runtime.ir.calls import expanded
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE
from runtime.ir.verify import includes
from runtime.ir.walk import clone
from runtime.ops.operators import IN_PLACE
from runtime.ops.table import OPS
from runtime.trace import calls, items
from runtime.trace.api import Hooks, trace_call
from runtime.trace.attributes import Method
from runtime.trace.core import Diverged, Trace, active, is_static
from runtime.trace.record import BUILTINS, Argument, Guard, Path
from runtime.trace.regions import staged_for, staged_while
from runtime.trace.trust import trusted
from runtime.trace.values import PYTHON_OPERATORS, Traced, known_class
from runtime.types import WEAK_OF, StaticType, TupleType, Type, join, static_or_weak

Env = dict[Value, Any]
_IN_PLACE = {f"i{op.rstrip('_')}": op for op in IN_PLACE}


def retyped(graph: Graph, types: Sequence[Type]) -> tuple[Graph, tuple[Guard, ...]]:
    """The graph with parameters of these types, and what must be so whenever it is run."""
    graph = expanded(graph)
    again = _Again(graph)
    arguments = [Argument(p.name, _example(t), t) for p, t in zip(graph.params, types, strict=True)]
    found = trace_call(again.run, arguments, {}, name=graph.name, hooks=again, strict=True)
    for guard in found.guards:
        if isinstance(guard.path.root, int):
            raise Untraceable(f"it relies on {guard.text}")
    return found.graph, found.guards


def _example(t: Type) -> Any:
    return tuple(map(_example, t.items)) if isinstance(t, TupleType) else None


class _Again(Hooks):
    """The nodes of a graph, done again in a trace."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.here: Span | None = None

    def span(self) -> Span | None:
        """The place of the node that is done."""
        return self.here

    def span_of_error(self, error: BaseException) -> Span | None:
        """The place of the node that can't be done."""
        return self.here

    def place(self, function: Callable[..., Any]) -> Span | None:
        """The same: the function is one of ours."""
        return self.here

    @property
    def tracing(self) -> Trace:
        """The trace that is running."""
        trace = active()
        assert trace is not None
        return trace

    def run(self, *args: Any) -> Any:
        """What the graph returns."""
        (result,) = self.nodes(self.graph, args)
        return result

    def nodes(self, graph: Graph, args: Sequence[Any]) -> list[Any]:
        """The results of a graph or region."""
        env: Env = dict(zip(graph.params, args, strict=True))
        before = self.here
        for node in graph.nodes:
            self.here = node.span or before
            made = self.node(node, [self.value(x, env) for x in node.inputs])
            env.update(zip(node.outputs, made, strict=True))
        self.here = before
        return [self.value(x, env) for x in graph.results]

    def value(self, x: Operand, env: Env) -> Any:
        """The trace value of an operand."""
        if isinstance(x, Value):
            return env[x]
        return x.value if is_static(x.value) else self.tracing.constant(x.value)

    # ------------------------------------------------------------------ one node
    def node(self, node: Node, inputs: list[Any]) -> Sequence[Any]:
        """The outputs of a node."""
        if node.op == "py.global":
            return [self.global_value(node)]
        if node.attr("starred"):
            raise Untraceable("a call with items whose number is not known", span=node.span)
        if not self.better(node, inputs):
            return self.as_it_was(node, inputs)
        if node.op == "py.expect" and self.expected(node, inputs[0]):
            return [inputs[0]]
        if node.op == "cond":
            return self.cond(node, inputs)
        if node.op == "for":
            return self.for_loop(node, inputs)
        if node.op == "while":
            return self.while_loop(node, inputs)
        if node.op == "with" and not node.attr("swallows"):
            body = self.body(node.regions[0], (), 0)
            return with_(inputs[0], body, tuple(inputs[1:]))  # type: ignore[no-any-return]
        count = len(inputs) - len(node.keywords)
        made = self.op(node, inputs[:count], dict(zip(node.keywords, inputs[count:], strict=True)))
        return [made] if node.outputs else []

    def global_value(self, node: Node) -> Any:
        """A module, function or class that a global name means now, and must go on to mean."""
        space: Any
        name: Any
        space, name = (x.value if isinstance(x, Const) else None for x in node.inputs[:2])
        known = type(space) is dict and type(name) is str
        found = space.get(name, BUILTINS.get(name)) if known else None
        if found is None or not trusted(found):
            raise Untraceable(f"the global {name}, which may change", span=node.span)
        path = Path((space,), (), "global ") / ("global", name)
        self.tracing.guard(path, StaticType(found), path.text)
        return found if is_static(found) else self.tracing.constant(found)

    def expected(self, node: Node, x: Any) -> bool:
        """Whether a value is known to be of the type that a node asks for."""
        wanted = node.inputs[1]
        return isinstance(wanted, Const) and includes(wanted.value, self.tracing.type_of(x))

    def better(self, node: Node, inputs: list[Any]) -> bool:
        """Whether more is known of an operand than there was, or may be of the contents of a list."""
        if node.op in ("py.tuple", "py.list", "py.dict"):
            return True
        for x, now in zip(node.inputs, inputs, strict=True):
            if isinstance(now, (Method, slice)) or known_class(now) in (list, dict):
                return True
            if isinstance(x, Value) and self.tracing.type_of(now) != x.type:
                return True
        return False

    def as_it_was(self, node: Node, inputs: list[Any]) -> Sequence[Any]:
        """The outputs of a node of whose operands nothing more is known."""
        trace = self.tracing
        outputs = trace.builder.add(
            node.op,
            [
                x if isinstance(x, Const) else trace.operand(now)
                for x, now in zip(node.inputs, inputs, strict=True)
            ],
            [out.type for out in node.outputs],
            keywords=node.keywords,
            attrs=dict(node.attrs),
            regions=tuple(map(clone, node.regions)),
            names=[out.name for out in node.outputs],
            span=node.span,
        )
        if effect_of(node, OPS) != PURE:
            trace.heap.unknown_call()
        if node.op == "raise":
            raise Diverged
        return [trace.wrap(out) for out in outputs]

    def op(self, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The result of an op without regions."""
        protocol, op = self.tracing.protocol, node.op
        first = args[0] if args else None
        if op == "py.call":
            return calls.call(self.tracing, first, tuple(args[1:]), kwargs)
        if op in PYTHON_OPERATORS and not kwargs:
            return protocol.operator(op, *args)
        if op in _IN_PLACE:
            number = not isinstance(first, Traced) and type(first) in WEAK_OF  # whose operators make new ones
            return (
                protocol.operator(_IN_PLACE[op], *args) if number else protocol.in_place(op, first, args[1])
            )
        own = _OWN.get(op)
        if own is not None:
            return own(self.tracing, *args)
        if op.startswith(("py.", "call")) or op not in OPS:
            raise Untraceable(f"{op} is left as it was", span=node.span)
        row = OPS[op]
        if node.attr("form") == "method" and row.method is not None and isinstance(first, Traced):
            return calls.call_method(self.tracing, Method(first, row.method), tuple(args[1:]), kwargs)
        target = row.captures[0] if row.captures else row.run
        return calls.call_numpy(self.tracing, row, target, tuple(args), kwargs)

    # ------------------------------------------------------------------ regions
    def cond(self, node: Node, inputs: list[Any]) -> Sequence[Any]:
        """A branch."""
        true, false = (self.arm(region, inputs[1:]) for region in node.regions)
        return cond(inputs[0], true, false)  # type: ignore[no-any-return]

    def arm(self, region: Graph, args: Sequence[Any]) -> Callable[[], tuple[Any, ...]]:
        """A region as a function."""
        return lambda: tuple(self.nodes(region, args))

    def for_loop(self, node: Node, inputs: list[Any]) -> Sequence[Any]:
        """A loop over items."""
        count = node.attr("carries")
        source, carry, rest = inputs[0], tuple(inputs[1 : 1 + count]), inputs[1 + count :]
        if known_class(source) is dict and not node.attr("tested"):
            keys = items.known_items(self.tracing, source)
            if keys is not None and len(keys) <= self.tracing.unroll_limit:  # trip by trip, as tracing does
                trip = self.body(node.regions[0], rest, 2)
                for key in keys:
                    carry = trip(key, *carry)
                if items.known_items(self.tracing, source) != keys:
                    raise Untraceable("a dict that changes while it is gone through", span=node.span)
                return carry
        test = self.body(node.regions[1], rest) if node.attr("tested") else None
        kind = items.item_type(self.tracing, source)
        body = node.regions[0]
        kind = body.params[0].type if _wider(kind, body.params[0].type) else kind
        return staged_for(self.tracing, source, kind, self.body(body, rest, count), carry, test)

    def while_loop(self, node: Node, inputs: list[Any]) -> Sequence[Any]:
        """A loop with a test."""
        count = node.attr("carries")
        carry, rest = tuple(inputs[:count]), inputs[count:]
        test, body = self.body(node.regions[0], rest), self.body(node.regions[1], rest, count)
        return staged_while(self.tracing, test, body, carry)

    def body(self, region: Graph, rest: Sequence[Any], count: int = 1) -> Callable[..., Any]:
        """A region as a function of what changes from trip to trip."""

        def trip(*args: Any) -> Any:
            with self.back():
                found = self.nodes(region, [*args, *rest])
            return found[0] if count == 1 else tuple(found)

        return trip

    @contextlib.contextmanager
    def back(self) -> Iterator[None]:
        """Be at the same place afterwards, whatever ends the region."""
        before = self.here
        try:
            yield
        finally:
            self.here = before


def _wider(a: Type, b: Type) -> bool:
    """Whether nothing is known from the type `a` that isn't from `b`."""
    return join(static_or_weak(a), b) == static_or_weak(a)


def _getattr(trace: Trace, x: Any, name: str) -> Any:
    if not isinstance(x, Traced):
        raise Untraceable(f"the attribute {name} of a constant")
    return trace.protocol.get_attr(x, name)


def _getitem(trace: Trace, x: Any, key: Any) -> Any:
    return trace.protocol.item(x, key)


def _setitem(trace: Trace, x: Any, key: Any, value: Any) -> None:
    trace.protocol.set_item(x, key, value)


def _truth(trace: Trace, x: Any) -> Any:
    known = trace.protocol.truth(x)
    return trace.record("py.truth", [x]) if known is None else known


def _unpack(trace: Trace, value: Any, before: int, after: int | None = None) -> Any:
    found = trace.protocol.unpack(value, before, after)
    if found is None:
        raise Untraceable("an unpacking assignment that is Python's")
    return found


def _bound(trace: Trace, value: Any, name: str, free: bool = False) -> Any:
    return trace.protocol.bound(value, name, free)


def _raise(trace: Trace, *parts: Any) -> None:
    trace.emit("raise", parts)
    raise Diverged


_OWN: dict[str, Callable[..., Any]] = {
    "py.getattr": _getattr,
    "getitem": _getitem,
    "setitem": _setitem,
    "py.tuple": lambda trace, *parts: tuple(parts),
    "py.list": lambda trace, *parts: items.new_list(trace, parts),
    "py.dict": lambda trace, *parts: items.new_dict(trace, list(zip(parts[::2], parts[1::2], strict=True))),
    "py.slice": lambda trace, *parts: slice(*parts),
    "py.truth": _truth,
    "py.not": lambda trace, x: trace.protocol.truth_not(x),
    "py.is": lambda trace, a, b: trace.protocol.same(a, b),
    "py.contains": lambda trace, item, container: trace.protocol.contains(item, container),
    "py.unpack": _unpack,
    "py.bound": _bound,
    "raise": _raise,
}
