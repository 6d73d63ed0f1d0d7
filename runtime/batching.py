"""`vmap`: a function of one item as a function of many.

In: a Python function.  Out: a callable that runs it item by item and stacks what it gives, so control flow is
exact for each item.  What always holds: results of different shapes are an error, never padded or broadcast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime import tree
from runtime.scans import map_fn
from runtime.trace.byhand import apply, closed, opened
from runtime.vectorizing import Batched, Compiler


class Vmapped(Batched):
    """What `vmap` returns."""

    def __init__(
        self, f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, compiler: Compiler | None = None
    ) -> None:
        super().__init__(f, compiler)
        self.in_axes, self.out_axes = in_axes, out_axes

    def here(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`f` of each item, stacked."""
        axes = self.in_axes if isinstance(self.in_axes, (tuple, list)) else (self.in_axes,) * len(args)
        if len(axes) != len(args):
            raise ValueError(f"in_axes has {len(axes)} entries for {len(args)} arguments")
        given, keywords = tuple(map(opened, args)), {name: opened(value) for name, value in kwargs.items()}
        leaves, structure = tree.flatten((given, keywords))
        spread = [each for value, axis in zip(given, axes, strict=True) for each in _spread(axis, value)]
        spread += [0] * (len(leaves) - len(spread))
        pairs = list(zip(leaves, spread, strict=True))
        moving = [_moved(leaf, axis, 0) for leaf, axis in pairs if axis is not None]
        if not moving:
            raise ValueError("in_axes is None for every argument, so there is nothing to go through")

        def one(items: Any) -> Any:
            left = iter(items)
            each = [leaf if axis is None else next(left) for leaf, axis in pairs]
            positional, named = tree.unflatten(structure, each)
            return apply(self.f, *map(closed, positional), **{k: closed(v) for k, v in named.items()})

        made = opened(map_fn(one, tuple(moving)))
        outputs, shape = tree.flatten(made)
        ends = _spread(self.out_axes, made)
        moved = [_moved(x, 0, axis) for x, axis in zip(outputs, ends, strict=True)]
        return closed(tree.unflatten(shape, moved))


def vmap(
    f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, compiler: Compiler | None = None
) -> Vmapped:
    """A function that applies `f` to each item along an axis of its arguments and stacks the results.

    in_axes: the axis for all arguments, or one per argument; None for what all items share.  An entry for an
        argument that is a tree holds for all its arrays.  Keyword arguments go along axis 0.
    out_axes: the axis of the results along which the items lie.
    compiler: what compiles the callable.

    >>> vmap(lambda row, w: row @ w, in_axes=(0, None))(np.eye(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return Vmapped(f, in_axes, out_axes, compiler)


def _spread(axis: Any, value: Any) -> list[Any]:
    """The axis of each leaf of a value: one for all, or a tree of the same structure."""
    leaves, structure = tree.flatten(value)
    if axis is None or isinstance(axis, int):
        return [axis] * len(leaves)
    entries, given = tree.flatten(axis)
    if given != structure:
        raise ValueError(f"axes of structure {given} for a value of structure {structure}")
    return list(entries)


def _moved(x: Any, source: int, target: int | None) -> Any:
    """The array with one of its axes elsewhere."""
    if target is None or source == target:
        return x
    return apply(np.moveaxis, x, source, target)
