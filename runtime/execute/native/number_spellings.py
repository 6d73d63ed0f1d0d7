"""Functions of numbers in terms of others, which native code has instructions for: NumPy's, Python's, `math`.

In: what the function takes; trace values, or plain ones.  Out: what it gives, bit by bit.  What always holds:
as in `spellings`; a Python number that NumPy makes an array of is one of float64, int64 or bool.
"""

from __future__ import annotations

import builtins
import inspect
import math
import sys
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from runtime.execute.native.wording import (
    asked,
    double,
    dtype_of,
    integer,
    left_if,
    number,
    only_if,
    rank,
    weak_float,
)
from runtime.functional import cond, while_loop
from runtime.trace.core import active
from runtime.types import WeakType

Function = Callable[..., Any]
_EXACT = 22  # the largest power of ten that is a float
_WHOLE = 2.0**52  # floats from here on are whole numbers
_BY_PRODUCTS = sys.version_info >= (3, 12)  # how math.hypot adds up squares
_SPLIT = 134217729.0  # times this, a float falls into two halves


def sample(x: Any) -> Any:
    """What decides the promotion of a number: its dtype, or a Python number of its kind."""
    kind = dtype_of(x)
    if kind is not None:
        return kind
    trace = active()
    t = None if trace is None else trace.type_of(x)
    return {"bool": False, "int": 0, "float": 0.0}[t.kind if isinstance(t, WeakType) else type(x).__name__]


def own(x: Any) -> np.dtype[Any]:
    """The dtype of the array that NumPy makes of a number."""
    found = sample(x)
    return found if isinstance(found, np.dtype) else np.dtype(type(found))


def cast(x: Any, kind: np.dtype[Any]) -> Any:
    """A number as one of NumPy's."""
    found = dtype_of(x)  # None is equal to the dtype float64
    return x if found is not None and found == kind else asked(kind.type, x)


# -------------------------------------------------------------------------------------------- NumPy's
def where(condition: Any, x: Any, y: Any) -> Any:
    """np.where of numbers."""
    only_if(number(condition) and number(x) and number(y))
    kind = np.result_type(sample(x), sample(y))
    return cond(condition, lambda: cast(x, kind), lambda: cast(y, kind))


_NEW = inspect.signature(np.clip).parameters.keys() >= {"min", "max"}
_BOUNDS = (("a_min", "a_max"), ("min", "max") if _NEW else ())


def clip(a: Any, *both: Any, **named: Any) -> Any:
    """np.clip of a number: between both bounds, or one of those that NumPy has had names for since 2.1."""
    told = dict(zip(_BOUNDS[0], both, strict=False)) | named
    names = next((names for names in _BOUNDS if told.keys() <= set(names)), ())
    only_if(len(told) == len(both) + len(named) and bool(names))
    only_if(names == _BOUNDS[1] or len(told) == 2)
    low, high = map(told.get, names)
    only_if(number(a) and all(b is None or number(b) for b in (low, high)))
    kind = own(a)
    only_if(kind.kind in "iuf")
    if kind.kind in "iu":
        low = None if type(low) is int and low <= np.iinfo(kind).min else low
        high = None if type(high) is int and high >= np.iinfo(kind).max else high
    given = [b for b in (low, high) if b is not None]
    narrow = kind.kind in "iu" and kind != np.int64
    only_if(bool(given) and not (narrow and any(dtype_of(b) is None and not _known(b) for b in given)))
    kind = np.result_type(kind, *map(sample, given))
    only_if(kind.kind in "iuf")
    bounds: list[Any] = [None if x is None else cast(x, kind) for x in (low, high)]
    a, (low, high) = cast(a, kind), bounds
    if kind.kind == "f" and len(given) == 1:
        return np.minimum(a, high) if low is None else np.maximum(a, low)
    if kind.kind == "f":
        left_if(np.isnan(low) | np.isnan(high))
    made = a if low is None else cond(a < low, lambda: low, lambda: a)
    return made if high is None else cond(made > high, lambda: high, lambda: made)


def _known(x: Any) -> bool:
    return isinstance(x, (bool, int, float, np.generic))


def rounded(a: Any, decimals: Any = 0) -> Any:
    """np.round of numbers, and of arrays of floats."""
    only_if(type(decimals) is int and abs(decimals) <= _EXACT)
    if number(a):
        kind = own(a)
        only_if(kind.kind == "f" or kind.kind in "iu" and decimals >= 0)
        a = cast(a, kind)
        if kind.kind in "iu":
            return a
    found = dtype_of(a)
    only_if(found is not None and found.kind == "f")
    if decimals == 0:
        return np.rint(a)
    power = 10.0 ** abs(decimals)
    return np.rint(a * power) / power if decimals > 0 else np.rint(a / power) * power


def absolute(x: Any) -> Any:
    """np.absolute of a Python number."""
    only_if(number(x) and own(x).kind in "iuf")
    return abs(cast(x, own(x)))


def negative(x: Any) -> Any:
    """np.negative of a Python number."""
    only_if(number(x) and own(x).kind in "iuf")
    return -cast(x, own(x))


def _scaled(factor: float) -> Function:
    """A multiple in double precision."""

    def run(x: Any) -> Any:
        kind = own(x) if number(x) else dtype_of(x)
        only_if(kind == np.float64 or kind == np.int64)
        return (double(x) if number(x) else x) * factor

    return run


def signbit(x: Any) -> Any:
    """np.signbit of floats."""
    only_if((own(x) if number(x) else dtype_of(x)) == np.float64)
    return np.copysign(1.0, x) < 0.0


def heaviside(x: Any, h0: Any) -> Any:
    """np.heaviside of numbers."""
    only_if(number(x) and number(h0) and all(own(v) in (np.float64, np.int64) for v in (x, h0)))
    x, h0 = double(x), double(h0)
    other = cond(x < 0, lambda: np.float64(0.0), lambda: np.float64(1.0))
    made = cond(x == 0, lambda: h0, lambda: other)
    return cond(np.isnan(x), lambda: x, lambda: made)


def divided(a: Any, b: Any) -> Any:
    """np.divmod of numbers."""
    only_if(number(a) and number(b) and np.result_type(own(a), own(b)).kind in "iuf")
    return np.floor_divide(a, b), np.remainder(a, b)


def real(x: Any) -> Any:
    """np.real of a real number."""
    only_if(number(x) and sample(x) is not False)
    return x


def contains(x: Any, container: Any) -> Any:
    """`x in container`: a number in an array, or in a tuple or range that is known."""
    only_if(number(x))
    if type(container) is range:
        only_if(integer(x) and container.step == 1)
        return asked(bool, (x >= container.start) & (x < container.stop))
    if type(container) is tuple:
        only_if(all(number(item) and item == item for item in container))
        made = False
        for item in container:
            made = made | asked(bool, x == item)
        return made
    only_if(rank(container) > 0)
    return asked(bool, np.any(container == x))


# ------------------------------------------------------------------------------------------- Python's
def round_of(x: Any, ndigits: Any = None) -> Any:
    """round(x) of NumPy's floats, round(x, n)."""
    only_if(number(x) and (ndigits is None or type(ndigits) is int and 0 <= ndigits <= _EXACT))
    kind = dtype_of(x)
    if ndigits is None:
        only_if(kind is not None and kind.kind in "iuf")
        return asked(int, x if kind is None or kind.kind != "f" else np.rint(x))
    if kind is not None:
        only_if(kind.kind in "iuf")
        return rounded(x, ndigits)
    if not weak_float(x) and type(x) is not float:
        return asked(int, x)
    return _to_decimals(x, 10.0**ndigits)


def _to_decimals(x: Any, power: float) -> Any:
    """The float next to the decimal number that is next to x, ties to even: what the product loses by
    rounding decides where it is just between two."""
    whole = x * power
    left_if(asked(bool, (abs(whole) < _WHOLE) & (abs(x) < _WHOLE)) ^ True)
    near = _next_whole(whole)
    high, low = _halves(x)
    power_high, power_low = _halves(power)
    lost = ((high * power_high - whole) + high * power_low + low * power_high) + low * power_low
    apart = whole - near
    up = (apart == 0.5) & (lost > 0.0)
    down = (apart == -0.5) & (lost < 0.0)
    near = cond(up, lambda: near + 1.0, lambda: cond(down, lambda: near - 1.0, lambda: near))
    return asked(math.copysign, near / power, x)


def _next_whole(x: Any) -> Any:
    """The next whole number of a float that is not large, ties to even."""
    return asked(float, np.rint(x))


def _halves(x: Any) -> tuple[Any, Any]:
    """A float as a sum of two whose products are exact."""
    large = x * _SPLIT
    high = large - (large - x)
    return high, x - high


# ------------------------------------------------------------------------------------------------ math
def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    """math.isclose."""
    only_if(all(map(number, (a, b, rel_tol, abs_tol))))
    a, b, rel_tol, abs_tol = (asked(float, x) for x in (a, b, rel_tol, abs_tol))
    left_if((rel_tol < 0.0) | (abs_tol < 0.0))
    apart = abs(b - a)
    near = (apart <= abs(rel_tol * b)) | (apart <= abs(rel_tol * a)) | (apart <= abs_tol)
    infinite = asked(math.isinf, a) | asked(math.isinf, b)
    return cond(a == b, lambda: True, lambda: cond(infinite, lambda: False, lambda: near))


def _float_times(factor: float) -> Function:
    """A multiple of a float."""

    def run(x: Any) -> Any:
        only_if(number(x))
        return asked(float, x) * factor

    return run


def log(x: Any, base: Any) -> Any:
    """math.log to a base."""
    only_if(number(x) and number(base))
    return asked(math.log, x) / asked(math.log, base)


def fmod(x: Any, y: Any) -> Any:
    """math.fmod."""
    only_if(number(x) and number(y))
    x, y = asked(float, x), asked(float, y)
    left_if(asked(math.isinf, x))
    return asked(math.copysign, abs(x) % abs(y), x)


def modf(x: Any) -> Any:
    """math.modf of numbers that are not large."""
    only_if(number(x))
    x = asked(float, x)
    size = abs(x)
    left_if(asked(bool, size < _WHOLE) ^ True)
    whole = asked(float, asked(int, size))
    return asked(math.copysign, size - whole, x), asked(math.copysign, whole, x)


def power(a: Any, b: Any) -> Any:
    """A Python int to a power that is none below 0: with each bit of the power, a square."""
    only_if(all(integer(x) and dtype_of(x) is None for x in (a, b)))
    left_if(b < 0)

    def bit(left: Any, square: Any, made: Any) -> Any:
        more = cond(left & 1 == 1, lambda: made * square, lambda: made)
        return left >> 1, cond(left > 1, lambda: square * square, lambda: square), more

    return while_loop(lambda left, square, made: left > 0, bit, (b, a, 1))[2]


def gcd(a: Any, b: Any) -> Any:
    """math.gcd of two integers."""
    only_if(integer(a) and integer(b))
    return while_loop(lambda a, b: b != 0, lambda a, b: (b, a % b), (abs(asked(int, a)), abs(asked(int, b))))[
        0
    ]


def lcm(a: Any, b: Any) -> Any:
    """math.lcm of two integers."""
    only_if(integer(a) and integer(b))
    a, b = asked(int, a), asked(int, b)
    return cond((a == 0) | (b == 0), lambda: 0, lambda: abs(a // gcd(a, b) * b))


def comb(n: Any, k: Any) -> Any:
    """math.comb."""
    only_if(integer(n) and integer(k))
    n, k = asked(int, n), asked(int, k)
    left_if((n < 0) | (k < 0))
    least = cond(n - k < k, lambda: n - k, lambda: k)
    step = while_loop(lambda i, made: i <= least, lambda i, made: (i + 1, made * (n - i + 1) // i), (1, 1))
    return cond(k > n, lambda: 0, lambda: step[1])


def factorial(n: Any) -> Any:
    """math.factorial."""
    only_if(integer(n))
    n = asked(int, n)
    left_if((n < 0) | (n > 20))
    return while_loop(lambda i, made: i <= n, lambda i, made: (i + 1, made * i), (2, 1))[1]


def isqrt(n: Any) -> Any:
    """math.isqrt of numbers that floats can tell apart."""
    only_if(integer(n))
    n = asked(int, n)
    left_if((n < 0) | (n >= 1 << 52))
    return asked(int, asked(math.sqrt, asked(float, n)))


def bit_length(n: Any) -> Any:
    """int.bit_length."""
    only_if(integer(n))
    return while_loop(lambda n, count: n != 0, lambda n, count: (n >> 1, count + 1), (abs(n), 0))[1]


def bit_count(n: Any) -> Any:
    """int.bit_count."""
    only_if(integer(n))
    return while_loop(lambda n, count: n != 0, lambda n, count: (n & (n - 1), count + 1), (abs(n), 0))[1]


def hypot(*coordinates: Any) -> Any:
    """math.hypot of floats that are neither very large nor very small, step by step as Python does it."""
    only_if(1 < len(coordinates) <= 4 and all(map(number, coordinates)))
    sizes = [abs(asked(float, x)) for x in coordinates]
    largest = sizes[0]
    for x in sizes:
        left_if(np.logical_not(np.isfinite(x)))
    for x in sizes[1:]:
        largest = _larger(largest, x)
    return cond(largest == 0.0, lambda: largest, lambda: _length(sizes, largest))


def _larger(a: Any, b: Any) -> Any:
    return cond(b > a, lambda: b, lambda: a)


def _length(sizes: list[Any], largest: Any) -> Any:
    """The root of the sum of squares; what is lost on the way is added in the end."""
    power = asked(math.frexp, largest)[1]
    left_if((power > 900) | (power < -900))
    scale = asked(math.ldexp, 1.0, -power)
    scaled = [x * scale for x in sizes]
    total, lost = 1.0, [0.0, 0.0, 0.0]

    def add(x: Any, k: int) -> None:
        nonlocal total
        before, total = total, total + x
        lost[k] = lost[k] + ((before - total) + x)

    def squared(x: Any, sign: float, last: bool) -> None:
        high, low = _halves(x)
        if _BY_PRODUCTS:
            whole = sign * x * x
            rest = sign * high * high - whole + sign * high * low + sign * low * high + sign * low * low
            lost[0] = lost[0] + rest
            return add(whole, 1)
        add(sign * high * high, 0)
        add(sign * 2.0 * high * low, 1)
        if last:
            return add(sign * low * low, 2)
        lost[2] = lost[2] + low * low

    def rest() -> Any:
        more = lost[0] + lost[1]
        return total - 1.0 + (more if _BY_PRODUCTS else more + lost[2])

    for x in scaled:
        squared(x, 1.0, False)
    root = asked(math.sqrt, rest())
    squared(root, -1.0, True)
    return (root + rest() / (2.0 * root)) / scale


def dist(p: Any, q: Any) -> Any:
    """math.dist of two points with known coordinates."""
    only_if(type(p) is tuple and type(q) is tuple and len(p) == len(q))
    return hypot(*(asked(float, a) - asked(float, b) for a, b in zip(p, q, strict=True)))


SPELLINGS: dict[Hashable, Function] = {
    "np.where": where,
    "np.clip": clip,
    "np.round": rounded,
    "np.around": rounded,
    "np.absolute": absolute,
    "np.negative": negative,
    "np.degrees": _scaled(180.0 / np.pi),
    "np.rad2deg": _scaled(180.0 / np.pi),
    "np.radians": _scaled(np.pi / 180.0),
    "np.deg2rad": _scaled(np.pi / 180.0),
    "np.signbit": signbit,
    "np.heaviside": heaviside,
    "np.divmod": divided,
    "np.real": real,
    "py.contains": contains,
    "pow": power,
    builtins.round: round_of,
    math.isclose: isclose,
    math.degrees: _float_times(180.0 / math.pi),
    math.radians: _float_times(math.pi / 180.0),
    math.log: log,
    math.hypot: hypot,
    math.dist: dist,
    math.fmod: fmod,
    math.modf: modf,
    math.gcd: gcd,
    math.lcm: lcm,
    math.comb: comb,
    math.factorial: factorial,
    math.isqrt: isqrt,
    int.bit_length: bit_length,
    **({int.bit_count: bit_count} if hasattr(int, "bit_count") else {}),
}
