"""The stand-in's `ndarray`: a wrapper round a private NumPy array, with CuPy's refusals.

It is no subclass of `numpy.ndarray`: NumPy would convert one without asking.  Index arrays out of
range wrap, indexing and reductions give 0-d arrays, and no value leaves without `synchronise`.
"""

from __future__ import annotations

import math
import operator
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.standin import device

CUPY = types.ModuleType("cupy")  # filled by tests.standin.module
DTYPES = frozenset("?bBhHiIlLqQefdFD")
PYTHON_NUMBERS = (bool, int, float, complex)
SCALARS = (*PYTHON_NUMBERS, np.generic)
IMPLICIT = (
    "Implicit conversion to a NumPy array is not allowed. "
    "Please use `.get()` to construct a NumPy array explicitly."
)
Host = np.ndarray[Any, Any]


def supported(dtype: Any) -> np.dtype[Any]:
    """The dtype, if CuPy has it."""
    found: np.dtype[Any] = np.dtype(dtype)
    if found.char not in DTYPES:
        raise ValueError(f"Unsupported dtype {found}")
    return found


def unsupported(value: Any) -> TypeError:
    return TypeError(f"Unsupported type {type(value)}")


def converted(values: Any, dtype: np.dtype[Any]) -> Host:
    """`values` in `dtype` as a GPU converts: float to int saturates, and NaN becomes 0."""
    values = np.asarray(values)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if values.dtype.kind != "f" or dtype.kind not in "iu":
            return np.asarray(values.astype(dtype, copy=False))
        info = np.iinfo(dtype)
        high = values >= float(info.max)
        inside = np.where(np.isnan(values) | high, 0, np.maximum(np.trunc(values), float(info.min)))
        return np.where(high, dtype.type(info.max), inside.astype(dtype))


def sizes_of(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple; a device array is no integer."""
    return tuple(map(operator.index, shape)) if isinstance(shape, (tuple, list)) else (operator.index(shape),)


def new(shape: Any, dtype: Any, order: str = "C") -> ndarray:
    """An array in fresh, poisoned memory of the current device."""
    dtype = supported(dtype)
    sizes = sizes_of(shape)
    buffer = device.Buffer(math.prod(sizes) * dtype.itemsize)
    return wrap(buffer.array(sizes, dtype, order), buffer)


def wrap(values: Host, buffer: device.Buffer) -> ndarray:
    """An array object for a part of `buffer`."""
    array = object.__new__(ndarray)
    array._values, array._buffer = values, buffer
    return array


def upload(values: Any) -> ndarray:
    """A fresh device array, C-ordered, with the host's values."""
    values = np.asarray(values)
    array = new(values.shape, values.dtype)
    array._values[...] = values
    return array


def computed(compute: Callable[[], Any], first: Any = None) -> ndarray:
    """A fresh array filled by the device step `compute` (whose result now is `first`, if known)."""
    first = np.asarray(compute() if first is None else first)
    array = new(first.shape, first.dtype)
    store(array, compute, first)
    return array


def store(target: ndarray, compute: Callable[[], Any], first: Any) -> None:
    """Write what `compute` gives into `target`: now (it is `first`), or at each replay of a capture."""
    capturing = device.captured_stream() is not None

    def step() -> None:
        target._values[...] = converted(compute() if capturing else first, target.dtype)

    device.launch(step)


def operand(value: Any) -> Any:
    """What NumPy computes with for an argument of a CuPy function: no NumPy array, no list."""
    if isinstance(value, ndarray):
        if value._buffer.device != device.STATE.device:
            warnings.warn(
                f"The device where the array resides ({value._buffer.device}) is different from the current"
                f" device ({device.STATE.device}). Peer access has been activated automatically.",
                device.PerformanceWarning,
                stacklevel=4,
            )
        return value._values
    if isinstance(value, SCALARS):
        return value
    raise unsupported(value)


class ndarray:
    """An array on a device."""

    __module__ = "cupy"  # the runtime tells CuPy arrays by their class's module and name
    __slots__ = ("__weakref__", "_buffer", "_values")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]
    _values: Host
    _buffer: device.Buffer

    def __new__(cls, shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
        return new(shape, dtype, order)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._values.shape)

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._values = self._values.reshape(shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self._values.dtype
        return found

    @property
    def ndim(self) -> int:
        return self._values.ndim

    @property
    def size(self) -> int:
        return self._values.size

    @property
    def nbytes(self) -> int:
        return self._values.nbytes

    @property
    def itemsize(self) -> int:
        return self._values.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return self._values.strides

    @property
    def flags(self) -> Any:
        return self._values.flags

    @property
    def T(self) -> ndarray:
        return wrap(self._values.T, self._buffer)

    @property
    def mT(self) -> ndarray:
        return wrap(np.swapaxes(self._values, -1, -2), self._buffer)

    @property
    def real(self) -> ndarray:
        return wrap(self._values.real, self._buffer)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        return wrap(self._values.imag, self._buffer)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    @property
    def device(self) -> device.Device:
        return device.Device(self._buffer.device)

    @property
    def data(self) -> Any:
        return types.SimpleNamespace(ptr=self._values.ctypes.data, device_id=self._buffer.device)

    # -- the ways to the host

    def __array__(self, dtype: Any = None, copy: Any = None) -> Host:
        raise TypeError(IMPLICIT)

    def get(
        self, stream: Any = None, order: str = "C", out: Host | None = None, blocking: bool = True
    ) -> Host:
        device.synchronise("get()")
        self._buffer.check()
        if out is None:
            return np.array(self._values, order="F" if order == "F" else "C")
        if out.dtype != self.dtype:
            raise TypeError(f"{out.dtype} array cannot be obtained from {self.dtype} array")
        if out.shape != self.shape:
            raise ValueError(f"Shape mismatch. Expected shape: {self.shape}, actual shape: {out.shape}")
        if blocking:
            out[...] = self._values
        else:
            (stream or device.STATE.stream or device.Stream.null).pending.append((out, self._values.copy()))
        return out

    def set(self, arr: Host, stream: Any = None) -> None:
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if arr.shape != self.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        self._values[...] = arr

    def item(self) -> Any:
        device.synchronise("item()")
        return self._values.item()

    def tolist(self) -> Any:
        device.synchronise("tolist()")
        return self._values.tolist()

    def __bool__(self) -> bool:
        device.synchronise("bool()")
        return bool(self._values)

    def _scalar(self, what: str) -> Any:
        if self.ndim:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        device.synchronise(what)
        return self._values[()]

    def __int__(self) -> int:
        return int(self._scalar("int()"))

    def __float__(self) -> float:
        return float(self._scalar("float()"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex()"))

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 else format(str(self), spec)

    def __repr__(self) -> str:
        device.synchronise("repr()")
        return repr(self._values)

    def __str__(self) -> str:
        device.synchronise("str()")
        return str(self._values)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[ndarray]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    # -- indexing

    def _host_key(self, key: Any) -> tuple[tuple[Any, ...], bool]:
        """The key for NumPy, and whether it gathers (and so copies)."""
        parts = key if isinstance(key, tuple) else (key,)
        parts = tuple(CUPY.array(p) if isinstance(p, (list, np.ndarray)) else p for p in parts)
        used = sum(_axes(p) for p in parts)
        host: list[Any] = []
        axis, gathers = 0, False
        for part in parts:
            if part is Ellipsis:
                host.append(part)
                axis += self.ndim - used
                continue
            if isinstance(part, ndarray):
                gathers = True
                if part.dtype == bool:
                    device.synchronise("boolean index")
                    host.append(part._values)
                else:
                    size = self.shape[axis] if axis < self.ndim else 0
                    host.append(part._values % size if size else part._values)
            elif isinstance(part, slice):
                host.append(slice(*(_bound(b) for b in (part.start, part.stop, part.step))))
            else:
                host.append(int(part) if isinstance(part, float) else part)
            axis += _axes(part)
        return tuple(host), gathers

    def _at(self, key: tuple[Any, ...]) -> Host:
        """The part of the array; a single element as a 0-d view."""
        if not any(part is Ellipsis for part in key):
            key = (*key, Ellipsis)
        try:
            result: Host = self._values[key]
        except IndexError as error:
            raise IndexError(str(error).replace("index ", "Index ", 1)) from None
        return result

    def __getitem__(self, key: Any) -> ndarray:
        host, gathers = self._host_key(key)
        if not gathers:
            return wrap(self._at(host), self._buffer)
        return computed(lambda: self._values[self._host_key(key)[0]], self._values[host])

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if not isinstance(value, (ndarray, *SCALARS)):
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        host, gathers = self._host_key(key)
        if not gathers:
            target = self._at(host)
            device.launch(lambda: _fill(target, value))
            return
        device.launch(
            lambda: self._scatter(self._host_key(key)[0] if device.captured_stream() else host, value)
        )

    def _scatter(self, key: tuple[Any, ...], value: Any) -> None:
        """Write to gathered places in random order: with duplicates, any writer may win."""
        places = np.arange(self.size).reshape(self.shape)[key]
        values = np.broadcast_to(converted(operand(value), self.dtype), places.shape).ravel()
        order = np.random.default_rng(device.STATE.launches).permutation(places.size)
        where = np.unravel_index(places.ravel()[order], self.shape)
        self._values[where] = values[order]

    # -- NumPy's protocols, as CuPy answers them

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if isinstance(kwargs.get("out"), tuple) and len(kwargs["out"]) == 1:
            kwargs["out"] = kwargs["out"][0]
        if ufunc.__name__ in ("equal", "not_equal") and any(value is None for value in inputs):
            return CUPY.full(self.shape, ufunc.__name__ == "not_equal")
        known = all(isinstance(value, (ndarray, np.ndarray, *SCALARS)) for value in inputs)
        function = getattr(CUPY, ufunc.__name__, None)
        if not known or function is None:
            return NotImplemented
        return (function if method == "__call__" else getattr(function, method))(*inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not all(issubclass(t, (ndarray, np.ndarray)) for t in types):
            return NotImplemented
        owner: Any = CUPY
        for part in function.__module__.split(".")[1:]:
            owner = getattr(owner, part, None)
        twin = getattr(owner, function.__name__, None)
        return NotImplemented if twin is None else twin(*args, **kwargs)

    # -- methods that move or view; those that compute are added by tests.standin.functions

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        dtype = supported(dtype)
        if casting is not None and not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule {casting!r}"
            )
        if not copy and self.dtype == dtype:
            return self
        return computed(lambda: converted(self._values, dtype))

    def copy(self, order: str = "C") -> ndarray:
        return computed(lambda: self._values)

    def fill(self, value: Any) -> None:
        self[...] = value

    def reshape(self, *shape: Any, order: str = "C") -> ndarray:
        sizes = sizes_of(shape[0] if len(shape) == 1 else shape)
        try:
            result = self._values.reshape(sizes, order="F" if order == "F" else "C")
        except ValueError:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {sizes}") from None
        if np.shares_memory(result, self._values) or not self.size:
            return wrap(result, self._buffer)
        return computed(lambda: self._values.reshape(sizes, order="F" if order == "F" else "C"))

    def ravel(self, order: str = "C") -> ndarray:
        return self.reshape(-1, order=order)

    def flatten(self, order: str = "C") -> ndarray:
        return computed(lambda: self._values.flatten("F" if order == "F" else "C"))

    def transpose(self, *axes: Any) -> ndarray:
        return wrap(self._values.transpose(*axes), self._buffer)

    def squeeze(self, axis: Any = None) -> ndarray:
        return wrap(self._values.squeeze(axis), self._buffer)

    def swapaxes(self, axis1: int, axis2: int) -> ndarray:
        return wrap(self._values.swapaxes(axis1, axis2), self._buffer)

    def view(self, dtype: Any = None) -> ndarray:
        return wrap(
            self._values.view() if dtype is None else self._values.view(supported(dtype)), self._buffer
        )

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        device.refuse_capture("sort")
        device.launch(lambda: self._values.sort(axis))

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()


def _axes(part: Any) -> int:
    """How many axes one part of an index takes up."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, ndarray) and part.dtype == bool else 1


def _bound(value: Any) -> Any:
    """A slice bound; one on the device is fetched."""
    return int(value) if isinstance(value, ndarray) else value


def _fill(target: Host, value: Any) -> None:
    target[...] = (
        converted(operand(value), target.dtype) if isinstance(value, (ndarray, np.generic)) else value
    )


# -- operators: through CuPy's ufuncs when both sides are numbers, else NumPy's way (which then refuses)

BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "divmod": "divmod",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
UNARY = {"neg": "negative", "pos": "positive", "invert": "invert", "abs": "absolute"}


def _binary(name: str, reflected: bool, in_place: bool) -> Callable[[ndarray, Any], Any]:
    def operate(self: ndarray, other: Any) -> Any:
        numbers = isinstance(other, (ndarray, np.ndarray, *SCALARS))
        function = getattr(CUPY if numbers else np, name)
        operands = (other, self) if reflected else (self, other)
        return function(*operands, out=self) if in_place else function(*operands)

    return operate


def _unary(name: str) -> Callable[[ndarray], Any]:
    return lambda self: getattr(CUPY, name)(self)


for _operator, _name in BINARY.items():
    setattr(ndarray, f"__{_operator}__", _binary(_name, False, False))
    setattr(ndarray, f"__r{_operator}__", _binary(_name, True, False))
    if _operator != "divmod":
        setattr(ndarray, f"__i{_operator}__", _binary(_name, False, True))
for _operator, _name in COMPARISONS.items():
    setattr(ndarray, f"__{_operator}__", _binary(_name, False, False))
for _operator, _name in UNARY.items():
    setattr(ndarray, f"__{_operator}__", _unary(_name))
for _operator, _reflected in (("matmul", False), ("rmatmul", True)):
    setattr(ndarray, f"__{_operator}__", _binary("matmul", _reflected, False))
