"""Plans of hand-written graphs on CuPy arrays: values as on NumPy, and no more waits than the program has."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from runtime.execute.cupy_executor import load_cupy
from runtime.execute.python_source import plan_source
from runtime.execute.reference import interpret
from runtime.ir.text import parse_graph
from runtime.ir.verify import verify
from runtime.ops.table import OPS
from runtime.types import describes
from tests.gpu.conftest import Machine


@dataclasses.dataclass(frozen=True)
class Case:
    """A graph, arguments on the host, and how often the host has to wait."""

    name: str
    text: str
    args: tuple[Any, ...]
    syncs: int = 0


X = np.array([0.5, -1.0, 2.0, -3.0, 0.25])
CASES = (
    Case(
        "elementwise",
        """
        graph f(x: float64[5]@cuda, a: float):
            t1: float64[5]@cuda = np.sin(x)
            t2: float64[5]@cuda = mul(t1, a)
            t3: float64[5]@cuda = np.exp(t2)
            return t3
        """,
        (X, 2.5),
    ),
    Case(
        "where, clip, cumsum",
        """
        graph f(x: float64[5]@cuda):
            t1: bool[5]@cuda = gt(x, 0)
            t2: float64[5]@cuda = np.where(t1, x, 0.0)
            t3: float64[5]@cuda = np.clip(t2, 0.0, 1.0)
            t4: float64[5]@cuda = np.cumsum(t3)
            return t4
        """,
        (X,),
    ),
    Case(
        "mean and argmax stay on the device",
        """
        graph f(x: float64[5]@cuda):
            mean: float64[]@cuda = np.mean(x)
            t1: float64[5]@cuda = sub(x, mean)
            t2: int64[]@cuda = np.argmax(t1)
            t3: float64[]@cuda = getitem(x, t2)
            return mean, t2, t3
        """,
        (X,),
    ),
    Case(
        "branch on a device value",
        """
        graph f(x: float64[5]@cuda):
            t1: float64[]@cuda = np.sum(x)
            t2: bool[]@cuda = gt(t1, 0)
            y: float64[5]@cuda = cond(t2, x)
                true(x: float64[5]@cuda):
                    t1: float64[5]@cuda = mul(x, 2)
                    return t1
                false(x: float64[5]@cuda):
                    t1: float64[5]@cuda = neg(x)
                    return t1
            return y
        """,
        (X,),
        syncs=1,
    ),
    Case(
        "loop on a device value",
        """
        graph halvings(n: int64[]@cuda):
            m: int64[]@cuda, steps: int = while{carries=2}(n, 0)
                test(n: int64[]@cuda, steps: int):
                    t1: bool[]@cuda = ne(n, 1)
                    return t1
                body(n: int64[]@cuda, steps: int):
                    t1: int64[]@cuda = floordiv(n, 2)
                    t2: int = add(steps, 1)
                    return t1, t2
            return m, steps
        """,
        (np.array(37),),
        syncs=6,
    ),
    Case(
        "loop over a range that writes in place",
        """
        graph smooth(x: float64[5]@cuda, n: int):
            trips: object<@builtins:range> = py.call(@builtins:range, n)
            for{carries=0, tested=False}(trips, x)
                body(i: object, x: float64[5]@cuda):
                    left: float64[3]@cuda = getitem(x, slice(None, -2))
                    right: float64[3]@cuda = getitem(x, slice(2, None))
                    t1: float64[3]@cuda = add(left, right)
                    t2: float64[3]@cuda = mul(t1, 0.5)
                    setitem(x, slice(1, -1), t2)
                    return
            return x
        """,
        (X, 3),
    ),
    Case(
        "numbers of the host stay there",
        """
        graph f(x: float64[5]@cuda, n: int):
            t1: float64 = np.sqrt(n)
            t2: float64[5]@cuda = truediv(x, t1)
            return t1, t2
        """,
        (X, 4),
    ),
)


def dedent(text: str) -> str:
    return "\n".join(line[8:] for line in text.strip("\n").splitlines()) + "\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_and_waits(machine: Machine, case: Case) -> None:
    graph = parse_graph(dedent(case.text))
    verify(graph, OPS)
    expected = interpret(
        graph, [a.copy() if isinstance(a, np.ndarray) else a for a in case.args], check_types=False
    )
    run = load_cupy(plan_source(graph, device="cuda"))
    uploaded = machine.upload(case.args)
    with machine.syncs(case.syncs):
        result = run(*uploaded)
    results = result if len(graph.results) > 1 else (result,)
    for got, wanted, operand in zip(results, expected, graph.results, strict=True):
        assert describes(operand.type, got)
        np.testing.assert_allclose(machine.download(got), wanted, rtol=1e-14 if machine.real else 0)


def test_writes_reach_the_argument_and_its_views(machine: Machine) -> None:
    graph = parse_graph(dedent(next(c.text for c in CASES if "in place" in c.name)))
    x = machine.upload(X)
    view = x[1:]
    result = load_cupy(plan_source(graph, device="cuda"))(x, 1)
    assert result is x
    np.testing.assert_array_equal(view.get(), x.get()[1:])
    assert x.get().tolist() != X.tolist()


def test_the_plan_runs_under_the_device_of_its_arrays(machine: Machine) -> None:
    if machine.cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one device only; the stand-in has two")
    run = load_cupy(plan_source(parse_graph(dedent(CASES[0].text)), device="cuda"))
    with machine.cupy.cuda.Device(1):
        x = machine.upload(X)
    result = run(x, 1.0)  # on the stand-in, a mix of devices would be a warning, so an error
    assert result.device.id == 1
    assert machine.cupy.cuda.runtime.getDevice() == 0
