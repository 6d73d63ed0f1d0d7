"""A graph as an SVG picture, drawn without any other program.

In: a graph.  Out: the text of an SVG file: a box for each node, boxes in boxes for regions, lines from each
value to its uses, dashed lines where only the order of effects ties two nodes.  What always holds: the text
depends on the graph alone and is well-formed XML; resting the pointer on a box shows the types and the
user's own line; dark and light pages are both served.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape

from runtime.dataclass import dataclass
from runtime.ir.graph import Graph, Node, Operand, Value
from runtime.ir.literal import RESERVED
from runtime.ir.names import give_names
from runtime.ir.opdef import OpDef
from runtime.ir.text import GraphPrinter, region_labels
from runtime.ops.table import OPS
from runtime.view.dot import effects_in_order, tooltip
from runtime.view.layout import Layout, arrange

_CHAR, _LINE, _PAD = 7.25, 16.0, 9.0
_LONGEST = 58
_STYLE = """
svg { background: #ffffff; }
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2933; }
.type { fill: #7b8794; }
.title { font-weight: bold; }
rect { stroke: #9aa4b2; fill: #f5f7fa; }
.param { fill: #e3f2e6; stroke: #7fb08a; }
.end { fill: #e3e8f7; stroke: #8594c9; }
.effect { fill: #fdf0e3; stroke: #d39b62; }
.outer { fill: #eef1f5; }
.region { fill: #ffffff; stroke: #b8c1cc; }
path { fill: none; stroke: #52606d; stroke-width: 1.2; }
.order { stroke: #c05621; stroke-dasharray: 4 3; }
@media (prefers-color-scheme: dark) {
svg { background: #14181d; }
text { fill: #e4e7eb; }
.type { fill: #9aa5b1; }
rect { fill: #232a33; stroke: #52606d; }
.param { fill: #1f3527; }
.end { fill: #262f4d; }
.effect { fill: #42301f; }
.outer { fill: #1b2129; }
.region { fill: #14181d; }
path { stroke: #9aa5b1; }
.order { stroke: #f0b37e; }
}
""".strip()


@dataclass(frozen=True)
class _Picture:
    """Something drawn: its size and its SVG lines, with the origin at its left top corner."""

    width: float
    height: float
    lines: tuple[str, ...]


def graph_to_svg(graph: Graph, table: Mapping[str, OpDef] = OPS) -> str:
    """The graph as the text of an SVG file."""
    printer = GraphPrinter(graph, names=give_names(graph, RESERVED, scoped=False))
    inner = _Painter(printer, table).block(graph)
    width, height = inner.width + 2 * _PAD, inner.height + 2 * _PAD + _LINE + 4
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<style>{_STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path d="M1 1L7 4L1 7"/></marker></defs>',
            _text(_PAD, _PAD + 11, f"graph {graph.name}", "title"),
            _moved(inner, _PAD, _PAD + _LINE + 4),
            "</svg>",
            "",
        ]
    )


def _text(x: float, y: float, text: str, style: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind} xml:space="preserve">{_xml(text)}</text>'


def _xml(text: str) -> str:
    """The text with what XML can't hold replaced."""
    return escape("".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text))


def _moved(picture: _Picture, x: float, y: float) -> str:
    return "\n".join([f'<g transform="translate({x:.1f} {y:.1f})">', *picture.lines, "</g>"])


def _rect(width: float, height: float, style: str) -> str:
    kind = f' class="{style}"' if style else ""
    return f'<rect width="{width:.1f}" height="{height:.1f}" rx="6"{kind}/>'


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\u2026"


class _Painter:
    def __init__(self, printer: GraphPrinter, table: Mapping[str, OpDef]) -> None:
        self.printer, self.table = printer, table

    def block(self, graph: Graph) -> _Picture:
        """One graph: parameters, nodes and end as boxes, and the lines between them."""
        order = effects_in_order(graph, self.table)
        pictures = [self.box(self.printer.param(value), "param") for value in graph.params]
        first = len(pictures)
        pictures += [self.node(node, k in order) for k, node in enumerate(graph.nodes)]
        end = "diverges" if graph.diverges else "return"
        results = ", ".join(map(self.printer.operand, graph.results))
        pictures.append(self.box(f"{end} {results}".strip(), "end"))
        edges = self.edges(graph)
        data = set(edges)
        steps = [(first + a, first + b) for a, b in zip(order, order[1:], strict=False)]
        steps = [edge for edge in steps if edge not in data]
        layout = arrange([(p.width, p.height) for p in pictures], edges + steps)
        return self.assemble(pictures, layout, len(edges))

    def edges(self, graph: Graph) -> list[tuple[int, int]]:
        """(box, box) for each use of a value, each pair once."""
        homes: dict[Value, int] = {value: k for k, value in enumerate(graph.params)}
        found: dict[tuple[int, int], None] = {}

        def connect(operands: Iterable[Operand], target: int) -> None:
            for operand in operands:
                if isinstance(operand, Value) and operand in homes:
                    found[homes[operand], target] = None

        for k, node in enumerate(graph.nodes, len(graph.params)):
            connect(node.inputs, k)
            homes.update((value, k) for value in node.outputs)
        connect(graph.results, len(graph.params) + len(graph.nodes))
        return list(found)

    def assemble(self, pictures: Sequence[_Picture], layout: Layout, data: int) -> _Picture:
        """Boxes at their places, with the lines (the first `data` of them solid) below them."""
        lines = [_path(points, "" if k < data else "order") for k, points in enumerate(layout.lines)]
        lines += [_moved(p, x, y) for p, (x, y) in zip(pictures, layout.places, strict=True)]
        return _Picture(layout.width, layout.height, tuple(lines))

    def box(self, text: str, style: str, hint: str = "", extra: Sequence[str] = ()) -> _Picture:
        """A box of text lines: the first plain, the others pale."""
        shown = [_short(line) for line in (text, *extra)]
        width = max(len(line) for line in shown) * _CHAR + 2 * _PAD
        height = len(shown) * _LINE + _PAD
        lines = [_rect(width, height, style)]
        for k, line in enumerate(shown):
            lines.append(_text(_PAD, k * _LINE + 17, line, "type" if k else ""))
        return _Picture(width, height, ("<g>", f"<title>{_xml(hint or text)}</title>", *lines, "</g>"))

    def node(self, node: Node, effect: bool) -> _Picture:
        """A node: what it does, and below it the types of what it yields."""
        call = self.printer.call(node)
        if node.outputs:
            call = f"{', '.join(self.printer.names[value] for value in node.outputs)} = {call}"
        types = ", ".join(self.printer.writer.type_text(value.type) for value in node.outputs)
        line = f"line {node.span.line}" if node.span else ""
        below = "   ".join(filter(None, (types, line)))
        style = "effect" if effect else ""
        picture = self.box(call, style, tooltip(node, self.printer), [below] if below else [])
        return self.around(node, picture, style) if node.regions else picture

    def around(self, node: Node, head: _Picture, style: str) -> _Picture:
        """A node with regions: its own text on top, the regions side by side below."""
        lines, x, tallest = [], _PAD, 0.0
        for label, region in zip(region_labels(node), node.regions, strict=True):
            inner = self.block(region)
            title = f"{label} {region.name}".strip()
            width = max(inner.width, len(title) * _CHAR) + 2 * _PAD
            height = inner.height + 2 * _PAD + _LINE + 4
            parts = (
                _rect(width, height, "region"),
                _text(_PAD, 17, title, "title"),
                _moved(inner, (width - inner.width) / 2, _PAD + _LINE + 4),
            )
            lines.append(_moved(_Picture(width, height, parts), x, head.height + 2))
            x += width + _PAD
            tallest = max(tallest, height)
        width, height = max(x, head.width), head.height + 2 + tallest + _PAD
        outer = _rect(width, height, f"{style} outer".strip())
        text = tuple(line for line in head.lines if not line.startswith("<rect"))
        return _Picture(width, height, (outer, *text, *lines))


def _path(points: Sequence[tuple[float, float]], style: str) -> str:
    """A smooth line: curves between layers, straight alongside boxes."""
    x, y = points[0]
    text = [f"M{x:.1f} {y:.1f}"]
    for k, (to_x, to_y) in enumerate(points[1:]):
        if k % 2 == 0:
            text.append(f"L{to_x:.1f} {to_y:.1f}")
        else:
            bend = (to_y - y) / 2
            text.append(f"C{x:.1f} {y + bend:.1f} {to_x:.1f} {to_y - bend:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    kind = f' class="{style}"' if style else ""
    return f'<path d="{"".join(text)}" marker-end="url(#tip)"{kind}/>'
