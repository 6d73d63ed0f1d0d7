"""Boxes for names: `Cell` for names that inner functions share, and the marker of an unbound name.

A `Cell` holds a real `types.CellType`, so plain closures and converted ones share the variable.
"""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any


class UnboundMarker:
    """Stands for "this name has no value" where a value must be passed."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<unbound {self.name!r}>"


def unbound(name: str) -> UnboundMarker:
    """The marker that the local name `name` has no value yet."""
    return UnboundMarker(name)


def unbound_error(name: str, *, free: bool = False) -> NameError:
    """What Python raises when the local (or free) name is read without a value, in its own words."""
    if free:
        if sys.version_info >= (3, 11):
            return NameError(
                f"cannot access free variable '{name}' where it is not associated with a value"
                " in enclosing scope",
                name=name,
            )
        what = f"free variable '{name}' referenced before assignment in enclosing scope"
        return NameError(what, name=name)
    if sys.version_info >= (3, 11):
        return UnboundLocalError(
            f"cannot access local variable '{name}' where it is not associated with a value"
        )
    return UnboundLocalError(f"local variable '{name}' referenced before assignment")


def bound(value: Any, name: str, free: bool = False) -> Any:
    """`value`; where it is the unbound marker, what Python raises.  free: an inner function reads it."""
    if isinstance(value, UnboundMarker):
        raise unbound_error(name, free=free)
    return value


def unknown_name(name: str) -> NameError:
    """What Python raises when a global name means nothing."""
    return NameError(f"name '{name}' is not defined", name=name)


def global_value(space: dict[str, Any], name: str) -> Any:
    """What a global name means in a module with these globals; raises what Python raises."""
    if name in space:
        return space[name]
    known = space.get("__builtins__", builtins)
    known = known if isinstance(known, dict) else vars(known)
    if name in known:
        return known[name]
    raise unknown_name(name)


class Cell:
    """A local variable that inner functions share and rebind: `.value` reads, writes and deletes it.

    `.free` is the same variable, as inner functions read and delete it: the error of an unbound one says so.

    name: the variable's name, for the error of an unbound read.
    value: its first value, or nothing when it has none yet.
    cell: an existing cell to share instead of a new one.
    """

    __slots__ = ("cell", "is_free", "name")

    def __init__(self, name: str, *value: Any, cell: types.CellType | None = None) -> None:
        self.name, self.is_free = name, cell is not None
        self.cell = types.CellType(*value) if cell is None else cell

    @property
    def value(self) -> Any:
        """The variable's value; reading it unbound raises what Python raises."""
        try:
            return self.cell.cell_contents
        except ValueError:
            pass  # what is raised in here would have the ValueError as its context
        raise unbound_error(self.name, free=self.is_free)

    @value.setter
    def value(self, value: Any) -> None:
        self.cell.cell_contents = value

    @value.deleter
    def value(self) -> None:
        self.value  # noqa: B018  deleting an unbound name raises as reading it does
        del self.cell.cell_contents

    @property
    def free(self) -> Any:
        """The variable's value, read in an inner function."""
        try:
            return self.cell.cell_contents
        except ValueError:
            pass
        raise unbound_error(self.name, free=True)

    @free.setter
    def free(self, value: Any) -> None:
        self.cell.cell_contents = value

    @free.deleter
    def free(self) -> None:
        self.free  # noqa: B018
        del self.cell.cell_contents

    def set(self, value: Any) -> Any:
        """Assign and return the value: what `:=` does where a statement can't stand."""
        self.cell.cell_contents = value
        return value

    def __repr__(self) -> str:
        return f"Cell({self.name!r})"
