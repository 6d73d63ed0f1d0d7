"""What native code knows of a number: its dtype, whether it is a Python number, and how it is held.

In: dtypes and Python values.  Out: `Scalar`, LLVM type names and literals.  What always holds: a Python int
is held in 64 bits, signed or, where it was masked so, without a sign (what does not fit is left to the plan),
a Python float in a double, bools in one bit.
"""

from __future__ import annotations

import os.path
import struct
from typing import Any

import numpy as np

from runtime.computed import computed
from runtime.dataclass import dataclass
from runtime.errors import Span
from runtime.types import ArrayType, StaticType, Type, WeakType


class Unlowered(Exception):
    """Native code can't express this; the text says what.  The plan runs it.  span: where it stands."""

    def __init__(self, what: str, span: Span | None = None) -> None:
        super().__init__(what)
        self.span = span

    def text(self) -> str:
        """What it is and in which line of the user's, where that is known."""
        where = f" ({os.path.basename(self.span.file)}:{self.span.line})" if self.span else ""
        return f"{self}{where}"


_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
SUPPORTED: dict[int, np.dtype[Any]] = {np.dtype(name).num: np.dtype(name) for name in _NAMES.split()}


def supported(dtype: np.dtype[Any]) -> bool:
    """Whether elements of this very dtype can be held: native byte order, the usual C types."""
    return dtype.isnative and dtype.num in SUPPORTED


@dataclass(frozen=True)
class Scalar:
    """One kind of number: a NumPy scalar of `dtype`, or (weak) a Python bool, int or float."""

    dtype: np.dtype[Any]
    weak: bool = False

    @computed
    def kind(self) -> str:
        """The dtype's kind: b, i, u, f or c."""
        return self.dtype.kind

    @computed
    def bits(self) -> int:
        """The width; 1 for bools."""
        return 1 if self.kind == "b" else self.dtype.itemsize * 8

    @computed
    def llvm(self) -> str:
        """The LLVM type that holds one."""
        if self.kind == "f":
            return "double" if self.bits == 64 else "float"
        if self.kind == "c":
            return "<2 x double>" if self.bits == 128 else "<2 x float>"
        return f"i{self.bits}"

    @property
    def asked(self) -> Any:
        """How it takes part in NumPy's promotion: a dtype, or a Python type."""
        if not self.weak or self.kind == "b":
            return self.dtype
        return {"i": int, "u": int, "f": float, "c": complex}[self.kind]

    @property
    def type(self) -> Type:
        """The trace type."""
        if self.weak:
            return WeakType({"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}[self.kind])
        return ArrayType(self.dtype, (), True)


PYTHON_BOOL = Scalar(np.dtype(np.bool_), True)
PYTHON_INT = Scalar(np.dtype(np.int64), True)
PYTHON_WIDE = Scalar(np.dtype(np.uint64), True)  # a Python int that is not negative, of up to 64 bits
PYTHON_SMALL = Scalar(np.dtype(np.int16), True)  # one that takes 16 bits; only beside another kind (`NARROW`)
PYTHON_FLOAT = Scalar(np.dtype(np.float64), True)
PYTHON_COMPLEX = Scalar(np.dtype(np.complex128), True)
BOOL = Scalar(np.dtype(np.bool_))
INT64 = Scalar(np.dtype(np.int64))
FLOAT64 = Scalar(np.dtype(np.float64))
_NUMPY = {num: Scalar(dtype) for num, dtype in SUPPORTED.items()}
NARROW = (Scalar(np.dtype(np.int32)), Scalar(np.dtype(np.float32)))  # what numbers of two kinds are held as
WEAK = {"bool": PYTHON_BOOL, "int": PYTHON_INT, "float": PYTHON_FLOAT, "complex": PYTHON_COMPLEX}
OF_PYTHON: dict[type, Scalar] = {
    bool: PYTHON_BOOL, int: PYTHON_INT, float: PYTHON_FLOAT, complex: PYTHON_COMPLEX,
}  # fmt: skip


def numpy_scalar(dtype: np.dtype[Any]) -> Scalar:
    """The kind of a NumPy scalar of this dtype."""
    if not supported(dtype):
        raise Unlowered(f"numbers of dtype {dtype}")
    return _NUMPY[dtype.num]


def scalar_of_type(t: Type) -> Scalar | None:
    """The kind of number that a trace type describes, None for any other type."""
    if isinstance(t, WeakType):
        if t.kind not in WEAK:
            raise Unlowered(f"Python numbers of type {t.kind}")
        return WEAK[t.kind]
    if isinstance(t, ArrayType) and t.scalar:
        return numpy_scalar(t.dtype)
    return scalar_of_type(_bare(t.value)) if isinstance(t, StaticType) and _bare(t.value) else None


def _bare(value: Any) -> Any:
    return OF_PYTHON[type(value)].type if type(value) in OF_PYTHON else None


Members = tuple[Scalar, ...]  # what a value may be at run time: one kind, or one of two


def payload(members: Members) -> str:
    """The LLVM type that holds any of the members."""
    if len(members) == 1:
        return members[0].llvm
    if members[0].llvm == members[1].llvm:
        return members[0].llvm
    if members[0] == PYTHON_SMALL and members[1] in NARROW:
        return members[1].llvm
    if any(m.kind == "c" for m in members):
        raise Unlowered("a number that is complex on one way only")
    if any(m.kind == "f" for m in members):
        return "double"
    if any(m.kind == "u" and m.bits == 64 for m in members):
        raise Unlowered("a number that is uint64 on one way only")
    return "i1" if all(m.kind == "b" for m in members) else "i64"


def literal(value: Any, llvm: str) -> str:
    """The text of a constant."""
    if llvm == "i1":
        return "true" if value else "false"
    if llvm in ("<2 x double>", "<2 x float>"):
        part = llvm[5:-1]
        return f"<{part} {literal(value.real, part)}, {part} {literal(value.imag, part)}>"
    if llvm in ("double", "float"):
        number = float(np.float32(value)) if llvm == "float" else float(value)
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    bits = int(llvm[1:])
    number = int(value)
    return str(number - (1 << bits) if number >= 1 << (bits - 1) else number)
