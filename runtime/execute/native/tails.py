"""What a function does last with arrays that are there: views of them, and containers around them.

In: a graph.  Out: the graph of all before that, which can be native as a whole, and the nodes of the end,
which stay Python's and NumPy's, so views, their bases and their flags are NumPy's own.  What always holds:
the nodes of the end may come after all others: nothing that they read is written, and no error comes earlier
or later than it did.
"""

from __future__ import annotations

from runtime.execute.native.facts import is_look
from runtime.execute.native.segments import alone
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE
from runtime.ops.table import OPS
from runtime.passes.unread import makes_instance
from runtime.types import TupleType

CONTAINERS = ("py.tuple", "py.list", "py.dict")


def divided(graph: Graph) -> tuple[Graph, tuple[Value, ...], tuple[Value, ...], tuple[Node, ...]] | None:
    """The graph of the beginning, the values that it takes and gives, and the nodes of the end; None where
    there is no such end."""
    users: dict[Value, int] = {}
    for node in graph.nodes:
        for x in _values(node):
            users[x] = users.get(x, 0) + 1
    begin: list[Node] = []
    end: list[Node] = []
    pure = True
    for node in reversed(graph.nodes):
        last = all(not users.get(out) for out in node.outputs)
        if last and _looks(node) and (not begin or (pure and _never_fails(node))):
            end.append(node)
            for x in _values(node):
                users[x] -= 1
        else:
            begin.append(node)
            pure = pure and effect_of(node, OPS) == PURE
    if not begin or all(node.op == "py.tuple" for node in end):
        return None
    begin.reverse()
    end.reverse()
    made = {out for node in begin for out in node.outputs}
    read = dict.fromkeys(x for node in end for x in _values(node))
    read.update(dict.fromkeys(x for x in graph.results if isinstance(x, Value)))
    given = tuple(x for x in read if x in made)
    if not given:
        return None
    used = {x for node in begin for x in _values(node)}
    taken = tuple(x for x in graph.params if x in used)
    return alone(f"{graph.name}_begin", taken, begin, given), taken, given, tuple(end)


def called(native: object, inner: Graph, taken: tuple[Value, ...], given: tuple[Value, ...]) -> list[Node]:
    """The nodes that call the beginning."""
    span = inner.nodes[-1].span
    call: tuple[Operand, ...] = (Const(native, inner.name), *taken)
    if len(given) == 1:
        return [Node("py.call", call, given, span=span)]
    whole = Value(TupleType(tuple(v.type for v in given)))
    reads = [Node("getitem", (whole, Const(k)), (v,), span=span) for k, v in enumerate(given)]
    return [Node("py.call", call, (whole,), span=span), *reads]


def _values(node: Node) -> list[Value]:
    return [x for x in node.inputs if isinstance(x, Value)]


def _looks(node: Node) -> bool:
    """Whether a node only looks at an array in another way, or puts values into a new container."""
    if node.op in CONTAINERS or makes_instance(node):
        return True
    return is_look(node)


def _never_fails(node: Node) -> bool:
    """Whether it can't raise, so that nobody can tell when it was done."""
    if node.op == "getitem":
        key = node.inputs[1].value if isinstance(node.inputs[1], Const) else 0
        return all(p is None or type(p) is slice for p in (key if type(key) is tuple else (key,)))
    return node.op in ("py.tuple", "py.getattr")
