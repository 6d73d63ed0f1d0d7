"""Nothing leaks: objects are counted over thousands of retraces."""

from __future__ import annotations

import gc
import importlib
import linecache
import sys
import weakref

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.places import module_of


def held():
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.slow
def test_thousands_of_retraces(make):
    with settings.override(cache_size=8):
        f, tracer = make(lambda x, n: n, reduce_retracing=False, strict=True)
        counts = []
        for part in (range(1200), range(1200, 2600), range(2600, 4000)):  # the first fills what is kept
            for n in part:
                f(1.0, n)
            tracer.calls.clear()
            tracer.volatile.clear()
            counts.append(held())
    assert len(f.traces) == 8
    assert abs(counts[2] - counts[1]) < 200, counts


def test_real_traces_go_with_all_that_belongs_to_them():
    def body(x, n):
        total = x
        while total.sum() < n:
            total = total + 1
        return total

    with settings.override(cache_size=4):
        f = ag.function(body, reduce_retracing=False, strict=True)
        counts, files = [], []
        for part in range(3):
            for n in range(part * 25, (part + 1) * 25):  # each is compiled anew
                f(np.ones(2), n)
            f._accounts.clear()  # the last thousand are kept
            counts.append(held())
            files.append(len(linecache.cache))
    assert counts[2] - counts[1] < 100, counts
    assert files[2] - files[1] < 5, files


def stops(x, n):
    if n[0] > 0:
        raise ValueError("stop")
    return x + 1


def stops_inside(x, n):
    return stops(x, n) + 1


def outside_of_it(x, n):
    return x[n[0] + 77]


def from_another(x, n):
    try:
        return x[77]
    except IndexError as error:
        raise ValueError("none") from error


def in_a_loop(x, n):
    s = 0.0
    for i in range(30):
        s += x[i]
    return s


def in_an_op(x, n):
    return (x * np.ones(7)).sum()


@pytest.mark.parametrize("body", [stops, stops_inside, outside_of_it, from_another, in_a_loop, in_an_op])
@pytest.mark.parametrize("way", ["function", "convert", "gradient", "tape"])
def test_errors_let_go_of_the_arguments_at_once(body, way):
    f = {
        "function": lambda: ag.function(body),
        "convert": lambda: ag.convert(body),
        "gradient": lambda: ag.grad(body),
        "tape": lambda: ag.grad(body).eager,
    }[way]()
    x, n = np.arange(4.0), np.ones(1, int)

    def fail(times):
        for _ in range(times):
            try:
                f(x, n)
            except (ValueError, IndexError):
                pass
            else:
                raise AssertionError

    fail(3)
    gc.collect()
    gc.disable()
    try:
        before = sys.getrefcount(x)
        fail(10)
        assert sys.getrefcount(x) == before
    finally:
        gc.enable()


def test_a_module_goes_with_its_functions_and_one_loaded_anew_is_found(tmp_path, monkeypatch):
    file = tmp_path / "short_lived.py"
    file.write_text("def total(x):\n    return x.sum() + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    gone = []
    for _ in range(2):
        module = importlib.import_module("short_lived")
        assert module_of(str(file)) is module
        with settings.override(executor="numpy"):
            assert ag.function(module.total)(np.ones(2)) == 3
        gone.append(weakref.ref(module))
        del module, sys.modules["short_lived"]
        assert module_of(str(file)) is None
    gc.collect(), gc.collect()
    assert [module() for module in gone] == [None, None]
