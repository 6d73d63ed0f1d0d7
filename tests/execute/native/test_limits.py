"""Integers at the edges in native loops: what is not checked because it can't happen, can't happen.

Each program is run natively and by Python, on numbers around where an overflow, a wrong index or a division
by zero would be, and on ordinary ones.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both
from tests.property.oracle import TooLong, time_limit

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")

MOST, LEAST = 2**63 - 1, -(2**63)
EDGES = (
    0,
    1,
    -1,
    2,
    -2,
    7,
    MOST,
    MOST - 1,
    MOST - 6,
    LEAST,
    LEAST + 1,
    LEAST + 6,
    2**62,
    -(2**62),
    2**62 - 1,
)


def climb(n, start, step):  # type: ignore[no-untyped-def]
    j, trips = start, 0
    while j <= n and trips < 5:
        j += step
        trips += 1
    return j, trips


def triple(m, trips):  # type: ignore[no-untyped-def]
    for _ in range(trips):
        if m % 2 == 0:
            m = m // 2
        else:
            m = 3 * m + 1
    return m


def quintuple(m, trips):  # type: ignore[no-untyped-def]
    for _ in range(trips):
        m = 5 * m - 4 if m > 3 else m * 2 + 7
    return m


def halve(low, high):  # type: ignore[no-untyped-def]
    trips = 0
    while low < high and trips < 70:
        mid = (low + high) // 2
        if mid * 3 < high:
            low = mid + 1
        else:
            high = mid
        trips += 1
    return low, high, trips


def divide(a, b):  # type: ignore[no-untyped-def]
    quotients, rests = 0, 0
    for i in range(3):
        quotients = quotients + a // b // (i + 1)
        rests = rests + a % b % (i + 1)
    return quotients, rests


def divide_items(a, b):  # type: ignore[no-untyped-def]
    out = np.zeros((2, len(a)), dtype=np.int64)
    for i in range(len(a)):
        x, y = int(a[i]), int(b[i])
        out[0, i] = x // y
        out[1, i] = x % y
    return out


def pick(a, keys):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(len(keys)):
        total += a[keys[i]]
    return total


def put(a, keys):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        a[keys[i]] += 1
    return a


def around(a, first, last, step):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(first, last, step):
        total = total * 2.0 + a[i - 1] - a[i]
    return total


def whole(a):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(len(a)):
        k = int(a[i])
        if k > 100:
            k = 100
        total += k % 7
    return total


def first_divisor(n, limit):  # type: ignore[no-untyped-def]
    d, prime = 2, True
    while d * d <= n and d < limit:
        if n % d == 0:
            prime = False
            break
        d += 1
    return d, prime


def both_tests(a, key):  # type: ignore[no-untyped-def]
    j = len(a) - 1
    while j >= 0 and a[j] > key:
        j -= 1
    while not (j < 1 or a[j - 1] < key):
        j -= 1
    return j


def slowly(n, start, step):  # type: ignore[no-untyped-def]
    total = start
    for i in range(n):
        total += i % step
        total = total - 3 if i % 2 else total
    return total


def squares(n, start):  # type: ignore[no-untyped-def]
    total = start
    for i in range(n):
        total += i * i * i
    return total


def masked(n, start, step):  # type: ignore[no-untyped-def]
    """What ends where it does for another reason than slow growth grows beyond that."""
    total = start & (2**62 - 1)
    last = (total + 64) % (2**62 + 1)
    for i in range(n):
        if i == 1:
            total = step & (2**62 - 2**20)
        else:
            total += 64
    return last, total + total, (start & (2**62 - 1)) * 2 + 128


def compared_again(x, y, more):  # type: ignore[no-untyped-def]
    """The same comparison where less is known of a number, and where more is."""
    less, found = x < y, 0
    if 0 < x:
        if x < 5:
            if abs(x) < y:
                found = 1
    if less:
        found += x + (2**63 - 5)
    for i in range(more):
        found -= i
    return found


def numbers(*more: int) -> list[tuple[int, ...]]:
    return [(x, *more) for x in EDGES]


@pytest.mark.parametrize(
    "program, calls",
    [
        (
            climb,
            [(n, s, t) for n in EDGES for s in (0, MOST - 2, LEAST, -5) for t in (1, 2, -1, MOST, LEAST)],
        ),
        (
            triple,
            numbers(5) + [(MOST // 3 + k, 4) for k in range(-3, 4)] + [(LEAST // 3 + k, 3) for k in range(4)],
        ),
        (
            quintuple,
            numbers(4)
            + [(MOST // 5 + k, 2) for k in range(-3, 4)]
            + [(LEAST // 2 + k, 2) for k in range(-4, 4)],
        ),
        (halve, [(x, y) for x in EDGES for y in EDGES]),
        (divide, [(x, y) for x in EDGES for y in EDGES]),
        (first_divisor, [(n, 40) for n in (*range(-2, 30), 49, 121, MOST, LEAST, 1369)]),
        (slowly, [(n, s, t) for n in (0, 1, 9) for s in EDGES for t in (1, 3, -3, 64, 10**6)]),
        (masked, [(n, s, t) for n in (0, 3, 2**15) for s in EDGES for t in EDGES]),
        (compared_again, [(x, y, 2) for x in EDGES for y in EDGES]),
        (squares, [(n, s) for n in (0, 1, 40) for s in EDGES] + [(3_000_00, 0)]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_numbers(program: Any, calls: Any) -> None:
    both(program, [(3, *calls[0][1:]), *calls], lowered=False)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "uint64", "int8"])
@pytest.mark.parametrize("program", [pick, put], ids=lambda f: f.__name__)
def test_indices(program: Any, dtype: str) -> None:
    a = np.arange(10, 17)
    kinds = np.iinfo(dtype)
    keys = [0, 6, 7, 8, -1, -7, -8, kinds.max, kinds.min]
    calls = [(a, np.array([1, 2], dtype))]
    calls += [(a, np.array([k, 1], dtype)) for k in keys if kinds.min <= k <= kinds.max]
    calls += [
        (a, np.array([], dtype)),
        (np.arange(0), np.array([0], dtype)),
        (a - MOST - 17, np.array([0], dtype)),
    ]
    both(program, calls)


def backwards(first, last):  # type: ignore[no-untyped-def]
    total = 0
    for i in reversed(range(first, last)):
        total = total * 2 % 1009 + i % 1000
    for i in reversed(range(last, first, -3)):
        total = total * 2 % 1009 + i % 1000
    return total


def test_ranges_backwards() -> None:
    near = [(LEAST, LEAST + 3), (LEAST + 1, LEAST + 3), (MOST - 4, MOST), (MOST - 4, MOST - 3)]
    both(backwards, [(1, 9), (2, 20), (9, 1), (MOST, LEAST), *near])


def test_ranges() -> None:
    a = np.arange(6.0)
    ends = (0, 1, 5, 6, 7, -1, -5, -6, -7)
    both(around, [(a, 1, 3, 1), *((a, f, t, s) for f in ends for t in ends for s in (1, 2, -1, -3, 100))])
    edges = ((MOST - 1, MOST, 1), (LEAST, LEAST + 1, 1), (MOST, 1, 1), (1, LEAST, MOST), (LEAST, LEAST, -1))
    both(around, [(a, 1, 3, 1), *((a, *r) for r in edges)], lowered=False)


def test_floats_to_ints() -> None:
    ordinary = np.array([0.5, -0.5, 3.99, -7.2, 1e15])
    odd = (
        np.nan,
        np.inf,
        -np.inf,
        2.0**63,
        np.nextafter(2.0**63, 0),
        -(2.0**63),
        np.nextafter(-(2.0**63), -np.inf),
    )
    for dtype in ("f8", "f4"):
        calls = [
            (ordinary.astype(dtype),),
            *((np.array([1.0, x, 2.0], dtype),) for x in odd),
            (np.zeros(0, dtype),),
        ]
        both(whole, calls, all="ignore")


def test_divisions() -> None:
    a, b = (np.array(x) for x in zip(*((x, y) for x in EDGES for y in EDGES if y), strict=True))
    fits = (a != LEAST) | (b != -1)
    both(divide_items, [(a[fits], b[fits]), (a, b), (a[:1], b[:1] * 0)])


def test_tests() -> None:
    for a in (np.arange(5.0), np.zeros(0), np.array([1.0]), np.arange(5.0)[::-1].copy()):
        both(both_tests, [(a, k) for k in (2.0, -1.0, 99.0, 0.0, 1.0)])


def test_a_bail_out_in_a_loop_leaves_no_trace() -> None:
    """A check that fails after writes: they are undone before Python does the call."""
    a = np.array([1, 2, sys.maxsize, 4])
    both(put, [(a, np.array([0, 1, 2, 3])), (a, np.array([3, 3, 9]))])


def around_all(a, first, last, apart):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(first, len(a) - last):
        total = total * 2.0 + a[i - apart] - a[i + apart] * a[i]
    return total


def triangle(a, more):  # type: ignore[no-untyped-def]
    out = np.zeros(len(a) + more)
    for i in range(len(a) + 1):
        for j in range(i, len(a)):
            out[i] += a[j - i] * a[j]
    return out


def zipped(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for k, (x, y) in enumerate(zip(a, b)):
        total = total * 0.5 + x * b[k] - y * a[k]
    return total


def test_sizes_that_are_not_known() -> None:
    """Bounds of arrays of any size: the last index that is in range, and the one after it."""
    arrays = [np.arange(float(n)) + 1 for n in (9, 8, 0, 1, 2, 3, 5, 70)]
    more = [(a, f, t, d) for a in arrays for f in (0, 1, 2) for t in (0, 1, 2) for d in (0, 1, 2)]
    both(around_all, [(a, 2, 2, 1) for a in arrays[:3]] + more)
    both(triangle, [(a, 1) for a in arrays[:3]] + [(a, k) for a in arrays for k in (1, 0, -1, 2)])
    both(zipped, [(a, b) for a in arrays for b in arrays])


def test_trips_between_pauses() -> None:
    """More trips than lie between two pauses, and just as many."""

    def totals(n, x):  # type: ignore[no-untyped-def]
        s, t, k = 0, 1.0, -1
        for i in range(n):
            s += i % 3
            t = t * 0.5 + x
            k = i
        return s, t, k

    def stored(n, x):  # type: ignore[no-untyped-def]
        a = np.zeros(n)
        for i in range(n):
            a[i] = i * x
        return a

    for program in (totals, stored):
        both(program, [(9, 0.5)] + [(n, 0.25) for n in (0, 1, 65535, 65536, 65537, 131072, 200_003)])


def counting(n, x):  # type: ignore[no-untyped-def]
    total = x
    for i in range(n):
        total = total * 0.5 + i
    return total


def several(n, x):  # type: ignore[no-untyped-def]
    found = 0
    for i in range(n):
        found += 3 if i < x else 1
    return found


def found(n, x):  # type: ignore[no-untyped-def]
    at = -1
    for i in range(n):
        if i * x < -1:
            at = i
            break
    return at


@pytest.mark.parametrize("program", [counting, several, found], ids=lambda f: f.__name__)
def test_a_loop_without_a_loop_inside_can_be_interrupted(program: Any) -> None:
    """And other threads run meanwhile: one that only counts gets to count."""
    with settings.override(executor="native", compile="now"):
        converted = ag.function(program)
        for n in (3, 5):
            assert converted(n, 0.25) == program(n, 0.25)
        counted, ended = [0], threading.Event()

        def count() -> None:
            while not ended.wait(0.002):
                counted[0] += 1

        other = threading.Thread(target=count)
        other.start()
        with pytest.raises(TooLong), time_limit(0.5):
            converted(2**60, 0.25)
        so_far = counted[0]
        ended.set()
        other.join()
        assert so_far > 3
        concrete = converted.traces[-1].concrete
        assert concrete is not None and concrete.native.calls >= 1


def over_large_arrays(x, done):  # type: ignore[no-untyped-def]
    for k in range(20_000):
        x = np.sin(x) + 1
        done[0] = k
    return x


def test_few_trips_over_large_arrays_can_be_interrupted() -> None:
    """Trips that take long are few between pauses: the loop does not go on to its end first."""
    with settings.override(executor="native", compile="now"):
        converted, done = ag.function(over_large_arrays), np.zeros(1)
        converted.get_concrete_function(np.ones(300_000), done)
        with pytest.raises(TooLong), time_limit(0.5):
            converted(np.ones(300_000), done)
        concrete = converted.traces[-1].concrete
        assert concrete is not None and concrete.executor == "native"
        assert 0 < done[0] < 19_999


def test_loops_do_not_pause_whenever_they_begin() -> None:
    """A loop that can be left pauses after so many trips of all such loops: not at the first of each."""

    def divisors(a):  # type: ignore[no-untyped-def]
        found = 0
        for k in a:
            for d in range(2, k):
                if k % d == 0:
                    found += d
                    break
        return found

    with settings.override(executor="native", compile="now"):
        text = ag.function(divisors).get_concrete_function(np.arange(200)).native_ir
    kernel = text[text.index("@kernel(") :]
    begun = [line for line in kernel.splitlines() if "store i64 65536, " in line]
    assert len(begun) == 2 and begun[0].strip() == begun[1].strip()  # first, and after a pause
    both(divisors, [(np.arange(200),), (np.arange(30),)])


def shifted(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x ^= (x << 13) & 0x7FFFFFFFFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0xFFFFFFFF
    return x


def congruent(x, n):  # type: ignore[no-untyped-def]
    for k in range(n):
        x = (6364136223846793005 * x - k * 1442695040888963407 + ((x ^ k) << 60)) % (1 << 62)
    return x


def both_ways(x, n):  # type: ignore[no-untyped-def]
    total = 0
    for _ in range(n):
        y = x * 1103515245
        total += y // 3  # all of its bits count here
        x = (y + 12345) & 0x7FFFFFFF
    return x, total


def hashed(x, n):  # type: ignore[no-untyped-def]
    for k in range(n):
        y = x * -3 + (k << 62)
        x = ((y | 5) * (y & -7) - (x << 63)) & 0xFFFF
    return x


@pytest.mark.parametrize("program", [shifted, congruent, both_ways, hashed], ids=lambda f: f.__name__)
def test_integers_of_which_the_lowest_bits_count(program: Any) -> None:
    both(program, [(x, 40) for x in EDGES])


def test_such_integers_need_not_fit() -> None:
    for program in (shifted, congruent, hashed):
        with settings.override(executor="native", compile="now"):
            f = ag.function(program)
            for x in (12345678901234567, 2**62 - 7):
                assert f(x, 40) == program(x, 40)
            assert f.traces[-1].concrete.native.bails == 0
