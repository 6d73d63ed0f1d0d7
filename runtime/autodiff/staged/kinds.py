"""What has a derivative, by trace type, and of which type its cotangent is.

In: trace types.  Out: verdicts and types.  What always holds: the cotangent of an array or NumPy scalar has
its own type; that of a Python number is a NumPy scalar, which divides by zero without raising.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.errors import GradientError, Span, Untraceable
from runtime.ir.opdef import OpDef
from runtime.types import (
    ArrayType,
    MaybeUnbound,
    NumberType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
)

FLOAT = ArrayType(np.dtype(np.float64), (), scalar=True)
COMPLEX = ArrayType(np.dtype(np.complex128), (), scalar=True)


class NotStaged(Untraceable):
    """The derivative of this program can't be written as a graph, for a reason: the tape takes it."""

    def __init__(self, reason: str, span: Span | None = None, **_: Any) -> None:
        self.reason = reason
        why = "no graph says how a derivative goes back from there, so it is taken on the tape"
        super().__init__(reason, span=span, why=why)

    def at(self, span: Span | None) -> NotStaged:
        """The same with the user's line, where it has none."""
        return self if self.span is not None or span is None else NotStaged(self.reason, span)


def check_argnums(argnums: Any) -> None:
    """Refuse what can't say which arguments are differentiated by."""
    numbers = [argnums] if isinstance(argnums, (int, np.integer)) else argnums
    if not isinstance(numbers, (tuple, list, range)) or not all(
        isinstance(k, (int, np.integer)) for k in numbers
    ):
        raise GradientError(
            f"argnums is an integer or a tuple of integers, not {argnums!r}",
            fix="call what this gives with the arguments: ag.grad(f)(x)",
        )


def positions(argnums: Any, count: int) -> tuple[bool, tuple[int, ...]]:
    """Whether one argument is named alone, and which of `count` arguments are, from the left."""
    single = isinstance(argnums, (int, np.integer))
    try:
        found = tuple(range(count)[int(k)] for k in ((argnums,) if single else argnums))
    except IndexError:
        given = f"{count} positional argument" + "s" * (count != 1)
        raise GradientError(
            f"argnums={argnums} names no argument: the call has {given}",
            fix="pass the argument by position, or name another one",
        ) from None
    if len(set(found)) < len(found):
        raise GradientError(f"argnums={argnums} names an argument twice", fix="name each once")
    return single, found


def inexact(t: Type) -> bool:
    """Whether values of the type have derivatives; of a tuple, whether some of its items have."""
    if isinstance(t, ArrayType):
        return t.dtype.kind in "fc"
    if isinstance(t, WeakType):
        return t.kind in ("float", "complex")
    if isinstance(t, StaticType):
        return isinstance(t.value, (float, complex, np.inexact))
    if isinstance(t, NumberType):
        return any(map(inexact, t.kinds))
    if isinstance(t, MaybeUnbound):
        return inexact(t.type)
    return isinstance(t, TupleType) and any(map(inexact, t.items))


def is_list(t: Type) -> bool:
    """Whether values of the type are lists, whose cotangents are lists that are written to likewise."""
    return isinstance(t, ObjectType) and t.cls is list


def buffer_type(t: Type) -> Type:
    """The type of what the cotangents of a value of the type are written into."""
    return t if is_list(t) else cotangent_type(t)


@functools.lru_cache(maxsize=512)
def cotangent_type(t: Type) -> ArrayType:
    """The type of the cotangents of values of a type."""
    if isinstance(t, StaticType):
        t = _of_static(t.value)
    if isinstance(t, ArrayType) and t.device == "cpu":
        return t
    if isinstance(t, WeakType):
        return COMPLEX if t.kind == "complex" else FLOAT
    if isinstance(t, NumberType):
        found = {cotangent_type(kind) for kind in t.kinds if inexact(kind)}
        if len(found) == 1:
            return found.pop()
    if isinstance(t, MaybeUnbound):
        return cotangent_type(t.type)
    raise NotStaged(f"a value is {t}, which is no array or number")


def _of_static(value: Any) -> Type:
    if isinstance(value, np.generic):
        return ArrayType(value.dtype, (), scalar=True)
    return WeakType(type(value).__name__)


def known_shape(t: Type) -> tuple[int, ...] | None:
    """The shape where all of it is known."""
    if isinstance(t, MaybeUnbound):
        return None
    if isinstance(t, ArrayType):
        if t.shape is None or None in t.shape:
            return None
        return t.shape  # type: ignore[return-value]
    return ()


def array_of(items: Sequence[Type], dtype: np.dtype[Any]) -> ArrayType:
    """The type of the array, of a dtype, that NumPy makes of a sequence of numbers, arrays and sequences."""
    parts = {array_of(t.items, dtype).shape if isinstance(t, TupleType) else known_shape(t) for t in items}
    inner = parts.pop() if len(parts) == 1 else None
    if inner is None or any(isinstance(t, ObjectType) for t in items):
        raise NotStaged("a sequence that is taken for an array, whose shape is known only at run time")
    return ArrayType(dtype, (len(items), *inner))


def rank(t: Type) -> int:
    """How many axes a value has."""
    if isinstance(t, ArrayType):
        if t.shape is None:
            raise NotStaged("how many axes an array has is known only at run time")
        return len(t.shape)
    return 0


def elementwise(row: OpDef) -> bool:
    """Whether the result's axes are those of the operands, broadcast."""
    from_ufunc = isinstance(row.run, np.ufunc) and row.run.signature is None
    return from_ufunc or row.name in _OPERATORS


_OPERATORS = frozenset(
    """add sub mul truediv floordiv mod pow neg pos abs eq ne lt le gt ge np.where np.clip""".split()
)
Function = Callable[..., Any]
