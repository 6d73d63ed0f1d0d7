"""Means of integers, and integers that are Python's or NumPy's beside arrays: native code against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(0)


def means(x):  # type: ignore[no-untyped-def]
    return x.mean(), x.mean(axis=0), np.mean(x, axis=1), x.std(axis=-1), x.var()


def in_a_loop(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i].mean()
    return total


def of_what_is_computed(x):  # type: ignore[no-untyped-def]
    return (x * 2).mean(axis=0), (x > 3).mean()


def at_least_one(x):  # type: ignore[no-untyped-def]
    c = np.cumsum(x)
    least = max(c[-1] - c[0], 1)
    return (c - c[0]) * 255 // least, c + least, least - c


@pytest.mark.parametrize("dtype", ["i8", "u8", "i4", "u1"])
@pytest.mark.parametrize("function", [means, in_a_loop, of_what_is_computed])
def test_means_of_integers(function: Callable[..., Any], dtype: str) -> None:
    calls = [((R.random(s) * 200).astype(dtype),) for s in ((3, 4), (1, 1), (17, 33), (2, 999))]
    both(function, calls, lowered=False)
    both(function, calls[:1], lowered=function is not of_what_is_computed)
    if dtype in ("i8", "u8"):
        odd = []
        for value in (
            1 << 53,
            (1 << 53) // 6 + 1,
            (1 << 53) // 6,
            (1 << 62) + 1,
            np.iinfo(dtype).max,
            np.iinfo(dtype).min,
        ):
            for x in (np.full((2, 3), value, dtype), np.full((2, 3), 7, dtype)):
                x[1, 1] = value
                odd += [(x,), (0 - x,)]
        both(function, odd, lowered=False)


@pytest.mark.parametrize("dtype", ["i8", "i4"])
def test_integers_that_may_be_pythons(dtype: str) -> None:
    both(
        at_least_one, [(x.astype(dtype),) for x in (np.array([1, 0, 0]), np.array([3, 1, 9]), np.array([5]))]
    )


def short_lines(x):  # type: ignore[no-untyped-def]
    squares = (x * x).sum(axis=-1)
    return x.sum(axis=-1), np.mean(x, axis=-1), np.sqrt(squares), (x + x[..., :1]).sum(axis=-1)[..., None] * x


def whole_numbers(x):  # type: ignore[no-untyped-def]
    return (
        x.sum(axis=-1),
        x.max(axis=-1),
        x.min(axis=-1),
        x.prod(axis=-1),
        (x > 3).any(axis=-1),
        x.all(axis=-1),
    )


def of_few_sizes(x, y):  # type: ignore[no-untyped-def]
    return (x * y).sum(axis=-1), (np.ones((3, 3, 3)) * y).sum(axis=-1), (x - y[0]).mean(axis=-1)


@pytest.mark.parametrize("n", [1, 3, 7, 8])
@pytest.mark.parametrize("dtype", ["f8", "f4", "u1", "?"])
def test_short_lines(dtype: str, n: int) -> None:
    calls = []
    for shape in ((5, n), (70, n), (0, n)):
        x = (R.random(shape) * 9 - 4).astype(dtype)
        calls += [(x,), (np.asfortranarray(x),), (np.repeat(x, 2, axis=-1)[..., ::2],), (x[::-1],)]
        if dtype[0] == "f" and x.size:
            odd, zeros = x.copy(), np.where(R.random(shape) < 0.7, -0.0, 0.0).astype(dtype)
            odd.flat[::3] = np.inf
            odd.flat[::5] = np.finfo(dtype).max
            odd.flat[::7] = np.nan
            calls += [(odd,), (zeros,), (-np.abs(zeros),)]
    both(short_lines if dtype[0] == "f" else whole_numbers, calls, lowered=False)
    both(short_lines if dtype[0] == "f" else whole_numbers, [((R.random((40, n)) * 9).astype(dtype),)])


def test_lines_as_short_as_there_are() -> None:
    both(of_few_sizes, [(R.random((3, 3, 3)), R.random((3, 3))), (R.random((3, 3)), R.random((3, 3)))])
