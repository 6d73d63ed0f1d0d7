"""Whether calls may be dispatched by machine code: one word that Python writes and machine code reads.

In: whoever makes calls mean something else for a while (a trace, a tape, the switch to eager calls) shuts
the gate and opens it again.  Out: `GATE`.  What always holds: while it is shut by anybody, in any thread,
every call goes the way of Python, which asks what is going on in its own thread.
"""

from __future__ import annotations

import ctypes
import threading


class Gate:
    """shut_by: how many have shut it and not opened it yet."""

    def __init__(self) -> None:
        self.shut_by = 0
        self._word = ctypes.c_int64(0)  # the same number
        self._lock = threading.Lock()

    @property
    def address(self) -> int:
        """Where machine code finds the number."""
        return ctypes.addressof(self._word)

    def shut(self) -> None:
        """From now on calls go through Python."""
        with self._lock:
            self.shut_by += 1
            self._word.value = self.shut_by

    def open(self) -> None:
        """Undo one `shut`."""
        with self._lock:
            self.shut_by -= 1
            self._word.value = self.shut_by


GATE = Gate()
