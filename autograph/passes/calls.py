"""Calls that may need interception become `ag.call(f, ...)`; the others stay as written.

In: a tree in which everything else is rewritten.  As written stay: calls of operators, NumPy functions
that hand over to their arguments and give immutable results for immutable ones (ufuncs, reductions),
methods of arrays and containers, and inner functions that are bound once, outside their own bodies.
"""

from __future__ import annotations

from typing import Any

import gast
import numpy as np

from autograph.passes.context import Work
from autograph.passes.walk import Rewriter
from autograph.template import constant, locate, tuple_of
from autograph.trees import walk

# Methods of tuples, texts and bytes are left out: those can be static and would then meet a traced argument.
METHODS = frozenset(
    name for kind in (np.ndarray, list, dict, set) for name in dir(kind) if not name.startswith("_")
) - frozenset(name for kind in (str, bytes, tuple) for name in dir(kind))

REDUCTIONS = frozenset(
    getattr(np, name)
    for name in (
        "sum",
        "prod",
        "mean",
        "std",
        "var",
        "median",
        "max",
        "min",
        "amax",
        "amin",
        "any",
        "all",
        "argmax",
        "argmin",
        "count_nonzero",
        "ptp",
        "nansum",
        "nanprod",
        "nanmean",
        "nanstd",
        "nanvar",
        "nanmax",
        "nanmin",
        "average",
        "vdot",
        "trace",
        "real",
        "imag",
        "round",
        "around",
        "angle",
        "sinc",
        "i0",
    )
)
# Functions of this package that look at their arguments, so that they are called when the graph runs.
AT_RUN_TIME = frozenset({"vjp", "jvp", "jacobian", "hessian", "check_grads", "checkpoint", "custom_gradient"})


def calls(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite the calls of the tree."""
    _Calls(work).visit(root)
    return root


class _Calls(Rewriter):
    def __init__(self, work: Work) -> None:
        self.work = work
        self.defined: set[str] = set()

    def visit_FunctionDef(self, node: Any) -> Any:
        self.generic(node)
        self.defined.add(node.name)
        return node

    def visit_Call(self, node: Any) -> Any:
        self.generic(node)
        spread = [word for word in node.keywords if word.arg is None]
        if not spread and self.as_written(node):
            return node
        for word in spread:
            word.value = locate(self.work.ag("keywords", word.value), node)
        if spread and len(node.keywords) > 1:
            named = self.grouped(node.keywords)
            return locate(self.work.ag("call_with", node.func, tuple_of(node.args), *named), node)
        made = self.work.ag("call", node.func, *node.args)
        made.keywords = node.keywords
        return locate(made, node)

    def grouped(self, keywords: list[Any]) -> list[gast.AST]:
        """Keywords from several places as dicts, in order: each holds what is there when Python looks."""
        done: list[Any] = []
        before: Any = None
        for word in keywords:
            if word.arg is None or before is None or before.arg is None:
                done.append(gast.Dict(keys=[], values=[]))
            done[-1].keys.append(None if word.arg is None else constant(word.arg))
            done[-1].values.append(word.value)
            before = word
        return done

    def visit_Attribute(self, node: Any) -> Any:
        self.generic(node)
        if not isinstance(node.ctx, gast.Load) and self.may_be_function(node.value):
            node.value = locate(self.work.ag("settable", node.value), node.value)
        special = node.attr.startswith("__") and node.attr.endswith("__")
        if not (special or node.attr == "_field_defaults") or not isinstance(node.ctx, gast.Load):
            return node
        # a handle has special attributes of its own, found in place of those of what it stands for; and what
        # the class of a named tuple holds may be no constant, as the class is
        return locate(self.work.ag("attribute", node.value, gast.Constant(value=node.attr, kind=None)), node)

    def may_be_function(self, owner: Any) -> bool:
        """Whether what an attribute is set on may be a function, as far as its text shows."""
        return not isinstance(owner, gast.Name) or owner.id not in self.work.boxes | {"self", "cls"}

    def as_written(self, node: Any) -> bool:
        """Whether the call needs no interception."""
        func = node.func
        if isinstance(func, gast.Lambda):
            return True
        if isinstance(func, gast.Attribute) and func.attr in AT_RUN_TIME and self.is_operators(func.value):
            return False
        if self.work.spreads(node.args):
            return isinstance(func, gast.Attribute) and self.is_operators(func.value)
        if isinstance(func, gast.Name) and func.id in self.work.direct:
            return func.id in self.defined
        if self.work.is_numpy(func):
            value = self.work.resolved(func)
            known = isinstance(value, np.ufunc) or value in REDUCTIONS
            if any(isinstance(arg, (gast.List, gast.Tuple)) for arg in node.args):
                return False  # NumPy would look for bare numbers in the display
            # Of known values the function itself would be called, while tracing, with a warning lost.
            return known and not (self.work.ctx.careful or all(is_static(arg) for arg in node.args))
        if not isinstance(func, gast.Attribute):
            return False
        if self.is_operators(func.value):
            return True
        if isinstance(func.value, gast.Name) and (
            func.value.id == self.work.ctx.ag or func.value.id in self.work.boxes and func.attr == "set"
        ):
            return True
        if func.attr not in METHODS:
            return False
        receiver = self.work.resolved(
            func.value
        )  # a global module, class or object may have methods of such names
        return receiver is self.work.ctx.missing or isinstance(receiver, (np.ndarray, list, dict, set))

    def is_operators(self, owner: gast.AST) -> bool:
        """Whether the expression is the namespace of the operators, or of the makers of patterns in it."""
        if isinstance(owner, gast.Attribute) and owner.attr == "pattern":
            owner = owner.value
        named = isinstance(owner, gast.Name) and owner.id == self.work.ctx.ag
        return named and self.work.ctx.ag not in self.work.bound_names


def is_static(node: Any) -> bool:
    """Whether the expression is made of literals only."""
    return all(
        isinstance(
            part,
            (
                gast.Constant,
                gast.Tuple,
                gast.List,
                gast.UnaryOp,
                gast.operator,
                gast.unaryop,
                gast.BinOp,
                gast.expr_context,
            ),
        )
        for part in walk(node)
    )
