"""Floats taken apart and put together: `math.frexp` and `math.ldexp`.

In: numbers.  Out: what Python gives.  What always holds: zeros, floats with less than all digits, infinities
and NaN are left to the plan, as is what does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from runtime.execute.native.emit import Emitter
from runtime.execute.native.floats import finite, to_float
from runtime.execute.native.kinds import PYTHON_FLOAT, PYTHON_INT, Unlowered
from runtime.execute.native.scalars import index
from runtime.execute.native.state import State
from runtime.execute.native.values import Num, Tup, Val, one

_SHIFT, _MOST, _HALF, _ONE = 52, 2047, 1022, 1023
_FAR = 1000  # powers of two up to here are floats with all digits, and so are their inverses


def _number(state: State, x: Val) -> str:
    if (
        not isinstance(x, Num)
        or len(x.members) != 1
        or x.scalar.kind not in "biuf"
        or state.e.gang is not None
    ):
        raise Unlowered("a float that is taken apart")
    return to_float(state.e, x, PYTHON_FLOAT).text


def frexp(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`math.frexp(x)`."""
    if len(args) != 1 or keywords:
        raise Unlowered("math.frexp with these arguments")
    e, x = state.e, _number(state, args[0])
    bits = e.op(f"bitcast double {x} to i64")
    power = e.op(f"and i64 {e.op(f'lshr i64 {bits}, {_SHIFT}')}, {_MOST}")
    usual = e.both(e.op(f"icmp ne i64 {power}, 0"), e.op(f"icmp ne i64 {power}, {_MOST}"))
    e.defer_if(e.negated(usual))
    digits = e.op(f"and i64 {bits}, {~(_MOST << _SHIFT)}")
    share = e.op(f"bitcast i64 {e.op(f'or i64 {digits}, {_HALF << _SHIFT}')} to double")
    whole = e.op(f"sub i64 {power}, {_HALF}")
    return Tup((one(PYTHON_FLOAT, share), one(PYTHON_INT, whole, span=(-_HALF, _ONE + 1))))


def ldexp(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`math.ldexp(x, n)`."""
    if len(args) != 2 or keywords or not isinstance(args[1], Num) or args[1].members != (PYTHON_INT,):
        raise Unlowered("math.ldexp with these arguments")
    e, x, n = state.e, _number(state, args[0]), index(state.e, args[1])
    near = e.op(f"icmp ule i64 {e.op(f'add i64 {n}, {_FAR}')}, {2 * _FAR}")
    e.defer_if(e.negated(near))
    bits = e.op(f"shl i64 {e.op(f'add i64 {n}, {_ONE}')}, {_SHIFT}")
    made = e.op(f"fmul double {x}, {e.op(f'bitcast i64 {bits} to double')}")
    size = _size(e, made)
    large = e.op(f"fcmp oge double {size}, 0x0010000000000000")
    e.defer_if(e.negated(e.both(finite(e, PYTHON_FLOAT, made), large)))
    return one(PYTHON_FLOAT, made)


def _size(e: Emitter, x: str) -> str:
    return e.call("double", "llvm.fabs.f64", ("double", x))


CALLABLES: dict[Any, Callable[[State, list[Val], dict[str, Val]], Val]] = {
    math.frexp: frexp,
    math.ldexp: ldexp,
}
