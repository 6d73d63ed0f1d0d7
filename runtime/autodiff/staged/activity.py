"""Which values of a graph change with some of its parameters.

In: a graph and those parameters.  Out: the set of such values that have derivatives.  What always holds: a
value outside the set has derivative zero; loops are followed to a fixed point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runtime.autodiff.levels import find_rule
from runtime.autodiff.staged.aliases import Aliases, aliases_of
from runtime.autodiff.staged.calls import WRITING, adds_into, list_call
from runtime.autodiff.staged.kinds import inexact, is_list
from runtime.ir.graph import Graph, Node, Operand, Value
from runtime.ops.adjoint import ZERO, Composite
from runtime.ops.table import OPS


def varied_values(graph: Graph, params: Iterable[Value]) -> set[Value]:
    """The values of the graph (not of its regions) that change with the parameters."""
    found = {p for p in params if inexact(p.type) or is_list(p.type)}
    classes = aliases_of(graph)
    before = -1
    while before != len(found):  # writes into an array concern the nodes before them, too
        before = len(found)
        for node in graph.nodes:
            _follow(node, found, classes)
    return found


def _written(x: Operand, found: set[Value], classes: Aliases) -> None:
    """A followed value was written into an array: whatever may share memory with it is followed."""
    if isinstance(x, Value):
        found.update(v for v in classes.parent if classes.same(v, x) and (inexact(v.type) or is_list(v.type)))


def _follow(node: Node, found: set[Value], classes: Aliases) -> None:
    changes = [x in found for x in node.inputs]
    if not any(changes):
        return
    if node.op == "with":
        (region,) = node.regions
        inside = varied_inside(region, changes)
        _outputs(node, found, [x in inside for x in region.results] or [False] * len(node.outputs))
        for p, x, was in zip(region.params, node.inputs, changes, strict=True):
            if p in inside and not was:
                _written(x, found, classes)
    elif node.op == "cond":
        arms = [varied_inside(r, changes[1:]) for r in node.regions]
        ways = [
            [x in v for x in r.results] for r, v in zip(node.regions, arms, strict=True) if not r.diverges
        ]
        _outputs(node, found, _either(ways))
        for region, inside in zip(node.regions, arms, strict=True):
            for p, x, was in zip(region.params, node.inputs[1:], changes[1:], strict=True):
                if p in inside and not was:
                    _written(x, found, classes)
    elif node.op in ("while", "for"):
        now = loop_activity(node, changes)
        first = 1 if node.op == "for" else 0
        _outputs(node, found, now[first : first + len(node.outputs)])
        body = node.regions[1] if node.op == "while" else node.regions[0]
        written = aliases_of(body).written_params
        for x, is_now, was, is_written in zip(node.inputs, now, changes, written, strict=True):
            if is_now and not was and is_written:
                _written(x, found, classes)
    elif node.op == "setitem" or node.op in WRITING or list_call(node) == "append" or adds_into(node):
        _written(node.inputs[node.op == "py.call"], found, classes)
        found.update(out for out in node.outputs if inexact(out.type) or _holds(out))
    elif not node.regions and differentiable(node, changes):
        found.update(out for out in node.outputs if inexact(out.type) or _holds(out))
    elif node.regions:
        found.update(out for out in node.outputs if inexact(out.type))


def _holds(out: Value) -> bool:
    return str(out.type).startswith("object")


def _outputs(node: Node, found: set[Value], varied: list[bool]) -> None:
    pairs = zip(node.outputs, varied, strict=True)
    found.update(out for out, is_varied in pairs if is_varied and (inexact(out.type) or _holds(out)))


def _either(ways: list[list[bool]]) -> list[bool]:
    return [any(column) for column in zip(*ways, strict=True)] if ways else []


def varied_inside(region: Graph, changes: list[bool]) -> set[Value]:
    """The values of a region that change with those of its parameters that do."""
    return varied_values(region, [p for p, c in zip(region.params, changes, strict=True) if c])


def loop_activity(node: Node, changes: list[bool]) -> list[bool]:
    """Which inputs of a loop's body change in some trip, given which of the loop's inputs do."""
    count: int = node.attr("carries")
    body = node.regions[1] if node.op == "while" else node.regions[0]
    now = list(changes)
    first = 0 if node.op == "while" else 1
    while not body.diverges:
        inside = varied_inside(body, now)
        after = [p in inside or c for p, c in zip(body.params, now, strict=True)]
        for k in range(count):
            result = body.results[k]
            after[first + k] |= result in inside
        if after == now:
            break
        now = after
    return now


def reached_nodes(node: Node, changes: list[bool]) -> Iterator[Node]:
    """The nodes in the regions of a node that take values which change, given which inputs of it do."""
    first = int(node.op == "for")
    for region in node.regions:
        if node.op == "cond":
            given = changes[1:]
        elif node.op in ("while", "for"):
            body = node.regions[1] if node.op == "while" else node.regions[0]
            now = loop_activity(node, changes)
            given = now if region is body else now[first:]
        else:
            given = changes
        inside = varied_inside(region, given)
        for inner in region.nodes:
            flags = [x in inside for x in inner.inputs]
            if any(flags):
                yield inner
                yield from reached_nodes(inner, flags)


# They look at shapes only.
ASKING = frozenset({"np.shape", "np.ndim", "np.size", "np.zeros_like", "np.ones_like", "np.empty_like"})


def differentiable(node: Node, changes: list[bool]) -> bool:
    """Whether the result changes with one of the operands that change."""
    if node.op not in OPS:
        return True
    if node.attr("stop") or node.op in ASKING:
        return False
    rules = OPS[node.op].vjp
    if rules is None or isinstance(rules, Composite):
        return True  # what has no rule is dealt with where it matters
    return any(
        find_rule(rules, key) is not ZERO for key, change in zip(keys(node), changes, strict=True) if change
    )


def keys(node: Node) -> list[int | str]:
    """Position or name of each input."""
    count = len(node.inputs) - len(node.keywords)
    return [*range(count), *node.keywords]


def is_varied(x: Operand, varied: set[Value]) -> bool:
    """Whether an operand is among the values that change."""
    return isinstance(x, Value) and x in varied
