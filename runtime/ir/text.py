"""The text form of a graph: printed to be read, and parsed back to an equal graph.

In: a graph, or its text with the table of objects it refers to.  Out: the other one.  What always holds:
`same_graph(parse_graph(print_graph(g, objects), objects), g)`, and the text depends on the graph alone.

    text    = ("# file " LABEL " = " string | comment)*  graph+   the last one; before it those it calls
    graph   = "graph " NAME "(" [param, ...] "):" block         NAME is a string where it is no identifier
    param   = NAME ": " type
    block   = node*  ("return " [operand, ...] | "diverges")    indented by four more spaces
    node    = [param, ... " = "] OP ["{" NAME "=" literal, ... "}"] "(" [argument, ...] ")" [span]
              region*                                           indented by four more spaces
    region  = LABEL [" " NAME] "(" [param, ...] "):" block      true, false; test, body; handler1, ...
    argument = [NAME "="] operand                               NAME: a keyword argument of the op
    operand = NAME | literal [" as " NAME]                      as: the constant's own name
                                                                @graph1: the first graph of the text
    span    = "# " FILE ":" LINE [":" COLUMN] [" in " FUNCTION] (" from " ...)*

A region is closed, so it is a scope of names of its own.  FUNCTION is left out where it is the graph's
name, COLUMN where it is 0.  Constants and types are written as `runtime.ir.literal` says.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from typing import Any

from runtime.errors import Span
from runtime.ir.calls import all_nodes, called_graphs
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.literal import RESERVED, LiteralReader, LiteralWriter
from runtime.ir.names import give_names
from runtime.ir.parts import Try
from runtime.ir.scan import Scanner, parse_error
from runtime.pattern import pattern

REGION_LABELS = {
    "cond": ("true", "false"),
    "while": ("test", "body"),
    "for": ("body", "test"),
    "with": ("body",),
}
_INDENT = "    "
_COMMENT_COLUMN = 56
_FILE = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s:'"]+"""
_LEGEND = pattern(rf"# file (?P<label>{_FILE}) = (?P<path>.*)")
_PLACE = pattern(rf"(?P<file>{_FILE}):(?P<line>\d+)(?::(?P<col>\d+))?(?: in (?P<function>{_FILE}))?")


def region_labels(node: Node) -> tuple[str, ...]:
    """What the node's regions are called in print."""
    if node.op == "try":
        return tuple(label for label, _ in Try(node).labels())
    known = REGION_LABELS.get(node.op, ())
    return known[: len(node.regions)] + tuple(f"region{k + 1}" for k in range(len(known), len(node.regions)))


def print_graph(graph: Graph, objects: list[Any] | None = None, spans: bool = True) -> str:
    """The graph as text.

    objects: where to collect the objects that the text can only point to; give it to `parse_graph`.
    spans: whether to write the user's file and line behind each node.
    """
    return GraphPrinter(graph, objects, spans).text()


def node_text(node: Node, names: dict[Value, str] | None = None) -> str:
    """One node on one line, without its regions."""
    if names is None:
        params = tuple(v for v in node.inputs if isinstance(v, Value))
        names = give_names(Graph("", params, (node,), ()), RESERVED)
    return GraphPrinter(Graph("", (), (), ()), None, False, names).node(node)


class GraphPrinter:
    """Prints one graph; `node`, `operand` and `param` also serve viewers."""

    def __init__(
        self,
        graph: Graph,
        objects: list[Any] | None = None,
        spans: bool = True,
        names: dict[Value, str] | None = None,
    ) -> None:
        self.graph, self.spans = graph, spans
        self.called = called_graphs(graph)
        self.writer = LiteralWriter(objects, self.called)
        self.names = {} if names is None else names
        if names is None:
            for each in (*self.called, graph):
                self.names |= give_names(each, RESERVED)
        self.labels = _file_labels(graph) if spans else {}
        self.function = graph.name

    def text(self) -> str:
        """The whole text, ending in a newline."""
        lines: list[str] = []
        for graph in (*self.called, self.graph):
            self.function = graph.name
            lines += [f"graph {_name(graph.name)}{self._params(graph)}:", *self._block(graph, _INDENT)]
        legend = [f"# file {label} = {path!r}" for path, label in self.labels.items() if label != path]
        legend += [f"# @obj{k}: {_class_name(found)}" for k, found in enumerate(self.writer.objects)]
        return "\n".join([*legend, *lines, ""])

    def _params(self, graph: Graph) -> str:
        return f"({', '.join(map(self.param, graph.params))})"

    def _block(self, graph: Graph, indent: str) -> list[str]:
        lines = []
        for node in graph.nodes:
            line = indent + self.node(node)
            if self.spans and node.span is not None:
                line = f"{line:<{_COMMENT_COLUMN}}  # {self._span(node.span)}"
            lines.append(line)
            for label, region in zip(region_labels(node), node.regions, strict=True):
                name = f" {_name(region.name)}" if region.name else ""
                lines.append(f"{indent}{_INDENT}{label}{name}{self._params(region)}:")
                lines.extend(self._block(region, indent + 2 * _INDENT))
        end = "diverges" if graph.diverges else "return"
        lines.append(f"{indent}{end} {', '.join(map(self.operand, graph.results))}".rstrip())
        return lines

    def param(self, value: Value) -> str:
        """A value where it is defined: name and type."""
        return f"{self._known(value)}: {self.writer.type_text(value.type)}"

    def _known(self, value: Value) -> str:
        return self.names.get(value) or f"undefined_{value.name or 'value'}"

    def operand(self, operand: Operand) -> str:
        """An operand: a value's name, or the constant."""
        if isinstance(operand, Value):
            return self._known(operand)
        text = self.writer.literal(operand.value)
        return f"{text} as {_name(operand.name)}" if operand.name else text

    def node(self, node: Node) -> str:
        """The node's line."""
        outputs = ", ".join(map(self.param, node.outputs))
        return f"{outputs} = {self.call(node)}" if outputs else self.call(node)

    def call(self, node: Node) -> str:
        """The node's right side: op, attributes and operands."""
        attrs = ", ".join(f"{name}={self.writer.literal(value)}" for name, value in node.attrs)
        count = len(node.inputs) - len(node.keywords)
        args = [self.operand(operand) for operand in node.inputs[:count]]
        keyed = zip(node.keywords, node.inputs[count:], strict=False)  # a broken node must print too
        args += [f"{key}={self.operand(operand)}" for key, operand in keyed]
        return f"{node.op}{f'{{{attrs}}}' if attrs else ''}({', '.join(args)})"

    def _span(self, span: Span) -> str:
        col = f":{span.col}" if span.col else ""
        function = f" in {_word(span.function)}" if span.function != self.function else ""
        caller = "" if span.caller is None else f" from {self._span(span.caller)}"
        return f"{self.labels[span.file]}:{span.line}{col}{function}{caller}"


def _name(name: str) -> str:
    return name if name.isidentifier() and name not in RESERVED else repr(name)


def _word(text: str) -> str:
    return text if re.fullmatch(r"""[^\s:'"]+""", text) else repr(text)


def _class_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _file_labels(graph: Graph) -> dict[str, str]:
    """A short label for each file that spans name: its base name where no other file has the same."""
    files: dict[str, None] = {}
    for node in all_nodes(graph):
        span = node.span
        while span is not None:
            files[span.file] = None
            span = span.caller
    bases = [os.path.basename(path) for path in files]
    return {
        path: base if bases.count(base) == 1 and re.fullmatch(r"""[^\s:'"]+""", base) else repr(path)
        for path, base in zip(files, bases, strict=True)
    }


def parse_graph(text: str, objects: Sequence[Any] = ()) -> Graph:
    """The graph that the text stands for.  objects: what `print_graph` collected for it."""
    return _Parser(text, objects).graph()


class _Parser:
    def __init__(self, text: str, objects: Sequence[Any]) -> None:
        self.reader = LiteralReader(objects)
        self.files: dict[str, str] = {}
        self.lines: list[tuple[int, str]] = []
        self.position = 0
        self.function = ""
        lines = text.split("\n")
        self.last = (len(lines), lines[-1])
        for number, line in enumerate(lines, 1):
            legend = _LEGEND.fullmatch(line)
            if legend:
                self.files[legend["label"]] = ast.literal_eval(legend["path"])
            elif line.strip() and not line.lstrip().startswith("#"):
                self.lines.append((number, line))

    def graph(self) -> Graph:
        """The last graph of the text, which may call those before."""
        while True:
            scan = self.scan("the head of a graph")
            if self.reader.graphs and not scan.at("graph"):
                scan.fail("the graph has ended before this line")
            scan.expect("graph")
            self.function = self.name(scan)
            graph = self.body(scan, self.function, 4)
            if self.position >= len(self.lines):
                return graph
            self.reader.graphs.append(graph)

    def scan(self, what: str) -> Scanner:
        """A scanner over the next line."""
        if self.position >= len(self.lines):
            number, line = self.last
            raise parse_error(f"expected {what}, the text ends", line, number, len(line))
        number, line = self.lines[self.position]
        self.position += 1
        return Scanner(line, number)

    def indent(self) -> int:
        if self.position >= len(self.lines):
            return -1
        line = self.lines[self.position][1]
        return len(line) - len(line.lstrip(" "))

    def name(self, scan: Scanner) -> str:
        return str(self.reader.literal(scan)) if scan.kind == "string" else scan.name("a name")

    def body(self, scan: Scanner, name: str, depth: int) -> Graph:
        """What follows a graph's name: parameters and block, indented by `depth`."""
        known: dict[str, Value] = {}
        scan.expect("(")
        params = []
        while not scan.at(")"):
            params.append(self.param(scan, known))
            if not scan.take(","):
                break
        scan.expect(")")
        scan.expect(":")
        self.end(scan)
        nodes: list[Node] = []
        while True:
            scan = self.scan("a node, 'return' or 'diverges'")
            if scan.start != depth:
                scan.fail(f"expected {depth} spaces before this line, found {scan.start}")
            if scan.at("return") or scan.at("diverges"):
                diverges = scan.advance() == "diverges"
                results = () if scan.kind in ("end", "comment") else self.operands(scan, known)
                self.end(scan)
                return Graph(name, tuple(params), tuple(nodes), results, diverges)
            nodes.append(self.node(scan, known, depth))

    def end(self, scan: Scanner) -> None:
        if scan.kind not in ("end", "comment"):
            scan.fail(f"expected the end of the line, found {scan.text!r}")

    def param(self, scan: Scanner, known: dict[str, Value]) -> Value:
        if scan.kind == "name" and scan.text in known:
            scan.fail(f"{scan.text} is defined twice")
        name = scan.name("the name of a value")
        scan.expect(":")
        value = Value(self.reader.trace_type(scan), name)
        known[name] = value
        return value

    def operands(self, scan: Scanner, known: dict[str, Value]) -> tuple[Operand, ...]:
        found = [self.operand(scan, known)]
        while scan.take(","):
            found.append(self.operand(scan, known))
        return tuple(found)

    def operand(self, scan: Scanner, known: dict[str, Value]) -> Operand:
        if self.reader.at_literal(scan):
            value = self.reader.literal(scan)
            return Const(value, self.name(scan) if scan.take("as") else "")
        if scan.kind == "name" and scan.text not in known:
            scan.fail(f"{scan.text} is used before it is defined (a region sees only its own parameters)")
        return known[scan.name("an operand")]

    def node(self, scan: Scanner, known: dict[str, Value], depth: int) -> Node:
        outputs: list[Value] = []
        defined: dict[str, Value] = dict(known)  # a node's own outputs are not yet known to its operands
        if scan.looks_at(":"):
            outputs.append(self.param(scan, defined))
            while scan.take(","):
                outputs.append(self.param(scan, defined))
            scan.expect("=")
        op = scan.name("the name of an op")
        attrs = self.attrs(scan) if scan.at("{") else ()
        inputs, keywords = self.arguments(scan, known)
        span = self.span(scan) if scan.kind == "comment" else None
        self.end(scan)
        known.update(defined)
        regions = []
        while self.indent() == depth + len(_INDENT):
            regions.append(self.region(depth + len(_INDENT)))
        return Node(op, inputs, tuple(outputs), keywords, attrs, tuple(regions), span)

    def region(self, depth: int) -> Graph:
        scan = self.scan("a region")
        scan.name("a region: 'true', 'body', ...")
        name = "" if scan.at("(") else self.name(scan)
        return self.body(scan, name, depth + len(_INDENT))

    def attrs(self, scan: Scanner) -> tuple[tuple[str, Any], ...]:
        scan.expect("{")
        found = []
        while not scan.at("}"):
            name = scan.name("the name of an attribute")
            scan.expect("=")
            found.append((name, self.reader.literal(scan)))
            if not scan.take(","):
                break
        scan.expect("}")
        return tuple(found)

    def arguments(
        self,
        scan: Scanner,
        known: dict[str, Value],
    ) -> tuple[tuple[Operand, ...], tuple[str, ...]]:
        inputs: list[Operand] = []
        keywords: list[str] = []
        scan.expect("(")
        while not scan.at(")"):
            if scan.kind == "name" and scan.looks_at("="):
                keywords.append(scan.advance())
                scan.expect("=")
            elif keywords:
                scan.fail("a positional operand can't follow a keyword argument")
            inputs.append(self.operand(scan, known))
            if not scan.take(","):
                break
        scan.expect(")")
        return tuple(inputs), tuple(keywords)

    def span(self, scan: Scanner) -> Span | None:
        """The span in a comment; a comment that is none means nothing."""
        places = []
        text, start = scan.text.removeprefix("#").strip(), 0
        while True:
            match = _PLACE.match(text, start)
            if match is None:
                return None
            places.append(match)
            start = match.end()
            if start == len(text):
                break
            if not text.startswith(" from ", start):
                return None
            start += len(" from ")
        scan.advance()
        span = None
        for place in reversed(places):
            file = self.files.get(place["file"], _unquoted(place["file"]))
            function = self.function if place["function"] is None else _unquoted(place["function"])
            span = Span(file, int(place["line"]), int(place["col"] or 0), function, span)
        return span


def _unquoted(text: str) -> str:
    return str(ast.literal_eval(text)) if text[0] in "'\"" else text
