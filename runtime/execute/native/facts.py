"""What lowering asks of a graph beforehand: whether flags matter, and which arrays need not be stored.

In: graphs.  Out: answers.  What always holds: a doubt is answered so that the code is right, if slower.
"""

from __future__ import annotations

from runtime.execute.native.calls import MAKERS
from runtime.execute.native.scalars import UFUNCS
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.walk import all_values, used_operands, walk_nodes
from runtime.types import ArrayType, NumberType, ObjectType, TupleType, Type, WeakType

IN_PLACE = {f"i{op.rstrip('_')}": op for op in UFUNCS}
UNARY = ("neg", "pos", "invert", "abs")
_QUIET = ("getitem", "py.tuple", "py.slice", "py.getattr")  # they write no memory
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


def may_wait(graph: Graph) -> set[Value]:
    """Values that need not be stored: used once, by an operator, and nothing in between writes memory."""
    found: set[Value] = set()
    counted: dict[Operand, int] = {}
    for x in used_operands(graph):
        counted[x] = counted.get(x, 0) + 1
    for k, node in enumerate(graph.nodes):
        if len(node.outputs) != 1 or not _composable(node):
            continue
        (value,) = node.outputs
        for other in graph.nodes[k + 1 :]:
            if value in other.inputs:
                last = other.op == "setitem" and other.inputs[2] is value and other.inputs[0] is not value
                in_place = other.op in IN_PLACE and other.inputs[1] is value and other.inputs[0] is not value
                if counted[value] == 1 and (last or in_place or _composable(other)):
                    found.add(value)
                break
            if not (_composable(other) or other.op in _QUIET):
                break
    return found


def _composable(node: Node) -> bool:
    return node.op in UFUNCS or node.op in UNARY or node.op.startswith("np.") and node.op[3:] not in MAKERS
