"""Items of what may be a tuple or a text, by an index that may be known only at run time: `ag.item(x, i)`.

In: any tree, where the context asks for care: Python itself would ask a traced index for its number.  Out:
the same with operators for all items that are read by an index which is not a constant.
"""

from __future__ import annotations

from typing import Any

import gast

from autograph.passes.context import Work
from autograph.passes.walk import Rewriter
from autograph.template import constant, locate


def careful(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite every item that is read."""
    if work.ctx.careful:
        _Items(work).visit(root)
    return root


class _Items(Rewriter):
    def __init__(self, work: Work) -> None:
        self.work = work

    def visit_Subscript(self, node: Any) -> Any:
        self.generic(node)
        if not isinstance(node.ctx, gast.Load) or isinstance(node.slice, (gast.Tuple, gast.Constant)):
            return node
        if not isinstance(node.slice, gast.Slice):
            return locate(self.work.ag("item", node.value, node.slice), node)
        bounds = [node.slice.lower, node.slice.upper, node.slice.step]
        if all(bound is None or isinstance(bound, gast.Constant) for bound in bounds):
            return node
        values = [constant(None) if bound is None else bound for bound in bounds]
        return locate(self.work.ag("part", node.value, *values), node)
