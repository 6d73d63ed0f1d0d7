"""The op table on CuPy arrays: values as NumPy's, and results of the types that the rules claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime.ir.opdef import OpDef
from runtime.ops.table import OPS
from runtime.types import StaticType, describes, type_of
from tests.gpu.conftest import Machine
from tests.standin import spec

DTYPES = ("?", "i1", "i4", "u2", "f4", "f8", "c16")
SHAPES = ((), (5,), (2, 3))
UFUNCS = [op for op in OPS.values() if isinstance(op.run, np.ufunc) and op.run.signature is None]
ON_CUPY = [op for op in UFUNCS if op.cupy]
REDUCTIONS = (
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "std",
    "var",
    "all",
    "any",
    "argmax",
    "argmin",
    "cumsum",
    "cumprod",
)
# CuPy takes (or gives) other dtypes here; see docs/gpu.md.
OTHER_DTYPES = {
    ("np.sign", "?"): "int8 where NumPy refuses",
    **{(f"np.logical_{n}", "c16"): "no complex loops" for n in ("and", "or", "xor", "not")},
    **{
        (f"np.{n}", "c16"): "complex loops where NumPy has none"
        for n in ("arctan2", "copysign", "hypot", "nextafter")
    },
}


def sample(op: OpDef, dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """Values inside the op's domain."""
    low, high = op.domain
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "biu":
        low, high = max(low, 0.0 if np.dtype(dtype).kind != "i" else low), min(high, 9.0)
    values = random.uniform(max(low, -50.0), min(high, 50.0), shape)
    return np.asarray(np.abs(values) if np.dtype(dtype).kind in "bu" else values).astype(dtype)


def numpy_result(op: OpDef, args: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        return op.run(*args)


def agree(actual: Any, expected: Any, ulp: int) -> None:
    for a, e in zip(actual, expected, strict=True) if isinstance(expected, tuple) else ((actual, expected),):
        assert (a.dtype, a.shape) == (np.asarray(e).dtype, np.shape(e))
        got = a.get()
        if got.dtype.kind in "fc" and ulp:
            np.testing.assert_allclose(
                got, e, rtol=ulp * float(np.finfo(got.dtype).eps), atol=0, equal_nan=True
            )
        else:
            np.testing.assert_array_equal(got, e)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ON_CUPY, ids=lambda op: op.name)
def test_ufuncs(machine: Machine, op: OpDef, dtype: str) -> None:
    if (op.name, dtype) in OTHER_DTYPES:
        return
    for shape in SHAPES:
        args = [sample(op, dtype, shape, k) for k in range(op.run.nin)]
        try:
            expected = numpy_result(op, args)
        except TypeError:
            return  # NumPy refuses the dtype; what CuPy does is its own affair
        uploaded = [machine.upload(arg) for arg in args]
        result = op.run(*uploaded)
        agree(result, expected, max(op.ulp, 4) if machine.real else 0)
        assert op.rule is not None
        claim = op.rule(*map(type_of, uploaded))
        assert describes(claim, result), f"claimed {claim}, got {type_of(result)}"


@pytest.mark.parametrize(("name", "dtype"), OTHER_DTYPES)
def test_documented_differences_of_dtypes(machine: Machine, name: str, dtype: str) -> None:
    op, args = OPS[name], [np.ones(3, dtype)] * OPS[name].run.nin  # type: ignore[attr-defined]
    uploaded = [machine.upload(arg) for arg in args]
    if "logical" in name:
        with pytest.raises(TypeError):
            op.run(*uploaded)
    else:
        with pytest.raises(TypeError):
            op.run(*args)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ("?", "i4", "f4", "f8"))
@pytest.mark.parametrize("axis", (None, 0, -1))
def test_reductions(machine: Machine, name: str, dtype: str, axis: int | None) -> None:
    op = OPS[f"np.{name}"]
    x = sample(op, dtype, (3, 4), 1)
    result = op.run(machine.upload(x), axis=axis)
    agree(result, op.run(x, axis=axis), 64 if machine.real else 0)
    assert op.rule is not None
    claim = op.rule(type_of(machine.upload(x)), axis=StaticType(axis))
    assert describes(claim, result), f"claimed {claim}, got {type_of(result)}"


def test_full_reductions_give_arrays_not_scalars(machine: Machine) -> None:
    x = machine.upload(np.arange(6.0).reshape(2, 3))
    for result in (x.sum(), np.max(x), x[0, 1], np.mean(x), np.dot(x[0], x[1])):
        assert type(result) is machine.cupy.ndarray
        assert result.shape == ()


@pytest.mark.parametrize(
    "op", [op for op in OPS.values() if op.cupy is not None and op.path], ids=lambda op: op.name
)
def test_rows_name_what_the_wheel_has(op: OpDef) -> None:
    snapshot = spec.load()
    known = {**snapshot["functions"], **snapshot["ufuncs"]}
    known |= {f"{group}.{name}": None for group in ("linalg", "fft") for name in snapshot[group]}
    name = (op.cupy or op.path or "").partition(".")[2]
    assert name in known, f"the wheel has no {name}: the row's `cupy` has to be None"
