"""`Direct`: what a polymorphic function needs so that machine code dispatches its calls.

In: the traces of a function, each time they change.  Out: a chain in `_chain`, and the instance's class made
the twin that is called without Python (see `layout`).  What always holds: `__call__` in Python would do the
same with every call; a function whose calls can't be dispatched so keeps its class.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime import background
from runtime.config import settings
from runtime.errors import GuardError
from runtime.execute.traceback import cleaned
from runtime.forking import ForkLock
from runtime.function.chains import MOST_FORMS, Chain, Clock, Form, Row, Shape, Shapes
from runtime.function.checks import INEXPRESSIBLE, MOST_ARGUMENTS, NO_CHECKS, checks_of
from runtime.function.dispatch import Entry, entry_by_name
from runtime.function.layout import Slots, twin
from runtime.function.records import TraceRecord
from runtime.function.signature import Binder
from runtime.lazy import Lazy
from runtime.types import ArrayType, StaticType

if TYPE_CHECKING:
    from runtime.execute import loader
    from runtime.execute.native import check_ir, dispatcher, executor
else:
    loader = Lazy("runtime.execute.loader")
    check_ir, dispatcher = Lazy("runtime.execute.native.check_ir"), Lazy("runtime.execute.native.dispatcher")
    executor = Lazy("runtime.execute.native.executor")

_PACKAGE = "runtime.function."
SMALL = 2000  # elements


class Direct(Slots):
    """prefix, keywords: arguments that the function adds to those of each call."""

    __slots__ = ("__dict__", "__weakref__", "_chain", "_quick")
    prefix: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = {}
    _binder: Binder
    _lock: ForkLock
    _quick: Callable[..., Any]
    _python: Callable[..., Any]

    def __init__(self) -> None:
        self._clock, self._shapes = Clock(), Shapes()
        self._tables: tuple[Chain, list[TraceRecord]] | None = None
        self._forms: dict[tuple[int, tuple[str, ...]], Form] = {}

    def _distrust(self, place: str) -> None:
        """A place turned out to change in the middle of calls: it is read at run time from now on."""

    def _rebuild(self) -> None:
        """Put together anew what calls go through."""

    def _publish(self, records: Sequence[TraceRecord], catch_all: bool) -> None:
        """Let calls be dispatched to these traces, tried in this order; then, if `catch_all`, to Python."""
        self._note_uses()
        cls = type(self)
        python = cls.__mro__[1] if _is_twin(cls) else cls
        ours = python.__module__.startswith(_PACKAGE)  # the class of somebody else's may call as it likes
        other = twin(python) if ours and _ready(self) else None
        if other is None:
            self.__class__ = python  # first: what goes with the old chain may run anybody's code
            self._tables, self._chain = None, ()
            return
        served, rows = [], []
        for record in records:
            for row in self._rows(record):
                served.append(record)
                rows.append(row)
                assert row.shape is not None
                self._add_form(*self._own_form(row.shape))
        if catch_all and not self.prefix and not self.keywords:
            rows.append(Row(self._shapes, None, NO_CHECKS, self._python))
        ways = python.__call__, _on_error
        chain = Chain(rows, [*self._forms.values()], self._shapes, self._clock, ways)
        self._chain, self._tables = chain.tuple, (chain, served)
        if cls is not other:
            self._vectorcall = dispatcher.address()
            self.__class__ = other

    def _note_uses(self) -> None:
        """Tell the records what the tables know: when each was last used."""
        if self._tables is not None:
            chain, records = self._tables
            for record, used in zip(records, chain.used(), strict=False):
                record.used = max(record.used, used)

    def _rows(self, record: TraceRecord) -> tuple[Row, ...]:
        """How the dispatcher runs a trace; none where it can't say when it may."""
        concrete, signature = record.concrete, record.signature
        if record.weighing is not None and not record.by_python:
            return ()
        python = concrete is None or concrete.by_python
        target = self._python if python else loader.bare(concrete.executable)  # type: ignore[union-attr]
        if record.rows and record.rows[-1].target is target:
            return record.rows
        if record.checks is None:
            record.checks = checks_of(signature, record.relies_on) or INEXPRESSIBLE
        if record.checks is not INEXPRESSIBLE:
            shape = len(signature.positional), signature.keyword_names
            passed = tuple(i for i, t in enumerate(signature.types) if not isinstance(t, StaticType))
            make = functools.partial(Row, self._shapes, shape)
            last = make(record.checks, target, None if python else passed)
            record.rows = (last,)
            arrays = [i for i, t in enumerate(signature.types) if isinstance(t, ArrayType) and not t.scalar]
            if last.native and arrays and concrete is not None and not executor.has_loop(concrete.optimised):
                # Native code is for C order; asking it to find something else costs more than a small plan.
                ordered = record.checks.and_all(check_ir.ORDERED, arrays)
                if isinstance(concrete.native, executor.NativeFunction):
                    ordered = ordered.and_all(check_ir.ENABLED, [0], concrete.native.enabled_at)
                small = record.checks.and_all(check_ir.SMALL, arrays, SMALL)
                plan = make(small, loader.bare(concrete.run_plan), passed)
                record.rows = make(ordered, target, passed), plan, last
        return record.rows

    # ------------------------------------------------------------------ ways to write a call
    def _own_form(self, shape: Shape) -> tuple[int, tuple[str, ...]]:
        """The usual way to write a call of this canonical shape."""
        count, names = shape
        return max(count - len(self.prefix), 0), tuple(name for name in names if name not in self.keywords)

    def _note_form(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """A call was written so (what the function adds included); where that is new, tell the dispatch."""
        given, names = (
            len(args) - len(self.prefix),
            tuple(name for name in kwargs if name not in self.keywords),
        )
        if (given, names) not in self._forms and all(kwargs.get(k) is v for k, v in self.keywords.items()):
            with self._lock:
                if self._add_form(given, names):
                    self._rebuild()

    def _entries_by_name(self, records: Sequence[TraceRecord]) -> Iterator[Entry]:
        """For the dispatch in Python: how calls with names that were seen go to the traces unbound."""
        if self.prefix or self.keywords:
            return
        for form in self._forms.values():
            if form.names:
                for record in records:
                    signature = record.signature
                    if form.shape == (len(signature.positional), signature.keyword_names):
                        yield entry_by_name(signature, record.relies_on, record.entry, form)

    def _add_form(self, given: int, names: Iterable[str]) -> bool:
        """Add a way to write a call; whether it is new."""
        names = tuple(map(sys.intern, names))
        if (given, names) in self._forms or len(self._forms) >= MOST_FORMS:
            return False
        places = [(k, None) for k in range(given)]
        args = (*[(-1, value) for value in self.prefix], *places)
        kwargs = {name: (-1, value) for name, value in self.keywords.items()}
        kwargs |= {name: (given + k, None) for k, name in enumerate(names)}
        bound = self._binder.bind(args, kwargs)
        if bound is None or len(bound.values) > MOST_ARGUMENTS:
            return False
        shape = len(bound.positional), tuple(bound.keywords)
        self._forms[given, names] = Form(given, names, shape, bound.values)
        return True


def _is_twin(cls: type) -> bool:
    return twin(cls.__mro__[1]) is cls


_waiting: weakref.WeakSet[Direct] = weakref.WeakSet()


def _published() -> None:
    """The dispatcher is there: let it have the functions that were called before."""
    while _waiting:
        try:
            function = _waiting.pop()
        except KeyError:  # the garbage collector was quicker
            return
        with function._lock:
            function._rebuild()


_loading = background.Job(lambda: dispatcher.load(), _published)


def _ready(function: Direct) -> bool:
    """Whether machine code may dispatch calls now; the function is told when it can later on."""
    if settings.executor == "numpy":
        return False
    if not _loading.done:
        if settings.compile == "now" or dispatcher.at_hand():
            _loading.finish()
        else:
            if not _waiting:
                _loading.submit()
            _waiting.add(function)
            if not _loading.done:
                return False
    return dispatcher.address() != 0


def never_ready() -> bool:
    """Whether there is no hope for machine code that dispatches calls, as things stand."""
    return settings.executor == "numpy" or (_loading.done and dispatcher.address() == 0)


def _on_error(function: Direct, error: BaseException) -> None:
    """An error on its way out of a trace that the dispatcher ran, as `__call__` lets it out."""
    if isinstance(error, GuardError):
        function._distrust(error.place)
    error.__traceback__ = cleaned(error)
    del error  # this frame is behind those of its traceback: no circle
