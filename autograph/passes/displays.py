"""Displays of lists, dicts and sets make run-time objects: `ag.list_(...)`.

In: code in which loops and logic are operators already.  Out: the same with operators for displays.
Displays that are used up where they stand stay as written: arguments of NumPy functions, what a loop
runs over, the right side of `in`, an index.  `np.c_` and its like compute with what is in the index, so they
are called: `ag.keyed(np.c_)[...]`.  A star in a display or call takes its value apart by
`ag.unpack`; displays with one are never left as written.
"""

from __future__ import annotations

import collections
from typing import Any

import gast
import numpy as np

from autograph.passes.context import Work
from autograph.passes.walk import Rewriter
from autograph.template import constant, locate, tuple_of
from autograph.trees import walk

USED_UP = {
    "for_loop": 0,
    "list_comp": 1,
    "set_comp": 1,
    "dict_comp": 1,
    "generator": 1,
    "in_": 1,
    "not_in": 1,
    "unpack": 0,
}
COMPUTED = {type(x) for x in (np.c_, np.r_, np.mgrid, np.ogrid)}  # their items are computed from their keys


def displays(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite every display in the tree."""
    _Displays(work).visit(root)
    return root


class _Displays(Rewriter):
    def __init__(self, work: Work) -> None:
        self.work = work
        self.kept: set[gast.AST] = set()
        # starred parts behind which others may run code, or raise; whether they are parts of a set
        self.early: dict[gast.AST, bool] = {}
        self.varargs: set[str] = set()
        self.bindings = collections.Counter(
            part.id
            for part in walk(work.root)
            if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Load)
        )

    def visit_FunctionDef(self, node: Any) -> Any:
        return self.scoped(node)

    def visit_Lambda(self, node: Any) -> Any:
        return self.scoped(node)

    def scoped(self, node: Any) -> Any:
        """A function; the star parameter is a plain tuple and needs no taking apart."""
        name = node.args.vararg.id if node.args.vararg is not None else None
        if name is None or name in self.varargs or self.bindings[name] > 1:
            return self.generic(node)
        self.varargs.add(name)
        self.generic(node)
        self.varargs.remove(name)
        return node

    def look_behind(self, parts: list[Any], of_set: bool = False) -> None:
        """Note the starred parts that must be taken apart before what follows is evaluated."""
        plain = True
        for part in reversed(parts):
            if isinstance(part, gast.Starred) and not plain:
                self.early[part] = of_set
            value = part.value if isinstance(part, gast.Starred) else part
            plain = plain and _is_plain(value)

    def visit_Call(self, node: Any) -> Any:
        if len(node.args) > 1:  # Python takes a star that stands alone apart last of all
            self.look_behind([*node.args, *(keyword.value for keyword in node.keywords)])
        func = node.func
        operator = (
            func.attr
            if isinstance(func, gast.Attribute)
            and isinstance(func.value, gast.Name)
            and (func.value.id == self.work.ctx.ag)
            else None
        )
        if operator in USED_UP and len(node.args) > USED_UP[operator]:
            self.kept.add(node.args[USED_UP[operator]])
        elif operator is None and self.work.is_numpy(func):
            for arg in (*node.args, *(keyword.value for keyword in node.keywords)):
                self.keep(arg)
        return self.generic(node)

    def keep(self, node: Any) -> None:
        """Leave a list and the lists and tuples in it as written."""
        if isinstance(node, (gast.List, gast.Tuple)):
            self.kept.add(node)
            for part in node.elts:
                self.keep(part)

    def visit_Subscript(self, node: Any) -> Any:
        self.keep(node.slice)
        computed = isinstance(node.ctx, gast.Load) and type(self.work.resolved(node.value)) in COMPUTED
        self.generic(node)
        if computed:
            node.value = locate(self.work.ag("keyed", node.value), node)
        return node

    def visit_List(self, node: Any) -> Any:
        self.look_behind(node.elts)
        self.generic(node)
        kept = node in self.kept and not self.work.spreads(node.elts)
        if kept or not isinstance(node.ctx, gast.Load):
            return node
        return locate(self.work.ag("list_", *node.elts), node)

    def visit_Set(self, node: Any) -> Any:
        self.look_behind(node.elts, True)
        self.generic(node)
        kept = node in self.kept and not self.work.spreads(node.elts)
        if kept:
            return node
        if len(node.elts) > 2 and all(map(_is_constant, node.elts)):
            return locate(self.work.ag("set_", of=node), node)
        return locate(self.work.ag("set_", *node.elts), node)

    def visit_Tuple(self, node: Any) -> Any:
        self.look_behind(node.elts)
        self.generic(node)
        if not isinstance(node.ctx, gast.Load) or not self.work.spreads(node.elts):
            return node
        return locate(self.work.ag("tuple_", *node.elts), node)

    def visit_Dict(self, node: Any) -> Any:
        self.generic(node)
        if node in self.kept:
            return node
        parts: list[gast.AST] = []
        pairs: list[gast.AST] = []
        for number, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is not None:
                pairs.append(tuple_of([key, value]))
                continue
            parts += [self.pairs(pairs)] if pairs else []
            # what comes behind may run code, or raise: by then the mapping has been read
            alone = all(map(_is_plain, node.keys[number + 1 :])) and all(
                map(_is_plain, node.values[number + 1 :])
            )
            parts.append(value if alone else locate(self.work.ag("dict_merge", value), value))
            pairs = []
        if not parts:
            return locate(self.pairs(pairs), node)
        parts += [self.pairs(pairs)] if pairs else []
        return locate(self.work.ag("dict_merge", *parts), node)

    def pairs(self, pairs: list[gast.AST]) -> gast.AST:
        return self.work.ag("dict_", tuple_of(pairs)) if pairs else self.work.ag("dict_")

    def visit_Starred(self, node: Any) -> Any:
        self.generic(node)
        value = node.value
        if not isinstance(node.ctx, gast.Load) or isinstance(value, gast.Tuple):
            return node
        if isinstance(value, gast.Name) and value.id in self.varargs:
            return node
        if (
            isinstance(value, gast.Call)
            and isinstance(value.func, gast.Attribute)
            and value.func.attr in ("unpack", "spread")
        ):
            return node
        operator = "spread" if node in self.early else "unpack"
        told = [constant(True)] if self.early.get(node) else []
        node.value = locate(self.work.ag(operator, value, *told), node)
        return node


def _is_constant(node: Any) -> bool:
    """Whether Python makes a constant of it."""
    kinds = (
        gast.Constant,
        gast.UnaryOp,
        gast.BinOp,
        gast.Tuple,
        gast.unaryop,
        gast.operator,
        gast.expr_context,
    )
    return all(isinstance(part, kinds) for part in walk(node))


def _is_plain(node: Any) -> bool:
    """Whether evaluating the node runs nothing and can't raise."""
    return node is None or isinstance(node, (gast.Name, gast.Constant, gast.Lambda))
