"""What the Python ops of a plan do at run time, where no single Python expression says it."""

from __future__ import annotations

import itertools
import types
from typing import Any

from runtime.boxes import Cell, bound, global_value
from runtime.errors import GuardError
from runtime.types import Type, describes, same_static

__all__ = [
    "HandsOn",
    "bound",
    "call_with",
    "catches",
    "check_same",
    "expect",
    "global_value",
    "list_of",
    "make_function",
    "merged",
    "set_of",
    "unpack",
]


class HandsOn:
    """What is called for what it is, and not for what it does: it hands on its first `values` operands, one
    as it is, several as a tuple."""

    values: int


def catches(classes: Any, error: BaseException) -> bool:
    """Whether `except classes` catches the error; None stands for a bare `except`."""
    if classes is None:
        return True
    listed = classes if isinstance(classes, tuple) else (classes,)
    if not all(isinstance(cls, type) and issubclass(cls, BaseException) for cls in listed):
        raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    return any(cls in type(error).__mro__ for cls in listed)


def unpack(value: Any, before: int, after: int | None = None) -> tuple[Any, ...]:
    """The items of `a, b = value` (after=None) or of `a, *rest, b = value`, with Python's own errors."""
    if after is None and type(value) in (tuple, list) and len(value) == before:
        return tuple(value)
    if not hasattr(type(value), "__iter__"):
        refused = ""
        try:
            iter(value)
        except TypeError as error:
            refused = str(error)
        if refused.endswith(" object is not iterable"):
            raise TypeError(f"cannot unpack non-iterable {refused.split(chr(39))[1]} object")
    if after is None:
        items = tuple(itertools.islice(it := iter(value), before + 1))
        if len(items) < before:
            raise ValueError(f"not enough values to unpack (expected {before}, got {len(items)})")
        if len(items) > before:
            size = (
                f", got {len(value)}" if type(value) in (list, tuple, dict) and _counts_in_message() else ""
            )
            raise ValueError(f"too many values to unpack (expected {before}{size})")
        del it
        return items
    everything = list(iter(value))  # list(value) would ask for the length, too
    if len(everything) < before + after:
        raise ValueError(
            f"not enough values to unpack (expected at least {before + after}, got {len(everything)})"
        )
    stop = len(everything) - after
    return (*everything[:before], everything[before:stop], *everything[stop:])


def set_of(starred: tuple[int, ...], *items: Any) -> set[Any]:
    """`{a, *b, ...}`."""
    result: set[Any] = set()
    for k, item in enumerate(items):
        result.update(item if k in starred else (item,))
    return result


def merged(*parts: Any) -> dict[Any, Any]:
    """`{**a, **b, ...}`."""
    result: dict[Any, Any] = {}
    for part in parts:
        result = {**result, **part}
    return result


def call_with(function: Any, args: Any, *named: Any) -> Any:
    """`function(*args, **a, **b, ...)`."""
    given: dict[str, Any] = {}
    for part in named[:-1]:
        mapping = {**part} if hasattr(part, "keys") else part
        if mapping is part or given.keys() & mapping.keys():
            return function(*args, **given, **mapping)  # Python refuses it, in its own words
        given.update(mapping)
    return function(*args, **given, **named[-1]) if given else function(*args, **named[-1])


def _counts_in_message() -> bool:
    """Whether this Python's own message counts the surplus (it does from 3.14 on)."""
    try:
        (_,) = [0, 0]  # type: ignore[misc]
    except ValueError as error:
        return "got" in str(error)
    return False


def list_of(starred: tuple[int, ...], *items: Any) -> list[Any]:
    """`[a, *b, ...]`; starred: which of the items are taken apart."""
    result: list[Any] = []
    for k, item in enumerate(items):
        result += [*item] if k in starred else [item]
    return result


def make_function(
    code: types.CodeType,
    namespace: dict[str, Any],
    facts: tuple[Any, ...],
    defaults: tuple[Any, ...] | None,
    kwdefaults: dict[str, Any] | None,
    *free: Any,
) -> types.FunctionType:
    """A plain Python function over `code`: the run-time twin of a function defined in a traced one.

    facts: (name, qualname, doc, module, names of the free variables that are shared cells).
    free: one value for each of `code.co_freevars`; a `Cell` shares its variable.
    """
    name, qualname, doc, module, shared = facts
    cells = tuple(
        v.cell if isinstance(v, Cell) and n in shared else types.CellType(v)
        for n, v in zip(code.co_freevars, free, strict=True)
    )
    function = types.FunctionType(code, namespace, name, defaults, cells)
    function.__kwdefaults__ = kwdefaults
    function.__qualname__, function.__doc__, function.__module__ = qualname, doc, module
    return function


def check_same(value: Any, expected: Any, text: str) -> Any:
    """`value`, which must still be what the trace relied on; GuardError naming it otherwise."""
    if not same_static(value, expected):
        raise _changed(text, "was changed", "its value is a constant of the trace")
    return value


def expect(value: Any, expected: Type, text: str) -> Any:
    """`value`, which must still be of the type the trace relied on; GuardError naming it otherwise."""
    if not describes(expected, value):
        raise _changed(text, "was changed to another kind of value", f"the trace relied on {expected}")
    return value


def _changed(place: str, what: str, why: str) -> GuardError:
    error = GuardError(
        f"{place} {what} by a call in the middle of the converted function",
        why=f"{why}, and the call may have happened after it was used; from the next call on it is read anew",
        fix="read it once before the call, or decorate with ag.do_not_convert",
    )
    error.place = place
    return error
