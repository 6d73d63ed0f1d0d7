"""Where the user's code is: on the stack, and in a traceback.

In: frames and traceback entries.  Out: `Span`s.  What always holds: frames of this project and of NumPy are
never taken for the user's; nothing is kept of a frame.
"""

from __future__ import annotations

import dataclasses
import functools
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard, TypeVar

import numpy as np

from runtime.errors import Span

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OWN = tuple(os.path.join(_HERE, name) + os.sep for name in ("runtime", "autograph"))
# `warnings` takes files with these words in their names for a part of the import system, and does not count
# their frames as levels.
_UNCOUNTED = "importlib _bootstrap"
# Of functions that are written for the dispatch of calls.
ENTRY_FILE = f"<autograph entry, no level to warnings: {_UNCOUNTED}>"
MOST = 512  # code objects of which something is remembered, for each thing
R = TypeVar("R")
C = TypeVar("C", bound=Callable[..., Any])
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep


@functools.lru_cache(maxsize=1024)
def is_own(filename: str) -> bool:
    """Whether the file is one of this project's."""
    return not filename.startswith("<") and os.path.abspath(filename).startswith(_OWN)


@functools.lru_cache(maxsize=1024)
def is_users(filename: str) -> bool:
    """Whether the file is neither this project's nor NumPy's."""
    return (
        filename != ENTRY_FILE and not is_own(filename) and not os.path.abspath(filename).startswith(_NUMPY)
    )


def frames(until: types.CodeType | None = None) -> Iterator[types.FrameType]:
    """The user's frames, the innermost first; none behind a frame of the code `until`."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not until:
        if is_users(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def depth() -> int:
    """How many frames stand between here and the user's code, the caller's own included."""
    frame: types.FrameType | None = sys._getframe(1)
    count = 0
    while frame is not None and not is_users(frame.f_code.co_filename):
        count, frame = count + 1, frame.f_back
    return count


def by_code(make: Callable[[types.CodeType], R]) -> Callable[[types.CodeType], R]:
    """The function, its results kept by which code object it is: to tell whether two are equal takes long."""
    known: dict[int, tuple[types.CodeType, R]] = {}

    @functools.wraps(make)
    def kept(code: types.CodeType) -> R:
        found = known.get(id(code))
        if found is None:
            while len(known) >= MOST:
                known.pop(next(iter(list(known)), 0), None)
            found = known[id(code)] = code, make(code)
        return found[1]

    return kept


@by_code
def positions(code: types.CodeType) -> tuple[tuple[int | None, ...], ...]:
    """(line, last line, column, last column) of each instruction; nothing before Python 3.11."""
    return tuple(code.co_positions()) if hasattr(code, "co_positions") else ()


def span_of(code: types.CodeType, instruction: int, line: int | None, caller: Span | None = None) -> Span:
    """The place of an instruction in the file that it was compiled from."""
    column = 0
    line = line or code.co_firstlineno
    if instruction >= 0 and len(known := positions(code)) > instruction // 2:
        first, _, start, _ = known[instruction // 2]
        if first == line and start:
            text = linecache.getline(code.co_filename, line)
            column = start if text.isascii() else len(text.encode()[:start].decode(errors="ignore"))
    return Span(code.co_filename, line, column, code.co_name, caller)


def _text(filename: str) -> str:
    return "".join(linecache.getlines(filename))


def uncounted(function: C) -> C:
    """The function, whose frame is no level to `warnings`: it stands between a caller and the user's code."""
    code: types.CodeType = function.__code__
    name = f"{code.co_filename} ({_UNCOUNTED})"
    source = functools.partial(_text, code.co_filename)
    linecache.cache.setdefault(name, (source,))  # asked when a traceback shows it
    function.__code__ = code.replace(co_filename=name)
    return function


_modules: dict[str, str] = {}  # of files whose modules don't tell them: cells of notebooks


def tell_module(function: types.FunctionType) -> None:
    """Remember by the name of its module what the file with a function of the user's belongs to."""
    filename, name = function.__code__.co_filename, function.__globals__.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if filename not in _modules and module is not None and vars(module) is function.__globals__:
        while len(_modules) >= MOST:
            _modules.pop(next(iter(list(_modules)), ""), None)
        _modules[filename] = module.__name__


def module_of(filename: str) -> types.ModuleType | None:
    """The module that was loaded from a file, if any."""
    known = sys.modules.get(_modules.get(filename, ""))
    return known if isinstance(known, types.ModuleType) else _loaded_from(filename)


_names: dict[str, str] = {}  # of modules by file: one that is dropped is not kept, one loaded anew is found


def _loaded_from(filename: str) -> types.ModuleType | None:
    if _is_from(module := sys.modules.get(_names.get(filename, "")), filename):
        return module
    for name, module in list(sys.modules.items()):
        if _is_from(module, filename):
            if len(_names) >= MOST:
                _names.clear()
            _names[filename] = name
            return module
    return None


def _is_from(module: object, filename: str) -> TypeGuard[types.ModuleType]:
    return isinstance(module, types.ModuleType) and module.__dict__.get("__file__") == filename


def place(function: object) -> Span | None:
    """Where a function begins, its decorators included; None for what is no Python function."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return span_of(code, -1, code.co_firstlineno) if isinstance(code, types.CodeType) else None


_place_of_plan: Callable[[types.FrameType], Span | None] | None = None
_role_of_code: Callable[[types.CodeType], str] | None = None


def tell_places(of: Callable[[types.FrameType], Span | None], role: Callable[[types.CodeType], str]) -> None:
    """Give the functions that say which of the user's lines a frame of generated code is at, and what it is.

    role: "" for code that is not generated, "part" for a part of the user's function around it, else "whole".
    """
    global _place_of_plan, _role_of_code
    _place_of_plan, _role_of_code = of, role


def is_generated(code: types.CodeType) -> bool:
    """Whether code is not the user's as it stands, wherever it says that it stands."""
    return _role_of_code is not None and bool(_role_of_code(code))


Level = tuple[str, int, dict[str, Any]]  # file, line, globals


def levels(frame: types.FrameType | None) -> Iterator[Level]:
    """The user's frames from this one outwards, as they would stand on the stack in plain Python."""
    part: Span | None = None  # in the innermost function that is still to come, for its part was seen
    while frame is not None:
        code, outer = frame.f_code, frame.f_back
        role = _role_of_code(code) if _role_of_code is not None else ""
        if not role:
            if not is_own(code.co_filename) and not _is_internal(code.co_filename):
                part = None
                yield code.co_filename, frame.f_lineno, frame.f_globals
        else:
            assert _place_of_plan is not None
            chain = list(_outwards(_place_of_plan(frame)))
            same = (k for k, span in enumerate(chain) if same_function(part, span))
            for span in chain[next(same, -1) + 1 :]:
                module = module_of(span.file)
                yield span.file, span.line, frame.f_globals if module is None else vars(module)
            if chain:
                part = chain[-1] if role == "part" else None
        frame = outer


def _is_internal(filename: str) -> bool:
    return "importlib" in filename and "_bootstrap" in filename


def _outwards(span: Span | None) -> Iterator[Span]:
    while span is not None:
        yield span
        span = span.caller


def same_function(a: Span | None, b: Span) -> bool:
    """Whether two places are in the same function."""
    return a is not None and (a.file, a.function) == (b.file, b.function)


def _span_of_frame(frame: types.FrameType, caller: Span | None) -> Span:
    """The user's line that a frame is at, that of a plan with a text of its own included."""
    code, place = frame.f_code, None
    if _place_of_plan is not None and code.co_filename.startswith("<plan "):
        place = _place_of_plan(frame)
    if place is None:
        return span_of(code, frame.f_lasti, frame.f_lineno, caller)
    return place if place.caller is not None else dataclasses.replace(place, caller=caller)


def span_here(until: types.CodeType | None = None) -> Span | None:
    """The user's line that is being run, with those it was called from; `until` as in `frames`."""
    span = None
    for frame in reversed(list(frames(until))):
        span = _span_of_frame(frame, span)
    return span


def span_of_error(error: BaseException) -> Span | None:
    """The user's line that raised the error, or called what raised it."""
    found = None
    entry = error.__traceback__
    while entry is not None:
        if is_users(entry.tb_frame.f_code.co_filename):
            found = entry
        entry = entry.tb_next
    return None if found is None else span_of(found.tb_frame.f_code, found.tb_lasti, found.tb_lineno)
