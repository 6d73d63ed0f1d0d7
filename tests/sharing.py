"""Every loop that can be shared is, however small, by more threads than there are processors.

    python -m pytest -p tests.sharing tests/execute/native

In: the tests.  Out: at their end, how many loops were shared; an error if none was.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from runtime import threads
from runtime.config import settings
from runtime.execute.native import pool, pool_ir

THREADS = 5
ALL = (0, 0, 0, 1)


def bounds(wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Set from how many nanoseconds of work on a loop is shared, and how many make a part; what it was."""
    words = pool.pool().words
    before = (pool_ir.HOT, words["hot"].value, words["cold"].value, words["least"].value)
    pool_ir.HOT, words["hot"].value, words["cold"].value, words["least"].value = wanted
    return before


@contextlib.contextmanager
def sharing(count: int = THREADS) -> Iterator[pool.Pool]:
    """So many threads share whatever is compiled and run inside."""
    before = bounds(ALL)
    try:
        with settings.override(num_threads=count):
            yield pool.pool()
    finally:
        bounds(before)


_usual: list[tuple[int, ...]] = []  # what holds without this plugin


@contextlib.contextmanager
def usually() -> Iterator[None]:
    """Loops are shared as they are without this plugin: for tests of the text of loops that are not."""
    before = bounds(_usual[0]) if _usual else None
    try:
        yield
    finally:
        if before is not None:
            bounds(before)


def pytest_configure() -> None:
    """Before any module is compiled."""
    _usual.append(bounds(ALL))
    threads.set_num_threads(THREADS)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was seen."""
    found = pool.pool().jobs
    terminalreporter.write_line(f"{found} loops were shared by {threads.get_num_threads()} threads")
    assert found, "nothing was shared"
