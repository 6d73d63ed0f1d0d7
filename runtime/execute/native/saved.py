"""What an argument held before a graph's last write to it: copied only where the call will be handed back.

A copy beforehand is one more pass over memory, and one more array in the cache.  Where a write is the last
thing that a graph does, all flags that it raises can be had before it: by computing what is written without
storing it, which takes less.  In: the state and what is about to be written.  Out: code.  What always holds:
when the first element is stored, either no flag is raised and nothing can fail any more, or a copy is there.
"""

from __future__ import annotations

from collections.abc import Callable

from runtime.execute.native.arrays import create
from runtime.execute.native.emit import BARRIER, FLAGS, TRUE, Emitter
from runtime.execute.native.state import State
from runtime.execute.native.values import Arr, Lazy

CELLS = "%saves"  # of the kernel: where copies are, by argument; null where none is needed
CHEAP = 8  # instructions per element that are rather done twice than an array copied


def last(state: State, target: Arr, value: Lazy) -> bool:
    """Whether storing the value is the last thing that the graph does, and may raise flags that matter."""
    e = state.e
    if not (state.last and e.watch and e.reports) or state.depth or e.when != TRUE:
        return False
    if e.part is not None or e.gang is not None or e.outside or len(target.roots) != 1:
        return False
    return not value.parts and value.kind.kind != "c" and value.cost <= CHEAP


def copy_if_flagged(state: State, target: Arr, fill: Callable[[Arr, Arr], None]) -> None:
    """Copy the argument that the target is a part of, if any flag is raised.  fill: copies an array."""
    e, (root,) = state.e, target.roots
    whole = state.params[root]
    assert isinstance(whole, Arr)
    cell = e.slot("i32")
    for text in (BARRIER, f"call void @llvm.x86.sse.stmxcsr(ptr {cell})", BARRIER):
        e.line(text)
    flags = e.effect(f"or i32 {e.effect(f'load i32, ptr {cell}')}, {e.effect('load i32, ptr %raised')}")
    raised = e.effect(f"icmp ne i32 {e.effect(f'and i32 {flags}, {FLAGS}')}, 0")
    with e.seldom(raised):
        copy = create(state, whole.dims, whole.dtype, False)
        fill(copy, whole)
        at = e.effect(f"getelementptr ptr, ptr {CELLS}, i64 {len(state.saves)}")
        e.line(f"store ptr {copy.handle}, ptr {at}")
    e.version += 1


def cells(e: Emitter, count: int) -> str:
    """Where the kernel says where its copies are."""
    found = e.slot(f"[{max(count, 1)} x ptr]")
    for k in range(count):
        e.line(f"store ptr null, ptr {e.effect(f'getelementptr ptr, ptr {found}, i64 {k}')}")
    return found


def put_back(e: Emitter, original: str, cells: str, k: int) -> None:
    """What the kernel copied of an array goes back, if it did: the array may have any strides."""
    copy = e.effect(f"load ptr, ptr {e.effect(f'getelementptr ptr, ptr {cells}, i64 {k}')}")
    there, following = e.block("copied"), e.block("on")
    e.branch(e.effect(f"icmp ne ptr {copy}, null"), there, following)
    e.start(there)
    e.line(f"call i32 @autograph_PyArray_CopyInto(ptr {original}, ptr {copy})")
    e.jump(following)
    e.start(following)
