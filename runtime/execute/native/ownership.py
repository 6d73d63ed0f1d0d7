"""Who holds the arrays, and lists of arrays, that native code makes: each place that makes one, and each loop
that carries one.

In: the values that a trip hands on to the next.  Out: code that moves or shares the references.  What always
holds: every array that can still be read is held by a slot of `%owned`; what a place made is taken again for
the next trip only where nobody else holds it, so two arrays take turns in a loop that carries its result.
"""

from __future__ import annotations

import dataclasses
from typing import Union

from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.merge import HANDLES, HOLE
from runtime.execute.native.state import State
from runtime.execute.native.values import (
    UNKNOWN,
    Arr,
    ArrayList,
    Maybe,
    Mixed,
    Nested,
    Shared,
    Table,
    Tup,
    Val,
)

Object = Union[Arr, ArrayList, Nested, Shared]


def carried(template: Val) -> int:
    """How many arrays a loop holds for a value that it carries."""
    return sum(t.handle == HOLE for t, _ in _objects(template, template))


def _objects(template: Val, value: Val) -> list[tuple[Object, Object]]:
    """The arrays of a template with those of the value; where it is unbound there are none."""
    if isinstance(template, (Arr, *HANDLES)) and isinstance(value, (Arr, *HANDLES)):
        return [(template, value)]
    if isinstance(template, Table) and isinstance(value, Table):
        return [p for t, x in zip(template.columns, value.columns, strict=True) for p in _objects(t, x)]
    if isinstance(template, Mixed) and isinstance(value, Mixed):
        return [*_objects(template.payloads, value.payloads), *_objects(template.tags, value.tags)]
    if isinstance(template, Tup) and isinstance(value, Tup):
        return [p for t, x in zip(template.items, value.items, strict=True) for p in _objects(t, x)]
    if isinstance(template, Maybe):
        inner = value.number if isinstance(value, Maybe) else value
        return _objects(template.number, inner)
    return []


def placed(value: Val, template: Val, depth: int, age: int) -> Val:
    """A carried value as it is known at the head of the loop, or after it."""
    if isinstance(value, Arr) and isinstance(template, Arr) and template.handle == HOLE:
        return dataclasses.replace(value, depth=depth, age=age, site=UNKNOWN)
    if isinstance(value, HANDLES) and isinstance(template, HANDLES):
        held = template.handle == HOLE
        return dataclasses.replace(value, depth=depth, site=UNKNOWN) if held else value
    if isinstance(value, Table) and isinstance(template, Table):
        pairs = zip(value.columns, template.columns, strict=True)
        return Table(tuple(placed(x, t, depth, age) for x, t in pairs))  # type: ignore[misc]
    if isinstance(value, Mixed) and isinstance(template, Mixed):
        payloads = placed(value.payloads, template.payloads, depth, age)
        return Mixed(value.members, payloads, placed(value.tags, template.tags, depth, age))  # type: ignore[arg-type]
    if isinstance(value, Tup) and isinstance(template, Tup):
        items = zip(value.items, template.items, strict=True)
        return Tup(tuple(placed(x, t, depth, age) for x, t in items))
    if isinstance(value, Maybe) and isinstance(template, Maybe):
        return Maybe(placed(value.number, template.number, depth, age), value.valid, value.none)
    return value


def check(state: State, templates: list[Val], values: list[Val]) -> None:
    """No view of an array that a trip makes may outlive the trip: nobody holds the array."""
    for t, x in zip(templates, values, strict=True):
        for template, array in _objects(t, x):
            if template.handle != HOLE and array.depth > state.depth:
                raise Unlowered("a view of an array made in a loop and carried on")


def hand_over(state: State, templates: list[Val], values: list[Val], first: int) -> None:
    """The arrays that the next trip gets are held by the loop's slots, which begin with `first`."""
    e = state.e
    pairs = [p for t, x in zip(templates, values, strict=True) for p in _objects(t, x) if p[0].handle == HOLE]
    if not pairs or not e.reachable():
        return
    moved: list[str | None] = []
    seen: set[int] = set()
    for _, array in pairs:
        site = array.site
        here = array.depth == state.depth + 1  # made by this trip, not before the loop
        if site is None or site == UNKNOWN or site in seen or not here:
            e.line(f"call void @Py_IncRef(ptr {array.handle})")
            moved.append(None)
        else:  # the place that made it gets in return what the loop held
            seen.add(site)
            moved.append(slot(e, site - 1))
    for k, ((_, array), place) in enumerate(zip(pairs, moved, strict=True)):
        held = slot(e, first + k)
        old = e.effect(f"load ptr, ptr {held}")
        e.line(f"store ptr {array.handle}, ptr {held}")
        if place is None:
            e.line(f"call void @Py_DecRef(ptr {old})")
        else:
            e.line(f"store ptr {old}, ptr {place}")


def slot(e: Emitter, k: int) -> str:
    """The place of a reference that native code holds."""
    return e.op(f"getelementptr ptr, ptr %owned, i64 {k}")
