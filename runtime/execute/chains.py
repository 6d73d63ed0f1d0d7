"""Chains: runs of elementwise nodes over arrays of one shape, which pay when done in cache-sized blocks.

In: a graph.  Out: the same graph in which each chain is one `blocks` node: its operands, and as its region
the nodes as they were.  What always holds: only silent nodes moved (to before the chain); the region alone,
run in place of the node, is the graph as it was.  A chain may end in one write: `a += b`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from runtime.dataclass import dataclass
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import OpDef
from runtime.ir.walk import inline, map_regions
from runtime.ops.operators import BINARY, UNARY
from runtime.passes.facts import IN_PLACE, gives_view, makes_new, silent
from runtime.passes.rewrite import exchanged, users, with_nodes
from runtime.types import ArrayType, WeakType, static_or_weak

BLOCKS = "blocks"
LEAST_STEPS = 4
LEAST_STEPS_KEPT = 3  # where memory is kept from trip to trip
LEAST_STEPS_UNSIZED = 5  # where the sizes aren't known, so that the plan has to ask on each call
LEAST_SIZE = 50_000  # elements: smaller arrays are in the cache anyway
LEAST_WORK = 750_000  # elements times steps
LEAST_WORK_KEPT = 500_000  # the same where memory is kept from trip to trip
LEAST_WINDOW = 2048  # elements, where rows with gaps between them may become one line in each trip of a loop
_UFUNCS: dict[str, np.ufunc] = {
    row[0]: row[2] for row in (*BINARY, *UNARY) if row[0] not in ("pow", "matmul")
}


@dataclass(frozen=True, eq=False)
class Chain:
    """What a `blocks` node does to one block.

    arrays: which of its operands are arrays.  outputs: for each, "new" if others may hold it, "kept" if it
    dies in the same region and so may live in memory that is used again, "loose" if its layout may have gaps,
    "turn" if it is what a loop hands on, so that two arrays may take turns.
    """

    arrays: tuple[int, ...]
    outputs: tuple[str, ...]
    asks: tuple[int, int] | None  # the operand whose size is to be asked before, if it isn't known; the least
    store: int | None = None  # the operand into which the result is written in the end


def with_blocks(
    graph: Graph, table: Mapping[str, OpDef], loops: int = 0, handed: frozenset[Value] = frozenset()
) -> Graph:
    """The graph with its chains, and those of its regions, as `blocks` nodes.

    loops: how many it stands in.  handed: values that a loop hands on to its next trip, and nobody else has.
    """
    nodes: list[Node] = []
    same: dict[Value, Operand] = {}  # what `a += b` gives is a
    run = _Run(table, loops, handed)
    for old in graph.nodes:
        inside = loops + (old.op in ("while", "for"))
        on = _handed_on(old, table) if inside == 1 and not loops else frozenset[Value]()
        node = map_regions(old, functools.partial(with_blocks, table=table, loops=inside, handed=on))
        node = exchanged(node, same)
        if run.takes(node):
            continue
        target = run.stores(node)
        if target is not None:
            ended = run.end(graph, node)
            if ended[-1] is not node:
                same.update((out, target) for out in node.outputs)
            nodes += ended
            run = _Run(table, loops, handed)
            continue
        nodes += run.end(graph)
        run = _Run(table, loops, handed)
        if not run.takes(node):
            nodes.append(node)
    nodes += run.end(graph)
    return with_nodes(graph, nodes, same)


def ufunc_of(node: Node, table: Mapping[str, OpDef]) -> np.ufunc | None:
    """The ufunc that does the node's work with the same bits, if it is one that goes element by element."""
    if node.keywords or node.attrs or len(node.outputs) != 1:
        return None
    if node.op in IN_PLACE:
        return _UFUNCS.get(node.op[1:])
    if node.op == "pow":  # NumPy's operator squares
        two = node.inputs[1]
        array = node.inputs[0].type
        square = isinstance(two, Const) and type(two.value) in (int, float) and two.value == 2
        return np.square if square and isinstance(array, ArrayType) and array.dtype.kind == "f" else None
    found = _UFUNCS.get(node.op)
    if found is None and node.op in table:
        run = table[node.op].run
        found = run if isinstance(run, np.ufunc) else None
    if found is None or found.nout != 1 or found.signature is not None or found.nin != len(node.inputs):
        return None
    return found


def is_where(node: Node) -> bool:
    """Whether the node picks elements from two operands."""
    if node.op != "np.where" or len(node.inputs) != 3 or node.keywords:
        return False
    mask = node.inputs[0].type
    return whole(mask) and isinstance(mask, ArrayType) and mask.dtype == np.bool_


def whole(t: Any) -> bool:
    """Whether the operand is an array with axes (or perhaps with some)."""
    return isinstance(t, ArrayType) and not t.scalar and t.shape != ()


class _Run:
    """A chain under construction.  before: silent nodes that don't need it, met on the way."""

    def __init__(self, table: Mapping[str, OpDef], loops: int, handed: frozenset[Value]) -> None:
        self.table, self.loops, self.handed = table, loops, handed
        self.nodes: list[Node] = []
        self.every: list[Node] = []
        self.made: set[Value] = set()
        self.shape: Any = None

    def takes(self, node: Node) -> bool:
        """Add the node, if it is one of the chain or may run before it."""
        if self._fits(node):
            self.nodes.append(node)
            self.made.update(node.outputs)
        elif not (
            self.nodes
            and not node.regions
            and not any(x in self.made for x in node.inputs if isinstance(x, Value))
            and silent(node, self.table)
        ):
            return False
        self.every.append(node)
        return True

    def _fits(self, node: Node) -> bool:
        if node.op in IN_PLACE or (ufunc_of(node, self.table) is None and not is_where(node)):
            return False
        made = node.outputs[0].type
        if not whole(made) or not isinstance(made, ArrayType) or made.device != "cpu":
            return False
        if self.nodes and made.shape != self.shape:
            return False
        for operand in node.inputs:
            t = static_or_weak(operand.type)
            if isinstance(t, ArrayType):
                fits = (
                    t.dtype.kind in "biufc" and t.dtype.isnative and (not whole(t) or t.shape == made.shape)
                )
            else:
                fits = isinstance(t, WeakType)
            if not fits or (isinstance(operand, Const) and isinstance(operand.value, np.ndarray)):
                return False
        if not isinstance(made.dtype, np.dtype) or made.dtype.kind not in "biufc":
            return False
        self.shape = made.shape
        return True

    def stores(self, node: Node) -> Operand | None:
        """The array that the node writes the last of the run into, if it does no more than that."""
        if node.op not in ("iadd", "isub", "imul", "itruediv") or not self.nodes or len(node.inputs) != 2:
            return None
        target, value = node.inputs
        if not isinstance(target, Value) or target in self.made or value not in self.made:
            return None
        t, added = target.type, value.type
        if not isinstance(t, ArrayType) or not isinstance(added, ArrayType) or t.dtype.kind != "f":
            return None
        return target if (t.dtype, t.shape, t.device) == (added.dtype, added.shape, added.device) else None

    def end(self, graph: Graph, last: Node | None = None) -> list[Node]:
        """The nodes of the finished run; `last` is one that writes its result into an array."""
        made = self._blocks(graph, last)
        if made is None:
            return self.every if last is None else [*self.every, last]
        inside = set(self.nodes)
        return [*(node for node in self.every if node not in inside), made]

    def _blocks(self, graph: Graph, last: Node | None) -> Node | None:
        """The run as one node, if that pays."""
        size = _size(self.shape)
        if len(self.nodes) < LEAST_STEPS_KEPT or (size is not None and size < LEAST_WINDOW):
            return None
        if last is not None:
            self.nodes.append(last)
        inside = set(self.nodes)
        outputs = [
            out
            for node in self.nodes
            for out in node.outputs
            if node is not last
            and (out in graph.results or any(user not in inside for user, _ in users(graph, out)))
        ]
        if (last is None) != bool(outputs) or len(outputs) * 2 > len(self.nodes):
            return None
        operands = list(
            dict.fromkeys(
                x for n in self.nodes for x in n.inputs if isinstance(x, Value) and x not in self.made
            )
        )
        arrays = tuple(k for k, x in enumerate(operands) if whole(x.type))
        if not arrays:
            return None
        params = tuple(Value(x.type, x.name) for x in operands)
        body = Graph("plain", tuple(operands), tuple(self.nodes), tuple(outputs))
        nodes, results = inline(body, params)
        region = Graph("plain", params, nodes, results)
        kinds = tuple("turn" if out in self.handed else _kind(graph, out, self.table) for out in outputs) or (
            "loose",
        )
        least = self._least(size, kinds, len(inside) - 2 * self._dying(graph, operands, inside))
        if least is None:
            return None
        store = None if last is None else operands.index(cast(Value, last.inputs[0]))
        chain = Chain(arrays, kinds, None if size is not None else (arrays[0], least), store)
        attrs = (("chain", chain),)
        return Node(BLOCKS, tuple(operands), tuple(outputs), (), attrs, (region,), self.nodes[0].span)

    def _dying(self, graph: Graph, operands: Sequence[Value], inside: set[Node]) -> int:
        """How many arrays nobody needs after the chain: plain expressions would compute in their memory."""
        made = {out for node in graph.nodes if not gives_view(node) for out in node.outputs}
        return sum(
            x in made and whole(x.type) and all(user in inside for user, _ in users(graph, x))
            for x in operands
        )

    def _least(self, size: int | None, kinds: tuple[str, ...], steps: int) -> int | None:
        """The least number of elements for which the chain pays; None where it doesn't at all."""
        keeps = bool(self.loops) and "new" not in kinds
        least = LEAST_WINDOW if keeps and set(kinds) == {"loose"} else LEAST_SIZE
        if steps < (LEAST_STEPS_KEPT if keeps else LEAST_STEPS_UNSIZED if size is None else LEAST_STEPS):
            return None
        if (
            size is not None
            and least == LEAST_SIZE
            and size * steps < (LEAST_WORK_KEPT if keeps else LEAST_WORK)
        ):
            return None
        return None if size is not None and size < least else least


def _size(shape: Any) -> int | None:
    """How many elements, if that is known."""
    if shape is None or None in shape:
        return None
    size = 1
    for n in shape:
        size *= n
    return size


def _kind(graph: Graph, out: Value, table: Mapping[str, OpDef]) -> str:
    """ "new": it leaves the region; "kept": its memory may be used again in the next trip, as nobody holds it
    then; "loose": besides, its rows may lie apart, as only elementwise work reads it."""
    return "new" if out in graph.results else _dies_here(graph, out, table)


def _handed_on(node: Node, table: Mapping[str, OpDef]) -> frozenset[Value]:
    """What the outermost loop hands from trip to trip so that nobody has it afterwards but the next trip."""
    if node.op not in ("while", "for"):
        return frozenset()
    body = node.regions[0] if node.op == "for" else node.regions[1]
    if body.diverges:
        return frozenset()
    found: set[Value] = set()
    for k, out in enumerate(body.results[: node.attr("carries")]):
        if not isinstance(out, Value) or body.results.count(out) > 1 or _dies_here(body, out, table) == "new":
            continue
        params = [
            (region, region.params[k + (node.op == "for" and region is body)]) for region in node.regions
        ]
        if all(
            param not in region.results and _dies_here(region, param, table) != "new"
            for region, param in params
        ):
            found.add(out)
    return frozenset(found)


def _dies_here(graph: Graph, out: Value, table: Mapping[str, OpDef]) -> str:
    """As `_kind`, whether or not it is a result too."""
    loose = True
    for node, k in users(graph, out):
        writes = node.op in IN_PLACE and k == 1 and isinstance(node.inputs[0].type, ArrayType)
        stored = node.op == "setitem" and k == 2 and isinstance(node.inputs[0].type, ArrayType)
        if node.regions or not (writes or stored or makes_new(node, table)):
            return "new"
        if not (writes or stored or ufunc_of(node, table) is not None):
            loose = False
        if writes and node.op == "imatmul":
            loose = False
    return "loose" if loose else "kept"


def steps_of(region: Graph, table: Mapping[str, OpDef]) -> Sequence[tuple[np.ufunc | None, Node]]:
    """Each node with its ufunc; None for `np.where`."""
    return [(None if is_where(node) else ufunc_of(node, table), node) for node in region.nodes]
