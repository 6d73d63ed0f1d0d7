"""What the trace may still believe of the heap after Python code ran that it did not see.

An operator on a value of a user's class runs that class's code; a C function may change what it is
handed.  `doubt`, `doubt_inside` and `handed` tell the heap so.  They are called after the node that
runs the code was recorded (only then is it known what has escaped), before knowledge is added.
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from runtime.ir.effects import plain_exception
from runtime.trace.core import Trace
from runtime.trace.heap import ANY, NOTHING, Loaded
from runtime.trace.trust import TRUSTED, calls_python
from runtime.trace.values import Object, Traced, known_class
from runtime.types import MaybeUnbound, ObjectType, TupleType, Type, library

TAME, UNSURE, WILD = 0, 1, 2  # runs no code of the user's; can't tell; runs code of the user's
# Iterators over what nobody can change or compute meanwhile; to pull from any other may run other code.
_ITERABLES: tuple[Any, ...] = ([], (), "", b"", {}, set(), range(1), range(10**30), {}.values(), {}.items())
_TAME_ITERATORS = tuple(type(iter(x)) for x in _ITERABLES)
_HOLDERS = (list, dict, set, frozenset)
_DEPTH = 4
# C functions by module: those that only read what they are handed, and those that may change it
_READING = frozenset({"builtins", "math", "cmath"})
_CHANGING = frozenset({"_operator", "_heapq", "_bisect", "_random", "_collections", "itertools", "time"})
_DANGEROUS = frozenset({
    "setattr", "delattr", "getattr", "exec", "eval", "compile", "__import__", "next", "input", "globals",
    "locals", "vars",
})  # fmt: skip


def benign_class(cls: type) -> bool:
    """Whether methods and operators of the class are C code that changes nothing but the object itself."""
    return not cls.__flags__ & (1 << 9) or library(cls) in TRUSTED | {"collections"}


def class_wildness(cls: type | None) -> int:
    """How much code of the user's an operator on a value of this class may run."""
    if cls in (None, np.ndarray, collections.defaultdict):  # an array that is an object holds Python objects
        return UNSURE
    if hasattr(cls, "__next__") and cls not in _TAME_ITERATORS:
        return WILD
    assert cls is not None
    return TAME if benign_class(cls) else WILD


def type_wildness(t: Type) -> int:
    """The same of a type."""
    if isinstance(t, MaybeUnbound):
        return type_wildness(t.type)
    if isinstance(t, TupleType):
        return max(map(type_wildness, t.items), default=TAME)
    if not isinstance(t, ObjectType) or t.item is not None:  # an iterator that was made over tame things
        return TAME
    return class_wildness(t.cls)


def _inner(trace: Trace, x: Any) -> Iterator[Any]:
    """What is known to be in a container; OBJECT types for what isn't known."""
    who = x._facts.identity
    size = trace.heap.sizes.get(who)
    if size is None or x._facts.type.cls not in (list, dict):
        yield Loaded(ObjectType())
        return
    for key in size if isinstance(size, tuple) else range(size):
        entry = trace.heap.get(who, "item", key)
        yield Loaded(ObjectType()) if entry is NOTHING else entry


def wildness(trace: Trace, x: Any, depth: int = 0) -> int:
    """How much code of the user's an operator on `x` may run; depth: how far to look inside containers."""
    if isinstance(x, tuple):
        return max((wildness(trace, i, depth) for i in x), default=TAME)
    if isinstance(x, Loaded):
        return type_wildness(x.type) if depth <= 0 or not _holds(x.type) else UNSURE
    if not isinstance(x, Traced):
        return TAME
    if isinstance(x._facts.example, (type, types.FunctionType, types.ModuleType)):
        return WILD if isinstance(x._facts.example, type) and type(x._facts.example) is not type else TAME
    level = WILD if x._facts.identity in trace.wild else type_wildness(x._facts.type)
    if level == TAME and depth > 0 and isinstance(x, Object) and _holds(x._facts.type):
        return max((wildness(trace, i, depth - 1) for i in _inner(trace, x)), default=TAME)
    return level


def _holds(t: Type) -> bool:
    if not isinstance(t, ObjectType) or t.cls is None:
        return False
    return t.cls in _HOLDERS or t.cls.__module__ == "collections"


def _believe_less(trace: Trace, level: int, values: Iterable[Any]) -> None:
    if level == TAME:
        return
    for x in values:
        if isinstance(x, Object) and type_wildness(x._facts.type) != TAME:
            trace.heap.escape(x._facts.identity)
    if level == WILD:
        trace.heap.unknown_call()
    else:
        trace.heap.doubtful()


def doubt(trace: Trace, *values: Any) -> None:
    """Operators of these values ran: their item access, iteration, arithmetic."""
    _believe_less(trace, max((wildness(trace, x) for x in values), default=TAME), values)


def doubt_inside(trace: Trace, *values: Any) -> None:
    """Operators of these values ran, and of what is in them: they were compared, hashed or printed."""
    _believe_less(trace, max((wildness(trace, x, _DEPTH) for x in values), default=TAME), values)


def handed(trace: Trace, *values: Any) -> None:
    """C code that may change what it is handed got these values."""
    for x in values:
        if isinstance(x, tuple):
            handed(trace, *x)
        elif isinstance(x, Object):
            trace.heap.written(x._facts.identity, "item", ANY)
            trace.heap.written(x._facts.identity, "attr", ANY)
    doubt_inside(trace, *values)


def is_callback(x: Any) -> bool:
    """Whether a value handed to other code is there to be called by it."""
    if not isinstance(x, Traced):
        return isinstance(x, (types.FunctionType, types.MethodType)) or getattr(x, "is_method", False) is True
    callables = (types.FunctionType, types.MethodType)
    return isinstance(x._facts.example, (*callables, type)) or known_class(x) in callables


def called(trace: Trace, target: Any, values: Iterable[Any]) -> None:
    """The plain thing `target` was called with these values, at run time."""
    reach = _reach(target)
    values = tuple(values)
    if reach == WILD or target is not functools.partial and any(map(is_callback, values)):
        trace.heap.unknown_call()
    elif reach == UNSURE:
        handed(trace, *values)
    else:
        doubt_inside(trace, *values)


def _reach(target: Any) -> int:
    """What a call may change: nothing (but by its arguments' operators), its arguments, or anything."""
    if isinstance(target, Traced) or calls_python(target):
        return WILD
    if isinstance(target, type):
        standard = target.__module__ in ("collections", "types", "functools", "itertools")
        return TAME if standard or not target.__flags__ & (1 << 9) or plain_exception(target) else WILD
    if isinstance(target, np.ufunc):  # which have no module before NumPy 2.2
        return TAME
    module = getattr(target, "__module__", None) or ""
    owner = getattr(target, "__self__", None)
    if isinstance(target, (types.BuiltinFunctionType, types.MethodType)) and owner is not None:
        if not isinstance(owner, (types.ModuleType, type)):  # a method of an object: of a random stream, say
            return UNSURE if library(type(owner)) in ("random", "numpy") else WILD
        if isinstance(owner, type):
            return TAME if benign_class(owner) else WILD
    top = module.partition(".")[0]
    if top in _READING:
        return WILD if getattr(target, "__name__", "") in _DANGEROUS else TAME
    if top in _CHANGING or module.startswith("numpy.random"):
        return UNSURE
    return TAME if top in ("numpy", "scipy", "cupy", "cupyx") else WILD
