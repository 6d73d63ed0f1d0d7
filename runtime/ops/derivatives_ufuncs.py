"""Derivatives of ufuncs and of Python's operators.

In: nothing.  Out: `VJP` and `JVP`, by op name (see `runtime.ir.opdef` for the form of a rule).  Most rows
are a *slope* per operand, `slope(result, *operands)`, from which both rules follow.  What always holds:
a rule broadcasts freely; who calls it sums to the operand's shape and casts to its dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.ops.adjoint import LINEAR, ZERO, safe_quotient, scale

Slope = Callable[..., Any]
LOG2, LOG10 = math.log(2), math.log(10)


def _power_of_base(y: Any, a: Any, b: Any) -> Any:
    """`b * a ** (b - 1)`, and 0 where b is 0."""
    if isinstance(b, (int, float)):
        if b == 2:
            return 2 * a
        return np.multiply(b, np.power(a, b - 1)) if b else np.multiply(a, 0)
    return b * np.power(a, np.where(np.equal(b, 0), 1.0, b - 1))


def _power_of_exponent(y: Any, a: Any, b: Any) -> Any:
    """`log(a) * a ** b`, and 0 where a is 0."""
    safe = np.where(np.equal(a, 0), 1.0, a)
    return scale(y, np.log(safe + 0j if np.iscomplexobj(y) else safe))


def _sinc(y: Any, x: Any) -> Any:
    """The slope of sin(pi x) / (pi x); a series near 0, where the quotient loses its digits."""
    small = np.absolute(x) < 0.02
    safe = np.where(small, 1.0, x)
    square = np.square(math.pi * x)
    series = -x * math.pi**2 * (1 / 3 - square * (1 / 30 - square * (1 / 840 - square / 45360)))
    return np.where(small, series, (np.cos(math.pi * safe) - np.sinc(safe)) / safe)


def _one(*_: Any) -> Any:
    return 1


SLOPES: dict[str, tuple[Slope | None, ...]] = {
    "add": (_one, _one),
    "subtract": (_one, lambda y, a, b: -1),
    "multiply": (lambda y, a, b: b, lambda y, a, b: a),
    "divide": (lambda y, a, b: np.divide(1, b), lambda y, a, b: np.divide(-y, b)),
    "power": (_power_of_base, _power_of_exponent),
    "float_power": (_power_of_base, _power_of_exponent),
    "remainder": (_one, lambda y, a, b: -np.floor_divide(a, b)),
    "fmod": (_one, lambda y, a, b: -np.trunc(np.divide(a, b))),
    "arctan2": (
        lambda y, a, b: safe_quotient(b, a * a + b * b),
        lambda y, a, b: safe_quotient(-a, a * a + b * b),
    ),
    "hypot": (lambda y, a, b: safe_quotient(a, y), lambda y, a, b: safe_quotient(b, y)),
    "logaddexp": (
        lambda y, a, b: np.exp(np.where(np.equal(a, y), 0.0, a - y)),
        lambda y, a, b: np.exp(np.where(np.equal(b, y), 0.0, b - y)),
    ),
    "logaddexp2": (
        lambda y, a, b: np.exp2(np.where(np.equal(a, y), 0.0, a - y)),
        lambda y, a, b: np.exp2(np.where(np.equal(b, y), 0.0, b - y)),
    ),
    "copysign": (lambda y, a, b: np.copysign(1.0, a) * np.copysign(1.0, b), None),
    "ldexp": (lambda y, a, b: np.ldexp(1.0, b), None),
    "negative": (lambda y, x: -1,),
    "positive": (_one,),
    "exp": (lambda y, x: y,),
    "exp2": (lambda y, x: y * LOG2,),
    "expm1": (lambda y, x: np.exp(x),),
    "log": (lambda y, x: np.divide(1, x),),
    "log2": (lambda y, x: np.divide(1 / LOG2, x),),
    "log10": (lambda y, x: np.divide(1 / LOG10, x),),
    "log1p": (lambda y, x: np.divide(1, 1 + x),),
    "sqrt": (lambda y, x: np.divide(0.5, y),),
    "cbrt": (lambda y, x: np.divide(1 / 3, y * y),),
    "square": (lambda y, x: 2 * x,),
    "reciprocal": (lambda y, x: -y * y,),
    "sin": (lambda y, x: np.cos(x),),
    "cos": (lambda y, x: -np.sin(x),),
    "tan": (lambda y, x: 1 + y * y,),
    "arcsin": (lambda y, x: np.divide(1, np.sqrt(1 - x * x)),),
    "arccos": (lambda y, x: np.divide(-1, np.sqrt(1 - x * x)),),
    "arctan": (lambda y, x: np.divide(1, 1 + x * x),),
    "sinh": (lambda y, x: np.cosh(x),),
    "cosh": (lambda y, x: np.sinh(x),),
    "tanh": (lambda y, x: 1 - y * y,),
    "arcsinh": (lambda y, x: np.divide(1, np.sqrt(x * x + 1)),),
    "arccosh": (lambda y, x: np.divide(1, np.sqrt(x - 1) * np.sqrt(x + 1)),),
    "arctanh": (lambda y, x: np.divide(1, 1 - x * x),),
    "deg2rad": (lambda y, x: math.pi / 180,),
    "radians": (lambda y, x: math.pi / 180,),
    "rad2deg": (lambda y, x: 180 / math.pi,),
    "degrees": (lambda y, x: 180 / math.pi,),
    "fabs": (lambda y, x: np.sign(x),),
    "sinc": (_sinc,),
}

# Piecewise constant: the slope is 0 wherever there is one.
STEPS = "floor ceil rint trunc heaviside floor_divide fix around round spacing"


def _slope_rule(slope: Slope | None) -> Any:
    if slope is None:
        return ZERO
    if slope is _one:
        return lambda ct, y, *operands, **keywords: ct
    return lambda ct, y, *operands, **keywords: scale(ct, slope(y, *operands))


def _chooses(first: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Rules of a function that picks one of two: ties share equally, what isn't picked gets exactly 0."""

    def rule(ct: Any, y: Any, a: Any, b: Any, swap: bool = False, **_: Any) -> Any:
        won, other = (first(b, a), first(a, b)) if swap else (first(a, b), first(b, a))
        return np.where(won, np.where(other, ct * 0.5, ct), 0)

    return rule, lambda ct, y, a, b, **_: rule(ct, y, a, b, swap=True)


def _real_or(real: Callable[..., Any], complex_: Callable[..., Any]) -> Callable[..., Any]:
    """One rule for real operands, another for complex ones."""

    def rule(ct: Any, y: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
        return (complex_ if np.iscomplexobj(x) else real)(ct, y, x, *rest, **keywords)

    return rule


_absolute = _real_or(
    lambda ct, y, x: scale(ct, np.sign(x)),
    lambda ct, y, x: scale(ct, safe_quotient(np.conjugate(x), y)),
)
_absolute_forward = _real_or(
    lambda t, y, x: scale(t, np.sign(x)),
    lambda t, y, x: safe_quotient(np.real(np.conjugate(x) * t), y),
)
_sign = _real_or(
    lambda ct, y, x: np.zeros(np.shape(y)),
    lambda ct, y, x: scale(np.imag(ct * y), safe_quotient(1j * np.conjugate(y), np.absolute(x))),
)
_sign_forward = _real_or(
    lambda t, y, x: np.zeros(np.shape(y)),
    lambda t, y, x: scale(np.imag(np.conjugate(y) * t), safe_quotient(1j * y, np.absolute(x))),
)
_max = _chooses(lambda a, b: np.greater_equal(a, b))
_min = _chooses(lambda a, b: np.less_equal(a, b))
_fmax = _chooses(lambda a, b: np.logical_or(np.greater_equal(a, b), np.not_equal(b, b)))
_fmin = _chooses(lambda a, b: np.logical_or(np.less_equal(a, b), np.not_equal(b, b)))

VJP: dict[str, dict[Any, Any]] = {
    **{f"np.{n}": dict(enumerate(map(_slope_rule, slopes))) for n, slopes in SLOPES.items()},
    **{f"np.{n}": {0: ZERO, 1: ZERO} for n in STEPS.split()},
    "np.absolute": {0: _absolute},
    "np.sign": {0: _sign},
    "np.maximum": dict(enumerate(_max)),
    "np.minimum": dict(enumerate(_min)),
    "np.fmax": dict(enumerate(_fmax)),
    "np.fmin": dict(enumerate(_fmin)),
    "np.heaviside": {0: ZERO, 1: lambda ct, y, x, at_zero: np.where(np.equal(x, 0), ct, 0)},
    "np.conjugate": {0: lambda ct, y, x: np.conjugate(ct)},
    "np.modf": {0: lambda ct, y, x: ct[0]},
    "np.frexp": {0: lambda ct, y, x: np.ldexp(ct[0], np.negative(y[1]))},
    "np.divmod": {
        0: lambda ct, y, a, b: ct[1],
        1: lambda ct, y, a, b: scale(ct[1], -np.floor_divide(a, b)),
    },
}
JVP: dict[str, dict[Any, Any]] = {
    **{f"np.{n}": dict(enumerate(map(_slope_rule, slopes))) for n, slopes in SLOPES.items()},
    **{f"np.{n}": {0: ZERO, 1: ZERO} for n in STEPS.split()},
    **{name: VJP[name] for name in ("np.maximum", "np.minimum", "np.fmax", "np.fmin", "np.heaviside")},
    "np.absolute": {0: _absolute_forward},
    "np.sign": {0: _sign_forward},
    "np.conjugate": {0: LINEAR},
}

# Python's operators do what these ufuncs do.
OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "neg": "negative",
    "pos": "positive",
    "abs": "absolute",
}
for _name, _ufunc in OPERATORS.items():
    VJP[_name], JVP[_name] = VJP[f"np.{_ufunc}"], JVP[f"np.{_ufunc}"]
for _name in ("nd.conj", "nd.conjugate"):
    VJP[_name], JVP[_name] = VJP["np.conjugate"], JVP["np.conjugate"]
