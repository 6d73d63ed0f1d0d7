"""Tracebacks that show the user's code in place of generated code.

In: a traceback with frames of generated code (plans, and whatever else has told its places here).  Out: one
in which each such frame is replaced by frames that name the user's file, function and line, inlined callers
too, and in which the frames of this project are left out.  What always holds: the exception object itself,
its cause, context and notes are not touched; nothing is done until something is raised.
"""

from __future__ import annotations

import ast
import os
import types
from collections.abc import Callable, Iterator
from typing import Any

from runtime.config import settings
from runtime.errors import Span

# (code, index of the instruction or -1, line) -> the user's place
Places = Callable[[types.CodeType, int, int], "Span | None"]
_PLACES: dict[str, Places] = {}
_OWN = tuple(
    os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), name) + os.sep
    for name in ("runtime", "autograph")
)


class _Marker(Exception):
    """Raised to make a frame."""


def _raising_code() -> types.CodeType:
    """Code that raises, without columns, so that no caret is printed under the user's line."""
    tree = ast.parse("raise marker")
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.col_offset = node.end_col_offset = -1
    return compile(tree, "<user>", "exec")


_RAISE = _raising_code()


def register(filename: str, places: Places) -> None:
    """Tell where the code compiled under `filename` comes from."""
    _PLACES[filename] = places


def forget(filename: str) -> None:
    """Undo `register`."""
    _PLACES.pop(filename, None)


def rewritten(
    traceback: types.TracebackType | None, *, show_generated: bool | None = None
) -> types.TracebackType | None:
    """The traceback with the user's frames for generated ones.

    show_generated: True leaves it as it is; None asks the settings.
    """
    if settings.show_generated_frames if show_generated is None else show_generated:
        return traceback
    entries: list[tuple[types.FrameType, int, int]] = []
    while traceback is not None:
        entries += _entries(traceback)
        traceback = traceback.tb_next
    result: types.TracebackType | None = None
    for frame, instruction, line in reversed(entries):
        result = types.TracebackType(result, frame, instruction, line)
    return result


def _entries(traceback: types.TracebackType) -> Iterator[tuple[types.FrameType, int, int]]:
    """What stands for one entry."""
    code = traceback.tb_frame.f_code
    places = _PLACES.get(code.co_filename)
    if places is not None:
        span = places(code, traceback.tb_lasti, traceback.tb_lineno)
        chain = []
        while span is not None:
            chain.append(span)
            span = span.caller
        for place in reversed(chain):
            frame, instruction = _frame(place)
            yield frame, instruction, place.line
    elif not os.path.abspath(code.co_filename).startswith(_OWN):
        yield traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno


def _frame(span: Span) -> tuple[types.FrameType, int]:
    """A finished frame of a code object that claims to be the user's, and the instruction it is at."""
    function = span.function or "<module>"
    facts: dict[str, Any] = {"co_filename": span.file, "co_firstlineno": span.line}
    facts["co_name"] = function.rpartition(".")[2]
    if hasattr(_RAISE, "co_qualname"):
        facts["co_qualname"] = function
    code = _RAISE.replace(**facts)
    try:
        exec(code, {"marker": _Marker()})
    except _Marker as marker:
        inner = marker.__traceback__
        assert inner is not None and inner.tb_next is not None
        return inner.tb_next.tb_frame, inner.tb_next.tb_lasti
    raise AssertionError("unreachable")
