"""Chains: the tables of one polymorphic function, which the dispatcher goes through on each call.

In: traces with their checks and what runs them, and the ways in which calls were written.  Out: `Chain`,
whose `tuple` a function holds as `_chain`.  What always holds: a chain is never changed once a function has
it (but for the marks that calls leave in it): another takes its place, and calls that are in it keep it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from runtime.dataclass import dataclass
from runtime.function.checks import Checks
from runtime.lazy import Lazy

if TYPE_CHECKING:
    from runtime.execute.native import dispatch_ir as ir
    from runtime.execute.native import dispatcher
else:
    ir = Lazy("runtime.execute.native.dispatch_ir")
    dispatcher = Lazy("runtime.execute.native.dispatcher")

MOST_FORMS = 16
Shape = tuple[int, tuple[str, ...]]  # number of positional arguments in canonical form, names of the others


class Clock(ctypes.c_int64):
    """Counts: traces made and calls served, so that the least recently used trace is known."""

    def tick(self) -> int:
        """The next number."""
        self.value += 1
        return self.value


@dataclass(frozen=True)
class Form:
    """A way to write a call: `given` arguments by position, then these names.  shape: of its canonical form.
    sources: where each canonical argument comes from: the index of a given one, or -1 and an object."""

    given: int
    names: tuple[str, ...]
    shape: Shape
    sources: tuple[tuple[int, Any], ...]

    @property
    def straight(self) -> bool:
        """Whether the arguments are given in canonical order."""
        return [index for index, _ in self.sources] == [*range(self.given + len(self.names))]


class Shapes:
    """Numbers for the canonical shapes of a function's calls."""

    def __init__(self) -> None:
        self._numbers: dict[Shape, int] = {}

    def number(self, shape: Shape) -> int:
        """The number of a shape."""
        return self._numbers.setdefault(shape, len(self._numbers))


class Row:
    """What serves the calls that pass the checks of a trace, as words in the order of `dispatch_ir.TRACE`.

    shape: of the calls, None for any.  passed: indices of the arguments that the target takes; None: all, as
    canonical ones or, for any shape, as they were given.
    """

    def __init__(
        self,
        shapes: Shapes,
        shape: Shape | None,
        checks: Checks,
        target: Callable[..., Any],
        passed: tuple[int, ...] | None = None,
    ) -> None:
        self.target, self.shape = target, shape
        self.keep: tuple[Any, ...] = (checks.keep, checks.words, target)
        self.words = [ir.ANY if shape is None else shapes.number(shape)]
        self.words += [ctypes.addressof(checks.words), len(checks.lines)]
        self.words += [*self._way(), *self._arguments(passed), 0]

    @property
    def native(self) -> bool:
        """Whether it is the code of a built-in function."""
        return self.words[3] == ir.NATIVE

    def _way(self) -> tuple[int, int, int]:
        """kind, target, own"""
        code = None if self.shape is None else dispatcher.code_of(self.target)
        if code is not None:
            return ir.NATIVE, *code
        return (ir.PASS if self.shape is None else ir.CALL), id(self.target), 0

    def _arguments(self, passed: tuple[int, ...] | None) -> tuple[int, int, int]:
        """passed, pass_count, names"""
        if self.shape is None:
            return 0, 0, 0
        count, names = self.shape
        if passed is None:
            self.keep = (*self.keep, names)
            return 0, count, id(names) if names else 0
        if passed == tuple(range(count + len(names))):
            return 0, len(passed), 0
        indices = (ctypes.c_int64 * max(len(passed), 1))(*passed)
        self.keep = (*self.keep, indices)
        return ctypes.addressof(indices), len(passed), 0


class Chain:
    """The tables.  tuple: what the function holds."""

    def __init__(
        self,
        rows: Sequence[Row],
        forms: Sequence[Form],
        shapes: Shapes,
        clock: Clock,
        ways: tuple[Callable[..., Any], Callable[..., Any]],
    ) -> None:
        """ways: Python's way for calls that nothing serves, and what errors go through."""
        self._keep: list[Any] = [clock, *[row.keep for row in rows]]
        self._traces = self._words([word for row in rows for word in row.words])
        form_words = self._words([word for form in forms for word in self._form(form, shapes)])
        places = [ctypes.addressof(form_words), len(forms), ctypes.addressof(self._traces), len(rows)]
        root = self._words([*places, ctypes.addressof(clock)])
        self.tuple = (root, *ways, *self._keep)

    def _words(self, values: list[int]) -> Any:
        made = (ctypes.c_int64 * max(len(values), 1))(*values)
        self._keep.append(made)
        return made

    def _at(self, value: Any) -> int:
        self._keep.append(value)
        return id(value)

    def _form(self, form: Form, shapes: Shapes) -> list[int]:
        """The row of a form, in the order of `dispatch_ir.FORM`."""
        sources = 0
        if not form.straight:
            pairs = [(index, self._at(value) if index < 0 else 0) for index, value in form.sources]
            sources = ctypes.addressof(self._words([word for pair in pairs for word in pair]))
        names = self._at(form.names) if form.names else 0
        return [form.given, len(form.names), names, shapes.number(form.shape), len(form.sources), sources]

    def used(self) -> list[int]:
        """When each trace last served a call."""
        return list(self._traces[len(ir.TRACE) - 1 :: len(ir.TRACE)])
