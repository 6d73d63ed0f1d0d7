"""Garbage collections that wait: most of what conversion, tracing and compiling make is still in use later.

In: nothing.  Out: `rarely()`, a context in which the collector looks for garbage once in many new objects
only.  What always holds: collections are not switched off, garbage is found after a bounded number of new
objects, and after the last context the threshold is what it was, unless somebody set another one meanwhile;
in a forked process, too.
"""

from __future__ import annotations

import gc
import os
from types import TracebackType

from runtime.forking import ForkLock

MANY = 100_000  # new objects; the usual threshold would cost a tenth of a first call
SOME = 5_000  # from so many on it takes longer to look at them than to come to them later
FROZEN = 100  # contexts that are left before it is asked again whether objects are frozen


class _Rarely:
    """The context: threads that are in it at a time share it."""

    def __init__(self) -> None:
        self.lock, self.inside, self.usual = ForkLock(), 0, 0
        self.aged = 0  # objects counted as old here since the last collection of all
        self.collections = 0  # of all objects, when the last of them were
        self.alive = 0  # objects that were left by the last one that was made here
        self.passed = 0  # so many times more nobody asks whether somebody froze objects: somebody did

    def __enter__(self) -> None:
        with self.lock:
            first, *others = gc.get_threshold()
            if self.inside == 0 and 0 < first < MANY:
                self.usual = first
                gc.set_threshold(MANY, *others)
            self.inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        with self.lock:
            self.inside = max(0, self.inside - 1)
            if self.inside == 0:
                self.restore()
            due = self.inside == 0 and self.aged > max(MANY, self.alive // 4) and gc.isenabled()
        if due:
            self.collect()

    def restore(self) -> None:
        """Put back the threshold, if it is the one that was set here."""
        first, *others = gc.get_threshold()
        if self.usual and first == MANY:
            new = gc.get_count()[0]
            if new > SOME and self.free():
                gc.freeze()  # all objects there are
                gc.unfreeze()  # counts them as old: a collection of new ones has nothing to look at
                collections = gc.get_stats()[-1]["collections"]
                self.aged = new + (self.aged if collections == self.collections else 0)
                self.collections = collections
            gc.set_threshold(self.usual, *others)
        self.usual = 0

    def free(self) -> bool:
        """Whether nobody froze objects, which must stay so; counting many takes milliseconds."""
        self.passed -= self.passed > 0
        if self.passed == 0 and gc.get_freeze_count() > 0:
            self.passed = FROZEN
        return self.passed == 0

    def collect(self) -> None:
        """Collect all: Python would do it too late, as it does not see what was counted as old here."""
        self.aged = 0
        gc.collect()
        with self.lock:
            if self.free():
                gc.freeze()
                self.alive = gc.get_freeze_count()
                gc.unfreeze()

    def after_fork(self) -> None:
        """In a forked process: threads that were in it are gone, and one that forked in it need not be."""
        self.inside = 0
        self.restore()


_RARELY = _Rarely()
os.register_at_fork(after_in_child=_RARELY.after_fork)


def rarely() -> _Rarely:
    """The context."""
    return _RARELY
