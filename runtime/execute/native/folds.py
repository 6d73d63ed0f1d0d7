"""Lines of memory folded into one number: functions of the module, one for each kind of fold and dtype.

In: the name of a fold, a dtype, the address and length of elements that lie side by side.  Out: the number.
What always holds: sums of floats are NumPy's pairwise sums bit for bit; where the order would matter to an
extreme (equal zeros of two signs) or NaN is in the line, NumPy's own loop says what it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from runtime.execute.native.arrays import memory, minus
from runtime.execute.native.emit import BRIEFLY
from runtime.execute.native.host import vector_bytes
from runtime.execute.native.kinds import Scalar, Unlowered
from runtime.execute.native.lines import TILE, counted
from runtime.execute.native.state import State
from runtime.execute.native.ufunc_loops import caller, inner_loop

RUNNING = 4  # extremes that are kept side by side
TURNS, MORE = 2, 4  # so often each of them goes on in one trip: extremes, and what takes one instruction
BUFFER = 8192  # floats that older versions of NumPy add up at a time
BLOCK = 128  # elements that NumPy adds in eight running sums


def fold(state: State, name: str, kind: Scalar, at: str, size: str) -> str:
    """The fold of `size` elements at an address."""
    e = state.e
    if name == "sum" and kind.kind == "f":
        function = _by_buffers(state, kind) if buffer() else _pairwise(state, kind)
        found = e.effect(f"call {kind.llvm} @{function}(ptr {at}, i64 {size})")
        return e.effect(f"fadd {kind.llvm} {found}, 0.0")
    if name == "prod" and kind.kind == "f":
        function = _by_loop(state, np.multiply, kind, "1.0")
    elif name in ("max", "min") and kind.kind == "f":
        function = extreme(state, name, kind)
    else:
        function = integers(state, name, kind)
    found = e.effect(f"call {memory(kind)} @{function}(ptr {at}, i64 {size}, ptr %raised)")
    return e.effect(f"icmp ne i8 {found}, 0") if kind.kind == "b" else found


def by_tiles(
    state: State, name: str, kind: Scalar, size: str, tile: Callable[[str, str], str], first: str = "0"
) -> str:
    """The fold of the elements from `first` up to `size`, which `tile` computes, some at a time: it is given
    the first index and the one after the last, and tells where they lie."""
    e, held = state.e, memory(kind)
    if kind.kind == "f" and not buffer():
        return e.effect(f"fadd {held} {_pairwise_by_tiles(state, kind, size, tile, first)}, 0.0")
    if kind.kind == "f":
        total = e.slot(held)
        e.line(f"store {held} 0.0, ptr {total}")
        e.declare("declare i64 @llvm.smin.i64(i64, i64)")

        def one_buffer(k: str) -> None:
            after = e.effect(f"add i64 {k}, {buffer()}")
            stop = e.effect(f"call i64 @llvm.smin.i64(i64 {after}, i64 {size})")
            found = _pairwise_by_tiles(state, kind, stop, tile, k)
            both = e.effect(f"fadd {held} {e.effect(f'load {held}, ptr {total}')}, {found}")
            e.line(f"store {held} {both}, ptr {total}")

        counted(e, first, size, buffer(), one_buffer)
        return e.effect(f"load {held}, ptr {total}")
    how = _step(name, kind)
    start = neutral(name, kind)
    cell = e.slot(held)
    e.line(f"store {held} {start}, ptr {cell}")
    head, body, out = e.block("tiles"), e.block("tile"), e.block("folded")
    before = e.here
    e.jump(head)
    e.start(head)
    k = e.phi(head, "i64")
    e.branch(e.effect(f"icmp slt i64 {k.name}, {size}"), body, out)
    e.start(body)
    with e.scope():
        after = e.effect(f"add i64 {k.name}, {TILE}")
        stop = e.effect(f"call i64 @llvm.smin.i64(i64 {after}, i64 {size})")
        e.declare("declare i64 @llvm.smin.i64(i64, i64)")
        at, count = tile(k.name, stop), e.effect(f"sub i64 {stop}, {k.name}")
        found = e.effect(f"call {held} @{integers(state, name, kind)}(ptr {at}, i64 {count}, ptr %raised)")
        old, new = e.effect(f"load {held}, ptr {cell}"), e.name()
        for text in _folding(how, new, old, found, held, "i1").splitlines():
            e.line(text.strip())
        e.line(f"store {held} {new}, ptr {cell}")
        k.ways = [(first, before.label), (after, e.here.label)]
        e.jump(head)
    e.start(out)
    value = e.effect(f"load {held}, ptr {cell}")
    return e.effect(f"icmp ne i8 {value}, 0") if kind.kind == "b" else value


def _pairwise_by_tiles(
    state: State, kind: Scalar, size: str, tile: Callable[[str, str], str], start: str
) -> str:
    """NumPy's pairwise sum, halved until a part fits a tile; `waiting` holds what is still to be added."""
    e, t = state.e, kind.llvm
    name, span = _pairwise(state, kind), minus(state.e, size, start)
    sums, sizes, ready = e.slot(f"[64 x {t}]"), e.slot("[64 x i64]"), e.slot("[64 x i8]")

    def place(cells: str, llvm: str, level: str) -> str:
        return e.effect(f"getelementptr {llvm}, ptr {cells}, i64 {level}")

    down, halve, leaf = e.block("down"), e.block("halve"), e.block("leaf")
    up, parent, second, add, out = (e.block(n) for n in ("up", "parent", "second", "add", "sum"))
    before = e.here
    e.jump(down)
    e.start(down)
    count, first, level = e.phi(down, "i64"), e.phi(down, "i64"), e.phi(down, "i64")
    e.branch(e.effect(f"icmp sgt i64 {count.name}, {TILE}"), halve, leaf)
    e.start(halve)
    half = e.effect(f"and i64 {e.effect(f'lshr i64 {count.name}, 1')}, -8")
    e.line(f"store i64 {e.effect(f'sub i64 {count.name}, {half}')}, ptr {place(sizes, 'i64', level.name)}")
    e.line(f"store i8 0, ptr {place(ready, 'i8', level.name)}")
    deeper = e.effect(f"add i64 {level.name}, 1")
    halved = e.here.label
    e.jump(down)
    e.start(leaf)
    with e.scope():
        stop = e.effect(f"add i64 {first.name}, {count.name}")
        at = tile(first.name, stop)
        found = e.effect(f"call {t} @{name}(ptr {at}, i64 {count.name})")
        ended = e.here.label
        e.jump(up)
    e.start(up)
    total, height = e.phi(up, t), e.phi(up, "i64")
    e.branch(e.effect(f"icmp eq i64 {height.name}, 0"), out, parent)
    e.start(parent)
    lower = e.effect(f"sub i64 {height.name}, 1")
    done = e.effect(f"load i8, ptr {place(ready, 'i8', lower)}")
    e.branch(e.effect(f"icmp eq i8 {done}, 0"), second, add)
    e.start(second)
    e.line(f"store i8 1, ptr {place(ready, 'i8', lower)}")
    e.line(f"store {t} {total.name}, ptr {place(sums, t, lower)}")
    rest = e.effect(f"load i64, ptr {place(sizes, 'i64', lower)}")
    going = e.here.label
    e.jump(down)
    e.start(add)
    both = e.effect(f"fadd {t} {e.effect(f'load {t}, ptr {place(sums, t, lower)}')}, {total.name}")
    added = e.here.label
    e.jump(up)
    count.ways = [(span, before.label), (half, halved), (rest, going)]
    first.ways = [(start, before.label), (first.name, halved), (stop, going)]
    level.ways = [("0", before.label), (deeper, halved), (height.name, going)]
    total.ways, height.ways = [(found, ended), (both, added)], [(level.name, ended), (lower, added)]
    e.start(out)
    return total.name


def _step(name: str, kind: Scalar) -> str:
    """The instruction of a fold."""
    if kind.kind == "b":
        return "and" if name in ("all", "min") else "or"
    sign = "s" if kind.kind == "i" else "u"
    return {"sum": "add", "prod": "mul", "max": f"{sign}gt", "min": f"{sign}lt"}[name]


def neutral(name: str, kind: Scalar) -> int:
    """What a fold begins with."""
    if kind.kind == "b":
        return 1 if name in ("all", "min") else 0
    least = -(1 << kind.bits - 1) if kind.kind == "i" else 0
    most = (1 << kind.bits - 1) - 1 if kind.kind == "i" else -1
    return {"sum": 0, "prod": 1, "max": least, "min": most}[name]


def _folding(how: str, new: str, old: str, x: str, wide: str, mask: str) -> str:
    """The text of one step."""
    if how.endswith(("gt", "lt")):
        test = f"  {new}c = icmp {how} {wide} {old}, {x}"
        return f"{test}\n  {new} = select {mask} {new}c, {wide} {old}, {wide} {x}"
    return f"  {new} = {how} {wide} {old}, {x}"


def define(state: State, name: str, result: str, body: str) -> str:
    head = f"define internal {result} @{name}(ptr %p, i64 %n, ptr %raised) noinline nounwind {BRIEFLY}"
    state.e.helpers[name] = f"{head} {{\n{body}}}"
    return name


def _eight_sums(t: str) -> str:
    """The text that adds a block of numbers up in eight running sums, eight vectors a trip, and these."""
    v = f"<8 x {t}>"
    parts = "\n".join(f"  %r{k} = extractelement {v} %sums, i32 {k}" for k in range(8))
    steps = [
        f"""  %g{k + 1} = add nuw nsw i64 %g, {8 * (k + 1)}
  %at{k} = getelementptr {t}, ptr %p, i64 %g{k or ""}
  %y{k} = load {v}, ptr %at{k}, align 1
  %t{k + 1} = fadd {v} %t{k}, %y{k}
"""
        for k in range(8)
    ]
    return f"""block:
  %whole = and i64 %n, -8
  %most = sub i64 %whole, {8 * (len(steps) - 1)}
  %first = load {v}, ptr %p, align 1
  br label %many
many:
  %g = phi i64 [ 8, %block ], [ %g{len(steps)}, %go ]
  %t0 = phi {v} [ %first, %block ], [ %t{len(steps)}, %go ]
  %further = icmp slt i64 %g, %most
  br i1 %further, label %go, label %eight
go:
{"".join(steps)}  br label %many
eight:
  %j = phi i64 [ %g, %many ], [ %j1, %next ]
  %sums = phi {v} [ %t0, %many ], [ %sums1, %next ]
  %again = icmp slt i64 %j, %whole
  br i1 %again, label %next, label %ended
next:
  %atj = getelementptr {t}, ptr %p, i64 %j
  %y = load {v}, ptr %atj, align 1
  %sums1 = fadd {v} %sums, %y
  %j1 = add i64 %j, 8
  br label %eight
ended:
{parts}
  %a0 = fadd {t} %r0, %r1
  %a1 = fadd {t} %r2, %r3
  %a2 = fadd {t} %r4, %r5
  %a3 = fadd {t} %r6, %r7
  %b0 = fadd {t} %a0, %a1
  %b1 = fadd {t} %a2, %a3
  %b = fadd {t} %b0, %b1"""


def _pairwise(state: State, kind: Scalar) -> str:
    """NumPy's pairwise sum."""
    name, t = f"pairwise_{kind.llvm}", kind.llvm
    if name in state.e.helpers:
        return name
    state.e.helpers[name] = f"""define internal {t} @{name}(ptr %p, i64 %n) noinline nounwind {BRIEFLY} {{
start:
  %few = icmp slt i64 %n, 8
  br i1 %few, label %single, label %several
single:
  %i = phi i64 [ 0, %start ], [ %i1, %one ]
  %s = phi {t} [ -0.0, %start ], [ %s1, %one ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %end
one:
  %at = getelementptr {t}, ptr %p, i64 %i
  %x = load {t}, ptr %at, align 1
  %s1 = fadd {t} %s, %x
  %i1 = add i64 %i, 1
  br label %single
end:
  ret {t} %s
several:
  %large = icmp sgt i64 %n, {BLOCK}
  br i1 %large, label %halves, label %block
{_eight_sums(t)}
  br label %rest
rest:
  %k = phi i64 [ %whole, %ended ], [ %k1, %left ]
  %q = phi {t} [ %b, %ended ], [ %q1, %left ]
  %still = icmp slt i64 %k, %n
  br i1 %still, label %left, label %out
left:
  %atk = getelementptr {t}, ptr %p, i64 %k
  %z = load {t}, ptr %atk, align 1
  %q1 = fadd {t} %q, %z
  %k1 = add i64 %k, 1
  br label %rest
out:
  ret {t} %q
halves:
  %half = sdiv i64 %n, 2
  %low = and i64 %half, -8
  %high = sub i64 %n, %low
  %mid = getelementptr {t}, ptr %p, i64 %low
  %sum1 = call {t} @{name}(ptr %p, i64 %low)
  %sum2 = call {t} @{name}(ptr %mid, i64 %high)
  %sum = fadd {t} %sum1, %sum2
  ret {t} %sum
}}"""
    return name


@functools.cache
def buffer() -> int:
    """How many floats NumPy adds up pairwise before it adds the next ones to their sum; 0: all of them.

    Before 2.3 it did so buffer by buffer, also where nothing had to be copied into one.
    """
    x = np.sin(np.arange(9001.0)) * np.exp(np.cos(np.arange(9001.0)))
    found, half = np.add.reduce(x), 4496
    if found == np.add.reduce(x[:half]) + np.add.reduce(x[half:]):
        return 0
    if found == np.add.reduce(x[:BUFFER]) + np.add.reduce(x[BUFFER:]):
        return BUFFER
    raise Unlowered("a sum of floats, whose order in this NumPy is not known")


def _by_buffers(state: State, kind: Scalar) -> str:
    """The sum of pairwise sums."""
    name, t = f"buffers_{kind.llvm}", kind.llvm
    inner = _pairwise(state, kind)
    state.e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    state.e.helpers[name] = f"""define internal {t} @{name}(ptr %p, i64 %n) noinline nounwind {BRIEFLY} {{
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %i1, %go ]
  %s = phi {t} [ 0.0, %start ], [ %s1, %go ]
  %left = sub i64 %n, %i
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %go, label %end
go:
  %count = call i64 @llvm.smin.i64(i64 %left, i64 {BUFFER})
  %at = getelementptr {t}, ptr %p, i64 %i
  %x = call {t} @{inner}(ptr %at, i64 %count)
  %s1 = fadd {t} %s, %x
  %i1 = add i64 %i, {BUFFER}
  br label %loop
end:
  ret {t} %s
}}"""
    return name


def _reduce_call(state: State, ufunc: np.ufunc, kind: Scalar, at: str, count: str) -> str:
    """The text that folds `count` elements into `%cell` by NumPy's own loop."""
    found = inner_loop(ufunc, [kind] * 3)
    if found is None:
        raise Unlowered(f"np.{ufunc.__name__}: its inner loop is not known")
    loop, data = state.loop(ufunc, [kind.dtype] * 3, found)
    state.e.outside = True
    return (
        f"call void @{caller(state.e, 3)}(ptr %cell, i64 0, ptr {at}, i64 {kind.dtype.itemsize}, "
        f"ptr %cell, i64 0, i64 {count}, ptr {loop}, ptr {data}, ptr %raised)"
    )


def _by_loop(state: State, ufunc: np.ufunc, kind: Scalar, start: str) -> str:
    """A fold by NumPy's own loop."""
    t, name = kind.llvm, f"fold_{ufunc.__name__}_{kind.llvm}"
    if name in state.e.helpers:
        return name
    call = _reduce_call(state, ufunc, kind, "%p", "%n")
    body = f"""start:
  %cell = alloca {t}, align 8
  store {t} {start}, ptr %cell
  {call}
  %found = load {t}, ptr %cell
  ret {t} %found
"""
    return define(state, name, t, body)


def _better(how: str, new: str, old: str, x: str, wide: str, mask: str) -> str:
    """The text that takes the better one of two floats."""
    test = f"  {new}c = fcmp {how} {wide} {old}, {x}"
    return f"{test}\n  {new} = select {mask} {new}c, {wide} {old}, {wide} {x}"


def _running(t: str, lanes: int, how: str) -> tuple[list[str], list[str], list[str]]:
    """The phis of several running extremes, what a trip does to them, and what makes one of them."""
    v, b = f"<{lanes} x {t}>", f"<{lanes} x i1>"
    last = RUNNING * (TURNS - 1)
    phis, steps, joins = [], [], []
    for k in range(RUNNING):
        phis.append(f"  %m{k} = phi {v} [ %top, %start ], [ %n{last + k}, %go ]")
        phis.append(f"  %u{k} = phi {b} [ zeroinitializer, %start ], [ %w{last + k}, %go ]")
    for k in range(RUNNING * TURNS):
        best, odd = (f"%m{k}", f"%u{k}") if k < RUNNING else (f"%n{k - RUNNING}", f"%w{k - RUNNING}")
        steps.append(f"""  %o{k} = add i64 %i, {k * lanes}
  %at{k} = getelementptr {t}, ptr %p, i64 %o{k}
  %x{k} = load {v}, ptr %at{k}, align 1
{_better(how, f"%n{k}", best, f"%x{k}", v, b)}
  %s{k} = fcmp uno {v} %x{k}, %x{k}
  %w{k} = or {b} {odd}, %s{k}""")
    for k in range(1, RUNNING):
        before, odd = ("%m0", "%u0") if k == 1 else (f"%j{k - 1}", f"%v{k - 1}")
        joins.append(_better(how, f"%j{k}", before, f"%m{k}", v, b))
        joins.append(f"  %v{k} = or {b} {odd}, %u{k}")
    return phis, steps, joins


def _halved(lanes: int, v: str, current: str, step: Callable[[str, str, str], str]) -> tuple[list[str], str]:
    """The text that folds the lanes of a vector, and the vector whose first lane is the result."""
    tree, width = [], lanes
    while width > 1:
        width //= 2
        half = ", ".join(f"i32 {k + width if k < width else k}" for k in range(lanes))
        tree.append(f"  %h{width} = shufflevector {v} {current}, {v} poison, <{lanes} x i32> <{half}>")
        tree.append(step(f"%f{width}", current, f"%h{width}"))
        current = f"%f{width}"
    return tree, current


def _singles(t: str, lanes: int, how: str) -> str:
    """The text that goes on vector by vector; the last one overlaps what was there before."""
    v, b = f"<{lanes} x {t}>", f"<{lanes} x i1>"
    return f"""singles:
  %sj = phi i64 [ %whole, %joined ], [ %sj1, %single ]
  %m = phi {v} [ %j{RUNNING - 1}, %joined ], [ %n9, %single ]
  %u = phi {b} [ %v{RUNNING - 1}, %joined ], [ %w, %single ]
  %over = icmp sge i64 %sj, %n
  %done = select i1 %small, i1 true, i1 %over
  br i1 %done, label %halved, label %single
single:
  %from = call i64 @llvm.smin.i64(i64 %sj, i64 %tail)
  %ats = getelementptr {t}, ptr %p, i64 %from
  %x = load {v}, ptr %ats, align 1
{_better(how, "%n9", "%m", "%x", v, b)}
  %ss = fcmp uno {v} %x, %x
  %w = or {b} %u, %ss
  %sj1 = add i64 %sj, {lanes}
  br label %singles"""


def _left(t: str, how: str) -> str:
    """The text that goes through elements that fill no vector."""
    return f"""rest:
  %k = phi i64 [ %begin, %halved ], [ %k1, %left ]
  %r = phi {t} [ %best, %halved ], [ %r1, %left ]
  %odd = phi i1 [ %odd0, %halved ], [ %odd1, %left ]
  %still = icmp slt i64 %k, %n
  br i1 %still, label %left, label %ended
left:
  %atk = getelementptr {t}, ptr %p, i64 %k
  %z = load {t}, ptr %atk, align 1
  %zc = fcmp {how} {t} %r, %z
  %r1 = select i1 %zc, {t} %r, {t} %z
  %zu = fcmp uno {t} %z, %z
  %odd1 = or i1 %odd, %zu
  %k1 = add i64 %k, 1
  br label %rest"""


def extreme(state: State, name: str, kind: Scalar) -> str:
    """The largest or smallest float; NaN and zeros by NumPy's own loop."""
    t, function = kind.llvm, f"{name}_{kind.llvm}"
    if function in state.e.helpers:
        return function
    lanes = vector_bytes() // kind.dtype.itemsize
    v, b, how = f"<{lanes} x {t}>", f"<{lanes} x i1>", "ogt" if name == "max" else "olt"
    ufunc = np.maximum if name == "max" else np.minimum
    call = _reduce_call(state, ufunc, kind, "%second", "%less")
    e = state.e
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    for instruction in ("stmxcsr", "ldmxcsr"):
        e.declare(f"declare void @llvm.x86.sse.{instruction}(ptr)")
    e.declare(f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({b})")
    phis, steps, joins = _running(t, lanes, how)
    count = RUNNING * TURNS
    tree, current = _halved(lanes, v, "%m", lambda new, old, x: _better(how, new, old, x, v, b))
    barrier = 'call void asm sideeffect "", "~{memory}"()'
    newline = "\n"
    body = f"""start:
  %cell = alloca {t}, align 8
  %control = alloca i32, align 4
  {barrier}
  call void @llvm.x86.sse.stmxcsr(ptr %control)
  {barrier}
  %head = load {t}, ptr %p, align 1
  %top0 = insertelement {v} poison, {t} %head, i32 0
  %top = shufflevector {v} %top0, {v} poison, <{lanes} x i32> zeroinitializer
  %whole = and i64 %n, {-count * lanes}
  %tail = sub i64 %n, {lanes}
  %small = icmp slt i64 %tail, 0
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %i1, %go ]
{newline.join(phis)}
  %more = icmp slt i64 %i, %whole
  br i1 %more, label %go, label %joined
go:
{newline.join(steps)}
  %i1 = add i64 %i, {count * lanes}
  br label %loop
joined:
{newline.join(joins)}
  br label %singles
{_singles(t, lanes, how)}
halved:
{newline.join(tree)}
  %best = extractelement {v} {current}, i32 0
  %odd0 = call i1 @llvm.vector.reduce.or.v{lanes}i1({b} %u)
  %begin = select i1 %small, i64 0, i64 %n
  br label %rest
{_left(t, how)}
ended:
  %nan = fcmp uno {t} %head, %head
  %zero = fcmp oeq {t} %r, 0.0
  %odd2 = or i1 %odd, %zero
  %odd3 = or i1 %odd2, %nan
  br i1 %odd3, label %other, label %plain
plain:
  ret {t} %r
other:
  {barrier}
  call void @llvm.x86.sse.ldmxcsr(ptr %control)
  {barrier}
  store {t} %head, ptr %cell
  %second = getelementptr {t}, ptr %p, i64 1
  %less = sub i64 %n, 1
  {call}
  %found = load {t}, ptr %cell
  ret {t} %found
"""
    return define(state, function, t, body)


def _normal(kind: Scalar, new: str, x: str, wide: str) -> str:
    """Bools in memory are true where they are not zero."""
    if kind.kind != "b":
        return f"  {new} = freeze {wide} {x}"
    mask = wide.replace("i8", "i1")
    zero = "0" if wide == "i8" else "zeroinitializer"
    return f"  {new}b = icmp ne {wide} {x}, {zero}\n  {new} = zext {mask} {new}b to {wide}"


def integers(state: State, name: str, kind: Scalar) -> str:
    """A fold whose order does not matter."""
    t, function = memory(kind), f"{name}_{kind.dtype.num}"
    if function in state.e.helpers:
        return function
    lanes = vector_bytes() // kind.dtype.itemsize
    v, b = f"<{lanes} x {t}>", f"<{lanes} x i1>"
    start, how = neutral(name, kind), _step(name, kind)
    last = RUNNING * (MORE - 1)
    again = name not in ("sum", "prod")  # whether an element may count twice: those of the last whole vector

    state.e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    tree, current = _halved(lanes, v, "%m", lambda new, old, x: _folding(how, new, old, x, v, b))
    newline, phis, steps, joins = "\n", [], [], [f"  %c0 = freeze {v} %w0"]
    for k in range(RUNNING):
        phis.append(f"  %w{k} = phi {v} [ splat ({t} {start}), %start ], [ %n{last + k}, %side ]")
        if k:
            joins.append(_folding(how, f"%c{k}", f"%c{k - 1}", f"%w{k}", v, b))
    for k in range(RUNNING * MORE):
        steps.append(f"""  %o{k} = add i64 %wi, {k * lanes}
  %at{k} = getelementptr {t}, ptr %p, i64 %o{k}
  %x{k} = load {v}, ptr %at{k}, align 1
{_normal(kind, f"%y{k}", f"%x{k}", v)}
{_folding(how, f"%n{k}", f"%w{k}" if k < RUNNING else f"%n{k - RUNNING}", f"%y{k}", v, b)}""")
    body = f"""start:
  %tail = sub i64 %n, {lanes}
  %small = icmp slt i64 %tail, 0
  %whole = {"select i1 %small, i64 0, i64 %n" if again else f"and i64 %n, {-lanes}"}
  %many = and i64 %n, {-lanes * RUNNING * MORE}
  br label %wide
wide:
  %wi = phi i64 [ 0, %start ], [ %wi1, %side ]
{newline.join(phis)}
  %further = icmp slt i64 %wi, %many
  br i1 %further, label %side, label %loop0
side:
{newline.join(steps)}
  %wi1 = add i64 %wi, {lanes * RUNNING * MORE}
  br label %wide
loop0:
{newline.join(joins)}
  br label %loop
loop:
  %i = phi i64 [ %wi, %loop0 ], [ %i1, %go ]
  %m = phi {v} [ %c{RUNNING - 1}, %loop0 ], [ %m1, %go ]
  %more = icmp slt i64 %i, %whole
  br i1 %more, label %go, label %joined
go:
  %from = call i64 @llvm.smin.i64(i64 %i, i64 %tail)
  %at = getelementptr {t}, ptr %p, i64 %from
  %x = load {v}, ptr %at, align 1
{_normal(kind, "%y", "%x", v)}
{_folding(how, "%m1", "%m", "%y", v, b)}
  %i1 = add i64 %i, {lanes}
  br label %loop
joined:
{newline.join(tree)}
  %best = extractelement {v} {current}, i32 0
  br label %rest
rest:
  %k = phi i64 [ %whole, %joined ], [ %k1, %left ]
  %r = phi {t} [ %best, %joined ], [ %r1, %left ]
  %still = icmp slt i64 %k, %n
  br i1 %still, label %left, label %ended
left:
  %atk = getelementptr {t}, ptr %p, i64 %k
  %z = load {t}, ptr %atk, align 1
{_normal(kind, "%zz", "%z", t)}
{_folding(how, "%r1", "%r", "%zz", t, "i1")}
  %k1 = add i64 %k, 1
  br label %rest
ended:
  ret {t} %r
"""
    return define(state, function, t, body)
