"""Operators on numbers, as Python has them on its own numbers and NumPy on its scalars.

In: an operator's name and numbers.  Out: the number it gives.  What always holds: where Python or NumPy
would raise or warn, or a Python int would need more than 64 bits, the code leaves to the plan; what a
float operation flags is left in the processor's flags and read at the end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.execute.native import complexes, narrowing, ranges
from runtime.execute.native.emit import FALSE, TRUE, Emitter
from runtime.execute.native.floats import cast, float_op, float_power, int_power, to_float
from runtime.execute.native.integers import checked, compare_ints, floor_div, floor_mod, shift
from runtime.execute.native.kinds import (
    FLOAT64,
    INT64,
    PYTHON_BOOL,
    PYTHON_FLOAT,
    PYTHON_INT,
    PYTHON_WIDE,
    Scalar,
    Unlowered,
    literal,
    numpy_scalar,
)
from runtime.execute.native.two_kinds import choose
from runtime.execute.native.values import (
    EXACT,
    SIGNED,
    Num,
    extended,
    one,
    span_of,
    usual,
    view,
    within,
    without_sign,
)
from runtime.ops.words import said

UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "lshift": np.left_shift,
    "rshift": np.right_shift, "and_": np.bitwise_and, "or_": np.bitwise_or, "xor": np.bitwise_xor,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
BITWISE = {"and_": "and", "or_": "or", "xor": "xor"}


def apply(e: Emitter, numbers: tuple[Num, ...], f: Callable[..., Num]) -> Num:
    """`f` on numbers of one kind each, for every combination of what the numbers may be."""
    for k, x in enumerate(numbers):
        if len(x.members) == 2:
            made, checks, before = [], [], e.pending
            for member, holds in zip(x.members, (x.tag, e.negated(x.tag)), strict=True):
                e.pending = FALSE
                with e.under(holds):
                    made.append(apply(e, (*numbers[:k], view(e, x, member), *numbers[k + 1 :]), f))
                checks.append(e.pending)
            e.pending = e.either(before, e.either(*checks))
            return choose(e, x.tag, *made)
    return f(e, *numbers)


def binary(e: Emitter, op: str, a: Num, b: Num) -> Num:
    """`a op b` by Python's operator."""

    def single(e: Emitter, a: Num, b: Num) -> Num:
        if "c" in (a.scalar.kind, b.scalar.kind):
            return complexes.binary(e, op, a, b)
        if a.scalar.weak and b.scalar.weak:
            return python_binary(e, op, a, b)
        return numpy_binary(e, op, a, b)

    return apply(e, (a, b), single)


def lowest(e: Emitter, op: str, a: Num, b: Num) -> Num:
    """The lowest 64 bits of `a op b`, Python ints of which the same is known."""
    wide = PYTHON_WIDE in (*a.members, *b.members)
    if any(x.members not in ((PYTHON_INT,), (PYTHON_WIDE,)) for x in (a, b)) or (op in BITWISE and not wide):
        return binary(e, op, a, b)
    if op in BITWISE:
        return one(PYTHON_INT, e.op(f"{BITWISE[op]} i64 {a.text}, {b.text}"))
    return one(PYTHON_INT, e.op(f"{'shl' if op == 'lshift' else op} i64 {a.text}, {b.text}"))


# ------------------------------------------------------------------------------------------- Python
def python_binary(e: Emitter, op: str, a: Num, b: Num) -> Num:
    """An operator on two Python numbers."""
    floats = "f" in (a.scalar.kind, b.scalar.kind)
    if op in COMPARISONS:
        return python_compare(e, op, a, b)
    if floats:
        x, y = to_float(e, a, PYTHON_FLOAT), to_float(e, b, PYTHON_FLOAT)
        if op in ("truediv", "floordiv", "mod"):
            e.defer_if(is_zero(e, y))
        if op == "pow":
            return float_power(e, x, y, PYTHON_FLOAT)
        return float_op(e, op, x, y, PYTHON_FLOAT)
    if PYTHON_WIDE in (a.scalar, b.scalar):
        return wide_binary(e, op, a, b)
    if op in BITWISE and a.scalar.kind == b.scalar.kind == "b":
        return one(PYTHON_BOOL, e.op(f"{BITWISE[op]} i1 {a.text}, {b.text}"))
    x, y = python_int(e, a), python_int(e, b)
    if op == "truediv":
        e.defer_if(is_zero(e, y))
        within(e, x, x.text, EXACT)
        within(e, y, y.text, EXACT)
        return float_op(e, op, to_float(e, x, PYTHON_FLOAT), to_float(e, y, PYTHON_FLOAT), PYTHON_FLOAT)
    if op == "pow":
        return int_power(e, x, y)
    if op in ("lshift", "rshift"):
        e.defer_if(e.op(f"icmp slt i64 {y.text}, 0") if y.const is None else str(y.const < 0).lower())
    return int_binary(e, op, x, y)


def int_binary(e: Emitter, op: str, x: Num, y: Num) -> Num:
    """An operator on two integers of one kind, with an integer result."""
    if op in ("add", "sub", "mul"):
        return checked(e, op, x, y)
    if op == "floordiv":
        return floor_div(e, x, y)
    if op == "mod":
        return floor_mod(e, x, y)
    if op in ("lshift", "rshift"):
        return shift(e, op, x, y)
    if op in BITWISE:
        span = ranges.OF_OPERATOR[op](span_of(x), span_of(y)) if x.scalar.kind == "i" else None
        return one(x.scalar, e.op(f"{BITWISE[op]} {x.llvm} {x.text}, {y.text}"), span=span)
    raise Unlowered(f"the operator {said(op)} on integers")


def wide_binary(e: Emitter, op: str, a: Num, b: Num) -> Num:
    """An operator on two Python ints, one of them without a sign."""
    mask = b.const is not None and b.const > 0
    if op == "mod" and mask and b.const & (b.const - 1) == 0:
        op, b = "and_", lift_int(b.const - 1)
    if op == "and_":  # of a negative number the lowest bits are the same
        text = e.op(f"and i64 {whole(e, a).text}, {whole(e, b).text}")
        most = min(span_of(x)[1] for x in (a, b) if span_of(x)[0] >= 0)
        return small(one(PYTHON_WIDE, text, span=(0, most)))
    if op == "truediv":
        x, y = (whole(e, v) for v in (a, b))
        e.defer_if(is_zero(e, y))
        for v in (x, y):
            within(e, v, v.text, EXACT)
        return float_op(e, op, to_float(e, x, PYTHON_FLOAT), to_float(e, y, PYTHON_FLOAT), PYTHON_FLOAT)
    if op in ("lshift", "rshift") and not (b.const is not None and 0 <= b.const < 64):
        raise Unlowered("a Python int of 64 bits that is shifted by a number only known at run time")
    x, y = (without_sign(e, whole(e, v)) for v in (a, b))
    if op == "lshift":
        moved = e.op(f"shl i64 {x.text}, {y.text}")
        e.defer_if(e.op(f"icmp ne i64 {e.op(f'lshr i64 {moved}, {y.text}')}, {x.text}"))
        return one(PYTHON_WIDE, moved)
    if op == "pow":
        raise Unlowered("a power of a Python int of 64 bits")
    made = int_binary(e, op, x, y)
    low, high = span_of(x)[1], span_of(y)[1]
    if op == "rshift":
        made = dataclasses.replace(made, span=(0, low >> y.const))
    elif op == "floordiv":
        made = dataclasses.replace(made, span=(0, low // max(1, span_of(y)[0])))
    elif op == "mod":
        made = dataclasses.replace(made, span=(0, min(low, high - 1)))
    return small(made)


def small(x: Num) -> Num:
    """A Python int without a sign that may as well have one, if it is known to fit."""
    return one(PYTHON_INT, x.text, x.const, x.span) if span_of(x)[1] <= SIGNED else x


def whole(e: Emitter, x: Num) -> Num:
    """A Python int, whatever it is held as."""
    return x if x.scalar == PYTHON_WIDE else python_int(e, x)


def lift_int(value: int) -> Num:
    """A Python int that is known."""
    return one(PYTHON_INT if value <= SIGNED else PYTHON_WIDE, literal(value, "i64"), value)


def python_int(e: Emitter, x: Num) -> Num:
    """A Python bool or int as an int."""
    if x.scalar == PYTHON_INT:
        return x
    const = None if x.const is None else int(x.const)
    text = str(const) if const is not None else e.op(f"zext i1 {x.text} to i64")
    return one(PYTHON_INT, text, const, (0, 1))


def python_compare(e: Emitter, op: str, a: Num, b: Num) -> Num:
    """A comparison of two Python numbers; ints and floats are compared exactly."""
    if "f" in (a.scalar.kind, b.scalar.kind):
        for x in (a, b):
            if x.scalar.kind in "iu":
                within(e, x, x.text, EXACT)
        x, y = to_float(e, a, PYTHON_FLOAT), to_float(e, b, PYTHON_FLOAT)
        return float_op(e, op, x, y, PYTHON_FLOAT, PYTHON_BOOL)
    wide = PYTHON_WIDE in (a.scalar, b.scalar)
    for v, true in ((a, ("ne", "lt", "le")), (b, ("ne", "gt", "ge"))):
        if wide and v.const is not None and v.const < 0:
            return one(PYTHON_BOOL, str(op in true).lower(), op in true)
    x, y = (without_sign(e, whole(e, v)) if wide else python_int(e, v) for v in (a, b))
    made = compare_ints(e, op, "u" if wide else "i", "i64", x.text, y.text)
    narrowing.compared(e, made, op, x, y)
    return one(PYTHON_BOOL, made)


def is_zero(e: Emitter, x: Num) -> str:
    """Whether a number is zero."""
    if x.const is not None:
        return "true" if x.const == 0 else "false"
    if x.scalar.kind == "f":
        return e.op(f"fcmp oeq {x.llvm} {x.text}, 0.0")
    return e.op(f"icmp eq {x.llvm} {x.text}, 0")


# -------------------------------------------------------------------------------------------- NumPy
def numpy_binary(e: Emitter, op: str, a: Num, b: Num) -> Num:
    """An operator on two numbers, one at least a NumPy scalar."""
    if op in COMPARISONS and "f" not in (a.scalar.kind, b.scalar.kind):
        return numpy_compare_ints(e, op, a, b)
    if op in COMPARISONS:
        for x, other in ((a, b), (b, a)):
            if x.scalar.weak and x.scalar.kind == "i" and other.scalar.kind == "f":
                within(e, x, x.text, EXACT)
    return by_ufunc(e, op, a, b)


def by_ufunc(e: Emitter, op: str, a: Num, b: Num) -> Num:
    """What the ufunc behind an operator gives for two numbers."""
    left, right, out = loop_kinds(UFUNCS[op], a.scalar, b.scalar)
    if left != right or left.kind == "c":
        raise Unlowered(f"{UFUNCS[op].__name__} on {left.dtype} and {right.dtype}")
    x, y = cast(e, a, left), cast(e, b, right)
    if left.kind == "f":
        if op in ("truediv", "floordiv", "mod"):
            e.defer_if(is_zero(e, y))
        if op == "pow":
            return float_power(e, x, y, out)
        return float_op(e, op, x, y, left, out)
    if left.kind == "b":
        if op in BITWISE:
            return one(out, e.op(f"{BITWISE[op]} i1 {x.text}, {y.text}"))
        raise Unlowered(f"the operator {said(op)} on bools")
    if op == "pow":
        return int_power(e, x, y)
    if op in COMPARISONS:
        return one(out, compare_ints(e, op, left.kind, left.llvm, x.text, y.text))
    return int_binary(e, op, x, y)


def loop_kinds(ufunc: np.ufunc, *scalars: Scalar) -> list[Scalar]:
    """The dtypes of the loop that a ufunc takes for these operands, results last."""
    try:
        found = ufunc.resolve_dtypes((*(s.asked for s in scalars), *(None,) * ufunc.nout))
    except TypeError as error:
        raise Unlowered(f"{ufunc.__name__} on {', '.join(str(s.type) for s in scalars)}") from error
    return [numpy_scalar(d) for d in found]


def numpy_compare_ints(e: Emitter, op: str, a: Num, b: Num) -> Num:
    """A comparison of integers and bools: by value, whatever their widths."""
    out = numpy_scalar(np.dtype(bool))
    wide = [x.scalar.kind == "u" and x.scalar.bits == 64 for x in (a, b)]
    x, y = extended(e, a), extended(e, b)
    if all(wide):
        return one(out, compare_ints(e, op, "u", "i64", x, y))
    for is_wide, other, value in ((wide[1], a, x), (wide[0], b, y)):
        if is_wide:
            if not other.scalar.weak:
                raise Unlowered("a comparison of uint64 with another integer")
            e.defer_if(e.op(f"icmp slt i64 {value}, 0"))
    made = compare_ints(e, op, "u" if any(wide) else "i", "i64", x, y)
    narrowing.compared(e, made, op, a, b)
    return one(out, made)


# -------------------------------------------------------------------------------------------- unary
def unary(e: Emitter, op: str, x: Num) -> Num:
    """`op x` by Python's operator."""
    return apply(e, (x,), lambda e, x: _unary(e, op, x))


def _unary(e: Emitter, op: str, x: Num) -> Num:
    kind = x.scalar
    if kind.kind == "c":
        return complexes.unary(e, op, x)
    if kind.kind == "b" and kind.weak and op in ("neg", "pos", "abs"):
        return _unary(e, op, python_int(e, x))
    if op == "pos" and kind.kind != "b":
        return x
    if kind.kind == "f" and op == "neg":
        if x.const is not None:
            return one(kind, literal(-x.const, kind.llvm), -x.const)
        return one(kind, e.op(f"fneg {kind.llvm} {x.text}"))
    if kind.kind == "f" and op == "abs":
        return one(kind, e.call(kind.llvm, f"llvm.fabs.f{kind.bits}", (kind.llvm, x.text)))
    if op == "abs" and kind.kind == "u":
        return x
    if op == "abs" and kind.kind == "b":
        return x
    if kind.kind in "iu" and op == "neg":
        return checked(e, "sub", one(kind, "0", 0), x)
    if kind.kind == "i" and op == "abs":
        low, high = span_of(x)
        if low >= 0:
            return x
        if low == ranges.whole(kind)[0]:
            e.defer_if(e.op(f"icmp eq {kind.llvm} {x.text}, {low}"))
            span = None
        else:
            span = (0, max(-low, high))
        negative = e.op(f"icmp slt {kind.llvm} {x.text}, 0")
        return one(
            kind, e.select(negative, kind.llvm, e.op(f"sub {kind.llvm} 0, {x.text}"), x.text), span=span
        )
    if op == "invert" and kind != PYTHON_WIDE and (kind.kind in "iu" or (kind.kind == "b" and not kind.weak)):
        return one(kind, e.op(f"xor {kind.llvm} {x.text}, {'true' if kind.kind == 'b' else -1}"))
    raise Unlowered(f"the operator {said(op)} on {kind.type}")


def truth(e: Emitter, x: Num) -> str:
    """Python's truth of a number."""
    if x.const is not None:
        return "true" if x.const else "false"
    if x.llvm == "i1":
        return x.text
    if x.members[0].kind == "c":
        return complexes.true(e, x)
    if x.llvm in ("double", "float"):
        return e.op(f"fcmp une {x.llvm} {x.text}, 0.0")
    return e.op(f"icmp ne {x.llvm} {x.text}, 0")


# --------------------------------------------------------------------------------------- conversions
def to_python(e: Emitter, x: Num, cls: type) -> Num:
    """`int(x)`, `float(x)`, `bool(x)`."""
    if cls is bool:
        return one(PYTHON_BOOL, truth(e, x))
    return apply(e, (x,), lambda e, x: _to_python(e, x, cls))


def _to_python(e: Emitter, x: Num, cls: type) -> Num:
    if x.scalar.kind == "c":
        raise Unlowered(f"{cls.__name__} of a complex number")
    if cls is float:
        number = to_float(e, x, FLOAT64)
        return one(PYTHON_FLOAT, number.text, number.const)
    if x.scalar.kind == "f":
        return one(PYTHON_INT, truncated(e, x))
    if x.scalar == PYTHON_WIDE:
        return x
    if x.scalar.kind == "u" and x.scalar.bits == 64:
        e.defer_if(e.op(f"icmp slt i64 {x.text}, 0"))
    span = None if x.scalar.kind == "u" and x.scalar.bits == 64 else span_of(x)
    return one(PYTHON_INT, extended(e, x), None if x.const is None else int(x.const), span)


def truncated(e: Emitter, x: Num) -> str:
    """A float's integer part in 64 bits; leaves to the plan what does not fit, and NaN."""
    if e.lanes == 1 and e.gang is None:  # the instruction gives the least integer for those
        t, lanes, name = (("double", 2, "sse2.cvttsd2si64"), ("float", 4, "sse.cvttss2si64"))[
            x.llvm == "float"
        ]
        value = e.op(f"insertelement <{lanes} x {t}> poison, {t} {x.text}, i32 0")
        whole = e.call("i64", f"llvm.x86.{name}", (f"<{lanes} x {t}>", value))
        e.defer_if(e.op(f"icmp eq i64 {whole}, {-(1 << 63)}"))
        return whole
    edge = "0x43E0000000000000"  # 2.0**63, the same text for float and double
    low = e.op(f"fcmp oge {x.llvm} {x.text}, 0xC3E0000000000000")
    high = e.op(f"fcmp olt {x.llvm} {x.text}, {edge}")
    e.defer_if(e.negated(e.both(low, high)))
    return e.call("i64", f"llvm.fptosi.sat.i64.f{x.scalar.bits}", (x.llvm, x.text))


def stored(e: Emitter, x: Num, kind: Scalar) -> Num:
    """The number as an element of an array of this kind, as an item assignment makes it."""
    return apply(e, (x,), lambda e, x: _stored(e, x, kind))


def _stored(e: Emitter, x: Num, kind: Scalar) -> Num:
    if kind.kind == "b":
        return one(kind, truth(e, x))
    if kind.kind == "c":
        return complexes.cast(e, x, kind)
    if x.scalar.kind == "c":
        raise Unlowered("a complex number stored as a real one")
    if kind.kind == "f":
        return to_float(e, x, kind)
    if x.scalar.kind == "f":
        x = one(INT64, truncated(e, x))
    return cast(e, x, kind)


def index(e: Emitter, x: Num) -> str:
    """A number as an index, in 64 bits."""
    if any(m.kind not in "iu" for m in x.members):
        raise Unlowered("an index that is no integer")
    if len(x.members) == 2:
        return usual(e, x).text
    if x.scalar.kind == "u" and x.scalar.bits == 64:
        e.defer_if(e.op(f"icmp slt i64 {x.text}, 0"))
    return extended(e, x)


def smaller(e: Emitter, op: str, numbers: list[Num]) -> Num:
    """`min` (op "lt") or `max` (op "gt") of several numbers, the first of equal ones."""
    best = numbers[0]
    for x in numbers[1:]:
        best = choose(e, truth(e, binary(e, op, x, best)), x, best)
    return best


def known(x: Num) -> Any:
    """The value where it is known now, else None."""
    return x.const


__all__ = ["TRUE", "apply", "binary", "index", "known", "smaller", "stored", "to_python", "truth", "unary"]
