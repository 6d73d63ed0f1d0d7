"""Ours, plain NumPy and the peers side by side in one run: ratios as a table, JSON and a plot.

    python -m benchmarks.run                         ours and plain NumPy, all workloads
    python -m benchmarks.run --quick                 the same in about a minute
    python -m benchmarks.run --sides all --rounds 3  with every peer that is installed
    python -m benchmarks.run --workloads W04,W07 --sides ours,numba,jax --json out.json --plot out.png

In: which sides and workloads.  Out: times faster than the plain function, for each side; then every side's
first call and memory at the peak.  What always holds: each figure comes from a process of its own; rounds
are interleaved and start at another side each time, so that a drift of the machine falls on all; a result
is checked before it is timed; a side that is missing or wrong is said to be.

Peers are looked for in environments under PEERS_ROOT (default ~/.cache/autograph-peers): `v` (numba, jax,
numexpr, autograd, scipy), `vtf` (tensorflow-cpu), `vt` (torch), each also with numpy.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS_ROOT = pathlib.Path(os.environ.get("PEERS_ROOT", "~/.cache/autograph-peers")).expanduser()
LIMIT = 300  # seconds for one process
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "AUTOGRAPH_NUM_THREADS",
)  # fmt: skip
QUICK_BUDGET, BUDGET = 0.2, 1.0
Row = dict[str, Any]


def python_of(side: str) -> str | None:
    """The interpreter that a side runs under; None where it is not installed."""
    environment = peers.ENVIRONMENT[side.partition(":")[0]]
    if not environment:
        return sys.executable
    found = PEERS_ROOT / environment / "bin" / "python"
    return str(found) if found.exists() else None


def measure(side: str, workload: str, threads: int, budget: float) -> Row:
    """The row of one process."""
    row: Row = {"side": side, "workload": workload}
    python = python_of(side)
    if python is None:
        return row | {"unsupported": "not installed"}
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment |= dict.fromkeys(THREADS, str(threads))
    command = [python, "-m", "benchmarks.side", "--side", side, "--workload", workload]
    command += ["--threads", str(threads), "--budget", str(budget)]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LIMIT, cwd=ROOT, check=False
        )
    except subprocess.TimeoutExpired:
        return row | {"unsupported": f"took more than {LIMIT} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return row | {"unsupported": f"died: {done.stderr.strip()[-200:]}"}
    found: Row = json.loads(lines[-1])
    return found


def chosen_sides(workload: str, wanted: str) -> list[str]:
    """The sides to run: plain NumPy is always one of them."""
    every = peers.sides(peers.load(workload))
    if wanted == "all":
        return [side for side in every if python_of(side)]
    names = wanted.split(",")
    return [side for side in every if side == "numpy" or side in names or side.partition(":")[0] in names]


def rounds(workloads: Iterable[str], options: argparse.Namespace) -> Iterator[Row]:
    """One row for each process, round after round."""
    hopeless: set[tuple[str, str]] = set()
    budget = QUICK_BUDGET if options.quick else BUDGET
    for number in range(options.rounds):
        for workload in workloads:
            sides = chosen_sides(workload, options.sides)
            start = number * 3 % len(sides)
            for side in sides[start:] + sides[:start]:
                if (side, workload) in hopeless:
                    continue
                row = measure(side, workload, options.threads, budget)
                if row.get("unsupported") or row.get("wrong"):
                    hopeless.add((side, workload))
                yield row


def best_of(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """workload -> side -> the best of each figure over the rounds."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        kept = found.setdefault(row["workload"], {}).setdefault(row["side"], dict(row))
        for figure in ("best", "median", "first", "ready", "import", "peak"):
            if figure in row and figure in kept:
                kept[figure] = min(kept[figure], row[figure])
    for sides in found.values():
        plain = sides["numpy"].get("best")
        for row in sides.values():
            if plain and "best" in row:
                row["ratio"] = plain / row["best"]
    return found


def lines_of(found: dict[str, dict[str, Row]]) -> Iterator[str]:
    """The table: sides from the fastest to the slowest, for each workload."""
    for workload, sides in found.items():
        yield f"{workload}  {peers.load(workload).TITLE}"
        for row in sorted(sides.values(), key=lambda row: -row.get("ratio", 0)):
            why = row.get("wrong") or row.get("unsupported")
            if why:
                yield f"    {row['side']:<24} {'wrong: ' if row.get('wrong') else ''}{why[:90]}"
                continue
            yield (
                f"    {row['side']:<24} {row['ratio']:9.2f}x   {seconds(row['best']):>10}"
                f"   first call {seconds(row['first']):>10}   fast after {seconds(row['ready']):>10}"
                f"   peak {row['peak']:6.0f} MB"
            )


def seconds(t: float) -> str:
    """A time with its unit."""
    for limit, factor, unit in ((1e-4, 1e6, "us"), (1.0, 1e3, "ms")):
        if t < limit:
            return f"{t * factor:.2f} {unit}"
    return f"{t:.2f} s"


def plot(found: dict[str, dict[str, Row]], path: str) -> None:
    """A bar for each framework and workload: times plain NumPy's speed, on a logarithmic axis."""
    pyplot = importlib.import_module("matplotlib.pyplot")
    frameworks = list(dict.fromkeys(s.partition(":")[0] for sides in found.values() for s in sides))
    figure, axes = pyplot.subplots(figsize=(1.5 + 1.1 * len(found), 5), layout="constrained")
    width = 0.85 / len(frameworks)
    for k, framework in enumerate(frameworks):
        heights = [
            max((r.get("ratio", 0) for s, r in sides.items() if s.partition(":")[0] == framework), default=0)
            for sides in found.values()
        ]
        axes.bar([x + k * width for x in range(len(found))], heights, width, label=framework)
    axes.set_yscale("log")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks([x + 0.4 for x in range(len(found))], list(found))
    axes.set_ylabel("times plain NumPy's speed")
    axes.legend(fontsize="small", ncols=4)
    figure.savefig(path, dpi=120)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sides", default="ours,ours_plan", help="names separated by commas, or all")
    parser.add_argument("--workloads", default="", help="identifiers separated by commas; default all")
    parser.add_argument("--rounds", type=int, default=0, help="default 2, or 1 with --quick")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="short: a fifth of the time for each side")
    parser.add_argument("--json", default="", help="write every row to this file as well")
    parser.add_argument("--plot", default="", help="write a plot to this file (needs matplotlib)")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 2)
    workloads = [w.upper() for w in options.workloads.split(",") if w] or peers.names()
    rows = []
    start = time.perf_counter()
    for row in rounds(workloads, options):
        rows.append(row)
        print(f"{row['workload']} {row['side']}", file=sys.stderr, flush=True)
    found = best_of(rows)
    print("\n".join(lines_of(found)))
    print(f"{len(rows)} processes, {time.perf_counter() - start:.0f} s, {options.threads} thread(s)")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"rows": rows, "best": found}, indent=1))
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
