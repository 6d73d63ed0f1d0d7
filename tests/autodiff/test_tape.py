"""`ag.GradientTape`: watching, persistence, nesting, functions of ag.function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag

X = np.array([1.0, 2.0, 3.0])


def test_tape() -> None:
    with ag.GradientTape() as tape:
        x = tape.watch(X)
        y = (x * x).sum()
    np.testing.assert_array_equal(tape.gradient(y, x), 2 * X)
    with pytest.raises(ag.GradientError, match="second time"):
        tape.gradient(y, x)


def test_persistent_tape_and_intermediate_values() -> None:
    with ag.GradientTape(persistent=True) as tape:
        x = tape.watch(X)
        y = x * x
        z = (y * y).sum()
    np.testing.assert_array_equal(tape.gradient(z, y), 2 * X**2)
    np.testing.assert_array_equal(tape.gradient(z, {"x": x})["x"], 4 * X**3)
    np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=X), 2 * X * X)
    np.testing.assert_array_equal(tape.jacobian(y, x), np.diag(2 * X))


def test_nested_tapes() -> None:
    with ag.GradientTape() as outer:
        x = outer.watch(3.0)
        with ag.GradientTape() as inner:
            x = inner.watch(x)
            y = x * x * x
        dy = inner.gradient(y, x)
    assert dy == 27.0 and outer.gradient(dy, x) == 18.0


def test_tape_around_a_traced_function() -> None:
    @ag.function
    def f(x: Any) -> Any:
        s = np.zeros(3)
        for i in range(3):
            s[i] = x[i] ** 2
        return s.sum()

    with ag.GradientTape() as tape:
        x = tape.watch(X)
        y = f(x)
    np.testing.assert_array_equal(tape.gradient(y, x), 2 * X)


def test_gradient_of_a_sum_of_targets() -> None:
    with ag.GradientTape() as tape:
        x = tape.watch(X)
        targets = [x * 2, (x * x).sum()]
    np.testing.assert_array_equal(tape.gradient(targets, x), 2 + 2 * X)
