"""Loops that several threads share: the body as a function of its own, which is called for parts of a loop.

In: a loop's bounds, and what writes the code for a part of it.  Out: that code in place, or a call of the
pool.  What always holds: what is computed does not depend on where one part ends and another begins, nor on
who does it; a part calls nothing of Python's; where a part leaves to the plan, the whole call does; memory
that a part needs on the way is its thread's own.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from runtime import threads
from runtime.execute.native import pool, pool_ir
from runtime.execute.native.choices import finish
from runtime.execute.native.emit import FALSE, TRUE, Block, Emitter
from runtime.execute.native.state import State
from runtime.pattern import pattern

_NAME = pattern(r"%[A-Za-z_][\w.]*")
_SET = pattern(r"\s*(%[\w.]+) = (.*)", re.DOTALL)
_CASTS = "zext|sext|trunc|fpext|fptrunc|sitofp|uitofp|fptosi|fptoui|bitcast|ptrtoint"
_CAST = pattern(rf"(?:{_CASTS})\b.* to (.*)")
_FLAGS = {"nsw", "nuw", "exact", "nneg", "disjoint", "samesign", "atomic", "volatile"}
_POINTERS = {"getelementptr", "alloca", "inttoptr"}
_HIDDEN = {"%out", "%owned"}  # what Python's objects are kept in
_PYTHON = pattern(r"@(Py|autograph_Py|breathe|unlocked|from_outside)")  # what needs Python's lock
Body = Callable[[str, str], None]


class Serial(Exception):
    """A loop that can't be shared."""


def share(
    state: State, start: str, stop: str, body: Body, *, cost: float = 0, work: str = "", grain: int = 1,
    long: bool = False, only: str = TRUE, near: bool = False,
) -> None:  # fmt: skip
    """`body(first, last)` for all of start..stop, by several threads where that pays.

    cost: about how many nanoseconds each takes; or work: all of it.  grain: parts are multiples of it.
    long: a part may take very long, and sees to it that others can run.  only: under this condition.  near:
    parts of what is read are in the caches of those who will read them, so that it pays sooner.
    """
    e = state.e
    work = work or _work(e, start, stop, cost)
    if near:
        work = _raised(e, work)
    small = work.isdigit() and int(work) < pool_ir.HOT
    if small or e.part is not None or e.lanes != 1 or e.when != TRUE:
        body(start, stop)
        return
    mark, owned, free, written = e.mark(), state.owned, list(state.free), set(state.written)
    gang, watch = e.gang, e.watch
    try:
        name, captured = _part(state, body, long)
    except Serial:
        e.rollback(mark)
        e.gang, e.watch, e.when, e.lanes, e.along, e.mask, e.last = gang, watch, TRUE, 1, "", "", ""
        state.owned, state.free, state.written = owned, free, written
        body(start, stop)
        return
    types = ", ".join(llvm for _, llvm in captured)
    context = e.slot(f"{{ {types} }}")
    for k, (value, llvm) in enumerate(captured):
        e.line(f"store {llvm} {value}, ptr {_field(e, types, context, k)}, align 1")
    function = state.address("share", pool.address("share"))
    work = e.select(only, "i64", work, "0")
    status = e.effect(
        f"call i32 {function}(ptr @{name}, ptr {context}, i64 {start}, i64 {stop}, i64 {grain}, i64 {work},"
        f" i1 {str(long).lower()})"
    )
    e.version += 1
    if e.reports:
        flags = e.effect(f"lshr i32 {status}, 8")
        before = e.effect("load i32, ptr %raised")
        e.line(f"store i32 {e.effect(f'or i32 {before}, {flags}')}, ptr %raised")
    if e.bails > mark.bails:
        e.bail_if(e.effect(f"trunc i32 {status} to i1"))
    if long:
        following = e.block("go")
        raised = e.effect(f"trunc i32 {e.effect(f'lshr i32 {status}, 1')} to i1")
        e.line(f"br i1 {raised}, label %interrupted, label %{following.label}, !prof !0")
        e.here.closed = True
        e.start(following)
    if state.draws:
        with e.seldom(TRUE if long else e.effect(f"icmp sgt i64 {work}, {pool_ir.RELEASE}")):
            wait(state)


def breathe(state: State) -> tuple[str, str]:
    """Let other threads run and signals be handled: a number that is 0 to go on, and else where to go."""
    e = state.e
    if e.part is None:
        how = "breathe_drawing(ptr %held)" if state.draws else "breathe()"
        return e.effect(f"call i32 @{how}"), "interrupted"
    code = e.effect(f"call i32 {state.address('pause', pool.address('pause'))}(i64 %seat)")
    e.line(f"store i32 {code}, ptr %left")
    return code, "leave"


def wait(state: State) -> None:
    """Wait until nobody draws from the streams, after what may have let other threads run: they draw many
    numbers at once without Python's lock."""
    e = state.e
    if not state.draws:
        return
    late = e.effect(f"icmp ne i32 {e.effect('call i32 @unlocked(ptr %held)')}, 0")
    following = e.block("go")
    e.line(f"br i1 {late}, label %interrupted, label %{following.label}, !prof !0")
    e.here.closed = True
    e.start(following)


def threads_now(state: State, most: int) -> str:
    """How many threads share a loop at this moment."""
    e = state.e
    count = e.effect(f"load i32, ptr {state.address('threads', threads.address())}")
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    return e.effect(f"call i64 @llvm.smin.i64(i64 {e.effect(f'zext i32 {count} to i64')}, i64 {most})")


def own_memory(state: State, size: str, itemsize: int, make: Callable[[str], str]) -> str:
    """The address of memory for so many elements that no other thread at the loop uses.  make: finds some."""
    e, part = state.e, state.e.part
    if part is None:
        return make(size)
    with part.outside():
        places = threads_now(state, threads.MOST)
        lines = e.op(f"add i64 {e.op(f'sdiv i64 {size}, 64')}, 2")  # apart from each other's in the cache
        each = e.op(f"mul i64 {lines}, 64")
        base = make(e.effect(f"mul i64 {places}, {each}"))
    bytes_each = e.op(f"mul i64 {each}, {itemsize}")
    e.declare("declare i64 @llvm.smax.i64(i64, i64)")
    seat = e.op("call i64 @llvm.smax.i64(i64 %seat, i64 0)")
    return e.op(f"getelementptr i8, ptr {base}, i64 {e.op(f'mul i64 {seat}, {bytes_each}')}")


def _work(e: Emitter, start: str, stop: str, cost: float) -> str:
    """About how many nanoseconds the whole loop takes."""
    each = max(1, round(cost * 1024))
    if start.isdigit() and stop.isdigit():
        return str((int(stop) - int(start)) * each >> 10)
    span = stop if start == "0" else e.op(f"sub i64 {stop}, {start}")
    return e.op(f"ashr i64 {e.op(f'mul i64 {span}, {each}')}, 10")


def _raised(e: Emitter, work: str) -> str:
    """Work that counts as enough to be shared with helpers that are awake, unless it is very little."""
    if work.isdigit():
        return str(max(int(work), pool_ir.HOT)) if int(work) >= pool_ir.NEAR else work
    e.declare("declare i64 @llvm.smax.i64(i64, i64)")
    enough = e.op(f"icmp sge i64 {work}, {pool_ir.NEAR}")
    return e.select(enough, "i64", e.op(f"call i64 @llvm.smax.i64(i64 {work}, i64 {pool_ir.HOT})"), work)


def _field(e: Emitter, types: str, context: str, k: int) -> str:
    return e.effect(f"getelementptr {{ {types} }}, ptr {context}, i32 0, i32 {k}")


# ------------------------------------------------------------------------------------------ the function
class Part:
    """A function that does a part of a loop, while it is written in place of the one around."""

    def __init__(self, e: Emitter) -> None:
        self.e, self.first = e, Block("start")
        self.after: list[Callable[[], None]] = []  # what makes things be as they were
        self.other: tuple[Any, ...] = ([self.first], self.first, [], {}, {}, FALSE, 0)

    def swap(self) -> None:
        """Go on with the other function."""
        e, other = self.e, self.other
        self.other = (e.blocks, e.here, e.prologue, e.memo, e.fixed, e.pending, e.stacked)
        e.blocks, e.here, e.prologue, e.memo, e.fixed, e.pending, e.stacked = other

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Code of the part."""
        self.e.part = self
        self.swap()
        try:
            yield
        finally:
            self.swap()
            self.e.part = None
            for undo in reversed(self.after):
                undo()

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """Code of the function around, in the midst of that of the part: it comes before the loop."""
        self.e.part = None
        self.swap()
        try:
            yield
        finally:
            self.swap()
            self.e.part = self


def _part(state: State, body: Body, long: bool) -> tuple[str, list[tuple[str, str]]]:
    """The name of the function that does a part, and what it takes from outside, with the types."""
    e = state.e
    part = Part(e)
    with part.inside():
        body("%first", "%last")
        e.flush()
        flags = e.effect("load i32, ptr %raised")
        e.end(f"ret i32 {e.effect(f'shl i32 {flags}, 8')}")
        e.start(Block("bail"))
        e.end("ret i32 1")
        e.start(Block("leave"))
        e.end(f"ret i32 {e.effect('load i32, ptr %left')}")
        blocks, prologue = e.blocks, e.prologue
        finish(e, blocks)
    lines = [*prologue, *(x for b in blocks for p in b.phis for x in p.text().splitlines())]
    lines += [x for b in blocks for x in b.lines]
    if any(map(_PYTHON.search, lines)):
        raise Serial
    own = {"%first", "%last", "%seat", "%context", "%raised", "%left", *(f"%{b.label}" for b in blocks)}
    own |= {found[1] for found in map(_SET.match, lines) if found}
    wanted = dict.fromkeys(x for line in lines for x in _NAME.findall(line) if x not in own)
    captured = list(zip(wanted, _types(e, wanted), strict=True))
    if long and any(f"{x} = alloca" in line for x in wanted for line in e.prologue):
        raise Serial  # whatever is kept there, trips would share it
    types = ", ".join(llvm for _, llvm in captured)
    head = [f"  %{cell} = alloca i32, align 4\n  store i32 0, ptr %{cell}" for cell in ("raised", "left")]
    for k, (value, llvm) in enumerate(captured):
        head.append(f"  %at.{k} = getelementptr {{ {types} }}, ptr %context, i32 0, i32 {k}")
        head.append(f"  {value} = load {llvm}, ptr %at.{k}, align 1")
    head += [f"  {line}" for line in prologue]
    first, *rest = (b.text() for b in blocks)
    label, _, text = first.partition("\n")
    name = f"part{e.name()[2:]}"
    e.parts.append(
        f"define internal i32 @{name}(ptr %context, i64 %first, i64 %last, i64 %seat) noinline nounwind {{\n"
        + "\n".join([label, *head, text, *rest, "}"])
    )
    return name, captured


def _types(e: Emitter, names: Sequence[str] | dict[str, None]) -> list[str]:
    """The types of values of the function around."""
    if not _HIDDEN.isdisjoint(names):
        raise Serial
    known = {name: llvm for llvm, _, name in (x.rpartition(" ") for x in e.parameters)}
    lines = [*e.prologue, *(x for b in e.blocks for p in b.phis for x in p.text().splitlines())]
    lines += [line for block in e.blocks for line in block.lines]
    made = {found[1]: found[2] for found in map(_SET.match, lines) if found}
    return [known.get(x) or result_type(made.get(x, "")) for x in names]


def result_type(text: str) -> str:
    """The type of what an instruction gives; `Serial` where it isn't known."""
    op, _, rest = text.partition(" ")
    if op in _POINTERS:
        return "ptr"
    cast = _CAST.match(text)
    if cast:
        return _type_in(cast[1])
    words = rest.split(" ")
    while words[0] in _FLAGS:
        words.pop(0)
    rest = " ".join(words)
    if op in ("icmp", "fcmp"):
        return _compared(_type_in(rest.partition(" ")[2]))
    if op == "select":
        return _type_in(_after(rest))
    if op == "extractelement":
        return _type_in(rest).strip("<>").partition(" x ")[2]
    if op == "shufflevector":
        count = _type_in(_after(_after(rest))).strip("<>").partition(" x ")[0]
        return f"<{count} x {_type_in(rest).strip('<>').partition(' x ')[2]}>"
    if op == "extractvalue":
        parts = _type_in(rest).strip("{} ").split(", ")
        return parts[int(rest.rpartition(", ")[2])]
    return _type_in(rest)


def _type_in(text: str) -> str:
    """The type that a text begins with."""
    found = re.match(r"<[^<>]*>|\{[^{}]*\}|(?:double|float|half|ptr|i\d+)\b", text)
    if found is None:
        raise Serial
    return found[0]


def _compared(llvm: str) -> str:
    return f"<{llvm.strip('<>').partition(' x ')[0]} x i1>" if llvm.startswith("<") else "i1"


def _after(text: str) -> str:
    """What follows the first comma outside of brackets."""
    depth = 0
    for k, c in enumerate(text):
        depth += (c in "<{(") - (c in ">})")
        if c == "," and not depth:
            return text[k + 1 :].strip()
    raise Serial
