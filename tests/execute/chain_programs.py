"""Random programs of elementwise chains over arrays in many layouts, with writes in between.

In: a seed.  Out: the text of a module that defines `program(a, b, c, s, n)`, and arguments for it.  What
always holds: arrays may share memory, may be views with gaps, may be of several dtypes; loops end.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

BINARY = (
    "{} + {}",
    "{} - {}",
    "{} * {}",
    "{} / {}",
    "np.maximum({}, {})",
    "np.minimum({}, {})",
    "np.hypot({}, {})",
)
UNARY = (
    "np.sqrt({})",
    "np.exp({})",
    "np.abs({})",
    "-{}",
    "{} ** 2",
    "np.sin({})",
    "np.log({})",
    "np.square({})",
)
WRITES = (
    "{0} += {1}",
    "{0} -= {1}",
    "{0}[...] = {1}",
    "{0}[1:] = {1}[:-1]",
    "{0} *= 0.5",
    "np.add({0}, {1}, out={0})",
)
ENDS = ("{}", "np.sum({})", "{}.copy()", "{}[::-1]", "np.max({})", "({0}, {0})", "[{}]")
SHAPES: tuple[tuple[int, ...], ...] = ((0,), (1,), (7,), (33,), (5, 8), (9, 1), (1, 6), (4, 3, 5))


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.arrays = ["a", "b", "c"]
        self.lines: list[str] = []

    def operand(self) -> str:
        if self.rng.random() < 0.2:
            return self.rng.choice(("2.0", "0.5", "s", "3", "-1.5"))
        return self.rng.choice(self.arrays[-6:])

    def expression(self) -> str:
        kind = self.rng.random()
        if kind < 0.1:
            left, right = self.rng.choice(self.arrays), self.operand()
            return f"np.where({left} < {right}, {self.operand()}, {self.rng.choice(self.arrays)})"
        if kind < 0.4:
            return self.rng.choice(UNARY).format(self.rng.choice(self.arrays[-6:]))
        form = self.rng.choice(BINARY)
        return form.format(self.rng.choice(self.arrays[-6:]), self.operand())

    def chain(self, indent: str) -> None:
        for _ in range(self.rng.randint(3, 8)):
            name = f"t{len(self.arrays)}" if self.rng.random() < 0.8 else self.rng.choice(("c", "b"))
            self.lines.append(f"{indent}{name} = {self.expression()}")
            if name not in self.arrays:
                self.arrays.append(name)
        if self.rng.random() < 0.6:
            target, value = self.rng.choice(self.arrays[:4]), self.arrays[-1]
            self.lines.append(indent + self.rng.choice(WRITES).format(target, value))

    def module(self) -> str:
        rng = self.rng
        self.lines = ["import numpy as np", "", "", "def program(a, b, c, s, n):"]
        if rng.random() < 0.5:
            cut = rng.choice(("[1:-1]", "[1:]", "[:-1]"))
            self.lines += [f"    t0 = a{cut}", f"    t9 = b{cut}"]
            self.arrays = ["a", "b", "c"] if rng.random() < 0.5 else ["t0", "t9"]
        self.chain("    ")
        if rng.random() < 0.6:
            known = list(self.arrays)
            self.lines.append("    for _ in range(n):")
            self.chain("        ")
            self.arrays = known
        self.chain("    ")
        ends = [rng.choice(ENDS).format(rng.choice(self.arrays)) for _ in range(rng.randint(1, 3))]
        self.lines.append(f"    return {', '.join(ends)}")
        return "\n".join(self.lines) + "\n"


def arguments(seed: int) -> tuple[Any, ...]:
    """Three arrays of one shape (mostly), a number, a number of trips."""
    rng = random.Random(seed * 7 + 1)
    numbers = np.random.default_rng(seed)
    shape = rng.choice(SHAPES)
    dtype = rng.choice(("f8", "f8", "f8", "f4", "i8", "c16"))
    arrays: list[Any] = [_array(rng, numbers, shape, dtype if rng.random() < 0.9 else "f4") for _ in range(3)]
    if rng.random() < 0.3:
        arrays[1] = arrays[0]
    if rng.random() < 0.3:
        arrays[2] = arrays[0][...]
    if rng.random() < 0.1:
        arrays[2] = numbers.uniform(0.5, 2, shape[-1:])
    if rng.random() < 0.2 and all(shape) and arrays[0].flags.writeable:
        arrays[0].flat[0] = rng.choice((0, -1))
    return (*arrays, rng.choice((1.5, 2, np.float64(0.25), np.float32(3))), rng.choice((0, 1, 3)))


def _array(rng: random.Random, numbers: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """An array: of its own, every other element, rows of a larger one, columns first, read-only."""
    kind = rng.random()
    whole = tuple(n + 2 for n in shape)
    values = numbers.uniform(0.5, 4, whole).astype(dtype)
    if kind < 0.4:
        return values[tuple(slice(0, n) for n in shape)].copy()
    if kind < 0.7:
        starts = [rng.choice((0, 1, 2)) for _ in shape]
        return values[tuple(slice(at, at + n) for at, n in zip(starts, shape, strict=True))]
    if kind < 0.8:
        return np.asfortranarray(values[tuple(slice(0, n) for n in shape)])
    if kind < 0.9:
        return numbers.uniform(0.5, 4, tuple(2 * n for n in shape)).astype(dtype)[
            tuple(slice(None, None, 2) for _ in shape)
        ]
    found = values[tuple(slice(0, n) for n in shape)].copy()
    found.flags.writeable = rng.random() < 0.5
    return found
