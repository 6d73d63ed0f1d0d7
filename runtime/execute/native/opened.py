"""Objects that a part of a plan takes, opened: it works on what they hold, and puts it back at its end.

In: the graph of a part, and what some of its inputs are.  Out: `Opened`, a graph that takes the fields, with
what reads and writes them; None where a part does more with an object than to read and write fields.
What always holds: the part runs no code that could look at the object meanwhile, and what is put back is what
the part would have left there.  A part that does not get to its end is done again from the start, as it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.execute.loader import bare, load
from runtime.execute.native.lifted import Lifted, lifted
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Graph, Node, Operand, Value
from runtime.ops.table import OPS
from runtime.passes.dead import drop_dead
from runtime.passes.fields import Key, NeededItself, Values
from runtime.passes.unread import ordinary
from runtime.types import TupleType, static_or_weak

_NOTHING = object()
_GIVEN_UP = object()
_OF_USERS = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that a class statement made
Fields = tuple[tuple[int, Key], ...]  # of which input, which field
Run = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Holder:
    """What holds fields: the class of an object, dict, or list and the number of its items."""

    cls: type
    count: int = 0


def may_hold(cls: type) -> bool:
    """Whether objects of a class hold fields that reading and writing only read and write."""
    if cls is dict or cls is list:
        return True
    own = cls.__flags__ & _OF_USERS and not issubclass(cls, type) and ordinary(cls)
    read: Any = cls.__getattribute__
    return bool(own) and read is object.__getattribute__ and not hasattr(cls, "__getattr__")


def holder(x: Any) -> Holder | None:
    """How a value holds fields; None where it does not."""
    cls: type[Any] = type(x)
    if not may_hold(cls):
        return None
    return Holder(cls, len(x)) if isinstance(x, list) else Holder(cls)


def given_up(*args: Any) -> Any:
    """The plan of a part on fields: there is none, the whole is done from the start."""
    return _GIVEN_UP


def opened(graph: Graph, holders: Mapping[int, Holder]) -> Opened | None:
    """The graph on the fields of the inputs that are holders (of these kinds), if it needs only them."""
    whole = lifted(graph)
    graph, count = whole.graph, len(graph.params)
    params = [p for k, p in enumerate(graph.params[:count]) if k not in holders]
    read: list[tuple[int, Key]] = []
    written: list[tuple[int, Key]] = []
    finals: list[Operand] = []
    try:
        for k, kind in holders.items():
            known = graph.params[k]
            values = _values(kind)
            names, changed = values.touched([(graph, known)])
            held = {name: Value(values.shown(name, [(graph, known)]), str(name)) for name in names}
            nodes, results, after = values.body(graph, known, dict(held))
            graph = dataclasses.replace(graph, nodes=tuple(nodes), results=results)
            params += held.values()
            read += [(k, name) for name in names]
            written += [(k, name) for name in changed]
            finals += [after[name] for name in changed]
    except NeededItself:
        return None
    outputs = (*graph.results, *finals)
    result = Value(TupleType(tuple(static_or_weak(x.type) for x in outputs)))
    last = Node("py.tuple", outputs, (result,), span=graph.nodes[-1].span if graph.nodes else None)
    made = Graph(graph.name, (*params, *graph.params[count:]), (*graph.nodes, last), (result,))
    rest = tuple(k for k in range(count) if k not in holders)
    return Opened(drop_dead(made, OPS), tuple(holders.items()), rest, tuple(read), tuple(written), whole)


def _values(kind: Holder) -> Values:
    if kind.cls is list:
        return Values("getitem", OPS, length=kind.count)
    return Values("getitem" if kind.cls is dict else "py.getattr", OPS, plain=True)


@dataclasses.dataclass(frozen=True)
class Opened:
    """graph: takes the other inputs, the fields that are read, what is lifted; yields a result and what is
    written.  holders: inputs that are opened.  rest: those that are not."""

    graph: Graph
    holders: tuple[tuple[int, Holder], ...]
    rest: tuple[int, ...]
    read: Fields
    written: Fields
    outside: Lifted

    def around(self, part: Run, plan: Callable[[], Run], other: Run) -> Run:
        """What does the whole by a part that does the graph, by the plan where that is given up, and by
        something else where the inputs are held otherwise."""
        rest, written, holders = self.rest, self.written, self.holders
        begin = bare(load(plan_source(self.outside.begin), part=True)) if self.outside.begin.nodes else None

        def run(*args: Any) -> Any:
            for k, one in holders:
                x = args[k]
                if type(x) is not one.cls or (one.cls is list and len(args[k]) != one.count):
                    return other(*args)
            held = self.values(args)
            if held is None:
                return plan()(*args)
            try:
                outside = () if begin is None else begin()
            except Exception:  # a name means something else now: the plan says so, where it stands
                return plan()(*args)
            found = part(*[args[k] for k in rest], *held, *outside)
            if found is _GIVEN_UP:
                return plan()(*args)
            for (k, name), x in zip(written, found[1:], strict=True):
                if type(args[k]) in (dict, list):
                    args[k][name] = x
                else:
                    setattr(args[k], str(name), x)
            return found[0]

        return run

    def values(self, args: Sequence[Any]) -> list[Any] | None:
        """What the fields hold; None where one holds nothing or is no plain field, or two objects are one."""
        objects = {k: args[k] for k, _ in self.read}
        known = {id(x) for x in objects.values()}
        if len(known) < len(objects) or known & self.outside.holders:
            return None
        found = []
        for k, name in self.read:
            x = _field(objects[k], name, (k, name) in self.written)
            if x is _NOTHING:
                return None
            found.append(x)
        return found


def _field(x: Any, name: Any, written: bool) -> Any:
    """What a field holds; nothing where it is not the object alone that says so."""
    if type(x) is list:
        return x[name]
    if type(x) is dict:
        return x.get(name, _NOTHING)
    said = [c.__dict__[name] for c in type(x).__mro__ if name in c.__dict__]
    if any(hasattr(type(one), "__set__") for one in said) or (said and written and name not in vars(x)):
        return _NOTHING
    return getattr(x, name, _NOTHING)
