"""Derivatives of products, linear algebra and Fourier transforms.

In: nothing.  Out: `VJP` and `JVP`, by op name.  What always holds: a rule is the derivative of what
NumPy computes, so functions that read only the lower triangle give the upper one no gradient.

Rules of matrix functions are written for the usual pairing, `Re(sum(conj(ct) * dy))`, in which the
formulas are known; `conjugated` turns them into the plain pairing of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.ops.adjoint import EACH, LINEAR, Composite, concrete, length, safe_quotient, scatter

Function = Callable[..., Any]


def t(a: Any) -> Any:
    """The transpose of matrices."""
    return np.transpose(a) if np.ndim(a) == 2 else np.swapaxes(a, -1, -2)


def h(a: Any) -> Any:
    """The conjugate transpose of matrices."""
    return np.conjugate(t(a)) if np.iscomplexobj(a) else t(a)


def conj(a: Any) -> Any:
    """The conjugate; a real array as it is."""
    return np.conjugate(a) if np.iscomplexobj(a) else a


def conjugated(rule: Function) -> Function:
    """A rule for the usual pairing as one for the plain pairing."""

    def turned(ct: Any, y: Any, *operands: Any, **keywords: Any) -> Any:
        given = tuple(map(conj, ct)) if isinstance(ct, (tuple, list)) else conj(ct)
        return conj(rule(given, y, *operands, **keywords))

    return turned


# -- products --------------------------------------------------------------------------------------


def matmul_left(ct: Any, y: Any, a: Any, b: Any, **_: Any) -> Any:
    """`ct @ b.T`, with vectors as rows or columns."""
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        return ct * b
    if np.ndim(a) == 1:
        return np.matmul(b, ct) if np.ndim(b) == 2 else np.matmul(b, ct[..., None])[..., 0]
    if np.ndim(b) == 1:
        return ct[..., None] * b
    return np.matmul(ct, t(b))


def matmul_right(ct: Any, y: Any, a: Any, b: Any, **_: Any) -> Any:
    """`a.T @ ct`, with vectors as rows or columns."""
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        return ct * a
    if np.ndim(a) == 1:
        return a[:, None] * ct[..., None, :]
    if np.ndim(b) == 1:
        return np.matmul(t(a), ct) if np.ndim(a) == 2 else np.matmul(t(a), ct[..., None])[..., 0]
    return np.matmul(t(a), ct)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """np.tensordot as one matrix product."""
    if isinstance(axes, (int, np.integer)):
        left, right = list(range(np.ndim(a) - axes, np.ndim(a))), list(range(axes))
    else:
        left, right = ([int(i) for i in np.atleast_1d(x)] for x in axes)
    left, right = [i % np.ndim(a) for i in left], [i % np.ndim(b) for i in right]
    free_a = [i for i in range(np.ndim(a)) if i not in left]
    free_b = [i for i in range(np.ndim(b)) if i not in right]
    inner = int(np.prod([np.shape(a)[i] for i in left], dtype=np.int64))
    outer = (*(np.shape(a)[i] for i in free_a), *(np.shape(b)[i] for i in free_b))
    rows = int(np.prod([np.shape(a)[i] for i in free_a], dtype=np.int64))
    columns = int(np.prod([np.shape(b)[i] for i in free_b], dtype=np.int64))
    x = np.reshape(np.transpose(a, (*free_a, *left)), (rows, inner))
    z = np.reshape(np.transpose(b, (*right, *free_b)), (inner, columns))
    return np.reshape(np.matmul(x, z), outer)


def dot(a: Any, b: Any) -> Any:
    """np.dot in terms of products."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    if np.ndim(b) == 1 or (np.ndim(a) <= 2 and np.ndim(b) == 2):
        return np.matmul(a, b)
    return tensordot(a, b, ((-1,), (-2,)))


def inner(a: Any, b: Any) -> Any:
    """np.inner in terms of products."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    return tensordot(a, b, ((-1,), (-1,)))[()]


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """np.outer as a broadcast product."""
    return np.multiply(np.reshape(a, (-1, 1)), np.reshape(b, (1, -1)))


def kron(a: Any, b: Any) -> Any:
    """np.kron as a broadcast product."""
    n = max(np.ndim(a), np.ndim(b))
    sa, sb = (1,) * (n - np.ndim(a)) + np.shape(a), (1,) * (n - np.ndim(b)) + np.shape(b)
    left = np.reshape(a, tuple(x for m in sa for x in (m, 1)))
    right = np.reshape(b, tuple(x for m in sb for x in (1, m)))
    return np.reshape(left * right, tuple(p * q for p, q in zip(sa, sb, strict=True)))[()]


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """np.cross of vectors of three elements."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    made = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        made.append(a[..., i] * b[..., j] - a[..., j] * b[..., i])
    return np.moveaxis(np.stack(made, axis=-1), -1, axisc)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """np.trace as a sum of the diagonal."""
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def _letters(subscripts: str, shapes: list[tuple[int, ...]]) -> tuple[list[str], str]:
    """The subscripts of each operand and of the result, with letters in place of an ellipsis."""
    left, arrow, out = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    if not arrow:
        every = sorted(set("".join(parts)) - {"."})
        out = ("..." if "..." in left else "") + "".join(c for c in every if "".join(parts).count(c) == 1)
    unused = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in subscripts]
    wide = max(
        (len(s) - len(p.replace("...", "")) for p, s in zip(parts, shapes, strict=True) if "..." in p),
        default=0,
    )
    dots = "".join(unused[:wide])
    made = []
    for part, shape in zip(parts, shapes, strict=True):
        count = len(shape) - len(part.replace("...", ""))
        made.append(part.replace("...", dots[wide - count :] if "..." in part else ""))
    return made, out.replace("...", dots)


def einsum_rule(position: int) -> Function:
    """The rule of one operand of np.einsum: the other operands and the cotangent, summed to its letters."""

    def rule(ct: Any, y: Any, subscripts: Any, *operands: Any, **_: Any) -> Any:
        if not isinstance(subscripts, str):
            raise NotImplementedError("the derivative of np.einsum with lists of subscripts")
        k = position - 1
        shapes = [np.shape(x) for x in operands]
        parts, out = _letters(subscripts, shapes)
        mine = "".join(dict.fromkeys(parts[k]))
        rest = [(p, x) for i, (p, x) in enumerate(zip(parts, operands, strict=True)) if i != k]
        known = set(out).union(*(set(p) for p, _ in rest))
        reachable = "".join(c for c in mine if c in known)
        made = np.einsum(",".join([out, *(p for p, _ in rest)]) + "->" + reachable, ct, *(x for _, x in rest))
        sizes = dict(zip(parts[k], shapes[k], strict=True))
        # Sizes of 1 that were broadcast against an ellipsis are summed by the caller.
        have = dict(zip(reachable, np.shape(made), strict=True))
        made = np.reshape(made, tuple(have.get(c, 1) for c in mine))
        if mine == parts[k]:
            return made
        made = np.broadcast_to(made, tuple(sizes[c] for c in mine))
        places = np.einsum(f"{parts[k]}->{mine}", np.arange(int(np.prod(shapes[k]))).reshape(shapes[k]))
        return np.reshape(scatter(np.ravel(made), np.ravel(places), (int(np.prod(shapes[k])),)), shapes[k])

    return rule


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """np.linalg.multi_dot from left to right."""
    made = arrays[0]
    for each in arrays[1:]:
        made = dot(made, each)
    return made


def matrix_power(a: Any, n: int) -> Any:
    """np.linalg.matrix_power as repeated products."""
    if n == 0:
        return np.broadcast_to(np.eye(np.shape(a)[-1]), np.shape(a)) + 0 * a
    base = np.linalg.inv(a) if n < 0 else a
    made = base
    for _ in range(abs(n) - 1):
        made = np.matmul(made, base)
    return made


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """np.linalg.lstsq of a matrix of full rank by its pseudo-inverse."""
    rows, columns = np.shape(a)
    x = np.matmul(np.linalg.pinv(a), b)
    values = np.linalg.svd(a, compute_uv=False)
    rank = int(np.linalg.matrix_rank(concrete(a)))
    if rank < min(rows, columns):
        raise NotImplementedError("the derivative of np.linalg.lstsq of a matrix that lacks full rank")
    rest = np.matmul(a, x) - b
    if rank == columns < rows:
        squares = np.real(rest * conj(rest))
        residuals = np.reshape(np.sum(squares, axis=0), (-1,))
    else:
        residuals = np.zeros(0, x.dtype)
    return x, residuals, np.int32(rank), values


def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """np.polyfit by least squares over scaled powers."""
    if full or cov or w is not None:
        raise NotImplementedError("the derivative of np.polyfit with full=, cov= or w=")
    powers = np.vander(x, deg + 1) if hasattr(x, "dtype") else np.vander(np.asarray(x), deg + 1)
    size = np.sqrt(np.sum(powers * powers, axis=0))
    found = np.linalg.lstsq(powers / size, y, None)[0]
    return np.transpose(np.transpose(found) / size)


# -- statistics ------------------------------------------------------------------------------------


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """np.cov as a product of deviations."""
    if fweights is not None or aweights is not None or dtype is not None:
        raise NotImplementedError("the derivative of np.cov with weights or dtype=")
    parts = []
    for each in (m, y):
        if each is not None:
            wide = np.reshape(each, (1, -1)) if np.ndim(each) == 1 else each
            parts.append(wide if rowvar or np.ndim(each) == 1 else t(wide))
    x = np.concatenate(parts, axis=0) if len(parts) > 1 else parts[0]
    ddof = (0 if bias else 1) if ddof is None else ddof
    x = x - np.mean(x, axis=1, keepdims=True)
    made = np.matmul(x, h(x)) / (np.shape(x)[1] - ddof)
    return np.reshape(made, tuple(n for n in np.shape(made) if n != 1))


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """np.corrcoef as the covariance over the spreads."""
    c = cov(x, y, rowvar)
    if np.ndim(c) == 0:
        return c / c
    spread = np.sqrt(np.real(np.diagonal(c)))
    return c / spread[:, None] / spread[None, :]


# -- linear algebra --------------------------------------------------------------------------------


def solve_left(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """The cotangent of the matrix of `solve`."""
    back = np.linalg.solve(h(a), ct)
    if np.ndim(b) == 1:
        return -back[..., :, None] * conj(y)[..., None, :]
    return -np.matmul(back, h(y))


def lower_only(a: Any) -> Any:
    """What symmetric cotangents are for a function that reads the lower triangle only."""
    n = np.shape(a)[-1]
    return (
        np.tril(a, -1) + h(np.triu(a, 1)) + np.real(np.diagonal(a, axis1=-2, axis2=-1))[..., None] * np.eye(n)
    )


def cholesky_vjp(ct: Any, y: Any, a: Any, *, upper: bool = False) -> Any:
    """The half of a lower triangle, solved from both sides."""
    lower, ct = (h(y), h(ct)) if upper else (y, ct)
    n = np.shape(a)[-1]
    half = np.tril(np.matmul(h(lower), np.tril(ct))) * (np.tril(np.ones((n, n))) - 0.5 * np.eye(n))
    left = np.linalg.solve(h(lower), half)
    made = h(np.linalg.solve(h(lower), h(left)))
    full = lower_only((made + h(made)) / 2)
    return h(full) if upper else full


def inverse_gaps(x: Any) -> Any:
    """`1 / (x[j] - x[i])`, and 0 where they are equal."""
    gaps = x[..., None, :] - x[..., :, None]
    return safe_quotient(1.0, gaps)


def eigh_vjp(ct: Any, y: Any, a: Any, UPLO: str = "L") -> Any:
    """Cotangents of eigenvalues on the diagonal, of eigenvectors over the gaps between eigenvalues."""
    (w, v), (ct_w, ct_v) = y, ct
    n = np.shape(a)[-1]
    core = np.real(ct_w)[..., None] * np.eye(n) + inverse_gaps(w) * np.matmul(h(v), ct_v)
    full = np.matmul(np.matmul(v, core), h(v))
    made = lower_only((full + h(full)) / 2)
    return h(made) if UPLO.upper() == "U" else made


def svd_vjp(
    ct: Any, y: Any, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Cotangents of the factors, brought to the middle and back."""
    if not compute_uv:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.matmul(u * np.expand_dims(np.real(ct), -2), vh)
    u, s, vh = y
    ct_u, ct_s, ct_vh = ct
    k = np.shape(s)[-1]
    for extra in (concrete(ct_u)[..., k:], concrete(ct_vh)[..., k:, :]):
        if np.any(extra):
            raise NotImplementedError("the derivative of the vectors that full_matrices=True adds")
    u, ct_u, vh, ct_vh = u[..., :k], ct_u[..., :k], vh[..., :k, :], ct_vh[..., :k, :]
    v, ct_v = h(vh), h(ct_vh)
    gaps = inverse_gaps(np.square(s))
    from_u, from_v = np.matmul(h(u), ct_u), np.matmul(h(v), ct_v)
    core = np.eye(k) * np.real(ct_s)[..., None, :]
    core = (
        core + gaps * (from_u - h(from_u)) * s[..., None, :] + s[..., :, None] * gaps * (from_v - h(from_v))
    )
    if np.iscomplexobj(a):
        phase = 1j * np.imag(np.diagonal(from_u, axis1=-2, axis2=-1)) / s
        core = core + np.eye(k) * phase[..., None, :]
    made = np.matmul(np.matmul(u, core), vh)
    rest_u = ct_u / s[..., None, :]
    made = made + np.matmul(rest_u - np.matmul(u, np.matmul(h(u), rest_u)), vh)
    rest_v = ct_v / s[..., None, :]
    return made + np.matmul(u, h(rest_v - np.matmul(v, np.matmul(h(v), rest_v))))


def qr_vjp(ct: Any, y: Any, a: Any, mode: str = "reduced") -> Any:
    """For full column rank and at least as many rows as columns."""
    if mode not in ("reduced", "r") or np.shape(a)[-2] < np.shape(a)[-1]:
        raise NotImplementedError(
            f"the derivative of np.linalg.qr with mode={mode!r} of a {np.shape(a)} array"
        )
    if mode == "r":
        q, r = np.linalg.qr(a)
        ct_q, ct_r = np.zeros(np.shape(q)), ct
    else:
        (q, r), (ct_q, ct_r) = y, ct
    middle = np.matmul(r, h(ct_r)) - np.matmul(h(ct_q), q)
    strict = np.tril(middle, -1)
    n = np.shape(r)[-1]
    diagonal = np.real(np.diagonal(middle, axis1=-2, axis2=-1))[..., None, :] * np.eye(n)
    return h(np.linalg.solve(r, h(ct_q + np.matmul(q, strict + h(strict) + diagonal))))


def pinv_vjp(ct: Any, y: Any, a: Any, rcond: Any = None, hermitian: bool = False, **_: Any) -> Any:
    """Three terms, for constant rank."""
    yh, g = h(y), h(ct)
    left = np.matmul(np.matmul(yh, ct), yh)
    rows = np.matmul(np.matmul(g, y), yh)
    columns = np.matmul(np.matmul(yh, y), g)
    return -left + (rows - np.matmul(a, np.matmul(y, rows))) + (columns - np.matmul(np.matmul(columns, y), a))


def slogdet_vjp(ct: Any, y: Any, a: Any) -> Any:
    """The inverse, for the logarithm; for complex matrices the sign turns too."""
    back = np.real(ct[1])
    if np.iscomplexobj(a):
        back = back + 1j * np.imag(np.conjugate(y[0]) * ct[0])
    return np.reshape(back, (*np.shape(back), 1, 1)) * h(np.linalg.inv(a))


def det_vjp(ct: Any, y: Any, a: Any) -> Any:
    """The determinant times the inverse."""
    return np.reshape(ct * conj(y), (*np.shape(y), 1, 1)) * h(np.linalg.inv(a))


def eig_vjp(ct: Any, y: Any, a: Any) -> Any:
    """For distinct eigenvalues; vectors have length 1."""
    (w, v), (ct_w, ct_v) = y, ct
    n = np.shape(a)[-1]
    gram = np.matmul(h(v), ct_v)
    on_axis = np.real(np.diagonal(gram, axis1=-2, axis2=-1))
    inside = gram - np.matmul(h(v), v) * on_axis[..., None, :]
    core = ct_w[..., None] * np.eye(n) + inside * conj(inverse_gaps(w))
    return np.matmul(np.linalg.solve(h(v), core), h(v))


def eigvals_vjp(ct: Any, y: Any, a: Any) -> Any:
    """As eig, for eigenvalues only."""
    w, v = np.linalg.eig(a)
    return np.linalg.solve(h(v), ct[..., None] * h(v))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """np.linalg.norm in terms of sums, extremes and singular values."""
    axes = tuple(range(np.ndim(x))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if ord is None or (ord == "fro") or (len(axes) == 1 and ord == 2):
        return length(x, axes, keepdims)
    if len(axes) == 1:
        return _vector_norm(np.absolute(x), ord, axes[0], keepdims)
    matrix = np.moveaxis(x, axes, (-2, -1))
    if ord in ("nuc", 2, -2):
        values = np.linalg.svd(matrix, compute_uv=False)
        pick: Any = {"nuc": np.sum, 2: np.max, -2: np.min}[ord]
    elif ord in (1, -1, np.inf, -np.inf):
        values = np.sum(np.absolute(matrix), axis=-2 if abs(ord) == 1 else -1)
        pick = np.max if ord > 0 else np.min
    else:
        raise ValueError("Invalid norm order for matrices.")
    made = pick(values, axis=-1)
    return np.expand_dims(made, tuple(i % np.ndim(x) for i in axes)) if keepdims else made


def _vector_norm(size: Any, ord: Any, axis: int, keepdims: Any) -> Any:
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(np.not_equal(size, 0).astype(size.dtype), axis=axis, keepdims=keepdims)
    total = np.sum(size if ord == 1 else np.power(size, ord), axis=axis, keepdims=keepdims)
    return total if ord == 1 else np.power(total, 1.0 / ord)


# -- transforms ------------------------------------------------------------------------------------

OPPOSITE: dict[Any, Any] = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def resized(a: Any, n: int, axis: int) -> Any:
    """The array cut, or filled with zeros, to a size along an axis."""
    moved = np.moveaxis(a, axis, -1)
    have = np.shape(moved)[-1]
    if have > n:
        moved = moved[..., :n]
    elif have < n:
        moved = np.concatenate([moved, np.zeros((*np.shape(moved)[:-1], n - have), moved.dtype)], axis=-1)
    return np.moveaxis(moved, -1, axis)


def _transform(function: Function) -> Function:
    """The matrix of a Fourier transform is symmetric, so the transform is its own transpose."""

    def rule(ct: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        return resized(function(ct, axis=axis, norm=norm), np.shape(a)[axis], axis)

    return rule


def _rfft(ct: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    n = np.shape(a)[axis] if n is None else n
    full = np.real(np.fft.fft(resized(ct, n, axis), axis=axis, norm=norm))
    return resized(full, np.shape(a)[axis], axis)


def _irfft(ct: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    n = np.shape(y)[axis]
    found = np.conjugate(np.fft.rfft(ct, axis=axis, norm=OPPOSITE[norm]))
    weights = np.full(n // 2 + 1, 2.0)
    weights[0] = 1.0
    if n % 2 == 0:
        weights[-1] = 1.0
    shape = [1] * np.ndim(a)
    shape[axis] = -1
    return resized(found * weights.reshape(shape), np.shape(a)[axis], axis)


def _transform_of_all(function: Function) -> Function:
    def rule(ct: Any, y: Any, a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        if s is not None:
            raise NotImplementedError("the derivative of a Fourier transform with s=")
        return function(ct, axes=axes, norm=norm)

    return rule


def _convolve(ct: Any, other: Any, size: int, mode: str) -> Any:
    """The cotangent of one operand of a convolution."""
    m = np.shape(other)[0]
    full = size + m - 1
    if mode != "full":
        length_ = np.shape(ct)[0]
        before = (full - length_) // 2 if mode == "same" else min(size, m) - 1
        parts = [np.zeros(before), ct, np.zeros(full - length_ - before)]
        ct = np.concatenate(parts)
    made = np.convolve(ct, np.flip(other), "full")
    return made[m - 1 : m - 1 + size]


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """np.correlate as a convolution with the second turned round."""
    if np.shape(v)[0] > np.shape(a)[0] and mode == "same":
        return np.conjugate(np.flip(np.convolve(v, np.conjugate(np.flip(a)), mode)))
    return np.convolve(a, np.conjugate(np.flip(v)), mode)


VJP: dict[str, dict[Any, Any] | Composite] = {
    **{name: {0: matmul_left, 1: matmul_right} for name in ("np.matmul", "matmul")},
    "np.dot": Composite(dot),
    "np.inner": Composite(inner),
    "np.outer": Composite(outer),
    "np.vdot": Composite(lambda a, b: np.sum(conj(np.ravel(a)) * np.ravel(b))),
    "np.vecdot": Composite(lambda a, b: np.sum(conj(a) * b, axis=-1)),
    "np.matvec": Composite(lambda a, b: np.matmul(a, b[..., None])[..., 0]),
    "np.vecmat": Composite(lambda a, b: np.matmul(conj(a)[..., None, :], b)[..., 0, :]),
    "np.kron": Composite(kron),
    "np.trace": Composite(trace),
    "np.tensordot": Composite(tensordot),
    "np.einsum": {EACH: einsum_rule},
    "np.cross": Composite(cross),
    "np.cov": Composite(cov),
    "np.corrcoef": Composite(corrcoef),
    "np.linalg.outer": Composite(outer),
    "np.linalg.trace": Composite(lambda x, /, *, offset=0, dtype=None: trace(x, offset, -2, -1, dtype)),
    "np.linalg.cross": Composite(lambda a, b, /, *, axis=-1: cross(a, b, axis=axis)),
    "np.linalg.solve": {
        0: conjugated(solve_left),
        1: conjugated(lambda ct, y, a, b: np.linalg.solve(h(a), ct)),
    },
    "np.linalg.inv": {0: conjugated(lambda ct, y, a: -np.matmul(np.matmul(h(y), ct), h(y)))},
    "np.linalg.det": {0: conjugated(det_vjp)},
    "np.linalg.slogdet": {0: conjugated(slogdet_vjp)},
    "np.linalg.cholesky": {0: conjugated(cholesky_vjp)},
    "np.linalg.eigh": {0: conjugated(eigh_vjp)},
    "np.linalg.eigvalsh": Composite(lambda a, UPLO="L": np.linalg.eigh(a, UPLO)[0]),
    "np.linalg.svd": {0: conjugated(svd_vjp)},
    "np.linalg.svdvals": Composite(lambda x: np.linalg.svd(x, compute_uv=False)),
    "np.linalg.qr": {0: conjugated(qr_vjp)},
    "np.linalg.pinv": {0: conjugated(pinv_vjp)},
    "np.linalg.eig": {0: conjugated(eig_vjp)},
    "np.linalg.eigvals": {0: conjugated(eigvals_vjp)},
    "np.linalg.norm": Composite(norm),
    "np.linalg.vector_norm": Composite(
        lambda x, /, *, axis=None, keepdims=False, ord=2: norm(np.ravel(x), ord, 0)
        if axis is None and not keepdims
        else norm(x, ord, axis, keepdims)
    ),
    "np.linalg.matrix_norm": Composite(
        lambda x, /, *, keepdims=False, ord="fro": norm(x, ord, (-2, -1), keepdims)
    ),
    "np.linalg.multi_dot": Composite(multi_dot),
    "np.linalg.matrix_power": Composite(matrix_power),
    "np.linalg.lstsq": Composite(lstsq),
    "np.polyfit": Composite(polyfit),
    "np.linalg.cond": Composite(
        lambda x, p=None: norm(x, p or 2, (-2, -1)) * norm(np.linalg.inv(x), p or 2, (-2, -1))
    ),
    "np.convolve": {
        0: lambda ct, y, a, v, mode="full": _convolve(ct, v, np.shape(a)[0], mode),
        1: lambda ct, y, a, v, mode="full": _convolve(ct, a, np.shape(v)[0], mode),
    },
    "np.correlate": Composite(correlate),
    **{f"np.fft.{f.__name__}": {0: _transform(f)} for f in (np.fft.fft, np.fft.ifft)},
    "np.fft.rfft": {0: _rfft},
    "np.fft.irfft": {0: _irfft},
    **{f"np.fft.{f.__name__}": {0: _transform_of_all(f)} for f in (np.fft.fftn, np.fft.ifftn)},
    "np.fft.fft2": Composite(lambda a, s=None, axes=(-2, -1), norm=None: np.fft.fftn(a, s, axes, norm)),
    "np.fft.ifft2": Composite(lambda a, s=None, axes=(-2, -1), norm=None: np.fft.ifftn(a, s, axes, norm)),
}  # fmt: skip

LINEAR_IN_ALL = "np.matmul matmul np.convolve".split()
LINEAR_IN_FIRST = "np.fft.fft np.fft.ifft np.fft.rfft np.fft.irfft np.fft.fftn np.fft.ifftn".split()
JVP: dict[str, dict[Any, Any]] = {
    **{name: {0: LINEAR, 1: LINEAR} for name in LINEAR_IN_ALL},
    **{name: {0: LINEAR} for name in LINEAR_IN_FIRST},
    "np.einsum": {EACH: lambda position: LINEAR},
    "np.linalg.inv": {0: lambda t, y, a: -np.matmul(np.matmul(y, t), y)},
    "np.linalg.solve": {0: lambda t, y, a, b: -np.linalg.solve(a, np.matmul(t, y)), 1: LINEAR},
}
