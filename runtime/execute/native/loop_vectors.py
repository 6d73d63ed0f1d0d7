"""Loops whose trips do not depend on each other, a register full of trips at once.

In: a counted loop of one block, as it was just written, trip by trip.  Out: the same loop with another before
it that does as many trips as fit in a register, with the same operations in the same order for each of them;
the first loop does the rest.  What always holds: where two places in memory may be the same in different
trips, which is asked when the loop begins, all is left to the first loop.

Values are told apart by how they change from trip to trip: not at all (uniform), by one (the counter and
what is a fixed distance from it; as addresses, by one element), or in any other way.  Uniform arithmetic on
integers and addresses is done before the loop.
"""

from __future__ import annotations

import dataclasses
import re

from runtime.dataclass import dataclass
from runtime.execute.native.emit import Block, Emitter, Phi, needed
from runtime.execute.native.flattened import flattened
from runtime.execute.native.growth import NAMES, OVERFLOW, PART, Growing, checked, live
from runtime.execute.native.host import vector_bytes
from runtime.execute.native.trials import trial
from runtime.pattern import pattern

MAX_LINES = 120
MAX_MEETINGS = 8  # pairs of places that are compared when the loop begins
SIZES = {"double": 8, "float": 4, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "i1": 1}
_LINE = pattern(r"(%\S+) = (.*)")
_TWO = pattern(
    r"(f(?:add|sub|mul|div)|(?:add|sub|mul|shl)(?: n[us]w)*|and|or|xor|[al]shr|[fi]cmp \w+)"
    r" (\w+) (\S+), (\S+)$"
)
_CAST = pattern(r"(sitofp|uitofp|fpext|fptrunc|sext|zext|trunc) (\w+) (\S+) to (\w+)$")
_SELECT = pattern(r"select i1 (\S+), (\w+) (\S+), (\w+) (\S+)$")
_FNEG = pattern(r"(fneg) (\w+) (\S+)$")
_CALL = pattern(r"call (\w+) @llvm\.(fabs|sqrt|floor|ceil|trunc|roundeven|rint|copysign)\.\w+\((.*)\)$")
_OPAQUE = pattern(r'call (\w+) asm "", "=x,0"\(\w+ (\S+)\)$')
_KEEP = pattern(r'call void asm sideeffect "", "x"\((\w+) ([^)]+)\) (.*)$')
_GEP = pattern(r"getelementptr (\w+), ptr (\S+), i64 (\S+)$")
_LOAD = pattern(r"load (\w+), ptr (\S+), align 1(.*)$")
_STORE = pattern(r"store (\w+) (\S+), ptr (\S+), align 1(.*)$")
_MASKED_LOAD = pattern(r"cload (\w+), ptr (\S+), align 1(.*) under (\S+)$")
_MASKED_STORE = pattern(r"cstore (\w+) (\S+), ptr (\S+), align 1(.*) under (\S+)$")
_TEST = pattern(r"(%\S+) = icmp ([su]lt) i64 (%\S+), (\S+)$")


_SHORT = {"double": "f64", "float": "f32"}
_MOVED = pattern(r"(add|sub)(?: n[us]w)* i64 (\S+), (\S+)$")
_SLOW = pattern(
    r"f(?:add|sub|mul|div|ptrunc)\b|call|frem|udiv|sdiv|urem|srem"
)  # not done where it may not count


class _Cannot(Exception):
    """The loop stays as it is."""


@dataclass
class _Access:
    """A place that is read or written in each trip: its base, where element 0 of it is at the first trip, and
    how far the index is from the counter (None: the same place in all trips; spot: its base and index).
    more: how many elements further the last of several such places is."""

    number: int
    write: bool
    llvm: str
    base: str
    apart: str | None
    start: str
    tags: str
    spot: tuple[str, str] = ("", "")
    more: int = 0


def vectorize(e: Emitter, blocks: list[Block], head: Block) -> bool:
    """Put a loop for several trips at once before one that was just written, if that can be done.

    blocks: all of the loop, `head` first, whose first phi is the counter.
    """
    if len(head.lines) != 2 or sum(len(b.lines) for b in blocks) > MAX_LINES:
        return False
    body = blocks[1] if len(blocks) == 2 else flattened(e, blocks[1:], head)
    if body is None:
        return False
    try:
        loop = _Loop(e, body, head)
        loop.trip()
    except _Cannot:
        return False
    loop.place()
    return True


def _known(a: _Access) -> bool:
    """Whether it is known now how far the index is from the counter."""
    return a.apart is not None and a.apart.lstrip("-").isdigit()


class _Loop:
    def __init__(self, e: Emitter, body: Block, head: Block) -> None:
        test, back = _TEST.match(head.lines[0]), f"br label %{head.label}"
        if test is None or test[3] != head.phis[0].name or body.lines[-1].partition(",")[0] != back:
            raise _Cannot
        self.e, self.body, self.head = e, body, head
        self.order, self.stop, self.counter = test[2], test[4], test[3]
        self.first, entry = head.phis[0].ways[0]
        self.entry = next(b for b in reversed(e.blocks) if b.label == entry)
        if self.entry.lines[-1] != back:
            raise _Cannot
        self.after = {p.name: p.ways[-1][0] for p in head.phis}
        self.text = live(needed(body.lines[:-1]), [x for p, x in self.after.items() if p != self.counter])
        self.inside = {m[1] for m in map(_LINE.match, body.lines) if m} | set(self.after)
        self.uniform = {p.name: p.ways[0][0] for p in head.phis if self.after[p.name] == p.name}
        self.fixed: dict[str, str] = {}  # scalars in the body that all trips share
        self.lane: dict[str, tuple[str, str]] = {}  # what grows by 1: for the first lane, and how far it is
        self.wide: dict[str, tuple[str, str]] = {}  # vectors and types of elements
        self.before, self.once = list[str](), dict[str, str]()
        self.lines: list[str] = []
        self.accesses: list[_Access] = []
        self.addresses: dict[str, tuple[str, str, str, str, str]] = {}
        self.spots: dict[str, tuple[str, str]] = {}
        self.trials: list[tuple[str, list[str], str]] = []  # when one is due, its lines, whether all goes on
        self.lanes = vector_bytes() // max([2, *(SIZES[t] for t in self.types())])
        self.now, self.phis = e.name(), list[tuple[Phi, Phi, str]]()
        self.again = not any(x.startswith(("store ", "cstore ")) for x in self.text)
        self.products: dict[str, str] = {}
        self.checked: dict[str, tuple[str, str]] = {}  # results, and in which lanes they don't fit
        self.factors: list[Phi] = []  # the bits that factors take
        self.sizes: list[tuple[Phi, str, Phi]] = []  # of these sums, the bits that what is added takes

    def types(self) -> list[str]:
        """The types of what is read, written, carried, or computed as floats."""
        places = (_LOAD.search(x) or _STORE.search(x) for x in self.text)
        found = [m[1] for m in places if m and m[1] in SIZES]
        found += [p.llvm for p in self.head.phis[1:] if p.name not in self.uniform and p.llvm in SIZES]
        return [*found, *(t for t in ("double", "float") for x in self.text if re.search(rf"\b{t}\b", x))]

    # ------------------------------------------------------------------ names
    def outer(self, x: str) -> bool:
        """Whether an operand is known before the loop."""
        return not x.startswith("%") or x not in self.inside or x in self.uniform

    def scalar(self, x: str) -> str:
        """An operand that all trips share."""
        return self.uniform.get(x) or self.fixed.get(x) or x

    def shared(self, *xs: str) -> bool:
        """Whether all trips share these operands."""
        return all(self.outer(x) or x in self.fixed for x in xs)

    def make(self, lines: list[str], text: str) -> str:
        """A new instruction; before the loop, the same one is there once, so that equal places are seen."""
        if lines is self.before and text in self.once:
            return self.once[text]
        name = self.e.name()
        lines.append(f"{name} = {text}")
        if lines is self.before:
            self.once[text] = name
        return name

    def vector(self, x: str, llvm: str) -> str:
        """An operand for all lanes."""
        if x in self.wide:
            return self.wide[x][0]
        if not x.startswith("%"):
            return f"splat ({llvm} {x})"
        if not (self.shared(x) or x in self.lane or x == self.counter):
            raise _Cannot
        held = self.scalar(x) if self.shared(x) else self.now if x == self.counter else self.lane[x][0]
        kind, all_ = f"<{self.lanes} x {llvm}>", self.spread(self.lines, held, llvm)
        if not self.shared(x):
            steps = ", ".join(f"{llvm} {k}" for k in range(self.lanes))
            all_ = self.make(self.lines, f"add {kind} {all_}, <{steps}>")
        self.wide[x] = all_, llvm
        return all_

    def spread(self, lines: list[str], x: str, llvm: str) -> str:
        """One value in all lanes."""
        kind = f"<{self.lanes} x {llvm}>"
        if not x.startswith("%"):
            return f"splat ({llvm} {x})"
        one = self.make(lines, f"insertelement {kind} poison, {llvm} {x}, i32 0")
        return self.make(
            lines, f"shufflevector {kind} {one}, {kind} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def put(self, name: str, llvm: str, text: str) -> None:
        """The value of a line, for all lanes."""
        self.wide[name] = self.make(self.lines, text), llvm

    # ------------------------------------------------------------------ the lines of a trip
    def line(self, number: int, text: str) -> None:
        """Write what a line does for all lanes."""
        if (m := _STORE.match(text)) is not None:
            if m[3] not in self.addresses:
                raise _Cannot
            self.access(number, True, m[1], m[3], m[4])
            at = self.addresses[m[3]][3]
            self.lines.append(
                f"store <{self.lanes} x {m[1]}> {self.vector(m[2], m[1])}, ptr {at}, align 1{m[4]}"
            )
            return
        if (m := _MASKED_STORE.match(text)) is not None:
            self.masked_store(number, *m.groups())
            return
        if (m := _KEEP.match(text)) is not None:
            place = "v" if vector_bytes() == 64 else "x"
            kind, value = f"<{self.lanes} x {m[1]}>", self.vector(m[2], m[1])
            self.lines.append(f'call void asm sideeffect "", "{place}"({kind} {value}) {m[3]}')
            return
        if (m := _LINE.match(text)) is None:
            raise _Cannot
        name, what = m[1], m[2]
        if (m := _GEP.match(what)) is not None:
            self.address(name, m[1], m[2], m[3])
        elif (m := _LOAD.match(what)) is not None:
            self.load(number, name, m[1], m[2], m[3])
        elif (m := _MASKED_LOAD.match(what)) is not None:
            self.masked_load(number, name, *m.groups())
        elif not self.simple(name, what):
            self.operation(name, what)

    def simple(self, name: str, what: str) -> bool:
        """A line whose result all trips share, or that is a distance from the counter."""
        operands = NAMES.findall(what)
        plain = NAMES.sub(lambda m: self.scalar(m[0]), what)
        if all(map(self.outer, operands)) and not _SLOW.match(what):
            self.uniform[name] = self.make(self.before, plain)
            return True
        if self.shared(*operands):
            self.fixed[name] = self.make(self.lines, plain)
            return True
        m = _MOVED.match(what)
        if m is None:
            return False
        op, a, b = m.groups()
        if op == "add" and self.outer(a):
            a, b = b, a
        if not self.outer(b) or not (a == self.counter or a in self.lane):
            return False
        at, apart = self.lane.get(a, (self.now, "0"))
        b = self.scalar(b)
        if b.startswith("%") or apart.startswith("%"):
            apart = self.make(self.before, f"{op} i64 {apart}, {b}")
        else:
            apart = str(int(apart) + (int(b) if op == "add" else -int(b)))
        self.lane[name] = self.make(self.lines, f"{op} i64 {at}, {b}"), apart
        return True

    def operation(self, name: str, what: str) -> None:
        """Arithmetic, lane by lane."""
        n = self.lanes
        if (m := _TWO.match(what)) is not None:
            llvm = "i1" if "cmp" in m[1] else m[2]
            self.put(
                name, llvm, f"{m[1]} <{n} x {m[2]}> {self.vector(m[3], m[2])}, {self.vector(m[4], m[2])}"
            )
        elif (m := _FNEG.match(what)) is not None:
            self.put(name, m[2], f"fneg <{n} x {m[2]}> {self.vector(m[3], m[2])}")
        elif (m := _CAST.match(what)) is not None:
            self.put(name, m[4], f"{m[1]} <{n} x {m[2]}> {self.vector(m[3], m[2])} to <{n} x {m[4]}>")
        elif (m := _SELECT.match(what)) is not None:
            parts = [self.vector(m[1], "i1"), self.vector(m[3], m[2]), self.vector(m[5], m[4])]
            kind = f"<{n} x {m[2]}>"
            self.put(name, m[2], f"select <{n} x i1> {parts[0]}, {kind} {parts[1]}, {kind} {parts[2]}")
        elif (m := _OPAQUE.match(what)) is not None:
            place, kind = "v" if vector_bytes() == 64 else "x", f"<{n} x {m[1]}>"
            self.put(name, m[1], f'call {kind} asm "", "={place},0"({kind} {self.vector(m[2], m[1])})')
        elif (m := _CALL.match(what)) is not None:
            kind, short = f"<{n} x {m[1]}>", f"v{n}f{8 * SIZES[m[1]]}"
            given = [self.vector(x.split()[1], m[1]) for x in m[3].split(", ")]
            self.e.declare(f"declare {kind} @llvm.{m[2]}.{short}({', '.join(kind for _ in given)})")
            self.put(
                name, m[1], f"call {kind} @llvm.{m[2]}.{short}({', '.join(f'{kind} {x}' for x in given)})"
            )
        elif (m := OVERFLOW.match(what)) is not None and self.again and m[1][1:4] == "mul" and m[2] == "i64":
            self.product(name, m[1][0], *(self.vector(x, "i64") for x in (m[3], m[4])))
        elif (m := OVERFLOW.match(what)) is not None:
            x, y = (self.vector(x, m[2]) for x in (m[3], m[4]))
            self.checked[name] = checked(
                self.e, lambda text: self.make(self.lines, text), m[1], n, m[2], x, y
            )
        elif (m := PART.match(what)) is not None and m[2] in self.products:
            if m[3] == "0":
                self.wide[name] = self.products[m[2]], "i64"
            else:
                self.uniform[name] = "false"
        elif (m := PART.match(what)) is not None and m[2] in self.checked:
            self.wide[name] = self.checked[m[2]][int(m[3])], "i1" if m[3] == "1" else m[1]
        else:
            raise _Cannot

    def product(self, name: str, sign: str, x: str, y: str) -> None:
        """A product that fits, since its factors take half the bits, or all trips are made again."""
        kind, phi = f"<{self.lanes} x i64>", Phi(self.e.name(), f"<{self.lanes} x i64>")
        both = [self.size(x, "i64", sign), self.size(y, "i64", sign)]
        seen = self.make(self.lines, f"or {kind} {both[0]}, {both[1]}")
        phi.ways = [("zeroinitializer", ""), (self.make(self.lines, f"or {kind} {phi.name}, {seen}"), "")]
        self.factors.append(phi)
        self.products[name] = self.make(self.lines, f"mul {kind} {x}, {y}")

    # ------------------------------------------------------------------ memory
    def address(self, name: str, llvm: str, base: str, index: str) -> None:
        """Where an element is: in the same place in all trips, or one element further in each."""
        if not self.outer(base) or llvm not in SIZES:
            raise _Cannot
        base = self.scalar(base)
        if self.outer(index):
            self.uniform[name] = self.make(
                self.before, f"getelementptr {llvm}, ptr {base}, i64 {self.scalar(index)}"
            )
            self.spots[self.uniform[name]] = base, self.scalar(index)
            return
        if index == self.counter:
            at, apart = self.now, "0"
        elif index in self.lane:
            at, apart = self.lane[index]
        else:
            raise _Cannot
        begin = self.first if apart == "0" else self.make(self.before, f"add i64 {self.first}, {apart}")
        start = self.make(self.before, f"getelementptr {llvm}, ptr {base}, i64 {begin}")
        here = self.make(self.lines, f"getelementptr {llvm}, ptr {base}, i64 {at}")
        self.addresses[name] = llvm, base, apart, here, start

    def load(self, number: int, name: str, llvm: str, at: str, tags: str) -> None:
        """A read: of neighbours, or of one place for all trips."""
        self.access(number, False, llvm, at, tags)
        if at in self.addresses:
            self.put(name, llvm, f"load <{self.lanes} x {llvm}>, ptr {self.addresses[at][3]}, align 1{tags}")
        else:
            self.fixed[name] = self.make(self.lines, f"load {llvm}, ptr {self.scalar(at)}, align 1{tags}")

    def masked_load(self, number: int, name: str, llvm: str, at: str, tags: str, mask: str) -> None:
        """A read of neighbours where a condition holds."""
        self.maskable(llvm, at)
        self.access(number, False, llvm, at, tags)
        kind, lanes = f"<{self.lanes} x {llvm}>", f"<{self.lanes} x i1>"
        function = f"llvm.masked.load.v{self.lanes}{_SHORT.get(llvm, llvm)}.p0"
        self.e.declare(f"declare {kind} @{function}(ptr, i32, {lanes}, {kind})")
        given = (
            f"ptr {self.addresses[at][3]}, i32 1, {lanes} {self.vector(mask, 'i1')}, {kind} zeroinitializer"
        )
        self.put(name, llvm, f"call {kind} @{function}({given}){tags}")

    def masked_store(self, number: int, llvm: str, value: str, at: str, tags: str, mask: str) -> None:
        """A write where a condition holds."""
        self.maskable(llvm, at)
        self.access(number, True, llvm, at, tags)
        kind, lanes = f"<{self.lanes} x {llvm}>", f"<{self.lanes} x i1>"
        function = f"llvm.masked.store.v{self.lanes}{_SHORT.get(llvm, llvm)}.p0"
        self.e.declare(f"declare void @{function}({kind}, ptr, i32, {lanes})")
        given = f"{kind} {self.vector(value, llvm)}, ptr {self.addresses[at][3]}, i32 1"
        self.lines.append(f"call void @{function}({given}, {lanes} {self.vector(mask, 'i1')}){tags}")

    def maskable(self, llvm: str, at: str) -> None:
        """Only what processors have instructions for."""
        if at not in self.addresses or (SIZES.get(llvm, 0) < 4 and vector_bytes() < 64):
            raise _Cannot

    def access(self, number: int, write: bool, llvm: str, at: str, tags: str) -> None:
        """Note what is read or written."""
        if llvm not in SIZES or llvm == "i1":
            raise _Cannot
        if at in self.addresses:
            step, base, apart, _, start = self.addresses[at]
            if SIZES[step] != SIZES[llvm]:
                raise _Cannot
            self.accesses.append(_Access(number, write, llvm, base, apart, start, tags))
        elif self.outer(at) and not write:
            start = self.scalar(at)
            self.accesses.append(
                _Access(number, write, llvm, "", None, start, tags, self.spots.get(start, ("", "")))
            )
        else:
            raise _Cannot

    def meetings(self) -> list[tuple[_Access, _Access]]:
        """The pairs of places of which it must be seen that they are apart."""
        found: dict[tuple[str, str], tuple[_Access, _Access]] = {}
        for s in (a for a in self.accesses if a.write):
            for a in self.accesses:
                if a is s or (s.tags and a.tags and s.tags != a.tags):
                    continue  # each place that has a name is apart from the others
                if s.base == a.base and s.apart == a.apart:
                    continue
                if s.base == a.base and self._ahead(a, s):
                    continue
                if s.base == a.base:
                    raise _Cannot
                if not self.tried(s, a):
                    a = self.all_of(a)
                    found.setdefault((min(s.start, a.start), max(s.start, a.start)), (s, a))
        if len(found) > MAX_MEETINGS:
            raise _Cannot
        return list(found.values())

    def all_of(self, a: _Access) -> _Access:
        """What is read or written from the same address on, as one place."""
        alike = [
            x for x in self.accesses if x.base == a.base and x.llvm == a.llvm and _known(x) and _known(a)
        ]
        apart = sorted(int(x.apart or 0) for x in alike)
        first = next((x for x in alike if int(x.apart or 0) == apart[0]), a)
        return dataclasses.replace(first, more=apart[-1] - apart[0]) if alike else a

    def tried(self, s: _Access, a: _Access) -> bool:
        """Whether the only trip that writes what all trips read can be tried."""
        if self.trials or a.spot[0] != s.base or a.llvm != s.llvm or a.number > s.number or s.apart is None:
            return False
        at = self.make(self.before, f"sub i64 {a.spot[1]}, {s.apart}")
        length = self.make(self.before, f"sub i64 {self.stop}, {self.first}")
        inside = self.make(
            self.before, f"icmp ult i64 {self.make(self.before, f'sub i64 {at}, {self.first}')}, {length}"
        )
        known, carried = {**self.uniform, self.counter: at}, set(self.after) - {self.counter}
        found = trial(self.text, s.number, a.start, known, carried - self.uniform.keys(), self.e.name)
        if found is not None:
            self.trials.append((inside, *found))
        return found is not None

    def _ahead(self, a: _Access, s: _Access) -> bool:
        """Whether a read, before the write in a trip, is of what a later trip writes."""
        if a.write or a.number > s.number or a.apart is None or s.apart is None:
            return False
        return _known(a) and _known(s) and int(a.apart) > int(s.apart)

    # ------------------------------------------------------------------ the loop
    def trip(self) -> None:
        """Write what a trip does, for all lanes."""
        totals = [p for p in self.head.phis[1:] if p.name not in self.uniform and self.used(p.name)]
        growing = Growing(self.text, self.e.name)
        for p in totals:
            op = growing.operator(p.name, self.after[p.name])
            if not op:
                raise _Cannot
            phi = Phi(self.e.name(), f"<{self.lanes} x {p.llvm}>", [(self.start(p, op), "")])
            self.phis.append((p, phi, op))
            self.wide[p.name] = phi.name, p.llvm
        if not totals and self.again:
            raise _Cannot
        self.inside |= {m[1] for m in map(_LINE.match, self.text) if m}  # growing names values of its own
        for number, text in enumerate(self.text):
            self.line(number, text)
        for p in self.head.phis[1:]:
            x = self.after[p.name]
            if p not in totals and not (self.outer(x) or x == self.counter or x in self.lane):
                raise _Cannot
        self.checks = self.meetings()
        if growing.bounded and not self.again:
            raise _Cannot  # where a sum may be too large, all trips are made again
        for name, sign, x in growing.bounded:
            p = next(p for p in totals if p.name == name)
            self.bound(p, sign, self.vector(x, p.llvm))

    def bound(self, p: Phi, sign: str, x: str) -> None:
        """Keep which bits numbers take that are added up."""
        kind, phi = f"<{self.lanes} x {p.llvm}>", Phi(self.e.name(), f"<{self.lanes} x {p.llvm}>")
        x = self.size(x, p.llvm, sign)
        self.sizes.append((p, sign, phi))
        phi.ways = [("zeroinitializer", ""), (self.make(self.lines, f"or {kind} {phi.name}, {x}"), "")]

    def size(self, x: str, llvm: str, sign: str) -> str:
        """The bits that numbers take, without those that only say that one is negative."""
        if sign == "u":
            return x
        kind = f"<{self.lanes} x {llvm}>"
        top = self.make(self.lines, f"ashr {kind} {x}, splat ({llvm} {8 * SIZES[llvm] - 1})")
        return self.make(self.lines, f"xor {kind} {x}, {top}")

    def fits(self, lines: list[str], p: Phi, sign: str, phi: Phi, count: str) -> str:
        """Whether a sum fits, however large the numbers are that take these bits, and in whatever order."""
        e, bits = self.e, 8 * SIZES[p.llvm]
        most = self.whole(lines, "or", p.llvm, phi.ways[1][0])
        first = p.ways[0][0]
        if bits < 64:
            most = self.make(lines, f"zext {p.llvm} {most} to i64")
            first = self.make(lines, f"{'sext' if sign == 's' else 'zext'} {p.llvm} {first} to i64")
        e.declare("declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)")
        most = self.make(lines, f"add i64 {most}, 1")
        both = self.make(lines, f"call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 {most}, i64 {count})")
        all_, over = (self.make(lines, f"extractvalue {{ i64, i1 }} {both}, {k}") for k in (0, 1))
        half = 1 << (bits - 2 if sign == "s" else bits - 1)
        terms = sum(q is p for q, _, _ in self.sizes)  # of a trip
        if sign == "s":
            first = self.make(lines, f"add i64 {first}, {half}")
        good = self.make(lines, f"icmp ne i64 {most}, 0")
        for test in (
            f"icmp ule i64 {all_}, {half // terms}",
            f"icmp ult i64 {first}, {half * (2 if sign == 's' else 1)}",
        ):
            good = self.make(lines, f"and i1 {good}, {self.make(lines, test)}")
        return self.make(lines, f"and i1 {good}, {self.make(lines, f'xor i1 {over}, true')}")

    def used(self, name: str) -> bool:
        """Whether a value is read in a trip."""
        return any(name in NAMES.findall(x) for x in self.text)

    def start(self, p: Phi, op: str) -> str:
        """What each lane of a carried number begins with."""
        if op.endswith(("max", "min")):
            return self.spread(self.before, p.ways[0][0], p.llvm)
        return f"splat ({p.llvm} {'true' if p.llvm == 'i1' else -1})" if op == "and" else "zeroinitializer"

    def whole(self, lines: list[str], op: str, llvm: str, made: str) -> str:
        """One number of all lanes."""
        kind = f"<{self.lanes} x {llvm}>"
        name = f"llvm.vector.reduce.{op}.v{self.lanes}{_SHORT.get(llvm, llvm)}"
        self.e.declare(f"declare {llvm} @{name}({kind})")
        return self.make(lines, f"call {llvm} @{name}({kind} {made})")

    def place(self) -> None:
        """Put the blocks before the loop."""
        e, n = self.e, self.lanes
        ready, trips, done = (e.block(x) for x in ("lanes", "trips", "rest"))
        asked, tried, enter = (
            (e.block(x) for x in ("asked", "tried", "enter")) if self.trials else [ready] * 3
        )
        self.entry.lines[-1] = f"br label %{ready.label}"
        ready.lines = self.before
        some = self.make(self.before, f"icmp {self.order} i64 {self.first}, {self.stop}")
        length = self.make(self.before, f"sub i64 {self.stop}, {self.first}")
        many = self.make(self.before, f"icmp uge i64 {length}, {n}")
        good = self.make(self.before, f"and i1 {some}, {many}")
        for s, a in self.checks:
            good = self.make(self.before, f"and i1 {good}, {self.apart(s, a, length)}")
        count = self.make(self.before, f"and i64 {length}, {-n}")
        end = self.make(self.before, f"add i64 {self.first}, {count}")
        goes = trips if enter is ready else asked
        self.before.append(f"br i1 {good}, label %{goes.label}, label %{self.head.label}")
        for due, lines, same in self.trials:
            asked.lines = [f"br i1 {due}, label %{tried.label}, label %{enter.label}"]
            tried.lines = [*lines, f"br i1 {same}, label %{enter.label}, label %{self.head.label}"]
            enter.lines = [f"br label %{trips.label}"]
        following = self.make(self.lines, f"add i64 {self.now}, {n}")
        over = self.make(self.lines, f"icmp eq i64 {following}, {end}")
        trips.lines = [*self.lines, f"br i1 {over}, label %{done.label}, label %{trips.label}"]
        trips.phis = [Phi(self.now, "i64", [(self.first, enter.label), (following, trips.label)])]
        for p in self.head.phis:
            p.ways[0] = p.ways[0][0], ready.label
            p.ways += [(p.ways[0][0], tried.label)] if self.trials else []
        tests = []
        for p, sign, phi in self.sizes:
            phi.ways = [(way[0], b.label) for way, b in zip(phi.ways, (enter, trips), strict=True)]
            trips.phis.append(phi)
            tests.append(self.fits(done.lines, p, sign, phi, count))
        for phi in self.factors:
            phi.ways = [(way[0], b.label) for way, b in zip(phi.ways, (enter, trips), strict=True)]
            trips.phis.append(phi)
            most = self.whole(done.lines, "or", "i64", phi.ways[1][0])
            tests.append(self.make(done.lines, f"icmp ult i64 {most}, {1 << 31}"))
        for p, _, op in self.phis:
            if op in ("fmax", "fmin"):  # of zeros the first counts
                x = self.whole(done.lines, op, p.llvm, self.wide[self.after[p.name]][0])
                tests.append(self.make(done.lines, f"fcmp one {p.llvm} {x}, 0.0"))
        good = tests[0] if tests else ""
        for test in tests[1:]:
            good = self.make(done.lines, f"and i1 {good}, {test}")

        def reached(llvm: str, x: str, first: str) -> str:
            """What a value is after these trips, where they count."""
            if not good:
                return x
            return self.make(done.lines, f"select i1 {good}, {llvm} {x}, {llvm} {first}")

        self.head.phis[0].ways.append((reached("i64", end, self.first), done.label))
        totals = {p.name: (phi, op) for p, phi, op in self.phis}
        for p in self.head.phis[1:]:
            x, llvm = self.after[p.name], p.llvm
            if p.name in totals:
                phi, op = totals[p.name]
                made = self.wide[x][0]
                phi.ways = [(phi.ways[0][0], enter.label), (made, trips.label)]
                trips.phis.append(phi)
                x = self.whole(done.lines, op, llvm, made)
                if not op.endswith(("max", "min")):
                    x = self.make(done.lines, f"{op} {llvm} {p.ways[0][0]}, {x}")
            elif x == self.counter or x in self.lane:
                apart = "0" if x == self.counter else self.lane[x][1]
                x = self.make(done.lines, f"add i64 {self.make(done.lines, f'add i64 {end}, -1')}, {apart}")
            else:
                x = self.scalar(x)
            p.ways.append((reached(llvm, x, p.ways[0][0]), done.label))
        done.lines.append(f"br label %{self.head.label}")
        at = e.blocks.index(self.head)
        e.blocks[at:at] = [ready, *([asked, tried, enter] if self.trials else []), trips, done]

    def apart(self, s: _Access, a: _Access, length: str) -> str:
        """Whether two places in memory have nothing in common in any trip."""
        ends = []
        for x in (s, a):
            size = str(SIZES[x.llvm])
            if x.apart is not None:
                count = self.make(self.before, f"add i64 {length}, {x.more}") if x.more else length
                size = self.make(self.before, f"mul i64 {count}, {size}")
            ends.append(self.make(self.before, f"getelementptr i8, ptr {x.start}, i64 {size}"))
        first = self.make(self.before, f"icmp ule ptr {ends[0]}, {a.start}")
        second = self.make(self.before, f"icmp ule ptr {ends[1]}, {s.start}")
        return self.make(self.before, f"or i1 {first}, {second}")
