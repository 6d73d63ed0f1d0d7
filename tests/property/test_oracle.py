"""The oracle notices what a wrong conversion would do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.property.oracle import first_difference


def plain(x: Any, n: Any) -> Any:
    if n < 0:
        raise ValueError("negative")
    x[0] = n
    print(n)
    return n, x


def wrong_type(x: Any, n: Any) -> Any:
    print(n)
    x[0] = n
    return np.asarray(n), x


def no_effect(x: Any, n: Any) -> Any:
    print(n)
    y = x.copy()
    y[0] = n
    return n, y


def lost_alias(x: Any, n: Any) -> Any:
    print(n)
    x[0] = n
    return n, x.copy()


def silent(x: Any, n: Any) -> Any:
    x[0] = n
    return n, x


def never_raises(x: Any, n: Any) -> Any:
    return plain(x, abs(n))


@pytest.mark.parametrize("wrong", [wrong_type, no_effect, lost_alias, silent, never_raises])
def test_differences_are_seen(wrong: Any) -> None:
    calls = [(np.zeros(2), np.float64(3.0)), (np.zeros(2), np.float64(-1.0))]
    assert first_difference(plain, lambda f: wrong, calls)
    assert first_difference(plain, lambda f: f, calls) is None


def test_signed_zero_counts_and_nan_does_not() -> None:
    assert first_difference(lambda v: v, lambda f: lambda v: -v, [(0.0,)])
    assert first_difference(lambda v: v + 0, lambda f: lambda v: -v, [(np.array([np.nan]),)]) is None
