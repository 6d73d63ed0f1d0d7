"""Random graphs of numbers and arrays, most of which native code can express, and arguments for them.

In: a seed.  Out: a `Sample`: a graph with one result, and arguments for it, made anew for each call: numbers
at the edges of their dtypes, NaN and signed zeros, empty arrays, views of one memory, other layouts.  What
always holds: the same seed gives the same sample; the graph ends, and no Python int grows beyond bounds.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.ir.builder import Builder
from runtime.ir.graph import Const, Graph, Operand, Value
from runtime.types import (
    WEAK_INT,
    ArrayType,
    NumberType,
    ObjectType,
    TupleType,
    Type,
    WeakType,
    static_or_weak,
)
from tests.property.graphs import Maker, is_array

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
DTYPES = tuple(np.dtype(name) for name in NAMES.split())
FULL = tuple(d for d in DTYPES if d.kind in "biuf" and d != np.float16)
USUAL = tuple(np.dtype(name) for name in "float64 float64 float64 int64 int64 float32 bool".split())
PYTHON = (bool, *(int,) * 5, *(float,) * 5, complex)
OPERATORS = ("add", "sub", "mul", "add", "sub", "mul", "truediv", "floordiv", "mod")
BITS = ("and_", "or_", "xor", "lshift", "rshift")
COMPARE = ("lt", "le", "eq", "ne", "gt", "ge", "np.less", "np.equal")
BINARY = (
    "np.add np.subtract np.multiply np.divide np.floor_divide np.remainder np.maximum np.minimum"
    " np.arctan2 np.hypot np.copysign np.fmod np.power np.logaddexp np.logical_and np.logical_or"
    " np.logical_xor np.bitwise_and np.bitwise_or np.bitwise_xor np.left_shift np.right_shift np.nextafter"
    " np.gcd np.heaviside"
).split()
UNARY = (
    "neg pos abs invert np.sin np.sqrt np.exp np.log np.tanh np.log1p np.cbrt np.sign np.square np.floor"
    " np.ceil np.trunc np.rint np.isnan np.isinf np.isfinite np.signbit np.absolute np.negative"
    " np.reciprocal np.fabs np.logical_not np.conjugate np.positive np.invert np.arctan np.exp2 np.round"
    " np.real np.imag"
).split()
REDUCE = (
    "np.sum np.sum np.sum np.prod np.max np.min np.mean np.mean np.any np.all np.argmax np.argmin np.var"
    " np.std np.cumsum np.ptp np.count_nonzero"
).split()
IN_PLACE = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "iand", "ior", "ixor", "ilshift")
MATH = (math.sqrt, math.sin, math.exp, math.log, math.floor, math.ceil, math.isnan, math.isfinite, math.tanh)
MAKERS = "np.zeros np.ones np.zeros_like np.ones_like np.copy nd.copy np.ravel nd.flatten".split()
SIZES = (0, 1, 2, 3, 3, 4, 4, 5, 5, 8, 9, 9, 17, 17, 33, 33)
LARGEST = (1, 33, 17, 5)  # by the rank of the largest argument
OF_CLASS = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}
SMALL = 5  # trips of a loop, at most


@dataclasses.dataclass(frozen=True)
class Spec:
    """An argument.  kind: a dtype, or a Python class; shape: numbers, or names of sizes; None for a number.

    shared: whether it may lie in the memory of another one.
    """

    kind: Any
    shape: tuple[int | str, ...] | None
    shared: bool = False

    @property
    def type(self) -> Type:
        """The trace type."""
        if isinstance(self.kind, type):
            return WeakType(self.kind.__name__)
        if self.shape is None:
            return ArrayType(self.kind, (), True)
        return ArrayType(self.kind, tuple(n if isinstance(n, int) else None for n in self.shape))


@dataclasses.dataclass(frozen=True)
class Sample:
    """A graph and its arguments."""

    seed: int
    graph: Graph
    specs: tuple[Spec, ...]

    def arguments(self, call: int) -> list[Any]:
        """Fresh arguments for a call; the same ones each time."""
        r = random.Random(f"{self.seed} {call}")
        rank = max([len(spec.shape or ()) for spec in self.specs])
        sizes = {name: min(r.choice(SIZES), LARGEST[rank]) for name in "nm"}
        if r.random() < 0.3:  # all alike, so that more of them fit together
            sizes = dict.fromkeys(sizes, sizes["n"])
        wild = r.random() < 0.4
        memory: dict[Any, np.ndarray[Any, Any]] = {}
        return [_argument(r, spec, sizes, wild, memory) for spec in self.specs]


# ------------------------------------------------------------------------------------------ arguments
def _argument(
    r: random.Random, spec: Spec, sizes: dict[str, int], wild: bool, memory: dict[Any, np.ndarray[Any, Any]]
) -> Any:
    if spec.shape is None:
        if isinstance(spec.kind, type):
            return spec.kind(_numbers(r, np.dtype(OF_CLASS[spec.kind]), 1, wild)[0].item())
        return _numbers(r, spec.kind, 1, wild)[0]
    shape = tuple(n if isinstance(n, int) else sizes[n] for n in spec.shape)
    count = math.prod(shape)
    if spec.shared and spec.kind in memory and memory[spec.kind].size >= count:
        return _beside(r, memory[spec.kind], shape)
    made = _laid_out(r, _numbers(r, spec.kind, count, wild), shape)
    if spec.shared and made.flags.c_contiguous:
        memory[spec.kind] = made.reshape(-1)
    return made


def _beside(r: random.Random, base: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """An array in memory that another one has: from another place on, backwards, every second element."""
    count = math.prod(shape)
    start, how = r.randint(0, min(2, base.size - count)), r.random()
    part = base[start : start + count]
    if len(shape) == 1 and how < 0.15:
        return part[::-1]
    if len(shape) == 1 and how < 0.3 and base.size >= 2 * count:
        return base[: 2 * count : 2]
    return part.reshape(shape)


def _laid_out(r: random.Random, flat: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """An array of these elements: in C order mostly, else transposed, reversed, with gaps, one line again and
    again, not to be written to, or at an odd address."""
    x = flat.reshape(shape)
    how = r.random()
    if how < 0.75 or not shape:
        return x
    if how < 0.82:
        return np.asfortranarray(x)
    if how < 0.87:
        return np.ascontiguousarray(x[::-1])[::-1]
    if how < 0.9:
        return np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    if how < 0.95:
        wide = np.zeros((*shape[:-1], shape[-1] * 2), flat.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    if how < 0.97:
        return np.broadcast_to(x[:1], shape) if shape[0] else x
    if how < 0.985:
        x.flags.writeable = False
        return x
    bytes_of = np.zeros(x.nbytes + 1, np.uint8)
    odd = bytes_of[1:].view(flat.dtype).reshape(shape)
    odd[...] = x
    return odd


def _numbers(r: random.Random, dtype: np.dtype[Any], count: int, wild: bool) -> np.ndarray[Any, Any]:
    """Numbers of a dtype; wild: at the edges, too."""
    found: np.ndarray[Any, Any] = _pool(dtype, wild)[np.frombuffer(r.randbytes(count), np.uint8)]
    return found


@functools.cache
def _pool(dtype: np.dtype[Any], wild: bool) -> np.ndarray[Any, Any]:
    """256 numbers, half of them at the edges where they are to be wild."""
    r = random.Random(f"{dtype} {wild}")
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        pairs = np.stack((_pool(part, wild), np.roll(_pool(part, wild), r.randint(1, 255))), axis=1)
        return pairs.view(dtype)[:, 0]
    if dtype.kind == "b":
        usual, edges = [False, True], [True]
    elif dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        usual = [n for n in range(-9, 10) if low <= n]
        edges = [low, high, low + 1, high - 1, high // 2 + 1, 0, 1]
    else:
        info = np.finfo(dtype)
        usual = (
            [r.uniform(-3, 3) for _ in range(40)] + [*map(float, range(-4, 5))] * 2 + [0.0, -0.0, 0.0, -0.0]
        )
        edges = [
            math.nan,
            math.inf,
            -math.inf,
            0.0,
            -0.0,
            float(info.max),
            float(info.min),
            float(info.tiny),
            6e4,
        ]
    chosen = [r.choice(edges if wild and k % 2 else usual) for k in range(256)]
    return np.array(chosen, dtype)


# --------------------------------------------------------------------------------------------- graphs
class Numeric(Maker):
    """Fills builders with nodes that native code knows, and now and then with others."""

    def sample(self, seed: int) -> Sample:
        """A whole graph."""
        r = self.random
        self.dtypes = r.choices(DTYPES, k=1) + r.choices(FULL, k=1) + r.choices(USUAL, k=2)
        self.outer = False
        self.sizes = tuple(r.sample(("n", "n", "n", "m", 1, 3, 4, 9, 20), 3))
        specs = tuple(self.spec() for _ in range(r.randint(1, 4)))
        builder = Builder("sample")
        scope: list[Operand] = [builder.param(spec.type, f"p{k}") for k, spec in enumerate(specs)]
        self.fill(builder, scope, r.choice((3, 5, 8)), r.choice((0, 1, 1, 2)))
        return Sample(seed, builder.region((), [self.result(builder, scope)]), specs)

    def spec(self) -> Spec:
        r = self.random
        if r.random() < 0.35:
            return Spec(r.choice(PYTHON) if r.random() < 0.6 else r.choice(self.dtypes), None)
        rank = r.choice((1, 1, 1, 1, 2, 2, 2, 3, 0))
        dims = tuple(r.choice((*self.sizes, 1) if r.random() < 0.2 else self.sizes[:1]) for _ in range(rank))
        return Spec(r.choice(self.dtypes), dims, r.random() < 0.3)

    def result(self, builder: Builder, scope: list[Operand]) -> Operand:
        """One value, or a tuple of some."""
        found = [self.pick(scope) for _ in range(self.random.randint(1, 3))]
        if len(found) == 1 and isinstance(found[0], Value):
            return found[0]
        t = TupleType(tuple(static_or_weak(x.type) for x in found))
        return builder.add("py.tuple", found, (t,))[0]

    def constants(self) -> tuple[Any, ...]:
        return (
            0,
            1,
            2,
            -1,
            3,
            0.5,
            -0.0,
            2.0,
            1e-3,
            True,
            np.float32(0.1),
            np.int64(3),
            np.float64(1.5),
            255,
            -128,
        )

    def arm_result(self, scope: list[Operand]) -> Operand:
        return self.pick(scope, numeric)

    def carries(self, scope: list[Operand]) -> tuple[list[Operand], list[Type]]:
        first = [self.pick(scope, numeric) for _ in range(self.random.randint(0, 3))]
        return first, [static_or_weak(x.type) for x in first]

    def fill(self, builder: Builder, scope: list[Operand], size: int, depth: int) -> None:
        steps = self.steps()
        for _ in range(size):
            if depth and self.random.random() < 0.3:
                forms = (
                    self.cond,
                    self.while_loop,
                    self.for_loop,
                    self.for_loop,
                    self.elements,
                    self.elements,
                )
                self.random.choice(forms)(builder, scope, depth - 1)
            else:
                self.random.choice(steps)(builder, scope)

    def steps(self) -> list[Callable[..., None]]:
        """What a graph is made of, the usual more often."""
        found = [self.operate] * 5 + [self.unary] * 3 + [self.reduce] * 2 + [self.item] * 3
        found += [self.compare, self.binary, self.cast] + [self.write] * 2 + [self.update] * 2
        more = (self.choose, self.make, self.python_call, self.matrix, self.attribute, self.lists, self.out)
        return [*found, *more]

    # ------------------------------------------------------------------ operators and functions
    def small(self, builder: Builder, scope: list[Operand], made: Operand | None) -> None:
        """Keep Python ints small: they don't wrap."""
        if made is not None and made.type == WEAK_INT:
            scope.remove(made)
            self.add(builder, scope, "mod", (made, Const(self.random.choice((1 << 62, 1 << 40, 10007)))))

    def operate(self, builder: Builder, scope: list[Operand]) -> None:
        a, b = self.pick(scope, numeric), self.pick(scope, numeric)
        how = self.random.random()
        if how < 0.7:
            self.small(builder, scope, self.add(builder, scope, self.random.choice(OPERATORS), (a, b)))
        elif how < 0.85:
            op = self.random.choice(BITS)
            if self.random.random() < 0.9:
                a, b = (self.pick(scope, lambda t: whole(t, "biu")) for _ in range(2))
            if op == "lshift" and isinstance(static_or_weak(b.type), WeakType):
                b = Const(self.random.choice((0, 1, 5, 70)))
            self.small(builder, scope, self.add(builder, scope, op, (a, b)))
        else:
            power = Const(self.random.choice((2, 3, 4, 0, 0.5, -1, 2.0)))
            self.small(builder, scope, self.add(builder, scope, "pow", (a, power)))

    def binary(self, builder: Builder, scope: list[Operand]) -> None:
        self.add(
            builder, scope, self.random.choice(BINARY), (self.pick(scope, numeric), self.pick(scope, numeric))
        )

    def unary(self, builder: Builder, scope: list[Operand]) -> None:
        self.add(builder, scope, self.random.choice(UNARY), (self.pick(scope, numeric),))

    def compare(self, builder: Builder, scope: list[Operand]) -> None:
        self.add(
            builder,
            scope,
            self.random.choice(COMPARE),
            (self.pick(scope, numeric), self.pick(scope, numeric)),
        )

    def reduce(self, builder: Builder, scope: list[Operand]) -> None:
        x, r = self.pick(scope, is_array), self.random
        if is_array(x.type):
            given: dict[str, Operand] = {}
            if r.random() < 0.6:
                given["axis"] = Const(r.choice((0, -1, -1, 1, None)))
            if r.random() < 0.3:
                given["keepdims"] = Const(True)
            op = r.choice(REDUCE)
            if op in ("np.cumsum", "np.ptp", "np.count_nonzero"):
                given.pop("keepdims", None)
            if op in ("np.sum", "np.prod", "np.mean") and r.random() < 0.15:
                given["dtype"] = Const(r.choice(DTYPES))
            self.add(builder, scope, op, (x,), **given)

    def cast(self, builder: Builder, scope: list[Operand]) -> None:
        x, r = self.pick(scope, numeric), self.random
        if is_array(x.type):
            self.add(builder, scope, "nd.astype", (x, Const(r.choice(DTYPES))))
            return
        to = r.choice((int, float, bool, *(d.type for d in DTYPES)))
        self.small(builder, scope, self.typed(builder, scope, "py.call", (Const(to), x), type_made(to)))

    def typed(
        self,
        builder: Builder,
        scope: list[Operand],
        op: str,
        inputs: Sequence[Operand],
        t: Type,
        **more: Operand,
    ) -> Operand:
        """A node whose type the op table does not know."""
        (value,) = builder.add(op, (*inputs, *more.values()), (t,), keywords=tuple(more), span=self.span())
        scope.append(value)
        return value

    def python_call(self, builder: Builder, scope: list[Operand]) -> None:
        """`math`, and Python's own functions on Python numbers."""
        r, weak = self.random, lambda t: isinstance(t, WeakType) and t.kind != "complex"
        x, y = self.pick(scope, weak), self.pick(scope, weak)
        if r.random() < 0.6:
            f = r.choice(MATH)
            kind = {"floor": "int", "ceil": "int", "isnan": "bool", "isfinite": "bool"}.get(
                f.__name__, "float"
            )
            self.small(builder, scope, self.typed(builder, scope, "py.call", (Const(f), x), WeakType(kind)))
        elif static_or_weak(x.type) == static_or_weak(y.type):
            self.typed(builder, scope, "py.call", (Const(r.choice((min, max))), x, y), static_or_weak(x.type))

    def choose(self, builder: Builder, scope: list[Operand]) -> None:
        a, b, c = (self.pick(scope, numeric) for _ in range(3))
        if self.random.random() < 0.6:
            mask = self.pick(scope, lambda t: numeric(t) and getattr(t, "dtype", DTYPES[0]).kind == "b")
            self.add(builder, scope, "np.where", (mask, a, b))
        else:
            made = self.add(builder, scope, "np.clip", (c, a, b))
            if isinstance(made, Value) and getattr(made.type, "dtype", DTYPES[0]).kind == "f":
                scope.remove(made)  # which of two equal zeros it is may differ
                self.add(builder, scope, "add", (made, Const(0.0)))

    def matrix(self, builder: Builder, scope: list[Operand]) -> None:
        a, b = self.pick(scope, is_array), self.pick(scope, is_array)
        if is_array(a.type) and is_array(b.type):
            op = self.random.choice(("matmul", "np.dot", "np.outer"))
            if op != "np.outer" or not (self.outer or builder.parent):  # outer products of such get large
                self.add(builder, scope, op, (a, b))
            self.outer = self.outer or op == "np.outer"

    def make(self, builder: Builder, scope: list[Operand]) -> None:
        r, op = self.random, self.random.choice(MAKERS)
        x = self.pick(scope, is_array)
        if op in ("np.zeros", "np.ones"):
            self.add(
                builder,
                scope,
                op,
                (Const(r.choice((3, 1, (2, 3), 0, (3, 1)))),),
                dtype=Const(r.choice(DTYPES)),
            )
        elif is_array(x.type):
            self.add(builder, scope, op, (x,))

    def attribute(self, builder: Builder, scope: list[Operand]) -> None:
        x, r = self.pick(scope, is_array), self.random
        if not isinstance(x.type, ArrayType) or x.type.shape is None:
            return
        if r.random() < 0.5:
            self.add(builder, scope, "py.getattr", (x, Const("T")))
        elif x.type.shape:
            self.typed(builder, scope, "py.call", (Const(len), x), WEAK_INT)

    def lists(self, builder: Builder, scope: list[Operand]) -> None:
        """Arrays made of numbers."""
        x = self.pick(scope, lambda t: numeric(t) and not is_array(t))
        items = [x, *(self.pick(scope, lambda t: t == x.type) for _ in range(self.random.randint(0, 2)))]
        if all(numeric(y.type) and not is_array(y.type) for y in items):
            made = self.add(builder, scope, "py.tuple", items)
            assert made is not None
            scope.remove(made)
            self.add(builder, scope, "np.array", (made,))

    # ------------------------------------------------------------------ items and writes
    def key(self, builder: Builder, scope: list[Operand], t: ArrayType) -> Operand | None:
        """A key for an array of this type."""
        r, rank = self.random, len(t.shape or ())
        if not rank and r.random() < 0.9:
            return Const(r.choice(((), Ellipsis)))
        parts = [self.key_part(builder, scope, t) for _ in range(r.choice((1, 1, 1, rank)))]
        parts = parts[: max(rank, 1)]
        if len(parts) == 1:
            return parts[0]
        made = self.add(builder, scope, "py.tuple", parts)
        if made is not None:
            scope.remove(made)
        return made

    def key_part(self, builder: Builder, scope: list[Operand], t: ArrayType) -> Operand:
        r, how = self.random, self.random.random()
        if how < 0.35:
            return Const(r.choice((0, 0, 0, 0, -1, -1, -1, 1, 2)))
        if how < 0.7:
            step = r.choice((None, None, 1, -1, 2, -2))
            return Const(slice(r.choice((None, 0, 1, -2, 5)), r.choice((None, 3, -1, 0, 9)), step))
        if how < 0.75:
            return Const(r.choice((None, Ellipsis)))
        if how < 0.85:
            return self.in_range(builder, scope, self.pick(scope, lambda t: whole(t) and not is_array(t)))
        found = self.pick(scope, lambda t: is_array(t) and whole(t, "biu"))
        return self.in_range(builder, scope, found) if is_array(found.type) else Const(0)

    def in_range(self, builder: Builder, scope: list[Operand], x: Operand) -> Operand:
        """Indices that most arrays have, mostly."""
        if not whole(x.type) or isinstance(x, Const) or self.random.random() < 0.2:
            return x
        return self.add(builder, scope, "mod", (x, Const(2))) or x

    def item(self, builder: Builder, scope: list[Operand]) -> None:
        x = self.pick(scope, is_array)
        if isinstance(x.type, ArrayType) and is_array(x.type):
            key = self.key(builder, scope, x.type)
            if key is not None:
                self.add(builder, scope, "getitem", (x, key))

    def write(self, builder: Builder, scope: list[Operand]) -> None:
        x = self.pick(scope, is_array)
        if isinstance(x.type, ArrayType) and is_array(x.type):
            key = self.key(builder, scope, x.type)
            if key is not None:
                self.add(builder, scope, "setitem", (x, key, self.pick(scope, numeric)))

    def update(self, builder: Builder, scope: list[Operand]) -> None:
        x = self.pick(scope, is_array)
        if is_array(x.type):
            self.add(builder, scope, self.random.choice(IN_PLACE), (x, self.pick(scope, numeric)))

    def out(self, builder: Builder, scope: list[Operand]) -> None:
        target = self.pick(scope, is_array)
        if is_array(target.type):
            operands = self.pick(scope, lambda t: t == target.type), self.pick(scope, numeric)
            self.add(
                builder,
                scope,
                self.random.choice(("np.add", "np.maximum", "np.multiply")),
                operands,
                out=target,
            )

    def truth(self, builder: Builder, scope: list[Operand]) -> Operand:
        return self.pick(scope, lambda t: numeric(t) and not is_array(t))

    # ------------------------------------------------------------------ loops
    def elements(self, builder: Builder, scope: list[Operand], depth: int) -> None:
        """A loop over the places of an array, which reads and writes elements."""
        r, line = self.random, lambda t: is_array(t) and len(getattr(t, "shape", None) or ()) == 1
        target = self.pick(scope, line)
        if not line(target.type):
            return
        made: list[Operand] = []
        end = self.typed(builder, made, "py.call", (Const(len), target), WEAK_INT)
        bounds = (Const(r.choice((0, 0, 1))), end, Const(r.choice((1, 1, 1, 2))))
        trips = self.typed(builder, made, "py.call", (Const(range), *bounds), ObjectType(range))
        first = [self.pick(scope, lambda t: numeric(t) and not is_array(t)) for _ in range(r.randint(0, 1))]
        types = [static_or_weak(x.type) for x in first]
        body = Builder("loop_body", builder)
        item = body.param(WEAK_INT, "i")
        carried = [body.param(t, "c") for t in types]
        inner: list[Operand] = [item, *carried]
        for array in (target, *(self.pick(scope, line) for _ in range(2))):
            if line(array.type):
                near: list[Operand] = [item]
                if r.random() < 0.3:
                    self.add(body, near, "add", (item, Const(r.choice((-1, 1, -2)))))
                self.add(body, inner, "getitem", (array, near[-1]))
        steps = (
            self.operate,
            self.operate,
            self.operate,
            self.unary,
            self.compare,
            self.cast,
            self.python_call,
        )
        for _ in range(r.randint(1, 4)):
            r.choice(steps)(body, inner)
        if depth and r.random() < 0.3:
            self.cond(body, inner, 0)
        self.add(
            body, inner, "setitem", (target, item, self.pick(inner, lambda t: numeric(t) and not is_array(t)))
        )
        results = self.next_carry(body, inner, carried)
        captured = list(body.captures)
        region = body.region(captured, results)
        attrs = {"carries": len(first), "tested": False}
        scope += builder.add(
            "for",
            (trips, *first, *captured),
            types,
            attrs=attrs,
            regions=(region,),
            names=("c",),
            span=self.span(),
        )

    def iterable(self, scope: list[Operand]) -> tuple[Operand, Type]:
        found = self.pick(scope, lambda t: isinstance(t, ArrayType) and is_array(t) and bool(t.shape))
        if isinstance(found.type, ArrayType) and found.type.shape and self.random.random() < 0.5:
            return found, ArrayType(found.type.dtype, found.type.shape[1:], len(found.type.shape) == 1)
        first = self.random.choice((0, 0, 0, 1, -3))
        return Const(range(first, self.random.randint(0, SMALL), self.random.choice((1, 1, 2)))), WEAK_INT


def type_made(cls: type) -> Type:
    """The type that a call of a class of numbers gives."""
    return WeakType(cls.__name__) if cls in (int, float, bool) else ArrayType(np.dtype(cls), (), True)


def numeric(t: Type) -> bool:
    """Whether it is a number or an array of numbers."""
    return isinstance(t, (WeakType, NumberType)) or (isinstance(t, ArrayType) and t.dtype.kind in "biufc")


def whole(t: Type, kinds: str = "iu") -> bool:
    """Whether it is an integer, or an array of integers."""
    return t == WEAK_INT or (isinstance(t, ArrayType) and t.dtype.kind in kinds)


def sample(seed: int) -> Sample:
    """The sample of this seed."""
    with np.errstate(all="ignore"):
        return Numeric(seed).sample(seed)
