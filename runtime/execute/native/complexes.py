"""Complex numbers: pairs of floats, computed by the formulas that Python and NumPy have for single numbers.

In: numbers of which one at least is complex.  Out: numbers.  What always holds: where Python would raise, the
code leaves to the plan; formulas are those of CPython before 3.14 and of NumPy's scalars, step by step.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from runtime.config import settings
from runtime.execute.native.emit import Emitter
from runtime.execute.native.floats import finite, kept, to_float
from runtime.execute.native.kinds import (
    FLOAT64,
    PYTHON_BOOL,
    PYTHON_COMPLEX,
    PYTHON_FLOAT,
    Scalar,
    Unlowered,
    numpy_scalar,
)
from runtime.execute.native.values import Num, one
from runtime.ops.words import said

MIXED = sys.version_info < (3, 14)  # since then a real operand is no complex one with a zero
UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide}


def part_kind(kind: Scalar) -> Scalar:
    """The kind of the parts of a complex number."""
    if kind.weak:
        return PYTHON_FLOAT
    return FLOAT64 if kind.bits == 128 else numpy_scalar(np.dtype(np.float32))


def parts(e: Emitter, x: Num) -> tuple[str, str]:
    """The real and the imaginary part."""
    one_part = f"extractelement {x.llvm} {x.text}, i32"
    return e.op(f"{one_part} 0"), e.op(f"{one_part} 1")


def paired(e: Emitter, kind: Scalar, real: str, imaginary: str) -> Num:
    """The number with these parts."""
    t, part = kind.llvm, part_kind(kind).llvm
    half = e.op(f"insertelement {t} poison, {part} {real}, i32 0")
    return one(kind, e.op(f"insertelement {t} {half}, {part} {imaginary}, i32 1"))


def cast(e: Emitter, x: Num, kind: Scalar) -> Num:
    """The number as a complex one of this kind."""
    if x.scalar.kind == "c":
        if x.llvm == kind.llvm:
            return one(kind, x.text, x.const)
        if kind.bits < x.scalar.bits:
            raise Unlowered("a complex number taken as a shorter one")
        return one(kind, e.op(f"fpext {x.llvm} {x.text} to {kind.llvm}"))
    return paired(e, kind, to_float(e, x, part_kind(kind)).text, "0.0")


def binary(e: Emitter, op: str, a: Num, b: Num) -> Num:
    """`a op b`."""
    if a.scalar == PYTHON_COMPLEX and b.scalar == FLOAT64:  # a float to Python, which asks the left one first
        b = one(PYTHON_FLOAT, b.text, b.const)
    weak = a.scalar.weak and b.scalar.weak
    if weak and not MIXED and a.scalar != b.scalar:
        raise Unlowered("a complex number with a real one")
    if op in ("eq", "ne"):
        kind = PYTHON_COMPLEX if weak else _common(np.add, a, b)
        return _compared(e, op, cast(e, a, kind), cast(e, b, kind), weak)
    if op == "pow":
        return _power(e, a, b)
    if op not in UFUNCS:
        raise Unlowered(f"the operator {said(op)} on complex numbers")
    kind = PYTHON_COMPLEX if weak else _common(UFUNCS[op], a, b)
    x, y = cast(e, a, kind), cast(e, b, kind)
    if op in ("add", "sub"):
        return one(kind, kept(e, kind, e.op(f"f{op} {kind.llvm} {x.text}, {y.text}")))
    return multiplied(e, x, y) if op == "mul" else _divided(e, x, y)


def _common(ufunc: np.ufunc, a: Num, b: Num) -> Scalar:
    """The dtype of the ufunc's loop, where it is the same for all."""
    asked = [complex if x.scalar.weak and x.scalar.kind == "c" else x.scalar.asked for x in (a, b)]
    found = ufunc.resolve_dtypes((*asked, None))
    if len(set(found)) != 1:
        raise Unlowered("complex numbers of two dtypes")
    return numpy_scalar(found[0])


def multiplied(e: Emitter, x: Num, y: Num) -> Num:
    """`x * y`."""
    kind, t = x.scalar, part_kind(x.scalar).llvm
    (a, b), (c, d) = parts(e, x), parts(e, y)

    def times(p: str, q: str) -> str:
        return e.op(f"fmul {t} {p}, {q}")

    real = e.op(f"fsub {t} {times(a, c)}, {times(b, d)}")
    imaginary = e.op(f"fadd {t} {times(a, d)}, {times(b, c)}")
    made = paired(e, kind, real, imaginary)
    kept(e, kind, made.text)
    return made


def _divided(e: Emitter, x: Num, y: Num) -> Num:
    """`x / y` by the larger part of y; both ways are computed and one is picked."""
    kind, part = x.scalar, part_kind(x.scalar)
    if not kind.weak:
        raise Unlowered("a division of complex NumPy scalars")  # the way not taken would raise flags
    t = part.llvm
    (a, b), (c, d) = parts(e, x), parts(e, y)
    large, small = (e.call(t, f"llvm.fabs.f{part.bits}", (t, v)) for v in (c, d))
    first = e.op(f"fcmp oge {t} {large}, {small}")
    e.defer_if(e.negated(e.either(first, e.op(f"fcmp oge {t} {small}, {large}"))))
    e.defer_if(e.both(e.op(f"fcmp oeq {t} {large}, 0.0"), e.op(f"fcmp oeq {t} {small}, 0.0")))
    top, bottom = e.select(first, t, d, c), e.select(first, t, c, d)
    ratio = e.op(f"fdiv {t} {top}, {bottom}")
    down = e.op(f"fadd {t} {bottom}, {e.op(f'fmul {t} {top}, {ratio}')}")
    p, q = e.select(first, t, a, b), e.select(first, t, b, a)
    real = e.op(f"fadd {t} {p}, {e.op(f'fmul {t} {q}, {ratio}')}")
    straight = e.op(f"fsub {t} {b}, {e.op(f'fmul {t} {a}, {ratio}')}")
    turned = e.op(f"fsub {t} {e.op(f'fmul {t} {b}, {ratio}')}, {a}")
    imaginary = e.select(first, t, straight, turned)
    return paired(e, kind, e.op(f"fdiv {t} {real}, {down}"), e.op(f"fdiv {t} {imaginary}, {down}"))


def _power(e: Emitter, a: Num, b: Num) -> Num:
    """`a ** 2` as Python computes it: 1 times the square."""
    if a.scalar != PYTHON_COMPLEX or b.const != 2 or b.scalar.kind != "i" or not b.scalar.weak:
        raise Unlowered("a power of complex numbers")
    square = multiplied(e, paired(e, a.scalar, "1.0", "0.0"), multiplied(e, a, a))
    for part in parts(e, square):
        e.defer_if(e.negated(finite(e, PYTHON_FLOAT, part)))
    return square


def _compared(e: Emitter, op: str, x: Num, y: Num, weak: bool) -> Num:
    t = part_kind(x.scalar).llvm
    equal = [e.op(f"fcmp oeq {t} {p}, {q}") for p, q in zip(parts(e, x), parts(e, y), strict=True)]
    same = e.both(*equal)
    out = PYTHON_BOOL if weak else numpy_scalar(np.dtype(bool))
    return one(out, same if op == "eq" else e.negated(same))


def unary(e: Emitter, op: str, x: Num) -> Num:
    """`op x`."""
    if op == "pos":
        return x
    if op == "neg":
        return one(x.scalar, e.op(f"fneg {x.llvm} {x.text}"))
    if op == "abs" and part_kind(x.scalar).bits == 64:
        return absolute(e, x)
    raise Unlowered(f"the operator {said(op)} on complex numbers")


def absolute(e: Emitter, x: Num) -> Num:
    """The modulus by the C library's function, which both call; unusual numbers are left."""
    kind = part_kind(x.members[0])
    value = e.library("double", "hypot", *parts(e, x))
    e.defer_if(e.negated(finite(e, kind, value)))
    return one(kind, value)


def own_modulus(x: Num) -> bool:
    """Whether `np.absolute` of it is left to NumPy's loop, which may have another last bit than abs()."""
    kind = x.members[0]  # no complex number is of two kinds
    return kind.kind == "c" and (settings.math == "exact" or kind.bits == 64)


def conjugate(e: Emitter, x: Num) -> Num:
    """The conjugate."""
    real, imaginary = parts(e, x)
    return paired(e, x.scalar, real, e.op(f"fneg {part_kind(x.scalar).llvm} {imaginary}"))


def made(e: Emitter, x: Num, y: Num) -> Num:
    """`complex(x, y)` of real numbers."""
    if "c" in (x.scalar.kind, y.scalar.kind):
        raise Unlowered("complex of complex numbers")
    return paired(e, PYTHON_COMPLEX, *(to_float(e, v, PYTHON_FLOAT).text for v in (x, y)))


def true(e: Emitter, x: Num) -> str:
    """Whether a part is not zero."""
    t = part_kind(x.members[0]).llvm
    return e.either(*(e.op(f"fcmp une {t} {p}, 0.0") for p in parts(e, x)))


@functools.lru_cache(maxsize=None, typed=True)
def same_power(simple: np.ufunc, dtype: np.dtype[Any], exponent: float) -> bool:
    """Whether this NumPy computes a power of complex numbers by a simpler ufunc, which rounds otherwise.

    Releases differ in whether 2.0 is the exponent that 2 is.
    """
    numbers = np.linspace(0.5, 1.5, 64) * np.exp(1j * np.linspace(0.1, 3, 64))
    numbers = numbers.astype(dtype)
    return bool((numbers**exponent == simple(numbers)).all())
