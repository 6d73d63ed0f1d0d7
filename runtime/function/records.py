"""`TraceRecord`: one entry of a function's cache.

Also the decision what a new trace should generalise over, given those there are.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from runtime.dataclass import dataclass
from runtime.errors import Span
from runtime.function.accounts import Change, bytes_of, holds
from runtime.function.chains import Row
from runtime.function.checks import Checks
from runtime.function.closures import differences
from runtime.function.concrete import ConcreteFunction
from runtime.function.dispatch import Entry, compile_entry, plain_entry
from runtime.function.signature import Signature, alike, widen
from runtime.function.weighing import Weighing
from runtime.lazy import Lazy
from runtime.trace.record import Guard, Path
from runtime.types import Type

if TYPE_CHECKING:
    from runtime.execute import loader
else:
    loader = Lazy("runtime.execute.loader")

FEW = 3
STATIC_LIMIT = 8  # this many traces that differ in strings, flags, functions: the next one takes any


@dataclass(eq=False)
class TraceRecord:
    """One trace, or one signature that is left to plain Python.

    signature: what it serves.  reason: why it was made; changes: what differed from the trace before.
    seconds: what making it took.  given: the specs in lists and dicts that it was asked for with.
    guards: what was promised of lists and dicts; a signature that Python runs relies on nothing else.
    checks, rows: when it serves a call, and how, for the dispatcher.  weighing: does the calls as long as it
    is not known whether the Python function is quicker.
    concrete: the trace, or None; plain: then why not, and place: because of which line of the user's.
    """

    signature: Signature
    reason: str
    seconds: float
    concrete: ConcreteFunction | None
    plain: str | None
    entry: Entry
    made: int
    used: int = 0
    classes: tuple[Any, ...] = ()
    place: Span | None = None
    changes: tuple[Change, ...] = ()
    given: str = ""
    guards: tuple[Guard, ...] = ()
    checks: Checks | None = None
    rows: tuple[Row, ...] = ()
    weighing: Weighing | None = None

    @property
    def by_python(self) -> bool:
        """Whether the Python function itself does the calls."""
        return self.concrete is None or self.concrete.by_python

    @property
    def relies_on(self) -> tuple[Guard, ...]:
        """What must hold, besides the arguments' types, for a call to be served."""
        if self.concrete is None or (self.by_python and self.weighing is None):
            return self.guards
        return self.concrete.guards

    @property
    def why(self) -> str:
        """Why it was made."""
        return self.reason

    @property
    def bytes(self) -> int:
        """About how much memory it takes: graph, plan and compiled code."""
        if self.concrete is None:
            return 0
        return bytes_of(self.concrete.graph, self.concrete.plan_source, self.concrete.run_plan)

    def __str__(self) -> str:
        return self.text()

    def failed_guards(self, values: Sequence[Any]) -> list[Guard]:
        """The guards that do not hold now."""
        return [guard for guard in self.relies_on if not holds(guard, values)]

    def holds(self, values: Sequence[Any]) -> bool:
        """Whether everything the trace relies on still holds."""
        return not self.failed_guards(values)

    def still_so(self, values: Sequence[Any]) -> bool:
        """Whether the trace says what a call would do now, whoever would do it."""
        guards = self.guards if self.concrete is None else self.concrete.guards
        return all(holds(guard, values) for guard in guards)

    def text(self) -> str:
        """The record for people."""
        size = f", {self.bytes / 1000:.1f} kB" if self.concrete is not None else ""
        lines = [f"{self.signature}", f"  traced in {self.seconds * 1e3:.1f} ms{size}: {self.reason}"]
        if self.concrete is None:
            where = "" if self.place is None else f" ({self.place})"
            lines.append(f"  runs as plain Python: {self.plain}{where}")
            return "\n".join(lines)
        return "\n".join(lines + str(self.concrete).splitlines()[1:])


def entry_of(
    signature: Signature, concrete: ConcreteFunction, given: tuple[Guard, ...], python: Callable[..., Any]
) -> Entry:
    """What serves the calls of a new trace.  given: what was promised of the arguments."""
    if concrete.by_python:
        return plain_entry(signature, given, python)
    run = loader.bare(concrete.executable)
    return compile_entry(signature, concrete.guards, "run({values})", run=run)


def served_by(record: TraceRecord, python: Callable[..., Any], renew: Callable[..., object]) -> None:
    """See to it that a new trace is run by the best there is, whenever that changes.

    renew: does what it is given, and has the function's dispatch follow."""
    assert record.concrete is not None
    found = weakref.ref(record)
    record.concrete.when_left = functools.partial(renew, leave, found, python)
    if record.concrete.open_to_doubt:
        weighed(record, python, renew)
    if record.concrete.pending:
        record.concrete.when_native(functools.partial(renew, swap, found))


def swap(record: weakref.ref[TraceRecord], run: Callable[..., Any]) -> None:
    """Let a trace be run by `run`, machine code that has become ready."""
    alive = record()
    if alive is not None:
        alive.entry.__globals__["run"] = loader.bare(run)
        if alive.weighing is not None and alive.concrete is not None and not alive.concrete.doubtful:
            settle(record)


def leave(record: weakref.ref[TraceRecord], python: Callable[..., Any]) -> None:
    """Let the Python function do the calls that a trace served.  It relies on less then, but where another
    trace may be quicker than it again."""
    alive = record()
    if alive is not None:
        if alive.weighing is not None and not alive.weighing.over:  # there is nothing left to be weighed
            alive.weighing.over, alive.weighing = True, None
        alive.entry = plain_entry(alive.signature, alive.relies_on, python)
        alive.checks, alive.rows = None, ()


def weighed(record: TraceRecord, python: Callable[..., Any], decided: Callable[..., object]) -> None:
    """Let the calls of a trace be done by it and by Python in turns.  decided: calls what it is given."""
    assert record.concrete is not None
    found, concrete = weakref.ref(record), record.concrete

    def end(by_python: bool) -> None:
        if by_python:
            left = f"; not native: {concrete.not_native}" if concrete.not_native else ""
            concrete.leave(f"{weighing.told}{left}")
        else:
            concrete.weighed = weighing.told
            decided(settle, found)

    weighing = record.weighing = Weighing(concrete, python, end)
    call = "weigh(run, args, kwargs, {values})"
    run = loader.bare(concrete.executable)
    record.entry = compile_entry(record.signature, concrete.guards, call, run=run, weigh=weighing)


def settle(record: weakref.ref[TraceRecord]) -> None:
    """Let a trace do all its calls."""
    alive = record()
    if alive is not None and alive.concrete is not None:
        run = loader.bare(alive.concrete.executable)
        alive.entry = compile_entry(alive.signature, alive.concrete.guards, "run({values})", run=run)
        alive.weighing = None


def superseded(history: Sequence[TraceRecord], record: TraceRecord) -> list[TraceRecord]:
    """The traces of Python objects that are of no more use once Python runs all that they serve: where there
    are more than a few, to look which of them fits takes longer than they save."""
    if record.concrete is None or not record.by_python:
        return []
    covered = [r for r in history if r is not record and record.signature.covers(r.signature)]
    found = [r for r in covered if r.concrete is not None and r.concrete.of_objects]
    return found if len(found) > FEW else []


def generalise(
    exact: Signature, group: Sequence[TraceRecord], changes: dict[Hashable, tuple[int, Type]]
) -> Signature:
    """The signature to trace for: `exact`, opened where it differs from an earlier trace's only in sizes,
    in Python numbers, or in the closure of one and the same function.

    changes: how often places changed; those in which such closures differ are added."""
    by_age = sorted(group, key=lambda record: -record.made)
    for record in by_age:
        old = record.signature.types
        if all(map(alike, exact.types, old)):
            for index, (a, b) in enumerate(zip(exact.types, old, strict=True)):
                for place, change in differences(a, b, Path(index)):
                    changes.setdefault(place, change)
            return exact.with_types(list(map(widen, exact.types, old)))
    if len(group) >= STATIC_LIMIT:
        last = by_age[0].signature.types
        pairs = zip(exact.types, last, strict=True)
        return exact.with_types([widen(a, b, everything=True) for a, b in pairs])
    return exact
