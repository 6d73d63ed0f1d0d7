"""Reads of parts of an array, and the way back over them.

In: `getitem` on a followed array.  Out: what records its way back, where that is simpler than the rule of the
table.  What always holds: the way back uses the key as it was when the part was read, and adds where the key
may name a place twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.autodiff.staged.rules import add_at, zeros
from runtime.functional import cond
from runtime.ir.graph import Const, Node, Operand, Value
from runtime.types import ArrayType, ObjectType, StaticType, Type, WeakType


def back(linear: Any, node: Node, key: Any, ct: Any) -> bool:
    """Record the way back over a read, given the key as it was; whether it is all there is to do."""
    array, given = node.inputs
    if not isinstance(array, Value) or array not in linear.varied:
        return False
    once = _once(linear, given)
    buffer = linear.slot(array).buffer
    if buffer is not None and not linear.classes.widened(array):
        _add(linear, buffer, key, ct, once, fresh=False)
        return True
    if once is False:
        return False
    made = zeros(linear.trace, linear.value(array), array.type)
    _add(linear, made, key, ct, once, fresh=True)
    linear.give(array, made, linear.all_axes(array))
    return True


def _add(linear: Any, array: Any, key: Any, ct: Any, once: Value | bool, fresh: bool) -> None:
    """Add to what stands at a key.  once: see `_once`; fresh: there are only zeros."""
    trace = linear.trace
    if isinstance(once, bool):
        add_at(trace, array, key, ct, fresh=fresh, once=once)
        return
    cond(
        linear.value(once).shape[0] == 1,
        lambda: add_at(trace, array, key, ct, fresh=fresh),
        lambda: add_at(trace, array, key, ct, fresh=fresh, once=True),
    )


def _once(linear: Any, key: Operand) -> Value | bool:
    """Whether a key names no place twice because of an `np.arange` in it; the arange, where that is so unless
    its length, which only the run knows, is 1.

    Its numbers are not negative and not written to, and no part of the key has more axes: else it would be
    repeated along these.  One number is repeated along the only axis of the others, too."""
    numbers = _numbers(linear, key)
    made = linear.makers.get(key) if isinstance(key, Value) else None
    if numbers is not None or made is None or made.op != "py.tuple":
        return numbers is not None
    numbers = next((x for x in made.inputs if _numbers(linear, x)), None)
    if numbers is None or not all(_at_most_one_axis(x.type) for x in made.inputs):
        return False
    if all(x is numbers or _is_number(x.type) for x in made.inputs):
        return True
    length = _length(numbers)
    return numbers if length is None else length != 1


def _numbers(linear: Any, key: Operand) -> Value | None:
    """The key, if it is an `np.arange` of places that is not written to."""
    made = linear.makers.get(key) if isinstance(key, Value) else None
    if made is None or made.op != "np.arange" or linear.classes.unstable(key) or not _counts_up(made):
        return None
    return key if isinstance(key, Value) else None


def _length(numbers: Value) -> int | None:
    """How many there are, None where only the run knows."""
    assert isinstance(numbers.type, ArrayType) and numbers.type.shape is not None
    return numbers.type.shape[0]


def _counts_up(node: Node) -> bool:
    """Whether the numbers of an `np.arange` are different places of an array, however long that is."""
    if node.keywords or len(node.inputs) > 3:
        return False
    start, _, step = (*node.inputs, None)[:3] if len(node.inputs) > 1 else (None, None, None)
    return _at_least(start, 0) and _at_least(step, 1)


def _at_least(x: Operand | None, least: int) -> bool:
    return x is None or isinstance(x, Const) and type(x.value) is int and x.value >= least


def _is_number(t: Type) -> bool:
    """Whether a part of a key stands for one place along an axis, or for a stretch of them."""
    if isinstance(t, StaticType):
        return t.value is None or t.value is Ellipsis or isinstance(t.value, (int, np.integer, slice))
    return isinstance(t, WeakType) or t == ObjectType(slice) or isinstance(t, ArrayType) and t.scalar


def _at_most_one_axis(t: Type) -> bool:
    return _is_number(t) or isinstance(t, ArrayType) and t.shape is not None and len(t.shape) == 1
