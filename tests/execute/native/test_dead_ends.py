"""Places that control never gets past: what stands behind or before them keeps nothing from being native."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from runtime.ir.text import parse_graph
from tests.execute.native.harness import both, pair

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


def complains_at_length(x: Any) -> Any:
    total = 0.0
    for v in x:
        total += v
    if total < 0.0:
        half = total / 2
        for v in x:
            half = half * v
        try:
            half = half.hex()
        except AttributeError:
            pass
        raise ValueError(half)
    return total


def test_what_is_done_before_an_error_need_not_be_native() -> None:
    converted = both(complains_at_length, [(np.arange(4.0),), (-np.arange(1.0, 5.0),)])
    native = converted.traces[-1].concrete.native
    assert (native.calls, native.bails) == (2, 1)


LOOP = """
graph f(x: uint16[3, 4]):
    for{carries=0, tested=False}(x, x)
        body loop_body(row: uint16[4], x: uint16[3, 4]):
            above: bool[4] = gt(row, -128)
            some: uint16[?] = getitem(row, above)
            setitem(row, 0, 1)
            return
    return 1
"""


def test_a_trip_that_always_goes_to_the_plan() -> None:
    two = pair(parse_graph(LOOP, []))
    two.check((np.arange(12, dtype=np.uint16).reshape(3, 4),))
    assert two.handed_back == 1


CHOICE = """
graph f(x: uint8):
    y: bool_ = np.less(-128, x)
    z: bool_|uint8 = cond(x, y, x)
        true if_true(y: bool_, x: uint8):
            t1: float = py.call(@math:exp, 3)
            return y
        false if_false(y: bool_, x: uint8):
            both: (bool_, bool_) = py.tuple(y, y)
            a: bool[2] = np.array(both)
            t1: bool[?] = np.insert(a, 0, 1)
            return x
    both: (bool_|uint8, uint8) = py.tuple(z, x)
    return both
"""


def test_an_arm_that_always_goes_to_the_plan() -> None:
    two = pair(parse_graph(CHOICE, []))
    for x in (3, 0):
        two.check((np.uint8(x),))
