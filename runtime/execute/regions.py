"""Region ops as Python statements: `if`, conditional expressions, `while`, `for`.

In: a region node.  Out: lines.  What always holds: both arms of an `if` leave the results in the same
variables; the variables of a loop hold its carries whenever the test or the body begins, and after the loop.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Sequence

from runtime.errors import GraphError, Span
from runtime.execute.blocks import Blocks, Line, Scope
from runtime.execute.dataflow import Loop
from runtime.execute.expression import AND, CONDITIONAL, NOT, OR, Expr, compose, variable
from runtime.ir.graph import Graph, Node, Operand, Value

_SHORT = 72


@dataclasses.dataclass
class _Arm:
    """A printed arm: its scope, its lines so far, its results still to be read."""

    scope: Scope
    lines: list[Line]
    results: tuple[Operand, ...]
    diverges: bool


class Regions(Blocks, abc.ABC):
    """Prints nodes that have regions."""

    @abc.abstractmethod
    def nodes(self, scope: Scope) -> None:
        """Print the nodes of a region."""

    def region_node(self, scope: Scope, node: Node) -> None:
        """Print one region node."""
        if node.op == "cond":
            self.cond(scope, node)
        elif node.op in ("while", "for"):
            self.loop(scope, node)
        else:
            raise GraphError(f"no plan is known for the region op {node.op!r}", span=node.span)

    def enter(self, graph: Graph, params: Iterable[tuple[Value, Expr]], protected: frozenset[str]) -> _Arm:
        """Print the nodes of a region into a buffer of its own."""
        inner = Scope(graph, self.flow.info(graph), protected)
        inner.env = {param: expr for param, expr in params if inner.info.counts.get(param, 0)}
        arm = _Arm(inner, [], graph.results, graph.diverges)
        with self.writing(arm.lines):
            self.nodes(inner)
            if graph.diverges:
                self.settle(inner)
        return arm

    def finish(self, arm: _Arm, targets: Sequence[str | None], span: Span | None) -> list[Line]:
        """The lines of an arm, with its results assigned."""
        if arm.diverges:
            return arm.lines
        with self.writing(arm.lines):
            self.move(arm.scope, list(zip(targets, arm.results, strict=True)), span)
        return arm.lines

    # cond

    def cond(self, scope: Scope, node: Node) -> None:
        """Print a cond as a statement, or as an expression where both arms are short ones."""
        picks = len(node.outputs) == 1 and not any(region.nodes for region in node.regions)
        pred = self.consume(scope, {0: node.inputs[0]}, [0], now=not picks)[0]
        shared = self.flow.shared_operand(node)
        after = scope.busy(after=True)
        operands = [self._operand(scope, x) for x in node.inputs[1:]]
        arms = [
            self.enter(region, _known(zip(region.params, operands, strict=True)), after)
            for region in node.regions
        ]
        if not any(arm.lines or arm.diverges for arm in arms) and self.cond_expression(
            scope, node, pred, arms
        ):
            return
        if shared is not None:
            pred = self.keep_tested(scope, node, pred, shared, arms, after)
        self.cond_statement(scope, node, pred, arms, after)

    def _operand(self, scope: Scope, operand: Operand) -> Expr | None:
        """What stands for an operand; None when nobody reads it."""
        if isinstance(operand, Value) and operand not in scope.env:
            return None
        return self.expression(scope, operand)

    def keep_tested(
        self, scope: Scope, node: Node, pred: Expr, shared: int, arms: Sequence[_Arm], after: frozenset[str]
    ) -> Expr:
        """The tested value is a result as well and the other arm needs statements: give it a variable."""
        if pred.reads == {pred.text}:
            return pred
        name = self.names.local(node.outputs[0].name, after)
        self.emit([f"{name} = ", pred], pred.span)
        for arm, region in zip(arms, node.regions, strict=True):
            if region.params[shared] in arm.scope.env:
                arm.scope.env[region.params[shared]] = variable(name)
        return variable(name)

    def cond_expression(self, scope: Scope, node: Node, pred: Expr, arms: Sequence[_Arm]) -> bool:
        """Print as `a if p else b`, `p and a` or `p or b`, if that is short; whether it was."""
        if len(node.outputs) != 1:
            return False
        out = node.outputs[0]
        plain = not any(region.nodes for region in node.regions)
        true, false = (self.expression(arm.scope, arm.results[0]) for arm in arms)
        if (out.name and not plain) or len(pred.text + true.text + false.text) > _SHORT:
            return False
        if self._moves_nothing(scope, node, arms):
            return False
        which = self.flow.shortcut(node)
        ordered = pred.ordered or true.ordered or false.ordered
        if which == "and":
            expr = compose([pred.at_least(AND), " and ", true.at_least(AND)], AND, None, ordered)
        elif which == "or":
            expr = compose([pred.at_least(OR), " or ", false.at_least(OR)], OR, None, ordered)
        else:
            pieces: list[str | Expr] = [
                true.at_least(OR),
                " if ",
                pred.at_least(OR),
                " else ",
                false.at_least(CONDITIONAL),
            ]
            expr = compose(pieces, CONDITIONAL, None, ordered)
        expr = dataclasses.replace(expr, span=node.span)
        if scope.info.counts.get(out, 0) == 1 and out not in scope.info.nested:
            self.wait(scope, out, expr)
        elif scope.info.counts.get(out, 0):
            if expr.ordered:
                self.settle(scope)
            self.assign(scope, out, expr)
        elif expr.ordered:
            self.settle(scope)
            self.emit([expr], node.span)
        return True

    def _moves_nothing(self, scope: Scope, node: Node, arms: Sequence[_Arm]) -> bool:
        """Whether one arm just keeps the user's variable, so that an `if` without else says it better."""
        out = node.outputs[0]
        if not out.name or self.flow.shortcut(node) is not None:
            return False
        name = self.names.local(out.name, scope.busy(after=True))
        return any(self.expression(arm.scope, arm.results[0]).text == name for arm in arms)

    def cond_statement(
        self, scope: Scope, node: Node, pred: Expr, arms: Sequence[_Arm], after: frozenset[str]
    ) -> None:
        """Print as `if`/`else`."""
        self.settle(scope)
        targets: list[str | None] = []
        taken = set(after)
        for k, out in enumerate(node.outputs):
            if not scope.info.counts.get(out, 0):
                targets.append(None)
                continue
            name = self.names.local(out.name or self._result_name(arms, k), taken)
            targets.append(name)
            taken.add(name)
            scope.env[out] = variable(name)
        true, false = (self.finish(arm, targets, node.span) for arm in arms)
        self.write_if(pred, arms, true, false, node.span)

    def _result_name(self, arms: Sequence[_Arm], k: int) -> str:
        """A name for result `k` of arms, from what they yield."""
        for arm in arms:
            if not arm.diverges and arm.results[k].name:
                return arm.results[k].name
        return ""

    def write_if(
        self, pred: Expr, arms: Sequence[_Arm], true: Sequence[Line], false: Sequence[Line], span: Span | None
    ) -> None:
        """Write the statement with as few branches as needed."""
        if not true and not false:
            if pred.ordered:
                self.emit([pred], span)
            return
        if not true:
            self.emit(["if ", negated(pred), ":"], span)
            self.nest(false)
            return
        if arms[1].diverges and not arms[0].diverges and false:
            self.emit(["if ", negated(pred), ":"], span)
            self.nest(false)
            self.lines += true
            return
        self.emit(["if ", pred, ":"], span)
        self.nest(true)
        if not false:
            return
        if arms[0].diverges:
            self.lines += false
        elif is_if(false):
            self.lines += [dataclasses.replace(false[0], text=f"el{false[0].text}"), *false[1:]]
        else:
            self.emit(["else:"])
            self.nest(false)

    # loops

    def loop(self, scope: Scope, node: Node) -> None:
        """Print a `while` or a `for`."""
        loop = Loop(node)
        moved = [k for k in range(loop.count) if not loop.kept(k)]
        self.settle(
            scope, [*([] if loop.iterable is None else [loop.iterable]), *(loop.inits[k] for k in moved)]
        )
        fixed = {k: self._operand(scope, loop.inits[k]) for k in range(loop.count) if loop.kept(k)}
        captures = [self._operand(scope, x) for x in loop.captures]
        held = set(scope.busy(after=True))
        for expr in [*captures, *fixed.values()]:
            held |= expr.reads if expr is not None else set()
        iterable = self._loop_iterable(scope, loop, moved)
        names = self._carry_names(scope, loop, moved, held, iterable)
        state: list[Expr | None] = [fixed[k] if k in fixed else variable(names[k]) for k in range(loop.count)]
        self.move(scope, [(names[k], loop.inits[k]) for k in moved], node.span)
        for k, out in enumerate(node.outputs):
            if scope.info.counts.get(out, 0):
                kept = state[k]
                assert kept is not None
                scope.env[out] = kept
        bindings = [*state, *captures]
        if loop.is_for:
            assert iterable is not None
            self.write_for(node, loop, iterable, bindings, names, frozenset(held))
        else:
            self.write_while(node, loop, bindings, names, frozenset(held))

    def _loop_iterable(self, scope: Scope, loop: Loop, moved: Sequence[int]) -> Expr | None:
        """What a `for` goes over; evaluated after the carries have their first values."""
        if loop.iterable is None:
            return None
        operand = loop.iterable
        if isinstance(operand, Value) and operand in scope.pending:
            if operand in scope.queue and scope.queue[-1] is not operand:
                self.flush(scope, scope.queue[: scope.queue.index(operand) + 1])
            scope.take(operand)
        return self.expression(scope, operand)

    def _carry_names(
        self, scope: Scope, loop: Loop, moved: Sequence[int], held: set[str], iterable: Expr | None
    ) -> dict[int, str]:
        """The variable of each carry: nothing that is read later, nor by the iterable, unless it is there."""
        names: dict[int, str] = {}
        for k in moved:
            init = loop.inits[k]
            hint = loop.node.outputs[k].name or loop.params[k].name or init.name
            taken = held | set(names.values())
            names[k] = self.names.local(hint, taken)
            reads = iterable.reads if iterable is not None else frozenset()
            if names[k] in reads and self.expression(scope, init).text != names[k]:
                names[k] = self.names.local(hint, taken | reads)
        return names

    def write_while(
        self,
        node: Node,
        loop: Loop,
        bindings: Sequence[Expr | None],
        names: dict[int, str],
        held: frozenset[str],
    ) -> None:
        """Write the test and the body of a `while`."""
        assert loop.test is not None
        lines, test = self._test(loop, bindings, held | set(names.values()))
        block = self._body(loop, zip(loop.params, bindings, strict=True), names, held, node.span)
        if test is None or lines:
            self.emit(["while True:"], node.span)
            self.nest(lines)
            if test is not None:
                self.nest([Line(0, f"if {negated(test).text}:", test.span or node.span), Line(1, "break")])
            if block:
                self.nest(block)
        else:
            self.emit(["while ", test, ":"], test.span or node.span)
            self.nest(block)

    def write_for(
        self,
        node: Node,
        loop: Loop,
        iterable: Expr,
        bindings: Sequence[Expr | None],
        names: dict[int, str],
        held: frozenset[str],
    ) -> None:
        """Write the body of a `for`, and its test after it."""
        assert loop.item is not None
        item = "_"
        if self.flow.used(loop.body, loop.item):
            item = self.names.local(loop.item.name or "item", held | set(names.values()))
        pairs = [(loop.item, variable(item)), *zip(loop.params, bindings, strict=True)]
        block = self._body(loop, pairs, names, held, node.span)
        self.emit([f"for {item} in ", iterable, ":"], node.span)
        if loop.test is None or loop.body.diverges:
            self.nest(block)
            return
        lines, test = self._test(loop, bindings, held | set(names.values()))
        tail: list[Line] = []
        if test is not None and test.text != "True":
            tail = [Line(0, f"if {negated(test).text}:", test.span or node.span), Line(1, "break")]
        self.nest([*block, *lines, *tail])

    def _test(
        self, loop: Loop, bindings: Sequence[Expr | None], held: frozenset[str]
    ) -> tuple[list[Line], Expr | None]:
        """The lines before the test and the test itself (None: it diverges)."""
        assert loop.test is not None
        arm = self.enter(loop.test, _known(zip(loop.test.params, bindings, strict=True)), held)
        if arm.diverges:
            return arm.lines, None
        with self.writing(arm.lines):
            expr = self.consume(arm.scope, {0: arm.results[0]}, [0])[0]
        return arm.lines, expr

    def _body(
        self,
        loop: Loop,
        pairs: Iterable[tuple[Value, Expr | None]],
        names: dict[int, str],
        held: frozenset[str],
        span: Span | None,
    ) -> list[Line]:
        """The lines of a loop body, carries assigned."""
        arm = self.enter(loop.body, _known(pairs), held)
        if not arm.diverges:
            with self.writing(arm.lines):
                self.move(arm.scope, [(names[k], loop.body.results[k]) for k in names], span)
        return arm.lines


def _known(pairs: Iterable[tuple[Value, Expr | None]]) -> list[tuple[Value, Expr]]:
    return [(param, expr) for param, expr in pairs if expr is not None]


def is_if(lines: Sequence[Line]) -> bool:
    """Whether the lines are one `if` statement."""
    return lines[0].text.startswith("if ") and all(
        line.depth > 0 or line.text.startswith(("elif ", "else:")) for line in lines[1:]
    )


def negated(expr: Expr) -> Expr:
    """`not expr`, or what `expr` negates."""
    if expr.level == NOT and expr.text.startswith("not "):
        marks = tuple((max(a - 4, 0), max(b - 4, 0), span) for a, b, span in expr.marks)
        return dataclasses.replace(expr, text=expr.text[4:], marks=marks)
    return compose(["not ", expr.at_least(NOT + 1)], NOT, None, expr.ordered)
