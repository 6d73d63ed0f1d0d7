"""Names that need more than a Python local: boxes, globals that are rebound, unbound names; raising."""

from __future__ import annotations

import sys
from typing import Any

from runtime import boxes
from runtime.boxes import Cell as PlainCell
from runtime.boxes import global_value, unbound, unknown_name
from runtime.trace.core import Diverged, active
from runtime.types import ObjectType


def Cell(name: str, *value: Any, cell: Any = None) -> Any:
    """A local variable that inner functions share (see `runtime.boxes.Cell`); a handle while tracing."""
    trace = active()
    if trace is None or cell is not None:
        return PlainCell(name, *value, cell=cell)
    made = trace.emit("py.call", [PlainCell, name, *value], type=ObjectType(PlainCell), name=name)
    assert made is not None
    handle = trace.wrap(made, fresh=True)
    if value:
        trace.heap.put(handle._facts.identity, "attr", "value", value[0])
    return handle


class GlobalCell:
    """A global name that the function rebinds: `.value` reads, writes and deletes it in the module.

    space: the module's globals, or what stands for them while tracing.
    """

    __slots__ = ("name", "space")

    def __init__(self, name: str, space: Any) -> None:
        self.name, self.space = name, space

    @property
    def value(self) -> Any:
        """What the name means; NameError where that is nothing."""
        try:
            return self.space[self.name]
        except KeyError:
            pass
        return global_value(self.space, self.name)

    @value.setter
    def value(self, value: Any) -> None:
        self.space[self.name] = value

    @value.deleter
    def value(self) -> None:
        try:
            del self.space[self.name]
        except KeyError:
            pass
        else:
            return
        raise unknown_name(self.name)

    def set(self, value: Any) -> Any:
        """Assign and return the value: what `:=` does where a statement can't stand."""
        self.space[self.name] = value
        return value

    def _operand(self) -> Any:
        """The box at run time, for code that isn't traced."""
        trace = active()
        assert trace is not None
        return trace.emit("py.call", [trace.constant(GlobalCell), self.name, self.space.handle])


def global_cell(name: str) -> GlobalCell:
    """The box of a global name of the calling function's module."""
    return GlobalCell(name, sys._getframe(1).f_globals)


def bound(value: Any, name: str, free: bool = False) -> Any:
    """`value`, unless the name has none: then what Python raises.  free: an inner function reads it."""
    trace = active()
    return boxes.bound(value, name, free) if trace is None else trace.protocol.bound(value, name, free)


def raise_(*parts: Any) -> None:
    """`raise error`, `raise error from cause`, or in a handler `raise`."""
    trace = active()
    if trace is None:
        if not parts:
            raise
        try:
            if len(parts) == 2:
                raise parts[0] from parts[1]
            raise parts[0]
        finally:  # this frame is in the error's traceback: no circle
            del parts
    trace.protocol.raise_(parts)
    raise Diverged


__all__ = ["Cell", "GlobalCell", "bound", "global_cell", "raise_", "unbound"]
