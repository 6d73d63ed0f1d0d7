"""`try` and `with` as Python statements.

In: a region node.  Out: lines.  What always holds: nothing that stands before the statement is evaluated
inside it; a variable that a handler, the `else` or the `finally` part reads is not assigned in a part before
it while anything may still be raised there; each part that ends the statement leaves the results in the same
variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime.errors import Span
from runtime.execute.blocks import Line, Scope
from runtime.execute.expression import Expr, variable
from runtime.execute.regions import Arm, Regions, known_pairs
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.parts import Try, With


class Guarded(Regions):
    """Prints `try` and `with` besides what `Regions` prints."""

    def region_node(self, scope: Scope, node: Node) -> None:
        """Print one region node."""
        if node.op == "try":
            self.try_(scope, node)
        elif node.op == "with":
            self.with_(scope, node)
        else:
            super().region_node(scope, node)

    # try

    def try_(self, scope: Scope, node: Node) -> None:
        """Print a `try`; parts without lines are left out."""
        parts = Try(node)
        self.settle(scope)
        captures = [self._operand(scope, x) for x in parts.captures]
        after = scope.busy(after=True)
        reads = {region: self._reads(parts, region, captures) for region in node.regions}
        final = reads[parts.final] if parts.final is not None else frozenset()
        later = frozenset().union(final, *(reads[region] for region in node.regions[1:]))
        targets = self._targets(scope, node, after | final, parts.ends)
        held = after | later
        body = self._part(parts, parts.body, captures, held, targets, node.span)
        handlers = [
            self._handler(parts, k, captures, after | final, targets, node.span)
            for k in range(len(parts.handlers))
        ]
        orelse: list[Line] = []
        if parts.orelse is not None:
            orelse = self._part(parts, parts.orelse, captures, after | final, targets, node.span)
        last: list[Line] = []
        if parts.final is not None:
            held = after | frozenset(target for target in targets if target is not None)
            last = self._part(parts, parts.final, captures, held, targets, node.span)
        self._define(scope, node, targets)
        if not body:  # nothing can be raised in it
            handlers, body, orelse = [], orelse, []
        self._write_try(body, handlers, orelse, last, node.span)

    def _reads(self, parts: Try, region: Graph, captures: Sequence[Expr | None]) -> frozenset[str]:
        """The variables that a part reads."""
        params = parts.capture_params(region)
        used = [e.reads for p, e in zip(params, captures, strict=True) if e and self.flow.used(region, p)]
        return frozenset().union(*used)

    def _part(
        self,
        parts: Try,
        region: Graph,
        captures: Sequence[Expr | None],
        held: frozenset[str],
        targets: Sequence[str | None],
        span: Span | None,
        own: Iterable[tuple[Value, Expr]] = (),
    ) -> list[Line]:
        """The lines of one part, with the results assigned where the statement ends with it."""
        results = targets if region in parts.ends else ()
        pairs = zip(parts.capture_params(region), captures, strict=True)
        arm = self.enter(region, [*own, *known_pairs(pairs)], held, results)
        if region is parts.body and results:
            self._raise_first(arm, results, span)
        return self.finish(arm, results, span)

    def _handler(
        self,
        parts: Try,
        k: int,
        captures: Sequence[Expr | None],
        held: frozenset[str],
        targets: Sequence[str | None],
        span: Span | None,
    ) -> tuple[list[str | Expr], list[Line]]:
        """The head and the lines of a handler.

        Python deletes the variable of the exception at the end, so it is none that is read later."""
        region, caught = parts.handlers[k], parts.classes[k]
        assert isinstance(caught, Const)
        param = region.params[0]
        everything = caught.value is None
        if not self.flow.used(region, param):
            head: list[str | Expr] = ["except"]
            if not everything:
                head += [" ", self.constants.expression(caught)]
            return [*head, ":"], self._part(parts, region, captures, held, targets, span)
        taken = held | self._reads(parts, region, captures) | {t for t in targets if t is not None}
        name = self.names.local(param.name or "error", taken)
        own = [(param, variable(name))]
        lines = self._part(parts, region, captures, held, targets, span, own)
        classes: str | Expr = "BaseException" if everything else self.constants.expression(caught)
        return ["except ", classes, f" as {name}:"], lines

    def _write_try(
        self,
        body: list[Line],
        handlers: Sequence[tuple[list[str | Expr], list[Line]]],
        orelse: list[Line],
        last: list[Line],
        span: Span | None,
    ) -> None:
        if not handlers and not last:
            self.lines += [*body, *orelse]
            return
        if not handlers:
            body, orelse = [*body, *orelse], []
        self.emit(["try:"], span)
        self.nest(body, span)
        for head, lines in handlers:
            self.emit(head)
            self.nest(lines)
        if orelse:
            self.emit(["else:"])
            self.nest(orelse)
        if last:
            self.emit(["finally:"])
            self.nest(last)

    def _define(self, scope: Scope, node: Node, targets: Sequence[str | None]) -> None:
        for out, target in zip(node.outputs, targets, strict=True):
            if target is not None:
                scope.env[out] = variable(target)

    # with

    def with_(self, scope: Scope, node: Node) -> None:
        """Print a `with`; what it yields after a swallowed exception is assigned before it."""
        parts = With(node)
        self.settle(scope, [parts.manager])
        manager = self._manager(scope, parts.manager)
        captures = [self._operand(scope, x) for x in parts.captures]
        pairs = known_pairs(zip(parts.params, captures, strict=True))
        reads = frozenset().union(*(e.reads for p, e in pairs if self.flow.used(parts.body, p)))
        held = scope.busy(after=True)
        busy = held | manager.reads | reads if parts.swallows else held
        targets = self._targets(scope, node, busy, node.regions)
        for k, operand in enumerate(parts.instead):
            before = self._operand(scope, operand)
            kept = targets[k] is not None and before is not None and before.reads == {before.text}
            if kept and before is not None and before.text not in {*held, *targets}:
                targets[k] = before.text
        self.move(scope, list(zip(targets, parts.instead, strict=False)), node.span)
        if parts.swallows:
            held |= {target for target in targets if target is not None}
        head: list[str | Expr] = ["with ", manager]
        own: list[tuple[Value, Expr]] = []
        if self.flow.used(parts.body, parts.entered):
            name = self.names.local(parts.entered.name or "entered", held | reads)
            own = [(parts.entered, variable(name))]
            head.append(f" as {name}")
        arm = self.enter(parts.body, [*own, *pairs], held, targets)
        if parts.swallows:
            self._raise_first(arm, targets, node.span)
        lines = self.finish(arm, targets, node.span)
        self._define(scope, node, targets)
        self.emit([*head, ":"], node.span)
        self.nest(lines, node.span)

    def _raise_first(self, arm: Arm, targets: Sequence[str | None], span: Span | None) -> None:
        """Do what may raise before a target is assigned: after an exception all hold what they held."""
        if arm.diverges:
            return
        with self.writing(arm.lines):
            self.settle(arm.scope, arm.results)
            self.flush(arm.scope, arm.scope.queue[:-1])
            last = list(arm.scope.queue)
            first = [(t, x) for t, x in zip(targets, arm.results, strict=True) if x in last]
            taken = {target for target, _ in first}
            others = [self.expression(arm.scope, x) for x in arm.results if x not in last]
            if len(first) != 1 or any(taken & expr.reads for expr in others):
                self.flush(arm.scope, last)
                return
            self.move(arm.scope, first, span)
            [(target, result)] = first
            if target is not None and isinstance(result, Value):
                arm.scope.env[result] = variable(target)

    def _manager(self, scope: Scope, operand: Operand) -> Expr:
        """The manager's expression, which is evaluated in the statement's head."""
        if isinstance(operand, Value) and operand in scope.pending:
            scope.take(operand)
        return self.expression(scope, operand)
