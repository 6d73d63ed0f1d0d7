"""Loops that hand on objects from trip to trip, as what their fields hold.

In: a `for` or `while` in a region that is rewritten.  Out: one that carries the fields that change, and takes
the others.  What always holds: the fields and their types are a fixed point of the trips.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from runtime.dataclass import dataclass
from runtime.ir.graph import Graph, Node, Operand, Value
from runtime.passes.families import NO, Known, Made, Names, Needed, Shown, is_object, names_of, zero_of
from runtime.passes.rewrite import put
from runtime.passes.virtual import Inside, Region, region
from runtime.types import OBJECT, ObjectType, Type, WeakType, join, static_or_weak

ROUNDS = 48


@dataclass(eq=False)
class _Slot:
    """Something that a loop hands on: what it is before, and which carry or field of a captured object.

    at: of the carry; -1 for a field `name` of the object that `holder` stands for."""

    first: Operand
    left: Value
    at: int = -1
    holder: Value | None = None
    name: str = ""


class _Again(Exception):
    """More is handed on than was thought, or of wider types."""


class Loop(Inside):
    """A `for` or `while`."""

    def __init__(self, outer: Region, node: Node) -> None:
        self.lead, self.count = int(node.op == "for"), node.attr("carries")
        super().__init__(outer, node)
        self.body = 0 if node.op == "for" else 1
        self.types: dict[tuple[Value, Names], Type | None] = {}  # of the leaves of what is handed on
        self.fixed: dict[
            tuple[Value, Names], Operand
        ] = {}  # leaves that stay as they are: whether one is new
        self.names: dict[tuple[Value, Names], Names] = {}  # of fields of objects that are handed on
        self.several: set[Value] = set()

    def done(self) -> None:
        """Put what becomes of the node into the region around it."""
        node, outer, work = self.node, self.outer, self.work
        carries = node.inputs[self.lead : self.lead + self.count]
        pairs = list(enumerate(zip(carries, node.outputs, strict=True)))
        handled = {at for at, (x, out) in pairs if self.handled(x, out)}
        self.kept = [at for at in range(self.count) if at not in handled]
        inputs = tuple(
            outer.itself(x) for x in (*node.inputs[: self.lead], *(carries[at] for at in self.kept))
        )
        self.look(node.inputs[self.lead + self.count :])
        self.slots = []
        for at, (x, out) in pairs:
            if at in handled:
                x = put(x, outer.swap)
                first = x if outer.object(x) is not None else self.shown_as_values(x, at, out)
                self.slots.append(_Slot(first, out, at))
        if node.regions[self.body].diverges and (handled or any(self.objects)):
            raise Needed(frozenset({slot.left for slot in self.slots}) or self.keys())
        for slot in self.slots:
            self.learn(slot.first, slot.left, ())
        for _ in range(ROUNDS):
            self.taken.clear()
            try:
                regions, given = self.trip()
                break
            except _Again:
                continue
        else:
            raise Needed
        work.gained |= bool(self.slots)
        leaves = list(self.types)
        firsts = [self.at_first(place) for place in leaves]
        plain = [x for x, which in zip(self.captured, self.objects, strict=True) if which is None]
        outs = {place: Value(self.type(place), place[1][-1] if place[1] else "") for place in leaves}
        count = len(self.kept) + len(leaves)
        made = dataclasses.replace(
            node,
            inputs=(*inputs, *firsts, *plain, *self.taken),
            outputs=(*(node.outputs[at] for at in self.kept), *outs.values()),
            attrs=tuple((a, count if a == "carries" else x) for a, x in node.attrs),
            regions=regions,
        )
        outer.nodes.append(made)
        for slot in self.slots:
            found = self.standing(slot.first, slot.left, (), outs, outer.known)
            which = outer.object(found)
            if slot.holder is not None:
                outer.known[slot.holder].fields[slot.name] = found
            elif which is not None:
                outer.known[slot.left] = which
            else:
                outer.swap[slot.left] = found

    def keys(self) -> frozenset[Value]:
        """What the captured objects come from."""
        return frozenset().union(*(self.work.family(one.key) for one in self.objects if one is not None))

    def handled(self, x: Operand, out: Value) -> bool:
        """Whether a carry is handed on as values."""
        if not is_object(out.type) or out in self.work.left:
            return False
        return self.outer.object(x) is not None or (isinstance(x, Value) and x.type == out.type)

    def shown_as_values(self, x: Operand, at: int, out: Value) -> Value:
        """An object from outside that is handed on."""
        assert isinstance(x, Value)
        shown = self.work.shown(self.outer.graph, self.node, at)
        which = self.outer.opened(x, shown, out, x)
        stand_in = Value(x.type, x.name)
        self.outer.known[stand_in] = which
        return stand_in

    # ------------------------------------------------------------------ what is handed on
    def learn(self, x: Operand, left: Value, path: Names) -> None:
        """Find the leaves of what is handed on."""
        which = self.outer.object(x)
        if which is None:
            self.types.setdefault((left, path), static_or_weak(x.type))
            return
        self.work.related(self.work.key(left, path), which.key)
        self.hand(which)
        self.names[left, path] = tuple(which.fields)
        for name in which.fields:
            self.learn(put(which.fields[name], self.outer.swap), left, (*path, name))
        self.fixed.setdefault((left, (*path, "")), which.new)

    def at_first(self, place: tuple[Value, Names]) -> Operand:
        """What a leaf is before the loop."""
        left, path = place
        x: Operand = next(slot.first for slot in self.slots if slot.left is left)
        for name in path:
            which = self.outer.object(x)
            assert which is not None
            found = which.new if name == "" else which.fields.get(name)
            if found is None:
                zero = zero_of(self.type(place))
                if zero is None:
                    raise self.work.refuse(which)
                return zero
            x = put(found, self.outer.swap)
        return x

    def type(self, place: tuple[Value, Names]) -> Type:
        """The type of a leaf."""
        found = self.types[place]
        assert found is not None
        return found

    def standing(
        self,
        x: Operand,
        left: Value,
        path: Names,
        leaves: Mapping[tuple[Value, Names], Value],
        known: Known,
    ) -> Operand:
        """What stands for something that is handed on, where its leaves are these."""
        which = self.outer.object(x)
        if which is None:
            return leaves[left, path]
        key, fields = self.work.key(left, path), {}
        for name in self.names[left, path]:
            below = put(which.fields[name], self.outer.swap) if name in which.fields else NO
            fields[name] = self.standing(below, left, (*path, name), leaves, known)
        place = (left, (*path, ""))
        new = self.fixed[place] if place in self.fixed else leaves[place]
        stand_in = Value(ObjectType(which.cls), left.name)
        several = which.several or key in self.several
        known[stand_in] = Made(
            key, which.cls, fields, self.outer.depth, self.outer.loops, new, which.real, several, True
        )
        return stand_in

    def after(
        self,
        x: Operand,
        first: Operand,
        left: Value,
        path: Names,
        inner: Region,
        graph: Graph,
        found: dict[tuple[Value, Names], Operand],
    ) -> None:
        """Find what the leaves are at the end of a trip."""
        x = put(x, inner.swap)
        before, which = self.outer.object(first), inner.object(x)
        if before is None:
            found[left, path] = inner.itself(x)
            return
        if which is None:
            if path:
                raise self.work.refuse(before)
            slot = next(slot for slot in self.slots if slot.left is left)
            shown = (
                self.work.shown(self.outer.graph, self.node, slot.at) if slot.at >= 0 else Shown({}, False)
            )
            which = inner.opened(x, shown, left, self.outside(x, graph.params[self.lead + self.count :]))
        self.hand(which)
        self.work.related(self.work.key(left, path), which.key, before.key)
        if which.cls is not before.cls:
            raise self.work.refuse(which, before)
        names = names_of([which, before])
        if names is None:
            raise self.work.refuse(which, before)
        self.names[left, path] = names
        for name in names:
            place = (left, (*path, name))
            if name not in before.fields and place not in self.types:
                self.types[place] = None
            if name in which.fields:
                below = put(before.fields[name], self.outer.swap) if name in before.fields else NO
                self.after(which.fields[name], below, left, (*path, name), inner, graph, found)
        key, place = self.work.key(left, path), (left, (*path, ""))
        if (which.several or which.real not in (None, before.real)) and key not in self.several:
            self.several.add(key)
            raise _Again
        if place in self.fixed and which.new is not self.fixed[place]:
            del self.fixed[place]
            self.types[place] = WeakType("bool")
            raise _Again
        if place in self.types:
            found[place] = which.new

    # ------------------------------------------------------------------ one trip
    def trip(self) -> tuple[tuple[Graph, ...], None]:
        """The regions, if what is handed on is as it was thought."""
        made = []
        for i, graph in enumerate(self.node.regions):
            made.append(self.one(graph, i == self.body))
        return tuple(self.closed(*parts) for parts in made), None

    def one(
        self, graph: Graph, body: bool
    ) -> tuple[Graph, list[Node], list[Operand], list[Value], dict[Value, Value]]:
        """A region: its nodes, results, parameters, and those for what it takes."""
        lead = int(body and self.node.op == "for")
        known: Known = {}
        values: dict[Value, Value] = {}
        captured = graph.params[lead + self.count :]
        self.entered(known, captured, values)
        leaves = {
            place: Value(t or OBJECT, place[1][-1] if place[1] else "") for place, t in self.types.items()
        }
        for slot in self.slots:
            found = self.standing(slot.first, slot.left, (), leaves, known)
            if slot.holder is not None:
                for which, x in self.origin.items():
                    if x is slot.holder and which in known.values():
                        which.fields[slot.name] = self.before[which][slot.name] = found
                continue
            p = graph.params[lead + slot.at]
            assert isinstance(found, Value)
            known[p] = known[found]
        depth, loops = self.outer.depth + 1, self.outer.loops + 1
        nodes, results, inner = region(self.work, graph, known, self.outer.within, depth, loops)
        self.changes(inner, body)
        if body:
            given = [inner.itself(results[at]) for at in self.kept]
            found_now: dict[tuple[Value, Names], Operand] = {}
            for slot in self.slots:
                after = results[slot.at] if slot.holder is None else self.held(inner, slot)
                self.after(after, slot.first, slot.left, (), inner, graph, found_now)
            given += self.settled(found_now)
        else:
            given = [inner.itself(x) for x in results]
        params = [
            *graph.params[:lead],
            *(graph.params[lead + at] for at in self.kept),
            *leaves.values(),
            *self.plain(captured),
        ]
        return graph, nodes, given, params, values

    def closed(
        self,
        graph: Graph,
        nodes: list[Node],
        given: list[Operand],
        params: list[Value],
        values: dict[Value, Value],
    ) -> Graph:
        return dataclasses.replace(
            graph, params=(*params, *self.end(values)), nodes=tuple(nodes), results=tuple(given)
        )

    def held(self, inner: Region, slot: _Slot) -> Operand:
        """What a field of a captured object holds at the end of a trip."""
        which = next(one for one in inner.known.values() if self.origin.get(one) is slot.holder)
        return which.fields[slot.name]

    def changes(self, inner: Region, body: bool) -> None:
        """Hand on the fields of captured objects that a region writes to."""
        more = False
        for which in list(inner.known.values()):
            x = self.origin.get(which)
            for name, held in which.fields.items() if x is not None else ():
                if held is self.before[which].get(name):
                    continue
                if not body or x not in self.outer.known or name not in self.outer.known[x].fields:
                    raise self.work.refuse(which)
                if any(slot.holder is x and slot.name == name for slot in self.slots):
                    continue
                assert x is not None
                first = put(self.outer.known[x].fields[name], self.outer.swap)
                slot = _Slot(first, self.work.key(x, (name,)), -1, x, name)
                self.slots.append(slot)
                self.learn(first, slot.left, ())
                more = True
        if more:
            raise _Again

    def settled(self, found: Mapping[tuple[Value, Names], Operand]) -> list[Operand]:
        """What the leaves are after a trip, in order; their types must be what was thought."""
        again = False
        given = []
        for place, t in self.types.items():
            if place not in found:
                raise Needed(frozenset({place[0]}))
            now = static_or_weak(found[place].type)
            wider = now if t is None else join(t, now)
            again |= wider != t
            self.types[place] = wider
            given.append(found[place])
        if again:
            raise _Again
        return given
