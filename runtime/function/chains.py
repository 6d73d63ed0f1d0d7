"""Chains: the tables of one polymorphic function, which the dispatcher goes through on each call.

In: traces with their checks and what runs them, and the ways in which calls were written.  Out: `Chain`,
whose `tuple` a function holds as `_chain`.  What always holds: a chain is never changed once a function has
it (but for the marks that calls leave in it): another takes its place, and calls that are in it keep it.
"""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

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


@dataclasses.dataclass(frozen=True)
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


@dataclasses.dataclass(frozen=True)
class Runner:
    """What serves the calls that pass the checks of a trace.  passed: indices of the arguments it takes;
    None: all, as canonical ones or, for any shape (`shape` None), as they were given."""

    shape: Shape | None
    checks: Checks
    target: Callable[..., Any]
    passed: tuple[int, ...] | None = None


NO_CHECKS = Checks(0, 0, ())


class Chain:
    """The tables.  tuple: what the function holds."""

    def __init__(
        self,
        runners: Sequence[Runner],
        forms: Sequence[Form],
        clock: Clock,
        slowly: Callable[..., Any],
        on_error: Callable[..., Any],
    ) -> None:
        self._keep: list[Any] = [clock]
        self._shapes: dict[Shape, int] = {}
        self._traces = self._words([word for runner in runners for word in self._trace(runner)])
        form_words = self._words([word for form in forms for word in self._form(form)])
        places = [ctypes.addressof(form_words), len(forms), ctypes.addressof(self._traces), len(runners)]
        root = self._words([*places, ctypes.addressof(clock)])
        self.tuple = (root, slowly, on_error, *self._keep)

    def _words(self, values: list[int]) -> Any:
        made = (ctypes.c_int64 * max(len(values), 1))(*values)
        self._keep.append(made)
        return made

    def _at(self, value: Any) -> int:
        self._keep.append(value)
        return id(value)

    def _shape(self, shape: Shape) -> int:
        return self._shapes.setdefault(shape, len(self._shapes))

    def _names(self, names: tuple[str, ...]) -> int:
        return self._at(names) if names else 0

    def _trace(self, runner: Runner) -> list[int]:
        """The row of a trace, in the order of `dispatch_ir.TRACE`."""
        self._keep.append(runner.checks.keep)
        target, own, kind = self._at(runner.target), 0, ir.CALL
        passed, count, names = 0, 0, 0
        shape = ir.ANY if runner.shape is None else self._shape(runner.shape)
        if runner.shape is None:
            kind = ir.PASS
        elif runner.passed is None:
            count, names = runner.shape[0], self._names(runner.shape[1])
        else:
            count = len(runner.passed)
            if runner.passed != tuple(range(runner.shape[0] + len(runner.shape[1]))):
                passed = ctypes.addressof(self._words([*runner.passed]))
            code = dispatcher.code_of(runner.target)
            if code is not None:
                (target, own), kind = code, ir.NATIVE
        return [
            shape, runner.checks.address, runner.checks.count, kind, target, own, passed, count, names, 0
        ]  # fmt: skip

    def _form(self, form: Form) -> list[int]:
        """The row of a form, in the order of `dispatch_ir.FORM`."""
        sources = 0
        if not form.straight:
            pairs = [(index, self._at(value) if index < 0 else 0) for index, value in form.sources]
            sources = ctypes.addressof(self._words([word for pair in pairs for word in pair]))
        names = self._names(form.names)
        return [form.given, len(form.names), names, self._shape(form.shape), len(form.sources), sources]

    def used(self, index: int) -> int:
        """When the trace at this place last served a call."""
        return int(self._traces[index * len(ir.TRACE) + len(ir.TRACE) - 1])
