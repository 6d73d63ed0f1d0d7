"""`match` as a function: patterns are small records, `match` tells whether one fits and what it binds.

On plain values this is Python's own structural pattern matching (PEP 634), pattern for pattern.  While
tracing, what is known of the subject (its class, its length, its keys) is decided now; comparisons of
traced values are recorded; and where the structure itself is known only at run time, so is the match.
"""

from __future__ import annotations

import collections.abc
import dataclasses
from collections.abc import Callable
from typing import Any

from autograph.operators.logic import and_, is_
from runtime.dataclass import dataclass
from runtime.errors import Untraceable
from runtime.trace import items
from runtime.trace.core import Trace, active, is_static
from runtime.trace.heap import NOTHING
from runtime.trace.values import Object, Tensor, Traced, known_class
from runtime.types import WEAK_BOOL, ObjectType, TupleType


@dataclass(frozen=True)
class Capture:
    """A name: fits everything and binds it."""


@dataclass(frozen=True)
class Wildcard:
    """`_`: fits everything, binds nothing."""


@dataclass(frozen=True, eq=False)
class Value:
    """A literal or dotted name: fits what equals it."""

    value: Any


@dataclass(frozen=True, eq=False)
class Singleton:
    """None, True or False: fits only that object."""

    value: Any


@dataclass(frozen=True, eq=False)
class Bind:
    """`pattern as name`: binds the subject after what the pattern binds."""

    pattern: Any


@dataclass(frozen=True, eq=False)
class Sequence:
    """`[a, *rest, b]`: star is the position of the starred part (-1: none), starred whether it binds."""

    patterns: tuple[Any, ...]
    star: int = -1
    starred: bool = False


@dataclass(frozen=True, eq=False)
class Mapping:
    """`{key: pattern, **rest}`."""

    keys: tuple[Any, ...]
    patterns: tuple[Any, ...]
    rest: bool = False


@dataclass(frozen=True, eq=False)
class Class:
    """`cls(*patterns, name=pattern)`."""

    cls: Any
    patterns: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()
    named: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Either:
    """`a | b`: the first that fits; all bind the same names, in the order of `orders[i]`."""

    patterns: tuple[Any, ...]
    orders: tuple[tuple[int, ...], ...]


Answer = tuple[bool, tuple[Any, ...]]
NO: Answer = (False, ())
# classes whose single positional sub-pattern is the subject itself
_SELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
_NOT_SEQUENCES = (str, bytes, bytearray)


def match(subject: Any, pattern: Any) -> Any:
    """(whether the pattern fits the subject, the values it binds in order of writing)."""
    trace = active()
    if trace is None:
        return plain_match(subject, pattern)
    matcher = _Traced(trace)
    mark = trace.mark()
    try:
        fits, bound = matcher.match(subject, pattern)
    except _AtRunTime:
        trace.rollback(mark)
        return _match_at_run_time(trace, subject, pattern)
    if not fits or not matcher.tests:
        return fits, bound
    return and_(matcher.tests[0](), *matcher.tests[1:]), bound


def _match_at_run_time(trace: Trace, subject: Any, pattern: Any) -> Any:
    claim = TupleType((WEAK_BOOL, ObjectType(tuple)))
    trace.heap.doubtful()
    answer = trace.emit("py.call", [plain_match, subject, trace.constant(_concrete(pattern))], type=claim)
    assert answer is not None
    return trace.wrap(answer)


def _concrete(pattern: Any) -> Any:
    """The pattern with run-time values in place of handles, where these are constants."""
    if isinstance(pattern, tuple):
        return tuple(map(_concrete, pattern))
    if dataclasses.is_dataclass(pattern) and not isinstance(pattern, type):
        fields = {f.name: _concrete(getattr(pattern, f.name)) for f in dataclasses.fields(pattern)}
        return type(pattern)(**fields)
    if isinstance(pattern, Object) and isinstance(pattern._facts.example, type):
        return pattern._facts.example
    if isinstance(pattern, Traced):
        raise Untraceable("a pattern compares with a value that is known only at run time")
    return pattern


# ------------------------------------------------------------------------------------ plain values
def plain_match(subject: Any, pattern: Any) -> Answer:
    """`match` on plain values."""
    return _PLAIN[type(pattern)](subject, pattern)


def _sequence(subject: Any, p: Sequence) -> Answer:
    if not isinstance(subject, collections.abc.Sequence) or isinstance(subject, _NOT_SEQUENCES):
        return NO
    size, count = len(subject), len(p.patterns)
    if (size != count) if p.star < 0 else (size < count):
        return NO
    before = count if p.star < 0 else p.star
    rest = size - (count - before)
    bound: list[Any] = []
    for i, inner in enumerate(p.patterns):
        if i == before and p.starred:
            bound.append([subject[k] for k in range(before, rest)])
        fits, more = plain_match(subject[i if i < before else rest + i - before], inner)
        if not fits:
            return NO
        bound += more
    if p.starred and before == count:
        bound.append([subject[k] for k in range(before, rest)])
    return True, tuple(bound)


def _mapping(subject: Any, p: Mapping) -> Answer:
    if not isinstance(subject, collections.abc.Mapping):
        return NO
    missing = object()
    bound: list[Any] = []
    for key, inner in zip(p.keys, p.patterns, strict=True):
        value = subject.get(key, missing)
        fits, more = (False, ()) if value is missing else plain_match(value, inner)
        if not fits:
            return NO
        bound += more
    if p.rest:
        bound.append({k: v for k, v in subject.items() if k not in p.keys})
    return True, tuple(bound)


def _positional(cls: type, count: int) -> tuple[str | None, ...]:
    """The attribute for each positional sub-pattern; None for the subject itself."""
    names = getattr(cls, "__match_args__", None)
    if names is None:
        if issubclass(cls, _SELF) and count <= 1:
            return (None,) * count
        names = ()
    if type(names) is not tuple:
        raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(names).__name__})")
    if count > len(names):
        plural = "" if len(names) == 1 else "s"
        raise TypeError(
            f"{cls.__name__}() accepts {len(names)} positional sub-pattern{plural} ({count} given)"
        )
    return names[:count]


def _class(subject: Any, p: Class) -> Answer:
    if not isinstance(p.cls, type):
        raise TypeError("called match pattern must be a class")
    if not isinstance(subject, p.cls):
        return NO
    bound: list[Any] = []
    names = (*_positional(p.cls, len(p.patterns)), *p.names)
    for name, inner in zip(names, (*p.patterns, *p.named), strict=True):
        if name is not None and not hasattr(subject, name):
            return NO
        fits, more = plain_match(subject if name is None else getattr(subject, name), inner)
        if not fits:
            return NO
        bound += more
    return True, tuple(bound)


def _either(subject: Any, p: Either) -> Answer:
    for inner, order in zip(p.patterns, p.orders, strict=True):
        fits, bound = plain_match(subject, inner)
        if fits:
            return True, tuple(bound[i] for i in order)
    return NO


def _bind(subject: Any, p: Bind) -> Answer:
    fits, bound = plain_match(subject, p.pattern)
    return (True, (*bound, subject)) if fits else NO


_PLAIN: dict[type, Callable[[Any, Any], Answer]] = {
    Capture: lambda subject, p: (True, (subject,)),
    Wildcard: lambda subject, p: (True, ()),
    Value: lambda subject, p: (bool(subject == p.value), ()),
    Singleton: lambda subject, p: (subject is p.value, ()),
    Bind: _bind,
    Sequence: _sequence,
    Mapping: _mapping,
    Class: _class,
    Either: _either,
}


# ----------------------------------------------------------------------------------- traced values
class _AtRunTime(Exception):
    """The structure of the subject isn't known while tracing."""


class _Traced:
    """Matches trace values; comparisons that are known only at run time are left in `tests`."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.tests: list[Callable[[], Any]] = []

    def match(self, subject: Any, p: Any) -> Answer:
        """Whether the structure fits (with `tests` still to be asked), and what is bound."""
        if not isinstance(subject, Traced) and is_static(subject) and _all_static(p):
            return plain_match(subject, p)
        method = getattr(self, "_" + type(p).__name__.lower())
        return method(subject, p)  # type: ignore[no-any-return]

    def _ask(self, test: Callable[[], Any]) -> Answer:
        self.tests.append(test)
        return True, ()

    def _capture(self, subject: Any, p: Capture) -> Answer:
        return True, (subject,)

    def _wildcard(self, subject: Any, p: Wildcard) -> Answer:
        return True, ()

    def _value(self, subject: Any, p: Value) -> Answer:
        return self._ask(lambda: subject == p.value)

    def _singleton(self, subject: Any, p: Singleton) -> Answer:
        same = is_(subject, p.value)
        return (same, ()) if isinstance(same, bool) else self._ask(lambda: same)

    def _bind(self, subject: Any, p: Bind) -> Answer:
        fits, bound = self.match(subject, p.pattern)
        return (True, (*bound, subject)) if fits else NO

    def _sequence(self, subject: Any, p: Sequence) -> Answer:
        cls = known_class(subject)
        if cls is None:
            raise _AtRunTime
        if not issubclass(cls, collections.abc.Sequence) or issubclass(cls, _NOT_SEQUENCES):
            return NO
        known = items.known_items(self.trace, subject)
        if known is None:
            raise _AtRunTime
        size, count = len(known), len(p.patterns)
        if (size != count) if p.star < 0 else (size < count):
            return NO
        before = count if p.star < 0 else p.star
        rest = size - (count - before)
        bound: list[Any] = []
        for i, inner in enumerate((*p.patterns, None)):
            if i == before and p.starred:
                bound.append(items.new_list(self.trace, known[before:rest]))
            if inner is None:
                break
            fits, more = self.match(known[i if i < before else rest + i - before], inner)
            if not fits:
                return NO
            bound += more
        return True, tuple(bound)

    def _mapping(self, subject: Any, p: Mapping) -> Answer:
        cls = known_class(subject)
        if cls is not None and not issubclass(cls, collections.abc.Mapping):
            return NO
        if cls is not dict or p.rest or not all(map(is_static, p.keys)):
            raise _AtRunTime
        bound: list[Any] = []
        for key, inner in zip(p.keys, p.patterns, strict=True):
            there = self.trace.protocol.contains(key, subject)
            if not isinstance(there, bool):
                raise _AtRunTime
            fits, more = self.match(subject[key], inner) if there else NO
            if not fits:
                return NO
            bound += more
        return True, tuple(bound)

    def _class(self, subject: Any, p: Class) -> Answer:
        wanted = p.cls._facts.example if isinstance(p.cls, Object) else p.cls
        cls = known_class(subject)
        if cls is None or not isinstance(wanted, type):
            raise _AtRunTime
        if not issubclass(cls, wanted):
            return NO
        bound: list[Any] = []
        names = (*_positional(wanted, len(p.patterns)), *p.names)
        for name, inner in zip(names, (*p.patterns, *p.named), strict=True):
            value = subject
            if name is not None:
                has = self._has(subject, name)
                if not has:
                    return NO
                value = getattr(subject, name)
            fits, more = self.match(value, inner)
            if not fits:
                return NO
            bound += more
        return True, tuple(bound)

    def _has(self, subject: Any, name: str) -> bool:
        """Whether the subject has the attribute, where that is sure."""
        if not isinstance(subject, Traced) or isinstance(subject, Tensor):
            return hasattr(known_class(subject), name) or (
                not isinstance(subject, Traced) and hasattr(subject, name)
            )
        who = subject._facts.identity
        if self.trace.heap.get(who, "attr", name) is not NOTHING or hasattr(known_class(subject), name):
            return True
        if subject._facts.example is not None and hasattr(subject._facts.example, name):
            return True
        raise _AtRunTime

    def _either(self, subject: Any, p: Either) -> Answer:
        for inner, order in zip(p.patterns, p.orders, strict=True):
            before = len(self.tests)
            fits, bound = self.match(subject, inner)
            if fits and len(self.tests) > before:
                if all(isinstance(q, Value) for q in p.patterns):
                    return self._any_value(subject, p, before)
                raise _AtRunTime
            if fits:
                return True, tuple(bound[i] for i in order)
            del self.tests[before:]
        return NO

    def _any_value(self, subject: Any, p: Either, before: int) -> Answer:
        """`1 | 2 | 3` on a traced value: one test for all."""
        del self.tests[before:]
        values = [q.value for q in p.patterns]

        not_ = self.trace.protocol.truth_not

        def none_equals(rest: list[Any]) -> Any:
            differs = not_(subject == rest[0])
            return and_(differs, lambda: none_equals(rest[1:])) if len(rest) > 1 else differs

        def test() -> Any:
            return not_(none_equals(values))

        return self._ask(test)


def _all_static(pattern: Any) -> bool:
    """Whether everything in the pattern is a plain value."""
    if isinstance(pattern, tuple):
        return all(map(_all_static, pattern))
    if dataclasses.is_dataclass(pattern) and not isinstance(pattern, type):
        return all(_all_static(getattr(pattern, f.name)) for f in dataclasses.fields(pattern))
    return not isinstance(pattern, Traced)
