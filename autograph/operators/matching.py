"""`match` as a function: patterns are small records, `match` tells whether one fits and what it binds.

On plain values this is Python's own structural pattern matching (PEP 634), pattern for pattern.  While
tracing, what is known of the subject (its class, its length, its keys) is decided now; comparisons of
traced values are recorded; and where the structure itself is known only at run time, so is the match.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from autograph.operators.logic import and_, is_
from runtime import pyops
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
class Later:
    """A name in a pattern that Python asks for only when it comes to it: a value, a key or a class."""

    ask: Callable[[], Any]


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
# What Python asks of classes here are flags of theirs (see its headers).
_SEQUENCE, _MAPPING, _MATCHES_SELF = 1 << 5, 1 << 6, 1 << 22
_NO_CLASS = f"called match pattern must be a {'type' if sys.version_info < (3, 12) else 'class'}"


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
    pattern = _now(pattern)
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


def _now(value: Any) -> Any:
    """What stands in a pattern, asked when Python asks it."""
    return value.ask() if type(value) is Later else value


def _fitting(subjects: Iterable[Any], patterns: Iterable[Any]) -> Answer:
    """Whether each pattern fits its subject; the first that does not is the last that is tried."""
    bound: list[Any] = []
    for subject, pattern in zip(subjects, patterns, strict=True):
        fits, more = plain_match(subject, pattern)
        if not fits:
            return NO
        bound += more
    return True, tuple(bound)


def _sequence(subject: Any, p: Sequence) -> Answer:
    """Parts are read one by one where a star throws some away, not at all where nobody needs them."""
    if not type(subject).__flags__ & _SEQUENCE:
        return NO
    count, star = len(p.patterns), p.star >= 0
    if (not star or count) and _wrong_size(len(subject), count, star):
        return NO
    if not p.starred and all(type(inner) is Wildcard for inner in p.patterns):
        return True, ()
    if star and not p.starred:
        return _picked(subject, p)
    if not star:
        return _fitting(pyops.unpack(subject, count, None), p.patterns)
    parts = pyops.unpack(subject, p.star, count - p.star)
    return _fitting(parts, (*p.patterns[: p.star], Capture(), *p.patterns[p.star :]))


def _wrong_size(size: int, count: int, star: bool) -> bool:
    return size < count if star else size != count


def _picked(subject: Any, p: Sequence) -> Answer:
    bound: list[Any] = []
    for i, inner in enumerate(p.patterns):
        if type(inner) is Wildcard:
            continue
        at = i if i < p.star else len(subject) - (len(p.patterns) - i)
        fits, more = plain_match(subject[at], inner)
        if not fits:
            return NO
        bound += more
    return True, tuple(bound)


def _mapping(subject: Any, p: Mapping) -> Answer:
    if not type(subject).__flags__ & _MAPPING:
        return NO
    if p.keys and len(subject) < len(p.keys):
        return NO
    keys = tuple(map(_now, p.keys))
    values = _values(subject, keys)
    if values is None:
        return NO
    fits, bound = _fitting(values, p.patterns)
    if not fits or not p.rest:
        return fits, bound
    rest: dict[Any, Any] = {}
    rest.update(subject)
    for key in keys:
        del rest[key]
    return True, (*bound, rest)


def _values(subject: Any, keys: tuple[Any, ...]) -> list[Any] | None:
    """The values of all keys; None where one is missing."""
    if not keys:
        return []
    get, missing = subject.get, object()
    values, seen = [], set()
    for key in keys:
        if key in seen:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        seen.add(key)
        value = get(key, missing)
        if value is missing:
            return None
        values.append(value)
    return values


def _attributes(cls: type, p: Class) -> tuple[str | None, ...]:
    """The attribute for each sub-pattern; None for the subject itself."""
    count = len(p.patterns)
    if not count:
        return p.names
    names = getattr(cls, "__match_args__", None)
    whole = names is None and bool(cls.__flags__ & _MATCHES_SELF)
    names = () if names is None else names
    if type(names) is not tuple:
        raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(names).__name__})")
    allowed = 1 if whole else len(names)
    if count > allowed:
        plural = "" if allowed == 1 else "s"
        raise TypeError(f"{cls.__name__}() accepts {allowed} positional sub-pattern{plural} ({count} given)")
    return (None, *p.names) if whole else (*names[:count], *p.names)


def _unseen(cls: type, name: Any, seen: set[str]) -> None:
    """Refuse what is no attribute's name, and one that was read already."""
    if type(name) is not str:
        raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
    if name in seen:
        raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}")
    seen.add(name)


def _class(subject: Any, p: Class) -> Answer:
    """All attributes are read before any sub-pattern is tried."""
    cls = _now(p.cls)
    if not isinstance(cls, type):
        raise TypeError(_NO_CLASS)
    if not isinstance(subject, cls):
        return NO
    values: list[Any] = []
    seen: set[str] = set()
    for name in _attributes(cls, p):
        if name is None:
            values.append(subject)
            continue
        _unseen(cls, name, seen)
        try:
            values.append(getattr(subject, name))
        except AttributeError:
            return NO
    return _fitting(values, (*p.patterns, *p.named))


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
    Value: lambda subject, p: (bool(subject == _now(p.value)), ()),
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

    def _here(self, value: Any) -> Any:
        """A name that Python comes to only where all tests before it are true."""
        if type(value) is Later and self.tests:
            raise _AtRunTime
        return _now(value)

    def _capture(self, subject: Any, p: Capture) -> Answer:
        return True, (subject,)

    def _wildcard(self, subject: Any, p: Wildcard) -> Answer:
        return True, ()

    def _value(self, subject: Any, p: Value) -> Answer:
        return self._ask(lambda: subject == _now(p.value))

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
        if not cls.__flags__ & _SEQUENCE:
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
        if cls is not None and not cls.__flags__ & _MAPPING:
            return NO
        keys = tuple(map(self._here, p.keys))
        if cls is not dict or p.rest or not all(map(is_static, keys)) or len(set(keys)) < len(keys):
            raise _AtRunTime
        bound: list[Any] = []
        for key, inner in zip(keys, p.patterns, strict=True):
            there = self.trace.protocol.contains(key, subject)
            if not isinstance(there, bool):
                raise _AtRunTime
            fits, more = self.match(subject[key], inner) if there else NO
            if not fits:
                return NO
            bound += more
        return True, tuple(bound)

    def _class(self, subject: Any, p: Class) -> Answer:
        wanted = self._here(p.cls)
        wanted = wanted._facts.example if isinstance(wanted, Object) else wanted
        cls = known_class(subject)
        if cls is None or not isinstance(wanted, type):
            raise _AtRunTime
        if not issubclass(cls, wanted):
            return NO
        values: list[Any] = []
        seen: set[str] = set()
        for name in _attributes(wanted, p):
            if name is not None:
                _unseen(wanted, name, seen)
                if not self._has(subject, name):
                    return NO
            values.append(subject if name is None else getattr(subject, name))
        bound: list[Any] = []
        for value, inner in zip(values, (*p.patterns, *p.named), strict=True):
            fits, more = self.match(value, inner)
            if not fits:
                return NO
            bound += more
        return True, tuple(bound)

    def _has(self, subject: Any, name: str) -> bool:
        """Whether the subject has the attribute, where that is sure."""
        cls = known_class(subject)
        if not isinstance(subject, Traced) or isinstance(subject, Tensor):
            return hasattr(cls, name) or (not isinstance(subject, Traced) and hasattr(subject, name))
        found = inspect.getattr_static(cls, name, None)
        if (
            hasattr(type(found), "__get__")
            and isinstance(inspect.getattr_static(type(found), "__get__"), types.FunctionType)
            or isinstance(found, property)
        ):
            raise _AtRunTime  # it runs code, which may find that there is no such attribute
        who = subject._facts.identity
        if self.trace.heap.get(who, "attr", name) is not NOTHING or hasattr(cls, name):
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
        values = [q.value for q in p.patterns]  # each is asked where it is compared

        not_ = self.trace.protocol.truth_not

        def none_equals(rest: list[Any]) -> Any:
            differs = not_(subject == _now(rest[0]))
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
