"""Where numbers of different kinds meet: which kinds the one after them is, and a choice between two.

In: numbers.  Out: kinds, or a number that is one of two.  What always holds: there are at most two kinds, and
the tag says which it is.
"""

from __future__ import annotations

from runtime.execute.native import ranges
from runtime.execute.native.emit import FALSE, TRUE, Emitter
from runtime.execute.native.kinds import (
    NARROW,
    PYTHON_INT,
    PYTHON_SMALL,
    PYTHON_WIDE,
    Members,
    Unlowered,
    payload,
)
from runtime.execute.native.values import Num, likely_of, span_of, widen


def joined(a: Members, b: Members) -> Members:
    """The kinds of a value that is one of `a` on one way and one of `b` on the other."""
    found = tuple(dict.fromkeys((*a, *b)))
    if len(found) > 2:
        raise Unlowered("a number of more than two kinds")
    if set(found) == {PYTHON_INT, PYTHON_WIDE}:
        return (PYTHON_WIDE,)
    if len(found) == 2:
        found = tuple(sorted(found, key=lambda s: (not s.weak, s.dtype.num)))
        payload(found)
    return found


def both_kinds(a: Num, b: Num) -> Members:
    """What a number is that is `a` on one way and `b` on the other: small ints are held as the other kind."""
    members = joined(_usual(a), _usual(b))
    small = PYTHON_SMALL in (a.members[0], b.members[0]) and is_small(a) and is_small(b)
    return (PYTHON_SMALL, members[1]) if small and members[-1] in NARROW else members


def _usual(x: Num) -> Members:
    return (PYTHON_INT, *x.members[1:]) if x.members[0] == PYTHON_SMALL else x.members


def is_small(x: Num) -> bool:
    """Whether a Python int that the number may be is known to be small."""
    if x.members[0] != PYTHON_INT:
        return True
    (low, high), (least, most) = span_of(x) if len(x.members) == 1 else (1, 0), ranges.whole(PYTHON_SMALL)
    return least <= low <= high <= most


def choose(e: Emitter, condition: str, a: Num, b: Num) -> Num:
    """`a if condition else b`."""
    if a == b or condition == TRUE:
        return a
    if condition == FALSE:
        return b
    members = both_kinds(a, b)
    span = likely = None
    if len(members) == 1 and members[0].kind != "f":
        span, likely = ranges.united(span_of(a), span_of(b)), ranges.united(likely_of(a), likely_of(b))
    with e.under(condition):
        left = widen(e, a, members)
    with e.under(e.negated(condition)):
        right = widen(e, b, members)
    return Num(
        members,
        e.select(condition, payload(members), left.text, right.text),
        e.select(condition, "i1", left.tag, right.tag),
        span=span,
        likely=likely if likely != span else None,
    )
