"""NumPy's own inner loops as native callees: what a ufunc runs per element, callable without Python.

In: a ufunc and the dtypes of a loop.  Out: the addresses of the loop and of its data; calls of it.  What
always holds: the loop found is the one NumPy itself takes for these dtypes: the first whose types match; the
flags that were raised before a call are put away first, since a loop may clear them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from runtime.execute.native.emit import BRIEFLY, FLAGS, Emitter
from runtime.execute.native.gang import Gang
from runtime.execute.native.kinds import Scalar
from runtime.execute.native.state import State


class _UFunc(ctypes.Structure):
    """The public head of a ufunc object, as NumPy's header declares it."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_char)),
    )


def inner_loop(ufunc: np.ufunc, kinds: list[Scalar]) -> tuple[int, int] | None:
    """(address of the loop, address of its data) for operands and results of these kinds, or None."""
    seen = _UFunc.from_address(id(ufunc))
    if (seen.nin, seen.nout, seen.ntypes) != (ufunc.nin, ufunc.nout, ufunc.ntypes):
        return None
    if seen.name != ufunc.__name__.encode():
        return None
    wanted = bytes(k.dtype.num for k in kinds)
    for k in range(seen.ntypes):
        if seen.types[k * seen.nargs : (k + 1) * seen.nargs] == wanted and seen.functions[k]:
            return seen.functions[k], seen.data[k] or 0
    return None


def call_loop(
    state: State, ufunc: np.ufunc, kinds: Sequence[Scalar], found: tuple[int, int],
    operands: Sequence[tuple[str, str]], count: str,
) -> None:  # fmt: skip
    """Call a loop on memory: an (address, byte step) for each operand and result."""
    e = state.e
    name = caller(e, len(operands))
    loop, data = state.loop(ufunc, [k.dtype for k in kinds], found)
    places = ", ".join(f"ptr {at}, i64 {step}" for at, step in operands)
    e.outside = True
    e.line(f"call void @{name}({places}, i64 {count}, ptr {loop}, ptr {data}, ptr %raised)")
    e.version += 1


def call_on_lanes(
    state: State, ufunc: np.ufunc, kinds: Sequence[Scalar], found: tuple[int, int], xs: Sequence[str],
    counting: str = "",
) -> str:  # fmt: skip
    """A loop on the elements of vectors.  counting: on those that count alone; the others are 0."""
    e = state.e
    cells, count = [e.slot(e.wide(kind.llvm)) for kind in kinds], str(e.lanes)
    suffixes = [f"v{e.lanes}{ {'double': 'f64', 'float': 'f32'}.get(k.llvm, k.llvm) }" for k in kinds]
    mask = f"{e.wide('i1')} {counting}"
    for cell, x, kind, suffix in zip(cells, xs, kinds, suffixes, strict=False):
        if counting:
            function = f"llvm.masked.compressstore.{suffix}"
            e.declare(f"declare void @{function}({e.wide(kind.llvm)}, ptr, {e.wide('i1')})")
            e.line(f"call void @{function}({e.wide(kind.llvm)} {x}, ptr {cell}, {mask})")
        else:
            e.line(f"store {e.wide(kind.llvm)} {x}, ptr {cell}, align 8")
    if counting:
        bits = f"i{e.lanes}"
        which = e.effect(f"bitcast {mask} to {bits}")
        count = e.effect(f"zext {bits} {e.call(bits, f'llvm.ctpop.{bits}', (bits, which))} to i64")
    operands = [(cell, str(kind.dtype.itemsize)) for cell, kind in zip(cells, kinds, strict=True)]
    version = e.version
    call_loop(state, ufunc, kinds, found, operands, count)
    e.version = version  # only cells of its own were written
    out = e.wide(kinds[-1].llvm)
    if not counting:
        return e.effect(f"load {out}, ptr {cells[-1]}, align 8")
    function = f"llvm.masked.expandload.{suffixes[-1]}"
    e.declare(f"declare {out} @{function}(ptr, {e.wide('i1')}, {out})")
    return e.effect(f"call {out} @{function}(ptr {cells[-1]}, {mask}, {out} zeroinitializer)")


def call_on_gang(
    state: State, gang: Gang, ufunc: np.ufunc, kinds: Sequence[Scalar], found: tuple[int, int],
    xs: Sequence[str],
) -> str:  # fmt: skip
    """A loop on the elements of a gang that count."""
    e, made = state.e, []
    counting = gang.counting(e) if gang.varies(e.when) else ("",) * gang.count
    spread = [gang.spread(e, kind.llvm, x) for x, kind in zip(xs, kinds, strict=False)]
    e.gang, e.lanes = None, gang.lanes
    for k in range(gang.count):
        made.append(call_on_lanes(state, ufunc, kinds, found, [parts[k] for parts in spread], counting[k]))
    e.gang, e.lanes = gang, 1
    return gang.joined(e, made)


def put_away(e: Emitter) -> None:
    """Code outside is about to be called that begins and ends without flags: those raised so far are kept."""
    e.leaving()
    for name in ("fetestexcept", "feclearexcept"):
        e.declare(f"declare i32 @autograph_{name}(i32)")
    if e.watch:
        now = e.effect(f"call i32 @autograph_fetestexcept(i32 {FLAGS})")
        before = e.effect("load i32, ptr %raised")
        e.line(f"store i32 {e.effect(f'or i32 {before}, {now}')}, ptr %raised")
    e.line(f"call i32 @autograph_feclearexcept(i32 {FLAGS})")


def forget(e: Emitter) -> None:
    """NumPy does not hear of what it has raised."""
    e.line(f"call i32 @autograph_feclearexcept(i32 {FLAGS})")


def caller(e: Emitter, count: int) -> str:
    """The name of a function of the module that calls a loop of so many operands and results."""
    name = f"by_loop_{count}"
    if name in e.helpers:
        return name
    lines = [f"%{what} = alloca [{count} x i64], align 8" for what in ("at", "step")]
    lines.append("%counts = alloca i64, align 8")
    for k in range(count):
        lines += [
            f"%at{k} = getelementptr i64, ptr %at, i64 {k}",
            f"store ptr %a{k}, ptr %at{k}",
            f"%step{k} = getelementptr i64, ptr %step, i64 {k}",
            f"store i64 %s{k}, ptr %step{k}",
        ]
    lines.append("store i64 %n, ptr %counts")
    if e.reports:
        e.declare("declare i32 @autograph_fetestexcept(i32)")
        lines += [
            f"%now = call i32 @autograph_fetestexcept(i32 {FLAGS})",
            "%before = load i32, ptr %raised",
            "%all = or i32 %before, %now",
            "store i32 %all, ptr %raised",
        ]
    lines += ["call void %loop(ptr %at, ptr %counts, ptr %step, ptr %data)", "ret void"]
    arguments = ", ".join(f"ptr %a{k}, i64 %s{k}" for k in range(count))
    body = "\n".join(f"  {line}" for line in lines)
    e.helpers[name] = (
        f"define internal void @{name}({arguments}, i64 %n, ptr %loop, ptr %data, ptr %raised) "
        f"noinline nounwind {BRIEFLY} {{\n{body}\n}}"
    )
    return name
