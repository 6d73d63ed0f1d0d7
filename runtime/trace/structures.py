"""What is wrong with the functions and values that `cond`, loops and `scan` are given by hand, in words.

In: the function, what it was called with or what it returned.  Out: `StructureError`s that say which function
and which place of the carry, and show the line of the call.  What always holds: nothing is looked into before
something is wrong, so that loops of converted code pay nothing.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Any

from runtime import tree
from runtime.errors import Span, StructureError
from runtime.places import is_generated, is_users, span_here
from runtime.trace.core import active
from runtime.trace.values import Traced
from runtime.types import ArrayType, WeakType, type_of


def _here() -> Span | None:
    """The user's line that is being run or traced."""
    trace = active()
    return span_here() if trace is None else trace.span()


def kind(x: Any) -> str:
    """What a value is, in a few words."""
    if isinstance(x, Traced):
        return f"a value of type {x._facts.type}"
    if isinstance(x, (tuple, list)):
        return f"a {type(x).__name__} of {len(x)} {'value' if len(x) == 1 else 'values'}"
    return "None" if x is None else f"one value, of type {type(x).__name__}"


def _code(function: Any) -> types.CodeType | None:
    """The code that the user wrote for a function; of one that conversion made, its own."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    trace = active()
    return code if trace is None or code is None else trace.unconvert(code)


def _where(function: Any) -> str:
    code = _code(function)
    name = getattr(function, "__qualname__", repr(function))
    return name if code is None else f"{name} at {code.co_filename}:{code.co_firstlineno}"


def as_values(what: str, name: str, values: Any) -> tuple[Any, ...]:
    """The carry or the operands as a tuple."""
    if not isinstance(values, (tuple, list)):
        raise StructureError(
            f"the {name} of {what} must be a tuple of values, it is {kind(values)}",
            span=_here(),
            fix="put it into a tuple: (x,)",
        )
    return tuple(values)


def as_carry(value: Any, count: int, body: Any = None, before: Sequence[Any] = ()) -> tuple[Any, ...]:
    """A loop body's result as a tuple of `count` values (one value comes bare, none as None or ()).

    before: what the body was called with."""
    if count == 1:
        if type(value) is tuple and len(value) == 1 and _by_hand(body) and type(before[0]) is not tuple:
            raise _wrong_result(body, value, "one value is carried: it is returned as it is, in no tuple")
        return (value,)
    if count == 0:
        return ()
    if not isinstance(value, tuple) or len(value) != count:
        size = len(value) if isinstance(value, tuple) else count
        lacking = [f"carry[{k}]" for k in range(size, count)]
        why = f"{count} values are carried"
        if lacking:
            why += f"; {' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not there"
        elif size > count:
            why += f"; there is nothing for item {count} of the tuple to become"
        raise _wrong_result(body, value, why)
    return value


def _by_hand(function: Any) -> bool:
    """Whether a user wrote the function as it stands: one that was converted may well make a tuple of one."""
    code = _code(function)
    if code is None or code.co_filename.startswith("<") or is_generated(code):
        return False
    return is_users(code.co_filename)


def _wrong_result(body: Any, value: Any, why: str) -> StructureError:
    return StructureError(
        f"the loop body returned {kind(value)}",
        span=_here(),
        why=f"{why} (the body is {_where(body)})" if body is not None else why,
        fix="return the carried values in a tuple, in the order of the carry; a single one without a tuple",
    )


def wrong_call(
    error: TypeError, what: str, functions: Mapping[str, tuple[Any, int]], iterable: Any = ()
) -> StructureError | None:
    """What is wrong where a call of one of these functions by `what` failed; None if it is the function's own
    error.

    functions: what each is for, the function, with how many values it is called; iterable: what is gone
    through."""
    entry = error.__traceback__
    if entry is not None and entry.tb_next is not None:
        return None
    if not any(_by_hand(function) or not callable(function) for function, _ in functions.values()):
        return None  # a loop or branch that was converted: Python's own error says it
    for role, (function, count) in functions.items():
        if not callable(function):
            return StructureError(
                f"the {role} of {what} must be a function, it is {kind(function)}", span=_here()
            )
        try:
            inspect.signature(function).bind(*[None] * count)
        except ValueError:
            continue  # a built-in function that doesn't tell
        except TypeError as reason:
            values = "1 value" if count == 1 else f"{count} values"
            return StructureError(
                f"the {role} of {what} is called with {values}, and doesn't take them: {reason}",
                span=_here(),
                why=f"it is {_where(function)}",
                fix="let it take each value as an argument of its own",
            )
    if not hasattr(iterable, "__iter__") and not hasattr(iterable, "__getitem__"):
        return StructureError(
            f"{what} goes over what can be iterated over, not over {kind(iterable)}",
            span=_here(),
            fix="for numbers 0, 1, ... give a range",
        )
    return None


def wrong_pair(function: Any, made: Any) -> StructureError:
    """The error for what the function of a scan returned."""
    return StructureError(
        f"the function of scan returned {kind(made)}",
        span=_here(),
        why=f"it is {_where(function)}",
        fix="return a pair: the new carry and the output of this item",
    )


def wrong_trips(before: Any, now: Any) -> StructureError:
    """The error for outputs of items that have different structures."""
    return StructureError(
        f"an item gives {tree.shown(now)}, those before it {tree.shown(before)}",
        span=_here(),
        why="the outputs are stacked, leaf by leaf",
        fix="return the same containers with the same keys for each item",
    )


def wrong_lengths(paths: Sequence[str], sizes: Sequence[int]) -> StructureError:
    """The error for arrays that are gone through together and are not equally long."""
    told = ", ".join(f"{path} has {size}" for path, size in zip(paths, sizes, strict=True))
    return StructureError(f"the first axes are of different lengths: {told}", span=_here())


def nothing_to_go_through(path: str, x: Any) -> StructureError:
    """The error for a value without a first axis."""
    return StructureError(
        f"{path} is {kind(x)}, without a first axis to go through",
        span=_here(),
        fix="pass arrays with one item per trip",
    )


def check_index(index: Any) -> None:
    """Refuse what surely is no integer, which would choose one of the branches all the same."""
    t = index._facts.type if isinstance(index, Traced) else type_of(index)
    wrong = isinstance(t, WeakType) and t.kind not in ("int", "bool")
    if wrong or isinstance(t, ArrayType) and (t.dtype.kind not in "iub" or t.shape not in (None, ())):
        raise StructureError(f"the index of switch_case must be an integer, it is {t}", span=_here())
