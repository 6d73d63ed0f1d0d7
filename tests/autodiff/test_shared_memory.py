"""Arrays that are one memory under several names, or are written to later: gradients of such programs as
graphs, where they are, are those that finite differences give."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime import tree
from runtime.autodiff import transforms
from runtime.config import settings
from tests.autodiff.test_programs import difference

X = np.array([0.5, -1.25, 2.0, 0.75])


def read_in_inner_loops_and_written_after_them(x: Any) -> Any:
    a, s = x * 2, 0.0
    for _ in range(20):
        t = 0.0
        for j in range(30):
            t = t + a[j % 4] * a[j % 4]
        s = s + t * 0.01
    a[:] = 0.0
    return s + a.sum()


def rows_read_in_a_branch_and_written_after_it(x: Any) -> Any:
    a, t = np.outer(x, x), np.zeros(4)
    if x[0] > 0:
        for j in range(40):
            t = t + np.sin(a[j % 4])
    a[:] = 0.0
    return t.sum() + a.sum()


def exchanged_by_trips(x: Any) -> Any:
    a, b = x * 2, x * 3
    c = np.sin(b)
    for i in range(21):
        a[0] = x[1] * i
        a, b = b, a
    return (a * b).sum() + c.sum()


def exchanged_by_trips_in_a_circle(x: Any) -> Any:
    a, b, c = x * 2, x * 3, x * 4
    d = np.sin(b) + np.cos(c)
    for i in range(22):
        a[1] = x[1] * i + a[2]
        a, b, c = b, c, a
    return (a * b * c).sum() + d.sum()


def array_and_view_from_branches(x: Any) -> Any:
    if x[0] > 0:
        a = x * 2
        v = a[1:]
    else:
        a = x * 3
        v = a[1:]
    a[2] = x[0] * 7
    return (v * v).sum()


def view_from_branches_that_is_written_to(x: Any) -> Any:
    if x[0] < 0:
        a = x * 2
        v = a[1:]
    else:
        a = x * 3
        v = a[1:]
    v[0] = x[0] * 7
    return (a * a).sum()


def imaginary_part_of_what_is_written_to(x: Any) -> Any:
    z = x * (1 + 2j)
    v = z.imag
    z[0] = x[1] * (2 - 1j)
    z.real[1] = x[2] * x[0]
    return (v * np.arange(4.0)).sum() + (z * z).imag.sum()


def copies(x: Any) -> Any:
    s, t = np.zeros(4), x * 2
    s[0] = 1.0
    y, z, w = copy.copy(s), copy.deepcopy(s), copy.copy(t)
    y[1], z[2], w[3] = 5.0, x[0], x[1]
    return (s * x).sum() + (y * x).sum() + (z * x**2).sum() + (w * t).sum()


def written_by_flat_numbers(x: Any) -> Any:
    y, z = np.outer(x, x).T, np.zeros((2, 2)).T
    y.flat[1], z.flat[1] = x[0] * 5, 3.0
    y.flat[[3, 3, 5]] = [x[0], x[1] * 2, x[2]]
    y[:, ::2].flat[2:7] = x[:2]
    y.flat[np.arange(16) > 13] = x[1:]
    y[1:, 1:3].flat = x
    return (y * np.arange(16.0).reshape(4, 4)).sum() + (z.ravel() * x).sum()


def flat_that_is_held(x: Any) -> Any:
    y = np.outer(x, x).T
    flat = y.flat
    y[0, 1] = x[3] * 9
    part = flat[1:3]
    y[0, 2] = part[0] = 0.0
    flat[6] = x[1]
    looks = np.reshape(flat, (2, 8))
    return part.sum() + flat[2] + (y * y).sum() + looks.sum() + sum(k * v for k, v in enumerate(flat))


def list_that_grows_while_it_is_gone_over(x: Any) -> Any:
    items, s = [], 0.0
    for i in range(20):
        items.append(x[i % 4] * i)
    for v in items:
        s = s + v * v
        if len(items) < 40:
            items.append(v * 0.9)
    return s


def list_that_shrinks_while_it_is_gone_over(x: Any) -> Any:
    items, s = [x[i % 4] * i for i in range(30)], 0.0
    for v in items:
        s = s + v * v
        if len(items) > 10:
            items.pop()
    return s


def memory_to_work_in(x: Any) -> Any:
    y, c = x * x, np.arange(4.0)[::-1] * 1.0
    s = (c * x).sum() + np.median(c, None, None, True)
    s = s + np.quantile(y, q=0.3) * np.percentile(y, 20.0, overwrite_input=True)
    return np.median(y, overwrite_input=True) + y.sum() + s + (c * c).sum() * x[0]


PROGRAMS: list[Callable[..., Any]] = [
    read_in_inner_loops_and_written_after_them,
    rows_read_in_a_branch_and_written_after_it,
    exchanged_by_trips,
    exchanged_by_trips_in_a_circle,
    array_and_view_from_branches,
    view_from_branches_that_is_written_to,
    imaginary_part_of_what_is_written_to,
    copies,
    written_by_flat_numbers,
    flat_that_is_held,
    list_that_grows_while_it_is_gone_over,
    list_that_shrinks_while_it_is_gone_over,
    memory_to_work_in,
]


@pytest.mark.parametrize("executor", ["numpy", "auto"])
@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_gradients(f: Callable[..., Any], executor: str) -> None:
    gradient = ag.value_and_grad(f)
    want = difference(f, X)
    with settings.override(executor=executor):
        for made in (gradient, gradient.eager, ag.function(lambda x: ag.value_and_grad(f)(x))):
            value, slope = made(X)
            np.testing.assert_allclose(value, f(X.copy()), rtol=1e-12)
            np.testing.assert_allclose(slope, want, rtol=1e-6, atol=1e-8)


def sum_of_a_list_that_is_broadcast(x: Any) -> Any:
    items = []
    for i in range(20):
        if i % 2 == 0:
            items.append(x[:1] * i)
        else:
            items.append(x * i)
    return (sum(items) * x).sum()


def test_a_sum_of_items_of_several_shapes() -> None:
    """It raised ValueError when the graph ran."""
    gradient = ag.grad(sum_of_a_list_that_is_broadcast)
    np.testing.assert_allclose(gradient(X), difference(sum_of_a_list_that_is_broadcast, X), rtol=1e-7)
    assert gradient.traces[-1].concrete is not None


def test_copies_that_numpy_makes_in_code_that_is_not_converted() -> None:
    """The copy was the array itself: the write to it was a write to s."""

    def f(x: Any) -> Any:
        s = np.ones_like(x)
        np.array(s)[0] = 7.0
        np.array(s, copy=True)[1] = 7.0
        return (s * x).sum()

    np.testing.assert_array_equal(transforms.grad(f)(X), np.ones(4))


def numbers_read_and_then_written(x: Any) -> Any:
    a, s = x * 2, 0.0
    for i in range(40):
        s = s + np.sin(a[i % 4] * s) * 0.1 + a[(i + 1) % 4]
    a[:] = 0.0
    return s + a.sum()


def rows_gone_over_and_then_written(x: Any) -> Any:
    a, s = np.outer(x, x), np.zeros(4)
    for row in a:
        s = np.sin(s + row) * row
    a[:] = 0.0
    return s.sum() + a.sum()


@pytest.mark.parametrize("f", [numbers_read_and_then_written, rows_gone_over_and_then_written])
def test_trips_that_are_done_again_see_what_they_saw(f: Callable[..., Any]) -> None:
    want = ag.grad(f)(X)
    for every in (1, 3, "sqrt"):
        gradient = ag.grad(f, checkpoint_every=every)
        np.testing.assert_allclose(gradient(X), want, rtol=1e-12)
        assert gradient.traces[-1].concrete is not None


def test_results_that_the_caller_writes_to_before_pulling_back() -> None:
    """What the way back needs was the same memory as a part of a result."""
    m = np.random.default_rng(0).standard_normal((3, 3))

    def looks(x: Any) -> Any:
        y = x * x
        return np.sin(y), {"part": [y[1:]]}

    def parts(m: Any) -> Any:
        u, s, _ = np.linalg.svd(m)
        return u, s

    for f, x in ((looks, X), (parts, m)):
        value, pull_back = ag.vjp(f, x)
        cotangent = tree.map_leaves(np.ones_like, value)
        want = pull_back(cotangent)[0].copy()
        for leaf in tree.flatten(value)[0]:
            leaf[...] = 0.0
        np.testing.assert_array_equal(pull_back(cotangent)[0], want)


def test_results_of_unknown_sizes_are_pulled_back() -> None:
    """They ended in AssertionError."""

    def f(x: Any) -> Any:
        y, s = x[:1] * 1, 0.0
        for i in range(20):
            y = np.concatenate([y, x[i % 4 : i % 4 + 1] * y[-1:]])
            s = s + np.sin(y).sum()
        return s, y

    value, pull_back = ag.vjp(f, X)
    want = difference(lambda x: f(x)[0] + f(x)[1].sum(), X)
    np.testing.assert_allclose(pull_back((1.0, np.ones_like(value[1])))[0], want, rtol=1e-7)


def test_what_is_not_connected_beside_what_is() -> None:
    """In one `with` block, or by an array whose cotangent is there: zeros stood where None was asked for."""

    def block(p: Any) -> Any:
        with np.errstate(all="ignore"):
            a, b = p["u"] * 2, p["v"] * 3
        return a.sum()

    def arrays(p: Any) -> Any:
        a, b = np.zeros(4), np.zeros(4)
        a[:], b[:] = p["v"], p["u"]
        return b[1:].sum()

    for f in (block, arrays):
        gradient = ag.grad(f, unconnected="none")
        found = gradient({"u": X, "v": X})
        assert found["u"] is not None and found["v"] is None
        assert gradient.traces[-1].concrete is not None
