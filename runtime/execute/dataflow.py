"""What a printer must know of the values of a region: who reads them, how often, and when last.

In: a graph and the op table.  Out: `Flow.info(region)`.  What always holds: a read counts only if the printed
program makes it, so operands of a region op that no arm uses don't count, and neither do nodes that are
dropped because nobody needs them.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence

from runtime.dataclass import dataclass
from runtime.errors import GraphError
from runtime.ir.effects import removable
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import OpDef
from runtime.ir.parts import Try, With
from runtime.types import ArrayType, NumberType, StaticType, TupleType, Type, WeakType

# Ops that only hold references to their operands: no contents are read.
_HOLDERS = frozenset({"py.tuple", "py.slice", "py.is", "py.function"})


@dataclass(frozen=True)
class Info:
    """How a region uses its values.

    counts: reads.  last: index of the node that reads a value last (`len(nodes)` for a result).
    nested: values read inside a region of a node, perhaps many times.  dead: nodes that are dropped.
    """

    counts: Mapping[Value, int]
    last: Mapping[Value, int]
    nested: frozenset[Value]
    dead: frozenset[int]


class Flow:
    """The infos of a graph and its regions, each computed once."""

    def __init__(self, table: Mapping[str, OpDef]) -> None:
        self.table = table
        self._infos: dict[Graph, Info] = {}

    def row(self, node: Node) -> OpDef:
        """The op's row."""
        try:
            return self.table[node.op]
        except KeyError:
            raise GraphError(f"no op is named {node.op!r}", span=node.span) from None

    def info(self, graph: Graph) -> Info:
        """How `graph` uses its own values."""
        if graph not in self._infos:
            self._infos[graph] = self._compute(graph)
        return self._infos[graph]

    def _compute(self, graph: Graph) -> Info:
        counts: collections.Counter[Value] = collections.Counter()
        last: dict[Value, int] = {}
        nested: set[Value] = set()
        dead: set[int] = set()
        for result in graph.results:
            if isinstance(result, Value):
                counts[result] += 1
                last.setdefault(result, len(graph.nodes))
        for index in range(len(graph.nodes) - 1, -1, -1):
            node = graph.nodes[index]
            if not any(counts[out] for out in node.outputs) and self.droppable(node):
                dead.add(index)
                continue
            for value, inside in self.reads(node):
                counts[value] += 1
                last.setdefault(value, index)
                if inside:
                    nested.add(value)
        return Info(counts, last, frozenset(nested), frozenset(dead))

    def droppable(self, node: Node) -> bool:
        """Whether the node may go when nobody reads its outputs."""
        if not node.regions:
            self.row(node)
        return removable(node, self.table)

    def used(self, graph: Graph, param: Value) -> bool:
        """Whether the region reads its parameter."""
        return self.info(graph).counts.get(param, 0) > 0

    def reads(self, node: Node) -> Iterator[tuple[Value, bool]]:
        """The values that the printed node reads, and whether inside one of its regions."""
        found = self._region_reads(node) if node.regions else ((operand, False) for operand in node.inputs)
        for operand, inside in found:
            if isinstance(operand, Value):
                yield operand, inside

    def _region_reads(self, node: Node) -> Iterator[tuple[Operand, bool]]:
        if node.op == "cond":
            yield node.inputs[0], False
            skipped = self.shared_operand(node)
            for k, operand in enumerate(node.inputs[1:]):
                if k != skipped and any(self.used(region, region.params[k]) for region in node.regions):
                    yield operand, True
            return
        if node.op == "blocks":
            yield from ((operand, True) for operand in node.inputs)
            return
        if node.op == "try":
            parts = Try(node)
            regions = [(region, parts.capture_params(region)) for region in node.regions]
            yield from self._capture_reads(parts.captures, regions)
            return
        if node.op == "with":
            whole = With(node)
            yield whole.manager, False
            yield from ((operand, False) for operand in whole.instead)
            yield from self._capture_reads(whole.captures, [(whole.body, whole.params)])
            return
        loop = Loop(node)
        if loop.iterable is not None:
            yield loop.iterable, False
        for k, operand in enumerate(loop.inits):
            yield operand, loop.kept(k)
        yield from self._capture_reads(loop.captures, list(loop.capture_params()))

    def _capture_reads(
        self, captures: Sequence[Operand], regions: Sequence[tuple[Graph, tuple[Value, ...]]]
    ) -> Iterator[tuple[Operand, bool]]:
        """The captures that some region reads."""
        for k, operand in enumerate(captures):
            if any(self.used(region, params[k]) for region, params in regions):
                yield operand, True

    def shared_operand(self, node: Node) -> int | None:
        """For `p and x` (or `p or x`) as a cond: which operand is p itself, if only that arm reads it."""
        which = self.shortcut(node)
        if which is None:
            return None
        pred, (true, false) = node.inputs[0], node.regions
        short, long = (false, true) if which == "and" else (true, false)
        for k, operand in enumerate(node.inputs[1:]):
            if (
                operand is pred
                and short.results[0] is short.params[k]
                and not self.used(long, long.params[k])
            ):
                return k
        return None

    def shortcut(self, node: Node) -> str | None:
        """ "and" or "or" when the cond is one: an arm without nodes yields the tested value itself."""
        pred = node.inputs[0]
        if node.op != "cond" or len(node.outputs) != 1 or isinstance(pred, Const):
            return None
        for which, short, literal in (("and", node.regions[1], False), ("or", node.regions[0], True)):
            if short.nodes or short.diverges:
                continue
            result = short.results[0]
            if isinstance(result, Const):
                if result.value is literal and isinstance(pred.type, WeakType) and pred.type.kind == "bool":
                    return which
            elif node.inputs[1 + short.params.index(result)] is pred:
                return which
        return None

    def free(self, node: Node) -> bool:
        """Whether nobody can tell when the node is evaluated: pure, never raises, reads no memory."""
        if node.regions or self.row(node).raises or not removable(node, self.table):
            return False
        return node.op in _HOLDERS or all(_immutable(operand.type) for operand in node.inputs)


def _immutable(t: Type) -> bool:
    if isinstance(t, ArrayType):
        return t.scalar
    if isinstance(t, TupleType):
        return all(map(_immutable, t.items))
    return isinstance(t, (WeakType, NumberType, StaticType))


class Loop:
    """A `while` or `for` node with its parts by name."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.is_for = node.op == "for"
        self.count: int = node.attr("carries", 0)
        self.body = node.regions[0] if self.is_for else node.regions[1]
        self.test: Graph | None = None
        if not self.is_for:
            self.test = node.regions[0]
        elif node.attr("tested", False):
            self.test = node.regions[1]
        inputs = node.inputs[1:] if self.is_for else node.inputs
        self.iterable = node.inputs[0] if self.is_for else None
        self.inits, self.captures = inputs[: self.count], inputs[self.count :]
        self.item = self.body.params[0] if self.is_for else None
        self.params = self.body.params[1:] if self.is_for else self.body.params

    def kept(self, k: int) -> bool:
        """Whether carry `k` keeps the value it came in with."""
        return not self.body.diverges and self.body.results[k] is self.params[k]

    def capture_params(self) -> Iterator[tuple[Graph, tuple[Value, ...]]]:
        """Each region with its parameters that stand for captures."""
        yield self.body, self.params[self.count :]
        if self.test is not None:
            yield self.test, self.test.params[self.count :]
