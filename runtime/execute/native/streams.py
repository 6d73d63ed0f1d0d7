"""Random streams that native code draws from: what state they are in, and how they get back to it.

In: streams.  Out: a function that puts them back.  What always holds: native code that leaves a call to the
plan puts its streams back first, so that the plan draws what plain Python would have drawn; it touches a
stream only while nobody else draws from it, as NumPy's methods do by a lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import random
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.execute.native.emit import COLD, Block, Emitter
from runtime.ir.graph import Const, Graph
from runtime.ir.walk import walk_nodes
from runtime.ops.draws import methods_of
from runtime.types import ObjectType

_GET: Callable[[Any, bytes], int] = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def is_stream(cls: Any) -> bool:
    """Whether it is a class of random streams that native code knows."""
    return methods_of(cls) is not None


def fixed(cls: Any) -> bool:
    """Whether its instances have no attributes but those of the class, which nobody can change."""
    return is_stream(cls) and not cls.__flags__ & (1 << 9)


def drawing(graph: Graph) -> bool:
    """Whether there may be draws in a graph."""
    if any(isinstance(p.type, ObjectType) and fixed(p.type.cls) for p in graph.params):
        return True
    called = (node.inputs[0] for node in walk_nodes(graph) if node.op == "py.call")
    return any(isinstance(x, Const) and owner(x.value) is not None for x in called)


def owner(method: Any) -> Any:
    """The stream of which a value is a method; None of others."""
    if not isinstance(method, (types.MethodType, types.BuiltinFunctionType)):
        return None
    return method.__self__ if is_stream(type(method.__self__)) else None


def _bits(stream: Any) -> Any:
    """What a stream of NumPy's draws its bits from."""
    if type(stream) is np.random.Generator:
        return stream.bit_generator
    return stream._bit_generator if type(stream) is np.random.RandomState else None


def pointer(stream: Any) -> int:
    """The address of the struct that NumPy's C functions take; 0 for streams of Python's own."""
    bits = _bits(stream)
    return 0 if bits is None else _GET(bits.capsule, b"BitGenerator")


def kept(at: int, *streams: Any) -> tuple[Callable[[], object], ...]:
    """What puts the streams back into the state that they are in now, and what takes and leaves their locks.

    at: where their addresses are written to."""
    ways = []
    for k, stream in enumerate(streams):
        ctypes.c_void_p.from_address(at + 8 * k).value = pointer(stream)
        with _alone(stream):
            ways.append(_kept(stream))

    def put_back() -> None:
        for stream, (way, state) in zip(streams, ways, strict=True):
            with _alone(stream):
                way(state)

    locks = [bits.lock for bits in map(_bits, streams) if bits is not None]
    return put_back, *(way for lock in locks for way in (lock.acquire, lock.release))


def _alone(stream: Any) -> contextlib.AbstractContextManager[object]:
    """While nobody else draws from a stream: who draws many numbers changes its state all the time."""
    bits = _bits(stream)
    return contextlib.nullcontext() if bits is None else bits.lock


def _kept(stream: Any) -> tuple[Callable[[Any], object], Any]:
    """What puts one stream into a state, and the state it is in."""
    if type(stream) is np.random.Generator:
        bits = stream.bit_generator
        return functools.partial(setattr, bits, "state"), bits.state
    if type(stream) is random.Random:
        return stream.setstate, stream.getstate()
    return stream.set_state, stream.get_state(legacy=False)


def symbols() -> dict[str, int]:
    """The addresses that the code below refers to."""
    return {"autograph_streams": id(kept)}


# Wait until nobody draws from any of the streams: who draws many numbers does so without Python's lock.
UNLOCKED = f"""define internal i32 @unlocked(ptr %held) {COLD} {{
begin:
  %n = call i64 @PyTuple_Size(ptr %held)
  br label %head
head:
  %k = phi i64 [ 1, %begin ], [ %next, %done ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %ask, label %fine
ask:
  %way = call ptr @PyTuple_GetItem(ptr %held, i64 %k)
  %got = call ptr @PyObject_Vectorcall(ptr %way, ptr %held, i64 0, ptr null)
  %lost = icmp eq ptr %got, null
  br i1 %lost, label %failed, label %done
done:
  call void @Py_DecRef(ptr %got)
  %next = add i64 %k, 1
  br label %head
fine:
  ret i32 0
failed:
  ret i32 1
}}
define internal i32 @breathe_drawing(ptr %held) {COLD} {{
  %failed = call i32 @breathe()
  %stop = icmp ne i32 %failed, 0
  br i1 %stop, label %out, label %wait
wait:
  %late = call i32 @unlocked(ptr %held)
  ret i32 %late
out:
  ret i32 1
}}"""


def keep(
    e: Emitter,
    symbol: Callable[[str], str],
    streams: Sequence[str],
    objects: Sequence[str],
    saved: Sequence[str],
    bail: Block,
) -> tuple[str, str]:
    """Where the addresses of the streams are, and what puts them back.

    streams: symbols, or names of arguments, which are `objects`.  saved: references to be let go, and `bail`:
    where to go on, where it fails."""
    count = len(streams)
    bits, given = e.slot(f"[{count} x ptr]"), e.slot(f"[{count + 1} x ptr]")
    at = e.effect(f"call ptr @PyLong_FromLongLong(i64 {e.effect(f'ptrtoint ptr {bits} to i64')})")
    for k, text in enumerate((at, *streams)):
        obj = objects[int(text[2:])] if text.startswith("%p") and text[2:].isdigit() else text
        e.line(f"store ptr {obj}, ptr {e.op(f'getelementptr ptr, ptr {given}, i64 {k}')}")
    function = symbol("autograph_streams")
    held = e.effect(f"call ptr @PyObject_Vectorcall(ptr {function}, ptr {given}, i64 {count + 1}, ptr null)")
    known, failed, late, fine = (e.block(name) for name in ("known", "failed", "late", "kept"))
    error, stopped = e.block("error"), e.block("interrupted")
    e.branch(e.effect(f"icmp ne ptr {held}, null"), known, failed)

    def let_go(*references: str) -> None:
        for x in references:
            e.line(f"call void @Py_DecRef(ptr {x})")

    e.start(failed)
    outside = e.effect(f"call i1 @from_outside(ptr {function}, ptr {given}, i64 {count + 1})")
    let_go(at, *saved)
    e.branch(outside, stopped, error)
    e.start(known)
    let_go(at)
    e.branch(e.effect(f"icmp eq i32 {e.effect(f'call i32 @unlocked(ptr {held})')}, 0"), fine, late)
    e.start(late)
    let_go(held, *saved)
    e.jump(stopped)
    e.start(stopped)
    e.end("ret ptr null")
    e.start(error)
    e.jump(bail)
    e.start(fine)
    return bits, held


def put_back(e: Emitter, held: str, release: Callable[[], None]) -> None:
    """Put the streams back; where that raises, the call does.  release: lets everything go before it ends."""
    e.line("call void @PyErr_Clear()")
    way = e.effect(f"call ptr @PyTuple_GetItem(ptr {held}, i64 0)")
    done = e.effect(f"call ptr @PyObject_Vectorcall(ptr {way}, ptr {e.slot('ptr')}, i64 0, ptr null)")
    fine, wrong = e.block("back"), e.block("wrong")
    e.branch(e.effect(f"icmp ne ptr {done}, null"), fine, wrong)
    e.start(wrong)
    release()
    e.end("ret ptr null")
    e.start(fine)
    e.line(f"call void @Py_DecRef(ptr {done})")
