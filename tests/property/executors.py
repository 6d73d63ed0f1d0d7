"""Random graphs on every executor: the plan and native code do what the reference interpreter does.

    python -m tests.property.executors --graphs 100000 --seed 0    the long run (about an hour on one core)
    python -m tests.property.executors --threads 3                 the same, every loop shared by threads
    python -m tests.property.executors --only 4711                 one graph, with the difference and its text

LLVM takes ten times as long as everything else, so most graphs are compiled without any of its passes: that
is enough to see what our own code says.  Exit status 1 when any graph differs, or ends the process.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import functools
import multiprocessing
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from runtime.config import settings
from runtime.errors import GraphError
from runtime.execute.loader import load
from runtime.execute.native import llvm_load
from runtime.execute.native.executor import NativeFunction, unavailable
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.partly import NativeLoops
from runtime.execute.python_source import plan_source
from runtime.execute.reference import interpret
from runtime.ir.calls import all_nodes
from runtime.ir.graph import Graph
from runtime.ir.text import print_graph
from runtime.passes.pipeline import optimise
from runtime.types import ArrayType, WeakType
from tests.execute.native.harness import bits
from tests.property.numeric import Sample
from tests.property.oracle import TooLong, time_limit
from tests.property.wider import sample
from tests.sharing import sharing

CALLS = 4
FULLY = 25  # one graph in so many is compiled as for users
BLOCK = 250


# ------------------------------------------------------------------------------------------- one call
@dataclasses.dataclass(frozen=True)
class Seen:
    """All that a call shows."""

    result: Any
    error: Any
    arguments: Any
    sharing: Any
    warned: tuple[Any, ...]


def leaves(x: Any) -> Iterator[Any]:
    """The arrays and numbers in a result."""
    if isinstance(x, tuple):
        for item in x:
            yield from leaves(item)
    else:
        yield x


def seen(run: Callable[..., Any], args: list[Any], errors: str) -> Seen:
    """Call with these arguments, which it may write to."""
    result = error = None
    with warnings.catch_warnings(record=True) as caught, np.errstate(all=errors):
        warnings.simplefilter("always")
        try:
            result = run(*args)
        except GraphError:
            raise
        except Exception as problem:  # any exception is something to compare
            error = type(problem), str(problem)
    arrays = [x for x in leaves(result) if isinstance(x, np.ndarray)]
    sharing = [
        (
            [x is a for a in args],
            [isinstance(a, np.ndarray) and np.may_share_memory(x, a) for a in args],
            x.flags.writeable,
            x.strides if x.ndim > 1 and x.size else (),
        )
        for x in arrays
    ]
    told = tuple((w.category, str(w.message)) for w in caught)
    return Seen(bits(result), error, bits(args), sharing, told)


def unlike(wanted: Seen, found: Seen, who: str, warned: bool = True) -> str | None:
    """How two calls differ, or None.  warned: whether their warnings must be the same."""
    for field in dataclasses.fields(Seen)[: None if warned else -1]:
        one, other = getattr(wanted, field.name), getattr(found, field.name)
        if one != other:
            return f"{field.name} {who}\n  {other}\nwanted\n  {one}"
    return None


def complex_inside(graph: Graph) -> bool:
    """Whether complex numbers are computed."""
    types = [v.type for node in all_nodes(graph) for v in node.outputs]
    return any(t.kind == "complex" if isinstance(t, WeakType) else dtype_kind(t) == "c" for t in types)


def dtype_kind(t: Any) -> str:
    """The kind of what an array type says."""
    return t.dtype.kind if isinstance(t, ArrayType) else ""


def in_order(x: Any) -> Any:
    """A copy in C order."""
    return x.copy() if isinstance(x, np.ndarray) else x


def also_by_numpy(one: Sample, call: int, errors: str, found: Seen) -> bool:
    """Whether NumPy itself does this call so where the arrays lie elsewhere.

    Its products of complex numbers are rounded once or twice by how far operands and result are apart.
    """
    if not complex_inside(one.graph):
        return False
    kept: list[Any] = []
    for trial in range(200):
        args = [in_order(a) if trial % 2 else a for a in one.arguments(call)]
        kept.append(bytearray(16 * (trial % 13)))
        again = seen(lambda *args: interpret(one.graph, args)[0], args, errors)
        if (again.result, again.error, again.arguments) == (found.result, found.error, found.arguments):
            return True
        kept.append(again)
    return False


# ------------------------------------------------------------------------------------------ one graph
@functools.cache
def _plain_machine() -> Any:
    binding = llvm_load._binding()
    binding.set_option("", "-fast-isel=false")  # it ends the process over vectors of sums with overflow flags
    return binding.Target.from_triple(llvm_load.TRIPLE).create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(),
        opt=0, reloc="pic", codemodel="small",
    )  # fmt: skip


@contextlib.contextmanager
def quickly() -> Iterator[None]:
    """Compile without any passes."""
    llvm_load._passes()  # they keep the machine that they are made for
    before = llvm_load._machine, llvm_load._compiled
    llvm_load._machine = lambda effort=2: _plain_machine()
    llvm_load._compiled = lambda text, optimised, effort: before[1](text, False, effort)
    try:
        yield
    finally:
        llvm_load._machine, llvm_load._compiled = before


def compiled(graph: Graph, plan: Callable[..., Any]) -> tuple[Any, str]:
    """Native code for the graph or for parts of it, and why not for the whole."""
    try:
        return NativeFunction(graph, lambda: plan), ""
    except Unlowered as reason:
        why = str(reason)
    assert llvm_load.REFUSED not in why, why
    try:
        return NativeLoops(graph), why
    except Unlowered as reason:
        assert llvm_load.REFUSED not in str(reason), reason
        return None, why


@dataclasses.dataclass
class Tally:
    """What became of the graphs.  ways: how they ran; reasons: why not all of it as native code."""

    ways: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    reasons: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def add(self, other: Tally) -> None:
        """Count in what another one has."""
        self.ways.update(other.ways)
        self.reasons.update(other.reasons)


def difference(one: Sample, tally: Tally) -> str | None:
    """The first way in which executors differ on a sample; None where they don't."""
    graph = optimise(one.graph).graph
    plan = load(plan_source(graph))
    native, why = compiled(graph, plan)
    tally.ways["whole" if isinstance(native, NativeFunction) else "parts" if native else "plan only"] += 1
    tally.reasons[why] += bool(why)
    for call in range(CALLS):
        errors = "warn" if call % 2 else "ignore"
        wanted = seen(lambda *args: interpret(one.graph, args)[0], one.arguments(call), errors)
        found = seen(plan, one.arguments(call), errors)
        tally.ways["calls that raise"] += wanted.error is not None
        problem = unlike(wanted, found, "of the plan", False)  # equal operations may be done, and warn, once
        if problem and not also_by_numpy(one, call, errors, found):
            return f"call {call}, {errors}: {problem}"
        if native is None:
            continue
        bails = native.bails
        again = seen(native.entry, one.arguments(call), errors)
        tally.ways["calls natively"] += 1
        tally.ways["calls handed back"] += native.bails > bails
        problem = unlike(found, again, "of native code")
        if problem and not also_by_numpy(one, call, errors, again):
            return f"call {call}, {errors}: {problem}"
    return None


def check(seed: int, tally: Tally, full: bool | None = None) -> str | None:
    """What is wrong with the graph of this seed, or None."""
    one = sample(seed)
    full = seed % FULLY == 0 if full is None else full
    try:
        with time_limit(60), contextlib.nullcontext() if full or unavailable() else quickly():
            return difference(one, tally)
    except (Exception, TooLong) as problem:
        return f"{type(problem).__name__}: {problem}"


# ------------------------------------------------------------------------------------------- many
def block(first: int, stop: int, threads: int, at: Any, answers: Any) -> None:
    """Check the graphs of a range of seeds, in a process of its own."""
    tally = Tally()
    failed = {}
    with sharing(threads) if threads else contextlib.nullcontext():
        for seed in range(first, stop):
            at.value = seed
            problem = check(seed, tally)
            if problem:
                failed[seed] = problem
    answers.put((failed, tally))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--threads", type=int, default=0, help="so many share every loop, however small")
    parser.add_argument("--only", type=int, help="check one graph, and show it")
    opts = parser.parse_args()
    settings.math, settings.compile, settings.cache_dir = "exact", "now", "off"
    if opts.only is not None:
        print(print_graph(sample(opts.only).graph))
        with sharing(opts.threads) if opts.threads else contextlib.nullcontext():
            problems = [check(opts.only, Tally(), full) for full in (False, True)]
        print(problems[0] or problems[1] or "no difference")
        return int(any(problems))
    context, total, count = multiprocessing.get_context("fork"), Tally(), 0
    for first in range(opts.seed, opts.seed + opts.graphs, BLOCK):
        answers, at = context.SimpleQueue(), context.Value("l", first)
        stop = min(first + BLOCK, opts.seed + opts.graphs)
        process = context.Process(target=block, args=(first, stop, opts.threads, at, answers))
        process.start()
        process.join()
        if process.exitcode or answers.empty():
            failed = {at.value: f"the process ended with {process.exitcode}"}
        else:
            failed, tally = answers.get()
            total.add(tally)
        count += len(failed)
        for seed, problem in failed.items():
            print(f"graph {seed}: {problem[:600]}", flush=True)
        if stop % 5000 == 0:
            print(f"up to graph {stop}: {count} differ; {dict(total.ways)}", flush=True)
    print(f"{opts.graphs} graphs, {count} differ; {dict(total.ways)}")
    print(f"not wholly native: {total.reasons.most_common(40)}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
