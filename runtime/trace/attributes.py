"""Attributes of handles: looked up as Python would, as far as the class is known; else at run time.

Arrays answer `shape`, `dtype` and the like from their type.  Objects whose class is a plain user class
find methods, properties and class attributes while tracing (methods are then traced into); instance
attributes come from what the trace knows, from the concrete object with a guard, or from run time.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from abc import ABCMeta
from collections.abc import Callable
from enum import EnumMeta
from typing import Any

import numpy as np

from runtime.boxes import Cell
from runtime.errors import Untraceable
from runtime.ir.graph import Const
from runtime.ops.draws import methods_of
from runtime.trace import flags, outside, variables
from runtime.trace.carried import learn, origins, plain_lookup
from runtime.trace.core import Trace, is_static
from runtime.trace.doubts import benign_class, doubt
from runtime.trace.heap import CLEAN, NOTHING, UNKNOWN, Identity, Loaded
from runtime.trace.record import Path
from runtime.trace.trust import trusted
from runtime.trace.values import Object, Tensor, Traced, defines, known_class
from runtime.types import OBJECT, WEAK_INT, ArrayType, StaticType, TupleType, Type, WeakType
from runtime.variable import Variable

_MISSING = object()
_PARTS = frozenset({"__code__", "__defaults__", "__kwdefaults__"})  # of functions
_LIMITS = (np.finfo, np.iinfo)
_METACLASSES = (type, ABCMeta, EnumMeta)  # they look attributes of classes up in the ordinary way
CONTAINERS: tuple[type, ...] = (list, dict, set, tuple)


class Method:
    """A method of a handle, not yet called: `x.sum`, `out.append`."""

    __slots__ = ("handle", "name")
    is_method = True

    def __init__(self, handle: Traced, name: str) -> None:
        self.handle, self.name = handle, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.handle._facts.trace.protocol.call(self, args, kwargs)

    def _operand(self) -> Any:
        trace = self.handle._facts.trace
        return trace.emit("py.getattr", [self.handle, self.name])


class NumberMethod:
    """A method of a number that, without arguments, is what a function gives for it."""

    __slots__ = ("method", "run")
    is_method = runs_on_trace_values = True

    def __init__(self, handle: Traced, name: str, run: Callable[[Any], Any]) -> None:
        self.method, self.run = Method(handle, name), run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.method(*args, **kwargs) if args or kwargs else self.run(self.method.handle)

    def _operand(self) -> Any:
        return self.method._operand()


def _number_method(trace: Trace, x: Tensor, kind: str, name: str) -> NumberMethod | None:
    """A method of a real number (kind: b, i, u or f, of Python's or NumPy's) that is another call."""
    cls = known_class(x)

    def python(value: Any) -> Any:
        return trace.protocol.call({"b": bool, "f": float}.get(kind, int), (value,), {})

    def whole(value: Any) -> Any:
        rest = trace.protocol.operator("mod", python(value), 1.0)
        return trace.protocol.operator("eq", rest, 0.0)

    if name == "item" and cls is not None and issubclass(cls, np.generic):
        return NumberMethod(x, name, python)
    if name == "conjugate" and (kind != "b" or cls is not bool):
        return NumberMethod(x, name, lambda value: value)
    if name == "is_integer" and kind == "f":
        return NumberMethod(x, name, whole)
    if cls is int and name in ("bit_length", "bit_count"):
        function = getattr(int, name)
        return NumberMethod(x, name, lambda value: trace.record("py.call", [function, value], type=WEAK_INT))
    return None


def get_attr(trace: Trace, x: Traced, name: str) -> Any:
    """`x.name`."""
    if isinstance(x, Tensor):
        return _tensor_attr(trace, x, name)
    if name == "__dict__":
        raise Untraceable(
            "an object's __dict__ is not followed while tracing",
            span=trace.span(),
            why="what is written to it changes the object behind the trace's back",
        )
    if name == "__kwdefaults__":
        _untraceable_part(trace, x, name)  # a dict that may be written to
    cls, example = known_class(x), x._facts.example
    limit = _limit(trace, x, name) if cls in _LIMITS else None
    if limit is not None:
        return limit
    if cls is Cell and name == "free":
        return _free_value(trace, x)
    guard_special(trace, cls, "__getattribute__", "__getattr__")
    entry = trace.heap.get(x._facts.identity, "attr", name)
    if entry is not NOTHING and flags.anew(trace, x._facts.identity, "attr", name, entry):
        return _load(trace, x, name, OBJECT)
    if entry is not NOTHING:
        return (
            entry
            if not isinstance(entry, Loaded)
            else learn(trace, _load(trace, x, name, entry.type), entry.held)
        )
    if cls in (types.FunctionType, types.ModuleType) or isinstance(
        example, (type, types.ModuleType, types.FunctionType)
    ):
        return _named_thing_attr(trace, x, name)
    if cls is Variable and isinstance(x, Object):
        return variables.attribute(trace, x, name)
    if cls is None or not plain_lookup(cls):
        return (
            Method(x, name)
            if cls is not None and benign_class(cls) and callable(getattr(cls, name, None))
            else _load(trace, x, name, OBJECT)
        )
    return _instance_attr(trace, x, cls, name)


def _limit(trace: Trace, x: Traced, name: str) -> Any:
    """A number that says what a type can hold; None where that isn't known."""
    facts = x._facts
    limit = None if facts.example is None else getattr(facts.example, name, None)
    fixed = isinstance(facts.operand, Const)
    if not isinstance(limit, (int, float, np.floating)) or not fixed and facts.path is None:
        return None
    if not fixed and facts.path is not None:
        place = facts.path / ("attr", name)
        trace.guard(place, StaticType(limit), place.text)
    return limit


def _free_value(trace: Trace, x: Traced) -> Any:
    """The variable in a `Cell`, as an inner function reads it."""
    entry = trace.heap.get(x._facts.identity, "attr", "value")
    if entry is not NOTHING and flags.anew(trace, x._facts.identity, "attr", "value", entry):
        return _load(trace, x, "free", OBJECT)
    if entry is not NOTHING and not isinstance(entry, Loaded):
        return entry
    return _load(trace, x, "free", OBJECT if entry is NOTHING else entry.type)


def guard_special(trace: Trace, cls: type | None, *names: str) -> None:
    """The class goes on having these special methods, or none of this name, as it has now."""
    if cls is None or (cls, *names) in trace.ordinary:
        return
    trace.ordinary.add((cls, *names))
    if not cls.__flags__ & (1 << 9) or trusted(cls):
        return
    for name in names:
        path = Path((cls,)) / ("special", name)
        trace.guard(path, StaticType(getattr(cls, name, None)), f"{cls.__qualname__}.{name}")


def guard_field(trace: Trace, cls: type | None, name: str) -> None:
    """A class that has nothing by the name of a field goes on so: a property would take over what is done."""
    if type(cls) is type and not defines(cls, name) and not hasattr(type, name):
        guard_special(trace, cls, name)


def _instance_attr(trace: Trace, x: Traced, cls: type, name: str) -> Any:
    found = inspect.getattr_static(cls, name, _MISSING)
    facts = x._facts
    if cls is Cell and name == "value":
        return _own_attr(
            trace, x, name, facts.example.cell.cell_contents if _has_cell(facts.example) else _MISSING
        )
    if cls is Cell and name == "set":
        return Method(x, name)
    followed = isinstance(found, property) and found.fget is not None and not _class_changed(trace, cls, name)
    if followed and _guard_method(trace, x, cls, name, found):
        return trace.protocol.call(trace.constant(found.fget) if _user(found.fget) else found.fget, (x,), {})
    if _computed(found):  # looking it up runs code: neither the trace nor a guard may do so
        return _load(trace, x, name, OBJECT)
    own = _MISSING
    if facts.example is not None and not trace.heap.is_stale(x._facts.identity, "attr", name):
        own = getattr(facts.example, "__dict__", {}).get(name, _MISSING)
        if own is _MISSING and isinstance(found, types.MemberDescriptorType):
            own = getattr(facts.example, name, _MISSING)
    if own is not _MISSING:
        return _own_attr(trace, x, name, own)
    if _surely_absent(trace, x, name):
        return _class_attr(trace, x, cls, name, found)
    return _load(trace, x, name, OBJECT)


def _computed(found: Any) -> bool:
    """Whether a class's entry is a descriptor of the user's, or one that calls code of the user's."""
    if isinstance(found, (property, functools.cached_property, functools.partialmethod)):
        return True
    kind = type(found)
    return found is not _MISSING and hasattr(kind, "__get__") and not benign_class(kind)


def _class_changed(trace: Trace, cls: type, name: str) -> bool:
    """Whether a class may have got another entry of this name since the call began, by what the trace saw."""
    return trace.heap.is_stale(Identity(type(cls)), "attr", name)


def _has_cell(example: Any) -> bool:
    try:
        return example is not None and bool([example.cell.cell_contents])
    except ValueError:
        return False


def _own_attr(trace: Trace, x: Traced, name: str, own: Any) -> Any:
    if own is _MISSING or trace.heap.is_stale(x._facts.identity, "attr", name):
        return _load(trace, x, name, OBJECT)
    value = outside.read(trace, x, "attr", name, own)
    trace.heap.put(x._facts.identity, "attr", name, value)
    return value


def _surely_absent(trace: Trace, x: Traced, name: str) -> bool:
    """Whether the instance itself has no such attribute, so that the class decides."""
    facts = x._facts
    if facts.identity in trace.heap.complete:
        return all(
            _surely_absent(trace, one, name) and _guarded(trace, one, name) for one in origins(trace, x)
        )
    if facts.example is None:
        # an object found at run time: methods are looked up in its class unless an instance attribute
        # hides them, which only run time can tell
        return False
    if trace.heap.is_stale(x._facts.identity, "attr", name) or trace.heap.trust == UNKNOWN:
        return False
    return name not in getattr(facts.example, "__dict__", {})


def _guarded(trace: Trace, x: Traced, name: str) -> bool:
    """Whether a guard says that an object from outside finds in its class what has this name there now."""
    cls, path = known_class(x), x._facts.path
    assert cls is not None and path is not None
    found = inspect.getattr_static(cls, name, _MISSING)
    if isinstance(found, types.FunctionType):
        return _guard_method(trace, x, cls, name, found)
    place = path / ("attr", name)
    if not is_static(found) or outside.changes(trace, place):
        return False
    trace.guard(place, StaticType(found), place.text)
    return True


def _class_attr(trace: Trace, x: Traced, cls: type, name: str, found: Any) -> Any:
    """What the class gives for `name` on an instance that has no such attribute of its own."""
    if _class_changed(trace, cls, name):
        return _load(trace, x, name, OBJECT)
    if isinstance(found, types.FunctionType):
        if not _guard_method(trace, x, cls, name, found):
            return _load(trace, x, name, OBJECT)
        return types.MethodType(trace.constant(found), x)  # calling it, even as written, asks the trace
    if isinstance(found, (staticmethod, classmethod)) and _user(found.__func__):
        if not _guard_method(trace, x, cls, name, found):
            return _load(trace, x, name, OBJECT)
        function = trace.constant(found.__func__)
        owner = trace.constant(cls)
        return function if isinstance(found, staticmethod) else types.MethodType(function, owner)
    if found is _MISSING or hasattr(type(found), "__get__"):
        return _load(trace, x, name, OBJECT)
    if trace.heap.is_stale(x._facts.identity, "attr", name):
        return _load(trace, x, name, OBJECT)
    # of an instance from outside the read goes through it, so that the guard sees an attribute of its own
    holder = x if x._facts.example is not None else trace.constant(cls)
    return outside.read(trace, holder, "attr", name, found)


def _guard_method(trace: Trace, x: Traced, cls: type, name: str, found: Any) -> bool:
    """The instance (or, for one made in the call, its class) still has this method under this name.

    False: it changes all the time, so it must be looked up at run time."""
    expected = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
    own = x._facts.path if x._facts.example is not None and isinstance(found, types.FunctionType) else None
    path = Path((cls,)) / ("attr", name) if own is None else own / ("attr", name) / ("attr", "__func__")
    if isinstance(found, classmethod):
        path = path / ("attr", "__func__")
    what = f"{cls.__qualname__}.{name}"
    if outside.changes(trace, path):
        return False
    trace.guard(path, StaticType(expected), what)
    if trace.heap.trust != CLEAN:  # code that the trace doesn't see has run: it may have exchanged the method
        now = trace.emit("py.getattr", [trace.constant(cls), name])
        if isinstance(found, classmethod):
            now = trace.emit("py.getattr", [now, "__func__"])
        trace.emit("py.check", [now, Const(expected), what])
    return True


def special_method(trace: Trace, cls: type, name: str) -> Any:
    """The handle of a special method that is Python code; None where looking it up is left to run time."""
    found = inspect.getattr_static(cls, name, None)
    path = Path((cls,)) / ("attr", name)
    if not _user(found) or _class_changed(trace, cls, name) or outside.changes(trace, path):
        return None
    what = f"{cls.__qualname__}.{name}"
    trace.guard(path, StaticType(found), what)
    if trace.heap.trust != CLEAN:
        trace.emit("py.check", [trace.emit("py.getattr", [trace.constant(cls), name]), Const(found), what])
    return trace.constant(found)


def _named_thing_attr(trace: Trace, x: Traced, name: str) -> Any:
    """An attribute of a class, module or function that is a constant of the trace."""
    example = x._facts.example
    if example is None or trace.heap.is_stale(x._facts.identity, "attr", name):
        return _load(trace, x, name, OBJECT)
    if isinstance(example, type):
        return _type_attr(trace, x, example, name)
    held = example.__dict__.get(name, _MISSING)
    if held is _MISSING and not isinstance(example, types.ModuleType):
        held = getattr(example, name, _MISSING)
    if isinstance(held, types.MethodType) and methods_of(type(held.__self__)) is not None:
        place = None if x._facts.path is None else x._facts.path / ("attr", name)
        if place is not None and trace.heap.trust != UNKNOWN and not outside.changes(trace, place):
            trace.guard(place, StaticType(held), place.text)
            return trace.constant(held)
    if held is _MISSING or isinstance(held, types.MethodType):
        return _load(trace, x, name, OBJECT)
    return outside.read(trace, x, "attr", name, held)


def _type_attr(trace: Trace, x: Traced, cls: type, name: str) -> Any:
    """An attribute of a class that is a constant of the trace."""
    found = inspect.getattr_static(cls, name, _MISSING)
    if type(cls) not in _METACLASSES or found is _MISSING or name in type(cls).__dict__:
        return _load(trace, x, name, OBJECT)
    if isinstance(found, (classmethod, staticmethod)) and _user(found.__func__):
        if not _guard_method(trace, x, cls, name, found):
            return _load(trace, x, name, OBJECT)
        function = trace.constant(found.__func__)
        return function if isinstance(found, staticmethod) else types.MethodType(function, x)
    if hasattr(type(found), "__get__") and not _user(found):
        return _load(trace, x, name, OBJECT)
    return outside.read(trace, x, "attr", name, found)


def _user(f: Any) -> bool:
    return isinstance(f, types.FunctionType)


def _load(trace: Trace, x: Traced, name: str, claim: Type) -> Any:
    """Read the attribute at run time."""
    value = trace.emit(
        "py.getattr", [trace.receiver(x), name], type=claim, name="" if name in ("value", "free") else name
    )
    assert value is not None
    if claim == OBJECT:
        _looked_up(trace, x, name)
    return trace.wrap(value)


def _looked_up(trace: Trace, x: Traced, name: str) -> None:
    """An attribute was read at run time, which may have run code of the user's."""
    cls, example = known_class(x), x._facts.example
    if cls is Cell or isinstance(example, types.FunctionType):
        return
    if isinstance(example, types.ModuleType):
        if name not in example.__dict__:  # the module's own __getattr__ made it up
            trace.heap.unknown_call()
        return
    if isinstance(example, type):
        found = inspect.getattr_static(example, name, _MISSING)
        if type(example) not in _METACLASSES or _computed(found):
            trace.heap.unknown_call()
    elif cls is None or not plain_lookup(cls):
        doubt(trace, x)
    elif _computed(inspect.getattr_static(cls, name, _MISSING)):
        trace.heap.escape(x._facts.identity)
        trace.heap.unknown_call()


def _untraceable_part(trace: Trace, x: Traced, name: str) -> None:
    """Raise where this attribute decides what a trace that is being made calls, or with which defaults.

    Not even on the way that is left to Python: what the trace knows of the object holds until its end.
    """
    if name == "__class__":
        trace.doom("an object's class is exchanged")
    if name in ("shape", "dtype") and isinstance(x, Tensor):
        trace.doom(f"the {name} of an array is exchanged")
    if name in _PARTS:
        trace.doom("a function's code or defaults are exchanged")


def set_attr(trace: Trace, x: Traced, name: str, value: Any) -> None:
    """`x.name = value`."""
    cls = known_class(x)
    if cls is Cell and name == "free":
        name = "value"
    found = inspect.getattr_static(cls, name, None) if cls is not None else None
    _untraceable_part(trace, x, name)
    settable = isinstance(found, property) and found.fset is not None and cls is not Cell
    changed = cls is None or _class_changed(trace, cls, name)
    if cls is not None and settable and not changed and _guard_method(trace, x, cls, name, found):
        trace.protocol.call(trace.constant(found.fset), (x, value), {})  # type: ignore[union-attr]
        return
    trace.emit("py.setattr", [trace.receiver(x), name, value])
    identity = x._facts.identity
    trace.heap.written(identity, "attr", name)
    guard_special(trace, cls, "__setattr__")
    ordinary = cls is not None and (
        cls is Cell
        or (plain_lookup(cls) and getattr(cls, "__setattr__", None) is getattr(object, "__setattr__", None))
    )
    if ordinary and not (
        hasattr(type(found), "__set__")
        and cls is not Cell
        and not isinstance(found, types.MemberDescriptorType)
    ):
        guard_field(trace, cls, name)
        trace.heap.put(identity, "attr", name, value)
    elif not isinstance(x._facts.example, (type, types.ModuleType, types.FunctionType)):
        trace.heap.escape(identity)
        trace.heap.unknown_call()


def del_attr(trace: Trace, x: Traced, name: str) -> None:
    """`del x.name`."""
    _untraceable_part(trace, x, name)
    trace.emit("py.delattr", [trace.receiver(x), name])
    cls = known_class(x)
    trace.heap.gone(x._facts.identity, "attr", "value" if cls is Cell else name)
    trace.heap.complete.discard(x._facts.identity)
    found = inspect.getattr_static(cls, name, _MISSING) if cls is not None else _MISSING
    deleter = getattr(cls, "__delattr__", None) is not getattr(object, "__delattr__", None)
    if cls is None or isinstance(found, property) or _computed(found) or deleter and not benign_class(cls):
        trace.heap.escape(x._facts.identity)
        trace.heap.unknown_call()


# ------------------------------------------------------------------------------------------- arrays
def _tensor_attr(trace: Trace, x: Tensor, name: str) -> Any:
    t = x._facts.type
    number = t if isinstance(t, WeakType) or isinstance(t, ArrayType) and t.scalar else None
    kind = number.kind[0] if isinstance(number, WeakType) else number.dtype.kind if number else ""
    if kind in ("b", "i", "u", "f"):
        if name in ("real", "imag") and kind != "b":
            zero = number.dtype.type(0) if isinstance(number, ArrayType) else {"i": 0, "f": 0.0}[kind]
            return x if name == "real" else zero
        method = _number_method(trace, x, kind, name) if hasattr(known_class(x), name) else None
        if method is not None:
            return method
    if not isinstance(t, ArrayType):
        return _number_attr(trace, x, name)
    if name == "dtype" and t.dtype.kind not in "US":
        return t.dtype
    if name == "ndim" and t.shape is not None:
        return len(t.shape)
    if name == "shape" and t.shape is not None:
        return _shape(trace, x, t.shape)
    if name == "itemsize" and t.dtype.kind not in "US":
        return t.dtype.itemsize
    known = name == "size" or name == "nbytes" and t.dtype.kind not in "US"
    if known and t.shape is not None and None not in t.shape:
        return math.prod(n or 0 for n in t.shape) * (t.dtype.itemsize if name == "nbytes" else 1)
    claim = _view_type(t, name)
    if claim is not None:
        return trace.record("py.getattr", [x, name], type=claim)
    owner = np.generic if t.scalar else np.ndarray
    if not hasattr(owner, name):
        return trace.record("py.getattr", [x, name])  # raises AttributeError at run time, as Python does
    return Method(x, name) if callable(getattr(owner, name)) else trace.record("py.getattr", [x, name])


def _shape(trace: Trace, x: Tensor, shape: tuple[int | None, ...]) -> tuple[Any, ...]:
    if None not in shape:
        return shape
    claim = TupleType(tuple(WEAK_INT for _ in shape))
    whole = trace.emit("py.getattr", [x, "shape"], type=claim)
    read = trace.wrap(whole) if whole is not None else ()
    return tuple(n if n is not None else r for n, r in zip(shape, read, strict=True))


def _view_type(t: ArrayType, name: str) -> Type | None:
    if name == "T":
        return ArrayType(t.dtype, None if t.shape is None else t.shape[::-1], t.scalar, t.device)
    if name in ("real", "imag") and t.dtype.kind in "biufc":
        real = np.empty(0, t.dtype).real.dtype
        return ArrayType(real, t.shape, t.scalar, t.device)
    if name in ("size", "ndim", "nbytes", "itemsize"):
        return WEAK_INT
    return None


def _number_attr(trace: Trace, x: Tensor, name: str) -> Any:
    cls = known_class(x)
    if cls is None:  # a number of several kinds
        return trace.record("py.getattr", [x, name])
    kind = getattr(cls, name, None)
    if callable(kind):
        return Method(x, name)
    claim: Type = OBJECT
    if name in ("real", "imag") and cls in (int, float):
        claim = x._facts.type
    return trace.record("py.getattr", [x, name], type=claim)
