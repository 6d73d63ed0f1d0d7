"""The laws of the intermediate representation, checked.

In: a graph and the op table.  Out: nothing, or a `GraphError` that shows the node that breaks a law, the
lines around it and the user's own line.  What always holds: a graph that passes is closed, its values are
defined once and before their uses, its types agree with the table, and its regions fit their nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from runtime.errors import GraphError
from runtime.ir.calls import CALL, called_graphs, callee
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import OpDef
from runtime.ir.parts import Try, With, never_returns
from runtime.lazy import Lazy
from runtime.types import (
    ArrayType,
    MaybeUnbound,
    NumberType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    UnboundType,
    WeakType,
    describes,
)

if TYPE_CHECKING:
    from runtime.ir import text
else:
    text = Lazy("runtime.ir.text")

REGION_COUNTS = {"cond": (2, 2), "while": (2, 2), "for": (1, 2), "try": (1, 1 << 20), "with": (1, 1)}
_AROUND = 5


def verify(graph: Graph, table: Mapping[str, OpDef]) -> None:
    """Check every law; GraphError at the first that is broken."""
    for each in (*called_graphs(graph), graph):
        _Verifier(each, table).graph(each)


def includes(wide: Type, narrow: Type) -> bool:
    """Whether every value that `narrow` describes is described by `wide` too."""
    if wide == narrow:
        return True
    if isinstance(narrow, StaticType):
        return describes(wide, narrow.value)
    if isinstance(wide, MaybeUnbound):
        inner = narrow.type if isinstance(narrow, MaybeUnbound) else narrow
        return isinstance(narrow, UnboundType) or includes(wide.type, inner)
    if isinstance(narrow, (UnboundType, MaybeUnbound)):
        return False
    if isinstance(narrow, NumberType):
        return all(includes(wide, kind) for kind in narrow.kinds)
    if isinstance(wide, NumberType):
        return any(includes(kind, narrow) for kind in wide.kinds)
    if isinstance(wide, ObjectType):
        return wide.cls is None or wide.cls is class_of(narrow)
    if isinstance(wide, TupleType) and isinstance(narrow, TupleType):
        same = wide.cls is narrow.cls and len(wide.items) == len(narrow.items)
        return same and all(map(includes, wide.items, narrow.items))
    if isinstance(wide, ArrayType) and isinstance(narrow, ArrayType):
        if (wide.dtype, wide.scalar, wide.device) != (narrow.dtype, narrow.scalar, narrow.device):
            return False
        return wide.shape is None or (narrow.shape is not None and _covers(wide.shape, narrow.shape))
    return False


def _covers(wide: Sequence[int | None], narrow: Sequence[int | None]) -> bool:
    return len(wide) == len(narrow) and all(n is None or n == m for n, m in zip(wide, narrow, strict=True))


def class_of(t: Type) -> type | None:
    """The exact class of the values of a type, where the type tells."""
    if isinstance(t, (TupleType, ObjectType)):
        return t.cls
    if isinstance(t, WeakType):
        return {"bool": bool, "int": int, "float": float, "complex": complex}[t.kind]
    if isinstance(t, ArrayType) and t.device == "cpu":
        return t.dtype.type if t.scalar else np.ndarray
    return None


class _Verifier:
    def __init__(self, whole: Graph, table: Mapping[str, OpDef]) -> None:
        self.whole, self.table = whole, table

    def fail(self, what: str, node: Node | None, why: str = "", fix: str = "") -> NoReturn:
        """Raise: what is wrong, the node, ten lines around it, the user's line."""
        lines = [what]
        if node is not None:
            lines.append(f"  node: {text.node_text(node)}")
        lines.append(self.excerpt(node))
        span = None if node is None else node.span
        raise GraphError("\n".join(lines), span=span, why=why, fix=fix)

    def excerpt(self, node: Node | None) -> str:
        """Ten lines of the graph's text around the node, which is marked."""
        lines, at = text.print_graph(self.whole, spans=False).splitlines(), 0
        if node is not None:
            at = _line_of(self.whole, node, lines)
        start = max(0, at - _AROUND)
        marked = [f"  {'>' if node is not None and k == at else '|'} {line}" for k, line in enumerate(lines)]
        return "\n".join(marked[start : start + 2 * _AROUND])

    def graph(self, graph: Graph) -> None:
        """Check one graph and its regions."""
        known: set[Value] = set()
        for value in graph.params:
            self.define(value, known, None)
        for index, node in enumerate(graph.nodes):
            for operand in node.inputs:
                self.operand(operand, known, node)
            self.node(node)
            for value in node.outputs:
                self.define(value, known, node)
            if never_returns(node) and not (graph.diverges and index == len(graph.nodes) - 1):
                self.fail(
                    f"{node.op} never returns, yet the graph {graph.name!r} goes on after it",
                    node,
                    fix="make it the last node and mark the graph with diverges=True",
                )
        last = graph.nodes[-1] if graph.nodes else None
        if graph.diverges and (last is None or not never_returns(last) or graph.results):
            self.fail(
                f"the graph {graph.name!r} says diverges=True but can reach its end or has results",
                last,
                fix="end it in a raise node (or a region node all of whose ways diverge), without results",
            )
        for operand in graph.results:
            self.operand(operand, known, last, "a result of the graph")

    def define(self, value: Value, known: set[Value], node: Node | None) -> None:
        if value in known:
            self.fail(f"the value {value.name!r} is defined twice", node)
        known.add(value)

    def operand(
        self, operand: Operand, known: set[Value], node: Node | None, role: str = "an operand"
    ) -> None:
        if isinstance(operand, Value) and operand not in known:
            self.fail(
                f"the value {operand.name!r} ({operand.type}) is {role} but is not defined before",
                node,
                why="a graph sees its own parameters and the outputs of earlier nodes; a region is closed",
                fix="pass what a region needs through the node's inputs and the region's parameters",
            )

    def node(self, node: Node) -> None:
        """Check one node against the table, or its regions against it."""
        if len(node.keywords) > len(node.inputs):
            self.fail(f"{node.op} names {len(node.keywords)} keywords for {len(node.inputs)} inputs", node)
        if node.op in REGION_COUNTS:
            self.region_node(node)
            return
        if node.regions:
            self.fail(f"{node.op} has regions, but only {', '.join(REGION_COUNTS)} may", node)
        row = self.table.get(node.op)
        if row is None:
            fix = "use a name of the op table (runtime/ops/table.py)"
            self.fail(f"no op is named {node.op!r}", node, fix=fix)
        if node.op == CALL:
            self.call(node)
        if row.rule is None or node.op.startswith("py."):
            return
        keywords = {name: operand.type for name, operand in node.keyword_inputs.items()}
        try:
            claimed = row.rule(*(operand.type for operand in node.positional), **keywords)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            self.fail(f"the type rule of {node.op} refuses these operands: {reason}", node)
        if len(node.outputs) != 1:
            self.fail(f"{node.op} has one result, the node has {len(node.outputs)} outputs", node)
        given = node.outputs[0].type
        # Where the table only knows "some object", tracing may know more.
        if given != claimed and not (isinstance(claimed, ObjectType) and includes(claimed, given)):
            self.fail(f"the output of {node.op} is typed {given}, the op's rule gives {claimed}", node)

    def call(self, node: Node) -> None:
        """Check what a call hands to the graph that it calls; that graph is checked by itself."""
        inner = callee(node)
        if inner is None or node.keywords:
            self.fail("call needs a graph as its first operand, and no keywords", node)
        self.params(node, inner.name, inner, node.inputs[1:])
        if inner.diverges or len(inner.results) != 1:
            self.fail(
                f"the graph {inner.name!r} that is called has {len(inner.results)} results, not one", node
            )

    def region_node(self, node: Node) -> None:
        fewest, most = REGION_COUNTS[node.op]
        if not fewest <= len(node.regions) <= most:
            self.fail(f"{node.op} has {len(node.regions)} regions", node)
        if node.keywords:
            self.fail(f"{node.op} takes no keywords", node)
        if not node.inputs and node.op not in ("while", "try"):
            self.fail(f"{node.op} needs an operand", node)
        if node.op == "cond":
            self.cond(node)
        elif node.op == "try":
            self.try_(node)
        elif node.op == "with":
            self.with_(node)
        else:
            self.loop(node)
        for region in node.regions:
            self.graph(region)

    def cond(self, node: Node) -> None:
        for label, region in zip(text.region_labels(node), node.regions, strict=True):
            self.params(node, label, region, node.inputs[1:])
            if not region.diverges:
                self.results(node, label, region, [value.type for value in node.outputs])

    def try_(self, node: Node) -> None:
        count, wanted = node.attr("handlers"), 1
        if type(count) is not int or not 0 <= count <= len(node.inputs):
            self.fail(f"try must say how many of its inputs are classes of handlers, not {count!r}", node)
        wanted += count + bool(node.attr("orelse", False)) + bool(node.attr("final", False))
        if len(node.regions) != wanted:
            self.fail(f"try has {len(node.regions)} regions, its attributes say {wanted}", node)
        parts = Try(node)
        if any(not isinstance(operand, Const) for operand in parts.classes):
            self.fail("the classes that a try catches must be constants", node)
        if any(isinstance(operand, Const) and operand.value is None for operand in parts.classes[:-1]):
            self.fail("the handler of everything must be the last one of its try", node)
        for label, region in parts.labels():
            skip = int(region in parts.handlers)
            if len(region.params) < skip:
                self.fail(f"the region {label} of try needs a parameter for the exception", node)
            self.params(node, label, region, parts.captures, skip)
            if not region.diverges:
                types = [value.type for value in node.outputs] if region in parts.ends else []
                self.results(node, label, region, types)

    def with_(self, node: Node) -> None:
        if not node.regions[0].params:
            self.fail("the body of with needs a parameter for what entering gives", node)
        parts = With(node)
        if len(node.inputs) - 1 < len(parts.instead):
            self.fail("with swallows exceptions, so it needs an operand for each output", node)
        for value, operand in zip(node.outputs, parts.instead, strict=False):
            if not includes(value.type, operand.type):
                self.fail(f"with yields a {operand.type} after an exception, expected {value.type}", node)
        self.params(node, "body", parts.body, parts.captures, 1)
        if not parts.body.diverges:
            self.results(node, "body", parts.body, [value.type for value in node.outputs])

    def loop(self, node: Node) -> None:
        first = 1 if node.op == "for" else 0
        carries = node.attr("carries")
        if type(carries) is not int or not 0 <= carries <= len(node.inputs) - first:
            self.fail(f"{node.op} must say how many of its inputs are carries, not {carries!r}", node)
        if node.op == "for" and bool(node.attr("tested", False)) != (len(node.regions) == 2):
            self.fail("for has a test region if, and only if, it says tested=True", node)
        if len(node.outputs) != carries:
            self.fail(f"{node.op} has {carries} carries but {len(node.outputs)} outputs", node)
        given = node.inputs[first:]
        kept = [value.type for value in node.outputs]
        for label, region in zip(text.region_labels(node), node.regions, strict=True):
            skip = first if label == "body" else 0
            if len(region.params) < skip:
                self.fail(f"the region {label} of {node.op} needs a parameter for the item", node)
            self.params(node, label, region, given, skip)
            carried = [value.type for value in region.params[skip : skip + carries]]
            for wide, narrow in zip(kept, carried, strict=True):
                if not includes(wide, narrow):
                    self.fail(f"{node.op} carries {narrow} in {label}, but its output is typed {wide}", node)
            if region.diverges:
                continue
            if label == "test":
                self.results(node, label, region, None)
                continue
            for taker, other in zip(text.region_labels(node), node.regions, strict=True):
                start = first if taker == "body" else 0  # what a trip yields is what the next one takes
                self.results(node, label, region, [p.type for p in other.params[start : start + carries]])

    def params(self, node: Node, label: str, region: Graph, given: Sequence[Operand], skip: int = 0) -> None:
        """The region's parameters after the first `skip` must take what the node is given."""
        params = region.params[skip:]
        if len(params) != len(given):
            takes = f"the region {label} of {node.op} takes {len(params)} operands"
            self.fail(f"{takes}, it gets {len(given)}", node)
        for param, operand in zip(params, given, strict=True):
            if not includes(param.type, operand.type):
                typed = f"the parameter {param.name!r} of region {label} is typed {param.type}"
                self.fail(f"{typed}, it gets {operand.type}", node)

    def results(self, node: Node, label: str, region: Graph, types: Sequence[Type] | None) -> None:
        """The region's results must be of these types; None: one result of any type."""
        wanted = 1 if types is None else len(types)
        if len(region.results) != wanted:
            yields = f"the region {label} of {node.op} yields {len(region.results)} results"
            self.fail(f"{yields}, expected {wanted}", node)
        for wide, result in zip(types or (), region.results, strict=False):
            if not includes(wide, result.type):
                self.fail(f"the region {label} of {node.op} yields a {result.type}, expected {wide}", node)


def _line_of(whole: Graph, node: Node, lines: list[str]) -> int:
    """The index of the node's line: nodes are printed in the order in which walking meets them."""

    def visit(graph: Graph, at: int) -> tuple[int, bool]:
        for each in graph.nodes:
            if each is node:
                return at, True
            at += 1
            for region in each.regions:
                at, found = visit(region, at + 1)
                if found:
                    return at, True
        return at + 1, False

    legend = sum(line.startswith("#") for line in lines)
    at, found = visit(whole, legend + 1)
    return at if found else 0
