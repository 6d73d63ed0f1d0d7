"""Elementwise chains in blocks: values, layouts, warnings, errors and writes as plain NumPy has them.

More programs: `python -m tests.execute.test_blocks FIRST STOP`.
"""

from __future__ import annotations

import concurrent.futures
import copy
import importlib.util
import itertools
import pathlib
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute import chains, in_blocks
from tests.execute.chain_programs import Writer, arguments

_NUMBER = itertools.count()
_LINES = sys.version_info >= (3, 11)  # before, warnings of plans name lines of the plan
STATES: tuple[dict[str, Any], ...] = ({}, {"all": "ignore"}, {"all": "warn"}, {"all": "raise"})


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few elements, from the first element on."""
    shrink(monkeypatch.setattr)


def shrink(put: Callable[[Any, str, Any], None]) -> None:
    put(chains, "LEAST_SIZE", 1)
    put(chains, "LEAST_STEPS_UNSIZED", 3)
    put(chains, "LEAST_WINDOW", 1)
    put(chains, "LEAST_WORK", 0)
    put(chains, "LEAST_WORK_KEPT", 0)
    put(chains, "LEAST_STEPS", 3)
    put(in_blocks, "LEAST_WORK", 0)
    put(in_blocks, "LEAST_WORK_KEPT", 0)
    put(in_blocks, "LEAST_CUT_WORK", 0)
    put(in_blocks, "LEAST_WINDOW_WORK", 0)
    put(in_blocks, "WHOLE", 0)
    put(in_blocks, "BLOCK", 5)


@pytest.fixture(autouse=True)
def _numpy() -> Iterator[None]:
    with settings.override(executor="numpy"):
        yield


def load(text: str, folder: pathlib.Path) -> Any:
    path = folder / f"chain_program_{next(_NUMBER)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def look(value: Any) -> Any:
    """All that can be seen of a result."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.strides, value.flags.owndata, value.tobytes()
    if isinstance(value, (tuple, list)):
        arrays = [x for x in value if isinstance(x, np.ndarray)]
        same = [[a is b for a in arrays] for b in arrays]
        shared = [[np.may_share_memory(a, b) for a in value] for b in value]
        return type(value), [look(x) for x in value], same, shared
    return type(value), repr(value)


def outcome(function: Any, args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    # One copy of all, so that what shares memory still does.
    base = copies(args)
    with warnings.catch_warnings(record=True) as caught, np.errstate(**state):
        warnings.simplefilter("always")
        try:
            result = look(function(*base))
        except Exception as error:
            result = type(error), str(error)
    return result, look(list(base[:3])), [(w.category, str(w.message), w.lineno * _LINES) for w in caught]


def copies(args: tuple[Any, ...]) -> list[Any]:
    """Copies that share memory where the arguments do, in the same layout."""
    memo: dict[int, Any] = {}
    found: list[Any] = []
    for x in args:
        if not isinstance(x, np.ndarray):
            found.append(x)
            continue
        owner = x if x.base is None else x.base
        if id(owner) not in memo:
            memo[id(owner)] = copy.deepcopy(owner)
        if owner is x:
            found.append(memo[id(owner)])
            continue
        offset = x.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        found.append(np.ndarray(x.shape, x.dtype, memo[id(owner)], offset, x.strides))
    return found


def check(seed: int, folder: pathlib.Path) -> int:
    """Compare one program with plain NumPy; how many chains it has."""
    text = Writer(seed).module()
    plain = load(text, folder)
    found = ag.function(plain, reduce_retracing=seed % 2 == 0)
    for round_ in range(3):
        args = arguments(seed + 1000 * round_)
        for state in STATES:
            wanted = outcome(plain, args, state)
            got = outcome(found, args, state)
            plan = found.traces[-1].concrete and found.plan_source
            if any("divide by zero" in m or "invalid" in m or "over" in m for _, m, _ in wanted[2]):
                wanted, got = (shorter(x) for x in (wanted, got))
            assert got == wanted, f"seed {seed} {state}\n{text}\n{args}\n{plan}"
    return sum(t.concrete is not None and "@in_blocks" in t.concrete.plan_source for t in found.traces)


def shorter(seen: Any) -> Any:
    """A warning of one line counts once (docs/differences.md, 2)."""
    return seen[0], seen[1], list(dict.fromkeys(seen[2]))


def picks(x: Any, n: Any) -> Any:
    s = 0.0
    for _ in range(n):
        s += np.where(x > 0, x * 2.0, 1 / x).sum()
    return s


def test_results_that_are_picked_in_a_loop(small: None) -> None:
    function = ag.function(picks)
    for n in (1, 2, 3):
        for x in (np.arange(1.0, 30.0), np.arange(-4.5, 20.0)):
            assert function(x, n) == picks(x, n)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert function(np.arange(9.0), n) == np.inf
    for record in function.traces:
        assert record.plain is None and record.concrete is not None
        assert "blocks_1" in record.concrete.plan_source and not record.concrete.plan_problem


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_programs(start: int, tmp_path: pathlib.Path, small: None) -> None:
    assert sum(check(seed, tmp_path) for seed in range(start, start + 20)) > 5


def heat(u0: Any, steps: int) -> Any:
    u = u0.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
    return u


def heat_in_space(u0: Any, steps: int) -> Any:
    u = u0.copy()
    for _ in range(steps):
        middle = u[1:-1, 1:-1, 1:-1]
        sides = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        u[1:-1, 1:-1, 1:-1] = middle + 0.1 * (sides - 4.0 * middle)
    return u


def in_place(u: Any, steps: int) -> Any:
    inner = u[1:-1, 1:-1]
    for _ in range(steps):
        inner += np.sqrt(u[2:, 1:-1]) * 0.1 + np.sqrt(u[:-2, 1:-1])
    return inner


def moved(u: Any, v: Any, steps: int) -> Any:
    for _ in range(steps):
        v[1:-1, 1:-1] = (u[2:, 1:-1] + u[:-2, 1:-1]) * 0.5 - v[1:-1, 1:-1] * u[1:-1, 1:-1]
        u[1:-1, 1:-1] = (v[2:, 1:-1] + v[:-2, 1:-1]) * 0.5 - u[1:-1, 1:-1] * v[1:-1, 1:-1]
    return u, v


def kept(x: Any, y: Any, steps: int) -> Any:
    found = []
    for _ in range(steps):
        z = x * y + x - y * 0.5
        found.append(z)
        y = np.sqrt(np.abs(z)) + 1.0
    return found


def field(*shape: int) -> Any:
    return np.random.default_rng(3).uniform(0.5, 2.0, shape)


@pytest.mark.parametrize("edge", [0.5, np.nan, np.inf, -1.0, 1e308])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("function", [heat, in_place])
def test_windows(small: None, function: Any, state: dict[str, Any], edge: float) -> None:
    converted = ag.function(function)
    for size in (5, 9, 33):
        u = field(size, size + 1)
        u[:, -1] = edge  # what lies between the rows of the windows
        args = (u, 4, None)
        wanted = outcome(lambda u, n, _: function(u, n), args, state)
        assert outcome(lambda u, n, _: converted(u, n), args, state) == wanted
    assert "@in_blocks" in converted.plan_source


@pytest.mark.parametrize(("function", "shape"), [(heat, (24, 23)), (heat_in_space, (30, 31, 32))])
def test_windows_are_taken_as_lines(
    small: None, monkeypatch: pytest.MonkeyPatch, function: Any, shape: tuple[int, ...]
) -> None:
    made: list[bool] = []
    lines = in_blocks._windows

    def watched(arrays: Any) -> Any:
        found = lines(arrays)
        made.append(found[0] is not None)
        return found

    monkeypatch.setattr(in_blocks, "_windows", watched)
    assert np.array_equal(ag.function(function)(field(*shape), 20), function(field(*shape), 20))
    assert made == [True]  # nothing is cut or allocated again in later trips


def test_windows_of_two_arrays(small: None) -> None:
    converted = ag.function(moved)
    for args in ((field(9, 9), field(9, 9) * 2, 3), (field(9, 12), field(9, 12)[:, ::-1], 2)):
        assert outcome(converted, args, {}) == outcome(moved, args, {})
    both = field(8, 8)
    for function in (moved, converted):
        one = both.copy()
        assert np.array_equal(function(one, one, 2)[0], one)


def test_a_target_that_is_read_only(small: None) -> None:
    u = field(9, 9)
    u.flags.writeable = False
    with pytest.raises(ValueError, match="output array is read-only"):
        ag.function(in_place)(u, 2)


def turns(x: Any, y: Any, steps: int) -> Any:
    before = 0.0
    while steps > 0:
        x = (x * 0.5 + y) * (1.0 - 0.25 * y)
        before = before + np.sum(x)
        steps -= 1
    return x, before


def shifts(x: Any, y: Any, steps: int) -> Any:
    old = y
    for _ in range(steps):
        new = (x * 0.5 + old) * (1.0 - 0.25 * y)
        old = x
        x = new
    return x, old


@pytest.mark.parametrize("function", [turns, shifts])
def test_carries_take_turns(small: None, function: Any) -> None:
    converted = ag.function(function)
    for steps in (0, 1, 2, 3, 7):
        args = (field(21), field(21), steps)
        assert outcome(converted, args, {}) == outcome(function, args, {})
    assert ("'turn'" in converted.plan_source) == (function is turns)


def twice(x: Any, y: Any, steps: int) -> Any:
    found = []
    for _ in range(3):
        z = x
        for _ in range(steps):
            z = (z * 0.5 + y) * (1.0 - 0.25 * y)
        found.append(z)
    return found


def test_an_inner_loop_does_not_take_turns(small: None) -> None:
    args = (field(21), field(21), 5)
    assert outcome(ag.function(twice), args, {}) == outcome(twice, args, {})


def test_results_that_are_kept_are_not_written_again(small: None) -> None:
    args = (field(20), field(20), 4)
    assert outcome(ag.function(kept), args, {}) == outcome(kept, args, {})


def test_threads_have_their_own_memory(small: None) -> None:
    converted = ag.function(heat)
    fields = [field(20, 21) * (k + 1) for k in range(8)]
    wanted = [heat(u, 30) for u in fields]
    converted(fields[0], 30)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            found = list(pool.map(lambda u: converted(u, 30), fields))
            assert all(map(np.array_equal, found, wanted))


def test_what_fails_waits_before_it_is_tried_again(small: None) -> None:
    def program(x: Any) -> Any:
        return np.log(x) * 2.0 + np.sqrt(x)

    converted = ag.function(program)
    x = np.array([1.0, -1.0] * 8)
    with np.errstate(all="ignore"):
        first = converted(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4):
            assert np.array_equal(converted(x), first, equal_nan=True)
    assert len(caught) == 8


TEXT = """\
@in_blocks(arrays=(0, 1), results=(('float64', 'new'),), scratch=('float64', 'float64'), steps=6)
def blocks_1(x, y, out, b1, b2):
    np.multiply(x, x, out=b1)
    np.multiply(y, y, out=b2)
    np.add(b1, b2, out=b1)
    np.sqrt(b1, out=b1)
    np.add(x, 2.0, out=b2)
    np.divide(b1, b2, out=out)
def ratio(x, y):
    t1 = blocks_1(x, y)
    if t1 is None:
        t1 = np.sqrt(x * x + y * y) / (x + 2.0)
    return t1
"""


def ratio(x: Any, y: Any) -> Any:
    return np.sqrt(x * x + y * y) / (x + 2.0)


def test_the_text_of_a_plan_with_blocks() -> None:
    x = field(400_000)
    converted = ag.function(ratio)
    assert np.array_equal(converted(x, x), ratio(x, x))
    text = "".join(line.partition("  #")[0].rstrip() + "\n" for line in converted.plan_source.splitlines())
    assert text == TEXT
    small = ag.function(ratio)
    small(x[:1000], x[:1000])
    assert "@in_blocks" not in small.plan_source


@pytest.mark.parametrize("size", [1, 15, 16, 17, 1000])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "i8", "u1", "?"])
def test_aligned(size: int, dtype: str) -> None:
    made = in_blocks.aligned(size, np.dtype(dtype))
    assert made.size == size and made.dtype == dtype and made.ctypes.data % 64 == 0


if __name__ == "__main__":
    shrink(setattr)
    total = 0
    with tempfile.TemporaryDirectory() as where, settings.override(executor="numpy"):
        for each in range(int(sys.argv[1]), int(sys.argv[2])):
            total += check(each, pathlib.Path(where))
    print(total, "chains")
