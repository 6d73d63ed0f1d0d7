"""Comparisons of floats that raise no flag for NaN, as NumPy's and Python's don't.

In: blocks of code, as text.  Out: the same blocks, with other comparisons where a processor has no quiet way
to do what is asked.  What always holds: results are the same; single floats whose comparison only decides
where to go on are left alone, since the instruction for that is quiet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runtime.pattern import pattern

_COMPARED = pattern(r"(%\S+) = fcmp ([ou][lg][te]) (double|float|<(\d+) x (double|float)>) ([^,]+), ([^,]+)$")
_PICKED = pattern(r"%\S+ = select i1 (%\S+), (?:double|float) (\S+), \w+ (\S+)$")
_LOGIC = pattern(r"(%\S+) = (?:and|or|xor) i1 (\S+), (\S+)$")


class Phi(Protocol):
    """What is asked of a phi."""

    name: str


class Block(Protocol):
    """What is asked of a block."""

    lines: list[str]

    @property
    def phis(self) -> Sequence[Phi]:
        """The phis."""


class Writer(Protocol):
    """What is asked of an emitter."""

    reports: bool

    def declare(self, text: str) -> None:
        """A declaration of the module."""


def quieten(e: Writer, blocks: Sequence[Block]) -> None:
    """Rewrite comparisons whose results pick floats, and those of vectors, where flags matter."""
    text = [x for block in blocks for x in block.lines] if e.reports else []
    compared = {m[1]: m for m in map(_COMPARED.match, text) if m}
    if not compared:
        return
    logic = {m[1]: m.groups()[1:] for m in map(_LOGIC.match, text) if m}
    arms = {m.groups() for m in map(_PICKED.match, text) if m}
    due, picks = {name for name, _, _ in arms}, set[str]()
    while due:
        name = due.pop()
        picks.add(name)
        due.update(x for x in logic.get(name, ()) if x not in picks)
    carried = {phi.name for block in blocks for phi in block.phis}
    extremes: dict[str, tuple[str, str]] = {}
    for name, x, best in arms:
        m = compared.get(name)
        if best in carried and x not in carried and m is not None and {x, best} == {m[6], m[7]}:
            if m[2] in ("ogt", "olt"):
                extremes[name] = x, best
    for block in blocks:
        block.lines = [y for x in block.lines for y in _rewritten(e, x, picks, extremes)]


def _rewritten(e: Writer, line: str, picks: set[str], extremes: dict[str, tuple[str, str]]) -> list[str]:
    """What stands in place of a line."""
    picked = _PICKED.match(line)
    if picked is not None and extremes.get(picked[1]) == picked.groups()[1:]:
        return [line.replace(f" {picked[2]},", f" {picked[1]}.quiet,")]
    m = _COMPARED.match(line)
    if m is None or not (m[4] or m[1] in picks):
        return [line]
    name, how, llvm, lanes, each, a, b = m.groups()
    if name in extremes:  # one instruction picks the larger of two, but isn't quiet: it is not shown NaN
        x, best = extremes[name]
        a, b = (f"{name}.quiet" if y == x else y for y in (a, b))
        return [
            f"{name}.nan = fcmp uno {llvm} {x}, {x}",
            f"{name}.some = select i1 {name}.nan, {llvm} {best}, {llvm} {x}",
            f'{name}.quiet = call {llvm} asm "", "=x,0"({llvm} {name}.some)',
            f"{name} = fcmp {how} {llvm} {a}, {b}",
        ]
    suffix = f"{f'v{lanes}' if lanes else ''}{'f64' if 'double' in (llvm, each) else 'f32'}"
    function, result = f"@llvm.experimental.constrained.fcmp.{suffix}", f"<{lanes} x i1>" if lanes else "i1"
    e.declare(f"declare {result} {function}({llvm}, {llvm}, metadata, metadata)")
    told = f'metadata !"{how}", metadata !"fpexcept.ignore"'
    return [f"{name} = call {result} {function}({llvm} {a}, {llvm} {b}, {told})"]
