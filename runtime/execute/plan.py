"""What a graph compiles to: `PlanSource`, the text of one Python function and what it is bound to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from runtime.dataclass import dataclass
from runtime.errors import Span
from runtime.execute.expression import Number

Place = tuple[int, int, Span]


@dataclass(frozen=True)
class PlanSource:
    """One Python function as text.

    name: the function's.  constants: the objects that its global names stand for.
    lines: the user's place of each line of the text (1-based).
    marks: finer places within a line, where an expression of another user line was written into it.
    numbers: literals beside arrays, by line; they are arrays once the function is loaded, since NumPy would
        make one for each call, which takes half of the time that a short one needs.
    device: whose functions it calls: "cpu" or "cuda".
    parts: the functions that it calls by name, those first that others call; bound to the same constants.
    """

    text: str
    name: str
    constants: Mapping[str, Any]
    lines: Mapping[int, Span]
    marks: Mapping[int, tuple[Place, ...]] = dataclasses.field(default_factory=dict)
    numbers: Mapping[int, tuple[tuple[int, int, Number], ...]] = dataclasses.field(default_factory=dict)
    device: str = "cpu"
    parts: tuple[PlanSource, ...] = ()

    @property
    def whole(self) -> str:
        """The text with those of the functions that it calls before it."""
        return "\n\n".join([*(part.text for part in self.parts), self.text])

    def span(self, line: int, start: int | None = None, end: int | None = None) -> Span | None:
        """The user's place of a line, or of the part of it from column `start` to `end` (characters)."""
        if start is not None and end is not None:
            inside = [mark for mark in self.marks.get(line, ()) if mark[0] <= start and end <= mark[1]]
            if inside:
                return min(inside, key=lambda mark: mark[1] - mark[0])[2]
        return self.lines.get(line)

    def __str__(self) -> str:
        return self.whole
