"""The stand-in's other functions and computing methods: NumPy's, with the parameters CuPy has.

Always holds: a NumPy array or a list where CuPy wants a device array is a TypeError; results that are
views of an argument stay views, all others are fresh device arrays (also those of full reductions).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.standin import device
from tests.standin.array import Host, computed, ndarray, operand, store, unsupported, wrap

# These ask the first argument's own method, so that a NumPy array gets NumPy's answer.
DELEGATED = {
    **{n: n for n in ("sum", "prod", "argmax", "argmin", "mean", "std", "var", "clip", "take", "trace")},
    **{n: n for n in ("argsort", "ptp", "repeat", "diagonal", "choose")},
    **{"amax": "max", "max": "max", "amin": "min", "min": "min"},
}
RENAMED = {"a_min": "min", "a_max": "max", "decimals": "decimals"}
METHODS = (
    *("sum", "prod", "max", "min", "mean", "std", "var", "all", "any", "argmax", "argmin", "ptp"),
    *("cumsum", "cumprod", "dot", "take", "repeat", "clip", "round", "trace", "nonzero", "argsort"),
    *("diagonal", "compress", "choose", "conj", "conjugate", "searchsorted", "argpartition"),
)
LIBRARY = frozenset(("dot", "matmul", "vdot", "inner", "tensordot", "einsum", "sort", "argsort", "lexsort"))
SYNCING = frozenset(
    ("nonzero", "argwhere", "flatnonzero", "unique", "extract", "trim_zeros", "bincount", "compress", "isin")
) | frozenset(("intersect1d", "union1d", "setdiff1d", "unique_all", "unique_counts", "unique_values"))
TAKES_SEQUENCE = frozenset(
    (
        *(
            "concatenate",
            "concat",
            "stack",
            "hstack",
            "vstack",
            "dstack",
            "column_stack",
            "row_stack",
            "select",
        ),
        *("broadcast_shapes", "ravel_multi_index", "meshgrid", "einsum", "unravel_index", "indices"),
    )
)
EMPTY_REFUSED = frozenset(("max", "min", "argmax", "argmin"))
COPY_ALWAYS = frozenset(("round", "around", "clip", "nan_to_num", "take", "copy", "repeat", "tile"))


def to_host(value: Any) -> Any:
    """An argument for NumPy; containers are looked into."""
    if isinstance(value, ndarray):
        return operand(value)
    if isinstance(value, np.ndarray):
        raise unsupported(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(to_host, value))
    return value


def to_device(result: Any, inputs: Sequence[ndarray], views: bool = True) -> Any:
    """NumPy's result as CuPy gives it."""
    if isinstance(result, np.ndarray) and views and result.size:
        for array in inputs:
            if np.shares_memory(result, array._values):
                return wrap(result, array._buffer)
    if isinstance(result, (np.ndarray, np.generic)):
        return computed(lambda: result, result)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(to_device(part, inputs, views) for part in result))
    if isinstance(result, (list, tuple)):
        return type(result)(to_device(part, inputs, views) for part in result)
    return result


def device_arrays(values: Any) -> list[ndarray]:
    """All device arrays among (nested) arguments."""
    if isinstance(values, ndarray):
        return [values]
    if isinstance(values, Mapping):
        values = list(values.values())
    return (
        [found for part in values for found in device_arrays(part)]
        if isinstance(values, (list, tuple))
        else []
    )


def bind(name: str, parameters: list[str] | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse arguments that CuPy's function doesn't have."""
    if parameters is None:
        return
    if not any(p.startswith("*") for p in parameters) and len(args) > len(parameters):
        raise TypeError(f"{name}() takes {len(parameters)} positional arguments but {len(args)} were given")
    if not any(p.startswith("**") for p in parameters):
        for key in kwargs:
            if key not in parameters:
                raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")


def call(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run NumPy's `function` on the values of device arrays."""
    if name in LIBRARY:
        device.refuse_capture(name)
    if name in SYNCING:
        device.synchronise(name)
    kwargs = dict(kwargs)
    out, dtype = kwargs.pop("out", None), None
    if name in ("argmax", "argmin"):
        dtype = kwargs.pop("dtype", None)
    if name == "take":
        kwargs["mode"] = "wrap"
    host_args, host_kwargs = to_host(args), {k: to_host(v) for k, v in kwargs.items()}

    def compute() -> Any:
        with np.errstate(all="ignore"):
            result = function(*host_args, **host_kwargs)
        return result if dtype is None else result.astype(dtype)

    try:
        first = compute()
    except ValueError:
        if name in EMPTY_REFUSED and not args[0].size:
            text = f"zero-size array to reduction operation cupy_{name} which has no identity"
            raise ValueError(text) from None
        raise
    if isinstance(first, bool) and name in ("array_equal", "allclose"):
        first = np.asarray(first)
    if out is not None:
        store(out, compute, first)
        return out
    fresh = isinstance(first, (np.ndarray, np.generic)) and not any(
        np.shares_memory(first, a._values) for a in device_arrays((args, kwargs))
    )
    if fresh:
        return computed(compute, first)
    return to_device(first, device_arrays((args, kwargs)), name not in COPY_ALWAYS)


def method(name: str, parameters: list[str] | None) -> Callable[..., Any]:
    """An ndarray method."""
    function = getattr(np, {"max": "amax", "min": "amin"}.get(name, name))

    def run(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        bind(name, parameters, args, kwargs)
        given = dict(zip(parameters or (), args, strict=False)) | kwargs
        if name == "clip":
            args, given = (given.pop("min", None), given.pop("max", None)), given
            return call(name, function, (self, *args), given)
        if name == "compress":
            return call(name, function, (given.pop("condition"), self), given)
        if name in ("conj", "conjugate"):
            return self if self.dtype.kind != "c" else call(name, function, (self,), {})
        return call(name, function, (self,), given)

    run.__name__ = name
    return run


def function(
    name: str, numpy_function: Callable[..., Any], parameters: list[str] | None
) -> Callable[..., Any]:
    """A function of the module."""
    public = {"max": "amax", "min": "amin"}.get(name, name)
    asked = DELEGATED.get(name)

    def run(*args: Any, **kwargs: Any) -> Any:
        bind(public, parameters, args, kwargs)
        if asked is not None and parameters is not None:
            given = dict(zip(parameters, args, strict=False)) | kwargs
            first = given.pop(parameters[0])
            return getattr(first, asked)(
                **{RENAMED.get(k, k) if asked == "clip" else k: v for k, v in given.items()}
            )
        if name not in TAKES_SEQUENCE and args and isinstance(args[0], list):
            raise unsupported(args[0])
        return call(name, numpy_function, args, kwargs)

    run.__name__ = run.__qualname__ = public
    return run


def library(
    name: str, numpy_function: Callable[..., Any], parameters: list[str] | None
) -> Callable[..., Any]:
    """A function of `cupy.linalg` or `cupy.fft`: like the others, but never captured."""
    inner = function(name, numpy_function, parameters)

    def run(*args: Any, **kwargs: Any) -> Any:
        device.refuse_capture(name)
        return inner(*args, **kwargs)

    run.__name__ = run.__qualname__ = name
    return run


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Three arguments: elementwise choice.  One: the places that hold, which the host must wait for."""
    if (x is None) != (y is None):
        raise ValueError("Must provide both 'x' and 'y' or neither.")
    if not isinstance(condition, (ndarray, np.generic)):
        raise AttributeError(f"{type(condition).__name__!r} object has no attribute 'astype'")
    if x is None:
        return call("nonzero", np.nonzero, (condition,), {})
    chosen, *branches = (operand(v) for v in (condition, x, y))
    return computed(lambda: np.where(chosen, *branches))


def array(
    obj: Any, dtype: Any = None, copy: bool = True, order: str = "K", subok: bool = False, ndmin: int = 0
) -> ndarray:
    """Device array from a host array, numbers, nested lists, or a list of device arrays."""
    if isinstance(obj, ndarray):
        values: Host = obj._values
    elif isinstance(obj, (list, tuple)) and obj and all(isinstance(part, ndarray) for part in obj):
        values = np.stack([part._values for part in obj])
    else:
        values = np.array(obj)
    wanted = np.dtype(values.dtype if dtype is None else dtype)
    shaped = values.reshape((1,) * (ndmin - values.ndim) + values.shape)
    target = ndarray(shaped.shape, wanted, order)
    store(target, lambda: shaped, shaped)
    return target


def asarray(a: Any, dtype: Any = None, order: str | None = None) -> ndarray:
    """`a` itself where nothing is to be done."""
    if isinstance(a, ndarray) and dtype in (None, a.dtype):
        return a
    return array(a, dtype)


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Host:
    return a.get(stream, order, out, blocking) if isinstance(a, ndarray) else np.asarray(a)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    result = asarray(a, dtype)
    return result if result.flags.c_contiguous else result.copy()


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> ndarray:
    """A value on the device is spread there: no wait."""
    result = ndarray(
        shape,
        fill_value.dtype
        if dtype is None and isinstance(fill_value, ndarray)
        else dtype or np.array(fill_value).dtype,
        order,
    )
    result[...] = fill_value
    return result


def arange(*args: Any, **kwargs: Any) -> ndarray:
    """Bounds on the device have to be fetched: the size depends on them."""
    bounds = [a.item() if isinstance(a, ndarray) else a for a in args]
    return computed(lambda: np.arange(*bounds, **kwargs))


def like(name: str) -> Callable[..., Any]:
    """`zeros_like` and its kin; a prototype on the host is no device array."""
    numpy_function = getattr(np, name)

    def run(a: Any, *args: Any, **kwargs: Any) -> ndarray:
        prototype = to_host(a)
        return computed(lambda: numpy_function(prototype, *map(to_host, args), **kwargs))

    return run


def creation(name: str) -> Callable[..., Any]:
    """`zeros`, `linspace` and others made from plain numbers."""
    numpy_function = getattr(np, name)

    def run(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if isinstance(value, ndarray):
                raise TypeError("'ndarray' object cannot be interpreted as an integer")
        first = numpy_function(*args, **kwargs)
        return tuple(map(creation_result, first)) if isinstance(first, tuple) else creation_result(first)

    run.__name__ = name
    return run


def creation_result(values: Host) -> ndarray:
    return computed(lambda: values, values)
