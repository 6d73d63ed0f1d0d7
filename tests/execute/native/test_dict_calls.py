"""Dicts and sets as a whole, native against Python: operators, updates, ends, order."""

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


def first_of_equals(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for v in x[:n]:
        d[int(v) % 7] = d.get(int(v) % 7, 0) + 1
    return max(d, key=d.get), min(d, key=d.get), max(d.keys(), key=d.get)


def greatest_of_pairs(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i, v in enumerate(x[:n]):
        d[(int(v) % 7, i % 2)] = i * 0.5
        if i % 5 == 0:
            d.pop((3, 1), 0)
    return max(d, key=d.get)


def after_deletions(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i, v in enumerate(x[:n]):
        d[int(v)] = i
        if i % 3 == 0:
            del d[int(v)]
    return max(d), min(d.values()), sorted(d.items()), max(d, key=d.get), 5 in d.keys()


def ends_of_a_set(x, n):  # type: ignore[no-untyped-def]
    s = set()
    for v in x[:n]:
        s.add(v)
        s.discard(v + 1)
    return min(s), max(s), len(s)


def ends_of_floats(x, n):  # type: ignore[no-untyped-def]
    s = set()
    for v in x[:n]:
        s.add(float(v) * -0.5)
    return min(s), max(s), s


def operators_of_sets(x, n):  # type: ignore[no-untyped-def]
    a = set()
    b = set()
    for i, v in enumerate(x[:n]):
        a.add(int(v))
        b.add(i % 13)
    c = a & b
    d = a | b
    e = a - b
    f = a ^ b
    t = 0
    for k in range(-20, 20):
        if k in c:
            t += 1
        if k in d:
            t += 10
        if k in e:
            t += 100
        if k in f:
            t += 1000
    return (
        t,
        len(c),
        len(d),
        len(e),
        len(f),
        sorted(d),
        sum(f),
        a <= b,
        a == b,
        a < d,
        c <= a,
        a >= c,
        a > c,
        a != b,
        a,
        b,
    )


def methods_of_sets(x, n):  # type: ignore[no-untyped-def]
    a = set()
    b = set()
    for i, v in enumerate(x[:n]):
        a.add(int(v))
        b.add(i % 13)
    u = a.union(b)
    return (
        len(a.intersection(b)),
        len(u),
        len(a.difference(b)),
        a.isdisjoint(b),
        a.issubset(u),
        u.issuperset(b),
        len(a.symmetric_difference(b)),
        a.issubset(b),
    )


def sets_of_two_kinds(x, n):  # type: ignore[no-untyped-def]
    a = set()
    b = set()
    for i, v in enumerate(x[:n]):
        a.add(v)
        b.add(i % 13)
    return len(a | b), len(a ^ b), a == b


def sets_of_floats(x, n):  # type: ignore[no-untyped-def]
    a = {float(v) * 0.5 for v in x[:n]}
    b = set()
    for v in x[:n]:
        b.add(float(v))
    return len(a | b), len(a - b), sorted(a | b)


def sets_of_pairs(x, n):  # type: ignore[no-untyped-def]
    a = set()
    b = set()
    for i in range(n):
        a.add((i % 5, int(x[i])))
        b.add((int(x[i]), i % 5))
    return len(a & b), len(a | b), len(a - b), a == b


def reached(x, n):  # type: ignore[no-untyped-def]
    reach = {0}
    t = 0
    for i in range(n):
        new = set()
        for k in range(-20, 20):
            if k in reach:
                new.add((k + int(x[i])) % 17)
        reach |= new
        t += len(reach & new)
    return t, len(reach)


def copied_sets(x, n):  # type: ignore[no-untyped-def]
    a = {int(v) for v in x[:n]}
    b = a.copy()
    c = set(a)
    b.add(1000)
    c.discard(3)
    d = {1: 2, 3: 4}
    e = set(d)
    return len(a), len(b), len(c), e == {1, 3}, sorted(set(d.keys()))


def updated(x, n):  # type: ignore[no-untyped-def]
    d = {}
    e = {}
    for i, v in enumerate(x[:n]):
        d[int(v)] = i
        e[int(v) + 3] = i * 2
        if i % 10 == 3:
            d.update(e)
        if i % 11 == 4:
            e.update(d)
            d.update(d)
    return d, e


def updated_by_other_kinds(x, n):  # type: ignore[no-untyped-def]
    d = {}
    e = {}
    for i, v in enumerate(x[:n]):
        d[v] = i
        e[int(v) + 3] = i * 0.5
    d.update(e)
    return d, e


def updated_by_lists(x, n):  # type: ignore[no-untyped-def]
    d = {}
    e = {}
    for i, v in enumerate(x[:n]):
        d.setdefault(int(v) % 5, []).append(i)
        e.setdefault(int(v) % 7, []).append(-i)
    d.update(e)
    d[0].append(100)
    return d, e


def unions_of_dicts(x, n):  # type: ignore[no-untyped-def]
    d = {1: 2}
    e = {int(v): 3 for v in x[:n]}
    d |= e
    e |= {5: n}
    return d, e, d | e, e | d


def union_in_a_default(x, n):  # type: ignore[no-untyped-def]
    d = defaultdict(int)
    e = {int(v): 3 for v in x[:n]}
    d |= e
    return d[1000], dict(d)


def updated_by_a_counter(x, n):  # type: ignore[no-untyped-def]
    c = Counter()
    for v in x[:n]:
        c[int(v)] += 1
    d = {3: 100}
    d.update(c)
    return d


def items_in_order(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i, v in enumerate(x[:n]):
        d[v] = (i, 0.5)
    t = 0
    for k, (a, b) in sorted(d.items()):
        t = t * 3 % 1001 + k * a
    return t, sorted(d.items())


def lists_in_order(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i, v in enumerate(x[:n]):
        d.setdefault(int(v), []).append(i)
    return sorted(d.items())


def floats_in_order(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i, v in enumerate(x[:n]):
        d[float(v) * -0.0 + (i % 3)] = i
    return sorted(d.items())


def greatest_of_none(x, n):  # type: ignore[no-untyped-def]
    d = {}
    for i, v in enumerate(x[:n]):
        d[i] = 1
    return max(d)


def taken_from(x, n):  # type: ignore[no-untyped-def]
    a = {int(v) for v in x[:n]}
    b = set()
    for i in range(n):
        b.add(i % 7)
    a -= b
    return len(a), sorted(a), b


def in_values(x, n):  # type: ignore[no-untyped-def]
    d = {int(v): i % 7 for i, v in enumerate(x[:n])}
    return 1 in d.values(), 100 in d.values(), 1 in d.keys(), any(d.values()), all(d), len(d.values())


CASES: list[Callable[..., Any]] = [
    first_of_equals,
    greatest_of_pairs,
    after_deletions,
    ends_of_a_set,
    ends_of_floats,
    operators_of_sets,
    methods_of_sets,
    sets_of_two_kinds,
    sets_of_floats,
    sets_of_pairs,
    reached,
    taken_from,
    in_values,
    copied_sets,
    updated,
    updated_by_other_kinds,
    updated_by_lists,
    unions_of_dicts,
    union_in_a_default,
    updated_by_a_counter,
    items_in_order,
    lists_in_order,
    floats_in_order,
    greatest_of_none,
]


@pytest.mark.parametrize("function", CASES, ids=[f.__name__ for f in CASES])
def test_dicts_and_sets_as_a_whole(function: Callable[..., Any]) -> None:
    both(function, [(X, n) for n in (40, 290, 3, 1, 0)])


def by_another_dict(x, n):  # type: ignore[no-untyped-def]
    d = {}
    e = {}
    for v in x[:n]:
        d[int(v) % 7] = d.get(int(v) % 7, 0) + 1
        e[int(v)] = 2
    return max(d, key=e.get)


def common_returned(x, n):  # type: ignore[no-untyped-def]
    a = set()
    b = set()
    for i, v in enumerate(x[:n]):
        a.add(int(v))
        b.add(i % 13)
    return a & b


def unions_returned(x, n):  # type: ignore[no-untyped-def]
    a = set()
    b = {1000}
    for i, v in enumerate(x[:n]):
        a.add(int(v) * 64)
        b.add(i % 13)
    a |= b
    b.update(a)
    return a, b


def common_of_two_kinds(x, n):  # type: ignore[no-untyped-def]
    a = set()
    b = set()
    for i, v in enumerate(x[:n]):
        a.add(v)
        b.add(i % 13)
    c = a | b
    return sorted(a - b), len(c), len(a & b)


def copy_returned(x, n):  # type: ignore[no-untyped-def]
    a = {int(v) * 8 for v in x[:n]}
    return a.copy()


def keys_returned(x, n):  # type: ignore[no-untyped-def]
    d = {int(v) * 8: 1 for v in x[:n]}
    return set(d)


def union_with_a_default(x, n):  # type: ignore[no-untyped-def]
    d = defaultdict(int)
    e = {int(v): 3 for v in x[:n]}
    f = d | e
    g = e | d
    return f[77], len(g)


def union_in_a_counter(x, n):  # type: ignore[no-untyped-def]
    c = Counter()
    for v in x[:n]:
        c[int(v)] += 1
    e = Counter()
    e[3] = 100
    c |= e
    return c[3], dict(c)


def updated_counter(x, n):  # type: ignore[no-untyped-def]
    c = Counter()
    for v in x[:n]:
        c[int(v)] += 1
    c.update({3: 5})
    return c[3], dict(c)


def sum_of_counters(x, n):  # type: ignore[no-untyped-def]
    c = Counter()
    e = Counter()
    for v in x[:n]:
        c[int(v)] += 1
    e[1] = 2
    return dict(c + e)


def filled_with_keys(x, n):  # type: ignore[no-untyped-def]
    s = {5}
    s.update({int(v) * 3232: 1 for v in x[:n]})
    return s


def sum_that_may_wrap(x, n):  # type: ignore[no-untyped-def]
    """It warns in the order of the set, and would not in the order in which they come."""
    s = set()
    for v in np.array([96, -122, 33], np.int8)[:n]:
        s.add(v)
    return sum(s)


REFUSED: list[Callable[..., Any]] = [
    by_another_dict,
    common_returned,
    unions_returned,
    common_of_two_kinds,
    copy_returned,
    keys_returned,
    filled_with_keys,
    sum_that_may_wrap,
    union_with_a_default,
    union_in_a_counter,
    updated_counter,
    sum_of_counters,
]


@pytest.mark.parametrize("function", REFUSED, ids=[f.__name__ for f in REFUSED])
def test_what_has_no_native_code_is_left_to_the_plan(function: Callable[..., Any]) -> None:
    both(function, [(X, n) for n in (40, 3, 0)], lowered=False)
