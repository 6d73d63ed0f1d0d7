"""New matrices computed from transposed ones lie as NumPy lays them, so what follows has its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(6)


def weighted(x, w):  # type: ignore[no-untyped-def]
    b = np.zeros(x.shape[1])
    for _ in range(3):
        b = b + np.linalg.solve((x.T * w) @ x + np.eye(x.shape[1]), -x.T @ w)
        w = 1 / (1 + np.exp(-(x @ b)))
    return b


def seen(x, w):  # type: ignore[no-untyped-def]
    """What a function that is called sees of a layout, and what is read in the order of memory."""
    a = np.sqrt(np.abs(x.T)) * 2
    b = np.where(a > 0.5, a, w)
    c = (x.T + 1).astype(np.float32).astype(float)
    d = a.ravel()
    e = b.reshape(-1, 2) if b.size % 2 == 0 else b.reshape(1, -1)
    f = np.exp(b[1:, ::2].T) + x[::2, 1:]
    g = a.copy() + a
    d[:3] = 0
    return (
        d,
        e.copy(),
        (c @ c.T).copy(),
        f,
        g.sum(axis=1),
        a[:, 0].copy(),
        (a - b).max(),
        np.linalg.norm(g[0]),
    )


def beside(x, w):  # type: ignore[no-untyped-def]
    """Operands of both orders, and some that lie in none: C order wins."""
    n = min(x.shape)
    a = x[:n, :n].T * x[:n, :n]
    b = (w[:n, None] * w[:n]) * x[:n, :n].T
    c = x[:n, :n].T * w[:n, None] + w[:n]
    d = np.ones((n, n)) * x[:n, :n].T
    e = -(-x.T)
    return (a @ a).copy(), (b @ c).copy(), (c @ c).copy(), (d @ d).copy(), (e @ x).copy(), (e @ e.T).copy()


def carried(x, w):  # type: ignore[no-untyped-def]
    y, total = x.T * 0.5, 0.0
    for k in range(4):
        y = y * 1.25 + k
        total += (y @ x)[0, 0] + y[0, 0]
    return total


def unknown(x, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(n):
        y = x[: k + 1, : 2 * k].T * 2.0
        total += (y @ y.T).sum() + y.ravel().sum()
    return total


FUNCTIONS = [weighted, seen, beside, carried]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_orders(function: Callable[..., Any]) -> None:
    for n, m in ((30, 4), (7, 33), (5, 5), (1, 6), (130, 70)):
        x = R.normal(size=(n, m))
        w = R.random(n)
        both(function, [(x, w)], lowered=False)
        both(function, [(np.asfortranarray(x), w), (R.normal(size=(n, 2 * m))[:, ::2], w)], lowered=False)
    both(weighted, [(R.normal(size=(30, 4)), R.random(30))])


def test_unknown_sizes() -> None:
    both(unknown, [(R.normal(size=(9, 20)), n) for n in (3, 5, 8, 1, 0)], lowered=False)


def test_strides() -> None:
    """What is handed back lies in NumPy's order, too."""
    x, w = R.normal(size=(6, 6)), R.random(6)
    for function in (
        lambda x, w: -x.T,
        lambda x, w: x.T * w + x.T,
        lambda x, w: (x.T * w) + x,
        lambda x, w: (x.T * w) @ x,
        lambda x, w: [k * x.T for k in (1.5, 2.5)],
        lambda x, w: np.exp(x.T).copy(),
        lambda x, w: np.array(-x.T),
    ):
        converted = both(function, [(x, w)], lowered=False)
        for one, other in zip(np.atleast_3d(function(x, w)).T, np.atleast_3d(converted(x, w)).T, strict=True):
            assert (one == other).all()
        if not isinstance(function(x, w), list):
            assert converted(x, w).strides == function(x, w).strides
