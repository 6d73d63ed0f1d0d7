"""How speed grows with size, arrays, loops and graphs, and with the number of threads.

    python -m benchmarks.scaling [--quick] [--json FILE]

In: nothing but the options.  Out: tables of ratios to plain NumPy/Python: elements of an array, trips of a
loop, operations in a function (also its first call), threads that share a loop.  What always holds: both
sides run in this process, turn by turn, and their results agree before they are timed.
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


def rows(x: Any) -> Any:
    """A softmax of each row."""
    y = np.exp(x - x.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True)


def heat(u: Any) -> Any:
    """Steps of a stencil in place."""
    u = u.copy()
    for _ in range(50):
        inner = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.2 * inner
    return u


def threads(quick: bool) -> list[Row]:
    """Against the number of threads: a chain of operators, rows that are reduced, a stencil in place."""
    rng = np.random.default_rng(0)
    large = ((elementwise, rng.normal(size=10**6)), (rows, rng.normal(size=(1000, 1000))))
    tasks = large if quick else (*large, (heat, rng.random((512, 512))))
    most = ag.get_num_threads()
    counts = sorted({1, 2, *(2**k for k in range(most.bit_length())), most})
    found = []
    for task, x in tasks:
        for count in counts:
            with ag.settings.override(num_threads=count):
                found.append(compare(task, (x,), threads=count) | {"task": task.__name__})
    return found


CURVES: dict[str, Callable[[bool], list[Row]]] = {
    "array size": arrays,
    "loop length": loops,
    "graph size": graphs,
    "threads": threads,
}


def show(title: str, rows: Sequence[Row]) -> None:
    """One table."""
    print(title)
    for row in rows:
        key = next(iter(row))
        print(
            f"    {row[key]:>10} {key:<11} {row['ratio']:9.2f}x   plain {row['plain'] * 1e6:12.2f} us"
            f"   first call {row['first'] * 1e3:8.1f} ms   {row.get('task', '')}".rstrip()
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
