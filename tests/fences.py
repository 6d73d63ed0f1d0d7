"""Tests run with every array at the edge of memory that nobody may touch.

    python -m tests.fences end|start PYTEST-ARGUMENTS...

Each array's memory ends (or begins) where a page without any rights begins (or ends), and goes back to the
system when the array goes: who reads or writes one element too far, or too late, ends the process.  Works
through NumPy's table of allocators, so arrays that native code makes are fenced in, too.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import sys

import pytest

from runtime.execute.native import abi, link, llvm_load

SET_HANDLER = 304  # the place of PyDataMem_SetHandler among NumPy's functions
_P = ctypes.c_void_p

# A block: a page that says how long all of it is and how much was asked for, a page without rights, the
# memory, a page without rights.  It is machine code, as NumPy gives memory back in the middle of exceptions.
ALLOCATOR = """
@made = global i64 0
@at_end = global i64 0
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @mprotect(ptr, i64, i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal ptr @block(i64 %asked, i8 %fill) {
  %zero = icmp eq i64 %asked, 0
  %size = select i1 %zero, i64 1, i64 %asked
  %above = add i64 %size, 4095
  %inside = and i64 %above, -4096
  %length = add i64 %inside, 12288
  %base = call ptr @mmap(ptr null, i64 %length, i32 3, i32 34, i32 -1, i64 0)
  %number = ptrtoint ptr %base to i64
  %failed = icmp eq i64 %number, -1
  br i1 %failed, label %none, label %some
none:
  ret ptr null
some:
  %size_at = getelementptr i64, ptr %base, i64 1
  store i64 %length, ptr %base
  store i64 %size, ptr %size_at
  %first = getelementptr i8, ptr %base, i64 4096
  %data = getelementptr i8, ptr %base, i64 8192
  %last = getelementptr i8, ptr %data, i64 %inside
  %a = call i32 @mprotect(ptr %first, i64 4096, i32 0)
  %b = call i32 @mprotect(ptr %last, i64 4096, i32 0)
  %which = load i64, ptr @at_end
  %free = sub i64 %inside, %size
  %shift = mul i64 %free, %which
  %address = getelementptr i8, ptr %data, i64 %shift
  call void @llvm.memset.p0.i64(ptr %address, i8 %fill, i64 %size, i1 false)
  %count = load i64, ptr @made
  %more = add i64 %count, 1
  store i64 %more, ptr @made
  ret ptr %address
}
define internal ptr @base(ptr %address) {
  %number = ptrtoint ptr %address to i64
  %page = and i64 %number, -4096
  %at = sub i64 %page, 8192
  %base = inttoptr i64 %at to ptr
  ret ptr %base
}
define ptr @malloc_(ptr %context, i64 %size) {
  %address = call ptr @block(i64 %size, i8 -91)
  ret ptr %address
}
define ptr @calloc_(ptr %context, i64 %count, i64 %size) {
  %all = mul i64 %count, %size
  %address = call ptr @block(i64 %all, i8 0)
  ret ptr %address
}
define void @free_(ptr %context, ptr %address, i64 %size) {
  %nothing = icmp eq ptr %address, null
  br i1 %nothing, label %done, label %some
some:
  %base = call ptr @base(ptr %address)
  %length = load i64, ptr %base
  %a = call i32 @munmap(ptr %base, i64 %length)
  br label %done
done:
  ret void
}
define ptr @realloc_(ptr %context, ptr %old, i64 %size) {
  %new = call ptr @block(i64 %size, i8 -91)
  %nothing = icmp eq ptr %old, null
  %failed = icmp eq ptr %new, null
  %stop = or i1 %nothing, %failed
  br i1 %stop, label %done, label %some
some:
  %base = call ptr @base(ptr %old)
  %size_at = getelementptr i64, ptr %base, i64 1
  %before = load i64, ptr %size_at
  %n = call i64 @llvm.umin.i64(i64 %before, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %old, i64 %n, i1 false)
  call void @free_(ptr null, ptr %old, i64 0)
  br label %done
done:
  ret ptr %new
}
declare i64 @llvm.umin.i64(i64, i64)
"""


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", _P),
        ("malloc", _P),
        ("calloc", _P),
        ("realloc", _P),
        ("free", _P),
    )


class Fences:
    """The allocator.  side: where arrays touch what must not be touched, "end" or "start"."""

    def __init__(self, side: str) -> None:
        self._image = link.load(llvm_load.object_code(ALLOCATOR), {})
        self._image.variable(ctypes.c_int64, "at_end").value = {"end": 1, "start": 0}[side]
        places = [self._image.address(f"{name}_") for name in ("malloc", "calloc", "realloc", "free")]
        self._handler = _Handler(b"fences", 1, None, *places)

    @property
    def made(self) -> int:
        """How many arrays it has given memory to."""
        return int(self._image.variable(ctypes.c_int64, "made").value)

    def install(self) -> None:
        """Let NumPy use it from now on, in this thread."""
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [_P, ctypes.c_char_p, _P]
        self._name = b"mem_handler"
        capsule = new(ctypes.addressof(self._handler), self._name, None)
        put = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(abi.functions()[SET_HANDLER])
        self._keep = capsule, put(capsule)


def main(arguments: list[str]) -> int:
    """The command."""
    if not arguments or arguments[0] not in ("end", "start"):
        print(__doc__)
        return 2
    faulthandler.enable()
    fences = Fences(arguments[0])
    fences.install()
    status = int(pytest.main([*arguments[1:], "-p", "no:cacheprovider", "-p", "no:xdist"]))
    print(f"{fences.made} arrays were fenced in")
    return status


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # without taking Python apart, which would give back arrays when nothing runs any more
