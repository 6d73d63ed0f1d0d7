"""What functions of the same code have captured, compared: where it differs, it is read at each call.

In: the types of an argument in two calls.  Out: `differences`, the places that a trace of the second one must
not rely on, as if they had been seen to change.
What always holds: this only saves traces; whatever is not found here is found when a guard fails.
"""

from __future__ import annotations

import types
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from runtime.function.signature import items_of, same_code
from runtime.trace.record import Path
from runtime.types import UNBOUND, ArrayType, StaticType, TupleType, Type, WeakType, same_static, type_of

Difference = tuple[Hashable, tuple[int, Type]]  # a place, how often it changed, and what was there last
_DEPTH = 4
_VALUES = (int, float, complex, str, bytes, np.generic)
OFTEN = 2  # a place that changed so often is read at each call


def differences(new: Type, old: Type, path: Path) -> Iterator[Difference]:
    """The places behind an argument in which two calls differ, as `volatile_places` counts changes."""
    if same_code(new, old) and isinstance(new, StaticType) and isinstance(old, StaticType):
        yield from _of_functions(new.value, old.value, path, _DEPTH)
        return
    mine, others = items_of(new), items_of(old)
    if mine is not None and others is not None:
        for index, (a, b) in enumerate(zip(mine, others, strict=False)):
            yield from differences(a, b, path / ("item", index))


def _of_functions(
    new: types.FunctionType, old: types.FunctionType, path: Path, depth: int
) -> Iterator[Difference]:
    """The differences between two functions of the same code."""
    cells = zip(new.__closure__ or (), old.__closure__ or (), strict=False)
    for index, (a, b) in enumerate(cells):
        try:
            yield from _of_values(a.cell_contents, b.cell_contents, path.captured(index), depth)
        except ValueError:  # a variable that has no value yet
            continue
    defaults = zip(new.__defaults__ or (), old.__defaults__ or (), strict=False)
    for index, (a, b) in enumerate(defaults):
        yield from _of_values(a, b, path.default(index), depth)


def _of_values(new: Any, old: Any, place: Path, depth: int) -> Iterator[Difference]:
    if new is old or depth == 0:
        return
    if type(new) is type(old) is types.FunctionType:
        if same_code(StaticType(new), StaticType(old)):
            yield place.key, (OFTEN, UNBOUND)
            yield from _of_functions(new, old, place, depth - 1)
        return
    now, before = type_of(new), type_of(old)
    if type(new) is type(old) is tuple and not _static(new):
        for index, (a, b) in enumerate(zip(new, old, strict=False)):
            yield from _of_values(a, b, place / ("item", index), depth - 1)
    elif isinstance(now, (WeakType, TupleType)) and type(before) is type(now) and type(new) is not bool:
        if not same_static(new, old):
            yield place.key, (OFTEN, UNBOUND)
    elif isinstance(now, ArrayType) and isinstance(before, ArrayType) and now.scalar and before.scalar:
        yield place.key, (OFTEN, UNBOUND)
    elif isinstance(now, ArrayType) and isinstance(before, ArrayType) and now != before:
        yield ("any", place.key), (1, now)  # its sizes, most likely


def _static(items: tuple[Any, ...]) -> bool:
    """Whether a tuple is read as one value: it holds numbers and texts only."""
    return all(_static(x) if type(x) is tuple else isinstance(x, _VALUES) for x in items)
