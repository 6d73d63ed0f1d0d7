"""One side, one workload, one process: checks, times, and prints one line of JSON.

    python -m benchmarks.side --side jax --workload W04 --threads 1

In: the names.  Out: seconds of the first call, until it is fast (what is compiled in the background is
there), of the best call, of the import; memory at the peak.  What always holds: the result was compared with
the plain function's before it was timed, and again after; threads of all libraries are limited before any of
them is imported.
"""

from __future__ import annotations

import argparse
import copy
import gc
import importlib
import json
import os
import sys
import tempfile
import threading
import time
from typing import Any

import numpy as np

from benchmarks import peers

SAMPLE, SLOW, CALLS = 1e-3, 8.0, 20_000


def call_times(call: peers.Call, budget: float, fresh: Any = None) -> list[float]:
    """Seconds per call, one entry for each sample; short calls are timed several at a time.

    fresh: what to run before each call, not timed (copies of arguments that are written to).
    """
    clock = time.perf_counter

    def sample(number: int) -> float:
        if fresh is not None:
            fresh()
        start = clock()
        for _ in range(number):
            call()
        return (clock() - start) / number

    first = sample(1)
    if first > SLOW:
        return [first]
    number = (
        1 if fresh is not None or first >= SAMPLE else max(1, int(SAMPLE / max(min(first, sample(1)), 1e-8)))
    )
    found = []
    gc.collect()
    gc.disable()
    end = clock() + budget
    while len(found) < 3 or (clock() < end and len(found) < CALLS):
        found.append(sample(number))
    gc.enable()
    return found


def settled() -> float:
    """Wait until nothing is compiled in the background any more; how long that took, in seconds."""
    start = time.perf_counter()
    while any(thread.name == "autograph-background" for thread in threading.enumerate()):
        time.sleep(0.01)
    return time.perf_counter() - start


def peak() -> float:
    """The most memory this process had, in MB."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def run(side: str, workload: str, budget: float, seed: int) -> dict[str, Any]:
    """The figures of one side."""
    row: dict[str, Any] = {"side": side, "workload": workload}
    module = peers.load(workload)
    inputs = module.inputs(seed)
    wanted = module.plain(*copy.deepcopy(inputs))
    before = peak()
    start = time.perf_counter()
    importlib.import_module(peers.package(side))
    row["import"] = time.perf_counter() - start
    fresh = None
    given = inputs
    if getattr(module, "WRITES", False):
        given = copy.deepcopy(inputs)

        def fresh() -> None:
            for mine, theirs in zip(given, inputs, strict=True):
                if isinstance(mine, np.ndarray):
                    mine[...] = theirs

    try:
        call, arrays = peers.prepare(module, side, given)
        start = time.perf_counter()
        found = call()
        row["first"] = time.perf_counter() - start
        row["wrong"] = peers.differs(module, side, arrays(found), wanted)
        row["ready"] = row["first"] + settled()
        if not row["wrong"]:
            times = call_times(call, budget, fresh)
            row["best"], row["median"] = min(times), sorted(times)[len(times) // 2]
            row["peak"], row["peak_before"] = peak(), before
            if fresh is not None:
                fresh()
            row["wrong"] = peers.differs(module, side, arrays(call()), wanted)
    except peers.UnsupportedSide as reason:
        row["unsupported"] = str(reason)
    except Exception as problem:
        row["unsupported"] = f"{type(problem).__name__}: {' '.join(str(problem).split())[:200]}"
    return row


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--side", required=True)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds of timed calls")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as cold:  # compilers that cache on disk start from nothing
        for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "NUMBA_CACHE_DIR", "AUTOGRAPH_CACHE_DIR"):
            os.environ[name] = cold
        row = run(options.side, options.workload, options.budget, options.seed)
    print(json.dumps(row))
    sys.stdout.flush()
    os._exit(0)  # threads of some peers don't end by themselves


if __name__ == "__main__":
    main()
