"""Functions that the user asked not to convert."""

from __future__ import annotations

import types
import weakref
from typing import Any, TypeVar

from runtime.errors import check_function

F = TypeVar("F")
_LEFT_ALONE: weakref.WeakSet[Any] = weakref.WeakSet()


def mark_do_not_convert(function: F) -> F:
    """Remember that the function is always called as plain Python, at run time."""
    check_function(function, "do_not_convert")
    inner = function.__func__ if isinstance(function, types.MethodType) else function
    _LEFT_ALONE.add(inner)
    return function


def is_left_alone(function: Any) -> bool:
    """Whether the function was marked."""
    try:
        return function in _LEFT_ALONE
    except TypeError:
        return False
