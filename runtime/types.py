"""Trace types: what is known of a value before the program runs, and their join.

A lattice: `Unbound`; arrays of known dtype, shape and device; arrays with unknown axes; arrays of
unknown rank; NumPy scalars; *weak* Python scalars (NEP 50); tuples of these; and at the top
`ObjectType`, any Python value.  `join` never fails, it only gets less precise.

A type is a claim that must be true of every value at run time; `describes` checks it, and the
reference interpreter does so at every node.
"""

from __future__ import annotations

import enum
import functools
import types as _types
import weakref
from typing import Any, Union

import numpy as np

from runtime.dataclass import dataclass


@dataclass(frozen=True)
class ArrayType:
    """An ndarray (`scalar=False`) or a NumPy scalar (`scalar=True`, shape `()`).

    shape: a tuple of sizes, `None` for an unknown one; or `None` for unknown rank.
    dtype: of texts (U, S) the one of no length, which stands for all lengths.
    device: "cpu" for NumPy, "cuda" for CuPy (which has no scalars: full reductions give 0-d arrays).
    """

    dtype: np.dtype[Any]
    shape: tuple[int | None, ...] | None = None
    scalar: bool = False
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.dtype.kind in "US" and self.dtype.itemsize:
            object.__setattr__(self, "dtype", np.dtype(self.dtype.str[:2]))

    def __str__(self) -> str:
        dims = "..." if self.shape is None else ", ".join("?" if n is None else str(n) for n in self.shape)
        name = self.dtype.name if self.dtype.isnative else self.dtype.str
        name = "StringDType" if self.dtype.kind == "T" else name
        place = "" if self.device == "cpu" else f"@{self.device}"
        return f"{name}{place}" if self.scalar else f"{name}[{dims}]{place}"


@dataclass(frozen=True)
class WeakType:
    """A Python bool, int, float or complex whose value is not known: run as Python runs it."""

    kind: str

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class NumberType:
    """A number of one of several kinds: `s` after `s = 0.0; for e in x: s = s + e` is a Python float where x
    is empty and a NumPy scalar where it isn't.  kinds: weak types, then NumPy scalars, by name.
    """

    kinds: tuple[WeakType | ArrayType, ...]

    def __str__(self) -> str:
        return "|".join(map(str, self.kinds))


@dataclass(frozen=True)
class TupleType:
    """An exact tuple, or an instance of a namedtuple class, of known length."""

    items: tuple[Type, ...]
    cls: type = tuple

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.items)) + ("," if len(self.items) == 1 else "")
        return f"({inner})" if self.cls is tuple else f"{self.cls.__name__}({inner})"


@dataclass(frozen=True)
class ObjectType:
    """Any Python value.  cls: its exact class where known; item: what iterating it yields, where known."""

    cls: type | None = None
    item: Type | None = None

    def __str__(self) -> str:
        name = "object" if self.cls is None else f"object<{self.cls.__module__}.{self.cls.__qualname__}>"
        return name if self.item is None else f"{name} of {self.item}"


@dataclass(frozen=True, eq=False)
class FunctionOf(ObjectType):
    """A Python function of this code in a module with these globals, whatever it has captured.

    Of arguments and places only: graphs speak of functions of any kind, see `declared`."""

    code: _types.CodeType | None = None
    space: Any = None

    def __eq__(self, other: object) -> bool:
        return type(other) is FunctionOf and other.code is self.code and other.space is self.space

    def __hash__(self) -> int:
        return hash((id(self.code), id(self.space)))

    def __str__(self) -> str:
        assert self.code is not None
        return f"function {self.code.co_name}"

    __repr__ = __str__  # its globals are long

    def fits(self, value: Any) -> bool:
        """Whether the value is such a function."""
        return (
            type(value) is _types.FunctionType
            and value.__code__ is self.code
            and value.__globals__ is self.space
        )


@dataclass(frozen=True, eq=False)
class StaticType:
    """A value known while tracing.  Equal when the values have the same type and are equal or identical."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticType) and same_static(self.value, other.value)

    def __hash__(self) -> int:
        try:
            return hash((type(self.value), self.value))
        except TypeError:
            return id(self.value)

    def __str__(self) -> str:
        return f"={self.value!r}"


@dataclass(frozen=True)
class UnboundType:
    """The name has no value."""

    def __str__(self) -> str:
        return "unbound"


@dataclass(frozen=True)
class MaybeUnbound:
    """Either unbound or a value of the inner type."""

    type: Type

    def __str__(self) -> str:
        return f"unbound|{self.type}"


Type = Union[ArrayType, WeakType, NumberType, TupleType, ObjectType, StaticType, UnboundType, MaybeUnbound]
MAX_KINDS = 4  # a number of more kinds is any object
OBJECT = ObjectType()
_OF_MEMBERS = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_"})
_PLAIN = (bool, int, float, complex, str, bytes, np.generic, range, type, _types.FunctionType)
UNBOUND = UnboundType()
WEAK_BOOL, WEAK_INT, WEAK_FLOAT, WEAK_COMPLEX = map(WeakType, ("bool", "int", "float", "complex"))
WEAK_OF: dict[type, WeakType] = {bool: WEAK_BOOL, int: WEAK_INT, float: WEAK_FLOAT, complex: WEAK_COMPLEX}


def same_static(a: Any, b: Any) -> bool:
    """Whether two static values are interchangeable: same type and identical, or equal all the way down.

    NaN equals NaN and 0.0 differs from -0.0 here: a program can tell the latter two apart.
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_static, a, b))
    if isinstance(a, frozenset):  # {1}, {1.0} and {True} are equal
        return len(a) == len(b) and all(any(same_static(x, y) for y in b) for x in a)
    if isinstance(a, (slice, range)):  # ranges are equal when their items are
        return same_static((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if isinstance(a, (float, complex, np.floating, np.complexfloating)):
        return repr(a) == repr(b)
    if isinstance(a, np.generic) and a.dtype != b.dtype:  # two days and 48 hours are equal
        return False
    if isinstance(a, (_types.FunctionType, type, _types.ModuleType)):
        return False
    try:
        return bool(a == b)
    except Exception:  # a user's __eq__ may do anything; "not the same" is always safe
        return False


def static_or_weak(t: Type) -> Type:
    """The type without the static value: what a value of it is at run time."""
    if not isinstance(t, StaticType):
        return t
    return type_of(t.value)


def type_of(value: Any) -> Type:
    """The most precise non-static type of a concrete Python value."""
    cls = type(value)
    if cls in WEAK_OF:
        return WEAK_OF[cls]
    if cls is np.ndarray:
        return OBJECT_ARRAY(value) if holds_objects(value.dtype) else ArrayType(value.dtype, value.shape)
    if isinstance(value, np.generic) and cls.__module__ == "numpy":
        return ObjectType(cls) if value.dtype.kind in "OVUS" else ArrayType(value.dtype, (), scalar=True)
    if cls is tuple or is_namedtuple(cls):
        return TupleType(tuple(map(type_of, value)), cls)
    if cls.__name__ == "ndarray" and library(cls) == "cupy":
        return ArrayType(np.dtype(value.dtype), tuple(value.shape), device="cuda")
    return ObjectType(cls)


def library(cls: type) -> str:
    """The package or module outside all others that a class says it is from; "" where it says no name."""
    name = cls.__module__
    return name.partition(".")[0] if isinstance(name, str) else ""


TEXTS: dict[str, type] = {"U": np.str_, "S": np.bytes_, "T": str}  # elements by kind of dtype


def holds_objects(dtype: np.dtype[Any]) -> bool:
    """Whether there are Python objects in arrays of this dtype; texts of any length are none."""
    return dtype.hasobject and dtype.kind != "T"


def OBJECT_ARRAY(value: np.ndarray[Any, Any]) -> Type:
    """Arrays of Python objects run Python code per element: they are treated as objects."""
    return ObjectType(type(value))


def opaque(cls: type) -> bool:
    """Whether every look at an instance, `isinstance` too, runs code of the user's.

    So does a look at a member of an enumeration that computes: it is no constant."""
    return type(cls.__getattribute__) is _types.FunctionType or issubclass(cls, enum.Enum) and _computes(cls)


def _computes(cls: type) -> bool:
    """Whether an enumeration has properties or operators of the user's, or members that may change."""
    if any(not _fixed(member) for member in cls.__members__.values()):  # type: ignore[attr-defined]
        return True
    own = [one for one in cls.__mro__ if one.__module__ != "enum" and one.__flags__ & (1 << 9)]
    return any(
        isinstance(entry, (property, functools.cached_property))
        or isinstance(entry, _types.FunctionType)
        and name[:2] == name[-2:] == "__"
        and name not in ("__init__", "__new__", "__init_subclass__")
        and entry.__module__ != "enum"
        for one in own
        for name, entry in vars(one).items()
    )


def _fixed(member: enum.Enum) -> bool:
    """Whether a member of an enumeration holds its name and an immutable value, and nothing else."""
    held = vars(member)
    return _immutable(member._value_) and all(name in _OF_MEMBERS for name in held)


def _immutable(value: Any) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return all(map(_immutable, value))
    return value is None or isinstance(value, _PLAIN)


def is_namedtuple(cls: type, again: bool = False) -> bool:
    """Whether values of `cls` are made by namedtuple and are nothing but tuples with names and methods.

    Classes that change what a tuple does, compute attributes or let instances have some are objects.
    again: look anew, in case the class was changed since it was first seen."""
    if not issubclass(cls, tuple) or cls is tuple:
        return False
    found = _NAMEDTUPLES.get(cls)
    if found is None or again:
        found = _NAMEDTUPLES[cls] = (
            isinstance(getattr(cls, "_fields", None), tuple) and cls.__dictoffset__ == 0 and type(cls) is type
            and all(map(_harmless, named_extras(cls).items()))
        )  # fmt: skip
    return found


def named_extras(cls: type) -> dict[str, Any]:
    """What a namedtuple's class has besides what namedtuple gives it."""
    fields: tuple[str, ...] = getattr(cls, "_fields", ())
    entries = {name: value for c in reversed(cls.__mro__[:-2]) for name, value in vars(c).items()}
    own = (*_NAMEDTUPLE_OWN, *fields)
    return {name: v for name, v in entries.items() if name not in own and not _from_namedtuple(v)}


def _from_namedtuple(value: Any) -> bool:
    function = getattr(value, "__func__", value)
    module = getattr(function, "__globals__", {}).get("__name__", "")
    return bool(module == "collections" or module.startswith("namedtuple_"))


def _harmless(entry: tuple[str, Any]) -> bool:
    name, value = entry
    if isinstance(value, (_types.FunctionType, staticmethod, classmethod)):
        return not (name.startswith("__") and name.endswith("__"))
    return isinstance(value, (int, float, complex, str, bytes, type(None)))


_NAMEDTUPLES: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
_NAMEDTUPLE_OWN = frozenset({
    "__doc__", "__module__", "__slots__", "__match_args__", "__annotations__", "__orig_bases__", "_fields",
    "_field_defaults", "__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__",
    "__static_attributes__", "__replace__",
})  # fmt: skip


def function_of(function: _types.FunctionType) -> FunctionOf:
    """The type of all functions that differ from this one only in what they have captured."""
    return FunctionOf(_types.FunctionType, None, function.__code__, function.__globals__)


def declared(t: Type) -> Type:
    """The type of an argument as graphs have it."""
    if isinstance(t, TupleType):
        return TupleType(tuple(map(declared, t.items)), t.cls)
    return ObjectType(t.cls) if isinstance(t, FunctionOf) else t


def describes(t: Type, value: Any) -> bool:
    """Whether the run-time `value` is what `t` claims."""
    if type(value) is np.ndarray and isinstance(t, ArrayType) and t.dtype.kind in "biufc":
        return _is_array(value, t)  # plans ask this in loops
    if isinstance(t, StaticType):
        return same_static(t.value, value)
    if isinstance(t, WeakType):
        return type(value).__name__ == t.kind
    if isinstance(t, NumberType):
        return any(describes(kind, value) for kind in t.kinds)
    if isinstance(t, ObjectType):
        return t.fits(value) if isinstance(t, FunctionOf) else t.cls is None or type(value) is t.cls
    if isinstance(t, TupleType):
        return type(value) is t.cls and len(value) == len(t.items) and all(map(describes, t.items, value))  # type: ignore[arg-type,call-overload]
    if isinstance(t, UnboundType):
        return type(value).__name__ == "UnboundMarker"
    if isinstance(t, MaybeUnbound):
        return type(value).__name__ == "UnboundMarker" or describes(t.type, value)
    actual = type_of(value)
    if not isinstance(actual, ArrayType) or (actual.dtype, actual.scalar, actual.device) != (
        t.dtype,
        t.scalar,
        t.device,
    ):
        return False
    assert actual.shape is not None
    return t.shape is None or (
        len(t.shape) == len(actual.shape)
        and all(n is None or n == m for n, m in zip(t.shape, actual.shape, strict=True))
    )


def _is_array(value: np.ndarray[Any, Any], t: ArrayType) -> bool:
    """Whether an array is of this type, which is one of numbers."""
    if t.scalar or t.device != "cpu" or (value.dtype is not t.dtype and value.dtype != t.dtype):
        return False
    shape = value.shape
    if t.shape is None or t.shape == shape:
        return True
    return len(t.shape) == len(shape) and all(
        n is None or n == m for n, m in zip(t.shape, shape, strict=True)
    )


def join(a: Type, b: Type) -> Type:
    """The least type that describes every value of both: where two paths meet."""
    if a == b:
        return a
    if isinstance(a, (UnboundType, MaybeUnbound)) or isinstance(b, (UnboundType, MaybeUnbound)):
        inner = [
            x.type if isinstance(x, MaybeUnbound) else x for x in (a, b) if not isinstance(x, UnboundType)
        ]
        return MaybeUnbound(static_or_weak(inner[0]) if len(inner) == 1 else join(inner[0], inner[1]))
    a, b = static_or_weak(a), static_or_weak(b)
    if a == b:
        return a
    if _kinds(a) and _kinds(b):
        kinds = sorted({*_kinds(a), *_kinds(b)}, key=lambda k: (isinstance(k, ArrayType), str(k)))
        return NumberType(tuple(kinds)) if len(kinds) <= MAX_KINDS else OBJECT
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        if a.cls is b.cls and len(a.items) == len(b.items):
            return TupleType(tuple(map(join, a.items, b.items)), a.cls)
        return ObjectType(a.cls) if a.cls is b.cls else OBJECT
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        if (a.dtype, a.scalar, a.device) != (b.dtype, b.scalar, b.device):
            return OBJECT
        if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
            return ArrayType(a.dtype, None, a.scalar, a.device)
        shape = tuple(n if n == m else None for n, m in zip(a.shape, b.shape, strict=True))
        return ArrayType(a.dtype, shape, a.scalar, a.device)
    if isinstance(a, ObjectType) and isinstance(b, ObjectType):
        cls = a.cls if a.cls is b.cls else None
        item = join(a.item, b.item) if cls is not None and a.item is not None and b.item is not None else None
        return ObjectType(cls, item)
    return OBJECT


def _kinds(t: Type) -> tuple[WeakType | ArrayType, ...]:
    """The kinds of number that a value of the type may be; none if it may be anything else."""
    if isinstance(t, NumberType):
        return t.kinds
    if isinstance(t, WeakType) or (isinstance(t, ArrayType) and t.scalar and t.dtype.kind in "biufc"):
        return (t,)
    return ()


def numeric(t: Type) -> bool:
    """Whether values of `t` are arrays, NumPy scalars or Python numbers."""
    return isinstance(t, (ArrayType, WeakType, NumberType)) or (
        isinstance(t, StaticType) and type(t.value) in WEAK_OF
    )
