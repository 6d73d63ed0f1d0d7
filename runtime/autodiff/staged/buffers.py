"""Which values have cotangents that are written in place, as the values themselves are.

In: a graph, and which of its values are followed.  Out: a set of values.  What always holds: a write that may
go to memory of others, where its derivative would be lost, is refused.
"""

from __future__ import annotations

from collections.abc import Collection

from runtime.autodiff.staged.aliases import Aliases, aliases_of, in_memory
from runtime.autodiff.staged.calls import shown
from runtime.autodiff.staged.kinds import NotStaged, is_list
from runtime.ir.graph import Graph, Value
from runtime.types import ArrayType


def buffered_values(
    graph: Graph, varied: set[Value], given: Collection[Value], owned: Collection[Value]
) -> set[Value]:
    """The followed values in memory that is written to; their cotangents are written in place likewise.

    given: parameters for whose cotangents there are arrays; owned: those that are nobody else's memory."""
    classes = aliases_of(graph)
    found = set(given)
    for x in varied:
        if is_list(x.type) and classes.goes_on(x):
            if x not in given and (classes.of(x).outside or x not in classes.parent):
                raise NotStaged("a list that code from outside can reach holds followed values")
            found.add(x)
        if not in_memory(x.type) or not isinstance(x.type, ArrayType):
            continue
        mine = classes.of(x)
        owners = [p for p in (*given, *owned) if classes.same(p, x)]
        if mine.outside and mine.origins == 1 and len(owners) == 1:
            found.update(v for v in (x,) if mine.written or v in given)
        elif mine.written:
            if mine.outside or mine.origins != 1:
                raise NotStaged(_why_written(classes))
            found.add(x)
    return found


def _why_written(classes: Aliases) -> str:
    """Why an array may be written to in ways that aren't followed."""
    node = classes.culprit
    if node is None:
        return "a write into an array that may be another one's memory, too"
    what = shown(node.inputs[0]) if node.op == "py.call" else node.op
    if node.op == "py.call" and node.attr("form") is None and what == "an unknown function":
        return "an unknown function is called, which may write to a followed array"
    return f"{what} may write to a followed array"
