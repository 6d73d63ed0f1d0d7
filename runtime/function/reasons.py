"""Why the Python function itself does the calls of a trace, in words.

In: an optimised graph without arrays.  Out: `no_gain`, a text.  What always holds: it speaks of what the user
can see: the container from outside whose items are computed with, the line, and what to do where that helps.
"""

from __future__ import annotations

import collections
import os.path
from collections.abc import Iterator

from runtime.dataclass import dataclass
from runtime.errors import Span
from runtime.ir.calls import expanded
from runtime.ir.graph import Const, Graph, Node, Value
from runtime.passes.facts import IN_PLACE, OPERATORS
from runtime.types import OBJECT, ObjectType

NO_GAIN = "Python objects and texts only: nothing here could be faster than Python itself"
AT_EACH_STEP = "it works on Python objects at every step, and is not native"
RAISES = "it always raises: nothing here could be faster than Python itself"
_CONTAINERS = (list, dict, tuple, set, frozenset, collections.deque)
_READS = frozenset({"getitem", "py.getattr", "py.unpack", "py.expect", "py.call"})
_LOOPS = ("for", "while")


@dataclass(frozen=True)
class _Held:
    """A container from outside, or what was read from it; items: by nothing but its items and theirs."""

    container: Value
    items: bool = True


def no_gain(graph: Graph, not_native: str) -> str:
    """Why a plan without arrays is no quicker than the function.  not_native: why it is not machine code."""
    if graph.diverges:
        return RAISES
    whole = expanded(graph)
    found = next(_computed(whole, {p: _Held(p) for p in whole.params if _is_container(p)}, False), None)
    if found is None:
        return f"{AT_EACH_STEP}: {not_native}" if not_native and _calculates(whole, False) else NO_GAIN
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
    for out in node.outputs:
        if held and not (attribute and out.type != OBJECT):
            method = attribute and isinstance(node.inputs[0], Value) and _is_container(node.inputs[0])
            yield out, _Held(held[0].container, held[0].items and (method or not attribute))
        elif attribute and _is_container(out) and isinstance(node.inputs[1], Const):
            yield out, _Held(out)
