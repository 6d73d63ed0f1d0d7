"""What lowering asks of a graph beforehand: whether floating point flags matter.

In: graphs.  Out: answers.  What always holds: a doubt is answered so that the code is right, if slower.
"""

from __future__ import annotations

from runtime.ir.graph import Const, Graph
from runtime.ir.walk import all_values, walk_nodes
from runtime.types import ArrayType, NumberType, ObjectType, TupleType, Type, WeakType

_TAME = (range, enumerate, zip, slice)


def watches(graph: Graph) -> bool:
    """Whether NumPy floats may occur, whose operations can warn."""
    return any(_warns(v.type) for v in all_values(graph)) or any(
        isinstance(x, Const) and _warns(x.type) for n in walk_nodes(graph) for x in n.inputs
    )


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
