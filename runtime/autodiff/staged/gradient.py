"""Gradients inside a trace: a function traced, and its graph recorded forward and backward.

In: a function and arguments, as trace values.  Out: its value and the cotangents of its arguments, as trace
values.  What always holds: what can't be staged raises `NotStaged` and leaves the trace as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from runtime import tree
from runtime.autodiff.box import BOXES
from runtime.autodiff.staged.activity import ASKING
from runtime.autodiff.staged.aliases import Aliases, aliases_of
from runtime.autodiff.staged.calls import WRITING
from runtime.autodiff.staged.kinds import NotStaged, cotangent_type, inexact, positions
from runtime.autodiff.staged.linear import Linear
from runtime.autodiff.staged.lists import with_functions
from runtime.autodiff.staged.numbered import by_numbers
from runtime.autodiff.staged.rules import dtype_of, ones, turned, zeros
from runtime.autodiff.staged.tidy import needed_nodes
from runtime.ir.calls import expanded
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.walk import walk_nodes
from runtime.ops.table import OPS
from runtime.passes.fields import fields_as_values
from runtime.passes.unread import drop_unread, read_known
from runtime.trace.byhand import closed, opened
from runtime.trace.core import Diverged, Trace, is_static
from runtime.trace.joins import in_words
from runtime.trace.regions import close_regions, drop_invisible
from runtime.trace.values import Object, Tensor, Traced
from runtime.types import OBJECT, ArrayType, NumberType, ObjectType, StaticType, Type, WeakType

_RAISES = object()


class Call:
    """One call of a function whose derivative is asked for, traced into a graph.

    numbers: the positions of the arguments that are followed."""

    def __init__(
        self,
        trace: Trace,
        function: Any,
        numbers: Sequence[int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.trace = trace
        self.numbers = numbers
        self.unconnected = "zero"  # or "none": what stands for what the result does not depend on
        self.leaves: list[Any] = []  # the followed leaves, as they were given
        self.structures: list[Any] = []
        self.live: list[list[bool]] = []
        given = list(args)
        # what a container holds is read out here: it is used in the region and after it
        trees = [tree.flatten(opened(args[k], data=True)) for k in numbers]
        mark = trace.mark()
        with trace.region("gradient") as builder:
            for k, (leaves, structure) in zip(numbers, trees, strict=True):
                live = [self._differentiable(x) for x in leaves]
                inner = [self._param(builder, x) if f else x for x, f in zip(leaves, live, strict=True)]
                given[k] = closed(tree.unflatten(structure, inner))
                self.leaves += [x for x, f in zip(leaves, live, strict=True) if f]
                self.structures.append(structure)
                self.live.append(live)
            made = self._called(function, tuple(given), kwargs)
            self.outputs, self.structure = tree.flatten(opened(made, data=True))
            results = [trace.operand(x) for x in self.outputs if isinstance(x, Traced)]
        if made is _RAISES:  # then what it does until it raises is all there is to do
            trace.rollback(mark)
            if all(map(any, self.live)):
                trace.protocol.call(function, args, kwargs)
            raise NotStaged("the function raises, whatever the arguments are")
        self.outside = list(builder.captures)
        drop_invisible(trace)
        self.graph = _prepared(builder.region(self.outside, results))
        self.count = len(self.leaves)
        if any(type(x) in BOXES for n in walk_nodes(self.graph) for x in map(_constant, n.inputs)):
            raise NotStaged("it uses a value that is differentiated by an outer derivative")

    def _called(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns; a mark where it raises."""
        self.trace.following += 1
        try:
            return self.trace.protocol.call(function, args, kwargs)
        except Diverged:
            return _RAISES
        finally:
            self.trace.following -= 1

    def _differentiable(self, x: Any) -> bool:
        if is_static(x):
            return isinstance(x, (float, complex, np.inexact))
        if not isinstance(x, Tensor):
            if isinstance(x, Object):
                t, name = x._facts.type, x._facts.operand.name
                what = in_words(t) if isinstance(t, ObjectType) and t.cls is not None else "an argument"
                what += f" ({name!r})" if name else ""
                raise NotStaged(f"which arrays {what} holds is known only when the function runs")
            return False
        return inexact(x._facts.type)

    def _param(self, builder: Any, x: Any) -> Any:
        t = self.trace.type_of(x)
        if isinstance(t, StaticType):
            t = (
                ArrayType(x.dtype, (), scalar=True)
                if isinstance(x, np.generic)
                else WeakType(type(x).__name__)
            )
        return self.trace.wrap(builder.param(t, getattr(getattr(x, "_facts", None), "operand", x).name
                                             if isinstance(x, Traced) else ""))  # fmt: skip

    def linear(self, ours: set[Node], checkpoint: Any = None) -> tuple[Linear, list[Any]]:
        """The graph run forward; its results as trace values."""
        trace = self.trace
        args: list[Operand] = [*map(trace.operand, self.leaves), *self.outside]
        made = Linear(
            trace,
            self.graph,
            args,
            [True] * self.count + [False] * len(self.outside),
            ours=ours,
            checkpoint=checkpoint,
        )
        results = iter(made.forward())
        outputs = [trace.wrap(next(results)) if isinstance(x, Traced) else x for x in self.outputs]
        return made, outputs

    def seeds(self, cts: Sequence[Any]) -> list[Any]:
        """The cotangents of the graph's results, given those of all leaves of what the function returned."""
        return [ct for ct, x in zip(cts, self.outputs, strict=True) if isinstance(x, Traced)]

    def gradients(self, found: Sequence[Any], own: Collection[Any]) -> list[Any]:
        """One per followed leaf, of its kind, of their cotangents.  own: those that nobody else has."""
        return [
            self._outward(ct, x, p, any(ct is one for one in own))
            for ct, x, p in zip(
                found[: self.count], self.leaves, self.graph.params[: self.count], strict=True
            )
        ]

    def _outward(self, ct: Any, like: Any, param: Value, own: bool) -> Any:
        """A cotangent as the caller gets it: of the kind of the argument, for it alone, conjugated."""
        trace = self.trace
        t = param.type
        if self.unconnected == "none" and not self._connected(param):
            return None
        if ct is None:
            ct = zeros(trace, like, t)
        want = cotangent_type(t)
        if dtype_of(want).kind == "c":
            ct = np.conjugate(ct)
        if isinstance(t, ArrayType):
            return ct if t.scalar or own else trace.record("np.array", [ct])
        if isinstance(t, NumberType):
            raise NotStaged(f"an argument that may be {t}")
        cls = complex if t == WeakType("complex") else float
        if is_static(ct):
            return cls(ct)
        made = trace.emit("py.call", [Const(cls), ct], type=t, attrs={"pure": True})
        assert made is not None
        return trace.wrap(made)

    def _connected(self, param: Value) -> bool:
        """Whether a result depends on a parameter, if only by steps, whose slope is 0."""
        return any(x in _dependent(self.graph, {param}) for x in self.graph.results)

    def trees(self, grads: Sequence[Any], single: bool) -> Any:
        """The gradients in the containers of the arguments; None at leaves of other kinds."""
        rest = iter(grads)
        made = [
            closed(tree.unflatten(structure, [next(rest) if f else None for f in live]))
            for structure, live in zip(self.structures, self.live, strict=True)
        ]
        return made[0] if single else tuple(made)


def _dependent(graph: Graph, found: set[Operand]) -> set[Operand]:
    """The values of a graph without branches and loops that depend on some of its values."""
    classes = aliases_of(graph)
    before = -1
    while before != len(found):  # writes into an array concern looks at it that were made before
        before = len(found)
        for node in graph.nodes:
            if not any(x in found for x in node.inputs) or node.op in ASKING or node.attr("stop"):
                continue
            written: list[Operand] = []
            if node.op == "with":
                (region,) = node.regions
                pairs = list(zip(region.params, node.inputs, strict=True))
                inside = _dependent(region, {p for p, x in pairs if x in found})
                after = [out for out, r in zip(node.outputs, region.results, strict=True) if r in inside]
                written = [x for p, x in pairs if p in inside]
            else:
                after = [o for o in node.outputs if inexact(o.type) or isinstance(o.type, ObjectType)]
            found.update(after)
            if node.op == "setitem" or node.op in WRITING:
                written.append(node.inputs[0])
            targets = [x for x in written if isinstance(x, Value)]
            found.update(x for x in classes.parent for t in targets if classes.same(x, t))
    return found


def _prepared(graph: Graph) -> Graph:
    """The graph in the form in which it is differentiated."""
    known = fields_as_values(read_known(expanded(graph)), OPS)
    return with_functions(by_numbers(drop_unread(known, OPS)))


def _constant(x: Operand) -> Any:
    return x.value if isinstance(x, Const) else None


def value_and_grad(
    trace: Trace,
    function: Any,
    argnums: Any,
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    checkpoint: Any = None,
    unconnected: str = "zero",
) -> tuple[Any, Any, Any]:
    """The value, what comes with it, the gradients.  checkpoint: see `Linear`; unconnected: see `Call`."""

    def go(ours: set[Node]) -> tuple[Any, Any, Any]:
        single, numbers = positions(argnums, len(args))
        call = Call(trace, function, numbers, args, kwargs)
        call.unconnected = unconnected
        if unconnected == "none" and any(n.regions and n.op != "with" for n in call.graph.nodes):
            raise NotStaged("whether the result depends on an argument is known only at run time")
        for live in call.live:
            if not any(live):
                raise NotStaged("an argument holds no floats to differentiate by")
        linear, outputs = call.linear(ours, checkpoint)
        made = closed(tree.unflatten(call.structure, outputs))
        value = made
        if has_aux:
            if type(made) is not tuple or len(made) != 2:
                raise NotStaged("has_aux=True, and the function does not return a pair")
            value = made[0]
        t = trace.type_of(value)
        if not real_scalar(t):
            raise NotStaged(f"the function returns {in_words(t)}, not one number")
        cts = [None] * len(outputs)
        cts[0] = ones(t)
        with linear.mine():
            grads = call.trees(call.gradients(*quietly(trace, linear, call.seeds(cts))), single)
        return value, made[1] if has_aux else None, grads

    made: tuple[Any, Any, Any] = tidily(trace, go)
    return made


def pulled_back(
    trace: Trace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], cts: Any
) -> tuple[Any, ...]:
    """The cotangents of all arguments, of a call that is done again, given those of its value."""
    call = Call(trace, function, range(len(args)), args, kwargs)
    linear, outputs = call.linear(set())
    parts, _ = tree.flatten(opened(cts, data=True))
    if len(parts) != len(outputs):
        raise NotStaged("a cotangent of another structure than the value")
    given = [None if ct is None or not inexact(trace.type_of(x)) else turned(trace, ct)
             for ct, x in zip(parts, outputs, strict=True)]  # fmt: skip
    found: tuple[Any, ...] = call.trees(call.gradients(*quietly(trace, linear, call.seeds(given))), False)
    return found


def quietly(trace: Trace, linear: Linear, seeds: list[Any]) -> tuple[list[Any], list[Any]]:
    """The cotangents of the followed leaves, None for nothing; computed without floating-point warnings.
    And those among them that are arrays which nobody else has."""
    params = [p for p in linear.graph.params if p in linear.varied]

    def work() -> list[Any]:
        linear.backward(seeds)
        return [linear.reached(p) for p in params]

    made, own = silenced(trace, work)
    found = dict(zip(params, made, strict=True))
    return [found.get(p) for p in linear.graph.params], own


def silenced(trace: Trace, work: Callable[[], list[Any]]) -> tuple[list[Any], list[Any]]:
    """What the work gives, recorded so that it runs without floating-point warnings; and the arrays among it
    that nobody else has."""
    with trace.region("backward") as builder:
        builder.param(OBJECT, "entered")
        found = work()
        results = [trace.operand(x) for x in found if isinstance(x, Traced)]
        results = list(map(builder.use, results))
    builder.keep(0, needed_nodes(builder.nodes, results))
    if not builder.nodes:
        outer = {inner: value for value, inner in builder.captures.items()}
        return [
            trace.wrap(outer[x._facts.operand]) if isinstance(x, Traced) and x._facts.operand in outer else x
            for x in found
        ], []
    captured, regions = close_regions([builder], [results])
    manager = trace.emit("py.call", [Const(np.errstate)], {"all": "ignore"})
    outputs = trace.builder.add(
        "with",
        [manager, *captured],  # type: ignore[list-item]
        [x.type for x in regions[0].results],
        attrs={"swallows": False},
        regions=tuple(regions),
    )
    left = iter(outputs)
    made = [trace.wrap(next(left)) if isinstance(x, Traced) else x for x in found]
    news = [x for x, old in zip(made, found, strict=True) if isinstance(old, Traced)]
    classes = aliases_of(regions[0])
    own = [
        x for x, result in zip(news, regions[0].results, strict=True) if _alone(classes, regions[0], result)
    ]
    return made, own


def _alone(classes: Aliases, region: Graph, result: Operand) -> bool:
    """Whether a result of a region is an array that was made in it, and no part of another result."""
    if not isinstance(result, Value) or result not in classes.parent or result in classes.views:
        return False
    mine = classes.of(result)
    others = [r for r in region.results if isinstance(r, Value) and classes.same(r, result)]
    return mine.origins == 1 and not mine.outside and len(others) == 1


def real_scalar(t: Type) -> bool:
    """Whether values of the type are real floating-point numbers."""
    if not inexact(t) or isinstance(t, NumberType):
        return isinstance(t, NumberType) and inexact(t) and cotangent_type(t).dtype.kind == "f"
    want = cotangent_type(t)
    return want.shape == () and want.dtype.kind == "f"


def tidily(trace: Trace, work: Callable[[set[Node]], Any]) -> Any:
    """What the work gives, without the nodes that it recorded in vain."""
    start = len(trace.builder.nodes)
    ours: set[Node] = set()
    result = work(ours)
    leaves: list[Operand] = []
    _operands(trace, result, leaves)
    trace.builder.keep(start, needed_nodes(trace.builder.nodes[start:], leaves, ours))
    return result


def _operands(trace: Trace, x: Any, found: list[Any]) -> None:
    if isinstance(x, Traced):
        found.append(x._facts.operand)
    elif isinstance(x, (tuple, list)):
        for item in x:
            _operands(trace, item, found)
