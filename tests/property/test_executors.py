"""2,000 random graphs on every executor.  The long run is `python -m tests.property.executors`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from runtime.ir.walk import walk_nodes
from tests.property.executors import Tally, check, seen, unlike
from tests.property.wider import sample

GRAPHS, CHUNK = 2000, 50


@pytest.mark.parametrize("first", range(0, GRAPHS, CHUNK))
def test_executors_agree(first: int) -> None:
    tally = Tally()
    problems = {seed: check(seed, tally) for seed in range(first, first + CHUNK)}
    failed = {seed: problem for seed, problem in problems.items() if problem}
    assert not failed, "\n".join(f"graph {seed}: {problem}" for seed, problem in failed.items())
    if not unavailable():
        assert tally.ways["calls natively"] > CHUNK, tally


def test_graphs_are_varied() -> None:
    made = [sample(seed) for seed in range(400)]
    ops = {node.op for one in made for node in walk_nodes(one.graph)}
    assert {"cond", "while", "for", "setitem", "getitem", "np.sum", "np.where", "iadd", "nd.astype"} <= ops
    assert set("call with py.list np.searchsorted np.roll np.concatenate np.flip np.cumprod".split()) <= ops
    assert "py.unpack" in ops
    assert len(ops) > 150, sorted(ops)
    calls = [one.arguments(call) for one in made for call in range(4)]
    arrays = [x for args in calls for x in args if isinstance(x, np.ndarray)]
    assert len({x.dtype for x in arrays}) >= 13
    assert any(x.size == 0 for x in arrays) and any(not x.flags.c_contiguous for x in arrays)
    pairs = [(args[0], args[1]) for args in calls if len(args) > 1]
    shared = [np.shares_memory(x, y) for x, y in pairs if type(x) is type(y) is np.ndarray]
    assert any(shared)
    assert any(not x.flags.aligned for x in arrays) and any(not x.flags.writeable for x in arrays)
    assert any(min(x.strides, default=1) < 0 for x in arrays) and any(0 in x.strides for x in arrays)


def test_arguments_are_the_same_each_time() -> None:
    for seed in range(50):
        assert repr(sample(seed).arguments(1)) == repr(sample(seed).arguments(1))


def loudly(x: Any) -> Any:
    warnings.warn("something")
    return x + 1.0


@pytest.mark.parametrize(
    ("one", "other", "field"),
    [
        (lambda x: x * 0.0, lambda x: x * -0.0, "result"),
        (lambda x: x + 1.0, lambda x: (x + 1.0).astype("f4"), "result"),
        (lambda x: (x, 1), lambda x: (x, True), "result"),
        (lambda x: x[5], lambda x: x[6], "error"),
        (lambda x: x.sum(), lambda x: (x.sum(), x.fill(0.0))[0], "arguments"),
        (lambda x: x, lambda x: x.copy(), "sharing"),
        (lambda x: x + 1.0, loudly, "warned"),
    ],
)
def test_the_comparison_tells_calls_apart(
    one: Callable[..., Any], other: Callable[..., Any], field: str
) -> None:
    wanted, found = (seen(f, [np.arange(1.0, 4.0)], "ignore") for f in (one, other))
    assert unlike(wanted, found, "of it").startswith(field)  # type: ignore[union-attr]
    assert unlike(wanted, wanted, "of it") is None
