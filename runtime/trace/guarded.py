"""Staged `try` and `with`.

An exception may be raised at any point of a body, so a handler is traced from what holds of the heap at
every point of it (`Heap.throughout`), and the final part from what holds at every point of all parts before
it.  What goes on after the statement is what holds at every end that goes on.  An exception raised while
tracing a part is no exception of the program: the statement is then left to Python.
"""

from __future__ import annotations

import contextlib
import functools
import io
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.errors import Untraceable
from runtime.ir.graph import Const, Operand
from runtime.ir.parts import never_returns
from runtime.trace.core import Diverged, Trace, is_static
from runtime.trace.doubts import doubt
from runtime.trace.heap import Heap, Log
from runtime.trace.regions import (
    Arm,
    arm_template,
    carried_names,
    close_regions,
    drop_invisible,
    finish_arm,
    go_on,
    merge_entries,
    note_joins,
    parts_of,
    trace_arm,
)
from runtime.trace.templates import Fixed, Group, Template, fill, holes, leaves
from runtime.trace.values import Object, known_class
from runtime.types import OBJECT, ArrayType, NumberType, Type, WeakType

Handler = tuple[Any, Callable[..., Any]]  # what gives the classes (None: everything), what to do
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
# Managers that run no code of the user's; of them only `suppress` ever swallows an exception.
_OPENERS = frozenset({open, io.open})
_QUIET = frozenset({np.errstate, np.printoptions, contextlib.nullcontext, contextlib.suppress, *_OPENERS})


def staged_try(
    trace: Trace,
    body: Callable[..., Any],
    handlers: Sequence[Handler],
    orelse: Callable[..., Any] | None,
    final: Callable[[], Any] | None,
    operands: tuple[Any, ...],
    names: Sequence[str],
) -> Any:
    """Record a `try`; the trace value of its result, which is that of the part that ends it."""
    classes = [_caught(trace, thunk) for thunk, _ in handlers]
    before = trace.heap.copy()
    with trace.heap.watched() as whole:
        with trace.heap.watched() as inside:
            first = trace_arm(trace, "body", lambda: body(*operands))
        if not first.builder.nodes and not first.diverges:
            return _nothing_raised(trace, body, orelse, final, operands, names)
        second: list[Arm] = []
        if orelse is not None and not first.diverges:
            trace.heap.restore(first.heap)
            drop_invisible(trace)
            second = [trace_arm(trace, "orelse", functools.partial(orelse, *operands))]
        _enter(trace, before, inside)
        caught = [trace_arm(trace, "handler", _handling(trace, handler, operands)) for _, handler in handlers]
    last: list[Arm] = []
    with trace.heap.watched() as finishing:
        if final is not None:
            _enter(trace, before, whole)
            last = [trace_arm(trace, "final", final)]
    trace.heap.restore(before)
    arms = [first, *caught, *second, *last]
    ends = [*(second or [first]), *caught]
    shape = _joined(trace, names, [arm.result for arm in ends if not arm.diverges])
    finished = [finish_arm(trace, arm, shape) if arm in ends else [] for arm in arms]
    go_on(trace, [arm.heap for arm in ends if not arm.diverges])
    if last and not last[0].diverges:
        _add_final(trace, last[0].heap, finishing)
    captured, regions = close_regions([arm.builder for arm in arms], finished)
    kinds = _named(shape, names)
    outputs = trace.builder.add(
        "try",
        [*classes, *captured],
        [t for t, _ in kinds],
        attrs={"handlers": len(handlers), "orelse": bool(second), "final": bool(last)},
        regions=tuple(regions),
        names=[n for _, n in kinds],
        span=trace.span(),
    )
    if never_returns(trace.builder.nodes[-1]):
        raise Diverged
    return fill(trace, shape, list(outputs))


def _nothing_raised(
    trace: Trace,
    body: Callable[..., Any],
    orelse: Callable[..., Any] | None,
    final: Callable[[], Any] | None,
    operands: tuple[Any, ...],
    names: Sequence[str],
) -> Any:
    """A body that records nothing raises nothing at run time: it is done now, and so is what follows it."""
    result = body(*operands)
    if orelse is not None:
        if final is not None:
            return staged_try(trace, orelse, (), None, final, operands, names)
        return orelse(*operands)
    if final is not None:
        final()
    return result


def _caught(trace: Trace, thunk: Callable[[], Any] | None) -> Const:
    """The classes that a handler catches; they must be known while tracing."""
    if thunk is None:
        return Const(None)
    nodes = len(trace.builder.nodes)
    value = thunk()
    found = tuple(map(_class_of, value)) if type(value) is tuple else _class_of(value)
    listed = found if isinstance(found, tuple) else (found,)
    known = all(isinstance(cls, type) and issubclass(cls, BaseException) for cls in listed)
    reads = {node.op for node in trace.builder.nodes[nodes:]} <= {
        "py.check",
        "getitem",
        "py.getattr",
        "py.global",
    }
    if not known or not reads:
        raise Untraceable("which exceptions are caught is known only at run time", span=trace.span())
    return Const(found, "" if isinstance(found, tuple) else found.__name__)


def _class_of(value: Any) -> Any:
    """The class that a trace value stands for, or what is no class."""
    return value._facts.example if isinstance(value, Object) else value


def _handling(trace: Trace, handler: Callable[..., Any], operands: tuple[Any, ...]) -> Callable[[], Any]:
    """The handler as a function without parameters, to be traced into a region."""
    name = carried_names(handler, 0, 1)[0]
    return lambda: handler(trace.wrap(trace.builder.param(OBJECT, name)), *operands)


def _enter(trace: Trace, before: Heap, log: Log) -> None:
    """Believe what holds wherever the logged parts may have raised."""
    trace.heap.restore(before.throughout(log, functools.partial(merge_entries, trace)))
    drop_invisible(trace)


def _joined(trace: Trace, names: Sequence[str], results: list[Any]) -> Template:
    """The template of what the ends give."""
    shape = arm_template(trace, results) if results else Fixed(None)
    note_joins(trace, names, parts_of(shape), [parts_of(result) for result in results])
    return shape


def _named(shape: Template, names: Sequence[str]) -> list[tuple[Type, str]]:
    """The types of the results with their names."""
    split = shape.items if isinstance(shape, Group) and len(names) == len(shape.items) else (shape,)
    given = names if len(names) == len(split) else [""] * len(split)
    return [hole for part, name in zip(split, given, strict=True) for hole in holes(part, name)]


def _add_final(trace: Trace, heap: Heap, log: Log) -> None:
    """The effects of the final part, traced from less, on what is known where nothing was raised."""
    heap, trace.heap = trace.heap, heap
    drop_invisible(trace)
    heap, trace.heap = trace.heap, heap
    after = trace.heap.throughout(log, functools.partial(merge_entries, trace))
    written = {how[0] for what, how in log.events if what == "put"}
    kept = {place: entry for place, entry in after.entries.items() if place not in written}
    after.entries = {**heap.entries, **kept}
    after.sizes = {**heap.sizes, **after.sizes}
    after.complete |= heap.complete
    after.escaped |= heap.escaped
    trace.heap.restore(after)
    drop_invisible(trace)


# -------------------------------------------------------------------------------------------- with
def staged_with(
    trace: Trace,
    manager: Any,
    body: Callable[..., Any],
    operands: tuple[Any, ...],
    suppressed: Any,
    names: Sequence[str],
) -> Any:
    """Record a `with`; the trace value of what its body gives, or of `suppressed`."""
    maker, inputs = _made_by(trace, manager)
    cls = known_class(manager)
    quiet = maker in _QUIET or cls in _QUIET or cls in _LOCKS
    swallows = not quiet or contextlib.suppress in (maker, cls)
    operand = trace.operand(manager)
    if not quiet:
        doubt(trace, manager)
        trace.heap.unknown_call()
    before = trace.heap.copy()
    name = carried_names(body, 0, 1)[0]

    def run() -> Any:
        param = trace.builder.param(OBJECT, name)
        return body(_entered(trace, manager, maker, inputs, param), *operands)

    with trace.heap.watched() as log:
        arm = trace_arm(trace, "body", run)
    results = [] if arm.diverges else [arm.result]
    shape = _joined(trace, names, [*results, suppressed] if swallows else results)
    finished = finish_arm(trace, arm, shape)
    instead = leaves(trace, shape, suppressed) if swallows else []
    heaps = [] if arm.diverges else [arm.heap]
    if swallows:
        heaps.append(before.throughout(log, functools.partial(merge_entries, trace)))
    go_on(trace, heaps)
    captured, regions = close_regions([arm.builder], [finished])
    kinds = _named(shape, names)
    outputs = trace.builder.add(
        "with",
        [operand, *instead, *captured],
        [t for t, _ in kinds],
        attrs={"swallows": swallows},
        regions=tuple(regions),
        names=[n for _, n in kinds],
        span=trace.span(),
    )
    if not quiet:
        trace.heap.unknown_call()
    if never_returns(trace.builder.nodes[-1]):
        raise Diverged
    return fill(trace, shape, list(outputs))


def _made_by(trace: Trace, manager: Any) -> tuple[Any, tuple[Operand, ...]]:
    """The callable whose call gave the manager, and the call's operands; None where that isn't known."""
    node = trace.node_of(manager._facts.operand) if isinstance(manager, Object) else None
    if node is None or node.op != "py.call" or not isinstance(node.inputs[0], Const):
        return None, ()
    maker = node.inputs[0].value
    return (maker, node.inputs[1:]) if is_static(maker) or callable(maker) else (None, ())


def _entered(trace: Trace, manager: Any, maker: Any, inputs: tuple[Operand, ...], param: Operand) -> Any:
    """What entering gives, where that is known; else the region's parameter."""
    if maker in (np.errstate, contextlib.suppress) or maker is contextlib.nullcontext and not inputs:
        return None
    if maker in _OPENERS:
        return manager
    if maker is contextlib.nullcontext and len(inputs) == 1:
        given = inputs[0]
        static = isinstance(given, Const) and is_static(given.value)
        if static or isinstance(given.type, (ArrayType, WeakType, NumberType)):
            return trace.wrap(given)
    return True if known_class(manager) in _LOCKS else trace.wrap(param)
