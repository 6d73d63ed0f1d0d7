"""Processes forked while other threads hold locks: they go on."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import threading

from runtime.forking import ForkLock

PROGRAM = """
import os, sys, threading, time
import numpy as np
import autograph as ag

started, stop = threading.Event(), threading.Event()

ag.settings.executor = "numpy"

@ag.function
def slow(x, y):
    return x * y + 1.0

@ag.function
def other(x):
    return x + 1.0

x = np.ones(3)
lock = slow._lock
def hold():
    with lock:
        started.set()
        stop.wait(20)

thread = threading.Thread(target=hold)
thread.start()
started.wait()
child = os.fork()
if child == 0:
    fine = slow(x, x).tolist() == [2.0] * 3 and other(x).tolist() == [2.0] * 3
    os._exit(7 if fine else 8)
deadline = time.monotonic() + 20
while True:
    pid, status = os.waitpid(child, os.WNOHANG)
    if pid or time.monotonic() > deadline:
        break
    time.sleep(0.01)
stop.set()
thread.join()
if not pid:
    os.kill(child, 9)
print(os.waitstatus_to_exitcode(status) if pid else "stuck")
"""


def test_a_function_that_is_being_traced(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONPATH": os.getcwd()},
    )
    assert (done.stdout, done.returncode) == ("7\n", 0), done.stderr


LOADING = """
import os, signal, sys, threading, time
from runtime.lazy import Lazy

slow = Lazy("slow_module")
thread = threading.Thread(target=lambda: slow.VALUE)
thread.start()
while "slow_module" not in sys.modules:
    time.sleep(0.001)
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(Lazy("slow_module").VALUE)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_module_that_is_being_loaded(tmp_path: pathlib.Path) -> None:
    (tmp_path / "slow_module.py").write_text("import time\ntime.sleep(0.5)\nVALUE = 7\n")
    script = tmp_path / "program.py"
    script.write_text(LOADING)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([os.getcwd(), str(tmp_path)])},
    )
    assert (done.stdout, done.stderr, done.returncode) == ("7\n", "", 0)


def test_the_owner_comes_in_again() -> None:
    lock = ForkLock()
    with lock, lock:
        pass
    inside = threading.Event()

    def enter() -> None:
        with lock:
            inside.set()

    with lock:
        thread = threading.Thread(target=enter)
        thread.start()
        assert not inside.wait(0.05)
    thread.join(10)
    assert inside.is_set()
