"""Objects that may be one, and what is known of them: what the rewriting of `handed` goes by.

In: a graph.  Out: `Families`.  What always holds: objects of which one may be another are in one family; of a
family at most one is made, so that none is there twice.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runtime.dataclass import dataclass
from runtime.ir.effects import effect_of, plain_exception, tame
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import EFFECT, OpDef
from runtime.ir.walk import walk_graphs
from runtime.passes.rewrite import users
from runtime.passes.unread import ATTRIBUTE_WRITES, kept, makes, plain
from runtime.types import OBJECT, ArrayType, ObjectType, Type, WeakType, join, static_or_weak

DEPTH = 3  # of objects in objects
_ZEROS = {"bool": False, "int": 0, "float": 0.0, "complex": 0j}
NO, YES = Const(False), Const(True)
_QUIET = frozenset({"py.check", "py.bound", "py.expect", "py.global", "raise"})
_METHODS = frozenset({"append", "pop", "clear", "insert", "reverse", "copy"})  # of lists: they run no code
Names = tuple[str, ...]


class Needed(Exception):
    """An object is needed itself.  who: what it comes from; empty: nothing can be done about it."""

    def __init__(self, who: frozenset[Value] = frozenset()) -> None:
        self.who = who


@dataclass(eq=False)
class Made:
    """An object as values.

    key: the value that stood for it first.  fields: what it holds, in order; objects among it are values,
    too.  new: whether the graph makes it.  real: what it is where it does not; several: there is more than
    one such object.  depth, loops: of the region where it is made or handed on to, and how many loops are
    around it.  handed: whether another one may be the same by now."""

    key: Value
    cls: type
    fields: dict[str, Operand]
    depth: int
    loops: int = 0
    new: Operand = YES
    real: Value | None = None
    several: bool = False
    handed: bool = False


@dataclass(frozen=True)
class Shown:
    """The types of fields that are read of an object, and of those that it holds, by their names.

    sure: whether that is all that is ever read of them."""

    types: Mapping[Names, Type]
    sure: bool = True


Known = dict[Value, Made]


def is_object(t: Type) -> bool:
    """Whether values of a type are objects of one class of the user's."""
    return isinstance(t, ObjectType) and t.cls is not None and plain(t.cls)


def class_of(t: Type) -> type | None:
    """The class of the values of a type, where it is known."""
    return t.cls if isinstance(t, ObjectType) else None


def is_maker(node: Node) -> bool:
    return node.op == "py.call" and makes(node) and is_object(node.outputs[0].type)


class Families:
    """One attempt.  left: values that stay objects.  gained: whether a loop or branch hands on values now."""

    def __init__(self, graph: Graph, table: Mapping[str, OpDef], left: frozenset[Value]) -> None:
        self.graph, self.table, self.left, self.gained = graph, table, left, False
        self.families: dict[Value, set[Value]] = {}  # of objects that may be one: all have the same set
        self.made: set[Value] = set()
        self.written: set[Value] = set()  # in a loop around which they were made
        self.layouts: dict[type, Names | None] = {}
        self.calmness: dict[type, bool] = {}
        self.keys: dict[tuple[Value, Names], Value] = {}
        self.homes = {
            region: (outer, n, k)
            for outer in walk_graphs(graph)
            for n in outer.nodes
            for k, region in enumerate(n.regions)
        }

    # ------------------------------------------------------------------ families
    def family(self, key: Value) -> set[Value]:
        """All objects that may be the same one."""
        return self.families.setdefault(key, {key})

    def related(self, *keys: Value) -> None:
        """These may be one object from now on."""
        whole = set[Value]().union(*(self.family(key) for key in keys))
        for key in whole:
            self.families[key] = whole
        if whole & self.written or len(whole & self.made) > 1:
            raise Needed(frozenset(whole))

    def key(self, x: Value, path: Names) -> Value:
        """What stands for an object that others hold, where they are handed on as `x`."""
        return self.keys.setdefault((x, path), Value(OBJECT)) if path else x

    def refuse(self, *which: Made) -> Needed:
        """The error that these objects are needed themselves."""
        return Needed(frozenset().union(*(self.family(one.key) for one in which)))

    def layout(self, cls: type, left: Value) -> Names:
        """The names of the fields of all objects of a class that the graph makes, in order."""
        if cls not in self.layouts:
            every: set[Names] = set()
            for graph in walk_graphs(self.graph):
                for node in graph.nodes:
                    if is_maker(node) and node.outputs[0].type == ObjectType(cls):
                        writes = [
                            n for n, k in users(graph, node.outputs[0]) if n.op in ATTRIBUTE_WRITES and k == 0
                        ]
                        names = [n.inputs[1].value for n in writes if isinstance(n.inputs[1], Const)]
                        every.add(tuple(dict.fromkeys(map(str, names))))
            self.layouts[cls] = every.pop() if len(every) == 1 else None
        layout = self.layouts[cls]
        if layout is None:
            raise Needed(frozenset({left}))
        return layout

    def shown(self, graph: Graph, node: Node, at: int) -> Shown:
        """What is read of what a loop or branch hands on, wherever it gets to: the object has these."""
        found: dict[Names, Type] = {}
        seen: set[tuple[Value, Names]] = set()
        sure = True
        left: list[tuple[Graph, Value, Names]] = [
            (g, x, ()) for g, x in ((graph, node.outputs[at]), *carried_to(node, at))
        ]
        while left:
            where, value, path = left.pop()
            if (value, path) in seen or len(path) > DEPTH:
                continue
            seen.add((value, path))
            for user, k in users(where, value):
                name = user.inputs[1] if user.op == "py.getattr" and k == 0 else None
                if isinstance(name, Const) and user.outputs[0].type != OBJECT:
                    to, t = (*path, name.value), user.outputs[0].type
                    found[to] = join(found[to], t) if to in found else t
                    left.append((where, user.outputs[0], to))
                sure &= user.op not in ATTRIBUTE_WRITES or k != 2
                left += [(g, x, path) for g, x in goes_to(where, user, k)]
            home = self.homes.get(where)
            if home is not None and not where.diverges and not (home[1].op == "while" and home[2] == 0):
                for index, result in enumerate(where.results):
                    if result is value and home[1].op in ("cond", "while", "for"):
                        left.append((home[0], home[1].outputs[index], path))
                        left += [(g, x, path) for g, x in carried_to(home[1], index)]
        return Shown(found, sure)

    def calm(self, cls: type) -> bool:
        """Whether nothing in the graph can write to objects of a class that come from outside."""
        if cls not in self.calmness:
            graphs = walk_graphs(self.graph)
            self.calmness[cls] = all(_Calm(graph, cls, self.table).holds() for graph in graphs)
        return self.calmness[cls]


class _Calm:
    """Whether one region runs no code that could write to objects of a class, and writes to none itself but
    to those that it has just made."""

    def __init__(self, graph: Graph, cls: type, table: Mapping[str, OpDef]) -> None:
        self.graph, self.cls, self.table = graph, cls, table
        self.methods: set[Operand] = set()  # of lists
        self.young: set[Operand] = set()  # made, and nothing else done to them yet

    def holds(self) -> bool:
        """The answer."""
        return all(map(self.node, self.graph.nodes))

    def node(self, node: Node) -> bool:
        """The same of one node."""
        first = node.inputs[0] if node.inputs else NO
        if is_maker(node):
            self.young.update(node.outputs)
            return True
        if node.op in ATTRIBUTE_WRITES:
            mine = first in self.young
            self.young.difference_update(node.inputs[1:])
            return mine or (class_of(first.type) not in (None, self.cls) and kept(node))
        self.young.difference_update(node.inputs)
        if node.regions:
            return self.around(node, first)
        if node.op == "py.getattr":
            return self.read(node, first)
        if node.op == "setitem":
            return class_of(first.type) is list or isinstance(first.type, ArrayType)
        if effect_of(node, self.table) != EFFECT or node.op in _QUIET:
            return True
        return node.op == "py.call" and self.call(node, first)

    def around(self, node: Node, first: Operand) -> bool:
        """Of what a node with regions does besides them."""
        if node.op == "while":
            return bool(node.regions[0].results) and tame(node.regions[0].results[0].type)
        if node.op == "for":
            made = isinstance(first.type, ObjectType) and first.type.item is not None
            return made or tame(first.type)
        return node.op == "try" or (node.op == "cond" and tame(first.type))

    def read(self, node: Node, first: Operand) -> bool:
        """Of a read of an attribute."""
        cls, name = class_of(first.type), node.inputs[1]
        if isinstance(first, Const) or not isinstance(name, Const):
            return isinstance(name, Const)
        if cls is list and name.value in _METHODS:
            self.methods.update(node.outputs)
        if cls is None:
            return not isinstance(first.type, ObjectType)
        if not cls.__flags__ & (1 << 9):
            return True
        found = inspect.getattr_static(cls, name.value, None)
        simple = isinstance(found, (types.FunctionType, types.MemberDescriptorType))
        own: Any = cls.__getattribute__
        ordinary = own is object.__getattribute__ and not hasattr(cls, "__getattr__")
        return ordinary and (simple or not hasattr(type(found), "__get__"))

    def call(self, node: Node, first: Operand) -> bool:
        """Of a call."""
        if makes(node) or first in self.methods:
            return True
        target: Any = first.value if isinstance(first, Const) else None
        if any(target is one for one in (range, enumerate, zip, len)):
            return all(tame(x.type) or getattr(x.type, "item", None) for x in node.inputs[1:])
        return isinstance(target, type) and plain_exception(target)


def goes_to(graph: Graph, node: Node, k: int) -> Iterator[tuple[Graph, Value]]:
    """Where an operand of a node goes on, and in which graph."""
    if node.op not in ("cond", "while", "for"):
        return
    first, count = int(node.op in ("cond", "for")), node.attr("carries", 0)
    if first <= k < first + count:
        yield graph, node.outputs[k - first]
        yield from carried_to(node, k - first)
    elif k >= first:
        for i, region in enumerate(node.regions):
            yield region, region.params[k - first + int(node.op == "for" and i == 0)]


def carried_to(node: Node, at: int) -> Iterator[tuple[Graph, Value]]:
    """What stands for a carry in the regions of a loop."""
    for i, region in enumerate(node.regions if node.op != "cond" else ()):
        yield region, region.params[at + int(node.op == "for" and i == 0)]


def zero_of(t: Type) -> Const | None:
    """Some value of a type."""
    if isinstance(t, WeakType):
        return Const(_ZEROS[t.kind])
    return Const(t.dtype.type(0)) if isinstance(t, ArrayType) and t.scalar else None


def names_of(objects: Sequence[Made]) -> Names | None:
    """The names of the fields of all objects; None where objects that are made have others, or in another
    order."""
    found = {tuple(one.fields) for one in objects if one.new is not NO}
    every = dict.fromkeys(name for one in objects for name in one.fields)
    longest = max(found, key=len, default=tuple(every))
    return longest if found <= {longest} and every.keys() <= set(longest) else None


def joined_type(xs: Sequence[Operand]) -> Type:
    found = static_or_weak(xs[0].type)
    for x in xs[1:]:
        found = join(found, static_or_weak(x.type))
    return found
