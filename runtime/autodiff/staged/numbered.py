"""Loops over several arrays at once as loops over numbers: `zip`, `enumerate` and `reversed` of arrays.

In: a graph.  Out: the same with loops over `range(n)` whose trips read the items, which have derivatives.
What always holds: the trips are the same, in the same order.
"""

from __future__ import annotations

from typing import Any

from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.walk import inline, map_graphs
from runtime.passes.rewrite import users, with_nodes
from runtime.types import OBJECT, WEAK_INT, ArrayType, ObjectType, TupleType, Type

_RANGE = ObjectType(range, WEAK_INT)
_ITERATORS: tuple[Any, ...] = (zip, enumerate, reversed)


def by_numbers(graph: Graph) -> Graph:
    """The graph with such loops in the place of those over iterators."""
    return map_graphs(graph, _by_numbers)


def _by_numbers(graph: Graph) -> Graph:
    makers = {out: node for node in graph.nodes for out in node.outputs}
    gone: set[Node] = set()
    nodes: list[Node] = []
    for node in graph.nodes:
        source = node.inputs[0] if node.op == "for" else None
        taken: list[Node] = []
        if isinstance(source, Value) and source in makers and _known(graph, source, makers, taken):
            gone.update(taken)
            nodes += _Loop(node, makers).made
        else:
            nodes.append(node)
    return with_nodes(graph, [node for node in nodes if node not in gone])


def _known(graph: Graph, x: Operand, makers: dict[Value, Node], taken: list[Node]) -> bool:
    """Whether a source is an array, or an iterator over such that only this loop uses."""
    if isinstance(x.type, ArrayType):
        return x.type.shape is not None and x.type.shape != ()
    node = makers.get(x) if isinstance(x, Value) else None
    if node is None or node.op != "py.call" or _strict(node) or len(users(graph, node.outputs[0])) != 1:
        return False
    if node.outputs[0] in graph.results or not any(_called(node) is cls for cls in _ITERATORS):
        return False
    if _called(node) is reversed and not isinstance(node.inputs[1].type, ArrayType):
        return False
    taken.append(node)
    if _called(node) is enumerate and not all(map(_int, node.positional[2:])):
        return False
    sources = node.positional[1:2] if _called(node) is enumerate else node.positional[1:]
    return bool(sources) and all(_known(graph, s, makers, taken) for s in sources)


def _strict(node: Node) -> bool:
    """Whether the call has keywords that matter: it may be an error that sources are of different lengths."""
    if not node.keywords:
        return False
    if node.keywords != ("strict",):
        return True
    asked = node.keyword_inputs["strict"]
    sizes = {
        x.type.shape[0] if isinstance(x.type, ArrayType) and x.type.shape else None
        for x in node.positional[1:]
    }
    same = len(sizes) == 1 and None not in sizes
    return not (same or isinstance(asked, Const) and asked.value is False)


def _int(x: Operand) -> bool:
    return isinstance(x, Const) and type(x.value) is int


def _called(node: Node) -> Any:
    return node.inputs[0].value if isinstance(node.inputs[0], Const) else None


class _Loop:
    """One loop under construction.  made: its nodes."""

    def __init__(self, node: Node, makers: dict[Value, Node]) -> None:
        self.node, self.makers = node, makers
        self.made: list[Node] = []
        self.arrays: list[Operand] = []
        self.lengths: dict[Operand, Operand] = {}
        source = node.inputs[0]
        self._collect(source)
        count = self._count(source)
        body = node.regions[0]
        numbers: Operand = Const(range(count.value)) if isinstance(count, Const) else self._add(
            "py.call", [Const(range), count], _RANGE
        )  # fmt: skip
        lengths = [self._length(x) for x in self.arrays]
        extra = [*self.arrays, *(n for n in lengths if isinstance(n, Value))]
        regions = [self._trip(body, extra)]
        for test in node.regions[1:]:
            params = (*test.params, *(Value(x.type) for x in extra))
            regions.append(Graph(test.name, params, test.nodes, test.results, test.diverges))
        inputs = (numbers, *node.inputs[1:], *extra)
        self.made.append(Node("for", inputs, node.outputs, (), node.attrs, tuple(regions), node.span))

    def _add(self, op: str, inputs: list[Operand], t: Type) -> Value:
        out = Value(t)
        self.made.append(Node(op, tuple(inputs), (out,), span=self.node.span))
        return out

    def _collect(self, x: Operand) -> None:
        if isinstance(x.type, ArrayType):
            if x not in self.arrays:
                self.arrays.append(x)
            return
        for s in self._sources(x):
            self._collect(s)

    def _sources(self, x: Operand) -> tuple[Operand, ...]:
        maker = self.makers[x]  # type: ignore[index]
        return maker.positional[1:2] if _called(maker) is enumerate else maker.positional[1:]

    def _length(self, x: Operand) -> Operand:
        known = self.lengths.get(x)
        if known is None:
            assert isinstance(x.type, ArrayType) and x.type.shape
            n = x.type.shape[0]
            known = Const(n) if n is not None else self._add("py.call", [Const(len), x], WEAK_INT)
            self.lengths[x] = known
        return known

    def _count(self, x: Operand) -> Operand:
        """How many items a source has."""
        if isinstance(x.type, ArrayType):
            return self._length(x)
        found = [self._count(s) for s in self._sources(x)]
        fixed = [n.value for n in found if isinstance(n, Const)]
        open_ones = [n for n in found if not isinstance(n, Const)]
        parts: list[Operand] = [*open_ones, *([Const(min(fixed))] if fixed else [])]
        return parts[0] if len(parts) == 1 else self._add("py.call", [Const(min), *parts], WEAK_INT)

    def _trip(self, body: Graph, extra: list[Operand]) -> Graph:
        number = Value(WEAK_INT, "trip")
        self.inside: dict[Operand, Value] = {x: Value(x.type, getattr(x, "name", "")) for x in extra}
        own = [Value(p.type, p.name) for p in body.params[1:]]
        outer, self.made = self.made, []
        item = self._item(self.node.inputs[0], number, body.params[0].type)
        copied, results = inline(body, [item, *own])
        nodes, self.made = (*self.made, *copied), outer
        return Graph(body.name, (number, *own, *self.inside.values()), nodes, results, body.diverges)

    def _item(self, x: Operand, at: Operand, t: Type) -> Operand:
        """Read the item of a trip from a source."""
        if isinstance(x.type, ArrayType):
            return self._add("getitem", [self.inside[x], at], t)
        maker, parts = self.makers[x], self._sources(x)  # type: ignore[index]
        if _called(maker) is reversed:
            size = self._length(parts[0])
            last = self._add("sub", [self.inside.get(size, size), Const(1)], WEAK_INT)
            return self._item(parts[0], self._add("sub", [last, at], WEAK_INT), t)
        kinds = t.items if isinstance(t, TupleType) else (OBJECT,) * 2
        if _called(maker) is zip:
            made = [self._item(s, at, k) for s, k in zip(parts, kinds, strict=True)]
        else:
            start = maker.positional[2:]
            count = self._add("add", [at, start[0]], WEAK_INT) if start else at
            made = [count, self._item(parts[0], at, kinds[1])]
        return self._add("py.tuple", made, TupleType(tuple(part.type for part in made)))
