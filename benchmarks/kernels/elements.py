"""Functions of one number, done for every element of an array: `ag.vectorize` beside `numba.vectorize`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def escape(cr: Any, ci: Any) -> Any:
    x, y, k = 0.0, 0.0, 0
    while k < 100 and x * x + y * y < 4.0:
        x, y = x * x - y * y + cr, 2.0 * x * y + ci
        k += 1
    return k


def collatz_length(n: Any) -> Any:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def kepler(m: Any, e: Any) -> Any:
    x = m
    for _ in range(50):
        d = (x - e * math.sin(x) - m) / (1.0 - e * math.cos(x))
        x = x - d
        if abs(d) < 1e-12:
            break
    return x


def cube_root(a: Any) -> Any:
    x = a
    while abs(x * x * x - a) > 1e-10 * a:
        x = (2.0 * x + a / (x * x)) / 3.0
    return x


def greatest_divisor(a: Any, b: Any) -> Any:
    while b != 0:
        a, b = b, a % b
    return a


def exp_series(x: Any) -> Any:
    term, total, k = 1.0, 1.0, 1
    while abs(term) > 1e-16 * abs(total):
        term = term * x / k
        total += term
        k += 1
    return total


def implied_volatility(price: Any, strike: Any) -> Any:
    low, high = 0.001, 3.0
    while high - low > 1e-8:
        v = 0.5 * (low + high)
        d1 = (math.log(1.0 / strike) + 0.5 * v * v) / v
        d2 = d1 - v
        call = 0.5 * (1 + math.erf(d1 / 1.4142135623730951)) - strike * 0.5 * (
            1 + math.erf(d2 / 1.4142135623730951)
        )
        if call > price:
            high = v
        else:
            low = v
    return 0.5 * (low + high)


def tax(income: Any) -> Any:
    if income < 10_000:
        return 0.0
    if income < 50_000:
        return 0.2 * (income - 10_000)
    return 8_000.0 + 0.4 * (income - 50_000)


def bit_count(n: Any) -> Any:
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count


def smooth_step(x: Any) -> Any:
    t = min(max(x, 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)


KERNELS = [
    (escape, lambda rng: (rng.uniform(-2, 1, 20_000), rng.uniform(-1.5, 1.5, 20_000))),
    (collatz_length, lambda rng: (np.arange(1, 5_000),)),
    (kepler, lambda rng: (rng.random(10_000) * 6, rng.random(10_000) * 0.9)),
    (cube_root, lambda rng: (rng.random(10_000) * 100 + 0.1,)),
    (greatest_divisor, lambda rng: (rng.integers(1, 10**6, 10_000), rng.integers(1, 10**6, 10_000))),
    (exp_series, lambda rng: (rng.uniform(-3, 3, 10_000),)),
    (implied_volatility, lambda rng: (rng.uniform(0.05, 0.4, 3_000), rng.uniform(0.7, 1.3, 3_000))),
    (tax, lambda rng: (rng.uniform(0, 100_000, 50_000),)),
    (bit_count, lambda rng: (rng.integers(0, 2**40, 10_000),)),
    (smooth_step, lambda rng: (rng.uniform(-1, 2, 50_000),)),
]
