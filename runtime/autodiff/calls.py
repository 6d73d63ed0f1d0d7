"""Calls of converted code while a level is open: what Python and NumPy themselves would take out of a box.

In: a callable and its arguments.  Out: the result of the call.  What always holds: a result that depends
on a followed value stays followed; new arrays of floats are put into boxes, so that followed values can
be written into them.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.autodiff.box import BOXES, Box, any_box, unwrap_bare
from runtime.autodiff.dispatch import call_function, call_row, call_ufunc
from runtime.autodiff.levels import map_tree
from runtime.autodiff.lists import FollowedList
from runtime.autodiff.rows import by_name, row_of
from runtime.ops.adjoint import cast
from runtime.variable import Variable

# Functions of Python's numbers, with NumPy's of the same meaning.
MATH: dict[Callable[..., Any], Callable[..., Any]] = {
    **{
        getattr(math, name): getattr(np, name)
        for name in (
            "sin cos tan sinh cosh tanh exp expm1 log1p log10 log2 sqrt floor ceil trunc fabs degrees "
            "radians copysign fmod cbrt exp2"
        ).split()
        if hasattr(math, name)
    },
    math.hypot: lambda *xs: _hypot(*xs),
    math.dist: lambda p, q: _hypot(*(a - b for a, b in zip(p, q, strict=True))),
    math.asin: np.arcsin,
    math.acos: np.arccos,
    math.atan: np.arctan,
    math.atan2: np.arctan2,
    math.asinh: np.arcsinh,
    math.acosh: np.arccosh,
    math.atanh: np.arctanh,
    math.pow: np.power,
    math.fsum: lambda values: sum(values, 0.0),
    math.prod: lambda values, start=1: _product(values, start),
}
_STEPS = frozenset({math.floor, math.ceil, math.trunc})
_PLAIN = frozenset(
    {math.isnan, math.isinf, math.isfinite, math.isclose, callable, id, repr, str, format, bool}
)


def _product(values: Any, start: Any) -> Any:
    for value in values:
        start = start * value
    return start


def _hypot(*xs: Any) -> Any:
    """The length of a vector of any number of numbers, scaled so that no square is too large."""
    if len(xs) == 2:
        return np.hypot(*xs)
    largest = max((abs(unwrap_bare(x)) for x in xs), default=0.0)
    scale = largest if 0 < largest < math.inf else 1.0
    return np.linalg.norm(call_row(by_name("np.array"), ([x / scale for x in xs],), {})) * scale


def takes_boxes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is given anything that is followed."""
    return any_box((args, kwargs))


def intercept(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call `function(*args, **kwargs)` where a level is open."""
    if _opens_variables(function) and any(isinstance(x, Variable) for x in args):
        args = tuple(x.value if isinstance(x, Variable) else x for x in args)
    if any_box(args) or any_box(kwargs):
        return _with_boxes(function, args, kwargs)
    result = function(*args, **kwargs)
    if (
        type(result) is np.ndarray
        and result.dtype.kind in "fc"
        and _is_numpy(function)
        and (result.base is None or _alone(result))
    ):
        return Box(result)
    return result


def _alone(x: np.ndarray[Any, Any]) -> bool:
    """Whether an array that looks at another one is all that does."""
    whole = type(x.base) is np.ndarray and x.base.base is None and x.base.flags.owndata
    return whole and sys.getrefcount(x.base) == 2


def _opens_variables(function: Any) -> bool:
    """Whether the function would take the bare number or array of a Variable."""
    return function in (float, complex) or function in MATH or function is math.log or _is_numpy(function)


def _is_numpy(function: Callable[..., Any]) -> bool:
    return (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy" or row_of(
        function
    ) is not None


def _with_boxes(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with a box among the arguments."""
    if isinstance(function, type):
        return _class(function, args, kwargs)
    if getattr(type(function), "__hash__", None) is None:
        return function(*args, **kwargs)
    if function is math.log:
        return _logarithm(*args)
    if function in MATH:
        return _mathematics(function, args, kwargs)
    if function in _PLAIN:
        return function(*map_tree(unwrap_bare, args), **map_tree(unwrap_bare, kwargs))
    if function is builtins.pow and len(args) == 2:
        return args[0] ** args[1]
    if isinstance(getattr(function, "__self__", None), str):  # "{:.3f}".format(x), "".join
        return function(*args, **kwargs)
    if getattr(function, "__name__", "") == "shuffle" and hasattr(function, "__self__"):
        return _shuffle(function, *args, **kwargs)
    if isinstance(function, np.ufunc):  # NumPy would open the boxes of a list
        return call_ufunc(function, "__call__", args, kwargs)
    if row_of(function) is not None:
        return call_function(function, args, kwargs)
    return function(*args, **kwargs)


def _shuffle(function: Any, x: Any, axis: int = 0) -> None:
    """The shuffle method of a random generator: the same draws, on element numbers."""
    order = np.arange(len(x) if axis == 0 else np.shape(x)[axis])
    function(order)
    x[...] = np.take(x, order, axis=axis)


def _class(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Numbers made of followed numbers stay followed."""
    if cls is type and len(args) == 1:
        found = type(unwrap_bare(args[0]))
        return list if found is FollowedList else found
    if len(args) == 1 and not kwargs and type(args[0]) in BOXES:
        x = args[0]
        if cls in (float, complex):
            cls(x.bare)  # raises as Python does
            return cast(x, cls)
        if issubclass(cls, np.inexact):
            return (
                call_row(by_name("np.astype"), (x, np.dtype(cls)), {})
                if np.ndim(x.bare)
                else cast(x, np.dtype(cls))
            )
        if issubclass(cls, (bool, int, str, np.integer, np.bool_)):
            return cls(x.bare)
    if cls is complex and len(args) == 2 and not kwargs:
        return cast(args[0] + args[1] * 1j, complex)
    return cls(*args, **kwargs)


def _mathematics(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    bare = map_tree(unwrap_bare, args)
    plain = function(*bare, **map_tree(unwrap_bare, kwargs))  # raises as Python does
    if function in _STEPS:
        return plain
    made = MATH[function](*args, **kwargs)
    return cast(made, float) if type(plain) is float and type(made) in BOXES else made


def _logarithm(x: Any, base: Any = None) -> Any:
    math.log(unwrap_bare(x), *(() if base is None else (unwrap_bare(base),)))
    made = np.log(x) if base is None else np.log(x) / np.log(base)
    return cast(made, float)
