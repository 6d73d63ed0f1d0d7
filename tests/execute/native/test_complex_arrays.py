"""Whole arrays of complex numbers: native code against NumPy, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(8)
SPECIAL = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e300, 1e-310, 1e38)
ODD = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])


def numbers(*shape, dtype=np.complex128):
    return (R.standard_normal(shape) + 1j * R.standard_normal(shape)).astype(dtype)


def sums(a, b):
    return a + b, a - b, -a, +a, a + 1, 2.5 - b, a + 1j


def products(a, b):
    return a * b, a * 2, 0.5j * b, a * a


def quotients(a, b):
    return a / b, 1 / a, b / 2.0


def chained(a, b):
    return (a * b + a) * (b - a) / (a + 3) - a * a * b


def powers(a, b):
    return a**2, a**0.5, a**-1, a**1, a**2.0, a**-1.0, a**1.0, a**0


def functions(a, b):
    return np.exp(a), np.sqrt(b), np.abs(a), abs(b) * a, np.conj(a) * b, np.log(a), np.sin(a + b)


def parts(a, b):
    return a.real * 2 + b.imag, np.abs(a) ** 2 - a.real * a.real, a.imag.sum()


def compared(a, b):
    return a == b, a != b, np.isnan(a), np.isfinite(a * b)


def picked(a, b):
    return np.where(np.abs(a) < 1, a * b, a + b), np.where(a.real > 0, a, 0)


def mixed(a, b):
    return a + b.real, a.imag * b, a.real.astype(np.float32) * 1j + 2, (a.real * 9).astype(int) + b


def in_place(a, b):
    a += b
    a *= b
    b[...] = a - 1
    a[1:] = a[:-1]
    c = a.imag
    c += b.real
    return a * b


def mandelbrot(a, b):
    z, count = a * 0, np.zeros(a.shape, np.int64)
    for _ in range(12):
        z = np.where(np.abs(z) <= 2, z * z + a, z)
        count += np.abs(z) <= 2
    return z, count


def broadcast(a, b):
    return a[:, None] * b, a[:, None] + b[None, :3], (a * b)[::-1] + a


FUNCTIONS = (
    sums,
    products,
    quotients,
    chained,
    functions,
    parts,
    compared,
    picked,
    mixed,
    in_place,
    mandelbrot,
)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("function", [*FUNCTIONS, powers], ids=lambda f: f.__name__)
def test_results_are_numpys(function: Any, dtype: Any) -> None:
    sizes: list[tuple[int, ...]] = [(9,), (1000,), (1,), (2,), (7, 5), (3, 515), (0,), (4, 0)]
    lowered = function is not in_place
    calls = [(numbers(*s, dtype=dtype), numbers(*s, dtype=dtype)) for s in sizes]
    both(function, [(a, b) for a, b in calls if a.ndim == 1], lowered=lowered)
    both(function, [(a, b) for a, b in calls if a.ndim == 2], lowered=lowered)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_unusual_numbers(function: Any) -> None:
    calls: list[tuple[Any, Any]] = [(ODD, np.roll(ODD, k)) for k in (0, 1, 7, 33)]
    with np.errstate(all="ignore"):
        calls += [(ODD.astype(np.complex64), np.roll(ODD, 9).astype(np.complex64))]
    both(function, calls, lowered=function is not in_place)


@pytest.mark.parametrize(
    "function", [sums, products, quotients, chained, functions], ids=lambda f: f.__name__
)
def test_large_arrays_and_strides(function: Any) -> None:
    a, b = numbers(40003), numbers(40003)
    both(function, [(a, b), (a[::2], b[1::2]), (a[::3], b[:13335].copy())])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_of_one_element(dtype: Any) -> None:
    """NumPy's loop rounds once or twice, by the steps that it is told."""
    ranks = [
        ((1, 1), (1,)),
        ((1,), (1, 1)),
        ((1, 1, 1), (1, 1)),
        ((1, 1), (1, 1)),
        ((1,), ()),
        ((1, 1), (3, 1, 1)),
    ]
    for shapes in ranks:
        calls = [tuple(numbers(*s, dtype=dtype) for s in shapes) for _ in range(12)]
        both(products, calls)
    wider = [tuple(numbers(*s, dtype=dtype) for s in ((n, n), (n,))) for n in (3, 2, 4, 1, 1, 1, 1, 1, 1)]
    both(products, wider)


def test_broadcasting() -> None:
    both(broadcast, [(numbers(3), numbers(3)), (numbers(300), numbers(300))])


def test_what_has_no_order_or_is_asked_for_its_truth() -> None:
    def clipped(a, b):
        return np.clip(a, 0.25, 1.5), np.maximum(a, b), np.logical_and(a, b), np.sign(a)

    def picked_by(a, b):
        return np.where(a, a, b), np.any(a), np.sum(a), a @ b

    both(clipped, [(numbers(9), numbers(9)), (ODD, np.roll(ODD, 5))])
    both(picked_by, [(numbers(9), numbers(9) * 0)], lowered=False)


def test_what_loses_a_part_is_left_to_numpy() -> None:
    def lost(a, out):
        out[...] = a * 2
        return (a + 1).astype(np.float64)

    both(lost, [(numbers(5), np.zeros(5))], lowered=False)
