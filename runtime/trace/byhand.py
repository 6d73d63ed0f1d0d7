"""What functions written by hand over trace values need: calls, containers and results of a known kind.

In: trace values or plain ones.  Out: the same.  What always holds: with no trace active each does what plain
Python does, so a function made of these works eagerly and in traces alike.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import tree
from runtime.errors import Untraceable
from runtime.ir.graph import Const
from runtime.trace import items, sizes
from runtime.trace.attributes import get_attr
from runtime.trace.core import Diverged, Trace, active
from runtime.trace.values import Object, Traced, known_class
from runtime.types import OBJECT, ArrayType, ObjectType, StaticType, TupleType, Type, is_namedtuple

_OURS = ("runtime.scans", "runtime.batching", "runtime.vectorizing", "runtime.pushing")


def apply(f: Any, *args: Any, **kwargs: Any) -> Any:
    """`f(*args, **kwargs)`, traced into where that can be."""
    trace = active()
    if trace is None or isinstance(f, Traced) or getattr(f, "__module__", None) in _OURS:
        return f(*args, **kwargs)  # what is written by hand runs on trace values as it is
    if isinstance(f, types.FunctionType) and not trace.is_generated(f):
        f = trace.constant(f)
    return trace.protocol.call(f, args, kwargs)


def new_list() -> Any:
    """An empty list."""
    trace = active()
    return [] if trace is None else items.new_list(trace, ())


def opened(x: Any, data: bool = False) -> Any:
    """The value with lists and dicts whose contents are known as Python containers, to be gone through.

    data: instances of dataclasses, too, as `tree.Data`.
    """
    trace = active()
    if trace is None:
        return x
    if type(x) is tuple or is_namedtuple(type(x)):
        parts = [opened(item, data) for item in x]
        return tuple(parts) if type(x) is tuple else tuple.__new__(type(x), parts)
    if not isinstance(x, Object):
        return x
    if known_class(x) is list:
        found = items.known_items(trace, x)
        return x if found is None else [opened(item, data) for item in found]
    if data and (names := _field_names(trace, x)) is not None:
        return tree.Data(known_class(x), names, [opened(get_attr(trace, x, name), True) for name in names])  # type: ignore[arg-type]
    keys = sizes.guarded_keys(trace, x) if known_class(x) is dict else None
    return x if keys is None else {key: opened(x[key], data) for key in keys}


def _field_names(trace: Trace, x: Object) -> tuple[str, ...] | None:
    """The fields of an instance of a dataclass that holds nothing else; None where that isn't known."""
    cls, facts = known_class(x), x._facts
    names = None if cls is None else tree.field_names(cls)
    if names is None:
        return None
    known = {key for who, kind, key in trace.heap.entries if who is facts.identity and kind == "attr"}
    if facts.identity in trace.heap.complete:
        return names if known == set(names) else None
    return names if facts.example is not None and tree.data_names(facts.example) == names else None


def leaves_of(x: Any, data: bool = False) -> tuple[list[Any], tree.Structure]:
    """The arrays of a tree, and its structure; Untraceable where that is known only at run time.

    data: as in `opened`.
    """
    leaves, structure = tree.flatten_data(opened(x, True)) if data else tree.flatten(opened(x))
    trace = active()
    for leaf in leaves if trace is not None else ():
        if isinstance(leaf, Object) and known_class(leaf) in (None, dict, list, tuple):
            raise Untraceable("it is not known while tracing which arrays a value is made of")
    return leaves, structure


def closed(x: Any) -> Any:
    """The reverse: lists and dicts as the trace has them."""
    trace = active()
    if trace is None:
        return x
    if type(x) is tuple or is_namedtuple(type(x)):
        parts = [closed(item) for item in x]
        return tuple(parts) if type(x) is tuple else tuple.__new__(type(x), parts)
    if type(x) is list:
        return items.new_list(trace, [closed(item) for item in x])
    if type(x) is tree.Data:
        return _new_instance(trace, x)
    return items.new_dict(trace, [(key, closed(v)) for key, v in x.items()]) if type(x) is dict else x


def _new_instance(trace: Trace, data: tree.Data) -> Any:
    """A handle of a new instance of a dataclass."""
    values = [closed(value) for value in data.values]
    made = trace.emit(
        "py.call",
        [tree.instance, trace.constant(data.cls), data.names, *values],
        type=ObjectType(data.cls),
        attrs={"pure": True},
    )
    assert made is not None
    handle = trace.wrap(made, fresh=True)
    trace.heap.complete.add(handle._facts.identity)
    for name, value in zip(data.names, values, strict=True):
        trace.heap.put(handle._facts.identity, "attr", name, value)
    return handle


def _maker(cls: type, names: tuple[str, ...], *values: Any) -> Any:
    return tree.instance(cls, names, *values) if active() is None else tree.Data(cls, names, values)


tree.set_maker(_maker)


def at_run_time(f: Callable[..., Any], args: Sequence[Any], claim: Type = OBJECT) -> Any:
    """`f(*args)` for a function of ours without effects on its arguments; claim: the type of its result."""
    trace = active()
    if trace is None:
        return f(*args)
    value = trace.emit("py.call", [Const(f), *args], type=claim)
    assert value is not None
    return trace.wrap(value)


def fail(error: Callable[..., Exception], *args: Any) -> Any:
    """Raise `error(*args)`: now, or in the program that is being traced."""
    trace = active()
    if trace is None:
        raise error(*args)
    made = trace.emit("py.call", [Const(error), *args])
    assert made is not None
    trace.emit("raise", [trace.wrap(made)])
    raise Diverged


def types_of(values: Sequence[Any]) -> list[Type]:
    """The types of values in the trace; nothing is known of plain ones."""
    trace = active()
    return [OBJECT] * len(values) if trace is None else [trace.type_of(x) for x in values]


def stacked_type(t: Type, length: int | None) -> Type:
    """The type of `length` values of type `t`, stacked along a new first axis."""
    if isinstance(t, StaticType) and type(t.value) in (bool, float, complex):
        return ArrayType(np.dtype(type(t.value)), (length,))
    if isinstance(t, ArrayType) and t.shape is not None and t.dtype.kind in "biufc":
        return ArrayType(t.dtype, (length, *t.shape), device=t.device)
    return OBJECT


def tuple_of(kinds: Sequence[Type]) -> Type:
    """The type of a tuple with items of these types."""
    return TupleType(tuple(kinds))
