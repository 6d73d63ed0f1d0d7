"""Small arrays in loops, whose elements are numbers of their own: as plain NumPy, identity included."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native import small_arrays
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
X, Y = np.array([1.0, -2.0, 0.5]), np.array([0.25, 3.0, -1.5])
M = np.array([[1.0, 0.5], [-0.25, 2.0]])


def lorenz(x: Any, n: Any) -> Any:
    def f(x: Any) -> Any:
        return np.array([10.0 * (x[1] - x[0]), x[0] * (28.0 - x[2]) - x[1], x[0] * x[1] - 8.0 / 3.0 * x[2]])

    for _ in range(40):
        a = f(x)
        b = f(x + 0.005 * a)
        x = x + 0.01 / 6.0 * (a + 2.0 * b) * n
    return x


def orbit(n: Any) -> Any:
    p, v = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    k = 0
    while k < n:
        r = (p * p).sum()
        v = v - 0.01 * p / (r * np.sqrt(r))
        p = p + 0.01 * v
        k += 1
    return p


def branches(x: Any, y: Any) -> Any:
    for k in range(30):
        if x[0] > y[1]:
            x = y - x * 0.5
        elif k % 3 == 0:
            y = -y / 3
        else:
            x = x + y[2] * k
    return x * 1.0


def nested(x: Any, y: Any) -> Any:
    for _ in range(20):
        k = 0
        while x[0] < 20 and k < 5:
            x = x + y
            y = y * 1.25
            k += 1
        x = x * 0.5
    return x


def trajectory(x: Any, n: Any) -> Any:
    out = np.zeros((20, 3))
    for k in range(20):
        x = x * 0.9 + n
        out[k] = x
        out[k, 1] = x[0]
    return out


def matrices(m: Any, x: Any) -> Any:
    for _ in range(20):
        m = m * 0.5 + m[::-1] * m[0, 1] - m[:, 0]
        x = x + m[1, 1] * m[0][1]
    return m


def swapped(x: Any, y: Any) -> Any:
    for _ in range(20):
        x, y = y, x + 1.0
    return x - y


def quotients(x: Any, y: Any) -> Any:
    for _ in range(20):
        x = x / y
    return x


def growing(x: Any, y: Any) -> Any:
    for _ in range(22):
        x = x * x * 0.5 - y
    return x


def in_tuple(x: Any, y: Any) -> Any:
    s = 0.0
    for k in range(20):
        x = x + k * y
        s += x[1]
    return s, (x + 1.0), k


Z, E = np.array([0.0, -0.0, 1.0]), np.array([1e300, np.inf, np.nan])
SPLIT: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (lorenz, [(X, 1.0), (Y, 2), (E, 0.5)]),
    (orbit, [(0,), (1,), (50,)]),
    (branches, [(X, Y), (Y, X), (E, X), (X, X)]),
    (trajectory, [(X, 1), (Y, 0.5)]),
    (matrices, [(M, 1.0), (M.T.copy(), -2.0)]),
    (swapped, [(X, Y), (X, X)]),
    (quotients, [(X, Y), (X, Z), (Z, Z), (X, E)]),
    (growing, [(X, Y), (X * 1e30, Y), (E, Z)]),
    (in_tuple, [(X, Y), (Y, Z)]),
]


@pytest.mark.parametrize("f,calls", SPLIT, ids=lambda x: getattr(x, "__name__", None))
@pytest.mark.parametrize("errors", [{}, {"all": "raise"}, {"all": "ignore"}], ids=str)
def test_elements_as_numbers(
    f: Callable[..., Any], calls: list[tuple[Any, ...]], errors: dict[str, str], monkeypatch: Any
) -> None:
    done = []
    inner = small_arrays.split

    def split(graph: Any) -> Any:
        made = inner(graph)
        done.append(made is not graph)
        return made

    monkeypatch.setattr(small_arrays, "split", split)
    both(f, calls, **errors)
    assert any(done)


def kept_first(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x + 1.0
    return x


def maybe_changed(x: Any, c: Any) -> Any:
    for _ in range(19):
        if c > 0:
            x = x * 2.0
    return x


def inner_never(x: Any, c: Any) -> Any:
    for _ in range(19):
        while c > 0:
            x = x + 1.0
            c -= 1
    return x


def two_names(x: Any, n: Any) -> Any:
    y = x * 1.0
    for _ in range(19):
        y = x
        x = x + n
    return x, y


def same_twice(x: Any, n: Any) -> Any:
    y = x
    for _ in range(19):
        x = x + n
        y = x
    return x, y


def written(x: Any, n: Any) -> Any:
    y = x + 0.0
    for k in range(21):
        y[k % 3] = n
        x = x + y
    return x


def viewed(x: Any, n: Any) -> Any:
    out = np.zeros((20, 3))
    row = out[1]
    for k in range(20):
        out[k] = x
        x = x + row * n
    return x


def in_place(x: Any, n: Any) -> Any:
    y = x
    for _ in range(19):
        x += n
    return y


def listed(x: Any, n: Any) -> Any:
    found = []
    for _ in range(19):
        x = x + n
        found.append(x)
    return found


def part_of_before(x: Any, n: Any) -> Any:
    a = b = x
    for _ in range(n):
        a, b = b, a
    return a[1:]


def part_of_before_or_new(x: Any, n: Any) -> Any:
    y = x
    for _ in range(20):
        x, y = y, x[:] if n > 0 else x[:] * 1.0
    return y


def row_of_before(x: Any, n: Any) -> Any:
    m = k = x.reshape(1, 3)
    for _ in range(20):
        m, k = k, m
    return (m * n)[0] if n > 5 else m[0]


@pytest.mark.parametrize(
    "f",
    [
        part_of_before,
        part_of_before_or_new,
        row_of_before,
        kept_first,
        maybe_changed,
        inner_never,
        two_names,
        same_twice,
        written,
        viewed,
        in_place,
        listed,
        nested,
    ],
)
def test_arrays_that_must_stay_arrays(f: Callable[..., Any]) -> None:
    calls = [(X, 2), (X, 0), (Y, -1)] if f is not nested else [(X, Y), (X + 50, Y)]
    both(f, calls, lowered=False)
    with settings.override(executor="native", compile="now"):
        converted = ag.function(f)
        for first, second in calls:
            for function in (f, converted):
                x = np.array(first)
                result = function(x, second)
                parts = result if isinstance(result, (tuple, list)) else (result,)
                seen = [[a is b for b in (*parts, x)] for a in parts]
                shared = [[np.shares_memory(a, b) for b in (*parts, x)] for a in parts]
                if function is f:
                    expected = seen, shared
            assert (seen, shared) == expected


class Maker:
    """Writes functions of two arrays of three numbers."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)

    def vector(self, depth: int) -> str:
        pick = self.pick
        if depth == 0:
            return pick.choice(["x", "y", "v", "w"])
        a, b, s = self.vector(depth - 1), self.vector(depth - 1), self.number(depth - 1)
        return pick.choice([
            f"({a} {pick.choice('+-*')} {b})", f"({a} {pick.choice('+-*')} {s})", f"({s} * {a})", f"(-{a})",
            f"({a} / (1.5 + {b} * {b}))", f"np.array([{s}, {self.number(0)}, {a}[0]])", f"{a}[::-1]",
        ])  # fmt: skip

    def number(self, depth: int) -> str:
        pick = self.pick
        if depth == 0:
            return pick.choice(
                ["s", "x[0]", "y[-1]", "v[1]", "w[2]", f"np.float64({pick.uniform(-2, 2):.2f})"]
            )
        return pick.choice([
            f"({self.number(depth - 1)} {pick.choice('+-*')} {self.number(depth - 1)})",
            f"{self.vector(depth - 1)}[{pick.randint(-3, 2)}]", f"{self.vector(depth - 1)}.sum()",
            f"np.sqrt(abs({self.number(depth - 1)}))",
        ])  # fmt: skip

    def block(self, pad: str, depth: int) -> list[str]:
        pick, out = self.pick, []
        for _ in range(pick.randint(1, 3)):
            kind = pick.random()
            if kind < 0.5 or depth == 0:
                out.append(f"{pad}{pick.choice('vwxy')} = {self.vector(2)} * 0.5")
            elif kind < 0.65:
                out.append(f"{pad}s = {self.number(2)} * 0.5")
            elif kind < 0.8:
                out += [f"{pad}if {self.number(1)} > {self.number(1)}:", *self.block(f"{pad}    ", depth - 1)]
                if pick.random() < 0.5:
                    out += [f"{pad}else:", *self.block(f"{pad}    ", depth - 1)]
            elif kind < 0.95:
                count = pick.choice(["20", "n", "n - 1"])
                out += [f"{pad}for k{depth} in range({count}):", *self.block(f"{pad}    ", depth - 1)]
            else:
                out.append(f"{pad}{pick.choice('vw')} = {pick.choice('xyvw')}")
        return out

    def program(self) -> str:
        body = ["    s, v, w = 0.25, x * 1.0, y", "    for k in range(18):", *self.block("        ", 2)]
        result = self.pick.choice(["v", "w", "x", "x + v", "(v + 1.0, s)", "s"])
        return "\n".join(["import numpy as np", "", "", "def f(x, y, n):", *body, f"    return {result}", ""])


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed: int, tmp_path: Any) -> None:
    path = tmp_path / f"small_program_{seed}.py"
    path.write_text(Maker(seed).program())

    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    both(module.f, [(X, Y, 3), (Y, X, 0), (X, X, 2), (Z, E, 1)], lowered=False, all="ignore")
