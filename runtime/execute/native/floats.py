"""Floating point: conversions into it, arithmetic without any contraction, powers.

In: numbers.  Out: numbers.  What always holds: every operation on NumPy floats is carried out even where
nobody needs its result, so that the processor's flags are those that NumPy would have seen.
"""

from __future__ import annotations

import numpy as np

from runtime.config import settings
from runtime.execute.native.emit import Emitter
from runtime.execute.native.integers import checked
from runtime.execute.native.kinds import Scalar, Unlowered, literal
from runtime.execute.native.values import EXACT, Num, extended, one, within
from runtime.ops.words import said

ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"}
ORDERED = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
EXACT_SINGLE = 1 << 24
MAX_POWER = 64


def to_float(e: Emitter, x: Num, kind: Scalar) -> Num:
    """The number as a float of this kind, rounded as C and Python round."""
    if x.const is not None:
        single = kind.bits == 32
        exact = x.scalar.kind == "f" or abs(int(x.const)) <= (EXACT_SINGLE if single else EXACT)
        if exact and not (single and abs(x.const) > 1e38):
            return one(
                kind, literal(x.const, kind.llvm), float(np.float32(x.const)) if single else float(x.const)
            )
    if x.scalar.kind == "f":
        if x.llvm == kind.llvm:
            return one(kind, x.text, x.const)
        if kind.bits == 64:
            return one(kind, e.op(f"fpext float {x.text} to double"))
        return one(kind, e.keep("float", e.op(f"fptrunc double {e.opaque('double', x.text)} to float")))
    if kind.bits == 32:
        within(e, x, extended(e, x), EXACT_SINGLE)
    llvm, held = e.held.get(x.text, ("", ""))
    if llvm in ("double", "float"):  # of a number of two kinds: it is held as a float anyway
        how = "fptrunc" if llvm == "double" else "fpext"
        return one(kind, held if llvm == kind.llvm else e.op(f"{how} {llvm} {held} to {kind.llvm}"))
    how = "sitofp" if x.scalar.kind == "i" else "uitofp"
    return one(kind, e.opaque(kind.llvm, e.op(f"{how} {x.llvm} {x.text} to {kind.llvm}")))


def cast(e: Emitter, x: Num, kind: Scalar) -> Num:
    """The number in the dtype of a loop; a Python int that does not fit is left to the plan."""
    if kind.kind == "f":
        return to_float(e, x, kind)
    if kind.kind == "b":
        if x.scalar.kind != "b":
            raise Unlowered("a number taken as bool")
        return one(kind, x.text, x.const)
    if x.scalar.kind == "f":
        raise Unlowered("a float taken as an integer")
    if x.const is None and x.scalar.kind == kind.kind and x.llvm == kind.llvm:
        return one(kind, x.text, span=x.span, likely=x.likely)
    whole = extended(e, x)
    fits(e, x, whole, kind)
    if x.const is not None:
        return one(kind, literal(x.const, kind.llvm), int(x.const))
    llvm, held = e.held.get(x.text, ("", ""))
    if llvm == kind.llvm:
        return one(kind, held)
    return one(kind, whole if kind.bits == 64 else e.op(f"trunc i64 {whole} to {kind.llvm}"))


def fits(e: Emitter, x: Num, whole: str, kind: Scalar) -> None:
    """Leave to the plan unless the integer is in the range of `kind`."""
    low, high = (
        (0, (1 << kind.bits) - 1) if kind.kind == "u" else (-(1 << kind.bits - 1), (1 << kind.bits - 1) - 1)
    )
    if x.const is not None:
        if not low <= int(x.const) <= high:
            e.defer_if("true")
        return
    signed, bits = x.scalar.kind == "i", x.scalar.bits
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if x.text in e.held and x.span is not None:
        least, most = x.span
    if signed and least < low:
        e.defer_if(e.op(f"icmp slt i64 {whole}, {low}"))
    if most > high:
        e.defer_if(e.op(f"icmp {'s' if signed else 'u'}gt i64 {whole}, {high}"))


def float_op(e: Emitter, op: str, x: Num, y: Num, kind: Scalar, out: Scalar | None = None) -> Num:
    """Arithmetic or a comparison on two floats of one kind; divisors are not zero."""
    llvm = kind.llvm
    if op in ORDERED:
        assert out is not None
        return one(out, e.op(f"fcmp {ORDERED[op]} {llvm} {x.text}, {y.text}"))
    if x.const is not None and y.const is not None:
        x = one(kind, e.opaque(llvm, x.text))
    if op in ARITHMETIC:
        return one(kind, kept(e, kind, e.op(f"{ARITHMETIC[op]} {llvm} {x.text}, {y.text}")))
    if op in ("floordiv", "mod"):
        return floor_division(e, op, x, y, kind)
    raise Unlowered(f"the operator {said(op)} on floats")


def kept(e: Emitter, kind: Scalar, value: str) -> str:
    """The value of an operation that NumPy would look at the flags of."""
    return value if kind.weak else e.keep(kind.llvm, value)


def floor_division(e: Emitter, op: str, x: Num, y: Num, kind: Scalar) -> Num:
    """`//` and `%` as Python and NumPy both compute them, from the remainder of a truncated division."""
    t, f = kind.llvm, f"f{kind.bits}"
    rest = e.op(f"frem {t} {x.text}, {y.text}")
    uneven = e.op(f"fcmp une {t} {rest}, 0.0")
    crosses = e.op(f"xor i1 {e.op(f'fcmp olt {t} {y.text}, 0.0')}, {e.op(f'fcmp olt {t} {rest}, 0.0')}")
    adjust = e.both(uneven, crosses)
    if op == "mod":
        moved = e.select(adjust, t, kept(e, kind, e.op(f"fadd {t} {rest}, {y.text}")), rest)
        zero = e.call(t, f"llvm.copysign.{f}", (t, "0.0"), (t, y.text))
        return one(kind, kept(e, kind, e.select(uneven, t, moved, zero)))
    quotient = kept(e, kind, e.op(f"fdiv {t} {e.op(f'fsub {t} {x.text}, {rest}')}, {y.text}"))
    quotient = e.select(adjust, t, e.op(f"fsub {t} {quotient}, 1.0"), quotient)
    floor = e.call(t, f"llvm.floor.{f}", (t, quotient))
    above = e.op(f"fcmp ogt {t} {e.op(f'fsub {t} {quotient}, {floor}')}, 0.5")
    floor = e.select(above, t, e.op(f"fadd {t} {floor}, 1.0"), floor)
    sign = kept(e, kind, e.op(f"fdiv {t} {x.text}, {y.text}"))
    signed = e.call(t, f"llvm.copysign.{f}", (t, "0.0"), (t, sign))
    return one(kind, e.select(e.op(f"fcmp une {t} {quotient}, 0.0"), t, floor, signed))


def float_power(e: Emitter, x: Num, y: Num, kind: Scalar) -> Num:
    """`x ** y` by the C library's function, which both Python and NumPy call, or by multiplying where
    the last bits may differ; unusual cases are left."""
    t = kind.llvm
    if settings.math == "fast" and y.const in (0.5, 2, 3, 4):
        return _small_power(e, x, y.const, kind)
    if y.const is None or not float(y.const).is_integer() or y.const <= 0:
        e.defer_if(e.negated(e.op(f"fcmp ogt {t} {x.text}, 0.0")))
    name = "pow" if kind.bits == 64 else "powf"
    value = e.library(t, name, e.opaque(t, x.text), e.opaque(t, y.text))
    e.defer_if(e.negated(finite(e, kind, value)))
    return one(kind, value)


def _small_power(e: Emitter, x: Num, exponent: float, kind: Scalar) -> Num:
    """A float to one of the powers that take a few instructions: no further from the true value than that of
    the C library, or for 3 and 4 than NumPy's arrays have it here."""
    t = kind.llvm
    base = e.opaque(t, x.text)
    if exponent == 0.5:
        e.defer_if(e.negated(e.op(f"fcmp ogt {t} {base}, 0.0")))  # the root of -0.0 is another
        return one(kind, e.call(t, f"llvm.sqrt.f{kind.bits}", (t, base)))
    square = kept(e, kind, e.op(f"fmul {t} {base}, {base}"))
    value = square
    if exponent > 2:
        value = kept(e, kind, e.op(f"fmul {t} {square}, {base if exponent == 3 else square}"))
    if kind.weak:  # Python raises where the result is too large
        size = e.call(t, f"llvm.fabs.f{kind.bits}", (t, value))
        e.defer_if(e.op(f"fcmp oeq {t} {size}, 0x7FF0000000000000"))
    return one(kind, value)


def finite(e: Emitter, kind: Scalar, value: str) -> str:
    """Whether a float is neither infinite nor NaN."""
    size = e.call(kind.llvm, f"llvm.fabs.f{kind.bits}", (kind.llvm, value))
    return e.op(f"fcmp one {kind.llvm} {size}, 0x7FF0000000000000")


def int_power(e: Emitter, x: Num, y: Num) -> Num:
    """An integer to a small constant power, by multiplying."""
    if y.const is None or not 0 <= int(y.const) <= MAX_POWER:
        raise Unlowered("an integer to a power that is not a small constant")
    power, square = one(x.scalar, "1", 1), x
    left = int(y.const)
    while left:
        if left & 1:
            power = square if power.const == 1 else checked(e, "mul", power, square)
        left >>= 1
        if left:
            square = checked(e, "mul", square, square)
    return power
