"""Comprehensions and generator expressions become calls with lambdas.

In: any tree.  Out: `ag.list_comp(lambda e: ..., iterable, where=lambda e: ...)` and its like.  Several
targets are several parameters; a nested pattern is taken apart by a lambda inside.  A second `for` is
an inner comprehension whose items are spliced (`flat=True`).
"""

from __future__ import annotations

import sys
from typing import Any

import gast

from autograph.passes.context import Work
from autograph.passes.unpacking import PATTERNS, counts
from autograph.passes.walk import Rewriter
from autograph.template import call, constant, lambda_, load, locate, tuple_of

OPERATORS = {
    "ListComp": "list_comp",
    "SetComp": "set_comp",
    "DictComp": "dict_comp",
    "GeneratorExp": "generator",
}


def comprehensions(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite every comprehension of the tree."""
    _Comprehensions(work).visit(root)
    return root


class _Comprehensions(Rewriter):
    def __init__(self, work: Work) -> None:
        self.work = work

    def comprehension(self, node: Any) -> Any:
        self.generic(node)
        operator = OPERATORS[type(node).__name__]
        self.own_scope = operator == "generator" or sys.version_info < (3, 12)
        element = tuple_of([node.key, node.value]) if isinstance(node, gast.DictComp) else node.elt
        inner = "generator" if operator == "generator" else "list_comp"
        made: gast.AST = locate(element, node)
        for number, clause in reversed(list(enumerate(node.generators))):
            last = number == len(node.generators) - 1
            keywords = {}
            if clause.ifs:
                test = (
                    clause.ifs[0] if len(clause.ifs) == 1 else gast.BoolOp(op=gast.And(), values=clause.ifs)
                )
                self.work.tests.add(test)
                keywords["where"] = self.function(clause.target, locate(test, clause.ifs[0]))
            if not last:
                keywords["flat"] = constant(True)
            made = self.work.ag(
                operator if number == 0 else inner,
                self.function(clause.target, made),
                clause.iter,
                **keywords,
            )
            made = locate(made, node)
        return made

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def function(self, target: gast.AST, body: gast.AST) -> gast.AST:
        """`body` as a function of the targets."""
        made = self.function_of(target, body)
        if self.own_scope:
            self.work.inner.add(made)
        return made

    def function_of(self, target: gast.AST, body: gast.AST) -> gast.AST:
        """The same, for targets of any shape."""
        if isinstance(target, gast.Name):
            return lambda_([target.id], body)
        if len(target.elts) == 1 or any(isinstance(part, gast.Starred) for part in target.elts):
            item = self.work.fresh("item")
            return lambda_([item], self.apart(target, load(item), body))
        params, later = [], []
        for part in target.elts:
            if isinstance(part, PATTERNS):
                params.append(self.work.fresh("item"))
                later.append((part, params[-1]))
            else:
                params.append(part.id)
        for part, name in reversed(later):
            body = self.apart(part, load(name), body)
        return lambda_(params, body)

    def apart(self, target: gast.AST, value: gast.AST, body: gast.AST) -> gast.AST:
        """`body` with the parts of the value as parameters of a lambda that is called at once."""
        parts = [part.value if isinstance(part, gast.Starred) else part for part in target.elts]
        plain = gast.Tuple(elts=parts, ctx=gast.Store())
        taken = self.work.ag("unpack", value, *counts(target))
        function = self.function(plain, body) if len(parts) > 1 else self.single(parts[0], body)
        return locate(call(function, gast.Starred(value=taken, ctx=gast.Load())), body)

    def single(self, part: gast.AST, body: gast.AST) -> gast.AST:
        return self.function(part, body)
