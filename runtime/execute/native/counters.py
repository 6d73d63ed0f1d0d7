"""A `while` of which it is known how many trips it makes: its trips need not be counted to the next pause.

In: loops whose test compares a number that grows by the same amount in each trip.  Out: a `for`, where it
counts by one; else the loop in stretches, which pause between them and not in their trips.  And which loops
end after few trips, since they go through the bits or digits of a number.  What always holds: no number that
the loop counts to leaves 64 bits unseen; between two pauses there are at most as many trips as between those
of other loops.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from runtime.dataclass import dataclass
from runtime.execute.native import narrowing, pauses
from runtime.execute.native.emit import Block, Emitter
from runtime.execute.native.integers import checked
from runtime.execute.native.kinds import PYTHON_INT
from runtime.execute.native.state import State
from runtime.execute.native.values import Num, Rng, Val, one, span_of
from runtime.ir.graph import Const, Graph, Node, Operand
from runtime.types import WeakType

FAR = 1 << 40  # steps that are larger are taken to be so large
T = TypeVar("T")


@dataclass(frozen=True)
class Counting:
    """k: which of the carries counts.  op: the test.  bound, step: to where, and by how much.  alike: where
    the step is one, the same loop as a `for` over a range, which is its first input."""

    k: int
    op: str
    bound: Operand
    step: Operand
    alike: Node | None


class Lowering(Protocol):
    """What is needed of the lowering of a whole graph."""

    e: Emitter
    state: State

    def region(self, graph: Graph, args: Sequence[Val]) -> list[Val] | None:
        """Lower a region."""

    def holds(self, x: Val | None) -> str:
        """Whether a condition is true."""

    def for_loop(self, node: Node, args: list[Val]) -> list[Val]:
        """A loop over a range."""

    def loop(
        self, node: Node | None, first: list[Val], trip: Callable[[list[Val], Block, Block], list[Val] | None]
    ) -> list[Val]:
        """A loop whose every trip turns the carry into the next one."""

    def rest(self, condition: str, begin: str = "") -> None:
        """Let other threads run and signals be handled where the condition holds."""


_COUNTING: weakref.WeakKeyDictionary[Node, Counting | None] = (
    weakref.WeakKeyDictionary()
)  # keeps no graph alive


def counting(node: Node) -> Counting | None:
    """How a `while` counts, if it does."""
    if node not in _COUNTING:
        _COUNTING[node] = _counting(node)
    return _COUNTING[node]


def _counting(node: Node) -> Counting | None:
    test, body = node.regions
    count = node.attr("carries")
    if len(test.nodes) != 1 or test.results != test.nodes[0].outputs or body.diverges:
        return None
    asked = test.nodes[0]
    if asked.op not in ("lt", "le", "gt", "ge"):
        return None
    counter, bound = asked.inputs
    if counter not in test.params[:count] or bound in test.params[:count] or not _whole(counter):
        return None
    k = test.params.index(counter)
    step = _step(body, k, count)
    if step is None:
        return None
    alike = None
    if getattr(step, "value", None) == 1 and asked.op in ("lt", "le"):
        params = (body.params[k], *_without(body.params, k))
        made = Graph(body.name, params, body.nodes, _without(body.results, k), body.diverges)
        inputs = (bound if isinstance(bound, Const) else node.inputs[k], *_without(node.inputs, k))
        attrs = tuple((name, count - 1 if name == "carries" else x) for name, x in node.attrs)
        alike = Node("for", inputs, _without(node.outputs, k), (), attrs, (made,), node.span)
    return Counting(k, asked.op, bound, step, alike)


def _step(body: Graph, k: int, count: int) -> Operand | None:
    """What each trip adds to carry `k`, the same in all of them."""
    made = next((n for n in body.nodes if n.outputs == (body.results[k],)), None)
    if made is None or made.op not in ("add", "sub") or made.keywords or made.inputs[0] is not body.params[k]:
        return None
    step = made.inputs[1]
    if isinstance(step, Const):
        if type(step.value) is not int or not step.value:
            return None
        return step if made.op == "add" else Const(-step.value)
    return step if made.op == "add" and _whole(step) and step in body.params[count:] else None


def _whole(x: Operand) -> bool:
    return isinstance(x.type, WeakType) and x.type.kind == "int"


def _without(items: tuple[T, ...], k: int) -> tuple[T, ...]:
    return (*items[:k], *items[k + 1 :])


def brief(node: Node, carry: Sequence[Val]) -> bool:
    """Whether a `while` makes at most a few trips for each bit of a number: it goes on as long as the number
    is above zero, and each trip halves it, takes one of its bits, or makes it the rest of a division."""
    test, body = node.regions
    if len(test.results) != 1 or body.diverges:
        return False
    asked, x = (test.nodes[0] if len(test.nodes) == 1 else None), test.results[0]
    if asked is not None:
        if asked.op not in ("gt", "ne") or asked.outputs != test.results or not _zero(asked.inputs[1]):
            return False
        x = asked.inputs[0]
    if x not in test.params[: node.attr("carries")] or not _whole(x) or len(test.nodes) > 1:
        return False
    k = test.params.index(x)
    known = carry[k]
    above = isinstance(known, Num) and known.members == (PYTHON_INT,) and span_of(known)[0] >= 0
    made = {n.outputs[0]: n for n in body.nodes if len(n.outputs) == 1 and not n.regions}
    step, now = made.get(body.results[k]), body.params[k]  # type: ignore[arg-type]
    if step is None or step.keywords or len(step.inputs) != 2:
        return False
    first, second = step.inputs
    if step.op == "mod":  # Euclid's: two trips halve it
        old = body.params.index(first) if first in body.params[: node.attr("carries")] else k
        return second is now and old != k and body.results[old] is now
    if first is not now or not (above or (asked is not None and asked.op == "gt")):
        return False
    by = second.value if isinstance(second, Const) and type(second.value) is int else 0
    if step.op == "and_":
        less = made.get(second)  # type: ignore[arg-type]
        return less is not None and less.op == "sub" and less.inputs[0] is now and _one(less.inputs[1])
    return (step.op == "rshift" and by >= 1) or (step.op == "floordiv" and by >= 2)


def _zero(x: Operand) -> bool:
    return isinstance(x, Const) and type(x.value) is int and x.value == 0


def _one(x: Operand) -> bool:
    return isinstance(x, Const) and type(x.value) is int and x.value == 1


def counted(low: Lowering, node: Node, args: Sequence[Val]) -> list[Val] | None:
    """Such a loop; None where it is another one."""
    how = counting(node)
    if how is None:
        return None
    found = how.bound, how.step
    test, body = node.regions
    first, bound, step = (
        args[how.k],
        *(
            one(PYTHON_INT, str(x.value), x.value) if isinstance(x, Const) else args[region.params.index(x)]
            for x, region in zip(found, (test, body), strict=True)
        ),
    )
    if not all(isinstance(x, Num) and x.members == (PYTHON_INT,) for x in (first, bound, step)):
        return None
    assert isinstance(first, Num) and isinstance(bound, Num) and isinstance(step, Num)
    least, most = span_of(step)
    if least <= 0 if how.op in ("lt", "le") else most >= 0:
        return None
    if how.op in ("le", "ge"):
        bound = checked(low.e, "add" if how.op == "le" else "sub", bound, one(PYTHON_INT, "1", 1))
    if how.alike is not None:
        return _as_range(low, how, first, bound, args)
    return _in_stretches(low, node, how, bound, step, args)


def _as_range(low: Lowering, how: Counting, first: Num, stop: Num, args: Sequence[Val]) -> list[Val]:
    """The loop as a `for`; what counts ends where the range does."""
    e, k = low.e, how.k
    least, most = span_of(first)[0], span_of(stop)[1]
    end = e.call("i64", "llvm.smax.i64", ("i64", first.text), ("i64", stop.text))
    over = Rng(first.text, stop.text, "1", 1, (least, max(least, most - 1)))
    assert how.alike is not None
    found = low.for_loop(how.alike, [over, *args[:k], *args[k + 1 :]])
    return [*found[:k], one(PYTHON_INT, end, span=(least, max(least, most))), *found[k:]]


def _in_stretches(
    low: Lowering, node: Node, how: Counting, bound: Num, step: Num, args: Sequence[Val]
) -> list[Val]:  # fmt: skip
    """The loop, so many trips at a time."""
    e, k, count = low.e, how.k, node.attr("carries")
    test, body = node.regions
    order = "slt" if how.op in ("lt", "le") else "sgt"
    size = step.text if order == "slt" else e.op(f"sub i64 0, {step.text}")
    if max(map(abs, span_of(step))) > FAR:
        size = e.call("i64", "llvm.umin.i64", ("i64", size), ("i64", str(FAR)))
    reach, end = e.op(f"shl i64 {size}, {pauses.spacing(node)}"), bound.text

    def trip(carry: list[Val], head: Block, out: Block) -> list[Val] | None:
        inside, counter = e.block("body"), carry[k]
        assert isinstance(counter, Num)
        asked = low.region(test, [*carry, *args[count:]])
        more = low.holds(asked[0] if asked else None)
        e.branch(e.effect(f"icmp {order} i64 {counter.text}, {end}"), inside, out)
        e.start(inside)
        return low.region(body, narrowing.narrowed(e, more, True, [*carry, *args[count:]]))

    def stretch(carry: list[Val], head: Block, out: Block) -> list[Val] | None:
        nonlocal end
        inside, counter = e.block("stretch"), carry[k]
        assert isinstance(counter, Num)
        e.branch(e.effect(f"icmp {order} i64 {counter.text}, {bound.text}"), inside, out)
        e.start(inside)
        ends = [counter.text, bound.text]
        left = e.op(f"sub i64 {ends[order == 'slt']}, {ends[order == 'sgt']}")
        left = e.call("i64", "llvm.umin.i64", ("i64", left), ("i64", reach))
        end = e.op(f"{'add' if order == 'slt' else 'sub'} i64 {counter.text}, {left}")
        after = low.loop(node, carry, trip)
        low.rest(e.op(f"icmp ne i64 {end}, {bound.text}"))
        return after

    return low.loop(None, list(args[:count]), stretch)
