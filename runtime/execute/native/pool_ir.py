"""The pool of threads as LLVM IR: parts of a loop are handed out one by one, and those that are done counted.

In: calls of `@share(function, context, from, to, grain, work, locked)` by a thread that holds Python's lock.
Out: the `or` of what the function gave for the parts: 1 to leave to the plan, 2 if a signal handler raised.
What always holds:

- The caller waits for parts, never for threads: it takes parts itself until none is left, so it can finish
  alone whatever the helpers do, and one that wakes up late finds nothing to take.
- `@job` is epoch (32 bits), seats for helpers (12) and parts left (20).  A part, and the first time a seat
  with it, is taken by exchanging the whole word, and what describes a job is written only while no part is
  left: who took a part has read the description of that very job.  Seats number the helpers of a job.
- After a helper has counted its part as done it touches nothing of the job.
- Each thread has its own parts, side by side, so that in a loop around it works on what lies in its cache; it
  takes those of others when nobody came, or these don't take them in a while.  `@marks` hold the epoch in
  which a part was taken last.
- Whoever finds the pool busy works alone, and so does a loop inside a loop.
- What floating point operations flag belongs to a thread: a helper begins without, and hands on what a part
  flagged, from bit 8 of its result on.  Modes of rounding are those of the caller.
- Parts that may take long (locked) call `@pause(seat)` now and then: the caller lets other threads of Python
  run and signals be handled, a helper learns whether the job has become useless.
"""

from __future__ import annotations

import re

from runtime.execute.native.emit import BRIEFLY, FLAGS

HOT, COLD = 20_000, 100_000  # nanoseconds of work worth sharing with helpers that are awake, or asleep
NEAR = 1_000  # and where each of them has its part of the data in its cache, from a loop just before
SOON = 300_000  # ticks of the processor from one such loop to the next: then it pays to wake the helpers up
RELEASE = 500_000  # and worth giving up Python's lock for
LEAST = 5_000  # nanoseconds of a part
PARTS = 8  # for each thread: not all are equally fast
SPINS = 2_000  # looks for a job before a helper goes to sleep: about 50 us
PATIENCE = 1_000  # looks at what is done before the caller goes to sleep
HOLD, MOST_LOOKS = 100, 4_000  # nanoseconds of work for each look before parts of others are taken
FEW_LOOKS = 100  # the same where parts may take long, and not equally long
OFTEN = 511  # of so many looks one lets others on the same processor run: it may be those waited for
STACK = 1 << 21  # bytes of a helper's stack
SEAT, LEFT, SEATS = 1 << 20, (1 << 20) - 1, (1 << 12) - 1
_FUTEX, _WAIT, _WAKE = 202, 128, 129  # the system call, and its operations within a process
_OWN_SIGNALS = (4, 7, 8, 11)  # SIGILL, SIGBUS, SIGFPE, SIGSEGV belong to the thread that does it
_SET_MASK, _DETACHED = 2, 1
_ALONE = -1  # the seat of a caller that shares nothing
_NAP = 5_000_000  # nanoseconds after which a caller that waits looks at what else goes on

_DECLARATIONS = """
@job = global i64 0, align 64
@function = internal global i64 0, align 64
@context = internal global i64 0
@from = internal global i64 0
@to = internal global i64 0
@step = internal global i64 0
@count = internal global i64 0
@apart = internal global i64 0
@hold = internal global i32 0
@modes = internal global i64 0
@marks = internal global [4096 x i32] zeroinitializer, align 64
@done = global i32 0, align 64
@waiting = global i32 0
@status = global i32 0
@sleepers = global i32 0, align 64
@helpers = global i32 0
@most = global i32 0
@busy = global i32 0
@hot = global i64 HOT
@cold = global i64 COLD
@least = global i64 LEAST
@asked = internal global i64 0
@nap = internal constant { i64, i64 } { i64 0, i64 NAP }
@autograph_threads = external global i32
declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_setdetachstate(ptr, i32)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sigdelset(ptr, i32)
declare i32 @autograph_feclearexcept(i32)
declare i32 @autograph_fetestexcept(i32)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()
declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare i64 @llvm.readcyclecounter()
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
"""

_PART = """
define internal void @part(ptr %f, ptr %context, i64 %number, i64 %from, i64 %to, i64 %step, i64 %seat,
                           i1 %clean) noinline nounwind BRIEFLY {
start:
  %before = load atomic i32, ptr @status monotonic, align 4
  %left = and i32 %before, 255
  %useless = icmp ne i32 %left, 0
  br i1 %useless, label %counted, label %some
some:
  %offset = mul i64 %number, %step
  %a = add i64 %from, %offset
  %b0 = add i64 %a, %step
  %b = call i64 @llvm.smin.i64(i64 %b0, i64 %to)
  br i1 %clean, label %helping, label %calling
helping:
  call i32 @autograph_feclearexcept(i32 FLAGS)
  %found1 = call i32 %f(ptr %context, i64 %a, i64 %b, i64 %seat)
  %flags = call i32 @autograph_fetestexcept(i32 FLAGS)
  %high = shl i32 %flags, 8
  %found2 = or i32 %found1, %high
  br label %did
calling:
  %found3 = call i32 %f(ptr %context, i64 %a, i64 %b, i64 %seat)
  br label %did
did:
  %found = phi i32 [ %found2, %helping ], [ %found3, %calling ]
  %plain = icmp eq i32 %found, 0
  br i1 %plain, label %counted, label %noted
noted:
  %r1 = atomicrmw or ptr @status, i32 %found seq_cst
  br label %counted
counted:
  %r2 = atomicrmw add ptr @done, i32 1 seq_cst
  %asleep = load atomic i32, ptr @waiting seq_cst, align 4
  %nobody = icmp eq i32 %asleep, 0
  br i1 %nobody, label %end, label %wake
wake:
  %r3 = call i64 (i64, ...) @syscall(i64 FUTEX, ptr @done, i64 WAKE, i64 1, ptr null, ptr null, i64 0)
  br label %end
end:
  ret void
}
"""

_PICK = """
define internal i64 @pick(i64 %place, i64 %count, i32 %epoch) nounwind BRIEFLY {
start:
  br label %look
look:
  %k = phi i64 [ %place, %start ], [ %k2, %on ]
  %at = getelementptr i32, ptr @marks, i64 %k
  %mark = load atomic i32, ptr %at monotonic, align 4
  %taken = icmp eq i32 %mark, %epoch
  br i1 %taken, label %on, label %try
try:
  %x = cmpxchg ptr %at, i32 %mark, i32 %epoch seq_cst seq_cst
  %mine = extractvalue { i32, i1 } %x, 1
  br i1 %mine, label %end, label %on
on:
  %k1 = add i64 %k, 1
  %last = icmp sge i64 %k1, %count
  %k2 = select i1 %last, i64 0, i64 %k1
  br label %look
end:
  ret i64 %k
}
"""

_OWN = """
define internal i1 @mine_left(i64 %place, i64 %apart, i64 %count, i32 %epoch) nounwind BRIEFLY {
start:
  %end0 = add i64 %place, %apart
  %end = call i64 @llvm.smin.i64(i64 %end0, i64 %count)
  br label %look
look:
  %k = phi i64 [ %place, %start ], [ %k1, %next ]
  %more = icmp slt i64 %k, %end
  br i1 %more, label %next, label %none
next:
  %at = getelementptr i32, ptr @marks, i64 %k
  %mark = load atomic i32, ptr %at monotonic, align 4
  %k1 = add i64 %k, 1
  %taken = icmp eq i32 %mark, %epoch
  br i1 %taken, label %look, label %some
some:
  ret i1 true
none:
  ret i1 false
}
"""

_PAUSE = """
define internal void @spin(i32 %k) nounwind BRIEFLY {
  call void @llvm.x86.sse2.pause()
  %low = and i32 %k, OFTEN
  %due = icmp eq i32 %low, 0
  br i1 %due, label %yield, label %end
yield:
  call i32 @sched_yield()
  br label %end
end:
  ret void
}
define internal i32 @breathe() noinline nounwind BRIEFLY {
  %state = call ptr @PyEval_SaveThread()
  call void @PyEval_RestoreThread(ptr %state)
  %failed = call i32 @PyErr_CheckSignals()
  %raised = icmp ne i32 %failed, 0
  %found = select i1 %raised, i32 2, i32 0
  ret i32 %found
}
define i32 @pause(i64 %seat) noinline nounwind BRIEFLY {
start:
  %calling = icmp sle i64 %seat, 0
  br i1 %calling, label %look, label %ask
look:
  %found = call i32 @breathe()
  %alone = icmp slt i64 %seat, 0
  br i1 %alone, label %end, label %tell
end:
  ret i32 %found
tell:
  %r1 = atomicrmw or ptr @status, i32 %found seq_cst
  br label %ask
ask:
  %now = load atomic i32, ptr @status seq_cst, align 4
  %left = and i32 %now, 255
  ret i32 %left
}
"""

_HELPER = """
define internal ptr @helper(ptr %which) nounwind BRIEFLY {
start:
  %cell = alloca i32, align 4
  %waited = alloca i32, align 4
  %epoch_at = getelementptr i8, ptr @job, i64 4
  %number = ptrtoint ptr %which to i64
  br label %wait
wait:
  %seen = phi i32 [ 0, %start ], [ %seen, %sleep ], [ %seen, %apply ], [ %epoch, %new ], [ %epoch, %again ]
  br label %look
look:
  %k = phi i32 [ 0, %wait ], [ %k1, %pause ]
  %w = load atomic i64, ptr @job seq_cst, align 8
  %high = lshr i64 %w, 32
  %epoch = trunc i64 %high to i32
  %known = icmp eq i32 %epoch, %seen
  br i1 %known, label %pause, label %new
pause:
  call void @spin(i32 %k)
  %k1 = add i32 %k, 1
  %on = icmp ult i32 %k1, SPINS
  br i1 %on, label %look, label %sleep
sleep:
  %r1 = atomicrmw add ptr @sleepers, i32 1 seq_cst
  %r2 = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %epoch_at, i64 WAIT, i32 %seen, ptr null, ptr null, i64 0)
  %r3 = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %wait
new:
  %left = and i64 %w, LEFT
  %middle = lshr i64 %w, 20
  %seat = and i64 %middle, SEATS
  %none = icmp eq i64 %left, 0
  %full = icmp eq i64 %seat, 0
  %late = or i1 %none, %full
  br i1 %late, label %wait, label %apply
apply:
  %f0 = load atomic i64, ptr @function monotonic, align 8
  %f = inttoptr i64 %f0 to ptr
  %context0 = load atomic i64, ptr @context monotonic, align 8
  %context = inttoptr i64 %context0 to ptr
  %from = load atomic i64, ptr @from monotonic, align 8
  %to = load atomic i64, ptr @to monotonic, align 8
  %step = load atomic i64, ptr @step monotonic, align 8
  %count = load atomic i64, ptr @count monotonic, align 8
  %apart = load atomic i64, ptr @apart monotonic, align 8
  %modes0 = load atomic i64, ptr @modes monotonic, align 8
  %less = sub i64 %w, BOTH
  %x = cmpxchg ptr @job, i64 %w, i64 %less seq_cst seq_cst
  %mine = extractvalue { i64, i1 } %x, 1
  br i1 %mine, label %sit, label %wait
sit:
  %modes = trunc i64 %modes0 to i32
  store i32 %modes, ptr %cell
  call void @llvm.x86.sse.ldmxcsr(ptr %cell)
  store i32 0, ptr %waited
  %limit = load atomic i32, ptr @hold monotonic, align 4
  %most = add i64 %count, %apart
  %most1 = sub i64 %most, 1
  %threads = udiv i64 %most1, %apart
  %others = sub i64 %threads, 1
  %before = sub i64 %number, 1
  %turn = urem i64 %before, %others
  %turn1 = add i64 %turn, 1
  %place = mul i64 %turn1, %apart
  br label %work
work:
  %which_part = call i64 @pick(i64 %place, i64 %count, i32 %epoch)
  call void @part(ptr %f, ptr %context, i64 %which_part, i64 %from, i64 %to, i64 %step, i64 %seat, i1 true)
  br label %again
again:
  %w2 = load atomic i64, ptr @job seq_cst, align 8
  %high2 = lshr i64 %w2, 32
  %left2 = and i64 %w2, LEFT
  %same = icmp eq i64 %high2, %high
  %some = icmp ne i64 %left2, 0
  %more = and i1 %same, %some
  br i1 %more, label %own, label %wait
own:
  %mine_left = call i1 @mine_left(i64 %place, i64 %apart, i64 %count, i32 %epoch)
  br i1 %mine_left, label %take, label %hold
hold:
  %held = load i32, ptr %waited
  %held1 = add i32 %held, 1
  store i32 %held1, ptr %waited
  %enough = icmp ugt i32 %held, %limit
  br i1 %enough, label %take, label %rest
rest:
  call void @llvm.x86.sse2.pause()
  br label %again
take:
  %less2 = sub i64 %w2, 1
  %x2 = cmpxchg ptr @job, i64 %w2, i64 %less2 seq_cst seq_cst
  %mine2 = extractvalue { i64, i1 } %x2, 1
  br i1 %mine2, label %work, label %again
}
"""

_GROW = """
define internal void @grow(i32 %wanted) noinline nounwind BRIEFLY {
start:
  %all = alloca [128 x i8], align 8
  %before = alloca [128 x i8], align 8
  %about = alloca [64 x i8], align 8
  %thread = alloca i64, align 8
  call i32 @sigfillset(ptr %all)
  OWN_SIGNALS
  call i32 @pthread_sigmask(i32 SET_MASK, ptr %all, ptr %before)
  call i32 @pthread_attr_init(ptr %about)
  call i32 @pthread_attr_setstacksize(ptr %about, i64 STACK)
  call i32 @pthread_attr_setdetachstate(ptr %about, i32 DETACHED)
  br label %one
one:
  %now = load atomic i32, ptr @helpers monotonic, align 4
  %enough = icmp sge i32 %now, %wanted
  br i1 %enough, label %end, label %more
more:
  %next = add i32 %now, 1
  %number = zext i32 %next to i64
  %which = inttoptr i64 %number to ptr
  %failed = call i32 @pthread_create(ptr %thread, ptr %about, ptr @helper, ptr %which)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %made, label %limit
made:
  store atomic i32 %next, ptr @helpers monotonic, align 4
  br label %one
limit:
  store atomic i32 %now, ptr @most monotonic, align 4
  br label %end
end:
  call i32 @pthread_attr_destroy(ptr %about)
  call i32 @pthread_sigmask(i32 SET_MASK, ptr %before, ptr null)
  ret void
}
"""

_SHARE = """
define i32 @share(ptr %f, ptr %context, i64 %from, i64 %to, i64 %grain, i64 %work,
                  i1 %locked) nounwind BRIEFLY {
start:
  %long = icmp sgt i64 %work, RELEASE
  %unlocked = xor i1 %locked, true
  %free = and i1 %long, %unlocked
  %n = load atomic i32, ptr @autograph_threads monotonic, align 4
  %several = icmp sgt i32 %n, 1
  br i1 %several, label %judge, label %alone
judge:
  %h = load atomic i32, ptr @helpers monotonic, align 4
  %asleep = load atomic i32, ptr @sleepers monotonic, align 4
  %awake = icmp slt i32 %asleep, %h
  %hot = load i64, ptr @hot
  %worth = icmp sge i64 %work, %hot
  br i1 %worth, label %consider, label %alone
consider:
  %now = call i64 @llvm.readcyclecounter()
  %then = load atomic i64, ptr @asked monotonic, align 8
  store atomic i64 %now, ptr @asked monotonic, align 8
  %passed = sub i64 %now, %then
  %soon = icmp ult i64 %passed, SOON
  %cold = load i64, ptr @cold
  %dear = icmp sge i64 %work, %cold
  %ready0 = or i1 %awake, %soon
  %pays = or i1 %ready0, %dear
  br i1 %pays, label %divide, label %alone
divide:
  %n64 = zext i32 %n to i64
  %many = mul i64 %n64, PARTS
  %least = load i64, ptr @least
  %long_enough = udiv i64 %work, %least
  %parts0 = call i64 @llvm.smin.i64(i64 %many, i64 %long_enough)
  %parts = call i64 @llvm.smax.i64(i64 %parts0, i64 1)
  %span = sub i64 %to, %from
  %span1 = add i64 %span, %parts
  %span2 = sub i64 %span1, 1
  %each = sdiv i64 %span2, %parts
  %each1 = add i64 %each, %grain
  %each2 = sub i64 %each1, 1
  %grains = sdiv i64 %each2, %grain
  %step = mul i64 %grains, %grain
  %wide = icmp slt i64 %step, %span
  br i1 %wide, label %ask, label %alone
ask:
  %x = cmpxchg ptr @busy, i32 0, i32 1 seq_cst seq_cst
  %mine = extractvalue { i32, i1 } %x, 1
  br i1 %mine, label %ready, label %alone
alone:
  br i1 %free, label %release, label %direct
direct:
  %found1 = call i32 %f(ptr %context, i64 %from, i64 %to, i64 ALONE)
  ret i32 %found1
release:
  %state1 = call ptr @PyEval_SaveThread()
  %found2 = call i32 %f(ptr %context, i64 %from, i64 %to, i64 ALONE)
  call void @PyEval_RestoreThread(ptr %state1)
  ret i32 %found2
ready:
  %others = sub i32 %n, 1
  %most = load atomic i32, ptr @most monotonic, align 4
  %bound = icmp slt i32 %most, %others
  %wanted = select i1 %bound, i32 %most, i32 %others
  %have = load atomic i32, ptr @helpers monotonic, align 4
  %few = icmp slt i32 %have, %wanted
  br i1 %few, label %growing, label %grown
growing:
  call void @grow(i32 %wanted)
  br label %grown
grown:
  br i1 %free, label %let, label %publish
let:
  %state2 = call ptr @PyEval_SaveThread()
  br label %publish
publish:
  %state = phi ptr [ null, %grown ], [ %state2, %let ]
  %found = call i32 @shared(ptr %f, ptr %context, i64 %from, i64 %to, i64 %step, i32 %wanted,
                          i1 %locked, i64 %work)
  br i1 %free, label %lock, label %end
lock:
  call void @PyEval_RestoreThread(ptr %state)
  br label %end
end:
  ret i32 %found
}
"""

_SHARED = """
define internal i32 @shared(ptr %f, ptr %context, i64 %from, i64 %to, i64 %step, i32 %seats,
                            i1 %locked, i64 %cost) noinline nounwind BRIEFLY {
start:
  %cell = alloca i32, align 4
  %waited = alloca i32, align 4
  store i32 0, ptr %waited
  %epoch_at = getelementptr i8, ptr @job, i64 4
  %span = sub i64 %to, %from
  %span1 = add i64 %span, %step
  %span2 = sub i64 %span1, 1
  %count = sdiv i64 %span2, %step
  %count32 = trunc i64 %count to i32
  call void @llvm.x86.sse.stmxcsr(ptr %cell)
  %modes = load i32, ptr %cell
  %modes0 = and i32 %modes, CONTROL
  %modes64 = zext i32 %modes0 to i64
  %f0 = ptrtoint ptr %f to i64
  %context0 = ptrtoint ptr %context to i64
  store atomic i64 %f0, ptr @function monotonic, align 8
  store atomic i64 %context0, ptr @context monotonic, align 8
  store atomic i64 %from, ptr @from monotonic, align 8
  store atomic i64 %to, ptr @to monotonic, align 8
  store atomic i64 %step, ptr @step monotonic, align 8
  store atomic i64 %count, ptr @count monotonic, align 8
  store atomic i64 %modes64, ptr @modes monotonic, align 8
  store atomic i32 0, ptr @done monotonic, align 4
  store atomic i32 0, ptr @status monotonic, align 4
  %before = load atomic i64, ptr @job monotonic, align 8
  %epoch = lshr i64 %before, 32
  %next = add i64 %epoch, 1
  %high = shl i64 %next, 32
  %seats64 = zext i32 %seats to i64
  %all_seats = add i64 %seats64, 1
  %apart0 = add i64 %count, %seats64
  %apart = udiv i64 %apart0, %all_seats
  store atomic i64 %apart, ptr @apart monotonic, align 8
  %looks = udiv i64 %cost, HOLD
  %most_looks = select i1 %locked, i64 FEW_LOOKS, i64 MOST_LOOKS
  %limit64 = call i64 @llvm.smin.i64(i64 %looks, i64 %most_looks)
  %limit = trunc i64 %limit64 to i32
  store atomic i32 %limit, ptr @hold monotonic, align 4
  %epoch32 = trunc i64 %next to i32
  store atomic i32 %epoch32, ptr @marks monotonic, align 4
  %middle = shl i64 %seats64, 20
  %upper = or i64 %high, %middle
  %others = sub i64 %count, 1
  %word = or i64 %upper, %others
  store atomic i64 %word, ptr @job seq_cst, align 8
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %nobody = icmp eq i32 %asleep, 0
  br i1 %nobody, label %begin, label %wake
wake:
  %calls = call i64 @llvm.smin.i64(i64 %others, i64 %seats64)
  %r1 = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %epoch_at, i64 WAKE, i64 %calls, ptr null, ptr null,
                                     i64 0)
  br label %begin
begin:
  call void @part(ptr %f, ptr %context, i64 0, i64 %from, i64 %to, i64 %step, i64 0, i1 false)
  br label %again
again:
  %w = load atomic i64, ptr @job seq_cst, align 8
  %left = and i64 %w, LEFT
  %some = icmp ne i64 %left, 0
  br i1 %some, label %own, label %wait
own:
  %mine_left = call i1 @mine_left(i64 0, i64 %apart, i64 %count, i32 %epoch32)
  br i1 %mine_left, label %take, label %hold
hold:
  %high_now = lshr i64 %w, 20
  %free_now = and i64 %high_now, SEATS
  %nobody_came = icmp eq i64 %free_now, %seats64
  %held = load i32, ptr %waited
  %held1 = add i32 %held, 1
  store i32 %held1, ptr %waited
  %long = icmp ugt i32 %held, %limit
  %enough = or i1 %nobody_came, %long
  br i1 %enough, label %take, label %let
let:
  call void @llvm.x86.sse2.pause()
  br label %again
take:
  %less = sub i64 %w, 1
  %x = cmpxchg ptr @job, i64 %w, i64 %less seq_cst seq_cst
  %mine = extractvalue { i64, i1 } %x, 1
  br i1 %mine, label %work, label %again
work:
  %number = call i64 @pick(i64 0, i64 %count, i32 %epoch32)
  call void @part(ptr %f, ptr %context, i64 %number, i64 %from, i64 %to, i64 %step, i64 0, i1 false)
  br label %again
wait:
  %k = phi i32 [ 0, %again ], [ %k1, %pause ]
  %d = load atomic i32, ptr @done seq_cst, align 4
  %all = icmp eq i32 %d, %count32
  br i1 %all, label %end, label %pause
pause:
  call void @spin(i32 %k)
  %k1 = add i32 %k, 1
  %on = icmp ult i32 %k1, PATIENCE
  br i1 %on, label %wait, label %tired
tired:
  store atomic i32 1, ptr @waiting seq_cst, align 4
  %time = select i1 %locked, ptr @nap, ptr null
  br label %rest
rest:
  %d2 = load atomic i32, ptr @done seq_cst, align 4
  %all2 = icmp eq i32 %d2, %count32
  br i1 %all2, label %rested, label %sleep
sleep:
  %r2 = call i64 (i64, ...) @syscall(i64 FUTEX, ptr @done, i64 WAIT, i32 %d2, ptr %time, ptr null, i64 0)
  br i1 %locked, label %breathe, label %rest
breathe:
  %r3 = call i32 @pause(i64 0)
  br label %rest
rested:
  store atomic i32 0, ptr @waiting seq_cst, align 4
  br label %end
end:
  %found = load atomic i32, ptr @status seq_cst, align 4
  store atomic i32 0, ptr @busy seq_cst, align 4
  ret i32 %found
}
"""


def text() -> str:
    """The module."""
    signals = "\n  ".join(f"call i32 @sigdelset(ptr %all, i32 {k})" for k in _OWN_SIGNALS)
    words = {
        "OWN_SIGNALS": signals, "FLAGS": FLAGS, "FUTEX": _FUTEX, "WAIT": _WAIT, "WAKE": _WAKE, "SPINS": SPINS,
        "LEFT": LEFT, "SEATS": SEATS, "BOTH": SEAT + 1, "SET_MASK": _SET_MASK, "DETACHED": _DETACHED,
        "STACK": STACK, "RELEASE": RELEASE, "HOT": HOT, "COLD": COLD, "PARTS": PARTS, "LEAST": LEAST,
        "SOON": SOON, "PATIENCE": PATIENCE, "OFTEN": OFTEN, "CONTROL": ~63, "ALONE": _ALONE,
        "NAP": _NAP, "BRIEFLY": BRIEFLY, "HOLD": HOLD, "MOST_LOOKS": MOST_LOOKS,
        "FEW_LOOKS": FEW_LOOKS,
    }  # fmt: skip
    whole = "".join((_DECLARATIONS, _PART, _PICK, _OWN, _PAUSE, _HELPER, _GROW, _SHARED, _SHARE))
    whole = re.sub(r",\n +", ", ", whole)
    for word, value in words.items():
        whole = re.sub(rf"\b{word}\b", str(value), whole)
    return whole
