"""Arrays made from numbers and from other arrays: displays, ranges, products of all pairs.

In: the node's arguments.  Out: the array.  What always holds: what is a view for NumPy is one here; a shape,
a layout or a dtype that is not known while the code is written is not lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.execute.native import lists
from runtime.execute.native.accesses import Scattered, progression
from runtime.execute.native.arrays import copied, create, dense, fill, load, located, sizes, times, turned
from runtime.execute.native.calls import by_name, np_copy, wanted_dtype
from runtime.execute.native.elementwise import (
    assigned,
    cast_to,
    is_array,
    kind_of,
    materialized,
    operator,
)
from runtime.execute.native.emit import Emitter
from runtime.execute.native.floats import cast
from runtime.execute.native.kinds import (
    FLOAT64,
    INT64,
    PYTHON_INT,
    Scalar,
    Unlowered,
    literal,
    numpy_scalar,
)
from runtime.execute.native.ranges import SIZE
from runtime.execute.native.scalars import index, stored
from runtime.execute.native.shapes import one_axis, viewed
from runtime.execute.native.state import State, numbers
from runtime.execute.native.values import (
    EXACT,
    LISTS,
    Arr,
    Lazy,
    Num,
    Static,
    Tup,
    Val,
    lift,
    one,
    opaque,
    within,
)

Handler = Callable[[State, list[Val], dict[str, Val]], Val]
FAR = 1 << 40  # from zero: what is reached by whole steps is exact
_SAMPLES: dict[str, Any] = {"b": True, "i": 1, "u": 1, "f": 1.0, "c": 1j}


# ------------------------------------------------------------------------------------------- displays
def _display(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.array` of a tuple (which stands for a list) of numbers, of tuples of these, or of arrays."""
    given = by_name(args, keywords, "object", "dtype")
    source, dtype = given["object"], given.get("dtype")
    if is_array(source):
        if wanted_dtype(dtype, kind_of(source).dtype) != kind_of(source).dtype:
            return cast_to(state, source, wanted_dtype(dtype, FLOAT64.dtype))
        return np_copy(state, [source], {}) if isinstance(source, Arr) else materialized(state, source)
    if isinstance(source, LISTS):
        made = lists.as_array(state, source)
        if wanted_dtype(dtype, made.dtype) != made.dtype:
            raise Unlowered("np.array of a list as another dtype")
        return made
    if not isinstance(source, Tup):
        raise Unlowered("np.array of this")
    if any(map(is_array, source.items)):
        return _stacked(state, list(source.items), dtype)
    made = create(state, shape_of(source), wanted_dtype(dtype, dtype_of(source)), False)
    spelled(state, made, source)
    return made


def spelled(state: State, target: Arr, source: Val) -> None:
    """Write a number, or the numbers in nested tuples, to an array of their shape."""
    for place in np.ndindex(_shape(source)):
        item: Val = source
        for i in place:
            assert isinstance(item, Tup)
            item = item.items[i]
        assert isinstance(item, Num)
        element = stored(state.e, item, target.element)
        fill(state, located(state.e, target, Tup(tuple(map(lift, place)))) if place else target, element)


def shape_of(x: Val) -> tuple[str, ...]:
    """The sizes of what NumPy makes an array of: those of an array, or of nested tuples."""
    return x.dims if isinstance(x, (Arr, Lazy)) else tuple(map(str, _shape(x)))


def dtype_of(x: Val) -> np.dtype[Any]:
    """The dtype of the same."""
    return kind_of(x).dtype if isinstance(x, (Arr, Lazy)) else np.array(_sample(x)).dtype


def _shape(x: Val) -> tuple[int, ...]:
    """The shape of nested tuples of numbers."""
    if isinstance(x, Num):
        if len(x.members) != 1:
            raise Unlowered("np.array of numbers of two kinds")
        return ()
    if not isinstance(x, Tup):
        raise Unlowered("np.array of this")
    found = {_shape(i) for i in x.items}
    if len(found) > 1:
        raise Unlowered("np.array of rows of different lengths")
    return (len(x.items), *(found.pop() if found else ()))


def _sample(x: Val) -> Any:
    """Values of the same kinds."""
    if isinstance(x, Tup):
        return [_sample(i) for i in x.items]
    assert isinstance(x, Num)
    return _SAMPLES[x.scalar.kind] if x.scalar.weak else x.scalar.dtype.type(1)


def _stacked(state: State, items: list[Val], dtype: Val | None) -> Val:
    """Arrays of one shape as the rows of a new one."""
    kinds = [kind_of(x) for x in items if is_array(x)]
    if len(kinds) != len(items):
        raise Unlowered("np.array of numbers and arrays")
    found = wanted_dtype(dtype, np.result_type(*(k.dtype for k in kinds)))
    first = items[0]
    assert isinstance(first, (Arr, Lazy))
    for x in items[1:]:
        assert isinstance(x, (Arr, Lazy))
        same_sizes(state, first.dims, x.dims)
    made = create(state, [str(len(items)), *first.dims], found, False)
    for k, x in enumerate(items):
        assigned(state, located(state.e, made, lift(k)), x)
    return made


def same_sizes(state: State, a: Sequence[str], b: Sequence[str]) -> None:
    """Leave to the plan, which raises, where sizes differ."""
    if len(a) != len(b):
        raise Unlowered("arrays of different ranks side by side")
    for n, m in zip(a, b, strict=True):
        if n != m:
            if n.isdigit() and m.isdigit():
                raise Unlowered("arrays whose sizes do not fit")
            state.e.bail_if(state.e.op(f"icmp ne i64 {n}, {m}"))


def _array(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.array`, which copies anyway."""
    copy = keywords.get("copy")
    told = isinstance(copy, Num) and copy.const is True
    return _display(state, args, {k: v for k, v in keywords.items() if k != "copy"} if told else keywords)


def _as_array(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.asarray`: the array itself where it has the dtype."""
    given = by_name(args, keywords, "a", "dtype")
    source = given.pop("a")
    if isinstance(source, Arr) and wanted_dtype(given.get("dtype"), source.dtype) == source.dtype:
        return source
    return _display(state, [source], given)


# --------------------------------------------------------------------------------------------- ranges
def _arange(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.arange` of integers, and of floats with a known step."""
    e = state.e
    options = dict(keywords)
    wanted = options.pop("dtype", None)
    asked = numbers(Tup(tuple(args)))
    if options or not 1 <= len(asked) <= 3 or any(len(x.members) != 1 for x in asked):
        raise Unlowered("np.arange with these arguments")
    start, stop = (asked[0], asked[1]) if len(asked) > 1 else (one(PYTHON_INT, "0", 0), asked[0])
    step = asked[2] if len(asked) == 3 else one(PYTHON_INT, "1", 1)
    if any(x.scalar.kind == "f" for x in (start, stop, step)):
        return _spaced(state, start, stop, step, wanted_dtype(wanted, FLOAT64.dtype))
    if any(x.scalar.kind not in "i" or x.scalar.bits != 64 for x in (start, stop, step)):
        raise Unlowered("np.arange of other numbers than integers")
    if not isinstance(step.const, int) or not step.const or abs(step.const) > FAR:
        raise Unlowered("np.arange with this step")
    first, last = within_reach(e, start), within_reach(e, stop)
    if start.const is not None and stop.const is not None:
        count = str(len(range(start.const, stop.const, step.const)))
    else:
        low, high, by = (first, last, step.const) if step.const > 0 else (last, first, -step.const)
        span = high if low == "0" else e.op(f"sub i64 {high}, {low}")
        if by != 1:
            span = e.op(f"sdiv i64 {e.op(f'add i64 {span}, {by - 1}')}, {by}")
        count = e.select(e.op(f"icmp sgt i64 {span}, 0"), "i64", span, "0")
    dtype = wanted_dtype(wanted, np.dtype(np.int64))
    if dtype.kind not in "if" or dtype.itemsize != 8:
        raise Unlowered(f"np.arange of {dtype}")

    def element(indices: Sequence[str]) -> Num:
        assert isinstance(step.const, int)
        value = progression(e, indices[0], first, step.const)
        if dtype.kind == "f":
            return one(FLOAT64, e.op(f"sitofp {e.wide('i64')} {value} to {e.wide('double')}"))
        return one(INT64, value)

    return Lazy(numpy_scalar(dtype), (count,), element, ())


def within_reach(e: Emitter, x: Num) -> str:
    """An integer to which sizes are added: far from where they would not be exact."""
    text = index(e, x)
    if x.const is None:
        e.bail_if(e.op(f"icmp ugt i64 {e.op(f'add i64 {text}, {FAR}')}, {2 * FAR}"))
    elif abs(int(x.const)) > 1 << 62:
        raise Unlowered("an integer beyond all sizes")
    return text


def _spaced(state: State, start: Num, stop: Num, step: Num, dtype: np.dtype[Any]) -> Lazy:
    """`np.arange` of floats: the first two elements are as given, and their difference is what goes on."""
    e = state.e
    if dtype != FLOAT64.dtype or any(
        x.scalar.kind not in "if" or x.scalar.bits != 64 for x in (start, stop, step)
    ):
        raise Unlowered("np.arange of these floats")
    first, last, by = (cast(e, x, FLOAT64).text for x in (start, stop, step))
    for x in (start, stop, step):
        if x.scalar.kind == "i":
            within(e, x, x.text, EXACT)
    e.flush()
    span = e.effect(f"fsub double {last}, {first}")
    asked = e.effect(f"fdiv double {span}, {by}")
    # what is no plain number of steps is left to NumPy: NaN, far too many, and what vanished in the division
    plain = e.both(
        e.op(f"fcmp ogt double {asked}, {literal(-EXACT, 'double')}"),
        e.op(f"fcmp olt double {asked}, {literal(1 << 40, 'double')}"),
    )
    nothing = e.both(e.op(f"fcmp oeq double {asked}, 0.0"), e.op(f"fcmp one double {span}, 0.0"))
    e.bail_if(e.either(e.negated(plain), nothing))
    count = e.op(f"fptosi double {e.call('double', 'llvm.ceil.f64', ('double', asked))} to i64")
    count = e.select(e.op(f"icmp sgt i64 {count}, 0"), "i64", count, "0")
    second = e.effect(f"fadd double {first}, {by}")
    apart = e.effect(f"fsub double {second}, {first}")

    def element(indices: Sequence[str]) -> Num:
        if e.lanes > 1:
            raise Scattered
        moved = e.op(f"fmul double {e.op(f'sitofp i64 {indices[0]} to double')}, {apart}")
        value = e.op(f"fadd double {first}, {moved}")
        value = e.select(e.op(f"icmp eq i64 {indices[0]}, 1"), "double", second, value)
        return one(FLOAT64, e.select(e.op(f"icmp eq i64 {indices[0]}, 0"), "double", first, value))

    return Lazy(FLOAT64, (count,), element, ())


def _linspace(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.linspace` of doubles: steps of one size from the start, and the stop as it is."""
    e, given = state.e, by_name(args, keywords, "start", "stop", "num", "endpoint")
    start, stop, num = numbers(Tup((given["start"], given["stop"], given.get("num", lift(50)))))
    ended = given.get("endpoint", lift(True))
    whole = all(len(x.members) == 1 for x in (start, stop, num)) and num.scalar.kind == "i"
    if not whole or not isinstance(ended, Num) or type(ended.const) is not bool:
        raise Unlowered("np.linspace with these arguments")
    if any(x.scalar.kind not in "if" or x.scalar.bits != 64 for x in (start, stop)):
        raise Unlowered("np.linspace of these numbers")
    for x in (start, stop):
        if x.scalar.kind == "i":
            within(e, x, x.text, EXACT)
    first, last = (opaque(e, cast(e, x, FLOAT64)).text for x in (start, stop))
    (count,) = sizes(state, num)
    if not count.isdigit():
        e.bail_if(e.op(f"icmp slt i64 {count}, 2"))
    elif int(count) < 2:
        raise Unlowered("np.linspace of less than two numbers")
    e.flush()
    span, final = e.effect(f"fsub double {last}, {first}"), e.op(f"sub i64 {count}, 1")
    parts = e.op(f"sitofp i64 {final if ended.const else count} to double")
    step = e.effect(f"fdiv double {span}, {e.opaque('double', parts)}")
    lost = e.both(e.op(f"fcmp oeq double {step}, 0.0"), e.op(f"fcmp one double {span}, 0.0"))
    e.bail_if(lost)  # in the division: NumPy computes otherwise then
    for text in (span, step):
        e.keep("double", text)

    def element(indices: Sequence[str]) -> Num:
        t, k = e.wide("double"), progression(e, indices[0])
        number = e.op(f"sitofp {e.wide('i64')} {k} to {t}")
        moved = e.op(f"fmul {t} {number}, {e.splat('double', step)}")
        value = e.op(f"fadd {t} {moved}, {e.splat('double', first)}")
        if ended.const:
            at_end = e.op(f"icmp eq {e.wide('i64')} {k}, {e.splat('i64', final)}")
            value = e.op(f"select {e.wide('i1')} {at_end}, {t} {e.splat('double', last)}, {t} {value}")
        return one(FLOAT64, value)

    return Lazy(FLOAT64, (count,), element, ())


def _eye(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    given = by_name(args, keywords, "N", "dtype") if "dtype" in keywords else by_name(args, keywords, "N")
    if not isinstance(given["N"], Num):
        raise Unlowered("np.eye of no number")
    (n,) = sizes(state, given["N"])
    dtype = wanted_dtype(given.get("dtype"), np.dtype(float))
    made = create(state, [n, n], dtype, True)
    e = state.e
    diagonal = Arr(dtype, made.data, (n,), (e.op(f"add i64 {made.strides[0]}, {made.strides[1]}"),))
    fill(state, diagonal, stored(e, lift(1), numpy_scalar(dtype)))  # type: ignore[arg-type]
    return made


# --------------------------------------------------------------------------------------------- shapes
def _transpose(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    x = args[0]
    if keywords or not isinstance(x, Arr):
        raise Unlowered("transpose with options")
    order = list(range(len(x.dims)))[::-1]
    if len(args) > 1 and not (isinstance(args[1], Static) and args[1].value is None):
        given = numbers(args[1] if len(args) == 2 else Tup(tuple(args[1:])))
        axes, rank = [n.const for n in given], len(x.dims)
        order = [k % rank if type(k) is int and -rank <= k < rank else -1 for k in axes]
    if sorted(order) != list(range(len(x.dims))):
        raise Unlowered("transpose with these axes")
    return turned(x, order)


def _outer(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    if len(args) != 2 or keywords or not all(isinstance(x, Arr) for x in args):
        raise Unlowered("np.outer of these")
    a, b = (one_axis(state, x) for x in args if isinstance(x, Arr))
    column = viewed(a, (a.dims[0], "1"), (a.strides[0], "0"))
    return operator(state, "mul", column, b)


def _search(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.searchsorted(a, v)` of a number of the same dtype: a binary search in which NaN comes last."""
    e = state.e
    given = by_name(args, keywords, "a", "v", "side")
    a, v, side = given["a"], given["v"], given.get("side")
    right = isinstance(side, Static) and side.value == "right"
    if side is not None and not (isinstance(side, Static) and side.value in ("left", "right")):
        raise Unlowered("np.searchsorted with this side")
    if not isinstance(a, Arr) or len(a.dims) != 1 or not isinstance(v, Num) or len(v.members) != 1:
        raise Unlowered("np.searchsorted of these")
    kind = a.element
    if kind.kind not in "if" or v.scalar.kind != kind.kind or (v.scalar.bits != kind.bits):
        raise Unlowered("np.searchsorted of another dtype")
    low, high = e.slot("i64"), e.slot("i64")
    e.line(f"store i64 0, ptr {low}")
    e.line(f"store i64 {a.dims[0]}, ptr {high}")
    head, body, out = e.block("search"), e.block("probe"), e.block("found")
    e.jump(head)
    e.start(head)
    first, last = e.effect(f"load i64, ptr {low}"), e.effect(f"load i64, ptr {high}")
    e.branch(e.effect(f"icmp slt i64 {first}, {last}"), body, out)
    e.start(body)
    with e.scope():
        half = e.op(f"lshr i64 {e.op(f'sub i64 {last}, {first}')}, 1")
        middle = e.op(f"add i64 {first}, {half}")
        at = e.op(f"getelementptr i8, ptr {a.data}, i64 {times(e, middle, a.strides[0])}")
        item = load(e, kind, at)
        # left: the item is less; right: the key is not less than the item
        x, y = (v, item) if right else (item, v)
        less = _less(e, kind, x.text, y.text)
        on = e.negated(less) if right else less
        after = e.op(f"add i64 {middle}, 1")
        e.line(f"store i64 {e.select(on, 'i64', after, first)}, ptr {low}")
        e.line(f"store i64 {e.select(on, 'i64', last, middle)}, ptr {high}")
        e.jump(head)
    e.start(out)
    return one(INT64, e.effect(f"load i64, ptr {low}"), span=(0, SIZE))


def _less(e: Emitter, kind: Scalar, x: str, y: str) -> str:
    """NumPy's order: NaN is greater than all else."""
    if kind.kind == "i":
        return e.op(f"icmp slt {kind.llvm} {x}, {y}")
    last = e.both(e.op(f"fcmp uno {kind.llvm} {y}, {y}"), e.op(f"fcmp ord {kind.llvm} {x}, {x}"))
    return e.either(e.op(f"fcmp olt {kind.llvm} {x}, {y}"), last)


def _contiguous(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.ascontiguousarray(x)`: x itself where it is in C order, else a copy."""
    if len(args) != 1 or keywords or not isinstance(args[0], Arr) or not args[0].dims:
        raise Unlowered("np.ascontiguousarray of this")
    x = args[0]
    if x.strides == dense(state.e, x.dims, x.dtype.itemsize):
        return x
    if not all(n.isdigit() and int(n) > 1 for n in x.dims) or not all(n.isdigit() for n in x.strides):
        raise Unlowered("np.ascontiguousarray of an array that may be in C order or not")
    return copied(state, x)


HANDLERS: dict[str, Handler] = {
    "np.ascontiguousarray": _contiguous,
    "np.searchsorted": _search,
    "nd.searchsorted": _search,
    "np.array": _array,
    "np.asarray": _as_array,
    "np.arange": _arange,
    "np.linspace": _linspace,
    "np.eye": _eye,
    "np.identity": _eye,
    "nd.transpose": _transpose,
    "np.transpose": _transpose,
    "np.outer": _outer,
}
