"""From a converted tree to a function: the text is printed, compiled and bound to the user's variables.

In: the converted definition, the source that it came from.  Out: `Generated`, the code with its text and
origins; `bind` makes functions of it.
What always holds: nothing is executed while loading; globals are read where the user's function reads them
(no copies), free variables through the cells that are given; the namespace of the operators is one free
variable more.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from typing import Any

import gast

from autograph.codes import FunctionNode, compile_function, named_as_written, nested, nodes_of_codes, walk
from autograph.origin import Origin, generated_filename, register, trace_origin
from autograph.source import Source
from autograph.trees import to_ast
from autograph.unparse import unparse
from runtime.dataclass import dataclass
from runtime.errors import GraphError
from runtime.syntax import parse

# What a function carries besides its code, and what `functools.wraps` would not copy all of.
_METADATA = ("__name__", "__qualname__", "__doc__", "__module__", "__type_params__")


@dataclass(frozen=True, eq=False)
class Generated:
    """The generated form of one code object; it refers to no function of the user's, so it keeps none alive.

    source: the text; filename: its name in linecache; tree: the converted `gast` tree; code: what runs.
    freevars: the free variables for which `bind` wants cells; ag: the name of the one that it adds.
    boxed_free: those of them whose cells must hold a `runtime.boxes.Cell` instead of the value.
    originals: generated code object of a user's nested function -> the code object that Python made of it.
    islands: the lines that stay as they are written, with the reasons.
    """

    source: str
    filename: str
    tree: gast.FunctionDef
    code: types.CodeType
    freevars: tuple[str, ...]
    ag: str
    boxed_free: frozenset[str]
    origin: Origin
    originals: Mapping[types.CodeType, types.CodeType]
    islands: tuple[Any, ...] = ()


def load(
    tree: gast.FunctionDef,
    source: Source,
    *,
    ag: str = "ag",
    boxed_free: frozenset[str] = frozenset(),
    islands: tuple[Any, ...] = (),
) -> Generated:
    """Print and compile a converted definition; `ag` is the name by which it calls the operators."""
    original = source.function.__code__
    located = to_ast(tree)
    text = unparse(located)
    printed = parse(text).body[0]
    if not isinstance(printed, ast.FunctionDef):
        raise GraphError(f"{original.co_name} was converted to a {type(printed).__name__}, not a definition")
    free = tuple(dict.fromkeys((*original.co_freevars, ag)))
    filename = generated_filename(tree.name)
    qualname = source.function.__qualname__
    code = compile_function(printed, free, original, filename, qualname=qualname)
    origin = trace_origin(located, printed, source.definition, source.file, original.co_name)
    of_user = dict(origin.functions)
    found = nodes_of_codes(code, printed)
    helpers = [inner for inner, node in found if node not in of_user]
    if any(map(nested, helpers)):
        new = named_as_written(code, frozenset(helpers), qualname)
        code, found = new[code], [(new[inner], node) for inner, node in found]
    originals = _originals(found, of_user, source)
    register(filename, text, origin, list(walk(code)), [code, *originals])
    wanted = tuple(name for name in code.co_freevars if name != ag)
    return Generated(text, filename, tree, code, wanted, ag, boxed_free, origin, originals, islands)


def _originals(
    found: list[tuple[types.CodeType, FunctionNode]],
    of_node: dict[FunctionNode, FunctionNode],
    source: Source,
) -> dict[types.CodeType, types.CodeType]:
    """Match generated and original code objects through the nodes that both were compiled from."""
    if not of_node:
        return {}
    of_user = {node: inner for inner, node in nodes_of_codes(source.function.__code__, source.definition)}
    return {inner: of_user[mine] for inner, node in found if (mine := of_node.get(node)) in of_user}


def bind(
    generated: Generated,
    original: types.FunctionType,
    namespace: object,
    globals_: dict[str, Any],
    cells: Mapping[str, types.CellType],
    defaults: tuple[Any, ...] | None,
    kwdefaults: dict[str, Any] | None,
) -> types.FunctionType:
    """A function over the generated code with these globals, cells and defaults, otherwise like `original`.

    cells: by name; those of `generated.boxed_free` names hold a box.
    namespace: what generated code calls `ag`.
    """
    missing = [name for name in generated.freevars if name not in cells]
    if missing:
        raise GraphError(f"no cell was given for {', '.join(missing)} of {original.__qualname__}")
    closure = tuple(
        types.CellType(namespace) if name == generated.ag else cells[name]
        for name in generated.code.co_freevars
    )
    made = types.FunctionType(generated.code, globals_, original.__name__, defaults, closure)
    made.__kwdefaults__ = kwdefaults
    for name in _METADATA:
        if hasattr(original, name):
            setattr(made, name, getattr(original, name))
    made.__annotations__ = dict(original.__annotations__)
    made.__dict__.update(original.__dict__)
    return made
