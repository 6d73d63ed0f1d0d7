"""Which ops are lowered by a function of their own, by name.

In: an op's name.  Out: what lowers it: a function of the state, the positional arguments and the keywords.
What always holds: a handler raises Unlowered for arguments that it does not expect; modules of handlers are
loaded when there is such an op: most programs have few of them.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.state import State
from runtime.execute.native.values import Val
from runtime.lazy import Lazy

if TYPE_CHECKING:
    from runtime.execute.native import (
        counts,
        joins,
        lapack,
        linear,
        looks,
        makers,
        moved,
        running,
        shapes,
        sorts,
        true_places,
    )
    from runtime.execute.native.makers import Handler
else:
    counts, linear = Lazy("runtime.execute.native.counts"), Lazy("runtime.execute.native.linear")
    joins, lapack = Lazy("runtime.execute.native.joins"), Lazy("runtime.execute.native.lapack")
    looks, makers = Lazy("runtime.execute.native.looks"), Lazy("runtime.execute.native.makers")
    moved, running = Lazy("runtime.execute.native.moved"), Lazy("runtime.execute.native.running")
    shapes, sorts = Lazy("runtime.execute.native.shapes"), Lazy("runtime.execute.native.sorts")
    true_places = Lazy("runtime.execute.native.true_places")

# The names of `HANDLERS` in each module.
PLACES: tuple[tuple[Any, str], ...] = (
    (
        makers,
        "np.ascontiguousarray np.searchsorted nd.searchsorted np.array np.asarray np.arange np.linspace "
        "np.eye np.identity nd.transpose np.transpose np.outer",
    ),
    (
        running,
        "np.cumsum np.cumprod np.add.accumulate np.multiply.accumulate np.maximum.accumulate "
        "np.minimum.accumulate",
    ),
    (looks, "np.flip np.flipud np.fliplr np.swapaxes np.moveaxis np.expand_dims np.squeeze"),
    (counts, "np.bincount"),
    (
        lapack,
        "np.linalg.solve np.linalg.inv np.linalg.cholesky np.linalg.eigvalsh np.linalg.det",
    ),
    (shapes, "nd.reshape np.reshape nd.ravel np.ravel nd.flatten"),
    (true_places, "np.nonzero np.where np.flatnonzero np.argwhere"),
    (joins, "np.append np.concatenate np.stack np.vstack np.hstack np.column_stack"),
    (sorts, "np.sort np.median"),
    (moved, "np.roll np.pad np.tril np.triu np.diff"),
)
_WHERE = {name: module for module, names in PLACES for name in names.split()}
_PRODUCTS = {
    "matmul": "matmul", "np.matmul": "matmul", "np.dot": "dot", "nd.dot": "dot", "np.linalg.norm": "norm",
}  # fmt: skip


def handler(op: str) -> Handler | None:
    """What lowers an op; None where it has no handler."""
    if op in _PRODUCTS:
        return _plain(getattr(linear, _PRODUCTS[op]))
    found: Handler | None = _WHERE[op].HANDLERS[op] if op in _WHERE else None
    return found


@functools.cache
def taken(op: str, count: int, keywords: tuple[str, ...]) -> bool:
    """Whether a function of NumPy's takes so many arguments by position, and these by name; True where only
    the call can tell."""
    try:
        function = operator.attrgetter(op.removeprefix("np."))(np)
        signature = inspect.signature(function)
    except (AttributeError, TypeError, ValueError):  # older versions have functions of C without signatures
        return True
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        return True  # `np.add.accumulate` takes names that its signature does not have
    try:
        signature.bind(*range(count), **dict.fromkeys(keywords))
    except TypeError:
        return False
    return True


def display(state: State, items: Val) -> Val:
    """`np.array(items)`."""
    return makers.HANDLERS["np.array"](state, [items], {})


def in_order(state: State, maker: Hashable, x: Val) -> Val:
    """`sorted(x)`.  maker: what the list is remembered under."""
    found: Val = sorts.in_order(state, maker, x)
    return found


def prepare(ops: Iterable[str]) -> None:
    """Load the handlers of these ops now: another thread, which may do the lowering, should parse nothing."""
    for op in ops:
        handler(op)


def _plain(function: object) -> Handler:
    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        if keywords:
            raise Unlowered("a matrix product with options")
        found: Val = function(state, args)  # type: ignore[operator]
        return found

    return handler
