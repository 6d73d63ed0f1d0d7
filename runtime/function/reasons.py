"""Why the Python function itself does the calls of a trace, in words.

In: an optimised graph without arrays.  Out: `no_gain`, a text.  What always holds: it speaks of what the user
can see: the container from outside whose items are computed with, the line, and what to do where that helps.
"""

from __future__ import annotations

import collections
import math
import os.path
from collections.abc import Iterator
from typing import Any

from runtime.dataclass import dataclass
from runtime.errors import Span
from runtime.ir.calls import all_nodes, expanded
from runtime.ir.graph import Const, Graph, Node, Value
from runtime.ops.words import said
from runtime.passes.facts import IN_PLACE, OPERATORS
from runtime.types import OBJECT, ObjectType

NO_GAIN = "Python objects and texts only: nothing here could be faster than Python itself"
LEFT = "most of it is left to Python, which the lines below tell"
AT_EACH_STEP = "it works on Python objects at every step, and is not native"
RAISES = "it always raises: nothing here could be faster than Python itself"
_CONTAINERS = (list, dict, tuple, set, frozenset, collections.deque)
_READS = frozenset({"getitem", "py.getattr", "py.unpack", "py.expect", "py.call"})
_LOOPS = ("for", "while")
_SUMS = (sum, min, max, math.fsum, math.prod)
_ITERATORS = (enumerate, zip, reversed, iter)


@dataclass(frozen=True)
class _Held:
    """A container from outside, or what was read from it; items: by nothing but its items and theirs."""

    container: Value
    items: bool = True


def no_gain(graph: Graph, not_native: str, left: bool) -> str:
    """Why a plan without arrays is no quicker than the function.

    not_native: why it is not machine code.  left: whether notes say of something that it is Python's."""
    if graph.diverges:
        return RAISES
    whole = expanded(graph)
    found = next(_computed(whole, {p: _Held(p) for p in whole.params if _is_container(p)}, False), None)
    if found is None:
        if not_native and _calculates(whole, False):
            return f"{AT_EACH_STEP}: {not_native}"
        return LEFT if left else NO_GAIN
    held, span, in_loop = found
    cls, name = _class(held.container), held.container.name
    assert cls is not None
    where = f" ({os.path.basename(span.file)}:{span.line})" if span else ""
    what = f"it computes with what the {cls.__name__} {name!r} holds, which may be of any types{where}"
    numbers = in_loop and held.items and cls is list
    return f"{what}; if these are numbers, a loop over np.array({name}) is native" if numbers else what


def _calculates(graph: Graph, in_loop: bool) -> bool:
    """Whether there are operators in loops."""
    for node in graph.nodes:
        if in_loop and node.op in OPERATORS | IN_PLACE:
            return True
        if any(_calculates(region, in_loop or node.op in _LOOPS) for region in node.regions):
            return True
    return False


def _target(node: Node) -> Any:
    """What a node calls, where that is known."""
    return node.inputs[0].value if isinstance(node.inputs[0], Const) else None


def _class(x: Value) -> type | None:
    return x.type.cls if isinstance(x.type, ObjectType) else None


def _is_container(x: Value) -> bool:
    return _class(x) in _CONTAINERS


def _computed(
    graph: Graph, known: dict[Value, _Held], in_loop: bool
) -> Iterator[tuple[_Held, Span | None, bool]]:
    """Where an operator computes with what a container from outside holds."""
    for node in graph.nodes:
        held = [x for x in node.inputs if isinstance(x, Value) and x in known]
        if node.op in OPERATORS | IN_PLACE:
            yield from ((known[x], node.span, in_loop) for x in held if x.type == OBJECT)
        elif held and node.op == "py.call" and _target(node) in _SUMS:
            yield known[held[0]], node.span, in_loop
        elif node.op in _READS:
            known.update(_read(node, [known[x] for x in held]))
        for region in node.regions:
            # The last ones belong together; the first is the item of a loop and what it goes through.
            pairs = zip(reversed(region.params), reversed(node.inputs), strict=False)
            inner = {param: known[x] for param, x in pairs if isinstance(x, Value) and x in known}
            yield from _computed(region, inner, in_loop or node.op in _LOOPS)


def _read(node: Node, held: list[_Held]) -> Iterator[tuple[Value, _Held]]:
    """What a node reads out of containers."""
    attribute = node.op == "py.getattr"
    method = attribute and isinstance(node.inputs[0], Value) and _is_container(node.inputs[0])
    direct = method or node.op == "getitem" or (node.op == "py.call" and _target(node) in (*_ITERATORS, None))
    for out in node.outputs:
        if held and not (attribute and out.type != OBJECT):
            yield out, _Held(held[0].container, held[0].items and direct)
        elif attribute and _is_container(out) and isinstance(node.inputs[1], Const):
            yield out, _Held(out)


# ------------------------------------------------------------------------- types that nobody knows before
def unknown_types(graph: Graph) -> str:
    """What gives the first value of unknown type that is computed with; empty where nothing does."""
    nodes = list(all_nodes(graph))
    makers = {out: node for node in nodes for out in node.outputs}
    for node in nodes:
        if node.op in OPERATORS | IN_PLACE or node.op.startswith(("np.", "nd.")):
            for x in node.inputs:
                maker = makers.get(x) if isinstance(x, Value) and x.type == OBJECT else None
                if maker is not None:
                    found = _first(maker, makers)
                    where = f" ({os.path.basename(found.span.file)}:{found.span.line})" if found.span else ""
                    return f"what {_said(found)} gives is of a type that only calls show{where}"
    return ""


def _first(node: Node, makers: dict[Value, Node]) -> Node:
    """What gave a value of which a node reads or calls something."""
    while node.op in ("getitem", "py.unpack", "py.getattr", "py.call") and isinstance(node.inputs[0], Value):
        before = makers.get(node.inputs[0])
        if before is None or node.op == "py.getattr" and node.inputs[0].type != OBJECT:
            break
        node = before
    return node


def _said(node: Node) -> str:
    """A node in words of the source."""
    target = node.inputs[0] if node.op == "py.call" else None
    name = getattr(target.value, "__name__", "") if isinstance(target, Const) else ""
    if node.op == "py.getattr" and isinstance(node.inputs[1], Const):
        name = f"the method or attribute {node.inputs[1].value!r}"
    return name or said(node.op)
