"""Templates: the values that loops and branches hand on, with holes where they differ.

In: trace values.  Out: a tree of constants, handles that are the same on all ways, and holes with types.
What always holds: a template describes all the values that it was merged from.
"""

from __future__ import annotations

from typing import Any

from runtime.dataclass import dataclass
from runtime.ir.graph import Operand, Value
from runtime.trace.carried import both, held, learn, one_class
from runtime.trace.core import Trace, is_static
from runtime.trace.heap import Heap, Held
from runtime.trace.values import Object, Traced
from runtime.types import (
    ArrayType,
    NumberType,
    TupleType,
    Type,
    WeakType,
    is_namedtuple,
    join,
    same_static,
    static_or_weak,
)


@dataclass(frozen=True)
class Hole:
    """A leaf that is a region parameter or result of this type.  held: what is known of its fields."""

    type: Type
    held: Held | None = None


@dataclass(frozen=True, eq=False)
class Fixed:
    """A leaf that is the same trace value on all ways: a constant, a function, a handle from outside."""

    value: Any


@dataclass(frozen=True)
class Group:
    """A tuple of templates."""

    items: tuple[Any, ...]
    cls: type = tuple


Template = Any  # Hole | Fixed | Group


def template(trace: Trace, x: Any) -> Template:
    """The template of a value before a loop: constants stay constants until the body disagrees."""
    if isinstance(x, tuple) and (type(x) is tuple or is_namedtuple(type(x))):
        return Group(tuple(template(trace, i) for i in x), type(x))
    if isinstance(x, Traced):
        t = x._facts.type
        return Hole(t) if isinstance(t, (ArrayType, WeakType, NumberType)) else Fixed(x)
    return Fixed(x)


def merge(trace: Trace, t: Template, x: Any, head: Heap) -> Template:
    """The template that describes both what `t` describes, at the heap `head`, and the trace value `x`."""
    if isinstance(t, Group) and isinstance(x, tuple) and type(x) is t.cls and len(x) == len(t.items):
        return Group(tuple(merge(trace, a, b, head) for a, b in zip(t.items, x, strict=True)), t.cls)
    if isinstance(t, Fixed):
        if t.value is x or (is_static(t.value) and is_static(x) and same_static(t.value, x)):
            return t
        if isinstance(t.value, Traced) and isinstance(x, Traced) and t.value._facts is x._facts:
            return t
    for one in (t.value, x) if isinstance(t, Fixed) else (x,):
        if isinstance(one, Object):  # the parameter is another handle of it
            trace.heap.escape(one._facts.identity)
    joined = join(static_or_weak(_template_type(trace, t)), static_or_weak(trace.type_of(x)))
    if not one_class(joined):
        return Hole(joined)
    before = t.held if isinstance(t, Hole) else held(trace, t.value, head) if isinstance(t, Fixed) else None
    return Hole(joined, both(before, held(trace, x)))


def _template_type(trace: Trace, t: Template) -> Type:
    if isinstance(t, Hole):
        return t.type
    if isinstance(t, Group):
        return TupleType(tuple(_template_type(trace, i) for i in t.items), t.cls)
    return trace.type_of(t.value)


def without_held(t: Template) -> Template:
    """The template, of whose objects nothing is known."""
    if isinstance(t, Group):
        return Group(tuple(map(without_held, t.items)), t.cls)
    return Hole(t.type) if isinstance(t, Hole) else t


def same(a: Template, b: Template) -> bool:
    """Whether two templates are equal."""
    if isinstance(a, Group) and isinstance(b, Group):
        return a.cls is b.cls and len(a.items) == len(b.items) and all(map(same, a.items, b.items))
    if isinstance(a, Hole) and isinstance(b, Hole):
        return a == b
    return (
        isinstance(a, Fixed)
        and isinstance(b, Fixed)
        and (a is b or a.value is b.value or same_static(a.value, b.value))
    )


def fill(trace: Trace, t: Template, holes: list[Value]) -> Any:
    """The trace value a template stands for, taking the next values for its holes."""
    if isinstance(t, Group):
        items = tuple(fill(trace, i, holes) for i in t.items)
        return items if t.cls is tuple else tuple.__new__(t.cls, items)
    return learn(trace, trace.wrap(holes.pop(0)), t.held) if isinstance(t, Hole) else t.value


def holes(t: Template, name: str = "") -> list[tuple[Type, str]]:
    """The types of the template's holes, in order, with a name hint each."""
    if isinstance(t, Group):
        return [h for i, item in enumerate(t.items) for h in holes(item, f"{name}_{i}" if name else "")]
    return [(t.type, name)] if isinstance(t, Hole) else []


def leaves(trace: Trace, t: Template, x: Any) -> list[Operand]:
    """The operands of a trace value that go into the template's holes."""
    if isinstance(t, Group):
        return [o for a, b in zip(t.items, x, strict=True) for o in leaves(trace, a, b)]
    return [trace.operand(x)] if isinstance(t, Hole) else []
