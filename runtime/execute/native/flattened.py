"""Trips with branches as trips without: both arms one after the other, and what one alone does under a mask.

In: the blocks of a trip, as they were written.  Out: its lines in order, phis as selects; reads and writes
of one arm as `cload` and `cstore`, which name the condition under which they happen; or None.  What always
holds: an operation of an arm that is not taken raises no flag, since it is given harmless operands.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.execute.native.emit import TRUE, Block, Emitter
from runtime.pattern import pattern

_JUMP = pattern(r"br label %(\w+)$")
_BRANCH = pattern(r"br i1 (\S+), label %(\w+), label %(\w+)$")
_LOAD = pattern(r"(%\S+) = (load .*)")
_FLOATS = pattern(r"(%\S+) = (f(?:add|sub|mul|div)) (\w+) (\S+), (\S+)$")
_ROUNDED = pattern(r"(%\S+) = fptrunc double (\S+) to float$")
_ROOT = pattern(r"(%\S+) = call (\w+) @llvm\.sqrt\.(\w+)\(\w+ (\S+)\)$")
_INTEGERS = pattern(r"(%\S+) = (add|sub|mul|shl)(?: n[us]w)+ (.*)$")
_QUOTIENT = pattern(r"(%\S+) = ([su](?:div|rem)) (\w+) (\S+), (\S+)$")


class _Odd(Exception):
    """The blocks have another form."""


def flattened(e: Emitter, blocks: Sequence[Block], head: Block) -> Block | None:
    """The blocks of a trip as one."""
    try:
        return _Flat(e, blocks, head).block()
    except _Odd:
        return None


class _Flat:
    def __init__(self, e: Emitter, blocks: Sequence[Block], head: Block) -> None:
        self.e, self.blocks, self.head = e, list(blocks), head
        self.places = {b.label: k for k, b in enumerate(blocks)}
        self.lines: list[str] = []

    def block(self) -> Block:
        """All of it."""
        self.reached(0)
        self.walk(0, TRUE, None)
        return Block(self.blocks[0].label, [], [*self.lines, f"br label %{self.head.label}"], True)

    def make(self, text: str) -> str:
        """A new line with a result."""
        name = self.e.name()
        self.lines.append(f"{name} = {text}")
        return name

    def place(self, label: str) -> int:
        """The number of a block, which is one of the trip's."""
        if label not in self.places:
            raise _Odd
        return self.places[label]

    def reached(self, start: int) -> set[int]:
        """The blocks that control may get to from one of them, itself included."""
        found, due = {start}, [start]
        while due:
            here = due.pop()
            last = self.blocks[here].lines[-1]
            both = _BRANCH.match(last)
            one = _JUMP.match(last.partition(",")[0])
            labels = both.groups()[1:] if both else one.groups() if one else ()
            following = {self.place(x) for x in labels if x != self.head.label}
            if any(k <= here for k in following):
                raise _Odd  # a loop inside
            due += following - found
            found |= following
        return found

    def walk(self, k: int, mask: str, end: int | None) -> str:
        """The blocks from one on until another, or back to the head; the label of the last."""
        while True:
            block = self.blocks[k]
            for line in block.lines[:-1]:
                self.line(line, mask)
            last = block.lines[-1]
            both = _BRANCH.match(last)
            if both is None:
                one = _JUMP.match(last.partition(",")[0])
                if one is None:
                    raise _Odd
                if one[1] == self.head.label and end is None:
                    return block.label
                if self.place(one[1]) == end:
                    return block.label
                k = self.place(one[1])
                if self.blocks[k].phis:
                    raise _Odd
                continue
            k = self.fork(both[1], self.place(both[2]), self.place(both[3]), mask)

    def fork(self, condition: str, yes: int, no: int, mask: str) -> int:
        """Two ways and where they meet."""
        common = self.reached(yes) & self.reached(no)
        if not common:
            raise _Odd
        meet = min(common)
        ends = []
        for way, holds in ((yes, condition), (no, "")):
            if way == meet or self.blocks[way].phis:
                raise _Odd
            holds = holds or self.make(f"xor i1 {condition}, true")
            ends.append(self.walk(way, holds if mask == TRUE else self.make(f"and i1 {mask}, {holds}"), meet))
        for phi in self.blocks[meet].phis:
            ways = {label: value for value, label in phi.ways}
            if phi.gang is not None or set(ways) != set(ends):
                raise _Odd
            picked = ", ".join(f"{phi.llvm} {ways[label]}" for label in ends)
            self.lines.append(f"{phi.name} = select i1 {condition}, {picked}")
        return meet

    def line(self, text: str, mask: str) -> None:
        """A line, where it may count or not."""
        if mask == TRUE:
            self.lines.append(text)
        elif text.startswith("store "):
            self.lines.append(f"c{text} under {mask}")
        elif (m := _LOAD.match(text)) is not None:
            self.lines.append(f"{m[1]} = c{m[2]} under {mask}")
        elif (m := _INTEGERS.match(text)) is not None:
            self.lines.append(f"{m[1]} = {m[2]} {m[3]}")  # whether it fits may be known in this arm only
        elif (m := _QUOTIENT.match(text)) is not None:  # so may be that the divisor is not 0
            self.lines.append(
                f"{m[1]} = {m[2]} {m[3]} {m[4]}, {self.make(f'select i1 {mask}, {m[3]} {m[5]}, {m[3]} 1')}"
            )
        elif not self.e.reports:
            self.lines.append(text)
        elif (m := _FLOATS.match(text)) is not None:
            safe = "1.0" if m[2] == "fdiv" else "0.0"
            a, b = (self.make(f"select i1 {mask}, {m[3]} {x}, {m[3]} {safe}") for x in (m[4], m[5]))
            self.lines.append(f"{m[1]} = {m[2]} {m[3]} {a}, {b}")
        elif (m := _ROUNDED.match(text)) is not None:
            a = self.make(f"select i1 {mask}, double {m[2]}, double 0.0")
            self.lines.append(f"{m[1]} = fptrunc double {a} to float")
        elif (m := _ROOT.match(text)) is not None:
            a = self.make(f"select i1 {mask}, {m[2]} {m[4]}, {m[2]} 0.0")
            self.lines.append(f"{m[1]} = call {m[2]} @llvm.sqrt.{m[3]}({m[2]} {a})")
        else:
            self.lines.append(text)
