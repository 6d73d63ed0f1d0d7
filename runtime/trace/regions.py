"""Staged control flow: tracing the arms of a branch and the body of a loop into regions.

A loop is traced to a fixed point: the carried values start as what they are before the loop, the body
is traced under that assumption, and what comes out is joined in, until nothing changes.  The same goes
for what is known of the heap.  So joining never fails, it only gets less precise.

When a region can't be traced, the whole statement is left to Python: its functions are rebuilt at run
time and run there (`python_statement`).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from runtime.dataclass import dataclass
from runtime.errors import Untraceable
from runtime.ir.builder import Builder
from runtime.ir.graph import Const, Graph, Operand, Value
from runtime.ir.parts import never_returns
from runtime.trace import growing
from runtime.trace.carried import both, either, held, loaded, one_class
from runtime.trace.core import Diverged, Trace, is_static
from runtime.trace.doubts import doubt
from runtime.trace.flags import others_write
from runtime.trace.heap import CLEAN, NOTHING, Flags, Heap, Loaded, Log
from runtime.trace.joins import note_join
from runtime.trace.structures import as_carry
from runtime.trace.templates import (
    Fixed,
    Group,
    Hole,
    Template,
    fill,
    holes,
    leaves,
    merge,
    same,
    template,
    without_held,
)
from runtime.trace.values import Traced
from runtime.types import (
    OBJECT,
    WEAK_BOOL,
    ArrayType,
    MaybeUnbound,
    StaticType,
    TupleType,
    Type,
    is_namedtuple,
    join,
    same_static,
    static_or_weak,
)

MAX_ROUNDS = 40


def carried_names(body: Any, skip: int, count: int) -> list[str]:
    """Name hints for carried values: the parameter names of the body function."""
    code = getattr(body, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount])[skip:] if code is not None else []
    return (names + [""] * count)[:count]


# --------------------------------------------------------------------------------------- heap meet
def merge_entries(trace: Trace, a: Any, b: Any, here: Heap | None, there: Heap | None) -> Any:
    """What is known of a place that holds what `a` says on one way and what `b` says on another.

    here, there: the heaps on these ways; None where what is known of objects may not be asked."""
    if a is b or (isinstance(a, Loaded) and isinstance(b, Loaded) and a == b):
        return a
    if is_static(a) and is_static(b) and same_static(a, b):
        return a
    if isinstance(a, Traced) and isinstance(b, Traced) and a._facts is b._facts:
        return a
    if here is None or there is None:
        one, other = (
            Loaded(static_or_weak(x.type if isinstance(x, Loaded) else trace.type_of(x))) for x in (a, b)
        )
    else:
        one, other = loaded(trace, a, here), loaded(trace, b, there)
    joined = either(one, other)
    return a if isinstance(a, Loaded) and joined == a else joined


def meet_heaps(trace: Trace, base: Heap, others: Sequence[Heap]) -> bool:
    """Reduce `base` to what holds in all of them; whether it lost anything."""
    return base.meet(others, functools.partial(merge_entries, trace))


def go_on(trace: Trace, heaps: Sequence[Heap]) -> None:
    """Believe what holds at all the ends of a statement; what has been handed on by now has escaped."""
    escaped = trace.heap.escaped
    if heaps:
        trace.heap.restore(heaps[0])
        meet_heaps(trace, trace.heap, heaps[1:])
    trace.heap.escaped |= escaped
    drop_invisible(trace)


def drop_invisible(trace: Trace) -> None:
    """Forget entries whose values belong to a region that has ended; their types stay known."""
    for place, entry in list(trace.heap.entries.items()):
        if not isinstance(entry, Loaded) and not visible(trace, entry):
            trace.heap.entries[place] = loaded(trace, entry)


def visible(trace: Trace, x: Any) -> bool:
    """Whether a trace value may be used in the current region."""
    if isinstance(x, Traced):
        return trace.builder.visible(x._facts.operand)
    if isinstance(x, tuple):
        return all(visible(trace, i) for i in x)
    if isinstance(x, (types.FunctionType, types.MethodType)):
        function = x.__func__ if isinstance(x, types.MethodType) else x
        inner = [x.__self__] if isinstance(x, types.MethodType) else []
        for cell in getattr(function, "__closure__", None) or ():
            with_value = _contents(cell)
            if isinstance(with_value, (Traced, tuple)):
                inner.append(with_value)
        return all(visible(trace, i) for i in inner)
    return True


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


# -------------------------------------------------------------------------------------------- cond
@dataclass
class Arm:
    """One traced arm: its region, its result (None if it diverges) and the heap at its end."""

    builder: Builder
    result: Any
    heap: Heap
    diverges: bool


def trace_arm(trace: Trace, name: str, function: Callable[[], Any]) -> Arm:
    """Trace `function` into a region of its own, from the current heap; the heap is put back."""
    before = trace.heap.copy()
    diverges, result = False, None
    with trace.region(name) as builder:
        try:
            result = function()
        except Diverged:
            diverges = True
    heap, trace.heap = trace.heap, before
    return Arm(builder, result, heap, diverges)


def staged_cond(
    trace: Trace, pred: Any, true: Callable[[], Any], false: Callable[[], Any], names: Sequence[str] = ()
) -> Any:
    """Record a `cond`; the trace value of its result.  names: what the user calls the results."""
    predicate = growing.looked_into(trace, pred)
    doubt(trace, pred)
    arms = [trace_arm(trace, "true", true), trace_arm(trace, "false", false)]
    going = [a for a in arms if not a.diverges]
    shape = arm_template(trace, [a.result for a in going], [a.heap for a in going]) if going else Fixed(None)
    note_joins(trace, names, parts_of(shape), [parts_of(a.result) for a in going])
    finished = [finish_arm(trace, arm, shape) for arm in arms]
    go_on(trace, [a.heap for a in going])
    captured, regions = close_regions([a.builder for a in arms], finished)
    parts = shape.items if isinstance(shape, Group) and len(names) == len(shape.items) else (shape,)
    kinds = [h for s, n in zip(parts, names or [""] * len(parts), strict=False) for h in holes(s, n)]
    outputs = trace.builder.add(
        "cond",
        [predicate, *captured],
        [t for t, _ in kinds],
        regions=tuple(regions),
        names=[n for _, n in kinds],
        span=trace.span(),
    )
    if not going:
        raise Diverged
    return fill(trace, shape, list(outputs))


def parts_of(x: Any) -> tuple[Any, ...]:
    """The parts of an arm's result or of its template."""
    if isinstance(x, Group):
        return x.items
    return x if isinstance(x, tuple) else (x,)


def note_joins(
    trace: Trace, names: Sequence[str], shapes: Sequence[Template], ways: Sequence[Sequence[Any]]
) -> None:
    """Say where a name becomes `object` because its types on the ways have nothing in common."""
    for i, shape in enumerate(shapes):
        if isinstance(shape, Hole):
            name = names[i] if len(names) == len(shapes) else ""
            types = [trace.type_of(way[i]) for way in ways if len(way) == len(shapes)]
            note_join(trace, name, shape.type, types)


def arm_template(trace: Trace, results: Sequence[Any], heaps: Sequence[Heap] = ()) -> Template:
    """The template of the arms' results: what is the same value on all ways stays that value.

    heaps: those at the ends of the arms, where they may be asked what objects hold."""
    first, *rest = results
    if isinstance(first, tuple) and (type(first) is tuple or is_namedtuple(type(first))):
        if all(type(other) is type(first) and len(other) == len(first) for other in rest):
            items = (arm_template(trace, [result[i] for result in results], heaps) for i in range(len(first)))
            return Group(tuple(items), type(first))
    if all(_same_value(first, other) for other in rest) and visible(trace, first):
        return Fixed(first)
    joined = static_or_weak(trace.type_of(first))
    for other in rest:
        joined = join(joined, static_or_weak(trace.type_of(other)))
    if not heaps or not one_class(joined):
        return Hole(joined)
    return Hole(joined, functools.reduce(both, map(functools.partial(held, trace), results, heaps)))


def _same_value(a: Any, b: Any) -> bool:
    """Whether two trace values surely stand for one run-time value."""
    if isinstance(a, Traced) and isinstance(b, Traced):
        return a._facts is b._facts
    return a is b or (is_static(a) and is_static(b) and same_static(a, b))


def finish_arm(trace: Trace, arm: Arm, shape: Template) -> list[Operand]:
    """The arm's result operands, recorded at the end of its region."""
    if arm.diverges:
        return []
    outer, trace.builder = trace.builder, arm.builder
    try:
        return leaves(trace, shape, arm.result)
    finally:
        trace.builder = outer


def close_regions(
    builders: Sequence[Builder],
    results: Sequence[Sequence[Operand]],
    *,
    ends: Sequence[bool] | None = None,
) -> tuple[list[Value], list[Graph]]:
    """The values the regions capture (each region takes all of them), and the finished regions."""
    captured: dict[Value, None] = {}
    for b in builders:
        captured.update(dict.fromkeys(b.captures))
    order = list(captured)
    graphs = [
        b.region(order, r, diverges=always_raises(b) if ends is None else e)
        for b, r, e in zip(builders, results, ends or [False] * len(builders), strict=True)
    ]
    return order, graphs


def always_raises(builder: Builder) -> bool:
    """Whether a region ends in a raise, or in a statement all of whose ways do."""
    return bool(builder.nodes) and never_returns(builder.nodes[-1])


# ------------------------------------------------------------------------------------------- loops
def staged_while(
    trace: Trace, test: Callable[..., Any], body: Callable[..., Any], carry: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Record a `while`; the trace values of the carry after it."""
    names = carried_names(body, 0, len(carry))
    shapes = [template(trace, c) for c in carry]
    head = trace.heap.copy()
    ways: list[tuple[Any, ...]] = [carry]
    flags = Flags()
    for _ in range(MAX_ROUNDS):
        trace.heap.restore(head)
        with trace.region("test") as test_builder, trace.asked(flags), trace.heap.watched() as asking:
            values = _parameters(trace, shapes, names, test_builder)
            asked: list[Operand] = [_ask(trace, test, values)]
        drop_invisible(trace)
        then = shapes if _leaves(asking) else list(map(without_held, shapes))
        at_exit = trace.heap.copy()
        with trace.region("body") as body_builder, trace.heap.watched() as log:
            values = _parameters(trace, then, names, body_builder)
            ended, after = _run_body(body, values, len(carry))
        if len(ways) == 1:
            _found_before(trace, head, log)
        ways.append(after)
        stable, shapes = _settle(trace, shapes, after, head, ended)
        if not others_write(trace, flags, log) and stable:
            break
    else:
        raise Untraceable("the loop's carried values did not settle", span=trace.span())
    note_joins(trace, names, shapes, ways)
    trace.builder, outer = body_builder, trace.builder
    results = [] if ended else [o for s, x in zip(shapes, after, strict=True) for o in leaves(trace, s, x)]
    trace.builder = outer
    before = [o for s, x in zip(shapes, carry, strict=True) for o in leaves(trace, s, x)]
    captured, regions = close_regions([test_builder, body_builder], [asked, results], ends=[False, ended])
    kinds = [h for s, n in zip(shapes, names, strict=True) for h in holes(s, n)]
    outputs = trace.builder.add(
        "while",
        [*before, *captured],
        [t for t, _ in kinds],
        attrs={"carries": len(kinds), **trace.loop_attrs},
        regions=tuple(regions),
        names=[n for _, n in kinds],
        span=trace.span(),
    )
    go_on(trace, [at_exit])
    left, known = list(outputs), _at_exit(regions[0], outputs)
    return tuple(
        known[left.pop(0)] if isinstance(s, Hole) and left[0] in known else fill(trace, s, left) for s in then
    )


def _at_exit(test: Graph, outputs: Sequence[Value]) -> dict[Value, bool]:
    """What the test of a loop that is left only by its test says of a flag that it hands on."""
    (asked,), ends = test.results, False
    for node in reversed(test.nodes):
        if node.outputs == (asked,) and node.op == "py.not":
            (asked,), ends = node.inputs, not ends
    given = dict(zip(test.params, outputs, strict=False))
    return {given[asked]: ends} if asked in given and asked.type == WEAK_BOOL else {}


def staged_for(
    trace: Trace,
    iterable: Any,
    kind: Type,
    body: Callable[..., Any],
    carry: tuple[Any, ...],
    test: Callable[..., Any] | None,
) -> tuple[Any, ...]:
    """Record a `for` over `iterable`, whose items are of type `kind`; the carry after it."""
    source = growing.looked_into(trace, iterable)
    doubt(trace, iterable)
    names = carried_names(body, 1, len(carry))
    shapes = [template(trace, c) for c in carry]
    head = trace.heap.copy()
    ways: list[tuple[Any, ...]] = [carry]
    for _ in range(MAX_ROUNDS):
        trace.heap.restore(head)
        with trace.region("body") as body_builder, trace.heap.watched() as log:
            doubt(trace, iterable)  # the next item is pulled
            item = trace.wrap(body_builder.param(kind, carried_names(body, 0, 1)[0]))
            values = _parameters(trace, shapes, names, body_builder)
            ended, after = _run_body(body, [item, *values], len(carry))
        if len(ways) == 1:
            _found_before(trace, head, log)
        ways.append(after)
        builders = [body_builder]
        asked: list[Operand] = []
        stable, new_shapes = _settle(trace, shapes, after, head, ended, keep_heap=test is not None)
        if test is not None:
            drop_invisible(trace)
            with trace.region("test") as test_builder, trace.heap.watched() as asking:
                values = _parameters(trace, new_shapes, names, test_builder)
                asked = [_ask(trace, test, values)]
            if not _leaves(asking):
                new_shapes = list(map(without_held, new_shapes))
                stable &= all(map(same, shapes, new_shapes))
            builders.append(test_builder)
            drop_invisible(trace)
            stable &= not meet_heaps(trace, head, [trace.heap])
        shapes = new_shapes
        if stable:
            break
    else:
        raise Untraceable("the loop's carried values did not settle", span=trace.span())
    note_joins(trace, names, shapes, ways)
    outer, trace.builder = trace.builder, body_builder
    results = [] if ended else [o for s, x in zip(shapes, after, strict=True) for o in leaves(trace, s, x)]
    trace.builder = outer
    before = [o for s, x in zip(shapes, carry, strict=True) for o in leaves(trace, s, x)]
    ends = [ended, False][: len(builders)]
    captured, regions = close_regions(builders, [results, asked][: len(builders)], ends=ends)
    kinds = [h for s, n in zip(shapes, names, strict=True) for h in holes(s, n)]
    outputs = trace.builder.add(
        "for",
        [source, *before, *captured],
        [t for t, _ in kinds],
        attrs={"carries": len(kinds), "tested": test is not None, **trace.loop_attrs},
        regions=tuple(regions),
        names=[n for _, n in kinds],
        span=trace.span(),
    )
    at_end = trace.heap.kinds
    go_on(trace, [head])
    if test is None and not ended and _some_trips(source.type):
        trace.heap.kinds.update({who: at_end[who] for who in trace.heap.kinds if who in at_end})
    left = list(outputs)
    return tuple(fill(trace, s, left) for s in shapes)


def _some_trips(t: Type) -> bool:
    """Whether there surely is an item to go through."""
    if isinstance(t, StaticType):
        return isinstance(t.value, (tuple, range, str, bytes)) and len(t.value) > 0
    return isinstance(t, ArrayType) and t.shape is not None and t.shape != () and bool(t.shape[0])


def _ask(trace: Trace, test: Callable[..., Any], values: Sequence[Any]) -> Operand:
    """The loop test's answer; a test that always raises is left to Python."""
    try:
        answer = test(*values)
    except Diverged:
        raise Untraceable("the loop's test always raises", span=trace.span()) from None
    operand = growing.looked_into(trace, answer)
    doubt(trace, answer)  # its truth is asked
    return operand


def _leaves(log: Log) -> bool:
    """Whether what was logged left all objects as they were."""
    return all(what == "put" for what, _ in log.events)


def _parameters(
    trace: Trace, shapes: Sequence[Template], names: Sequence[str], builder: Builder
) -> list[Any]:
    out = []
    for shape, name in zip(shapes, names, strict=True):
        params = [builder.param(t, n) for t, n in holes(shape, name)]
        out.append(fill(trace, shape, params))
    return out


def _run_body(body: Callable[..., Any], values: Sequence[Any], count: int) -> tuple[bool, tuple[Any, ...]]:
    """(whether the body always raises, the carry it gives)."""
    try:
        after = body(*values)
    except Diverged:
        return True, ()
    return False, as_carry(after, count, body, values[-count:] if count else ())


def _found_before(trace: Trace, head: Heap, log: Log) -> None:
    """Remember the types of places outside that the first trip reads before it writes them: a guard says what
    is there at the call, and nothing was done to them up to the loop."""
    if head.trust != CLEAN:
        return
    written = {how for what, how in log.events if what == "written"}
    before: set[Any] = set()
    for what, how in log.events:
        if what in ("unknown", "doubtful"):
            return
        place, entry = how if what == "put" else (how, NOTHING)
        known = place in head.entries or place in before or head.is_stale(*place)
        if entry is not NOTHING and place in written and not known and not place[0].fresh:
            head.entries[place] = loaded(trace, entry, head)
        before.add(place)


def _settle(
    trace: Trace,
    shapes: list[Template],
    after: tuple[Any, ...],
    head: Heap,
    ended: bool,
    *,
    keep_heap: bool = False,
) -> tuple[bool, list[Template]]:
    """Join the carry after one trip into the assumption; whether nothing changed."""
    if ended:
        return True, shapes
    merged = [_closed_loop(trace, merge(trace, s, x, head)) for s, x in zip(shapes, after, strict=True)]
    stable = all(map(same, shapes, merged))
    if not keep_heap:
        drop_invisible(trace)
        stable &= not meet_heaps(trace, head, [trace.heap])
    return stable, merged


def _closed_loop(trace: Trace, t: Template) -> Template:
    if isinstance(t, Group):
        return Group(tuple(_closed_loop(trace, i) for i in t.items), t.cls)
    if isinstance(t, Fixed) and not visible(trace, t.value):
        return Hole(static_or_weak(trace.type_of(t.value)))
    return t


# -------------------------------------------------------------------------------- left to Python
def python_statement(
    trace: Trace,
    reason: Exception,
    plain: Callable[..., Any],
    args: Sequence[Any],
    mark: Any,
    results: Sequence[Any] | None,
) -> Any:
    """Leave a statement to Python: call `plain` (cond, while_loop, for_loop on plain values) at run time.

    results: for each value that comes back, what it may be if the statement doesn't bind it (None: no more
        than a value); None for one result of any kind."""
    if trace.strict or isinstance(reason, RecursionError):
        raise reason
    trace.rollback(mark)
    trace.note("python", f"the statement runs as plain Python: {trace.raised(reason)}")
    kinds = tuple(MaybeUnbound(OBJECT) if trace.maybe_unbound(x) else OBJECT for x in results or (None,))
    claim = (
        kinds[0] if results is None or len(kinds) == 1 and results else TupleType(kinds if results else ())
    )
    value = trace.emit("py.call", [Const(plain), *args], type=claim)
    trace.heap.unknown_call()
    assert value is not None
    return trace.wrap(value)


def perhaps_unbound(trace: Trace, count: int, *parts: Any) -> list[Any]:
    """For each of `count` results of functions over these values: the marker, if it may be among them."""
    seen = list(parts)
    for part in parts:
        if isinstance(part, types.FunctionType):
            seen += [_contents(cell) for cell in part.__closure__ or ()]
    flat = [y for x in seen for y in (x if isinstance(x, tuple) else (x,))]
    marker = next((x for x in flat if trace.maybe_unbound(x)), None)
    return [marker] * count


__all__ = ["StaticType", "python_statement", "staged_cond", "staged_for", "staged_while"]
