"""Operators on objects of the user's classes: the methods that Python would call are traced into.

In: an operator and its operands.  Out: what the method gives; NotImplemented where it is not certain which
method Python calls, or what it gives.  What always holds: then nothing of the attempt is recorded.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from runtime.trace import calls
from runtime.trace.attributes import guard_special, special_method
from runtime.trace.carried import plain_lookup
from runtime.trace.core import Diverged, Trace, is_static
from runtime.trace.values import Object, Tensor, Traced, defines, known_class
from runtime.types import OBJECT, WeakType

_OF_USERS = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_NUMBERS = (int, float, complex, bool)
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_ONE = frozenset({"neg", "pos", "invert", "abs"})
_REFUSED: Any = object()


def operator(trace: Trace, op: str, operands: tuple[Any, ...]) -> Any:
    """`a op b`, or `op a`, by the methods of the operands."""
    name = op.rstrip("_")
    if not any(isinstance(x, Object) for x in operands) or name in ("eq", "ne"):
        return NotImplemented
    if name in _ONE:
        (x,) = operands
        return NotImplemented if _ours(x) is None else _first(trace, [(x, f"__{name}__", ())])
    a, b = operands
    own, other = _ours(a), _ours(b)
    back = f"__{_MIRRORED[name]}__" if name in _MIRRORED else f"__r{name}__"
    ways: list[tuple[Any, str, tuple[Any, ...]]] = []
    if own is not None:
        right = known_class(b)
        if right is None or (right is not own and own in right.__mro__):  # it would be asked first
            return NotImplemented
        ways.append((a, f"__{name}__", (b,)))
    elif not _number(a):
        return NotImplemented
    if other is not None and (own is not other or name in _MIRRORED):
        ways.append((b, back, (a,)))
    return _first(trace, ways)


def in_place(trace: Trace, op: str, x: Any, other: Any) -> Any:
    """`x op= other`: what the name is bound to afterwards."""
    cls, name = _ours(x), op.rstrip("_")
    if cls is None:
        return NotImplemented
    if defines(cls, f"__{name}__"):
        return _first(trace, [(x, f"__{name}__", (other,))])
    guard_special(trace, cls, f"__{name}__")
    return operator(trace, name[1:], (x, other))


def _ours(x: Any) -> type | None:
    """The class of an object of the user's, all of whose methods are the user's or those of `object`."""
    cls = known_class(x) if isinstance(x, Object) else None
    if cls is None or not cls.__flags__ & _OF_USERS or not plain_lookup(cls):
        return None
    return cls if all(base is object or base.__flags__ & _OF_USERS for base in cls.__mro__) else None


def _number(x: Any) -> bool:
    """Whether it is one of Python's numbers, whose operators know nothing of other classes."""
    if isinstance(x, Tensor):
        return isinstance(x._facts.type, WeakType)
    return type(x) in _NUMBERS


def _first(trace: Trace, ways: list[tuple[Any, str, tuple[Any, ...]]]) -> Any:
    """What the first of these methods gives that knows the operands."""
    mark = trace.mark()
    for x, name, args in ways:
        cls = known_class(x)
        assert cls is not None
        if not defines(cls, name):
            guard_special(trace, cls, name)
            continue
        method = special_method(trace, cls, name)
        if method is None:
            break
        found = _traced(trace, method._facts.example, (x, *args))
        if found is _REFUSED:
            break
        if not _not_implemented(found):
            return found
    trace.rollback(mark)
    return NotImplemented


def _not_implemented(x: Any) -> bool:
    return x is NotImplemented or (isinstance(x, Traced) and x._facts.example is NotImplemented)


def _traced(trace: Trace, f: types.FunctionType, args: tuple[Any, ...]) -> Any:
    """What a method gives; `_REFUSED` where it can't be traced into, or may not know its operands."""
    signature = (f.__code__, [trace.type_of(x) for x in args])
    deep = len(trace.calls) > calls.MAX_DEPTH or trace.inlined >= calls.MAX_INLINED
    bound: Callable[..., Any] | None = None
    if not deep and not calls.recurs_on_data(trace, signature):
        bound = trace.inline(f)
    if bound is None:
        return _REFUSED
    trace.inlined += 1
    trace.calls.append((signature, trace.regions))
    try:
        found = bound(*args)
    except Diverged:
        raise
    except Exception as error:
        if trace.strict or isinstance(error, RecursionError):
            raise
        return _REFUSED
    finally:
        trace.calls.pop()
    return found if _sure(found) else _REFUSED


def _sure(x: Any) -> bool:
    """Whether it is known what kind of value this is: NotImplemented, for one, or surely not."""
    if isinstance(x, Object):
        return known_class(x) is not None and x._facts.type != OBJECT
    return isinstance(x, (Tensor, tuple)) or is_static(x) or x is NotImplemented
