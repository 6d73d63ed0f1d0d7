"""Nodes of a graph as rows that have derivative rules: attributes and calls of Python's functions among them.

In: a node.  Out: the row and its operands.  What always holds: what can't be told by a row of the table is
not staged.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from runtime.autodiff.rows import OVERWRITING
from runtime.autodiff.staged.kinds import NotStaged, is_list
from runtime.dataclass import dataclass
from runtime.elements import stack_rows
from runtime.ir.effects import effect_of, tame
from runtime.ir.graph import Const, Graph, Node, Operand
from runtime.ir.opdef import PURE, OpDef
from runtime.ops.operators import IN_PLACE
from runtime.ops.table import OPS, parameters
from runtime.pyops import HandsOn
from runtime.types import ArrayType, NumberType, StaticType, WeakType

ATTRIBUTES = {"T": "np.transpose", "real": "np.real", "imag": "np.imag", "mT": "np.matrix_transpose"}
FUNCTIONS: dict[Any, str] = {
    float: "np.positive",
    complex: "np.positive",
    builtins.abs: "abs",
    builtins.pow: "pow",
    math.pow: "np.power",
    math.atan2: "np.arctan2",
    math.asin: "np.arcsin",
    math.acos: "np.arccos",
    math.atan: "np.arctan",
    math.asinh: "np.arcsinh",
    math.acosh: "np.arccosh",
    math.atanh: "np.arctanh",
    math.log: "np.log",
    **{
        getattr(math, name): f"np.{name}"
        for name in (
            "sin cos tan sinh cosh tanh exp expm1 log1p log10 log2 sqrt fabs hypot degrees radians copysign "
            "fmod cbrt exp2"
        ).split()
        if hasattr(math, name)
    },
}
CHOICES = frozenset({min, max})
_STEPS = frozenset({math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose})
WRITING = frozenset(f"i{op.rstrip('_')}" for op in IN_PLACE)  # operators
_LOOKING = frozenset({print, range, len, str, repr, format, bool, int, *_STEPS})
_FACTS = frozenset({"shape", "ndim", "size", "dtype", "nbytes", "itemsize", "strides", "flags"})


@dataclass(frozen=True, eq=False)
class Mark(HandsOn):
    """What a marked value's node calls: it hands on the first `values` operands.

    back: from their cotangents, and what it captured, to the cotangents of the next `args` operands; those
    of `given` come out.  After these come what back captured and what the function used besides.
    Without it the value is a product of two, see `rules`."""

    name: str
    values: int
    args: int
    given: tuple[int, ...]
    captured: int
    back: Graph | None

    def __call__(self, *operands: Any) -> Any:
        return operands[0] if self.values == 1 else operands[: self.values]


def mark_of(node: Node) -> Mark | None:
    """The mark that the node sets."""
    target = node.inputs[0] if node.op == "py.call" else None
    return target.value if isinstance(target, Const) and isinstance(target.value, Mark) else None


def as_row(node: Node) -> tuple[OpDef, tuple[Operand, ...], dict[str, Operand]]:
    """The row that says how the node is differentiated, with its operands."""
    if node.op == "py.getattr":
        name = node.inputs[1]
        assert isinstance(name, Const)
        if name.value in ATTRIBUTES:
            return OPS[ATTRIBUTES[name.value]], node.inputs[:1], {}
        raise NotStaged(f"the attribute {name.value} of what is differentiated")
    if node.op == "py.call":
        target = node.inputs[0]
        known = FUNCTIONS.get(target.value) if isinstance(target, Const) and _plain(target.value) else None
        args = node.positional[1:]
        if adds_up(node):
            return OPS["np.sum"], args, {"axis": Const(0)}
        if known is None or node.keywords or not args or known == "np.log" and len(args) != 1:
            raise NotStaged(f"{shown(target)} is called with what is differentiated")
        return OPS[known], args, {}
    return OPS[node.op], node.positional, node.keyword_inputs


LIST_CALLS: dict[Any, str] = {
    list.append: "append",
    list.pop: "pop",
    sum: "sum",
    len: "len",
    stack_rows: "rows",
}


def list_call(node: Node) -> str:
    """What a call does with a list, where that is known; else nothing."""
    if node.op != "py.call" or node.keywords or len(node.inputs) < 2 or not is_list(node.inputs[1].type):
        return ""
    target = node.inputs[0].value if isinstance(node.inputs[0], Const) else None
    name = next((name for function, name in LIST_CALLS.items() if function is target), "")
    return "" if name == "sum" and len(node.inputs) > 2 else name


def _plain(value: Any) -> bool:
    return isinstance(value, type(math.sin)) or value in (float, complex)


def adds_up(node: Node) -> bool:
    """Whether the node is Python's `sum` of the rows of an array."""
    target = node.inputs[0] if node.op == "py.call" else None
    known = isinstance(target, Const) and target.value is sum and len(node.inputs) == 2 and not node.keywords
    return known and isinstance(node.inputs[1].type, ArrayType)


def adds_into(node: Node) -> bool:
    """Whether the node is `np.add.at(array, key, values)`."""
    target = node.inputs[0] if node.op == "py.call" else None
    return isinstance(target, Const) and target.value == np.add.at and len(node.inputs) == 4


def overwrites(node: Node) -> bool:
    """Whether an op of the table may use its operand as memory to work in (`overwrite_input=True`)."""
    if node.op not in OVERWRITING:
        return False
    named = dict(zip(parameters(OPS[node.op].run), node.positional, strict=False)) | node.keyword_inputs
    asked = named.get("overwrite_input", Const(False))
    return not (isinstance(asked, Const) and not asked.value)


def shown(target: Operand) -> str:
    if isinstance(target, Const):
        return str(getattr(target.value, "__name__", target.value))
    return "an unknown function"


def harmless(node: Node) -> bool:
    """Whether a node that takes followed values only looks at them."""
    if node.op == "py.getattr":
        name = node.inputs[1]
        return isinstance(name, Const) and name.value in _FACTS
    if node.op == "py.call":
        target: Any = node.inputs[0]
        return isinstance(target, Const) and _hashable(target.value) and target.value in _LOOKING
    return node.op in ("raise",)


def keeps(node: Node) -> bool:
    """Whether a node may keep, or write somewhere, what it is given; writes into arrays and lists, which are
    followed, left out."""
    if node.regions or effect_of(node, OPS) == PURE or harmless(node) or list_call(node) or adds_into(node):
        return False
    target = node.inputs[0].type if node.inputs else None
    followed = isinstance(target, ArrayType) or target is not None and is_list(target)
    return not (followed and (node.op == "setitem" or node.op in WRITING))


def pure(node: Node) -> bool:
    """Whether the node only computes, so that it may be done twice."""
    if node.regions:
        return node.op in ("cond", "while", "for") and all(pure(n) for r in node.regions for n in r.nodes)
    if node.op == "py.call":
        target: Any = node.inputs[0]
        if adds_up(node):
            return True
        if not isinstance(target, Const) or not _hashable(target.value) or target.value is print:
            return False
        if target.value in CHOICES:
            return chooses(node)
        return (target.value in FUNCTIONS or target.value in _LOOKING) and _plain_inputs(node)
    if node.op in ("py.getattr", "raise"):
        return node.op == "raise" or isinstance(node.inputs[0].type, (ArrayType, WeakType, NumberType))
    return node.op in OPS and effect_of(node, OPS) == PURE


def chooses(node: Node) -> bool:
    """Whether the node is Python's `min` or `max` of several numbers."""
    target: Any = node.inputs[0] if node.op == "py.call" else None
    known = isinstance(target, Const) and _hashable(target.value) and target.value in CHOICES
    return known and len(node.inputs) > 2 and not node.keywords and all(map(_number, node.inputs[1:]))


def _number(x: Operand) -> bool:
    t = x.type
    if isinstance(t, StaticType):
        return isinstance(t.value, (int, float, np.number))
    return isinstance(t, (WeakType, NumberType)) or isinstance(t, ArrayType) and t.scalar


def is_errstate(node: Node | None) -> bool:
    """Whether the node makes a context that only says what becomes of floating-point warnings."""
    target: Any = node.inputs[0] if node is not None and node.op == "py.call" else None
    return isinstance(target, Const) and target.value is np.errstate


def pure_call(node: Node) -> bool:
    """Whether the node is a call of a function of numbers."""
    return node.op == "py.call" and pure(node)


def _hashable(value: Any) -> bool:
    return isinstance(value, (type(math.sin), type))


def _plain_inputs(node: Node) -> bool:
    return all(tame(x.type) for x in node.inputs[1:])
