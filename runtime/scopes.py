"""Switches around calls and loops: `py_function`, `init_scope`, `unroll`.

In: functions, iterables.  Out: what plain Python gives; they only say how a trace deals with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from runtime.errors import check_function
from runtime.trace import items
from runtime.trace.calls import run_time_call
from runtime.trace.core import active, suspended
from runtime.trace.unrolled import Unrolled
from runtime.trace.values import Object, Tensor
from runtime.types import ArrayType


def py_function(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`f(*args, **kwargs)`, called as plain Python on every call, in order with other effects; never traced.

    >>> py_function(max, 2, 3)
    3
    """
    check_function(f, "py_function")
    trace = active()
    return f(*args, **kwargs) if trace is None else run_time_call(trace, f, args, kwargs)


def init_scope() -> suspended:
    """A context in which nothing is being traced.

    In a function, what stands in it is done on each call, as plain Python does: tracing changes nothing
    outside, so nothing has to be lifted out of it.  In code that runs while another function is traced (a
    library that was not converted), it suspends the trace.

    >>> with init_scope():
    ...     pass
    """
    return suspended()


def unroll(iterable: Iterable[Any]) -> Any:
    """The items of an iterable, for a loop that is to be unrolled however long it is.

    A loop can be unrolled where the number of items is known while tracing; it is staged where a `break`
    depends on data.

    >>> [i for i in unroll(range(3))]
    [0, 1, 2]
    """
    trace = active()
    if trace is None:
        return iterable
    found: Any = None
    if isinstance(iterable, (Tensor, Object)):
        t = iterable._facts.type
        if isinstance(t, ArrayType) and t.shape and t.shape[0] is not None:
            found = [iterable[i] for i in range(t.shape[0])]
        elif isinstance(iterable, Object):
            found = items.known_items(trace, iterable)
    elif isinstance(iterable, (tuple, list, range, str, bytes, frozenset)):
        found = list(iterable)
    return iterable if found is None else Unrolled(found)
