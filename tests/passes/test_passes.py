"""What each pass does, and what it leaves alone: graphs as text, before and after."""

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime import mistakes
from runtime.config import settings
from runtime.execute.reference import interpret
from runtime.function import concrete as functions
from runtime.ir.graph import Graph
from runtime.ir.text import parse_graph, print_graph
from runtime.ir.verify import verify
from runtime.ir.walk import same_graph
from runtime.ops.table import OPS
from runtime.passes import pipeline

CALL = "py.call(@obj0, x)"
LEFT = ""  # nothing changes
# pass: parameters, body before, body after
CASES: tuple[tuple[str, str, str, str], ...] = (
    # dead code
    ("drop_dead", "n: int", "a: int = add(n, 1)\nreturn n", "return n"),
    ("drop_dead", "n: float", "a: float = truediv(1.0, n)\nreturn n", LEFT),  # may raise
    ("drop_dead", "n: int, m: float", "a: float = add(n, m)\nreturn n", LEFT),  # the int may be too large
    ("drop_dead", "x: float64[4]", "a: float64[4] = mul(x, 2.0)\nreturn x", LEFT),  # may warn
    ("drop_dead", "x: float64[4]", "a: float64[3] = getitem(x, slice(1, None, None))\nreturn x", "return x"),
    ("drop_dead", "x: float64[...]", "a: object = getitem(x, (0, 0))\nreturn x", LEFT),
    ("drop_dead", "x: int64[4]", "a: int64[4] = np.invert(x)\nreturn x", "return x"),
    ("drop_dead", "x: float64[4]", "a: object = np.invert(x)\nreturn x", LEFT),  # there is no such ufunc loop
    ("drop_dead", "x: float64[4]", f"a: object = {CALL}\nreturn x", LEFT),
    ("drop_dead", "x: float64[4]", "a: float64[4] = iadd(x, 1.0)\nreturn 1", LEFT),
    # constants
    ("fold_all", "n: int", "a: int = add(2, 3)\nb: int = add(a, n)\nreturn b",
     "b: int = add(5, n)\nreturn b"),
    ("fold_all", "n: int", "a: float = truediv(1, 0)\nreturn a", LEFT),
    ("fold_all", "n: int", "a: str = mod('%s', 1)\nreturn a".replace("str", "object"), LEFT),
    # simplification
    ("simplify_all", "n: int", "a: int = mul(n, 1)\nreturn a", "return n"),
    ("simplify_all", "n: float", "a: float = add(n, 0.0)\nreturn a", LEFT),  # -0.0 + 0.0 is 0.0
    ("simplify_all", "n: float", "a: float = sub(n, 0.0)\nreturn a", "return n"),
    ("simplify_all", "n: int", "a: float = truediv(n, 1)\nreturn a", LEFT),
    (
        "simplify_all",
        "n: float, m: float32",
        "a: (float, float32) = py.tuple(n, m)\nb: float64[2] = np.stack(a)\nreturn b",
        "a: (float, float32) = py.tuple(n, m)\nb: float64[2] = np.array(a)\nreturn b",
    ),
    (
        "simplify_all",  # the int may be too large for any dtype: then one is [n, float(m)], the other [n, m]
        "n: int, m: float32",
        "a: (int, float32) = py.tuple(n, m)\nb: float64[2] = np.stack(a)\nreturn b",
        LEFT,
    ),
    (
        "simplify_all",  # a row and a number are refused
        "n: float64, m: float64[1]",
        "a: (float64, float64[1]) = py.tuple(n, m)\nb: object = np.stack(a)\nreturn b",
        LEFT,
    ),
    ("simplify_all", "x: float64[4]", "a: float64[4] = mul(x, 1.0)\nreturn a", LEFT),  # another object
    (
        "simplify_all",
        "x: float64[4]",
        "a: float64[4] = mul(x, 1.0)\nb: float64 = np.sum(a)\nreturn b",
        "b: float64 = np.sum(x)\nreturn b",
    ),
    (
        "simplify_all",
        "x: float64[4]",
        "a: float64[4] = mul(x, 1.0)\nsetitem(x, 0, 1.0)\nb: float64 = np.sum(a)\nreturn b",
        LEFT,
    ),
    # common subexpressions
    ("share_all", "n: int", "a: int = add(n, 1)\nb: int = add(n, 1)\nc: int = mul(a, b)\nreturn c",
     "a: int = add(n, 1)\nc: int = mul(a, a)\nreturn c"),
    ("share_all", "x: float64[4]", "a: float64 = getitem(x, 0)\nb: float64 = getitem(x, 0)\nreturn a, b",
     "a: float64 = getitem(x, 0)\nreturn a, a"),
    ("share_all", "x: float64[4]",
     "a: float64 = getitem(x, 0)\nsetitem(x, 0, 1.0)\nb: float64 = getitem(x, 0)\nreturn a, b", LEFT),
    ("share_all", "x: float64[4]",
     f"a: float64 = getitem(x, 0)\nc: object = {CALL}\nb: float64 = getitem(x, 0)\nreturn a, b", LEFT),
    ("share_all", "x: int64[4]", "a: int64[4] = add(x, x)\nb: int64[4] = add(x, x)\nreturn a, b", LEFT),
    ("share_all", "x: int64[4]",
     "a: int64[4] = add(x, x)\nb: int64[4] = add(x, x)\nc: int64[4] = mul(a, b)\nreturn c",
     "a: int64[4] = add(x, x)\nc: int64[4] = mul(a, a)\nreturn c"),
    ("share_all", "x: int64[4]",
     "a: int64[4] = add(x, x)\nb: int64[4] = add(x, x)\nsetitem(a, 0, 1)\nc: int64[4] = mul(a, b)\nreturn c",
     LEFT),
    ("share_all", "x: float64[4]",  # a warning of one line, once more on another
     "a: float64[4] = np.log(x)\nb: float64[4] = np.log(x)\nc: float64[4] = add(a, b)\nreturn c", LEFT),
)  # fmt: skip
LOOP = """i: int = while{carries=1}(0, x, n)
    test loop_test(i: int, x: float64[4], n: int):
        t: bool = lt(i, n)
        return t
    body loop_body(i: int, x: float64[4], n: int):
        BODY
        j: int = add(i, 1)
        return j
return i"""
# The body of a loop that runs n times over x; whether its first node moves out.
INVARIANT: tuple[tuple[str, bool], ...] = (
    ("a: int = add(n, 1)\nb: object = py.call(@obj0, a)", True),
    ("a: int = add(i, 1)\nb: object = py.call(@obj0, a)", False),
    ("a: float = truediv(1.0, n)\nb: object = py.call(@obj0, a)", False),  # must not raise without trips
    ("a: float64 = getitem(x, 0)\nsetitem(x, 1, a)", False),
    ("a: float64 = getitem(x, 0)\nb: float64 = mul(a, 2.0)", True),
    ("a: float64[3] = getitem(x, slice(1, None, None))\nb: float64[3] = iadd(a, 1.0)", True),
    (
        "a: float64[3] = getitem(x, slice(1, None, None))\nb: object = py.call(@obj0, a)",
        False,
    ),  # its identity
    ("a: float64[4] = mul(x, 2.0)\nb: float64 = np.sum(a)", False),  # may warn
    ("a: bool[4] = lt(x, 2.0)\nb: bool_ = np.any(a)", True),
    ("a: bool[4] = lt(x, 2.0)\nsetitem(a, 0, True)", False),
)


def graph_of(parameters: str, body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"graph f({parameters}):\n{lines}\n"


@pytest.mark.parametrize(("name", "parameters", "before", "after"), CASES)
def test_a_pass_does_this(name: str, parameters: str, before: str, after: str) -> None:
    graph = parse_graph(graph_of(parameters, before), [repr])
    new = getattr(pipeline, name)(graph, OPS)
    verify(new, OPS)
    wanted = parse_graph(graph_of(parameters, after or before), [repr])
    assert same_graph(new, wanted), print_graph(new, [])
    assert (new is graph) == (after == LEFT)


@pytest.mark.parametrize(("body", "moves"), INVARIANT)
def test_what_is_the_same_in_every_trip_moves_out(body: str, moves: bool) -> None:
    text = LOOP.replace("BODY", body.replace("\n", "\n        "))
    graph = parse_graph(graph_of("x: float64[4], n: int", text), [repr])
    new = pipeline.hoist_all(graph, OPS)
    verify(new, OPS)
    assert (new.nodes[0].op != "while") == moves, print_graph(new)


def test_dead_loop_variables_go_with_what_computes_them() -> None:
    text = """graph f(n: int):
    i: int, s: int, u: int = while{carries=3}(0, 0, 7, n)
        test loop_test(i: int, s: int, u: int, n: int):
            t: bool = lt(i, n)
            return t
        body loop_body(i: int, s: int, u: int, n: int):
            j: int = add(i, 1)
            k: int = add(s, i)
            v: int = mul(u, k)
            return j, k, v
    return s
"""
    graph = parse_graph(text)
    new = pipeline.drop_dead(graph, OPS)
    verify(new, OPS)
    assert new.nodes[0].attr("carries") == 2
    assert interpret(new, (5,)) == interpret(graph, (5,)) == (10,)


def test_steps_say_what_each_pass_did() -> None:
    graph = parse_graph(
        graph_of("n: int", "a: int = add(2, 3)\nb: int = add(a, n)\nc: int = add(a, n)\nreturn b")
    )
    done = pipeline.optimise(graph)
    assert pipeline.count(done.graph) == 1
    assert str(done).splitlines() == ["fold: 3 nodes, then 2", "share: 2 nodes, then 1"]


def test_a_pass_that_fails_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(graph: object, table: object) -> None:
        raise KeyError("what")

    monkeypatch.setattr(pipeline, "PIPELINE", (("fails", fails, ""),))
    converted = ag.function(lambda n: n + 1)
    assert converted(np.float64(2.0)) == 3.0
    concrete = converted.traces[-1].concrete
    assert concrete is not None and concrete.passes.problem == "given up: KeyError: 'what'"
    assert "pass given up" in str(ag.explain(converted))
    assert 'KeyError("what")' in mistakes.KEPT.pop()


def test_a_plan_that_fails_is_that_of_the_graph_as_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(graph: Graph) -> Graph:
        raise KeyError("what")

    monkeypatch.setattr(functions.at_once, "with_sets", fails)
    converted = ag.function(lambda x: sum([t for t in x]))
    with settings.override(executor="numpy"):
        assert converted(np.arange(3.0)) == 3.0
        assert "as it was traced: KeyError: 'what'" in str(ag.explain(converted))
    assert 'KeyError("what")' in mistakes.KEPT.pop()


def logs_in_trips(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    total = x
    for _ in range(4):  # unrolled, as it is short
        total = total * (np.log(x) / (1.0 + np.log(x)))
    return total


@pytest.mark.parametrize("executor", ["numpy", "auto"])
def test_each_trip_warns(executor: str) -> None:
    with settings.override(executor=executor), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        converted = ag.function(logs_in_trips)
        converted(np.array([-1.0, 2.0]))
    # Plain Python: two in each trip, both of one line; without columns they can't be told from two trips.
    assert len(caught) == (4 if sys.version_info >= (3, 11) else 8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        logs_in_trips(np.array([-1.0, 2.0]))
    assert len(caught) == 8


def counts_equal(x: Any, y: float, n: int) -> int:
    found = 0
    for _ in range(n):
        if x == y:
            found += 1
    return found


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_each_trip_warns_of_a_number_too_large_for_small_floats(executor: str) -> None:
    with settings.override(executor=executor), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        converted = ag.function(counts_equal)
        assert converted(np.float32(2.0), 2.0, 3) == 3
        assert not caught
        assert converted(np.float32(2.0), 1e300, 3) == 0
    assert [str(w.message) for w in caught] == ["overflow encountered in cast"] * 3


SHARED = np.arange(4.0)


@ag.do_not_convert
def exchange() -> None:
    global SHARED
    SHARED = SHARED + 1.0


def reads(n: int) -> Any:
    total = 0.0
    for i in range(n):
        total += SHARED[i % 4] * i
    return total


def reads_in_tests_and_branches(n: int) -> Any:
    k, total = 0, 0.0
    while k < n and SHARED[k % 4] < 50.0:
        total += SHARED[1] if k % 2 else 1.0
        for i in range(n % 5):
            if i == 3 and SHARED[i] > 1:
                total -= SHARED[i - k % 2]
        k += 1
    return total


def reads_and_writes(n: int) -> Any:
    out = np.zeros(40)
    for i in range(n):
        out[i] = SHARED[i % 4] + int(out[i - 1])
        SHARED[i % 3] = i
    return out


def rebinds(n: int) -> Any:
    global SHARED
    total = 0.0
    for i in range(n):
        total += SHARED[i % 4]
        SHARED = SHARED * 0.5
    return total


def has_it_rebound(n: int) -> Any:
    total = 0.0
    for i in range(n):
        total += SHARED[i % 4]
        if i % 3 == 2:
            exchange()
    return total


@pytest.mark.parametrize("f", [reads, reads_in_tests_and_branches, reads_and_writes, rebinds, has_it_rebound])
@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_arrays_that_loops_read_from_names(f: Any, executor: str) -> None:
    global SHARED
    with settings.override(executor=executor, compile="now"):
        converted = ag.function(f)
        for n in (30, 31, 0, 32):
            seen = []
            for function in (f, converted):
                SHARED = np.arange(4.0) + n
                seen.append((np.asarray(function(n)).tolist(), SHARED.tolist()))
            assert seen[0] == seen[1]


def test_what_a_loop_reads_from_names_is_read_before_it() -> None:
    global SHARED
    inside = np.arange(3.0)

    def of_cells(n: int) -> Any:
        total = 0.0
        for i in range(n):
            total += inside[i % 3] + math.sqrt(int(SHARED[i % 4]))
        return total

    for f in (reads, reads_and_writes, of_cells):
        text = str(ag.function(f).get_concrete_function(30).optimised)
        loop = text.index("for{")
        assert "'SHARED'" in text[:loop] and "'SHARED'" not in text[loop:]
        assert ("'cell_contents'" in text[:loop]) == (f is of_cells)
    for f in (rebinds, has_it_rebound):
        text = str(ag.function(f).get_concrete_function(30).optimised)
        assert "'SHARED'" in text[text.index("for{") :]
    text = str(ag.function(reads_in_tests_and_branches).get_concrete_function(30).optimised)
    assert "'SHARED'" in text[: text.index("while{")] and text.count("'SHARED'") == 1
    converted = ag.function(reads)
    assert converted(30) == reads(30)
    kept = SHARED
    del SHARED
    try:
        assert converted(0) == 0.0
        with pytest.raises(NameError):
            converted(1)
    finally:
        SHARED = kept


def handed_on_by_diff(x):  # type: ignore[no-untyped-def]
    before = x.sum()
    y = np.diff(x, 0)
    y[0] = 100
    return before, x.sum(), y


def handed_on_by_round(x):  # type: ignore[no-untyped-def]
    before = x.sum()
    y, z = np.around(x, decimals=1), np.round(x)
    y[0] = 100
    z[1] = 50
    return before, x.sum(), y, z


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("f", [handed_on_by_diff, handed_on_by_round])
def test_what_may_be_the_array_itself_is_not_taken_for_a_new_one(f: Any, executor: str) -> None:
    # np.diff of order 0 hands the array back, and so do some versions of np.round where it is whole numbers
    for dtype in ("i8", "f8", "c16"):
        with settings.override(executor=executor):
            found, wanted = ag.function(f)(np.arange(5).astype(dtype)), f(np.arange(5).astype(dtype))
        assert all(map(np.array_equal, found, wanted)), dtype


def not_gone_through(n: Any) -> Any:
    try:
        enumerate(n)
        return "none"
    except TypeError as error:
        return str(error)


def not_reversed(n: Any) -> Any:
    try:
        reversed(enumerate((n, n)))
        return "none"
    except TypeError as error:
        return str(error)


def not_cut(n: Any) -> Any:
    held = [n, 2]
    try:
        held[:: n - n]
        held["a":]
    except (TypeError, ValueError) as error:
        return str(error)


@pytest.mark.parametrize("f", [not_gone_through, not_reversed, not_cut])
def test_what_nobody_reads_is_still_refused(f: Any) -> None:
    with settings.override(executor="numpy"):
        assert ag.function(f)(3) == f(3) != "none"


def cut_twice(held: Any, n: Any) -> Any:
    a, b = held[1:], held[1:]
    c, d = held[:n], held[:n]
    a.append(5)
    c[0] = 7
    return a, b, c, d, a is b


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_two_slices_of_a_list_are_two_lists(executor: str) -> None:
    with settings.override(executor=executor):
        assert ag.function(cut_twice)([1, 2, 3], 2) == cut_twice([1, 2, 3], 2)
