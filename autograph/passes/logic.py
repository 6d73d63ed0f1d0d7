"""`and`, `or`, `not`, `is`, `in`, chained comparisons and the ternary go through operators.

In: any tree.  Out: `ag.and_(a, lambda: b)` and so on; what Python would evaluate late or not at all
stands in a lambda.  The middle of a chained comparison is evaluated once.
"""

from __future__ import annotations

from typing import Any

import gast

from autograph.passes.context import Work
from autograph.passes.walk import Rewriter
from autograph.template import call, lambda_, load, locate

TESTS = {"Is": "is_", "IsNot": "is_not", "In": "in_", "NotIn": "not_in"}


def logic(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite the logic of every expression in the tree."""
    _Logic(work).visit(root)
    return root


class _Logic(Rewriter):
    def __init__(self, work: Work) -> None:
        self.work = work

    def visit_BoolOp(self, node: Any) -> Any:
        self.generic(node)
        operator = "and_" if isinstance(node.op, gast.And) else "or_"
        first, *others = node.values
        return locate(self.work.ag(operator, first, *(lambda_((), value) for value in others)), node)

    def visit_UnaryOp(self, node: Any) -> Any:
        self.generic(node)
        return locate(self.work.ag("not_", node.operand), node) if isinstance(node.op, gast.Not) else node

    def visit_IfExp(self, node: Any) -> Any:
        self.generic(node)
        return locate(self.work.ag("cond", node.test, lambda_((), node.body), lambda_((), node.orelse)), node)

    def visit_Compare(self, node: Any) -> Any:
        self.generic(node)
        return locate(self.chain(node.left, node.ops, node.comparators), node)

    def chain(self, left: gast.AST, ops: list[gast.AST], others: list[gast.AST]) -> gast.AST:
        """`left op other op other ...`: flat where each middle may be repeated, else by a lambda of it."""
        if len(ops) == 1:
            return self.compare(left, ops[0], others[0])
        if all(isinstance(middle, (gast.Name, gast.Constant)) for middle in others[:-1]):
            lefts = [left, *(again(middle) for middle in others[:-1])]
            tests = [self.compare(*parts) for parts in zip(lefts, ops, others, strict=True)]
            return self.work.ag("and_", tests[0], *(lambda_((), test) for test in tests[1:]))
        one, two = self.work.fresh("left"), self.work.fresh("middle")
        first = self.compare(load(one), ops[0], load(two))
        rest = self.chain(load(two), ops[1:], others[1:])
        return call(lambda_([one, two], self.work.ag("and_", first, lambda_((), rest))), left, others[0])

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
