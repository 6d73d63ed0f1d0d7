"""`and`, `or`, `not`, `is`, `in`, chained comparisons and the ternary go through operators.

In: any tree.  Out: `ag.and_(a, lambda: b)` and so on; what Python would evaluate late or not at all
stands in a lambda.  The middle of a chained comparison is evaluated once.  Where only the truth of
the whole matters, `and` is `ag.all_true`, which asks no part twice.
"""

from __future__ import annotations

import sys
from typing import Any

import gast

from autograph.passes.context import Work
from autograph.passes.walk import Rewriter
from autograph.template import call, lambda_, load, locate

NAIVE = tuple(sys.version_info) >= (3, 12)
TESTS = {"Is": "is_", "IsNot": "is_not", "In": "in_", "NotIn": "not_in"}


def logic(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite the logic of every expression in the tree."""
    _Logic(work).visit(root)
    return root


class _Logic(Rewriter):
    """tests: expressions of which only the truth matters; Python asks each part of them once.

    once: those whose value matters unless it says no more than that they are left early."""

    def __init__(self, work: Work) -> None:
        self.work, self.tests = work, work.tests
        self.once: set[gast.AST] = set()

    def visit_BoolOp(self, node: Any) -> Any:
        parts = list(node.values) if node in self.tests else self.threaded(node)
        if node in self.tests:
            self.tests.update(parts)
        node.values = parts
        self.generic(node)
        operator = self.operator(isinstance(node.op, gast.And), node in self.tests or node in self.once)
        first, *others = node.values
        return locate(self.work.ag(operator, first, *(lambda_((), value) for value in others)), node)

    def threaded(self, node: Any) -> list[Any]:
        """The operands of which the value may matter: before 3.12 Python asks nested ones once, too."""
        if NAIVE:
            return list(node.values)
        parts: list[Any] = []
        for value in node.values:
            same = isinstance(value, gast.BoolOp) and type(value.op) is type(node.op)
            parts += self.threaded(value) if same else [value]
        self.once.update(part for part in parts[:-1] if isinstance(part, gast.BoolOp))
        return parts

    def operator(self, conjunction: bool, test: bool) -> str:
        if test:
            return "all_true" if conjunction else "any_true"
        return "and_" if conjunction else "or_"

    def visit_UnaryOp(self, node: Any) -> Any:
        if node in self.tests:
            self.tests.add(node.operand)
        self.generic(node)
        return locate(self.work.ag("not_", node.operand), node) if isinstance(node.op, gast.Not) else node

    def visit_IfExp(self, node: Any) -> Any:
        self.tests.add(node.test)
        if node in self.tests:
            self.tests.update((node.body, node.orelse))
        self.generic(node)
        return locate(self.work.ag("cond", node.test, lambda_((), node.body), lambda_((), node.orelse)), node)

    def visit_Compare(self, node: Any) -> Any:
        self.generic(node)
        operator = self.operator(True, node in self.tests)
        return locate(self.chain(operator, node.left, node.ops, node.comparators), node)

    def chain(self, operator: str, left: gast.AST, ops: list[gast.AST], others: list[gast.AST]) -> gast.AST:
        """`left op other op other ...`: flat where each middle may be repeated, else by a lambda of it."""
        if len(ops) == 1:
            return self.compare(left, ops[0], others[0])
        if all(isinstance(middle, (gast.Name, gast.Constant)) for middle in others[:-1]):
            lefts = [left, *(again(middle) for middle in others[:-1])]
            tests = [self.compare(*parts) for parts in zip(lefts, ops, others, strict=True)]
            return self.work.ag(operator, tests[0], *(lambda_((), test) for test in tests[1:]))
        one, two = self.work.fresh("left"), self.work.fresh("middle")
        first = self.compare(load(one), ops[0], load(two))
        rest = self.chain(operator, load(two), ops[1:], others[1:])
        return call(lambda_([one, two], self.work.ag(operator, first, lambda_((), rest))), left, others[0])

    def compare(self, left: gast.AST, op: gast.AST, right: gast.AST) -> gast.AST:
        operator = TESTS.get(type(op).__name__)
        if operator is not None:
            return self.work.ag(operator, left, right)
        return gast.Compare(left=left, ops=[op], comparators=[right])


def again(node: Any) -> gast.AST:
    """A second node for the same name or constant."""
    if isinstance(node, gast.Name):
        return locate(load(node.id), node)
    return locate(gast.Constant(value=node.value, kind=node.kind), node)
