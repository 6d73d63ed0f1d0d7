"""Pickling of polymorphic functions: by reference, or by the Python function and the options.

In: names and functions.  Out: what a pickle holds, and `remade`, which another process calls.
What always holds: traces are not pickled; the other process makes its own.
"""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Callable
from typing import Any


def found_as(module: str, qualname: str) -> Any:
    """What is found under this name; None for nothing."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def found_as_plain(function: Any) -> bool:
    """Whether pickle can hand a callable over: a function by its name, anything else by its state."""
    if not isinstance(function, types.FunctionType):
        return True
    return found_as(function.__module__, function.__qualname__) is function


def cloud() -> bool:
    """Whether cloudpickle is at work: it hands functions over by value where the other side can't find them.

    A pickler says nothing of itself to what it pickles, so its frame is looked for.
    """
    above: types.FrameType | None = sys._getframe(1)
    while above is not None:
        if str(above.f_globals.get("__name__", "")).partition(".")[0] == "cloudpickle":
            return True
        above = above.f_back
    return False


def by_value(module: str) -> bool:
    """Whether cloudpickle hands over by value what it finds in this module: a script's own, or as told."""
    listed: Callable[[], set[str]] = getattr(
        sys.modules.get("cloudpickle"), "list_registry_pickle_by_value", set
    )
    names = {module.rsplit(".", n)[0] for n in range(module.count(".") + 1)}
    return module == "__main__" or not names.isdisjoint(listed())


def source_file(function: Any) -> tuple[str, str]:
    """Name and text of the file that a function was written in; the other process may not have it."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType):
        return "", ""
    return code.co_filename, "".join(linecache.getlines(code.co_filename))


def remade(
    make: Callable[..., Any], function: Any, options: dict[str, Any], file: str = "", text: str = ""
) -> Any:
    """The function of a pickle, made anew; its source file is known from now on."""
    if file and text and not linecache.getlines(file):
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    inner = function.__func__ if isinstance(function, types.MethodType) else function
    if file and isinstance(inner, types.FunctionType) and inner.__code__.co_filename != file:
        inner.__code__ = _written_in(inner.__code__, file)
    return make(function, **options)


def _written_in(code: types.CodeType, file: str) -> types.CodeType:
    """The code with the name of the file it was written in: some picklers take it away."""
    consts = tuple(_written_in(c, file) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=file, co_consts=consts)
