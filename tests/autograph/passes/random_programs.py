"""Random functions that stress names and jumps: text in, compared by the tests with plain Python.

In: a seed and whether inner functions may occur.  Out: the text of `def program(a, b, v)`.  It always
ends: every `while` counts its trips.  Reads of names that may have no value are there on purpose.
"""

from __future__ import annotations

import random

NAMES = ("a", "b", "c", "d", "e")


class Writer:
    """Writes one program; `pure` leaves out everything that has an effect besides the result."""

    def __init__(self, seed: int, pure: bool) -> None:
        self.rng = random.Random(seed)
        self.pure = pure
        self.lines: list[str] = []
        self.count = 0
        self.callables: list[str] = []

    def program(self) -> str:
        self.put(0, "def program(a, b, v):")
        if not self.pure:
            self.put(1, "out = []")
        self.suite(1, 0, False)
        if self.rng.random() < 0.8:
            self.put(1, f"return {', '.join(self.rng.sample(NAMES, 3))}{'' if self.pure else ', out'}")
        return "\n".join(self.lines) + "\n"

    def put(self, level: int, text: str) -> None:
        self.lines.append("    " * level + text)

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def name(self) -> str:
        return self.rng.choice(NAMES[:2] if self.rng.random() < 0.6 else NAMES)

    def value(self, depth: int = 0) -> str:
        roll = self.rng.random()
        if depth > 1 or roll < 0.35:
            return self.name()
        if roll < 0.5:
            return str(self.rng.randint(-2, 5))
        if roll < 0.75:
            return f"({self.value(depth + 1)} {self.rng.choice('+-')} {self.value(depth + 1)})"
        if roll < 0.82:
            return f"({self.value(depth + 1)} if {self.test()} else {self.value(depth + 1)})"
        if roll < 0.88:
            return f"sum([k + {self.name()} for k in v if k != {self.name()}])"
        if roll < 0.92 and not self.pure:
            return f"({self.name()} := {self.value(depth + 1)})"
        if self.callables and not self.pure:
            return f"{self.rng.choice(self.callables)}({self.value(depth + 1)})"
        return f"{self.name()} % 7"

    def test(self) -> str:
        roll = self.rng.random()
        one, two = self.name(), self.rng.choice([self.name(), str(self.rng.randint(-2, 4))])
        if roll < 0.55:
            return f"{one} {self.rng.choice(['<', '>', '==', '!=', '>='])} {two}"
        if roll < 0.7:
            return f"{one} < {two} {self.rng.choice(['and', 'or'])} not {self.name()} == 3"
        if roll < 0.8:
            return f"-2 < {self.value(1)} <= {two}"
        if roll < 0.86 and not self.pure:
            return f"({one} := {self.value(1)}) > {two}"
        if roll < 0.9 and not self.pure:
            return f"{two} > 1 and ({one} := {self.value(1)}) > 0"
        return f"{one} in (1, 2, {two})"

    def suite(self, level: int, depth: int, loop: bool) -> None:
        for _ in range(self.rng.randint(1, 4)):
            self.statement(level, depth, loop)

    def statement(self, level: int, depth: int, loop: bool) -> None:
        roll = self.rng.random()
        if depth < 4 and roll < 0.24:
            self.branch(level, depth, loop)
        elif depth < 3 and roll < 0.42:
            self.loop(level, depth)
        elif loop and roll < 0.5:
            self.put(level, self.rng.choice(["break", "continue"]))
        elif roll < 0.53:
            self.put(level, f"return {self.value()}" if self.rng.random() < 0.8 else "return")
        elif roll < 0.56:
            self.put(level, f"assert {self.test()}, 'no'")
        elif roll < 0.58:
            self.put(level, f"raise ValueError({self.value()})")
        elif roll < 0.66 and not self.pure and depth < 3:
            self.inner(level, depth)
        elif roll < 0.7 and not self.pure:
            self.put(level, f"out.append({self.value()})")
        elif roll < 0.76:
            self.put(level, f"{self.name()} += {self.value()}")
        elif roll < 0.8:
            self.put(level, f"{self.name()}, {self.name()} = {self.value()}, {self.value()}")
        elif roll < 0.82 and not self.pure:
            self.put(level, f"del {self.name()}")
        else:
            self.put(level, f"{self.name()} = {self.value()}")

    def branch(self, level: int, depth: int, loop: bool) -> None:
        self.put(level, f"if {self.test()}:")
        self.suite(level + 1, depth + 1, loop)
        while self.rng.random() < 0.25:
            self.put(level, f"elif {self.test()}:")
            self.suite(level + 1, depth + 1, loop)
        if self.rng.random() < 0.5:
            self.put(level, "else:")
            self.suite(level + 1, depth + 1, loop)

    def loop(self, level: int, depth: int) -> None:
        if self.rng.random() < 0.6:
            source = self.rng.choice(["v", f"range({self.name()} % 4)", "(1, 2, 3)"])
            self.put(level, f"for {self.name()} in {source}:")
            if self.rng.random() < 0.2:
                self.lines[-1] = "    " * level + f"for {self.name()}, {self.name()} in enumerate(v):"
            self.suite(level + 1, depth + 1, True)
        else:
            count = self.fresh("n")
            self.put(level, f"{count} = 0")
            self.put(level, f"while {self.rng.choice([self.test(), 'True'])}:")
            self.put(level + 1, f"{count} += 1")
            self.put(level + 1, f"if {count} > 4: break")
            self.suite(level + 1, depth + 1, True)
        if self.rng.random() < 0.3:
            self.put(level, "else:")
            self.suite(level + 1, depth + 1, False)

    def inner(self, level: int, depth: int) -> None:
        name = self.fresh("f")
        if self.rng.random() < 0.3:
            self.put(level, f"{name} = lambda p: p + {self.name()}")
        else:
            self.put(level, f"def {name}(p, q={self.name()}):")
            if self.rng.random() < 0.6:
                self.put(level + 1, f"nonlocal {', '.join(self.rng.sample(NAMES, self.rng.randint(1, 2)))}")
            known, self.callables = self.callables, []
            self.suite(level + 1, max(depth, 2) + 1, False)
            self.callables = known
            if self.rng.random() < 0.7:
                self.put(level + 1, f"return p + {self.name()}")
        self.callables.append(name)


def program(seed: int, pure: bool = False) -> str:
    """The text of one program; all names are bound somewhere, so `nonlocal` always has a target."""
    text = Writer(seed, pure).program()
    start = "c, d, e = 3, a - b, 1" if seed % 4 else "if a > 99: c = d = e = 0"
    return text.replace("):\n", f"):\n    {start}\n", 1)
