"""A region in which objects are values, while it is rewritten; and nodes with regions that take such objects.

In: a region and the objects that come into it.  Out: its nodes, where reads and writes of fields are gone.
What always holds: an object that is needed itself is made right before, and is no longer values from then on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.passes.families import (
    NO,
    YES,
    Families,
    Known,
    Made,
    Names,
    Needed,
    Shown,
    class_of,
    is_maker,
    is_object,
)
from runtime.passes.rewrite import accepts, exchanged, put
from runtime.passes.unread import ATTRIBUTE_WRITES, kept, ordinary
from runtime.types import ObjectType, static_or_weak

Within = Mapping[str, Callable[[Any, Node], Any]]  # what does nodes with regions, by op


def region(
    work: Families, graph: Graph, known: Known, within: Within, depth: int = 0, loops: int = 0
) -> tuple[list[Node], tuple[Operand, ...], Region]:
    """The nodes and results of a region, and what it knows at its end."""
    inner = Region(work, graph, known, within, depth, loops)
    for node in graph.nodes:
        inner.node(node)
    results = tuple(put(x, inner.swap) for x in graph.results)
    if not depth:
        results = tuple(inner.itself(x) for x in results)
    return inner.nodes, results, inner


class Region:
    """A region while it is rewritten.  known: values that are objects.  swap: what stands in whose place."""

    def __init__(
        self, work: Families, graph: Graph, known: Known, within: Within, depth: int, loops: int
    ) -> None:
        self.work, self.graph, self.known, self.within = work, graph, known, within
        self.depth, self.loops = depth, loops
        self.swap: dict[Value, Operand] = {}
        self.nodes: list[Node] = []

    def object(self, x: Operand) -> Made | None:
        """The object that an operand is."""
        return self.known.get(x) if isinstance(x, Value) else None

    def node(self, node: Node) -> None:
        """Rewrite one node."""
        if not accepts(node, self.swap, self.work.table):
            raise Needed
        node = exchanged(node, self.swap)
        if is_maker(node) and node.outputs[0] not in self.work.left:
            (out,) = node.outputs
            cls = class_of(out.type)
            assert cls is not None
            self.known[out] = Made(out, cls, {}, self.depth, self.loops)
            return
        which = self.object(node.inputs[0]) if node.inputs else None
        if which is not None and node.op == "py.getattr":
            x = put(which.fields.get(self.name(node, which), NO), self.swap)
            if x is NO or static_or_weak(x.type) != node.outputs[0].type:
                raise self.work.refuse(which)
            self.swap[node.outputs[0]] = x
        elif which is not None and node.op in ATTRIBUTE_WRITES:
            self.write(which, self.name(node, which), put(node.inputs[2], self.swap), node)
        elif node.op in self.within:
            self.within[node.op](self, node).done()
        else:
            inputs = tuple(self.itself(x) for x in node.inputs)
            node = dataclasses.replace(node, inputs=inputs) if inputs != node.inputs else node
            self.nodes.append(node)

    def name(self, node: Node, which: Made) -> str:
        """The name of the field that a node reads or writes."""
        name = node.inputs[1]
        if not isinstance(name, Const) or type(name.value) is not str or node.keywords:
            raise self.work.refuse(which)
        return name.value

    def write(self, which: Made, name: str, x: Operand, node: Node) -> None:
        """Put a value into a field."""
        outer = which.loops < self.loops
        shared = which.handed or (outer and len(self.work.family(which.key)) > 1)
        held = self.object(x)
        circle = held is not None and self.leads_to(held, which)  # of values there is no end then
        if not kept(node) or shared or which.new is not YES or circle:
            raise self.work.refuse(which)
        if outer:
            self.work.written.add(which.key)
        which.fields[name] = x

    def leads_to(self, x: Made, which: Made) -> bool:
        """Whether an object is another one, or holds it."""
        below = (self.object(put(held, self.swap)) for held in x.fields.values())
        return x is which or any(y is not None and self.leads_to(y, which) for y in below)

    def itself(self, x: Operand) -> Operand:
        """An operand that may be an object, as the object: it is made here."""
        x = put(x, self.swap)  # it may have been made by another name
        which = self.object(x)
        if which is None:
            return x
        if which.depth != self.depth or which.several or (which.new is not YES and which.real is None):
            raise self.work.refuse(which)
        family = self.work.family(which.key)
        if which.new is not NO:
            self.work.made.add(which.key)
        if len(family & self.work.made) > 1:
            raise self.work.refuse(which)
        fields = {name: self.itself(held) for name, held in which.fields.items()}
        assert isinstance(x, Value)
        if which.new is NO:
            found: Operand = which.real or x
        elif which.new is YES:
            nodes, found = making(which, fields, x.name)
            self.nodes += nodes
        else:
            found = self.made_or_real(which, fields, x.name)
        for value, other in list(self.known.items()):
            if other is which:
                del self.known[value]
                self.swap[value] = found
        return found

    def made_or_real(self, which: Made, fields: Mapping[str, Operand], name: str) -> Value:
        """The object, which is made where it is a new one."""
        assert which.real is not None
        operands = list(dict.fromkeys(x for x in (*fields.values(), which.real) if isinstance(x, Value)))
        arms = []
        for new in (True, False):
            inner = {x: Value(x.type, x.name) for x in operands}
            nodes, result = making(which, {n: put(x, inner) for n, x in fields.items()}, name)
            arms.append(
                Graph(
                    "true" if new else "false",
                    tuple(inner.values()),
                    tuple(nodes) if new else (),
                    (result if new else inner[which.real],),
                )
            )
        out = Value(ObjectType(which.cls), name)
        self.nodes.append(Node("cond", (which.new, *operands), (out,), regions=tuple(arms)))
        return out

    def opened(self, x: Operand, shown: Shown, key: Value, real: Value | None, path: Names = ()) -> Made:
        """An object from outside as values: of what is read of it later.

        key: what stands for it.  real: what it is outside of the region; None where it is something there."""
        cls = class_of(x.type)
        if not isinstance(x, Value) or cls is None or not self.work.calm(cls):
            raise Needed(frozenset({key}))
        fields: dict[str, Operand] = {}
        for name in self.work.layout(cls, key):
            t = shown.types.get((*path, name))
            if t is None:
                if not shown.sure:
                    raise Needed(frozenset({key}))
                continue
            held = fields[name] = Value(t, name)
            self.nodes.append(Node("py.getattr", (x, Const(name)), (held,)))
            if is_object(t) and any(
                p[: len(path) + 1] == (*path, name) for p in shown.types if len(p) > len(path) + 1
            ):
                inner_key = self.work.key(key, (name,))
                self.known[held] = self.opened(held, shown, inner_key, held, (*path, name))
        return Made(key, cls, fields, self.depth, self.loops, NO, real, real is None)


def making(which: Made, fields: Mapping[str, Operand], name: str) -> tuple[list[Node], Value]:
    """The nodes that make an object."""
    out = Value(ObjectType(which.cls), name)
    nodes = [Node("py.call", (Const(object.__new__), Const(which.cls)), (out,))]
    op = "py.setattr" if ordinary(which.cls) else "py.setown"
    nodes += [Node(op, (out, Const(field), x)) for field, x in fields.items()]
    return nodes, out


class Inside:
    """A node with regions, and the objects that these capture."""

    def __init__(self, outer: Region, node: Node) -> None:
        self.outer, self.work, self.node = outer, outer.work, node
        self.captured: tuple[Operand, ...] = ()
        self.objects: list[Made | None] = []
        self.taken: dict[Value, None] = {}  # values that fields are, which the regions take
        self.origin: dict[Made, Value] = {}  # of what stands for an object in a region: what it is outside
        self.before: dict[Made, dict[str, Operand]] = {}  # what that holds at the start

    def look(self, captured: Sequence[Operand]) -> None:
        """See which of the captured values are objects, when those are made that are needed themselves."""
        self.captured = tuple(put(x, self.outer.swap) for x in captured)
        self.objects = [self.outer.object(x) for x in self.captured]

    def entered(self, known: Known, params: Sequence[Value], values: dict[Value, Value]) -> None:
        """Let the parameters of a region that stand for captured objects be objects."""
        copies: dict[Made, Made] = {}
        for x, which, p in zip(self.captured, self.objects, params, strict=True):
            if which is not None:
                assert isinstance(x, Value)
                known[p] = self.copied(x, which, known, values, copies)

    def copied(
        self,
        x: Value,
        which: Made,
        known: Known,
        values: dict[Value, Value],
        copies: dict[Made, Made],
    ) -> Made:
        """What stands for an object in a region."""
        if which not in copies:
            made = copies[which] = dataclasses.replace(which, fields={}, new=self.inner(which.new, values))
            for name, held in which.fields.items():
                held = put(held, self.outer.swap)
                below = self.outer.object(held)
                if below is None:
                    made.fields[name] = self.inner(held, values)
                else:
                    assert isinstance(held, Value)
                    stand_in = Value(held.type, held.name)
                    known[stand_in] = self.copied(held, below, known, values, copies)
                    made.fields[name] = stand_in
            self.origin[made], self.before[made] = x, dict(made.fields)
        return copies[which]

    def inner(self, x: Operand, values: dict[Value, Value]) -> Operand:
        """A value in a region."""
        if not isinstance(x, Value):
            return x
        self.taken[x] = None
        return values.setdefault(x, Value(x.type, x.name))

    def hand(self, *which: Made) -> None:
        """These objects may be the same as others from now on."""
        for one in which:
            one.handed = True
            outside = self.outer.object(self.origin.get(one, NO))
            if outside is not None:
                outside.handed = True

    def plain(self, params: Sequence[Value]) -> tuple[Value, ...]:
        """The parameters for what is captured and is no object."""
        return tuple(p for p, which in zip(params, self.objects, strict=True) if which is None)

    def end(self, values: dict[Value, Value]) -> tuple[Value, ...]:
        """The parameters for the values that the regions take."""
        return tuple(values.get(x) or Value(x.type, x.name) for x in self.taken)

    def outside(self, x: Operand, params: Sequence[Value]) -> Value | None:
        """What a parameter of a region stands for outside."""
        found = [y for y, p in zip(self.captured, params, strict=True) if p is x]
        return found[0] if found and isinstance(found[0], Value) else None
