"""Native code that is made in the background: what runs meanwhile, what takes over, what can go wrong."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime import background, mistakes
from runtime.config import settings
from runtime.execute.native import executor
from runtime.function.concrete import COMPILING, MISTAKE

native = pytest.mark.skipif(bool(executor.unavailable()), reason="native code")


def chain(x: Any, y: Any) -> Any:
    return (x * y + 1.5) / (x - y) - x * 3.25 + y


def loop(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += x[i] * 1.5
    return s


class Gate:
    """Holds back what is done in the background until it is opened."""

    def __init__(self) -> None:
        self.event = threading.Event()
        background.Job(self.event.wait).submit()  # type: ignore[arg-type]

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *error: object) -> None:
        self.event.set()


def made(function: Any, *args: Any) -> tuple[Any, Any]:
    converted = ag.function(function)
    converted(*args)
    return converted, converted.traces[-1].concrete


@native
def test_the_plan_runs_until_native_code_takes_over() -> None:
    x, y = np.arange(5.0), np.arange(5.0) + 0.5
    with settings.override(executor="auto", compile="background", math="fast"):
        with Gate():
            f, concrete = made(chain, x, y)
            assert (concrete.executor, concrete.not_native, concrete.pending) == ("numpy", COMPILING, True)
            assert ag.explain(f).traces[0].executor == f"on NumPy, not as native code: {COMPILING}"
            assert f(x, y).tobytes() == chain(x, y).tobytes()
        assert concrete.native is not None
        assert (concrete.executor, concrete.not_native, concrete.pending) == ("native", "", False)
        assert ag.explain(f).traces[0].executor == "as native code"
        deadline = time.monotonic() + 10
        before = concrete.native.calls
        while concrete.native.calls == before and time.monotonic() < deadline:
            assert f(x, y).tobytes() == chain(x, y).tobytes()
        assert concrete.native.calls > before
        assert concrete(x, y).tobytes() == chain(x, y).tobytes()


@native
def test_who_asks_for_native_code_does_it_at_once() -> None:
    x = np.arange(5.0)
    with settings.override(executor="auto", compile="background", math="fast"), Gate():
        _, concrete = made(chain, x, x + 0.5)
        assert concrete.native is not None and concrete.executor == "native"


@native
@pytest.mark.parametrize("values", [{"compile": "now"}, {"math": "exact"}])
def test_calls_wait(values: dict[str, Any]) -> None:
    x = np.arange(5.0)
    with settings.override(**{"executor": "auto", "compile": "background", "math": "fast"} | values), Gate():
        assert made(chain, x, x + 0.5)[1].executor == "native"


@native
def test_loops_wait() -> None:
    with settings.override(executor="auto", compile="background", math="fast"), Gate():
        assert made(loop, np.arange(50.0))[1].executor == "native"


@native
@pytest.mark.parametrize(
    ("processors", "size", "by"), [(1, 1 << 18, "native"), (1, 5, "numpy"), (2, 1 << 18, "numpy")]
)
def test_long_calls_wait_where_there_is_one_processor(
    monkeypatch: pytest.MonkeyPatch, processors: int, size: int, by: str
) -> None:
    monkeypatch.setattr(executor, "available", lambda: processors)
    x = np.arange(float(size))
    with settings.override(executor="auto", compile="background", math="fast"), Gate():
        concrete = made(chain, x, x + 0.5)[1]
        assert concrete.executor == by
        assert concrete.native is not None  # nothing is left to be done while other tests run


@native
def test_a_mistake_while_compiling_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(executor, "lower", fail)
    x, y = np.arange(5.0), np.arange(5.0) + 0.5
    with settings.override(executor="auto", compile="background", math="fast"):
        f, concrete = made(chain, x, y)
        assert concrete.native is None
        assert concrete.not_native == f"{MISTAKE}: ZeroDivisionError: ours"
        assert "ZeroDivisionError: ours" in mistakes.KEPT.pop()
        assert f(x, y).tobytes() == chain(x, y).tobytes()


@native
def test_arrays_in_another_order_get_code_of_their_own() -> None:
    x, y = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4) + 0.5
    with settings.override(executor="auto", compile="background", math="fast"):
        f, concrete = made(chain, x, y)
        assert concrete.native is not None
        for a in (x, x.T.copy().T, x[::-1], x):
            for _ in range(20):
                assert f(a, y).tolist() == chain(a, y).tolist()
                time.sleep(0.005)


def test_jobs_are_done_once_and_in_order() -> None:
    done: list[int] = []
    with Gate():
        jobs = [background.Job(lambda k=k: done.append(k)) for k in range(20)]  # type: ignore[misc]
        for job in jobs:
            job.submit()
        jobs[7].finish()
        assert done == [7] and jobs[7].done and not jobs[8].done
    for job in jobs:
        job.finish()
    assert done == [7, *(k for k in range(20) if k != 7)]


def test_many_threads_finish_one_job() -> None:
    done: list[int] = []

    def work() -> None:
        time.sleep(0.01)
        done.append(1)

    for _ in range(20):
        job = background.Job(work)
        threads = [threading.Thread(target=job.finish) for _ in range(8)]
        job.submit()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert job.done
    assert len(done) == 20


def test_a_job_that_asks_for_itself() -> None:
    jobs: list[background.Job] = []
    job = background.Job(lambda: jobs[0].finish())
    jobs.append(job)
    job.finish()
    assert job.done


def test_the_thread_ends_when_nothing_is_left() -> None:
    job = background.Job(lambda: None)
    job.submit()
    job.finish()
    deadline = time.monotonic() + 10
    while any(t.name == "autograph-background" for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_job_that_raises_does_not_keep_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    bad = background.Job(lambda: [][1])
    bad.submit()
    deadline = time.monotonic() + 10
    while not told and time.monotonic() < deadline:
        time.sleep(0.001)
    assert told[0].exc_type is IndexError
    done = threading.Event()
    background.Job(done.set).submit()
    assert done.wait(10)


def test_a_signal_handler_that_needs_a_job_while_another_is_handed_in() -> None:
    with background._STATE.lock:
        background.Job(lambda: None).finish()


def test_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object) -> None:
        raise RuntimeError("can't start new thread")

    done: list[int] = []
    job = background.Job(lambda: done.append(1))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        job.submit()
    assert not job.done
    job.finish()
    assert done == [1]
    other = background.Job(lambda: done.append(2))
    other.submit()
    other.finish()
    assert done == [1, 2]


@native
def test_nothing_is_kept() -> None:
    with settings.override(executor="auto", compile="background", math="fast"):
        f, concrete = made(chain, np.arange(5.0), np.arange(5.0) + 0.5)
        assert concrete.native is not None
        gone = weakref.ref(concrete), weakref.ref(f)
        time.sleep(0.05)
        del f, concrete
        deadline = time.monotonic() + 10
        while any(ref() is not None for ref in gone):
            gc.collect()
            assert time.monotonic() < deadline
