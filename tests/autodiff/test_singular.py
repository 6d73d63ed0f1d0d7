"""What was not chosen has derivative 0; values at singular points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.where(x > 0.5, np.log(x) + 3.0, 2.0 * x).sum(),
        lambda x: np.where(x > 0.5, np.sqrt(x), 2.0 * x).sum(),
        lambda x: np.where(x > 0.5, 1 / x, 2.0 * x).sum(),
        lambda x: np.where(x > 0.5, x**-0.5, 2.0 * x).sum(),
        lambda x: (np.log(x)[x > 0.5]).sum() + (2 * x)[x <= 0.5].sum(),
        lambda x: np.log(x, where=x > 0.5, out=2 * x).sum(),
        lambda x: np.maximum(np.where(x > 0.5, np.log(x), 0), -1e3).sum() + 2.0 * np.minimum(x, 0.5).sum(),
        lambda x: np.select([x > 0.5], [np.log(x)], 2 * x).sum(),
        lambda x: np.sum(np.log(x), where=x > 0.5) + np.sum(2 * x, where=x <= 0.5),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_a_mask_left_out_is_exactly_zero(f: Any) -> None:
    x = np.array([0.0, 0.25, 4.0])
    g = ag.grad(f)(x)
    assert np.isfinite(g).all()
    np.testing.assert_array_equal(g[:2], [2.0, 2.0])
    assert np.isfinite(ag.hessian(f)(x)).all()


@pytest.mark.parametrize(
    ("f", "x", "want"),
    [
        (np.abs, 0.0, 0.0),
        (np.linalg.norm, np.zeros(3), np.zeros(3)),
        (lambda x: np.sqrt(x), 0.0, np.inf),
        (lambda x: x**2, 0.0, 0.0),
        (lambda x: x**0, 0.0, 0.0),
        (lambda x: x**1.0, 0.0, 1.0),
        (lambda x: 0.0**x, 2.0, 0.0),
        (lambda x: np.hypot(x, 0.0), 0.0, 0.0),
        (lambda x: np.arctan2(x, 0.0), 0.0, 0.0),
        (np.std, np.ones(3), np.zeros(3)),
        (np.max, np.array([1.0, 3.0, 3.0]), np.array([0.0, 0.5, 0.5])),
        (lambda x: np.maximum(x, 1.0), 1.0, 0.5),
        (lambda x: np.clip(x, 0.0, 1.0), 1.0, 1.0),
        (np.sinc, 0.0, 0.0),
        (np.prod, np.array([0.0, 2.0, 3.0]), np.array([6.0, 0.0, 0.0])),
        (np.prod, np.array([0.0, 0.0, 3.0]), np.zeros(3)),
        (lambda x: np.cumprod(x).sum(), np.array([0.0, 2.0, 3.0]), np.array([9.0, 0.0, 0.0])),
    ],
)
def test_singular_points(f: Any, x: Any, want: Any) -> None:
    np.testing.assert_allclose(ag.grad(lambda v: f(v))(x), want)


def test_second_derivative_of_sinc_at_zero() -> None:
    assert ag.grad(ag.grad(np.sinc))(0.0) == pytest.approx(-(np.pi**2) / 3)


@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0), (3, 0, 2)])
def test_products_of_no_elements(shape: tuple[int, ...]) -> None:
    """Their gradients raised ValueError, or could not be had."""
    x = np.zeros(shape)
    for axis in (None, *range(len(shape))):
        assert ag.grad(lambda x, axis=axis: np.prod(x, axis=axis).sum() + x.sum())(x).shape == shape
    flat = np.zeros((2, 0))
    found = ag.grad(lambda x: np.tensordot(x, x.T, 1).sum() + np.inner(x[0], x[1]))(flat)
    assert found.shape == (2, 0)
