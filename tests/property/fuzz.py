"""Run random programs plain and converted, shrink what differs, print it.

    python -m tests.property.fuzz --programs 20000 --seed 1     the long run (about an hour on two cores)
    python -m tests.property.fuzz --only 4711                   one program, shrunk when it fails

Exit status 1 when any program differs.
"""

from __future__ import annotations

import argparse
import ast
import copy
import dataclasses
import importlib.util
import linecache
import multiprocessing
import pathlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import autograph
from tests.property.oracle import first_difference
from tests.property.programs import Program, make


def load(source: str, folder: pathlib.Path, name: str) -> Callable[..., Any]:
    """Write the text to a module file of its own, import it, return its `program`."""
    path = folder / f"{name}.py"
    path.write_text(source)
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.program


def verdict(
    program: Program, source: str, folder: pathlib.Path, name: str, seconds: float = 20.0
) -> str | None:
    """How the converted program differs from the plain one, or None."""
    try:
        # Two modules of the same text: programs that change their globals must not meet each other's.
        plain, other = load(source, folder, name), load(source, folder, f"{name}_twin")
        return first_difference(plain, lambda _: autograph.function(other), program.calls, seconds)
    finally:
        for made in (name, f"{name}_twin"):
            sys.modules.pop(made, None)
            (folder / f"{made}.py").unlink(missing_ok=True)


def smaller(tree: ast.Module) -> Iterator[ast.Module]:
    """Copies of the tree with one statement less, or a compound statement replaced by one of its bodies."""
    bodies = [
        (k, field)
        for k, node in enumerate(ast.walk(tree))
        for field in ("body", "orelse", "finalbody", "handlers")
        if isinstance(getattr(node, field, None), list)
    ]
    for k, field in bodies:
        count = len(getattr(list(ast.walk(tree))[k], field))
        for position in reversed(range(count)):
            for way in ("drop", "body", "orelse", "finalbody"):
                fresh = copy.deepcopy(tree)
                block = getattr(list(ast.walk(fresh))[k], field)
                inner = [] if way == "drop" else getattr(block[position], way, None)
                if inner is None or (way != "drop" and not (isinstance(inner, list) and inner)):
                    continue
                if way != "drop" and isinstance(block[position], ast.FunctionDef):
                    continue
                block[position : position + 1] = inner
                if not block and field == "body":
                    continue
                yield fresh


def kind(problem: str | None) -> str:
    """What sort of difference it is; shrinking keeps to it, or it would find programs that never end."""
    if problem is None or problem.startswith("over "):
        return "late" if problem else ""
    raised = re.search(r": raised (\w+)", problem)
    return raised[1] if raised else "other"


def shrink(program: Program, folder: pathlib.Path, limit: int = 600) -> str:
    """The smallest program found that still differs in the same way, by greedy deletion of statements."""
    source, tries, shrunk = program.source, 0, True
    first = kind(verdict(program, source, folder, f"shrunk_{program.seed}"))
    seconds = 20.0 if first == "late" else 4.0
    while shrunk and tries < limit:
        shrunk = False
        for candidate in smaller(ast.parse(source)):
            tries += 1
            text = ast.unparse(candidate) + "\n"
            try:
                compile(text, "candidate", "exec")
                problem = verdict(program, text, folder, f"shrunk_{program.seed}_{tries}", seconds)
            except Exception:  # a candidate that doesn't even load is no candidate
                continue
            if kind(problem) == first:
                source, shrunk = text, True
                break
            if tries >= limit:
                break
    return source


def check(seed: int, folder: pathlib.Path, calls: int | None = None) -> str | None:
    """The verdict on the program of this seed.  calls: how many of its calls are made, if not all."""
    program = make(seed)
    program = dataclasses.replace(program, calls=program.calls[:calls])
    return verdict(program, program.source, folder, f"program_{seed}")


def work(seed: int) -> tuple[int, str | None]:
    """One program in a worker process."""
    with tempfile.TemporaryDirectory() as folder:
        return seed, check(seed, pathlib.Path(folder))


def report(seed: int, problem: str, limit: int) -> None:
    """Print a failure with its shrunk program."""
    program = make(seed)
    with tempfile.TemporaryDirectory() as folder:
        source = shrink(program, pathlib.Path(folder), limit)
        problem = verdict(program, source, pathlib.Path(folder), f"final_{seed}") or problem
    print(f"--- program {seed}: {problem}\n{source}", flush=True)


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--programs", type=int, default=2000, help="how many (default 2000)")
    ask.add_argument("--seed", type=int, default=0, help="programs SEED*1000000 and following (default 0)")
    ask.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    ask.add_argument("--only", type=int, help="just this program number")
    ask.add_argument("--shrink", type=int, default=5, help="shrink this many failures (default 5)")
    opts = ask.parse_args()
    first = opts.seed * 1_000_000
    seeds = [opts.only] if opts.only is not None else range(first, first + opts.programs)
    failures = []
    with multiprocessing.get_context("spawn").Pool(opts.jobs) as pool:
        for seed, problem in pool.imap_unordered(work, seeds, chunksize=20 if len(seeds) > 1 else 1):
            if problem:
                failures.append((seed, problem))
                print(f"program {seed} differs: {problem[:300]}", flush=True)
    for seed, problem in sorted(failures)[: opts.shrink]:
        report(seed, problem, 600)
    print(f"{len(seeds)} programs, {len(failures)} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
