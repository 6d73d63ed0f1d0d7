"""Random programs on whole arrays: functions of NumPy's, reductions along axes, casts, slices, broadcasting.

In: a seed.  Out: the text of a module that defines `program(x, y, w, c, s)`, and argument tuples.  What
always holds: x and y are of one shape and may be of two dtypes; w is a row, c a column, s a number; values
are special ones (NaN, infinite, huge, zeros of both signs) in some of the calls.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

UNARY = (
    "np.exp", "np.log", "np.sin", "np.cos", "np.tanh", "np.expm1", "np.log1p", "np.exp2", "np.log2",
    "np.log10", "np.sqrt", "np.abs", "np.sign", "np.floor", "np.ceil", "np.trunc", "np.rint", "-",
    "np.square", "np.reciprocal", "np.arctan", "np.sinh", "np.cbrt", "np.isnan", "np.isfinite", "np.isinf",
    "np.signbit", "np.logical_not", "np.negative", "np.positive", "np.arcsinh",
)  # fmt: skip
INTEGER = ("np.abs", "np.sign", "-", "np.square", "np.invert", "np.logical_not", "np.positive")
BINARY = ("+", "-", "*", "/", "+", "-", "*", "//", "%", "**")
FUNCTIONS = (
    "np.maximum", "np.minimum", "np.fmax", "np.fmin", "np.arctan2", "np.hypot", "np.copysign",
    "np.logical_and", "np.logical_or", "np.logical_xor", "np.power", "np.floor_divide",
    "np.remainder", "np.fmod",
)  # fmt: skip
BITS = ("&", "|", "^", "<<", ">>")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")
REDUCE = ("sum", "mean", "max", "min", "prod", "any", "all", "var", "std")
DTYPES = ("f8", "f8", "f4", "f4", "i8", "i4", "u1", "i2", "u4", "?")


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.rank = self.rng.choice([1, 2, 2, 2, 3])
        self.dtypes = [self.rng.choice(DTYPES)]
        self.dtypes.append(self.dtypes[0] if self.rng.random() < 0.6 else self.rng.choice(DTYPES))
        self.names = ["x", "y"]
        self.lines: list[str] = []

    def pick(self, *options: Any) -> Any:
        """One of the options."""
        return self.rng.choice(options)

    def leaf(self) -> str:
        """A name or a number."""
        kind = self.rng.random()
        if kind < 0.15:
            return str(self.pick("2", "0.5", "s", "3", "-1.5", "1"))
        if kind < 0.25:
            return str(self.pick("w", "c"))
        return str(self.pick(*self.names))

    def expression(self, depth: int) -> str:
        """An expression of the shape of x."""
        if depth == 0 or self.rng.random() < 0.15:
            return str(self.pick(*self.names))
        kind = self.rng.random()
        if kind < 0.3:
            f = self.pick(*(UNARY if self.dtypes[0][0] == "f" else UNARY + INTEGER))
            return f"{f}({self.expression(depth - 1)})"
        if kind < 0.6:
            op = self.pick(*BINARY) if self.rng.random() < 0.9 else self.pick(*BITS)
            right = str(self.pick("2", "0.5", "3", "-1")) if op == "**" else self.other(depth - 1)
            return f"({self.expression(depth - 1)} {op} {right})"
        if kind < 0.72:
            return f"{self.pick(*FUNCTIONS)}({self.expression(depth - 1)}, {self.other(depth - 1)})"
        if kind < 0.8:
            return f"np.where({self.test(depth - 1)}, {self.expression(depth - 1)}, {self.other(depth - 1)})"
        if kind < 0.84:
            low, high = self.pick("0", "-1", "0.5"), self.pick("1", "2")
            # which of two equal zeros it is depends on NumPy (docs/differences.md, point 3)
            return f"(np.clip({self.expression(depth - 1)}, {low}, {high}) + 0)"
        if kind < 0.87:
            axis = self.pick(*range(self.rank), -1)
            return f"np.roll({self.expression(depth - 1)}, {self.pick(1, -1, 2, -3)}, axis={axis})"
        if kind < 0.89:
            dtype = self.pick("float32", "float64", "int64", "bool_")
            return f"({self.expression(depth - 1)}).astype(np.{dtype})"
        if kind < 0.95 and self.rank > 1:
            first, name, second = self.expression(depth - 1), self.pick(*REDUCE), self.expression(depth - 1)
            return f"({first} - np.{name}({second}, axis=-1, keepdims=True))"
        return self.test(depth - 1)

    def other(self, depth: int) -> str:
        """A second operand."""
        return self.leaf() if self.rng.random() < 0.5 else self.expression(depth)

    def test(self, depth: int) -> str:
        """A comparison."""
        return f"({self.expression(max(depth, 0))} {self.pick(*COMPARE)} {self.leaf()})"

    def reduction(self) -> str:
        """A reduction."""
        axis = self.pick("", f", axis={self.rng.randrange(self.rank)}", ", axis=-1", ", axis=0")
        if axis and self.rng.random() < 0.4:
            axis += ", keepdims=True"
        if self.rng.random() < 0.3:
            return f"({self.expression(1)}).{self.pick(*REDUCE)}({axis[2:]})"
        return f"np.{self.pick(*REDUCE)}({self.expression(2)}{axis})"

    def statement(self) -> None:
        """A line."""
        kind, name = self.rng.random(), f"t{len(self.lines)}"
        if kind < 0.55:
            self.lines.append(f"{name} = {self.expression(3)}")
            self.names.append(name)
        elif kind < 0.8:
            self.lines.append(f"out.append({self.reduction()})")
        else:
            cut, moved = ("[1:-1]", "[2:]") if self.rng.random() < 0.5 else ("[:-1]", "[1:]")
            op = self.pick("", "+", "-", "*")
            other = self.pick(*self.names)
            self.lines.append(f"x{cut} {op}= x{moved} {self.pick('+', '-', '*')} {other}{cut}")


def source(seed: int) -> str:
    """The text of the module."""
    writer = Writer(seed)
    for _ in range(writer.rng.randint(2, 5)):
        writer.statement()
    results = ", ".join(dict.fromkeys([*writer.names]))
    rest = [line.replace("out.append(", f"r{k} = (") for k, line in enumerate(writer.lines)]
    made = "".join(f", r{k}" for k, line in enumerate(writer.lines) if line.startswith("out."))
    return "import numpy as np\n\n\ndef program(x, y, w, c, s):\n" + "\n".join(
        [*(f"    {line}" for line in rest), f"    return {results}{made}", ""]
    )


SPECIAL = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-310, -1e300, 800.0, -800.0, 1e6, 0.5, 2.5)


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, special: bool) -> Any:
    """An array; special: some elements are unusual."""
    if dtype == "?":
        return rng.random(shape) < 0.5
    if dtype[0] in "iu":
        kind = np.dtype(dtype)
        found = rng.integers(0 if dtype[0] == "u" else -9, 10, shape).astype(kind)
        if special:
            mask = rng.random(shape) < 0.2
            found[mask] = rng.choice([np.iinfo(kind).min, np.iinfo(kind).max, 0], mask.sum())
        return found
    with np.errstate(all="ignore"):
        found = (rng.standard_normal(shape) * 3).astype(dtype)
        if special:
            mask = rng.random(shape) < 0.2
            found[mask] = rng.choice(SPECIAL, mask.sum()).astype(dtype)
    return found


def calls(seed: int) -> list[tuple[Any, ...]]:
    """Argument tuples of the same dtypes: usual ones, of other sizes, special, views, one array twice."""
    writer, rng = Writer(seed), np.random.default_rng(seed)
    first, second = writer.dtypes
    sizes = [int(rng.choice([2, 3, 7, 8, 9, 16, 17, 33, 64, 100])) for _ in range(writer.rank)]
    if seed % 11 == 0:
        sizes[-1] = int(rng.choice([1, 600, 1000]))
    out = []
    for k in range(5):
        shape = tuple(sizes) if k != 1 else tuple(n + 1 for n in sizes)
        special = k in (2, 4)
        x, y = values(rng, shape, first, special), values(rng, shape, second, special)
        if k == 3:
            wide = values(rng, (*shape[:-1], 2 * shape[-1]), first, False)
            x = (
                wide[..., ::2]
                if seed % 2
                else np.moveaxis(values(rng, shape[::-1], first, False), 0, -1).copy("F")
            )
            x = x.reshape(shape, order="F") if x.shape != shape else x
        w, c = values(rng, shape[-1:], first, special), values(rng, (*shape[:-1], 1), first, False)
        s = np.dtype(first).type(2)
        out.append((x, x if k == 4 and first == second else y, w, c, s))
    return out
