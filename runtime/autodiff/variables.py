"""Variables while derivatives are recorded: their values are boxes in this thread, and their own afterwards.

In: reads and writes of Variables.  Out: boxes.  What always holds: the Variable itself holds the bare value
of what was last assigned, so other threads, and later code, see no boxes.
"""

from __future__ import annotations

from typing import Any, Protocol

from runtime.autodiff.box import BOXES, Box, unwrap
from runtime.variable import Variable, lay_over, overlay


class Watcher(Protocol):
    """A tape that watches each Variable that is read."""

    def watch_variable(self, variable: Variable, box: Box) -> None:
        """Follow the Variable from here on."""


class Overlay:
    """The boxes of the Variables that were read or written since the outermost level was opened."""

    def __init__(self) -> None:
        self.boxes: dict[int, tuple[Variable, Box]] = {}
        self.watchers: list[Watcher] = []

    def read(self, variable: Variable) -> Any:
        """The value, in a box if it is of a kind that has derivatives."""
        array = variable._array
        if array.dtype.kind not in "fc":
            return array
        known = self.boxes.get(id(variable))
        box = Box(array, array) if known is None else known[1]
        self.boxes[id(variable)] = variable, box
        for watcher in self.watchers:
            watcher.watch_variable(variable, box)
        return box

    def write(self, variable: Variable, new: Any) -> None:
        """Put a new array, or a box of one, in the place of the value."""
        if type(new) in BOXES:
            value = unwrap(new)
            variable._array = new.bare.copy()
        else:
            value = variable._array = new
        if variable._array.dtype.kind in "fc":
            self.boxes[id(variable)] = variable, Box(value, variable._array)


def begin() -> None:
    """From here on values are boxes."""
    lay_over(Overlay())


def end() -> None:
    """Back to bare values."""
    lay_over(None)


def current() -> Overlay:
    """The overlay of this thread."""
    found = overlay()
    assert isinstance(found, Overlay)
    return found
