"""The public functions: arguments, structures, kinds, orders, conventions, errors."""

from __future__ import annotations

import concurrent.futures
import gc
import math
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.autodiff.levels import Active
from runtime.autodiff.reverse import Node

X = np.array([1.0, 2.0, 3.0])


def cubes(x: Any) -> Any:
    return (x**3).sum()


# -- structure and kinds -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x", [2.0, np.float64(2.0), np.float32(2.0), np.array(2.0), np.array([2.0], "f4"), np.ones((2, 2))]
)
def test_gradient_has_the_kind_of_its_argument(x: Any) -> None:
    got = ag.grad(lambda v: np.sum(v * v * 3))(x)
    assert type(got) is type(x) and np.shape(got) == np.shape(x)
    assert np.asarray(got).dtype == np.asarray(x).dtype
    np.testing.assert_allclose(got, 6 * x)


def test_python_float_stays_one_inside() -> None:
    kinds = []

    def f(x: float) -> float:
        kinds.append(type(x * 2))
        return x * x

    assert ag.grad(f)(3.0) == 6.0 and kinds == [float]


def test_trees() -> None:
    def loss(params: Any, n: int) -> Any:
        return (params["w"] * params["b"][0]).sum() * n

    got = ag.grad(loss)({"w": X, "b": (2.0, [5])}, 3)
    assert list(got) == ["w", "b"] and got["b"][0] == 18.0 and got["b"][1] == [None]
    np.testing.assert_array_equal(got["w"], [6.0, 6.0, 6.0])


def test_argnums() -> None:
    f = lambda a, b, c=1.0: a * b * c
    assert ag.grad(f, 1)(2.0, 3.0) == 2.0
    assert ag.grad(f, -1)(2.0, 3.0) == 2.0
    assert ag.grad(f, (0, 1))(2.0, 3.0, c=10.0) == (30.0, 20.0)


def test_aux() -> None:
    f = lambda x: (x * x, {"twice": 2 * x, "n": 3})
    (value, aux), g = ag.value_and_grad(f, has_aux=True)(4.0)
    assert (value, g, aux) == (16.0, 8.0, {"twice": 8.0, "n": 3})
    assert type(aux["twice"]) is float
    assert ag.grad(f, has_aux=True)(4.0) == (8.0, {"twice": 8.0, "n": 3})


def test_aux_of_an_array_is_plain() -> None:
    _, aux = ag.grad(lambda x: ((x * x).sum(), x * 2), has_aux=True)(X)
    assert type(aux) is np.ndarray


def test_vjp() -> None:
    value, back = ag.vjp(lambda a, b: (a * b, a.sum()), X, X + 1)
    np.testing.assert_array_equal(value[0], X * (X + 1))
    da, db = back((np.ones(3), 2.0))
    np.testing.assert_array_equal(da, X + 3)
    np.testing.assert_array_equal(db, X)
    np.testing.assert_array_equal(back((np.zeros(3), 1.0))[0], np.ones(3))  # more than once


def test_vjp_aux() -> None:
    value, back, aux = ag.vjp(lambda x: (x * x, "note"), 3.0, has_aux=True)
    assert (value, aux, back(1.0)) == (9.0, "note", (6.0,))


def test_jvp_of_trees() -> None:
    value, change = ag.jvp(lambda d: {"p": d["a"] * d["b"]}, ({"a": 2.0, "b": X},), ({"a": 1.0, "b": 0 * X},))
    np.testing.assert_array_equal(change["p"], X)
    np.testing.assert_array_equal(value["p"], 2 * X)


def test_jacobian() -> None:
    j = ag.jacobian(lambda x: np.outer(x, x))(X)
    assert j.shape == (3, 3, 3)
    np.testing.assert_array_equal(j[0], [[2, 0, 0], [2, 1, 0], [3, 0, 1]])
    assert ag.jacobian(lambda x: x * x)(3.0) == 6.0
    both = ag.jacobian(lambda a, b: a * b, (0, 1))(X, 2.0)
    np.testing.assert_array_equal(both[0], 2 * np.eye(3))
    np.testing.assert_array_equal(both[1], X)


def test_hessian() -> None:
    np.testing.assert_allclose(ag.hessian(cubes)(X), np.diag(6 * X))
    h = ag.hessian(lambda p: (p["a"] ** 2 * p["b"]).sum())({"a": X, "b": 2.0})
    np.testing.assert_allclose(h["a"]["b"], 2 * X)
    np.testing.assert_allclose(h["b"]["a"], 2 * X)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_any_order(order: int) -> None:
    f: Any = lambda x: np.exp(2 * x) * x
    for _ in range(order):
        f = ag.grad(f)
    x = 0.3
    assert f(x) == pytest.approx(np.exp(2 * x) * (2**order * x + order * 2 ** (order - 1)))


def test_perturbations_do_not_mix() -> None:
    assert ag.grad(lambda x: x * ag.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert ag.grad(lambda x: x * ag.jvp(lambda y: x * y, (2.0,), (1.0,))[1])(3.0) == 6.0
    assert ag.jvp(lambda x: x * ag.grad(lambda y: x * y * y)(2.0), (3.0,), (1.0,))[1] == 24.0


def test_unconnected_argument_is_zero_and_none_on_a_tape() -> None:
    np.testing.assert_array_equal(ag.grad(lambda x, y: y * y)(X, 2.0), np.zeros(3))
    with ag.GradientTape() as tape:
        x, y = tape.watch(X), tape.watch(2.0)
        z = (x * 0.0).sum()
    gx, gy = tape.gradient(z, (x, y))
    np.testing.assert_array_equal(gx, np.zeros(3))
    assert gy is None


def test_other_arguments_keep_their_effects() -> None:
    def f(x: Any, log: list[Any], out: Any) -> Any:
        log.append("called")
        out[:] = x * 2
        return (out * out).sum()

    log, out = [], np.zeros(3)
    np.testing.assert_array_equal(ag.grad(f)(X, log, out), 8 * X)
    assert log == ["called"]
    np.testing.assert_array_equal(out, 2 * X)


# -- conventions ---------------------------------------------------------------------------------------


def test_complex_gradient_is_steepest_ascent() -> None:
    z = np.array([1 + 2j, -0.5j])
    got = ag.grad(lambda z: (np.abs(z) ** 2).sum())(z)
    np.testing.assert_allclose(got, 2 * z)
    got = ag.grad(lambda z: np.real(z * (3 + 1j)).sum())(z)
    np.testing.assert_allclose(got, [3 - 1j, 3 - 1j])
    f = lambda z: np.abs(np.exp(z) * z - 1).sum()
    assert f(z + 1e-4 * ag.grad(f)(z)) > f(z) > f(z - 1e-4 * ag.grad(f)(z))


def test_real_argument_of_complex_path_gets_a_real_gradient() -> None:
    got = ag.grad(lambda x: np.abs(np.exp(1j * x) + x).sum())(X)
    assert got.dtype == np.float64


def test_complex_pairing() -> None:
    z, t, ct = 1 + 2j, 0.3 - 1j, -1 + 0.5j
    value, back = ag.vjp(lambda z: z**3, z)
    change = ag.jvp(lambda z: z**3, (z,), (t,))[1]
    assert change == pytest.approx(3 * z * z * t)
    assert np.real(np.conj(ct) * change) == pytest.approx(np.real(np.conj(back(ct)[0]) * t))


# -- cutting and custom rules ----------------------------------------------------------------------------


def test_stop_gradient() -> None:
    np.testing.assert_array_equal(ag.grad(lambda x: (x * ag.stop_gradient(x)).sum())(X), X)
    assert ag.stop_gradient({"a": X})["a"] is X


def test_custom_gradient() -> None:
    @ag.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = np.exp(x)
        return np.log(1 + e), lambda ct: ct * (1 - 1 / (1 + e))

    assert log1pexp(0.0) == pytest.approx(np.log(2))
    assert ag.grad(log1pexp)(100.0) == 1.0
    assert ag.grad(ag.grad(log1pexp))(0.0) == pytest.approx(0.25)
    assert ag.jvp(log1pexp, (0.0,), (2.0,))[1] == pytest.approx(1.0)


def test_custom_gradient_of_several() -> None:
    @ag.custom_gradient
    def f(a: Any, b: Any) -> Any:
        return (a * b, a + b), lambda cts: (cts[0] * 100, None)

    got = ag.grad(lambda a, b: sum(f(a, b)), (0, 1))(2.0, 3.0)
    assert got == (100.0, 0.0)


# -- functions of ag.function, tracing ---------------------------------------------------------------------


def test_inside_a_traced_function() -> None:
    @ag.function
    def step(x: Any, rate: Any) -> Any:
        return x - rate * ag.grad(cubes)(x)

    np.testing.assert_allclose(step(X, 0.1), X - 0.3 * X**2)
    np.testing.assert_allclose(step(X + 1, 0.1), X + 1 - 0.3 * (X + 1) ** 2)


def test_of_a_function_that_calls_traced_ones() -> None:
    @ag.function
    def inner(x: Any) -> Any:
        total = 0.0
        for v in x:
            if v > 1.5:
                total += v * v
        return total

    def outer(x: Any) -> Any:
        return inner(x) * 2

    np.testing.assert_array_equal(ag.grad(outer)(X), [0.0, 8.0, 12.0])
    assert outer(X) == 26.0


def test_method() -> None:
    class Model:
        def __init__(self, w: Any) -> None:
            self.w = w

        @ag.function
        def loss(self, x: Any) -> Any:
            s = np.zeros(3)
            s[0] = x[0] * self.w
            return s.sum()

    assert ag.grad(Model(3.0).loss)(X)[0] == 3.0
    assert ag.grad(lambda w: Model(w).loss(X))(2.0) == 1.0


@pytest.mark.parametrize(
    "made",
    [
        lambda z: z[[0, 2]],
        lambda z: z[z > 1.0],
        lambda z: z[1:][[0, 1]],
        lambda z: np.linspace(0.0, 1.0, 3),
        lambda z: np.loadtxt(["1 2 3"]),
    ],
)
def test_new_arrays_take_followed_values(made: Any) -> None:
    def f(x: Any) -> Any:
        z = np.array([3.0, 0.0, 2.0])
        new = made(z)
        new *= x[0]
        z[[0, 1]] += x[1]
        return new.sum() + z.sum()

    want = [made(np.array([3.0, 0.0, 2.0])).sum(), 2.0, 0.0]
    np.testing.assert_array_equal(ag.grad(f).eager(X), want)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(ag.grad(f)(X), want)


# -- what can't be -------------------------------------------------------------------------------------------


def test_integers_have_no_gradient() -> None:
    with pytest.raises(ag.GradientError, match="argument 0 of .* has nothing to differentiate by: int"):
        ag.grad(lambda x: x * 2.0)(3)


def test_result_must_be_scalar() -> None:
    with pytest.raises(ag.GradientError, match=r"an array of shape \(3,\)"):
        ag.grad(lambda x: x * 2)(X)
    with pytest.raises(ag.GradientError, match="gradient is that of one real number"):
        ag.grad(lambda x: x * 2)(1j)


def test_missing_rule_says_so() -> None:
    with pytest.raises(ag.GradientError, match=r"np\.i0 has no derivative"):
        ag.grad(lambda x: np.i0(x))(1.0)
    assert ag.grad(lambda x: x * ag.stop_gradient(np.i0(x)))(0.0) == 1.0


def test_losing_a_derivative_is_an_error() -> None:
    plain = np.zeros(3)

    def f(x: Any) -> Any:
        plain[0] = x[0]
        return plain.sum()

    with pytest.raises(ag.GradientError, match="would be lost"):
        ag.grad(f)(X)


def test_integer_array_takes_no_followed_value() -> None:
    def f(x: Any) -> Any:
        a = np.zeros(3, int)
        a[0] = x[0]
        return a.sum() * x[0]

    assert ag.grad(f)(X)[0] == 1.0  # rounding to an integer is a step


def test_errors_of_the_function_come_out() -> None:
    with pytest.raises(ZeroDivisionError):
        ag.grad(lambda x: 1.0 / (x - x))(2.0)
    with pytest.raises(IndexError):
        ag.grad(lambda x: x[5])(X)
    with pytest.raises(ValueError, match="math domain"):
        ag.grad(lambda x: math.sqrt(x))(-1.0)


def test_check_grads() -> None:
    ag.check_grads(lambda x: np.sin(x).sum(), (X,), order=3)

    @ag.custom_gradient
    def wrong(x: Any) -> Any:
        return x * x, lambda ct: ct * x

    with pytest.raises(ag.CheckError, match="finite differences"):
        ag.check_grads(wrong, (3.0,))


def test_loop_of_a_hundred_thousand_steps() -> None:
    def f(x: Any) -> Any:
        y = x
        for _ in range(30_000):
            y = y * 0.9999 + 0.0001
        return y

    assert ag.grad(f)(1.0) == pytest.approx(0.9999**30_000)


def test_writes_in_a_loop_do_not_copy() -> None:
    def f(x: Any) -> Any:
        s = np.zeros(20_000)
        for i in range(2_000):
            s[i] = x[i] * 2
        return s.sum()

    np.testing.assert_array_equal(ag.grad(f)(np.ones(2_000)), np.full(2_000, 2.0))


# -- memory against time -----------------------------------------------------------------------------------


def test_checkpoint() -> None:
    runs = []

    @ag.checkpoint
    def layer(w: Any, x: Any) -> Any:
        runs.append(1)
        return np.tanh(w * x) + w

    def loss(w: Any) -> Any:
        y = X
        for _ in range(3):
            y = layer(w, y)
        return y.sum()

    plain = ag.grad(lambda w: np.sum(np.tanh(w * (np.tanh(w * (np.tanh(w * X) + w)) + w)) + w))
    np.testing.assert_allclose(ag.grad(loss)(0.3), plain(0.3))
    assert len(runs) == 6
    np.testing.assert_allclose(ag.grad(ag.grad(loss))(0.3), ag.grad(plain)(0.3))
    np.testing.assert_allclose(ag.jvp(loss, (0.3,), (2.0,))[1], 2 * plain(0.3))


def test_checkpoint_refuses_captured_followed_values() -> None:
    def loss(w: Any) -> Any:
        return ag.checkpoint(lambda x: x * w)(X).sum() + ag.checkpoint(lambda x: x * w)(w)

    with pytest.raises(ag.GradientError, match="no argument"):
        ag.grad(loss)(0.3)


def test_plain_arrays_may_change_after_use() -> None:
    buffer = np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        total = 0.0
        for _ in range(3):
            total = total + (x * buffer).sum()
            buffer[:] = buffer * 2
        return total

    np.testing.assert_array_equal(ag.grad(f)(X), 7 * np.array([1.0, 2.0, 3.0]))


def test_control_flow_by_hand() -> None:
    def f(x: Any) -> Any:
        y = ag.while_loop(lambda k, y: k < 3, lambda k, y: (k + 1, y * x), (0, 1.0))[1]
        y = ag.for_loop([1, 2], lambda item, y: y + item * x, (y,))
        return ag.cond(y > 0, lambda y: y * 2, lambda y: y, (y,))

    assert ag.grad(f)(2.0) == 2 * (3 * 4.0 + 3)


# -- options of NumPy's functions that need care -----------------------------------------------------


def by_position(x: Any) -> Any:
    s = np.zeros(3)
    np.sum(np.outer(x, x), 0, None, s)
    np.multiply(s, x, s)
    np.cumsum(s, 0, None, s)
    return (s * X).sum()


def shuffled(x: Any) -> Any:
    y = x * x
    np.random.default_rng(3).shuffle(y)
    m = np.outer(x, [1.0, 2.0])
    np.random.default_rng(4).shuffle(m)
    return (y * X).sum() + (m * X[:, None]).sum()


def without_nan_in_place(x: Any) -> Any:
    y = x * 2
    np.nan_to_num(y, copy=False)
    return (y * y).sum()


def in_single_precision(x: Any) -> Any:
    return np.absolute(x, dtype=np.float32).sum() + np.maximum(x, 0, dtype="f4").sum()


@pytest.mark.parametrize("f", [by_position, shuffled, without_nan_in_place, in_single_precision])
def test_options(f: Any) -> None:
    x = np.array([0.5, 1.5, 2.25])
    value, g = ag.value_and_grad(f)(x)
    assert value == pytest.approx(f(x.copy()))
    for k in range(3):
        e = np.zeros(3)
        e[k] = 1e-2
        assert g[k] == pytest.approx((f(x + e) - f(x - e)) / 2e-2, rel=1e-3)


def test_what_is_not_supported_says_so() -> None:
    for f in (
        lambda x: x.resize(2),
        lambda x: np.quantile(x, 0.5, method="lower"),
        lambda x: np.matmul(x[None], x[:, None], axes=[(0, 1), (0, 1), (0, 1)]).sum(),
        lambda x: np.pad(x, 1, mode="mean").sum(),
    ):
        with pytest.raises(ag.GradientError):
            ag.grad(f)(X)


def test_missing_rule_names_the_line() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        return np.i0(y).sum()

    with pytest.raises(ag.GradientError, match=r"return np\.i0\(y\)\.sum\(\)"):
        ag.grad(f)(X)


def test_threads() -> None:
    def f(x: Any) -> Any:
        s = np.zeros(3)
        for i in range(3):
            s[i] = x[i] ** 3
        return s.sum()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        points = [X * k for k in range(1, 41)]
        for x, g in zip(points, pool.map(ag.grad(f), points), strict=True):
            np.testing.assert_allclose(g, 3 * x**2)


def test_nothing_is_kept() -> None:
    ag.grad(lambda x: (np.tanh(x) * 2).sum())(X)
    gc.collect()
    assert not [thing for thing in gc.get_objects() if type(thing) in (Active, Node)]


def test_arguments_without_floats_of_vjp_and_jvp() -> None:
    value, back = ag.vjp(lambda x, n: x**n, 2.0, 3)
    assert (value, back(1.0)) == (8.0, (12.0, None))
    assert ag.jvp(lambda x, n: x**n, (2.0, 3), (1.0, None)) == (8.0, 12.0)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_subclasses_and_objects_are_refused() -> None:
    matrix = np.ones((3, 3)).view(np.matrix)
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False])
    for f in (
        lambda x: (matrix * x[:, None]).sum(),
        lambda x: (x * masked).sum(),
        lambda x: np.array([x[0], 1.0], dtype=object)[0],
        lambda x: x.astype(object)[0],
        lambda x: np.abs(x[:2].copy().view(complex)).sum(),
    ):
        with pytest.raises(ag.GradientError):
            ag.grad(f)(np.ones(3))
    with pytest.raises(ag.GradientError, match="matrix"):
        ag.grad(lambda m: (m * m).sum())(matrix)


def test_object_array_keeps_boxes() -> None:
    def f(x: Any) -> Any:
        cells = np.empty(2, dtype=object)
        cells[0], cells[1] = x[0] * 2, x[1] * 3
        return sum(cells)

    np.testing.assert_array_equal(ag.grad(f)(X), [2.0, 3.0, 0.0])


def test_reading_that_depends_on_equality() -> None:
    x = np.array([0.0, 2.0, 3.0, 0.0])
    np.testing.assert_array_equal(ag.grad(lambda x: (np.trim_zeros(x) ** 2).sum())(x), [0.0, 4.0, 6.0, 0.0])
    got = ag.grad(lambda x: (np.intersect1d(x, [3.0, 2.0, 9.0]) * [1.0, 5.0]).sum())(x)
    np.testing.assert_array_equal(got, [0.0, 1.0, 5.0, 0.0])


def test_one_array_as_two_arguments() -> None:
    np.testing.assert_array_equal(ag.grad(lambda a, b: (a * b * b).sum(), (0, 1))(X, X)[1], 2 * X * X)

    def writes(a: Any, b: Any) -> Any:
        a[0] = 5.0
        return (a * b).sum()

    with pytest.raises(ag.GradientError, match="another argument"):
        ag.grad(writes)(X, X)
    np.testing.assert_array_equal(ag.grad(writes)(X, X.copy()), [0.0, 2.0, 3.0])
    x = X.copy()
    with pytest.raises(ag.GradientError, match="another argument"):  # the other one, a copy, did not see it
        ag.grad(writes, 1).eager(x, x[::-1])
    value, slope = ag.value_and_grad(lambda y, a, b: writes(a, b) * y).eager(2.0, x, x)
    assert value == 2 * slope == 2 * (x * x).sum() and x[0] == 5.0


def test_out_that_cannot_take_the_result() -> None:
    def f(x: Any, n: Any) -> Any:
        n *= x
        return n.sum()

    with pytest.raises(TypeError, match="Cannot cast ufunc 'multiply' output"):
        ag.grad(f)(X, np.array([1, 2, 3]))


def test_writes_into_empty_views() -> None:
    def f(x: Any) -> Any:
        y = x[3:]
        y[:] *= x.sum()
        return x.sum()

    np.testing.assert_array_equal(ag.grad(f)(X), np.ones(3))
