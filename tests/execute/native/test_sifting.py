"""Items picked by masks of the array's own sizes: any size, dtype and layout, by any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from runtime.execute.native import pool
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both, same
from tests.sharing import sharing

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def shared() -> Iterator[pool.Pool]:
    """All that can be shared is, in every test."""
    with sharing() as made:
        yield made


def picked(x: Any, mask: Any) -> Any:
    return x[mask]


def calls(size: int, dtype: Any = np.float64) -> list[tuple[Any, Any]]:
    x = (RNG.normal(size=size) * 50).astype(dtype)
    masks = [RNG.random(size) < share for share in (0.0, 0.01, 0.5, 0.99, 1.0)]
    first, last = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    first[:1], last[-1:] = True, True
    return [(x, mask) for mask in (*masks, first, last)]


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000, 4095, 4096, 4097, 17_000, 100_003])
def test_sizes(size: int) -> None:
    both(picked, calls(size))


def test_sizes_change_between_calls() -> None:
    both(picked, [c for size in (3, 4096, 64, 9000) for c in calls(size)])


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "f4", "c8", "c16"])
def test_dtypes(dtype: Any) -> None:
    for args in calls(5003, dtype):
        same(picked, *args)


def test_layouts() -> None:
    x, mask = calls(12_000)[2]
    for args in (
        (x[::2], mask[::2]),
        (x[::-1], mask),
        (x[1:], mask[::-1][1:]),
        (x.reshape(100, 120), mask.reshape(100, 120)),
        (x.reshape(20, 6, 100)[3:], mask.reshape(20, 6, 100)[3:]),
        (x.reshape(100, 120).T, mask.reshape(120, 100)),
        (x.reshape(100, 120)[:, 1:], mask.reshape(100, 120)[:, 1:]),
        (x.reshape(100, 120), mask[:100]),
        (x, mask.view(np.uint8).view(np.bool_)),
    ):
        same(picked, *args, jobs=0)


def test_masks_that_are_computed() -> None:
    x = RNG.normal(size=20_000)

    def function(x: Any) -> Any:
        above = x[(x > 0.5) & (x < 1.5)]
        return above, np.sqrt(x[x > 0]).sum(), len(x[x < -3])

    same(function, x, jobs=2)


def test_in_a_loop() -> None:
    def function(x: Any) -> Any:
        total = 0
        while len(x) > 1:
            x = x[x > x.mean()]
            total += len(x)
        return total, x

    same(function, RNG.normal(size=30_000))


def test_true_bytes_of_any_value() -> None:
    x = np.arange(300.0)
    mask = (np.arange(300) % 7).astype(np.uint8).view(np.bool_)
    same(picked, x, mask, jobs=0)


def test_values_that_lie_where_a_mask_writes() -> None:
    def moved(x, y, mask):  # type: ignore[no-untyped-def]
        x[mask] = x[: np.count_nonzero(mask)]
        y = y * 2
        y[1:][mask[1:]] = y[: np.count_nonzero(mask[1:])]
        return x, y.sum()

    def between(x, y, mask):  # type: ignore[no-untyped-def]
        x[mask] = y[: np.count_nonzero(mask)]
        return x

    for n in (12, 40, 300):
        x, mask = RNG.random(n), RNG.random(n) < 0.5
        both(moved, [(x, RNG.random(n), mask), (x.astype("i4"), RNG.random(n), mask)], lowered=False)
        both(between, [(x, y, mask) for y in (RNG.random(n), x, x[::-1])], lowered=False)
