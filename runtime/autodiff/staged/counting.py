"""How many trips a `while` makes, found out by running as much of it as its test depends on.

In: a `while` node without effects.  Out: the number of trips.  What always holds: what is computed here is
computed again by the loop itself, with the same outcome.
"""

from __future__ import annotations

from typing import Any

from runtime.autodiff.staged.tidy import needed_nodes
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.trace.regions import close_regions
from runtime.types import WEAK_INT


def count_trips(linear: Any, node: Node) -> Any:
    """Record the loop that counts; the number of trips."""
    trace = linear.trace
    test, body = node.regions
    count: int = node.attr("carries")
    needed = _carries_needed(test, body, count)
    outside = [linear.operand(x) for x in node.inputs[count:]]
    shape = Sketch(trace, node, body, needed)
    with trace.region("test") as asked:
        asked.param(WEAK_INT, "trip")
        answer = linear.again(test, [*shape.params(asked), *outside])
    with trace.region("body") as trip:
        number = trip.param(WEAK_INT, "trip")
        given = shape.params(trip)
        part = Graph(body.name, body.params, tuple(shape.nodes()), tuple(shape.results()))
        after = linear.again(part, [*given, *outside])
        following = trace.builder.add("add", [number, Const(1)], [WEAK_INT], span=node.span)[0]
    captured, regions = close_regions([asked, trip], [answer, [following, *after]])
    outputs = trace.builder.add(
        "while",
        [Const(0), *[linear.operand(node.inputs[k]) for k in needed], *captured],
        [WEAK_INT, *[node.outputs[k].type for k in needed]],
        attrs={"carries": 1 + len(needed)},
        regions=tuple(regions),
        names=["trips"],
        span=node.span,
    )
    return trace.wrap(outputs[0])


class Sketch:
    """The part of a loop's body that yields some of its carries."""

    def __init__(self, trace: Any, node: Node, body: Graph, needed: list[int]) -> None:
        self.trace, self.node, self.body, self.needed = trace, node, body, needed

    def params(self, builder: Any) -> list[Operand]:
        """Parameters for the carries that are needed; None, never looked at, for the others."""
        count: int = self.node.attr("carries")
        pairs = [(k, self.body.params[k]) for k in range(count)]
        return [builder.param(p.type, p.name) if k in self.needed else Const(None) for k, p in pairs]

    def nodes(self) -> list[Node]:
        """The nodes that are needed."""
        return needed_nodes(self.body.nodes, self.results())

    def results(self) -> list[Operand]:
        """The carries that are needed, after one trip."""
        return [self.body.results[k] for k in self.needed]


def _carries_needed(test: Graph, body: Graph, count: int) -> list[int]:
    """The carries that the test depends on, also by way of earlier trips."""
    found = _used(test, test.results, count)
    while True:
        more = found | _used(body, [body.results[k] for k in sorted(found)], count)
        if more == found:
            return sorted(found)
        found = more


def _used(graph: Graph, results: Any, count: int) -> set[int]:
    live = {x for x in results if isinstance(x, Value)}
    for node in reversed(needed_nodes(graph.nodes, results)):
        live.update(x for x in node.inputs if isinstance(x, Value))
    return {k for k in range(count) if graph.params[k] in live}
