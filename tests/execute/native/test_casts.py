"""Arrays of floats cast to integers, of all lengths, with values that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
ODD = (np.nan, np.inf, -np.inf, 3e9, -3e9, 2147483647.0, -2147483648.0, 1e30, -0.9, 0.0, 300.7, -70000.0)


def short(x):
    return x.astype(np.int32)


def long(x):
    return (x * 2).astype(np.int64), (x * x).astype(np.int32)


def narrow(x):
    return x.astype(np.uint8), (x + 1).astype(np.int8), (x * 9).astype(np.uint16), x.astype(np.int16)


def stored(x, small):
    small[1:] = x * 0.5 + 2
    return small


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
@pytest.mark.parametrize("function", [short, long, narrow])
def test_casts(function, dtype):
    x = (np.random.default_rng(5).standard_normal(67) * 1e4).astype(dtype)
    calls = [(x[:n],) for n in (1, 3, 4, 7, 8, 16, 31, 67)]
    for k, odd in enumerate(ODD):
        y = x.copy()
        y[k * 5 % 67] = odd
        calls.append((y,))
    both(function, calls)
    both(function, calls, invalid="ignore")


@pytest.mark.parametrize("small", ["u1", "i1", "u2", "i2", "i4", "i8", "?"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_floats_stored_in_arrays_of_integers(dtype, small):
    x = (np.random.default_rng(5).standard_normal(67) * 100).astype(dtype)
    calls = [(x[:n], np.zeros(n + 1, small)) for n in (1, 3, 8, 31, 67)]
    for k, odd in enumerate(ODD):
        y = x.copy()
        y[k * 5 % 67] = odd
        calls.append((y, np.ones(68, small)))
    both(stored, calls)
    both(stored, calls, invalid="ignore")


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("size", [1, 3, 8, 40])
def test_what_a_difference_loses_was_cast(dtype: str, size: int) -> None:
    """NaN has no integer, which NumPy says even where the integer does not matter."""

    def differences(x):
        y = x.astype(np.int64) + 1
        return y - y, x.astype(np.int32) ^ x.astype(np.int32)

    x = np.arange(size).astype(dtype)
    x[-1] = np.nan
    both(differences, [(x,), (x,)], all="warn")


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("size", [1, 3, 8, 40, 200])
def test_what_does_not_matter_was_cast(dtype: str, size: int) -> None:
    """Integers that LLVM does not need, since whatever they are the result is the same, may have been NaN."""

    def infinite(x):
        return np.isinf(x.astype(np.int8))

    def decided(x):
        return x.astype(np.uint8) >= 0, x.astype(np.int8) | -1, np.logical_or(x.astype(np.int32), True)

    x = np.arange(size).astype(dtype)
    x[-1] = np.nan
    for f in (infinite, decided):
        both(f, [(x,), (x,)], all="warn")


def arrays_of(x):
    """The array itself where it has the dtype, else a cast; `np.array` copies."""
    a, b = np.asarray(x, dtype=float), np.asarray(x, np.int64)
    same = np.asarray(x, dtype=x.dtype)
    c, d = np.array(x, dtype=np.float64), np.array(x, dtype=np.float32, copy=True)
    return a, b, same, c, d, np.asarray(x * 2, dtype=np.float64), np.asarray(x)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_arrays_of_arrays(dtype):
    x = (np.arange(12) % 5).reshape(3, 4).astype(dtype)
    for given in (x, x[::2], np.asfortranarray(x), x[:0], x[0]):
        wanted, found = arrays_of(given), both(arrays_of, [(given,)], lowered=given is x)(given)
        assert [w is given for w in wanted] == [f is given for f in found]
        assert [np.may_share_memory(w, given) for w in wanted] == [
            np.may_share_memory(f, given) for f in found
        ]
