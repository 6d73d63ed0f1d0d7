"""Nodes that have no instructions of their own, as graphs of others that do.

In: a node, and the types of its operands.  Out: a graph with a parameter for each operand that is a value, in
their order; None where nothing is known that says the same.  What always holds: where the graph does not
raise, it gives what the node gives, bit by bit; it raises where the node raises or warns, and may elsewhere.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Sequence
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

from runtime.errors import AutographError
from runtime.execute.native import number_spellings, spellings
from runtime.execute.native.facts import DIAGONALS
from runtime.ir.graph import Const, Graph, Node
from runtime.ir.walk import walk_nodes
from runtime.ops.table import OPS
from runtime.passes.pipeline import optimise
from runtime.trace.api import trace_call
from runtime.trace.record import Argument
from runtime.types import ArrayType, NumberType, ObjectType, StaticType, TupleType, Type, WeakType, describes

TABLE: dict[Hashable, Callable[..., Any]] = {**spellings.SPELLINGS, **number_spellings.SPELLINGS}


def spelled(node: Node, types: Sequence[Type], bare: bool = False) -> Graph | None:
    """The graph.  types: of the operands, `StaticType` for constants.  bare: whether an array without axes
    may as well be a number, and another look at an array a copy."""
    key, skipped = _key(node)
    if len(node.outputs) != 1 or key not in TABLE or not all(map(_plain, types[skipped:])):
        return None
    if node.keywords and not _named(key, node.keywords):
        return None
    given = tuple(
        StaticType(x.value) if isinstance(x, Const) else t for x, t in zip(node.inputs, types, strict=True)
    )
    wanted = node.outputs[0].type
    if key in DIAGONALS and not bare and _matrix(given[0]):
        return None  # it is another look at the matrix
    if bare and isinstance(wanted, ArrayType) and wanted.shape == ():
        wanted = ArrayType(wanted.dtype, (), True)
    try:
        return _spelled(key, given[skipped:], node.keywords, wanted)
    except TypeError:  # a constant that has no hash
        return None


def _key(node: Node) -> tuple[Hashable, int]:
    """Under what a node is looked for in the table, and how many of its inputs say that."""
    if node.op != "py.call" or node.attr("starred"):
        return node.op, 0
    target = node.inputs[0].value if isinstance(node.inputs[0], Const) else None
    return (target if isinstance(target, (BuiltinFunctionType, MethodDescriptorType)) else None), 1


@functools.cache
def _named(key: Hashable, names: tuple[str, ...]) -> bool:
    """Whether what a node calls takes arguments by these names, as far as it tells."""
    target: Any = OPS[key].run if isinstance(key, str) else key
    try:
        inspect.signature(target).bind_partial(**dict.fromkeys(names))
    except (TypeError, ValueError):
        return False
    return True


def _matrix(t: Type) -> bool:
    return not isinstance(t, ArrayType) or t.shape is None or len(t.shape) != 1


def _plain(t: Type) -> bool:
    """Whether it is a type of numbers and arrays on this machine, or a constant."""
    if isinstance(t, ArrayType):
        return t.device == "cpu" and t.shape is not None and (t.scalar or t.shape != ())
    if isinstance(t, TupleType):
        return all(map(_plain, t.items))
    return isinstance(t, (WeakType, StaticType))


@functools.lru_cache(maxsize=512)
def _spelled(op: Hashable, types: tuple[Type, ...], keywords: tuple[str, ...], wanted: Type) -> Graph | None:
    count = len(types) - len(keywords)
    loose = [k for k, t in enumerate(types) if not isinstance(t, StaticType)]

    def run(*values: Any) -> Any:
        given = [getattr(t, "value", None) for t in types]
        for k, x in zip(loose, values, strict=True):
            given[k] = x
        return TABLE[op](*given[:count], **dict(zip(keywords, given[count:], strict=True)))

    arguments = [Argument(f"x{k}", _example(types[k]), types[k]) for k in loose]
    try:
        found = trace_call(
            run, arguments, {}, name=str(getattr(op, "__name__", op)).replace(".", "_"), strict=True
        )
    except AutographError:
        return None
    graph = optimise(found.graph).graph
    known = len(graph.results) == 1 and _agree(graph.results[0].type, wanted)
    same = (op, len(types), keywords)
    again = any(
        (key, len(n.inputs) - skipped, n.keywords) == same
        for n in walk_nodes(graph)
        for key, skipped in [_key(n)]
    )
    return None if found.guards or again or not known else graph


def _example(t: Type) -> Any:
    return tuple(map(_example, t.items)) if isinstance(t, TupleType) else getattr(t, "value", None)


def _agree(found: Type, wanted: Type) -> bool:
    """Whether a result is of the type that the node claims, which may say less."""
    if isinstance(found, ArrayType) and isinstance(wanted, ArrayType):
        sizes = wanted.shape is None or found.shape is None or len(wanted.shape) == len(found.shape)
        return found.dtype == wanted.dtype and found.scalar == wanted.scalar and sizes
    if isinstance(found, StaticType) and describes(wanted, found.value):
        return True
    if isinstance(wanted, NumberType):
        return found in wanted.kinds
    return found == wanted or isinstance(wanted, ObjectType) and wanted.cls is None
