"""Random well-typed graphs, arguments for them, and the comparison of what runs of them do.

In: a seed.  Out: a graph with nested regions, effects in order, arrays, NumPy scalars, Python numbers and
lists, and fresh arguments that fit its parameters.  What always holds: the same seed gives the same graph
and the same arguments; outputs have the types that the op table gives.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.boxes import UnboundMarker, unbound
from runtime.errors import Span
from runtime.ir.builder import Builder
from runtime.ir.graph import Const, Graph, Operand, Value
from runtime.ir.verify import includes
from runtime.ops.table import OPS
from runtime.types import (
    OBJECT,
    UNBOUND,
    WEAK_BOOL,
    WEAK_INT,
    ArrayType,
    MaybeUnbound,
    ObjectType,
    TupleType,
    Type,
    UnboundType,
    WeakType,
    join,
    static_or_weak,
    type_of,
)
from tests.property.guarded import add_try, add_with

LOG: list[Any] = []
BINARY = ("add", "sub", "mul", "np.add", "np.maximum", "np.minimum", "np.hypot", "np.subtract", "np.multiply")
DIVIDE = ("truediv", "floordiv", "mod", "np.divide")
COMPARE = ("lt", "le", "eq", "ne", "gt", "ge", "np.less")
BITS = ("and_", "or_", "xor")
UNARY = ("neg", "abs", "np.sin", "np.sqrt", "np.exp", "np.sign", "np.square", "np.floor", "np.isnan")
REDUCE = ("np.sum", "np.max", "np.min", "np.mean", "np.prod", "np.any", "np.all", "np.cumsum")
IN_PLACE = ("iadd", "isub", "imul")
HINTS = ("", "", "x", "y", "n", "total", "steps", "t1", "x_1")


def record(*values: Any) -> int:
    """The effect that random graphs have: note the values as they are now; how many were noted."""
    LOG.append(snapshot(values))
    return len(LOG)


class Problem(Exception):
    """What random graphs raise."""


def snapshot(value: Any, depth: int = 6) -> Any:
    """The value as plain data that compares bit by bit; lists may hold themselves, so depth is limited."""
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, np.generic):
        return "scalar", value.dtype.str, value.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(snapshot(v, depth - 1) for v in value) if depth else ...
    if isinstance(value, dict):
        return "dict", snapshot(tuple(value.items()), depth)
    # A bound method's repr has an address in it, which differs from run to run.
    return type(value).__name__, value.__name__ if callable(value) else repr(value)


ARGUMENTS: tuple[Callable[[random.Random], Any], ...] = (
    lambda r: np.array([r.uniform(-2, 2) for _ in range(r.randint(1, 4))]),
    lambda r: np.array([[r.randint(-9, 9) for _ in range(3)] for _ in range(2)]),
    lambda r: np.array([r.randint(0, 1) for _ in range(3)], bool),
    lambda r: np.array([r.uniform(-2, 2) for _ in range(3)], np.float32),
    lambda r: np.float64(r.uniform(-2, 2)),
    lambda r: np.int64(r.randint(-5, 5)),
    lambda r: np.bool_(r.random() < 0.5),
    lambda r: r.randint(-5, 5),
    lambda r: r.choice((0.5, -1.25, 0.0, float("inf"), float("nan"))),
    lambda r: r.random() < 0.5,
    lambda r: [r.randint(0, 3) for _ in range(r.randint(0, 3))],
    lambda r: (r.randint(0, 3), np.float64(0.5)),
)


class Maker:
    """Fills builders with random nodes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.line = 0

    def graph(self, size: int = 12) -> tuple[Graph, list[Any]]:
        """A graph of about `size` nodes at its top level, and arguments for it."""
        builder = Builder(f"sample{self.random.randint(0, 9)}")
        args = [make(self.random) for make in self.random.sample(ARGUMENTS, self.random.randint(2, 5))]
        scope: list[Operand] = [
            builder.param(self.param_type(arg), self.random.choice(HINTS)) for arg in args
        ]
        self.fill(builder, scope, size, 2)
        results = [self.pick(scope) for _ in range(self.random.randint(1, 3))]
        return builder.region((), results), args

    def param_type(self, arg: Any) -> Type:
        t = type_of(arg)
        if isinstance(t, ArrayType) and not t.scalar and self.random.random() < 0.4:
            assert t.shape is not None
            return ArrayType(t.dtype, None if self.random.random() < 0.3 else (None,) * len(t.shape))
        return OBJECT if self.random.random() < 0.05 else t

    def pick(self, scope: Sequence[Operand], fits: Callable[[Type], bool] | None = None) -> Operand:
        """An operand from the scope that fits, late ones more often; a constant now and then."""
        fits = fits or is_bound
        found = [x for x in scope if fits(x.type)]
        constants = [c for c in map(Const, self.constants()) if fits(static_or_weak(c.type))]
        if constants and (not found or self.random.random() < 0.2):
            return self.random.choice(constants)
        if not found:
            return Const(1)
        return found[-1 - min(int(self.random.expovariate(0.3)), len(found) - 1)]

    def constants(self) -> tuple[Any, ...]:
        return 0, 1, -2, 0.5, -0.0, True, np.float32(0.1), np.int64(3), (1, 2), "text", None

    def span(self) -> Span | None:
        self.line += 1
        if self.random.random() < 0.2:
            return None
        caller = Span("/src/other dir/b.py", self.line, 0, "g") if self.random.random() < 0.1 else None
        return Span("/src/a.py", self.line, self.random.choice((0, 4)), self.random.choice(("", "f")), caller)

    def add(
        self, builder: Builder, scope: list[Operand], op: str, inputs: Sequence[Operand], **keywords: Operand
    ) -> Operand | None:
        """Append a node of the op table, if the table knows a type (or this is a Python op)."""
        rule = OPS[op].rule
        names = tuple(keywords)
        operands = (*inputs, *keywords.values())
        if rule is None:
            builder.add(op, operands, keywords=names, span=self.span())
            return None
        t = rule(*(x.type for x in inputs), **{name: x.type for name, x in keywords.items()})
        if t == OBJECT and not op.startswith("py.") and self.random.random() < 0.97:
            return None  # such an operation mostly raises
        (value,) = builder.add(
            op, operands, (t,), keywords=names, names=(self.random.choice(HINTS),), span=self.span()
        )
        scope.append(value)
        return value

    def fill(self, builder: Builder, scope: list[Operand], size: int, depth: int) -> None:
        """Append about `size` nodes; `scope` gets what they define."""
        steps = [self.binary] * 6 + [self.unary] * 3 + [self.reduce, self.compare, self.python, self.effect]
        steps += [
            self.item,
            self.in_place,
            self.list_op,
            self.divide,
            self.bound,
            self.unpack,
            self.out,
            self.hashed,
        ]
        for _ in range(size):
            if depth and self.random.random() < 0.2:
                forms = (self.cond, self.while_loop, self.for_loop, self.try_, self.with_)
                self.random.choice(forms)(builder, scope, depth - 1)
            else:
                self.random.choice(steps)(builder, scope)

    def binary(self, builder: Builder, scope: list[Operand]) -> None:
        a, b = self.pick(scope, numeric), self.pick(scope, numeric)
        if a.type == b.type == WEAK_BOOL:
            self.add(builder, scope, self.random.choice(BITS), (a, b))
            return
        made = self.add(builder, scope, self.random.choice(BINARY), (a, b))
        if made is not None and made.type == WEAK_INT:
            scope.remove(made)  # Python ints do not wrap: keep them small
            self.add(builder, scope, "mod", (made, Const(10007)))

    def divide(self, builder: Builder, scope: list[Operand]) -> None:
        divisor = self.pick(scope, numeric) if self.random.random() < 0.2 else Const(3)
        self.add(builder, scope, self.random.choice(DIVIDE), (self.pick(scope, numeric), divisor))

    def unary(self, builder: Builder, scope: list[Operand]) -> None:
        self.add(builder, scope, self.random.choice(UNARY), (self.pick(scope, numeric),))

    def reduce(self, builder: Builder, scope: list[Operand]) -> None:
        operand = self.pick(scope, is_array)
        axis = {"axis": Const(self.random.choice((0, -1, None)))} if self.random.random() < 0.5 else {}
        if is_array(operand.type):
            self.add(builder, scope, self.random.choice(REDUCE), (operand,), **axis)

    def compare(self, builder: Builder, scope: list[Operand]) -> None:
        operands = self.pick(scope, numeric), self.pick(scope, numeric)
        self.add(builder, scope, self.random.choice(COMPARE), operands)

    def python(self, builder: Builder, scope: list[Operand]) -> None:
        a, b = self.pick(scope), self.pick(scope)
        op = self.random.choice(("py.tuple", "py.tuple", "py.not", "py.is", "py.call"))
        if op == "py.call":
            self.add(builder, scope, op, (Const(snapshot), a))
        elif op == "py.is":
            # Whether equal numbers or strings are one object is up to the Python that runs.
            one = a if isinstance(a, Value) and not isinstance(a.type, WeakType) else Const(None)
            self.add(builder, scope, op, (one, b if isinstance(b, Value) else Const(None)))
        elif op == "py.not" and not single(a.type):
            self.add(builder, scope, "py.tuple", (a,))
        else:
            self.add(builder, scope, op, (a,) if op == "py.not" else (a, b))

    def effect(self, builder: Builder, scope: list[Operand]) -> None:
        values = [self.pick(scope) for _ in range(self.random.randint(0, 2))]
        self.add(builder, scope, "py.call", (Const(record, "record"), Const(f"at {self.line}"), *values))

    def bound(self, builder: Builder, scope: list[Operand]) -> None:
        """Read a name that may have no value, where there is one."""
        read = self.pick(scope, lambda t: not is_bound(t))
        if isinstance(read, Value):
            if self.random.random() < 0.5:
                self.add(builder, scope, "py.bound", (read, Const("name")))

    def unpack(self, builder: Builder, scope: list[Operand]) -> None:
        holder = self.pick(scope, lambda t: isinstance(t, TupleType) or t == ObjectType(list) or is_array(t))
        before = self.random.randint(0, 2)
        if isinstance(holder.type, TupleType):
            before = len(holder.type.items)
        elif isinstance(holder.type, ArrayType) and holder.type.shape and holder.type.shape[0]:
            before = holder.type.shape[0]
        elif self.random.random() < 0.9:
            self.add(builder, scope, "py.unpack", (holder, Const(0), Const(0)))
            return
        self.add(builder, scope, "py.unpack", (holder, Const(before)))

    def item(self, builder: Builder, scope: list[Operand]) -> None:
        holder = self.pick(scope, lambda t: is_array(t) or isinstance(t, TupleType))
        if isinstance(holder.type, TupleType) and holder.type.items:
            self.add(
                builder, scope, "getitem", (holder, Const(self.random.randrange(len(holder.type.items))))
            )
        index = self.random.choice((0, -1, 1, slice(1, None), slice(None, None, -1)))
        if is_array(holder.type):
            self.add(builder, scope, "getitem", (holder, Const(index)))

    def in_place(self, builder: Builder, scope: list[Operand]) -> None:
        target = self.pick(scope, is_array)
        if not is_array(target.type):
            return
        if self.random.random() < 0.5:
            self.add(builder, scope, "setitem", (target, Const(0), self.pick(scope, single)))
        else:
            self.add(builder, scope, self.random.choice(IN_PLACE), (target, self.pick(scope, single)))

    def out(self, builder: Builder, scope: list[Operand]) -> None:
        """A ufunc that writes into an array."""
        target = self.pick(scope, is_array)
        if is_array(target.type):
            operands = self.pick(scope, lambda t: t == target.type), self.pick(scope, single_number)
            self.add(builder, scope, self.random.choice(("np.add", "np.maximum")), operands, out=target)

    def hashed(self, builder: Builder, scope: list[Operand]) -> None:
        """Dicts, sets and membership, with keys that can be hashed."""
        key, value = self.pick(scope, single_number), self.pick(scope)
        holder = self.pick(scope, lambda t: t in (ObjectType(dict), ObjectType(set)))
        if not isinstance(holder, Value):
            made = ("py.dict", (key, value, Const("k"), value)), ("py.set", (key, Const(1)))
            self.add(builder, scope, *self.random.choice(made))
        elif holder.type == ObjectType(dict) and self.random.random() < 0.6:
            self.add(builder, scope, "setitem", (holder, key, value))
        else:
            self.add(builder, scope, "py.contains", (key, holder))

    def list_op(self, builder: Builder, scope: list[Operand]) -> None:
        found = self.pick(scope, lambda t: t == ObjectType(list))
        if found.type != ObjectType(list):
            self.add(builder, scope, "py.list", (self.pick(scope), self.pick(scope)))
        elif self.random.random() < 0.6:
            append = self.add(builder, scope, "py.getattr", (found, Const("append")))
            assert append is not None
            self.add(builder, scope, "py.call", (append, self.pick(scope)))
        else:
            self.add(builder, scope, "py.call", (Const(len), found))

    def truth(self, builder: Builder, scope: list[Operand]) -> Operand:
        """Something whose truth can be asked."""
        return self.pick(scope, single)

    def cond(self, builder: Builder, scope: list[Operand], depth: int) -> None:
        pred = self.truth(builder, scope)
        arms = [Builder("if_true", builder), Builder("if_false", builder)]
        scopes = [list(scope), list(scope)]
        for arm, inner in zip(arms, scopes, strict=True):
            self.fill(arm, inner, self.random.randint(1, 4), depth)
        count = self.random.randint(0, 2)
        results = [[self.arm_result(inner) for _ in range(count)] for inner in scopes]
        raising = self.random.randrange(2) if self.random.random() < 0.15 else None
        if raising is not None:
            error = self.add(arms[raising], scopes[raising], "py.call", (Const(Problem), Const("as asked")))
            assert error is not None
            self.add(arms[raising], scopes[raising], "raise", (error,))
        kept = [found for k, found in enumerate(results) if k != raising]
        types = [what_is(x) for x in kept[0]]
        for found in kept[1:]:
            types = [join(t, what_is(x)) for t, x in zip(types, found, strict=True)]
        for arm, found in zip(arms, results, strict=True):
            for operand in found:
                arm.use(operand)
        captured = list(dict.fromkeys([*arms[0].captures, *arms[1].captures]))
        regions = tuple(
            arm.region(captured, found, diverges=k == raising)
            for k, (arm, found) in enumerate(zip(arms, results, strict=True))
        )
        scope += builder.add(
            "cond", (pred, *captured), types, regions=regions, names=("x", "y"), span=self.span()
        )

    def try_(self, builder: Builder, scope: list[Operand], depth: int) -> None:
        add_try(self, builder, scope, depth, Problem)

    def with_(self, builder: Builder, scope: list[Operand], depth: int) -> None:
        add_with(self, builder, scope, depth, record)

    @staticmethod
    def what_is(operand: Operand) -> Type:
        return what_is(operand)

    def arm_result(self, scope: list[Operand]) -> Operand:
        """What an arm yields: now and then nothing, as for a name that it does not bind."""
        return Const(unbound("name")) if self.random.random() < 0.15 else self.pick(scope, lambda t: True)

    def carries(self, scope: list[Operand]) -> tuple[list[Operand], list[Type]]:
        first = [self.arm_result(scope) for _ in range(self.random.randint(0, 2))]
        types = []
        for operand in first:
            t = what_is(operand)
            if t == UNBOUND:
                t = MaybeUnbound(self.random.choice((WEAK_INT, OBJECT)))
            types.append(OBJECT if is_bound(t) and self.random.random() < 0.1 else t)
        return first, types

    def while_loop(self, builder: Builder, scope: list[Operand], depth: int) -> None:
        first, types = self.carries(scope)
        first, types = [Const(0), *first], [WEAK_INT, *types]
        test, body = Builder("loop_test", builder), Builder("loop_body", builder)
        tested = [test.param(t, "c") for t in types]
        carried = [body.param(t, "c") for t in types]
        more = self.add(test, [], "lt", (tested[0], Const(self.random.randint(0, 3))))
        assert more is not None
        inner = [*scope, *carried[1:]]
        self.fill(body, inner, self.random.randint(1, 4), depth)
        step = self.add(body, [], "add", (carried[0], Const(1)))
        assert step is not None
        results = [step, *self.next_carry(body, inner, carried[1:])]
        captured = list(dict.fromkeys([*test.captures, *body.captures]))
        regions = test.region(captured, [more]), body.region(captured, results)
        attrs = {"carries": len(first)}
        outputs = builder.add(
            "while",
            (*first, *captured),
            types,
            attrs=attrs,
            regions=regions,
            names=("i", "c"),
            span=self.span(),
        )
        scope += outputs

    def next_carry(self, body: Builder, inner: list[Operand], carried: list[Value]) -> list[Operand]:
        """What a trip yields for each carried value: anything of its type."""
        results = [self.pick(inner, lambda t, own=value.type: includes(own, t)) for value in carried]
        results = [
            x if includes(value.type, x.type) else value for x, value in zip(results, carried, strict=True)
        ]
        for operand in results:
            body.use(operand)
        return results

    def iterable(self, scope: list[Operand]) -> tuple[Operand, Type]:
        """Something to iterate, and the type of its items."""
        found = self.pick(scope, lambda t: t == ObjectType(list) or (is_array(t) and known_rank(t) > 0))
        if isinstance(found.type, ArrayType):
            assert found.type.shape is not None
            return found, ArrayType(found.type.dtype, found.type.shape[1:], len(found.type.shape) == 1)
        if found.type == ObjectType(list):
            return found, OBJECT
        return Const(range(self.random.randint(0, 3))), WEAK_INT

    def for_loop(self, builder: Builder, scope: list[Operand], depth: int) -> None:
        iterable, item_type = self.iterable(scope)
        first, types = self.carries(scope)
        body = Builder("loop_body", builder)
        item = body.param(item_type, "item")
        carried = [body.param(t, "c") for t in types]
        # A list that its own loop appends to would grow for ever.
        inner = [x for x in scope if x.type != ObjectType(list) and not isinstance(x.type, ObjectType)]
        inner += [item, *(c for c in carried if not isinstance(c.type, ObjectType))]
        self.fill(body, inner, self.random.randint(1, 4), depth)
        results = self.next_carry(body, inner, carried)
        builders, all_results = [body], [results]
        if self.random.random() < 0.3:
            test = Builder("loop_test", builder)
            asked = [test.param(t, "c") for t in types]
            more = self.truth(test, [*(x for x in scope if isinstance(x, Value)), *asked])
            test.use(more)
            builders, all_results = [body, test], [results, [more]]
        captured = list(dict.fromkeys(x for one in builders for x in one.captures))
        regions = tuple(one.region(captured, res) for one, res in zip(builders, all_results, strict=True))
        attrs = {"carries": len(first), "tested": len(regions) == 2}
        scope += builder.add(
            "for",
            (iterable, *first, *captured),
            types,
            attrs=attrs,
            regions=regions,
            names=("c",),
            span=self.span(),
        )


def numeric(t: Type) -> bool:
    """Whether arithmetic is likely to work."""
    return isinstance(t, WeakType) or (isinstance(t, ArrayType) and t.dtype.kind in "bif")


def single_number(t: Type) -> bool:
    return numeric(t) and single(t)


def what_is(operand: Operand) -> Type:
    """The operand's type, not static."""
    if isinstance(operand, Const) and isinstance(operand.value, UnboundMarker):
        return UNBOUND
    return static_or_weak(operand.type)


def is_bound(t: Type) -> bool:
    return not isinstance(t, (UnboundType, MaybeUnbound))


def is_array(t: Type) -> bool:
    return isinstance(t, ArrayType) and not t.scalar


def known_rank(t: Type) -> int:
    return len(t.shape) if isinstance(t, ArrayType) and t.shape is not None else 0


def single(t: Type) -> bool:
    """Whether the truth of such a value can be asked."""
    return isinstance(t, (WeakType, TupleType)) or (isinstance(t, ArrayType) and t.scalar)


def random_graph(seed: int, size: int = 12) -> tuple[Graph, list[Any]]:
    """The graph of this seed, and arguments for it."""
    with np.errstate(all="ignore"):
        return Maker(seed).graph(size)


def outcome(run: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What a run does: result or error, what it noted, and what became of its arguments."""
    LOG.clear()
    args = copy.deepcopy(list(args))
    try:
        with np.errstate(all="ignore"):
            result = "value", snapshot(run(*args))
    except Exception as error:  # whatever the program raises is part of what it does
        result = "error", type(error), str(error)
    return result, list(LOG), snapshot(args)
