"""What a cached call costs by itself, in units of one NumPy ufunc call on a small array.

    python -m benchmarks.dispatch [--quick]

In: nothing.  Out: a line per way to write a call, for calls dispatched by machine code (with native code and
with the plan) and by Python alone: the call's own cost, which is its time less that of the loaded plan or
native code called directly; and how many times faster than the plain function the whole call is.
What always holds: all sides take turns in one process, processor time is measured, the best round counts.
"""

from __future__ import annotations

import argparse
import time
import timeit
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import autograph as ag

ROUNDS, CALLS = 25, 4000
X = np.random.default_rng(0).random(4)
RATE = 2.0


def one(x: Any, k: Any = 1.0) -> Any:
    """One ufunc."""
    return x + k


def helper(x: Any) -> Any:
    """Called by others."""
    return x * RATE


def several(x: Any) -> Any:
    """Some ufuncs, globals and another function."""
    return np.sqrt(helper(x) + 1.0) - x


def sort(x: Any) -> Any:
    """Nothing that could be native."""
    return np.sort(x)


class Model:
    """Something with a method."""

    def __init__(self) -> None:
        self.weight = X + 1.0

    def method(self, x: Any) -> Any:
        """Reads an attribute."""
        return self.weight * x


def closure(k: float) -> Callable[[Any], Any]:
    """A function with a captured value and a keyword."""

    def inner(x: Any, *, shift: float = 0.5) -> Any:
        return x * k + shift

    return inner


MODEL = Model()
CASES: dict[str, tuple[Callable[..., Any], str]] = {
    "x + k": (one, "f(X, 1.0)"),
    "default": (one, "f(X)"),
    "by name": (one, "f(x=X, k=1.0)"),
    "globals, helper": (several, "f(X)"),
    "closure": (closure(3.0), "f(X)"),
    "keyword only": (closure(3.0), "f(X, shift=1.5)"),
    "method": (Model.method, "f(MODEL, X)"),
    "np.sort": (sort, "f(X)"),
}


def traced(function: Callable[..., Any], text: str, executor: str) -> Any:
    """The function after its first calls."""
    made = ag.function(function)
    with ag.settings.override(executor=executor, compile="now"):
        for _ in range(3):
            eval(text, {"f": made, "X": X, "MODEL": MODEL})
    return made


def work(concrete: ag.ConcreteFunction) -> tuple[Callable[..., Any], str]:
    """What runs a trace, and how to call it."""
    run = getattr(concrete.executable, "plan", concrete.executable)
    values = {"x": "X", "self": "MODEL", "k": "1.0", "shift": "1.5"}
    return run, f"f({', '.join(values[name] for name, _ in concrete.parameters)})"


def measured(sides: dict[str, tuple[Callable[..., Any], str]], rounds: int) -> dict[str, float]:
    """The best time of each side: a function and a call of it."""
    timers = {
        name: timeit.Timer(text, globals={"f": f, "X": X, "MODEL": MODEL}, timer=time.thread_time)
        for name, (f, text) in sides.items()
    }
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(rounds):
        for name, timer in timers.items():
            best[name] = min(best[name], timer.timeit(CALLS) / CALLS)
    return best


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 5 if parser.parse_args(arguments).quick else ROUNDS
    print(f"{'call':18}{'dispatch':>10}{'runs':>8}{'own cost':>10}{'times plain':>13}")
    for name, (function, text) in CASES.items():
        sides: dict[str, tuple[Callable[..., Any], str]] = {"ufunc": (np.add, "f(X, 1.0)")}
        sides["plain"] = function, text
        runs = {}
        for executor in ("native", "numpy"):
            made = traced(function, text, executor)
            concrete = made.traces[-1].concrete
            assert concrete is not None, made.explain()
            sides[executor], runs[executor] = (made, text), concrete.executor
            sides[f"{executor} work"] = work(concrete)
        best = measured(sides, rounds)
        for executor, way in (("native", "machine"), ("numpy", "Python")):
            own = (best[executor] - best[f"{executor} work"]) / best["ufunc"]
            print(
                f"{name:18}{way:>10}{runs[executor]:>8}{own:>10.2f}{best['plain'] / best[executor]:>12.2f}x"
            )


if __name__ == "__main__":
    main()
