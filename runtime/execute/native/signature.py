"""What goes into a kernel: a value for each parameter of a graph, and the function's arguments that carry it.

In: the type of a parameter.  Out: its value.  What always holds: the names of the arguments begin with `%p`
and the number of the parameter.  Unlowered: it can't be handed over.
"""

from __future__ import annotations

from runtime.execute.native.arrays import dense
from runtime.execute.native.kinds import Unlowered, numpy_scalar, payload, scalar_of_type
from runtime.execute.native.state import State
from runtime.execute.native.streams import fixed
from runtime.execute.native.values import Arr, Num, Stream, Val, joined, one
from runtime.trace.joins import in_words
from runtime.types import ArrayType, NumberType, ObjectType, Type


def parameter(state: State, k: int, t: Type, in_order: bool) -> Val:
    """Parameter number `k`; what carries it becomes arguments of the function.

    in_order: whether an array is in C order; else its strides come in too.
    """
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
        raise Unlowered(f"an argument is {in_words(t)}, no number or array")
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
