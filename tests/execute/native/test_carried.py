"""Arrays made in a loop and carried on: who holds them, and that no two take each other's memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from runtime.execute.native.lower import lower
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


def leap(u, v, n):  # type: ignore[no-untyped-def]
    prev, now = u, v
    for _ in range(n):
        new = 2.0 * now - prev * 0.5
        prev, now = now, new
    return prev, now, u


def swap(a, b, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        a, b = b, a
        if i % 3 == 0:
            a = a + 1.0
    return a, b


def same(a, n):  # type: ignore[no-untyped-def]
    b = a
    for i in range(n):
        x = a * 0.5
        a, b = x, x
        b += 1.0
    return a, b


def nested(a, n):  # type: ignore[no-untyped-def]
    t = a
    for i in range(n):
        s = a * 0.0
        for j in range(i):
            s = s + t
        t = s * 0.5 + a
    return t, a


def nested2(a, n):  # type: ignore[no-untyped-def]
    best = a
    for i in range(n):
        c = a
        k = 0
        while k < i:
            c = c * 1.5
            k += 1
            if c[0] > 100.0:
                break
        best = c
        if best[0] > 50.0:
            a = best * 0.01
    return best, a


def early(a, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        b = a + i
        if b[0] > 5.0:
            return b, i
        a = b
    return a, -1


def hist(a, n):  # type: ignore[no-untyped-def]
    old = a
    for i in range(n):
        z = np.zeros(len(a))
        z[0] = old[0] + 1
        z[1:] += old[:-1]
        old = z
    return old


def grow(a, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        b = np.zeros(i + 1)
        b[:] = i
        if i % 2:
            a = b
    return a


def again(a, n):  # type: ignore[no-untyped-def]
    first = a + 1.0
    y = a
    for i in range(n):
        z = y * 0.5
        y = first
        if i == 3:
            first = z + a
    return y, first


def counters(a, n):  # type: ignore[no-untyped-def]
    up, down, top = 0, n, 2**62
    for i in range(n):
        up += 3
        down -= 1
        top += 2**58
        a[up % 3] += i % 2
        if down >= -1 and a[down % len(a)] > 2.0:
            up -= 1
    return up, down, top, abs(down), up // 2, -up % 7


CASES: list[tuple[Callable[..., Any], int]] = [
    (leap, 2), (swap, 2), (same, 1), (nested, 1), (nested2, 1), (early, 1), (hist, 1), (grow, 1),
    (again, 1), (counters, 1),
]  # fmt: skip


@pytest.mark.parametrize(("function", "count"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_carried(function: Callable[..., Any], count: int) -> None:
    arrays = [np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])][:count]
    converted = both(function, [(*arrays, n) for n in (0, 1, 2, 3, 17, 60)])
    before = [sys.getrefcount(a) for a in arrays]
    for n in range(200):
        converted(*arrays, n % 13)
    assert [sys.getrefcount(a) for a in arrays] == before


def test_large_arrays_written_little() -> None:
    """Copying what is written, to put it back, must not be what such calls take their time for."""

    def bump(x, i, n):  # type: ignore[no-untyped-def]
        k = 0
        while k < n:
            x[i] = x[i] + 1.0
            k += 1

    x = np.zeros(1_000_000)
    with settings.override(executor="native", compile="now"):
        converted = ag.function(bump)
        for _ in range(5):
            converted(x, 3, 2)
        begin = time.process_time()
        for _ in range(1000):
            converted(x, 3, 2)
        assert time.process_time() - begin < 0.5
    assert x[3] == 2010.0 and x.sum() == 2010.0


def a_view_in_some_trips(x, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for k in range(n):
        y = x
        if k % 2:
            y = x[1:]
        s += y.sum() + y[0]
    return s


def turned_in_some_trips(x, n):  # type: ignore[no-untyped-def]
    for k in range(n):
        if k % 3:
            x = x[::-1]
        x[0] += 1
    return x.sum()


def a_view_at_the_end(x, n):  # type: ignore[no-untyped-def]
    y = x * 2
    if n > 2:
        y = y[1:]
    y[0] = 5
    for k in range(n):
        y[0] += k
    return y.sum(), x


def a_part_of_what_a_trip_made(x, n):  # type: ignore[no-untyped-def]
    y = x
    for k in range(n):
        z = np.sort(x) * k
        if k % 3 == 1:
            y = z[1:]
        else:
            y = z
        s = y[0]
    return s, y


def new_or_turned(x, n):  # type: ignore[no-untyped-def]
    y = x
    for k in range(n):
        if k % 5 == 3:
            y = y * 2.0
        elif k % 2:
            y = y[::-1]
    return y[0], y.sum()


def turned_on_one_way(x, n):  # type: ignore[no-untyped-def]
    y = x
    for k in range(n):
        z = x * k
        if k % 2:
            z = z[::-1]
        y = y + z
    return y


def written_on_both_ways(x, n):  # type: ignore[no-untyped-def]
    z = x
    for k in range(n):
        if k % 2:
            z = x[1:]
        else:
            z = x
        z[0] = k
    return x


@pytest.mark.parametrize(
    ("function", "lowered"),
    [(a_view_in_some_trips, True), (turned_in_some_trips, False), (a_view_at_the_end, True),
     (a_part_of_what_a_trip_made, False), (new_or_turned, False), (turned_on_one_way, True),
     (written_on_both_ways, True)],
)  # fmt: skip
def test_a_whole_array_on_one_way_a_part_on_another(function: Callable[..., Any], lowered: bool) -> None:
    both(function, [(np.arange(6.0) ** 2 - 3, n) for n in (20, 1, 2, 3, 30, 0)], lowered=lowered)


def collatz(m):  # type: ignore[no-untyped-def]
    steps = 0
    while m != 1:
        if m % 2 == 0:
            m = m // 2
        else:
            m = 3 * m + 1
        steps += 1
    return steps, m


def digits(m):  # type: ignore[no-untyped-def]
    total, product = 0, 1
    while m > 0:
        total += m % 10
        product = product * (m % 8 + 1)
        m //= 10
    return total, product


def squared(m):  # type: ignore[no-untyped-def]
    """It grows fast, and is negative in between where it begins so."""
    k, found = 0, []
    x = m
    while k < 4:
        if x % 3 == 1:
            x = x * x - 4
        else:
            x = x // 4 + 7
        k += 1
    return x, x % 16, x // 16, found


@pytest.mark.parametrize("program", [collatz, digits, squared], ids=lambda f: f.__name__)
def test_numbers_that_grow_beyond_64_bits_on_the_way(program: Any) -> None:
    most = 2**63 - 1
    calls = [(27,), (1,), (97,), (871,), (most // 3,), (most // 3 + 2,), (most,), (most - 1,), (3**39 + 2,)]
    if program is not collatz:
        calls += [(0,), (-5,), (-(2**31) - 2,), (-most - 1,), (2**32 + 3,)]
    both(program, calls, lowered=False)


def summed(x, first):  # type: ignore[no-untyped-def]
    total = first
    for i in range(len(x)):
        total += x[i]
    return total


def summed_if(x, first):  # type: ignore[no-untyped-def]
    total, largest, seen = first, first, 0
    for i in range(len(x)):
        if x[i] > 1:
            total = x[i] - total
        if x[i] > largest:
            largest = x[i]
        if total < 3:
            seen += 1
        if total == seen:
            total = seen
    return total, largest, seen, total * 2 + largest


def reset(x, first):  # type: ignore[no-untyped-def]
    run, best = 0, first
    for i in range(len(x)):
        run = run + x[i]
        if run < 0:
            run = 0
        if run > best:
            best = run
    return run, best


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i8"])
@pytest.mark.parametrize("program", [summed, summed_if, reset], ids=lambda f: f.__name__)
def test_integers_that_become_floats_on_the_way(program: Any, dtype: str) -> None:
    r, calls = np.random.default_rng(8), list[Any]()
    for first in (0, 1, -3, 2**24 + 1, 10**9 + 7, 2**53, -(2**53) - 1, 2**60 + 1):
        for n in (9, 0, 1, 30):
            calls.append(((r.integers(-9, 9, n) / (1 if dtype[0] == "i" else 4)).astype(dtype), first))
    if dtype[0] == "f":
        for odd in (-0.0, np.inf, -np.inf, np.nan, 1e30):
            calls.append((np.array([odd, -0.0, 2, odd]).astype(dtype), 0))
    for errors in ("warn", "ignore"):
        both(program, calls, lowered=False, all=errors)


def stepping(x, first):  # type: ignore[no-untyped-def]
    total = first
    for i in range(len(x)):
        if i % 3 == 0:
            total = total + 1 if i % 2 else i
        else:
            total += x[i]
    return total


def pieces(x, first):  # type: ignore[no-untyped-def]
    found, pair = [], (first, 0.0)
    for i in range(len(x)):
        total = first
        for j in range(i):
            total -= x[j]
        pair = pair[0] + total, pair[1] + i
        found.append(total)
    return found, pair


def looking_up(x, first):  # type: ignore[no-untyped-def]
    at, seen, i = 0, first, 0
    while i < len(x) and -9 < at < 9:
        seen = max(seen, x[i] // 2, at) - min(at, 3) * (at > 1)
        at = abs(x[i]) if x[i] != 3 else 0
        i += 1
    return at, seen, -at, seen / 4, at * 2, bool(at)


def indexed(x, first):  # type: ignore[no-untyped-def]
    table, at = np.arange(20.0), first % 16
    for i in range(len(x)):
        table[at] += 1
        at = abs(x[i]) if i % 4 else 0
    return table, at


def maximum_or_nothing(x, first):  # type: ignore[no-untyped-def]
    best = first
    for v in x:
        if v > best:
            best = v
        elif v != v:
            best = -1
    return best, best + 1, best == first


@pytest.mark.parametrize("dtype", ["f4", "i4", "f8", "i2", "u4"])
@pytest.mark.parametrize(
    "program", [summed, stepping, pieces, looking_up, indexed, maximum_or_nothing], ids=lambda f: f.__name__
)
def test_small_integers_held_as_the_numbers_that_they_become(program: Any, dtype: str) -> None:
    r, calls = np.random.default_rng(9), list[Any]()
    if dtype[0] == "f" and program is indexed:
        return  # floats are no indices
    for first in (0, -1, 7, 2**15 - 1, 2**15, -(2**15), -(2**15) - 1, 2**31, -(2**40)):
        for n in (0, 1, 2, 25):
            low = 0 if dtype[0] == "u" else -9
            calls.append(((r.integers(low, 9, n) / (1 if dtype[0] in "iu" else 4)).astype(dtype), first))
    kinds = np.dtype(dtype)
    if program is not indexed:
        most = np.iinfo(kinds).max if kinds.kind in "iu" else np.inf
        odd = [most, 1, most, 2] if kinds.kind in "iu" else [-0.0, np.nan, most, -0.0, -most, 1, 3e38, 3e38]
        calls += [(np.array(odd[:k], dtype), first) for k in (1, 2, 3, len(odd)) for first in (0, 5)]
    for errors in ("warn", "ignore"):
        both(program, calls, lowered=False, all=errors)


@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_sums_that_begin_as_small_integers_convert_nothing_on_the_way(dtype: str) -> None:
    def sums(x):  # type: ignore[no-untyped-def]
        total = 0
        for v in x:
            if v > 1:
                total += v
        return total

    with settings.override(executor="native"):
        text = lower(ag.function(sums).get_concrete_function(np.ones(5, dtype)).graph).text
    assert "fptrunc" not in text and "fpext" not in text and "trunc i64" not in text


@pytest.mark.parametrize("start", [0, 7, -(2**63), 2**63 - 1])
def test_what_is_taken_away_where_a_condition_holds_is_found_in_each_trip(start: int) -> None:
    def falls(n):  # type: ignore[no-untyped-def]
        total = start
        for i in range(n):
            total = total - 3 if i % 2 else total
        return total

    def falls_by(x, limit):  # type: ignore[no-untyped-def]
        total = start
        for i in range(len(x)):
            total = total - x[i] if x[i] > limit else total
        return total

    both(falls, [(40,), (0,), (1,), (9,), (1000,)], lowered=False)
    x = np.arange(-20, 45)
    both(falls_by, [(x, 3), (x, 100), (x[:0], 1), (x[:9], -5)], lowered=False)
