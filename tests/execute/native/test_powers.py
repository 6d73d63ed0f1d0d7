"""Single floats to small powers: near to the true value, with Python's errors and NumPy's warnings."""

from __future__ import annotations

import fractions
import math

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both, seen

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


def powers(x, n):  # type: ignore[no-untyped-def]
    a = b = c = x
    for _ in range(n):
        a, b, c = a**2, b**3, c**4
    return a, b, c


def roots(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x**0.5
    return x


ODD = (0.0, -0.0, 1.5, -0.5, math.inf, -math.inf, math.nan, 1e200, 1e-200, 5e-324)


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_unusual_numbers(kind: type) -> None:
    with np.errstate(over="ignore"):
        numbers = [kind(x) for x in ODD]
    with settings.override(math="fast"):
        for errors in ("warn", "ignore"):
            both(powers, [(x, 20) for x in numbers], all=errors)
            both(roots, [(x, 20) for x in numbers if x >= 0], all=errors)


def of_each(x, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        a, b = x[i], float(x[i])
        out[0, i], out[1, i], out[2, i], out[3, i] = a**2, a**3, a**4, a**0.5
        out[4, i], out[5, i], out[6, i], out[7, i] = b**2, b**3, b**4, b**0.5
    return out


def test_the_last_bits() -> None:
    numbers = np.random.default_rng(0).uniform(0.5, 3, 2000)
    with settings.override(executor="native", compile="now", math="fast"):
        found = ag.function(of_each)(numbers, np.zeros((8, 2000)))
    for k, row in enumerate(found):
        for x, power in zip(numbers.tolist(), row.tolist(), strict=True):
            if k % 4 == 3:
                assert power == math.sqrt(x)
                continue
            away = abs(fractions.Fraction(power) - fractions.Fraction(x) ** (k % 4 + 2))
            assert away <= fractions.Fraction(math.ulp(power)) * (1, 3, 4)[k % 4] / 2
    with settings.override(executor="native", compile="now", math="exact"):
        found = ag.function(of_each)(numbers, np.zeros((8, 2000)))
    assert np.array_equal(found, of_each(numbers, np.zeros((8, 2000))))


def of_arrays(x):  # type: ignore[no-untyped-def]
    first = np.exp(x), np.log(x), np.sin(x), np.cos(x), np.tanh(x)
    return *first, np.log1p(x), np.expm1(x), np.exp2(x), np.log2(x), np.log10(x)


def of_numbers(x, y):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        y[0, i], y[1, i], y[2, i], y[3, i] = np.exp(x[i]), np.log(x[i]), np.sin(x[i]), np.cos(x[i])
        y[4, i], y[5, i], y[6, i] = np.tanh(x[i]), np.log1p(x[i]), np.expm1(x[i])
        y[7, i], y[8, i], y[9, i] = np.exp2(x[i]), np.log2(x[i]), np.log10(x[i])
    return y


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_functions_of_numbers_are_those_of_arrays(dtype: str) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(0.01, 50, 100), [np.inf, np.nan, 1e-30, 1e30, 0.5]]).astype(dtype)
    with settings.override(executor="native", compile="now", math="fast"), np.errstate(all="ignore"):
        found = ag.function(of_numbers)(x, np.zeros((10, len(x)), dtype))
        for row, whole in zip(found, ag.function(of_arrays)(x), strict=True):
            assert row[:64].tobytes() == whole[:64].tobytes()  # the last vectors are left to NumPy
            assert np.allclose(row, whole, 1e-6, equal_nan=True)


def test_functions_of_numbers_warn() -> None:
    def either(x):  # type: ignore[no-untyped-def]
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = np.log(x[i]) if x[i] > 0 else np.exp(x[i])
        return out

    calls = [(np.array([*row] * 9),) for row in ((1.0, -2.0), (-2.0, 0.0), (1.0, np.nan), (np.inf, -800.0))]
    with settings.override(executor="native", compile="now", math="fast"):
        f = ag.function(either)
        for call in calls:
            wanted, found = seen(either, call, all="warn"), seen(f, call, all="warn")
            assert found.warned == wanted.warned
        assert f.traces[-1].concrete.native.bails <= 1  # what is not taken is not computed, nor flagged
