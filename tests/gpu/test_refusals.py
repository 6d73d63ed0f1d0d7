"""What the CuPy executor refuses, and what it says then."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from runtime.errors import DeviceError
from runtime.execute import cupy_executor
from runtime.execute.cupy_executor import is_cupy_array, load_cupy
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Const, Graph, Node, Value
from runtime.types import ArrayType, TupleType
from tests.gpu.conftest import Machine

ON_DEVICE = ArrayType(np.dtype("f8"), (3,), device="cuda")


def total(*types: Any, op: str = "np.add", captured: Any = None) -> Graph:
    """A graph that adds its two parameters, or its parameter and what it captured."""
    params = tuple(Value(t, name) for t, name in zip(types, "ab", strict=False))
    right = Const(captured, "table") if captured is not None else params[-1]
    out = Value(ON_DEVICE, "out")
    return Graph("total", params, (Node(op, (params[0], right), (out,)),), (out,))


def test_numpy_argument(machine: Machine) -> None:
    run = load_cupy(plan_source(total(ON_DEVICE, ON_DEVICE), device="cuda"))
    with pytest.raises(DeviceError) as caught:
        run(machine.upload(np.ones(3)), np.ones(3))
    assert str(caught.value) == (
        "the argument 'b' is a NumPy array, and this call runs on a CUDA device\n"
        "  why: arrays are never copied to the device without being told to\n"
        "  fix: move it once, before the call: cupy.asarray(b)"
    )


def test_numpy_array_inside_a_tuple(machine: Machine) -> None:
    graph = Graph("f", (Value(TupleType((ON_DEVICE, ON_DEVICE)), "pair"),), (), (Const(0),))
    run = load_cupy(plan_source(graph, device="cuda"))
    with pytest.raises(
        DeviceError, match=r"the argument 'pair\[1\]' is a NumPy array.*(.|\n)*asarray\(pair\[1\]\)"
    ):
        run((machine.upload(np.ones(3)), np.array(1.0)))


def test_captured_numpy_array(machine: Machine) -> None:
    plan = plan_source(total(ON_DEVICE, captured=np.ones(3)), device="cuda")
    with pytest.raises(DeviceError, match="the captured array 'table' is a NumPy array"):
        load_cupy(plan)


def test_captured_device_array(machine: Machine) -> None:
    plan = plan_source(total(ON_DEVICE, captured=machine.upload(np.ones(3))), device="cuda")
    assert load_cupy(plan)(machine.upload(np.arange(3.0))).get().tolist() == [1, 2, 3]


def test_arrays_of_two_devices(machine: Machine) -> None:
    cupy = machine.cupy
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one device only; the stand-in has two")
    with cupy.cuda.Device(1):
        b = cupy.ones(3)
    run = load_cupy(plan_source(total(ON_DEVICE, ON_DEVICE), device="cuda"))
    with pytest.raises(DeviceError, match="'a' is on device 0, 'b' is on device 1"):
        run(cupy.ones(3), b)


def test_an_op_that_cupy_lacks() -> None:
    with pytest.raises(DeviceError, match="CuPy has no such function"):
        plan_source(total(ON_DEVICE, ON_DEVICE, op="np.vecdot"), device="cuda")


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceError, match=r"CuPy is not installed(.|\n)*pip install cupy-cuda13x"):
        load_cupy(plan_source(total(ON_DEVICE, ON_DEVICE), device="cuda"))


def test_importing_the_executor_imports_no_cupy() -> None:
    assert "cupy" not in vars(cupy_executor)


def test_calls_with_device_arrays_are_told_apart(machine: Machine) -> None:
    x = machine.upload(np.ones(3))
    assert is_cupy_array(x)
    assert not is_cupy_array(np.ones(3))
