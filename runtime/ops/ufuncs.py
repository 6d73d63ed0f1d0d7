"""Rows of NumPy's ufuncs, made from one compact table.

In: `TABLE`, a line per ufunc.  Out: `ROWS`.  The dtype of a result is asked of the ufunc itself
(`resolve_dtypes`), so promotion is NumPy's own; shapes broadcast, or follow the ufunc's signature of
core axes.  What always holds: a result of shape () is a NumPy scalar, unless `out=` was given.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from runtime.ir.opdef import OpDef
from runtime.ops.rules import (
    BOOL,
    REFUSALS,
    Rule,
    Shape,
    Unknown,
    as_array,
    broadcast,
    device_of,
    exact,
    given_dtype,
    is_none,
    quietly,
    result,
    same_size,
    static,
)
from runtime.types import TEXTS, ArrayType, ObjectType, StaticType, TupleType, Type, WeakType, type_of

_TEXTS: dict[type, str] = {str: "U", np.str_: "U", bytes: "S", np.bytes_: "S"}
NAN, INF = float("nan"), float("inf")
EDGES = (0.0, -0.0, NAN, INF, -INF)
INTEGERS = (0, 1, -1, 127, -128)

# What stands for an operand when NumPy is asked for dtypes: a dtype, or a Python type (weak).
Asked = Any


def operand(t: Type) -> tuple[Asked, Shape]:
    """How an operand takes part in promotion, and its shape."""
    if isinstance(t, StaticType):
        weak = type_of(t.value)
        t = t if isinstance(weak, TupleType) else weak
    if isinstance(t, WeakType):
        return {"bool": BOOL, "int": int, "float": float, "complex": complex}[t.kind], ()
    got = as_array(t)
    if got.dtype.kind not in "biufcmMUST":
        raise Unknown
    return got.dtype, got.shape


def with_texts(operands: tuple[Type, ...]) -> tuple[Type, ...]:
    """The operands, texts that stand beside an array of texts as NumPy takes them."""
    if not any(isinstance(t, ArrayType) and t.dtype.kind in TEXTS for t in operands):
        return operands
    return tuple(map(as_text, operands))


def as_text(t: Type) -> Type:
    """A str or bytes as the array that NumPy makes of it."""
    cls = type(t.value) if isinstance(t, StaticType) else t.cls if isinstance(t, ObjectType) else None
    kind = None if cls is None else _TEXTS.get(cls)
    return t if kind is None else ArrayType(np.dtype(kind), ())


def fits(t: Type) -> bool:
    """Whether a Python int is known to be in the range of NumPy's default int."""
    return isinstance(t, StaticType) and -(2**63) <= t.value < 2**63


@functools.lru_cache(maxsize=4096)
def resolved(
    ufunc: np.ufunc, asked: tuple[Asked, ...], dtype: np.dtype[Any] | None, casting: Any
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the ufunc's outputs."""
    if dtype is not None:
        # `dtype=` fixes the whole loop, which resolve_dtypes only does through the call itself.
        samples = [np.ones(0, a) if isinstance(a, np.dtype) else a(1) for a in asked]
        got = quietly(ufunc, *samples, dtype=dtype, casting=casting)
        return tuple(item.dtype for item in (got if isinstance(got, tuple) else (got,)))
    found = ufunc.resolve_dtypes((*asked, *(None,) * ufunc.nout), casting=casting)
    return tuple(found[ufunc.nin :])


@functools.cache
def weak_int_is_precise(ufunc: np.ufunc, raises: bool) -> bool:
    """Whether a unary ufunc gives one dtype for every Python int, also those that need uint64 or object.

    Ufuncs of several operands raise OverflowError for such ints or compute in floats, so only a lone
    operand is in question.
    """
    found = set()
    for value in (1, 2**63, 2**70, -(2**70)):
        try:
            got = quietly(ufunc, value)
        except REFUSALS:  # raising is no wrong type
            if not raises:
                return False
            continue
        found.add(type(got[0] if isinstance(got, tuple) else got))
    return len(found) == 1


def elementwise(ufunc: np.ufunc, raises: bool) -> Rule:
    """The rule of a ufunc without core axes."""

    def rule(
        *operands: Type,
        out: Type | None = None,
        where: Type | None = None,
        dtype: Type | None = None,
        casting: Type | None = None,
        subok: Type | None = None,
    ) -> Type:
        operands = with_texts(operands)
        if len(operands) > ufunc.nin:
            operands, extra = operands[: ufunc.nin], operands[ufunc.nin :]
            if out is not None or len(extra) > ufunc.nout:
                raise Unknown
            out = extra[0] if len(extra) == 1 and ufunc.nout == 1 else TupleType(extra)
        if len(operands) < ufunc.nin:
            raise Unknown
        if not raises and any(isinstance(t, TupleType) for t in operands):
            raise Unknown  # a ragged one raises
        asked, shapes = zip(*map(operand, operands), strict=True)
        if len(asked) == 1 and asked[0] is int and not fits(operands[0]):
            if not weak_int_is_precise(ufunc, raises):
                raise Unknown
        device = device_of(operands)
        casts = "same_kind" if casting is None else static(casting)
        dtypes = resolved(ufunc, asked, given_dtype(dtype), casts)
        if where is not None and not (isinstance(where, StaticType) and where.value is True):
            mask = as_array(where)
            if mask.dtype != BOOL:
                raise Unknown
            shapes = (*shapes, mask.shape)
            if not raises and any(s is None or None in s for s in shapes):
                raise Unknown  # whether the mask fits is for run time to say
        outs = given_outputs(out, ufunc.nout)
        shape = broadcast(shapes)
        positive = any(s for s in shapes)
        made = [
            result(d, shape, device, positive_rank=positive) if o is None else o
            for d, o in zip(dtypes, outs, strict=True)
        ]
        return made[0] if ufunc.nout == 1 else TupleType(tuple(made))

    return exact(rule)


def given_outputs(out: Type | None, count: int) -> list[Type | None]:
    """The types of the arrays given as `out=`, None for each that is not given."""
    if out is None or is_none(out):
        return [None] * count
    items = out.items if isinstance(out, TupleType) else (out,)
    if isinstance(out, StaticType) or len(items) != count:
        raise Unknown
    for item in items:
        if not is_none(item) and (not isinstance(item, ArrayType) or item.scalar):
            raise Unknown
    return [None if is_none(item) else item for item in items]


def matmul_shape(a: Shape, b: Shape) -> Shape:
    """The shape of `a @ b`."""
    if a is None or b is None or not a or not b:
        raise Unknown
    left, right = (a if len(a) > 1 else (1, *a)), (b if len(b) > 1 else (*b, 1))
    same_size(left[-1], right[-2])
    batch = broadcast((left[:-2], right[:-2]))
    assert batch is not None
    return batch + (left[-2:-1] if len(a) > 1 else ()) + (right[-1:] if len(b) > 1 else ())


def core(inner: str) -> Any:
    """The shape rule of a signature of core axes such as "n,n->" or "mn,n->m"."""
    names, made = inner.split("->")
    left, right = names.split(",")

    def shape(a: Shape, b: Shape) -> Shape:
        if a is None or b is None or len(a) < len(left) or len(b) < len(right):
            raise Unknown
        sizes: dict[str, int | None] = {}
        for letters, given in ((left, a), (right, b)):
            for letter, n in zip(letters, given[len(given) - len(letters) :], strict=True):
                sizes[letter] = same_size(sizes.get(letter), n)
        outer = broadcast((a[: len(a) - len(left)], b[: len(b) - len(right)]))
        assert outer is not None
        return outer + tuple(sizes[letter] for letter in made)

    return shape


def generalized(ufunc: np.ufunc, shape_rule: Any) -> Rule:
    """The rule of a ufunc with core axes (matmul and its like)."""

    def rule(
        a: Type, b: Type, out: Type | None = None, dtype: Type | None = None, casting: Type | None = None
    ) -> Type:
        left, right = as_array(a), as_array(b)
        casts = "same_kind" if casting is None else static(casting)
        asked = given_dtype(dtype)
        if asked is None:
            found = resolved(ufunc, (left.dtype, right.dtype), None, casts)[0]
        else:
            found = asked
        shape = shape_rule(left.shape, right.shape)
        given = given_outputs(out, 1)[0]
        return result(found, shape, device_of((a, b))) if given is None else given

    return exact(rule)


# name: doc, (low, high) of sample inputs, special points, ulp, raises
Row = tuple[str, str, tuple[float, float], tuple[Any, ...], int, bool]
ALL = (-4.0, 4.0)
TABLE: tuple[Row, ...] = (
    ("absolute", "absolute value", ALL, EDGES, 0, True),
    ("add", "sum of two", ALL, EDGES, 0, True),
    ("arccos", "angle with this cosine", (-1.0, 1.0), EDGES + (1.0, -1.0), 4, True),
    ("arccosh", "inverse hyperbolic cosine", (1.0, 8.0), EDGES + (1.0,), 4, True),
    ("arcsin", "angle with this sine", (-1.0, 1.0), EDGES + (1.0, -1.0), 4, True),
    ("arcsinh", "inverse hyperbolic sine", ALL, EDGES, 4, True),
    ("arctan", "angle with this tangent", ALL, EDGES, 4, True),
    ("arctan2", "angle of the point (second, first)", ALL, EDGES, 4, True),
    ("arctanh", "inverse hyperbolic tangent", (-0.9, 0.9), EDGES + (1.0, -1.0), 4, True),
    ("bitwise_and", "bits set in both", ALL, INTEGERS, 0, True),
    ("bitwise_count", "number of bits set in the absolute value", ALL, INTEGERS, 0, False),
    ("bitwise_or", "bits set in either", ALL, INTEGERS, 0, True),
    ("bitwise_xor", "bits set in just one", ALL, INTEGERS, 0, True),
    ("cbrt", "cube root", ALL, EDGES, 4, True),
    ("ceil", "least integer not below", ALL, EDGES, 0, True),
    ("conjugate", "complex conjugate", ALL, EDGES, 0, False),
    ("copysign", "size of the first, sign of the second", ALL, EDGES, 0, True),
    ("cos", "cosine", ALL, EDGES, 4, True),
    ("cosh", "hyperbolic cosine", ALL, EDGES, 4, True),
    ("deg2rad", "degrees to radians", ALL, EDGES, 1, True),
    ("degrees", "radians to degrees", ALL, EDGES, 1, True),
    ("divide", "true quotient", ALL, EDGES, 0, True),
    ("divmod", "floor quotient and remainder", ALL, EDGES, 0, True),
    ("equal", "whether equal", ALL, EDGES, 0, True),
    ("exp", "e to this power", ALL, EDGES, 4, True),
    ("exp2", "2 to this power", ALL, EDGES, 4, True),
    ("expm1", "e to this power, less 1", ALL, EDGES, 4, True),
    ("fabs", "absolute value of a real number, as float", ALL, EDGES, 0, True),
    ("float_power", "power, computed in double precision at least", (0.1, 4.0), EDGES + (1.0,), 4, True),
    ("floor", "greatest integer not above", ALL, EDGES, 0, True),
    ("floor_divide", "quotient rounded down", ALL, EDGES, 0, True),
    ("fmax", "the larger one; NaN only if both are", ALL, EDGES, 0, True),
    ("fmin", "the smaller one; NaN only if both are", ALL, EDGES, 0, True),
    ("fmod", "remainder with the sign of the dividend", ALL, EDGES, 0, True),
    ("frexp", "mantissa and binary exponent", ALL, EDGES, 0, True),
    ("gcd", "greatest common divisor", ALL, INTEGERS, 0, True),
    ("greater", "whether the first is larger", ALL, EDGES, 0, True),
    ("greater_equal", "whether the first is larger or equal", ALL, EDGES, 0, True),
    ("heaviside", "step function, the second operand being its value at 0", ALL, EDGES, 0, True),
    ("hypot", "length of the hypotenuse", ALL, EDGES, 4, True),
    ("invert", "every bit flipped", ALL, INTEGERS, 0, False),
    ("isfinite", "whether neither infinite nor NaN", ALL, EDGES, 0, False),
    ("isinf", "whether infinite", ALL, EDGES, 0, False),
    ("isnan", "whether NaN", ALL, EDGES, 0, False),
    ("isnat", "whether not a time", ALL, (), 0, False),
    ("lcm", "least common multiple", ALL, INTEGERS, 0, True),
    ("ldexp", "first times 2 to the power of the second", ALL, EDGES, 0, True),
    ("left_shift", "bits moved up", (0.0, 4.0), (0, 1, 63, 64), 0, True),
    ("less", "whether the first is smaller", ALL, EDGES, 0, True),
    ("less_equal", "whether the first is smaller or equal", ALL, EDGES, 0, True),
    ("log", "natural logarithm", (0.1, 8.0), EDGES + (1.0,), 4, True),
    ("log10", "logarithm to base 10", (0.1, 8.0), EDGES + (1.0,), 4, True),
    ("log1p", "natural logarithm of 1 more", (-0.9, 8.0), EDGES + (-1.0,), 4, True),
    ("log2", "logarithm to base 2", (0.1, 8.0), EDGES + (1.0,), 4, True),
    ("logaddexp", "log of the sum of exponentials", ALL, EDGES, 4, True),
    ("logaddexp2", "log2 of the sum of powers of 2", ALL, EDGES, 4, True),
    ("logical_and", "whether both are true", ALL, EDGES, 0, True),
    ("logical_not", "whether false", ALL, EDGES, 0, False),
    ("logical_or", "whether either is true", ALL, EDGES, 0, True),
    ("logical_xor", "whether just one is true", ALL, EDGES, 0, True),
    ("maximum", "the larger one, or NaN", ALL, EDGES, 0, True),
    ("minimum", "the smaller one, or NaN", ALL, EDGES, 0, True),
    ("modf", "fractional and integral part", ALL, EDGES, 0, True),
    ("multiply", "product of two", ALL, EDGES, 0, True),
    ("negative", "number with the other sign", ALL, EDGES, 0, False),
    ("nextafter", "next number towards the second", ALL, EDGES, 0, True),
    ("not_equal", "whether different", ALL, EDGES, 0, True),
    ("positive", "the number itself", ALL, EDGES, 0, False),
    ("power", "first to the power of the second", (0.1, 4.0), EDGES + (1.0,), 4, True),
    ("rad2deg", "radians to degrees", ALL, EDGES, 1, True),
    ("radians", "degrees to radians", ALL, EDGES, 1, True),
    ("reciprocal", "1 divided by it", ALL, EDGES, 0, True),
    ("remainder", "remainder with the sign of the divisor", ALL, EDGES, 0, True),
    ("right_shift", "bits moved down", (0.0, 4.0), (0, 1, 63, 64), 0, True),
    ("rint", "nearest integer, ties to even", ALL, EDGES + (0.5, 1.5), 0, True),
    ("sign", "-1, 0 or 1", ALL, EDGES, 0, True),
    ("signbit", "whether the sign bit is set", ALL, EDGES, 0, False),
    ("sin", "sine", ALL, EDGES, 4, True),
    ("sinh", "hyperbolic sine", ALL, EDGES, 4, True),
    ("spacing", "distance to the next number", ALL, EDGES, 0, True),
    ("sqrt", "square root", (0.0, 8.0), EDGES, 0, True),
    ("square", "product with itself", ALL, EDGES, 0, True),
    ("subtract", "difference of two", ALL, EDGES, 0, True),
    ("tan", "tangent", ALL, EDGES, 4, True),
    ("tanh", "hyperbolic tangent", ALL, EDGES, 4, True),
    ("trunc", "integer part", ALL, EDGES, 0, True),
)

# Ufuncs with core axes, and how shapes follow.
CORE: tuple[tuple[str, str, Any], ...] = (
    ("matmul", "matrix product", matmul_shape),
    ("vecdot", "inner product over the last axis", core("n,n->")),
    ("matvec", "matrix times vector", core("mn,n->m")),
    ("vecmat", "vector times matrix", core("n,nm->m")),
)

# Ufuncs that CuPy lacks.
NOT_IN_CUPY = frozenset({"isnat", "spacing", "vecdot", "matvec", "vecmat"})


def _row(
    name: str,
    doc: str,
    domain: tuple[float, float],
    special: tuple[Any, ...],
    ulp: int,
    raises: bool,
    rule: Rule,
) -> OpDef:
    """The row of one ufunc."""
    ufunc = getattr(np, name)
    return OpDef(
        name=f"np.{name}",
        doc=doc,
        rule=rule,
        run=ufunc,
        path=f"numpy.{name}",
        captures=(ufunc,),
        raises=raises,
        cupy=None if name in NOT_IN_CUPY else f"cupy.{name}",
        domain=domain,
        special=special,
        ulp=ulp,
    )


ROWS: tuple[OpDef, ...] = tuple(
    [_row(*line, elementwise(getattr(np, line[0]), line[5])) for line in TABLE if hasattr(np, line[0])]
    + [
        _row(name, doc, ALL, (), 4, True, generalized(getattr(np, name), shape))
        for name, doc, shape in CORE
        if hasattr(np, name)
    ]
)
