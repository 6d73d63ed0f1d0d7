"""Loops that threads may share although they add up: whole numbers of Python's, which are exact in any order.

In: a loop.  Out: whether all that it carries is only added to; and code that puts together what threads have
added up.  What always holds: nothing else can see a sum before the loop ends; what does not fit into 64 bits
in the end leaves to the plan, and so does what does not fit on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.execute.native.emit import Emitter
from runtime.execute.native.integers import checked
from runtime.execute.native.kinds import PYTHON_INT
from runtime.execute.native.values import Num, Val, one, with_sign
from runtime.ir.graph import Graph, Node, Operand
from runtime.types import WeakType

NODE = 0.3  # nanoseconds of a node
INNER = 16  # trips of a loop inside
_LOW = (1 << 32) - 1
Tags = dict[Operand, int]  # of which sum a value is an earlier or later state


class _Seen(Exception):
    """Something else is done with a sum."""


def cost(graph: Graph) -> float:
    """About how many nanoseconds a trip takes."""
    return NODE * len(graph.nodes) + sum(cost(r) * _trips(n) for n in graph.nodes for r in n.regions)


def _trips(node: Node) -> int:
    """How often a region is run, as far as it is known."""
    over = getattr(node.inputs[0], "value", None) if node.op == "for" else None
    if isinstance(over, range):
        return len(over)
    return INNER if node.op in ("for", "while") else 1


def summing(node: Node) -> bool:
    """Whether a loop does nothing but add up, in trips that are worth being shared."""
    return cost(node.regions[0]) >= NODE * INNER and fits(node)


def fits(node: Node) -> bool:
    """Whether every carry of a `for` is a sum, to which each trip adds what does not depend on sums."""
    count = node.attr("carries")
    body = node.regions[0]
    sums = body.params[1 : 1 + count]
    if node.attr("tested", False) or not all(map(_whole, sums)):
        return False
    tags: Tags = {x: k for k, x in enumerate(sums)}
    try:
        return _results(body, tags) == list(range(count))
    except _Seen:
        return False


def _whole(x: Operand) -> bool:
    return isinstance(x.type, WeakType) and x.type.kind == "int"


def _results(graph: Graph, tags: Tags) -> list[int]:
    """Of which sum each result is a state, -1 for none."""
    for node in graph.nodes:
        _node(node, tags)
    return [tags.get(x, -1) for x in graph.results]


def _node(node: Node, tags: Tags) -> None:
    """Follow sums through a node."""
    found = [tags.get(x, -1) for x in node.inputs]
    if not node.regions:
        summed = [k for k in found if k >= 0]
        if summed:
            added = node.op == "add" or (node.op == "sub" and found[0] >= 0)
            if not added or node.keywords or len(summed) > 1 or not _whole(node.outputs[0]):
                raise _Seen
            tags[node.outputs[0]] = summed[0]
        return
    before = {"while": 0, "for": 1, "cond": 1}.get(node.op)
    if before is None or any(k >= 0 for k in found[:before]):
        raise _Seen
    carried = node.attr("carries") if node.op != "cond" else 0
    ways = []
    for region in node.regions:
        inner = found[before:]
        params = region.params[len(region.params) - len(inner) :]
        tags |= {x: k for x, k in zip(params, inner, strict=True) if k >= 0}
        ways.append(_results(region, tags))
    if node.op == "cond":
        ways = [way for way, region in zip(ways, node.regions, strict=True) if not region.diverges]
    else:
        body = ways.pop(1 if node.op == "while" else 0)
        if any(k >= 0 for way in ways for k in way):
            raise _Seen
        ways = [body, found[before : before + carried]]
    if any(way != ways[0] for way in ways):
        raise _Seen
    tags |= {x: k for x, k in zip(node.outputs, ways[0] if ways else (), strict=False) if k >= 0}


# ---------------------------------------------------------------------------------------------- the sums
def room(e: Emitter, count: int) -> str:
    """The address of so many sums: of the upper halves of numbers, and of the lower ones."""
    slot = e.slot(f"[{2 * count} x i64]")
    at = e.effect(f"getelementptr i8, ptr {slot}, i64 0")
    for k in range(2 * count):
        e.line(f"store i64 0, ptr {_half(e, at, k)}")
    return at


def add(e: Emitter, at: str, sums: Sequence[Val]) -> None:
    """Add what one thread has added up."""
    for k, x in enumerate(sums):
        assert isinstance(x, Num)
        x = with_sign(e, x)
        for j, part in enumerate((f"ashr i64 {x.text}, 32", f"and i64 {x.text}, {_LOW}")):
            e.effect(f"atomicrmw add ptr {_half(e, at, 2 * k + j)}, i64 {e.op(part)} monotonic")


def totals(e: Emitter, at: str, before: Sequence[Val]) -> list[Val]:
    """The sums, with what was there before."""
    found: list[Val] = []
    for k, x in enumerate(before):
        high, low = (e.effect(f"load i64, ptr {_half(e, at, 2 * k + j)}") for j in (0, 1))
        high = e.op(f"add i64 {high}, {e.op(f'lshr i64 {low}, 32')}")
        upper = e.op(f"shl i64 {high}, 32")
        e.bail_if(e.op(f"icmp ne i64 {e.op(f'ashr i64 {upper}, 32')}, {high}"))
        text = e.op(f"or i64 {upper}, {e.op(f'and i64 {low}, {_LOW}')}")
        assert isinstance(x, Num)
        found.append(checked(e, "add", x, one(PYTHON_INT, text)))
    return found


def _half(e: Emitter, at: str, k: int) -> str:
    return e.effect(f"getelementptr i64, ptr {at}, i64 {k}")
