"""`input_signature`: what was promised of the arguments, in trees, and the check that a call keeps it.

In: what the user wrote per argument (a `TensorSpec`, a trace type, a value, or a tuple, list or dict of
these), and the arguments of a call.  Out: a `Promise`: the signature to trace for, the arguments as examples
in which only what was promised is known, and guards for what lies inside lists and dicts.
What always holds: a trace made for a promise serves no call that breaks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.dataclass import dataclass
from runtime.errors import SignatureError, Span
from runtime.function.signature import Bound, Signature, argument_type, covers, show, spec_type
from runtime.function.spec import TensorSpec
from runtime.trace.record import Guard, Path, Placeholder
from runtime.types import (
    ArrayType,
    MaybeUnbound,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    UnboundType,
    WeakType,
    is_namedtuple,
    same_static,
)

_TYPES = (ArrayType, WeakType, TupleType, ObjectType, StaticType, UnboundType, MaybeUnbound)


@dataclass(frozen=True)
class Promise:
    """A kept promise: the signature to trace for, arguments as examples, guards of what is inside them."""

    signature: Signature
    bound: Bound
    guards: tuple[Guard, ...]


class _Broken(Exception):
    """The promise is not kept; the text says by what."""


def placed(value: Any) -> Any:
    """An argument in which specs inside lists and dicts are placeholders: a list of specs is not a list."""
    if type(value) is list or type(value) is dict:
        return _held(value)
    if type(value) is tuple or is_namedtuple(type(value)):
        items = list(map(placed, value))
        if all(a is b for a, b in zip(items, value, strict=True)):
            return value
        return tuple(items) if type(value) is tuple else tuple.__new__(type(value), items)
    return value


def _held(value: Any) -> Any:
    """As `placed`, for what lies in a list or a dict; what holds no spec stays the same object."""
    if isinstance(value, (TensorSpec, *_TYPES)):
        return Placeholder(spec_type(value))
    if type(value) is dict:
        new = {key: _held(item) for key, item in value.items()}
        return value if all(new[key] is item for key, item in value.items()) else new
    if type(value) is list or type(value) is tuple or is_namedtuple(type(value)):
        items = list(map(_held, value))
        if all(a is b for a, b in zip(items, value, strict=True)):
            return value
        return (
            items
            if type(value) is list
            else tuple(items)
            if type(value) is tuple
            else tuple.__new__(type(value), items)
        )
    return value


def kept_promise(
    name: str, given: Signature, wanted: Mapping[str, Any], bound: Bound, span: Span | None = None
) -> Promise:
    """The promise that these arguments keep; SignatureError that shows both signatures where they don't."""
    types: list[Type] = []
    values: list[Any] = []
    guards: list[Guard] = []
    try:
        for i, (argument, actual, value) in enumerate(
            zip(given.names, given.types, bound.values, strict=True)
        ):
            if argument not in wanted:
                raise _Broken(f"the argument {argument!r} is not in it")
            kind, example = _match(wanted[argument], actual, value, Path(i, (), argument), False, guards)
            types.append(kind)
            values.append(example)
        missing = [argument for argument in wanted if argument not in given.names]
        if missing:
            raise _Broken(f"the argument {missing[0]!r} is not given")
    except _Broken as broken:
        raise _mismatch(name, given, wanted, str(broken), span) from None
    count = len(bound.positional)
    keywords = dict(zip(bound.keywords, values[count:], strict=True))
    return Promise(given.with_types(types), Bound(tuple(values[:count]), keywords), tuple(guards))


def _match(
    spec: Any, actual: Type, value: Any, path: Path, inside: bool, guards: list[Guard]
) -> tuple[Type, Any]:
    """The type that was promised for an argument or a part of one, and the part as an example.

    inside: it lies in a list or a dict, so the signature does not tell its type and a guard must."""
    if isinstance(spec, (tuple, list, dict)):
        return _match_container(spec, actual, value, path, inside, guards)
    kind = _promised(spec, actual, path)
    if not inside:
        return kind, value
    guards.append(Guard(path, kind, path.text))
    return kind, (value if isinstance(kind, (StaticType, ObjectType)) else Placeholder(kind))


def _promised(spec: Any, actual: Type, path: Path) -> Type:
    """The type of one leaf."""
    broken = (
        f"the argument {path.text!r} is {show(actual)}, not "
        if not path.steps
        else (f"{path.text} is {show(actual)}, not ")
    )
    if isinstance(spec, TensorSpec):
        if not isinstance(actual, ArrayType) or not spec.accepts(actual):
            raise _Broken(f"{broken}{spec!r}")
        return spec.type_for(actual)
    if isinstance(spec, _TYPES):
        if not covers(spec, actual):
            raise _Broken(f"{broken}{show(spec)}")
        return spec
    if not isinstance(actual, StaticType) or not same_static(spec, actual.value):
        raise _Broken(f"{broken}{spec!r}")
    return actual


def _match_container(
    spec: Any, actual: Type, value: Any, path: Path, inside: bool, guards: list[Guard]
) -> tuple[Type, Any]:
    if type(value) is not type(spec):
        raise _Broken(f"{path.text} is {show(actual)}, not a {type(spec).__qualname__}")
    if len(value) != len(spec):
        raise _Broken(f"{path.text} has {len(value)} items, not {len(spec)}")
    if isinstance(spec, dict) and (unknown := [key for key in spec if key not in value]):
        raise _Broken(f"{path.text} has no item {unknown[0]!r}")
    mutable = not isinstance(spec, tuple)
    if inside or mutable:
        guards.append(Guard(path, ObjectType(type(spec)), path.text))
        guards.append(Guard(path / ("len", None), StaticType(len(spec)), (path / ("len", None)).text))
    keys = list(spec) if isinstance(spec, dict) else range(len(spec))
    found = [
        _match(
            spec[key], argument_type(value[key]), value[key], path / ("item", key), inside or mutable, guards
        )
        for key in keys
    ]
    if isinstance(spec, dict):
        examples = {key: example for key, (_, example) in zip(keys, found, strict=True)}
        return actual, {key: examples[key] for key in value}
    if isinstance(spec, list):
        return actual, [example for _, example in found]
    items = [example for _, example in found]
    example = tuple(items) if type(spec) is tuple else tuple.__new__(type(spec), items)
    return (
        actual if isinstance(actual, StaticType) else TupleType(tuple(t for t, _ in found), type(spec))
    ), example


def _mismatch(
    name: str, given: Signature, wanted: Mapping[str, Any], why: str, span: Span | None
) -> SignatureError:
    promised = ", ".join(
        f"{key}: {show(spec) if isinstance(spec, _TYPES) else repr(spec)}" for key, spec in wanted.items()
    )
    return SignatureError(
        f"the arguments do not match the input_signature of {name!r}\n"
        f"  given:    {given}\n  promised: {name}({promised})",
        span=span,
        why=why,
        fix="pass what was promised, or loosen the input_signature",
    )
