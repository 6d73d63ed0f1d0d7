"""Loops over elements, several trips at once: the same as Python does trip by trip, wherever arrays lie."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native import host
from runtime.execute.native.executor import PATIENCE, unavailable
from tests.execute.native.harness import both, seen

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")

MOST = 2**63 - 1


def combine(x, y):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        y[i] = 2.5 * x[i] - y[i] / (x[i] + 3)
    return y


def blur(x, y):  # type: ignore[no-untyped-def]
    for i in range(1, len(x) - 1):
        y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3
    return y


def ahead(x, y):  # type: ignore[no-untyped-def]
    for i in range(len(x) - 2):
        x[i] = x[i + 2] + y[i]
    return x


def behind(x, y):  # type: ignore[no-untyped-def]
    for i in range(2, len(x)):
        x[i] = x[i - 2] + y[i]
    return x


def twice(x, y):  # type: ignore[no-untyped-def]
    for i in range(len(x) - 1):
        y[i] = x[i] + 1
        x[i] = y[i] + x[i + 1]
    return x, y


def row(x, y):  # type: ignore[no-untyped-def]
    n = len(x) // 3
    a, b = x[: 3 * n].reshape(3, n), y[: 3 * n].reshape(3, n)
    for k in range(3):
        for i in range(3):
            for j in range(n):
                a[i, j] -= a[i, k % max(n, 1)] * b[k, j] if n else 0
    return a


def signs(x, y):  # type: ignore[no-untyped-def]
    flags = np.zeros(len(x), dtype=np.bool_)
    found = 0
    for i in range(len(x)):
        flags[i] = x[i] > y[i]
        found += 1 if x[i] < y[i] else 2
    return flags, found


def counted(x, y):  # type: ignore[no-untyped-def]
    for i in range(3, len(x)):
        y[i] = (i * 2 + 1) * x[i - 3] + (i - 3)
    return y, len(x)


def last(x, y):  # type: ignore[no-untyped-def]
    i = -7
    for i in range(len(x)):
        y[i] = abs(x[i]) + 1
    return i, y


def backwards(x, y):  # type: ignore[no-untyped-def]
    for i in range(len(x) - 1, -1, -1):
        y[i] = x[len(x) - 1 - i] + y[i]
    return y


def nested(x, y):  # type: ignore[no-untyped-def]
    for i in range(5):
        for j in range(i, len(x)):
            y[j] += x[j] * i
    return y


def positive(x, y):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        if x[i] > y[i]:
            y[i] = x[i] * 2 + y[i]
    return y


def three_ways(x, y):  # type: ignore[no-untyped-def]
    big = np.zeros(len(x), dtype=np.int64)
    for i in range(1, len(x)):
        if x[i] < 0:
            y[i] = -x[i]
            if x[i - 1] < y[i]:
                big[i] = i
        elif i > 3:
            y[i - 1] = x[i]
            y[i] = 1 / x[i] if x[i] != 0 else 2
        else:
            big[i - 1] = 7
    return y, big


def guarded(x, y):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        if i + 2 < len(x):
            y[i] = x[i + 2]
    return y


def neighbours(x, y):  # type: ignore[no-untyped-def]
    for i in range(1, len(x)):
        if x[i] < x[i - 1]:
            x[i - 1] = y[i]
    return x


def totals(x, y):  # type: ignore[no-untyped-def]
    all_, some, apart, count = 0, 0, 5, 0
    for i in range(len(x)):
        all_ += x[i]
        if x[i] > y[i]:
            some = some + y[i]
            count += 1
        elif x[i] < -3:
            count += i
        apart -= 3 * i
    return all_, some, apart, count


PROGRAMS: list[Callable[..., Any]] = [
    combine, blur, ahead, behind, twice, row, signs, counted, last, backwards, nested,
    positive, three_ways, guarded, neighbours, totals,
]  # fmt: skip
SEVERAL = (combine, blur, ahead, twice, signs, nested, positive)
SIZES = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 40, 64, 70)


def placed(n: int, dtype: str, how: int, seed: int) -> tuple[Any, Any]:
    """Two arrays of one size: apart, the same, or a few elements from each other in the same memory."""
    values = np.random.default_rng(seed).integers(-9, 9, 2 * n + 40)
    whole = (values / (2 if dtype[0] == "f" else 1)).astype(dtype)
    if how == 99:
        return whole[:n], whole[n + 20 : 2 * n + 20]
    return whole[20 : 20 + n], whole[20 + how : 20 + how + n]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_wherever_arrays_lie(program: Any, dtype: str) -> None:
    if dtype[0] == "i" and program in (blur, three_ways):
        dtype = "f8"
    calls = [placed(n, dtype, how, n) for n in SIZES for how in (99, 0, 1, -1, 2, 8, -8, 17)]
    with np.errstate(all="ignore"):
        both(program, [placed(23, dtype, 99, 1), *calls], lowered=False)


@pytest.mark.parametrize("program", SEVERAL, ids=lambda f: f.__name__)
def test_several_trips_at_once(program: Any) -> None:
    with settings.override(executor="native", compile="now"):
        concrete = ag.function(program).get_concrete_function(*placed(50, "f8", 99, 1))
    assert "\nlanes" in concrete.native_ir


@pytest.mark.parametrize("at", [0, 5, 8, 31, 36, 39])
@pytest.mark.parametrize(
    "program", [combine, blur, ahead, nested, positive, three_ways], ids=lambda f: f.__name__
)
def test_what_one_trip_flags(program: Any, at: int) -> None:
    """A warning, or an error, wherever the number is that causes it."""
    calls = [placed(40, "f8", 99, 1)]
    for odd in (np.inf, np.nan, 1e308, -3.0):
        calls.append(placed(40, "f8", 99, at))
        calls[-1][0][at] = odd
    for errors in ("warn", "raise"):
        both(program, calls, all=errors)


@pytest.mark.parametrize("at", [0, 5, 8, 31, 39])
def test_integers_that_grow_too_large(at: int) -> None:
    def plus(x, y):  # type: ignore[no-untyped-def]
        for i in range(len(x)):
            y[i] = x[i] + 7
        return y

    def product(x, y):  # type: ignore[no-untyped-def]
        for i in range(len(x)):
            y[i] = x[i] * y[i]
        return y

    calls = [placed(40, "i8", 99, 1)]
    for value in (MOST, MOST - 7, MOST - 6, -MOST - 1, 2**32, -(2**32)):
        x, y = placed(40, "i8", 99, at)
        x[at] = y[at] = value
        calls.append((x, y))
    assert len(calls) <= PATIENCE
    both(plus, calls)
    both(product, calls)


@pytest.mark.parametrize("dtype", ["i8", "i4", "u4", "u8", "i2"])
def test_sums_of_integers(dtype: str) -> None:
    """As many at once as there is room for; where one of them may not fit, in order."""

    def total(x, y):  # type: ignore[no-untyped-def]
        s = x[0]
        for i in range(1, len(x)):
            s += x[i]
        return s

    def chosen(x, y):  # type: ignore[no-untyped-def]
        s = 0
        for i in range(len(x)):
            if y[i] > 2:
                s += x[i]
        return s

    def of_two(x, y):  # type: ignore[no-untyped-def]
        s = x[0]
        for i in range(1, len(x)):
            s += x[i]
            s += y[i]
        return s

    info = np.iinfo(dtype)
    calls = []
    for k, value in enumerate((0, info.max, info.max // 2, info.max // 99, info.min, info.min // 99)):
        x, y = (z.view(np.dtype(dtype)) % info.max for z in placed(90, dtype.replace("u", "i"), 99, k))
        x[k * 7] = value
        x[88 - k], y[k * 7] = (-value if info.min and value != info.min else 1), 3
        calls.append((x, y))
        if value == info.max:
            x[1] = value
    lanes = 64 // info.dtype.itemsize
    each = np.full(lanes + 1, 2 ** (info.bits - 1 - (info.min < 0)) // lanes - 1, dtype)  # two are too many
    both(of_two, [(each // 4, each // 4), (each, each), (each, each // 2), (each, each * 0)])
    for program in (total, chosen):
        with settings.override(executor="native", compile="now"):
            concrete = ag.function(program).get_concrete_function(*calls[0])
        assert "\nlanes" in concrete.native_ir or (program is chosen and dtype != "i8")
        both(program, calls)


TERMS = (
    "x[i]", "x[i + 1]", "x[i - 1]", "y[i]", "y[i + 2]", "z[i]", "z[i - 1]", "z[i + 1]", "2.0", "0.5", "i",
    "c", "x[3]", "t[i, 1]", "t[1, i]",
)  # fmt: skip
TARGETS = ("z[i]", "z[i + 1]", "y[i]", "t[1, i]", "t[0, i + 1]", "x[i - 1]", "z[3]")


def term(r: random.Random, depth: int) -> str:
    """A random expression."""
    if depth == 0 or r.random() < 0.3:
        return r.choice(TERMS)
    a, b = term(r, depth - 1), term(r, depth - 1)
    kind = r.randrange(8)
    if kind == 0:
        return f"abs({a})"
    if kind == 1:
        return f"({a} if {b} > {term(r, 0)} else {term(r, depth - 1)})"
    if kind == 2:
        return f"np.sqrt(abs({a}))"
    return f"({a} {r.choice('+-*')} {b})"


def written(r: random.Random) -> str:
    """A random function with a loop over elements."""
    lines = ["def f(x, y, z, t, c, n):", "    s = 0", f"    for i in range({r.choice('12')}, n - 2):"]
    for _ in range(r.randint(1, 3)):
        space = " " * 8
        while r.random() < 0.4:
            lines.append(f"{space}{r.choice(('if', 'if', 'if not'))} {term(r, 1)} < {term(r, 0)}:")
            space += "    "
            if r.random() < 0.4:
                lines += [f"{space}{r.choice(TARGETS)} = {term(r, 1)}", f"{space[4:]}else:"]
        lines.append(f"{space}{r.choice(TARGETS)} = {term(r, r.randint(1, 3))}")
    if r.random() < 0.4:
        step = r.choice(("1", "i", "i * 3", "(2 if x[i] > 0 else 5)"))
        lines.append(f"        s {r.choice('+-|')}= {step}")
    return "\n".join([*lines, "    return x, y, z, t, s", ""])


@pytest.mark.parametrize("seed", range(48))
def test_random_loops(seed: int) -> None:
    check_random(seed)


def check_random(seed: int) -> None:
    """One random loop against Python, with arrays in all sorts of places."""

    r = random.Random(seed)
    text, name = written(r), f"<random loop {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    space: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), space)
    dtype = r.choice(("f8", "f8", "f4"))
    with settings.override(executor="native", compile="now"), np.errstate(all="ignore"):
        converted = ag.function(space["f"])
        for n in (40, 40, 12, 3, 41):
            room = np.random.default_rng(seed + n).uniform(-2, 2, 6 * n).astype(dtype)
            places = [0, *(r.choice((0, 1, -1, 2, 8, n, 2 * n)) for _ in range(2))]
            x, y, z = (room[n + p : 2 * n + p] for p in places)
            args = (
                x,
                y,
                z,
                room[4 * n :].reshape(2, n) if r.random() < 0.5 else room[n : 3 * n].reshape(2, n),
                1.5,
                n,
            )
            assert seen(converted, args, all="ignore") == seen(space["f"], args, all="ignore"), text


def compared(x, y):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        y[i] = x[i] * np.float32(0.5) > np.float32(3.0)
    return y


@pytest.mark.parametrize("small", ["i1", "i2", "u2"])
def test_floats_between_small_integers(small: str) -> None:
    """As many trips at once as there is room for the floats, which no element that is read or written is."""
    x = np.arange(100).astype(small)
    both(compared, [(x, np.zeros(100, bool)), (x[::-1].copy(), np.zeros(100, np.int8))])


def test_divisors_that_all_trips_share_and_that_are_0() -> None:
    def divide(x, y, p, q):  # type: ignore[no-untyped-def]
        for i in range(len(x)):
            if x[i] > 0:
                if q > 0:
                    y[i] = p // q
        return y

    def rest(x, y, p, q):  # type: ignore[no-untyped-def]
        n = 0
        for i in range(len(x)):
            if x[i] > 0 and q != 0:
                n += p % q
        return n

    for function in (divide, rest):
        both(function, [(np.arange(-9.0, 41), np.zeros(50), 17, q) for q in (3, 5, 0, -2, 0)])


def life(a, b):  # type: ignore[no-untyped-def]
    h, w = a.shape
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            s = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1]
            s = s + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
            if s == 3 or (s == 2 and a[i, j] == 1):
                b[i, j] = 1
            else:
                b[i, j] = 0
    return b


def test_many_places_of_the_same_rows() -> None:
    """Also where what is written lies in the same memory, a few elements or rows off."""
    r, calls = np.random.default_rng(6), list[Any]()
    for n in (30, 11, 10, 3, 2):
        a = r.integers(0, 2, (n, n))
        whole = r.integers(0, 2, 3 * n * n)
        views = [whole[k : k + n * n].reshape(n, n) for k in (0, 1, 8, n, n + 3, n * n - 1, n * n)]
        calls += [(a, np.zeros_like(a)), (a, a), *((views[0], v) for v in views), (views[3], views[0])]
    calls.append((np.full((12, 12), MOST // 4), np.zeros((12, 12), np.int64)))
    both(life, calls)
    with settings.override(executor="native", compile="now"):
        assert "\nlanes" in ag.function(life).get_concrete_function(*calls[0]).native_ir


def three_terms(x: Any, y: Any, z: Any) -> Any:
    out = np.zeros_like(x)
    for i in range(1, len(x)):
        out[i] = x[i] + y[i] - z[i]
    return out


def near(x: Any, y: Any, z: Any) -> Any:
    out = np.zeros_like(x)
    for i in range(1, len(x)):
        if x[i] - y[i] - z[i] == 2 or (x[i - 1] + y[i] == 9 and z[i] > 4):
            out[i] = 1
    return out


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "i1", "u8", "u4"])
@pytest.mark.parametrize("program", [three_terms, near], ids=lambda f: f.__name__)
def test_sums_and_differences_that_do_not_fit(
    program: Any, dtype: str, older: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if older:  # a processor that has no instruction for any function of three bits
        monkeypatch.setattr(host, "flags", lambda have=host.flags() - {"avx512f"}: have)
    info, n, r = np.iinfo(np.dtype(dtype)), 70, np.random.default_rng(6)
    empty, calls = np.zeros(0, dtype), list[Any]()
    least, most, minus = info.min, info.max, max(info.min, -1)
    odd = [
        (most, 1, 0),
        (least, minus, 0),
        (most, most, most),
        (least, least, 0),
        (least, 0, 1),
        (0, 0, least),
    ]
    for values in [*odd, (most - 1, 0, minus)]:
        arrays = [r.integers(4, 7, n).astype(dtype) for _ in range(3)]
        at = int(r.integers(n))
        for array, value in zip(arrays, values, strict=True):
            array[at] = value
        calls.append(tuple(arrays))
    for errors in ("warn", "raise"):
        both(program, calls, over=errors)
        both(program, [(empty, empty, empty)], over=errors)
