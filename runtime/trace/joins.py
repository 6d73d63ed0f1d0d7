"""What is remembered of a name that has nothing in common with itself on another way: it becomes `object`.

In: the types that meet.  Out: a note in the user's words, or an error under strict=True.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.errors import Untraceable
from runtime.trace.core import Trace
from runtime.types import (
    OBJECT,
    ArrayType,
    MaybeUnbound,
    NumberType,
    ObjectType,
    StaticType,
    Type,
    WeakType,
    static_or_weak,
)


def note_join(trace: Trace, name: str, joined: Type, types: Sequence[Type]) -> None:
    """Note, where several types gave `object`, what they were; the first is what the name was before."""
    if not _is_any(joined) or not types or _is_any(types[0]):
        return
    words = list(dict.fromkeys(in_words(static_or_weak(t)) for t in types if not _is_any(t)))
    if len(words) < 2:
        return
    what = f"{name!r}" if name.isidentifier() else "what this statement gives"
    ways = " or ".join(words)
    if trace.strict and not all(map(_is_number, types)):  # numbers of two kinds are still numbers
        raise Untraceable(
            f"{what} can be {ways} here",
            span=trace.span(),
            why="what has nothing in common is handled by Python at run time, which strict=True rules out",
            fix="give it one type on all ways, for instance a number or an array of the same dtype",
        )
    trace.note("object", f"{what} is {ways}, as the data says")


def _is_any(t: Type) -> bool:
    if isinstance(t, MaybeUnbound):
        return _is_any(t.type)
    return isinstance(t, ObjectType) and t.cls is None


def _is_number(t: Type) -> bool:
    t = static_or_weak(t)
    return _is_any(t) or isinstance(t, (WeakType, NumberType)) or (isinstance(t, ArrayType) and t.scalar)


def in_words(t: Type) -> str:
    """A type as a user would say it."""
    if isinstance(t, ObjectType) and t.cls is not None:
        return "None" if t.cls is type(None) else f"a {t.cls.__name__}"
    if isinstance(t, MaybeUnbound):
        return f"unbound or {in_words(t.type)}"
    if isinstance(t, StaticType):
        return repr(t.value)
    return "a value of unknown type" if t == OBJECT else str(t)
