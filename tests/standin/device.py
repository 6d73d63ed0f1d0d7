"""The machine below the stand-in arrays: devices, memory, streams, captured graphs, and the account of
host synchronisations.

Always holds: every way in which a value reaches the host goes through `synchronise`, which counts it,
refuses it inside `forbid_sync`, and refuses it while the current stream is being captured.
"""

from __future__ import annotations

import contextlib
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

DEVICES = 2
RED_ZONE = 64  # bytes before and behind each allocation
POISON = 0xCB  # what fresh memory holds, so that reads of unwritten memory show
CAPTURE_REFUSAL = "the current stream is capturing, so D2H transfers are disallowed"


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime."""


class PerformanceWarning(RuntimeWarning):
    """A step that works but is slow, such as one that reads another device's memory."""


class SyncForbidden(RuntimeError):
    """A host synchronisation happened where the test allows none."""


class State(threading.local):
    """What is current in this thread, and what happened in it so far."""

    def __init__(self) -> None:
        self.device = 0
        self.stream: Stream | None = None
        self.sync_allowed = True
        self.syncs: list[str] = []
        self.launches = 0


STATE = State()


def synchronise(what: str) -> None:
    """Account for one wait of the host for the device."""
    if captured_stream() is not None:
        raise RuntimeError(CAPTURE_REFUSAL)
    if not STATE.sync_allowed:
        raise SyncForbidden(f"host synchronisation: {what}")
    STATE.syncs.append(what)


@contextlib.contextmanager
def forbid_sync() -> Iterator[None]:
    """Inside, every host synchronisation raises `SyncForbidden`."""
    before, STATE.sync_allowed = STATE.sync_allowed, False
    try:
        yield
    finally:
        STATE.sync_allowed = before


@contextlib.contextmanager
def counting_syncs() -> Iterator[list[str]]:
    """Collects the synchronisations that happen inside."""
    start = len(STATE.syncs)
    seen: list[str] = []
    try:
        yield seen
    finally:
        seen.extend(STATE.syncs[start:])


class Buffer:
    """One device allocation: poisoned inside, red zones round it."""

    def __init__(self, nbytes: int) -> None:
        self.raw = np.full(nbytes + 2 * RED_ZONE, POISON, np.uint8)
        self.nbytes = nbytes
        self.device = STATE.device

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any], order: str) -> np.ndarray[Any, Any]:
        layout: Any = "F" if order == "F" else "C"
        memory = self.raw[RED_ZONE : RED_ZONE + self.nbytes]
        array: np.ndarray[Any, Any] = np.ndarray(
            shape, dtype, memory.data if self.nbytes else None, order=layout
        )
        return array

    def check(self) -> None:
        """Raise if anything was written outside the allocation."""
        edges = self.raw[:RED_ZONE], self.raw[RED_ZONE + self.nbytes :]
        if any((edge != POISON).any() for edge in edges):
            raise CUDARuntimeError("cudaErrorIllegalAddress: something wrote outside its buffer")


class Graph:
    """The steps of a capture, to be run again on the same buffers."""

    def __init__(self, steps: list[Callable[[], None]]) -> None:
        self._steps = steps

    def launch(self, stream: Stream | None = None) -> None:
        for step in self._steps:
            step()


class Stream:
    """Work runs at once, but asynchronous copies to the host land only at the next synchronisation."""

    null: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        self.ptr = 0 if null else id(self)
        self.device_id = STATE.device
        self.pending: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        self.captured: list[Callable[[], None]] | None = None
        self._before: list[Stream | None] = []

    def __enter__(self) -> Stream:
        self._before.append(STATE.stream)
        return self.use()

    def __exit__(self, *exc: object) -> None:
        STATE.stream = self._before.pop()

    def use(self) -> Stream:
        STATE.stream = self
        return self

    def synchronize(self) -> None:
        synchronise("stream.synchronize()")
        for target, values in self.pending:
            target[...] = values
        self.pending.clear()

    def begin_capture(self, mode: int | None = None) -> None:
        if self.ptr == 0:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        self.captured = []

    def end_capture(self) -> Graph:
        if self.captured is None:
            raise CUDARuntimeError("cudaErrorIllegalState: the stream is not capturing")
        steps, self.captured = self.captured, None
        return Graph(steps)

    def is_capturing(self) -> bool:
        return self.captured is not None

    def record(self, event: Event | None = None) -> Event:
        return Event() if event is None else event

    def wait_event(self, event: Event) -> None:
        """Streams run at once here, so there is nothing to wait for."""


Stream.null = Stream(null=True)


class Event:
    """A mark in a stream."""

    def record(self, stream: Stream | None = None) -> None:
        """Streams run at once here, so there is nothing to note."""

    def synchronize(self) -> None:
        synchronise("event.synchronize()")


class Device:
    """One of the `DEVICES` devices; as a context manager, the current one."""

    def __init__(self, device: int | None = None) -> None:
        self.id = STATE.device if device is None else int(device)
        self._before: list[int] = []

    def __enter__(self) -> Device:
        self._before.append(STATE.device)
        self.use()
        return self

    def __exit__(self, *exc: object) -> None:
        STATE.device = self._before.pop()

    def use(self) -> None:
        if not 0 <= self.id < DEVICES:
            raise CUDARuntimeError("cudaErrorInvalidDevice: invalid argument")
        STATE.device = self.id

    def synchronize(self) -> None:
        synchronise("device.synchronize()")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __int__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


def captured_stream() -> Stream | None:
    """The current stream if it is being captured."""
    stream = STATE.stream
    return stream if stream is not None and stream.captured is not None else None


def launch(step: Callable[[], None]) -> None:
    """Run a step on the device, or add it to the capture under way (it then runs when replayed)."""
    stream = captured_stream()
    if stream is None:
        STATE.launches += 1
        step()
    else:
        assert stream.captured is not None
        stream.captured.append(step)


def refuse_capture(what: str) -> None:
    """Calls into CUDA's libraries can't be captured."""
    if captured_stream() is not None:
        raise NotImplementedError(f"calling {what} during stream capture is currently unsupported")


def cuda_module() -> types.ModuleType:
    """`cupy.cuda`, as far as it goes."""
    module = types.ModuleType("cupy.cuda")
    runtime = types.SimpleNamespace(
        getDeviceCount=lambda: DEVICES,
        getDevice=lambda: STATE.device,
        setDevice=lambda device: Device(device).use(),
        deviceSynchronize=lambda: synchronise("deviceSynchronize()"),
        CUDARuntimeError=CUDARuntimeError,
    )
    module.__dict__.update(
        Stream=Stream,
        Event=Event,
        Graph=Graph,
        Device=Device,
        runtime=runtime,
        is_available=lambda: True,
        get_current_stream=lambda device_id=None: STATE.stream or Stream.null,
    )
    return module
