"""Instructions on floats of one width, on as many lanes as the emitter works on.

In: names of values.  Out: names of values.  What always holds: nothing is reordered or contracted, so that
functions written with these give the same bits however many lanes there are.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from runtime.execute.native import host
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Scalar, literal

MANTISSA, BIAS = {64: 52, 32: 23}, {64: 1023, 32: 127}
MAGIC = {64: 6755399441055744.0, 32: 12582912.0}  # adding it rounds to a whole number


def bit_pattern(value: float, bits: int) -> int:
    """The bits of a float as an integer."""
    kind, code = ("<d", "<q") if bits == 64 else ("<f", "<i")
    return int(struct.unpack(code, struct.pack(kind, value))[0])


def pieces(e: Emitter, llvm: str, value: str, size: int) -> list[str]:
    """A vector as smaller ones."""
    if size == e.lanes:
        return [value]
    wide, found = e.wide(llvm), []
    for first in range(0, e.lanes, size):
        mask = ", ".join(f"i32 {first + k}" for k in range(size))
        found.append(e.op(f"shufflevector {wide} {value}, {wide} poison, <{size} x i32> <{mask}>"))
    return found


def together(e: Emitter, llvm: str, parts: list[str]) -> str:
    """Vectors side by side as one."""
    size = e.lanes // len(parts)
    while len(parts) > 1:
        wide, mask = f"<{size} x {llvm}>", ", ".join(f"i32 {k}" for k in range(2 * size))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [e.op(f"shufflevector {wide} {a}, {wide} {b}, <{2 * size} x i32> <{mask}>") for a, b in pairs]
        size *= 2
    return parts[0]


def keep_lanes(e: Emitter, llvm: str, value: str) -> None:
    """Have a value computed in all lanes, though only some pick it: computing it may raise a flag."""
    if not e.reports:
        return
    each = {"double": 64, "float": 32}.get(llvm) or int(llvm[1:])
    size = min(e.lanes, host.vector_bytes() * 8 // each)
    vector = size * each >= 128 or (e.lanes == 1 and llvm in ("double", "float"))
    t, place = llvm if size == 1 else f"<{size} x {llvm}>", "x" if vector else "r"
    for part in pieces(e, llvm, value, size):
        if not vector and size > 1:
            bits = f"i{size * each}"
            held = f"{bits} {e.op(f'bitcast {t} {part} to {bits}')}"
        else:
            held = f"{t} {part}"
        effect = "nounwind memory(inaccessiblemem: readwrite)"
        e.line(f'call void asm sideeffect "", "{place}"({held}) {effect}')


class Lanes:
    """Instructions on floats of one width, on all lanes of the emitter."""

    def __init__(self, e: Emitter, kind: Scalar) -> None:
        self.e, self.bits, self.scalar = e, kind.bits, kind.llvm
        self.whole = f"i{kind.bits}"
        self.type, self.int, self.mask = e.wide(self.scalar), e.wide(self.whole), e.wide("i1")
        self.suffix = f"{f'v{e.lanes}' if e.lanes > 1 else ''}f{kind.bits}"

    def c(self, value: float) -> str:
        """A constant."""
        return self.e.splat(self.scalar, literal(value, self.scalar))

    def ci(self, value: int) -> str:
        """An integer constant."""
        return self.e.splat(self.whole, str(value))

    def add(self, a: str, b: str) -> str:
        """A sum."""
        return self.e.op(f"fadd {self.type} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        """A difference."""
        return self.e.op(f"fsub {self.type} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        """A product."""
        return self.e.op(f"fmul {self.type} {a}, {b}")

    def div(self, a: str, b: str) -> str:
        """A quotient."""
        return self.e.op(f"fdiv {self.type} {a}, {b}")

    def neg(self, a: str) -> str:
        """The opposite."""
        return self.e.op(f"fneg {self.type} {a}")

    def fma(self, a: str, b: str, c: str) -> str:
        """`a * b + c`, rounded once."""
        t = self.type
        return self.e.call(t, f"llvm.fma.{self.suffix}", (t, a), (t, b), (t, c))

    def named(self, name: str, *args: str) -> str:
        """One of LLVM's functions on floats."""
        return self.e.call(self.type, f"llvm.{name}.{self.suffix}", *((self.type, a) for a in args))

    def i(self, op: str, a: str, b: str) -> str:
        """An integer operation."""
        return self.e.op(f"{op} {self.int} {a}, {b}")

    def pattern(self, a: str) -> str:
        """The bits of floats."""
        return self.e.op(f"bitcast {self.type} {a} to {self.int}")

    def value(self, a: str) -> str:
        """The floats of bits."""
        return self.e.op(f"bitcast {self.int} {a} to {self.type}")

    def where(self, test: str, a: str, b: str) -> str:
        """`a` in the lanes where the test holds."""
        return self.e.op(f"select {self.mask} {test}, {self.type} {a}, {self.type} {b}")

    def test(self, how: str, a: str, b: str) -> str:
        """A comparison."""
        return self.e.op(f"fcmp {how} {self.type} {a}, {b}")

    def itest(self, how: str, a: str, b: str) -> str:
        """A comparison of integers."""
        return self.e.op(f"icmp {how} {self.int} {a}, {b}")

    def poly(self, x: str, coefficients: Sequence[float]) -> str:
        """A polynomial, the constant term first."""
        r = self.c(coefficients[-1])
        for k in reversed(coefficients[:-1]):
            r = self.fma(r, x, self.c(k))
        return r

    def halves(self, x: str, square: str, coefficients: Sequence[float]) -> str:
        """The same in half the time, from even and odd powers."""
        even, odd = (self.poly(square, coefficients[k::2]) for k in (0, 1))
        return self.fma(odd, x, even)

    def quiet(self, how: str, a: str, b: str) -> str:
        """A comparison that raises no flag for NaN."""
        function = f"llvm.experimental.constrained.fcmp.{self.suffix}"
        self.e.declare(f"declare {self.mask} @{function}({self.type}, {self.type}, metadata, metadata)")
        told = f'metadata !"{how}", metadata !"fpexcept.ignore"'
        return self.e.op(f"call {self.mask} @{function}({self.type} {a}, {self.type} {b}, {told})")

    def nearest(self, x: str, factor: float) -> tuple[str, str]:
        """`x * factor` as a whole number: as a float, and as an integer."""
        magic = self.c(MAGIC[self.bits])
        t = self.fma(x, self.c(factor), magic)
        k = self.i("sub", self.pattern(t), self.ci(bit_pattern(MAGIC[self.bits], self.bits)))
        return self.sub(t, magic), k

    def power_of_two(self, k: str) -> str:
        """2**k in the range of normal numbers."""
        return self.value(
            self.i("shl", self.i("add", k, self.ci(BIAS[self.bits])), self.ci(MANTISSA[self.bits]))
        )

    def scales(self) -> bool:
        """Whether the processor multiplies by powers of two itself, whatever comes of it."""
        return self.e.lanes * self.bits % 512 == 0 and "avx512f" in host.flags()

    def scaled(self, p: str, k: str, ki: str = "") -> str:
        """`p * 2**k`, rounded once; k as a float, whose floor the processor takes, and as an integer."""
        if self.scales():
            short, mask = ("pd", "i8") if self.bits == 64 else ("ps", "i16")
            e, t = self.e, f"<{512 // self.bits} x {self.scalar}>"
            pairs = zip(self.registers(p), self.registers(k), strict=True)
            name, more = f"llvm.x86.avx512.mask.scalef.{short}.512", ((mask, "-1"), ("i32", "4"))
            found = [e.call(t, name, (t, a), (t, b), (t, "undef"), *more) for a, b in pairs]
            return together(e, self.scalar, found)
        half = self.i("ashr", ki, self.ci(1))
        return self.mul(self.mul(p, self.power_of_two(half)), self.power_of_two(self.i("sub", ki, half)))

    def size(self, x: str) -> str:
        """The bits of floats without their signs, which are ordered as their sizes are."""
        return self.i("and", self.pattern(x), self.ci((1 << self.bits - 1) - 1))

    def outside(self, size: str, low: float, high: float) -> str:
        """Whether bits are not those of a size from low to below high."""
        least = bit_pattern(low, self.bits)
        span = bit_pattern(high, self.bits) - least
        return self.itest("uge", self.i("sub", size, self.ci(least)), self.ci(span))

    def registers(self, x: str) -> list[str]:
        """Floats in registers of 512 bits."""
        return pieces(self.e, self.scalar, x, 512 // self.bits)

    def beyond(self, x: str, limit: float) -> str:
        """Whether the size of x is greater than the limit, or x is NaN."""
        return self.itest("sgt", self.size(x), self.ci(bit_pattern(limit, self.bits)))

    def any(self, test: str) -> str:
        """Whether a test holds in any lane."""
        if self.e.lanes == 1:
            return test
        return self.e.call("i1", f"llvm.vector.reduce.or.v{self.e.lanes}i1", (self.mask, test))

    def unusual(self, x: str) -> str:
        """Whether x is anything but a positive, normal, finite number."""
        return self.outside(self.pattern(x), float(np.finfo(f"f{self.bits // 8}").tiny), float("inf"))
