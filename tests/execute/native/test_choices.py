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
