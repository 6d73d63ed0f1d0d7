"""`PrefixedFunction`: a polymorphic function with leading arguments already given.

In: a bound method, a `functools.partial` or an instance with `__call__`.  Out: a callable that traces
the Python function inside, with the instance or the given arguments as its first arguments.  So they
are arguments like any other: what they hold is read at each call.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from runtime.execute.traceback import cleaned
from runtime.function.concrete import ConcreteFunction
from runtime.function.polymorphic import P, PolymorphicFunction, R, Tracer
from runtime.places import uncounted


def unwrapped(callable_: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function inside a callable, and the arguments that the callable adds in front and by name."""
    prefix: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    inside = callable_
    while not isinstance(inside, types.FunctionType) and not runs_on_trace_values(inside):
        if isinstance(inside, PolymorphicFunction):
            if isinstance(inside, PrefixedFunction):
                prefix, keywords = (*inside.prefix, *prefix), {**inside.keywords, **keywords}
            inside = inside.inside_function
        elif isinstance(inside, functools.partial):
            prefix, keywords, inside = (*inside.args, *prefix), {**inside.keywords, **keywords}, inside.func
        elif isinstance(inside, types.MethodType):
            prefix, inside = (inside.__self__, *prefix), inside.__func__
        else:
            call = inspect.getattr_static(type(inside), "__call__", None)
            if isinstance(inside, type) or not isinstance(call, (types.FunctionType, PolymorphicFunction)):
                break
            prefix, inside = (inside, *prefix), call
    return inside, prefix, keywords


def runs_on_trace_values(callable_: Any) -> bool:
    """Whether it is one of our own callables, which are traced as they stand."""
    return getattr(type(callable_), "runs_on_trace_values", False) is True


class PrefixedFunction(PolymorphicFunction[P, R]):
    """A callable whose first arguments, or some by name, are given.

    original: the callable as the user has it.  inside, prefix, keywords: what `unwrapped` says of it.
    """

    __slots__ = ()

    def __init__(
        self,
        original: Callable[P, R],
        inside: Callable[..., R],
        prefix: tuple[Any, ...],
        keywords: dict[str, Any],
        trace: Tracer,
        **options: Any,
    ) -> None:
        super().__init__(inside, trace, **options)
        self.prefix, self.keywords, self._original = prefix, keywords, original
        self.__wrapped__ = original

    @uncounted
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the callable does."""
        try:
            return super().__call__(*self.prefix, *args, **{**self.keywords, **kwargs})
        except BaseException as error:  # as in the base class
            if sys.version_info < (3, 11):
                raise error.with_traceback(cleaned(error))  # noqa: B904  it is the error that is being handled
            else:
                error.__traceback__ = cleaned(error)
                raise

    def get_concrete_function(self, /, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """As for any polymorphic function; the given arguments are added here too."""
        return super().get_concrete_function(*self.prefix, *args, **{**self.keywords, **kwargs})

    @property
    def python_function(self) -> Callable[P, R]:
        """The callable as the user has it."""
        return self._original
