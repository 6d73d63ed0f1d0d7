"""Writes into arrays, and the way back over them.

In: `setitem` and in-place operators on followed arrays.  Out: the node recorded, and what records its way
back.  What always holds: the cotangent of an array that is written to is an array, too, which the way back
writes to in the same places: what was overwritten has cotangent zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.autodiff.staged.aliases import basic_key
from runtime.autodiff.staged.kinds import NotStaged
from runtime.autodiff.staged.pulls import part_now
from runtime.ir.graph import Const, Node, Value
from runtime.ops.table import OPS
from runtime.ops.words import said
from runtime.types import ArrayType


def forward(linear: Any, node: Node) -> None:
    """Record the write and, if it matters, its way back."""
    array = node.inputs[node.op == "py.call"]
    if not isinstance(array, Value) or array not in linear.buffered:
        if array in linear.varied or any(x in linear.varied for x in node.inputs if isinstance(x, Value)):
            kept = not isinstance(array.type, ArrayType)
            where = "a global, dict or list" if kept else "an array"
            raise NotStaged(f"{said(node.op)} of {where} that other code can reach")
        linear.copy(node)
    elif node.op == "setitem":
        _set(linear, node)
    elif node.op == "py.call":
        _add_at(linear, node)
    else:
        _in_place(linear, node)


def _set(linear: Any, node: Node) -> None:
    array, key, value = node.inputs
    at = linear.kept(key)
    linear.copy(node)
    kind = key.type

    def step() -> None:
        trace, buffer, part = linear.trace, linear.slot(array).buffer, None
        if isinstance(value, Value) and value in linear.varied:
            if basic_key(kind) or getattr(kind, "dtype", None) == np.bool_:
                part = buffer[at]
                t = trace.type_of(part)
                if not isinstance(t, ArrayType) or not t.scalar:
                    part = trace.record("np.copy", [part])
            else:
                made = trace.emit(
                    "py.call",
                    [Const(part_now), buffer, at],
                    type=_fancy(linear, buffer, at),
                    attrs={"pure": True},
                )
                part = trace.wrap(made)
        buffer[at] = trace.type_of(buffer).dtype.type(0)
        if part is not None:  # after that: the value may be a view of what it is written into
            linear.give(value, part)

    linear.steps.append((node, step))


def _add_at(linear: Any, node: Node) -> None:
    """What is added at a key of arrays changes as the elements there do."""
    _, array, key, values = node.inputs
    at = linear.kept(key)
    linear.copy(node)

    def step() -> None:
        trace, buffer = linear.trace, linear.slot(array).buffer
        part = trace.wrap(trace.emit("getitem", [buffer, at], type=_fancy(linear, buffer, at)))
        linear.give(values, part)

    linear.steps.append((node, step))


def _fancy(linear: Any, buffer: Any, at: Any) -> Any:
    """The type of what stands at a key of arrays."""
    trace = linear.trace
    return OPS["getitem"].rule(trace.type_of(buffer), trace.operand(at).type)  # type: ignore[misc]


def _in_place(linear: Any, node: Node) -> None:
    """`x op= y` as `x[...] = x op y`."""
    name = node.op[1:] + ("_" if node.op in ("iand", "ior") else "")
    row = OPS[name]
    if row.vjp is None:
        raise NotStaged(f"{said(node.op)} has no derivative rule")
    array, other = node.inputs[:2]
    applied = linear.applied(node, row, (array, other), {})
    additive = node.op in ("iadd", "isub")

    def step() -> None:
        trace, buffer = linear.trace, linear.slot(array).buffer
        if additive:
            if isinstance(other, Value) and other in linear.varied:
                ct = trace.record("np.copy", [buffer])
                linear.give(other, ct if node.op == "iadd" else -ct)
            return
        ct = trace.record("np.copy", [buffer])
        buffer[...] = trace.type_of(buffer).dtype.type(0)
        linear.go_back(applied, ct, node)

    linear.steps.append((node, step))
