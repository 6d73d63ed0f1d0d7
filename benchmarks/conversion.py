"""How long conversion takes, and that its time grows in step with the length of the function.

In: nothing but the options.  Out: one line for each shape of function and size: milliseconds in all, for
each line, and that divided by the same of the size before (1.0: exactly linear).
What always holds: processor time is measured, the best of several runs, each on code that was never seen.

    python benchmarks/conversion.py --quick
"""

from __future__ import annotations

import argparse
import itertools
import linecache
import time
import types
from collections.abc import Callable, Sequence

import autograph as ag
from autograph.convert import converted

SIZES = (100, 1_000, 10_000)
QUICK = (100, 1_000)
_numbers = itertools.count(1)


def ifs(lines: int) -> list[str]:
    """Consecutive ifs."""
    return [text for k in range(lines // 2) for text in (f"if x > {k}:", f"    y = y + x * {k}")]


def arms(lines: int) -> list[str]:
    """Ifs with two arms, which bind several names."""
    return [
        text
        for k in range(lines // 5)
        for text in (f"if x > {k} and y < {k}:", f"    y = x + {k}", "    z = y", "else:", "    z = x - y")
    ]


def loops(lines: int) -> list[str]:
    """Loops of both kinds with a jump each."""
    return [
        text
        for k in range(lines // 5)
        for text in (
            f"for i in range({k}):" if k % 2 else f"while y < {k}:",
            f"    if x > {k}:",
            "        break",
            "    y = y + x",
            f"    z = y * {k}",
        )
    ]


def defs(lines: int) -> list[str]:
    """Inner functions and their calls."""
    return [
        text
        for k in range(lines // 4)
        for text in (
            f"def inner_{k}(a):",
            f"    b = a + {k}",
            "    return b if b > 0 else -b",
            f"y = y + inner_{k}(x)",
        )
    ]


def straight(lines: int) -> list[str]:
    """Assignments and calls, no control flow."""
    return [f"v{k % 50} = abs(x * {k} - v{max(k - 1, 0) % 50})" if k else "v0 = x" for k in range(lines)]


def nested(lines: int) -> list[str]:
    """Loops and ifs inside one another, three deep, next to each other."""
    return [
        text
        for k in range(lines // 6)
        for text in (
            f"for i in range({k}):",
            f"    if i > {k}:",
            "        while z > i:",
            "            z = z - i",
            "        y = y + z",
            "    z = z + x",
        )
    ]


def returns(lines: int) -> list[str]:
    """Early returns."""
    return [text for k in range(lines // 2) for text in (f"if x > {lines - k}:", f"    return y + {k}")]


SHAPES: dict[str, Callable[[int], list[str]]] = {
    "ifs": ifs,
    "arms": arms,
    "loops": loops,
    "defs": defs,
    "straight": straight,
    "nested": nested,
    "returns": returns,
}


def function(shape: str, lines: int) -> types.FunctionType:
    """A function of that shape and length, in a file that nobody has seen."""
    body = SHAPES[shape](lines)
    text = "def f(x, y, z):\n" + "".join(f"    {line}\n" for line in body) + "    return y\n"
    filename = f"<benchmark {shape} {next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space: dict[str, types.FunctionType] = {}
    exec(compile(text, filename, "exec"), space)
    return space["f"]


def seconds(shape: str, lines: int, runs: int) -> float:
    """The best processor time of several conversions."""
    found = []
    for _ in range(runs):
        made = function(shape, lines)
        start = time.process_time()
        converted(made)
        found.append(time.process_time() - start)
    return min(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--quick", action="store_true", help="leave out the largest size")
    parser.add_argument("--shape", action="append", choices=[*SHAPES], help="measure only this one")
    options = parser.parse_args(arguments)
    seconds("ifs", 100, 1)  # what is made at the first conversion only
    print(f"{'shape':10}{'lines':>8}{'ms':>10}{'ms/line':>10}{'ratio':>8}")
    for shape in options.shape or SHAPES:
        before = None
        for lines in QUICK if options.quick else SIZES:
            try:
                taken = 1e3 * seconds(shape, lines, 1 if lines > 1_000 else 3)
            except ag.ConversionRefused as refusal:
                print(f"{shape:10}{lines:>8}  refused: {refusal.what}")
                continue
            each = taken / lines
            ratio = "" if before is None else f"{each / before:8.2f}"
            print(f"{shape:10}{lines:>8}{taken:>10.1f}{each:>10.4f}{ratio}")
            before = each


if __name__ == "__main__":
    main()
