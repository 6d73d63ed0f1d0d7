"""Loops in which a trip reads what the one before it wrote, or read: such numbers are handed on in registers.

In: a counted loop as it was just written, which is left at its head only.  Out: the same loop, where some
reads are phis.  What always holds: a read that became a phi happens in every trip, before anything that an
index out of range would leave by; nothing else in the loop writes to that place in between.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.dataclass import dataclass
from runtime.execute.native.emit import Block, Emitter, Phi
from runtime.execute.native.values import span_of
from runtime.pattern import pattern

_TEST = pattern(r"%\S+ = icmp ([su]lt) i64 (%\S+), (\S+)$")
_SET = pattern(r"(%\S+) = (.*)")
_SUM = pattern(r"(add|sub)(?: n[us]w)* i64 (%\S+), (-?\d+)$")
_GEP = pattern(r"getelementptr (\w+), ptr (%\S+), i64 (\S+)$")
_ROW = pattern(r"getelementptr i8, ptr (%\S+), i64 (%\S+)$")
_TIMES = pattern(r"mul nsw i64 (%\S+), (\S+)$")
_PURE = pattern(r"(add|sub|mul|getelementptr|[sz]ext)\b")
_LOAD = pattern(r"load (\w+), ptr (%\S+), align 1(.*)$")
_STORE = pattern(r"store (\w+) (\S+), ptr (%\S+), align 1(.*)$")
_CALL = pattern(r"call (?!.*(@llvm\.(?!mem)|asm ))")
_NAMES = pattern(r"%[\w.]+")
_TARGETS = pattern(r"label %(\w+)")
_SELECT = pattern(r"select i1 (\S+), (i64) (\S+), i64 (\S+)$")
_ORDER = {"lt": ("slt", "gt"), "le": ("sle", "ge"), "gt": ("sgt", "lt"), "ge": ("sge", "le")}
_BAIL = pattern(r"br i1 (\S+), label %bail,")


@dataclass
class _Access:
    """A read or write: where it stands, and which element, counted from that of the trip; None: not known."""

    block: Block
    order: int
    write: bool
    llvm: str
    value: str
    base: str
    index: int | None
    tags: str


def hand_on(e: Emitter, blocks: Sequence[Block], head: Block) -> None:
    """Turn such reads of a loop into phis."""
    loop = _Loop.of(e, blocks, head)
    if loop is None:
        return
    found = [(x, source) for x in loop.accesses if not x.write and (source := loop.source(x)) is not None]
    if found:
        loop.change(found)


class _Loop:
    def __init__(self, e: Emitter, blocks: Sequence[Block], head: Block, entry: Block, order: str) -> None:
        self.e, self.blocks, self.head, self.entry, self.order = e, list(blocks[1:]), head, entry, order
        self.counter, self.first = head.phis[0].name, head.phis[0].ways[0][0]
        self.latch = head.phis[0].ways[-1][1]
        self.made = {m[1]: m[2] for b in self.blocks for m in map(_SET.match, b.lines) if m}
        self.carried = {p.name for b in blocks for p in b.phis}
        self.always = [b for b in self.blocks if b.label == self.latch or not self.around(b)]
        self.accesses = [x for k, (b, line) in enumerate(self.lines()) if (x := self.access(k, b, line))]
        bails = [
            k for k, (_, x) in enumerate(self.lines()) if (m := _BAIL.match(x)) and m[1] not in e.harmless
        ]
        self.sure = min(bails, default=1 << 60)

    @staticmethod
    def of(e: Emitter, blocks: Sequence[Block], head: Block) -> _Loop | None:
        """What is known of a loop; None where it has another form."""
        test = _TEST.match(head.lines[0]) if len(head.lines) == 2 else None
        if test is None or not head.phis or test[2] != head.phis[0].name or len(head.phis[0].ways) != 2:
            return None
        entry = next((b for b in e.blocks if b.label == head.phis[0].ways[0][1]), None)
        if entry is None or entry.lines[-1] != f"br label %{head.label}":
            return None
        if any(_CALL.search(x) for b in blocks for x in b.lines):
            return None
        return _Loop(e, blocks, head, entry, f"icmp {test[1]} i64 {head.phis[0].ways[0][0]}, {test[3]}")

    def lines(self) -> list[tuple[Block, str]]:
        """All lines of a trip, as they stand."""
        return [(b, x) for b in self.blocks for x in b.lines]

    def around(self, block: Block) -> bool:
        """Whether a trip can get to its end without a block."""
        by_label = {b.label: b for b in self.blocks}
        seen, due = {self.blocks[0].label, block.label}, [self.blocks[0].label]
        if self.blocks[0] is block:
            return False
        while due:
            here = due.pop()
            if here == self.latch:
                return True
            ways = [x for x in _TARGETS.findall(by_label[here].lines[-1]) if x in by_label and x not in seen]
            seen.update(ways)
            due += ways
        return False

    # ------------------------------------------------------------------ places
    def text(self, x: str) -> str | None:
        """How a number or an address that all trips share came about; None for others."""
        if x in self.carried:
            return None
        what = self.made.get(x)
        if what is None:
            return x
        parts = [self.text(y) for y in _NAMES.findall(what)]
        if not _PURE.match(what) or None in parts:
            return None
        names = iter(parts)
        return "(" + _NAMES.sub(lambda m: str(next(names)), what) + ")"

    def index(self, x: str) -> int | None:
        """How far a number is from the counter."""
        if x == self.counter:
            return 0
        m = _SUM.match(self.made.get(x, ""))
        before = self.index(m[2]) if m else None
        return None if m is None or before is None else before + (int(m[3]) if m[1] == "add" else -int(m[3]))

    def access(self, order: int, block: Block, line: str) -> _Access | None:
        """What a line reads or writes."""
        m, write = _SET.match(line), _STORE.match(line)
        read = _LOAD.match(m[2]) if m else None
        if m is not None and read is not None:
            value, (llvm, at, tags) = m[1], read.groups()
        elif write is not None:
            llvm, value, at, tags = write.groups()
        else:
            return None
        gep = _GEP.match(self.made.get(at, ""))
        base = gep[2] if gep and gep[1] == llvm else at
        index = self.index(gep[3]) if gep and gep[1] == llvm and self.text(gep[2]) is not None else None
        return _Access(block, order, write is not None, llvm, value, base, index, tags)

    def same(self, a: str, b: str) -> bool:
        return a == b or self.text(a) == self.text(b)

    def row(self, x: str) -> tuple[str, str, str] | None:
        """The array, the index and the stride of a row."""
        e = self.e
        known = {name: text for text, name in e.memo.items()}
        m = _ROW.match(self.made.get(x, known.get(x, "")))
        times = _TIMES.match(self.made.get(m[2], known.get(m[2], ""))) if m else None
        return (m[1], times[1], times[2]) if m and times else None

    def apart(self, a: _Access, b: _Access) -> bool:
        """Whether two accesses are never of one place, whatever the trips."""
        if a.tags and b.tags and a.tags != b.tags:
            return True
        if a.index is None or b.index is None:
            return False
        rows = self.row(a.base), self.row(b.base)
        if rows[0] is None or rows[1] is None or rows[0][::2] != rows[1][::2] or a.llvm != b.llvm:
            return False
        if rows[0][2] not in self.e.strides:
            return False
        (x, p), (y, q) = (self.e.exact.get(r[1], (r[1], 0)) for r in rows if r)
        return x == y and p != q

    def source(self, x: _Access) -> _Access | None:
        """What the trip before read or wrote that this reads."""
        if x.index is None or x.block not in self.always or x.order > self.sure:
            return None
        wanted, found = x.index + 1, None
        for a in self.accesses:
            if a.index is not None and self.same(a.base, x.base):
                if a.llvm != x.llvm or (a.write and a.index == x.index and a.order < x.order):
                    return None
                if a.index == wanted and a.block in self.always:
                    found = a if a.write or found is None else found
                elif a.index == wanted and a.write:
                    return None
            elif a.write and not self.apart(a, x):
                return None
        if found is not None and found.write and self.made.get(found.value, "").startswith("select i1"):
            # LLVM would make a branch of it, which no processor foresees
            return found if self.sooner(found.value, x.value) else None
        return found

    def sooner(self, picked: str, read: str) -> bool:
        """Have the lesser (or larger) of `read + c` and another number picked by comparing `read` with that
        number less c: the next trip waits for two instructions instead of three."""
        m, e = _SELECT.match(self.made[picked]), self.e
        op, a, b = e.says.get(m[1], ("", None, None)) if m else ("", None, None)
        if m is None or op not in _ORDER or {m[3], m[4]} != {a.text, b.text}:
            return False
        swapped = e.exact.get(b.text, ("", 0))[0] == read
        if swapped:
            op, a, b = _ORDER[op][1], b, a
        base, by = e.exact.get(a.text, ("", 0))
        low, high = span_of(b)
        if base != read or a.llvm != "i64" or not -(1 << 63) <= low - by <= high - by < 1 << 63:
            return False
        less = e.name()
        quicker = f"{less} = sub nsw i64 {b.text}, {by}", f"{m[1]} = icmp {_ORDER[op][0]} i64 {read}, {less}"
        for block in self.blocks:
            lines = [f"{x}, !unpredictable !{{}}" if x.startswith(f"{picked} = ") else x for x in block.lines]
            block.lines[:] = [y for x in lines for y in (quicker if x.startswith(f"{m[1]} = ") else [x])]
        return True

    # ------------------------------------------------------------------ the loop
    def change(self, found: list[tuple[_Access, _Access]]) -> None:
        """Read before the loop what the first trip reads."""
        e, ready = self.e, self.e.block("ready")
        runs = e.name()
        self.entry.lines[-1:] = [
            f"{runs} = {self.order}",
            f"br i1 {runs}, label %{ready.label}, label %{self.head.label}",
        ]
        for p in self.head.phis:
            p.ways.insert(1, (p.ways[0][0], ready.label))
        moved: dict[str, str] = {}

        def outside(x: str) -> str:
            """A number or an address that all trips share, before the loop."""
            what = self.made.get(x)
            if what is None:
                return x
            if x not in moved:
                text = _NAMES.sub(lambda m: outside(m[0]), what)
                moved[x] = e.name()
                ready.lines.append(f"{moved[x]} = {text}")
            return moved[x]

        for x, source in found:
            base, at, index, value = outside(x.base), e.name(), e.name(), e.name()
            ready.lines.append(f"{index} = add i64 {self.first}, {x.index}")
            ready.lines.append(f"{at} = getelementptr {x.llvm}, ptr {base}, i64 {index}")
            ready.lines.append(f"{value} = load {x.llvm}, ptr {at}, align 1{x.tags}")
            phi = Phi(e.name(), x.llvm)
            phi.ways = [
                ("zeroinitializer", self.entry.label), (value, ready.label), (source.value, self.latch)
            ]  # fmt: skip
            self.head.phis.append(phi)
            at_line = next(k for k, line in enumerate(x.block.lines) if line.startswith(f"{x.value} = load "))
            x.block.lines[at_line] = f"{x.value} = bitcast {x.llvm} {phi.name} to {x.llvm}"
        ready.lines.append(f"br label %{self.head.label}")
        e.blocks.insert(e.blocks.index(self.head), ready)
