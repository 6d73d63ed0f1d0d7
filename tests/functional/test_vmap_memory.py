"""`ag.vmap` of functions that write: into arrays, looks at them, arguments, and what all items share."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import autograph as ag
from tests.functional.test_vmap import CUBES, INDEX, ROWS, SCALARS, SHARED, W, one_by_one, same, stacked


def flattened_before(x):
    y = x.copy()
    z, y[0] = y.flatten(), 7
    return z, y


def strided_before(x):
    y = x.copy()
    z, y[0] = y[::2].ravel(), 7
    return z, y


def raveled(x):
    y = x + 0
    z, y[0, 0] = y.ravel(), 7
    return z, y


def swapped(x):
    y = x + 0
    z, y[0, 0] = np.swapaxes(y, 0, 1), 7
    return z, y


def written_through_a_look(x):
    y = x + 0
    z = np.swapaxes(y, 0, 1)
    for k in range(40):
        z[0, 0] = z[0, 0] * 0.5 + k
    return y, z


def row_of_its_own(x, i):
    y = x * 1
    z, y[0], y[1] = y[i], 5, 6
    return z, y


def numbers_before(x):
    y = x.copy()
    a, b, *_ = y
    y[:] = 5
    return a, b, y[0]


def carried(x):
    y = np.zeros(4)
    z = y[1:]
    for k in range(40):
        y[k % 4] = y[k % 4] * 0.5 + x[k % 4]
        y = y * x
    return y, z


def one_of_two(x, flag):
    y = x * 1
    z = y if flag else y[::-1]
    y[0] = 9
    return z + 0, z


def writes_to_the_argument(x, y):
    x[0] = 7
    return y.sum(), x


def made_and_written_in_a_loop(x):
    s, u = np.zeros(4), np.zeros(4)
    for k in range(40):
        t = np.zeros(4)
        back, t[0] = t[::-1], x[0] * k
        s, u = s * 0.5 + t, u + back
    return s, u + x


def made_and_written_in_an_arm(x, flag):
    s = np.ones(4)
    if flag:
        t = np.zeros(4)
        t[0] = x[0]
        s = t * 2
    return s, s + x


def made_and_written_while(x, n):
    s = np.ones(4)
    while n > 0:
        t = np.zeros(4)
        t[1] = x[0]
        s, n = s + t, n - 1
    return s * x, s


def appends(x, log):
    log.append(float(x[0]))
    return x * len(log)


def counts(x, seen):
    seen["n"] = seen.get("n", 0) + 1
    return x * seen["n"]


class Tally:
    def __init__(self):
        self.n = 0

    def __eq__(self, other):
        return self.n == other.n


def adds_up(x, tally):
    tally.n += 1
    return x * tally.n


@dataclasses.dataclass
class Point:
    x: object


def moves_a_point(x, p):
    p.x = p.x + x[0]
    return p.x * 2


# where it matters whether an array is a look at another one, or what it was
MEMORY = [
    (flattened_before, lambda: (ROWS.copy(),), 0),
    (strided_before, lambda: (ROWS.copy(),), 0),
    (raveled, lambda: (CUBES.copy(),), 0),
    (swapped, lambda: (CUBES.copy(),), 0),
    (written_through_a_look, lambda: (CUBES.copy(),), 0),
    (row_of_its_own, lambda: (CUBES.copy(), INDEX), 0),
    (numbers_before, lambda: (ROWS.copy(),), 0),
    (carried, lambda: (ROWS.copy(),), 0),
    (one_of_two, lambda: (ROWS.copy(), True), (0, None)),
    (made_and_written_in_a_loop, lambda: (ROWS.copy(),), 0),
    (made_and_written_in_an_arm, lambda: (ROWS.copy(), np.bool_(True)), (0, None)),
    (made_and_written_in_an_arm, lambda: (ROWS.copy(), np.bool_(False)), (0, None)),
    (made_and_written_while, lambda: (ROWS.copy(), np.int64(4)), (0, None)),
    (appends, lambda: (ROWS.copy(), []), (0, None)),
    (appends, lambda: (ROWS.copy(), [1.5]), (0, None)),
    (counts, lambda: (ROWS.copy(), {}), (0, None)),
    (adds_up, lambda: (ROWS.copy(), Tally()), (0, None)),
    (moves_a_point, lambda: (ROWS.copy(), Point(1.0)), (0, None)),
    (writes_to_the_argument, lambda: (ROWS.copy(),) * 2, 0),
    (writes_to_the_argument, lambda: (lambda x: (x, x[::-1]))(ROWS.copy()), 0),
    (writes_to_the_argument, lambda: (ROWS.copy(),) * 2, (0, None)),
]


@pytest.mark.parametrize("f,given,axes", MEMORY, ids=lambda x: getattr(x, "__name__", None))
def test_memory(f, given, axes):
    v, before = ag.vmap(f, in_axes=axes), given()
    expected = stacked(one_by_one(f, before, axes))
    for call in (v, v, ag.function(lambda *a: v(*a))):
        args = given()
        assert same(call(*args), expected)
        assert all(np.array_equal(x, y) for x, y in zip(args, before, strict=True))


def spreads(x, w):
    y = np.zeros((4, 4))
    y[:], y[0] = x[:, None], x.reshape(1, 4)
    y[1, :1], y[2] = x[None, :1], w
    return y


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_values_with_more_axes_than_what_is_written_to(n):
    v = ag.vmap(spreads, in_axes=(0, None))
    for _ in range(2):
        assert same(v(ROWS[:n], W[None, :, 0]), stacked([spreads(x, W[None, :, 0]) for x in ROWS[:n]]))
        assert not v.not_together
    with pytest.raises(ValueError, match="could not broadcast"):
        v(ROWS[:n], np.ones((max(n, 2), 4)))


def test_an_empty_list_is_the_one_that_was_given():
    for call in (ag.vmap(appends), ag.function(lambda *a, **k: ag.vmap(appends)(*a, **k))):
        log, named = [], []
        assert same(call(ROWS, log), ROWS * np.arange(1.0, 8.0)[:, None]) and len(log) == 7
        assert same(call(ROWS, log=named), ROWS * np.arange(1.0, 8.0)[:, None]) and len(named) == 7


LOOKS = [
    (lambda x: x, ROWS, 0),
    (lambda x: (x, x), ROWS, 0),
    (lambda x: x[1:], ROWS, 0),
    (lambda x: x[0], ROWS, 0),
    (lambda x: x, SCALARS, 0),
    (lambda x: x.T, CUBES, 0),
    (lambda x: x.T * 2, CUBES, 0),
    (lambda x: x * 2, ROWS, 1),
    (lambda x: x.reshape(2, 2), ROWS, 0),
    (lambda x: (SHARED, SHARED), ROWS, 0),
    (lambda x: (lambda y: [y, y[1:], y])(x * 2), ROWS, 0),
]


@pytest.mark.parametrize("f,x,axis", LOOKS)
def test_results_are_arrays_of_their_own(f, x, axis):
    v = ag.vmap(f, in_axes=axis)
    for call in (v, v, ag.function(lambda a: v(a))):
        given = x.copy()
        got = call(given)
        results = list(got) if isinstance(got, (tuple, list)) else [got]
        for k, one in enumerate(results):
            assert one.flags.c_contiguous and one.flags.writeable and not v.not_together
            assert not any(np.shares_memory(one, other) for other in (given, SHARED, *results[:k]))


def test_gradients_through_writes():
    def f(x, w):
        y = x * 1
        y[0] = w[0, 0] * y[1]
        return y.sum(), y

    def total(w):
        sums, rows = ag.vmap(f, in_axes=(0, None))(ROWS, w)
        return sums.sum() + (rows**2).sum()

    expected = np.zeros_like(W)
    expected[0, 0] = (ROWS[:, 1] + 2 * W[0, 0] * ROWS[:, 1] ** 2).sum()
    for g in (ag.grad(total), ag.function(lambda w: ag.grad(total)(w))):
        assert np.allclose(g(W), expected, rtol=1e-13)
