"""The entry: one C function that Python calls with objects, around a kernel that works on numbers.

In: a `Kernel`.  Out: the text of a whole LLVM module.  What always holds: an argument is used only after
its type, dtype, rank, sizes and flags were checked; when the kernel gives up, or flags were raised that
NumPy would report, every array it wrote to is put back as it was, and then the plan does the call.

Module variables: `@enabled` (0: every call goes to `@autograph_on_miss`), `@calls`, `@bails`, `@why` (see
`telling`).
"""

from __future__ import annotations

import math

import numpy as np

from runtime.execute.native import abi, copying, merge, recycled, saved, streams
from runtime.execute.native.arrays import plus, times
from runtime.execute.native.emit import BARRIER, BRIEFLY, COLD, FALSE, FLAGS, TRUE, Block, Emitter
from runtime.execute.native.kernel import Kernel
from runtime.execute.native.kinds import Scalar
from runtime.execute.native.objects import Objects
from runtime.execute.native.values import (
    Arr,
    Num,
    Stream,
    Val,
    one,
    widen,
)

DECLARATIONS = """
declare void @Py_DecRef(ptr)
declare void @PyErr_Clear()
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyComplex_FromDoubles(double, double)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromUnsignedLongLong(i64)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyTuple_New(i64)
declare ptr @PyList_New(i64)
declare ptr @PyDict_New()
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare ptr @PySet_New(ptr)
declare i32 @PySet_Add(ptr, ptr)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyThreadState_Get()
declare ptr @autograph_PyArray_NewCopy(ptr, i32)
declare ptr @autograph_PyArray_Empty(i32, ptr, ptr, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @autograph_PyArray_CopyInto(ptr, ptr)
declare ptr @autograph_PyArray_Scalar(ptr, ptr, ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare i32 @autograph_feclearexcept(i32)
declare i32 @autograph_fetestexcept(i32)
declare i32 @PyErr_CheckSignals()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare i32 @PyErr_ExceptionMatches(ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
"""
VARIABLES = f"""
@enabled = global i32 1
@calls = global i64 0
@bails = global i64 0
@why = global i32 0
@skip = global i64 0
@backoff = global i64 64
@losses = global i64 0
define internal i32 @breathe() {COLD} {{
  %state = call ptr @PyEval_SaveThread()
  call void @PyEval_RestoreThread(ptr %state)
  %failed = call i32 @PyErr_CheckSignals()
  ret i32 %failed
}}
"""
_RELEASE = f"""define internal void @release(ptr %owned, i64 %count) noinline nounwind {BRIEFLY} {{
start:
  br label %each
each:
  %k = phi i64 [ 0, %start ], [ %k1, %each ]
  %at = getelementptr ptr, ptr %owned, i64 %k
  %x = load ptr, ptr %at
  call void @Py_DecRef(ptr %x)
  %k1 = add nuw nsw i64 %k, 1
  %more = icmp ult i64 %k1, %count
  br i1 %more, label %each, label %out
out:
  ret void
}}"""
# Whether what a call raised is not the function's own error: it is no `Exception` (Ctrl-C), or does not come
# again when the function is called once more (a signal handler's).
_FROM_OUTSIDE = f"""define internal i1 @from_outside(ptr %f, ptr %given, i64 %n) {COLD} {{
  %parts = alloca [3 x ptr]
  %second = getelementptr ptr, ptr %parts, i64 1
  %third = getelementptr ptr, ptr %parts, i64 2
  %usual = call i32 @PyErr_ExceptionMatches(ptr @autograph_Exception)
  %isusual = icmp ne i32 %usual, 0
  br i1 %isusual, label %again, label %outside
again:
  call void @PyErr_Fetch(ptr %parts, ptr %second, ptr %third)
  %type = load ptr, ptr %parts
  %value = load ptr, ptr %second
  %trace = load ptr, ptr %third
  %made = call ptr @PyObject_Vectorcall(ptr %f, ptr %given, i64 %n, ptr null)
  %none = icmp eq ptr %made, null
  br i1 %none, label %own, label %other
other:
  call void @Py_DecRef(ptr %made)
  call void @PyErr_Restore(ptr %type, ptr %value, ptr %trace)
  br label %outside
outside:
  ret i1 true
own:
  call void @Py_DecRef(ptr %type)
  call void @Py_DecRef(ptr %value)
  call void @Py_DecRef(ptr %trace)
  %now = call i32 @PyErr_ExceptionMatches(ptr @autograph_Exception)
  %isodd = icmp eq i32 %now, 0
  ret i1 %isodd
}}"""
WEIGHTS = ((1, 1 << 20), (1 << 20, 1))  # of branches that are hardly ever, and almost always, taken
LARGE = 1 << 16  # bytes
FEW = 3  # arrays that are given up one by one, without a loop
OBJECTS = (
    "autograph_type_int", "autograph_type_float", "autograph_type_ndarray", "autograph_True",
    "autograph_False", "autograph_Exception", "autograph_on_miss", "autograph_on_bail", "autograph_on_flags",
)  # fmt: skip


def module(kernel: Kernel, in_order: bool) -> str:
    """The text of the module: the kernel, and `@entry(self, args, nargs)` for METH_FASTCALL."""
    writer = _Entry(kernel, in_order)
    body = writer.body()
    externals = sorted({*OBJECTS, *kernel.objects, *kernel.addresses, *writer.used})
    lines = [f"@{name} = external global i8" for name in externals]
    declared = [*DECLARATIONS.strip().splitlines(), *kernel.declarations, *writer.e.declarations]
    weights = "\n".join(
        f'!{k} = !{{!"branch_weights", i32 {yes}, i32 {no}}}' for k, (yes, no) in enumerate(WEIGHTS)
    )
    define = f"define ptr @entry(ptr %self, ptr %args, i64 %nargs) {BRIEFLY} {{\n{body}\n}}"
    if kernel.streams:
        declared += ["declare i64 @PyTuple_Size(ptr)", "declare ptr @PyTuple_GetItem(ptr, i64)"]
    parts = [
        kernel.text,
        *[_RELEASE] * (kernel.owned > FEW),
        *[streams.UNLOCKED] * bool(kernel.streams),
        *[_FROM_OUTSIDE] * any("@from_outside(" in text for text in (kernel.text, define)),
        define,
    ]
    text = "\n".join([*lines, *dict.fromkeys(declared), VARIABLES, *parts, weights])
    return text + "\n"


class _Entry:
    def __init__(self, kernel: Kernel, in_order: bool) -> None:
        self.kernel, self.in_order = kernel, in_order
        self.e = Emitter(False)
        self.used: set[str] = set()
        self.bail = Block("giveup")
        self.miss = Block("miss")
        self.back = ""  # what puts streams back

    def symbol(self, name: str) -> str:
        """A reference to an object outside."""
        self.used.add(name)
        return f"@{name}"

    def field(self, base: str, offset: int, llvm: str) -> str:
        """A field of a struct."""
        at = self.e.op(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.e.op(f"load {llvm}, ptr {at}")

    def need(self, condition: str) -> None:
        """Go to the plan unless the condition holds."""
        following = self.e.block("ok")
        self.e.branch(condition, following, self.miss)
        self.e.start(following)

    def untraced(self) -> None:
        """Go to the plan while a debugger or the like follows the thread: its lines are the user's."""
        at = abi.tracer_at()
        if at >= 0:
            state = self.e.effect("call ptr @PyThreadState_Get()")
            tracer = self.field(state, at, "ptr")
            self.need(self.e.op(f"icmp eq ptr {tracer}, null"))

    def count(self, name: str) -> None:
        """Add one to a variable of the module."""
        now = self.e.effect(f"load i64, ptr @{name}")
        self.e.line(f"store i64 {self.e.effect(f'add i64 {now}, 1')}, ptr @{name}")

    # ------------------------------------------------------------------ the whole
    def body(self) -> str:
        """The entry's blocks."""
        e, kernel = self.e, self.kernel
        slots = max(len(merge.types_of(kernel.result)), 1)
        out, owned = e.slot(f"[{slots} x [2 x i64]]"), e.slot(f"[{max(kernel.owned, 1)} x ptr]")
        control = [e.slot("i32"), e.slot("i32"), e.slot("i32")]
        cells = saved.cells(e, len(kernel.saves))
        e.line(f"store i32 0, ptr {control[2]}")
        if kernel.owned:
            e.line(f"call void @llvm.memset.p0.i64(ptr {owned}, i8 0, i64 {8 * kernel.owned}, i1 false)")
        self.need(e.effect(f"icmp ne i32 {e.effect('load i32, ptr @enabled')}, 0"))
        self.need(e.effect(f"icmp eq i64 %nargs, {len(kernel.params)}"))
        self.untraced()
        objects, arguments, hidden = [], [], list[str]()
        for k, x in enumerate(kernel.params):
            at = e.op(f"getelementptr ptr, ptr %args, i64 {k}")
            objects.append(e.op(f"load ptr, ptr {at}"))
            arguments += self.argument(k, objects[-1], x)
        self.count("calls")
        risky = kernel.bails or kernel.watch
        put_back = sorted(kernel.written.difference(kernel.saves)) if risky else []
        large = self.large([(objects[k], kernel.params[k]) for k in put_back])
        large = TRUE if kernel.streams else large
        copying.pass_over(e, large, lambda: self.call_plan("autograph_on_bail"))
        begin = copying.clock(e, large)
        copies = self.save([(objects[k], kernel.params[k]) for k in put_back])
        if kernel.streams:
            own = [copy for _, copy in copies]
            bits, self.back = streams.keep(e, self.symbol, kernel.streams, objects, own, self.bail)
            hidden = [f"ptr {bits}", f"ptr {self.back}"]
        middle = copying.clock(e, large)
        if kernel.watch:
            self.clear_flags(*control[:2])
        hidden = [f"ptr {x}" for x in (out, owned, control[2], cells)] + hidden
        texts = ", ".join([*arguments, *hidden])
        status = e.effect(f"call i32 @kernel({texts})")
        copying.judge(e, kernel.gain, large, begin, middle)
        stopped, going = e.block("stopped"), e.block("going")
        e.branch(e.effect(f"icmp eq i32 {status}, 2"), stopped, going)
        e.start(stopped)  # what was written stays, as when Python is interrupted
        self.release(copies, owned)
        e.end("ret ptr null")
        e.start(going)
        fine, failed, done = e.block("fine"), e.block("failed"), e.block("done")
        if kernel.watch:
            self.check_flags(status, control, fine, failed, stopped)
        else:
            e.branch(e.effect(f"icmp eq i32 {status}, 0"), fine, failed)
        e.start(fine)
        made = Objects(e, kernel.objects, self.symbol, out)
        result = made.build(kernel.result, iter(range(slots)))
        self.release(copies, owned)
        e.jump(done)
        e.start(failed)
        for k, root in enumerate(kernel.saves):
            saved.put_back(e, objects[root], cells, k)
        for original, copy in copies:  # after that: they are older, and arguments may share memory
            e.line(f"call i32 @autograph_PyArray_CopyInto(ptr {original}, ptr {copy})")
        if self.back:
            streams.put_back(e, self.back, lambda: self.release(copies, owned))
        self.release(copies, owned)
        e.jump(self.bail)
        e.start(self.bail)
        e.line("call void @PyErr_Clear()")
        self.count("bails")
        self.call_plan("autograph_on_bail")
        e.start(self.miss)
        self.call_plan("autograph_on_miss")
        e.start(done)
        e.end(f"ret ptr {result}")
        return e.body()

    def call_plan(self, name: str) -> None:
        """Hand the call over, and return what it returns."""
        got = self.e.effect(f"call ptr @PyObject_Vectorcall(ptr @{name}, ptr %args, i64 %nargs, ptr null)")
        self.e.end(f"ret ptr {got}")

    # ------------------------------------------------------------------ arguments
    def argument(self, k: int, obj: str, x: Val) -> list[str]:
        """Check an argument and take it apart."""
        e = self.e
        if isinstance(x, Num) and len(x.members) == 2:
            return self.either_number(obj, x)
        if isinstance(x, Num):
            return [f"{x.llvm} {self.number(obj, x.scalar)}"]
        cls = self.field(obj, abi.TYPE_AT, "ptr")
        if isinstance(x, Stream):
            self.need(e.op(f"icmp eq ptr {cls}, {x.symbol}"))
            return [f"ptr {obj}"]
        assert isinstance(x, Arr)
        self.need(e.op(f"icmp eq ptr {cls}, @autograph_type_ndarray"))
        descr = self.field(obj, abi.DESCR_AT, "ptr")
        self.need(e.op(f"icmp eq ptr {descr}, {self.symbol(f'autograph_descr_{x.dtype.num}')}"))
        self.need(e.op(f"icmp eq i32 {self.field(obj, abi.RANK_AT, 'i32')}, {len(x.dims)}"))
        # what is not aligned NumPy copies some at a time, and adds up in other pieces
        mask = abi.ALIGNED | (abi.IN_ORDER if self.in_order else 0)
        wanted = mask
        if k in self.kernel.written:
            mask |= abi.WRITEABLE | abi.WARNS_ON_WRITE
            wanted |= abi.WRITEABLE
        flags = e.op(
            f"and i32 {self.field(obj, abi.FLAGS_AT, 'i32')}, {mask - (1 << 32) if mask >> 31 else mask}"
        )
        self.need(e.op(f"icmp eq i32 {flags}, {wanted}"))
        sizes = self.field(obj, abi.SIZES_AT, "ptr")
        out = [f"ptr {self.field(obj, abi.DATA_AT, 'ptr')}", f"ptr {obj}"]
        for axis, n in enumerate(x.dims):
            found = self.field(sizes, 8 * axis, "i64")
            if n.isdigit():
                self.need(e.op(f"icmp eq i64 {found}, {n}"))
            else:
                out.append(f"i64 {found}")
        if not self.in_order:
            strides = self.field(obj, abi.STRIDES_AT, "ptr")
            out += [f"i64 {self.field(strides, 8 * axis, 'i64')}" for axis in range(len(x.dims))]
        return out

    def number(self, obj: str, kind: Scalar) -> str:
        """Check a number and read it."""
        e = self.e
        if kind.weak and kind.kind == "b":
            yes = e.op(f"icmp eq ptr {obj}, @autograph_True")
            self.need(e.either(yes, e.op(f"icmp eq ptr {obj}, @autograph_False")))
            return yes
        self.need(e.op(f"icmp eq ptr {self.field(obj, abi.TYPE_AT, 'ptr')}, {self.class_of(kind)}"))
        if kind.weak and kind.kind == "i":
            flag = e.slot("i32")
            value = e.effect(f"call i64 @PyLong_AsLongLongAndOverflow(ptr {obj}, ptr {flag})")
            self.need(e.effect(f"icmp eq i32 {e.effect(f'load i32, ptr {flag}')}, 0"))
            return value
        if kind.kind == "b":
            return e.op(f"icmp ne i8 {self.field(obj, abi.HEAD, 'i8')}, 0")
        if kind.kind == "c":  # two floats, which lie as objects do
            at = e.op(f"getelementptr i8, ptr {obj}, i64 {abi.HEAD}")
            return e.op(f"load {kind.llvm}, ptr {at}, align 8")
        return self.field(obj, abi.HEAD, kind.llvm)

    def either_number(self, obj: str, x: Num) -> list[str]:
        """Read a number of one of two kinds: its payload and its tag."""
        e = self.e
        out = e.block("read")
        value, tag = e.phi(out, x.llvm), e.phi(out, "i1")
        cls = self.field(obj, abi.TYPE_AT, "ptr")
        first, second = e.block("first"), e.block("second")
        e.branch(e.op(f"icmp eq ptr {cls}, {self.class_of(x.members[0])}"), first, second)
        for block, kind, mark in zip((first, second), x.members, ("true", "false"), strict=True):
            e.start(block)
            with e.scope():
                wide = widen(e, one(kind, self.number(obj, kind)), x.members)
                self.need(e.negated(e.pending))
                e.pending = "false"
                value.ways.append((wide.text, e.here.label))
                tag.ways.append((mark, e.here.label))
                e.jump(out)
        e.start(out)
        return [f"{x.llvm} {value.name}", f"i1 {tag.name}"]

    def class_of(self, kind: Scalar) -> str:
        """The type object of a kind of number."""
        if not kind.weak:
            return self.symbol(f"autograph_scalar_{kind.dtype.num}")
        name = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}[kind.kind]
        return self.symbol(f"autograph_type_{name}")

    # ------------------------------------------------------------------ copies and flags
    def save(self, originals: list[tuple[str, Val]]) -> list[tuple[str, str]]:
        """Copies of the arrays that will be written."""
        e = self.e
        saved: list[tuple[str, str]] = []
        for original, x in originals:
            assert isinstance(x, Arr)
            again = self.in_order and _many(x)
            if again:  # in memory that was used before, where there is some
                descr, sizes = (
                    self.symbol(f"autograph_descr_{x.dtype.num}"),
                    self.field(original, abi.SIZES_AT, "ptr"),
                )
                e.line(f"call void @Py_IncRef(ptr {descr})")
                copy = e.effect(
                    f"call ptr @autograph_PyArray_Empty(i32 {len(x.dims)}, ptr {sizes}, ptr {descr}, i32 0)"
                )
            else:
                copy = e.effect(f"call ptr @autograph_PyArray_NewCopy(ptr {original}, i32 0)")
            made, failed = e.block("saved"), e.block("unsaved")
            e.branch(e.effect(f"icmp ne ptr {copy}, null"), made, failed)
            e.start(failed)
            for _, earlier in saved:
                e.line(f"call void @Py_DecRef(ptr {earlier})")
            e.jump(self.bail)
            e.start(made)
            if again:
                to, source = (
                    e.effect(f"load ptr, ptr {e.op(f'getelementptr i8, ptr {o}, i64 {abi.DATA_AT}')}")
                    for o in (copy, original)
                )
                size = self.bytes(original, x)
                e.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")
            saved.append((original, copy))
        return saved

    def bytes(self, obj: str, x: Arr) -> str:
        """How many bytes the elements of an array take."""
        sizes, count = self.field(obj, abi.SIZES_AT, "ptr"), str(x.dtype.itemsize)
        for axis, n in enumerate(x.dims):
            count = times(self.e, count, n if n.isdigit() else self.field(sizes, 8 * axis, "i64"))
        return count

    def large(self, arrays: list[tuple[str, Val]]) -> str:
        """Whether so much is copied that this may be what a call takes most of its time for."""
        e, total = self.e, "0"
        for obj, x in arrays:
            assert isinstance(x, Arr)
            total = plus(e, total, self.bytes(obj, x))
        if total.isdigit():
            return TRUE if int(total) > LARGE else FALSE
        return e.op(f"icmp ugt i64 {total}, {LARGE}")

    def release(self, saved: list[tuple[str, str]], owned: str) -> None:
        """Give up the copies and the arrays that the kernel made."""
        e = self.e
        for _, copy in saved:
            e.line(f"call void @Py_DecRef(ptr {copy})")
        if self.back:
            e.line(f"call void @Py_DecRef(ptr {self.back})")
        if self.kernel.owned > FEW:
            e.line(f"call void @release(ptr {owned}, i64 {self.kernel.owned})")
            return
        for k in range(self.kernel.owned):
            at = e.effect(f"getelementptr ptr, ptr {owned}, i64 {k}")
            e.line(f"call void @Py_DecRef(ptr {e.effect(f'load ptr, ptr {at}')})")

    def clear_flags(self, before: str, clean: str) -> None:
        """None of our flags is raised when the kernel begins."""
        e = self.e
        self.control("stmxcsr", before)
        now = e.effect(f"load i32, ptr {before}")
        dirty, begin = e.block("dirty"), e.block("begin")
        e.branch(e.effect(f"icmp eq i32 {e.effect(f'and i32 {now}, {FLAGS}')}, 0"), begin, dirty)
        e.start(dirty)
        e.line(f"store i32 {e.effect(f'and i32 {now}, {~FLAGS}')}, ptr {clean}")
        self.control("ldmxcsr", clean)
        e.jump(begin)
        e.start(begin)
        if self.kernel.outside:
            e.line(f"call i32 @autograph_feclearexcept(i32 {FLAGS})")

    def control(self, instruction: str, cell: str) -> None:
        """Store or load the processor's control and flag register; nothing moves across it."""
        for text in (BARRIER, f"call void @llvm.x86.sse.{instruction}(ptr {cell})", BARRIER):
            self.e.line(text)

    def check_flags(
        self, status: str, control: list[str], fine: Block, failed: Block, stopped: Block
    ) -> None:
        """Whether what was flagged is something that NumPy would not report."""
        e = self.e
        before, after, earlier = control
        x87 = e.effect(f"call i32 @autograph_fetestexcept(i32 {FLAGS})") if self.kernel.outside else "0"
        self.control("stmxcsr", after)
        raised = e.effect(f"and i32 {e.effect(f'load i32, ptr {after}')}, {FLAGS}")
        raised = e.effect(f"or i32 {raised}, {x87}")
        raised = e.effect(f"or i32 {raised}, {e.effect(f'load i32, ptr {earlier}')}")
        # Loading the register is slow, and so is raising a flag that was not: the others stay as they are.
        were = e.effect(f"and i32 {e.effect(f'load i32, ptr {before}')}, {FLAGS}")
        unusual = e.effect(f"or i32 {e.effect(f'or i32 {raised}, {were}')}, {status}")
        ended, quiet, loud, restore = (e.block(name) for name in ("ended", "quiet", "loud", "restore"))
        e.branch(e.effect(f"icmp eq i32 {unusual}, 0"), fine, restore)
        e.start(restore)
        self.control("ldmxcsr", before)
        e.branch(e.effect(f"icmp eq i32 {status}, 0"), ended, failed)
        e.start(ended)
        e.branch(e.effect(f"icmp eq i32 {raised}, 0"), fine, loud)
        e.start(loud)
        number = e.effect(f"call ptr @PyLong_FromLongLong(i64 {e.effect(f'zext i32 {raised} to i64')})")
        cell = e.slot("ptr")
        e.line(f"store ptr {number}, ptr {cell}")
        answer = e.effect(
            f"call ptr @PyObject_Vectorcall(ptr @autograph_on_flags, ptr {cell}, i64 1, ptr null)"
        )
        lost, told = e.block("lost"), e.block("told")
        e.branch(e.effect(f"icmp eq ptr {answer}, null"), lost, told)
        e.start(lost)
        outside = e.effect(f"call i1 @from_outside(ptr @autograph_on_flags, ptr {cell}, i64 1)")
        e.line(f"call void @Py_DecRef(ptr {number})")
        e.branch(outside, stopped, failed)
        e.start(told)
        e.line(f"call void @Py_DecRef(ptr {number})")
        e.line(f"call void @Py_DecRef(ptr {answer})")
        e.branch(e.effect(f"icmp eq ptr {answer}, @autograph_True"), quiet, failed)
        e.start(quiet)
        e.jump(fine)


def _many(x: Val) -> bool:
    """Whether an array may have so many elements that memory for them is worth keeping."""
    return isinstance(x, Arr) and (
        not all(n.isdigit() for n in x.dims) or math.prod(map(int, x.dims)) >= recycled.MANY
    )


def symbols(kernel: Kernel) -> dict[str, int]:
    """The addresses that the module refers to, but for the three callables around it."""
    objects = {name: id(value) for name, value in kernel.objects.items()}
    makes = any(f"@autograph_PyArray_{how}" in kernel.text for how in ("Empty", "Zeros"))
    makes = makes or any(_many(kernel.params[k]) for k in kernel.written)
    objects |= streams.symbols() if kernel.streams else {}
    return abi.symbols() | (recycled.symbols() if makes else {}) | kernel.addresses | objects


__all__ = ["module", "np", "symbols"]
