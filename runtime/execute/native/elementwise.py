"""Arithmetic on whole arrays: chains of operators become one loop over the elements.

In: an operator and its operands, of which one at least is an array.  Out: `Lazy`, an array that is computed
when it is stored.  What always holds: a lazy array is stored before any memory that it reads is written
(`lower` sees to that); what is stored where it might itself be read goes through memory of its own; floating
point operations are not dropped, since their results are stored, so flags tell what NumPy would report.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.config import settings
from runtime.execute.native import complexes, element_ops, orders, saved, shares, stencils, vector_math
from runtime.execute.native.accesses import Scattered, element_at, located, put_at
from runtime.execute.native.arrays import create, dense, disjoint, overlap, passing, same_place, times, turned
from runtime.execute.native.emit import Emitter
from runtime.execute.native.floats import cast
from runtime.execute.native.kinds import Scalar, Unlowered, numpy_scalar
from runtime.execute.native.lanes import keep_lanes
from runtime.execute.native.lines import (
    TILE,
    about,
    begin,
    counted,
    duration,
    inner_indices,
    kept,
    line,
    looped,
    merged_parts,
    row_parts,
    shared,
    spread,
    width,
)
from runtime.execute.native.scalars import UFUNCS, loop_kinds
from runtime.execute.native.state import State
from runtime.execute.native.ufunc_loops import inner_loop
from runtime.execute.native.values import Arr, Lazy, Num, Static, Val, lift, one

CLIP: np.ufunc = getattr(np, "_core" if hasattr(np, "_core") else "core").umath.clip
POWERS = {2: "square", 0.5: "sqrt", 1: "positive", -1: "reciprocal"}  # what `**` does for floats
MAX_POWER = 64  # of integers, by multiplying
LARGE = 1 << 13  # elements of a line from which on it pays to store whole lines of the cache
KEEP_FROM = 3  # instructions per element from which on a line is kept rather than computed twice


def is_array(x: Val) -> bool:
    """Whether a value is an array, stored or not."""
    return isinstance(x, (Arr, Lazy))


# ------------------------------------------------------------------------------------------- operands
def as_lazy(e: Emitter, x: Val, kind: Scalar | None = None) -> Lazy:
    """An operand; with a kind, its elements are of the kind that a loop takes."""
    if isinstance(x, Num):
        if len(x.members) != 1:
            raise Unlowered("a number of two kinds with an array")
        number = x if kind is None else complexes.cast(e, x, kind) if kind.kind == "c" else cast(e, x, kind)
        held = number.scalar
        return Lazy(held, (), lambda _: one(held, in_lanes(e, number)), ())
    if isinstance(x, Arr):
        source = x
        element = shared(e, source.element, lambda indices: element_at(e, source, indices))
        x = Lazy(source.element, source.dims, element, (source,), True, turned=orders.certain(e, source))
    if not isinstance(x, Lazy):
        raise Unlowered("an operator on an array and something else")
    return x if kind is None or x.kind == kind else converted(e, x, kind)


def in_lanes(e: Emitter, x: Num) -> str:
    """A number in all lanes; complex ones come one by one."""
    if e.lanes > 1 and x.scalar.kind == "c":
        raise Scattered
    return e.splat(x.llvm, x.text)


def converted(e: Emitter, x: Lazy, kind: Scalar) -> Lazy:
    """The same elements in another dtype, as NumPy's casts make them."""
    if x.kind.kind == "c" and kind.kind != "c":
        raise Unlowered("complex elements taken as real ones")  # with a warning

    def cast_element(indices: Sequence[str]) -> Num:
        value = x.element(indices)
        return one(
            kind, in_pairs(e, value, kind) if kind.kind == "c" else element_ops.converted(e, value, kind)
        )

    element = shared(e, kind, cast_element)
    widest = max(x.widest, x.kind.dtype.itemsize)
    return dataclasses.replace(
        x, kind=kind, element=element, plain=False, cost=x.cost + 1, held=None, widest=widest
    )


def in_pairs(e: Emitter, x: Num, kind: Scalar) -> str:
    """An element as a complex one."""
    if e.lanes > 1:
        raise Scattered
    if x.scalar.kind != "c":
        part = complexes.part_kind(kind)
        real = x.text if x.scalar == part else element_ops.converted(e, x, part)
        return complexes.paired(e, kind, real, "0.0").text
    return complexes.cast(e, x, kind).text


def common_dims(e: Emitter, parts: Sequence[Arr | Lazy]) -> tuple[str, ...]:
    """The sizes after broadcasting; sizes that differ, but for a known 1, leave to the plan."""
    rank = max(len(p.dims) for p in parts)
    out = []
    for axis in range(rank):
        found: str | None = None
        for p in parts:
            k = axis - (rank - len(p.dims))
            n = p.dims[k] if k >= 0 else "1"
            if n == "1" or n == found:
                continue
            if found is not None:
                if n.isdigit() and found.isdigit():
                    raise Unlowered("arrays whose sizes do not fit")
                e.bail_if(e.op(f"icmp ne i64 {n}, {found}"))
            found = n if found is None or n.isdigit() else found
        out.append("1" if found is None else found)
    return tuple(out)


def aligned(state: State, parts: Sequence[Lazy]) -> tuple[list[Lazy], tuple[str, ...]]:
    """The operands and the sizes of the result.  One whose parts would have to be prepared again and again,
    because it is broadcast along other axes than the last, is stored first."""
    dims = common_dims(state.e, parts)
    found = []
    for p in parts:
        fits = len(p.dims) == len(dims) and p.dims[:-1] == dims[:-1]
        found.append(p if fits or not p.parts else as_lazy(state.e, materialized(state, p)))
    return found, dims


def combined(
    state: State, parts: Sequence[Lazy], kind: Scalar, compute: Callable[..., str], cost: int = 1
) -> Lazy:
    """The lazy array of `compute` on elements."""
    parts, dims = aligned(state, parts)
    reads = [spread(p, len(dims)) for p in parts]
    leaves = tuple(dict.fromkeys(leaf for p in parts for leaf in p.leaves))
    element = shared(state.e, kind, lambda indices: one(kind, compute(*(r(indices) for r in reads))))
    total = cost + sum(p.cost for p in parts)
    widest = max(max(p.widest, p.kind.dtype.itemsize) for p in parts)
    turns = tuple(dict.fromkeys(turn for p in parts for turn in p.turns))
    return Lazy(
        kind, dims, element, leaves, parts=merged_parts(parts), cost=total, widest=widest, turns=turns,
        turned=orders.agreed(parts, dims),
    )  # fmt: skip


def worth_keeping(state: State, x: Lazy, whole: bool = True) -> Lazy:
    """A lazy array that several loops over a line read, or (whole: False) over a tile of it: it is kept where
    computing it is dear."""
    return kept(state, x, whole) if x.cost >= KEEP_FROM and x.dims and x.dims[-1] != "1" else x


# ------------------------------------------------------------------------------------------ operators
def operator(state: State, op: str, a: Val, b: Val) -> Val:
    """`a op b`."""
    if op == "pow":
        return power(state, a, b)
    return apply(state, UFUNCS[op], (a, b))


def in_place(state: State, op: str, a: Arr, b: Val) -> Arr:
    """`a op= b`: the array itself."""
    if a.element.kind == "c":  # NumPy's loops round otherwise where they write over what they read
        raise Unlowered("an in-place operator on complex numbers")
    made = operator(state, op, a, b)
    if not isinstance(made, Lazy) or not np.can_cast(made.kind.dtype, a.dtype, "same_kind"):
        raise Unlowered("an in-place operator whose result is of another kind")
    assigned(state, a, made)
    return a


def kind_of(x: Val) -> Scalar:
    """The kind of an operand or of its elements."""
    if isinstance(x, Num) and len(x.members) == 1:
        return x.scalar
    if isinstance(x, Arr):
        return x.element
    if isinstance(x, Lazy):
        return x.kind
    raise Unlowered("an operator on an array and something else")


def either_kind(x: Val, others: Sequence[Val]) -> Val:
    """A number that is a Python float or a float64 (an int or an int64), as the latter where an array of that
    makes it one."""
    if not isinstance(x, Num) or len(x.members) == 1 or any(m.bits != 64 for m in x.members):
        return x
    if {m.kind for m in x.members} not in ({"f"}, {"i"}):
        return x
    exact = [m for m in x.members if not m.weak]
    arrays = [kind_of(o) for o in others if is_array(o)]
    return Num((exact[0],), x.text) if exact and exact[0] in arrays else x


def function(state: State, name: str, args: Sequence[Val]) -> Val:
    """A function of NumPy's that works element by element, by name."""
    if name == "where" and len(args) == 3:
        return where(state, *args)
    if name == "clip" and len(args) == 3:
        return clip(state, *args)
    if name in ("round", "around") and (len(args) == 1 or args[1] == lift(0)):
        name, args = "rint", args[:1]
        if kind_of(args[0]).kind != "f":
            raise Unlowered("np.round of integers")
    ufunc = getattr(np, name, None)
    if isinstance(ufunc, np.ufunc) and ufunc.nin == len(args) and ufunc.nout == 1 and ufunc.signature is None:
        return apply(state, ufunc, args)
    raise Unlowered(f"np.{name} of an array")


def apply(state: State, ufunc: np.ufunc, args: Sequence[Val]) -> Lazy:
    """A ufunc: by instructions where there are some for it, else by NumPy's own inner loop, tile by tile."""
    e = state.e
    args = [either_kind(x, args) for x in args]
    kinds = loop_kinds(ufunc, *map(kind_of, args))
    parts = [as_lazy(e, x, kind) for x, kind in zip(args, kinds, strict=False)]
    name, kind, out = ufunc.__name__, kinds[0], kinds[-1]
    if vector_math.known(name, kind) and all(k == kind for k in kinds):

        def compute(*xs: Num) -> str:
            return vector_math.compute(state, name, kind, *(x.text for x in xs))

        return combined(state, parts, out, compute, vector_math.DEAR)
    if all(k == kind for k in kinds[:-1]):
        lowered = element_ops.lowered(e, name, kind, out, len(parts))
        if lowered is not None:
            return combined(state, parts, out, lowered)
    return by_tiles(state, ufunc, kinds, parts)


def by_tiles(state: State, ufunc: np.ufunc, kinds: Sequence[Scalar], parts: Sequence[Lazy]) -> Lazy:
    """A ufunc by its own inner loop."""
    if ufunc.__name__ == "power" and kinds[0].kind not in "fc":
        raise Unlowered("an integer array to a power")  # the loop may raise an exception
    found = inner_loop(ufunc, list(kinds))
    if found is None:
        raise Unlowered(f"np.{ufunc.__name__}: its inner loop is not known")
    operands, dims = aligned(state, parts)
    if not dims:
        raise Unlowered("a ufunc on arrays without axes")
    if len(dims) > 1:
        _forward(state.e, operands)
    return looped(state, ufunc, kinds, found, operands, dims)


def _forward(e: Emitter, operands: Sequence[Lazy]) -> None:
    """Leave to the plan what is read backwards, line by line: a loop then computes by other code, with other
    last bits, and whether NumPy copies such lines first depends on their number and length."""
    for x in operands:
        if x.plain and x.dims and x.dims[-1] != "1":
            step = x.leaves[0].strides[-1]
            if step.lstrip("-").isdigit():
                if step.startswith("-"):
                    raise Unlowered("a ufunc on lines that are read backwards")
            else:
                e.defer_if(e.op(f"icmp slt i64 {step}, 0"))


def power(state: State, a: Val, b: Val) -> Lazy:
    """`a ** b`, which NumPy computes by simpler ufuncs for some exponents."""
    if is_array(a) and isinstance(b, Num) and b.scalar.weak and b.scalar.kind in "if" and b.const is not None:
        kind = kind_of(a)
        simple = getattr(np, POWERS[b.const]) if b.const in POWERS else None
        if simple and (
            kind.kind == "f" or kind.kind == "c" and complexes.same_power(simple, kind.dtype, b.const)
        ):
            return apply(state, simple, (a,))
        if kind.kind == "f" and settings.math == "fast" and b.const in (3, 4):
            part = as_lazy(state.e, a)
            return combined(state, [part], kind, element_ops.powered(state.e, kind, int(b.const)), 4)
        if kind.kind in "iu" and b.scalar.kind == "i" and 0 <= b.const <= MAX_POWER:
            part = as_lazy(state.e, a)
            return combined(state, [part], kind, element_ops.powered(state.e, kind, int(b.const)), 4)
    return apply(state, np.power, (a, b))


def unary(state: State, op: str, a: Val) -> Lazy:
    """`op a`; op: neg, pos, abs, invert."""
    names = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}
    return apply(state, getattr(np, names[op]), (a,))


def where(state: State, condition: Val, a: Val, b: Val) -> Lazy:
    """`np.where(condition, a, b)`."""
    e = state.e
    given = [kind_of(x) for x in (a, b)]
    kind = numpy_scalar(np.result_type(*(_sample(k) for k in given)))
    test = as_lazy(e, condition)
    if test.kind.kind == "c":
        raise Unlowered("np.where of complex numbers")
    parts = [test, as_lazy(e, a, kind), as_lazy(e, b, kind)]

    def pick(c: Num, x: Num, y: Num) -> str:
        asked, t = element_ops.truth(e, c), e.wide(kind.llvm)
        for part, value in zip(parts[1:], (x, y), strict=True):
            if part.cost and kind.kind == "c":  # NumPy computes both everywhere, and warns of either
                e.keep(kind.llvm, value.text)
            elif part.cost and kind.kind != "b":
                keep_lanes(e, kind.llvm, value.text)
        return e.op(f"select {e.wide('i1')} {asked}, {t} {x.text}, {t} {y.text}")

    return combined(state, parts, kind, pick)


def _sample(kind: Scalar) -> Any:
    """Something that takes part in promotion as a number of the kind does."""
    return {"i": 0, "u": 0, "f": 0.0, "c": 0j}[kind.kind] if kind.weak and kind.kind != "b" else kind.dtype


def clip(state: State, x: Val, low: Val, high: Val) -> Val:
    """`np.clip(x, low, high)`; None is no bound."""
    given = [b for b in (low, high) if not (isinstance(b, Static) and b.value is None)]
    if not is_array(x) or not given or not all(isinstance(b, Num) or is_array(b) for b in given):
        raise Unlowered("np.clip of these")
    if len(given) == 1:
        return apply(state, np.maximum if given[0] is low else np.minimum, (x, *given))
    kinds = loop_kinds(CLIP, *map(kind_of, (x, low, high)))
    if kinds[0] != kind_of(x) and isinstance(high, Num) and element_ops.no_bound(state.e, kind_of(x), high):
        return apply(state, np.maximum, (x, low))
    parts = [as_lazy(state.e, v, kinds[0]) for v in (x, low, high)]
    known = all(isinstance(b, Num) and b.const is not None and b.const == b.const for b in (low, high))
    if known and kinds[0].kind not in "bc":
        return combined(state, parts, kinds[-1], element_ops.clipped(state.e, kinds[0]))
    return by_tiles(state, CLIP, kinds, parts)


def copied(state: State, x: Val) -> Arr:
    """`x.copy()`, in C order."""
    return materialized(state, dataclasses.replace(as_lazy(state.e, x), plain=False), True)


def copy_of(state: State, x: Val) -> Arr | Lazy:
    """The same, in memory if it has to be."""
    made = as_lazy(state.e, x)
    if state.lazily and not any(leaf.turned for leaf in made.leaves):
        return dataclasses.replace(made, plain=False)
    return copied(state, x)


def cast_to(state: State, x: Val, dtype: np.dtype[Any]) -> Val:
    """`x.astype(dtype)`, which is always a new array."""
    made = as_lazy(state.e, x)
    kind = numpy_scalar(dtype)
    if kind == made.kind:
        return materialized(state, dataclasses.replace(made, plain=False))
    return converted(state.e, made, kind)


# -------------------------------------------------------------------------------------------- storing
def new_in_order(x: Lazy) -> None:
    """NumPy lays a new array out as all of its operands lie, where they agree: only C order is made here."""
    if any(a.turned for a in x.leaves) and all(a.turned or a.dims != x.dims for a in x.leaves):
        raise Unlowered("a new array in another order than C's")


def materialized(state: State, x: Val, inside: bool = False) -> Arr:
    """The array in memory; inside: nobody sees in which order."""
    if isinstance(x, Arr):
        return x
    assert isinstance(x, Lazy)
    if not inside and x.turned:
        made = create(state, x.dims[::-1], x.kind.dtype, False)
        to, x = (turned(made, (1, 0)), x) if x.parts else (made, orders.transposed(x))
        with apart(state.e):
            fill(state, to, x)
        return turned(made, (1, 0))
    if not inside:
        new_in_order(x)
    made = create(state, x.dims, x.kind.dtype, False)
    with apart(state.e):
        fill(state, made, x)
    return made


def assigned(state: State, target: Arr, value: Val) -> None:
    """`target[...] = value` of an array value."""
    e = state.e
    last = state.written.isdisjoint(target.roots)
    state.written |= target.roots
    if isinstance(value, Arr):
        if same_place(value, target):
            return
        passing(e, target, value)
    part = as_lazy(e, value)
    if part.kind != target.element:
        part = converted(e, part, target.element)
    if len(part.dims) > len(target.dims):
        raise Unlowered("a value with more axes than what it is assigned to")
    dims = common_dims(e, [Lazy(target.element, target.dims, part.element, ()), part])
    for n, m in zip(dims, target.dims, strict=True):
        if n != m:
            e.bail_if(e.op(f"icmp ne i64 {n}, {m}"))
    if part.parts and (len(part.dims) != len(target.dims) or part.dims[:-1] != target.dims[:-1]):
        part = as_lazy(e, materialized(state, part, True))
    begin(e)
    mark = e.mark()
    if last and saved.last(state, target, part):  # what it wrote is put back by whoever called, if need be
        fill(state, target, part, dry=True)
        saved.copy_if_flagged(state, target, lambda copy, whole: fill(state, copy, as_lazy(e, whole)))
        if _assigned(state, target, part) and not e.outside:
            state.saves += target.roots
            return
        e.rollback(mark)
    _assigned(state, target, part)


def _assigned(state: State, target: Arr, part: Lazy) -> bool:
    """The same of elements of the target's kind, whose sizes fit; whether nothing can fail in the midst."""
    e = state.e
    near = [leaf for leaf in part.leaves if not disjoint(leaf, target)]
    unsure = [a for a in near if not same_place(a, target) and stencils.shift(target, a) is None]
    if not unsure:
        return _written(state, target, part, near)
    meets = functools.reduce(e.either, (overlap(e, target, leaf) for leaf in unsure))
    free, shared, out = e.block("apart"), e.block("overlapping"), e.block("written")
    e.branch(meets, shared, free)
    safe = True
    for block, found in ((free, [a for a in near if a not in unsure]), (shared, near)):
        e.start(block)
        with e.scope():
            safe = _written(state, target, part, found) and safe
            e.flush()
        e.jump(out)
    e.start(out)
    e.version += 1
    return safe


def _written(state: State, target: Arr, part: Lazy, near: Sequence[Arr]) -> bool:
    """Store what reads memory of the target's only through these arrays."""
    e, bails = state.e, state.e.bails
    if not near:
        with apart(e):
            fill(state, target, part)
    elif not part.parts and all(same_place(leaf, target) for leaf in near):
        fill(state, target, part)
    elif part.parts or not stencils.delayed(state, target, part, near):
        stored = materialized(state, dataclasses.replace(part, plain=False), True)
        bails = e.bails
        with apart(e):
            fill(state, target, as_lazy(e, stored))
    return e.bails == bails


@contextlib.contextmanager
def apart(e: Emitter) -> Iterator[None]:
    """Loops in which nothing that is read is written, which LLVM is told."""
    before = e.tags
    first = e.scopes()
    e.tags = (
        f", !alias.scope !{first}, !noalias !{first + 1}",
        f", !alias.scope !{first + 1}, !noalias !{first}",
    )
    yield
    e.tags = before


def fill(state: State, target: Arr, value: Lazy, dry: bool = False) -> None:
    """Store every element, several at once where they lie side by side, by several threads where it pays.

    dry: they are computed only."""
    e = state.e
    begin(e)
    watching, e.watch = e.watch, dry  # what is stored is computed: no flag is lost
    if not target.dims:
        _reserve(state, value)
        (_computed if dry else put_at)(e, target, [], spread(value, 0)([]))
    elif one_line(e, target, value):
        total = functools.reduce(functools.partial(times, e), target.dims)
        along(state, target, value, ["0"] * (len(target.dims) - 1), total, dry)
    elif all(n == "1" for n in target.dims[:-1]):
        along(state, target, value, ["0"] * (len(target.dims) - 1), target.dims[-1], dry)
    else:
        across(state, target, value, dry)
    e.watch = watching
    e.version += 1


def _reserve(state: State, value: Lazy) -> None:
    for part in value.parts:
        part.reserve(state)


def one_line(e: Emitter, target: Arr, value: Lazy) -> bool:
    """Whether all elements lie in one line, in the target and in all that is read."""
    if len(target.dims) == 1 or target.dims[-1] == "1" or any(part.row for part in value.parts):
        return False
    return all(a.strides == dense(e, a.dims, a.dtype.itemsize) for a in (target, *value.leaves)) and all(
        not a.dims or a.dims == target.dims for a in value.leaves
    )


def _computed(e: Emitter, target: Arr, indices: Sequence[str], x: Num) -> None:
    """What would be stored, computed for its flags."""
    keep_lanes(e, x.llvm, x.text)


def along(state: State, target: Arr, value: Lazy, outer: list[str], size: str, dry: bool) -> None:
    """Store one line, which threads share."""
    rows = row_parts(value)
    if rows:
        _reserve(state, value)
        for part in rows:
            part.prepare(state, outer, "0", size)

    even = size.isdigit() and int(size) % width(value, target.dtype) == 0
    large = size.isdigit() and int(size) >= LARGE and value.cost < vector_math.DEAR and not value.parts
    large = large and not state.e.unusual

    def some(first: str, last: str) -> None:
        for part in value.parts:
            if not part.row:
                part.reserve(state)
        before, unit = "", target.strides[-1] == str(target.dtype.itemsize)
        if large and unit:  # a vector that lies across two lines of the cache is stored in twice the time
            lanes, at = width(value, target.dtype), located(state.e, target, [*outer, first])
            before = stencils.before_whole(state.e, at, lanes, target.dtype.itemsize, size)
        stored_line(state, target, value, outer, last, first, bool(rows), even and not before, before, dry)

    each = duration(value, target.dtype) / max(about(target.dims[-1:]), 1)
    shares.share(state, "0", size, some, cost=each, grain=TILE, near=near(state, target, value))


def across(state: State, target: Arr, value: Lazy, dry: bool) -> None:
    """Store line by line; threads share the lines, along the first axis or the first two."""
    e, last = state.e, len(target.dims) - 1
    pairs = last > 1
    total = times(e, *target.dims[:2]) if pairs else target.dims[0]

    def nested(outer: list[str]) -> None:
        if len(outer) == last:
            stored_line(state, target, value, outer, target.dims[-1], dry=dry)
        else:
            counted(e, "0", target.dims[len(outer)], 1, lambda k: nested([*outer, k]))

    def both(k: str) -> list[str]:
        return [e.op(f"{op} i64 {k}, {target.dims[1]}") for op in ("udiv", "urem")]

    def some(first: str, last: str) -> None:
        _reserve(state, value)
        if e.part is None:
            nested([])
        elif pairs:
            counted(e, first, last, 1, lambda k: nested(both(k)))
        else:
            counted(e, first, last, 1, lambda k: nested([k]))

    inner = about(target.dims[2 if pairs else 1 : -1])
    cost = inner * duration(value, target.dtype)
    shares.share(state, "0", total, some, cost=cost, near=near(state, target, value))


def near(state: State, target: Arr, value: Lazy) -> bool:
    """Whether threads have just made what is read, each a part of it; then so they do the target."""
    found = any(a.data in state.spread for a in value.leaves)
    if found:
        state.spread.add(target.data)
    return found


def stored_line(
    state: State, target: Arr, value: Lazy, outer: list[str], stop: str, start: str = "0",
    ready: bool = False, even: bool = False, before: str = "", dry: bool = False,
) -> None:  # fmt: skip
    """Store one line, or a part of it.  even: it fills whole vectors.  before: elements in front of them.
    dry: its elements are computed only."""
    unit = target.strides[-1] == str(target.dtype.itemsize)
    lanes = width(value, target.dtype) if stop != "1" else 1

    def put(indices: list[str], x: Num) -> None:
        (_computed if dry else put_at)(state.e, target, indices, x)

    to = target if unit and value.kind == target.element else None
    often = stencils.often_read(value, target, lanes) if unit and lanes > 1 else None
    if often is not None:
        at, itemsize = located(state.e, often, [*outer, start]), often.dtype.itemsize
        before, even = stencils.before_whole(state.e, at, lanes, itemsize, value.dims[-1]), False
    with stencils.anchored(state.e, often or target, lanes, often is not None):
        line(
            state, value, outer, stop, put, lanes,
            start=start, ready=ready, masked=unit, even=even, to=to, first=before,
        )  # fmt: skip


__all__ = ["inner_indices", "worth_keeping"]
