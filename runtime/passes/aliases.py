"""Which values may share memory, which of them leave the graph, and what each node may write.

In: a graph and the op table.  Out: `Aliases`.  What always holds: two values that can ever share memory, or
be one object, are in one class; all that code outside can reach is in the class `OUTSIDE`.  The classes hold
for the whole run, whatever the order of nodes, so regions need no special care: their parameters are in
the class of what they are given.  (Union by equality: Steensgaard,
"Points-to analysis in almost linear time", 1996.)
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from typing import Any

from runtime.boxes import Cell
from runtime.elements import elements, kind_of
from runtime.ir.effects import effect_of, tame
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import EFFECT, PURE, WRITE, OpDef
from runtime.ir.parts import Try, With
from runtime.ir.walk import walk_nodes
from runtime.passes.facts import makes_new, mutable
from runtime.types import ArrayType, Type, static_or_weak

OUTSIDE = Value(Const(None).type, "outside")
_RESHAPING = frozenset({"nd.resize", "nd.setflags", "py.setattr", "py.setown", "py.delattr"})
_HARMLESS = frozenset(
    {"py.tuple", "py.list", "py.slice", "py.is", "py.bound", "py.expect", "py.check", "getitem", "py.getattr"}
)
Place = tuple[int, Any, Type]
_COMPUTING = (int, float, bool, complex, abs, min, max, round, divmod, pow, kind_of)


class Aliases:
    """The classes of a graph's values."""

    def __init__(self, graph: Graph, table: Mapping[str, OpDef]) -> None:
        self.table = table
        self._parent: dict[Value, Value] = {}
        self._clobbers: dict[Node, frozenset[Value]] = {}
        self._compared: set[Value] = set()
        self._elements: set[Operand] = set()  # what goes through the elements of arrays, and runs no code
        self._join([*graph.params, OUTSIDE])
        for node in walk_nodes(graph):
            self._node(node)
        self.returned = {self.of(x) for x in graph.results}
        self.compared = {self.of(x) for x in self._compared}
        self.written: frozenset[Value] = frozenset().union(*(self.clobbers(n) for n in graph.nodes))

    def of(self, operand: Operand) -> Value:
        """The class of an operand."""
        if isinstance(operand, Const):
            return OUTSIDE
        found = operand
        while (up := self._parent.get(found, found)) is not found:
            self._parent[found] = found = self._parent.get(up, up)
        return found

    def reads(self, node: Node) -> frozenset[Value]:
        """The classes whose contents the node may look at."""
        return frozenset(self.of(x) for x in node.inputs if mutable(x.type))

    def clobbers(self, node: Node) -> frozenset[Value]:
        """The classes whose contents the node may change."""
        if node not in self._clobbers:
            inner = (self.clobbers(n) for region in node.regions for n in region.nodes)
            found = frozenset().union(*inner) if node.regions else self._own_writes(node)
            if node.regions and self._runs_code(node):
                found |= {OUTSIDE}
            self._clobbers[node] = frozenset(self.of(x) for x in found)
        return self._clobbers[node]

    def rebinds(self, node: Node) -> bool:
        """Whether the node may change more than elements of arrays: what names and attributes stand for."""
        if node.regions:
            return self._runs_code(node) or any(self.rebinds(n) for r in node.regions for n in r.nodes)
        plain = all(map(_plain, node.inputs[1 if node.op == "py.call" else 0 :]))
        if found_before(node):
            return False
        if plain and (_of_numbers(node) or (effect_of(node, self.table) == WRITE and _array_write(node))):
            return False
        return OUTSIDE in self._own_writes(node)

    def moved(self, new: Value, old: Value) -> None:
        """Put a value that a pass makes into the class of the one that it stands for."""
        self._parent[new] = self.of(old)

    def reshapes(self, node: Node, operand: Operand) -> bool:
        """Whether the node may change the sizes or strides of the array, or swap its memory."""
        if node.op in _RESHAPING and self.of(node.inputs[0]) is self.of(operand):
            return True
        if any(self.reshapes(n, operand) for region in node.regions for n in region.nodes):
            return True
        if self.of(operand) is not OUTSIDE:
            return False
        return self._runs_code(node) if node.regions else not self._tame(node)

    def _tame(self, node: Node) -> bool:
        """Whether the node runs no code but NumPy's."""
        effect = effect_of(node, self.table)
        if effect == EFFECT:
            return False
        return node.op in _HARMLESS or all(map(_plain, node.inputs))

    def private(self, operand: Operand) -> bool:
        """Whether nobody outside ever reaches the object, nor asks whether it is another one."""
        found = self.of(operand)
        return found is not OUTSIDE and found not in self.returned and found not in self.compared

    def constant(self, operand: Operand) -> bool:
        """Whether nothing in the graph changes the contents of the object."""
        return not mutable(operand.type) or self.of(operand) not in self.written

    def _own_writes(self, node: Node) -> frozenset[Value]:
        effect = effect_of(node, self.table)
        if effect == PURE:
            quiet = node.op in _HARMLESS or all(map(_plain, node.inputs))
            return frozenset() if quiet else frozenset({OUTSIDE})
        if effect == WRITE and all(map(_plain, node.inputs)):
            if not any(mutable(x.type) for x in node.inputs):
                return frozenset()  # `n += 1` on a number
            if _array_write(node):
                return frozenset({self.of(_target(node))})
        return frozenset({OUTSIDE, *(self.of(x) for x in node.inputs if mutable(x.type))})

    def _runs_code(self, node: Node) -> bool:
        """Whether the region node itself may run code of the user's: iterating, entering, asking truth."""
        if node.op in ("for", "cond"):
            over = node.inputs[0]
            return over not in self._elements and not tame(static_or_weak(over.type))
        if node.op == "while":
            return not all(tame(static_or_weak(x.type)) for x in node.regions[0].results)
        return node.op == "with"

    def _join(self, operands: Iterable[Operand]) -> None:
        """Put the operands that can change into one class."""
        classes = [self.of(x) for x in operands if x is OUTSIDE or mutable(x.type)]
        top = OUTSIDE if OUTSIDE in classes else classes[0] if classes else OUTSIDE
        for one in classes:
            if one is not top:
                self._parent[one] = top

    def _node(self, node: Node) -> None:
        if node.regions:
            self._region_node(node)
            return
        if node.op == "py.call" and isinstance(node.inputs[0], Const) and node.inputs[0].value is elements:
            self._elements.update(node.outputs)
        if node.op == "py.is":
            self._compared.update(x for x in node.inputs if isinstance(x, Value))
        effect = effect_of(node, self.table)
        changeable = [x for x in node.inputs if mutable(x.type)]
        outputs = [x for x in node.outputs if mutable(x.type)]
        if effect == EFFECT or not (effect == PURE or _array_write(node)):
            self._join([*changeable, *outputs, OUTSIDE])
        elif effect == WRITE:
            self._join([*outputs, _target(node)])
        elif not makes_new(node, self.table):
            self._join([*changeable, *outputs])

    def _region_node(self, node: Node) -> None:
        if node.op == "with":
            parts = With(node)
            self._join([parts.manager, parts.entered, OUTSIDE])
            self._pairs(parts.params, parts.captures)
            self._pairs(node.outputs, parts.instead)
            self._pairs(node.outputs, parts.body.results)
            return
        if node.op == "try":
            tried = Try(node)
            for _, region in tried.labels():
                self._pairs(tried.capture_params(region), tried.captures)
                self._join(
                    [
                        *(x for x in region.params if region in tried.handlers and x is region.params[0]),
                        OUTSIDE,
                    ]
                )
                if region in tried.ends:
                    self._pairs(node.outputs, region.results)
            return
        if node.op == "cond":
            for region in node.regions:
                self._pairs(region.params, node.inputs[1:])
                self._pairs(node.outputs, region.results)
            return
        body = node.regions[0] if node.op == "for" else node.regions[1]
        for region in node.regions:
            first = 1 if node.op == "for" and region is body else 0
            given = node.inputs[1:] if node.op == "for" else node.inputs
            if first:
                self._join([region.params[0], node.inputs[0]])
            self._pairs(region.params[first:], given)
            self._pairs(region.params[first:], node.outputs)
            if region is body:
                self._pairs(node.outputs, region.results)

    def _pairs(self, some: Iterable[Operand], others: Iterable[Operand]) -> None:
        for one, other in zip(some, others, strict=False):
            if mutable(one.type) or mutable(other.type):
                self._join([one, other])


def _plain(x: Operand) -> bool:
    """Whether operators on it run no Python code."""
    return not mutable(x.type) or isinstance(x.type, ArrayType)


def found_before(node: Node) -> bool:
    """Whether the node reads an array from a global name or a cell, where the call has found one."""
    if node.op not in ("getitem", "py.getattr") or not isinstance(node.outputs[0].type, ArrayType):
        return False
    if not isinstance(node.inputs[1], Const):
        return False
    holder = node.inputs[0]
    return isinstance(holder, Const) and type(holder.value) in (dict, types.CellType, Cell)


def place(node: Node) -> Place:
    """Where such a node reads, and what it finds there."""
    holder, name = node.inputs
    assert isinstance(holder, Const) and isinstance(name, Const)
    return id(holder.value), name.value, node.outputs[0].type


def _of_numbers(node: Node) -> bool:
    """Whether the node calls a function that does nothing but compute something of numbers."""
    called = node.inputs[0] if node.op == "py.call" else None
    if not isinstance(called, Const) or not callable(called.value):
        return False
    return getattr(called.value, "__module__", None) == "math" or any(
        called.value is one for one in _COMPUTING
    )


def _array_write(node: Node) -> bool:
    """Whether the node writes elements into an array and keeps none of its operands."""
    return bool(node.inputs) and isinstance(_target(node).type, ArrayType) and not node.op.startswith("py.")


def _target(node: Node) -> Operand:
    """What a node that writes writes into."""
    return node.keyword_inputs["out"] if "out" in node.keywords else node.inputs[0]
