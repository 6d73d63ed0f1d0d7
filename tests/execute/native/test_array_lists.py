"""Lists of arrays, of tuples, and of numbers of two kinds: native code against Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.emit import Emitter
from runtime.execute.native.executor import unavailable
from runtime.execute.native.state import State
from tests.execute.native.harness import both, nothing_is_left_behind

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
Y = np.array([1.0, 2.0])


def recorded(y, n):  # type: ignore[no-untyped-def]
    ys = [y]
    for k in range(n):
        y = y + 0.5 * y
        ys.append(y)
    return np.array(ys)


def given_back(y, n):  # type: ignore[no-untyped-def]
    ys = [y]
    for k in range(n):
        y = y + 0.5 * y
        ys.append(y)
    return ys, ys


def from_nothing(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(y * k)
    return ys, len(ys)


def array_of_nothing(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(y * k)
    return np.array(ys)


def one_array(y, n):  # type: ignore[no-untyped-def]
    ys = []
    z = np.zeros(3)
    for k in range(n):
        z[0] += k
        ys.append(z)
    z[1] = 7
    return ys


def argument(y, n):  # type: ignore[no-untyped-def]
    ys = [y]
    for k in range(n):
        ys[-1][0] += 1.5
        ys.append(ys[k])
    return ys, y


def items(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(y + k)
    t = 0.0
    for v in ys:
        t += v[0] * v[1]
    if n > 2:
        ys[1] = ys[0]
        ys[0] = y
        ys[2] = ys[1] * 2
    return t, ys, ys[-1] if n else y


def popped(y, n):  # type: ignore[no-untyped-def]
    ys = [y, y + 1]
    for k in range(n):
        a = ys.pop()
        ys.append(a * 2)
        ys.append(a)
    while len(ys) > 3:
        ys.pop()
    return ys


def popped_too_often(y, n):  # type: ignore[no-untyped-def]
    ys = [y]
    for k in range(n):
        ys.pop()
    return ys


def out_of_range(y, n):  # type: ignore[no-untyped-def]
    ys = [y, y + 1]
    for k in range(n):
        ys[k] = y * k
    return ys


def pairs(y, n):  # type: ignore[no-untyped-def]
    ps = []
    i = n
    j = 2 * n
    while i > 0:
        ps.append((i, j * 0.5))
        i -= 1
        j -= 1
    return ps, ps[::-1], ps[1:-1], ps[n // 2 :]


def with_arrays(y, n):  # type: ignore[no-untyped-def]
    ps = []
    for k in range(n):
        ps.append((k, y * k, (y[0] + k, True)))
    s = 0.0
    for k, v, (a, _) in ps:
        s += v[0] * k + a
    if n > 3:
        ps[1] = ps[0]
        ps[2] = (5, y, (y[1], False))
        ps.pop()
    return ps, s


def rows_of_numbers(y, n):  # type: ignore[no-untyped-def]
    ps = []
    for k in range(n):
        ps.append((k, k * 0.5, k % 2 == 0))
    return np.array(ps)


def carried(y, n):  # type: ignore[no-untyped-def]
    sim = [y, y + 1, y + 2]
    for k in range(n):
        sim = [sim[i] for i in range(2, -1, -1)]
        sim[0] = sim[1] * 0.5
    return sim


def other_way(y, n):  # type: ignore[no-untyped-def]
    a = [y]
    b = [y * 2, y * 3]
    for k in range(n):
        if k % 3 == 0:
            a, b = b, a
        a.append(b[-1] + k)
        if k % 5 == 0:
            b = a
    return a, b, a is b


def put_together(y, n):  # type: ignore[no-untyped-def]
    a = [y] + [y + k for k in range(n)]
    b = a.copy()
    b.extend(a)
    b[0] = y * 7
    return a, b, [y] * n


def lists_in_loops(y, n):  # type: ignore[no-untyped-def]
    out = []
    for k in range(n):
        row = []
        for j in range(k):
            row.append(y + j)
        if row:
            out.append(np.array(row).sum(0))
    return out


def put_in_later(y, n):  # type: ignore[no-untyped-def]
    ys = [np.ones(2)]
    for k in range(n):
        v = ys[-1]
        v[0] = k
        ys.append(y)
    return ys


def sizes(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(np.zeros(k + 1))
    t = 0.0
    for v in ys:
        t += v.sum() + len(v)
    return t, ys


def sizes_that_differ(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(np.zeros(k + 1))
    return np.array(ys)


def kept_while_replaced(y, n):  # type: ignore[no-untyped-def]
    ys = [y * 2]
    total = 0.0
    for k in range(n):
        last = ys[0]
        ys[0] = y * k
        total += last[0] + ys[0][1]
        ys[0][0] += last[1]
    return total, ys


def views(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(y[:1])
    return ys


def floats(y, n):  # type: ignore[no-untyped-def]
    ts = [0.0]
    t = 0.0
    for k in range(n):
        t = t + y[0]
        ts.append(t)
    ts[0] = ts[-1]
    return ts, np.array(ts), ts[n // 2 :], ts.pop()


def ints_and_floats(y, n):  # type: ignore[no-untyped-def]
    ts = []
    for k in range(n):
        ts.append(1 if k < 2 else 2.5)
    return np.array(ts), ts


def times(y, n):  # type: ignore[no-untyped-def]
    return [1, 2.5] * n, [y, y + 1] * n, [(1, 2)] * n, [0.5] * n


def solver(y, n):  # type: ignore[no-untyped-def]
    t = 0.0
    h = 0.01
    ts = [t]
    ys = [y]
    while t < n / 10:
        h = min(h, n / 10 - t)
        y = y - h * y
        e = np.max(np.abs(y))
        t = t + h
        h = h * min(2.0, max(0.2, 0.9 * (4.0 / max(e, 1e-16)) ** 0.2))
        ys.append(y)
        ts.append(t)
    return y, np.array(ts), np.array(ys)


def guessed_wrong_beside_writes(y, n):  # type: ignore[no-untyped-def]
    z = np.zeros(2)
    z += 1
    held = []
    total = 0.5
    for k in range(n):
        for v in held:
            total += v
        held.append(total)
    return total, held, z


def joined(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(y * k)
    return np.stack(ys), np.vstack(ys), np.hstack(ys), np.concatenate(ys), np.column_stack(ys)


def joined_along_rows(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(np.ones((k + 1, 2)) * k)
    return np.vstack(ys), np.concatenate(ys)


def sum_of_arrays(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(y * k)
    return sum(ys), ys


def sums(y, n):  # type: ignore[no-untyped-def]
    a = []
    b = []
    c = []
    for k in range(n):
        a.append(k * 0.1 - 2.0)
        b.append(k)
        c.append(y[0] * 0.1 * k)
    return sum(a), sum(b), sum(c), sum(y), float(sum(y * 3)), sum([y, y])


def sum_of_bools(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(y > k)
    return sum(ys)


def functions_of_a_list(y, n):  # type: ignore[no-untyped-def]
    fs = []
    for k in range(n):
        fs.append((k * 7919) % 13 * 0.5)
    return np.argsort(fs), np.mean(fs), np.max(fs), np.array(fs, dtype=float)


def methods_of_the_array(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(y * k)
    a = np.array(ys)
    return a.mean(axis=0), a.sum(), a.T.copy(), a.shape, a[:, 0].copy(), a.max(0)


def gone_through_backwards(y, n):  # type: ignore[no-untyped-def]
    ys = []
    for k in range(n):
        ys.append(y * k)
    t = 0.0
    for v in reversed(ys):
        t = t * 0.5 + v[0]
    for i, v in enumerate(ys):
        t += i * v[1]
    for a, b in zip(ys, ys[1:]):
        t += a[0] * b[1]
    return t, list(reversed(ys)), list(ys)


CASES: list[tuple[Callable[..., Any], bool]] = [
    (recorded, True), (given_back, True), (from_nothing, True), (array_of_nothing, True),
    (one_array, True), (argument, True), (items, True), (popped, True), (popped_too_often, True),
    (out_of_range, True), (pairs, True), (with_arrays, True), (rows_of_numbers, True), (carried, True),
    (other_way, False), (put_together, True), (lists_in_loops, True), (put_in_later, True), (sizes, True),
    (sizes_that_differ, True), (kept_while_replaced, True), (views, False), (floats, True),
    (ints_and_floats, True), (times, True), (solver, True), (guessed_wrong_beside_writes, True),
    (joined, True), (joined_along_rows, True), (sum_of_arrays, True), (sums, True), (sum_of_bools, True),
    (functions_of_a_list, True), (methods_of_the_array, True), (gone_through_backwards, True),
]  # fmt: skip


@pytest.mark.parametrize(("function", "lowered"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_lists(function: Callable[..., Any], lowered: bool) -> None:
    both(function, [(Y, n) for n in (0, 1, 2, 5, 40)], lowered=lowered)


def the_same(y, n):  # type: ignore[no-untyped-def]
    ys = [y]
    z = np.zeros(2)
    for k in range(n):
        ys.append(z)
        ys.append(y)
        ys.append(y * k)
    return ys, z, ys[-1], ys, [(z, k) for k in range(n)]


def test_what_is_one_array_is_one_array() -> None:
    with settings.override(executor="native", compile="now"):
        converted = ag.function(the_same)
        y = Y.copy()
        ys, z, last, again, pairs = converted(y, 3)
    assert converted.traces[-1].concrete.executor == "native"
    assert ys is again and ys[0] is y and ys[2] is y and ys[1] is z and ys[4] is z and last is ys[-1]
    assert len({id(x) for x in ys}) == 5 and all(p[0] is z for p in pairs)
    assert all(x.base is None and x.flags.owndata for x in ys)


LEAKS = (
    given_back, argument, items, popped, with_arrays, carried, put_together, lists_in_loops,
    floats, sum_of_arrays,
)  # fmt: skip
GIVEN_UP = (popped_too_often, out_of_range, sizes_that_differ)


@pytest.mark.parametrize("function", [*LEAKS, *GIVEN_UP], ids=lambda f: f.__name__)
def test_nothing_is_left_behind(function: Callable[..., Any]) -> None:
    nothing_is_left_behind(function, function in GIVEN_UP)


def asked_and_gone_through(x):  # type: ignore[no-untyped-def]
    held = []
    for t in range(300):
        if held:
            x = x * 0.5 + held[-1]
        for v in held:
            x = x + v * 0.001
        held.append(x)
        if len(held) > 5:
            held.pop()
    return x


def test_a_list_that_is_looked_into_stays_known() -> None:
    converted = both(asked_and_gone_through, [(Y,)])
    (loop,) = (n for n in converted.traces[-1].concrete.graph.nodes if n.op == "for")
    assert [str(v.type) for v in loop.outputs] == ["float64[2]"]


def test_dtypes_that_equal_one_another_are_one() -> None:
    other, state = np.dtype(np.float64, copy=True), State(Emitter(False))
    assert other is not np.dtype(np.float64)
    name = state.symbol(other)[1:]
    assert state.objects[name] is np.dtype(np.float64)  # else no call would be taken
