"""Derivatives and Variables: read, assigned, written, watched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag


def test_tape_watches_what_is_read() -> None:
    w, b, unused = ag.Variable([1.0, 2.0]), ag.Variable(0.5), ag.Variable(1.0)
    x = np.array([3.0, -1.0])
    with ag.GradientTape() as tape:
        y = (w * x).sum() * b
        y = y + np.exp(b) * w[0]
    gw, gb, gu = tape.gradient(y, [w, b, unused])
    np.testing.assert_allclose(gw, [3 * 0.5 + np.exp(0.5), -0.5])
    np.testing.assert_allclose(gb, 1.0 + np.exp(0.5))
    assert gu is None
    assert type(w.value) is np.ndarray and repr(b) == "Variable(0.5, dtype=float64)"


def test_training_step_of_a_traced_function() -> None:
    w = ag.Variable(np.zeros(2))
    data, target = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]]), np.array([5.0, 11.0, 2.0])

    @ag.function
    def loss() -> Any:
        total = 0.0
        for row, t in zip(data, target):
            error = row @ w - t
            total += error * error
        return total

    first = loss()
    for _ in range(200):
        with ag.GradientTape() as tape:
            value = loss()
        w.assign_sub(0.02 * tape.gradient(value, w))
    np.testing.assert_allclose(w.value, [1.0, 2.0], atol=1e-2)
    assert loss() < first


def test_assign_inside() -> None:
    state = ag.Variable(np.array([1.0, 2.0]))

    def f(x: Any) -> Any:
        state.assign(state * x)
        state.assign_add(x)
        old = state.value
        state[0] = x[1] * 3
        return (state * old).sum() + float(state[1])

    def plain(x: Any) -> Any:
        s = np.array([1.0, 2.0]) * x + x
        old = s
        s[0] = x[1] * 3
        return (s * old).sum() + s[1]

    x = np.array([0.5, 1.5])
    np.testing.assert_allclose(ag.grad(f)(x), ag.grad(plain)(x))
    np.testing.assert_allclose(state.value, [4.5, 4.5])
    assert type(state.value) is np.ndarray


def test_constants_of_grad() -> None:
    w = ag.Variable([1.0, 2.0])
    np.testing.assert_allclose(ag.grad(lambda x: (w * x * x).sum())(np.ones(2)), [2.0, 4.0])
    np.testing.assert_allclose(ag.jvp(lambda x: (w * x * x).sum(), (np.ones(2),), (np.ones(2),))[1], 6.0)


def test_as_argument() -> None:
    w = ag.Variable([1.0, 2.0])
    np.testing.assert_allclose(ag.grad(lambda v: (v**3).sum())(w), [3.0, 12.0])


def test_nested_tapes_and_second_order() -> None:
    v = ag.Variable(2.0)
    with ag.GradientTape() as outer:
        with ag.GradientTape() as inner:
            y = v * v * v
        first = inner.gradient(y, v)
    assert first == 12.0 and outer.gradient(first, v) == 12.0


def test_without_watching() -> None:
    v, w = ag.Variable(2.0), ag.Variable(3.0)
    with ag.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * w
    assert tape.gradient(y, [v, w]) == [3.0, None]


def test_assign_checks_the_dtype() -> None:
    v = ag.Variable(np.float32(2.0))

    def f(x: Any) -> Any:
        v.assign(x * 2)
        return v * 1.0

    assert ag.grad(f)(3.0) == 2.0 and v.value.dtype == np.float32
    with pytest.raises(ag.VariableError):
        ag.grad(lambda x: (ag.Variable([1, 2]).assign(x), x)[1])(3.0)
