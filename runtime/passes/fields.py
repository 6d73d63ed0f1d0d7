"""What objects and containers hold that nobody else knows, as values: from trip to trip of loops, too.

In: a graph and the op table.  Out: the same, where attributes of objects that the program made, and items of
its dicts and lists, are values instead; they are stored when something else is done to the object for the
first time.  What always holds: before that nothing but the graph can reach the object, so nobody can tell.
(Scalar replacement of aggregates; mem2reg on structured control flow.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import OpDef
from runtime.ir.walk import map_graphs
from runtime.passes.rewrite import accepts, exchanged, put, users, with_nodes
from runtime.passes.unread import ATTRIBUTE_WRITES, kept, makes, ordinary
from runtime.types import OBJECT, ObjectType, Type, join, static_or_weak

_WRITES = {"py.getattr": "py.setattr", "getitem": "setitem"}
_MAKERS = {"py.call": "py.getattr", "py.dict": "getitem", "py.list": "getitem"}
Key = str | int
Fields = dict[Key, Operand]
_Inside = list[tuple[Graph, Value]]  # regions, and what stands for the object in each


class NeededItself(Exception):
    """The object is needed itself."""


def fields_as_values(graph: Graph, table: Mapping[str, OpDef]) -> Graph:
    """The graph with fields of objects that are private for a while as values."""
    return map_graphs(graph, lambda region: _all_of(region, table))


def _all_of(graph: Graph, table: Mapping[str, OpDef]) -> Graph:
    graph = _without_views(graph)
    for maker in graph.nodes:
        if maker.op in _MAKERS and makes(maker) and _pays(graph, maker):
            graph = _Private(maker, table).whole(graph)
    return graph


def _without_views(graph: Graph) -> Graph:
    """The graph without views of dicts that nobody looks at: tracing knew what they show."""
    gone: set[Node] = set()
    for node in graph.nodes:
        if node.op == "py.getattr" and node.inputs[0].type == ObjectType(dict):
            name, method = node.inputs[1], node.outputs[0]
            calls = [
                n for n, k in users(graph, method) if k == 0 and n.op == "py.call" and len(n.inputs) == 1
            ]
            idle = len(calls) == len(users(graph, method)) and method not in graph.results
            unseen = all(not users(graph, n.outputs[0]) and n.outputs[0] not in graph.results for n in calls)
            if isinstance(name, Const) and name.value in ("keys", "values", "items") and idle and unseen:
                gone.update((node, *calls))
    return with_nodes(graph, [n for n in graph.nodes if n not in gone]) if gone else graph


def _pays(graph: Graph, maker: Node) -> bool:
    """Whether some loop or branch does something to the object: tracing answers all other reads itself."""
    return any(n.op in ("cond", "while", "for") for n, _ in users(graph, maker.outputs[0]))


class _Private:
    """The object that one node makes, while it is nobody else's."""

    def __init__(self, maker: Node, table: Mapping[str, OpDef]) -> None:
        self.maker, self.made = maker, maker.outputs[0]
        self.first: Fields = {}  # what it holds when it is made
        if maker.op == "py.list":
            self.first = dict(enumerate(maker.inputs))
        elif maker.op == "py.dict":
            names = [x.value for x in maker.inputs[::2] if isinstance(x, Const)]
            self.first = dict(zip(names, maker.inputs[1::2], strict=True))
        length = len(self.first) if maker.op == "py.list" else None
        self.values = Values(_MAKERS[maker.op], table, length, own=True)

    def whole(self, graph: Graph) -> Graph:
        """The graph that makes the object, with values in place of its fields up to where it is needed."""
        if not all(type(name) in (str, int) for name in self.first):
            return graph
        at = next(k for k, n in enumerate(graph.nodes) if n is self.maker) + 1
        held, swap = dict(self.first), dict[Value, Operand]()
        nodes, rest = list(graph.nodes[:at]), list(graph.nodes[at:])
        try:
            while rest:
                made, held = self.values.node(rest[0], self.made, held, swap)
                nodes += made
                del rest[0]
        except NeededItself:
            pass
        if not any(
            n.regions and self.made in n.inputs for n in graph.nodes[at : len(graph.nodes) - len(rest)]
        ):
            return graph
        if rest or self.made in graph.results:
            nodes += self.stores(held)
        nodes += [exchanged(node, swap) for node in rest]
        results = tuple(put(x, swap) for x in graph.results)
        return dataclasses.replace(graph, nodes=tuple(nodes), results=results)

    def stores(self, held: Fields) -> Iterator[Node]:
        """The nodes that put the values where the object keeps them: in the order in which they came."""
        cls = getattr(self.made.type, "cls", None)
        simple = self.maker.op != "py.call" or (cls is not None and ordinary(cls))
        for key, x in held.items():
            if self.first.get(key) is not x:
                yield Node(
                    self.values.write_op if simple else "py.setown",
                    (self.made, Const(key), x),
                    span=self.maker.span,
                )


class Values:
    """The fields of one object as values, in graphs that do nothing else with it.

    read_op: what reads a field.  length: of a list.  plain: no attribute is a descriptor of the class.
    own: the graph made the object.  box: it is a box, which has two names for the one thing in it.
    """

    def __init__(
        self,
        read_op: str,
        table: Mapping[str, OpDef],
        length: int | None = None,
        plain: bool = False,
        own: bool = False,
        box: bool = False,
    ) -> None:
        self.read_op, self.table, self.length = read_op, table, length
        self.plain, self.own, self.box = plain, own, box
        self.write_op = _WRITES[read_op]
        self.write_ops = (self.write_op, "py.setown") if read_op == "py.getattr" else (self.write_op,)

    def body(
        self, graph: Graph, known: Value, held: Fields
    ) -> tuple[list[Node], tuple[Operand, ...], Fields]:
        """The nodes and results of a region that can reach the object by one name, and what is held after."""
        swap: dict[Value, Operand] = {}
        nodes: list[Node] = []
        for node in graph.nodes:
            made, held = self.node(node, known, held, swap)
            nodes += made
        results = tuple(put(x, swap) for x in graph.results)
        if known in results:
            raise NeededItself
        return nodes, results, held

    def node(
        self, node: Node, known: Value, held: Fields, swap: dict[Value, Operand]
    ) -> tuple[list[Node], Fields]:
        """What becomes of a node, and what is held after it; `swap` learns what was read."""
        if not accepts(node, swap, self.table):
            raise NeededItself
        node = exchanged(node, swap)
        at = [k for k, x in enumerate(node.inputs) if x is known]
        if not at:
            return [node], held
        if at == [0] and node.op == self.read_op:
            x = held.get(self.key(node))
            if x is None or static_or_weak(x.type) != node.outputs[0].type:
                raise NeededItself
            swap[node.outputs[0]] = x
            return [], held
        if at == [0] and node.op in self.write_ops:
            return [], held | {self.key(node): node.inputs[2]}
        inside = inner_names(node, at[0]) if len(at) == 1 else []
        if not inside:
            raise NeededItself
        return (self.branch if node.op == "cond" else self.loop)(node, inside, held)

    def key(self, node: Node) -> Key:
        """Which field a node reads or writes."""
        x = node.inputs[1]
        if not isinstance(x, Const) or type(x.value) not in (str, int) or node.keywords:
            raise NeededItself
        name: Key = "value" if self.box and x.value == "free" else x.value
        if node.op in ATTRIBUTE_WRITES and not (self.plain or kept(node)):
            raise NeededItself
        if node.op == "py.setown" and not self.own:
            raise NeededItself
        if self.length is not None:
            if type(name) is not int or not -self.length <= name < self.length:
                raise NeededItself
            name %= self.length
        return name

    def branch(self, node: Node, known: _Inside, held: Fields) -> tuple[list[Node], Fields]:
        """A `cond` whose arms take fields, and give those that they write."""
        read, written = self.touched(known, held)
        arms = [self.arm(g, p, held, read) for g, p in known]
        ends = [after for region, after in arms if not region.diverges]
        outputs = {name: Value(_joined([after[name].type for after in ends])) for name in written if ends}
        regions = tuple(
            region
            if region.diverges
            else dataclasses.replace(region, results=(*region.results, *(after[n] for n in outputs)))
            for region, after in arms
        )
        taken = tuple(held[name] for name in read)
        new = dataclasses.replace(
            node,
            inputs=(*node.inputs, *taken),
            outputs=(*node.outputs, *outputs.values()),
            regions=regions,
        )
        return [new], held | outputs

    def arm(self, region: Graph, known: Value, held: Fields, read: Sequence[Key]) -> tuple[Graph, Fields]:
        """An arm that takes fields, and what they are at its end."""
        params = {name: _param(held[name]) for name in read}
        nodes, results, after = self.body(region, known, dict(params))
        made = dataclasses.replace(
            region, params=(*region.params, *params.values()), nodes=tuple(nodes), results=results
        )
        return made, after

    def loop(self, node: Node, known: _Inside, held: Fields) -> tuple[list[Node], Fields]:
        """A loop that carries the fields that it writes, and captures those that it only reads."""
        body = 0 if node.op == "for" else 1
        read, written = self.touched(known, held)
        if node.regions[body].diverges or any(
            self.touched([pair], held)[1] for i, pair in enumerate(known) if i != body
        ):
            raise NeededItself
        types = {name: self.carried(name, held[name].type, known) for name in read}
        while True:
            made = [self.trip(g, p, i == body, node, types, written) for i, (g, p) in enumerate(known)]
            after = made[body][1]
            wider = {name: join(types[name], static_or_weak(after[name].type)) for name in written}
            if types | wider == types:
                break
            types |= wider
        first, count = int(node.op == "for"), node.attr("carries")
        only_read = [name for name in read if name not in written]
        outputs = {name: Value(types[name]) for name in written}
        new = dataclasses.replace(
            node,
            inputs=(
                *node.inputs[: first + count],
                *(held[name] for name in written),
                *node.inputs[first + count :],
                *(held[name] for name in only_read),
            ),
            outputs=(*node.outputs, *outputs.values()),
            attrs=tuple((a, count + len(written) if a == "carries" else x) for a, x in node.attrs),
            regions=tuple(region for region, _ in made),
        )
        return [new], held | outputs

    def trip(
        self, region: Graph, known: Value, body: bool, loop: Node, types: dict[Key, Type], written: list[Key]
    ) -> tuple[Graph, Fields]:
        """A region of a loop that takes the fields, and gives those that are written if it is the body."""
        params = {name: Value(t) for name, t in types.items()}
        nodes, results, after = self.body(region, known, dict(params))
        if body:
            results = (*results, *(after[name] for name in written))
        at = int(body and loop.op == "for") + loop.attr("carries")
        carried = [params[name] for name in written]
        others = [p for name, p in params.items() if name not in written]
        made = dataclasses.replace(
            region,
            params=(*region.params[:at], *carried, *region.params[at:], *others),
            nodes=tuple(nodes),
            results=results,
        )
        return made, after

    def carried(self, name: Key, t: Type, regions: _Inside) -> Type:
        """The type of a field in a loop: tracing has told it where the field is read."""
        found = static_or_weak(t)
        for region, known in regions:
            for inner, k in users(region, known):
                if inner.regions:
                    found = self.carried(name, found, inner_names(inner, k))
                elif inner.op == self.read_op and self.key(inner) == name:
                    found = join(found, inner.outputs[0].type)
        return found

    def shown(self, name: Key, regions: _Inside) -> Type:
        """The type that a field of an object that comes from outside has for tracing."""
        found = list(self.reads(name, regions))
        return _joined(found) if found else OBJECT

    def reads(self, name: Key, regions: _Inside) -> Iterator[Type]:
        """The types that a field has for tracing where it is read."""
        for region, known in regions:
            for n, k in users(region, known):
                if n.regions:
                    yield from self.reads(name, inner_names(n, k))
                elif n.op == self.read_op and self.key(n) == name:
                    yield n.outputs[0].type

    def touched(self, regions: _Inside, held: Fields | None = None) -> tuple[list[Key], list[Key]]:
        """The fields that regions read or write, and those that they write; all of them are held before."""
        read: dict[Key, None] = {}
        written: dict[Key, None] = {}
        for region, known in regions:
            for inner, k in users(region, known):
                if inner.regions:
                    below = inner_names(inner, k)
                    if not below:
                        raise NeededItself
                    more = self.touched(below, held)
                    read.update(dict.fromkeys(more[0]))
                    written.update(dict.fromkeys(more[1]))
                elif k == 0 and inner.op in (self.read_op, *self.write_ops):
                    name = self.key(inner)
                    read[name] = None
                    if inner.op != self.read_op:
                        written[name] = None
                else:
                    raise NeededItself
        if held is not None and any(name not in held for name in read):
            raise NeededItself
        return list(read), list(written)


def inner_names(node: Node, k: int) -> _Inside:
    """The regions with the parameter that stands for a captured operand; empty for other operands."""
    first = 1 if node.op in ("cond", "for") else 0
    if node.op not in ("cond", "while", "for") or k < first + node.attr("carries", 0):
        return []
    lead = [int(node.op == "for" and i == 0) for i in range(len(node.regions))]
    return [(g, g.params[k - first + skip]) for g, skip in zip(node.regions, lead, strict=True)]


def _param(x: Operand) -> Value:
    return Value(static_or_weak(x.type))


def _joined(types: Sequence[Type]) -> Type:
    found = static_or_weak(types[0])
    for t in types[1:]:
        found = join(found, static_or_weak(t))
    return found
