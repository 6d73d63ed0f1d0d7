"""Products with Jacobians, and Jacobians, inside a trace.

In: a function and arguments, as trace values.  Out: its value and derivatives, as trace values.  What always
holds: the function is traced once; its way back is a graph, which is run as often as it is needed: for all at
once where that can be, else one by one.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import tree
from runtime.autodiff.staged.aliases import in_memory
from runtime.autodiff.staged.gradient import Call, silenced, tidily
from runtime.autodiff.staged.kinds import NotStaged, cotangent_type, inexact, is_list, known_shape, positions
from runtime.autodiff.staged.linear import Linear
from runtime.autodiff.staged.pulls import own_copy
from runtime.autodiff.staged.rules import cast_to, dtype_of, turned, zeros
from runtime.autodiff.staged.tidy import tidied
from runtime.functional import for_loop
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ops.batch import Item
from runtime.passes.facts import makes_new
from runtime.pushing import NotPushed, Pusher, facts
from runtime.trace.byhand import closed, opened
from runtime.trace.core import Diverged, Trace, active
from runtime.trace.joins import in_words
from runtime.trace.values import Traced
from runtime.types import ArrayType, MaybeUnbound, NumberType, TupleType, Type, WeakType


@dataclasses.dataclass
class Way:
    """A linear map as a graph.  captured: what it takes besides; reached: which of its results there are."""

    graph: Graph
    captured: list[Operand]
    reached: list[bool]

    def run(self, linear: Linear, given: Sequence[Any]) -> list[Any]:
        """The map of some values, recorded here; None for what it does not reach."""
        trace = linear.trace
        operands = [trace.operand(x) for x in (*given, *self.captured)]
        made = iter(linear.again(self.graph, operands))
        return [trace.wrap(next(made)) if r else None for r in self.reached]


class Followed:
    """A call whose derivative is asked for, recorded forward.  twice: the way back is to have one, too.
    leaves: the numbers of the leaves of the result that have derivatives."""

    def __init__(
        self,
        trace: Trace,
        function: Any,
        numbers: Sequence[int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        ours: set[Node],
        twice: bool,
    ) -> None:
        self.trace = trace
        self.call = Call(trace, function, numbers, args, kwargs)
        trace.following += twice  # what is recorded of the way back is followed in turn
        try:
            self.linear, self.outputs = self.call.linear(ours)
        finally:
            trace.following -= twice
        self.types = [trace.type_of(x) for x in self.outputs]
        for x, t in zip(self.outputs, self.types, strict=True):
            if isinstance(x, Traced) and not isinstance(t, (ArrayType, WeakType, NumberType)):
                raise NotStaged(f"the function returns {in_words(t)}")  # which may be a number, or hold some
        self.leaves = [k for k, t in enumerate(self.types) if inexact(t)]
        self.params = self.call.graph.params[: self.call.count]

    def value(self) -> Any:
        """What the function gives."""
        return closed(tree.unflatten(self.call.structure, self.outputs))

    def alone(self, x: Value) -> bool:
        """Whether a value that the way back uses is an array that nobody else has."""
        maker = self.trace.node_of(x)
        if maker is None or not makes_new(maker, self.trace.table):
            return False
        classes, results = self.linear.classes, self.call.graph.results
        given = [v for v, operand in self.linear.env.items() if operand is x and in_memory(v.type)]
        shown = any(isinstance(r, Value) and classes.same(v, r) for v in given for r in results)
        return not shown and not any(classes.of(v).outside or classes.of(v).exposed for v in given)

    def back(self, leaves: Sequence[int]) -> Way:
        """From cotangents of some leaves of the result to those of the followed leaves of the arguments."""
        trace, linear = self.trace, self.linear
        with trace.region("back") as builder:
            cts: list[Any] = [None] * len(self.outputs)
            for k in leaves:
                cts[k] = trace.wrap(builder.param(cotangent_type(self.types[k])))
            linear.slots.clear()
            linear.backward(self.call.seeds(cts))
            found = [linear.reached(p) for p in self.params]
            results = [trace.operand(x) for x in found if x is not None]
            results = list(map(builder.use, results))
        return _way(builder, results, found)

    def forth(self) -> Way:
        """From changes of the followed leaves to those of the leaves of the result: the way back of the way
        back, which is linear."""
        trace = self.trace
        trace.following += 1
        try:
            back = self.back(self.leaves)
        finally:
            trace.following -= 1
        count = len(self.leaves)
        with trace.region("forth") as builder:
            moves = [trace.wrap(builder.param(cotangent_type(p.type))) for p in self.params]
            nothing = [zeros(trace, self.outputs[k], self.types[k]) for k in self.leaves]
            given = [trace.operand(x) for x in (*nothing, *back.captured)]
            followed = [True] * count + [False] * len(back.captured)
            linear = Linear(trace, back.graph, given, followed)
            linear.forward()
            linear.backward([m for m, r in zip(moves, back.reached, strict=True) if r])
            found = [linear.reached(p) for p in back.graph.params[:count]]
            results = [trace.operand(x) for x in found if x is not None]
            results = list(map(builder.use, results))
        return _way(builder, results, found)


def _way(builder: Any, results: list[Operand], found: Sequence[Any]) -> Way:
    captured: list[Value] = list(builder.captures)
    whole = tidied(builder.region(captured, results))
    used = {x for n in whole.nodes for x in n.inputs} | set(whole.results)
    own = len(whole.params) - len(captured)
    keep = [(v, p) for v, p in zip(captured, whole.params[own:], strict=True) if p in used]
    graph = dataclasses.replace(whole, params=(*whole.params[:own], *[p for _, p in keep]))
    return Way(graph, [v for v, _ in keep], [x is not None for x in found])


# -- pulling back ---------------------------------------------------------------------------------------


@dataclasses.dataclass(eq=False)
class Back:
    """The way back of one trace as a graph of its own: from cotangents of the leaves of its result, and what
    the trace kept, to derivatives of the leaves of its arguments.

    kinds: of the leaves of the result, the type that a cotangent must have; None for those without.
    f: the function that was traced; run: what runs the graph."""

    graph: Graph
    kinds: list[ArrayType | None]
    structure: tree.Structure
    structures: list[tree.Structure]
    live: list[list[bool]]
    f: Any = None
    run: Callable[..., Any] | None = None

    runs_on_trace_values = True

    @property
    def __name__(self) -> str:
        return f"{getattr(self.f, '__name__', 'function')}_back"

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_ONLY
        return inspect.Signature([inspect.Parameter(f"x{k}", kind) for k in range(len(self.graph.params))])

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        """The derivatives, in a trace."""
        trace = active()
        assert trace is not None
        operands = [trace.operand(x) for x in given]
        made = Linear(trace, self.graph, operands, [False] * len(operands)).forward()
        return tuple(map(trace.wrap, made))

    def trees(self, made: Sequence[Any]) -> tuple[Any, ...]:
        """The derivatives in the containers of the arguments; None at leaves of other kinds."""
        rest = iter(made)
        return tuple(
            tree.unflatten(structure, [next(rest) if f else None for f in live])
            for structure, live in zip(self.structures, self.live, strict=True)
        )


def vjp(
    trace: Trace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], has_aux: bool
) -> tuple[Any, Any, Back, list[Any]]:
    """The value, what comes with it, the way back, and what that takes besides cotangents."""

    def go(ours: set[Node]) -> tuple[Any, Any, Back, list[Any]]:
        made = Followed(trace, function, range(len(args)), args, kwargs, ours, False)
        value, aux = made.value(), None
        if has_aux:
            if type(value) is not tuple or len(value) != 2:
                raise NotStaged("has_aux=True, and the function does not return a pair")
            value, aux = value
        leaves, structure = tree.flatten(opened(value, data=True))
        followed = made.leaves if not has_aux else [k for k in made.leaves if k < len(leaves)]
        with made.linear.mine():
            way = made.back(followed)
            with trace.region("pull") as builder:
                cts = [trace.wrap(builder.param(cotangent_type(made.types[k]))) for k in followed]
                cts = [turned(trace, ct) for ct in cts]
                found, own = silenced(trace, lambda: way.run(made.linear, cts))
                grads = made.call.gradients(found, own)
                results = list(map(builder.use, map(trace.operand, grads)))
            pull = _way(builder, results, grads)
            kept = [_for_later(trace, made, x) for x in pull.captured]
        count = len(leaves)
        kinds = [cotangent_type(made.types[k]) if k in followed else None for k in range(count)]
        for t in filter(None, kinds):
            _size(t)  # which cotangents fit must be known
        back = Back(pull.graph, kinds, structure, made.call.structures, made.call.live)
        return value, aux, back, kept

    made: tuple[Any, Any, Back, list[Any]] = tidily(trace, go)
    return made


def _for_later(trace: Trace, made: Followed, x: Operand) -> Any:
    """What is kept until the way back is asked for: a copy, where others could write to it meanwhile."""
    t = x.type
    if isinstance(t, MaybeUnbound):
        raise NotStaged("a variable that the derivative needs may have no value")
    if not isinstance(x, Value) or not in_memory(t) or made.alone(x):
        return trace.wrap(x)
    if isinstance(t, ArrayType):
        return trace.record("np.copy", [x])
    if not isinstance(t, TupleType) and not is_list(t):
        return trace.wrap(x)
    copied = trace.emit("py.call", [Const(own_copy), x], type=t, attrs={"pure": True})
    assert copied is not None
    return trace.wrap(copied)


# -- products -------------------------------------------------------------------------------------------


def jvp(trace: Trace, function: Any, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """The value, and how it changes when the arguments move along the tangents."""

    def go(ours: set[Node]) -> Any:
        made = Followed(trace, function, range(len(primals)), primals, {}, ours, True)
        directions, _ = tree.flatten(opened(tangents, data=True))
        live = [x for each in made.call.live for x in each]
        if len(directions) != len(live):
            raise NotStaged(f"there are {len(directions)} tangents for {len(live)} arrays")
        pairs = zip(_some(directions, live), made.params, strict=True)
        moves = [fitting(trace, x, cotangent_type(p.type), "tangent") for x, p in pairs]
        way = made.forth()
        with made.linear.mine():
            found, own = silenced(trace, lambda: way.run(made.linear, moves))
            changes: list[Any] = [None] * len(made.outputs)
            for k, change in zip(made.leaves, found, strict=True):
                alone = any(change is x for x in own)
                changes[k] = _result(trace, change, made.outputs[k], made.types[k], alone)
        return made.value(), closed(tree.unflatten(made.call.structure, changes))

    return tidily(trace, go)


def _some(items: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
    return [x for x, w in zip(items, wanted, strict=True) if w]


def fitting(trace: Trace, x: Any, want: ArrayType, what: str) -> Any:
    """A tangent or cotangent in the dtype of what it belongs to, whose shape it must have."""
    t = trace.type_of(x)
    shape = known_shape(t) if isinstance(t, (ArrayType, WeakType)) or not isinstance(x, Traced) else None
    if shape is None or shape != known_shape(want):
        raise NotStaged(f"a {what} is {in_words(t)} where {want} is needed")
    made = cast_to(trace, x, want.dtype)
    if want.scalar and not isinstance(made, Traced):
        return want.dtype.type(made)
    return made


def _result(trace: Trace, ct: Any, like: Any, t: Type, alone: bool) -> Any:
    """A change as the caller gets it: of the kind of the result that it belongs to."""
    if ct is None:
        ct = zeros(trace, like, t)
        alone = True
    if isinstance(t, ArrayType):
        return ct if t.scalar or alone else trace.record("np.array", [ct])
    if not isinstance(t, WeakType):
        raise NotStaged(f"a result that may be {t}")
    cls = complex if t.kind == "complex" else float
    return trace.protocol.call(cls, (ct,), {}) if isinstance(ct, Traced) else cls(ct)


# -- Jacobians ------------------------------------------------------------------------------------------


def jacobian(trace: Trace, function: Any, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """All derivatives: for each leaf of the result trees like the arguments, of arrays of both shapes."""
    single, numbers = positions(argnums, len(args))

    def go(ours: set[Node]) -> Any:
        made = Followed(trace, function, numbers, args, kwargs, ours, True)
        if not all(map(any, made.call.live)):
            raise NotStaged("an argument holds no floats to differentiate by")
        others = [x for k, x in enumerate(made.outputs) if k not in made.leaves]
        if not made.leaves or any(x is not None for x in others):
            raise NotStaged("a result that has no derivative")
        outs = [_size(made.types[k]) for k in made.leaves]
        ins = [_size(p.type) for p in made.params]
        kinds = [*(made.types[k] for k in made.leaves), *_types(made.params)]
        is_complex = any(dtype_of(cotangent_type(t)).kind == "c" for t in kinds)
        with made.linear.mine():
            by_columns = sum(ins) < sum(outs) and not is_complex
            parts = _columns(made, ins) if by_columns else _rows(made, outs)
            found: list[Any] = [None] * len(made.outputs)
            for k, row in zip(made.leaves, parts, strict=True):
                shaped = [_shaped(trace, x, made.types[k], p) for x, p in zip(row, made.params, strict=True)]
                found[k] = made.call.trees(shaped, single)
        return closed(tree.unflatten(made.call.structure, found))

    return tidily(trace, go)


def _types(values: Sequence[Value]) -> list[Type]:
    return [v.type for v in values]


def _size(t: Type) -> int:
    shape = known_shape(cotangent_type(t))
    if shape is None:
        raise NotStaged(f"how many elements an array ({t}) has is known only at run time")
    return math.prod(shape)


def _rows(made: Followed, sizes: Sequence[int]) -> list[list[Any]]:
    """For each leaf of the result the cotangents of the followed leaves, for each of its elements."""
    found = []
    for k, size in zip(made.leaves, sizes, strict=True):
        way = made.back([k])
        found.append(_each(made, way, cotangent_type(made.types[k]), size, 0, 1))
    return found


def _columns(made: Followed, sizes: Sequence[int]) -> list[list[Any]]:
    """The same by changes of the leaves of the result, for each element of a followed leaf."""
    way = made.forth()
    kinds = [cotangent_type(p.type) for p in made.params]
    found: list[list[Any]] = [[] for _ in made.leaves]
    for i, (t, size) in enumerate(zip(kinds, sizes, strict=True)):
        changes = _each(made, way, t, size, i, len(kinds))
        for row, change in zip(found, changes, strict=True):
            row.append(change if change is None or t.shape == () else np.moveaxis(change, 0, -1))
    return found


def _each(made: Followed, way: Way, t: ArrayType, size: int, place: int, count: int) -> list[Any]:
    """The map of each unit of one of its operands (the others are zeros), along a new first axis."""
    trace = made.trace
    shape = known_shape(t)
    assert shape is not None

    def others(unit: Any) -> list[Any]:
        kinds = [p.type for p in way.graph.params[:count]]
        return [unit if i == place else _zeros(trace, k) for i, k in enumerate(kinds)]

    def work() -> list[Any]:
        if shape == () or not any(way.reached):
            one = t.dtype.type(1)
            unit = one if t.scalar else trace.protocol.call(np.ones, ((), t.dtype), {})
            return way.run(made.linear, others(unit))
        if size == 0:
            return [None] * len(way.reached)
        done = _together(trace, way, t, size, others)
        return _one_by_one(made, way, t, size, others) if done is None else done

    return silenced(trace, work)[0]


def _zeros(trace: Trace, t: Type) -> Any:
    want = cotangent_type(t)
    if want.scalar:
        return want.dtype.type(0)
    return trace.protocol.call(np.zeros, (known_shape(want), want.dtype), {})


def _together(
    trace: Trace, way: Way, t: ArrayType, size: int, others: Callable[[Any], list[Any]]
) -> list[Any] | None:
    """All units at once; None where the map is not one program for all of them."""
    mark = trace.mark()
    strict, trace.strict = trace.strict, True  # what can't be done together is not to be left to Python
    try:
        shape = known_shape(t)
        assert shape is not None
        units = trace.protocol.call(np.eye, (size,), {"dtype": t.dtype})
        units = trace.protocol.call(np.reshape, (units, (size, *shape)), {})
        entries: dict[Value, Any] = {}
        for p, x in zip(way.graph.params, (*others(None), *way.captured), strict=True):
            if x is None:
                entries[p] = Item(units, shape, True, len(shape) > 1, t.dtype.kind)
            else:
                dims, _, is_turned, kind = facts(p.type)
                entries[p] = Item(trace.wrap(trace.operand(x)), dims, False, is_turned, kind)
        kinds = [cotangent_type(x.type) for x in way.graph.results]
        found = iter(Pusher(trace, way.graph, size).results(entries, kinds))
        return [next(found) if r else None for r in way.reached]
    except (NotPushed, Diverged, Exception):  # whatever it is, they are done one by one
        trace.rollback(mark)
        return None
    finally:
        trace.strict = strict


def _one_by_one(
    made: Followed, way: Way, t: ArrayType, size: int, others: Callable[[Any], list[Any]]
) -> list[Any]:
    """The units one after the other."""
    trace = made.trace
    shape = known_shape(t)
    made_tables = iter([_table(trace, size, x.type) for x in way.graph.results])
    tables = [next(made_tables) if r else None for r in way.reached]

    def trip(k: Any) -> None:
        unit = trace.protocol.call(np.zeros, (size, t.dtype), {})
        unit[k] = t.dtype.type(1)
        for table, x in zip(tables, way.run(made.linear, others(np.reshape(unit, shape))), strict=True):
            if table is not None:
                table[k] = x

    for_loop(range(size), trip)
    return tables


def _table(trace: Trace, size: int, t: Type) -> Any:
    want = cotangent_type(t)
    shape = known_shape(want)
    if shape is None:
        raise NotStaged("a derivative of unknown shape")
    return trace.protocol.call(np.empty, ((size, *shape), want.dtype), {})


def _shaped(trace: Trace, x: Any, out: Type, param: Value) -> Any:
    """Derivatives of all elements of a result in the shape of the result followed by the argument's."""
    want = cotangent_type(param.type)
    outer, inner = known_shape(cotangent_type(out)), known_shape(want)
    assert outer is not None and inner is not None
    if x is None:
        x = trace.protocol.call(np.zeros, ((*outer, *inner), want.dtype), {})
    else:
        x = turned(trace, cast_to(trace, np.reshape(x, (*outer, *inner)), want.dtype))
    if (*outer, *inner) != () or isinstance(param.type, ArrayType) and not param.type.scalar:
        return x
    if isinstance(param.type, ArrayType):
        return x[()]
    return trace.protocol.call(complex if want.dtype.kind == "c" else float, (x,), {})
