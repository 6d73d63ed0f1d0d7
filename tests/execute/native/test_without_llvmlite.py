"""llvmlite is missing, too old or broken: calls run on the plan, and `ag.explain` says why."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

MISSING = "import sys\nsys.modules['llvmlite'] = None\n"
STAND_INS = {
    "missing": None,
    "broken": "raise OSError('libstdc++ is too old')\n",
    "old": "__version__ = '0.44.0'\n",
    "half": "__version__ = '0.50.0'\n",  # without a binding
}
WHY = {
    "missing": "llvmlite is not installed",
    "broken": "libstdc++ is too old",
    "old": "llvmlite 0.44.0 is too old: it must be 0.45 or newer",
    "half": "llvmlite can't be used",
}
PROGRAM = """
import numpy as np
import autograph as ag

@ag.function
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s

@ag.function
def chain(x):
    return (x * 2.0 + 1.0) / (x * x + 1.0) - x

x = np.arange(5.0)
assert total(x) == 30.0 and total(x) == 30.0
assert chain(x).tolist() == ((x * 2.0 + 1.0) / (x * x + 1.0) - x).tolist()
for function in (total, chain):
    (trace,) = ag.explain(function).traces
    function.traces[0].concrete.native
    print(trace.executor)
    print(function.traces[0].concrete.executor, function.traces[0].concrete.not_native)
"""


def run(text: str, folder: pathlib.Path, kind: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    stand_in = STAND_INS[kind]
    if stand_in is not None:
        (folder / "llvmlite").mkdir()
        (folder / "llvmlite" / "__init__.py").write_text(stand_in)
    script = folder / "script.py"
    script.write_text((MISSING if stand_in is None else "") + text)
    paths = os.pathsep.join([str(folder), os.getcwd()])
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        env=os.environ | {"PYTHONPATH": paths, "AUTOGRAPH_CACHE_DIR": "off", "AUTOGRAPH_EXECUTOR": "auto"},
    )


@pytest.mark.parametrize("when", ["now", "background"])
@pytest.mark.parametrize("kind", STAND_INS)
def test_the_plan_does_it(
    kind: str, when: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOGRAPH_COMPILE", when)
    done = run(PROGRAM, tmp_path, kind)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    for told, after in (lines[:2], lines[2:]):
        assert told.startswith("on NumPy, not as native code: ")
        assert after.startswith("numpy ") and WHY[kind] in after


TESTS = ("tests/trace/test_control_flow.py", "tests/execute/test_guarded.py")


def test_tests_pass(tmp_path: pathlib.Path) -> None:
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *TESTS]
    text = f"if __name__ == '__main__':\n    import pytest\n    sys.exit(pytest.main({arguments!r}))\n"
    done = run(text, tmp_path, "missing")
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
