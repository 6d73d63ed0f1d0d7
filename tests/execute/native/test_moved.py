"""Elements of other places: native code against NumPy, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both
from tests.sharing import sharing

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(0)
DTYPES = ("f8", "u1", "c16")
SIZES = (1, 3, 8, 130, 1300)
SHAPES = ((7, 33), (3, 1), (1, 5), (20, 64), (0, 3), (3, 0))


def alone(x):  # type: ignore[no-untyped-def]
    return np.roll(x, 1), np.roll(x, -2), np.roll(x, 0), np.roll(x, 1000)


def several(x):  # type: ignore[no-untyped-def]
    return np.roll(x, 1) * x + np.roll(x, -1) + np.roll(x, 2) * np.roll(x, -3), (np.roll(x, 1) * x).sum()


def by_variable(x, s):  # type: ignore[no-untyped-def]
    return np.roll(x, s) + x, np.roll(x, -s) * np.roll(x, s + 1)


def neighbours(x):  # type: ignore[no-untyped-def]
    return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, axis=1) + x


def along_both(x):  # type: ignore[no-untyped-def]
    return np.roll(x, (1, -2), axis=(0, 1)) + x, np.roll(x, 1, axis=(0, 1)), np.roll(x, shift=3, axis=-1)


def twice(x):  # type: ignore[no-untyped-def]
    return np.roll(np.roll(x, 1, axis=1), 2, axis=1) + np.roll(np.roll(x, -1, axis=0), 1, axis=1)


def over_itself(x):  # type: ignore[no-untyped-def]
    for _ in range(2):
        x[...] = np.roll(x, 1, axis=0) + x
        x[:, 1:] += np.roll(x, 1, axis=1)[:, :-1]
    return x


def along_views(x):  # type: ignore[no-untyped-def]
    for k in range(x.shape[1]):
        x[:, k] = np.roll(x[:, k], k)
    return x


def reduced(x):  # type: ignore[no-untyped-def]
    moved = np.roll(x, 2, axis=-1) * x
    return moved.sum(), moved.sum(axis=0), moved.sum(axis=-1), np.roll(x, 1, axis=0).max(), np.cumsum(moved)


def beside_rows(x):  # type: ignore[no-untyped-def]
    return x + np.roll(x[0], 1), x * np.roll(x[:, :1], 1, axis=0), np.where(x > 1, np.roll(x, 1, axis=1), x)


def by_loops_of_numpy(x):  # type: ignore[no-untyped-def]
    return np.arctan2(np.roll(x, 1, axis=1), np.roll(x, -1, axis=0))


def from_trip_to_trip(x):  # type: ignore[no-untyped-def]
    for _ in range(5):
        x = x + np.roll(x, 1, axis=-1) * np.roll(x, -1, axis=0)
    return x


TABLES = [
    (neighbours, "f8 ? c16"), (along_both, "f8 u1"), (twice, "i8"), (over_itself, "f8 ?"),
    (along_views, "f8"), (reduced, "f8"), (beside_rows, "f8"), (by_loops_of_numpy, "f8"),
    (from_trip_to_trip, "u1"),
]  # fmt: skip


def made(dtype: str, shape: tuple[int, ...]) -> Any:
    x = R.random(shape) * 4
    return x > 2 if dtype == "?" else (x + 1j * x[::-1] if dtype == "c16" else x).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [alone, several], ids=lambda f: f.__name__)
def test_lines(function: Callable[..., Any], dtype: str) -> None:
    for n in SIZES:
        both(function, [(made(dtype, (n,)),)])
    both(function, [(made(dtype, (n,)),) for n in (*SIZES, 0)])  # one trace for all sizes


def test_shifts_that_are_no_constants() -> None:
    both(by_variable, [(made("f8", (n,)), np.int64(s)) for n in SIZES for s in (0, -1, 5, -200)])


@pytest.mark.parametrize(("function", "dtype"), [(f, d) for f, ds in TABLES for d in ds.split()])
def test_tables(function: Callable[..., Any], dtype: str) -> None:
    both(function, [(made(dtype, (20, 65)),)])
    x = made(dtype, (9, 20))
    odd = (np.asfortranarray(x), x[::-1, ::2], x.T)
    both(function, [(x,) for x in (*(made(dtype, shape) for shape in SHAPES), *odd)], lowered=False)


def test_what_is_left_to_numpy() -> None:
    def all_axes(x):  # type: ignore[no-untyped-def]
        return np.roll(x, 1) + x

    def one_axis_twice(x):  # type: ignore[no-untyped-def]
        return np.roll(x, (1, 2), axis=0) + np.roll(x, (1, 2), axis=(1, 1))

    def no_axis(x):  # type: ignore[no-untyped-def]
        return np.roll(x, (), axis=0) + x

    def none_such(x):  # type: ignore[no-untyped-def]
        return np.roll(x, 1, axis=2)

    for function in (all_axes, one_axis_twice, no_axis, none_such):
        both(function, [(made("f8", (4, 5)),)], lowered=False)


def edged(x):  # type: ignore[no-untyped-def]
    return (
        np.pad(x, 1), np.pad(x, (1, 2), mode="edge") * 2, np.pad(x, 2, mode="wrap"),
        np.pad(x, 1, mode="reflect"), np.pad(x, ((2, 1),), mode="symmetric"),
        np.pad(x, ((1, 0),) * x.ndim, constant_values=3), np.pad(x, 0, "edge") + 1,
    )  # fmt: skip


def one_in_another(x):  # type: ignore[no-untyped-def]
    return np.pad(np.pad(x, 1), 1, mode="edge") + 1, np.pad(np.roll(x, 1, axis=-1), 1, mode="wrap") * 2


def stencil(x):  # type: ignore[no-untyped-def]
    for _ in range(3):
        x = x + 0.1 * np.pad(x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2], 1)
        p = np.pad(x, 1, mode="edge")
        x = x - p[2:, 1:-1] * p[1:-1, :-2] + np.pad(x, ((1, 1), (0, 0)), "reflect")[:-2]
    return x


@pytest.mark.parametrize("dtype", ["f8", "u1", "?", "f4"])
@pytest.mark.parametrize("function", [edged, one_in_another], ids=lambda f: f.__name__)
def test_edges(function: Callable[..., Any], dtype: str) -> None:
    both(function, [(made(dtype, (9, 33)),)])
    for rank in (1, 2, 3):
        shapes = [(3, 4, 5), (2, 2, 2), (9, 70, 3)]
        both(function, [(made(dtype, shape[:rank]),) for shape in shapes], lowered=False)


def test_edges_in_a_loop() -> None:
    both(stencil, [(made("f8", shape),) for shape in ((7, 9), (30, 41), (3, 3), (2, 4))], lowered=False)
    both(stencil, [(made("f8", (12, 20)),)])


def test_lines_that_threads_share() -> None:
    def line(x, y):  # type: ignore[no-untyped-def]
        return np.roll(x, 3) * y - np.roll(x, -1) + np.roll(y, 70000), np.pad(x * y, 2, mode="edge")

    def table(x):  # type: ignore[no-untyped-def]
        return np.roll(x, (1, -1), axis=(0, 1)) + np.pad(np.sqrt(x), ((1, 0), (1, 0)))[1:, 1:]

    with sharing():
        both(line, [(R.random(200_000), R.random(200_000))])
        both(table, [(R.random((400, 500)),)])


def triangles(x):  # type: ignore[no-untyped-def]
    return np.tril(x), np.triu(x + x, 1), np.tril(x, k=-2), np.triu(np.tril(x, 2), -1).sum(axis=0)


def by_a_number(x, k):  # type: ignore[no-untyped-def]
    return np.tril(x, k), 1 / np.tril(x + 1, 40)


def differences(x):  # type: ignore[no-untyped-def]
    return np.diff(x), np.diff(x, axis=0), np.abs(np.diff(x, axis=1)).sum(), np.diff(x * 2)[..., :2]


def changes(x):  # type: ignore[no-untyped-def]
    return np.diff(x), np.diff(x, axis=-2)


def ranges(n, m):  # type: ignore[no-untyped-def]
    return (
        np.arange(n, m, -1),
        np.arange(n, m, -3) ** 2,
        1 / np.arange(n, m + 1, -2),
        np.arange(m, n, 7) * 0.5,
    )


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
@pytest.mark.parametrize("function", [triangles, differences, changes])
def test_triangles_and_differences(function: Callable[..., Any], dtype: str) -> None:
    if dtype == "?" and function is differences:
        return
    shapes = [(1, 1), (3, 3), (5, 19), (40, 33), (2, 0), (0, 2), (64, 64)]
    both(
        function, [((np.random.default_rng(1).random(s) * 99).astype(dtype),) for s in shapes], lowered=False
    )
    both(function, [((np.random.default_rng(1).random((6, 7)) * 99).astype(dtype),)])
    both(
        function,
        [(np.asfortranarray(np.ones((6, 7), dtype)),), (np.ones((7, 12), dtype)[:, ::2],)],
        lowered=False,
    )


def test_triangles_by_a_number() -> None:
    both(by_a_number, [(np.random.default_rng(1).random((9, 21)), k) for k in (0, 1, -1, 5, -30, 30)])


def test_ranges_that_go_back() -> None:
    both(ranges, [(n, m) for n in (5, 40, 41) for m in (1, 2, 3)])
    both(ranges, [(np.int64(40), 2), (np.int64(3), 40)], lowered=False)


def of_ones(x):  # type: ignore[no-untyped-def]
    inside = np.tril(np.ones(x.shape, dtype=bool))
    framed = np.pad(np.ones((5, 9)), 1) + np.pad(np.full((5, 9), 2.0), ((2, 0), (1, 1)))
    return np.where(inside, x, -1e9), np.triu(np.ones_like(x), 1) * 2, framed, np.roll(np.zeros((3, 4)), 1, 0)


def test_elements_of_no_array() -> None:
    both(of_ones, [(np.random.default_rng(1).random(s),) for s in ((5, 5), (9, 40), (33, 7))])


def test_triangles_by_the_largest_integers() -> None:
    def both_halves(x, k):  # type: ignore[no-untyped-def]
        return np.tril(x * 2, k), np.triu(x * 2, k), np.tril(x * 2, (1 << 63) - 1)

    most = (1 << 63) - 1
    both(both_halves, [(np.ones((2, 3)), k) for k in (0, 1, most, -most, -most - 1, 1 << 40)], lowered=False)
