"""The public face of autograph: what it takes, what it refuses, what calls do with real traces."""

from __future__ import annotations

import functools
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import autograph as ag
import runtime


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


class Model:
    def __init__(self, w):
        self.w = w

    def shifted(self, x, by=1):
        return x * self.w + by

    def __call__(self, x):
        if x > 0:
            return x * self.w
        return self.shifted(x)

    @ag.function
    def scaled(self, x):
        """Scales."""
        if x > 0:
            return x * self.w
        return -x

    @ag.function
    @staticmethod
    def still(x):
        return x + 1

    @ag.function
    @classmethod
    def named(cls, x):
        return cls.__name__, x


def module_level(x):
    return x + 1


decorated = ag.function(module_level)
decorated.__qualname__ = "decorated"


def test_with_and_without_options():
    for f in (ag.function(collatz), ag.function()(collatz), ag.function(strict=True)(collatz)):
        assert f(np.int64(27)) == 111 and type(f(np.int64(27))) is int
        assert f.python_function is collatz and len(f.traces) == 1
    again = ag.function(f, reduce_retracing=False)
    assert again.python_function is collatz and again is not f and not again.traces


def test_every_kind_of_callable():
    model = Model(3)
    callables = [
        model.shifted,
        functools.partial(model.shifted, by=5),
        functools.partial(Model.shifted, model),
        model,
        functools.partial(functools.partial(Model.shifted, model), by=2),
        lambda x: x + 1,
    ]
    for plain in callables:
        f = ag.function(plain)
        assert f.python_function is plain
        for x in (2.0, -3.0, 2.0):
            assert f(x) == plain(x)
        model.w += 1
        assert f(2.0) == plain(2.0)
        assert f.traces and f.traces[-1].concrete is not None
        assert f.get_concrete_function(2.0).graph
        with pytest.raises(TypeError) as caught:
            f(1, 2, 3, 4)
        with pytest.raises(TypeError) as expected:
            plain(1, 2, 3, 4)
        assert str(caught.value) == str(expected.value)


def test_methods():
    a, b = Model(2), Model(3)
    assert [a.scaled(5), b.scaled(5), Model.scaled(a, 5), a.scaled(-5), b.still(1), Model.still(1)] == [
        10,
        15,
        10,
        5,
        2,
        2,
    ]
    assert Model.named(1) == ("Model", 1) == b.named(1)
    assert Model.scaled.__doc__ == "Scales."
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None


def test_what_has_no_source_is_refused():
    for bad in (len, int, 5, np.sin, "f", functools.partial(max, 1)):
        with pytest.raises(ag.SourceNotFound):
            ag.function(bad)
        with pytest.raises(ag.SourceNotFound):
            ag.to_code(bad)
    namespace = {}
    exec("def made(x): return x", namespace)
    with pytest.raises(ag.SourceNotFound):
        ag.function(namespace["made"])

    def numbers():
        yield 1

    async def later():
        pass

    for bad in (numbers, later):
        with pytest.raises(ag.GeneratorError):
            ag.function(bad)


def test_convert_and_to_code():
    functional = ag.convert(collatz)
    assert functional(27) == 111 and functional.__name__ == "collatz"
    assert "ag.while_loop" in ag.to_code(collatz)
    assert ag.to_code(ag.function(collatz)) == ag.to_code(collatz)
    model = Model(2)
    assert ag.convert(model.shifted)(3) == 7 and ag.convert(model.shifted).__self__ is model


def test_do_not_convert():
    calls = []

    @ag.do_not_convert
    def outside(x):
        calls.append(type(x))
        return x + 1

    @ag.function
    def f(x):
        return outside(x) * 2

    assert [f(np.int64(1)), f(np.int64(2))] == [4, 6]
    assert calls == [np.int64, np.int64]
    assert ag.do_not_convert()(collatz.__class__) is not None


def test_a_call_inside_a_trace_is_part_of_it():
    inner = ag.function(collatz)

    @ag.function
    def outer(x):
        return inner(x) + 1

    assert outer(np.int64(27)) == 112
    assert not inner.traces and "while" in outer.plan_source


def test_refused_constructs_run_as_python_or_raise():
    def f(x):
        try:
            with np.errstate(all="ignore"):
                exec("x = 1")
                return 1 / x
        except ZeroDivisionError:
            return None

    g = ag.function(f)
    assert [g(0), g(2)] == [None, 0.5]
    assert "plain Python" in str(ag.explain(g))
    with pytest.raises(ag.AutographError):
        ag.function(f, strict=True)(1)


rate = 1


def test_globals_retrace_then_are_read():
    global rate

    @ag.function
    def f(x):
        return x * rate

    got = []
    for rate in (1, 2, 3, 4, 5, 6):
        got.append(f(np.int64(10)))
    assert got == [10, 20, 30, 40, 50, 60]
    assert len(f.traces) <= 3


def test_eager_switch():
    seen = []

    @ag.function
    def f(x):
        seen.append(ag.executing_eagerly())
        return x

    ag.run_functions_eagerly(True)
    try:
        f(1)
    finally:
        ag.run_functions_eagerly(False)
    assert seen == [True] and not f.traces and ag.executing_eagerly()


def test_threads():
    f = ag.function(collatz)
    got = []
    threads = [threading.Thread(target=lambda n=n: got.append((n, f(np.int64(n))))) for n in (27, 27, 97, 6)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert sorted(got) == sorted((n, collatz(n)) for n in (27, 27, 97, 6))
    assert len(f.traces) == 1


def test_pickled_by_reference():
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_check_mode_runs_both():
    @ag.function(check=True)
    def f(x, log):
        for i in range(len(x)):
            if x[i] > 1:
                x[i] -= 1
                log.append(i)
        print(x.sum())
        return x

    x, log = np.array([1.0, 2.0, 3.0]), []
    assert f(x, log) is x and log == [1, 2]
    assert f(x, log) is x and log == [1, 2, 2]
    assert f.traces


def test_explain():
    assert ag.explain(collatz).summary == "'collatz' is converted"
    f = ag.function(collatz)
    assert "was not called yet" in str(ag.explain(f))
    f(np.int64(3))
    assert str(ag.explain(f)).startswith("collatz(n: int64)\n  traced in ")
    model = Model(2)
    model.scaled(1)
    assert "scaled(self: object<" in str(ag.explain(model.scaled))


def test_runtime_by_hand():
    @runtime.function
    def total(x):
        return runtime.while_loop(lambda i, s: i < x.size, lambda i, s: (i + 1, s + x[i]), (0, 0.0))[1]

    assert total(np.arange(5.0)) == 10 and total(np.arange(6.0)) == 15 and total(np.arange(7.0)) == 21
    assert len(total.traces) == 2 and "while" in total.plan_source

    @runtime.function()
    def plain_if(x):
        return 1 if x > 0 else 2

    assert [plain_if(np.float64(1)), plain_if(np.float64(-1))] == [1, 2]
    assert plain_if.traces[0].concrete is None
