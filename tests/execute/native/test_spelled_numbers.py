"""Functions of numbers in terms of others: in native code, and the same as Python's and NumPy's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from runtime.execute.native import number_spellings, spelled
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
FLOATS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 0.125, 2.675, 1.005, 1e-9, 123456.785, 3.7, 1e6])
ODD = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 5e-324])
INTS = np.array([0, 1, 2, 3, 7, 12, 100, 255, 2**31])


def cases(v, i):  # type: ignore[no-untyped-def]
    """What is done with an item (v) of an array and its number (i)."""
    return {
        "where": lambda v, i: (np.where(v > 1, v, -v) * 2,),
        "where of kinds": lambda v, i: (np.where(i > 2, i, 2.5) + np.where(v, True, i),),
        "where in branches": lambda v, i: (
            float(np.where(v < 0, 1.0, v)) if i else -np.where(v < 0, 2, 3),),
        "clip": lambda v, i: (
            np.clip(v, -1.0, 1.0), np.clip(v, 0, None), np.clip(v, None, v), np.clip(v, i, 3)),
        "clip of Python's": lambda v, i: (np.clip(i, 1, 5), np.clip(i, 0.5, v), np.clip(float(v), 0, 1)),
        "clip by name": lambda v, i: (np.clip(v, a_min=0.25, a_max=2),),
        "round": lambda v, i: (round(float(v)), round(v), round(i), round(i, 2)),
        "round to decimals": lambda v, i: (
            round(float(v), 2), round(float(v), 0), round(v, 1), round(float(v), 7)),
        "np.round": lambda v, i: (
            np.round(v), np.round(v, 2), np.round(float(v), 1), np.round(v, -1), v.round(3)),
        "items": lambda v, i: (v.item(), v.real, v.imag, v.conjugate(), float(v).real, i.real),
        "np.real": lambda v, i: (np.real(v), np.real(float(v)), float(v).is_integer(), v.is_integer()),
        "signs": lambda v, i: (np.abs(float(v)), np.abs(i), np.negative(float(v)), np.signbit(v)),
        "degrees": lambda v, i: (
            np.degrees(v), np.deg2rad(v), math.degrees(v), math.radians(v), np.radians(i)),
        "heaviside": lambda v, i: (np.heaviside(v, 0.5), np.divmod(v, 0.3)[1], divmod(v, 0.7)[0]),
        "in": lambda v, i: (i in (1, 2, 5), v in (0.5, 3), i in range(2, 6), i in (7, True)),
        "math.isclose": lambda v, i: (
            math.isclose(v, 0.5), math.isclose(v, 1, rel_tol=0.1, abs_tol=0.2)),
        "math.fmod": lambda v, i: (
            math.fmod(v, 0.3), math.fmod(-v, i + 0.5), math.modf(v)[0], math.modf(v)[1]),
        "math.log": lambda v, i: (math.log(abs(v) + 1, 2) - math.log(i + 1, 10),),
        "hypot": lambda v, i: (
            math.hypot(v, 2.0), math.hypot(v, v), math.hypot(v, i, 0.3), math.dist((v, 1.0), (i, 0.0))),
        "frexp": lambda v, i: (math.ldexp(v + 3e6, i - 3), *math.frexp(v - 3e6)),
        "bits": lambda v, i: (i.bit_length(), (-i).bit_length(), i.bit_count()),
        "powers": lambda v, i: (2 ** i, (-3) ** i, i ** i, (i - 5) ** (i % 4), 1 ** (i * 1000)),
        "gcd": lambda v, i: (
            math.gcd(i, 12), math.gcd(-i, 0), math.lcm(i, 12), math.comb(i + 3, 3), math.comb(2, i)),
        "isqrt": lambda v, i: (math.isqrt(i * i * 1000), math.factorial(i)),
    }  # fmt: skip


def over_all(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the function gives for each item, the last of them and all sums."""

    def run(x):  # type: ignore[no-untyped-def]
        total = 0.0
        for i in range(len(x)):
            found = function(x[i], i)
            for part in found:
                total += part
        return total, found

    return run


NAMES = list(cases(0, 0))


@pytest.mark.parametrize("name", NAMES)
def test_they_are_native(name: str) -> None:
    function = over_all(cases(0, 0)[name])
    for dtype in ("f8", "f4") if name not in ("degrees", "heaviside", "signs") else ("f8",):
        x = FLOATS.astype(dtype)
        for trace in both(function, [(x,), (x[:5],), (x,)]).traces:
            assert not trace.concrete.native.bails
    each = [(FLOATS[k : k + 3].copy(),) for k in range(len(FLOATS) - 2)]
    both(function, each)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_odd(name: str) -> None:
    one: Sequence[tuple[Any, ...]] = [(ODD[k : k + 1].copy(),) for k in range(len(ODD))]
    both(
        over_all(cases(0, 0)[name]),
        [(FLOATS,), *one, (ODD,), (INTS,), (np.array([np.nan, 1e30, -np.inf], "f4"),)],
        lowered=False,
    )


def refused(n, k):  # type: ignore[no-untyped-def]
    return (
        n**k,
        math.isqrt(n),
        math.comb(n, k),
        math.factorial(n),
        math.isclose(n, k, rel_tol=n),
        np.clip(n, k, k),
    )


def test_what_raises() -> None:
    both(refused, [(9, 2), (-1, 2), (9, -2), (25, 3), (2.5, 1), (3, 9), (21, 20)], lowered=False)


def escapes(x):  # type: ignore[no-untyped-def]
    """Arrays without axes that stay ones: they are kept, handed on, written to or returned."""
    kept = [np.where(x[0] > 0, 1.0, 2.0)]
    made = np.where(x[1] > 0, x[0], 2.0)
    made += 1
    last = 0.0
    for k in range(3):
        last = np.where(x[k] > 0, last, x[k])
    return kept, made, last, np.where(x[0], 1, 2), type(np.where(x[0], 1, 2)).__name__


def test_arrays_without_axes() -> None:
    both(escapes, [(FLOATS,), (ODD,)], lowered=False)


def through_branches(x, t):  # type: ignore[no-untyped-def]
    total = 0
    for k in range(len(x)):
        a = np.where(x[k] > t, x[k], t)
        for j in range(k):
            if a > j:
                total += a * j
        while total > a * 50:
            total -= a
        x[k] = a
    return total, x


def test_arrays_without_axes_in_regions() -> None:
    converted = both(through_branches, [(FLOATS[3:9], 0.5), (FLOATS[3:8], 1.5)])
    assert not converted.traces[0].concrete.native.bails


def lengths(x, y, z):  # type: ignore[no-untyped-def]
    made = np.empty((2, len(x)))
    for k in range(len(x)):
        made[0, k] = math.hypot(x[k], y[k])
        made[1, k] = math.hypot(x[k], y[k], z[k])
    return made


@pytest.mark.parametrize("by_products", (False, True))
def test_lengths_in_both_ways(by_products: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has added up squares in two ways; both are within a hair of the truth, so mostly the same."""
    monkeypatch.setattr(number_spellings, "_BY_PRODUCTS", by_products)
    spelled._spelled.cache_clear()
    draws = np.random.default_rng(3)
    x, y, z = draws.normal(size=(3, 3000)) * 10.0 ** draws.uniform(-3, 3, size=(3, 3000))
    assert not both(lengths, [(x, y, z)]).traces[-1].concrete.native.bails
    spelled._spelled.cache_clear()


SINGLE, SHORT = np.finfo(np.float32), np.iinfo(np.int32)


def limits(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(x)):
        if abs(x[k]) > np.finfo(float).eps:
            total += x[k] + np.finfo(x.dtype).tiny + np.finfo(x[k]).eps
        total += SINGLE.max * 0 + SHORT.max + SINGLE.bits
    return total, np.finfo(x.dtype).eps


def no_limits(x):  # type: ignore[no-untyped-def]
    return np.finfo(x.dtype).eps


def test_limits_of_types_are_constants() -> None:
    both(limits, [(FLOATS,), (FLOATS.astype("f4"),), (FLOATS,)])
    both(no_limits, [(FLOATS,), (INTS,)], lowered=False)
    both(
        lambda x: (np.iinfo(np.int8).max, np.finfo("f4").max, np.finfo(float) is np.finfo(float)),
        [(1,)],
        lowered=False,
    )


def test_bounds_that_np_clip_does_not_take() -> None:
    """There are both of those by position, or either of those by name."""
    refused: tuple[Callable[..., Any], ...] = (
        lambda x: np.clip(x, 1),
        lambda x: np.clip(x, a_min=1),
        lambda x: np.clip(x, 1, a_min=2),
        lambda x: np.clip(x, 1, 2, min=1),
    )
    taken: tuple[Callable[..., Any], ...] = (
        lambda x: np.clip(x, 1, 2),
        lambda x: np.clip(x, 1, a_max=2),
        lambda x: np.clip(x, a_max=2, a_min=1),
    )
    for function in (*refused, *taken):
        both(function, [(3.5,), (np.float64(0.5),), (np.int64(7),)], lowered=False)
