"""A graph as one LLVM function: nodes become instructions, regions become blocks.

In: a graph.  Out: `Kernel`, the text of the function and what its caller must know.  What always holds: the
function computes what the graph means; or returns 1, and then only memory of arrays that `written` names, or
that it made itself, has changed; or 2, when a signal handler raised.  Unlowered: it can't be expressed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from runtime.execute.native import (
    branches,
    callbacks,
    chains,
    containers,
    contents,
    counters,
    elementwise,
    list_forms,
    lists,
    merge,
    narrowing,
    over_items,
    ownership,
    pauses,
    plain_nodes,
    ranges,
    shares,
    streams,
    telling,
)
from runtime.execute.native.caught import without_tries
from runtime.execute.native.containers import CONTAINERS
from runtime.execute.native.emit import FALSE, OVERFLOWS, TRUE, Block, Emitter, Phi
from runtime.execute.native.facts import (
    gain,
    keeps_iterators,
    kept,
    look_returned,
    looked_into,
    low_bits,
    often,
    watches,
)
from runtime.execute.native.iterables import length
from runtime.execute.native.kept_axes import keep_axes
from runtime.execute.native.kernel import Kernel
from runtime.execute.native.kinds import (
    PYTHON_INT,
    Unlowered,
)
from runtime.execute.native.liveness import Liveness
from runtime.execute.native.renewed import renewed
from runtime.execute.native.results import handed_back, made_at
from runtime.execute.native.scalars import truth
from runtime.execute.native.signature import parameters
from runtime.execute.native.state import Form, State, WrongGuess
from runtime.execute.native.tested import truths
from runtime.execute.native.values import (
    LISTS,
    Arr,
    Lazy,
    Num,
    Static,
    Val,
    lift,
    one,
    passed,
)
from runtime.execute.native.waiting import PRODUCTS, may_wait
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.lazy import Lazy as LazyModule
from runtime.ops.table import NO_LIST
from runtime.types import ArrayType, Type

if TYPE_CHECKING:
    from runtime.execute.native import handed_on, independent, linear, loop_vectors, masked, spelled, tallies
else:  # what loops and products need: whoever lowers a loop waits for it, so in the user's thread
    _IN = "runtime.execute.native."
    handed_on, independent = LazyModule(f"{_IN}handed_on"), LazyModule(f"{_IN}independent")
    linear, loop_vectors = LazyModule(f"{_IN}linear"), LazyModule(f"{_IN}loop_vectors")
    masked, tallies = LazyModule(f"{_IN}masked"), LazyModule(f"{_IN}tallies")
    spelled = LazyModule(f"{_IN}spelled")


def lower(
    graph: Graph, in_order: bool = True, noting: bool = False, emitter: Callable[[bool], Emitter] = Emitter
) -> Kernel:
    """Lower a graph.

    in_order: whether all arrays that come in are in C order; else their strides come in too.  noting: whether
    integers that wrap are noted, as overflows are; else they leave to the plan.  emitter: makes what writes.
    """
    graph = without_tries(graph)
    look = look_returned(graph)
    if look is not None:
        raise Unlowered("a view that is returned", look.span)
    if keeps_iterators(graph):
        raise Unlowered("an iterator that is kept, or that more than one loop takes items of")
    forms: dict[Hashable, Form] = list_forms.expected(graph)
    guess = contents.known(graph)
    tried: list[dict[Hashable, Form]] = []
    while True:
        tried.append(dict(forms))
        try:
            lowering = _Lowering(graph, in_order, noting, forms, guess, emitter)
            kernel = lowering.kernel()
        except WrongGuess as wrong:  # more is known of a list than before, which is at most a few times so
            wrong.learned(forms)
            if forms in tried:  # nothing more is: it would go on for ever
                raise Unlowered(
                    "a list of other things than numbers, arrays or tuples of one kind"
                ) from wrong
            continue
        if lowering.state.contents == guess:
            return kernel
        guess = lowering.state.contents


def _is_view(x: Val) -> bool:
    return isinstance(x, Arr) and x.handle is None


def _stays_array(t: Type, made: Arr | Lazy) -> bool:
    """Whether NumPy gives an array here; without axes only where the type, which is exact then, says so."""
    return not t.scalar if isinstance(t, ArrayType) else bool(made.dims)


class _Lowering:
    def __init__(
        self,
        graph: Graph,
        in_order: bool,
        noting: bool,
        forms: dict[Hashable, Form],
        guess: dict[Value, ranges.Span],
        emitter: Callable[[bool], Emitter],
    ) -> None:
        self.graph, self.in_order = truths(graph), in_order
        self.e = emitter(watches(graph) or noting)
        self.e.noting = noting
        self.state = State(self.e, forms=forms, often=often(graph), contents=dict(guess))
        self.state.draws = streams.drawing(graph)
        self.changes = 0
        self.settled: dict[Node, list[Val]] = {}

    # ------------------------------------------------------------------ the function
    def kernel(self) -> Kernel:
        """Lower the whole graph."""
        if self.graph.diverges or len(self.graph.results) != 1:  # else there is one
            raise Unlowered("it always raises", next((n.span for n in reversed(self.graph.nodes)), None))
        params = self.state.params = parameters(self.state, self.graph, self.in_order)
        results = self.region(self.graph, params)
        if results is None:
            raise Unlowered("it always raises")
        try:
            shape = handed_back(self.state, results[0], {})
        except Unlowered as reason:
            reason.span = made_at(self.graph, self.graph.results[0])
            raise
        held = merge.leaves(self.e, shape, results[0])
        self.e.flush()
        for k, (llvm, text) in enumerate(held):
            at = self.e.op(f"getelementptr [2 x i64], ptr %out, i64 {k}")
            llvm, text = ("i8", self.e.op(f"zext i1 {text} to i8")) if llvm == "i1" else (llvm, text)
            self.e.line(f"store {llvm} {text}, ptr {at}, align 8")
        self.e.tell_noted()
        self.e.end("ret i32 0")
        self.e.start(Block("bail"))
        self.e.end("ret i32 1")
        self.e.start(Block("interrupted"))
        self.e.end("ret i32 2")
        if self.state.draws and not self.state.streams:
            raise Unlowered("a random stream that nothing is drawn from")
        hidden = ["ptr %bits", "ptr %held"] if self.state.draws else []
        hidden = ["ptr %out", "ptr %owned", "ptr %raised", "ptr %saves", *hidden]
        arguments = ", ".join([*self.e.parameters, *hidden])
        text = f"define internal i32 @kernel({arguments}) noinline nounwind {{\n{self.e.body()}\n}}\n"
        text = "\n".join(
            [*self.e.helpers.values(), *self.e.parts, text, *self.e.metadata, *self.e.described()]
        )
        s = self.state
        e = self.e
        written = frozenset(s.written)
        faster = callbacks.GAINS[s.calls_streams] if s.streams else gain(self.graph)
        return Kernel(
            text, tuple(e.declarations), params, shape, written, tuple(s.saves), s.owned, e.watch, e.outside,
            e.bails > 0, e.wrapping > 0 and not e.noting, s.objects, s.addresses, faster,
            tuple(s.streams),
        )  # fmt: skip

    # ------------------------------------------------------------------ regions and nodes
    def region(self, graph: Graph, args: Sequence[Val]) -> list[Val] | None:
        """Lower a region; None when it never reaches its end."""
        around = self.e.node
        results = self.nodes(graph, args)
        self.e.node = around
        return results

    def nodes(self, graph: Graph, args: Sequence[Val]) -> list[Val] | None:
        """Lower the nodes of a region."""
        env: dict[Value, Val] = dict(zip(graph.params, args, strict=True))

        def get(x: Operand) -> Val:
            return lift(x.value) if isinstance(x, Const) else env[x]

        if graph.diverges:  # it raises in the end, and then the plan does all of it
            self.e.node = graph.nodes[-1] if graph.nodes else self.e.node
            self.e.bail_if(TRUE)
            return None
        outermost = graph is self.graph
        graph = keep_axes(renewed(graph))
        self.state.low |= low_bits(graph)
        self.state.bare |= looked_into(graph)
        self.state.kept |= kept(graph)
        waiting, life = may_wait(graph), Liveness(graph, self.state.owned, self.state.held)
        outside, self.state.free = self.state.free, []
        for k, node in enumerate(graph.nodes):
            if all(x in env for x in node.outputs) and node.outputs:
                continue  # done with the one before
            if node.op in PRODUCTS:
                self.settle(env, life, k)
                if self.with_next(graph, k, env, life):
                    continue
            self.state.lazily = any(x in waiting for x in node.outputs)
            self.state.last = outermost and k == len(graph.nodes) - 1
            self.e.node = node
            try:
                made = self.node(node, list(map(get, node.inputs)))
            except Unlowered as reason:
                reason.span = reason.span or node.span
                raise
            if made is None or not self.e.reachable():
                self.state.free = outside
                return None
            for value, x in zip(node.outputs, made, strict=True):
                if isinstance(x, Lazy):
                    if value not in waiting:
                        x = self.kept(x, life.dying(x, env, k))
                    elif waiting[value]:
                        x = elementwise.worth_keeping(self.state, x, waiting[value] == "line")
                env[value] = x = contents.made(self.state, value, x)
                life.born(x)
            life.held_on()
            life.forget(env, node, k)
            self.state.free += life.freed(env, k)
        self.state.free = outside
        return list(map(get, graph.results))

    def with_next(self, graph: Graph, k: int, env: dict[Value, Val], life: Liveness) -> bool:
        """Do a product of matrices together with the operator after it, which alone reads it, and with more
        of such pairs where one goes on with what the one before gives."""
        found = chains.pairs(graph, k, life.last)
        if not found:
            return False

        def get(x: Operand) -> Val:
            return lift(x.value) if isinstance(x, Const) else env[x]

        links: list[linear.Link] = []
        for views, node, after in found:
            for view in views:
                made = self.node(view, list(map(get, view.inputs))) or []
                env.update(zip(view.outputs, made, strict=True))
                list(map(life.born, made))
            left = after.inputs[1] is node.outputs[0]
            compute = functools.partial(chains.computed, self.state, after.op, left)
            links.append((list(map(get, node.inputs)), compute, after.op, left))
        _, node, after = found[0]
        other = get(after.inputs[0 if after.inputs[1] is node.outputs[0] else 1])
        result = after.outputs[0].type
        assert isinstance(result, ArrayType)
        place = other if isinstance(other, Arr) and other.dtype.num == result.dtype.num else None
        if place is not None:
            alive = life.alive(env, k + 1)
            own = place.handle is not None and place.site in life.made
            place = None if alive is None or not own or place.site in alive else place
        done = linear.joined(self.state, links, other, place, result.dtype)
        if done is None:
            return False
        made_of = found[done[1] - 1][2]
        for _, node, after in found[: done[1]]:
            env[node.outputs[0]] = env[after.outputs[0]] = done[0]  # nobody reads those in between
        life.born(done[0])
        self.state.free += life.freed(env, graph.nodes.index(made_of))
        return True

    def settle(self, env: dict[Value, Val], life: Liveness, k: int) -> None:
        """Store what waits beyond node `k` and alone keeps several arrays: one of them is free then."""
        for value, x in list(env.items()):
            if isinstance(x, Lazy) and life.last.get(value, -1) >= k:
                place = life.saving(x, {v: y for v, y in env.items() if v is not value}, k - 1)
                if place is not None:
                    env[value] = self.kept(x, place)
                    life.born(env[value])
                    self.state.free += life.freed(env, k - 1)

    def kept(self, x: Lazy, place: Arr | None) -> Arr:
        """A lazy array in memory: in that of an array that only it reads, if there is one."""
        if place is None or x.turned:
            return elementwise.materialized(self.state, x)
        elementwise.new_in_order(x)
        elementwise.assigned(self.state, place, x)
        return place

    def node(self, node: Node, args: list[Val]) -> list[Val] | None:
        """The outputs of a node; None when control never gets past it."""
        if self.e.gang is not None:
            return masked.node(self, node, args)
        if node.op == "cond":
            return self.cond(node, args)
        if node.op == "while":
            return self.while_loop(node, args)
        if node.op == "for":
            return self.for_loop(node, args)
        if node.op == "with":
            return self.quietly(node, args)
        if node.op == "setitem":
            contents.wrote(self.state, args[0], args[2])
            plain_nodes.set_item(self.state, args[0], args[1], args[2])
            return []
        made = self.plain(node, args)
        if node.outputs and isinstance(made, (Arr, Lazy)) and not _stays_array(node.outputs[0].type, made):
            raise Unlowered("arithmetic on arrays without axes")  # NumPy makes numbers of the results
        if node.op == "getitem":
            made = contents.read(self.state, args[0], made)
        return [made] if node.outputs else []

    def plain(self, node: Node, args: list[Val]) -> Val:
        """The result of a node without regions."""
        if node.op in NO_LIST and args and isinstance(args[0], LISTS):
            raise Unlowered(f"{node.op} of a list")
        made, outside = callbacks.plain(self.state, node, args, self.instructions)
        if outside:
            self.touch()  # other threads may have run
        return made

    def instructions(self, state: State, node: Node, args: list[Val]) -> Val:
        """The result of a node for which there are instructions, or a graph of others for which there are."""
        undo = callbacks.undo(state)
        try:
            if over_items.known(node):
                return over_items.called(state, node, args)
            return plain_nodes.value(state, node, args)
        except Unlowered as reason:
            bare = not state.bare.isdisjoint(node.outputs)
            graph = spelled.spelled(node, callbacks.types_of(state, node, args), bare)
            if graph is None:
                raise
            given = [x for x, of in zip(args, node.inputs, strict=True) if isinstance(of, Value)]
            undo()
            try:
                arrays = [lists.as_array(state, x) if isinstance(x, LISTS) else x for x in given]
                made = self.region(graph, arrays)  # operators on lists mean something else
            except Unlowered:
                raise reason from None
            if made is None or _is_view(made[0]) and not state.kept.isdisjoint(node.outputs):
                raise
            return made[0]

    def quietly(self, node: Node, args: list[Val]) -> list[Val] | None:
        """A `with np.errstate(...)` that ignores: what is flagged in it is forgotten."""
        context = args[0].value if isinstance(args[0], Static) else None
        if not isinstance(context, plain_nodes.Quiet):
            raise Unlowered("a with statement")
        with self.e.unflagged(context.kinds, bool(context.kinds & OVERFLOWS)):
            return self.region(node.regions[0], args)

    # ------------------------------------------------------------------ branches
    def cond(self, node: Node, args: list[Val]) -> list[Val] | None:
        """Two ways that meet again."""
        return branches.cond(self, node, args)

    def holds(self, x: Val | None) -> str:
        """Whether a condition, or the test of a loop, is true."""
        if isinstance(x, CONTAINERS):
            x = containers.length(self.e, x)
        if not isinstance(x, Num):
            raise Unlowered("a condition that is no number")
        return truth(self.e, x)

    def close(
        self, shapes: list[Val], values: list[Val], phis: list[Phi], to: Block, waiting: Phi | None = None
    ) -> None:
        """Hand the values on to a block's phis, and to `waiting` whether a check has failed."""
        if not self.e.reachable():
            return
        texts = [text for t, x in zip(shapes, values, strict=True) for _, text in merge.leaves(self.e, t, x)]
        if waiting is None:
            self.e.flush()
        else:
            self.e.way(waiting, self.e.pending)
        if not self.e.reachable():
            return
        for phi, text in zip(phis, texts, strict=True):
            self.e.way(phi, text)
        self.e.jump(to)

    # ------------------------------------------------------------------ loops
    def while_loop(self, node: Node, args: list[Val]) -> list[Val]:
        """Test, body, and back."""
        e = self.e
        count = node.attr("carries")
        test, body = node.regions
        counted = counters.counted(self, node, args)
        if counted is not None:
            return counted

        def trip(carry: list[Val], head: Block, out: Block) -> list[Val] | None:
            asked = self.region(test, [*carry, *args[count:]])
            inside, more = e.block("body"), self.holds(asked[0] if asked else None)
            e.flush()
            e.branch(more, inside, out)
            e.start(inside)
            after = self.region(body, narrowing.narrowed(e, more, True, [*carry, *args[count:]]))
            if after is None:
                return None
            if not counters.brief(node, carry):
                self.rest(*pauses.spent(e, pauses.spacing(node)))
            return after

        return self.loop(node, args[:count], trip)

    def breathe(self, trips: str, often: int) -> None:
        """Let other threads run and signals be handled every 2 to the `often` trips."""
        self.rest(pauses.due(self.e, trips, often))

    def rest(self, condition: str, begin: str = "") -> None:
        """The same where the condition holds."""
        pauses.pause(self.state, condition, begin)
        self.touch()

    def loop(
        self,
        node: Node | None,
        first: list[Val],
        trip: Callable[[list[Val], Block, Block], list[Val] | None],
        ends: bool = False,
        inner: bool = False,
        alike: int = 0,
    ) -> list[Val]:
        """A loop whose every trip turns the carry into the next one; until the carry's kinds settle.

        node: under what it is remembered as what they settled, for when the loop is written again.
        ends: whether it ends whatever the numbers are, so that a failed check can wait until it has.
        inner: whether it is left at its head only and has no loop inside.
        alike: how many numbers, the first ones, are the same in all lanes of a gang.
        """
        e = self.e
        shapes = list(map(merge.opened, first))
        if node is not None and node in self.settled:
            shapes = list(map(merge.hinted, shapes, first, self.settled[node]))
        inner = inner and not isinstance(e, telling.Telling)  # nothing goes over its text
        owned, depth, held = self.state.owned, self.state.depth, frozenset(self.state.held)
        at_once, e.at_once = e.at_once, not inner  # checks that wait are no hindrance to vectors
        for _ in range(8):
            mark = e.mark()
            head, out = e.block("head"), e.block("out")
            holes = [llvm for t in shapes for llvm in merge.types_of(t)]
            phis = [e.phi(head, llvm, k < alike) for k, llvm in enumerate(holes)]
            waiting = e.phi(head, "i1") if ends else None
            self.close(shapes, first, phis, head, waiting)
            e.start(head)
            e.pending = waiting.name if waiting else FALSE
            filled = merge.all_filled(shapes, phis)
            pairs = list(zip(filled, shapes, strict=True))
            carry = [ownership.placed(x, t, depth + 1, owned) for x, t in pairs]
            before = e.memo
            e.memo = dict(before)
            self.touch()
            self.state.depth += 1
            after = trip(carry, head, out)
            self.state.depth -= 1
            known = after if ends or after is None else list(map(passed, after))  # `close` acts on checks
            settled = shapes if known is None else list(map(merge.following, first, shapes, known))
            if settled == shapes:
                if node is not None:
                    self.settled[node] = shapes
                if after is not None:
                    ownership.check(self.state, shapes, after)
                    ownership.hand_over(self.state, shapes, after, self.state.owned)
                    self.state.owned += sum(map(ownership.carried, shapes))
                    self.close(shapes, after, phis, head, waiting)
                if inner and not loop_vectors.vectorize(e, e.blocks[mark.blocks :], head):
                    if not e.at_once and waiting and waiting.ways[-1][0] not in (FALSE, waiting.name):
                        e.at_once, self.state.owned = True, owned
                        e.rollback(mark)
                        continue
                    handed_on.hand_on(e, e.blocks[mark.blocks :], head)
                    e.unroll(e.blocks[mark.blocks :])
                e.memo, e.at_once = before, at_once
                e.start(out)
                e.pending = self.unneeded(head, waiting) if waiting else FALSE
                self.touch()
                return [ownership.placed(x, t, depth, self.state.owned) for x, t in pairs]
            shapes = settled
            self.state.owned = owned
            self.state.held &= held
            e.rollback(mark)
        raise Unlowered("a loop whose carried values do not settle")

    def unneeded(self, head: Block, waiting: Phi) -> str:
        """Whether a check has failed by the end of a loop; the phi goes where none can."""
        if all(text in (FALSE, waiting.name) for text, _ in waiting.ways):
            waiting.ways = [(FALSE, label) for _, label in waiting.ways]
            return FALSE
        return waiting.name

    def touch(self) -> None:
        """Memory may have changed: nothing read before is known any more."""
        self.changes += 1
        self.e.version = self.changes << 32

    def for_loop(self, node: Node, args: list[Val]) -> list[Val]:
        """A loop over a range, an array, or several side by side."""
        together = masked.elements(self, node, args)
        if together is not None:
            return together
        e, source = self.e, args[0]
        count, tested = node.attr("carries"), node.attr("tested", False)
        captures = args[1 + count :]
        spacing = pauses.spacing(node)
        short = spacing == pauses.TRIPS  # whether no trip takes long
        trips = length(self.state, source)
        ends, stop, order = not tested and not trips.moves, trips.stop, "slt" if trips.signed else "ult"
        exits: list[tuple[list[Val], Block, dict[str, str]]] = []

        def trip(carry: list[Val], following: Block, out: Block) -> list[Val] | None:
            counter, carry = carry[0], carry[1:]
            assert isinstance(counter, Num)
            inside = e.block("body")
            more = e.effect(f"icmp {order} i64 {counter.text}, {stop()}")
            exits[:] = []
            leave = e.block("done") if tested else out
            e.branch(more, inside, leave)
            if tested:
                exits.append((list(carry), leave, dict(e.memo)))
            e.start(inside)
            if not short:
                self.rest(*pauses.spent(e, spacing))
            item = trips.item(self.state, counter)
            after = self.region(node.regions[0], [item, *carry, *captures])
            if after is None:
                return None
            if tested:
                asked = self.region(node.regions[1], [*after, *captures])
                on, off, more = e.block("on"), e.block("off"), self.holds(asked[0] if asked else None)
                e.flush()
                e.branch(more, on, off)
                exits.append((after, off, dict(e.memo)))
                e.start(on)
            if not ends and pauses.long(trips.first, stop(), source) and short:
                self.rest(*pauses.spent(e, spacing))
            step = e.effect(f"add {'nsw' if trips.signed else 'nuw'} i64 {counter.text}, 1")
            return [one(PYTHON_INT, step), *after]

        def some(first: str, last: str) -> None:
            nonlocal stop
            stop = functools.partial(str, last)
            zeros = [one(PYTHON_INT, "0", 0)] * count
            after = self.loop(node, [one(PYTHON_INT, first), *zeros], trip, ends, ends and short)
            tallies.add(e, room, after[1:])

        apart = independent.apart(e, node, args) if ends else None
        if apart is not None:
            each, room = tallies.cost(node.regions[0]), tallies.room(e, count)
            shares.share(self.state, trips.first, stop(), some, cost=each, long=True, only=apart)
            return tallies.totals(e, room, args[1 : 1 + count])
        first, whole = [one(PYTHON_INT, trips.first), *args[1 : 1 + count]], stop()

        def stretch(carry: list[Val], following: Block, out: Block) -> list[Val]:
            nonlocal stop
            assert isinstance(carry[0], Num)
            inside = e.block("stretch")
            e.branch(e.effect(f"icmp {order} i64 {carry[0].text}, {whole}"), inside, out)
            e.start(inside)
            end = pauses.stretch(e, carry[0].text, whole)
            stop = functools.partial(str, end)
            after = self.loop(node, carry, trip, True, True)
            self.rest(e.op(f"icmp ne i64 {end}, {whole}"))
            return [one(PYTHON_INT, end), *after[1:]]

        if ends and short and pauses.long(trips.first, whole, source):
            return self.loop(None, first, stretch)[1:]
        carry = self.loop(node, first, trip, ends, ends and short)
        return branches.left(self, exits) if tested else carry[1:]
