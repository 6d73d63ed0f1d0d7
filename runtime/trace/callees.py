"""Calls of functions that were traced into before: the same call again is one node, `call`.

In: a Python function and the trace values that it is called with.  Out: what the call gives, where a call of
the same function with arguments of the same types was recorded, and what it looked at is as it was then.
What always holds: the node does what tracing once more would have recorded.  A call that wrote to objects,
ran unknown code or made containers that the caller goes on with is traced each time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from types import CodeType
from typing import Any

from runtime.boxes import UnboundMarker
from runtime.dataclass import dataclass
from runtime.errors import Span
from runtime.ir.builder import Builder
from runtime.ir.calls import CALL, size, without_site
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.walk import clone, map_regions, used_operands
from runtime.trace.core import Trace, is_static
from runtime.trace.heap import Heap, Log
from runtime.trace.values import Facts, Tensor, Traced
from runtime.types import StaticType, TupleType, is_namedtuple

SMALL = 24  # a function of fewer nodes is traced anew: in its place it is simplified with what is around it


@dataclass(frozen=True)
class _Made:
    """A leaf of a result: the value with this number among those that the call computes."""

    number: int


@dataclass(frozen=True)
class _Given:
    """A leaf of a result: the argument with this number."""

    number: int


@dataclass(frozen=True, eq=False)
class _Known:
    """A leaf of a result: this trace value, which was there before."""

    value: Any


@dataclass(eq=False)
class Call:
    """One call.  key: what makes another call the same one; leaves: the handles among its arguments, and
    the names of the parameters that they are for.

    builder, start, last, refused: where it is made, and what was recorded before it."""

    key: Hashable
    name: str
    leaves: list[Traced]
    names: list[str]
    builder: Builder
    start: int
    last: Node | None
    refused: int


@dataclass(eq=False)
class Recorded:
    """What a call recorded: made into a graph when there is a second one.

    epoch: of the heap.  params: what stands in the graph for each value that is used and not computed here;
    given: what it is: the argument of this number, or a value from outside.
    """

    epoch: int
    nodes: tuple[Node, ...]
    results: tuple[Value, ...]
    params: dict[Value, Operand]
    given: tuple[int | Value, ...]
    shape: Any
    site: Span | None
    name: str
    graph: Graph | None = None


class _NotTheSame(Exception):
    """A call that can't stand for another one, or a result that can't be made again."""


def asked(trace: Trace, f: Any, code: CodeType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    """The call of a function that is about to be traced into; None where each call is one of its own.

    f: what makes another call one of the same function."""
    if trace.asking is not None:
        return None  # which flags are read there is said of one place
    leaves: list[Traced] = []
    names: list[str] = []
    parameters = (*code.co_varnames[: code.co_argcount], *[""] * len(args))
    given: list[Hashable] = []
    try:
        for name, x in (*zip(parameters, args, strict=False), *kwargs.items()):
            given.append(_key(trace, x, leaves))
            names += [name] * (len(leaves) - len(names))
    except _NotTheSame:
        return None
    builder = trace.builder
    return Call(
        (f, bool(trace.following), len(args), *kwargs, *given),
        code.co_name,
        leaves,
        names,
        builder,
        len(builder.nodes),
        builder.nodes[-1] if builder.nodes else None,
        len(trace.refused),
    )


def _key(trace: Trace, x: Any, leaves: list[Traced]) -> Hashable:
    """What must be the same of an argument; its handles are added to `leaves`."""
    if isinstance(x, Traced):
        for number, other in enumerate(leaves):
            if other._facts is x._facts:
                return number
        leaves.append(x)
        if isinstance(x, Tensor):
            return "of type", x._facts.type, isinstance(x._facts.operand, Value)
        if x._facts.example is None:
            raise _NotTheSame  # it was made by what is being traced
        return "object", x._facts
    if isinstance(x, UnboundMarker):
        raise _NotTheSame
    if is_static(x):
        return StaticType(x)
    if isinstance(x, tuple) and (type(x) is tuple or is_namedtuple(type(x))):
        return type(x), tuple(_key(trace, item, leaves) for item in x)
    raise _NotTheSame


def again(trace: Trace, call: Call) -> tuple[Any] | None:
    """What the call gives, in a tuple, recorded as one node; None where it must be traced."""
    known: Recorded | None = trace.callees.get(call.key)
    if known is None or known.epoch != trace.heap.epoch:
        return None
    visible = trace.builder.visible
    if not all(visible(x) for x in known.given if isinstance(x, Value)) or not _reachable(trace, known.shape):
        return None
    if known.graph is None:
        known.graph = _graph(known)
    inputs: list[Any] = [call.leaves[x] if isinstance(x, int) else x for x in known.given]
    value = trace.emit(CALL, [Const(known.graph), *inputs])
    assert value is not None
    made = trace.wrap(value)
    return (_filled(known.shape, made if len(known.results) > 1 else (made,), call.leaves),)


def remember(trace: Trace, call: Call, before: Heap, log: Log, result: Any) -> None:
    """Keep what a call recorded, if it is of some size and another one may be done by the same nodes.

    before: the heap before it; log: what happened to that meanwhile."""
    builder = call.builder
    nodes = tuple(builder.nodes[call.start :])
    if call.last is not (builder.nodes[call.start - 1] if 0 < call.start <= len(builder.nodes) else None):
        return  # what was recorded before the call was taken back
    if trace.heap.epoch != before.epoch or len(trace.refused) != call.refused or _count(nodes) < SMALL:
        return
    if any(_lasts(what, how, before) for what, how in log.events):
        return
    mine = {id(leaf._facts) for leaf in call.leaves if isinstance(leaf, Tensor)}
    if any(_holds(entry, mine) for entry in before.entries.values()):
        return  # what is read from there could not be told from the argument
    inside = {value: None for node in nodes for value in node.outputs}
    made: list[Value] = []
    try:
        shape = _shape(trace, result, call.leaves, inside, made)
    except _NotTheSame:
        return
    origin = builder.origins()
    numbers: dict[Value, int] = {}
    for number, leaf in enumerate(call.leaves):
        if isinstance(leaf._facts.operand, Value):
            numbers.setdefault(origin(leaf._facts.operand), number)
    named: dict[Value, Operand] = {}
    taken: dict[Value, int | Value] = {}
    for x in used_operands(Graph("", (), nodes, tuple(made))):
        if isinstance(x, Value) and x not in inside and x not in taken:
            source = origin(x)
            which = numbers.get(source)
            taken[x] = source if which is None else which
            named[x] = Value(x.type, x.name if which is None else call.names[which])
    trace.callees[call.key] = Recorded(
        before.epoch, nodes, tuple(made), named, tuple(taken.values()), shape, trace.span(), call.name
    )


def _lasts(what: str, how: Any, before: Heap) -> bool:
    """Whether something happened to more than the objects that the call made itself."""
    if what == "written":
        return not how[0].fresh or how[0] in before.escaped
    return what != "put"


def _count(nodes: Sequence[Node]) -> int:
    return size(Graph("", (), tuple(nodes), ()))


def _holds(entry: Any, facts: set[int]) -> bool:
    """Whether one of these handles is what is known of a place, or in it."""
    if isinstance(entry, tuple):
        return any(_holds(item, facts) for item in entry)
    return isinstance(entry, Traced) and id(entry._facts) in facts


def _shape(
    trace: Trace, x: Any, leaves: Sequence[Traced], inside: dict[Value, None], made: list[Value]
) -> Any:
    """The tree of a result; the values that the call computes are added to `made`."""
    if isinstance(x, Traced):
        for number, leaf in enumerate(leaves):
            if leaf._facts is x._facts:
                return _Given(number)
        facts: Facts = x._facts
        if isinstance(facts.operand, Value) and facts.operand in inside:
            if not isinstance(x, Tensor):
                raise _NotTheSame
            if facts.operand not in made:
                made.append(facts.operand)
            return _Made(made.index(facts.operand))
        if not trace.builder.visible(facts.operand):
            raise _NotTheSame
        return _Known(x)
    if not isinstance(x, UnboundMarker) and is_static(x):
        return _Known(x)
    if isinstance(x, tuple) and (type(x) is tuple or is_namedtuple(type(x))):
        return type(x), tuple(_shape(trace, item, leaves, inside, made) for item in x)
    raise _NotTheSame


def _reachable(trace: Trace, shape: Any) -> bool:
    """Whether the values from outside in a result may be used here."""
    if isinstance(shape, tuple):
        return all(_reachable(trace, item) for item in shape[1])
    known = shape.value if isinstance(shape, _Known) else None
    return not isinstance(known, Traced) or trace.builder.visible(known._facts.operand)


def _filled(shape: Any, made: Sequence[Any], leaves: Sequence[Traced]) -> Any:
    """The result with these values and arguments in it."""
    if isinstance(shape, _Made):
        return made[shape.number]
    if isinstance(shape, _Given):
        return leaves[shape.number]
    if isinstance(shape, _Known):
        return shape.value
    cls, items = shape
    filled = tuple(_filled(item, made, leaves) for item in items)
    return filled if cls is tuple else tuple.__new__(cls, filled)


def _graph(known: Recorded) -> Graph:
    """The nodes as a graph of their own, with places inside the function."""
    nodes = tuple(_placed(node, known.site) for node in known.nodes)
    results: tuple[Operand, ...] = known.results
    if len(results) != 1:
        whole = Node("py.tuple", results, (Value(TupleType(tuple(x.type for x in results))),))
        nodes, results = ((*nodes, whole), whole.outputs) if results else (nodes, (Const(None),))
    body = clone(Graph(known.name, (), nodes, results), known.params)
    params = tuple(x for x in known.params.values() if isinstance(x, Value))
    return dataclasses.replace(body, params=params)


def _placed(node: Node, site: Span | None) -> Node:
    """The node with places in its own function, in its regions as well."""

    def inside(region: Graph) -> Graph:
        return dataclasses.replace(region, nodes=tuple(_placed(n, site) for n in region.nodes))

    return dataclasses.replace(map_regions(node, inside), span=without_site(node.span, site))
