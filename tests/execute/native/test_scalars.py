"""Operators on numbers of every kind, over special values: native code against the plan, bit by bit."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from runtime.execute.native.kinds import Unlowered
from runtime.types import Type, type_of
from tests.execute.native.harness import both, one_node, pair

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")

BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and_", "or_", "xor", "eq",
    "ne", "lt", "le", "gt", "ge", "iadd",
)  # fmt: skip
UNARY = (
    "neg", "pos", "invert", "abs", "py.not", "py.truth", "np.sqrt", "np.floor", "np.rint", "np.isnan",
    "np.negative", "np.absolute", "np.exp", "np.sin", "np.square", "np.sign", "np.logical_not",
    "np.isfinite",
)  # fmt: skip
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
KINDS = ("bool", "int", "float", "bool_", *INTS, "float32", "float64")
PLAIN: dict[str, list[Any]] = {
    "bool": [False, True],
    "int": [0, 1, -1, 2, 3, -7, 63, 64, 65, 255, -128, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)],
    "float": [
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.5,
        0.5,
        7.0,
        1e300,
        -1e300,
        5e-324,
        float("inf"),
        float("-inf"),
        float("nan"),
    ],
}


def values(kind: str) -> list[Any]:
    """Numbers of a kind: ordinary ones and the edges."""
    if kind in PLAIN:
        return PLAIN[kind]
    dtype = np.dtype(kind)
    if dtype.kind == "b":
        return [np.False_, np.True_]
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return [dtype.type(x) for x in PLAIN["float"]] + [np.finfo(dtype).max, np.finfo(dtype).tiny]
    limits = np.iinfo(dtype)
    numbers = [0, 1, 2, 3, 7, 8, 31, 63, 64, limits.max, limits.max - 1, limits.min, limits.min + 1, -1, -7]
    return [dtype.type(n) for n in numbers if limits.min <= n <= limits.max]


def pairs(op: str) -> list[tuple[str, str]]:
    """Kinds of two operands: all with the most common kinds, and a few others, different for each op."""
    common = ("int", "float", "int64", "float64")
    chosen = list(itertools.product(common, common))
    others = [p for p in itertools.product(KINDS, KINDS) if p not in chosen]
    return chosen + random.Random(op).sample(others, 5)


def check_all(op: str, kinds: tuple[str, ...]) -> str:
    """Compare on all values of the kinds; how it went, in a word."""
    types: list[Type] = [type_of(values(kind)[0]) for kind in kinds]
    try:
        two = pair(one_node(op, types))
    except Unlowered:
        return "unlowered"
    calls = list(itertools.product(*map(values, kinds)))
    for args in calls:
        two.native._code.enabled.value = 1  # so many edges are handed back that it would give up
        two.check(args)
    return "native" if two.handed_back < len(calls) else "plan"


@pytest.mark.parametrize("op", BINARY)
def test_binary(op: str) -> None:
    went = [check_all(op, kinds) for kinds in pairs(op)]
    assert "native" in went


@pytest.mark.parametrize("op", UNARY)
def test_unary(op: str) -> None:
    went = [check_all(op, (kind,)) for kind in KINDS]
    assert "native" in went


def test_which_pairs_are_native() -> None:
    """Arithmetic and comparisons of the common kinds are all lowered."""
    for op in ("add", "mul", "truediv", "floordiv", "mod", "lt", "eq"):
        for kinds in itertools.product(("int", "float", "int64", "float64"), repeat=2):
            types = [type_of(values(kind)[0]) for kind in kinds]
            pair(one_node(op, types))


def test_what_nobody_needs_warns_all_the_same() -> None:
    def unused(x: Any, n: int) -> int:
        for k in range(n):
            x // np.float64(3.0)
        return n

    both(unused, [(np.float64(5e-324), 3)], under="warn")
    both(unused, [(np.float64(1.5), 3)], under="warn")


INTEGERS = (
    1,
    3,
    0,
    -2,
    True,
    2**53 + 1,
    2**63 - 1,
    np.int64(5),
    np.int64(2**53 + 1),
    np.uint8(200),
    np.int8(-3),
)


@pytest.mark.parametrize(
    "function",
    [
        math.log, math.log2, math.log10, math.log1p, math.floor, math.ceil, math.trunc, math.isnan,
        np.isnan, np.isfinite, np.isinf,
    ],
)  # fmt: skip
def test_functions_for_floats_on_integers(function: Any) -> None:
    def several(x: Any, n: int) -> Any:
        return [function(x) for _ in range(n)], [function(x + k) for k in range(n)]

    for value in INTEGERS:
        both(several, [(value, 3)], lowered=False, over="ignore")
