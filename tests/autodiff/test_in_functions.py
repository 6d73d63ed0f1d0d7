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


# -- trees of parameters that are arguments ---------------------------------------------------------------

DATA = np.linspace(-1.0, 1.0, 12).reshape(4, 3)


def dense(p: Any, x: Any) -> Any:
    return (np.tanh(x @ p["w"] + p["b"]) ** 2).mean()


def deep(layers: Any, x: Any) -> Any:
    for each in layers:
        x = np.tanh(x @ each["w"] + each["b"])
    return (x**2).mean()


def two(p: Any, x: Any) -> Any:
    return (x @ p["a"]).sum() * (p["b"] ** 2).sum()


def layer() -> Any:
    return {"w": np.linspace(-1.0, 2.0, 9).reshape(3, 3), "b": np.array([0.5, -1.0, 2.0])}


class Model:
    def __init__(self) -> None:
        self.layers, self.first = [layer(), layer()], layer()


def stepped(p: Any, x: Any) -> Any:
    value, slopes = ag.value_and_grad(dense)(p, x)
    for key in p:
        p[key] = p[key] - 0.1 * slopes[key]
    return value, slopes


def stepped_in_place(p: Any, x: Any) -> Any:
    value, slopes = ag.value_and_grad(dense)(p, x)
    for key in p:
        p[key] -= 0.1 * slopes[key]
    return value, slopes


def stepped_twice(p: Any, x: Any) -> Any:
    before = ag.grad(dense)(p, x)
    p["w"] = p["w"] - before["w"]
    return before, ag.grad(dense)(p, x)


def stepped_list(p: Any, x: Any) -> Any:
    slopes = ag.grad(lambda q: dense({"w": q[0], "b": q[1]}, x))(p)
    for k in range(len(p)):
        p[k] = p[k] - slopes[k]
    p.append(slopes[0].sum())
    return slopes


def stepped_model(m: Any, x: Any) -> Any:
    slopes, first = ag.grad(deep)(m.layers, x), ag.grad(dense)(m.first, x)
    for each, slope in zip(m.layers, slopes, strict=True):
        each["w"] = each["w"] - slope["w"]
    return slopes, first


def aliased(p: Any, x: Any) -> Any:
    slopes = ag.grad(two)(p, x)
    slopes["a"] += 1.0
    p["a"] += 1.0
    return slopes, p["b"], slopes["a"] is slopes["b"], p["a"] is p["b"]


def changing(q: Any, x: Any) -> Any:
    q["w"] = q["w"] * 2.0
    q["new"] = q["w"].sum()
    return dense(q, x) * q["new"] * len(q)


def writing(p: Any, x: Any) -> Any:
    def loss(q: Any) -> Any:
        p["b"] = p["b"] + 1.0
        return dense(q, x) + p["b"].sum()

    return ag.grad(loss)(p)


def one_array() -> Any:
    w = layer()["w"]
    return {"a": w, "b": w}


TREES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[], Any]]] = {
    "dict": (lambda p, x: ag.grad(dense)(p, x), layer),
    "value and gradient": (lambda p, x: ag.value_and_grad(dense)(p, x), layer),
    "step": (stepped, layer),
    "step in place": (stepped_in_place, layer),
    "two steps": (stepped_twice, layer),
    "list": (stepped_list, lambda: list(layer().values())),
    "layers": (lambda p, x: ag.grad(deep)(p, x), lambda: [layer(), layer()]),
    "attributes": (stepped_model, Model),
    "nested": (
        lambda p, x: ag.grad(lambda p: dense(p["l"][0], x) * p["s"])(p),
        lambda: {"l": [layer(), (1, "x", None)], "s": 2.0, "n": 3},
    ),
    "one array twice": (aliased, one_array),
    "is": (lambda p, x: ag.grad(lambda p: two(p, x) * (2.0 if p["a"] is p["b"] else 3.0))(p), one_array),
    "changed in the loss": (lambda p, x: (ag.grad(changing)(p, x), list(p)), layer),
    "written by the loss": (writing, layer),
    "default": (lambda p, x: ag.grad(lambda p: (x @ p.get("zz", p["w"])).sum() * len(p))(p), layer),
    "absent": (lambda p, x: ag.grad(lambda p: p["w"].sum() if "zz" in p else p["b"].sum())(p), layer),
    "Hessian": (lambda p, x: ag.hessian(lambda p: (p["b"] ** 3).sum())(p), layer),
    "vjp": (lambda p, x: ag.vjp(lambda p: p["b"] ** 3, p)[1](ONES), layer),
}


def parts(x: Any) -> tuple[list[Any], Any]:
    return tree.flatten([x.layers, x.first] if isinstance(x, Model) else x)


@pytest.mark.parametrize("name", TREES)
def test_parameters_that_are_arguments_are_staged(name: str) -> None:
    program, make = TREES[name]
    inside = ag.function(program, strict=True)
    for _ in range(3):
        mine, theirs = make(), make()
        got, want = inside(mine, DATA), program(theirs, DATA)
        for a, b in ((got, want), (mine, theirs)):
            (a, shape), (b, wanted) = parts(a), parts(b)
            assert shape == wanted
            for x, y in zip(a, b, strict=True):
                assert type(x) is type(y)
                if y is not None and not isinstance(y, str):
                    np.testing.assert_allclose(x, y, rtol=1e-12)


def test_keys_are_in_the_order_of_the_argument() -> None:
    inside = ag.function(lambda p, x: ag.grad(dense)(p, x))
    backwards = dict(reversed(layer().items()))
    assert list(inside(layer(), DATA)) == ["w", "b"]
    assert list(inside(backwards, DATA)) == ["b", "w"]


def test_a_key_that_is_written_need_not_have_been_there() -> None:
    def program(p: Any, w: Any) -> Any:
        p["w"] = w
        return ag.grad(lambda p: (p["w"] ** 2).sum())(p)

    inside = ag.function(program)
    assert list(inside({"w": X, "b": X}, X)) == ["w", "b"]
    assert list(inside({"b": X, "c": X}, X)) == ["b", "c", "w"]
    assert list(inside({"b": X, "w": X}, X)) == ["b", "w"]


def test_a_missing_key_is_an_error_as_in_plain_python() -> None:
    inside = ag.function(lambda p, x: ag.grad(lambda p: (p["zz"] * x).sum())(p))
    for _ in range(2):
        with pytest.raises(KeyError, match="zz"):
            inside({"w": X}, X)


def untold(p: Any, x: Any) -> Any:
    p["new"] = x
    return ag.grad(lambda q: (q["w"] * x).sum())(p)


def overwriting(p: Any, x: Any) -> Any:
    def loss(q: Any) -> Any:
        q["w"] *= 2.0
        return (q["w"] * x).sum()

    return ag.grad(loss)(p)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (untold, r"which arrays a dict \('p'\) holds is known only when the function runs"),
        (overwriting, "an array is written to that may be another one's memory"),
    ],
)
def test_strict_refuses_a_gradient_outside_the_graph(program: Any, reason: str) -> None:
    left = ag.function(program)
    got, want = left({"w": X}, X), program({"w": X}, X)
    assert list(got) == list(want)
    np.testing.assert_array_equal(got["w"], want["w"])
    with pytest.raises(
        ag.Untraceable, match=f"(?s)outside this graph: {reason}.*test_in_functions.py:.*ag.grad"
    ):
        ag.function(program, strict=True)({"w": X}, X)


def product(p: Any, x: Any) -> Any:
    return p["w"] * p["w"] * x


def product_sum(p: Any, x: Any) -> Any:
    return product(p, x).sum()


LEFT: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda p, x: ag.grad(product_sum)(p, x)["w"],
    "value_and_grad": lambda p, x: ag.value_and_grad(product_sum, checkpoint_every=2)(p, x)[1]["w"],
    "jacobian": lambda p, x: ag.jacobian(product)(p, x)["w"].sum(axis=0),
    "hessian": lambda p, x: ag.hessian(product_sum)(p, x)["w"]["w"].sum(axis=0),
    "vjp": lambda p, x: ag.vjp(product, p, x)[1](ONES)[0]["w"],
    "jvp": lambda p, x: ag.jvp(product, (p, x), ({"w": ONES}, ONES))[1],
}


def rebuilding(change: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def program(p: Any, x: Any) -> Any:
        for _ in range(20):
            p = {key: part - 0.01 * change(p, x) for key, part in p.items()}  # what it holds is not followed
        return p

    return program


@pytest.mark.parametrize("name", LEFT)
def test_parameters_that_a_loop_makes_anew(name: str) -> None:
    program = rebuilding(LEFT[name])
    inside, want = ag.function(program), program({"w": ONES}, X)
    for _ in range(2):
        np.testing.assert_allclose(inside({"w": ONES}, X)["w"], want["w"], rtol=1e-12)
    assert "is taken outside this graph" in str(ag.explain(inside))


def test_what_is_left_has_a_graph_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it has in plain Python, where the tape takes no part."""
    inside = ag.function(rebuilding(LEFT["grad"]))
    inside({"w": ONES}, X)
    monkeypatch.setattr("runtime.autodiff.transforms.Reverse", None)
    inside({"w": ONES}, X)
