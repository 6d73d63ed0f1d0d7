"""What a part of a plan reads outside of itself, read before it: names of modules, classes and functions.

In: a graph.  Out: `Lifted`.  What always holds: only what is read from modules, classes, functions and the
dicts of globals is lifted, which nothing but code could change, and a part that is lifted from runs none.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import types
from abc import ABCMeta
from enum import EnumMeta
from typing import Any

from runtime.dataclass import dataclass
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.passes.rewrite import constant_key, exchanged, put
from runtime.types import TupleType

_CHECKS = frozenset({"py.check", "py.expect"})
_OF_FUNCTIONS = frozenset({"__func__", "__defaults__", "__kwdefaults__"})
_OF_USERS = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_REGIONS = frozenset({"cond", "while", "for"})


@dataclass(frozen=True)
class Lifted:
    """graph: takes what `begin`, a graph that gives a tuple, gives as its last parameters.  holders: the
    addresses of dicts that `begin` reads."""

    graph: Graph
    begin: Graph
    holders: frozenset[int]


def lifted(graph: Graph) -> Lifted:
    """The graph with what it reads outside before it."""
    work = _Lift()
    made, taken = work.region(graph)
    made = dataclasses.replace(made, params=(*made.params, *taken.values()))
    whole = Value(TupleType(tuple(x.type for x in taken)))
    nodes = (*work.nodes, Node("py.tuple", tuple(taken), (whole,)))
    begin = Graph(f"{graph.name}_begin", (), nodes if work.nodes else (), (whole,))
    return Lifted(made, begin, frozenset(work.holders))


def asked(graph: Graph) -> frozenset[Operand]:
    """The values whose truth is asked in the test of a `while`: flags, by which others may end the loop."""
    asking = [n.inputs[0] for n in graph.nodes if n.op in ("cond", "py.not", "py.truth")]
    return frozenset([*asking, *graph.results])


class _Lift:
    """nodes: those that are done before."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.known: dict[Any, tuple[Value, ...]] = {}
        self.chains: set[Value] = set()  # what attributes of functions gave
        self.holders: set[int] = set()

    def region(self, graph: Graph, testing: bool = False) -> tuple[Graph, dict[Value, Value]]:
        """A region without such reads, and what it takes instead: lifted values and their names in it.

        testing: it is part of the test of a `while`."""
        kept = asked(graph) if testing else frozenset[Operand]()
        here: dict[Value, Value] = {}  # lifted: its name
        there: dict[Value, Value] = {}  # the other way
        swap: dict[Value, Operand] = {}
        nodes: list[Node] = []
        checked = _only_checked(graph)
        for node in graph.nodes:
            node = exchanged(node, swap)
            inputs = tuple(there.get(x, x) if isinstance(x, Value) else x for x in node.inputs)
            if self.fits(node, inputs, checked) and not kept.intersection(node.outputs):
                for old, new in zip(node.outputs, self.done(node, inputs), strict=True):
                    name = here.setdefault(new, Value(new.type, new.name))
                    there[name], swap[old] = new, name
                continue
            if node.op in _REGIONS:
                node = self.inside(node, here, there, testing)
            nodes.append(node)
        results = tuple(put(x, swap) for x in graph.results)
        used = {x for n in nodes for x in n.inputs} | set(results)
        taken = {new: name for new, name in here.items() if name in used}
        return dataclasses.replace(graph, nodes=tuple(nodes), results=results), taken

    def inside(self, node: Node, here: dict[Value, Value], there: dict[Value, Value], testing: bool) -> Node:
        """A node whose regions take what was lifted out of them."""
        made = [
            self.region(region, testing or (node.op == "while" and k == 0))
            for k, region in enumerate(node.regions)
        ]
        taken = dict.fromkeys(new for _, inner in made for new in inner)
        for new in taken:
            name = here.setdefault(new, Value(new.type, new.name))
            there[name] = new
        regions = tuple(
            dataclasses.replace(
                region, params=(*region.params, *(inner.get(new) or Value(new.type) for new in taken))
            )
            for region, inner in made
        )
        return dataclasses.replace(
            node, inputs=(*node.inputs, *(here[new] for new in taken)), regions=regions
        )

    def fits(self, node: Node, inputs: tuple[Operand, ...], checked: set[Value]) -> bool:
        """Whether a node reads outside only, or checks what was read.  checked: to these, nothing else is
        done."""
        if node.op in _CHECKS:
            lead = inputs[0]
            return not isinstance(lead, Value) or any(lead in outs for outs in self.known.values())
        first = inputs[0] if inputs else None
        if len(inputs) != 2 or not isinstance(inputs[1], Const) or node.keywords:
            return False
        if isinstance(first, Const):
            if node.op == "py.getattr":
                return _only_read(first.value, inputs[1].value)
            code = node.op == "py.global" and _is_code(first.value, inputs[1].value)
            if code and node.outputs[0] not in checked:
                return False  # what calls are made of; tracing knows better what it means
            return node.op in ("getitem", "py.global") and type(first.value) is dict
        if first in self.chains and node.op == "getitem":
            return True
        known = any(first in outs for outs in self.known.values())
        return known and node.op == "py.getattr" and inputs[1].value in _OF_FUNCTIONS

    def done(self, node: Node, inputs: tuple[Operand, ...]) -> tuple[Value, ...]:
        """What the node gives, done before."""
        key = node.op, tuple(constant_key(x.value) if isinstance(x, Const) else x for x in inputs)
        if key not in self.known:
            outputs = tuple(Value(x.type, x.name) for x in node.outputs)
            self.nodes.append(dataclasses.replace(node, inputs=inputs, outputs=outputs))
            self.known[key] = outputs
            if node.op == "py.getattr" and isinstance(inputs[1], Const) and inputs[1].value in _OF_FUNCTIONS:
                self.chains.update(outputs)
            if isinstance(inputs[0], Const) and type(inputs[0].value) is dict:
                self.holders.add(id(inputs[0].value))
        return self.known[key]


def _only_checked(graph: Graph) -> set[Value]:
    """The values in a region of which no more is asked than that they are what they were."""
    used = {x for node in graph.nodes for k, x in enumerate(node.inputs) if node.op != "py.check" or k > 0}
    used |= set(graph.results)
    checks = [node for node in graph.nodes if node.op == "py.check" and used.isdisjoint(node.outputs)]
    return {x for node in checks for x in node.inputs[:1] if isinstance(x, Value) and x not in used}


def _only_read(holder: Any, name: str) -> bool:
    """Whether reading an attribute of a module, class or function runs no code."""
    if isinstance(holder, types.FunctionType):
        return True
    if isinstance(holder, types.ModuleType):
        return type(holder) is types.ModuleType and "__getattr__" not in holder.__dict__
    if not isinstance(holder, type) or type(holder) not in (type, ABCMeta, EnumMeta):
        return False
    found = inspect.getattr_static(holder, name, None)
    if isinstance(found, classmethod) and not isinstance(found.__func__, types.FunctionType):
        return False
    kind = type(found)
    return not hasattr(kind, "__get__") or not kind.__flags__ & _OF_USERS


def _is_code(space: Any, name: Any) -> bool:
    """Whether a global name stands for a module, a class, or something to call."""
    found = space.get(name, getattr(builtins, str(name), None)) if type(space) is dict else None
    return isinstance(found, types.ModuleType) or callable(found)
