"""Derivatives of what is told by other ops: ranges, sets, transforms over several axes, tensor equations.

In: nothing.  Out: `VJP` and `JVP`, by op name.  What always holds: which elements are chosen is decided on
bare values; their derivative is that of reading them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.ops.adjoint import LINEAR, Composite, concrete

Function = Callable[..., Any]


# -- ranges ----------------------------------------------------------------------------------------


def arange(*limits: Any, dtype: Any = None, **options: Any) -> Any:
    """np.arange as a line; how many elements there are is decided on bare values."""
    count = len(np.arange(*map(concrete, limits)))
    start, step = (0.0, 1.0) if len(limits) == 1 else (limits[0], limits[2] if len(limits) > 2 else 1.0)
    made = start + step * np.arange(float(count))
    return made if dtype is None else made.astype(dtype)


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """np.logspace as powers of np.linspace."""
    made = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return made if dtype is None else made.astype(dtype)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """np.geomspace of positive numbers as exponentials of np.linspace."""
    made = np.exp(np.linspace(np.log(start), np.log(stop), num, endpoint, axis=axis))
    return made if dtype is None else made.astype(dtype)


# -- sets and order among numbers -------------------------------------------------------------------


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """np.trim_zeros of a vector as a slice."""
    if np.ndim(filt) != 1:
        raise NotImplementedError("the derivative of np.trim_zeros of more than one axis")
    found = np.flatnonzero(concrete(filt))
    first = (found[0] if found.size else len(filt)) if "f" in trim.lower() else 0
    last = (found[-1] + 1 if found.size else first) if "b" in trim.lower() else len(filt)
    return filt[int(first) : int(last)]


def _joined(a: Any, b: Any) -> Any:
    return np.concatenate([np.ravel(a), np.ravel(b)])


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """np.intersect1d as reading from the first."""
    _, first, second = np.intersect1d(concrete(ar1), concrete(ar2), assume_unique, True)
    made = np.ravel(ar1)[first]
    return (made, first, second) if return_indices else made


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """np.setdiff1d as reading from the first."""
    found = np.ravel(ar1) if assume_unique else np.unique(ar1)
    return found[np.isin(concrete(found), concrete(ar2), assume_unique=True, invert=True)]


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """np.setxor1d as reading from both, joined."""
    if not assume_unique:
        ar1, ar2 = np.unique(ar1), np.unique(ar2)
    found = np.sort(_joined(ar1, ar2))
    bare = concrete(found)
    alone = np.concatenate([[True], bare[1:] != bare[:-1], [True]])
    return found[alone[1:] & alone[:-1]]


def sort_complex(a: Any) -> Any:
    """np.sort_complex as a sort of complex numbers."""
    made = np.sort(np.ravel(a) if np.ndim(a) == 0 else a)
    return made if np.iscomplexobj(made) else made.astype("F" if made.dtype.itemsize < 4 else complex)


# -- equations ---------------------------------------------------------------------------------------


def roots(p: Any) -> Any:
    """np.roots as eigenvalues of the companion matrix."""
    p = np.ravel(p)
    n = np.shape(p)[0]
    bare = concrete(p)
    if n < 2 or bare[0] == 0 or bare[-1] == 0:
        raise NotImplementedError("the derivative of np.roots with a first or last coefficient of 0")
    rest = np.eye(n - 1, k=-1)[1:]
    return np.linalg.eigvals(np.concatenate([(-p[1:] / p[0])[None], rest], axis=0))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """np.linalg.tensorsolve as one system of equations."""
    if axes is not None:
        raise NotImplementedError("the derivative of np.linalg.tensorsolve with axes")
    shape = np.shape(a)[np.ndim(b) :]
    size = int(np.prod(shape))
    return np.reshape(np.linalg.solve(np.reshape(a, (size, size)), np.ravel(b)), shape)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """np.linalg.tensorinv as one inverse."""
    shape = np.shape(a)
    size = int(np.prod(shape[ind:]))
    return np.reshape(np.linalg.inv(np.reshape(a, (size, size))), (*shape[ind:], *shape[:ind]))


# -- transforms over several axes ----------------------------------------------------------------------

OPPOSITE: dict[Any, Any] = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _axes(a: Any, s: Any, axes: Any) -> list[int]:
    if s is not None:
        raise NotImplementedError("the derivative of a Fourier transform with s=")
    return [i % np.ndim(a) for i in (range(np.ndim(a)) if axes is None else axes)]


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """np.fft.rfftn axis by axis."""
    along = _axes(a, s, axes)
    made = np.fft.rfft(a, axis=along[-1], norm=norm)
    for axis in along[:-1]:
        made = np.fft.fft(made, axis=axis, norm=norm)
    return made


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """np.fft.irfftn axis by axis."""
    along = _axes(a, s, axes)
    made = a
    for axis in along[:-1]:
        made = np.fft.ifft(made, axis=axis, norm=norm)
    return np.fft.irfft(made, axis=along[-1], norm=norm)


def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """np.fft.hfft as an inverse real transform of the conjugate."""
    return np.fft.irfft(np.conjugate(a), n, axis=axis, norm=OPPOSITE[norm])


def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """np.fft.ihfft as the conjugate of a real transform."""
    return np.conjugate(np.fft.rfft(a, n, axis=axis, norm=OPPOSITE[norm]))


def _of_two(function: Function) -> Composite:
    return Composite(lambda a, s=None, axes=(-2, -1), norm=None, out=None: function(a, s, axes, norm))


def bincount_vjp(ct: Any, y: Any, x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Each weight gets the cotangent of its bin."""
    return ct[np.asarray(x)]


VJP: dict[str, dict[Any, Any] | Composite] = {
    "np.arange": Composite(arange),
    "np.logspace": Composite(logspace),
    "np.geomspace": Composite(geomspace),
    "np.trim_zeros": Composite(trim_zeros),
    "np.union1d": Composite(lambda ar1, ar2: np.unique(_joined(ar1, ar2))),
    "np.intersect1d": Composite(intersect1d),
    "np.setdiff1d": Composite(setdiff1d),
    "np.setxor1d": Composite(setxor1d),
    "np.sort_complex": Composite(sort_complex),
    "np.bincount": {1: bincount_vjp, "weights": bincount_vjp},
    "np.roots": Composite(roots),
    "np.linalg.tensorsolve": Composite(tensorsolve),
    "np.linalg.tensorinv": Composite(tensorinv),
    "np.fft.rfftn": Composite(rfftn),
    "np.fft.irfftn": Composite(irfftn),
    "np.fft.rfft2": _of_two(rfftn),
    "np.fft.irfft2": _of_two(irfftn),
    "np.fft.hfft": Composite(hfft),
    "np.fft.ihfft": Composite(ihfft),
}
JVP: dict[str, dict[Any, Any]] = {"np.bincount": {1: LINEAR, "weights": LINEAR}}
