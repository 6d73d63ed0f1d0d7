"""Lines of memory folded into one number: functions of the module, one for each kind of fold and dtype.

In: the name of a fold, a dtype, the address and length of elements that lie side by side.  Out: the number.
What always holds: sums of floats are NumPy's pairwise sums bit for bit; where the order would matter to an
extreme (equal zeros of two signs) or NaN is in the line, NumPy's own loop says what it is.
"""

from __future__ import annotations

import numpy as np

from runtime.execute.native.arrays import memory
from runtime.execute.native.kinds import Scalar, Unlowered
from runtime.execute.native.lines import vector_bytes
from runtime.execute.native.state import State
from runtime.execute.native.ufunc_loops import caller, inner_loop

BLOCK = 128  # elements that NumPy adds in eight running sums


def fold(state: State, name: str, kind: Scalar, at: str, size: str) -> str:
    """The fold of `size` elements at an address."""
    e = state.e
    if name == "sum" and kind.kind == "f":
        function = _pairwise(state, kind)
        found = e.effect(f"call {kind.llvm} @{function}(ptr {at}, i64 {size})")
        return e.effect(f"fadd {kind.llvm} {found}, 0.0")
    if name == "prod" and kind.kind == "f":
        function = _by_loop(state, np.multiply, kind, "1.0")
    elif name in ("max", "min") and kind.kind == "f":
        function = _extreme(state, name, kind)
    else:
        function = _integers(state, name, kind)
    found = e.effect(f"call {memory(kind)} @{function}(ptr {at}, i64 {size}, ptr %raised)")
    return e.effect(f"icmp ne i8 {found}, 0") if kind.kind == "b" else found


def _define(state: State, name: str, result: str, body: str) -> str:
    state.e.helpers[name] = (
        f"define internal {result} @{name}(ptr %p, i64 %n, ptr %raised) noinline nounwind {{\n{body}}}"
    )
    return name


def _pairwise(state: State, kind: Scalar) -> str:
    """NumPy's pairwise sum."""
    name, t = f"pairwise_{kind.llvm}", kind.llvm
    if name in state.e.helpers:
        return name
    v = f"<8 x {t}>"
    parts = "\n".join(f"  %r{k} = extractelement {v} %sums, i32 {k}" for k in range(8))
    state.e.helpers[name] = f"""define internal {t} @{name}(ptr %p, i64 %n) noinline nounwind {{
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
block:
  %whole = and i64 %n, -8
  %first = load {v}, ptr %p, align 1
  br label %eight
eight:
  %j = phi i64 [ 8, %block ], [ %j1, %next ]
  %sums = phi {v} [ %first, %block ], [ %sums1, %next ]
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
  %b = fadd {t} %b0, %b1
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
    return _define(state, name, t, body)


def _extreme(state: State, name: str, kind: Scalar) -> str:
    """The largest or smallest float; NaN and zeros by NumPy's own loop."""
    t, function = kind.llvm, f"{name}_{kind.llvm}"
    if function in state.e.helpers:
        return function
    lanes = vector_bytes() // kind.dtype.itemsize
    v, b, how = f"<{lanes} x {t}>", f"<{lanes} x i1>", "ogt" if name == "max" else "olt"
    ufunc = np.maximum if name == "max" else np.minimum
    call = _reduce_call(state, ufunc, kind, "%second", "%less")
    e = state.e
    for text in (
        "declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)",
        f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({b})",
    ):  # fmt: skip
        e.declare(text)
    count = 4
    phis, steps, joins = [], [], []
    for k in range(count):
        phis.append(f"  %m{k} = phi {v} [ %top, %start ], [ %n{k}, %go ]")
        phis.append(f"  %u{k} = phi {b} [ zeroinitializer, %start ], [ %w{k}, %go ]")
        steps.append(f"""  %o{k} = add i64 %i, {k * lanes}
  %at{k} = getelementptr {t}, ptr %p, i64 %o{k}
  %x{k} = load {v}, ptr %at{k}, align 1
  %c{k} = fcmp {how} {v} %m{k}, %x{k}
  %n{k} = select {b} %c{k}, {v} %m{k}, {v} %x{k}
  %s{k} = fcmp uno {v} %x{k}, %x{k}
  %w{k} = or {b} %u{k}, %s{k}""")
    for k in range(1, count):
        before = "%m0" if k == 1 else f"%j{k - 1}"
        odd = "%u0" if k == 1 else f"%v{k - 1}"
        joins.append(f"""  %d{k} = fcmp {how} {v} {before}, %m{k}
  %j{k} = select {b} %d{k}, {v} {before}, {v} %m{k}
  %v{k} = or {b} {odd}, %u{k}""")
    tree, width, current = [], lanes, f"%j{count - 1}"
    while width > 1:
        width //= 2
        half = ", ".join(f"i32 {k + width if k < width else k}" for k in range(lanes))
        tree.append(f"""  %h{width} = shufflevector {v} {current}, {v} poison, <{lanes} x i32> <{half}>
  %g{width} = fcmp {how} {v} {current}, %h{width}
  %f{width} = select {b} %g{width}, {v} {current}, {v} %h{width}""")
        current = f"%f{width}"
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
{newline.join(tree)}
  %best = extractelement {v} {current}, i32 0
  %odd0 = call i1 @llvm.vector.reduce.or.v{lanes}i1({b} %v{count - 1})
  br label %rest
rest:
  %k = phi i64 [ %whole, %joined ], [ %k1, %left ]
  %r = phi {t} [ %best, %joined ], [ %r1, %left ]
  %odd = phi i1 [ %odd0, %joined ], [ %odd1, %left ]
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
  br label %rest
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
    return _define(state, function, t, body)


def _integers(state: State, name: str, kind: Scalar) -> str:
    """A fold whose order does not matter."""
    t, function = memory(kind), f"{name}_{kind.dtype.num}"
    if function in state.e.helpers:
        return function
    lanes = vector_bytes() // kind.dtype.itemsize
    v, b = f"<{lanes} x {t}>", f"<{lanes} x i1>"
    least = -(1 << kind.bits - 1) if kind.kind == "i" else 0
    most = (1 << kind.bits - 1) - 1 if kind.kind == "i" else -1
    sign = "s" if kind.kind == "i" else "u"
    start = {"sum": 0, "prod": 1, "max": least, "min": most, "any": 0, "all": 1}[name]
    if kind.kind == "b":
        start = 1 if name in ("all", "min") else 0
        how = "and" if name in ("all", "min") else "or"
    else:
        how = {"sum": "add", "prod": "mul", "max": f"{sign}gt", "min": f"{sign}lt"}[name]

    def step(new: str, old: str, x: str, wide: str, mask: str) -> str:
        if how.endswith(("gt", "lt")):
            return (
                f"  {new}c = icmp {how} {wide} {old}, {x}\n"
                f"  {new} = select {mask} {new}c, {wide} {old}, {wide} {x}"
            )
        return f"  {new} = {how} {wide} {old}, {x}"

    def normal(new: str, x: str, wide: str) -> str:
        """Bools in memory are true where they are not zero."""
        if kind.kind != "b":
            return f"  {new} = freeze {wide} {x}"
        mask = wide.replace("i8", "i1")
        zero = "0" if wide == "i8" else "zeroinitializer"
        return f"  {new}b = icmp ne {wide} {x}, {zero}\n  {new} = zext {mask} {new}b to {wide}"

    tree, width, current = [], lanes, "%m"
    while width > 1:
        width //= 2
        half = ", ".join(f"i32 {k + width if k < width else k}" for k in range(lanes))
        tree.append(f"  %h{width} = shufflevector {v} {current}, {v} poison, <{lanes} x i32> <{half}>")
        tree.append(step(f"%f{width}", current, f"%h{width}", v, b))
        current = f"%f{width}"
    newline = "\n"
    body = f"""start:
  %whole = and i64 %n, {-lanes}
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %i1, %go ]
  %m = phi {v} [ splat ({t} {start}), %start ], [ %m1, %go ]
  %more = icmp slt i64 %i, %whole
  br i1 %more, label %go, label %joined
go:
  %at = getelementptr {t}, ptr %p, i64 %i
  %x = load {v}, ptr %at, align 1
{normal("%y", "%x", v)}
{step("%m1", "%m", "%y", v, b)}
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
{normal("%zz", "%z", t)}
{step("%r1", "%r", "%zz", t, "i1")}
  %k1 = add i64 %k, 1
  br label %rest
ended:
  ret {t} %r
"""
    return _define(state, function, t, body)
