"""Work that calls need not wait for: one thread does it, started when there is something to do.

In: `Job`s.  Out: they get done, by the thread or by whoever needs one at once.  What always holds: a job is
done once; the thread ends when nothing is left, and takes on nothing new once the process is ending, which
waits for the job in progress only; in a forked process, which has no such thread, jobs in progress are
taken up anew.
"""

from __future__ import annotations

import collections
import os
import threading
import weakref
from collections.abc import Callable

WAITING, RUNNING, DONE = range(3)
NAME = "autograph-background"


class Job:
    """Something to be done once: `work`, and when it counts as done `after`.  Neither must raise."""

    def __init__(self, work: Callable[[], None], after: Callable[[], None] | None = None) -> None:
        self._work: Callable[[], None] | None = work
        self._after = after
        self._state, self._owner = WAITING, 0
        self._finished = threading.Event()
        _STATE.jobs.add(self)

    @property
    def done(self) -> bool:
        """Whether it has been done."""
        return self._state == DONE

    def finish(self) -> None:
        """Come back when it is done: do it here if nobody has begun it."""
        if self._claim():
            self._run()
        elif self._owner != threading.get_ident():  # else it needs itself: a finalizer that ran in between
            self._finished.wait()

    def submit(self) -> None:
        """Have it done some time; where no thread can be started, only `finish` does it."""
        with _STATE.lock:
            _STATE.queue.append(self)
            start, _STATE.running = not _STATE.running, True
        if start:
            try:
                threading.Thread(target=_work_off, name=NAME, daemon=False).start()
            except RuntimeError:  # no more threads, or the interpreter is ending
                with _STATE.lock:
                    _STATE.queue.clear()
                    _STATE.running = False

    def _claim(self) -> bool:
        me = threading.get_ident()
        with _STATE.lock:
            if self._state != WAITING:
                return False
            self._state, self._owner = RUNNING, me
            return True

    def _run(self) -> None:
        assert self._work is not None
        try:
            self._work()
        finally:
            self._state, self._owner, self._work = DONE, 0, None
            self._finished.set()
        after, self._after = self._after, None
        if after is not None:
            after()

    def _after_fork(self) -> None:
        if self._state == RUNNING and self._owner != threading.get_ident():
            self._state, self._owner = WAITING, 0
        if self._state != DONE:
            self._finished = threading.Event()


class _State:
    """What there is to do, and whether the thread is at it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a finalizer or signal handler that runs meanwhile may need a job
        self.queue: collections.deque[Job] = collections.deque()
        self.running = False
        self.jobs: weakref.WeakSet[Job] = weakref.WeakSet()

    def after_fork(self) -> None:
        """In a forked process: no thread, no locks held, jobs in progress not begun."""
        self.lock = threading.RLock()
        self.queue.clear()
        self.running = False
        for job in list(self.jobs):
            job._after_fork()
            if not job.done:
                self.queue.append(job)


_STATE = _State()
os.register_at_fork(after_in_child=_STATE.after_fork)


def here() -> bool:
    """Whether this is the thread that does what can wait.

    Nothing may be parsed in it: in Python 3.11 two threads that parse Python at a time, one of which is
    interrupted by the garbage collector, can end in a SystemError, in the user's thread, too.
    """
    return threading.current_thread().name == NAME


def ending() -> bool:
    """Whether the process is ending, so that nobody will need what is being done in the background."""
    return not threading.main_thread().is_alive()


def _work_off() -> None:
    try:
        while True:
            with _STATE.lock:
                if not _STATE.queue or ending():
                    _STATE.queue.clear()
                    _STATE.running = False
                    return
                job = _STATE.queue.popleft()
            if job._claim():
                job._run()
            del job
    except BaseException:  # a job that raised all the same, for want of memory say: the next one has a thread
        with _STATE.lock:
            _STATE.running = False
        raise
