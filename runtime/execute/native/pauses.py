"""Where loops pause: other threads run and signals are handled, since a loop may take long.

In: a loop's counter and where it ends.  Out: code.  What always holds: between two pauses there are at most
so many trips that nobody waits long: fewer of those that make large arrays.
"""

from __future__ import annotations

import math
from typing import cast

from runtime.execute.native import shares
from runtime.execute.native.emit import Emitter
from runtime.execute.native.state import State
from runtime.execute.native.values import Rng, Val
from runtime.ir.graph import Node
from runtime.ir.walk import walk_nodes
from runtime.types import ArrayType, Type

TRIPS = 16  # the logarithm of how many trips of a loop lie between pauses
OUTER = 8  # the same for a `for` with a loop inside
ELEMENTS = 24  # the logarithm of how many elements of arrays lie between them
UNKNOWN = 1 << 16  # elements that an array of unknown size is taken to have


def spacing(node: Node) -> int:
    """The logarithm of how many trips of a loop lie between pauses: the fewer, the longer each may take."""
    nodes = [n for region in node.regions for n in walk_nodes(region)]
    most = OUTER if node.op == "for" and any(n.op in ("while", "for") for n in nodes) else TRIPS
    elements = sum(_elements(x.type) for n in nodes if n.op != "getitem" for x in n.outputs)
    return max(1, min(most, ELEMENTS - elements.bit_length()))


def _elements(t: Type) -> int:
    if not isinstance(t, ArrayType) or t.scalar:
        return 0
    known = t.shape is not None and None not in t.shape
    return math.prod(cast("tuple[int, ...]", t.shape)) if known else UNKNOWN


def due(e: Emitter, trips: str, often: int) -> str:
    """Whether the number of a trip is a multiple of 2 to the `often`."""
    return e.op(f"icmp eq i{often} {e.op(f'trunc i64 {trips} to i{often}')}, 0")


def spent(e: Emitter, often: int) -> tuple[str, str]:
    """Whether 2 to the `often` trips were made, of all loops that pause so often, and how to begin again."""
    key = f"trips {often}"
    if key not in e.fixed:
        e.fixed[key] = e.slot("i64")
        e.prologue.append(f"store i64 {1 << often}, ptr {e.fixed[key]}")
    cell = e.fixed[key]
    left = e.effect(f"sub nuw nsw i64 {e.effect(f'load i64, ptr {cell}')}, 1")
    e.line(f"store i64 {left}, ptr {cell}")
    return e.effect(f"icmp eq i64 {left}, 0"), f"i64 {1 << often}, ptr {cell}"


def pause(state: State, condition: str, begin: str = "") -> None:
    """Pause where the condition holds.  begin: what is stored where until the next time."""
    e = state.e
    rest, following = e.block("pause"), e.block("go")
    e.line(f"br i1 {condition}, label %{rest.label}, label %{following.label}, !prof !0")
    e.here.closed = True
    e.start(rest)
    failed, out = shares.breathe(state)
    if begin:
        e.line(f"store {begin}")
    e.line(f"br i1 {e.effect(f'icmp ne i32 {failed}, 0')}, label %{out}, label %{following.label}")
    e.here.closed = True
    e.start(following)


def long(first: str, stop: str, over: Val) -> bool:
    """Whether a loop over something may make more trips than lie between pauses."""
    if isinstance(over, Rng) and over.span is not None:
        return over.span[1] - over.span[0] >= 1 << TRIPS
    known = all(x.lstrip("-").isdigit() for x in (first, stop))
    return not known or int(stop) - int(first) > 1 << TRIPS


def stretch(e: Emitter, first: str, stop: str) -> str:
    """Where the next pause is due in a loop from `first`, which is less than `stop`."""
    left = e.op(f"sub i64 {stop}, {first}")
    return e.op(f"add i64 {first}, {e.call('i64', 'llvm.umin.i64', ('i64', left), ('i64', str(1 << TRIPS)))}")
