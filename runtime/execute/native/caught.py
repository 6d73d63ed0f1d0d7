"""`try` statements whose handlers are reached by `raise` statements alone, as branches.

In: a graph.  Out: one for machine code, where the handler stands in the place of the `raise` that it catches.
What always holds: machine code raises nothing itself.  What else may raise in a `try` makes it give the call
back to the plan, which has the `try` as it was.  What signal handlers raise can't be given back: a `try` in
whose body signals are handled, in the pauses of a loop say, is left to the plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.execute.native.callbacks import HEAVY, MOVES
from runtime.execute.native.streams import is_stream, owner
from runtime.ir.builder import Builder
from runtime.ir.calls import all_nodes
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.parts import Try
from runtime.ir.walk import clone, map_regions, walk_nodes
from runtime.trace.regions import close_regions
from runtime.types import ObjectType, join, static_or_weak

Env = dict[Value, Operand]
Results = list[Operand] | None  # None: the end is not reached
Finish = Callable[[Builder, Env], Results]
_HEAP_TYPE = 1 << 9
COPIES = 100  # nodes that are there twice at most, where both arms of a branch may raise and go on
# Exceptions that are made of any operands, though they are larger than others: the rest look at theirs, raise
# another error, or make an exception of another class.
_CARELESS = frozenset({StopIteration, AttributeError, NameError})


class _Other(Exception):
    """A `try` that is none of these."""


def without_tries(graph: Graph) -> Graph:
    """The graph with branches in the place of these `try` statements."""
    if not any(node.op == "try" for node in walk_nodes(graph)):
        return graph
    try:
        return _region(graph)
    except _Other:
        return graph


def _region(graph: Graph) -> Graph:
    if not any(node.op == "try" for node in walk_nodes(graph)):
        return graph
    builder = Builder(graph.name)
    env: Env = {p: builder.param(p.type, p.name) for p in graph.params}
    for node in graph.nodes:
        _emit(builder, env, node)
    results = [_at(env, x) for x in graph.results]
    return dataclasses.replace(
        graph, params=tuple(builder.params), nodes=tuple(builder.nodes), results=tuple(results)
    )


def _at(env: Env, x: Operand) -> Operand:
    return env[x] if isinstance(x, Value) else x


def _emit(builder: Builder, env: Env, node: Node) -> None:
    """Add a node, or what it becomes."""
    if node.op == "try":
        found = _Caught(node, env).way(builder, env, node)
        if found is None:
            raise _Other
        env.update(zip(node.outputs, found, strict=True))
        return
    node = map_regions(node, lambda region: clone(_region(region)))  # a handler may stand in several places
    outputs = builder.add(
        node.op,
        [_at(env, x) for x in node.inputs],
        [out.type for out in node.outputs],
        keywords=node.keywords,
        attrs=dict(node.attrs),
        regions=node.regions,
        names=[out.name for out in node.outputs],
        span=node.span,
    )
    env.update(zip(node.outputs, outputs, strict=True))


class _Caught:
    """One `try`."""

    def __init__(self, node: Node, env: Env) -> None:
        self.parts = Try(node)
        self.outer = dict(env)
        classes = [x.value if isinstance(x, Const) else _Other for x in self.parts.classes]
        if self.parts.final is not None or _Other in classes or _may_wait(self.parts.body):
            raise _Other
        self.classes, self.room = classes, COPIES

    def way(self, builder: Builder, env: Env, node: Node) -> Results:
        """The nodes of the body, and of the handlers where something is raised."""
        inner = self.entered(self.parts.body)
        return self.nodes(builder, inner, self.parts.body.nodes, self.finish)

    def entered(self, region: Graph) -> Env:
        """What the captures are in a region."""
        pairs = zip(self.parts.capture_params(region), self.parts.captures, strict=True)
        return {p: _at(self.outer, x) for p, x in pairs}

    def finish(self, builder: Builder, env: Env) -> Results:
        """The end of the body."""
        if self.parts.body.diverges:
            return None
        if self.parts.orelse is None:
            return [_at(env, x) for x in self.parts.body.results]
        return self.last(builder, self.parts.orelse)

    def last(self, builder: Builder, region: Graph) -> Results:
        """A handler, or the part after the body: what it raises is not caught."""
        env = self.entered(region)
        for node in region.nodes:
            _emit(builder, env, node)
        return None if region.diverges else [_at(env, x) for x in region.results]

    def nodes(self, builder: Builder, env: Env, nodes: Sequence[Node], finish: Finish) -> Results:
        """Nodes of the body, one after the other, and what comes after them."""
        dead = _only_raised(nodes)
        for k, node in enumerate(nodes):
            if node in dead:
                continue
            if node.op == "raise":
                handler = self.handler(node, nodes)
                if handler is None:
                    for one in (*(n for n in nodes if n in dead and set(n.outputs) & set(node.inputs)), node):
                        _emit(builder, env, one)
                    return None
                return self.last(builder, handler)
            if node.op == "cond" and any(self.raises(region) for region in node.regions):
                return self.branch(builder, env, node, nodes[k + 1 :], finish)
            _emit(builder, env, node)
        return finish(builder, env)

    def raises(self, region: Graph) -> bool:
        """Whether there is a `raise` in a region that a handler may catch; those in loops are the plan's."""
        return any(
            n.op == "raise" or (n.op == "cond" and any(map(self.raises, n.regions))) for n in region.nodes
        )

    def branch(self, builder: Builder, env: Env, node: Node, rest: Sequence[Node], finish: Finish) -> Results:
        """A branch, with what comes after it in each arm that has an end."""
        going = [region for region in node.regions if not region.diverges]
        if len(going) > 1:
            self.room -= sum(1 + sum(1 for r in one.regions for _ in walk_nodes(r)) for one in rest)
            if self.room < 0:
                raise _Other
        builders, found = [], list[Results]()
        for region in node.regions:
            inner = Builder(region.name, builder)
            own = env | {p: _at(env, x) for p, x in zip(region.params, node.inputs[1:], strict=True)}
            after = self.after(node, region, rest, finish) if region in going else _nowhere
            builders.append(inner)
            given = self.nodes(inner, own, region.nodes, after)
            found.append(None if given is None else list(map(inner.use, given)))
        ends = [one for one in found if one is not None]
        types = [static_or_weak(x.type) for x in ends[0]] if ends else []
        for one in ends[1:]:
            types = [join(t, static_or_weak(x.type)) for t, x in zip(types, one, strict=True)]
        ways = [one is None for one in found]
        captured, regions = close_regions(builders, [one or [] for one in found], ends=ways)
        inputs = [_at(env, node.inputs[0]), *captured]
        outputs = builder.add("cond", inputs, types, regions=tuple(regions), span=node.span)
        return list(outputs) if ends else None

    def after(self, node: Node, region: Graph, rest: Sequence[Node], finish: Finish) -> Finish:
        """What comes after a branch, at the end of its arm."""

        def go_on(builder: Builder, env: Env) -> Results:
            env.update(zip(node.outputs, [_at(env, x) for x in region.results], strict=True))
            return self.nodes(builder, env, rest, finish)

        return go_on

    def handler(self, node: Node, nodes: Sequence[Node]) -> Graph | None:
        """What catches what a node raises; None where nothing does, or that is not known."""
        cls = _raised(node, nodes)
        if cls is None:
            return None
        for wanted, handler in zip(self.classes, self.parts.handlers, strict=True):
            if wanted is None or _matches(cls, wanted):
                used = {x for n in walk_nodes(handler) for x in n.inputs} | set(handler.results)
                return None if handler.params[0] in used else handler
        return None


def _may_wait(body: Graph) -> bool:
    """Whether signals may be handled within a body, so that it may raise anything: loops pause, functions of
    NumPy's and methods of streams are called."""
    made = {out: node for node in all_nodes(body) for out in node.outputs}
    return any(
        node.op in ("while", "for") or node.op in MOVES or node.op in HEAVY or _draws(node, made)
        for node in all_nodes(body)
    )


def _draws(node: Node, made: Mapping[Value, Node]) -> bool:
    """Whether a node may call a method of a random stream.  made: what makes values."""
    target = node.inputs[0] if node.op == "py.call" else Const(None)
    if isinstance(target, Const):
        return owner(target.value) is not None
    read = made.get(target)
    t = read.inputs[0].type if read is not None and read.op == "py.getattr" else ObjectType()
    return isinstance(t, ObjectType) and (t.cls is None or is_stream(t.cls))


def _matches(cls: type, wanted: Any) -> bool:
    """Whether `except wanted` catches what is of this class: no class of classes is asked."""
    if type(wanted) is tuple:
        return any(_matches(cls, one) for one in wanted)
    if not isinstance(wanted, type) or BaseException not in wanted.__mro__:
        raise _Other
    return wanted in cls.__mro__


def _nowhere(builder: Builder, env: Env) -> Results:
    return None


def _raised(node: Node, nodes: Sequence[Node]) -> type[BaseException] | None:
    """The class of what a node raises, where making it does nothing else."""
    x = node.inputs[0] if len(node.inputs) == 1 else None
    made: Any = x.value if isinstance(x, Const) else None
    for one in nodes:
        if x is not None and x in one.outputs and one.op == "py.call" and isinstance(one.inputs[0], Const):
            made = None if one.keywords or one.attr("starred") else one.inputs[0].value
    return made if isinstance(made, type) and _careless(made) else None


def _careless(cls: type) -> bool:
    """Whether any operands make an exception of this class, and nothing else comes of it."""
    if type(cls) is not type or not issubclass(cls, BaseException):
        return False
    for base in cls.__mro__:
        if base.__flags__ & _HEAP_TYPE:
            if "__init__" in vars(base) or "__new__" in vars(base):
                return False
        elif base.__basicsize__ > BaseException.__basicsize__ and base not in _CARELESS:
            return False
    return True


def _only_raised(nodes: Sequence[Node]) -> set[Node]:
    """The nodes that make what is raised, for nothing else, of constants."""
    raised = {x for n in nodes if n.op == "raise" for x in n.inputs}
    others = {x for n in nodes if n.op != "raise" for x in n.inputs}
    return {
        n
        for n in nodes
        if n.op == "py.call"
        and all(isinstance(x, Const) for x in n.inputs)
        and set(n.outputs) & raised
        and not set(n.outputs) & others
    }
