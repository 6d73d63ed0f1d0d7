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
_BOUNDS = ("hot", "cold", "least")


@contextlib.contextmanager
def sharing(count: int = THREADS) -> Iterator[pool.Pool]:
    """So many threads share whatever is compiled and run inside."""
    words, before = pool.pool().words, pool_ir.HOT
    kept = [words[name].value for name in _BOUNDS]
    pool_ir.HOT = 0
    for name, value in zip(_BOUNDS, (0, 0, 1), strict=True):
        words[name].value = value
    try:
        with settings.override(num_threads=count):
            yield pool.pool()
    finally:
        pool_ir.HOT = before
        for name, value in zip(_BOUNDS, kept, strict=True):
            words[name].value = value


_FOR_GOOD = contextlib.ExitStack()


def pytest_configure() -> None:
    """Before any module is compiled."""
    _FOR_GOOD.enter_context(sharing())


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was seen."""
    found = pool.pool().jobs
    terminalreporter.write_line(f"{found} loops were shared by {threads.get_num_threads()} threads")
    assert found, "nothing was shared"
