"""`vmap`: a function of one item as a function of many.

In: a Python function.  Out: a callable that runs it item by item and stacks what it gives, so control flow is
exact for each item.  What always holds: results of different shapes are an error, never padded or broadcast.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime import tree
from runtime.elements import WEAK_CLASSES
from runtime.ir.graph import Graph, Value
from runtime.ops.batch import Item
from runtime.pushing import NotPushed, Pusher, facts
from runtime.scans import length, map_fn
from runtime.trace.byhand import apply, closed, leaves_of, opened
from runtime.trace.core import Diverged, Trace, active
from runtime.types import ArrayType, Type, WeakType, static_or_weak
from runtime.vectorizing import Batched, Compiler, Rows

_NEW_PROMOTION = int(np.__version__.partition(".")[0]) >= 2  # scalars and arrays have one promotion
_PLAIN = (bool, int, float, complex, np.generic, np.ndarray)


class Vmapped(Batched):
    """What `vmap` returns.

    not_together: why items were gone through one by one, the last time that it was traced; empty if they
        were not.
    """

    what = "vmap"

    def __init__(
        self, f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, compiler: Compiler | None = None
    ) -> None:
        super().__init__(f, compiler)
        # copies: a list that is changed later would be seen by some calls, and not by those that have a trace
        self.in_axes, self.out_axes = (tree.map_leaves(lambda axis: axis, x) for x in (in_axes, out_axes))
        self.not_together = ""

    def here(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`f` of each item, stacked."""
        axes = self.in_axes if isinstance(self.in_axes, (tuple, list)) else (self.in_axes,) * len(args)
        if len(axes) != len(args):
            raise ValueError(f"in_axes has {len(axes)} entries for {len(args)} arguments")
        given = tuple(opened(x, data=True) for x in args)
        keywords = {name: opened(value, data=True) for name, value in kwargs.items()}
        leaves, structure = leaves_of((given, keywords), data=True)
        spread = [each for value, axis in zip(given, axes, strict=True) for each in _spread(axis, value)]
        spread += [0] * (len(leaves) - len(spread))
        pairs = list(zip(leaves, spread, strict=True))
        for leaf, axis in pairs:
            if axis is not None and isinstance(leaf, _PLAIN) and np.ndim(leaf) == 0:
                what = f"vmap goes along axis {axis} of {leaf!r}, which has none"
                raise ValueError(f"{what}; for what all items share, put None into in_axes")
        moving = [_moved(leaf, axis, 0) for leaf, axis in pairs if axis is not None]
        self.not_together = ""
        if not moving:
            raise ValueError("in_axes is None for every argument, so there is nothing to go through")
        moves = [any(a is not None for a in _spread(axis, x)) for x, axis in zip(given, axes, strict=True)]

        def one(items: Any, apart: bool = False) -> Any:
            left = iter(items)
            each = [leaf if axis is None else next(left) for leaf, axis in pairs]
            positional, named = tree.unflatten(structure, each)
            own = [
                closed(x) if apart or moved else whole
                for x, moved, whole in zip(positional, moves, args, strict=True)
            ]
            by_name = {k: closed(x) if apart or _has_leaves(x) else kwargs[k] for k, x in named.items()}
            made = self.each(*own, **by_name)
            return tree.as_data(opened(made, data=True))

        # done together, a function writes to nothing, so that containers that all items share may be copies
        made = self.together(functools.partial(one, apart=True), moving)
        if made is None:
            made = self.by_number(one, moving)
        if made is None:
            made = map_fn(one, tuple(moving))
        made = opened(made, data=True)
        outputs, shape = tree.flatten_data(made)
        ends = _spread(self.out_axes, made)
        moved = [_moved(x, 0, axis) for x, axis in zip(outputs, ends, strict=True)]
        return closed(tree.unflatten(shape, moved))

    def by_number(self, one: Callable[[Any], Any], moving: list[Any]) -> Any:
        """Item by item into arrays made beforehand; None where it is not known what comes out."""
        trace = active()
        types = [] if trace is None else [trace.type_of(x) for x in moving]
        if trace is None or not all(isinstance(t, ArrayType) and t.shape for t in types):
            return None
        mark = trace.mark()
        made = Rows(trace, one, moving, [_row_type(t) for t in types], length(moving)).result()  # type: ignore[arg-type]
        if made is None:
            trace.rollback(mark)
        return made

    def together(self, one: Callable[[Any], Any], moving: list[Any]) -> Any:
        """All items at once, where `f` is one program for all of them; None where it isn't, or not traced."""
        trace = active()
        if trace is None or not _NEW_PROMOTION:
            return None
        types = [trace.type_of(x) for x in moving]
        if not all(isinstance(t, ArrayType) and t.shape and t.device == "cpu" for t in types):
            return None
        mark = trace.mark()
        try:
            return _pushed(trace, one, moving, types)
        except (NotPushed, Diverged) as reason:
            trace.rollback(mark)
            self.not_together = str(reason) or "it raises for every item"
        return None


def _pushed(trace: Trace, one: Callable[[Any], Any], moving: list[Any], types: list[Any]) -> Any:
    """The results of all items; NotPushed where each must go its own way."""
    count = length(moving)
    entries: dict[Value, Item] = {}
    with trace.region("item") as builder:
        heap = trace.heap.copy()
        params = [builder.param(_row_type(t)) for t in types]
        leaves, structure = leaves_of(one(tuple(map(trace.wrap, params))))
        results = [trace.operand(x) for x in leaves]
        trace.heap.restore(heap)
    for param, value, t in zip(params, moving, types, strict=True):
        entries[param] = Item(value, t.shape[1:], True, len(t.shape) > 2, t.dtype.kind)
    for outer, inner in builder.captures.items():
        shape, _, turned, kind = facts(outer.type)
        entries[inner] = Item(trace.wrap(outer), shape, False, turned, kind)
    graph = Graph("item", (*params, *builder.captures.values()), tuple(builder.nodes), tuple(results))
    kinds = [_result_type(x.type) for x in results]
    strict, trace.strict = trace.strict, True  # what can't be done together is not to be left to Python
    try:
        made = Pusher(trace, graph, count).results(entries, kinds)
    except Exception as problem:
        raise NotPushed(f"{type(problem).__name__}: {problem}".partition("\n")[0]) from problem
    finally:
        trace.strict = strict
    return closed(tree.unflatten(structure, made))


def _result_type(t: Type) -> ArrayType:
    """The type of one item's result as an array; NotPushed for what is none."""
    t = static_or_weak(t)
    if isinstance(t, WeakType):
        return ArrayType(np.dtype(WEAK_CLASSES[t.kind]), ())
    if not isinstance(t, ArrayType):
        raise NotPushed(f"a result of type {t}")
    return t


def _row_type(t: ArrayType) -> ArrayType:
    """The type of one item along the first axis."""
    assert t.shape
    return ArrayType(t.dtype, t.shape[1:], len(t.shape) == 1)


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
    leaves, structure = tree.flatten_data(value)
    if axis is None or isinstance(axis, int):
        return [axis] * len(leaves)
    entries, given = tree.flatten_data(axis)
    if not all(x is None or isinstance(x, int) for x in entries):
        raise TypeError(f"an axis of vmap is an integer, or None for what all items share, not {axis!r}")
    if given != structure:
        raise ValueError(f"axes {tree.shown(given)} for a value {tree.shown(structure)}")
    return list(entries)


def _has_leaves(value: Any) -> bool:
    return bool(tree.flatten_data(value)[0])


def _moved(x: Any, source: int, target: int | None) -> Any:
    """The array with one of its axes elsewhere."""
    if target is None or source == target:
        return x
    return apply(np.moveaxis, x, source, target)
