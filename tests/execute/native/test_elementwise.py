"""Arithmetic on whole arrays: native code against NumPy, with slices that overlap, writes in loops."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import pathlib
import random
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from runtime.function.concrete import MISTAKE
from tests.execute.native.harness import both, seen

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
RNG = np.random.default_rng(5)
SLICES = ("[1:-1]", "[2:]", "[:-2]")
FUNCTIONS = (
    "np.exp",
    "np.sin",
    "np.sqrt",
    "np.abs",
    "-",
    "np.floor",
    "np.maximum",
    "np.negative",
    "abs",
    "np.tanh",
)


def expression(rng: random.Random, depth: int, cut: bool, names: list[str]) -> str:
    """An expression of arrays; cut: two elements shorter than the variables."""
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.2:
            return rng.choice(["2", "0.5", "s", "-1.5", "n"])
        return rng.choice(names) + (rng.choice(SLICES) if cut else rng.choice(["", "", "[:]", "[::-1]"]))
    if rng.random() < 0.2:
        f = rng.choice(FUNCTIONS)
        args = [expression(rng, depth - 1, cut, names) for _ in range(2 if f == "np.maximum" else 1)]
        return f"{f}({', '.join(args)})"
    if rng.random() < 0.08:
        return f"({rng.choice(names)}{'[1:-1]' if cut else ''}) ** 2"
    left, right = (expression(rng, depth - 1, cut, names) for _ in range(2))
    return f"({left} {rng.choice('+-*+-*/')} {right})"


def program(seed: int) -> str:
    """A module that defines `program(x, y, z, s, n)`."""
    rng = random.Random(seed)
    names, lines = ["x", "y", "z"], []

    def statement(depth: int) -> None:
        indent, kind = "    " * depth, rng.random()
        if kind < 0.3:
            name = rng.choice(["t", "u"]) if depth == 1 else rng.choice(names)
            value = expression(rng, 3, False, names)
            new = f"{name} = {rng.choice(names)} + {value}"
            lines.append(indent + (new if depth == 1 else f"{name}[:] = {value}"))
            if depth == 1 and name not in names:
                names.append(name)
        elif kind < 0.5:
            lines.append(
                f"{indent}{rng.choice(names)} {rng.choice('+-*')}= {expression(rng, 2, False, names)}"
            )
        elif kind < 0.8:
            op = rng.choice(["", "+", "-", "*"])
            lines.append(
                f"{indent}{rng.choice(names)}{rng.choice(SLICES)} {op}= {expression(rng, 2, True, names)}"
            )
        elif depth == 1:
            lines.append(f"{indent}for i in range({rng.choice(['3', '20', 'n'])}):")
            for _ in range(rng.randint(1, 3)):
                statement(depth + 1)
        else:
            lines.append(f"{indent}s = s + {rng.choice(names)}[{rng.choice(['0', 'i % 3', '-1'])}]")

    for _ in range(rng.randint(2, 5)):
        statement(1)
    lines.append(f"    return {', '.join(names)}, s, {rng.choice(names)} > 0.5")
    return "import numpy as np\n\n\ndef program(x, y, z, s, n):\n" + "\n".join(lines) + "\n"


def calls(seed: int) -> list[tuple[Any, ...]]:
    """Arguments: the same dtypes each time; in the last one the arrays overlap."""
    rng = np.random.default_rng(seed)
    dtype = rng.choice(["f8", "f8", "f4", "i8", "i4"])
    size = int(rng.integers(4, 30))
    base = (rng.random(3 * size + 2) * 4).astype(dtype)
    x, y, z = (base[k * size : (k + 1) * size].copy() for k in range(3))
    s, n = np.float64(0.25), np.int64(3)
    shifted = (base[1 : size + 1], base[:size], base[2 : size + 2])
    return [(x, y, z, s, n), (z, x, y, s, n), (*shifted, s, n), (x, x, x, s, n)]


def check(seed: int, folder: pathlib.Path, **errors: Any) -> tuple[int, list[str]]:
    """Compare one program; (calls done by native code, why others are not)."""
    text = program(seed)
    found = []
    for name in ("plain", "converted"):
        path = folder / f"{name}{seed}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.append(module.program)
    with settings.override(executor="native", compile="now"):
        converted = ag.function(found[1])
        for args in calls(seed):
            wanted, got = seen(found[0], args, **errors), seen(converted, args, **errors)
            assert got == wanted, f"seed {seed}, {args}\n{text}\nnative {got}\nplain {wanted}"
        traced = [r.concrete for r in converted.traces if r.concrete is not None]
        assert not any(MISTAKE in c.not_native or "LLVM" in c.not_native for c in traced), traced[
            0
        ].not_native
        return sum(c.native.calls - c.native.bails for c in traced if c.native), [
            c.not_native for c in traced
        ]


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_programs(first: int, tmp_path: pathlib.Path) -> None:
    done = [check(seed, tmp_path)[0] for seed in range(first, first + 10)]
    assert sum(done) > 0


def outer(x, y):
    return x[:, None] * y - x[:, None], x / y


def stencil(u, steps):
    for _ in range(steps):
        inner = u[1:-1, 1:-1]
        inner += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * inner)
    return u


def test_broadcasting() -> None:
    both(
        outer,
        [(RNG.random(5), RNG.random(5)), (RNG.random(7), RNG.random(7)), (RNG.random(7), RNG.random(1))],
    )


def test_lines_read_backwards() -> None:
    def bits(x, y):  # type: ignore[no-untyped-def]
        return np.cbrt(x) + 1, np.arctan2(x, y) * 2, np.sinh(y) * x

    for dtype in (np.float64, np.float32):
        x = RNG.normal(size=(6, 40)).astype(dtype)
        calls = [(x[:, ::-1], x), (x, x[:, ::-1]), (x[:, ::-2], x[0, ::-2]), (x[::-1, ::2], x[:, 1::2])]
        with settings.override(math="exact"):
            for one, other in calls:
                both(bits, [(one, other), (one[0], other[-1])], lowered=False)


def filled_by_one(x: Any, one: Any) -> Any:
    x[:] = one
    return x * 2


def test_an_array_without_axes_fills_lines() -> None:
    both(filled_by_one, [(np.arange(float(n)), np.array(3.5)) for n in (0, 1, 40, 100)], lowered=False)


def test_stencils() -> None:
    grid, steps = RNG.random((9, 12)), np.int64(20)
    both(stencil, [(grid, steps), (RNG.random((2, 2)), steps), (grid.T, steps)])


ODD_CLIP = not np.signbit(np.clip(np.full(3, -0.0), 0.0, 0.0)).any()  # NumPy 2.0 takes the bound then


def test_clip_between_equal_zeros() -> None:
    """Which zero it is depends on whether the bounds are arrays: for arrays of one element, too."""

    def clipped(x, low, high):  # type: ignore[no-untyped-def]
        return np.clip(x, low, high)

    zeros = (0.0, -0.0)
    for shape in ((1,), (1, 1), (3,), (2, 1)):
        arrays = [[np.full(shape, value) for value in zeros]] * 3
        both(clipped, list(itertools.product(*arrays)))
        if not ODD_CLIP:
            both(clipped, list(itertools.product(arrays[0], zeros, zeros)))


CHOSEN = (
    lambda x: 2.0 / (x > 3.0),
    lambda x: 1.0 / np.where(x > 3.0, 0.0, 1.0),
    lambda x: 1.0 / np.sign(x),
    lambda x: np.reciprocal(np.where(x > 3.0, 0.0, 1.0)) + x,
)


@pytest.mark.parametrize("size", [1, 3, 8, 21])
@pytest.mark.parametrize("function", CHOSEN)
def test_divisions_by_one_of_two_constants(function: Any, size: int) -> None:
    both(function, [(np.arange(float(size)),), (np.arange(5.0, size + 5.0),)], lowered=False)


PICKED = (
    lambda x, y: np.where(x > 0, y / x, 0),
    lambda x, y: np.where(x > 0, 1, np.sqrt(y)),
    lambda x, y: np.where(True, x, y / x),
    lambda x, y: np.where(x > 0, 0, (y * 1e30).astype(np.int64)) + 1,
    lambda x, y: np.where(x > 0, 0, (y * 1e30).astype(np.int32)).astype(np.int8) + 1,
    lambda x, y: np.where(x > 0, (y / x).astype(np.float32), x.astype(np.float32)) * 2,
)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 21, 64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", PICKED)
def test_where_warns_of_what_is_not_picked(function: Any, dtype: Any, size: int) -> None:
    """Both sides are computed everywhere, as processors with masks would not."""
    x, y = np.ones(size, dtype), np.full(size, -1, dtype)
    x[::2] = 0
    both(function, [(x, y)], lowered=False)


@pytest.mark.parametrize("dtype", ["u1", "i8", "f4", "f8"])
def test_clip_with_one_bound(dtype: str) -> None:
    x = np.array([0, 3, 250, 7, 9]).astype(dtype)
    x[:1] = np.nan if x.dtype.kind == "f" else 1
    for bound in (5, 0, 255, 2.5, np.float32(4), np.arange(5)):
        both(lambda x, b: (np.clip(x, b, None), x.clip(None, b)), [(x, bound)])
    both(lambda x: (np.clip(x, 5, None), np.clip(x, None, 200), np.clip(x, 0, None)), [(x,)], lowered=False)
    both(lambda x: (np.clip(x, -1, None), np.clip(x, None, 999)), [(x,)], lowered=False)
    if "min" in inspect.signature(np.clip).parameters:
        both(lambda x: (np.clip(x, min=5), np.clip(x, max=7), x.clip(min=2, max=8)), [(x,)])


@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "f4"])
@pytest.mark.parametrize("low", ["i8", "f8", "u1"])
@pytest.mark.parametrize("high", [5, 255, 300, 2**15 - 1, 2.5, np.uint8(255)])
def test_clip_with_an_upper_bound_that_none_is_above(dtype: str, low: str, high: Any) -> None:
    """NumPy leaves such a bound out, and what the lower one made larger stays."""
    r = np.random.default_rng(3)
    x, lows = r.integers(0, 120, (3, 20)).astype(dtype), (r.random((3, 20)) * 1000).astype(low)
    both(lambda x, low: np.clip(x, low, high), [(x, lows)], lowered=False)
    both(lambda x, low, high: np.clip(x, low, high), [(x, lows, high), (x, lows[0, 0], high)], lowered=False)
