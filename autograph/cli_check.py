"""`autograph check FILE`: whether conversion handles each function of a file, without calling any.

In: a Python file, which is imported.  Out: one line per function, and the lines that keep one from being
converted.  Always holds: what is listed as converted has been converted; nothing was traced.
"""

from __future__ import annotations

import ast
import functools
import pathlib
import types
from collections.abc import Iterator
from typing import Any

import autograph as ag
from autograph.cli_target import CliError, file_module, one_line


def check_file(place: str, *, every: bool = False) -> tuple[str, int]:
    """The report on a file, and how many of its functions are left to Python.

    every: show all statements, not only those that keep a function from being converted.
    """
    path = pathlib.Path(place)
    if path.suffix != ".py":
        raise CliError(f"{place} is not a Python file (FILE.py)")
    module = file_module(place)
    functions = functions_of(module, path.resolve())
    lines, refused = [], 0
    for function in functions:
        told = ag.explain(function)
        bad = any(s.how == "python" for s in told.statements) and "is converted" not in told.summary
        refused += bad
        why = told.summary.partition("runs as plain Python: ")[2]
        verdict = f"Python: {why}" if bad else "converted"
        lines.append(f"{place}:{told.line} {told.name}: {verdict}")
        lines += [str(s) for s in told.statements if every or s.reason]
    known = {f.__code__.co_firstlineno for f in functions}
    lines += [
        f"{place}:{line} {name}: not found in the module: it was replaced or deleted"
        for line, name in definitions(path)
        if line not in known
    ]
    done = len(functions) - refused
    lines.append(f"{len(functions)} functions: {done} converted, {refused} left to Python")
    return "\n".join(lines), refused


def functions_of(module: types.ModuleType, path: pathlib.Path) -> list[types.FunctionType]:
    """The functions that a file defines and that can be reached from its module, in the order of the text."""
    found: dict[types.CodeType, types.FunctionType] = {}
    seen: set[int] = set()
    todo: list[Any] = list(vars(module).values())
    while todo:
        thing = todo.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, type):
            todo += vars(thing).values() if thing.__module__ == module.__name__ else ()
        elif isinstance(thing, types.FunctionType):
            if pathlib.Path(thing.__code__.co_filename).resolve() == path:
                found[thing.__code__] = thing
            todo += inside(thing)
        else:
            todo += inside(thing)
    return sorted(found.values(), key=lambda f: f.__code__.co_firstlineno)


def inside(thing: Any) -> Iterator[Any]:
    """The functions that a decorator or descriptor holds."""
    if isinstance(thing, (staticmethod, classmethod)):
        yield thing.__func__
    elif isinstance(thing, property):
        yield from (f for f in (thing.fget, thing.fset, thing.fdel) if f is not None)
    elif isinstance(thing, (functools.cached_property, functools.partial)):
        yield thing.func
    elif callable(thing):
        # Looked up in the object's own dict: a module may hold anything, and asking may run its code.
        held = getattr(thing, "__dict__", None)
        yield from (held[k] for k in ("__wrapped__",) if isinstance(held, dict) and k in held)


def definitions(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """First line and name of each function of a module or class; those inside functions belong to these."""
    try:
        todo: list[tuple[ast.AST, str]] = [(ast.parse(path.read_bytes()), "")]
    except SyntaxError as error:  # it was imported, so this is an exotic encoding at most
        raise CliError(f"{path} can't be read: {one_line(error)}") from error
    while todo:
        node, prefix = todo.pop(0)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                decorators = (d.lineno for d in child.decorator_list)
                yield min([child.lineno, *decorators]), prefix + child.name
            elif isinstance(child, ast.ClassDef):
                todo.append((child, f"{prefix}{child.name}."))
            elif isinstance(child, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
                todo.append((child, prefix))
