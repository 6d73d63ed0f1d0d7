"""Graphs that graphs call: the node `call`, whose first operand is the graph, the others its arguments.

In: graphs.  Out: the graphs that they call, how large they are with them, and the same program without calls.
What always holds: a called graph is closed, takes all it needs as arguments and has one result.  It is frozen
and many nodes may call it; places in it are those in its own function, not where that was called from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from runtime.errors import Span
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.walk import inline, map_regions, walk_nodes

CALL = "call"
Memo = dict[Graph, Graph]


def callee(node: Node) -> Graph | None:
    """The graph that a node calls."""
    target = node.inputs[0] if node.op == CALL and node.inputs else None
    return target.value if isinstance(target, Const) and isinstance(target.value, Graph) else None


def called_graphs(graph: Graph) -> tuple[Graph, ...]:
    """The graphs that are called, directly or not, each once, and after those that it calls."""
    found: dict[Graph, None] = {}

    def visit(scope: Graph) -> None:
        for node in walk_nodes(scope):
            inner = callee(node)
            if inner is not None and inner not in found:
                visit(inner)
                found[inner] = None

    visit(graph)
    return tuple(found)


def all_nodes(graph: Graph) -> Iterator[Node]:
    """All nodes of the graph and its regions, then those of the graphs that it calls, each once."""
    for one in (graph, *called_graphs(graph)):
        yield from walk_nodes(one)


def size(graph: Graph) -> int:
    """How many nodes the graph would have without calls, those of its regions too."""
    sizes: dict[Graph, int] = {}
    for one in (*called_graphs(graph), graph):
        sizes[one] = sum(sizes.get(callee(node) or one, 1) for node in walk_nodes(one))
    return sizes[graph]


def with_callees(graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """The graph with `change` done to each graph that it calls, innermost first."""
    made: Memo = {}
    for inner in called_graphs(graph):
        made[inner] = change(_exchanged(inner, made))
    return _exchanged(graph, made)


def _exchanged(graph: Graph, made: Memo) -> Graph:
    """The graph with other graphs called."""

    def one(node: Node) -> Node:
        inner = callee(node)
        if inner is not None and made[inner] is not inner:
            return dataclasses.replace(node, inputs=(Const(made[inner]), *node.inputs[1:]))
        return map_regions(node, lambda region: _exchanged(region, made))

    nodes = tuple(map(one, graph.nodes))
    if all(new is old for new, old in zip(nodes, graph.nodes, strict=True)):
        return graph
    return dataclasses.replace(graph, nodes=nodes)


def expanded(graph: Graph) -> Graph:
    """The graph with what is called in the place of each call; the graph itself where it calls nothing."""
    made: Memo = {}
    for one in (*called_graphs(graph), graph):
        made[one] = _without_calls(one, made)
    return made[graph]


def _without_calls(graph: Graph, made: Memo) -> Graph:
    """The graph with its calls put in place; `made` has what the called graphs have become."""
    nodes: list[Node] = []
    swap: dict[Value, Operand] = {}

    def put(x: Operand) -> Operand:
        return swap.get(x, x) if isinstance(x, Value) else x

    changed = False
    for old in graph.nodes:
        inner = callee(old)
        if inner is not None:
            inside, results = inline(made[inner], map(put, old.inputs[1:]))
            nodes += (_called_from(node, old.span) for node in inside)
            swap.update(zip(old.outputs, results, strict=True))
            changed = True
            continue
        node = map_regions(old, lambda region: _without_calls(region, made))
        inputs = tuple(map(put, node.inputs))
        if any(new is not x for new, x in zip(inputs, node.inputs, strict=True)):
            node = dataclasses.replace(node, inputs=inputs)
        changed |= node is not old
        nodes.append(node)
    if not changed:
        return graph
    return dataclasses.replace(graph, nodes=tuple(nodes), results=tuple(map(put, graph.results)))


def _called_from(node: Node, site: Span | None) -> Node:
    """The node with places that say where the function was called from, in its regions as well."""

    def inside(region: Graph) -> Graph:
        return dataclasses.replace(region, nodes=tuple(_called_from(n, site) for n in region.nodes))

    return dataclasses.replace(map_regions(node, inside), span=from_site(node.span, site))


def from_site(span: Span | None, site: Span | None) -> Span | None:
    """A place in a function, called from `site`."""
    if span is None:
        return site
    return dataclasses.replace(span, caller=from_site(span.caller, site))


def without_site(span: Span | None, site: Span | None) -> Span | None:
    """A place in a function, without the `site` that it was called from."""
    if span is None or span == site:
        return None
    return dataclasses.replace(span, caller=without_site(span.caller, site))
