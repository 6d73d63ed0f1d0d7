"""Words in which functions of NumPy's are said in terms of others.

In: trace values, or plain ones.  Out: the same.  What always holds: what asks for a type is known while
tracing; with no trace active each does what plain Python does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.functional import cond
from runtime.trace.core import Diverged, active
from runtime.types import ArrayType, WeakType


class Left(Exception):
    """It is left to NumPy."""


# ---------------------------------------------------------------------------------------------- words
def left_if(condition: Any) -> None:
    """Leave the call to NumPy where this holds."""
    if active() is None or isinstance(condition, (bool, np.bool)):
        if condition:
            raise Left
        return
    cond(condition, _leave, lambda: None)


def _leave() -> None:
    trace = active()
    assert trace is not None
    trace.emit("raise", [Left])
    raise Diverged


def asked(function: Any, *args: Any) -> Any:
    """A call of one of Python's functions."""
    trace = active()
    return function(*args) if trace is None else trace.protocol.call(function, args, {})


def double(x: Any) -> Any:
    """A number as NumPy's float64."""
    return asked(np.float64, x)


def dtype_of(x: Any) -> np.dtype[Any] | None:
    """The dtype of an array or of NumPy's number; None for a Python number."""
    trace = active()
    t = None if trace is None else trace.type_of(x)
    if isinstance(t, ArrayType):
        return t.dtype
    if isinstance(t, WeakType) or not isinstance(x, (np.ndarray, np.generic)):
        return None
    return x.dtype


def rank(x: Any) -> int:
    """How many axes there are."""
    trace = active()
    t = None if trace is None else trace.type_of(x)
    if isinstance(t, ArrayType):
        assert t.shape is not None
        return len(t.shape)
    return x.ndim if isinstance(x, np.ndarray) else 0


def anywhere(x: Any) -> Any:
    """Whether a bool is true, or any in an array."""
    return np.any(x) if rank(x) else x


def number(x: Any) -> bool:
    """Whether it is a real number, known or not."""
    trace = active()
    t = None if trace is None else trace.type_of(x)
    if isinstance(t, WeakType):
        return t.kind != "complex"
    if isinstance(t, ArrayType):
        return t.scalar and t.dtype.kind in "biuf"
    return isinstance(x, (bool, int, float, np.bool, np.integer, np.floating))


def only_if(known: bool) -> None:
    """Leave the call to NumPy unless this, which is known, holds."""
    if not known:
        raise Left


def place(axis: int, part: Any) -> tuple[Any, ...]:
    """The key of a part along one axis."""
    return (slice(None),) * axis + (part,)


def cut(x: Any, axis: int, part: Any) -> Any:
    """A part along one axis."""
    return x[place(axis, part)]


def beside(x: Any, axis: int, count: int, part: slice = slice(None)) -> Any:
    """A line (or a part of it) as the axis with this number of an array with so many."""
    return x[(None,) * axis + (part,) + (None,) * (count - axis - 1)]


def weak_float(x: Any) -> bool:
    trace = active()
    t = None if trace is None else trace.type_of(x)
    return isinstance(t, WeakType) and t.kind == "float"


def integer(x: Any) -> bool:
    """Whether a number is one of integers, and no bool."""
    trace = active()
    t = None if trace is None else trace.type_of(x)
    if isinstance(t, ArrayType):
        return t.dtype.kind in "iu"
    return t.kind == "int" if isinstance(t, WeakType) else type(x) is int
