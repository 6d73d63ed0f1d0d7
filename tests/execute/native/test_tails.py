"""Views and containers that are made last: the rest is native as a whole, the views are NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.execute.native import lower
from runtime.execute.native.executor import unavailable
from runtime.execute.native.partly import NativeLoops
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


def steps(x, n):
    out = np.zeros((n, 3))
    for i in range(n):
        x = x * 0.5 + i
        out[i] = x
    return out.T, x


def several(x):
    y = x * 2 + 1
    return y[1:, ::2], y, y.swapaxes(0, 1)[0], y[None]


def of_argument(x, y):
    x[:] = x * y + 1
    return x[::2].T, x


def around(x):
    y = x * x + x
    z = y.T
    w = y * 3 - x
    return [z, [w, x], w.reshape(-1)]


def seen_late(x):
    y = x * 2 + 1
    z = y[1:]
    y[1] = 7
    return z, y * 2


def refused(x, k):
    y = x * 2 + 1
    z = y[k]
    return z, y.reshape((2, -1))


def wrong(x, y):
    a = x * 2 + 1
    return (a / y).T


SQUARE = np.arange(12.0).reshape(3, 4)
CASES: tuple[tuple[Any, list[tuple[Any, ...]]], ...] = (
    (steps, [(np.arange(3.0), 5), (np.arange(3.0), 0)]),
    (several, [(SQUARE,), (SQUARE[:2],)]),
    (of_argument, [(SQUARE, 2.0)]),
    (around, [(SQUARE,)]),
    (seen_late, [(SQUARE,)]),
    (refused, [(SQUARE[:2], 1), (SQUARE, 0), (SQUARE, 7)]),
    (wrong, [(SQUARE, np.ones(4)), (SQUARE, np.zeros(4))]),
)


@pytest.mark.parametrize(("function", "calls"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_results_are_those_of_the_plan(function, calls):
    both(function, calls)


def _arrays(x: Any) -> list[Any]:
    if isinstance(x, np.ndarray):
        return [x]
    return [a for item in x for a in _arrays(item)]


@pytest.mark.parametrize("function", [several, around, seen_late], ids=lambda f: f.__name__)
def test_views_are_views_of_the_same_arrays(function):
    made = ag.function(function)
    for _ in range(2):
        given = SQUARE.copy()
        want, got = _arrays(function(given)), _arrays(made(given))
        for k, (a, b) in enumerate(zip(want, got)):
            assert (a.strides, a.flags.writeable, a.flags.owndata) == (
                b.strides,
                b.flags.writeable,
                b.flags.owndata,
            )
            assert (a.base is None) == (b.base is None)
            assert (a is given) == (b is given)
            for c, d in zip(want[k:], got[k:]):
                assert np.shares_memory(a, c) == np.shares_memory(b, d)
                assert (a.base is c) == (b.base is d)


@pytest.mark.parametrize("function", [steps, several, around], ids=lambda f: f.__name__)
def test_all_but_the_end_is_one_native_function(function):
    made = ag.function(function)
    args = (np.arange(3.0), 5) if function is steps else (SQUARE,)
    native = made.get_concrete_function(*args).native
    assert isinstance(native, NativeLoops)
    assert len(native.parts) == 1
    made(*args)
    assert (native.calls, native.bails) == (1, 0)


def test_a_view_at_the_end_is_seen_before_anything_is_lowered(monkeypatch):
    """The whole graph is not lowered for nothing: its beginning is, once."""
    lowered = []
    kernel = lower._Lowering.kernel
    monkeypatch.setattr(
        lower._Lowering, "kernel", lambda self: lowered.append(self.graph.name) or kernel(self)
    )
    assert ag.function(several).get_concrete_function(SQUARE).native is not None
    assert lowered == ["several_begin"]
