"""Numbers that a loop carries from trip to trip: the operator by which they grow, whatever order is taken.

In: the lines of a trip, as one block.  Out: operators, and the lines such that a number is only read by its
operator.  What always holds: the lines mean the same as before, given that each sum in `bounded` fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from runtime.execute.native import host
from runtime.pattern import pattern

NAMES = pattern(r"%[\w.]+")
OVERFLOW = pattern(r"call \{ \w+, i1 \} @llvm\.([su]\w+\.with\.overflow)\.(\w+)\(\w+ (\S+), \w+ (\S+)\)$")
PART = pattern(r"extractvalue \{ (\w+), i1 \} (\S+), ([01])$")
_LINE = pattern(r"(%\S+) = (.*)")
_GROWS = pattern(r"(%\S+) = (add|sub|or|and|xor)(?: n[us]w)* (i\w+) (\S+), (\S+)$")
_COMPARED = pattern(r"(%\S+) = ([if])cmp ([sou]?)([gl])[te] \w+ (\S+), (\S+)$")
_PICKED = pattern(r"(%\S+) = select i1 (\S+), (\w+) (\S+), \w+ (\S+)$")

_TURNED = {"add": 0b01000010, "sub": 0b00011000}  # for each of x, y and the result: whether it does not fit


class Writer(Protocol):
    """What is asked of an emitter."""

    def declare(self, text: str) -> None:
        """A declaration of the module."""


class Growing:
    """text: the lines.  bounded: sums that must fit: the number that grows, the sign, and what is added."""

    def __init__(self, text: list[str], fresh: Callable[[], str]) -> None:
        self.text, self.fresh = text, fresh
        self.bounded: list[tuple[str, str, str]] = []

    def operator(self, first: str, last: str) -> str:
        """The operator by which a number, called `last` after the trip, grows; empty where there is none."""
        at, op = first, ""
        while at != last:
            found = self._extreme(at)
            if found is None:
                self._unchecked(first, at)
                self._unconditional(first, at)
                found = self._grown(at)
            if found is None or op not in ("", found[0]):
                return ""
            op, at = found
        return "" if self.users(at) else op

    def users(self, name: str) -> list[int]:
        """The lines that read a value."""
        return [k for k, x in enumerate(self.text) if name in NAMES.findall(x.partition(" = ")[2] or x)]

    def _line(self, k: int, what: str) -> None:
        self.text[k] = f"{self._name(k)} = {what}"

    def _name(self, k: int) -> str:
        return self.text[k].partition(" = ")[0]

    def _grown(self, at: str) -> tuple[str, str] | None:
        """The operator and the name of the only use of a number."""
        users = self.users(at)
        m = _GROWS.match(self.text[users[0]]) if len(users) == 1 else None
        if m is None or m[4] == m[5] or (m[2] == "sub" and m[4] != at):
            return None
        op, a, b = m[2], m[4], m[5]
        if op == "sub":
            op, a, b = "add", at, self.fresh()
            self.text.insert(users[0], f"{b} = sub {m[3]} 0, {m[5]}")
        self._line(self.users(at)[0], f"{op} {m[3]} {a}, {b}")  # it may wrap on the way
        return op, m[1]

    def _extreme(self, at: str) -> tuple[str, str] | None:
        """The same of a number that becomes another one where that is larger, or smaller."""
        users = self.users(at)
        if len(users) != 2:
            return None
        m, picked = _COMPARED.match(self.text[users[0]]), _PICKED.match(self.text[users[1]])
        if m is None or picked is None or picked[2] != m[1] or self.users(m[1]) != users[1:]:
            return None
        if at not in (m[5], m[6]) or {m[5], m[6]} != {picked[4], picked[5]} or m[5] == m[6]:
            return None
        if m[2] == "f" and (picked[5] != at or m[3] != "o"):
            return None  # NaN takes another way
        up = (m[4] == "g") == (picked[4] == m[5])
        return f"{'f' if m[2] == 'f' else m[3]}{'max' if up else 'min'}", picked[1]

    def _unchecked(self, first: str, at: str) -> None:
        """Take the check from a sum."""
        users = self.users(at)
        m = OVERFLOW.match(self.text[users[0]].partition(" = ")[2]) if users else None
        if m is None or m[1][1:4] not in ("add", "sub") or m[3] == m[4]:
            return
        if m[1][1:4] == "sub" and (m[3] != at or m[1][0] == "u"):
            return
        for k in self.users(self._name(users[0])):
            part = PART.match(self.text[k].partition(" = ")[2])
            whole = part is not None and part[3] == "0"
            self._line(k, f"{m[1][1:4]} {m[2]} {m[3]}, {m[4]}" if whole else "or i1 false, false")
        del self.text[users[0]]
        self.bounded.append((first, m[1][0], m[4] if m[3] == at else m[3]))

    def _unconditional(self, first: str, at: str) -> None:
        """Write a number that grows where a condition holds as one that grows by nothing elsewhere."""
        users = self.users(at)
        picked = _PICKED.match(self.text[users[0]]) if len(users) == 1 else None
        if picked is not None and picked[3] == "i1" and picked[4] == "false" and picked[5] == at:
            name = self.fresh()
            self._line(users[0], f"and i1 {at}, {name}")
            self.text.insert(users[0], f"{name} = xor i1 {picked[2]}, true")
        if len(users) != 2:
            return
        grown, picked = _GROWS.match(self.text[users[0]]), _PICKED.match(self.text[users[1]])
        if grown is None or picked is None or {picked[4], picked[5]} != {at, grown[1]} or grown[2] == "and":
            return
        if (
            self.users(grown[1]) != users[1:]
            or grown[4] == grown[5]
            or (grown[2] == "sub" and grown[4] != at)
        ):
            return
        other, name = grown[5] if grown[4] == at else grown[4], self.fresh()
        yes, no = (other, "0") if picked[4] == grown[1] else ("0", other)
        self._line(users[1], f"{grown[2]} {grown[3]} {at}, {name}")
        self.text.insert(users[1], f"{name} = select i1 {picked[2]}, {grown[3]} {yes}, {grown[3]} {no}")
        del self.text[users[0]]
        self.bounded = [(x, s, name if x == first and y == other else y) for x, s, y in self.bounded]


def checked(
    e: Writer, make: Callable[[str], str], function: str, lanes: int, llvm: str, x: str, y: str
) -> tuple[str, str]:
    """A sum, difference or product in all lanes, and in which of them it does not fit.

    A sum has another sign than both of its operands where it does not fit: bits that say so are collected in
    a register for all sums of a trip and asked once, since asking takes as long as three sums.
    """
    kind = f"<{lanes} x {llvm}>"
    if function[:4] not in ("sadd", "ssub"):
        pair, name = f"{{ {kind}, <{lanes} x i1> }}", f"@llvm.{function}.v{lanes}{llvm}"
        e.declare(f"declare {pair} {name}({kind}, {kind})")
        both = make(f"call {pair} {name}({kind} {x}, {kind} {y})")
        return make(f"extractvalue {pair} {both}, 0"), make(f"extractvalue {pair} {both}, 1")
    made = make(f"{function[1:4]} {kind} {x}, {y}")
    bits = int(llvm[1:])
    if bits >= 32 and lanes * bits == 512 and "avx512f" in host.flags():  # LLVM needs three of it
        name = f"@llvm.x86.avx512.pternlog.{'q' if bits == 64 else 'd'}.512"
        e.declare(f"declare {kind} {name}({kind}, {kind}, {kind}, i32)")
        given = ", ".join(f"{kind} {part}" for part in (x, y, made))
        turned = make(f"call {kind} {name}({given}, i32 {_TURNED[function[1:4]]})")
    else:
        first = make(f"xor {kind} {x}, {made}")
        second = make(f"xor {kind} {y}, {made}" if function.startswith("sadd") else f"xor {kind} {x}, {y}")
        turned = make(f"and {kind} {first}, {second}")
    return made, make(f"icmp slt {kind} {turned}, zeroinitializer")


def live(lines: list[str], needed: list[str]) -> list[str]:
    """The lines that something comes of."""
    wanted, kept = set(needed), list[str]()
    for line in reversed(lines):
        m = _LINE.match(line)
        if m is None or m[1] in wanted:
            wanted.update(NAMES.findall(m[2] if m else line))
            kept.append(line)
    return kept[::-1]
