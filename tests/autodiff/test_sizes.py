"""Gradients by traces that serve several sizes: the same as on the tape, also where an axis of length 1 is
repeated in one call and not in another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from autograph.gradients import _eager

Shapes = list[tuple[tuple[int, ...], tuple[int, ...]]]
VECTORS: Shapes = [((3,), (3,)), ((4,), (4,)), ((1,), (1,)), ((1,), (3,)), ((5,), (1,)), ((3,), (1,))]
ROWS: Shapes = [((2, 3), (2, 3)), ((2, 3), (1, 3)), ((3, 3), (1, 3)), ((1, 3), (2, 3))]
LISTS: Shapes = [((3,), (3,)), ((3,), (4,)), ((1,), (4,)), ((1,), (2,)), ((3,), (2,))]


def divided(a: Any, b: Any) -> Any:
    return np.mean(a / (b * b + 1))


def summed_up(a: Any, b: Any) -> Any:
    return np.sum(np.cumsum(a, axis=0) * b) + np.sum(np.cumprod(a, axis=-1))


def sorted_before(a: Any, b: Any) -> Any:
    return np.sum(np.sort(a * b, axis=0) * b)


def limited(a: Any, b: Any) -> Any:
    return np.sum(np.clip(a, None, b)) + np.sum(np.clip(a, a_min=None, a_max=b))


def chosen(a: Any, b: Any) -> Any:
    return np.sum(np.where(b > 0.5, a, a * 2))


def with_a_list(a: Any, b: Any) -> Any:
    return np.sum(np.add(a, [1.0, 2.0, 3.0])) * np.sum(b)


PROGRAMS: list[tuple[Callable[..., Any], Shapes]] = [
    (divided, ROWS),
    (divided, [((3, 3), (3,)), ((2, 3), (3,)), *ROWS]),
    (summed_up, ROWS),
    (sorted_before, ROWS),
    (sorted_before, VECTORS),
    (limited, VECTORS),
    (chosen, VECTORS),
    (with_a_list, LISTS),
]


@pytest.mark.parametrize("argnum", [0, 1])
@pytest.mark.parametrize(("f", "shapes"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_one_trace_for_several_sizes(f: Callable[..., Any], shapes: Shapes, argnum: int) -> None:
    staged, on_tape = ag.grad(f, argnum), _eager(f, argnum, False, False, "zero")
    for left, right in shapes:
        a = np.arange(1.0, 1 + np.prod(left)).reshape(left) * 0.3
        b = np.arange(2.0, 2 + np.prod(right)).reshape(right) * 0.2
        found, want = staged(a, b), on_tape(a, b)
        assert found.shape == want.shape
        np.testing.assert_allclose(found, want, rtol=1e-12)
