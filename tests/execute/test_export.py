"""Exported files: they run where only NumPy is, and give the same."""

from __future__ import annotations

import collections
import enum
import math
import operator
import subprocess
import sys

import numpy as np
import pytest

from runtime.boxes import unbound
from runtime.errors import ExportError
from runtime.execute.export import export
from runtime.execute.loader import load
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Const, Graph
from tests.execute.build import OBJECT, VECTOR, WEAK_INT, Region
from tests.property.graphs import snapshot


def define(graph: Graph) -> dict:
    namespace: dict = {}
    exec(compile(export(graph), "exported.py", "exec"), namespace)
    return namespace


def test_the_file_stands_alone(tmp_path) -> None:
    r = Region(x=VECTOR)
    y = r.add("np.exp", r.add("mul", r.params[0], np.array([1.0, np.nan, 3.0])))
    z = r.add("py.call", math.hypot, r.add("np.sum", y), np.float32(0.1))
    graph = r.graph(z, name="model")
    file = tmp_path / "model.py"
    file.write_text(
        export(graph) + "\nassert not any(m in sys.modules for m in ('runtime', 'autograph'))\n"
        "print(repr(model(np.arange(3.0))))\n"
    )
    file.write_text("import sys\n" + file.read_text())
    done = subprocess.run(
        [sys.executable, "-W", "error", file.name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == repr(load(plan_source(graph))(np.arange(3.0)))


def test_the_file_refuses_what_it_was_not_made_for() -> None:
    r = Region(x=VECTOR, n=WEAK_INT)
    graph = r.graph(r.add("mul", r.params[0], r.params[1]), name="model")
    model = define(graph)["model"]
    assert model(np.arange(3.0), 2).tolist() == [0, 2, 4]
    for x, n in (
        (np.arange(3), 2),
        (np.ones((3, 3)), 2),
        ([1.0, 2.0, 3.0], 2),
        (np.arange(3.0), np.int64(2)),
    ):
        with pytest.raises(TypeError, match="this file was made for .*; export the function again"):
            model(x, n)
    assert export(graph, signature="model(x: float64[3], k: =4)").startswith('"""model: generated;')
    assert "Made for model(x: float64[3], k: =4)" in export(graph, signature="model(x: float64[3], k: =4)")


class Level(enum.Enum):
    LOW = 1


CONSTANTS = [
    math.inf,
    -math.inf,
    math.nan,
    -0.0,
    complex(-0.0, math.inf),
    10**80,
    "x" * 90,
    b"\x00" * 70,
    frozenset({1}),
    (1, (2.0, np.float32(3))),
    np.float16(0.1),
    np.int8(-3),
    np.bool_(True),
    np.complex64(1 + 2j),
    np.float64(np.nan),
    np.datetime64("2020-01-02", "D"),
    np.str_("é"),
    np.longdouble("0.1"),
    np.dtype(">f4"),
    np.dtype([("a", "<i2")]),
    np.arange(6.0).reshape(2, 3),
    np.array([1, 2], ">i2"),
    np.array([True]),
    np.array([[1.0, 2], [3, 4]], order="F"),
    np.array([np.inf, -0.0], np.float32),
    np.zeros((0, 3), np.int8),
    np.array(3.5),
    np.array(["ab", "c"]),
    np.array([1 + 2j]),
    [1, {"a": (2,)}, {3}],
]


@pytest.mark.parametrize("value", CONSTANTS, ids=lambda v: repr(v)[:30])
def test_constants_come_back_exactly(value: object) -> None:
    r = Region()
    graph = r.graph(Const(value, "value"), name="f")
    found = define(graph)["f"]()
    assert type(found) is type(value)
    assert snapshot(found) == snapshot(value)
    if isinstance(value, np.ndarray):
        assert found.flags.f_contiguous == value.flags.f_contiguous and found.flags.writeable


@pytest.mark.parametrize(
    "value", [operator.add, collections.OrderedDict, np.linalg.norm, math, len, np.float32, int.bit_length]
)
def test_importable_objects_are_imported(value: object) -> None:
    assert define(Region().graph(Const(value), name="f"))["f"]() is value


def test_support_code_is_pasted_in() -> None:
    r = Region(x=OBJECT)
    pair = r.add("py.unpack", r.params[0], 2)
    value = r.add("py.bound", r.add("getitem", pair, 0), "name")
    graph = r.graph(value, name="f")
    run = define(graph)["f"]
    assert run([1, 2]) == 1
    with pytest.raises(ValueError, match="not enough values to unpack"):
        run([1])
    graph = Region()
    missing = graph.add("py.bound", Const(unbound("y")), "y")
    with pytest.raises(UnboundLocalError, match="'y'"):
        define(graph.graph(missing, name="f"))["f"]()


@pytest.mark.parametrize(
    "value",
    [object(), lambda x: x, np.zeros(2000), np.array([object()]), Level.LOW, sys.modules[__name__]],
    ids=["object", "function", "large", "objects", "enum", "module"],
)
def test_what_cannot_be_written_is_named_with_the_users_line(value: object) -> None:
    r = Region(x=WEAK_INT)
    graph = r.graph(r.add("py.tuple", Const(value, "thing"), r.params[0], line=12), name="f")
    with pytest.raises(ExportError, match="(thing|<lambda>).*can't be written(.|\n)*prog.py:12"):
        export(graph)


def test_another_name() -> None:
    r = Region(x=WEAK_INT)
    assert "def other(x):" in export(r.graph(r.params[0], name="f"), "other")
