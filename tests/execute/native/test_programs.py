"""Random numerical programs: native code against plain Python, with warnings, exceptions and writes."""

from __future__ import annotations

import importlib.util
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from runtime.function.concrete import MISTAKE
from tests.execute.native.harness import seen
from tests.execute.native.programs import calls, source

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


def load(path: pathlib.Path, text: str) -> Callable[..., Any]:
    """The program of a module's text, from a file."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program  # type: ignore[no-any-return]


def check(seed: int, folder: pathlib.Path, **errors: Any) -> tuple[int, int, list[str]]:
    """Compare one program; (calls done by native code, calls in all, why not native)."""
    text = source(seed)
    program = load(folder / f"program{seed}.py", text)
    plain = load(folder / f"plain{seed}.py", text)
    native = total = 0
    reasons = []
    with settings.override(executor="native", compile="now"):
        converted = ag.function(program)
        for args in calls(seed):
            wanted, found = seen(plain, args, **errors), seen(converted, args, **errors)
            assert found == wanted, f"seed {seed}, {args}\n{text}\nnative {found}\npython {wanted}"
            total += 1
        for record in converted.traces:
            concrete = record.concrete
            if concrete is None:
                reasons.append(str(record.plain))
            elif concrete.native is None:
                assert MISTAKE not in concrete.not_native and "LLVM" not in concrete.not_native, text
                reasons.append(concrete.not_native)
            else:
                native += concrete.native.calls - concrete.native.bails
    return native, total, reasons


@pytest.mark.parametrize("first", range(0, 36, 12))
def test_programs(first: int, tmp_path: pathlib.Path) -> None:
    done = [check(seed, tmp_path) for seed in range(first, first + 12)]
    assert sum(native for native, _, _ in done) > 0
