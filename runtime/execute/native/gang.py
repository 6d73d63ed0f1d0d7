"""Many numbers at a time: instructions on one number as the same instructions on vectors, text to text.

In: instructions as they are written for one number.  Out: for those that work on a number which differs from
lane to lane, an instruction for each vector of the gang.  What always holds: every lane gets the bits that
its number alone would give; what has no form on vectors raises Unlowered; in lanes that don't count nothing
raises a flag, where flags matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from runtime.execute.native.kinds import Unlowered
from runtime.pattern import pattern

PAIR = "<2 x float>"  # has no register class of its own, so assembly takes it as a double
_TYPE, _WORD = r"(double|float|i\d+)", r"([^\s,()]+)"
_BINARY = "fadd|fsub|fmul|fdiv|frem|add|sub|mul|sdiv|udiv|srem|urem|shl|lshr|ashr|and|or|xor"
_CASTS = "sitofp|uitofp|fptosi|fptoui|sext|zext|trunc|fpext|fptrunc|bitcast"
_FLAGGED = ("fadd ", "fsub ", "fmul ", "fdiv ", "frem ", "fptrunc ", "fptosi ")
_FLAGGED_CALLS = ("@llvm.sqrt.", "@llvm.fptosi.")
_ORDERED = ("fcmp ol", "fcmp og")
_NAME = pattern(r"%[\w.]+")
_SUFFIX = pattern(r"\.([fi]\d+)(?=[.(])")
_ARGUMENT = pattern(rf"{_TYPE} {_WORD}")
_PLAIN = pattern(rf"({_BINARY}|[if]cmp \w+)(?: nuw| nsw)* {_TYPE} {_WORD}, {_WORD}")
_CAST = pattern(rf"({_CASTS}) {_TYPE} {_WORD} to {_TYPE}")
_SINGLE = pattern(rf"(fneg|freeze) {_TYPE} {_WORD}")
_SELECT = pattern(rf"select i1 {_WORD}, {_TYPE} {_WORD}, {_TYPE} {_WORD}")
_CALL = pattern(rf"call ({_TYPE}|\{{ {_TYPE}, i1 \}}) (@llvm\.[\w.]+)\((.*)\)")
_PICKED = pattern(rf"extractvalue \{{ {_TYPE}, i1 \}} {_WORD}, (\d)")
_OPAQUE = pattern(rf'call {_TYPE} asm "", "=x,0"\({_TYPE} {_WORD}\)')
_KEPT = pattern(rf'call void asm sideeffect "", "x"\({_TYPE} {_WORD}\)(.*)')

_PLACE = pattern(rf"getelementptr (\w+), ptr {_WORD}, i64 {_WORD}")
_LOAD = pattern(rf"load {_TYPE}, ptr {_WORD}, align 1(.*)")

Operands = list[tuple[str, str]]  # the type of each, and its text
Build = Callable[[Sequence[str]], str]


class Writer(Protocol):
    """What a gang needs of an emitter."""

    when: str

    def name(self) -> str:
        """A fresh name."""

    helpers: dict[str, str]

    def op(self, text: str) -> str:
        """A pure instruction."""

    def write(self, text: str) -> None:
        """A line as it stands."""

    def declare(self, text: str) -> None:
        """A declaration of the module."""


class Gang:
    """The lanes that go through the same instructions together.

    lanes: how many a vector has.  count: vectors side by side, whose instructions do not wait for each other.
    quiet: whether flags don't matter.  register: how many bytes one of the processor's registers has.
    parts: the vectors of each number that differs from lane to lane; its name is not a name of LLVM's.
    work: what is known of the loop that it goes through.  uneven: whether code is written for a loop that
    some lanes leave long before others.
    """

    def __init__(self, lanes: int, count: int, quiet: bool, register: int) -> None:
        self.lanes, self.count, self.quiet, self.register = lanes, count, quiet, register
        self.parts: dict[str, tuple[str, ...]] = {}
        self.work: Any = None
        self.uneven = False

    def varies(self, text: str) -> bool:
        """Whether a number differs from lane to lane."""
        return text in self.parts

    def wide(self, llvm: str) -> str:
        """The type of one vector."""
        return f"<{self.lanes} x {llvm}>"

    def joined(self, e: Writer, parts: Sequence[str]) -> str:
        """The number that these vectors are."""
        name = e.name()
        self.parts[name] = tuple(parts)
        return name

    # ------------------------------------------------------------------ instructions
    def effect(self, e: Writer, text: str) -> str | None:
        """The result of an instruction in all lanes; None for one on numbers that are the same in all."""
        if (opaque := _OPAQUE.fullmatch(text)) and self.varies(opaque[3]):
            place, wide = self._place(opaque[1]), self.wide(opaque[1])
            return self.joined(e, [self._opaque(e, place, wide, x) for x in self.parts[opaque[3]]])
        if (found := _PLACE.fullmatch(text)) and (self.varies(found[2]) or self.varies(found[3])):
            return self._places(e, *found.groups())
        if (found := _LOAD.fullmatch(text)) and self.varies(found[2]):
            return self._gathered(e, *found.groups())
        form = self._form(text)
        if form is None:
            self._refuse(text)
            return None
        operands, build = form
        guarded = self._guarded(e, text)
        if not guarded and not any(self.varies(x) for _, x in operands):
            return None
        if guarded:  # 1 is a number that no operation flags
            operands = [(t, self._harmless(e, t, x)) for t, x in operands]
        self._declare(e, text)
        name = e.name()
        spread = [self.spread(e, t, x) for t, x in operands]
        for k in range(self.count):
            e.write(f"{name}.{k} = {build([s[k] for s in spread])}")
        self.parts[name] = tuple(f"{name}.{k}" for k in range(self.count))
        return name

    def _places(self, e: Writer, held: str, base: str, index: str) -> str:
        """Addresses, each as far from another as its lane says."""
        wide, same = f"<{self.lanes} x ptr>", ("",) * self.count
        bases = self.parts.get(base, same)
        indices = self.spread(e, "i64", index) if self.varies(index) or index.startswith("%") else same
        made = []
        for at, k in zip(bases, indices, strict=True):
            start = f"{wide} {at}" if at else f"ptr {base}"
            made.append(e.name())
            far = f"{self.wide('i64')} {k}" if k else f"i64 {index}"
            e.write(f"{made[-1]} = getelementptr {held}, {start}, {far}")
        return self.joined(e, made)

    def _gathered(self, e: Writer, llvm: str, places: str, tags: str) -> str:
        """What lies at addresses; in lanes that don't count, 0."""
        wide, made = self.wide(llvm), []
        suffix = f"v{self.lanes}{ {'double': 'f64', 'float': 'f32'}.get(llvm, llvm) }"
        function, pointers, mask = (
            f"@llvm.masked.gather.{suffix}.v{self.lanes}p0",
            f"<{self.lanes} x ptr>",
            self.wide("i1"),
        )
        e.declare(f"declare {wide} {function}({pointers}, i32, {mask}, {wide})")
        for at, counts in zip(self.parts[places], self.counting(e), strict=True):
            made.append(e.name())
            operands = f"{pointers} {at}, i32 1, {mask} {counts}, {wide} zeroinitializer"
            e.write(f"{made[-1]} = call {wide} {function}({operands}){tags}")
        return self.joined(e, made)

    def counting(self, e: Writer) -> tuple[str, ...]:
        """The lanes that count, of each vector."""
        return self.spread(e, "i1", e.when)

    def by_each(self, e: Writer, llvm: str, name: str, xs: Sequence[str]) -> str:
        """A function of the C library, called for lanes that count; the others keep the first operand."""
        wide, mask, made = self.wide(llvm), self.wide("i1"), []
        function = f"each_{name}_{self.lanes}"
        if function not in e.helpers:
            e.declare("declare i64 @llvm.cttz.i64(i64, i1)")
            e.helpers[function] = _each(function, f"@autograph_{name}", self.lanes, llvm, len(xs))
        spread = [self.spread(e, llvm, x) for x in xs]
        for k, counts in enumerate(self.counting(e)):
            made.append(e.name())
            given = ", ".join(f"{wide} {parts[k]}" for parts in spread)
            e.write(f"{made[-1]} = call {wide} @{function}({given}, {mask} {counts})")
        return self.joined(e, made)

    def key(self, e: Writer, text: str) -> str:
        """Where the same instruction gives the same: not where other lanes count."""
        return f"{text} when {e.when}" if self._guarded(e, text) else text

    def _guarded(self, e: Writer, text: str) -> bool:
        """Whether an instruction must not see the numbers of lanes that don't count."""
        return not self.quiet and self.varies(e.when) and _flagged(text)

    def line(self, e: Writer, text: str) -> bool:
        """An instruction without result, in all lanes; False for one on numbers that are the same in all."""
        found = _KEPT.fullmatch(text)
        if found is None or not self.varies(found[2]):
            self._refuse(text)
            return False
        wide, place = self.wide(found[1]), self._place(found[1])
        for part in self.parts[found[2]]:
            held = part if wide != PAIR else e.op(f"bitcast {PAIR} {part} to double")
            t = wide if wide != PAIR else "double"
            e.write(f'call void asm sideeffect "", "{place}"({t} {held}){found[3]}')
        return True

    def _place(self, llvm: str) -> str:
        """The kind of register that assembly takes a vector in; LLVM ends the process over longer ones."""
        bits = {"double": 64, "float": 32}.get(llvm) or int(llvm[1:])
        if self.lanes * bits > 8 * self.register:
            raise Unlowered("vectors that are longer than a register, and must be kept as they are")
        return "v" if self.register == 64 else "x"

    def _opaque(self, e: Writer, place: str, wide: str, part: str) -> str:
        """A vector, kept from LLVM's constant folding."""
        if wide == PAIR:
            whole = self._opaque(e, place, "double", e.op(f"bitcast {PAIR} {part} to double"))
            return e.op(f"bitcast double {whole} to {PAIR}")
        return e.op(f'call {wide} asm "", "={place},0"({wide} {part})')

    def _refuse(self, text: str) -> None:
        if any(map(self.varies, _NAME.findall(text))):
            raise Unlowered(f"an instruction that has no form on vectors: {text.split()[0]}")

    def _harmless(self, e: Writer, llvm: str, x: str) -> str:
        """The operand, or 1 in lanes that don't count."""
        unit = "1.0" if llvm in ("double", "float") else "1"
        return e.op(f"select i1 {e.when}, {llvm} {x}, {llvm} {unit}")

    def spread(self, e: Writer, llvm: str, x: str) -> tuple[str, ...]:
        """A number as vectors: those that it is, or one with the same in all lanes."""
        if x in self.parts:
            return self.parts[x]
        if not x.startswith("%"):
            return self.constant(llvm, x)
        wide = self.wide(llvm)
        first = e.op(f"insertelement {wide} poison, {llvm} {x}, i32 0")
        mask = f"<{self.lanes} x i32> zeroinitializer"
        return (e.op(f"shufflevector {wide} {first}, {wide} poison, {mask}"),) * self.count

    def constant(self, llvm: str, x: str) -> tuple[str, ...]:
        """The vectors of a constant."""
        return (f"splat ({llvm} {x})",) * self.count

    def any(self, e: Writer, test: str) -> str:
        """Whether a test holds in any lane."""
        if test not in self.parts:
            return test
        wide, (found, *others) = self.wide("i1"), self.parts[test]
        for part in others:
            found = e.op(f"or {wide} {found}, {part}")
        function = f"llvm.vector.reduce.or.v{self.lanes}i1"
        e.declare(f"declare i1 @{function}({wide})")
        return e.op(f"call i1 @{function}({wide} {found})")

    # ------------------------------------------------------------------ their forms
    def _form(self, text: str) -> tuple[Operands, Build] | None:
        """The operands of an instruction, and its text on vectors of them."""
        wide = self.wide
        if found := _PLAIN.fullmatch(text):
            how, t, a, b = found.groups()
            if how.startswith(_ORDERED):
                return [(t, a), (t, b)], lambda x: self._compared(how[5:], t, x)
            return [(t, a), (t, b)], lambda x: f"{how} {wide(t)} {x[0]}, {x[1]}"
        if found := _SELECT.fullmatch(text):
            c, t, a, _, b = found.groups()
            return (
                [("i1", c), (t, a), (t, b)],
                lambda x: f"select {wide('i1')} {x[0]}, {wide(t)} {x[1]}, {wide(t)} {x[2]}",
            )
        if found := _CAST.fullmatch(text):
            how, t, a, to = found.groups()
            return [(t, a)], lambda x: f"{how} {wide(t)} {x[0]} to {wide(to)}"
        if found := _SINGLE.fullmatch(text):
            how, t, a = found.groups()
            return [(t, a)], lambda x: f"{how} {wide(t)} {x[0]}"
        if found := _PICKED.fullmatch(text):
            t, a, k = found.groups()
            return [("", a)], lambda x: f"extractvalue {self._pair(t)} {x[0]}, {k}"
        if found := _CALL.fullmatch(text):
            return self._called(found)
        return None

    def _pair(self, llvm: str) -> str:
        return f"{{ {self.wide(llvm)}, {self.wide('i1')} }}"

    def _compared(self, how: str, llvm: str, x: Sequence[str]) -> str:
        """A comparison that raises no flag for NaN, as those of single numbers don't."""
        t = self.wide(llvm)
        if self.quiet:
            return f"fcmp {how} {t} {x[0]}, {x[1]}"
        told = f'metadata !"{how}", metadata !"fpexcept.ignore"'
        return f"call {self.wide('i1')} @{self._comparison(llvm)}({t} {x[0]}, {t} {x[1]}, {told})"

    def _comparison(self, llvm: str) -> str:
        return f"llvm.experimental.constrained.fcmp.v{self.lanes}{'f64' if llvm == 'double' else 'f32'}"

    def _called(self, found: re.Match[str]) -> tuple[Operands, Build] | None:
        operands = [(a[1], a[2]) for a in _ARGUMENT.finditer(found[5])]
        if len(operands) != found[5].count(",") + 1:
            return None
        result, function = self._callee(found)

        def build(x: Sequence[str]) -> str:
            pairs = zip(operands, x, strict=True)
            return (
                f"call {result} {function}({', '.join(f'{self.wide(t)} {text}' for (t, _), text in pairs)})"
            )

        return operands, build

    def _callee(self, found: re.Match[str]) -> tuple[str, str]:
        """The type of the result of a function of LLVM's on vectors, and its name."""
        result = self._pair(found[3]) if found[1].startswith("{") else self.wide(found[1])
        return result, _SUFFIX.sub(rf".v{self.lanes}\1", found[4] + "(")[:-1]

    def _declare(self, e: Writer, text: str) -> None:
        """Declare the function of LLVM's that does an instruction on vectors, where it is one."""
        if found := _CALL.fullmatch(text):
            result, function = self._callee(found)
            types = ", ".join(self.wide(a[1]) for a in _ARGUMENT.finditer(found[5]))
            e.declare(f"declare {result} {function}({types})")
        elif not self.quiet and (found := _PLAIN.fullmatch(text)) and text.startswith(_ORDERED):
            t = self.wide(found[2])
            e.declare(
                f"declare {self.wide('i1')} @{self._comparison(found[2])}({t}, {t}, metadata, metadata)"
            )


def _flagged(text: str) -> bool:
    """Whether an instruction may raise one of the processor's flags."""
    return text.startswith(_FLAGGED) or any(call in text for call in _FLAGGED_CALLS)


def _each(name: str, function: str, lanes: int, llvm: str, count: int) -> str:
    """The text of a function that calls another one for some lanes of vectors, one after the other."""
    wide, numbers = f"<{lanes} x {llvm}>", range(count)
    given = ", ".join(f"{wide} %x{k}" for k in numbers)
    cells = [f"  %c{k} = alloca {wide}, align 64\n  store {wide} %x{k}, ptr %c{k}" for k in numbers]
    reads = [
        f"  %p{k} = getelementptr {llvm}, ptr %c{k}, i64 %at\n  %y{k} = load {llvm}, ptr %p{k}"
        for k in numbers
    ]
    return f"""define internal {wide} @{name}({given}, <{lanes} x i1> %counts) noinline nounwind {{
start:
{chr(10).join(cells)}
  %bits = bitcast <{lanes} x i1> %counts to i{lanes}
  %all = zext i{lanes} %bits to i64
  br label %look
look:
  %left = phi i64 [ %all, %start ], [ %fewer, %one ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %one
one:
  %at = call i64 @llvm.cttz.i64(i64 %left, i1 true)
{chr(10).join(reads)}
  %value = call {llvm} {function}({", ".join(f"{llvm} %y{k}" for k in numbers)})
  store {llvm} %value, ptr %p0
  %less = sub i64 %left, 1
  %fewer = and i64 %left, %less
  br label %look
done:
  %found = load {wide}, ptr %c0
  ret {wide} %found
}}"""
