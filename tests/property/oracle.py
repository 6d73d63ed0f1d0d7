"""Plain Python is the oracle: run a function plainly and converted, and say the first difference.

In: two callables and argument tuples.  Out: a sentence, or None when the two can't be told apart: same
type, dtype, shape and bits of the result, same exception type, same printed text, same arguments
afterwards, same sharing of memory between results and arguments.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import itertools
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


class TooLong(BaseException):
    """A call went over its time: not an Exception, so that no handler in the code under test keeps it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in the block when it takes longer (main thread of a POSIX process only)."""

    def on_alarm(*_: object) -> None:
        raise TooLong(f"over {seconds} s")

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclasses.dataclass
class Outcome:
    """What one call did."""

    value: Any
    error: Exception | None
    args: tuple[Any, ...]
    printed: str


def outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    """Call `fn` on copies of `args` (aliases among them kept)."""
    args = copy.deepcopy(args)
    value, error, out = None, None, io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            value = fn(*args)
        except Exception as caught:  # whatever it is, it is the answer
            error = caught
    return Outcome(value, error, args, out.getvalue())


def same_value(want: Any, got: Any, path: str) -> str | None:
    """The first difference of two values, or None."""
    if type(want) is not type(got):
        return f"{path}: {type(got).__name__} {got!r}, plain Python gives {type(want).__name__} {want!r}"
    if isinstance(want, (np.ndarray, np.generic)):
        if want.dtype != got.dtype or want.shape != got.shape:
            return f"{path}: {got.dtype}{got.shape}, plain Python gives {want.dtype}{want.shape}"
        a, b = np.atleast_1d(want), np.atleast_1d(got)
        if want.dtype.kind in "fc":
            # Which NaN comes out depends on operand order inside the CPU; any NaN equals any other.
            equal = ((a == b) & (np.signbit(a.real) == np.signbit(b.real))) | ((a != a) & (b != b))
        else:
            equal = a == b
        return None if equal.all() else f"{path}: {got!r}, plain Python gives {want!r}"
    if isinstance(want, (list, tuple)):
        if len(want) != len(got):
            return f"{path}: {got!r}, plain Python gives {want!r}"
        parts = (same_value(a, b, f"{path}[{k}]") for k, (a, b) in enumerate(zip(want, got, strict=True)))
        return next((p for p in parts if p), None)
    if isinstance(want, dict):
        if list(want) != list(got):
            return f"{path}: keys {list(got)}, plain Python gives {list(want)}"
        parts = (same_value(want[k], got[k], f"{path}[{k!r}]") for k in want)
        return next((p for p in parts if p), None)
    if isinstance(want, (float, complex)):
        return None if repr(want) == repr(got) else f"{path}: {got!r}, plain Python gives {want!r}"
    return None if want == got else f"{path}: {got!r}, plain Python gives {want!r}"


def mutables(value: Any) -> Iterator[Any]:
    """The arrays, lists and dicts in a value, in order."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        if isinstance(value, list):
            yield value
        for item in value:
            yield from mutables(item)
    elif isinstance(value, dict):
        yield value
        for item in value.values():
            yield from mutables(item)


def sharing(result: Outcome) -> list[bool]:
    """Pair by pair: are these two the same object, do these two arrays share memory?"""
    found = list(mutables((result.value, result.args)))
    return [
        a is b or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.shares_memory(a, b))
        for a, b in itertools.combinations(found, 2)
    ]


def is_like(got: Exception, want: Exception) -> bool:
    """Whether a handler for the wanted class catches it; the program's own classes have twins."""
    names = [cls.__name__ for cls in type(got).__mro__]
    own = type(want).__module__ != "builtins" and type(want).__name__ in names
    return own or isinstance(got, type(want))


def difference(want: Outcome, got: Outcome) -> str | None:
    """The first difference between the plain outcome and the converted one."""
    if want.error is not None:
        if got.error is None:
            return f"returned {got.value!r}, plain Python raises {want.error!r}"
        if not is_like(got.error, want.error):
            return f"raised {got.error!r}, plain Python raises {want.error!r}"
    elif got.error is not None:
        return f"raised {got.error!r}, plain Python returns {want.value!r}"
    problem = same_value(want.value, got.value, "result") or same_value(
        want.args, got.args, "args afterwards"
    )
    if problem:
        return problem
    if want.printed != got.printed:
        return f"printed {got.printed!r}, plain Python prints {want.printed!r}"
    return None if sharing(want) == sharing(got) else "results and arguments share memory in another way"


def first_difference(
    plain: Callable[..., Any],
    decorate: Callable[[Callable[..., Any]], Callable[..., Any]],
    calls: Sequence[tuple[Any, ...]],
    seconds: float = 20.0,
) -> str | None:
    """Decorate once, then make all calls in order on both sides; a sentence about the first that differs."""
    try:
        with time_limit(seconds):
            converted = decorate(plain)
            for k, args in enumerate(calls):
                problem = difference(outcome(plain, args), outcome(converted, args))
                if problem:
                    return f"call {k} with {args!r}: {problem}"
    except TooLong as late:
        return str(late)
    return None
