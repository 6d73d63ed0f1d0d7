"""Ops whose derivative is told by other ops, as graphs of these.

In: a node.  Out: a graph of the same operands with the same result, of ops that have rules; None where it
can't be traced.  What always holds: its result is of the type that the node's has.
"""

from __future__ import annotations

from typing import Any

from runtime.autodiff.staged.kinds import inexact
from runtime.autodiff.staged.rules import rule_running
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import OpDef
from runtime.ops.adjoint import Composite
from runtime.trace.core import Diverged, Trace
from runtime.trace.regions import drop_invisible
from runtime.types import ArrayType


def told(
    trace: Trace, row: OpDef, node: Node, args: tuple[Operand, ...], kwargs: dict[str, Operand]
) -> Graph | None:
    """The graph of a node of such an op, with a parameter for each operand that is a value."""
    assert isinstance(row.vjp, Composite)
    values = [x for x in (*args, *kwargs.values()) if isinstance(x, Value)]
    if len(node.outputs) != 1 or not isinstance(node.outputs[0].type, ArrayType):
        return None
    mark = trace.mark()
    try:
        with trace.region("told") as builder:
            inside = {x: trace.wrap(builder.param(x.type, x.name)) for x in dict.fromkeys(values)}

            def given(x: Operand) -> Any:
                return x.value if isinstance(x, Const) else inside[x]

            trace.following += 1  # some of the ops have a derivative of their own
            try:
                with rule_running(trace, node.span):
                    made = row.vjp.run(*map(given, args), **{k: given(x) for k, x in kwargs.items()})
            finally:
                trace.following -= 1
            result = trace.operand(made)
        if builder.captures or result.type != node.outputs[0].type or not inexact(result.type):
            raise ValueError("it gives another type")
        drop_invisible(trace)
        return builder.region([], [result])
    except (Exception, Diverged):
        trace.rollback(mark)
        return None
