"""Functions of two floats on as many lanes as the emitter works on: lengths, and divisions with a rest.

In: two operands.  Out: the function's value.  What always holds: rests and whole quotients are NumPy's to the
bit: a rest is computed exactly, from a quotient that is at most one too large.
"""

from __future__ import annotations

from runtime.execute.native.lanes import MANTISSA, Lanes

LENGTHS = {64: (2.0**-480, 2.0**500), 32: (2.0**-60, 2.0**60)}  # whose squares and sums of squares are normal
DIVISORS = {64: (2.0**-900, 2.0**970), 32: (2.0**-100, 2.0**100)}


def hypot(v: Lanes, x: str, y: str) -> str:
    """The length of (x, y)."""
    return v.named("sqrt", v.fma(x, x, v.mul(y, y)))


def too_long(v: Lanes, x: str, y: str) -> str:
    """Where the longer side is neither 0 nor of the usual size."""
    a, b = v.size(x), v.size(y)
    most = v.e.op(f"select {v.mask} {v.itest('ugt', a, b)}, {v.int} {a}, {v.int} {b}")
    return v.e.op(f"and {v.mask} {v.outside(most, *LENGTHS[v.bits])}, {v.itest('ne', most, v.ci(0))}")


def too_far(v: Lanes, x: str, y: str) -> str:
    """Where the divisor is not of the usual size, or the quotient has more digits than a float."""
    a, b = v.size(x), v.size(y)
    long = v.itest("sgt", v.i("sub", a, b), v.ci(MANTISSA[v.bits] - 1 << MANTISSA[v.bits]))
    return v.e.op(f"or {v.mask} {v.outside(b, *DIVISORS[v.bits])}, {long}")


def _rest(v: Lanes, x: str, y: str) -> str:
    """The rest of |x| / |y|, which has no sign."""
    a, b = v.named("fabs", x), v.named("fabs", y)
    r = v.fma(v.neg(v.named("trunc", v.div(a, b))), b, a)
    return v.where(v.test("olt", r, v.c(0.0)), v.add(r, b), r)


def fmod(v: Lanes, x: str, y: str) -> str:
    """The rest of the division towards zero, of the sign of x."""
    return v.named("copysign", _rest(v, x, y), x)


def _adjusted(v: Lanes, x: str, y: str) -> tuple[str, str]:
    """The rest of the division towards zero, and where that is not the one downwards."""
    rest = fmod(v, x, y)
    signs = v.itest("slt", v.i("xor", v.pattern(x), v.pattern(y)), v.ci(0))
    return rest, v.e.op(f"and {v.mask} {signs}, {v.test('une', rest, v.c(0.0))}")


def remainder(v: Lanes, x: str, y: str) -> str:
    """The rest of the division downwards, of the sign of y."""
    rest, crosses = _adjusted(v, x, y)
    return v.named("copysign", v.where(crosses, v.add(rest, y), rest), y)


def floor_divide(v: Lanes, x: str, y: str) -> str:
    """The whole quotient of the division downwards."""
    rest, crosses = _adjusted(v, x, y)
    exact = v.div(v.sub(x, rest), y)
    quotient = v.where(crosses, v.sub(exact, v.c(1.0)), exact)
    floor = v.named("floor", quotient)
    above = v.test("ogt", v.sub(quotient, floor), v.c(0.5))
    floor = v.where(above, v.add(floor, v.c(1.0)), floor)
    sign = v.i("and", v.i("xor", v.pattern(x), v.pattern(y)), v.ci(-(1 << v.bits - 1)))
    zero = v.value(sign)
    return v.where(v.test("une", quotient, v.c(0.0)), floor, zero)
