"""Loops that keep less: a loop as a loop over stretches of trips, each of which is run again on the way back.

In: a loop without effects, and after how many trips to keep the carries ("sqrt": the square root of their
number, which keeps the least).  Out: a node of two nested loops that does the same.  What always holds: the
trips are the same, in the same order, so results are identical.
"""

from __future__ import annotations

import math
from typing import Any

from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.walk import inline
from runtime.types import WEAK_INT, ArrayType, ObjectType, Type

NEVER = 0  # as the attribute `checkpoint` of a loop: keep what each trip needs
RANGE = ObjectType(range, WEAK_INT)


def chunked(linear: Any, node: Node, body: Graph, trips: Any, every: Any) -> Node | None:
    """The nested loops; None where there are too few trips for it to matter."""
    trace = linear.trace
    if every == "sqrt":
        every = trace.protocol.call(math.isqrt, (trips,), {}) + 1
    if isinstance(trips, int) and (isinstance(every, int) and trips <= every or trips < 4):
        return None
    first, count = int(node.op == "for"), node.attr("carries")
    carries, captures = node.inputs[first : first + count], node.inputs[first + count :]
    source: list[Operand] = [*node.inputs[:first]]
    made = [(Value(RANGE), trace.protocol.call(range, (0, trips, every), {}))]
    sizes: list[Operand] = []
    for name, x in (("trips", trips), ("every", every)):
        if isinstance(x, int):
            sizes.append(Const(x))
        else:
            made.append((Value(WEAK_INT, name), x))
            sizes.append(made[-1][0])
    for value, x in made:
        linear.env[value] = trace.operand(x)
    outside: list[Operand] = [*captures, *source, *sizes]
    outer = _stretch(body, node, len(captures), len(source), [x.type for x in outside])
    inputs = (made[0][0], *carries, *outside)
    attrs = (("carries", count), ("checkpoint", NEVER), ("tested", False))
    return Node("for", inputs, node.outputs, (), attrs, (outer,), node.span)


def _stretch(body: Graph, node: Node, captured: int, sources: int, types: list[Type]) -> Graph:
    """The body of the outer loop: the trips from one number to the next."""
    first, count = int(node.op == "for"), node.attr("carries")
    start = Value(WEAK_INT, "start")
    carries = [Value(p.type, p.name) for p in body.params[first : first + count]]
    outside = [Value(t) for t in types]
    trips, every = outside[-2:]
    end, stop, numbers = Value(WEAK_INT), Value(WEAK_INT, "stop"), Value(RANGE)
    outputs = tuple(Value(out.type, out.name) for out in node.outputs)
    inner = _trip(body, node, captured, sources, types)
    taken = outside[: captured + sources]
    attrs = (("carries", count), ("checkpoint", NEVER), ("tested", False))
    nodes = (
        Node("add", (start, every), (end,), span=node.span),
        Node("py.call", (Const(min), end, trips), (stop,), span=node.span),
        Node("py.call", (Const(range), start, stop), (numbers,), span=node.span),
        Node("for", (numbers, *carries, *taken), outputs, (), attrs, (inner,), node.span),
    )
    return Graph("stretch", (start, *carries, *outside), nodes, outputs)


def _trip(body: Graph, node: Node, captured: int, sources: int, types: list[Type]) -> Graph:
    """The body of the inner loop: one trip, by its number."""
    first, count = int(node.op == "for"), node.attr("carries")
    number = Value(WEAK_INT, "trip")
    carries = [Value(p.type, p.name) for p in body.params[first : first + count]]
    outside = [Value(t) for t in types[: captured + sources]]
    nodes: list[Node] = []
    item: list[Operand] = []
    if first:
        source = node.inputs[0]
        if isinstance(source, Const) and isinstance(source.value, range):
            step, start = Value(WEAK_INT), Value(WEAK_INT, body.params[0].name)
            nodes.append(Node("mul", (number, Const(source.value.step)), (step,), span=node.span))
            nodes.append(Node("add", (step, Const(source.value.start)), (start,), span=node.span))
            item = [start]
        else:
            item = [Value(body.params[0].type, body.params[0].name)]
            nodes.append(Node("getitem", (outside[captured], number), (item[0],), span=node.span))  # type: ignore[arg-type]
    copied, results = inline(body, [*item, *carries, *outside[:captured]])
    return Graph(body.name, (number, *carries, *outside), (*nodes, *copied), results)


def by_number(node: Node) -> bool:
    """Whether the item of a trip can be had by the trip's number."""
    if node.op == "while":
        return True
    source = node.inputs[0]
    if isinstance(source, Const):
        return isinstance(source.value, (range, tuple))
    t = source.type
    return isinstance(t, ArrayType) or (isinstance(t, ObjectType) and t.cls in (range, tuple))
