"""Assignments that take a value apart go through `ag.unpack`, so that a traced value can be taken apart.

In: a target pattern and the value.  Out: statements that assign the parts from left to right.  What is
a tuple for certain (a display, an item of `zip` or `enumerate`) is taken apart by Python itself.
"""

from __future__ import annotations

from typing import Any

import gast

from autograph.passes.context import Work
from autograph.template import assign, constant, load, locate
from autograph.trees import walk

PATTERNS = (gast.Tuple, gast.List)
Shape = Any  # None: anything; a list: a tuple of that many items, each with its own shape


def unpack(target: gast.AST, value: gast.AST, work: Work, shape: Shape = None) -> list[gast.AST]:
    """Statements for `target = value`; what they make has the target's place."""
    statements: list[gast.AST] = []
    _unpack(target, value, work, shape, statements, delicate(target))
    return [locate(stmt, target) for stmt in statements]


def _unpack(
    target: gast.AST, value: gast.AST, work: Work, shape: Shape, out: list[gast.AST], careful: bool
) -> None:
    if not isinstance(target, PATTERNS):
        out.append(assign(target, value))
        return
    known = fits(target, shape)
    shapes = shape if known else [None] * len(target.elts)
    parts, later = [], []
    for part, inner in zip(target.elts, shapes, strict=True):
        bare = part.value if isinstance(part, gast.Starred) else part
        if isinstance(bare, PATTERNS) and not (known and plain(bare, inner)) or careful:
            name = work.fresh("item")
            later.append((bare, name, inner))
            bare = gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)
        parts.append(bare)
    source = value if known else work.ag("unpack", value, *counts(target))
    out.append(assign(gast.Tuple(elts=parts, ctx=gast.Store()), source))
    for bare, name, inner in later:
        _unpack(bare, load(name), work, inner, out, careful)


def counts(target: gast.AST) -> list[gast.AST]:
    """How many items a pattern takes: `n`, or `before, after` around a star."""
    stars = [number for number, part in enumerate(target.elts) if isinstance(part, gast.Starred)]
    if not stars:
        return [constant(len(target.elts))]
    return [constant(stars[0]), constant(len(target.elts) - stars[0] - 1)]


def fits(target: gast.AST, shape: Shape) -> bool:
    """Whether a value of this shape can be taken apart by Python itself."""
    return (
        shape is not None
        and len(shape) == len(target.elts)
        and not any(isinstance(part, gast.Starred) for part in target.elts)
    )


def plain(target: gast.AST, shape: Shape) -> bool:
    """Whether that holds all the way down."""
    if not isinstance(target, PATTERNS):
        return True
    return fits(target, shape) and all(
        plain(part, inner) for part, inner in zip(target.elts, shape, strict=True)
    )


def delicate(target: gast.AST) -> bool:
    """Whether the order of the assignments shows: a nested pattern besides an attribute or item target."""
    parts = list(walk(target))
    nested = sum(isinstance(part, PATTERNS) for part in parts) > 1
    return nested and any(isinstance(part, (gast.Attribute, gast.Subscript)) for part in parts)


def display_shape(value: gast.AST) -> Shape:
    """The shape of a display without stars; None for other expressions."""
    if isinstance(value, PATTERNS) and not any(isinstance(part, gast.Starred) for part in value.elts):
        return [display_shape(part) if isinstance(part, gast.Tuple) else None for part in value.elts]
    return None


def item_shape(iterable: gast.AST, work: Work) -> Shape:
    """The shape of the items that an expression yields, where its text shows it."""
    if not isinstance(iterable, gast.Call) or any(isinstance(arg, gast.Starred) for arg in iterable.args):
        return None
    if isinstance(iterable.func, gast.Attribute) and iterable.func.attr == "items" and not iterable.args:
        return [None, None]
    if isinstance(iterable.func, gast.Name) and iterable.args:
        builtin = work.builtin(iterable.func.id)
        if builtin is enumerate:
            return [None, item_shape(iterable.args[0], work)]
        if builtin is zip:
            return [item_shape(arg, work) for arg in iterable.args]
    return None
