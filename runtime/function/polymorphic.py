"""`PolymorphicFunction`: a Python function with the cache of its traces.

In: a Python function and a tracer (injected, so this layer knows nothing of source code).  Out: a
callable that does what the Python function does: it runs the trace that serves the call, traces anew
when there is none, and leaves to plain Python what can't be traced.

What always holds: a trace runs only when its signature covers the arguments and its guards hold; the
cache has a bound; tracing happens once per signature, also with threads; no argument is kept alive.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import pickle
import sys
import time
import types
import warnings
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from runtime.collecting import rarely
from runtime.config import settings
from runtime.errors import AutographError, ConversionRefused, GuardError, Span, Untraceable, VariableError
from runtime.execute.traceback import cleaned
from runtime.forking import ForkLock
from runtime.function.accounts import (
    ASKED,
    FIRST,
    KEPT,
    Account,
    Change,
    RetraceWarning,
    check_allowed,
    difference,
    found_type,
    guard_changes,
    guard_reason,
    guarded_place,
    volatile_places,
    what_happened,
)
from runtime.function.concrete import ConcreteFunction
from runtime.function.direct import Direct, never_ready
from runtime.function.dispatch import MISS, Entry, plain_entry
from runtime.function.eager import MODE
from runtime.function.pickles import by_value, cloud, found_as, found_as_plain, remade, source_file
from runtime.function.promises import Promise, kept_promise, placed
from runtime.function.quick import Quickly
from runtime.function.records import TraceRecord, entry_of, generalise, served_by, superseded
from runtime.function.signature import Binder, Bound, Signature, example
from runtime.gate import GATE
from runtime.ir.graph import Graph
from runtime.lazy import Lazy
from runtime.places import depth, place, span_here, uncounted
from runtime.recording import recording
from runtime.trace.record import Argument, Guard, TraceResult
from runtime.types import UNBOUND, Type
from runtime.variable import traced_again

if TYPE_CHECKING:
    from runtime.execute import loader
    from runtime.trace import core
else:
    core = Lazy("runtime.trace.core")
    loader = Lazy("runtime.execute.loader")

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
Around = Callable[[Callable[..., Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
LINEAR = 8  # with this many traces or fewer they are tried one by one; more are found by their key
LIFETIMES = 4  # a function traced this many times the size of its cache runs as plain Python from then on
FORWARDED = frozenset({"__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__"})


class Tracer(Protocol):
    """Traces one call; raises `Untraceable` (or `ConversionRefused`: the function can't be at all)."""

    def __call__(
        self,
        positional: Sequence[Argument],
        keywords: Mapping[str, Argument],
        *,
        name: str,
        strict: bool,
        volatile: frozenset[Any],
    ) -> TraceResult:
        """The graph of this call."""


def call_plainly(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call inside another trace does where nothing better was injected."""
    return function(*args, **kwargs)


def _renew(
    function: weakref.ref[PolymorphicFunction[..., Any]], change: Callable[..., object], *given: Any
) -> None:
    """Change what runs a trace, and the dispatch with it; any thread may say so."""
    alive = function()
    if alive is not None:
        with alive._lock:
            change(*given)
            alive._rebuild()


class PolymorphicFunction(Direct, Generic[P, R]):
    """A Python function, its traces, and the dispatch between them.

    python_function: the function as the user wrote it.
    trace: traces one call.
    inline: what a call does while another function is being traced.
    input_signature: the types of all arguments (see `promises`), in order or by name; calls with others are
        refused.
    reduce_retracing: generalise when a call differs only in sizes or in Python numbers.
    strict: raise where a call would be left to plain Python; None: as the setting `strict` says.
    around: called as around(python_function, run, args, kwargs) in place of run(*args, **kwargs), which
        dispatches to the traces.
    """

    __slots__ = ()

    def __init__(
        self,
        python_function: Callable[P, R],
        trace: Tracer,
        *,
        inline: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] = call_plainly,
        input_signature: Sequence[Any] | Mapping[str, Any] | None = None,
        reduce_retracing: bool = True,
        strict: bool | None = None,
        around: Around | None = None,
    ) -> None:
        super().__init__()
        functools.update_wrapper(self, python_function)
        self._python: Callable[..., Any] = python_function
        self._trace_call, self._inline = trace, inline
        self._name: str = getattr(python_function, "__name__", type(python_function).__name__)
        self._binder = Binder(python_function, self._name)
        self._input_signature = self._binder.by_names(input_signature)
        self._reduce_retracing, self._strict = reduce_retracing, strict
        self._lock = ForkLock()
        self._groups: dict[Hashable, list[TraceRecord]] = {}
        self._history: list[TraceRecord] = []
        self._classes: Mapping[tuple[Any, ...], Sequence[TraceRecord]] = {}
        self._entries: tuple[Entry, ...] = ()
        self._named: tuple[Entry, ...] = ()
        self._plain: tuple[Entry, ...] = ()
        self._plain_reason = ""
        self._changes: dict[Hashable, tuple[int, Type]] = {}
        self._latest: TraceRecord | None = None
        self._accounts: collections.deque[Account] = collections.deque(maxlen=KEPT)
        self._traced = 0
        self._around = around
        self._remake: tuple[Callable[..., Any], dict[str, Any]] | None = None
        self.explainer: Callable[[Any], Any] | None = None  # tells more of what became of it
        self._rebuild()

    # ---------------------------------------------------------------- calling
    @uncounted
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the Python function does."""
        if GATE.shut_by and (core.active() is not None or recording()):
            return self._inline(self._python, args, kwargs)  # type: ignore[no-any-return]
        try:
            if MODE.eager:
                return self._python(*args, **kwargs)  # type: ignore[no-any-return]
            for entry in self._named if kwargs else self._entries:
                result = entry(args, kwargs)
                if result is not MISS:
                    return result  # type: ignore[no-any-return]
            return self._call_slowly(args, kwargs)  # type: ignore[no-any-return]
        except BaseException as error:
            if isinstance(error, GuardError):
                self._distrust(error.place)
            if sys.version_info < (3, 11):  # a bare raise would restore the old traceback
                raise error.with_traceback(cleaned(error))  # noqa: B904  it is the error that is being handled
            else:  # a bare raise adds no entry for this frame
                error.__traceback__ = cleaned(error)
                raise

    def _distrust(self, place: str) -> None:
        """A place turned out to change in the middle of calls: it is read at run time from now on."""
        with self._lock:
            for record in list(self._history):
                guards = record.concrete.guards if record.concrete is not None else ()
                paths = [guarded_place(guard) for guard in guards if guard.text == place]
                self._changes.update((path, (2, UNBOUND)) for path in paths)
                if paths:
                    self._drop(record)
            self._rebuild()

    @uncounted
    def _run_inside(self, /, *args: Any, **kwargs: Any) -> Any:
        """The call without what was put around it."""
        for entry in self._inside:
            result = entry(args, kwargs)
            if result is not MISS:
                return result
        return self._call_slowly(args, kwargs)

    @uncounted
    def _run_around(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The only entry of a function that has something around it: it serves every call."""
        assert self._around is not None
        return self._around(self._python, self._run_inside, args, kwargs)

    @uncounted
    def _call_slowly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call with arguments in another form, or more traces than are tried one by one, or a new one."""
        bound = self._binder.bind(args, kwargs)
        if bound is None:  # Python itself says what is wrong with the arguments
            return self._python(*args, **kwargs)
        self._note_form(args, kwargs)
        result = self._by_class(bound.positional, bound.keywords)
        if result is not MISS:
            return result
        record = self._record_for(bound, self._binder.signature_of(bound))
        result = record.entry(bound.positional, bound.keywords)
        return self._python(*args, **kwargs) if result is MISS else result

    @uncounted
    def _by_class(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An entry that tries only the traces for arguments of these classes."""
        for record in self._classes.get((*map(type, args), *kwargs, *map(type, kwargs.values())), ()):
            result = record.entry(args, kwargs)
            if result is not MISS:
                record.used = self._clock.tick()
                return result
        return MISS

    # ---------------------------------------------------------------- tracing
    def _record_for(self, bound: Bound, exact: Signature) -> TraceRecord:
        """The trace that serves these arguments, made now unless another thread has just made it."""
        with self._lock:
            group = self._groups.get(exact.skeleton(), [])
            covering = [record for record in group if record.signature.covers(exact)]
            values = bound.values
            for record in covering:
                if record.holds(values):
                    return record
            promise = self._promise(exact, bound)
            signature, reason, changes = self._signature_for(exact, group, covering, values, promise)
            account = Account(str(signature), reason, changes)
            check_allowed(self._name, account, span_here())
            if self._traced >= LIFETIMES * settings.cache_size and not self._is_strict():
                self._give_up(f"it was traced {self._traced} times, each time for other arguments")
                return self._plain_record(exact, "too many signatures", 0.0)
            record = self._attempt(signature, exact, bound, reason, promise)
            record.changes = changes
            self._store(record, exact.skeleton(), bound)
            return record

    def _signature_for(
        self,
        exact: Signature,
        group: list[TraceRecord],
        covering: list[TraceRecord],
        values: tuple[Any, ...],
        promise: Promise | None,
    ) -> tuple[Signature, str, tuple[Change, ...]]:
        """The signature to trace for, and why there must be a new trace: in words, and what differs."""
        if promise is not None and not covering:
            return promise.signature, *(difference(exact, group[-1].signature) if group else (FIRST, ()))
        if covering:
            last = max(covering, key=lambda record: record.made)
            failed = last.failed_guards(values)
            for guard in failed:
                self._note_change(guard, values)
            changed = guard_changes(failed, values)
            return last.signature, guard_reason(changed), changed
        if not self._history:
            return exact, FIRST, ()
        latest = max(group or self._history, key=lambda record: record.made)
        return (generalise(exact, group, self._changes) if self._reduce_retracing else exact), *difference(
            exact, latest.signature
        )

    def _promise(self, exact: Signature, bound: Bound) -> Promise | None:
        """What these arguments keep of the `input_signature`; SignatureError where they break it."""
        if self._input_signature is None:
            return None
        return kept_promise(self._name, exact, self._input_signature, bound, place(self._python))

    def _note_change(self, guard: Guard, values: tuple[Any, ...]) -> None:
        """Count that the guarded place changed; two traces that notice the same change count it once."""
        try:
            now = found_type(guard, values)
        except Exception:  # looking may run the user's code, a property for one
            now = UNBOUND
        place = guarded_place(guard)
        times, before = self._changes.get(place, (0, None))
        if before != now:
            self._changes[place] = times + 1, now

    def _attempt(
        self,
        signature: Signature,
        exact: Signature,
        bound: Bound,
        reason: str,
        promise: Promise | None = None,
    ) -> TraceRecord:
        """Trace for `signature`, else for the exact one, else leave the signature to plain Python."""
        guards: tuple[Guard, ...] = ()
        if promise is not None:
            bound, guards = promise.bound, promise.guards
        start = time.perf_counter()
        why, where = "", None
        for candidate in (signature,) if signature == exact else (signature, exact):
            try:
                with rarely():
                    concrete = self._trace(candidate, bound, guards)
                    entry = entry_of(candidate, concrete, guards, self._python)
            except ConversionRefused as refusal:
                if self._is_strict():
                    raise
                self._give_up(refusal.what)
                seconds = time.perf_counter() - start
                return self._plain_record(candidate, refusal.what, seconds, refusal.span, reason, guards)
            except VariableError:  # a Variable of its own per trace: Python would go on with one per call
                raise
            except Exception as problem:  # whatever goes wrong while tracing, Python still knows what to do
                if self._is_strict():
                    raise
                if not why:  # text and place only: the exception would keep the arguments alive
                    why, where = what_happened(problem), getattr(problem, "span", None)
                continue
            seconds, made = time.perf_counter() - start, self._clock.tick()
            record = TraceRecord(candidate, reason, seconds, concrete, None, entry, made=made, guards=guards)
            served_by(record, self._python, functools.partial(_renew, weakref.ref(self)))
            return record
        return self._plain_record(signature, why, time.perf_counter() - start, where, reason, guards)

    def _trace(self, signature: Signature, bound: Bound, guards: tuple[Guard, ...]) -> ConcreteFunction:
        """One trace, which has these guards too; nothing is stored."""
        self._traced += 1
        positional = [
            Argument(name, example(value), t)
            for (name, t), value in zip(signature.positional, bound.positional, strict=True)
        ]
        keywords = {name: Argument(name, example(bound.keywords[name]), t) for name, t in signature.keywords}
        # A place that changed a second time is read at run time from then on.
        volatile = volatile_places(self._changes)
        again = any(account.plain is None for account in self._accounts)
        with traced_again(self._name if again else ""):
            traced = self._trace_call(
                positional, keywords, name=self._name, strict=self._is_strict(), volatile=volatile
            )
        whole = dataclasses.replace(traced, guards=(*guards, *traced.guards))
        # With something around it, as a check, the trace is what is asked for.
        may = self._around is None and isinstance(self._python, types.FunctionType)
        return ConcreteFunction(signature, whole, may)

    def _plain_record(
        self,
        signature: Signature,
        why: str,
        seconds: float,
        place: Span | None = None,
        reason: str = "left to Python",
        guards: tuple[Guard, ...] = (),
    ) -> TraceRecord:
        """A record that leaves its signature to plain Python."""
        entry = plain_entry(signature, guards, self._python)
        return TraceRecord(
            signature, reason, seconds, None, why, entry, made=self._clock.tick(), place=place, guards=guards
        )

    def _give_up(self, why: str) -> None:
        """Whatever no trace serves is plain Python from now on."""
        python = self._python
        if self._input_signature is not None:
            return  # a call that keeps the promise has its own record by now, one that breaks it is refused
        self._plain = (uncounted(lambda args, kwargs: python(*args, **kwargs)),)
        self._plain_reason = why
        self._rebuild()

    def _drop(self, record: TraceRecord) -> None:
        self._history.remove(record)
        left = {k: [r for r in group if r is not record] for k, group in self._groups.items()}
        self._groups = {k: group for k, group in left.items() if group}

    def _store(self, record: TraceRecord, key: Hashable, bound: Bound) -> None:
        """Add a record; the least recently used one goes when there are too many."""
        record.classes = bound.classes
        self._note_uses()
        while len(self._history) >= settings.cache_size:
            self._drop(min(self._history, key=lambda r: max(r.used, r.made)))
        self._accounts.append(Account(str(record.signature), record.reason, record.changes, record.plain))
        self._groups.setdefault(key, []).append(record)
        self._history.append(record)
        for other in superseded(self._history, record):
            self._drop(other)
        if record.concrete is not None:
            self._latest = record
        self._rebuild()
        limit = settings.warn_after_retraces
        if limit and self._traced == limit + 1:
            fixes = "; ".join(dict.fromkeys(change.fix for change in record.changes))
            warnings.warn(
                f"{self._name!r} was traced again {limit} times; the last time: {record.reason}"
                + (f"; to avoid it: {fixes}" if fixes else ""),
                RetraceWarning,
                stacklevel=depth() + 1,
            )

    def _rebuild(self) -> None:
        if type(self) is Quick:
            self.__class__ = PolymorphicFunction  # type: ignore[assignment, unused-ignore]
        # Most specific first; among equals the newest, which relies on the present state of things.
        records = sorted(self._history, key=lambda r: (r.signature.unknowns(), r.by_python, -r.made))
        classes: dict[tuple[Any, ...], list[TraceRecord]] = {}
        for record in records:
            classes.setdefault(record.classes, []).append(record)
        self._classes = classes
        if len(records) < min(LINEAR + 1, settings.cache_size):
            self._inside: tuple[Entry, ...] = (*(r.entry for r in records), *self._plain)
        else:
            self._inside = (self._by_class, *self._plain)
        self._entries = self._inside if self._around is None else (self._run_around,)
        self._named = self._entries
        if self._around is None and (records or self._plain or self._tables is not None):
            self._publish(records, bool(self._plain))
            if self._tables is None and len(self._inside) <= LINEAR:
                self._named = (*self._entries_by_name(records), *self._entries)
            if type(self) is PolymorphicFunction and self._entries[:1] != (self._by_class,) and never_ready():
                self._quick = Quickly(weakref.ref(self), tuple(records), PolymorphicFunction)
                self.__class__ = Quick

    def _is_strict(self) -> bool:
        return settings.strict if self._strict is None else self._strict

    # ---------------------------------------------------------------- looking
    @property
    def python_function(self) -> Callable[P, R]:
        """The function as the user wrote it."""
        return self._python

    @property
    def inside_function(self) -> Callable[..., Any]:
        """The function that is traced: the Python function without bound arguments."""
        return self._python

    @property
    def traces(self) -> tuple[TraceRecord, ...]:
        """Every trace that was made, oldest first: signature, reason, seconds, or why Python runs it."""
        return tuple(self._history)

    def why(self) -> str:
        """Why each trace was made, oldest first: which argument or guard, what it was and is, what to do.

        Traces that have left the cache are told of, too; after 1000 the oldest are forgotten.
        """
        if not self._accounts:
            return f"{self._name!r} was not called yet"
        return "\n".join(account.text(k) for k, account in enumerate(self._accounts, 1))

    def get_concrete_function(self, /, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments, made if there is none; arrays may be given as `TensorSpec`,
        also inside tuples, lists and dicts.

        Without arguments and with an `input_signature`: the trace for that.  Raises Untraceable when
        the signature was left to plain Python.
        """
        if not args and not kwargs and self._input_signature is not None:
            wanted = self._input_signature.items()
            args = tuple(spec for name, spec in wanted if self._binder.is_positional(name))
            kwargs = {name: spec for name, spec in wanted if not self._binder.is_positional(name)}
        given = repr((args, kwargs))
        placeholders = [placed(value) for value in (*args, *kwargs.values())]
        only_specs = any(a is not b for a, b in zip(placeholders, (*args, *kwargs.values()), strict=True))
        args, named = tuple(placeholders[: len(args)]), placeholders[len(args) :]
        kwargs = dict(zip(kwargs, named, strict=True))
        bound = self._binder.bind(args, kwargs)
        if bound is None:
            raise TypeError(self._binder.refusal(args, kwargs))
        exact = self._binder.signature_of(bound)
        with self._lock:
            promise = self._promise(exact, bound)
            exact = exact if promise is None else promise.signature
            for record in self._groups.get(exact.skeleton(), ()):
                if record.signature == exact and (
                    record.given == given if only_specs else record.still_so(bound.values)
                ):
                    break
            else:
                check_allowed(self._name, Account(str(exact), ASKED), span_here())
                record = self._attempt(exact, exact, bound, ASKED, promise)
                record.given = given if only_specs else ""
                self._store(record, exact.skeleton(), bound)
        if record.concrete is None:
            raise Untraceable(
                f"{record.signature} is left to plain Python",
                span=record.place,
                why=record.plain or "",
                fix="change this, or call the function as it is",
            )
        return record.concrete

    def _last_concrete(self) -> ConcreteFunction:
        if self._latest is None or self._latest.concrete is None:
            plain = self._history[-1].plain if self._history else None
            why = f"it runs as plain Python: {plain}" if plain else "it was not called yet"
            raise AutographError(
                f"{self._name!r} has no trace",
                why=why,
                fix="call it, or call get_concrete_function with example arguments",
            )
        return self._latest.concrete

    @property
    def graph(self) -> Graph:
        """The graph of the latest trace."""
        return self._last_concrete().graph

    @property
    def plan_source(self) -> str:
        """The text of the plan of the latest trace."""
        return self._last_concrete().plan_source

    def pretty_printed_concrete_signatures(self) -> str:
        """The signatures in the cache, one per line, each with what the trace returns."""
        return "\n".join(
            f"{r.signature}  [plain Python]"
            if r.concrete is None
            else f"{r.signature} -> {r.concrete.printed_outputs}"
            for r in self._history
        )

    def explain(self) -> str:
        """Every trace: why it was made, how long it took, what it relies on, what was left to Python."""
        if self.explainer is not None:
            return str(self.explainer(self))
        texts = [record.text() for record in self._history]
        if self.remainder:
            texts.append(self.remainder)
        return "\n".join(texts) or f"{self._name!r} was not called yet"

    @property
    def remainder(self) -> str:
        """Why calls that no trace serves run as plain Python; empty where they are traced."""
        if not self._plain:
            return ""
        return f"all other calls of {self._name!r} run as plain Python: {self._plain_reason}"

    # ---------------------------------------------------------------- being a function
    @overload
    def __get__(self, instance: None, owner: type | None = None, /) -> PolymorphicFunction[P, R]: ...
    @overload
    def __get__(
        self: PolymorphicFunction[Concatenate[S, Q], R], instance: S, owner: type | None = None, /
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name in FORWARDED:
            return getattr(self._python, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        name = getattr(self, "__qualname__", self._name)
        return f"<autograph function {name}, {len(self._history)} traces>"

    def __copy__(self) -> PolymorphicFunction[P, R]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PolymorphicFunction[P, R]:
        return self

    def remade_by(self, make: Callable[..., Any], options: dict[str, Any]) -> None:
        """Say how another process gets such a function: as `make(python_function, **options)`."""
        self._remake = make, options

    def __reduce__(self) -> Any:
        """Pickled by reference, as functions are; else by its Python function and its options."""
        clouded = cloud()
        found = found_as(self.__module__, self.__qualname__)
        if found is self and not (clouded and by_value(self.__module__)):
            return str(self.__qualname__)
        if self._remake is None or not (clouded or found_as_plain(self.python_function)):
            raise pickle.PicklingError(
                f"can't pickle {self!r}: it is not found as {self.__module__}.{self.__qualname__}"
            )
        make, options = self._remake
        return remade, (make, self.python_function, options, *source_file(self._python))


class Quick(PolymorphicFunction[P, R]):
    """A polymorphic function that is called by what is in its slot `_quick`."""

    __slots__ = ()
    __call__ = Direct._quick
