"""Calls that are traced into: recursion that only the data ends is followed a few times, no more."""

from __future__ import annotations

import warnings

import numpy as np

import autograph as ag


def memoised(n, memo):
    if n not in memo:
        memo[n] = memoised(n - 1, memo) + memoised(n - 2, memo)
    return memo[n]


def closed(n):
    memo = {0: 0, 1: 1}

    def fib(k):
        if k not in memo:
            memo[k] = fib(k - 1) + fib(k - 2)
        return memo[k]

    return fib(n)


def adaptive(f, a, b, depth):
    m = (a + b) / 2
    one = (b - a) * (f(a) + f(b)) / 2
    two = (b - a) * (f(a) + 2 * f(m) + f(b)) / 4
    if abs(one - two) < 1e-4 or depth == 0:
        return two
    return adaptive(f, a, m, depth - 1) + adaptive(f, m, b, depth - 1)


def test_recursion_in_branches_that_depend_on_the_data():
    ours, plain = {0: 0, 1: 1}, {0: 0, 1: 1}
    # each of these may take for ever
    assert ag.function(memoised)(40, ours) == memoised(40, plain) and ours == plain
    assert ag.function(closed)(70) == closed(70)
    args = (lambda x: np.sin(x * x)), np.float64(0.0), np.float64(3.0), 12
    assert ag.function(adaptive)(*args) == adaptive(*args)


def constants_that_warn(x):
    low = np.log(-1.0)
    high = np.float32(1e300)
    return x + low, x * np.exp(1e4), x * high


def test_functions_of_constants_that_warn_are_traced_and_warn_on_each_call():
    function = ag.function(constants_that_warn)
    seen = []
    for f in (constants_that_warn, function, function):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = f(np.arange(3.0))
        seen.append(([str(w.message) for w in caught], repr(results)))
    assert seen[0] == seen[1] == seen[2] and len(seen[0][0]) >= 3
    assert len(function.traces) == 1
    assert "log(-1.0)" in function.plan_source
