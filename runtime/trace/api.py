"""`trace_call`: run a function once on trace values and give back the graph of what it did."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.config import settings
from runtime.errors import AutographError, Span, TraceError, Untraceable
from runtime.ir.graph import Graph, Operand
from runtime.ops.draws import exchanged
from runtime.ops.table import BY_CALLABLE, BY_METHOD, OPS
from runtime.places import place, span_here, span_of_error
from runtime.trace import variables
from runtime.trace.core import Diverged, Trace
from runtime.trace.outputs import structure
from runtime.trace.outside import guard_draws, guard_namedtuple
from runtime.trace.protocol import Protocol
from runtime.trace.record import Argument, Path, TraceResult
from runtime.trace.regions import always_raises
from runtime.types import ArrayType, FunctionOf, StaticType, TupleType, Type, WeakType, declared
from runtime.variable import recorded_by


class Hooks:
    """What tracing needs from the side that rewrites source (all optional).

    span: the user's line being traced; span_of_error: the one that raised.
    place: where a function begins.  frame: the frame of generated code being run.
    inline: a traceable twin of a Python function, or None to call it at run time.
    is_generated: whether a function was made by generated code.
    unconvert: the user's code object for a generated one.
    in_users_file: generated code that does what the user wrote, as if it stood in the user's file.
    """

    trace: Trace | None = None  # set when a trace begins
    converts = False  # whether the traced code was converted: then it never catches what tracing raises

    def span(self) -> Span | None:
        """The user's line being traced, with the lines it was called from."""
        return span_here(trace_call.__code__)

    def ended(self) -> None:
        """The trace is over."""

    def span_of_error(self, error: BaseException) -> Span | None:
        """The user's line that an error comes from."""
        return span_of_error(error)

    def place(self, function: Callable[..., Any]) -> Span | None:
        """Where the function that is traced begins."""
        return place(function)

    def frame(self) -> types.FrameType | None:
        """The innermost frame of generated code."""
        return None

    def inline(self, function: types.FunctionType, found: Any = None) -> Callable[..., Any] | None:
        """A traceable twin of the function, or None.  found: the handle of a function that is another one
        in each call; then `function` is the one of this call."""
        return None

    def is_generated(self, function: types.FunctionType) -> bool:
        """Whether the function was made by generated code."""
        return False

    def unconvert(self, code: types.CodeType) -> types.CodeType:
        """The user's code object for a generated one."""
        return code

    def in_users_file(self, code: types.CodeType) -> types.CodeType:
        """The code, as if it stood in the user's file."""
        return code


def trace_call(
    fn: Callable[..., Any],
    positional: Sequence[Argument],
    keywords: Mapping[str, Argument],
    *,
    name: str,
    hooks: Hooks | None = None,
    strict: bool = False,
    volatile: frozenset[Any] = frozenset(),
) -> TraceResult:
    """Trace `fn(*positional, **keywords)`.

    An argument whose type is a `StaticType` is passed as its value; any other becomes a parameter of the
    graph (in order: positional, then keywords).  The graph has one result, what fn returns.
    Raises a `TraceError` when fn can't be recorded as a whole: `Untraceable` where something else was
    raised while tracing, which is then its `__cause__`.
    """
    hooks = hooks or Hooks()
    trace = Trace(
        name,
        OPS,
        span_of=hooks.span,
        unconvert=hooks.unconvert,
        strict=strict,
        volatile=volatile,
        unroll_limit=settings.unroll_limit,
    )
    trace.attach(Protocol(trace), BY_CALLABLE, BY_METHOD, hooks)
    with trace.running(), recorded_by(functools.partial(variables.create, trace)):
        try:
            # what would warn must warn (or raise) on every call: it is not computed while tracing
            with np.errstate(all="raise"):
                args = [_parameter(trace, a, i) for i, a in enumerate(positional)]
                kwargs = {k: _parameter(trace, a, len(args) + i) for i, (k, a) in enumerate(keywords.items())}
                outputs = None
                try:
                    returned = fn(*args, **kwargs)
                    outputs = structure(trace, returned)
                    result: tuple[Operand, ...] = (trace.operand(returned),)
                except Diverged:
                    result = ()
                if trace.refused and not hooks.converts:
                    raise trace.refused[0]
                if trace.doomed is not None:
                    raise trace.doomed
                guard_draws(trace, exchanged())
                if trace.restore_members():
                    raise Untraceable("a member of an enumeration is given an attribute")
        except AutographError as error:
            if error.span is not None:
                raise
            where = hooks.place(fn)
            raise type(error)(error.what, span=where, why=error.why, fix=error.fix) from error.__cause__
        except Exception as error:
            trace.careless |= isinstance(error, FloatingPointError)
            ours = _trace_error_behind(error)
            if ours is not None:
                raise ours from None
            raise _untraceable(name, error, hooks) from error
        finally:
            trace.closed = True
            hooks.ended()
            trace.restore_members()
    root = trace.builder
    graph = Graph(
        name, tuple(root.params), tuple(root.nodes), result, diverges=not result and always_raises(root)
    )
    return TraceResult(graph, tuple(trace.guards.values()), tuple(dict.fromkeys(trace.notes)), outputs)


def _trace_error_behind(error: BaseException) -> TraceError | None:
    """The error of tracing that NumPy or a library put an error of its own in front of."""
    seen: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in seen:
        if isinstance(one, TraceError):
            return one
        seen.append(one)
        one = one.__cause__ or one.__context__
    return None


def _untraceable(name: str, error: Exception, hooks: Hooks) -> Untraceable:
    """What a trace that ended in another error raises."""
    text = str(error).partition("\n")[0]
    return Untraceable(
        f"{name} can't be traced: tracing it raised {type(error).__name__}: {text}",
        span=hooks.span_of_error(error),
        why="tracing runs the code once before the call, and what is raised then is not recorded",
        fix="correct it, or leave strict=True out: plain Python then runs the function",
    )


def _parameter(trace: Trace, argument: Argument, index: int) -> Any:
    """The trace value of one argument."""
    t = argument.type
    path = Path(index, (), argument.name)
    if isinstance(t, StaticType):
        value = argument.example
        trace.remember_members(value)
        return value if _plain(value) else trace.lift(value, path)
    param = trace.builder.param(declared(t), argument.name)
    if isinstance(t, TupleType):
        return _tuple_parameter(trace, param, t, argument.example, path)
    return trace.wrap(param, example=_known(argument.example, t), path=path)


def _known(example: Any, t: Type) -> Any:
    """The example of an argument that is no constant; None where nothing that is seen in it is so again."""
    if isinstance(t, (ArrayType, WeakType)):
        return None
    return None if isinstance(example, _NAMED) and not isinstance(t, FunctionOf) else example


_NAMED = (types.FunctionType, type, types.ModuleType)


def _plain(value: Any) -> bool:
    return not isinstance(value, _NAMED)


def _tuple_parameter(trace: Trace, param: Any, t: TupleType, example: Any, path: Path) -> Any:
    """A tuple argument as a tuple of trace values; what is static in it is in the signature."""
    values = []
    if t.cls is not tuple:
        guard_namedtuple(trace, t.cls)
    for i, item in enumerate(t.items):
        inner = path / ("item", i)
        if isinstance(item, StaticType):
            trace.remember_members(item.value)
            values.append(item.value if _plain(item.value) else trace.lift(item.value, inner))
            continue
        read = trace.emit("getitem", [param, i], type=declared(item))
        assert read is not None
        if isinstance(item, TupleType):
            values.append(_tuple_parameter(trace, read, item, example[i], inner))
        else:
            values.append(trace.wrap(read, example=_known(example[i], item), path=inner))
    result = tuple(values) if t.cls is tuple else tuple.__new__(t.cls, values)
    trace.remember_tuple(result, param)
    return result
