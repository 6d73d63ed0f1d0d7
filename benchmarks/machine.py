"""What this machine can do at best: the limits that the other figures are read against.

    python -m benchmarks.machine

In: nothing.  Out: memory bandwidth in and out of the caches, matrix products, a page fault, the cost of a
Python call and of NumPy's own dispatch.  Only NumPy is used, on as many threads as its libraries take.
"""

from __future__ import annotations

import functools
import mmap
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SIZES = {"16 KiB": 1 << 14, "256 KiB": 1 << 18, "4 MiB": 1 << 22, "256 MiB": 1 << 28}


def best(call: Callable[[], Any], number: int = 1, budget: float = 0.3) -> float:
    """The least seconds per call seen within the budget."""
    call()
    found = float("inf")
    end = time.perf_counter() + budget
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(number):
            call()
        found = min(found, (time.perf_counter() - start) / number)
    return found


def bandwidth() -> None:
    """Copies and sums of arrays that lie in each level of memory."""
    for label, size in SIZES.items():
        a, b, c = (np.ones(size // 8) for _ in range(3))
        number = max(1, (1 << 22) // size)
        copy = best(functools.partial(np.copyto, b, a), number)
        add = best(functools.partial(np.add, a, b, c), number)
        print(f"{label:>8}: copy {2 * size / copy / 1e9:6.1f} GB/s   a + b {3 * size / add / 1e9:6.1f} GB/s")


def products() -> None:
    """Matrix products."""
    for dtype in (np.float64, np.float32):
        a, b = np.ones((1024, 1024), dtype), np.ones((1024, 1024), dtype)
        spent = best(functools.partial(np.matmul, a, b))
        print(f"matrix product of {np.dtype(dtype)}: {2 * 1024**3 / spent / 1e9:.0f} GFLOP/s")


def page_fault() -> float:
    """Seconds for touching a fresh page of 4 KiB."""
    size = 1 << 24

    def touch() -> None:
        with mmap.mmap(-1, size) as fresh:
            view = np.frombuffer(fresh, np.uint8)
            view[::4096] = 1
            del view

    return best(touch) / (size / 4096)


def main() -> None:
    """Print all of it."""
    bandwidth()
    products()
    print(f"page fault: {page_fault() * 1e6:.2f} us")
    x, out = np.zeros(4), np.empty(4)
    calls: dict[str, Callable[[], Any]] = {
        "a Python call": lambda: None,
        "x + 1.0 on 4 elements": lambda: x + 1.0,
        "np.add(x, 1.0, out=out)": lambda: np.add(x, 1.0, out=out),
        "x.sum() on 4 elements": lambda: x.sum(),
        "x[1]": lambda: x[1],
    }
    for label, call in calls.items():
        print(f"{label}: {best(call, 1000) * 1e9:.0f} ns")


if __name__ == "__main__":
    main()
