"""Other shapes of arrays in every layout: views where NumPy gives views, and new arrays in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(5)


def layouts(dtype: str = "f8") -> list[Any]:
    """Matrices with the same sizes, large and small, each in a layout of its own."""
    whole = (R.random((90, 160)) * 8 - 4).astype(dtype)
    found = [
        whole[:40, :80],
        whole[40::-1, :80][:40],
        whole[:40, 80:0:-1],
        whole[::2, ::2][:40],
        whole.T[:40, :80],
    ]
    return [
        *found,
        np.asfortranarray(whole[:40, :80]),
        whole[:40, :80].copy(),
        np.broadcast_to(whole[:1, :80], (40, 80)),
    ]


def columns(x):  # type: ignore[no-untyped-def]
    y = x.astype(float).copy()
    total = 0.0
    for k in range(1, 5):
        e = np.zeros_like(y[k:, k])
        e[0] = 1.0
        c = np.copy(y[k:, k]) + e
        y[k:, k:] -= 2 * np.outer(c, c @ y[k:, k:])
        total += np.linalg.norm(c) + np.linalg.norm(y[k:, k])
    return y, total


def strided(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(3):
        a = x[k::2, k:-1]
        b, c, d = a.ravel(), a.reshape(-1), a.flatten()
        b[0] += 1.0
        c[1] += 2.0
        d[2] += 4.0
        total += (b * c + d).sum() + a[0, 0] + a[0, 1] + a[0, 2]
    return total


def one_column(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(3):
        a = x[:, k]
        b, c = a.ravel(), a.reshape(-1, 1)
        b[0], c[1, 0] = 5.0, 7.0
        total += b.sum() + a[1] - a[0]
    return total


def split(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(3):
        a = x[:, 8 * k : 8 * k + 16].reshape(x.shape[0], 4, 4)
        b = x[2 : 2 + 4 * k].reshape(-1, 2, x.shape[1])
        a[0, 1, 2] += k
        total += a.sum() + np.abs(b).max(initial=0.0) if b.size == 0 else a[:, :, 1].sum() + b[0, 1, 2]
    return total, x[0].copy()


def merged(x):  # type: ignore[no-untyped-def]
    n = 0
    for k in range(3):
        a = x[k : k + 20].reshape(4, 5, 80).reshape(20, -1)
        b = x[:, :40].reshape(-1, 10)
        c = x[k : k + 1].reshape(8, 10)
        b[k, k] += 3.0
        c[0] = 2.0
        n += int(a[3, 4] > 0) + int(b[1, 1] > 1) + int(x[k, 2])
    return n, x


def unknown(x, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(1, n):
        a = x[: 2 * k, : 3 * k]
        b = a.reshape(-1)
        b[0] = 1.5
        c = a.ravel()
        c[-1] = 2.5
        d = a[:, :k].reshape(-1, 1)
        total += b.sum() + c.sum() + d.sum() + x[0, 0] + a[-1, -1]
    return total


FUNCTIONS = [columns, strided, one_column, split, merged]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_layouts(function: Callable[..., Any], dtype: str) -> None:
    for x in layouts(dtype):
        if x.flags.writeable or function is columns:
            both(function, [(x,)], lowered=False)
    x = layouts(dtype)[0].copy()
    both(function, [(x,)], lowered=dtype != "f4")


def test_unknown_sizes() -> None:
    for x in layouts():
        if x.flags.writeable:
            both(unknown, [(x, n) for n in (2, 3, 9, 1, 13)], lowered=False)
    both(unknown, [(layouts()[6], n) for n in (2, 3, 9)])


def part_of_complex(x):  # type: ignore[no-untyped-def]
    y = (x * 1j).T.imag
    z = y + 1.0
    return z, z.ravel()


def test_parts_of_complex_arrays_keep_their_order() -> None:
    converted = both(part_of_complex, [(layouts()[6],)], lowered=False)
    assert converted(layouts()[6])[0].strides == part_of_complex(layouts()[6])[0].strides


def test_shapes_that_do_not_fit() -> None:
    def refused(x, n):  # type: ignore[no-untyped-def]
        total = 0.0
        for k in range(2):
            total += x[:, k : k + 4].reshape(n, 8).sum()
        return total

    both(refused, [(layouts()[6], n) for n in (20, 7, -1, 20)], lowered=False)


def test_sizes_whose_product_wraps() -> None:
    def read(x, n, m):  # type: ignore[no-untyped-def]
        y, total = (x * 2).reshape(n, m), 0.0
        for k in range(1, min(len(y), 5)):
            total += y[k, 0]
        return total, np.reshape(x, (n, -1)).size

    x, huge = np.arange(4.0), 1 << 62
    both(read, [(x, 4, 1), (x, 2, 2), (x, huge + 1, 4), (x, huge, 4)])
    both(read, [(x[:0], n, m) for n, m in ((0, 3), (0, huge), (1 << 32, 1 << 32), (5, 0))], lowered=False)


def test_sizes_one_by_one_are_not_for_the_function() -> None:
    def refused(x):  # type: ignore[no-untyped-def]
        return np.reshape(x * 2, 2, 3) + 1

    both(refused, [(np.arange(6.0),)], lowered=False)


def test_sizes_that_are_no_integers() -> None:
    for n in (True, 1.0):

        def reshaped(x, n=n):  # type: ignore[no-untyped-def]
            return (x * 2).reshape(n, -1) + 1

        def kept(x, n=n):  # type: ignore[no-untyped-def]
            return x - x.sum(axis=1).reshape((-1, n))

        def expanded(x, n=n):  # type: ignore[no-untyped-def]
            return x - np.expand_dims(x.sum(axis=1), n)

        for function in (reshaped, kept, expanded):
            both(function, [(np.ones((3, 4)),)], lowered=False)
