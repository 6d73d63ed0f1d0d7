"""Gradients of programs that write by functions, in branches and loops: as graphs or on the tape, nothing of
what is written is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.autodiff.test_programs import difference
from tests.autodiff.test_reads import gradients

X = np.array([1.25, -0.5, 2.25])


def copied_in_a_branch(x: Any) -> Any:
    c = np.zeros(3)
    if x[0] > 0:
        np.copyto(c, x * 2)
    return np.sum(c * c)


def added_in_a_loop(x: Any) -> Any:
    c = np.zeros(3)
    for i in range(3):
        np.add(c, x, out=c)
        if i == 1:
            break
    return np.sum(c * c)


def added_under_errstate(x: Any) -> Any:
    c = np.zeros(3)
    with np.errstate(all="ignore"):
        np.add(c, x, out=c)
    return np.sum(c * c)


def put_in_a_branch_of_a_loop(x: Any) -> Any:
    c = np.zeros(3)
    for i in range(3):
        if x[i] > 1:
            np.put(c, [i], x[i])
    return np.sum(c * c)


def filled_in_a_while(x: Any) -> Any:
    c, i = np.zeros(3), 0
    while i < 3:
        c.fill(x[i])
        i += 1
    return np.sum(c * c)


def keys_written_by_functions(x: Any) -> Any:
    at, other = np.array([0, 1, 2]), np.array([1, 1, 0])
    y = (x * 1.0)[at]
    np.add(other, 0, at)
    z = x[at]
    np.copyto(at, other[::-1])
    w = x[at]
    at.fill(2)
    return np.sum((y + 2 * z + 3 * w + 4 * x[at]) * np.array([1.0, 2.0, 3.0]))


PROGRAMS = [
    copied_in_a_branch,
    added_in_a_loop,
    added_under_errstate,
    put_in_a_branch_of_a_loop,
    filled_in_a_while,
    keys_written_by_functions,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_programs(f: Callable[..., Any]) -> None:
    want = difference(f, X)
    for found in gradients(f, X):
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-8)


W = np.array([[1.0, 2.0, 0.5], [3.0, 5.0, -1.0], [0.25, 2.0, 1.0]])


def sequences_for_all_rows(x: Any) -> Any:
    m = np.zeros((3, 3))
    m[:] = (x[0], x[1], 2.0)
    return np.sum(m * W)


def sequences_for_some_rows(x: Any) -> Any:
    m = np.zeros((3, 3))
    m[:2] = (x, x * 2, x * 3)[1:]
    m[1:, :2] = ((x[0], 2.0), (x[1], x[2]))
    m[0, 1:] = (x[0],)
    return np.sum(m * m * W)


def lists_for_rows(x: Any) -> Any:
    m = np.zeros((3, 3))
    m[:] = [x[0], x[1], x[2]]
    m[1] = [x[2] * 2, 3.0, x[0]]
    m[[0, 1]] = [[x[0], x[1], 1.0], [2.0, x[2], 0.0]]
    np.copyto(m[2], [x[1], 1.0, x[0]])
    np.add.at(m, [0, 1, 0], [x[1], 1.0, x[2]])
    return np.sum(m * m * W)


def added_as_sequences(x: Any) -> Any:
    y, z = x * 1, np.zeros(3)
    y[1:] += (x[0],)
    z[:2] += [x[0], x[1]]
    z += (x[1], 1.0, 2.0)
    return np.sum(y * y * z)


@pytest.mark.parametrize(
    "f", [sequences_for_all_rows, sequences_for_some_rows, lists_for_rows, added_as_sequences]
)
def test_sequences_that_are_written(f: Callable[..., Any]) -> None:
    """They were taken row by row where they are repeated along rows, left out where what `+=` gives was of
    unknown type, and refused on the tape."""
    want = difference(f, X)
    for found in gradients(f, X):
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-8)


def test_operands_that_are_repeated_sequences() -> None:
    def f(x: Any) -> Any:
        chosen = np.where(W > 1.0, (x[0], x[1], 2.0), 0.0)
        return np.sum(chosen * W) + np.sum(np.clip(W, (x[0], x[1], x[1]), 4.0) * W)

    want = difference(f, X * 0.9)
    for found in gradients(f, X * 0.9):
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-8)
