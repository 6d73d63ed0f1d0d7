"""Random `try` and `with` statements for random programs.

In: a writer of programs (its random numbers, its lines, its sure names).  Out: the lines of a statement.
What always holds: a name is sure after the statement only if every end that goes on has bound it.
"""

from __future__ import annotations

import random
from typing import Any

GUARD_HEADER = """class Problem(Exception):
    pass


class Logged:
    def __init__(self, name, swallows):
        self.name, self.swallows = name, swallows

    def __enter__(self):
        print("enter", self.name)
        return self.name

    def __exit__(self, kind, error, traceback):
        print("exit", self.name, kind is None or kind.__name__)
        return self.swallows and isinstance(error, (ArithmeticError, LookupError, Problem))


@contextlib.contextmanager
def section(name):
    print("+", name)
    try:
        yield name
    finally:
        print("-", name)


"""
CLASSES = (
    "ZeroDivisionError",
    "Problem",
    "(IndexError, KeyError)",
    "(ArithmeticError, ValueError)",
    "LookupError",
    "Exception",
    "NameError",
    "",
)


class Guards:
    """The part of a writer that writes `try` and `with`."""

    rng: random.Random
    sure: set[str]
    put: Any
    block: Any
    arms: Any
    simple: Any
    number: Any
    test: Any
    pick: Any

    def risk(self, depth: int) -> None:
        """A statement that is likely to raise."""
        text = self.rng.choice(
            [
                f"{self.rng.choice('cde')} = 1 // int({self.number(1)})",
                f"{self.rng.choice('cde')} = items[{self.rng.choice([0, 1, 5])}]",
                f"{self.rng.choice('cde')} = table['three']",
                f"{self.rng.choice('cde')} = {self.number(1)} % {self.number(1)}",
                "np.linalg.inv(np.zeros((2, 2)))",
                f"raise Problem({self.number(1)})",
            ]
        )
        if text.startswith("raise") or self.rng.random() < 0.3:
            self.put(depth, f"if {self.test(1)}:")
            depth += 1
        self.put(depth, text)

    def try_(self, depth: int, in_loop: bool) -> None:
        before, rng = set(self.sure), self.rng
        self.put(depth, "try:")
        if rng.random() < 0.7:
            if rng.random() < 0.5:
                self.simple(depth + 1)
            self.risk(depth + 1)
        after = self.arms(depth, in_loop, before)
        handlers = sorted(rng.sample(CLASSES, rng.choice([0, 1, 1, 1, 2])), key=lambda text: text == "")
        ends = []
        for caught in handlers:
            ends.append(self.handler(depth, in_loop, before, caught))
        if handlers and rng.random() < 0.3:
            self.put(depth, "else:")
            self.sure = set(after)
            after = self.arms(depth, in_loop, before)
        if not handlers or rng.random() < 0.3:
            self.put(depth, "finally:")
            self.final(depth, before)
        self.sure = after.intersection(*ends)

    def handler(self, depth: int, in_loop: bool, before: set[str], caught: str) -> set[str]:
        rng = self.rng
        name = rng.choice(["error", "error", "problem", "d"]) if caught and rng.random() < 0.5 else ""
        self.sure = before - {name}
        head = f"except {caught}" if caught else "except"
        self.put(depth, f"{head} as {name}:" if name else f"{head}:")
        if name and rng.random() < 0.8:
            uses = (
                f"print(type({name}).__name__)",
                f"{rng.choice('abc')} = len({name}.args)",
                f"items.append(str({name})[:20])" if rng.random() < 0.3 else f"print({name} is None)",
            )
            self.put(depth + 1, rng.choice(uses))
        if rng.random() < 0.15:
            self.put(depth + 1, f"if {self.test(1)}:")
            cause = f" from {rng.choice([name, 'None'])}" if name else ""
            self.put(depth + 2, rng.choice(["raise", f"raise Problem({self.number(1)}){cause}"]))
        return self.arms(depth, in_loop, before - {name}) - {name}  # type: ignore[no-any-return]

    def final(self, depth: int, before: set[str]) -> None:
        self.sure = set(before)
        for _ in range(self.rng.randint(1, 2)):
            self.simple(depth + 1)
        if self.rng.random() < 0.15:
            self.put(depth + 1, f"if {self.test(1)}:")
            self.put(depth + 2, f"return {self.number(1)}")

    def with_(self, depth: int, in_loop: bool) -> None:
        before, rng = set(self.sure), self.rng
        name = rng.choice(("c", "d", "e"))
        head, swallows, bound = rng.choice(
            [
                ("contextlib.suppress(ArithmeticError, IndexError)", True, ""),
                ("contextlib.suppress(Exception)", True, ""),
                (f"Logged({rng.randint(0, 3)}, {rng.random() < 0.5})", True, name),
                (f"Logged({self.number(1)}, True) as {name}, section('in')", True, ""),
                (f"section({self.number(1)})", True, name),
                (f"contextlib.nullcontext({self.number(1)})", False, name),
                ("np.errstate(all='raise')", False, ""),
                ("np.errstate(divide='ignore', invalid='ignore')", False, ""),
            ]
        )
        taken = bound if rng.random() < 0.6 else ""
        self.put(depth, f"with {head}{f' as {taken}' if taken else ''}:")
        if taken and "Logged" not in head:
            self.sure.add(taken)
        if rng.random() < 0.5:
            self.risk(depth + 1)
        after = self.arms(depth, in_loop, before)
        self.sure = before if swallows else after
