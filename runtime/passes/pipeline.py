"""The passes in order, each with the reason for its place, and the one function that runs them.

In: a traced graph.  Out: `Optimised`, the graph that plans and native code are made from, and what each pass
did to it.  What always holds: the result does what the graph does, to the bit, its effects in the same order.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping

from runtime.dataclass import dataclass
from runtime.ir.calls import expanded, size, with_callees
from runtime.ir.graph import Graph
from runtime.ir.opdef import OpDef
from runtime.ir.walk import map_graphs, walk_nodes
from runtime.ops.table import OPS
from runtime.passes.aliases import Aliases
from runtime.passes.common import share
from runtime.passes.dead import drop_dead
from runtime.passes.fields import fields_as_values
from runtime.passes.fold import fold
from runtime.passes.handed import handed_on
from runtime.passes.hoist import hoist
from runtime.passes.simplify import simplify
from runtime.passes.unread import drop_unread

Run = Callable[[Graph, Mapping[str, OpDef]], Graph]
_ALIASES: weakref.WeakKeyDictionary[Graph, Aliases] = weakref.WeakKeyDictionary()
LARGE = 1500  # nodes: compiling more in one piece takes too long
ROUNDS = 3  # a pass may make work for an earlier one; more rounds than this find next to nothing


def _everywhere(one: Callable[[Graph, Mapping[str, OpDef], Aliases], Graph]) -> Run:
    """The pass on each region, innermost first, with the aliases of the whole graph."""

    def run(graph: Graph, table: Mapping[str, OpDef]) -> Graph:
        aliases = _ALIASES.get(graph)
        if aliases is None or aliases.table is not table:
            aliases = _ALIASES[graph] = Aliases(graph, table)
        return map_graphs(graph, lambda region: one(region, table, aliases))

    return run


def fold_all(graph: Graph, table: Mapping[str, OpDef]) -> Graph:
    """`fold` on each region, innermost first."""
    return map_graphs(graph, lambda region: fold(region, table))


simplify_all = _everywhere(simplify)
share_all = _everywhere(share)
hoist_all = _everywhere(hoist)

# name, pass, why it stands where it does
PIPELINE: tuple[tuple[str, Run, str], ...] = (
    ("handed on", handed_on, "before fields: it leaves them what stays one object, or is needed itself"),
    ("fields", fields_as_values, "early: what objects hold is like any other value to those below"),
    ("drop unread", drop_unread, "after it: objects that it left empty"),
    ("fold", fold_all, "early, as constants make more operands known to all others"),
    ("simplify", simplify_all, "before sharing, as it makes operands equal that had several names"),
    ("share", share_all, "before hoisting, so that a repeated node moves once"),
    ("hoist", hoist_all, "after sharing; what it takes out of an inner loop the outer one may pass on"),
    ("drop dead", drop_dead, "last, as all others leave values behind that nobody reads"),
)


@dataclass(frozen=True)
class Step:
    """One run of a pass that changed the graph: how many nodes there were before and after."""

    name: str
    before: int
    after: int

    def __str__(self) -> str:
        return f"{self.name}: {self.before} nodes, then {self.after}"


@dataclass(frozen=True)
class Optimised:
    """The graph after all passes, and what each did; problem: why they were given up, if they were."""

    graph: Graph
    steps: tuple[Step, ...]
    problem: str = ""

    def __str__(self) -> str:
        return "\n".join([*map(str, self.steps), *([self.problem] if self.problem else [])])


def optimise(graph: Graph, table: Mapping[str, OpDef] = OPS) -> Optimised:
    """Run the pipeline until nothing changes, a few rounds at most.

    Called graphs are put in the place of their calls, unless that makes a graph too large to be one piece of
    machine code: then each is done once, for itself."""
    steps: list[Step] = []
    before, whole = count(graph), size(graph)
    if whole <= LARGE:
        graph = expanded(graph)
        if whole != before:
            steps.append(Step("expand", before, whole))
    else:
        graph = with_callees(graph, lambda inner: _rounds(inner, table, []))
    return Optimised(_rounds(graph, table, steps), tuple(steps))


def _rounds(graph: Graph, table: Mapping[str, OpDef], steps: list[Step]) -> Graph:
    """Run the passes; what each did is added to `steps`."""
    for _ in range(ROUNDS):
        start = graph
        for name, run, _reason in PIPELINE:
            before = count(graph)
            new = run(graph, table)
            if new is not graph:
                steps.append(Step(name, before, count(new)))
            graph = new
        if graph is start:
            break
    return graph


def count(graph: Graph) -> int:
    """How many nodes the graph has, those of its regions too."""
    return sum(1 for _ in walk_nodes(graph))
