"""Which reads surely find a value: definite assignment by structured recursion.

In: a function (jumps allowed: control never comes past one).  Out: `unsure`, the reads of local names
that some path reaches without a value, and `captures`, the inner functions with what was surely
assigned when each was made.  A loop may run no trip, so what only its body binds is not sure after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import gast

from autograph.analysis.flow import EVERYTHING, Index, events, neighbours
from autograph.analysis.scopes import Scope, inner_parts, outer_parts, parameter_nodes
from autograph.template import Keeping
from autograph.trees import children


class Assigned:
    """The tables for one function; names are those of `index`."""

    def __init__(
        self,
        function: gast.FunctionDef,
        table: Mapping[gast.AST, Scope],
        index: Index,
        loop_tests: Mapping[gast.AST, gast.AST],
    ) -> None:
        self.index = index
        self.unsure: set[gast.AST] = set()
        self._scopes, self._loop_tests = table, loop_tests
        self._neighbours: dict[gast.AST | None, frozenset[str]] = {}
        self._suite(function.body, index.bits(param.id for param in parameter_nodes(function.args)))

    def _suite(self, stmts: list[gast.AST], state: int) -> int:
        self._neighbours.update(neighbours(stmts))
        for stmt in stmts:
            state = self._statement(stmt, state)
        return state

    def _statement(self, stmt: gast.AST, state: int) -> int:
        if isinstance(stmt, gast.If):
            state = self._part(stmt.test, state)
            return self._suite(stmt.body, state) & self._suite(stmt.orelse, state)
        if isinstance(stmt, gast.While):
            state = self._part(stmt.test, state)
            self._suite(stmt.body, state)
            return self._suite(stmt.orelse, state)
        if isinstance(stmt, gast.For):
            state = self._part(stmt.iter, state)
            self._part(self._loop_tests.get(stmt), self._suite(stmt.body, self._part(stmt.target, state)))
            return self._suite(stmt.orelse, state)
        if isinstance(stmt, gast.Try):
            return self._try(stmt, state)
        if isinstance(stmt, gast.With):
            state = self._part(stmt.items[0].context_expr, state)
            end = self._suite(stmt.body, self._part(stmt.items[0].optional_vars, state))
            return end if isinstance(stmt, Keeping) else state & end
        state = self._part(stmt, state)
        if isinstance(stmt, (gast.Return, gast.Raise, gast.Break, gast.Continue)):
            return EVERYTHING
        return state

    def _try(self, stmt: gast.AST, state: int) -> int:
        """What is bound in the body may be bound in a handler, or in the final part, or not."""
        end = self._suite(stmt.orelse, self._suite(stmt.body, state))
        for handler in stmt.handlers:
            start = self._part(handler.name, self._part(handler.type, state))
            end &= self._suite(handler.body, start)
        return end | self._suite(stmt.finalbody, state)

    def _part(self, node: gast.AST | None, state: int) -> int:
        together = self._neighbours.get(node, ())
        for event in events(node, self._scopes):
            if event.kind == "capture" and event.name in together:
                continue
            bit = self.index.bit.get(event.name, 0)
            if event.kind == "bind":
                state |= 0 if event.late else bit
            elif event.kind == "delete":
                state &= ~bit
            elif bit and not state & bit and event.kind == "read":
                self.unsure.add(event.node)  # and later reads, too: a trace takes the value from the asking
            elif bit and not state & bit:
                self.unsure.update(inner_reads(event.node, event.name, self._scopes))
        return state


def inner_reads(node: gast.AST, name: str, table: Mapping[gast.AST, Scope]) -> Iterator[gast.AST]:
    """The reads inside a function-like node of a name that belongs to the function around it."""
    todo = inner_parts(node)
    while todo:
        part = todo.pop()
        if isinstance(part, gast.Name) and part.id == name:
            yield part
        elif part in table:
            todo += outer_parts(part)
            todo += [] if name in table[part].bound else inner_parts(part)
        else:
            todo += children(part)
