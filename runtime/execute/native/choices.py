"""Choices between two numbers that depend on data: they stay choices, and become no branches.

In: blocks of code, as text, when all of them are written.  Out: the same blocks; a choice that was made of a
branch with cheap arms says that no processor foresees it.  What always holds: results are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runtime.execute.native.comparisons import Block, Writer, quieten
from runtime.pattern import pattern

_CHOICE = pattern(r"%\S+ = select i1 (%\S+), (?:i64|i32|double|float) [^,]+, [^,]+$")


class Chooser(Writer, Protocol):
    """What is asked of an emitter."""

    picks: set[str]


def finish(e: Chooser, blocks: Sequence[Block]) -> None:
    """What is left to do with comparisons and choices.

    LLVM makes a branch of a choice that the next trip waits for, taking it that processors foresee it: in a
    binary search they don't, and each wrong guess costs ten times as much as the choice.
    """
    quieten(e, blocks)
    for block in blocks:
        block.lines[:] = [
            f"{x}, !unpredictable !{{}}" if (m := _CHOICE.match(x)) and m[1] in e.picks else x
            for x in block.lines
        ]
