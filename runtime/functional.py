"""`cond`, `while_loop`, `for_loop`: control flow as functions, on plain values and on traced ones.

On plain values they are exactly Python's `if`, `while` and `for`.  While tracing, what depends on
traced values is recorded as a region op, what doesn't is done now; short loops are unrolled.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from runtime.errors import Untraceable
from runtime.ir.calls import all_nodes, size
from runtime.ir.graph import Graph, Node, Value
from runtime.pyops import catches
from runtime.trace import guarded, hints, items, regions
from runtime.trace.byhand import opened
from runtime.trace.core import Trace, active, suspended
from runtime.trace.pending import Pending, taken
from runtime.trace.structures import as_carry, as_values, wrong_call
from runtime.trace.unrolled import Unrolled
from runtime.trace.values import Object, Tensor, Traced, known_class
from runtime.trace.variables import value_of
from runtime.types import ArrayType, ObjectType, join

_FEW = 3  # trips that are unrolled although they are the same
_SEEN = 2  # trips of a while after which it is asked how long it goes on
_UNROLLED_NODES = 512  # as many nodes may unrolling a loop over a range record: loops in loops multiply


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...] = ()
) -> Any:
    """What `true_fn(*operands)` returns if `pred` is true in Python's sense, else `false_fn(*operands)`.

    pred: any value that has a truth; while tracing, a traced one makes both functions be traced.
    true_fn, false_fn: functions of the operands; they may return values of different types, shapes or
        structure.
    Raises what the chosen function raises.

    >>> cond(3 > 2, lambda x: x + 1, lambda x: x - 1, (10,))
    11
    """
    trace = active()
    if type(operands) is not tuple:
        operands = as_values("cond", "operands", opened(operands))
    known = bool(pred) if trace is None else trace.protocol.truth(pred)
    if trace is None or known is not None:
        chosen = true_fn if known else false_fn
        try:
            return chosen(*operands)
        except TypeError as error:
            problem = wrong_call(
                error, "cond", {f"{'true' if known else 'false'} function": (chosen, len(operands))}
            )
            if problem is None:
                raise
            raise problem from None
    names = hints.names_stored(trace.generated_frame()) or hints.names_kept(true_fn, false_fn)
    mark = trace.mark()
    try:
        return regions.staged_cond(
            trace, pred, lambda: true_fn(*operands), lambda: false_fn(*operands), names
        )
    except Exception as error:
        back = regions.perhaps_unbound(trace, max(len(names), 1), true_fn, false_fn, operands)
        return regions.python_statement(trace, error, cond, [pred, true_fn, false_fn, operands], mark, back)


def while_loop(
    test_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carry: tuple[Any, ...],
    checkpoint_every: int | str | None = None,
) -> Any:
    """Run `carry = body_fn(*carry)` while `test_fn(*carry)` is true; the last carry.

    carry: a tuple of values.  With one value, body_fn returns it bare and so does this function; with
        none, body_fn returns None and this function ().
    checkpoint_every: where its gradient is staged, keep no more than the carry after so many trips, and run
        the trips between again; "sqrt": the square root of their number.
    Types, shapes and structure of the carry may change from trip to trip.

    >>> while_loop(lambda n, s: n > 0, lambda n, s: (n - 1, s + n), (4, 0))
    (0, 10)
    """
    check_stretch(checkpoint_every)
    trace = active()
    if type(carry) is not tuple:
        carry = as_values("while_loop", "carry", opened(carry))
    count = len(carry)
    if trace is None:
        try:
            while test_fn(*carry):
                carry = as_carry(body_fn(*carry), count, body_fn, carry)
        except TypeError as error:
            problem = wrong_call(error, "while_loop", {"test": (test_fn, count), "body": (body_fn, count)})
            if problem is None:
                raise
            raise problem from None
        return carry[0] if count == 1 else carry
    mark = trace.mark()
    try:
        with _said_of_loop(trace, checkpoint_every):
            out = _traced_while(trace, test_fn, body_fn, carry, mark)
    except Exception as error:
        return regions.python_statement(trace, error, while_loop, [test_fn, body_fn, carry], mark, carry)
    return out[0] if count == 1 else out


def check_stretch(every: int | str | None) -> None:
    """Refuse what `checkpoint_every` can't be."""
    if every is not None and every != "sqrt" and (type(every) is not int or every < 1):
        raise ValueError(f'checkpoint_every is a number of trips or "sqrt", not {every!r}')


@contextlib.contextmanager
def _said_of_loop(trace: Trace, checkpoint_every: int | str | None) -> Iterator[None]:
    """Let the node of the loop say how much its gradient keeps; those of loops inside it say nothing."""
    before, trace.loop_attrs = trace.loop_attrs, {}
    if checkpoint_every is not None:
        trace.loop_attrs["checkpoint"] = checkpoint_every
    try:
        yield
    finally:
        trace.loop_attrs = before


def _traced_while(
    trace: Trace, test_fn: Any, body_fn: Any, carry: tuple[Any, ...], mark: Any
) -> tuple[Any, ...]:
    """Unroll as long as the test is static and the trips are few; else stage the whole loop."""
    first, seen = carry, [carry]
    trips = 0
    while True:
        here = trace.mark()
        with trace.asked():
            answer = trace.protocol.truth(test_fn(*carry))
        if answer is None:
            trace.rollback(here if trips == 0 else mark)
            return regions.staged_while(trace, test_fn, body_fn, first)
        if not answer:
            return carry
        limit = _limit(trace, mark)
        long = trips == _SEEN < limit < math.inf and _goes_on(trace, test_fn, seen, int(limit))
        if trips >= limit or long or not trace.free_trips:
            trace.rollback(mark)
            return regions.staged_while(trace, test_fn, body_fn, first)
        carry = as_carry(body_fn(*carry), len(carry), body_fn, carry)
        seen.append(carry)
        trips += 1
        trace.free_trips = max(trace.free_trips - 1, 0)


def _goes_on(trace: Trace, test_fn: Any, seen: Sequence[tuple[Any, ...]], trips: int) -> bool:
    """Whether the test holds before each of so many trips if numbers in the carry go on by equal steps, as
    in those that were seen: then no more need be recorded to find that there are too many."""
    steps: list[float] = []
    for values in zip(*seen, strict=True):
        if all(type(x) is int or type(x) is float for x in values):
            found = [b - a for a, b in zip(values, values[1:], strict=False)]
            steps.append(found[0])
            if not all(math.isclose(step, found[0], rel_tol=1e-6) for step in found):
                return False
        elif all(isinstance(x, Traced) or x is values[0] for x in values):
            steps.append(0)
        else:
            return False
    here = trace.mark()
    try:
        for k in range(1, trips - len(seen) + 2):
            ahead = [x + step * k if step else x for x, step in zip(seen[-1], steps, strict=True)]
            with trace.asked():
                if trace.protocol.truth(test_fn(*ahead)) is not True:
                    return False
        return any(steps)
    except Exception:  # the test was made for other numbers: nothing is known then
        return False
    finally:
        trace.rollback(here)


def _limit(trace: Trace, mark: Any) -> float:
    """How many trips may be unrolled: any number while they record nothing and the trace has some left."""
    return trace.unroll_limit if len(trace.builder.nodes) > mark[1].nodes else math.inf


def for_loop(
    iterable: Any,
    body_fn: Callable[..., Any],
    carry: tuple[Any, ...] = (),
    test_fn: Callable[..., Any] | None = None,
    checkpoint_every: int | str | None = None,
) -> Any:
    """Run `carry = body_fn(item, *carry)` for each item; the last carry.

    iterable: anything Python can iterate over; an array gives its rows along axis 0.
    test_fn: asked with the carry after each trip, before the next item is taken; false stops the loop.
    carry, checkpoint_every: as in `while_loop`.

    >>> for_loop([1, 2, 3], lambda item, total: total + item, (0,))
    6
    """
    check_stretch(checkpoint_every)
    trace = active()
    if type(carry) is not tuple:
        carry = as_values("for_loop", "carry", opened(carry))
    count = len(carry)
    if trace is None:
        try:
            for item in iterable:
                carry = as_carry(body_fn(item, *carry), count, body_fn, carry)
                if test_fn is not None and not test_fn(*carry):
                    break
        except TypeError as error:
            functions = {"body": (body_fn, count + 1), "test": (test_fn or (lambda *_: True), count)}
            problem = wrong_call(error, "for_loop", functions, iterable)
            if problem is None:
                raise
            raise problem from None
        return carry[0] if count == 1 else carry
    mark = trace.mark()
    try:
        with _said_of_loop(trace, checkpoint_every):
            out = _traced_for(trace, iterable, body_fn, carry, test_fn, mark)
    except Exception as error:
        return regions.python_statement(
            trace, error, for_loop, [iterable, body_fn, carry, test_fn], mark, carry
        )
    return out[0] if count == 1 else out


def _traced_for(
    trace: Trace, iterable: Any, body_fn: Any, carry: tuple[Any, ...], test_fn: Any, mark: Any
) -> tuple[Any, ...]:
    iterable = value_of(trace, iterable)
    wanted = isinstance(iterable, Unrolled)
    if wanted:
        iterable = iterable.items
    waiting = taken(trace, iterable)
    if waiting is not None:
        try:
            return _at_once(trace, waiting, body_fn, carry, test_fn)
        except _Stage:
            trace.rollback(waiting.mark)
            iterable = waiting.again()
            mark = trace.mark()
    size = _static_size(trace, iterable)
    if size is not None and (wanted or size <= _most(trace, iterable)):
        try:
            most = _UNROLLED_NODES if isinstance(iterable, range) and not wanted else None
            return _unrolled(trace, iterable, body_fn, carry, test_fn, size, most)
        except _Stage:
            trace.rollback(mark)
    if not isinstance(iterable, (Traced, tuple, range, str, bytes, list, frozenset)):
        raise Untraceable(f"a loop over a {type(iterable).__qualname__} can't be traced", span=trace.span())
    kind = items.item_type(trace, iterable)
    return regions.staged_for(trace, iterable, kind, body_fn, carry, test_fn)


def _most(trace: Trace, iterable: Any) -> int:
    """How many trips are unrolled; more of a list of arrays, the layers of a network, whose derivative is
    taken: what is in it is of many types."""
    return trace.unroll_limit * (4 if trace.following and isinstance(iterable, Object) else 1)


def _at_once(
    trace: Trace, waiting: Pending, body_fn: Any, carry: tuple[Any, ...], test_fn: Any
) -> tuple[Any, ...]:
    """The trips over an iterator that was just made, over lists whose items are known."""
    found = None if waiting.items is None else waiting.items()
    if found is None or len(found) > trace.unroll_limit * (4 if trace.following else 1):
        raise _Stage
    with trace.heap.watched() as log:
        for item in found:
            carry = as_carry(body_fn(item, *carry), len(carry), body_fn, carry)
            if waiting.disturbed(trace, log):
                raise _Stage
            answer = True if test_fn is None else trace.protocol.truth(test_fn(*carry))
            if answer is None:
                raise _Stage
            if not answer:
                break
    return carry


class _Stage(Exception):
    """Unrolling turned out to be impossible; the loop is staged instead."""


def _static_size(trace: Trace, iterable: Any) -> int | None:
    """The number of items, where the loop may be unrolled; None where it is staged."""
    if isinstance(iterable, (tuple, range, str, bytes, frozenset, list)):
        return len(iterable)
    if isinstance(iterable, Tensor) and isinstance(iterable._facts.type, ArrayType):
        return None
    if not isinstance(iterable, Object) or items.holds_numbers(trace, iterable):
        return None
    found = items.known_items(trace, iterable)
    if found is None or all(isinstance(x, (int, float, complex)) for x in found) and found:
        return None
    return len(found)


def _unrolled(
    trace: Trace,
    iterable: Any,
    body_fn: Any,
    carry: tuple[Any, ...],
    test_fn: Any,
    limit: int,
    most: int | None,
) -> tuple[Any, ...]:
    at, recorded, start = 0, 0, len(trace.builder.nodes)
    sequence = static_items(iterable)
    is_list = known_class(iterable) is list
    first = items.known_items(trace, iterable) if sequence is None and not is_list else None
    while True:
        # a list may grow meanwhile; what happens when a dict does is for Python to say
        found = sequence if sequence is not None else items.known_items(trace, iterable)
        changed = found is None or first is not None and len(found) != len(first)
        if found is None or changed or at > max(trace.unroll_limit, limit):
            raise _Stage
        if at >= len(found):
            return carry
        before = carry
        carry = as_carry(body_fn(found[at], *carry), len(carry), body_fn, carry)
        at += 1
        if (
            at == 1
            and most is not None
            and len(found) > _FEW
            and _repeats(trace, body_fn, before, carry, start)
        ):
            raise _Stage
        if most is not None:
            recorded += sum(map(_weight, trace.builder.nodes[start:]))
            start = len(trace.builder.nodes)
            if recorded * len(found) > most * at:
                raise _Stage
        if test_fn is not None:
            answer = trace.protocol.truth(test_fn(*carry))
            if answer is None:
                raise _Stage
            if not answer:
                return carry


def _repeats(trace: Trace, body_fn: Any, before: tuple[Any, ...], after: tuple[Any, ...], start: int) -> bool:
    """Whether trips are the same over and over, and have loops in them, beside which a trip costs nothing.

    before, after: the carry of the first trip, which recorded the nodes from `start` on.  Nothing is known of
    a trip but its number and what the one before it left: here the number is not looked at, what is carried
    is of types that stay, and no list or object could be known better."""
    if trace.following or not hints.ignores_first(body_fn):
        return False
    nodes = list(all_nodes(Graph("", (), tuple(trace.builder.nodes[start:]), ())))
    types = [x.type for node in nodes for x in (*node.inputs, *node.outputs) if isinstance(x, Value)]
    if any(isinstance(t, ObjectType) and t.cls is not range for t in types):
        return False
    if not any(node.op in ("while", "for") for node in nodes):
        return False
    kinds = [(trace.type_of(x), trace.type_of(y)) for x, y in zip(before, after, strict=True)]
    return all(join(first, later) == later for first, later in kinds)


def _weight(node: Node) -> int:
    """How many nodes a node is, those of its regions included."""
    return size(Graph("", (), (node,), ()))


def static_items(iterable: Any) -> Any:
    """The items of an immutable iterable, in iteration order; None for a traced one."""
    return None if isinstance(iterable, Traced) else list(iterable)


def try_(
    body: Callable[..., Any],
    handlers: tuple[tuple[Callable[[], Any] | None, Callable[..., Any]], ...] = (),
    orelse: Callable[..., Any] | None = None,
    final: Callable[[], Any] | None = None,
    operands: tuple[Any, ...] = (),
) -> Any:
    """`try`: what `body(*operands)` returns, or the first handler that catches what it raised.

    handlers: pairs of a function that gives the class (or a tuple of them) to catch, None for any, and a
        function of the exception and the operands.
    orelse: called with the operands where the body raised nothing; then its result counts.
    final: called last in any case.
    Raises what no handler catches, and what handlers, orelse and final raise.

    >>> try_(lambda: 1 // 0, ((lambda: ZeroDivisionError, lambda error: str(error)),))
    'integer division or modulo by zero'
    """
    trace = active()
    if trace is None:
        if final is None:
            return _handled(body, handlers, orelse, operands)
        try:
            return _handled(body, handlers, orelse, operands)
        finally:
            final()
    names = hints.names_stored(trace.generated_frame())
    mark = trace.mark()
    try:
        return guarded.staged_try(trace, body, handlers, orelse, final, operands, names)
    except Exception as error:
        parts = [body, handlers, orelse, final, operands]
        back = regions.perhaps_unbound(trace, max(len(names), 1), body, operands)
        return regions.python_statement(trace, error, try_, parts, mark, back)


def _handled(body: Any, handlers: Any, orelse: Any, operands: tuple[Any, ...]) -> Any:
    """The parts of a `try` but the final one, on plain values."""
    try:
        result = body(*operands)
    except BaseException as error:
        for classes, handler in handlers:
            if catches(None if classes is None else classes(), error):
                return handler(error, *operands)
        raise
    return result if orelse is None else orelse(*operands)


def with_(
    manager: Any, body: Callable[..., Any], operands: tuple[Any, ...] = (), suppressed: Any = None
) -> Any:
    """`with manager as value`: what `body(value, *operands)` returns.

    suppressed: what is returned where leaving the context swallowed an exception of the body.

    >>> import contextlib
    >>> with_(contextlib.nullcontext(3), lambda value: value + 1)
    4
    """
    trace = active()
    if trace is None:
        result = suppressed
        with manager as value:
            result = body(value, *operands)
        return result
    if isinstance(manager, suspended):  # what stands in it is part of the function like all else
        return body(None, *operands)
    names = hints.names_stored(trace.generated_frame())
    mark = trace.mark()
    try:
        return guarded.staged_with(trace, manager, body, operands, suppressed, names)
    except Exception as error:
        parts = [manager, body, operands, suppressed]
        back = regions.perhaps_unbound(trace, max(len(names), 1), body, operands, suppressed)
        return regions.python_statement(trace, error, with_, parts, mark, back)
