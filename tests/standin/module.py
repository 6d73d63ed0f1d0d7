"""The stand-in module `cupy` itself, put together from the snapshot, and how to put it in place.

Always holds: a name that the wheel lacks is an AttributeError, also where NumPy has it.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.standin import device, functions, spec
from tests.standin.array import CUPY, ndarray
from tests.standin.ufunc import Ufunc

CREATION = ("zeros", "ones", "eye", "identity", "tri", "linspace", "logspace", "indices")
LIKE = ("zeros_like", "ones_like", "empty_like", "full_like")
HOST_NAMES = (
    *("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp"),
    *("float16", "float32", "float64", "complex64", "complex128", "dtype", "iinfo", "finfo"),
    *("newaxis", "pi", "e", "inf", "nan", "euler_gamma", "can_cast", "promote_types"),
)


def result_type(*values: Any) -> np.dtype[Any]:
    return np.result_type(*(v.dtype if isinstance(v, ndarray) else v for v in values))


def get_array_module(*values: Any) -> types.ModuleType:
    return CUPY if any(isinstance(v, ndarray) for v in values) else np


@functools.cache
def build() -> types.ModuleType:
    """The module, filled on the first call."""
    snapshot = spec.load()
    names = vars(CUPY)
    for name, parameters in snapshot["functions"].items():
        if hasattr(np, name):
            names[name] = functions.function(name, getattr(np, name), parameters)
    names.update({n: Ufunc(n, entry) for n, entry in snapshot["ufuncs"].items() if hasattr(np, n)})
    names.update({n: functions.creation(n) for n in CREATION}, **{n: functions.like(n) for n in LIKE})
    names.update({n: getattr(np, n) for n in HOST_NAMES})
    for name in ("where", "array", "asarray", "asnumpy", "ascontiguousarray", "full", "arange"):
        names[name] = getattr(functions, name)
    names.update(
        __version__=snapshot["cupy"] + "+standin",
        __path__=[],
        ndarray=ndarray,
        empty=ndarray,
        result_type=result_type,
        get_array_module=get_array_module,
        cuda=device.cuda_module(),
        linalg=submodule("linalg", np.linalg, snapshot["linalg"]),
        fft=submodule("fft", np.fft, snapshot["fft"]),
    )
    for name in functions.METHODS:
        setattr(ndarray, name, functions.method(name, snapshot["ndarray"][name]))
    for owner in (CUPY, CUPY.linalg, CUPY.fft, CUPY.cuda):
        claim(owner)
    return CUPY


def claim(owner: types.ModuleType) -> None:
    """Let functions and classes say that CuPy is their home: a tracer takes that for code it needn't read."""
    for member in vars(owner).values():
        if str(getattr(member, "__module__", "")).startswith("tests.standin"):
            (type(member) if isinstance(member, Ufunc) else member).__module__ = owner.__name__


def submodule(name: str, twin: types.ModuleType, entries: dict[str, Any]) -> types.ModuleType:
    module = types.ModuleType(f"cupy.{name}")
    for entry, parameters in entries.items():
        if hasattr(twin, entry):
            setattr(module, entry, functions.library(entry, getattr(twin, entry), parameters))
    return module


@contextlib.contextmanager
def installed() -> Iterator[types.ModuleType]:
    """Inside, `import cupy` gives the stand-in."""
    cupy = build()
    ours = {"cupy": cupy, **{f"cupy.{n}": getattr(cupy, n) for n in ("cuda", "linalg", "fft")}}
    before = {name: sys.modules.get(name) for name in ours}
    sys.modules.update(ours)
    try:
        yield cupy
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
