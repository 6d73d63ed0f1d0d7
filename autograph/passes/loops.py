"""Loops become `ag.while_loop` and `ag.for_loop`: small functions over the carry and one call.

In: structured code, the extra tests of for-loops in `work.loop_tests`.  Out: code without loops.  The
carry holds the names that the loop binds and that the next trip or the code after it may read; all
other names that the body binds are its own.
"""

from __future__ import annotations

import gast

from autograph.analysis.liveness import Liveness
from autograph.analysis.scopes import scopes
from autograph.passes.branches import closed, is_idle
from autograph.passes.context import Work
from autograph.passes.unpacking import item_shape, unpack
from autograph.passes.walk import functions, statements, suites
from autograph.template import assign, expression, function, lambda_, load, locate, targets, tuple_of


def loops(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite every loop of the tree."""
    table = scopes(root)
    for inner in list(functions(root)):
        if any(isinstance(stmt, (gast.While, gast.For)) for stmt in statements(inner.body)):
            inner.body = _Loops(work, Liveness(inner, table, work.loop_tests)).suite(inner.body)
    return root


class _Loops:
    def __init__(self, work: Work, live: Liveness) -> None:
        self.work, self.live = work, live

    def suite(self, stmts: list[gast.AST]) -> list[gast.AST]:
        done: list[gast.AST] = []
        for stmt in stmts:
            if isinstance(stmt, gast.While):
                done += locate(self.while_(stmt), stmt)
            elif isinstance(stmt, gast.For):
                done += locate(self.for_(stmt), stmt)
            else:
                if not isinstance(stmt, gast.FunctionDef):
                    for node, field in suites(stmt):
                        setattr(node, field, self.suite(getattr(node, field)))
                done.append(stmt)
        return done

    def carry(self, stmt: gast.AST) -> list[str]:
        return self.live.index.listed(self.live.flow[stmt].binds & self.live.head[stmt])

    def while_(self, stmt: gast.While) -> list[gast.AST]:
        carry = self.carry(stmt)
        test, body = self.work.nested("loop_test"), self.work.nested("loop_body")
        stmts = [part for part in self.suite(stmt.body) if not is_idle(part)]
        self.work.leave(2)
        self.work.tests.add(stmt.test)
        asking = locate(gast.Return(value=stmt.test), stmt.test)
        call = self.work.ag("while_loop", load(test), load(body), tuple_of(load(name) for name in carry))
        return [
            locate(function(test, carry, [asking]), stmt.test),
            function(body, carry, closed(stmts, carry) if stmts else returning(carry)),
            *taking(carry, call),
        ]

    def for_(self, stmt: gast.For) -> list[gast.AST]:
        carry = self.carry(stmt)
        body = self.work.nested("loop_body")
        item, start = self.target(stmt, carry)
        stmts = [part for part in (*start, *self.suite(stmt.body)) if not is_idle(part)]
        self.work.leave(2)
        again = self.work.loop_tests.get(stmt)
        call = self.work.ag("for_loop", stmt.iter, load(body))
        if carry:
            call.args.append(tuple_of(load(name) for name in carry))
        if again is not None:
            call.keywords.append(gast.keyword(arg="test_fn", value=lambda_(carry, again)))
        made = function(body, [item, *carry], closed(stmts, carry) if stmts else returning(carry))
        return [made, *taking(carry, call)]

    def target(self, stmt: gast.For, carry: list[str]) -> tuple[str, list[gast.AST]]:
        """The parameter that takes the item, and what assigns the loop's target from it."""
        target = stmt.target
        if isinstance(target, gast.Name) and target.id not in carry:
            self.work.in_use.append(target.id)
            return target.id, []
        item = self.work.nested("item")
        return item, unpack(target, load(item), self.work, item_shape(stmt.iter, self.work))


def returning(carry: list[str]) -> list[gast.AST]:
    """The body of a loop that does nothing."""
    return closed([gast.Pass()], carry)[1:] if carry else [gast.Pass()]


def taking(carry: list[str], call: gast.Call) -> list[gast.AST]:
    """The statement that runs the loop."""
    return [assign(targets(carry), call) if carry else expression(call)]
