"""Whether a derivative is being recorded in this thread: asked by every call of converted code.

Apart from what records, so that programs without derivatives do not load it.
"""

from __future__ import annotations

import threading


class State(threading.local):
    """open: how many levels of differentiation are open in this thread; there is always a value."""

    open = 0


STATE = State()


def recording() -> bool:
    """Whether a level is open in this thread."""
    return STATE.open > 0
