"""Loops whose trips threads share, and arrays under two names: in whatever order trips are made, it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.sharing import sharing

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
SIZE = 3000


def long(t: Any) -> Any:
    v = t
    for _ in range(400):
        v = v * 0.5 + t
    return v


def backwards(x: Any, out: Any, given: Any) -> None:
    for i, v in enumerate(reversed(x)):
        out[i] = long(v)


def maybe_unbound(x: Any, out: Any, given: Any) -> None:
    if given[0] > 0:
        a = x
    for i in range(SIZE):
        out[i] = long(a[SIZE - 1 - i])


def in_a_tuple(x: Any, out: Any, given: Any) -> None:
    if given[0] > 0:
        a = (x, 1.5)
    for i in range(SIZE):
        out[i] = long(a[0][SIZE - 1 - i])


@pytest.mark.parametrize("function", [backwards, maybe_unbound, in_a_tuple], ids=lambda f: f.__name__)
def test_what_is_written_may_be_read_under_another_name(function: Callable[..., Any]) -> None:
    given, other = np.ones(1), np.arange(float(SIZE))
    function(other, other, given)
    with sharing(), settings.override(executor="native"):
        converted = ag.function(function)
        converted(np.arange(float(SIZE)), np.arange(float(SIZE)), given)
        for _ in range(50):  # another thread may be late
            one = np.arange(float(SIZE))
            converted(one, one, given)
            assert one.tobytes() == other.tobytes()
