"""Many small programs, converted, plain, and compiled by numba from the same source.

    python -m benchmarks.beside_numba [--family loops,grids] [--only knapsack] [--below 1] [--plan]

In: nothing but the options.  Out: for each program the processor time of the plain call, how many times
faster ours and numba's (`njit`, `vectorize` for functions of one number) are, ours against numba's, the
seconds of both first calls, and what ours differs by, if it does.  What always holds: arguments are made anew
for each call, outside of what is timed; the sides take turns in one process; results are compared with the
plain function's first.  Without numba (`PEERS_ROOT` in docs/benchmarks.md) its columns stay empty.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import pathlib
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import autograph as ag
from benchmarks.peers import flat
from benchmarks.side import settled

FAMILIES = ("numbers", "loops", "grids", "arrays", "elements", "states", "tables")
BUDGET, LEAST, ROUNDS, SEED = 0.15, 3, 400, 7
Arguments = Callable[[], tuple[Any, ...]]


def by_numba(f: Callable[..., Any], family: str) -> Callable[..., Any] | None:
    """The function as numba compiles it, helpers of its module included; None without numba."""
    if importlib.util.find_spec("numba") is None:
        return None
    numba = importlib.import_module("numba")
    if family == "elements":
        compiled: Callable[..., Any] = numba.vectorize(f)
        return compiled
    for name in f.__code__.co_names:
        helper = f.__globals__.get(name)
        if isinstance(helper, types.FunctionType) and helper.__module__ == f.__module__:
            f.__globals__[name] = numba.njit(helper)
    compiled = numba.njit(f)
    return compiled


def first(call: Callable[..., Any], make: Arguments) -> tuple[Any, float]:
    """What the first call gives, and how long it took until what it compiles is there."""
    args = make()
    start = time.perf_counter()
    result = call(*args)
    settled()
    return result, time.perf_counter() - start


def once(call: Callable[..., Any], make: Arguments) -> float:
    """Processor seconds of one call on new arguments."""
    args = make()
    start = time.thread_time()
    call(*args)
    return time.thread_time() - start


def distance(expected: Any, got: Any) -> float:
    """The largest difference between two results, relative to the largest expected; 0: the same bits."""
    pairs = list(zip(flat(expected), flat(got), strict=True))
    if all(np.array_equal(a, b, equal_nan=True) for a, b in pairs):
        return 0.0
    return max(
        float(np.nanmax(np.abs(a - b)) / (np.nanmax(np.abs(a)) or 1.0)) for a, b in pairs if np.size(a)
    )


def measure(family: str, f: Callable[..., Any], build: Any) -> dict[str, Any]:
    """One row."""

    def make() -> tuple[Any, ...]:
        made: tuple[Any, ...] = build(np.random.default_rng(SEED))
        return made

    row: dict[str, Any] = {"family": family, "name": f.__name__}
    plain = np.vectorize(f) if family == "elements" else f
    expected = plain(*make())
    ours = ag.vectorize(f) if family == "elements" else ag.function(f)
    got, row["ours_first"] = first(ours, make)
    row["off"] = distance(expected, got)
    sides: dict[str, Callable[..., Any]] = {"plain": plain, "ours": ours}
    compiled = by_numba(f, family)
    if compiled is not None:
        try:
            got, row["numba_first"] = first(compiled, make)
            row["numba_off"] = distance(expected, got)
            sides["numba"] = compiled
        except Exception as error:  # numba refuses programs with errors of many classes
            row["numba_refuses"] = str(error).strip().splitlines()[0][:80]
    best = dict.fromkeys(sides, math.inf)
    spent, rounds = 0.0, 0
    for call in sides.values():
        call(*make())
    while rounds < LEAST or (spent < BUDGET and rounds < ROUNDS):
        for side, call in sides.items():
            if side == "plain" and rounds >= LEAST and best[side] > 0.02:
                continue
            took = once(call, make)
            best[side] = min(best[side], took)
            spent += took if side != "plain" else 0.0
        rounds += 1
    row["plain_ms"] = best["plain"] * 1e3
    row["ours"] = best["plain"] / best["ours"]
    if "numba" in sides:
        row["numba"] = best["plain"] / best["numba"]
        row["against"] = best["numba"] / best["ours"]
    return row


def line(row: dict[str, Any]) -> str:
    """A row as text."""

    def figure(key: str, form: str) -> str:
        return format(row[key], form) if key in row else "-"

    return (
        f"{row['family']:9}{row['name']:28}{figure('plain_ms', '.3g'):>9} ms{figure('ours', '.3g'):>9}"
        f"{figure('numba', '.3g'):>9}{figure('against', '.2f'):>8}{figure('ours_first', '.2f'):>8}"
        f"{figure('numba_first', '.2f'):>8}{figure('off', '.1g'):>8}"
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--family", default=",".join(FAMILIES), help="families, by comma")
    parser.add_argument("--only", default="", help="names of programs, by comma")
    parser.add_argument(
        "--below", type=float, help="show only programs where ours is below this against numba, or plain"
    )
    parser.add_argument("--plan", action="store_true", help="ours without native code")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to this file")
    options = parser.parse_args()
    ag.set_num_threads(1)
    ag.settings.executor = "numpy" if options.plan else "auto"
    warnings.simplefilter("ignore")
    only = set(filter(None, options.only.split(",")))
    print(
        f"{'':9}{'':28}{'plain':>12}{'ours':>9}{'numba':>9}{'ours/nb':>8}{'1st s':>8}{'nb 1st':>8}{'off':>8}"
    )
    rows = []
    for family in options.family.split(","):
        for f, build in importlib.import_module(f"benchmarks.kernels.{family}").KERNELS:
            if only and f.__name__ not in only:
                continue
            row = measure(family, f, build)
            rows.append(row)
            if options.below is None or min(row.get("against", 9e9), row["ours"]) < options.below:
                print(line(row), flush=True)
    logs = [math.log(row["against"]) for row in rows if "against" in row]
    if logs:
        mean = math.exp(sum(logs) / len(logs))
        print(f"geometric mean of ours against numba: {mean:.2f} over {len(logs)} programs")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
