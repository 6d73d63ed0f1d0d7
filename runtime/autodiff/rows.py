"""Which row carries out a callable on boxes, and which rows may give views.

In: NumPy callables and names.  Out: rows of the op table and of the adjoint functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.autodiff import places
from runtime.ir.opdef import PURE, OpDef
from runtime.ops import adjoint
from runtime.ops.table import BY_CALLABLE, OPS
from runtime.passes.facts import NEW, OPERATORS

_ADJOINT: dict[Callable[..., Any], OpDef] = {
    function: row for row in (*adjoint.ROWS, *places.ROWS) for function in row.captures
}


def row_of(function: Callable[..., Any]) -> OpDef | None:
    """The row that a callable is carried out as."""
    found = _ADJOINT.get(function)
    return BY_CALLABLE.get(function) if found is None else found


def by_name(name: str) -> OpDef:
    """A row by its name."""
    return OPS[name]


# Ops whose result may share memory with the operand.
VIEWS = frozenset(
    """np.reshape np.ravel np.transpose np.swapaxes np.moveaxis np.rollaxis np.expand_dims np.squeeze
    np.broadcast_to np.flip np.fliplr np.flipud np.rot90 np.atleast_1d np.atleast_2d np.atleast_3d np.diagonal
    np.real np.imag np.split np.array_split np.hsplit np.vsplit np.dsplit np.unstack np.matrix_transpose
    np.asarray np.asanyarray np.ascontiguousarray np.asfortranarray np.linalg.matrix_transpose
    np.linalg.diagonal nd.reshape nd.transpose nd.view np.diag nd.conj nd.conjugate
    np.real_if_close""".split()
)

# Ops of which it is found out on each call: those that don't surely make a new array.
UNSURE = frozenset(
    name
    for name, row in OPS.items()
    if row.effect == PURE and name not in NEW | OPERATORS | VIEWS and not isinstance(row.run, np.ufunc)
)

# Ops with an operand that is a sequence of arrays; elsewhere a sequence of numbers stands for an array.
SEQUENCES = frozenset(
    """np.concatenate np.stack np.vstack np.hstack np.dstack np.column_stack np.block np.array np.asarray
    np.asanyarray np.ascontiguousarray np.asfortranarray np.linalg.multi_dot np.select np.choose np.ix_
    np.piecewise getitem np.lexsort""".split()
)

# Ops that may be told to use their operand as memory to work in.
OVERWRITING = frozenset(
    "np.median np.nanmedian np.percentile np.nanpercentile np.quantile np.nanquantile".split()
)

# Functions that are no rows, or that need more than their row: "plain" ones look at bare values only.
FUNCTIONS: dict[Any, str] = {
    **dict.fromkeys(
        (
            np.shape, np.ndim, np.size, np.allclose, np.isclose, np.array_equal, np.array_equiv,
            np.array_repr, np.array_str, np.array2string,
            np.shares_memory, np.may_share_memory, np.zeros_like, np.ones_like,
            np.empty_like, np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj, np.argsort, np.argmax,
            np.argmin, np.nonzero,
            np.searchsorted, np.digitize, np.isin, np.lexsort,
            np.unravel_index,
            np.argpartition, np.argwhere, np.flatnonzero, np.count_nonzero, np.histogram_bin_edges,
            np.min_scalar_type, np.common_type, np.isneginf, np.isposinf,
        ),
        "plain",
    ),
    **dict.fromkeys((np.put, np.place, np.putmask, np.copyto, np.fill_diagonal, np.put_along_axis), "write"),
}  # fmt: skip


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> Any:
    return a, lambda x, marks: np.put(x, ind, marks, mode), v  # type: ignore[arg-type]


def _place(arr: Any, mask: Any, vals: Any) -> Any:
    return arr, lambda x, marks: np.place(x, mask, np.ravel(marks)), vals


def _putmask(a: Any, mask: Any, values: Any) -> Any:
    return a, lambda x, marks: np.putmask(x, mask, marks), values


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    return dst, lambda x, marks: np.copyto(x, marks, where=where), src


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Any:
    return a, lambda x, marks: np.fill_diagonal(x, marks, wrap), val


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> Any:
    return arr, lambda x, marks: np.put_along_axis(x, indices, marks, axis), values


# The array that is written to, the write on element numbers, the values.
PART_WRITES: dict[Any, Callable[..., Any]] = {
    np.put: _put,
    np.place: _place,
    np.putmask: _putmask,
    np.copyto: _copyto,
    np.fill_diagonal: _fill_diagonal,
    np.put_along_axis: _put_along_axis,
}

# Methods of ufuncs that are functions under another name.
REDUCE: dict[tuple[Any, str], Callable[..., Any]] = {
    (np.add, "reduce"): np.sum,
    (np.multiply, "reduce"): np.prod,
    (np.maximum, "reduce"): np.max,
    (np.minimum, "reduce"): np.min,
    (np.add, "accumulate"): np.cumsum,
    (np.multiply, "accumulate"): np.cumprod,
}
