"""The text form: what it looks like, that it parses back, and what the parser says about mistakes."""

from __future__ import annotations

import collections
import enum
import math
import operator
from typing import Any

import numpy as np
import pytest

from runtime.boxes import unbound
from runtime.errors import GraphError, Span
from runtime.ir.graph import Const, Graph, Node, Value
from runtime.ir.literal import LiteralReader, LiteralWriter
from runtime.ir.scan import Scanner
from runtime.ir.text import node_text, parse_graph, print_graph
from runtime.ir.walk import same_constant, same_graph
from runtime.types import (
    OBJECT,
    UNBOUND,
    WEAK_BOOL,
    WEAK_COMPLEX,
    WEAK_FLOAT,
    WEAK_INT,
    ArrayType,
    MaybeUnbound,
    ObjectType,
    StaticType,
    TupleType,
    Type,
)
from tests.ir.samples import COLLATZ, collatz

Point = collections.namedtuple("Point", "x y")
F8 = np.dtype("f8")


class Color(enum.Enum):
    RED = 1


class Holder:
    class Inner:
        pass


# value, text
LITERALS: list[tuple[Any, str]] = [
    (None, "None"),
    (True, "True"),
    (..., "..."),
    (NotImplemented, "NotImplemented"),
    (-5, "-5"),
    (10**40, hex(10**40)),
    (-(10**6000), hex(-(10**6000))),
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (1e300, "1e+300"),
    (1e-5, "1e-05"),
    (float("inf"), "inf"),
    (float("-inf"), "-inf"),
    (float("nan"), "nan"),
    (1j, "complex(0.0, 1.0)"),
    (complex(-0.0, float("nan")), "complex(-0.0, nan)"),
    ('it\'s # "x"\n', repr('it\'s # "x"\n')),
    ("\udc80\u2028", repr("\udc80\u2028")),
    (b"x'\x00", repr(b"x'\x00")),
    ((), "()"),
    ((1,), "(1,)"),
    ((1, (2.0, "a")), "(1, (2.0, 'a'))"),
    (frozenset(), "frozenset(())"),
    (frozenset("ba"), "frozenset(('a', 'b'))"),
    (slice(1, None, -2), "slice(1, None, -2)"),
    (range(1, 9, 2), "range(1, 9, 2)"),
    (np.float64(0.1), "np.float64(0.1)"),
    (np.float32(0.1), "np.float32(0.1)"),
    (np.float16(0.1), "np.float16(0.1)"),
    (np.float32("nan"), "np.float32(nan)"),
    (np.float64(-0.0), "np.float64(-0.0)"),
    (np.longdouble("0.1"), "np.longdouble('0.1')"),
    (np.complex64(0.1 - 2j), "np.complex64(complex(0.1, -2.0))"),
    (np.bool_(True), "np.bool_(True)"),
    (np.int8(-3), "np.int8(-3)"),
    (np.uint64(2**64 - 1), "np.uint64(18446744073709551615)"),
    (np.datetime64("2020-01-01"), "np.datetime64('2020-01-01', '1D')"),
    (np.timedelta64(3, "25s"), "np.timedelta64(3, '25s')"),
    (np.str_("x"), "np.str_('x')"),
    (np.bytes_(b"x"), "np.bytes_(b'x')"),
    (np.dtype("f4"), "dtype('<f4')"),
    (np.dtype(">i2"), "dtype('>i2')"),
    (np.dtype("U3"), "dtype('<U3')"),
    (np.dtype([("a", "i4"), ("b", "f8")]), "dtype((('a', '<i4'), ('b', '<f8')))"),
    (len, "@builtins:len"),
    (int, "@builtins:int"),
    (list.append, "@builtins:list.append"),
    (np, "@numpy:"),
    (np.linalg, "@numpy.linalg:"),
    (np.add, "@numpy:add"),
    (np.sum, "@numpy:sum"),
    (np.linalg.solve, "@numpy.linalg:solve"),
    (np.float64, "@numpy:float64"),
    (math.sin, "@math:sin"),
    (operator.add, "@_operator:add"),
    (unbound("x"), "unbound('x')"),
    (Color.RED, f"@{__name__}:Color.RED"),
    (Holder.Inner, f"@{__name__}:Holder.Inner"),
    (ArrayType(F8, (3, None)), "type(float64[3, ?])"),
]

OPAQUE: list[Any] = [
    [1, 2],
    {},
    object(),
    lambda x: x,
    dict.fromkeys,
    np.arange(3),
    np.datetime64("NaT", "D"),
    np.dtype({"names": ["a"], "formats": ["i4"], "offsets": [4], "itemsize": 12}),
    np.dtype("f8", metadata={"a": 1}),
    Point(1, 2),
    type("Odd", (), {}),
    (1).__add__,
]

TYPES: list[tuple[Type, str]] = [
    (ArrayType(F8, (3, None)), "float64[3, ?]"),
    (ArrayType(F8, ()), "float64[]"),
    (ArrayType(F8, (), scalar=True), "float64"),
    (ArrayType(np.dtype(bool), (), scalar=True), "bool_"),
    (ArrayType(np.dtype(bool), (2,)), "bool[2]"),
    (ArrayType(F8), "float64[...]"),
    (ArrayType(F8, None, True), "scalar float64[...]"),
    (ArrayType(np.dtype("f4"), (2,), device="cuda"), "float32[2]@cuda"),
    (ArrayType(np.dtype(">f4"), (2,)), "dtype('>f4')[2]"),
    (ArrayType(np.dtype("U3"), (4,)), "str[4]"),
    (ArrayType(np.dtype("S"), (2, None)), "bytes[2, ?]"),
    (ArrayType(np.dtype("U"), (), True), "str"),
    (ArrayType(np.dtype(">U3"), (4,)), "dtype('>U0')[4]"),
    (ArrayType(np.dtype([("a", "i4")]), (2,)), "dtype((('a', '<i4'),))[2]"),
    (WEAK_BOOL, "bool"),
    (WEAK_INT, "int"),
    (WEAK_FLOAT, "float"),
    (WEAK_COMPLEX, "complex"),
    (TupleType(()), "()"),
    (TupleType((WEAK_INT,)), "(int,)"),
    (TupleType((WEAK_INT, OBJECT), Point), f"@{__name__}:Point(int, object)"),
    (OBJECT, "object"),
    (ObjectType(list), "object<list>"),
    (ObjectType(list, WEAK_INT), "object<list> of int"),
    (ObjectType(np.random.Generator), "object<@numpy.random._generator:Generator>"),
    (
        ObjectType(list, ObjectType(list, MaybeUnbound(WEAK_INT))),
        "object<list> of object<list> of unbound|int",
    ),
    (MaybeUnbound(ObjectType(list, WEAK_INT)), "unbound|object<list> of int"),
    (UNBOUND, "unbound"),
    (StaticType((1, np.add)), "=(1, @numpy:add)"),
]


@pytest.mark.parametrize(("value", "text"), LITERALS, ids=[text[:30] for _, text in LITERALS])
def test_constants_have_a_text_that_reads_back(value: Any, text: str) -> None:
    writer = LiteralWriter()
    assert writer.literal(value) == text
    assert writer.objects == []
    scan = Scanner(text, 1)
    back = LiteralReader(()).literal(scan)
    assert scan.kind == "end"
    assert type(back) is type(value) and same_constant(back, value)


@pytest.mark.parametrize("value", OPAQUE, ids=lambda value: type(value).__name__)
def test_what_has_no_text_goes_through_the_table_of_objects(value: Any) -> None:
    writer = LiteralWriter()
    assert writer.literal((value, value)) == "(@obj0, @obj0)"
    assert LiteralReader(writer.objects).literal(Scanner("@obj0", 1)) is value


@pytest.mark.parametrize(("t", "text"), TYPES, ids=[text for _, text in TYPES])
def test_types_have_a_text_that_reads_back(t: Type, text: str) -> None:
    writer = LiteralWriter()
    assert writer.type_text(t) == text
    scan = Scanner(text, 1)
    assert LiteralReader(writer.objects).trace_type(scan) == t
    assert scan.kind == "end"


def test_a_graph_prints_as_a_small_functional_program() -> None:
    assert print_graph(collatz()) == COLLATZ


def test_keywords_attributes_constants_and_names() -> None:
    x = Value(ArrayType(F8, (3,)), "x")
    total = Value(ArrayType(F8, (), scalar=True))
    table = [1]
    nodes = (
        Node("np.sum", (x, Const(None), Const(True)), (total,), ("axis", "keepdims"), (("note", ("a", 1)),)),
        Node("py.call", (Const(table, "TABLE"), Const(3.5, "a.b"), x)),
    )
    objects: list[Any] = []
    graph = Graph("f.<locals>.g", (x,), nodes, (total, Const(-0.0)))
    assert print_graph(graph, objects) == (
        "# @obj0: builtins.list\n"
        "graph 'f.<locals>.g'(x: float64[3]):\n"
        "    t1: float64 = np.sum{note=('a', 1)}(x, axis=None, keepdims=True)\n"
        "    py.call(@obj0 as TABLE, 3.5 as 'a.b', x)\n"
        "    return t1, -0.0\n"
    )
    assert objects == [table]
    back = parse_graph(print_graph(graph), objects)
    assert same_graph(back, graph)
    assert back.nodes[1].inputs[0].value is table and back.nodes[1].inputs[1].name == "a.b"


def test_spans_keep_file_column_function_and_callers() -> None:
    outer = Span("/other/a.py", 3, 0, "main")
    spans = [
        Span("/home/me/a.py", 12, 4, "f"),
        Span("/home/me/a.py", 12, 0, "", outer),
        Span("<cell 1>", 1, 2, "f.<locals>.<lambda>", Span("/home/me/b.py", 7, 1, "f", outer)),
        Span('/it\'s/odd "name".py', 1, 0, "two words"),
        None,
    ]
    nodes = tuple(Node("py.call", (Const(print),), span=span) for span in spans)
    graph = Graph("f", (), nodes, ())
    text = print_graph(graph)
    assert "# file b.py = '/home/me/b.py'" in text
    back = parse_graph(text)
    assert [node.span for node in back.nodes] == spans
    assert [node.span for node in parse_graph(print_graph(graph, spans=False)).nodes] == [None] * 5


def test_names_of_values_never_clash_with_the_words_of_the_language() -> None:
    names = [
        "inf",
        "nan",
        "None",
        "return",
        "x",
        "x",
        "x_1",
        "",
        "t1",
        "two words",
        "lambda",
        "np",
        "1st",
        "...",
    ]
    params = tuple(Value(WEAK_INT, name) for name in names)
    graph = Graph("f", params, (), params)
    text = print_graph(graph)
    back = parse_graph(text)
    assert same_graph(back, graph)
    assert print_graph(back) == text


def test_diverging_regions_and_empty_graphs() -> None:
    text = (
        "graph f(x: bool):\n"
        "    cond(x)\n"
        "        true():\n"
        "            raise(@builtins:ValueError)\n"
        "            diverges\n"
        "        false():\n"
        "            return\n"
        "    return\n"
    )
    graph = parse_graph(text)
    assert graph.nodes[0].regions[0].diverges and not graph.diverges
    assert print_graph(graph) == text


def test_one_node_prints_alone() -> None:
    assert node_text(collatz().nodes[0]) == "n_1: int64, steps: int = while{carries=2}(n, 0)"


# text, line, column, part of the message
MISTAKES = [
    ("", 1, 1, "expected the head of a graph, the text ends"),
    ("graf f():\n    return", 1, 1, "expected 'graph', found 'graf'"),
    ("graph f(x):\n    return", 1, 10, "expected ':', found ')'"),
    ("graph f(x: int32[3, -1]):\n    return", 1, 21, "expected a size, found '-1'"),
    ("graph f(x: nothing):\n    return", 1, 12, "expected a type, found 'nothing'"),
    ("graph f(x: int, x: int):\n    return", 1, 17, "x is defined twice"),
    ("graph f():\n    return y", 2, 12, "y is used before it is defined"),
    ("graph f():\n    t: int = add(t, 1)\n    return", 2, 18, "t is used before it is defined"),
    ("graph f():\n    t: int = add(1 1)\n    return", 2, 20, "expected ')', found '1'"),
    ("graph f():\n    add(a=1, 1)\n    return", 2, 14, "a positional operand can't follow"),
    ("graph f():\n    add(1, 1)\n", 3, 1, "expected a node, 'return' or 'diverges', the text ends"),
    ("graph f():\n   add(1, 1)\n    return", 2, 4, "expected 4 spaces before this line, found 3"),
    ("graph f():\n    return\n    return", 3, 5, "the graph has ended before this line"),
    ("graph f():\n    return 1 2", 2, 14, "expected the end of the line, found '2'"),
    ("graph f():\n    return $", 2, 12, "this character has no place here"),
    ("graph f():\n    return @obj0", 2, 12, "the table of objects has 0 entries"),
    ("graph f():\n    return @no.such.module:x", 2, 12, "is not found"),
    ("graph f():\n    return @math:nothing", 2, 12, "is not found"),
    ("graph f():\n    return np.int8(1000)", 2, 25, "can't be made"),
    ("graph f(x: object<@math:sin>):\n    return", 1, 19, "is no class"),
    ("graph f():\n    return 'open", 2, 12, "this character has no place here"),
]


@pytest.mark.parametrize(("text", "line", "column", "part"), MISTAKES, ids=[m[3][:30] for m in MISTAKES])
def test_mistakes_are_told_with_line_column_and_text(text: str, line: int, column: int, part: str) -> None:
    with pytest.raises(GraphError) as caught:
        parse_graph(text)
    message = str(caught.value)
    assert message.startswith(f"line {line}, column {column}: ")
    assert part in message
    assert text.split("\n")[line - 1] in message
