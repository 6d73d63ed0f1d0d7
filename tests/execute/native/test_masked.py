"""Functions of elements with loops and branches, on vectors under masks: what each element gives alone."""

from __future__ import annotations

import importlib.util
import itertools
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native import masked
from runtime.execute.native.executor import PATIENCE, unavailable
from runtime.vectorizing import vectorize as one_by_one
from tests.execute.native.harness import seen

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
WIDTHS = [w for w in (16, 32, 64) if w <= masked.vector_bytes()]
LENGTHS = (1, 3, 8, 15, 17, 31, 33, 40)


def counted(a: Any) -> Any:
    n = 0
    while a > 1:
        a = a // 2 if a % 2 == 0 else 3 * a + 1
        n += 1
    return n


def escape(a: Any, b: Any) -> Any:
    x = y = 0.0
    k = 0
    while k < 50:
        x, y = x * x - y * y + a, 2.0 * x * y + b
        if x * x + y * y > 4.0:
            break
        k += 1
    return k


def root(a: Any) -> Any:
    guess = a
    for _ in range(60):
        following = 0.5 * (guess + a / guess)
        if abs(following - guess) < 1e-9:
            return following
        guess = following
    return -1.0


def nested(a: Any, b: Any) -> Any:
    total = 0.0
    i = 0
    while i < 5:
        j = 0
        while j < i and total < 40:
            total += a * j - b
            if total < -30:
                return total
            j += 1
        i += 1
        if a > 2 and i == 3:
            continue
        total = total - 1 if total > b else total + 0.5
    return total


def varying_range(a: Any) -> Any:
    s = 0
    for k in range(a % 7):
        for m in range(k, 3 * k, 2):
            if m == a % 5:
                break
            s += m
    return s


def divisors(a: Any, b: Any) -> Any:
    while b != 0:
        a, b = b, a % b
    return a // 3


def digits(a: Any, b: Any) -> Any:
    s = 0
    for _ in range(5):
        s = s * 2 + a % (b + 1)
        a = a // (b + 1) - 3
    return s


def is_prime(a: Any) -> Any:
    if a < 2:
        return False
    d = 2
    while d * d <= a:
        if a % d == 0:
            return False
        d += 1
    return True


def two_kinds(a: Any) -> Any:
    if a > 1:
        return a * 0.5
    return 0


def sometimes_named(a: Any) -> Any:
    if a > 0:
        z = a * 2
    while a > 3:
        z = a
        a -= 1
    return z


def reciprocal(a: Any) -> Any:
    return 1 / a if a > 0 else -1.0


def lowest(a: Any) -> Any:
    k = 0
    while a > 1e-3 and k < 300:
        a = a * 0.5
        k += 1
    return a, k, a > 0


def ufuncs(a: Any) -> Any:
    if a > 0:
        return np.log(a) + np.sqrt(a)
    return np.floor(a)


def doubled_until(a: Any) -> Any:
    while a < 1e30:
        a = a * a + 2
    return a


def shifts(a: Any) -> Any:
    bits = 0
    while a > 0:
        bits += a & 1
        a >>= 1
    return bits


def rounded(a: Any) -> Any:
    return int(a * 3) if a < 5 else math.floor(a) + math.sqrt(a)


def table_sum(a: Any, table: Any) -> Any:
    s = 0.0
    for t in table:
        if t > a:
            s += t * a
    return s


def by_library(a: Any, b: Any) -> Any:
    k, total = 0, 0.0
    while abs(a) > 0.1 and k < 9:
        total += math.erf(a) * (b - k) + math.fabs(b) * k - (a + k) * (b + 2 * k) / (1 + a * a)
        if total > b:
            total += math.atan2(a, b + 0.01) - math.copysign(k, b) + (total - a) * (total - b) * 0.125
        a = a * 0.5 - 0.01 * k * k + 0.003 * b
        k += 1
    return total + math.pow(1.5 + k, 0.25)


def to_powers(a: Any, b: Any) -> Any:
    x, k = abs(a) + a / 2, 0
    while x < 50 and k < 6:
        x = (abs(x) + b) ** (b * 0.25) + x**3 + 1
        k += 1
    return x


def cooled(a: Any) -> Any:
    k = 0
    while a > 0.3:
        a = np.sin(a) * np.log(a + 0.8) if a < 3 else a / 2
        k += 1
    return a, k


def searched(a: Any, table: Any) -> Any:
    low, high = 0, len(table)
    while low < high:
        middle = (low + high) // 2
        if table[middle] < a:
            low = middle + 1
        else:
            high = middle
    return low


def picked(a: Any, table: Any) -> Any:
    k, found = int(a), table[0]
    for step in range(3):
        if k % 3 != step:
            found = table[k - step] if a > -1 else table[-k]
    return found


def picked_in_two(a: Any, table: Any) -> Any:
    k, total = int(a), 0.0
    while k > -2:
        total += table[k, 1] * table[1, -k] + table[k][0]
        k -= 1
    return total


F, G = np.linspace(-3.0, 7.0, 40), np.sin(np.arange(40.0)) * 4
I, J = np.arange(40), np.arange(40)[::-1] * 7 % 31
TABLE: list[tuple[Callable[..., Any], tuple[np.ndarray[Any, Any], ...]]] = [
    (counted, (I,)),
    (counted, (I.astype(np.int32),)),
    (escape, (F / 4, G / 4)),
    (root, (F + 3.5,)),
    (root, ((F + 3.5).astype(np.float32),)),
    (nested, (F, G)),
    (nested, (F.astype(np.float32), G.astype(np.float32))),
    (nested, (I, J)),
    (varying_range, (I,)),
    (digits, (I, J)),
    (digits, (I.astype(np.uint8), J.astype(np.uint8))),
    (digits, (I.astype(np.int64) * 2**52, J + 2**54)),
    (digits, (I.astype(np.int32) - 20, J.astype(np.int32))),
    (two_kinds, (I,)),
    (two_kinds, (F,)),
    (reciprocal, (F,)),
    (reciprocal, (F.astype(np.float32),)),
    (lowest, (F,)),
    (lowest, (F.astype(np.float32),)),
    (ufuncs, (F + 0.01,)),
    (ufuncs, (F.astype(np.float32),)),
    (doubled_until, (F,)),
    (shifts, (J,)),
    (shifts, (J.astype(np.int16),)),
    (rounded, (F,)),
    (by_library, (F, G)),
    (to_powers, (np.float32(F), np.float32(abs(G) + 0.5))),
    (cooled, (abs(F) + 0.5,)),
    (cooled, (np.float32(abs(F) + 0.5),)),
]


@pytest.fixture(params=WIDTHS)
def width(request: Any, monkeypatch: Any) -> int:
    """How long vectors are."""
    monkeypatch.setattr(masked, "vector_bytes", lambda: request.param)
    return int(request.param)


def compared(
    f: Callable[..., Any],
    calls: list[tuple[Any, ...]],
    excluded: tuple[int, ...] = (),
    errors: Sequence[dict[str, Any]] = ({},),
) -> bool:
    """Fail if elements differ from what they give one by one; whether they were worked on under masks."""
    with settings.override(compile="now", cache_dir="off"):
        alone, together = one_by_one(f, excluded=excluded), ag.vectorize(f, excluded=excluded)
        for state, args in itertools.product(errors, calls):
            wanted, found = seen(alone, args, **state), seen(together, args, **state)
            assert found == wanted, f"{f.__name__}{args}, {state}:\nvectors {found}\nalone {wanted}"
        assert together._compiled is not None
        concrete = together._compiled.traces[-1].concrete
        assert "LLVM" not in concrete.not_native, concrete.not_native
        return "llvm.masked.store" in (concrete.native_ir or "")


@pytest.mark.parametrize("f,args", TABLE, ids=lambda x: getattr(x, "__name__", None))
def test_each_element_gets_what_it_gets_alone(
    f: Callable[..., Any], args: tuple[Any, ...], width: int
) -> None:
    calls = [tuple(x[:n] for x in args) for n in LENGTHS]
    calls += [tuple(np.repeat(x, 2)[::2] for x in args), tuple(x[::-1] for x in args)]
    calls += [(args[0], *(x[:1] for x in args[1:])), tuple(x.reshape(5, 8).T for x in args)]
    assert compared(f, calls)


def test_tables_are_read_and_ranges_are_shared(width: int) -> None:
    assert compared(table_sum, [(F[:n], G) for n in LENGTHS], excluded=(1,))


FAILING: list[tuple[Callable[..., Any], Any]] = [
    (reciprocal, np.array([1.0, -1.0, 0.0, 2.0])),
    (lambda a: 1 / a if a > -1 else 0.0, np.array([1.0, -1.0, 0.0, 2.0])),
    (lambda a: 7 // a, np.arange(5)),
    (lambda a: 7 % a if a != 3 else 0, np.arange(5)),
    (lambda a: a * a * a * a, np.array([1, 2, 2**20, 3])),
    (lambda a: a * a, np.array([1, 2, 100, 3], np.int8)),
    (lambda a: a * a, np.array([1, 2, 1e30, 3], np.float32)),
    (lambda a: 1 / a, np.array([1, 2, 0, 3], np.float32)),
    (lambda a: np.log(a), np.array([1, 2, -1, 3], np.float32)),
    (lambda a: a - a, np.array([1, 2, np.inf, 3], np.float32)),
    (sometimes_named, np.array([1, -1, 5])),
    (sometimes_named, np.array([1, 2, 5])),
]


@pytest.mark.parametrize("f,x", FAILING)
def test_errors_and_warnings_are_those_of_the_elements(f: Callable[..., Any], x: Any, width: int) -> None:
    errors: list[dict[str, Any]] = [{}, {"all": "raise"}, {"all": "ignore"}]
    calls: list[tuple[Any, ...]] = [(x,), (np.tile(x, 9),), (x[:1],)]
    assert len(errors) * len(calls) - 1 <= PATIENCE  # native code is given up for the last call at most
    compared(f, calls, errors=errors)


def quiet(a: Any) -> Any:
    return a / (a - 1) if a != 1 else a * 0


def big(a: Any) -> Any:
    k = 0
    while k < a and a < 30:
        k += 1
    return a * 1e38 if k > 3 else a


@pytest.mark.parametrize("f", [quiet, big])
def test_lanes_that_do_not_count_flag_nothing(f: Callable[..., Any], width: int) -> None:
    x = np.array([1, 2, 3, 1, 0, 2] * 7, np.float32)
    with settings.override(compile="now", cache_dir="off"):
        v = ag.vectorize(f)
        v(x)
        assert v._compiled is not None
        assert v._compiled.traces[-1].concrete.native.bails == 0


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_items_of_tables(dtype: str, width: int) -> None:
    table = np.sort(np.arange(12) * 7 % 5).astype(dtype)
    x = np.linspace(-2.0, 5.0, 40)
    assert compared(searched, [(x[:n], table) for n in LENGTHS], excluded=(1,))
    assert compared(picked, [(x, table), (x[:9], table[::2]), (x, table[:3])], excluded=(1,))
    two = np.arange(30).reshape(6, 5).astype(dtype)
    assert dtype == "?" or compared(picked_in_two, [(x, two), (x, two.T), (x + 9, two)], excluded=(1,))


def test_tables_outside_of_the_function(width: int) -> None:
    inside = G.copy()

    def of_both(a: Any) -> Any:
        k = int(a) % 7
        while k < 40 and inside[k] < F[k]:
            k += 3 if F[k] > a else 2
        return k

    assert compared(of_both, [(F[:n],) for n in LENGTHS])
    inside[:] = 0.5
    assert compared(of_both, [(F,)])
    inside = F + G
    assert compared(of_both, [(F,)])


def test_what_has_no_form_on_vectors_goes_one_by_one(width: int) -> None:
    def mostly_calls(a: Any) -> Any:
        k = 0
        while a > 1:
            a = math.log(a + math.exp(-a) * abs(math.sin(a)))
            k += 1
        return k

    assert not compared(mostly_calls, [(F + 5,)])
    assert not compared(divisors, [(I, J), (I.astype(np.uint8), J.astype(np.uint8))])
    assert not compared(is_prime, [(I,)])


def compared_as_floats(a: Any, b: Any) -> Any:
    return a % b > 1 if np.float64(1.5) != a else b == 2


@pytest.mark.parametrize("dtype", ("u1", "i2", "u4", "f4"))
def test_short_numbers_that_are_compared_as_longer_ones(dtype: str, width: int) -> None:
    """LLVM ended the process: a register's worth of short numbers is more than one of what they become."""
    x = np.arange(70).astype(dtype)
    compared(compared_as_floats, [(x, x + x.dtype.type(1))])


# ------------------------------------------------------------------------------------ random programs
class Maker:
    """Writes functions of two numbers."""

    def __init__(self, seed: int) -> None:
        self.pick, self.loops = random.Random(seed), 0

    def number(self, depth: int) -> str:
        pick = self.pick
        if depth <= 0 or pick.random() < 0.15:
            return pick.choice(
                ["a", "b", "u", "v", "w", str(pick.randint(-3, 9)), f"{pick.uniform(-3, 3):.2f}"]
            )
        a, b, how = self.number(depth - 1), self.number(depth - 1), pick.choice(["/", "//", "%"])
        return pick.choice([
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} + {b})", f"({a} * {b})",
            f"({a} {how} {pick.choice(['2', '7', '2.5', '-3', f'(1.5 + abs({b}))'])})",
            f"({a} {how} {b})" if pick.random() < 0.2 else f"abs({a})",
            f"({a} if {self.test(depth - 1)} else {b})", f"-{a}", f"max({a}, {b})", f"float({a})",
            f"np.{pick.choice(['sqrt', 'exp', 'floor', 'sin'])}(float({a}))",
        ])  # fmt: skip

    def test(self, depth: int) -> str:
        pick = self.pick
        if depth > 0 and pick.random() < 0.3:
            return f"({self.test(depth - 1)} {pick.choice(['and', 'or', 'and not'])} {self.test(depth - 1)})"
        how = pick.choice(["<", ">", "<=", ">=", "==", "!="])
        return f"{self.number(depth - 1)} {how} {self.number(depth - 1)}"

    def block(self, pad: str, depth: int, loop: bool) -> list[str]:
        pick, out = self.pick, []
        for _ in range(pick.randint(1, 3)):
            kind = pick.random()
            if kind < 0.45 or depth == 0:
                out.append(f"{pad}{pick.choice('uvw')} = ({self.number(2)}) % 97")
            elif kind < 0.65:
                out += [f"{pad}if {self.test(2)}:", *self.block(f"{pad}    ", depth - 1, loop)]
                out += [f"{pad}else:", *self.block(f"{pad}    ", depth - 1, loop)]
            elif kind < 0.85:
                self.loops += 1
                k = f"k{self.loops}"
                if pick.random() < 0.7:
                    out += [
                        f"{pad}{k} = 0",
                        f"{pad}while {k} < {pick.choice(['12', 'abs(a) % 9'])} and {self.test(1)}:",
                    ]
                    out.append(f"{pad}    {k} += 1")
                else:
                    out.append(
                        f"{pad}for {k} in range({pick.choice(['20', '30, 2, -3', 'int(abs(a)) % 7'])}):"
                    )
                out += self.block(f"{pad}    ", depth - 1, True)
            else:
                leave = pick.choice(["break", "continue"]) if loop else f"return {self.number(1)}"
                out += [f"{pad}if {self.test(1)}:", f"{pad}    {leave}"]
        return out

    def program(self) -> str:
        lines = [
            "import numpy as np",
            "",
            "",
            "def f(a, b):",
            "    u, v, w = a, b, 0",
            *self.block("    ", 2, False),
        ]
        return "\n".join([*lines, f"    return {self.pick.choice(['u', 'w', 'u + v', '(u, v)'])}", ""])


DTYPES = (np.int64, np.float64, np.float64, np.float32, np.int32, np.int8, np.uint8, np.bool_, np.uint64)


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(masked, "vector_bytes", lambda: WIDTHS[seed % len(WIDTHS)])
    source = Maker(seed).program()
    path = tmp_path / f"masked_program_{seed}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    draw, pick = np.random.default_rng(seed), random.Random(seed)
    n = pick.choice(LENGTHS)
    args = [(draw.normal(size=n) * 9).astype(pick.choice(DTYPES[:-1])) for _ in range(2)]
    compared(module.f, [tuple(args), (args[1][::-1], args[0]), (np.repeat(args[0], 2)[::2], args[1][:1])])


def test_threads_share_the_elements() -> None:
    x = np.linspace(-2.0, 1.0, 3000)
    before = ag.get_num_threads()
    ag.set_num_threads(3)
    try:
        assert compared(escape, [(x, x[::-1].copy()), (x[:1001], x[1000:2001])])
        assert compared(root, [((np.abs(x) + 0.1).astype(np.float32),)])
    finally:
        ag.set_num_threads(before)
