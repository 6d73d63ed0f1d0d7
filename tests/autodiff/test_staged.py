"""Staged gradients: the same as on the tape, as graphs that hold the laws, by plan and native code alike."""

from __future__ import annotations

import math
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime import tree
from runtime.config import settings
from runtime.ir.text import parse_graph, print_graph
from runtime.ir.verify import verify
from runtime.ops.table import OPS

Program = Callable[..., Any]
R = np.random.default_rng(0)
V, M, SQUARE = R.standard_normal(5), R.standard_normal((4, 5)), R.standard_normal((3, 3)) + 4 * np.eye(3)
COMPLEX = R.standard_normal(4) + 1j * R.standard_normal(4)
PROGRAMS: list[tuple[Program, tuple[Any, ...]]] = []
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def program(*args: Any) -> Callable[[Program], Program]:
    def add(f: Program) -> Program:
        PROGRAMS.append((f, args))
        return f

    return add


@program(V)
def straight(x: Any) -> Any:
    return np.sum(np.sin(x) * x + np.exp(x))


@program(V, M)
def mm(x: Any, a: Any) -> Any:
    return np.mean(np.tanh(a @ x) ** 2)


@program(2.0, V)
def scalarw(w: Any, x: Any) -> Any:
    return np.sum(w * x * x) + w**3


@program(3.0)
def pyscalar(w: Any) -> Any:
    return w * w * w + math.sin(w)


@program(V)
def branch(x: Any) -> Any:
    if x[0] > 0:
        y = x * 2
    else:
        y = x * x
    return y.sum()


@program(V)
def norm0(x: Any) -> Any:
    return np.sqrt(np.sum(x * x)) + np.sum(np.where(x > 0, np.log(x), x))


@program(V, 3)
def loopn(x: Any, n: Any) -> Any:
    s = 0.0
    for i in range(30):
        s = s + np.sum(np.sin(x * i)) * 0.1
    return s


@program(V)
def loopx(x: Any) -> Any:
    s = 0.0
    for e in x:
        s = s + e * e * s * 0.1 + e
    return s


@program(1.5)
def wloop(x: Any) -> Any:
    y = x
    while y < 100:
        y = y * x + 0.1
    return y


@program(V, M)
def rnn(h: Any, w: Any) -> Any:
    for i in range(20):
        h = np.tanh(w.T @ (w @ h) * 0.1 + h)
    return np.sum(h)


@program(V)
def condloop(x: Any) -> Any:
    s = 0.0
    for i in range(20):
        if i % 3 == 0:
            s = s + x[i % 5] * 2
        elif s > 3:
            s = s * 0.5
        else:
            s = s + x[0] * x[1]
    return s


@program(V)
def brk(x: Any) -> Any:
    s = 0.0
    for i in range(40):
        s = s + x[i % 5] ** 2
        if s > 4:
            break
        if s > 2:
            continue
        s = s + 0.3 * x[1]
    return s


@program(2.0)
def early(x: Any) -> Any:
    for i in range(30):
        x = x * 1.1
        if x > 5:
            return x * x
    return x


@program(SQUARE)
def lin(a: Any) -> Any:
    return np.sum(np.linalg.inv(a)) + np.linalg.det(a)


@program(V)
def nest(x: Any) -> Any:
    t = 0.0
    for i in range(18):
        k = 0
        y = x * 0.9
        while np.sum(y * y) > 0.01:
            y = y * 0.5
            k += 1
        t = t + np.sum(y) * i
    return t


@program(V, M)
def softm(b: Any, w: Any) -> Any:
    z = w + b
    z = z - np.max(z, axis=1, keepdims=True)
    l = np.log(np.sum(np.exp(z), axis=1))
    return np.mean(l - z[np.arange(4), np.array([0, 2, 1, 3])])


@program(V)
def newton(a: Any) -> Any:
    x = np.ones(5)
    while np.max(np.abs(x * x - np.abs(a))) > 1e-9:
        x = 0.5 * (x + np.abs(a) / x)
    return x.sum()


@program(V)
def writes(x: Any) -> Any:
    y = np.zeros(6)
    y[1:] = x
    y[0] = x[0] * x[1]
    y *= 2
    return np.sum(y * y)


@program(V)
def writeloop(x: Any) -> Any:
    h = np.zeros(30)
    h[0] = x[0]
    for i in range(1, 30):
        h[i] = h[i - 1] * 0.9 + x[i % 5] * h[i - 1] * 0.1
    return np.sum(h)


@program(V)
def applist(x: Any) -> Any:
    out = []
    for i in range(20):
        out.append(x[i % 5] * i)
    s = 0.0
    for o in out:
        s = s + o * o
    return s


@program(V)
def view(x: Any) -> Any:
    y = x * 1.0
    z = y[1:3]
    z[0] = x[0] * x[4]
    y[2] *= 3
    return np.sum(y * y) + z[1]


@program(COMPLEX)
def cplx(z: Any) -> Any:
    return np.sum(np.abs(np.fft.fft(z * z)) ** 2)


@program(V.astype(np.float32))
def f32(x: Any) -> Any:
    return np.sum(x * np.float32(2) + x * 0.5)


@program({"w": M, "b": V})
def params(p: Any) -> Any:
    return np.sum(np.tanh(p["w"] * p["b"]))


@program(V)
def concat(x: Any) -> Any:
    return np.sum(np.concatenate([x, x * x]) * np.arange(10.0)) + np.stack([x, x]).sum()


@program(V)
def eigs(x: Any) -> Any:
    a = np.outer(x, x) + np.diag(x)
    w, q = np.linalg.eigh(a)
    return np.sum(w * w)


def inner(x: Any) -> Any:
    return x * x


@program(V)
def nested(x: Any) -> Any:
    f = lambda a: inner(a) * 2
    return f(x).sum()


@program(V)
def second(x: Any) -> Any:
    return np.sum(ag.grad(lambda y: np.sum(y**3))(x) ** 2)


@program(V)
def elem(x: Any) -> Any:
    y = x * 2.0
    s = 0.0
    for i in range(20):
        y[i % 5] = y[i % 5] * x[(i + 1) % 5] + 1
        s = s + y[i % 5]
    return s


ON_TAPE: list[str] = []
CASES = pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])


def same(got: Any, want: Any, rtol: float = 1e-11) -> None:
    a, b = tree.flatten(got)[0], tree.flatten(want)[0]
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert type(x) is type(y)
        if x is None:
            continue
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-5 if np.asarray(y).dtype == np.float32 else rtol, atol=1e-13)


@CASES
def test_same_as_on_the_tape(f: Program, args: tuple[Any, ...]) -> None:
    gradient = ag.value_and_grad(f)
    with settings.override(executor="numpy"):
        got = gradient(*args)
        same(got, gradient.eager(*args))
        same(gradient(*args), got)  # nothing of the first call is left in the second
    record = gradient.traces[-1]
    assert (record.concrete is None) == (f.__name__ in ON_TAPE), record.plain
    if record.concrete is not None:
        verify(record.concrete.graph, OPS)


@CASES
def test_by_native_code(f: Program, args: tuple[Any, ...]) -> None:
    with settings.override(executor="auto"):
        gradient = ag.value_and_grad(f)
        same(gradient(*args), gradient.eager(*args), 1e-9)


@CASES
def test_inside_a_function(f: Program, args: tuple[Any, ...]) -> None:
    @ag.function
    def outer(*given: Any) -> Any:
        value, slope = ag.value_and_grad(f)(*given)
        return value * 2, slope

    value, slope = ag.value_and_grad(f).eager(*args)
    got, found = outer(*args)
    np.testing.assert_allclose(got, value * 2, rtol=1e-6)
    same(found, slope)


@CASES
def test_second_order(f: Program, args: tuple[Any, ...]) -> None:
    """The transformation of what it gave, or the tape over it."""

    def length(x: Any, *rest: Any) -> Any:
        return sum(np.sum(np.abs(leaf) ** 2) for leaf in tree.flatten(ag.grad(f)(x, *rest))[0])

    gradient = ag.grad(length)
    if isinstance(args[0], dict):
        return
    same(gradient(*args), gradient.eager(*args), 1e-8)


# ------------------------------------------------------------------------------------- memory against time
def relaxed(x: Any, n: Any) -> Any:
    for i in range(n):
        x = x + 0.01 * np.sin(np.roll(x, 1) - x) * (i % 3)
    return (x * x).sum()


def settling(x: Any, least: Any) -> Any:
    while np.sum(x * x) > least:
        x = x * 0.98 + 0.001 * np.sin(x)
    return x.sum() + x[0] * x[1]


def rows(x: Any, table: Any) -> Any:
    total = 0.0
    for row in table:
        x = np.tanh(x + row)
        total = total + x.sum()
    return total


def peak(f: Callable[..., Any], *args: Any) -> int:
    f(*args)
    tracemalloc.start()
    f(*args)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (relaxed, (np.linspace(0.0, 1.0, 100), 400)),
        (settling, (np.linspace(0.0, 1.0, 100), 0.001)),
        (rows, (np.linspace(0.0, 1.0, 100), R.standard_normal((300, 100)))),
    ],
)
def test_checkpoints_give_the_same_with_less(f: Program, args: tuple[Any, ...]) -> None:
    with settings.override(executor="numpy"):
        full = ag.grad(f)
        want, most = full(*args), peak(full, *args)
        for every in (7, "sqrt", 10_000):
            less = ag.grad(f, checkpoint_every=every)
            np.testing.assert_array_equal(less(*args), want)
            record = less.traces[-1]
            assert record.concrete is not None, record.plain
            verify(record.concrete.graph, OPS)
            if every == "sqrt":
                assert peak(less, *args) < most / 3


def test_checkpoints_of_loops_by_hand() -> None:
    def f(x: Any, every: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            return x + 0.01 * np.sin(x) * i

        return ag.for_loop(range(300), body, (x,), checkpoint_every=every).sum()

    def g(x: Any, every: Any) -> Any:
        return ag.while_loop(
            lambda x: np.sum(x * x) > 0.01, lambda x: x * 0.9, (x,), checkpoint_every=every
        ).sum()

    for program in (f, g):
        gradient = ag.grad(program)
        want = gradient(V, None)
        for every in (5, "sqrt"):
            np.testing.assert_array_equal(gradient(V, every), want)
            assert gradient.traces[-1].concrete is not None
    with pytest.raises(ValueError, match="number of trips"):
        ag.function(f)(V, 0)
    with pytest.raises(ValueError, match="number of trips"):
        ag.grad(f, checkpoint_every=-1)


# --------------------------------------------------------------------------------------- sizes not known
def batches(w: Any, x: Any, n: Any) -> Any:
    total = 0.0
    for i in range(20):
        part = x[i : i + n]
        z = part @ w
        z = z - np.max(z, axis=1, keepdims=True)
        total = total + np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[:, 0] * np.mean(part, axis=1))
    return total


@pytest.mark.parametrize("executor", ["numpy", "auto"])
def test_sizes_that_are_not_known(executor: str) -> None:
    x, w = R.standard_normal((30, 4)), R.standard_normal((4, 3))
    with settings.override(executor=executor):

        @ag.function
        def train(w: Any, x: Any, n: Any) -> Any:
            for _ in range(20):
                w = w - 0.1 * ag.grad(batches)(w, x, n)
            return w

        for n in (3, 1, 5):
            want = w
            for _ in range(20):
                want = want - 0.1 * ag.grad(batches).eager(want, x, n)
            np.testing.assert_allclose(train(w, x, n), want, rtol=1e-9)


# ------------------------------------------------------------------------------------- what is not staged
def test_the_tape_inside_a_function() -> None:
    def f(x: Any) -> Any:
        try:
            y = np.sin(x)
        except ValueError:
            y = x
        return y.sum()

    @ag.function
    def outer(x: Any) -> Any:
        return ag.grad(f)(x) * 2.0

    np.testing.assert_allclose(outer(V), ag.grad(f).eager(V) * 2.0)
    assert any("outside this graph" in note.reason for note in outer.traces[-1].concrete.notes)


def test_effects_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any, log: list[Any]) -> Any:
        log.append(1)
        print("seen")
        return (x * x).sum()

    log: list[Any] = []
    gradient = ag.grad(f)
    np.testing.assert_array_equal(gradient(V, log), 2 * V)
    np.testing.assert_array_equal(gradient(V, log), 2 * V)
    assert log == [1, 1]
    assert capsys.readouterr().out == "seen\nseen\n"


def test_no_warnings_of_the_way_back() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0)) + np.sqrt(x[0])

    x = np.array([0.0, 1.0, -2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ag.grad(f)(x)
    np.testing.assert_array_equal(found, [np.inf, 0.5, 0.0])


def test_a_function_made_again_and_again_stays_on_the_tape() -> None:
    for k in range(12):
        gradient = ag.grad(lambda x, k=k: k * x * x)
        assert gradient(2.0, float(k)) == 4.0 * k
    assert gradient.traces == ()


def test_several_derivatives_of_one_function_are_staged() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x * x * y)

    for argnums in (0, 1, (0, 1), (1, 0), (0,), (1,)):
        gradient = ag.grad(f, argnums=argnums)
        gradient(V, V)
        assert gradient.traces[-1].concrete is not None


def test_the_same_derivative_is_found_again() -> None:
    assert ag.grad(relaxed) is ag.grad(relaxed)
    assert ag.grad(relaxed) is not ag.grad(relaxed, argnums=(0,))


class Model:
    def __init__(self) -> None:
        self.w, self.k = np.array([1.0, 2.0]), 2.0

    def loss(self, x: Any) -> Any:
        return np.sum((x - self.w) ** 2) * self.k


def test_methods_are_staged_and_see_what_their_object_holds() -> None:
    model, x = Model(), np.zeros(2)
    assert ag.grad(model.loss) is ag.grad(model.loss)
    gradient = ag.grad(model.loss)
    np.testing.assert_array_equal(gradient(x), [-4.0, -8.0])
    assert gradient.traces[-1].concrete is not None
    model.k = 3.0
    model.w[0] = 0.0
    np.testing.assert_array_equal(gradient(x), [0.0, -12.0])
    model.w = np.array([1.0, 1.0])
    np.testing.assert_array_equal(gradient(x), [-6.0, -6.0])


def raises_after_a_write(x, seen):
    seen.append(1)
    raise ValueError("always")


def test_a_function_that_always_raises():
    """The graph was empty: its gradient was None."""
    for made in (ag.grad, ag.value_and_grad, ag.jacobian, ag.hessian):
        for wrap in (lambda f: f, ag.function):
            seen: list[int] = []
            derivative = wrap(made(raises_after_a_write))
            for count in (1, 2):
                with pytest.raises(ValueError, match="^always$"):
                    derivative(2.0, seen)
                assert len(seen) == count
    with pytest.raises(ag.GradientError, match="nothing to differentiate by"):
        ag.grad(raises_after_a_write)(2, [])


def test_a_derivative_of_ones_own_that_always_raises():
    @ag.custom_gradient
    def twice(x):
        def back(ct):
            raise KeyError("back")

        return 2 * x, back

    assert ag.function(twice)(1.0) == 2.0
    with pytest.raises(KeyError, match="back"):
        ag.grad(lambda x: twice(x) + x)(1.0)


def series(x: Any) -> Any:
    total, factorial = 1.0, 1
    for i in range(1, 30):
        factorial = factorial * i
        total = total + x**i / factorial
    return total


def series_in_series(x: Any) -> Any:
    total, big = 0.0, 1
    for i in range(20):
        big = big * 50
        if x > 0:
            bigger = big
            for _ in range(5 + i % 2):
                bigger = bigger * 30
                total = total + x * x / bigger
        else:
            total = total + x / (big * big)
    return total


@pytest.mark.parametrize("executor", ["numpy", "auto"])
def test_integers_that_are_kept_may_be_larger_than_numpys(executor: str) -> None:
    """They raised OverflowError."""
    with settings.override(executor=executor):
        for f in (series, series_in_series):
            gradient = ag.grad(f)
            for x in (0.5, -0.25):
                assert gradient(x) == pytest.approx(gradient.eager(x), rel=1e-12)
                value, pull_back = ag.vjp(f, x)
                assert (value, pull_back(1.0)[0]) == (f(x), pytest.approx(gradient(x), rel=1e-12))
            graph = gradient.traces[-1].concrete.graph
            verify(graph, OPS)
            assert print_graph(parse_graph(print_graph(graph))) == print_graph(graph)
