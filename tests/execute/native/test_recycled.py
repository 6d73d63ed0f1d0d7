"""Memory of large arrays that native code makes: taken again, but not while it is held, and bounded."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native import recycled
from runtime.execute.native.executor import unavailable

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
ROOT = pathlib.Path(__file__).resolve().parents[3]
LARGE = recycled.MANY * 2


@pytest.fixture
def native():
    def convert(function):
        with settings.override(executor="native", compile="now"):
            made = ag.function(function)
            made(np.ones(LARGE))
        return made

    return convert


def twice(x):
    return x * 2


def ones_in_zeros(x):
    out = np.zeros((4, len(x)))
    out[1] = 1
    return out


def test_there_is_such_memory():
    assert recycled.symbols()


def test_large_arrays_come_from_memory_that_is_taken_again(native):
    f = native(twice)
    result = f(np.arange(LARGE, dtype=float))
    assert recycled.handler_name(result) == "autograph" and result.flags.owndata and result.base is None
    place = result.ctypes.data
    del result
    assert f(np.ones(LARGE)).ctypes.data == place


def test_copies_of_what_is_written_lie_there_too(native):
    """And where native code gives up half way, the array is put back from its copy."""

    def grown(x):
        for k in range(len(x)):
            x[k] = x[k] + 1.0 / (x[k] - 7.0)
        return x

    before = np.linspace(8, 9, LARGE)
    with settings.override(executor="native", compile="now"):
        f = ag.function(grown)
        f(before.copy())
        assert recycled.kept() >= before.nbytes
        x = before.copy()
        x[LARGE - 5] = 7.0
        y = x.copy()
        with np.errstate(divide="ignore"):
            assert f(x).tobytes() == grown(y).tobytes() and x.tobytes() == y.tobytes()
        assert f.traces[-1].concrete.native.bails == 1


def test_small_arrays_and_those_of_others_are_as_ever(native):
    f = native(twice)
    assert recycled.handler_name(f(np.ones(5))) == "default_allocator"
    f(np.ones(LARGE))
    assert recycled.handler_name(np.empty(LARGE)) == recycled.handler_name(None) == "default_allocator"
    assert recycled.handler_name(f(np.ones(LARGE)).copy()) == "default_allocator"


def test_what_somebody_holds_is_not_taken(native):
    f = native(twice)
    held = [f(np.full(LARGE, float(k))) for k in range(40)]
    views = [x[::3] for x in held]
    del held
    again = [f(np.full(LARGE, -1.0)) for _ in range(40)]
    assert all((x == 2.0 * k).all() for k, x in enumerate(views)) and all((x == -2).all() for x in again)


def test_zeros_are_zeros(native):
    f, g = native(ones_in_zeros), native(twice)
    for _ in range(3):
        dirty = g(np.full((4, LARGE), 7.0))
        del dirty
        made = f(np.ones(LARGE))
        assert not made[0].any() and made[1].all() and not made[2:].any()
        del made


def test_arrays_can_be_resized_and_pickled(native):
    made = native(twice)(np.arange(LARGE, dtype=float))
    made.resize((LARGE * 3,), refcheck=False)
    assert (made[:LARGE] == np.arange(LARGE) * 2.0).all() and not made[LARGE:].any()
    copied = pickle.loads(pickle.dumps(made))
    made.resize((10,), refcheck=False)
    assert made.tolist() == copied[:10].tolist()
    made.__setstate__((1, (LARGE,), np.dtype(float), False, bytes(8 * LARGE)))
    assert made.shape == (LARGE,) and not made.any()
    del made
    assert (native(twice)(np.ones(LARGE)) == 2).all()


def test_what_is_kept_is_bounded(native):
    f = native(twice)
    for k in range(60):
        del_me = [f(np.ones(LARGE * (k % 7 + 1) * 8)) for _ in range(3)]
        del del_me
        assert recycled.kept() <= recycled.BOUND
    assert recycled.kept() > 0


def test_threads_make_arrays_at_once(native):
    f = native(twice)

    def work(seed):
        for k in range(50):
            x = np.full(LARGE, float(seed * 100 + k))
            if not (f(x) == x * 2).all():
                return False
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


PROGRAM = """
import builtins
import numpy as np
import autograph as ag
from runtime.config import settings

def twice(x):
    return x * 2

with settings.override(executor="native", compile="now"):
    builtins.held = ag.function(twice)(np.ones(100000))
"""


def test_arrays_may_outlive_everything(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py")]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
