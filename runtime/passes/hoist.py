"""Loop-invariant motion: what is the same in every trip, and can't be told from running once, runs before.

In: a graph.  Out: the same with nodes moved from loop bodies to the place before the loop.  What always
holds: only silent nodes move, and reads that the call's guards have seen succeed, so a loop without trips has
no error, warning or effect that it would not have had; what they look at is not written by the loop; a moved
array is not written to, one view serves all trips.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import OpDef
from runtime.ir.walk import walk_nodes
from runtime.passes.aliases import Aliases, Place, found_before, place
from runtime.passes.common import looked_into
from runtime.passes.facts import gives_view, makes_new, mutable, silent
from runtime.passes.rewrite import exchanged
from runtime.types import ArrayType


def hoist(graph: Graph, table: Mapping[str, OpDef], aliases: Aliases) -> Graph:
    """The graph with invariant nodes of its own loops moved out (inner loops came first)."""
    nodes: list[Node] = []
    changed = False
    for node in graph.nodes:
        if node.op in ("while", "for"):
            for step in (_reading_before, _emptied):
                moved, node = step(node, table, aliases)
                changed = changed or bool(moved)
                nodes += moved
        nodes.append(node)
    return dataclasses.replace(graph, nodes=tuple(nodes)) if changed else graph


def _reading_before(
    node: Node, table: Mapping[str, OpDef], aliases: Aliases
) -> tuple[list[Node], Node]:  # fmt: skip
    """Reads of arrays from names, wherever in the loop they stand, and the loop without them."""
    reads = {place(n): n for region in node.regions for n in walk_nodes(region) if found_before(n)}
    if not reads or aliases.rebinds(node):
        return [], node
    moved = [
        dataclasses.replace(n, outputs=tuple(Value(out.type, out.name) for out in n.outputs))
        for n in reads.values()
    ]
    for new, old in zip(moved, reads.values(), strict=True):
        aliases.moved(new.outputs[0], old.outputs[0])
    return moved, _given(node, {at: new.outputs[0] for at, new in zip(reads, moved, strict=True)})


def _given(node: Node, known: Mapping[Place, Value]) -> Node:
    """The node, whose regions take from outside what they would read from names."""
    inner = {place(n) for region in node.regions for n in walk_nodes(region) if found_before(n)}
    wanted = {at: value for at, value in known.items() if at in inner}
    if not wanted or node.op not in ("while", "for", "cond"):
        return node
    regions = []
    for region in node.regions:
        params = {at: Value(value.type, value.name) for at, value in wanted.items()}
        outer: dict[Value, Operand] = {}
        nodes = []
        for n in region.nodes:
            if found_before(n) and place(n) in params:
                outer[n.outputs[0]] = params[place(n)]
            else:
                nodes.append(_given(exchanged(n, outer), params))
        results = tuple(outer.get(x, x) if isinstance(x, Value) else x for x in region.results)
        taken = (*region.params, *params.values())
        regions.append(dataclasses.replace(region, params=taken, nodes=tuple(nodes), results=results))
    return dataclasses.replace(node, inputs=(*node.inputs, *wanted.values()), regions=tuple(regions))


def _emptied(node: Node, table: Mapping[str, OpDef], aliases: Aliases) -> tuple[list[Node], Node]:
    """The nodes that run before the loop, and the loop without them."""
    first = 1 if node.op == "for" else 0
    body = node.regions[0] if node.op == "for" else node.regions[1]
    if body.diverges:
        return [], node
    count: int = node.attr("carries")
    outer: dict[Value, Operand] = {}
    for k, operand in enumerate(node.inputs[first:]):
        param = body.params[first + k]
        if k >= count or body.results[k] is param:
            outer[param] = operand
    moved: list[Node] = []
    kept: list[Node] = []
    out_of: dict[Value, Value] = {}
    for inner in body.nodes:
        invariant = all(isinstance(x, Const) or x in outer for x in inner.inputs)
        if (
            invariant
            and inner.inputs
            and _movable(body, inner, table, aliases, node)
            and _typed(inner, outer)
        ):
            fresh = tuple(Value(out.type, out.name) for out in inner.outputs)
            moved.append(dataclasses.replace(exchanged(inner, outer), outputs=fresh))
            for new, old in zip(fresh, inner.outputs, strict=True):
                aliases.moved(new, old)
            outer.update(zip(inner.outputs, fresh, strict=True))
            out_of.update(zip(inner.outputs, fresh, strict=True))
        else:
            kept.append(inner)
    if not moved:
        return [], node
    return moved, _with_captures(node, dataclasses.replace(body, nodes=tuple(kept)), body, out_of)


def _with_captures(node: Node, body: Graph, old: Graph, captured: Mapping[Value, Value]) -> Node:
    """The loop with values from before it handed to all its regions; in the body under the old names."""
    regions = tuple(
        dataclasses.replace(body, params=(*body.params, *captured))
        if region is old
        else dataclasses.replace(region, params=(*region.params, *(Value(v.type, v.name) for v in captured)))
        for region in node.regions
    )
    return dataclasses.replace(node, inputs=(*node.inputs, *captured.values()), regions=regions)


def _movable(body: Graph, node: Node, table: Mapping[str, OpDef], aliases: Aliases, loop: Node) -> bool:
    """Whether nobody can tell one run before the loop from one in each trip."""
    if (
        node.regions
        or not silent(node, table)
        or len(node.outputs) != 1
        or node.op in ("py.function", "py.list")
    ):
        return False
    (out,) = node.outputs
    if gives_view(node):
        return looked_into(body, out, table) and not aliases.reshapes(loop, node.inputs[0])
    written = aliases.clobbers(loop)
    if not mutable(out.type):
        return not any(one in written for one in aliases.reads(node))
    if isinstance(out.type, ArrayType) and makes_new(node, table):
        unwritten = not any(one in written for one in aliases.reads(node))
        return unwritten and aliases.private(out) and aliases.constant(out)
    return False


def _typed(node: Node, outer: Mapping[Value, Operand]) -> bool:
    """Whether the operands have the same types outside: a rule may say more of narrower ones."""
    return all(isinstance(x, Const) or outer[x].type == x.type for x in node.inputs)
