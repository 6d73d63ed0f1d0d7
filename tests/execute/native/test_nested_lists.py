"""Lists of lists of numbers: native code against Python."""

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


def table(y, n):  # type: ignore[no-untyped-def]
    dp = [[0] * (n + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            dp[i][j] = dp[i - 1][j - 1] + 1 if (i * j) % 3 == 0 else max(dp[i - 1][j], dp[i][j - 1])
    return dp[n][n], dp


def two_kinds_in_rows(y, n):  # type: ignore[no-untyped-def]
    dp = [[0.0] * 4 for _ in range(n)]
    for i in range(n):
        for j in range(4):
            dp[i][j] = y[0] * i + j if i else 0.5
            dp[i][j] = float(dp[i][j])
    return dp, np.array(dp)


def neighbours(y, n):  # type: ignore[no-untyped-def]
    adj = [[] for _ in range(n)]
    for k in range(n):
        adj[k].append((k * 7 + 3) % n)
        adj[(k * 5) % n].append(k)
    seen = [False] * n
    stack = [0] if n else []
    order = []
    while stack:
        v = stack.pop()
        if not seen[v]:
            seen[v] = True
            order.append(v)
            for w in adj[v]:
                if not seen[w]:
                    stack.append(w)
    return order, adj


def rows_of_numbers(y, n):  # type: ignore[no-untyped-def]
    out = []
    for k in range(n):
        out.append([k, k * 2, 3])
    t = 0
    for row in out:
        t += row[1] + len(row)
    for a, b, c in out:
        t += a * b - c
    return t, out, np.array(out)


def longer_and_longer(y, n):  # type: ignore[no-untyped-def]
    found = [[1]]
    for k in range(n):
        last = found[-1]
        new = [1]
        for j in range(len(last) - 1):
            new.append(last[j] + last[j + 1])
            if new[-1] > 1000:
                new[-1] = 1000
        new.append(1)
        found.append(new)
    return found


def one_list_in_several_places(y, n):  # type: ignore[no-untyped-def]
    a = [[0] * 3] * 3
    b = [[1, 2], [3, 4]]
    r = b[0]
    for k in range(n):
        a[k % 3][k % 2] += 1
        r.append(k)
        b[1] = r
        b[k % 2][0] = k
    return a, b, r, b[1]


def product(y, n):  # type: ignore[no-untyped-def]
    a = [[(i * j) % 5 * 0.5 for j in range(n)] for i in range(n)]
    b = [[(i + j) % 7 * 1.5 for j in range(n)] for i in range(n)]
    c = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += a[i][k] * b[k][j]
            c[i][j] = s
    return c


def table_after_table(y, n):  # type: ignore[no-untyped-def]
    g = [[(i * 3 + j * j) % 4 == 0 for j in range(8)] for i in range(8)]
    for _ in range(n):
        new = [[False] * 8 for _ in range(8)]
        for i in range(8):
            for j in range(8):
                c = 0
                for di in (-1, 1):
                    for dj in (0, 1):
                        if di or dj:
                            if g[(i + di) % 8][(j + dj) % 8]:
                                c += 1
                new[i][j] = c == 3 or (c == 2 and g[i][j])
        g = new
    return g


def beyond_a_row(y, n):  # type: ignore[no-untyped-def]
    a = [[1, 2]]
    for k in range(n):
        a[0][k] = 5
    return a


def lists_in_tuples(y, n):  # type: ignore[no-untyped-def]
    out = []
    row = [0.5]
    for k in range(n):
        row.append(float(k))
        out.append(((k, k + 1), [y[0]] * 3, row, row))
        row[0] += 1.0
    return out, row


CASES: list[tuple[Callable[..., Any], bool]] = [
    (table, True), (two_kinds_in_rows, True), (neighbours, True), (rows_of_numbers, True),
    (longer_and_longer, True), (one_list_in_several_places, True), (product, True),
    (table_after_table, True), (beyond_a_row, True),
    (lists_in_tuples, True),
]  # fmt: skip


@pytest.mark.parametrize(("function", "lowered"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_lists(function: Callable[..., Any], lowered: bool) -> None:
    both(function, [(Y, n) for n in (0, 1, 2, 5, 17)], lowered=lowered)


def test_one_list_stays_one() -> None:
    with settings.override(executor="native", compile="now"):
        converted = ag.function(one_list_in_several_places)
        a, b, r, last = converted(Y, 5)
    concrete = converted.traces[-1].concrete
    assert concrete is not None and concrete.executor == "native"
    assert a[0] is a[1] is a[2] and b[1] is r is last and b[0] is r


def test_a_list_in_many_tuples_stays_one() -> None:
    with settings.override(executor="native", compile="now"):
        out, row = ag.function(lists_in_tuples)(Y, 4)
    assert all(t[2] is row and t[3] is row for t in out)


@pytest.mark.parametrize(
    "function",
    [table, neighbours, rows_of_numbers, one_list_in_several_places, beyond_a_row, lists_in_tuples],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_nothing_is_left_behind(function: Callable[..., Any]) -> None:
    nothing_is_left_behind(function, function is beyond_a_row)


# --------------------------------------------------------------------------------- lists of two kinds
def table_of_products(x, n):  # type: ignore[no-untyped-def]
    table = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            table[i][j] = x[i] * x[j]
    total = 0.0
    for row in table:
        total += sum(row) if n else 0
    return table, total, np.array(table) if n else 0


def product(x, n):  # type: ignore[no-untyped-def]
    a = [[x[i] + j for j in range(3)] for i in range(n + 1)]
    b = [[0.5 * i - j for j in range(4)] for i in range(3)]
    c = [[0.0] * 4 for _ in range(n + 1)]
    for i in range(n + 1):
        for j in range(4):
            for k in range(3):
                c[i][j] += a[i][k] * b[k][j]
    return c


def whole_or_not(x, n):  # type: ignore[no-untyped-def]
    rows = []
    for i in range(n):
        row = [i]
        if i % 2:
            row.append(i / 2)
        rows.append(row)
    return rows, len(rows)


def shared_rows(x, n):  # type: ignore[no-untyped-def]
    row = [0.0, 1.0]
    rows = [row, row]
    for k in range(n):
        rows[k % 2][0] = x[k]
        row[1] += 1.0
    rows.append([x[0], 2.0])
    return rows


def row_and_rows(x, n):  # type: ignore[no-untyped-def]
    row = [0.0]
    rows = [row]
    for k in range(n):
        row.append(x[k])
    return row, rows


def taken_apart(x, n):  # type: ignore[no-untyped-def]
    rows = [[0.0, x[k]] for k in range(n)]
    if n > 3:
        rows.pop(1)
        del rows[0]
        rows.reverse()
        rows[0] = [x[0]]
    for row in rows:
        row[0] += 0.5
    return rows


TWO_KINDS = [(table_of_products, True), (product, True), (whole_or_not, True), (shared_rows, True),
             (row_and_rows, False), (taken_apart, False)]  # fmt: skip


@pytest.mark.parametrize(("function", "lowered"), TWO_KINDS, ids=[f.__name__ for f, _ in TWO_KINDS])
def test_lists_of_lists_of_two_kinds(function, lowered):  # type: ignore[no-untyped-def]
    x = np.linspace(-1.0, 2.0, 30)
    converted = both(function, [(x, n) for n in (7, 1, 0, 20)], lowered=lowered)
    found = converted(x, 8)
    wanted = function(x, 8)
    rows, plain = (f[0] if isinstance(f, tuple) else f for f in (found, wanted))
    assert [[a is b for b in rows] for a in rows] == [[a is b for b in plain] for a in plain]
