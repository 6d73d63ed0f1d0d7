"""Assignments between arrays that may or may not share memory: native code against NumPy, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(0)


def between_arguments(a, b):  # type: ignore[no-untyped-def]
    a[1:-1] = b[2:] - b[:-2] * 2 + a[1:-1]
    a += b
    a[:] = np.arctan2(b, a) + b[::-1]
    return a, b


def taking_turns(u, steps):  # type: ignore[no-untyped-def]
    a, b, c = u.copy(), u.copy(), np.zeros_like(u)
    for k in range(steps):
        c[1:-1] = 2 * b[1:-1] - a[1:-1] + 0.1 * (b[2:] + b[:-2])
        a, b, c = b, c, a
        if k % 3 == 2:
            c = b  # two names for one array
    return a, b, c


def row_by_row(m):  # type: ignore[no-untyped-def]
    for i in range(len(m)):
        for j in range(len(m)):
            m[i] = m[i] * 0.5 + m[j] * m[i - 1]
    return m


def forth_and_back(m):  # type: ignore[no-untyped-def]
    m[::2, 1:-1] = m[1::2, 2:] + m[1::2, :-2]
    m[1:-1] += m[2:][:, ::-1] * m[:-2]
    return m


def shared(kind: str, n: int) -> tuple[Any, Any]:
    """Two lines of n elements in one array: how they lie to each other."""
    whole = R.random(3 * n + 8)
    first = whole[n : 2 * n]
    others = {
        "same": first, "apart": whole[2 * n : 3 * n], "before": whole[:n], "ahead": whole[n + 1 : 2 * n + 1],
        "behind": whole[n - 1 : 2 * n - 1], "far": whole[n + 5 : 2 * n + 5], "backwards": first[::-1],
        "last": whole[2 * n - 1 : 3 * n - 1], "other": R.random(n),
    }  # fmt: skip
    return first, others[kind]


KINDS = ("same", "apart", "before", "ahead", "behind", "far", "backwards", "last", "other")


@pytest.mark.parametrize("n", [9, 100, 3000])
def test_arguments(n: int) -> None:
    both(between_arguments, [shared(kind, n) for kind in KINDS], lowered=False)
    both(between_arguments, [shared("apart", n)])


@pytest.mark.parametrize("function", [row_by_row, forth_and_back], ids=lambda f: f.__name__)
def test_parts_of_one_array(function: Callable[..., Any]) -> None:
    for shape in ((6, 40), (4, 7), (30, 300)):
        both(function, [(R.random(shape),), (R.random((shape[0] + 2, shape[1] + 1)),)])
        both(function, [(np.asfortranarray(R.random(shape)),)], lowered=False)


def test_arrays_that_take_turns() -> None:
    for shape in ((10,), (700,), (40, 30)):
        both(taking_turns, [(R.random(shape), 7), (R.random(shape), 8)])


def test_arrays_that_lie_apart_are_not_copied_first() -> None:
    def rotated(u, v):  # type: ignore[no-untyped-def]
        for _ in range(4):
            v[1:-1] = u[2:] + u[:-2]
            u, v = v, u
        return u

    converted = both(rotated, [(R.random(50), R.random(50))])
    text = converted.traces[-1].concrete.native.text
    assert "\napart" in text  # a way for arrays that have nothing in common


def spread_out(x, k):  # type: ignore[no-untyped-def]
    x[::2] = x[: (len(x) + 1) // 2]
    x[2 : 2 + 3 * k : 3] = x[1 : 1 + k]
    return x


def drawn_together(x, k):  # type: ignore[no-untyped-def]
    x[3 : 3 + k] = x[: 2 * k : 2]
    x[: len(x) // 2] = x[1::2]
    return x


def moved_by(x, k):  # type: ignore[no-untyped-def]
    for i in range(1, 4):
        x[::i] = x[: k * i : k][: len(x[::i])][:1]
        x[: k - 1 : 1] = x[i : i + k - 1]
        y = x[: 2 * k : i]
        y[: k // i] = x[: k // i]
    return x


@pytest.mark.parametrize("function", [spread_out, drawn_together, moved_by], ids=lambda f: f.__name__)
def test_lines_that_overtake_each_other(function: Callable[..., Any]) -> None:
    """NumPy copies neither before, and reads what it has written."""
    for dtype in (np.float64, np.int8):
        for n in (13, 60, 700):
            x = R.integers(-100, 100, 2 * n).astype(dtype)
            both(function, [(x[:n].copy(), 4), (x[:n].copy(), n // 4), (x[::2], 4), (x[::-1][:n], 4)])
