"""What lowering asks of a graph beforehand: whether floating point flags matter.

In: graphs.  Out: answers.  What always holds: a doubt is answered so that the code is right, if slower.
"""

from __future__ import annotations

from runtime.ir.graph import Const, Graph
from runtime.ir.walk import all_values, walk_nodes
from runtime.types import ArrayType, NumberType, ObjectType, TupleType, Type, WeakType

_TAME = (range, enumerate, zip, slice)


def watches(graph: Graph) -> bool:
    """Whether NumPy floats may occur, whose operations can warn, or divisions of whole arrays of integers."""
    if any(_warns(v.type) for v in all_values(graph)):
        return True
    for node in walk_nodes(graph):
        if any(isinstance(x, Const) and _warns(x.type) for x in node.inputs):
            return True
        divides = node.op.startswith("np.") or node.op.lstrip("i") in ("floordiv", "mod", "truediv", "pow")
        if divides and any(isinstance(v.type, ArrayType) and not v.type.scalar for v in node.outputs):
            return True
    return False


def _warns(t: Type) -> bool:
    if isinstance(t, TupleType):
        return any(map(_warns, t.items))
    if isinstance(t, NumberType):
        return any(map(_warns, t.kinds))
    if isinstance(t, ObjectType):
        return t.cls not in _TAME
    if isinstance(t, ArrayType):
        return t.dtype.kind == "f"
    value = getattr(t, "value", None)
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return not isinstance(t, WeakType) and (kind == "f" or isinstance(value, type))
