"""Plans call at once what NumPy's functions come to: same results, types, errors and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings

RNG = np.random.default_rng(5)
VECTORS = [RNG.standard_normal(7), RNG.standard_normal(7).astype("f4"), np.arange(7) - 3, np.arange(7) > 3]
MATRICES = [RNG.standard_normal((3, 4)), RNG.standard_normal((4, 3)).astype("f4").T, np.zeros((3, 4), "i2")]
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "np.add.reduce(x": lambda x: np.sum(x),
    "np.multiply.reduce(x": lambda x: np.prod(x, axis=0),
    "np.maximum.reduce(x": lambda x: np.max(x, axis=-1, keepdims=True),
    "np.minimum.reduce(x": lambda x: np.min(x, 0),
    "np.logical_or.reduce(x > ": lambda x: np.any(x > 1),
    "np.logical_and.reduce(x > ": lambda x: np.all(x > -9, axis=-1),
    "x.T": lambda x: np.transpose(x),
    "x.reshape(": lambda x: np.reshape(x, (-1, 1)),
    "x.argmax(": lambda x: np.argmax(x, axis=-1),
    "x.argmin()": lambda x: np.argmin(x),
    "x.cumsum(": lambda x: np.cumsum(x, axis=0),
    "x.ravel()": lambda x: np.ravel(x),
    "x.argsort(": lambda x: np.argsort(x, axis=-1),
    "x.repeat(": lambda x: np.repeat(x, 2, axis=0),
    "x.take(": lambda x: np.take(x, [1, 0], axis=-1),
    "x.nonzero()": lambda x: np.nonzero(x),
}  # fmt: skip


def by_plan(f: Callable[..., Any], *args: Any) -> tuple[Any, str]:
    """What the plan gives, with its warnings, or its error; its text."""
    with settings.override(executor="numpy"):
        converted = ag.function(f)
        found = outcome(converted, *args)
        return found, converted.traces[-1].concrete.plan_source


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """A result down to its bits, and the warnings; or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            got = f(*args)
        except Exception as error:
            return type(error), str(error)
    parts = got if isinstance(got, tuple) else (got,)
    shown = [(type(x), x.dtype, x.shape, x.tobytes(), getattr(x, "strides", ())) for x in parts]
    return shown, [(w.category, str(w.message)) for w in caught]


@pytest.mark.parametrize("text", FUNCTIONS)
def test_results_are_those_of_the_function(text: str) -> None:
    f = FUNCTIONS[text]
    for x in [*VECTORS, *MATRICES]:
        found, plan = by_plan(f, x)
        assert found == outcome(f, x)
        assert text.partition(" > ")[0] in plan, plan


def test_means() -> None:
    for f in (np.mean, lambda x: x.mean()):
        for x in (*VECTORS, *MATRICES, np.zeros(0), np.array([1e308, 1e308])):
            assert by_plan(lambda x, f=f: f(x), x)[0] == outcome(f, x)
    assert "np.add.reduce(x) / 7" in by_plan(lambda x: np.mean(x), VECTORS[0])[1]


def test_errors_and_warnings_are_those_of_the_function() -> None:
    for f in (
        lambda x: np.max(x),
        lambda x: np.reshape(x, (5, 5)),
        lambda x: np.argmax(x),
        lambda x: np.sum(x, 3),
    ):
        for x in (np.zeros(0), VECTORS[0]):
            assert by_plan(f, x)[0] == outcome(f, x)
    assert by_plan(lambda x: x / 0 + np.maximum(x, 0) - 1, np.array([-0.0, 1.0]))[0] == outcome(
        lambda x: x / 0 + np.maximum(x, 0) - 1, np.array([-0.0, 1.0])
    )


# Calls that the functions do not take; each says so in its own words, where a method has others.
REFUSED: tuple[Callable[[Any], Any], ...] = (
    lambda x: np.mean(bogus=x),
    lambda x: np.transpose(bogus=x),
    lambda x: np.argmax(axis=x),
    lambda x: np.sum(axis=x),
    lambda x: np.sum(x, 0, axis=0),
    lambda x: np.all(x, 0, axis=0),
    lambda x: np.repeat(x, axis=0),
    lambda x: np.take(x, axis=0),
    lambda x: np.argsort(x, 0, axis=0),
    lambda x: np.diagonal(x, axis=0),
    lambda x: np.reshape(x, axis=0),
    lambda x: np.nonzero(x, axis=0),
    lambda x: np.ravel(x, axis=0),
    lambda x: np.trace(x, axis=0),
    lambda x: np.swapaxes(x, 0, axis=1),
    lambda x: np.searchsorted(x, axis=0),
)


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_functions_do_not_take(number: int) -> None:
    function = REFUSED[number]
    for executor in ("numpy", "native"):
        with settings.override(executor=executor):
            for x in (*VECTORS[:2], *MATRICES[:2]):
                assert outcome(ag.function(function), x) == outcome(function, x)


def test_small_ints_beside_floats_are_floats() -> None:
    f = lambda x: (1 - x) * 3 + (x > 2) + (1 << 25) * x
    for x in (VECTORS[0], VECTORS[1], VECTORS[2]):
        found, plan = by_plan(f, x)
        assert found == outcome(f, x)
        assert ("1.0 - x" in plan) == (x.dtype.kind == "f") and f"{1 << 25} * x" in plan


def masked(x: Any, y: Any) -> Any:
    a = np.where(x > y, 0.0, x * y)
    b = np.where(np.isnan(y[:1]), 1, x / y)
    twice = x + y
    c = np.where(x > 0, 2.0, twice) + twice
    return a, b, c, np.where(x > 0, 0.0, y), np.where(np.sum(x) > 0, 7.0, x - y)


def test_where_writes_into_what_nobody_else_has() -> None:
    x, y = RNG.standard_normal((2, 9))
    for sign in (1, -1):
        found, plan = by_plan(masked, sign * x, y)
        assert found == outcome(masked, sign * x, y)
    assert "] = 0.0" in plan and "np.copyto(" in plan and ".fill(7.0)" in plan
    assert "np.where(t1, 2.0, twice)" in plan and "np.where(t1, 0.0, y)" in plan
