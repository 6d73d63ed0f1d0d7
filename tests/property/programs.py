"""Random programs, as source text: nested control flow over ints, floats, NumPy scalars, arrays and lists.

In: a seed.  Out: a `Program`: the text of a module that defines `program(a, b, x, y, items)`, and the
argument tuples to call it with, in order.  What always holds: the program ends (every `while` counts its
trips), it is deterministic, and it parses.  It may raise: names bound on one path only, indices out of
range and divisions by zero are left in on purpose.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np

from tests.property.guards import GUARD_HEADER, Guards

HEADER = """import contextlib

import numpy as np

TOTAL = 0


class Box:
    def __init__(self, value):
        self.value = value
        self.seen = []

    def push(self, value):
        if value > self.value:
            self.value = value
        else:
            self.seen.append(value)
        return len(self.seen)


def bump(amount):
    global TOTAL
    if amount > 0:
        TOTAL += 1
    return TOTAL


def guarded(p, q):
    try:
        return p / q
    except (ZeroDivisionError, TypeError):
        return q


def helper(p, q):
    if p > q:
        return p - q
    for k in range(3):
        if k > q:
            break
        p = p + 1
    else:
        return p
    return q


def fill(target, value):
    for k in range(len(target)):
        if value < k:
            continue
        target[k] = value
    return target


"""
PROGRAM = """def program(a, b, x, y, items):
    box = Box(a)
    table = {"two": b}
    shift = lambda p: p - b

    def keep(p):
        nonlocal a
        a = p
        return b

"""
NUMBERS = ("a", "b", "c", "d", "e")
ARRAYS = ("x", "y", "z")
MAX_DEPTH = 3


@dataclasses.dataclass(frozen=True)
class Program:
    """seed, the module's text, and the argument tuples."""

    seed: int
    source: str
    calls: tuple[tuple[Any, ...], ...]


class Writer(Guards):
    """Writes one program.  `sure` are the names that certainly have a value, by kind of variable."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.sure = {"a", "b", "x", "y", "items", "box", "table"}
        self.counters = 0
        self.budget = self.rng.randint(6, 22)

    # Expressions: every method returns text that may stand as an operand.

    def pick(self, names: tuple[str, ...]) -> str:
        """A name with a value; rarely (1 in 40) one that may have none on this path."""
        known = [n for n in names if n in self.sure]
        if not known or self.rng.random() < 0.025:
            known = list(names)
        return self.rng.choice(known)

    def index(self) -> str:
        options = ["0", "1", "-1", "2", f"int({self.pick(NUMBERS)}) % 3"] + [
            f"k{k}" for k in self.open_counters()
        ]
        return self.rng.choice(options)

    def open_counters(self) -> list[int]:
        return [k for k in range(self.counters) if f"k{k}" in self.sure]

    def number(self, depth: int = 0) -> str:
        rng = self.rng
        simple = [
            lambda: self.pick(NUMBERS),
            lambda: self.pick(NUMBERS),
            lambda: str(rng.choice([0, 1, 2, 3, 7, -1, 0.5, 1.5, -2.25])),
            lambda: f"{self.pick(ARRAYS)}[{self.index()}]",
        ]
        if depth > 1 or rng.random() < 0.35:
            return rng.choice(simple)()
        deeper = [
            lambda: f"({self.number(depth + 1)} {rng.choice(['+', '-'])} {self.number(depth + 1)})",
            lambda: f"({self.number(depth + 1)} * {rng.choice([2, 3, 0.5, -1])})",
            lambda: f"({self.number(depth + 1)} {rng.choice(['//', '%'])} {rng.choice([2, 3, 5, 1.5, -4])})",
            lambda: f"({self.number(depth + 1)} {rng.choice(['/', '//', '%'])} {self.number(depth + 1)})",
            lambda: f"abs({self.number(depth + 1)})",
            lambda: f"(-{self.number(depth + 1)})",
            lambda: f"{rng.choice(['min', 'max'])}({self.number(depth + 1)}, {self.number(depth + 1)})",
            lambda: f"({self.number(depth + 1)} if {self.test(depth + 1)} else {self.number(depth + 1)})",
            lambda: f"({self.number(depth + 1)} {rng.choice(['and', 'or'])} {self.number(depth + 1)})",
            lambda: f"helper({self.number(depth + 1)}, {self.number(depth + 1)})",
            lambda: f"{self.pick(ARRAYS)}.{rng.choice(['sum', 'max', 'min'])}()",
            lambda: (
                f"np.{rng.choice(['maximum', 'minimum'])}({self.number(depth + 1)}, {self.number(depth + 1)})"
            ),
            lambda: f"np.sqrt(np.abs({self.number(depth + 1)}))",
            lambda: f"{rng.choice(['int', 'float'])}({self.number(depth + 1)})",
            lambda: rng.choice(["len(items)", "items[-1]", "items[0]", "sum(items)"]),
            lambda: rng.choice(
                ["box.value", "len(box.seen)", "table.get('one', 5)", "table['two']", "len(table)"]
            ),
            lambda: f"{rng.choice(['bump', 'box.push', 'shift', 'keep'])}({self.number(depth + 1)})",
            lambda: f"guarded({self.number(depth + 1)}, {self.number(depth + 1)})",
            lambda: (
                f"sum([v {rng.choice(['+', '*'])} {self.pick(NUMBERS)} for v in items[:3] if {self.test(1)}])"
            ),
            lambda: f"max((v for v in {rng.choice(['items', self.pick(ARRAYS)])}), default=0)",
        ]
        return rng.choice(deeper)()

    def array(self, depth: int = 0) -> str:
        rng = self.rng
        if depth > 1 or rng.random() < 0.3:
            return self.pick(ARRAYS)
        options = [
            lambda: f"({self.array(depth + 1)} {rng.choice(['+', '-', '*'])} {self.array(depth + 1)})",
            lambda: f"({self.array(depth + 1)} {rng.choice(['+', '*', '-', '/'])} {self.number(1)})",
            lambda: (
                f"np.where({self.array(depth + 1)} > {self.number(1)}, {self.pick(ARRAYS)}, {self.number(1)})"
            ),
            lambda: f"{self.array(depth + 1)}.copy()",
            lambda: f"{self.pick(ARRAYS)}[::-1]",
            lambda: f"np.abs({self.array(depth + 1)})",
            lambda: f"np.cumsum({self.array(depth + 1)})",
            lambda: f"({self.array(depth + 1)} if {self.test(1)} else {self.array(depth + 1)})",
            lambda: f"np.array([{self.number(1)}, {self.number(1)}, {self.number(1)}])",
            lambda: "np.zeros(3)",
            lambda: f"fill({self.pick(ARRAYS)}, {self.number(1)})",
        ]
        return rng.choice(options)()

    def test(self, depth: int = 0) -> str:
        rng = self.rng
        compare = rng.choice(["<", "<=", ">", ">=", "==", "!="])
        options = [
            lambda: f"{self.number(1)} {compare} {self.number(1)}",
            lambda: f"{self.number(1)} {compare} {self.number(1)}",
            lambda: f"{self.pick(NUMBERS)} % 2 == {rng.choice([0, 1])}",
        ]
        if depth < 2:
            options += [
                lambda: f"({self.test(depth + 1)} {rng.choice(['and', 'or'])} {self.test(depth + 1)})",
                lambda: f"not ({self.test(depth + 1)})",
                lambda: f"{self.number(1)} < {self.pick(NUMBERS)} {rng.choice(['<', '<='])} {self.number(1)}",
                lambda: f"{self.pick(ARRAYS)}.{rng.choice(['sum', 'max'])}() {compare} {self.number(1)}",
                lambda: f"({self.pick(ARRAYS)} > {self.number(1)}).{rng.choice(['any', 'all'])}()",
                lambda: f"{self.pick(NUMBERS)}",
                lambda: "items" if rng.random() < 0.5 else f"{self.number(1)} in items",
                lambda: f"{self.pick(ARRAYS)} is {self.pick(ARRAYS)}",
            ]
        return rng.choice(options)()

    # Statements.

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def simple(self, depth: int) -> None:
        rng = self.rng
        kind = rng.choices(
            ["number", "aug", "array", "aug_array", "element", "slice", "list", "print", "swap", "object"],
            [8, 5, 3, 3, 5, 2, 3, 1, 1, 3],
        )[0]
        if kind == "number":
            name, text = rng.choice(NUMBERS), self.number()
            self.put(depth, f"{name} = {text}")
            self.sure.add(name)
        elif kind == "aug":
            text = self.number(1)
            self.put(depth, f"{self.pick(NUMBERS)} {rng.choice(['+=', '-=', '+='])} {text}")
        elif kind == "array":
            name, text = rng.choice(ARRAYS), self.array()
            self.put(depth, f"{name} = {text}")
            self.sure.add(name)
        elif kind == "aug_array":
            text = rng.choice([self.array, self.number])(1)
            self.put(depth, f"{self.pick(ARRAYS)} {rng.choice(['+=', '-=', '*='])} {text}")
        elif kind == "element":
            self.put(
                depth, f"{self.pick(ARRAYS)}[{self.index()}] {rng.choice(['=', '+=', '-='])} {self.number(1)}"
            )
        elif kind == "slice":
            part = rng.choice(["1:", ":2", "::2", ":"])
            self.put(depth, f"{self.pick(ARRAYS)}[{part}] {rng.choice(['=', '+=', '*='])} {self.number(1)}")
        elif kind == "list":
            change = rng.choice(["append", "append", "pop", "set", "new"])
            if change == "append":
                self.put(depth, f"items.append({self.number(1)})")
            elif change == "pop":
                self.put(depth, f"{rng.choice(NUMBERS[2:])} = items.pop()")
            elif change == "set":
                self.put(depth, f"items[{self.index()}] = {self.number(1)}")
            else:
                self.put(depth, f"items = [{self.number(1)}, {self.number(1)}, *items[:3]]")
        elif kind == "print":
            text = rng.choice(
                [f"{self.pick(NUMBERS)}, {self.test(1)}", f"f'{{{self.pick(NUMBERS)}:.2f}} {{items!r}}'"]
            )
            self.put(depth, f"print({text})")
        elif kind == "object":
            self.put(depth, self.object_write())
        else:
            one, two = self.pick(NUMBERS), self.pick(NUMBERS)
            self.put(depth, f"{one}, {two} = {two}, {one}")

    def object_write(self) -> str:
        """A write to the local object or dict, or a rebinding of either."""
        number, name = self.number(1), self.pick(NUMBERS)
        return self.rng.choice(
            [
                f"box.value = {number}",
                f"box.value += {number}",
                f"box.seen.append({number})",
                f"table[{self.rng.choice(['1', repr('one'), repr('two')])}] = {number}",
                f"table['two'] += {number}",
                f"{name} = table.pop('one', {number})",
                f"box = Box({number})",
                f"{name} = table.setdefault('one', {number})",
                f"table = {{'two': {number}, **table}}",
                f"{name}, *items = [{number}, *items[:2]]",
                f"keep({number})",
            ]
        )

    def block(self, depth: int, in_loop: bool) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth, in_loop)

    def statement(self, depth: int, in_loop: bool) -> None:
        self.budget -= 1
        if depth >= MAX_DEPTH or self.budget <= 0:
            self.simple(depth)
            return
        kinds = ["if_", "while_", "for_", "try_", "with_", "leave", "simple"]
        kind = self.rng.choices(kinds, [6, 3, 4, 3, 2, 2 if depth else 0, 10])[0]
        if kind == "simple":
            self.simple(depth)
        else:
            getattr(self, kind)(depth, in_loop)

    def leave(self, depth: int, in_loop: bool) -> None:
        """A guarded way out: break, continue, return or raise under an `if`."""
        options = ["return", "return", "raise"] + ["break", "break", "continue", "continue"] * in_loop
        kind = self.rng.choice(options)
        self.put(depth, f"if {self.test()}:")
        if kind == "return":
            self.put(depth + 1, f"return {self.rng.choice([self.number, self.array])(1)}")
        elif kind == "raise":
            self.put(depth + 1, f"raise ValueError({self.pick(NUMBERS)})")
        else:
            if self.rng.random() < 0.4:
                self.simple(depth + 1)
            self.put(depth + 1, kind)

    def arms(self, depth: int, in_loop: bool, sure_before: set[str]) -> set[str]:
        """One arm's body; returns the names sure at its end, and restores those before it."""
        self.block(depth + 1, in_loop)
        after, self.sure = self.sure, set(sure_before)
        return after

    def if_(self, depth: int, in_loop: bool) -> None:
        before = set(self.sure)
        if self.rng.random() < 0.12:
            name = self.rng.choice(NUMBERS[2:])
            self.put(depth, f"if ({name} := {self.number(1)}) > {self.number(1)}:")
            before.add(name)
            self.sure.add(name)
        else:
            self.put(depth, f"if {self.test()}:")
        after = self.arms(depth, in_loop, before)
        if self.rng.random() < 0.25:
            self.put(depth, f"elif {self.test()}:")
            after &= self.arms(depth, in_loop, before)
        if self.rng.random() < 0.6:
            self.put(depth, "else:")
            after &= self.arms(depth, in_loop, before)
        else:
            after = before
        self.sure = after

    def loop(self, depth: int, in_loop: bool, before: set[str]) -> None:
        """The body, the forgotten names, and maybe an else clause."""
        self.block(depth + 1, True)
        self.sure = set(before)
        if self.rng.random() < 0.25:
            self.put(depth, "else:")
            self.block(depth + 1, in_loop)
            self.sure = set(before)

    def while_(self, depth: int, in_loop: bool) -> None:
        counter = f"k{self.counters}"
        self.counters += 1
        trips = self.rng.choice([0, 1, 2, 3, 4])
        test = self.rng.choice([f"{counter} < {trips}", f"{counter} < {trips} and {self.test()}", "True"])
        self.put(depth, f"{counter} = 0")
        before = set(self.sure)
        self.put(depth, f"while {test}:")
        self.put(depth + 1, f"{counter} += 1")
        if test == "True":
            self.put(depth + 1, f"if {counter} > {trips}{self.rng.choice(['', f' or {self.test(1)}'])}:")
            self.put(depth + 2, "break")
        self.loop(depth, in_loop, before)

    def for_(self, depth: int, in_loop: bool) -> None:
        rng = self.rng
        before = set(self.sure)
        kind = rng.choice(["range", "range", "array", "list", "tuple", "enumerate", "zip", "dict"])
        if kind == "range":
            counter = f"k{self.counters}"
            self.counters += 1
            length = rng.choice(
                ["3", "2", "0", f"int({self.pick(NUMBERS)}) % 4", "len(items)", "1, 3", "2, -1, -1"]
            )
            self.put(depth, f"for {counter} in range({length}):")
            if length in ("3", "2", "1, 3"):
                self.sure.add(counter)  # a valid index of the arrays inside this loop
        else:
            name, other = rng.choice(NUMBERS), rng.choice(NUMBERS)
            text = {
                "array": f"for {name} in {self.pick(ARRAYS)}:",
                "list": f"for {name} in items[:3]:",
                "tuple": f"for {name} in ({self.number(1)}, {self.number(1)}):",
                "enumerate": f"for {name}, {other} in enumerate({self.pick(ARRAYS)}):",
                "dict": f"for _, {name} in list(table.items()):",
                "zip": f"for {name}, {other} in zip({self.pick(ARRAYS)}, items):",
            }[kind]
            self.put(depth, text)
            self.sure |= {name} | ({other} if kind in ("enumerate", "zip") else set())
        self.loop(depth, in_loop, before)

    def text(self) -> str:
        while self.budget > 0:
            self.statement(0, False)
        if self.rng.random() < 0.9:
            names = sorted(self.sure - {"box", "table"}) + ["table", "box.value", "box.seen"]
            chosen = [n for n in names if self.rng.random() < 0.7] or ["a"]
            self.put(0, f"return {', '.join(chosen)}")
        return HEADER + GUARD_HEADER + PROGRAM + "\n".join(self.lines) + "\n"


def scalar(rng: random.Random, kind: str) -> Any:
    """A small number of the kind: int, float, bool or a NumPy scalar type's name."""
    value = rng.choice([0, 1, 2, 3, 5, -1, -3, 4])
    if kind == "int":
        return value
    if kind == "bool":
        return value > 1
    if kind == "float":
        return value + rng.choice([0.0, 0.5, 0.25])
    return getattr(np, kind)(value if kind.startswith("int") else value + rng.choice([0.0, 0.5]))


def arguments(seed: int) -> tuple[tuple[Any, ...], ...]:
    """Argument tuples: two calls of one signature, one of another, then the first again."""
    rng = random.Random(f"arguments {seed}")
    kinds = ["int", "float", "int64", "float64", "float32", "bool", "int64", "float64", "int32"]

    def one(a: str, b: str, dtype: str, item: str, alias: bool) -> tuple[Any, ...]:
        size = rng.choice([3] * 12 + [0, 1, 4])
        x = np.array([rng.choice([-2, -1, 0, 1, 2, 3]) for _ in range(size)], dtype)
        y = x if alias else np.array([rng.choice([-1, 0, 1, 4]) for _ in range(3)], dtype)
        return (
            scalar(rng, a),
            scalar(rng, b),
            x,
            y,
            [scalar(rng, item) for _ in range(rng.choice([0, 1, 2, 3]))],
        )

    def kind() -> tuple[str, str, str, str, bool]:
        dtype = rng.choice(["float64", "float64", "int64", "float32"])
        return (
            rng.choice(kinds),
            rng.choice(kinds),
            dtype,
            rng.choice(["int", "float", "float64"]),
            rng.random() < 0.15,
        )

    first, second = kind(), kind()
    calls = [one(*first), one(*first), one(*second)]
    return (*calls, calls[0])


def make(seed: int) -> Program:
    """The program of this seed: the same on every machine and Python version."""
    return Program(seed, Writer(seed).text(), arguments(seed))
