"""`TensorArray`: arrays by number, written one at a time and joined in the end.

In: a dtype, a size, a shape of the elements, as far as they are fixed.  Out: an object that is used alike in
functions, outside of them, and where derivatives are followed.  It is a list of arrays; or one array, where
dtype, size and the shape of the elements are all given, and then an element that was not written is zero.
What always holds: what was read stays as it was when the element is written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.elements import stacked
from runtime.functional import cond, for_loop
from runtime.ir.graph import Const, Operand
from runtime.recording import recording
from runtime.trace.byhand import apply, at_run_time, fail, new_list
from runtime.trace.core import active
from runtime.trace.heap import ANY
from runtime.trace.values import Traced
from runtime.types import OBJECT, WEAK_INT, ArrayType, ObjectType, TupleType, Type, WeakType, static_or_weak

Shape = tuple[int | None, ...] | None
_SAMPLES = {"bool": False, "int": 0, "float": 0.0, "complex": 0j}


class TensorArray:
    """Arrays by number.

    dtype: that of all elements; Python numbers and values of the same kind are converted.  size: how many
        there are at first.  element_shape: the shape of each, None for any, `(None, 3)` for any length.
    dynamic_size: whether writing past the end makes it longer.

    >>> squares = TensorArray(np.int64, size=3)
    >>> for i in range(3):
    ...     squares = squares.write(i, i * i)
    >>> squares.stack()
    array([0, 1, 4])
    """

    runs_on_trace_values = True

    def __init__(
        self, dtype: Any = None, size: Any = 0, element_shape: Any = None, dynamic_size: bool = False
    ) -> None:
        self.dtype: np.dtype[Any] | None = None if dtype is None else np.dtype(dtype)
        self.element_shape: Shape = None if element_shape is None else _shape(element_shape)
        self.dynamic_size = dynamic_size
        fixed = self.element_shape is not None and None not in self.element_shape
        self._items: Any = None
        self._packed: Any = None
        if fixed and self.dtype is not None and not dynamic_size and not recording():
            self._packed = apply(np.zeros, (size, *self.element_shape), self.dtype)  # type: ignore[misc]
        else:
            self._items = _empty(size)

    # ------------------------------------------------------------------ one element
    def write(self, index: Any, value: Any) -> TensorArray:
        """Put a copy of the value in place; the TensorArray itself.

        Raises IndexError for an index out of range, ValueError and TypeError for another shape or dtype.
        """
        self._unpack_for(value)
        if self._packed is not None:
            _not_negative(index)
            self._packed[index] = (
                value if self._is_fit(value) else at_run_time(fit, [value, *self._rules()], self._element())
            )
        else:
            self._run(put, index, value, *self._rules(), self.dynamic_size)
        return self

    def read(self, index: Any) -> Any:
        """The element.  Raises IndexError for an index out of range and for one that was not written."""
        if self._packed is None:
            return at_run_time(get, [self._items, index], self._element())
        _not_negative(index)
        found = self._packed[index]
        return found.copy() if self.element_shape else found

    # ------------------------------------------------------------------ all of them
    def stack(self) -> Any:
        """One array of all elements, along a new first axis."""
        if self._packed is not None:
            return self._packed.copy()
        shape = None if self.element_shape is None else (None, *self.element_shape)
        return at_run_time(all_stacked, [self._items, *self._rules()], self._known(shape))

    def concat(self) -> Any:
        """One array of all elements, along their first axis."""
        rest = None if not self.element_shape else (None, *self.element_shape[1:])
        return at_run_time(all_joined, [self._list(), *self._rules()], self._known(rest))

    def gather(self, indices: Any) -> Any:
        """One array of the elements with these numbers."""
        shape = None if self.element_shape is None else (None, *self.element_shape)
        return at_run_time(some_stacked, [self._list(), indices, *self._rules()], self._known(shape))

    def unstack(self, value: Any) -> TensorArray:
        """Write the items of an array along its first axis, the first of them to place 0."""
        return self.scatter(apply(range, apply(len, value)), value)

    def scatter(self, indices: Any, value: Any) -> TensorArray:
        """Write the items of an array along its first axis to the places with these numbers."""
        places = at_run_time(numbers, [indices, value], ObjectType(zip, TupleType((WEAK_INT, WEAK_INT))))

        def write_item(pair: Any) -> None:
            self.write(pair[0], value[pair[1]])

        for_loop(places, write_item)
        return self

    def split(self, value: Any, lengths: Any) -> TensorArray:
        """Write pieces of an array with these lengths, cut along its first axis, from place 0 on."""
        pieces = at_run_time(cut, [value, lengths], ObjectType(list))

        def write_piece(i: Any) -> None:
            self.write(i, pieces[i])

        for_loop(apply(range, apply(len, pieces)), write_piece)
        return self

    def size(self) -> Any:
        """How many elements there are, written or not."""
        return apply(len, self._items if self._packed is None else self._packed)

    # ------------------------------------------------------------------ inside
    def _rules(self) -> tuple[Const, Const] | tuple[Any, Any]:
        """What every element must be, as operands."""
        rules = (self.dtype, self.element_shape)
        return rules if active() is None else (Const(rules[0]), Const(rules[1]))

    def _run(self, function: Any, *args: Any) -> None:
        """A run-time function that writes to the list."""
        trace = active()
        if trace is None:
            function(self._items, *args)
            return
        trace.emit("py.call", [Const(function), self._items, *args])
        if isinstance(self._items, Traced):
            trace.heap.written(self._items._facts.identity, "item", ANY)

    def _list(self) -> Any:
        return self._items if self._packed is None else at_run_time(list, [self._packed], ObjectType(list))

    def _unpack_for(self, value: Any) -> None:
        """Something that a derivative follows can't be put into a plain array."""
        if self._packed is not None and getattr(type(value), "is_box", False):
            self._items, self._packed = list(self._packed), None

    def _known(self, shape: Shape) -> Type:
        return OBJECT if self.dtype is None or _unusual(self.dtype) else ArrayType(self.dtype, shape)

    def _is_fit(self, value: Any) -> bool:
        """Whether it is known while tracing that a value can be an element as it is."""
        trace, dtype = active(), self.dtype
        t = OBJECT if trace is None else static_or_weak(trace.type_of(value))
        if isinstance(t, WeakType) and dtype is not None and dtype.kind in "biufc":
            return not self.element_shape and np.result_type(dtype, _SAMPLES[t.kind]) == dtype
        return isinstance(t, ArrayType) and (t.dtype, t.shape) == (dtype, self.element_shape)

    def _element(self) -> Type:
        """The type of an element: a NumPy scalar, where it has no axes."""
        if self.dtype is None or self.element_shape is None or _unusual(self.dtype):
            return OBJECT
        return ArrayType(self.dtype, self.element_shape, not self.element_shape)

    def _operand(self) -> Operand:
        """The object at run time, where it leaves the trace."""
        trace = active()
        assert trace is not None
        held = self._items if self._packed is None else self._packed
        facts = (self.dtype, self.element_shape, self.dynamic_size, self._packed is not None)
        value = trace.emit("py.call", [Const(remade), held, Const(facts)], type=ObjectType(TensorArray))
        assert value is not None
        return value

    def __len__(self) -> int:
        return len(self._items if self._packed is None else self._packed)

    def __repr__(self) -> str:
        dtype = "any dtype" if self.dtype is None else self.dtype.name
        shape = "any shape" if self.element_shape is None else f"shape {self.element_shape}"
        if active() is not None:
            return f"<TensorArray of {dtype}, {shape}>"
        return f"<TensorArray of {len(self)} elements, {dtype}, {shape}>"


def remade(held: Any, facts: tuple[Any, ...]) -> TensorArray:
    """A TensorArray over a list or an array."""
    made = TensorArray.__new__(TensorArray)
    made.dtype, made.element_shape, made.dynamic_size, packed = facts
    made._items, made._packed = (None, held) if packed else (held, None)
    return made


def _empty(size: Any) -> Any:
    """A list of places that were not written."""
    if active() is None:
        return [None] * int(size)
    made = new_list()
    if type(size) is int and size == 0:
        return made
    return at_run_time(places, [size], ObjectType(list))


def places(size: int) -> list[Any]:
    """A list of places that were not written."""
    return [None] * int(size)


def _shape(shape: Any) -> tuple[int | None, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _unusual(dtype: np.dtype[Any]) -> bool:
    return dtype.kind not in "biufcUS"


def _not_negative(index: Any) -> None:
    """Numbers of elements count from the front."""
    cond(
        index < 0, lambda: fail(IndexError, "a TensorArray is written and read at 0 and above"), lambda: None
    )


# ------------------------------------------------------------------------------------------ at run time
def fit(value: Any, dtype: Any, shape: Shape) -> Any:
    """A copy of a value as an element: a NumPy scalar, where it has no axes."""
    if getattr(type(value), "is_box", False):
        fitted = value if dtype is None or value.dtype == dtype else value.astype(dtype)
    elif dtype is None:
        fitted = np.array(value)
    else:
        kind = np.result_type(dtype, value) if type(value) in (bool, int, float, complex) else None
        given = np.asarray(value)
        if (kind or given.dtype) != dtype and (kind or not np.can_cast(given.dtype, dtype, "same_kind")):
            raise TypeError(f"the elements of this TensorArray are {dtype}, not {kind or given.dtype}")
        fitted = np.array(value if kind else given, dtype)  # NumPy refuses a Python integer that has no room
    if shape is not None and not _fits(np.shape(fitted), shape):
        raise ValueError(f"the elements of this TensorArray have shape {shape}, not {np.shape(fitted)}")
    return fitted[()] if type(fitted) is np.ndarray else fitted


def _fits(found: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(found) == len(wanted) and all(n is None or n == m for n, m in zip(wanted, found, strict=True))


def put(items: list[Any], index: Any, value: Any, dtype: Any, shape: Shape, dynamic: bool) -> None:
    """Write an element."""
    index = _checked(items, index, dynamic)
    fitted = fit(value, dtype, shape)
    if index >= len(items):
        items.extend([None] * (index + 1 - len(items)))
    items[index] = fitted


def _checked(items: Sequence[Any], index: Any, dynamic: bool = False) -> int:
    index = index.__index__()
    if index < 0 or index >= len(items) and not dynamic:
        more = "" if dynamic else "; dynamic_size=True makes it grow"
        raise IndexError(f"a TensorArray of {len(items)} elements has none with number {index}{more}")
    return int(index)


def get(items: list[Any], index: Any) -> Any:
    """Read an element; it may be written to without changing what is kept."""
    found = items[_checked(items, index)]
    if found is None:
        raise IndexError(f"element {int(index)} of the TensorArray was not written")
    return found.copy() if np.ndim(found) else found


def _written(items: Sequence[Any]) -> list[Any]:
    missing = [k for k, item in enumerate(items) if item is None]
    if missing:
        raise IndexError(f"elements {missing[:5]} of the TensorArray were not written")
    return list(items)


def all_stacked(items: list[Any], dtype: Any, shape: Shape) -> Any:
    """All elements along a new first axis."""
    if items:
        return stacked(_written(items))
    return np.zeros((0, *(n or 0 for n in shape or ())), dtype)


def some_stacked(items: list[Any], indices: Any, dtype: Any, shape: Shape) -> Any:
    """Some elements along a new first axis."""
    return all_stacked([items[_checked(items, k)] for k in np.asarray(indices).tolist()], dtype, shape)


def all_joined(items: list[Any], dtype: Any, shape: Shape) -> Any:
    """All elements along their first axis."""
    if items:
        return np.concatenate(_written(items))
    return np.zeros((0, *(n or 0 for n in (shape or ())[1:])), dtype)


def numbers(indices: Any, value: Any) -> zip[tuple[int, int]]:
    """Where each item of the value goes, and its number."""
    if len(indices) != len(value):
        raise ValueError(f"{len(indices)} places for {len(value)} items")
    return zip(map(int, indices), range(len(value)), strict=True)


def cut(value: Any, lengths: Any) -> list[Any]:
    """The pieces of an array."""
    ends = np.cumsum(lengths)
    if len(ends) and ends[-1] != len(value):
        raise ValueError(f"pieces of {ends[-1]} items in all, but there are {len(value)}")
    return [value[end - n : end] for end, n in zip(ends.tolist(), np.asarray(lengths).tolist(), strict=True)]
