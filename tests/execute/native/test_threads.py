"""Loops that threads share: bits, flags and errors of one thread, and nothing that gets stuck."""

from __future__ import annotations

import ctypes
import os
import pathlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime import threads
from runtime.config import Settings, settings
from runtime.execute.native import folds, pool
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import COUNTS, both, same
from tests.sharing import sharing

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def shared() -> Iterator[pool.Pool]:
    """All that can be shared is, in every test."""
    with sharing() as made:
        yield made


def numbers(*shape: int, dtype: Any = np.float64) -> Any:
    if np.dtype(dtype).kind == "f":
        return RNG.normal(size=shape).astype(dtype)
    return RNG.integers(-50, 50, shape).astype(dtype)


SCRIPT = """
import os, sys
import numpy as np
import autograph as ag

ag.settings.executor, ag.settings.compile = "native", "now"


@ag.function
def f(x):
    return np.sqrt(x * x + 1.0) / (x + 2.0)


x = np.ones(1_000_003)
before = len(os.listdir("/proc/self/task"))
for _ in range(20):
    f(x)
print(ag.get_num_threads(), len(os.listdir("/proc/self/task")) - before)
"""


def test_other_threads_of_python_run_meanwhile() -> None:
    def function(x: Any) -> Any:
        x[:] = ((((x / 3.0 + 1.0) / 3.0 + 1.0) / 3.0 + 1.0) / 3.0 + 1.0) / 3.0 + 1.0
        return x

    x, halfway = np.zeros(4_000_000), threading.Event()

    def watch() -> None:
        while not x[0]:
            pass
        if not x[-1]:
            halfway.set()

    with settings.override(executor="native", compile="now", num_threads=1):
        f = ag.function(function)
        f(x)
        for _ in range(200):
            x[:] = 0.0
            user = threading.Thread(target=watch)
            user.start()
            f(x)
            user.join()
            if halfway.is_set():
                break
    assert halfway.is_set()


def test_where_no_thread_can_be_started(shared: pool.Pool) -> None:
    helpers, most = shared.words["helpers"].value, shared.words["most"].value
    shared.words["most"].value = 0
    try:
        same(chain, numbers(5003))
    finally:
        shared.words["most"].value = most
    assert shared.words["helpers"].value == helpers


def test_integers_in_place_are_not_copied_first() -> None:
    def function(x: Any) -> Any:
        x |= 3
        return x

    with settings.override(executor="native", compile="now"):
        f = ag.function(function)
        f(numbers(5003, dtype=np.int64))
        (trace,) = f.traces
        text = trace.concrete.native_ir
    assert "@autograph_share(" in text and "call ptr @autograph_PyArray_NewCopy(" not in text


def script(tmp_path: pathlib.Path, text: str = SCRIPT, **environment: str) -> str:
    path = tmp_path / "script.py"
    path.write_text(text)
    kept = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(path)],
        capture_output=True, text=True, timeout=100, env=kept | {"PYTHONPATH": os.getcwd()} | environment,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


# ------------------------------------------------------------------------------------------------ the bits
def chain(x: Any) -> Any:
    return (x * 0.5 + 1.0) / (1.0 + np.abs(x)) - np.sqrt(x * x)


@pytest.mark.parametrize("size", [1, 2, 511, 512, 513, 1025, 4097, 100_003])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_elementwise(size: int, dtype: Any) -> None:
    same(chain, numbers(size, dtype=dtype), jobs=size > 512)


@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.uint8, np.bool_])
def test_other_dtypes(dtype: Any) -> None:
    same(lambda x: (x | (x == 3)) ^ (x > 2), numbers(5003, dtype=dtype))


@pytest.mark.parametrize("shape", [(7, 5), (1000, 3), (3, 1000), (2, 3, 401), (5, 1, 7, 3), (1, 1, 2001)])
def test_rows(shape: tuple[int, ...]) -> None:
    same(lambda x: x[..., ::-1] * 2.0 - x[..., :1], numbers(*shape))


def softmax(x: Any) -> Any:
    moved = x - x.max(axis=-1, keepdims=True)
    e = moved * moved + 1.0
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("shape", [(3, 5), (101, 67), (9, 5000), (2, 5, 130)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_with_reductions(shape: tuple[int, ...], dtype: Any) -> None:
    same(softmax, numbers(*shape, dtype=dtype))


def test_rows_kept_in_large_memory_are_each_threads_own() -> None:
    x = numbers(23, 9001)
    same(lambda x: np.arctan(x - x.mean(axis=1, keepdims=True)) * x.std(axis=1, keepdims=True), x)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "any", "all", "argmax"])
def test_reductions_of_rows(name: str) -> None:
    function = getattr(np, name)
    same(lambda x: function(x * 1.5, axis=1), numbers(57, 1203))


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean", "std", "any", "all", "prod"])
@pytest.mark.parametrize("size", [65_536, 65_543, 100_001])
def test_whole_arrays(name: str, size: int) -> None:
    function = getattr(np, name)
    for dtype in (np.float64, np.float32, np.int32):
        added = name in ("mean", "std") or (name == "sum" and dtype != np.int32)
        jobs = not (added and folds.buffer())  # older versions of NumPy add floats in another order
        same(lambda x: (function(x), function(x * 3)), numbers(size, dtype=dtype), jobs=jobs)


@pytest.mark.parametrize("special", [0.0, -0.0, np.nan])
def test_extremes_that_depend_on_the_order(special: float) -> None:
    x = -np.abs(numbers(70_001)) - 1.0
    x[[5, 40_000, 69_999]] = special, -special, special
    same(lambda x: (np.max(x), np.min(-x), np.max(x * 2.0)), x)


def test_whole_arrays_of_any_size() -> None:
    with settings.override(executor="native", compile="now"):
        spec = [ag.TensorSpec((None,), np.float64)]
        several = lambda x: (np.sum(x), np.sum(x * x), np.max(x), np.any(x > 9.0))
        f = ag.function(several, input_signature=spec)
        for size in (1, 7, 1000, 65_535, 65_536, 70_001):
            x = numbers(size)
            for count in COUNTS:
                ag.set_num_threads(count)
                assert f(x) == several(x)


@pytest.mark.parametrize("shape", [(50, 1031), (3, 700, 5), (31, 7, 300), (700, 3), (4, 3, 2, 301)])
@pytest.mark.parametrize("name", ["sum", "max", "mean", "var", "any"])
def test_reductions_across_rows(shape: tuple[int, ...], name: str) -> None:
    function, middle = getattr(np, name), len(shape) - 2
    same(lambda x: function(x, axis=middle), numbers(*shape), jobs=0)
    same(lambda x: function(np.arctan(x), axis=0), numbers(*shape), jobs=shape != (700, 3))


def test_running_sums_of_rows() -> None:
    same(lambda x: (np.cumsum(x * 2, axis=-1), np.cumprod(x, axis=1)), numbers(70, 300), jobs=2)
    same(lambda x: np.cumsum(x - x.mean(-1, keepdims=True), axis=-1), numbers(9, 4, 70), jobs=2)


def test_softmax_of_a_line() -> None:
    same(lambda x: (x - x.max()) / np.sum((x - x.max()) ** 2), numbers(70_001))


def test_inner_loops_of_numpy() -> None:
    same(lambda x: np.arctan2(np.cbrt(x), np.sinh(x)) + x, numbers(10_007))
    same(lambda x: np.floor_divide(x, 7) + np.gcd(x, 6), numbers(4001, dtype=np.int64))


def test_in_place() -> None:
    def function(x: Any, y: Any) -> Any:
        x += y * 2.0
        x[1:] *= y[:-1]
        y[::2] = x[::2] - 1.0
        return x

    same(function, numbers(3001), numbers(3001))


def test_stencils() -> None:
    def function(u: Any) -> Any:
        v = np.zeros_like(u)
        for _ in range(5):
            v[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            u, v = v, u
        return u

    same(function, numbers(67, 45))
    same(lambda u: u[1:-1, 1:-1] * 0.5 + u[2:, 1:-1] - u[:-2, 2:], numbers(70, 81))


@pytest.mark.parametrize("shape", [(40, 30), (257, 19), (100, 90)])
@pytest.mark.parametrize("far", [1, 3])
def test_stencils_in_place(shape: tuple[int, int], far: int) -> None:
    def heat(u: Any) -> Any:
        for _ in range(4):
            u[far:-far, 1:-1] += 0.2 * (u[2 * far :, 1:-1] + u[: -2 * far, 1:-1] - u[far:-far, 2:] * u[1, 1])
        return u

    def ahead(u: Any) -> Any:
        u[:-far, :-1] = u[far:, 1:] * 0.5 + u[:-far, 1:]
        u[far:, 2:] = u[:-far, :-2] - u[far:, 1:-1]
        return u

    jobs = shape[0] > 60
    same(heat, numbers(*shape), jobs=jobs)
    same(ahead, numbers(*shape), jobs=jobs)


def test_stencils_in_place_of_three_axes() -> None:
    def function(u: Any) -> Any:
        u[1:-1, 1:-1, 1:-1] = (u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1]) * u[1:-1, 2:, 1:-1] - u[1:-1, :-2, 2:]
        return u

    same(function, numbers(40, 7, 9))


def test_picked_items() -> None:
    where = RNG.integers(-100, 100, 3001)
    same(lambda x, k: x[k], numbers(100), where)
    same(lambda x, k: x[k], numbers(100, 7), where)
    same(lambda x, k: x[k, k[::-1] * 1], numbers(100, 100), where.reshape(1, -1, 1))


@pytest.mark.parametrize("place", [0, 1500, 3000])
def test_a_part_that_leaves_to_the_plan(place: int) -> None:
    def function(x: Any, k: Any) -> Any:
        x += 1.0
        y = x[k] * 2.0
        x[:] = y[:100]
        return y

    where = RNG.integers(-100, 100, 3001)
    same(function, numbers(100), where)
    where[place] = 100
    same(function, numbers(100), where)


def test_sizes_known_only_at_run_time() -> None:
    with settings.override(executor="native", compile="now"):
        specs = [ag.TensorSpec((None, None), np.float64), ag.TensorSpec((None,), np.float64)]
        f = ag.function(lambda x, y: (x + y) * x, input_signature=specs)
        for rows, columns in ((0, 3), (3, 0), (1, 1), (1, 3000), (3000, 1), (17, 900)):
            x, y = numbers(rows, columns), numbers(columns)
            for count in COUNTS:
                ag.set_num_threads(count)
                np.testing.assert_array_equal(f(x, y), (x + y) * x)


# ------------------------------------------------------------------------------------------- loops on numbers
def test_loops_that_write_an_item_a_trip() -> None:
    def steps(out: Any) -> Any:
        for i in range(len(out)):
            n, k = i + 1, 0
            while n > 1:
                n = n // 2 if n % 2 == 0 else 3 * n + 1
                k += 1
            out[i] = k
        return out

    def own(a: Any, b: Any) -> Any:
        for i, x in enumerate(a):
            a[i] = x * a[i] + b[3]
        return a

    def by_rows(a: Any, x: Any) -> Any:
        for i in range(1, len(a)):
            row = a[i]
            for j in range(len(row)):
                if x[j] < 0.0:
                    continue
                row[j] = x[i] * j - a[i, 0]
            row *= 2.0
        return a

    def two(a: Any, b: Any) -> Any:
        for i in range(len(a) - 1):
            a[i, 1], b[i + 0] = b[i] * 2.0, a[i, 0]
        return a

    same(steps, np.zeros(701, np.int64))
    same(own, numbers(900), numbers(9))
    same(by_rows, numbers(97, 40), numbers(97))
    same(two, numbers(500, 2), numbers(500), jobs=0)


def test_loops_whose_trips_need_each_other() -> None:
    def before(a: Any) -> Any:
        for i in range(1, len(a)):
            a[i] = a[i - 1] * 0.5 + a[i]
        return a

    def one_place(a: Any, b: Any) -> Any:
        for i in range(len(a)):
            b[0] = a[i]
            b[i % 5] = b[0] + 1.0
        return b

    def wrapped(a: Any) -> Any:
        for i in range(-3, len(a)):
            a[i] = i * 1.0
        return a

    def row(a: Any) -> Any:
        last = a[3]
        for i in range(len(a)):
            a[i, 0] = last[1] + i
            last[1] = a[i, 1] * 0.5
        return a

    def two_counters(a: Any) -> Any:
        for i, j in zip(range(len(a) // 2), range(1, len(a)), strict=False):
            a[i] = a[j] * 0.5 + a[i]
        return a

    def farther_apart(a: Any) -> Any:
        for i, x in zip(range(0, len(a), 2), a, strict=False):
            a[i] = x * 0.5
        return a

    jobs = pool.pool().jobs
    for function, args in (
        (before, [numbers(3000)]), (one_place, [numbers(3000), numbers(9)]), (wrapped, [numbers(3000)]),
        (row, [numbers(3000, 2)]), (two_counters, [numbers(3000)]), (farther_apart, [numbers(3000)]),
    ):  # fmt: skip
        both(function, [args])
    assert pool.pool().jobs == jobs


def test_arrays_that_share_memory() -> None:
    def moved(a: Any, b: Any) -> Any:
        for i in range(len(a)):
            a[i] = b[i] * 0.5 + 1.0
        return a

    base = numbers(5001)
    for first, second in (
        (base[1:], base[:-1]),
        (base[:-1], base[1:]),
        (base[:2500], base[2500:5000]),
        (base, base),
    ):
        same(moved, first, second, jobs=0)
    with settings.override(executor="native", compile="now"):
        f = ag.function(moved)
        for low, high in ((0, 1), (1, 0), (0, 2500), (0, 0)):
            ours, plain = base.copy(), base.copy()
            f(ours[low : low + 2500], ours[high : high + 2500])
            moved(plain[low : low + 2500], plain[high : high + 2500])
            np.testing.assert_array_equal(ours, plain)


@pytest.mark.parametrize("place", [0, 700, 1999])
def test_a_trip_that_raises(place: int) -> None:
    def function(a: Any, k: Any) -> Any:
        for i in range(len(a)):
            if k[i] > 100:
                raise ValueError(i)
            a[i] = 100 // k[i]
        return a

    k = RNG.integers(1, 99, 2000)
    same(function, numbers(2000), k)
    for wrong in (0, 101):
        k[place] = wrong
        same(function, numbers(2000), k)


LONG = """
import signal
import numpy as np
import autograph as ag

ag.settings.executor, ag.settings.compile = "native", "now"
ag.set_num_threads(3)


@ag.function
def long(out, n):
    for i in range(len(out)):
        s = 0.0
        while s < n[0]:
            s = s + n[1]
        out[i] = s
    return out


def stop(*_):
    raise KeyError("enough")


long(np.zeros(2000), np.array([3.0, 1.0]))
signal.signal(signal.SIGALRM, stop)
for n in (1e18, 1e8):
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        long(np.zeros(2000), np.array([n, 1.0]))
        print("ended")
    except KeyError as error:
        print(error.args[0])
print(long(np.zeros(2000), np.array([2.5, 0.5]))[:3])
"""


def test_signals_while_threads_share_a_loop(tmp_path: pathlib.Path) -> None:
    assert script(tmp_path, LONG) == "enough\nenough\n[2.5 2.5 2.5]"


# ------------------------------------------------------------------------------------------- flags and modes
@pytest.mark.parametrize("place", [0, 2500, 4999])
def test_flags_of_any_thread_are_seen(place: int) -> None:
    x = np.ones(5000)
    x[place] = 0.0
    same(lambda x: 1.0 / x, x, all="warn")
    same(lambda x: 1.0 / x, x, all="raise")
    same(lambda x: np.arctan(1e300 / (x + 1e-300)), x, all="warn")


def test_flags_of_one_call_are_not_those_of_the_next() -> None:
    with settings.override(executor="native", compile="now"), np.errstate(all="raise"):
        f = ag.function(lambda x: 1.0 / x)
        for _ in range(20):
            with pytest.raises(FloatingPointError):
                f(np.zeros(3000))
            f(np.ones(3000))


def test_rounding_is_the_callers() -> None:
    x, libm = numbers(5000), ctypes.CDLL("libm.so.6")
    with settings.override(executor="native", compile="now"):
        f = ag.function(lambda x: x / 3.0 + 0.1)
        nearest = f(x)
        assert libm.fesetround(0x800) == 0  # upwards
        try:
            found = []
            for count in COUNTS:
                ag.set_num_threads(count)
                found.append(f(x))
        finally:
            libm.fesetround(0)
        assert (found[0] > nearest).any()
        assert all(np.array_equal(found[0], y) for y in found)


# ------------------------------------------------------------------------------------------- users' threads
def test_many_threads_of_the_user() -> None:
    wrong: list[Any] = []
    with settings.override(executor="native", compile="now"):
        f, g = ag.function(chain), ag.function(softmax)
        xs = [numbers(4001 + 7 * k) for k in range(4)]
        ys = [numbers(40 + k, 33) for k in range(4)]
        wanted = [(f(x), g(y)) for x, y in zip(xs, ys, strict=True)]

        def hammer(seed: int) -> None:
            order = np.random.default_rng(seed)
            for _ in range(100):
                k = int(order.integers(4))
                if order.integers(10) == 0:
                    ag.set_num_threads(int(order.integers(1, 9)))
                a, b = f(xs[k]), g(ys[k])
                if a.tobytes() != wanted[k][0].tobytes() or b.tobytes() != wanted[k][1].tobytes():
                    wrong.append((seed, k))

        users = [threading.Thread(target=hammer, args=(seed,)) for seed in range(16)]
        for user in users:
            user.start()
        for user in users:
            user.join()
    assert not wrong


def test_forks() -> None:
    with settings.override(executor="native", compile="now"):
        f, x = ag.function(chain), numbers(50_001)
        wanted = f(x).tobytes()
        busy, going = threading.Event(), threading.Event()

        def work() -> None:
            while not busy.is_set():
                f(x)
                going.set()

        user = threading.Thread(target=work)
        user.start()
        going.wait()
        children = []
        for _ in range(20):
            child = os.fork()
            if not child:
                before = pool.pool().jobs
                fine = all(f(x).tobytes() == wanted for _ in range(50))
                os._exit(0 if fine and pool.pool().jobs >= before + 50 and pool.pool().helpers else 1)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        busy.set()
        user.join()
    assert codes == [0] * 20


def test_one_thread_starts_none(tmp_path: pathlib.Path) -> None:
    assert script(tmp_path, AUTOGRAPH_NUM_THREADS="1") == "1 0"


def test_threads_are_started_when_needed(tmp_path: pathlib.Path) -> None:
    assert script(tmp_path, AUTOGRAPH_NUM_THREADS="3") == "3 2"
    assert script(tmp_path, OMP_NUM_THREADS="2") == "2 1"


def test_the_interpreter_ends_while_helpers_look_for_work(tmp_path: pathlib.Path) -> None:
    for _ in range(5):
        assert script(tmp_path, AUTOGRAPH_NUM_THREADS="9") == "9 8"


# --------------------------------------------------------------------------------------------- the setting
def test_the_setting() -> None:
    ag.set_num_threads(3)
    assert (ag.get_num_threads(), settings.num_threads) == (3, 3)
    ag.set_num_threads(np.int64(2))
    assert ag.get_num_threads() == 2
    ag.set_num_threads(3)
    with settings.override(num_threads=1000):
        assert ag.get_num_threads() == threads.MOST
    assert ag.get_num_threads() == 3
    ag.settings.num_threads = 0
    assert ag.get_num_threads() >= 1
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="number of threads"):
            ag.set_num_threads(wrong)  # type: ignore[arg-type]


def test_the_environment() -> None:
    assert Settings({"AUTOGRAPH_NUM_THREADS": "4"}).num_threads == 4
    with pytest.raises(ValueError, match="AUTOGRAPH_NUM_THREADS"):
        Settings({"AUTOGRAPH_NUM_THREADS": "many"})
