"""Functions that bring their own derivative, and writes: to arguments, results, cotangents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.autodiff import transforms
from tests.autodiff.test_programs import difference
from tests.autodiff.test_reads import gradients

X = np.array([0.5, -1.25, 2.0])


@ag.custom_gradient
def square(x: Any) -> Any:
    return x * x, lambda ct: 2 * x * ct


@ag.custom_gradient
def doubled(x: Any) -> Any:
    def back(ct: Any) -> Any:
        ct *= 2
        return ct

    return x * 2.0, back


@ag.custom_gradient
def same(x: Any) -> Any:
    return x, lambda ct: 1.0 * ct


@ag.custom_gradient
def writing(x: Any) -> Any:
    x[0] = 5.0
    return x * 2.0, lambda ct: 2.0 * ct


@ag.checkpoint
def backwards(x: Any) -> Any:
    return x[::-1]


@ag.checkpoint
def layer(x: Any) -> Any:
    x *= 2.0
    x[0] += x[1]
    return np.tanh(x) * x


def test_cotangents_that_the_caller_writes_to_later() -> None:
    for pull_back in (
        ag.vjp(square, X)[1],
        ag.vjp(square, X, unconnected="none")[1],
        transforms.vjp(square, X)[1],
    ):
        ct = np.array([1.0, 0.0, 0.0])
        first = pull_back(ct)[0]
        ct[:] = 0.0, 1.0, 0.0
        assert np.array_equal(first, [2 * X[0], 0, 0])
        assert np.array_equal(pull_back(ct)[0], [0, 2 * X[1], 0])


def test_pull_backs_that_write_to_cotangents() -> None:
    x = X.copy()

    def shared(x: Any) -> Any:
        return np.sum(doubled(x) + x)

    def an_argument(x: Any) -> Any:  # the cotangent is x itself
        return np.sum((doubled(x) + x) * x)

    for found in gradients(shared, x):
        assert np.array_equal(found, [3.0, 3.0, 3.0])
    for found in gradients(an_argument, x):
        assert np.array_equal(found, 6 * X)
    assert np.array_equal(x, X)


def test_results_that_are_arguments() -> None:
    def only_result(x: Any) -> Any:
        y = same(np.exp(x))
        y *= x
        z = backwards(y)
        z[0] = x[1]
        return np.sum(z * z)

    def argument_too(x: Any) -> Any:
        y = x * 1.0
        z = same(y)
        z[0] = 5.0
        return np.sum(z) + np.sum(y)

    def argument_written(x: Any) -> Any:
        y = x * 1.0
        z = backwards(y)
        y[0] = x[1] * 5.0
        return np.sum(z * x)

    for found in gradients(only_result, X):
        np.testing.assert_allclose(found, difference(only_result, X), rtol=1e-6)
    for f in (argument_too, argument_written):
        with pytest.raises(ag.GradientError, match="through the result"):
            ag.grad(f)(X)


def test_arguments_that_are_written_to() -> None:
    def layers(x: Any) -> Any:
        y = x * 1.0
        for _ in range(3):
            y = layer(y)
        return np.sum(y)

    def read_later(x: Any) -> Any:
        y = np.exp(x)
        return np.sum(layer(y)) + y[0]

    for found in gradients(layers, X):
        np.testing.assert_allclose(found, difference(layers, X), rtol=1e-6)
    with pytest.raises(ag.GradientError, match="read that was written to in"):
        ag.grad(read_later)(X)
    with pytest.raises(ag.GradientError, match="writes to an argument"):
        transforms.grad(lambda x: np.sum(writing(x * 1.0)))(X)


def test_results_that_are_no_argument() -> None:
    """Handed on as it is, without an operation, it was taken for a result, whose derivative was left out."""

    def f(x: Any) -> Any:
        w = x * 2

        @ag.custom_gradient
        def g(v: Any) -> Any:
            return w, lambda ct: ct * 0

        return (g(np.ones(3) * x[0]) * x).sum()

    for gradient in (ag.grad(f), ag.grad(f).eager):
        with pytest.raises(ag.GradientError, match="no argument"):
            gradient(X)


@ag.checkpoint
def dropped(x: Any) -> Any:
    return x * (np.random.random(3) > 0.5)


class Counted:
    count = 0.0

    @ag.checkpoint
    def times(self, x: Any) -> Any:
        self.count += 1.0
        return x * self.count


def test_second_runs_that_give_something_else() -> None:
    """The derivative was that of the second run, not that of the value."""
    counted = Counted()
    np.random.seed(0)
    for f in (lambda x: dropped(x * x).sum(), lambda x: counted.times(x * x).sum()):
        for gradient in (ag.grad(f), ag.grad(f).eager):
            with pytest.raises(ag.GradientError, match="gave something else when it ran again"):
                for _ in range(20):
                    gradient(X)


@ag.custom_gradient
def of_two(x: Any) -> Any:
    return (np.sin(x), x * 2), lambda ct: (ct[0] * np.cos(x) + 2 * ct[1],)


@ag.function
def along_slope_of_one(x: Any) -> Any:
    return ag.jvp(lambda x: ag.grad(lambda x: (square(x) * x).sum())(x), (x,), (x,))


@ag.function
def along_two(x: Any) -> Any:
    return ag.jvp(lambda x: of_two(x), (x,), (x,))


@pytest.mark.parametrize("f", [along_slope_of_one, along_two], ids=lambda f: f.__name__)
def test_marks_of_derivatives_are_not_in_what_runs(f: Any) -> None:
    """They kept graphs of derivatives along a direction from being native, for "a call of a Mark"."""
    for found, want in zip(f(X), f.python_function(X), strict=True):
        assert np.array_equal(found, want)
    assert "Mark" not in str(f.traces[0].concrete.optimised)
    assert "Mark" not in f.explain()
