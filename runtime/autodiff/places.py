"""Where a write goes: a part of an array, reached through views; and writing as an op with a derivative.

In: an array, values, a `Place`.  Out: for `update` the array with the part replaced, for `part_of` the
part.  What always holds: a view of the array is mirrored by the same view of its cotangent, because
both are laid out alike in memory.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from runtime.dataclass import dataclass
from runtime.errors import GradientError
from runtime.ir.opdef import OpDef
from runtime.ops.adjoint import LINEAR, derivative_row, dispatching, is_basic


@dataclass(frozen=True)
class Step:
    """One op that makes a view: its row, the other operands, which of several results, and the place of the
    array among the operands."""

    row: OpDef
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    item: int | None = None
    place: int = 0

    def operands(self, x: Any) -> tuple[Any, ...]:
        """All operands by position."""
        return (*self.args[: self.place], x, *self.args[self.place :])

    def __call__(self, x: Any) -> Any:
        made = self.row.run(*self.operands(x), **self.kwargs)
        return made if self.item is None else made[self.item]


@dataclass(frozen=True)
class Place:
    """The part `key` of the view that the steps make.  axes: the order of the array's axes in memory.

    in_place: nobody else holds the array, so it may be written to."""

    steps: tuple[Step, ...]
    key: Any
    axes: tuple[int, ...]
    in_place: bool = False

    def view(self, x: Any) -> Any:
        """The view in which the part lies."""
        for step in self.steps:
            x = step(x)
        return x

    def later(self) -> Place:
        """The same place, for arrays that others may hold."""
        return dataclasses.replace(self, in_place=False) if self.in_place else self

    def now(self) -> Place:
        """The same place, in an array that nobody else holds."""
        return self if self.in_place else dataclasses.replace(self, in_place=True)

    def buffer(self, x: Any) -> Any:
        """A copy with the axes in this order in memory, so that the steps give views of it."""
        made = empty(np.shape(x), np.asarray(x).dtype, self.axes)
        made[...] = x
        return made


def empty(shape: tuple[int, ...], dtype: Any, axes: tuple[int, ...]) -> Any:
    """An array with its axes in an order in memory."""
    made = np.empty(tuple(shape[i] for i in axes), dtype)
    return made.transpose(np.argsort(axes)) if axes else made


def memory_order(x: Any) -> tuple[int, ...]:
    """The axes from the longest stride to the shortest."""
    return tuple(sorted(range(x.ndim), key=lambda i: (-abs(x.strides[i]), i)))


@dispatching
def update(x: Any, values: Any, place: Place) -> Any:
    """The array with the values at a place."""
    made = x if place.in_place else place.buffer(x)
    view = place.view(made)
    if place.steps and view.size and not np.may_share_memory(view, made):
        raise not_found()
    view[place.key] = values
    return made


def not_found() -> GradientError:
    """The error that what was a view of an array is none any more."""
    return GradientError(
        "a view that was written to can't be found again in the array",
        why="the array has another layout in memory than when the view was made",
        fix="write to the array itself",
    )


@dispatching
def part_of(x: Any, place: Place) -> Any:
    """What stands at a place; where a place is named several times, only the last write counts."""
    view = place.view(x)
    part = view[place.key]
    if not is_basic(place.key) and np.size(part):
        numbers = np.arange(np.size(part)).reshape(np.shape(part))
        last = np.zeros(np.shape(view), np.int64)
        last[place.key] = numbers
        part = np.where(last[place.key] == numbers, part, part.dtype.type(0))
    return part.copy() if isinstance(part, np.ndarray) else part


@dispatching
def cleared(x: Any, place: Place) -> Any:
    """The array with zeros at a place."""
    return update(x, 0, place)


@dispatching
def placed(values: Any, place: Place, shape: tuple[int, ...]) -> Any:
    """Zeros with values at a place: the transpose of `part_of`."""
    made = np.zeros(shape, np.asarray(values).dtype)
    part = np.empty(np.shape(place.view(made)[place.key]), made.dtype)
    part[...] = (
        values  # where a place is named several times the last one stands, which is the one that counts
    )
    return update(made, part, place)


ROWS: tuple[OpDef, ...] = (
    derivative_row(
        update,
        {
            0: lambda ct, y, x, values, place: cleared(ct, place.later()),
            1: lambda ct, y, x, values, place: part_of(ct, place.later()),
        },
        {
            0: lambda t, y, x, values, place: cleared(t, place.later()),
            1: lambda t, y, x, values, place: placed_like(t, x, place.later()),
        },
    ),
    derivative_row(cleared, {0: lambda ct, y, x, place: cleared(ct, place)}, {0: LINEAR}),
    derivative_row(part_of, {0: lambda ct, y, x, place: placed(ct, place, np.shape(x))}, {0: LINEAR}),
    derivative_row(placed, {0: lambda ct, y, values, place, shape: part_of(ct, place)}, {0: LINEAR}),
)


def placed_like(values: Any, x: Any, place: Place) -> Any:
    """Zeros of the shape of an array, with values at a place."""
    return placed(values, place, np.shape(x))
