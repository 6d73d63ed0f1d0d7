"""Traces of which it is not certain that they are quicker than Python: who does their calls is found out."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.function import weighing
from runtime.function.weighing import TURNS, verdict


@pytest.fixture(autouse=True)
def _auto() -> Iterator[None]:
    with ag.settings.override(executor="auto", compile="now"):
        yield


class Queue:
    """A class that native code knows nothing of."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.log: list[str] = []

    def push(self, item: Any) -> None:
        self.items.append(item)
        self.log.append(traceback.extract_stack(limit=3)[0].name)

    def pop(self) -> Any:
        if not self.items:
            raise IndexError("empty")
        return self.items.pop(0)


def served(xs: Any, queue: Any) -> Any:
    found = []
    for k, x in enumerate(xs):
        queue.push(x)
        if k % 3 == 2:
            try:
                found.append(queue.pop() + queue.pop())
            except IndexError:
                pass
    return np.array(found), len(queue.items)


class Clock:
    """Seconds that go by as told: each look at the clock lets those pass that the last call took."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, python: float, ours: float) -> None:
        self.now, self.python, self.ours = 0.0, python, ours
        self.by_python: list[bool] = []
        self.looks = 0
        monkeypatch.setattr(weighing.time, "perf_counter", self.look)

    def look(self) -> float:
        self.looks += 1
        if self.looks % 2 == 0:
            self.now += self.python if self.by_python and self.by_python[-1] else self.ours
        return self.now


def watched(function: Callable[..., Any], clock: Clock) -> Any:
    """The function, converted; the clock is told who does each of its calls."""
    converted = ag.function(function)

    def call(*args: Any) -> Any:
        records = converted.traces
        one = records[-1].weighing if records else None
        if one is not None and not one.over:
            original, run_by_python = one.python, []

            def python(*given: Any, **named: Any) -> Any:
                run_by_python.append(True)
                clock.by_python.append(True)
                return original(*given, **named)

            one.python = python
            clock.by_python.append(False)
            try:
                return converted(*args)
            finally:
                one.python = original
        return converted(*args)

    call.converted = converted  # type: ignore[attr-defined]
    return call


@pytest.mark.parametrize(
    ("ours", "python", "found"),
    [
        ([], [], None),
        ([1.0], [], None),
        ([1.0], [4.0], False),
        ([1.0], [2.0], None),
        ([0.01], [0.04], None),
        ([0.01], [0.04, 0.05], False),
        ([0.01], [0.04, 0.005], None),
        ([1.0, 1.1], [2.0, 2.1], None),
        ([1.0, 1.1], [2.0, 2.1, 2.2], False),
        ([1.0, 1.1], [1.1, 1.2], None),
        ([1.0] * 4, [1.1] * 4, False),
        ([1.0] * 4, [1.0] * 4, False),
        ([1.0] * 4, [0.9] * 4, True),
        ([9.0, 1.0, 9.0, 9.0], [1.5, 1.5, 1.5, 1.6], False),
        ([1.0] * 3, [0.1] * 3, None),
        ([1.0, 0.1, 1.0, 1.0], [1.0, 1.0, 0.1, 1.0], False),
        ([1e-4] * 4, [0.9e-4] * 4, None),
        ([1e-4] * 5, [0.9e-4] * 5, None),
        ([1e-4] * 8, [0.9e-4] * 8, None),
        ([1e-4] * 12, [0.9e-4] * 12, True),
        ([0.9e-4] * 12, [1e-4] * 12, False),
        ([1e-4] * 4, [0.7e-4] * 4, True),
    ],
)
def test_the_verdict(ours: list[float], python: list[float], found: bool | None) -> None:
    assert verdict(ours, python) is found


def test_turns_are_even_for_calls_in_any_rhythm() -> None:
    for step in (1, 2, 4):
        groups = [TURNS[k::step] for k in range(step)]
        assert all(sum(group) * 2 == len(group) for group in groups)


@pytest.mark.parametrize(("python", "executor"), [(0.5e-3, "python"), (2e-3, "numpy"), (50e-3, "numpy")])
def test_the_quicker_one_does_the_calls(
    python: float, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, python, 1e-3)
    call = watched(served, clock)
    xs = np.arange(12.0)
    for _ in range(30):
        mine, its = Queue(), Queue()
        found, wanted = call(xs, mine), served(xs, its)
        assert found[0].tolist() == wanted[0].tolist() and found[1] == wanted[1] and mine.items == its.items
    record = call.converted.traces[-1]
    assert record.concrete.executor == executor
    told = str(ag.explain(call.converted))
    if executor == "python":
        assert "runs as plain Python: the Python function is quicker: 0.5 ms against 1 ms" in told
    else:
        assert f"weighed: it is quicker than the Python function: 1 ms against {python * 1e3:.3g} ms" in told
    assert record.weighing is None or record.by_python


def test_a_look_at_what_the_trace_relies_on_stays() -> None:
    rate = {"now": 1}

    class Box:
        def __init__(self) -> None:
            self.noted: list[Any] = []

        def note(self, x: Any) -> None:
            self.noted.append(x)

    def noted(box: Any, n: Any) -> Any:
        for _ in range(n):
            try:
                box.note(SCALE * rate["now"])
            except ValueError:
                pass
        return box.noted

    global SCALE
    f = ag.function(noted)
    for SCALE in (1, 2, 1.5, "x"):  # type: ignore[assignment]
        for k in range(15):
            rate["now"] = k
            assert f(Box(), 3) == noted(Box(), 3)


SCALE: Any = 1


def test_what_is_being_weighed_says_so() -> None:
    f = ag.function(served)
    for _ in range(3):
        f(np.arange(12.0), Queue())
    told = str(ag.explain(f))
    assert "weighed: its next calls show whether the Python function is quicker; " in told


def refused(xs: Any, queue: Any) -> Any:
    found, left = served(xs, queue)
    raise ValueError(f"{len(found)} and {left}")


@pytest.mark.parametrize(("python", "executor"), [(0.5e-3, "python"), (2e-3, "numpy")])
def test_calls_that_raise_are_weighed(python: float, executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = watched(refused, Clock(monkeypatch, python, 1e-3))
    xs = np.arange(12.0)
    for _ in range(30):
        queue, other = Queue(), Queue()
        with pytest.raises(ValueError, match="^4 and 4$") as found:
            call(xs, queue)
        served(xs, other)
        assert queue.items == other.items  # once, whoever did it
        assert found.traceback[-1].name == "refused"
    concrete = call.converted.traces[-1].concrete
    assert concrete.executor == executor
    which = "the Python function is quicker" if executor == "python" else "it is quicker"
    assert which in str(ag.explain(call.converted))


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_calls_that_raise_say_nothing_of_others(executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor, where there is native code, of what it would do if they got there."""
    now, verdicts = [0.0], []
    monkeypatch.setattr(weighing.time, "perf_counter", lambda: now[0])

    def takes(seconds: float, raises: bool) -> None:
        now[0] += seconds
        if raises:
            raise ValueError

    concrete: Any = Pretended(0)
    concrete.executor = executor
    one = weighing.Weighing(concrete, lambda raises: takes(1e-3 if raises else 4e-3, raises), verdicts.append)
    for k in range(60):
        raises = executor == "native" or k % 3 > 0
        try:
            one(lambda raises=raises: takes(2e-3, raises), (raises,), {})
        except ValueError:
            pass
    assert verdicts == ([False] if executor == "numpy" else [])
    one(lambda: None, (False,), {})
    assert verdicts == [False]
    wanted = (
        "60 calls did not show" if executor == "native" else "it is quicker than the Python function: 2 ms"
    )
    assert one.told.startswith(wanted)


def test_errors_and_calls_inside_others() -> None:
    depth = []

    class Maker:
        def make(self, n: int) -> Any:
            depth.append(n)
            if n == 99:
                raise ValueError("too many")
            return again(self, n - 1) if n > 0 else 0

    def made(maker: Any, n: int) -> Any:
        total = 0
        try:
            total += maker.make(n)
        except KeyError:
            total = -1
        return [total, n]

    again = ag.function(lambda maker, n: made(maker, n)[1])
    f = ag.function(made)
    for _ in range(80):
        with pytest.raises(ValueError, match="too many"):
            f(Maker(), 99)
    for n in (3, 2, 1, 0, 5) * 6:
        assert f(Maker(), n) == made(Maker(), n)


def test_threads() -> None:
    xs = np.arange(30.0)
    f, wanted, wrong = ag.function(served), served(xs, Queue()), []

    def work() -> None:
        for _ in range(40):
            found = f(xs, Queue())
            if found[0].tolist() != wanted[0].tolist() or found[1] != wanted[1]:
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert f.traces[-1].weighing is None or f.traces[-1].by_python


class Pretended:
    """A trace that is pending for so many calls."""

    def __init__(self, waits: int) -> None:
        self.waits, self.undecided, self.doubtful, self.native_calls = waits, False, True, 0

    @property
    def pending(self) -> bool:
        self.waits -= 1
        return self.waits >= 0


@pytest.mark.parametrize("held_up", range(9))
def test_one_call_that_was_held_up_decides_nothing(held_up: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whosever it is: the others show what both take."""
    now, verdicts = [0.0], []
    monkeypatch.setattr(weighing.time, "perf_counter", lambda: now[0])

    def takes(seconds: float) -> None:
        now[0] += seconds + (0.03 if k == held_up else 0.0)

    one = weighing.Weighing(Pretended(0), lambda: takes(0.5e-3), verdicts.append)  # type: ignore[arg-type]
    for k in range(1 + len(TURNS)):
        one(lambda: takes(1e-3), (), {})
    assert verdicts == [True]


@pytest.mark.parametrize("waits", [0, 1, 59, 60, 61, 1000])
def test_calls_while_native_code_is_made_do_not_count(waits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    now, verdicts = [0.0], []
    monkeypatch.setattr(weighing.time, "perf_counter", lambda: now[0])

    def takes(seconds: float) -> None:
        now[0] += seconds

    one = weighing.Weighing(Pretended(waits), lambda: takes(1e-3), verdicts.append)  # type: ignore[arg-type]
    for _ in range(waits + 1 + len(TURNS)):
        one(lambda: takes(2e-3), (), {})
    assert verdicts == [True]


def test_a_call_beside_one_that_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not weighed: there is no turn left for it."""
    verdicts: list[bool] = []
    one = weighing.Weighing(Pretended(0), lambda: "python", verdicts.append)  # type: ignore[arg-type]
    beside: list[Any] = []

    def judged(ours: list[float], python: list[float]) -> bool | None:
        if len(ours) + len(python) == len(TURNS):
            thread = threading.Thread(target=lambda: beside.append(one(lambda: "ours", (), {})))
            thread.start()
            thread.join()
            return True
        return None

    monkeypatch.setattr(weighing, "verdict", judged)
    for _ in range(1 + len(TURNS)):
        one(lambda: "ours", (), {})
    assert beside == ["ours"] and verdicts == [True]


def test_a_native_part_that_was_held_up_at_first_is_weighed_yet() -> None:
    for slow, wanted in ((1, []), (2, []), (3, [False])):
        verdicts: list[bool] = []
        one = weighing.Weighing(Pretended(0), lambda: None, verdicts.append)  # type: ignore[arg-type]
        for k in range(4):
            one.note(False, 1.0 if k < slow else 1e-5, 1)
        assert verdicts == wanted


def test_a_method_and_names_and_defaults() -> None:
    class Model:
        def __init__(self) -> None:
            self.seen: list[Any] = []

        @ag.function
        def step(self, x: Any, *, by: Any = 2) -> Any:
            for _ in range(3):
                try:
                    self.seen.append(x[0])
                except KeyError:
                    self.seen.append(by)
            return self.seen[-1], by

    for model in (Model(), Model()):
        for k in range(20):
            assert model.step({0: k}) == (k, 2)
            assert model.step(x={0: k}, by=k) == (k, k)
            assert model.step({1: k}, by=3) == (3, 3)
        assert len(model.seen) == 180


def test_native_code_alone_is_not_doubted() -> None:
    def scaled(x: Any) -> Any:
        total = 0.0
        for v in x:
            total += v * v
        return total

    f = ag.function(scaled)
    f(np.arange(50.0))
    record = f.traces[-1]
    if record.concrete.executor == "native":
        assert record.weighing is None


def spectra(x: Any, size: int) -> Any:
    w = np.hamming(size)
    frames = []
    for start in range(0, len(x) - size + 1, size):
        frames.append(np.abs(np.fft.rfft(x[start : start + size] * w)))
    return np.array(frames)


def test_native_parts_that_call_functions_are_doubted() -> None:
    """Where all loops were native, nobody asked whether they are quicker, though NumPy took part."""
    f = ag.function(spectra)
    f(np.ones(2560), 64)
    (trace,) = f.traces
    assert "np.hamming" in trace.concrete.not_native and trace.concrete.native.parts
    assert trace.concrete.doubtful and trace.weighing is not None
