"""Random numerical programs: loops over numbers and items of arrays, of the kind that native code takes.

In: a seed.  Out: the text of a module that defines `program(a, b, x, y)`, and argument tuples.  What always
holds: loops end; indices may be out of range, divisors zero, sums too large and names of two kinds.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

BITS = ("&", "|", "^", "<<", ">>")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")
FUNCTIONS = (
    "abs({})", "min({}, {})", "max({}, {})", "float({})", "np.sqrt({})", "np.float64({})",
    "math.sqrt(abs({}))",
    "np.maximum({}, {})", "math.floor({})", "-{}", "np.exp({})", "math.exp({})", "np.sin({})",
)  # fmt: skip
WHOLE = ("abs({})", "min({}, {})", "max({}, {})", "int({})", "np.int64({})", "-{}", "({}) ** 2")
RANGES = ("range(len(x))", "range(1, len(x))", "range(20)", "range(len(x) - 1, -1, -1)", "range(0, 40, 3)",
          "range(abs(int(a)) % 20)", "x", "range(17, 1, -2)")  # fmt: skip


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0
        self.names = ["a", "b", "s"]

    def pick(self, *options: Any) -> Any:
        """One of the options."""
        return self.rng.choice(options)

    def index(self) -> str:
        """An index, mostly in range."""
        name = self.pick(*[n for n in self.names if n[0] == "i"] or ["a"])
        return str(self.pick(name, name, name, f"{name} - 1", "0", "-1", "2", f"({name} + 1) % len(x)"))

    def whole(self, depth: int = 2) -> str:
        """An expression that is mostly an integer."""
        if depth == 0 or self.rng.random() < 0.3:
            names = [n for n in self.names if n[0] in "aik"]
            leaves = ("1", "2", "3", "7", "-1", "True", "len(y)", f"y[{self.index()}]")
            return str(self.pick(*names, *names, *leaves))
        shape = self.rng.random()
        if shape < 0.6:
            op = self.pick("+", "-", "*", "+", "//", "%")
            return f"({self.whole(depth - 1)} {op} {self.whole(depth - 1)})"
        if shape < 0.7:
            return f"(int({self.whole(0)}) {self.pick(*BITS)} {self.pick('1', '2', '3', 'len(x)')})"
        if shape < 0.78:
            return f"({self.whole(depth - 1)} if {self.test()} else {self.whole(depth - 1)})"
        if shape < 0.95:
            function = self.pick(*WHOLE)
            return str(function.format(*(self.whole(depth - 1) for _ in range(function.count("{}")))))
        return f"int({self.number(depth - 1)})"

    def number(self, depth: int = 2) -> str:
        """An expression that is mostly a float."""
        if depth == 0 or self.rng.random() < 0.25:
            names = [n for n in self.names if n[0] in "bst"]
            leaves = (f"x[{self.index()}]", f"x[{self.index()}]", "0.5", "2.0", "1e10", self.whole(0))
            return str(self.pick(*names, *names, *leaves))
        shape = self.rng.random()
        if shape < 0.65:
            op = self.pick("+", "-", "*", "+", "-", "*", "/", "%")
            return f"({self.number(depth - 1)} {op} {self.number(depth - 1)})"
        if shape < 0.68:
            return f"({self.number(depth - 1)} // {self.number(0)})"
        if shape < 0.76:
            return f"({self.number(depth - 1)} if {self.test()} else {self.number(depth - 1)})"
        if shape < 0.8:
            return f"{self.number(0)} ** {self.pick('2', '3', '0.5', '2.0')}"
        if shape < 0.84:
            return self.whole(depth - 1)
        function = self.pick(*FUNCTIONS)
        return function.format(*(self.number(depth - 1) for _ in range(function.count("{}"))))

    def test(self) -> str:
        """A condition."""
        side = self.pick(self.number, self.whole)
        plain = f"{side(1)} {self.pick(*COMPARE)} {side(1)}"
        other = f"{self.number(0)} {self.pick(*COMPARE)} {self.number(0)}"
        return str(self.pick(plain, plain, f"{plain} {self.pick('and', 'or')} {other}", f"not {plain}"))

    def put(self, depth: int, text: str) -> None:
        """A line."""
        self.lines.append("    " * depth + text)

    def block(self, depth: int, loops: int, size: int) -> None:
        """Some statements."""
        known = list(self.names)
        for _ in range(self.rng.randint(1, size)):
            self.statement(depth, loops)
        self.names = known

    def statement(self, depth: int, loops: int) -> None:
        """One statement."""
        kind = self.rng.random()
        if kind < 0.35 or depth > 4:
            name = self.pick("s", "s", "t", "k", "a", "b")
            value = self.whole() if (name in "ak") == (self.rng.random() < 0.95) else self.number()
            if name in self.names and self.rng.random() < 0.5:
                self.put(depth, f"{name} {self.pick('+', '-', '+')}= {value}")
            else:
                self.put(depth, f"{name} = {value}")
                if depth == 1 and name not in self.names:
                    self.names.append(name)
        elif kind < 0.55:
            op, value = self.pick("", "", "+", "-", "*"), self.pick(self.number, self.whole)()
            self.put(depth, f"{self.pick('x', 'y')}[{self.index()}] {op}= {value}")
        elif kind < 0.72:
            self.put(depth, f"if {self.test()}:")
            self.block(depth + 1, loops, 2)
            if self.rng.random() < 0.5:
                self.put(depth, "else:")
                self.block(depth + 1, loops, 2)
        elif kind < 0.77 and loops:
            self.put(depth, f"if {self.test()}:")
            self.put(depth + 1, self.pick("break", "continue", "continue"))
        elif loops < 2:
            self.loop(depth, loops)
        else:
            self.put(depth, f"s = s + {self.number()}")

    def loop(self, depth: int, loops: int) -> None:
        """A loop."""
        self.loops += 1
        name = f"i{self.loops}"
        known = list(self.names)
        if self.rng.random() < 0.75:
            source = self.pick(*RANGES)
            self.put(depth, f"for {name} in {source}:")
            if source != "x":
                self.names.append(name)
        else:
            self.put(depth, f"{name} = 0")
            self.put(depth, f"while {name} < {self.pick('5', '18', 'len(x)')} and ({self.test()}):")
            self.put(depth + 1, f"{name} = {name} + 1")
            self.names.append(name)
        inside = self.rng.randint(1, 3)
        for _ in range(inside):
            self.statement(depth + 1, loops + 1)
        self.put(depth + 1, "s = s + 1" if self.rng.random() < 0.5 else "pass")
        self.names = known


def source(seed: int) -> str:
    """The text of the module."""
    writer = Writer(seed)
    writer.put(1, f"s = {writer.pick('0', '0.0', '0.0', 'a', 'np.float64(0)', 'x[0]')}")
    if writer.rng.random() < 0.3:
        writer.put(1, "z = np.zeros(len(x))")
    for _ in range(writer.rng.randint(2, 4)):
        writer.statement(1, 0)
    writer.loop(1, 0)
    results = ", ".join([*dict.fromkeys(writer.names), *(["z"] if "z" in "".join(writer.lines[:2]) else [])])
    return "import math\n\nimport numpy as np\n\n\ndef program(a, b, x, y):\n" + "\n".join(
        [*writer.lines, f"    return {results}, x", ""]
    )


def calls(seed: int) -> list[tuple[Any, ...]]:
    """Argument tuples: the same kinds each time, other values."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 2)
    ints = rng.choice([int, np.int64, np.int32, np.int16])
    floats = rng.choice([float, np.float64, np.float32])
    first = rng.choice([np.float64, np.float64, np.float64, np.float32, np.int64])
    second = rng.choice([np.int64, np.int64, np.int32, np.uint8, np.float64])
    out = []
    for k in range(4):
        a = ints(int(rng.integers(-5, 20) if small or k < 2 else rng.integers(0, 30)))
        b = floats(float(rng.choice([0.0, 1.5, -2.25, 1e3, rng.random()])))
        n = int(rng.integers(3, 25))
        x = (rng.random(n) * 20).astype(first)
        out.append((a, b, x, x if k == 3 and first == second else (rng.random(n) * 9).astype(second)))
    return out
