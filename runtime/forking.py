"""A lock that a forked process can take, whoever held it in its parent.

In: nothing.  Out: `ForkLock`, to be used in `with`; its owner may take it again.  What always holds: in a
forked process it is held only if the thread that forked held it.
"""

from __future__ import annotations

import os
import threading
import weakref


class ForkLock:
    """The lock."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _LOCKS.add(self)

    def __enter__(self) -> ForkLock:
        self._lock.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.release()


_LOCKS: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_LOCKS):
        if lock._lock.acquire(blocking=False):
            lock._lock.release()
        else:  # a thread held it that this process does not have
            lock._lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
