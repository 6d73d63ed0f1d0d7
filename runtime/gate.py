"""Whether calls may be dispatched by machine code: one word that Python writes and machine code reads.

In: whoever makes calls mean something else for a while (a trace, a tape, the switch to eager calls) shuts
the gate and opens it again.  Out: `GATE`.  What always holds: while it is shut by anybody, in any thread,
every call goes the way of Python, which asks what is going on in its own thread; in a forked process, what
other threads had shut is open.
"""

from __future__ import annotations

import collections
import ctypes
import os
import threading

from runtime.forking import ForkLock

EVERYBODY = 0  # in place of a thread


class Gate:
    """shut_by: how many have shut it and not opened it yet."""

    def __init__(self) -> None:
        self.shut_by = 0
        self._word = ctypes.c_int64(0)  # the same number
        self._by_thread: collections.Counter[int] = collections.Counter()
        self._lock = ForkLock()

    @property
    def address(self) -> int:
        """Where machine code finds the number."""
        return ctypes.addressof(self._word)

    def shut(self, thread: int | None = None) -> None:
        """From now on calls go through Python.  thread: who wants it; None: this one."""
        self._change(1, thread)

    def open(self, thread: int | None = None) -> None:
        """Undo one `shut`."""
        self._change(-1, thread)

    def _change(self, by: int, thread: int | None) -> None:
        with self._lock:
            owner = threading.get_ident() if thread is None else thread
            self._by_thread[owner] += by
            if not self._by_thread[owner]:
                del self._by_thread[owner]
            self._count()

    def _count(self) -> None:
        self.shut_by = self._word.value = sum(self._by_thread.values())

    def after_fork(self) -> None:
        """In a forked process: only this thread is left."""
        left = (EVERYBODY, threading.get_ident())
        self._by_thread = collections.Counter({thread: self._by_thread[thread] for thread in left})
        self._count()


GATE = Gate()
os.register_at_fork(after_in_child=GATE.after_fork)
