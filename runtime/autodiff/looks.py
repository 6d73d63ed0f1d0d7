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


def _diff(a: Any, n: int = 1, *_: Any, **__: Any) -> Any:
    return a if n == 0 else NotImplemented


def _trim_zeros(filt: Any, *args: Any, **kwargs: Any) -> Any:
    """What is cut off is found out now: elements that are written later change nothing about it."""
    value = unwrap_bare(filt)
    made = np.trim_zeros(value, *args, **kwargs)
    if not isinstance(value, np.ndarray) or value.ndim != 1 or not made.size:
        return NotImplemented
    start = (made.ctypes.data - value.ctypes.data) // value.strides[0]
    return filt[start : start + len(made)]


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
    """Of one operand whose axes are all kept: exchanged, and diagonals taken."""
    if len(args) != 2 or not isinstance(args[0], str) or not kwargs.keys() <= {"optimize"}:
        return NotImplemented
    text, x = args[0].replace(" ", ""), args[1]
    given, explicit, wanted = text.partition("->")
    others = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in text]
    more = "".join(others[: np.ndim(unwrap_bare(x)) - len(given.replace("...", ""))])
    given, wanted = (part.replace("...", more) for part in (given, wanted))
    if not explicit:
        wanted = "".join(sorted(c for c in given if given.count(c) == 1))
    if set(given) != set(wanted):
        return NotImplemented
    labels = list(given)
    while len(set(labels)) < len(labels):
        twice = next(c for c in labels if labels.count(c) > 1)
        a, b = [k for k, c in enumerate(labels) if c == twice][:2]
        x = np.diagonal(x, 0, a, b)
        labels = [*(c for k, c in enumerate(labels) if k not in (a, b)), twice]
    return np.transpose(x, [labels.index(c) for c in wanted])


def _running(function: Callable[..., Any]) -> Callable[..., Any]:
    """A running total by the function that has a derivative; its axis is the first where none is given."""

    def told(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        return function(array, axis, dtype, out)

    return told


LOOKS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.diff: _diff,
    np.trim_zeros: _trim_zeros,
    np.broadcast_arrays: _broadcast_arrays,
    np.meshgrid: _meshgrid,
    np.einsum: _einsum,
    np.add.accumulate: _running(np.cumsum),
    np.multiply.accumulate: _running(np.cumprod),
}
