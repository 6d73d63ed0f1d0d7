"""Rows of functions on arrays of texts: those of `np.strings`, and the older ones of `np.char`.

In: nothing.  Out: `ROWS`.  What always holds: a rule claims a type for plain arrays of texts only; what these
functions return for a single text differs from function to function and is left to run time.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from runtime.ir.opdef import OpDef
from runtime.ops.rules import BOOL, Rule, Unknown, as_array, bare, broadcast, exact, ndarray
from runtime.ops.ufuncs import as_text
from runtime.types import TEXTS, ArrayType, Type, WeakType

_TESTS = "isalpha isdigit isspace isalnum islower isupper istitle isdecimal isnumeric startswith endswith"
_COMPARISONS = "equal not_equal less less_equal greater greater_equal"
_NUMBERS = "str_len find rfind index rindex count"
_TEXTS = (
    "add multiply lstrip rstrip strip replace expandtabs center ljust rjust zfill upper lower swapcase "
    "capitalize title mod translate slice"
)
_CODES = {"decode": ("S", "U"), "encode": ("U", "S")}
_LONG = np.dtype(np.int64)


def texts(*operands: Type) -> tuple[ArrayType, tuple[int | None, ...]]:
    """The first operand, and the shape of all of them broadcast; there must be an axis."""
    arrays = [as_array(as_text(t)) for t in operands if not isinstance(bare(t), WeakType)]
    shape = broadcast([a.shape for a in arrays])
    if not arrays or arrays[0].dtype.kind not in TEXTS or not shape:
        raise Unknown
    return arrays[0], shape


def of_kind(dtype: np.dtype[Any]) -> Rule:
    """A function that gives a number or a bool for each text."""

    def rule(*operands: Type, **keywords: Type) -> Type:
        _, shape = texts(*operands, *keywords.values())
        return ndarray(dtype, shape)

    return rule


def rule_text(*operands: Type, **keywords: Type) -> Type:
    """A function that gives a text of the same kind for each text."""
    a, shape = texts(*operands, *keywords.values())
    return ndarray(a.dtype, shape)


def coding(source: str, target: str) -> Rule:
    """`encode` and `decode`."""

    def rule(x: Type, encoding: Type | None = None, errors: Type | None = None) -> Type:
        a, shape = texts(x)
        if a.dtype.kind != source:
            raise Unknown
        return ndarray(np.dtype(target), shape)

    return rule


def rule_of(name: str) -> Rule:
    """The rule of a function by its name."""
    if name in _CODES:
        return coding(*_CODES[name])
    if name in _NUMBERS.split():
        return of_kind(_LONG)
    return rule_text if name in _TEXTS.split() else of_kind(BOOL)


def rows(module: ModuleType, taken: set[Callable[..., Any]]) -> list[OpDef]:
    """The rows of a module's functions, but for those that other rows have."""
    short = module.__name__.removeprefix("numpy.")
    found = []
    for name in (*_TESTS.split(), *_COMPARISONS.split(), *_NUMBERS.split(), *_TEXTS.split(), *_CODES):
        function = getattr(module, name, None)
        if function is None or function in taken or function in vars(np).values():
            continue
        taken.add(function)
        found.append(
            OpDef(
                name=f"np.{short}.{name}",
                doc=f"{name.replace('_', ' ')} of each text",
                rule=exact(rule_of(name)),
                run=function,
                path=f"numpy.{short}.{name}",
                captures=(function,),
                cupy=None,
            )
        )
    return found


def _all() -> tuple[OpDef, ...]:
    taken: set[Callable[..., Any]] = set()
    found = rows(np.strings, taken) if hasattr(np, "strings") else []
    return (*found, *rows(np.char, taken))


ROWS = _all()
