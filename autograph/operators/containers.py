"""Displays, comprehensions and unpacking of converted code.

Lists, dicts and sets are mutable, so while tracing they are made at run time and stood for by handles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from runtime import pyops
from runtime.errors import Untraceable
from runtime.functional import cond, for_loop
from runtime.lazy import Lazy
from runtime.recording import recording
from runtime.trace import items
from runtime.trace.builtins import addable
from runtime.trace.core import Trace, active, is_static
from runtime.trace.pending import pend, taken, there
from runtime.trace.values import Star, Traced, known_class

if TYPE_CHECKING:
    from runtime import scans
    from runtime.autodiff import lists
else:
    scans, lists = Lazy("runtime.scans"), Lazy("runtime.autodiff.lists")


def list_(*values: Any) -> Any:
    """`[*values]`."""
    trace = active()
    if trace is None:
        if Star in map(type, values):
            return refused(values)
        return lists.FollowedList(values) if recording() else list(values)
    if not any(isinstance(v, Star) for v in values):
        return items.new_list(trace, values)
    return items.starred_list(trace, values)


def refused(values: tuple[Any, ...]) -> Any:
    """A display with a star before what can't be taken apart: Python's error."""
    starred = tuple(k for k, value in enumerate(values) if isinstance(value, Star))
    return pyops.list_of(starred, *(v.value if isinstance(v, Star) else v for v in values))


def tuple_(*values: Any) -> Any:
    """`(*values,)` of a display with a star."""
    trace = active()
    if Star not in map(type, values):
        return values
    if trace is None:
        return refused(values)
    return trace.protocol.call(tuple, (list_(*values),), {})


def set_(*values: Any, of: set[Any] | None = None) -> Any:
    """`{*values}`; of: a display of constants, which Python makes of one that lies in the code: it goes over
    its items in another order than a set into which they are put one by one."""
    trace = active()
    if of is not None:
        return of if trace is None else trace.protocol.call(set, (frozenset(of),), {})
    if Star in map(type, values):
        starred = tuple(k for k, value in enumerate(values) if isinstance(value, Star))
        plain = [value.value if isinstance(value, Star) else value for value in values]
        if trace is None:
            return pyops.set_of(starred, *plain)
        return trace.protocol.call(pyops.set_of, (starred, *plain), {})
    if trace is None:
        return set(values)
    return trace.protocol.call(set, (list_(*values),) if values else (), {})


def dict_(pairs: Any = (), **named: Any) -> Any:
    """A new dict of (key, value) pairs (or of a dict), then of the keyword arguments."""
    trace = active()
    if trace is None:
        return dict(pairs, **named)
    if isinstance(pairs, Traced):
        return trace.protocol.call(dict, (pairs,), named)
    listed = list(pairs.items()) if isinstance(pairs, dict) else list(pairs)
    return items.new_dict(trace, [*listed, *named.items()])


def dict_merge(*parts: Any) -> Any:
    """`{**a, **b, ...}`: each part is a mapping; later ones win."""
    trace = active()
    if trace is None:
        return pyops.merged(*parts)
    if not all(isinstance(part, dict) or known_class(part) is dict for part in parts):
        return items.merged(trace, parts)
    result = items.new_dict(trace, [])
    for part in parts:
        trace.protocol.get_attr(result, "update")(part)
    return result


def unpack(value: Any, before: int | None = None, after: int | None = None) -> Any:
    """The items of `a, b = value` (before=2), `a, *rest, b = value` (before=1, after=1), or `f(*value)`."""
    trace = active()
    if before is None:
        return _spread(value)
    if trace is not None:
        done = trace.protocol.unpack(value, before, after)
        if done is not None:
            return done
    return pyops.unpack(value, before, after)


def keywords(mapping: Any) -> Any:
    """The mapping of `f(**mapping)`; while tracing, under one name a marker where its keys aren't known."""
    trace = active()
    if isinstance(mapping, dict) or trace is None and hasattr(mapping, "keys"):
        return mapping
    if trace is None:
        return {"**": Star(mapping)}  # it will be refused, in the words for the function
    found = items.known_pairs(trace, mapping) if isinstance(mapping, Traced) else None
    if found is None or not all(type(key) is str for key in found):
        return {f"**{id(mapping)}": Star(mapping)}
    return found


def _spread(value: Any) -> Any:
    """The items of `*value`; while tracing, a marker where their number isn't known."""
    trace = active()
    if not isinstance(value, Traced):
        if hasattr(type(value), "__iter__") or hasattr(type(value), "__getitem__"):
            return value
        return (Star(value),)  # it will be refused, in the words for the place
    found = None if trace is None else items.known_items(trace, value)
    return (Star(value),) if found is None else found


def spread(value: Any, of_set: bool = False) -> Any:
    """The items of `*value` as they are now, before what stands behind is evaluated.  of_set: in a set."""
    found = _spread(value)
    if not (isinstance(found, tuple) and len(found) == 1 and isinstance(found[0], Star)):
        return found
    trace = active()
    if trace is not None and isinstance(value, Traced) and not of_set:
        return (Star(items.starred_list(trace, found)),)
    if not of_set:
        return refused(found)
    made = set_(*found)
    return (Star(made),) if isinstance(made, Traced) else made


def _apply(function: Callable[..., Any], item: Any) -> Any:
    """Call a comprehension's function: with several targets, the item is unpacked."""
    count = function.__code__.co_argcount
    return function(item) if count == 1 else function(*unpack(item, count))


def _each(
    iterable: Any,
    add: Callable[[Any], Any],
    where: Callable[..., Any] | None,
    element: Callable[..., Any],
    flat: bool,
) -> None:
    def take(item: Any) -> None:
        made = _apply(element, item)
        if flat:
            for_loop(made, lambda inner: add(inner))
        else:
            add(made)

    def body(item: Any) -> None:
        if where is None:
            take(item)
        else:
            cond(_apply(where, item), lambda: take(item), lambda: None)

    for_loop(iterable, body)


def list_comp(
    element: Callable[..., Any], iterable: Any, where: Callable[..., Any] | None = None, flat: bool = False
) -> Any:
    """`[element(x) for x in iterable if where(x)]`; flat=True: element gives an iterable, spliced in."""
    out = list_()
    _each(iterable, out.append, where, element, flat)
    return out


def set_comp(
    element: Callable[..., Any], iterable: Any, where: Callable[..., Any] | None = None, flat: bool = False
) -> Any:
    """`{element(x) for x in iterable if where(x)}`, as `list_comp`."""
    out = set_()
    _each(iterable, out.add, where, element, flat)
    return out


def dict_comp(
    pair: Callable[..., Any], iterable: Any, where: Callable[..., Any] | None = None, flat: bool = False
) -> Any:
    """`{k: v for x in iterable if where(x)}`; pair(x) gives (k, v)."""
    out = dict_()

    def put(made: Any) -> None:
        key, value = unpack(made, 2)
        out[key] = value

    _each(iterable, put, where, pair, flat)
    return out


def _generate(
    element: Callable[..., Any], iterator: Iterator[Any], where: Callable[..., Any] | None, flat: bool
) -> Iterator[Any]:
    for item in iterator:
        if where is None or _apply(where, item):
            made = _apply(element, item)
            if flat:
                yield from made
            else:
                yield made


def plain_generator(
    element: Callable[..., Any], iterable: Iterable[Any], where: Callable[..., Any] | None, flat: bool
) -> Iterator[Any]:
    """The generator of a generator expression over plain values; iter() is taken at once, as Python does."""
    made: Any = _generate(element, iter(iterable), where, flat)
    made.__name__ = "<genexpr>"
    made.__qualname__ = element.__qualname__.rpartition("<")[0] + made.__name__
    return made  # type: ignore[no-any-return]


def generator(
    element: Callable[..., Any], iterable: Any, where: Callable[..., Any] | None = None, flat: bool = False
) -> Any:
    """`(element(x) for x in iterable if where(x))`: while tracing, a generator that runs at run time."""
    trace = active()
    if trace is None:
        return plain_generator(element, iterable, where, flat)
    if not isinstance(iterable, (Traced, tuple, range, str, list)) or not is_static(flat):
        iterable = items.new_list(trace, list(iterable))
    mark = trace.mark()
    made = trace.record("py.call", [trace.constant(plain_generator), element, iterable, where, flat])

    def again() -> Any:
        return generator(element, there(trace, iterable), where, flat)

    def add_up(start: Any) -> Any:
        before = trace.mark()
        try:
            return _added_up(trace, start, element, iterable, where, flat)
        except Exception:  # of the user's code, which Python's own sum calls, if it comes to that
            trace.rollback(before)
            remade = again()
            trace.pending.pop(remade._facts.identity)  # what was tried is not tried again
            return trace.protocol.call(sum, (remade, start), {})

    def listed() -> Any:
        return list_comp(element, there(trace, iterable), where, flat)

    def asked(wanted: bool) -> Any:
        before = trace.mark()
        try:
            return _asked(trace, wanted, element, iterable, where, flat)
        except Exception:  # as above
            trace.rollback(before)
            remade = again()
            trace.pending.pop(remade._facts.identity)
            return trace.protocol.call(any if wanted else all, (remade,), {})

    pend(trace, made, mark, (iterable,), again, add_up=add_up, listed=listed, asked=asked)
    return made


def _added_up(
    trace: Trace, start: Any, element: Callable[..., Any], iterable: Any, where: Any, flat: bool
) -> Any:
    """`sum((element(x) for x in iterable if where(x)), start)` as a loop; an error where it is not that."""

    def add(total: Any, value: Any) -> Any:
        if not addable(trace, (total, value)):
            raise Untraceable("sum does not just add these values")
        return trace.protocol.operator("add", total, value)

    def take(item: Any, total: Any) -> Any:
        made = _apply(element, item)
        if not flat:
            return add(total, made)
        inner = taken(trace, made)
        if inner is not None and inner.add_up is not None:
            return inner.add_up(total)
        made = made if inner is None else inner.again()
        return scans.loop(made, lambda value, total: add(total, value), (total,))

    def body(item: Any, total: Any) -> Any:
        if where is None:
            return take(item, total)
        return cond(_apply(where, item), lambda: take(item, total), lambda: total)

    return scans.loop(iterable, body, (start,))


def _asked(
    trace: Trace, wanted: bool, element: Callable[..., Any], iterable: Any, where: Any, flat: bool
) -> Any:
    """Whether any `element(x)` is true (wanted: False: whether all are), as a loop that stops when that is
    known."""
    if flat:
        raise Untraceable("a search in loops within loops")

    def truth(item: Any) -> Any:
        return trace.protocol.call(bool, (_apply(element, item),), {})

    def body(item: Any, found: Any) -> Any:
        return truth(item) if where is None else cond(_apply(where, item), lambda: truth(item), lambda: found)

    def go_on(found: Any) -> Any:
        return trace.protocol.truth_not(found) if wanted else found

    return scans.loop(iterable, body, (not wanted,), go_on)
