"""Gradients through reads of parts of arrays, by keys that are arrays: on the tape, and as graphs by either
executor; finite differences judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from autograph.gradients import _eager
from runtime.config import settings
from tests.autodiff.test_programs import difference

X = np.array([0.5, -1.25, 2.0])
M = np.array([[0.5, 1.5, -0.25], [2.0, -1.0, 0.75]])
BY = np.array([3.0, 5.0, 7.0])


def key_written_later(x: Any) -> Any:
    at = np.array([0, 1])
    y = x.copy()
    y[0] = 2 * y[0]
    z = y[at]
    at[0] = 2
    return np.sum(z * BY[:2])


def numbers_written_before(x: Any) -> Any:
    at = np.arange(3)
    at[0] = 1
    return np.sum(x[at] * BY)


def numbers_written_later(x: Any) -> Any:
    at = np.arange(3)
    z = x[at]
    at[0] = 1
    return np.sum(z * BY)


def numbers_in_a_tuple_written_before(m: Any) -> Any:
    at = np.arange(2)
    at[1] = 0
    return np.sum(m[at, 0] * BY[:2])


def numbers_from_the_end(x: Any) -> Any:
    return np.sum(x[np.arange(-2, 1)] * BY)


def numbers_that_go_down(x: Any) -> Any:
    return np.sum(x[np.arange(1, -3, -1)] * np.array([1.0, 2.0, 3.0, 4.0]))


def numbers_repeated_along_an_axis(m: Any) -> Any:
    return np.sum(m[np.arange(2), np.array([[0], [0]])] * M[:, :2])


def one_number_repeated(m: Any) -> Any:
    return np.sum(m[np.arange(1), np.array([0, 0, 1])] * BY)


def numbers_of_all_rows(m: Any) -> Any:
    return np.sum(m[np.arange(2), np.array([2, 2])] * BY[:2]) + np.sum(m[:, np.arange(3)][0] * BY)


def read_of_what_is_written(x: Any) -> Any:
    y = x * 1.0
    y[np.arange(2)] *= y[np.arange(1, 3)]
    return np.sum(y[np.arange(3)] * BY)


PROGRAMS = [
    (key_written_later, X),
    (numbers_written_before, X),
    (numbers_written_later, X),
    (numbers_in_a_tuple_written_before, M),
    (numbers_from_the_end, X),
    (numbers_that_go_down, X),
    (numbers_repeated_along_an_axis, M),
    (one_number_repeated, M),
    (numbers_of_all_rows, M),
    (read_of_what_is_written, X),
]


def gradients(f: Callable[..., Any], *args: Any) -> list[Any]:
    """On the tape, and as a graph by either executor."""
    found = [_eager(f, 0, False, False, "zero")(*args)]
    before = settings.executor
    try:
        for settings.executor in ("numpy", "native"):
            found.append(ag.grad(f)(*args))
    finally:
        settings.executor = before
    return found


@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs(f: Callable[..., Any], x: Any) -> None:
    want = difference(f, x)
    for found in gradients(f, x):
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-8)


def test_rows_of_unknown_number() -> None:
    """One trace for several lengths: of one row, the number is repeated as often as there are columns."""

    def picked(m: Any, at: Any, by: Any) -> Any:
        return np.sum(m[np.arange(m.shape[0]), at] * by)

    gradient = ag.grad(picked)
    for rows, columns in ((2, 2), (3, 3), (4, 4), (1, 3), (1, 1)):
        m, at, by = np.ones((rows, 5)), np.arange(columns) // 2, np.arange(1.0, columns + 1)
        want = np.zeros_like(m)
        np.add.at(want, (np.arange(rows), at), by)
        assert np.array_equal(gradient(m, at, by), want)
    assert len(gradient.traces) < 5
