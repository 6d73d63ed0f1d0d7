"""Which names are still needed where: live names before and after each statement of a function.

In: a function whose control flow is structured (no `break`, `continue`; `return` only at the end of
what it ends), and the extra tests of its for-loops.  Out: a `Liveness` table keyed by statement.  No
control-flow graph: what a statement reads first (`gen`) and surely binds (`kill`) is found bottom-up,
what is live after it top-down, each in one walk.  The path that skips a loop is joined in, loop heads
are, and an inner function counts as reading what it captures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import gast

from autograph.analysis.flow import EVERYTHING, Index, events, local_names, neighbours
from autograph.analysis.scopes import Scope
from autograph.template import Keeping


class Flow(NamedTuple):
    """gen: names read before they are bound; kill: names bound on every way through; binds: on any."""

    gen: int
    kill: int
    binds: int


class Liveness:
    """The table: `after[statement]`, `head[loop]`, `arms[if]` are sets of names as bits of `index`.

    For a `try`, `arms` is what its parts need when they begin and `ends` what is live before its final
    part; for a `with` they are the same of its body."""

    def __init__(
        self,
        function: gast.FunctionDef,
        table: Mapping[gast.AST, Scope],
        loop_tests: Mapping[gast.AST, gast.AST],
        index: Index | None = None,
    ) -> None:
        self.index = index if index is not None else local_names(function)
        self.flow: dict[gast.AST, Flow] = {}
        self.after: dict[gast.AST, int] = {}
        self.head: dict[gast.AST, int] = {}
        self.arms: dict[gast.AST, int] = {}
        self.ends: dict[gast.AST, int] = {}
        self._scopes, self._loop_tests = table, loop_tests
        self._neighbours: dict[gast.AST | None, frozenset[str]] = {}
        total = self._suite_flow(function.body)
        self._suite_live(function.body, 0)
        self.entry = total.gen

    # Bottom-up: what each statement does.

    def _suite_flow(self, stmts: list[gast.AST]) -> Flow:
        self._neighbours.update(neighbours(stmts))
        return self._sequence([self._statement_flow(stmt) for stmt in stmts])

    def _sequence(self, flows: list[Flow]) -> Flow:
        gen = kill = binds = 0
        for flow in flows:
            gen |= flow.gen & ~kill
            kill |= flow.kill
            binds |= flow.binds
        return Flow(gen, kill, binds)

    def _statement_flow(self, stmt: gast.AST) -> Flow:
        if isinstance(stmt, gast.If):
            one, two = self._suite_flow(stmt.body), self._suite_flow(stmt.orelse)
            arms = Flow(one.gen | two.gen, one.kill & two.kill, one.binds | two.binds)
            flow = self._sequence([self.part(stmt.test), arms])
        elif isinstance(stmt, gast.While):
            test, body = self.part(stmt.test), self._suite_flow(stmt.body)
            trip = self._sequence([test, body])
            flow = Flow(trip.gen, test.kill, trip.binds)
        elif isinstance(stmt, gast.For):
            again = self.part(self._loop_tests.get(stmt))
            trip = self._sequence([self.part(stmt.target), self._suite_flow(stmt.body)])
            iterable = self.part(stmt.iter)
            flow = self._sequence([iterable, Flow(trip.gen | again.gen, 0, trip.binds)])
        elif isinstance(stmt, gast.Try):
            flow = self._try_flow(stmt)
        elif isinstance(stmt, gast.With):
            bound, body = self.part(stmt.items[0].optional_vars), self._suite_flow(stmt.body)
            inside = self._sequence([bound, body])
            flow = self._sequence([self.part(stmt.items[0].context_expr), inside])
            if not isinstance(stmt, Keeping):
                flow = Flow(flow.gen, flow.kill & ~inside.kill, flow.binds)
        else:
            flow = self.part(stmt)
            if isinstance(stmt, (gast.Raise, gast.Return)):
                flow = Flow(flow.gen, EVERYTHING, flow.binds)
        self.flow[stmt] = flow
        return flow

    def _try_flow(self, stmt: gast.AST) -> Flow:
        """An exception may come from anywhere in the body: nothing is surely bound in a handler."""
        main = self._sequence([self._suite_flow(stmt.body), self._suite_flow(stmt.orelse)])
        gen, kill, binds = main.gen, main.kill, main.binds
        for handler in stmt.handlers:
            start = [self.part(handler.type), self.part(handler.name)]
            flow = self.flow[handler] = self._sequence([*start, self._suite_flow(handler.body)])
            gen, kill, binds = gen | flow.gen, kill & flow.kill, binds | flow.binds
        final = self._suite_flow(stmt.finalbody)
        return Flow(gen | final.gen, kill | final.kill, binds | final.binds)

    def part(self, node: gast.AST | None) -> Flow:
        """The flow of an expression or simple statement."""
        gen = kill = binds = 0
        together = self._neighbours.get(node, ())
        for event in events(node, self._scopes):
            if event.kind == "capture" and event.name in together:
                continue
            bit = self.index.bit.get(event.name, 0)
            if event.kind in ("read", "capture", "delete"):
                gen |= bit & ~kill
            else:
                binds |= bit
                kill |= 0 if event.late else bit
        return Flow(gen, kill, binds)

    # Top-down: what is needed after each.

    def _suite_live(self, stmts: list[gast.AST], live: int) -> None:
        for stmt in reversed(stmts):
            self.after[stmt] = live
            flow = self.flow[stmt]
            if isinstance(stmt, gast.If):
                self.arms[stmt] = self.before(stmt.body, live) | self.before(stmt.orelse, live)
                self._suite_live(stmt.body, live)
                self._suite_live(stmt.orelse, live)
            elif isinstance(stmt, (gast.While, gast.For)):
                head = live | self._trip_gen(stmt)
                self.head[stmt] = head
                self._suite_live(stmt.body, head)
            elif isinstance(stmt, gast.Try):
                self._try_live(stmt, live)
            elif isinstance(stmt, gast.With):
                self.ends[stmt] = live
                bound = self.part(stmt.items[0].optional_vars).kill
                self.arms[stmt] = self.before(stmt.body, live) & ~bound
                self._suite_live(stmt.body, live)
            live = flow.gen | (live & ~flow.kill)

    def _try_live(self, stmt: gast.AST, live: int) -> None:
        end = self.ends[stmt] = self.before(stmt.finalbody, live)
        after = self.before(stmt.orelse, end)
        self.arms[stmt] = self.before(stmt.body, after)
        for handler in stmt.handlers:
            self.arms[stmt] |= self.into(handler, end)
            self._suite_live(handler.body, end)
        self._suite_live(stmt.finalbody, live)
        self._suite_live(stmt.orelse, end)
        self._suite_live(stmt.body, after)

    def into(self, handler: gast.AST, end: int) -> int:
        """What is live where a handler is asked, `end` at its end."""
        flow = self.flow[handler]
        return flow.gen | (end & ~flow.kill)

    def _trip_gen(self, stmt: gast.AST) -> int:
        body = self._known_suite(stmt.body)
        if isinstance(stmt, gast.While):
            return self._sequence([self.part(stmt.test), body]).gen
        trip = self._sequence([self.part(stmt.target), body])
        return trip.gen | self.part(self._loop_tests.get(stmt)).gen

    def _known_suite(self, stmts: list[gast.AST]) -> Flow:
        return self._sequence([self.flow[stmt] for stmt in stmts])

    def before(self, stmts: list[gast.AST], live: int) -> int:
        """What is live before a suite after which `live` is."""
        flow = self._known_suite(stmts)
        return flow.gen | (live & ~flow.kill)

    def binds(self, stmts: list[gast.AST]) -> int:
        """What a suite binds on any way through."""
        return self._known_suite(stmts).binds
