"""Accountable traces: why each was made, warnings, no new traces."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings

RATE = 2
W = np.ones(3)


def plus(x, n):
    return x + n


def rated(x):
    return x * RATE


def fits(x):
    return (W * x).sum()


A3, A4, A33 = np.zeros(3), np.zeros(4), np.zeros((3, 3))

# first arguments, second arguments, reason, what the fix speaks of
CHANGES = [
    ((A3, 1), (A4, 1), "argument 'x' is float64[4], was float64[3]", "ag.TensorSpec((None,), np.float64)"),
    ((A3, 1), (A33, 1), "argument 'x' is float64[3, 3], was float64[3]", "ag.TensorSpec(None, np.float64)"),
    ((A3, 1), (A3.astype("f4"), 1), "argument 'x' is float32[3], was float64[3]", "float64 for one"),
    (
        (np.float64(1), 1),
        (np.array(1.0), 1),
        "argument 'x' is float64[], was float64",
        "NumPy scalar or as an array",
    ),
    ((A3, 1), (A3, 2), "argument 'n' is =2, was =1", "as an array or a NumPy scalar"),
    ((A3, 1), (A3, 1.0), "argument 'n' is =1.0, was =1", "one class"),
    ((A3, True), (A3, False), "argument 'n' is =False, was =True", "a trace of its own"),
    ((A3, 1), (A3, A3), "argument 'n' is float64[3], was =1", "in one way"),
    (
        (A3, 1),
        (A4, 2),
        "argument 'x' is float64[4], was float64[3]; argument 'n' is =2, was =1",
        "TensorSpec",
    ),
]


@pytest.mark.parametrize("first,second,reason,fix", CHANGES, ids=[row[2] for row in CHANGES])
def test_reason_and_fix(first, second, reason, fix):
    f = ag.function(plus)
    f(*first)
    f(*second)
    assert [t.why for t in f.traces] == ["first call", reason]
    assert f.traces[1].changes and fix in f.why()
    assert f.why().startswith("1. plus(") and "\n2. plus(" in f.why()


def test_guards_say_old_and_new():
    global RATE, W
    f, g = ag.function(rated), ag.function(fits)
    try:
        assert f(np.float64(2.0)) == 4 and g(2) == 6
        RATE, W = 3, np.ones(4)
        assert f(np.float64(2.0)) == 6 and g(2) == 8
    finally:
        RATE, W = 2, np.ones(3)
    assert f.traces[1].why == "changed since the last trace: global 'RATE' is =3, was =2"
    (change,) = f.traces[1].changes
    assert (change.kind, change.name, change.old, change.new) == ("guard", "global 'RATE'", "=2", "=3")
    assert "pass global 'RATE' as an argument" in f.why()
    assert "global 'W' is float64[4], was float64[3]" in g.why()


class Filter:
    def __init__(self):
        self.x, self.pair = 0.0, (np.float64(0.0), 1)

    def update(self, z):
        self.x += 0.5 * (z - self.x)
        self.pair = (self.pair[0] + self.x, 1)
        return self.x


@pytest.mark.parametrize("items", [np.arange(20.0), np.full(20, np.nan)], ids=["numbers", "nan"])
def test_state_in_numpy_scalars_is_read_on_each_call_soon(items):
    one, other = Filter(), Filter()
    update = ag.function(one.update)
    for z in items:
        np.testing.assert_equal(update(z), other.update(z))
        np.testing.assert_equal(one.pair, other.pair)
    assert len(update.traces) <= 4
    assert "self.x is =np.float64(" in update.why()


def test_records_are_readable():
    f = ag.function(plus)
    assert f.why() == "'plus' was not called yet"
    f(A3, 1)
    (record,) = f.traces
    assert record.seconds > 0 and record.bytes > 500
    assert str(record).startswith("plus(x: float64[3], n: =1)\n  traced in ")
    assert "kB: first call" in str(record)


def test_accounts_outlive_the_cache():
    with settings.override(cache_size=2):
        f = ag.function(plus)
        for flag in "abcd":
            with pytest.raises(TypeError):
                f(A3, flag)
    assert len(f.traces) == 2 and f.why().count("plus(") == 4


def test_warning_names_argument_and_fix():
    f = ag.function(plus)
    with (
        settings.override(warn_after_retraces=2),
        pytest.warns(
            ag.RetraceWarning,
            match=r"'plus' was traced again 2 times.*argument 'x' is float32.*to avoid it: pass 'x'",
        ),
    ):
        for x in (A3, A4, A3.astype("f4")):
            f(x, 1)
    g = ag.function(plus)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (A3, A4, A3.astype("f4"), A33):
            g(x, 1)


def test_no_new_traces():
    f = ag.function(plus)
    f(A3, 1)
    with ag.no_new_traces():
        assert f(A3, 1).shape == (3,)
        with ag.no_new_traces():
            pass
        with pytest.raises(ag.NewTraceError) as caught:
            f(A4, 1)
        with pytest.raises(ag.NewTraceError, match="get_concrete_function"):
            f.get_concrete_function(A33, 1)
    error = caught.value
    assert error.what == "'plus' would be traced again: plus(x: float64[?], n: =1)"
    assert error.why == "argument 'x' is float64[4], was float64[3]" and "TensorSpec((None,)" in error.fix
    assert error.span.file == __file__ and "f(A4, 1)" in error.span.text()
    assert len(f.traces) == 1 and f(A4, 1).shape == (4,)


def inner(x):
    return x + 1


INNER = ag.function(inner)


def outer(x, values):
    values.append(INNER(x))
    return values


def test_no_new_traces_reaches_calls_at_run_time_and_functions_left_to_python():
    f = ag.function(outer)
    f(A3, [])
    with ag.no_new_traces():
        assert len(f(A3, [])) == 1
        with pytest.raises(ag.NewTraceError, match="first call"):
            ag.function(inner)(A3)


def test_no_new_traces_is_of_one_thread():
    f = ag.function(plus)
    with ag.no_new_traces():
        thread = threading.Thread(target=f, args=(A3, 1))
        thread.start()
        thread.join()
    assert len(f.traces) == 1


@pytest.mark.parametrize("calls", ["same", "sizes", "numbers"])
def test_sixteen_threads(calls):
    """Concurrent first calls trace once; later ones run side by side and give what Python gives."""
    f = ag.function(plus)
    barrier = threading.Barrier(16)
    wrong = []

    def work(k):
        barrier.wait()
        for i in range(50):
            size, n = (3 + (i + k) % 5 if calls == "sizes" else 3), ((i * k) % 7 if calls == "numbers" else 1)
            x = np.arange(size) + k
            if not np.array_equal(f(x, n), x + n):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(f.traces) == (1 if calls == "same" else 2)
