"""NumPy's own inner loops as native callees: what a ufunc runs per element, callable without Python.

In: a ufunc and the dtypes of a loop.  Out: the addresses of the loop and of its data.  What always holds:
the loop found is the one NumPy itself takes for these dtypes: the first whose types match.
"""

from __future__ import annotations

import ctypes

import numpy as np

from runtime.execute.native.kinds import Scalar


class _UFunc(ctypes.Structure):
    """The public head of a ufunc object, as NumPy's header declares it."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_char)),
    )


def inner_loop(ufunc: np.ufunc, kinds: list[Scalar]) -> tuple[int, int] | None:
    """(address of the loop, address of its data) for operands and results of these kinds, or None."""
    seen = _UFunc.from_address(id(ufunc))
    if (seen.nin, seen.nout, seen.ntypes) != (ufunc.nin, ufunc.nout, ufunc.ntypes):
        return None
    if seen.name != ufunc.__name__.encode():
        return None
    wanted = bytes(k.dtype.num for k in kinds)
    for k in range(seen.ntypes):
        if seen.types[k * seen.nargs : (k + 1) * seen.nargs] == wanted and seen.functions[k]:
            return seen.functions[k], seen.data[k] or 0
    return None
