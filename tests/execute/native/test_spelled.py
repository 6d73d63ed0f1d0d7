"""NumPy's functions in terms of others: in native code, and the same bits as NumPy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(5)
X, Y = R.normal(size=9) * 3, R.normal(size=9)
M, N = R.normal(size=(5, 3)), R.normal(size=(5, 3))
GAPS = np.where(X > 1, np.nan, X)
KNOTS = np.cumsum(abs(X))

# What is called, twice in a loop; each with the calls that are native.
CASES: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "isclose": (lambda x, y: (np.isclose(x, y), np.isclose(x[0], y[0], rtol=0.5), np.isclose(x, y[0])),
        [(X, Y), (X.astype("f4"), Y.astype("f4")), (np.arange(4), np.arange(4) % 3)]),
    "isclose of numbers": (lambda a, b: np.isclose(a, b) + 2 * np.isclose(b, a, atol=1.0, equal_nan=True),
        [(1.0, 1.0 + 1e-9), (1.0, 2.5), (X[0], 1.0), (3, 2.0), (2.0, 3), (True, 1), (np.float32(1), 1.0)]),
    "allclose": (lambda x, y: (np.allclose(x, y), np.allclose(x, x), np.allclose(x, 0.0, atol=100)),
        [(X, Y), (M, N), (X[:0], Y[:0]), (np.arange(3), np.arange(3))]),
    "array_equal": (lambda x, y: (np.array_equal(x, y), np.array_equal(x, x), np.array_equal(x[1:], y)),
        [(X, Y), (M, N), (GAPS, GAPS), (X, Y[:4]), (np.arange(3), np.arange(3.0))]),
    "array_equal of ranks": (lambda x, y: np.array_equal(x, y), [(X, M)]),
    "ptp": (lambda x: (np.ptp(x), np.ptp(x[:2])), [(X,), (M,), (np.arange(7, dtype="u1"),)]),
    "ptp along": (lambda m: np.ptp(m, axis=0), [(M,), (np.arange(6).reshape(2, 3),)]),
    "average": (lambda x, w: (np.average(x), np.average(x, weights=w)),
        [(X, Y), (M, N * N), (np.arange(9), Y), (X.astype("f4"), Y.astype("f4"))]),
    "average along": (lambda m, w: (np.average(m, axis=1), np.average(m, axis=0, weights=w)),
        [(M, abs(Y[:5])), (np.arange(10).reshape(5, 2), abs(Y[:5]))]),
    "nansum": (lambda x: (np.nansum(x), np.nanmean(x), np.nanmax(x), np.nanmin(x)),
        [(GAPS,), (X,), (np.where(M > 1, np.nan, M),), (np.arange(5),), (np.array([-0.5, 0.0, np.nan]),)]),
    "nansum along": (lambda m: (np.nansum(m, axis=1), np.nanmean(m, axis=0)),
        [(np.where(M > 1, np.nan, M),)]),
    "trace": (lambda m: np.trace(m), [(M,), (N.T.copy(),), (np.arange(9, dtype="i4").reshape(3, 3),)]),
    "percentile": (lambda x, q: (np.percentile(x, q), np.quantile(x, 0.3), np.percentile(x, 100)),
        [(X, 30), (X, 75.0), (X[:1], 50), (np.arange(8)[::-1].copy(), 33), (np.sort(X), 0)]),
    "diff": (lambda x, y: (np.diff(x, prepend=0.0), np.diff(x, append=y), np.diff(x, prepend=x[0], append=1)),
        [(X, Y), (X.astype("f4"), Y), (np.arange(5), np.arange(2))]),
    "trapezoid": (lambda y, x: (np.trapezoid(y), np.trapezoid(y, dx=0.1), np.trapezoid(y, x)),
        [(X, Y), (np.arange(9), Y), (X.astype("f4"), Y.astype("f4")), (X[:1], Y[:1])]),
    "trapezoid along": (lambda m, x: (np.trapezoid(m, axis=0), np.trapezoid(m, x, axis=0)), [(M, Y[:5])]),
    "gradient": (lambda f, x: (np.gradient(f), np.gradient(f, 0.1), np.gradient(f, x)),
        [(X, KNOTS), (X, np.arange(9.0)), (np.arange(9) ** 2, KNOTS), (X, np.arange(9))]),
    "gradient along": (lambda m: (np.gradient(m, axis=0), np.gradient(m, 0.5, axis=-1)), [(M,)]),
    "inner": (lambda x, y: (np.inner(x, y), np.vdot(x, y)), [(X, Y), (np.arange(3), np.arange(3.0))]),
    "inner of matrices": (lambda m, n: np.inner(m, n), [(M, N), (M, N[0])]),
    "matrix_power": (lambda m: np.linalg.matrix_power(m, 3) + np.linalg.matrix_power(m, 6),
        [(M[:3],), (np.arange(4).reshape(2, 2),)]),
    "cross": (lambda a, b: np.cross(a, b) + 0, [(M[0], N[0]), (M, N), (M[0], N), (np.arange(3), M[0])]),
    "polyval": (lambda p, x: np.polyval(p, x) + 0, [(X, Y[0]), (X, 2.5), (X, Y), (X, M)]),
    "tile": (lambda x, n: np.tile(x, n) + 1, [(X, 3), (np.arange(3), 2), (X > 0, 2), (X[:0], 2)]),
    "repeat": (lambda x, n: np.repeat(x, n), [(X, 3), (np.arange(3), 1), (X > 0, 2), (X, 0)]),
    "full_like": (lambda x: (np.full_like(x, 2.5), np.full_like(x, x[0]), np.full_like(x, 1, dtype=float)),
        [(X,), (np.arange(4),), (X.astype("f4"),)]),
    "tile both ways": (lambda x, y: (np.tile(x, (2, 3)) + 0, np.tile(y, (1, 2)) + 0),
        [(X, X), (X, M), (M, N)]),
    "diag": (lambda x, m: (
            np.diag(x), np.diag(x, -1), np.diag(m).sum(), np.log(abs(m.diagonal())), np.diag(m)[1]),
        [(X, M), (np.arange(4), N.T.copy()), (X[:1], M)]),
    "unravel_index": (lambda k: np.unravel_index(k, (3, 4, 5)), [(7,), (np.int64(59),), (0,)]),
    "norms": (lambda x: (np.linalg.norm(x, 1), np.linalg.norm(x, ord=np.inf), np.linalg.norm(x, 2)),
        [(X,), (np.arange(5),), (X.astype("f4"),)]),
    "diff again": (lambda x: np.diff(x, n=3), [(X,), (M,), (np.arange(6) ** 3,)]),
    "take": (lambda x, k: (np.take(x, 1), np.take(x, k)), [(X, np.array([0, -1])), (X, np.array([3]))]),
    "take along": (lambda m, k: np.take(m, k, axis=0), [(M, np.array([0, -1]))]),
    "insert": (lambda x, k, v: (np.insert(x, k, v), np.delete(x, k)),
        [(X, 0, 1.0), (X, -1, Y[0]), (X, 8, 2), (np.arange(4), 2, 2.75)]),
    "nan_to_num": (lambda x: (np.nan_to_num(x), np.nan_to_num(x[0], nan=1), np.nan_to_num(x, posinf=2.0)),
        [(GAPS,), (np.array([np.nan, np.inf, -np.inf, -0.0]),)]),
    "kron": (lambda x, y: np.kron(x, y) + 0, [(X, Y), (M, N), (np.arange(3), Y)]),
    "atleast": (lambda x, a: (np.atleast_1d(x) + 0, np.atleast_1d(a) + 0, np.atleast_2d(x) + 0), [(X, X[0])]),
    "size": (lambda m: (np.size(m), np.size(m, 0), np.size(m[0, 0])), [(M,)]),
    "digitize": (lambda a, bins: (np.digitize(a, bins), np.digitize(a, bins, right=True)),
        [(X[0], np.sort(Y)), (0.5, np.arange(3.0))]),
    "interp": (lambda t, xp, fp: (np.interp(t, xp, fp), np.interp(t, xp, fp, left=0, right=1.5)),
        [(t, KNOTS[:n], Y[:n]) for n in (2, 4, 5, 9) for t in (-1.0, KNOTS[1], 2.7, 1e3, 5)]
        + [(float(t), X, Y) for t in X]),
}  # fmt: skip
# What NumPy warns of, raises for, or is not said in terms of others: the plan does it.
LEFT: dict[str, list[tuple[Any, ...]]] = {
    "isclose": [(np.array([np.inf, 1.0]), np.array([np.inf, -np.inf]))],
    "isclose of numbers": [(np.nan, np.nan), (np.inf, np.inf), (1j, 1.0)],
    "allclose": [(X, M)],
    "ptp": [(X[:0],), (np.array([np.inf, np.inf]),), (X > 0,), (X.astype(complex),)],
    "average": [(X, np.zeros(9)), (X, Y[:3]), (X[:0], Y[:0]), (X, np.arange(9))],
    "nansum": [(np.full(3, np.nan),), (np.array([0.0, -0.0]),), (X[:0],)],
    "percentile": [(GAPS, 30), (X, 101), (X, -1), (X[:0], 5), (np.array([0.0, -0.0, 0.0]), 50), (M, 30)],
    "gradient": [(X[:1], KNOTS[:1]), (X, KNOTS[:3]), (X, np.zeros(9))],
    "inner": [(X[:1], Y[:1]), (X, Y[:2])],
    "cross": [(M[0, :2], N[0, :2]), (M[:, :2], N)],
    "tile": [(X, 1), (X, 0), (X, -1), (X, (2, 2)), (M, 2)],
    "repeat": [(X, -1), (X, np.arange(9))],
    "take": [(X, np.array([9]))],
    "unravel_index": [(60,), (-1,), (np.array([1, 2]),)],
    "norms": [(X[:0],), (M,), (GAPS,)],
    "insert": [(X, 10, 1.0), (X, -12, 1.0), (X, True, 1.0), (X, [1, 2], 3.0)],
    "digitize": [
        (X, np.sort(Y)),
        (0.5, np.arange(3)),
        (0.5, np.sort(Y)[::-1]),
        (0.5, Y),
        (0.5, np.array([np.nan, 1.0])),
    ],
    "interp": [(np.nan, X, Y), (1.0, X[:1], Y[:1]), (1.0, X, Y[:3]), (0.5, np.zeros(9), Y)],
    "nan_to_num": [(np.arange(3),)],
}


def twice(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function called in a loop."""

    def run(*args):  # type: ignore[no-untyped-def]
        found = function(*args)
        for _ in range(2):
            found = function(*args)
        return found

    return run


@pytest.mark.parametrize("name", CASES)
def test_they_are_native(name: str) -> None:
    function, calls = CASES[name]
    for trace in both(function, calls).traces:
        assert trace.concrete.executor == "native", trace.concrete.not_native
        assert not trace.concrete.native.bails
    both(twice(function), calls[:1] * 2, lowered=False)


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left(name: str) -> None:
    for function in (CASES[name][0], twice(CASES[name][0])):
        both(function, [*CASES[name][1][:1], *LEFT[name]], lowered=False)


def diagonals(m, v):  # type: ignore[no-untyped-def]
    """Looks at a matrix, which see what is written to it, can't be written to, and are not copies."""
    look, total = np.diag(m), 0.0
    for k in range(len(m)):
        m[k, k] = v[k]
        total += look[k] + np.diag(m).sum() * k
        part = np.diagonal(m)[1:]
        m[1, 1] += 1
        total += part[0]
    kept = [np.diag(m)]
    m[0, 0] = 7
    return total, look, kept, np.diag(m), np.diag(m).flags.writeable, np.shares_memory(np.diag(m), m)


def written_diagonal(m, v):  # type: ignore[no-untyped-def]
    for _ in range(2):
        np.diag(m)[0] = v[0]
    return m


def test_diagonals_are_looks() -> None:
    for function in (diagonals, written_diagonal):
        both(function, [(N[:3].copy(), X), (M[:3], Y), (N[:3].T, Y)], lowered=False)


def kept_looks(m, v, n):  # type: ignore[no-untyped-def]
    """What NumPy gives as a look at a new array is whole where it is kept."""
    found, total = [], np.zeros(3)
    for k in range(n):
        found.append(np.cross(m[k], v[:3]))
        total += np.cross(v[:3], m[k])
    products = [np.kron(v[:2], v[k:]) for k in range(n)]
    return found, total, products


def test_looks_that_are_kept() -> None:
    for trace in both(kept_looks, [(M, X, 5), (N, Y, 4), (M, Y, 3)]).traces[1:]:
        assert not trace.concrete.native.bails
