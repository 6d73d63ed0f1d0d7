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

from runtime.execute.native.emit import Block, Emitter, Phi, needed
from runtime.execute.native.host import vector_bytes
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
_OVERFLOW = pattern(r"call \{ \w+, i1 \} @llvm\.([su]\w+\.with\.overflow)\.(\w+)\(\w+ (\S+), \w+ (\S+)\)$")
_PART = pattern(r"extractvalue \{ (\w+), i1 \} (\S+), ([01])$")
_OPAQUE = pattern(r'call (\w+) asm "", "=x,0"\(\w+ (\S+)\)$')
_KEEP = pattern(r'call void asm sideeffect "", "x"\((\w+) ([^)]+)\) (.*)$')
_GEP = pattern(r"getelementptr (\w+), ptr (\S+), i64 (\S+)$")
_LOAD = pattern(r"load (\w+), ptr (\S+), align 1(.*)$")
_STORE = pattern(r"store (\w+) (\S+), ptr (\S+), align 1(.*)$")
_TEST = pattern(r"(%\S+) = icmp ([su]lt) i64 (%\S+), (\S+)$")


_NAMES = pattern(r"%[\w.]+")
_MOVED = pattern(r"(add|sub)(?: n[us]w)* i64 (\S+), (\S+)$")
_GROWS = pattern(r"(%\S+) = (add|or)(?: n[us]w)* (i\w+) (\S+), (\S+)$")
_SLOW = pattern(
    r"f(?:add|sub|mul|div|ptrunc)\b|call|frem|udiv|sdiv|urem|srem"
)  # not done where it may not count


class _Cannot(Exception):
    """The loop stays as it is."""


@dataclasses.dataclass
class _Access:
    """A place that is read or written in each trip: its base, where element 0 of it is at the first trip, and
    how far the index is from the counter (None: the same place in all trips)."""

    number: int
    write: bool
    llvm: str
    base: str
    apart: str | None
    start: str
    tags: str


def vectorize(e: Emitter, blocks: list[Block], head: Block) -> bool:
    """Put a loop for several trips at once before one that was just written, if that can be done.

    blocks: all of the loop, `head` first, whose first phi is the counter.
    """
    if len(blocks) != 2 or len(blocks[1].lines) > MAX_LINES or len(head.lines) != 2:
        return False
    try:
        loop = _Loop(e, blocks[1], head)
        loop.trip()
    except _Cannot:
        return False
    loop.place()
    return True


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
        self.text = _live(needed(body.lines[:-1]), [x for p, x in self.after.items() if p != self.counter])
        self.inside = {m[1] for m in map(_LINE.match, body.lines) if m} | set(self.after)
        self.uniform = {p.name: p.ways[0][0] for p in head.phis if self.after[p.name] == p.name}
        self.fixed: dict[str, str] = {}  # scalars in the body that all trips share
        self.lane: dict[str, tuple[str, str]] = {}  # what grows by 1: for the first lane, and how far it is
        self.wide: dict[str, tuple[str, str]] = {}  # vectors and types of elements
        self.before: list[str] = []
        self.lines: list[str] = []
        self.accesses: list[_Access] = []
        self.addresses: dict[str, tuple[str, str, str, str, str]] = {}
        self.lanes = vector_bytes() // max([2, *(SIZES[t] for t in self.types())])
        self.now, self.phis = e.name(), list[tuple[Phi, Phi, str]]()

    def types(self) -> list[str]:
        """The types of what is read, written, carried, or computed as floats."""
        found = [m[1] for m in (_LOAD.search(x) or _STORE.match(x) for x in self.text) if m and m[1] in SIZES]
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
        """A new instruction."""
        name = self.e.name()
        lines.append(f"{name} = {text}")
        return name

    def vector(self, x: str, llvm: str) -> str:
        """An operand for all lanes."""
        if x in self.wide:
            return self.wide[x][0]
        kind = f"<{self.lanes} x {llvm}>"
        if not x.startswith("%"):
            return f"splat ({llvm} {x})"
        if not (self.shared(x) or x in self.lane or x == self.counter):
            raise _Cannot
        held = self.scalar(x) if self.shared(x) else self.now if x == self.counter else self.lane[x][0]
        one = self.make(self.lines, f"insertelement {kind} poison, {llvm} {held}, i32 0")
        all_ = self.make(
            self.lines, f"shufflevector {kind} {one}, {kind} poison, <{self.lanes} x i32> zeroinitializer"
        )
        if not self.shared(x):
            steps = ", ".join(f"{llvm} {k}" for k in range(self.lanes))
            all_ = self.make(self.lines, f"add {kind} {all_}, <{steps}>")
        self.wide[x] = all_, llvm
        return all_

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
        elif not self.simple(name, what):
            self.operation(name, what)

    def simple(self, name: str, what: str) -> bool:
        """A line whose result all trips share, or that is a distance from the counter."""
        operands = _NAMES.findall(what)
        plain = _NAMES.sub(lambda m: self.scalar(m[0]), what)
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
        elif (m := _OVERFLOW.match(what)) is not None:
            kind, pair = f"<{n} x {m[2]}>", f"{{ <{n} x {m[2]}>, <{n} x i1> }}"
            self.e.declare(f"declare {pair} @llvm.{m[1]}.v{n}{m[2]}({kind}, {kind})")
            given = [self.vector(x, m[2]) for x in (m[3], m[4])]
            self.put(name, pair, f"call {pair} @llvm.{m[1]}.v{n}{m[2]}({kind} {given[0]}, {kind} {given[1]})")
        elif (m := _PART.match(what)) is not None and m[2] in self.wide:
            self.put(
                name,
                "i1" if m[3] == "1" else m[1],
                f"extractvalue {self.wide[m[2]][1]} {self.wide[m[2]][0]}, {m[3]}",
            )
        else:
            raise _Cannot

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
            self.accesses.append(_Access(number, write, llvm, "", None, self.scalar(at), tags))
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
                found.setdefault((min(s.start, a.start), max(s.start, a.start)), (s, a))
        if len(found) > MAX_MEETINGS:
            raise _Cannot
        return list(found.values())

    def _ahead(self, a: _Access, s: _Access) -> bool:
        """Whether a read, before the write in a trip, is of what a later trip writes."""
        if a.write or a.number > s.number or a.apart is None or s.apart is None:
            return False
        apart = [x.lstrip("-").isdigit() for x in (a.apart, s.apart)]
        return all(apart) and int(a.apart) > int(s.apart)

    # ------------------------------------------------------------------ the loop
    def trip(self) -> None:
        """Write what a trip does, for all lanes."""
        totals = [p for p in self.head.phis[1:] if p.name not in self.uniform and self.used(p.name)]
        for p in totals:
            op = self.operator(p)
            phi = Phi(self.e.name(), f"<{self.lanes} x {p.llvm}>")
            self.phis.append((p, phi, op))
            self.wide[p.name] = phi.name, p.llvm
        if not totals and not any(x.startswith("store ") for x in self.text):
            raise _Cannot
        for number, text in enumerate(self.text):
            self.line(number, text)
        for p in self.head.phis[1:]:
            x = self.after[p.name]
            if p not in totals and not (self.outer(x) or x == self.counter or x in self.lane):
                raise _Cannot
        self.checks = self.meetings()

    def used(self, name: str) -> bool:
        """Whether a value is read in a trip."""
        return any(name in _NAMES.findall(x) for x in self.text)

    def operator(self, p: Phi) -> str:
        """The operator by which a carried number grows; its lines are told to wrap."""
        at, op = p.name, ""
        while at != self.after[p.name]:
            users = [k for k, x in enumerate(self.text) if at in _NAMES.findall(x.partition(" = ")[2])]
            m = _GROWS.match(self.text[users[0]]) if len(users) == 1 else None
            if m is None or op not in ("", m[2]) or m[4] == m[5]:
                raise _Cannot
            op = m[2]
            self.text[users[0]] = f"{m[1]} = {op} {m[3]} {m[4]}, {m[5]}"
            at = m[1]
        if at == p.name or self.used_after(at):
            raise _Cannot
        return op

    def used_after(self, name: str) -> bool:
        """Whether a value is read but for being carried."""
        return any(name in _NAMES.findall(x.partition(" = ")[2] or x) for x in self.text)

    def place(self) -> None:
        """Put the blocks before the loop."""
        e, n = self.e, self.lanes
        ready, trips, done = (e.block(x) for x in ("lanes", "trips", "rest"))
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
        self.before.append(f"br i1 {good}, label %{trips.label}, label %{self.head.label}")
        following = self.make(self.lines, f"add i64 {self.now}, {n}")
        over = self.make(self.lines, f"icmp eq i64 {following}, {end}")
        trips.lines = [*self.lines, f"br i1 {over}, label %{done.label}, label %{trips.label}"]
        trips.phis = [Phi(self.now, "i64", [(self.first, ready.label), (following, trips.label)])]
        for p in self.head.phis:
            p.ways[0] = p.ways[0][0], ready.label
        self.head.phis[0].ways.append((end, done.label))
        totals = {p.name: (phi, op) for p, phi, op in self.phis}
        for p in self.head.phis[1:]:
            x, llvm = self.after[p.name], p.llvm
            if p.name in totals:
                phi, op = totals[p.name]
                made = self.wide[x][0]
                phi.ways = [("zeroinitializer", ready.label), (made, trips.label)]
                trips.phis.append(phi)
                name = f"llvm.vector.reduce.{op}.v{n}{llvm}"
                e.declare(f"declare {llvm} @{name}({phi.llvm})")
                whole = self.make(done.lines, f"call {llvm} @{name}({phi.llvm} {made})")
                x = self.make(done.lines, f"{op} {llvm} {p.ways[0][0]}, {whole}")
            elif x == self.counter or x in self.lane:
                apart = "0" if x == self.counter else self.lane[x][1]
                x = self.make(done.lines, f"add i64 {self.make(done.lines, f'add i64 {end}, -1')}, {apart}")
            else:
                x = self.scalar(x)
            p.ways.append((x, done.label))
        done.lines.append(f"br label %{self.head.label}")
        at = e.blocks.index(self.head)
        e.blocks[at:at] = [ready, trips, done]

    def apart(self, s: _Access, a: _Access, length: str) -> str:
        """Whether two places in memory have nothing in common in any trip."""
        ends = []
        for x in (s, a):
            size = str(SIZES[x.llvm])
            if x.apart is not None:
                size = self.make(self.before, f"mul i64 {length}, {size}")
            ends.append(self.make(self.before, f"getelementptr i8, ptr {x.start}, i64 {size}"))
        first = self.make(self.before, f"icmp ule ptr {ends[0]}, {a.start}")
        second = self.make(self.before, f"icmp ule ptr {ends[1]}, {s.start}")
        return self.make(self.before, f"or i1 {first}, {second}")


def _live(lines: list[str], needed: list[str]) -> list[str]:
    """The lines that something comes of."""
    wanted, kept = set(needed), list[str]()
    for line in reversed(lines):
        m = _LINE.match(line)
        if m is None or m[1] in wanted:
            wanted.update(_NAMES.findall(m[2] if m else line))
            kept.append(line)
    return kept[::-1]
