"""Which modules, classes and functions are taken as they are, without looking inside or guarding them."""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any

import numpy as np

from runtime.types import library

# Modules whose contents are taken to stay as they are; their functions are known by the op table or pure.
TRUSTED = frozenset(
    {
        "numpy",
        "math",
        "cmath",
        "operator",
        "builtins",
        "scipy",
        "cupy",
        "cupyx",
        "autograph",
        "runtime",
        "itertools",
    }
)


def calls_python(value: Any) -> bool:
    """Whether the value is a NumPy object made of a Python function, which may do anything when called."""
    if isinstance(value, np.ufunc):  # what `frompyfunc` makes knows objects only
        return all(set(loop) <= {"O", "-", ">"} for loop in value.types)
    return isinstance(value, np.vectorize)


def trusted(value: Any) -> bool:
    """Whether the value is a module, class or function that is taken as it is, without looking inside."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] in TRUSTED
    if isinstance(value, (types.BuiltinFunctionType, np.ufunc)):
        return True
    if isinstance(value, type):
        return not value.__flags__ & (1 << 9) or library(value) in TRUSTED
    module = getattr(value, "__module__", None)
    return callable(value) and isinstance(module, str) and module.partition(".")[0] in TRUSTED


# What looks at the frame of its caller; those with a number only where they get fewer arguments.
_FRAMES: dict[Any, int] = {
    builtins.locals: 1,
    builtins.globals: 1,
    builtins.vars: 1,
    builtins.dir: 1,
    builtins.eval: 2,
    builtins.exec: 2,
    sys._getframe: 9,
}
_FRAME_NAMES = {
    "inspect": ("currentframe", "stack"),
    "traceback": ("extract_stack", "format_stack", "print_stack"),
}


def looks_at_frame(function: Any, count: int = 0) -> bool:
    """Whether the function, called with so many arguments, looks at the frame that calls it."""
    if isinstance(function, types.BuiltinFunctionType):
        return function.__module__ in ("builtins", "sys") and count < _FRAMES.get(function, 0)
    if not isinstance(function, types.FunctionType):
        return False
    return function.__name__ in _FRAME_NAMES.get(function.__module__, ())
