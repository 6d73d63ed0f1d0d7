"""The stand-in's ufuncs: CuPy's loops and refusals from the snapshot, NumPy's arithmetic.

Always holds: the result has the dtype of the loop that CuPy would pick, and only `out`, `dtype` and
`casting` are taken as keyword arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.standin import device
from tests.standin.array import PYTHON_NUMBERS, Host, computed, converted, ndarray, new, operand, store

REFUSALS = {
    "cupy_subtract": "cupy boolean subtract, the `-` operator, is deprecated, use the bitwise_xor, "
    "the `^` operator, or the logical_xor function instead.",
    "cupy_negative": "The cupy boolean negative, the `-` operator, is not supported, use the `~` operator "
    "or the logical_not function instead.",
}
RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 2}


class Ufunc:
    """One of CuPy's elementwise functions."""

    def __init__(self, public: str, entry: dict[str, Any]) -> None:
        self.__name__ = public
        self.name: str = entry["name"]
        self.nin: int = entry["nin"]
        self.nout: int = entry["nout"]
        self.types: list[str] = entry["types"] + entry["refused"]
        self._loops = [tuple(types.split("->")) for types in entry["types"]]
        self._refused = [types.split("->")[0] for types in entry["refused"]]
        self._numpy: Any = getattr(np, public)

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}'>"

    def __call__(
        self, *args: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind", **kwargs: Any
    ) -> Any:
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if not self.nin <= len(args) <= self.nin + self.nout:
            raise TypeError(f"Wrong number of arguments for {self.name!r}")
        if len(args) > self.nin:
            out = args[self.nin :]
        inputs = [operand(value) for value in args[: self.nin]]
        outs: list[Any] = list(out) if isinstance(out, tuple) else [out] * self.nout
        outs += [None] * (self.nout - len(outs))
        for target in outs:
            if target is not None and not isinstance(target, ndarray):
                raise TypeError(f"Unsupported type {type(target)}")
        in_types, out_types = self._loop(inputs) if dtype is None else self._loop_for(np.dtype(dtype))
        shape = self._shape(inputs, outs)
        results = [
            new(shape, out_type) if target is None else self._target(target, shape, out_type, casting)
            for out_type, target in zip(out_types, outs, strict=True)
        ]
        first = self._compute(inputs, in_types)
        for k, result in enumerate(results):
            store(result, lambda k=k: self._compute(inputs, in_types)[k], first[k])  # type: ignore[misc]
        return results[0] if self.nout == 1 else tuple(results)

    def _compute(self, inputs: list[Any], types: str) -> tuple[Any, ...]:
        values = [
            np.asarray(np.dtype(t).type(v)) if type(v) in PYTHON_NUMBERS else converted(v, np.dtype(t))
            for v, t in zip(inputs, types, strict=True)
        ]
        with np.errstate(all="ignore"):
            if self.name == "cupy_power" and values[0].dtype.kind in "iu":
                return (integer_power(*values),)
            result = self._numpy(*values)
        return result if isinstance(result, tuple) else (result,)

    def _loop(self, inputs: list[Any]) -> tuple[str, ...]:
        """The first loop that takes the inputs; Python numbers are weak unless of a higher kind."""
        weak = [type(v) in (int, float, complex) for v in inputs]
        dtypes = [np.dtype(type(v)) if type(v) in PYTHON_NUMBERS else np.dtype(v.dtype) for v in inputs]
        ranks = [RANKS[d.kind] for d in dtypes]
        strong = max((r for r, w in zip(ranks, weak, strict=True) if not w), default=-1)
        yields = all(r <= strong for r, w in zip(ranks, weak, strict=True) if w)

        def takes(k: int, code: str) -> bool:
            if weak[k] and yields:
                return bool(np.result_type(type(inputs[k])(0), np.dtype(code)) == np.dtype(code))
            return np.can_cast(dtypes[k], code)

        for types in self._refused:
            if all(d.char == code for d, code in zip(dtypes, types, strict=True)):
                raise TypeError(REFUSALS.get(self.name, f"{self.name} is not supported for booleans"))
        for loop in self._loops:
            if all(takes(k, code) for k, code in enumerate(loop[0])):
                return loop
        raise TypeError(f"Wrong type ({tuple(dtypes)}) of arguments for {self.name}")

    def _loop_for(self, dtype: np.dtype[Any]) -> tuple[str, ...]:
        for loop in self._loops:
            if set(loop[1]) == {dtype.char}:
                return loop
        raise TypeError(f"No loop matching the specified signature was found for ufunc {self.name}")

    def _shape(self, inputs: list[Any], outs: list[Any]) -> tuple[int, ...]:
        shapes = [v.shape for v in (*inputs, *outs) if isinstance(v, (np.ndarray, ndarray))]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            text = " ".join(map(str, shapes))
            raise ValueError(f"operands could not be broadcast together with shapes {text}") from None

    def _target(self, target: ndarray, shape: tuple[int, ...], code: str, casting: Any) -> ndarray:
        if not np.can_cast(np.dtype(code), target.dtype, casting):
            raise TypeError(
                f"Cannot cast output operand from {np.dtype(code)!r} to {target.dtype!r} "
                f"according to the rule '{casting}'"
            )
        if target.shape != shape:
            raise ValueError("Out shape is mismatched")
        return target

    # -- the other ways to call a ufunc

    def _with_numpy(self, way: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ndarray:
        values = [operand(v) for v in args]
        out = kwargs.pop("out", None)

        def compute() -> Host:
            with np.errstate(all="ignore"):
                return np.asarray(getattr(self._numpy, way)(*values, **kwargs))

        if out is None:
            return computed(compute)
        store(out, compute, compute())
        return out  # type: ignore[no-any-return]

    def reduce(self, *args: Any, **kwargs: Any) -> ndarray:
        return self._with_numpy("reduce", args, kwargs)

    def accumulate(self, *args: Any, **kwargs: Any) -> ndarray:
        return self._with_numpy("accumulate", args, kwargs)

    def outer(self, *args: Any, **kwargs: Any) -> ndarray:
        return self._with_numpy("outer", args, kwargs)

    def at(self, array: ndarray, indices: Any, value: Any = None) -> None:
        key = array._host_key(indices)[0]
        values = () if value is None else (operand(value),)
        device.launch(lambda: self._numpy.at(array._values, key, *values))


def integer_power(base: Host, exponent: Host) -> Host:
    """CuPy's integer power: negative exponents give 0, except for bases 1 and -1."""
    negative = exponent < 0
    result = np.power(base, np.where(negative, 0, exponent).astype(exponent.dtype))
    sign = np.where(exponent % 2 == 0, 1, base)
    special = np.where(base == 1, 1, np.where(base == -1, sign, 0))
    return np.where(negative, special, result).astype(base.dtype)
