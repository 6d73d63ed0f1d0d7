"""`if` becomes `ag.cond`: two small functions and one call.

In: structured code.  Out: code without `if`.  The operands are the names that the arms bind and that
have a value some way through may need; the results are those that are live after.  Names that are only
read are captured.  An `if` at the end of the function whose arms return becomes `return ag.cond(...)`.
"""

from __future__ import annotations

import gast

from autograph.analysis.liveness import Liveness
from autograph.analysis.scopes import scopes
from autograph.passes.context import Work
from autograph.passes.walk import functions, statements, suites
from autograph.template import (
    assign,
    constant,
    expression,
    function,
    lambda_,
    load,
    locate,
    names,
    targets,
    tuple_of,
)
from autograph.trees import walk

Arm = tuple[list[gast.AST], gast.AST]  # what to define first, and the function as an expression


def branches(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite every `if` statement of the tree."""
    table = scopes(root)
    for inner in list(functions(root)):
        if any(isinstance(stmt, gast.If) for stmt in statements(inner.body)):
            inner.body = _Branches(work, Liveness(inner, table, work.loop_tests)).suite(inner.body)
    return root


class _Branches:
    def __init__(self, work: Work, live: Liveness) -> None:
        self.work, self.live = work, live

    def suite(self, stmts: list[gast.AST]) -> list[gast.AST]:
        done: list[gast.AST] = []
        for stmt in stmts:
            if isinstance(stmt, gast.If):
                done += locate(self.branch(stmt), stmt)
                continue
            if not isinstance(stmt, gast.FunctionDef):
                for node, field in suites(stmt):
                    setattr(node, field, self.suite(getattr(node, field)))
            done.append(stmt)
        return done

    def branch(self, stmt: gast.If) -> list[gast.AST]:
        live = self.live
        bound = live.binds(stmt.body) | live.binds(stmt.orelse)
        operands = live.index.listed(bound & live.arms[stmt])
        results = live.index.listed(bound & live.after[stmt])
        taken = [self.work.nested("if_true"), self.work.nested("if_false")]
        arms = [self.suite(stmt.body), self.suite(stmt.orelse)]
        self.work.leave(2)
        made = [arm(name, operands, part, results) for name, part in zip(taken, arms, strict=True)]
        before = [part for defined, _ in made for part in defined]
        test = stmt.test
        self.work.tests.add(test)
        if before and any(isinstance(part, gast.NamedExpr) for part in walk(test)):
            # The arms are defined before the call and may read what the test binds, so the test goes first.
            name = self.work.fresh("test")
            before.insert(0, assign(name, test))
            test = load(name)
        call = self.work.ag("cond", test, *(fn for _, fn in made))
        if operands:
            call.args.append(tuple_of(load(name) for name in operands))
        if any(isinstance(last, gast.Return) for part in arms for last in part[-1:]):
            return [*before, gast.Return(value=call)]
        return [*before, assign(targets(results), call) if results else expression(call)]


def arm(name: str, operands: list[str], stmts: list[gast.AST], results: list[str]) -> Arm:
    """One arm as a function of the operands that returns the results (or what the arm itself returns)."""
    stmts = [stmt for stmt in stmts if not is_idle(stmt)]
    if not stmts:
        return [], lambda_(operands, names(results) if results else constant(None))
    if len(stmts) == 1 and isinstance(stmts[0], gast.Return):
        return [], lambda_(operands, stmts[0].value if stmts[0].value is not None else constant(None))
    return [locate(function(name, operands, closed(stmts, results)), stmts[0])], load(name)


def closed(stmts: list[gast.AST], results: list[str]) -> list[gast.AST]:
    """The suite with `return results` at its end; a last assignment of just these is folded into it."""
    last = stmts[-1]
    if not results or isinstance(last, (gast.Return, gast.Raise)):
        return stmts
    if isinstance(last, gast.Assign) and len(last.targets) == 1 and target_names(last.targets[0]) == results:
        if len(results) == 1 or isinstance(last.value, gast.Tuple) or is_operator(last.value):
            return [*stmts[:-1], locate(gast.Return(value=last.value), last)]
    return [*stmts, locate(gast.Return(value=names(results)), last)]


def target_names(target: gast.AST) -> list[str] | None:
    """The names of an assignment target that consists of names only."""
    if isinstance(target, gast.Name):
        return [target.id]
    if (
        isinstance(target, gast.Tuple)
        and len(target.elts) > 1
        and all(isinstance(t, gast.Name) for t in target.elts)
    ):
        return [part.id for part in target.elts]
    return None


def is_operator(value: gast.AST) -> bool:
    """Whether the expression calls an operator that gives back a plain tuple of several results."""
    return (
        isinstance(value, gast.Call)
        and isinstance(value.func, gast.Attribute)
        and value.func.attr in ("cond", "while_loop", "for_loop", "try_", "with_", "unpack")
    )


def is_idle(stmt: gast.AST) -> bool:
    """Whether the statement does nothing: `pass`, `...`, a string."""
    return (
        isinstance(stmt, gast.Pass) or isinstance(stmt, gast.Expr) and isinstance(stmt.value, gast.Constant)
    )
