"""Memory of large arrays that native code makes: taken again when such an array has died.

The system hands out memory page by page, as it is touched, which takes longer than most kernels need to fill
it.  In: nothing.  Out: functions that make arrays.  What always holds: arrays own their memory as all others
do, and give it back through their own handler, as NumPy has it for allocators; what is kept is bounded; where
the user chose an allocator, or something is not as expected, arrays are made in the usual way.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

import numpy as np

from runtime.execute.native import abi, link, llvm_load
from runtime.execute.native.kinds import Unlowered

MANY = 1 << 13  # elements of an array from which on it pays
LEAST = 1 << 15  # bytes of a block that is kept
PLACES = 16  # blocks that are kept at most
BOUND = 1 << 26  # bytes that are kept at most
API = {"SetHandler": 304, "DefaultHandler": 306}
NAME = b"autograph"
_images: list[link.Image] = []
_HEAD, _CAPSULE = 128, b"mem_handler"

_TEXT = """
%place = type {{ ptr, i64 }}
@places = internal global [{places} x %place] zeroinitializer
@total = global i64 0
@next = internal global i64 0
@capsule = global ptr null
@handler = global {{ [127 x i8], i8, ptr, ptr, ptr, ptr, ptr }} {{ [127 x i8] c"{name}", i8 1, ptr null,
  ptr @new, ptr @new_zeros, ptr @resized, ptr @released }}, align 16

declare ptr @np_malloc(ptr, i64)
declare ptr @np_calloc(ptr, i64, i64)
declare ptr @np_realloc(ptr, ptr, i64)
declare void @np_free(ptr, ptr, i64)
declare i64 @malloc_usable_size(ptr)
declare ptr @set_handler(ptr)
declare ptr @np_empty(i32, ptr, ptr, i32)
declare ptr @np_zeros(i32, ptr, ptr, i32)
declare void @Py_DecRef(ptr)
declare void @PyErr_Clear()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
@default = external global i8

; a block of this size that is kept, or null
define internal ptr @taken(i64 %size) noinline nounwind {{
start:
  br label %look
look:
  %k = phi i64 [ 0, %start ], [ %k1, %on ]
  %at = getelementptr [{places} x %place], ptr @places, i64 0, i64 %k
  %size_at = getelementptr %place, ptr %at, i64 0, i32 1
  %held = load i64, ptr %size_at
  %same = icmp eq i64 %held, %size
  br i1 %same, label %found, label %on
on:
  %k1 = add i64 %k, 1
  %end = icmp eq i64 %k1, {places}
  br i1 %end, label %none, label %look
found:
  %block = load ptr, ptr %at
  store i64 0, ptr %size_at
  %total = load i64, ptr @total
  %less = sub i64 %total, %size
  store i64 %less, ptr @total
  ret ptr %block
none:
  ret ptr null
}}

; the place that is next: what it holds is given back
define internal ptr @emptied() noinline nounwind {{
  %k = load i64, ptr @next
  %k1 = add i64 %k, 1
  %k2 = urem i64 %k1, {places}
  store i64 %k2, ptr @next
  %at = getelementptr [{places} x %place], ptr @places, i64 0, i64 %k
  %size_at = getelementptr %place, ptr %at, i64 0, i32 1
  %held = load i64, ptr %size_at
  %some = icmp ne i64 %held, 0
  br i1 %some, label %full, label %empty
full:
  %block = load ptr, ptr %at
  store i64 0, ptr %size_at
  %total = load i64, ptr @total
  %less = sub i64 %total, %held
  store i64 %less, ptr @total
  call void @np_free(ptr null, ptr %block, i64 %held)
  br label %empty
empty:
  ret ptr %at
}}

define internal ptr @new(ptr %context, i64 %size) nounwind {{
  %large = icmp uge i64 %size, {least}
  br i1 %large, label %look, label %fresh
look:
  %old = call ptr @taken(i64 %size)
  %found = icmp ne ptr %old, null
  br i1 %found, label %again, label %fresh
again:
  ret ptr %old
fresh:
  %block = call ptr @np_malloc(ptr null, i64 %size)
  ret ptr %block
}}

define internal ptr @new_zeros(ptr %context, i64 %count, i64 %each) nounwind {{
  %size = mul i64 %count, %each
  %large = icmp uge i64 %size, {least}
  br i1 %large, label %look, label %fresh
look:
  %old = call ptr @taken(i64 %size)
  %found = icmp ne ptr %old, null
  br i1 %found, label %again, label %fresh
again:
  call void @llvm.memset.p0.i64(ptr %old, i8 0, i64 %size, i1 false)
  ret ptr %old
fresh:
  %block = call ptr @np_calloc(ptr null, i64 %count, i64 %each)
  ret ptr %block
}}

define internal ptr @resized(ptr %context, ptr %block, i64 %size) nounwind {{
  %moved = call ptr @np_realloc(ptr null, ptr %block, i64 %size)
  ret ptr %moved
}}

define internal void @released(ptr %context, ptr %block, i64 %size) nounwind {{
  %large = icmp uge i64 %size, {least}
  %small = icmp ule i64 %size, {half}
  %keep = and i1 %large, %small
  br i1 %keep, label %asked, label %back
asked:
  %room = call i64 @malloc_usable_size(ptr %block)
  %holds = icmp uge i64 %room, %size
  br i1 %holds, label %place, label %back
place:
  %at = call ptr @emptied()
  %total = load i64, ptr @total
  %more = add i64 %total, %size
  %fits = icmp ule i64 %more, {bound}
  br i1 %fits, label %kept, label %place
kept:
  store ptr %block, ptr %at
  %size_at = getelementptr %place, ptr %at, i64 0, i32 1
  store i64 %size, ptr %size_at
  store i64 %more, ptr @total
  ret void
back:
  call void @np_free(ptr null, ptr %block, i64 %size)
  ret void
}}

define internal i1 @large(i32 %rank, ptr %sizes) nounwind {{
start:
  br label %axis
axis:
  %k = phi i32 [ 0, %start ], [ %k1, %more ]
  %count = phi i64 [ 1, %start ], [ %count1, %more ]
  %end = icmp eq i32 %k, %rank
  br i1 %end, label %out, label %more
more:
  %at = getelementptr i64, ptr %sizes, i32 %k
  %n = load i64, ptr %at
  %count1 = mul i64 %count, %n
  %k1 = add i32 %k, 1
  br label %axis
out:
  %answer = icmp sge i64 %count, {many}
  ret i1 %answer
}}
"""

_MAKER = """
define ptr @{how}(i32 %rank, ptr %sizes, ptr %descr, i32 %order) nounwind {{
  %large = call i1 @large(i32 %rank, ptr %sizes)
  br i1 %large, label %other, label %usual
usual:
  %plain = call ptr @np_{how}(i32 %rank, ptr %sizes, ptr %descr, i32 %order)
  ret ptr %plain
other:
  %ours = load ptr, ptr @capsule
  %before = call ptr @set_handler(ptr %ours)
  %failed = icmp eq ptr %before, null
  br i1 %failed, label %cleared, label %set
cleared:
  call void @PyErr_Clear()
  br label %usual
set:
  %is_default = icmp eq ptr %before, @default
  br i1 %is_default, label %make, label %leave
make:
  %made = call ptr @np_{how}(i32 %rank, ptr %sizes, ptr %descr, i32 %order)
  br label %back
leave:
  br label %back
back:
  %result = phi ptr [ %made, %make ], [ null, %leave ]
  %after = call ptr @set_handler(ptr %before)
  call void @Py_DecRef(ptr %before)
  %odd = icmp eq ptr %after, null
  br i1 %odd, label %stays, label %restored
stays:
  call void @PyErr_Clear()
  br label %out
restored:
  call void @Py_DecRef(ptr %after)
  br label %out
out:
  br i1 %is_default, label %end, label %usual
end:
  ret ptr %result
}}
"""


@functools.cache
def symbols() -> dict[str, int]:
    """The functions that make arrays, by symbol; empty where memory is not recycled."""
    try:
        with llvm_load.LOCK:
            return _loaded()
    except (Unlowered, AttributeError, OSError, ValueError, TypeError):
        return {}


@functools.cache
def _loaded() -> dict[str, int]:
    """Made once: arrays may live as long as the process, and with them the code that takes their memory."""
    table = abi.functions()
    default = ctypes.py_object.from_address(table[API["DefaultHandler"]]).value
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    head = get(default, _CAPSULE)
    words = [ctypes.c_void_p.from_address(head + _HEAD + 8 * k).value or 0 for k in range(5)]
    if ctypes.string_at(head) != b"default_allocator" or words[0]:
        raise ValueError("NumPy's allocator is another one")
    known = {
        f"np_{name}": at for name, at in zip(("malloc", "calloc", "realloc", "free"), words[1:], strict=True)
    }
    usual = abi.symbols()
    known |= {f"np_{name.lower()}": usual[f"autograph_PyArray_{name}"] for name in ("Empty", "Zeros")}
    known |= {"default": id(default), "set_handler": table[API["SetHandler"]]}
    known |= {name: usual[name] for name in ("Py_DecRef", "PyErr_Clear")}
    image = link.load(llvm_load.object_code(text(), optimised=False, effort=0), known)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = make(image.address("handler"), _CAPSULE, None)
    for kept in (image.memory, capsule, default):  # for ever
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    image.variable(ctypes.c_void_p, "capsule").value = id(capsule)
    _images.append(image)
    found = {f"autograph_PyArray_{name}": image.address(name.lower()) for name in ("Empty", "Zeros")}
    return found if _works(found) else {}


def kept() -> int:
    """How many bytes are kept now."""
    return sum(int(image.variable(ctypes.c_int64, "total").value) for image in _images)


def text() -> str:
    """The module."""
    numbers = {"places": PLACES, "least": LEAST, "half": BOUND // 2, "bound": BOUND, "many": MANY}
    name = NAME.decode() + r"\00" * (127 - len(NAME))
    makers = "".join(_MAKER.format(how=how) for how in ("empty", "zeros"))
    return _TEXT.format(name=name, **numbers) + makers


def handler_name(x: Any) -> str | None:
    """Which handler an array's memory is from; without an array, that of new ones."""
    try:
        module = importlib.import_module("numpy._core.multiarray")
    except ImportError:  # NumPy 1.x
        module = importlib.import_module("numpy.core.multiarray")
    found: str | None = module.get_handler_name(*([] if x is None else [x]))
    return found


def _works(makers: dict[str, int]) -> bool:
    """Whether memory comes back, clean where that is asked for, and NumPy itself goes on as before."""
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int
    )
    shape, descr, places = (ctypes.c_ssize_t * 2)(3, MANY + 37), np.dtype(np.float64), []
    for name in ("Empty", "Zeros", "Zeros"):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(descr))  # the function takes over a reference
        made = prototype(makers[f"autograph_PyArray_{name}"])(2, ctypes.addressof(shape), id(descr), 0)
        if handler_name(made) != NAME.decode() or made.shape != (3, MANY + 37) or not made.flags.owndata:
            return False
        if name == "Zeros" and made.any():
            return False
        made[...] = 1.5
        places.append(made.ctypes.data)
        del made
    return len(set(places)) == 1 and handler_name(np.empty(MANY)) == handler_name(None) == "default_allocator"
