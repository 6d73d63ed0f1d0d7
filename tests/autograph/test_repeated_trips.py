"""Short loops whose trips are the same over and over: recorded once where there are loops in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag


def _relaxed(x: Any, steps: int, how: str) -> Any:
    y, kept, total = x.copy(), [], 0.0
    for k in range(steps):
        for i in range(1, len(y) - 1):
            y[i] = 0.5 * (y[i - 1] + y[i + 1]) + (k if how == "number" else 0)
        if how == "list":
            kept.append(y.copy())
        if how == "shape":
            x = np.concatenate((x, x[:1]))
        if how == "plain":
            total = total + y[1]
    return y, kept, x, total


def _relaxed_blindly(x: Any, steps: int, how: str) -> Any:
    y, kept, total = x.copy(), [], np.float64(0.0)
    for _ in range(steps):
        for i in range(1, len(y) - 1):
            y[i] = 0.5 * (y[i - 1] + y[i + 1])
        if how == "list":
            kept.append(y.copy())
        if how == "shape":
            x = np.concatenate((x, x[:1]))
        if how == "plain":
            total = total + y[1]
    return y, kept, x, total


@pytest.mark.parametrize("function", [_relaxed, _relaxed_blindly])
@pytest.mark.parametrize("how", ["number", "list", "shape", "plain"])
@pytest.mark.parametrize("steps", [0, 1, 3, 4, 12])
def test_trips_with_loops_in_them_are_recorded_once_where_they_are_the_same(
    function: Any, how: str, steps: int
) -> None:
    """Unrolling them would multiply what is compiled, and win nothing."""
    x = np.linspace(0.0, 1.0, 40)
    converted = ag.function(function)
    found, wanted = converted(x, steps, how), function(x, steps, how)
    assert repr(found) == repr(wanted)
    loops = sum(node.op == "for" for node in converted.graph.nodes)
    same = function is _relaxed_blindly and how in ("number", "plain") and steps > 3
    assert loops == (1 if same else steps)
