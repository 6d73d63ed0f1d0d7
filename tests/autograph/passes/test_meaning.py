"""Converted functions do what the plain ones do: samples of each construct, and random programs."""

from __future__ import annotations

import linecache
from typing import Any, Callable

import pytest

from tests.autograph import staged_ag
from tests.autograph.converting import converted, outcome
from tests.autograph.passes import samples
from tests.autograph.passes.random_programs import program

ARGUMENTS = [(0, 0, []), (1, 2, [1, 2, 3]), (3, -1, [2, 0, 1]), (5, 4, [4]), (-2, 1, [0, 3, 3, 1, 2])]
SEEDS = 120


@pytest.mark.parametrize("function", samples.CALLS, ids=lambda function: function.__name__)
def test_sample(function: Callable[..., Any]) -> None:
    twin = converted(function)
    for call in samples.CALLS[function]:
        args, kwargs = ((), call) if isinstance(call, dict) else (call, {})
        assert outcome(twin, args, kwargs) == outcome(function, args, kwargs), call


def made(seed: int, pure: bool) -> Callable[..., Any] | None:
    """The random function, or None where Python itself rejects its text."""
    text, file = program(seed, pure), f"<random {seed} {pure}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {"__name__": "random_program"}
    try:
        exec(compile(text, file, "exec"), space)
    except SyntaxError:
        return None
    return space["program"]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_program(seed: int) -> None:
    function = made(seed, pure=False)
    if function is None:
        return
    twin = converted(function)
    for args in ARGUMENTS:
        assert outcome(twin, args) == outcome(function, args), program(seed)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_names_travel_as_operands_only(seed: int) -> None:
    """Under operators that also run what isn't taken, nothing may leak out of an arm or a body."""
    function = made(seed, pure=True)
    assert function is not None
    twin = converted(function, staged_ag)
    for args in ARGUMENTS:
        assert outcome(twin, args) == outcome(function, args), program(seed, True)
