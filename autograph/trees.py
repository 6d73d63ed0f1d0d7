"""Walks over trees and the ways between `ast` and `gast`, written for speed: conversion takes many of them.

In: nodes of `ast` or `gast`.  Out: their parts, all nodes of a tree, the same tree in the other kind.
What always holds: parts come in the order of the fields; what holds no names and no code (contexts and
operators) is left out of every walk.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import gast
from gast.ast3 import Ast3ToGAst, GAstToAst3

# Fields whose values are never nodes, or nodes without parts that no walk looks for.
_BARE = frozenset(
    [
        "arg",
        "asname",
        "attr",
        "conversion",
        "ctx",
        "id",
        "is_async",
        "kind",
        "kwd_attrs",
        "level",
        "module",
        "op",
        "ops",
        "rest",
        "simple",
        "type_comment",
    ]
)
_LEAVES = frozenset(["Constant", "MatchSingleton", "Global", "Nonlocal"])
_CONTEXTS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


class _Fields(dict[type, tuple[str, ...]]):
    """For each kind of node the fields in which other nodes may stand."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        fields: tuple[str, ...] = getattr(kind, "_fields", ())
        found = () if kind.__name__ in _LEAVES else tuple(field for field in fields if field not in _BARE)
        self[kind] = found
        return found


FIELDS = _Fields()


def _any_parts(fields: tuple[str, ...]) -> Callable[[Any], list[Any]]:
    def parts(node: Any) -> list[Any]:
        found: list[Any] = []
        held = node.__dict__
        for field in fields:
            value = held.get(field)
            if value is None:
                continue
            if type(value) is list:
                found += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
        return found

    return parts


def _part(field: str) -> Callable[[Any], list[Any]]:
    def part(node: Any) -> list[Any]:
        value = node.__dict__.get(field)
        return [] if value is None else [value]

    return part


# Written out for the kinds that most nodes are of; by the fields in which nodes stand.
_USUAL: dict[tuple[str, ...], Callable[[Any], list[Any]]] = {
    (): lambda node: [],
    ("annotation",): _part("annotation"),
    ("value",): _part("value"),
    ("operand",): _part("operand"),
    ("left", "right"): lambda node: [node.left, node.right],
    ("value", "slice"): lambda node: [node.value, node.slice],
    ("func", "args", "keywords"): lambda node: [node.func, *node.args, *node.keywords],
    ("targets", "value"): lambda node: [*node.targets, node.value],
    ("left", "comparators"): lambda node: [node.left, *node.comparators],
}


class _Parts(dict[type, Callable[[Any], list[Any]]]):
    """For each kind of node what gives the nodes that stand directly in it."""

    def __missing__(self, kind: type) -> Callable[[Any], list[Any]]:
        fields = FIELDS[kind]
        found = self[kind] = _USUAL.get(fields) or _any_parts(fields)
        return found


PARTS = _Parts()


def children(node: Any) -> list[Any]:
    """The nodes that stand directly in this one."""
    return PARTS[type(node)](node)


def walk(root: Any) -> Iterator[Any]:
    """The node and all nodes in it; no order is promised but that a node comes before its parts."""
    todo = [root]
    parts = PARTS
    while todo:
        node = todo.pop()
        yield node
        todo += parts[type(node)](node)


class _Translating:
    """The translators of `gast`, the common cases written out.  `_target`: the module of the new classes."""

    _target: Any

    def __init__(self) -> None:
        self._known: dict[type, Any] = {}

    def visit(self, node: Any) -> Any:
        kind = type(node)
        method = self._known.get(kind)
        if method is None:
            method = self._known[kind] = getattr(self, "visit_" + kind.__name__, self.generic_visit)
        return method(node)

    def _visit(self, value: Any) -> Any:
        if isinstance(value, ast.AST):
            return self.visit(value)
        return [self._visit(item) for item in value] if type(value) is list else value

    def generic_visit(self, node: Any) -> Any:
        made_class = getattr(self._target, type(node).__name__, None)
        if made_class is None:
            return None
        # Without a call: Python 3.13 warns of nodes made without their fields, and these follow.
        made, held = made_class.__new__(made_class), node.__dict__
        if isinstance(node, _CONTEXTS):
            self._known[type(node)] = lambda _: made  # one stands for all, as in trees of the parser
            return made
        for field in made_class._fields:
            if field in held:
                value = held[field]
                if isinstance(value, ast.AST):
                    value = self.visit(value)
                elif type(value) is list:
                    value = [self._visit(item) for item in value]
                setattr(made, field, value)
        return _placed(made, node)


def _placed(made: Any, like: Any) -> Any:
    """The node with the place of another, if that has one."""
    held = like.__dict__
    if held.get("lineno") is not None:
        made.lineno, made.col_offset = held["lineno"], held.get("col_offset")
        made.end_lineno, made.end_col_offset = held.get("end_lineno"), held.get("end_col_offset")
    return made


class _ToGast(_Translating, Ast3ToGAst):  # type: ignore[misc]
    _target = gast

    def visit_Name(self, node: Any) -> Any:
        return _placed(gast.Name(node.id, self.visit(node.ctx), None, None), node)


class _ToAst(_Translating, GAstToAst3):  # type: ignore[misc]
    _target = ast

    def visit_Name(self, node: Any) -> Any:
        return _placed(ast.Name(node.id, self.visit(node.ctx)), node)


def to_gast(tree: ast.AST) -> Any:
    """A fresh `gast` tree of an `ast` tree."""
    return _ToGast().visit(tree)


def to_ast(tree: ast.AST) -> Any:
    """A fresh `ast` tree of a `gast` tree."""
    return _ToAst().visit(tree)
