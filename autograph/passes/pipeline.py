"""All source rewrites of one function, in order.

In: the gast tree of a function or lambda and its `Context`.  Out: a `Conversion`, or `ConversionRefused`
for a construct that is not rewritten; then the function runs as plain Python.  The given tree is left
as it is.  Every node of the result has the place of the user's node it stands for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import gast

from autograph.passes.branches import branches
from autograph.passes.calls import calls
from autograph.passes.careful import careful
from autograph.passes.cells import cells
from autograph.passes.comprehensions import comprehensions
from autograph.passes.context import Context, Conversion, Work
from autograph.passes.contexts import contexts
from autograph.passes.desugar import desugar
from autograph.passes.displays import displays
from autograph.passes.exits import exits
from autograph.passes.fence import fence
from autograph.passes.islands import islands
from autograph.passes.jumps import jumps
from autograph.passes.logic import logic
from autograph.passes.loops import loops
from autograph.passes.matches import matches
from autograph.passes.opaque import hide, show
from autograph.passes.raises import raises
from autograph.passes.returns import returns
from autograph.passes.texts import texts
from autograph.passes.tries import shared, tries
from autograph.passes.unbound import unbound
from autograph.template import clone, function, locate
from autograph.trees import walk
from runtime.errors import ConversionRefused, Span

Pass = Callable[[Any, Work], Any]

PIPELINE: tuple[tuple[str, Pass, str], ...] = (
    ("islands", islands, "statements that stay Python are cut out first; they are closed from then on"),
    ("hide", hide, "what stays as it is written is closed first, so that nothing looks inside"),
    ("fence", fence, "what is refused is refused before anything changes"),
    ("matches", matches, "they become ifs, so before anything that looks at statements"),
    ("contexts", contexts, "try and with in normal form, before anything looks at the names in them"),
    ("desugar", desugar, "fewer forms for all that follow"),
    ("cells", cells, "sharing is judged on the user's own scopes, before helpers add theirs"),
    ("comprehensions", comprehensions, "their scopes become lambdas; the names in them are boxed by now"),
    ("exits", exits, "what leaves a loop or try from inside is a flag and a break, so before the jumps"),
    ("jumps", jumps, "loops that run to their end, so that the returns left stand in ifs only"),
    ("returns", returns, "returns at the end, so that all code is structured from here on"),
    ("shared by tries", shared, "what a try may have changed half way; needs structured code"),
    ("unbound", unbound, "every name exists before it can be an operand; needs structured code"),
    ("branches", branches, "ifs, whose operands are found on structured code"),
    ("loops", loops, "loops after ifs: a loop's body then is straight code"),
    ("tries", tries, "their parts are straight code by now"),
    ("raises", raises, "until here a raise told the analyses that control ends"),
    ("logic", logic, "the tests made by the passes above go through operators too"),
    ("careful", careful, "before texts, which count on operators for what they make of an item"),
    ("texts", texts, "f-strings make calls, so before the calls"),
    ("displays", displays, "loops and tests are operators now and show which displays they use up"),
    ("calls", calls, "last of the rewrites, because passes above make calls"),
    ("show", show, "the printer knows plain functions only"),
)


# Passes that have nothing to do where the user's function has no node of these kinds.
NEEDS: dict[str, frozenset[str]] = {
    "hide": frozenset(["Yield", "YieldFrom", "ClassDef", "AsyncFunctionDef"]),
    "matches": frozenset(["Match"]),
    "contexts": frozenset(["Try", "With"]),
    "comprehensions": frozenset(["ListComp", "SetComp", "DictComp", "GeneratorExp"]),
    "exits": frozenset(["While", "For", "Try", "With"]),
    "jumps": frozenset(["While", "For", "Try", "With"]),
    "shared by tries": frozenset(["Try", "With"]),
    "branches": frozenset(["If", "While", "For", "Try", "With", "Assert", "Match"]),
    "loops": frozenset(["While", "For"]),
    "raises": frozenset(["Raise", "Assert", "Try"]),
    "texts": frozenset(["JoinedStr", "BinOp"]),
    "show": frozenset(["Yield", "YieldFrom", "ClassDef", "AsyncFunctionDef", "Opaque"]),
}

# The tokenizer takes 100 levels of indentation; what loads the function needs a few.
DEEPEST = 90


def convert_carefully(node: gast.AST, ctx: Context) -> Conversion:
    """The functional form of a `def` or `lambda` that has traced indices of tuples and texts."""
    return convert_function(node, dataclasses.replace(ctx, careful=True))


def convert_function(node: gast.AST, ctx: Context) -> Conversion:
    """The functional form of a `def` or `lambda`."""
    try:
        return _converted(node, ctx)
    except RecursionError:
        span = Span(ctx.file, getattr(node, "lineno", 1), getattr(node, "col_offset", 0))
        raise ConversionRefused("the function is nested too deeply to be converted", span=span) from None


def _converted(node: gast.AST, ctx: Context, deepest: int | None = None) -> Conversion:
    root = clone(node)
    if isinstance(root, gast.Lambda):
        made = function("lambda_", (), [locate(gast.Return(value=root.body), root.body)])
        made.args = root.args
        root = locate(made, root)
    work = Work(ctx, root)
    work.deepest = deepest or work.deepest
    root = islands(root, work)
    kinds = {type(root).__name__, *work.kinds}
    if work.islands:  # some of them are there no more
        kinds = {type(part).__name__ for part in walk(root)}
    for name, run, _ in PIPELINE[1:]:
        if name not in NEEDS or NEEDS[name] & kinds:
            root = run(root, work)
    if depth(root) > DEEPEST:
        if deepest is None:
            return _converted(node, ctx, DEEPEST // 3)
        work.refuse(
            node,
            "the function is nested too deeply to be converted",
            "each branch, loop and early return in another is a function in a function",
            "split the function",
        )
    return Conversion(root, work.boxed_free, tuple(work.islands.values()))


def depth(function: gast.FunctionDef) -> int:
    """How many functions stand in one another."""
    inner = [depth(stmt) for stmt in function.body if isinstance(stmt, gast.FunctionDef)]
    return 1 + max(inner, default=0)
