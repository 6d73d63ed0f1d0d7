"""Loops beside code that may do anything: the global names that they use, read before they begin."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.execute.native.executor import unavailable

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
TABLE, GAIN = np.linspace(0, 1, 64), 2.5


def weight(i: int) -> Any:
    return GAIN * TABLE[i % 64]


class Step:
    """What is called in each trip; the fourth time it changes something."""

    def __init__(self, what: str) -> None:
        self.what, self.count = what, 0

    def __call__(self, k: int) -> None:
        global GAIN, TABLE
        self.count += 1
        if self.count != 4:
            return
        if self.what == "deleted":
            del globals()["GAIN"]
        elif self.what == "written":
            TABLE[:] = 0.5
        elif self.what == "raised":
            raise ValueError(self.what)
        elif self.what in GAINS:
            GAIN = GAINS[self.what]
        elif self.what in TABLES:
            TABLE = TABLES[self.what]()


GAINS: dict[str, Any] = {"float": 3.5, "int": 3, "float32": np.float32(3), "array": np.ones(40)}
TABLES: dict[str, Any] = {
    "doubled": lambda: TABLE * 2,
    "list": lambda: list(range(64)),
    "single": lambda: np.ones(64, np.float32),
}


def sums(step: Any, x: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        s = 0.0
        for j in range(len(x)):
            s += x[j] * TABLE[j] * GAIN
        x = x * 0.99 + s * GAIN * 1e-6
        step(i)
    return x, s


def weighted(step: Any, x: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        s = 0.0
        for j in range(len(x)):
            s += x[j] * weight(j)
        x = x * 0.99 + s * 1e-6
        step(i)
    return x, s


def sweeps(step: Any, u: Any, n: int) -> Any:
    for i in range(n):
        for j in range(1, len(u) - 1):
            u[j] = 0.5 * (u[j - 1] + u[j + 1]) * GAIN / 2.5
        step(i)
    return u


def outcome(f: Any, what: str, k: int) -> Any:
    global GAIN, TABLE
    TABLE, GAIN = np.linspace(0, 1, 64), 2.5
    try:
        return repr(f(Step(what), np.ones(40) * (k + 1), 30))
    except Exception as error:
        return type(error), str(error)
    finally:
        TABLE, GAIN = np.linspace(0, 1, 64), 2.5


@pytest.mark.parametrize("executor", ["auto", "native", "numpy"])
@pytest.mark.parametrize("what", ["", "deleted", "written", "raised", *GAINS, *TABLES])
@pytest.mark.parametrize("f", [sums, weighted, sweeps], ids=lambda f: f.__name__)
def test_names_that_are_bound_again_in_the_call(f: Any, what: str, executor: str) -> None:
    with ag.settings.override(executor=executor):
        converted = ag.function(f)
        for k in range(4):
            named = what if k % 2 else ""
            assert outcome(converted, named, k) == outcome(f, named, k)


@pytest.mark.parametrize("f", [sums, weighted, sweeps], ids=lambda f: f.__name__)
def test_the_loops_inside_are_native(f: Any) -> None:
    with ag.settings.override(executor="native", compile="now"):
        converted = ag.function(f)
        for k in range(3):
            outcome(converted, "", k)
        assert "has native code for" in str(ag.explain(converted))


def until(x: Any, n: int) -> Any:
    end, k = time.time() + 100, 0
    while k < n and time.perf_counter() + time.time() > 0 and time.monotonic_ns() > 0 and time.time() < end:
        s = 0.0
        for j in range(len(x)):
            s += math.sin(x[j]) * TABLE[j]
        x, k = x * 0.5 + s * GAIN, k + 1
    return x, k, type(end)


def test_loops_that_ask_a_clock() -> None:
    with ag.settings.override(executor="native", compile="now"):
        f = ag.function(until)
        for n in (3, 4, 50):
            assert repr(f(np.ones(5), n)) == repr(until(np.ones(5), n))
        assert f.traces[-1].concrete.executor == "native"


def slow_until(x: Any, n: int) -> Any:
    k = 0
    while k < n and time.gmtime(0)[0] < 1e30:
        for j in range(len(x)):
            x[j] = x[j] * TABLE[j] * GAIN
        k += 1
    return x


def test_what_plans_do_is_weighed_when_native_code_is_given_up() -> None:
    with ag.settings.override(executor="auto", compile="now"):
        f = ag.function(slow_until)
        f(np.ones(5), 3)
        assert f.traces[-1].concrete.executor == "python" or f.traces[-1].weighing is not None
