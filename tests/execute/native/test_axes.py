"""Reductions along several axes at once: NumPy's bits, whichever axes, layout and dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both, same

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(11)
AXES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((0, 1), (5, 9, 6)),
    ((0, 2), (6, 5, 9)),
    ((-1, 0), (40, 3, 60)),
    ((1, 2), (4, 6, 7, 5)),
    ((0, 2), (4, 6, 7, 5)),
    ((2, 4), (3, 4, 2, 5, 2)),
    ((0, 1, 3), (4, 6, 7, 11)),
    ((0, 2, 3), (2, 3, 30, 40)),
    ((0, 1), (7, 9, 1)),
    ((0, 2), (7, 1, 9)),
    ((0, 3), (5, 1, 3, 9)),
    ((1, 3), (2, 7, 1, 9)),
    ((0,), (7, 1)),
    ((1,), (3, 130, 1)),
    ((0, 2), (1, 4, 9)),
    ((0, 1, 2), (7, 9, 1, 1)),
)


def reducing(axes: tuple[int, ...]) -> Callable[..., Any]:
    """A function that reduces what comes in, and something computed, along these axes."""

    def function(x):  # type: ignore[no-untyped-def]
        y = x * 2 - 1
        return (
            np.sum(x, axis=axes), np.sum(y, axis=axes, keepdims=True), x.max(axis=axes), y.min(axis=axes),
            (x > 1).any(axis=axes), (x < 2).all(axis=axes, keepdims=True), np.prod(x, axis=axes),
            y.mean(axis=axes), x.var(axis=axes), np.std(y, axis=axes, keepdims=True, ddof=1),
        )  # fmt: skip

    return function


def layouts(shape: tuple[int, ...]) -> list[Any]:
    """The same sizes in C order, as a part of something larger, every other element, and backwards."""
    whole = R.random([2 * n for n in shape]) * 4 - 1
    part = whole[tuple(slice(0, n) for n in shape)]
    return [part.copy(), part, whole[tuple(slice(0, 2 * n, 2) for n in shape)], part[::-1], part.T.copy().T]


@pytest.mark.parametrize(("axes", "shape"), AXES)
def test_axes(axes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    whole = both(reducing(axes), [(layouts(shape)[0],)])
    assert whole.traces[-1].concrete.native.bails == 0
    for x in layouts(shape)[1:]:
        both(reducing(axes), [(x,)], lowered=False)
    for dtype in ("f4", "u1"):
        both(reducing(axes), [((layouts(shape)[0] + 1).astype(dtype),)], lowered=False)
    both(
        lambda x: ((x > 0).sum(axis=axes), (x > 0).any(axis=axes), (x > 0).max(axis=axes)),
        [(layouts(shape)[0],)],
    )


@pytest.mark.parametrize(("axes", "shape"), AXES[:12])
def test_odd_numbers(axes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """NaN, infinities, zeros of both signs: which zero is the larger one depends on where they are."""

    def extremes(x):  # type: ignore[no-untyped-def]
        return x.max(axis=axes), x.min(axis=axes, keepdims=True), x.sum(axis=axes)

    calls = []
    for odd in ((0.0, -0.0), (0.0, -0.0, np.nan), (np.inf, -np.inf, 1.0), (-0.0,)):
        calls += [(R.choice(odd, shape),) for _ in range(3)]
    both(extremes, calls)
    both(extremes, [(x.astype("f4"),) for (x,) in calls])


def windows(x, k):  # type: ignore[no-untyped-def]
    h, w, _ = x.shape
    out = np.zeros((h - k + 1, w - k + 1, x.shape[2]))
    low = np.zeros((h - k + 1, w - k + 1))
    for i in range(h - k + 1):
        for j in range(w - k + 1):
            part = x[i : i + k, j : j + k]
            out[i, j] = part.mean(axis=(0, 1)) + (part * 0.5).sum(axis=(0, 1))
            low[i, j] = part.min(axis=(0, 1, 2)) + np.sum(part, axis=(0, 2))[0]
    return out, low


def test_windows() -> None:
    x = R.random((12, 14, 3))
    both(
        windows,
        [(x, 3), (x, 5), (x[:, :, :1], 3), (x, 1), (x[:, :, 1:], 4), (x[:, :, :0], 3), (x, 12)],
        lowered=False,
    )
    both(windows, [(x, 3), (x, 5), (x, 4)])


def test_sums_of_many_elements_that_do_not_lie_in_one_piece() -> None:
    """NumPy copies them some at a time, and adds up those."""
    x = R.random((4, 60, 400))

    def wide(x):  # type: ignore[no-untyped-def]
        y = x[:, :, :200]
        return (
            y.sum(axis=(1, 2)),
            y[0].sum(),
            y.mean(axis=(0, 2)),
            y.std(axis=(1, 2)),
            y.max(axis=(1, 2)),
            y.sum(),
        )

    def small(x, n):  # type: ignore[no-untyped-def]
        return x[:, :n, :n].sum(axis=(1, 2)), x[0, :n, :n].mean()

    both(wide, [(x,)], lowered=False)
    both(small, [(x, n) for n in (10, 50, 60, 59, 0)], lowered=False)


def test_threads() -> None:
    same(lambda x: (x.sum(axis=(0, 2)), x.mean(axis=(0, 1)), x.max(axis=(1, 3)[:1])), R.random((60, 90, 200)))
