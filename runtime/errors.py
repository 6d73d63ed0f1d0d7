"""Every error the project raises, and the one builder of their messages.

In: what happened, where (a `Span` in the user's file), why, what to do.  Out: one text with the
user's line and a caret.  All classes derive from `AutographError`, so one `except` clause catches
them; those that stand for a Python error derive from that too, so converted code raises what plain
code would.
"""

from __future__ import annotations

import linecache

from runtime.dataclass import dataclass


@dataclass(frozen=True)
class Span:
    """A place in the user's source: file, line (1-based), column (0-based) and function name.

    `caller` is the place from which the function was inlined, outermost last.
    """

    file: str
    line: int
    col: int = 0
    function: str = ""
    caller: Span | None = None

    def text(self) -> str:
        """The user's source line, stripped of its newline; empty when the file can't be read."""
        return linecache.getline(self.file, self.line).rstrip("\n")

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}"
        return f"{where} in {self.function}" if self.function else where


def message(what: str, span: Span | None = None, why: str = "", fix: str = "") -> str:
    """The text of an error: what, the user's line with a caret, why, and what to do."""
    lines = [what]
    if span is not None:
        lines.append(f"  at {span}")
        text = span.text()
        if text.strip():
            lines.append(f"    {text}")
            lines.append("    " + " " * max(span.col, len(text) - len(text.lstrip())) + "^")
    if why:
        lines.append(f"  why: {why}")
    if fix:
        lines.append(f"  fix: {fix}")
    return "\n".join(lines)


def check_function(f: object, who: str) -> None:
    """Refuse what can't be called.  who: what it was given to."""
    if not callable(f):
        raise TypeError(f"{who} takes a function, not a value of type {type(f).__name__}")


class AutographError(Exception):
    """Base of every error this project raises on its own account."""

    def __init__(self, what: str, *, span: Span | None = None, why: str = "", fix: str = "") -> None:
        self.what, self.span, self.why, self.fix = what, span, why, fix
        super().__init__(message(what, span, why, fix))

    def locate(self, span: Span) -> None:
        """Say where it happened, if that is not known yet."""
        if self.span is None:
            self.span = span
            self.args = (message(self.what, span, self.why, self.fix),)


class SourceNotFound(AutographError):
    """The function has no Python source that could be converted (built in, exec without linecache)."""


class ConversionRefused(AutographError):
    """The function uses a construct that is not rewritten; it runs as plain Python instead."""


class GeneratorError(ConversionRefused):
    """A generator or coroutine function was given where a plain function is needed."""


class TraceError(AutographError):
    """Base of errors that arise while a function is traced."""


class Untraceable(TraceError):
    """This part can't be recorded in a graph; it is left to Python (an error under strict=True)."""


class TensorBoolError(TraceError, TypeError):
    """A traced value was used as a Python bool in code that was not converted."""


class ConcreteValueError(TraceError, TypeError):
    """Code that was not converted needs the concrete value of a traced one (int(), index, np.asarray)."""


class StructureError(TraceError, TypeError, ValueError):
    """A function given to `cond`, a loop or `scan` takes or returns other values than it must."""


class LeakedTensorError(TraceError):
    """A traced value was used after the trace it belongs to had ended, or in another trace."""


class GuardError(AutographError):
    """Something that the trace relied on was changed by a call in the middle of the function.

    place: what was changed, in the words of the trace's guard.
    """

    place = ""


class GraphError(AutographError):
    """A graph breaks one of the laws of the intermediate representation."""


class SignatureError(AutographError, TypeError):
    """Arguments do not match the function's signature or its `input_signature`."""


class VariableError(AutographError, ValueError):
    """A value doesn't fit a Variable, or a Variable is made where it would be made again and again."""


class NewTraceError(AutographError):
    """A call inside `no_new_traces()` needs a trace that there isn't."""


class CheckError(AutographError, AssertionError):
    """Shadow mode (`check=True`) found a difference between the plain and the converted function, or
    `check_grads` one between a derivative and finite differences."""


class GradientError(AutographError, TypeError):
    """A derivative can't be had, or code that can't follow it asked for a bare number."""


class ExportError(AutographError):
    """A plan refers to Python objects that can't be written to a file."""


class DeviceError(AutographError):
    """Arrays of different devices meet, or the device can't run an op."""
