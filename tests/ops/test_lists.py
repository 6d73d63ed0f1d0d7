"""Lists that NumPy's functions are given: which of them do with one what they do with the array of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.ops.table import NO_ARRAY, OPS, takes_list
from runtime.trace.calls import _SEQUENCES
from tests.execute.native.harness import bits, seen

LISTS: tuple[Callable[[], list[Any]], ...] = (
    lambda: [np.arange(3.0), np.arange(3.0) + 1],
    lambda: [np.array([1, 0, 1]), np.array([0, 1, 1])],
    lambda: [np.array([True, False]), np.array([False, True])],
    lambda: [1.5, 2.5, np.float64(3), 0.0],
    lambda: [np.arange(9.0).reshape(3, 3)] * 2,
)
MORE: tuple[tuple[Any, ...], ...] = (
    (),
    (1,),
    (2,),
    (1, 1),
    ((1,),),
    ([0, 1],),
    (np.array([0, 1]),),
    (0, 5.0),
)
ROWS = [
    name
    for name, row in OPS.items()
    if name.startswith("np.") and row.run and name not in (*_SEQUENCES, *NO_ARRAY, "np.empty_like")
]


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return bits(f(*args))
    except Exception as error:  # any is something to compare
        return type(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ROWS)
def test_a_list_is_taken_for_the_array_of_it(name: str) -> None:
    run = OPS[name].run
    assert run is not None
    for make in LISTS:
        for more in MORE:
            if not takes_list(OPS[name], (make(), *more), {}):
                continue  # `np.diff(x, 0)`, which gives the list back
            found, wanted = outcome(run, np.array(make()), *more), outcome(run, make(), *more)
            assert found == wanted, (make(), more)


def blocks(x: Any) -> Any:
    return np.block([x, x]), np.block([[x, x], [x, x * 2]])


def halves(x: Any) -> Any:
    return np.split([x, x], 2)


def trimmed(x: Any) -> Any:
    return np.trim_zeros([0.0, x[1], 0.0])


def rolled(x: Any) -> Any:
    return np.rollaxis([x, x], 1)


def copied(x: Any) -> Any:
    made = [x, x * 1]
    np.copyto(made, 1.0)
    return made


def grown(x: Any) -> Any:
    made, rows = [], []
    for k in range(len(x)):
        made.append(x[k] * 1.0)
        rows.append(x[k:] * 1.0)
    return np.trim_zeros(made), np.block(rows), np.diff(made, n=0)


@pytest.mark.parametrize("executor", ["numpy", "auto", "native"])
@pytest.mark.parametrize("function", [blocks, halves, trimmed, rolled, copied, grown])
def test_lists_that_are_no_arrays_stay_lists(function: Callable[..., Any], executor: str) -> None:
    with settings.override(executor=executor, compile="now"):
        converted = ag.function(function)
        for n in (4, 21, 22):
            x = np.arange(n) * 1.0
            assert seen(converted, (x,)) == seen(function, (x,))
