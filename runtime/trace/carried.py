"""What is known of the fields of objects that loops and branches hand on.

In: handles of objects, and the heap of the moment.  Out: `Held`, which describes all fields that an object
has; where two ways meet, what holds on both.  What always holds: it is true of the object at the moment for
which it is asked, and true of one from outside only while the guards that it leaves hold.
"""

from __future__ import annotations

import inspect
import types
from typing import Any

import numpy as np

from runtime.boxes import Cell
from runtime.ir.graph import Const
from runtime.trace import outside
from runtime.trace.core import Trace
from runtime.trace.heap import CLEAN, NOTHING, Heap, Held, Identity, Loaded
from runtime.trace.record import Path
from runtime.trace.values import Facts, Object, Traced, known_class
from runtime.types import ObjectType, Type, join, opaque, static_or_weak

DEPTH = 3  # of objects in objects: there is no end of those that hold others of their own class
_OF_USERS = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def plain_lookup(cls: type) -> bool:
    """Whether instances of the class look attributes up in the ordinary way."""
    return (
        (
            bool(cls.__flags__ & _OF_USERS)
            and getattr(cls, "__getattribute__", None) is getattr(object, "__getattribute__", None)
            and not hasattr(cls, "__getattr__")
            and not issubclass(cls, (np.ndarray, np.generic))
        )
        or cls is Cell
        or cls is types.SimpleNamespace
    )


def loaded(trace: Trace, x: Any, heap: Heap | None = None, depth: int = DEPTH) -> Loaded:
    """What is known of a value, as what is known of a place that holds it."""
    if isinstance(x, Loaded):
        return x
    return Loaded(static_or_weak(trace.type_of(x)), held(trace, x, heap, depth))


def held(trace: Trace, x: Any, heap: Heap | None = None, depth: int = DEPTH) -> Held | None:
    """What an object holds; None where it isn't known that it holds nothing else."""
    heap = trace.heap if heap is None else heap
    cls = known_class(x)
    if not isinstance(x, Object) or cls is None or cls is Cell or not plain_lookup(cls) or not depth:
        return None
    who = x._facts.identity
    if who in heap.complete:
        fields = {
            name: loaded(trace, entry, heap, depth - 1)
            for (owner, kind, name), entry in heap.entries.items()
            if owner is who and kind == "attr"
        }
        return Held(tuple(fields.items()), trace.origins.get(who, ()))
    return None if x._facts.example is None else _outside(trace, x._facts, cls, heap, depth)


def _outside(trace: Trace, facts: Facts, cls: type, heap: Heap, depth: int) -> Held | None:
    """What an object from outside holds, with a guard for each field that nobody has looked at yet."""
    names, path = _fields(facts.example, cls), facts.path
    if names is None or path is None or heap.trust != CLEAN:
        return None
    stale = heap.stale_keys(facts.identity, "attr")
    if not stale.issubset(names):  # ANY is the name of no field
        return None
    fields: dict[str, Loaded] = {}
    for name, value in names.items():
        entry = heap.get(facts.identity, "attr", name)
        if entry is not NOTHING:
            fields[name] = loaded(trace, entry, heap, depth - 1)
        elif name in stale:
            return None
        else:
            place = path / ("attr", name)
            t = outside.kind(trace, place, value)
            fields[name] = Loaded(t, _inside(trace, t, value, place, heap, depth - 1))
    return Held(tuple(fields.items()), (facts,))


def _inside(trace: Trace, t: Type, value: Any, path: Path, heap: Heap, depth: int) -> Held | None:
    """What an object that a field of one from outside holds holds itself."""
    cls = t.cls if isinstance(t, ObjectType) else None
    if cls is None or not depth or not plain_lookup(cls) or opaque(cls):
        return None
    return _outside(trace, Facts(trace, Const(None), t, Identity(cls), value, path), cls, heap, depth)


def _fields(example: Any, cls: type) -> dict[str, Any] | None:
    """The fields of an object by name; None where reading one does more than read it."""
    found = dict(getattr(example, "__dict__", {}))
    for name in found:
        if hasattr(type(inspect.getattr_static(cls, name, None)), "__set__"):
            return None
    for base in cls.__mro__:
        for name, one in vars(base).items():
            if isinstance(one, types.MemberDescriptorType) and base is not object:
                value = getattr(example, name, NOTHING)
                if value is not NOTHING:
                    found[name] = value
    return found


def both(a: Held | None, b: Held | None) -> Held | None:
    """What holds of an object of which one or the other is known."""
    if a is None or b is None or {n for n, _ in a.fields} != {n for n, _ in b.fields}:
        return None
    if a == b:
        return a
    there = dict(b.fields)
    fields = tuple((name, either(one, there[name])) for name, one in a.fields)
    return Held(fields, tuple(dict.fromkeys((*a.origins, *b.origins))))


def either(a: Loaded, b: Loaded) -> Loaded:
    """What is known of a place that holds what `a` says on one way and what `b` says on another."""
    return Loaded(joined := join(a.type, b.type), both(a.held, b.held) if one_class(joined) else None)


def one_class(t: Type) -> bool:
    """Whether values of a type are objects of a class that is known."""
    return isinstance(t, ObjectType) and t.cls is not None


def learn(trace: Trace, x: Any, what: Held | None) -> Any:
    """The handle, of which this is known from now on."""
    if what is not None and isinstance(x, Traced):
        who = x._facts.identity
        for name, entry in what.fields:
            trace.heap.entries[who, "attr", name] = entry
        trace.heap.complete.add(who)
        trace.origins[who] = what.origins
    return x


def origins(trace: Trace, x: Traced) -> list[Object]:
    """The handles of the objects from outside that an object may be."""
    return [Object(facts) for facts in trace.origins.get(x._facts.identity, ()) if isinstance(facts, Facts)]
