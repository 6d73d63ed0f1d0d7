"""Mathematical functions of floats as instructions: polynomials on as many lanes as the emitter works on.

In: an element (or a vector of them) and the name of a function.  Out: the function's value, within 4 units in
the last place.  What always holds: where an argument is not of the usual kind (NaN, infinite, out of the
range that the polynomial is good for), NumPy's own inner loop gives the values of that vector, so special
values are NumPy's, and so are the flags that they raise.  Without fused multiply-add nothing here is used.
A function that a graph calls often is written once, as one of the module: LLVM's time goes with the text.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np

from runtime.config import settings
from runtime.execute.native import host
from runtime.execute.native.emit import BRIEFLY, Emitter
from runtime.execute.native.kinds import Scalar, literal
from runtime.execute.native.lanes import MAGIC, MANTISSA, Lanes, bit_pattern, pieces, together
from runtime.execute.native.state import State
from runtime.execute.native.ufunc_loops import call_on_lanes, inner_loop
from runtime.execute.native.values import Lazy, Num, one
from runtime.execute.native.vector_pairs import floor_divide, fmod, hypot, remainder, too_far, too_long

Element = Callable[[Sequence[str]], Num]

# Near-minimax polynomials, fitted at Chebyshev points in 60 digits.
EXP = {  # (exp(r) - 1 - r) / r**2 for |r| <= log(2) / 2
    64: (
        0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136, 0.0013888888888883748,
        0.00019841269874820627, 2.4801587325547743e-05, 2.7557255400206422e-06, 2.75572736431103e-07,
        2.5105217004720745e-08, 2.0914686968086876e-09,
    ),
    32: (0.5, 0.16666576966989775, 0.041666554617204574, 0.008363179052722578, 0.0013926183587713494),
}  # fmt: skip
# the same for |r| <= log(2) / 16, and 2**(j / 8), for processors that look eight numbers up at once
EXP_EIGHTHS = (
    0.5000000000000051, 0.16666666666666724, 0.0416666666175068, 0.008333333327871156, 0.0013889587247893672,
    0.0001984204579240919,
)  # fmt: skip
EIGHTHS = tuple(2 ** (j / 8) for j in range(8))
SIN = {  # (sin(x) / x - 1) / z at z = x**2, for |x| <= pi / 4
    64: (
        -0.16666666666666666, 0.008333333333330943, -0.0001984126983674956, 2.755731609787775e-06,
        -2.505113087096829e-08, 1.5918059136982583e-10,
    ),
    32: (-0.16666664659314784, 0.008332747687791037, -0.00019587764989177278),
}  # fmt: skip
COS = {  # (cos(x) - 1 + z / 2) / z**2 at z = x**2
    64: (
        0.041666666666666664, -0.0013888888888887393, 2.4801587298760048e-05, -2.755731726880539e-07,
        2.087614565905934e-09, -1.138258853535238e-11,
    ),
    32: (0.041666664656496995, -0.0013888302451873105, 2.454781592843372e-05),
}  # fmt: skip
LOG = {
    64: (  # (log((1 + t) / (1 - t)) - 2 t) / t**3 at z = t**2
        0.666666666666667, 0.3999999999989889, 0.2857142862625391, 0.2222221108936812, 0.18182892433364725,
        0.1533161169456573, 0.1461780749284935,
    ),
    32: (  # (log(1 + f) - f + f**2 / 2) / f**3 for sqrt(1/2) - 1 <= f <= sqrt(2) - 1
        0.33333331180030046, -0.24999996957950882, 0.200007157488921, -0.16667802319501254,
        0.1424905764569748, -0.12425687331451106, 0.1168541992348674, -0.11479733846637635,
        0.06971611471451178,
    ),
}  # fmt: skip
# pi/2, log(2) and log10(2) in parts, the first ones short enough for exact products
HALF_PI = {
    64: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    32: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
}
LN2 = {
    64: (0.6931471805599453, 2.3190468138462996e-17),
    32: (0.693359375, -0.00021219444005469057),
}
LN2_OF_LOG = {64: (0.6931471803691238, 1.9082149292705877e-10), 32: LN2[32]}
LOG10_OF_2 = {
    64: (0.301029995663157, 8.241712586023572e-13),
    32: (0.301025390625, 4.605038981195214e-06),
}
LOG2_E, LOG10_E = 1.4426950408889634, 0.4342944819032518
EXP_LIMIT, EXPM1_LIMIT, EXP2_LIMIT = {64: 745.0, 32: 103.0}, {64: 700.0, 32: 86.0}, {64: 1074.0, 32: 149.0}
ANGLE_LIMIT = {64: 2.0**29, 32: 4096.0}
UNDERFLOW = 16  # its flag
MUCH = 100  # blocks of a function from which on another form of a mathematical one is not worth its text
DEAR = 20  # instructions per element from which on vectors are worked on side by side
TANH_LIMIT = {64: 22.0, 32: 10.0}


# ---------------------------------------------------------------------------------------- exponentials
def _reduced_exp(v: Lanes, x: str) -> tuple[str, str, str]:
    """(exp(r) - 1, k as float, k) where x = k log(2) + r."""
    k, ki = v.nearest(x, LOG2_E)
    high, low = LN2[v.bits]
    r = v.fma(k, v.c(-low), v.fma(k, v.c(-high), x))
    square = v.mul(r, r)
    return v.fma(square, v.halves(r, square, EXP[v.bits]), r), k, ki


def exp(v: Lanes, x: str) -> str:
    """exp(x) for x <= EXP_LIMIT; what is far below gives 0.

    Processors may take long over products that are too small: those are not computed, their flag is noted.
    """
    e, least = v.e, v.c(-EXP_LIMIT[v.bits] - 1)
    far = v.test("olt", x, least)
    if e.reports:
        flag = e.op(f"select i1 {v.any(far)}, i32 {UNDERFLOW}, i32 0")
        before = e.effect("load i32, ptr %raised")
        e.line(f"store i32 {e.effect(f'or i32 {before}, {flag}')}, ptr %raised")
    x = v.where(far, v.c(0.0), x)
    if v.scales() and v.bits == 64:
        return v.where(far, v.c(0.0), _exp_by_eighths(v, x))
    p, k, ki = _reduced_exp(v, x)
    return v.where(far, v.c(0.0), v.scaled(v.add(p, v.c(1.0)), k, ki))


def _exp_by_eighths(v: Lanes, x: str) -> str:
    magic = v.c(MAGIC[64] / 8)
    t = v.fma(x, v.c(LOG2_E), magic)
    k = v.sub(t, magic)
    high, low = LN2[64]
    return _by_eighths(v, t, k, v.fma(k, v.c(-low), v.fma(k, v.c(-high), x)))


def _by_eighths(v: Lanes, t: str, k: str, r: str) -> str:
    """2**k exp(r), where k is a multiple of 1/8; the last bits of t say which power of 2 that is."""
    e, square, eight, found = v.e, v.mul(r, r), "<8 x double>", []
    p = v.fma(square, v.halves(r, square, EXP_EIGHTHS), r)
    table = f"<{', '.join(f'double {literal(y, v.scalar)}' for y in EIGHTHS)}>"
    for part in v.registers(t):
        index = e.op(f"bitcast {eight} {part} to <8 x i64>")
        found.append(e.call(eight, "llvm.x86.avx512.permvar.df.512", (eight, table), ("<8 x i64>", index)))
    power = together(e, v.scalar, found)
    return v.scaled(v.fma(power, p, power), k)


def exp2(v: Lanes, x: str) -> str:
    """2**x for |x| <= EXP2_LIMIT."""
    if v.scales() and v.bits == 64:
        magic = v.c(MAGIC[64] / 8)
        t = v.add(x, magic)
        k = v.sub(t, magic)
        return _by_eighths(v, t, k, v.mul(v.sub(x, k), v.c(LN2[64][0])))
    k, ki = v.nearest(x, 1.0)
    r = v.mul(v.sub(x, k), v.c(LN2[64][0]))
    square = v.mul(r, r)
    p = v.fma(square, v.halves(r, square, EXP[v.bits]), r)
    return v.scaled(v.add(p, v.c(1.0)), k, ki)


def _expm1(v: Lanes, x: str) -> str:
    p, _, ki = _reduced_exp(v, x)
    scale = v.power_of_two(ki)
    return v.fma(scale, p, v.sub(scale, v.c(1.0)))


def expm1(v: Lanes, x: str) -> str:
    """exp(x) - 1 for |x| <= EXPM1_LIMIT; zeros keep their signs."""
    return v.where(v.test("oeq", x, v.c(0.0)), x, _expm1(v, x))


def tanh(v: Lanes, x: str) -> str:
    """tanh(x) of anything but NaN."""
    size = v.named("fabs", x)
    limit = v.c(TANH_LIMIT[v.bits])
    size = v.where(v.test("olt", size, limit), size, limit)
    t = _expm1(v, v.add(size, size))
    return v.named("copysign", v.div(t, v.add(t, v.c(2.0))), x)


# ------------------------------------------------------------------------------------------ logarithms
def _split(v: Lanes, x: str) -> tuple[str, str]:
    """(k, f) where x = 2**k (1 + f) and 1 + f is near 1; x is positive and normal."""
    middle = v.ci(bit_pattern(0.7071067811865476, v.bits))
    shift = v.ci(MANTISSA[v.bits])
    pattern = v.pattern(x)
    k = v.i("ashr", v.i("sub", pattern, middle), shift)
    fraction = v.value(v.i("sub", pattern, v.i("shl", k, shift)))
    return k, v.sub(fraction, v.c(1.0))


def _as_float(v: Lanes, k: str) -> str:
    return v.e.op(f"sitofp {v.int} {k} to {v.type}")


def _bend(v: Lanes, f: str) -> tuple[str, str]:
    """(a, b) such that log(1 + f) = f - a * b; the product is small."""
    if v.bits == 64:
        t = v.div(f, v.add(v.c(2.0), f))
        z = v.mul(t, t)
        return t, v.sub(f, v.mul(z, v.halves(z, v.mul(z, z), LOG[64])))
    z = v.mul(f, f)
    return z, v.fma(v.neg(f), v.halves(f, z, LOG[32]), v.c(0.5))


def _log(v: Lanes, ki: str, f: str) -> str:
    """log(2**k (1 + f))."""
    k, (a, b) = _as_float(v, ki), _bend(v, f)
    high, low = LN2_OF_LOG[v.bits]
    return v.fma(k, v.c(high), v.sub(f, v.fma(a, b, v.mul(k, v.c(-low)))))


def log(v: Lanes, x: str) -> str:
    """log(x) of a positive normal number."""
    return _log(v, *_split(v, x))


def log1p(v: Lanes, x: str) -> str:
    """log(1 + x) where 1 + x is positive and finite."""
    one = v.c(1.0)
    u = v.add(one, x)
    k, f = _split(v, u)
    lost = v.sub(x, v.sub(u, one))
    f = v.fma(lost, v.power_of_two(v.i("sub", v.ci(0), k)), f)
    return v.where(v.test("oeq", u, one), x, _log(v, k, f))


def _log_of_fraction(v: Lanes, f: str) -> str:
    a, b = _bend(v, f)
    return v.fma(v.neg(a), b, f)


def log2(v: Lanes, x: str) -> str:
    """log2(x) of a positive normal number; of powers of two exactly."""
    k, f = _split(v, x)
    return v.fma(_log_of_fraction(v, f), v.c(LOG2_E), _as_float(v, k))


def log10(v: Lanes, x: str) -> str:
    """log10(x) of a positive normal number; what float64 loses in the sum is added, for powers of ten."""
    ki, f = _split(v, x)
    k, (most, least) = _as_float(v, ki), LOG10_OF_2[v.bits]
    fraction, base = _log_of_fraction(v, f), v.mul(k, v.c(most))
    if v.bits == 32:
        return v.fma(fraction, v.c(LOG10_E), v.fma(k, v.c(least), base))
    product = v.mul(fraction, v.c(LOG10_E))
    total = v.add(base, product)
    return v.add(total, v.fma(k, v.c(least), v.sub(product, v.sub(total, base))))


# -------------------------------------------------------------------------------------------- angles
def _sine(v: Lanes, x: str, cosine: bool) -> str:
    k, ki = v.nearest(x, 0.6366197723675814)
    one, two, three = HALF_PI[v.bits]
    r = v.fma(k, v.c(-one), x)
    tail = v.c(0.0)
    if v.bits == 64:  # the rest of the division in two parts
        product = v.mul(k, v.c(two))
        error = v.fma(k, v.c(two), v.neg(product))
        first = v.sub(r, product)
        rest = v.sub(v.sub(v.sub(r, first), product), v.fma(k, v.c(three), error))
        r = v.add(first, rest)
        tail = v.add(v.sub(first, r), rest)
    else:
        r = v.fma(k, v.c(-three), v.fma(k, v.c(-two), r))
    z = v.mul(r, r)
    sine = v.add(r, v.fma(v.mul(r, z), v.poly(z, SIN[v.bits]), tail))
    half = v.mul(z, v.c(0.5))
    top = v.sub(v.c(1.0), half)
    low = v.sub(v.sub(v.c(1.0), top), half)
    low = v.fma(v.mul(z, z), v.poly(z, COS[v.bits]), low)
    if v.bits == 64:
        low = v.fma(v.neg(r), tail, low)
    turn = v.i("add", ki, v.ci(1)) if cosine else ki
    odd = v.itest("ne", v.i("and", turn, v.ci(1)), v.ci(0))
    found = v.where(odd, v.add(top, low), sine)
    sign = v.i("shl", v.i("and", turn, v.ci(2)), v.ci(v.bits - 2))
    return v.value(v.i("xor", v.pattern(found), sign))


def sin(v: Lanes, x: str) -> str:
    """sin(x) for |x| <= ANGLE_LIMIT; zeros keep their signs."""
    return v.where(v.test("oeq", x, v.c(0.0)), x, _sine(v, x, False))


def cos(v: Lanes, x: str) -> str:
    """cos(x) for |x| <= ANGLE_LIMIT."""
    return _sine(v, x, True)


# ------------------------------------------------------------------------------------------ the table
def _outside(limits: dict[int, float]) -> Callable[[Lanes, str], str]:
    return lambda v, x: v.beyond(x, limits[v.bits])


def _no_logarithm(v: Lanes, x: str) -> str:
    return v.unusual(x)


def _no_log1p(v: Lanes, x: str) -> str:
    return v.unusual(v.add(v.c(1.0), x))


def _nan(v: Lanes, x: str) -> str:
    return v.beyond(x, float("inf"))


Function = Callable[..., str]  # of lanes, and an operand or two
FUNCTIONS: dict[str, tuple[Function, Function]] = {  # name: (the function, where it is not good)
    "exp": (exp, lambda v, x: v.quiet("ugt", x, v.c(EXP_LIMIT[v.bits]))),
    "exp2": (exp2, _outside(EXP2_LIMIT)),
    "expm1": (expm1, _outside(EXPM1_LIMIT)),
    "log": (log, _no_logarithm),
    "log2": (log2, _no_logarithm),
    "log10": (log10, _no_logarithm),
    "log1p": (log1p, _no_log1p),
    "sin": (sin, _outside(ANGLE_LIMIT)),
    "cos": (cos, _outside(ANGLE_LIMIT)),
    "tanh": (tanh, _nan),
    "hypot": (hypot, too_long),
    "fmod": (fmod, too_far),
    "remainder": (remainder, too_far),
    "floor_divide": (floor_divide, too_far),
}
EXACT = ("fmod", "remainder", "floor_divide")  # the same bits as NumPy's


@functools.cache
def possible() -> bool:
    """Whether this processor has what the functions need."""
    return "fma" in host.flags() and "avx2" in host.flags()


def known(name: str, kind: Scalar) -> bool:
    """Whether a function is computed here, as things are set."""
    allowed = settings.math == "fast" or name in EXACT
    return name in FUNCTIONS and kind.kind == "f" and allowed and possible()


def compute(state: State, name: str, kind: Scalar, *xs: str) -> str:
    """The function's value for the lanes of its operands."""
    e = state.e
    often, t, called = name in state.often, e.wide(kind.llvm), f"{name}_{e.lanes}x{kind.llvm}"
    if not often and e.again:
        return _by_loop(state, name, kind, xs)
    if not often:
        return _written_out(state, name, kind, xs) if e.quick is None else _quickly(e, name, kind, xs)
    e.outside = True  # it may call NumPy's loop
    half = f"{name}_{e.lanes // 2}x{kind.llvm}"
    if called not in e.helpers and half in e.helpers and len(e.blocks) > MUCH:
        parts, narrow = [pieces(e, kind.llvm, x, e.lanes // 2) for x in xs], f"<{e.lanes // 2} x {kind.llvm}>"
        made = [_called(e, narrow, half, part) for part in zip(*parts, strict=True)]
        return together(e, kind.llvm, made)
    if called not in e.helpers:
        inner = Emitter(e.watch)
        inner.reports, inner.lanes = e.reports, e.lanes
        inner.helpers, inner.declarations = e.helpers, e.declarations
        names = [f"%x{k}" for k in range(len(xs))]
        inner.end(f"ret {t} {_written_out(dataclasses.replace(state, e=inner), name, kind, names)}")
        given = ", ".join(f"{t} {x}" for x in names)
        head = f"define internal {t} @{called}({given}, ptr %raised) noinline nounwind {BRIEFLY}"
        e.helpers[called] = f"{head} {{\n{inner.body()}\n}}"
    return _called(e, t, called, xs)


def _called(e: Emitter, t: str, function: str, xs: Sequence[str]) -> str:
    return e.op(f"call {t} @{function}({', '.join(f'{t} {x}' for x in xs)}, ptr %raised)")


def _quickly(e: Emitter, name: str, kind: Scalar, xs: Sequence[str]) -> str:
    """The function's value where the lanes' operands are of the usual kind; whether they are not is noted."""
    assert e.quick is not None
    function, unusual = FUNCTIONS[name]
    v = Lanes(e, kind)
    test = unusual(v, *xs)
    e.quick = test if not e.quick else e.op(f"or {v.mask} {e.quick}, {test}")
    return function(v, *(v.where(test, v.c(1.0), x) for x in xs))


def settled(e: Emitter, kind: Scalar, element: Element) -> Element:
    """The same function of the indices, in whose code no way parts but at its end: where some lane had an
    operand for which a mathematical function is not good, all is computed once more, by NumPy's loops."""

    def found(indices: Sequence[str]) -> Num:
        if e.quick is not None or e.again or e.mask or e.lanes == 1:
            return element(indices)
        known, e.quick = dict(e.memo), ""
        try:
            usual = element(indices)
            unusual = e.quick
        finally:
            e.quick = None
        if not unusual:
            return usual
        e.memo = known
        any_lane = e.call("i1", f"llvm.vector.reduce.or.v{e.lanes}i1", (e.wide("i1"), unusual))
        with e.seldom(any_lane) as (before, following):
            e.again = True
            value = element(indices)
            e.again = False
            phi = e.phi(following, e.wide(kind.llvm))
            phi.ways = [(usual.text, before.label), (value.text, e.here.label)]
        return one(kind, phi.name)

    return found


def abreast(value: Lazy, size: str) -> int:
    """How many vectors are worked on side by side: several where an element takes so long that the processor
    does not get to the next one in time, and all is read as it lies; more of them where there is little to
    read."""
    ends = [(a.dims[-1], a.strides[-1], str(a.dtype.itemsize)) for a in value.leaves if a.dims]
    count = 4 if value.cost >= 2 * DEAR and len(ends) == 1 else 2
    if value.turns or value.cost < DEAR or (size.isdigit() and int(size) < count * 32):
        return 1
    return count if all(n == "1" or step == each for n, step, each in ends) else 1


def _written_out(state: State, name: str, kind: Scalar, xs: Sequence[str]) -> str:
    """The function's value, computed here."""
    e = state.e
    function, unusual = FUNCTIONS[name]
    v = Lanes(e, kind)
    special = v.any(unusual(v, *xs))
    rare, usual, out = e.block("rare"), e.block("usual"), e.block("both")
    phi = e.phi(out, v.type)
    e.line(f"br i1 {special}, label %{rare.label}, label %{usual.label}, !prof !0")
    e.here.closed = True
    e.start(usual)
    with e.scope():
        phi.ways.append((function(v, *xs), e.here.label))
        e.jump(out)
    e.start(rare)
    with e.scope():
        phi.ways.append((_by_loop(state, name, kind, xs), e.here.label))
        e.jump(out)
    e.start(out)
    return phi.name


def _by_loop(state: State, name: str, kind: Scalar, xs: Sequence[str]) -> str:
    """The function's value by NumPy's own loop."""
    ufunc, kinds = getattr(np, name), [kind] * (len(xs) + 1)
    found = inner_loop(ufunc, kinds)
    assert found is not None
    return call_on_lanes(state, ufunc, kinds, found, xs)
