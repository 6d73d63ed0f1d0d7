"""Which traces are best run by the Python function itself.

In: an optimised graph and the guards of a trace.  Out: `nothing_to_gain`.  What always holds: where whole
arrays are computed with, or numbers alone, or tracing has done work that calls need not do again, the trace
is run; so it is where arrays are at work in any other way, but for `try` and what is left to Python.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

from runtime.ir.calls import all_nodes
from runtime.ir.graph import Graph, Node
from runtime.passes.facts import IN_PLACE, OPERATORS
from runtime.trace.record import Guard
from runtime.types import ArrayType, ObjectType, StaticType, TupleType, Type
from runtime.variable import Variable

_LOOPS = ("for", "while")
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>")
_ARRAYS = frozenset({"numpy", "scipy", "cupy"})


def nothing_to_gain(graph: Graph, guards: Sequence[Guard]) -> bool:
    """Whether a graph only has Python do what the function has it do: one op after the other, on objects.

    A plan of such ops is the same work again, after a look at all that the trace relies on.
    """
    nodes = list(all_nodes(graph))
    objects = any(isinstance(x.type, ObjectType) for node in nodes for x in (*node.inputs, *node.outputs))
    if not objects or has_arrays(graph) and not (any(map(_by_python, nodes)) and not any(map(_wide, nodes))):
        return False
    codes = [code for guard in guards for code in _codes(guard)]
    loops = [node for node in nodes if node.op in _LOOPS]
    if loops:
        return not (any(code.co_name in _COMPREHENSIONS for code in codes) and all(map(_only_fills, loops)))
    looked_at = len(guards) - 1  # all but the code of the function
    unrolled = any(map(_loops, codes)) and not any(node.op == "py.function" for node in nodes)
    return not unrolled or looked_at > len(nodes)


def _by_python(node: Node) -> bool:
    """Whether a node is a `try`, or makes a function: what is not converted runs in one."""
    return node.op in ("try", "py.function")


def _wide(node: Node) -> bool:
    """Whether a node may compute with whole arrays: it is one of NumPy's functions, or an operator."""
    if node.op.startswith("np."):
        return True
    arrays = any(isinstance(x.type, ArrayType) and not x.type.scalar for x in (*node.inputs, *node.outputs))
    return arrays and node.op in OPERATORS | IN_PLACE


def has_arrays(graph: Graph) -> bool:
    """Whether arrays, or anything of a library for them, may be at work in a graph."""
    nodes = list(all_nodes(graph))
    operands = [*graph.params, *graph.results, *(x for node in nodes for x in (*node.inputs, *node.outputs))]
    return any(_of_arrays(x.type) for x in operands) or any(node.op.startswith("np.") for node in nodes)


def _of_arrays(t: Type) -> bool:
    """Whether a type says that arrays, or anything of a library for them, may be at work."""
    if isinstance(t, TupleType):
        return any(map(_of_arrays, t.items))
    if isinstance(t, ObjectType):
        return t.cls is not None and (issubclass(t.cls, Variable) or _of_library(t.cls))
    if isinstance(t, StaticType):
        return _of_library(t.value) or _of_library(type(t.value))
    return isinstance(t, ArrayType)


def _of_library(x: Any) -> bool:
    name = getattr(x, "__name__" if isinstance(x, types.ModuleType) else "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in _ARRAYS


def _codes(guard: Guard) -> Iterator[types.CodeType]:
    """The code that a guard makes sure of: that of the function or of one it calls, and all code inside."""
    code = guard.expect.value if isinstance(guard.expect, StaticType) else None
    todo = [code] if isinstance(code, types.CodeType) else []
    while todo:
        code = todo.pop()
        yield code
        todo += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]


def _loops(code: types.CodeType) -> bool:
    """Whether there is a way back in a code."""
    jumps = {*dis.hasjrel, *dis.hasjabs}
    return any(i.opcode in jumps and i.argval <= i.offset for i in dis.get_instructions(code))


def _only_fills(loop: Node) -> bool:
    """Whether a loop calls nothing but what puts an item into the result.

    Before Python 3.12 a comprehension was a function of its own, which takes longer to call than such a loop.
    """
    calls = sum(node.op == "py.call" for body in loop.regions for node in body.nodes)
    return sys.version_info < (3, 12) and calls <= 1
