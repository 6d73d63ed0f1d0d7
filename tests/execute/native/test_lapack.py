"""Linear algebra of small matrices in loops: NumPy's bits, its errors, and its warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(4)


def everything(a, b):  # type: ignore[no-untyped-def]
    total, x = 0.0, b
    for k in range(3):
        m = a + np.eye(a.shape[0]) * (k + 3)
        x = np.linalg.solve(m, x)
        y = np.linalg.solve(m.T, m)
        c = np.linalg.cholesky(m @ m.T + np.eye(a.shape[0]))
        total += np.linalg.det(m) + np.linalg.eigvalsh(c + c.T)[0] + y[0, -1] + np.linalg.inv(m[::-1])[0, 0]
    return x, total


def kinds(a, b):  # type: ignore[no-untyped-def]
    x = np.linalg.inv(a)
    for _ in range(2):
        x = np.linalg.inv(a) + np.linalg.solve(a, b)[0, 0] + np.linalg.det(a)
    return x


def repeated(a, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(n):
        a = a / (k + 1)
        total += np.linalg.inv(a)[0, 0]
    return total


def test_matrices() -> None:
    for n in (1, 2, 3, 8, 40):
        a, b = R.random((n, n)), R.random(n)
        both(everything, [(a, b), (np.asfortranarray(a), b), (R.random((2 * n, 3 * n))[::2, ::3], b[::-1])])
        both(everything, [(a, R.random((n, 3)))])


@pytest.mark.parametrize("dtype", ["i4", "i8", "u1", "?", "f4"])
def test_other_dtypes(dtype: str) -> None:
    a = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype)
    both(kinds, [(a, np.eye(3)), (a, np.ones((3, 2), dtype))], lowered=dtype != "f4")


@pytest.mark.parametrize("errors", [{}, {"all": "raise"}, {"all": "ignore"}], ids=str)
def test_matrices_without_result(errors: dict[str, Any]) -> None:
    """Singular ones raise NumPy's error; NaN and infinity go through; flags of before and after are heard."""
    a = R.random((3, 3))
    odd = [np.zeros((3, 3)), np.ones((3, 3)), a * np.nan, a * np.inf, a * 1e-320, a * 1e200, a]
    both(repeated, [(x, 2) for x in odd], **errors)
    both(everything, [(x, np.ones(3)) for x in odd], **errors)

    def flagged(a, b):  # type: ignore[no-untyped-def]
        total = 0.0
        for k in range(2):
            total += (b / b).sum() + np.linalg.inv(a + k)[0, 0] + np.log(b).max()
        return total

    both(
        flagged, [(a, np.array([1.0, 2.0])), (a, np.array([0.0, 1.0])), (a, np.array([-1.0, 1.0]))], **errors
    )


def test_shapes_that_do_not_fit() -> None:
    for a, b in (
        (R.random((3, 4)), R.random(3)),
        (R.random((3, 3)), R.random(4)),
        (R.random((0, 0)), R.random(0)),
    ):
        both(everything, [(a, b)], lowered=False)

    def cut(a, n):  # type: ignore[no-untyped-def]
        total = 0.0
        for k in range(3):
            total += np.linalg.det(a[:n, : n + k // 2]) + np.linalg.solve(a[:n, :n], a[0, : n - k // 2])[0]
        return total

    both(cut, [(R.random((5, 5)), n) for n in (5, 3, 2, 1, 6)], lowered=False)
