"""Trace a function of cond/while_loop/for_loop, run its plan and the reference, compare with Python."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.execute.loader import load
from runtime.execute.python_source import plan_source
from runtime.execute.reference import interpret
from runtime.ir.verify import verify
from runtime.ops.table import OPS
from runtime.trace.api import trace_call
from runtime.trace.record import Argument, TraceResult
from runtime.types import type_of


def traced(f: Callable[..., Any], *args: Any) -> TraceResult:
    """The trace of `f` for arguments like these; its graph obeys the laws."""
    arguments = [Argument(f"a{i}", a, type_of(a)) for i, a in enumerate(args)]
    result = trace_call(f, arguments, {}, name=f.__name__)
    verify(result.graph, OPS)
    return result


def outcome(run: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """(result, class of the exception, arguments afterwards), on copies of the arguments."""
    own = copy.deepcopy(args)
    try:
        return run(*own), None, own
    except Exception as error:
        return None, type(error), own


def same(a: Any, b: Any) -> bool:
    """Whether two outcomes are the same: types, dtypes, shapes and bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, types.SimpleNamespace):
        return same(vars(a), vars(b))
    return bool(a == b or (a != a and b != b))


def check(f: Callable[..., Any], *calls: tuple[Any, ...]) -> TraceResult:
    """The trace made for the first call serves all of them, as plan and by the reference interpreter."""
    result = traced(f, *calls[0])
    plan = load(plan_source(result.graph))
    for args in calls:
        want = outcome(f, args)
        for how in (plan, lambda *a: interpret(result.graph, list(a), table=OPS)[0]):
            got = outcome(how, args)
            assert same(got, want), f"{how}: {got} != {want}"
    return result
