"""What could end the process: threads, forks, leaks, memory at the edge, the end of the interpreter."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests import soak

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONPATH": os.getcwd()} | environment,
    )


@pytest.mark.parametrize("compile", ["now", "background"])
def test_threads_and_forks(compile: str) -> None:
    done = run("-m", "tests.soak", "threads", "2", "16", AUTOGRAPH_COMPILE=compile)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "nothing went wrong\n")


def test_calls_keep_nothing() -> None:
    with settings.override(executor="native"):
        kept = {name: (n * size, n * blocks) for name, n, size, blocks in soak.calls_leak(20_000)}
    assert all(size < 640_000 and blocks < 300 for size, blocks in kept.values()), kept


def test_compiled_and_dropped() -> None:
    with settings.override(executor="native"):
        assert soak.compiling_leaks(40) < 20_000


@pytest.mark.parametrize("side", ["end", "start"])
def test_within_fences(side: str) -> None:
    wanted = "levenshtein or heat or life or binning or fft or lu or jacobi or gather or softmax"
    done = run("-m", "tests.fences", side, "-q", "-k", wanted, "tests/execute/native/test_algorithms.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "arrays were fenced in" in done.stdout


OUTSIDE = """
import sys, ctypes
import numpy as np
from tests.fences import Fences

fences = Fences(sys.argv[1])
fences.install()
x = np.zeros(8)
at = x.ctypes.data
ctypes.c_double.from_address(at).value
ctypes.c_double.from_address(at + 56).value
print("inside", flush=True)
ctypes.c_double.from_address(at + {"end": 64, "start": -8}[sys.argv[1]]).value
"""


@pytest.mark.parametrize("side", ["end", "start"])
def test_fences_hold(side: str) -> None:
    done = run("-c", OUTSIDE, side)
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, "inside\n")


ENDING = """
import sys, threading, time
import numpy as np
import autograph as ag

ag.settings.executor, ag.settings.compile = "native", "background"

def chain(k):
    text = f"def f(x):\\n    return {' + '.join(f'np.sqrt(x * {k}.25 + {j})' for j in range(40))}\\n"
    path = f"{sys.argv[2]}/chain{k}.py"
    open(path, "w").write("import numpy as np\\n" + text)
    namespace = {"__name__": f"chain{k}", "__file__": path}
    exec(compile("import numpy as np\\n" + text, path, "exec"), namespace)
    return ag.function(namespace["f"])

@ag.function
def long(n, x):
    s, i = 0.0, 0
    while i < n:
        s = s * 0.5 + x[i % 4]
        i += 1
    return s

x = np.ones(4)
kept = [chain(k) for k in range(6)]
results = [f(x) for f in kept]
assert all(type(r) is np.ndarray for r in results)
if sys.argv[1] == "daemon":
    long(10, x)
    long(11, x)
    for _ in range(3):
        threading.Thread(target=long, args=(10**14, x), daemon=True).start()
    time.sleep(0.3)
elif sys.argv[1] == "exit":
    sys.exit(0)
elif sys.argv[1] == "error":
    raise KeyError("the user's")
elif sys.argv[1] == "thread":
    threading.Thread(target=lambda: [f(x) for f in kept]).start()
"""


@pytest.mark.parametrize("way", ["end", "exit", "error", "daemon", "thread"])
def test_the_interpreter_ends_while_something_is_compiled(way: str, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "ending.py"
    script.write_text(ENDING)
    done = run(str(script), way, str(tmp_path))
    if way == "error":
        assert done.returncode == 1 and done.stderr.endswith('KeyError: "the user\'s"\n')
    else:
        assert (done.returncode, done.stderr) == (0, "")
