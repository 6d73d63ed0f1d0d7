"""Dataclasses and named tuples: what their generated methods do, done by the trace.

In: a class and the trace values that one of these methods is called with.  Out: what the call gives.  What
always holds: fields are written in the order, and defaults made at the moments, of the generated code.
"""

from __future__ import annotations

import collections
import inspect
import sys
import types
from collections.abc import Collection, Mapping
from typing import Any

from runtime.trace import outside
from runtime.trace.attributes import get_attr, guard_field, set_attr
from runtime.trace.carried import plain_lookup
from runtime.trace.core import Trace
from runtime.trace.record import Path
from runtime.trace.values import Object, known_class
from runtime.types import StaticType, is_namedtuple


def fields_of(cls: type) -> dict[str, Any] | None:
    """The fields of a dataclass by name, those included that are none of its instances; else None."""
    found = getattr(cls, "__dataclass_fields__", None)
    return found if type(found) is dict else None


def _kind(field: Any) -> str:
    name: str = field._field_type.name
    return name


def generated(cls: type, init: Any) -> bool:
    """Whether the `__init__` of a class is one that `dataclass` wrote."""
    return isinstance(init, types.FunctionType) and _written_for(cls, init) is not None


def _written_for(cls: type, init: types.FunctionType) -> type | None:
    """The dataclass for which an `__init__` was written: one that inherits it may have other fields."""
    if init.__code__.co_filename != "<string>":
        return None
    owner = next((base for base in cls.__mro__ if vars(base).get("__init__") is init), None)
    return owner if owner is not None and "__dataclass_fields__" in vars(owner) else None


def frozen(cls: type, init: Any) -> bool:
    """Whether it is one that writes fields that nobody else may write."""
    owner = _written_for(cls, init) if isinstance(init, types.FunctionType) else None
    return owner is not None and owner.__dataclass_params__.frozen is True  # type: ignore[attr-defined]


def initialise(
    trace: Trace,
    cls: type,
    init: types.FunctionType,
    made: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> None:
    """The generated `__init__` of a dataclass."""
    owner = _written_for(cls, init)
    fields, params = fields_of(owner or cls), getattr(owner, "__dataclass_params__", None)
    if fields is None or params is None:
        raise TypeError(f"{cls.__qualname__} is no dataclass")
    given = inspect.signature(init).bind(made, *args, **kwargs).arguments
    given.update(_defaults(trace, init, given))
    only_given = []  # to `__post_init__`
    for name, field in fields.items():
        if _kind(field) == "_FIELD_CLASSVAR":
            continue
        if not field.init and not callable(field.default_factory):
            if name in getattr(cls, "__slots__", ()):
                raise TypeError(f"{cls.__qualname__} has a slot that is not given")
            continue  # the class has the default
        made_now = callable(field.default_factory) and name not in given
        value = trace.protocol.call(field.default_factory, (), {}) if made_now else given.get(name)
        if _kind(field) == "_FIELD_INITVAR":
            only_given.append(value)
        elif params.frozen:
            set_own(trace, made, name, value)
        else:
            set_attr(trace, made, name, value)
    asked = "__post_init__" in init.__code__.co_names  # a class that inherits may have one of its own
    after = getattr(cls, "__post_init__", None) if asked else None
    if isinstance(after, types.FunctionType):
        trace.protocol.call(get_attr(trace, made, "__post_init__"), tuple(only_given), {})
    elif after is not None:
        raise TypeError(f"{cls.__qualname__}.__post_init__ is no function")


def named_tuple(trace: Trace, cls: type, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`cls(*args, **kwargs)` of a named tuple."""
    outside.guard_namedtuple(trace, cls)
    new: Any = cls.__new__
    trace.guard(Path((cls,)) / ("attr", "__new__"), StaticType(new), f"{cls.__qualname__}.__new__")
    by_position = new.__code__.co_varnames[: len(args) + 1]
    return cls(*args, **kwargs, **_defaults(trace, new, {*by_position, *kwargs}))


def _defaults(trace: Trace, function: types.FunctionType, given: Collection[str]) -> dict[str, Any]:
    """The defaults of the parameters that are not given, but those that stand for a factory: others may hold
    what they are, or put others in their place."""
    path = Path((function,), (), f"{function.__qualname__}'s default ")
    code, held = function.__code__, function.__defaults__ or ()
    trace.guard(path / ("attr", "__code__"), StaticType(code), f"the code of {function.__qualname__}")
    first = code.co_argcount - len(held)
    places = {code.co_varnames[first + i]: (v, path.default(i)) for i, v in enumerate(held)}
    for name, v in (function.__kwdefaults__ or {}).items():
        places[name] = v, path / ("attr", "__kwdefaults__") / ("item", name)
    return {
        name: trace.lift(v, place)
        for name, (v, place) in places.items()
        if name not in given and type(v).__name__ != "_HAS_DEFAULT_FACTORY_CLASS"
    }


def set_own(trace: Trace, x: Object, name: str, value: Any) -> None:
    """`object.__setattr__(x, name, value)`, for an object that has no descriptor of this name."""
    trace.emit("py.setown", [trace.receiver(x), name, value])
    identity = x._facts.identity
    guard_field(trace, known_class(x), name)
    trace.heap.written(identity, "attr", name)
    trace.heap.put(identity, "attr", name, value)


def called(trace: Trace, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a function of the library that makes one object of another, or of what all objects have;
    NotImplemented for others."""
    if target is object.__init__ and len(args) == 1 and not kwargs and known_class(args[0]) is not None:
        return None
    if target is object.__setattr__ and len(args) == 3 and not kwargs:
        return _set(trace, *args)
    library = sys.modules.get("dataclasses")
    if library is not None and target is library.replace and len(args) == 1:
        return _replaced(trace, args[0], kwargs)
    if isinstance(target, types.MethodType) and _changes_tuple(target, args, kwargs):
        return target(*args, **kwargs)
    return NotImplemented


def _set(trace: Trace, x: Any, name: Any, value: Any) -> Any:
    cls = known_class(x)
    if not isinstance(x, Object) or cls is None or type(name) is not str or not plain_lookup(cls):
        return NotImplemented
    found = inspect.getattr_static(cls, name, None)
    described = hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType)
    if described or name == "__class__" or not cls.__flags__ & (1 << 9):
        return NotImplemented
    set_own(trace, x, name, value)
    return None


def _replaced(trace: Trace, x: Any, changes: dict[str, Any]) -> Any:
    """`dataclasses.replace(x, **changes)`."""
    cls = known_class(x)
    fields = None if cls is None else fields_of(cls)
    if not isinstance(x, Object) or cls is None or fields is None or not plain_lookup(cls):
        return NotImplemented
    given = dict(changes)
    for name, field in fields.items():
        if _kind(field) == "_FIELD_CLASSVAR":
            continue
        if not field.init or _kind(field) == "_FIELD_INITVAR":
            if name in changes or field.init:
                return NotImplemented
            continue
        if name not in given:
            given[name] = get_attr(trace, x, name)
    return trace.protocol.call(trace.constant(cls), (), given)


def _changes_tuple(target: types.MethodType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether it is `t._replace(...)` of a named tuple, with fields that it has."""
    cls, function = type(target.__self__), target.__func__
    if type(function) is not types.FunctionType or function.__name__ != "_replace" or args:
        return False
    if function is not getattr(cls, "_replace", None) or not is_namedtuple(cls):
        return False
    library = collections.namedtuple.__code__.co_filename
    return function.__code__.co_filename == library and kwargs.keys() <= set(getattr(cls, "_fields", ()))
