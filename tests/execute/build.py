"""A short way to write graphs by hand: `Region` collects nodes, `add` appends one and gives its value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from runtime.errors import Span
from runtime.execute.loader import load
from runtime.execute.python_source import plan_source
from runtime.execute.reference import interpret
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ops.table import OPS
from runtime.types import OBJECT, WEAK_BOOL, WEAK_FLOAT, WEAK_INT, ArrayType, Type
from tests.property.graphs import outcome

VECTOR = ArrayType(np.dtype(float), (None,))
FLOAT64 = ArrayType(np.dtype(float), (), scalar=True)


def operand(x: Any) -> Operand:
    return x if isinstance(x, (Value, Const)) else Const(x)


class Region:
    """A region under construction."""

    def __init__(self, **params: Type) -> None:
        self.params = tuple(Value(t, name) for name, t in params.items())
        self.nodes: list[Node] = []

    def add(
        self,
        op: str,
        *inputs: Any,
        name: str = "",
        outputs: tuple[tuple[Type, str], ...] | None = None,
        type: Type | None = None,
        line: int = 0,
        keywords: Mapping[str, Any] = {},
        regions: tuple[Graph, ...] = (),
        span: Span | None = None,
        **attrs: Any,
    ) -> Any:
        operands = (*map(operand, inputs), *map(operand, keywords.values()))
        if outputs is None:
            row = OPS[op]
            if row.rule is None:
                outputs = ()
            else:
                positional = [x.type for x in operands[: len(inputs)]]
                named = {k: x.type for k, x in zip(keywords, operands[len(inputs) :])}
                outputs = ((type or row.rule(*positional, **named), name),)
        values = tuple(Value(t, n) for t, n in outputs)
        place = span or (Span("prog.py", line, 0, "f") if line else None)
        self.nodes.append(
            Node(op, operands, values, tuple(keywords), tuple(sorted(attrs.items())), regions, place)
        )
        return values[0] if len(values) == 1 else values

    def graph(self, *results: Any, name: str = "region", diverges: bool = False) -> Graph:
        return Graph(name, self.params, tuple(self.nodes), tuple(map(operand, results)), diverges)

    def cond(
        self,
        pred: Any,
        operands: tuple[Any, ...],
        true: Callable[..., Any],
        false: Callable[..., Any],
        *outputs: tuple[Type, str],
        line: int = 0,
    ) -> Any:
        return self.add(
            "cond",
            pred,
            *operands,
            outputs=outputs,
            line=line,
            regions=(self.arm(operands, true), self.arm(operands, false)),
        )

    def loop(
        self,
        op: str,
        carry: tuple[Any, ...],
        captures: tuple[Any, ...],
        *functions: Callable[..., Any],
        iterable: Any = None,
        item: tuple[Type, str] | None = None,
        line: int = 0,
    ) -> Any:
        """functions: test, body of a while; body and perhaps test of a for.  They take region and params."""
        values = [operand(x) for x in (*carry, *captures)]
        attrs: dict[str, Any] = {"carries": len(carry)}
        if op == "while":
            regions = tuple(self.arm(values, function) for function in functions)
            return self.add(
                "while", *values, outputs=self.outputs_of(carry), regions=regions, line=line, **attrs
            )
        assert item is not None
        first = Value(*item)
        regions = tuple(self.arm([first, *values] if k == 0 else values, f) for k, f in enumerate(functions))
        return self.add(
            "for",
            iterable,
            *values,
            outputs=self.outputs_of(carry),
            regions=regions,
            line=line,
            tested=len(functions) == 2,
            **attrs,
        )

    @staticmethod
    def outputs_of(carry: tuple[Any, ...]) -> tuple[tuple[Type, str], ...]:
        return tuple(
            (
                WEAK_INT if type(x) is int else WEAK_FLOAT if type(x) is float else operand(x).type,
                getattr(x, "name", ""),
            )
            for x in carry
        )

    def arm(self, operands: Any, function: Callable[..., Any]) -> Graph:
        region = Region()
        values = [
            Value(
                WEAK_INT if type(operand(x).type).__name__ == "StaticType" else operand(x).type,
                operand(x).name,
            )
            for x in operands
        ]
        region.params = tuple(values)
        results = function(region, *values)
        if results is None:
            return region.graph(diverges=bool(region.nodes and region.nodes[-1].op == "raise"))
        return region.graph(*(results if isinstance(results, tuple) else (results,)))


def named(value: Any, name: str) -> Const:
    return Const(value, name)


def text(graph: Graph, **options: Any) -> str:
    return plan_source(graph, **options).text


def same(graph: Graph, *args: Any) -> None:
    """Run the plan and the reference: result, error, noted values and arguments afterwards must be equal."""
    run = load(plan_source(graph))

    def plan(*values: Any) -> tuple[Any, ...]:
        found = run(*values)
        return (found,) if len(graph.results) == 1 else (found or ())

    expected = outcome(lambda *values: interpret(graph, values, check_types=False), args)
    assert outcome(plan, args) == expected, plan_source(graph).text


__all__ = [
    "FLOAT64",
    "OBJECT",
    "VECTOR",
    "WEAK_BOOL",
    "WEAK_FLOAT",
    "WEAK_INT",
    "Region",
    "named",
    "same",
    "text",
]
