"""Inner generators and classes stay as they are written, and are made and called at run time.

`hide` turns an inner generator function into an `Opaque` and a class statement into a call of an opaque
maker: `Box = ag.python(make_Box)`.  The passes between look at nothing inside but shared names.  `show`
turns them back into plain functions at the end.
"""

from __future__ import annotations

from typing import Any

import gast

from autograph.analysis.scopes import FUNCTIONS
from autograph.passes.context import Work
from autograph.passes.walk import Rewriter
from autograph.template import Opaque, assign, function, load, locate
from autograph.trees import children, walk


def hide(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Make opaque what is not rewritten inside."""
    declared = declaration(root)
    if declared is not None:
        what = f"{', '.join(declared.names)} declared in the body of a class is not converted"
        work.refuse(declared, what, "the class then binds a variable that is not its own")
    hider = _Hider(work)
    root.body = [s for stmt in root.body for s in hider.statements(stmt)]
    return root


def show(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Make plain functions of the opaque ones."""
    for node in walk(root):
        if isinstance(node, Opaque):
            node.__class__ = gast.FunctionDef
    return root


def is_generator(node: gast.AST) -> bool:
    """Whether the function yields itself (not only functions inside it)."""
    todo: list[gast.AST] = list(node.body)
    while todo:
        part = todo.pop()
        if isinstance(part, (gast.Yield, gast.YieldFrom)):
            return True
        if not isinstance(part, (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef, gast.Lambda)):
            todo += children(part)
    return False


def declaration(root: gast.AST) -> Any:
    """A `global` or `nonlocal` statement in the body of a class inside the function; or None."""
    todo = [(part, False) for part in children(root)]
    while todo:
        node, of_class = todo.pop()
        if of_class and isinstance(node, (gast.Global, gast.Nonlocal)):
            return node
        if isinstance(node, (gast.ClassDef, *FUNCTIONS)):
            of_class = isinstance(node, gast.ClassDef)
        todo += [(part, of_class) for part in children(node)]
    return None


class _Hider(Rewriter):
    def __init__(self, work: Work) -> None:
        self.work = work

    def statements(self, stmt: Any) -> list[Any]:
        result = self.visit(stmt)
        return result if isinstance(result, list) else [result]

    def visit_FunctionDef(self, node: Any) -> Any:
        if is_generator(node) and not node.decorator_list:
            node.__class__ = Opaque
            return node
        return self._made(node) if is_generator(node) else self.generic(node)

    def _made(self, node: Any) -> Any:
        """The definition inside an opaque maker, and the call of the maker."""
        maker = self.work.fresh(f"make_{node.name}")
        made = function(maker, (), [node, gast.Return(value=load(node.name))])
        made.__class__ = Opaque
        self.work.makers.add(made)
        return [locate(made, node), locate(assign(node.name, self.work.ag("python", load(maker))), node)]

    visit_ClassDef = visit_AsyncFunctionDef = _made
