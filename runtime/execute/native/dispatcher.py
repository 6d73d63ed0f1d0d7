"""The dispatcher, loaded: its address, and where it finds things in this Python.

In: the running interpreter.  Out: `address()`, of the C function that calls of polymorphic functions go to,
0 where there is none (`problem()` says why); `version_at()` and `function_fields()` for who writes tables.
What always holds: no offset is used that was not seen to be right on real objects of this process.

Compiling it well takes longer than many calls that go through it: the first ones go through a form that was
compiled in a sixth of the time, and takes a third longer, unless the disk has the usual one.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import sys
import types
from typing import Any

import numpy as np

from runtime import background
from runtime.config import settings
from runtime.execute.native import abi, dispatch_ir, llvm_load
from runtime.execute.native.kinds import Unlowered
from runtime.gate import GATE
from runtime.mistakes import survived

CHAIN_AT = abi.HEAD + 8  # after the address that `layout.Slots` holds
CELL_AT = abi.HEAD  # where a closure cell keeps what it holds
_FUNCTIONS = (
    "Py_IncRef", "Py_DecRef", "PyObject_RichCompareBool", "PyDict_GetItemWithError", "PyObject_GetAttr",
    "PyObject_GetItem", "PyObject_Size", "PyErr_Occurred", "PyErr_ExceptionMatches",
    "PyErr_Clear", "PyErr_Fetch", "PyErr_NormalizeException", "PyErr_Restore", "PyException_SetTraceback",
    "PyException_GetTraceback", "PyLong_FromVoidPtr", "_Py_Dealloc",
    "PyMem_Malloc", "PyMem_Free", "PyErr_NoMemory",
)  # fmt: skip
OLD = sys.version_info < (3, 11)
_CALLS = ("PyObject_VectorcallDict", "_PyFunction_Vectorcall") if OLD else ("PyObject_Vectorcall",)
_FIELDS = ("__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__")
_FASTCALL = 0x80


def _call_anyhow(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The call of an instance that has no chain: the garbage collector is taking it apart."""
    return type(self).__mro__[1].__call__(self, *args, **kwargs)


def word(address: int) -> int:
    """The word in memory there."""
    return ctypes.c_int64.from_address(address).value


@functools.cache
def problem() -> str:
    """Why calls are not dispatched by machine code; empty if they are."""
    reason = abi.problem() or llvm_load.missing()
    if reason:
        return reason
    try:
        _compiled()
    except (Unlowered, AttributeError, OSError, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return _check_layout()


def load() -> None:
    """Load it now."""
    problem()


@functools.cache
def at_hand() -> bool:
    """Whether loading it takes little time: nothing need be compiled."""
    if abi.problem() or llvm_load.missing():
        return True
    return llvm_load.is_stored(_text()) or llvm_load.is_stored(_text(at_first=True), effort=0)


def _text(at_first: bool = False) -> str:
    return dispatch_ir.text(CHAIN_AT, OLD, at_first)


def address() -> int:
    """Where the C function is; 0 if there is none."""
    return 0 if problem() else _compiled()[0]


def _compiled() -> tuple[int, Any]:
    """The address, and what keeps the code in memory."""
    with llvm_load.LOCK:  # made once: what came of another attempt would be unmapped while it is in use
        return _made()


@functools.cache
def _made() -> tuple[int, Any]:
    at_first = settings.compile != "now" and not llvm_load.is_stored(_text())
    code = _code(at_first)
    return code.entry(), code


def _code(at_first: bool) -> llvm_load.Code:
    known = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in (*_FUNCTIONS, *_CALLS)
    }
    known |= {
        "autograph_gate": GATE.address,
        "autograph_type_ndarray": id(np.ndarray),
        "autograph_Exception": id(Exception),
        "autograph_AttributeError": id(AttributeError),
        "autograph_None": id(None),
        "autograph_call_anyhow": id(_call_anyhow),
        "autograph_on_many": id(_on_many),
    }
    keep = _call_anyhow, GATE, _on_many
    return llvm_load.compile_module(_text(at_first), known, "dispatch", keep, effort=0 if at_first else 2)


def _on_many() -> None:
    """So many calls went through the form for the first ones that the usual one is worthwhile."""
    _improving.submit()


def _improve() -> None:
    """Let the form for the first calls hand calls on to the usual form."""
    try:
        code = _code(at_first=False)
        _kept.append(code)
        _compiled()[1].image.variable(ctypes.c_int64, "better").value = code.entry()
    except Unlowered:  # the process is ending
        pass
    except Exception as problem:  # a mistake of ours: calls only take longer
        survived("calls are dispatched by the form for the first of them", problem)


_kept: list[llvm_load.Code] = []
_improving = background.Job(_improve)


@functools.cache
def version_at() -> int:
    """Where a dict keeps a number that changes with every change of the dict; 0 if it doesn't."""
    at = abi.HEAD + 8
    d: dict[str, Any] = {"a": 1, "b": 2, "c": 3}
    if dict.__basicsize__ < at + 8 or word(id(d) + abi.HEAD) != 3:
        return 0
    seen = {word(id(d) + at)}
    texts = (
        "d['a'] = 5", "d.pop('b')", "d.update(e=1)", "d.setdefault('f', 2)", "del d['e']", "exec('g = 1', d)",
        "d.clear()", "d |= {'a': 5}", "exec('def f():\\n global g\\n g = 2\\nfor _ in range(99): f()', d)",
    )  # fmt: skip
    for count, text in enumerate(texts, 2):
        exec(text, {"d": d})
        seen.add(word(id(d) + at))
        if len(seen) != count:
            return 0
    other: dict[str, int] = {}
    other["a"] = 1
    return at if word(id(other) + at) not in seen and word(id(d) + at) == word(id(d) + at) else 0


@functools.cache
def tag_at() -> int:
    """Where a class keeps a number that is 0 or new after each change of what it inherits; 0 if nowhere."""
    count = int(type.__dict__["__basicsize__"].__get__(type)) // 4

    def words(cls: type, name: str) -> list[int]:
        for _ in range(2):
            getattr(cls, name, None)  # looking gives a class its number
        return list((ctypes.c_uint32 * count).from_address(id(cls)))

    class Base:
        a = 0

    class Derived(Base):
        pass

    seen = [words(Derived, "a")]
    for cls in (Derived, Base, Base):  # a change of a base class is one, too
        cls.a = len(seen)
        seen.append(words(Derived, "a"))
    places = [
        4 * k
        for k in range(abi.HEAD // 4, count)
        if k % 2 == 0 and all(0 < b[k] - a[k] < 1000 for a, b in itertools.pairwise(seen))
    ]
    for at in places:
        before = word(id(Derived) + at) & 0xFFFFFFFF
        Base.a = 0
        changed = word(id(Derived) + at) & 0xFFFFFFFF
        getattr(Derived, "a")  # noqa: B009
        if changed == 0 and before and (word(id(Derived) + at) & 0xFFFFFFFF) > before:
            return at
    return 0


@functools.cache
def function_fields() -> dict[str, int]:
    """Where a Python function keeps its attributes, as far as that is certain."""

    def make(captured: Any) -> Any:
        def function(a: Any = captured, *, b: Any = 1) -> Any:
            return captured, a, b

        return function

    samples = [make(object()), make(object())]
    found = {}
    for name in _FIELDS:
        places = [
            at
            for at in range(abi.HEAD, types.FunctionType.__basicsize__, 8)
            if all(word(id(f) + at) == id(getattr(f, name)) for f in samples)
        ]
        if len(places) == 1:
            found[name] = places[0]
    return found


def code_of(function: Any) -> tuple[int, int] | None:
    """The C function of a built-in that takes (self, array of arguments, their number), and its self."""
    if type(function) is not types.BuiltinFunctionType:
        return None
    definition = word(id(function) + abi.HEAD)
    if ctypes.c_int.from_address(definition + 16).value != _FASTCALL:
        return None
    return word(definition + 8), word(id(function) + abi.HEAD + 8)


def _check_layout() -> str:
    words = (ctypes.c_int64 * 2)(11, 12)
    if word(id(words) + abi.HEAD) != ctypes.addressof(words):
        return "ctypes arrays are laid out in an unknown way"
    pair = (words, None)
    if word(id(pair) + abi.HEAD) != 2 or word(id(pair) + abi.HEAD + 8) != id(words):
        return "tuples are laid out in an unknown way"
    cell = types.CellType(pair)
    if word(id(cell) + abi.HEAD) != id(pair):
        return "closure cells are laid out in an unknown way"
    if code_of(abs) is not None or "__code__" not in function_fields():  # abs takes one object
        return "functions are laid out in an unknown way"
    return ""
