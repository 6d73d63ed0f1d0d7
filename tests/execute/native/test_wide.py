"""Python integers of 64 bits without a sign: what hashes and random generators mask their numbers to."""

from __future__ import annotations

import linecache
import math
import random
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")

M = 0xFFFFFFFFFFFFFFFF


def congruential(n, seed):  # type: ignore[no-untyped-def]
    x, total = seed, 0
    for _ in range(n):
        x = (x * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        total += x >> 60
    return x, total


def xorshift(n, seed):  # type: ignore[no-untyped-def]
    x, total = seed, 0.0
    for _ in range(n):
        x ^= (x << 13) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0xFFFFFFFFFFFFFFFF
        total += (x >> 11) / 9007199254740992.0
    return x, total


def splitmix(n, seed):  # type: ignore[no-untyped-def]
    state, found = seed, 0
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        z = z ^ (z >> 31)
        found += z % 6
    return state, z if n else -1, found


def fnv(n, seed):  # type: ignore[no-untyped-def]
    h = 14695981039346656037
    for k in range(n):
        h = ((h ^ ((k + seed) & 255)) * 1099511628211) & M
    return h, h // 3, h % 1000, h > 2**63, h == seed, h * 0.5, float(h), -h, ~h, h + 1, h - seed


def rotated(n, seed):  # type: ignore[no-untyped-def]
    a, b, kept = seed & M, 7, np.zeros(8, dtype=np.uint64)
    for k in range(n):
        a, b = ((a << 5) | (a >> 59)) & M, (a + b) & M
        kept[k & 7] = a ^ b
        if a < b:
            b = b - a
        elif b:
            a = a % b
    return a, b, kept, min(a, b), max(a, seed)


def tables(n, seed):  # type: ignore[no-untyped-def]
    x, bins = seed % 2**63, np.zeros(16, dtype=np.int64)
    for _ in range(n):
        x = (x * 2862933555777941757 + 3037000493) & M
        bins[x >> 60] += 1
        bins[x % 16] += 1
    return bins, int(x), bool(x)


PROGRAMS = [congruential, xorshift, splitmix, fnv, rotated, tables]
SEEDS = [1, 12345, 0, -1, -77, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**64, 2**70]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_hashes_and_generators(program: Any) -> None:
    both(program, [(n, seed) for seed in SEEDS for n in (9, 0, 1, 40)], lowered=False)


@pytest.mark.parametrize("program", [congruential, xorshift, splitmix, tables], ids=lambda f: f.__name__)
def test_they_are_native(program: Any) -> None:
    with settings.override(executor="native", compile="now"):
        f = ag.function(program)
        wanted = program(2000, 12345)
        for _ in range(3):
            got = f(2000, 12345)
        assert all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))
        concrete = f.traces[-1].concrete
    assert concrete is not None and concrete.executor == "native" and concrete.native.bails == 0


OPERATORS = ("+", "-", "*", "+", "*", "&", "|", "^", "//", "%", "<<", ">>", "/", "<", "==", ">=")
NUMBERS = (
    "0",
    "1",
    "3",
    "-1",
    "-5",
    "255",
    "2**32",
    "2**53 + 1",
    "2**63 - 1",
    "2**63",
    "2**64 - 1",
    "6364136223846793005",
)


def term(r: random.Random, depth: int) -> str:
    if depth == 0 or r.random() < 0.2:
        return r.choice(("x", "y", "x", "k", r.choice(NUMBERS)))
    op = r.choice(OPERATORS)
    right = str(r.randrange(64)) if op in ("<<", ">>") else term(r, depth - 1)
    if op in ("//", "%") and r.random() < 0.9:
        right = f"({right} | 1)"
    text = f"({term(r, depth - 1)} {op} {right})"
    return f"({text} & M)" if op in ("+", "-", "*", "<<") and r.random() < 0.95 else text


def masked(r: random.Random) -> str:
    """A term that is an integer of at most 64 bits, mostly."""
    while True:
        text = term(r, 3)
        if " / " not in text:
            return f"{text} & M" if r.random() < 0.9 else text


@pytest.mark.parametrize("seed", range(60))
def test_random_terms(seed: int) -> None:
    r = random.Random(seed)
    lines = ["def f(x, y, n):", "    found, k = 0, 0", "    for k in range(n):"]
    for _ in range(r.randrange(1, 4)):
        lines.append(f"        {r.choice('xy')} = {masked(r)}")
    lines += [
        f"        if {masked(r)} {r.choice(('<', '>', '==', '!='))} {masked(r)}:",
        "            found += 1",
    ]
    lines.append(f"    return x, y, found, {term(r, 2)}, {masked(r)}")
    text = "\n".join(lines) + "\n"
    names: dict[str, Any] = {"M": M, "math": math}
    name = f"<wide {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), names)
    calls = [
        (a, b, n) for a, b in ((3, 5), (0, 1), (2**62, 2**63 - 1), (-7, 9), (2**64 - 1, 1)) for n in (3, 1, 0)
    ]
    both(names["f"], calls, lowered=False)
