"""Native code is what is tested here, whichever executor all other tests are given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime.config import settings
from runtime.execute.native.executor import unavailable


@pytest.fixture(autouse=True)
def natively(request: pytest.FixtureRequest) -> Iterator[None]:
    """Plans alone have nothing to do with these tests (`python -m tests.each_executor`)."""
    if unavailable() and not request.node.path.name.startswith("test_without"):
        pytest.skip(unavailable())
    with settings.override(executor="auto" if settings.executor == "numpy" else settings.executor):
        yield
