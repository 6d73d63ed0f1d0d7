"""The plan: a graph printed as one readable Python function of structured code.

In: a graph.  Out: `PlanSource`.  What always holds: the function does what the reference interpreter does,
in the same order of everything that can be observed; it has no loop over nodes; names are the user's where
they can be.
"""

from __future__ import annotations

import dataclasses
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from runtime.errors import Span
from runtime.execute.blocks import WAITING, WIDTH, Line, Scope
from runtime.execute.calls import template_of
from runtime.execute.chained import Chained
from runtime.execute.chains import ufunc_of, with_blocks
from runtime.execute.constants import Constants, slice_expression
from runtime.execute.dataflow import Flow
from runtime.execute.direct import as_arrays, operands_of, picks_constant
from runtime.execute.expression import ATOM, Expr, Number, Slot, Template, call_template, variable
from runtime.execute.names import PlanNames
from runtime.execute.plan import Place, PlanSource
from runtime.ir.calls import callee, with_callees
from runtime.ir.graph import Graph, Node, Operand, Value
from runtime.ir.opdef import OpDef
from runtime.ops.table import OPS
from runtime.passes.facts import makes_new
from runtime.pattern import pattern
from runtime.types import ArrayType

_COLUMNS = 110
LARGE = 1 << 20  # bytes
_ASSIGNMENT = pattern(
    r"\s*(\w+) (?:[-+*/%&|^@]|//|\*\*|<<|>>)?= "
)  # a line of the user's that assigns one name
_COLUMNS_KNOWN = sys.version_info >= (3, 11)  # code objects tell columns


def plan_source(
    graph: Graph, *, device: str = "cpu", table: Mapping[str, OpDef] = OPS, blocks: bool = False
) -> PlanSource:
    """Print the graph as the source of a Python function of its parameters.

    One result is returned as it is, several as a tuple.
    device: "cuda" calls CuPy's functions instead of NumPy's; DeviceError names the op that has no twin.
    blocks: whether long elementwise chains over large arrays may run in blocks (see `in_blocks`).
    """
    if blocks and device == "cpu":
        graph = with_blocks(with_callees(graph, lambda inner: with_blocks(inner, table)), table)
    names = PlanNames(graph.name)
    parts: dict[Graph, PlanSource] = {}
    printer = _Printer(Flow(table), names, Constants(names), device, parts)
    plan = printer.plan(graph, names.function)
    return dataclasses.replace(plan, parts=tuple(parts.values()))


def _assembled(printer: _Printer, name: str, params: Sequence[str]) -> PlanSource:
    """What was printed, as one function."""
    head = Line(0, f"def {name}({', '.join(params)}):")
    rooms = [Line(0, f"{room} = Room()") for room in printer.rooms]
    body = [
        Line(line.depth + 1, line.text, line.span, line.marks)
        for line in [*rooms, *printer.lines] or [Line(0, "pass")]
    ]
    return _assemble([*printer.functions, head, *body], name, printer.constants, printer.device)


def _assemble(lines: Sequence[Line], name: str, constants: Constants, device: str) -> PlanSource:
    """Indent, add the comments that point to the user's lines, and collect the maps back."""
    texts: list[str] = []
    spans: dict[int, Span] = {}
    marks: dict[int, tuple[Place, ...]] = {}
    numbers: dict[int, tuple[tuple[int, int, Number], ...]] = {}
    shown: tuple[str, int] | None = None
    for number, line in enumerate(lines, 1):
        indent = "    " * line.depth
        text = indent + line.text
        span = line.span
        if span is not None:
            spans[number] = span
            if (span.file, span.line) != shown:
                text += _comment(text, line.text, span)
                shown = (span.file, span.line)
        own = [(a + len(indent), b + len(indent), what) for a, b, what in line.marks]
        places = tuple((a, b, what) for a, b, what in own if isinstance(what, Span))
        if any(place != span for _, _, place in places):
            marks[number] = places
        literals = tuple((a, b, what) for a, b, what in own if isinstance(what, Number))
        if literals:
            numbers[number] = literals
        texts.append(text)
    return PlanSource("\n".join(texts) + "\n", name, constants.bound, spans, marks, numbers, device)


def _comment(text: str, statement: str, span: Span) -> str:
    """`  # file:line: the user's text`, as much of it as fits."""
    comment = f"  # {os.path.basename(span.file)}:{span.line}"
    users = span.text().strip()
    if users and users != statement:
        comment += f": {users}"
    room = _COLUMNS - len(text)
    if not comment.isprintable() or room < 24:
        return ""
    return comment if len(comment) <= room else f"{comment[: room - 4]} ..."


class _Printer(Chained):
    """Prints nodes; regions are printed by the base class."""

    def __init__(
        self,
        flow: Flow,
        names: PlanNames,
        constants: Constants,
        device: str,
        parts: dict[Graph, PlanSource],
    ) -> None:
        super().__init__(flow, names, constants)
        self.device, self.parts = device, parts
        self.functions: list[Line] = []
        self.rooms: list[str] = []
        self.made: list[str] = []
        self.depth = 0
        self.spent: set[Value] = set()  # values whose expression reads a large array for the last time
        self.heavy: set[Value] = set()  # values whose expression makes a large array in memory of its own

    def plan(self, graph: Graph, name: str) -> PlanSource:
        """Print the graph as a function of this name."""
        return _assembled(self, name, self.function(graph))

    def template(self, node: Node) -> Template:
        """The template of a node; a graph that it calls is printed before, once."""
        inner = callee(node)
        if inner is None:
            return template_of(node, self.flow.row(node), self.constants, self.device)
        if inner not in self.parts:
            printer = _Printer(self.flow, self.names, self.constants, self.device, self.parts)
            self.parts[inner] = printer.plan(inner, self.names.constant(inner.name))
        arguments = [("", k) for k in range(1, len(node.inputs))]
        return call_template([f"{self.parts[inner].name}("], arguments)

    def function(self, graph: Graph) -> list[str]:
        """Print the body of the graph; the names of its parameters."""
        scope = Scope(graph, self.flow.info(graph), frozenset())
        params: list[str] = []
        for value in graph.params:
            name = self.names.local(value.name or "x", params)
            params.append(name)
            scope.env[value] = variable(name)
        self.nodes(scope)
        if graph.diverges or not graph.results:
            self.settle(scope)
            return params
        results = dict(enumerate(graph.results))
        found = self.consume(scope, results, range(len(results)))
        pieces: list[str | Expr] = ["return "]
        if len(found) == 1:
            found[0] = _bare(found[0])
        for k in range(len(results)):
            pieces += [", " if k else "", found[k]]
        span = found[0].span if len(found) == 1 else None
        self.emit(pieces, span)
        return params

    def nodes(self, scope: Scope) -> None:
        """Print the nodes of a region, one after the other."""
        for position, node in enumerate(scope.graph.nodes):
            scope.position = position
            if position not in scope.info.dead:
                if node.regions:
                    self.region_node(scope, node)
                else:
                    self.node(scope, node)
            scope.forget()
        scope.position = len(scope.graph.nodes)

    def node(self, scope: Scope, node: Node) -> None:
        """Print a node without regions."""
        self.guess_name(scope, node)
        if self.overwrites(scope, node):
            return
        template = self.template(node)
        if template.kind == "in place":
            self.in_place(scope, node, template)
            return
        counts = scope.info.counts
        waits = (
            template.kind == "expression"
            and len(node.outputs) == 1
            and counts.get(node.outputs[0], 0) == 1
            and node.outputs[0] not in scope.info.nested
        )
        operands = operands_of(node)
        order = template.order
        crowded = self.crowded(scope, node)
        named = [k for k in order if k in template.named or k in crowded or self.strays(scope, node, k)]
        free = self.flow.free(node)
        found = self.consume(scope, operands, order, named=named, now=not (waits or free), room=WIDTH)
        self.numbers(node, operands, found)
        for k in objects(node, template):
            literal = found[k].literal
            if literal is not None:
                found[k] = self.constants.reference(literal, compared=node.op == "py.is")
        expr = template.fill(found, node.span, not free)
        if node.op in ("py.tuple", "py.slice"):
            expr = _with_subscript(node, expr, found)
        if template.kind == "statement" or not any(counts.get(out) for out in node.outputs):
            self.emit([expr], node.span)
        elif waits and len(expr.text) <= WAITING:
            self.wait(scope, node.outputs[0], expr)
        elif len(node.outputs) == 1:
            if expr.ordered:
                self.settle(scope)
            self.assign(scope, node.outputs[0], expr)
        else:
            self.unpack(scope, node, expr)

    def numbers(self, node: Node, operands: Mapping[int, Operand], found: dict[int, Expr]) -> None:
        """Mark literals of numbers that may be arrays once the plan is loaded."""
        for k, number in as_arrays(node, operands).items() if self.device == "cpu" else ():
            if found[k].literal is not None:
                found[k] = dataclasses.replace(found[k], marks=((0, len(found[k].text), number),))

    def overwrites(self, scope: Scope, node: Node) -> bool:
        """Print `np.where(mask, c, x)` as a write into x, where nobody else has x: a fifth of the time."""
        if not picks_constant(node) or not self.fresh(scope, node.inputs[2]):
            return False
        found = self.consume(scope, dict(enumerate(node.inputs)), (0, 1, 2), named=[2])
        mask, value, x = found[0], found[1], found[2]
        mask_type, t = node.inputs[0].type, node.inputs[2].type
        assert isinstance(mask_type, ArrayType) and isinstance(t, ArrayType)
        if mask_type.scalar:
            self.emit(["if ", mask, ":"], node.span)
            self.nest([Line(0, f"{x.text}.fill({value.text})", node.span)])
        elif mask_type.shape == t.shape:
            self.emit([x, "[", mask, "] = ", value], node.span)
        else:
            self.emit(
                [f"{self.constants.module('numpy')}.copyto(", x, ", ", value, ", where=", mask, ")"],
                node.span,
            )
        scope.env[node.outputs[0]] = x
        return True

    def fresh(self, scope: Scope, x: Operand) -> bool:
        """Whether the operand is an array made before in this region, which the current node alone reads."""
        info = scope.info
        if not isinstance(x, Value) or info.counts.get(x) != 1 or info.last.get(x) != scope.position:
            return False
        before = reversed(scope.graph.nodes[: scope.position])
        maker = next((node for node in before if x in node.outputs), None)
        return maker is not None and makes_new(maker, self.flow.table)

    def crowded(self, scope: Scope, node: Node) -> list[int]:
        """Waiting operands that hold on to a large array while another operand makes one: they go first."""
        mine = [k for k, x in enumerate(node.inputs) if isinstance(x, Value) and x in scope.pending]
        spent = [k for k in mine if node.inputs[k] in self.spent]
        found = [k for k in spent if any(j != k and node.inputs[j] in self.heavy for j in mine)]
        if len(node.outputs) == 1 and _large(node.outputs[0]):
            (out,) = node.outputs
            if ufunc_of(node, self.flow.table) is None or any(node.inputs[k] in self.heavy for k in mine):
                self.heavy.add(out)
            if spent or any(self.ends(scope, x) for x in node.inputs):
                self.spent.add(out)
        return found

    @staticmethod
    def ends(scope: Scope, x: Operand) -> bool:
        """Whether the operand is a large array in a variable that nobody needs after the current node."""
        if not isinstance(x, Value) or x in scope.pending or x not in scope.env or x in scope.graph.params:
            return False
        return _large(x) and scope.info.last.get(x) == scope.position

    def guess_name(self, scope: Scope, node: Node) -> None:
        """Call an unnamed value as the user's line does, if that assigns one name and this node ends it."""
        if len(node.outputs) != 1 or node.span is None or scope.hint(node.outputs[0]):
            return
        later = scope.graph.nodes[scope.position + 1 : scope.position + 2]
        if not later or later[0].span is None or later[0].span.line != node.span.line:
            found = _ASSIGNMENT.match(node.span.text())
            if found is not None:
                scope.hints[node.outputs[0]] = found[1]

    def strays(self, scope: Scope, node: Node, k: int) -> bool:
        """Whether the operand needs a line of its own, because only lines tell where an error arose."""
        operand = node.inputs[k]
        if _COLUMNS_KNOWN or not isinstance(operand, Value) or operand not in scope.queue:
            return False
        marks = (what for _, _, what in scope.env[operand].marks if isinstance(what, Span))
        return any(place.line != (node.span.line if node.span else 0) for place in marks)

    def unpack(self, scope: Scope, node: Node, expr: Expr) -> None:
        """Print a node with several outputs as an assignment to several variables."""
        targets: list[str] = []
        for out in node.outputs:
            targets.append(self.names.local(scope.hint(out), scope.busy(after=True) | set(targets)))
        self.emit([f"{', '.join(targets)}{',' if len(targets) == 1 else ''} = ", expr], node.span)
        for out, name in zip(node.outputs, targets, strict=True):
            scope.env[out] = variable(name)

    def in_place(self, scope: Scope, node: Node, template: Template) -> None:
        """Print `x += v`: its output is the new value of its first operand.

        An array stays the same object, so all who know it may go on using the variable; any other value
        gets a variable of its own if the old one is still needed.
        """
        target = node.inputs[0]
        operands = operands_of(node)
        found = self.consume(scope, operands, template.order, named=[0])
        self.numbers(node, operands, found)
        expr = found[0]
        array = isinstance(target.type, ArrayType) and not target.type.scalar
        if expr.reads != {expr.text} or (not array and expr.text in scope.busy(after=True)):
            hint = scope.hint(node.outputs[0]) if node.outputs else ""
            other = found[1].reads if len(found) > 1 else frozenset()
            name = self.names.local(hint, scope.busy(after=True) | other)
            self.emit([f"{name} = ", expr], node.span)
            found[0] = expr = variable(name)
        self.emit([template.fill(found, node.span, True)], node.span)
        for out in node.outputs:
            scope.env[out] = expr


def _large(value: Value) -> bool:
    """Whether the value is known to be a large array."""
    t = value.type
    if not isinstance(t, ArrayType) or t.scalar or t.shape is None or None in t.shape:
        return False
    return math.prod(n or 0 for n in t.shape) * t.dtype.itemsize >= LARGE


def objects(node: Node, template: Template) -> Iterator[int]:
    """Operands that must be that very object (`x is c`), or whose literal Python would warn of (`1[x]`)."""
    for piece, following in zip(template.pieces, (*template.pieces[1:], ""), strict=True):
        if isinstance(piece, Slot):
            owner = piece.level == ATOM and isinstance(following, str) and following.startswith(("(", "["))
            if owner or node.op == "py.is":
                yield piece.index


def _with_subscript(node: Node, expr: Expr, found: Mapping[int, Expr]) -> Expr:
    """The tuple or slice with its short form between brackets."""
    items = [found[k] for k in range(len(found))]
    if node.op == "py.slice":
        short = slice_expression(items[0], items[1], items[2]).subscript
    elif not items or node.attr("starred"):
        return expr
    else:
        short = ", ".join(item.among_others for item in items) + ("," if len(items) == 1 else "")
    return Expr(expr.text, expr.level, expr.reads, expr.marks, expr.ordered, expr.span, short)


def _bare(expr: Expr) -> Expr:
    """A tuple display without its parentheses; an empty one has nothing but these."""
    if not expr.subscript or expr.text[1:-1] != expr.subscript or expr.text[:1] != "(":
        return expr
    marks = tuple((max(a - 1, 0), max(b - 1, 0), span) for a, b, span in expr.marks)
    return dataclasses.replace(expr, text=expr.subscript, marks=marks)
