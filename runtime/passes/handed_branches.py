"""Branches that hand on objects, as what their fields hold.

In: a `cond` in a region that is rewritten.  Out: one that gives the fields.  What always holds: what is the
same object on all ways stays that object.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.passes.families import NO, Known, Made, Names, Shown, is_object, joined_type, names_of, zero_of
from runtime.passes.rewrite import put, users
from runtime.passes.virtual import Inside, Region, region
from runtime.types import ObjectType


class Branch(Inside):
    """A `cond`."""

    def __init__(self, outer: Region, node: Node) -> None:
        super().__init__(outer, node)
        self.outputs: list[Value] = []
        self.ends: list[tuple[Region, list[Operand], Graph]] = []  # of arms that have an end

    def done(self) -> None:
        """Put what becomes of the node into the region around it."""
        node, outer = self.node, self.outer
        pred = outer.itself(node.inputs[0])
        self.look(node.inputs[1:])
        arms = []
        for arm in node.regions:
            known: Known = {}
            values: dict[Value, Value] = {}
            self.entered(known, arm.params, values)
            nodes, results, inner = region(self.work, arm, known, outer.within, outer.depth + 1, outer.loops)
            given: list[Operand] = []
            arms.append((arm, nodes, values, given))
            if not arm.diverges:
                self.ends.append((inner, given, arm))
        for at, out in enumerate(node.outputs):
            self.output(at, out)
        self.changed()
        plain = [x for x, which in zip(self.captured, self.objects, strict=True) if which is None]
        regions = tuple(
            dataclasses.replace(
                arm,
                params=(*self.plain(arm.params), *self.end(values)),
                nodes=tuple(nodes),
                results=tuple(given),
            )
            for arm, nodes, values, given in arms
        )
        inputs = (pred, *plain, *self.taken)
        made = dataclasses.replace(node, inputs=inputs, outputs=tuple(self.outputs), regions=regions)
        outer.nodes.append(made)

    def output(self, at: int, out: Value) -> None:
        """Hand a result on."""
        xs = [put(arm.results[at], inner.swap) for inner, _, arm in self.ends]
        objects = any(inner.object(x) for (inner, _, _), x in zip(self.ends, xs, strict=True))
        if objects and is_object(out.type) and out not in self.work.left and self.read(out):
            found = self.joined(xs, at, out)
            self.work.gained = True
            which = self.outer.object(found)
            if which is not None:
                self.outer.known[out] = which
            else:
                self.outer.swap[out] = found
            return
        self.outputs.append(out)
        for (inner, given, _), x in zip(self.ends, xs, strict=True):
            given.append(inner.itself(x))

    def read(self, out: Value) -> bool:
        """Whether a result is looked into, or handed on to where it may be."""
        graph = self.outer.graph
        if self.outer.depth and out in graph.results:
            return True
        return any(n.regions or (n.op == "py.getattr" and k == 0) for n, k in users(graph, out))

    def joined(self, xs: Sequence[Operand], at: int, left: Value, path: Names = ()) -> Operand:
        """What stands outside for what the arms give.  left: what to leave as it is otherwise."""
        which = [inner.object(x) for (inner, _, _), x in zip(self.ends, xs, strict=True)]
        if not any(which):
            if isinstance(xs[0], Const) and all(x is xs[0] for x in xs):
                return xs[0]
            out = Value(joined_type(xs), xs[0].name if isinstance(xs[0], Value) else "")
            self.outputs.append(out)
            for (_, given, _), x in zip(self.ends, xs, strict=True):
                given.append(x)
            return out
        origins = {self.origin.get(one) if one is not None else None for one in which}
        if len(origins) == 1 and None not in origins:
            return origins.pop()  # type: ignore[return-value]
        shown = Shown({}, False) if path else self.work.shown(self.outer.graph, self.node, at)
        objects = []
        for (inner, _, arm), one, x in zip(self.ends, which, xs, strict=True):
            if one is None:
                one = inner.opened(x, shown, left, self.outside(x, arm.params))
            objects.append(one)
        return self.merged(objects, at, left, path)

    def merged(self, objects: Sequence[Made], at: int, left: Value, path: Names) -> Value:
        """The object that is one of these."""
        key = self.work.key(left, path)
        self.hand(*objects)
        self.work.related(key, *(one.key for one in objects))
        cls, names = objects[0].cls, names_of(objects)
        if names is None or any(one.cls is not cls for one in objects):
            raise self.work.refuse(*objects)
        reals = {one.real for one in objects if one.real is not None}
        several = len(reals) > 1 or any(one.several for one in objects)
        fields = {name: self.joined(self.column(objects, name), at, left, (*path, name)) for name in names}
        new = self.joined([one.new for one in objects], at, left)
        out = Value(ObjectType(cls), left.name)
        real = reals.pop() if reals and not several else None
        self.outer.known[out] = Made(
            key, cls, fields, self.outer.depth, self.outer.loops, new, real, several, True
        )
        return out

    def column(self, objects: Sequence[Made], name: str) -> list[Operand]:
        """A field of each of the objects; of one that is not known to have it, anything."""
        found = [
            put(one.fields[name], inner.swap) if name in one.fields else None
            for one, (inner, _, _) in zip(objects, self.ends, strict=True)
        ]
        there = [x for x in found if x is not None]
        zero = zero_of(joined_type(there))
        if len(there) < len(found) and zero is None:
            raise self.work.refuse(*objects)
        return [x if x is not None else zero or NO for x in found]

    def changed(self) -> None:
        """Let objects that the arms write to hold what they hold at the ends."""
        for x, which in list(self.outer.known.items()):
            copies = [
                next((one for one in inner.known.values() if self.origin.get(one) is x), None)
                for inner, _, _ in self.ends
            ]
            if any(one is not None and one.fields != self.before[one] for one in copies):
                if None in copies:
                    raise self.work.refuse(which)
                self.merge_fields(which, [one for one in copies if one is not None])

    def merge_fields(self, which: Made, copies: Sequence[Made]) -> None:
        names = names_of(copies)
        if names is None:
            raise self.work.refuse(which)
        for name in names:
            if any(one.fields[name] is not self.before[one].get(name) for one in copies):
                which.fields[name] = self.joined(self.column(copies, name), 0, which.key, (name,))
