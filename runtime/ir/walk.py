"""Going through graphs, and copying them.

In: graphs.  Out: their nodes, values and uses, copies with fresh values, or a verdict whether two graphs
are the same.  What always holds: nothing here changes a graph (they are frozen); a copy shares no
`Value` with its original except those that a substitution puts in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, get_args

import numpy as np

from runtime.boxes import UnboundMarker
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.names import values_of
from runtime.types import Type, same_static

# Values that are compared by what they are; anything else is a reference and compared by identity.
_BY_VALUE = (bool, int, float, complex, str, bytes, tuple, frozenset, slice, range, np.generic, np.dtype)


def walk_graphs(graph: Graph) -> Iterator[Graph]:
    """The graph and all regions inside it, outer ones first."""
    yield graph
    for node in graph.nodes:
        for region in node.regions:
            yield from walk_graphs(region)


def walk_nodes(graph: Graph) -> Iterator[Node]:
    """All nodes, those of regions after the node they belong to."""
    for node in graph.nodes:
        yield node
        for region in node.regions:
            yield from walk_nodes(region)


def all_values(graph: Graph) -> Iterator[Value]:
    """Every value defined in the graph or in a region of it."""
    for scope in walk_graphs(graph):
        yield from values_of(scope)


def used_operands(graph: Graph) -> Iterator[Operand]:
    """The operands of the graph's own nodes, then its results (regions are closed: not theirs)."""
    for node in graph.nodes:
        yield from node.inputs
    yield from graph.results


def uses(graph: Graph) -> dict[Value, list[tuple[Node | None, int]]]:
    """Where each value of this graph (not of its regions) is used: node and index of the input.

    A result of the graph counts as a use by None.  A value nobody uses has an empty list.
    """
    found: dict[Value, list[tuple[Node | None, int]]] = {value: [] for value in values_of(graph)}
    for node in graph.nodes:
        for index, operand in enumerate(node.inputs):
            if isinstance(operand, Value):
                found.setdefault(operand, []).append((node, index))
    for index, operand in enumerate(graph.results):
        if isinstance(operand, Value):
            found.setdefault(operand, []).append((None, index))
    return found


def map_regions(node: Node, change: Callable[[Graph], Graph]) -> Node:
    """The node with `change` done to each of its own regions; the node itself when nothing changed."""
    if not node.regions:
        return node
    regions = tuple(map(change, node.regions))
    if all(new is old for new, old in zip(regions, node.regions, strict=True)):
        return node
    return dataclasses.replace(node, regions=regions)


def map_graphs(graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """`change` done to every region, innermost first, and at last to the graph itself."""
    nodes = tuple(map_regions(node, lambda region: map_graphs(region, change)) for node in graph.nodes)
    if any(new is not old for new, old in zip(nodes, graph.nodes, strict=True)):
        graph = dataclasses.replace(graph, nodes=nodes)
    return change(graph)


def clone(graph: Graph, substitution: Mapping[Value, Operand] | None = None) -> Graph:
    """A copy with fresh values.

    substitution: what to put for some values.  A substituted parameter is no parameter of the copy any more.
    """
    swap: dict[Value, Operand] = dict(substitution or {})
    params = tuple(_fresh(value, swap) for value in graph.params if value not in swap)
    nodes, results = _copy_body(graph, swap)
    return dataclasses.replace(graph, params=params, nodes=nodes, results=results)


def inline(graph: Graph, args: Iterable[Operand]) -> tuple[tuple[Node, ...], tuple[Operand, ...]]:
    """The graph's nodes with fresh values and `args` for its parameters, and its results likewise."""
    return _copy_body(graph, dict(zip(graph.params, args, strict=True)))


def _fresh(value: Value, swap: dict[Value, Operand]) -> Value:
    new = Value(value.type, value.name)
    swap[value] = new
    return new


def _copy_body(graph: Graph, swap: dict[Value, Operand]) -> tuple[tuple[Node, ...], tuple[Operand, ...]]:
    def put(operand: Operand) -> Operand:
        return swap.get(operand, operand) if isinstance(operand, Value) else operand

    nodes = []
    for node in graph.nodes:
        inputs = tuple(map(put, node.inputs))
        regions = tuple(map(clone, node.regions))
        outputs = tuple(_fresh(value, swap) for value in node.outputs)
        nodes.append(dataclasses.replace(node, inputs=inputs, outputs=outputs, regions=regions))
    return tuple(nodes), tuple(map(put, graph.results))


def same_constant(a: Any, b: Any) -> bool:
    """Whether two constants are interchangeable: equal where they are plain values, else identical."""
    if a is b:
        return True
    if isinstance(a, UnboundMarker) and isinstance(b, UnboundMarker):
        return bool(a.name == b.name)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_constant, a, b))
    if isinstance(a, Graph) and isinstance(b, Graph):
        return same_graph(a, b)
    if not isinstance(a, _BY_VALUE):
        return isinstance(a, get_args(Type)) and bool(a == b)
    return same_static(a, b)


def same_graph(a: Graph, b: Graph, names: bool = False) -> bool:
    """Whether two graphs are equal in structure: ops, operands, types, attributes, regions, spans.

    names: whether the hints of values and constants must be equal too.
    """
    return _Comparison(names).graphs(a, b)


class _Comparison:
    """Pairs the values of two graphs as it walks both side by side."""

    def __init__(self, names: bool) -> None:
        self.names = names
        self.pairs: dict[Value, Value] = {}

    def graphs(self, a: Graph, b: Graph) -> bool:
        return (
            (a.name, a.diverges, len(a.nodes)) == (b.name, b.diverges, len(b.nodes))
            and self.define(a.params, b.params)
            and all(map(self.nodes, a.nodes, b.nodes))
            and self.operands(a.results, b.results)
        )

    def nodes(self, a: Node, b: Node) -> bool:
        return (
            (a.op, a.keywords, a.span, len(a.regions)) == (b.op, b.keywords, b.span, len(b.regions))
            and same_constant(a.attrs, b.attrs)
            and self.operands(a.inputs, b.inputs)
            and all(map(self.graphs, a.regions, b.regions))
            and self.define(a.outputs, b.outputs)
        )

    def define(self, a: tuple[Value, ...], b: tuple[Value, ...]) -> bool:
        if len(a) != len(b):
            return False
        for one, other in zip(a, b, strict=True):
            if one.type != other.type or (self.names and one.name != other.name):
                return False
            self.pairs[one] = other
        return True

    def operands(self, a: tuple[Operand, ...], b: tuple[Operand, ...]) -> bool:
        return len(a) == len(b) and all(map(self.operand, a, b))

    def operand(self, a: Operand, b: Operand) -> bool:
        if isinstance(a, Const) or isinstance(b, Const):
            return (
                isinstance(a, Const)
                and isinstance(b, Const)
                and same_constant(a.value, b.value)
                and not (self.names and a.name != b.name)
            )
        return self.pairs.get(a) is b
