"""A function of one element on many elements at a time: loops and branches under masks.

In: the loop over elements that `vectorize` records.  Out: the same loop, which takes a gang of elements per
trip; or None where something in it has no form on vectors.  What always holds: each element gets the bits
that it alone would get; where a check fails for an element that counts, the whole call is left to the plan.
Lanes beyond the last element do what the last element does, so only branches and loops need masks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Protocol

import numpy as np

from runtime.execute.native import iterables, merge, narrowing, plain_nodes, shares, tallies
from runtime.execute.native.accesses import Scattered, element_at, put_at
from runtime.execute.native.calls import LIBM
from runtime.execute.native.containers import CONTAINERS
from runtime.execute.native.emit import FALSE, TRUE, Block, Emitter
from runtime.execute.native.facts import flags
from runtime.execute.native.gang import Gang
from runtime.execute.native.host import vector_bytes
from runtime.execute.native.kinds import PYTHON_BOOL, PYTHON_INT, Unlowered
from runtime.execute.native.lines import counted
from runtime.execute.native.scalars import stored, truth
from runtime.execute.native.state import State
from runtime.execute.native.two_kinds import choose
from runtime.execute.native.values import (
    Arr,
    Elements,
    Lazy,
    Listed,
    Method,
    Num,
    Rng,
    Tup,
    Val,
    one,
)
from runtime.ir.graph import Const, Graph, Node, Value
from runtime.ir.walk import all_values, used_operands, walk_nodes
from runtime.ops.words import said
from runtime.types import ArrayType, TupleType, Type, WeakType, static_or_weak

OFTEN, SELDOM = 8, 16  # logarithms of trips of the loop over the elements, and of a `while`, between pauses
QUICKER = 4  # times that an element takes less than it would alone
DEAR = 16  # nodes of an arm from which on it is passed over where no lane takes it
SIDE_BY_SIDE = (8, 4), (40, 2)
CALL = 5  # nodes that take as long as a function of the C library
LOOPS = ("while", "for")
ZEROS = {"double": "0.0", "float": "0.0", "i1": FALSE}

Trip = Callable[[list[Val], Block, Block], "list[Val] | None"]


class Lowering(Protocol):
    """What is needed of the lowering of a whole graph."""

    e: Emitter
    state: State
    settled: dict[Node, list[Val]]

    def region(self, graph: Graph, args: Sequence[Val]) -> list[Val] | None:
        """Lower a region."""

    def cond(self, node: Node, args: list[Val]) -> list[Val] | None:
        """A branch that all lanes take the same way."""

    def loop(
        self,
        node: Node,
        first: list[Val],
        trip: Trip,
        ends: bool = False,
        inner: bool = False,
        alike: int = 0,
    ) -> list[Val]:
        """A loop; the first `alike` numbers that it carries are the same in all lanes."""

    def breathe(self, trips: str, often: int) -> None:
        """Let other threads run every so many trips."""


# --------------------------------------------------------------------------------------- the elements
def elements(low: Lowering, node: Node, args: list[Val]) -> list[Val] | None:
    """The loop over the elements, a gang at a time; None where that can't be."""
    e, state = low.e, low.state
    if not isinstance(args[0], Elements) or e.when != TRUE or e.gang is not None:
        return None
    if _mostly_calls(node.regions[0]):
        return None
    mark, watch, outside = e.mark(), e.watch, e.outside
    owned, written, free = state.owned, set(state.written), list(state.free)
    settled = dict(low.settled)
    try:
        return _Elements(low, node, args[0], args[1:]).lower()
    except (Unlowered, Scattered):
        e.gang, e.when, e.watch, e.outside = None, TRUE, watch, outside
        e.lanes, e.along, e.mask, e.last = 1, "", "", ""
        e.rollback(mark)
        state.owned, state.written, state.free = owned, written, free
        return None
    finally:
        low.settled.clear()
        low.settled.update(settled)


def _mostly_calls(body: Graph) -> bool:
    """Whether an element spends its time in functions of the C library, which take one number at a time."""
    nodes = [n for n in walk_nodes(body) if not n.regions]
    called = [n.inputs[0].value for n in nodes if n.op == "py.call" and isinstance(n.inputs[0], Const)]
    slow = sum(any(f is getattr(math, name) for name in LIBM) for f in called)
    return slow * CALL > len(nodes)


class _Elements:
    """One loop over elements.  What it carries are sets of bits, to which each element adds."""

    def __init__(self, low: Lowering, node: Node, source: Elements, rest: list[Val]) -> None:
        self.low, self.e, self.state = low, low.e, low.state
        self.source, self.body = source, node.regions[0]
        count = node.attr("carries")
        self.first, self.captures = rest[:count], rest[count:]
        self.bits: list[str] = []  # where the sets are
        lanes, count = _size(self.body)
        self.gang = Gang(lanes, count, not flags(self.body), vector_bytes())
        self.gang.work = self
        graphs = [self.body, *(r for n in walk_nodes(self.body) for r in n.regions)]
        self.read = {x for graph in graphs for x in used_operands(graph)}
        self.numbers = ""  # the name of the elements' numbers
        self.starts: list[str] = []  # of each vector: the number of its first element
        self.masks: list[str] = []  # and which of its lanes are elements
        self.last = ""  # the number of the last element

    def lower(self) -> list[Val]:
        """Write it; the sets in the end."""
        e, first = self.e, self.source.parts[0]
        if not isinstance(first, Rng) or first.start != "0" or first.step_const != 1:
            raise Unlowered("elements that are not counted from 0")
        count = iterables.count(e, self.source)
        self._check(count)
        self._begin_bits()
        e.flush()
        self.last = e.op(f"sub i64 {count}, 1")
        step = self.gang.lanes * self.gang.count

        def some(start: str, stop: str) -> None:
            with e.unflagged() if self.gang.quiet else nullcontext():
                counted(e, start, stop, step, self._trip)

        each = tallies.cost(self.body) / QUICKER
        shares.share(self.state, "0", count, some, cost=each, grain=step, long=True)
        e.version += 1
        return [one(PYTHON_INT, e.effect(f"load i64, ptr {at}")) for at in self.bits]

    def _begin_bits(self) -> None:
        """Check that each trip only adds to the sets, and find room for them."""
        nodes = {out: node for node in self.body.nodes for out in node.outputs}
        read = list(used_operands(self.body))
        for k, x in enumerate(self.first):
            param, result = self.body.params[1 + k], self.body.results[k]
            made = nodes.get(result) if isinstance(result, Value) else None
            if made is None or made.op != "or_" or made.inputs[0] is not param or not isinstance(x, Num):
                raise Unlowered("an element that depends on the one before")
            if read.count(param) != 1 or read.count(result) != 1 or x.members != (PYTHON_INT,):
                raise Unlowered("an element that depends on the one before")
            self.bits.append(self.e.slot("i64"))
            self.e.line(f"store i64 {x.text}, ptr {self.bits[-1]}")

    def _add_bits(self, found: list[Val]) -> None:
        e, function = self.e, f"llvm.vector.reduce.or.v{self.gang.lanes}i64"
        for at, x in zip(self.bits, found, strict=True):
            assert isinstance(x, Num)
            now = e.effect(f"load i64, ptr {at}")
            if not self.gang.varies(x.text):
                now = e.op(f"or i64 {now}, {x.text}")
            for part in self.gang.parts.get(x.text, ()):
                wide = self.gang.wide("i64")
                e.declare(f"declare i64 @{function}({wide})")
                now = e.op(f"or i64 {now}, {e.op(f'call i64 @{function}({wide} {part})')}")
            e.line(f"store i64 {now}, ptr {at}")

    def _check(self, count: str) -> None:
        """The arrays that are written to have an element for each."""
        for node in self.body.nodes:
            if node.op == "setitem":
                array = self._array(node)
                self.e.bail_if(self.e.op(f"icmp ugt i64 {count}, {array.dims[0]}"))
                if array.strides[0] != str(array.dtype.itemsize):
                    self.e.bail_if(self.e.op(f"icmp ne i64 {array.strides[0]}, {array.dtype.itemsize}"))

    def _array(self, node: Node) -> Arr:
        """The array that an assignment writes to."""
        inputs = dict(zip(self.body.params[1:], (*self.first, *self.captures), strict=True))
        found = inputs.get(node.inputs[0]) if isinstance(node.inputs[0], Value) else None
        if not isinstance(found, Arr) or len(found.dims) != 1:
            raise Unlowered("an assignment to something else than an array of results")
        return found

    def _trip(self, k: str) -> None:
        """A gang of elements."""
        e = self.e
        if any(node.op in LOOPS for node in walk_nodes(self.body)):
            self.low.breathe(k, OFTEN)
        self._places(k)
        item = Tup((self._numbers(), *(self._element(x) for x in self.source.parts[1:])))
        e.gang = self.gang
        none = [one(PYTHON_INT, "0", 0) for _ in self.bits]
        after = self.low.region(self.body, [item, *none, *self.captures])
        if after is None:
            raise Unlowered("a function that raises for every element")
        e.flush()
        self._add_bits(after)
        e.gang = None

    def _places(self, k: str) -> None:
        e, lanes = self.e, self.gang.lanes
        order = "<" + ", ".join(f"i64 {lane}" for lane in range(lanes)) + ">"
        self.starts, self.masks = [], []
        for v in range(self.gang.count):
            start = e.op(f"add i64 {k}, {v * lanes}")
            with self._vector():
                left = e.splat("i64", e.op(f"sub i64 {self.last}, {start}"))
                self.masks.append(e.op(f"icmp sle <{lanes} x i64> {order}, {left}"))
            self.starts.append(start)

    @contextmanager
    def _vector(self) -> Iterator[None]:
        """Instructions that are written on vectors as they stand."""
        e = self.e
        gang, e.gang, e.lanes = e.gang, None, self.gang.lanes
        yield
        e.gang, e.lanes, e.along, e.mask, e.last = gang, 1, "", "", ""

    def _numbers(self) -> Num:
        e, lanes = self.e, self.gang.lanes
        order = "<" + ", ".join(f"i64 {lane}" for lane in range(lanes)) + ">"
        with self._vector():
            found = [e.op(f"add {e.wide('i64')} {e.splat('i64', s)}, {order}") for s in self.starts]
        self.numbers = self.gang.joined(e, found)
        return one(PYTHON_INT, self.numbers)

    def _element(self, x: Val) -> Val:
        """The elements of an array."""
        e = self.e
        array = x.array if isinstance(x, Listed) else x
        if not isinstance(array, Arr) or len(array.dims) != 1:
            raise Unlowered("elements of something else than an array")
        found = []
        for start, mask in zip(self.starts, self.masks, strict=True):
            past = e.op(f"icmp sgt i64 {start}, {self.last}")
            begin = e.select(past, "i64", self.last, start)  # beyond the last element stands the last one
            with self._vector():
                e.along, e.mask, e.last = begin, mask, self.last
                found.append(element_at(e, array, [begin]).text)
        number = one(array.element, self.gang.joined(e, found))
        e.gang = self.gang
        made = iterables.python_number(e, number) if isinstance(x, Listed) else number
        e.gang = None
        return made

    def store(self, array: Val, key: Val, value: Val) -> None:
        """Results into an array, each where its element is."""
        e = self.e
        if not isinstance(array, Arr) or not isinstance(key, Num) or key.text != self.numbers:
            raise Unlowered("an assignment to an item")
        if e.when != TRUE or not isinstance(value, Num):
            raise Unlowered("an assignment to an item that not every element makes")
        self.state.written |= array.roots
        made = stored(e, value, array.element)
        target = Arr(array.dtype, array.data, array.dims, (str(array.dtype.itemsize),))
        parts = self.gang.spread(e, made.llvm, made.text)
        for start, mask, part in zip(self.starts, self.masks, parts, strict=True):
            with self._vector():
                e.along, e.mask, e.last = start, mask, self.last
                put_at(e, target, [start], one(array.element, part))


def _size(body: Graph) -> tuple[int, int]:
    """How many lanes a vector has, and how many vectors there are side by side."""
    numbers = [n.outputs[0] for n in body.nodes if n.op == "getitem" and n.inputs[0] is body.params[0]]
    inner = [v for n in walk_nodes(body) for r in n.regions for v in all_values(r)]
    values = [*(v for n in body.nodes for v in n.outputs if v not in numbers), *inner]
    items = body.params[0].type
    types = [v.type for v in values] + list(items.items[1:] if isinstance(items, TupleType) else [items])
    longest = max([*map(_bytes, types), *map(_compared, walk_nodes(body))], default=8)
    lanes = vector_bytes() // longest
    inside = [sum(1 for r in n.regions for _ in walk_nodes(r)) for n in walk_nodes(body) if n.op in LOOPS]
    count = next((count for most, count in SIDE_BY_SIDE if min(inside, default=most + 1) <= most), 1)
    return lanes, count


def _compared(node: Node) -> int:
    """How long the numbers are that are compared; what else an operator works on is as long as its result."""
    if len(node.outputs) != 1 or _bytes(node.outputs[0].type) > 1 or node.regions:
        return 1
    types = [static_or_weak(x.type) for x in node.inputs]
    numbers = [t.dtype for t in types if isinstance(t, ArrayType) and t.scalar]
    weak = [0.0 if t.kind == "float" else 0 for t in types if isinstance(t, WeakType) and t.kind != "complex"]
    return np.result_type(*numbers, *weak).itemsize if numbers else 1


def _bytes(t: Type) -> int:
    """How long a number of this type is at most."""
    if isinstance(t, TupleType):
        return max(map(_bytes, t.items), default=1)
    if isinstance(t, ArrayType) and t.scalar:
        return t.dtype.itemsize
    return 1 if isinstance(t, WeakType) and t.kind == "bool" else 8


# ------------------------------------------------------------------------------------- control flow
def node(low: Lowering, given: Node, args: list[Val]) -> list[Val] | None:
    """The outputs of a node in all lanes."""
    e = low.e
    gang = e.gang
    assert gang is not None
    if given.op == "setitem":
        gang.work.store(*args)
        return []
    if given.op == "cond":
        choice = truth(e, args[0]) if isinstance(args[0], Num) else ""
        return _cond(low, given, choice, args[1:]) if gang.varies(choice) else low.cond(given, args)
    if given.op == "while":
        return _while(low, given, args)
    if given.op == "for":
        return _for(low, given, args)
    if given.regions:
        raise Unlowered(f"{said(given.op)} for many elements at once")
    reads = given.op == "getitem"
    if any(isinstance(x, (Arr, Lazy, *CONTAINERS, Method)) for x in args[1 if reads else 0 :]):
        raise Unlowered("an array in a function of elements")
    made = plain_nodes.value(low.state, given, args)
    if isinstance(made, (Lazy, *CONTAINERS, Method)) or (isinstance(made, Arr) and not reads):
        raise Unlowered("an array made in a function of elements")
    return [made] if given.outputs else []


def _cond(low: Lowering, given: Node, choice: str, args: list[Val]) -> list[Val] | None:
    """Both arms, each in the lanes that take it."""
    e = low.e
    arms = []
    tests = choice, e.negated(choice)
    for region, test, holds in zip(given.regions, tests, (True, False), strict=True):
        with e.under(test):
            arms.append(_arm(low, region, _known(e, choice, holds, args)))
    yes, no = arms
    if yes is None or no is None:
        return no if yes is None else yes
    return [_chosen(e, choice, x, y) for x, y in zip(yes, no, strict=True)]


def _arm(low: Lowering, region: Graph, args: list[Val]) -> list[Val] | None:
    """An arm, passed over where no lane takes it, if that is worth a jump."""
    e, nodes = low.e, list(walk_nodes(region))
    if len(nodes) < DEAR and not any(n.op in LOOPS for n in nodes):
        return low.region(region, args)
    assert e.gang is not None
    inside, out = e.block("some"), e.block("none")
    before, waiting = e.here, e.phi(out, "i1")
    e.way(waiting, e.pending)
    e.branch(e.gang.any(e, e.when), inside, out)
    e.start(inside)
    with e.scope():
        found = low.region(region, args)
        shapes = list(map(merge.free, found or []))
        texts = [leaf for t, x in zip(shapes, found or [], strict=True) for leaf in merge.leaves(e, t, x)]
        phis = [e.phi(out, llvm) for llvm, _ in texts]
        e.way(waiting, e.pending)
        for phi, (_, text) in zip(phis, texts, strict=True):
            e.way(phi, text)
        e.jump(out)
    for phi in phis:
        phi.ways.append((ZEROS.get(phi.llvm, "0"), before.label))
    e.start(out)
    e.pending = waiting.name
    names = iter([p.name for p in phis])
    return None if found is None else [merge.filled(t, names) for t in shapes]


def _chosen(e: Emitter, choice: str, x: Val, y: Val) -> Val:
    """x in the lanes where the choice holds, y in the others."""
    if x is y or choice == TRUE:
        return x
    if isinstance(x, Num) and isinstance(y, Num):
        number = choose(e, choice, x, y)
        narrowing.combined(e, number.text, choice, x.text, y.text)
        return number
    shape = merge.merged(x, y)
    pairs = zip(merge.leaves(e, shape, x), merge.leaves(e, shape, y), strict=True)
    found = []
    for (llvm, a), (_, b) in pairs:
        if llvm == "ptr":
            raise Unlowered("arrays of which each element takes another")
        found.append(e.select(choice, llvm, a, b))
    return merge.filled(shape, iter(found))


def _while(low: Lowering, node: Node, args: list[Val]) -> list[Val]:
    """A loop that goes on while any lane does; what is carried stays as it is in the others.

    The test stands at the end of the trip, so that flags that only it reads are not carried.
    """
    e, gang, count, outer = low.e, low.e.gang, node.attr("carries"), low.e.when
    assert gang is not None
    test, body = node.regions
    captures = args[count:]

    def asked(carry: Sequence[Val]) -> str:
        answer = low.region(test, [*carry, *captures])
        if answer is None or not isinstance(answer[0], Num):
            raise Unlowered("the test of a loop that is no number")
        return truth(e, answer[0])

    def onward(carry: Sequence[Val]) -> str:
        going = e.both(e.when, asked(carry))
        return e.both(going, e.negated(e.pending))  # what failed a check may go on for ever

    trips = e.slot("i64")
    e.line(f"store i64 1, ptr {trips}")

    def trip(carry: list[Val], following: Block, out: Block) -> list[Val] | None:
        active, carry = carry[0], carry[1:]
        assert isinstance(active, Num)
        inside = e.block("body")
        e.branch(gang.any(e, active.text), inside, out)
        e.start(inside)
        e.when = active.text
        done = e.effect(f"load i64, ptr {trips}")
        low.breathe(done, SELDOM)
        e.line(f"store i64 {e.op(f'add i64 {done}, 1')}, ptr {trips}")
        mark = e.mark()  # the test once more, for what it says of the carry; its code is not needed
        more = asked(carry)
        given = _known(e, more, True, [*carry, *captures])
        e.rollback(mark)
        after = low.region(body, given)
        going = FALSE if after is None else onward(after)
        for k, x in enumerate(after or []):
            if node.outputs[k] not in gang.work.read and _wild(x):
                carry[k] = x
        found = _handed_on(e, outer, active.text, carry, after)
        return None if found is None else [one(PYTHON_BOOL, going), *found]

    first = one(PYTHON_BOOL, onward(args[:count]))
    before, gang.uneven = gang.uneven, True
    made = low.loop(node, [first, *args[:count]], trip, True)
    gang.uneven = before
    return made[1:]


def _known(e: Emitter, condition: str, holds: bool, values: list[Val]) -> list[Val]:
    """The values as they are known in lanes where a condition holds, or not; nothing is said of those that
    are the same in all lanes, since there may be no such lane."""
    gang = e.gang
    assert gang is not None
    pairs = zip(values, narrowing.narrowed(e, condition, holds, values), strict=True)
    return [y if isinstance(x, Num) and gang.varies(x.text) else x for x, y in pairs]


def _wild(x: Val) -> bool:
    """Whether a number that nobody reads after a loop may be anything in lanes that have left it: a float
    may; from integers LLVM draws conclusions."""
    return isinstance(x, Num) and all(m.kind == "f" for m in x.members)


def _handed_on(
    e: Emitter, outer: str, active: str, carry: list[Val], after: list[Val] | None
) -> list[Val] | None:
    """The carry of the next trip: new in the lanes that made this one."""
    if after is None:  # it raises in every lane that gets there, and one has
        e.bails += 1
        e.end("br label %bail")
        e.when = outer
        return None
    found = [_chosen(e, active, x, y) for x, y in zip(after, carry, strict=True)]
    e.when = outer
    return found


def _for(low: Lowering, given: Node, args: list[Val]) -> list[Val]:
    """A loop over a range or an array, as long as that of the lane that makes the most trips."""
    e, gang, count, tested = low.e, low.e.gang, given.attr("carries"), given.attr("tested", False)
    assert gang is not None
    trips = iterables.length(low.state, args[0])
    if trips.moves:
        raise Unlowered("a list that a function of elements goes over")
    captures, outer, stop = args[1 + count :], e.when, trips.stop()
    alike = not gang.varies(trips.first) and not gang.varies(stop)

    def trip(carry: list[Val], following: Block, out: Block) -> list[Val] | None:
        counter, active, carry = carry[0], carry[1], carry[2:]
        assert isinstance(counter, Num) and isinstance(active, Num)
        more = e.op(f"icmp {'slt' if trips.signed else 'ult'} i64 {counter.text}, {stop}")
        going, asked = outer, more
        if tested or not alike:
            going = e.both(active.text, more)
            asked = gang.any(e, going)
        inside = e.block("body")
        e.branch(asked, inside, out)
        e.start(inside)
        e.when = going
        if any(n.op in LOOPS for n in given.regions[0].nodes) and alike:
            low.breathe(counter.text, OFTEN)
        after = low.region(given.regions[0], [trips.item(low.state, counter), *carry, *captures])
        onward = going
        if after is not None and tested:
            answer = low.region(given.regions[1], [*after, *captures])
            if answer is None or not isinstance(answer[0], Num):
                raise Unlowered("the test of a loop that is no number")
            onward = e.both(going, truth(e, answer[0]))
        step = e.op(f"add i64 {counter.text}, 1")
        found = _handed_on(e, outer, going, carry, after)
        return None if found is None else [one(PYTHON_INT, step), one(PYTHON_BOOL, onward), *found]

    first = [one(PYTHON_INT, trips.first), one(PYTHON_BOOL, outer), *args[1 : 1 + count]]
    return low.loop(given, first, trip, True, alike=int(alike))[2:]


__all__ = ["elements", "node"]
