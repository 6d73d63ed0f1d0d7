"""The pool of threads, loaded: where machine code finds it, and what becomes of it in a forked process.

In: nothing.  Out: `address` of its functions.  What always holds: the code and the words
of the pool stay where they are until the process is gone, since its threads, of which Python knows nothing,
may look at them at any time; a forked process begins without helpers and starts its own.
"""

from __future__ import annotations

import ctypes
import functools
import os

from runtime import threads
from runtime.execute.native import abi, link, pool_ir
from runtime.execute.native.llvm_load import object_code

_WORDS = {
    "job": ctypes.c_uint64, "busy": ctypes.c_int32, "done": ctypes.c_int32, "waiting": ctypes.c_int32,
    "sleepers": ctypes.c_int32, "helpers": ctypes.c_int32, "most": ctypes.c_int32, "status": ctypes.c_int32,
    "hot": ctypes.c_int64, "cold": ctypes.c_int64, "least": ctypes.c_int64,
}  # fmt: skip


class Pool:
    """The loaded pool.  words: its variables by name."""

    def __init__(self) -> None:
        symbols = abi.symbols() | {"autograph_threads": threads.address()}
        self.image = link.load(object_code(pool_ir.text(), optimised=False, effort=0), symbols)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.image.memory))  # for ever
        self.words = {name: self.image.variable(kind, name) for name, kind in _WORDS.items()}
        self.words["most"].value = threads.MOST

    @property
    def helpers(self) -> int:
        """How many threads there are besides those of Python."""
        return int(self.words["helpers"].value)

    @property
    def jobs(self) -> int:
        """How many loops were shared."""
        return int(self.words["job"].value) >> 32

    def after_fork(self) -> None:
        """In a forked process: no helpers, nothing to do, nobody at it."""
        words = self.words
        words["job"].value &= ~((1 << 32) - 1)
        for name in ("busy", "done", "waiting", "sleepers", "helpers", "status"):
            words[name].value = 0
        words["most"].value = threads.MOST


@functools.cache
def pool() -> Pool:
    """The pool of this process."""
    made = Pool()
    os.register_at_fork(after_in_child=made.after_fork)
    return made


def address(function: str) -> int:
    """Where a function of the pool is: "share", or "pause" for parts that may take long."""
    return pool().image.address(function)
