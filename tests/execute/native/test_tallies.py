"""Loops that add up whole numbers: shared by threads where nothing else can see a sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from runtime.execute.native import pool
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both, same
from tests.sharing import sharing

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


@pytest.fixture(autouse=True)
def shared() -> Iterator[pool.Pool]:
    """All that can be shared is, in every test."""
    with sharing() as made:
        yield made


def collatz(limit: Any) -> Any:
    total = 0
    n = 1
    while n <= limit:
        m = n
        while m != 1:
            m = m // 2 if m % 2 == 0 else 3 * m + 1
            total += 1
        n += 1
    return total, n


def primes(first: Any, stop: Any) -> Any:
    count, others, both = 7, -3, 0
    for n in range(first, stop):
        d, prime = 2, n > 1
        while d * d <= n:
            if n % d == 0:
                prime = False
                break
            d += 1
        if prime:
            count += 1
        else:
            others = others - n
            both += d
    return count, others, both


def with_writes(x: Any, out: Any) -> Any:
    found = 0
    for i in range(len(x)):
        steps = 0
        while x[i] * 2.0**steps < 100.0:
            steps += 1
        out[i] = steps
        found += steps
    return found


def inner(n: Any, m: Any) -> Any:
    total = 0
    for i in range(n):
        for j in range(i % m):
            total += j - i
            for k in range(j):
                total -= k
    return total


def one_path(n: Any, a: Any) -> Any:
    total = 0
    for i in range(n):
        for j in range(3):
            if (i + j) % 5 == 0:
                total += a
            elif (i + j) % 5 == 1:
                total -= a
    return total


def divided(n: Any, by: Any) -> Any:
    total = 0
    for i in range(n):
        for j in range(2 + i % 2):
            total += 1000 // (by - i * j)
    return total


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (collatz, (2000,)),
        (primes, (0, 3000)),
        (primes, (-5, 40)),
        (with_writes, (np.linspace(0.1, 120.0, 300), np.zeros(300))),
        (inner, (300, 7)),
        (one_path, (500, 3)),
        (one_path, (500, 2**40)),
        (divided, (100, -1)),
    ],
)
def test_sums_of_trips(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    same(function, *args)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (collatz, (0,)),
        (collatz, (-7,)),
        (collatz, (1,)),
        (primes, (9, 9)),
        (one_path, (500, 2**62)),  # sums that fit at no time, or not always, in 64 bits
        (one_path, (5, 2**62)),
        (one_path, (2, 2**63 - 1)),
        (divided, (100, 98)),  # a trip raises
    ],
)
def test_sums_that_leave_to_the_plan_or_are_empty(
    function: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    same(function, *args, jobs=0)


def seen_inside(n: Any) -> Any:
    total = other = 0
    for _ in range(n):
        for j in range(4):
            total += j
        if total > 50:
            other += 1
    return total, other


def handed_on(n: Any) -> Any:
    total, last = 0, 0
    for i in range(n):
        for j in range(4):
            total += j * i
        last = total
    return total, last


def doubled(n: Any) -> Any:
    total = 0
    for i in range(n):
        for j in range(3):
            total += total % 7 + j
        total = i - total
    return total


def changed_places(n: Any) -> Any:
    a, b = 0, 1
    for i in range(n):
        for j in range(3):
            a += i * j
        a, b = b, a
    return a, b


def floats(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        for j in range(3):
            total += x[i] * j
    return total


def until(limit: Any) -> Any:
    total = n = 0
    while n < limit:
        for j in range(n % 5):
            total += j
        n += 1
        limit -= 1
    return total, n, limit


def counted_to_a_sum(limit: Any) -> Any:
    total = n = 0
    while n < total + limit:
        for j in range(n % 5):
            total += j % 2
        n += 1
    return total, n


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (seen_inside, (40,)),
        (handed_on, (40,)),
        (doubled, (12,)),
        (changed_places, (41,)),
        (floats, (np.linspace(0.0, 1.7, 300),)),
        (until, (50,)),
        (counted_to_a_sum, (50,)),
    ],
)
def test_what_is_more_than_a_sum_is_not_shared(
    shared: pool.Pool, function: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    before = shared.jobs
    both(function, [args])
    assert shared.jobs == before
