"""Which values have cotangents that are written in place, as the values themselves are.

In: a graph, and which of its values are followed.  Out: a set of values.  What always holds: a write that may
go to memory of others, where its derivative would be lost, is refused.
"""

from __future__ import annotations

from collections.abc import Collection

from runtime.autodiff.staged.aliases import Aliases, aliases_of, in_memory
from runtime.autodiff.staged.calls import WRITING, shown
from runtime.autodiff.staged.kinds import NotStaged, is_list
from runtime.errors import Span
from runtime.ir.graph import Const, Graph, Value
from runtime.ops.words import said
from runtime.passes.facts import IN_PLACE, OPERATORS
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
                raise NotStaged("a list that other code can reach holds what is differentiated")
            found.add(x)
        if not in_memory(x.type) or not isinstance(x.type, ArrayType):
            continue
        mine = classes.of(x)
        owners = [p for p in (*given, *owned) if classes.same(p, x)]
        if mine.outside and mine.origins == 1 and len(owners) == 1:
            found.update(v for v in (x,) if mine.written or v in given)
        elif mine.written:
            if mine.outside or mine.origins != 1:
                raise NotStaged(*_why_written(classes, found_at(graph, x)))
            found.add(x)
    for x in found:
        _check_view(classes, x)
    return found


def _check_view(classes: Aliases, x: Value) -> None:
    """Refuse looks at an array that is written to which are no such looks at its cotangent: NumPy makes none
    that can be written to, or, of imaginary parts, the sign is another one."""
    node = classes.views.get(x)
    if node is None:
        return
    name = node.inputs[1] if node.op == "py.getattr" else None
    if isinstance(name, Const) and name.value == "imag":
        raise NotStaged("the imaginary part of an array that is written to", node.span)
    if node.op == "np.diagonal" or node.op == "np.broadcast_to" and not classes.only_computed_with(x):
        raise NotStaged(f"{said(node.op)} of an array that is written to", node.span)


def _why_written(classes: Aliases, span: Span | None) -> tuple[str, Span | None]:
    """Why an array may be written to in ways that aren't followed, and where."""
    node = classes.culprit
    if node is None:
        return "an array is written to that may be another one's memory, too", span
    what = shown(node.inputs[0]) if node.op == "py.call" else said(node.op)
    if node.op in OPERATORS | IN_PLACE:
        what = "an operator on a value of unknown type"
    if node.op == "py.getattr" and isinstance(node.inputs[1], Const):
        what = f"the attribute or method {node.inputs[1].value!r}"
    return f"{what} is not traced, and may write to an array that is differentiated", node.span


def found_at(graph: Graph, x: Value) -> Span | None:
    """The user's line that gives a value, or writes to it."""
    places = [
        n.span for n in graph.nodes if x in n.outputs or n.op in ("setitem", *WRITING) and x is n.inputs[0]
    ]
    return next((span for span in places if span is not None), None)
