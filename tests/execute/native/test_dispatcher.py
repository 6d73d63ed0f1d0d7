"""The form of the dispatcher for the first calls: the same answers, and the usual form after many calls."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from runtime.execute.native import dispatcher

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
