"""Handlers are found by name without loading their modules: the names are those of the modules."""

from __future__ import annotations

import subprocess
import sys

from runtime.execute.native import handlers

PROGRAM = """
import sys
from runtime.execute.native import lower
late = "counts linear looks makers moved running masked loop_vectors handed_on independent tallies".split()
sys.exit(", ".join(name for name in late if f"runtime.execute.native.{name}" in sys.modules) or 0)
"""


def test_names_are_those_of_the_modules() -> None:
    for module, names in handlers.PLACES:
        assert set(names.split()) == set(module.HANDLERS)
    assert handlers.handler("np.dot") is not None
    assert handlers.handler("np.sin") is None


def test_modules_are_loaded_when_there_is_such_an_op() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")
