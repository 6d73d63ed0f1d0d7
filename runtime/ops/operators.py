"""Rows of Python's operators and of their in-place forms.

In: nothing.  Out: `ROWS`.  What always holds: with an array among the operands the rule is that of the
ufunc behind the operator; with Python numbers only it is Python's own, so a Python int stays one.

In-place rows print as a statement; their result is the new value of the first operand, which for
arrays is that same array.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.ir.opdef import WRITE, OpDef
from runtime.ops.rules import (
    NUMERIC_KINDS,
    PYTHON_KINDS,
    REFUSALS,
    Rule,
    Unknown,
    bare,
    broadcast,
    device_of,
    exact,
    quietly,
    result,
)
from runtime.ops.ufuncs import elementwise, generalized, matmul_shape, operand
from runtime.types import (
    TEXTS,
    WEAK_COMPLEX,
    WEAK_FLOAT,
    WEAK_INT,
    WEAK_OF,
    ArrayType,
    StaticType,
    TupleType,
    Type,
    WeakType,
)


@functools.cache
def python_kind(fn: Callable[..., Any], kinds: tuple[str, ...]) -> WeakType:
    """The kind of Python number that an operator gives for operands of these kinds (1 stands for all)."""
    return WEAK_OF[type(quietly(fn, *(PYTHON_KINDS[kind](1) for kind in kinds)))]


def python_power(base: Type, exponent: Type) -> Type:
    """`**` on Python numbers, whose result kind can depend on values."""
    kinds = (bare(base), bare(exponent))
    if WEAK_COMPLEX in kinds:
        return WEAK_COMPLEX
    known = exponent.value if isinstance(exponent, StaticType) else None
    if kinds[1] in (WEAK_OF[bool], WEAK_INT):
        if kinds[0] == WEAK_FLOAT:
            return WEAK_FLOAT
        if kinds[1] == WEAK_OF[bool] or (known is not None and known >= 0):
            return WEAK_INT
        if known is not None:
            return WEAK_FLOAT
        raise Unknown
    positive_base = isinstance(base, StaticType) and base.value >= 0
    if positive_base or (known is not None and float(known).is_integer()):
        return WEAK_FLOAT
    raise Unknown  # a negative base with a fractional exponent gives a complex number


@functools.lru_cache(maxsize=1024, typed=True)
def power_dtype(dtype: np.dtype[Any], exponent: Any, scalar: bool) -> np.dtype[Any] | None:
    """The dtype of `array ** number`; NumPy's operator has shortcuts that the ufunc lacks."""
    base = dtype.type(1) if scalar else np.ones(1, dtype)
    try:
        found: np.dtype[Any] = quietly(operator.pow, base, exponent).dtype
    except REFUSALS:  # such as an integer to a negative power
        return None
    return found


EXPONENTS: dict[str, tuple[Any, ...]] = {
    "bool": (False, True),
    "int": (0, 1, 2, 3, 4, -1, -2),
    "float": (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -0.5, -1.0, -2.0),
    "complex": (0j, 0.5 + 0j, 1 + 0j, 2 + 0j, -1 + 0j, 1j),
}


def array_power(base: ArrayType, exponent: Type) -> Type:
    """`array ** Python number`."""
    if base.dtype.kind not in NUMERIC_KINDS:
        raise Unknown
    weak = bare(exponent)
    assert isinstance(weak, WeakType)
    tried = (exponent.value,) if isinstance(exponent, StaticType) else EXPONENTS[weak.kind]
    found = {power_dtype(base.dtype, value, base.scalar) for value in tried} - {None}
    if len(found) != 1:
        raise Unknown
    return result(found.pop(), base.shape, base.device)


def concatenation(left: Type, right: Type) -> Type:
    """`+` on exact tuples."""
    if isinstance(left, TupleType) and isinstance(right, TupleType) and left.cls is right.cls is tuple:
        return TupleType(left.items + right.items)
    raise Unknown


def repetition(left: Type, right: Type) -> Type:
    """`tuple * static int`, either way round."""
    if isinstance(bare(right), TupleType):
        left, right = right, left
    tuple_type = bare(left)
    if isinstance(tuple_type, TupleType) and isinstance(right, StaticType) and type(right.value) is int:
        if right.value * len(tuple_type.items) > 1000:
            raise Unknown
        return TupleType(tuple_type.items * right.value)
    raise Unknown


def _of_texts(t: Type) -> bool:
    """Whether an operand is an array of texts, which decides what the operator does."""
    return isinstance(t, ArrayType) and t.dtype.kind in TEXTS


# A float64 scalar is a Python float too, so Python's complex numbers deal with it before NumPy is asked.
DOUBLE = ArrayType(np.dtype(np.float64), (), scalar=True)
OF_COMPLEX = (
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.pow,
    operator.eq,
    operator.ne,
)


def binary(fn: Callable[..., Any], ufunc: np.ufunc) -> Rule:
    """The rule of a binary operator."""
    arrays = generalized(ufunc, matmul_shape) if ufunc is np.matmul else elementwise(ufunc, True)

    def rule(a: Type, b: Type) -> Type:
        left, right = bare(a), bare(b)
        if isinstance(left, TupleType) or isinstance(right, TupleType):
            if fn is operator.add:
                return concatenation(left, right)
            if fn is operator.mul:
                return repetition(a, b)
            raise Unknown
        if isinstance(left, WeakType) and isinstance(right, WeakType):
            if fn is operator.pow:
                return python_power(a, b)
            return python_kind(fn, (left.kind, right.kind))
        if _of_texts(left) or _of_texts(right):
            return arrays(a, b)
        if not isinstance(left, (ArrayType, WeakType)) or not isinstance(right, (ArrayType, WeakType)):
            raise Unknown
        if left == WEAK_COMPLEX and right == DOUBLE and fn in OF_COMPLEX:
            return python_kind(fn, ("complex", "float"))
        device_of((left, right))
        if fn is operator.pow and isinstance(left, ArrayType) and isinstance(right, WeakType):
            return array_power(left, b)
        if fn is operator.pow and isinstance(left, ArrayType) and isinstance(right, ArrayType):
            return pow_of_arrays(left, right, arrays)
        return arrays(left, right)

    return exact(rule)


def pow_of_arrays(left: ArrayType, right: ArrayType, arrays: Rule) -> Type:
    """`array ** array`: a 0-d exponent may hit a shortcut as well, which differs for bool only."""
    if left.dtype == np.bool_ and right.shape in ((), None):
        raise Unknown
    return arrays(left, right)


def unary(fn: Callable[..., Any], ufunc: np.ufunc) -> Rule:
    """The rule of a unary operator."""
    arrays = elementwise(ufunc, True)

    def rule(a: Type) -> Type:
        t = bare(a)
        return python_kind(fn, (t.kind,)) if isinstance(t, WeakType) else arrays(t)

    return exact(rule)


def in_place(fn: Callable[..., Any], plain: Rule) -> Rule:
    """The rule of an in-place operator: an array stays what it is, anything else is as without `=`."""

    def rule(a: Type, b: Type) -> Type:
        left = bare(a)
        if not isinstance(left, ArrayType) or left.scalar:
            return plain(a, b)
        _, shape = operand(b)
        if not isinstance(bare(b), (ArrayType, WeakType)):
            raise Unknown
        device_of((left, b))
        if fn is not operator.imatmul:
            broadcast((left.shape, shape))
        return left

    return exact(rule)


# name: symbol, ufunc, precedence
BINARY: tuple[tuple[str, str, np.ufunc, int], ...] = (
    ("add", "+", np.add, 12),
    ("sub", "-", np.subtract, 12),
    ("mul", "*", np.multiply, 13),
    ("truediv", "/", np.divide, 13),
    ("floordiv", "//", np.floor_divide, 13),
    ("mod", "%", np.remainder, 13),
    ("pow", "**", np.power, 15),
    ("matmul", "@", np.matmul, 13),
    ("lshift", "<<", np.left_shift, 11),
    ("rshift", ">>", np.right_shift, 11),
    ("and_", "&", np.bitwise_and, 10),
    ("or_", "|", np.bitwise_or, 8),
    ("xor", "^", np.bitwise_xor, 9),
    ("eq", "==", np.equal, 7),
    ("ne", "!=", np.not_equal, 7),
    ("lt", "<", np.less, 7),
    ("le", "<=", np.less_equal, 7),
    ("gt", ">", np.greater, 7),
    ("ge", ">=", np.greater_equal, 7),
)

IN_PLACE = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
)

UNARY: tuple[tuple[str, str, np.ufunc, int], ...] = (
    ("neg", "-{0}", np.negative, 14),
    ("pos", "+{0}", np.positive, 14),
    ("invert", "~{0}", np.invert, 14),
    ("abs", "abs({0})", np.absolute, 20),
)


def _binary_row(name: str, symbol: str, ufunc: np.ufunc, precedence: int) -> OpDef:
    """The row of a binary operator."""
    fn = getattr(operator, name)
    return OpDef(
        name=name,
        doc=f"`a {symbol} b` as Python does it.",
        rule=binary(fn, ufunc),
        run=fn,
        source=f"{{0}} {symbol} {{1}}",
        precedence=precedence,
    )


def _in_place_row(name: str) -> OpDef:
    """The row of an in-place operator."""
    symbol, ufunc = next((symbol, ufunc) for n, symbol, ufunc, _ in BINARY if n == name)
    fn = getattr(operator, "i" + name.rstrip("_"))
    return OpDef(
        name="i" + name.rstrip("_"),
        doc=f"`a {symbol}= b`; the result is the new value of `a`.",
        rule=in_place(fn, binary(getattr(operator, name), ufunc)),
        run=fn,
        source=f"{{0}} {symbol}= {{1}}",
        effect=WRITE,
        precedence=0,
    )


def _unary_row(name: str, source: str, ufunc: np.ufunc, precedence: int) -> OpDef:
    """The row of a unary operator."""
    fn = getattr(operator, name)
    return OpDef(
        name=name,
        doc=f"`{source.format('a')}` as Python does it.",
        rule=unary(fn, ufunc),
        run=fn,
        source=source,
        precedence=precedence,
    )


ROWS: tuple[OpDef, ...] = (
    *(_binary_row(*line) for line in BINARY),
    *(_unary_row(*line) for line in UNARY),
    *(_in_place_row(name) for name in IN_PLACE),
)
