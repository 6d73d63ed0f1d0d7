"""Common subexpressions: what was computed and can't have changed is not computed again.

In: a graph.  Out: the same without nodes that repeat an earlier one of their region.  What always holds:
nothing that the node looks at is written in between; two arrays become one only where nobody writes to
either, asks whether they are the same, or gets both.  What one line says twice warns once, as
Python's default filter shows it; what could warn is repeated on other lines and in other trips of a loop.
"""

from __future__ import annotations

from collections.abc import Mapping

from runtime.errors import Span
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE, OpDef
from runtime.passes.aliases import Aliases
from runtime.passes.facts import OPERATORS, gives_view, makes_new, mutable, never_warns, sees_contents_only
from runtime.passes.rewrite import constant_key, exchanged, users, with_nodes
from runtime.types import ArrayType, ObjectType, WeakType

_REPEATABLE = OPERATORS | {"getitem", "py.getattr", "py.tuple", "py.slice", "py.not", "py.truth", "np.where"}
_DIFFERENT_EACH_TIME = frozenset({"np.empty", "np.empty_like"})


def share(graph: Graph, table: Mapping[str, OpDef], aliases: Aliases) -> Graph:
    """The graph with repeated nodes dropped; `aliases` are those of the whole that it is part of."""
    swap: dict[Value, Operand] = {}
    nodes: list[Node] = []
    seen: dict[object, tuple[int, Node]] = {}
    changed: dict[Value, int] = {}  # the last node that may have written to a class
    for index, old in enumerate(graph.nodes):
        node = exchanged(old, swap)
        key = _key(node, table)
        if key is not None:
            before = seen.get(key)
            view = gives_view(node)
            reads = () if view else aliases.reads(old)
            if before is not None and all(changed.get(one, -1) < before[0] for one in reads):
                between = graph.nodes[before[0] + 1 : index]
                if view and any(aliases.reshapes(n, old.inputs[0]) for n in between):
                    seen[key] = index, node
                    nodes.append(node)
                    continue
                if _mergeable(graph, before[1], old, node, table, aliases):
                    swap.update(zip(old.outputs, before[1].outputs, strict=True))
                    continue
            seen[key] = index, node
        nodes.append(node)
        changed.update((one, index) for one in aliases.clobbers(old))
    return with_nodes(graph, nodes, swap) if swap else graph


def _key(node: Node, table: Mapping[str, OpDef]) -> object | None:
    """Equal for nodes that compute the same; None for nodes that are not to be shared."""
    if node.regions or len(node.outputs) != 1 or "out" in node.keywords or node.op in _DIFFERENT_EACH_TIME:
        return None
    if not (node.op in _REPEATABLE or makes_new(node, table)) or effect_of(node, table) != PURE:
        return None
    operands = tuple(x if isinstance(x, Value) else ("c", constant_key(x.value)) for x in node.inputs)
    attrs = tuple((name, constant_key(value)) for name, value in node.attrs)
    return node.op, operands, node.keywords, attrs, _type_key(node)


def _type_key(node: Node) -> object:
    t = node.outputs[0].type
    return t if isinstance(t, ArrayType) else (type(t), str(t))


def _mergeable(
    graph: Graph, first: Node, old: Node, node: Node, table: Mapping[str, OpDef], aliases: Aliases
) -> bool:
    """Whether nobody can tell the two results apart."""
    (one,), (two,) = first.outputs, old.outputs
    if one.type != two.type:
        return False
    if not never_warns(node) and not _one_line(first.span, node.span):
        return False
    if not mutable(two.type):
        return not any(user.op == "py.is" for v in (one, two) for user, _ in users(graph, v))
    if not isinstance(two.type, ArrayType):
        return node.op == "getitem" and _picks_one(node)
    if gives_view(node):
        return all(looked_into(graph, v, table) for v in (one, two))
    if not makes_new(node, table):
        return False
    return all(aliases.private(v) and aliases.constant(v) for v in (one, two))


def _picks_one(node: Node) -> bool:
    """Whether an item is the very object that is in there, and not a new container with some of them."""
    holder, key = node.inputs
    if isinstance(holder.type, ObjectType) and holder.type.cls is dict:
        return True
    if isinstance(key, Const):
        return type(key.value) in (int, bool, str)
    return isinstance(key.type, WeakType) or (isinstance(key.type, ArrayType) and key.type.scalar)


def _one_line(first: Span | None, second: Span | None) -> bool:
    """Whether one line says both (its callers too), so that Python's default filter shows one warning.

    The very same place is done once more on purpose, in another trip, and warns in each.
    """
    return _lines(first) == _lines(second) != () and first != second


def _lines(span: Span | None) -> tuple[tuple[str, int], ...]:
    """File and line of the place and of all its callers."""
    return () if span is None else ((span.file, span.line), *_lines(span.caller))


def looked_into(graph: Graph, value: Value, table: Mapping[str, OpDef]) -> bool:
    """Whether the array is only read and written through: nobody sees which object it is."""
    if value in graph.results:
        return False
    for node, k in users(graph, value):
        if (
            k == 0
            and node.op[:1] == "i"
            and table[node.op].source is not None
            and "= {1}" in str(table[node.op].source)
        ):
            if node.outputs and not looked_into(graph, node.outputs[0], table):
                return False
        elif node.regions or not sees_contents_only(node, k, table):
            return False
    return True
