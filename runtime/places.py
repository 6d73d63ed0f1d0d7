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
from typing import TypeVar

import numpy as np

from runtime.errors import Span

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OWN = tuple(os.path.join(_HERE, name) + os.sep for name in ("runtime", "autograph"))
ENTRY_FILE = "<autograph entry>"  # of functions that are written for the dispatch of calls
MOST = 512  # code objects of which something is remembered, for each thing
R = TypeVar("R")
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


@functools.lru_cache(maxsize=256)
def module_of(filename: str) -> types.ModuleType | None:
    """The module that was loaded from a file, if any."""
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType) and module.__dict__.get("__file__") == filename:
            return module
    return None


def place(function: object) -> Span | None:
    """Where a function begins, its decorators included; None for what is no Python function."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return span_of(code, -1, code.co_firstlineno) if isinstance(code, types.CodeType) else None


_place_of_plan: Callable[[types.FrameType], Span | None] | None = None


def tell_places(of: Callable[[types.FrameType], Span | None]) -> None:
    """Give the function that says which of the user's lines a frame of a plan is at."""
    global _place_of_plan
    _place_of_plan = of


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
