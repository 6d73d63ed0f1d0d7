"""Functions that bring their own derivative, in a trace.

In: such a function and trace values.  Out: its value.  While a derivative is taken of what is being traced,
the value is marked: by a node that hands it on and knows its way back, as a graph.  What always holds: marks
are gone from graphs that no derivative is taken of any more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import tree
from runtime.autodiff.staged.aliases import aliases_of
from runtime.autodiff.staged.calls import Mark, mark_of
from runtime.autodiff.staged.kinds import NotStaged, cotangent_type, inexact
from runtime.autodiff.staged.rules import SPECIAL
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.walk import map_graphs
from runtime.ops.adjoint import length, length_slope, scale
from runtime.passes.rewrite import with_nodes
from runtime.trace.byhand import closed, opened
from runtime.trace.core import Diverged, Trace
from runtime.trace.values import Tensor, Traced
from runtime.types import TupleType

PullBack = Callable[[Any], Any]


def unmarked(graph: Graph) -> Graph:
    """The graph without marks."""
    return map_graphs(graph, _unmarked)


def _unmarked(graph: Graph) -> Graph:
    swap: dict[Value, Operand] = {}
    nodes = []
    for node in graph.nodes:
        mark = mark_of(node)
        if mark is None:
            nodes.append(node)
        elif mark.values == 1:
            swap[node.outputs[0]] = node.inputs[1]
        else:
            handed = node.inputs[1 : 1 + mark.values]
            nodes.append(Node("py.tuple", handed, node.outputs, span=node.span))
    if not swap:
        return with_nodes(graph, nodes)
    nodes = [dataclasses.replace(n, inputs=tuple(_put(x, swap) for x in n.inputs)) for n in nodes]
    return with_nodes(graph, nodes, swap)


def _put(x: Operand, swap: dict[Value, Operand]) -> Operand:
    while isinstance(x, Value) and x in swap:
        x = swap[x]
    return x


def marked(
    trace: Trace,
    name: str,
    run: Callable[[], tuple[Any, PullBack]],
    args: tuple[Any, ...],
) -> Any:
    """The value that `run()` gives with its pull-back, a function from cotangents of the value to a tuple
    (or list) of those of the args."""
    start, builder = len(trace.builder.nodes), trace.builder
    value, pull_back = run()
    if not trace.following:
        return value
    leaves, structure = tree.flatten(opened(value, data=True))
    is_followed = [isinstance(x, Tensor) and inexact(x._facts.type) for x in leaves]
    followed = [x for x, f in zip(leaves, is_followed, strict=True) if f]
    given = [tree.flatten(opened(x, data=True))[0] for x in args]
    flat = [x for part in given for x in part]
    live = [k for k, x in enumerate(flat) if isinstance(x, Tensor) and inexact(x._facts.type)]
    if not followed or not live:
        return value
    handed_on = [trace.operand(x) for x in followed]
    used = _used_besides(builder.nodes[start:], [trace.operand(flat[k]) for k in live], handed_on)
    with trace.region("back") as back:
        cts = iter([trace.wrap(back.param(cotangent_type(x._facts.type))) for x in followed])
        parts = [_turned(trace, next(cts)) if f else None for f in is_followed]
        try:
            made = pull_back(closed(tree.unflatten(structure, parts)))
        except Diverged:
            raise NotStaged(f"the derivative of {name} raises, whatever the arguments are") from None
        found = _flat(made, given, name)
        reached = [k for k in live if found[k] is not None]
        results = [trace.operand(_turned(trace, found[k])) for k in reached]
    trace.marked = True
    captured = list(back.captures)
    graph = back.region(captured, results)
    mark = Mark(name, len(followed), len(live), tuple(live.index(k) for k in reached), len(captured), graph)
    kinds = tuple(x._facts.type for x in followed)
    operands = [Const(mark), *followed, *(flat[k] for k in live), *captured, *used]
    handed = trace.emit(
        "py.call", operands, type=kinds[0] if len(kinds) == 1 else TupleType(kinds), attrs={"pure": True}
    )
    assert handed is not None
    shown = trace.wrap(handed)
    news = iter((shown,) if len(kinds) == 1 else shown)
    parts = [next(news) if f else x for x, f in zip(leaves, is_followed, strict=True)]
    return closed(tree.unflatten(structure, parts))


def _used_besides(nodes: Sequence[Node], args: Sequence[Operand], results: Sequence[Operand]) -> list[Value]:
    """What the nodes use, or comes out as a result, that they don't compute, the arguments left out."""
    made = {out for node in nodes for out in node.outputs}
    used = [*(x for node in nodes for x in node.inputs), *results]
    found = dict.fromkeys(x for x in used if isinstance(x, Value) and x not in made)
    return [x for x in found if x not in args and inexact(x.type)]


def _flat(made: Any, given: list[list[Any]], name: str) -> list[Any]:
    """The cotangents that a pull-back gave, for each leaf of the arguments."""
    made = opened(made) if isinstance(made, Traced) else made
    parts = made if type(made) is tuple else (made,)
    if len(parts) != len(given):
        raise NotStaged(f"the derivative of {name} gave {len(parts)} cotangents for {len(given)} arguments")
    found: list[Any] = []
    for part, leaves in zip(parts, given, strict=True):
        flat = [None] * len(leaves) if part is None else tree.flatten(opened(part, data=True))[0]
        if len(flat) != len(leaves):
            raise NotStaged(f"the derivative of {name} gave a cotangent of another structure")
        found += flat
    return found


def _turned(trace: Trace, ct: Any) -> Any:
    """Between a cotangent and what a gradient of complex numbers is: see `transforms.conjugate`."""
    t = trace.type_of(ct)
    return np.conjugate(ct) if inexact(t) and cotangent_type(t).dtype.kind == "c" else ct


def _length(trace: Trace, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `adjoint.length`, with its slope."""

    def run() -> tuple[Any, PullBack]:
        squares = np.real(x) ** 2 + np.imag(x) ** 2 if np.iscomplexobj(x) else np.square(x)
        made = np.sqrt(np.sum(squares, axis=axis, keepdims=keepdims))
        return made, lambda ct: (_turned(trace, length_slope(_turned(trace, ct), made, x, axis, keepdims)),)

    return marked(trace, "a length", run, (x,))


SPECIAL[length] = _length


def forward(linear: Any, node: Node, mark: Mark) -> None:
    """Record a marked value and its way back."""
    values = node.inputs[1 : 1 + mark.values]
    args = node.inputs[1 + mark.values : 1 + mark.values + mark.args]
    rest = node.inputs[1 + mark.values + mark.args :]
    captured, besides = rest[: mark.captured], rest[mark.captured :]
    if any(isinstance(x, Value) and x in linear.varied for x in besides):
        raise NotStaged(f"{mark.name} depends on something that is differentiated and is no argument of it")
    kept = [linear.kept(x) for x in captured]
    factors = [linear.kept(x) for x in args] if mark.back is None else []
    linear.copy(node)
    out = node.outputs[0]

    def step() -> None:
        trace = linear.trace
        found = linear.ct(out)
        if found is None:
            return
        cts = [found] if mark.values == 1 else list(found)
        whole = [
            linear.zeros(x) if ct is None else linear.whole(ct, x) for ct, x in zip(cts, values, strict=True)
        ]
        if mark.back is None:
            for k, x in enumerate(args):
                if isinstance(x, Value) and x in linear.varied:
                    linear.give(x, trace.protocol.call(scale, (found, factors[1 - k]), {}))
            return
        inside = aliases_of(mark.back)
        for k, written in enumerate(inside.written_params[: len(whole)]):
            if written or inside.unknown:  # others use the cotangent, too; it may even be an operand
                whole[k] = trace.record("np.copy", [whole[k]])
        made = linear.again(mark.back, [trace.operand(x) for x in (*whole, *kept)])
        for k, ct in zip(mark.given, made, strict=True):
            linear.give(args[k], trace.wrap(ct))

    linear.steps.append((node, step))
