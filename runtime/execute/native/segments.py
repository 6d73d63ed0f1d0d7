"""Runs of array operators as native code inside a plan, where the whole graph can't be native.

In: the nodes of a graph, and what compiles a graph.  Out: the nodes with one call in place of each run that
pays.  What always holds: a run only computes: it has no effects, and makes new arrays and numbers; its errors
and warnings come from its own plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.execute.native.kinds import Unlowered, scalar_of_type, supported
from runtime.execute.native.lower import lower
from runtime.execute.native.waiting import elementwise, reduction
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE
from runtime.ir.walk import inline, used_operands
from runtime.ops.table import OPS
from runtime.types import ArrayType, TupleType, Type

LEAST = 2  # operators on arrays that a run must have
Compile = Callable[[Graph], Callable[..., Any]]


def grouped(graph: Graph, nodes: Sequence[Node], compile_graph: Compile) -> tuple[tuple[Node, ...], int]:
    """The nodes with runs replaced, and how many runs there were."""
    needed = dict.fromkeys(used_operands(graph), 0)
    for x in used_operands(graph):
        needed[x] += 1
    found: list[Node] = []
    run: list[Node] = []
    count = 0

    def end() -> None:
        nonlocal count
        made = _call(graph.name, count, run, needed, compile_graph)
        if made is None:
            found.extend(run)
        else:
            found.extend(made)
            count += 1
        run.clear()

    for node in nodes:
        if _fits(node):
            run.append(node)
        else:
            end()
            found.append(node)
    end()
    return tuple(found), count


def _fits(node: Node) -> bool:
    """Whether native code can do this node, which only computes."""
    if not (elementwise(node) or reduction(node)) or len(node.outputs) != 1 or effect_of(node, OPS) != PURE:
        return False
    values = [x for x in (*node.inputs, *node.outputs) if isinstance(x, Value)]
    if not all(_known(x.type) for x in values):
        return False
    taken = tuple(dict.fromkeys(x for x in node.inputs if isinstance(x, Value)))
    try:
        lower(alone("one", taken, (node,), node.outputs))
    except Unlowered:
        return False
    return True


def _known(t: Type) -> bool:
    if isinstance(t, ArrayType) and not t.scalar:
        return t.shape is not None and supported(t.dtype)
    try:
        return scalar_of_type(t) is not None
    except Unlowered:
        return False


def alone(name: str, taken: Sequence[Value], nodes: Sequence[Node], results: Sequence[Value]) -> Graph:
    """A graph of some nodes alone."""
    last: tuple[Node, ...] = ()
    given: tuple[Operand, ...] = tuple(results)
    if len(results) != 1:
        whole = Value(TupleType(tuple(v.type for v in results)))
        last, given = (Node("py.tuple", tuple(results), (whole,), span=nodes[-1].span),), (whole,)
    draft = Graph(name, tuple(taken), (*nodes, *last), given)
    params = tuple(Value(v.type, v.name) for v in taken)
    inner, given = inline(draft, params)
    return Graph(name, params, inner, given)


def _call(
    name: str, count: int, run: Sequence[Node], needed: dict[Operand, int], compile_graph: Compile
) -> list[Node] | None:
    """The call that does what a run does; None where it would not pay, or can't be."""
    on_arrays = [n for n in run if any(isinstance(x.type, ArrayType) and not x.type.scalar for x in n.inputs)]
    if len(on_arrays) < LEAST:
        return None
    own = {out for n in run for out in n.outputs}
    taken = dict.fromkeys(x for n in run for x in n.inputs if isinstance(x, Value) and x not in own)
    inside: dict[Operand, int] = {}
    for n in run:
        for x in n.inputs:
            inside[x] = inside.get(x, 0) + 1
    results = [v for n in run for v in n.outputs if needed.get(v, 0) > inside.get(v, 0)]
    if not results:
        return None
    part = alone(f"{name}_run{count + 1}", tuple(taken), run, results)
    try:
        native = compile_graph(part)
    except Unlowered:
        return None
    call: tuple[Operand, ...] = (Const(native, part.name), *taken)
    if len(results) == 1:
        return [Node("py.call", call, (results[0],), span=run[-1].span)]
    whole = Value(TupleType(tuple(v.type for v in results)))
    reads = [Node("getitem", (whole, Const(k)), (v,), span=run[-1].span) for k, v in enumerate(results)]
    return [Node("py.call", call, (whole,), span=run[-1].span), *reads]
