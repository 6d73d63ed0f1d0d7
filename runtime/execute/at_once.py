"""Loops over the elements of arrays, step by step for all elements that take the step.

In: the body of a loop over `elements` that only computes numbers and puts them into arrays.  Out: `AtOnce`:
called with the arrays it does all elements, and gives those that are left to do.  Branches and loops go by
sets of elements: each step is done for those that come to it, in one array.  What always holds: elements that
were done have what the body would have given them, to the bit; where that can't be sure (a number that may be
too large, something NumPy would warn of, whatever raises), all are left to the loop, in its order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime.elements import elements, kind_of
from runtime.execute.sets import (
    CLASSES,
    FEW,
    Left,
    Steps,
    Tagged,
    Unfit,
    check_node,
    check_type,
    classes_of,
    dtype_of,
    found_in,
    number_type,
    tag_of,
)
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.walk import map_regions
from runtime.mistakes import survived
from runtime.types import ArrayType, TupleType


class AtOnce:
    """A loop over elements, done for all of them: see above.

    Called with how many elements there are, their flat arrays, what the loop carries in and what it captures:
    the elements that are left to do, as `elements` gives them, and what is carried on."""

    def __init__(self, node: Node) -> None:
        (self.body,) = node.regions
        self.carries = len(node.outputs)
        row, *rest = self.body.params
        if not isinstance(row.type, TupleType):
            raise Unfit("elements of unknown kinds")
        self.width = len(row.type.items)
        self.captures = rest[self.carries :]
        arrays = {p for p in self.captures if isinstance(p.type, ArrayType) and not p.type.scalar}
        self.reads: list[tuple[Value, int]] = []
        self.stores: list[tuple[Value, Operand]] = []
        self.kinds: dict[Value, tuple[Operand, Mapping[type, int]]] = {}
        self.seen: dict[Value, Value] = {}
        self.nodes: list[Node] = []
        for node in self.body.nodes:
            self._sort(node, row, rest[: self.carries], arrays)
        known = {row, *arrays, *rest[: self.carries], *self.kinds}
        for node in self.nodes:
            check_node(node)
            for value in node.outputs:
                check_type(value.type)
            if any(x in known for x in node.inputs):
                raise Unfit("the loop uses more than the numbers of one element")
        for p in self.captures:
            if p not in arrays:
                check_type(p.type)
        carried = dict(zip(rest[: self.carries], self.body.results, strict=True))
        if self.body.diverges or any(self.seen.get(out) is not p for p, out in carried.items()):  # type: ignore[arg-type]
            raise Unfit("the loop carries something from element to element")
        self.steps = Steps()

    def _sort(self, node: Node, row: Value, carried: Sequence[Value], arrays: set[Value]) -> None:
        """What a node of the body is there for."""
        index = next((v for v, k in self.reads if k == 0), None)
        first = node.inputs[0] if node.inputs else None
        if node.op == "getitem" and first is row and isinstance(node.inputs[1], Const):
            self.reads.append((node.outputs[0], node.inputs[1].value))
        elif node.op == "setitem" and first in arrays and node.inputs[1] is index:
            self.stores.append((first, node.inputs[2]))
        elif node.op == "py.call" and isinstance(first, Const) and first.value is kind_of:
            bits = node.inputs[2]
            assert isinstance(bits, Const)
            self.kinds[node.outputs[0]] = node.inputs[1], bits.value
        elif node.op == "or_" and first in carried and node.inputs[1] in self.kinds:
            self.seen[node.outputs[0]] = first  # type: ignore[assignment]
            self.kinds[node.outputs[0]] = self.kinds[node.inputs[1]]
        else:
            self.nodes.append(node)

    def __call__(self, count: int, *given: Any) -> tuple[Any, ...]:
        """Do what can be done; what is left, and what is carried on."""
        flat, rest = given[: self.width - 1], given[self.width - 1 :]
        inits, captures = rest[: self.carries], rest[self.carries :]
        if count < 2 * FEW:
            return elements(count, *flat), *inits
        under = "ignore" if np.geterr()["under"] == "ignore" else "raise"
        try:
            with np.errstate(all="raise", under=under):  # type: ignore[arg-type]
                carried = self._done(count, flat, inits, dict(zip(self.captures, captures, strict=True)))
        except (Left, ArithmeticError, UnboundLocalError, MemoryError):
            return elements(count, *flat), *inits  # the loop knows what comes of it, and for which element
        except Exception as problem:  # a mistake of ours: the loop does it right, only slower
            survived("doing all elements at once failed", problem)
            return elements(count, *flat), *inits
        return elements(0, *(x[:0] for x in flat)), *carried

    def _done(
        self, count: int, flat: Sequence[Any], inits: Sequence[int], env: dict[Value, Any]
    ) -> list[int]:
        """Do all elements; what is carried on."""
        for value, k in self.reads:
            env[value] = np.arange(count) if k == 0 else flat[k - 1]
            if env[value].dtype != dtype_of(value.type):
                raise Left
        self.steps.nodes(self.nodes, env, count)
        for array, x in self.stores:
            found = found_in(x, env)
            env[array][...] = found.values if isinstance(found, Tagged) else found
        carried = []
        for init, result in zip(inits, self.body.results, strict=True):
            operand, bits = self.kinds[result]  # type: ignore[index]
            found, t = found_in(operand, env), number_type(operand)
            if isinstance(found, Tagged):
                names = classes_of(t)
                classes = [names[tag] for tag in np.unique(found.tags).tolist()]
            else:
                classes = (
                    list(classes_of(t).values())[-1:] if isinstance(t, ArrayType) else [CLASSES[tag_of(t)]]
                )
            for cls in classes:
                init |= bits[cls]
            carried.append(init)
        return carried


def with_sets(graph: Graph) -> Graph:
    """The graph with its loops over elements done for all elements at once, where they fit."""
    makers = {out: node for node in graph.nodes for out in node.outputs}
    nodes: list[Node] = []
    gone: set[Node] = set()
    for old in graph.nodes:
        node = map_regions(old, with_sets)
        source = (
            makers.get(node.inputs[0]) if node.op == "for" and isinstance(node.inputs[0], Value) else None
        )
        if source is not None and _goes_through_elements(source) and len(node.regions) == 1:
            try:
                made = AtOnce(node)
            except Unfit:
                nodes.append(node)
                continue
            nodes += _through(node, source, made)
            gone.add(source)
        else:
            nodes.append(node)
    used = {x for node in nodes for x in node.inputs if node not in gone}
    kept = tuple(node for node in nodes if node not in gone or any(out in used for out in node.outputs))
    if len(kept) == len(graph.nodes) and all(a is b for a, b in zip(kept, graph.nodes, strict=True)):
        return graph
    return dataclasses.replace(graph, nodes=kept)


def _goes_through_elements(node: Node) -> bool:
    target = node.inputs[0] if node.op == "py.call" else None
    return isinstance(target, Const) and target.value is elements


def _through(node: Node, source: Node, made: AtOnce) -> list[Node]:
    """The nodes that do a loop: all elements, then the loop for those that are left."""
    inits = node.inputs[1 : 1 + made.carries]
    kinds = (source.outputs[0].type, *(v.type for v in node.outputs))
    whole = Value(TupleType(kinds))
    inputs = (Const(made, "at_once"), *source.inputs[1:], *inits, *node.inputs[1 + made.carries :])
    reads = [Value(t) for t in kinds]
    loop = dataclasses.replace(node, inputs=(*reads, *node.inputs[1 + made.carries :]))
    return [
        Node("py.call", inputs, (whole,), span=node.span),
        *(Node("getitem", (whole, Const(k)), (v,), span=node.span) for k, v in enumerate(reads)),
        loop,
    ]
