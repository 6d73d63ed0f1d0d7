"""Whole arrays in native code against NumPy: functions, reductions, lines kept for several uses, overlaps."""

from __future__ import annotations

import importlib.util
import pathlib
import warnings
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native import host, vector_math
from runtime.execute.native.executor import unavailable
from runtime.function.concrete import MISTAKE
from tests.execute.native import accuracy, array_programs
from tests.execute.native.harness import both, seen

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
RNG = np.random.default_rng(11)
SIZES = (0, 1, 7, 8, 9, 127, 128, 129, 1000)
SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, -1e-310, 1e300, -1e300, 800.0, -800.0, 1.0, -1.0]
)


def turned(sizes: tuple[Any, ...], k: int) -> tuple[Any, ...]:
    """The sizes from the k-th on, then the others.

    The first one is compiled as it is, the second makes one kernel for all sizes: each dtype begins
    elsewhere.
    """
    k %= len(sizes)
    return sizes[k:] + sizes[:k]


def load(text: str, folder: pathlib.Path, name: str) -> Any:
    """The function `program` of a module with this text."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def check(seed: int, folder: pathlib.Path) -> int:
    """Compare one random program; the number of calls that native code has done."""
    text = array_programs.source(seed)
    plain, function = (load(text, folder, f"{kind}{seed}") for kind in ("plain", "converted"))
    with settings.override(executor="native", compile="now", math="exact"):
        converted = ag.function(function)
        for k, args in enumerate(array_programs.calls(seed)):
            wanted, got = seen(plain, args), seen(converted, args)
            assert got == wanted, f"seed {seed}, call {k}\n{text}\nnative {got}\nplain {wanted}"
    traced = [r.concrete for r in converted.traces if r.concrete is not None]
    assert not any(MISTAKE in c.not_native or "LLVM" in c.not_native for c in traced), traced[0].not_native
    return sum(c.native.calls - c.native.bails for c in traced if c.native)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_programs(first: int, tmp_path: pathlib.Path) -> None:
    assert sum(check(seed, tmp_path) for seed in range(first, first + 10)) > 0


@pytest.mark.parametrize("name", accuracy.FUNCTIONS)
@pytest.mark.parametrize("dtype", accuracy.DTYPES)
def test_math_is_near(name: str, dtype: Any) -> None:
    assert accuracy.measured(name, dtype, 1 << 11)[0] <= 4


@pytest.mark.parametrize("name", accuracy.FUNCTIONS)
@pytest.mark.parametrize("dtype", accuracy.DTYPES)
def test_special_arguments_are_numpys(name: str, dtype: Any) -> None:
    usual = {1.0, -1.0} if name.startswith("exp") else {1.0, -1.0, 800.0, -800.0}
    usual |= {1e300} if name.startswith("log") else set()
    with np.errstate(over="ignore"):
        x = np.array([value for value in SPECIAL if value not in usual]).astype(dtype)
    calls = [(np.full(11, value),) for value in x]
    with settings.override(math="fast"):
        both(accuracy.FUNCTIONS[name], calls)
        both(accuracy.FUNCTIONS[name], calls, all="ignore")


def of_both(x, y):
    return np.log(x) * np.exp(y) + np.sin(x) - 2 * np.log1p(y) + np.hypot(x, y)


@pytest.mark.parametrize("dtype", accuracy.DTYPES)
def test_elements_beside_an_unusual_one(dtype: Any) -> None:
    with settings.override(executor="native", compile="now", math="fast"):
        converted = ag.function(of_both)
        for k, value in enumerate([*SPECIAL, 1e308, -746.0, 0.5]):
            for size in (200, 64, 5):
                x, y = RNG.uniform(0.5, 2, (2, size)).astype(dtype)
                with np.errstate(over="ignore"):
                    (x, y)[k % 2][k % size] = value
                got, wanted = seen(converted, (x, y)), seen(of_both, (x, y))
                assert got.warned == wanted.warned, (value, size)
                with np.errstate(all="ignore"):
                    near = 40 * np.finfo(dtype).eps
                    np.testing.assert_allclose(converted(x, y), of_both(x, y), rtol=near, atol=near)
        assert converted.traces[-1].concrete.executor == "native"


def rests(x, y):
    return np.fmod(x, y), x % y, x // y


@pytest.mark.parametrize("dtype", accuracy.DTYPES)
def test_rests_and_whole_quotients_are_numpys(dtype: Any) -> None:
    few = np.array([0.1, 0.3, 1, 3, 7, -0.1, -3])
    y = RNG.choice(few, 500).astype(dtype)
    whole = RNG.integers(-1000, 1000, 500).astype(dtype)
    wild = 10.0 ** RNG.uniform(-30, 30, (2, 500)) * RNG.choice([-1, 1], (2, 500))
    beside = np.nextafter(whole * y, RNG.choice([-np.inf, np.inf], 500).astype(dtype))
    calls = [
        (whole * y, y),
        (beside, y),
        (RNG.uniform(-10, 10, 500).astype(dtype), y),
        tuple(wild.astype(dtype)),
    ]
    for k, value in enumerate(SPECIAL):
        with np.errstate(over="ignore"):
            x, z = RNG.uniform(0.5, 9, (2, 70)).astype(dtype)
            (x, z)[k % 2][k] = value
        calls.append((x, z))
    both(rests, calls, under="ignore")
    both(lambda x: (x % 2.0, x // 0.1, x % -3.0), [(x,) for x, _ in calls], under="ignore")


def total(x):
    return (
        np.sum(x),
        x.mean(),
        np.max(x),
        x.min(),
        np.prod(x),
        np.any(x > 0),
        np.all(x),
        x.var(),
        np.std(x, ddof=1),
    )


def rows(x):
    return (
        np.sum(x, axis=1), x.mean(axis=-1), np.max(x, axis=1, keepdims=True), x.min(1), np.prod(x, axis=1),
        np.any(x, axis=1), np.all(x, axis=1, keepdims=True), np.var(x, axis=1), x.std(axis=1, keepdims=True),
    )  # fmt: skip


def columns(x):
    return (
        np.sum(x, axis=0), x.mean(axis=0), np.max(x, axis=0, keepdims=True), x.min(0), np.prod(x, axis=0),
        np.any(x, axis=0), np.all(x, axis=0, keepdims=True), np.var(x, axis=0), x.std(axis=0, keepdims=True),
    )  # fmt: skip


def products(x):
    return np.sum(x * x + 1), (x - 1).max(), np.mean(np.abs(x), axis=-1), np.sum(x[1:] * 2, axis=0)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1"])
def test_reductions(dtype: str) -> None:
    def make(*shape: int) -> Any:
        return (
            (RNG.standard_normal(shape) * 3).astype(dtype)
            if dtype[0] == "f"
            else RNG.integers(0, 9, shape).astype(dtype)
        )

    exact = dtype[0] == "f" or dtype != "i8"
    shapes = turned(((3, 7), (5, 129), (2, 1000), (4, 2), (9, 16)), "f8 f4 i8 i4 u1".split().index(dtype))
    for function in (rows, columns, products):
        calls = [(make(*shape),) for shape in shapes]
        both(function, calls, lowered=exact and function is not products)
    both(total, [(make(size),) for size in turned(SIZES[2:], shapes[0][0])], lowered=exact)


def signs(x):
    return x.max(axis=1), x.min(axis=1), x.sum(axis=1), np.max(x), np.sum(x, axis=0)


def test_zeros_and_nan_in_reductions() -> None:
    rows = RNG.choice(np.array([0.0, -0.0]), (6, 40))
    other = RNG.standard_normal((6, 40))
    other[2, 3] = np.nan
    both(signs, [(rows,), (-np.zeros((6, 40)),), (other,)])


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def standardised(x):
    c = x - np.mean(x, axis=1, keepdims=True)
    z = c / np.sqrt(np.mean(c * c, axis=1, keepdims=True) + 1)
    return np.maximum(z, 0) * np.max(z, axis=1, keepdims=True), z.sum()


@pytest.mark.parametrize("function", [softmax, standardised])
def test_lines_are_kept_for_several_uses(function: Any) -> None:
    for first, dtype in ((1, "f8"), (2, "f4")):
        shapes = turned(((4, 5), (3, 129), (2, 5000), (1, 1), (0, 3), (3, 16)), first)
        both(function, [(RNG.standard_normal(shape).astype(dtype),) for shape in shapes])
    both(
        function,
        [(RNG.standard_normal((3, 4)),), (RNG.standard_normal((5, 6)),), (RNG.standard_normal((2, 6)),)],
    )


def heat(u):
    for _ in range(3):
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
    return u


def smooth(u):
    u[1:-1] = (u[2:] + u[1:-1] + u[:-2]) / 3
    u[3:] = u[:-3] * 2
    u[:-5] += u[5:]
    return u


def planes(u):
    u[1:-1, 1:-1, 1:-1] = u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] - u[2:, :-2, 2:]
    return u


def test_overlapping_windows() -> None:
    both(
        heat, [(RNG.random((9, 12)),), (RNG.random((40, 33)),), (RNG.random((2, 2)),), (RNG.random((3, 3)),)]
    )
    both(smooth, [(RNG.random(n),) for n in (6, 40, 1023, 1024, 1030, 2048, 3000, 5000)])
    both(planes, [(RNG.random((5, 6, 7)),)])
    both(planes, [(RNG.random((3, 4, 3)),)])


def mixed(a, b):
    a += b
    return a * 2, a.astype(np.float64), (b > a), np.clip(a, 1, 5), np.where(a > 2, a, b), a**3


@pytest.mark.parametrize("pair", ["f4 f8", "i4 i8", "i8 i4", "u1 u4", "f8 i4", "i8 u2", "f4 i2"])
def test_dtypes_meet(pair: str) -> None:
    first, second = pair.split()
    calls = [((RNG.random(n) * 9).astype(first), (RNG.random(n) * 9 + 1).astype(second)) for n in SIZES]
    both(mixed, calls, lowered=False)


def divided(a, b):
    return a // b, a % b, a << b, a >> b


def test_integer_division_and_shifts() -> None:
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u8"):
        kind = np.dtype(dtype)
        low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        a = np.array([low, high, -7 if low else 7, 7, 0, 5] * 5, kind)
        b = np.array([3, 2, 2, -1 if low else 1, 9, 64] * 5, kind)
        both(divided, [(a, b), (b, a)])
        both(divided, [(a, b), (b, a)], all="ignore")


def floor(a, b):
    return (
        a // b,
        a % b,
        np.maximum(a, b),
        np.copysign(a, b),
        np.sign(a),
        np.arctan2(a, b),
        np.power(np.abs(a), b),
    )


def test_special_floats() -> None:
    for dtype in ("f8", "f4"):
        with np.errstate(all="ignore"):
            a, b = (RNG.choice(SPECIAL, 200).astype(dtype) for _ in range(2))
        for errors in ("warn", "ignore"):
            both(floor, [(a, b)], all=errors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both(floor, [(SPECIAL[::-1], SPECIAL)], all="ignore", lowered=False)


def places(x):
    return np.argmax(x), np.argmin(x), x.argmax(axis=1), np.argmin(x, axis=-1), np.argmax(x > 1, axis=1)


def lengths(x):
    return (
        np.linalg.norm(x, axis=1),
        x / np.linalg.norm(x, axis=1, keepdims=True),
        np.linalg.norm(x * 2, axis=0),
    )


def test_places_of_extremes_and_lengths() -> None:
    for first, dtype in enumerate(("f8", "f4", "i8", "i2", "u1")):
        calls = []
        for shape in turned(((3, 4), (5, 64), (2, 129), (1, 1)), first):
            x = (RNG.integers(-3, 3, shape) if dtype[0] != "u" else RNG.integers(0, 9, shape)).astype(dtype)
            calls += [(x,), (x[:, ::-1].copy(),)]
        both(places, calls)
    x = RNG.standard_normal((4, 70))
    x[1, 66] = x[2, 3] = x[2, 30] = np.nan
    both(places, [(x,), (np.zeros((2, 20)),), (np.full((2, 20), np.nan),), (np.full((3, 20), -np.inf),)])
    both(lengths, [(RNG.standard_normal(shape),) for shape in ((5, 300), (3, 4), (2, 5000))])


def sums(a, b, i):
    return (a * b).sum(), np.sum(a - b), (i > 3).sum(), np.any(a > 9), np.max(i * 2), np.mean(a * a, axis=-1)


def test_long_lines_are_added_up_as_they_are_computed() -> None:
    for first, dtype in ((0, "f8"), (2, "f4")):
        calls = []
        for n in turned((2049, 4096, 5000, 100_001), first):
            a, b = (RNG.standard_normal(n).astype(dtype) for _ in range(2))
            calls += [
                (a, b, RNG.integers(0, 9, n)),
                (a[:-3], b[:-3], RNG.integers(0, 9, n)),
                (a[1:6], b[1:6], RNG.integers(0, 9, 5)),
            ]
        both(sums, calls)


def several(x, y):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (
        e / e.sum(axis=1, keepdims=True),
        np.tanh(x) + np.log(y),
        (x * y).sum(),
        np.argmax(x, axis=1),
        x > y,
    )


@pytest.mark.parametrize("have", [{"avx2", "fma"}, set()], ids=["avx2", "plain"])
def test_narrower_processors(have: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "flags", lambda: frozenset(have))
    host.vector_bytes.cache_clear()
    vector_math.possible.cache_clear()
    try:
        assert host.vector_bytes() == (32 if have else 16)
        for dtype in ("f8", "f4"):
            x, y = (RNG.random((5, n)).astype(dtype) + 1 for n in (37, 37))
            both(several, [(x, y)])
            both(total, [(x[0].copy(),)])
            if have:
                assert accuracy.measured("exp", np.dtype(dtype).type, 500)[0] <= 4
        both(heat, [(RNG.random((40, 70)),)])
    finally:
        host.vector_bytes.cache_clear()
        vector_math.possible.cache_clear()


def put_back(x):
    e = np.exp(x - x.max(axis=1)[:, None])
    z = e / np.sum(e, axis=-1).reshape(-1, 1)
    return z * np.expand_dims(z.mean(axis=1), 1), x.min(axis=1)[..., None]


def read_twice(x):
    m = x.max(axis=1)
    return x - m[:, None], m, x.sum(axis=0)[None, :] + x


def test_axes_taken_away_and_put_back() -> None:
    for dtype in ("f8", "f4", "i4"):
        calls = [((RNG.standard_normal(shape) * 9).astype(dtype),) for shape in ((4, 130), (3, 5), (1, 1))]
        for function in (put_back, read_twice):
            both(function, calls)
    both(put_back, [(RNG.random((3, 5)),), (RNG.random((4, 6)),), (RNG.random((4, 7)),)])


def once(x):
    return np.tanh(x), np.exp(x)


def often(x):
    a, b, c = np.tanh(x), np.tanh(x + 1), np.tanh(x + 2)
    e, f = np.exp(x), np.exp(x - 1) + np.exp(x - 2) + np.exp(x - 3) + np.exp(x - 4)
    return a, e, b + c + np.tanh(x + 3) + np.tanh(x + 4), f


def test_a_function_called_often_is_written_once() -> None:
    with settings.override(executor="native", compile="now", math="fast"):
        few, many = ag.function(once), ag.function(often)
        for dtype in ("f8", "f4"):
            for x in (RNG.standard_normal(37) * 3, SPECIAL[:7], np.array([800.0, 1.0, np.nan])):
                x = x.astype(dtype)
                got = seen(many, (x,))
                assert got.result[1][:2] == seen(few, (x,)).result[1]
                assert got.warned == seen(often, (x,)).warned
        text, function = many.traces[0].concrete.native_ir, f"@tanh_{host.vector_bytes() // 8}xdouble("
        assert sum("define" in line for line in text.splitlines() if function in line) == 1
        assert "@tanh_" not in few.traces[0].concrete.native_ir
