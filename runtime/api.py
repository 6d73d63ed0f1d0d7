"""The runtime by hand: `function` for code that is functional already.

In: a Python function that uses `cond`, `while_loop` and `for_loop` where control flow depends on
values.  Out: a polymorphic function.  Nothing is rewritten: the function is traced as it stands, and a
Python `if` on a traced value is an error of the trace, so that call runs as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from runtime.function.polymorphic import P, PolymorphicFunction, R, Tracer
from runtime.function.prefixed import PrefixedFunction, unwrapped
from runtime.lazy import Lazy
from runtime.trace.record import Argument, TraceResult

if TYPE_CHECKING:
    from runtime.trace import api as tracing
else:
    tracing = Lazy("runtime.trace.api")

InputSignature = Sequence[Any] | Mapping[str, Any]  # of specs, types, values, and trees of these


def make_function(
    original: Callable[P, R],
    tracer: Callable[[Callable[..., Any]], Tracer],
    remake: tuple[Callable[..., Any], dict[str, Any]] | None = None,
    **options: Any,
) -> PolymorphicFunction[P, R]:
    """The polymorphic function for any kind of callable; tracer(function): how its function is traced.

    remake: the public function that makes such a one, and its options; for pickling.
    """
    inside, prefix, keywords = unwrapped(original)
    trace = tracer(inside)
    made: PolymorphicFunction[P, R]
    if inside is original or not (prefix or keywords):
        made = PolymorphicFunction(inside, trace, **options)
    else:
        made = PrefixedFunction(original, inside, prefix, keywords, trace, **options)
    if remake is not None:
        made.remade_by(*remake)
    return made


def as_it_stands(function: Callable[..., Any]) -> Tracer:
    """The tracer that runs the Python function without rewriting it."""

    def trace(
        positional: Sequence[Argument], keywords: Mapping[str, Argument], **options: Any
    ) -> TraceResult:
        return tracing.trace_call(function, positional, keywords, **options)

    return trace


@overload
def function(
    f: Callable[P, R],
    *,
    input_signature: InputSignature | None = ...,
    reduce_retracing: bool = ...,
    strict: bool | None = ...,
) -> PolymorphicFunction[P, R]: ...
@overload
def function(
    f: None = None,
    *,
    input_signature: InputSignature | None = ...,
    reduce_retracing: bool = ...,
    strict: bool | None = ...,
) -> Callable[[Callable[P, R]], PolymorphicFunction[P, R]]: ...
def function(
    f: Any = None,
    *,
    input_signature: InputSignature | None = None,
    reduce_retracing: bool = True,
    strict: bool | None = None,
) -> Any:
    """Trace calls of `f` and run the graphs; `f` is not rewritten.

    >>> @function
    ... def total(x):
    ...     return while_loop(lambda i, s: i < x.size, lambda i, s: (i + 1, s + x[i]), (0, 0.0))[1]
    """

    def decorate(original: Any) -> Any:
        options = {"input_signature": input_signature, "reduce_retracing": reduce_retracing, "strict": strict}
        return make_function(original, as_it_stands, (function, options), **options)

    return decorate if f is None else decorate(f)
