"""Writes that a graph ends with: what was there is copied only where a flag was raised before."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import bits, both, same

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(0)


def scaled(x, y):  # type: ignore[no-untyped-def]
    y += 0.5 * x
    return y


def stored(x, y):  # type: ignore[no-untyped-def]
    y[:] = x * x - y


def window(x, y):  # type: ignore[no-untyped-def]
    y[1:] = y[:-1] * 2 + x[1:]


def small_integers(x, y):  # type: ignore[no-untyped-def]
    np.sqrt(y)
    x[:] = y * 3


def twice(x, y):  # type: ignore[no-untyped-def]
    x *= 2
    y -= x


def in_a_branch(x, y):  # type: ignore[no-untyped-def]
    if x.max() > 1:
        y *= x
    else:
        y /= x


def before_something(x, y):  # type: ignore[no-untyped-def]
    y *= x
    return 1 / y


def quietly(x, y):  # type: ignore[no-untyped-def]
    with np.errstate(over="ignore"):
        y *= x


def broadcast(x, y):  # type: ignore[no-untyped-def]
    y += x[0] / x[1]


FUNCTIONS = [
    scaled, stored, window, small_integers, twice, in_a_branch, before_something, quietly, broadcast,
]  # fmt: skip
ODD = (np.nan, np.inf, -np.inf, 0.0, 1e300, -1e-300, 3e9)


def arguments(shape: tuple[int, ...], dtype: str) -> list[tuple[Any, Any]]:
    """Usual numbers, and those with which something overflows, is invalid, or divided by zero."""
    x, y = (R.random(shape).astype(dtype) + 0.1 for _ in range(2))
    found = [(x, y)]
    for k, odd in enumerate(ODD):
        with np.errstate(all="ignore"):
            a, b = x.copy(), y.copy()
            a.flat[(k * 5) % a.size] = b.flat[(k * 5) % a.size] = odd
            found += [(a, y), (x, b), (a, b)]
    return found


@pytest.mark.parametrize("errors", [{}, {"all": "raise"}, {"all": "ignore"}, {"all": "warn"}], ids=str)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_was_there_is_put_back(function: Callable[..., Any], errors: dict[str, Any]) -> None:
    for shape, dtype in ((67,), "f8"), ((67,), "f4"), ((5, 33), "f8"):
        calls = arguments(shape, dtype)
        if function is small_integers:
            calls = [(np.zeros(x.shape, np.uint8), y) for x, y in calls]
        both(function, calls, **errors)


@pytest.mark.parametrize("function", [scaled, stored, window, twice])
def test_arguments_that_share_memory(function: Callable[..., Any]) -> None:
    for odd in (1.0, np.inf, 1e308):
        base = R.random(80)
        base[40] = odd
        pairs = [(base[3:70], base[:67]), (base[:67], base[3:70]), (base[:67], base[:67])]
        both(function, pairs, lowered=False)


def written_before(x, y, by):  # type: ignore[no-untyped-def]
    y[1] += 1.0
    x[:2] = x[:2] * by


def test_what_was_written_before_by_another_name_is_put_back() -> None:
    base, by = np.arange(5.0) + 1.0, np.full(2, 1e308)
    both(written_before, [(base, base, by), (base, base[1:], by), (base[1:], base, by)], lowered=False)


def test_no_copy_is_made() -> None:
    x, y = R.random(5000), R.random(5000)
    with settings.override(executor="native", compile="now"):
        concrete = ag.function(scaled).get_concrete_function(x, y)
    assert concrete.native_ir is not None
    entry = concrete.native_ir.partition("define ptr @entry")[2]
    assert "CopyInto" in entry and "PyArray_Empty" not in entry and "NewCopy" not in entry


LAYOUTS: dict[str, Callable[[Any], Any]] = {  # of 12,000 numbers; small arrays are left to the plan
    "backwards": lambda memory: memory[3000:400:-1],
    "every third": lambda memory: memory[2:8000:3],
    "lines backwards": lambda memory: memory.reshape(100, 120)[20:60, ::-1],
    "columns": lambda memory: memory.reshape(100, 120)[10:70, 1::2],
    "turned": lambda memory: memory.reshape(30, 50, 8).transpose(2, 0, 1),
    "repeated": lambda memory: np.lib.stride_tricks.as_strided(memory[9:], (50, 60), (8, 0)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", [scaled, stored, twice, in_a_branch, broadcast])
def test_memory_around_the_elements_is_left_alone(function: Callable[..., Any], layout: str) -> None:
    """Arrays that are not in C order: all of the memory that they lie in is compared."""
    with settings.override(executor="native", compile="now"):
        converted = ag.function(function)
        for odd, other in itertools.product((1.0, np.inf, 0.0, 1.5e308), repeat=2):
            memory = R.random(12_000) + 0.1
            LAYOUTS[layout](memory).flat[-1] = odd
            after = []
            for call in (function, converted):
                held = memory.copy()
                y = LAYOUTS[layout](held)
                x = np.full(y.shape, 1.5)
                x.flat[-1] = other
                with np.errstate(all="warn"), warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    call(x, y)
                after.append((bits(held), [str(w.message) for w in caught]))
            assert after[0] == after[1], (layout, odd, other)


def test_threads() -> None:
    for odd in (1.0, np.inf):
        x, y = R.random(300_000), R.random(300_000)
        x[123_456] = y[123_456] = odd
        same(scaled, x, -y)
        same(window, x, y, jobs=0)
