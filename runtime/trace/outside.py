"""Reading the world outside the call: globals, closure cells, attributes and items of what was passed in.

A read looks at the concrete object now, while tracing, and leaves a guard: the trace is valid only
while the place still holds the same constant, or a value of the same type.  Immutable values become
constants of the trace; arrays and other mutable objects are read at run time, by reference.  Once
unknown code may have run, or the place was written, the read is left to run time.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from runtime.boxes import Cell
from runtime.errors import Untraceable
from runtime.ir.graph import Const, Value
from runtime.trace.core import Trace, is_static
from runtime.trace.heap import CLEAN, UNKNOWN, Identity, Namespace
from runtime.trace.record import Path, Placeholder
from runtime.trace.trust import trusted
from runtime.trace.values import Traced
from runtime.types import (
    OBJECT,
    ArrayType,
    FunctionOf,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
    declared,
    function_of,
    is_namedtuple,
    named_extras,
    opaque,
    static_or_weak,
    type_of,
)

# What functions, methods and partials are made of, and always will be.
_FIXED = frozenset({("attr", "__self__"), ("attr", "__func__"), ("attr", "func"), ("attr", "keywords")})


def read(trace: Trace, holder: Traced, kind: str, key: Any, value: Any) -> Any:
    """The trace value of `value`, found at (kind, key) of the object that `holder` stands for.

    holder must be a handle with an example; value is what the example holds there now."""
    facts = holder._facts
    assert facts.path is not None
    boxed = facts.identity.cls is Cell and bool(facts.path.steps)  # the path leads to the cell in the box
    path = facts.path / ("attr", "cell_contents") if boxed else facts.path / (kind, key)

    def load(claim: Type) -> Value:
        op = "py.getattr" if kind == "attr" else "getitem"
        if facts.identity.cls is Namespace and trace.heap.trust == UNKNOWN:
            op = "py.global"  # what ran may have deleted it
        name = (
            key
            if isinstance(key, str) and key.isidentifier() and key not in ("value", "cell_contents")
            else ""
        )
        value = trace.emit(op, [trace.receiver(holder), key], type=claim, name=name)
        assert value is not None
        return value

    if trace.asking and type(value) is bool:  # another thread, or a signal, may end the loop by it
        op = "py.global" if facts.identity.cls is Namespace else "py.getattr" if kind == "attr" else "getitem"
        return trace.record(op, [trace.receiver(holder), key], type=OBJECT)
    return _found(trace, value, path, load)


def _found(trace: Trace, value: Any, path: Path, load: Any) -> Any:
    """The trace value of what is at a place now, by what is known of the place."""
    if trace.heap.trust == UNKNOWN and (not _lasting(value) or path.key in trace.volatile):
        return trace.wrap(load(OBJECT))
    varying = _varying(trace, value, path)
    return (
        lift(trace, value, path, load) if varying is None else _read_anew(trace, path, load, varying, value)
    )


def read_inside(trace: Trace, function: Traced, path: Path) -> Any:
    """The trace value of what a function that is no constant has captured, or has for a default; what a
    partial or a bound method is made of.

    path: where it is, beginning as the function's own path does.  As long as it can't have changed it is read
    at the begin of the call, once: native code takes it from there."""
    facts = function._facts
    assert facts.path is not None
    steps = path.steps[len(facts.path.steps) :]
    fixed = steps[-1] in _FIXED or steps[0] == ("attr", "args")
    kind, key = steps[-1]
    value = Path((facts.example,), steps).read(())
    holder = Identity(types.CellType if key == "cell_contents" else None)
    changeable = not fixed and (trace.heap.trust != CLEAN or trace.heap.is_stale(holder, kind, key))
    if changeable or trace.asking and type(value) is bool:
        stale = trace.heap.trust == CLEAN
        return _found(
            trace, value, path, lambda claim: _inner(trace, function, steps, OBJECT if stale else claim)
        )
    known = trace.inside.get((facts, steps))
    if known is not None and all(map(trace.builder.visible, known[1])):
        return known[0]
    read: list[Value] = []

    def load(claim: Type) -> Value:
        with trace.at_the_root(facts.operand):
            read.append(_inner(trace, function, steps, claim))
        return read[-1]

    with trace.heap.as_at_the_call():
        found = _found(trace, value, path, load)
    trace.inside[facts, steps] = found, tuple(read)
    return found


def box_inside(trace: Trace, function: Traced, path: Path, name: str) -> Any:
    """The trace value of a box around the cell of a captured variable that the function binds again.

    path: where the variable's value is."""
    facts = function._facts
    assert facts.path is not None
    steps = path.steps[len(facts.path.steps) : -1]
    known = trace.inside.get((facts, steps))
    if known is not None and trace.builder.visible(known._facts.operand):
        return known
    with trace.at_the_root(facts.operand):
        cell = _inner(trace, function, steps, ObjectType(types.CellType))
        made = trace.emit("py.call", [Cell, name], {"cell": cell}, type=ObjectType(Cell))
    assert made is not None
    where = Path(path.root, path.steps[:-1], f"captured {name!r}")
    box = Cell(name, cell=Path((facts.example,), steps).read(()))
    found = trace.inside[facts, steps] = trace.wrap(made, example=box, path=where)
    return found


def _inner(trace: Trace, function: Traced, steps: tuple[tuple[str, Any], ...], claim: Type) -> Value:
    """What the steps from a function, which has been looked at, lead to at run time."""
    held: Any = trace.receiver(function)
    now = function._facts.example
    for number, (kind, key) in enumerate(steps, 1):
        now = getattr(now, key) if kind == "attr" else now[key]
        if number == len(steps):
            t = claim
        elif type(now) is tuple:  # of so many items, for as long as the guards hold
            t = TupleType(tuple(ObjectType(type(x) if key == "__closure__" else None) for x in now))
        else:
            t = ObjectType(type(now))
        held = trace.emit("py.getattr" if kind == "attr" else "getitem", [held, key], type=t)
    assert isinstance(held, Value)
    return held


def guard_draws(trace: Trace, names: Iterable[str]) -> None:
    """The functions of `np.random` with these names go on to be what they are: tests put others there."""
    for name in names:
        path = Path((np.random,), (), "np.random") / ("attr", name)
        trace.guard(path, StaticType(getattr(np.random, name, None)), path.text)


def _lasting(value: Any) -> bool:
    """Whether a value is of a kind that programs hardly ever exchange: it is checked, not read anew."""
    if opaque(type(value)):
        return False
    return trusted(value) or _named(value)


def _named(value: Any) -> bool:
    """Whether a value is what programs define: a function, of our own kind too, a class, a module."""
    plain = isinstance(value, (types.FunctionType, type, types.ModuleType))
    return plain or hasattr(type(value), "python_function") or hasattr(type(value), "runs_on_trace_values")


def _varying(trace: Trace, value: Any, path: Path) -> Type | None:
    """The type by which a place that changes between calls is read; None where it was not found to change.

    A number that changes stays a number of its kind, an array that changes size one of its dtype, until
    that turns out wrong, too."""
    if opaque(type(value)) or type(value) is Placeholder:
        return None
    t = type_of(value)
    if ("any", path.key) in trace.volatile:
        t = OBJECT
    elif path.key in trace.volatile:
        if type(value) is types.FunctionType and not trusted(value):
            t = function_of(value)
        t = t if _expressible(t) else OBJECT
    if ("sizes", path.key) in trace.volatile and isinstance(t, ArrayType) and t.shape:
        t = ArrayType(t.dtype, (None,) * len(t.shape), t.scalar, t.device)
    elif path.key not in trace.volatile and t != OBJECT:
        return None
    trace.note("dynamic", f"{path.text} changes between calls: it is read at run time")
    return t


def _expressible(t: Type) -> bool:
    """Whether a place that changes is read as a value of this type, and not as any object."""
    if isinstance(t, TupleType) and t.cls is tuple:
        return all(map(_expressible, t.items))
    return isinstance(t, (ArrayType, WeakType, FunctionOf))


def kind(trace: Trace, path: Path, value: Any) -> Type:
    """The type of what an object from outside holds at a place, with a guard for it."""
    if type(value) is Placeholder:
        t: Type = value.type
    elif opaque(type(value)):
        t = ObjectType(type(value))
    else:
        varying = _varying(trace, value, path)
        t = static_or_weak(type_of(value)) if varying is None else varying
        if not isinstance(t, (ArrayType, WeakType, TupleType)) and t != OBJECT:
            t = ObjectType(type(value))
    if t != OBJECT:
        trace.guard(path, t, path.text)
    return t


def _read_anew(trace: Trace, path: Path, load: Any, t: Type, value: Any) -> Any:
    if t == OBJECT:
        return trace.wrap(load(OBJECT))
    trace.guard(path, t, path.text)
    if isinstance(t, FunctionOf):
        clean = trace.heap.trust == CLEAN
        return trace.wrap(load(declared(t)), example=value, path=path) if clean else trace.wrap(load(OBJECT))
    return trace.wrap(load(t) if trace.heap.trust == CLEAN else _expected(trace, load(OBJECT), t, path))


def changes(trace: Trace, path: Path) -> bool:
    """Whether the place was found changed twice, so that it is read at run time from now on."""
    if path.key not in trace.volatile and ("any", path.key) not in trace.volatile:
        return False
    trace.note("dynamic", f"{path.text} changes between calls: it is read at run time")
    return True


def guard_namedtuple(trace: Trace, cls: type) -> None:
    """The methods and constants of a namedtuple's class stay as they are: they are found while tracing."""
    if not is_namedtuple(cls, again=True):
        what = f"{cls.__qualname__} was given attributes that tuples don't have"
        raise Untraceable(what, span=trace.span())
    for name, value in named_extras(cls).items():
        path = Path((cls,)) / ("attr", name)
        if isinstance(value, classmethod):
            path = path / ("attr", "__func__")
        expected = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        trace.guard(path, StaticType(expected), f"{cls.__qualname__}.{name}")


def lift_path(trace: Trace, value: Any, path: Path) -> Any:
    """The trace value of a concrete object at `path`, whose run-time read follows the path's steps."""

    def load(claim: Type) -> Value:
        assert not isinstance(path.root, int)
        holder: Any = Const(path.root[0])
        for n, (kind, key) in enumerate(path.steps):
            last = n == len(path.steps) - 1
            holder = trace.emit(
                "py.getattr" if kind == "attr" else "getitem", [holder, key], type=claim if last else None
            )
        if not path.steps:
            holder = trace.emit("py.expect", [holder, Const(claim), path.text], type=claim)
        assert isinstance(holder, Value)
        return holder

    varying = _varying(trace, value, path) if path.steps else None
    return (
        lift(trace, value, path, load) if varying is None else _read_anew(trace, path, load, varying, value)
    )


def lift(trace: Trace, value: Any, path: Path, load: Any) -> Any:
    """The trace value of a concrete value found at `path`; `load(type)` reads it at run time."""
    checked = trace.heap.trust != CLEAN
    if type(value) is Placeholder:
        trace.guard(path, value.type, path.text)
        t = value.type
        return trace.wrap(_expected(trace, load(OBJECT), t, path) if checked else load(t))
    if opaque(type(value)):
        trace.guard(path, ObjectType(type(value)), path.text)
        return trace.wrap(load(OBJECT if checked else ObjectType(type(value))))
    if trusted(value):
        trace.guard(path, StaticType(value), path.text)
        if checked and not isinstance(value, types.ModuleType):
            trace.emit("py.check", [load(OBJECT), value, path.text])
        return value
    if _named(value) and not is_static(value):
        trace.guard(path, StaticType(value), path.text)
        if checked:
            trace.emit("py.check", [load(OBJECT), trace.constant(value), path.text])
        return trace.constant(value)
    if is_static(value):
        if is_namedtuple(type(value)):
            guard_namedtuple(trace, type(value))
        trace.remember_members(value)
        if checked and isinstance(type_of(value), WeakType):  # it may have changed: its kind hardly has
            return _read_anew(trace, path, load, type_of(value), value)
        trace.guard(path, StaticType(value), path.text)
        if checked:
            trace.emit("py.check", [load(OBJECT), value, path.text])
        return value
    t = type_of(value)
    if type(value) is tuple or is_namedtuple(type(value)):
        return _lift_tuple(trace, value, path, load)
    trace.guard(path, t if isinstance(t, (ArrayType, ObjectType)) else ObjectType(type(value)), path.text)
    if not checked:
        found = trace.wrap(load(t), example=None if isinstance(t, ArrayType) else value, path=path)
        if isinstance(found, Traced):  # what was at this place at the call is one object
            facts = found._facts
            facts.identity = trace.identities.setdefault(path.key, facts.identity)
        return found
    return trace.wrap(_expected(trace, load(OBJECT), t, path))


def _expected(trace: Trace, loaded: Value, t: Type, path: Path) -> Value:
    """What was read, checked at run time to be of this type."""
    expected = trace.emit("py.expect", [loaded, Const(t), path.text], type=t)
    assert expected is not None
    return expected


def _lift_tuple(trace: Trace, value: tuple[Any, ...], path: Path, load: Any) -> Any:
    """A tuple with something mutable in it: the tuple is read at run time, item by item where mutable."""
    trace.guard(path, ObjectType(type(value)), path.text)
    trace.guard(path / ("len", None), StaticType(len(value)), path.text)
    if type(value) is not tuple:
        guard_namedtuple(trace, type(value))
    whole: list[Value] = []

    def load_item(i: int) -> Any:
        def load_it(claim: Type) -> Value:
            if not whole:
                whole.append(load(ObjectType(type(value))))
            item = trace.emit("getitem", [whole[0], i], type=claim)
            assert item is not None
            return item

        return load_it

    items = [lift(trace, v, path / ("item", i), load_item(i)) for i, v in enumerate(value)]
    return tuple(items) if type(value) is tuple else tuple.__new__(type(value), items)
