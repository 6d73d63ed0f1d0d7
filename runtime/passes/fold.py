"""Constant folding: what depends on constants only is computed once.

In: a graph.  Out: the same with constants for nodes whose operands are all immutable constants, and without
conds whose test is one.  What always holds: a node that raises or warns when computed is left where it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE, OpDef
from runtime.ir.walk import inline
from runtime.lazy import Lazy
from runtime.passes.facts import COMPARISONS, OPERATORS
from runtime.passes.rewrite import accepts, exchanged, users, with_nodes

if TYPE_CHECKING:
    from runtime.ir import verify
else:
    verify = Lazy("runtime.ir.verify")

_NUMBERS = (bool, int, float, complex)
_FOLDED = OPERATORS | {"getitem", "py.not", "py.truth", "py.tuple", "py.slice"}
_ABSENT = object()
_LARGEST = 10**9  # of ints, so that no power or shift gets out of hand


def fold(graph: Graph, table: Mapping[str, OpDef]) -> Graph:
    """The graph with constant nodes computed; its regions are done one by one by the pipeline."""
    swap: dict[Value, Operand] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        node = exchanged(node, swap)
        if node.op == "cond" and isinstance(node.inputs[0], Const):
            taken = _arm(node)
            if taken is not None:
                inner, results = inline(taken, node.inputs[1:])
                nodes += inner
                swap.update(zip(node.outputs, results, strict=True))
                continue
        value = _value(node, table)
        if value is not _ABSENT:
            const = Const(value)
            (out,) = node.outputs
            one = {**swap, out: const}
            if verify.includes(out.type, const.type) and all(
                accepts(n, one, table) for n, _ in users(graph, out)
            ):
                swap[out] = const
                continue
        nodes.append(node)
    return with_nodes(graph, nodes, swap) if swap else graph


def _arm(node: Node) -> Graph | None:
    """The arm that is always taken, if it can stand in place of the cond."""
    pred = node.inputs[0]
    assert isinstance(pred, Const)
    if type(pred.value) not in _NUMBERS:
        return None
    arm = node.regions[0 if pred.value else 1]
    fits = not arm.diverges and all(
        out.type == result.type for out, result in zip(node.outputs, arm.results, strict=True)
    )
    return arm if fits else None


def _value(node: Node, table: Mapping[str, OpDef]) -> Any:
    """What the node computes, if that is known and immutable."""
    known = [x.value for x in node.inputs if isinstance(x, Const)]
    if node.op not in _FOLDED or len(known) < len(node.inputs) or node.keywords or len(node.outputs) != 1:
        return _ABSENT
    if node.attr("starred") or effect_of(node, table) != PURE or not all(map(_immutable, known)):
        return _ABSENT
    if node.op not in COMPARISONS and any(type(x) is int and abs(x) > _LARGEST for x in known):
        return _ABSENT
    if node.op == "mod" and isinstance(known[0], str):
        return _ABSENT  # what numbers look like goes by the print options of each call
    if node.op in ("pow", "lshift") and not all(type(x) is float or abs(x) < 64 for x in known):
        return _ABSENT
    try:
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            value = table[node.op].run(*known)
    except Exception:  # what it raises, it raises at its place, on each call
        return _ABSENT
    return value if _immutable(value) else _ABSENT


def _immutable(value: Any) -> bool:
    """Whether the value is a number, a string, None or a tuple or slice of such."""
    if type(value) is tuple:
        return len(value) < 100 and all(map(_immutable, value))
    if type(value) is slice:
        return all(map(_immutable, (value.start, value.stop, value.step)))
    if isinstance(value, np.generic):
        return value.dtype.kind in "biuf"
    return type(value) in _NUMBERS or value is None or (type(value) is str and len(value) < 1000)
