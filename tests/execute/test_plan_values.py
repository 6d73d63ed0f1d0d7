"""Plans compute what the reference interpreter does: on random graphs and on loops that shuffle carries."""

from __future__ import annotations

import random

import numpy as np
import pytest

from runtime.execute.loader import load
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Const, Graph, Value
from runtime.ir.text import parse_graph
from tests.execute.build import OBJECT, WEAK_INT, Region, named, same
from tests.property.graphs import random_graph, record

BLOCK = 50


@pytest.mark.parametrize("start", range(0, 400, BLOCK))
def test_random_graphs(start: int) -> None:
    for seed in range(start, start + BLOCK):
        graph, args = random_graph(seed, 20)
        same(graph, *args)


@pytest.mark.parametrize(
    "value", [(), ((),), ((), 1), (1,), (1, 2), "", None, frozenset(), slice(None)], ids=repr
)
def test_constants_as_results(value: object) -> None:
    x = Value(WEAK_INT, "x")
    same(Graph("f", (x,), (), (Const(value),)), 1)
    same(Graph("f", (x,), (), (Const(value), Const(value))), 1)


class Keys:
    """Gives the key that it is asked for."""

    def __getitem__(self, key: object) -> object:
        return key


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("ends", [(), (slice(1, None),), ((1, (2, 3)),), (slice(0, 1), ((4,),))], ids=repr)
def test_a_tuple_in_a_key_stays_one(inner: bool, ends: tuple[object, ...]) -> None:
    """`d[a, (b, c)]` was printed as `d[a, b, c]`."""
    r = Region(d=OBJECT, i=WEAK_INT)
    of_two = r.add("py.tuple", r.params[1], r.add("add", r.params[1], 1))
    key = r.add("py.tuple", *([of_two] if inner else []), r.params[1], *ends)
    keys = Keys()
    found = load(plan_source(r.graph(r.add("getitem", r.params[0], key))))(keys, 5)
    assert found == (*([(5, 6)] if inner else []), 5, *ends)


def shuffle(seed: int) -> Graph:
    """A loop whose body permutes, copies and combines its carries, with effects in between."""
    rnd = random.Random(seed)
    names = [rnd.choice(("a", "b", "c", "")) for _ in range(4)]

    def choose(r: Region, values: list) -> tuple:
        chosen = []
        for _ in names:
            kind = rnd.random()
            if kind < 0.5:
                chosen.append(rnd.choice(values))
            elif kind < 0.7:
                chosen.append(r.add("add", rnd.choice(values), rnd.choice(values), name=rnd.choice(names)))
            elif kind < 0.8:
                chosen.append(r.add("py.call", record, rnd.choice(values), name=rnd.choice(names)))
            elif kind < 0.9:
                chosen.append(rnd.randint(0, 9))
            else:
                chosen.append(r.add("iadd", rnd.choice(values), 1, name=rnd.choice(names)))
        return tuple(chosen)

    def arm(r: Region, *values: object) -> tuple:
        return choose(r, list(values))

    def body(r: Region, i: object, *values: object) -> tuple:
        mixed = list(values)
        if rnd.random() < 0.7:
            pred = r.add("py.call", bool, r.add("mod", rnd.choice(mixed), 2))
            outputs = tuple((OBJECT, name) for name in names)
            mixed = list(r.cond(pred, values, arm, arm, *outputs)) + (mixed if rnd.random() < 0.5 else [])
        return (r.add("add", i, 1), *choose(r, mixed))

    r = Region(p=OBJECT, q=OBJECT)
    first = [named(rnd.randint(0, 5), name) if rnd.random() < 0.5 else rnd.choice(r.params) for name in names]
    if rnd.random() < 0.5:
        found = r.loop("while", (named(0, "i"), *first), (), lambda r, i, *_: r.add("lt", i, 3), body)
    else:
        found = r.loop(
            "for",
            tuple(first),
            (),
            lambda r, i, *v: body(r, i, *v)[1:],
            iterable=range(3),
            item=(WEAK_INT, "a"),
        )
    results = [rnd.choice([*found, *r.params]) for _ in range(3)] + [r.add("sub", found[0], found[-1])]
    return r.graph(*results, name="shuffled")


@pytest.mark.parametrize("start", range(0, 400, BLOCK))
def test_loops_that_shuffle_their_carries(start: int) -> None:
    for seed in range(start, start + BLOCK):
        same(shuffle(seed), 1, 4)


def test_what_may_raise_comes_after_the_writes_before_it() -> None:
    graph = parse_graph(
        "graph f(x: float64[3], n: float):\n"
        "    y: float64[3] = np.maximum(x, 0.5, out=x)\n"
        "    z: object = np.invert(n)\n"
        "    return y\n"
    )
    x = np.arange(-1.0, 2.0)
    with pytest.raises(TypeError):
        load(plan_source(graph))(x, 1.0)
    assert x.tolist() == [0.5, 0.5, 1.0]
