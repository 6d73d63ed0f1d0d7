"""Why the Python function itself does the calls of a trace, in words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings


class World:
    def __init__(self, noted: Any) -> None:
        self.noted = noted


def of_a_list(values):
    total = 0.0
    for v in values:
        total += v * v
    return total


def by_number(values, n):
    total = 0.0
    for i in range(n):
        if values[i] > 0:
            total += values[i]
    return total


def of_an_attribute(world, n):
    total = 0.0
    for _, v in enumerate(world.noted):
        total -= v
    return total


def of_a_dict(data):
    total = 0
    for key in data:
        total += data[key]
    return total


def of_attributes(worlds):
    total = 0
    for world in worlds:
        total += world.noted
    return total


def raises(x):
    raise KeyError(x)


def texts(words):
    found = []
    for word in words:
        found.append(word.upper())
    return found


NUMBERS = [0.5] * 40
MAY_BE_ANY = "it computes with what the {} {!r} holds, which may be of any types (test_reasons.py:{})"
OF_LIST = MAY_BE_ANY.replace("{}", "list", 1) + "; if these are numbers, a loop over np.array({}) is native"


@pytest.mark.parametrize(
    ("f", "args", "reason"),
    [
        (of_a_list, (NUMBERS,), OF_LIST.format("values", "{}+3", "values")),
        (by_number, (NUMBERS, 40), OF_LIST.format("values", "{}+3", "values")),
        (
            of_an_attribute,
            (World(NUMBERS), 4),
            OF_LIST.format("noted", "{}+3", "noted"),
        ),
        (of_a_dict, ({"a": 1},), MAY_BE_ANY.format("dict", "data", "{}+3")),
        (of_attributes, ([World(1) for _ in range(40)],), MAY_BE_ANY.format("list", "worlds", "{}+3")),
        (raises, ("x",), "it always raises: nothing here could be faster than Python itself"),
        (texts, (["one"] * 40,), "Python objects and texts only: nothing here could be faster"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_why_python_does_it_where_there_are_no_arrays(f, args, reason):
    """All loops over lists were said to be on "objects and texts only", and nobody knew what to do."""
    function = ag.function(f)
    try:
        assert function(*args) == f(*args)
    except KeyError:
        assert f is raises
    first = f.__code__.co_firstlineno
    reason = re.sub(r"\{}\+(\d)", lambda found: str(first + int(found[1])), reason)
    told = str(ag.explain(function))
    assert f"  runs as plain Python: {reason}" in told
    assert "  its trace, which calls do not run:\n" in told


@pytest.mark.parametrize(
    ("f", "args", "reason"),
    [
        (lambda text: [ord(c) for c in text if c > "a"], ("words" * 9,), "a loop over a text"),
        (lambda text, n: sum([1 for k in range(n) if text[k] > "a"]), ("words" * 9, 45), "an item of a text"),
        (lambda n: 2 * n, (3,), "tracing has done all that there was to do"),
    ],
)
def test_reasons_in_words_of_the_source(f, args, reason):
    pytest.importorskip("llvmlite")
    with settings.override(executor="auto", compile="now"):
        function = ag.function(f)
        for _ in range(4):
            assert function(*args) == f(*args)
        assert reason in ag.explain(function).traces[0].executor


def test_a_loop_that_is_left_to_the_plan_says_why():
    """Only the first thing that is not native was told, which may stand elsewhere."""
    pytest.importorskip("llvmlite")

    def f(x, n):
        w = np.linalg.svd(np.ones((2, 2)))[1]
        total = 0.0
        for v in x:
            total += v * v
        for _ in range(n):
            total = total + np.linalg.matrix_rank(np.ones((2, 2)) * total)
        return total + w[0]

    with settings.override(executor="auto", compile="now"):
        function = ag.function(f)
        function(np.ones(50), 40)
        told = {
            s.line - f.__code__.co_firstlineno: s.reason for s in ag.explain(function).traces[0].statements
        }
    assert told[3] == "a loop in the graph"
    line = f.__code__.co_firstlineno + 6
    assert told[5].startswith("a loop in the graph; not native: ") and f"(test_reasons.py:{line})" in told[5]


def drawn(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.choice([-1, 1], size=(n, 2)), axis=0)


def generated(n: int) -> Any:
    return sum(k for k in pieces(n) if k % 2)


def pieces(n: int) -> Any:
    for k in range(n):
        yield k


def summed(values: Any) -> Any:
    return sum(v.total() for v in values)


class Counted:
    def total(self) -> int:
        return 3


def taken_apart(edges: Any) -> Any:
    total = 0.0
    for weight, a, b in sorted(edges):
        total += weight * (a - b)
    return total


@pytest.mark.parametrize(
    ("f", "args", "reason"),
    [
        (
            drawn,
            (30, 3),
            "what the method or attribute 'choice' gives is of a type that only calls show (test_r",
        ),
        (generated, (40,), "most of it is left to Python, which the lines below tell"),
        (summed, ([Counted() for _ in range(40)],), "it computes with what the list 'values' holds"),
        (taken_apart, ([(1.0, 2, 3)] * 40,), "it computes with what the list 'edges' holds"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_is_said_of_types_that_nobody_knows(f: Any, args: Any, reason: str) -> None:
    """Arrays were computed with, and "nothing is computed on numbers or arrays" was the reason; lists of
    tuples were to become arrays."""
    pytest.importorskip("llvmlite")
    with settings.override(executor="auto", compile="now"):
        function = ag.function(f)
        for _ in range(30):
            assert np.array_equal(function(*args), f(*args))
        told = ag.explain(function).traces[0].executor
    assert reason in told and "np.array(" not in told


factor = 1.0


def by_a_global(x: Any) -> Any:
    return x * factor


def test_a_global_that_changes_is_named() -> None:
    global factor
    pytest.importorskip("llvmlite")
    with settings.override(executor="auto", compile="now"):
        function = ag.function(by_a_global)
        for factor in (1.0, 2.0, 3.0, 4.0):
            assert np.array_equal(function(np.ones(3)), np.full(3, factor))
        told = ag.explain(function).traces[-1].executor
    assert "but for what can't: the global 'factor', which is read on each call (test_reasons.py:" in told


def squares(x: Any) -> Any:
    made = []
    for v in x:
        made.append(v * v)
    return sum(made)


def looked_up(x: Any) -> Any:
    return float(np.interp(x.sum(), [0.0, 1.0], [1.0, 2.0])) * x.sum()


def test_steps_of_derivatives_are_told_in_words_of_the_source() -> None:
    pytest.importorskip("llvmlite")
    with settings.override(executor="auto", compile="now"):
        slope = ag.grad(squares)
        assert np.array_equal(slope(np.ones(40)), np.full(40, 2.0))
        assert "cotangents" not in slope.explain()
        slope = ag.grad(looked_up)
        slope(np.ones(3))
        assert "runs on the tape: what np.interp gives is a value of unknown type (test_re" in slope.explain()
