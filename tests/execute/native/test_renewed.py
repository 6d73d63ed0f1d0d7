"""Writes into arrays that were just made: native code against NumPy, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both
from tests.sharing import usually

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(0)


def added_up(x, y):  # type: ignore[no-untyped-def]
    total = np.zeros_like(x)
    for k in range(3):
        total += x[k : len(x) - 3 + k].sum() + y
    total *= 2
    total -= total
    total += x
    return total / 3


def looked_at_between(x, y):  # type: ignore[no-untyped-def]
    a = x * 2
    b = a + 1
    a += y
    c = a * b
    view = a[1:]
    a *= 3
    return a, b, c, view, view + a[:-1]


def several_names(x, y):  # type: ignore[no-untyped-def]
    a = x + y
    b = a
    b += 1
    a *= y
    c = a
    a = a + 1
    c -= a
    return a, b, c


def in_branches(x, y):  # type: ignore[no-untyped-def]
    a = np.ones(x.shape)
    a += x
    if a.sum() > 10:
        a += y
        a -= x
    for _ in range(30):
        a *= 0.5
        a += y
    return a


def of_other_kinds(x, y):  # type: ignore[no-untyped-def]
    a = np.zeros(x.shape, np.float32)
    a += 1
    b = np.zeros(x.shape, np.int64)
    b += (x > 0.5).astype(np.int64)
    b *= x > 0.25
    c = np.full(x.shape, -0.0)
    c += -0.0
    d = np.zeros(x.shape, np.uint8)
    d += x < y
    return a * x, b, c, d, np.ones_like(x) - np.zeros_like(x)


def smaller_ones(x, y):  # type: ignore[no-untyped-def]
    a = x * y
    a += x[0]
    a -= x[:1]
    return a


def copies(x, y):  # type: ignore[no-untyped-def]
    a = x.copy()
    b = a + y
    c = x.copy()
    x[0] = 5
    c += x
    x[1:] = a[:-1]
    return a, b, c


def windows(x, y):  # type: ignore[no-untyped-def]
    a = np.zeros_like(x)
    a[1:-1] = x[2:] - y[:-2]
    b = np.zeros(x.shape)
    b[:-2] = x[2:] * 2
    b[0] = 7
    c = np.zeros(x.shape)
    c[2:] = np.cumsum(x, axis=0)[:-2]
    c[...] += y
    d = np.zeros_like(x)
    d[1:-1] = 1.5
    d[-1:] = x[:1]
    return x + a, b, c, d


def laplacian(u):  # type: ignore[no-untyped-def]
    out = np.zeros_like(u)
    out[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return out


def helper_in_time(x, y):  # type: ignore[no-untyped-def]
    u = x
    for _ in range(4):
        u = u + 0.1 * laplacian(u) * y
    return u, laplacian(u)


def steps(u, v):  # type: ignore[no-untyped-def]
    for _ in range(3):
        old = u.copy()
        u[1:-1] = old[1:-1] - v[1:-1] * (old[1:-1] - old[:-2]) + old[2:]
        u[0] = u[-2]
        old = u.copy()
        u[2:] += old[:-2]
        old = u.copy()
        u[:] = old[::-1]
        both = v.copy()
        u += both
        v[1:] = both[:-1] + u[1:]
    return u, v


def copies_that_count(u, v):  # type: ignore[no-untyped-def]
    old = u.copy()
    u[1:] = old[:-1] * 2
    later = old[0] + u
    kept = v.copy()
    view = kept[1:]
    v[0] = 7
    turned = u.T.copy()
    u += 1
    seen = v.copy()
    total = seen.sum() + seen[0]
    own = u.copy()
    own += u
    again = own.copy().copy()
    own -= again
    return later, view, turned, total, own, again, u * 2 + own


EVERYWHERE = (
    steps,
    copies_that_count,
    added_up,
    looked_at_between,
    several_names,
    in_branches,
    of_other_kinds,
    copies,
    windows,
)


@pytest.mark.parametrize("function", EVERYWHERE, ids=lambda f: f.__name__)
def test_lines(function: Callable[..., Any]) -> None:
    both(function, [(R.random(n), R.random(n)) for n in (100, 100, 5, 17, 4, 3)], lowered=False)
    both(function, [(R.random(100), R.random(100))])


@pytest.mark.parametrize("function", [*EVERYWHERE, smaller_ones, helper_in_time], ids=lambda f: f.__name__)
def test_tables(function: Callable[..., Any]) -> None:
    both(function, [(R.random(s), R.random(s)) for s in ((9, 20), (9, 20), (4, 5), (30, 3))], lowered=False)


def test_warnings_and_errors() -> None:
    def divided(x):  # type: ignore[no-untyped-def]
        a = np.zeros(x.shape)
        b = a / np.zeros_like(x)
        a += x
        a /= x
        return a, b

    def too_wide(x):  # type: ignore[no-untyped-def]
        a = x[0] * 2
        a += x
        return a

    def of_another_kind(x):  # type: ignore[no-untyped-def]
        a = np.zeros(x.shape, np.int64)
        a += x
        return a

    for function in (divided, too_wide, of_another_kind):
        both(function, [(np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 2.0]]),)], lowered=False)


@usually()
def test_one_loop_does_it_all() -> None:
    def neighbours(g):  # type: ignore[no-untyped-def]
        n = np.zeros(g.shape, np.uint8)
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                n += np.roll(g, (i, j), axis=(0, 1))
        return (n == 3) | (g & (n == 4))

    def edged(u):  # type: ignore[no-untyped-def]
        return u + 0.1 * laplacian(u)

    def step(u):  # type: ignore[no-untyped-def]
        old = u.copy()
        u[1:-1, 1:-1] = old[2:, 1:-1] + old[:-2, 1:-1] - old[1:-1, 2:]

    converted = both(step, [(R.random((20, 30)),)])
    text = converted.traces[-1].concrete.native.text
    made = "call ptr @autograph_PyArray_Empty"
    assert text.count(made) == text.partition("\nseldom")[2].count(made) == 1  # where a flag was raised
    for function, x in ((neighbours, R.random((20, 30)) < 0.5), (edged, R.random((20, 30)))):
        converted = both(function, [(x,)])
        assert converted.traces[-1].concrete.native.text.count("call ptr @autograph_PyArray_") == 1


def test_zeros_anew_in_each_trip_of_sizes_that_are_not_known() -> None:
    def worked(x: Any, n: Any) -> Any:
        total = x
        for k in range(n):
            fresh = np.zeros_like(x)
            fresh[k % 3] = k
            total = total // 2 + fresh + np.zeros(x.shape, np.uint8)
        return total

    sizes = ((4, 5), (7, 3), (3, 9), (5, 1), (3, 0))
    for dtype in (np.uint8, np.float64):
        both(worked, [((R.random(size) * 100).astype(dtype), n) for n, size in enumerate(sizes)])
