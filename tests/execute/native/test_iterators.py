"""Iterators of which more than one loop takes items: what was taken is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


def one_after_the_other(x: Any) -> Any:
    pairs, total = zip(x, x[1:], strict=False), 0.0
    for a, b in pairs:
        total += a * b
    for a, b in pairs:
        total += a - b
    return total


def what_a_break_left(x: Any) -> Any:
    numbered, total = enumerate(x), 0.0
    for _, v in numbered:
        if v > 1.5:
            break
    for i, v in numbered:
        total += i * v
    return total


def in_each_trip(x: Any) -> Any:
    pairs, total = zip(x, x, strict=False), 0.0
    for k in range(3):
        for a, b in pairs:
            total += a * b + k
    return total


def in_a_branch(x: Any) -> Any:
    numbered, total = enumerate(x), 0.0
    if x[0] > 0:
        for i, v in numbered:
            total += i * v
    for i, v in numbered:
        total += v - i
    return total


def through_another(x: Any) -> Any:
    inner = enumerate(x)
    outer, total = zip(x, inner, strict=False), 0.0
    for a, (i, b) in outer:
        total += a * b - i
    for i, b in inner:
        total += i + b
    return total


def beside_itself(x: Any) -> Any:
    numbered, total = enumerate(x), 0.0
    for (i, a), (k, b) in zip(numbered, numbered, strict=False):
        total += a * k - b * i
    return total


def left_to_python(x: Any) -> Any:
    numbered, total = enumerate(x), 0.0
    for i, v in numbered:
        total += i * v
    return total, list(numbered)


def sums(x: Any) -> Any:
    pairs = zip(x, x[1:], strict=False)
    return sum(a * b for a, b in pairs), sum(a * b for a, b in pairs)


@pytest.mark.parametrize(
    "function",
    [
        one_after_the_other, what_a_break_left, in_each_trip, in_a_branch, through_another, beside_itself,
        left_to_python, sums,
    ],
)  # fmt: skip
def test_taken_once(function: Callable[..., Any]) -> None:
    both(function, [(np.array([1.0, 2.0, 4.0, 8.0, 16.0]),), (np.array([-1.0, 2.0]),)], lowered=False)


def test_iterators_of_one_loop_are_native() -> None:
    def pairs(x: Any) -> Any:
        total, inside = 0.0, zip(x, x, strict=False)
        for i, (a, b) in enumerate(inside):
            total += i * a - b
        for k in range(3):
            for i, a in enumerate(x):
                total += i * a + k
        return total

    both(pairs, [(np.arange(5.0),)])


def backwards_later(x: Any) -> Any:
    doubled = x * 2.0
    pairs, again = zip(reversed(doubled), x, strict=False), x * 3.0
    total = 0.0
    for a, b in pairs:
        total += a * b
    return total, again


def test_what_is_gone_through_backwards_is_still_needed() -> None:
    both(backwards_later, [(np.arange(5.0),), (np.arange(20000.0),)])
