"""Converts a function by the passes alone and runs the result: shared by the tests of the passes."""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import inspect
import io
import re
import textwrap
import types
from typing import Any, Callable

import gast
import numpy as np

import autograph
from autograph.passes.pipeline import Context, Conversion, convert_function
from runtime.boxes import Cell
from tests.autograph import plain_ag

MISSING = object()


def tree_of(source: str | Callable) -> Any:
    """The gast tree of the one function in a text, or of a function."""
    text = source if isinstance(source, str) else inspect.getsource(source)
    module = gast.parse(textwrap.dedent(text))
    return next(node for node in module.body if isinstance(node, gast.FunctionDef))


def conversion(source: str | Callable, names: dict[str, Any] | None = None) -> Conversion:
    """The function after all passes; `names` are what is known of the outer names."""
    known = {**vars(builtins), "np": np, **(names or {})}
    if callable(source):
        known = {**vars(builtins), **source.__globals__}
        cells = zip(source.__code__.co_freevars, source.__closure__ or ())
        known |= {name: cell.cell_contents for name, cell in cells}
    return convert_function(
        tree_of(source), Context(lambda name: known.get(name, MISSING), MISSING, "<user>")
    )


def text_of(node: Any) -> str:
    """The text of a converted function."""
    module = gast.gast_to_ast(gast.Module(body=[node], type_ignores=[]))
    return ast.unparse(ast.fix_missing_locations(module))


def printed(text: str) -> str:
    """A text as this Python's `ast` prints it: 3.10 sets other parentheses."""
    return ast.unparse(ast.parse(textwrap.dedent(text)))


def converted(function: Callable, operators: types.ModuleType = plain_ag) -> Callable:
    """The converted function, over the same globals and cells."""
    made = conversion(function)
    node = made.node
    node.decorator_list = []
    node.args.defaults = [gast.Constant(value=None, kind=None) for _ in node.args.defaults]
    node.args.kw_defaults = [
        default and gast.Constant(value=None, kind=None) for default in node.args.kw_defaults
    ]
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    free = [f"{name} = None" for name in cells]
    text = "\n    ".join(["def factory():", *free, *text_of(node).splitlines(), f"return {node.name}"])
    # What only matters under a trace (imports, special attributes) has no double.
    space = types.SimpleNamespace(**{**vars(autograph), **vars(operators)})
    space.global_cell = lambda name: plain_ag._GlobalBox(name, function.__globals__)
    code = compile(text, "<converted>", "exec")
    scope = {**function.__globals__, "ag": space}
    exec(code, scope)
    inner = scope["factory"]()
    boxed = {
        name: types.CellType(Cell(name, cell=cell)) if name in made.boxed_free else cell
        for name, cell in cells.items()
    }
    closure = tuple(boxed[name] for name in inner.__code__.co_freevars)
    globals_ = _Space(function.__globals__)
    globals_["ag"] = space
    result = types.FunctionType(inner.__code__, globals_, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    return result


class _Space(dict):
    """A module's names plus `ag`; reads of names bound later see the module."""


def outcome(function: Callable, args: tuple, kwargs: dict[str, Any] | None = None) -> tuple:
    """What a call does: result or error, printed text, and the arguments afterwards."""
    args, kwargs = copy.deepcopy((args, kwargs or {}))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result: Any = ("returns", function(*args, **kwargs))
        except Exception as error:
            lost = re.search("cannot access (?:local|free) variable|referenced before assignment", str(error))
            kind = "no value" if lost else type(error).__name__  # Python words it by the kind of variable
            result = ("raises", kind, str(error).split("'")[1] if lost else str(error), repr(error.__cause__))
    return repr(result), printed.getvalue(), repr(args), repr(kwargs)
