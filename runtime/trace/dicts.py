"""Copies of dicts whose items are known: new dicts of the same items, so that these stay known.

In: trace values.  Out: trace values, or None where Python has to do it at run time.  What always holds: items
are read when the copy is made, in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.trace import items
from runtime.trace.core import Trace, is_static
from runtime.trace.heap import same_key
from runtime.trace.values import Object, Traced, known_class

_MOST = 256  # items; a copy of more is one call of Python's


def known(trace: Trace, x: Any) -> dict[Any, Any] | None:
    """The items of a dict that the program made; None where they aren't known."""
    if not isinstance(x, Object) or known_class(x) is not dict:
        return None
    facts = x._facts
    if facts.identity not in trace.heap.complete or len(trace.heap.sizes.get(facts.identity, ())) > _MOST:
        return None
    return items.known_pairs(trace, x)


def united(trace: Trace, parts: tuple[Any, ...], more: Mapping[str, Any] | None = None) -> Any:
    """A new dict of the items of several, later ones first in what they share; None: see above."""
    found: dict[Any, Any] = {}
    for part in parts:
        pairs = known(trace, part)
        if pairs is None:
            return None
        found.update(pairs)
    return items.new_dict(trace, list({**found, **(more or {})}.items()))


def updated(trace: Trace, x: Object, other: Any, more: Mapping[str, Any]) -> bool:
    """Whether the items of another dict were written to one, as `update` does it."""
    pairs = known(trace, other)
    if pairs is None:
        return False
    for key, value in {**pairs, **more}.items():
        items.set_item(trace, x, key, value)
    return True


def delete(trace: Trace, x: Traced, key: Any) -> bool:
    """Whether an item that a dict is known to have was deleted; what it holds stays known."""
    names = trace.heap.sizes.get(x._facts.identity, ())
    if known_class(x) is not dict or x._facts.identity not in trace.heap.complete or not is_static(key):
        return False
    if key not in names:
        return False
    trace.emit("py.delitem", [trace.receiver(x), key], attrs={"held": True})
    trace.heap.gone(x._facts.identity, "item", key)
    trace.heap.sizes[x._facts.identity] = tuple(name for name in names if not same_key(name, key))
    return True


def method(trace: Trace, x: Object, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a method of a dict."""
    if name == "copy" and not args and not kwargs:
        made = united(trace, (x,))
        if made is not None:
            return made
    held = known(trace, x) if name in ("pop", "setdefault") and args and is_static(args[0]) else None
    if held is not None and len(args) < 3 and not kwargs:
        if name == "setdefault" and args[0] not in held:
            items.set_item(trace, x, args[0], args[1] if len(args) > 1 else None)
        if args[0] in held:
            if name == "pop":
                delete(trace, x, args[0])
            return held[args[0]]
        if len(args) > 1 or name == "setdefault":
            return args[1] if len(args) > 1 else None
    if name == "update" and len(args) == 1 and updated(trace, x, args[0], kwargs):
        return None
    return items.dict_method(trace, x, name, args, kwargs)
