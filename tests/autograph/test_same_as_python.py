"""Programs that once differed from plain Python; each call is made beside the plain function and compared.

`check=True` compares classes, dtypes, shapes, bits, exceptions with their texts, printed output, arguments
afterwards and sharing, and raises CheckError for the first difference.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.errors import CheckError

CASES: list[Any] = []
A, f64, i64 = np.array, np.float64, np.int64


def case(*calls: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the function, to be called with each of these argument tuples in turn."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(pytest.param(function, calls, id=function.__name__))
        return function

    return register


@case((f64(1.0), [1, 2, 3]), (f64(-1.0), [1, 2, 3]))
def left_to_python_reads_a_shared_name(a: Any, items: list[Any]) -> Any:
    """A loop that is left to Python rebinds a name that an inner function shares."""

    def keep(p: Any) -> Any:
        nonlocal a
        a = p
        return a

    for e in items[:3]:
        keep(a + 1)
        e, *items = [a, *items[:2]]
    return a, items


@case((A([1.0, 3.0]), f64(2.0)), (A([1.0, 1.0]), f64(2.0)), (A([-1.0, 3.0]), f64(2.0)))
def asked_value_beside_a_list(x: Any, limit: Any) -> Any:
    """The variable of the tested value must not take the place of the list that only the other arm reads."""
    seen: list[Any] = []
    if x[0] == 3 or (x > add(seen, x[1], limit)).all():
        return "yes", x
    return "no", x


def add(seen: list[Any], value: Any, limit: Any) -> int:
    if value > limit:
        return 5
    seen.append(value)
    return len(seen)


@case((0,), (3,), (i64(0),), (i64(4),), (2.5,))
def walrus_in_a_loop_test(x: Any) -> Any:
    """What the test binds is a write to the name's box, also when the loop makes no trip."""
    n = 0
    while (n := n + 1) < x:
        pass
    return n


@case((A([]),), (A([1.0, 2.0]),))
def unbound_after_no_trip(v: Any) -> Any:
    """The class of the error is Python's own."""
    for last in v:
        pass
    return last


@case((np.timedelta64(5, "D"),), (np.timedelta64(-5, "h"),))
def units_of_time(d: Any) -> Any:
    """Constants of equal numbers and unlike units are two constants."""
    return d // np.timedelta64(2, "D"), d % np.timedelta64(2, "h")


@case((range(0, 3, 2),), (range(0, 4, 2),), (range(0),), (range(5, 0),))
def equal_ranges_differ(r: Any) -> Any:
    return r.start, r.stop, r.step, list(r)


@case((frozenset([1]),), (frozenset([1.0]),), (frozenset([True]),), (frozenset([0.0]),), (frozenset([-0.0]),))
def equal_sets_differ(s: Any) -> Any:
    return [repr(item) for item in s]


@pytest.mark.parametrize(("function", "calls"), CASES)
def test_is_as_python(function: Callable[..., Any], calls: tuple[tuple[Any, ...], ...]) -> None:
    checked = ag.function(function, check=True)
    for args in calls:
        try:
            checked(*copy.deepcopy(args))
        except CheckError:
            raise
        except Exception:  # plain Python raises it too, or it would be a CheckError
            pass
