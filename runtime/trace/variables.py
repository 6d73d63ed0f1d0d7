"""Variables while tracing: reads and writes become nodes, in order, and their types stay known.

In: handles of `Variable`s.  Out: handles of their values.  What always holds: a value is read anew after
whatever may have assigned another; as long as nothing did, one read serves.
"""

from __future__ import annotations

import types
from typing import Any

from runtime.ir.graph import Const
from runtime.trace import outside
from runtime.trace.core import Trace
from runtime.trace.doubts import doubt
from runtime.trace.heap import NOTHING, Loaded
from runtime.trace.values import Object, Tensor, known_class
from runtime.types import OBJECT, ArrayType, ObjectType, Type, type_of
from runtime.variable import Variable, check_creation, keeps_type


def value_of(trace: Trace, x: Any) -> Any:
    """The value of a Variable, read at this point of the program; anything else as it is."""
    return read(trace, x) if isinstance(x, Object) and known_class(x) is Variable else x


def read(trace: Trace, x: Object) -> Any:
    """The handle of the variable's present value."""
    who, example = x._facts.identity, x._facts.example
    entry = trace.heap.get(who, "attr", "_value")
    if entry is NOTHING and example is not None and not trace.heap.is_stale(who, "attr", "_value"):
        entry = outside.read(trace, x, "attr", "_value", example._value)
    elif entry is NOTHING or isinstance(entry, Loaded):
        claim: Type = OBJECT if entry is NOTHING else entry.type
        value = trace.emit("py.getattr", [trace.receiver(x), "_value"], type=claim, name="value")
        assert value is not None
        entry = trace.wrap(value)
    trace.heap.put(who, "attr", "_value", entry)
    return entry


def write(trace: Trace, method: Any, x: Object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Object:
    """A call of a method that writes the variable and nothing else; the variable."""
    values = [value_of(trace, a) for a in args]
    trace.emit("py.call", [Const(method), trace.receiver(x), *values], kwargs)
    doubt(trace, *values, *kwargs.values())
    if method is not Variable.__setitem__:  # that goes into the array that is there
        written(trace, x)
    return x


def written(trace: Trace, x: Object) -> None:
    """The variable may have another array now, of the same type if that is fixed."""
    who, example = x._facts.identity, x._facts.example
    known = trace.heap.get(who, "attr", "_value")
    trace.heap.written(who, "attr", "_value")
    if example is not None and keeps_type(example):
        trace.heap.put(who, "attr", "_value", Loaded(type_of(example._value)))
    elif x._facts.identity.fresh and isinstance(known, Loaded):  # made here, of the first value's shape
        trace.heap.put(who, "attr", "_value", known)


def attribute(trace: Trace, x: Object, name: str) -> Any:
    """`x.name`: of the variable itself, or of its value."""
    if name == "value":
        return read(trace, x)
    own = vars(Variable).get(name)
    if isinstance(own, types.FunctionType):
        return types.MethodType(trace.constant(own), x)
    if name in Variable.__slots__ or own is not None or name.startswith("__"):
        return trace.record("py.getattr", [x, name])
    return trace.protocol.get_attr(read(trace, x), name)


def create(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Variable(...)`: made at run time; while a function is traced another time, an error.

    In a branch or a loop only the run knows whether it is made, so there it may."""
    if not trace.regions:
        check_creation(trace.span())
    values = [value_of(trace, a) for a in args]
    made = trace.emit("py.call", [Const(Variable), *values], kwargs, type=ObjectType(Variable))
    assert made is not None
    doubt(trace, *values, *kwargs.values())
    handle = trace.wrap(made, fresh=True)
    first = values[0] if values else None
    if isinstance(first, Tensor) and len(values) == 1 and not {"dtype", "shape", "initial"} & set(kwargs):
        t = first._facts.type
        if isinstance(t, ArrayType) and t.shape is not None and None not in t.shape:
            kept = Loaded(ArrayType(t.dtype, t.shape, device=t.device))
            trace.heap.put(handle._facts.identity, "attr", "_value", kept)
    return handle
