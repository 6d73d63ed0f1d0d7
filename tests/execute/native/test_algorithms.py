"""Ordinary numerical programs: native code, where there is any, against plain Python."""

from __future__ import annotations

import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from runtime.function.concrete import MISTAKE
from runtime.ir.walk import walk_nodes
from tests.execute.native.harness import seen
from tests.execute.native.more_algorithms import ALGORITHMS, arguments

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_same_as_python(name: str) -> None:
    function = ALGORITHMS[name]
    with settings.override(executor="native", compile="now", math="exact"):
        converted = ag.function(function)
        args = arguments(name)
        wanted = seen(function, args)
        for _ in range(2):
            assert seen(converted, args) == wanted
        concrete = converted.traces[-1].concrete
        assert concrete is None or MISTAKE not in concrete.not_native, concrete.not_native


@pytest.mark.parametrize("name", ["floyd_warshall", "matrix_product", "n_body"])
def test_nested_short_loops_stay_small(name: str) -> None:
    """Each of the loops is short enough to be unrolled, all of them together are not."""
    concrete = ag.function(ALGORITHMS[name]).get_concrete_function(*arguments(name))
    assert sum(1 for _ in walk_nodes(concrete.graph)) < 1500
