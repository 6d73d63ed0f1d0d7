"""Tracebacks that show the user's code in place of generated code.

In: a traceback with frames of generated code (plans, and whatever else has told its places here).  Out: one
in which each such frame is replaced by frames that name the user's file, function and line, inlined callers
too, and in which the frames of this project are left out.  What always holds: the exception object itself,
its cause, context and notes stay what they are; nothing is done until something is raised.
"""

from __future__ import annotations

import ast
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

from runtime.config import settings
from runtime.dataclass import dataclass
from runtime.errors import AutographError, Span
from runtime.places import is_own, same_function, tell_places

# (code, index of the instruction or -1, line) -> the user's place
Places = Callable[[types.CodeType, int, int], "Span | None"]
Inner = Callable[[types.CodeType], bool]


def never(code: types.CodeType) -> bool:
    """None of the code is a part of a function that stands round it."""
    return False


def always(code: types.CodeType) -> bool:
    """All of the code is a part of the function that stands round it."""
    return True


@dataclass(frozen=True)
class _Generated:
    """places: where an instruction comes from.

    inner: whether a code object is a part of the user's function that stands round it (a branch, a loop
    body), so that its frame and that one's are one frame of the user's.
    """

    places: Places
    inner: Inner


_GENERATED: dict[str, _Generated] = {}
_BY_CODE: dict[int, _Generated] = {}  # by identity, for code that claims to stand in the user's file
_MARK = "<marker>"  # no name of a user's


class _Marker(Exception):
    """Raised to make a frame."""


@functools.cache
def _raising_code() -> types.CodeType:
    """Code that raises, without columns, so that no caret is printed under the user's line."""
    tree = ast.parse("raise marker")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = _MARK
        if isinstance(node, (ast.stmt, ast.expr)):
            node.col_offset = node.end_col_offset = -1
    return compile(tree, "<user>", "exec")


def register(filename: str, places: Places, inner: Inner = never) -> None:
    """Tell where the code compiled under `filename` comes from, and which of it is a part of a function."""
    _GENERATED[filename] = _Generated(places, inner)


def register_hidden(filename: str) -> None:
    """Leave out the frames of code compiled under `filename`: it stands for nothing of the user's."""
    _GENERATED[filename] = _Generated(lambda code, instruction, line: None, never)


def register_codes(codes: Iterable[int], places: Places, inner: Inner = never) -> None:
    """As `register`, for code objects (their identities) under whatever file name."""
    _BY_CODE.update(dict.fromkeys(codes, _Generated(places, inner)))


def forget_codes(codes: Iterable[int]) -> None:
    """Undo `register_codes`."""
    for code in codes:
        _BY_CODE.pop(code, None)


def _generated(code: types.CodeType) -> _Generated | None:
    return _BY_CODE.get(id(code)) or _GENERATED.get(code.co_filename)


def place_of(frame: types.FrameType) -> Span | None:
    """The user's place that a frame of generated code is at; None for any other frame."""
    made = _generated(frame.f_code)
    return None if made is None else made.places(frame.f_code, frame.f_lasti, frame.f_lineno)


def is_part(code: types.CodeType) -> bool:
    """Whether generated code is a part of the user's function that stands round it: a branch, a loop body."""
    made = _generated(code)
    return made is not None and made.inner(code)


def _role(code: types.CodeType) -> str:
    return "" if _generated(code) is None else "part" if is_part(code) else "whole"


tell_places(place_of, _role)


def forget(filename: str) -> None:
    """Undo `register` and `register_hidden`."""
    _GENERATED.pop(filename, None)


def cleaned(error: BaseException, *, show_generated: bool | None = None) -> types.TracebackType | None:
    """The traceback that the error should go on with: the user's frames only.

    The errors that it came from, and those in a group, get theirs too.
    show_generated: True leaves all as it is; None asks the settings.
    """
    if settings.show_generated_frames if show_generated is None else show_generated:
        return error.__traceback__
    other: BaseException | None = None
    entries: list[_Entry] = []
    try:
        for other in _related(error):
            if other is not error and _has_generated(other.__traceback__):
                other.__traceback__ = rewritten(other.__traceback__, show_generated=False)
        _fill(entries, error.__traceback__)
        place = entries[-1].span if entries else None
        if place is not None and isinstance(error, AutographError):
            error.locate(place)
        return _chained(entries)
    except RecursionError:  # no room left on the stack for this: better the frames as they are
        return error.__traceback__
    finally:
        # The new frames were called from here, and know it: what refers to them would be a circle, which
        # would keep the user's arguments until the garbage collector comes.  So it is in what is called.
        del error, other, entries


F = TypeVar("F", bound=Callable[..., Any])


def cleaning(function: F) -> F:
    """The function, whose errors show the user's code in place of the code that was made of it."""

    @functools.wraps(function, updated=())
    def call_cleanly(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            if sys.version_info < (3, 11):  # a bare raise would restore the old traceback
                raise error.with_traceback(cleaned(error))  # noqa: B904  it is the error that is being handled
            else:  # a bare raise adds no entry for this frame
                error.__traceback__ = cleaned(error)
                raise

    return cast(F, call_cleanly)


def _related(error: BaseException) -> Iterator[BaseException]:
    """The error, its causes and contexts, and the members of groups."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        members = getattr(one, "exceptions", ()) if hasattr(one, "derive") else ()
        left += [one.__cause__, one.__context__, *members]


def _has_generated(traceback: types.TracebackType | None) -> bool:
    while traceback is not None:
        if _generated(traceback.tb_frame.f_code) is not None:
            return True
        traceback = traceback.tb_next
    return False


def rewritten(
    traceback: types.TracebackType | None, *, show_generated: bool | None = None
) -> types.TracebackType | None:
    """The traceback with the user's frames for generated ones.

    show_generated: True leaves it as it is; None asks the settings.
    """
    if settings.show_generated_frames if show_generated is None else show_generated:
        return traceback
    entries: list[_Entry] = []
    try:
        _fill(entries, traceback)
        return _chained(entries)
    finally:
        del entries, traceback


def _fill(entries: list[_Entry], traceback: types.TracebackType | None) -> None:
    """Append what stands for the traceback's entries."""
    while traceback is not None:
        _add(entries, traceback)
        traceback = traceback.tb_next
    del entries


def _chained(entries: list[_Entry]) -> types.TracebackType | None:
    result: types.TracebackType | None = None
    for entry in reversed(entries):
        result = types.TracebackType(result, entry.frame, entry.instruction, entry.line)
    return result


@dataclass(frozen=True)
class _Entry:
    """One entry of the new traceback.  span: the user's place, where it stands for generated code."""

    frame: types.FrameType
    instruction: int
    line: int
    span: Span | None = None


def _add(entries: list[_Entry], traceback: types.TracebackType) -> None:
    """Append what stands for one entry."""
    frame = traceback.tb_frame
    code = frame.f_code
    generated = _generated(code)
    if generated is None:
        if not is_own(code.co_filename):
            entries.append(_Entry(frame, traceback.tb_lasti, traceback.tb_lineno))
        return
    span = generated.places(code, traceback.tb_lasti, traceback.tb_lineno)
    del traceback
    chain = []
    while span is not None:
        chain.append(span)
        span = span.caller
    if chain and generated.inner(code):
        _drop_outer(entries, chain[-1])
    for place in reversed(chain):
        entries.append(_Entry(*_frame(place, frame), place.line, place))
    del entries, frame


def _drop_outer(entries: list[_Entry], place: Span) -> None:
    """Take back what stands for the frame round a part of it that is at this place, inlined calls too."""
    for at in range(len(entries) - 1, -1, -1):
        if entries[at].span is None:
            return
        if same_function(entries[at].span, place):
            del entries[at:]
            return


def _frame(span: Span, generated: types.FrameType) -> tuple[types.FrameType, int]:
    """A finished frame of a code object that claims to be the user's, and the instruction it is at.

    Its variables are those of the generated frame: they have the user's names.
    """
    function = span.function or "<module>"
    facts: dict[str, Any] = {"co_filename": span.file, "co_firstlineno": span.line}
    facts["co_name"] = function.rpartition(".")[2]
    if hasattr(_raising_code(), "co_qualname"):
        facts["co_qualname"] = function
    code = _raising_code().replace(**facts)
    try:
        exec(code, {_MARK: _Marker()}, dict(generated.f_locals))
    except _Marker as marker:
        inner = marker.__traceback__
        assert inner is not None and inner.tb_next is not None
        marker.__traceback__ = marker.__context__ = None  # the frame refers to the marker: no circle
        inner = inner.tb_next
        assert inner is not None
        try:
            return inner.tb_frame, inner.tb_lasti
        finally:
            del inner, generated
    raise AssertionError("unreachable")
