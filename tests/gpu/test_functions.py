"""Functions of the op table that are no ufuncs, on CuPy arrays: values as NumPy's, types as claimed."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from runtime.execute.cupy_executor import load_cupy
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Graph, Node, Value
from runtime.ops.table import OPS
from runtime.types import OBJECT, StaticType, Type, describes, type_of
from tests.gpu.conftest import Machine

V = np.array([3.0, -1.0, 2.0, 0.5])
M = np.arange(6.0).reshape(2, 3)
S = np.array([[4.0, 1.0], [2.0, 3.0]])
I = np.array([2, 0, 1])
B = np.array([True, False, True, False])


@dataclasses.dataclass(frozen=True)
class Call:
    """An op, its operands (arrays are uploaded, all else is static), its keywords."""

    op: str
    args: tuple[Any, ...]
    keywords: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        return self.op


def call(op: str, *args: Any, **keywords: Any) -> Call:
    return Call(op, args, keywords)


CALLS = (
    *(
        call(f"np.{name}", M)
        for name in ("median", "ptp", "nansum", "nanmax", "nanmean", "cumsum", "count_nonzero")
    ),
    *(
        call(f"np.{name}", M)
        for name in ("zeros_like", "ones_like", "copy", "tril", "triu", "transpose", "ravel")
    ),
    *(call(f"np.{name}", M) for name in ("flip", "fliplr", "flipud", "rot90", "atleast_1d", "atleast_3d")),
    *(call(f"np.{name}", M) for name in ("shape", "ndim", "size", "real", "imag", "nonzero", "argwhere")),
    *(call(f"np.{name}", (V, V)) for name in ("concatenate", "stack", "vstack", "hstack", "dstack")),
    *(call(op, M, M) for op in ("add", "sub", "mul", "lt", "eq", "np.hypot", "np.maximum", "np.append")),
    *(call(op, M, 2) for op in ("add", "pow", "mod", "ge", "truediv")),
    call("matmul", S, S),
    call("neg", M),
    call("getitem", M, 1),
    call("getitem", M, (0, 2)),
    call("getitem", M, (slice(None), slice(1, None))),
    call("getitem", V, I),
    call("getitem", V, B),
    call("np.average", V),
    call("np.diag", V),
    call("np.full_like", M, 7.0),
    call("np.reshape", M, (3, 2)),
    call("np.swapaxes", M, 0, 1),
    call("np.moveaxis", M, 0, 1),
    call("np.expand_dims", M, 0),
    call("np.squeeze", M[None]),
    call("np.broadcast_to", V, (2, 4)),
    call("np.roll", V, 1),
    call("np.repeat", V, 2),
    call("np.tile", V, 2),
    call("np.pad", V, 1),
    call("np.take", V, I),
    call("np.where", B, V, 0.0),
    call("np.where", B, V, V),
    call("np.where", B),
    call("np.searchsorted", np.sort(V), V),
    call("np.compress", B, V),
    call("np.take_along_axis", V, I, 0),
    call("np.diagonal", S),
    call("np.split", V, 2),
    call("np.clip", V, 0.0, 1.0),
    call("np.clip", V, None, 1.0),
    call("np.sort", V),
    call("np.argsort", V),
    call("np.dot", S, S),
    call("np.dot", V, V),
    call("np.inner", V, V),
    call("np.outer", V, V),
    call("np.trace", S),
    call("np.einsum", "ij,jk->ik", S, S),
    call("np.linalg.solve", S, S),
    call("np.linalg.inv", S),
    call("np.linalg.det", S),
    call("np.linalg.norm", V),
    call("np.fft.fft", V),
    call("np.diff", V),
    call("np.sum", M, axis=1),
    call("np.sum", M, axis=0, keepdims=True),
    call("np.mean", M, axis=(0, 1)),
    call("np.argmax", M, axis=1),
)


def claimed(machine: Machine, value: Any) -> Type:
    holds = value if isinstance(value, tuple) else (value,)
    return (
        type_of(value) if any(isinstance(part, machine.cupy.ndarray) for part in holds) else StaticType(value)
    )


def same(machine: Machine, got: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert type(got) is type(expected)
        for g, e in zip(got, expected, strict=True):
            same(machine, g, e)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert isinstance(got, machine.cupy.ndarray)
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(got.get(), expected, rtol=1e-12 if machine.real else 0, atol=0)
    else:
        assert machine.download(got) == expected


@pytest.mark.parametrize("case", CALLS, ids=str)
def test_values_and_types(machine: Machine, case: Call) -> None:
    op = OPS[case.op]
    args = [machine.upload(a) for a in case.args]
    result = op.run(*args, **case.keywords)
    same(machine, result, op.run(*case.args, **case.keywords))
    assert op.rule is not None
    keywords = {k: StaticType(v) for k, v in case.keywords.items()}
    claim = op.rule(*(claimed(machine, a) for a in args), **keywords)
    assert describes(claim, result), f"claimed {claim}, got {type_of(result)}"
    if case.op in ("add", "np.reshape", "np.concatenate", "np.sum"):
        assert claim != OBJECT


@pytest.mark.parametrize("name", ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"))
def test_functions_that_would_transfer(machine: Machine, name: str) -> None:
    """NumPy's own raise TypeError for a CuPy array, so a plan must not call CuPy's namesake instead."""
    x = machine.upload(V)
    with pytest.raises(TypeError, match="Implicit conversion"):
        OPS[f"np.{name}"].run(x)
    param, out = Value(type_of(x), "x"), Value(OBJECT)
    graph = Graph("convert", (param,), (Node(f"np.{name}", (param,), (out,)),), (out,))
    with pytest.raises(TypeError, match="Implicit conversion"):
        load_cupy(plan_source(graph, device="cuda"))(x)
