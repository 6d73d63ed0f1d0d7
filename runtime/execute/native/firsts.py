"""Where the first of the largest or smallest elements of a line is: functions of the module, one by dtype.

In: the name, a dtype, the address and length of elements that lie side by side.  Out: an index.  What always
holds: the first NaN comes before all else, and zeros of both signs are alike, as NumPy has it.
"""

from __future__ import annotations

from runtime.execute.native import folds
from runtime.execute.native.arrays import memory
from runtime.execute.native.host import vector_bytes
from runtime.execute.native.kinds import Scalar
from runtime.execute.native.state import State

BLOCK = 2048  # elements that are gone through a second time, at most: those in which an extreme is


def first(state: State, name: str, kind: Scalar, at: str, size: str) -> str:
    """The index of the first extreme (name: argmax or argmin) of `size` elements at an address."""
    return state.e.effect(f"call i64 @{_by_blocks(state, name, kind)}(ptr {at}, i64 {size}, ptr %raised)")


def _same(kind: Scalar, new: str, x: str, wide: str, best: str, boolean: str) -> str:
    """The text that compares elements with the extreme; NaN is one."""
    if kind.kind != "f":
        return f"  {new} = icmp eq {wide} {x}, {best}"
    return f"""  {new}e = fcmp oeq {wide} {x}, {best}
  {new}n = fcmp uno {wide} {x}, {x}
  {new} = or {boolean} {new}e, {new}n"""


def _extreme(state: State, name: str, kind: Scalar) -> str:
    """The name of the function that finds the extreme itself."""
    find = folds.extreme if kind.kind == "f" else folds.integers
    return find(state, name[3:], kind)


def _by_blocks(state: State, name: str, kind: Scalar) -> str:
    """A function that looks for the extreme block by block, and for its place in the block that has it."""
    t, function = memory(kind), f"{name}_{kind.dtype.num}"
    if function in state.e.helpers:
        return function
    extreme, find = _extreme(state, name, kind), _place(state, kind)
    how = {"f": "o", "i": "s"}.get(kind.kind, "u") + ("gt" if name == "argmax" else "lt")
    compare = "fcmp" if kind.kind == "f" else "icmp"
    nan = f"fcmp uno {t}" if kind.kind == "f" else f"icmp ugt {t}"  # no integer is above itself
    state.e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    body = f"""start:
  %head = call i64 @llvm.smin.i64(i64 %n, i64 {BLOCK})
  %best0 = call {t} @{extreme}(ptr %p, i64 %head, ptr %raised)
  br label %loop
loop:
  %i = phi i64 [ {BLOCK}, %start ], [ %i1, %go ]
  %best = phi {t} [ %best0, %start ], [ %best1, %go ]
  %where = phi i64 [ 0, %start ], [ %where1, %go ]
  %more = icmp slt i64 %i, %n
  %odd = {nan} %best, %best
  %stay = xor i1 %odd, true
  %on = and i1 %more, %stay
  br i1 %on, label %go, label %found
go:
  %rest = sub i64 %n, %i
  %count = call i64 @llvm.smin.i64(i64 %rest, i64 {BLOCK})
  %at = getelementptr {t}, ptr %p, i64 %i
  %x = call {t} @{extreme}(ptr %at, i64 %count, ptr %raised)
  %beyond = {compare} {how} {t} %x, %best
  %odd1 = {nan} %x, %x
  %better = or i1 %beyond, %odd1
  %best1 = select i1 %better, {t} %x, {t} %best
  %where1 = select i1 %better, i64 %i, i64 %where
  %i1 = add i64 %i, {BLOCK}
  br label %loop
found:
  %left = sub i64 %n, %where
  %few = call i64 @llvm.smin.i64(i64 %left, i64 {BLOCK})
  %from = getelementptr {t}, ptr %p, i64 %where
  %inside = call i64 @{find}(ptr %from, i64 %few, {t} %best)
  %index = add i64 %where, %inside
  ret i64 %index
"""
    return folds.define(state, function, "i64", body)


def _place(state: State, kind: Scalar) -> str:
    """A function that finds the first place of a number that is there."""
    t, function = memory(kind), f"place_{kind.dtype.num}"
    lanes = vector_bytes() // kind.dtype.itemsize
    v, mask, bits = f"<{lanes} x {t}>", f"<{lanes} x i1>", f"i{lanes}"
    state.e.declare(f"declare {bits} @llvm.cttz.{bits}({bits}, i1)")
    state.e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    state.e.helpers[
        function
    ] = f"""define internal i64 @{function}(ptr %p, i64 %n, {t} %best) noinline nounwind {{
start:
  %best0 = insertelement {v} poison, {t} %best, i32 0
  %every = shufflevector {v} %best0, {v} poison, <{lanes} x i32> zeroinitializer
  %tail = sub i64 %n, {lanes}
  %small = icmp slt i64 %tail, 0
  br i1 %small, label %rest, label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %i1, %on ]
  %from = call i64 @llvm.smin.i64(i64 %i, i64 %tail)
  %at = getelementptr {t}, ptr %p, i64 %from
  %x = load {v}, ptr %at, align 1
{_same(kind, "%m", "%x", v, "%every", mask)}
  %set = bitcast {mask} %m to {bits}
  %none = icmp eq {bits} %set, 0
  br i1 %none, label %on, label %here
on:
  %i1 = add i64 %i, {lanes}
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %loop, label %nowhere
here:
  %lane = call {bits} @llvm.cttz.{bits}({bits} %set, i1 true)
  %lane64 = {"zext" if lanes < 64 else "freeze"} {bits} %lane{" to i64" if lanes < 64 else ""}
  %found = add i64 %from, %lane64
  ret i64 %found
rest:
  %k = phi i64 [ 0, %start ], [ %k1, %left ]
  %still = icmp slt i64 %k, %n
  br i1 %still, label %left, label %nowhere
left:
  %atk = getelementptr {t}, ptr %p, i64 %k
  %z = load {t}, ptr %atk, align 1
  %k1 = add i64 %k, 1
{_same(kind, "%q", "%z", t, "%best", "i1")}
  br i1 %q, label %out, label %rest
out:
  ret i64 %k
nowhere:
  ret i64 0
}}"""
    return function
