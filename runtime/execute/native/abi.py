"""Where Python and NumPy keep what native code reads and calls: offsets and addresses, checked before use.

In: the running interpreter.  Out: `SYMBOLS`-like mappings from `symbols()`, and `problem()`, the reason why
native code must not be used in this process, or "".  What always holds: no offset is used that was not seen
to be right on real objects of this process.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import platform
import sys
from typing import Any

import numpy as np

from runtime.execute.native.kinds import SUPPORTED

HEAD = object.__basicsize__  # size of what every object begins with
TYPE_AT = HEAD - ctypes.sizeof(ctypes.c_void_p)
DATA_AT, RANK_AT, SIZES_AT, STRIDES_AT, BASE_AT, DESCR_AT, FLAGS_AT = (
    HEAD + n for n in (0, 8, 16, 24, 32, 40, 48)
)
STATE_WORDS = 36  # of a thread's state that are looked at: less than it has in any version
BYTES_AT = bytes.__basicsize__ - 1  # where the bytes of a `bytes` object are
IN_ORDER, ALIGNED, WRITEABLE, WARNS_ON_WRITE = 0x1, 0x100, 0x400, 0x80000000
ARRAY_API = {"Zeros": 183, "Empty": 184, "NewCopy": 85, "CopyInto": 50, "Scalar": 60, "New": 93}
PYTHON_API = (
    "Py_IncRef", "Py_DecRef", "PyErr_Clear", "PyErr_CheckSignals", "PyErr_ExceptionMatches", "PyErr_Fetch",
    "PyErr_Restore",
    "PyEval_SaveThread", "PyEval_RestoreThread", "PyFloat_FromDouble", "PyComplex_FromDoubles",
    "PyLong_FromLongLong", "PyLong_FromUnsignedLongLong", "PyLong_AsLongLongAndOverflow",
    "PyTuple_New", "PyTuple_SetItem", "PyList_New", "PyList_SetItem", "PyList_Append", "PyList_SetSlice",
    "PyList_Reverse", "PyBytes_FromStringAndSize", "PyDict_New", "PyDict_SetItem", "PySet_New", "PySet_Add",
    "PyObject_Vectorcall",
    "PyThreadState_Get",
    "PyTuple_GetItem", "PyTuple_Size",
)  # fmt: skip
LIBM = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log1p", "sin",
    "sinh", "tan", "tanh", "log", "log2", "log10", "pow", "powf", "hypot", "erf", "erfc",
    "cbrt", "exp2", "atan2", "feclearexcept", "fetestexcept",
)  # fmt: skip


def _read(address: int, kind: Any) -> Any:
    return kind.from_address(address).value


@functools.cache
def symbols() -> dict[str, int]:
    """Addresses of functions and objects that native code refers to, by symbol."""
    found: dict[str, int] = {}
    api = ctypes.pythonapi
    for name in PYTHON_API:
        old = "PyObject_VectorcallDict" if name == "PyObject_Vectorcall" else name  # the same without names
        found[name] = _address(getattr(api, name if sys.version_info >= (3, 11) else old))
    table = functions()
    for name, place in ARRAY_API.items():
        found[f"autograph_PyArray_{name}"] = table[place]
    libm = ctypes.CDLL("libm.so.6")
    for name in LIBM:
        found[f"autograph_{name}"] = _address(getattr(libm, name))
    for cls in (int, float, bool, complex, np.ndarray):
        found[f"autograph_type_{cls.__name__}"] = id(cls)
    for value in (True, False):
        found[f"autograph_{value}"] = id(value)
    found["autograph_Exception"] = id(Exception)
    for num, dtype in SUPPORTED.items():
        found[f"autograph_descr_{num}"] = id(dtype)
        found[f"autograph_scalar_{num}"] = id(dtype.type)
    return found


@functools.cache
def tracer_at() -> int:
    """Where in its state a thread keeps what `sys.settrace` was given; -1 where it was not found.

    Debuggers and coverage follow Python's lines: while one does, calls go by the plan, which has the user's.
    """

    def watch(*_: object) -> None:
        """Follows nothing."""

    get = ctypes.pythonapi.PyThreadState_Get
    get.restype = ctypes.c_void_p
    words = (ctypes.c_void_p * STATE_WORDS).from_address(get())
    before = sys.gettrace()
    sys.settrace(watch)
    found = [k for k, word in enumerate(words) if word == id(watch)]
    sys.settrace(before)
    silent = before is not None or all(not words[k] for k in found)
    return found[0] * ctypes.sizeof(ctypes.c_void_p) if len(found) == 1 and silent else -1


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def functions() -> Any:
    """NumPy's table of functions for C."""
    try:
        module = importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:  # NumPy 1.x
        module = importlib.import_module("numpy.core._multiarray_umath")
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_void_p * 400).from_address(get(module._ARRAY_API, None))


@functools.cache
def problem() -> str:
    """Why native code can't be used here; empty if it can."""
    if sys.implementation.name != "cpython" or hasattr(sys, "_is_gil_enabled"):
        if not getattr(sys, "_is_gil_enabled", lambda: False)():
            return "this is not CPython with its lock"
    if sys.platform != "linux" or platform.machine() != "x86_64" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return f"this is {platform.system()} on {platform.machine()}, not 64-bit Linux on x86-64"
    try:
        symbols()
        return _check_scalars() or _check_arrays() or _check_functions()
    except (AttributeError, ImportError, OSError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def _check_scalars() -> str:
    number = 1234.5678
    if _read(id(number) + TYPE_AT, ctypes.c_void_p) != id(float):
        return "objects begin in an unknown way"
    if _read(id(number) + HEAD, ctypes.c_double) != number:
        return "Python floats are laid out in an unknown way"
    for dtype in SUPPORTED.values():
        scalar = dtype.type(1) if dtype.kind == "b" else dtype.type(77)
        held = ctypes.string_at(id(scalar) + HEAD, dtype.itemsize)
        if held != scalar.tobytes() or _read(id(scalar) + TYPE_AT, ctypes.c_void_p) != id(dtype.type):
            return f"NumPy scalars of {dtype} are laid out in an unknown way"
    if ctypes.string_at(id(b"bytes") + BYTES_AT) != b"bytes":
        return "bytes are laid out in an unknown way"
    items = [number, dtype, scalar]
    first = _read(id(items) + HEAD + 8, ctypes.c_void_p)
    found = [_read(first + 8 * k, ctypes.c_void_p) for k in range(3)]
    if _read(id(items) + HEAD, ctypes.c_ssize_t) != 3 or found != list(map(id, items)):
        return "lists are laid out in an unknown way"
    return ""


def _check_arrays() -> str:
    a = np.arange(24.0).reshape(4, 6)[::2, 1:]
    at = id(a)
    sizes, strides = _read(at + SIZES_AT, ctypes.c_void_p), _read(at + STRIDES_AT, ctypes.c_void_p)
    seen = (
        _read(at + TYPE_AT, ctypes.c_void_p) == id(np.ndarray),
        _read(at + DATA_AT, ctypes.c_void_p) == a.__array_interface__["data"][0],
        _read(at + RANK_AT, ctypes.c_int) == 2,
        _read(at + BASE_AT, ctypes.c_void_p) == id(a.base),
        _read(at + DESCR_AT, ctypes.c_void_p) == id(a.dtype),
        [_read(sizes + 8 * k, ctypes.c_ssize_t) for k in (0, 1)] == list(a.shape),
        [_read(strides + 8 * k, ctypes.c_ssize_t) for k in (0, 1)] == list(a.strides),
    )
    if not all(seen) or _read(at, ctypes.c_int32) != sys.getrefcount(a) - 1:
        return "arrays are laid out in an unknown way"
    for b in (a, np.ones(3), np.broadcast_to(1.0, (2, 2)), np.frombuffer(bytes(17), float, 2, 1)):
        flags = _read(id(b) + FLAGS_AT, ctypes.c_uint)
        meant = (IN_ORDER, b.flags.c_contiguous), (ALIGNED, b.flags.aligned), (WRITEABLE, b.flags.writeable)
        if any(bool(flags & bit) != told for bit, told in meant):
            return "the flags of arrays have an unknown meaning"
    return ""


def _check_functions() -> str:
    table = functions()
    if table[2] != id(np.ndarray):
        return "NumPy's table of functions has an unknown layout"
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int
    )
    shape = (ctypes.c_ssize_t * 2)(2, 3)
    for name in ("Zeros", "Empty"):
        descr = SUPPORTED[np.dtype(np.int32).num]
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(descr))  # the function takes over a reference
        made = prototype(table[ARRAY_API[name]])(2, ctypes.addressof(shape), id(descr), 0)
        if type(made) is not np.ndarray or made.shape != (2, 3) or made.dtype != np.int32:
            return f"PyArray_{name} is not where it was"
        if name == "Zeros" and made.any():
            return "PyArray_Zeros gives no zeros"
    copy = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_int)(table[ARRAY_API["NewCopy"]])
    a = np.arange(6.0).reshape(2, 3)
    b = copy(a, 0)
    into = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object)(table[ARRAY_API["CopyInto"]])
    c = np.zeros((2, 3))
    if b is a or b.tobytes() != a.tobytes() or into(c, a) != 0 or c.tobytes() != a.tobytes():
        return "PyArray_NewCopy or PyArray_CopyInto is not where it was"
    whole, strides = (ctypes.c_double * 6)(*range(6)), (ctypes.c_ssize_t * 2)(24, 8)
    i, p = ctypes.c_int, ctypes.c_void_p
    part = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, i, p, i, p, p, i, i, p)(
        table[ARRAY_API["New"]]
    )
    places = [ctypes.addressof(cells) for cells in (shape, strides, whole)]
    seen = part(np.ndarray, 2, places[0], a.dtype.num, places[1], places[2], 0, 0, None)
    if type(seen) is not np.ndarray or seen.tobytes() != a.tobytes() or seen.flags.owndata:
        return "PyArray_New is not where it was"
    number = ctypes.c_double(2.5)
    box = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    made = box(table[ARRAY_API["Scalar"]])(ctypes.addressof(number), np.dtype(float), None)
    return "" if type(made) is np.float64 and made == 2.5 else "PyArray_Scalar is not where it was"
