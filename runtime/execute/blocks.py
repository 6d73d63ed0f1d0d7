"""Blocks of statements under construction: lines, variables in use, expressions that wait for their reader.

In: expressions in program order.  Out: lines.  What always holds:

* a value read once waits as an expression in `Scope.pending` and is written where it is read; among those
  whose evaluation can be observed (`Scope.queue`) the program's order is kept, at the price of a variable;
* a variable is reused only when no value that is still to be read lives in it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Union

from runtime.dataclass import dataclass
from runtime.errors import Span
from runtime.execute.constants import Constants
from runtime.execute.dataflow import Flow, Info
from runtime.execute.expression import Expr, Mark, compose, variable
from runtime.execute.names import PlanNames
from runtime.ir.graph import Const, Graph, Operand, Value

WIDTH = 88  # a statement longer than this gets its operands named first
Move = tuple[Union[str, None], Expr, int]  # target, expression, its rank in the queue or -1
WAITING = 64  # an expression longer than this doesn't wait: it gets a name


@dataclass(frozen=True)
class Line:
    """One line of the plan at a depth relative to its block."""

    depth: int
    text: str
    span: Span | None = None
    marks: tuple[Mark, ...] = ()


class Scope:
    """A region being printed.

    protected: variables that hold what is read after the region, or again in its next round.
    env: the expression that stands for each value that is still to be read.
    hints: names for values that have none.
    pending: values that wait as expressions; queue: those of them whose evaluation can be observed, in order.
    """

    def __init__(self, graph: Graph, info: Info, protected: frozenset[str]) -> None:
        self.graph, self.info, self.protected = graph, info, protected
        self.env: dict[Value, Expr] = {}
        self.pending: set[Value] = set()
        self.queue: list[Value] = []
        self.position = 0
        self.hints: dict[Value, str] = {}

    def hint(self, value: Value) -> str:
        """What to call the value: its own name, or that of the variable it will go to."""
        return value.name or self.hints.get(value, "")

    def busy(self, *, after: bool, without: Value | None = None) -> frozenset[str]:
        """Variables whose values are read from the current node on, or only after it."""
        names = set(self.protected)
        limit = self.position + 1 if after else self.position
        for value, expr in self.env.items():
            if value is not without and self.info.last.get(value, -1) >= limit:
                names |= expr.reads
        return frozenset(names)

    def take(self, value: Value) -> None:
        """The value's expression is written now, or it has a variable: it no longer waits."""
        self.pending.discard(value)
        if value in self.queue:
            self.queue.remove(value)

    def forget(self) -> None:
        """Drop what isn't read after the current node."""
        for value in [v for v in self.env if self.info.last.get(v, -1) <= self.position]:
            del self.env[value]


class Blocks:
    """The part of the printer that knows statements and variables, but no ops."""

    def __init__(self, flow: Flow, names: PlanNames, constants: Constants) -> None:
        self.flow, self.names, self.constants = flow, names, constants
        self.lines: list[Line] = []

    def emit(self, pieces: Iterable[str | Expr], span: Span | None = None) -> None:
        """Append a line made of the pieces."""
        line = compose(pieces)
        self.lines.append(Line(0, line.text, span, line.marks))

    @contextlib.contextmanager
    def writing(self, lines: list[Line]) -> Iterator[None]:
        """Append to these lines meanwhile."""
        outer, self.lines = self.lines, lines
        yield
        self.lines = outer

    def nest(self, block: Sequence[Line], span: Span | None = None) -> None:
        """Append a block one level deeper; an empty one is `pass`."""
        self.lines += [
            dataclasses.replace(line, depth=line.depth + 1) for line in block or [Line(0, "pass", span)]
        ]

    def expression(self, scope: Scope, operand: Operand) -> Expr:
        """What stands for the operand now."""
        return self.constants.expression(operand) if isinstance(operand, Const) else scope.env[operand]

    def wait(self, scope: Scope, value: Value, expr: Expr) -> None:
        """Let the expression wait for the one place that reads it."""
        scope.env[value] = expr
        scope.pending.add(value)
        if expr.ordered:
            scope.queue.append(value)

    def assign(self, scope: Scope, value: Value, expr: Expr) -> None:
        """Give the value, defined by the current node, a variable."""
        name = self.names.local(scope.hint(value), scope.busy(after=True))
        self.emit([f"{name} = ", expr], expr.span)
        scope.env[value] = variable(name)

    def flush(self, scope: Scope, values: Iterable[Value]) -> None:
        """Evaluate waiting expressions now, into variables."""
        for value in list(values):
            expr = scope.env[value]
            name = self.names.local(scope.hint(value), scope.busy(after=False, without=value))
            self.emit([f"{name} = ", expr], expr.span)
            scope.env[value] = variable(name)
            scope.take(value)

    def consume(
        self,
        scope: Scope,
        operands: Mapping[int, Operand],
        order: Sequence[int],
        *,
        named: Iterable[int] = (),
        now: bool = True,
        room: int = WIDTH,
    ) -> dict[int, Expr]:
        """The operands as expressions that may stand in one line, evaluated in `order`.

        named: operands that must be variables or constants.  now: the line is written now (else it will
        wait itself, as the last of the queue).  room: how long their text may be.
        """
        waiting = [x for k in order if isinstance(x := operands[k], Value) and x in scope.pending]
        must = {x for k in named if isinstance(x := operands[k], Value) and x in scope.pending}
        if sum(len(scope.env[x].text) for x in waiting) > room:
            must = set(waiting)
        ordered = [x for x in waiting if x in scope.queue and x not in must]
        inlined = self._tail(scope.queue, ordered)
        rest = scope.queue[: len(scope.queue) - inlined]
        if not now:
            taken = [k for k, x in enumerate(rest) if x in waiting]
            rest = rest[: taken[-1] + 1] if taken else []
        self.flush(scope, rest)
        self.flush(scope, [x for x in waiting if x in must and x in scope.pending])
        found = {k: self.expression(scope, operand) for k, operand in operands.items()}
        for value in waiting:
            scope.take(value)
        return found

    @staticmethod
    def _tail(queue: Sequence[Value], wanted: Sequence[Value]) -> int:
        """How many of the last of the queue are wanted in that very order."""
        for count in range(min(len(queue), len(wanted)), 0, -1):
            tail = list(queue[len(queue) - count :])
            if [x for x in wanted if x in tail] == tail:
                return count
        return 0

    def settle(self, scope: Scope, keep: Iterable[Operand] = ()) -> None:
        """Evaluate everything in the queue that is not among the last, wanted ones."""
        wanted = set(keep)
        others = [k for k, value in enumerate(scope.queue) if value not in wanted]
        if others:
            self.flush(scope, scope.queue[: others[-1] + 1])

    def move(self, scope: Scope, moves: Sequence[tuple[str | None, Operand]], span: Span | None) -> None:
        """Assign all at once: each expression is evaluated before any target it reads changes.

        A target of None: nobody needs the value, but its evaluation may be observed.
        """
        self.settle(scope, [operand for _, operand in moves])
        rank = {value: k for k, value in enumerate(scope.queue)}
        left: list[Move] = []
        for target, operand in moves:
            expr = self.expression(scope, operand)
            place = rank.get(operand, -1) if isinstance(operand, Value) else -1
            if expr.text != target and (target is not None or place >= 0):
                left.append((target, expr, place))
            if isinstance(operand, Value):
                scope.pending.discard(operand)
        scope.queue.clear()
        while left:
            chosen = self._movable(left)
            if chosen is None:
                cycle = self._cycle(left)
                self._together([left[k] for k in sorted(cycle)], span)
                left = [move for k, move in enumerate(left) if k not in cycle]
                continue
            target, expr, _ = left.pop(chosen)
            self.emit([expr] if target is None else [f"{target} = ", expr], expr.span or span)

    @staticmethod
    def _movable(left: Sequence[Move]) -> int | None:
        """The first assignment that disturbs no other."""
        first = min((place for _, _, place in left if place >= 0), default=-1)
        for k, (target, _, place) in enumerate(left):
            others = (expr for j, (_, expr, _) in enumerate(left) if j != k)
            if place in (-1, first) and not any(target in expr.reads for expr in others):
                return k
        return None

    @staticmethod
    def _cycle(left: Sequence[Move]) -> set[int]:
        """The fewest assignments that can be made together before all others."""
        ordered = [k for k, move in enumerate(left) if move[2] >= 0]
        chosen = {min(ordered, key=lambda k: left[k][2]) if ordered else 0}
        while True:
            targets = {left[k][0] for k in chosen}
            last = max(left[k][2] for k in chosen)
            more = {
                k
                for k, (_, expr, place) in enumerate(left)
                if any(target in expr.reads for target in targets) or 0 <= place < last
            }
            if more <= chosen:
                return chosen
            chosen |= more

    def _together(self, left: Sequence[Move], span: Span | None) -> None:
        """One tuple assignment, its expressions in the order of the program."""
        order = sorted(left, key=lambda item: item[2])
        pieces: list[str | Expr] = [", ".join(target or "_" for target, _, _ in order), " = "]
        for k, (_, expr, _) in enumerate(order):
            pieces += [", " if k else "", expr]
        self.emit(pieces, span)
