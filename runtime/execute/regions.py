"""Region ops as Python statements: `if`, conditional expressions, `while`, `for`.

In: a region node.  Out: lines.  What always holds: both arms of an `if` leave the results in the same
variables; the variables of a loop hold its carries whenever the test or the body begins, and after the loop.
"""

from __future__ import annotations

import abc
import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence

from runtime.dataclass import dataclass
from runtime.errors import GraphError, Span
from runtime.execute.blocks import Blocks, Line, Scope
from runtime.execute.breaks import flags_of, with_breaks
from runtime.execute.dataflow import Loop
from runtime.execute.expression import AND, CONDITIONAL, NOT, OR, Expr, compose, variable
from runtime.ir.effects import quiet_truth
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.types import ObjectType, TupleType, Type

_SHORT = 72


@dataclass
class Arm:
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

    def enter(
        self,
        graph: Graph,
        params: Iterable[tuple[Value, Expr]],
        protected: frozenset[str],
        targets: Sequence[str | None] = (),
    ) -> Arm:
        """Print the nodes of a region into a buffer of its own.

        targets: the variables that its results will go to.
        """
        inner = Scope(graph, self.flow.info(graph), protected)
        for result, target in zip(graph.results, targets, strict=False):
            if isinstance(result, Value) and target is not None:
                inner.hints.setdefault(result, target)
        inner.env = {param: expr for param, expr in params if inner.info.counts.get(param, 0)}
        arm = Arm(inner, [], graph.results, graph.diverges)
        with self.writing(arm.lines):
            self.nodes(inner)
            if graph.diverges:
                self.settle(inner)
        return arm

    def finish(self, arm: Arm, targets: Sequence[str | None], span: Span | None) -> list[Line]:
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
        targets = self._targets(scope, node, after)
        arms = [
            self.enter(region, known_pairs(zip(region.params, operands, strict=True)), after, targets)
            for region in node.regions
        ]
        short = not any(arm.lines or arm.diverges for arm in arms)
        if short and self.cond_expression(scope, node, pred, arms):
            return
        self.settle(scope)
        if shared is not None:
            read = frozenset(name for x in operands if x is not None for name in x.reads)
            pred = self.keep_tested(scope, node, pred, shared, arms, read)
        self.cond_statement(scope, node, pred, arms)

    def _operand(self, scope: Scope, operand: Operand) -> Expr | None:
        """What stands for an operand; None when nobody reads it."""
        if isinstance(operand, Value) and operand not in scope.env:
            return None
        return self.expression(scope, operand)

    def keep_tested(
        self,
        scope: Scope,
        node: Node,
        pred: Expr,
        shared: int,
        arms: Sequence[Arm],
        read: frozenset[str],
    ) -> Expr:
        """The tested value is a result as well and the other arm needs statements: give it a variable.

        read: the variables that the arms read; this one is assigned before they run.
        """
        if pred.reads == {pred.text}:
            return pred
        name = self.names.local(scope.hint(node.outputs[0]), scope.busy(after=True) | read)
        self.emit([f"{name} = ", pred], pred.span)
        for arm, region in zip(arms, node.regions, strict=True):
            if region.params[shared] in arm.scope.env:
                arm.scope.env[region.params[shared]] = variable(name)
        return variable(name)

    def cond_expression(self, scope: Scope, node: Node, pred: Expr, arms: Sequence[Arm]) -> bool:
        """Print as `a if p else b`, `p and a` or `p or b`, if that is short; whether it was."""
        if len(node.outputs) != 1:
            return False
        out = node.outputs[0]
        plain = not any(region.nodes for region in node.regions)
        true, false = (self.expression(arm.scope, arm.results[0]) for arm in arms)
        if (not plain and self._was_statement(scope, node)) or len(
            pred.text + true.text + false.text
        ) > _SHORT:
            return False
        if self._moves_nothing(scope, node, arms):
            return False
        which = self.flow.shortcut(node)
        whole = which is not None and _runs_code(node.inputs[0].type)
        ordered = pred.ordered or true.ordered or false.ordered or not quiet_truth(node.inputs[0].type)
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
        if scope.info.counts.get(out, 0) == 1 and out not in scope.info.nested and not whole:
            self.wait(scope, out, expr)
        elif scope.info.counts.get(out, 0):
            if expr.ordered:
                self.settle(scope)
            self.assign(scope, out, expr)
        elif expr.ordered:
            self.settle(scope)
            self.emit([expr], node.span)
        return True

    def _was_statement(self, scope: Scope, node: Node) -> bool:
        """Whether the user wrote an `if` statement."""
        if self.flow.shortcut(node) is not None:
            return False
        written = node.span.text().strip() if node.span is not None else ""
        return written.startswith(("if ", "elif ")) if written else bool(scope.hint(node.outputs[0]))

    def _moves_nothing(self, scope: Scope, node: Node, arms: Sequence[Arm]) -> bool:
        """Whether one arm just keeps the user's variable, so that an `if` without else says it better."""
        out = node.outputs[0]
        if not scope.hint(out) or self.flow.shortcut(node) is not None:
            return False
        name = self.names.local(scope.hint(out), scope.busy(after=True))
        return any(self.expression(arm.scope, arm.results[0]).text == name for arm in arms)

    def cond_statement(self, scope: Scope, node: Node, pred: Expr, arms: Sequence[Arm]) -> None:
        """Print as `if`/`else`."""
        targets = self._targets(scope, node, scope.busy(after=True))
        for out, target in zip(node.outputs, targets, strict=True):
            if target is not None:
                scope.env[out] = variable(target)
        true, false = (self.finish(arm, targets, node.span) for arm in arms)
        if not true and not false and not quiet_truth(node.inputs[0].type):
            self.emit(["if ", pred, ":"], node.span)
            self.nest([])
            return
        self.write_if(pred, arms, true, false, node.span)

    def _targets(
        self, scope: Scope, node: Node, busy: frozenset[str], ends: Sequence[Graph] = ()
    ) -> list[str | None]:
        """The variable of each output that is read; its name is the user's, or that of what an arm yields."""
        targets: list[str | None] = []
        taken = set(busy)
        for k, out in enumerate(node.outputs):
            if not scope.info.counts.get(out, 0):
                targets.append(None)
                continue
            yielded = (region.results[k].name for region in ends or node.regions if not region.diverges)
            name = self.names.local(scope.hint(out) or next(filter(None, yielded), ""), taken)
            targets.append(name)
            taken.add(name)
        return targets

    def write_if(
        self, pred: Expr, arms: Sequence[Arm], true: Sequence[Line], false: Sequence[Line], span: Span | None
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
            moved = tuple((start + 2, end + 2, what) for start, end, what in false[0].marks)
            self.lines += [dataclasses.replace(false[0], text=f"el{false[0].text}", marks=moved), *false[1:]]
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
        iterable = self._loop_iterable(scope, loop)
        names = self._carry_names(scope, loop, moved, held, iterable)
        state: list[Expr | None] = [fixed[k] if k in fixed else variable(names[k]) for k in range(loop.count)]
        start = len(self.lines)
        self.move(scope, [(names[k], loop.inits[k]) for k in moved], node.span)
        stop = len(self.lines)
        for k, out in enumerate(node.outputs):
            if scope.info.counts.get(out, 0):
                kept = state[k]
                assert kept is not None
                scope.env[out] = kept
        bindings = [*state, *captures]
        flags = {
            names[k]: scope.info.counts.get(node.outputs[k], 0) > 0
            for k in moved
            if isinstance(init := loop.inits[k], Const) and init.value is False
        }
        item = None if iterable is None else (iterable, self._item(loop, held | set(names.values())))
        gone = self.write_loop(loop, item, bindings, names, flags, frozenset(held))
        first = [
            line for line in self.lines[start:stop] if line.text not in {f"{flag} = False" for flag in gone}
        ]
        self.lines[start:stop] = first

    def _loop_iterable(self, scope: Scope, loop: Loop) -> Expr | None:
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
            hint = scope.hint(loop.node.outputs[k]) or loop.params[k].name or init.name
            taken = held | set(names.values())
            names[k] = self.names.local(hint, taken)
            reads = iterable.reads if iterable is not None else frozenset()
            if names[k] in reads and self.expression(scope, init).text != names[k]:
                names[k] = self.names.local(hint, taken | reads)
        return names

    def _item(self, loop: Loop, busy: set[str]) -> str:
        """The variable of a `for`."""
        assert loop.item is not None
        return (
            self.names.local(loop.item.name or "item", busy) if self.flow.used(loop.body, loop.item) else "_"
        )

    def write_loop(
        self,
        loop: Loop,
        item: tuple[Expr, str] | None,
        bindings: Sequence[Expr | None],
        names: dict[int, str],
        flags: dict[str, bool],
        held: frozenset[str],
    ) -> list[str]:
        """Write the statement; the flags that it doesn't need because it breaks instead."""
        span = loop.node.span
        lines: list[Line] = []
        test: Expr | None = None
        if loop.test is not None and not (loop.is_for and loop.body.diverges):
            lines, test = self._test(loop, bindings, held | set(names.values()))
        pairs = list(zip(loop.params, bindings, strict=True))
        if item is not None and loop.item is not None:
            pairs.insert(0, (loop.item, variable(item[1])))
        block = self._body(loop, pairs, names, held, span)
        gone: list[str] = []
        if test is not None and not lines:
            test, block, gone = _break_for(test, block, flags)
        exits: list[Line] = []
        if test is not None and test.text != "True":
            place = test.span or span
            exits = [Line(0, f"if {negated(test).text}:", place), Line(1, "break", place)]
        if item is not None:
            target, block = _unpacked(item[1], loop.item, block, [*lines, *exits])
            self.emit([f"for {target} in ", item[0], ":"], span)
            self.nest([*block, *lines, *exits])
        elif test is not None and not lines:
            self.emit(["while ", test, ":"], test.span or span)
            self.nest(block)
        else:
            self.emit(["while True:"], span)
            self.nest([*lines, *exits, *block])
        return [flag for flag in gone if not flags[flag]]

    def _test(
        self, loop: Loop, bindings: Sequence[Expr | None], held: frozenset[str]
    ) -> tuple[list[Line], Expr | None]:
        """The lines before the test and the test itself (None: it diverges)."""
        assert loop.test is not None
        arm = self.enter(loop.test, known_pairs(zip(loop.test.params, bindings, strict=True)), held)
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
        targets = [names.get(k) for k in range(loop.count)]
        arm = self.enter(loop.body, known_pairs(pairs), held, targets)
        if not arm.diverges:
            with self.writing(arm.lines):
                self.move(arm.scope, [(names[k], loop.body.results[k]) for k in names], span)
        return arm.lines


def _runs_code(t: Type) -> bool:
    """Whether asking for the truth may run a program's code.

    Python asks `a` once in `if a and b: ...` and twice in `x = a and b`, `if x: ...`: an `and` whose value
    is meant must not come to stand in a test."""
    return isinstance(t, ObjectType) and (t.cls is None or bool(t.cls.__flags__ & 1 << 9))


def known_pairs(pairs: Iterable[tuple[Value, Expr | None]]) -> list[tuple[Value, Expr]]:
    """The pairs that have an expression."""
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


def _unpacked(
    name: str, item: Value | None, block: list[Line], after: Sequence[Line]
) -> tuple[str, list[Line]]:
    """The target of a `for` and its body: a tuple that is only taken apart is taken apart by the target."""
    if item is None or not isinstance(item.type, TupleType) or item.type.cls is not tuple:
        return name, block
    parts: dict[int, str] = {}
    for line in block:
        found = re.fullmatch(rf"(\w+) = {re.escape(name)}\[(\d+)\]", line.text)
        if found is None or line.depth or found[1] in (name, *parts.values()) or int(found[2]) in parts:
            break
        parts[int(found[2])] = found[1]
    rest = block[len(parts) :]
    told = re.compile(rf"\b{re.escape(name)}\b")
    whole = len(parts) == len(item.type.items) > 0
    if not whole or any(told.search(line.text) for line in (*rest, *after)):
        return name, block
    names = [parts[k] for k in range(len(parts))]
    return ", ".join(names) + ("," if len(names) == 1 else ""), rest


def _break_for(
    test: Expr, block: list[Line], flags: Mapping[str, bool]
) -> tuple[Expr, list[Line], list[str]]:
    """The test and the body with `break` for the flags of the test, and which flags these are."""
    gone: list[str] = []
    asked, rest = flags_of(test.text)
    for flag in asked:
        changed = with_breaks(block, flag, flags[flag]) if flag in flags and flag not in rest else None
        if changed is None:
            rest = f"not {flag} and {rest}" if rest else f"not {flag}"
        else:
            block = changed
            gone.append(flag)
    if gone:
        test = dataclasses.replace(test, text=rest or "True", level=AND if " and " in rest else OR, marks=())
    return test, block, gone
