"""Loops as native code inside plans: what is made for a loop alone is made by it."""

import numpy as np
import pytest

import autograph as ag

N = 40


@ag.do_not_convert
def unknown(x):
    return x


def filled(x, n):
    k = unknown(n)
    out = []
    y = x * 2
    for i in range(n):
        out.append(y[i] + i)
    return out, k


def two_lists(x, n):
    evens, odds = [], []
    unknown(n)
    for i in range(n):
        if i % 2:
            odds.append(x[i])
        else:
            evens.append(i)
    return evens, odds, len(evens)


def alias(x, n):
    out = []
    both = (out, out)
    unknown(n)
    for i in range(n):
        out.append(x[i])
    return both[0] is out, both, out


def handed_on(x, n):
    out = []
    kept = unknown(out)
    for i in range(n):
        out.append(x[i])
    return kept, out, kept is out


def filled_twice(x, n):
    out = []
    unknown(n)
    for i in range(n):
        out.append(x[i])
    for i in range(n):
        out.append(-x[i])
    return out


def inner(x, n):
    whole = []
    for i in range(3):
        line = []
        unknown(i)
        for j in range(n):
            line.append(x[j] * i)
        whole.append(line)
    return whole


def overflowing(x, n):
    out = []
    unknown(n)
    k = 1
    for i in range(2 * n):
        k *= 3
        out.append(k)
    return out


def raising(x, n):
    seen = unknown([])
    out = []
    seen.append(n)
    try:
        kept = []
        for i in range(n):
            kept.append(x[i])
            out.append(1.0 / (x[i] - 0.5))
            if i > 30:
                raise ValueError("late")
    except ValueError as error:
        return str(error), len(out), seen
    return out, seen


def with_array(x, n):
    k = unknown(n)
    log = []
    out = np.empty(n)
    for i in range(n):
        out[i] = x[i] * 2
        if out[i] > 0.5:
            log.append(out[i])
    return out, log, k


PROGRAMS = (filled, two_lists, alias, handed_on, filled_twice, inner, overflowing, raising, with_array)


def same(a, b):
    assert type(a) is type(b), (a, b)
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert np.array_equal(a, b)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_lists_that_are_made_for_a_loop(f):
    g = ag.function(f)
    for n in (N, N, 3, 0, N):
        x = np.linspace(0.0, 1.0, N)
        want, got = f(x.copy(), n), g(x.copy(), n)
        same(want, got)
        lists = [x for x in got if type(x) is list] if isinstance(got, tuple) else [got]
        for one in lists:
            one.append("mine")  # it is a list of its own
        same(f(x.copy(), n), g(x.copy(), n))


@pytest.mark.parametrize("f", [filled, two_lists, with_array], ids=lambda f: f.__name__)
def test_such_loops_are_native(f):
    if ag.settings.executor == "numpy":
        pytest.skip("no native code")
    g, x = ag.function(f), np.linspace(0.0, 1.0, N)
    g(x, N)
    native = g.get_concrete_function(x, N).native
    before = native.calls
    g(x, N)
    assert native.calls == before + 1
