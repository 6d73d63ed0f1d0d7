"""Native code against the plan: the same calls, and whether any difference can be seen.

In: graphs or Python functions, and argument tuples.  Out: `Seen`, all that a call shows: the result bit by
bit, the exception, the warnings in order, and what became of the arguments.
"""

from __future__ import annotations

import copy
import dataclasses
import gc
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import autograph as ag
from runtime.config import settings
from runtime.execute.loader import load
from runtime.execute.native import pool
from runtime.execute.native.executor import NativeFunction
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.llvm_load import REFUSED
from runtime.execute.python_source import plan_source
from runtime.function.concrete import MISTAKE
from runtime.ir.builder import Builder
from runtime.ir.graph import Const, Graph
from runtime.ops.table import OPS
from runtime.types import Type

COUNTS = (1, 2, 3, 8)  # of threads


@dataclasses.dataclass(frozen=True)
class Seen:
    """All that a call shows."""

    result: Any
    error: Any
    warned: tuple[Any, ...]
    arguments: Any


def _one_nan(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array with one NaN for all: which one an operation on two of them gives is not laid down."""
    if x.dtype.kind not in "fc" or not np.isnan(x).any():
        return x
    parts = np.array(x, ndmin=1, order="C")
    numbers = parts.view(parts.real.dtype)
    numbers[np.isnan(numbers)] = np.nan
    return parts


def bits(x: Any) -> Any:
    """A value as plain data that compares bit by bit."""
    if isinstance(x, np.ndarray):
        return "array", x.dtype.str, x.shape, _one_nan(x).tobytes()
    if isinstance(x, np.generic):
        return type(x).__name__, _one_nan(np.asarray(x)).tobytes()
    if isinstance(x, (tuple, list, set)):
        return type(x).__name__, tuple(map(bits, x))
    if isinstance(x, dict):
        return type(x).__name__, tuple(map(bits, x.items()))
    if isinstance(x, (float, complex)):
        return type(x).__name__, _one_nan(np.asarray(x)).tobytes()
    return type(x).__name__, x


def copies(args: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, copied with what is shared among them, each array in the layout that it has."""
    memo: dict[int, Any] = {}

    def lay(x: Any) -> None:
        if isinstance(x, (tuple, list, dict)):
            for item in x.values() if isinstance(x, dict) else x:
                lay(item)
        elif type(x) is np.ndarray and not x.dtype.hasobject and id(x) not in memo:
            memo[id(x)] = _alike(x, memo)

    lay(args)
    return copy.deepcopy(tuple(args), memo)


def _alike(x: np.ndarray[Any, Any], memo: dict[int, Any]) -> np.ndarray[Any, Any]:
    """A copy with the same strides, in a copy of all the memory that it lies in."""
    whole = x
    while type(whole.base) is np.ndarray:
        whole = whole.base
    if whole is x:
        return x.copy(order="K")
    if id(whole) not in memo:
        memo[id(whole)] = whole.copy(order="K")
    other, offset = memo[id(whole)], x.ctypes.data - whole.ctypes.data
    if other.strides != whole.strides:  # memory that is not Python's, with gaps
        return x.copy(order="K")
    made: np.ndarray[Any, Any] = np.ndarray(x.shape, x.dtype, other.ravel(order="K"), offset, x.strides)
    made.flags.writeable = x.flags.writeable
    return made


def seen(function: Callable[..., Any], args: Sequence[Any], **errors: Any) -> Seen:
    """Call on copies of the arguments, laid out as they are (what is shared among them stays shared)."""
    args = copies(args)
    result = error = None
    with warnings.catch_warnings(record=True) as caught, np.errstate(**errors):
        warnings.simplefilter("always")
        try:
            result = bits(function(*args))
        except Exception as problem:  # any exception is something to compare
            error = type(problem), str(problem)
    return Seen(result, error, tuple((w.category, str(w.message)) for w in caught), bits(args))


@dataclasses.dataclass
class Pair:
    """A graph run both ways.  handed_back: how many calls native code gave up."""

    native: NativeFunction
    plan: Callable[..., Any]

    @property
    def handed_back(self) -> int:
        """How many calls native code gave up."""
        return self.native.bails

    def check(self, args: Sequence[Any], **errors: Any) -> None:
        """Fail if the two can be told apart on these arguments."""
        wanted, found = seen(self.plan, args, **errors), seen(self.native.entry, args, **errors)
        assert found == wanted, f"{args}: native {found}\nplan {wanted}\n{self.native.text}"


def pair(graph: Graph) -> Pair:
    """The graph both ways; `Unlowered` where there is no native code."""
    plan = load(plan_source(graph))
    try:
        native = NativeFunction(graph, lambda: plan)
    except Unlowered as reason:
        assert not str(reason).startswith(REFUSED), reason
        raise
    return Pair(native, plan)


def one_node(op: str, types: Sequence[Type], *constants: Any, keywords: tuple[str, ...] = ()) -> Graph:
    """A graph of one node on parameters of these types, constants after them."""
    builder = Builder(op.replace(".", "_"))
    params = [builder.param(t, f"x{k}") for k, t in enumerate(types)]
    inputs = [*params, *map(Const, constants)]
    rule = OPS[op].rule
    assert rule is not None
    (out,) = builder.add(op, inputs, [rule(*(x.type for x in inputs))], keywords=keywords)
    return builder.region([], [out])


def both(
    function: Callable[..., Any], calls: Sequence[Sequence[Any]], *, lowered: bool = True, **errors: Any
) -> Any:
    """A converted function, all native, against the plain Python function on each of the calls."""
    with settings.override(executor="native", compile="now"):
        converted = ag.function(function)
        for args in calls:
            wanted, found = seen(function, args, **errors), seen(converted, args, **errors)
            assert found == wanted, f"{args}: native {found}\npython {wanted}"
        concrete = converted.traces[-1].concrete
        assert concrete is None or MISTAKE not in concrete.not_native, concrete.not_native
        if lowered:
            assert concrete is not None, "there is no trace"
            native = concrete.executor == "native" or "it was given up" in concrete.not_native
            assert native, concrete.not_native
    return converted


def same(function: Callable[..., Any], *args: Any, jobs: int = 1, **errors: Any) -> None:
    """A call does what plain NumPy does, and the same with any number of threads."""
    before = pool.pool().jobs
    converted = both(function, [args], **errors)
    assert pool.pool().jobs - before >= jobs, "nothing was shared"
    wanted = seen(function, args, **errors)
    for count in COUNTS:
        with settings.override(num_threads=count):
            assert seen(converted, args, **errors) == wanted, count


def nothing_is_left_behind(function: Callable[..., Any], refused: bool = False) -> None:
    """No object is left over by many calls."""
    y = np.array([1.0, 2.0])
    with settings.override(executor="native", compile="now"):
        converted = ag.function(function)

    def run() -> None:
        for _ in range(200):
            try:
                converted(y, 4)
            except (ValueError, IndexError):
                assert refused

    run()
    gc.collect()
    before, refs = sys.getallocatedblocks(), sys.getrefcount(y)
    lists = [type(x) for x in gc.get_objects()].count(list)
    run()
    gc.collect()
    assert sys.getrefcount(y) == refs
    assert sys.getallocatedblocks() - before < 100
    assert [type(x) for x in gc.get_objects()].count(list) - lists < 20
