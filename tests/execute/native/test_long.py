"""Long functions: what is written once for all places, and in fewer forms than in short ones."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native import llvm_load
from runtime.execute.native.executor import unavailable
from runtime.execute.native.host import vector_bytes
from runtime.execute.native.vector_math import possible
from tests.sharing import usually

pytestmark = pytest.mark.skipif(bool(unavailable()) or not possible(), reason=unavailable() or "no FMA")


def program(path: pathlib.Path, steps: int) -> Callable[..., Any]:
    """A function of steps with loops over pairs of arrays, and then over one array each."""
    lines = ["import numpy as np", "", "def f(x, y):"]
    lines += [f"    x = np.tanh(x) * 0.5 + y - np.mean(y * {k}.5 + x)" for k in range(steps)]
    lines += [
        f"    y = np.tanh(np.tanh(x * 0.{k + 1})) - np.max(x)\n    x = y[::-1].copy()" for k in range(4)
    ]
    path.write_text("\n".join([*lines, "    return x", ""]))
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    found: Callable[..., Any] = names["f"]
    return found


@pytest.mark.parametrize(("steps", "wider"), [(4, True), (40, False)])
@usually()
def test_mathematical_functions_have_fewer_forms(tmp_path: pathlib.Path, steps: int, wider: bool) -> None:
    plain = program(tmp_path / "program.py", steps)
    x, y = np.linspace(-3.0, 3.0, 256), np.linspace(-1.0, 2.0, 256)
    with settings.override(executor="native", compile="now", math="fast", cache_dir="off"):
        f = ag.function(plain)
        np.testing.assert_allclose(f(x, y), plain(x, y), rtol=1e-12, atol=1e-14)
        text = f.get_concrete_function(x, y).native_ir
    widths = set(map(int, re.findall(r"define internal \S+ x double> @tanh_(\d+)x", text)))
    assert len(widths) > 1 and (max(widths) == 4 * vector_bytes() // 8) == wider


@pytest.mark.parametrize("shape", [(), (37,), (64, 3)])
def test_loops_of_very_long_functions_count_plainly(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    """LLVM is kept from looking for other addresses in them; results are NumPy's as ever."""
    plain = program(tmp_path / "program.py", 60)
    compiled, given = llvm_load._plainly_counted, []

    def noted(text: str) -> str:
        given.append((text, compiled(text)))
        return given[-1][1]

    monkeypatch.setattr(llvm_load, "_plainly_counted", noted)
    monkeypatch.setattr(llvm_load, "VERY_LONG", 300)
    random = np.random.default_rng(2)
    x, y = random.normal(size=shape or 1024), random.normal(size=shape or 1024)
    with settings.override(executor="native", compile="now", cache_dir="off", math="exact"):
        assert np.array_equal(ag.function(plain)(x, y), plain(x, y))
    ((before, after),) = given
    loops = len(re.findall(r"br label %each\d+$", before, re.MULTILINE)) // 2
    assert loops > 60
    assert after.count(".next = add nuw nsw i64") >= loops * 0.9
