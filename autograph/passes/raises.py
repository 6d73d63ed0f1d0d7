"""`raise` becomes `ag.raise_(exception, cause)`, so that it can be recorded as an effect.

In: code without `if` and loops, whose functions may end in `raise`.  Out: code without `raise`.  After
`ag.raise_` nothing stands in the same function: control never comes past it.
"""

from __future__ import annotations

from typing import Any

import gast

from autograph.passes.context import Work
from autograph.passes.walk import Rewriter
from autograph.template import expression, locate


def raises(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite every `raise` in the tree."""
    _Raises(work).visit(root)
    return root


class _Raises(Rewriter):
    def __init__(self, work: Work) -> None:
        self.work = work

    def visit_Raise(self, node: Any) -> Any:
        parts = [part for part in (node.exc, node.cause) if part is not None]
        return locate(expression(self.work.ag("raise_", *parts)), node)
