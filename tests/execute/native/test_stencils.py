"""Assignments that read what they write, a few places off: native code against NumPy, bit by bit."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both
from tests.sharing import sharing

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(0)


def ahead(u):  # type: ignore[no-untyped-def]
    for _ in range(3):
        u[:-2] = u[2:] - u[:-2]
        u[:-1] += u[1:]
    return u


def behind(u):  # type: ignore[no-untyped-def]
    for _ in range(3):
        u[1:] = u[1:] - (u[1:] - u[:-1]) * 3
        u[0] = u[-1]
        u[5:] -= u[:-5]
    return u


def around(u):  # type: ignore[no-untyped-def]
    for _ in range(3):
        u[1:-1] += u[2:] - 2 * u[1:-1] + u[:-2]
    return u


def farther(u):  # type: ignore[no-untyped-def]
    u[8:-8] = u[16:] - u[:-16]
    u[9:-9] = u[18:] - u[:-18] * u[9:-9]
    return u


def apart(u):  # type: ignore[no-untyped-def]
    u[2:-2:2] = u[4::2] - u[:-4:2]
    u[::-1][1:-1] = u[::-1][2:] + u[::-1][:-2]
    return u


def table(u):  # type: ignore[no-untyped-def]
    v = u.copy()
    for _ in range(3):
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        v[1:-1, 2:-2] = u[2:, 4:] - u[:-2, :-4] * u[1:-1, 1:-3] + u[1:-1, 3:-1] - v[1:-1, 2:-2]
        u[:, 1:] -= 0.5 * u[:, :-1]
    return u, v


LINES = (ahead, behind, around, farther, apart)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "c16"])
@pytest.mark.parametrize("function", LINES, ids=lambda f: f.__name__)
def test_lines(function: Callable[..., Any], dtype: str) -> None:
    whole = (R.random(3000) * 100).astype(dtype)
    both(function, [(whole[k : k + 1500],) for k in range(9)], lowered=False)  # wherever it begins
    both(function, [(whole[:n],) for n in (20, 21, 25, 26, 27, 34, 64, 77)], lowered=False)
    for n in (19, 24, 80):
        both(function, [(whole[1 : n + 1],)], lowered=dtype != "c16")


@pytest.mark.parametrize("dtype", ["f8", "f4", "u1"])
def test_tables(dtype: str) -> None:
    for shape in ((9, 128), (12, 200), (7, 90), (5, 6)):
        whole = (R.random(shape[0] * shape[1] + 8) * 9).astype(dtype)
        found = [whole[k : k + shape[0] * shape[1]].reshape(shape) for k in range(0, 8, 3)]
        both(table, [(x,) for x in found], lowered=dtype != "u1")


def test_nothing_beyond_the_last_page_is_read() -> None:
    for n, rows in ((512, 1), (640, 4)):
        size = n * rows * 8
        with mmap.mmap(-1, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE) as pages:
            x = np.frombuffer(pages, np.float64)[-n * rows :]
            x[:] = R.random(len(x))
            both(table if rows > 1 else around, [(x.reshape(rows, n) if rows > 1 else x,)])
            del x


def test_last_parts_that_are_short() -> None:
    def doubled(x):  # type: ignore[no-untyped-def]
        y = np.empty_like(x)
        y[1:-1] = x[2:] + x[:-2]
        y[0] = y[-1] = 0
        x *= 2
        return y

    with sharing():
        for n in (8193, 8194, 9000, 9217):
            both(doubled, [(R.random(n + 1)[1:],)])


def test_lines_shorter_than_two_vectors() -> None:
    def different(u):  # type: ignore[no-untyped-def]
        u[1:-1] = u[2:] ^ u[:-2]
        return u

    whole = R.integers(0, 256, 400).astype(np.uint8)
    for n in (66, 70, 100, 129, 131):
        places = [whole.copy() for _ in range(5)]
        both(different, [(x[k : k + n],) for k, x in zip((0, 1, 7, 31, 33), places, strict=True)])
