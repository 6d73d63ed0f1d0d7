"""Objects that a part of a plan takes, opened: it works on what they hold, and puts it back at its end.

In: the graph of a part, and what some of its inputs are.  Out: `Opened`, a graph that takes the fields, with
what reads and writes them; None where a part does more with an object than to read and write fields.
What always holds: the part runs no code that could look at the object meanwhile, and what is put back is what
the part would have left there.  A part that does not get to its end is done again from the start, as it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from runtime.execute.loader import bare, load
from runtime.execute.native.lifted import Lifted, lifted
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ops.table import OPS
from runtime.passes.dead import drop_dead
from runtime.passes.fields import Key, NeededItself, Values, inner_names
from runtime.passes.rewrite import users
from runtime.passes.unread import ordinary
from runtime.types import OBJECT, ObjectType, TupleType, static_or_weak

_NOTHING = object()
_GIVEN_UP = object()
MANY_KEYS = 64
APPENDED = -1
_OF_USERS = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that a class statement made
Fields = tuple[tuple[int, Key], ...]  # of which input, which field
Run = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Holder:
    """What holds fields: the class of an object, dict or list.  count: of the items of a list, or APPENDED
    where the part only appends to it.  keys: of a dict, where they must be known."""

    cls: type[Any]
    count: int = 0
    keys: tuple[Key, ...] = ()

    def fits(self, x: Any) -> bool:
        """Whether a value holds fields in this way."""
        if type(x) is not self.cls:
            return False
        if self.cls is list:
            return self.count == APPENDED or len(x) == self.count
        return not self.keys or (len(x) == len(self.keys) and tuple(x) == self.keys)


def may_hold(cls: type) -> bool:
    """Whether objects of a class hold fields that reading and writing only read and write."""
    if cls is dict or cls is list:
        return True
    own = cls.__flags__ & _OF_USERS and not issubclass(cls, type) and ordinary(cls)
    read: Any = cls.__getattribute__
    return bool(own) and read is object.__getattribute__ and not hasattr(cls, "__getattr__")


def holder(x: Any, by_keys: bool = False) -> Holder | None:
    """How a value holds fields; None where it does not.  by_keys: the keys of dicts must be known."""
    cls: type[Any] = type(x)
    if not may_hold(cls):
        return None
    if isinstance(x, list):
        return Holder(cls, len(x))
    if not by_keys:
        return Holder(cls)
    if cls is not dict or not 0 < len(x) <= MANY_KEYS or not all(type(name) in (str, int) for name in x):
        return None
    return Holder(cls, keys=tuple(x))


def given_up(*args: Any) -> Any:
    """The plan of a part on fields: there is none, the whole is done from the start."""
    return _GIVEN_UP


def opened(graph: Graph, holders: Mapping[int, Holder]) -> Opened | None:
    """The graph on the fields of the inputs that are holders (of these kinds), if it needs only them."""
    whole = lifted(graph)
    graph, count = whole.graph, len(graph.params)
    params = [p for k, p in enumerate(graph.params[:count]) if k not in holders]
    read: list[tuple[int, Key]] = []
    grown = [k for k, kind in holders.items() if kind.count == APPENDED]
    written: list[tuple[int, Key]] = [(k, APPENDED) for k in grown]
    finals: list[Operand] = [graph.params[k] for k in grown]
    try:
        for k, kind in holders.items():
            if k in grown:
                continue
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
    begin = _new_lists(graph, grown)
    made = Graph(graph.name, (*params, *graph.params[count:]), (*begin, *graph.nodes, last), (result,))
    rest = tuple(k for k in range(count) if k not in holders)
    return Opened(drop_dead(made, OPS), tuple(holders.items()), rest, tuple(read), tuple(written), whole)


def packed(graph: Graph, holders: Mapping[int, Holder]) -> Opened | None:
    """The graph on what dicts with these keys hold, where it does more with them: it makes dicts of its own.

    Tracing goes through them and knows what they hold, so that nothing may be left of them; a graph that adds
    keys, or takes some away, ends with an error."""
    whole = lifted(graph)
    graph, count = whole.graph, len(graph.params)
    grown = [k for k, one in holders.items() if one.count == APPENDED]
    dicts = {k: one for k, one in holders.items() if one.cls is dict}
    if len(dicts) + len(grown) < len(holders):
        return None
    params = [p for k, p in enumerate(graph.params[:count]) if k not in holders]
    read = tuple((k, name) for k, one in dicts.items() for name in one.keys)
    first, last = [*_new_lists(graph, grown)], list[Node]()
    finals = [graph.params[k] for k in grown]
    for k, one in dicts.items():
        fields = [Value(OBJECT, str(name)) for name in one.keys]
        pairs = [x for name, field in zip(one.keys, fields, strict=True) for x in (Const(name), field)]
        params += fields
        first.append(Node("py.dict", tuple(pairs), (graph.params[k],)))
        last += _as_before(graph.params[k], one.keys)
        for name in one.keys:
            finals.append(Value(OBJECT, str(name)))
            last.append(Node("getitem", (graph.params[k], Const(name)), (finals[-1],)))
    outputs = (*graph.results, *finals)
    result = Value(TupleType(tuple(static_or_weak(x.type) for x in outputs)))
    nodes = (*first, *graph.nodes, *last, Node("py.tuple", outputs, (result,)))
    made = Graph(graph.name, (*params, *graph.params[count:]), nodes, (result,))
    rest = tuple(k for k in range(count) if k not in holders)
    written = (*((k, APPENDED) for k in grown), *read)
    return Opened(made, tuple(holders.items()), rest, read, written, whole)


def _new_lists(graph: Graph, grown: Sequence[int]) -> Iterator[Node]:
    """The nodes that make lists in the place of inputs that are appended to."""
    for k in grown:
        yield Node("py.list", (), (graph.params[k],))


def appended(graph: Graph) -> frozenset[int]:
    """The inputs that may be lists, and are appended to and nothing else."""
    found = [k for k, p in enumerate(graph.params) if p.type in (OBJECT, ObjectType(list))]
    return frozenset(k for k in found if _only_grows(graph, graph.params[k]))


def _only_grows(graph: Graph, x: Value) -> bool:
    used = users(graph, x)
    return bool(used) and x not in graph.results and all(_grows(graph, node, k) for node, k in used)


def _grows(graph: Graph, node: Node, k: int) -> bool:
    """Whether a node that takes a list as this input is on the way to append to it."""
    if node.regions:
        inside = inner_names(node, k)
        return bool(inside) and all(p not in g.results and _all_grow(g, p) for g, p in inside)
    name = node.inputs[1] if node.op == "py.getattr" else None
    if not isinstance(name, Const) or name.value != "append":
        return False
    (method,) = node.outputs
    calls = users(graph, method)
    return method not in graph.results and all(
        n.op == "py.call" and i == 0 and not n.keywords and not users(graph, n.outputs[0]) for n, i in calls
    )


def _all_grow(graph: Graph, x: Value) -> bool:
    return all(_grows(graph, node, k) for node, k in users(graph, x))


def _as_before(x: Value, keys: tuple[Key, ...]) -> Iterator[Node]:
    """The nodes that fail where a dict has other keys than before."""
    found, same = Value(ObjectType(tuple)), Value(OBJECT)
    yield Node("py.call", (Const(tuple), x), (found,))
    yield Node("eq", (found, Const(keys)), (same,))
    raised = Node("raise", (Const(KeyError("a dict with other keys")),))
    arms = (Graph("true", (), (), ()), Graph("false", (), (raised,), (), diverges=True))
    yield Node("cond", (same,), regions=arms)


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
        at = {field: i for i, field in enumerate(self.read)}
        begin = bare(load(plan_source(self.outside.begin), part=True)) if self.outside.begin.nodes else None

        def run(*args: Any) -> Any:
            for k, one in holders:
                if not one.fits(args[k]):
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
                if (k, name) not in at:
                    args[k].extend(x)
                elif _as_it_was(x, held[at[k, name]]):
                    continue
                elif type(args[k]) in (dict, list):
                    args[k][name] = x
                else:
                    setattr(args[k], str(name), x)
            return found[0]

        return run

    def values(self, args: Sequence[Any]) -> list[Any] | None:
        """What the fields hold; None where one holds nothing or is no plain field, or two objects are one."""
        objects = {k: args[k] for k, _ in self.holders}
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


def _as_it_was(x: Any, before: Any) -> bool:
    """Whether a field holds what it did: numbers come back from native code as other objects."""
    if x is before:
        return True
    return type(x) is type(before) and type(x) in (int, float) and x == before and str(x) == str(before)


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
