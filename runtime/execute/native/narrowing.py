"""What a condition that holds, or does not, says of the integers that were compared for it.

In: the LLVM name of a condition, and numbers that are used where it holds.  Out: the same numbers with
narrower spans.  What always holds: a number lies in its span wherever control gets with that condition.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from runtime.execute.native import ranges
from runtime.execute.native.emit import FALSE, TRUE, Emitter
from runtime.execute.native.kinds import PYTHON_BOOL
from runtime.execute.native.values import Num, Val, lift, span_of

_OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}


def compared(e: Emitter, condition: str, op: str, a: Num, b: Num) -> None:
    """Note that a condition is the comparison of two integers by value.

    The same comparison may be met again where more is known of them: what is said must hold everywhere.
    """
    before = e.says.get(condition)
    if before is not None:
        first = before[1:]
        if before[0] != op or [x.text for x in first] != [a.text, b.text]:
            e.says[condition] = ("", None, None)
            return
        a, b = (_either(x, y) for x, y in zip(first, (a, b), strict=True))
    e.says[condition] = (op, a, b)


def _either(x: Num, y: Num) -> Num:
    """A number of which no more is said than both say."""
    return x if x.const is not None else dataclasses.replace(x, span=ranges.united(span_of(x), span_of(y)))


def combined(e: Emitter, condition: str, choice: str, yes: str, no: str) -> None:
    """Note that a condition is `yes if choice else no`."""
    if condition in e.says or condition in (choice, yes, no):
        return
    if no == FALSE:
        e.says[condition] = ("both", choice, yes)
    elif yes == TRUE:
        e.says[condition] = ("either", choice, no)


def decided(x: Num, y: Num) -> bool:
    """Whether a bool says nothing but which way was taken, as after a `break`: a branch that the processor
    foresees is quicker than a number to wait for."""
    return type(x.const) is type(y.const) is bool and x.const != y.const


def narrowed(e: Emitter, condition: str, holds: bool, values: Sequence[Val]) -> list[Val]:
    """The values as they are known where the condition holds or does not hold."""
    spans: dict[str, ranges.Span] = {}
    bools: dict[str, bool] = {}
    for op, a, b in _learned(e, condition, holds, bools):
        known = [spans.get(x.text, span_of(x)) for x in (a, b)]
        for x, span in zip((a, b), ranges.compared(op, *known), strict=True):
            if x.const is None and span[0] <= span[1]:
                spans[x.text] = span
    return [_within(x, spans, bools) for x in values]


def _within(x: Val, spans: dict[str, ranges.Span], bools: dict[str, bool]) -> Val:
    if not isinstance(x, Num) or x.const is not None or len(x.members) != 1:
        return x
    if x.scalar is PYTHON_BOOL and x.text in bools:
        return lift(bools[x.text])
    return dataclasses.replace(x, span=spans[x.text]) if x.text in spans else x


def _learned(e: Emitter, condition: str, holds: bool, bools: dict[str, bool]) -> list[tuple[str, Num, Num]]:
    """The comparisons that are known to hold; and into `bools`, which conditions do."""
    bools[condition] = holds
    op, a, b = e.says.get(condition, ("", None, None))
    if not op:
        return []
    if op == "not":
        return _learned(e, a, not holds, bools)
    if op in ("both", "either"):
        known = holds == (op == "both")
        return [*_learned(e, a, holds, bools), *_learned(e, b, holds, bools)] if known else []
    return [(op if holds else _OPPOSITE[op], a, b)]
