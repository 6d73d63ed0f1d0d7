"""`check_grads`: derivatives against finite differences, forward against reverse.

In: a function and a point.  Out: nothing, or a GradientCheckError that names the worst place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import tree
from runtime.autodiff.transforms import jvp, vjp
from runtime.errors import CheckError

Function = Callable[..., Any]


def _like(rng: np.random.Generator, x: Any) -> Any:
    """A random direction of the kind of a value; None for kinds without derivatives."""
    a = np.asarray(x)
    if a.dtype.kind not in "fc":
        return None
    made: Any = rng.standard_normal(a.shape)
    if a.dtype.kind == "c":
        made = made + 1j * rng.standard_normal(a.shape)
    return a.dtype.type(made) if a.shape == () else made.astype(a.dtype)


def _pair(cts: Any, changes: Any) -> float:
    """`Re(sum(conj(ct) * change))` over all leaves."""
    total = 0.0
    for ct, change in zip(tree.flatten_data(cts)[0], tree.flatten_data(changes)[0], strict=True):
        if ct is not None and change is not None:
            total += float(np.real(np.sum(np.conjugate(np.asarray(ct, "c16")) * np.asarray(change, "c16"))))
    return total


def _step(args: Any, directions: Any, size: float) -> Any:
    def move(x: Any, d: Any) -> Any:
        return (
            x if d is None else type(x)(x + size * d) if np.ndim(x) == 0 else (x + size * d).astype(x.dtype)
        )

    return tree.map_data(move, args, directions)


def _slope(up: Any, down: Any, width: float) -> Any:
    return None if up is None else (np.asarray(up) - np.asarray(down)) / width


def numerical(function: Function, args: tuple[Any, ...], directions: tuple[Any, ...], eps: float) -> Any:
    """The change along a direction by central differences, corrected once."""
    estimates = []
    for size in (eps, eps / 2):
        up, down = function(*_step(args, directions, size)), function(*_step(args, directions, -size))
        slope = functools.partial(_slope, width=2 * size)
        estimates.append(tree.map_data(slope, up, down))
    return tree.map_data(lambda wide, narrow: None if wide is None else (4 * narrow - wide) / 3, *estimates)


def check_grads(
    function: Function,
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("forward", "reverse"),
    *,
    eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Compare derivatives up to `order` with finite differences along random directions."""
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args is a tuple of the arguments, (x,), not a value of type {type(args).__name__}")
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"order is a number of derivatives, 1 or more, not {order!r}")
    if isinstance(modes, str) or not set(modes) <= {"forward", "reverse"} or not modes:
        raise ValueError(f'modes is a tuple of "forward" and "reverse", not {modes!r}')
    args = tuple(args)
    single = any(np.asarray(x).dtype.char in "efF" for x in tree.flatten_data(args)[0])
    eps = (2e-2 if single else 1e-4) if eps is None else eps
    rtol = (2e-2 if single else 1e-5) if rtol is None else rtol
    atol = (2e-2 if single else 1e-6) if atol is None else atol
    rng = np.random.default_rng(seed)
    directions = tree.map_data(lambda x: _like(rng, x), args)
    value = function(*args)
    cotangents = tree.map_data(lambda x: _like(rng, x), value)
    expected = _pair(cotangents, numerical(function, args, directions, eps))
    if "forward" in modes:
        _, changes = jvp(function, args, directions)
        _compare("forward", order, _pair(cotangents, changes), expected, rtol, atol)
    if "reverse" in modes:
        _, pull_back = vjp(function, *args)
        found = _pair(pull_back(cotangents), directions)
        _compare("reverse", order, found, expected, rtol, atol)
    if order > 1:
        options: Any = {"eps": eps, "rtol": 10 * rtol, "atol": 10 * atol, "seed": seed + 1}
        if "reverse" in modes:
            check_grads(lambda *x: vjp(function, *x)[1](cotangents), args, order - 1, ("reverse",), **options)
        if "forward" in modes:
            check_grads(lambda *x: jvp(function, x, directions)[1], args, order - 1, ("reverse",), **options)


def _compare(mode: str, order: int, found: float, expected: float, rtol: float, atol: float) -> None:
    if not np.isclose(found, expected, rtol=rtol, atol=atol):
        raise CheckError(
            f"the {mode} derivative is {found!r}, finite differences give {expected!r}",
            why=f"they differ by {abs(found - expected):.3g} along a random direction (orders left: {order})",
            fix="look for a place where the function is not smooth, or for a wrong rule",
        )
