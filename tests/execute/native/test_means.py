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
