"""What the stand-in adds so that mistakes show: accounts, poison, red zones, strict streams."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.standin import device, module
from tests.standin.array import ndarray

cp: Any = module.build()


def test_syncs_are_counted_and_can_be_forbidden() -> None:
    x = cp.asarray(np.arange(4.0))
    with device.counting_syncs() as seen:
        if x.sum() > 5:
            x[x > 1].get()
    assert seen == ["bool()", "boolean index", "get()"]
    with device.forbid_sync():
        total = (x * 2).sum() + x[0]
        with pytest.raises(device.SyncForbidden, match="float"):
            float(total)
    assert float(total) == 12


def test_single_elements_are_views() -> None:
    x = cp.zeros(3)
    element = x[1]
    assert type(element) is ndarray and element.ndim == 0
    element[...] = 7
    assert x.tolist() == [0, 7, 0]


def test_in_place_operators_write_through_views() -> None:
    x = cp.asarray(np.arange(6.0).reshape(2, 3))
    row = x[1]
    row += 10
    row *= x[0]
    assert x.get().tolist() == [[0, 1, 2], [0, 14, 30]]


def test_fresh_memory_is_poisoned() -> None:
    assert set(cp.empty(8, "u1").tolist()) == {device.POISON}


def test_writes_outside_a_buffer_are_found() -> None:
    x = cp.zeros(4, "u1")
    x._buffer.raw[device.RED_ZONE + 4] = 0
    with pytest.raises(device.CUDARuntimeError, match="outside its buffer"):
        x.get()


def test_conversion_saturates() -> None:
    x = cp.asarray(np.array([np.nan, np.inf, -np.inf, 300.0, -1.5]))
    assert x.astype("u1").tolist() == [0, 255, 0, 255, 0]
    assert x.astype("i4").tolist() == [0, 2**31 - 1, -(2**31), 300, -1]
    assert x.astype("i8").tolist() == [0, 2**63 - 1, -(2**63), 300, -1]


def test_of_writes_to_the_same_place_any_may_win() -> None:
    winners = set()
    for _ in range(40):
        x = cp.zeros(1)
        x[cp.zeros(5, "i8")] = cp.arange(5)
        winners.add(float(x[0]))
    assert len(winners) > 1


def test_capture_records_and_replays_on_the_same_buffers() -> None:
    stream = cp.cuda.Stream(non_blocking=True)
    x, y = cp.asarray(np.arange(3.0)), cp.zeros(3)
    with stream:
        stream.begin_capture()
        double = x * 2
        cp.add(double, 1, out=y)
        y[0] = x[2]
        graph = stream.end_capture()
    assert y.tolist() == [0, 0, 0]
    graph.launch()
    assert y.tolist() == [2, 3, 5]
    x += 1
    graph.launch()
    assert y.tolist() == [3, 5, 7]


def test_library_calls_are_not_captured() -> None:
    stream, x = cp.cuda.Stream(), cp.ones((2, 2))
    calls: list[Callable[[], Any]] = [
        lambda: x @ x,
        lambda: x.sort(),
        lambda: cp.linalg.solve(x, x),
        lambda: cp.fft.fft(x),
    ]
    for call in calls:
        with stream:
            stream.begin_capture()
            with pytest.raises(NotImplementedError, match="capture"):
                call()
            stream.end_capture()


def test_asynchronous_copies_land_late() -> None:
    stream, host = cp.cuda.Stream(), np.zeros(2)
    cp.ones(2).get(stream=stream, out=host, blocking=False)
    assert host.tolist() == [0, 0]
    stream.synchronize()
    assert host.tolist() == [1, 1]


def test_devices_own_their_arrays() -> None:
    with cp.cuda.Device(1):
        x = cp.ones(2)
        y = x + 1
    assert x.device.id == y.device.id == 1
    with pytest.warns(device.PerformanceWarning, match="different from the current"):
        x + 1
    with warnings.catch_warnings(), x.device:
        warnings.simplefilter("error")
        x.sum()


def test_numpy_functions_dispatch() -> None:
    x = cp.asarray(np.eye(2))
    for result in (np.sum(x), np.linalg.norm(x), np.fft.fft(x), np.add.reduce(x), np.where(x > 0, x, 1)):
        assert type(result) is ndarray
    with pytest.raises(TypeError):
        np.insert(x, 0, 1)


def test_views_stay_views_and_copies_copies() -> None:
    x = cp.zeros((2, 2))
    views: list[Any] = [
        np.transpose(x),
        x.ravel(),
        cp.expand_dims(x, 0),
        x[:, 1:],
        cp.broadcast_to(x, (3, 2, 2)),
    ]
    for view in views:
        assert np.shares_memory(view._values, x._values)
    for copy in (x.copy(), x.flatten(), x.astype(float), x.round(), cp.clip(x, 0, 1), x[[0]], x + 0):
        assert not np.shares_memory(copy._values, x._values)


def test_installed_only_inside() -> None:
    before = sys.modules.get("cupy")
    with module.installed() as standin:
        assert sys.modules["cupy"] is standin
    assert sys.modules.get("cupy") is before
