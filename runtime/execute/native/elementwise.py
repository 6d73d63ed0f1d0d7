"""Arithmetic on whole arrays: chains of operators become one loop over the elements.

In: an operator and its operands, of which one at least is an array.  Out: `Lazy`, an array that is computed
when it is stored.  What always holds: a lazy array is stored before any memory that it reads is written
(`lower` sees to that); what is stored where it might itself be read goes through memory of its own; floating
point operations are not dropped, since their results are stored, so flags tell what NumPy would report.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from runtime.execute.native.arrays import create, dense, load, memory, plus, store, times
from runtime.execute.native.emit import Emitter
from runtime.execute.native.floats import ARITHMETIC, ORDERED, cast
from runtime.execute.native.integers import compare_ints, shift
from runtime.execute.native.kinds import Scalar, Unlowered
from runtime.execute.native.scalars import BITWISE, COMPARISONS, UFUNCS, loop_kinds
from runtime.execute.native.state import State
from runtime.execute.native.ufunc_loops import inner_loop
from runtime.execute.native.values import UNKNOWN, Arr, Lazy, Num, Val, one

VECTOR = 64  # bytes worked on at once
INTEGER = {"add": "add", "sub": "sub", "mul": "mul"}
ROUNDING = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "rint",
    "fabs": "fabs",
}


class Scattered(Exception):
    """Neighbouring elements do not lie side by side: they are worked on one by one."""


def is_array(x: Val) -> bool:
    """Whether a value is an array, stored or not."""
    return isinstance(x, (Arr, Lazy))


# ------------------------------------------------------------------------------------------- operands
def as_lazy(e: Emitter, x: Val, kind: Scalar) -> Lazy:
    """An operand whose elements are of the kind that a loop takes."""
    if isinstance(x, Num):
        if len(x.members) != 1:
            raise Unlowered("a number of two kinds with an array")
        number = cast(e, x, kind)
        return Lazy(kind, (), lambda _: one(kind, e.splat(kind.llvm, number.text)), ())
    if isinstance(x, Arr):
        source = x
        x = Lazy(source.element, source.dims, lambda indices: element_at(e, source, indices), (source,), True)
    if not isinstance(x, Lazy):
        raise Unlowered("an operator on an array and something else")
    given = x
    if given.kind == kind:
        return given
    return Lazy(kind, given.dims, lambda indices: converted(e, given.element(indices), kind), given.leaves)


def element_at(e: Emitter, a: Arr, indices: Sequence[str]) -> Num:
    """The element of an array at these indices, which are in range."""
    kind, at = a.element, located(e, a, indices)
    if e.lanes == 1 or e.along not in indices:
        return one(kind, e.splat(kind.llvm, load(e, kind, at).text))
    if indices[-1] != e.along or a.strides[-1] != str(a.dtype.itemsize):
        raise Scattered
    value = e.load(f"load {e.wide(memory(kind))}, ptr {at}, align 1")
    return one(kind, e.op(f"icmp ne {e.wide('i8')} {value}, zeroinitializer") if kind.kind == "b" else value)


def located(e: Emitter, a: Arr, indices: Sequence[str]) -> str:
    """The address of an element."""
    offset = "0"
    for i, stride in zip(indices, a.strides, strict=True):
        offset = plus(e, offset, times(e, i, stride))
    return a.data if offset == "0" else e.op(f"getelementptr i8, ptr {a.data}, i64 {offset}")


def converted(e: Emitter, x: Num, kind: Scalar) -> Num:
    """An element in another dtype, without loss beyond what NumPy's own cast loses."""
    source = x.scalar
    if kind.kind == "f":
        if source.kind == "f":
            how = "fpext" if kind.bits > source.bits else "fptrunc"
        else:
            how = "sitofp" if source.kind == "i" else "uitofp"
    elif source.kind == "f" or kind.kind == "b" or kind.bits <= source.bits:
        raise Unlowered(f"a cast of {source.dtype} elements to {kind.dtype}")
    else:
        how = "sext" if source.kind == "i" else "zext"
    return one(kind, e.op(f"{how} {e.wide(source.llvm)} {x.text} to {e.wide(kind.llvm)}"))


def common_dims(e: Emitter, parts: Sequence[Lazy]) -> tuple[str, ...]:
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


def spread(p: Lazy, rank: int) -> Callable[[Sequence[str]], Num]:
    """The element function for indices of the broadcast array."""

    def element(indices: Sequence[str]) -> Num:
        own = indices[rank - len(p.dims) :]
        return p.element(["0" if n == "1" else i for n, i in zip(p.dims, own, strict=True)])

    return element


def combined(e: Emitter, parts: Sequence[Lazy], kind: Scalar, compute: Callable[..., str]) -> Lazy:
    """The lazy array of `compute` on elements."""
    dims = common_dims(e, parts)
    reads = [spread(p, len(dims)) for p in parts]
    leaves = tuple(leaf for p in parts for leaf in p.leaves)
    return Lazy(kind, dims, lambda indices: one(kind, compute(*(r(indices) for r in reads))), leaves)


# ------------------------------------------------------------------------------------------ operators
def operator(state: State, op: str, a: Val, b: Val) -> Lazy:
    """`a op b`."""
    e = state.e
    if op == "pow":
        return power(state, a, b)
    left, right, out = loop_kinds(UFUNCS[op], kind_of(a), kind_of(b))
    if left != right:
        raise Unlowered(f"{op} on arrays of two kinds")
    parts = [as_lazy(e, a, left), as_lazy(e, b, left)]
    return combined(e, parts, out, lambda x, y: binary(e, op, x, y))


def in_place(state: State, op: str, a: Arr, b: Val) -> Arr:
    """`a op= b`: the array itself."""
    made = operator(state, op, a, b)
    if made.kind != a.element:
        raise Unlowered("an in-place operator whose result is of another dtype")
    assigned(state, a, made)
    return a


def function(state: State, name: str, args: Sequence[Val]) -> Val:
    """A ufunc of NumPy's on arrays, by name."""
    known = {u.__name__: op for op, u in UFUNCS.items() if op != "pow"}
    if name in known and len(args) == 2:
        try:
            return operator(state, known[name], args[0], args[1])
        except Unlowered:
            return by_inner_loop(state, getattr(np, name), args)
    if len(args) == 1 and (name in ROUNDING or name in ("absolute", "negative")):
        op = {"absolute": "abs", "negative": "neg"}.get(name, name)
        return unary(state, op, args[0])
    ufunc = getattr(np, name, None)
    if isinstance(ufunc, np.ufunc) and ufunc.nin == len(args) and ufunc.nout == 1 and ufunc.signature is None:
        return by_inner_loop(state, ufunc, args)
    raise Unlowered(f"np.{name} of an array")


def kind_of(x: Val) -> Scalar:
    """The kind of an operand or of its elements."""
    if isinstance(x, Num) and len(x.members) == 1:
        return x.scalar
    if isinstance(x, Arr):
        return x.element
    if isinstance(x, Lazy):
        return x.kind
    raise Unlowered("an operator on an array and something else")


def binary(e: Emitter, op: str, x: Num, y: Num) -> str:
    """One element of an operator."""
    kind, t = x.scalar, e.wide(x.llvm)
    if op in COMPARISONS:
        if kind.kind == "f":
            return e.op(f"fcmp {ORDERED[op]} {t} {x.text}, {y.text}")
        return compare_ints(e, op, "i" if kind.kind == "i" else "u", t, x.text, y.text)
    if op in BITWISE and kind.kind != "f":
        return e.op(f"{BITWISE[op]} {t} {x.text}, {y.text}")
    if kind.kind == "f" and op in ARITHMETIC:
        return e.op(f"{ARITHMETIC[op]} {t} {x.text}, {y.text}")
    if kind.kind in "iu" and op in INTEGER:
        return e.op(f"{INTEGER[op]} {t} {x.text}, {y.text}")
    if kind.kind in "iu" and op in ("lshift", "rshift"):
        if e.lanes > 1:
            raise Scattered
        return shift(e, op, x, y).text
    raise Unlowered(f"the operator {op} on arrays of {kind.dtype}")


def power(state: State, a: Val, b: Val) -> Lazy:
    """`a ** 2` of a float array, which NumPy computes as a product."""
    if (
        not is_array(a)
        or not isinstance(b, Num)
        or kind_of(a).kind != "f"
        or b.const != 2
        or not b.scalar.weak
    ):
        raise Unlowered("a power of an array")
    kind = kind_of(a)
    part = as_lazy(state.e, a, kind)
    e = state.e
    return combined(e, [part], kind, lambda x: e.op(f"fmul {e.wide(x.llvm)} {x.text}, {x.text}"))


def unary(state: State, op: str, a: Val) -> Lazy:
    """`op a`; op: neg, pos, abs, invert, or a function that rounds."""
    e, kind = state.e, kind_of(a)
    part = as_lazy(e, a, kind)
    if kind.kind == "f" and (op in ROUNDING or op == "abs"):
        name = "fabs" if op == "abs" else ROUNDING[op]
        return combined(e, [part], kind, lambda x: intrinsic(e, name, x))
    if kind.kind == "f" and op == "neg":
        return combined(e, [part], kind, lambda x: e.op(f"fneg {e.wide(x.llvm)} {x.text}"))
    if kind.kind in "iu" and op == "neg":
        return combined(e, [part], kind, lambda x: e.op(f"sub {e.wide(x.llvm)} {zero_of(e)}, {x.text}"))
    raise Unlowered(f"{op} of an array of {kind.dtype}")


def zero_of(e: Emitter) -> str:
    """Zero in all lanes."""
    return "0" if e.lanes == 1 else "zeroinitializer"


def intrinsic(e: Emitter, name: str, x: Num) -> str:
    """A function of one float that LLVM knows."""
    bits, t = x.scalar.bits, e.wide(x.llvm)
    return e.call(t, f"llvm.{name}.{f'v{e.lanes}' if e.lanes > 1 else ''}f{bits}", (t, x.text))


def by_inner_loop(state: State, ufunc: np.ufunc, args: Sequence[Val]) -> Arr:
    """A ufunc carried out by NumPy's own inner loop, at one go over all elements."""
    e = state.e
    kinds = loop_kinds(ufunc, *map(kind_of, args))
    found = inner_loop(ufunc, kinds)
    if found is None:
        raise Unlowered("a ufunc whose inner loop is not known")
    parts = [as_lazy(e, x, kind) for x, kind in zip(args, kinds, strict=False)]
    dims = common_dims(e, parts)
    if any(p.dims and p.dims != dims for p in parts):
        raise Unlowered("a ufunc on arrays of different sizes")
    stored = [whole(state, p) if p.dims else None for p in parts]
    out = create(state, dims, kinds[-1].dtype, False)
    count = "1"
    for n in dims:
        count = times(e, count, n)
    pointers, counts, steps = (e.slot(f"[{len(kinds)} x i64]") for _ in range(3))
    for k, kind in enumerate(kinds):
        array = out if k == len(parts) else stored[k]
        data, step = (array.data if array else ""), kind.dtype.itemsize
        if array is None:
            data, step = e.slot(kind.llvm), 0
            e.line(f"store {kind.llvm} {parts[k].element(()).text}, ptr {data}")
        e.line(f"store ptr {data}, ptr {e.op(f'getelementptr i64, ptr {pointers}, i64 {k}')}")
        e.line(f"store i64 {step}, ptr {e.op(f'getelementptr i64, ptr {steps}, i64 {k}')}")
    e.line(f"store i64 {count}, ptr {counts}")
    loop, data = state.loop(ufunc, [kind.dtype for kind in kinds], found)
    some, done = e.block("some"), e.block("looped")
    e.branch(e.effect(f"icmp sgt i64 {count}, 0"), some, done)
    e.start(some)
    e.leaving()
    e.line(f"call void {loop}(ptr {pointers}, ptr {counts}, ptr {steps}, ptr {data})")
    e.jump(done)
    e.start(done)
    e.version += 1
    return out


def whole(state: State, p: Lazy) -> Arr:
    """An operand in memory of its own kind, in C order without gaps."""
    if len(p.leaves) == 1:
        leaf = p.leaves[0]
        if p.plain and leaf.strides == dense(state.e, leaf.dims, leaf.dtype.itemsize):
            return leaf
    return materialized(state, p)


# -------------------------------------------------------------------------------------------- storing
def materialized(state: State, x: Val) -> Arr:
    """The array in memory."""
    if isinstance(x, Arr):
        return x
    assert isinstance(x, Lazy)
    made = create(state, x.dims, x.kind.dtype, False)
    with apart(state.e):
        fill(state.e, made, x)
    return made


def assigned(state: State, target: Arr, value: Val) -> None:
    """`target[...] = value` of an array value."""
    e = state.e
    state.written |= target.roots
    if isinstance(value, Arr) and same_place(value, target):
        return
    part = as_lazy(e, value, target.element)
    if len(part.dims) > len(target.dims):
        raise Unlowered("a value with more axes than what it is assigned to")
    dims = common_dims(e, [Lazy(target.element, target.dims, part.element, ()), part])
    for n, m in zip(dims, target.dims, strict=True):
        if n != m:
            e.bail_if(e.op(f"icmp ne i64 {n}, {m}"))
    if all(disjoint(leaf, target) for leaf in part.leaves):
        with apart(e):
            fill(e, target, part)
        return
    if not all(disjoint(leaf, target) or same_place(leaf, target) for leaf in part.leaves):
        made = materialized(state, dataclasses.replace(part, plain=False))
        part = as_lazy(e, made, made.element)
        with apart(e):
            fill(e, target, part)
        return
    fill(e, target, part)


def disjoint(a: Arr, b: Arr) -> bool:
    """Whether two arrays certainly share no memory: one of them was made here, after the other was there."""
    return any(x.site not in (None, UNKNOWN) and y.age < x.age and y.site != x.site for x, y in ((a, b), (b, a)))


def same_place(a: Arr, b: Arr) -> bool:
    """Whether two arrays are the same elements in the same order."""
    return (a.data, a.dims, a.strides, a.dtype.num) == (b.data, b.dims, b.strides, b.dtype.num)


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


def fill(e: Emitter, target: Arr, value: Lazy) -> None:
    """Store every element, several at once where they lie side by side."""
    watching, e.watch = e.watch, False  # what is stored is computed: no flag is lost
    e.flush()
    dtypes = [target.dtype, value.kind.dtype, *(a.dtype for a in value.leaves)]
    lanes = VECTOR // max(d.itemsize for d in dtypes)
    beside = bool(target.dims) and target.strides[-1] == str(target.dtype.itemsize)
    mark = e.mark()
    try:
        store_all(e, target, value, lanes if beside and lanes > 1 else 1)
    except Scattered:
        e.lanes, e.along = 1, ""
        e.rollback(mark)
        store_all(e, target, value, 1)
    e.watch = watching
    e.version += 1


def store_all(e: Emitter, target: Arr, value: Lazy, lanes: int) -> None:
    """Loops over all elements; along the last axis `lanes` at once, and the rest one by one."""
    element, last = spread(value, len(target.dims)), len(target.dims) - 1

    def put(indices: list[str]) -> None:
        found = element(indices)
        at = located(e, target, indices)
        if e.lanes == 1:
            store(e, target.element, at, found)
            return
        text, kind = found.text, target.element
        if kind.kind == "b":
            text = e.op(f"zext {e.wide('i1')} {text} to {e.wide('i8')}")
        e.line(f"store {e.wide(memory(kind))} {text}, ptr {at}, align 1{e.tags[1]}")
        e.version += 1

    def loops(indices: list[str]) -> None:
        axis = len(indices)
        if axis > last:
            put(indices)
        elif axis < last or lanes == 1 or (target.dims[axis].isdigit() and int(target.dims[axis]) < lanes):
            counted(e, "0", target.dims[axis], 1, lambda k: loops([*indices, k]))
        else:
            size = target.dims[axis]
            whole = str(int(size) // lanes * lanes) if size.isdigit() else e.op(f"and i64 {size}, {-lanes}")
            e.lanes = lanes
            counted(e, "0", whole, lanes, lambda k: loops_along([*indices, k], k))
            e.lanes, e.along = 1, ""
            counted(e, whole, size, 1, lambda k: put([*indices, k]))

    def loops_along(indices: list[str], k: str) -> None:
        e.along = k
        put(indices)

    loops([])


def counted(e: Emitter, start: str, stop: str, step: int, body: Callable[[str], None]) -> None:
    """A loop whose index goes from start to stop."""
    head, inside, out = e.block("each"), e.block("element"), e.block("done")
    before = e.here
    e.jump(head)
    e.start(head)
    k = e.phi(head, "i64")
    e.branch(e.effect(f"icmp slt i64 {k.name}, {stop}"), inside, out)
    e.start(inside)
    with e.scope():
        body(k.name)
        following = e.effect(f"add nuw nsw i64 {k.name}, {step}")
        k.ways = [(start, before.label), (following, e.here.label)]
        e.jump(head)
    e.start(out)
