"""What a trace is given and what it gives back: arguments, paths, guards, notes, the result.

A `Path` says where in the caller's world a value was found (an argument, a global, an attribute of
one), so that a `Guard` can look there again before the graph is used another time.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from runtime.boxes import Cell
from runtime.dataclass import dataclass
from runtime.errors import Span
from runtime.ir.graph import Graph
from runtime.types import Type, describes

BUILTINS: dict[str, Any] = vars(builtins)


@dataclass(frozen=True)
class Argument:
    """One argument of the traced call.  type: a `StaticType` for a value that is part of the signature."""

    name: str
    example: Any
    type: Type


@dataclass(frozen=True)
class Placeholder:
    """Stands in an example for a value of which only the type is given."""

    type: Type


def apart(items: Sequence[Any]) -> bool:
    """Whether all items are different objects."""
    return len({id(item) for item in items}) == len(items)


@dataclass(frozen=True, eq=False)
class Path:
    """root: the index of an argument, or a one-element tuple holding an object; steps: ("attr", name),
    ("item", key), ("len", None), ("keys", None): those of a dict in order, ("apart", None): whether no item
    is there twice, ("special", name): a special method of a class, None where it has none, or ("global",
    name): what a name means that the code of a module with these globals reads; each applied to what the one
    before gave."""

    root: int | tuple[Any]
    steps: tuple[tuple[str, Any], ...] = ()
    text: str = ""

    def __truediv__(self, step: tuple[str, Any]) -> Path:
        kind, key = step
        said = {"len": "'s length", "keys": "'s keys", "apart": ", each of whose items is another object"}
        shown = f"[{key!r}]" if kind == "item" else said.get(kind, f".{key}")
        if key in ("cell_contents", "value") and self.text.startswith("captured "):
            shown = ""
        elif self.text == "global ":
            shown = repr(key)
        return Path(self.root, (*self.steps, step), self.text + shown)

    def captured(self, index: int) -> Path:
        """Where the captured variable with this number is, of a function that is here."""
        return self / ("attr", "__closure__") / ("item", index) / ("attr", "cell_contents")

    def default(self, index: int) -> Path:
        """Where the default with this number is, of a function that is here."""
        return self / ("attr", "__defaults__") / ("item", index)

    def read(self, args: Sequence[Any]) -> Any:
        """The value there now; raises what looking raises."""
        value = args[self.root] if isinstance(self.root, int) else self.root[0]
        for kind, key in self.steps:
            if kind == "attr":
                value = getattr(value, key)
            elif kind == "item":
                value = value[key]
            elif kind == "special":
                value = getattr(value, key, None)
            elif kind == "global":
                value = value[key] if key in value else BUILTINS[key]
            elif kind == "apart":
                value = apart(value)
            else:
                value = len(value) if kind == "len" else tuple(value)
        return value

    @property
    def key(self) -> Any:
        """What makes two paths the same path, across traces."""
        if isinstance(self.root, int):
            return (self.root, self.steps)
        held = self.root[0]
        return ("object", id(held.cell if isinstance(held, Cell) else held)), self.steps


@dataclass(frozen=True, eq=False)
class Guard:
    """The trace is valid only while the value at `path` is what `expect` says.

    expect: a `StaticType` (same value, functions and classes by identity) or a type that must describe
    the value.  text: how the user calls the place ("global 'rate'", "self.w")."""

    path: Path
    expect: Type
    text: str

    def holds(self, args: Sequence[Any]) -> bool:
        """Whether the place still holds what the trace relied on; args: all arguments in order."""
        try:
            return describes(self.expect, self.path.read(args))
        except (AttributeError, LookupError, TypeError, ValueError):
            return False


@dataclass(frozen=True)
class Note:
    """A place that was left to Python, or became less precise.  kind: "python", "object", "dynamic"."""

    kind: str
    reason: str
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class TraceResult:
    """One traced call: its graph, what it relies on, what was left to Python, and the tree of its result.

    outputs: known containers with trace types at the leaves; None where control never gets to the end."""

    graph: Graph
    guards: tuple[Guard, ...]
    notes: tuple[Note, ...]
    outputs: Any = None
