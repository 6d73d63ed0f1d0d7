"""`np.c_`, `np.r_`, `np.mgrid` and `np.ogrid`: objects that compute with what stands in the index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy as other_name
import pytest

import autograph as ag
from tests.execute.native.harness import bits

X, Y, Z = np.arange(6.0).reshape(3, 2), np.arange(3.0), np.arange(3)


def columns(x: Any, y: Any) -> Any:
    return np.c_[y, x, y], np.c_[y], np.c_[x, x]


def with_ones(x: Any, y: Any) -> Any:
    a = other_name.c_[np.ones(len(x)), x]
    return a.T @ a, a[0]


def other_parts(x: Any, y: Any) -> Any:
    return np.r_[y, 0, y[0], [1, 2]], np.r_[0 : len(y), 5], np.r_["0,2", y, y], np.c_[x, len(y) * y]


def rows(x: Any, y: Any) -> Any:
    total = 0.0
    for k in range(3):
        a = np.r_[y, x[:, 0] * k]
        total += a.sum()
    return total, np.r_[x, x], np.r_[y]


def grids(x: Any, y: Any) -> Any:
    n = len(y)
    i, j = np.mgrid[0:n, 0 : n + 1]
    for a in np.ogrid[: y[1] : 3j, 2:4]:
        i = i + a.sum()
    return i, j, np.mgrid[0:3], x[np.s_[1:, ::-1]]


def of_different_lengths(x: Any, y: Any) -> Any:
    return np.c_[y[1:], x]


def own(x: Any, y: Any) -> Any:
    c_ = {(1, 2): x}
    return c_[1, 2]


mine: Any = np.c_


def rebound(x: Any, y: Any) -> Any:
    return mine[x, x] if type(mine) is not np.ndarray else mine[1]


FUNCTIONS = [columns, with_ones, other_parts, rows, grids, of_different_lengths, own]


def seen(f: Callable[..., Any], *args: Any) -> Any:
    try:
        found = f(*args)
    except Exception as error:
        return type(error), str(error)
    parts = found if isinstance(found, tuple) else (found,)
    return bits(found), [a.strides for a in parts if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_python_does(f: Callable[..., Any]) -> None:
    converted = ag.function(f)
    for x, y in [
        (X, Y),
        (X, Z),
        (np.asfortranarray(X), Y[::-1]),
        (X.astype("f4"), Z),
        (X[:0], Y[:0]),
        (Y, Y),
    ]:
        for _ in range(2):
            assert seen(converted, x, y) == seen(f, x, y)
    with ag.settings.override(executor="native", compile="now"):
        assert seen(ag.function(f), X, Y) == seen(f, X, Y)


@pytest.mark.parametrize("f", FUNCTIONS[:5], ids=lambda f: f.__name__)
def test_the_rest_of_the_function_is_traced(f: Callable[..., Any]) -> None:
    assert not ag.function(f).get_concrete_function(X, Y).graph.diverges
    converted = ag.function(f)
    converted(X, Y)
    assert "as plain Python" not in str(ag.explain(converted))


def test_arrays_of_one_dtype_have_a_type() -> None:
    graph = str(ag.function(with_ones).get_concrete_function(X, Y).graph)
    assert "float64[3, 3]" in graph


def test_a_name_may_come_to_stand_for_something_else() -> None:
    global mine
    converted = ag.function(rebound)
    try:
        for mine in (np.c_, np.r_, np.arange(4.0), np.mgrid, np.c_):
            args = (X, Y) if mine is not np.mgrid else (slice(0, 2), Y)
            for _ in range(2):
                assert seen(converted, *args) == seen(rebound, *args)
    finally:
        mine = np.c_
