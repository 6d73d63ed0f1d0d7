"""Arrays joined end to end and side by side in native code, and names that a loop may leave unbound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(2)


def matrices(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(3):
        a, b = x[k:, ::2], y[k:, 1:]
        c = np.concatenate((a, b), axis=1)
        d = np.concatenate((a, x[:, : a.shape[1]] * 2, a), axis=0)
        e = np.hstack((b, b + 1, c))
        f = np.vstack((x[0], x, x[k] - 1, x[:0]))
        g = np.column_stack((x[:, 0], x, y[:, k], y[:, 0] * x[:, 1]))
        h = np.stack((a, a * 2), axis=-1)
        i = np.stack((x[0], x[k]), axis=1)
        j = np.concatenate((x[0], y[0], x[:, 0]))
        total += c[0, -1] + d[-1, 0] + e[1, 1] + f[k, k] * g[1, -1] + h[0, 1, 1] - i[1, 0] + j[-1]
    return total, c, d, e, f, g, h, i, j


def lines(x, y):  # type: ignore[no-untyped-def]
    return (
        np.hstack((x, y)), np.vstack((x, x)), np.column_stack((x, y[: len(x)])), np.stack((x, x + 1)),
        np.hstack((x > 1, y > 1)), np.concatenate((x, x.astype(np.float32), y), axis=-1),
        np.column_stack((x,)),
    )  # fmt: skip


def grown(x, n):  # type: ignore[no-untyped-def]
    y = np.concatenate((x[:n], x[n:] * 2, x[:n]))
    for k in range(n):
        y = np.concatenate((y[k:], x[: k + 1]))
        z = np.column_stack((y[: k + 2], y[-k - 2 :]))
    return y, z.T @ z, z[0].copy()


def numbers(x, s, k, t):  # type: ignore[no-untyped-def]
    """Numbers and displays among what is joined; t: as large as s, of another dtype."""
    return (
        np.stack([s, s * 2]), np.stack((k, t, True)), np.hstack([s, x, k]), np.hstack((s, t)),
        np.vstack([s, k]), np.column_stack([t, k]), np.concatenate([[0.0], np.cumsum(x)]),
        np.concatenate(([k], x[:2], [s, t])),
        np.append(x, s), np.append(t, x > 1), np.stack(([s, 1], [t, k]), axis=1), np.stack((s, k), axis=-1),
        np.vstack([x[:2], [s, k]]), np.vstack(([1, 2], [k, 4])), np.column_stack((x[:2], [k, 2])),
        np.concatenate(([[s, s]], [[2.0, 1.0]], x[:2, None] * x[:2]), axis=0), np.array([]),
    )  # fmt: skip


def refused(x, y):  # type: ignore[no-untyped-def]
    return np.concatenate([x, 1.0]) if y else np.concatenate([x, [[1.0]]])


def turned(x, y):  # type: ignore[no-untyped-def]
    return np.concatenate((x.T, x.T), axis=1) * 1.0, np.vstack((x.T, x.T)), np.stack((x.T, x.T), axis=1)


def test_joined() -> None:
    for dtype, other in (("f8", "f8"), ("i8", "f4"), ("u1", "i2"), ("?", "?")):
        x, y = ((R.random((9, 8)) * 5).astype(t) for t in (dtype, other))
        both(matrices, [(x, y)], lowered=dtype == "f8")
        both(matrices, [(np.asfortranarray(x), y), (x[::-1], y.T.copy().T)], lowered=False)
        both(lines, [(x[0], y[:, 0])], lowered=dtype == "f8")
    both(turned, [(R.random((4, 6)), 1)], lowered=False)
    for function in (turned, lines):
        args: tuple[Any, ...] = (R.random((4, 6)), 1) if function is turned else (R.random(4), R.random(6))
        wanted, found = function(*args), both(function, [args], lowered=False)(*args)
        assert [x.strides for x in wanted] == [x.strides for x in found]


def test_numbers_among_arrays() -> None:
    for dtype in ("f8", "f4", "i8", "u1"):
        x = (R.random(5) * 5).astype(dtype)
        floats = dtype[0] == "f"  # a list of Python's ints and others is not lowered
        converted = both(numbers, [(x, x[0], k, np.float32(x[0])) for k in (3, 2, 4)], lowered=floats)
        assert not floats or not converted.traces[-1].concrete.native.bails
        both(numbers, [(x, 2.5, True, x[1]), (x[:2], x[0], -1, 7)], lowered=False)
    both(lambda x: np.concatenate([[], x]), [(R.random(3),), (np.arange(3),)], lowered=False)
    both(refused, [(R.random(3), True), (R.random(3), False)], lowered=False)


def test_unknown_sizes_and_unbound_names() -> None:
    both(grown, [(R.random(12), n) for n in (3, 4, 1, 0, 7)], lowered=False)
    converted = both(grown, [(R.random(12), n) for n in (3, 4)])
    assert converted.traces[-1].concrete.native.bails == 0


def halved(p, n):  # type: ignore[no-untyped-def]
    cost, done = p @ p, 0.0
    for k in range(n):
        while True:
            new = p * 0.5
            smaller = new @ new
            if smaller < 3:
                break
            p = new + 1e-3
        done = cost - smaller
        p, cost = new, smaller  # is known to be a number, as it was asked for in the line before
    return p, cost, done


def test_names_that_were_asked_for_before() -> None:
    converted = both(halved, [(R.random(4) * 9, n) for n in (5, 6)])
    assert not converted.traces[-1].concrete.not_native


def test_shapes_that_do_not_fit() -> None:
    def refused(x, y):  # type: ignore[no-untyped-def]
        return np.concatenate((x, y), axis=1) + np.vstack((x[:1], y[:1]))[0, 0]

    both(refused, [(R.random((3, 4)), R.random((3, 5))), (R.random((3, 4)), R.random((2, 4)))], lowered=False)


def test_only_what_has_one_axis_is_a_line() -> None:
    def rows(x, y):  # type: ignore[no-untyped-def]
        return np.vstack((x, y)) + 1

    def columns(x, y):  # type: ignore[no-untyped-def]
        return np.column_stack((x, y)) + 1

    for function in (rows, columns):
        both(function, [(R.random((3, 3)), R.random(3))])
        both(function, [(R.random((3, 3, 3)), R.random((3, 3)))], lowered=False)
