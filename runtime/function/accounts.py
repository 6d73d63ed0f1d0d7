"""Why each trace was made: what differed from the trace before, in words, and what to do about it.

In: two signatures, or the guards that failed.  Out: `Change`s, and the texts made of them.  Also the switch
`no_new_traces`.  What always holds: an account is text; it keeps no argument and no captured value alive.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import types
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.dataclass import dataclass
from runtime.errors import AutographError, NewTraceError, Span
from runtime.function.signature import Signature, argument_type, covers, show
from runtime.ir.calls import called_graphs
from runtime.ir.graph import Graph
from runtime.ir.walk import walk_graphs
from runtime.trace.record import Guard
from runtime.types import ArrayType, StaticType, TupleType, Type, WeakType

ASKED = "asked for by get_concrete_function"
FIRST, DROPPED = "first call", "the last trace for these arguments was dropped from the cache"
KEPT = 1000  # accounts kept per function; older ones are forgotten


class RetraceWarning(UserWarning):
    """A function is traced again and again (see the setting `warn_after_retraces`)."""


@dataclass(frozen=True)
class Change:
    """One thing that was not as the trace before has it.

    kind: "argument", or "guard": something outside the call that the trace relied on.
    name: which argument or place, in the user's words.  old, new: what it was, what it is.  fix: what to do.
    """

    kind: str
    name: str
    old: str
    new: str
    fix: str

    def __str__(self) -> str:
        name = f"argument {self.name!r}" if self.kind == "argument" else self.name
        return f"{name} is {self.new}, was {self.old}"


@dataclass(frozen=True)
class Account:
    """Why one trace was made.  reason: in words; changes: what differed, where something did."""

    signature: str
    reason: str
    changes: tuple[Change, ...] = ()
    plain: str | None = None

    def text(self, number: int) -> str:
        """The account as an item of a numbered list."""
        lines = [f"{number}. {self.signature}", f"   {self.reason}"]
        if self.plain is not None:
            lines.append(f"   left to plain Python: {self.plain}")
        lines += [f"   to avoid it: {fix}" for fix in dict.fromkeys(c.fix for c in self.changes)]
        return "\n".join(lines)


def argument_changes(new: Signature, old: Signature) -> tuple[Change, ...]:
    """The arguments of `new` that a trace for `old` does not serve; none where the arguments are others."""
    if (len(new.positional), new.keyword_names) != (len(old.positional), old.keyword_names):
        return ()
    pairs = zip(new.names, new.types, old.types, strict=True)
    return tuple(
        Change("argument", name, show(b), show(a), _fix_argument(name, a, b))
        for name, a, b in pairs
        if not covers(b, a)
    )


def retrace_reason(new: Signature, old: Signature, changes: Sequence[Change]) -> str:
    """How the signatures differ, in words."""
    if (len(new.positional), new.keyword_names) != (len(old.positional), old.keyword_names):
        return f"other arguments were given: {new}"
    return "; ".join(map(str, changes)) or DROPPED


def found_type(guard: Guard, values: Sequence[Any]) -> Type:
    """What is at the guarded place now: numbers by value where the guard has a value."""
    value = guard.path.read(values)
    found = argument_type(value)
    return _by_value(found, value) if isinstance(guard.expect, StaticType) else found


def _by_value(t: Type, value: Any) -> Type:
    if isinstance(t, WeakType) or (isinstance(t, ArrayType) and t.scalar):
        return StaticType(value)
    if isinstance(t, TupleType) and t.cls is tuple:
        items = tuple(map(_by_value, t.items, value))
        return StaticType(value) if all(isinstance(item, StaticType) for item in items) else t
    return t


def guard_changes(failed: Iterable[Guard], values: Sequence[Any]) -> tuple[Change, ...]:
    """The guarded places that changed; values: all arguments in order."""
    found = []
    for guard in failed:
        try:
            new = show(found_type(guard, values))
        except Exception as error:  # looking may run the user's code, a property for one
            new = f"not to be had ({type(error).__name__})"
        fix = (
            f"pass {guard.text} as an argument, or keep the value in an array or an ag.Variable: "
            "those are read at each call"
        )
        if guard.text.startswith("the code of"):
            fix = "define the function once"
        found.append(Change("guard", guard.text, show(guard.expect), new, fix))
    return tuple(found)


def holds(guard: Guard, values: Sequence[Any]) -> bool:
    """Whether the guarded place is as the trace has it; what can't be looked at is not."""
    try:
        return guard.holds(values)
    except Exception:  # the user's property or __getattr__; the function itself will raise it
        return False


def guard_reason(changes: Sequence[Change]) -> str:
    """Which places changed, in words."""
    return "changed since the last trace: " + "; ".join(map(str, changes))


def _fix_argument(name: str, new: Type, old: Type) -> str:
    if isinstance(new, ArrayType) and isinstance(old, ArrayType):
        return _fix_array(name, new, old)
    if isinstance(new, StaticType) and isinstance(old, StaticType):
        if isinstance(new.value, (types.FunctionType, types.MethodType)):
            return f"pass one function object as {name!r}: a lambda in a loop is another one on each trip"
        if type(new.value) in (int, float, complex) and type(old.value) is type(new.value):
            return f"pass {name!r} as an array or a NumPy scalar, or leave reduce_retracing on"
        if type(new.value) is not type(old.value):
            return f"pass {name!r} as a value of one class"
        return f"each value of {name!r} has a trace of its own: use few of them"
    if isinstance(new, (StaticType, WeakType)) or isinstance(old, (StaticType, WeakType)):
        return f"pass {name!r} in one way: always as an array or NumPy scalar, or always as a Python value"
    return f"pass {name!r} as a value of one class"


def _fix_array(name: str, new: ArrayType, old: ArrayType) -> str:
    if new.scalar != old.scalar:
        return f"pass {name!r} either as a NumPy scalar or as an array"
    if new.dtype != old.dtype:
        return f"pass {name!r} with one dtype, {old.dtype.name} for one"
    dtype = f"np.{new.dtype.name}" if new.dtype.kind in "biufc" else repr(new.dtype.str)
    if new.shape is None or old.shape is None or len(new.shape) != len(old.shape):
        return (
            f"pass {name!r} with one number of axes, or leave it open: ag.TensorSpec(None, {dtype}) "
            "in input_signature"
        )
    shape = tuple(n if n == m else None for n, m in zip(new.shape, old.shape, strict=True))
    return f"leave the sizes of {name!r} open: ag.TensorSpec({shape}, {dtype}) in input_signature"


# ------------------------------------------------------------------------------- no new traces
class _Forbidden(threading.local):
    depth = 0


_forbidden = _Forbidden()


@contextlib.contextmanager
def no_new_traces() -> Iterator[None]:
    """Inside the `with` block, calls in this thread that need a new trace raise NewTraceError.

    For tests and for loops that must not stop to trace: warm the functions up before.  May be nested.

    >>> with no_new_traces():
    ...     pass
    """
    _forbidden.depth += 1
    try:
        yield
    finally:
        _forbidden.depth -= 1


def check_allowed(name: str, account: Account, span: Span | None) -> None:
    """NewTraceError where no new traces are allowed; the account says what the trace would be made for."""
    if _forbidden.depth:
        fixes = dict.fromkeys(change.fix for change in account.changes)
        raise NewTraceError(
            f"{name!r} would be traced again: {account.signature}",
            span=span,
            why=account.reason,
            fix="; ".join(fixes) or "call it once with such arguments before the block",
        )


# ------------------------------------------------------------------------------------- sizes
def bytes_of(graph: Graph, plan: str, run: Any) -> int:
    """About how much memory a trace takes: its graph, the text of its plan, and the compiled code.

    Objects of the user's that it refers to are not counted.
    """
    size = sys.getsizeof(plan)
    for scope in (scope for one in (graph, *called_graphs(graph)) for scope in walk_graphs(one)):
        size += sys.getsizeof(scope.nodes) + sum(map(sys.getsizeof, scope.params))
        for node in scope.nodes:
            parts = (node, node.inputs, node.outputs, node.attrs, *node.inputs, *node.outputs)
            size += sum(map(sys.getsizeof, parts))
    code = getattr(run, "__code__", None)
    return size + (_bytes_of_code(code) if isinstance(code, types.CodeType) else 0)


def _bytes_of_code(code: types.CodeType) -> int:
    size = sys.getsizeof(code) + len(code.co_code)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            size += _bytes_of_code(const)
        elif not isinstance(const, np.ndarray):
            size += sys.getsizeof(const)
    return size


def difference(exact: Signature, before: Signature) -> tuple[str, tuple[Change, ...]]:
    """How a signature differs from that of an earlier trace: in words, and argument by argument."""
    changes = argument_changes(exact, before)
    return retrace_reason(exact, before, changes), changes


def guarded_place(guard: Guard) -> Hashable:
    """Where a guard looks, and whether it is for the value itself or only for its kind."""
    key: Hashable = guard.path.key
    return key if isinstance(guard.expect, StaticType) else ("any", key)


def volatile_places(changes: Mapping[Any, tuple[int, Type]]) -> frozenset[Any]:
    """The places that a trace must not rely on: (as `runtime.trace.outside` reads them) those whose value
    changed twice; ("any", place): whose kind did; ("sizes", place): whose kind did once."""
    often = {place for place, (times, _) in changes.items() if times >= 2}
    return frozenset(often | {("sizes", place[1]) for place in changes if place[0] == "any"})


def what_happened(error: Exception) -> str:
    """What went wrong, in one line."""
    return error.what if isinstance(error, AutographError) else f"{type(error).__name__}: {error}"
