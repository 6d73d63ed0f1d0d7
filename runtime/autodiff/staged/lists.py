"""Lists that hold followed values, and the way back over what is done to them.

In: nodes that make, fill and read a list.  Out: the nodes recorded, and what records their way back.  What
always holds: for each list there is, on the way back, one of the cotangents of its items, which is as long as
the list was at that point: what was appended is popped there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.autodiff.levels import is_inexact
from runtime.autodiff.staged.calls import list_call
from runtime.autodiff.staged.kinds import NotStaged, cotangent_type, inexact, is_list, known_shape
from runtime.autodiff.staged.pulls import pull_now
from runtime.autodiff.staged.rules import fit
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.walk import map_graphs
from runtime.ops import adjoint
from runtime.ops.table import OPS
from runtime.ops.words import said
from runtime.passes.rewrite import users, with_nodes
from runtime.types import ArrayType, ObjectType, StaticType, TupleType, Type

_METHODS = {"append": list.append, "pop": list.pop}


def with_functions(graph: Graph) -> Graph:
    """The graph with calls of methods of lists as calls of functions: `list.append(x, item)`."""
    return map_graphs(graph, _with_functions)


def _with_functions(graph: Graph) -> Graph:
    nodes: list[Node] = []
    looked_up: dict[Operand, Node] = {}
    for node in graph.nodes:
        if node.op == "py.getattr" and is_list(node.inputs[0].type) and _only_called(graph, node):
            looked_up[node.outputs[0]] = node
        elif node.op == "py.call" and node.inputs[0] in looked_up:
            method = looked_up[node.inputs[0]]
            function = Const(_METHODS[_name(method)])
            inputs = (function, method.inputs[0], *node.inputs[1:])
            nodes.append(Node("py.call", inputs, node.outputs, node.keywords, node.attrs, (), node.span))
        else:
            nodes.append(node)
    return with_nodes(graph, nodes)


def _name(method: Node) -> Any:
    name = method.inputs[1]
    return name.value if isinstance(name, Const) else None


def _only_called(graph: Graph, node: Node) -> bool:
    out = node.outputs[0]
    calls = [n.op == "py.call" and k == 0 and not n.keywords for n, k in users(graph, out)]
    return _name(node) in _METHODS and out not in graph.results and all(calls)


# -- at run time ----------------------------------------------------------------------------------------


def cotangents_of(items: list[Any]) -> list[Any]:
    """Zeros for each item of a list."""
    return [_zeros(x) for x in items]


def _zeros(x: Any) -> Any:
    if type(x) is tuple:
        return tuple(map(_zeros, x))
    if not is_inexact(x):
        return None
    return np.zeros_like(x) if isinstance(x, np.ndarray) else np.asarray(x).dtype.type(0)


def add_each(cts: list[Any], made: Any) -> None:
    """Add something of its own to each of the cotangents."""
    for k, part in enumerate(made):
        cts[k] = _sum(cts[k], part)


def add_rows(cts: list[Any], columns: tuple[Any, ...], reverse: bool) -> None:
    """Add to rows of cotangents what stands in stacks of them; None for a stack without."""
    count = len(cts)
    for k in range(count):
        at = count - 1 - k if reverse else k
        cts[k] = tuple(
            c if stack is None else _sum(c, stack[at]) for c, stack in zip(cts[k], columns, strict=True)
        )


def add_same(cts: list[Any], ct: Any) -> None:
    """Add the same to each of the cotangents, summed along the axes that were broadcast."""
    for k, have in enumerate(cts):
        cts[k] = have if have is None else _sum(have, adjoint.fit(ct, have))


def _sum(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return a
    if np.shape(a) != np.shape(b):
        raise ValueError(f"a cotangent of shape {np.shape(b)} for an item of shape {np.shape(a)}")
    made = a + b
    return made if isinstance(a, np.ndarray) else np.asarray(made)[()]


def pull_joined(name: str, ct: Any, result: Any, cts: list[Any], rest: tuple[Any, ...], kwargs: Any) -> Any:
    """The cotangents of the items of a list that a function joined into one array."""
    return pull_now(name, (0,), ct, result, (list(cts), *rest), kwargs)[0]


# -- the nodes ------------------------------------------------------------------------------------------


def concerns(linear: Any, node: Node) -> bool:
    """Whether the node does something with a list of followed values."""
    return not node.regions and any(isinstance(x, Value) and x in linear.buffered and is_list(x.type)
                                    for x in node.inputs)  # fmt: skip


def forward(linear: Any, node: Node) -> None:
    """Record the node and, if it matters, its way back."""
    call = list_call(node)
    known: dict[str, Callable[[Any, Node], Callable[[], None] | None]] = {
        "append": _append,
        "pop": _pop,
        "sum": _add_up,
        "rows": _stack_rows,
        "len": lambda linear, node: _just(linear, node),
        "getitem": _read,
        "setitem": _write,
    }
    way = known.get(call or node.op)
    if way is None and node.op in OPS and OPS[node.op].vjp is not None and node.inputs[0] in linear.buffered:
        way = _joined
    if way is None:
        what = f"np.{call}" if call else said(node.op)
        raise NotStaged(f"{what} of a list that holds what is differentiated")
    step = way(linear, node)
    if step is not None:
        linear.steps.append((node, step))


def _just(linear: Any, node: Node) -> None:
    linear.copy(node)


def _method(linear: Any, node: Node, holder: Any, args: list[Any], t: Type) -> Operand:
    """The call of a method, recorded as methods are."""
    target = node.inputs[0]
    assert isinstance(target, Const)
    trace = linear.trace
    method = trace.emit("py.getattr", [holder, target.value.__name__])
    made: Operand = trace.emit("py.call", [method, *args], type=t)
    return made


def _append(linear: Any, node: Node) -> Callable[[], None]:
    _, array, value = node.inputs
    made = _method(linear, node, linear.operand(array), [linear.operand(value)], node.outputs[0].type)
    linear.env[node.outputs[0]] = made

    def step() -> None:
        trace, cts = linear.trace, linear.slot(array).buffer
        ct = trace.wrap(_pop_off(trace, cts, item_cotangent(value.type)))
        if isinstance(value, Value) and value in linear.varied:
            linear.give(value, ct)

    return step


def _pop_off(trace: Any, cts: Any, t: Type) -> Operand:
    method = trace.emit("py.getattr", [cts, "pop"])
    made: Operand = trace.emit("py.call", [method], type=t)
    return made


def _pop(linear: Any, node: Node) -> Callable[[], None]:
    array, out = node.inputs[1], node.outputs[0]
    if len(node.inputs) > 2:
        raise NotStaged("an item taken out of the middle of a list that holds what is differentiated")
    if not (_typed(out.type) or isinstance(out.type, TupleType)):
        raise NotStaged("an item of a list whose items are of several types")
    linear.env[out] = _method(linear, node, linear.operand(array), [], out.type)

    def step() -> None:
        trace, cts = linear.trace, linear.slot(array).buffer
        ct = linear.full_ct(out) if out in linear.varied else None
        add = trace.emit("py.getattr", [cts, "append"])
        trace.emit("py.call", [add, ct], type=StaticType(None))

    return step


def _read(linear: Any, node: Node) -> Callable[[], None] | None:
    array, key = node.inputs
    out = node.outputs[0]
    if not (_typed(out.type) or not inexact(out.type) and not isinstance(out.type, ObjectType)):
        raise NotStaged("an item of a list whose items are of several types")
    at = linear.kept(key)
    linear.copy(node)
    if out not in linear.varied:
        return None

    def step() -> None:
        ct = linear.ct(out)
        if ct is not None:
            add_item(linear, linear.slot(array).buffer, at, linear.whole(ct, out), out.type)

    return step


def add_item(linear: Any, cts: Any, at: Any, ct: Any, t: Type) -> None:
    """Add to one of the cotangents."""
    trace = linear.trace
    before = item(linear, cts, at, cotangent_type(t))
    trace.emit("setitem", [cts, at, before + ct])


def item(linear: Any, cts: Any, at: Any, t: Type) -> Any:
    """One of the cotangents."""
    return linear.trace.record("getitem", [cts, at], type=t)


def _write(linear: Any, node: Node) -> Callable[[], None]:
    array, key, value = node.inputs
    t = item_cotangent(value.type)
    if not _typed(t) or known_shape(t) is None or not inexact(t):
        raise NotStaged("an assignment to an item of a list of arrays whose shapes are not known")
    at = linear.kept(key)
    with linear.mine():
        old = linear.trace.emit("getitem", [linear.operand(array), at])
    linear.copy(node)

    def step() -> None:
        trace, cts = linear.trace, linear.slot(array).buffer
        ct = item(linear, cts, at, t)
        zero = trace.emit("py.call", [Const(_zeros), old], attrs={"pure": True})
        trace.emit("setitem", [cts, at, zero])
        if isinstance(value, Value) and value in linear.varied:
            linear.give(value, ct)

    return step


def _add_up(linear: Any, node: Node) -> Callable[[], None]:
    array, out = node.inputs[1], node.outputs[0]
    linear.copy(node)

    def step() -> None:
        ct = linear.ct(out)
        if ct is not None:
            whole = linear.whole(ct, out)
            linear.trace.emit(
                "py.call", [Const(add_same), linear.slot(array).buffer, whole], type=StaticType(None)
            )

    return step


def _stack_rows(linear: Any, node: Node) -> Callable[[], None]:
    rows, reverse = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else Const(False)
    out = node.outputs[0]
    linear.copy(node)

    def step() -> None:
        cts = linear.ct(out)
        if cts is not None:
            made = linear.value(out)
            pairs = zip(cts, made, strict=True)
            columns = tuple(ct if ct is None else _whole(linear.trace, ct, x) for ct, x in pairs)
            parts = [Const(add_rows), linear.slot(rows).buffer, columns, reverse]
            linear.trace.emit("py.call", parts, type=StaticType(None))

    return step


def _whole(trace: Any, ct: Any, like: Any) -> Any:
    return fit(trace, ct, like, trace.type_of(like))


def _joined(linear: Any, node: Node) -> Callable[[], None]:
    """A function that takes a list for a sequence of arrays."""
    array, rest, named = node.inputs[0], node.positional[1:], node.keyword_inputs
    out = node.outputs[0]
    if not isinstance(out.type, ArrayType):
        raise NotStaged(f"{said(node.op)} of a list whose items are of several types")
    if any(isinstance(x, Value) and x in linear.varied for x in (*rest, *named.values())):
        raise NotStaged(f"{said(node.op)} of a list with an option that is differentiated")
    given, options = [linear.kept(x) for x in rest], {k: linear.kept(x) for k, x in named.items()}
    linear.copy(node)
    result = linear.kept(out)

    def step() -> None:
        ct = linear.ct(out)
        if ct is None:
            return
        trace, cts = linear.trace, linear.slot(array).buffer
        whole = linear.whole(ct, out)
        parts = [Const(pull_joined), Const(node.op), whole, result, cts, tuple(given), options]
        made = trace.emit("py.call", parts, type=ObjectType(tuple))
        trace.emit("py.call", [Const(add_each), cts, made], type=StaticType(None))

    return step


def item_cotangent(t: Type) -> Type:
    """The type of the cotangent of an item."""
    if isinstance(t, TupleType):
        return TupleType(tuple(map(item_cotangent, t.items)))
    return cotangent_type(t) if inexact(t) else StaticType(None)


def _typed(t: Type) -> bool:
    try:
        return isinstance(cotangent_type(t), ArrayType)
    except NotStaged:
        return False
