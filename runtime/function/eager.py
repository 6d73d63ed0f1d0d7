"""The switch that lets all calls go to the plain Python functions.

In: `run_functions_eagerly(True)` or `(False)`.  Out: `MODE`, which every call in Python asks; machine code
asks the gate, which is shut meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.gate import EVERYBODY, GATE
from runtime.lazy import Lazy

if TYPE_CHECKING:
    from runtime.trace import core
else:
    core = Lazy("runtime.trace.core")


class _Mode:
    """Whether all calls go to the Python functions."""

    eager = False


MODE = _Mode()


def run_functions_eagerly(eager: bool) -> None:
    """Let all calls go to the plain Python functions (True), or to their traces again (False)."""
    if bool(eager) != MODE.eager:
        (GATE.shut if eager else GATE.open)(EVERYBODY)
    MODE.eager = bool(eager)


def executing_eagerly() -> bool:
    """Whether values are real here: True unless a function is being traced in this thread."""
    return core.active() is None
