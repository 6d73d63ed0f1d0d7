"""Iterators and generators that were just made: what takes all their items at once needs none of them.

In: the handle of an iterator, and how the same is done without it.  Out: that, while nothing was recorded
since the iterator was.  What always holds: whoever takes it has its nodes removed, so that each of its items
is taken once; the program can't use it any more without an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.dataclass import dataclass
from runtime.trace.core import Trace
from runtime.trace.heap import Identity, Log
from runtime.trace.values import Object


@dataclass
class Pending:
    """How an iterator is done without.  mark: before it was recorded; last: the node that made it.

    sources: the containers that it goes through.  again: records it again.
    items: its items, None where they aren't known.  add_up: what adding them all to a value gives.
    listed: the list of them all.  asked: whether any is true (True), or all are (False)."""

    mark: Any
    last: Any
    sources: tuple[Identity, ...]
    again: Callable[[], Any]
    items: Callable[[], list[Any] | None] | None = None
    add_up: Callable[[Any], Any] | None = None
    listed: Callable[[], Any] | None = None
    asked: Callable[[bool], Any] | None = None
    is_taken: bool = False

    def disturbed(self, trace: Trace, log: Log) -> bool:
        """Whether something may have been written to the sources since the log was begun."""
        if any(who not in trace.heap.sizes for who in self.sources):
            return True
        written = [how[0] for what, how in log.events if what == "written"]
        return any(trace.heap.may_alias(a, b) for a in written for b in self.sources)


def pend(
    trace: Trace, handle: Object, mark: Any, args: Sequence[Any], again: Callable[[], Any], **ways: Any
) -> None:
    """Remember how to do without an iterator over args that was recorded since `mark`."""
    sources: list[Identity] = []
    for x in args:
        who = x._facts.identity if isinstance(x, Object) else None
        if who in trace.pending:
            sources += trace.pending[who].sources
        elif who in trace.views:
            sources.append(trace.views[who][0]._facts.identity)
        elif who is not None:
            sources.append(who)
    last = trace.builder.nodes[-1]
    trace.pending[handle._facts.identity] = Pending(mark, last, tuple(sources), again, **ways)


def taken(trace: Trace, x: Any) -> Pending | None:
    """How to do without an iterator that nobody else can have touched, with its nodes removed; else None."""
    found: Pending | None = trace.pending.get(x._facts.identity) if isinstance(x, Object) else None
    if found is None or found.is_taken or trace.builder is not found.mark[0]:
        return None
    if not trace.builder.nodes or trace.builder.nodes[-1] is not found.last:
        return None
    found.is_taken = True
    trace.rollback(found.mark)
    return found


def at_once(trace: Trace, x: Any) -> Any:
    """The list of all items of a generator, for who would begin by making it; other values as they are."""
    found = trace.pending.get(x._facts.identity) if isinstance(x, Object) else None
    if found is None or found.listed is None or taken(trace, x) is None:
        return x
    return found.listed()


def there(trace: Trace, x: Any) -> Any:
    """The value, recorded again if it is an iterator whose nodes were removed for one over it that is itself
    recorded again."""
    if not isinstance(x, Object) or trace.builder.visible(x._facts.operand):
        return x
    found = trace.pending.get(x._facts.identity)
    return x if found is None else found.again()
