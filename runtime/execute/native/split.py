"""Parts as native code inside a plan: what becomes of a graph that can't be native as a whole.

In: a graph, and what compiles a graph.  Out: the graph with calls of native functions in place of those of
its loops and runs of array operators that can be native, or None where none can.  What always holds: a native
part gives back, or writes to arrays, just what that part would have; its errors come from its own plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from runtime.execute.native.facts import kept_iterators
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.segments import grouped
from runtime.execute.native.tails import called, divided
from runtime.ir.calls import callee
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.walk import inline, map_graphs
from runtime.types import ObjectType, TupleType

LOOPS = ("while", "for")
ITERATORS = (range, enumerate, zip, slice)
Compile = Callable[[Graph], Callable[..., Any]]
AtRunTime = Callable[[Graph, Graph, Node], Callable[..., Any] | None]
Left = Callable[[Node, Unlowered], object]


def split(graph: Graph, compile_graph: Compile, at_run_time: AtRunTime, left: Left) -> Graph | None:
    """The graph with native loops; None without any, or Unlowered where the first loop can't be one.

    `compile_graph` raises Unlowered for what it can't do.  `at_run_time` gives what does a loop by the types
    that are found when it is reached: from its graph, the graph of its plan, and what stands in the plan.
    `left` is told which loops are left to the plan, and why.
    """
    whole = _but_its_end(graph, compile_graph)
    if whole is not None:
        return whole
    made = _Splitter(compile_graph, at_run_time, left)
    nodes = made.nodes(graph)
    if made.why is not None and not made.count:
        raise made.reason()
    return dataclasses.replace(graph, nodes=nodes) if made.count else None


def _but_its_end(graph: Graph, compile_graph: Compile) -> Graph | None:
    """The graph with one native call for all but the views and containers that it makes last."""
    parts = divided(graph)
    if parts is None:
        return None
    begin, taken, given, end = parts
    try:
        native = compile_graph(begin)
    except Unlowered:
        return None
    return dataclasses.replace(graph, nodes=(*called(native, begin, taken, given), *end))


class _Splitter:
    def __init__(self, compile_graph: Compile, at_run_time: AtRunTime, left: Left) -> None:
        self.compile, self.at_run_time, self.left, self.count = compile_graph, at_run_time, left, 0
        self.called: dict[Graph, Callable[..., Any] | Graph] = {}
        self.why: Unlowered | None = None

    def reason(self) -> Unlowered:
        """Why the first part is not native, to be raised; not kept here: what is raised holds all frames."""
        why, self.why = self.why, None
        assert why is not None
        return why

    def nodes(self, graph: Graph) -> tuple[Node, ...]:
        """The nodes of a graph, loops replaced where that is possible; arms of branches, and the parts of a
        `try` or `with`, are looked into."""
        found: list[Node] = []
        kept = kept_iterators(graph)  # a loop must not make its own
        makers = {out: node for node in graph.nodes for out in node.outputs if out not in kept}
        for node in graph.nodes:
            if node.op in LOOPS:
                found = self.loop(node, makers, graph.name, found)
            elif callee(node) is not None:
                found.append(self.call(node))
            elif node.op in ("cond", "with", "try"):
                regions = tuple(dataclasses.replace(r, nodes=self.nodes(r)) for r in node.regions)
                found.append(dataclasses.replace(node, regions=regions))
            else:
                found.append(node)
        made, count = grouped(graph, found, self.compile)
        self.count += count
        return made

    def call(self, node: Node) -> Node:
        """The call of what a called graph has become: native code, or a graph with native parts."""
        inner = callee(node)
        assert inner is not None
        if inner not in self.called:
            self.called[inner] = self.callee(inner)
        became = self.called[inner]
        if isinstance(became, Graph):
            return dataclasses.replace(node, inputs=(Const(became), *node.inputs[1:]))
        return Node("py.call", (Const(became, inner.name), *node.inputs[1:]), node.outputs, span=node.span)

    def callee(self, graph: Graph) -> Callable[..., Any] | Graph:
        """What a called graph becomes."""
        try:
            native = self.compile(graph)
        except Unlowered as reason:
            self.why = self.why or reason.with_traceback(None)
            return dataclasses.replace(graph, nodes=self.nodes(graph))
        self.count += 1
        return native

    def loop(self, node: Node, makers: dict[Value, Node], name: str, before: list[Node]) -> list[Node]:
        """The nodes before a loop and those that do what it does; arrays that it fills are made by it."""
        every, why = fresh(node, before), None
        for arrays in dict.fromkeys((every, tuple(n for n in every if n.op == "np.empty"), ())):
            alone, inputs = isolated(node, makers, f"{name}_loop{self.count + 1}", arrays)
            try:
                native = self.compile(alone)
            except Unlowered as reason:
                why = reason.with_traceback(None)
                self.why = self.why or why
                continue
            self.count += 1
            call: tuple[Operand, ...] = (Const(native, alone.name), *inputs)
            left = [n for n in before if n not in arrays]
            return [*left, *_called(call, _given(node, arrays), node)]
        regions = tuple(dataclasses.replace(r, nodes=self.nodes(r)) for r in node.regions)
        changed = dataclasses.replace(node, regions=regions)
        plan, _ = isolated(changed, makers, alone.name, ())
        later = self.at_run_time(alone, plan, changed)
        if later is None:
            if why is not None:
                self.left(node, why)
            return [*before, changed]
        self.count += 1
        return [*before, *_called((Const(later, alone.name), *inputs), node.outputs, node)]


def put_back(graph: Graph, later: object, node: Node) -> Graph:
    """The graph with a node in the place of the call of what does it at run time."""

    def one(region: Graph) -> Graph:
        nodes: list[Node] = []
        whole: Value | None = None
        for n in region.nodes:
            if n.op == "py.call" and isinstance(n.inputs[0], Const) and n.inputs[0].value is later:
                nodes.append(node)
                whole = n.outputs[0] if n.outputs[0] not in node.outputs else None
            elif whole is None or not n.inputs or n.inputs[0] is not whole:
                nodes.append(n)
        return (
            region
            if len(nodes) == len(region.nodes) and node not in nodes
            else dataclasses.replace(region, nodes=tuple(nodes))
        )

    return map_graphs(graph, one)


def _called(call: tuple[Operand, ...], outputs: tuple[Value, ...], node: Node) -> list[Node]:
    """A call that gives these values."""
    if len(outputs) == 1:
        return [Node("py.call", call, outputs, span=node.span)]
    if not outputs:
        return [Node("py.call", call, (Value(ObjectType(type(None))),), span=node.span)]
    whole = Value(TupleType(tuple(v.type for v in outputs)))
    reads = [Node("getitem", (whole, Const(k)), (v,), span=node.span) for k, v in enumerate(outputs)]
    return [Node("py.call", call, (whole,), span=node.span), *reads]


def _given(node: Node, arrays: tuple[Node, ...]) -> tuple[Value, ...]:
    """What a loop gives, and the arrays that it fills."""
    return (*node.outputs, *(a.outputs[0] for a in arrays))


def fresh(node: Node, before: list[Node]) -> tuple[Node, ...]:
    """The nodes right before a loop that make arrays for it alone to fill; and those that make empty lists
    for it: nobody can tell when they were made."""
    found: list[Node] = []
    used: set[Operand] = set()
    right_before = True
    for n in reversed(before):
        (out, *_) = n.outputs or (None,)
        array = n.op == "np.empty" and not n.keywords and right_before
        if (array or n.op == "py.list" and not n.inputs) and out in node.inputs and out not in used:
            found.insert(0, n)
        elif n.op != "py.tuple" and not (out is not None and out in node.inputs and _iterator(out)):
            right_before = False
        used.update(n.inputs)
    return tuple(found)


def isolated(
    node: Node, makers: dict[Value, Node], name: str, arrays: tuple[Node, ...]
) -> tuple[Graph, list[Value]]:
    """A graph of one node alone, and the values that it takes; ranges and their like are made inside, and the
    arrays and lists that are made for it."""
    inside: list[Node] = []
    for n in arrays:
        shape = makers.get(n.inputs[0]) if n.inputs and isinstance(n.inputs[0], Value) else None
        inside += [m for m in (shape,) if m is not None and m.op == "py.tuple" and m not in inside]
        inside.append(n)
    for x in node.inputs:
        maker = makers.get(x) if isinstance(x, Value) else None
        if maker is not None and isinstance(x, Value) and _iterator(x) and maker not in inside:
            inside.append(maker)
    own = {out for n in inside for out in n.outputs}
    taken: dict[Value, None] = {}
    for n in (*inside, node):
        taken.update(dict.fromkeys(x for x in n.inputs if isinstance(x, Value) and x not in own))
    outputs = _given(node, arrays)
    results: tuple[Operand, ...] = outputs
    last: tuple[Node, ...] = ()
    if len(outputs) != 1:
        whole = Value(TupleType(tuple(v.type for v in outputs)))
        last = (Node("py.tuple", outputs, (whole,), span=node.span),) if outputs else ()
        results = (whole,) if outputs else (Const(None),)
    draft = Graph(name, tuple(taken), (*inside, node, *last), results)
    params = tuple(Value(v.type, v.name) for v in taken)
    nodes, results = inline(draft, params)
    return Graph(name, params, nodes, results), list(taken)


def _iterator(x: Value) -> bool:
    return isinstance(x.type, ObjectType) and x.type.cls in ITERATORS
