"""Names that may have no value: they get the marker first, and reads that may meet it ask.

In: structured code.  Out: code in which every local name exists before the first statement that
mentions it, so that it can be an operand or a carry.  `x = ag.unbound('x')` is written only for names
that some path reads unbound; `ag.bound(x, 'x')` only at reads that are not surely assigned.
"""

from __future__ import annotations

from typing import Any

import gast

from autograph.analysis.assigned import Assigned
from autograph.analysis.flow import Index, local_names
from autograph.analysis.liveness import Liveness
from autograph.analysis.scopes import scopes
from autograph.passes.context import Work
from autograph.passes.walk import Rewriter, functions
from autograph.template import assign, constant, load, locate


def unbound(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Mark the unbound names of every function in the tree."""
    table = scopes(root)
    for function in list(functions(root)):
        index = local_names(function, sorted(work.declared.get(function, ())))
        live = Liveness(function, table, work.loop_tests, index)
        params = index.bits(table[function].params)
        missing = live.entry & ~params
        if missing:
            assigned = Assigned(function, table, index, work.loop_tests)
            function.body = _with_markers(function, index, missing, work, live)
            _Reads(work, assigned.unsure, function).run()
    return root


def _with_markers(
    function: gast.FunctionDef, index: Index, missing: int, work: Work, live: Liveness
) -> list[gast.AST]:
    """The body, each missing name marked before the first statement that mentions it."""
    body: list[gast.AST] = []
    for stmt in function.body:
        flow = live.flow[stmt]
        for name in index.listed((flow.gen | flow.binds) & missing):
            body.append(locate(assign(name, work.ag("unbound", constant(name))), stmt))
            missing &= ~index.bit[name]
        body.append(stmt)
    return body


class _Reads(Rewriter):
    """Asks at the reads in `unsure` (name nodes, and augmented assignments of a name)."""

    def __init__(self, work: Work, unsure: set[gast.AST], function: gast.FunctionDef) -> None:
        self.work, self.unsure, self.function = work, unsure, function
        self.free = False  # whether the reader is an inner function: the error says so

    def run(self) -> None:
        if self.unsure:
            self.function.body = [part for stmt in self.function.body for part in _listed(self.visit(stmt))]
            for loop, test in list(self.work.loop_tests.items()):
                self.work.loop_tests[loop] = self.visit(test)

    def asked(self, name: str, like: gast.AST) -> Any:
        more = {"free": constant(True)} if self.free else {}
        return locate(self.work.ag("bound", load(name), constant(name), **more), like)

    def visit_Lambda(self, node: Any) -> Any:
        node.args = self.visit(node.args)
        if getattr(node, "returns", None) is not None:
            node.returns = self.visit(node.returns)
        before, self.free = self.free, self.free or node in self.work.inner
        if isinstance(node.body, list):
            node.body = [part for stmt in node.body for part in _listed(self.visit(stmt))]
        else:
            node.body = self.visit(node.body)
        self.free = before
        return node

    visit_FunctionDef = visit_Lambda

    def visit_Name(self, node: gast.Name) -> Any:
        node.annotation = node.annotation and self.visit(node.annotation)
        return self.asked(node.id, node) if node in self.unsure else node

    def visit_AugAssign(self, node: gast.AugAssign) -> Any:
        self.generic(node)
        if node not in self.unsure:
            return node
        name = node.target.id
        return [locate(assign(name, self.asked(name, node)), node), node]


def _listed(result: Any) -> list[gast.AST]:
    return result if isinstance(result, list) else [result]
