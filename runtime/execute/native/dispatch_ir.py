"""The dispatcher as LLVM IR: what a call of a polymorphic function runs through before any Python of ours.

In: the offsets of `abi`.  Out: `text()`, a module that works on tables in memory (`runtime.function.chains`
lays them out): ways to write a call, traces, and for each trace a list of checks.  What always holds: a
trace is run only when all its checks hold; where none does, or the gate is shut, the call goes to the
class's Python `__call__` with the arguments as they were given; whatever a check read that it had to own is
given back before the trace runs; the tables stay in memory while a call is in them; what is raised on the
way and is no `Exception` (Ctrl-C) ends the call.

A chain is a tuple: (tables, Python's way, what errors go through, objects the tables point to...).

There is a form for the first calls, which is compiled with little effort: it tells Python when it has done
many, and hands calls on to the usual form once that is there.
"""

from __future__ import annotations

from runtime.execute.native import check_ir
from runtime.execute.native.abi import HEAD
from runtime.execute.native.check_ir import ITEMS_AT, REGISTERS
from runtime.execute.native.emit import COLD

MOST = 32  # arguments
MANY = 10_000  # calls, from which on it is worthwhile to compile the usual form
ON_STACK = 1000  # more of them than this are copied to the heap
NATIVE, CALL, PASS = range(3)  # a trace is: the code of a built-in; something to call; the same, untouched
# Words of the tables.
FORM = ("given", "named", "names", "shape", "count", "sources")
TRACE = ("shape", "checks", "check_count", "kind", "target", "own", "passed", "pass_count", "names", "used")
ANY = -1  # a shape

_DECLARATIONS = """
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_GetItem(ptr, ptr)
declare i64 @PyObject_Size(ptr)
declare ptr @PyErr_Occurred()
declare i32 @PyErr_ExceptionMatches(ptr)
declare void @PyErr_Clear()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare ptr @PyException_GetTraceback(ptr)
declare ptr @PyLong_FromVoidPtr(ptr)
declare void @_Py_Dealloc(ptr)
declare ptr @PyMem_Malloc(i64)
declare void @PyMem_Free(ptr)
declare ptr @PyErr_NoMemory()
@autograph_gate = external global i64
@autograph_type_ndarray = external global i8
@autograph_Exception = external global i8
@autograph_AttributeError = external global i8
@autograph_None = external global i8
@autograph_call_anyhow = external global i8
@enabled = global i32 1
@calls = global i64 0
@bails = global i64 0
"""

_VECTORCALL = """
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
"""
# Before 3.11 that function was part of each program.  Whatever takes names here is a Python function.
_OLD_VECTORCALL = """
declare ptr @PyObject_VectorcallDict(ptr, ptr, i64, ptr)
declare ptr @_PyFunction_Vectorcall(ptr, ptr, i64, ptr)
define internal ptr @PyObject_Vectorcall(ptr %f, ptr %args, i64 %n, ptr %names) alwaysinline {{
  %none = icmp eq ptr %names, null
  br i1 %none, label %plain, label %named
plain:
  %r = tail call ptr @PyObject_VectorcallDict(ptr %f, ptr %args, i64 %n, ptr null)
  ret ptr %r
named:
  %s = tail call ptr @_PyFunction_Vectorcall(ptr %f, ptr %args, i64 %n, ptr %names)
  ret ptr %s
}}
"""

_SLOW = """
define internal ptr @slowly(ptr %way, ptr %self, ptr %args, i64 %n, i64 %named, ptr %names) {COLD} {{
  %all = add i64 %n, %named
  %more = add i64 %all, 1
  %ismany = icmp ugt i64 %all, {ON_STACK}
  br i1 %ismany, label %many, label %few
few:
  %stack = alloca ptr, i64 %more
  br label %begin
many:
  %bytes = mul i64 %more, 8
  %heap = call ptr @PyMem_Malloc(i64 %bytes)
  %isheap = icmp ne ptr %heap, null
  br i1 %isheap, label %begin, label %nomemory
nomemory:
  %r0 = call ptr @PyErr_NoMemory()
  ret ptr %r0
begin:
  %copy = phi ptr [ %stack, %few ], [ %heap, %many ]
  store ptr %self, ptr %copy
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k1, %body ]
  %within = icmp slt i64 %k, %all
  br i1 %within, label %body, label %go
body:
  %k1 = add i64 %k, 1
  %from = getelementptr ptr, ptr %args, i64 %k
  %x = load ptr, ptr %from
  %to = getelementptr ptr, ptr %copy, i64 %k1
  store ptr %x, ptr %to
  br label %loop
go:
  %n1 = add i64 %n, 1
  %r = call ptr @PyObject_Vectorcall(ptr %way, ptr %copy, i64 %n1, ptr %names)
  br i1 %ismany, label %free, label %end
free:
  call void @PyMem_Free(ptr %copy)
  br label %end
end:
  ret ptr %r
}}

define internal void @clean(ptr %way, ptr %self) {COLD} {{
  %type = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  %pair = alloca [2 x ptr]
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %trace)
  call void @PyErr_NormalizeException(ptr %type, ptr %value, ptr %trace)
  %v = load ptr, ptr %value
  %t = load ptr, ptr %trace
  %has = icmp ne ptr %t, null
  br i1 %has, label %attach, label %go
attach:
  %set = call i32 @PyException_SetTraceback(ptr %v, ptr %t)
  call void @Py_DecRef(ptr %t)
  br label %go
go:
  store ptr %self, ptr %pair
  %second = getelementptr ptr, ptr %pair, i64 1
  store ptr %v, ptr %second
  %r = call ptr @PyObject_Vectorcall(ptr %way, ptr %pair, i64 2, ptr null)
  %bad = icmp eq ptr %r, null
  br i1 %bad, label %forget, label %drop
forget:
  %usual = call i32 @PyErr_ExceptionMatches(ptr @autograph_Exception)
  %isusual = icmp ne i32 %usual, 0
  br i1 %isusual, label %clear, label %stopped
clear:
  call void @PyErr_Clear()
  br label %end
stopped:
  %old = load ptr, ptr %type
  call void @Py_DecRef(ptr %old)
  call void @Py_DecRef(ptr %v)
  ret void
drop:
  call void @Py_DecRef(ptr %r)
  br label %end
end:
  %new = call ptr @PyException_GetTraceback(ptr %v)
  %kind = load ptr, ptr %type
  call void @PyErr_Restore(ptr %kind, ptr %v, ptr %new)
  ret void
}}

define ptr @entry(ptr %self, ptr %args, i64 %n) "briefly" {{
  %r = call ptr @PyLong_FromVoidPtr(ptr @{BEGIN})
  ret ptr %r
}}
"""

_DISPATCH = """
define ptr @dispatch(ptr %self, ptr %args, i64 %flagged, ptr %names) "briefly" {{
entry:
  %regs = alloca [{REGISTERS} x ptr]
  %out = alloca [{MOST} x ptr]
  %n = and i64 %flagged, 9223372036854775807
  %isnamed = icmp ne ptr %names, null
  br i1 %isnamed, label %counted, label %begin
counted:
  %nn = getelementptr i8, ptr %names, i64 {HEAD}
  %named1 = load i64, ptr %nn
  br label %begin
begin:
  %named = phi i64 [ 0, %entry ], [ %named1, %counted ]
  %ca = getelementptr i8, ptr %self, i64 {CHAIN_AT}
  %chain = load ptr, ptr %ca
  %ischain = icmp ne ptr %chain, null
  br i1 %ischain, label %held, label %bare
bare:
  %r0 = call ptr @slowly(ptr @autograph_call_anyhow, ptr %self, ptr %args, i64 %n, i64 %named, ptr %names)
  ret ptr %r0
held:
  %count0 = load i64, ptr %chain
  %count1 = add i64 %count0, 1
  store i64 %count1, ptr %chain
  %gate = load volatile i64, ptr @autograph_gate
  %isopen = icmp eq i64 %gate, 0
  br i1 %isopen, label %opened, label %slow
opened:
  %ha = getelementptr i8, ptr %chain, i64 {ITEMS_AT}
  %holder = load ptr, ptr %ha
  %ra = getelementptr i8, ptr %holder, i64 {HEAD}
  %root = load ptr, ptr %ra
  %forms = load ptr, ptr %root
  %fca = getelementptr i64, ptr %root, i64 1
  %form_count = load i64, ptr %fca
  br label %ways
ways:
  %fi = phi i64 [ 0, %opened ], [ %fi1, %another ]
  %ismore = icmp slt i64 %fi, %form_count
  br i1 %ismore, label %way, label %slow
another:
  %fi1 = add i64 %fi, 1
  br label %ways
way:
  %form = getelementptr [{FORMS} x i64], ptr %forms, i64 %fi
  %given = load i64, ptr %form
  %isgiven = icmp eq i64 %given, %n
  br i1 %isgiven, label %way1, label %another
way1:
  %f1 = getelementptr i64, ptr %form, i64 1
  %fnamed = load i64, ptr %f1
  %isfnamed = icmp eq i64 %fnamed, %named
  br i1 %isfnamed, label %way2, label %another
way2:
  %f2 = getelementptr i64, ptr %form, i64 2
  %fnames = load ptr, ptr %f2
  %fitems = getelementptr i8, ptr %fnames, i64 {ITEMS_AT}
  %nitems = getelementptr i8, ptr %names, i64 {ITEMS_AT}
  br label %words
words:
  %w = phi i64 [ 0, %way2 ], [ %w1, %word ]
  %ismorew = icmp slt i64 %w, %named
  br i1 %ismorew, label %word, label %arrange
word:
  %w1 = add i64 %w, 1
  %wa = getelementptr ptr, ptr %fitems, i64 %w
  %wx = load ptr, ptr %wa
  %wb = getelementptr ptr, ptr %nitems, i64 %w
  %wy = load ptr, ptr %wb
  %isword = icmp eq ptr %wx, %wy
  br i1 %isword, label %words, label %another
arrange:
  %f3 = getelementptr i64, ptr %form, i64 3
  %shape = load i64, ptr %f3
  %f4 = getelementptr i64, ptr %form, i64 4
  %count = load i64, ptr %f4
  %f5 = getelementptr i64, ptr %form, i64 5
  %sources = load ptr, ptr %f5
  %plain = icmp eq ptr %sources, null
  br label %copies
copies:
  %c = phi i64 [ 0, %arrange ], [ %c1, %copied ]
  %ismorec = icmp slt i64 %c, %count
  br i1 %ismorec, label %copy, label %traces
copy:
  br i1 %plain, label %direct, label %sourced
direct:
  %dx = getelementptr ptr, ptr %args, i64 %c
  br label %copied
sourced:
  %sa = getelementptr [2 x i64], ptr %sources, i64 %c
  %index = load i64, ptr %sa
  %fixed = getelementptr i64, ptr %sa, i64 1
  %fromargs = getelementptr ptr, ptr %args, i64 %index
  %isfixed = icmp slt i64 %index, 0
  %sx = select i1 %isfixed, ptr %fixed, ptr %fromargs
  br label %copied
copied:
  %px = phi ptr [ %dx, %direct ], [ %sx, %sourced ]
  %xv = load ptr, ptr %px
  %ta = getelementptr ptr, ptr %regs, i64 %c
  store ptr %xv, ptr %ta
  %c1 = add i64 %c, 1
  br label %copies
traces:
  %t2 = getelementptr i64, ptr %root, i64 2
  %table = load ptr, ptr %t2
  %t3 = getelementptr i64, ptr %root, i64 3
  %trace_count = load i64, ptr %t3
  br label %search
search:
  %ti = phi i64 [ 0, %traces ], [ %ti1, %onward ]
  %ismoret = icmp slt i64 %ti, %trace_count
  br i1 %ismoret, label %try, label %slow
onward:
  %ti1 = add i64 %ti, 1
  br label %search
try:
  %trace = getelementptr [{TRACES} x i64], ptr %table, i64 %ti
  %tshape = load i64, ptr %trace
  %isshape = icmp eq i64 %tshape, %shape
  %isany = icmp eq i64 %tshape, {ANY}
  %isfit = or i1 %isshape, %isany
  br i1 %isfit, label %ask, label %onward
ask:
  %g1 = getelementptr i64, ptr %trace, i64 1
  %ops = load ptr, ptr %g1
  %g2 = getelementptr i64, ptr %trace, i64 2
  %op_count = load i64, ptr %g2
  %verdict = call i32 @check(ptr %ops, i64 %op_count, ptr %regs)
  switch i32 %verdict, label %onward [ i32 1, label %run
                                       i32 2, label %raised ]
run:
  %g9 = getelementptr i64, ptr %trace, i64 9
  %t4 = getelementptr i64, ptr %root, i64 4
  %clock = load ptr, ptr %t4
  %tick = load i64, ptr %clock
  %tick1 = add i64 %tick, 1
  store i64 %tick1, ptr %clock
  store i64 %tick1, ptr %g9
  %g3 = getelementptr i64, ptr %trace, i64 3
  %kind = load i64, ptr %g3
  %g4 = getelementptr i64, ptr %trace, i64 4
  %target = load ptr, ptr %g4
  %g5 = getelementptr i64, ptr %trace, i64 5
  %own = load ptr, ptr %g5
  %g6 = getelementptr i64, ptr %trace, i64 6
  %passed = load ptr, ptr %g6
  %g7 = getelementptr i64, ptr %trace, i64 7
  %pass_count = load i64, ptr %g7
  %g8 = getelementptr i64, ptr %trace, i64 8
  %pass_names = load ptr, ptr %g8
  %isall = icmp eq ptr %passed, null
  br i1 %isall, label %launch, label %gather
gather:
  %j = phi i64 [ 0, %run ], [ %j1, %gathered ]
  %ismorej = icmp slt i64 %j, %pass_count
  br i1 %ismorej, label %gathered, label %launch
gathered:
  %ja = getelementptr i64, ptr %passed, i64 %j
  %jk = load i64, ptr %ja
  %jr = getelementptr ptr, ptr %regs, i64 %jk
  %jx = load ptr, ptr %jr
  %jo = getelementptr ptr, ptr %out, i64 %j
  store ptr %jx, ptr %jo
  %j1 = add i64 %j, 1
  br label %gather
launch:
  %argv = phi ptr [ %regs, %run ], [ %out, %gather ]
  switch i64 %kind, label %pass [ i64 {NATIVE}, label %native
                                  i64 {CALL}, label %call ]
native:
  %rn = call ptr %target(ptr %own, ptr %argv, i64 %pass_count)
  br label %finish
call:
  %rc = call ptr @PyObject_Vectorcall(ptr %target, ptr %argv, i64 %pass_count, ptr %pass_names)
  br label %finish
pass:
  %rp = call ptr @PyObject_Vectorcall(ptr %target, ptr %args, i64 %flagged, ptr %names)
  br label %finish
finish:
  %result = phi ptr [ %rn, %native ], [ %rc, %call ], [ %rp, %pass ]
  %isresult = icmp ne ptr %result, null
  br i1 %isresult, label %leave, label %clean
clean:
  %ea = getelementptr i8, ptr %chain, i64 {ERRORS_AT}
  %errors = load ptr, ptr %ea
  call void @clean(ptr %errors, ptr %self)
  br label %leave
raised:
  br label %leave
slow:
  %wya = getelementptr i8, ptr %chain, i64 {WAY_AT}
  %wy0 = load ptr, ptr %wya
  %rs = call ptr @slowly(ptr %wy0, ptr %self, ptr %args, i64 %n, i64 %named, ptr %names)
  br label %leave
leave:
  %answer = phi ptr [ %result, %finish ], [ null, %clean ], [ null, %raised ], [ %rs, %slow ]
  %count2 = load i64, ptr %chain
  %count3 = sub i64 %count2, 1
  store i64 %count3, ptr %chain
  %isover = icmp eq i64 %count3, 0
  br i1 %isover, label %over, label %end
over:
  call void @_Py_Dealloc(ptr %chain)
  br label %end
end:
  ret ptr %answer
}}
"""

_AT_FIRST = """
@better = global i64 0
@left = global i64 {MANY}
@autograph_on_many = external global i8
define ptr @at_first(ptr %self, ptr %args, i64 %flagged, ptr %names) "briefly" {{
  %better = load ptr, ptr @better
  %isbetter = icmp ne ptr %better, null
  br i1 %isbetter, label %through, label %count
through:
  %rb = musttail call ptr %better(ptr %self, ptr %args, i64 %flagged, ptr %names)
  ret ptr %rb
count:
  %left = load i64, ptr @left
  %left1 = sub i64 %left, 1
  store i64 %left1, ptr @left
  %ismany = icmp eq i64 %left1, 0
  br i1 %ismany, label %tell, label %go
tell:
  %told = call ptr @PyObject_Vectorcall(ptr @autograph_on_many, ptr null, i64 0, ptr null)
  %istold = icmp ne ptr %told, null
  br i1 %istold, label %drop, label %forget
drop:
  call void @Py_DecRef(ptr %told)
  br label %go
forget:
  %usual = call i32 @PyErr_ExceptionMatches(ptr @autograph_Exception)
  %isusual = icmp ne i32 %usual, 0
  br i1 %isusual, label %clear, label %stopped
clear:
  call void @PyErr_Clear()
  br label %go
stopped:
  ret ptr null
go:
  %r = musttail call ptr @dispatch(ptr %self, ptr %args, i64 %flagged, ptr %names)
  ret ptr %r
}}
"""


def text(chain_at: int, old: bool, at_first: bool = False) -> str:
    """The module.  chain_at: where an instance keeps its chain; old: whether Python is older than 3.11;
    at_first: the form for the first calls."""
    words = {
        "HEAD": HEAD,
        "CHAIN_AT": chain_at,
        "ITEMS_AT": ITEMS_AT,
        "WAY_AT": ITEMS_AT + 8,
        "ERRORS_AT": ITEMS_AT + 16,
        "FORMS": len(FORM),
        "TRACES": len(TRACE),
        "REGISTERS": REGISTERS,
        "MOST": MOST,
        "ON_STACK": ON_STACK,
        "COLD": COLD,
        "NATIVE": NATIVE,
        "CALL": CALL,
        "ANY": ANY,
        "MANY": MANY,
        "BEGIN": "at_first" if at_first else "dispatch",
    }
    vectorcall, *others = (
        part.format(**words)
        for part in (
            _OLD_VECTORCALL if old else _VECTORCALL, _SLOW, _DISPATCH, *([_AT_FIRST] if at_first else []),
        )
    )  # fmt: skip
    return "".join((_DECLARATIONS, vectorcall, check_ir.text(), *others))
