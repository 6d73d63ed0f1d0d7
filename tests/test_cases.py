"""The conformance cases of ../shared/cases, where that folder is present: plain CPython is the oracle.

Language cases are judged by the folder's own `run.py`, cases drawn from public reports, those on
gradients too, by its `selfcheck.py`.
"""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys
import types
import warnings
from typing import Any

import pytest

import autograph
from tests.property.oracle import TooLong, time_limit

CASES = pathlib.Path(__file__).resolve().parent.parent.parent / "shared" / "cases"
PRESENT = CASES.is_dir()
SECONDS = 20.0

# name -> reason.  A case listed here that passes fails the run: the table may only shrink.
EXPECTED_FAILURES: dict[str, str] = {}


def harness(path: pathlib.Path, name: str) -> types.ModuleType:
    """A module of the cases folder; it finds its neighbours by its own sys.path entry."""
    before = list(sys.path)
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path[:] = before


def language_cases() -> list[Any]:
    if not PRESENT:
        return []
    run = harness(CASES / "language" / "run.py", "conformance_run")
    return [pytest.param(run, case, id=f"{topic}.{case.name}") for topic, case in run.all_cases()]


def report_files() -> list[pathlib.Path]:
    files = sorted((CASES / "reports").glob("*.py")) if PRESENT else []
    return [path for path in files if path.name != "selfcheck.py"]


def is_gradient(path: pathlib.Path) -> bool:
    return re.search(r"(?m)^# check: grad", path.read_text()) is not None


def judge(request: pytest.FixtureRequest, problem: str | None) -> None:
    """Fail on a problem, unless it is in the table; then failing is what is expected."""
    reason = EXPECTED_FAILURES.get(request.node.callspec.id)
    if reason is None:
        assert not problem, problem
    elif problem:
        pytest.xfail(f"{reason}: {problem}")
    else:
        pytest.fail("this case passes now: take it out of EXPECTED_FAILURES")


def test_cases_are_present() -> None:
    if not PRESENT:
        pytest.skip(f"the conformance cases are not here ({CASES})")


@pytest.mark.parametrize(("run", "case"), language_cases())
def test_language(run: Any, case: Any, request: pytest.FixtureRequest) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cases warn on purpose, on both sides
        status, detail = run.timed(case, autograph.function, SECONDS)
    judge(request, None if status == "pass" else f"{status}: {detail}")


@pytest.mark.parametrize("path", [p for p in report_files() if not is_gradient(p)], ids=lambda p: p.stem)
def test_report(path: pathlib.Path, request: pytest.FixtureRequest) -> None:
    check = harness(CASES / "reports" / "selfcheck.py", "conformance_selfcheck")
    try:
        with time_limit(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = check.check_value(check.load(path), autograph.function)
    except TooLong as late:
        problem = str(late)
    judge(request, problem)


@pytest.mark.parametrize("path", [p for p in report_files() if is_gradient(p)], ids=lambda p: p.stem)
def test_gradient_report(path: pathlib.Path, request: pytest.FixtureRequest) -> None:
    check = harness(CASES / "reports" / "selfcheck.py", "conformance_selfcheck")
    header = re.search(r"(?m)^# check: grad (\d+)$", path.read_text())
    assert header is not None
    with time_limit(SECONDS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = check.check_grad(check.load(path), int(header[1]), autograph.function, autograph.grad)
    judge(request, problem)
