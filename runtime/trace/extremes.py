"""Python's `min`, `max`, `any` and `all` on trace values.

In: as the rules of `builtins`.  Out: the same.  What always holds: items are looked at in Python's order,
each once, and no more of a generator than Python takes; of equal items the first one is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.ir.graph import Const
from runtime.trace import growing, items, regions
from runtime.trace.core import Diverged, Trace, is_static
from runtime.trace.doubts import called
from runtime.trace.pending import at_once, taken
from runtime.trace.values import Object, Traced
from runtime.types import (
    OBJECT,
    WEAK_BOOL,
    WEAK_INT,
    ArrayType,
    NumberType,
    ObjectType,
    Type,
    WeakType,
    join,
    static_or_weak,
)

Rule = Callable[[Trace, tuple[Any, ...], dict[str, Any]], Any]


def _static(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return all(map(is_static, (*args, *kwargs.values())))


def _number(t: Type) -> bool:
    """Whether it is the type of a real number."""
    if isinstance(t, NumberType):
        return all(map(_number, t.kinds))
    if isinstance(t, ArrayType):
        return t.scalar and t.dtype.kind in "biuf"
    return isinstance(t, WeakType) and t.kind != "complex"


def _items(trace: Trace, x: Any) -> Type:
    """The type of the items of an array, a range or a list that the trace made, where they are numbers."""
    made = isinstance(x, Object) and growing.known(trace, x) is not None
    t = trace.type_of(x)
    known = isinstance(t, ArrayType) or isinstance(t, ObjectType) and t.cls is range
    found = static_or_weak(items.item_type(trace, x)) if known or made else OBJECT
    return found if _number(found) else OBJECT


def _called(trace: Trace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], claim: Type) -> Any:
    result = trace.record("py.call", [function, *args], kwargs, type=claim)
    called(trace, function, (*args, *kwargs.values()))
    return result


def _extreme(function: Any, op: str) -> Rule:
    def rule(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _static(args, kwargs):
            return NotImplemented
        if not kwargs and len(args) > 1:
            return _called(trace, function, args, kwargs, _joined(trace, args))
        if len(args) == 1 and kwargs.keys() == {"key"}:
            found = _by_key(trace, function, op, args[0], kwargs["key"])
            if found is not NotImplemented:
                return found
        if len(args) != 1 or kwargs.keys() - {"default"}:
            return _called(trace, function, args, kwargs, OBJECT)
        x = at_once(trace, args[0])
        few = None if kwargs else _few(trace, x)
        if few is not None:
            return few[0] if len(few) == 1 else rule(trace, tuple(few), {})
        claim = _items(trace, x)
        if (
            claim == OBJECT
            or "default" in kwargs
            and not _number(static_or_weak(trace.type_of(kwargs["default"])))
        ):
            return _called(trace, function, (x,), kwargs, OBJECT)
        claim = _joined(trace, tuple(kwargs.values()), claim)
        return trace.record("py.call", [function, trace.receiver(x)], kwargs, type=claim)

    return rule


def _joined(trace: Trace, values: tuple[Any, ...], *types: Type) -> Type:
    kinds = [*types, *(static_or_weak(trace.type_of(a)) for a in values)]
    claim = kinds[0]
    for k in kinds[1:]:
        claim = join(claim, k)
    return claim


def _few(trace: Trace, x: Any) -> list[Any] | None:
    """The items of a tuple, or of a list that the trace made, where they are a few known numbers."""
    if not isinstance(x, tuple) and not (isinstance(x, Object) and growing.known(trace, x) is not None):
        return None
    found = items.known_items(trace, x)
    if not found or len(found) > trace.unroll_limit:
        return None
    return found if all(_number(static_or_weak(trace.type_of(i))) for i in found) else None


def _ends(trace: Trace, x: Any) -> tuple[Any, Any] | None:
    """Where a range begins and ends that was just made, and goes up by one."""
    if isinstance(x, range):
        return (x.start, x.stop) if x.step == 1 else None
    last = trace.builder.nodes[-1] if trace.builder.nodes else None
    if last is None or x._facts.operand not in last.outputs or not 2 <= len(last.inputs) <= 3:
        return None
    ends = [i.value if isinstance(i, Const) else trace.wrap(i) for i in last.inputs[1:]]
    return (0, ends[0]) if len(ends) == 1 else (ends[0], ends[1])


def _by_key(trace: Trace, function: Any, op: str, x: Any, key: Any) -> Any:
    """The item of an array with one axis, or of a range, whose key is the largest or smallest."""
    t = x._facts.type if isinstance(x, Traced) else None
    line = isinstance(t, ArrayType) and t.shape is not None and len(t.shape) == 1
    steps = isinstance(x, range) or isinstance(t, ObjectType) and t.cls is range
    ends = (0, None) if line else _ends(trace, x) if steps else None
    if key is None or ends is None:
        return NotImplemented
    protocol, mark = trace.protocol, trace.mark()
    start, stop = ends if steps else (0, protocol.call(len, (x,), {}))

    def item(k: Any) -> Any:
        return protocol.item(x, k) if line else k

    def trip(k: Any, best: Any, value: Any) -> Any:
        mine = item(k)
        new = protocol.call(key, (mine,), {})
        better = protocol.operator(op, new, value)
        known = protocol.truth(better)
        if known is not None:
            return (mine, new) if known else (best, value)
        return regions.staged_cond(trace, better, lambda: (mine, new), lambda: (best, value))

    def search() -> Any:
        rest = protocol.call(range, (protocol.operator("add", start, 1), stop), {})
        first = item(start)
        return regions.staged_for(
            trace, rest, WEAK_INT, trip, (first, protocol.call(key, (first,), {})), None
        )[0]

    try:
        some = protocol.operator("lt", start, stop)
        if isinstance(some, bool):
            return search() if some else NotImplemented
        return regions.staged_cond(trace, some, search, lambda: _refuse(trace, function))
    except Diverged:
        raise
    except Exception:  # of the user's code, which Python calls, if it comes to that
        trace.rollback(mark)
        return NotImplemented


def _refuse(trace: Trace, function: Any) -> Any:
    """Raise what Python raises for what has no items."""
    try:
        function(())
    except ValueError as error:
        trace.emit("raise", [trace.record("py.call", [ValueError, str(error)])])
    raise Diverged


def _asked(function: Any, wanted: bool) -> Rule:
    """`any`, which stops at what is true, or `all`, which stops at what is false."""

    def rule(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _static(args, kwargs):
            return NotImplemented
        if len(args) != 1 or kwargs:
            return _called(trace, function, args, kwargs, WEAK_BOOL)
        waiting = taken(trace, args[0])
        if waiting is not None and waiting.asked is not None:
            return waiting.asked(wanted)
        x = args[0] if waiting is None else waiting.again()
        if _items(trace, x) != OBJECT:
            return trace.record("py.call", [function, trace.receiver(x)], type=WEAK_BOOL)
        return _called(trace, function, (x,), {}, WEAK_BOOL)

    return rule


RULES: dict[Any, Rule] = {
    min: _extreme(min, "lt"),
    max: _extreme(max, "gt"),
    any: _asked(any, True),
    all: _asked(all, False),
}
