"""Ours against plain NumPy (and Numba where it is installed), side by side in one run; ratios are printed.

    python -m benchmarks.run [--quick] [--only W02,W19] [--json FILE]

In: workloads.  Out: a table: times faster than the plain function.  What always holds: a result is compared
with the plain function's, bit by bit for ours, before anything is timed; sides take turns, the best round
counts, and only ratios made in one run mean anything: machines are shared.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import autograph as ag
from benchmarks.workloads import WORKLOADS, Workload
from runtime.config import settings

ROUNDS, BUDGET = 5, 0.15  # rounds per side, seconds per round


def bits(x: Any) -> Any:
    """A value as plain data that compares bit by bit."""
    return type(x).__name__, np.asarray(x).dtype.str, np.asarray(x).tobytes()


def once(call: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    call(*args)
    return time.perf_counter() - start


def per_call(call: Callable[..., Any], workload: Workload, args: tuple[Any, ...]) -> float:
    """Seconds per call, over as many calls as fit in the budget; copies are not counted."""
    spent, calls = 0.0, 0
    if workload.writes:
        while spent < BUDGET and calls < 200:
            spent += once(call, copy.deepcopy(args))
            calls += 1
        return spent / calls
    number = max(1, min(100_000, int(BUDGET / max(once(call, args), 1e-7))))
    start = time.perf_counter()
    for _ in range(number):
        call(*args)
    return (time.perf_counter() - start) / number


def sides(workload: Workload) -> dict[str, Callable[..., Any]]:
    """What can run the workload, by name."""
    plain = workload.function
    found: dict[str, Callable[..., Any]] = {"plain": plain, "ours": ag.function(plain)}
    try:
        numba = importlib.import_module("numba")
    except ImportError:
        return found
    if workload.numba:
        found["numba"] = numba.njit(plain)
    return found


def measure(workload: Workload, quick: bool) -> dict[str, Any]:
    """Check, then time; a row of the table."""
    args = workload.inputs(quick)
    running = sides(workload)
    wanted = running["plain"](*copy.deepcopy(args))
    row: dict[str, Any] = {"name": workload.name, "title": workload.title}
    for name, call in list(running.items()):
        given = copy.deepcopy(args)
        start = time.perf_counter()
        found = call(*given)
        row[f"{name} first call"] = time.perf_counter() - start
        if name == "ours" and bits(found) != bits(wanted):
            raise SystemExit(f"{workload.name}: our result differs: {found!r}, plain {wanted!r}")
        if name != "ours" and not np.allclose(found, wanted, rtol=1e-9, equal_nan=True):
            raise SystemExit(f"{workload.name}: {name} differs: {found!r}, plain {wanted!r}")
    best = dict.fromkeys(running, float("inf"))
    for _ in range(2 if quick else ROUNDS):
        for name, call in running.items():
            best[name] = min(best[name], per_call(call, workload, args))
    row.update({f"{name} seconds": seconds for name, seconds in best.items()})
    row.update({f"{name} ratio": best["plain"] / seconds for name, seconds in best.items()})
    traces = getattr(running["ours"], "traces", ())
    concrete = traces[-1].concrete if traces else None
    row["executor"] = concrete.executor if concrete is not None else "python"
    row["why not native"] = concrete.not_native if concrete is not None else ""
    return row


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small inputs, two rounds")
    parser.add_argument("--only", default="", help="names of workloads, separated by commas")
    parser.add_argument("--json", default="", help="write the rows to this file as well")
    options = parser.parse_args()
    settings.executor = "auto"
    chosen = set(filter(None, options.only.split(",")))
    rows = []
    print(f"{'':5} {'workload':40} {'plain':>10} {'ours':>8} {'numba':>8} {'first':>8}  executor")
    for workload in WORKLOADS:
        if chosen and workload.name not in chosen:
            continue
        row = measure(workload, options.quick)
        rows.append(row)
        numba = f"{row['numba ratio']:.1f}x" if "numba ratio" in row else "-"
        print(
            f"{row['name']:5} {row['title']:40} {row['plain seconds'] * 1e6:8.1f}us "
            f"{row['ours ratio']:7.1f}x {numba:>8} "
            f"{row['ours first call'] * 1e3:6.0f}ms  {row['executor']}"
        )
    if options.json:
        with open(options.json, "w") as out:
            json.dump(rows, out, indent=1)


if __name__ == "__main__":
    main()
