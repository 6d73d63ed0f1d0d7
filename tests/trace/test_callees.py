"""Functions that are called again with arguments of the same kinds: one graph, called by nodes."""

from __future__ import annotations

import linecache
import traceback
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.execute.reference import interpret
from runtime.ir.calls import CALL, called_graphs, expanded, size
from runtime.ir.text import parse_graph, print_graph
from runtime.ir.verify import verify
from runtime.ir.walk import same_graph, walk_nodes
from runtime.ops.table import OPS
from runtime.passes import pipeline
from runtime.trace import callees

SCALE = np.array([0.5, 2.0, 1.0])


@pytest.fixture(autouse=True)
def small(monkeypatch: Any) -> None:
    """Functions of a few nodes are large enough."""
    monkeypatch.setattr(callees, "SMALL", 3)


@pytest.fixture
def kept(monkeypatch: Any) -> None:
    """Called graphs stay called."""
    monkeypatch.setattr(pipeline, "LARGE", 0)


def layer(x, w):
    y = np.tanh(x * w) + SCALE
    if y.sum() > 2:
        y = y - w
    return y * 0.5


def deep(x, w):
    for k in range(8):
        x = layer(x, w + k)
    return x


def split(x, y):
    total, less = x + y, x - y
    return less, (total * 2, "text"), x


def pairs(x, y):
    first = split(x, y)
    second = split(first[0], first[1][0])
    return first, second, second[2] is first[0]


def bump(a):
    a[0] += 1
    a *= 2
    return a


def bumped(a):
    b = a.copy()
    for _ in range(5):
        c = bump(b)
    c[1] = 7
    return b, c is b


class Counter:
    """Writes to itself when it is called."""

    def __init__(self) -> None:
        self.calls, self.rate = 0, 0.5

    def plain(self, x):
        return (x * self.rate + 1) * 2

    def counting(self, x):
        self.calls += 1
        return (x * self.rate + self.calls) * 2


def counted(counter, x):
    a = counter.counting(counter.counting(x))
    b = counter.plain(counter.plain(counter.plain(a)))
    counter.rate = 0.25
    return a, b, counter.plain(b), counter.calls


def fails(x, i):
    y = x * 2 + 1
    return y[i] - 1


def failing(x, i):
    return fails(x, 0) + fails(x, 1) + fails(x, i) + fails(x, i)


def same_value(a, b):
    """Whether the first is the second: what a trace may decide by the handles."""
    c = a * 2 + b
    return c + 1, a is b


def aliases(x, y):
    return same_value(x, y), same_value(x, x), same_value(y, x), same_value(y, y)


PROGRAMS = [
    (deep, (np.arange(3.0), np.array([0.5, -1.0, 2.0])), 7, 1),
    (pairs, (np.arange(3.0), np.ones(3)), 1, 1),
    (bumped, (np.arange(3.0),), 4, 1),
    (aliases, (np.arange(3.0), np.ones(3)), 2, 2),
]


def shown(x: Any) -> str:
    """A result as text, with the classes and dtypes of all that is in it."""
    if isinstance(x, (tuple, list)):
        return f"{type(x).__name__}({', '.join(map(shown, x))})"
    dtype = f"{x.dtype} {x.tobytes().hex()}" if isinstance(x, (np.ndarray, np.generic)) else repr(x)
    return f"{type(x).__name__} {dtype}"


def calls(graph: Any) -> int:
    """How many nodes of the graph call another one."""
    return sum(node.op == CALL for node in walk_nodes(graph))


@pytest.mark.parametrize(("program", "args", "count", "graphs"), PROGRAMS)
def test_a_call_that_was_traced_before_is_one_node(program: Any, args: Any, count: int, graphs: int) -> None:
    function = ag.function(program)
    assert shown(function(*args)) == shown(program(*args))
    concrete = function.get_concrete_function(*args)
    graph = concrete.graph
    assert calls(graph) == count and len(called_graphs(graph)) == graphs
    assert calls(concrete.optimised) == 0
    assert size(graph) == sum(1 for _ in walk_nodes(expanded(graph)))
    verify(graph, OPS)
    objects: list[Any] = []
    assert same_graph(parse_graph(print_graph(graph, objects), objects), graph)
    for each in (graph, expanded(graph)):
        assert shown(interpret(each, args)[0]) == shown(program(*args))


@pytest.mark.parametrize(("program", "args", "count", "graphs"), PROGRAMS)
def test_kept_calls_are_functions_of_the_plan(
    program: Any, args: Any, count: int, graphs: int, kept: None
) -> None:
    function = ag.function(program)
    assert calls(function.get_concrete_function(*args).optimised) == count
    assert function.plan_source.count("def ") == 1 + graphs
    for _ in range(3):
        assert shown(function(*args)) == shown(program(*args))
        function.get_concrete_function(*args).native  # it waits for it


def test_kept_calls_are_native(kept: None) -> None:
    pytest.importorskip("llvmlite")
    args = PROGRAMS[0][1]
    with ag.settings.override(executor="native", math="exact"):
        concrete = ag.function(deep).get_concrete_function(*args)
        native = concrete.native
    assert native is not None and native.calls == 0
    assert shown(concrete(*args)) == shown(deep(*args)) and native.calls >= 7


def test_what_writes_to_objects_is_traced_each_time() -> None:
    function = ag.function(counted)
    for x in (np.arange(3.0), np.ones(3)):
        assert shown(function(Counter(), x)) == shown(counted(Counter(), x))
    names = [graph.name for graph in called_graphs(function.graph)]
    assert names == ["plain"] and calls(function.graph) == 2  # not the one after the rate has changed


@pytest.mark.parametrize("large", [0, 1500])
def test_an_error_has_the_lines_of_its_own_call(large: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(pipeline, "LARGE", large)
    function = ag.function(failing)
    function(np.ones(3), np.int64(2))
    assert calls(function.graph) == 1  # of `i`; 0 and 1 are other constants
    texts = []
    for run in (function, failing):
        with pytest.raises(IndexError) as caught:
            run(np.ones(3), np.int64(3))
        lines = [(e.name, e.lineno) for e in traceback.extract_tb(caught.value.__traceback__)]
        texts.append(lines[1:])
    assert texts[0] == texts[1]


def test_derivatives_go_through_calls() -> None:
    x, w = PROGRAMS[0][1]
    plain = ag.grad(lambda w: layer(layer(layer(x, w), w), w).sum())(w)
    staged = ag.function(lambda w: ag.grad(lambda w: layer(layer(layer(x, w), w), w).sum())(w))(w)
    whole = ag.grad(ag.function(lambda w: layer(layer(layer(x, w), w), w).sum()))(w)
    np.testing.assert_allclose(staged, plain, rtol=1e-14)
    np.testing.assert_allclose(whole, plain, rtol=1e-14)


def twice(row):
    first = bump_free(row)
    return bump_free(first) + bump_free(first * 2)


def bump_free(row):
    return (row * 2 + 1) / 3


def test_vmap_goes_through_calls() -> None:
    rows = np.arange(12.0).reshape(4, 3)
    mapped = ag.vmap(twice)
    assert shown(mapped(rows)) == shown(np.stack([twice(row) for row in rows]))
    assert mapped.not_together == ""


def helped(x):
    for _ in range(200):
        x = bump_free(bump_free(bump_free(x)))
    return x


def test_calls_count_as_what_they_call_when_loops_are_unrolled() -> None:
    function = ag.function(helped)
    function(np.ones(3))
    assert any(node.op == "for" for node in function.graph.nodes)
    assert shown(function(np.ones(3))) == shown(helped(np.ones(3)))


def test_a_large_helper_is_traced_once() -> None:
    lines = ["def helper(x):", *[f"    x = np.sin(x) + {k}.0" for k in range(50)], "    return x"]
    lines += ["def whole(x):", *["    x = helper(x)"] * 50, "    return x"]
    space: dict[str, Any] = {"np": np}
    source = "\n".join(lines)
    exec(compile(source, "<calls>", "exec"), space)
    linecache.cache["<calls>"] = (len(source), None, source.splitlines(keepends=True), "<calls>")
    function = ag.function(space["whole"])
    x = np.arange(3.0)
    assert shown(function(x)) == shown(space["whole"](x))
    concrete = function.get_concrete_function(x)
    assert len(concrete.graph.nodes) < 200 < 4000 < size(concrete.graph)
    assert concrete.plan_source.count("\n") < 250
