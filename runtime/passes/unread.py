"""Containers and objects that are made and filled, and never looked into.

In: a graph.  Out: the same without them.  What always holds: only what the program itself made goes, and only
where nobody could tell that it was there: it is not read, not handed on, not a result.
Tracing leaves them behind where it answers all reads itself.
"""

from __future__ import annotations

import enum
import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import OpDef
from runtime.ir.walk import map_graphs, map_regions, walk_graphs
from runtime.passes.dead import drop_dead
from runtime.passes.rewrite import exchanged, users, with_nodes
from runtime.tree import instance
from runtime.types import ObjectType

_DISPLAYS = frozenset({"py.list", "py.dict"})
_ITERATORS = (enumerate, zip, reversed)
_TAME: tuple[Any, ...] = (
    *_ITERATORS,
    list,
    tuple,
    dict,
    range,
    type({}.items()),
    type({}.keys()),
    type({}.values()),
)
_METHODS = frozenset({"append", "items", "keys", "values"})  # they raise nothing and run no code
ATTRIBUTE_WRITES = ("py.setattr", "py.setown")
_OF_USERS = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_REGIONS = frozenset({"cond", "while", "for"})


def drop_unread(graph: Graph, table: Mapping[str, OpDef]) -> Graph:
    """The graph without containers that nobody reads, those of its regions included."""
    homes: dict[Value, Graph] = {}
    owners: dict[Value, Operand] = {}  # of methods and what they give, and of what stands for one in a region
    for g in walk_graphs(graph):  # outer ones first
        for node in g.nodes:
            if makes(node) or makes_instance(node):
                homes[node.outputs[0]] = g
            elif _asks(node, homes):
                homes[node.outputs[0]], owners[node.outputs[0]] = g, node.inputs[0]
            for k, x in enumerate(node.inputs):
                for region, p in _inside(node, k) if x in homes else ():
                    homes[p], owners[p] = region, x
    while True:
        read = [x for x, g in homes.items() if not (owners.get(x, x) in homes and _unread(g, x, homes))]
        if not read:
            break
        for x in read:
            del homes[x]
    return drop_dead(_without(graph, homes), table) if homes else graph


def read_known(graph: Graph) -> Graph:
    """The graph in which what is read from displays that are only read stands in the place of the reads."""
    return map_graphs(graph, _read_known)


def _read_known(graph: Graph) -> Graph:
    swap: dict[Value, Operand] = {}
    for node in graph.nodes:
        if node.op in _DISPLAYS and not node.attrs and node.outputs[0] not in graph.results:
            used = users(graph, node.outputs[0])
            found = [(n, _held(node, n)) for n, k in used if k == 0 and n.op == "getitem"]
            if len(found) == len(used) and all(x is not None for _, x in found):
                swap.update((n.outputs[0], x) for n, x in found if x is not None)
    return with_nodes(graph, [exchanged(node, swap) for node in graph.nodes], swap) if swap else graph


def _held(display: Node, read: Node) -> Operand | None:
    """What a read of a display gives; None where it is something else than a read of a known item."""
    key = read.inputs[1]
    if not isinstance(key, Const) or type(key.value) not in (int, str):
        return None
    if display.op == "py.dict":
        pairs = zip(display.inputs[::2], display.inputs[1::2], strict=True)
        held = [x for name, x in pairs if isinstance(name, Const) and name.value == key.value]
    else:
        count = len(display.inputs)
        inside = type(key.value) is int and -count <= key.value < count
        held = [display.inputs[key.value]] if inside else []
    return held[-1] if held and held[-1].type == read.outputs[0].type else None


def makes(node: Node) -> bool:
    """Whether the node makes a new container or iterator of its operands, and runs no code of theirs."""
    if node.op in _DISPLAYS:
        return node.op == "py.list" or all(map(_is_key, node.inputs[::2]))
    if node.op == "getitem":
        key = node.inputs[1]
        return _is_list(node.inputs[0]) and isinstance(key, Const) and _cut(key.value)
    if node.op != "py.call" or node.keywords or not isinstance(node.inputs[0], Const):
        return False
    target: Any = node.inputs[0].value
    if target is object.__new__:
        cls = node.inputs[1]
        return isinstance(cls, Const) and isinstance(cls.value, type) and plain(cls.value)
    return any(target is cls for cls in _ITERATORS) and _goes_through(target, node.inputs[1:])


def makes_instance(node: Node) -> bool:
    """Whether the node makes an instance of a dataclass of its fields."""
    target = node.inputs[0] if node.op == "py.call" else None
    return isinstance(target, Const) and target.value is instance


def _is_key(x: Operand) -> bool:
    """Whether it is a constant that a dict takes for a key without running code of the user's."""
    return isinstance(x, Const) and _hashes(x.value)


def _hashes(value: Any) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return all(map(_hashes, value))
    own: Any = type(value).__hash__
    if not isinstance(own, types.WrapperDescriptorType):  # there is none, or it is written in Python
        return isinstance(value, enum.Enum) and own is enum.Enum.__hash__
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _cut(key: Any) -> bool:
    """Whether it is a slice that no list refuses."""
    parts = (key.start, key.stop, key.step) if isinstance(key, slice) else (0.5,)
    return all(part is None or type(part) is int for part in parts) and parts[-1] != 0


def _is_list(x: Operand) -> bool:
    return isinstance(x.type, ObjectType) and x.type.cls is list


def _goes_through(target: Any, given: Sequence[Operand]) -> bool:
    """Whether these arguments are what the iterator goes through, and it can't refuse them."""
    if target is reversed:
        only = given[0].type if len(given) == 1 else None
        return only is not None and _sequence(given[0]) and getattr(only, "cls", None) not in _ITERATORS
    if target is enumerate and len(given) == 2 and type(getattr(given[1], "value", None)) is int:
        given = given[:1]
    return all(map(_sequence, given)) and (target is zip or len(given) == 1)


def _sequence(x: Operand) -> bool:
    if isinstance(x, Const):
        return isinstance(x.value, (tuple, range, str, bytes))
    return isinstance(x.type, ObjectType) and x.type.cls in _TAME


def _asks(node: Node, homes: Mapping[Value, Graph]) -> bool:
    """Whether the node looks up one of the known methods of such a container, or calls it."""
    if not node.inputs or node.inputs[0] not in homes or node.keywords:
        return False
    if node.op == "py.getattr":
        t, name = node.inputs[0].type, node.inputs[1]
        tame = isinstance(t, ObjectType) and t.cls in (list, dict)
        return tame and isinstance(name, Const) and name.value in _METHODS
    return node.op == "py.call"


def ordinary(cls: type) -> bool:
    """Whether writing an attribute of an instance that is no descriptor only keeps the value."""
    own: Any = cls.__setattr__
    return own is object.__setattr__ and plain(cls)


def plain(cls: type) -> bool:
    """Whether instances of a class of the user's keep what they hold, and nothing happens when they die."""
    holds = getattr(cls, "__dictoffset__", 0) != 0 or only_slots(cls)
    return bool(cls.__flags__ & _OF_USERS) and holds and not hasattr(cls, "__del__")


def only_slots(cls: type) -> bool:
    """Whether instances of a class of the user's have slots and no dict."""
    no_dict = getattr(cls, "__dictoffset__", 0) == 0
    return no_dict and all(base is object or base.__flags__ & _OF_USERS for base in cls.__mro__)


def _inside(node: Node, k: int) -> list[tuple[Graph, Value]]:
    """The regions with what stands for an operand there, for one that they capture."""
    if node.op not in _REGIONS:
        return []
    before = 1 if node.op == "cond" else int(node.op == "for") + node.attr("carries")
    return [(g, g.params[k - len(node.inputs)]) for g in node.regions] if k >= before else []


def _unread(graph: Graph, x: Value, homes: Mapping[Value, Graph]) -> bool:
    """Whether nothing is done to the value but filling it, and putting it into others that are not read."""
    return x not in graph.results and all(_fills(node, k, homes) for node, k in users(graph, x))


def _fills(node: Node, k: int, homes: Mapping[Value, Graph]) -> bool:
    first: Operand = node.inputs[0]
    if node.regions:
        inside = _inside(node, k)
        return bool(inside) and all(p in homes for _, p in inside)
    if node.outputs and node.outputs[0] in homes:
        return True
    if node.op == "setitem":
        filled = isinstance(first.type, ObjectType) and first.type.cls is dict
        return first in homes and filled and _is_key(node.inputs[1]) and k != 1
    if node.op == "py.delitem":
        return first in homes and bool(node.attr("held"))
    if node.op in ATTRIBUTE_WRITES:
        return first in homes and kept(node)
    return False


def kept(node: Node) -> bool:
    """Whether an attribute is no descriptor of the object's class."""
    t, name = node.inputs[0].type, node.inputs[1]
    if not isinstance(t, ObjectType) or t.cls is None or not isinstance(name, Const):
        return False
    found = inspect.getattr_static(t.cls, name.value, None)
    simple = ordinary(t.cls) or (node.op == "py.setown" and plain(t.cls))
    described = hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType)
    return simple and not described and name.value != "__class__"


def _without(graph: Graph, gone: Mapping[Value, Graph]) -> Graph:
    """The graph without the nodes that make the values, fill them, or are done with them."""
    nodes = [map_regions(node, lambda g: _without(g, gone)) for node in graph.nodes]
    return with_nodes(graph, [node for node in nodes if not _goes(node, gone)])


def _goes(node: Node, gone: Mapping[Value, Graph]) -> bool:
    if node.regions:
        return False
    if node.op in ("setitem", "py.delitem", *ATTRIBUTE_WRITES):
        return node.inputs[0] in gone
    return bool(node.outputs) and node.outputs[0] in gone
