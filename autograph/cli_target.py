"""What the command line names: functions and argument values.

In: `FILE.py:function`, `module:function` or `...:Class.method`, and arguments as text.  Out: the object
and the values.  Always holds: whatever is wrong with them ends in one `CliError` of one line; argument
text is never executed, it may only spell literals and arrays.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import inspect
import pathlib
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.function.prefixed import unwrapped

# NumPy names an argument may call or be; nothing here reads files or runs code.
NUMPY_CALLS = ("array", "arange", "linspace", "zeros", "ones", "full", "eye")
_UNREADABLE = {
    "magic string": "it is no .npy file",
    "allow_pickle": "it holds Python objects, which are not loaded",
}
NUMPY_VALUES = ("nan", "inf", "pi", "e")


class CliError(Exception):
    """A mistake in the command, told in one line; the exit status is 2."""


def target(text: str) -> Any:
    """The function, method or `ag.function` object that `text` names."""
    place, colon, name = text.rpartition(":")
    if not colon or not place or not name:
        raise CliError(f"{text!r} does not name a function: write FILE.py:function or module:function")
    module = file_module(place) if place.endswith(".py") else named_module(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            names = [name for name in dir(found) if callable(getattr(found, name, None))]
            near = difflib.get_close_matches(part, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise CliError(f"{place} has no function {name!r}{hint}")
        found = getattr(found, part)
    if not callable(found):
        raise CliError(f"{name!r} in {place} is a {type(found).__name__}, not a function")
    return found


def file_module(place: str) -> types.ModuleType:
    """The module of a Python file, loaded under the file's name with its folder importable."""
    path = pathlib.Path(place)
    if not path.is_file():
        raise CliError(f"{place} is a folder" if path.is_dir() else f"{place}: no such file")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the file is the user's: anything may happen in it
        raise CliError(f"{place} can't be loaded: {raised(error)}") from error
    return module


def named_module(place: str) -> types.ModuleType:
    """An importable module; the current folder counts, as it does for `python -m`."""
    sys.path.insert(0, "")
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(error.name + ".")):
            raise CliError(f"no module named {error.name!r}; a file is written FILE.py:function") from error
        raise CliError(f"module {place} can't be imported: {one_line(error)}") from error
    except (Exception, SystemExit) as error:  # as for files
        raise CliError(f"module {place} can't be imported: {raised(error)}") from error


def python_function(found: Any, text: str) -> Callable[..., Any]:
    """The plain Python function behind what was named, which must have source."""
    plain, _, _ = unwrapped(found)
    plain = inspect.unwrap(plain)
    if not isinstance(plain, types.FunctionType):
        kind = type(plain).__name__.replace("type", "class").replace("_", " ")
        raise CliError(f"{text} has no Python source: it is {'an' if kind[0] in 'aeiou' else 'a'} {kind}")
    try:
        inspect.getsource(plain)
    except (OSError, TypeError) as error:
        raise CliError(f"{text} has no Python source: {one_line(error)}") from error
    return plain


def raised(error: BaseException) -> str:
    """What a module raised, and at which line of the user's."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename]
    last = frames[-1] if frames else None
    here = (
        last is None or last.filename == __file__ or isinstance(error, SyntaxError)
    )  # which says where it is
    line = "" if here or last is None else f" ({pathlib.Path(last.filename).name}:{last.lineno})"
    return f"{type(error).__name__}: {one_line(error)}{line}"


def one_line(error: BaseException) -> str:
    """The first line of an exception's text."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def arguments(texts: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword values; `name=value` is a keyword."""
    positional, keywords = [], {}
    for text in texts:
        name, equals, rest = text.partition("=")
        if equals and name.strip().isidentifier() and not rest.startswith("="):
            keywords[name.strip()] = argument(rest)
        elif keywords:
            raise CliError(f"{text!r} stands after a keyword argument; positional ones come first")
        else:
            positional.append(argument(text))
    return positional, keywords


def argument(text: str) -> Any:
    """One value: a Python literal, an array such as `np.array([1, 2])`, or the content of an .npy file."""
    if text.endswith(".npy"):
        try:
            with open(text, "rb") as file:  # np.load would take any other file for a pickle
                return np.lib.format.read_array(file, allow_pickle=False)
        except FileNotFoundError as error:
            raise CliError(f"{text}: no such file") from error
        except (OSError, ValueError, MemoryError) as error:
            why = next((ours for said, ours in _UNREADABLE.items() if said in str(error)), one_line(error))
            raise CliError(f"{text} can't be read: {why}") from error
    try:
        return spelled(ast.parse(text.strip(), mode="eval").body)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise CliError(
            f"{text!r} is not a value: write a literal (text in quotes), np.array(...), or an .npy file"
        ) from error


def spelled(node: ast.expr) -> Any:
    """The value that an expression of literals and NumPy constructors spells."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=name)):
            maker = getattr(np, name, None)
            if name not in NUMPY_CALLS and not (isinstance(maker, type) and issubclass(maker, np.generic)):
                raise ValueError(name)
            assert callable(maker)
            given = list(map(spelled, node.args))
            named = {k.arg: spelled(k.value) for k in node.keywords if k.arg}
            try:
                return maker(*given, **named)
            except Exception as error:  # NumPy says what is wrong with the arguments
                raise CliError(f"{ast.unparse(node)} can't be made: {one_line(error)}") from error
        case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=name):
            value = getattr(np, name, None)
            if name not in NUMPY_VALUES and not (isinstance(value, type) and issubclass(value, np.generic)):
                raise ValueError(name)
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Attribute() as inner):
            return -spelled(inner)
        case ast.List(elts=items):
            return [spelled(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(spelled(item) for item in items)
        case ast.Dict(keys=keys, values=values):
            return {spelled(k): spelled(v) for k, v in zip(keys, values, strict=True) if k is not None}
    return ast.literal_eval(node)
