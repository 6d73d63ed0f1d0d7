"""NumPy's functions told by others: those that may give another look at an array, and running totals.

In: a call with boxes.  Out: what it gives, where that is a view of an operand, the operand itself, or told by
a function that has a derivative; else NotImplemented.  What always holds: what is written through it reaches
the array, derivative and all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.autodiff.box import unwrap_bare
from runtime.errors import GradientError


def _trim_zeros(filt: Any, *args: Any, **kwargs: Any) -> Any:
    """What is cut off is found out now: elements that are written later change nothing about it."""
    value = unwrap_bare(filt)
    if not isinstance(value, np.ndarray) or not value.size:
        return NotImplemented
    whole = np.array(value, order="C")
    made = np.trim_zeros(whole, *args, **kwargs)
    if not made.size:
        return NotImplemented
    start = np.unravel_index((made.ctypes.data - whole.ctypes.data) // whole.itemsize, whole.shape)
    return filt[tuple(slice(k, k + n) for k, n in zip(start, made.shape, strict=True))]


def _real_if_close(a: Any, *args: Any, **kwargs: Any) -> Any:
    """Whether it is real is found out now, too."""
    value = unwrap_bare(a)
    if not isinstance(value, np.ndarray):
        return NotImplemented
    return a if np.real_if_close(value, *args, **kwargs).dtype == value.dtype else np.real(a)


def _broadcast_arrays(*args: Any, **_: Any) -> Any:
    values = [unwrap_bare(x) for x in args]
    shape = np.broadcast_shapes(*map(np.shape, values))
    made = (
        x if isinstance(v, np.ndarray) and v.shape == shape else np.broadcast_to(x, shape)
        for x, v in zip(args, values, strict=True)
    )
    return type(np.broadcast_arrays(*values))(made)


def _meshgrid(*xi: Any, copy: bool = True, **_: Any) -> Any:
    if not copy:
        raise GradientError(
            "the derivative of np.meshgrid(copy=False) is not there", fix="leave copy=False out"
        )
    return NotImplemented


def _einsum(*args: Any, **kwargs: Any) -> Any:
    """With lists of axes: with letters, in whose alphabet capitals come first."""
    if isinstance(args[0], str):
        return NotImplemented
    count = len(args) // 2
    text = ",".join(map(_letters, args[1 : 2 * count : 2]))
    text += "->" + _letters(args[-1]) if len(args) % 2 else ""
    return np.einsum(text, *args[: 2 * count : 2], **kwargs)


def _letters(axes: Any) -> str:
    return "".join("..." if k is Ellipsis else chr(k + (65 if k < 26 else 71)) for k in axes)


def _running(function: Callable[..., Any]) -> Callable[..., Any]:
    """A running total by the function that has a derivative; its axis is the first where none is given."""

    def told(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        return function(array, axis, dtype, out)

    return told


LOOKS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.trim_zeros: _trim_zeros,
    np.real_if_close: _real_if_close,
    np.broadcast_arrays: _broadcast_arrays,
    np.meshgrid: _meshgrid,
    np.einsum: _einsum,
    np.add.accumulate: _running(np.cumsum),
    np.multiply.accumulate: _running(np.cumprod),
}
