"""`heapq` on lists that the trace made: their items stay known.

In: calls of its functions.  Out: rules, as those of built-in functions.  What always holds: a list whose
items are numbers, or tuples of numbers, is put in order without any code of the user's; of another list
nothing is known afterwards, as after any call.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable
from typing import Any

from runtime.trace import growing
from runtime.trace.core import Trace
from runtime.trace.heap import ANY
from runtime.trace.values import Object, known_class
from runtime.types import ArrayType, NumberType, TupleType, Type, WeakType, join, static_or_weak

Rule = Callable[[Trace, tuple[Any, ...], dict[str, Any]], Any]


def _ordered(t: Type | None) -> bool:
    """Whether it is a type of real numbers, or of tuples of these."""
    if isinstance(t, TupleType):
        return bool(t.items) and all(map(_ordered, map(static_or_weak, t.items)))
    if isinstance(t, NumberType):
        return all(map(_ordered, t.kinds))
    if isinstance(t, ArrayType):
        return t.scalar and t.dtype.kind in "biuf"
    return isinstance(t, WeakType) and t.kind in ("bool", "int", "float")


def _rule(function: Callable[..., Any], puts: int, takes: bool) -> Rule:
    """puts: how many items a call puts in.  takes: whether it takes one out, which it gives."""

    def rule(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        x = args[0] if args else None
        if kwargs or len(args) != 1 + puts or not isinstance(x, Object) or known_class(x) is not list:
            return NotImplemented
        found = growing.known(trace, x)
        if found is None:
            return NotImplemented
        given = (found[0], *(static_or_weak(trace.type_of(i)) for i in args[1:]))
        kinds = [t for t in given if t is not None]
        together = functools.reduce(join, kinds) if kinds else None
        if not _ordered(together):
            return NotImplemented
        operands = [function, trace.receiver(x), *args[1:]]
        made = trace.emit("py.call", operands, type=together if takes else None)
        assert made is not None
        trace.heap.written(x._facts.identity, "item", ANY)
        growing.put(trace, x, args[1:])
        if takes:
            growing.shortened(trace, x)
            return trace.wrap(made)
        return None

    return rule


RULES: dict[Any, Rule] = {
    heapq.heappush: _rule(heapq.heappush, 1, False),
    heapq.heappop: _rule(heapq.heappop, 0, True),
    heapq.heappushpop: _rule(heapq.heappushpop, 1, True),
    heapq.heapreplace: _rule(heapq.heapreplace, 1, True),
    heapq.heapify: _rule(heapq.heapify, 0, False),
}
