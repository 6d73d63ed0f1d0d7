"""The frozen intermediate representation: values, constants, nodes, graphs with nested regions.

A graph is a residual program.  Its nodes run in order; the order of effects is the order of nodes.
A region (a graph inside a node) is closed: whatever it uses from outside comes in through its
parameters, so it can be moved, cached, printed and differentiated alone.

Laws (checked by `verify`): every value is defined once, before its uses; node outputs have the types
the op's rule gives; region parameters match the node's inputs; both arms of a `cond` yield equally
many results; a graph that diverges ends in a `raise` node (or in a region node all of whose ways
diverge) and has no results.
"""

from __future__ import annotations

from typing import Any, Union

from runtime.dataclass import dataclass
from runtime.errors import Span
from runtime.types import StaticType, Type


@dataclass(frozen=True, eq=False)
class Value:
    """One run-time value: a parameter or a node's output.  Identity is what counts; `name` is a hint
    (the user's variable name, or empty)."""

    type: Type
    name: str = ""


@dataclass(frozen=True, eq=False)
class Const:
    """An operand known while tracing: an immutable value or a reference to a Python object.

    `name` is a hint for printing (a global's name)."""

    value: Any
    name: str = ""

    @property
    def type(self) -> Type:
        """The static type that holds the value."""
        return StaticType(self.value)


Operand = Union[Value, Const]


@dataclass(frozen=True, eq=False)
class Node:
    """One step.

    op: name of a row of the op table or of a region op.
    inputs: operands, positional first.
    keywords: names of the trailing inputs that are keyword arguments (`np.sum(x, axis=0)`: ("axis",)).
    outputs: the values defined here (one, or the carries of a region op; none for pure effects).
    attrs: hashable facts that are not operands, as sorted pairs.
    """

    op: str
    inputs: tuple[Operand, ...] = ()
    outputs: tuple[Value, ...] = ()
    keywords: tuple[str, ...] = ()
    attrs: tuple[tuple[str, Any], ...] = ()
    regions: tuple[Graph, ...] = ()
    span: Span | None = None

    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute `name`, or `default`."""
        return dict(self.attrs).get(name, default)

    @property
    def positional(self) -> tuple[Operand, ...]:
        """The inputs that are not keyword arguments."""
        return self.inputs[: len(self.inputs) - len(self.keywords)]

    @property
    def keyword_inputs(self) -> dict[str, Operand]:
        """The keyword arguments by name, in order."""
        return dict(zip(self.keywords, self.inputs[len(self.inputs) - len(self.keywords) :], strict=True))


@dataclass(frozen=True, eq=False)
class Graph:
    """Parameters, nodes in order, results.  `diverges`: control never reaches the end."""

    name: str
    params: tuple[Value, ...]
    nodes: tuple[Node, ...]
    results: tuple[Operand, ...]
    diverges: bool = False
