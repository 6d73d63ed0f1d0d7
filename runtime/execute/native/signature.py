"""What goes into a kernel: a value for each parameter of a graph, and the function's arguments that carry it.

In: the type of a parameter.  Out: its value.  What always holds: the names of the arguments begin with `%p`
and the number of the parameter.  Unlowered: it can't be handed over.
"""

from __future__ import annotations

import numpy as np

from runtime.boxes import Cell
from runtime.errors import Span
from runtime.execute.native.arrays import dense
from runtime.execute.native.kinds import Unlowered, numpy_scalar, payload, scalar_of_type
from runtime.execute.native.state import State
from runtime.execute.native.streams import fixed
from runtime.execute.native.two_kinds import joined
from runtime.execute.native.values import Arr, Num, Stream, Val, one
from runtime.ir.graph import Graph, Value
from runtime.passes.fields import inner_names
from runtime.passes.rewrite import users
from runtime.trace.joins import in_words
from runtime.types import OBJECT, ArrayType, NumberType, ObjectType, Type


def parameters(state: State, graph: Graph, in_order: bool) -> tuple[Val, ...]:
    """A value for each parameter of a graph; where one can't be handed over, the reason names it."""
    found = []
    for k, x in enumerate(graph.params):
        try:
            found.append(parameter(state, k, x, in_order))
        except Unlowered as reason:
            reason.span = first_use(graph, x)
            raise
    return tuple(found)


def first_use(graph: Graph, x: Value) -> Span | None:
    """The first place where a value is used for more than to hand it to a loop or branch, if there is one."""
    places = users(graph, x)
    for node, k in places:
        inside = (first_use(region, inner) for region, inner in inner_names(node, k))
        span = next(filter(None, inside), None if node.regions else node.span)
        if span is not None:
            return span
    return next((node.span for node, _ in places), None)


def parameter(state: State, k: int, x: Value, in_order: bool) -> Val:
    """Parameter number `k`; what carries it becomes arguments of the function.

    in_order: whether an array is in C order; else its strides come in too.
    """
    t = x.type
    e, scalar = state.e, scalar_of_type(t)
    if scalar is not None:
        e.parameters.append(f"{scalar.llvm} %p{k}")
        return one(scalar, f"%p{k}")
    if isinstance(t, NumberType) and len(t.kinds) == 2:
        first, second = map(scalar_of_type, t.kinds)
        assert first is not None and second is not None
        members = joined((first,), (second,))
        e.parameters += [f"{payload(members)} %p{k}", f"i1 %p{k}t"]
        return Num(members, f"%p{k}", f"%p{k}t")
    if isinstance(t, ObjectType) and fixed(t.cls):
        e.parameters.append(f"ptr %p{k}")
        assert t.cls is not None
        return Stream(t.cls, f"%p{k}", state.symbol(t.cls))
    if not isinstance(t, ArrayType) or t.shape is None or t.device != "cpu":
        if t == OBJECT and not x.name:
            raise Unlowered("a value of unknown type")
        name = f"{x.name!r} is " if x.name else ""
        raise Unlowered(f"{name}{_in_words(t)}, no number or array of numbers")
    kind = numpy_scalar(t.dtype)
    e.parameters += [f"ptr %p{k}", f"ptr %p{k}o"]
    dims = [f"%p{k}n{axis}" if n is None else str(n) for axis, n in enumerate(t.shape)]
    e.parameters += [f"i64 {n}" for n in dims if not n.isdigit()]
    if in_order:
        strides = dense(e, dims, kind.dtype.itemsize)
    else:
        strides = tuple(f"%p{k}s{axis}" for axis in range(len(dims)))
        e.parameters += [f"i64 {s}" for s in strides]
    return Arr(kind.dtype, f"%p{k}", tuple(dims), strides, f"%p{k}o", frozenset((k,)))


def _in_words(t: Type) -> str:
    cls = t.cls if isinstance(t, ObjectType) else None
    if cls is Cell:
        return "a name that a handler reads or an inner function binds"
    return "an array of objects" if cls is np.ndarray else in_words(t)
