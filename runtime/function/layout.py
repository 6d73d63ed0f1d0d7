"""The memory layout of polymorphic functions, and the twins of their classes that machine code is called for.

In: a class with `Slots` among its bases.  Out: `twin(cls)`: a class of the same layout whose instances are
called by the C function whose address stands in `_vectorcall`; an instance becomes one by assignment to its
`__class__`, and the same object goes on.  What always holds: a class that can't have a twin here (another
Python, another layout than expected) has none, and its instances are called by their Python `__call__`.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any

from runtime.forking import ForkLock

_DEFAULT, _BASE, _VECTORCALL, _METHOD = 1 << 18, 1 << 10, 1 << 11, 1 << 17  # flags of types
_CALL, _MEMBERS = 50, 72  # slots of types, in CPython's stable numbering
_SIZE, _READ_ONLY = 19, 1  # kind and flag of a member
HEAD = object.__basicsize__
VECTORCALL_AT = HEAD


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("value", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_int),
        ("item", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


_kept: list[Any] = []  # types refer to the names of their members for ever


def _made(name: str, size: int, flags: int, member: _Member, call: int, bases: tuple[type, ...]) -> Any:
    """A class as C code makes one."""
    members = (_Member * 2)(member)
    slots = (_Slot * 3)(_Slot(_MEMBERS, ctypes.addressof(members)))
    if call:
        slots[1] = _Slot(_CALL, call)
    spec = _Spec(name.encode(), size, 0, flags, slots)
    _kept.append((members, slots, spec))
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(_Spec), ctypes.py_object]
    return make(ctypes.byref(spec), bases or (object,))


if TYPE_CHECKING:

    class Slots:
        """_vectorcall: an address; it means something for instances of twins only."""

        _vectorcall: int

else:

    def _slots() -> type:
        if sys.implementation.name == "cpython":
            try:
                member = _Member(b"_vectorcall", _SIZE, VECTORCALL_AT, 0, None)
                made = _made(f"{__name__}.Slots", HEAD + 8, _DEFAULT | _BASE, member, 0, ())
                made._native = True
                return made
            except (AttributeError, TypeError, ValueError, SystemError):
                pass
        return type("Slots", (), {"__slots__": ("_vectorcall",), "_native": False, "__module__": __name__})

    Slots = _slots()


_twins: dict[type, type | None] = {}
_lock = ForkLock()


def twin(cls: type) -> type | None:
    """The class of the same layout whose instances are called by the function at `_vectorcall`."""
    if cls not in _twins:
        with _lock:  # one class has one twin: it is how a twin is told from the class
            if cls not in _twins:
                _twins[cls] = _made_twin(cls)
    return _twins[cls]


def _made_twin(cls: type) -> type | None:
    if not getattr(cls, "_native", False):
        return None
    try:
        call = ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p).value or 0
        member = _Member(b"__vectorcalloffset__", _SIZE, VECTORCALL_AT, _READ_ONLY, None)
        flags = _DEFAULT | _BASE | _VECTORCALL | _METHOD
        made: type = _made(f"{cls.__module__}.{cls.__qualname__}", 0, flags, member, call, (cls,))
    except (AttributeError, TypeError, ValueError, SystemError):
        return None
    made.__doc__ = cls.__doc__
    same = made.__basicsize__ == cls.__basicsize__ and made.__dictoffset__ == cls.__dictoffset__
    return made if same and made.__weakrefoffset__ == cls.__weakrefoffset__ else None
