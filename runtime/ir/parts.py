"""The parts of a `try` or `with` node by name, and whether control ever gets past a node.

In: nodes.  Out: their operands and regions.  What always holds: all regions of a `try` take the captures as
their parameters, those of handlers after the exception; the body of a `with` takes them after the value that
entering gave.
"""

from __future__ import annotations

from collections.abc import Iterator

from runtime.ir.graph import Graph, Node, Operand, Value


class Try:
    """classes: what each handler catches (None: everything).  ends: the regions at whose end the statement
    ends, each with as many results as the node has outputs; the others have none."""

    def __init__(self, node: Node) -> None:
        self.node = node
        count: int = node.attr("handlers", 0)
        self.classes, self.captures = node.inputs[:count], node.inputs[count:]
        self.body, *rest = node.regions
        self.handlers, rest = tuple(rest[:count]), rest[count:]
        self.orelse = rest.pop(0) if node.attr("orelse", False) and rest else None
        self.final = rest.pop(0) if node.attr("final", False) and rest else None
        self.ends = (self.orelse or self.body, *self.handlers)

    def labels(self) -> Iterator[tuple[str, Graph]]:
        """The regions in order, with what they are called."""
        yield "body", self.body
        for k, handler in enumerate(self.handlers, 1):
            yield f"handler{k}", handler
        if self.orelse is not None:
            yield "orelse", self.orelse
        if self.final is not None:
            yield "final", self.final

    def capture_params(self, region: Graph) -> tuple[Value, ...]:
        """The region's parameters that stand for the captures."""
        return region.params[1:] if region in self.handlers else region.params


class With:
    """instead: the node's outputs where leaving swallowed an exception of the body (if it `swallows`)."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.swallows: bool = node.attr("swallows", False)
        self.manager: Operand = node.inputs[0]
        count = len(node.outputs) if self.swallows else 0
        self.instead, self.captures = node.inputs[1 : 1 + count], node.inputs[1 + count :]
        self.body = node.regions[0]
        self.entered, self.params = self.body.params[0], self.body.params[1:]


def never_returns(node: Node) -> bool:
    """Whether control never gets past the node: a raise, or a region node all of whose ways diverge."""
    if node.op == "raise":
        return True
    if node.op == "cond":
        return all(region.diverges for region in node.regions)
    if node.op == "while":
        return bool(node.regions) and node.regions[0].diverges
    if node.op == "try" and node.regions:
        parts = Try(node)
        straight = parts.body.diverges or (parts.orelse is not None and parts.orelse.diverges)
        ends = straight and all(handler.diverges for handler in parts.handlers)
        return ends or (parts.final is not None and parts.final.diverges)
    return node.op == "with" and bool(node.regions) and node.regions[0].diverges and not node.attr("swallows")
