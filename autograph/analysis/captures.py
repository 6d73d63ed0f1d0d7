"""Which names inner functions share with the function around them, and so need a box.

In: a tree, its scopes, the inner functions that are known to be used up where they stand, and those of
them that stay as they are written.  Out:
the names of each scope that must be boxed: an inner function that may live on captures them, and they
are bound again after that or have no sure value yet.  A name that is bound before it is captured, and
never after, needs none: the plain closure of the generated code sees the same value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import gast

from autograph.analysis.flow import EVERYTHING, Index, events
from autograph.analysis.scopes import COMPREHENSIONS, Scope
from autograph.trees import children


class Captures:
    """`lazy(scope)`: names that a scope, or what it makes, may read later; `boxed(scope)`: its boxes."""

    def __init__(
        self,
        table: Mapping[gast.AST, Scope],
        immediate: Collection[gast.AST],
        closed: Collection[gast.AST] = (),
    ) -> None:
        self.table, self.immediate, self.closed = table, immediate, closed
        self._lazy: dict[gast.AST, frozenset[str]] = {}

    def lazy(self, scope: Scope) -> frozenset[str]:
        """The free names of the scope that may be read after the statement in which it stands."""
        node = scope.node
        if node not in self._lazy:
            at_once = node in self.immediate or (
                isinstance(node, COMPREHENSIONS) and not isinstance(node, gast.GeneratorExp)
            )
            self._lazy[node] = self.inner(scope) - scope.bound.keys() if at_once else scope.free
        return self._lazy[node]

    def inner(self, scope: Scope) -> frozenset[str]:
        """The names that functions made in the scope may read later."""
        return frozenset().union(*(self.lazy(child) for child in scope.children))

    def boxed(self, scope: Scope) -> set[str]:
        """The names of a function's own that must be boxed."""
        later = self.inner(scope).union(
            *(child.free for child in scope.children if child.node in self.closed)
        )
        names = [name for name in scope.bound if name in later]
        found = scope.deleted & scope.bound.keys()
        if names:
            walk = _Walk(self, Index(names))
            assigned = walk.index.bits(scope.params)
            body = scope.node.body
            walk.suite(body if isinstance(body, list) else [body], (assigned, 0))
            found.update(walk.index.listed(walk.boxed))
        return found


State = tuple[int, int]  # surely assigned, maybe captured


class _Walk:
    def __init__(self, captures: Captures, index: Index) -> None:
        self.captures, self.index = captures, index
        self.boxed = 0

    def suite(self, stmts: list[gast.AST], state: State) -> State:
        number = 0
        while number < len(stmts):
            group = number
            while group < len(stmts) and isinstance(stmts[group], gast.FunctionDef):
                group += 1
            if group > number:
                state = self.definitions(stmts[number:group], state)
                number = group
            else:
                state = self.statement(stmts[number], state)
                number += 1
        return state

    def definitions(self, stmts: list[gast.AST], state: State) -> State:
        """Neighbouring `def`s may refer to each other: all are bound before any is captured."""
        names = [stmt.name for stmt in stmts]
        if len(set(names)) < len(names):
            for stmt in stmts:
                state = self.part(stmt, state)
            return state
        assigned, captured = state
        for name in names:
            bit = self.index.bit.get(name, 0)
            self.boxed |= bit & captured
            assigned |= bit
        for stmt in stmts:
            for event in events(stmt, self.captures.table):
                if event.kind != "bind" or event.node is not stmt:
                    assigned, captured = self.event(event.kind, event.name, event.node, (assigned, captured))
        return assigned, captured

    def statement(self, stmt: gast.AST, state: State) -> State:
        if isinstance(stmt, gast.If):
            state = self.part(stmt.test, state)
            return join(self.suite(stmt.body, state), self.suite(stmt.orelse, state))
        if isinstance(stmt, (gast.While, gast.For)):
            return self.loop(stmt, state)
        if isinstance(stmt, gast.Try):
            return self.try_(stmt, state)
        if isinstance(stmt, gast.With):
            for item in stmt.items:
                state = self.part(item, state)
            return join(state, self.suite(stmt.body, state))
        state = self.part(stmt, state)
        if isinstance(stmt, (gast.Return, gast.Raise, gast.Break, gast.Continue)):
            return EVERYTHING, state[1]
        return state

    def try_(self, stmt: gast.AST, state: State) -> State:
        """Control may come to a handler, and to the final part, from anywhere before."""
        first = self.suite(stmt.body, state)
        end = self.suite(stmt.orelse, first)
        captured = end[1]
        for handler in stmt.handlers:
            start = self.part(handler.name, self.part(handler.type, (state[0], first[1])))
            end = join(end, self.suite(handler.body, start))
            captured |= end[1]
        last = self.suite(stmt.finalbody, (state[0], captured))
        return end[0] | last[0], last[1]

    def loop(self, loop: gast.AST, state: State) -> State:
        if isinstance(loop, gast.For):
            state = self.part(loop.iter, state)
        inside = (loop.target, *loop.body) if isinstance(loop, gast.For) else (loop.test, *loop.body)
        again = 0
        for part in inside:
            again |= self.captured_in(part)
        state = state[0], state[1] | again
        state = self.part(loop.test, state) if isinstance(loop, gast.While) else state
        start = self.part(loop.target, state) if isinstance(loop, gast.For) else state
        trip = self.suite(loop.body, start)
        return self.suite(loop.orelse, (state[0], state[1] | trip[1]))

    def captured_in(self, node: gast.AST) -> int:
        """What the functions made in a part of a loop's body may read later."""
        bits, todo = 0, [node]
        while todo:
            part = todo.pop()
            if part in self.captures.table:
                bits |= self.index.bits(self.captures.lazy(self.captures.table[part]))
            else:
                todo += children(part)
        return bits

    def part(self, node: gast.AST, state: State) -> State:
        for event in events(node, self.captures.table):
            state = self.event(event.kind, event.name, event.node, state)
        return state

    def event(self, kind: str, name: str, node: gast.AST, state: State) -> State:
        assigned, captured = state
        bit = self.index.bit.get(name, 0)
        if kind == "bind":
            self.boxed |= bit & captured
            return assigned | bit, captured
        if kind == "capture" and name in self.captures.lazy(self.captures.table[node]):
            self.boxed |= bit & ~assigned
            return assigned, captured | bit
        if kind == "capture" and node in self.captures.closed:
            self.boxed |= bit & ~assigned
        return assigned, captured


def join(one: State, two: State) -> State:
    """What holds where two paths meet."""
    return one[0] & two[0], one[1] | two[1]
