"""The reference interpreter, on graphs small enough to see the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime.errors import GraphError
from runtime.execute.reference import interpret
from runtime.ir.opdef import OpDef
from runtime.ir.text import parse_graph
from tests.ir.samples import collatz


def run(text: str, *args: Any, objects: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    return interpret(parse_graph(text, objects), args)


def test_collatz() -> None:
    assert interpret(collatz(), [np.int64(27)]) == (111,)


def test_writes_happen_to_the_real_array() -> None:
    x = np.zeros(3)
    (result,) = run("graph f(x: float64[3]):\n    t: float64[3] = iadd(x, 1)\n    return t", x)
    assert result is x and x.tolist() == [1, 1, 1]


LOOP = """
graph f(items: object, total: int):
    total_1: object = for{{carries=1, tested={tested}}}(items, total)
        body(item: object, total: object):
            t1: object = add(total, item)
            return t1
{test}    return total_1
"""
TEST = """        test(total: object):
            t1: object = lt(total, 5)
            return t1
"""


def test_for_iterates_once_and_asks_its_test_after_each_trip() -> None:
    def items() -> Any:
        for k in range(1, 9):
            pulled.append(k)
            yield k

    pulled: list[int] = []
    assert run(LOOP.format(tested=False, test=""), items(), 0) == (36,)
    pulled.clear()
    assert run(LOOP.format(tested=True, test=TEST), items(), 0) == (6,)
    assert pulled == [1, 2, 3]
    assert run(LOOP.format(tested=True, test=TEST), [], 0) == (0,)


def test_a_predicate_is_any_value_with_a_truth() -> None:
    arms = "true():\n            return 'yes'\n        false():\n            return 'no'\n"
    text = f"graph f(p: object):\n    t: object = cond(p)\n        {arms}    return t"
    assert run(text, []) == ("no",) and run(text, [0]) == ("yes",)
    with pytest.raises(ValueError, match="truth value of an array"):
        run(text, np.arange(2))


def test_errors_of_the_program_come_out_unchanged() -> None:
    error, cause = KeyError("k"), OSError()
    with pytest.raises(KeyError) as caught:
        run("graph f(e: object, c: object):\n    raise(e, c)\n    diverges", error, cause)
    assert caught.value is error and error.__cause__ is cause


def test_a_wrong_claim_of_a_type_is_an_error_that_shows_the_node() -> None:
    text = "graph f(x: int):\n    t: float = add(x, 1)    # a.py:3\n    return t"
    with pytest.raises(GraphError) as caught:
        run(text, 1)
    assert "an output of add is typed float, its value is int" in str(caught.value)
    assert "t: float = add(x, 1)" in str(caught.value) and "a.py:3 in f" in str(caught.value)
    assert interpret(parse_graph(text), [1], check_types=False) == (2,)
    with pytest.raises(GraphError, match="the parameter 'x' of 'f' is typed int, its value is float"):
        run(text, 1.0)
    with pytest.raises(GraphError, match="takes 1 values, it gets 2"):
        run(text, 1, 2)


def test_a_diverging_graph_must_not_reach_its_end() -> None:
    graph = parse_graph("graph f():\n    t: int = odd()\n    diverges")
    table = {"odd": OpDef(name="odd", doc="One.", rule=None, run=lambda: 1)}
    with pytest.raises(GraphError, match="yet its end was reached"):
        interpret(graph, [], table=table)
