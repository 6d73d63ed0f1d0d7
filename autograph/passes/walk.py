"""Walks that passes share: over the suites of a tree, over its functions, over its expressions.

In: a tree and what to do at each place.  Out: the same tree, changed at these places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import gast

from autograph.template import Opaque
from autograph.trees import FIELDS

Suite = list[Any]


class _Suites(dict[type, bool]):
    """For each kind of node whether there may be suites in it."""

    def __missing__(self, kind: type) -> bool:
        fields = getattr(kind, "_fields", ())
        found = self[kind] = not {"body", "handlers", "cases", "orelse", "finalbody"}.isdisjoint(fields)
        return found


_SUITES = _Suites()


def suites(stmt: Any) -> Iterable[tuple[Any, str]]:
    """The suites of a statement: each as a field of a node (or of a handler or case of it)."""
    return _suites(stmt) if _SUITES[type(stmt)] else ()


def _suites(stmt: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(getattr(stmt, "body", None), list):
        yield stmt, "body"
    yield from ((handler, "body") for handler in getattr(stmt, "handlers", ()))
    yield from ((case, "body") for case in getattr(stmt, "cases", ()))
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


class Rewriter:
    """Rebuilds a tree bottom-up; subclasses define `visit_X` and call `generic` to go on into the parts.

    A visitor returns a node, or for a statement a list of them.
    """

    opens_opaque = False
    # For each kind of node the method of this class that visits it.
    _visitors: dict[type, Callable[[Any, Any], Any]]

    def __init_subclass__(cls) -> None:
        cls._visitors = {}

    def visit(self, node: Any) -> Any:
        """The replacement of the node."""
        kind = type(node)
        visitor = self._visitors.get(kind)
        if visitor is None:
            visitor = self._visitors[kind] = self._visitor(kind)
        return visitor(self, node)

    @classmethod
    def _visitor(cls, kind: type) -> Callable[[Any, Any], Any]:
        if issubclass(kind, Opaque) and not cls.opens_opaque:
            return _as_it_is
        found: Callable[[Any, Any], Any] | None = getattr(cls, "visit_" + kind.__name__, None)
        if found is not None:
            return found
        return cls.generic if FIELDS[kind] else _as_it_is

    def generic(self, node: Any) -> Any:
        """The node with its parts replaced."""
        held = node.__dict__
        for field in FIELDS[type(node)]:
            value = held.get(field)
            if value is None:
                continue
            if type(value) is list:
                changed: list[Any] = []
                for item in value:
                    new = self.visit(item) if isinstance(item, gast.AST) else item
                    if type(new) is list:
                        changed += new
                    else:
                        changed.append(new)
                held[field] = changed
            elif isinstance(value, gast.AST):
                held[field] = self.visit(value)
        return node


def _as_it_is(_: Any, node: Any) -> Any:
    return node
