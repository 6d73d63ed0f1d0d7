"""Objects that loops and branches exchange for new ones, as what their fields hold.

In: a graph and the op table.  Out: the same, where objects that the program makes, and that nothing but the
graph can reach, are values: from trip to trip of loops, and out of branches.  Where one is needed itself, it
is made.  What always holds: no object is made twice, and none is made in the place of one that was
there before.  (Scalar replacement of aggregates, where several objects may come by one name.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from runtime.ir.graph import Graph, Value
from runtime.ir.opdef import OpDef
from runtime.ir.walk import walk_nodes
from runtime.passes.families import Families, Needed, is_object
from runtime.passes.handed_branches import Branch
from runtime.passes.handed_loops import Loop
from runtime.passes.virtual import region

ATTEMPTS = 12  # each learns of one more object that must be left as it is
_WITHIN = {"cond": Branch, "for": Loop, "while": Loop}


def handed_on(graph: Graph, table: Mapping[str, OpDef]) -> Graph:
    """The graph with objects that are handed on as values."""
    if not any(is_object(out.type) and n.regions for n in walk_nodes(graph) for out in n.outputs):
        return graph
    left: frozenset[Value] = frozenset()
    for _ in range(ATTEMPTS):
        work = Families(graph, table, left)
        try:
            nodes, results, _ = region(work, graph, {}, _WITHIN)
        except Needed as needed:
            if not needed.who or needed.who <= left:
                return graph
            left |= needed.who
            continue
        made = dataclasses.replace(graph, nodes=tuple(nodes), results=results)
        return made if work.gained else graph
    return graph
