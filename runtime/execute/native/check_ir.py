"""The checks that the dispatcher makes before it runs a trace, as LLVM IR.

In: the offsets of `abi`.  Out: `text()`: `@check(list, count, registers)`, which gives 1 where all checks of
a list hold, 0 where one does not, and 2 with an error set that is not for us.  What always holds: whatever a
check read that it had to own is given back before the end; the arguments, the first registers, are borrowed.
"""

from __future__ import annotations

from runtime.execute.native.abi import DESCR_AT, FLAGS_AT, HEAD, IN_ORDER, RANK_AT, SIZES_AT, TYPE_AT

# Checks, in the numbering that the tables use.  r: a register, a b c: words.
(
    ARRAY,  # r is an ndarray of descriptor a, rank b (-1: any), sizes at c (0: any; -1 in it: any)
    CLASS,  # r is of class a
    SAME,  # r is the object a
    EQUAL,  # r equals a (both of one class without surprises: int, str, bytes, float)
    BITS,  # the float r has the bits a
    TUPLE,  # r is of class a and has b items
    ITEM,  # r = item a of the tuple in register b
    MEMORY,  # the word at address a is b
    LOAD,  # r = the object at address a, if there is one
    LOOKUP,  # r = a[b], a a dict
    FOUND,  # a[b] is c, a a dict
    ATTRIBUTE,  # r = attribute a of register b; owned
    SUBSCRIPT,  # r = register b [a]; owned
    LENGTH,  # r has a items
    UNCHANGED,  # skip c checks if the version at address a is the one at b
    KEEP,  # remember at b the version that the last `UNCHANGED` saw
    OWN,  # r is owned from now on
    SPECIAL,  # getattr(a, b, None) is c
    ORDERED,  # the array r is in C order
    SMALL,  # the array r has at most a elements
    ENABLED,  # the half word at address a is not 0
    LACKING,  # b is not in a, a dict
) = range(22)
WORDS = 5  # of a check: number, r, a, b, c
REGISTERS = 64
ITEMS_AT = HEAD + 8  # of a tuple
_OFFSETS = {
    "DESCR_AT": DESCR_AT,
    "FLAGS_AT": FLAGS_AT,
    "IN_ORDER": IN_ORDER,
    "RANK_AT": RANK_AT,
    "SIZES_AT": SIZES_AT,
    "TYPE_AT": TYPE_AT,
}

_CHECK = """
define internal i32 @check(ptr %ops, i64 %count, ptr %regs) "briefly" {{
  %pc = alloca i64
  %owned = alloca i64
  %seen = alloca i64
  store i64 0, ptr %pc
  store i64 0, ptr %owned
  store i64 0, ptr %seen
  br label %loop
next:
  %p0 = load i64, ptr %pc
  %p1 = add i64 %p0, 1
  store i64 %p1, ptr %pc
  br label %loop
loop:
  %i = load i64, ptr %pc
  %more = icmp slt i64 %i, %count
  br i1 %more, label %step, label %hit
step:
  %at = getelementptr [{WORDS} x i64], ptr %ops, i64 %i
  %code = load i64, ptr %at
  %at1 = getelementptr i64, ptr %at, i64 1
  %reg = load i64, ptr %at1
  %at2 = getelementptr i64, ptr %at, i64 2
  %a = load i64, ptr %at2
  %at3 = getelementptr i64, ptr %at, i64 3
  %b = load i64, ptr %at3
  %at4 = getelementptr i64, ptr %at, i64 4
  %c = load i64, ptr %at4
  %ap = inttoptr i64 %a to ptr
  %bp = inttoptr i64 %b to ptr
  %cp = inttoptr i64 %c to ptr
  %slot = getelementptr ptr, ptr %regs, i64 %reg
  %from = getelementptr ptr, ptr %regs, i64 %b
  switch i64 %code, label %miss [
    i64 {ARRAY}, label %array
    i64 {CLASS}, label %class
    i64 {SAME}, label %same
    i64 {EQUAL}, label %equal
    i64 {BITS}, label %bits
    i64 {TUPLE}, label %tuple
    i64 {ITEM}, label %item
    i64 {MEMORY}, label %memory
    i64 {LOAD}, label %load
    i64 {LOOKUP}, label %lookup
    i64 {FOUND}, label %found
    i64 {ATTRIBUTE}, label %attribute
    i64 {SUBSCRIPT}, label %subscript
    i64 {LENGTH}, label %length
    i64 {UNCHANGED}, label %unchanged
    i64 {KEEP}, label %keep
    i64 {OWN}, label %own
    i64 {SPECIAL}, label %special
    i64 {ORDERED}, label %ordered
    i64 {SMALL}, label %small
    i64 {ENABLED}, label %enabled
    i64 {LACKING}, label %lacking
  ]
array:
  %x = load ptr, ptr %slot
  %xt = getelementptr i8, ptr %x, i64 {TYPE_AT}
  %xc = load ptr, ptr %xt
  %isarray = icmp eq ptr %xc, @autograph_type_ndarray
  br i1 %isarray, label %array1, label %miss
array1:
  %xd = getelementptr i8, ptr %x, i64 {DESCR_AT}
  %xdescr = load ptr, ptr %xd
  %isdescr = icmp eq ptr %xdescr, %ap
  br i1 %isdescr, label %array2, label %miss
array2:
  %anyrank = icmp eq i64 %b, -1
  br i1 %anyrank, label %next, label %array3
array3:
  %xr = getelementptr i8, ptr %x, i64 {RANK_AT}
  %rank32 = load i32, ptr %xr
  %rank = zext i32 %rank32 to i64
  %isrank = icmp eq i64 %rank, %b
  br i1 %isrank, label %array4, label %miss
array4:
  %xs = getelementptr i8, ptr %x, i64 {SIZES_AT}
  %sizes = load ptr, ptr %xs
  %anysize = icmp eq i64 %c, 0
  br i1 %anysize, label %next, label %axes
axes:
  %k = phi i64 [ 0, %array4 ], [ %k1, %axisfits ]
  %within = icmp slt i64 %k, %b
  br i1 %within, label %axis, label %next
axis:
  %wat = getelementptr i64, ptr %cp, i64 %k
  %want = load i64, ptr %wat
  %hat = getelementptr i64, ptr %sizes, i64 %k
  %have = load i64, ptr %hat
  %anyone = icmp eq i64 %want, -1
  %fits = icmp eq i64 %want, %have
  %fine = or i1 %anyone, %fits
  br i1 %fine, label %axisfits, label %miss
axisfits:
  %k1 = add i64 %k, 1
  br label %axes
class:
  %y = load ptr, ptr %slot
  %yt = getelementptr i8, ptr %y, i64 {TYPE_AT}
  %yc = load ptr, ptr %yt
  %isclass = icmp eq ptr %yc, %ap
  br i1 %isclass, label %next, label %miss
same:
  %s = load ptr, ptr %slot
  %issame = icmp eq ptr %s, %ap
  br i1 %issame, label %next, label %miss
equal:
  %e = load ptr, ptr %slot
  %isequal = icmp eq ptr %e, %ap
  br i1 %isequal, label %next, label %equal1
equal1:
  %cmp = call i32 @PyObject_RichCompareBool(ptr %ap, ptr %e, i32 2)
  %iseq = icmp eq i32 %cmp, 1
  br i1 %iseq, label %next, label %failed
bits:
  %f = load ptr, ptr %slot
  %fp = getelementptr i8, ptr %f, i64 {HEAD}
  %fbits = load i64, ptr %fp
  %isbits = icmp eq i64 %fbits, %a
  br i1 %isbits, label %next, label %miss
tuple:
  %t = load ptr, ptr %slot
  %tt = getelementptr i8, ptr %t, i64 {TYPE_AT}
  %tc = load ptr, ptr %tt
  %istuple = icmp eq ptr %tc, %ap
  br i1 %istuple, label %tuple1, label %miss
tuple1:
  %tn = getelementptr i8, ptr %t, i64 {HEAD}
  %tlen = load i64, ptr %tn
  %islen = icmp eq i64 %tlen, %b
  br i1 %islen, label %next, label %miss
item:
  %u = load ptr, ptr %from
  %ui = getelementptr i8, ptr %u, i64 {ITEMS_AT}
  %uat = getelementptr ptr, ptr %ui, i64 %a
  %uv = load ptr, ptr %uat
  store ptr %uv, ptr %slot
  br label %next
memory:
  %m = load i64, ptr %ap
  %ism = icmp eq i64 %m, %b
  br i1 %ism, label %next, label %miss
load:
  %l = load ptr, ptr %ap
  store ptr %l, ptr %slot
  %isl = icmp ne ptr %l, null
  br i1 %isl, label %next, label %miss
lookup:
  %d = call ptr @PyDict_GetItemWithError(ptr %ap, ptr %bp)
  store ptr %d, ptr %slot
  %isd = icmp ne ptr %d, null
  br i1 %isd, label %next, label %failed
found:
  %g = call ptr @PyDict_GetItemWithError(ptr %ap, ptr %bp)
  %isg = icmp eq ptr %g, %cp
  br i1 %isg, label %next, label %failed
attribute:
  %ao = load ptr, ptr %from
  %av = call ptr @PyObject_GetAttr(ptr %ao, ptr %ap)
  br label %taken
subscript:
  %so = load ptr, ptr %from
  %sv = call ptr @PyObject_GetItem(ptr %so, ptr %ap)
  br label %taken
taken:
  %v = phi ptr [ %av, %attribute ], [ %sv, %subscript ]
  store ptr %v, ptr %slot
  %isv = icmp ne ptr %v, null
  br i1 %isv, label %mark, label %failed
own:
  %w = load ptr, ptr %slot
  call void @Py_IncRef(ptr %w)
  br label %mark
mark:
  %mask = load i64, ptr %owned
  %bit = shl i64 1, %reg
  %mask1 = or i64 %mask, %bit
  store i64 %mask1, ptr %owned
  br label %next
length:
  %z = load ptr, ptr %slot
  %zn = call i64 @PyObject_Size(ptr %z)
  %iszn = icmp eq i64 %zn, %a
  br i1 %iszn, label %next, label %failed
unchanged:
  %version = load i64, ptr %ap
  store i64 %version, ptr %seen
  %known = load i64, ptr %bp
  %isknown = icmp eq i64 %version, %known
  %low = trunc i64 %version to i32
  %isvalid = icmp ne i32 %low, 0
  %isversion = and i1 %isknown, %isvalid
  br i1 %isversion, label %skip, label %next
skip:
  %q0 = load i64, ptr %pc
  %q1 = add i64 %q0, %c
  store i64 %q1, ptr %pc
  br label %next
keep:
  %now = load i64, ptr %seen
  store i64 %now, ptr %bp
  br label %next
special:
  %sp = call ptr @PyObject_GetAttr(ptr %ap, ptr %bp)
  %issp = icmp ne ptr %sp, null
  br i1 %issp, label %special1, label %absent
special1:
  call void @Py_DecRef(ptr %sp)
  br label %special2
absent:
  %lack = call i32 @PyErr_ExceptionMatches(ptr @autograph_AttributeError)
  %islack = icmp ne i32 %lack, 0
  br i1 %islack, label %absent1, label %problem
absent1:
  call void @PyErr_Clear()
  br label %special2
special2:
  %sv2 = phi ptr [ %sp, %special1 ], [ @autograph_None, %absent1 ]
  %issv = icmp eq ptr %sv2, %cp
  br i1 %issv, label %next, label %miss
ordered:
  %ord = load ptr, ptr %slot
  %orda = getelementptr i8, ptr %ord, i64 {FLAGS_AT}
  %ordf = load i32, ptr %orda
  %ordm = and i32 %ordf, {IN_ORDER}
  %isord = icmp ne i32 %ordm, 0
  br i1 %isord, label %next, label %miss
small:
  %sm = load ptr, ptr %slot
  %smra = getelementptr i8, ptr %sm, i64 {RANK_AT}
  %smr32 = load i32, ptr %smra
  %smr = zext i32 %smr32 to i64
  %smsa = getelementptr i8, ptr %sm, i64 {SIZES_AT}
  %sms = load ptr, ptr %smsa
  br label %smaxes
smaxes:
  %smk = phi i64 [ 0, %small ], [ %smk1, %smaxis ]
  %smn = phi i64 [ 1, %small ], [ %smn1, %smaxis ]
  %smmore = icmp slt i64 %smk, %smr
  br i1 %smmore, label %smaxis, label %smdone
smaxis:
  %sma = getelementptr i64, ptr %sms, i64 %smk
  %smv = load i64, ptr %sma
  %smn1 = mul i64 %smn, %smv
  %smk1 = add i64 %smk, 1
  br label %smaxes
smdone:
  %issmall = icmp sle i64 %smn, %a
  br i1 %issmall, label %next, label %miss
enabled:
  %en = load i32, ptr %ap
  %isen = icmp ne i32 %en, 0
  br i1 %isen, label %next, label %miss
lacking:
  %lk = call ptr @PyDict_GetItemWithError(ptr %ap, ptr %bp)
  %islk = icmp eq ptr %lk, null
  br i1 %islk, label %lacking1, label %miss
lacking1:
  %lke = call ptr @PyErr_Occurred()
  %islke = icmp eq ptr %lke, null
  br i1 %islke, label %next, label %problem
failed:
  %err = call ptr @PyErr_Occurred()
  %iserr = icmp ne ptr %err, null
  br i1 %iserr, label %problem, label %miss
problem:
  %usual = call i32 @PyErr_ExceptionMatches(ptr @autograph_Exception)
  %isusual = icmp ne i32 %usual, 0
  br i1 %isusual, label %clear, label %done
clear:
  call void @PyErr_Clear()
  br label %miss
hit:
  br label %done
miss:
  br label %done
done:
  %answer = phi i32 [ 1, %hit ], [ 0, %miss ], [ 2, %problem ]
  %left = load i64, ptr %owned
  %none = icmp eq i64 %left, 0
  br i1 %none, label %end, label %release
release:
  %o = phi i64 [ %left, %done ], [ %o1, %release ]
  %r = call i64 @llvm.cttz.i64(i64 %o, i1 true)
  %ro = getelementptr ptr, ptr %regs, i64 %r
  %rv = load ptr, ptr %ro
  call void @Py_DecRef(ptr %rv)
  %om = sub i64 %o, 1
  %o1 = and i64 %o, %om
  %over = icmp eq i64 %o1, 0
  br i1 %over, label %end, label %release
end:
  ret i32 %answer
}}
declare i64 @llvm.cttz.i64(i64, i1)
"""


def text() -> str:
    """The function and what it refers to."""
    numbers = {name: value for name, value in globals().items() if isinstance(value, int)}
    return _CHECK.format(**(numbers | _OFFSETS))
