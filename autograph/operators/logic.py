"""`and`, `or`, `not`, `is`, `in` as functions: Python's own on plain values, staged on traced ones."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from runtime.functional import cond
from runtime.trace.core import active


def and_(first: Any, *thunks: Callable[[], Any]) -> Any:
    """`first and thunks[0]() and ...`: the operand Python would give; the later ones run only if needed."""
    if not thunks:
        return first
    return cond(first, lambda: and_(thunks[0](), *thunks[1:]), lambda: first)


def or_(first: Any, *thunks: Callable[[], Any]) -> Any:
    """`first or thunks[0]() or ...`, as `and_`."""
    if not thunks:
        return first
    return cond(first, lambda: first, lambda: or_(thunks[0](), *thunks[1:]))


def not_(x: Any) -> Any:
    """`not x`."""
    trace = active()
    return (not x) if trace is None else trace.protocol.truth_not(x)


def is_(a: Any, b: Any) -> Any:
    """`a is b`."""
    trace = active()
    return (a is b) if trace is None else trace.protocol.same(a, b)


def is_not(a: Any, b: Any) -> Any:
    """`a is not b`."""
    return not_(is_(a, b))


def in_(item: Any, container: Any) -> Any:
    """`item in container`."""
    trace = active()
    return operator.contains(container, item) if trace is None else trace.protocol.contains(item, container)


def percent(text: Any, values: Any) -> Any:
    """`text % values` for a text; as an operator it would ask for the text of traced values at once."""
    trace = active()
    return text % values if trace is None else trace.protocol.percent(text, values)


def not_in(item: Any, container: Any) -> Any:
    """`item not in container`."""
    return not_(in_(item, container))


def item(x: Any, index: Any) -> Any:
    """`x[index]`, where x may be a tuple or text and the index traced."""
    trace = active()
    return x[index] if trace is None else trace.protocol.item(x, index)


def part(x: Any, start: Any, stop: Any, step: Any) -> Any:
    """`x[start:stop:step]`, likewise."""
    return item(x, slice(start, stop, step))
