"""Flags: bools that the test of a `while` asks for, and another thread or a signal handler writes.

In: what is known of places, while a test is traced.  Out: whether that is to be believed.  What always holds:
what the body of the loop does not write is read on each trip; what it writes is known by that.
"""

from __future__ import annotations

from typing import Any

from runtime.trace.core import Trace
from runtime.trace.heap import Flags, Identity, Loaded, Log, meets
from runtime.types import WEAK_BOOL, static_or_weak


def anew(trace: Trace, who: Identity, kind: str, key: Any, entry: Any) -> bool:
    """Whether a place of which something is known is to be read all the same."""
    if trace.asking is None or trace.heap.private(who):
        return False
    t = entry.type if isinstance(entry, Loaded) else trace.type_of(entry)
    if static_or_weak(t) != WEAK_BOOL:
        return False
    trace.asking.seen[who, kind, key] = None
    return (who, kind, key) in trace.asking.anew


def others_write(trace: Trace, flags: Flags, log: Log) -> bool:
    """Whether the test found flags that the body, of which this is the log, does not write.

    They are read on each trip from now on."""
    written = [how for what, how in log.events if what == "written"]
    found = {
        (who, kind, key)
        for who, kind, key in flags.seen
        if not any(k == kind and meets(w, key) and trace.heap.may_alias(who, x) for x, k, w in written)
    }
    new = not found <= flags.anew
    flags.anew |= found
    return new
