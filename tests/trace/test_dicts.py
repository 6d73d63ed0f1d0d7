"""Copies of dicts, and items that are taken out, where all is known: as in Python; gradients stay staged."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings

Params = dict[str, Any]


def copied(p: Params) -> Any:
    q = dict(p, c=1.0)
    q["d"] = q["a"] * 2
    return np.sum(q["d"]) + len(q), list(q)


def method(p: Params) -> Any:
    q = p.copy()
    q["a"] = q["a"] * 2
    return np.sum(q["a"] * p["a"]), list(q)


def displayed(p: Params) -> Any:
    q = {"z": 0.0, **p, "b": p["a"] * 3}
    return np.sum(q["b"]), list(q)


def united(p: Params) -> Any:
    q = p | {"a": p["a"] * 2, "c": p["b"]}
    q |= {"d": q["a"]}
    return np.sum(q["d"]) * q["c"], list(q)


def updated(p: Params) -> Any:
    q: Params = {}
    q.update(p, c=p["b"])
    return np.sum(q["a"]) * q["c"], list(q)


def deleted(p: Params) -> Any:
    x = p["a"] * 2
    del p["a"]
    return np.sum(x) + len(p), list(p)


def popped(p: Params) -> Any:
    x = p.pop("a") * 2
    y = p.pop("none", 3.0)
    return np.sum(x) * y, list(p), "a" in p


def defaults(p: Params) -> Any:
    x = p.setdefault("a", 1.0) * p.setdefault("c", p["b"] * 2)
    return np.sum(x), list(p)


def in_arms(p: Params) -> Any:
    if p["b"] > 1:
        del p["b"]
    else:
        p["c"] = p.pop("b")
    return np.sum(p["a"]) + len(p), list(p), p.get("b", 5.0)


def in_a_loop(p: Params) -> Any:
    for _ in range(50):
        p["a"] = p["a"] * 0.9
    return np.sum(p["a"]), list(p)


def again_in_a_loop(p: Params) -> Any:
    t = 0.0
    for i in range(50):
        q = dict(p)
        if i % 2 == 0:
            t = t + np.sum(q.pop("a")) * i
        t = t + len(q)
    return t, list(p)


def missing(p: Params) -> Any:
    del p["a"]
    return np.sum(p["a"])


PROGRAMS = [
    *(copied, method, displayed, united, updated),
    *(deleted, popped, defaults, in_arms, in_a_loop, again_in_a_loop),
]


@pytest.fixture(params=["numpy", "native"], autouse=True)
def _executor(request: pytest.FixtureRequest) -> Iterator[None]:
    with settings.override(executor=request.param, compile="now"):
        yield


def params(b: float = 3.0) -> Params:
    return {"a": np.array([1.0, 2.0]), "b": b}


def outcome(f: Callable[..., Any], p: Params) -> str:
    """What the call gives, and what the dict holds afterwards."""
    given = copy.deepcopy(p)
    try:
        return repr((f(given), given))
    except Exception as error:
        return repr((type(error), str(error), given))


@pytest.mark.parametrize("f", [*PROGRAMS, missing], ids=lambda f: f.__name__)
def test_as_in_python(f: Callable[..., Any]) -> None:
    def of_its_own(a: Any, b: Any) -> Any:
        p = {"a": a, "b": b}
        return f(p), p

    staged, inside = ag.function(f), ag.function(of_its_own)
    for b in (3.0, 0.5, 3.0):
        assert outcome(staged, params(b)) == outcome(f, params(b))
        pair = [outcome(lambda p, g=g: g(p["a"], p["b"]), params(b)) for g in (of_its_own, inside)]
        assert pair[0] == pair[1]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_are_staged(f: Callable[..., Any]) -> None:
    def value(p: Params) -> Any:
        return f(p)[0]

    gradient = ag.grad(value)
    for b in (3.0, 0.5):
        found = gradient(params(b))
        want = ag.grad(ag.do_not_convert(value))(params(b))
        assert found.keys() == want.keys()
        for key in want:
            np.testing.assert_allclose(found[key], want[key])
    assert all(trace.concrete is not None for trace in gradient.traces), [t.plain for t in gradient.traces]
