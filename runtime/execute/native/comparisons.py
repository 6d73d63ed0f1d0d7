"""Comparisons of floats that raise no flag for NaN, as NumPy's and Python's don't.

In: blocks of code, as text.  Out: the same blocks, with other comparisons where a processor has no quiet way
to do what is asked.  What always holds: results are the same; single floats whose comparison only decides
where to go on are left alone, since the instruction for that is quiet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from re import Match
from typing import Protocol

from runtime.execute.native import host
from runtime.pattern import pattern

_COMPARED = pattern(r"(%\S+) = fcmp ([ou][lg][te]) (double|float|<(\d+) x (double|float)>) ([^,]+), ([^,]+)$")
_PICKED = pattern(r"%\S+ = select i1 (%\S+), (?:double|float) (\S+), \w+ (\S+)$")
_EXTREMES = {("olt", False): "min", ("ogt", True): "min", ("ogt", False): "max", ("olt", True): "max"}
_OPPOSITES = {"ule": "ogt", "uge": "olt"}
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
    if {"avx512f", "avx512dq"} <= host.flags():  # where one instruction chooses and can be told to be quiet
        for block in blocks:
            block.lines = [
                y for x in block.lines for y in _extreme(e, x, compared) or _rewritten(e, x, picks, {})
            ]
        return
    carried = {phi.name for block in blocks for phi in block.phis}
    extremes: dict[str, tuple[str, str]] = {}
    for name, x, best in arms:
        m = compared.get(name)
        if best in carried and x not in carried and m is not None and {x, best} == {m[6], m[7]}:
            if m[2] in ("ogt", "olt"):
                extremes[name] = x, best
    for block in blocks:
        block.lines = [y for x in block.lines for y in _rewritten(e, x, picks, extremes)]


def _extreme(e: Writer, line: str, compared: Mapping[str, Match[str]]) -> list[str]:
    """What stands in place of a choice of the lesser or the greater of two floats; empty where it is none.

    The instruction gives its second operand for equal ones and for NaN, and can be told to raise no flag.
    """
    picked = _PICKED.match(line)
    m = compared.get(picked[1]) if picked is not None else None
    if picked is None or m is None or m[4]:
        return []
    how, llvm, a, b = m[2], m[3], m[6], m[7]
    x, other = picked[2], picked[3]
    if how in _OPPOSITES:
        how, x, other = _OPPOSITES[how], other, x
    extreme = _EXTREMES.get((how, x == b))
    if extreme is None or {x, other} != {a, b}:
        return []
    name, lanes, short = line.partition(" ")[0], *((2, "sd") if llvm == "double" else (4, "ss"))
    wide = f"<{lanes} x {llvm}>"
    function = f"@llvm.x86.avx512.mask.{extreme}.{short}.round"
    e.declare(f"declare {wide} {function}({wide}, {wide}, {wide}, i8, i32)")
    return [
        f"{name}.first = insertelement {wide} zeroinitializer, {llvm} {x}, i32 0",
        f"{name}.second = insertelement {wide} zeroinitializer, {llvm} {other}, i32 0",
        f"{name}.both = call {wide} {function}({wide} {name}.first, {wide} {name}.second,"
        f" {wide} zeroinitializer, i8 -1, i32 8)",
        f"{name} = extractelement {wide} {name}.both, i32 0",
    ]


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
