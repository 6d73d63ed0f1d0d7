"""`try` and `with` get a normal form, before anything else looks at statements.

In: the user's tree.  Out: each `with` has one manager and binds one plain name at most; it is a `Keeping`
one where the manager is known not to swallow exceptions.  The name of an exception (`as e`) occurs in its
handler only; where the user's does elsewhere too, or is captured or bound there, Python's own rule is
written out: it is bound first and deleted last.
"""

from __future__ import annotations

import contextlib
import io
import threading
import warnings
from typing import Any

import gast
import numpy as np

from autograph.analysis.scopes import SCOPES
from autograph.passes.context import Work
from autograph.passes.walk import Rewriter
from autograph.template import Keeping, assign, constant, load, locate, store
from autograph.trees import children, walk

# What makes managers that never swallow an exception.
KEEPING_MAKERS = frozenset(
    {
        np.errstate,
        np.printoptions,
        contextlib.nullcontext,
        contextlib.closing,
        contextlib.redirect_stdout,
        contextlib.redirect_stderr,
        warnings.catch_warnings,
        threading.Lock,
        threading.RLock,
        open,
        io.open,
    }
)
LOCKS = (type(threading.Lock()), type(threading.RLock()))


def contexts(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Bring every `try` and `with` of the tree to its normal form."""
    used: dict[str, int] = {}
    for node in walk(root):
        if isinstance(node, gast.Name):
            used[node.id] = used.get(node.id, 0) + 1
        for name in getattr(node, "names", ()) if isinstance(node, (gast.Global, gast.Nonlocal)) else ():
            used[name] = used.get(name, 0) + 1
    for node in walk(root):
        if isinstance(node, gast.ExceptHandler) and node.name is not None and own_name(node) is not None:
            used[node.name.id] -= own_name(node) or 0
    _Contexts(work, {name for name, count in used.items() if count > 0}).visit(root)
    return root


def own_name(handler: gast.ExceptHandler) -> int | None:
    """How often the exception's name occurs in the handler; None where a parameter can't stand for it."""
    count = 1
    todo: list[gast.AST] = list(handler.body)
    while todo:
        node = todo.pop()
        if isinstance(node, gast.Name) and node.id == handler.name.id:
            if not isinstance(node.ctx, gast.Load):
                return None
            count += 1
        if isinstance(node, (*SCOPES, gast.ClassDef)) and mentions(node, handler.name.id):
            return None
        if isinstance(node, gast.ExceptHandler) and node.name is not None and node.name.id == handler.name.id:
            return None
        todo += children(node)
    return count


def mentions(root: gast.AST, name: str) -> bool:
    """Whether the name occurs in the tree."""
    return any(isinstance(node, gast.Name) and node.id == name for node in walk(root))


class _Contexts(Rewriter):
    def __init__(self, work: Work, elsewhere: set[str]) -> None:
        self.work, self.elsewhere = work, elsewhere

    def visit_ExceptHandler(self, node: Any) -> Any:
        self.generic(node)
        if node.name is None or (node.name.id not in self.elsewhere and own_name(node) is not None):
            return node
        user, node.name = node.name, store(self.work.fresh("error"))
        locate(node.name, user)
        bind = assign(user, load(node.name.id))
        gone = gast.Name(id=user.id, ctx=gast.Del(), annotation=None, type_comment=None)
        end = [assign(user.id, constant(None)), gast.Delete(targets=[gone])]
        inside = gast.Try(body=node.body, handlers=[], orelse=[], finalbody=end)
        node.body = [locate(bind, user), locate(inside, user)]
        return node

    def visit_With(self, node: Any) -> Any:
        self.generic(node)
        body = node.body
        for item in reversed(node.items):
            target = item.optional_vars
            if target is not None and not isinstance(target, gast.Name):
                name = self.work.fresh("entered")
                item.optional_vars = locate(store(name), target)
                body = [locate(assign(target, load(name)), target), *body]
            kind = Keeping if self.keeps(item.context_expr) else gast.With
            body = [locate(kind(items=[item], body=body, type_comment=None), item.context_expr)]
        return body

    def keeps(self, manager: Any) -> bool:
        """Whether the manager is known never to swallow an exception."""
        made = self.work.resolved(manager.func) if isinstance(manager, gast.Call) else None
        try:
            return made in KEEPING_MAKERS or isinstance(self.work.resolved(manager), LOCKS)
        except TypeError:
            return False
