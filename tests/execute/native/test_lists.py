"""Lists of numbers that grow: native code against Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
X = np.random.default_rng(2).integers(0, 9, 300)


def evens(x, n):  # type: ignore[no-untyped-def]
    found = []
    for v in x[:n]:
        if v % 2 == 0:
            found.append(v)
    return np.array(found), len(found)


def indices(x, n):  # type: ignore[no-untyped-def]
    found = []
    for k in range(n):
        if x[k] > 4:
            found.append(k)
    total = 0
    for k in range(len(found)):
        total += found[k] + found[-1 - k]
    return total


def stack(x, n):  # type: ignore[no-untyped-def]
    held = [0.0]
    best = 0.0
    for k in range(n):
        if x[k] > 3:
            held.append(float(x[k]))
        elif len(held) > 0:
            best = max(best, held.pop())
        else:
            best = -1.0
    return best, len(held), np.array(held)


def rows(x, n):  # type: ignore[no-untyped-def]
    longest = 0
    for k in range(n):
        row = []
        for j in range(k):
            if x[j] == x[k]:
                row.append(j)
        longest = max(longest, len(row))
    return longest


def empty_pop(x, n):  # type: ignore[no-untyped-def]
    held = [1]
    for k in range(n):
        held.pop()
    return len(held)


def out_of_range(x, n):  # type: ignore[no-untyped-def]
    held = [1, 2]
    for k in range(n):
        x[0] += held[k]
    return x[0]


def two_kinds(x, n):  # type: ignore[no-untyped-def]
    held = [1]
    for k in range(n):
        held.append(0.5)
    return np.array(held)


def given_back(x, n):  # type: ignore[no-untyped-def]
    held = []
    for k in range(n):
        held.append(k)
    return held


def kinds_given_back(x, n):  # type: ignore[no-untyped-def]
    ints, floats, flags, scalars, nothing = [], [], [], [], []
    for k in range(n):
        ints.append(k * 3)
        floats.append(k / 4)
        flags.append(k % 3 == 0)
        scalars.append(x[k])
    return ints, (floats, flags), scalars, nothing, len(ints)


def primes(x, n):  # type: ignore[no-untyped-def]
    found = []
    for k in range(2, n):
        prime = True
        for p in found:
            if p * p > k:
                break
            if k % p == 0:
                prime = False
                break
        if prime:
            found.append(k)
    return found


def grows_while_read(x, n):  # type: ignore[no-untyped-def]
    queue = [1]
    total = 0
    for k in queue:
        if k < n:
            queue.append(2 * k)
            if k % 3 == 1:
                queue.append(k + 1)
        total += k
    return total, queue


def shrinks_while_read(x, n):  # type: ignore[no-untyped-def]
    held = []
    for k in range(n):
        held.append(k)
    seen = 0
    for i, k in enumerate(held):
        held.pop()
        seen = seen * 2 + i + k
    for a, b in zip(held, x, strict=False):
        held.append(0 if len(held) > 50 else 1)
        seen += a
    return seen, held


def guessed_wrong(x, n):  # type: ignore[no-untyped-def]
    held = []
    total = 0.5
    for k in range(n):
        for v in held:
            total += v
        held.append(total)
    return total, held


def never_filled(x, n):  # type: ignore[no-untyped-def]
    held = []
    total = n
    for k in range(n):
        for v in held:
            total += v
    return total, held, len(held)


def table(x, n):  # type: ignore[no-untyped-def]
    ways = [0] * (n + 1)
    ways[0] = 1
    for coin in (1, 2, 5):
        for k in range(coin, n + 1):
            ways[k] += ways[k - coin]
    return ways[n], ways[-1], 3 * [0.5], [1, 2, 3] * (n - 1), [True] * -2, [] * n


def written(x, n):  # type: ignore[no-untyped-def]
    held = [0.0] * 4
    for k in range(n):
        held[k % 4] = held[-1 - k % 4] + 0.5
    held[n] = 1.0
    return held


def worked_off(x, n):  # type: ignore[no-untyped-def]
    waiting = [n]
    steps = 0
    while waiting:
        k = waiting.pop()
        steps += 1
        if k > 1:
            waiting.append(k // 2)
            if not waiting or k % 3 == 0:
                waiting.append(k // 3)
    return steps, waiting


def aliased(x, n):  # type: ignore[no-untyped-def]
    a = [1, 2]
    b = a
    for k in range(n):
        b.append(k)
        a[0] = len(b)
    return b[0], a


def twice(x, n):  # type: ignore[no-untyped-def]
    a = []
    for k in range(n):
        a.append(k)
    return a, a


def made_again(x, n):  # type: ignore[no-untyped-def]
    row = [0]
    for k in range(n):
        row = [1] * k
        row.append(k)
    return row


def from_the_trip_before(x, n):  # type: ignore[no-untyped-def]
    last = [0]
    total = 0
    for k in range(n):
        row = []
        for j in range(k):
            row.append(j + len(last))
        total += last[-1]
        last = row
        last.append(k)
    return total, last


def floats_by_ints(x, n):  # type: ignore[no-untyped-def]
    held = [0] * n
    for k in range(n):
        held[k] = k / 2
    return held


CASES: list[tuple[Callable[..., Any], bool]] = [
    (evens, True), (indices, True), (stack, True), (rows, True), (empty_pop, True), (out_of_range, True),
    (two_kinds, True), (given_back, True), (kinds_given_back, True), (primes, True),
    (grows_while_read, True),
    (shrinks_while_read, True), (guessed_wrong, True), (never_filled, True), (table, True), (written, True),
    (worked_off, True), (aliased, True), (twice, False), (made_again, False), (from_the_trip_before, False),
    (floats_by_ints, True),
]  # fmt: skip


@pytest.mark.parametrize(("function", "lowered"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_lists(function: Callable[..., Any], lowered: bool) -> None:
    both(function, [(X, n) for n in (0, 1, 2, 40, 300)], lowered=lowered)


def texture(x, n):  # type: ignore[no-untyped-def]
    found = []
    for k in range(n):
        found.append(x.shape)
        found.append(x[k] * 0.5)
        found.append(x + 1)
    return found


def test_lists_of_what_has_no_form_in_native_code_are_found_out() -> None:
    """What is put in first is not what is expected: lowering was tried again with the same idea, for ever."""
    both(texture, [(X[:4], 3), (X[:4], 2)], lowered=False)


# ------------------------------------------------------------------------------------------ searches
def looked_for(x, n):  # type: ignore[no-untyped-def]
    found = []
    for v in x[:n]:
        if v not in found:
            found.append(v)
    return found, 3 in found, 2.5 in found, True in found, np.int8(4) in found


def pairs_looked_for(x, n):  # type: ignore[no-untyped-def]
    seen = [(0, 0.0)]
    again = 0
    for k in range(n):
        at = (int(x[k]) % 3, k % 4 * 0.5)
        if at in seen:
            again += 1
        else:
            seen.append(at)
    return again, seen, seen.count((1, 0.5))


def places(x, n):  # type: ignore[no-untyped-def]
    a = [int(v) for v in x[:n]]
    total = 0
    for v in x[: n // 2]:
        total += a.index(v) + a.count(int(v))
    return total, a.index(99 if n > 200 else int(x[0]))


def of_nan(x, n):  # type: ignore[no-untyped-def]
    big = (float(x[0]) + 1.0) * 1e308 * 10.0
    a = [1.0, big - big]
    return 1.0 in a, (big * 0.0) in a


def taken_and_put(x, n):  # type: ignore[no-untyped-def]
    a = [7]
    for k in range(n):
        a.insert(int(x[k]) - 4, k)
        if 3 in a:
            a.remove(3)
    a.insert(1000, -1)
    a.insert(-1000, -2)
    return a


def in_a_list_of_two_kinds(x, n):  # type: ignore[no-untyped-def]
    a = [0.5]
    for k in range(n):
        a.append(x[k] * 1.5)
    return 3.0 in a, a.count(1.5), a.index(0.5)


def numbered_from_one(x, n):  # type: ignore[no-untyped-def]
    total = 0
    for k, v in enumerate(x[:n], start=1):
        total += k * v
    for k, v in enumerate(x[:n], start=n):
        total += k * v
    return total


SEARCHES: list[Callable[..., Any]] = [
    looked_for, pairs_looked_for, places, of_nan, taken_and_put, in_a_list_of_two_kinds, numbered_from_one,
]  # fmt: skip


@pytest.mark.parametrize("function", SEARCHES, ids=[f.__name__ for f in SEARCHES])
def test_searches(function: Callable[..., Any]) -> None:
    both(function, [(X, n) for n in (40, 290, 3, 1, 0)])


def of_a_list(n):  # type: ignore[no-untyped-def]
    made = []
    for k in range(n):
        made.append(k)
    found = np.atleast_1d(made)
    made.append(7)
    return found


def of_numbers(x):  # type: ignore[no-untyped-def]
    return np.atleast_1d([1, 2, 3, 4]), x + 1


def test_lists_are_arrays_to_functions_in_terms_of_others() -> None:
    both(of_a_list, [(4,), (3,)], lowered=False)
    both(of_numbers, [(1.5,), (2.5,)], lowered=False)
