"""Choices between numbers that depend on data stay choices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


def lower_bounds(x, q):  # type: ignore[no-untyped-def]
    out = np.zeros(len(q), dtype=np.int64)
    for k in range(len(q)):
        lo, hi = 0, len(x)
        while lo < hi:
            mid = (lo + hi) // 2
            if x[mid] < q[k]:
                lo = mid + 1
            else:
                hi = mid
        out[k] = lo
    return out


def data(n: int, m: int) -> Any:
    r = np.random.default_rng(n)
    return np.sort(r.uniform(0, 1, n)), r.uniform(-0.1, 1.1, m)


def test_a_binary_search() -> None:
    calls = [data(n, m) for n, m in ((10, 5), (0, 3), (1, 9), (100, 70), (3, 0))]
    calls.append((calls[3][0], np.array([np.nan, np.inf, -np.inf, 0.0])))
    both(lower_bounds, calls)
    with settings.override(executor="native", compile="now"):
        text = ag.function(lower_bounds).get_concrete_function(*data(100, 70)).native_ir
    assert any("select" in x and "!unpredictable" in x for x in text.splitlines())


def guarded(a: Any, i: int, n: int) -> Any:
    s = 0.0
    for k in range(n):
        j = i + k
        if 0 <= j:
            if j < 8:
                s = a[j]
    return s


def guarded_at_once(a: Any, i: int, n: int) -> Any:
    s = 0.0
    for k in range(n):
        s = s * 0.5 + (a[i + k] if i >= -k and i + k < 8 else 1.0)
    return s


@pytest.mark.parametrize("function", [guarded, guarded_at_once], ids=lambda f: f.__name__)
def test_what_a_condition_keeps_in_range_is_not_read_without_it(function: Any) -> None:
    """Such a read was a crash: far from the array there is no memory."""
    a = np.arange(8.0)
    both(function, [(a, 1, 3), *((a, i, 3) for i in (6, -2, 10**12, -(10**12), 2**62, -(2**62)))])


def neighbours(x: Any, w: Any, n: int) -> Any:
    found, other = 0, 0.0
    for i in range(n):
        if (i and x[i - 1]) or (i < n - 1 and x[i + 1]) or (w[i] and i % 3) or (i > 3 and w[i - 2]):
            found += 1
        if not ((x[i] or i % 2 or w[i]) and (w[i] or i)):
            other += 1.5
        while i and w[i] or x[i] and found > 100:
            other += w[i]
            break
    return found, other


def test_conditions_on_numbers_of_many_kinds() -> None:
    """Python ints, NumPy's bools, floats and bools in one condition: only its truth matters, but all of the
    loops around it were left to the plan."""
    r = np.random.default_rng(2)
    calls: list[Any] = []
    for p in (0.1, 0.5, 0.9):
        w = np.where(r.random(30) < p, r.normal(size=30), 0.0)
        w[3], w[7], w[9] = np.nan, -0.0, np.inf
        calls.append((r.random(30) < p, w, 30))
    both(neighbours, calls)
