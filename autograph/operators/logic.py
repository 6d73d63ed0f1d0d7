"""`and`, `or`, `not`, `is`, `in` as functions: Python's own on plain values, staged on traced ones."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.functional import cond
from runtime.trace.core import active
from runtime.trace.values import Tensor, Traced
from runtime.types import ArrayType, Type


def and_(first: Any, *thunks: Callable[[], Any]) -> Any:
    """`first and thunks[0]() and ...`: the operand Python would give; the later ones run only if needed."""
    if active() is None:
        return _until(False, first, thunks)
    if not thunks:
        return first
    return cond(first, lambda: and_(thunks[0](), *thunks[1:]), lambda: first)


def or_(first: Any, *thunks: Callable[[], Any]) -> Any:
    """`first or thunks[0]() or ...`, as `and_`."""
    if active() is None:
        return _until(True, first, thunks)
    if not thunks:
        return first
    return cond(first, lambda: first, lambda: or_(thunks[0](), *thunks[1:]))


def all_true(first: Any, *thunks: Callable[[], Any]) -> Any:
    """Something as true as `first and thunks[0]() and ...`, where only that matters: each is asked once."""
    if active() is None:
        return _until(False, first, thunks, False)
    if not thunks:
        return first
    return cond(first, lambda: all_true(thunks[0](), *thunks[1:]), lambda: _asked(first, False))


def any_true(first: Any, *thunks: Callable[[], Any]) -> Any:
    """Something as true as `first or thunks[0]() or ...`, as `all_true`."""
    if active() is None:
        return _until(True, first, thunks, True)
    if not thunks:
        return first
    return cond(first, lambda: _asked(first, True), lambda: any_true(thunks[0](), *thunks[1:]))


def _until(truth: bool, value: Any, thunks: Sequence[Callable[[], Any]], found: Any = None) -> Any:
    """The first value of this truth (or `found` for it), else the last: more than calls can be nested."""
    for thunk in thunks:
        if bool(value) is truth:
            return value if found is None else found
        value = thunk()
    return value


def _asked(x: Any, truth: bool) -> Any:
    """What stands for a value whose truth is known: a number itself, which nobody sees asked again; of an
    object a second name would be all that the trace knows of it afterwards."""
    return x if isinstance(x, Tensor) or not isinstance(x, Traced) else truth


def not_(x: Any) -> Any:
    """`not x`."""
    trace = active()
    return (not x) if trace is None else trace.protocol.truth_not(x)


def is_(a: Any, b: Any) -> Any:
    """`a is b`."""
    trace = active()
    return (a is b) if trace is None else trace.protocol.same(a, b)


def is_not(a: Any, b: Any) -> Any:
    """`a is not b`."""
    return not_(is_(a, b))


def in_(item: Any, container: Any) -> Any:
    """`item in container`."""
    trace = active()
    return operator.contains(container, item) if trace is None else trace.protocol.contains(item, container)


def percent(text: Any, values: Any) -> Any:
    """`text % values` for a text; as an operator it would ask for the text of traced values at once."""
    trace = active()
    return text % values if trace is None else trace.protocol.percent(text, values)


def not_in(item: Any, container: Any) -> Any:
    """`item not in container`."""
    return not_(in_(item, container))


def item(x: Any, index: Any) -> Any:
    """`x[index]`, where x may be a tuple or text and the index traced."""
    trace = active()
    return x[index] if trace is None else trace.protocol.item(x, index)


def part(x: Any, start: Any, stop: Any, step: Any) -> Any:
    """`x[start:stop:step]`, likewise."""
    return item(x, slice(start, stop, step))


KEYED = {type(x) for x in (np.c_, np.r_, np.mgrid, np.ogrid)}


class _Keyed:
    """What stands for an object of NumPy's whose items are computed from their keys, while tracing."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __getitem__(self, key: Any) -> Any:
        trace = active()
        assert trace is not None
        parts = key if type(key) is tuple else (key,)
        function = self._function([trace.type_of(part) for part in parts])
        if function is not None:
            return trace.protocol.call(function, (parts,), {})
        return trace.protocol.call(self.x.__getitem__, (key,), {})

    def _function(self, parts: Sequence[Type]) -> Callable[..., Any] | None:
        """The function that does the same for arrays of one dtype; others may be laid out otherwise."""
        arrays = [t for t in parts if isinstance(t, ArrayType) and t.shape is not None and not t.scalar]
        dtypes = {t.dtype for t in arrays}
        if len(arrays) < len(parts) or len(dtypes) != 1:
            return None
        if not all(dtype.isnative and dtype.kind in "biufc" for dtype in dtypes):
            return None
        ranks = {len(t.shape or ()) for t in arrays}
        if self.x is np.c_ and ranks <= {1, 2}:
            return np.column_stack
        return np.concatenate if self.x is np.r_ and len(ranks) == 1 and 0 not in ranks else None


def keyed(x: Any) -> Any:
    """`x` in `x[key]`, where x is `np.c_`, `np.mgrid` or their like: they compute with what is in the key."""
    return x if active() is None or type(x) not in KEYED else _Keyed(x)
