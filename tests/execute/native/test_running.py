"""Running sums and products, and the first extremes across lines: native code against NumPy, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(0)
DTYPES = ("f8", "i1", "?")
SHAPES = ((4, 5), (1, 5), (5, 1), (8, 8), (40, 33), (0, 3), (3, 0), (3, 4, 5), (2, 1, 3))


def along_all(x):  # type: ignore[no-untyped-def]
    return np.cumsum(x), np.cumprod(x + 1), (x * 2).cumsum()[-1:]


def along_axes(x):  # type: ignore[no-untyped-def]
    return np.cumsum(x, axis=0), np.cumprod(x, axis=-1), (x * 2).cumsum(axis=1), np.cumsum(x, axis=-1)[:, -1:]


def in_a_loop(x):  # type: ignore[no-untyped-def]
    total = 0
    for k in range(20):
        total += (x + k).cumsum(axis=-1)[-1, -1]
    return total


def first_across(x):  # type: ignore[no-untyped-def]
    return np.argmax(x, axis=0), np.argmin(x, axis=0), np.argmax(x, axis=1)


def first_of_some(x):  # type: ignore[no-untyped-def]
    return np.argmin(x * 2 + 1, axis=0), np.argmax(x[:, ::2], axis=0)


CASES: list[tuple[Callable[..., Any], bool]] = [
    (along_all, True), (along_axes, True), (in_a_loop, True), (first_across, False), (first_of_some, False),
]  # fmt: skip


def arrays(dtype: str, shape: tuple[int, ...]) -> list[Any]:
    """Numbers, NaN first and last, zeros of both signs, what overflows; also in another layout."""
    x = (R.random(shape) * 10).astype(dtype)
    found = [x]
    if x.dtype.kind == "f" and x.size:
        odd, zeros = x.copy(), np.zeros_like(x)
        odd[-1, 0] = odd[0, -1] = np.nan
        zeros[0] = -0.0
        found += [odd, zeros, np.full_like(x, np.finfo(dtype).max / 4)]
    return [*found, np.asfortranarray(x), x[::-1]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("function", "always"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_running(function: Callable[..., Any], always: bool, dtype: str) -> None:
    for rank in (2, 3):  # one function for all sizes, so that their number becomes unknown
        shapes = [shape for shape in SHAPES if len(shape) == rank]
        both(function, [(x,) for shape in shapes for x in arrays(dtype, shape)], lowered=False)
    both(function, [(x,) for x in arrays(dtype, (6, 7))[:1]], lowered=True)


def extremes_so_far(x):  # type: ignore[no-untyped-def]
    top = np.maximum.accumulate(x, axis=-1)
    return np.maximum.accumulate(x), np.minimum.accumulate(x, axis=-1), top - x, np.maximum.accumulate(x[0])


def totals_so_far(x):  # type: ignore[no-untyped-def]
    return np.add.accumulate(x), np.multiply.accumulate(x, 1), np.add.accumulate(array=x * 2, axis=-1)


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "i1", "u2", "?"))
@pytest.mark.parametrize("function", [extremes_so_far, totals_so_far])
def test_accumulate(function: Callable[..., Any], dtype: str) -> None:
    if dtype == "?" and function is extremes_so_far:  # bools have no difference
        return
    shapes = [shape for shape in SHAPES if len(shape) == 2]
    calls = [(x,) for shape in shapes for x in arrays(dtype, shape)]
    if dtype[0] == "f":  # zeros of both signs, NaN in all places
        signed = np.where(R.random((9, 70)) < 0.5, -0.0, 0.0).astype(dtype)
        calls += [(signed,), (np.where(R.random((9, 70)) < 0.02, np.nan, signed).astype(dtype),)]
    both(function, calls, lowered=False)
    both(function, [(x,) for x in arrays(dtype, (6, 7))[:1]])


def drawdown(x):  # type: ignore[no-untyped-def]
    top = np.maximum.accumulate(x)
    return ((top - x) / top).max()


def test_a_line_that_is_one_array() -> None:
    both(drawdown, [(R.random(n) + 1,) for n in (1, 2, 7, 8, 9, 64, 1000)])


def places(x):  # type: ignore[no-untyped-def]
    return (
        x.argmax(),
        x.argmin(),
        x.argmax(axis=-1),
        x.argmin(axis=-1),
        x.max(axis=-1),
        x.min(),
        x.any(),
        x.sum(),
    )


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "i2", "?"])
def test_extremes_of_lines_of_all_lengths(dtype: str) -> None:
    calls = []
    for n in (*range(1, 70), 127, 128, 129, 300, 2047, 2048, 2049, 5000, 9001):
        x = (R.random((3, n)) * 5 - 2).astype(dtype)  # few numbers, so that many are alike
        calls.append((x,))
        if x.dtype.kind == "f":
            odd, zeros = np.round(x), np.where(R.random((3, n)) < 0.5, 0.0, -0.0).astype(dtype)
            odd[1, R.integers(n)] = np.nan
            odd[2, R.integers(n)] = odd[2, R.integers(n)] = 9
            calls += [(odd,), (zeros,), (-np.abs(x),), (zeros * odd,)]
    both(places, calls[:: 1 if dtype != "?" else 3], invalid="ignore")


def test_evenly_spaced_numbers() -> None:
    def spaced(a, b, n):  # type: ignore[no-untyped-def]
        x = np.linspace(a, b, n)
        y = np.linspace(a, 2, 7) * x[1] + np.linspace(0, b, num=7, endpoint=False)
        total = 0.0
        for k in range(1, 4):
            total += np.linspace(k, b, n + k).sum() + np.linspace(-0.0, a, n)[k % n]
        return x, y, np.linspace(a, b), total, np.sin(np.linspace(0, 1, 33)).sum()

    for a, b in (
        (0.0, 1.0),
        (2.5, -7.25),
        (-0.0, 0.0),
        (1e-320, 3e-320),
        (0.1, np.inf),
        (np.nan, 1.0),
        (5e-324, 0.0),
    ):
        both(spaced, [(a, b, n) for n in (2, 3, 50, 129)], lowered=False)
        both(spaced, [(np.float64(a), b, n) for n in (1, 0, 5)], lowered=False)
    for a, b in ((0, 10), (-3, 2**60), (2**53 + 1, 7), (5, 5)):
        both(spaced, [(a, b, 9), (a, np.int64(b % 1000), 10)], lowered=False)
    both(spaced, [(0.0, 1.5, 50), (0.25, 2.0, 50)])
