"""Which axes of unknown size are surely equally long.

In: a graph.  Out: for each value the sizes of its axes, as numbers or as tokens.  What always holds: axes
with the same token are equally long at run time; of axes with different tokens nothing is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.autodiff.staged.kinds import elementwise
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ops.table import OPS
from runtime.types import ArrayType, NumberType, StaticType, Type, WeakType

Sizes = tuple[Any, ...]
REDUCTIONS = frozenset({"np.sum", "np.mean", "np.max", "np.min", "np.prod", "np.var", "np.std"})


class Dims:
    """The sizes of one graph's values."""

    def __init__(self, graph: Graph) -> None:
        self.makers = {out: node for node in graph.nodes for out in node.outputs}
        self.found: dict[Value, Sizes | None] = {}

    def of(self, x: Operand) -> Sizes | None:
        """The sizes of an operand's axes; None where not even their number is known."""
        shape = _shape(x.type)
        if shape is None or not isinstance(x, Value) or None not in shape:
            return shape
        if x not in self.found:
            node = self.makers.get(x)
            told = None if node is None else self._told(node)
            if told is None or len(told) != len(shape):
                told = tuple(object() for _ in shape)
            self.found[x] = tuple(t if n is None else n for n, t in zip(shape, told, strict=True))
        return self.found[x]

    def _told(self, node: Node) -> Sizes | None:
        """What the op says of its result's sizes."""
        if node.op in ("matmul", "np.matmul", "np.dot"):
            a, b = map(self.of, node.inputs[:2])
            return (a[0], b[1]) if a is not None and b is not None and len(a) == len(b) == 2 else None
        if node.op in REDUCTIONS:
            return self._reduced(node)
        if node.op in OPS and elementwise(OPS[node.op]):
            return self._broadcast([self.of(x) for x in node.inputs])
        return self.of(node.inputs[0]) if node.op in ("np.copy", "nd.copy", "nd.astype") else None

    def _broadcast(self, sizes: list[Sizes | None]) -> Sizes | None:
        known = [s for s in sizes if s is not None]
        if len(known) < len(sizes):
            return None
        made = []
        for axis in range(-max(map(len, known), default=0), 0):
            mine = {s[axis] for s in known if len(s) >= -axis} - {1}
            made.append(mine.pop() if len(mine) == 1 else object() if mine else 1)
        return tuple(made)

    def _reduced(self, node: Node) -> Sizes | None:
        sizes = self.of(node.inputs[0])
        named = node.keyword_inputs
        axis = named.get("axis", node.positional[1] if len(node.positional) > 1 else Const(None))
        keep = named.get("keepdims", Const(False))
        if sizes is None or not isinstance(axis, Const) or not isinstance(keep, Const):
            return None
        axes = range(len(sizes)) if axis.value is None else np.atleast_1d(axis.value) % max(len(sizes), 1)
        gone = {int(i) for i in axes}
        if keep.value:
            return tuple(1 if i in gone else n for i, n in enumerate(sizes))
        return tuple(n for i, n in enumerate(sizes) if i not in gone)


def _shape(t: Type) -> Sizes | None:
    """The sizes that a type tells; () of numbers, and of options that are no numbers at all."""
    if isinstance(t, ArrayType):
        return t.shape
    if isinstance(t, StaticType):
        return None if isinstance(t.value, (tuple, list)) else np.shape(t.value)
    return () if isinstance(t, (WeakType, NumberType)) else None
