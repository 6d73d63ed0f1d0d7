"""The elements of arrays, one after the other, and arrays made of what was computed for each.

In: arrays and numbers.  Out: their elements side by side; columns of results.  What always holds: an element
of bools, int64, float64, complex128 or text comes as a Python value, as `np.vectorize` hands it over, one of
any other dtype as a NumPy scalar, which keeps its precision; results get the dtype that `np.array` of the
list of them has.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from runtime.types import OBJECT, WEAK_OF, ArrayType, NumberType, ObjectType, Type, WeakType

Row = tuple[Any, ...]
_PYTHON = frozenset(map(np.dtype, (bool, np.int64, float, complex)))
_CLASSES = {"U": str, "S": bytes}
WEAK_CLASSES: dict[str, type] = {weak.kind: cls for cls, weak in WEAK_OF.items()}
EXACT = 1 << 53  # up to here a float64 holds every integer


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in the byte order of this machine: the very object that arrays have."""
    if dtype.kind in "VTO":
        return dtype
    own: np.dtype[Any] = np.dtype(dtype.newbyteorder("=").str)
    return own


def as_python(dtype: np.dtype[Any]) -> bool:
    """Whether elements of this dtype come as Python values."""
    return dtype.kind in "USO" or native(dtype) in _PYTHON


def element_type(dtype: np.dtype[Any]) -> Type:
    """The trace type of an element of an array."""
    own = native(dtype)
    if own in _PYTHON:
        return WEAK_OF[type(own.type().item())]
    if dtype.kind in "US":
        return ObjectType(_CLASSES[dtype.kind])
    return ArrayType(own, (), scalar=True) if dtype.kind in "biufcmM" else OBJECT


def plain_array(x: Any) -> Any:
    """The argument as an array in native byte order; TypeError for arrays that hide elements or have rules
    of their own."""
    if type(x) is np.ndarray and x.dtype.isnative:
        return x
    masked = "numpy.ma" in sys.modules and isinstance(x, np.ma.MaskedArray)  # asking would load the module
    if masked or isinstance(x, np.matrix):
        name = type(x).__name__
        raise TypeError(
            f"vectorize goes through the elements of plain arrays, and this is a {name}: pass np.asarray(x)"
            + (", or the elements that are not masked" if masked else "")
        )
    array = np.asarray(x, dtype=np.int64 if type(x) is int else None)
    return array if array.dtype.isnative else array.astype(native(array.dtype))


def broadcast(*args: Any) -> tuple[Any, ...]:
    """The arguments broadcast against each other and flattened; then how many elements, and the shape."""
    arrays = [plain_array(x) for x in args]
    shapes = {x.shape for x in arrays}
    shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    flat = [(x if x.shape == shape else np.broadcast_to(x, shape)).reshape(-1) for x in arrays]
    return (*flat, math.prod(shape), shape)


def elements(count: int, *flat: Any) -> zip[Any]:
    """The number of each element, and the elements of the flat arrays at that place.

    They are taken out of the arrays when the first one is asked for: native code never does.
    """
    return zip(range(count), *(chain.from_iterable(map(values, (x,))) for x in flat), strict=False)


def values(x: Any) -> list[Any]:
    """The elements of an array with one axis, as they are handed to functions."""
    return x.tolist() if as_python(x.dtype) else list(x)


def kind_of(value: Any, bits: dict[type, int]) -> int:
    """The bit of a number's class."""
    return bits[type(value)]


def bits_of(t: NumberType) -> dict[type, int]:
    """A bit for each class of number that the type describes."""
    classes = [WEAK_CLASSES[k.kind] if isinstance(k, WeakType) else k.dtype.type for k in t.kinds]
    return {cls: 1 << k for k, cls in enumerate(classes)}


def common(classes: Iterable[type]) -> np.dtype[Any]:
    """The dtype of an array of numbers of these classes."""
    return np.result_type(*map(np.dtype, classes))


def settled(out: Any, seen: int, bits: dict[type, int]) -> Any:
    """The results in the dtype of the kinds that were among them; `seen` has their bits."""
    found = [cls for cls, bit in bits.items() if seen & bit]
    if not found:
        return out
    dtype = common(found)
    if dtype.kind in "iu" and out.dtype.kind in "fc" and np.abs(out).max(initial=0) >= EXACT:
        raise OverflowError("results are integers beyond 2**53, or floats for other elements: pass otypes")
    return out.astype(dtype, copy=False)


def columns(rows: list[Row], dtypes: Sequence[Any] = ()) -> Row:
    """The columns of rows of results as arrays; dtypes: where they are wished for."""
    if not rows and dtypes:
        return tuple(np.empty(0, t) for t in dtypes)
    if not rows:
        raise ValueError(
            "there are no elements, so it is not known what the results look like; pass otypes to vectorize"
        )
    wanted = dtypes or [None] * len(rows[0])
    return tuple(column(list(c), t) for c, t in zip(zip(*rows, strict=True), wanted, strict=True))


def is_number(cls: type) -> bool:
    """Whether values of the class are numbers, Python's or NumPy's."""
    return cls in WEAK_CLASSES.values() or issubclass(cls, np.number | np.bool_)


def column(values: list[Any], dtype: Any = None) -> Any:
    """Results as one array: numbers and texts as `np.array` has them, arrays stacked."""
    if dtype is not None:
        return np.array(values, dtype=dtype)
    classes = list(dict.fromkeys(map(type, values)))
    if all(map(is_number, classes)):
        return np.array(values, dtype=common(classes))
    return np.array(values) if classes in ([str], [bytes]) else stacked(values)


def stacked(values: Sequence[Any]) -> Any:
    """Results of one shape as one array; ValueError for others and for what no array can hold."""
    shape = np.shape(values[0])
    for k, item in enumerate(values):
        if np.shape(item) != shape:
            raise ValueError(f"result {k} has shape {np.shape(item)}, the ones before it {shape}")
    made = np.stack(values)
    if made.dtype.hasobject and not all(isinstance(x, (np.ndarray, np.generic)) for x in values):
        kinds = sorted({type(x).__name__ for x in values})
        raise ValueError(f"results of type {' and '.join(kinds)} can't be stacked into an array")
    return made


def shaped(x: Any, shape: tuple[int, ...]) -> Any:
    """The array with these axes in place of its first."""
    return x.reshape((*shape, *x.shape[1:]))


def stack_rows(rows: list[tuple[Any, ...]], reverse: bool = False) -> tuple[Any, ...]:
    """The columns of rows of arrays and numbers, each stacked."""
    if not rows:
        raise ValueError("there are no items, so it is not known what the results look like")
    if reverse:
        rows = rows[::-1]
    return tuple(map(stacked, zip(*rows, strict=True)))
