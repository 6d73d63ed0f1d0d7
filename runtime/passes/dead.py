"""Dead code, dead loop variables, operands of regions that no region reads.

In: a graph.  Out: the same without them.  What always holds: a node goes only if nobody needs its results and
nobody can tell that it ran; a carry of a loop goes with what computes it when it serves nothing but itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from runtime.ir.graph import Graph, Node, Value
from runtime.ir.opdef import OpDef
from runtime.passes.facts import silent
from runtime.passes.rewrite import with_nodes

_T = TypeVar("_T")


def drop_dead(graph: Graph, table: Mapping[str, OpDef]) -> Graph:
    """The graph without what nobody needs, regions included."""
    needed = {x for x in graph.results if isinstance(x, Value)}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.regions:
            node = _trimmed(node, needed, table)
        if needed.isdisjoint(node.outputs) and silent(node, table):
            continue
        kept.append(node)
        needed.update(x for x in node.inputs if isinstance(x, Value))
    return with_nodes(graph, kept[::-1])


def _trimmed(node: Node, needed: set[Value], table: Mapping[str, OpDef]) -> Node:
    """The region node with dead code dropped inside it, dead results, carries and operands too."""
    if node.op == "cond":
        node = _without_results(node, needed)
    elif node.op in ("while", "for"):
        node = _without_carries(node, needed, table)
    regions = tuple(drop_dead(region, table) for region in node.regions)
    if any(new is not old for new, old in zip(regions, node.regions, strict=True)):
        node = dataclasses.replace(node, regions=regions)
    if node.op in ("cond", "while", "for"):
        node = _without_operands(node)
    return node


def _without_results(node: Node, needed: set[Value]) -> Node:
    """A cond without the results that nobody reads."""
    keep = [k for k, out in enumerate(node.outputs) if out in needed]
    if len(keep) == len(node.outputs):
        return node
    regions = tuple(
        region if region.diverges else dataclasses.replace(region, results=_some(region.results, keep))
        for region in node.regions
    )
    return dataclasses.replace(node, outputs=_some(node.outputs, keep), regions=regions)


def _without_carries(node: Node, needed: set[Value], table: Mapping[str, OpDef]) -> Node:
    """A loop without the carries that serve nothing but themselves."""
    first = 1 if node.op == "for" else 0
    body = node.regions[0] if node.op == "for" else node.regions[1]
    count: int = node.attr("carries")
    if body.diverges or not count:
        return node
    live = {k for k in range(count) if node.outputs[k] in needed}
    while True:
        read = _read_params(body, first, count, live, table)
        for region in node.regions:
            if region is not body:
                read |= _read_params(region, 0, count, None, table)
        if read <= live:
            break
        live |= read
    if len(live) == count:
        return node
    keep = sorted(live)
    rest = len(node.inputs) - first - count
    inner = [*keep, *range(count, count + rest)]
    regions = tuple(
        dataclasses.replace(
            region,
            params=(
                *region.params[: (at := first if region is body else 0)],
                *_some(region.params[at:], inner),
            ),
            results=_some(region.results, keep) if region is body else region.results,
        )
        for region in node.regions
    )
    # What the nodes of the dropped carries still read dies with them.
    regions = tuple(drop_dead(region, table) for region in regions)
    attrs = tuple((name, len(keep) if name == "carries" else value) for name, value in node.attrs)
    inputs = (*node.inputs[:first], *_some(node.inputs[first:], inner))
    return dataclasses.replace(
        node, inputs=inputs, outputs=_some(node.outputs, keep), attrs=attrs, regions=regions
    )


def _read_params(
    region: Graph, first: int, count: int, live: set[int] | None, table: Mapping[str, OpDef]
) -> set[int]:
    """Which carries the region needs for the results in `live` (None: all) and for what it does besides."""
    results = region.results if live is None else [region.results[k] for k in live]
    needed = {x for x in results if isinstance(x, Value)}
    for node in reversed(region.nodes):
        if not needed.isdisjoint(node.outputs) or not silent(node, table):
            needed.update(x for x in node.inputs if isinstance(x, Value))
    return {k for k in range(count) if region.params[first + k] in needed}


def _without_operands(node: Node) -> Node:
    """A region node without the captures that no region reads."""
    first, skip = _captures(node)
    used: set[int] = set()
    for region, lead in zip(node.regions, _leads(node), strict=True):
        read = {x for n in region.nodes for x in n.inputs} | set(region.results)
        used |= {k for k, param in enumerate(region.params[lead + skip :]) if param in read}
    total = len(node.inputs) - first
    if len(used) == total:
        return node
    keep = sorted(used)
    regions = tuple(
        dataclasses.replace(
            region,
            params=(*region.params[: lead + skip], *_some(region.params[lead + skip :], keep)),
        )
        for region, lead in zip(node.regions, _leads(node), strict=True)
    )
    return dataclasses.replace(
        node, inputs=(*node.inputs[:first], *_some(node.inputs[first:], keep)), regions=regions
    )


def _captures(node: Node) -> tuple[int, int]:
    """Index of the first captured operand, and how many parameters stand before those of the captures."""
    if node.op == "cond":
        return 1, 0
    carries: int = node.attr("carries")
    return (1 if node.op == "for" else 0) + carries, carries


def _leads(node: Node) -> Sequence[int]:
    """For each region, how many parameters it has that are given by nobody: the item of a `for`'s body."""
    return [1 if node.op == "for" and k == 0 else 0 for k in range(len(node.regions))]


def _some(items: Sequence[_T], keep: Iterable[int]) -> tuple[_T, ...]:
    return tuple(items[k] for k in keep)
