"""Graphs as pictures: DOT text and SVG text, both made without any other program."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from runtime.ir.text import parse_graph
from runtime.view.dot import graph_to_dot, quote
from runtime.view.layout import arrange
from runtime.view.svg import graph_to_svg
from tests.property.graphs import random_graph

TEXT = """
graph sample(n: int64, items: object<list>):
    i: int = while{carries=1}(0, n)    # a.py:3
        test loop_test(i: int, n: int64):
            t1: bool_ = lt(i, n)
            return t1
        body loop_body(i: int, n: int64):
            t1: int = add(i, 1)
            return t1
    t1: object = py.call(@builtins:print, 'a "quoted" <text> & more')
    t2: object = py.call(@builtins:print, items)
    return i
"""


def test_dot_has_a_cluster_for_each_region_and_dashed_edges_for_the_order_of_effects() -> None:
    text = graph_to_dot(parse_graph(TEXT))
    assert text.startswith('digraph "sample" {')
    assert text.count("subgraph cluster_") == 2
    assert text.count("{") == text.count("}")
    assert len(re.findall(r"g_n\d+ -> g_n\d+ \[style=dashed", text)) == 2
    assert 'label="n: int64"' in text
    assert "a.py:3 in sample" in text
    assert '\\"quoted\\"' in text


def test_dot_edges_join_declared_boxes_only() -> None:
    for seed in range(40):
        text = graph_to_dot(random_graph(seed)[0])
        declared = set(re.findall(r"^ *(\w+) \[label", text, re.MULTILINE))
        for edge in re.finditer(r"^ *(\w+) -> (\w+)", text, re.MULTILINE):
            assert set(edge.groups()) <= declared, edge


def test_dot_strings_escape_quotes_backslashes_and_line_ends() -> None:
    assert quote('a"b\\c\nd') == '"a\\"b\\\\c\\nd"'


def test_svg_is_well_formed_and_names_every_region() -> None:
    text = graph_to_svg(parse_graph(TEXT))
    root = ElementTree.fromstring(text)
    shown = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "test loop_test" in shown and "body loop_body" in shown
    assert any(line.startswith("i = while{carries=1}(0, n)") for line in shown)
    assert any("int   line 3" in line for line in shown)
    titles = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any("a.py:3 in sample" in title for title in titles)
    assert text.count('class="order"') == 2


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_svg_of_random_graphs_is_well_formed_and_the_same_each_time(seed: int) -> None:
    graph, _ = random_graph(seed)
    text = graph_to_svg(graph)
    ElementTree.fromstring(text)
    assert graph_to_svg(random_graph(seed)[0]) == text
    assert "nan" not in re.sub(r">[^<]*<", "", text)


def test_control_characters_do_not_break_the_picture() -> None:
    graph = parse_graph(
        "graph f():\n    t1: object = py.call(@builtins:print, '\\x00\\ud800')\n    return t1"
    )
    ElementTree.fromstring(graph_to_svg(graph))


def test_boxes_do_not_overlap_and_edges_go_down() -> None:
    sizes = [(40.0, 20.0), (90.0, 60.0), (40.0, 20.0), (70.0, 30.0), (30.0, 20.0), (50.0, 20.0)]
    edges = [(0, 2), (1, 2), (0, 5), (2, 3), (2, 4), (1, 4), (3, 5)]
    layout = arrange(sizes, edges)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(layout.places, sizes, strict=True)]
    for k, one in enumerate(boxes):
        assert (
            one[2] <= layout.width + 1e-6 and one[3] <= layout.height + 1e-6 and one[0] >= 0 and one[1] >= 0
        )
        for other in boxes[k + 1 :]:
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, (one, other)
    for line in layout.lines:
        heights = [y for _, y in line]
        assert heights == sorted(heights)
    assert layout.places[5][1] == max(y for _, y in layout.places)


def test_nothing_to_lay_out() -> None:
    assert arrange([], []).places == ()
    assert arrange([(3.0, 4.0)], []).width == 3.0
