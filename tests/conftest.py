"""Marks and counts: `gpu` tests are skipped, and counted in the summary, where there is no device."""

from __future__ import annotations

import functools
import gc
import importlib
import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest

from runtime import mistakes
from runtime.config import settings
from runtime.execute.native import llvm_load

# Calls wait for native code, which is compiled anew: what a test sees must not depend on time or on the disk.
for _name, _value in (("compile", "now"), ("cache_dir", "off")):
    setattr(settings, _name, os.environ.setdefault(f"AUTOGRAPH_{_name.upper()}", _value))
settings.math = "exact"  # plain NumPy is the oracle, to the last bit; tests of fast math say so themselves
# The same text is the same code: a third of what tests compile, they have compiled a moment before.
llvm_load._compiled = functools.lru_cache(128)(llvm_load._compiled)
MANY, _ended = 100, itertools.count(1)
NO_DEVICE = "needs CuPy and a CUDA device"


@functools.cache
def has_device() -> bool:
    """Whether a real CuPy can reach a device: an import that works is not enough."""
    try:
        cupy = importlib.import_module("cupy")
        return hasattr(cupy, "cuda") and cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:  # no CuPy, no driver, no device: each library layer has its own error
        return False


@pytest.fixture(autouse=True)
def no_mistakes() -> Iterator[None]:
    """No test passes on the slower way that a mistake of ours leaves; a test that makes one takes it off."""
    mistakes.KEPT.clear()
    yield
    assert not mistakes.KEPT, "\n".join(mistakes.KEPT)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-snapshots", action="store_true", help="write the kept texts anew")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not has_device():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=NO_DEVICE))


def pytest_collection_finish() -> None:
    """Thousands of tests and their modules stay to the end: each full collection would look at them again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_teardown() -> None:
    """So do their reports, and what is cached."""
    if next(_ended) % MANY == 0:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """No process waits while another one has tests left."""
    return importlib.import_module("xdist.scheduler").WorkStealingScheduling(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(NO_DEVICE in str(report.longrepr) for report in skipped)
    terminalreporter.write_line(f"gpu tests not run: {count}")
