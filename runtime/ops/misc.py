"""Rows of what belongs to no other family: index grids, windows, questions about operands, newer names.

In: nothing.  Out: `ROWS`.  What always holds: functions that an older NumPy lacks have no row there;
functions whose result is hard to foresee return any value but are known to change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.ir.opdef import OpDef
from runtime.ops.create import shape_spec
from runtime.ops.rules import (
    BOOL,
    INTP,
    NUMERIC_KINDS,
    Unknown,
    any_value,
    as_array,
    bare,
    device_of,
    dims,
    given_dtype,
    is_none,
    ndarray,
    normal_axis,
    numeric_array,
    result,
    size_of,
    static_int,
    static_or,
    tuple_of,
    twin,
)
from runtime.types import WEAK_BOOL, WEAK_INT, ArrayType, Type, WeakType

FLOAT = np.dtype(float)


def rule_ix(*args: Type) -> Type:
    """ix_: one index array per operand, each along its own axis."""
    made = []
    for i, t in enumerate(args):
        a = numeric_array(t)
        (n,) = dims(a)
        if n == 0 or n is None:  # empty ones become integers
            raise Unknown
        dtype, size = (INTP, None) if a.dtype == BOOL else (a.dtype, n)
        made.append(ndarray(dtype, tuple(size if i == j else 1 for j in range(len(args)))))
    return tuple_of(*made)


def triangle(lower: bool) -> Any:
    """The rule of tril_indices and triu_indices: two index vectors."""
    fn = np.tril_indices if lower else np.triu_indices

    def rule(n: Type, k: Type | None = None, m: Type | None = None) -> Type:
        size: int | None = None
        rows, shift = static_int(n), static_int(k) if k is not None else 0
        columns = rows if m is None or is_none(m) else static_int(m)
        if None not in (rows, shift, columns) and max(rows or 0, columns or 0) <= 64:
            size = len(fn(rows or 0, shift or 0, columns or 0)[0])
        return tuple_of(*[ndarray(INTP, (size,))] * 2)

    return rule


def rule_diag_indices(n: Type, ndim: Type | None = None) -> Type:
    """diag_indices: the same vector for each axis; of a NumPy scalar in its dtype."""
    if bare(n) != WEAK_INT:
        raise Unknown
    return tuple_of(*[ndarray(INTP, (static_int(n),))] * static_or(ndim, 2))


def rule_unravel_index(indices: Type, shape: Type, order: Type | None = None) -> Type:
    """unravel_index: an index per axis."""
    axes = len(shape_spec(shape))
    where = () if bare(indices) == WEAK_INT else numeric_array(indices).shape
    return tuple_of(*[result(INTP, where, device_of([indices]))] * axes)


def rule_bool_of(x: Type) -> Type:
    """isposinf, isneginf: a bool per element."""
    a = numeric_array(x)
    if a.dtype.kind == "c":
        raise Unknown
    return result(BOOL, a.shape, a.device)


def rule_question(*types: Type) -> Type:
    """A Python bool about arrays or numbers."""
    for t in types:
        if not isinstance(bare(t), (ArrayType, WeakType)):
            raise Unknown
    if device_of(types) != "cpu":
        raise Unknown
    return WEAK_BOOL


def rule_matrix_transpose(x: Type) -> Type:
    """matrix_transpose: the last two axes swapped."""
    a = as_array(x)
    *lead, n, m = dims(a)
    return ndarray(a.dtype, (*lead, m, n), a.device)


def rule_astype(x: Type, dtype: Type, *, copy: Type | None = None) -> Type:
    """astype, for arrays only."""
    asked = given_dtype(dtype)
    if not isinstance(x, ArrayType) or x.scalar or asked is None:
        raise Unknown
    if asked.kind not in NUMERIC_KINDS or x.dtype.kind not in NUMERIC_KINDS:
        raise Unknown
    return ndarray(asked, x.shape, x.device)


def rule_window(M: Type) -> Type:
    """Window functions: float64, as many as asked for."""
    size = static_int(M)
    return ndarray(FLOAT, (None if size is None else max(size, 0),))


def rule_diagflat(v: Type, k: Type | None = None) -> Type:
    """diagflat: a matrix with the elements on a diagonal."""
    a = as_array(v)
    n, shift = size_of(a), 0 if k is None else static_int(k)
    size = None if n is None or shift is None else n + abs(shift)
    return ndarray(a.dtype, (size, size), a.device)


def rule_unstack(x: Type, *, axis: Type | None = None) -> Type:
    """unstack: a tuple of the slices along an axis."""
    a = as_array(x)
    shape = dims(a)
    i = normal_axis(static_or(axis, 0), len(shape))
    count = shape[i]
    if count is None or count > 256 or len(shape) < 2:
        raise Unknown
    return tuple_of(*[ndarray(a.dtype, shape[:i] + shape[i + 1 :], a.device)] * count)


def rule_linalg_outer(x1: Type, x2: Type) -> Type:
    """linalg.outer: of two vectors."""
    a, b = numeric_array(x1), numeric_array(x2)
    (n,), (m,) = dims(a), dims(b)
    return ndarray(np.result_type(a.dtype, b.dtype), (n, m), device_of((x1, x2)))


# name, doc, rule, in CuPy
LINES: tuple[tuple[str, str, Callable[..., Type], bool], ...] = (
    ("ix_", "Index arrays that select a grid.", rule_ix, True),
    ("tril_indices", "Indices of the lower triangle.", triangle(True), True),
    ("triu_indices", "Indices of the upper triangle.", triangle(False), True),
    ("tril_indices_from", "Indices of the lower triangle of an array.", any_value, True),
    ("triu_indices_from", "Indices of the upper triangle of an array.", any_value, True),
    ("diag_indices", "Indices of the main diagonal.", rule_diag_indices, True),
    ("diag_indices_from", "Indices of the main diagonal of an array.", any_value, True),
    ("unravel_index", "Flat indices to an index per axis.", rule_unravel_index, True),
    ("ravel_multi_index", "Indices per axis to flat ones.", any_value, True),
    ("isposinf", "Whether positive infinity.", rule_bool_of, True),
    ("isneginf", "Whether negative infinity.", rule_bool_of, True),
    ("iscomplexobj", "Whether of a complex dtype.", rule_question, True),
    ("isrealobj", "Whether of a dtype that is not complex.", rule_question, True),
    ("isscalar", "Whether a scalar, of Python or NumPy.", rule_question, True),
    ("shares_memory", "Whether two arrays overlap.", rule_question, True),
    ("may_share_memory", "Whether two arrays may overlap.", rule_question, True),
    ("matrix_transpose", "Last two axes swapped.", rule_matrix_transpose, True),
    ("astype", "The elements in another dtype.", rule_astype, True),
    ("bartlett", "Triangular window.", rule_window, True),
    ("blackman", "Blackman's window.", rule_window, True),
    ("hamming", "Hamming's window.", rule_window, True),
    ("hanning", "Hann's window.", rule_window, True),
    ("diagflat", "Matrix with the elements on a diagonal.", rule_diagflat, True),
    ("unstack", "The slices along an axis.", rule_unstack, False),
    ("block", "Nested arrays joined.", any_value, False),
    ("packbits", "Bits packed into bytes.", any_value, True),
    ("unpackbits", "Bytes unpacked into bits.", any_value, True),
    ("histogram_bin_edges", "Edges of the bins of a histogram.", any_value, False),
    ("histogram2d", "Counts over a grid.", any_value, True),
    ("result_type", "The dtype that operands promote to.", any_value, True),
    ("cumulative_sum", "Running sum along an axis.", any_value, True),
    ("cumulative_prod", "Running product along an axis.", any_value, True),
    ("unique_values", "The different elements.", any_value, True),
    ("sort_complex", "Sorted as complex numbers.", any_value, True),
    ("i0", "Modified Bessel function.", any_value, True),
    ("linalg.outer", "All products of the elements of two vectors.", rule_linalg_outer, False),
    ("linalg.matrix_transpose", "Last two axes swapped.", rule_matrix_transpose, True),
    ("linalg.svdvals", "Singular values.", any_value, False),
    ("linalg.matrix_norm", "Norm of matrices.", any_value, False),
    ("linalg.vector_norm", "Norm of vectors.", any_value, False),
    ("linalg.cross", "Vector product.", any_value, True),
    ("linalg.diagonal", "The diagonal of the last two axes.", any_value, False),
    ("linalg.trace", "Sum of the diagonal of the last two axes.", any_value, False),
    ("linalg.tensorsolve", "Solution of a tensor equation.", any_value, True),
    ("linalg.tensorinv", "Inverse of a tensor.", any_value, True),
    ("fft.rfft2", "Fourier transform of real numbers over two axes.", any_value, True),
    ("fft.irfft2", "Inverse of rfft2.", any_value, True),
    ("fft.rfftn", "Fourier transform of real numbers over all axes.", any_value, True),
    ("fft.irfftn", "Inverse of rfftn.", any_value, True),
    ("fft.hfft", "Transform of a signal with Hermitian symmetry.", any_value, True),
    ("fft.ihfft", "Inverse of hfft.", any_value, True),
)


def _exists(name: str) -> bool:
    """Whether this NumPy has the function."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None


ROWS: tuple[OpDef, ...] = tuple(
    twin(name, doc, rule, cupy=cupy, ulp=64 if "." in name else 8)
    for name, doc, rule, cupy in LINES
    if _exists(name)
)
