"""The reference interpreter: what a graph means, as plainly as it can be said.

In: a graph and a value for each parameter.  Out: the values of its results.  What always holds: nodes
run one after the other, each by its row's `run` on the real values; region nodes run their regions; and
every value is what its type claims, or `GraphError` is raised.  Slow on purpose: it is the oracle of all
passes and executors.  Errors that the program itself raises come out unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.errors import GraphError
from runtime.ir.calls import callee
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import OpDef
from runtime.ir.parts import Try, With
from runtime.ir.text import node_text
from runtime.ops.table import OPS
from runtime.pyops import catches
from runtime.types import describes, type_of


def interpret(
    graph: Graph,
    args: Sequence[Any],
    check_types: bool = True,
    table: Mapping[str, OpDef] = OPS,
) -> tuple[Any, ...]:
    """Run the graph on `args`, one for each parameter; its results."""
    return _Interpreter(check_types, table).run(graph, args)


class _Interpreter:
    def __init__(self, check_types: bool, table: Mapping[str, OpDef]) -> None:
        self.check_types, self.table = check_types, table

    def run(self, graph: Graph, args: Sequence[Any]) -> tuple[Any, ...]:
        """Run one graph or region."""
        if len(args) != len(graph.params):
            takes = f"the graph {graph.name!r} takes {len(graph.params)} values"
            raise GraphError(f"{takes}, it gets {len(args)}")
        values: dict[Value, Any] = {}

        def get(operand: Operand) -> Any:
            return operand.value if isinstance(operand, Const) else values[operand]

        for param, arg in zip(graph.params, args, strict=True):
            self.check(param, arg, f"the parameter {param.name!r} of {graph.name!r}", None)
            values[param] = arg
        for node in graph.nodes:
            outputs = self.outputs(node, [get(operand) for operand in node.inputs])
            for value, found in zip(node.outputs, outputs, strict=True):
                self.check(value, found, f"an output of {node.op}", node)
                values[value] = found
        if graph.diverges:
            raise GraphError(f"the graph {graph.name!r} is marked diverges=True, yet its end was reached")
        return tuple(get(operand) for operand in graph.results)

    def check(self, value: Value, found: Any, role: str, node: Node | None) -> None:
        """Raise if a value is not what its type claims."""
        if not self.check_types or describes(value.type, found):
            return
        text = "" if node is None else f"\n  node: {node_text(node)}"
        actual = type_of(found)
        raise GraphError(
            f"{role} is typed {value.type}, its value is {actual}{text}",
            span=None if node is None else node.span,
            why="a type must describe every value that can occur",
        )

    def outputs(self, node: Node, inputs: list[Any]) -> Sequence[Any]:
        """The values of the node's outputs."""
        if node.op == "cond":
            taken = node.regions[0] if inputs[0] else node.regions[1]
            return self.run(taken, inputs[1:])
        if node.op == "while":
            return self.while_loop(node, inputs)
        if node.op == "for":
            return self.for_loop(node, inputs)
        if node.op == "try":
            return self.try_(Try(node), inputs)
        if node.op == "with":
            return self.with_(With(node), inputs)
        inner = callee(node)
        if inner is not None:
            return self.run(inner, inputs[1:])
        count = len(inputs) - len(node.keywords)
        keywords = dict(zip(node.keywords, inputs[count:], strict=True))
        result = self.table[node.op].run(*inputs[:count], **keywords)
        return (result,) if node.outputs else ()

    def while_loop(self, node: Node, inputs: list[Any]) -> list[Any]:
        """Test, run the body, test again."""
        test, body = node.regions
        count = node.attr("carries")
        carry, captures = inputs[:count], inputs[count:]
        while self.run(test, carry + captures)[0]:
            carry = list(self.run(body, carry + captures))
        return carry

    def for_loop(self, node: Node, inputs: list[Any]) -> list[Any]:
        """Run the body for each item; where there is a test, it is asked after each trip."""
        body = node.regions[0]
        count = node.attr("carries")
        carry, captures = inputs[1 : 1 + count], inputs[1 + count :]
        for item in inputs[0]:
            carry = list(self.run(body, [item, *carry, *captures]))
            if node.attr("tested", False) and not self.run(node.regions[1], carry + captures)[0]:
                break
        return carry

    def try_(self, parts: Try, inputs: list[Any]) -> Sequence[Any]:
        """Run the body; the first handler that catches, or what follows; and the final part in any case."""
        captures = inputs[len(parts.classes) :]
        try:
            return self.handled(parts, inputs[: len(parts.classes)], captures)
        finally:
            if parts.final is not None:
                self.run(parts.final, captures)

    def handled(self, parts: Try, classes: list[Any], captures: list[Any]) -> Sequence[Any]:
        """The body with its handlers, and what follows where nothing was raised."""
        try:
            results = self.run(parts.body, captures)
        except BaseException as error:
            for wanted, handler in zip(classes, parts.handlers, strict=True):
                if catches(wanted, error):
                    return self.run(handler, [error, *captures])
            raise
        return results if parts.orelse is None else self.run(parts.orelse, captures)

    def with_(self, parts: With, inputs: list[Any]) -> Sequence[Any]:
        """Enter, run the body, leave."""
        count = len(parts.instead)
        results: list[Sequence[Any]] = []
        with inputs[0] as entered:
            results.append(self.run(parts.body, [entered, *inputs[1 + count :]]))
        if results:
            return results[0]
        if not parts.swallows:
            raise GraphError("a with that claims not to swallow exceptions did", span=parts.node.span)
        return inputs[1 : 1 + count]
