"""What NumPy's functions that are written in Python come to in the end, called at once.

In: a node.  Out: its template, or None where it stays the call that it is; its operands as they are written.
What always holds: the function does just that with arrays of class ndarray, and so with the same bits, errors
and warnings.  `np.sum(x)` runs `np.add.reduce(x, axis=None)`, a third of its time for short ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from runtime.execute.expression import ATOM, PRODUCT, Number, Slot, Template, call_template
from runtime.ir.graph import Const, Node, Operand
from runtime.types import ArrayType

REDUCTIONS = {"np.sum": "add", "np.prod": "multiply", "np.max": "maximum", "np.min": "minimum"}
OF_BOOLS = {"np.any": "logical_or", "np.all": "logical_and"}
# Functions that call the method of the same name: how many operands they need by position, of which they say
# so in other words, how many the method takes so at most, and whether there is an axis to name.
METHODS = {
    "np.argmax": (1, 2, True), "np.argmin": (1, 2, True), "np.argsort": (1, 2, True),
    "np.cumsum": (1, 2, True), "np.cumprod": (1, 2, True), "np.diagonal": (1, 4, False),
    "np.nonzero": (1, 1, False), "np.ravel": (1, 1, False), "np.repeat": (2, 3, True),
    "np.reshape": (2, 2, False), "np.searchsorted": (2, 2, False), "np.swapaxes": (3, 3, False),
    "np.take": (2, 3, True), "np.trace": (1, 4, False),
}  # fmt: skip
# Operators and ufuncs to which a float array and an int are what the array and that float are.
MIXED = frozenset(
    (
        "add sub mul truediv iadd isub imul itruediv eq ne lt le gt ge np.add np.subtract np.multiply"
        " np.divide np.equal np.not_equal np.less np.less_equal np.greater np.greater_equal np.maximum"
        " np.minimum"
    ).split()
)
# Those to which an array and a number are what the array and an array of that number of its dtype are.
ALIKE = MIXED | frozenset(
    (
        "floordiv mod ifloordiv imod and_ or_ xor iand ior ixor np.floor_divide np.remainder np.bitwise_and"
        " np.bitwise_or np.bitwise_xor np.fmax np.fmin np.hypot np.arctan2 np.copysign"
    ).split()
)
EXACT = 1 << 24  # every whole number up to here is a float32
# Before NumPy 2 a float32 and a Python number made a float64.
_MEANS = (np.dtype(np.float64),) if np.__version__.startswith("1.") else tuple(map(np.dtype, ("f4", "f8")))


def direct(node: Node) -> Template | None:
    """How the node is written without the detour."""
    given = len(node.inputs) - len(node.keywords)
    if not given or node.attrs and node.attrs != (("form", "method"),):
        return None
    t = node.inputs[0].type
    if not isinstance(t, ArrayType) or t.scalar or t.device != "cpu":
        return None
    if node.op == "np.mean":
        return _mean(node, t)
    if node.attrs:
        return None
    if node.op in REDUCTIONS or (node.op in OF_BOOLS and t.dtype == np.bool_):
        return _reduction(node, t)
    if node.op == "np.transpose" and len(node.inputs) == 1:
        return Template((Slot(0, ATOM), ".T"), order=(0,))
    least, most, along = METHODS.get(node.op, (1, 0, False))
    named = {"axis"} if along and len(node.inputs) <= most else set()
    if least <= given <= most and set(node.keywords) <= named:
        return call_template([Slot(0, ATOM), f".{node.op.removeprefix('np.')}("], _rest(node))
    return None


def _rest(node: Node) -> list[tuple[str, int]]:
    """The operands but the first as arguments."""
    given = len(node.inputs) - len(node.keywords)
    named = [(f"{name}=", given + k) for k, name in enumerate(node.keywords)]
    return [("", k) for k in range(1, given)] + named


def _reduction(node: Node, t: ArrayType) -> Template | None:
    given = len(node.inputs) - len(node.keywords)
    if given > 2 or not set(node.keywords) <= {"axis", "keepdims", "dtype"} - (
        {"axis"} if given > 1 else set()
    ):
        return None
    name = {**REDUCTIONS, **OF_BOOLS}[node.op]
    arguments = [("", 0), *_rest(node)]
    one = t.shape is not None and len(t.shape) == 1
    all_axes = given == 1 and "axis" not in node.keywords
    return call_template([f"np.{name}.reduce("], arguments, ", axis=None)" if all_axes and not one else ")")


def _mean(node: Node, t: ArrayType) -> Template | None:
    """The mean of all elements: their sum by their number."""
    if len(node.inputs) > 1 or t.dtype not in _MEANS or t.shape is None:
        return None
    count = math.prod(-1 if n is None else n for n in t.shape) if None not in t.shape else 0
    if not count:
        return None
    axes = "" if len(t.shape) == 1 else ", axis=None"
    return Template(("np.add.reduce(", Slot(0), f"{axes}) / {count}"), PRODUCT, order=(0,))


def picks_constant(node: Node) -> bool:
    """Whether it is `np.where(mask, c, x)` for a number c and an array x that has its dtype and shape."""
    if node.op != "np.where" or len(node.inputs) != 3 or node.keywords or node.attrs:
        return False
    mask, value, x = node.inputs
    t, choice = x.type, mask.type
    if not isinstance(t, ArrayType) or t.scalar or t != node.outputs[0].type:
        return False
    if not t.shape or None in t.shape or not isinstance(choice, ArrayType) or choice.dtype != np.bool_:
        return False
    return isinstance(value, Const) and isinstance(value.value, (int, float, np.generic))


def operands_of(node: Node) -> dict[int, Operand]:
    """The operands by number; a small int beside an array of floats as a float, which NumPy takes sooner."""
    found: dict[int, Operand] = dict(enumerate(node.inputs))
    if node.op in MIXED and len(found) == 2 and not node.keywords:
        for k, x in found.items():
            value = x.value if isinstance(x, Const) else None
            if type(value) is int and abs(value) <= EXACT and _floats(found[1 - k]):
                found[k] = Const(float(value))
    return found


def as_arrays(node: Node, operands: Mapping[int, Operand]) -> dict[int, Number]:
    """The operands that are numbers and may as well be arrays of a dtype, of no axes, beside another array.

    NumPy makes such an array for each call, of the very number: none that does not fit, or is not finite."""
    if node.op not in ALIKE or len(operands) != 2 or node.keywords:
        return {}
    found = {}
    for k, x in operands.items():
        t = operands[1 - k].type
        if isinstance(x, Const) and isinstance(t, ArrayType) and not t.scalar and t.device == "cpu":
            dtype = _holds(t.dtype, x.value)
            if dtype is not None:
                found[k] = Number(x.value, dtype)
    return found


def _holds(dtype: np.dtype[Any], number: Any) -> np.dtype[Any] | None:
    """The dtype in which NumPy takes a Python number beside an array of this dtype; None if it may object."""
    if not dtype.isnative or dtype.char not in "fdbhilBHIL" or type(number) not in (int, float):
        return None
    if dtype.kind == "f" and type(number) is float:
        limits = np.finfo(dtype)
        fits = number == 0 or float(limits.smallest_normal) <= abs(number) <= float(limits.max)
        return dtype if fits else None
    if dtype.kind in "iu" and type(number) is int:
        return dtype if np.iinfo(dtype).min <= number <= np.iinfo(dtype).max else None
    return np.dtype(float) if dtype.kind in "iu" and math.isfinite(number) else None


def _floats(x: Operand) -> bool:
    """Whether the operand is an array of float32 or float64 here."""
    t = x.type
    if not isinstance(t, ArrayType) or t.scalar or t.device != "cpu":
        return False
    return t.dtype.char in "fd" and t.dtype.isnative
