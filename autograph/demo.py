"""The main job, end to end: functions that nobody here wrote are converted, viewed, run and compared.

In: nothing.  Out: for each function its source, what was generated, its graph and plan in short; a table
of results beside plain Python's; the exit status, 0 when all results agree to the bit.
"""

from __future__ import annotations

import colorsys
import fractions
import importlib.util
import inspect
import statistics
import sys
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, polynomial

import autograph as ag
from runtime.dataclass import dataclass
from runtime.ir.text import print_graph

LINES = 14  # how much of each text is shown without --full


def pure(name: str, accelerator: str) -> types.ModuleType:
    """The Python version of a standard module that normally takes its functions from a C module."""
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    own = importlib.util.spec_from_file_location(f"pure_{name}", spec.origin)
    assert own is not None and own.loader is not None
    module = importlib.util.module_from_spec(own)
    before = sys.modules.get(accelerator)
    sys.modules[own.name] = module
    sys.modules[accelerator] = None  # type: ignore[assignment]  # so that importing it fails
    try:
        own.loader.exec_module(module)
    finally:
        del sys.modules[accelerator]
        if before is not None:
            sys.modules[accelerator] = before
    return module


heapq = pure("heapq", "_heapq")
bisect = pure("bisect", "_bisect")


def collatz(n: Any) -> Any:
    """How many steps until n is 1."""
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@dataclass(frozen=True)
class Sample:
    """One function and the argument tuples it is called with; `make` gives fresh ones on each use."""

    name: str
    function: Callable[..., Any]
    make: Callable[[], Sequence[tuple[Any, ...]]]


def samples() -> list[Sample]:
    """What the demo converts."""
    f64 = np.float64
    grid = np.linspace(-1.0, 1.0, 5)
    coefficients = np.array([1.0, -2.0, 0.5, 3.0])
    numbers = [2.5, -1.0, 4.0, 0.5, 3.25]
    sides = [("3", "7"), ("5", "-6")]
    return [
        Sample("collatz", collatz, lambda: [(np.int64(n),) for n in (1, 27, 97)]),
        Sample(
            "colorsys.rgb_to_hls",
            colorsys.rgb_to_hls,
            lambda: [tuple(map(f64, c)) for c in ((0.2, 0.4, 0.4), (0.5, 0.5, 0.5), (1.0, 0.1, 0.3))],
        ),
        Sample(
            "colorsys.hsv_to_rgb",
            colorsys.hsv_to_rgb,
            lambda: [tuple(map(f64, c)) for c in ((0.5, 0.5, 0.4), (0.0, 0.0, 0.7), (0.9, 0.3, 0.2))],
        ),
        Sample(
            "chebyshev.chebval", chebyshev.chebval, lambda: [(grid, coefficients), (grid, coefficients[:1])]
        ),
        Sample(
            "polynomial.polyval", polynomial.polyval, lambda: [(grid, coefficients), (f64(2.0), coefficients)]
        ),
        Sample("heapq.heapify", heapq.heapify, lambda: [(list(numbers),), ([3, 1, 2],)]),
        Sample("heapq.heappop", heapq.heappop, lambda: [([0.5, 1.0, 4.0, 2.5],), ([1],)]),
        Sample(
            "heapq.heappushpop", heapq.heappushpop, lambda: [([0.5, 1.0, 4.0], 2.0), ([1, 2], 0), ([], 3)]
        ),
        Sample(
            "bisect.bisect_left", bisect.bisect_left, lambda: [(np.sort(grid), f64(x)) for x in (-2, 0.5, 9)]
        ),
        Sample("bisect.insort", bisect.insort, lambda: [([1.0, 2.0, 4.0], 3.0), ([], 1.0)]),
        Sample("statistics.median", statistics.median, lambda: [(list(numbers),), ([1, 4, 2, 3],)]),
        Sample(
            "statistics.NormalDist.pdf",
            statistics.NormalDist.pdf,
            lambda: [(statistics.NormalDist(2.0, 0.5), f64(x)) for x in (1.0, 2.5)],
        ),
        Sample(
            "Fraction.limit_denominator",
            fractions.Fraction.limit_denominator,
            lambda: [(fractions.Fraction(3.141592653589793), n) for n in (10, 1000)],
        ),
        Sample(
            "Fraction.__add__",
            fractions.Fraction.__add__,
            lambda: [tuple(map(fractions.Fraction, s)) for s in sides],
        ),
    ]


def same(want: Any, got: Any) -> bool:
    """Equal in type, dtype, shape and bits, all the way down."""
    if type(want) is not type(got):
        return False
    if isinstance(want, (np.ndarray, np.generic)):
        alike: bool = want.dtype == got.dtype and want.shape == got.shape
        return alike and bool(want.tobytes() == got.tobytes())
    if isinstance(want, (list, tuple)):
        return len(want) == len(got) and all(map(same, want, got))
    return repr(want) == repr(got)


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Result, or what was raised, and the arguments afterwards."""
    try:
        return function(*args), args
    except Exception as error:  # an exception is an answer like any other
        return (type(error), str(error)), args


def excerpt(title: str, text: str, full: bool) -> None:
    """Print a text under a title, shortened."""
    lines = text.strip("\n").split("\n")
    shown = (
        lines if full or len(lines) <= LINES + 1 else [*lines[:LINES], f"... {len(lines) - LINES} more lines"]
    )
    print(f"  {title}")
    print("\n".join(f"    {line}".rstrip() for line in shown))


def view(sample: Sample, converted: Any, full: bool) -> str:
    """Show source, generated source, graph and plan; returns what the sample became, for the table."""
    print(f"\n=== {sample.name}")
    excerpt("source", inspect.getsource(sample.function), full)
    try:
        excerpt("generated", ag.to_code(sample.function), full)
        concrete = converted.get_concrete_function(*sample.make()[0])
        excerpt("graph", print_graph(concrete.graph, spans=False), full)
        excerpt("plan", concrete.plan_source, full)
    except ag.AutographError as error:
        excerpt("left to Python", str(error), full)
        return "plain Python"
    return f"graph, {len(concrete.notes)} to Python" if concrete.notes else "graph"


def main(full: bool = False) -> int:
    """Run the demo; 0 when every result is plain Python's."""
    began, rows, wrong = time.perf_counter(), [], 0
    for sample in samples():
        converted = ag.function(sample.function)
        way = view(sample, converted, full)
        pairs = [
            (outcome(sample.function, plain), outcome(converted, own))
            for plain, own in zip(sample.make(), sample.make(), strict=True)
        ]
        bad = [pair for pair in pairs if not same(*pair)]
        wrong += len(bad)
        rows.append((sample.name, way, f"{len(pairs)} calls", "DIFFERS" if bad else "equal"))
        for want, got in bad:
            print(f"  plain Python: {want}\n  converted:    {got}")
    print(f"\n{'function':28}{'runs as':20}{'compared':12}with plain Python")
    for row in rows:
        print(f"{row[0]:28}{row[1]:20}{row[2]:12}{row[3]}")
    print(f"\n{len(rows)} functions, {wrong} results differ, {time.perf_counter() - began:.1f} s")
    return 1 if wrong else 0
