"""In which order the axes of a new matrix lie in memory: as those of what it is computed from, if they agree.

In: arrays and lazy arrays.  Out: whether a matrix is turned: its columns lie side by side.  What always
holds: only what is known for certain counts as turned; what may be is left to who asks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from runtime.execute.native.arrays import turned
from runtime.execute.native.emit import Emitter
from runtime.execute.native.values import Arr, Lazy, Num


def certain(e: Emitter, a: Arr) -> bool:
    """Whether a matrix surely lies with its columns side by side."""
    if not a.turned or len(a.dims) != 2:
        return False
    near, far = a.strides
    if near.isdigit() and far.isdigit():
        return 0 < int(near) < int(far)
    return near == str(a.dtype.itemsize) and far in e.strides


def agreed(parts: Sequence[Lazy], dims: Sequence[str]) -> bool:
    """Whether a new matrix is turned: of the operands that have both of its axes, all are.

    NumPy asks those only; an axis of one element, or that is not there, has no place in memory.
    """
    if len(dims) != 2:
        return False
    whole = [
        p for p in parts
        if len(p.dims) == 2 and all(n != "1" or m == "1" for n, m in zip(p.dims, dims, strict=True))
    ]  # fmt: skip
    return bool(whole) and all(p.turned for p in whole)


def transposed(x: Lazy) -> Lazy:
    """The same elements with the two axes in the other order."""

    def element(indices: Sequence[str]) -> Num:
        return x.element([*reversed(indices)])

    leaves = tuple(turned(a, (1, 0)) if len(a.dims) == 2 else a for a in x.leaves)
    return dataclasses.replace(
        x, dims=x.dims[::-1], element=element, leaves=leaves, plain=False, turned=False, turns=()
    )
