"""Names: identifiers, unique, the user's where possible, the same in every run."""

from __future__ import annotations

import keyword

import pytest

from runtime.ir.graph import Graph, Value
from runtime.ir.names import NameGiver, give_names, identifier
from runtime.ir.walk import all_values, walk_graphs
from runtime.types import WEAK_INT
from tests.ir.samples import collatz
from tests.property.graphs import random_graph


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        ("steps", "steps"),
        ("", ""),
        ("lambda", "lambda_"),
        ("a.b", "a_b"),
        ("1st", "v1st"),
        ("...", ""),
        (".0", "_0"),
        ("_", "_"),
        ("__", "__"),
        ("größe", "größe"),
        ("ﬁ", "fi"),
        ("two words", "two_words"),
    ],
)
def test_hints_become_identifiers(hint: str, name: str) -> None:
    assert identifier(hint) == name


def test_a_hint_is_kept_and_made_up_names_stay_clear_of_it() -> None:
    giver = NameGiver(reserved=("ag",), wanted=("x", "x_1", "t1"))
    given = [giver.give(hint) for hint in ("x", "x", "x_1", "", "t1", "ag", "x")]
    assert given == ["x", "x_2", "x_1", "t2", "t1", "ag_1", "x_3"]


def test_regions_are_scopes_of_their_own_unless_asked_otherwise() -> None:
    graph = collatz()
    scoped = give_names(graph)
    for scope in walk_graphs(graph):
        mine = [scoped[value] for value in (*scope.params, *(v for n in scope.nodes for v in n.outputs))]
        assert len(mine) == len(set(mine))
    assert scoped[graph.params[0]] == scoped[graph.nodes[0].regions[0].params[0]] == "n"
    whole = give_names(graph, scoped=False)
    assert len(set(whole.values())) == len(whole) == len(list(all_values(graph)))


def test_names_are_identifiers_and_the_same_each_time() -> None:
    for seed in range(30):
        first, second = (list(give_names(random_graph(seed)[0], scoped=False).values()) for _ in range(2))
        assert first == second
        assert all(name.isidentifier() and not keyword.iskeyword(name) for name in first)


def test_reserved_names_are_not_given() -> None:
    params = (Value(WEAK_INT, "np"), Value(WEAK_INT))
    assert list(give_names(Graph("f", params, (), ()), reserved=("np", "t1")).values()) == ["np_1", "t2"]
