"""Appends nodes to a graph under construction; closes over outer values through parameters.

A `Builder` stands for one region.  `use` turns any operand into one that may be used in this region: a
value of an enclosing region becomes a capture, that is a parameter of this region and of every region
between.  `mark`/`rollback` undo what was recorded since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from runtime.dataclass import dataclass
from runtime.errors import LeakedTensorError, Span
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.types import Type


@dataclass(frozen=True)
class Mark:
    """A point in a builder to which it can be rolled back."""

    nodes: int
    captures: int


class Builder:
    """One region (or the whole graph, where `parent` is None) under construction."""

    def __init__(self, name: str, parent: Builder | None = None) -> None:
        self.name, self.parent = name, parent
        self.params: list[Value] = []
        self.nodes: list[Node] = []
        self.captures: dict[Value, Value] = {}
        self._own: dict[Value, int] = {}

    def param(self, type: Type, name: str = "") -> Value:
        """A new parameter."""
        value = Value(type, name)
        self.params.append(value)
        self._own[value] = -1
        return value

    def owns(self, value: Value) -> bool:
        """Whether the value is defined here, and not rolled back."""
        at = self._own.get(value)
        return at is not None and at < len(self.nodes)

    def origins(self) -> Callable[[Value], Value]:
        """A function that gives, for a value as this region sees it, the one that it was captured from."""
        outer: dict[Value, Value] = {}
        scope: Builder | None = self
        while scope is not None:
            outer.update((inner, value) for value, inner in scope.captures.items())
            scope = scope.parent

        def origin(value: Value) -> Value:
            while value in outer:
                value = outer[value]
            return value

        return origin

    def visible(self, operand: Operand) -> bool:
        """Whether the operand may be used here."""
        if isinstance(operand, Const) or self.owns(operand):
            return True
        return self.parent is not None and self.parent.visible(operand)

    def use(self, operand: Operand) -> Operand:
        """The operand as this region sees it."""
        if isinstance(operand, Const) or self.owns(operand):
            return operand
        if self.parent is None:
            raise LeakedTensorError(
                f"the traced value {operand.name or 'without name'} ({operand.type}) is used outside"
                " the trace or branch that made it",
                why="it exists only while its own function, branch or loop body is traced",
                fix="return it from the function or branch instead of storing it elsewhere",
            )
        outer = self.parent.use(operand)
        assert isinstance(outer, Value)
        if outer not in self.captures:
            inner = Value(outer.type, outer.name)
            self.captures[outer] = inner
            self._own[inner] = -1
        return self.captures[outer]

    def add(
        self,
        op: str,
        inputs: Sequence[Operand],
        types: Iterable[Type] = (),
        *,
        keywords: tuple[str, ...] = (),
        attrs: dict[str, Any] | None = None,
        regions: tuple[Graph, ...] = (),
        names: Sequence[str] = (),
        span: Span | None = None,
    ) -> tuple[Value, ...]:
        """Append a node; its outputs."""
        outputs = tuple(Value(t, names[i] if i < len(names) else "") for i, t in enumerate(types))
        used = tuple(self.use(x) for x in inputs)
        facts = tuple(sorted((attrs or {}).items()))
        self._own.update((v, len(self.nodes)) for v in outputs)
        self.nodes.append(Node(op, used, outputs, keywords, facts, regions, span))
        return outputs

    def mark(self) -> Mark:
        """Where this builder is now."""
        return Mark(len(self.nodes), len(self.captures))

    def rollback(self, mark: Mark) -> None:
        """Forget everything since `mark`."""
        for node in self.nodes[mark.nodes :]:
            for value in node.outputs:
                del self._own[value]
        del self.nodes[mark.nodes :]
        for outer in list(self.captures)[mark.captures :]:
            del self._own[self.captures.pop(outer)]

    def keep(self, start: int, nodes: Sequence[Node]) -> None:
        """Put these nodes, a part of those from `start` on in their order, in the place of those."""
        for node in self.nodes[start:]:
            for value in node.outputs:
                del self._own[value]
        self.nodes[start:] = nodes
        for at, node in enumerate(nodes, start):
            self._own.update((value, at) for value in node.outputs)

    def region(
        self, captured: Sequence[Value], results: Sequence[Operand], *, diverges: bool = False
    ) -> Graph:
        """The finished region; `captured` lists the outer values it must take after its own parameters."""
        inner = tuple(self.captures.get(v) or Value(v.type, v.name) for v in captured)
        outs = () if diverges else tuple(map(self.use, results))
        return Graph(self.name, (*self.params, *inner), tuple(self.nodes), outs, diverges)
