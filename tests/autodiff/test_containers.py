"""Gradients through lists, dicts, objects, iterators, custom derivatives: staged, the same as on the tape."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from tests.autodiff.test_staged import same

Program = Callable[..., Any]
R = np.random.default_rng(5)


def normal(*shape: int) -> Any:
    return R.standard_normal(shape) * 0.5


X, Y, V, LONG, SQUARE = normal(6, 4), normal(6, 2), normal(5), normal(30), normal(5, 5)
LAYERS = [(normal(4, 5), normal(5)), (normal(5, 5), normal(5)), (normal(5, 2), normal(2))]
NAMED = [{"w": normal(4, 5), "b": normal(5)}, {"w": normal(5, 2), "b": normal(2)}]
MANY = [(normal(4, 4), normal(4)) for _ in range(20)]
PROGRAMS: list[tuple[Program, tuple[Any, ...]]] = []


def program(*args: Any) -> Callable[[Program], Program]:
    def add(f: Program) -> Program:
        PROGRAMS.append((f, args))
        return f

    return add


# ------------------------------------------------------------------------------------------- parameters
@program(LAYERS, X, Y)
def layers(params: Any, x: Any, y: Any) -> Any:
    for w, b in params[:-1]:
        x = np.tanh(x @ w + b)
    w, b = params[-1]
    return ((x @ w + b - y) ** 2).mean()


@program(NAMED, X, Y)
def numbered_layers(params: Any, x: Any, y: Any) -> Any:
    for i, p in enumerate(params):
        x = x @ p["w"] + p["b"]
        if i < len(params) - 1:
            x = np.maximum(x, 0)
    return ((x - y) ** 2).mean()


@program(MANY, X)
def many_layers(params: Any, x: Any) -> Any:
    for w, b in params:
        x = np.tanh(x @ w + b)
    return (x**2).mean()


@program({"one": NAMED[0], "two": NAMED[1]}, X)
def nested_dicts(params: Any, x: Any) -> Any:
    h = np.tanh(x @ params["one"]["w"] + params["one"]["b"])
    size = sum((v**2).sum() for layer in params.values() for v in layer.values())
    return (h @ params["two"]["w"] + params["two"]["b"]).sum() + 0.01 * size


@program({"a": normal(3), "b": normal(3)})
def items_of_a_dict(params: Any) -> Any:
    total = 0.0
    for name, v in params.items():
        total = total + (v**2).sum() * len(name)
    return total


@program([normal(3), normal(3)], [normal(3), normal(3)])
def lists_side_by_side(ps: Any, qs: Any) -> Any:
    return sum(((p - q) ** 2).sum() for p, q in zip(ps, qs, strict=True)) + np.stack(ps).sum()


Point = collections.namedtuple("Point", "a b")


@program(Point(V, V * 2))
def named_tuples(p: Any) -> Any:
    return (p.a * p.b).sum()


# ------------------------------------------------------------------------------------- lists that grow
@program(V, SQUARE)
def stacked(h: Any, w: Any) -> Any:
    kept = []
    for _ in range(20):
        h = np.tanh(w @ h)
        kept.append(h)
    return (np.stack(kept) ** 2).sum() + np.concatenate(kept).sum()


@program(LONG)
def some_numbers(x: Any) -> Any:
    out = []
    for v in x:
        if v > 0:
            out.append(v * v)
    return sum(out)


@program(LONG)
def array_of_a_list(x: Any) -> Any:
    out = []
    for i in range(len(x)):
        out.append(np.sin(x[i]))
    return (np.array(out) * np.arange(30)).sum()


@program(V)
def read_and_written(x: Any) -> Any:
    path = [x]
    for i in range(20):
        path.append(np.sin(path[-1]) + path[i // 2])
        if i % 7 == 3:
            path[1] = path[i] * 0.5
    total = 0.0
    for p in path:
        total = total + (p * p).sum()
    return total


@program(V)
def popped(x: Any) -> Any:
    stack = []
    for i in range(20):
        stack.append(x * i)
    total = 0.0
    for _ in range(18):
        total = total + np.sin(stack.pop()).sum()
    return total + stack[0].sum() + stack[1].sum() ** 2


@program(LONG)
def lists_in_trips(x: Any) -> Any:
    total = 0.0
    for i in range(20):
        row = []
        for j in range(i):
            row.append(x[j] * x[i])
        total = total + sum(row)
    return total


@program(LONG)
def comprehensions(x: Any) -> Any:
    return sum([v * w for v in x[:5] for w in x if v > w]) + np.sum(np.array([v * v for v in x]))


@program(LONG)
def generators(x: Any) -> Any:
    return sum(v * v for v in x if v > 0) + sum((v for v in x), 1.0)


@program(V)
def scanned(x: Any) -> Any:
    def step(carry: Any, v: Any) -> Any:
        carry = carry * 0.5 + v
        return carry, (carry, v * v)

    last, (sums, squares) = ag.scan(step, 0.0, x)
    return last + (sums**2).sum() + squares.sum() + ag.map_fn(lambda v: v * v, x).sum()


# ------------------------------------------------------------------------------- several arrays at once
@program(LONG)
def zipped(x: Any) -> Any:
    total = 0.0
    for i, (a, b) in enumerate(zip(x, x[1:], strict=False), 2):
        total = total + a * b * i
    for a in reversed(x):
        total = total * 0.5 + a
    return total


@program(LONG)
def one_array_in_two_loops(x: Any) -> Any:
    total = 0.0
    for v in x:
        for w in x:
            total = total + v * w * w
    return total


@program(V)
def a_written_array_in_a_loop(x: Any) -> Any:
    y = x.copy()
    y[0] = x[1] * 2
    total = y[1] * 3
    for v in y:
        total = total + v * v
    return total + y[2] * 5


# ------------------------------------------------------------------------------------- dicts and objects
@program(V)
def filled_dict(x: Any) -> Any:
    d = {"a": x, "b": x * 2}
    d["c"] = d["a"] * d["b"]
    return d["c"].sum()


class State:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def energy(self) -> Any:
        return (self.a * self.b).sum()


@program(V, V * 3)
def made_object(a: Any, b: Any) -> Any:
    state = State(a, b)
    state.a = state.a * 2
    return state.energy()


@program(V)
def list_of_numbers(x: Any) -> Any:
    return np.sum([x[0] * x[1], x[2], 3.0]) + np.array([[x[0], 1.0], [x[3], x[4]]]).sum()


@program(V)
def reshaped(x: Any) -> Any:
    y = np.zeros(6).reshape(2, 3)
    y[0] = x[:3]
    z = np.zeros_like(x)
    for i in range(1, len(x)):
        z[i] = x[i] - x[i - 1]
    return (y**2).sum() + (z**2).sum()


# -------------------------------------------------------------------------------- derivatives of their own
@ag.custom_gradient
def log1pexp(x: Any) -> Any:
    e = np.exp(x)
    return np.log(1 + e), lambda ct: ct * (1 - 1 / (1 + e))


@ag.custom_gradient
def product(a: Any, b: Any) -> Any:
    def back(ct: Any) -> Any:
        return ct * b, (ct * a).sum()

    return a * b, back


@ag.custom_gradient
def pair(p: Any) -> Any:
    return (p["a"] * 2, np.sin(p["b"])), lambda cts: {"a": cts[0] * 2, "b": cts[1] * np.cos(p["b"])}


@ag.custom_gradient
def turned(z: Any) -> Any:
    return z * z, lambda ct: ct * np.conj(2 * z)


@ag.checkpoint
def block(w: Any, x: Any) -> Any:
    return np.tanh(w @ x) + x


@program(V, 2.0)
def own_derivatives(x: Any, b: Any) -> Any:
    for _ in range(20):
        x = log1pexp(x) * 0.9
    u, v = pair({"a": x, "b": x * 2})
    return product(x, b).sum() + (u * v).sum()


@program(V + 1j * V[::-1])
def own_complex(z: Any) -> Any:
    return np.real(turned(z).sum() * (1 + 2j))


@program(SQUARE, V)
def checkpointed(w: Any, x: Any) -> Any:
    for _ in range(20):
        x = block(w, x) * 0.7
    return ag.checkpoint(lambda a: np.sin(a) * 2)(x).sum()


@program(SQUARE, V)
def told_by_others(a: Any, v: Any) -> Any:
    parts = np.linalg.svd(a)[1].sum() + np.linalg.norm(a, axis=1).sum() + np.dot(a, v).sum()
    grids = np.meshgrid(v, v * 2)
    return (
        parts + np.outer(v, v)[0, 1] + np.diff(v).sum() ** 2 + (grids[0] * grids[1]).sum() + np.trace(a @ a)
    )


CASES = pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])


@CASES
def test_same_as_on_the_tape(f: Program, args: tuple[Any, ...]) -> None:
    with settings.override(executor="numpy"):
        gradient = ag.value_and_grad(f)
        got = gradient(*args)
        same(got, gradient.eager(*args))
        same(gradient(*args), got)
    assert gradient.traces[-1].concrete is not None, gradient.explain()
    np.testing.assert_allclose(got[0], f(*args))


@CASES
def test_by_native_code(f: Program, args: tuple[Any, ...]) -> None:
    with settings.override(executor="auto"):
        gradient = ag.value_and_grad(lambda *given: f(*given))
        same(gradient(*args), gradient.eager(*args), 1e-9)


def test_what_depends_on_no_argument_is_an_error() -> None:
    def f(x: Any) -> Any:
        @ag.custom_gradient
        def g(a: Any) -> Any:
            return a * x, lambda ct: ct * 3

        return g(x * 2).sum()

    with pytest.raises(ag.GradientError, match="no argument"):
        ag.grad(f)(V)


def test_second_derivatives_where_the_first_is_zero() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum((x * w - w) ** 2)

    slope = ag.grad(f)
    second = ag.grad(lambda x, w: np.sum(slope(x, w)))
    np.testing.assert_array_equal(second(np.ones(3), np.arange(3.0)), [0.0, 2.0, 8.0])
    assert second.traces[-1].concrete is not None


def test_lists_of_other_types_stay_exact() -> None:
    """What the trace believes of a list's items is true whatever is put in, and whenever."""

    @ag.function
    def f(n: Any, x: Any) -> Any:
        out = [0.5]
        for i in range(n):
            out.append(x[i])
            if i == 20:
                out += ["text"]
        last = out[-1]
        empty: list[Any] = []
        for i in range(n - 40):
            empty.append(x[i] * 2)
        return last, np.array(empty), sum(empty), len(out)

    for n in (3, 21, 45):
        got, want = f(n, np.arange(50.0)), f.python_function(n, np.arange(50.0))
        assert repr(got) == repr(want)


def test_sums_of_what_is_no_number() -> None:
    @ag.function
    def f(groups: Any, texts: Any) -> Any:
        sizes = sum((v**2).sum() for group in groups.values() for v in group)
        return sizes, sum((t for t in texts), []), sum(len(t) for t in texts)

    groups = {"a": [np.ones(2), np.arange(3.0)], "b": [np.zeros(1)]}
    texts = [["a", "b"], ["c"]]
    assert repr(f(groups, texts)) == repr(f.python_function(groups, texts))


def test_iterators_that_are_used_twice() -> None:
    @ag.function
    def f(ps: Any) -> Any:
        pairs = enumerate(ps)
        total = 0.0
        for i, p in pairs:
            total = total + p.sum() * i
        for i, p in pairs:  # there is nothing left
            total = total + 100.0 * p.sum()
        sums = (p.sum() for p in ps)
        total = total + sum(sums) * 10 + sum(sums)
        queue = [1.0, 2.0]
        for i, q in enumerate(queue):
            if i < 5:
                queue.append(q * 2)
        return total, queue

    ps = [np.ones(2), np.ones(2) * 3]
    assert repr(f(ps)) == repr(f.python_function(ps))
