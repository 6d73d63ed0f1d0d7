"""Small builders of gast trees, the vocabulary in which every pass writes what it makes.

In: names and sub-trees.  Out: fresh nodes with every field set.  `locate` gives each new node the
place of the user's node it stands for; parts that already have a place keep it, so a tree whose root
has a place has one everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import gast

from autograph.trees import FIELDS, children


class Opaque(gast.FunctionDef):  # type: ignore[misc]
    """An inner function that stays as it is written: a generator, or the maker of a class.

    It is called at run time.  Passes do not look inside, but for the boxes of names that it shares."""


class Keeping(gast.With):  # type: ignore[misc]
    """A `with` whose manager is known never to swallow an exception."""


def load(name: str) -> gast.Name:
    """The name, read."""
    return gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None)


def store(name: str) -> gast.Name:
    """The name, as a target of an assignment."""
    return gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)


def constant(value: object) -> gast.Constant:
    """A literal."""
    return gast.Constant(value=value, kind=None)


def attribute(value: gast.AST, name: str, ctx: gast.AST | None = None) -> gast.Attribute:
    """`value.name`, read unless another context is given."""
    return gast.Attribute(value=value, attr=name, ctx=ctx if ctx is not None else gast.Load())


def call(func: gast.AST, *args: gast.AST, **keywords: gast.AST) -> gast.Call:
    """`func(*args, **keywords)`."""
    named = [gast.keyword(arg=name, value=value) for name, value in keywords.items()]
    return gast.Call(func=func, args=list(args), keywords=named)


def tuple_of(items: Iterable[gast.AST]) -> gast.Tuple:
    """A tuple display."""
    return gast.Tuple(elts=list(items), ctx=gast.Load())


def names(ids: Sequence[str]) -> gast.AST:
    """The value of several names: one stands alone, more stand in a tuple."""
    if len(ids) == 1:
        return load(ids[0])
    return tuple_of(load(name) for name in ids)


def targets(ids: Sequence[str]) -> gast.AST:
    """The assignment target for several names: one stands alone, more stand in a tuple."""
    if len(ids) == 1:
        return store(ids[0])
    return gast.Tuple(elts=[store(name) for name in ids], ctx=gast.Store())


def assign(target: str | gast.AST, value: gast.AST) -> gast.Assign:
    """`target = value`."""
    left = store(target) if isinstance(target, str) else target
    return gast.Assign(targets=[left], value=value, type_comment=None)


def expression(value: gast.AST) -> gast.Expr:
    """An expression that stands as a statement."""
    return gast.Expr(value=value)


def negation(value: gast.AST) -> gast.UnaryOp:
    """`not value`."""
    return gast.UnaryOp(op=gast.Not(), operand=value)


def branch(test: gast.AST, body: list[gast.AST], orelse: list[gast.AST] | None = None) -> gast.If:
    """An `if` statement."""
    return gast.If(test=test, body=body, orelse=orelse or [])


def parameters(ids: Sequence[str]) -> gast.arguments:
    """Plain positional parameters."""
    params = [gast.Name(id=name, ctx=gast.Param(), annotation=None, type_comment=None) for name in ids]
    return gast.arguments(
        args=params, posonlyargs=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )


def function(name: str, params: Sequence[str], body: list[gast.AST]) -> gast.FunctionDef:
    """A `def` with plain parameters."""
    return gast.FunctionDef(
        name=name,
        args=parameters(params),
        body=body or [gast.Pass()],
        decorator_list=[],
        returns=None,
        type_comment=None,
        type_params=[],
    )


def lambda_(params: Sequence[str], body: gast.AST) -> gast.Lambda:
    """A `lambda` with plain parameters."""
    return gast.Lambda(args=parameters(params), body=body)


def clone(node: Any) -> Any:
    """A copy of a tree, whole."""
    made = type(node)()
    held = made.__dict__
    held.update(node.__dict__)
    for field in FIELDS[type(node)]:
        value = held.get(field)
        if isinstance(value, gast.AST):
            held[field] = clone(value)
        elif type(value) is list:
            held[field] = [clone(item) if isinstance(item, gast.AST) else item for item in value]
    return made


def locate(tree: Any, like: gast.AST) -> Any:
    """Give every part of `tree` (a node or a list) that has no place the place of `like`; return it."""
    place = {
        "lineno": getattr(like, "lineno", 1),
        "col_offset": getattr(like, "col_offset", 0),
        "end_lineno": getattr(like, "end_lineno", None),
        "end_col_offset": getattr(like, "end_col_offset", None),
    }
    todo = list(tree) if isinstance(tree, list) else [tree]
    while todo:
        node = todo.pop()
        if "lineno" in node._attributes:
            if getattr(node, "lineno", None) is not None:
                continue
            node.__dict__.update(place)
        todo += children(node)
    return tree
