"""`Variable`: an array with a place of its own, whose value is exchanged, not whose memory is shared.

In: a first value.  Out: an object that NumPy code takes for an array: operators, ufuncs and array functions
read its present value.  `assign` and its relatives put a new array in the place, so what was read before
stays as it was; item assignment writes into the present array, as it does for any array.
What always holds: the dtype never changes, and the shape neither, as far as it was fixed.
"""

from __future__ import annotations

import contextlib
import operator
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from runtime.errors import Span, VariableError

Shape = tuple[int | None, ...] | None
_AS_GIVEN: Any = object()
_NUMBERS = (bool, int, float, complex)


class _Reading(threading.local):
    overlay: Any = None  # while derivatives are recorded: gives and takes the values of this thread


_reading = _Reading()


def lay_over(overlay: Any) -> None:
    """Let `overlay.read(variable)` and `overlay.write(variable, new)` stand for the values; None ends it."""
    _reading.overlay = overlay


def overlay() -> Any:
    """What stands for the values in this thread, or None."""
    return _reading.overlay


class Variable(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that functions read and write at run time, in order with all other effects.

    initial: the first value; it is copied.
    dtype: the dtype of all values, that of `initial` if not given.
    shape: the shape of all values, that of `initial` if not given; None for any, `(None, 3)` for any length.
    name: what it is called when printed.
    Raises VariableError for values that don't fit.

    >>> total = Variable(1.0)
    >>> total.assign_add(2)
    Variable(3., dtype=float64)
    """

    __slots__ = ("__weakref__", "_array", "_shape", "name")

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A new Variable; while tracing, what stands for one that the run will make."""
        record = _creation.record
        return super().__new__(cls) if record is None or cls is not Variable else record(args, kwargs)

    def __init__(self, initial: Any, dtype: Any = None, shape: Any = _AS_GIVEN, name: str = "") -> None:
        value = np.array(initial, dtype=dtype)
        self.name = name
        self._shape: Shape = value.shape
        if shape is not _AS_GIVEN:
            self._shape = (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)
        self._value = value
        self._check_shape(value)

    # ------------------------------------------------------------------ the value
    @property
    def _value(self) -> Any:
        """The present value; while derivatives are recorded, what stands for it."""
        overlay = _reading.overlay
        return self._array if overlay is None else overlay.read(self)

    @_value.setter
    def _value(self, new: Any) -> None:
        if _reading.overlay is None:
            self._array = new
        else:
            _reading.overlay.write(self, new)

    @property
    def value(self) -> Any:
        """The present value: the array itself, not a copy."""
        return self._value

    def assign(self, value: Any) -> Variable:
        """Put a copy of `value` in place; it must have this dtype (Python numbers adapt) and shape."""
        self._value = self._fitting(value)
        return self

    def assign_add(self, delta: Any) -> Variable:
        """Put the present value plus `delta` in place."""
        return self.assign(self._value + _plain(delta))

    def assign_sub(self, delta: Any) -> Variable:
        """Put the present value minus `delta` in place."""
        return self.assign(self._value - _plain(delta))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._value[_plain(key)] = _plain(value)

    def __getitem__(self, key: Any) -> Any:
        return self._value[_plain(key)]

    def _fitting(self, value: Any) -> Any:
        value = _plain(value)
        if getattr(type(value), "is_box", False):  # followed by a derivative
            return self._fitting_box(value)
        if type(value) in _NUMBERS:
            fits = np.result_type(self._value.dtype, value) == self._value.dtype
            what = f"a Python {type(value).__name__}"
        else:
            value = np.asarray(value)
            fits, what = np.can_cast(value.dtype, self._value.dtype, "same_kind"), value.dtype.name
        if not fits:
            raise VariableError(
                f"{self._called()} holds {self._value.dtype.name}, not {what}",
                why="the dtype of a Variable never changes",
                fix="convert the value with astype, or make the Variable with another dtype",
            )
        new = np.array(value, dtype=self._value.dtype)
        self._check_shape(new)
        return new

    def _fitting_box(self, value: Any) -> Any:
        self._fitting(value.concrete_value)  # raises what doesn't fit
        return np.multiply(value, self._array.dtype.type(1)).astype(self._array.dtype)

    def _check_shape(self, value: Any) -> None:
        if self._shape is None:
            return
        if len(self._shape) == value.ndim and all(
            n is None or n == m for n, m in zip(self._shape, value.shape, strict=True)
        ):
            return
        raise VariableError(
            f"{self._called()} holds arrays of shape {self._shape}, not {value.shape}",
            why="the shape of a Variable is fixed when it is made",
            fix="make it with shape=None, or None for the axes that may change",
        )

    def _called(self) -> str:
        return f"the Variable {self.name!r}" if self.name else "the Variable"

    # ------------------------------------------------------------------ being an array
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy:
            return np.array(self._value, dtype=dtype)
        return self._value if dtype is None else np.asarray(self._value, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", ())
        plain = [_plain(x) for x in inputs]
        if any(isinstance(x, Variable) for x in out):
            result = getattr(ufunc, method)(*plain, **kwargs)
            results = result if isinstance(result, tuple) else (result,)
            for place, new in zip(out, results, strict=True):
                if isinstance(place, Variable):
                    place.assign(new)
                elif place is not None:
                    place[...] = new
            return out[0] if len(out) == 1 else out
        if out:
            kwargs["out"] = out
        return getattr(ufunc, method)(*plain, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*_deep(args), **{name: _deep(value) for name, value in kwargs.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in (*Variable.__slots__, "_value"):  # a copy that has no value yet
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._value, name)

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._value)

    def __contains__(self, item: Any) -> bool:
        return _plain(item) in self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return int(self._value)

    def __float__(self) -> float:
        return float(self._value)

    def __complex__(self) -> complex:
        return complex(self._value)

    def __index__(self) -> int:
        return operator.index(self._value)

    def __format__(self, spec: str) -> str:
        return format(self._value[()] if self._value.ndim == 0 else self._value, spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        new = Variable(self._value, shape=self._shape, name=self.name)
        memo[id(self)] = new
        return new

    def __repr__(self) -> str:
        name = f", name={self.name!r}" if self.name else ""
        text = np.array2string(self._value, separator=", ")
        return f"Variable({text}, dtype={self._value.dtype.name}{name})"

    __hash__ = object.__hash__


def _in_place(name: str) -> Callable[[Variable, Any], Variable]:
    """`v += x` and its like: the new value in the old place."""
    compute = getattr(operator, name)

    def method(self: Variable, other: Any) -> Variable:
        return self.assign(compute(self._value, _plain(other)))

    method.__name__ = method.__qualname__ = f"__i{name.rstrip('_')}__"
    return method


IN_PLACE = {
    f"__i{name.rstrip('_')}__": _in_place(name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift",
                 "and_", "or_", "xor")
}  # fmt: skip
for _name, _method in IN_PLACE.items():
    setattr(Variable, _name, _method)

# What a trace records as calls that write the variable and nothing else.
WRITERS: frozenset[Any] = frozenset(
    {Variable.assign, Variable.assign_add, Variable.assign_sub, Variable.__setitem__, *IN_PLACE.values()}
)


def _plain(x: Any) -> Any:
    """The array of a Variable; anything else as it is."""
    return x._value if isinstance(x, Variable) else x


def _deep(x: Any) -> Any:
    """As `_plain`, also in tuples and lists: what array functions take."""
    if type(x) in (tuple, list):
        return type(x)(map(_deep, x))
    return _plain(x)


def keeps_type(variable: Variable) -> bool:
    """Whether every value of the variable has the shape that it has now."""
    return variable._shape is not None and None not in variable._shape


# ------------------------------------------------------------------------- where they may be made
class _Creation(threading.local):
    record: Callable[[tuple[Any, ...], dict[str, Any]], Any] | None = None  # while tracing: makes the node
    later = ""  # the function that is being traced again, where one is
    error: VariableError | None = None


_creation = _Creation()


@contextlib.contextmanager
def recorded_by(record: Callable[[tuple[Any, ...], dict[str, Any]], Any]) -> Iterator[None]:
    """While tracing: what making a Variable does in this thread, given the arguments."""
    before = _creation.record
    _creation.record = record
    try:
        yield
    finally:
        _creation.record = before


@contextlib.contextmanager
def traced_again(name: str) -> Iterator[None]:
    """While a function is traced that has a trace already: making a Variable is an error."""
    before = _creation.later, _creation.error
    _creation.later, _creation.error = name, None
    try:
        yield
        if _creation.error is not None:  # it may have been taken for a reason to leave a part to Python
            raise _creation.error
    finally:
        _creation.later, _creation.error = before


def check_creation(span: Span | None) -> None:
    """VariableError where a function that has a trace already makes a Variable in another one."""
    if _creation.later:
        _creation.error = VariableError(
            f"{_creation.later!r} makes a Variable in another trace than its first",
            span=span,
            why="each trace would have a Variable of its own, and what was assigned before would be lost",
            fix="make it once: outside the function, in __init__, or where `self.v is None`",
        )
        raise _creation.error
