"""Where elements are true: `np.nonzero`, `np.where` of one array, `np.flatnonzero`, `np.argwhere`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both, same

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(3)


def lines(x):  # type: ignore[no-untyped-def]
    total, most = 0, 0.0
    for i in range(x.shape[0]):
        a = np.where(x[i] > 0.3)[0]
        (b,) = np.nonzero(x[i])
        c = np.flatnonzero((x[:, 0] < x[i, 0]) & (x[:, 0] > -1))
        d = x[i].nonzero()[0]
        total += len(a) + 2 * len(b) + 3 * len(c) + len(d)
        if len(a) > 0:
            most += x[i, a].max() + a[0] - a[-1]
        for k in c:
            total += k
        x[i, b[:1]] = 2
    return total, most


def grids(x):  # type: ignore[no-untyped-def]
    n = 0
    for k in range(3):
        ys, xs = np.nonzero(x[k:] > 0.5)
        for y, z in zip(ys, xs):
            n += 3 * y + z
        for row in np.argwhere(x[:, k:] != 0):
            n += row[0] - 2 * row[1]
        p, q = np.where(x[k:, ::2])
        n += p.sum() + 2 * q.sum() + len(np.flatnonzero(x[:, : k + 2]))
        r, s, t = np.nonzero(x[None, :, k:])
        n += int((r + s * t).sum())
    return n


def handed_back(x, k):  # type: ignore[no-untyped-def]
    for _ in range(k):
        x = x * -1
    return np.flatnonzero(x > 0), np.where(x > 0)[0]


def neighbours(x, eps):  # type: ignore[no-untyped-def]
    label = np.full(len(x), -1)
    c = 0
    for i in range(len(x)):
        if label[i] != -1:
            continue
        near = np.where(np.linalg.norm(x - x[i], axis=1) < eps)[0]
        label[i] = c
        queue = list(near)
        while queue:
            j = queue.pop()
            if label[j] == -1:
                label[j] = c
                more = np.where(np.linalg.norm(x - x[j], axis=1) < eps)[0]
                if len(more) >= 3:
                    queue.extend(more)
        c += 1
    return label, c


def values(dtype: str) -> list[Any]:
    """Matrices in several layouts; some elements are zeros of either sign, and some NaN."""
    x = R.choice([0.0, 1.0, 0.25, 3.0], (130, 90)).astype(dtype)
    if dtype[0] == "f":
        x[R.random(x.shape) < 0.3] = -0.0
        x[R.random(x.shape) < 0.1] = np.nan
    return [
        x[:9, :7].copy(),
        x,
        x[::-1, ::3],
        x.T,
        np.asfortranarray(x),
        x[:1],
        x[:, :1],
        x[:0],
        x[:3, :0],
        x * 0,
    ]


@pytest.mark.parametrize("dtype", ["f8", "u1", "?"])
def test_layouts(dtype: str) -> None:
    for x in values(dtype):
        both(grids, [(x,)], lowered=False)
        if x.shape[1]:
            both(lines, [(x,)], lowered=False)
    both(grids, [(values(dtype)[0],)])
    both(lines, [(values(dtype)[0],)])


def test_results() -> None:
    both(handed_back, [(R.normal(size=50), k) for k in (2, 3, 2)])
    found = both(handed_back, [(R.normal(size=50), 3)])(np.ones(5), 3)
    assert all(x.dtype == np.intp and not len(x) for x in found)


def test_lists_of_what_was_found() -> None:
    points = R.normal(size=(60, 2))
    both(neighbours, [(points, 0.3), (points, 0.5), (points[::2], 0.4)], lowered=False)
    converted = both(neighbours, [(points, 0.5)])
    assert converted.traces[-1].concrete.native.bails == 0

    def extended(x):  # type: ignore[no-untyped-def]
        found = [x[0]]
        for k in range(3):
            found.extend(x[k:])
            found += list(x[: k + 1])
        return found, list(x)

    for x in (R.random(6), R.integers(0, 9, 6), R.random(6).astype("f4")):
        both(extended, [(x,)])


def test_norms_along_axes() -> None:
    def norms(x):  # type: ignore[no-untyped-def]
        total = np.zeros(len(x))
        for k in range(4):
            total += np.linalg.norm(x - x[k], axis=1) + np.linalg.norm(x, axis=1, keepdims=True)[:, 0]
            total[k] += (
                np.linalg.norm(x[k] - x[0]) + np.linalg.norm(x[:, 1]) + np.linalg.norm(x * 2, axis=0)[0]
            )
        return total

    for n in (2, 3, 9, 130):
        converted = both(norms, [(R.normal(size=(40, n)),), (R.normal(size=(40, n)) * 1e200,)])
        kernel = converted.traces[-1].concrete.native_ir.partition("define internal i32 @kernel")[2]
        assert "Vectorcall" not in kernel.partition("\ndefine ")[0]


def test_threads() -> None:
    same(lambda x: (np.flatnonzero(x > 0.4), np.where(x < 0.1)[0]), R.random(400_000))
