"""Python's min, max, any and all over arrays, lists and generators: in native code and in plans."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both, seen

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
X = np.array([0.5, -1.5, 3.0, 3.0, -2.0, 0.0])
NAN = np.array([1.0, np.nan, 2.0, -0.0, 0.0])

CASES: dict[str, Callable[..., Any]] = {
    "arrays": lambda w, t: (max(w), min(w), any(w > t), all(w > t), any(w), all(w)),
    "generators": lambda w, t: (max(u * t for u in w), min(u - t for u in w), max(abs(u) for u in w if u)),
    "lists": lambda w, t: (max([u * t for u in w]), min([float(u) for u in w]), any([u > t for u in w])),
    "by number": lambda w, t: (max(w[k] * k for k in range(len(w))), min(w[k] - k for k in range(1, len(w)))),
    "any": lambda w, t: (any(u > t for u in w), any(u > t for u in w if u), any(u for u in w)),
    "all": lambda w, t: (all(u > t for u in w), all(u > t for u in w if u > 0), all(w[k] for k in range(3))),
    "default": lambda w, t: (max((u for u in w if u > t), default=0.0), min([u for u in w], default=w[0])),
    "displays": lambda w, t: (max([w[0], t, 0.0]), min((w[1], 1)), max([t]), any([w[0] > 0, t > 0])),
    "key": lambda w, t: (
        max(range(len(w)), key=lambda k: w[k]), min(range(len(w)), key=lambda k: abs(w[k] - t)),
        max(w, key=lambda u: -u), min(w, key=abs), max(range(2, 5), key=lambda k: 1)),
    "pairs": lambda w, t: (max(a * b for a, b in zip(w, w)), any(k > 2 and u > t for k, u in enumerate(w))),
}  # fmt: skip


def thrice(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function called in a loop, on what changes."""

    def run(w, t):  # type: ignore[no-untyped-def]
        found = function(w, t)
        for k in range(3):
            found = function(w, t + k)
        return found

    return run


@pytest.mark.parametrize("name", CASES)
def test_they_are_native(name: str) -> None:
    for function in (CASES[name], thrice(CASES[name])):
        calls = [(X, 0.25), (X[:5], 0.25), (NAN, 1.0), (X[:4], np.float64(2.0)), (X, 50.0), (X, -50.0)]
        for trace in both(function, calls, lowered=name != "displays").traces:
            native = trace.concrete.native
            assert name == "displays" or not native.bails, native.left_at


@pytest.mark.parametrize("name", CASES)
def test_what_is_odd(name: str) -> None:
    odd = [(X[:0], 1.0), (X[:1], 1.0), (np.arange(6), 2), (X > 0, True), (X.astype("f4"), 1), (X * 1j, 1.0)]
    odd += [(X.reshape(2, 3), 0.5), (X[::2], 0.5), ([1.0, 2, 3], 2), ((3, 1, 2.5), 2), ("abc", 1), (5, 1)]
    for function in (CASES[name], thrice(CASES[name])):
        both(function, [(X, 0.25), *odd, (X, 0.25)], lowered=False)


def stops(w, log):  # type: ignore[no-untyped-def]
    """Each item is asked once, and none after the answer is known."""

    def asked(u):  # type: ignore[no-untyped-def]
        log.append(float(u))
        return u > 1

    found = any(asked(u) for u in w), all(asked(u) for u in w if not asked(u))
    return found, max(w, key=asked), min((asked(u) for u in w), key=lambda b: not b)


def raises_late(w, t):  # type: ignore[no-untyped-def]
    return any(1 / (u - t) > 0 for u in w), any(math.sqrt(u) > t for u in w)


def kept(w, t):  # type: ignore[no-untyped-def]
    """A generator that somebody goes on with."""
    more = (u for u in w)
    first = any(u > t for u in more)
    rest = [float(u) for u in more]
    each = (u > t for u in w)
    return first, rest, any(each), list(each), all(u > v for u in w for v in w[:1]), any([])


@pytest.mark.parametrize("executor", ("numpy", "native"))
def test_each_item_is_asked_once_in_order(executor: str) -> None:
    plain = [float(x) for x in X]
    calls = [
        (stops, [(X, []), (NAN, []), (X[:1], []), (plain, [])]),
        (raises_late, [(plain, 3.0), (plain, -2.0), (plain[2:4], 0.5), (plain, 0.5), ([], 1.0)]),
        (kept, [(X, 0.25), (plain, 2.0), (X, 9.0), (X[:0], 0.0)]),
        *((CASES[name], [(X, 0.25), (NAN, 1.0), (X[:0], 1.0), (plain, 0.5)]) for name in CASES),
    ]
    for function, each in calls:
        with settings.override(executor=executor, compile="now"):
            converted = ag.function(function)
            for args in each * 2:
                assert seen(converted, args) == seen(function, args), (function.__name__, args)
