"""Arrays of floats cast to integers, of all lengths, with values that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
ODD = (np.nan, np.inf, -np.inf, 3e9, -3e9, 2147483647.0, -2147483648.0, 1e30, -0.9, 0.0)


def short(x):
    return x.astype(np.int32)


def long(x):
    return (x * 2).astype(np.int64), (x * x).astype(np.int32)


def rounded(x):
    return np.floor(x), np.ceil(x), np.trunc(x), np.sign(x)


def asked(x):
    return np.isnan(x), np.isinf(x), np.where(np.isfinite(x), x, 0), np.isfinite(x).sum()


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "u8"])
@pytest.mark.parametrize("function", [rounded, asked])
def test_functions_of_floats_on_integers(function, dtype):
    x = np.arange(-33, 34).astype(dtype)
    both(function, [(x,), (x[:3],), (x[:66].reshape(6, 11),)], lowered=False)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", [short, long])
def test_casts(function, dtype):
    x = (np.random.default_rng(5).standard_normal(67) * 1e4).astype(dtype)
    calls = [(x[:n],) for n in (1, 3, 4, 7, 8, 16, 31, 67)]
    for k, odd in enumerate(ODD):
        y = x.copy()
        y[k * 5 % 67] = odd
        calls.append((y,))
    both(function, calls, lowered=False)
