"""Functions on Python objects only, whose calls the Python function itself does."""

from __future__ import annotations

import copy
import pickle
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.execute.native.executor import unavailable
from runtime.function.reasons import AT_EACH_STEP, NO_GAIN


@pytest.fixture(autouse=True)
def _auto() -> Iterator[None]:
    with ag.settings.override(executor="auto", compile="now"):
        yield


class Account:
    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries
        self.rate: Any = 2

    def add(self, entry: Any) -> int:
        self.entries.append(entry)
        return len(self.entries)


def parsed(text: str) -> dict[str, str]:
    found = {}
    for part in text.split(";"):
        key, _, value = part.partition("=")
        found[key.strip()] = value.strip()
    return found


def deep(data: Any) -> Any:
    return data["a"]["b"] + data["c"]


def add(account: Account, entry: Any) -> int:
    return account.add(entry)


def scaled(account: Account) -> Any:
    account.entries.append(account.rate)
    return account.rate * 3


def picked(data: Any, key: str = "a", *, other: Any = None) -> Any:
    return [data[key], other]


SUFFIX = "!"


def called(names: list[str]) -> str:
    return ", ".join(names) + SUFFIX


def executor(f: Any) -> str:
    return f.traces[-1].concrete.executor  # type: ignore[no-any-return]


class TestWhich:
    @pytest.mark.parametrize(
        ("function", "args"),
        [
            (parsed, ("a=1; b = 2",)),
            (deep, ({"a": {"b": 1}, "c": 2},)),
            (add, (Account([]), 1)),
            (called, (["x", "y"],)),
        ],
    )
    def test_objects_only(self, function: Any, args: Any) -> None:
        f = ag.function(function)
        for _ in range(2):
            assert f(*copy.deepcopy(args)) == function(*copy.deepcopy(args))
        concrete = f.traces[-1].concrete
        assert (concrete.executor, concrete.not_native) == ("python", NO_GAIN)
        assert concrete.native is None
        assert concrete.plan_source and f.graph.nodes
        assert f"runs as plain Python: {NO_GAIN}" in str(ag.explain(f))

    def test_the_function_itself_is_called(self) -> None:
        seen = []

        def note(data: Any) -> Any:
            seen.append(data["f"]())
            return seen

        f = ag.function(note)
        for k in range(3):
            f({"f": lambda k=k: (k, traceback.extract_stack(limit=2)[0].name)})
        assert seen[-1] == (2, "note")

    def test_arrays_numbers_and_loops_are_not(self) -> None:
        def scale(account: Account) -> Any:
            return [account.rate * 2, account.rate + 1]

        account = Account([])
        account.rate = np.arange(3.0)
        f = ag.function(scale)
        f(account)
        assert executor(f) != "python"

        def noted(account: Account, n: int) -> Any:
            total = 0.0
            for k in range(n):
                total += k * 0.5
            account.entries.append(total)
            return total

        g = ag.function(noted)
        for n in (3, 40, 50):
            assert g(account, n) == noted(account, n)
        assert executor(g) == ("python" if unavailable() else "native")

    def test_arrays_that_are_only_taken_apart_under_try_are_pythons(self) -> None:
        def first(x: Any) -> Any:
            found = []
            try:
                found.append(x[0])
                raise KeyError(1)
            except KeyError as error:
                found.append(str(error))
            finally:
                x[2] += 1
            return found

        def computed(x: Any) -> Any:
            try:
                return x * 2 + 1
            except ValueError:
                return None

        f, g, x = ag.function(first), ag.function(computed), np.arange(3.0)
        assert f(x.copy()) == first(x.copy())
        assert np.array_equal(g(x), computed(x))
        assert (executor(f), executor(g)) == ("python", "numpy" if unavailable() else "native")

    def test_what_was_done_while_tracing_is_not_done_again(self) -> None:
        def table(data: Any) -> Any:
            return [data[key] for key in ("a", "b", "c")]

        def fibonacci(n: int) -> int:
            return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

        for function, args in ((table, ({"a": [], "b": [], "c": []},)), (fibonacci, (7,))):
            f = ag.function(function)
            assert f(*args) == function(*args)
            assert executor(f) == "numpy"

    @pytest.mark.parametrize("name", ["numpy", "native"])
    def test_the_setting_forces_plans(self, name: str) -> None:
        with ag.settings.override(executor=name):
            f = ag.function(deep)
            f({"a": {"b": 1}, "c": 2})
            assert executor(f) in {"numpy", name}

    def test_a_check_runs_the_trace(self) -> None:
        f = ag.function(deep, check=True)
        assert f({"a": {"b": 1}, "c": 2}) == 3
        assert executor(f) == "numpy"


class TestExact:
    def test_whatever_changes_between_calls(self, monkeypatch: pytest.MonkeyPatch) -> None:
        f, account = ag.function(scaled), Account([])
        for rate in (2, 3, "ab", 2.5, np.arange(3), [1]):
            account.rate = rate
            assert np.all(f(account) == rate * 3)
        assert executor(f) == "python" and len(account.entries) == 6
        g = ag.function(called)
        assert g(["a"]) == "a!"
        monkeypatch.setitem(globals(), "SUFFIX", "?")
        assert g(["a"]) == "a?"

    def test_an_array_trace_comes_first(self) -> None:
        f, account = ag.function(scaled), Account([])
        account.rate = np.arange(3.0)
        with ag.settings.override(cache_size=2):  # a full cache notes which trace is used
            f(account)
            f.traces[0].weighing.decide(False)
            assert executor(f) != "python"
            plain = Account([])
            assert f(plain) == 6 and executor(f) == "python"
            used = f.traces[0].used
            assert np.array_equal(f(account), account.rate * 3)
            f._note_uses()
            assert f.traces[0].used > used

    def test_ways_to_write_a_call(self) -> None:
        f, data = ag.function(picked), {"a": [1], "b": [2]}
        for _ in range(3):
            assert f(data) == [[1], None]
            assert f(data, "b") == [[2], None]
            assert f(data, other=data) == [[1], data]
            assert f(key="b", data=data, other=3) == [[2], 3]
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            f()  # type: ignore[call-arg]

    def test_defaults_that_change(self) -> None:
        def first(data: Any, key: str = "a") -> Any:
            return data[key]

        f, data = ag.function(first), {"a": [1], "b": [2]}
        assert f(data) == [1]
        first.__defaults__ = ("b",)
        assert f(data) == [2]

    def test_errors_and_their_places(self) -> None:
        f, data = ag.function(deep), {"a": {"b": 1}, "c": 2}
        f(data)
        for _ in range(2):
            with pytest.raises(KeyError) as ours:
                f({"a": {}, "c": 2})
            with pytest.raises(KeyError) as plain:
                deep({"a": {}, "c": 2})
            names = [[frame.name for frame in traceback.extract_tb(e.tb)][1:] for e in (ours, plain)]
            assert names[0] == names[1] == ["deep"]

    def test_threads(self) -> None:
        f, found = ag.function(parsed), []

        def work(k: int) -> None:
            found.extend(f(f"a={j}; b={k}") == {"a": str(j), "b": str(k)} for j in range(50))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [True] * 200

    def test_pickling(self) -> None:
        f = ag.function(module_level)
        f({"a": {"b": 1}, "c": 2})
        assert pickle.loads(pickle.dumps(converted))({"a": {"b": 1}, "c": 2}) == 3


class TestTraces:
    def test_the_trace_for_a_concrete_function_is_up_to_date(self) -> None:
        f, account = ag.function(scaled), Account([])
        assert f(account) == 6
        old = f.get_concrete_function(account)
        account.rate = "ab"
        assert f(account) == "ababab" and len(f.traces) == 1
        new = f.get_concrete_function(account)
        assert new is not old and new(account) == "ababab"

    def test_traces_for_single_texts_go(self) -> None:
        f = ag.function(lambda text: text.upper() + "!")
        for k in range(12):
            assert f(f"text {k}") == f"TEXT {k}!"
        assert [record.by_python for record in f.traces] == [True]

    def test_methods_and_partials(self) -> None:
        class Counter:
            def __init__(self) -> None:
                self.names: dict[str, list[int]] = {}

            @ag.function
            def note(self, name: str, line: int) -> Any:
                self.names.setdefault(name, []).append(line)
                return self.names

        counter = Counter()
        for k in range(20):
            counter.note("a", k)
        assert counter.names == {"a": list(range(20))}
        bound = ag.function(counter.note)
        assert bound("b", 1)["b"] == [1] and bound("b", 2)["b"] == [1, 2]


def module_level(data: Any) -> Any:
    return data["a"]["b"] + data["c"]


converted = ag.function(module_level)


class Meter:
    def __init__(self) -> None:
        self.last: Any = None  # and a float later: no machine code knows both
        self.total, self.scale = 0.0, 2.0

    def note(self, x: float) -> None:
        change = 0.0 if self.last is None else x - self.last
        self.last = x
        self.total += change * self.scale


def metered(meter: Meter, n: int) -> float:
    for k in range(n):
        meter.note(0.5 * k)
    return meter.total


@pytest.mark.skipif(unavailable() != "", reason="no native code here")
def test_loops_whose_machine_code_was_given_up() -> None:
    """Its plan took four times as long as the function."""
    f = ag.function(metered)
    for _ in range(6):
        ours, plain = Meter(), Meter()
        assert f(ours, 40) == metered(plain, 40)
        assert vars(ours) == vars(plain)
    concrete = f.traces[-1].concrete
    reason = "has no native code for what came: 'last' is None, no number or array of numbers"
    assert concrete.executor == "python"
    assert (
        concrete.not_native.startswith(f"{AT_EACH_STEP}: test_plainly.py:") and reason in concrete.not_native
    )
    Meter.note, before = lambda self, x: None, Meter.note  # type: ignore[method-assign]
    try:
        assert f(Meter(), 40) == 0.0
    finally:
        Meter.note = before  # type: ignore[method-assign]
    assert len(f.traces) == 1  # from then on nothing is looked at but the types of the arguments
