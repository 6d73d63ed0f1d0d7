"""What docs/differences.md admits, point by point: that far it goes, and no further."""

from __future__ import annotations

import inspect
import sys
import traceback
import warnings
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.property.oracle import TooLong, time_limit


def depth() -> int:
    return len(inspect.stack())


def deep(x: Any) -> Any:
    return depth() + x - x


def own_frame(x: Any) -> Any:
    y = x + 1
    return sys._getframe().f_code.co_filename, sorted(locals()), y


def warns(x: Any) -> Any:
    return x / 0


def item(x: Any) -> Any:
    y = x + 1
    return y[3]


def test_1_frames() -> None:
    assert ag.function(deep)(1) > deep(1)
    assert ag.function(own_frame)(np.float64(1.0)) == own_frame(np.float64(1.0))


def test_1_tracebacks_show_the_users_line() -> None:
    with pytest.raises(IndexError) as caught:
        ag.function(item)(np.ones(2))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name, last.line) == (__file__, "item", "return y[3]")


def test_2_warnings() -> None:
    function = ag.function(warns)
    seen = []
    for call in (warns, function, function):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(np.float64(1.0))
        places = [(w.filename, w.lineno) if sys.version_info >= (3, 11) else () for w in caught]
        seen.append([(w.category, str(w.message), p) for w, p in zip(caught, places, strict=True)])
    assert seen[0] == seen[1] == seen[2] != []
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        function(np.float64(1.0))
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(np.float64(1.0)) == np.inf


def warns_twice(x: Any) -> Any:
    return np.log(x) + 2 * np.log(x)


def test_2_one_line_that_computes_something_twice_warns_once() -> None:
    counts = []
    for function in (warns_twice, ag.function(warns_twice)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(np.array([-1.0, 1.0]))
        counts.append(len(caught))
    assert counts == [2, 1 if sys.version_info >= (3, 11) else 2]  # columns tell it from two trips


def test_3_nan_stays_nan() -> None:
    assert np.isnan(ag.function(warns)(np.float64("nan")))


def returns(x: Any) -> Any:
    return x


def test_3_fmin_of_equal_zeros() -> None:
    def lower(x, y):  # type: ignore[no-untyped-def]
        return np.fmin(x, y) + 0.0 * x

    x, y = np.zeros((5, 1, 3)), -np.zeros((5, 1, 1))
    signs = np.signbit(np.fmin(np.zeros(9), -0.0))
    assert signs.any()  # NumPy's answer, whose elements need not be alike
    with settings.override(executor="native", compile="now"):
        np.testing.assert_array_equal(ag.function(lower)(x, y), lower(x, y))  # equal, whatever their signs


def test_3_bools_of_other_bytes() -> None:
    odd = np.array([0, 1, 2, 255], np.uint8).view(bool)
    with settings.override(executor="native"):
        found = ag.function(lambda x: x.copy())(odd)
        assert ag.function(lambda x, y: x == y)(odd, found).all() and (odd == found).all()
    assert set(found.view(np.uint8)) <= {0, 1, 2, 255}


def test_4_who_owns_the_memory_of_a_new_array() -> None:
    x = np.arange(5.0)
    for f in (
        lambda x: np.roll(x, 1),
        lambda x: np.linspace(x[0], x[1], 4),
        lambda x: np.nonzero(x)[0],
        lambda x: np.flatnonzero(x),
    ):
        with settings.override(executor="native"):
            found = ag.function(f)(x)
        assert found.dtype == f(x).dtype and found.tolist() == f(x).tolist()
        assert not np.may_share_memory(found, x) and found.flags.writeable


def test_4_equal_immutable_objects() -> None:
    f = ag.function(returns)
    for value in (1.5, 10**30, "ab" * 30, (1.5, "x")):
        got = f(value)
        assert got == value and type(got) is type(value)
    for thing in ([1], {1: 2}, np.ones(2), object(), {3}, (1, [2])):
        assert f(thing) is thing or isinstance(thing, tuple) and f(thing)[1] is thing[1]


def exchanged(x: Any) -> Any:
    return x


@ag.do_not_convert
def exchange() -> None:
    globals()["exchanged"] = lambda x: -x


def uses_exchanged(x: Any) -> Any:
    exchange()
    return exchanged(x)


def test_4_a_nan_of_constants_is_one_key() -> None:
    def keys(n: Any) -> Any:
        d = {}
        for i in range(n):
            d[float("nan")] = i
        return len(d)

    assert keys(3) == 3
    assert ag.function(keys)(np.int64(3)) == 1


def test_5_functions_exchanged_behind_the_traces_back() -> None:
    f = ag.function(uses_exchanged)
    with pytest.raises(ag.GuardError, match="global 'exchanged'"):
        f(np.float64(1))
    assert f(np.float64(1)) == f(np.float64(2.5)) + 1.5 == -1


def of_numpy(x: Any) -> Any:
    return np.sum(x) + 1


def of_chance(x: Any) -> Any:
    return np.random.rand() + 1


def test_5_functions_of_numpy_are_taken_to_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    old, chance = ag.function(of_numpy), ag.function(of_chance)
    x = np.ones(3)
    assert old(x) == 4 and 1 <= chance(x) < 2
    monkeypatch.setattr(np, "sum", lambda x: -5.0)
    monkeypatch.setattr(np.random, "rand", lambda: 8.0)
    assert old(x) == 4 and ag.function(of_numpy)(x) == of_numpy(x) == -4 and chance(x) == 9


def test_5_shapes_exchanged_behind_the_traces_back() -> None:
    unseen = eval("lambda x: x.resize(6, refcheck=False)")

    def f(n: Any) -> Any:
        x = np.zeros(n)
        unseen(x)
        return len(x), x

    size, x = ag.function(f)(4)
    assert (size, len(x), f(4)[0]) == (4, 6, 6)


class Held:
    def __init__(self) -> None:
        self.x = 1.0


class AlsoHeld(Held):
    """Of another class."""


def by_written_keys(a: Any, d: Any) -> Any:
    y = a.x
    d["x"] = y + 5.0
    return a.x + y


def by_computed_keys(a: Any, d: Any, names: Any) -> Any:
    y = a.x
    for name in names:
        d[name] = y + 5.0
    return a.x + y


def by_another_class(a: Any, b: Any) -> Any:
    y = b.x
    a.x = y + 5.0
    return b.x + y


def test_5_an_object_and_its_own_dict() -> None:
    with ag.settings.override(executor="numpy"):  # by default Python itself does what is about objects alone
        own_dicts(["x"] * 40)


def own_dicts(names: list[str]) -> None:
    a, b = Held(), Held()
    assert ag.function(by_written_keys)(a, vars(a)) == by_written_keys(b, vars(b)) == 7
    a, b = Held(), Held()
    assert by_computed_keys(a, vars(a), names) == 7
    assert ag.function(by_computed_keys)(b, vars(b), names) == 2 and b.x == 6
    a, b, other = Held(), Held(), AlsoHeld()
    other.__dict__ = a.__dict__
    assert by_another_class(a, other) == 7
    other.__dict__ = b.__dict__
    assert ag.function(by_another_class)(b, other) == 2 and other.x == 6


def test_6_inside_machine_code() -> None:
    """A loop that never ends is interrupted all the same, and what it wrote stays."""

    @ag.function
    def forever(x):
        i = 0
        while x[0] == 0:
            i = (i + 1) % 7
            x[1] = i + 1
        return i

    x = np.zeros(2)
    with pytest.raises(TooLong), time_limit(1.0):
        forever(x)
    assert x[1] > 0


class Mortal:
    def __init__(self, log: list[Any]) -> None:
        self.log = log

    def __del__(self) -> None:
        self.log.append("died")


@ag.do_not_convert
def mortal(log: list[Any]) -> Mortal:
    return Mortal(log)


def lets_go(log: list[Any], make: Any) -> list[Any]:
    kept = make(log)
    kept.value = 1
    del kept
    log.append("end")
    return log[:]


def test_7_when_objects_die() -> None:
    assert lets_go([], Mortal) == ag.function(lambda log: lets_go(log, Mortal))([]) == ["died", "end"]
    log: list[Any] = []
    ag.function(lambda log: lets_go(log, mortal))(log)
    assert sorted(log) == ["died", "end"]


def mathematical(x: Any) -> Any:
    return np.exp(x), np.log(np.abs(x)), np.tanh(x), x**3, np.sqrt(np.abs(x)), x.sum(), np.arctan(x)


@pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
def test_8_last_bits_of_mathematical_functions() -> None:
    x = np.random.default_rng(0).standard_normal(1000)
    wanted = mathematical(x)
    with settings.override(executor="native", math="fast", compile="now"):
        fast = ag.function(mathematical)(x)
    with settings.override(executor="native", math="exact", compile="now"):
        exact = ag.function(mathematical)(x)
    for k, (right, near, same) in enumerate(zip(wanted, fast, exact, strict=True)):
        assert np.all(np.abs(near - right) <= 4 * np.spacing(np.abs(right)))
        assert same.tobytes() == right.tobytes()
        assert k < 4 or near.tobytes() == right.tobytes()
