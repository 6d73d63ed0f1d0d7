"""Integer arithmetic that leaves to the plan wherever the exact result does not fit.

In: numbers of one integer kind.  Out: numbers of that kind.  What always holds: NumPy would warn, and a
Python int would grow, in just the cases that bail out here.
"""

from __future__ import annotations

from runtime.execute.native import ranges
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.values import EXACT, Num, likely_of, one, span_of

RARE = 1 << 53  # hardly a number is larger
_NAMES = {"add": "add", "sub": "sub", "mul": "mul"}
_ORDER = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def checked(e: Emitter, op: str, x: Num, y: Num) -> Num:
    """`x op y` for + - *."""
    kind = x.scalar
    if x.const is not None and y.const is not None:
        value = {"add": x.const + y.const, "sub": x.const - y.const, "mul": x.const * y.const}[op]
        low, high = (-(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1)
        if kind.kind == "i" and kind.weak and low <= value <= high:
            return one(kind, str(value), value)
    sign = "s" if kind.kind == "i" else "u"
    llvm, combine = kind.llvm, ranges.OF_OPERATOR[op]
    span, likely = combine(span_of(x), span_of(y)), combine(likely_of(x), likely_of(y))
    assert span is not None and likely is not None
    if ranges.inside(span, kind):
        text = e.op(f"{_NAMES[op]} n{sign}w {llvm} {x.text}, {y.text}")
        _note(e, op, text, x, y)
        return one(kind, text, span=span, likely=likely)
    if ranges.inside(likely, kind):
        return one(kind, e.op(f"{_NAMES[op]} {llvm} {x.text}, {y.text}"), likely=likely)
    if e.wraps and not kind.weak:
        return one(kind, e.op(f"{_NAMES[op]} {llvm} {x.text}, {y.text}"))
    e.wrapping += not kind.weak
    if e.noting and not kind.weak:
        value_text, over = with_overflow(e, sign, op, x, y)
        e.note_if(over)
        return one(kind, value_text)
    limited, fits = (None, ranges.whole(kind)) if sign == "u" else beyond(e, op, x, y)
    likely = ranges.cut(likely, fits)
    span = ranges.cut(span, fits) if e.prompt() else None
    if limited is not None:
        e.defer_if(limited, likely[1] > RARE)
        text = e.op(f"{_NAMES[op]}{f' n{sign}w' if span else ''} {llvm} {x.text}, {y.text}")
        if span:
            _note(e, op, text, x, y)
        return one(kind, text, span=span, likely=likely)
    many = e.gang is not None and (e.gang.varies(x.text) or e.gang.varies(y.text))
    if op == "mul" and kind.bits == 64 and many:
        value_text, over = _small_product(e, sign, x, y)
    else:
        value_text, over = with_overflow(e, sign, op, x, y)
    e.defer_if(over)
    return one(kind, value_text, span=span, likely=likely)


def with_overflow(e: Emitter, sign: str, op: str, x: Num, y: Num) -> tuple[str, str]:
    """The result in as many bits as there are, and whether these are too few."""
    llvm = x.llvm
    function = f"llvm.{sign}{_NAMES[op]}.with.overflow.{llvm}"
    e.declare(f"declare {{ {llvm}, i1 }} @{function}({llvm}, {llvm})")
    both = e.op(f"call {{ {llvm}, i1 }} @{function}({llvm} {x.text}, {llvm} {y.text})")
    first, second = (e.op(f"extractvalue {{ {llvm}, i1 }} {both}, {k}") for k in range(2))
    return first, second


def _small_product(e: Emitter, sign: str, x: Num, y: Num) -> tuple[str, str]:
    """The same of a product in all lanes: no overflow is looked for where all factors have half the bits."""
    gang = e.gang
    assert gang is not None
    large = e.either(*(_beyond(e, sign, v.text, 1 << 31) for v in (x, y)))
    slow, fast, out = e.block("slow"), e.block("fast"), e.block("multiplied")
    found, failed = e.phi(out, "i64"), e.phi(out, "i1")
    e.branch(gang.any(e, large), slow, fast)
    for block in (fast, slow):
        e.start(block)
        with e.scope():
            plain = e.op(f"mul i64 {x.text}, {y.text}") if block is fast else ""
            made = (plain, "false") if plain else with_overflow(e, sign, "mul", x, y)
            for phi, text in zip((found, failed), made, strict=True):
                e.way(phi, text)
            e.jump(out)
    e.start(out)
    return found.name, failed.name


def _note(e: Emitter, op: str, text: str, x: Num, y: Num) -> None:
    """Note how far a sum that fits is from its operand that is no constant."""
    if op == "add" and x.const is not None:
        x, y = y, x
    if y.const is not None and op != "mul":
        e.moved(text, x.text, int(y.const) if op == "add" else -int(y.const))


def beyond(e: Emitter, op: str, x: Num, y: Num) -> tuple[str | None, ranges.Span]:
    """Whether the result is beyond the range, as a comparison of the operand that is no constant; a
    processor computes it beside the result.  None where neither is a positive constant.  And what a result
    that is not beyond lies in."""
    if x.const is not None and op != "sub":
        x, y = y, x
    least, most = ranges.whole(x.scalar)
    if y.const is None or y.const <= 0 or (op == "mul" and y.const < 2):
        return None, (least, most)
    llvm, c = x.llvm, int(y.const)
    if op == "add":
        return e.op(f"icmp sgt {llvm} {x.text}, {most - c}"), (least, most)
    if op == "sub":
        return e.op(f"icmp slt {llvm} {x.text}, {least + c}"), (least, most)
    limit = most // c
    if span_of(x)[0] >= 0:
        return e.op(f"icmp ugt {llvm} {x.text}, {limit}"), (0, limit * c)
    above = e.op(f"icmp ugt {llvm} {e.op(f'add {llvm} {x.text}, {limit}')}, {2 * limit}")
    return above, (-limit * c, limit * c)


def guard_divisor(e: Emitter, x: Num, y: Num) -> None:
    """Leave to the plan for a divisor 0, and for the least integer divided by -1."""
    llvm = y.llvm
    if y.const is not None and y.const not in (0, -1):
        return
    a, b = span_of(x), span_of(y)
    if e.prompt() and x.scalar.kind == "i" and b[0] <= -1 and b[1] >= 0 and a[0] == ranges.whole(x.scalar)[0]:
        with e.seldom(e.op(f"icmp ult {llvm} {e.op(f'add {llvm} {y.text}, 1')}, 2")):
            e.bail_if(e.op(f"icmp eq {llvm} {y.text}, 0"))
            e.bail_if(e.op(f"icmp eq {llvm} {x.text}, {a[0]}"))
        return
    if b[0] <= 0 <= b[1]:
        e.bail_if(e.op(f"icmp eq {llvm} {y.text}, 0"))
    if x.scalar.kind == "i" and b[0] <= -1 <= b[1] and a[0] == ranges.whole(x.scalar)[0]:
        least = e.op(f"icmp eq {llvm} {x.text}, {-(1 << (x.scalar.bits - 1))}")
        e.bail_if(e.both(least, e.op(f"icmp eq {llvm} {y.text}, -1")))


def divisor(e: Emitter, y: Num) -> str:
    """The divisor, made harmless where the code does not count: dividing by zero would trap."""
    if e.when == "true" or (y.const is not None and y.const not in (0, -1)):
        return y.text
    return e.select(e.when, y.llvm, y.text, "1")


def floor_div(e: Emitter, x: Num, y: Num) -> Num:
    """`x // y`, rounded down."""
    guard_divisor(e, x, y)
    kind, llvm = x.scalar, x.llvm
    d = divisor(e, y)
    a, b = span_of(x), span_of(y)
    span = ranges.divided(a, b) if kind.kind == "i" else None
    if y.const is not None and y.const > 0 and y.const & (y.const - 1) == 0:
        shift = "lshr" if kind.kind == "u" or a[0] >= 0 else "ashr"
        return one(kind, e.op(f"{shift} {llvm} {x.text}, {int(y.const).bit_length() - 1}"), span=span)
    if kind.kind == "u" or (a[0] >= 0 and b[0] > 0):
        return one(kind, quotient(e, "u", x, d), span=span)
    whole = quotient(e, "s", x, d)
    down = crossing(e, x, d)
    if e.prompt() and y.const is None:
        with e.seldom(down) as (before, out):
            phi = e.phi(out, llvm)
            phi.ways = [(whole, before.label), (e.op(f"add {llvm} {whole}, -1"), e.here.label)]
        return one(kind, phi.name, span=span)
    return one(kind, e.op(f"add {llvm} {whole}, {e.op(f'sext i1 {down} to {llvm}')}"), span=span)


def quotient(e: Emitter, sign: str, x: Num, d: str) -> str:
    """`x / d` without what is behind the point; d is not zero."""
    if e.gang is None or not (e.gang.varies(x.text) or e.gang.varies(d)):
        return e.op(f"{sign}div {x.llvm} {x.text}, {d}")
    return _by_floats(e, sign, x, d)


def remainder(e: Emitter, sign: str, x: Num, d: str) -> str:
    """What is left of x after that, with its sign."""
    if e.gang is None or not (e.gang.varies(x.text) or e.gang.varies(d)):
        return e.op(f"{sign}rem {x.llvm} {x.text}, {d}")
    product = e.op(f"mul {x.llvm} {_by_floats(e, sign, x, d)}, {d}")
    return e.op(f"sub {x.llvm} {x.text}, {product}")


def _by_floats(e: Emitter, sign: str, x: Num, d: str) -> str:
    """A quotient of vectors, which no processor has an instruction for: that of doubles, cut off, is the same
    where the integers are exact as doubles, since no quotient of such is so near below a whole number that it
    would be rounded to it."""
    llvm, gang = x.llvm, e.gang
    assert gang is not None
    if gang.uneven and d.startswith("%"):  # four times as long as one division: it pays in busy lanes only
        raise Unlowered("a division of integers in a loop that each element leaves when it will")

    def divided() -> str:
        a, b = (e.op(f"{sign}itofp {llvm} {v} to double") for v in (x.text, d))
        return e.op(f"fpto{sign}i double {e.op(f'fdiv double {a}, {b}')} to {llvm}")

    if x.scalar.bits <= 32:
        return divided()
    text = f"{sign}div {llvm} {x.text}, {d}"
    key = f"{text} when {e.when}"
    if key in e.memo:
        return e.memo[key]
    slow, fast, out = e.block("slow"), e.block("fast"), e.block("divided")
    found = e.phi(out, llvm)
    e.branch(gang.any(e, e.either(*(_beyond(e, sign, v, EXACT) for v in (x.text, d)))), slow, fast)
    for block, compute in ((fast, divided), (slow, lambda: e.op(text))):
        e.start(block)
        with e.scope():
            e.way(found, compute())
            e.jump(out)
    e.start(out)
    e.memo[key] = found.name
    return found.name


def _beyond(e: Emitter, sign: str, x: str, limit: int) -> str:
    """Whether an integer of 64 bits is larger than the limit, or smaller than its opposite."""
    if not x.startswith("%"):
        return str(abs(int(x)) > limit).lower()
    if sign == "u":
        return e.op(f"icmp ugt i64 {x}, {limit}")
    return e.op(f"icmp ugt i64 {e.op(f'add i64 {x}, {limit}')}, {2 * limit}")


def crossing(e: Emitter, x: Num, d: str) -> str:
    """Whether the quotient is not whole and of another sign, so that rounding down goes one further."""
    llvm = x.llvm
    rest = remainder(e, "s", x, d)
    differs = e.op(f"icmp slt {llvm} {e.op(f'xor {llvm} {rest}, {d}')}, 0")
    return e.both(e.op(f"icmp ne {llvm} {rest}, 0"), differs)


def floor_mod(e: Emitter, x: Num, y: Num) -> Num:
    """`x % y`, with the sign of the divisor."""
    guard_divisor(e, x, y)
    kind, llvm = x.scalar, x.llvm
    d = divisor(e, y)
    a, b = span_of(x), span_of(y)
    span = ranges.remaining(a, b) if kind.kind == "i" else None
    if kind.kind == "i" and span == a and b[0] > a[1] >= a[0] >= 0:
        return x
    if y.const is not None and y.const > 0 and y.const & (y.const - 1) == 0:
        return one(kind, e.op(f"and {llvm} {x.text}, {y.const - 1}"), span=span)
    if kind.kind == "u" or (a[0] >= 0 and b[0] > 0):
        return one(kind, remainder(e, "u", x, d), span=span)
    rest = remainder(e, "s", x, d)
    if e.prompt() and y.const is None:
        with e.seldom(crossing(e, x, d)) as (before, out):
            phi = e.phi(out, llvm)
            phi.ways = [(rest, before.label), (e.op(f"add {llvm} {rest}, {d}"), e.here.label)]
        return one(kind, phi.name, span=span)
    more = e.select(crossing(e, x, d), llvm, d, "0")
    return one(kind, e.op(f"add {llvm} {rest}, {more}"), span=span)


def shift(e: Emitter, op: str, x: Num, y: Num) -> Num:
    """`x << y` or `x >> y`; NumPy's counts beyond the width push every bit out."""
    kind, llvm, bits = x.scalar, x.llvm, x.scalar.bits
    inside = e.op(f"icmp ult {llvm} {y.text}, {bits}")
    count = e.select(inside, llvm, y.text, "0")
    if op == "rshift":
        if kind.kind == "u":
            return one(kind, e.select(inside, llvm, e.op(f"lshr {llvm} {x.text}, {count}"), "0"))
        count = e.select(inside, llvm, y.text, str(bits - 1))
        span = ranges.OF_OPERATOR["rshift"](span_of(x), span_of(y))
        return one(kind, e.op(f"ashr {llvm} {x.text}, {count}"), span=span)
    moved = e.op(f"shl {llvm} {x.text}, {count}")
    if kind.weak:
        e.defer_if(e.negated(inside))
        e.defer_if(e.op(f"icmp ne {llvm} {e.op(f'ashr {llvm} {moved}, {count}')}, {x.text}"))
        return one(kind, moved)
    return one(kind, e.select(inside, llvm, moved, "0"))


def compare_ints(e: Emitter, op: str, kind: str, llvm: str, x: str, y: str) -> str:
    """A comparison of two integers of one width."""
    if op in ("eq", "ne"):
        return e.op(f"icmp {op} {llvm} {x}, {y}")
    if op not in _ORDER:
        raise Unlowered(f"the comparison {op}")
    return e.op(f"icmp {'s' if kind == 'i' else 'u'}{_ORDER[op]} {llvm} {x}, {y}")
