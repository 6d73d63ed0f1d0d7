"""Random streams that native code draws from: what state they are in, and how they get back to it.

In: streams.  Out: a function that puts them back.  What always holds: native code that leaves a call to the
plan puts its streams back first, so that the plan draws what plain Python would have drawn.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.execute.native.emit import Block, Emitter
from runtime.ops.draws import methods_of


def is_stream(cls: Any) -> bool:
    """Whether it is a class of random streams that native code knows."""
    return methods_of(cls) is not None


def fixed(cls: Any) -> bool:
    """Whether its instances have no attributes but those of the class, which nobody can change."""
    return is_stream(cls) and not cls.__flags__ & (1 << 9)


def kept(*streams: Any) -> Callable[[], None]:
    """What puts the streams back into the state that they are in now."""
    ways = [_kept(stream) for stream in streams]

    def put_back() -> None:
        for way, state in ways:
            way(state)

    return put_back


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
    return {"autograph_streams": id(kept), "autograph_Exception": id(Exception)}


def keep(
    e: Emitter,
    symbol: Callable[[str], str],
    streams: Sequence[str],
    objects: Sequence[str],
    saved: Sequence[str],
    bail: Block,
) -> str:
    """Keep what puts the streams back, where there are any.

    streams: symbols, or names of arguments, which are `objects`.  saved: references to be let go, and `bail`:
    where to go on, where it fails."""
    if not streams:
        return ""
    given = e.slot(f"[{len(streams)} x ptr]")
    for k, text in enumerate(streams):
        obj = objects[int(text[2:])] if text.startswith("%p") else text
        e.line(f"store ptr {obj}, ptr {e.op(f'getelementptr ptr, ptr {given}, i64 {k}')}")
    function, count = symbol("autograph_streams"), len(streams)
    back = e.effect(f"call ptr @PyObject_Vectorcall(ptr {function}, ptr {given}, i64 {count}, ptr null)")
    held, lost, error, stopped = (e.block(name) for name in ("kept", "lost", "error", "interrupted"))
    e.branch(e.effect(f"icmp ne ptr {back}, null"), held, lost)
    e.start(lost)
    for copy in saved:
        e.line(f"call void @Py_DecRef(ptr {copy})")
    e.declare("declare i32 @PyErr_ExceptionMatches(ptr)")
    known = e.effect(f"call i32 @PyErr_ExceptionMatches(ptr {symbol('autograph_Exception')})")
    e.branch(e.effect(f"icmp ne i32 {known}, 0"), error, stopped)
    e.start(stopped)
    e.end("ret ptr null")
    e.start(error)
    e.jump(bail)
    e.start(held)
    return back


def put_back(e: Emitter, back: str, release: Callable[[], None]) -> None:
    """Put the streams back; where that raises, the call does.  release: lets everything go before it ends."""
    e.line("call void @PyErr_Clear()")
    none = e.slot("ptr")
    done = e.effect(f"call ptr @PyObject_Vectorcall(ptr {back}, ptr {none}, i64 0, ptr null)")
    fine, wrong = e.block("back"), e.block("wrong")
    e.branch(e.effect(f"icmp ne ptr {done}, null"), fine, wrong)
    e.start(wrong)
    release()
    e.end("ret ptr null")
    e.start(fine)
    e.line(f"call void @Py_DecRef(ptr {done})")
