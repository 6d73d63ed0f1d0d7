"""Calls that NumPy refuses, of functions for which there is native code: what NumPy raises is raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native import handlers
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")

REFUSED: list[Callable[[Any], Any]] = [
    lambda x: (x * 2).transpose(0, 3) + 1,
    lambda x: (x * 2).transpose(0, -3) + 1,
    lambda x: np.transpose(x * 2, (1.0, 0)) + 1,
    lambda x: np.identity(N=3) + x[0, 0],
    lambda x: np.diff(x * 2, 1.0),
    lambda x: np.round(x * 2, 0.0),
    lambda x: np.var(x * 2, ddof=1, correction=1),
    lambda x: (x * 2).max(ddof=0),
    lambda x: (x * 2).sum(ddof=0),
    lambda x: (x * 2).max(dtype=float),
    lambda x: (x * 2).any(dtype=bool),
    lambda x: np.swapaxes(x * 2, 0, 1, axis1=1) + 1,
    lambda x: np.swapaxes(x * 2, 0) + 1,
    lambda x: np.expand_dims(x * 2, 0, axis=1) + 1,
    lambda x: np.concatenate((x, x), 0, axis=1) + 1,
    lambda x: np.concatenate(arrays=(x, x)) + 1,
    lambda x: np.maximum.accumulate(x * 2, axis=None),
    lambda x: np.stack((x, x), 0, axis=0) + 1,
    lambda x: np.sort(x * 2, -1, axis=0),
]


@pytest.mark.parametrize("function", REFUSED, ids=range(len(REFUSED)))
def test_refused(function: Callable[[Any], Any]) -> None:
    both(function, [(np.ones((3, 4)),)], lowered=False)


def test_arguments_that_a_function_takes() -> None:
    assert handlers.taken("np.linalg.solve", 2, ())
    assert not handlers.taken("np.linalg.solve", 1, ())
    assert handlers.taken("np.sum", 1, ("axis",))
    assert not handlers.taken("np.sum", 2, ("axis",))


def test_lists_that_are_no_arrays() -> None:
    def counted(a):  # type: ignore[no-untyped-def]
        weighed = [a, 2.0, a + 1]
        return np.bincount(weighed)

    def made(a):  # type: ignore[no-untyped-def]
        return np.zeros([a, 2.0])

    for function in (counted, made):
        both(function, [(1.5,), (0.0,), (-1.0,)], lowered=False)
