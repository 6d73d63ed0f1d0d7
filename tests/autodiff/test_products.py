"""`vjp`, `jvp`, `jacobian`, `hessian` as graphs: the same as on the tape; and gradients of many examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from autograph import gradients
from runtime import tree
from runtime.autodiff import transforms
from runtime.autodiff.staged.callables import PullBack, Push
from tests.autodiff.test_staged import same

Program = Callable[..., Any]
R = np.random.default_rng(3)
A, V, W = R.standard_normal((4, 3)), R.standard_normal(3), R.standard_normal(2)
C = V + 1j * R.standard_normal(3)


def layer(x: Any) -> Any:
    return np.tanh(A @ x)


def wide(x: Any) -> Any:
    return np.concatenate([np.sin(x), x**2, x * x[0]])


def number(x: Any) -> Any:
    return (np.sin(x) ** 2).sum()


def square(m: Any) -> Any:
    return m @ m.T


def cube(x: Any) -> Any:
    return x * x * x


def powers(x: Any) -> Any:
    return np.array([x, x * x, np.sin(x)])


def trees(p: Any) -> Any:
    return {"a": p["w"] * 2, "b": (p["w"] ** 2).sum()}


def loop(x: Any) -> Any:
    for _ in range(20):
        x = np.sin(x) * 1.1 + x[::-1] * 0.1
    return x


def trips(x: Any) -> Any:
    while np.sum(x * x) > 0.01:
        x = x * 0.5
    return x * x


def branch(x: Any) -> Any:
    y = x * x if x[0] > 0 else x * 3
    return np.where(y > 1, np.log(y), y)


def two(x: Any, y: Any) -> Any:
    return np.outer(x, y)


def of_complex(z: Any) -> Any:
    return z * z * (1 + 2j)


def size(z: Any) -> Any:
    return np.abs(z) ** 2


def written(x: Any) -> Any:
    y = np.zeros(5)
    y[1:4] = x * 2
    y[0] = x[0] * x[1]
    return y * y


def picked(x: Any) -> Any:
    return np.sin(x[np.array([0, 1, 1, 2])]) * x[np.array([2, 2, 0, 1])]


def lengths(x: Any) -> Any:
    return np.linalg.norm(x) * x


def constant(x: Any) -> Any:
    return np.ones(2)


pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
CASES = pytest.mark.parametrize(
    ("f", "args"),
    [
        (layer, (V,)),
        (wide, (V,)),
        (number, (V,)),
        (square, (R.standard_normal((2, 3)),)),
        (cube, (2.0,)),
        (powers, (2.0,)),
        (trees, ({"w": V, "k": 3},)),
        (loop, (V,)),
        (trips, (V,)),
        (branch, (V,)),
        (two, (V, W)),
        (of_complex, (C,)),
        (size, (C,)),
        (layer, (V.astype(np.float32),)),
        (cube, (np.zeros(0),)),
        (written, (V,)),
        (picked, (V,)),
        (lengths, (V,)),
        (constant, (V,)),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)


def some(x: Any, seed: int = 7) -> Any:
    """Random values of the kind of each leaf."""
    random = np.random.default_rng(seed)

    def leaf(v: Any) -> Any:
        if isinstance(v, np.ndarray):
            made = random.standard_normal(v.shape).astype(v.dtype)
            return made + 1j * random.standard_normal(v.shape) if v.dtype.kind == "c" else made
        return type(v)(0.7) if isinstance(v, (float, np.floating)) else v

    return tree.map_leaves(leaf, x)


def staged(derivative: Any) -> None:
    assert derivative.traces[-1].concrete is not None, derivative.explain()


@CASES
def test_jacobian(f: Program, args: tuple[Any, ...]) -> None:
    made = ag.jacobian(f, argnums=tuple(range(len(args))))
    same(made(*args), made.eager(*args))
    same(made(*args), made.eager(*args))
    staged(made)


@CASES
def test_hessian(f: Program, args: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "REMADE", 1000)
    if f in (of_complex, size, trees) or np.size(args[0]) == 0:
        pytest.skip("no real number to reduce it to")

    def total(*given: Any) -> Any:
        return np.sum(np.sin(f(*given)))

    made = ag.hessian(total)
    same(made(*args), made.eager(*args), 1e-9)
    staged(made)


@CASES
def test_jvp(f: Program, args: tuple[Any, ...]) -> None:
    found = ag.jvp(f, args, some(args))
    same(found, transforms.jvp(gradients._on_tape(f), args, some(args)))
    made = next(d for d in gradients._lately.values() if type(d) is Push and d.f is f)
    staged(made)


@CASES
def test_vjp(f: Program, args: tuple[Any, ...]) -> None:
    value, pull_back = ag.vjp(f, *args)
    assert type(pull_back) is PullBack
    expected, on_tape = transforms.vjp(gradients._on_tape(f), *args)
    same(value, expected)
    for seed in (1, 2):
        same(pull_back(some(value, seed)), on_tape(some(value, seed)))


def test_what_the_way_back_takes_is_as_it_was() -> None:
    def f(x: Any) -> Any:
        return x * x, np.sin(x)

    x = V.copy()
    value, pull_back = ag.vjp(f, x)
    x[:], value[0][:], value[1][:] = 0, 5, 7
    np.testing.assert_allclose(pull_back((np.ones(3), np.ones(3)))[0], 2 * V + np.cos(V))
    np.testing.assert_allclose(pull_back((np.ones(3), None))[0], 2 * V)
    with pytest.raises(ag.GradientError, match="shape"):
        pull_back((np.ones(4), np.ones(3)))
    with pytest.raises(ag.GradientError, match="leaves"):
        pull_back(np.ones(3))


def test_products_inside_a_function() -> None:
    @ag.function
    def f(x: Any) -> Any:
        value, pull_back = ag.vjp(layer, x)
        _, change = ag.jvp(layer, (x,), (np.ones(3),))
        return pull_back(value)[0] + pull_back(change)[0], ag.jacobian(layer)(x), ag.hessian(number)(x)

    same(f(V), f.python_function(V))
    assert not f.traces[-1].concrete.notes


def test_aux_of_vjp() -> None:
    def f(x: Any) -> Any:
        return x * 2, {"n": 3, "x": x}

    value, pull_back, aux = ag.vjp(f, V, has_aux=True)
    np.testing.assert_array_equal(pull_back(np.ones(3))[0], [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(value, V * 2)
    assert aux["n"] == 3


def test_all_units_at_once() -> None:
    made = ag.jacobian(layer)
    made(V)
    assert "for " not in made.plan_source


# ------------------------------------------------------------------------------------ of many examples
X, Y = R.standard_normal((30, 3)), R.standard_normal(30)


def square_loss(w: Any, x: Any, y: Any) -> Any:
    return (w @ x - y) ** 2


def network(p: Any, x: Any, y: Any) -> Any:
    return (np.tanh(p["w"] @ x + p["b"]).sum() - y) ** 2


def huber(w: Any, x: Any, y: Any) -> Any:
    r = w @ x - y
    return np.where(np.abs(r) < 1, 0.5 * r * r, np.abs(r) - 0.5)


def softmax(w: Any, x: Any, y: Any) -> Any:
    z = np.outer(w, x)
    return -np.log(np.exp(z[0, 0]) / np.exp(z).sum())


def steps(w: Any, x: Any, y: Any) -> Any:
    for _ in range(20):
        w = w - 0.01 * (w @ x - y) * x
    return (w * w).sum()


@pytest.mark.parametrize(
    ("f", "params"),
    [
        (square_loss, V),
        (network, {"w": A, "b": R.standard_normal(4)}),
        (huber, V),
        (softmax, V),
        (steps, V),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_gradients_of_examples_are_taken_together(f: Program, params: Any) -> None:
    many = ag.vmap(ag.grad(f), in_axes=(None, 0, 0))
    found = many(params, X, Y)
    each = [ag.grad(f).eager(params, x, y) for x, y in zip(X, Y, strict=True)]
    expected = tree.map_leaves(lambda *leaves: np.stack(leaves), *each)
    for a, b in zip(tree.flatten(found)[0], tree.flatten(expected)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)
    assert many.not_together == ""


# ------------------------------------------------------------------------------------- what is unconnected
def steps_only(p: Any) -> Any:
    return (p["a"] ** 2).sum() + np.floor(p["c"]).sum()


def either(a: Any, b: Any) -> Any:
    return a.sum() if a[0] > 0 else b.sum()


def test_no_gradient_is_not_zero() -> None:
    params = {"a": V, "b": W, "c": V * 1.5, "k": 3}
    zero, none = ag.grad(steps_only), ag.grad(steps_only, unconnected="none")
    for made in (zero, none):
        same(made(params), made.eager(params))
        staged(made)
    assert none(params)["b"] is None and none(params)["k"] is None
    np.testing.assert_array_equal(zero(params)["b"], [0.0, 0.0])
    np.testing.assert_array_equal(none(params)["c"], [0.0, 0.0, 0.0])
    x = np.abs(V)
    assert ag.grad(either, argnums=(0, 1), unconnected="none")(x, W)[1] is None
    assert ag.grad(either, argnums=(0, 1), unconnected="none")(-x, W)[0] is None
    np.testing.assert_array_equal(ag.grad(either, argnums=(0, 1))(x, W)[1], [0.0, 0.0])
    assert ag.vjp(lambda a, b: a * 2, V, W, unconnected="none")[1](V)[1] is None
    inside = ag.function(lambda a, b: ag.grad(lambda a, b: a @ a, argnums=(0, 1), unconnected="none")(a, b))
    assert inside(V, W)[1] is None
    with pytest.raises(ValueError, match="unconnected"):
        ag.grad(either, unconnected="nothing")


def test_the_reason_for_the_tape_names_the_line() -> None:
    def f(x: Any) -> Any:
        kept = []
        for i in range(20):
            row = np.zeros(3)
            row[i % 3] = x[i % 3]
            kept.append(row)
        return np.stack(kept).sum()

    gradient = ag.grad(f)
    np.testing.assert_allclose(gradient(V), gradient.eager(V))
    told = gradient.explain()
    place = f"(test_products.py:{f.__code__.co_firstlineno + 3})"
    assert f"runs on the tape: an array is written to that may be another one's memory, too {place}" in told
    number_slope = ag.grad(number)
    number_slope(V)
    assert "staged  " in number_slope.explain()
