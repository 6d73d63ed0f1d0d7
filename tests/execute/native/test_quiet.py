"""What NumPy warns of, where nobody wants to hear it: native code goes on, and loses no other warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native import host
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both
from tests.execute.native.harness import seen as outcome

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
BYTES = np.random.default_rng(0).integers(0, 256, 300).astype(np.uint8)
FLOATS = np.array([0.0, 1.0, 2.0, -1.0, np.nan, np.inf])
INTS = np.array([2**62, 3, -5, -(2**63)])


def hashed(data: Any) -> Any:
    h = np.uint32(2166136261)
    for i in range(len(data)):
        h = (h ^ np.uint32(data[i])) * np.uint32(16777619)
    return h


def hashed_quietly(data: Any) -> Any:
    h = np.uint32(2166136261)
    for i in range(len(data)):
        with np.errstate(over="ignore"):
            h = (h ^ np.uint32(data[i])) * np.uint32(16777619)
    return h


def generator(x: Any) -> Any:
    state, total = x[0], x[0] - x[0]
    for _ in range(50):
        state = state * x[1] + x[1]
        total ^= state
    return state, total


def before_and_within(x: Any) -> Any:
    a = 1 / x
    with np.errstate(all="ignore"):
        b = a * 2
    return b


def within_and_after(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        a = 1 / x
        b = np.log(x - 1)
    return a * 2 + b


def the_same_again(x: Any) -> Any:
    u, v = x[0], x[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        w = u / (v - v)
    return w + u / (v - v)


def in_loops(x: Any) -> Any:
    total = 0.0
    for v in x:
        with np.errstate(divide="ignore"):
            total = total + 1 / v
        total = total + v * v
    return total


def of_whole_numbers(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        a = x // (x - x)
    with np.errstate(over="ignore"):
        b = x // (x - x - 1)
    return a, b


def one_within_another(x: Any) -> Any:
    with np.errstate(over="ignore"):
        with np.errstate(divide="ignore"):
            a = x[0] * x[0] * x[0]
            b = 1 / (x - x)
        c = np.exp(x * 1e9)
        d = 1 / (c - c)
    return a, b, c, d


def seen(f: Callable[..., Any], x: Any, action: Any, errors: dict[str, Any]) -> tuple[str, list[str]]:
    with warnings.catch_warnings(record=True) as caught, np.errstate(**errors):
        warnings.simplefilter(action)
        try:
            result = repr(f(x.copy()))
        except Exception as error:
            result = f"{type(error)} {error}"
    return result, [str(w.message) for w in caught]


@pytest.mark.parametrize("x", [FLOATS, INTS, BYTES], ids=lambda x: str(x.dtype))
@pytest.mark.parametrize(
    "function",
    [hashed, hashed_quietly, generator, before_and_within, within_and_after, the_same_again, in_loops,
     of_whole_numbers, one_within_another],
)  # fmt: skip
def test_warnings_are_those_of_plain_python(function: Callable[..., Any], x: Any) -> None:
    with settings.override(executor="native", compile="now"):
        converted = ag.function(function)
        for action in ("always", "ignore", "error", "always"):
            for errors in ({}, {"over": "ignore"}, {"all": "ignore"}, {"divide": "raise"}, {"over": "raise"}):
                assert seen(converted, x, action, errors) == seen(function, x, action, errors)


@pytest.mark.parametrize(
    ("function", "action", "errors", "given_up"),
    [(hashed_quietly, "always", {}, 0), (hashed, "ignore", {}, 0), (hashed, "always", {"over": "ignore"}, 0),
     (hashed, "always", {}, 5), (within_and_after, "always", {"invalid": "ignore"}, 0)],
)  # fmt: skip
def test_native_code_goes_on_where_nobody_hears(
    function: Callable[..., Any], action: Any, errors: dict[str, Any], given_up: int
) -> None:
    x = BYTES if "hashed" in function.__name__ else np.array([0.0, 1.0, 2.0])
    with settings.override(executor="native", compile="now"):
        converted = ag.function(function)
        for _ in range(5):
            seen(converted, x, action, errors)
        native = converted.get_concrete_function(x).native
    twin = native._noting.code if native._noting is not None and native.bails else native
    assert (twin.bails if twin is native else twin.bails.value) == given_up


def largest(x: Any, y: Any) -> Any:
    best, at = y[0], 0
    for i in range(len(x)):
        if x[i] > best:
            best, at = x[i], i
    return best, at


def smallest(x: Any, y: Any) -> Any:
    best = y[0]
    for value in x:
        best = min(best, value)
    return best


def between(x: Any, y: Any) -> Any:
    for i in range(len(x)):
        y[i] = min(max(x[i], 0.2), 0.7)
    return y


def masked(x: Any, y: Any) -> Any:
    for i in range(len(x)):
        if x[i] > 0.5 and not x[i] >= 0.9:
            y[i] = x[i] * 2
        else:
            y[i] -= x[i]
    return y


def running(x: Any, y: Any) -> Any:
    for i in range(1, len(x)):
        y[i] = x[i] if x[i] > y[i - 1] else y[i - 1]
    return y


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("function", [largest, smallest, between, masked, running])
def test_nan_is_compared_without_any_flag(function: Callable[..., Any], dtype: str) -> None:
    x = np.random.default_rng(1).random(1000).astype(dtype)
    x[::7] = np.nan
    both(function, [(x, np.full(1000, 0.5, dtype)), (x[::-1].copy(), np.full(1000, 0.5, dtype))])
    with settings.override(executor="native", compile="now"):
        f = ag.function(function)
        f(x, np.full(1000, 0.5, dtype))
    assert f.traces[-1].concrete.native.bails == 0


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_exponentials_of_what_is_far_below(dtype: str) -> None:
    def weights(x):  # type: ignore[no-untyped-def]
        return np.exp(x)

    usual, eps, tiny = np.linspace(-80, 5, 67).astype(dtype), 4 * np.finfo(dtype).eps, np.finfo(dtype).tiny
    for far in (-1e9, -750.0, -746.1, -745.9, -744.0, -104.5, -103.0, -90.0, -np.inf):
        x = usual.copy()
        x[::5] = far
        with settings.override(executor="native", compile="now"):
            with np.errstate(under="ignore"):
                assert np.allclose(ag.function(weights)(x), np.exp(x), rtol=eps, atol=tiny)
            for mode in ("raise", "warn"):  # whether it is reported, not what the last bits are
                wanted, found = (outcome(f, (x,), under=mode) for f in (weights, ag.function(weights)))
                assert (found.error, found.warned) == (wanted.error, wanted.warned), far


def extremes(x: Any, y: Any) -> Any:
    for i in range(1, len(x)):
        a, b = x[i], y[i - 1]
        kind = i % 8
        if kind == 0:
            y[i] = a if a < b else b
        elif kind == 1:
            y[i] = b if a < b else a
        elif kind == 2:
            y[i] = a if a > b else b
        elif kind == 3:
            y[i] = b if a > b else a
        elif kind == 4:
            y[i] = a if a <= b else b
        elif kind == 5:
            y[i] = b if not a <= b else a
        elif kind == 6:
            y[i] = a if not a >= b else b
        else:
            y[i] = b if a >= b else a
    return y


def lesser(x: Any, y: Any) -> Any:
    for i in range(1, len(x)):
        y[i] = x[i] - min(y[i - 1], x[i], x[i - 1]) if i % 5 else min(x[i], 0.0)
    return y


def greater(x: Any, y: Any) -> Any:
    for i in range(1, len(x)):
        y[i] = x[i] if not x[i] <= y[i - 1] else y[i - 1]
    return y


def not_greater(x: Any, y: Any) -> Any:
    for i in range(1, len(x)):
        y[i] = y[i - 1] if x[i] >= y[i - 1] else x[i]
    return y


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("function", [extremes, lesser, greater, not_greater, running, between])
def test_the_lesser_and_the_greater_of_two_floats(
    function: Callable[..., Any], dtype: str, older: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if older:  # a processor that has no comparison that can be told to raise no flag
        monkeypatch.setattr(host, "flags", lambda have=host.flags() - {"avx512dq"}: have)
    odd = [0.0, -0.0, np.nan, -np.nan, 1.0, -1.0]
    x, y = np.random.default_rng(2).choice(odd, (2, 1000)).astype(dtype)
    empty = np.empty(0, dtype)
    both(function, [(x, y), (y, x), (empty, empty)])
    with settings.override(executor="native", compile="now"):
        f = ag.function(function)
        f(x, y)
    assert f.traces[-1].concrete.native.bails == 0


def over(x: Any) -> Any:
    y = 1.0 / x
    x[0] = 5.0
    return y


@pytest.mark.parametrize(
    ("raised", "again"), [(KeyboardInterrupt, False), (TimeoutError, False), (ValueError, True)]
)
def test_what_is_raised_while_it_is_asked_who_listens(
    raised: type[BaseException], again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.zeros(4)

    def asked() -> Any:
        if not again:
            monkeypatch.undo()  # what a signal handler raises, it raises once
        raise raised

    with settings.override(executor="native", compile="now"), np.errstate(all="ignore"):
        f = ag.function(over)
        f(x)
        x[:] = 0
        monkeypatch.setattr(np, "geterr", asked)
        if again:
            assert f(x).tolist() == [np.inf] * 4
        else:
            with pytest.raises(raised):
                f(x)
        monkeypatch.undo()
    assert x.tolist() == [5.0, 0.0, 0.0, 0.0]
    assert f.traces[-1].concrete.native.bails == again
