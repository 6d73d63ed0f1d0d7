"""Branches: two ways that meet again, or both arms and a choice between what they give.

In: a `cond` node, or the ways out of a loop.  Out: code, and the values after it.  What always holds: an arm
has no effect where it is not taken; both are carried out only where that is cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runtime.execute.native import merge, narrowing, ownership
from runtime.execute.native.emit import APART, FALSE, TRUE, Block, Emitter, Phi
from runtime.execute.native.state import State
from runtime.execute.native.two_kinds import choose
from runtime.execute.native.values import Num, Static, Val, lift
from runtime.ir.graph import Graph, Node
from runtime.ir.walk import walk_nodes

MAX_PICKED = 16


class Lowering(Protocol):
    """What is needed of the lowering of a whole graph."""

    e: Emitter
    state: State

    def region(self, graph: Graph, args: Sequence[Val]) -> list[Val] | None:
        """Lower a region."""

    def holds(self, x: Val | None) -> str:
        """Whether a condition is true."""

    def touch(self) -> None:
        """Memory may have changed."""

    def close(
        self, shapes: list[Val], values: list[Val], phis: list[Phi], to: Block, waiting: Phi | None = None
    ) -> None:
        """Hand the values on to a block's phis."""


def cond(low: Lowering, node: Node, args: list[Val]) -> list[Val] | None:
    """Two ways that meet again."""
    e, pred = low.e, args[0]
    choice = low.holds(lift(False) if isinstance(pred, Static) and pred.value is None else pred)
    if choice in (TRUE, FALSE):
        return low.region(node.regions[choice == FALSE], args[1:])
    both = [narrowing.narrowed(e, choice, holds, args[1:]) for holds in (True, False)]
    picked = _picked(low, node, choice, both, args[1:])
    if picked is not None:
        return picked
    blocks = [e.block("yes"), e.block("no")]
    out, asked = e.block("meet"), e.here
    e.branch(choice, *blocks)
    ends = []
    pending, version, changed = e.pending, e.version, False
    for block, region, given in zip(blocks, node.regions, both, strict=True):
        e.start(block)
        with e.scope():
            found = low.region(region, given)
            if found is not None:
                ends.append((found, e.here, e.memo, e.pending))
        e.pending, changed, e.version = pending, changed or e.version != version, version
    if changed:
        low.touch()
    if not ends:
        return None
    shapes = list(ends[0][0])
    for found, *_ in ends[1:]:
        shapes = list(map(merge.merged, shapes, found))
    phis = [e.phi(out, llvm) for t in shapes for llvm in merge.types_of(t)]
    before, waiting = e.memo, e.phi(out, "i1")
    for found, block, memo, failed in ends:
        e.here, e.memo, e.pending = block, dict(memo), failed
        low.close(shapes, found, phis, out, waiting)
    e.memo = before
    e.start(out)
    e.pending = waiting.name
    if all(text == pending for text, _ in waiting.ways):  # no check was put off on the way
        out.phis.remove(waiting)
        e.pending = pending
    met = merge.all_filled(shapes, phis)
    if len(ends) == 2:
        for x, yes, no in zip(met, ends[0][0], ends[1][0], strict=True):
            if isinstance(x, Num) and isinstance(yes, Num) and isinstance(no, Num):
                narrowing.combined(e, x.text, choice, yes.text, no.text)
                if narrowing.decided(yes, no) and "!prof" not in asked.lines[-1]:
                    asked.lines[-1] += f", !prof !{int(not yes.const)}"  # a loop is left once
                    blocks[not yes.const].lines.insert(0, APART)
    return met


def left(low: Lowering, exits: Sequence[tuple[list[Val], Block, dict[str, str]]]) -> list[Val]:
    """The carry after a loop that can be left in two places: before a trip, or after its test."""
    e = low.e
    shapes = list(exits[0][0])
    for found, _, _ in exits[1:]:
        shapes = list(map(merge.merged, shapes, found))
    out = e.here  # opened by the loop, reached by the blocks below
    phis = [e.phi(out, llvm) for t in shapes for llvm in merge.types_of(t)]
    before = e.memo
    for found, block, memo in exits:
        e.start(block)
        e.memo = dict(memo)
        low.close(shapes, found, phis, out)
    e.memo, e.here = before, out
    filled = zip(merge.all_filled(shapes, phis), shapes, strict=True)
    return [ownership.placed(x, t, low.state.depth, low.state.owned) for x, t in filled]


def _picked(
    low: Lowering, node: Node, choice: str, both: list[list[Val]], args: list[Val]
) -> list[Val] | None:  # fmt: skip
    """Both arms carried out and the results picked, where that is cheap and has no effect; else None.

    both: what the arms are given, as it is known where they are taken.  An arm that reads memory does so
    elsewhere, too, so its indices must be in range whatever is known in it.
    """
    e = low.e
    if any(r.diverges or len(r.nodes) > MAX_PICKED for r in node.regions) or any(
        n.op in ("while", "for", "setitem", "raise") for r in node.regions for n in walk_nodes(r)
    ):
        return None
    mark = e.mark()
    first, second = _arms(low, node, choice, both)
    if both != [args, args] and any("load " in line for line in mark.here.lines[mark.lines :]):
        e.rollback(mark)
        first, second = _arms(low, node, choice, [args, args])
    if first is None or second is None:  # an arm that ends has no value to pick
        e.rollback(mark)
        return None
    found: list[Val] | None = []
    for x, y in zip(first, second, strict=True):
        if not isinstance(x, Num) or not isinstance(y, Num) or narrowing.decided(x, y):
            found = None
            break
        assert found is not None
        z = choose(e, choice, x, y)
        narrowing.combined(e, z.text, choice, x.text, y.text)
        found.append(z)
    written = mark.here.lines[mark.lines :]
    if found is None or len(e.blocks) != mark.blocks or len(written) > MAX_PICKED or any(map(_dear, written)):
        e.rollback(mark)
        return None
    e.picks.add(choice)
    return found


def _arms(low: Lowering, node: Node, choice: str, both: list[list[Val]]) -> list[list[Val] | None]:
    """What both arms give, one carried out after the other."""
    e, arms = low.e, []
    for region, condition, given in zip(node.regions, (choice, e.negated(choice)), both, strict=True):
        with e.under(condition):
            arms.append(low.region(region, given))
    return arms


def _dear(line: str) -> bool:
    """Whether an instruction should only be done where it is needed: it is slow, or may raise a flag."""
    words = (
        "div ",
        "rem ",
        "call double @",
        "call float @",
        "call <",
        "call void @",
        "store ",
        "@Py",
        "@autograph_random",
    )
    return any(word in line for word in words)
