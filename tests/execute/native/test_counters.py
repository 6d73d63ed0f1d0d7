"""`while` loops that count: by one, by other steps, up and down, to the ends of 64 bits; and their pauses."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import PATIENCE, unavailable
from tests.execute.native.harness import both
from tests.execute.native.test_limits import TooLong, time_limit

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")

MOST = 2**63 - 1


def by_one(n, m):  # type: ignore[no-untyped-def]
    i, found, last = m, 0, -5
    while i < n:
        found = found * 3 % 1000 + i
        last = i
        i += 1
    return i, found, last


def to_the_bound(n, m):  # type: ignore[no-untyped-def]
    i, found = n, 0
    while i <= m:
        found += i % 7
        i += 1
    return i, found


def by_three(n, m):  # type: ignore[no-untyped-def]
    i, found = n, 0
    while i <= m:
        found += i % 7
        i += 3
    return i, found


def down(n, m):  # type: ignore[no-untyped-def]
    i, found = m, 0
    while i > n:
        found += i % 7
        i -= 1
    return i, found


def down_by_many(n, m):  # type: ignore[no-untyped-def]
    i, found = m, 0
    while i >= n:
        i -= 4
        found += i % 7
        if found > 10**6:
            found = i
    return i, found


def by_given(n, m):  # type: ignore[no-untyped-def]
    found = 0
    for step in range(1, 9):
        i = n
        while i < m:
            found += i % 5
            i += step * step
        found += i
    return found


def by_any(n, m):  # type: ignore[no-untyped-def]
    """The step is 0 or less for some, which it is not known of."""
    i, found = 0, 0
    while i < 50 and found < 50:
        i += n
        found += 1
    k = 0
    while k < m:
        k += abs(n) + 1
        found += k
    return i, k, found


def in_turns(n, m):  # type: ignore[no-untyped-def]
    """The bound moves, so that trips are not counted."""
    i, j = n, m
    while i < j:
        i += 1
        j -= 2
    return i, j


def left_early(n, m):  # type: ignore[no-untyped-def]
    i = n
    while i < m:
        if i % 13 == 12:
            break
        i += 2
    return i


PROGRAMS = [by_one, to_the_bound, by_three, down, down_by_many, by_given, by_any, in_turns, left_early]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_loops_that_count(program: Any) -> None:
    pairs = [(0, 10), (0, 0), (5, -5), (-5, 5), (1, 2), (-70_000, 70_000), (3, 65_539), (2, 65_538), (-1, 8)]
    both(program, [(2, 3), *pairs, *((b, a) for a, b in pairs)])


@pytest.mark.parametrize("program", PROGRAMS[:5], ids=lambda f: f.__name__)
def test_as_far_as_64_bits_go(program: Any) -> None:
    ends = [(MOST - 9, MOST), (MOST - 9, MOST - 1), (-MOST - 1, -MOST + 9), (-MOST, -MOST + 9)]
    ends += [(MOST - 1, MOST - 1), (MOST, -MOST - 1)]
    calls = [(1, 5), *(ends if program is not by_one else [(b, a) for a, b in ends])]
    assert len(calls) <= PATIENCE
    both(program, calls)


def sieve(n):  # type: ignore[no-untyped-def]
    prime = np.ones(n + 1, dtype=np.bool_)
    found = 0
    for i in range(2, n + 1):
        if prime[i]:
            found += 1
            j = i * i
            while j <= n:
                prime[j] = False
                j += i
    return found, prime


def shellsort(x):  # type: ignore[no-untyped-def]
    gap = len(x) // 2
    while gap > 0:
        i = gap
        while i < len(x):
            kept, j = x[i], i
            while j >= gap and x[j - gap] > kept:
                x[j] = x[j - gap]
                j -= gap
            x[j] = kept
            i += 1
        gap //= 2
    return x


def smoothed(x):  # type: ignore[no-untyped-def]
    i = len(x) - 1
    while i >= 0:
        x[i] += x[i - 1] + 1
        i -= 2
    i = 1
    while i < len(x):
        x[i] = x[i - 1] * 0.5 + x[i]
        i += 1
    return x, i


def test_over_arrays() -> None:
    both(sieve, [(n,) for n in (30, 0, 1, 2, 3, 4, 1000, 70_000)])
    r = np.random.default_rng(2)
    for program in (shellsort, smoothed):
        both(program, [(r.uniform(0, 9, n).round(),) for n in (9, 0, 1, 2, 3, 8, 16, 17, 100)])


def forever(n, step):  # type: ignore[no-untyped-def]
    i, total = 0, 0.5
    while i < n:
        total = total * 0.5 + i
        i += 2
    while i > 0:
        total = total * 0.5 + i
        i -= 3
    return total


def test_such_a_loop_can_be_interrupted() -> None:
    with settings.override(executor="native", compile="now"):
        converted = ag.function(forever)
        for n in (3, 70_000, 5):
            assert converted(n, 2) == forever(n, 2)
        counted, ended = [0], threading.Event()

        def count() -> None:
            while not ended.wait(0.002):
                counted[0] += 1

        other = threading.Thread(target=count)
        other.start()
        with pytest.raises(TooLong), time_limit(0.5):
            converted(2**60, 2)
        so_far = counted[0]
        ended.set()
        other.join()
        assert so_far > 3


def test_the_trips_of_such_a_loop_are_not_counted() -> None:
    with settings.override(executor="native", compile="now"):
        concrete = ag.function(sieve).get_concrete_function(100)
    assert "\nstretch" in concrete.native_ir


def of_bits(n, m):  # type: ignore[no-untyped-def]
    x, found = n * n + 3, 0
    while x:
        x &= x - 1
        found += 1
    while m > 0:
        found += m & 3
        m >>= 2
    while n > 0:
        found = (found * 3 + n % 10) % 1000
        n //= 10
    return found, x, m, n


def divisor(n, m):  # type: ignore[no-untyped-def]
    while m != 0:
        n, m = m, n % m
    return n, m


def halved(n, m):  # type: ignore[no-untyped-def]
    """Below zero a shift never gets to 0, so that the trips are counted."""
    found = 0
    while n != 0 and found < 100:
        n >>= 1
        found += 1
    k = 0
    while m:
        m = m // 2 if m > 0 else 0
        k += 1
    return n, found, m, k


@pytest.mark.parametrize("program", [of_bits, divisor, halved], ids=lambda f: f.__name__)
def test_loops_of_few_trips(program: Any) -> None:
    numbers = (0, 1, 2, 7, 10, 96, 1000, 2**31 - 1, 2**62 + 5, MOST, -1, -6, -(2**40), -MOST - 1)
    r = np.random.default_rng(1)
    pairs = [(int(r.choice(numbers)), int(r.choice(numbers))) for _ in range(40)]
    both(program, [(12, 18), (0, 0), (5, 0), (0, 5), (-4, 6), (4, -6), (-4, -6), *pairs], lowered=False)


def shifted(n, x):  # type: ignore[no-untyped-def]
    k = 0
    while x != 0:
        x >>= 1
        k += n
    return k


def test_a_shift_that_never_ends_can_be_interrupted() -> None:
    with settings.override(executor="native", compile="now"):
        converted = ag.function(shifted)
        assert converted(0, 100) == 0
        with pytest.raises(TooLong), time_limit(0.5):
            converted(0, -1)
