"""Small arrays of floats as numbers: a graph in which their elements are values of their own.

In: a graph.  Out: the same graph with numbers in place of arrays of at most 16 elements that loops compute
with, so that they stay in registers; or the graph itself where that can't be told from the graph given.
What always holds: an array that is written to, viewed, handed to anybody or kept beside another one stays an
array; an array that is returned is made once, of its elements; none that was there before is ever replaced.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.execute.native.kernel import Kernel
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.waiting import IN_PLACE
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE
from runtime.ir.walk import walk_nodes
from runtime.ops.table import OPS
from runtime.types import ArrayType, ObjectType, TupleType, WeakType

MOST = 16  # elements
LARGE = 3000  # nodes
FLOAT = np.dtype(np.float64)
NUMBER = ArrayType(FLOAT, (), True)
BINARY = ("add", "sub", "mul", "truediv")
UNARY = ("neg", "np.sqrt")
MAKERS = ("np.empty", "np.zeros", "np.ones")
IN_ORDER = 8  # so many elements NumPy adds one after the other
Parts = np.ndarray[Any, Any]  # operands, in the shape of the array


class _Stays(Exception):
    """The graph had better stay as it is."""


def tried(graph: Graph, lower: Callable[[Graph], Kernel]) -> Kernel:
    """The code of a graph, with numbers for small arrays if there is such code."""
    numbers = split(graph)
    if numbers is not graph:
        try:
            return lower(numbers)
        except Unlowered:  # it may be done with arrays
            pass
    return lower(graph)


def split(graph: Graph) -> Graph:
    """The graph with numbers for small arrays; the graph itself where there are none in loops."""
    loops = [r for n in walk_nodes(graph) if n.op in ("while", "for") for r in n.regions]
    if not any(map(is_small, (v for r in loops for v in (*r.params, *_made(r))))) or _several(graph):
        return graph
    try:
        return _Split(graph).whole()
    except _Stays:
        return graph


def is_small(x: Operand) -> bool:
    """Whether it is an array of floats with few elements, whose number is known."""
    t = x.type
    if not isinstance(t, ArrayType) or t.scalar or t.dtype != FLOAT or t.device != "cpu" or not t.shape:
        return False
    return None not in t.shape and 0 < int(np.prod(t.shape)) <= MOST  # type: ignore[arg-type]


def _made(graph: Graph) -> list[Value]:
    return [v for node in walk_nodes(graph) for v in node.outputs]


def _several(graph: Graph) -> bool:
    """Whether more than one small array leaves the graph: they might be one."""
    makers = {out: node for node in graph.nodes for out in node.outputs}
    left, count = list(graph.results), 0
    while left:
        x = left.pop()
        maker = makers.get(x) if isinstance(x, Value) else None
        if maker is not None and maker.op == "py.tuple":
            left += maker.inputs
        count += is_small(x)
    return count > 1


class _Split:
    """One graph.

    parts: the elements of each small array, where they are values.  numbers: arrays that are nothing else.
    origin: what a value of a region is outside.  old: what is an array from before, or may be.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.parts: dict[Operand, Parts] = {}
        self.numbers: set[Operand] = set()
        self.swap: dict[Value, Operand] = {}
        self.origin: dict[Value, Operand] = {}
        self.makers = {out: node for node in walk_nodes(graph) for out in node.outputs}
        self.old: set[Operand] = {x for x in graph.params if is_small(x)}
        self.writes = any(node.op == "setitem" for node in walk_nodes(graph))
        self.depth = 0

    def whole(self) -> Graph:
        """The graph with numbers."""
        nodes = self.nodes(self.graph)
        results: list[Operand] = []
        for x in self.graph.results:
            results.append(self.array(x, nodes) if x in self.numbers else self.put(x))
        made = dataclasses.replace(self.graph, nodes=tuple(nodes), results=tuple(results))
        if sum(1 for _ in walk_nodes(made)) > LARGE:
            raise _Stays
        return made

    def put(self, x: Operand) -> Operand:
        """The operand in the new graph."""
        return self.swap.get(x, x) if isinstance(x, Value) else x

    # ------------------------------------------------------------------ arrays and their elements
    def elements(self, x: Operand, nodes: list[Node]) -> Parts:
        """The elements of a small array, or the number itself."""
        if x in self.parts:
            return self.parts[x]
        if not is_small(x):
            if not _is_number(x):
                raise _Stays
            return _single(self.put(x))
        if self.depth or isinstance(x, Const):
            raise _Stays
        assert isinstance(x.type, ArrayType)
        shape: Any = x.type.shape
        keys = [Const(place[0] if len(place) == 1 else place) for place in np.ndindex(shape)]
        self.parts[x] = _array_of([_add(nodes, "getitem", [self.put(x), key]) for key in keys], shape)
        return self.parts[x]

    def array(self, x: Operand, nodes: list[Node]) -> Operand:
        """The array made of its elements."""
        if self.depth or x in self.old or not isinstance(x, Value):
            raise _Stays
        if x not in self.swap:

            def display(parts: Parts) -> Operand:
                items: list[Operand] = []
                for part in parts:
                    items.append(display(part) if isinstance(part, np.ndarray) else part)
                made = Value(TupleType(tuple(i.type for i in items)))
                nodes.append(Node("py.tuple", tuple(items), (made,)))
                return made

            made = Value(x.type, x.name)
            nodes.append(Node("np.array", (display(self.parts[x]),), (made,)))
            self.swap[x] = made
        return self.swap[x]

    # ------------------------------------------------------------------ nodes
    def nodes(self, graph: Graph) -> list[Node]:
        """The nodes of a graph or region."""
        out: list[Node] = []
        for node in graph.nodes:
            self.node(node, out)
        return out

    def node(self, node: Node, out: list[Node]) -> None:
        """Write what a node becomes."""
        small = any(map(is_small, (*node.inputs, *node.outputs)))
        if node.regions:
            self.structure(node, out)
        elif node.op == "setitem":
            self.assignment(node, out)
        elif node.op in IN_PLACE and any(_is_array(x) for x in node.inputs):
            raise _Stays
        elif self.depth and small:
            self.taken_apart(node, out)
        elif not self.numbers.isdisjoint(node.inputs):
            mark = len(out)
            try:
                self.taken_apart(node, out)
            except _Stays:
                del out[mark:]
                self.left(node, out)
        else:
            self.left(node, out)

    def taken_apart(self, node: Node, out: list[Node]) -> None:
        """A node as nodes on elements."""
        made = self.computed(node, out)
        (value,) = node.outputs
        t = value.type
        if not isinstance(t, ArrayType) or t.shape != made.shape or t.dtype != FLOAT or not made.size:
            raise _Stays
        if t.scalar:
            self.swap[value] = made.flat[0]
        else:
            self.parts[value] = made
            self.numbers.add(value)
            if node.op == "getitem" and node.inputs[0] in self.old:
                self.old.add(value)  # a view of what was there before

    def left(self, node: Node, out: list[Node]) -> None:
        """A node that stays, on arrays where it was on arrays."""
        called = node.op == "py.call" and isinstance(node.inputs[0], Const)
        plain = called and all(map(_is_number, node.inputs[1:]))
        if not plain and node.op != "raise" and effect_of(node, OPS) != PURE:
            raise _Stays
        small = any(map(is_small, (*node.inputs, *node.outputs)))
        if small and node.op not in (*MAKERS, *BINARY, *UNARY, "np.array"):
            if self.writes or (node.op.startswith("py.") and node.op != "py.tuple"):
                raise _Stays  # a view of what is written, or a container
            self.old.update(filter(is_small, node.outputs))
        inputs = [self.array(x, out) if x in self.numbers else self.put(x) for x in node.inputs]
        out.append(dataclasses.replace(node, inputs=tuple(inputs)))

    def computed(self, node: Node, out: list[Node]) -> Parts:
        """The elements of what a node makes of small arrays."""
        if node.keywords or len(node.outputs) != 1:
            raise _Stays
        if node.op == "getitem" and is_small(node.inputs[0]) and isinstance(node.inputs[1], Const):
            try:
                found = self.elements(node.inputs[0], out)[node.inputs[1].value]
            except (IndexError, ValueError, TypeError):
                raise _Stays from None
            return _array_of([found], ()) if isinstance(found, (Value, Const)) else found
        if node.op == "np.array":
            return self.displayed(node.inputs[0], out)
        if node.op == "np.sum" and len(node.inputs) == 1:
            return self.total(self.elements(node.inputs[0], out), out)
        if node.op in BINARY or node.op in UNARY:
            operands = np.broadcast_arrays(*(self.elements(x, out) for x in node.inputs))
            each = zip(*(x.flat for x in operands), strict=True)
            return _array_of([_add(out, node.op, x, node) for x in each], operands[0].shape)
        raise _Stays

    def displayed(self, x: Operand, out: list[Node]) -> Parts:
        """The elements of an array made of numbers in a tuple."""
        maker = self.makers.get(x) if isinstance(x, Value) else None
        if maker is None or maker.op != "py.tuple" or any(i.type != NUMBER for i in maker.inputs):
            raise _Stays
        return _array_of(list(map(self.put, maker.inputs)), (len(maker.inputs),))

    def total(self, parts: Parts, out: list[Node]) -> Parts:
        """The sum of few elements: NumPy adds them to -0.0 in order, and that to 0.0."""
        if parts.ndim != 1 or parts.size >= IN_ORDER:
            raise _Stays
        found: Operand = parts[0]
        for x in parts[1:]:
            found = _add(out, "add", [found, x])
        return _single(_add(out, "add", [Const(np.float64(0.0)), found]))

    def assignment(self, node: Node, out: list[Node]) -> None:
        """A number written to an item of another array, or a small one to a row."""
        target, key, value = node.inputs
        root = target
        while isinstance(root, Value) and root in self.origin:
            root = self.origin[root]
        maker = self.makers.get(root) if isinstance(root, Value) else None
        if is_small(target) or maker is None or maker.op not in MAKERS or is_small(key):
            raise _Stays  # it may be a part of a small one
        target, key = self.put(target), self.put(key)
        if not is_small(value):
            out.append(dataclasses.replace(node, inputs=(target, key, self.put(value))))
            return
        parts, t = self.elements(value, out), target.type
        whole = isinstance(key.type, WeakType) and key.type.kind == "int" and isinstance(t, ArrayType)
        if not whole or t.shape is None or len(t.shape) != 2 or t.shape[1:] != parts.shape:  # type: ignore[union-attr]
            raise _Stays
        for k, part in enumerate(parts):
            place = Value(TupleType((key.type, Const(k).type)))
            out.append(Node("py.tuple", (key, Const(k)), (place,), span=node.span))
            out.append(dataclasses.replace(node, inputs=(target, place, part)))

    # ------------------------------------------------------------------ loops and branches
    def structure(self, node: Node, out: list[Node]) -> None:
        """A loop or a branch, whose regions get numbers for arrays."""
        before = {"while": 0, "for": 1, "cond": 1}.get(node.op)
        if before is None or any(is_small(x) for x in node.inputs[:before]):
            raise _Stays
        carries = node.attr("carries") if node.op != "cond" else 0
        groups = [self.group(x, out) for x in node.inputs[before:]]
        inputs = [*map(self.put, node.inputs[:before]), *(x for group in groups for x in group)]
        regions = []
        for region in node.regions:
            skip = len(region.params) - len(groups)
            outer: Sequence[Operand] = node.inputs[before:]
            regions.append(self.region(region, skip, outer, carries))
        for region in node.regions[1 if node.op == "while" else 0 : 2 if node.op != "for" else 1]:
            if region.results and any(map(_differ, region.results, node.outputs)):
                raise _Stays
        self.ages(node, before, carries)
        outputs: list[Value] = []
        for value in node.outputs:
            outputs += self.opened(value)
        attrs = dict(node.attrs)
        if node.op != "cond":
            attrs["carries"] = sum(map(len, groups[:carries]))
        out.append(
            Node(
                node.op,
                tuple(inputs),
                tuple(outputs),
                attrs=tuple(sorted(attrs.items())),
                regions=tuple(regions),
                span=node.span,
            )
        )

    def group(self, x: Operand, out: list[Node]) -> list[Operand]:
        """What goes into a region for an operand."""
        return list(self.elements(x, out).flat) if is_small(x) else [self.put(x)]

    def opened(self, value: Value) -> list[Value]:
        """The values that stand for one from now on."""
        if not is_small(value):
            return [value]
        assert isinstance(value.type, ArrayType)
        shape: Any = value.type.shape
        made = [Value(NUMBER, value.name) for _ in np.ndindex(shape)]
        self.parts[value] = _array_of(made, shape)
        self.numbers.add(value)
        return made

    def region(self, region: Graph, skip: int, outer: Sequence[Operand], carries: int) -> Graph:
        """A region; skip: parameters that stand for no operand."""
        params = list(region.params[:skip])
        if any(is_small(p) for p in params):
            raise _Stays
        if any(map(_differ, region.params[skip:], outer)):
            raise _Stays
        aged = any(x in self.old for x in outer[:carries])
        for k, (param, x) in enumerate(zip(region.params[skip:], outer, strict=True)):
            params += self.opened(param)
            if k >= carries:
                self.origin[param] = x
            if x in self.old or (k < carries and aged):
                self.old.add(param)
        self.depth += 1
        nodes = self.nodes(region)
        self.depth -= 1
        results: list[Operand] = []
        for x in region.results:
            if is_small(x) and x not in self.parts:
                raise _Stays
            results += list(self.parts[x].flat) if is_small(x) else [self.put(x)]
        return dataclasses.replace(region, params=tuple(params), nodes=tuple(nodes), results=tuple(results))

    def ages(self, node: Node, before: int, carries: int) -> None:
        """Note which results may be arrays that were there before."""
        body = node.regions[1 if node.op == "while" else 0]
        over = getattr(node.inputs[0], "value", None) if node.op == "for" else None
        surely = isinstance(over, range) and len(over) > 0
        for k, value in enumerate(node.outputs):
            if node.op == "cond":
                last = [r.results[k] for r in node.regions if r.results]
                first: list[Operand] = []
            else:
                last = [body.results[k]] if body.results else []
                first = [] if surely else [node.inputs[before + k]]
            if any(x in self.old for x in (*last, *first)):
                self.old.add(value)


def _is_number(x: Operand) -> bool:
    """Whether it is a Python number or a float64: what arithmetic with arrays takes as it does with their
    elements."""
    if isinstance(x, Const):
        return type(x.value) in (bool, int, float, np.float64)
    return x.type == NUMBER or (isinstance(x.type, WeakType) and x.type.kind in ("bool", "int", "float"))


def _differ(a: Operand, b: Operand) -> bool:
    """Whether one is a small array and the other is not, or not of the same shape."""
    return (is_small(a) or is_small(b)) and a.type != b.type


def _is_array(x: Operand) -> bool:
    return (isinstance(x.type, ArrayType) and not x.type.scalar) or isinstance(x.type, ObjectType)


def _array_of(operands: Sequence[Operand], shape: Any) -> Parts:
    found: Parts = np.empty(len(operands), object)
    found[:] = operands
    return found.reshape(shape)  # type: ignore[no-any-return]


def _single(x: Operand) -> Parts:
    return _array_of([x], ())


def _add(nodes: list[Node], op: str, inputs: Sequence[Operand], like: Node | None = None) -> Value:
    """A new node that gives a number."""
    made = Value(NUMBER, like.outputs[0].name if like else "")
    nodes.append(Node(op, tuple(inputs), (made,), span=like.span if like else None))
    return made
