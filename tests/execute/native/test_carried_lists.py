"""Lists that loops and branches hand on, and their methods: native code against Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both, nothing_is_left_behind

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
Y = np.array([1.0, 2.0])


def sorted_again(y, n):  # type: ignore[no-untyped-def]
    sim = [y, y + 1, y * 2]
    fs = [3.0, 1.0, 2.0]
    for k in range(n):
        o = np.argsort(fs)
        sim = [sim[i] for i in o]
        fs = [fs[i] for i in o]
        fs[0] = fs[0] + 2.5
    return sim, fs


def one_row_after_the_other(y, n):  # type: ignore[no-untyped-def]
    prev = list(range(n + 1))
    for i in range(1, 30):
        cur = [i]
        for j in range(1, n + 1):
            c = 0 if (i * j) % 3 else 1
            cur.append(min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + c))
        prev = cur
    return prev[-1], prev


def two_rows_take_turns(y, n):  # type: ignore[no-untyped-def]
    prev = [0.0] * (n + 1)
    cur = [0.0] * (n + 1)
    for i in range(20):
        for j in range(1, n + 1):
            cur[j] = max(prev[j], cur[j - 1]) + 0.5 * ((i * j) % 3)
        prev, cur = cur, prev
    return prev, cur


def rows_made_anew(y, n):  # type: ignore[no-untyped-def]
    prev = [0.0] * (n + 1)
    for i in range(20):
        cur = [0.0] * (n + 1)
        for j in range(1, n + 1):
            cur[j] = max(prev[j], cur[j - 1]) + 0.5 * ((i * j) % 3)
        prev = cur
    return prev


def beam(y, n):  # type: ignore[no-untyped-def]
    best = [(0.0, 0)]
    for k in range(n):
        new = []
        for s, i in best:
            new.append((s + y[0] * (i % 3), i + 1))
            if len(new) < 8:
                new.append((s - 0.5, i * 2))
        best = new
    return best


def lists_asked(y, n):  # type: ignore[no-untyped-def]
    front = [1]
    steps = 0
    while front and steps < n:
        nxt = []
        for v in front:
            if v % 2 == 0:
                nxt.append(v // 2)
            elif v < 1000:
                nxt.append(3 * v + 1)
            if v % 5 == 0 and len(nxt) < 50:
                nxt.append(v + 1)
        front = nxt
        steps += 1
    return front, steps


def best_so_far(y, n):  # type: ignore[no-untyped-def]
    best = []
    score = -1.0
    for k in range(n):
        path = []
        for j in range(k % 7):
            path.append(j * k)
        s = (k * 37) % 11 * 1.0
        if s > score:
            score = s
            best = path
    return best, score


def two_names_of_one(y, n):  # type: ignore[no-untyped-def]
    a = [1, 2, 3]
    b = a
    for k in range(n):
        if k % 2:
            a = [k]
        a.append(k)
        b.append(-k)
    return a, b


def two_names(y, n):  # type: ignore[no-untyped-def]
    a = [1]
    b = [2]
    for k in range(n):
        if k % 3 == 0:
            a, b = b, a
        if k % 5 == 0:
            b = a
        a.append(k)
        b.append(-k)
        if len(a) > 10:
            a = [0]
    return len(a), len(b), a[-1], b[-1], a


def one_becomes_the_other(y, n):  # type: ignore[no-untyped-def]
    a = [1]
    b = [2]
    for k in range(n):
        a = b
        b = [k]
    return a, b


def returned_twice(y, n):  # type: ignore[no-untyped-def]
    a = [1]
    b = [2]
    for k in range(n):
        b = [k]
        a = b
    return a, b


def best_arrays(y, n):  # type: ignore[no-untyped-def]
    best = []
    for k in range(n):
        cur = []
        for j in range(k % 4):
            cur.append(y * j)
        if len(cur) >= len(best):
            best = cur
    return best


def of_two_kinds_made_anew(y, n):  # type: ignore[no-untyped-def]
    ts = [0]
    for k in range(n):
        ts = [t * 0.5 for t in ts]
        ts.append(k)
    return ts


def best_tuples(y, n):  # type: ignore[no-untyped-def]
    best = []
    for k in range(n):
        cur = []
        for j in range(k % 4):
            cur.append((j, y * j, 0.5))
        if len(cur) >= len(best):
            best = cur
    return best


def made_anew_in_inner_loops(y, n):  # type: ignore[no-untyped-def]
    total = 0
    row = [1]
    for k in range(n):
        for j in range(3):
            row = [v + j for v in row]
            if len(row) < 20:
                row.append(k)
        total += row[-1] + len(row)
    return total, row


def asked_later(y, n):  # type: ignore[no-untyped-def]
    held = []
    count = 0
    for k in range(n):
        asked = held and k
        held.append(k)
        if asked:
            count += 1
        if k % 3 == 0:
            held.pop()
    return held, count


def slope(u):  # type: ignore[no-untyped-def]
    return np.array([u[1] - 0.5 * u[0], 0.3 * u[0]])


def several_arrays_in_a_trip(y, n):  # type: ignore[no-untyped-def]
    ys = [y]
    for _ in range(n):
        a = slope(y)
        b = slope(y + 0.05 * a)
        c = slope(y + 0.05 * b)
        y = y + 0.1 / 6.0 * (a + 4 * b + c)
        ys.append(y)
    return np.array(ys)


def read_before_anything_is_in(y, n):  # type: ignore[no-untyped-def]
    waiting = []
    log = []
    free = 0.0
    i = 0
    while i < n or waiting:
        if waiting and (i >= n or free <= i):
            at, k = waiting.pop()
            free = max(free, at) + y[0] * k
            log.append((k, free, y * at))
        else:
            waiting.append((i * 0.5, i))
            i += 1
    return log, free


def other_methods(y, n):  # type: ignore[no-untyped-def]
    a = []
    b = []
    c = []
    d = []
    for k in range(n):
        a.append(k)
        b.append(y * k)
        c.append((k, y + k))
        d.append(k if k % 3 else 0.5)
    for x in range(n // 3):
        a.pop(0)
        b.pop(0)
        c.pop(1)
        d.pop(-2)
        a.append(x)
    a.reverse()
    b.reverse()
    c.reverse()
    d.reverse()
    return a, b, c, d


def cleared(y, n):  # type: ignore[no-untyped-def]
    a = []
    b = []
    t = 0
    for k in range(n):
        a.append(k)
        b.append(y * k)
        if k % 4 == 3:
            t += len(a) + len(b) + sum(a)
            a.clear()
            b.clear()
    return a, b, t


def popped_by_a_wrong_index(y, n):  # type: ignore[no-untyped-def]
    a = [1, 2]
    for k in range(n):
        a.pop(k - 1)
    return a


def searched(y, n):  # type: ignore[no-untyped-def]
    dist = [-1] * (n + 1)
    queue = [0]
    dist[0] = 0
    while queue:
        v = queue.pop(0)
        for w in (2 * v + 1, v + 3):
            if w <= n and dist[w] < 0:
                dist[w] = dist[v] + 1
                queue.append(w)
    return dist


def backwards_through_states(y, n):  # type: ignore[no-untyped-def]
    hs = [y]
    for t in range(n):
        hs.append(hs[-1] * 0.5 + t)
    d = y * 0
    for t in reversed(range(n)):
        d = d * 0.5 + hs[t + 1] * (1 - hs[t] ** 2)
    for t in reversed(range(0, n, 3)):
        d = d + t
    return d


def added_in_place(y, n):  # type: ignore[no-untyped-def]
    a = [1]
    b = a
    rows = [[0] for _ in range(3)]
    arrays = [y]
    for k in range(n):
        a += [k, k + 1]
        rows[k % 3] += a[:2]
        arrays += [y * k]
    if n < 9:
        b += b
    return a, len(b), rows, arrays


CASES: list[tuple[Callable[..., Any], bool]] = [
    (sorted_again, True), (one_row_after_the_other, True), (two_rows_take_turns, True),
    (rows_made_anew, True), (beam, True), (lists_asked, True), (best_so_far, True),
    (two_names_of_one, True), (two_names, True), (one_becomes_the_other, True), (returned_twice, True),
    (best_arrays, True), (of_two_kinds_made_anew, True), (best_tuples, True),
    (made_anew_in_inner_loops, True), (asked_later, False), (several_arrays_in_a_trip, True),
    (read_before_anything_is_in, True), (other_methods, True), (cleared, True),
    (popped_by_a_wrong_index, True), (searched, True), (added_in_place, True),
    (backwards_through_states, True),
]  # fmt: skip


@pytest.mark.parametrize(("function", "lowered"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_lists(function: Callable[..., Any], lowered: bool) -> None:
    both(function, [(Y, n) for n in (0, 1, 2, 5, 40)], lowered=lowered)


LEAKS = (sorted_again, two_rows_take_turns, beam, best_arrays, best_tuples,
    other_methods, cleared, added_in_place)  # fmt: skip


@pytest.mark.parametrize("function", [*LEAKS, popped_by_a_wrong_index], ids=lambda f: f.__name__)
def test_nothing_is_left_behind(function: Callable[..., Any]) -> None:
    nothing_is_left_behind(function, function is popped_by_a_wrong_index)


def one_list_of_pairs(n):  # type: ignore[no-untyped-def]
    first, second = [(0, 0.5)], [(1, 1.5)]
    for i in range(n):
        second.append((i, i * 0.5))
        if i > 1:
            first = second
    return first, second


def one_list_of_two_kinds(n):  # type: ignore[no-untyped-def]
    first, second = [0.5], [1]
    for i in range(n):
        second.append(i if i % 2 else i * 0.5)
        first.append(i if i % 3 else i * 0.5)
        if i > 1:
            first = second
    return first, second


@pytest.mark.parametrize("function", [one_list_of_pairs, one_list_of_two_kinds])
def test_one_list_by_two_names_is_handed_back_as_one(function: Callable[..., Any]) -> None:
    with settings.override(executor="native", compile="now"):
        converted = ag.function(function)
        for n in (5, np.int64(6), 1, 0, 9):
            found, wanted = converted(n), function(n)
            assert repr(found) == repr(wanted)
            assert (found[0] is found[1]) == (wanted[0] is wanted[1])
