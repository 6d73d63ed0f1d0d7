"""The public face: `function`, `convert`, `to_code`, `do_not_convert`, `explain`.

In: Python functions.  Out: functions that do the same, and what was made of them.
What always holds: a call does what the plain function does; what can't be converted or traced is run
by Python itself (an error under `strict=True`).
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from autograph.convert import converted
from autograph.explain import Explanation, explanation, explanation_of_conversion
from autograph.operators.registry import mark_do_not_convert
from autograph.origin import is_generated_file
from runtime.api import InputSignature, make_function
from runtime.errors import ConversionRefused, GeneratorError, SourceNotFound, TraceError
from runtime.function.polymorphic import P, PolymorphicFunction, R, Tracer
from runtime.function.prefixed import runs_on_trace_values, unwrapped
from runtime.lazy import Lazy
from runtime.trace.record import Argument, TraceResult
from runtime.types import StaticType

if TYPE_CHECKING:
    from autograph import check as checking
    from autograph import source
    from autograph.operators import calls
    from runtime import vectorizing
    from runtime.trace import api as tracing
else:
    checking, source = Lazy("autograph.check"), Lazy("autograph.source")
    calls, tracing = Lazy("autograph.operators.calls"), Lazy("runtime.trace.api")
    vectorizing = Lazy("runtime.vectorizing")

F = TypeVar("F", bound=Callable[..., Any])


@overload
def function(
    f: Callable[P, R],
    *,
    input_signature: InputSignature | None = ...,
    reduce_retracing: bool = ...,
    strict: bool | None = ...,
    check: bool = ...,
) -> PolymorphicFunction[P, R]: ...
@overload
def function(
    f: None = None,
    *,
    input_signature: InputSignature | None = ...,
    reduce_retracing: bool = ...,
    strict: bool | None = ...,
    check: bool = ...,
) -> Callable[[Callable[P, R]], PolymorphicFunction[P, R]]: ...
def function(
    f: Any = None,
    *,
    input_signature: InputSignature | None = None,
    reduce_retracing: bool = True,
    strict: bool | None = None,
    check: bool = False,
) -> Any:
    """Run calls of `f` as graphs; use it as a decorator, with or without options.

    f: a function, method, `functools.partial` or object with `__call__` whose source is at hand.
    input_signature: a `TensorSpec` per argument (in order, or by name), or a tuple, list or dict of specs;
        calls with others are refused.
    reduce_retracing: generalise traces when calls differ only in array sizes or in Python numbers.
    strict: raise where something would be left to plain Python (default: the setting `strict`).
    check: run the plain function beside each call, on copies, and raise CheckError at any difference.

    Raises SourceNotFound where there is no Python source, GeneratorError for generators and coroutines.

    >>> import numpy as np
    >>> @function
    ... def clipped_sum(x, limit):
    ...     total = 0.0
    ...     for value in x:
    ...         if value > limit:
    ...             value = limit
    ...         total += value
    ...     return total
    """

    for option, value in (("reduce_retracing", reduce_retracing), ("check", check), ("strict", strict)):
        if not isinstance(value, bool) and (option, value) != ("strict", None):
            raise TypeError(f"{option} is True or False, not {value!r}")

    def decorate(original: Any) -> Any:
        if isinstance(original, (staticmethod, classmethod)):
            return type(original)(decorate(original.__func__))
        try:
            source.source_of(_function_in(original, "function"))  # without one: refused here, not in calls
        except GeneratorError:
            raise
        except ConversionRefused:
            pass  # it is nested too deeply: it will run as plain Python
        options = {"input_signature": input_signature, "reduce_retracing": reduce_retracing, "strict": strict}
        made: PolymorphicFunction[..., Any] = make_function(
            original,
            source_tracer,
            (function, {**options, "check": check}),
            inline=_inline,
            around=checking.run_checked if check else None,
            **options,
        )
        made.explainer = explain
        return made

    return decorate if f is None else decorate(f)


def convert(f: F) -> F:
    """The function with its control flow in functional form; it runs as Python code, untraced.

    A decorator, too.  Raises ConversionRefused for constructs that are not rewritten, SourceNotFound and
    GeneratorError as `function` does.
    """
    made: Any
    if isinstance(f, types.MethodType):
        made = types.MethodType(convert(f.__func__), f.__self__)
    else:
        made = converted(_function_in(f, "convert")).function
    return cast(F, made)


def to_code(f: Callable[..., Any]) -> str:
    """The source that `f` is rewritten to: what is traced."""
    return str(converted(_function_in(f, "to_code")).source)


@overload
def do_not_convert(f: F) -> F: ...
@overload
def do_not_convert(f: None = None) -> Callable[[F], F]: ...
def do_not_convert(f: Any = None) -> Any:
    """Mark a function: converted code calls it as plain Python, at run time.  A decorator."""
    return mark_do_not_convert if f is None else mark_do_not_convert(f)


def explain(f: Callable[..., Any]) -> Explanation:
    """What became of a function: each statement of each trace as staged, static or Python, with the reason.

    Print it, or look at its records (`.traces`, `.statements`, `.left_to_python`).  A function that was not
    given to `ag.function`, or not called yet, is only converted: its statements are staged or Python.

    >>> explain(function(lambda x: x + 1)).summary
    "'<lambda>' was not called yet"
    """
    if isinstance(f, types.MethodType):
        return explain(f.__func__)
    python = _function_in(f, "explain")
    inside: Any = f
    if runs_on_trace_values(f) and hasattr(f, "latest"):  # a derivative
        if inside.latest is not None:
            return explanation(inside.latest, python, "on the tape")
        return dataclasses.replace(explanation_of_conversion(python), summary=inside.unseen)
    batched = runs_on_trace_values(f) and isinstance(f, vectorizing.Batched)
    inside = inside.function if batched else f
    if isinstance(inside, PolymorphicFunction):
        return explanation(inside, python)
    return explanation_of_conversion(python)


def _function_in(f: Any, name: str) -> types.FunctionType:
    """The Python function inside a callable; SourceNotFound where there is none."""
    inside, _, _ = unwrapped(f)
    while runs_on_trace_values(inside):
        inside, _, _ = unwrapped(inside.f)
    if isinstance(inside, types.FunctionType):
        if is_generated_file(inside.__code__.co_filename):
            what, fix = (
                f"{inside.__qualname__} is what ag.convert made of a function",
                "give it the function itself",
            )
            raise SourceNotFound(what, why=f"ag.{name} converts it", fix=fix)
        return inside
    raise _no_function(inside, name)


def _no_function(inside: Any, name: str) -> SourceNotFound:
    """What is wrong with an object that is no Python function."""
    title = str(getattr(inside, "__qualname__", None) or getattr(inside, "__name__", None) or repr(inside))
    what = f"{title} has no Python source of a function"
    if not callable(inside):
        kind = type(inside).__name__
        what, kind = f"{inside!r} is not a function", f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
        fix = "give it a function"
    elif isinstance(inside, type):
        kind, fix = "a class", "give it a method of the class, or a function that makes instances"
    elif hasattr(inside, "cache_info") and hasattr(inside, "__wrapped__"):
        kind = "a cache, which calls its function for new arguments only"
        fix = f"put the cache outside: functools.lru_cache above ag.{name}"
    else:
        kind, fix = "a callable that is not written in Python", f"give it a function that calls {title}"
    return SourceNotFound(what, why=f"ag.{name} was given {kind}", fix=fix)


def source_tracer(python: Callable[..., Any]) -> Tracer:
    """The tracer that converts the function before it is traced."""

    def trace(
        positional: Sequence[Argument], keywords: Mapping[str, Argument], **options: Any
    ) -> TraceResult:
        if runs_on_trace_values(python):
            hooks = calls.SourceHooks(_function_in(python, "function"))
            return tracing.trace_call(python, positional, keywords, hooks=hooks, **options)
        assert isinstance(python, types.FunctionType)
        converted(python)  # a refusal concerns all calls: it must come out as what it is

        def traced(hooks: calls.SourceHooks) -> TraceResult:
            run = functools.partial(hooks.outermost, python)
            return tracing.trace_call(run, positional, keywords, hooks=hooks, **options)

        return _traced(traced, python, [*positional, *keywords.values()])

    return trace


def _traced(
    traced: Callable[[calls.SourceHooks], TraceResult],
    python: types.FunctionType,
    arguments: Sequence[Argument],
) -> TraceResult:
    """Trace the function; with care, where a text is handed in, or the plain way asked for a traced index or
    computed what NumPy warns of, on each call."""
    if any(isinstance(a.type, StaticType) and isinstance(a.type.value, (str, bytes)) for a in arguments):
        return traced(calls.SourceHooks(python, careful=True))
    hooks, result, failed = calls.SourceHooks(python), None, None
    try:
        result = traced(hooks)
    except TraceError as error:
        failed = error
    if hooks.trace is not None and hooks.trace.careless:
        try:
            return traced(calls.SourceHooks(python, careful=True))
        except TraceError as error:
            failed = error if result is None else None
    if result is None:
        assert failed is not None
        raise failed
    return result


def _inline(python: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call inside another trace: traced into, or recorded, as calls of plain functions are."""
    return calls.call(python, *args, **kwargs)
