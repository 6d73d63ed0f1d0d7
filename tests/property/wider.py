"""Random graphs with what programs do besides arithmetic: lists, other looks at arrays, lines beside each
other, items picked, NumPy's own functions, calls of functions, several things gone over at once.

In: a seed.  Out: a `Sample`.  What always holds: the same seed gives the same sample; each graph does a few
of these things only, and does those often, so that they meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.elements import as_python, element_type, elements
from runtime.ir.builder import Builder
from runtime.ir.graph import Const, Graph, Operand
from runtime.types import (
    OBJECT,
    WEAK_FLOAT,
    WEAK_INT,
    ArrayType,
    ObjectType,
    TupleType,
    Type,
    WeakType,
    static_or_weak,
)
from tests.property.graphs import is_array
from tests.property.numeric import Numeric, Sample, numeric, whole

Steps = list[Callable[..., None]]
LOOKS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("np.flip", ()), ("np.flip", (0,)), ("np.flip", (-1,)), ("np.flipud", ()), ("np.fliplr", ()),
    ("np.swapaxes", (0, -1)), ("np.moveaxis", (0, -1)), ("np.expand_dims", (0,)), ("np.expand_dims", (-1,)),
    ("np.squeeze", ()), ("np.transpose", ()), ("nd.transpose", ()), ("nd.reshape", (-1,)),
    ("np.reshape", ((-1, 1),)), ("nd.reshape", (1, -1)), ("np.ravel", ()), ("np.asarray", ()),
    ("np.ascontiguousarray", ()), ("np.broadcast_to", ((3,),)), ("np.diagonal", ()), ("np.atleast_2d", ()),
)  # fmt: skip
MOVES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("np.sort", ()), ("np.argsort", ()), ("np.roll", (1,)), ("np.roll", (-2, 0)), ("np.repeat", (2,)),
    ("np.tril", ()), ("np.triu", (1,)), ("np.diag", ()), ("np.flatnonzero", ()), ("np.unique", ()),
    ("np.diff", ()), ("np.trace", ()), ("np.count_nonzero", ()), ("np.cumsum", ()), ("np.cumprod", ()),
    ("np.cumsum", (0,)), ("np.cumprod", (-1,)), ("np.median", ()), ("np.nan_to_num", ()), ("np.nansum", ()),
    ("np.searchsorted", (1,)), ("np.linalg.norm", ()), ("np.argmax", (0,)), ("np.argmin", (-1,)),
    ("np.take", (0,)), ("np.pad", (1,)), ("np.ptp", (0,)), ("np.percentile", (30,)), ("np.insert", (0, 1)),
)  # fmt: skip
TOGETHER = ("np.concatenate", "np.stack", "np.array", "np.vstack", "np.hstack")
PAIRS = "np.convolve np.searchsorted np.kron np.inner np.linalg.solve np.isclose np.append".split()
AT = (np.add.at, np.maximum.at, np.subtract.at, np.multiply.at)
WHOLE_LINES = ("iadd", "isub", "imul", "itruediv")


class Wider(Numeric):
    """Numbers and arrays, and a few of the other things."""

    def sample(self, seed: int) -> Sample:
        others = (
            self.look, self.made, self.moved, self.together, self.paired, self.stencil, self.masked,
            self.picked, self.at, self.listed, self.call, self.several, self.quiet, self.each, self.apart,
            self.python, self.column,
        )  # fmt: skip
        self.others = self.random.sample(others, self.random.choice((0, 1, 2, 3, 3, 4)))
        self.lists_made: list[tuple[Builder, Operand]] = []
        return super().sample(seed)

    def steps(self) -> Steps:
        return super().steps() + 4 * self.others

    # ------------------------------------------------------------------ arrays from arrays
    def applied(
        self, builder: Builder, scope: list[Operand], table: Sequence[tuple[str, tuple[Any, ...]]]
    ) -> None:
        op, rest = self.random.choice(table)
        x = self.pick(scope, is_array)
        if is_array(x.type):
            self.add(builder, scope, op, (x, *map(Const, rest)))

    def look(self, builder: Builder, scope: list[Operand]) -> None:
        """The same memory, seen in another way; read or written at once, now and then."""
        self.applied(builder, scope, LOOKS)
        self.random.choice((self.reduce, self.write, self.update, self.operate))(builder, scope)

    def moved(self, builder: Builder, scope: list[Operand]) -> None:
        """Functions of NumPy, most of which native code calls."""
        self.applied(builder, scope, MOVES)

    def made(self, builder: Builder, scope: list[Operand]) -> None:
        """Arrays from numbers."""
        r = self.random
        how, dtype = r.random(), Const(r.choice(self.dtypes))
        if how < 0.4:
            end: Operand = Const(r.choice((0, 3, 4, 2.5, 5)))
            x = self.pick(scope, is_array)
            if is_array(x.type) and r.random() < 0.4:
                end = self.typed(builder, [], "py.call", (Const(len), x), WEAK_INT)
            bounds = r.choice(((end,), (Const(1), end), (Const(0), end, Const(r.choice((2, 0.5, 1))))))
            given = {"dtype": dtype} if r.random() < 0.3 else {}
            self.add(builder, scope, "np.arange", bounds, **given)
        elif how < 0.6:
            value = self.pick(scope, lambda t: numeric(t) and not is_array(t))
            self.add(builder, scope, "np.full", (Const(r.choice((3, (2, 3), 0, (1, 4)))), value))
        elif how < 0.8:
            self.add(builder, scope, "np.eye", (Const(r.choice((1, 3, 4))),), dtype=dtype)
        else:
            first = self.pick(scope, lambda t: t == WEAK_FLOAT)
            self.add(builder, scope, "np.linspace", (first, Const(2.0), Const(r.choice((2, 5, 9)))))

    def together(self, builder: Builder, scope: list[Operand]) -> None:
        """Arrays beside each other, or end to end."""
        r, x = self.random, self.pick(scope, is_array)
        if not is_array(x.type) or builder.parent and (self.outer or r.random() < 0.5):
            return
        self.outer = True  # what is joined in a loop gets large
        parts = [x, *(self.pick(scope, lambda t: t == x.type) for _ in range(r.randint(0, 2)))]
        held = self.add(builder, [], "py.tuple", parts)
        assert held is not None
        given = {"axis": Const(r.choice((0, -1, 1)))} if r.random() < 0.3 else {}
        op = r.choice(TOGETHER)
        self.add(builder, scope, op, (held,), **(given if op in TOGETHER[:2] else {}))

    def paired(self, builder: Builder, scope: list[Operand]) -> None:
        """Functions of two arrays."""
        a, b = self.pick(scope, is_array), self.pick(scope, is_array)
        op = self.random.choice(PAIRS)
        if is_array(a.type) and is_array(b.type) and not builder.parent:
            self.add(builder, scope, op, (a, b))

    def column(self, builder: Builder, scope: list[Operand]) -> None:
        """A line of a matrix, or all lines beside one, in arithmetic."""
        x = self.pick(scope, lambda t: is_array(t) and len(getattr(t, "shape", None) or ()) > 1)
        r = self.random
        if not isinstance(x.type, ArrayType) or not is_array(x.type):
            return
        whole_line = slice(None)
        keys = ((whole_line, 0), (0, whole_line), (whole_line, slice(0, 1)), (slice(0, 1),), (-1, whole_line))
        line = self.add(builder, scope, "getitem", (x, Const(r.choice(keys))))
        if line is not None:
            made = self.add(builder, scope, r.choice(("add", "sub", "mul", "np.maximum")), (x, line))
            if made is not None and r.random() < 0.3:
                self.add(builder, scope, r.choice(("np.sum", "np.max", "np.argmax")), (made,), axis=Const(-1))

    def stencil(self, builder: Builder, scope: list[Operand]) -> None:
        """Lines that are computed from those beside them: in place, or in a copy."""
        r = self.random
        x = self.pick(scope, lambda t: is_array(t) and len(getattr(t, "shape", None) or ()) in (1, 2))
        if not isinstance(x.type, ArrayType) or not is_array(x.type):
            return
        rank = len(x.type.shape or ())
        target = x
        if r.random() < 0.3:
            target = self.add(builder, scope, "nd.copy", (x,)) or x
        width = r.choice((1, 1, 2))

        def part(at: int) -> Const:
            line = slice(at, at - 2 * width or None)
            places = [line, r.choice((slice(width, -width), line, slice(None)))][:rank]
            return Const(places[0] if rank == 1 else tuple(r.sample(places, rank)))

        beside = [self.add(builder, [], "getitem", (x, part(r.randint(0, 2 * width)))) for _ in range(2)]
        value: Operand = Const(0.5)
        for line in beside:
            op = r.choice(("add", "sub", "mul", "np.minimum"))
            value = self.add(builder, [], op, (line or Const(1), value)) or value
        if r.random() < 0.3:
            value = self.add(builder, [], "mul", (value, self.pick(scope, numeric))) or value
        if r.random() < 0.7:
            self.add(builder, scope, "setitem", (target, part(width), value))
        else:
            view = self.add(builder, [], "getitem", (target, part(width)))
            self.add(builder, scope, r.choice(WHOLE_LINES), (view or target, value))

    # ------------------------------------------------------------------ items
    def mask(self, builder: Builder, scope: list[Operand], x: Operand) -> Operand:
        op = self.random.choice(("gt", "lt", "np.isnan", "ne", "np.isfinite"))
        other = (self.pick(scope, lambda t: numeric(t) and not is_array(t)),) if "." not in op else ()
        return self.add(builder, scope, op, (x, *other)) or Const(0)

    def masked(self, builder: Builder, scope: list[Operand]) -> None:
        """Items picked by a mask: read, written, changed in place, chosen."""
        r, x = self.random, self.pick(scope, is_array)
        if not is_array(x.type):
            return
        mask, number = self.mask(builder, scope, x), self.pick(scope, numeric)
        how = r.random()
        if how < 0.3:
            self.add(builder, scope, "getitem", (x, mask))
        elif how < 0.6:
            self.add(builder, scope, "setitem", (x, mask, number))
        elif how < 0.75:
            picked = self.add(builder, [], "getitem", (x, mask))
            value = self.add(builder, [], r.choice(("mul", "add")), (picked or x, number))
            self.add(builder, scope, "setitem", (x, mask, value or number))
        else:
            self.add(builder, scope, "np.where", (mask, x, number))

    def indices(self, builder: Builder, scope: list[Operand]) -> Operand:
        """An array of integers; now and then a constant one, and small."""
        r = self.random
        found = self.pick(scope, lambda t: is_array(t) and whole(t, "iu"))
        if is_array(found.type) and r.random() < 0.5:
            return self.in_range(builder, scope, found)
        items = tuple(r.choice((0, 0, 1, -1, 2, 1)) for _ in range(r.choice((1, 2, 3, 3, 5))))
        return self.add(builder, scope, "np.array", (Const(items),)) or found

    def picked(self, builder: Builder, scope: list[Operand]) -> None:
        """Items picked by arrays of indices."""
        r, x = self.random, self.pick(scope, is_array)
        if not isinstance(x.type, ArrayType) or not is_array(x.type):
            return
        key = self.indices(builder, scope)
        if len(x.type.shape or ()) > 1 and r.random() < 0.5:
            others = (Const(slice(None)), Const(0), Const(slice(0, 2)), key)
            parts = [key, r.choice(others)][:: r.choice((1, -1))]
            key = self.add(builder, [], "py.tuple", parts) or key
        if r.random() < 0.5:
            self.add(builder, scope, "getitem", (x, key))
        else:
            self.add(builder, scope, "setitem", (x, key, self.pick(scope, numeric)))

    def at(self, builder: Builder, scope: list[Operand]) -> None:
        """`np.add.at` and its like."""
        x = self.pick(scope, is_array)
        if is_array(x.type):
            key = self.indices(builder, scope)
            value = self.pick(scope, lambda t: numeric(t) and (not is_array(t) or t == x.type))
            if is_array(value.type) and len(getattr(key.type, "shape", None) or ()) != 1:
                value = Const(3)  # NumPy reads beyond the values where it is to broadcast them to more axes
            inputs = (Const(self.random.choice(AT)), x, key, value)
            builder.add("py.call", inputs, (OBJECT,), span=self.span())

    # ------------------------------------------------------------------ Python
    def python(self, builder: Builder, scope: list[Operand]) -> None:
        """Python's own functions on numbers."""
        r, single = self.random, lambda t: isinstance(t, WeakType) and t.kind != "complex"
        x, y = self.pick(scope, single), self.pick(scope, single)
        how = r.random()
        if how < 0.3 and static_or_weak(x.type) == static_or_weak(y.type) != WeakType("bool"):
            t = static_or_weak(x.type)
            both = self.typed(builder, [], "py.call", (Const(divmod), x, y), TupleType((t, t)))
            for k in range(2):
                self.small(builder, scope, self.add(builder, scope, "getitem", (both, Const(k))))
        elif how < 0.5:
            if static_or_weak(x.type) == WEAK_FLOAT:
                made = self.typed(builder, scope, "py.call", (Const(round), x), WEAK_INT)
                self.small(builder, scope, made)
        elif how < 0.7:
            self.typed(builder, scope, "py.call", (Const(complex), x, y), WeakType("complex"))
        elif how < 0.85:
            self.add(builder, scope, r.choice(("py.not", "py.truth")), (self.truth(builder, scope),))
        else:
            z = self.pick(scope, lambda t: t == WeakType("complex"))
            if z.type == WeakType("complex"):
                self.typed(builder, scope, "py.getattr", (z, Const(r.choice(("real", "imag")))), WEAK_FLOAT)

    def apart(self, builder: Builder, scope: list[Operand]) -> None:
        """The items of an array whose first size is known, each for itself."""
        x = self.pick(scope, lambda t: is_array(t) and bool(getattr(t, "shape", None) or ()))
        if isinstance(x.type, ArrayType) and x.type.shape and x.type.shape[0]:
            made = self.add(builder, [], "py.unpack", (x, Const(x.type.shape[0])))
            if made is not None:
                for k in range(min(x.type.shape[0], 3)):
                    self.add(builder, scope, "getitem", (made, Const(k)))

    def listed(self, builder: Builder, scope: list[Operand]) -> None:
        """A list of numbers of one kind: filled by a loop, read, written, gone over, made an array."""
        r, single = self.random, lambda t: numeric(t) and not is_array(t)
        first = self.pick(scope, single)
        t = static_or_weak(first.type)
        if not single(t):
            return
        starts = [first, *(self.like(scope, first) for _ in range(r.randint(0, 2)))][: r.choice((0, 1, 3))]
        held = self.typed(builder, [], "py.list", starts, ObjectType(list))
        if r.random() < 0.2 and starts:
            times = self.pick(scope, lambda s: s == WEAK_INT) if r.random() < 0.2 else Const(3)
            held = self.typed(builder, [], "mul", (held, times), OBJECT)
        self.filled(builder, scope, held, t)
        for _ in range(r.randint(0, 3)):
            self.list_step(builder, scope, held, t)
        end = r.random()
        if end < 0.4:
            made = self.typed(builder, [], "np.array", (held,), OBJECT)
            builder.add("getitem", (made, Const(0)), (OBJECT,), span=self.span())
            self.lists_made.append((builder, made))
        elif end < 0.7:
            self.lists_made.append((builder, held))
        else:
            self.summed(builder, scope, held, t)

    def like(self, scope: list[Operand], x: Operand) -> Operand:
        """Something of the same type."""
        found = self.pick(scope, lambda t: static_or_weak(t) == static_or_weak(x.type))
        return found if static_or_weak(found.type) == static_or_weak(x.type) else x

    def result(self, builder: Builder, scope: list[Operand]) -> Operand:
        own = [x for b, x in self.lists_made if b is builder]
        if not own or self.random.random() < 0.3:
            return super().result(builder, scope)
        found = [*own[:2], self.pick(scope)]
        return builder.add("py.tuple", found, (TupleType(tuple(static_or_weak(x.type) for x in found)),))[0]

    def appended(self, builder: Builder, held: Operand, value: Operand) -> None:
        append = self.typed(builder, [], "py.getattr", (held, Const("append")), OBJECT)
        builder.add("py.call", (append, value), (OBJECT,), span=self.span())

    def filled(self, builder: Builder, scope: list[Operand], held: Operand, t: Type) -> None:
        """A loop that appends to the list, under a condition now and then."""
        r, body = self.random, Builder("loop_body", builder)
        source, item_type = self.iterable(scope)
        inner = [*scope, body.param(item_type, "item")]
        if r.random() < 0.5:
            self.operate(body, inner)
        value = self.pick(inner, lambda s: static_or_weak(s) == t)
        if static_or_weak(value.type) != t:
            return
        if r.random() < 0.4:
            arms = [Builder(name, body) for name in ("if_true", "if_false")]
            self.appended(arms[0], held, value)
            captured = list(arms[0].captures)
            regions = tuple(arm.region(captured, ()) for arm in arms)
            body.add("cond", (self.truth(body, inner), *captured), (), regions=regions, span=self.span())
        else:
            self.appended(body, held, value)
        captured = list(body.captures)
        attrs = {"carries": 0, "tested": False}
        regions = (body.region(captured, ()),)
        builder.add("for", (source, *captured), (), attrs=attrs, regions=regions, span=self.span())

    def list_step(self, builder: Builder, scope: list[Operand], held: Operand, t: Type) -> None:
        r, index = self.random, Const(self.random.choice((0, 0, -1, 1)))
        how = r.random()
        if how < 0.3:
            self.typed(builder, scope, "getitem", (held, index), t)
        elif how < 0.5:
            value = self.pick(scope, lambda s: static_or_weak(s) == t)
            if static_or_weak(value.type) == t:
                builder.add("setitem", (held, index, value), span=self.span())
        elif how < 0.7:
            pop = self.typed(builder, [], "py.getattr", (held, Const("pop")), OBJECT)
            self.typed(builder, scope, "py.call", (pop,), t)
        elif how < 0.85:
            self.typed(builder, scope, "py.call", (Const(len), held), WEAK_INT)
        else:
            value = self.pick(scope, lambda s: static_or_weak(s) == t)
            if static_or_weak(value.type) == t:
                self.appended(builder, held, value)

    def summed(self, builder: Builder, scope: list[Operand], held: Operand, t: Type) -> None:
        """A loop over the list."""
        body = Builder("loop_body", builder)
        item, total = body.param(t, "item"), body.param(OBJECT, "total")
        (made,) = body.add("add", (total, item), (OBJECT,), span=self.span())
        attrs = {"carries": 1, "tested": False}
        regions = (body.region((), (made,)),)
        inputs = (held, Const(0.0))
        found = builder.add("for", inputs, (OBJECT,), attrs=attrs, regions=regions, span=self.span())
        self.lists_made.append((builder, found[0]))

    # ------------------------------------------------------------------ regions
    def call(self, builder: Builder, scope: list[Operand]) -> None:
        """The same graph called, once or twice."""
        r = self.random
        given = [self.pick(scope, numeric) for _ in range(r.randint(1, 3))]
        helper = Builder("helper")
        inner: list[Operand] = [helper.param(static_or_weak(x.type), "a") for x in given]
        self.others, others = [x for x in self.others if x != self.call], self.others
        self.fill(helper, inner, r.randint(1, 4), r.choice((0, 0, 1)))
        self.others = others
        made = self.pick(inner, numeric)
        graph: Graph = helper.region((), [made])
        types = [static_or_weak(made.type)]
        for _ in range(r.choice((1, 2))):
            scope += builder.add("call", (Const(graph), *given), types, span=self.span())
            given = [self.like(scope, x) for x in given]

    def quiet(self, builder: Builder, scope: list[Operand]) -> None:
        """`with np.errstate(all="ignore")`."""
        (manager,) = builder.add(
            "py.call", (Const(np.errstate), Const("ignore")), (OBJECT,), keywords=("all",), span=self.span()
        )
        body = Builder("body", builder)
        inner = [*scope, body.param(OBJECT, "entered")]
        self.fill(body, inner, self.random.randint(1, 3), 0)
        results = [self.pick(inner, numeric) for _ in range(self.random.randint(0, 2))]
        for x in results:
            body.use(x)
        captured = list(body.captures)
        types = [static_or_weak(x.type) for x in results]
        regions = (body.region(captured, results),)
        attrs = {"swallows": False}
        scope += builder.add(
            "with", (manager, *captured), types, attrs=attrs, regions=regions, span=self.span()
        )

    def several(self, builder: Builder, scope: list[Operand]) -> None:
        """A loop over several arrays at once, numbered or backwards."""
        r, line = self.random, lambda t: is_array(t) and bool(getattr(t, "shape", None) or ())
        sources: list[Operand] = []
        types: list[Type] = []
        for _ in range(r.choice((1, 2, 2, 3))):
            x = self.pick(scope, line)
            if not isinstance(x.type, ArrayType) or not x.type.shape:
                return
            t: Type = ArrayType(x.type.dtype, x.type.shape[1:], len(x.type.shape) == 1)
            if r.random() < 0.3:
                x = self.typed(builder, [], "py.call", (Const(reversed), x), ObjectType(reversed, t))
            sources.append(x)
            types.append(t)
        held, item = sources[0], types[0]
        if len(sources) > 1:
            item = TupleType(tuple(types))
            held = self.typed(builder, [], "py.call", (Const(zip), *sources), ObjectType(zip, item))
        if r.random() < 0.5 or len(sources) == 1:
            item = TupleType((WEAK_INT, item))
            first = (Const(r.choice((1, -2, 0))),) if r.random() < 0.3 else ()
            held = self.typed(
                builder, [], "py.call", (Const(enumerate), held, *first), ObjectType(enumerate, item)
            )
        body = Builder("loop_body", builder)
        inner = list(scope)
        self.opened(body, inner, body.param(item, "item"))
        self.loop(builder, scope, body, inner, held)

    def opened(self, body: Builder, inner: list[Operand], x: Operand) -> None:
        """What a tuple holds, one by one."""
        if not isinstance(x.type, TupleType):
            inner.append(x)
            return
        for k, t in enumerate(x.type.items):
            self.opened(body, inner, self.typed(body, [], "getitem", (x, Const(k)), t))

    def loop(
        self, builder: Builder, scope: list[Operand], body: Builder, inner: list[Operand], held: Operand
    ) -> None:
        """The loop with this body, which carries something now and then."""
        first, types = self.carries(scope) if self.random.random() < 0.7 else ([], [])
        own = body.params[:]
        body.params = own[:1]
        carried = [body.param(t, "c") for t in types]
        inner += carried
        self.fill(body, inner, self.random.randint(1, 3), 0)
        results = self.next_carry(body, inner, carried)
        captured = list(body.captures)
        regions = (body.region(captured, results),)
        attrs = {"carries": len(first), "tested": False}
        inputs = (held, *first, *captured)
        scope += builder.add(
            "for", inputs, types, attrs=attrs, regions=regions, names=("c",), span=self.span()
        )

    def each(self, builder: Builder, scope: list[Operand]) -> None:
        """A function of one element done for all of them, as `vectorize` does it."""
        r, line = self.random, lambda t: is_array(t) and len(getattr(t, "shape", None) or ()) == 1
        x = self.pick(scope, line)
        if not isinstance(x.type, ArrayType) or not line(x.type):
            return
        given: list[Operand] = [x]
        if as_python(x.type.dtype) and x.type.dtype.kind == "f" and r.random() < 0.5:
            given.append(self.add(builder, [], "np.sqrt", (x,)) or x)
        count = self.typed(builder, [], "py.call", (Const(len), x), WEAK_INT)
        out_type = r.choice((float, int, bool))
        size = self.add(builder, [], "py.tuple", (count,))
        assert size is not None
        out = self.add(builder, [], "np.empty", (size, Const(np.dtype(out_type))))
        assert out is not None
        kinds = [element_type(y.type.dtype) for y in given if isinstance(y.type, ArrayType)]
        items = TupleType((WEAK_INT, *kinds))
        held = self.typed(builder, [], "py.call", (Const(elements), count, *given), ObjectType(zip, items))
        body = Builder("loop_body", builder)
        inner: list[Operand] = []
        self.opened(body, inner, body.param(items, "item"))
        place, inner = inner[0], inner[1:]
        inner += [y for y in scope if isinstance(y.type, WeakType)][-2:]
        steps = (*[self.operate] * 3, self.unary, self.compare, self.python_call, self.cast)
        for _ in range(r.randint(1, 4)):
            if r.random() < 0.2:
                self.scalars(body, inner, steps)
            else:
                r.choice(steps)(body, inner)
        t = WeakType(out_type.__name__)
        value = self.pick(inner, lambda s: static_or_weak(s) == t)
        if static_or_weak(value.type) != t:
            value = Const(out_type(1))
        body.add("setitem", (out, place, value), span=self.span())
        captured = list(body.captures)
        regions = (body.region(captured, ()),)
        attrs = {"carries": 0, "tested": False}
        builder.add("for", (held, *captured), (), attrs=attrs, regions=regions, span=self.span())
        scope.append(out)

    def scalars(self, builder: Builder, scope: list[Operand], steps: Sequence[Callable[..., None]]) -> None:
        """A branch or a loop over numbers alone."""
        r = self.random
        self.fill, before = lambda b, s, size, depth: [r.choice(steps)(b, s) for _ in range(size)], self.fill  # type: ignore[method-assign]
        try:
            r.choice((self.cond, self.while_loop))(builder, scope, 0)
        finally:
            self.fill = before  # type: ignore[method-assign]


def sample(seed: int) -> Sample:
    """The sample of this seed."""
    with np.errstate(all="ignore"):
        return Wider(seed).sample(seed)
