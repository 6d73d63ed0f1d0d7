"""Objects that a part of a plan takes, opened: it works on what they hold, and puts it back at its end.

In: the graph of a part, and what some of its inputs are.  Out: `Opened`, a graph that takes the fields, with
what reads and writes them; None where a part does more with an object than to read and write fields.
What always holds: the part runs no code that could look at the object meanwhile, and what is put back is what
the part would have left there.  A part that does not get to its end is done again from the start, as it was.
"""

from __future__ import annotations

import dataclasses
import gc
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from runtime.boxes import Cell
from runtime.dataclass import dataclass
from runtime.execute import traceback
from runtime.execute.loader import bare, load
from runtime.execute.native.lifted import Lifted, asked, lifted
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.walk import map_regions
from runtime.ops.table import OPS
from runtime.passes.dead import drop_dead
from runtime.passes.fields import Key, NeededItself, Values, inner_names
from runtime.passes.rewrite import exchanged, users, with_nodes
from runtime.passes.unread import only_slots, ordinary
from runtime.syntax import is_name
from runtime.types import OBJECT, ObjectType, TupleType, static_or_weak

_NOTHING = object()
_SHOWN = sys.version_info < (3, 13)  # whether the dict of an object is among what it refers to
_GIVEN_UP = object()
MANY_KEYS = 64
APPENDED: Any = -1 << 40  # no index of an item
_FILE = "<autograph: a part on what objects hold>"
_OF_USERS = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that a class statement made
traceback.register_hidden(_FILE)
Fields = tuple[tuple[int, Key], ...]  # of which input, which field
Run = Callable[..., Any]


@dataclass(frozen=True)
class Holder:
    """What holds fields: the class of an object, dict or list.  count: of the items of a list, or APPENDED
    where the part only appends to it.  keys: of a dict, where they must be known."""

    cls: type[Any]
    count: int = 0
    keys: tuple[Key, ...] = ()


def may_hold(cls: type) -> bool:
    """Whether reading fields of objects of a class does nothing but read them."""
    if cls is dict or cls is list:
        return True
    holds = getattr(cls, "__dictoffset__", 0) != 0 or only_slots(cls)
    own = cls.__flags__ & _OF_USERS and not issubclass(cls, type) and holds
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
    outside = lifted(graph)
    graph, count = outside.graph, len(graph.params)
    params = [p for k, p in enumerate(graph.params[:count]) if k not in holders]
    read: list[tuple[int, Key]] = []
    grown = [k for k, kind in holders.items() if kind.count == APPENDED]
    written: list[tuple[int, Key]] = [(k, APPENDED) for k in grown]
    finals: list[Operand] = [graph.params[k] for k in grown]
    before: dict[int, tuple[Graph, Value, Values]] = {}
    try:
        for k, kind in holders.items():
            if k in grown:
                continue
            known = graph.params[k]
            graph = _trusting(graph, known, kind.cls)
            values = _values(kind)
            names, changed = values.touched([(graph, known)])
            before[k] = graph, known, values
            if kind.cls not in (dict, list) and not all(is_name(str(name)) for name in names):
                return None
            if _flags(graph, known, values):
                return None
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
    made = drop_dead(made, OPS)
    used = {x for node in made.nodes for x in node.inputs}
    rest = tuple(k for k in range(count) if k not in holders)
    fields = made.params[len(rest) : len(made.params) - (len(graph.params) - count)]
    needed = [field in used for field in fields]  # not those that are written whatever happens
    made = dataclasses.replace(
        made, params=tuple(p for p in made.params if p not in fields or needed[fields.index(p)])
    )
    read = [field for field, wanted in zip(read, needed, strict=True) if wanted]
    unread = [field for field in written if field not in read]
    new = {k: {name for i, name in unread if i == k} for k in before}
    unsure = {k for k, how in before.items() if not _in_order(*how, new[k])[1]}
    there = tuple((k, name) for k, name in unread if k in unsure)
    return Opened(made, tuple(holders.items()), rest, tuple(read), tuple(written), outside, there)


def _in_order(graph: Graph, known: Value, values: Values, names: set[Key]) -> tuple[list[Key], bool]:
    """The order in which fields of these names are written first, and whether it is the same on all ways
    through the graph: an object that does not have them yet gets them in this order."""
    found: dict[Key, None] = {}
    for node, k in users(graph, known):
        if node.op == values.write_op:
            found.update(dict.fromkeys(names & {values.key(node)}))
        ways = [_in_order(g, p, values, names) for g, p in inner_names(node, k) if not g.diverges]
        new = [[name for name in way if name not in found] for way, _ in ways]
        often = node.op != "cond" and any(new)  # a loop may have no trip
        if often or not all(same for _, same in ways) or any(way != new[0] for way in new):
            return list(found), len(names) < 2
        found.update(dict.fromkeys(new[0] if new else ()))
    return list(found), True


def _trusting(graph: Graph, x: Value, cls: type) -> Graph:
    """The graph where nothing asks whether a value is of the class that it is known to be of."""
    swap: dict[Value, Operand] = {}
    nodes = []
    for node in graph.nodes:
        node = exchanged(node, swap)
        wanted = node.inputs[1] if node.op == "py.expect" and node.inputs[0] is x else None
        if isinstance(wanted, Const) and wanted.value == ObjectType(cls):
            swap[node.outputs[0]] = x
            continue
        inner = {g: p for k, y in enumerate(node.inputs) if y is x for g, p in inner_names(node, k)}
        nodes.append(map_regions(node, lambda g: _trusting(g, inner[g], cls) if g in inner else g))  # noqa: B023  called here
    return with_nodes(graph, nodes, swap)


def _flags(graph: Graph, x: Value, values: Values) -> set[Key]:
    """The fields that tests of `while` loops ask for their truth, and their bodies don't write: others may
    write them, to end the loop."""
    found = set[Key]()
    for node, k in users(graph, x):
        inside = inner_names(node, k)
        found = found.union(*(_flags(region, inner, values) for region, inner in inside))
        tests = [
            (region, inner) for region, inner in inside if node.op == "while" and region is node.regions[0]
        ]
        if tests:
            found |= _asked_for(*tests[0], values) - {*values.touched(inside)[1]}
    return found


def _asked_for(graph: Graph, x: Value, values: Values) -> set[Key]:
    """The fields that the test of a loop asks for their truth."""
    found, flags = set[Key](), asked(graph)
    for node, k in users(graph, x):
        found = found.union(*(_asked_for(region, inner, values) for region, inner in inner_names(node, k)))
        if flags.intersection(node.outputs) and not node.regions:
            found.add(values.key(node))
    return found


def packed(graph: Graph, holders: Mapping[int, Holder]) -> Opened | None:
    """The graph on what dicts with these keys hold, where it does more with them: it makes dicts of its own.

    Tracing goes through them and knows what they hold, so that nothing may be left of them; a graph that adds
    keys, or takes some away, ends with an error."""
    outside = lifted(graph)
    graph, count = outside.graph, len(graph.params)
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
    return Opened(made, tuple(holders.items()), rest, read, written, outside)


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
    if node.op == "py.expect":
        return k == 0 and node.outputs[0] not in graph.results and _all_grow(graph, node.outputs[0])
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


def whole(graph: Graph) -> Opened | None:
    """A graph on what the objects and dicts among its parameters hold, where tracing knows what that is, and
    on what it reads outside."""
    holders = {
        k: Holder(p.type.cls)
        for k, p in enumerate(graph.params)
        if isinstance(p.type, ObjectType) and p.type.cls not in (None, list) and may_hold(p.type.cls)
    }
    inside = opened(graph, holders) if holders or lifted(graph).begin.nodes else None
    if inside is None or any(isinstance(p.type, ObjectType) for p in inside.graph.params):
        return None
    return inside


def _values(kind: Holder) -> Values:
    if kind.cls is list:
        return Values("getitem", OPS, length=kind.count)
    if kind.cls is dict:
        return Values("getitem", OPS)
    return Values("py.getattr", OPS, plain=kind.cls is Cell or ordinary(kind.cls), box=kind.cls is Cell)


@dataclass(frozen=True)
class Opened:
    """graph: takes the other inputs, the fields that are read, what is lifted; yields a result and what is
    written.  holders: inputs that are opened.  rest: those that are not.  there: fields that are written
    only, and must be there before: new ones would come in an order that is not known."""

    graph: Graph
    holders: tuple[tuple[int, Holder], ...]
    rest: tuple[int, ...]
    read: Fields
    written: Fields
    outside: Lifted
    there: Fields = ()

    def around(self, part: Run, plan: Callable[[], Run], other: Run, nested: bool = False) -> Run:
        """What does the whole by a part that does the graph, by the plan where that is given up, and by
        something else where the inputs are held otherwise.  nested: the part opens what fields hold."""
        space: dict[str, Any] = {"part": part, "plan": plan, "other": other, "values": self.values}
        space |= {"given_up": _GIVEN_UP, "outside": self.outside.holders, "above": _above}
        space |= {"nested": nested, "one_place": _one_place}
        if self.outside.begin.nodes:
            space["begin"] = bare(load(plan_source(self.outside.begin), part=True))
        exec(compile(self.text(space), _FILE, "exec"), space)
        run: Run = space["run"]
        return run

    def text(self, space: dict[str, Any]) -> str:
        """The function around the part, as text; what its names stand for is added to `space`."""
        args = [f"a{k}" for k in range(len(self.rest) + len(self.holders))]
        every, held = ", ".join(args), [f"f{i}" for i in range(len(self.read))]
        leave = f"return plan()({every})"
        lines = []
        for k, one in self.holders:
            space |= {f"C{k}": one.cls, f"M{k}": one.cls.__mro__, f"K{k}": one.keys}
            space[f"T{k}"] = [type(key) for key in one.keys]
            lines.append(f"if {_misfit(k, one)}: return other({every})")
        whose = f"({''.join(f'a{k}, ' for k, _ in self.holders)})"
        asked = "" if len(self.holders) > 1 or self.outside.holders else "above.holders and "
        if self.holders:
            lines.append(f"if {asked}one_place({whose}, above.holders, outside): {leave}")
        places = ", ".join(_place(self.held_by(k), k, name) for k, name in self.read)
        reads = [f"{_names(held)} = {places + ',' if held else '()'}"]
        reads += [_place(self.held_by(k), k, name) for k, name in self.there]
        said = [self.said(k, space) for k, one in self.holders if one.cls not in (dict, list)]
        if any(said):
            odd = [f"held = values(({every},))", "if held is None: raise KeyError", f"{_names(held)} = held"]
            reads = [f"if {' or '.join(filter(None, said))}:", *_indented(odd), "else:", *_indented(reads)]
        outer = [f"o{i}" for i in range(len(self.graph.params) - len(self.rest) - len(held))]
        inside = self.call([*(args[k] for k in self.rest), *held, *outer], whose, leave, space)
        if "begin" in space:  # where a name means something else, the plan says so
            inside = _trying([f"{_names(outer)} = begin()"], "Exception", inside)
        lines += _trying(reads, "(AttributeError, KeyError, NameError)", inside)
        return "\n".join([f"def run({every}):", *_indented([*lines, leave]), ""])

    def call(self, given: Sequence[str], whose: str, leave: str, space: dict[str, Any]) -> list[str]:
        """Lines that call the part with what was read and write what it gives.  space: what names stand for;
        whose: the holders, as text."""
        first = len(self.rest)
        call = [f"found = part({', '.join(given)})"]
        if space["nested"]:
            call = ["before = above.holders", f"above.holders = {whose} + before", "try:", f"    {call[0]}"]
            call += ["finally:", "    above.holders = before"]
        lines = [*call, f"if found is given_up: {leave}"]
        for i, (k, name) in enumerate(self.written, 1):
            store = f"{_place(self.held_by(k), k, name)} = found[{i}]"
            if name is APPENDED:
                store = f"a{k}.extend(found[{i}])"
            elif (k, name) in self.read:
                store = f"if found[{i}] is not {given[first + self.read.index((k, name))]}: {store}"
            lines.append(store)
        return [*lines, "return found[0]"]

    def held_by(self, k: int) -> type:
        """The class of an input that is opened."""
        return dict(self.holders)[k].cls

    def said(self, k: int, space: dict[str, Any]) -> str:
        """A condition: that a class says something of a field of its objects, but that it is a slot."""
        names = {str(name) for i, name in self.read + self.written if i == k and name is not APPENDED}
        if not names or self.held_by(k) is Cell:  # what it holds is a property, of our own
            return ""
        classes = [c for c in self.held_by(k).__mro__ if c is not object]
        space |= {f"C{k}_{i}": c for i, c in enumerate(classes)}
        free = []
        for number, name in enumerate(sorted(names)):
            at = next((i for i, c in enumerate(classes) if name in c.__dict__), len(classes))
            slot = classes[at].__dict__[name] if at < len(classes) else None
            if isinstance(slot, types.MemberDescriptorType):
                names.discard(name)
                space[f"S{k}_{number}"] = slot
                free += [f"{name!r} not in C{k}_{i}.__dict__" for i in range(at)]
                free.append(f"C{k}_{at}.__dict__.get({name!r}) is S{k}_{number}")
        space[f"N{k}"] = frozenset(names)
        every = range(len(classes) if names else 0)
        free += [f"C{k}_{i}.__dict__.keys().isdisjoint(N{k})" for i in every]
        return f"C{k}.__mro__ is not M{k} or not ({' and '.join(free)})"

    def values(self, args: Sequence[Any]) -> list[Any] | None:
        """What the fields hold; None where one holds nothing or is no plain field."""
        if any(type(args[k]) not in (dict, list) and _described(args[k], name) for k, name in self.written):
            return None
        found = []
        for k, name in self.read + self.there:
            x = _field(args[k], name, (k, name) in self.written)
            if x is _NOTHING:
                return None
            found.append(x)
        return found[: len(self.read)]


class _Above(threading.local):
    """holders: what parts around the one that runs have opened, in this thread."""

    holders: tuple[Any, ...] = ()


_above = _Above()


def _one_place(holders: Sequence[Any], above: Sequence[Any], outside: frozenset[int]) -> bool:
    """Whether two holders keep their fields in one place, or one in a dict that is read outside."""
    places = [id(_place_of(x)) for x in (*holders, *above)]
    return len({*places}) < len(places) or not outside.isdisjoint(places)


def _place_of(x: Any) -> Any:
    """What holds the fields of a holder: itself, or the dict of an object, which others may have, too."""
    if type(x) is Cell:
        return x.cell
    if type(x) is dict or type(x) is list or only_slots(type(x)):
        return x
    if _SHOWN and not any(isinstance(held, dict) for held in gc.get_referents(x)):
        return x  # it has no dict yet, and reads of its fields are faster as long as it has none
    return x.__dict__


def _misfit(k: int, one: Holder) -> str:
    """A condition: that an input does not hold fields in this way."""
    if one.cls is list and one.count != APPENDED:
        return f"type(a{k}) is not C{k} or len(a{k}) != {one.count}"
    if one.keys:
        return f"type(a{k}) is not C{k} or tuple(a{k}) != K{k} or [*map(type, a{k})] != T{k}"
    return f"type(a{k}) is not C{k}"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _trying(first: Sequence[str], errors: str, then: Sequence[str]) -> list[str]:
    """Lines that go on with `then` unless the first raise one of these errors: what follows is no part of its
    handler, so that no error of the user's has it for a context."""
    return ["try:", *_indented(first), f"except {errors}: pass", "else:", *_indented(then)]


def _place(cls: type, k: int, name: Key) -> str:
    return f"a{k}[{name!r}]" if cls in (dict, list) else f"a{k}.{name}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) + ("," if names else "_")


def _field(x: Any, name: Any, written: bool) -> Any:
    """What a field holds; nothing where it is not the object alone that says so."""
    if type(x) is list:
        return x[name]
    if type(x) is dict:
        return x.get(name, _NOTHING)
    first = next((c.__dict__[name] for c in type(x).__mro__ if name in c.__dict__), None)
    if isinstance(first, types.MemberDescriptorType):
        return getattr(x, name, _NOTHING)
    said = any(name in c.__dict__ for c in type(x).__mro__)
    if type(x) is Cell:
        return x.value if _has_value(x) else _NOTHING
    if _described(x, name) or (said and written and name not in vars(x)):
        return _NOTHING
    return getattr(x, name, _NOTHING)


def _has_value(x: Cell) -> bool:
    try:
        return bool([x.cell.cell_contents])
    except ValueError:
        return False


def _described(x: Any, name: Any) -> bool:
    """Whether a class decides what writing a field of its objects does."""
    found = [c.__dict__[name] for c in type(x).__mro__ if name in c.__dict__]
    return type(x) is not Cell and any(
        hasattr(type(y), "__set__") and not isinstance(y, types.MemberDescriptorType) for y in found
    )
