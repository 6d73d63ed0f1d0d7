"""Long-running checks of native code: leaks, threads, forks, memory at the edge.

python -m tests.soak leak [CALLS ROUNDS]     memory over many calls, and over compiling and dropping
python -m tests.soak threads [SECONDS N]     N threads compile, call, drop and collect; then forks of that
"""

from __future__ import annotations

import gc
import multiprocessing
import random
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import autograph as ag
from runtime.config import settings

PAGE = resource.getpagesize()


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE


def looping(salt: float) -> Callable[[int, Any], Any]:
    """A function of its own machine code: the number is part of it."""

    def total(n: int, x: Any) -> Any:
        s = salt
        for i in range(n):
            s += x[i % len(x)] * salt
        return s

    return total


def chained(salt: float) -> Callable[[Any], Any]:
    """The same for a chain of operators."""

    def chain(x: Any) -> Any:
        return (x * salt + 1.0) / (x * x + salt) - np.sqrt(x + salt)

    return chain


def raising(salt: float) -> Callable[[int, Any], Any]:
    """The same for calls that native code hands back."""

    def outside(n: int, x: Any) -> Any:
        s = salt
        for i in range(n):
            x[i] += salt
            s += x[i]
        return s

    return outside


def native(function: Callable[..., Any], *args: Any) -> Any:
    """A converted function that has run once, in machine code."""
    converted = ag.function(function)
    converted(*args)
    concrete = converted.traces[-1].concrete
    assert concrete.native is not None, concrete.not_native
    return converted


# ------------------------------------------------------------------------------------------------- leaks
def grown(n: int, x: Any) -> Any:
    """A list that is made, grows and is handed back."""
    out = []
    for i in range(n):
        out.append(x[i] * 0.5)
    return out


def listed(items: list[float], seen: list[int]) -> float:
    """A list that is read, and one that is written."""
    s = 0.0
    for item in items:
        s += item
    seen.append(len(items))
    seen.pop()
    return s


def counted(words: list[str], found: dict[str, int]) -> Any:
    """Objects only."""
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found, len(words)


def calm(call: Callable[[], Any], *stopped: type[Exception]) -> Callable[[], Any]:
    """The call, whose error is expected."""

    def quiet() -> None:
        try:
            call()
        except stopped:
            pass

    return quiet


def calls() -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """What is called again and again: its name, one in how many calls of all it is, and the call."""
    x, short = np.arange(8.0), np.arange(3.0)
    loop, chain, outside = native(looping(0.5), 8, x), native(chained(0.5), x), native(raising(0.5), 8, x)
    lists = native(grown, 8, x)
    yield "native, numbers", 1, lambda: loop(8, x)
    yield "native, arrays", 1, lambda: chain(x)
    yield "native, a list made", 2, lambda: lists(8, x)
    yield "native, an error", 16, calm(lambda: outside(8, short), IndexError)
    with settings.override(executor="numpy"):
        plans = [ag.function(f) for f in (looping(0.5), chained(0.5), raising(0.5), grown, listed)]
        plan_loop, plan_chain, plan_outside, plan_lists, plan_listed = plans
        yield "plan, numbers", 4, lambda: plan_loop(8, x)
        yield "plan, arrays", 1, lambda: plan_chain(x)
        yield "plan, a list made", 4, lambda: plan_lists(8, x)
        yield "plan, lists of the caller", 1, lambda: plan_listed([1.0, 2.5], [])
        yield "plan, an error", 16, calm(lambda: plan_outside(8, short), IndexError)
        assert all(plan.traces[-1].concrete.native is None for plan in plans)
    with settings.override(executor="auto"):
        reads, objects = ag.function(listed), ag.function(counted)
        yield "lists of the caller", 1, lambda: reads([1.0, 2.5], [])
        yield "objects", 1, lambda: objects(["a", "b", "a"], {})


def calls_leak(count: int) -> Iterator[tuple[str, int, float, float]]:
    """Name, calls, and bytes and Python's memory blocks kept per call of each, all ways out included."""
    for name, one_in, call in calls():
        n = max(count // one_in, 1)
        found = []
        for k in (n // 50 + 1000, n):
            for _ in range(k):
                call()
            gc.collect()
            found.append((resident(), sys.getallocatedblocks()))
        yield name, n, *((after - before) / n for before, after in zip(*found, strict=True))


def compiling_leaks(rounds: int) -> float:
    """Bytes kept per function that was traced, compiled, called and dropped."""
    x = np.arange(8.0)

    def some(first: int, n: int) -> None:
        for k in range(first, first + n):
            loop, chain = native(looping(k + 0.5), 8, x), native(chained(k + 0.5), x)
            loop(8, x), chain(x)
            del loop, chain
            if k % 20 == 0:
                gc.collect()

    some(0, min(30, rounds))
    gc.collect()
    before = resident()
    some(1000, rounds)
    gc.collect()
    return (resident() - before) / (2 * rounds)


# ------------------------------------------------------------------------------------------------ threads
def worker(seed: int, until: float, failed: list[str]) -> None:
    """Compile, call, drop and collect until the time is over."""
    rng = random.Random(seed)
    kept: list[tuple[Any, float]] = []
    x = np.arange(16.0)
    try:
        while time.monotonic() < until:
            salt = rng.randrange(1000) + 0.25
            kind = rng.randrange(4)
            if kind == 0:
                loop = ag.function(looping(salt))
                assert loop(16, x) == looping(salt)(16, x)
                kept.append((loop, salt))
            elif kind == 1:
                chain = ag.function(chained(salt))
                assert chain(x).tobytes() == chained(salt)(x).tobytes()
            elif kind == 2 and kept:
                loop, salt = kept.pop(rng.randrange(len(kept)))
                assert loop(16, x) == looping(salt)(16, x)
            else:
                gc.collect(rng.randrange(3))
    except BaseException as problem:
        failed.append(f"{type(problem).__name__}: {problem}")
        raise


def threads(seconds: float, count: int = 16) -> list[str]:
    """What went wrong in threads that all compile, call and drop."""
    failed: list[str] = []
    until = time.monotonic() + seconds
    running = [threading.Thread(target=worker, args=(k, until, failed)) for k in range(count)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return failed


def child(seed: int) -> None:
    """What a forked process does: it compiles and calls on its own."""
    failed: list[str] = []
    worker(seed, time.monotonic() + 0.3, failed)
    sys.exit(len(failed))


def forks(seconds: float, count: int = 4) -> list[str]:
    """What went wrong in processes forked while threads compile."""
    context = multiprocessing.get_context("fork")
    failed: list[str] = []
    until = time.monotonic() + seconds
    running = [threading.Thread(target=worker, args=(k, until, failed)) for k in range(count)]
    for thread in running:
        thread.start()
    seed = 100
    while time.monotonic() < until:
        children = [context.Process(target=child, args=(seed + k,)) for k in range(2)]
        for process in children:
            process.start()
        for process in children:
            process.join(60)
            if process.exitcode != 0:
                failed.append(f"a forked process ended with {process.exitcode}")
                process.kill()
        seed += 2
    for thread in running:
        thread.join()
    return failed


def main(args: list[str]) -> int:
    """The command."""
    settings.executor = "native"
    what, numbers = args[0] if args else "", [float(x) for x in args[1:]]
    if what == "leak":
        count, rounds = (int(x) for x in (numbers + [1_000_000, 2_000][len(numbers) :]))
        for name, n, size, blocks in calls_leak(count):
            print(f"{name}: {n} calls, {size:.3f} bytes and {blocks:.5f} blocks kept per call", flush=True)
        print(f"{rounds} rounds: {compiling_leaks(rounds):.0f} bytes kept per compiled function")
        return 0
    if what == "threads":
        seconds, count = numbers + [30.0, 16.0][len(numbers) :]
        failed = threads(seconds, int(count)) + forks(seconds)
        print("\n".join(failed) or "nothing went wrong")
        return bool(failed)
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
