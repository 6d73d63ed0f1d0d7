"""Rows of the Python ops: what is left to Python at run time.

Their rules give the type that holds for any operands; tracing may know better (an attribute whose
type a guard has checked) and claim a narrower one.
"""

from __future__ import annotations

import operator
from typing import Any

from runtime import pyops
from runtime.errors import GraphError
from runtime.ir.opdef import EFFECT, WRITE, OpDef
from runtime.types import (
    OBJECT,
    WEAK_BOOL,
    MaybeUnbound,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    UnboundType,
)


def _call(function: Any, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _called(graph: Any, *args: Any) -> Any:
    raise GraphError(f"the graph {graph.name!r} is run by what runs graphs, not by its row")


def _raise(*parts: Any) -> None:
    if not parts:
        raise
    if len(parts) == 2:
        raise parts[0] from parts[1]
    raise parts[0]


def _dict(*pairs: Any) -> dict[Any, Any]:
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def _unpack_rule(value: Type, before: Type, after: Type = StaticType(None)) -> Type:  # noqa: B008  frozen
    assert isinstance(before, StaticType) and isinstance(after, StaticType)
    if after.value is None:
        return TupleType((OBJECT,) * before.value)
    return TupleType((OBJECT,) * before.value + (ObjectType(list),) + (OBJECT,) * after.value)


def _bound_rule(value: Type, name: Type, free: Type | None = None) -> Type:
    if isinstance(value, MaybeUnbound):
        return value.type
    return OBJECT if isinstance(value, UnboundType) else value


ROWS: tuple[OpDef, ...] = (
    OpDef(
        name="py.call",
        doc="Call the first operand with the others.",
        rule=lambda *a, **k: OBJECT,
        run=_call,
        effect=EFFECT,
    ),
    OpDef(
        name="call",
        doc="Call the graph that the first operand is, with the others.",
        rule=lambda graph, *a: graph.value.results[0].type,
        run=_called,
        effect=EFFECT,
    ),
    OpDef(
        name="py.getattr",
        doc="Read an attribute; the name is a constant.",
        rule=lambda a, n: OBJECT,
        run=getattr,
        effect=EFFECT,
    ),
    OpDef(name="py.setattr", doc="Write an attribute.", rule=None, run=setattr, effect=EFFECT),
    OpDef(
        name="py.setown",
        doc="Write an attribute as objects do that have no say in it, whatever the class says.",
        rule=None,
        run=object.__setattr__,
        effect=EFFECT,
    ),
    OpDef(name="py.delattr", doc="Delete an attribute.", rule=None, run=delattr, effect=EFFECT),
    OpDef(
        name="py.delitem",
        doc="Delete an item.",
        rule=None,
        run=operator.delitem,
        source="del {0}[{1}]",
        effect=WRITE,
    ),
    OpDef(
        name="py.contains",
        doc="Whether the first operand is in the second.",
        rule=lambda a, b: WEAK_BOOL,
        run=lambda a, b: a in b,
        source="{0} in {1}",
        precedence=6,
    ),
    OpDef(
        name="py.not",
        doc="Python's not.",
        rule=lambda a: WEAK_BOOL,
        run=operator.not_,
        source="not {0}",
        precedence=5,
    ),
    OpDef(
        name="py.truth",
        doc="Python's truth of a value.",
        rule=lambda a: WEAK_BOOL,
        run=bool,
        source="bool({0})",
    ),
    OpDef(
        name="py.is",
        doc="Whether both are the same object.",
        rule=lambda a, b: WEAK_BOOL,
        run=operator.is_,
        source="{0} is {1}",
        precedence=6,
        raises=False,
    ),
    OpDef(
        name="py.tuple",
        doc="A tuple of the operands.",
        rule=lambda *a: TupleType(a),
        run=lambda *a: a,
        raises=False,
    ),
    OpDef(
        name="py.list",
        doc="A new list of the operands.",
        rule=lambda *a: ObjectType(list),
        run=lambda *a: list(a),
        raises=False,
    ),
    OpDef(
        name="py.set",
        doc="A new set of the operands.",
        rule=lambda *a: ObjectType(set),
        run=lambda *a: set(a),
    ),
    OpDef(
        name="py.dict",
        doc="A new dict of alternating keys and values.",
        rule=lambda *a: ObjectType(dict),
        run=_dict,
    ),
    OpDef(
        name="py.slice",
        doc="A slice object.",
        rule=lambda *a: ObjectType(slice),
        run=slice,
        source="slice({0}, {1}, {2})",
        raises=False,
    ),
    OpDef(name="py.unpack", doc="Unpack into a fixed number of items.", rule=_unpack_rule, run=pyops.unpack),
    OpDef(
        name="py.bound",
        doc="The value of a name that may be unbound; raises as Python does.",
        rule=_bound_rule,
        run=pyops.bound,
    ),
    OpDef(
        name="py.global",
        doc="What a global name means; raises as Python does.",
        rule=lambda space, name: OBJECT,
        run=pyops.global_value,
        effect=EFFECT,
    ),
    OpDef(
        name="py.function",
        doc="A plain function over code, globals, facts, defaults and free variables.",
        rule=lambda *a: ObjectType(pyops.make_function.__class__),
        run=pyops.make_function,
        raises=False,
    ),
    OpDef(
        name="py.check",
        doc="A value that must still equal a constant of the trace.",
        rule=lambda v, e, t: OBJECT,
        run=pyops.check_same,
    ),
    OpDef(
        name="py.expect",
        doc="A value that must still be of the type the trace relied on.",
        rule=lambda v, e, t: e.value,
        run=pyops.expect,
    ),
    OpDef(
        name="raise",
        doc="Raise the first operand, from the second if given; without operands what is being handled.",
        rule=None,
        run=_raise,
        effect=EFFECT,
    ),
)
