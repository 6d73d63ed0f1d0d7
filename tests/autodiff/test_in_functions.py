"""Every function of differentiation, called inside functions of `ag.function`: the same as outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime import tree

X, ONES = np.arange(3.0), np.ones(3)


def cubes(x: Any) -> Any:
    return (x**3).sum()


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "jvp": lambda x: ag.jvp(lambda t: t * t * x, (x,), (ONES,)),
    "jvp of grad": lambda x: ag.jvp(ag.grad(cubes), (x,), (ONES,)),
    "vjp": lambda x: ag.vjp(lambda t: t * x, x)[1](ONES),
    "vjp of grad": lambda x: ag.vjp(ag.grad(cubes), x)[1](x),
    "jacobian": lambda x: ag.jacobian(lambda t: t * x)(x),
    "jacobian of grad": lambda x: ag.jacobian(ag.grad(cubes))(x),
    "hessian": lambda x: ag.hessian(lambda t: (t**3 * x).sum())(x),
    "grad of jvp": lambda x: ag.grad(lambda z: ag.jvp(cubes, (z,), (ONES,))[1])(x),
    "grad of vjp": lambda x: ag.grad(lambda z: ag.vjp(cubes, z)[1](1.0)[0].sum())(x),
    "grad of jacobian": lambda x: ag.grad(lambda z: ag.jacobian(lambda t: t**3)(z).sum())(x),
    "grad of hessian": lambda x: ag.grad(lambda z: ag.hessian(cubes)(z).sum())(x),
    "check_grads": lambda x: ag.check_grads(lambda t: (t * x).sum(), (x,)),
    "checkpoint": lambda x: ag.checkpoint(lambda t: (t * x).sum())(x),
    "grad of checkpoint": lambda x: ag.grad(ag.checkpoint(lambda t: (t**3 * x).sum()))(x),
    "custom": lambda x: ag.custom_gradient(lambda t: ((t * x).sum(), lambda ct: ct * t))(x),
    "grad of custom": lambda x: ag.grad(ag.custom_gradient(lambda t: ((t * x).sum(), lambda ct: ct * x)))(x),
    "vmap of jvp": lambda x: ag.vmap(lambda r: ag.jvp(lambda t: t**3, (r,), (1.0,))[1])(x),
    "vmap of grad": lambda x: ag.vmap(ag.grad(lambda t: t * t * x.sum()))(x),
    "grad of function": lambda x: ag.grad(ag.function(lambda t: (t * x).sum()))(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_outside(name: str) -> None:
    program = PROGRAMS[name]
    want, inside = program(X), ag.function(program)
    for _ in range(2):
        got = inside(X)
        assert tree.flatten(got)[1] == tree.flatten(want)[1]
        for a, b in zip(tree.flatten(got)[0], tree.flatten(want)[0], strict=True):
            assert type(a) is type(b)
            if b is not None:
                np.testing.assert_allclose(a, b)


@pytest.mark.parametrize(
    "transform", [ag.grad, ag.value_and_grad, ag.jacobian, ag.hessian, lambda f: ag.grad(ag.function(f))]
)
def test_derivatives_are_functions_that_can_be_converted(transform: Callable[..., Any]) -> None:
    def loss(w: Any, x: Any = 2.0) -> Any:
        return (w * w * x).sum()

    derivative, w = transform(loss), np.arange(3.0)
    converted = ag.function(derivative)
    for args, keywords in (((w,), {}), ((w, np.ones(3)), {}), ((w,), {"x": 3.0})):
        assert repr(converted(*args, **keywords)) == repr(derivative(*args, **keywords))
