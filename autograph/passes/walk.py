"""Walks that passes share: over the suites of a tree, over its functions, over its expressions.

In: a tree and what to do at each place.  Out: the same tree, changed at these places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gast

from autograph.template import Opaque

Suite = list[Any]


def suites(stmt: Any) -> Iterator[tuple[Any, str]]:
    """The suites of a statement: each as a field of a node (the statement, or a handler of a `try`)."""
    if isinstance(getattr(stmt, "body", None), list):
        yield stmt, "body"
    yield from ((handler, "body") for handler in getattr(stmt, "handlers", ()))
    for field in ("orelse", "finalbody"):
        if isinstance(getattr(stmt, field, None), list):
            yield stmt, field


def map_suites(function: Any, change: Callable[[Suite], Suite], *, inner: bool = True) -> Any:
    """Replace every suite in the function, innermost first; with `inner`, those of functions in it too."""
    function.body = _mapped(function.body, change, inner)
    return function


def _mapped(stmts: Suite, change: Callable[[Suite], Suite], inner: bool) -> Suite:
    for stmt in stmts:
        if isinstance(stmt, gast.FunctionDef) and (not inner or isinstance(stmt, Opaque)):
            continue
        for node, field in suites(stmt):
            setattr(node, field, _mapped(getattr(node, field), change, inner))
    return change(stmts)


def functions(root: gast.FunctionDef) -> Iterator[gast.FunctionDef]:
    """The function and every `def` in it, outer ones first, in the order of the text."""
    yield root
    for stmt in statements(root.body):
        if isinstance(stmt, gast.FunctionDef) and not isinstance(stmt, Opaque):
            yield from functions(stmt)


def statements(stmts: Suite) -> Iterator[Any]:
    """The statements of a suite and of all suites inside, but not those of inner functions."""
    todo = list(reversed(stmts))
    while todo:
        stmt = todo.pop()
        yield stmt
        if isinstance(stmt, gast.FunctionDef):
            continue
        for node, field in reversed(list(suites(stmt))):
            todo.extend(reversed(getattr(node, field)))


ATOMS = frozenset(["ctx", "op", "ops", "kind", "type_comment"])  # fields that hold nothing to rewrite


class Rewriter:
    """Rebuilds a tree bottom-up; subclasses define `visit_X` and call `generic` to go on into the parts.

    A visitor returns a node, or for a statement a list of them.
    """

    opens_opaque = False

    def visit(self, node: Any) -> Any:
        """The replacement of the node."""
        if isinstance(node, Opaque) and not self.opens_opaque:
            return node
        method = getattr(self, "visit_" + type(node).__name__, None)
        return method(node) if method is not None else self.generic(node)

    def generic(self, node: Any) -> Any:
        """The node with its parts replaced."""
        for field in node._fields:
            if field in ATOMS:
                continue
            value = getattr(node, field, None)
            if isinstance(value, list):
                changed: list[Any] = []
                for item in value:
                    new = self.visit(item) if isinstance(item, gast.AST) else item
                    if isinstance(new, list):
                        changed.extend(new)
                    else:
                        changed.append(new)
                setattr(node, field, changed)
            elif isinstance(value, gast.AST):
                setattr(node, field, self.visit(value))
        return node
