"""The `machine` that the tests of this folder run on: the stand-in always, a device where there is one."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.standin import device, module


@dataclasses.dataclass(frozen=True)
class Machine:
    """A CuPy and what is known of it."""

    cupy: Any
    real: bool

    def upload(self, value: Any) -> Any:
        """The value with every NumPy array in it (tuples too) moved to the device."""
        if isinstance(value, tuple):
            return tuple(map(self.upload, value))
        return self.cupy.asarray(value) if isinstance(value, np.ndarray) else value

    def download(self, value: Any) -> Any:
        """The other way, by `get`."""
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.download, value))
        return value.get() if isinstance(value, self.cupy.ndarray) else value

    @contextlib.contextmanager
    def syncs(self, expected: int) -> Iterator[None]:
        """Inside, the host waits for the device exactly so many times (only the stand-in can tell)."""
        if self.real:
            yield
            return
        with device.counting_syncs() as seen:
            yield
        assert len(seen) == expected, seen


@pytest.fixture(params=["standin", pytest.param("device", marks=pytest.mark.gpu)])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """Each test once on the stand-in and, where there is a device, once there."""
    if request.param == "device":
        yield Machine(importlib.import_module("cupy"), real=True)
        return
    with module.installed() as standin:
        yield Machine(standin, real=False)
