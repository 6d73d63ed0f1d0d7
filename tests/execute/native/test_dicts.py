"""Dicts and sets that native code makes, against Python: what is in them, in which order, of which types."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
X = np.random.default_rng(2).integers(-20, 20, 300)


# ------------------------------------------------------------------------------------------ dicts
def counted(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for v in x[:n]:
        k = int(v)
        d[k] = d.get(k, 0) + 1
    return d, len(d), sum(d.values())


def of_numpy_keys(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for v in x[:n]:
        if v in d:
            d[v] += 1
        else:
            d[v] = 0
    return d


def remembered(x, n):  # type: ignore[no-untyped-def]
    seen = {1: 0}
    best = 0
    for i in range(1, n):
        k = i
        steps = 0
        while k not in seen:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        seen[i] = steps + seen[k]
        best = max(best, seen[i])
    return best, seen


def of_floats(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for v in x[:n]:
        k = v * -0.25
        d[float(k)] = d.get(float(k), 1) + 0.5
    total = 0.0
    for k, v in d.items():
        total += k * v
    return total, d, 5.0 in d, 0.125 in d


def of_zeros(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for v in x[:n]:
        k = float(v) * 0.0
        d[k] = d.get(k, 0) + 1
    return d


def of_nan(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for v in x[:n]:
        big = float(v) * 1e308 * 10.0
        d[big - big] = 1
    return len(d)


def of_pairs(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for k in range(n):
        at = (k % 5, int(x[k]))
        d[at] = d.get(at, 0) + k
    total = 0
    for (a, b), v in d.items():
        total += a * b + v
    return total, d, (1, 2) in d


def of_pairs_in_pairs(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for k in range(n):
        d[(k % 2, (int(x[k]), 0.5))] = k
    return d


def of_bools(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for v in x[:n]:
        d[bool(v > 0)] = d.get(bool(v > 0), 0) + 1
    return d


def of_two_kinds_of_keys(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i, v in enumerate(x[:n]):
        d[i % 9] = i
        d[v] = i + 1
        if v + 1 in d:
            d[v + 1] -= 1
    return d, list(d)


def two_kinds_of_values(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i, v in enumerate(x[:n]):
        if i % 3:
            d[int(v)] = i
        else:
            d[int(v)] = i / 2
    total = 0
    for v in d.values():
        total += v
    return d, total, d.get(5, 7), d.get(1000, 7)


def of_lists(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for k in range(n):
        d.setdefault(int(x[k]), []).append(k)
    total = 0
    for k in d:
        for v in d[k]:
            total += v * k
    return total, d


def of_arrays(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for k in range(n):
        d[k % 6] = x[k : k + 4] * 2.0
    total = 0.0
    for k in d:
        total += d[k].sum()
    return total, d


def steep(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for k in range(n):
        d[k << 40] = k
        d[-k * 4096] = k
    return d


def missing(x, n):  # type: ignore[no-untyped-def]
    d = {0: 1}
    total = 0
    for v in x[:n]:
        total += d[int(v) // 20]
    return total


def changed_while_read(x, n):  # type: ignore[no-untyped-def]
    d = {int(v): 1 for v in x[:n]}
    total = 0
    for k in d:
        total += k
        if k == 7:
            d[1000] = 1
    return total


def exchanged_while_read(x, n):  # type: ignore[no-untyped-def]
    d = {int(v): 1 for v in x[:n]}
    for k in d:
        if k == 7:
            del d[7]
            d[1000] = 1
    return d


def left_when_changed(x, n):  # type: ignore[no-untyped-def]
    d = {int(v): 1 for v in x[:n]}
    for k in d:
        if k > 0:
            d[1000] = 1
            break
    return d


def values_changed_while_read(x, n):  # type: ignore[no-untyped-def]
    d = {int(v): 1 for v in x[:n]}
    for k in d:
        d[k] = k + 1
    return d


def found_or_none(x, n):  # type: ignore[no-untyped-def]
    last = {}
    total = 0
    for i, v in enumerate(x[:n]):
        j = last.get(int(v))
        if j is not None:
            total += i - j
        last[int(v)] = i
    return total


def pairs_found(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i, v in enumerate(x[:n]):
        a, b = d.get(int(v), (0, 0.0))
        d[int(v)] = (a + 1, b + i)
    gone = d.pop(3, (7, 0.5))
    return d, gone, d.get(100, (1, 2)), d.pop(100, (3, 4.5))


def pair_or_none(x, n):  # type: ignore[no-untyped-def]
    d = {}
    total = 0
    for i, v in enumerate(x[:n]):
        best = d.get(int(v))
        if best is None or best[0] < i - 5:
            d[int(v)] = (i, 1)
    return d


def in_a_loop(x, n):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(n):
        d = {}
        for j in range(i % 37):
            d[j * j % 11] = j
        total += len(d)
        for k in d:
            total += d[k]
    return total


def shown(x, n):  # type: ignore[no-untyped-def]
    d = {1: 0.5, n: 2, 3: n}
    return d, list(d), list(d.values()), list(d.items()), sorted(d), bool(d)


def never_filled(x, n):  # type: ignore[no-untyped-def]
    d = {}
    s = set()
    total = 0
    for k in range(n):
        if k in d or k in s:
            total += 1
    return total, d, s, len(d), len(s)


def copied(x, n):  # type: ignore[no-untyped-def]
    d = {int(v): i for i, v in enumerate(x[:n])}
    e = d.copy()
    f = dict(d)
    e[-100] = 5
    f.pop(3, 0)
    return d, e, f


def copied_with_its_kind(x, n):  # type: ignore[no-untyped-def]
    c = Counter()
    g = defaultdict(int)
    for v in x[:n]:
        c[int(v)] += 1
        g[int(v)] += 2
    e, h = c.copy(), g.copy()
    e[100] += 1
    h[100] += 3
    return e[1000], h[1000], dict(e), dict(h), dict(c), dict(g)


def truth(x, n):  # type: ignore[no-untyped-def]
    d = {}
    trips = 0
    while not d:
        if x[trips] > 0 or trips > 5:
            d[trips] = 1
        trips += 1
    return trips


# -------------------------------------------------------------------------------------- taking out
def taken_out(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i, v in enumerate(x[:n]):
        k = int(v)
        if k in d and i % 3 == 0:
            del d[k]
        else:
            d[k] = i
    total = 0
    for k, v in d.items():
        total += k * v
    return d, len(d), total, list(d.values())


def popped(x, n):  # type: ignore[no-untyped-def]
    d = {}
    total = 0
    for i, v in enumerate(x[:n]):
        k = int(v) % 13
        total += d.pop(k, 0)
        d[(k * 5) % 13] = i
        if i % 5 == 0 and 3 in d:
            total += d.pop(3)
    return total, d


def again_and_again(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i in range(20 * n):
        d[i] = i
        if i >= 5:
            del d[i - 5]
    return d, len(d)


def emptied(x, n):  # type: ignore[no-untyped-def]
    d = {}
    total = 0
    for i, v in enumerate(x[:n]):
        d[int(v)] = i
        if len(d) == 10:
            for k in d:
                total += k * d[k]
            d.clear()
    return total, d


def nothing_to_take_out(x, n):  # type: ignore[no-untyped-def]
    d = {k: k for k in range(n)}
    del d[n - 1]
    del d[int(x[0])]
    return d


def sifted(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i, v in enumerate(x[:n]):
        d[int(v)] = i
        if len(d) > 20:
            for k in list(d):
                if k % 2:
                    del d[k]
    return d


def items_of_a_list(x, n):  # type: ignore[no-untyped-def]
    a = [k for k in range(n)]
    del a[n // 2]
    del a[-1]
    return a


# ------------------------------------------------------------------------------------------- sets
def members(x, n):  # type: ignore[no-untyped-def]
    s = set()
    again = 0
    for v in x[:n]:
        if v in s:
            again += 1
        s.add(v)
    return again, s, len(s)


def of_places(x, n):  # type: ignore[no-untyped-def]
    seen = {(0, 0)}
    a = b = 0
    for k in range(n):
        if x[k] > 0:
            a += 1
        else:
            b -= 1
        seen.add((a % 7, b % 5))
    return seen, len(seen)


def toggled(x, n):  # type: ignore[no-untyped-def]
    s = set()
    times = 0
    for v in x[:n]:
        k = int(v)
        if k in s:
            s.remove(k)
            times += 1
        else:
            s.add(k)
        s.discard(k + 1)
        s.update([k, k + 2])
    return times, len(s), sorted(s), sum(s)


def made_of(x, n):  # type: ignore[no-untyped-def]
    a = [int(v) for v in x[:n]]
    return len(set(a)), len(set(x[:n])), set(range(n)), {k % 5 for k in a}, sorted(set(a))


def not_in_the_set(x, n):  # type: ignore[no-untyped-def]
    s = {1, 2, 3}
    for k in range(n):
        s.remove(k + 1)
    return len(s)


# ---------------------------------------------------------------------------------- dicts with defaults
def grouped(x, n):  # type: ignore[no-untyped-def]
    g = defaultdict(list)
    for k in range(n):
        g[k % 7].append(k)
        g[int(x[k])].append(-k)
    total = 0
    for k, v in g.items():
        total += k * len(v)
    return total, len(g), dict(g)


def counted_by_default(x, n):  # type: ignore[no-untyped-def]
    c = defaultdict(int)
    for v in x[:n]:
        c[int(v)] += 1
    best = at = -1
    for k, v in c.items():
        if v > best:
            best, at = v, k
    return best, at, c[1000], len(c)


def summed_by_default(x, n):  # type: ignore[no-untyped-def]
    c = defaultdict(float)
    for k in range(n):
        c[k % 4] += x[k] * 0.5
    return dict(c)


def by_counter(x, n):  # type: ignore[no-untyped-def]
    c = Counter()
    for v in x[:n]:
        c[int(v) % 7] += 1
    return c[3], c[100], len(c), dict(c)


CASES: list[Callable[..., Any]] = [
    counted, of_numpy_keys, remembered, of_floats, of_zeros, of_nan, of_pairs, of_pairs_in_pairs, of_bools,
    of_two_kinds_of_keys, two_kinds_of_values, of_lists, of_arrays, steep, missing, changed_while_read,
    exchanged_while_read, left_when_changed, values_changed_while_read, found_or_none,
    pairs_found, in_a_loop, shown,
    never_filled, copied, copied_with_its_kind, truth, taken_out, popped, again_and_again, emptied,
    nothing_to_take_out, sifted,
    items_of_a_list, members, of_places, toggled, made_of, not_in_the_set, grouped, counted_by_default,
    summed_by_default, by_counter,
]  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=[f.__name__ for f in CASES])
def test_dicts_and_sets(function: Callable[..., Any]) -> None:
    both(function, [(X, n) for n in (40, 290, 3, 1, 0)])


def returned_twice(x, n):  # type: ignore[no-untyped-def]
    d = {k: k for k in range(n)}
    return d, d


def set_that_lost_something(x, n):  # type: ignore[no-untyped-def]
    s = {k * 8 for k in range(n)}
    s.discard(8)
    return s


def of_keys_of_any_kind(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for k in range(n):
        d[k] = 1
        d[k + 0.5] = 2
        d[(k, k)] = 3
    return d


def of_dicts(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for k in range(n):
        d[k] = {k: 1}
    return d


def one_or_the_other(x, n):  # type: ignore[no-untyped-def]
    d = {1: 2}
    e = {3: 4}
    for k in range(n):
        if x[k] > 0:
            d, e = e, d
        d[k] = 1
    return d, e


def over_a_set(x, n):  # type: ignore[no-untyped-def]
    s = {int(v) * 1000 for v in x[:n]}
    return [k for k in s]


def with_a_default(x, n):  # type: ignore[no-untyped-def]
    g = defaultdict(int)
    for v in x[:n]:
        g[int(v)] += 1
    return g


def copied_counter(x, n):  # type: ignore[no-untyped-def]
    c = Counter()
    for v in x[:n]:
        c[int(v)] += 1
    return c.copy()


REFUSED: list[Callable[..., Any]] = [
    returned_twice, set_that_lost_something, of_keys_of_any_kind, of_dicts, one_or_the_other, over_a_set,
    with_a_default, copied_counter, pair_or_none,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=[f.__name__ for f in REFUSED])
def test_what_has_no_native_code_is_left_to_the_plan(function: Callable[..., Any]) -> None:
    both(function, [(X, n) for n in (40, 3, 0)], lowered=False)
