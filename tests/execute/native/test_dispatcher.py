"""The form of the dispatcher for the first calls: the same answers, and the usual form after many calls."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native import dispatcher
from runtime.function import direct

pytestmark = pytest.mark.skipif(bool(dispatcher.problem()), reason=dispatcher.problem() or "there is one")
PROGRAM = """
import ctypes
import sys
import threading
import traceback
import numpy as np
import autograph as ag
from runtime.config import settings
from runtime.execute.native import dispatch_ir, dispatcher

settings.executor, settings.compile, settings.cache_dir = "auto", "background", sys.argv[1]
dispatch_ir.MANY = 300
SCALE = 2.0

def plain(x, k=1.0, *, sign=1):
    return x * k * SCALE + sign

def failing(x, k):
    return np.sqrt(x)[k] + 1.0

ours, ours_failing = ag.function(plain), ag.function(failing)

def settle():
    while any(thread.name == "autograph-background" for thread in threading.enumerate()):
        pass

def outcome(call):
    try:
        return call()
    except IndexError as error:
        frames = traceback.extract_tb(error.__traceback__)
        return str(error), [frame.name for frame in frames]

def check():
    x = np.arange(4.0)
    for call in (
        lambda f, g: f(x), lambda f, g: f(x, 3.0), lambda f, g: f(k=2.0, x=x), lambda f, g: f(x, sign=-1),
        lambda f, g: f(*[x, 4.0], **{"sign": 3}), lambda f, g: g(x, 2),
    ):
        np.testing.assert_array_equal(call(ours, ours_failing), call(plain, failing))
    assert outcome(lambda: ours_failing(x, 7)) == outcome(lambda: failing(x, 7))

check()
settle()
variable = dispatcher._compiled()[1].image.variable
for _ in range(20):
    check()
settle()
better = variable(ctypes.c_int64, "better")
assert (variable(ctypes.c_int64, "left").value > 0) == (better.value == 0)
while better.value == 0:
    check()
    settle()
check()
SCALE = 5.0  # a guard fails
check()
print("right", dispatcher.at_hand())
"""


def run(folder: pathlib.Path) -> str:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(folder / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_many_calls_bring_the_usual_form(tmp_path: pathlib.Path) -> None:
    assert run(tmp_path) == "right False"


def failing(x, k):
    return x[k] + 1.0


@pytest.mark.parametrize(
    ("raised", "seen"), [(KeyboardInterrupt, KeyboardInterrupt), (MemoryError, IndexError)]
)
def test_what_is_raised_while_an_error_is_on_its_way_out(raised, seen, monkeypatch):
    dispatcher.load()
    f, x = ag.function(failing), np.ones(3)
    for _ in range(3):
        f(x, 1)
    with pytest.raises(IndexError):
        f(x, 7)

    def cleaned(error):
        raise raised

    monkeypatch.setattr(direct, "cleaned", cleaned)
    with settings.override(executor="native"), pytest.raises(seen):
        f(x, 7)
