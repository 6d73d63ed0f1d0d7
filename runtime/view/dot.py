"""A graph as Graphviz DOT text.

In: a graph.  Out: DOT text: a box for each node, a cluster for each region, an edge from each value to its
uses, dashed edges where only the order of effects ties two nodes.  What always holds: the text depends on
the graph alone; tooltips carry types and the user's lines; nothing here needs Graphviz.
"""

from __future__ import annotations

from collections.abc import Mapping

from runtime.ir.effects import effect_of
from runtime.ir.graph import Graph, Node, Operand, Value
from runtime.ir.literal import RESERVED
from runtime.ir.names import give_names
from runtime.ir.opdef import PURE, OpDef
from runtime.ir.text import GraphPrinter, region_labels
from runtime.ops.table import OPS

_STYLE = (
    'graph [fontname="monospace", fontsize=11, labeljust=l, compound=true, color="#9aa4b2", style=rounded]',
    'node [fontname="monospace", fontsize=11, shape=box, style="rounded,filled", fillcolor="#f5f7fa", '
    'color="#9aa4b2", margin="0.12,0.06"]',
    'edge [color="#52606d", arrowsize=0.6]',
)


def graph_to_dot(graph: Graph, table: Mapping[str, OpDef] = OPS) -> str:
    """The graph as DOT text; `dot -Tsvg` and every viewer of the format reads it."""
    printer = GraphPrinter(graph, names=give_names(graph, RESERVED, scoped=False))
    lines = [f"digraph {quote(graph.name or 'graph')} {{", *(f"  {line};" for line in _STYLE)]
    lines += _DotWriter(printer, table).block(graph, "g", "  ")
    return "\n".join([*lines, "}", ""])


def quote(text: str) -> str:
    """A DOT string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def effects_in_order(graph: Graph, table: Mapping[str, OpDef]) -> list[int]:
    """The indexes of the graph's nodes whose order among each other matters."""
    return [
        k
        for k, node in enumerate(graph.nodes)
        if node.op == "raise" or (node.op not in table and not node.regions) or effect_of(node, table) != PURE
    ]


def tooltip(node: Node, printer: GraphPrinter) -> str:
    """What a viewer shows when the pointer rests on a node: its line, and the user's."""
    lines = [printer.node(node)]
    span = node.span
    while span is not None:
        lines.append(f"{span}: {span.text().strip()}" if span.text().strip() else str(span))
        span = span.caller
    return "\n".join(lines)


class _DotWriter:
    """Writes graphs; a value's home is the DOT node where its edges start."""

    def __init__(self, printer: GraphPrinter, table: Mapping[str, OpDef]) -> None:
        self.printer, self.table = printer, table
        self.homes: dict[Value, str] = {}

    def block(self, graph: Graph, prefix: str, indent: str) -> list[str]:
        """The statements of one graph; DOT identifiers start with `prefix`."""
        lines: list[str] = []
        for k, value in enumerate(graph.params):
            home = f"{prefix}_p{k}"
            self.homes[value] = home
            label = quote(self.printer.param(value))
            lines.append(f'{indent}{home} [label={label}, shape=box, fillcolor="#e3f2e6"];')
        for k, node in enumerate(graph.nodes):
            lines += self.node(node, f"{prefix}_n{k}", indent)
        order = effects_in_order(graph, self.table)
        for before, after in zip(order, order[1:], strict=False):
            lines.append(f'{indent}{prefix}_n{before} -> {prefix}_n{after} [style=dashed, color="#c05621"];')
        end = "diverges" if graph.diverges else "return"
        text = f"{end} {', '.join(map(self.printer.operand, graph.results))}".strip()
        lines.append(f'{indent}{prefix}_end [label={quote(text)}, fillcolor="#e3e8f7"];')
        lines += self.edges(graph.results, f"{prefix}_end", indent)
        return lines

    def node(self, node: Node, home: str, indent: str) -> list[str]:
        """A node; where it has regions, a cluster around it and them."""
        outputs = "\\l".join(map(self.printer.param, node.outputs))
        text = f"{outputs} = {self.printer.call(node)}" if outputs else self.printer.call(node)
        label = quote(text).replace("\\\\l", "\\l")
        hint = quote(tooltip(node, self.printer))
        lines = [f"{indent}{home} [label={label}, tooltip={hint}];"]
        for k, (name, region) in enumerate(zip(region_labels(node), node.regions, strict=True)):
            title = f"{name} {region.name}".strip()
            lines += [f"{indent}subgraph cluster_{home}_r{k} {{", f"{indent}  label={quote(title)};"]
            lines += self.block(region, f"{home}_r{k}", indent + "  ")
            lines.append(f"{indent}}}")
            entry = f"{home}_r{k}_p0" if region.params else f"{home}_r{k}_end"
            lines.append(
                f'{indent}{home} -> {entry} [lhead=cluster_{home}_r{k}, style=dotted, label="{name}"];'
            )
        lines += self.edges(node.inputs, home, indent)
        self.homes.update((value, home) for value in node.outputs)
        return lines

    def edges(self, operands: tuple[Operand, ...], target: str, indent: str) -> list[str]:
        """An edge for each value among the operands, labelled with its name and type."""
        lines = []
        for value in dict.fromkeys(x for x in operands if isinstance(x, Value)):
            hint = quote(self.printer.param(value))
            lines.append(f"{indent}{self.homes.get(value, 'undefined')} -> {target} [tooltip={hint}];")
        return lines
