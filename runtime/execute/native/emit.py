"""Writes one LLVM function as text: blocks, instructions, and the way out to the plan.

In: instructions as text.  Out: the function's text.  What always holds: a pure instruction is written once
per place where its result is known; constants are folded where that is all there is to do; every check that
fails leaves through `bail`, which has no effect of its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

from runtime.dataclass import dataclass
from runtime.execute.native.choices import finish
from runtime.execute.native.gang import Gang
from runtime.execute.native.kinds import Unlowered
from runtime.pattern import pattern

TRUE, FALSE = "true", "false"
BRIEFLY = '"briefly"'  # stands where a function begins that has little to gain from LLVM's passes
COLD = "noinline optnone cold"  # so begins what leads to a call of Python anyhow: LLVM takes it as it is
LIMIT = 200_000  # names, those of attempts that were rolled back included
UNROLLED = 64  # lines of a loop of which LLVM does several trips in a row
PLACES = 1_000_000  # the number of the first metadata about places
PAIR = "<2 x float>"  # a complex64: no register class of its own, so assembly takes it as a double
_KEPT = pattern(r'call void asm sideeffect "", "x"\((?:\w+|<[^>]*>) (%[^)]*)\)')
_FLOATS = pattern(r"(%\S+) = f(?:add|sub|mul|div) (?:\w+|<[^>]*>) ([^\s,]+), ([^\s,]+)$")
BARRIER = 'call void asm sideeffect "", "~{memory}"()'  # nothing moves across it
APART = 'call void asm sideeffect "", ""()'  # keeps what is in a block from being done anyway
FLAGS = 1 | 4 | 8 | 16  # invalid, division by zero, overflow, underflow
OVERFLOWS = 8
_TARGET = pattern(r"label %(\w+)")


@dataclass(eq=False)
class Block:
    """One basic block: its label, its phis (filled in when all ways in are known) and its lines."""

    label: str
    phis: list[Phi] = dataclasses.field(default_factory=list)
    lines: list[str] = dataclasses.field(default_factory=list)
    closed: bool = False

    def text(self) -> str:
        """The block as LLVM reads it."""
        return "\n".join(
            [f"{self.label}:", *(f"  {p.text()}" for p in self.phis), *(f"  {x}" for x in self.lines)]
        )


@dataclass(eq=False)
class Phi:
    """A value that depends on the way in; of a gang, a vector after the other."""

    name: str
    llvm: str
    ways: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    gang: Gang | None = None
    vectors: dict[tuple[str, str], tuple[str, ...]] = dataclasses.field(default_factory=dict)  # by way

    def text(self) -> str:
        """The phi as LLVM reads it."""
        if self.gang is None:
            return self._single(self.name, self.llvm, self.ways)
        ways = [(self.vectors.get(way) or self.gang.constant(self.llvm, way[0]), way[1]) for way in self.ways]
        lines = []
        for k, name in enumerate(self.gang.parts[self.name]):
            each = [(parts[k], label) for parts, label in ways]
            lines.append(self._single(name, self.gang.wide(self.llvm), each))
        return "\n  ".join(lines)

    def _single(self, name: str, llvm: str, ways: list[tuple[str, str]]) -> str:
        if not ways:  # the block can't be reached
            return f"{name} = freeze {llvm} poison"
        return f"{name} = phi {llvm} " + ", ".join(f"[ {value}, %{label} ]" for value, label in ways)


@dataclass
class Mark:
    """A point to which an emitter can be rolled back."""

    blocks: int
    here: Block
    lines: int
    memo: dict[str, str]
    bails: int
    closed: bool
    pending: str
    version: int
    parts: int


class Emitter:
    """The body of one function under construction.

    when: a condition under which the code that is being written counts (its result is picked by a select
    later); checks are made under it.  watch: whether floating point flags matter in this function.
    outside: whether C functions are called, which may flag in the x87 unit as well.
    reports: the same, wherever code is being written.  wraps: whether NumPy's integers wrap here, unnoticed;
    noting: whether they do, and it is noted, as an overflow of floats is.  noted: where.
    lanes: how many neighbouring elements an instruction works on; along: the index that counts them.
    mask: where not all lanes count, those that do; last: the index of the last element, which is read in
    place of those that don't count.  turned: of lines that are read from several places, what this stretch of
    them is made of (see `turns`).  anchor: an array whose lines are gone along so that vectors of so many
    elements lie well in memory from a column on.  helpers: other functions of the module, by name.
    tags: what is said of the aliasing of reads and of writes.
    likely: of sizes that are not known, what they are but for unusual cases; unusual: code for such cases.
    pending: whether a check has failed that need not be acted on at once.  at_once: whether all are, which
    is quicker where the processor does one thing after the other.  says: what conditions stand for (see
    `narrowing`).  ands: conditions that are several at once.
    harmless: conditions of checks after which wrong numbers do no harm; picks: of choices between numbers.
    strides: of arrays in C order.  version: changes when memory does.
    exact, most: of integers, another one and what to add for the same, and for no less; held: the same.
    gang: the lanes that all that is written goes through, where it is written for many numbers at a time;
    `when` and `pending` are then of each lane.
    node: the node that is being lowered.
    """

    def __init__(self, watch: bool) -> None:
        self.watch = self.reports = watch
        self.wraps = self.noting = self.unusual = False
        self.noted = ""
        self.node: Any = None
        self.wrapping = 0  # how many operations of NumPy's integers might
        self.blocks: list[Block] = [Block("start")]
        self.here = self.blocks[0]
        self.prologue: list[str] = []
        self.memo: dict[str, str] = {}
        self.fixed: dict[str, str] = {}
        self.declarations: dict[str, None] = {}
        self.when = TRUE
        self.bails = self.version = 0
        self.pending = FALSE
        self.at_once = False
        self.says: dict[str, tuple[Any, ...]] = {}
        self.harmless, self.picks = set[str](), set[str]()
        self.strides: set[str] = set()
        self.ands: dict[str, dict[str, None]] = {}
        self.exact: dict[str, tuple[str, int]] = {}
        self.most, self.held = dict[str, tuple[str, int]](), dict[str, tuple[str, str]]()
        self.outside = self.again = False
        self.tags = ("", "")
        self.metadata: list[str] = []
        self.places: dict[int, int] = {}
        self.likely: dict[str, int] = {}
        self.lanes = 1
        self.quick: str | None = None
        self.along = ""
        self.mask = self.last = ""
        self.turned: dict[Any, str] = {}
        self.anchor: tuple[Any, int, int] | None = None
        self.helpers: dict[str, str] = {}
        self.gang: Gang | None = None
        self.stacked = 0  # bytes on the stack that parts of arrays lie in
        self.parameters: list[str] = []  # of the function: types and names
        self.parts: list[str] = []  # functions that do parts of loops, which threads share
        self.part: Any = None  # while one of these is written: what is known of it
        self._count = 0

    def reachable(self) -> bool:
        """Whether control can get to where code is written now."""
        return not self.here.closed

    # ------------------------------------------------------------------ instructions
    def name(self) -> str:
        """A fresh name."""
        self._count += 1
        if self._count > LIMIT:
            raise Unlowered("code that would be too large")
        return f"%v{self._count}"

    def op(self, text: str) -> str:
        """A pure instruction; the same text in the same place is written once."""
        key = text if self.gang is None else self.gang.key(self, text)
        known = self.memo.get(key)
        if known is None:
            known = self.memo[key] = self.effect(text)
        return known

    def effect(self, text: str) -> str:
        """An instruction with a result that must be carried out here."""
        found = None if self.gang is None else self.gang.effect(self, text)
        if found is None:
            found = self.name()
            self.write(f"{found} = {text}")
        return found

    def line(self, text: str) -> None:
        """An instruction without result."""
        if self.gang is None or not self.gang.line(self, text):
            self.write(text)

    def write(self, text: str) -> None:
        """A line as it stands."""
        self.here.lines.append(text)

    def call(self, result: str, function: str, *args: tuple[str, str]) -> str:
        """A call of a pure LLVM intrinsic."""
        self.declare(f"declare {result} @{function}({', '.join(t for t, _ in args)})")
        return self.op(f"call {result} @{function}({', '.join(f'{t} {v}' for t, v in args)})")

    def declare(self, text: str) -> None:
        """A declaration of the module."""
        self.declarations[text] = None

    def slot(self, llvm: str) -> str:
        """Room on the stack, made once."""
        name = self.name()
        self.prologue.append(f"{name} = alloca {llvm}, align 8")
        return name

    def opaque(self, llvm: str, value: str) -> str:
        """The value, kept from LLVM's constant folding, which would lose floating point flags."""
        if not self.watch:
            return value
        if llvm == PAIR:
            one = self.op(f"bitcast {llvm} {value} to double")
            return self.op(f"bitcast double {self.opaque('double', one)} to {llvm}")
        text = f'call {llvm} asm "", "=x,0"({llvm} {value})'
        if value.startswith("%"):
            return self.op(text)
        if text not in self.fixed:
            self.fixed[text] = self.name()
            self.prologue.append(f"{self.fixed[text]} = {text}")
        return self.fixed[text]

    def keep(self, llvm: str, value: str) -> str:
        """The value, which must be computed even if nobody needs it: computing it may raise a flag."""
        if not self.watch or f"kept {value}" in self.memo:
            return value
        self.memo[f"kept {value}"] = value
        t, held = ("double", self.op(f"bitcast {llvm} {value} to double")) if llvm == PAIR else (llvm, value)
        self.line(f'call void asm sideeffect "", "x"({t} {held}) nounwind memory(inaccessiblemem: readwrite)')
        return value

    def library(self, llvm: str, name: str, *values: str) -> str:
        """A call of a function of `math.h`, which may raise flags, but clears none (ISO C, 7.6)."""
        self.outside = True
        self.declare(f"declare {llvm} @autograph_{name}({', '.join([llvm] * len(values))}) nounwind")
        if self.gang is not None and any(map(self.gang.varies, values)):
            return self.gang.by_each(self, llvm, name, values)
        return self.effect(f"call {llvm} @autograph_{name}({', '.join(f'{llvm} {v}' for v in values)})")

    def leaving(self) -> None:
        """NumPy's code is about to be called: it may clear the flags, so what they say now is put away."""
        self.outside = True
        if self.watch:  # those of the x87 unit, which the C library hardly uses, are looked at in the end
            cell = self.slot("i32")
            for text in (BARRIER, f"call void @llvm.x86.sse.stmxcsr(ptr {cell})", BARRIER):
                self.line(text)
            now = self.effect(f"and i32 {self.effect(f'load i32, ptr {cell}')}, {FLAGS}")
            before = self.effect("load i32, ptr %raised")
            self.line(f"store i32 {self.effect(f'or i32 {before}, {now}')}, ptr %raised")

    def wide(self, llvm: str) -> str:
        """The type of as many as are worked on at once."""
        return llvm if self.lanes == 1 else f"<{self.lanes} x {llvm}>"

    def splat(self, llvm: str, value: str) -> str:
        """One value in all lanes."""
        if self.lanes == 1:
            return value
        if not value.startswith("%"):
            return f"splat ({llvm} {value})"
        wide = self.wide(llvm)
        first = self.op(f"insertelement {wide} poison, {llvm} {value}, i32 0")
        return self.op(f"shufflevector {wide} {first}, {wide} poison, <{self.lanes} x i32> zeroinitializer")

    # ------------------------------------------------------------------ conditions
    def both(self, a: str, b: str) -> str:
        """`a and b`."""
        if FALSE in (a, b):
            return FALSE
        if a == TRUE or a == b:
            return b
        if b == TRUE:
            return a
        made = self.op(f"and i1 {a}, {b}")
        self.ands[made] = self.ands.get(a, {a: None}) | self.ands.get(b, {b: None})
        return made

    def either(self, a: str, b: str) -> str:
        """`a or b`."""
        if TRUE in (a, b):
            return TRUE
        if a == FALSE or a == b:
            return b
        if b == FALSE:
            return a
        first, second = (self.ands.get(x, {x: None}) for x in (a, b))
        only, other = [x for x in first if x not in second], [x for x in second if x not in first]
        if len(only) == len(other) == 1 and self.says.get(other[0]) == ("not", only[0], None):
            return functools.reduce(self.both, [x for x in first if x in second], TRUE)
        return self.op(f"or i1 {a}, {b}")

    def negated(self, a: str) -> str:
        """`not a`."""
        if a in (TRUE, FALSE):
            return FALSE if a == TRUE else TRUE
        made = self.op(f"xor i1 {a}, true")
        self.says.setdefault(made, ("not", a, None))
        return made

    def select(self, condition: str, llvm: str, yes: str, no: str) -> str:
        """`yes if condition else no`."""
        if yes == no or condition == TRUE:
            return yes
        if condition == FALSE:
            return no
        if (yes, no) == (TRUE, FALSE):
            return condition
        return self.op(f"select i1 {condition}, {llvm} {yes}, {llvm} {no}")

    # ------------------------------------------------------------------ control flow
    def block(self, hint: str) -> Block:
        """A new block, not yet part of the function."""
        self._count += 1
        return Block(f"{hint}{self._count}")

    def start(self, block: Block) -> None:
        """Go on writing in `block`."""
        self.blocks.append(block)
        self.here = block

    def jump(self, block: Block) -> None:
        """End this block."""
        self.end(f"br label %{block.label}")

    def branch(self, condition: str, yes: Block, no: Block) -> None:
        """End this block with a choice."""
        self.end(f"br i1 {condition}, label %{yes.label}, label %{no.label}")

    def end(self, text: str) -> None:
        """End this block; what is written until the next `start` can't be reached."""
        if not self.here.closed:
            self.line(text)
            self.here.closed = True
            self.here = Block("nowhere", closed=True)

    def phi(self, block: Block, llvm: str, alike: bool = False) -> Phi:
        """A new phi of `block`; alike: the same in all lanes of a gang."""
        phi = Phi(self.name(), llvm)
        if self.gang is not None and not alike:
            phi.gang = self.gang
            self.gang.parts[phi.name] = tuple(f"{phi.name}.{k}" for k in range(self.gang.count))
        block.phis.append(phi)
        return phi

    def way(self, phi: Phi, value: str) -> None:
        """The value of a phi for those who come from here."""
        way = value, self.here.label
        if phi.gang is not None and value.startswith("%"):
            phi.vectors[way] = phi.gang.spread(self, phi.llvm, value)
        elif self.gang is not None and self.gang.varies(value):
            raise Unlowered("what differs from lane to lane in place of one number")
        phi.ways.append(way)

    def bail_if(self, condition: str, likely: bool = False) -> None:
        """Leave to the plan where the condition holds."""
        if f"not {condition}" in self.memo:
            return
        alike = self.gang is not None and condition.startswith("%") and not self.gang.varies(condition)
        if not alike:  # what is the same in all lanes is not carried out lane by lane either
            condition = self.both(self.when, condition)
        if condition == FALSE or self.here.closed or f"not {condition}" in self.memo:
            return
        self.bails += 1
        if condition != TRUE:
            self.memo[f"not {condition}"] = condition
        if self.gang is not None:
            condition = self.gang.any(self, condition)
        if condition == TRUE:
            self.end("br label %bail")
            return
        following = self.block("go")
        # unpredictable: the parts of the condition are not to become branches of their own
        weights = "" if likely else ", !prof !0, !unpredictable !{}"
        self.line(f"br i1 {condition}, label %bail, label %{following.label}{weights}")
        self.here.closed = True
        self.start(following)

    @contextlib.contextmanager
    def seldom(self, condition: str) -> Iterator[tuple[Block, Block]]:
        """Code for where the condition, which hardly ever does, holds; the blocks before and after it."""
        before, rare, following = self.here, self.block("seldom"), self.block("go")
        self.branch(condition, rare, following)
        before.lines[-1] += ", !prof !0"
        self.start(rare)
        with self.scope():
            yield before, following
            self.jump(following)
        self.start(following)

    def defer_if(self, condition: str, rare: bool = False) -> None:
        """Leave to the plan, now or at the next `flush`: for checks after which wrong numbers do no harm.

        rare: whether the condition hardly ever holds, also where the code does not count.
        """
        if self.prompt():
            self.harmless.add(condition)
            self.bail_if(condition)
            return
        if not rare:
            condition = self.both(self.when, condition)
        if condition != FALSE:
            self.bails += 1
        self.pending = self.either(self.pending, condition)

    def note_if(self, condition: str) -> None:
        """Note that integers wrapped, of which NumPy warns, where the condition holds."""
        if self.part is not None or self.gang is not None or self.lanes != 1:
            raise Unlowered("integers that wrap in several numbers at once")
        if not self.noted:
            self.noted = self.slot("i1")
            self.prologue.append(f"store i1 false, ptr {self.noted}")
        counts = self.both(self.when, condition)
        found = self.effect(f"or i1 {self.effect(f'load i1, ptr {self.noted}')}, {counts}")
        self.line(f"store i1 {found}, ptr {self.noted}")

    def tell_noted(self) -> None:
        """Raise the flag for what was noted."""
        if self.noted:
            noted = self.effect(f"load i1, ptr {self.noted}")
            flag = self.effect(f"select i1 {noted}, i32 {OVERFLOWS}, i32 0")
            before = self.effect("load i32, ptr %raised")
            self.line(f"store i32 {self.effect(f'or i32 {before}, {flag}')}, ptr %raised")

    def prompt(self) -> bool:
        """Whether checks are acted on where they are made."""
        return self.at_once and self.when == TRUE and self.lanes == 1 and self.gang is None

    def moved(self, name: str, x: str, by: int) -> None:
        """Note that an integer is another one and a constant."""
        base, apart = self.exact.get(x, (x, 0))
        self.exact[name] = base, apart + by
        if x in self.most:
            base, apart = self.most[x]
            self.most[name] = base, apart + by

    def below(self, x: str, limit: str) -> bool:
        """Whether an integer is known to be less than another."""
        base, most = self.most.get(x, ("", 0))
        (first, apart), (second, size) = (self.exact.get(y, (y, 0)) for y in (base, limit))
        return first == second and most + apart < size

    def flush(self) -> None:
        """Act on the checks that were put off."""
        condition, self.pending = self.pending, FALSE
        before, self.when = self.when, TRUE
        self.bail_if(condition)
        self.when = before

    @contextlib.contextmanager
    def unflagged(self, kinds: int = FLAGS, wraps: bool = False) -> Iterator[None]:
        """Code of whose flags those of these kinds are forgotten; wraps: so is that NumPy's integers wrap."""
        watching, wrapping, before = self.watch, self.wraps, ""
        if watching:
            before = self.slot("i32")
            self.line(f"store i32 {self.raised_so_far()}, ptr {before}")
        self.watch, self.wraps = watching and kinds != FLAGS, wrapping or wraps
        with self.scope():  # what was computed in here was not watched
            yield
        self.watch, self.wraps = watching, wrapping
        if watching and self.reachable():
            inside = self.effect(f"and i32 {self.raised_so_far()}, {FLAGS & ~kinds}")
            both = self.effect(f"or i32 {inside}, {self.effect(f'load i32, ptr {before}')}")
            self.line(f"store i32 {both}, ptr %raised")

    def raised_so_far(self) -> str:
        """The flags that were raised, of both units of the processor; from here on none is."""
        self.leaving()
        for name in ("fetestexcept", "feclearexcept"):
            self.declare(f"declare i32 @autograph_{name}(i32)")
        outside = self.effect(f"call i32 @autograph_fetestexcept(i32 {FLAGS})")
        found = self.effect(f"or i32 {outside}, {self.effect('load i32, ptr %raised')}")
        self.line(f"call i32 @autograph_feclearexcept(i32 {FLAGS})")
        self.line("store i32 0, ptr %raised")
        return found

    def load(self, text: str) -> str:
        """A read of memory: done once between two writes."""
        key = f"{text} at {self.version}{'' if self.gang is None else f' when {self.when}'}"
        if key not in self.memo:
            self.memo[key] = self.effect(text + self.tags[0])
        return self.memo[key]

    @contextlib.contextmanager
    def known(self, place: int | None) -> Iterator[None]:
        """Accesses to an array in one of the places that share no memory; None is anywhere."""
        before = self.tags
        if place is not None and before == ("", ""):
            k = self.places.setdefault(place, len(self.places))
            tag = f", !alias.scope !{PLACES + 3 * k}, !noalias !{PLACES + 3 * k + 1}"
            self.tags = (tag, tag)
        yield
        self.tags = before

    def described(self) -> list[str]:
        """The metadata of the places: each apart from all others."""
        numbers = [PLACES + 3 * k for k in self.places.values()]
        lines = [f"!{PLACES - 1} = distinct !{{!{PLACES - 1}}}"] if numbers else []
        for n in numbers:
            others = ", ".join(f"!{m + 2}" for m in numbers if m != n)
            scope = f"!{n + 2} = distinct !{{!{n + 2}, !{PLACES - 1}}}"
            lines += [f"!{n} = !{{!{n + 2}}}", f"!{n + 1} = !{{{others}}}", scope]
        return lines

    def scopes(self) -> int:
        """Two new alias scopes: the number of the first list of scopes, the second follows."""
        first = 10 + len(self.metadata)
        domain, one, two = first + 2, first + 3, first + 4
        self.metadata += [
            f"!{first} = !{{!{one}}}", f"!{first + 1} = !{{!{two}}}", f"!{domain} = distinct !{{!{domain}}}",
            f"!{one} = distinct !{{!{one}, !{domain}}}", f"!{two} = distinct !{{!{two}, !{domain}}}",
        ]  # fmt: skip
        return first

    def unroll(self, blocks: list[Block]) -> None:
        """Let LLVM do several trips of a loop, whose last line goes back, in a row.

        It does so by itself only where no value is kept.
        """
        lines = [x for b in blocks for x in b.lines]
        if len(lines) > UNROLLED or not any("asm sideeffect" in x for x in lines):
            return
        number = 10 + len(self.metadata)
        blocks[-1].lines[-1] += f", !llvm.loop !{number}"
        self.metadata += [
            f"!{number} = distinct !{{!{number}, !{number + 1}}}",
            f'!{number + 1} = !{{!"llvm.loop.unroll.count", i32 {4 if len(lines) <= UNROLLED // 2 else 2}}}',
        ]

    # ------------------------------------------------------------------ places
    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Code that does not dominate what follows: results known inside are forgotten after it."""
        before = dict(self.memo)
        yield
        self.memo = before

    @contextlib.contextmanager
    def under(self, condition: str) -> Iterator[None]:
        """Code whose result counts only where the condition holds."""
        before = self.when
        self.when = self.both(before, condition)
        yield
        self.when = before

    def mark(self) -> Mark:
        """Where the emitter is now."""
        here = self.here
        return Mark(
            len(self.blocks), here, len(here.lines), dict(self.memo),
            self.bails, here.closed, self.pending, self.version, len(self.parts),
        )  # fmt: skip

    def rollback(self, mark: Mark) -> None:
        """Forget what was written since `mark`."""
        del self.blocks[mark.blocks :]
        self.here, self.memo, self.bails = mark.here, dict(mark.memo), mark.bails
        del self.here.lines[mark.lines :]
        del self.parts[mark.parts :]
        self.here.closed = mark.closed
        self.pending, self.version = mark.pending, mark.version

    def body(self) -> str:
        """All blocks that control can get to, the first one opened by the prologue."""
        first = self.blocks[0]
        opened = Block(first.label, first.phis, [*self.prologue, *first.lines])
        reached = _reached([opened, *self.blocks[1:]])
        for block in reached:
            block.lines = needed(block.lines)
        finish(self, reached)
        return "\n".join(b.text() for b in reached)


def _reached(blocks: list[Block]) -> list[Block]:
    """The blocks that the first one leads to; the others may use what was never computed."""
    by_label = {block.label: block for block in blocks}
    found, due = {blocks[0].label}, [blocks[0]]
    while due:
        ways = _TARGET.findall(due.pop().lines[-1])
        due += [by_label[label] for label in dict.fromkeys(ways) if label not in found]
        found.update(ways)
    kept = [block for block in blocks if block.label in found]
    for phi in (phi for block in kept for phi in block.phis):
        phi.ways = [way for way in phi.ways if way[1] in found]
    return kept


def needed(lines: list[str]) -> list[str]:
    """The lines of a block without those that keep what another value, itself kept, is made of."""
    kept = {m[1] for m in map(_KEPT.match, lines) if m}
    if len(kept) < 2:
        return lines
    read = {x for m in map(_FLOATS.match, lines) if m and m[1] in kept for x in m.groups()[1:]}
    return [x for x in lines if (m := _KEPT.match(x)) is None or m[1] not in read]
