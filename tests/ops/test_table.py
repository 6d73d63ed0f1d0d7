"""The op table as a whole: paths, printed forms, look-ups, claims about CuPy, cost of importing it."""

from __future__ import annotations

import functools
import importlib
import json
import operator
import pathlib
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.errors import GraphError
from runtime.ir.opdef import EFFECT, PURE, WRITE, OpDef
from runtime.ops.table import BY_CALLABLE, BY_METHOD, OPS, row
from tests.execute.native.harness import seen
from tests.ops.operands import copied
from tests.ops.samples import maker
from tests.ops.test_types import NUMPY_ROWS, attempt, ids

SPEC = pathlib.Path(__file__).parent.parent / "standin" / "cupy_spec.json"


def resolve(path: str) -> Any:
    """The object at a dotted path."""
    module, *names = path.split(".")
    return functools.reduce(getattr, names, importlib.import_module(module))


def same(a: Any, b: Any) -> bool:
    """Whether two results can't be told apart."""
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (np.ndarray, np.generic)):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and (a == b or (a != a and b != b))


def test_every_numpy_row_is_complete() -> None:
    for op in OPS.values():
        assert op.doc.strip(), op.name
        assert op.effect in (PURE, WRITE, EFFECT), op.name
        assert op.domain[0] < op.domain[1] and op.ulp >= 0, op.name
        assert (
            op.source is not None
            or op.path is not None
            or op.method is not None
            or op.name in ("raise", "call")
            or op.name.startswith("py.")
        ), op.name


def test_unknown_names_are_refused() -> None:
    with pytest.raises(GraphError, match="no op is named 'np.sinus'"):
        row("np.sinus")
    assert row("np.sin") is OPS["np.sin"]


def test_lookups() -> None:
    assert BY_CALLABLE[np.abs] is row("np.absolute")
    assert BY_CALLABLE[np.linalg.solve] is row("np.linalg.solve")
    assert BY_CALLABLE[np.amax] is row("np.max")
    assert BY_METHOD["sum"] is row("np.sum")
    assert BY_METHOD["reshape"] is row("nd.reshape")
    assert BY_METHOD["conj"] is row("nd.conj")


def test_every_ufunc_has_a_row() -> None:
    ufuncs = {f for f in vars(np).values() if isinstance(f, np.ufunc)}
    assert ufuncs <= set(BY_CALLABLE)


def test_every_array_method_has_a_row_but_those_that_touch_files() -> None:
    methods = {n for n in dir(np.ndarray) if not n.startswith("_") and callable(getattr(np.ndarray, n))}
    assert methods - set(BY_METHOD) - {"tostring"} == {"dump", "tofile"}  # which NumPy 2.0 still has


@pytest.mark.parametrize("op", [op for op in OPS.values() if op.path], ids=ids)
def test_paths_lead_to_the_callable(op: OpDef) -> None:
    assert op.path is not None
    assert resolve(op.path) == op.run  # a method of a ufunc is a new object each time
    assert op.run in op.captures


@pytest.mark.parametrize("op", [op for op in NUMPY_ROWS if op.source], ids=ids)
def test_printed_form_does_what_run_does(op: OpDef) -> None:
    rng = random.Random(op.name + " source")
    make, compared = maker(op), 0
    assert op.source is not None
    statement = op.effect == WRITE
    text = op.source.format("a", "b", "c")
    for _ in range(60):
        args, kwargs = make(rng)
        expected = attempt(op, args, kwargs)
        names = dict(zip("abc", copied(args), strict=False))
        target = copied(args)

        def printed(names: dict[str, Any] = names) -> Any:
            exec(text if statement else f"result = {text}", names)
            return names["a"] if statement else names["result"]

        got = attempt(OpDef(name="printed", doc="", rule=None, run=lambda run=printed: run()), (), {})
        if isinstance(expected, Exception):
            assert type(got) is type(expected)
            continue
        compared += 1
        if op.rule is None:  # no result: compare what it wrote
            operator.setitem(*target)
            expected = target[0]
        assert same(expected, got), (text, args, expected, got)
    assert compared


def cupy_spec() -> dict[str, Any]:
    if not SPEC.exists():
        pytest.skip("no record of CuPy's functions")
    found: dict[str, Any] = json.loads(SPEC.read_text())
    return found


def test_claims_about_cupy_agree_with_its_record() -> None:
    spec = cupy_spec()
    functions = set(spec["functions"]) | set(spec["ufuncs"])
    functions |= {f"{group}.{name}" for group in ("linalg", "fft") for name in spec[group]}
    for op in NUMPY_ROWS:
        family, _, name = op.name.partition(".")
        if family == "np":
            assert (op.cupy is not None) == (name in functions), op.name
            assert op.cupy in (None, f"cupy.{name}"), op.name
        if family == "nd":
            assert (op.cupy is not None) == (name in spec["ndarray"]), op.name


COUNTING = """
import sys, numpy
calls = 0


def seen(frame, event, arg):
    global calls
    calls += event in ("call", "c_call")


sys.setprofile(seen)
import runtime.ops.table
sys.setprofile(None)
print(calls)
"""


def test_importing_the_table_is_little_work() -> None:
    """Beyond NumPy, the table and the layers below cost little: every program that uses us imports them."""
    root = pathlib.Path(__file__).parent.parent.parent
    code = [sys.executable, "-c", COUNTING]
    calls = int(subprocess.run(code, cwd=root, capture_output=True, text=True, check=True).stdout)
    assert calls < 100_000  # 60,000, on every Python


def _filled(a: Any) -> list[Any]:
    return [a[0], 2.0, 0.0, 1.0]


# What methods take otherwise than the functions of their names, and functions that take no lists.
ARGUMENTS: tuple[Callable[..., Any], ...] = (
    lambda x, a, b: x.choose(a, b),
    lambda x, a, b: x.choose(a, b, mode="wrap"),
    lambda x, a, b: x.choose([a, b]),
    lambda x, a, b: x.choose([a, b], None).tolist(),
    lambda x, a, b: (x.any(0, bool), x.all(0, bool)),
    lambda x, a, b: x.any(0, None, True),
    lambda x, a, b: x.all(0, None, None, True),
    lambda x, a, b: x.std(correction=1),
    lambda x, a, b: a.var(correction=1),
    lambda x, a, b: np.std(a, correction=1),
    lambda x, a, b: np.trim_zeros(_filled(a)),
    lambda x, a, b: (np.block([a, b]), np.block([[a], [b]]), np.block([a[0], b[1]])),
    lambda x, a, b: np.block([row for row in (a, b, x)]),
    lambda x, a, b: np.split(_filled(a), 2),
    lambda x, a, b: np.hsplit([a, b], 2),
    lambda x, a, b: np.take_along_axis(_filled(a), x, 0),
    lambda x, a, b: np.put(_filled(a), 0, 1),
    lambda x, a, b: np.copyto(_filled(a), a),
    lambda x, a, b: np.argmin(np.outer(a, b), (0, 1)),
    lambda x, a, b: np.inner(a, b=b),
    lambda x, a, b: np.hstack(tup=[a, b]),
    lambda x, a, b: (np.ravel(a=a) + 0, np.zeros(shape=3), np.eye(N=2), np.full(shape=2, fill_value=b[1])),
    lambda x, a, b: np.transpose(a=np.outer(a, b), axes=(1, 0)) + 0,
    lambda x, a, b: (a.searchsorted(1.0), a.searchsorted()),
    lambda x, a, b: np.eye(()),
    lambda x, a, b: np.sum(),
    lambda x, a, b: np.cumsum(a, a, a),
    lambda x, a, b: np.var(a=a),
    lambda x, a, b: (np.zeros(), np.eye(), np.linspace(3)),
    lambda x, a, b: np.put(),
)


@pytest.mark.parametrize("number", range(len(ARGUMENTS)))
def test_arguments_are_taken_as_they_are_without_us(number: int) -> None:
    function = ARGUMENTS[number]
    args = (np.array([1, 0, 1, 0]), np.array([1.0, 0.5, 2.0, 4.0]), np.arange(4.0))
    for executor in ("numpy", "native"):
        with settings.override(executor=executor):
            converted = ag.function(function)
            for _ in range(2):
                assert seen(converted, args) == seen(function, args)
