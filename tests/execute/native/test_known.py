"""Operations on numbers that LLVM can tell without computing them: flags are raised as if it could not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
SMALL, LARGE = np.float32(1e30), 1e300
FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    lambda x: (x < x) / -0.0,
    lambda x: (x - x) / 0.0,
    lambda x: (x < x) / (x != x),
    lambda x: (x - x) / (x - x),
    lambda x: 1 / ((x - x) + 0.0),
    lambda x: (x != x) * np.inf,
    lambda x: ((x < x) + LARGE) * LARGE,
    lambda x: ((x < x) - np.inf) + np.inf,
    lambda x: SMALL * ((x < x) + SMALL),
    lambda x: ((x < x) + LARGE).astype(np.float32),
    lambda x: ((x < x) + LARGE).astype(np.int64),
    lambda x: np.sqrt((x < x) - 1.0),
    lambda x: np.log((x < x) * 1.0),
    lambda x: np.exp((x < x) + 1e4),
    lambda x: 1.0 // ((x < x) * 1.0),
    lambda x: 1.0 % ((x < x) * 1.0),
    lambda x: ((x < x) * 1.0) ** -1,
    lambda x: ((x < x) + 1 / LARGE) * (1 / LARGE),
)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["i8", "u1", "f8", "f4", "?"])
def test_warnings_are_numpys(function: Callable[[Any], Any], dtype: str) -> None:
    if dtype == "?" and function in FUNCTIONS[1:2] + FUNCTIONS[3:5]:
        pytest.skip("NumPy does not subtract truth values")
    for count in (1, 3, 100):
        both(function, [(np.arange(count).astype(dtype),)], all="warn")
