"""The loader of object files: references of each kind, lifetimes, what it refuses."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import pathlib
import subprocess
import sys
import weakref
from typing import Any

import pytest

from runtime.execute.native import link, llvm_load
from runtime.execute.native.executor import unavailable
from runtime.execute.native.kinds import Unlowered

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
MODULE = """
@outside = external global i8
@table = internal constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5]
@count = global i64 0
@start = global i64 40
@cells = internal global [3 x ptr] [ptr @count, ptr @start, ptr @outside]
declare double @autograph_cos(double)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare double @fmod(double, double)

define internal i64 @inner(i64 %x) noinline {
  %y = mul i64 %x, 3
  ret i64 %y
}
define ptr @where() {
  ret ptr @outside
}
define ptr @cell(i64 %k) {
  %at = getelementptr ptr, ptr @cells, i64 %k
  %found = load ptr, ptr %at
  ret ptr %found
}
define double @number(i64 %k, double %x) {
  %at = getelementptr double, ptr @table, i64 %k
  %a = load double, ptr %at
  %b = call double @autograph_cos(double %x)
  %c = fadd double %a, %b
  %d = fadd double %c, 0x400921FB54442D18
  ret double %d
}
define double @remainder(double %x, double %y) {
  %r = frem double %x, %y
  ret double %r
}
define i64 @add(i64 %x) {
  %a = load i64, ptr @count
  %b = load i64, ptr @start
  %c = add i64 %a, %x
  store i64 %c, ptr @count
  %d = add i64 %b, %c
  %e = call i64 @inner(i64 %d)
  ret i64 %e
}
define void @clear(ptr %p, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)
  ret void
}
"""


def loaded() -> tuple[link.Image, ctypes.c_int64]:
    cell = ctypes.c_int64(5)
    cos = ctypes.cast(ctypes.CDLL("libm.so.6").cos, ctypes.c_void_p).value
    assert cos is not None
    addresses = {"outside": ctypes.addressof(cell), "autograph_cos": cos}
    return link.load(llvm_load.object_code(MODULE), addresses), cell


def function(image: link.Image, name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(result, *arguments)(image.address(name))


def test_references() -> None:
    image, cell = loaded()
    assert function(image, "where", ctypes.c_void_p)() == ctypes.addressof(cell)
    number = function(image, "number", ctypes.c_double, ctypes.c_int64, ctypes.c_double)
    assert number(2, 0.5) == 3.5 + math.cos(0.5) + math.pi
    found = function(image, "cell", ctypes.c_void_p, ctypes.c_int64)
    wanted = [image.address("count"), image.address("start"), ctypes.addressof(cell)]
    assert [found(k) for k in range(3)] == wanted
    remainder = function(image, "remainder", ctypes.c_double, ctypes.c_double, ctypes.c_double)
    assert remainder(7.5, 2.0) == 1.5  # a function that the compiler calls by itself
    clear = function(image, "clear", None, ctypes.c_void_p, ctypes.c_int64)
    buffer = ctypes.create_string_buffer(b"x" * 100, 100)
    clear(ctypes.addressof(buffer), 99)
    assert buffer.raw == bytes(99) + b"x"


def test_variables_are_the_modules() -> None:
    image, _ = loaded()
    add = function(image, "add", ctypes.c_int64, ctypes.c_int64)
    count, start = image.variable(ctypes.c_int64, "count"), image.variable(ctypes.c_int64, "start")
    assert add(2) == 126 and count.value == 2
    start.value = 0
    assert add(1) == 9 and count.value == 3


def test_a_variable_keeps_the_memory() -> None:
    image, _ = loaded()
    count = image.variable(ctypes.c_int64, "count")
    gone = weakref.ref(image.memory)
    del image
    gc.collect()
    assert gone() is not None and count.value == 0
    del count
    gc.collect()
    assert gone() is None


def test_memory_is_writable_or_executable() -> None:
    image, _ = loaded()

    def rights(address: int) -> str:
        with open("/proc/self/maps", encoding="ascii") as file:
            for line in file:
                span, mode, *_ = line.split()
                low, high = (int(part, 16) for part in span.split("-"))
                if low <= address < high:
                    return mode[:3]
        return "none"

    assert rights(image.address("add")) == "r-x"
    assert rights(image.address("count")) == "rw-"
    where = image.address("add")
    del image
    gc.collect()
    assert rights(where) != "r-x"


@pytest.mark.parametrize("damage", ["empty", "short", "machine", "kind", "cut"])
def test_what_is_not_understood_is_refused(damage: str) -> None:
    data = bytearray(llvm_load.object_code(MODULE))
    if damage == "empty":
        data.clear()
    elif damage == "short":
        del data[40:]
    elif damage == "machine":
        data[18] = 3
    elif damage == "cut":
        del data[len(data) // 2 :]
    else:
        data[:4] = b"MZxx"
    with pytest.raises(Unlowered, match="can't be loaded"):
        link.load(bytes(data), {})


def test_a_name_that_nobody_has_is_refused() -> None:
    text = "declare void @nobody()\ndefine void @entry() {\n  call void @nobody()\n ret void\n}"
    with pytest.raises(Unlowered, match="nobody"):
        link.load(llvm_load.object_code(text), {})


def test_what_describes_a_function_stays_until_it_has_died() -> None:
    """What the collector takes apart first, where both are parts of a circle, was read after it was freed."""
    text = "define ptr @entry(ptr %self, ptr %args, i64 %count) {\n  ret ptr null\n}\n"
    image = link.load(llvm_load.object_code(text), {})
    function = llvm_load._builtin("named", image.address("entry"), (image.memory,))
    assert function.__name__ == "named"
    memory, *described = sorted(function.__self__, key=lambda x: x is not image.memory)
    assert memory is image.memory and described
    assert not any(map(gc.is_tracked, described))


FINALIZERS = """
import gc
import numpy as np
import autograph as ag
from runtime.config import settings
settings.executor, settings.compile = "native", "now"

class Owner:
    def __init__(self, salt):
        def total(x):
            s = salt
            for i in range(len(x)):
                s += x[i] * salt
            return s
        self.call, self.itself = ag.function(total), self
        self.call(np.ones(3))
        assert self.call.traces[-1].concrete.executor == "native"
        self.entry = self.call.traces[-1].concrete.executable

    def __del__(self):
        self.call(np.ones(3))
        self.entry(np.ones(3))
        if len(saved) < 3:
            saved.append(self)

saved = []
for k in range(6):
    Owner(k + 0.5)
    gc.collect()
for owner in saved:
    print(owner.call(np.ones(3)))
saved, owner = [None] * 9, None
gc.collect()
last = Owner(7.5)  # goes when the interpreter ends
"""


def test_finalizers_may_call_what_goes_with_them(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "finalizers.py"
    script.write_text(FINALIZERS)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.getcwd()},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["2.0", "6.0", "10.0"]
