"""In whose memory the results of NumPy's functions lie: seen on small arrays, when code is made to call them.

In: a node, and the values of its inputs.  Out: in whose memory the result lies, as `Memory`, or None where
that can't be seen.  What always holds: what is seen decides only what code is made; the code itself looks at
each result.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.execute.native.arrays import dense
from runtime.execute.native.emit import Emitter
from runtime.execute.native.values import Arr, Lazy, Num, Static, Tup, Val
from runtime.ir.graph import Const, Node, Operand
from runtime.types import ArrayType

FEW, MOST = 3, 8  # elements along an axis of which the size is not known; and along any other
LARGE = 1 << 20  # elements of a result: nothing is tried for more


class Memory(enum.Enum):
    """Where a new array lies: in memory of its own, or in that of another one that it alone holds; or it is
    a view of an argument, or in another order of axes than C's."""

    OWN, ALONE, OTHER = range(3)


class _Unseen(Exception):
    """There is no small array for it."""


def seen(e: Emitter, run: Callable[..., Any], node: Node, args: Sequence[Val], t: ArrayType) -> Memory | None:
    """Where what `run` gives, of type `t`, lies; None where that may be large, or it gives errors."""
    assert t.shape is not None
    largest = max((_largest(x.value) for x in node.inputs if isinstance(x, Const)), default=0)
    most = 2 * largest + MOST * MOST
    if largest > LARGE or math.prod(most if n is None else min(n, most) for n in t.shape) > LARGE:
        return None
    try:
        given = [_sample(e, x, of) for x, of in zip(args, node.inputs, strict=True)]
        first = len(given) - len(node.keywords)
        arrays = list(_arrays(given))
        with np.errstate(all="ignore"):
            made = run(*given[:first], **dict(zip(node.keywords, given[first:], strict=True)))
    except Exception:  # other values may be needed than ours: then the calls show what it gives
        return None
    if type(made) is not np.ndarray:
        return None
    if not made.flags.c_contiguous or any(np.may_share_memory(made, x) for x in arrays):
        return Memory.OTHER
    return Memory.OWN if made.base is None else Memory.ALONE


def _sample(e: Emitter, x: Val, of: Operand) -> Any:
    """A small value of the same form."""
    if isinstance(of, Const):
        return of.value
    if isinstance(x, Static):
        return x.value
    if isinstance(x, Tup):
        return tuple(_sample(e, item, of) for item in x.items)
    if isinstance(x, Num):
        return x.const if x.const is not None else x.scalar.dtype.type(2).item()
    if not isinstance(x, (Arr, Lazy)):
        raise _Unseen
    sizes = [min(int(n), MOST) if n.isdigit() else FEW for n in x.dims]
    order = _order(e, x)
    lying = np.ones([sizes[k] for k in order], x.dtype if isinstance(x, Arr) else x.kind.dtype)
    made = lying.transpose(np.argsort(order)) if len(order) > 1 else lying
    if made.ndim > 1 and made.dtype.kind != "b":
        made += 2 * np.eye(*sizes[-2:], dtype=made.dtype)  # a matrix that has an inverse
    return made


def _order(e: Emitter, x: Arr | Lazy) -> Sequence[int]:
    """The axes, outermost in memory first."""
    axes = range(len(x.dims))
    if isinstance(x, Lazy):
        return axes[::-1] if x.turned else axes
    for order in itertools.permutations(axes) if x.turned else ():
        if dense(e, [x.dims[k] for k in order], x.dtype.itemsize) == tuple(x.strides[k] for k in order):
            return order
    if x.turned:
        raise _Unseen
    return axes


def _largest(x: Any) -> int:
    """The largest number that a constant may say as a size, or how many elements it has itself."""
    if isinstance(x, (tuple, list)):
        return max(map(_largest, x), default=0)
    if isinstance(x, np.ndarray):
        return x.size
    return abs(int(x)) if isinstance(x, (int, np.integer)) else 0


def _arrays(given: Sequence[Any]) -> Iterator[Any]:
    """The arrays among values, those in tuples included."""
    for x in given:
        if isinstance(x, tuple):
            yield from _arrays(x)
        elif isinstance(x, np.ndarray):
            yield x
