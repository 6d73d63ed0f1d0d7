"""What derivative rules are written with: a few functions of their own, and the words of the tables.

In: values of any kind that NumPy's functions take, or that take part in its dispatch protocols.  Out: the
same kind.  What always holds: each function here is a row of its own (`ROWS`) with its own derivative, so
rules that use only NumPy and these can be differentiated again, to any order.

Cotangents are paired with changes by the real part of the plain product, `Re(sum(ct * dy))`.  So a rule
for complex numbers has no conjugates unless the function itself has; the public functions conjugate once,
at the end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.dataclass import dataclass
from runtime.ir.opdef import OpDef
from runtime.ops.rules import any_value

Rule = Callable[..., Any]

# Keys of a table of rules besides positions and names: rules for any position, made by `factory(position)`.
EACH = "each"


def LINEAR(*_: Any) -> Any:
    """As a forward rule: the op is linear in this operand, so it is applied to the tangent itself."""
    raise AssertionError("a marker, never called")


@dataclass(frozen=True)
class Composite:
    """In place of a rule: the op in terms of others; what is differentiated is this."""

    run: Callable[..., Any]


class Zero:
    """As a rule: the result does not change with this operand (steps, rounding): the cotangent is zero."""


ZERO = Zero()


# Their own dispatch is NumPy's business.  By exact class, since a box may pass for an array with isinstance.
PLAIN = frozenset({np.ndarray, float, complex, int, bool, tuple, type(None)})


def dispatching(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which hands over to the first operand that implements NumPy's function protocol."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for arg in args:
            if type(arg) not in PLAIN and hasattr(type(arg), "__array_function__"):
                return arg.__array_function__(call, (type(arg),), args, kwargs)
        return function(*args, **kwargs)

    return call


@dispatching
def scale(ct: Any, factor: Any) -> Any:
    """The product, in which a cotangent of exactly 0 stays 0 whatever the factor is.

    What a mask did not choose has cotangent 0 and may have an infinite or undefined slope."""
    if type(ct) is type(factor) is float:
        return ct * factor if ct else 0.0
    with np.errstate(all="ignore"):
        product = np.multiply(ct, factor)
    if np.isfinite(product).all():
        return product
    return np.where(np.equal(ct, 0), product.dtype.type(0), product)[()]


def is_basic(key: Any) -> bool:
    """Whether indexing with the key gives a view: integers, slices, `...` and `None` only."""
    parts = key if type(key) is tuple else (key,)
    return all(
        part is None
        or part is Ellipsis
        or isinstance(part, slice)
        or (isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)))
        for part in parts
    )


@dispatching
def scatter(values: Any, key: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of a shape with the values added at a key: the transpose of reading at the key."""
    out = np.zeros(shape, np.asarray(values).dtype)
    if is_basic(key) or (isinstance(key, np.ndarray) and key.dtype == np.bool_):
        out[key] = values
    else:
        np.add.at(out, key, values)
    return out


@dispatching
def cast(values: Any, kind: Any) -> Any:
    """The values as `float`, `complex` or in a dtype; complex to real keeps the real part."""
    if kind is float or kind is complex:
        return kind(values.real if kind is float else values)
    found = np.asarray(values)
    if found.dtype.kind == "c" and kind.kind != "c":
        found = found.real
    made = found.astype(kind, copy=False)
    return made if isinstance(values, np.ndarray) else made[()]


@dispatching
def length(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """The Euclidean length over axes; its slope at 0 is taken to be 0."""
    x = np.asarray(x)
    if axis is None:
        axis = tuple(range(x.ndim))
    if np.iscomplexobj(x):
        squares = np.real(x) ** 2 + np.imag(x) ** 2
    else:
        squares = np.square(x)
    return np.sqrt(np.sum(squares, axis=axis, keepdims=keepdims))


def concrete(x: Any) -> Any:
    """The bare value of what may be followed by a derivative: for choices that derivatives don't see."""
    return getattr(x, "concrete_value", x)


def kept(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The shape after a reduction that keeps its axes as axes of size 1."""
    if axis is None:
        return (1,) * len(shape)
    axes = {int(i) % len(shape) for i in (axis if isinstance(axis, tuple) else (axis,))} if shape else ()
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def spread(ct: Any, x: Any, axis: Any) -> Any:
    """The cotangent of a reduction, shaped so that it broadcasts against the operand."""
    rank = np.ndim(x)
    if np.ndim(ct) in (0, rank):
        return ct
    axes = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return np.expand_dims(ct, tuple(axes))


def safe_quotient(a: Any, b: Any) -> Any:
    """`a / b`, and 0 where b is 0."""
    zero = np.equal(b, 0)
    return np.where(zero, 0, np.divide(a, np.where(zero, 1, b)))


def fit(ct: Any, like: Any) -> Any:
    """The cotangent in the shape and dtype of the operand: summed over what was broadcast, then cast."""
    shape, have = np.shape(like), np.shape(ct)
    if have != shape:
        extra = len(have) - len(shape)
        if extra >= 0:
            axes = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 != have[i + extra]))
            if axes:
                summed = np.sum(ct, axis=axes, keepdims=True)
                ct = np.reshape(summed, np.shape(summed)[extra:])
        if np.shape(ct) != shape:
            ct = np.broadcast_to(ct, shape)
    kind = kind_of(like)
    return ct if kind == kind_of(ct) else cast(ct, kind)


def kind_of(x: Any) -> Any:
    """`float` or `complex` for Python numbers, the dtype for arrays and NumPy scalars."""
    x = concrete(x)
    if type(x) in (bool, int, float):
        return float
    return complex if type(x) is complex else np.asarray(x).dtype


def length_slope(ct: Any, y: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return scale(spread(ct, x, axis), safe_quotient(np.conjugate(x), spread(y, x, axis)))


def derivative_row(function: Callable[..., Any], vjp: dict[Any, Any], jvp: dict[Any, Any]) -> OpDef:
    """The row of a function that derivative rules are written with."""
    return OpDef(
        name=f"ad.{function.__name__}",
        doc=(function.__doc__ or "").partition("\n")[0],
        rule=any_value,
        run=function,
        captures=(function,),
        rules=(vjp, jvp),
        cupy=None,
    )


ROWS: tuple[OpDef, ...] = (
    derivative_row(
        scale,
        {0: lambda ct, y, a, b: scale(ct, b), 1: lambda ct, y, a, b: scale(ct, a)},
        {0: LINEAR, 1: lambda t, y, a, b: scale(t, a)},
    ),
    derivative_row(scatter, {0: lambda ct, y, x, key, shape: ct[key]}, {0: LINEAR}),
    derivative_row(cast, {0: lambda ct, y, x, kind: ct}, {0: LINEAR}),
    derivative_row(
        length,
        {0: length_slope},
        {
            0: lambda t, y, x, axis=None, keepdims=False: safe_quotient(
                np.sum(np.real(np.conjugate(x) * t), axis=axis, keepdims=keepdims), y
            )
        },
    ),
)
