"""Signatures: binding of arguments, their trace types, and how types of two calls generalise.

In: a Python function and the arguments of a call.  Out: `Bound`, the arguments in canonical form
(what can be positional is; `*args` expanded; defaults not filled in), and `Signature`, their trace
types by name.

What always holds: `argument_type(v)` describes `v`; `widen(a, b)` describes whatever `a` describes;
equal signatures have the same `skeleton`.
"""

from __future__ import annotations

import enum
import inspect
import itertools
import types as _types
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.dataclass import dataclass
from runtime.errors import SignatureError
from runtime.function.spec import TensorSpec
from runtime.trace.record import Placeholder
from runtime.types import (
    WEAK_OF,
    ArrayType,
    FunctionOf,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
    function_of,
    is_namedtuple,
    opaque,
    same_static,
    type_of,
)

# A program can ask for each of these by identity or value only, so the value itself is the type.
_STATIC_CLASSES: frozenset[type] = frozenset(
    {
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        type(None),
        type(Ellipsis),
        type(NotImplemented),
        range,
        _types.FunctionType,
        _types.BuiltinFunctionType,
        _types.ModuleType,
        type,
        np.ufunc,
    }
)
Arrangement = tuple[tuple[str, ...], tuple[str, ...]]
FORMS_KEPT = 256  # ways to write a call (number of arguments, names) whose arrangement is remembered
_NUMBERS: frozenset[type] = frozenset({int, float, complex})


@dataclass  # not frozen: one is made on many calls, and freezing triples what that costs
class Bound:
    """The arguments of one call in canonical form."""

    __slots__ = ("keywords", "positional")

    positional: tuple[Any, ...]
    keywords: dict[str, Any]

    @property
    def values(self) -> tuple[Any, ...]:
        """All arguments: positional ones, then keywords in order."""
        return (*self.positional, *self.keywords.values())

    @property
    def classes(self) -> tuple[Any, ...]:
        """Classes of the arguments and names of the keywords: a cheap key for the traces that may serve."""
        return (*map(_class, self.positional), *self.keywords, *map(_class, self.keywords.values()))


@dataclass(frozen=True)
class Signature:
    """Names and trace types of the arguments of one trace, in canonical order."""

    function: str
    positional: tuple[tuple[str, Type], ...]
    keywords: tuple[tuple[str, Type], ...] = ()

    @property
    def types(self) -> tuple[Type, ...]:
        """The types alone: positional ones, then keywords."""
        return tuple(t for _, t in (*self.positional, *self.keywords))

    @property
    def names(self) -> tuple[str, ...]:
        """The names alone: positional ones, then keywords."""
        return tuple(name for name, _ in (*self.positional, *self.keywords))

    @property
    def keyword_names(self) -> tuple[str, ...]:
        """Names of the arguments that are passed by name."""
        return tuple(name for name, _ in self.keywords)

    def with_types(self, types: Sequence[Type]) -> Signature:
        """The same arguments with other types."""
        n = len(self.positional)
        return Signature(
            self.function,
            tuple(zip((k for k, _ in self.positional), types[:n], strict=True)),
            tuple(zip((k for k, _ in self.keywords), types[n:], strict=True)),
        )

    def skeleton(self) -> Hashable:
        """What two signatures must share to be generalised into one."""
        return len(self.positional), self.keyword_names, tuple(map(skeleton, self.types))

    def unknowns(self) -> int:
        """How much is left open: the most specific of several matching signatures has the least."""
        return sum(map(unknowns, self.types))

    def covers(self, exact: Signature) -> bool:
        """Whether a call with the signature `exact` may be run by a trace with this one."""
        return (
            len(self.positional) == len(exact.positional)
            and self.keyword_names == exact.keyword_names
            and all(map(covers, self.types, exact.types))
        )

    def __str__(self) -> str:
        positional = [f"{name}: {show(t)}" for name, t in self.positional]
        keywords = [f"{name}: {show(t)}" for name, t in self.keywords]
        star = ["*"] if keywords else []
        return f"{self.function}({', '.join(positional + star + keywords)})"


class Binder:
    """Binds arguments to the parameters of one function, without filling in defaults."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = name
        try:
            self.signature = inspect.signature(function, follow_wrapped=False)
        except ValueError:  # an object whose calls are taken apart in C has the signature of what it wraps
            self.signature = inspect.signature(function)
        parameters = self.signature.parameters.values()
        kinds = inspect.Parameter
        self.ordered = tuple(
            p.name for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        )
        self.by_name = frozenset(p.name for p in parameters if p.kind is kinds.POSITIONAL_OR_KEYWORD)
        self.required = sum(p.default is kinds.empty for p in parameters if p.name in self.ordered)
        self.variadic = next((p.name for p in parameters if p.kind is kinds.VAR_POSITIONAL), None)
        self.takes_any_keyword = any(p.kind is kinds.VAR_KEYWORD for p in parameters)
        self.keyword_only = tuple(p.name for p in parameters if p.kind is kinds.KEYWORD_ONLY)
        self.needed_keywords = frozenset(
            p.name for p in parameters if p.kind is kinds.KEYWORD_ONLY and p.default is kinds.empty
        )
        self._forms: dict[tuple[Any, ...], Arrangement] = {}

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound | None:
        """The canonical form of the arguments; None when Python would refuse the call.

        A parameter given by name becomes positional when all before it are given, else it stays a
        keyword: filling the gap would mean evaluating a default.
        """
        if self.variadic is None and len(args) > len(self.ordered):
            return None
        if not kwargs:
            return Bound(args, {}) if self.required <= len(args) and not self.needed_keywords else None
        form = (len(args), *kwargs)
        arrangement = self._forms.get(form)
        if arrangement is None:
            arrangement = self._arrangement(len(args), tuple(kwargs))
            if arrangement is None:
                return None
            if len(self._forms) >= FORMS_KEPT:
                self._forms.clear()
            self._forms[form] = arrangement
        moved, kept = arrangement
        return Bound((*args, *[kwargs[name] for name in moved]), {name: kwargs[name] for name in kept})

    def refusal(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Why Python would refuse the call, in words."""
        why = "other arguments are needed"
        try:
            self.signature.bind(*args, **kwargs)
        except TypeError as error:
            why = str(error)
        return f"{self.name}{self.signature} can't be called so: {why}"

    def _arrangement(self, count: int, names: tuple[str, ...]) -> Arrangement | None:
        """Which keywords become positional after `count` arguments, and the order of those that stay."""
        if not self._accepts_names(count, frozenset(names)):
            return None
        moved = tuple(
            itertools.takewhile(lambda name: name in names and name in self.by_name, self.ordered[count:])
        )
        # Keyword-only parameters have no order; what goes into **kwargs does, and the function sees it.
        named = [name for name in self.ordered if name in self.by_name]
        known = [name for name in (*named, *self.keyword_only) if name in names and name not in moved]
        return moved, (*known, *[name for name in names if name not in moved and name not in known])

    def _accepts_names(self, count: int, names: frozenset[str]) -> bool:
        """Whether Python would take these keywords after `count` positional arguments."""
        given = self.by_name & names
        if given & set(self.ordered[:count]) or not self.needed_keywords <= names:
            return False
        if any(name not in given for name in self.ordered[count : self.required]):
            return False
        return self.takes_any_keyword or names <= self.by_name | set(self.keyword_only)

    def is_positional(self, name: str) -> bool:
        """Whether the argument of this name (as `argument_names` gives it) can be passed by position."""
        return name in self.ordered or "[" in name

    def argument_names(self, count: int) -> tuple[str, ...]:
        """Names of the first `count` positional arguments, `args[0]` for those in `*args`."""
        named = self.ordered[:count]
        return (*named, *(f"{self.variadic}[{i}]" for i in range(count - len(named))))

    def by_names(self, given: Sequence[Any] | Mapping[str, Any] | None) -> dict[str, Any] | None:
        """An `input_signature` by argument name."""
        if given is None or isinstance(given, Mapping):
            return None if given is None else dict(given)
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"input_signature is a tuple, list or dict of specs, not {given!r}")
        if self.variadic is None and len(given) > len(self.ordered):
            takes = f"{self.name} takes {len(self.ordered)} positional ones"
            raise ValueError(f"input_signature is for {len(given)} arguments, but {takes}")
        return dict(zip(self.argument_names(len(given)), given, strict=True))

    def signature_of(self, bound: Bound) -> Signature:
        """The most precise signature of these arguments."""
        names = self.argument_names(len(bound.positional))
        return Signature(
            self.name,
            tuple(zip(names, map(argument_type, bound.positional), strict=True)),
            tuple((name, argument_type(value)) for name, value in bound.keywords.items()),
        )


def _class(value: Any) -> type:
    """The class of an argument; of a spec, the class of what it describes."""
    if opaque(type(value)):
        return type(value)
    if isinstance(value, (TensorSpec, ArrayType)):
        return value.dtype.type if isinstance(value, ArrayType) and value.scalar else np.ndarray
    if isinstance(value, WeakType):
        return next(cls for cls, weak in WEAK_OF.items() if weak == value)
    if isinstance(value, StaticType):
        return type(value.value)
    return (value.cls or object) if isinstance(value, (TupleType, ObjectType)) else type(value)


def argument_type(value: Any) -> Type:
    """The trace type of an argument: immutable values are static, arrays and objects are not.

    Functions, classes and modules are static by identity.  Lists, dicts, other objects, subclasses of
    ndarray and arrays of Python objects are left to Python at run time.
    """
    cls = type(value)
    if opaque(cls):
        return ObjectType(cls)
    if isinstance(value, (TensorSpec, Placeholder, *_TYPES)):
        return spec_type(value)
    if (
        cls in WEAK_OF and value != value
    ):  # a NaN is known by which object it is: `x in items` asks that first
        return WEAK_OF[cls]
    if cls in _STATIC_CLASSES or isinstance(value, (enum.Enum, np.dtype, type)):
        return StaticType(value)
    if cls is tuple or is_namedtuple(cls):
        items = tuple(map(argument_type, value))
        if cls is tuple and all(isinstance(item, StaticType) for item in items):
            return StaticType(value)
        return TupleType(items, cls)
    if cls is slice or cls is frozenset:
        parts = (value.start, value.stop, value.step) if cls is slice else tuple(value)
        return StaticType(value) if isinstance(argument_type(parts), StaticType) else ObjectType(cls)
    return type_of(value)


def example(value: Any) -> Any:
    """An argument as an example for the tracer: None where only a spec was given, or looking runs code."""
    if opaque(type(value)):
        return None
    if isinstance(value, StaticType):
        return value.value
    if isinstance(value, TupleType):
        items = map(example, value.items)
        return tuple(items) if value.cls is tuple else tuple.__new__(value.cls, items)
    if type(value) is tuple:
        return tuple(map(example, value))
    return None if isinstance(value, (TensorSpec, Placeholder, *_TYPES)) else value


_TYPES = (ArrayType, WeakType, TupleType, ObjectType, StaticType)


def spec_type(spec: TensorSpec | Placeholder | Type) -> Type:
    """The trace type that a `TensorSpec` (or a trace type given in its place) stands for."""
    if isinstance(spec, Placeholder):
        return spec.type
    if not isinstance(spec, TensorSpec):
        return spec
    if spec.dtype is None:
        raise SignatureError(
            f"{spec!r} has no dtype",
            why="a trace needs the dtype of each array",
            fix="give the TensorSpec a dtype, or pass an example array",
        )
    return ArrayType(spec.dtype, spec.shape)


def show(t: Type) -> str:
    """A type as it stands in a printed signature; functions and classes by name."""
    if isinstance(t, StaticType) and isinstance(t.value, (_types.FunctionType, type, _types.ModuleType)):
        return f"={t.value.__name__}"
    if isinstance(t, TupleType):
        inner = ", ".join(map(show, t.items)) + ("," if len(t.items) == 1 else "")
        return f"({inner})" if t.cls is tuple else f"{t.cls.__name__}({inner})"
    text = str(t)
    return text if len(text) <= 60 else text[:57] + "..."


def skeleton(t: Type) -> Hashable:
    """A type without sizes and static values."""
    if isinstance(t, ArrayType):
        return t.dtype, None if t.shape is None else len(t.shape), t.scalar, t.device
    if isinstance(t, WeakType):
        return t.kind
    if isinstance(t, TupleType):
        return t.cls, tuple(map(skeleton, t.items))
    if isinstance(t, StaticType):
        return _value_skeleton(t.value)
    if isinstance(t, ObjectType) and t.cls is not None and t.cls in _STATIC_CLASSES:
        return t.cls.__name__
    return t


def _value_skeleton(value: Any) -> Hashable:
    if type(value) is tuple:
        return tuple, tuple(map(_value_skeleton, value))
    cls: type = type(value)
    return cls.__name__ if cls in _STATIC_CLASSES else cls


def unknowns(t: Type) -> int:
    """How much a type leaves open, compared with the exact type of a value it describes."""
    if isinstance(t, ArrayType):
        return 32 if t.shape is None else sum(n is None for n in t.shape)
    if isinstance(t, TupleType):
        return sum(map(unknowns, t.items))
    return 0 if isinstance(t, StaticType) else 1


def covers(general: Type, exact: Type) -> bool:
    """Whether `general` describes every argument whose exact type is `exact`."""
    if isinstance(general, ArrayType) and isinstance(exact, ArrayType):
        if (general.dtype, general.scalar, general.device) != (exact.dtype, exact.scalar, exact.device):
            return False
        if general.shape is None or general.shape == exact.shape:
            return True
        return (
            exact.shape is not None
            and len(general.shape) == len(exact.shape)
            and all(n is None or n == m for n, m in zip(general.shape, exact.shape, strict=True))
        )
    if isinstance(general, TupleType):
        items = items_of(exact)
        return (
            items is not None
            and general.cls is _tuple_class(exact)
            and len(items) == len(general.items)
            and all(map(covers, general.items, items))
        )
    if isinstance(general, WeakType) and isinstance(exact, StaticType):
        return type(exact.value).__name__ == general.kind and type(exact.value) in WEAK_OF
    if isinstance(general, FunctionOf):
        return general == exact or (isinstance(exact, StaticType) and general.fits(exact.value))
    if isinstance(general, ObjectType):
        return (
            general.cls is None
            or general == exact
            or (isinstance(exact, StaticType) and general.cls is type(exact.value))
        )
    return general == exact


def items_of(t: Type) -> tuple[Type, ...] | None:
    """Item types of a tuple type or of a static tuple."""
    if isinstance(t, TupleType):
        return t.items
    if isinstance(t, StaticType) and type(t.value) is tuple:
        return tuple(map(StaticType, t.value))
    return None


def _tuple_class(t: Type) -> type:
    return t.cls if isinstance(t, TupleType) else tuple


def widen(new: Type, old: Type, everything: bool = False) -> Type:
    """The type for a trace that serves `new` and whatever else differs as `old` does.

    Sizes that differ become unknown, Python numbers that differ become weak, functions that differ only in
    what they have captured any such function.  Other static values stay as `new` has them, unless
    `everything`: then they become objects of their class.
    """
    if new == old:
        return new
    if same_code(new, old) and not everything:
        return function_of(new.value)  # type: ignore[union-attr]
    if isinstance(new, ArrayType) and isinstance(old, ArrayType):
        if new.shape is None or old.shape is None or len(new.shape) != len(old.shape):
            return new
        shape = tuple(n if n == m else None for n, m in zip(new.shape, old.shape, strict=True))
        return ArrayType(new.dtype, shape, new.scalar, new.device)
    mine, others = items_of(new), items_of(old)
    if mine is not None and others is not None and len(mine) == len(others):
        return TupleType(
            tuple(widen(a, b, everything) for a, b in zip(mine, others, strict=True)), _tuple_class(new)
        )
    if isinstance(new, StaticType):
        if type(new.value) in _NUMBERS or (everything and type(new.value) in WEAK_OF):
            return WEAK_OF[type(new.value)]
        if everything or isinstance(old, ObjectType):
            return ObjectType(type(new.value))
    return new


def alike(new: Type, old: Type) -> bool:
    """Whether two types of one skeleton differ only in sizes and in the values of Python numbers,
    or in which closure of one and the same code is passed."""
    if isinstance(new, FunctionOf) or isinstance(old, FunctionOf):
        return new == old or same_code(new, old)
    if isinstance(new, StaticType) and isinstance(old, StaticType):
        a, b = new.value, old.value
        if type(a) is tuple and type(b) is tuple:
            return len(a) == len(b) and all(map(alike, map(StaticType, a), map(StaticType, b)))
        return type(a) in _NUMBERS or same_static(a, b) or same_code(new, old)
    mine, others = items_of(new), items_of(old)
    if mine is not None and others is not None:
        return len(mine) == len(others) and all(map(alike, mine, others))
    return True


def same_code(new: Type, old: Type) -> bool:
    """Whether a function is made from the same code as others: a lambda written in a loop, say."""
    if not isinstance(new, StaticType) or type(new.value) is not _types.FunctionType:
        return False
    kind = function_of(new.value)
    if isinstance(old, StaticType):
        return new.value is not old.value and kind.fits(old.value)
    return old == kind
