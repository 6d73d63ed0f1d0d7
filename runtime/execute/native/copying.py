"""Whether what is copied before a call takes longer than the call: what is written, and states of streams.

In: whether so much is copied that it may matter, as code.  Out: code that measures, and leaves calls to the
plan where too much was lost.  What always holds: what is measured decides only who does a call.

Module variables: `@skip` (so many calls are left to the plan), `@backoff` (how many next time), `@losses`.
"""

from __future__ import annotations

from collections.abc import Callable

from runtime.execute.native.emit import FALSE, Emitter

CHANCE = 2  # calls in a row that may have lost time by chance


def pass_over(e: Emitter, large: str, leave_it: Callable[[], None]) -> None:
    """Leave a call to the plan where copying what it writes took far longer than what it does; from time
    to time, ever more rarely, it is tried again."""
    if large == FALSE:
        return
    asked, leave, on = e.block("asked"), e.block("leave"), e.block("on")
    e.branch(large, asked, on)
    e.start(asked)
    left = e.effect("load i64, ptr @skip")
    e.branch(e.effect(f"icmp sgt i64 {left}, 0"), leave, on)
    e.start(leave)
    e.line(f"store i64 {e.effect(f'sub i64 {left}, 1')}, ptr @skip")
    leave_it()
    e.start(on)


def clock(e: Emitter, large: str) -> str:
    """What time it is, in ticks of the processor."""
    if large == FALSE:
        return "0"
    e.declare("declare i64 @llvm.readcyclecounter()")
    return e.effect("call i64 @llvm.readcyclecounter()")


def judge(e: Emitter, gain: int, large: str, begin: str, middle: str) -> None:
    """Remember how long copying took beside the rest.  Once or twice may be chance: the system may have
    let others run meanwhile."""
    if large == FALSE:
        return
    end = clock(e, large)
    copying, rest = e.effect(f"sub i64 {middle}, {begin}"), e.effect(f"sub i64 {end}, {middle}")
    lost = e.effect(f"icmp ugt i64 {copying}, {e.effect(f'mul i64 {rest}, {gain - 1}')}")
    lost = e.both(large, lost)
    losses = e.select(lost, "i64", e.effect(f"add i64 {e.effect('load i64, ptr @losses')}, 1"), "0")
    e.line(f"store i64 {losses}, ptr @losses")
    lost = e.op(f"icmp ugt i64 {losses}, {CHANCE}")
    before = e.effect("load i64, ptr @backoff")
    doubled = e.effect(f"shl i64 {before}, 1")
    more = e.effect(f"call i64 @llvm.umin.i64(i64 {doubled}, i64 {1 << 20})")
    e.declare("declare i64 @llvm.umin.i64(i64, i64)")
    e.line(f"store i64 {e.select(lost, 'i64', more, '64')}, ptr @backoff")
    e.line(f"store i64 {e.select(lost, 'i64', before, '0')}, ptr @skip")
