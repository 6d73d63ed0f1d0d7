"""Arrays in native code: items read and written in place, views, new arrays.

In: arrays, keys and numbers.  Out: numbers and arrays.  What always holds: every index is checked; a key
or a size that NumPy would refuse leaves to the plan; memory is read and written in program order, so
arrays that share memory behave as NumPy's do.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.execute.native.abi import HEAD, SIZES_AT
from runtime.execute.native.emit import Block, Emitter
from runtime.execute.native.kinds import PYTHON_INT, Scalar, Unlowered, numpy_scalar
from runtime.execute.native.ranges import SIZE
from runtime.execute.native.scalars import binary, index, stored
from runtime.execute.native.shares import Serial
from runtime.execute.native.state import State, numbers
from runtime.execute.native.values import UNKNOWN, Arr, Cut, Num, Static, Tup, Val, one, opaque, span_of

DEEP = 6  # sums of sums that are looked into


# ----------------------------------------------------------------------------------------- addresses
def times(e: Emitter, a: str, b: str) -> str:
    """A product of sizes, which fits because the memory exists."""
    if a.isdigit() and b.isdigit():
        return str(int(a) * int(b))
    if "1" in (a, b):
        return a if b == "1" else b
    return e.op(f"mul nsw i64 {a}, {b}")


def plus(e: Emitter, a: str, b: str) -> str:
    """A sum of offsets."""
    if a.isdigit() and b.isdigit():
        return str(int(a) + int(b))
    if "0" in (a, b):
        return a if b == "0" else b
    return e.op(f"add nsw i64 {a}, {b}")


def minus(e: Emitter, a: str, b: str) -> str:
    """A difference of sizes."""
    if a.isdigit() and b.isdigit() and int(a) >= int(b):
        return str(int(a) - int(b))
    return a if b == "0" else e.op(f"sub i64 {a}, {b}")


def dense(e: Emitter, dims: Sequence[str], itemsize: int) -> tuple[str, ...]:
    """The byte strides of an array in C order."""
    strides, step = [], str(itemsize)
    for n in reversed(dims):
        strides.append(step)
        step = times(e, step, n)
    e.strides.update(strides)
    return tuple(reversed(strides))


def address(e: Emitter, a: Arr, offset: str) -> str:
    """The address `offset` bytes from the first element."""
    return a.data if offset == "0" else e.op(f"getelementptr i8, ptr {a.data}, i64 {offset}")


def memory(kind: Scalar) -> str:
    """The LLVM type of an element in memory."""
    return "i8" if kind.kind == "b" else kind.llvm


def load(e: Emitter, kind: Scalar, at: str) -> Num:
    """The element at an address."""
    value = e.load(f"load {memory(kind)}, ptr {at}, align 1")
    return one(kind, e.op(f"icmp ne i8 {value}, 0") if kind.kind == "b" else value)


def store(e: Emitter, kind: Scalar, at: str, value: Num) -> None:
    """Write an element."""
    text = opaque(e, value).text
    if kind.kind == "b":
        text = {"true": "1", "false": "0"}.get(text) or e.op(f"zext i1 {text} to i8")
    e.line(f"store {memory(kind)} {text}, ptr {at}, align 1{e.tags[1]}")
    e.version += 1


def overlap(e: Emitter, a: Arr, b: Arr) -> str:
    """Whether the bytes from the first to the last of two arrays have any in common."""
    (low, high), (begin, end) = (_extent(e, x) for x in (a, b))
    return e.both(e.op(f"icmp ult ptr {low}, {end}"), e.op(f"icmp ult ptr {begin}, {high}"))


def disjoint(a: Arr, b: Arr) -> bool:
    """Whether two arrays certainly share no memory: one of them was made here, after the other was there."""
    return any(
        x.site not in (None, UNKNOWN) and y.age < x.age and y.site != x.site for x, y in ((a, b), (b, a))
    )


def same_place(a: Arr, b: Arr) -> bool:
    """Whether two arrays are the same elements in the same order."""
    return (a.data, a.dims, a.strides, a.dtype.num) == (b.data, b.dims, b.strides, b.dtype.num)


def passing(e: Emitter, target: Arr, source: Arr) -> None:
    """Leave to the plan a line that is copied to one of other steps in memory that they share: NumPy copies
    neither before, if they go the same way, and may read what it has written."""
    if len(target.dims) != 1 or len(source.dims) != 1 or disjoint(target, source):
        return
    to, by = target.strides[0], source.strides[0]
    if to == by or "0" in (to, by) or {_backwards(e, to), _backwards(e, by)} == {True, False}:
        return
    alike = e.both(e.op(f"icmp ne i64 {to}, {by}"), e.op(f"icmp sge i64 {e.op(f'xor i64 {to}, {by}')}, 0"))
    e.bail_if(e.both(alike, overlap(e, target, source)))


def _backwards(e: Emitter, stride: str) -> bool | None:
    """Whether a stride is negative; None where that is not known."""
    if stride.isdigit():
        return False
    made = next((text for text, name in e.memo.items() if name == stride), "")
    word, _, by = made.removeprefix("mul i64 ").partition(", ")
    return True if word[:1] == "-" and by.isdigit() else None


def _extent(e: Emitter, a: Arr) -> tuple[str, str]:
    """The addresses of its first byte and of the one after its last."""
    before, after = "0", str(a.dtype.itemsize)
    for n, stride in zip(a.dims, a.strides, strict=True):
        span = times(e, minus(e, n, "1"), stride)
        if span.isdigit():
            after = plus(e, after, span)
        else:
            before = plus(e, before, e.call("i64", "llvm.smin.i64", ("i64", span), ("i64", "0")))
            after = plus(e, after, e.call("i64", "llvm.smax.i64", ("i64", span), ("i64", "0")))
    return address(e, a, before), address(e, a, after)


# ---------------------------------------------------------------------------------------------- keys
def checked_index(e: Emitter, i: Num, size: str) -> str:
    """An index counted from the front; out of range leaves to the plan, which raises."""
    at = index(e, i)
    if i.const is not None:
        if i.const < 0:
            at = e.op(f"add i64 {size}, {int(i.const)}")
        e.bail_if(e.op(f"icmp uge i64 {at}, {size}"))
        return at
    low, high = span_of(i) if len(i.members) == 1 else (-1, 1 << 62)
    if low >= 0 and (e.below(at, size) or (size.isdigit() and high < int(size))):
        return at
    if low < 0 and e.prompt():
        return _from_the_end(e, at, size)
    if low < 0:
        negative = e.op(f"icmp slt i64 {at}, 0")
        at = e.select(negative, "i64", e.op(f"add i64 {at}, {size}"), at)
    e.bail_if(e.op(f"icmp uge i64 {at}, {size}"))
    return at


def _from_the_end(e: Emitter, at: str, size: str) -> str:
    """An index that is in range or, which is less likely, counted from the end; else leaves to the plan."""
    with e.seldom(e.op(f"icmp uge i64 {at}, {size}")) as (before, out):
        other = e.op(f"add i64 {at}, {size}")
        e.bail_if(e.op(f"icmp uge i64 {other}, {size}"))
        phi = e.phi(out, "i64")
        phi.ways = [(at, before.label), (other, e.here.label)]
    return phi.name


def bound(e: Emitter, given: Num | None, size: str, low: str, high: str, default: str) -> str:
    """A bound of a slice as Python clips it."""
    if given is None:
        return default
    at = index(e, given)
    if given.const is None or given.const < 0:
        at = e.select(e.op(f"icmp slt i64 {at}, 0"), "i64", e.op(f"add i64 {at}, {size}"), at)
    at = e.select(e.op(f"icmp slt i64 {at}, {low}"), "i64", low, at)
    return e.select(e.op(f"icmp sgt i64 {at}, {high}"), "i64", high, at)


def sliced(e: Emitter, cut: Cut, size: str, stride: str) -> tuple[str, str, str]:
    """(byte offset, size, stride) of an axis after slicing."""
    known = folded(cut, size)
    if known is not None:
        first, picked, apart = known
        steps = stride if apart == 1 else e.op(f"mul i64 {apart}, {stride}")
        return times(e, str(first), stride), str(picked), steps
    step = one(PYTHON_INT, "1", 1) if cut.step is None else cut.step
    by = index(e, step)
    if step.const is None:
        e.bail_if(e.op(f"icmp sle i64 {by}, 0"))
    elif step.const == 0:
        e.bail_if("true")
    wide = distance(e, cut) if by == "1" else None
    if wide is not None and cut.start is not None and size.isdigit():
        low, high = span_of(cut.start)
        if low >= 0 and high + wide <= int(size):
            return times(e, index(e, cut.start), stride), str(wide), stride
    if step.const is None or step.const >= 0:
        start = bound(e, cut.start, size, "0", size, "0")
        stop = bound(e, cut.stop, size, "0", size, size)
        span, unit = e.op(f"sub i64 {stop}, {start}"), by
    else:
        last = e.op(f"sub i64 {size}, 1")
        start = bound(e, cut.start, size, "-1", last, last)
        stop = bound(e, cut.stop, size, "-1", last, "-1")
        span, unit = e.op(f"sub i64 {start}, {stop}"), str(-int(step.const))
    some = e.op(f"icmp sgt i64 {span}, 0")
    count = span
    if unit != "1":
        whole = e.op(f"udiv i64 {e.op(f'sub i64 {span}, 1')}, {unit}")
        count = e.op(f"add i64 {whole}, 1")
    count = e.select(some, "i64", count, "0")
    if wide is not None:
        e.likely[count] = wide
    offset = e.select(some, "i64", e.op(f"mul i64 {start}, {stride}"), "0")
    return offset, count, stride if by == "1" else e.op(f"mul i64 {by}, {stride}")


def folded(cut: Cut, size: str) -> tuple[int, int, int] | None:
    """(first, count, step) of a slice where all of it is known now."""
    parts = [None if p is None else p.const for p in (cut.start, cut.stop, cut.step)]
    given = [p is not None for p in (cut.start, cut.stop, cut.step)]
    if not size.isdigit() or any(g and type(p) is not int for g, p in zip(given, parts, strict=True)):
        return None
    if parts[2] == 0:
        return None
    picked = range(*slice(*parts).indices(int(size)))
    return (picked.start if len(picked) else 0), len(picked), picked.step


def distance(e: Emitter, cut: Cut) -> int | None:
    """How far apart the bounds of a slice are, as in `[i * n : (i + 1) * n]`, if it is known and positive."""
    if cut.start is None or cut.stop is None or any(x.llvm != "i64" for x in (cut.start, cut.stop)):
        return None
    made = {name: text for text, name in e.memo.items()}
    parts = terms(made, cut.stop.text, 1, DEEP)
    for name, factor in terms(made, cut.start.text, -1, DEEP).items():
        parts[name] = parts.get(name, 0) + factor
    apart = parts.pop("", 0)
    return apart if apart > 0 and not any(parts.values()) else None


def terms(made: Mapping[str, str], text: str, factor: int, deep: int) -> dict[str, int]:
    """An integer as a sum: how often each name counts; "" stands for 1.

    made: how names came about; deep: how far to go back.
    """
    if text.lstrip("-").isdigit():
        return {"": factor * int(text)}
    word, _, rest = made.get(text, "").partition(" ")
    kind, _, operands = rest.removeprefix("nsw ").partition(" ")
    a, _, b = operands.partition(", ")
    if kind != "i64" or word not in ("add", "sub", "mul") or not deep:
        return {text: factor}
    if word == "mul":
        number, other = (a, b) if a.lstrip("-").isdigit() else (b, a)
        known = number.lstrip("-").isdigit()
        return terms(made, other, factor * int(number), deep - 1) if known else {text: factor}
    found = terms(made, a, factor, deep - 1)
    for name, more in terms(made, b, factor if word == "add" else -factor, deep - 1).items():
        found[name] = found.get(name, 0) + more
    return found


def key_parts(key: Val) -> list[Val]:
    """The items of a key."""
    return list(key.items) if isinstance(key, Tup) else [key]


def located(e: Emitter, a: Arr, key: Val) -> Arr:
    """What the key picks, as a view; without axes where it is one element."""
    parts = key_parts(key)
    rests = [k for k, p in enumerate(parts) if isinstance(p, Static) and p.value is Ellipsis]
    if rests:
        missing = len(a.dims) - sum(not isinstance(p, Static) for p in parts)
        if len(rests) > 1 or missing < 1:
            raise Unlowered("an ellipsis in a key")
        parts[rests[0] : rests[0] + 1] = [Cut(None, None, None)] * missing
    offset, dims, strides, axis, column = "0", [], [], 0, "0"
    for part in parts:
        if isinstance(part, Static) and part.value is None:
            dims.append("1")
            strides.append("0")
            continue
        if axis == len(a.dims):
            raise Unlowered("a key with more items than axes")
        size, stride = a.dims[axis], a.strides[axis]
        axis += 1
        if isinstance(part, Num) and axis == len(a.dims) and stride == str(a.dtype.itemsize):
            column = checked_index(e, part, size)
        elif isinstance(part, Num):
            offset = plus(e, offset, times(e, checked_index(e, part, size), stride))
        elif isinstance(part, Cut):
            moved, count, step = sliced(e, part, size, stride)
            offset = plus(e, offset, moved)
            dims.append(count)
            strides.append(step)
        else:
            raise Unlowered("a key of arrays or masks")
    dims += a.dims[axis:]
    strides += a.strides[axis:]
    at = address(e, a, offset)
    if column != "0":
        at = e.op(f"getelementptr {memory(a.element)}, ptr {at}, i64 {column}")
    seen = _window(a, parts)
    turned = a.turned and len(dims) > 1
    return Arr(a.dtype, at, tuple(dims), tuple(strides), None, a.roots, a.depth, a.site, a.age, seen, turned)


def _window(a: Arr, parts: Sequence[Val]) -> tuple[str, tuple[int, ...]] | None:
    """Where in an array slices of step 1 begin, if that is known now."""
    data, found = a.window or (a.data, (0,) * len(a.dims))
    if len(found) != len(a.dims):
        return None
    starts = list(found)
    for axis, part in enumerate(parts):
        if not isinstance(part, Cut) or (part.step is not None and part.step.const != 1):
            return None
        known = folded(part, a.dims[axis])
        if known is not None:
            starts[axis] += known[0]
        elif part.start is not None:
            if type(part.start.const) is not int or part.start.const < 0:
                return None
            starts[axis] += part.start.const
    return data, tuple(starts)


def turned(x: Arr, order: Sequence[int]) -> Arr:
    """A view with the axes in another order."""
    dims, strides = (tuple(part[k] for k in order) for part in (x.dims, x.strides))
    other = x.turned or list(order) != sorted(order)
    return Arr(x.dtype, x.data, dims, strides, None, x.roots, x.depth, x.site, x.age, turned=other)


def item_at(state: State, a: Arr, k: str) -> Val:
    """Item number `k` along the first axis, which is in range."""
    if len(a.dims) == 1 and a.strides[0] == str(a.dtype.itemsize):
        at = state.e.op(f"getelementptr {memory(a.element)}, ptr {a.data}, i64 {k}")
    else:
        at = address(state.e, a, times(state.e, k, a.strides[0]))
    if len(a.dims) == 1:
        with state.e.known(place(a)):
            return load(state.e, a.element, at)
    turned = a.turned and len(a.dims) > 2
    return Arr(
        a.dtype, at, a.dims[1:], a.strides[1:], None, a.roots, a.depth, a.site, a.age, turned=turned
    )  # fmt: skip


def get_item(state: State, a: Arr, key: Val) -> Val:
    """`a[key]`."""
    found = located(state.e, a, key)
    whole = isinstance(key, Tup) and any(isinstance(p, Static) for p in key.items)
    if found.dims or whole:
        return found
    with state.e.known(place(a)):
        return load(state.e, a.element, found.data)


def place(a: Arr) -> int | None:
    """What is told to LLVM of where an array lies: 0 for arguments, the site of an array that is made once,
    None where that is not known."""
    if a.site is None:
        return 0 if a.roots else None
    return a.site if a.site != UNKNOWN and a.depth == 0 else None


def set_item(state: State, a: Arr, key: Val, value: Val) -> None:
    """`a[key] = number`."""
    if not isinstance(value, Num):
        raise Unlowered("an assignment of other things than numbers to items")
    found = located(state.e, a, key)
    state.written |= a.roots
    value = stored(state.e, value, a.element)
    with state.e.known(place(a)):
        fill(state, found, value)


def fill(state: State, a: Arr, value: Num) -> None:
    """Write one number to every element."""
    each(state.e, a.dims, a.strides, a.data, lambda at: store(state.e, a.element, at, value))


def each(
    e: Emitter, dims: Sequence[str], strides: Sequence[str], data: str, write: Callable[[str], None]
) -> None:
    """Loops over all elements; `write` is given the address."""
    if not dims:
        write(data)
        return
    head, body, out = e.block("fill"), e.block("element"), e.block("filled")
    before = e.here
    e.jump(head)
    e.start(head)
    k, at = e.phi(head, "i64"), e.phi(head, "ptr")
    e.branch(e.effect(f"icmp slt i64 {k.name}, {dims[0]}"), body, out)
    e.start(body)
    with e.scope():
        each(e, dims[1:], strides[1:], at.name, write)
        following = e.effect(f"add nuw nsw i64 {k.name}, 1")
        step = e.effect(f"getelementptr i8, ptr {at.name}, i64 {strides[0]}")
        k.ways = [("0", before.label), (following, e.here.label)]
        at.ways = [(data, before.label), (step, e.here.label)]
        e.jump(head)
    e.start(out)


# ---------------------------------------------------------------------------------------- new arrays
def create(state: State, dims: Sequence[str], dtype: np.dtype[Any], zeros: bool) -> Arr:
    """A new array in C order, made by NumPy; it is released when the call ends, or given to the next trip."""
    e = state.e
    if e.part is not None:
        raise Serial
    e.flush()
    kind = numpy_scalar(dtype)
    for k, a in enumerate(state.free):
        if a.dtype.num == dtype.num and a.dims == tuple(dims) and a.depth == state.depth:
            assert a.handle is not None
            if zeros:
                clear(e, a.handle, dims, kind.dtype.itemsize)
                e.version += 1
            return state.free.pop(k)
    place = e.op(f"getelementptr ptr, ptr %owned, i64 {state.owned}")
    state.owned += 1
    if not state.depth:
        made = new_array(state, dims, dtype, zeros)
    else:  # what the last trip made is taken again if it fits and nobody else holds it
        old = e.effect(f"load ptr, ptr {place}")
        fits, other, out = e.block("fits"), e.block("other"), e.block("made")
        phi = e.phi(out, "ptr")
        reusable(state, old, dims, fits, other)
        e.start(fits)
        if zeros:
            with e.scope():
                clear(e, old, dims, kind.dtype.itemsize)
        phi.ways.append((old, e.here.label))
        e.jump(out)
        e.start(other)
        with e.scope():
            e.line(f"call void @Py_DecRef(ptr {old})")
            phi.ways.append((new_array(state, dims, dtype, zeros), e.here.label))
            e.jump(out)
        e.start(out)
        made = phi.name
    e.line(f"store ptr {made}, ptr {place}")
    e.bail_if(e.op(f"icmp eq ptr {made}, null"))
    data = e.effect(f"load ptr, ptr {e.op(f'getelementptr i8, ptr {made}, i64 {HEAD}')}")
    strides = dense(e, dims, kind.dtype.itemsize)
    return Arr(dtype, data, tuple(dims), strides, made, frozenset(), state.depth, state.owned, state.owned)


def clear(e: Emitter, array: str, dims: Sequence[str], itemsize: int) -> None:
    """Set all bytes of an array object in C order to zero."""
    count = str(itemsize)
    for n in dims:
        count = times(e, count, n)
    data = e.effect(f"load ptr, ptr {e.effect(f'getelementptr i8, ptr {array}, i64 {HEAD}')}")
    e.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    e.line(f"call void @llvm.memset.p0.i64(ptr {data}, i8 0, i64 {count}, i1 false)")


def new_array(state: State, dims: Sequence[str], dtype: np.dtype[Any], zeros: bool) -> str:
    """A call of NumPy's function; null when there is no memory."""
    e = state.e
    shape = e.slot(f"[{max(len(dims), 1)} x i64]")
    for k, n in enumerate(dims):
        e.line(f"store i64 {n}, ptr {e.op(f'getelementptr i64, ptr {shape}, i64 {k}')}")
    function = "autograph_PyArray_Zeros" if zeros else "autograph_PyArray_Empty"
    e.declare(f"declare ptr @{function}(i32, ptr, ptr, i32)")
    descr = state.symbol(np.dtype(dtype))
    e.line(f"call void @Py_IncRef(ptr {descr})")
    return e.effect(f"call ptr @{function}(i32 {len(dims)}, ptr {shape}, ptr {descr}, i32 0)")


def reusable(state: State, array: str, dims: Sequence[str], yes: Block, no: Block) -> None:
    """Branch on whether there is an array, held here alone, that has these sizes."""
    e = state.e
    some = e.block("some")
    e.branch(e.effect(f"icmp ne ptr {array}, null"), some, no)
    e.start(some)
    equal = e.effect(f"icmp eq i32 {e.effect(f'load i32, ptr {array}')}, 1")  # the reference count
    sizes = e.effect(f"load ptr, ptr {e.effect(f'getelementptr i8, ptr {array}, i64 {SIZES_AT}')}")
    for k, n in enumerate(dims):
        found = e.effect(f"load i64, ptr {e.effect(f'getelementptr i64, ptr {sizes}, i64 {k}')}")
        equal = e.both(equal, e.effect(f"icmp eq i64 {found}, {n}"))
    e.branch(equal, yes, no)


def sizes(state: State, shape: Val) -> list[str]:
    """The sizes that a shape asks for; a negative or absurd one leaves to the plan."""
    out = []
    for n in numbers(shape):
        at = index(state.e, n)
        if n.const is None:
            state.e.bail_if(state.e.op(f"icmp ugt i64 {at}, {1 << 40}"))
        elif not 0 <= n.const <= 1 << 40:
            raise Unlowered("a negative or absurd size")
        out.append(at)
    known = [int(n) for n in out if n.isdigit()]
    if math.prod(known) > 1 << 44:
        raise Unlowered("an absurd size")
    return out


def size(e: Emitter, a: Arr) -> Num:
    """The number of elements."""
    total = one(PYTHON_INT, "1", 1)
    for n in a.dims:
        total = binary(e, "mul", total, dimension(n))
    return total


def dimension(n: str) -> Num:
    """A size as a Python int."""
    return one(PYTHON_INT, n, int(n) if n.isdigit() else None, (0, SIZE))


def copied(state: State, a: Arr) -> Arr:
    """A new array with the same elements, in C order."""
    new = create(state, a.dims, a.dtype, False)
    pairs = dataclasses.replace(new)
    copy_into(state.e, pairs, a)
    return new


def copy_into(e: Emitter, to: Arr, source: Arr) -> None:
    """Element by element."""
    kind = to.element

    def loops(dims: Sequence[str], k: int, at: str, origin: str) -> None:
        if k == len(dims):
            value = e.effect(f"load {memory(kind)}, ptr {origin}, align 1")
            e.line(f"store {memory(kind)} {value}, ptr {at}, align 1")
            e.version += 1
            return
        head, body, out = e.block("copy"), e.block("element"), e.block("copied")
        before = e.here
        e.jump(head)
        e.start(head)
        phis = [e.phi(head, "i64"), e.phi(head, "ptr"), e.phi(head, "ptr")]
        e.branch(e.effect(f"icmp slt i64 {phis[0].name}, {dims[k]}"), body, out)
        e.start(body)
        with e.scope():
            loops(dims, k + 1, phis[1].name, phis[2].name)
            nexts = [e.effect(f"add nuw nsw i64 {phis[0].name}, 1")]
            for phi, a in zip(phis[1:], (to, source), strict=True):
                nexts.append(e.effect(f"getelementptr i8, ptr {phi.name}, i64 {a.strides[k]}"))
            for phi, first, following in zip(phis, ("0", at, origin), nexts, strict=True):
                phi.ways = [(first, before.label), (following, e.here.label)]
            e.jump(head)
        e.start(out)

    loops(to.dims, 0, to.data, source.data)
