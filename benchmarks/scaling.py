"""How speed grows with size: arrays, loops, graphs.

    python -m benchmarks.scaling [--quick] [--json FILE]

In: nothing but the options.  Out: three tables of ratios to plain NumPy/Python: elements of an array, trips
of a loop, operations in a function (also its first call).  What always holds: both sides run in
this process, turn by turn, and their results agree before they are timed.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import autograph as ag
from benchmarks.workloads import generated

Row = dict[str, Any]
ROUNDS, BUDGET = 5, 0.02


def elementwise(x: Any) -> Any:
    """A chain of arithmetic and math functions."""
    y = x * 0.5 + 1.0
    z = np.exp(-y * y) + np.sqrt(np.abs(x))
    return z / (1.0 + y * y)


def sequence(n: Any) -> Any:
    """A loop on numbers."""
    total = 0.0
    for k in range(n):
        if k % 3 == 0:
            total += k * 0.5
        else:
            total -= 1.0
    return total


def per_call(call: Callable[[], Any], number: int) -> float:
    """Seconds per call over so many calls."""
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


def compare(plain: Callable[..., Any], args: tuple[Any, ...], **row: Any) -> Row:
    """Ratio and times of one point of a curve."""
    ours = ag.function(plain)
    wanted = plain(*args)
    start = time.perf_counter()
    found = ours(*args)
    first = time.perf_counter() - start
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    ours(*args)
    best = {}
    for _ in range(ROUNDS):
        for name, call in (("plain", plain), ("ours", ours)):
            once = per_call(lambda call=call: call(*args), 1)
            number = max(1, min(10_000, int(BUDGET / max(once, 1e-7))))
            spent = per_call(lambda call=call: call(*args), number)
            best[name] = min(best.get(name, spent), spent)
    return row | {
        "plain": best["plain"],
        "ours": best["ours"],
        "ratio": best["plain"] / best["ours"],
        "first": first,
    }


def arrays(quick: bool) -> list[Row]:
    """Against the number of elements."""
    sizes = (1, 100, 10_000, 1_000_000) if quick else tuple(10**k for k in range(8))
    return [compare(elementwise, (np.random.default_rng(0).normal(size=n),), elements=n) for n in sizes]


def loops(quick: bool) -> list[Row]:
    """Against the number of trips."""
    sizes = (1, 100, 10_000) if quick else tuple(10**k for k in range(7))
    return [compare(sequence, (np.int64(n),), trips=n) for n in sizes]


def graphs(quick: bool) -> list[Row]:
    """Against the number of operations in a function on small arrays."""
    rng = np.random.default_rng(0)
    args = (rng.standard_normal(64), rng.standard_normal(64))
    sizes = (10, 100) if quick else (10, 30, 100, 300, 1000)
    return [
        compare(generated.load("np", n=n, seed=5, nconds=n // 50, nwhiles=0), args, operations=n)
        for n in sizes
    ]


CURVES: dict[str, Callable[[bool], list[Row]]] = {
    "array size": arrays,
    "loop length": loops,
    "graph size": graphs,
}


def show(title: str, rows: Sequence[Row]) -> None:
    """One table."""
    print(title)
    for row in rows:
        key = next(iter(row))
        print(
            f"    {row[key]:>10} {key:<11} {row['ratio']:9.2f}x   plain {row['plain'] * 1e6:12.2f} us"
            f"   first call {row['first'] * 1e3:8.1f} ms"
        )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few points")
    parser.add_argument("--json", default="", help="write the points to this file as well")
    options = parser.parse_args()
    ag.settings.executor = "auto"
    found = {}
    for title, curve in CURVES.items():
        found[title] = curve(options.quick)
        show(title, found[title])
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
