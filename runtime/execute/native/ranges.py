"""What range an integer is known to lie in, so that what can't overflow is not checked.

In: spans, pairs (least, most) of Python ints, of operands.  Out: the span of the result, or None where it may
not fit in 64 bits.  What always holds: a value lies in its span.  A number that begins at `START` at most and
only ever grows by small constants can't get beyond `SLOW` while a process lives: that would take years.

`SLOW` is a number that programs do not have, so that a span which ends there, or just before, says how a
number came about; one that is as large for another reason may well grow beyond it.
"""

from __future__ import annotations

from collections.abc import Callable

from runtime.execute.native.kinds import Scalar

Span = tuple[int, int]
SLOW = (1 << 62) - 917_405_613
NEAR = 1 << 12  # a span that ends so far before it comes of one that ends there
START = 1 << 61  # where such a number may begin
STEP = 64  # how much it may grow at a time
SIZE = 1 << 47  # no axis is longer


def whole(kind: Scalar) -> Span:
    """All that a kind of integer or bool can be."""
    if kind.kind == "b":
        return 0, 1
    if kind.kind == "u":
        return 0, (1 << kind.bits) - 1
    return -(1 << kind.bits - 1), (1 << kind.bits - 1) - 1


def inside(span: Span, kind: Scalar) -> bool:
    """Whether all of a span can be held."""
    low, high = whole(kind)
    return low <= span[0] and span[1] <= high


def added(a: Span, b: Span) -> Span:
    """The span of a sum."""
    low, high = a[0] + b[0], a[1] + b[1]
    for x, step in ((a, b), (b, a)):
        if -STEP <= step[0] and step[1] <= STEP:
            if _slow(x[1]):
                high = SLOW
            if _slow(-x[0]):
                low = -SLOW
    return low, high


def negated(a: Span) -> Span:
    """The span of the negative."""
    return -a[1], -a[0]


def multiplied(a: Span, b: Span) -> Span:
    """The span of a product."""
    found = [x * y for x in a for y in b]
    return min(found), max(found)


def divided(a: Span, b: Span) -> Span | None:
    """The span of a quotient rounded down, by a number that is positive."""
    if b[0] <= 0:
        return None
    found = [x // y for x in a for y in b]
    return min(found), max(found)


def remaining(a: Span, b: Span) -> Span | None:
    """The span of a remainder with the sign of the divisor, which is positive."""
    if b[0] <= 0:
        return None
    if 0 <= a[0] and a[1] < b[0]:
        return a
    return 0, min(b[1] - 1, a[1]) if a[0] >= 0 else b[1] - 1


def masked(a: Span, b: Span) -> Span | None:
    """The span of `a & b`."""
    tops = [x[1] for x in (a, b) if x[0] >= 0]
    return (0, min(tops)) if tops else None


def filled(a: Span, b: Span) -> Span | None:
    """The span of `a | b` and of `a ^ b`."""
    if a[0] < 0 or b[0] < 0:
        return None
    return 0, (1 << max(a[1].bit_length(), b[1].bit_length())) - 1


def united(a: Span, b: Span) -> Span:
    """The least span that holds both, or one that is larger where only one of them grows slowly."""
    low, high = min(a[0], b[0]), max(a[1], b[1])
    if _slow(high) and (_far(a[1]) or _far(b[1])):
        high = 1 << 62
    if _slow(-low) and (_far(-a[0]) or _far(-b[0])):
        low = -(1 << 62)
    return low, high


def cut(a: Span, b: Span) -> Span:
    """What is in both; empty (the least above the most) where nothing is."""
    return max(a[0], b[0]), min(a[1], b[1])


def compared(op: str, a: Span, b: Span) -> tuple[Span, Span]:
    """The spans of two numbers for which a comparison holds."""
    if op in ("gt", "ge"):
        second, first = compared("lt" if op == "gt" else "le", b, a)
        return first, second
    if op == "eq":
        return cut(a, b), cut(a, b)
    if op == "ne":
        return _without(a, b), _without(b, a)
    less = int(op == "lt")
    return (a[0], min(a[1], b[1] - less)), (max(b[0], a[0] + less), b[1])


def _without(a: Span, b: Span) -> Span:
    """A span without the one number that another is, if that is its least or its most."""
    if b[0] != b[1]:
        return a
    return a[0] + (a[0] == b[0]), a[1] - (a[1] == b[0])


def begun(a: Span) -> Span:
    """The span that a number carried by a loop is first taken to have, from what it begins with."""
    if a[0] < -START or a[1] > START:
        return a
    return (a[0] if a[0] >= 0 else -SLOW), SLOW


def holds(known: Span, found: Span) -> bool:
    """Whether a number that a loop carries, known to lie in a span, may be one that lies in another."""
    if found[0] < known[0] or known[1] < found[1]:
        return False
    return not (_slow(known[1]) and _far(found[1])) and not (_slow(-known[0]) and _far(-found[0]))


def widened(known: Span, found: Span) -> Span:
    """The next guess where a trip gave a number outside the span."""
    if holds(known, found):
        return known
    least, most = united(known, found)
    if least < -SLOW or most > SLOW or _far(-least) or _far(most):
        return (least if least == known[0] >= 0 else 0 if least >= 0 else -(1 << 63)), (1 << 63) - 1
    return (least if least == known[0] else 0 if least >= 0 else -SLOW), SLOW


def _slow(most: int) -> bool:
    """Whether a span ends here since its numbers grow slowly."""
    return SLOW - NEAR <= most <= SLOW


def _far(most: int) -> bool:
    """Whether a number may be so large for another reason that it gets beyond `SLOW` by growing slowly."""
    return START < most < SLOW - NEAR


OF_OPERATOR: dict[str, Callable[[Span, Span], Span | None]] = {
    "add": added,
    "sub": lambda a, b: added(a, negated(b)),
    "mul": multiplied,
    "floordiv": divided,
    "mod": remaining,
    "and_": masked,
    "or_": filled,
    "xor": filled,
    "rshift": lambda a, b: (a[0] >> b[0], a[1] >> b[0]) if b[0] == b[1] and 0 <= b[0] < 64 else None,
}
