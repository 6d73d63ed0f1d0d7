"""Rows of products, linear algebra and Fourier transforms.

In: nothing.  Out: `ROWS`.  What always holds: leading axes are a batch where NumPy says so; a product
that contracts every axis gives a scalar where NumPy's does; results whose dtype depends on values
(eigenvalues of a general matrix) are any value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.ir.opdef import OpDef
from runtime.ops.reduce import reduced_shape
from runtime.ops.rules import (
    Shape,
    Unknown,
    any_value,
    asked_dtype,
    bare,
    broadcast,
    broadcast_sizes,
    device_of,
    dims,
    given_dtype,
    is_none,
    ndarray,
    normal_axes,
    normal_axis,
    numeric_array,
    product,
    quietly,
    rank,
    result,
    same_size,
    scalar,
    size_of,
    static,
    static_int,
    static_or,
    twin,
)
from runtime.ops.ufuncs import matmul_shape
from runtime.types import WEAK_INT, ArrayType, StaticType, TupleType, Type, is_namedtuple, type_of

# -- products ------------------------------------------------------------------------------------


def multiplied(*arrays: ArrayType) -> np.dtype[Any]:
    """The dtype of a product of arrays (Python numbers count as arrays here)."""
    found: np.dtype[Any] = asked_dtype(np.outer, *arrays, ndim=1)
    return found


def rule_outer(a: Type, b: Type, out: Type | None = None) -> Type:
    """outer: a matrix of all products."""
    if not is_none(out):
        raise Unknown
    left, right = numeric_array(a), numeric_array(b)
    return ndarray(multiplied(left, right), (size_of(left), size_of(right)), device_of((a, b)))


def dot_shape(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The shape of np.dot."""
    if not a or not b:
        return a or b
    same_size(a[-1], b[-1] if len(b) == 1 else b[-2])
    return a[:-1] + (b[:-2] + b[-1:] if len(b) > 1 else ())


def rule_dot(a: Type, b: Type, out: Type | None = None) -> Type:
    """dot."""
    if not is_none(out):
        raise Unknown
    left, right = numeric_array(a), numeric_array(b)
    return result(multiplied(left, right), dot_shape(dims(left), dims(right)), device_of((a, b)))


def rule_inner(a: Type, b: Type) -> Type:
    """inner: last axes contracted."""
    left, right = numeric_array(a), numeric_array(b)
    first, second = dims(left), dims(right)
    if first and second:
        same_size(first[-1], second[-1])
        shape = first[:-1] + second[:-1]
    else:
        shape = first or second
    return result(multiplied(left, right), shape, device_of((a, b)))


def rule_vdot(a: Type, b: Type) -> Type:
    """vdot: a scalar."""
    return scalar(multiplied(numeric_array(a), numeric_array(b)), device_of((a, b)))


def rule_kron(a: Type, b: Type) -> Type:
    """kron: sizes multiplied."""
    left, right = numeric_array(a), numeric_array(b)
    first, second = dims(left), dims(right)
    width = max(len(first), len(second))
    pairs = zip((1,) * (width - len(first)) + first, (1,) * (width - len(second)) + second, strict=True)
    sizes = tuple(product(pair) for pair in pairs)
    return result(multiplied(left, right), sizes, device_of((a, b)))


def rule_trace(
    a: Type,
    offset: Type | None = None,
    axis1: Type | None = None,
    axis2: Type | None = None,
    dtype: Type | None = None,
    out: Type | None = None,
) -> Type:
    """trace: two axes summed up."""
    array = numeric_array(a)
    if not is_none(out):
        raise Unknown
    shape = dims(array)
    i, j = normal_axis(static_or(axis1, 0), len(shape)), normal_axis(static_or(axis2, 1), len(shape))
    if i == j:
        raise Unknown
    asked = given_dtype(dtype)
    options = {} if asked is None else {"dtype": asked}
    found = asked_dtype(np.trace, array, ndim=2, **options)
    return result(found, tuple(n for k, n in enumerate(shape) if k not in (i, j)), array.device)


def rule_tensordot(a: Type, b: Type, axes: Type | None = None) -> Type:
    """tensordot: static axes contracted; an array even when 0-d."""
    left, right = numeric_array(a), numeric_array(b)
    first, second = dims(left), dims(right)
    how = static_or(axes, 2)
    if isinstance(how, int):
        if how < 0 or how > min(len(first), len(second)):
            raise Unknown
        ours: Sequence[int] = range(len(first) - how, len(first))
        theirs: Sequence[int] = range(how)
    else:
        one, two = how
        ours = normal_axes(tuple(one) if isinstance(one, (tuple, list)) else one, len(first))
        theirs = normal_axes(tuple(two) if isinstance(two, (tuple, list)) else two, len(second))
    for i, j in zip(ours, theirs, strict=True):
        same_size(first[i], second[j])
    rest = [n for i, n in enumerate(first) if i not in ours] + [
        n for j, n in enumerate(second) if j not in theirs
    ]
    return ndarray(multiplied(left, right), tuple(rest), device_of((a, b)))


def rule_einsum(subscripts: Type, *operands: Type) -> Type:
    """einsum: for a static subscript string without an ellipsis."""
    text = static(subscripts)
    if not isinstance(text, str) or "." in text:
        raise Unknown
    inputs, arrow, made = text.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not arrow:
        letters = inputs.replace(",", "")
        made = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    arrays = [numeric_array(t) for t in operands]
    sizes: dict[str, int | None] = {}
    for term, a in zip(terms, arrays, strict=True):
        for letter, n in zip(term, dims(a), strict=True):
            sizes[letter] = broadcast_sizes(sizes.get(letter, 1), n)
    device = device_of(operands)
    if device != "cpu":
        raise Unknown
    shape = tuple(sizes[letter] for letter in made)
    return result(np.result_type(*(a.dtype for a in arrays)), shape, device)


def rule_cross(a: Type, b: Type) -> Type:
    """cross: for vectors of three elements in the last axis."""
    left, right = numeric_array(a), numeric_array(b)
    if dims(left)[-1] != 3 or dims(right)[-1] != 3:
        raise Unknown
    shape = broadcast((left.shape, right.shape))
    return ndarray(np.result_type(left.dtype, right.dtype), shape, device_of((a, b)))


def rule_cov(m: Type) -> Type:
    """cov: variables in rows; a single one gives a 0-d array."""
    a = numeric_array(m)
    shape = dims(a)
    dtype = np.result_type(a.dtype, np.float64)
    if len(shape) < 2 or shape[0] == 1:
        return ndarray(dtype, (), a.device)
    if len(shape) > 2 or not shape[0]:
        raise Unknown
    return ndarray(dtype, (shape[0], shape[0]), a.device)


def rule_corrcoef(x: Type) -> Type:
    """corrcoef: variables in rows; a single one gives a scalar."""
    found = rule_cov(x)
    assert isinstance(found, ArrayType)
    return result(found.dtype, found.shape, found.device)


# -- linear algebra ------------------------------------------------------------------------------


def square(t: Type) -> tuple[ArrayType, tuple[int | None, ...], int | None]:
    """A stack of square matrices: its type, the batch shape and the size."""
    a = numeric_array(t)
    shape = dims(a)
    if len(shape) < 2:
        raise Unknown
    return a, shape[:-2], same_size(shape[-1], shape[-2])


def matrix_dtype(fn: Callable[..., Any], *arrays: ArrayType, **options: Any) -> Any:
    """The dtype (or dtypes) for matrices of one element."""
    return asked_dtype(fn, *arrays, ndim=2, **options)


def like_matrix(fn: Callable[..., Any], order: str = "a") -> Any:
    """The rule of functions from square matrices to square matrices."""

    def rule(a: Type) -> Type:
        array, batch, n = square(a)
        return ndarray(matrix_dtype(fn, array), (*batch, n, n), array.device)

    return rule


def rule_solve(a: Type, b: Type) -> Type:
    """solve: `b` is one vector if it has one axis, else a stack of matrices."""
    left, batch, n = square(a)
    right = numeric_array(b)
    shape = dims(right)
    if not shape:
        raise Unknown
    dtype = matrix_dtype(np.linalg.solve, left, right)
    if len(shape) == 1:
        if np.lib.NumpyVersion(np.__version__) < "2.0.0":
            raise Unknown
        return ndarray(dtype, (*batch, same_size(n, shape[0])), device_of((a, b)))
    outer = broadcast((batch, shape[:-2]))
    assert outer is not None
    return ndarray(dtype, (*outer, same_size(n, shape[-2]), shape[-1]), device_of((a, b)))


def rule_det(a: Type) -> Type:
    """det: a number per matrix."""
    array, batch, _ = square(a)
    return result(matrix_dtype(np.linalg.det, array), batch, array.device)


def named(fn: Callable[..., Any], shapes: Sequence[Shape], array: ArrayType, scalars: bool = False) -> Type:
    """The namedtuple that a function returns, with items of these shapes."""
    if array.device != "cpu":  # CuPy has classes of its own, or plain tuples
        raise Unknown
    got = quietly(fn, np.ones((1, 1), array.dtype))
    if not (type(got) is tuple or is_namedtuple(type(got))) or len(got) != len(shapes):
        raise Unknown
    make = result if scalars else ndarray
    items = tuple(make(np.asarray(g).dtype, s, array.device) for g, s in zip(got, shapes, strict=True))
    return TupleType(items, type(got))


def rule_slogdet(a: Type) -> Type:
    """slogdet: sign and logarithm per matrix."""
    array, batch, _ = square(a)
    return named(np.linalg.slogdet, (batch, batch), array, scalars=True)


def rule_qr(a: Type, mode: Type | None = None) -> Type:
    """qr: reduced or complete factors."""
    array = numeric_array(a)
    *lead, m, n = dims(array)
    how = static_or(mode, "reduced")
    if how == "complete":
        shapes: tuple[Shape, ...] = ((*lead, m, m), (*lead, m, n))
    elif how == "reduced":
        k = smaller(m, n)
        shapes = ((*lead, m, k), (*lead, k, n))
    else:
        raise Unknown
    return named(np.linalg.qr, shapes, array)


def smaller(m: int | None, n: int | None) -> int | None:
    """The smaller of two sizes."""
    return None if m is None or n is None else min(m, n)


def rule_svd(
    a: Type, full_matrices: Type | None = None, compute_uv: Type | None = None, hermitian: Type | None = None
) -> Type:
    """svd: both factors and the singular values, or these alone."""
    array = numeric_array(a)
    *lead, m, n = dims(array)
    k = smaller(m, n)
    if static_or(hermitian, False):
        raise Unknown
    if not static_or(compute_uv, True):
        dtype = asked_dtype(np.linalg.svd, array, ndim=2, compute_uv=False)
        return ndarray(dtype, (*lead, k), array.device)
    full = static_or(full_matrices, True)
    shapes = ((*lead, m, m if full else k), (*lead, k), (*lead, n if full else k, n))
    return named(np.linalg.svd, shapes, array)


def rule_eigh(a: Type, UPLO: Type | None = None) -> Type:
    """eigh: eigenvalues and vectors of symmetric matrices."""
    array, batch, n = square(a)
    return named(np.linalg.eigh, ((*batch, n), (*batch, n, n)), array)


def rule_eigvalsh(a: Type, UPLO: Type | None = None) -> Type:
    """eigvalsh: eigenvalues of symmetric matrices."""
    array, batch, n = square(a)
    return ndarray(matrix_dtype(np.linalg.eigvalsh, array), (*batch, n), array.device)


def rule_lstsq(a: Type, b: Type, rcond: Type | None = None) -> Type:
    """lstsq: solution, residuals (if any), rank, singular values."""
    left, right = numeric_array(a), numeric_array(b)
    m, n = dims(left)
    shape = dims(right)
    if len(shape) not in (1, 2) or device_of((a, b)) != "cpu":
        raise Unknown
    same_size(m, shape[0])
    got = quietly(np.linalg.lstsq, np.ones((1, 1), left.dtype), np.ones((1, 1), right.dtype))
    types = [np.asarray(item).dtype for item in got]
    shapes: tuple[Shape, ...] = ((n, *shape[1:]), (None,))
    items = [ndarray(d, s) for d, s in zip(types[:2], shapes, strict=True)]
    return TupleType((*items, type_of(got[2]), ndarray(types[3], (smaller(m, n),))))


def rule_pinv(a: Type) -> Type:
    """pinv: the shape of the transposed matrices."""
    array = numeric_array(a)
    *lead, m, n = dims(array)
    return ndarray(matrix_dtype(np.linalg.pinv, array), (*lead, n, m), array.device)


def rule_matrix_rank(A: Type) -> Type:
    """matrix_rank: a number per matrix."""
    array = numeric_array(A)
    if rank(array) < 2:
        raise Unknown
    return result(matrix_dtype(np.linalg.matrix_rank, array), dims(array)[:-2], array.device)


def rule_matrix_power(a: Type, n: Type) -> Type:
    """matrix_power: for a static exponent."""
    array, batch, size = square(a)
    exponent = static(n)
    sign = 1 if exponent > 0 else exponent if exponent == 0 else -1
    found = quietly(np.linalg.matrix_power, np.ones((1, 1), array.dtype), sign).dtype
    return ndarray(found, (*batch, size, size), array.device)


def rule_multi_dot(arrays: Type) -> Type:
    """multi_dot: a chain of matrices, a vector at either end."""
    if not isinstance(arrays, TupleType) or len(arrays.items) < 2:
        raise Unknown
    given = [numeric_array(t) for t in arrays.items]
    if (
        any(rank(a) != 2 for a in given[1:-1])
        or rank(given[0]) not in (1, 2)
        or rank(given[-1]) not in (1, 2)
    ):
        raise Unknown
    shape: Shape = given[0].shape
    for a in given[1:]:
        shape = matmul_shape(shape, a.shape)
    return result(np.result_type(*(a.dtype for a in given)), shape, device_of(arrays.items))


def rule_norm(
    x: Type, ord: Type | None = None, axis: Type | None = None, keepdims: Type | None = None
) -> Type:
    """norm: of all elements, or along axes."""
    array = numeric_array(x)
    how = None if ord is None else static(ord)
    options = {} if how is None else {"ord": how}
    keep = bool(static_or(keepdims, False))
    shape = dims(array)
    if is_none(axis):
        if how is not None and len(shape) not in (1, 2):
            raise Unknown
        axes: Any = None
        ndim = len(shape) if how is not None else 1
    else:
        assert axis is not None
        axes = static(axis)
        ndim = len(axes) if isinstance(axes, tuple) else 1
        if ndim not in (1, 2):
            raise Unknown
    found = asked_dtype(np.linalg.norm, array, ndim=ndim, **options)
    return result(found, reduced_shape(shape, StaticType(axes), keep), array.device)


# -- Fourier transforms --------------------------------------------------------------------------


def transform(
    fn: Callable[..., Any], length: Callable[[int], int], default: Callable[[int], int] | None = None
) -> Any:
    """The rule of one-dimensional transforms; `length` and `default`: size of the result from `n`, and from
    the operand's size."""
    from_operand = default or length

    def rule(a: Type, n: Type | None = None, axis: Type | None = None, norm: Type | None = None) -> Type:
        array = numeric_array(a)
        shape = dims(array)
        i = normal_axis(static_or(axis, -1), len(shape))
        size = shape[i]
        if n is None or is_none(n):
            new = None if size is None else from_operand(size)
        else:
            asked = static_int(n)
            new = None if asked is None else length(asked)
        samples = ArrayType(array.dtype, (2,))
        dtype = np.dtype(quietly(fn, np.ones(2, samples.dtype)).dtype)
        return ndarray(dtype, (*shape[:i], new, *shape[i + 1 :]), array.device)

    return rule


def transform_of_all(fn: Callable[..., Any], minimum: int) -> Any:
    """The rule of transforms over several axes."""

    def rule(a: Type, s: Type | None = None, axes: Type | None = None, norm: Type | None = None) -> Type:
        array = numeric_array(a)
        if rank(array) < minimum or not is_none(s):
            raise Unknown
        return ndarray(asked_dtype(fn, array, ndim=2), array.shape, array.device)

    return rule


def rule_shift(x: Type, axes: Type | None = None) -> Type:
    """fftshift, ifftshift: order only."""
    array = numeric_array(x)
    if axes is not None and not is_none(axes):
        normal_axes(static(axes), rank(array))
    return ndarray(array.dtype, array.shape, array.device)


def frequencies(length: Callable[[int], int]) -> Any:
    """The rule of fftfreq and rfftfreq."""

    def rule(n: Type, d: Type | None = None) -> Type:
        if bare(n) != WEAK_INT or (d is not None and bare(d) not in (WEAK_INT, type_of(1.0))):
            raise Unknown
        size = static_int(n)
        return ndarray(np.float64, (None if size is None else length(size),))

    return rule


ROWS: tuple[OpDef, ...] = (
    twin("outer", "All products of the elements of two.", rule_outer),
    twin("dot", "Product of vectors or matrices.", rule_dot, method="dot", ulp=4),
    twin("inner", "Products summed over the last axes.", rule_inner, ulp=4),
    twin("vdot", "Products summed over all elements, the first conjugated.", rule_vdot, ulp=4),
    twin("kron", "Every element of one times the whole other.", rule_kron),
    twin("trace", "Sum of the diagonal of two axes.", rule_trace, method="trace", ulp=4),
    twin("tensordot", "Products summed over given axes.", rule_tensordot, ulp=4),
    twin("einsum", "Products summed as subscripts say.", rule_einsum, ulp=4),
    twin("cross", "Vector product.", rule_cross),
    twin("cov", "Covariance of variables in rows.", rule_cov, ulp=8),
    twin("corrcoef", "Correlation of variables in rows.", rule_corrcoef, ulp=8),
    twin("linalg.solve", "Solution of linear equations.", rule_solve, ulp=64),
    twin("linalg.inv", "Inverse of matrices.", like_matrix(np.linalg.inv), ulp=64),
    twin(
        "linalg.cholesky",
        "Lower triangular square root of matrices.",
        like_matrix(np.linalg.cholesky),
        ulp=64,
    ),
    twin("linalg.det", "Determinant of matrices.", rule_det, ulp=64),
    twin("linalg.slogdet", "Sign and logarithm of determinants.", rule_slogdet, ulp=64),
    twin("linalg.qr", "Orthogonal and triangular factor.", rule_qr, ulp=64),
    twin("linalg.svd", "Singular value decomposition.", rule_svd, ulp=64),
    twin("linalg.eigh", "Eigenvalues and vectors of symmetric matrices.", rule_eigh, ulp=64),
    twin("linalg.eigvalsh", "Eigenvalues of symmetric matrices.", rule_eigvalsh, ulp=64),
    twin("linalg.eig", "Eigenvalues and vectors.", any_value, ulp=64),
    twin("linalg.eigvals", "Eigenvalues.", any_value, ulp=64),
    twin("linalg.lstsq", "Least squares solution.", rule_lstsq, ulp=64),
    twin("linalg.pinv", "Pseudo-inverse of matrices.", rule_pinv, ulp=64),
    twin("linalg.matrix_rank", "Rank of matrices.", rule_matrix_rank),
    twin("linalg.matrix_power", "Integer power of square matrices.", rule_matrix_power, ulp=64),
    twin("linalg.multi_dot", "Product of a chain of matrices.", rule_multi_dot, ulp=16, cupy=False),
    twin("linalg.norm", "Norm of vectors or matrices.", rule_norm, ulp=8),
    twin("linalg.cond", "Condition number of matrices.", any_value, ulp=64),
    twin("fft.fft", "Fourier transform.", transform(np.fft.fft, lambda n: n), ulp=64),
    twin("fft.ifft", "Inverse Fourier transform.", transform(np.fft.ifft, lambda n: n), ulp=64),
    twin(
        "fft.rfft", "Fourier transform of real numbers.", transform(np.fft.rfft, lambda n: n // 2 + 1), ulp=64
    ),
    twin(
        "fft.irfft",
        "Inverse Fourier transform to real numbers.",
        transform(np.fft.irfft, lambda n: n, lambda n: 2 * (n - 1)),
        ulp=64,
    ),
    twin("fft.fft2", "Fourier transform over two axes.", transform_of_all(np.fft.fft2, 2), ulp=64),
    twin("fft.ifft2", "Inverse Fourier transform over two axes.", transform_of_all(np.fft.ifft2, 2), ulp=64),
    twin("fft.fftn", "Fourier transform over all axes.", transform_of_all(np.fft.fftn, 1), ulp=64),
    twin("fft.ifftn", "Inverse Fourier transform over all axes.", transform_of_all(np.fft.ifftn, 1), ulp=64),
    twin("fft.fftshift", "Zero frequency moved to the middle.", rule_shift),
    twin("fft.ifftshift", "Zero frequency moved to the front.", rule_shift),
    twin("fft.fftfreq", "Frequencies of a transform.", frequencies(lambda n: n)),
    twin("fft.rfftfreq", "Frequencies of a transform of real numbers.", frequencies(lambda n: n // 2 + 1)),
)
