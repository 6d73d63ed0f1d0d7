"""Dataclasses as trees of parameters: derivatives are instances of the same class, staged and on the tape."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime import tree
from runtime.config import settings


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: float
    act: Callable[..., Any] = np.tanh
    name: str = "layer"

    def __call__(self, x: Any) -> Any:
        return self.act(self.w @ x + self.b)

    @property
    def size(self) -> int:
        return self.w.size


@dataclasses.dataclass(frozen=True)
class Net:
    layers: list[Layer]
    scale: dict[str, float]

    def loss(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return np.sum(x) * self.scale["s"] + self.layers[0].size


@dataclasses.dataclass(slots=True)
class Checked:
    w: np.ndarray

    def __post_init__(self) -> None:
        assert self.w is None or hasattr(self.w, "shape")


@dataclasses.dataclass
class Holder:
    w: float

    def __post_init__(self) -> None:
        self.cache: dict[str, float] = {}


@dataclasses.dataclass
class Affine:
    w: np.ndarray
    b: float


class Plain:
    def __init__(self) -> None:
        self.w = np.ones(2)


X = np.arange(3.0)


def net() -> Net:
    return Net([Layer(np.eye(3), 0.5), Layer(2 * np.eye(3), 0.25, np.sin)], {"s": 2.0})


def by_leaves(w1: Any, b1: Any, w2: Any, b2: Any, s: Any) -> Any:
    return np.sum(np.sin(w2 @ np.tanh(w1 @ X + b1) + b2)) * s


def same(a: Any, b: Any) -> bool:
    """Whether two trees are of the same classes and hold the same numbers."""
    if dataclasses.is_dataclass(a):
        names = [f.name for f in dataclasses.fields(a)]
        return type(a) is type(b) and all(same(getattr(a, n), getattr(b, n)) for n in names)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if not isinstance(a, (float, np.ndarray)):
        return bool(a == b)
    return type(a) is type(b) and np.allclose(a, b)


@pytest.fixture(params=["numpy", "auto", "tape"], autouse=True)
def _way(request: pytest.FixtureRequest) -> Iterator[str]:
    with settings.override(executor="numpy" if request.param == "tape" else request.param, compile="now"):
        yield request.param


def given(f: Callable[..., Any], way: str) -> Callable[..., Any]:
    """The function; for the tape, one that is not traced."""
    return ag.do_not_convert(f) if way == "tape" else f


def test_gradients_are_instances_of_the_class(_way: str) -> None:
    gradient = ag.grad(given(lambda n, x: n.loss(x), _way))
    p = net()
    leaves = (p.layers[0].w, 0.5, p.layers[1].w, 0.25, 2.0)
    w1, b1, w2, b2, s = ag.grad(by_leaves, argnums=(0, 1, 2, 3, 4))(*leaves)
    want = Net([Layer(w1, b1, None, None), Layer(w2, b2, None, None)], {"s": s})  # type: ignore[arg-type]
    for _ in range(2):
        assert same(gradient(p, X), want)
    assert same(p, net())
    if _way != "tape":
        assert gradient.traces[-1].concrete is not None
        assert "n_layers_0_w: float64[3, 3]" in str(gradient.traces[-1].signature)


def test_all_transformations(_way: str) -> None:
    p, one = Checked(np.array([1.0, 2.0])), Checked(np.ones(2))
    cube = given(lambda c: np.sum(c.w**3), _way)
    triple = given(lambda c: Checked(c.w * 3), _way)
    value, gradient = ag.value_and_grad(cube)(p)
    assert value == 9.0 and same(gradient, Checked(np.array([3.0, 12.0])))
    change, back = ag.vjp(triple, p)
    assert same(change, Checked(np.array([3.0, 6.0]))) and same(back(one), (Checked(np.array([3.0, 3.0])),))
    assert same(ag.jvp(triple, (p,), (one,)), (Checked(np.array([3.0, 6.0])), Checked(np.array([3.0, 3.0]))))
    assert same(ag.jacobian(lambda c: c.w * 3)(p), Checked(3 * np.eye(2)))
    assert same(ag.hessian(cube)(p).w, Checked(np.diag([6.0, 12.0])))
    assert same(ag.stop_gradient(p), p)
    with ag.GradientTape() as tape:
        q = tape.watch(p)
        total = np.sum(q.w**2)
    assert same(tape.gradient(total, q), Checked(np.array([2.0, 4.0])))


def test_a_step_inside_a_function() -> None:
    @ag.function
    def step(n: Net, x: Any, rate: float) -> Net:
        slope = ag.grad(lambda m: m.loss(x))(n)
        pairs = zip(n.layers, slope.layers)
        return Net([Layer(a.w - rate * b.w, a.b - rate * b.b, a.act) for a, b in pairs], n.scale)

    p = want = net()
    gradient = ag.grad(lambda m: m.loss(X))
    for _ in range(2):
        p, g = step(p, X, 0.1), gradient(want)
        layers = [Layer(a.w - 0.1 * b.w, a.b - 0.1 * b.b, a.act) for a, b in zip(want.layers, g.layers)]
        want = Net(layers, want.scale)
        assert same(p, want)
    assert not any(note.kind == "python" for t in step.traces for note in t.concrete.notes)


def test_many_at_once() -> None:
    p, xs = Affine(np.eye(3), 0.5), np.arange(12.0).reshape(4, 3)
    gradient = ag.grad(lambda a, x: np.sum(np.tanh(a.w @ x + a.b)))
    each = ag.vmap(gradient, in_axes=(None, 0))(p, xs)
    assert type(each) is Affine
    for name in ("w", "b"):
        assert np.allclose(getattr(each, name), [getattr(gradient(p, x), name) for x in xs])
    rows = Checked(np.arange(6.0).reshape(3, 2))
    assert same(ag.vmap(lambda c: np.sum(c.w))(rows), np.array([1.0, 5.0, 9.0]))
    assert same(ag.vmap(lambda c: Checked(np.array(c.w * 2)))(rows), Checked(rows.w * 2))


def test_what_is_written_to_a_parameter_stays_in_the_call(_way: str) -> None:
    def doubled(c: Checked) -> Any:
        c.w = c.w * 2
        return np.sum(c.w**2)

    p = Checked(np.ones(2))
    assert same(ag.grad(given(doubled, _way))(p), Checked(np.full(2, 8.0)))
    assert same(p, Checked(np.ones(2)))


@pytest.mark.parametrize("p", [Plain(), Holder(1.0)])
def test_objects_that_hold_more_are_refused(p: Any) -> None:
    with pytest.raises(ag.GradientError, match="(?s)nothing to differentiate by: .*tuple or dataclass"):
        ag.grad(lambda q: q.w)(p)


def test_trees_through_dataclasses() -> None:
    leaves, structure = tree.flatten_data({"a": Checked(np.ones(1)), "b": [1, Layer(np.ones(2), 2.0)]})
    assert len(leaves) == 6
    assert tree.shown(structure).replace("value", "v") == (
        "{'a': Checked(w=v), 'b': [v, Layer(w=v, b=v, act=v, name=v)]}"
    )
    assert tree.paths(structure, "p")[:3] == ["p['a'].w", "p['b'][0]", "p['b'][1].w"]
    assert tree.flatten(Checked(np.ones(1)))[1].num_leaves == 1
