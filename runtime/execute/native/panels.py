"""Products of two matrices of known sizes, block by block: a block of the result stays in registers.

In: sizes and strides.  Out: the text of a function.  What always holds: each element is a chain of fused
multiplications and additions in the order of the inner index, one chain for each of the lengths that the
function is given, and the chains are added up: as libraries do it that go through memory in blocks.  Where
a chain ends infinite, the flag for invalid operations is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runtime.dataclass import dataclass
from runtime.execute.native.emit import Emitter
from runtime.execute.native.host import vector_bytes
from runtime.execute.native.lines import counted

MANY = 12  # rows of a block at most
ACROSS = 4  # vectors of a block's row at most
VECTOR = 0.3  # nanoseconds in which a vector is multiplied by a number and added
APART = 1 << 19  # multiplications from which on threads may share a product
FEW = 6  # blocks of rows that are enough to be shared


@dataclass(frozen=True)
class Product:
    """c = a @ b with matrices of m x k and k x n; strides in bytes, along rows and columns.

    llvm: the type of the elements.  onto: the instruction that takes the product to what c holds; there is
    one chain then.
    """

    llvm: str
    m: int
    k: int
    n: int
    a: tuple[int, int]
    b: tuple[int, int]
    c: tuple[int, int]
    onto: str = ""

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return 8 if self.llvm == "double" else 4

    @property
    def cut(self) -> str:
        """Into what threads may cut it: "rows", which leaves to each what else it does with them, or
        "columns"; empty where it is too small."""
        if self.m * self.k * self.n < APART:
            return ""
        across = panels(self.n, self.item)
        tall = -(-self.m // _rows(self.m, len(across[0])))
        return "rows" if tall >= min(len(across), FEW) else "columns"

    @property
    def units(self) -> int:
        """Into how many pieces it may be cut."""
        across = panels(self.n, self.item)
        if self.cut == "rows":
            return -(-self.m // _rows(self.m, len(across[0]), True))
        return len(across) if self.cut else 1

    def turned(self) -> Product:
        """The same with both factors and the result transposed, which changes their places."""
        a, b, c = (x[::-1] for x in (self.b, self.a, self.c))
        return Product(self.llvm, self.n, self.k, self.m, a, b, c, self.onto)

    def fits(self) -> bool:
        """Whether the rows of b lie in memory as vectors are read."""
        return self.b[1] == self.item

    def cost(self) -> float:
        """About how long it takes, in so many times `VECTOR`."""
        row = sum(max(w * self.item, vector_bytes() / 2) for w in widths(self.n, self.item)) / vector_bytes()
        apart = 0.0 if self.c[1] == self.item else 1.25 * self.m * self.n
        return self.m * self.k * row + apart


def widths(n: int, item: int) -> list[int]:
    """A row of n elements as vectors: as many whole ones as there are, then smaller and smaller ones."""
    lanes = vector_bytes() // item
    found, width = [lanes] * (n // lanes), lanes
    while width > 1:
        width //= 2
        if n & width:
            found.append(width)
    return found


def panels(n: int, item: int) -> list[list[int]]:
    """The vectors of a row in groups that a block takes side by side."""
    parts = widths(n, item)
    groups = [parts[k : k + ACROSS] for k in range(0, len(parts), ACROSS)]
    if len(groups) > 1 and len(groups[-1]) == 1:
        return [*groups[:-2], groups[-2] + groups[-1]]
    return groups


def _rows(m: int, vectors: int, halves: bool = False) -> int:
    """Rows of a block whose rows are so many vectors: as many as registers have room for, all alike.

    halves: two threads should have the same to do.
    """
    registers = 32 if vector_bytes() == 64 else 16
    most = max(1, min(MANY, (registers - 2 - vectors) // vectors))
    if halves:
        some = range(most, 2 * most // 3 - 1, -1)
        return min(some, key=lambda n: (-(-m // n) + 1) // 2 * n * (1 + (most - n) / 50))
    return -(-m // -(-m // most))


def text(p: Product, name: str) -> str:
    """A module with the function `name(a, b, c, lengths, zero, from, to)`.

    0 ends the lengths of the chains; the first chain is added to `zero`, which has one sign or the other.
    from, to: which units are computed.
    """
    return _Writer(p).module(name)


class _Writer:
    def __init__(self, p: Product) -> None:
        self.p, self.e = p, Emitter(False)

    def module(self, name: str) -> str:
        """The text."""
        e, p = self.e, self.p
        head, chain, out = e.block("chains"), e.block("chain"), e.block("out")
        e.jump(head)
        e.start(head)
        at, a, b, c = (e.phi(head, "ptr") for _ in range(4))
        length = e.effect(f"load i64, ptr {at.name}")
        e.branch(e.effect(f"icmp eq i64 {length}, 0"), out, chain)
        e.start(chain)
        first = e.effect(f"icmp eq ptr {at.name}, %lengths")
        with e.scope():
            self.chains(a.name, b.name, c.name, length, first)
            after = e.effect(f"getelementptr i64, ptr {at.name}, i64 1")
            moved = []
            for x, by in ((a, p.a[1]), (b, p.b[0])):
                bytes_ = e.effect(f"mul i64 {length}, {by}")
                moved.append(e.effect(f"getelementptr i8, ptr {x.name}, i64 {bytes_}"))
            given = ("%lengths", "%a", "%b", "%c")
            for phi, begin, then in zip((at, a, b, c), given, (after, *moved, c.name), strict=True):
                phi.ways = [(begin, "start"), (then, e.here.label)]
            e.jump(head)
        e.start(out)
        e.end("ret void")
        # nothing is said of aliasing: rounds over c depend on each other
        function = (
            f"define void @{name}(ptr %a, ptr %b, ptr %c, ptr %lengths, {p.llvm} %zero, i64 %from, i64 %to) "
            f"noinline nounwind {{\n{e.body()}\n}}"
        )
        return "\n".join([*e.declarations, function, ""])

    def chains(self, a: str, b: str, c: str, length: str, first: str) -> None:
        """One chain of each element, a panel of columns after the other."""
        e, p = self.e, self.p
        groups = panels(p.n, p.item)
        same = sum(g == groups[0] for g in groups)
        wide = sum(groups[0])

        def panel(column: str, group: list[int]) -> None:
            there = self.place(b, self.scaled(column, p.b[1]))
            self.rows(a, there, self.place(c, self.scaled(column, p.c[1])), group, length, first)

        def some(begin: str, end: str) -> None:
            counted(e, begin, end, 1, lambda k: panel(self.scaled(k, wide), groups[0]))

        if p.cut == "columns":
            self.up_to(same, len(groups) - same, some, lambda: panel(str(same * wide), groups[-1]))
            return
        if same > 1:
            some("0", str(same))
        else:
            panel("0", groups[0])
        if same < len(groups):
            panel(str(same * wide), groups[-1])

    def up_to(
        self, whole: int, rest: int, some: Callable[[str, str], None], last: Callable[[], None]
    ) -> None:
        """The units that are asked for: those up to `whole`, and one behind them if there is a rest."""
        e = self.e
        e.declare("declare i64 @llvm.smin.i64(i64, i64)")
        some("%from", e.effect(f"call i64 @llvm.smin.i64(i64 %to, i64 {whole})"))
        if rest:
            either(e, e.effect(f"icmp sgt i64 %to, {whole}"), last, lambda: None)

    def rows(self, a: str, b: str, c: str, group: list[int], length: str, first: str) -> None:
        """All rows of a panel, or those that are asked for."""
        p = self.p
        cut = p.cut == "rows"
        count = _rows(p.m, len(panels(p.n, p.item)[0] if cut else group), cut)
        whole = p.m // count

        def block(row: str, many: int) -> None:
            there = self.place(a, self.scaled(row, p.a[0]))
            self.block(there, b, self.place(c, self.scaled(row, p.c[0])), group, many, length, first)

        def some(begin: str, end: str) -> None:
            counted(self.e, begin, end, 1, lambda k: block(self.scaled(k, count), count))

        left = p.m - whole * count
        if cut:
            self.up_to(whole, left, some, lambda: block(str(whole * count), left))
            return
        if whole > 1:
            some("0", str(whole))
        else:
            block("0", count)
        if left:
            block(str(whole * count), left)

    def block(
        self, a: str, b: str, c: str, group: list[int], rows: int, length: str, first: str
    ) -> None:  # fmt: skip
        """`rows` rows of a panel: the chains of all of their elements at once."""
        e, p = self.e, self.p
        head, out = e.block("inner"), e.block("summed")
        before = e.here
        e.jump(head)
        e.start(head)
        k = e.phi(head, "i64")
        sums = [[e.phi(head, _vector(p.llvm, w)) for w in group] for _ in range(rows)]
        with e.scope():
            left, right = (self.place(x, self.scaled(k.name, by)) for x, by in ((a, p.a[1]), (b, p.b[0])))
            vectors = self.read(right, group)
            new = []
            for r in range(rows):
                number = e.effect(f"load {p.llvm}, ptr {self.place(left, str(r * p.a[0]))}, align {p.item}")
                new.append(self.added(number, vectors, group, [s.name for s in sums[r]]))
            following = e.effect(f"add nuw nsw i64 {k.name}, 1")
            k.ways = [("0", before.label), (following, head.label)]
            for w, phis, texts in zip(group * rows, sum(sums, []), sum(new, []), strict=True):
                phis.ways = [("0.0" if w == 1 else "zeroinitializer", before.label), (texts, head.label)]
            e.branch(e.effect(f"icmp slt i64 {following}, {length}"), head, out)
        e.start(out)
        for w, value in zip(group * rows, sum(new, []), strict=True):
            self.flag_infinite(w, value)
        (self.store if p.c[1] == p.item else self.scatter)(c, group, new, first)

    def read(self, at: str, group: Sequence[int]) -> list[str]:
        """The vectors of a row."""
        e, p, found, column = self.e, self.p, [], 0
        for w in group:
            place = self.place(at, str(column * p.item))
            found.append(e.effect(f"load {_vector(p.llvm, w)}, ptr {place}, align {p.item}"))
            column += w
        return found

    def added(self, number: str, vectors: list[str], group: list[int], sums: list[str]) -> list[str]:
        """`sums + number * vectors`, rounded once."""
        e, t = self.e, self.p.llvm
        most, found = max(group), []
        every = number
        if most > 1:
            wide = _vector(t, most)
            one = e.op(f"insertelement {wide} poison, {t} {number}, i32 0")
            every = e.op(f"shufflevector {wide} {one}, {wide} poison, <{most} x i32> zeroinitializer")
        for w, x, s in zip(group, vectors, sums, strict=True):
            v, same = _vector(t, w), every
            if w == 1:
                same = number
            elif w < most:
                lanes = ", ".join(f"i32 {k}" for k in range(w))
                wide = _vector(t, most)
                same = e.op(f"shufflevector {wide} {every}, {wide} poison, <{w} x i32> <{lanes}>")
            function = f"llvm.fma.{'' if w == 1 else f'v{w}'}f{self.p.item * 8}"
            found.append(e.call(v, function, (v, same), (v, x), (v, s)))
        return found

    def store(self, c: str, group: list[int], new: list[list[str]], first: str) -> None:
        """The sums of the first chains, or the sums with what is there."""
        e, p = self.e, self.p

        def every(more: bool) -> None:
            for r, row in enumerate(new):
                column = 0
                for w, value in zip(group, row, strict=True):
                    at = self.place(c, str(r * p.c[0] + column * p.item))
                    v, value = _vector(p.llvm, w), self.summed(w, value, at, more)
                    e.line(f"store {v} {value}, ptr {at}, align {p.item}")
                    column += w

        self.either(first, every)

    def scatter(self, c: str, group: list[int], new: list[list[str]], first: str) -> None:
        """The same where the elements of a row lie apart: by way of the stack."""
        e, p = self.e, self.p
        wide, rows = sum(group), len(new)
        room = e.slot(f"[{wide * rows} x {p.llvm}]")
        for r, row in enumerate(new):
            column = 0
            for w, value in zip(group, row, strict=True):
                at = self.place(room, str((r * wide + column) * p.item))
                e.line(f"store {_vector(p.llvm, w)} {value}, ptr {at}, align {p.item}")
                column += w

        def every(more: bool) -> None:
            def column(k: str) -> None:
                source, target = (
                    self.place(x, self.scaled(k, by)) for x, by in ((room, p.item), (c, p.c[1]))
                )
                for r in range(rows):
                    value = e.effect(f"load {p.llvm}, ptr {self.place(source, str(r * wide * p.item))}")
                    at = self.place(target, str(r * p.c[0]))
                    e.line(f"store {p.llvm} {self.summed(1, value, at, more)}, ptr {at}")

            counted(e, "0", str(wide), 1, column)

        self.either(first, every)

    def flag_infinite(self, lanes: int, value: str) -> None:
        """Raise the flag for an invalid operation where a number is infinite: libraries do so at times, as
        they fill up their blocks with zeros, by which they multiply; it takes the library to tell."""
        e, t, place = self.e, self.p.llvm, "v" if vector_bytes() == 64 else "x"
        v = _vector(t, lanes)
        none = e.effect(f"fsub {v} {value}, {value}")
        if 1 < lanes < 16 // self.p.item:  # less than a register, which assembly does not take
            order = ", ".join(f"i32 {min(k, lanes - 1)}" for k in range(2 * lanes))
            none = e.effect(f"shufflevector {v} {none}, {v} poison, <{2 * lanes} x i32> <{order}>")
            v = _vector(t, 2 * lanes)
        e.line(f'call void asm sideeffect "", "{place}"({v} {none})')

    def summed(self, lanes: int, value: str, at: str, more: bool) -> str:
        """A chain that has ended, added to zero or to the sum of those before; or taken to what is there."""
        e, v = self.e, _vector(self.p.llvm, lanes)
        zero, there = self.zero(lanes), ""
        if more or self.p.onto:
            there = e.effect(f"load {v}, ptr {at}, align {self.p.item}")
        if more:
            return e.effect(f"fadd {v} {there}, {value}")
        value = e.effect(f"fadd {v} {zero}, {value}")
        return e.effect(f"{self.p.onto} {v} {there}, {value}") if there else value

    def either(self, first: str, write: Callable[[bool], None]) -> None:
        """Write in the first round, add in the others."""
        e = self.e
        if self.p.onto:
            write(False)
            return
        either(e, first, lambda: write(False), lambda: write(True))

    def zero(self, lanes: int) -> str:
        """What the first chains are added to."""
        if lanes == 1:
            return "%zero"
        wide = _vector(self.p.llvm, lanes)
        one = self.e.op(f"insertelement {wide} poison, {self.p.llvm} %zero, i32 0")
        return self.e.op(f"shufflevector {wide} {one}, {wide} poison, <{lanes} x i32> zeroinitializer")

    def scaled(self, index: str, by: int) -> str:
        """The byte offset of an index."""
        if index.isdigit():
            return str(int(index) * by)
        return self.e.op(f"mul nsw i64 {index}, {by}")

    def place(self, at: str, offset: str) -> str:
        """The address so many bytes further."""
        return at if offset == "0" else self.e.op(f"getelementptr i8, ptr {at}, i64 {offset}")


def either(e: Emitter, condition: str, yes: Callable[[], None], no: Callable[[], None]) -> None:
    """Code for both cases."""
    blocks, out = (e.block("yes"), e.block("no")), e.block("either")
    e.branch(condition, *blocks)
    for block, write in zip(blocks, (yes, no), strict=True):
        e.start(block)
        with e.scope():
            write()
            e.jump(out)
    e.start(out)


def _vector(t: str, lanes: int) -> str:
    return t if lanes == 1 else f"<{lanes} x {t}>"
