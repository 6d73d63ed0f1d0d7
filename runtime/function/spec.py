"""`TensorSpec`: what `input_signature` says of one array argument.

In: shape, dtype and name as the user writes them.  Out: a frozen record.  A spec is a promise that is
checked at each call; it converts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from runtime.errors import message
from runtime.types import ArrayType


class TensorSpec:
    """An array of this shape and dtype: None for an axis of any size, None for a shape of any rank.

    shape: sizes, e.g. `(None, 3)`; an int for one axis.
    dtype: anything `np.dtype` takes; None for any.
    name: what it is called when printed.

    >>> TensorSpec((None, 3), np.float32, name="x")
    TensorSpec(shape=(None, 3), dtype=float32, name='x')
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(
        self, shape: Iterable[int | None] | int | None, dtype: Any = None, name: str | None = None
    ) -> None:
        sizes = (shape,) if isinstance(shape, (int, np.integer)) else shape
        self.shape: tuple[int | None, ...] | None = None if sizes is None else tuple(map(_size, sizes))
        self.dtype: np.dtype[Any] | None = None if dtype is None else np.dtype(dtype)
        self.name = name

    @classmethod
    def from_array(cls, array: Any, name: str | None = None) -> TensorSpec:
        """The spec that describes exactly the shape and dtype of `array`."""
        if not hasattr(array, "shape") or not hasattr(array, "dtype"):
            raise TypeError(f"from_array takes an array, not a value of type {type(array).__name__}")
        return cls(array.shape, array.dtype, name)

    def accepts(self, actual: ArrayType) -> bool:
        """Whether an array or NumPy scalar of type `actual` keeps the promise."""
        if self.dtype is not None and self.dtype != actual.dtype:
            return False
        if self.shape is None:
            return True
        return (
            actual.shape is not None
            and len(self.shape) == len(actual.shape)
            and all(n is None or n == m for n, m in zip(self.shape, actual.shape, strict=True))
        )

    def type_for(self, actual: ArrayType) -> ArrayType:
        """The trace type of an accepted argument: this spec, on the argument's device.

        A NumPy scalar stays a scalar: it behaves unlike a 0-d array, so it is traced as what it is.
        """
        if actual.scalar:
            return actual
        return ArrayType(actual.dtype, self.shape, device=actual.device)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (self.shape, self.dtype, self.name) == (other.shape, other.dtype, other.name)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.name))

    def __repr__(self) -> str:
        dtype = None if self.dtype is None else self.dtype.name if self.dtype.isnative else self.dtype.str
        name = "" if self.name is None else f", name={self.name!r}"
        return f"TensorSpec(shape={self.shape}, dtype={dtype}{name})"


def _size(size: Any) -> int | None:
    if size is None:
        return None
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size >= 0:
        return int(size)
    raise ValueError(
        message(
            f"{size!r} is not the size of an axis",
            fix="use a non-negative integer, or None for an axis of any size",
        )
    )
