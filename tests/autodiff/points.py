# ruff: noqa: E501
"""Points at which the derivative rules of the op table are checked.

In: a row and a dtype.  Out: calls with smooth operands of that dtype.  What always holds: calls come from
the same makers as those of the type rules, with every float operand drawn anew from the row's domain, or
from `POINTS` where a row needs operands of a special form.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from runtime.autodiff.levels import find_rule, map_tree
from runtime.ir.opdef import OpDef
from runtime.ops.adjoint import Composite
from tests.ops.samples import maker

Call = tuple[tuple[Any, ...], dict[str, Any]]
Draw = Callable[..., Any]


def drawer(seed: int, dtype: np.dtype[Any], low: float, high: float) -> Draw:
    """A source of arrays of a dtype, no two elements alike."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Any:
        a = rng.uniform(low, high, shape)
        if dtype.kind == "c":
            a = a + 1j * rng.uniform(low, high, shape)
        return a.astype(dtype)[()] if shape else dtype.type(a)

    return draw


def positive(d: Draw, n: int = 3) -> Any:
    """A positive definite matrix; its lower triangle is what counts."""
    a = d(n, n)
    return a @ np.conj(a.T) + n * np.eye(n, dtype=a.dtype)


def hermitian(d: Draw, n: int = 3) -> Any:
    """A matrix with well separated eigenvalues."""
    a = d(n, n)
    return (a + np.conj(a.T)) / 2 + np.diag(np.arange(n) * 3.0).astype(a.dtype)


def regular(d: Draw, *batch: int) -> Any:
    return d(*batch, 3, 3) + 4 * np.eye(3).astype(d().dtype)


POINTS: dict[str, Callable[[Draw], list[Call]]] = {
    "np.interp": lambda d: [
        ((d(4), np.array([-2.5, -1.0, 0.2, 2.6]), d(4)), {}),
        ((d(2, 2), np.array([-1.0, 0.2, 1.5]), d(3)), {"left": 0.5}),
    ],
    "np.linalg.solve": lambda d: [
        ((regular(d), d(3)), {}),
        ((regular(d), d(3, 2)), {}),
        ((regular(d, 2), d(2, 3, 1)), {}),
    ],
    "np.linalg.inv": lambda d: [((regular(d),), {}), ((regular(d, 2),), {})],
    "np.linalg.det": lambda d: [((regular(d),), {}), ((regular(d, 2),), {})],
    "np.linalg.slogdet": lambda d: [((regular(d),), {}), ((regular(d, 2),), {})],
    "np.linalg.cholesky": lambda d: [((positive(d),), {}), ((positive(d, 2),), {})],
    "np.linalg.eigh": lambda d: [((hermitian(d),), {}), ((hermitian(d),), {"UPLO": "U"})],
    "np.linalg.eigvalsh": lambda d: [((hermitian(d),), {})],
    "np.linalg.eig": lambda d: [((hermitian(d) + 0.1 * d(3, 3),), {})],
    "np.linalg.eigvals": lambda d: [((hermitian(d) + 0.1 * d(3, 3),), {})],
    "np.linalg.svd": lambda d: [
        ((d(3, 3),), {}),
        ((d(4, 2),), {"full_matrices": False}),
        ((d(2, 4),), {"full_matrices": False}),
        ((d(2, 3),), {"compute_uv": False}),
    ],
    "np.linalg.svdvals": lambda d: [((d(3, 2),), {})],
    "np.linalg.qr": lambda d: [((d(3, 3),), {}), ((d(4, 2),), {}), ((d(3, 2),), {"mode": "r"})],
    "np.linalg.pinv": lambda d: [((d(3, 2),), {}), ((d(2, 4),), {}), ((regular(d),), {})],
    "np.linalg.matrix_power": lambda d: [((regular(d), n),  {}) for n in (0, 1, 2, 3, -1, -2)],
    "np.linalg.cond": lambda d: [((regular(d),), {})],
    "np.linalg.norm": lambda d: [
        *(((d(3, 2),), {"ord": o}) for o in (None, "fro", "nuc", 1, -1, np.inf, -np.inf, 2, -2)),
        *(((d(4),), {"ord": o}) for o in (None, 1, 2, 3, np.inf, -np.inf, 0.5)),
        ((d(2, 3),), {"axis": 1}),
        ((d(2, 3, 2),), {"axis": (0, 2), "keepdims": True}),
        ((d(2, 3),), {"axis": 0, "ord": 1}),
    ],
    "np.linalg.vector_norm": lambda d: [((d(4),), {}), ((d(2, 3),), {"axis": 1, "ord": 3})],
    "np.linalg.matrix_norm": lambda d: [((d(3, 2),), {}), ((d(2, 3, 2),), {"ord": 1})],
    "np.block": lambda d: [(([[d(2, 2), d(2, 1)], [d(1, 2), d(1, 1)]],), {})],
    "np.select": lambda d: [(([np.array([True, False, False]), np.array([True, True, False])], [d(3), d(3)]), {})],
    "np.choose": lambda d: [((np.array([0, 1, 1]), (d(3), d(3))), {})],
    "np.cov": lambda d: [((d(2, 4),), {}), ((d(4),), {}), ((d(4, 2),), {"rowvar": False, "bias": True})],
    "np.corrcoef": lambda d: [((d(2, 4),), {})],
    "np.trapezoid": lambda d: [((d(4),), {}), ((d(2, 3),), {"x": np.array([0.0, 1.0, 3.0])}), ((d(3, 2),), {"axis": 0})],
    "np.gradient": lambda d: [((d(4),), {}), ((d(3, 4),), {}), ((d(3, 4), 0.5), {"axis": 1})],
    "np.unwrap": lambda d: [((d(4),), {})],
    "np.quantile": lambda d: [((d(5), 0.3), {}), ((d(3, 4), [0.1, 0.9]), {"axis": 1})],
    "np.percentile": lambda d: [((d(5), 30.0), {}), ((d(3, 4), 60), {"axis": 0, "keepdims": True})],
    "np.average": lambda d: [
        ((d(3),), {}),
        ((d(2, 3),), {"axis": 0}),
        ((d(2, 3),), {"axis": 1, "weights": np.abs(d(3)) + 1}),
        ((d(3),), {"weights": np.abs(d(3)) + 1, "returned": True}),
    ],
    "np.polyval": lambda d: [((d(3), d()), {}), ((d(3), d(2, 2)), {})],
    "np.piecewise": lambda d: [
        ((d(4), [np.array([True, False, True, False])], [lambda x: x * x, lambda x: -x]), {}),
        ((d(3), [np.array([True, False, False]), np.array([False, True, False])], [np.sin, 2.0]), {}),
    ],
    "np.linalg.lstsq": lambda d: [((d(4, 2), d(4)), {}), ((d(3, 3), d(3, 2)), {})],
    "np.polyfit": lambda d: [((np.arange(5.0), d(5), 2), {}), ((d(4), d(4), 1), {})],
    "np.prod": lambda d: [((d(4),), {}), ((d(2, 3),), {"axis": 1}), ((d(2, 3),), {"axis": (0, 1), "keepdims": True})],
    "np.cumprod": lambda d: [((d(4),), {}), ((d(2, 3),), {"axis": 0})],
    "np.insert": lambda d: [((d(4), 1, d()), {}), ((d(2, 3), [0, 2], d(2, 2)), {"axis": 1}), ((d(3), 1, d(2)), {})],
    "np.cross": lambda d: [((d(3), d(3)), {}), ((d(2, 3), d(2, 3)), {})],
    "np.linalg.cross": lambda d: [((d(3), d(3)), {})],
    "np.linalg.trace": lambda d: [((d(2, 3, 3),), {}), ((d(3, 3),), {"offset": 1})],
    "np.clip": lambda d: [((d(4), -0.5, 0.7), {}), ((d(2, 3), None, d(3)), {}), ((d(4), d(4), 2.5), {})],
    "np.kron": lambda d: [((d(2), d(3)), {}), ((d(2, 2), d(1, 3)), {}), ((d(2), d(2, 2)), {})],
    "np.convolve": lambda d: [((d(n), d(m), mode), {}) for n, m in ((4, 2), (2, 5)) for mode in ("full", "same", "valid")],
    "np.correlate": lambda d: [((d(n), d(m), mode), {}) for n, m in ((4, 3), (2, 5)) for mode in ("full", "valid")],
    "np.einsum": lambda d: [
        (("ij,jk->ik", d(2, 3), d(3, 2)), {}),
        (("ii->i", d(3, 3)), {}),
        (("ii", d(3, 3)), {}),
        (("ij->j", d(2, 3)), {}),
        (("...ij,...j->...i", d(2, 2, 3), d(3)), {}),
        (("i,i,i->", d(3), d(3), d(3)), {}),
        (("ij,kj", d(2, 3), d(4, 3)), {}),
        (("i,j->ij", d(2), d(3)), {}),
    ],
    "np.fft.irfft": lambda d: [((d(3) + 0j,), {}), ((d(3) + 0j,), {"n": 5}), ((d(4) + 0j,), {"n": 4, "norm": "ortho"})],
    "np.linspace": lambda d: [((d(), d(), 4), {}), ((d(2), d(2), 3), {"endpoint": False, "axis": 1})],
    "np.vander": lambda d: [((d(3),), {}), ((d(3), 2), {"increasing": True})],
    "np.diff": lambda d: [((d(4),), {}), ((d(2, 4), 2), {"axis": 1}), ((d(3),), {"prepend": d(1), "append": d(2)})],
    "np.unique": lambda d: [((d(4),), {}), ((d(2, 2),), {"return_index": True})],
    "np.frexp": lambda d: [((d(3),), {})],
    "np.arctan2": lambda d: [((d(3), d(2, 3)), {})],
    "np.full": lambda d: [((3, d()), {}), (((2, 3), d(3)), {})],
    "nd.view": lambda d: [],
    "np.remainder": lambda d: [((d(3) * 3, np.abs(d(3)) + 0.7), {})],
    "np.fmod": lambda d: [((d(3) * 3, np.abs(d(3)) + 0.7), {})],
    "mod": lambda d: [((d(3) * 3, np.abs(d(3)) + 0.7), {})],
    "np.divmod": lambda d: [((d(3) * 3, np.abs(d(3)) + 0.7), {})],
}  # fmt: skip
NAN = np.array([np.nan, 0.0, 0.0, 0.0, np.nan])
POINTS |= {
    "np.arange": lambda d: [((np.abs(d()) + 2.5,), {}), ((d(), 5.2 + d(), 0.7 + 0.1 * d()), {})],
    "np.logspace": lambda d: [((d(), d(), 3), {}), ((d(2), d(2), 3), {"base": 2.0, "endpoint": False})],
    "np.geomspace": lambda d: [((np.abs(d()) + 1, np.abs(d()) + 2, 4), {})],
    "np.nanmedian": lambda d: [((d(5) + NAN,), {}), ((d(3, 5) + NAN,), {"axis": 1, "keepdims": True})],
    "np.nanquantile": lambda d: [((d(5) + NAN, 0.3), {}), ((d(3, 5) + NAN, [0.2, 0.5]), {"axis": 0})],
    "np.nanpercentile": lambda d: [((d(5) + NAN, 30), {})],
    "np.trim_zeros": lambda d: [],
    "np.union1d": lambda d: [((d(3), d(2)), {})],
    "np.intersect1d": lambda d: [],
    "np.setdiff1d": lambda d: [((d(4), np.array([9.0, 10.0])), {})],
    "np.setxor1d": lambda d: [((d(3), d(3)), {})],
    "np.bincount": lambda d: [
        ((np.array([0, 2, 2, 1]), d(4)), {}),
        ((np.array([0, 1]), d(2)), {"minlength": 4}),
    ],
    "np.roots": lambda d: [((np.array([1.0, -6.0, 11.0, -6.2]) + 0.05 * d(4),), {})],
    "np.linalg.tensorsolve": lambda d: [((regular(d), d(3)), {})],
    "np.linalg.tensorinv": lambda d: [((np.reshape(d(4, 4) + 4 * np.eye(4), (2, 2, 2, 2)),), {})],
    **{
        f"np.fft.{n}": lambda d: [((d(3, 4),), {}), ((d(2, 3),), {"norm": "ortho"})]
        for n in ("rfft2", "rfftn")
    },
    **{f"np.fft.{n}": lambda d: [((d(3, 4) + 0j,), {})] for n in ("irfft2", "irfftn")},
    "np.fft.hfft": lambda d: [((d(4) + 0j,), {}), ((d(4) + 0j,), {"n": 5, "norm": "forward"})],
    "np.fft.ihfft": lambda d: [((d(4),), {}), ((d(5),), {"norm": "ortho"})],
}
POINTS["np.meshgrid"] = lambda d: [((d(2), d(3)), {}), ((d(2), d(3)), {"indexing": "ij", "sparse": True})]

# Away from these the slope of a quotient or power is too steep for finite differences.
POSITIVE = frozenset("np.divide truediv np.reciprocal np.float_power np.power pow np.log np.sqrt".split())


def plain(row: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return row.run(*args, **kwargs)


def is_float(x: Any) -> bool:
    kind = x.dtype.kind if isinstance(x, (np.ndarray, np.generic)) else "f" * isinstance(x, (float, complex))
    return kind in tuple("fc")


def has_rule(row: OpDef, key: Any) -> bool:
    return isinstance(row.vjp, Composite) or find_rule(row.vjp, key) is not None


def drawn(row: OpDef, draw: Draw, rng: random.Random) -> Iterator[Call]:
    """Calls of the row's maker with their float operands drawn anew."""
    make = maker(row)
    for _ in range(400):
        args, kwargs = make(rng)
        if kwargs.keys() & {"out", "dtype", "where", "casting", "initial"}:
            continue
        if row.name == "getitem" and isinstance(args[0], tuple):
            continue  # Python's own business
        if any(isinstance(x, int) and abs(x) > 1000 for x in flat(args)):
            continue  # finite differences would drown in rounding
        args = map_tree(lambda x: draw(*np.shape(x)) if is_float(x) else x, args)
        yield args, kwargs


def calls(row: OpDef, dtype: np.dtype[Any], count: int = 4) -> list[Call]:
    """Up to `count` calls (all of those in POINTS) with operands that have a rule."""
    low, high = row.domain
    if row.name in POSITIVE:
        low = max(low, 0.3)
    draw = drawer(len(row.name), dtype, low, high)
    found: list[Call] = []
    pool: Any = POINTS[row.name](draw) if row.name in POINTS else drawn(row, draw, random.Random(row.name))
    for args, kwargs in pool:
        if len(found) == count and row.name not in POINTS:
            break
        leaves = [
            k
            for k, arg in enumerate(args)
            if has_rule(row, k)
            for x in flat(arg)
            if is_float(x) and np.size(x)
        ]
        if not leaves:
            continue
        try:
            result = plain(row, args, kwargs)
        except Exception:  # such as a function that takes no complex numbers
            continue
        made = [x for x in flat(result) if is_float(x) and np.size(x)]
        if any(np.asarray(x).dtype.itemsize < dtype.itemsize // (1 + (dtype.kind == "c")) for x in made):
            continue  # too coarse for finite differences
        if any(np.isfinite(x).all() for x in made):
            found.append((args, kwargs))
    return found


def flat(x: Any) -> list[Any]:
    """The leaves of nested sequences."""
    return [y for item in x for y in flat(item)] if isinstance(x, (tuple, list)) else [x]
