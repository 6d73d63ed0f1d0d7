"""One element at a time, or one per lane: the instructions of NumPy's simple ufuncs and casts.

In: numbers (of all lanes of the emitter).  Out: the text of the result.  What always holds: bit for bit what
NumPy gives, and no flag that NumPy would not see.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from runtime.execute.native.emit import Emitter
from runtime.execute.native.floats import ORDERED
from runtime.execute.native.host import flags, vector_bytes
from runtime.execute.native.integers import compare_ints
from runtime.execute.native.kinds import Scalar, Unlowered, numpy_scalar
from runtime.execute.native.lanes import keep_lanes, pieces, together
from runtime.execute.native.values import Num
from runtime.pattern import pattern

Lowered = Callable[..., str]
FLOAT_BINARY = {
    "add": "fadd",
    "subtract": "fsub",
    "multiply": "fmul",
    "divide": "fdiv",
    "true_divide": "fdiv",
}
INT_BINARY = {"add": "add", "subtract": "sub", "multiply": "mul"}
BIT_BINARY = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
BOOL_BINARY = {
    **BIT_BINARY, "add": "or", "multiply": "and", "logical_and": "and", "logical_or": "or",
    "logical_xor": "xor", "maximum": "or", "minimum": "and", "not_equal": "xor", "fmax": "or", "fmin": "and",
}  # fmt: skip
COMPARED = {
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq",
    "not_equal": "ne",
}  # fmt: skip
OF_INTEGERS = {"isnan": "false", "isinf": "false", "isfinite": "true"}
LLVM_UNARY = {n: n for n in ("sqrt", "floor", "ceil", "trunc", "rint", "fabs")}
INT32 = numpy_scalar(np.dtype(np.int32))
LOGICAL = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor"}


def lowered(e: Emitter, name: str, kind: Scalar, out: Scalar, count: int) -> Lowered | None:
    """The instructions of a ufunc on operands of one kind, or None where there are none here."""
    if kind.kind == "c":
        return _of_pairs(name)
    if count == 2:
        return _binary(e, name, kind, out)
    if count == 1 and kind.kind in "iu" and name in OF_INTEGERS:
        return lambda x: e.splat("i1", OF_INTEGERS[name])
    if count == 1 and kind.kind in "iu" and kind == out and name in ("floor", "ceil", "trunc"):
        return lambda x: x.text
    if count == 1 and kind.kind in "iu" and kind == out and name == "sign":
        return lambda x: _one_of_sign(e, kind, x.text)
    return _unary(e, name, kind, out) if count == 1 else None


def _of_pairs(name: str) -> Lowered | None:
    """NumPy's loops do all but this on complex numbers: several at once, in an order of their own."""
    return (lambda x: x.text) if name == "positive" else None


def _one_of_sign(e: Emitter, kind: Scalar, x: str) -> str:
    """1, 0 or -1 for an integer."""
    t = e.wide(kind.llvm)
    zero = e.splat(kind.llvm, "0")
    if kind.kind == "u":
        return e.op(f"zext {e.wide('i1')} {e.op(f'icmp ne {t} {x}, {zero}')} to {t}")
    above, below = (e.op(f"icmp {how} {t} {x}, {zero}") for how in ("sgt", "slt"))
    ones = [e.op(f"{how} {e.wide('i1')} {c} to {t}") for how, c in (("zext", above), ("sext", below))]
    return e.op(f"or {t} {ones[0]}, {ones[1]}")


# --------------------------------------------------------------------------------------------- binary
def _binary(e: Emitter, name: str, kind: Scalar, out: Scalar) -> Lowered | None:
    if kind.kind == "b":
        if name not in BOOL_BINARY or out.kind != "b":
            return None
        return _plain(e, BOOL_BINARY[name], kind)
    if name in LOGICAL:
        return lambda x, y: e.op(f"{LOGICAL[name]} {e.wide('i1')} {truth(e, x)}, {truth(e, y)}")
    if name in COMPARED:
        return _comparison(e, COMPARED[name], kind)
    if name in ("maximum", "minimum") or (name in ("fmax", "fmin") and kind.kind != "f"):
        return _extreme(e, name, kind)
    if kind.kind == "f" and name in ("divide", "true_divide"):
        return lambda x, y: e.op(f"fdiv {e.wide(kind.llvm)} {x.text}, {_opaque(e, kind, y.text)}")
    if kind.kind == "f":
        return _plain(e, FLOAT_BINARY[name], kind) if name in FLOAT_BINARY else None
    if name in ("subtract", "bitwise_xor") and kind.bits > 16 and e.reports:
        return _difference(e, {**INT_BINARY, **BIT_BINARY}[name], kind)
    if name in INT_BINARY or name in BIT_BINARY:
        return _plain(e, {**INT_BINARY, **BIT_BINARY}[name], kind)
    if name in ("left_shift", "right_shift"):
        return lambda x, y: _shift(e, name, kind, x, y)
    if name in ("floor_divide", "remainder"):
        return lambda x, y: _divided(e, name, kind, x, y)
    return None


_ZERO = pattern(r"(?<![\d.])0\.0(?!\d)|0x[08]0{15}\b|zeroinitializer")


def _opaque(e: Emitter, kind: Scalar, x: str) -> str:
    """A divisor, or what was an integer; kept from LLVM, which computes with two numbers that it can tell
    (`x < x` is no bit) itself, without flags."""
    known = not x.startswith("%") and not _ZERO.search(x)  # LLVM may find out what is divided
    if not e.reports or known or 1 < e.lanes < 128 // kind.bits:
        return x
    return _hidden(e, kind, x)


def _hidden(e: Emitter, kind: Scalar, x: str) -> str:
    """Numbers of which LLVM does not know where they come from."""
    size, place = min(e.lanes, vector_bytes() * 8 // kind.bits), "v" if vector_bytes() == 64 else "x"
    t = kind.llvm if size == 1 else f"<{size} x {kind.llvm}>"
    parts = pieces(e, kind.llvm, x, size)
    return together(e, kind.llvm, [e.op(f'call {t} asm "", "={place},0"({t} {part})') for part in parts])


def _plain(e: Emitter, instruction: str, kind: Scalar) -> Lowered:
    return lambda x, y: e.op(f"{instruction} {e.wide(kind.llvm)} {x.text}, {y.text}")


def _difference(e: Emitter, instruction: str, kind: Scalar) -> Lowered:
    """Of integers, which may have been floats that flagged: LLVM would compute nothing for `x - x`."""

    def differ(x: Num, y: Num) -> str:
        other = _hidden(e, kind, y.text) if x.text == y.text and x.text.startswith("%") else y.text
        return e.op(f"{instruction} {e.wide(kind.llvm)} {x.text}, {other}")

    return differ


def _comparison(e: Emitter, op: str, kind: Scalar) -> Lowered:
    def compare(x: Num, y: Num) -> str:
        t = e.wide(kind.llvm)
        if kind.kind == "f":
            return compared(e, ORDERED[op], kind, x.text, y.text)
        return compare_ints(e, op, "i" if kind.kind == "i" else "u", t, x.text, y.text)

    return compare


def compared(e: Emitter, how: str, kind: Scalar, x: str, y: str) -> str:
    """A comparison of floats that raises no flag for NaN, as NumPy's don't."""
    t = e.wide(kind.llvm)
    if how not in ("olt", "ole", "ogt", "oge"):
        return e.op(f"fcmp {how} {t} {x}, {y}")
    function = f"llvm.experimental.constrained.fcmp.{f'v{e.lanes}' if e.lanes > 1 else ''}f{kind.bits}"
    e.declare(f"declare {e.wide('i1')} @{function}({t}, {t}, metadata, metadata)")
    told = f'metadata !"{how}", metadata !"fpexcept.ignore"'
    return e.op(f"call {e.wide('i1')} @{function}({t} {x}, {t} {y}, {told})")


def _extreme(e: Emitter, name: str, kind: Scalar) -> Lowered:
    """The larger or smaller of two; of equal ones the second, of NaNs the first."""
    greater = name in ("maximum", "fmax")

    def pick(x: Num, y: Num) -> str:
        t, b = e.wide(kind.llvm), e.wide("i1")
        if kind.kind != "f":
            how = ("s" if kind.kind == "i" else "u") + ("gt" if greater else "lt")
            return e.op(
                f"select {b} {e.op(f'icmp {how} {t} {x.text}, {y.text}')}, {t} {x.text}, {t} {y.text}"
            )
        first = compared(e, "ogt" if greater else "olt", kind, x.text, y.text)
        nan = e.op(f"fcmp uno {t} {x.text}, {x.text}")
        return e.op(f"select {b} {e.op(f'or {b} {nan}, {first}')}, {t} {x.text}, {t} {y.text}")

    return pick


def _shift(e: Emitter, name: str, kind: Scalar, x: Num, y: Num) -> str:
    t, b, bits = e.wide(kind.llvm), e.wide("i1"), kind.bits
    fits = e.op(f"icmp ult {t} {y.text}, {e.splat(kind.llvm, str(bits))}")
    zero = e.splat(kind.llvm, "0")
    if name == "right_shift" and kind.kind == "i":
        count = e.op(f"select {b} {fits}, {t} {y.text}, {t} {e.splat(kind.llvm, str(bits - 1))}")
        return e.op(f"ashr {t} {x.text}, {count}")
    count = e.op(f"select {b} {fits}, {t} {y.text}, {t} {zero}")
    moved = e.op(f"{'shl' if name == 'left_shift' else 'lshr'} {t} {x.text}, {count}")
    return e.op(f"select {b} {fits}, {t} {moved}, {t} {zero}")


def _divided(e: Emitter, name: str, kind: Scalar, x: Num, y: Num) -> str:
    """`//` or `%` of integers; by zero is 0 and raises the processor's flag, as NumPy does."""
    t, b = e.wide(kind.llvm), e.wide("i1")
    zero, unit = e.splat(kind.llvm, "0"), e.splat(kind.llvm, "1")
    is_zero = e.op(f"icmp eq {t} {y.text}, {zero}")
    _flag_zero(e, is_zero)
    if kind.kind == "u":
        divisor = e.op(f"select {b} {is_zero}, {t} {unit}, {t} {y.text}")
        found = e.op(f"{'udiv' if name == 'floor_divide' else 'urem'} {t} {x.text}, {divisor}")
        return e.op(f"select {b} {is_zero}, {t} {zero}, {t} {found}")
    minus_one = e.op(f"icmp eq {t} {y.text}, {e.splat(kind.llvm, '-1')}")
    bad = e.op(f"or {b} {is_zero}, {minus_one}")
    divisor = e.op(f"select {b} {bad}, {t} {unit}, {t} {y.text}")
    rest = e.op(f"srem {t} {x.text}, {divisor}")
    uneven = e.op(f"icmp ne {t} {rest}, {zero}")
    crosses = e.op(f"icmp slt {t} {e.op(f'xor {t} {rest}, {divisor}')}, {zero}")
    adjust = e.op(f"and {b} {uneven}, {crosses}")
    if name == "remainder":
        moved = e.op(f"add {t} {rest}, {e.op(f'select {b} {adjust}, {t} {divisor}, {t} {zero}')}")
        return e.op(f"select {b} {bad}, {t} {zero}, {t} {moved}")
    quotient = e.op(f"sdiv {t} {x.text}, {divisor}")
    quotient = e.op(f"add {t} {quotient}, {e.op(f'sext {b} {adjust} to {t}')}")
    if name == "floor_divide":
        least = e.op(f"icmp eq {t} {x.text}, {e.splat(kind.llvm, str(-(1 << kind.bits - 1)))}")
        _flag_zero(e, e.op(f"and {b} {minus_one}, {least}"))  # the quotient overflows: NumPy says so
    turned = e.op(f"sub {t} {zero}, {x.text}")
    quotient = e.op(f"select {b} {minus_one}, {t} {turned}, {t} {quotient}")
    return e.op(f"select {b} {is_zero}, {t} {zero}, {t} {quotient}")


def _flag_zero(e: Emitter, where: str) -> None:
    """Raise the processor's flags for a division by zero and an overflow where the test holds in any lane.

    Which of them does not matter: the plan does such a call.
    """
    any_lane = where if e.lanes == 1 else e.call(
        "i1", f"llvm.vector.reduce.or.v{e.lanes}i1", (e.wide("i1"), where))  # fmt: skip
    bad = e.op(f"select i1 {any_lane}, double 0.0, double 1.0")
    huge = e.op(f"select i1 {any_lane}, double 0x7FEFFFFFFFFFFFFF, double 1.0")
    bad, huge = (e.effect(f'call double asm "", "=x,0"(double {x})') for x in (bad, huge))  # not folded
    for text in (f"fdiv double 1.0, {bad}", f"fadd double {huge}, {huge}"):
        value = e.effect(text)
        e.line(
            f'call void asm sideeffect "", "x"(double {value}) nounwind memory(inaccessiblemem: readwrite)'
        )


# ---------------------------------------------------------------------------------------------- unary
def _unary(e: Emitter, name: str, kind: Scalar, out: Scalar) -> Lowered | None:
    t = kind.llvm
    if name in ("positive", "conjugate") and kind == out and kind.kind != "b":
        return lambda x: x.text
    if name == "logical_not":
        return lambda x: _not(e, truth(e, x))
    if name == "square" and kind.kind != "b":
        return lambda x: e.op(f"{'fmul' if kind.kind == 'f' else 'mul'} {e.wide(t)} {x.text}, {x.text}")
    if kind.kind == "f":
        return _float_unary(e, name, kind)
    if name == "invert":
        ones = "true" if kind.kind == "b" else "-1"
        return lambda x: e.op(f"xor {e.wide(t)} {x.text}, {e.splat(t, ones)}")
    if kind.kind not in "iu" or kind != out:
        return None
    if name == "negative":
        return lambda x: e.op(f"sub {e.wide(t)} {e.splat(t, '0')}, {x.text}")
    if name == "absolute":
        return (lambda x: _int_abs(e, kind, x)) if kind.kind == "i" else (lambda x: x.text)
    return None


def _not(e: Emitter, x: str) -> str:
    return e.op(f"xor {e.wide('i1')} {x}, {e.splat('i1', 'true')}")


def _int_abs(e: Emitter, kind: Scalar, x: Num) -> str:
    t, zero = e.wide(kind.llvm), e.splat(kind.llvm, "0")
    below = e.op(f"icmp slt {t} {x.text}, {zero}")
    return e.op(f"select {e.wide('i1')} {below}, {t} {e.op(f'sub {t} {zero}, {x.text}')}, {t} {x.text}")


def _float_unary(e: Emitter, name: str, kind: Scalar) -> Lowered | None:
    t = kind.llvm
    function = "fabs" if name == "absolute" else LLVM_UNARY.get(name)
    if function == "sqrt":
        return lambda x: _root(e, x)
    if function is not None:
        return lambda x: intrinsic(e, function, x)
    if name == "negative":
        return lambda x: e.op(f"fneg {e.wide(t)} {x.text}")
    if name == "reciprocal":
        return lambda x: e.op(f"fdiv {e.wide(t)} {e.splat(t, '1.0')}, {_opaque(e, kind, x.text)}")
    whole, b = f"i{kind.bits}", "i1"
    infinite = 0x7FF0000000000000 if kind.bits == 64 else 0x7F800000

    def size(x: Num) -> str:
        pattern = e.op(f"bitcast {e.wide(t)} {x.text} to {e.wide(whole)}")
        return e.op(f"and {e.wide(whole)} {pattern}, {e.splat(whole, str((1 << kind.bits - 1) - 1))}")

    how = {"isnan": "sgt", "isinf": "eq", "isfinite": "slt"}.get(name)
    if how is not None:
        return lambda x: e.op(f"icmp {how} {e.wide(whole)} {size(x)}, {e.splat(whole, str(infinite))}")
    if name == "signbit":
        return lambda x: e.op(
            f"icmp slt {e.wide(whole)} {e.op(f'bitcast {e.wide(t)} {x.text} to {e.wide(whole)}')}, "
            f"{e.splat(whole, '0')}"
        )
    if name == "sign":
        return lambda x: _sign(e, kind, x, b)
    return None


def _root(e: Emitter, x: Num) -> str:
    """The square root; kept from LLVM, which would compare x itself with zero and lose the flag."""
    return _hidden(e, x.scalar, intrinsic(e, "sqrt", x))


def powered(e: Emitter, kind: Scalar, exponent: int) -> Lowered:
    """A number to a power that is known, by multiplying; integers wrap around as NumPy's do."""
    multiply = "fmul" if kind.kind == "f" else "mul"

    def power(x: Num) -> str:
        t, square, found, left = e.wide(kind.llvm), x.text, "", exponent
        while left:
            if left & 1:
                found = e.op(f"{multiply} {t} {found}, {square}") if found else square
            left >>= 1
            if left:
                square = e.op(f"{multiply} {t} {square}, {square}")
        return found or e.splat(kind.llvm, "1")

    return power


def _sign(e: Emitter, kind: Scalar, x: Num, b: str) -> str:
    """-1, 0 or 1; NaN stays, and zeros become positive."""
    t = e.wide(kind.llvm)
    zero = e.splat(kind.llvm, "0.0")
    known = e.op(f"fcmp one {t} {x.text}, {zero}")
    signed = intrinsic_of(e, "copysign", kind, e.splat(kind.llvm, "1.0"), x.text)
    found = e.op(f"select {e.wide(b)} {known}, {t} {signed}, {t} {zero}")
    nan = e.op(f"fcmp uno {t} {x.text}, {x.text}")
    return e.op(f"select {e.wide(b)} {nan}, {t} {x.text}, {t} {found}")


def intrinsic(e: Emitter, name: str, x: Num) -> str:
    """A function of one float that LLVM knows."""
    return intrinsic_of(e, name, x.scalar, x.text)


def intrinsic_of(e: Emitter, name: str, kind: Scalar, *args: str) -> str:
    """A function of floats that LLVM knows."""
    t = e.wide(kind.llvm)
    suffix = f"{f'v{e.lanes}' if e.lanes > 1 else ''}f{kind.bits}"
    return e.call(t, f"llvm.{name}.{suffix}", *((t, a) for a in args))


def truth(e: Emitter, x: Num) -> str:
    """Whether an element is not zero."""
    kind, t = x.scalar, e.wide(x.llvm)
    if kind.kind == "b":
        return x.text
    if kind.kind == "f":
        return e.op(f"fcmp une {t} {x.text}, {e.splat(kind.llvm, '0.0')}")
    return e.op(f"icmp ne {t} {x.text}, {e.splat(kind.llvm, '0')}")


def clipped(e: Emitter, kind: Scalar) -> Lowered:
    """An element between two bounds that are no NaN."""

    def test(how: str, x: str, y: str) -> str:
        if kind.kind == "f":
            return compared(e, f"o{how}", kind, x, y)
        return e.op(f"icmp {'s' if kind.kind == 'i' else 'u'}{how} {e.wide(kind.llvm)} {x}, {y}")

    def clip(x: Num, low: Num, high: Num) -> str:
        t, b = e.wide(kind.llvm), e.wide("i1")
        found = e.op(f"select {b} {test('lt', x.text, low.text)}, {t} {low.text}, {t} {x.text}")
        return e.op(f"select {b} {test('gt', found, high.text)}, {t} {high.text}, {t} {found}")

    return clip


def no_bound(e: Emitter, kind: Scalar, high: Num) -> bool:
    """Whether `np.clip` of integers takes a Python integer for no upper bound, since none is above it.

    That shows where the lower bound may be above it."""
    if kind.kind not in "iu" or not high.scalar.weak or high.scalar.kind != "i":
        return False
    most = int(np.iinfo(kind.dtype).max)
    if high.const is None and most < 1 << 63:
        e.bail_if(e.op(f"icmp sge i64 {high.text}, {most}"))
    return high.const is not None and high.const >= most


# ---------------------------------------------------------------------------------------------- casts
def converted(e: Emitter, x: Num, kind: Scalar) -> str:
    """An element in another dtype, as NumPy's cast makes it."""
    source = x.scalar
    held, wanted = e.wide(source.llvm), e.wide(kind.llvm)
    if kind != source and "c" in (kind.kind, source.kind):
        raise Unlowered(f"a cast of {source.dtype} elements to {kind.dtype}")
    if kind.kind == "b":
        return truth(e, x)
    if kind.kind == "f":
        if source.kind == "f":
            how = "fpext" if kind.bits > source.bits else "fptrunc"
            return e.op(f"{how} {held} {x.text} to {wanted}")
        how = "sitofp" if source.kind == "i" else "uitofp"
        return _opaque(e, kind, e.op(f"{how} {held} {x.text} to {wanted}"))
    if source.kind == "f":
        words = kind.bits < 32 and _by_words(source, kind)
        if not words and (kind.kind != "i" or kind.bits < 32):
            raise Unlowered(f"a cast of {source.dtype} elements to {kind.dtype}")
        whole = _truncated(e, source, x.text, INT32 if words else kind)
        keep_lanes(e, INT32.llvm if words else kind.llvm, whole)  # it may flag, whatever becomes of it
        return e.op(f"trunc {e.wide('i32')} {whole} to {wanted}") if words else whole
    if held == wanted:
        return x.text
    if source.kind == "b" or kind.bits > source.bits:
        return e.op(f"{'sext' if source.kind == 'i' else 'zext'} {held} {x.text} to {wanted}")
    return e.op(f"trunc {held} {x.text} to {wanted}")


@functools.cache
def _by_words(source: Scalar, kind: Scalar) -> bool:
    """Whether NumPy casts floats to integers of 8 or 16 bits as it does to 32, whose lowest bits stay."""
    odd = [300.7, -5.9, 65535.5, -70000.0, 2147483520.0, -2147483648.0, 3e9, -3e9, 1e30]
    odd += [np.nan, np.inf, -np.inf]
    with np.errstate(all="ignore"):
        for count in (1, 67):  # those that fill a register, and those that don't
            x = np.repeat(np.array(odd, source.dtype), count)
            if not np.array_equal(x.astype(kind.dtype), x.astype(np.int32).astype(kind.dtype)):
                return False
    return True


def _truncated(e: Emitter, source: Scalar, x: str, kind: Scalar) -> str:
    """A float's integer part by the processor's own instruction, which flags what does not fit."""
    unit, letter = ("sse2", "sd") if source.bits == 64 else ("sse", "ss")
    vector = f"<{128 // source.bits} x {source.llvm}>"
    whole = "i64" if kind.bits == 64 else "i32"
    function = f"llvm.x86.{unit}.cvtt{letter}2si{'64' if kind.bits == 64 else ''}"

    def single(text: str) -> str:
        first = e.op(f"insertelement {vector} zeroinitializer, {source.llvm} {text}, i32 0")
        return e.call(whole, function, (vector, first))

    if e.lanes == 1:
        return single(x)
    group = 256 // source.bits
    if whole == "i32" and e.lanes % group == 0 and "avx" in flags():
        return _by_groups(e, source, x, group)
    if whole == "i64" and e.lanes % 4 == 0 and {"avx512dq", "avx512vl"} <= flags():
        return _by_groups(e, source, x, 4, True)
    found = "poison"
    for lane in range(e.lanes):
        one = single(e.op(f"extractelement {e.wide(source.llvm)} {x}, i32 {lane}"))
        found = e.op(f"insertelement {e.wide(whole)} {found}, {whole} {one}, i32 {lane}")
    return found


def _by_groups(e: Emitter, source: Scalar, x: str, group: int, long: bool = False) -> str:
    """The integer parts of floats in 32 or 64 bits, a register full of floats at once."""
    function = f"llvm.x86.avx.cvtt.{'pd2dq' if source.bits == 64 else 'ps2dq'}.256"
    held, found = f"<{group} x {source.llvm}>", []
    for part in pieces(e, source.llvm, x, group):
        if long:
            function = f"llvm.x86.avx512.mask.cvtt{'pd' if source.bits == 64 else 'ps'}2qq.256"
            more = (("<4 x i64>", "zeroinitializer"), ("i8", "-1"))
            found.append(e.call("<4 x i64>", function, (held, part), *more))
        else:
            found.append(e.call(f"<{group} x i32>", function, (held, part)))
    return together(e, "i64" if long else "i32", found)


__all__ = ["clipped", "converted", "lowered", "powered", "truth"]
